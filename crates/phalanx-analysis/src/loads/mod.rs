//! Loads that may take a cheaper way: scalar, non-coherent, broadcast (LDU).
//!
//! # What
//!
//! | class | the load may be done | because |
//! |---|---|---|
//! | [`LoadClass::Scalar`] | once for a wave, through a cache that sees no store of this launch (AMDGPU: `s_load`) | its address is the same for the whole wave, and no store *happens before* it in this launch |
//! | [`LoadClass::NonCoherent`] | by each thread, through such a cache (PTX: `ld.global.nc`) | *no thread writes* the memory while the kernel runs |
//! | [`LoadClass::Ldu`] | once for a wave, through such a cache (PTX: `ldu.global`) | the same address for the whole wave, and *no thread writes* |
//!
//! The claims, as they are checked by execution:
//!
//! - *one address for the wave*: threads of a wave that are converged at the load read the same
//!   address;
//! - *no store happens before it*: none of the bytes that the load reads was written in this launch
//!   by a store that happens before the load, by any thread. A store that neither happens before
//!   nor after the load is a data race, and may be missed;
//! - *no thread writes*: none of these bytes is written in the whole launch, before or after the
//!   load, by any thread.
//!
//! # Why they hold
//!
//! A thread sees stores of other threads by an acquire ([`order`](crate::memory::order)). So *no
//! store happens before the load* if no acquire is on a path from the entry of the kernel to the
//! load, and the thread itself has not stored there. The second is the case if the memory is in the
//! version that it has at the entry (`liveOnEntry`), apart from definitions that do not alias
//! ([`clobbers`]). Barriers and fences are acquires. A function all of whose callers are known
//! begins like a kernel if there is no acquire or store of that kind before any call of it. LLVM's
//! own mark (`!amdgpu.noclobber`) ignores acquires, which is wrong: another wave may have written
//! before the barrier.
//!
//! [`spaces`](crate::spaces) says which memories a load and a store may access: a store to
//! workgroup or private memory writes no device memory, here or in a callee.
//!
//! *No thread writes* follows from what the address is made from ([`pointers`], [`unchanged`]).
//! Each of its origins must be
//!
//! - constant: a constant variable, or constant memory;
//! - an argument of the kernel that is `noalias` and through which the kernel, with all that it
//!   calls, writes nothing: `readonly` says so, or [`PointerFlow::uses`] finds it. On an argument
//!   of a kernel `noalias` is a statement about the launch, which all threads are part of; on an
//!   argument of another function it is about the call only, and is not used;
//! - an argument of a function all of whose callers are known and pass only such pointers;
//! - a variable that no code outside of the module can name, and through which no code in the
//!   module writes;
//!
//! or the load is marked `!invariant.load`. If a claim cannot be shown, the class is refused, with
//! the first reason that was found ([`Refusal`]).
//!
//! # Sources
//!
//! Kong, *Variance Analysis on SSA-based Intermediate Representation* (2009), for LDU: constant
//! memory, memory marked read-only, or loads reached from the entry only. That is not enough for
//! LDU by itself: a later store, or one by another thread, is not excluded. PTX ISA, `ld.global.nc`
//! and `ldu`. LLVM, *User Guide for AMDGPU Backend*, memory model.
//!
//! # Cost
//!
//! O(instructions) once per function; per load a walk over at most [`clobbers::LIMIT`] definitions
//! of memory, where its address is uniform.

mod classes;
mod classify;
pub mod clobbers;
mod dependencies;
mod facts;
pub mod pointers;
mod refusal;
pub mod unchanged;
pub mod update;
pub mod writes;

pub use classes::{Load, LoadClass, LoadClasses};
pub use classify::classify;
pub use dependencies::depends_on;
pub use facts::{Facts, Omitted, VariableUse};
pub use pointers::{Objects, PassedUse, PointerFlow, Root, RootUse};
pub use refusal::Refusal;
pub use unchanged::{Unchanged, Writers};
pub use update::{LoadEdits, LoadUpdater};
pub use writes::{may_write, written_at, written_by_call, written_memories};
