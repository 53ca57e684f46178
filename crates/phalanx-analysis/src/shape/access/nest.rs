//! The nesting of blocks in cycles, identified by headers, so that two graphs can be compared.
//!
//! The number of a cycle differs between [hierarchies](phalanx_graph::Cycles), but each cycle has a
//! header of its own. So a block has the same nesting in two hierarchies if its innermost cycle has
//! the same header in both, and so has each cycle around it.
//!
//! If all edited blocks were in one cycle and are in it now, a split or merge of them moves no
//! instruction to another cycle.
//!
//! O(blocks).

use phalanx_graph::{BitSet, Cfg, Cycles, Node};
use rustc_hash::FxHashMap;

/// See the [module documentation](self).
#[derive(Debug, Default)]
pub(super) struct Nest {
    /// The header of the innermost cycle, by block, if that can be reached.
    innermost: Vec<Option<Option<Node>>>,
    /// Of the cycle of each header: the header of the cycle around it.
    cycles: FxHashMap<Node, Option<Node>>,
    all_reducible: bool,
}

impl Nest {
    /// The cycles of a graph, and which blocks can be reached.
    pub(super) fn new(cfg: &Cfg, cycles: &Cycles, reached: &BitSet) -> Self {
        let header = |cycle| cycles.header(cycle);
        let innermost =
            |at| reached.contains(at).then(|| cycles.innermost(Node::new(at)).map(header));
        let of = |cycle| (header(cycle), cycles.parent(cycle).map(header));
        Nest {
            innermost: (0..cfg.node_count()).map(innermost).collect(),
            cycles: cycles.iter().map(of).collect(),
            all_reducible: cycles.all_reducible(),
        }
    }

    /// The header of the innermost cycle around a block, if that can be reached.
    fn of(&self, block: Node) -> Option<Option<Node>> {
        self.innermost.get(block.index()).copied().flatten()
    }

    /// Whether all reachable blocks of these are in one and the same innermost cycle in both, or in
    /// none.
    pub(super) fn is_one_of(&self, other: &Self, blocks: &[Node]) -> bool {
        let mut all = blocks.iter().flat_map(|&block| [self.of(block), other.of(block)]).flatten();
        let first = all.next();
        all.all(|header| Some(header) == first)
    }

    /// Whether all blocks except these have the same cycles in both. A block that exists in only
    /// one of the two has to be among these.
    pub(super) fn is_same_but_for(&self, other: &Self, blocks: &[Node]) -> bool {
        let is_same = |at: usize| {
            self.of(Node::new(at)).flatten() == other.of(Node::new(at)).flatten()
                || blocks.binary_search(&Node::new(at)).is_ok()
        };
        self.all_reducible == other.all_reducible
            && self.cycles == other.cycles
            && (0..self.innermost.len().max(other.innermost.len())).all(is_same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::order::blocks_behind;

    fn nest(edges: &[&[usize]]) -> Nest {
        let rows = edges.iter().map(|row| row.iter().map(|&to| Node::new(to)).collect());
        let cfg = Cfg::new(Node::new(0), rows.collect::<Vec<Vec<Node>>>());
        let mut reached = blocks_behind(&cfg, vec![cfg.entry()]);
        reached.insert(0);
        Nest::new(&cfg, &Cycles::new(&cfg), &reached)
    }

    #[test]
    fn a_block_more_in_a_loop_is_told_of() {
        let (loop_of_two, loop_of_three) =
            (nest(&[&[1], &[2], &[1, 3], &[]]), nest(&[&[1], &[4], &[1, 3], &[], &[2]]));
        assert!(loop_of_two.is_same_but_for(&loop_of_three, &[Node::new(4)]));
        assert!(!loop_of_two.is_same_but_for(&loop_of_three, &[]));
    }

    #[test]
    fn a_loop_that_is_no_longer_in_another_is_another() {
        let inner = nest(&[&[1], &[2], &[2, 3], &[1, 4], &[]]);
        let alone = nest(&[&[1], &[2], &[2, 3], &[4], &[]]);
        let all: Vec<Node> = (0..5).map(Node::new).collect();
        assert!(!inner.is_same_but_for(&alone, &all), "the header stays one");
        assert!(inner.is_same_but_for(&inner, &[]));
        let without = nest(&[&[1], &[2], &[3], &[1, 4], &[]]);
        assert!(!inner.is_same_but_for(&without, &all) && !without.is_same_but_for(&inner, &all));
    }

    #[test]
    fn blocks_of_two_cycles_are_not_in_one() {
        let before = nest(&[&[1], &[1, 2], &[3], &[3]]);
        let after = nest(&[&[1], &[4, 2], &[3], &[3], &[1]]);
        let both = [1, 4].map(Node::new);
        assert!(before.is_one_of(&after, &both), "the loop has a block more");
        let gone = nest(&[&[1], &[1, 2], &[3], &[3], &[1]]);
        assert!(after.is_one_of(&gone, &both), "it is not reached any more");
        assert!(!before.is_one_of(&after, &[1, 3].map(Node::new)));
        assert!(!before.is_one_of(&after, &[0, 1].map(Node::new)), "one is in none");
    }
}
