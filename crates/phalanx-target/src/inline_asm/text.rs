//! Reads the text of inline assembly, as far as uniformity and synchronisation depend on it.
//!
//! # What
//!
//! [`Assembly::read`] follows the instructions of a PTX or GCN text once, from top to bottom, and
//! gives a small graph of values: which arguments and special registers each result is computed
//! from, and which barriers, votes, shuffles and the like are executed, with their operands.
//!
//! ```text
//! { .reg .pred p;                    value 0 = argument 0        ($1)
//!   setp.ne.b32 p, $1, 0;            value 1 = constant 0
//!   vote.sync.any.pred p, p, -1;     value 2 = function of 0, 1
//!   selp.b32 $0, 1, 0, p; }          value 4 = llvm.nvvm.vote.any.sync(value 3, value 2)
//! ```
//!
//! An instruction that corresponds to an intrinsic is represented by that intrinsic, so that the
//! tables of [`intrinsics`](crate::intrinsics) say what it does.
//!
//! # Invariants
//!
//! - A value that is not understood is [`AsmValue::Anything`]. An instruction that is not
//!   understood is listed in [`Assembly::unknown`]; it may do what [`Assembly::operations`] does
//!   not show.
//! - If the text has labels or jumps, every result is [`AsmValue::Anything`], and operations count
//!   as executed under an unknown condition.
//! - Values refer to earlier values only.
//!
//! # Dialect
//!
//! PTX ends statements with `;`, GCN begins comments with it. The architecture determines the
//! dialect. If the architecture is unknown, the text does: names of GCN instructions begin with
//! `s_`, `v_`, `ds_` and so on; those of PTX have no `_` before the first dot.
//!
//! **Complexity.** O(length of the text + operands).
//!
//! Source: NVIDIA, *PTX ISA* 8.x; AMD, *RDNA 4 Instruction Set Architecture*; LLVM, *LangRef*,
//! Inline Assembler Expressions, for `$0`, `${0:n}` and `$$`.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Constraints, Role, gcn, ptx};
use crate::{
    intrinsics::{Intrinsic, lookup},
    target::Architecture,
};

/// A value, by its position in [`Assembly::values`].
pub type Id = usize;

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AsmValue {
    /// An argument of the call.
    Argument(u32),
    /// An integer.
    Integer(i64),
    /// A function of these values and of nothing else; of no values: a constant that is no integer.
    Of(Vec<Id>),
    /// A result of an operation.
    Result {
        /// The operation, in [`Assembly::operations`].
        operation: usize,
        /// Which of its results.
        index: usize,
    },
    /// An unknown value.
    Anything,
}

/// An instruction that corresponds to an intrinsic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The intrinsic.
    pub intrinsic: Intrinsic,
    /// Its arguments.
    pub arguments: Vec<Id>,
    /// The condition under which it is executed.
    pub predicate: Option<Id>,
}

/// How memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// It is read.
    Load,
    /// It is written.
    Store,
    /// It is read and written in one step; if `adds`, a number is added.
    Atomic {
        /// `atom.add`, `red.inc`.
        adds: bool,
    },
}

/// An instruction that accesses memory at one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// How.
    pub kind: AccessKind,
    /// The address.
    pub address: Id,
}

/// What an assembly text does. See the [module documentation](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assembly {
    /// Values.
    pub values: Vec<AsmValue>,
    /// The results of the call, in the order of the elements of a returned structure.
    pub results: Vec<Id>,
    /// Barriers, votes, reads of special registers and the like, in the order of the text.
    pub operations: Vec<Operation>,
    /// Plain accesses of memory (PTX `ld`, `st`, `atom`, `red`), in the order of the text.
    pub accesses: Vec<Access>,
    /// Names of instructions that are not known.
    pub unknown: Vec<String>,
    /// The effect depends on which threads execute it together.
    pub convergent: bool,
    /// An instruction that is none of the operations makes it convergent.
    pub is_convergent_otherwise: bool,
    /// Apart from computing values, it only executes the operations, one after the other.
    pub is_operations: bool,
    /// `values` and `operations` describe all that it does: no memory, no jump, no state.
    pub is_complete: bool,
}

/// The origins of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// Arguments of the call.
    pub arguments: Vec<u32>,
    /// Operations whose results it depends on.
    pub operations: Vec<usize>,
    /// It depends on something unknown.
    pub is_anything: bool,
}

