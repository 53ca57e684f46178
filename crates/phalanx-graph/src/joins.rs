//! Where threads that part at a branch join again on a machine that reconverges at post-dominators
//! (with a stack of execution masks).
//!
//! Two models say which threads are together, see `docs/semantics.md`: [`Reconvergence::Maximal`],
//! by rounds of cycles, and [`Reconvergence::PostDominator`], by the immediate post-dominators of
//! branches. [`Joins`] computes the join blocks of the second model:
//!
//! ```text
//!      D            threads that part at D join at J;
//!     / \           A and B are the *region* of D: threads are apart there
//!    A   B ---> U   U ends in `unreachable`: no thread returns from U, so D still joins at J
//!     \ /
//!      J
//! ```
//!
//! A block is *doomed* if every path from it ends, without a cycle, in a block that ends in
//! `unreachable`. Edges from other blocks to doomed ones are removed before post-dominators are
//! computed. An endless loop counts as a way out of the function ([`PostDomTree`] says on which
//! block of it). A side that may end in such a loop therefore moves the join to the end of the
//! function.
//!
//! # Which threads come apart
//!
//! - A block is *parted* by a divergent branch if two sides of the branch lead to it in the region
//!   of the branch. Each side executes the block by itself, though under maximal convergence both
//!   execute it together ([`Joins::parted`]).
//! - A divergent branch *mixes rounds* if it joins in a cycle that can be entered anew between the
//!   branch and the join. Threads that reach the join wait there for threads that make more rounds
//!   first ([`Joins::mixing`]).
//!
//! If no divergent branch mixes rounds, threads that are together under the post-dominator model
//! are also together under maximal convergence. At a block that is not parted both models agree.
//! The proof is in the documentation of `legality` in `phalanx-analysis`.
//!
//! Cost: one post-dominator tree; `parted` and `mixing` O(divergent branches × sides × blocks).

use crate::bitset::BitSet;
use crate::cfg::Cfg;
use crate::cycles::Cycles;
use crate::node::Node;
use crate::postdom::PostDomTree;

/// Which threads of a wave are together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Reconvergence {
    /// Threads that parted are together again as early as cycles allow: LLVM's *maximal
    /// convergence*.
    #[default]
    Maximal,
    /// Threads that part at a branch are together again at its immediate post-dominator.
    PostDominator,
}

/// How many blocks the searches of one query may visit, over all branches.
const WORK: usize = 20_000_000;

/// The query visited more blocks than its limit, so it has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

/// Where threads that part at each block join. See the [module documentation](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joins {
    /// The graph without edges from other blocks to doomed ones.
    cfg: Cfg,
    joins: Vec<Option<Node>>,
    /// Blocks that the entry reaches in this graph.
    reachable: BitSet,
}

impl Joins {
    /// The joins of a graph. `is_unreachable` says which of the blocks without successors end in
    /// `unreachable`.
    #[must_use]
    pub fn new(cfg: &Cfg, is_unreachable: &dyn Fn(Node) -> bool) -> Self {
        let doomed = doomed(cfg, is_unreachable);
        let lists = cfg.nodes().map(|node| {
            let from = doomed.contains(node.index());
            let all = cfg.successors(node).iter().copied();
            all.filter(|to| from || !doomed.contains(to.index())).collect::<Vec<_>>()
        });
        let cfg = Cfg::new(cfg.entry(), lists);
        let tree = PostDomTree::new(&cfg);
        let joins = cfg.nodes().map(|node| tree.ipdom(node)).collect();
        let mut reachable = BitSet::new(cfg.node_count());
        reach(&cfg, [cfg.entry()], None, &mut reachable);
        Joins { cfg, joins, reachable }
    }

    /// The graph without edges from other blocks to doomed ones.
    #[must_use]
    pub fn cfg(&self) -> &Cfg {
        &self.cfg
    }

    /// Where threads that part at a block join; `None` if they join at the end of the function
    /// only.
    #[must_use]
    pub fn of(&self, branch: Node) -> Option<Node> {
        self.joins.get(branch.index()).copied().flatten()
    }

    /// Whether a path leads from `from` to `to` without passing `without`. O(blocks + edges).
    #[must_use]
    pub fn leads(&self, from: Node, without: Option<Node>, to: Node) -> bool {
        let mut reached = BitSet::new(self.cfg.node_count());
        reach(&self.cfg, [from], without, &mut reached);
        reached.contains(to.index())
    }

    /// For each of the given blocks, the first divergent branch that parts it, if there is one.
    ///
    /// # Errors
    /// The graph is too large to tell.
    pub fn parted(
        &self,
        blocks: &[Node],
        is_divergent: &dyn Fn(Node) -> bool,
    ) -> Result<Vec<Option<Node>>, TooLarge> {
        let mut found = vec![None; blocks.len()];
        let mut work = 0;
        for branch in self.divergent(is_divergent) {
            let mut seen = BitSet::new(self.cfg.node_count());
            for side in self.sides(branch) {
                let reached = self.reached([side], self.of(branch), &mut work)?;
                for (at, block) in blocks.iter().enumerate() {
                    if reached.contains(block.index()) && seen.contains(block.index()) {
                        found[at].get_or_insert(branch);
                    }
                }
                reached.iter().for_each(|node| {
                    seen.insert(node);
                });
            }
        }
        Ok(found)
    }

