//! When the threads that are together in one block are those that were together in another.
//!
//! **Definition.** `same_set(P, A)`: whenever threads execute `A`, those that are converged there
//! are exactly those that were converged at the latest execution of `P` before. Then a convergent
//! operation in `A` that does what one in `P` did, with equal operands and without memory, gives
//! every thread the same value again, and moves from one to the other change no group.
//!
//! **Rule.** It holds when `P` dominates `A`, both have the same innermost cycle, `A` is not its
//! header, and threads that were together in `P` cannot lose each other on the way: look at the
//! blocks that are reached from `P` without passing `A`. A thread leaves this region when it ends,
//! leaves the cycle, or reaches the header of the cycle again. If no path leaves the region, all
//! threads come to `A`. Otherwise, every branch from which both `A` and a way out of the region can
//! be reached has to be uniform at the scope of the operation.
//!
//! The region is searched up to a bound, beyond which the answer is no. O(region).
//!
//! **What is not examined.** Threads end where the graph ends. A call may also end some threads, or
//! not return in them: the facts here are about threads whose calls return. The pass that moves an
//! operation has to check the calls between the two places: behind the upper one in its block,
//! before the lower one in its block, and in the blocks [`between`].

use phalanx_graph::{Cfg, Cycles, DomTree, Node};
use rustc_hash::FxHashMap;

use super::Refusal;

/// The largest number of blocks between the two places.
const REGION: usize = 256;

/// Whether all threads arrive at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    Certain,
    Possible,
}

/// What the rule looks at.
#[derive(Copy, Clone)]
pub struct Convergence<'a> {
    /// The graph.
    pub cfg: &'a Cfg,
    /// Its dominator tree.
    pub dom: &'a DomTree,
    /// Its cycles.
    pub cycles: &'a Cycles,
    /// Whether threads that end a block together can go different ways.
    pub is_divergent: &'a dyn Fn(Node) -> bool,
}

impl Convergence<'_> {
    /// See the [module documentation](self).
    ///
    /// # Errors
    /// Why not.
    pub fn same_set(&self, above: Node, below: Node) -> Result<(), Refusal> {
        self.arrival(above, below).map(|_| ())
    }

    /// As [`same_set`](Self::same_set); also whether all threads that were in `above` arrive at
    /// `below`.
    pub(super) fn arrival(&self, above: Node, below: Node) -> Result<Arrival, Refusal> {
        if above == below {
            return Ok(Arrival::Certain);
        }
        if !self.dom.dominates(above, below) {
            return Err(Refusal::NotDominated { above, below });
        }
        let cycle = self.cycles.innermost(below);
        if self.cycles.innermost(above) != cycle {
            return Err(Refusal::OtherCycle { above, below });
        }
        if cycle.is_some_and(|c| self.cycles.header(c) == below) {
            return Err(Refusal::Header { header: below });
        }
        let Some(Region { blocks, mut can_leave, mut can_arrive, edges }) =
            Region::new(self.cfg, self.cycles, above, below)
        else {
            return Err(Refusal::TooFar { above, below });
        };
        if !can_leave.contains(&true) {
            // A cycle on the way may never end.
            let has_cycle = blocks.iter().any(|&node| self.cycles.innermost(node) != cycle);
            return Ok(if has_cycle { Arrival::Possible } else { Arrival::Certain });
        }
        for set in [&mut can_leave, &mut can_arrive] {
            spread(set, &edges);
        }
        let splits = |&(number, &node): &(usize, &Node)| {
            can_leave[number] && can_arrive[number] && self.is_divergent(node)
        };
        match blocks.iter().enumerate().find(splits) {
            Some((_, &branch)) => Err(Refusal::Separates { branch, below }),
            None => Ok(Arrival::Possible),
        }
    }

    pub(super) fn is_divergent(&self, node: Node) -> bool {
        self.cfg.successors(node).len() > 1 && (self.is_divergent)(node)
    }
}

/// The blocks that are reached from one without passing another below it, in a round of the
/// innermost cycle of both.
struct Region {
    /// In the order they were found.
    blocks: Vec<Node>,
    can_leave: Vec<bool>,
    can_arrive: Vec<bool>,
    /// By number of the blocks.
    edges: Vec<(usize, usize)>,
}

impl Region {
    /// None if it is too large.
    fn new(cfg: &Cfg, cycles: &Cycles, above: Node, below: Node) -> Option<Region> {
        let cycle = cycles.innermost(below);
        let leaves = |node: Node| match cycle {
            Some(cycle) => !cycles.contains(cycle, node) || cycles.header(cycle) == node,
            None => false,
        };
        let mut numbers: FxHashMap<Node, usize> = FxHashMap::default();
        numbers.insert(above, 0);
        let mut region = Region {
            blocks: vec![above],
            can_leave: vec![cfg.successors(above).is_empty()],
            can_arrive: vec![false],
            edges: Vec::new(),
        };
        let mut at = 0;
        while at < region.blocks.len() {
            for &next in cfg.successors(region.blocks[at]) {
                if next == below {
                    region.can_arrive[at] = true;
                } else if leaves(next) {
                    region.can_leave[at] = true;
                } else {
                    let new = region.blocks.len();
                    let number = *numbers.entry(next).or_insert(new);
                    if number == new {
                        if new == REGION {
                            return None;
                        }
                        region.blocks.push(next);
                        region.can_leave.push(cfg.successors(next).is_empty());
                        region.can_arrive.push(false);
                    }
                    region.edges.push((at, number));
                }
            }
            at += 1;
        }
        Some(region)
    }
}

