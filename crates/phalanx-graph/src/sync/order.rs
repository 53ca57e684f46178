//! The modified post-order in which labels are propagated.
//!
//! **Definition** (LLVM, *Convergence And Uniformity*, implementation notes). A depth-first search
//! that treats a cycle as one node of the graph around it: the cycle is entered only after
//! everything that its exits lead to has been numbered; then its header takes the next number, and
//! then the rest of the cycle is numbered the same way, nested cycles being single nodes in their
//! turn. Taking numbers from the highest down, therefore:
//!
//! ```text
//!   nodes inside a cycle  >  its header  >  nodes after the cycle
//! ```
//!
//! and within a cycle a node comes before its successors, the header excepted. A label that is
//! propagated from the highest number down crosses every node of a reducible graph once.
//!
//! **Why not a plain post-order.** It may number a node after a loop between two nodes of the loop;
//! the label would then leave the loop before the labels inside have met.
//!
//! An edge that leaves cycles is an edge of the graph around the outermost of them, and of no
//! other, so all is `O((n + m) log n)`. No recursion: a frame per open cycle. The order of one
//! cycle takes time and room for that cycle alone: a graph may have as many of them as it has
//! nodes.

use crate::cfg::Cfg;
use crate::cycles::{CycleId, Cycles};
use crate::dfs::NONE;
use crate::node::Node;

/// A modified post-order of a graph, or of one cycle of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModifiedPostOrder {
    nodes: Nodes,
    /// Number by position in `nodes`, `NONE` when the node has none.
    number: Vec<u32>,
    order: Vec<Node>,
}

/// The nodes that are numbered.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Nodes {
    /// All nodes of a graph with this many nodes.
    All(usize),
    /// These nodes, in increasing order.
    Some(Box<[Node]>),
}

impl Nodes {
    fn len(&self) -> usize {
        match self {
            Nodes::All(count) => *count,
            Nodes::Some(nodes) => nodes.len(),
        }
    }

    #[inline]
    fn position(&self, node: Node) -> Option<usize> {
        match self {
            Nodes::All(_) => Some(node.index()),
            Nodes::Some(nodes) => nodes.binary_search(&node).ok(),
        }
    }
}

impl ModifiedPostOrder {
    /// Numbers every reachable node.
    #[must_use]
    pub fn new(cfg: &Cfg, cycles: &Cycles) -> Self {
        let mut search = Search::new(cfg, cycles, None);
        search.run(None, vec![cfg.entry()]);
        search.finish()
    }

    /// Numbers the nodes of one cycle, as the order of the whole graph does relative to each other.
    #[must_use]
    pub fn of_cycle(cfg: &Cfg, cycles: &Cycles, cycle: CycleId) -> Self {
        let mut search = Search::new(cfg, cycles, Some(cycle));
        let inside = search.open_cycle(cycle);
        search.run(Some(cycle), inside);
        search.finish()
    }

    /// The node's number. `None` for nodes that were not numbered.
    #[inline]
    #[must_use]
    pub fn number(&self, node: Node) -> Option<u32> {
        let number = self.number[self.nodes.position(node)?];
        (number != NONE).then_some(number)
    }

    /// The nodes by number.
    #[must_use]
    pub fn order(&self) -> &[Node] {
        &self.order
    }
}

struct Search<'a> {
    cfg: &'a Cfg,
    cycles: &'a Cycles,
    /// The cycle that is numbered, if it is not the whole graph.
    root: Option<CycleId>,
    /// By cycle, counted from the root: the targets of the edges that leave it and no cycle around
    /// it.
    exits: Vec<Vec<Node>>,
    nodes: Nodes,
    number: Vec<u32>,
    order: Vec<Node>,
}

/// A cycle being numbered (the whole graph at the bottom) and its depth-first stack.
struct Frame {
    cycle: Option<CycleId>,
    stack: Vec<Node>,
}

impl<'a> Search<'a> {
    fn new(cfg: &'a Cfg, cycles: &'a Cycles, root: Option<CycleId>) -> Self {
        let (nodes, count) = match root {
            None => (Nodes::All(cfg.node_count()), cycles.len()),
            Some(root) => {
                let mut nodes: Box<[Node]> = cycles.blocks(root).into();
                nodes.sort_unstable();
                (Nodes::Some(nodes), cycles.count_within(root))
            }
        };
        let number = vec![NONE; nodes.len()];
        let exits = vec![Vec::new(); count];
        let mut search = Self { cfg, cycles, root, exits, nodes, number, order: Vec::new() };
        search.find_exits();
        search
    }

