//! Which memory each address leads to.
//!
//! # What
//!
//! A generic pointer may lead anywhere. [`MemoryKinds`] says for each pointer which *memories*
//! ([`SpaceSet`]) it may lead to: the set holds every memory that an access through the pointer can
//! touch, in any execution. An access of anything else is undefined. From this follow the
//! instruction to use (`ld.shared` rather than `ld`), that two accesses cannot alias, and that a
//! load is of memory that all threads share.
//!
//! ```text
//! %s = addrspacecast ptr addrspace(3) @buffer to ptr   ; shared
//! %p = select i1 %c, ptr %s, ptr %local                ; shared or private: not global
//! %x = load i32, ptr %p
//! ```
//!
//! The lattice is that of Kong's memory-space analysis: sets of memories, ordered by inclusion,
//! from nothing upwards. LLVM's `InferAddressSpaces` has one space or all of them instead, and so
//! loses what two spaces have in common ("not private").
//!
//! | module | what |
//! |---|---|
//! | [`facts`] | what is known outside of the function |
//! | [`rules`] | how the set of a value is computed from others |
//! | [`nodes`] | the same for values and for contents of private memory |
//! | [`unions`] | the same as rules of [`phalanx_fixpoint`] |
//! | [`constants`] | which memories constants lead to, and what constant memory holds |
//! | [`predicates`] | what a test of an address says in the blocks that it guards |
//! | [`refined`] | the same, updated after edits |
//! | [`solve`] | the fixpoint |
//! | [`kinds`] | the answer |
//! | [`summary`] | which memories a function returns, by its arguments; which it passes on |
//! | [`retained`] | repair of the answer after edits |
//! | [`specialize`] | copies of functions of which more would be known |
//! | [`why`] | chains of rules from an address to where a memory comes in |
//!
//! # Across calls
//!
//! [`Returned`] says which memories a function's result may lead to: some of its own, and those of
//! some of its arguments. It is found by a second solution with a bit for each parameter. In the
//! other direction, [`SpaceFacts::argument`] says what is passed to a function all of whose callers
//! are known. Both are least fixpoints over the call graph, which queries compute.
//!
//! # Through memory
//!
//! A load from a private object that no other code can reach gives what was stored: see
//! [`memory::private`](crate::memory::private). Constant variables hold their initial values.
//!
//! # Assumptions
//!
//! - A pointer made from another by steps is used only to access the object of that other.
//! - The host passes kernels no addresses of shared or private memory, and puts none into constant
//!   memory.
//! - An access through a pointer leads to one of the memories that its address space has.

mod constants;
mod facts;
mod kinds;
mod nodes;
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
mod unions;
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