/// An operand as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// `$2`
    Operand(u32),
    /// A register, by name.
    Register(String),
    /// An integer.
    Integer(i64),
    /// Another constant.
    Constant,
    /// A special register.
    Special(Intrinsic),
    /// A function of others: `!p`, `{a, b}`.
    Of(Vec<Written>),
    /// Two results: `d|p`.
    Pair(Vec<Written>),
    /// An address, or something unknown.
    Other,
}

/// What an instruction does.
pub(super) enum Meaning {
    /// Its first operand is a function of the others.
    Pure,
    /// As `Pure`, except that it also writes or reads the carry flag, which is not named.
    Carrying {
        /// It writes the carry flag.
        out: bool,
        /// It reads the carry flag.
        carry: bool,
    },
    /// It is an intrinsic: the first `results` operands are results, and `arguments` are arguments.
    Intrinsic {
        /// The intrinsic.
        intrinsic: Intrinsic,
        /// How many operands are results.
        results: usize,
        /// Positions of its arguments among all operands.
        arguments: Vec<usize>,
    },
    /// It accesses memory or has another effect. Operands that it may write are unknown afterwards.
    Other {
        /// The effect depends on which threads execute it together.
        convergent: bool,
    },
    /// A directive for the assembler.
    Nothing,
    /// A jump.
    Jump,
    /// An unknown instruction.
    Unknown,
}

/// One instruction.
pub(super) struct Statement {
    pub(super) predicate: Option<Written>,
    pub(super) name: String,
    pub(super) operands: Vec<Written>,
    pub(super) meaning: Meaning,
    /// An access of memory, and its address.
    pub(super) access: Option<(AccessKind, Written)>,
}

/// The assembly language of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    Ptx,
    Gcn,
}

impl Assembly {
    /// Reads a template with its constraints, in the syntax of [`Constraints::parse`]. If the
    /// architecture has no dialect of its own, or is [`Architecture::Generic`], the text determines
    /// the dialect.
    #[must_use]
    pub fn read(architecture: Architecture, template: &str, constraints: &str) -> Assembly {
        let Ok(constraints) = Constraints::parse(constraints) else {
            return Assembly { unknown: vec!["constraints".to_owned()], ..Assembly::default() };
        };
        let lower = template.to_ascii_lowercase();
        let dialect = match architecture {
            Architecture::Nvptx => Dialect::Ptx,
            Architecture::Amdgcn | Architecture::R600 => Dialect::Gcn,
            _ => dialect(&lower),
        };
        let (statements, is_straight) = match dialect {
            Dialect::Ptx => ptx::statements(template),
            Dialect::Gcn => gcn::statements(&lower),
        };
        let mut reader = Reader::new(&constraints, is_straight);
        statements.iter().for_each(|statement| reader.statement(statement));
        reader.finish()
    }

    /// Whether it may contain synchronisation that is not among the operations.
    #[must_use]
    pub fn may_hide_barrier(&self) -> bool {
        !self.unknown.is_empty()
    }

    /// The origins of a value: arguments of the call, operations, and whether it depends on
    /// something unknown. O(values).
    #[must_use]
    pub fn origins(&self, value: Id) -> Origins {
        let mut origins = Origins::default();
        let mut seen = vec![false; self.values.len()];
        let mut work = vec![value];
        while let Some(at) = work.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            match &self.values[at] {
                AsmValue::Argument(position) => origins.arguments.push(*position),
                AsmValue::Integer(_) => {}
                AsmValue::Of(from) => work.extend(from),
                AsmValue::Result { operation, .. } => origins.operations.push(*operation),
                AsmValue::Anything => origins.is_anything = true,
            }
        }
        origins
    }

    /// Whether one of the operations is a barrier.
    #[must_use]
    pub fn has_barrier(&self) -> bool {
        self.operations.iter().any(|operation| operation.intrinsic.info.barrier.is_some())
    }
}

/// The dialect of a text in lower case.
fn dialect(lower: &str) -> Dialect {
    const GCN: [&str; 12] = [
        "s_", "v_", "ds_", "flat_", "global_", "buffer_", "image_", "scratch_", "tbuffer_", "exp_",
        "lds_", "tensor_",
    ];
    let is_gcn = |line: &str| {
        let word = line.trim_start();
        GCN.iter().any(|prefix| word.starts_with(prefix))
    };
    match lower.lines().any(is_gcn) {
        true => Dialect::Gcn,
        false => Dialect::Ptx,
    }
}

