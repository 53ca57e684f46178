//! Which objects pointers are based on, and what is done through them.
//!
//! # What
//!
//! A *root* is an argument that is a pointer, or a variable of the module. A value is *based on* a
//! root when it is made from its address by steps, casts, phis and selections (LLVM Language
//! Reference, *Pointer Aliasing Rules*). For each value that is a pointer, [`PointerFlow::of`] is
//! the set of everything that it may be based on: roots, stack slots, and anything else (loaded
//! from memory, an integer, the result of a call). For each root, the module finds where memory is
//! written through a pointer based on it, and where such a pointer can no longer be tracked: it
//! *escapes* when it is stored, returned, made an integer, or passed to code that may keep it.
//!
//! ```text
//! %p = getelementptr i32, ptr %a, i64 %i     ; based on %a
//! %q = select i1 %c, ptr %p, ptr @table      ; based on %a and @table
//! store i32 0, ptr %q                        ; writes through %a and through @table
//! ```
//!
//! A pointer that is stored in private memory and loaded again is the same pointer: no other code
//! reaches what [`PrivateMemory`](crate::memory::PrivateMemory) holds. It escapes where an
//! instruction reads that memory other than as a pointer.
//!
//! # How
//!
//! Sets of at most 64 members are propagated forward along the edges of pointers, and of versions
//! of private memory, until nothing changes. A function with more roots has a last member for all
//! further ones, which counts as unknown. Each set grows at most 64 times, by a few steps as a
//! rule: O(instructions + operands) in practice.
//!
//! The representation keeps the effect of an edit small ([`update`]):
//!
//! - a pointer that is made from one other, by steps and casts, is based on what the other is based
//!   on. Sets are stored only for pointers that are made from several or loaded from private
//!   memory. For a chain of steps the module stores where it *ends*, so that its set is found in
//!   one step;
//! - variables are numbered by the instruction with the lowest number that mentions them;
//! - for each root, and each kind of use, the module stores the first instruction, by number, with
//!   such a use.
//!
//! **Invariant.** Each use of a pointer is tracked, is a read, or counts as an escape.

mod build;
mod doers;
mod done;
mod flow;
mod nodes;
mod sets;
pub mod update;

pub use flow::{Objects, Passed, PassedUse, PointerFlow, Root, RootUse, has_provenance};