/// The blocks that are passed between two others, of which the upper one dominates the lower one in
/// the same round; `None` if there are too many. O(blocks).
#[must_use]
pub fn between(cfg: &Cfg, cycles: &Cycles, above: Node, below: Node) -> Option<Vec<Node>> {
    if above == below {
        return Some(Vec::new());
    }
    let Region { blocks, mut can_arrive, edges, .. } = Region::new(cfg, cycles, above, below)?;
    spread(&mut can_arrive, &edges);
    let passed = blocks.into_iter().zip(can_arrive).skip(1).filter(|&(_, arrives)| arrives);
    Some(passed.map(|(block, _)| block).collect())
}

/// Adds every node with an edge to one in the set, again and again. O(nodes + edges).
fn spread(set: &mut [bool], edges: &[(usize, usize)]) {
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); set.len()];
    for &(from, to) in edges {
        into[to].push(from);
    }
    let mut work: Vec<usize> = (0..set.len()).filter(|&n| set[n]).collect();
    while let Some(node) = work.pop() {
        for &from in &into[node] {
            if !std::mem::replace(&mut set[from], true) {
                work.push(from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(edges: &[(usize, usize)], divergent: &[usize], above: usize, below: usize) -> bool {
        let nodes = edges.iter().map(|&(a, b)| a.max(b)).max().unwrap_or(0) + 1;
        let to = |from: usize| {
            edges.iter().filter(move |e| e.0 == from).map(|e| Node::new(e.1)).collect::<Vec<_>>()
        };
        let cfg = Cfg::new(Node::new(0), (0..nodes).map(to));
        let (dom, cycles) = (DomTree::new(&cfg), Cycles::new(&cfg));
        let is_divergent = |node: Node| divergent.contains(&node.index());
        let convergence =
            Convergence { cfg: &cfg, dom: &dom, cycles: &cycles, is_divergent: &is_divergent };
        convergence.same_set(Node::new(above), Node::new(below)).is_ok()
    }

    const DIAMOND: &[(usize, usize)] = &[(0, 1), (0, 2), (1, 3), (2, 3)];

    #[test]
    fn who_separates_meets_again() {
        assert!(check(DIAMOND, &[0], 0, 3));
        assert!(!check(DIAMOND, &[0], 0, 1));
        assert!(check(DIAMOND, &[], 0, 1), "whole groups go either way");
        assert!(!check(DIAMOND, &[], 1, 3), "1 does not dominate 3");
    }

    #[test]
    fn what_is_passed_between() {
        // From 1 to 5 by 2 or 3; by 4 one does not come there, and 6 is another round.
        let edges =
            [(0, 1), (1, 2), (1, 3), (1, 4), (2, 5), (3, 5), (5, 6), (6, 1), (4, 7), (6, 7)];
        let to = |from: usize| {
            edges.iter().filter(move |e| e.0 == from).map(|e| Node::new(e.1)).collect::<Vec<_>>()
        };
        let cfg = Cfg::new(Node::new(0), (0..8).map(to));
        let cycles = Cycles::new(&cfg);
        let blocks = |above, below| -> Vec<usize> {
            let found = between(&cfg, &cycles, Node::new(above), Node::new(below)).unwrap();
            found.iter().map(|node| node.index()).collect()
        };
        assert_eq!(blocks(1, 5), [2, 3]);
        assert_eq!(blocks(2, 5), []);
        assert_eq!(blocks(0, 7), [1, 2, 3, 4, 5, 6], "all rounds are between");
    }

    #[test]
    fn rounds_of_a_loop() {
        // 1 is the header, 2 the body, 3 behind it.
        let edges = [(0, 1), (1, 2), (2, 1), (1, 3)];
        assert!(!check(&edges, &[], 0, 1));
        assert!(!check(&edges, &[1], 1, 2));
        assert!(check(&edges, &[], 1, 2));
        assert!(check(&edges, &[1], 0, 3), "everybody comes out of the loop");
        assert!(!check(&edges, &[], 1, 3), "another cycle");
    }

    #[test]
    fn a_way_round_by_continue() {
        // 1: header; 2 may go on to the latch 4 or by 3.
        let edges = [(0, 1), (1, 2), (2, 3), (2, 4), (3, 4), (4, 1), (4, 5)];
        assert!(check(&edges, &[2], 2, 4));
        assert!(!check(&edges, &[2], 2, 3));
    }
}
