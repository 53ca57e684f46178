//! Statements about launches that would make something uniform.
//!
//! The sources of a value are an upper bound for any launch. The launch decides which sources vary
//! among the threads of a scope. So no new analysis is needed to find launches for which something
//! is uniform, only the set of sources that vary in them. A few shapes of launches are tried, those
//! that are usual, and the least restrictive first.
//!
//! ```c
//! if (threadIdx.y > 0)   // uniform in each wave if rows of workgroups are whole waves
//! ```
//!
//! O(1) for each question, O(blocks) for a function.

use phalanx_ir::{InstId, flow::block_of};
use phalanx_target::{Extent, LaunchFacts, Scope, SourceSet, varying};

use super::finding::Geometry;
use super::{Facts, Finding, Level, Rule};

/// Launches, among those that are possible as far as is known, for which nothing that depends on
/// `sources` differs within a scope.
#[must_use]
pub fn harmless(sources: SourceSet, scope: Scope, known: &LaunchFacts) -> Vec<Geometry> {
    let is_harmless = |facts: &LaunchFacts| !sources.intersects(varying(scope, facts));
    let is_open = |axis: usize| !matches!(known.workgroup_size[axis], Extent::Exactly(_));
    let mut found = Vec::new();
    if let Some(width) = known.wave_width.filter(|&width| width > 1)
        && scope == Scope::Wave
        && is_open(0)
        && known.max_extent(0) >= width
    {
        let mut facts = LaunchFacts { uniform_work_group_size: true, ..known.clone() };
        facts.workgroup_size[0] = Extent::Exactly(width);
        if is_harmless(&facts) {
            found.push(Geometry::RowsOfWaves(width));
        }
    }
    let dimensions = [SourceSet::X, SourceSet::Y, SourceSet::Z];
    let affected = dimensions.map(|source| sources.intersects(source & varying(scope, known)));
    // A launch with one thread along x is of no use.
    let can_be_one = !affected[0] && (0..3).all(|axis| !affected[axis] || is_open(axis));
    if affected != [false; 3] && can_be_one {
        let mut facts = known.clone();
        for axis in (0..3).filter(|&axis| affected[axis]) {
            facts.workgroup_size[axis] = Extent::AtMost(1);
        }
        if is_harmless(&facts) {
            found.push(Geometry::OneAlong(affected));
        }
    }
    if let Some(width) = known.wave_width
        && scope > Scope::Wave
        && known.max_threads().is_none_or(|threads| threads > u64::from(width))
        && (0..3).all(is_open)
    {
        let facts = LaunchFacts { max_flat_workgroup_size: Some(width), ..known.clone() };
        if is_harmless(&facts) {
            found.push(Geometry::OneWave(width));
        }
    }
    found
}

/// Branches that part threads of a wave, but would not if more were known of launches.
#[must_use]
pub fn findings(facts: Facts<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for &block in facts.code.flow.order() {
        let branch = phalanx_ir::flow::node_of(block);
        let sources = facts.parting(branch, Scope::Wave);
        let Some(inst) = facts.code.body.terminator(block).filter(|_| !sources.is_empty()) else {
            continue;
        };
        let safe = harmless(sources, Scope::Wave, facts.launch);
        if !safe.is_empty() {
            found.push(unstated(facts, inst, sources, safe));
        }
    }
    found
}

fn unstated(facts: Facts<'_>, inst: InstId, sources: SourceSet, safe: Vec<Geometry>) -> Finding {
    let block = facts.code.body.block_of(inst).map(phalanx_ir::flow::node_of);
    debug_assert!(block.is_some_and(|block| facts.code.flow.order().contains(&block_of(block))));
    Finding {
        branch: block,
        sources,
        safe,
        ..Finding::new(Rule::UnstatedLaunch, Level::Note, inst, Scope::Wave)
    }
}
