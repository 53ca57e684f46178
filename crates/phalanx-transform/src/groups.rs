//! Whether removing edges leaves the groups of threads at convergent operations as they are.
//!
//! # Definition
//!
//! Under maximal convergence an execution of block `X` has the key `(X, key(L(X)))`, where `L(X)`
//! is the latest execution before it of the header of any cycle around `X`. So the headers of the
//! cycles around `X`, innermost to outermost, determine which threads are together at `X`. This
//! list is the *chain* of `X`. An edge that is never taken may still close a cycle. Removing it can
//! take `X` out of that cycle: then threads that came to `X` in different rounds are together
//! there.
//!
//! # Rule
//!
//! Edges may be removed when every block with a convergent operation has the same chain before and
//! after. One difference is allowed: a cycle may vanish entirely if it was reducible and its former
//! header then has the chain of the cycle around it. Its header was executed once for each time
//! that the cycle was entered, and every thread in the cycle passed it.
//!
//! Equal chains have equal numbers, so chains are compared by number. O(blocks + cycles).

use phalanx_graph::{Cfg, CycleId, Cycles, Dfs, Node};
use rustc_hash::FxHashMap;

/// The chains of all cycles of two states of one graph.
#[derive(Debug)]
struct Chains {
    /// Number of a chain, by header and number of the chain around; 0 is the empty chain.
    numbers: FxHashMap<(Node, u32), u32>,
}

impl Chains {
    fn number(&mut self, header: Node, around: u32) -> u32 {
        let next = self.numbers.len() as u32 + 1;
        *self.numbers.entry((header, around)).or_insert(next)
    }
}

/// Cycles by depth, outer ones first.
fn outer_first(cycles: &Cycles) -> Vec<CycleId> {
    let mut all: Vec<CycleId> = cycles.iter().collect();
    all.sort_by_key(|&cycle| (cycles.depth(cycle), cycle.raw()));
    all
}

/// The given blocks whose groups may differ between two states of a graph.
#[must_use]
pub fn disturbed(before: (&Cfg, &Cycles), after: (&Cfg, &Cycles), blocks: &[Node]) -> Vec<Node> {
    let mut chains = Chains { numbers: FxHashMap::default() };
    let reachable = Dfs::new(after.0);
    let mut chain_after = vec![0u32; after.1.len()];
    for cycle in outer_first(after.1) {
        let around = after.1.parent(cycle).map_or(0, |outer| chain_after[outer.index()]);
        chain_after[cycle.index()] = chains.number(after.1.header(cycle), around);
    }
    let after_of =
        |node: Node| after.1.innermost(node).map_or(0, |cycle| chain_after[cycle.index()]);
    let mut chain_before = vec![0u32; before.1.len()];
    for cycle in outer_first(before.1) {
        let around = before.1.parent(cycle).map_or(0, |outer| chain_before[outer.index()]);
        let header = before.1.header(cycle);
        let vanishes = before.1.is_reducible(cycle)
            && !after.1.is_header(header)
            && (!reachable.is_reachable(header) || after_of(header) == around);
        chain_before[cycle.index()] = if vanishes { around } else { chains.number(header, around) };
    }
    let before_of =
        |node: Node| before.1.innermost(node).map_or(0, |cycle| chain_before[cycle.index()]);
    blocks
        .iter()
        .copied()
        .filter(|&node| reachable.is_reachable(node) && before_of(node) != after_of(node))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(usize, usize)]) -> Cfg {
        let nodes = edges.iter().map(|&(a, b)| a.max(b)).max().unwrap_or(0) + 1;
        let to = |from: usize| {
            edges.iter().filter(move |e| e.0 == from).map(|e| Node::new(e.1)).collect::<Vec<_>>()
        };
        Cfg::new(Node::new(0), (0..nodes).map(to))
    }

    fn check(edges: &[(usize, usize)], without: (usize, usize), at: usize) -> bool {
        let before = graph(edges);
        let rest: Vec<_> = edges.iter().copied().filter(|&e| e != without).collect();
        // Both graphs have the same number of nodes.
        let after = Cfg::new(
            Node::new(0),
            (0..before.node_count()).map(|from| {
                rest.iter().filter(move |e| e.0 == from).map(|e| Node::new(e.1)).collect::<Vec<_>>()
            }),
        );
        let (b, a) = (Cycles::new(&before), Cycles::new(&after));
        disturbed((&before, &b), (&after, &a), &[Node::new(at)]).is_empty()
    }

    #[test]
    fn a_loop_that_goes_round_once() {
        // 0 -> 1 -> 2 -> 1, 2 -> 3
        let edges = [(0, 1), (1, 2), (2, 1), (2, 3)];
        assert!(check(&edges, (2, 1), 2));
        assert!(check(&edges, (2, 1), 3));
    }

    #[test]
    fn a_block_that_falls_out_of_its_loop() {
        // 1 is a header; 3 can take the back edge 3 -> 1 or leave.
        let edges = [(0, 1), (1, 2), (2, 1), (1, 3), (3, 1), (3, 4)];
        assert!(!check(&edges, (3, 1), 3), "threads leave to 3 in different rounds");
        assert!(check(&edges, (3, 1), 2));
    }

    #[test]
    fn an_irreducible_cycle_does_not_vanish_silently() {
        let edges = [(0, 1), (0, 2), (1, 2), (2, 1), (2, 3), (1, 3)];
        assert!(!check(&edges, (2, 1), 2) || !check(&edges, (1, 2), 1));
    }
}
