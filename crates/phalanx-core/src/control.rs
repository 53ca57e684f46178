//! Control divergence: which blocks may be executed by some threads of a group and not by others.
//!
//! **Definition.** A block depends on a source when it is control dependent (Ferrante, Ottenstein,
//! Warren, 1987) on a branch whose direction depends on the source, or on a branch whose own block
//! does: the iterated closure.
//!
//! **Algorithm.** A block is control dependent on the edge `(B, A)` when it lies on the path from
//! `A` up the post-dominator tree to the immediate post-dominator of `B`, that end excluded. Where
//! all these paths together are not much longer than the graph is large, as in most code, branches
//! are taken in the order of the blocks, and what is new in their sources is carried up their
//! paths, to branches in turn. Elsewhere, as in loops in loops in loops, sources are taken one by
//! one, those that no branch has apart together: every block that gets one is marked once; a
//! disjoint-set forest over the tree leads from a block to its nearest unmarked ancestor, so paths
//! that overlap are walked once. When a branch block is marked, its edges are walked in turn.
//!
//! **Complexity.** O((blocks + edges) α) per source, whatever the size of the control-dependence
//! relation, which can be quadratic. On short paths a branch is taken once, as a rule, for all
//! sources together.

use crate::SourceSet;
use phalanx_graph::{BitSet, Cfg, Node, PostDomTree};

use crate::divergence::SourceSets;

/// The sources that each block's execution depends on, by block number.
///
/// `terminators` are the sources of the direction of each block's terminator.
#[must_use]
pub fn control_divergence(
    cfg: &Cfg,
    postdom: &PostDomTree,
    terminators: &SourceSets,
) -> SourceSets {
    // A terminator with one target decides nothing, whatever it depends on.
    let branches: Vec<(Node, SourceSet)> = cfg
        .nodes()
        .zip(terminators.iter().copied())
        .filter(|&(node, sources)| !sources.is_empty() && cfg.is_branch(node))
        .collect();
    match are_paths_short(cfg, postdom) {
        true => by_paths(cfg, postdom, &branches),
        false => by_forest(cfg, postdom, &branches),
    }
    .into()
}

/// Whether the paths of all edges together are at most a few times as long as the graph is large.
fn are_paths_short(cfg: &Cfg, postdom: &PostDomTree) -> bool {
    const FEW: usize = 4;
    let mut left = FEW * (cfg.node_count() + cfg.edge_count());
    cfg.nodes().filter(|&node| cfg.is_branch(node)).all(|branch| {
        let end = postdom.level(end_of(postdom, branch));
        let long = |&target: &Node| postdom.level(target).saturating_sub(end) as usize;
        let long: usize = cfg.successors(branch).iter().map(long).sum();
        let is_enough = long <= left;
        left = left.saturating_sub(long);
        is_enough
    })
}

/// Where the paths of a branch end.
fn end_of(postdom: &PostDomTree, branch: Node) -> Node {
    postdom.ipdom(branch).unwrap_or(postdom.virtual_exit())
}

/// All sources together, path by path.
fn by_paths(cfg: &Cfg, postdom: &PostDomTree, branches: &[(Node, SourceSet)]) -> Vec<SourceSet> {
    let mut result = vec![SourceSet::EMPTY; cfg.node_count()];
    // By branch: sources that have not been carried on.
    let mut waiting = vec![SourceSet::EMPTY; cfg.node_count()];
    for &(branch, sources) in branches {
        waiting[branch.index()] = sources;
    }
    let exit = postdom.virtual_exit();
    // The first comes first: branches further in wait until those around them have been taken.
    let mut pending: Vec<Node> = branches.iter().rev().map(|(branch, _)| *branch).collect();
    while let Some(branch) = pending.pop() {
        let sources = std::mem::take(&mut waiting[branch.index()]);
        if sources.is_empty() {
            continue;
        }
        let end = postdom.level(end_of(postdom, branch));
        for &target in cfg.successors(branch) {
            let mut node = target;
            while node != exit && postdom.level(node) > end {
                let new = sources - result[node.index()];
                if !new.is_empty() {
                    result[node.index()] |= new;
                    if cfg.is_branch(node) {
                        pending.push(node);
                        waiting[node.index()] |= new;
                    }
                }
                node = postdom.ipdom(node).unwrap_or(exit);
            }
        }
    }
    result
}