    fn find_exits(&mut self) {
        let Self { cfg, cycles, root, .. } = *self;
        let tops: Vec<CycleId> = match root {
            Some(root) => vec![root],
            None => cycles.top_level().collect(),
        };
        for &from in tops.into_iter().flat_map(|top| cycles.blocks(top)) {
            let Some(inner) = cycles.innermost(from) else { continue };
            for &to in cfg.successors(from) {
                if let Some(left) = cycles.outermost_without(inner, to) {
                    // Targets outside of the root are not numbered.
                    if root.is_none_or(|root| cycles.contains(root, to)) {
                        let at = self.exits_of(left);
                        self.exits[at].push(to);
                    }
                }
            }
        }
        // Each target once, where it comes first: that is the order in which LLVM lists exit
        // blocks.
        let mut seen = vec![NONE; self.nodes.len()];
        for (cycle, targets) in self.exits.iter_mut().enumerate() {
            targets.retain(|to| {
                let last = self.nodes.position(*to).map(|at| &mut seen[at]);
                last.is_none_or(|last| std::mem::replace(last, cycle as u32) != cycle as u32)
            });
        }
    }

    fn exits_of(&self, cycle: CycleId) -> usize {
        cycle.index() - self.root.map_or(0, CycleId::index)
    }

    fn finish(self) -> ModifiedPostOrder {
        ModifiedPostOrder { nodes: self.nodes, number: self.number, order: self.order }
    }

    /// Whether a node needs no number: it has one already, or lies outside of the root.
    fn is_done(&self, node: Node) -> bool {
        self.nodes.position(node).is_none_or(|at| self.number[at] != NONE)
    }

    fn append(&mut self, node: Node) {
        if let Some(at) = self.nodes.position(node) {
            self.number[at] = self.order.len() as u32;
            self.order.push(node);
        }
    }

    /// Numbers the header and returns where the search of the rest starts.
    fn open_cycle(&mut self, cycle: CycleId) -> Vec<Node> {
        let header = self.cycles.header(cycle);
        self.append(header);
        let inside = |s: &Node| self.cycles.contains(cycle, *s) && !self.is_done(*s);
        self.cfg.successors(header).iter().copied().filter(inside).collect()
    }

    fn run(&mut self, cycle: Option<CycleId>, stack: Vec<Node>) {
        let mut frames = vec![Frame { cycle, stack }];
        while let Some(frame) = frames.last_mut() {
            let Some(&node) = frame.stack.last() else {
                frames.pop();
                continue;
            };
            if self.is_done(node) {
                frame.stack.pop();
                continue;
            }
            let within = |s: Node| frame.cycle.is_none_or(|c| self.cycles.contains(c, s));
            let before = frame.stack.len();
            let nested = self.nested(frame.cycle, node);
            let next = match nested {
                Some(nested) => &self.exits[self.exits_of(nested)],
                None => self.cfg.successors(node),
            };
            frame.stack.extend(next.iter().filter(|to| within(**to) && !self.is_done(**to)));
            if frame.stack.len() > before {
                continue;
            }
            frame.stack.pop();
            match nested {
                Some(nested) => {
                    let stack = self.open_cycle(nested);
                    frames.push(Frame { cycle: Some(nested), stack });
                }
                None => self.append(node),
            }
        }
    }

    /// The cycle that stands for the node in the graph being searched: the outermost one around the
    /// node that lies inside `around`.
    fn nested(&self, around: Option<CycleId>, node: Node) -> Option<CycleId> {
        let inner = self.cycles.innermost(node)?;
        match around {
            Some(around) if inner == around => None,
            Some(around) => self.cycles.outermost_without(inner, self.cycles.header(around)),
            None => {
                let outermost = self.cycles.outermost_without(inner, self.cfg.entry());
                outermost.or_else(|| self.cycles.ancestors(inner).last())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random::any_graph;

    #[test]
    fn the_order_of_a_cycle_has_room_for_its_own_blocks_alone() {
        let mut small = 0;
        for seed in 0..500 {
            let cfg = any_graph(seed, 24);
            let cycles = Cycles::new(&cfg);
            for cycle in cycles.iter() {
                let own = ModifiedPostOrder::of_cycle(&cfg, &cycles, cycle);
                assert_eq!(own.number.len(), cycles.blocks(cycle).len(), "seed {seed}: {cycle:?}");
                let mut outside = cfg.nodes().filter(|node| !cycles.contains(cycle, *node));
                assert!(outside.all(|node| own.number(node).is_none()), "seed {seed}: {cycle:?}");
                small += usize::from(own.number.len() < cfg.node_count() / 2);
            }
        }
        assert!(small > 100, "{small}");
    }
}
