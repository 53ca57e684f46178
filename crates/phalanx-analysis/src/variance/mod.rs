//! The variance of Kong's analysis: along which dimensions of the thread index things differ within
//! a workgroup.
//!
//! # What
//!
//! Kong (*Variance Analysis on SSA-based Intermediate Representation*, 2009) gives every value a
//! subset of {x, y, z}: threads of a workgroup that agree on these coordinates agree on the value;
//! so does every statement, stores included. The control variance of a block says along which
//! dimensions threads differ in whether they execute it. This module has that interface on top of
//! [`divergence`](phalanx_core::divergence), whose sources are finer. What differs from the paper:
//!
//! | paper | here |
//! |---|---|
//! | everything that a block defines has the control variance of the block | only phis at joins and uses after a cycle have it: a definition that some threads execute is still equal among the threads that execute it together |
//! | a statement's state is that of its definition | a statement has the states of its operands *and* the control variance of its block: both decide what a store does |
//! | all branches that control a barrier are invariant | only those of the [sound rule](barriers) |
//!
//! # How
//!
//! A state is the projection of a set of sources. x, y, z stand for themselves. What depends on the
//! lane, on the wave, or on an unknown that can differ between threads of a workgroup, can differ
//! along every dimension. What is equal in a workgroup has no dimension. A dimension along which
//! every launch has one thread is left out. The module retains nothing beyond divergence and
//! control divergence; each answer is projected on demand.

mod lower;

use phalanx_core::{
    affect::{User, Value},
    divergence::{Divergence, SourceSets},
};
use phalanx_graph::Node;
use phalanx_ir::{InstId, Opcode, flow::node_of};
use phalanx_target::{LaunchFacts, SourceSet};

use crate::code::{Code, Environment, Numbering};
use crate::lower::Single;

pub use lower::{barrier_blocks, is_whole_barrier};
pub use phalanx_core::barriers::{self, BarrierModel};

/// States of everything in a function: subsets of {x, y, z}.
#[derive(Clone, Copy, Debug)]
pub struct Variance<'a> {
    /// What values and terminators depend on.
    pub divergence: &'a Divergence,
    /// What the execution of each block depends on, by number.
    pub control: &'a SourceSets,
    /// Which dimensions can have more than one thread.
    pub launch: &'a LaunchFacts,
}

impl Variance<'_> {
    /// Along which dimensions a value differs between threads that compute it together.
    #[must_use]
    pub fn value(&self, value: Value) -> SourceSet {
        state_of(self.divergence.value(value), self.launch)
    }

    /// Along which dimensions threads differ in what an instruction that is no terminator does: in
    /// what it reads, and in whether it is executed. For a call that is given private memory this
    /// is what the call may read, whatever that memory holds. O(operands).
    #[must_use]
    pub fn statement(&self, code: Code<'_>, env: Environment<'_>, statement: InstId) -> SourceSet {
        let value = Numbering::new(code.header).inst(statement);
        let mut sources = self.divergence.value(value);
        if let Some(block) = code.body.block_of(statement) {
            sources |= self.control[node_of(block).index()];
        }
        // What it reads decides what it does, even where its result is always uniform. The result
        // of a load has the sources of its address, where that matters.
        if code.body.inst(statement).opcode != Opcode::Load {
            Single::new(code, env).reads(statement, |read| {
                sources |= self.divergence.at_use(read, User::value(value));
            });
        }
        state_of(sources, self.launch)
    }

    /// Along which dimensions threads differ in where they go at the end of a block.
    #[must_use]
    pub fn terminator(&self, block: Node) -> SourceSet {
        state_of(self.divergence.terminator(block), self.launch)
    }

    /// Along which dimensions threads differ in whether they execute a block.
    #[must_use]
    pub fn block(&self, block: Node) -> SourceSet {
        state_of(self.control[block.index()], self.launch)
    }
}

/// The dimensions along which something that depends on these sources can differ within a
/// workgroup.
#[must_use]
pub fn state_of(sources: SourceSet, launch: &LaunchFacts) -> SourceSet {
    let numbers = SourceSet::LANE | SourceSet::QUAD | SourceSet::WAVE;
    let opaque = SourceSet::OPAQUE_THREAD | SourceSet::OPAQUE_QUAD | SourceSet::OPAQUE_WAVE;
    let dimensions = match sources.intersects(numbers | opaque) {
        true => SourceSet::THREAD_XYZ,
        false => sources & SourceSet::THREAD_XYZ,
    };
    let axes = [SourceSet::X, SourceSet::Y, SourceSet::Z].into_iter().enumerate();
    let varies = |&(axis, _): &(usize, SourceSet)| launch.extent_can_exceed_one(axis);
    dimensions & axes.filter(varies).map(|(_, source)| source).collect()
}

#[cfg(test)]
mod tests {
    use phalanx_target::Extent;

    use super::*;

    #[test]
    fn states_are_projections() {
        let any = LaunchFacts::default();
        assert_eq!(state_of(SourceSet::X | SourceSet::BLOCK_Y, &any), SourceSet::X);
        assert_eq!(state_of(SourceSet::OPAQUE_GROUP, &any), SourceSet::EMPTY);
        assert_eq!(state_of(SourceSet::LANE, &any), SourceSet::THREAD_XYZ);
        assert_eq!(state_of(SourceSet::OPAQUE_QUAD, &any), SourceSet::THREAD_XYZ);
        let row = [Extent::Exactly(64), Extent::Exactly(1), Extent::Exactly(1)];
        let one_row = LaunchFacts { workgroup_size: row, ..LaunchFacts::default() };
        assert_eq!(state_of(SourceSet::OPAQUE_THREAD | SourceSet::Y, &one_row), SourceSet::X);
    }
}
