//! The modified post-order in which labels are propagated.
//!
//! **Definition** (LLVM, *Convergence And Uniformity*, implementation notes). A depth-first search that
//! treats a cycle as one node of the graph around it: the cycle is entered only after everything that
//! its exits lead to has been numbered; then its header takes the next number, and then the rest of the
//! cycle is numbered the same way, nested cycles being single nodes in their turn. Taking numbers from
//! the highest down, therefore:
//!
//! ```text
//!   nodes inside a cycle  >  its header  >  nodes after the cycle
//! ```
//!
//! and within a cycle a node comes before its successors, the header excepted. A label that is
//! propagated from the highest number down crosses every node of a reducible graph once.
//!
//! **Why not a plain post-order.** It may number a node after a loop between two nodes of the loop; the
//! label would then leave the loop before the labels inside have met.
//!
//! An edge that leaves cycles is an edge of the graph around the outermost of them, and of no other, so
//! all is `O((n + m) log n)`. No recursion: a frame per open cycle.

use crate::cfg::Cfg;
use crate::cycles::{CycleId, Cycles};
use crate::dfs::NONE;
use crate::node::Node;

/// A modified post-order of a graph, or of one cycle of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModifiedPostOrder {
    /// Number by node, `NONE` when the node has none.
    number: Vec<u32>,
    order: Vec<Node>,
}

impl ModifiedPostOrder {
    /// Numbers every reachable node.
    #[must_use]
    pub fn new(cfg: &Cfg, cycles: &Cycles) -> Self {
        let tops = cycles.top_level();
        let mut search = Search::new(cfg, cycles, tops.flat_map(|c| cycles.blocks(c)));
        search.run(None, vec![cfg.entry()]);
        search.finish()
    }

    /// Numbers the nodes of one cycle, as the order of the whole graph does relative to each other.
    #[must_use]
    pub fn of_cycle(cfg: &Cfg, cycles: &Cycles, cycle: CycleId) -> Self {
        let mut search = Search::new(cfg, cycles, cycles.blocks(cycle));
        let inside = search.open_cycle(cycle);
        search.run(Some(cycle), inside);
        search.finish()
    }

    /// The node's number. `None` for nodes that were not numbered.
    #[inline]
    #[must_use]
    pub fn number(&self, node: Node) -> Option<u32> {
        let number = self.number[node.index()];
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
    /// By cycle: the targets of the edges that leave it and no cycle around it.
    exits: Vec<Vec<Node>>,
    number: Vec<u32>,
    order: Vec<Node>,
}

/// A cycle being numbered (the whole graph at the bottom) and its depth-first stack.
struct Frame {
    cycle: Option<CycleId>,
    stack: Vec<Node>,
}

impl<'a> Search<'a> {
    fn new<'b>(
        cfg: &'a Cfg,
        cycles: &'a Cycles,
        blocks: impl IntoIterator<Item = &'b Node>,
    ) -> Self {
        let mut exits = vec![Vec::new(); cycles.len()];
        for &from in blocks {
            let Some(inner) = cycles.innermost(from) else { continue };
            for &to in cfg.successors(from) {
                if let Some(left) = cycles.outermost_without(inner, to) {
                    exits[left.index()].push(to);
                }
            }
        }
        // Each target once, where it comes first: that is the order in which LLVM lists exit blocks.
        let mut seen = vec![NONE; cfg.node_count()];
        for (cycle, targets) in exits.iter_mut().enumerate() {
            targets.retain(|to| {
                std::mem::replace(&mut seen[to.index()], cycle as u32) != cycle as u32
            });
        }
        Self { cfg, cycles, exits, number: vec![NONE; cfg.node_count()], order: Vec::new() }
    }

    fn finish(self) -> ModifiedPostOrder {
        ModifiedPostOrder { number: self.number, order: self.order }
    }

    fn is_done(&self, node: Node) -> bool {
        self.number[node.index()] != NONE
    }

    fn append(&mut self, node: Node) {
        self.number[node.index()] = self.order.len() as u32;
        self.order.push(node);
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
            if self.number[node.index()] != NONE {
                frame.stack.pop();
                continue;
            }
            let within = |s: Node| frame.cycle.is_none_or(|c| self.cycles.contains(c, s));
            let before = frame.stack.len();
            let nested = self.nested(frame.cycle, node);
            match nested {
                Some(nested) => {
                    for &to in &self.exits[nested.index()] {
                        if within(to) && self.number[to.index()] == NONE {
                            frame.stack.push(to);
                        }
                    }
                }
                None => {
                    for &to in self.cfg.successors(node) {
                        if within(to) && self.number[to.index()] == NONE {
                            frame.stack.push(to);
                        }
                    }
                }
            }
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
