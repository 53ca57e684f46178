//! Which memory each address leads to.
//!
//! # What
//!
//! A generic pointer may lead anywhere. [`MemoryKinds`] says for each pointer which *memories* ([`SpaceSet`]) it may lead to: a set that
//! holds every memory that an access through it can touch, in any execution. An access of anything else is undefined. From
//! this follow the instruction to use (`ld.shared` rather than `ld`), that two accesses cannot meet, and that a load is of memory that
//! all threads see alike.
//!
//! The lattice is that of Kong's memory-space analysis: sets of memories, ordered by inclusion, from nothing upwards. LLVM's
//! `InferAddressSpaces` has one space or all of them instead, and so loses what two spaces have in common ("not private").
//!
//! | module | what |
//! |---|---|
//! | [`set`] | sets of memories; which address space has which |
//! | [`rules`] | what the set of a value is made from |
//! | [`held`] | what constants lead to, and what constant memory holds |
//! | [`predicates`] | what tests of an address say where they have held |
//! | [`refined`] | the same in a function that is edited |
//! | [`solve`] | the fixpoint |
//! | [`kinds`] | the answer |
//! | [`summary`] | what a function returns, by what it is passed; what it passes on |
//! | [`retained`] | repair of the answer after edits |
//! | [`extras`] | what comes round loops, for that |
//! | [`specialize`] | copies of functions that would know more |
//! | [`why`] | chains of rules from an address to where a memory comes in |
//!
//! # Across calls
//!
//! [`Returned`] says which memories a function's result may lead to: some of its own, and those of some of its arguments. It is
//! found by solving once more with a bit for each parameter. The other way round [`SpaceFacts::argument`] says what a function all of
//! whose callers are known is passed. Both are least fixpoints over the call graph, which queries go through.
//!
//! # Through memory
//!
//! What is loaded from a private object that nobody else can reach is what was stored: see [`memory::private`](crate::memory::private).
//! Constant variables hold their initial values.
//!
//! # What is taken for granted
//!
//! - A pointer made from another by steps is used for the object of that other.
//! - The host passes kernels no addresses of shared or private memory, and puts none into constant memory.
//! - An access through a pointer leads to one of the memories that its address space has.

mod extras;
mod held;
mod kinds;
mod pages;
mod predicates;
mod readers;
mod refined;
mod retained;
mod rules;
mod set;
mod solve;
mod specialize;
mod summary;

mod why;

use phalanx_graph::{Cfg, DomTree};
use phalanx_ir::{Const, Context, GlobalName, Type, TypeKind};

pub use kinds::MemoryKinds;
pub use predicates::{may_pass, tested};
pub use retained::RetainedKinds;
pub use set::{SpaceModel, SpaceSet};
pub use specialize::{Specialization, specializations};
pub use summary::{Returned, passed, returned};
#[cfg(any(test, feature = "testing"))]
pub use why::chain_holds;
pub use why::{
    SpaceCause, SpaceChain, SpaceLink, SpaceOrigin, SpacePlace, SpaceSubject, space_chains,
};

use crate::{
    lower::{Code, Surroundings},
    memory::PrivateMemory,
};

/// What is known of a variable of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableFacts {
    /// It is in this module, so its address is not null.
    pub is_defined: bool,
    /// What it always holds, if it never changes and nobody replaces it.
    pub initializer: Option<Const>,
}

/// What is known outside of a function.
pub trait SpaceFacts {
    /// What an argument may lead to, if all callers are known.
    fn argument(&self, position: u32) -> Option<SpaceSet>;
    /// What a function returns, if its code is known.
    fn returned(&self, callee: GlobalName) -> Option<Returned>;
    /// Of a variable; none if the name is of something else.
    fn variable(&self, name: GlobalName) -> Option<VariableFacts>;
}

/// Nothing is known outside of the function.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl SpaceFacts for Alone {
    fn argument(&self, _position: u32) -> Option<SpaceSet> {
        None
    }

    fn returned(&self, _callee: GlobalName) -> Option<Returned> {
        None
    }

    fn variable(&self, _name: GlobalName) -> Option<VariableFacts> {
        None
    }
}

/// Which memories each pointer of a function may lead to.
#[must_use]
pub fn memory_kinds(
    code: Code<'_>,
    around: Surroundings<'_>,
    graph: (&Cfg, &DomTree),
    memory: &PrivateMemory,
    facts: &dyn SpaceFacts,
) -> MemoryKinds {
    let mut solver = solve::Solver::new(code, around, graph, memory, facts, false);
    solver.solve();
    solver.finish().0
}

/// As [`memory_kinds`], by rounds over everything until nothing grows: the slow twin.
#[cfg(any(test, feature = "testing"))]
#[must_use]
pub fn memory_kinds_by_rounds(
    code: Code<'_>,
    around: Surroundings<'_>,
    graph: (&Cfg, &DomTree),
    memory: &PrivateMemory,
    facts: &dyn SpaceFacts,
) -> MemoryKinds {
    let mut solver = solve::Solver::new(code, around, graph, memory, facts, false);
    solver.solve_by_rounds();
    solver.finish().0
}

/// Whether a function of a type may return an address.
#[must_use]
pub fn may_return_address(context: &Context, function_type: Type) -> bool {
    match context.type_kind(function_type) {
        TypeKind::Function { ret, .. } => holds_address(context, *ret),
        _ => true,
    }
}

/// Whether a value of a type can hold an address at all: pointers, integers of their width, and what is made of such.
#[must_use]
pub fn may_hold_address(code: Code<'_>, ty: Type) -> bool {
    holds_address(code.context, ty)
}

fn holds_address(context: &Context, ty: Type) -> bool {
    match context.type_kind(ty) {
        TypeKind::Void | TypeKind::Half | TypeKind::BFloat | TypeKind::Float => false,
        TypeKind::Int(bits) => *bits >= 32,
        _ => true,
    }
}
