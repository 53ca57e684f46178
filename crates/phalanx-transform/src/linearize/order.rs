//! Finds the successors of the blocks of a region after its divergent branches are removed.
//!
//! **Problem.** The blocks of a region are numbered `0..n`, `n` being the join, and every edge
//! leads to a greater number. Branches that are *kept* stay branches. A thread that comes to any
//! other block with several successors has to visit all of them.
//!
//! **Algorithm.** Partial linearization (Moll and Hack, "Partial Control-Flow Linearization", PLDI
//! 2018). Visit the blocks in order. Each block has a set of *deferred* targets: blocks that a
//! thread at this block still has to visit. A block that is not kept leads to the least of its
//! successors and deferred targets, and defers all others to that one. A kept branch does the same
//! for each of its successors separately.
//!
//! ```text
//!   0 -> 1, 2    1 -> 3    2 -> 3    becomes    0 -> 1    1 -> 2 (deferred)    2 -> 3
//! ```
//!
//! **Invariants.** Every edge leads to a greater number. Take a thread that went from `a` to `b`
//! through the region before, and that chooses the same successor at kept branches now. It visits
//! the same blocks in the same order, and perhaps others. If the numbering is
//! [compact](dominance_compact), dominance is preserved: only blocks that `a` dominates defer
//! targets inside of that set, so no path enters it past `a`.
//!
//! Cost: O(blocks * deferred targets).

use std::collections::BTreeSet;

use phalanx_graph::{Dfs, DomTree, Node};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// Different successors of a block, by number.
pub(super) type Successors = SmallVec<[usize; 2]>;

/// How a block continues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// To one block, whatever its condition was.
    Straight(usize),
    /// A kept branch: pairs of an old successor and the block that replaces it.
    Kept(SmallVec<[(usize, usize); 2]>),
}

/// How each block continues. A branch is not kept if two of its edges would lead to the same block.
pub(super) fn linear(successors: &[Successors], keeps: &[bool]) -> Vec<Way> {
    let join = successors.len();
    let mut deferred: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); join + 1];
    let mut ways = Vec::with_capacity(join);
    for (block, targets) in successors.iter().enumerate() {
        let mut pending = std::mem::take(&mut deferred[block]);
        let first = pending.first().copied().unwrap_or(join);
        if keeps[block] && targets.len() > 1 {
            let kept: SmallVec<[(usize, usize); 2]> =
                targets.iter().map(|&target| (target, target.min(first))).collect();
            let mut firsts: SmallVec<[usize; 2]> = kept.iter().map(|way| way.1).collect();
            firsts.sort_unstable();
            firsts.dedup();
            if firsts.len() == kept.len() {
                for &(target, next) in &kept {
                    let rest = pending.iter().copied().chain([target]).filter(|&t| t != next);
                    deferred[next].extend(rest);
                }
                ways.push(Way::Kept(kept));
                continue;
            }
        }
        pending.extend(targets);
        let next = pending.pop_first().unwrap_or(join);
        deferred[next].extend(pending);
        ways.push(Way::Straight(next));
    }
    ways
}

/// Orders the blocks of an acyclic region so that every edge leads forward, and the blocks that a
/// block dominates follow it without a gap. The region is the set of given blocks that `first`
/// dominates. O(region * log).
pub(super) fn dominance_compact(
    dom: &DomTree,
    dfs: &Dfs,
    region: &FxHashSet<Node>,
    first: Node,
) -> Vec<Node> {
    let mut order = Vec::with_capacity(region.len());
    let mut stack = vec![first];
    while let Some(node) = stack.pop() {
        order.push(node);
        // Reverse postorder among siblings: an edge out of one dominated subtree leads to a later
        // one.
        let mut children: SmallVec<[Node; 4]> =
            dom.children(node).filter(|child| region.contains(child)).collect();
        children.sort_unstable_by_key(|&child| std::cmp::Reverse(dfs.rpo_index(child)));
        stack.extend(children);
    }
    order
}

