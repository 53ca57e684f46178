//! Which threads may reach a block over different edges.
//!
//! **Definition.** Threads that execute a block together came by different edges: as if the block
//! had a phi with another constant for each predecessor, and the phi differed among them. The
//! sources of that phi are the sources of the block's edges.
//!
//! **Algorithm.** A table with just such a phi in every block, which has the number of its block,
//! and terminators that depend on the sources that divergence has found for them, is solved by the
//! precise rules. O(one solve).

use crate::SourceSet;
use phalanx_graph::{Cfg, Node};
use smallvec::SmallVec;

use crate::divergence::{
    self, Definition, FlowFacts, Incoming, PhiKey, Rules, SourceSets, ValueTable, ValueTableBuilder,
};

/// For each block, the sources that decide over which edge a thread enters it. See the [module
/// documentation](self).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EdgeDivergence {
    /// By block.
    sources: SourceSets,
}

impl EdgeDivergence {
    /// Those of a graph whose terminators depend on these sources.
    #[must_use]
    pub fn new(flow: FlowFacts<'_>, terminators: &SourceSets) -> Self {
        let answer = divergence::solve(flow, &table(flow.cfg, terminators), Rules::Precise);
        Self { sources: answer.values().clone() }
    }

    /// What threads that execute a block together have to differ in, to have come by different
    /// edges.
    #[must_use]
    pub fn into_block(&self, block: Node) -> SourceSet {
        self.sources[block.index()]
    }
}

fn table(cfg: &Cfg, terminators: &SourceSets) -> ValueTable {
    let mut builder = ValueTableBuilder::new(cfg.node_count());
    for block in cfg.nodes() {
        let sources = seed(cfg, terminators, block);
        if !sources.is_empty() {
            builder.seed_terminator(block, sources);
        }
        let phi = builder.phi(block, Definition::PURE);
        for incoming in incoming(cfg, block) {
            builder.incoming(phi, incoming);
        }
    }
    builder.finish()
}

/// What the phi of a block takes from where: nothing if there is but one way to come.
fn incoming(cfg: &Cfg, block: Node) -> SmallVec<[Incoming; 4]> {
    let predecessors = cfg.predecessors(block);
    if predecessors.len() < 2 {
        return SmallVec::new();
    }
    let mut all: SmallVec<[Node; 8]> = SmallVec::from_slice(predecessors);
    all.sort_unstable();
    all.dedup();
    let entry = |(pred, number)| Incoming { pred, value: None, key: PhiKey::constant(number) };
    all.into_iter().zip(0..).map(entry).collect()
}

/// Sources that decide which way threads go at the end of a block.
fn seed(cfg: &Cfg, terminators: &SourceSets, block: Node) -> SourceSet {
    match cfg.is_branch(block) {
        true => terminators[block.index()],
        false => SourceSet::EMPTY,
    }
}
