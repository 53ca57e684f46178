//! Which objects pointers are made from, and what is done through them.
//!
//! # What
//!
//! A *root* is an argument that is a pointer, or a variable of the module. A value is *based on* a
//! root when it is made from its address by steps, casts, phis and selections (LLVM Language
//! Reference, *Pointer Aliasing Rules*). For each value that is a pointer [`PointerFlow::of`] is
//! the set of all that it may be based on: roots, stack slots, and anything else (loaded from
//! memory, an integer, the result of a call). For each root it is known where memory is written
//! through what is based on it, and where such a pointer leaves what can be followed: it *escapes*
//! when it is stored, returned, made an integer, or passed to code that may keep it.
//!
//! A pointer that is stored in private memory and loaded again is the same pointer: nobody else
//! reaches what [`PrivateMemory`](crate::memory::PrivateMemory) holds. It escapes where something
//! reads that memory other than as a pointer.
//!
//! # How
//!
//! Sets of at most 64 members, propagated forward along the edges of pointers, and of versions of
//! private memory, until nothing changes. A function with more roots has a last member for all
//! further ones, which counts as unknown. Each set grows at most 64 times, by a few steps as a
//! rule: O(instructions + operands) in practice.
//!
//! So that an edit changes little of it ([`follow`]), nothing is said that need not be:
//!
//! - a pointer that is made from one other, by steps and casts, is based on what that is based on.
//!   Sets are kept of those that are made from several or loaded from private memory, and of a
//!   chain of steps where it *ends*, to be found in one step;
//! - variables are numbered by the instruction with the lowest number that mentions them;
//! - of what is done with a root it is known which instruction does it first, by number, for each
//!   thing that can be done.
//!
//! **Invariant.** Whatever is done with a pointer and is neither followed nor a read is an escape.

mod build;
mod doers;
mod done;
mod flow;
pub mod follow;
mod nodes;
mod sets;

pub use flow::{Objects, Passed, PassedUse, PointerFlow, Root, RootUse, has_provenance};
