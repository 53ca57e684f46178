//! Operations that threads come to apart, on hardware that joins threads at the immediate post-dominator of the branch at which they parted.
//!
//! Groups of maximal convergence are joined as early as the graph allows. Hardware with a stack of masks lets those that went one way run to the immediate
//! post-dominator of the branch, and then the others. An operation *between* the two, to which more than one side of a divergent branch leads, is
//! executed by each side by itself:
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
//! Which edges there are to blocks that are only `unreachable` makes no difference: nobody goes there.
//!
//! Cost: O(divergent branches × blocks), at most [`WORK`] steps; above that nothing is said.

use phalanx_analysis::{check::is_undefined, divergence::Divergence, lower::Code};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::{BitSet, Cfg, ControlDependence, DomTree, Node, PostDomTree};
use phalanx_ir::flow::node_of;
use phalanx_target::SourceSet;

/// Steps of a search.
const WORK: usize = 20_000_000;

/// The graph of a function without edges to blocks that nobody comes to.
pub(super) struct Graph<'a> {
    cfg: Cfg,
    postdom: PostDomTree,
    control: ControlDependence,
    divergence: &'a Divergence,
}

impl<'a> Graph<'a> {
    /// That of a function with a body.
    pub(super) fn new(db: &'a Database, input: FunctionInput) -> Option<Self> {
        let divergence = queries::divergence(db, input).as_ref()?;
        let view = input.view(db);
        let code = Code {
            context: input.module(db).context(db),
            header: view.header,
            flow: view.flow,
            body: view.body,
            library: queries::library(db, input.module(db)),
        };
        let nodes = view.flow.order().iter().map(|&block| node_of(block));
        let left_out: Vec<Node> = nodes.filter(|&node| is_undefined(code, node)).collect();
        let cfg = view.flow.cfg_without(&left_out)?;
        let (dom, postdom) = (DomTree::new(&cfg), PostDomTree::new(&cfg));
        let control = ControlDependence::new(&cfg, &dom, &postdom);
        Some(Graph { cfg, postdom, control, divergence })
    }

    /// What the execution of a block depends on.
    pub(super) fn controlled(&self, block: Node) -> SourceSet {
        let branches = self.control.iterated_controllers(&self.postdom, [block]);
        let sources = branches.into_iter().map(|branch| self.divergence.terminator(branch));
        sources.fold(SourceSet::EMPTY, |all, sources| all | sources)
    }

    /// A branch that lets threads come to a block apart, for some of these blocks, by block. Threads part at what depends on `varying`.
    pub(super) fn parted(&self, blocks: &[Node], varying: SourceSet) -> Vec<Option<Node>> {
        let mut found = vec![None; blocks.len()];
        let mut work = 0;
        let is_divergent = |&branch: &Node| {
            self.cfg.is_branch(branch) && self.divergence.terminator(branch).intersects(varying)
        };
        for branch in self.cfg.nodes().filter(is_divergent) {
            let join = self.postdom.ipdom(branch);
            let mut sides: Vec<Node> = self.cfg.successors(branch).to_vec();
            sides.sort_unstable();
            sides.dedup();
            let mut seen = BitSet::new(self.cfg.node_count());
            for side in sides {
                if work > WORK {
                    return vec![None; blocks.len()];
                }
                let reached = self.reached(side, join, &mut work);
                for (at, block) in blocks.iter().enumerate() {
                    if reached.contains(block.index()) && seen.contains(block.index()) {
                        found[at].get_or_insert(branch);
                    }
                }
                for node in self.cfg.nodes().filter(|node| reached.contains(node.index())) {
                    seen.insert(node.index());
                }
            }
        }
        found
    }

    /// Blocks on ways from one that do not pass another.
    fn reached(&self, from: Node, without: Option<Node>, work: &mut usize) -> BitSet {
        let mut reached = BitSet::new(self.cfg.node_count());
        let mut pending = vec![from];
        while let Some(node) = pending.pop() {
            if Some(node) != without && reached.insert(node.index()) {
                *work += 1;
                pending.extend(self.cfg.successors(node));
            }
        }
        reached
    }
}
