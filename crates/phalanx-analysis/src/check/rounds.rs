//! What decides whether a round of a cycle comes to an operation.
//!
//! Where the only way out of a cycle leads past a barrier, the barrier post-dominates the whole cycle, so nothing in it decides whether a
//! thread comes to the barrier: only in which round. Threads that do in different rounds are not converged at it: some wait there
//! while others are in their next round, and may wait for the first before an operation at its start.
//!
//! **Definition.** A *round* of a reducible cycle is what a thread executes from one visit of the header to the next, or until it leaves. The graph of a
//! round is that of the cycle where edges to the header and out of the cycle lead to an exit; control dependence in it
//! is what is asked for. In a cycle that is irreducible, or lies in one that is, which block is the header is a choice: there all
//! branches of the cycle count.
//!
//! O(blocks + edges) of the cycle, and only where some round misses the operation.

use phalanx_graph::{Cfg, ControlDependence, CycleId, DomTree, Node, PostDomTree};
use rustc_hash::FxHashMap;

use super::Facts;

/// The branches of a cycle that decide whether a round comes to a block in it.
pub(super) fn deciding(facts: Facts<'_>, cycle: CycleId, block: Node) -> Vec<Node> {
    let cycles = facts.cycles;
    let blocks = cycles.blocks(cycle);
    if cycles.ancestors(cycle).any(|cycle| !cycles.is_reducible(cycle)) {
        return blocks.iter().copied().filter(|&node| facts.cfg.is_branch(node)).collect();
    }
    let header = cycles.header(cycle);
    if header == block || !misses(facts, cycle, block) {
        return Vec::new();
    }
    // The header first, then the other blocks, then the end of the round.
    let mut order = vec![header];
    order.extend(blocks.iter().copied().filter(|&node| node != header));
    let numbers: FxHashMap<Node, u32> = order.iter().copied().zip(0..).collect();
    let end = Node::from_raw(order.len() as u32);
    let number = |target: &Node| match numbers.get(target) {
        Some(&number) if *target != header => Node::from_raw(number),
        _ => end,
    };
    let mut lists: Vec<Vec<Node>> =
        order.iter().map(|&node| facts.cfg.successors(node).iter().map(number).collect()).collect();
    lists.push(Vec::new());
    let round = Cfg::new(Node::from_raw(0), lists);
    let postdom = PostDomTree::new(&round);
    let control = ControlDependence::new(&round, &DomTree::new(&round), &postdom);
    let own = numbers.get(&block).map(|&number| Node::from_raw(number));
    let branches = control.iterated_controllers(&postdom, own);
    branches.into_iter().filter_map(|branch| order.get(branch.index()).copied()).collect()
}

/// Whether there is a way from the header to the header, in the cycle, that does not come to a block.
fn misses(facts: Facts<'_>, cycle: CycleId, block: Node) -> bool {
    let header = facts.cycles.header(cycle);
    let stays = |node: Node| node != block && facts.cycles.contains(cycle, node);
    let seen = facts.reachable([header], stays);
    let back = |&at: &usize| {
        let node = Node::from_raw(at as u32);
        stays(node) && facts.cfg.successors(node).contains(&header)
    };
    seen.iter().any(|at| back(&at))
}
