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
//! `O(n + m)` on graphs whose cycles are shallow, plus the cost of listing the exits of each cycle. No
//! recursion: a frame per open cycle.

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
        let mut search = Search::new(cfg, cycles);
        search.run(None, vec![cfg.entry()]);
        search.finish()
    }

    /// Numbers the nodes of one cycle, as the order of the whole graph does relative to each other.
    #[must_use]
    pub fn of_cycle(cfg: &Cfg, cycles: &Cycles, cycle: CycleId) -> Self {
        let mut search = Search::new(cfg, cycles);
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
    number: Vec<u32>,
    order: Vec<Node>,
}

/// A cycle being numbered (the whole graph at the bottom) and its depth-first stack.
struct Frame {
    cycle: Option<CycleId>,
    stack: Vec<Node>,
}

impl<'a> Search<'a> {
    fn new(cfg: &'a Cfg, cycles: &'a Cycles) -> Self {
        let n = cfg.node_count();
        Self { cfg, cycles, number: vec![NONE; n], order: Vec::new() }
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
                    for (_, to) in self.cycles.exit_edges(nested) {
                        if within(to) && !self.is_done(to) {
                            frame.stack.push(to);
                        }
                    }
                }
                None => {
                    for &to in self.cfg.successors(node) {
                        if within(to) && !self.is_done(to) {
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
            None => self.cycles.ancestors(inner).last(),
        }
    }
}
