//! Where threads part, by facts about divergence and by evaluation.

use phalanx_graph::Node;
use phalanx_target::{Scope, SourceSet};

use super::counted;
use super::facts::Facts;
use super::witness::{self, Decision};

impl Facts<'_> {
    /// The sources by which threads of a scope part at the end of a block. None if evaluation shows
    /// that no two threads do.
    pub(super) fn parting(&self, block: Node, scope: Scope) -> SourceSet {
        if !self.cfg.is_branch(block) {
            return SourceSet::EMPTY;
        }
        self.reads_branch(block);
        let sources = self.divergence.terminator(block) & self.varying(scope);
        let are_together = || {
            witness::decision(*self, block, scope) == Decision::Together
                || counted::is_alike(*self, block, scope)
        };
        match sources.is_empty() || !are_together() {
            true => sources,
            false => SourceSet::EMPTY,
        }
    }

    /// Whether the execution of a block depends on something that varies within a scope.
    pub(super) fn is_parted(&self, block: Node, scope: Scope) -> bool {
        self.reads_control(block);
        self.controlled[block.index()].intersects(self.varying(scope))
    }
}
