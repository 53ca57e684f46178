//! The answer: sets of what pointers are based on, and what is done with each root.

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

/// What pointers are made from, as far as a function can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Root {
    /// An argument, by position.
    Argument(u32),
    /// A variable of the module, or another entity that has an address.
    Variable(GlobalName),
}

/// A set of what a pointer may be based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Objects(pub(super) u64);

impl Objects {
    /// Nothing: null, poison, what is never computed.
    pub const NONE: Objects = Objects(0);
    pub(super) const UNKNOWN: Objects = Objects(1);
    pub(super) const SLOT: Objects = Objects(2);
    /// The first bit that is a root's.
    pub(super) const FIRST: u32 = 2;
    /// How many roots are told apart.
    pub(super) const ROOTS: usize = 62;

    pub(super) const fn root(number: usize) -> Objects {
        if number < Self::ROOTS {
            Objects(1 << (Self::FIRST + number as u32))
        } else {
            Self::UNKNOWN
        }
    }

    /// Whether it may be based on something else than roots and stack slots.
    #[must_use]
    pub const fn has_unknown(self) -> bool {
        self.0 & Self::UNKNOWN.0 != 0
    }

    /// Whether it may be based on a stack slot.
    #[must_use]
    pub const fn has_slot(self) -> bool {
        self.0 & Self::SLOT.0 != 0
    }

    /// Whether there is nothing that is in both.
    #[must_use]
    pub const fn is_disjoint(self, other: Objects) -> bool {
        self.0 & other.0 == 0
    }

    /// Whether there is a root in it that is told apart from others.
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

/// What is done with a pointer that is not followed further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Sink {
    Write,
    Escape,
    /// Passed to a function of the module that is called with this type, as this argument.
    Passed(GlobalName, Type, u32),
}

/// What is done with an argument by those that it is passed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PassedUse {
    /// Memory may be written through it.
    pub writes: bool,
    /// It may be kept.
    pub escapes: bool,
}

impl PassedUse {
    /// Anything.
    pub const UNKNOWN: PassedUse = PassedUse { writes: true, escapes: true };
}

/// What a function of the module does with an argument; the type is that with which it is called.
pub type Passed<'a> = &'a dyn Fn(GlobalName, Type, u32) -> PassedUse;

/// Where memory is written through a root, and where it gets lost. Of each the instruction with the
/// lowest number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RootUse {
    /// Something writes.
    pub written: Option<InstId>,
    /// A pointer goes where it is not followed.
    pub escapes: Option<InstId>,
}

/// The roots of a function.
#[derive(Clone, Debug, Default)]
pub(super) struct Roots {
    /// Arguments by position, then variables in the order of `mentioned`.
    pub(super) all: Vec<Root>,
    /// By variable: the first instruction that mentions it.
    pub(super) mentioned: Vec<InstId>,
    /// Numbers of roots.
    pub(super) variables: FxHashMap<GlobalName, usize>,
    /// By argument.
    pub(super) arguments: Vec<Objects>,
}

impl PartialEq for Roots {
    fn eq(&self, other: &Self) -> bool {
        // Numbers follow from the list.
        (&self.all, &self.mentioned, &self.arguments)
            == (&other.all, &other.mentioned, &other.arguments)
    }
}

/// An instruction that is the first to do something with some objects.
pub(super) type First = (InstId, Objects, Sink);

/// See the [module documentation](self).
#[derive(Clone, Debug, Default)]
pub struct PointerFlow {
    pub(super) roots: Arc<Roots>,
    /// By instruction, of those that are made from several others or loaded from private memory.
    pub(super) sets: Pages<Objects>,
    /// Pointers that are loaded from private memory.
    pub(super) held: InstSet,
    /// By instruction: where its chain of steps ends.
    pub(super) ends: Pages<End>,
    /// By instruction and what it does: that of which it is the first to do it.
    pub(super) firsts: Vec<First>,
}

impl PartialEq for PointerFlow {
    fn eq(&self, other: &Self) -> bool {
        // Ends are looked for where they are not told, and told of what is there no longer.
        let Self { roots, sets, held, ends, firsts } = self;
        // One that has no end is not found by looking for it.
        let is_same = |end: &End, other: &End| {
            end == other
                || [end, other].contains(&&End::NotTold) && ![end, other].contains(&&End::Nowhere)
        };
        (roots, sets) == (&other.roots, &other.sets)
            && (held, firsts) == (&other.held, &other.firsts)
            && ends.agrees(&other.ends, is_same)
    }
}

impl Eq for PointerFlow {}

/// What a pointer is made from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Made<'a> {
    /// One other, by a step or cast.
    Step(Value),
    /// Some others.
    Join(&'a [Value]),
    /// What private memory holds.
    Held,
    /// It is the address of a stack slot.
    Slot,
    /// Anything.
    Unknown,
}

/// Where the chain of steps of an instruction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum End {
    /// It is no step, or one that has come since: from there it is looked for.
    #[default]
    NotTold,
    At(Value),
    /// Nowhere: in code that is not reached an address may be made from itself.
    Nowhere,
}

/// How many steps that are not told of are looked at.
pub(super) const STEPS: usize = 4096;

/// What a pointer is made from; `is_held` says of a load that it is from private memory.
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
    /// Where the chain of steps of a value ends; none if there is no end.
    pub(super) fn end(&self, code: Code<'_>, mut value: Value, steps: usize) -> Option<Value> {
        for _ in 0..=steps {
            let Some(inst) = value.as_inst() else { return Some(value) };
            match self.ends.get(number(inst)) {
                Some(End::At(end)) => return Some(*end),
                Some(End::Nowhere) => return None,
                Some(End::NotTold) | None => match self.made(code, inst) {
                    Some(Made::Step(from)) => value = from,
                    _ => return Some(value),
                },
            }
        }
        // A step, of which nothing is known.
        Some(value)
    }

    /// What an instruction makes a pointer from, if it gives one.
    pub(super) fn made<'a>(&self, code: Code<'a>, inst: InstId) -> Option<Made<'a>> {
        let gives_pointer = is_pointer(code, code.body.inst(inst).ty);
        gives_pointer.then(|| made(code, inst, |load| self.held.contains(load)))
    }

    /// What a value may be based on. O(steps of its chain that have come since this was made).
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

    /// Whether a value is based on the same as in another one, where roots have the same numbers:
    /// [`of`](Self::of) says the same in both. O(steps) likewise.
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

    /// Whether what is done through each root is what is done through it in another one, as can be
    /// told without a look at each.
    pub(in crate::loads) fn does_as_much(&self, other: &Self) -> bool {
        self.roots.all == other.roots.all && self.firsts == other.firsts
    }

    /// What is done through a root. `passed` says what a function does with an argument.
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
        // A root without a bit of its own may be used anywhere.
        if set.has_unknown() {
            let anywhere = self.firsts.first().map(|first| first.0);
            found.written = found.written.or(anywhere);
            found.escapes = found.escapes.or(anywhere);
        }
        found
    }
}

/// Entities that a constant is made of.
pub(crate) fn entities(code: Code<'_>, constant: Const) -> Vec<GlobalName> {
    let mut names = Vec::new();
    visit(code, constant, |kind| names.extend(kind.entity()));
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether an address may be made from a number, or of code.
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
    // Most are one thing.
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

/// Whether what is kept of a pointer lets somebody access what it points to.
#[must_use]
pub const fn has_provenance(kept: CaptureComponents) -> bool {
    kept.contains(CaptureComponents::READ_PROVENANCE)
}

/// Whether an instruction has to do with pointers. It gives one, or has an operand that is one or
/// is made of entities or numbers as an address is.
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
