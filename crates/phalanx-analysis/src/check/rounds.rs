//! What decides whether a round of a cycle comes to an operation.
//!
//! If the only way out of a cycle leads past a barrier, the barrier post-dominates the whole cycle.
//! So nothing in the cycle decides whether a thread comes to the barrier, only in which round.
//! Threads that come in different rounds are not converged at it. Some wait there while others are
//! in their next round, and may wait for the first ones before an operation at its start.
//!
//! **Definition.** A *round* of a reducible cycle is what a thread executes from one visit of the
//! header to the next, or until it leaves. The graph of a round is that of the cycle, in which
//! edges to the header and out of the cycle lead to an exit. Control dependence in this graph is
//! the answer. In a cycle that is irreducible, or is inside of one that is, the header is an
//! arbitrary choice: there all branches of the cycle count.
//!
//! **Complexity.** O(blocks + edges) of the cycle, once for all operations in it; then the size of
//! the answer.

use std::{
    cell::{OnceCell, RefCell},
    rc::Rc,
};

use phalanx_graph::{Cfg, ControlDependence, CycleId, DomTree, Node, PostDomTree};
use rustc_hash::FxHashMap;

use super::Facts;

/// The rounds of the cycles that were needed so far.
#[derive(Debug, Default)]
pub(super) struct Rounds(RefCell<FxHashMap<CycleId, Rc<Round>>>);

impl Rounds {
    /// The branches of a cycle that decide whether a round comes to a block in it.
    pub(super) fn deciding(&self, facts: Facts<'_>, cycle: CycleId, block: Node) -> Vec<Node> {
        let cycles = facts.cycles;
        if !cycles.is_canonical(cycle) {
            let blocks = cycles.blocks(cycle).iter().copied();
            return blocks.filter(|&node| facts.cfg.is_branch(node)).collect();
        }
        if cycles.header(cycle) == block {
            return Vec::new();
        }
        let make = || Rc::new(Round::new(facts, cycle));
        let round = Rc::clone(self.0.borrow_mut().entry(cycle).or_insert_with(make));
        if round.misses(block) { round.deciding(block) } else { Vec::new() }
    }
}

/// A round of a reducible cycle, with nodes of its own: the header first, then the other blocks,
/// then the end.
#[derive(Debug)]
struct Round {
    /// Blocks by number.
    order: Vec<Node>,
    numbers: FxHashMap<Node, u32>,
    /// Edges to the header and out of the cycle lead to the end.
    graph: Cfg,
    /// Dominators of the graph in which only edges to the header lead to the end, and edges out of
    /// the cycle lead nowhere.
    again: DomTree,
    control: OnceCell<(PostDomTree, ControlDependence)>,
}

impl Round {
    fn new(facts: Facts<'_>, cycle: CycleId) -> Round {
        let header = facts.cycles.header(cycle);
        let mut order = vec![header];
        let blocks = facts.cycles.blocks(cycle).iter().copied();
        order.extend(blocks.filter(|&node| node != header));
        let numbers: FxHashMap<Node, u32> = order.iter().copied().zip(0..).collect();
        let end = Node::from_raw(order.len() as u32);
        let number = |target: &Node| match numbers.get(target) {
            Some(_) if *target == header => Some(end),
            Some(&number) => Some(Node::from_raw(number)),
            None => None,
        };
        let graph = |leaving: Option<Node>| {
            let successors = |&node: &Node| {
                let successors = facts.cfg.successors(node).iter();
                successors.filter_map(|target| number(target).or(leaving)).collect()
            };
            let mut lists: Vec<Vec<Node>> = order.iter().map(successors).collect();
            lists.push(Vec::new());
            Cfg::new(Node::from_raw(0), lists)
        };
        let again = DomTree::new(&graph(None));
        let graph = graph(Some(end));
        Round { order, numbers, graph, again, control: OnceCell::new() }
    }

    fn number(&self, block: Node) -> Option<Node> {
        self.numbers.get(&block).map(|&number| Node::from_raw(number))
    }

    /// Whether a path in the cycle leads from the header back to it without passing a block.
    fn misses(&self, block: Node) -> bool {
        let end = Node::from_raw(self.order.len() as u32);
        self.number(block).is_some_and(|block| !self.again.dominates(block, end))
    }

    /// The branches that a block is control dependent on.
    fn deciding(&self, block: Node) -> Vec<Node> {
        let (postdom, control) = self.control.get_or_init(|| {
            let postdom = PostDomTree::new(&self.graph);
            let dom = DomTree::new(&self.graph);
            let control = ControlDependence::new(&self.graph, &dom, &postdom);
            (postdom, control)
        });
        let branches = control.iterated_controllers(postdom, self.number(block));
        branches.into_iter().filter_map(|branch| self.order.get(branch.index()).copied()).collect()
    }
}