#[cfg(test)]
mod tests {
    use phalanx_graph::Cfg;
    use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};

    use super::*;

    /// A random region: numbered blocks with one or two successors each, further on.
    fn random(rng: &mut SmallRng) -> Cfg {
        let blocks = rng.random_range(3..12usize);
        let lists: Vec<Vec<Node>> = (0..=blocks)
            .map(|block| {
                let count = rng.random_range(1..=2usize);
                let next = |_| Node::new(rng.random_range(block + 1..=blocks));
                match block == blocks {
                    true => Vec::new(),
                    false => (0..count).map(next).collect(),
                }
            })
            .collect();
        Cfg::new(Node::new(0), lists)
    }

    struct Example {
        successors: Vec<Successors>,
        keeps: Vec<bool>,
        ways: Vec<Way>,
    }

    /// The region in compact order, some branches kept.
    fn example(rng: &mut SmallRng) -> Example {
        let cfg = random(rng);
        let (dom, dfs) = (DomTree::new(&cfg), Dfs::new(&cfg));
        let join = Node::new(cfg.node_count() - 1);
        let region: FxHashSet<Node> =
            cfg.nodes().filter(|&n| n != join && dom.is_reachable(n)).collect();
        let order = dominance_compact(&dom, &dfs, &region, Node::new(0));
        assert_eq!(order.len(), region.len());
        let number = |node: Node| order.iter().position(|&n| n == node).unwrap_or(order.len());
        let successors: Vec<Successors> = order
            .iter()
            .map(|&node| {
                let mut list: Successors =
                    cfg.successors(node).iter().map(|&n| number(n)).collect();
                list.sort_unstable();
                list.dedup();
                list
            })
            .collect();
        for (block, list) in successors.iter().enumerate() {
            assert!(list.iter().all(|&to| to > block), "{successors:?}");
        }
        let keeps: Vec<bool> = order.iter().map(|_| rng.random()).collect();
        let ways = linear(&successors, &keeps);
        Example { successors, keeps, ways }
    }

    fn after(example: &Example) -> Cfg {
        let lists = example.ways.iter().map(|way| match way {
            Way::Straight(next) => vec![Node::new(*next)],
            Way::Kept(kept) => kept.iter().map(|way| Node::new(way.1)).collect(),
        });
        Cfg::new(Node::new(0), lists.chain([Vec::new()]))
    }

    #[test]
    fn whoever_goes_a_way_goes_it_still() {
        let rng = &mut SmallRng::seed_from_u64(1);
        let mut kept = 0;
        for _ in 0..4000 {
            let example = example(rng);
            let join = example.successors.len();
            // Random decisions for every block, including blocks off the path.
            let decided: Vec<usize> = example
                .successors
                .iter()
                .map(|list| list[rng.random_range(0..list.len())])
                .collect();
            let (mut wanted, mut at) = (Vec::new(), 0);
            while at != join {
                wanted.push(at);
                at = decided[at];
            }
            let (mut visited, mut at) = (Vec::new(), 0);
            while at != join {
                visited.push(at);
                let next = match &example.ways[at] {
                    Way::Straight(next) => *next,
                    Way::Kept(list) => {
                        kept += 1;
                        list.iter().find(|way| way.0 == decided[at]).unwrap().1
                    }
                };
                assert!(next > at);
                at = next;
            }
            let missed = wanted.iter().find(|block| !visited.contains(block));
            assert_eq!(missed, None, "{:?} {:?}", example.successors, example.keeps);
        }
        assert!(kept > 1000, "{kept}");
    }

    #[test]
    fn who_dominates_dominates_still() {
        let rng = &mut SmallRng::seed_from_u64(2);
        for _ in 0..2000 {
            let example = example(rng);
            let join = example.successors.len();
            let lists = example.successors.iter().cloned().chain([Successors::new()]);
            let before = Cfg::new(
                Node::new(0),
                lists.map(|list| list.into_iter().map(Node::new).collect::<Vec<_>>()),
            );
            let after = after(&example);
            let (old, new) = (DomTree::new(&before), DomTree::new(&after));
            for a in (0..join).map(Node::new) {
                assert!(new.is_reachable(a), "{:?}", example.ways);
                for b in (0..join).map(Node::new) {
                    let lost = old.dominates(a, b) && !new.dominates(a, b);
                    assert!(!lost, "{a} {b} {:?} {:?}", example.successors, example.ways);
                }
            }
        }
    }

    #[test]
    fn a_branch_in_one_of_two_sides_is_kept() {
        // 0 branches to 1 and 4; 1 branches to 2 and 3.
        let successors: Vec<Successors> =
            [&[1, 4][..], &[2, 3], &[5], &[5], &[5]].map(Successors::from_slice).to_vec();
        let ways = linear(&successors, &[false, true, false, false, false]);
        let kept: SmallVec<[(usize, usize); 2]> = [(2, 2), (3, 3)].into_iter().collect();
        let straight = |to| Way::Straight(to);
        assert_eq!(ways, [straight(1), Way::Kept(kept), straight(4), straight(4), straight(5)]);
    }
}
