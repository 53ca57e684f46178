//! What dialects implement.
//!
//! | an operation | implements | without it |
//! |---|---|---|
//! | with results | [`SimtOp`] | each thread has another value |
//! | with regions, besides pliron's `RegionBranchOpInterface` | [`SimtRegionOp`] | each thread goes another way |
//! | a terminator with successors | pliron's `BranchOpInterface` | each thread goes another way, with other values |
//! | a private variable, its loads and stores | pliron's `Promotable..Interface` | [`SimtOp`] counts |
//!
//! ```text
//!   %i = scf.while (%0) { .. condition(%more) %next }     decides: %more, at the terminator
//!   scf.for %i = %low to %high step %by { .. }            decides: %low and %high before the first
//!                                                         round, %i and the bounds after each
//!                                                         made: %i of %low, then of %i and %by
//! ```

use phalanx_core::analysis::Rule;
use phalanx_core::{Scope, SourceSet};
use pliron::builtin::op_interfaces::{RegionBranchOpInterface, RegionBranchPoint};
use pliron::builtin::ops::ConstantOp;
use pliron::context::Context;
use pliron::derive::{op_interface, op_interface_impl};
use pliron::op::Op;
use pliron::result::Result;
use pliron::value::Value;

/// What a result is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// By this rule of all operands, in their order.
    Rule(Rule),
    /// A function of all operands and of these sources: the thread's index.
    Source(SourceSet),
    /// Anything, another in each thread: atomics, memory that others write, unknown calls.
    Opaque,
}

/// Which threads an operation concerns together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convergence {
    /// Each by itself: arithmetic, loads and stores.
    Single,
    /// Those of a scope that execute it together: a vote, a shuffle.
    Together(Scope),
    /// All of a scope, which wait for each other: a barrier.
    Barrier(Scope),
    /// Some, and it is not known which: an unknown call.
    Unknown,
}

/// What an operation does among threads.
#[op_interface]
pub trait SimtOp {
    /// What a result is made of, by its position. Not asked of an operation without results.
    fn meaning(&self, ctx: &Context, result: usize) -> Meaning {
        let _ = (ctx, result);
        Meaning::Opaque
    }

    /// Which threads it concerns together.
    fn convergence(&self, ctx: &Context) -> Convergence {
        let _ = ctx;
        Convergence::Single
    }

    /// Nothing to verify.
    fn verify(_op: &dyn Op, _ctx: &Context) -> Result<()>
    where
        Self: Sized,
    {
        Ok(())
    }
}

/// What decides on one of several ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Values that decide.
    pub reads: Vec<Value>,
    /// Sources that decide besides.
    pub sources: SourceSet,
}

impl Decision {
    /// A decision by these values alone.
    #[must_use]
    pub const fn by(reads: Vec<Value>) -> Self {
        Self { reads, sources: SourceSet::EMPTY }
    }

    /// A decision that may be another one in each thread.
    #[must_use]
    pub const fn unknown() -> Self {
        Self { reads: Vec::new(), sources: SourceSet::OPAQUE_THREAD }
    }
}

/// What an operation with regions decides and makes. Its ways are those of pliron's interface.
#[op_interface]
pub trait SimtRegionOp: RegionBranchOpInterface {
    /// What decides which way threads go from a point. Asked where there are several.
    fn decision(&self, ctx: &Context, from: RegionBranchPoint) -> Decision;

    /// What an argument of a region or a result holds that no operand flows into, when threads come
    /// from a point: a function of these values. None: anything, another in each thread.
    fn made(&self, ctx: &Context, from: RegionBranchPoint, receiver: Value) -> Option<Vec<Value>> {
        let _ = (ctx, from, receiver);
        None
    }

    /// Nothing to verify.
    fn verify(_op: &dyn Op, _ctx: &Context) -> Result<()>
    where
        Self: Sized,
    {
        Ok(())
    }
}

#[op_interface_impl]
impl SimtOp for ConstantOp {
    fn meaning(&self, _: &Context, _: usize) -> Meaning {
        Meaning::Rule(Rule::Pure)
    }
}
