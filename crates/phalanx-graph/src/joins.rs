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

/// Blocks that are reached from all branches together.
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
        let mut search = Search::new(&cfg);
        search.from([cfg.entry()], None);
        let reachable = search.reached;
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
        let mut search = Search::new(&self.cfg);
        search.from([from], without);
        search.has_reached(to)
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
        let mut parted_by: Vec<Option<Node>> = vec![None; self.cfg.node_count()];
        let mut search = Search::new(&self.cfg);
        let mut seen = BitSet::new(self.cfg.node_count());
        let mut all: Vec<Node> = Vec::new();
        for branch in self.divergent(is_divergent) {
            for side in self.sides(branch) {
                for &node in search.from([side], self.of(branch)) {
                    match seen.insert(node.index()) {
                        true => all.push(node),
                        false => _ = parted_by[node.index()].get_or_insert(branch),
                    }
                }
                search.check()?;
            }
            for node in all.drain(..) {
                seen.remove(node.index());
            }
        }
        Ok(blocks.iter().map(|block| parted_by[block.index()]).collect())
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
        let mut search = Search::new(&self.cfg);
        for branch in self.divergent(is_divergent) {
            let Some(join) = self.of(branch) else { continue };
            let Some(inner) = cycles.innermost(join) else { continue };
            search.from(self.sides(branch), Some(join));
            search.check()?;
            let is_entered = |cycle| cycles.entries(cycle).any(|e| search.has_reached(e));
            if cycles.ancestors(inner).any(is_entered) {
                return Ok(Some((branch, join)));
            }
        }
        Ok(None)
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

/// Searches one after the other, each of which costs what it reaches.
struct Search<'a> {
    cfg: &'a Cfg,
    /// What the last search has reached.
    nodes: Vec<Node>,
    reached: BitSet,
    /// Of all searches.
    work: usize,
}

impl<'a> Search<'a> {
    fn new(cfg: &'a Cfg) -> Self {
        Search { cfg, nodes: Vec::new(), reached: BitSet::new(cfg.node_count()), work: 0 }
    }

    /// Blocks on ways from some that do not pass another.
    fn from(&mut self, from: impl IntoIterator<Item = Node>, without: Option<Node>) -> &[Node] {
        for node in self.nodes.drain(..) {
            self.reached.remove(node.index());
        }
        let mut pending: Vec<Node> = from.into_iter().collect();
        while let Some(node) = pending.pop() {
            if Some(node) != without && self.reached.insert(node.index()) {
                self.nodes.push(node);
                pending.extend(self.cfg.successors(node));
            }
        }
        self.work += self.nodes.len();
        &self.nodes
    }

    fn check(&self) -> Result<(), TooLarge> {
        if self.work > WORK { Err(TooLarge) } else { Ok(()) }
    }

    fn has_reached(&self, node: Node) -> bool {
        self.reached.contains(node.index())
    }
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
