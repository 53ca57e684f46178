//! The variance of Kong's analysis: along which dimensions of the thread index things differ within a workgroup.
//!
//! # What
//!
//! Kong (*Variance Analysis on SSA-based Intermediate Representation*, 2009) gives every value a subset of {x, y, z}: threads of a
//! workgroup that agree on these coordinates agree on the value; so does every statement, stores included; and the control
//! variance of a block says along which dimensions threads differ in whether they execute it. This is that interface on top of
//! [`divergence`](crate::divergence), whose sources are finer. What differs from the paper:
//!
//! | paper | here |
//! |---|---|
//! | whatever a block defines has the control variance of the block | only phis at joins and uses after a cycle have it: a definition that some threads execute is still equal among those who execute it together |
//! | a statement's state is that of its definition | a statement has what its operands have *and* the control variance of its block: both decide what a store does |
//! | all branches that control a barrier are invariant | only those of the [sound rule](barriers) |
//!
//! # How
//!
//! A state is the projection of a set of sources: x, y, z stand for themselves; what depends on the lane, the wave, or anything
//! unknown that can differ between threads of a workgroup, can differ along every dimension; what is equal in a workgroup has none. A
//! dimension along which every launch has one thread is left out. O(values + uses + blocks).

pub mod barriers;
mod lower;

use phalanx_graph::Node;
use phalanx_target::{LaunchFacts, SourceSet};

use crate::affect::{User, UserKind, Value};
use crate::control::control_divergence;
use crate::divergence::{Divergence, Flow, ValueTable};

pub use barriers::BarrierModel;
pub use lower::{barrier_blocks, is_whole_barrier};

/// States of everything in a function: subsets of {x, y, z}.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variance {
    values: Vec<SourceSet>,
    statements: Vec<SourceSet>,
    terminators: Vec<SourceSet>,
    blocks: Vec<SourceSet>,
}

impl Variance {
    /// The projection of what is known.
    #[must_use]
    pub fn new(
        flow: Flow<'_>,
        postdom: &phalanx_graph::PostDomTree,
        table: &ValueTable,
        divergence: &Divergence,
        launch: &LaunchFacts,
    ) -> Self {
        let state = |sources| state_of(sources, launch);
        let control = control_divergence(flow.cfg, postdom, divergence.terminators());
        let mut statements: Vec<SourceSet> = table
            .values()
            .take(table.reported())
            .map(|value| divergence.value(value) | control[table.block(value).index()])
            .collect();
        for value in table.values().take(table.reported()) {
            for &user in table.affects().users(value) {
                if let UserKind::Value(statement) = user.kind()
                    && table.is_reported(statement)
                {
                    // What it reads decides what it does, even where its result is always uniform.
                    let read = divergence.at_use(value, User::value(statement));
                    statements[statement.index()] |= read;
                }
            }
        }
        Self {
            values: divergence.values().iter().map(|&sources| state(sources)).collect(),
            statements: statements.into_iter().map(state).collect(),
            terminators: divergence.terminators().iter().map(|&sources| state(sources)).collect(),
            blocks: control.into_iter().map(state).collect(),
        }
    }

    /// Along which dimensions a value differs between threads that compute it together.
    #[must_use]
    pub fn value(&self, value: Value) -> SourceSet {
        self.values[value.index()]
    }

    /// Along which dimensions threads differ in what an instruction that is no terminator does: what it reads, and whether it is
    /// executed.
    #[must_use]
    pub fn statement(&self, statement: Value) -> SourceSet {
        self.statements[statement.index()]
    }

    /// Along which dimensions threads differ in where they go at the end of a block.
    #[must_use]
    pub fn terminator(&self, block: Node) -> SourceSet {
        self.terminators[block.index()]
    }

    /// Along which dimensions threads differ in whether they execute a block.
    #[must_use]
    pub fn block(&self, block: Node) -> SourceSet {
        self.blocks[block.index()]
    }
}

/// The dimensions along which something that depends on these sources can differ within a workgroup.
#[must_use]
pub fn state_of(sources: SourceSet, launch: &LaunchFacts) -> SourceSet {
    let unknown =
        SourceSet::LANE | SourceSet::WAVE | SourceSet::OPAQUE_THREAD | SourceSet::OPAQUE_WAVE;
    let dimensions = match sources.intersects(unknown) {
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
        let row = [Extent::Exactly(64), Extent::Exactly(1), Extent::Exactly(1)];
        let one_row = LaunchFacts { workgroup_size: row, ..LaunchFacts::default() };
        assert_eq!(state_of(SourceSet::OPAQUE_THREAD | SourceSet::Y, &one_row), SourceSet::X);
    }
}
