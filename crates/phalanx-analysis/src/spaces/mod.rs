//! Which memory each address leads to.
//!
//! # What
//!
//! A generic pointer may lead anywhere. [`MemoryKinds`] says for each pointer which *memories*
//! ([`SpaceSet`]) it may lead to: a set that holds every memory that an access through it can
//! touch, in any execution. An access of anything else is undefined. From this follow the
//! instruction to use (`ld.shared` rather than `ld`), that two accesses cannot meet, and that a
//! load is of memory that all threads see alike.
//!
//! The lattice is that of Kong's memory-space analysis: sets of memories, ordered by inclusion,
//! from nothing upwards. LLVM's `InferAddressSpaces` has one space or all of them instead, and so
//! loses what two spaces have in common ("not private").
//!
//! | module | what |
//! |---|---|
//! | [`facts`] | what is known outside of the function |
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
//! [`Returned`] says which memories a function's result may lead to: some of its own, and those of
//! some of its arguments. It is found by solving once more with a bit for each parameter. The other
//! way round [`SpaceFacts::argument`] says what a function all of whose callers are known is
//! passed. Both are least fixpoints over the call graph, which queries go through.
//!
//! # Through memory
//!
//! What is loaded from a private object that nobody else can reach is what was stored: see
//! [`memory::private`](crate::memory::private). Constant variables hold their initial values.
//!
//! # What is taken for granted
//!
//! - A pointer made from another by steps is used for the object of that other.
//! - The host passes kernels no addresses of shared or private memory, and puts none into constant
//!   memory.
//! - An access through a pointer leads to one of the memories that its address space has.

mod extras;
mod facts;
mod held;
mod kinds;
mod numbers;
mod pages;
mod predicates;
mod readers;
mod refined;
mod retained;
mod rules;
mod solve;
mod specialize;
mod summary;
mod types;
mod why;

pub use facts::{Alone, Returned, SpaceFacts, VariableFacts};
pub use kinds::MemoryKinds;
pub use predicates::{may_pass, tested};
pub use retained::RetainedKinds;
pub use solve::memory_kinds;
#[cfg(any(test, feature = "testing"))]
pub use solve::memory_kinds_by_rounds;
pub use specialize::{Specialization, specializations};
pub use summary::{passed, returned};
pub use types::{may_hold_address, may_return_address};
#[cfg(any(test, feature = "testing"))]
pub use why::chain_holds;
pub use why::{
    SpaceCause, SpaceChain, SpaceLink, SpaceOrigin, SpacePlace, SpaceSubject, space_chains,
};

pub use crate::code::{SpaceModel, SpaceSet};