/// Parses the operand behind a `$`; returns it and the rest of the text.
pub(super) fn operand(text: &str) -> Option<(Written, &str)> {
    let number = |digits: &str| digits.parse().ok().map(Written::Operand);
    if let Some(inner) = text.strip_prefix('{') {
        let (inner, rest) = inner.split_once('}')?;
        let (digits, modifier) = inner.split_once(':').unwrap_or((inner, ""));
        let found = number(digits)?;
        let is_plain = modifier.is_empty();
        return Some((if is_plain { found } else { Written::Of(vec![found]) }, rest));
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((number(&text[..end])?, &text[end..]))
}

/// `12`, `-1`, `0x1f`, `0b11`, `017`, each with or without a trailing `U`.
pub(super) fn integer(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest.trim_start()),
        None => (1, text),
    };
    let digits = digits.trim_end_matches(['u', 'U']);
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    let is_number = digits.chars().all(|c| c.is_digit(radix));
    let value = u64::from_str_radix(digits, radix).ok().filter(|_| is_number)?;
    Some((value as i64).wrapping_mul(sign))
}

/// A register: a `$` operand or a name; the carry flag has a name that no register can have.
type Register = Result<u32, String>;

struct Reader {
    assembly: Assembly,
    /// The values that registers hold.
    held: FxHashMap<Register, Id>,
    /// Positions of direct outputs.
    outputs: Vec<u32>,
    /// Positions of operands that are addresses of results.
    indirect: FxHashSet<u32>,
    is_straight: bool,
}

const CARRY: &str = "(carry)";

impl Reader {
    fn new(constraints: &Constraints<'_>, is_straight: bool) -> Reader {
        let mut reader = Reader {
            assembly: Assembly {
                is_complete: is_straight,
                is_operations: is_straight,
                ..Assembly::default()
            },
            held: FxHashMap::default(),
            outputs: Vec::new(),
            indirect: FxHashSet::default(),
            is_straight,
        };
        let (mut position, mut argument) = (0u32, 0u32);
        for constraint in constraints.all() {
            if !matches!(constraint.role, Role::Output | Role::Input) {
                continue;
            }
            if constraint.role == Role::Output && !constraint.indirect {
                reader.outputs.push(position);
            } else {
                let value = reader.value(AsmValue::Argument(argument));
                argument += 1;
                if constraint.role == Role::Output || constraint.indirect {
                    // Memory is written or read through this pointer.
                    reader.indirect.insert(position);
                    reader.assembly.is_complete = false;
                } else {
                    reader.held.insert(Ok(position), value);
                }
                // The input shares the register of an output.
                let tied = constraint.alternatives.first().and_then(|codes| codes.first());
                if let Some(output) = tied.and_then(|code| code.parse().ok()) {
                    reader.held.insert(Ok(output), value);
                }
            }
            position += 1;
        }
        reader
    }

    fn value(&mut self, value: AsmValue) -> Id {
        self.assembly.values.push(value);
        self.assembly.values.len() - 1
    }

    fn statement(&mut self, statement: &Statement) {
        let predicate = match (&statement.predicate, self.is_straight) {
            (Some(written), true) => Some(self.read(written)),
            (_, false) => Some(self.value(AsmValue::Anything)),
            (None, true) => None,
        };
        if let Some((kind, address)) = &statement.access {
            let address = self.read(address);
            self.assembly.accesses.push(Access { kind: *kind, address });
        }
        let operands = &statement.operands;
        let first = operands.first();
        match &statement.meaning {
            Meaning::Nothing => {}
            Meaning::Pure => self.pure(&statement.name, operands, predicate, None),
            Meaning::Carrying { out, carry } => {
                let carry = carry.then(|| Written::Register(CARRY.to_owned()));
                self.pure(&statement.name, operands, predicate, carry.as_ref());
                if let Some(first) = first.filter(|_| *out) {
                    let value = self.read(first);
                    self.write(&Written::Register(CARRY.to_owned()), value, predicate);
                }
            }
            Meaning::Intrinsic { intrinsic, results, arguments } => {
                let read = |reader: &mut Self, &at: &usize| match operands.get(at) {
                    Some(written) => reader.read(written),
                    None => reader.value(AsmValue::Anything),
                };
                let arguments = arguments.iter().map(|at| read(self, at)).collect();
                let written = operands.iter().take(*results);
                let operation = self.operation(*intrinsic, arguments, predicate);
                for (index, result) in written.flat_map(parts).enumerate() {
                    let value = self.value(AsmValue::Result { operation, index });
                    self.write(result, value, predicate);
                }
            }
            Meaning::Other { convergent } => {
                self.assembly.convergent |= convergent;
                self.assembly.is_convergent_otherwise |= convergent;
                self.assembly.is_complete = false;
                self.assembly.is_operations = false;
                self.forget(operands);
            }
            Meaning::Jump => self.assembly.is_complete = false,
            Meaning::Unknown => {
                self.assembly.is_complete = false;
                self.assembly.is_operations = false;
                if !self.assembly.unknown.contains(&statement.name) {
                    self.assembly.unknown.push(statement.name.clone());
                }
                self.forget(operands);
            }
        }
    }

