//! The answer: the sets of objects that pointers are based on, and the uses of each root.

use std::sync::Arc;

use phalanx_fixpoint::Bits;
use phalanx_ir::{
    Const, GlobalName, InstId, Opcode, Type, Value, ValueKind, attributes::CaptureComponents,
    constant::ConstKind,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::code::{Code, value_type};
use crate::memory::{
    by_inst::InstSet,
    origins::{is_pointer, number},
    pages::Pages,
};

/// An object that pointers are based on and that can be told apart in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Root {
    /// An argument, by position.
    Argument(u32),
    /// A variable of the module, or another entity that has an address.
    Variable(GlobalName),
}

/// A set of objects that a pointer may be based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Objects(pub(super) u64);

impl Objects {
    /// The empty set: null, poison, or a value that is never computed.
    pub const NONE: Objects = Objects(0);
    pub(super) const UNKNOWN: Objects = Objects(1);
    pub(super) const SLOT: Objects = Objects(2);
    /// The first bit that stands for a root.
    pub(super) const FIRST: u32 = 2;
    /// The number of roots that are told apart.
    pub(super) const ROOTS: usize = 62;

    pub(super) const fn root(number: usize) -> Objects {
        if number < Self::ROOTS {
            Objects(1 << (Self::FIRST + number as u32))
        } else {
            Self::UNKNOWN
        }
    }

    /// Whether the pointer may be based on something else than roots and stack slots.
    #[must_use]
    pub const fn has_unknown(self) -> bool {
        self.0 & Self::UNKNOWN.0 != 0
    }

    /// Whether the pointer may be based on a stack slot.
    #[must_use]
    pub const fn has_slot(self) -> bool {
        self.0 & Self::SLOT.0 != 0
    }

    /// Whether the intersection is empty.
    #[must_use]
    pub const fn is_disjoint(self, other: Objects) -> bool {
        self.0 & other.0 == 0
    }

    /// Whether a root is in the set that is told apart from others.
    pub(super) const fn has_roots(self) -> bool {
        self.0 >> Self::FIRST != 0
    }

    pub(super) fn numbers(self) -> impl Iterator<Item = usize> {
        let bits = self.0 >> Self::FIRST;
        (0..Self::ROOTS).filter(move |number| bits >> number & 1 != 0)
    }
}

impl Bits for Objects {
    const NONE: Objects = Objects::NONE;
    const ALL: Objects = Objects(u64::MAX);

    #[inline]
    fn union(self, other: Self) -> Self {
        Objects(self.0 | other.0)
    }

    #[inline]
    fn common(self, other: Self) -> Self {
        Objects(self.0 & other.0)
    }

    #[inline]
    fn minus(self, other: Self) -> Self {
        Objects(self.0 & !other.0)
    }

    #[inline]
    fn first(self) -> Self {
        Objects(self.0.first())
    }
}

/// A use of a pointer after which the pointer is not tracked further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Sink {
    Write,
    Escape,
    /// Passed as this argument to a function of the module, which is called with this type.
    Passed(GlobalName, Type, u32),
}

/// What a callee does with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PassedUse {
    /// It may write memory through the argument.
    pub writes: bool,
    /// It may keep the argument.
    pub escapes: bool,
}

impl PassedUse {
    /// Any use.
    pub const UNKNOWN: PassedUse = PassedUse { writes: true, escapes: true };
}

/// What a function of the module does with an argument, when called with this type.
pub type Passed<'a> = &'a dyn Fn(GlobalName, Type, u32) -> PassedUse;

/// Where memory is written through a root, and where the root escapes. Each is the instruction with
/// the lowest number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RootUse {
    /// The first instruction that writes.
    pub written: Option<InstId>,
    /// The first instruction at which a pointer escapes.
    pub escapes: Option<InstId>,
}

/// The roots of a function.
#[derive(Clone, Debug, Default)]
pub(super) struct Roots {
    /// Arguments by position, then variables in the order of `mentioned`.
    pub(super) all: Vec<Root>,
    /// By variable: the first instruction that mentions it.
    pub(super) mentioned: Vec<InstId>,
    /// Numbers of variables among the roots.
    pub(super) variables: FxHashMap<GlobalName, usize>,
    /// The set of each argument.
    pub(super) arguments: Vec<Objects>,
}

impl PartialEq for Roots {
    fn eq(&self, other: &Self) -> bool {
        // The numbers follow from the lists.
        (&self.all, &self.mentioned, &self.arguments)
            == (&other.all, &other.mentioned, &other.arguments)
    }
}

/// An instruction that is the first with a use of some objects.
pub(super) type First = (InstId, Objects, Sink);

/// What pointers are based on, and the uses of roots. See the [module documentation](super).
#[derive(Clone, Debug, Default)]
pub struct PointerFlow {
    pub(super) roots: Arc<Roots>,
    /// By instruction, for pointers that are made from several others or loaded from private
    /// memory.
    pub(super) sets: Pages<Objects>,
    /// Pointers that are loaded from private memory.
    pub(super) held: InstSet,
    /// By instruction: where its chain of steps ends.
    pub(super) ends: Pages<End>,
    /// By instruction and use: the objects for which it is the first with that use.
    pub(super) firsts: Vec<First>,
}