/// Sources apart, each block once for each.
fn by_forest(cfg: &Cfg, postdom: &PostDomTree, branches: &[(Node, SourceSet)]) -> Vec<SourceSet> {
    let mut result = vec![SourceSet::EMPTY; cfg.node_count()];
    let mut pending: Vec<Node> = Vec::new();
    let mut queued = BitSet::new(cfg.node_count());
    for source in together(branches) {
        let mut walk = Walk::new(cfg, postdom);
        queued.clear();
        for (node, _) in branches.iter().filter(|(_, sources)| sources.contains(source)) {
            queued.insert(node.index());
            pending.push(*node);
        }
        while let Some(branch) = pending.pop() {
            walk.edges_of(branch, &mut |node| {
                result[node.index()] |= source;
                if cfg.is_branch(node) && queued.insert(node.index()) {
                    pending.push(node);
                }
            });
        }
    }
    result
}

/// The sources of branches, those in one set that no branch has without the others: what depends on
/// one of them depends on all.
fn together(branches: &[(Node, SourceSet)]) -> Vec<SourceSet> {
    let mut groups: Vec<SourceSet> = Vec::new();
    let (mut all, mut last) = (SourceSet::EMPTY, SourceSet::EMPTY);
    for &(_, sources) in branches {
        // Most are like the one before.
        if sources == last {
            continue;
        }
        last = sources;
        for at in 0..groups.len() {
            let (with, without) = (groups[at] & sources, groups[at] - sources);
            if !with.is_empty() && !without.is_empty() {
                groups[at] = with;
                groups.push(without);
            }
        }
        if !(sources - all).is_empty() {
            groups.push(sources - all);
            all |= sources;
        }
    }
    groups
}

/// Finds control-dependent blocks, each once.
pub(crate) struct Walk<'a> {
    cfg: &'a Cfg,
    postdom: &'a PostDomTree,
    /// Disjoint-set forest: an unmarked node leads to itself, a marked one towards its parent in
    /// the tree.
    next: Vec<u32>,
}

impl<'a> Walk<'a> {
    /// Nothing is marked yet.
    pub(crate) fn new(cfg: &'a Cfg, postdom: &'a PostDomTree) -> Self {
        Self { cfg, postdom, next: (0..=cfg.node_count() as u32).collect() }
    }

    /// Visits, and marks, the unmarked blocks that are control dependent on an edge of `branch`.
    pub(crate) fn edges_of(&mut self, branch: Node, visit: &mut impl FnMut(Node)) {
        let exit = self.postdom.virtual_exit();
        let end_level = self.postdom.level(end_of(self.postdom, branch));
        for &target in self.cfg.successors(branch) {
            let mut node = self.find(target);
            while node != exit && self.postdom.level(node) > end_level {
                visit(node);
                let parent = self.postdom.ipdom(node).unwrap_or(exit);
                self.next[node.index()] = parent.raw();
                node = self.find(parent);
            }
        }
    }