    /// Executes an instruction whose first operand becomes a function of the others.
    fn pure(
        &mut self,
        name: &str,
        operands: &[Written],
        predicate: Option<Id>,
        more: Option<&Written>,
    ) {
        let Some((first, others)) = operands.split_first() else { return };
        let mut from: Vec<Id> = Vec::new();
        for other in others.iter().chain(more) {
            let value = self.read(other);
            from.push(value);
        }
        let results: Vec<&Written> = parts(first).collect();
        let is_move = ["mov.", "s_mov_", "v_mov_"].iter().any(|stem| name.starts_with(stem));
        let value = match (&from[..], results.len()) {
            (&[one], 1) if is_move => one,
            _ => self.value(AsmValue::Of(from)),
        };
        for result in results {
            self.write(result, value, predicate);
        }
    }

    /// The values of registers that an instruction may write become unknown.
    fn forget(&mut self, operands: &[Written]) {
        for written in operands.iter().flat_map(parts) {
            let is_output = |position: &u32| self.outputs.contains(position);
            match written {
                Written::Operand(position) if !is_output(position) => {}
                _ => {
                    let value = self.value(AsmValue::Anything);
                    self.write(written, value, None);
                }
            }
        }
    }

    fn operation(
        &mut self,
        intrinsic: Intrinsic,
        arguments: Vec<Id>,
        predicate: Option<Id>,
    ) -> usize {
        let info = intrinsic.info;
        self.assembly.convergent |= info.convergent || info.barrier.is_some();
        self.assembly.is_complete &= info.memory.is_none();
        self.assembly.operations.push(Operation { intrinsic, arguments, predicate });
        self.assembly.operations.len() - 1
    }

    fn read(&mut self, written: &Written) -> Id {
        let register = match written {
            Written::Operand(position) => {
                if self.indirect.contains(position) {
                    return self.value(AsmValue::Anything);
                }
                Ok(*position)
            }
            Written::Register(name) => Err(name.clone()),
            Written::Integer(number) => return self.value(AsmValue::Integer(*number)),
            Written::Constant => return self.value(AsmValue::Of(Vec::new())),
            Written::Special(intrinsic) => {
                let operation = self.operation(*intrinsic, Vec::new(), None);
                return self.value(AsmValue::Result { operation, index: 0 });
            }
            Written::Of(all) | Written::Pair(all) => {
                // Only one level: the parts are registers or constants.
                let from = all.iter().map(|one| self.read_flat(one)).collect();
                return self.value(AsmValue::Of(from));
            }
            Written::Other => return self.value(AsmValue::Anything),
        };
        match self.held.get(&register) {
            Some(&value) => value,
            None => self.value(AsmValue::Anything),
        }
    }

    /// As `read`, for an operand without parts.
    fn read_flat(&mut self, written: &Written) -> Id {
        match written {
            Written::Of(_) | Written::Pair(_) => self.value(AsmValue::Anything),
            _ => self.read(written),
        }
    }

    fn write(&mut self, written: &Written, mut value: Id, predicate: Option<Id>) {
        let register = match written {
            Written::Operand(position) => Ok(*position),
            Written::Register(name) => Err(name.clone()),
            _ => return,
        };
        if let Some(predicate) = predicate {
            let old = match self.held.get(&register) {
                Some(&old) => old,
                None => self.value(AsmValue::Anything),
            };
            value = self.value(AsmValue::Of(vec![old, value, predicate]));
        }
        self.held.insert(register, value);
    }

    fn finish(mut self) -> Assembly {
        for position in std::mem::take(&mut self.outputs) {
            let held = self.held.get(&Ok(position)).copied().filter(|_| self.is_straight);
            let value = match held {
                Some(value) => value,
                None => self.value(AsmValue::Anything),
            };
            self.assembly.results.push(value);
        }
        self.assembly
    }
}

/// The registers that an operand consists of.
fn parts(written: &Written) -> impl Iterator<Item = &Written> {
    let all = match written {
        Written::Of(all) | Written::Pair(all) => &all[..],
        one => std::slice::from_ref(one),
    };
    all.iter()
}

/// The intrinsic with a name, if the tables have it.
pub(super) fn known(name: &str) -> Option<Intrinsic> {
    lookup(name)
}

#[cfg(test)]
mod tests;