    /// The first divergent branch that mixes rounds of a cycle, and its join.
    ///
    /// # Errors
    /// The graph is too large to tell.
    pub fn mixing(
        &self,
        cycles: &Cycles,
        is_divergent: &dyn Fn(Node) -> bool,
    ) -> Result<Option<(Node, Node)>, TooLarge> {
        let mut work = 0;
        for branch in self.divergent(is_divergent) {
            let Some(join) = self.of(branch) else { continue };
            let Some(inner) = cycles.innermost(join) else { continue };
            let region = self.reached(self.sides(branch), Some(join), &mut work)?;
            let is_entered = |cycle| cycles.entries(cycle).any(|e| region.contains(e.index()));
            if cycles.ancestors(inner).any(is_entered) {
                return Ok(Some((branch, join)));
            }
        }
        Ok(None)
    }

    /// Blocks that are reachable from `from` without passing `without`; counts them into `work`.
    fn reached(
        &self,
        from: impl IntoIterator<Item = Node>,
        without: Option<Node>,
        work: &mut usize,
    ) -> Result<BitSet, TooLarge> {
        let mut reached = BitSet::new(self.cfg.node_count());
        *work += reach(&self.cfg, from, without, &mut reached);
        match *work > WORK {
            true => Err(TooLarge),
            false => Ok(reached),
        }
    }

    fn divergent<'a>(
        &'a self,
        is_divergent: &'a dyn Fn(Node) -> bool,
    ) -> impl Iterator<Item = Node> + 'a {
        let is_reached = |node: Node| self.reachable.contains(node.index());
        let branches = self.cfg.nodes().filter(|&node| self.cfg.is_branch(node));
        branches.filter(move |&node| is_reached(node) && is_divergent(node))
    }

    fn sides(&self, branch: Node) -> Vec<Node> {
        let mut sides = self.cfg.successors(branch).to_vec();
        sides.sort_unstable();
        sides.dedup();
        sides
    }
}

/// Adds the blocks that are reachable from `from` without passing `without`; returns how many are
/// new.
fn reach(
    cfg: &Cfg,
    from: impl IntoIterator<Item = Node>,
    without: Option<Node>,
    reached: &mut BitSet,
) -> usize {
    let mut count = 0;
    let mut pending: Vec<Node> = from.into_iter().collect();
    while let Some(node) = pending.pop() {
        if Some(node) != without && reached.insert(node.index()) {
            count += 1;
            pending.extend(cfg.successors(node));
        }
    }
    count
}

/// Blocks from which every path ends in an `unreachable`, without a cycle. O(blocks + edges).
fn doomed(cfg: &Cfg, is_unreachable: &dyn Fn(Node) -> bool) -> BitSet {
    let mut doomed = BitSet::new(cfg.node_count());
    let mut left: Vec<usize> = cfg.nodes().map(|node| cfg.successors(node).len()).collect();
    let ends = cfg.nodes().filter(|&node| cfg.successors(node).is_empty() && is_unreachable(node));
    let mut pending: Vec<Node> = ends.collect();
    while let Some(node) = pending.pop() {
        doomed.insert(node.index());
        for &from in cfg.predecessors(node) {
            // Both counts include parallel edges.
            left[from.index()] -= 1;
            if left[from.index()] == 0 {
                pending.push(from);
            }
        }
    }
    doomed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(number: usize) -> Node {
        Node::new(number)
    }

    fn graph(edges: &[(usize, usize)]) -> Cfg {
        let nodes = edges.iter().map(|&(a, b)| a.max(b)).max().unwrap_or(0) + 1;
        let to = |from: usize| {
            edges.iter().filter(move |e| e.0 == from).map(|e| n(e.1)).collect::<Vec<_>>()
        };
        Cfg::new(n(0), (0..nodes).map(to))
    }

    fn joins(edges: &[(usize, usize)], unreachable: &[usize]) -> Joins {
        Joins::new(&graph(edges), &|node| unreachable.contains(&node.index()))
    }

    #[test]
    fn an_assertion_does_not_keep_sides_apart() {
        // 1 may trap in 5 by way of 4.
        let edges = [(0, 1), (0, 2), (1, 3), (1, 4), (4, 5), (2, 3)];
        assert_eq!(joins(&edges, &[5]).of(n(0)), Some(n(3)));
        assert_eq!(joins(&edges, &[]).of(n(0)), None, "5 is a return");
    }

    #[test]
    fn an_endless_loop_is_a_way_out() {
        let edges = [(0, 1), (0, 2), (1, 1), (1, 3), (2, 3), (2, 4), (4, 4)];
        assert_eq!(joins(&edges, &[]).of(n(0)), None);
        assert_eq!(joins(&edges, &[]).of(n(1)), Some(n(3)));
    }

    #[test]
    fn two_sides_lead_to_a_block_before_the_join() {
        // 1 and 2 both lead to 3 in the region of 0, which joins at 5.
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5)];
        let joins = joins(&edges, &[]);
        let parted = |divergent: usize| joins.parted(&[n(3), n(4)], &|b| b == n(divergent));
        assert_eq!(parted(0), Ok(vec![Some(n(0)), None]));
        assert_eq!(parted(2), Ok(vec![None, None]));
    }

    #[test]
    fn rounds_are_mixed_where_a_branch_goes_round() {
        // 1 is the header; 2 starts the next round or goes to 3; all threads come to 4 in the end.
        let edges = [(0, 1), (1, 2), (2, 1), (2, 3), (3, 1), (3, 4)];
        let (cfg, joins) = (graph(&edges), joins(&edges, &[]));
        let cycles = Cycles::new(&cfg);
        assert_eq!(joins.mixing(&cycles, &|b| b == n(2)), Ok(Some((n(2), n(3)))));
        assert_eq!(joins.mixing(&cycles, &|b| b == n(3)), Ok(None), "it joins behind the cycle");
    }
}
