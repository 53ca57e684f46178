//! Facts that a transform can use while it edits a function.
//!
//! A transaction borrows the session mutably, so queries are impossible in it. [`Known`] owns the
//! facts from before the edit. A transform asks it about the code that it found; the transform
//! itself knows what it has created since.

use std::sync::Arc;

use phalanx_analysis::lower::{NotThere, Numbering};
use phalanx_core::divergence::Divergence;
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::{Cfg, Cycles, DomTree, PostDomTree};
use phalanx_ir::{BlockId, Value, flow};
use phalanx_target::{Scope, SourceSet, varying};

/// The facts about a function at one moment. Nothing is known of values and blocks that the
/// function did not have then: their masks contain all sources.
#[derive(Clone, Debug)]
pub struct Known {
    divergence: Arc<Divergence>,
    graph: Arc<queries::GraphFacts>,
    numbering: Numbering,
    varying: [SourceSet; Scope::ALL.len()],
}

impl Known {
    pub(crate) fn new(db: &Database, function: FunctionInput) -> Option<Self> {
        let launch = queries::launch_facts(db, function);
        Some(Known {
            divergence: Arc::clone(queries::divergence(db, function).as_ref()?),
            graph: Arc::clone(queries::graph_facts(db, function).as_ref()?),
            numbering: Numbering::new(function.header(db)),
            varying: Scope::ALL.map(|scope| varying(scope, launch)),
        })
    }

    /// The sources that vary within a scope.
    pub fn varying(&self, scope: Scope) -> SourceSet {
        let at = Scope::ALL.iter().position(|&s| s == scope).unwrap_or(Scope::ALL.len() - 1);
        self.varying[at]
    }

    /// Mask of a value where it is computed; empty for constants.
    pub fn mask(&self, value: impl Into<Value>) -> SourceSet {
        match self.numbering.operand_of(value.into(), self.divergence.values().len()) {
            Ok(Some(value)) => self.divergence.value(value),
            Ok(None) => SourceSet::EMPTY,
            Err(NotThere) => SourceSet::ALL,
        }
    }

    /// Whether a value is uniform where it is computed.
    pub fn is_uniform(&self, value: impl Into<Value>, scope: Scope) -> bool {
        !self.mask(value).intersects(self.varying(scope))
    }

    /// Whether threads that end a block together may go on to different blocks.
    pub fn is_divergent_branch(&self, block: BlockId, scope: Scope) -> bool {
        let node = flow::node_of(block);
        let mask = match self.divergence.terminators().get(node.index()) {
            Some(_) if !self.graph.cfg().is_branch(node) => SourceSet::EMPTY,
            known => known.unwrap_or(SourceSet::ALL),
        };
        mask.intersects(self.varying(scope))
    }

    /// The control-flow graph, nodes numbered as the blocks are.
    pub fn cfg(&self) -> &Cfg {
        self.graph.cfg()
    }

    /// The dominator tree.
    pub fn dom_tree(&self) -> &DomTree {
        self.graph.dom_tree()
    }

    /// The post-dominator tree.
    pub fn postdom_tree(&self) -> &PostDomTree {
        self.graph.postdom_tree()
    }

    /// The cycle hierarchy.
    pub fn cycles(&self) -> &Cycles {
        self.graph.cycles()
    }
}
