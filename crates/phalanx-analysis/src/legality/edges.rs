//! Who may come to a block by different edges.
//!
//! **Definition.** Threads that execute a block together came by different edges: as if the block had a phi with another constant
//! for each predecessor, and the phi differed among them. The sources of that phi are the sources of the block's edges.
//!
//! **Algorithm.** A table with just such a phi in every block with several predecessors, and terminators that depend on
//! the sources that divergence has found for them, is solved by the precise rules. O(one solve).

use phalanx_graph::Node;
use phalanx_target::SourceSet;

use crate::divergence::{self, Definition, Flow, Incoming, PhiKey, Rules, ValueTableBuilder};

/// Sources by which the edges into a block are told apart, of all blocks. See the [module documentation](self).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EdgeDivergence {
    sources: Vec<SourceSet>,
}

impl EdgeDivergence {
    /// Those of a graph whose terminators depend on these sources.
    #[must_use]
    pub fn new(flow: Flow<'_>, terminator: &dyn Fn(Node) -> SourceSet) -> Self {
        let blocks = flow.cfg.node_count();
        let mut builder = ValueTableBuilder::new(blocks);
        let mut phis = Vec::new();
        let mut all: Vec<Node> = Vec::new();
        for block in flow.cfg.nodes() {
            let sources = terminator(block);
            if flow.cfg.is_branch(block) && !sources.is_empty() {
                builder.seed_terminator(block, sources);
            }
            all.clear();
            all.extend_from_slice(flow.cfg.predecessors(block));
            all.sort_unstable();
            all.dedup();
            if all.len() < 2 {
                continue;
            }
            let phi = builder.phi(block, Definition::PURE);
            for (number, &pred) in all.iter().enumerate() {
                let key = PhiKey::constant(number as u32);
                builder.incoming(phi, Incoming { pred, value: None, key });
            }
            phis.push((block, phi));
        }
        let answer = divergence::solve(flow, &builder.finish(), Rules::Precise);
        let mut sources = vec![SourceSet::EMPTY; blocks];
        for (block, phi) in phis {
            sources[block.index()] = answer.value(phi);
        }
        Self { sources }
    }

    /// What threads that execute a block together have to differ in, to have come by different edges.
    #[must_use]
    pub fn into_block(&self, block: Node) -> SourceSet {
        self.sources[block.index()]
    }
}
