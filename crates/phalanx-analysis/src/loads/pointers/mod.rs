//! Which objects pointers are made from, and what is done through them.
//!
//! # What
//!
//! A *root* is an argument that is a pointer, or a variable of the module. A value is *based on* a root when it is made from its address by
//! steps, casts, phis and selections (LLVM Language Reference, *Pointer Aliasing Rules*). For each value that is a pointer
//! [`PointerFlow::of`] is the set of all that it may be based on: roots, stack slots, and anything else (loaded from memory, an
//! integer, the result of a call). For each root it is known where memory is written through what is based on it, and where such a
//! pointer leaves what can be followed: it *escapes* when it is stored, returned, made an integer, or
//! passed to code that may keep it.
//!
//! A pointer that is stored in private memory and loaded again is the same pointer: nobody else reaches what
//! [`PrivateMemory`] holds. It escapes where something reads that memory other than as a pointer.
//!
//! # How
//!
//! Sets of at most 64 members, propagated forward along the edges of pointers, and of versions of private memory, until nothing changes. A function with more roots
//! has a last member for all further ones, which counts as unknown. Each set grows at most 64 times, by a few steps as a rule:
//! O(instructions + operands) in practice.
//!
//! **Invariant.** Whatever is done with a pointer and is neither followed nor a read is an escape.

mod build;
mod concern;

use phalanx_ir::{
    Const, GlobalName, InstId, Opcode, Type, Value, ValueKind, attributes::CaptureComponents,
    constant::ConstKind,
};
use rustc_hash::FxHashSet;

use crate::lower::Code;
use crate::memory::PrivateMemory;
use crate::memory::by_inst::InstSet;
use crate::memory::origins::{is_pointer, number};

use super::Omitted;

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
pub struct Objects(u64);

impl Objects {
    /// Nothing: null, poison, what is never computed.
    pub const NONE: Objects = Objects(0);
    const UNKNOWN: Objects = Objects(1);
    const SLOT: Objects = Objects(2);
    /// The first bit that is a root's.
    const FIRST: u32 = 2;
    /// How many roots are told apart.
    const ROOTS: usize = 62;

    const fn root(number: usize) -> Objects {
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

    const fn union(self, other: Objects) -> Objects {
        Objects(self.0 | other.0)
    }

    /// Whether there is a root in it that is told apart from others.
    const fn has_roots(self) -> bool {
        self.0 >> Self::FIRST != 0
    }

    fn numbers(self) -> impl Iterator<Item = usize> {
        let bits = self.0 >> Self::FIRST;
        (0..Self::ROOTS).filter(move |number| bits >> number & 1 != 0)
    }
}

/// What is done with a pointer that is not followed further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sink {
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

/// Where memory is written through a root, and where it gets lost. The first place of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RootUse {
    /// Something writes.
    pub written: Option<InstId>,
    /// A pointer goes where it is not followed.
    pub escapes: Option<InstId>,
}

/// See the [module documentation](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PointerFlow {
    roots: Vec<Root>,
    /// By instruction. Ends with the last that may be based on something.
    sets: Vec<Objects>,
    /// By argument.
    arguments: Vec<Objects>,
    sinks: Vec<(InstId, Objects, Sink)>,
    /// Instructions that have to do with pointers.
    concerned: InstSet,
}

/// The operands that a pointer is made from; none when it is made from something else.
fn made_from<'a>(code: Code<'a>, inst: InstId) -> Option<&'a [Value]> {
    let body = code.body;
    let operands = body.operands(inst);
    match body.inst(inst).opcode {
        Opcode::GetElementPtr
        | Opcode::AddrSpaceCast
        | Opcode::BitCast
        | Opcode::Freeze
        | Opcode::ExtractElement => operands.get(..1),
        Opcode::Select => operands.get(1..),
        Opcode::InsertElement | Opcode::ShuffleVector => operands.get(..2),
        Opcode::Phi => Some(body.phi_values(inst)),
        _ => None,
    }
}

impl PointerFlow {
    /// That of a function; `private` is the memory that only it reaches.
    #[must_use]
    pub fn new(code: Code<'_>, private: &PrivateMemory) -> Self {
        build::flow(code, private, None)
    }

    /// The same without a rule: a negative control.
    #[must_use]
    pub fn new_without(code: Code<'_>, private: &PrivateMemory, omitted: Option<Omitted>) -> Self {
        build::flow(code, private, omitted)
    }

    /// What a value may be based on.
    #[must_use]
    pub fn of(&self, code: Code<'_>, value: Value) -> Objects {
        match value.kind() {
            ValueKind::Inst(inst) => self.sets.get(number(inst)).copied().unwrap_or_default(),
            ValueKind::Arg(position) => {
                self.arguments.get(position as usize).copied().unwrap_or(Objects::UNKNOWN)
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

    fn find(&self, root: Root) -> Objects {
        let number = self.roots.iter().position(|&other| other == root);
        number.map_or(Objects::UNKNOWN, Objects::root)
    }

    /// The roots of a set.
    pub fn roots(&self, set: Objects) -> impl Iterator<Item = Root> + '_ {
        set.numbers().filter_map(|number| self.roots.get(number).copied())
    }

    /// All roots.
    #[must_use]
    pub fn all_roots(&self) -> &[Root] {
        &self.roots
    }

    /// What is done through a root. `passed` says what a function does with an argument.
    pub fn uses(&self, root: Root, passed: Passed<'_>) -> RootUse {
        let set = self.find(root);
        let mut found = RootUse::default();
        for &(inst, objects, sink) in &self.sinks {
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
            let anywhere = self.sinks.first().map(|sink| sink.0);
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
