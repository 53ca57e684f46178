//! The executable semantics of SIMT code: an interpreter for kernels under maximal convergence, or
//! on a machine that reconverges at post-dominators.
//!
//! Threads run one by one; *dynamic instances* tie them together. Each time a thread executes a
//! block, the instance has a [`convergence`] key, and two threads are converged there when their
//! keys are equal (the closed form of LLVM's *Convergence And Uniformity* document). Operations
//! among a group (ballots, shuffles, barriers) wait until no other thread can join it. So the
//! result does not depend on how fast threads run. An [`Observer`] sees each value, use and branch,
//! so every claim of an analysis about uniformity can be checked.
//!
//! | module | holds |
//! |---|---|
//! | [`value`] | what a thread computes with: bits, poison, vectors and aggregates |
//! | [`shape`] | sizes, offsets and address spaces of types |
//! | [`memory`] | global, shared and private memory, bounds, undefined and poison bytes |
//! | [`program`] | a module made ready to run |
//! | [`unknown`] | values and bytes that are not known: poison, `undef`, frozen values |
//! | [`fault`] | what can go wrong, and where |
//! | [`Functions`] | executes functions of a driver |
//! | `ops`, `address`, `float`, `intrinsic`, `alone`, `built_ins`, `collective`, `sub_groups`, `library_memory` | what instructions compute |
//! | [`thread`], `coordinates`, `world` | one thread: frames and steps; where it is; what it sees |
//! | [`convergence`] | cycle hierarchies, keys, tokens |
//! | `reconverge` | keys of machines that reconverge at post-dominators |
//! | [`launch`], `run`, `schedule`, `split` | a launch: geometry, arguments, groups, barriers, hangs |
//! | [`versions`] | compares two versions of a kernel: groups, barriers and memory |
//! | [`observe`], [`trace`], [`races`], [`unwritten`] | observation: the table of converged dynamic instances, data races, reads of unwritten memory |
//!
//! The interpreter knows no analysis: it is the reference that analyses are checked against.

mod address;
mod alone;
mod built_ins;
mod collective;
pub mod convergence;
mod coordinates;
mod driver;
pub mod fault;
mod float;
mod functions;
mod intrinsic;
pub mod launch;
mod library_memory;
pub mod memory;
pub mod observe;
mod ops;
pub mod program;
mod promises;
pub mod races;
pub mod reach;
mod reconverge;
mod run;
mod schedule;
pub mod shape;
mod split;
mod sub_groups;
pub mod thread;
pub mod together;
pub mod trace;
pub mod unknown;
pub mod unwritten;
pub mod value;
pub mod versions;
mod world;

pub use fault::{Failure, Fault, FaultKind};
pub use functions::Functions;
pub use launch::{Arg, Geometry, Launch, Report};
pub use memory::Memory;
pub use observe::{Observer, Silent};
pub use phalanx_graph::Reconvergence;
pub use program::Program;
pub use races::Races;
pub use run::run;
pub use together::Together;
pub use unwritten::Unwritten;
pub use value::Value;