impl PartialEq for PointerFlow {
    fn eq(&self, other: &Self) -> bool {
        // An end that is not stored is searched for; a stored one may be of an instruction that is
        // gone.
        let Self { roots, sets, held, ends, firsts } = self;
        // A chain without an end cannot be found by a search.
        let is_same = |end: &End, other: &End| {
            end == other
                || [end, other].contains(&&End::Unstated) && ![end, other].contains(&&End::Nowhere)
        };
        (roots, sets) == (&other.roots, &other.sets)
            && (held, firsts) == (&other.held, &other.firsts)
            && ends.agrees(&other.ends, is_same)
    }
}

impl Eq for PointerFlow {}

/// What an instruction makes a pointer from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Made<'a> {
    /// From one other pointer, by a step or cast.
    Step(Value),
    /// From several others.
    Join(&'a [Value]),
    /// From private memory: what it holds.
    Held,
    /// The address of a stack slot.
    Slot,
    /// From anything.
    Unknown,
}

/// Where the chain of steps of an instruction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum End {
    /// Not stored: the instruction is no step, or was added later. The end is searched for from
    /// there.
    #[default]
    Unstated,
    At(Value),
    /// No end: in unreachable code an address may be made from itself.
    Nowhere,
}

/// How many steps whose ends are not stored are walked.
pub(super) const STEPS: usize = 4096;

/// What an instruction makes a pointer from; `is_held` says whether a load is from private memory.
pub(super) fn made(code: Code<'_>, inst: InstId, is_held: impl Fn(InstId) -> bool) -> Made<'_> {
    let body = code.body;
    let operands = body.operands(inst);
    match body.inst(inst).opcode {
        Opcode::GetElementPtr
        | Opcode::AddrSpaceCast
        | Opcode::BitCast
        | Opcode::Freeze
        | Opcode::ExtractElement => match is_address(code, operands[0]) {
            true => Made::Step(operands[0]),
            false => Made::Join(&operands[..1]),
        },
        Opcode::Select => Made::Join(&operands[1..]),
        Opcode::InsertElement | Opcode::ShuffleVector => Made::Join(&operands[..2]),
        Opcode::Phi => Made::Join(body.phi_values(inst)),
        Opcode::Alloca => Made::Slot,
        Opcode::Load if is_held(inst) => Made::Held,
        _ => Made::Unknown,
    }
}

pub(super) fn is_address(code: Code<'_>, value: Value) -> bool {
    value_type(code, value).is_some_and(|ty| is_pointer(code, ty))
}

impl PointerFlow {
    /// Where the chain of steps of a value ends; none if it has no end.
    pub(super) fn end(&self, code: Code<'_>, mut value: Value, steps: usize) -> Option<Value> {
        for _ in 0..=steps {
            let Some(inst) = value.as_inst() else { return Some(value) };
            match self.ends.get(number(inst)) {
                Some(End::At(end)) => return Some(*end),
                Some(End::Nowhere) => return None,
                Some(End::Unstated) | None => match self.made(code, inst) {
                    Some(Made::Step(from)) => value = from,
                    _ => return Some(value),
                },
            }
        }
        // A step whose origin is not known.
        Some(value)
    }

    /// What an instruction makes a pointer from; none if its result is no pointer.
    pub(super) fn made<'a>(&self, code: Code<'a>, inst: InstId) -> Option<Made<'a>> {
        let gives_pointer = is_pointer(code, code.body.inst(inst).ty);
        gives_pointer.then(|| made(code, inst, |load| self.held.contains(load)))
    }

    /// What a value may be based on. O(steps of its chain that were added since this was made).
    #[must_use]
    pub fn of(&self, code: Code<'_>, value: Value) -> Objects {
        let Some(value) = self.end(code, value, STEPS) else { return Objects::NONE };
        match value.kind() {
            ValueKind::Inst(inst) => match self.made(code, inst) {
                Some(Made::Slot) => Objects::SLOT,
                Some(Made::Join(_) | Made::Held) => {
                    self.sets.get(number(inst)).copied().unwrap_or_default()
                }
                Some(Made::Step(_) | Made::Unknown) => Objects::UNKNOWN,
                None => Objects::NONE,
            },
            ValueKind::Arg(position) => {
                self.roots.arguments.get(position as usize).copied().unwrap_or(Objects::UNKNOWN)
            }
            ValueKind::Const(constant) => entities(code, constant).iter().fold(
                match has_number(code, constant) {
                    true => Objects::UNKNOWN,
                    false => Objects::NONE,
                },
                |all, name| all.union(self.find(Root::Variable(*name))),
            ),
            _ => Objects::UNKNOWN,
        }
    }

    /// Whether a value is based on the same objects as in another flow whose roots have the same
    /// numbers: [`of`](Self::of) gives the same in both. O(steps) as there.
    pub(in crate::loads) fn agrees(&self, other: &Self, code: Code<'_>, value: Value) -> bool {
        let ends = [self, other].map(|flow| flow.end(code, value, STEPS));
        match ends {
            [Some(end), Some(other_end)] if end == other_end && end.as_inst().is_none() => true,
            _ => self.of(code, value) == other.of(code, value),
        }
    }

    pub(super) fn find(&self, root: Root) -> Objects {
        let number = match root {
            Root::Argument(_) => self.roots.all.iter().position(|&other| other == root),
            Root::Variable(name) => self.roots.variables.get(&name).copied(),
        };
        number.map_or(Objects::UNKNOWN, Objects::root)
    }

    /// The roots of a set.
    pub fn roots(&self, set: Objects) -> impl Iterator<Item = Root> + '_ {
        set.numbers().filter_map(|number| self.roots.all.get(number).copied())
    }

    /// All roots.
    #[must_use]
    pub fn all_roots(&self) -> &[Root] {
        &self.roots.all
    }

    /// Whether the uses of all roots are the same as in another flow. May be false although they
    /// are: each root has to be compared then.
    pub(in crate::loads) fn does_as_much(&self, other: &Self) -> bool {
        self.roots.all == other.roots.all && self.firsts == other.firsts
    }

    /// The uses of a root. `passed` says what a callee does with an argument.
    pub fn uses(&self, root: Root, passed: Passed<'_>) -> RootUse {
        let set = self.find(root);
        let mut found = RootUse::default();
        for &(inst, objects, sink) in &self.firsts {
            if objects.is_disjoint(set) {
                continue;
            }
            let done = match sink {
                Sink::Write => PassedUse { writes: true, escapes: false },
                Sink::Escape => PassedUse { writes: false, escapes: true },
                Sink::Passed(callee, ty, position) => passed(callee, ty, position),
            };
            if done.writes {
                found.written = found.written.or(Some(inst));
            }
            if done.escapes {
                found.escapes = found.escapes.or(Some(inst));
            }
        }
        // A root that has no bit of its own may be used anywhere.
        if set.has_unknown() {
            let anywhere = self.firsts.first().map(|first| first.0);
            found.written = found.written.or(anywhere);
            found.escapes = found.escapes.or(anywhere);
        }
        found
    }
}