    /// The nearest unmarked ancestor, itself included, with path halving.
    fn find(&mut self, node: Node) -> Node {
        let mut at = node.raw();
        while self.next[at as usize] != at {
            let parent = self.next[at as usize];
            self.next[at as usize] = self.next[parent as usize];
            at = self.next[at as usize];
        }
        Node::from_raw(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cfg(lists: &[&[u32]]) -> Cfg {
        Cfg::new(
            Node::from_raw(0),
            lists.iter().map(|list| list.iter().map(|&n| Node::from_raw(n))),
        )
    }

    /// The definition: some path from a successor reaches `block` in all cases, another branch
    /// direction avoids it.
    fn twin(cfg: &Cfg, postdom: &PostDomTree, terminators: &[SourceSet]) -> Vec<SourceSet> {
        let depends = |block: Node, branch: Node| {
            let successors = cfg.successors(branch);
            successors.iter().any(|&s| postdom.post_dominates(block, s))
                && !postdom.strictly_post_dominates(block, branch)
        };
        let mut result = vec![SourceSet::EMPTY; cfg.node_count()];
        loop {
            let before = result.clone();
            for block in cfg.nodes() {
                for branch in cfg.nodes().filter(|&branch| cfg.is_branch(branch)) {
                    if depends(block, branch) {
                        let sources = terminators[branch.index()] | before[branch.index()];
                        result[block.index()] |= sources;
                    }
                }
            }
            if result == before {
                return result;
            }
        }
    }

    #[test]
    fn blocks_of_an_if_depend_on_it_and_the_join_does_not() {
        let graph = cfg(&[&[1, 2], &[3], &[3], &[]]);
        let mut terminators = vec![SourceSet::EMPTY; 4];
        terminators[0] = SourceSet::X;
        let found = control_divergence(&graph, &PostDomTree::new(&graph), &terminators.into());
        let expected = [SourceSet::EMPTY, SourceSet::X, SourceSet::X, SourceSet::EMPTY];
        assert_eq!(found, expected.to_vec().into());
    }

    #[test]
    fn paths_are_long_in_deep_nests() {
        let is_short = |graph: &Cfg| are_paths_short(graph, &PostDomTree::new(graph));
        // Loops in each other, each tested at its end: all that is further in depends on each test.
        let nest = |depth: u32| -> Vec<Vec<u32>> {
            let heads = (0..depth).map(|at| vec![at + 1]);
            let tests = (0..depth).map(|at| vec![depth - 1 - at, depth + at + 1]);
            heads.chain(tests).chain([vec![]]).collect()
        };
        let graph = |depth| {
            let lists = nest(depth);
            cfg(&lists.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        assert!(is_short(&graph(3)) && !is_short(&graph(60)));
    }

    #[test]
    fn sources_that_come_together_are_one() {
        let (x, y, z) = (SourceSet::X, SourceSet::Y, SourceSet::Z);
        let groups = |sets: &[SourceSet]| {
            together(&sets.iter().map(|&sources| (Node::from_raw(0), sources)).collect::<Vec<_>>())
        };
        assert_eq!(groups(&[x | y, x | y | z, z]), [x | y, z]);
        assert_eq!(groups(&[x | y, y | z]), [y, x, z]);
        assert_eq!(groups(&[]), []);
    }

    #[test]
    fn a_loop_depends_on_its_exit() {
        let graph = cfg(&[&[1], &[2], &[1, 3], &[]]);
        let mut terminators = vec![SourceSet::EMPTY; 4];
        terminators[2] = SourceSet::Y;
        let found = control_divergence(&graph, &PostDomTree::new(&graph), &terminators.into());
        let expected = [SourceSet::EMPTY, SourceSet::Y, SourceSet::Y, SourceSet::EMPTY];
        assert_eq!(found, expected.to_vec().into());
    }

    #[test]
    fn equals_the_definition_on_random_graphs() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..2000 {
            let n = 2 + random(10);
            let lists: Vec<Vec<u32>> = (0..n)
                .map(|_| (0..random(3)).map(|_| 1 + random(n - 1) as u32).collect())
                .collect();
            let lists: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
            let graph = cfg(&lists);
            let postdom = PostDomTree::new(&graph);
            let terminators: Vec<SourceSet> = graph
                .nodes()
                .map(|node| match graph.is_branch(node) {
                    true => SourceSet::from_bits(random(8) as u16),
                    false => SourceSet::EMPTY,
                })
                .collect();
            let expected = twin(&graph, &postdom, &terminators);
            let branches: Vec<(Node, SourceSet)> =
                graph.nodes().zip(terminators.iter().copied()).collect();
            assert_eq!(by_paths(&graph, &postdom, &branches), expected, "{lists:?}");
            assert_eq!(by_forest(&graph, &postdom, &branches), expected, "{lists:?}");
            let found = control_divergence(&graph, &postdom, &terminators.into());
            assert_eq!(found, expected.into(), "{lists:?}");
        }
    }
}
