//! Which variables may have another SSA form in another graph.
//!
//! # What
//!
//! A graph was edited, and some variables have the same events in the same blocks as before, in the
//! same order; all these blocks can be reached in both graphs. [`Disturbed`] gives the variables
//! whose form may have changed: those that are *defined* in certain blocks, or have a phi in
//! certain others.
//!
//! # Why that is enough
//!
//! Write `chain(b)` for the blocks that dominate `b`, and `reach(y)` for those whose dominance
//! frontier `y` is in: what dominates a predecessor of `y` that can be reached, and not `y`
//! strictly.
//!
//! - **E**, blocks that dominate others than before: if `b` can be reached in both graphs and has
//!   another immediate dominator, `E` has what is on one of its two chains below the first block of
//!   the old chain that is on the new one as well. Above that block the argument repeats, so any
//!   two chains of one block that differ do so by blocks of `E`; and where two blocks of one chain
//!   have changed places, each has come to the chain of the other or has left it, so both are in
//!   `E`.
//! - **P**, joins over other edges: blocks with other predecessors, or of which a predecessor could
//!   be reached and cannot, or the other way round.
//! - **C**, blocks with other frontiers: `y` comes to the frontier of `x`, or leaves it, if `x` is
//!   in one of the two `reach(y)`. For `y` in `P` the two are compared. For all other `y` they are
//!   made from chains of the same blocks, so what differs is in `E`.
//! - **R**, from where that is reached: the least set with `C` and `E` that has `reach(y)` in the
//!   old graph for each `y` in it.
//!
//! Let a variable have no definition in `R` (the entry is never there). Then neither its
//! definitions nor the joins at their iterated frontiers are in `C` or `E`: so the iterated
//! frontier is the same, with joins whose phi was dropped. A version is named by the nearest of
//! these blocks on a chain, and the chains have the same of them in the same order: so the same
//! reaches each event, and the end of each predecessor of a join. If no phi that was kept is in
//! `P`, all have the entries that they had. Phis are dropped from which no use is reached over what
//! has been shown to be the same; so the same ones are. A dropped phi may be in `P`, since no use
//! reads its entries.
//!
//! New blocks, loops and irreducible graphs need no special case: the argument does not depend on
//! the shape of either graph.
//!
//! **Complexity.** O(blocks + edges) to compare the graphs, and a bounded number of steps along
//! chains.

use phalanx_graph::{BitSet, Cfg, DomTree, Node};

/// The largest number of steps along chains for one edit. Beyond it a solution from scratch is
/// cheaper.
const BOUND: usize = 1 << 14;

/// A graph with its dominator tree.
#[derive(Clone, Copy, Debug)]
pub struct Graph<'a> {
    /// The graph.
    pub cfg: &'a Cfg,
    /// Its dominator tree.
    pub dom: &'a DomTree,
}

impl<'a> Graph<'a> {
    pub(in crate::memory) fn has(self, node: Node) -> bool {
        node.index() < self.cfg.node_count()
    }

    pub(in crate::memory) fn is_reached(self, node: Node) -> bool {
        self.has(node) && self.dom.is_reachable(node)
    }

    /// The position in the tree's preorder.
    pub(in crate::memory) fn position(self, node: Node) -> Option<u32> {
        if self.has(node) { self.dom.tin(node) } else { None }
    }

    fn successors(self, node: Node) -> &'a [Node] {
        if self.has(node) { self.cfg.successors(node) } else { &[] }
    }

    /// Distinct predecessors, and whether they can be reached, in order.
    fn joined(self, node: Node) -> Vec<(Node, bool)> {
        let before = if self.has(node) { self.cfg.predecessors(node) } else { &[] };
        let mut before: Vec<(Node, bool)> =
            before.iter().map(|&pred| (pred, self.is_reached(pred))).collect();
        before.sort_unstable();
        before.dedup();
        before
    }
}

/// See the [module documentation](self). Nodes in no order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::memory) struct Disturbed {
    /// `R`: blocks whose definitions may reach other events or other joins than before.
    pub(in crate::memory) definitions: Vec<Node>,
    /// `P`: joins whose phis have other entries than before.
    pub(in crate::memory) joins: Vec<Node>,
    /// Blocks that became reachable or unreachable.
    pub(in crate::memory) turned: Vec<Node>,
    /// Whether blocks that can be reached in both graphs have changed their order in the preorder
    /// of the dominator tree.
    pub(in crate::memory) is_reordered: bool,
}