/// The entities that a constant mentions.
pub(crate) fn entities(code: Code<'_>, constant: Const) -> Vec<GlobalName> {
    let mut names = Vec::new();
    visit(code, constant, |kind| names.extend(kind.entity()));
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether an address may be made from a number, or is an address of code.
fn has_number(code: Code<'_>, constant: Const) -> bool {
    let mut is_plain = true;
    visit(code, constant, |kind| {
        is_plain &= match kind {
            ConstKind::Expr(expr) => matches!(
                expr.opcode,
                Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast
            ),
            ConstKind::BlockAddress { .. } | ConstKind::PtrAuth(_) => false,
            _ => true,
        };
    });
    !is_plain
}

fn visit(code: Code<'_>, constant: Const, mut see: impl FnMut(&ConstKind)) {
    let kind = &code.context.const_data(constant).kind;
    // Most constants have no parts.
    if kind.parts().is_empty() {
        return see(kind);
    }
    let mut seen: FxHashSet<Const> = FxHashSet::default();
    let mut work = vec![constant];
    while let Some(constant) = work.pop() {
        if seen.insert(constant) {
            let kind = &code.context.const_data(constant).kind;
            see(kind);
            work.extend_from_slice(kind.parts());
        }
    }
}

/// Whether what a callee keeps of a pointer allows an access through it.
#[must_use]
pub const fn has_provenance(kept: CaptureComponents) -> bool {
    kept.contains(CaptureComponents::READ_PROVENANCE)
}

/// Whether an instruction concerns pointers: its result is one, or an operand is one, or an operand
/// is a constant that mentions entities or makes an address of numbers.
pub(super) fn matters(code: Code<'_>, inst: InstId) -> bool {
    let body = code.body;
    let is_address = |&operand: &Value| match operand.kind() {
        ValueKind::Inst(inst) => is_pointer(code, body.inst(inst).ty),
        ValueKind::Arg(position) => match code.header.params.get(position as usize) {
            Some(&ty) => is_pointer(code, ty),
            None => true,
        },
        ValueKind::Const(constant) => names_something(code, constant),
        ValueKind::Block(_) | ValueKind::Metadata(_) => false,
    };
    is_pointer(code, body.inst(inst).ty) || body.operands(inst).iter().any(is_address)
}

pub(super) fn names_something(code: Code<'_>, constant: Const) -> bool {
    let kind = &code.context.const_data(constant).kind;
    // Most constants are plain numbers.
    let is_leaf = kind.parts().is_empty() && kind.entity().is_none();
    let may_be_number =
        matches!(kind, ConstKind::Expr(_) | ConstKind::BlockAddress { .. } | ConstKind::PtrAuth(_));
    (!is_leaf || may_be_number)
        && (has_number(code, constant) || !entities(code, constant).is_empty())
}
