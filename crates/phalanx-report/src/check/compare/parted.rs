//! Finds operations that some threads execute separately, on hardware where threads reconverge at
//! the immediate post-dominator of the branch that separated them.
//!
//! Maximal convergence joins groups as early as the graph allows. Hardware with a stack of masks
//! runs the threads of one side up to the immediate post-dominator of the branch, and then the
//! other threads. An operation *between* the branch and its post-dominator that several sides of a
//! divergent branch reach is executed by each side separately:
//!
//! ```text
//!      entry (divergent)           jump threading gives %conv a second way in:
//!      /   \                       the threads of %a come to it before they are
//!     a     b                      together with those of %b at the exit
//!     |\    |
//!     | \   j
//!     |  \ /|
//!     |  conv other
//!      \  |  /
//!       exit
//! ```
//!
//! Edges to blocks that only lead to `unreachable` do not count: no thread returns from there
//! ([`Joins`]).
//!
//! Cost: O(divergent branches × blocks), bounded; larger functions get no result.

use phalanx_analysis::joins;
use phalanx_core::divergence::Divergence;
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::{ControlDependence, DomTree, Joins, Node, PostDomTree};
use phalanx_target::SourceSet;

/// The graph of a function without edges to blocks that only lead to `unreachable`.
pub(super) struct Graph<'a> {
    joins: Joins,
    postdom: PostDomTree,
    control: ControlDependence,
    divergence: &'a Divergence,
}

impl<'a> Graph<'a> {
    /// The graph of a function with a body.
    pub(super) fn new(db: &'a Database, input: FunctionInput) -> Option<Self> {
        let divergence = queries::divergence(db, input).as_ref()?;
        let joins = joins::of(input.flow(db), input.body(db))?;
        let cfg = joins.cfg();
        let (dom, postdom) = (DomTree::new(cfg), PostDomTree::new(cfg));
        let control = ControlDependence::new(cfg, &dom, &postdom);
        Some(Graph { joins, postdom, control, divergence })
    }

    /// The sources that the execution of a block depends on.
    pub(super) fn controlled(&self, block: Node) -> SourceSet {
        let branches = self.control.iterated_controllers(&self.postdom, [block]);
        let sources = branches.into_iter().map(|branch| self.divergence.terminator(branch));
        sources.fold(SourceSet::EMPTY, |all, sources| all | sources)
    }

    /// Branches that a block's execution depends on, with the successors that lead to it before the
    /// sides join.
    pub(super) fn deciding(&self, block: Node) -> Vec<(Node, Vec<usize>)> {
        let branches = self.control.iterated_controllers(&self.postdom, [block]);
        let ways = |branch: Node| {
            let sides = (0..).zip(self.joins.cfg().successors(branch));
            let leads = |side: Node| self.joins.leads(side, self.joins.of(branch), block);
            sides.filter(|&(_, &side)| leads(side)).map(|(way, _)| way).collect()
        };
        branches.into_iter().map(|branch| (branch, ways(branch))).collect()
    }

    /// For each of some blocks, a branch whose sides reach it separately. A branch separates
    /// threads if it depends on `varying`.
    pub(super) fn parted(&self, blocks: &[Node], varying: SourceSet) -> Vec<Option<Node>> {
        let is_divergent = |branch| self.divergence.terminator(branch).intersects(varying);
        let parted = self.joins.parted(blocks, &is_divergent);
        parted.unwrap_or_else(|_| vec![None; blocks.len()])
    }
}