impl Disturbed {
    /// Compares the graphs before and after an edit; nodes keep their numbers. `None` if the budget
    /// was exceeded or the entry is a different block.
    pub(in crate::memory) fn between(old: Graph<'_>, new: Graph<'_>) -> Option<Self> {
        if old.dom.root() != new.dom.root() {
            return None;
        }
        let count = old.cfg.node_count().max(new.cfg.node_count());
        let mut found = Disturbed::default();
        let (mut moved, mut ends): (Vec<Node>, Vec<Node>) = (Vec::new(), Vec::new());
        for node in (0..count).map(Node::new) {
            let is_reached = (old.is_reached(node), new.is_reached(node));
            let rows = (old.successors(node), new.successors(node));
            if is_reached.0 != is_reached.1 {
                found.turned.push(node);
            } else if is_reached.0 && old.dom.idom(node) != new.dom.idom(node) {
                moved.push(node);
            }
            if is_reached.0 != is_reached.1 || rows.0 != rows.1 {
                ends.extend(rows.0.iter().chain(rows.1));
            }
        }
        ends.sort_unstable();
        ends.dedup();
        ends.retain(|&node| old.joined(node) != new.joined(node));
        found.joins = ends;
        let positions = new.dom.preorder().iter().filter_map(|&node| old.position(node));
        found.is_reordered = !positions.is_sorted();
        let mut search = Search { met: vec![0; count], round: 0, left: BOUND };
        let mut others: Vec<Node> = Vec::new();
        for &node in &moved {
            search.chains((old, new), node, &mut others)?;
        }
        for &join in &found.joins {
            search.reaches((old, new), join, &mut others)?;
        }
        found.definitions = search.closure(old, others)?;
        Some(found)
    }
}

/// Walks up chains of immediate dominators.
struct Search {
    /// By node: the last round that met it.
    met: Vec<u32>,
    round: u32,
    /// The remaining budget of steps.
    left: usize,
}

impl Search {
    fn step(&mut self) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        Some(())
    }

    /// Finds the part of `E` of one block: the blocks of its two chains below the first block of
    /// the old chain that is on both.
    fn chains(
        &mut self,
        (old, new): (Graph<'_>, Graph<'_>),
        node: Node,
        found: &mut Vec<Node>,
    ) -> Option<()> {
        let mut shared = old.dom.idom(node)?;
        while !(new.is_reached(shared) && new.dom.dominates(shared, node)) {
            self.step()?;
            found.push(shared);
            shared = old.dom.idom(shared)?;
        }
        let mut at = new.dom.idom(node)?;
        while at != shared {
            self.step()?;
            found.push(at);
            at = new.dom.idom(at)?;
        }
        Some(())
    }

    /// Walks over `reach(join)` and calls `tell` for the blocks that this round has not met.
    fn reach(&mut self, of: Graph<'_>, join: Node, mut tell: impl FnMut(Node)) -> Option<()> {
        if !of.is_reached(join) {
            return Some(());
        }
        let above = of.dom.idom(join);
        for &pred in of.cfg.predecessors(join) {
            let mut at = Some(pred).filter(|&pred| of.dom.is_reachable(pred));
            while let Some(node) = at.filter(|_| at != above) {
                // The blocks above were met together with this one.
                if std::mem::replace(&mut self.met[node.index()], self.round) == self.round {
                    break;
                }
                self.step()?;
                tell(node);
                at = of.dom.idom(node);
            }
        }
        Some(())
    }

    /// Finds the blocks whose frontier has the join in only one of the two graphs.
    fn reaches(
        &mut self,
        (old, new): (Graph<'_>, Graph<'_>),
        join: Node,
        found: &mut Vec<Node>,
    ) -> Option<()> {
        let (mut before, mut now) = (Vec::new(), Vec::new());
        for (of, nodes) in [(old, &mut before), (new, &mut now)] {
            self.round += 1;
            self.reach(of, join, |node| nodes.push(node))?;
            nodes.sort_unstable();
        }
        let gone = before.iter().filter(|node| now.binary_search(node).is_err());
        let come = now.iter().filter(|node| before.binary_search(node).is_err());
        found.extend(gone.chain(come));
        Some(())
    }

    /// The given blocks, and all blocks whose iterated frontier contains one of them.
    fn closure(&mut self, of: Graph<'_>, blocks: Vec<Node>) -> Option<Vec<Node>> {
        let mut is_found = BitSet::new(self.met.len());
        let mut found = blocks;
        found.retain(|node| is_found.insert(node.index()));
        let mut next = 0;
        while let Some(&join) = found.get(next) {
            next += 1;
            self.round += 1;
            let more = |node: Node| {
                if is_found.insert(node.index()) {
                    found.push(node);
                }
            };
            self.reach(of, join, more)?;
        }
        Some(found)
    }
}
