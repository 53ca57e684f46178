//! Which branches a barrier shows to be uniform in each workgroup.
//!
//! # What
//!
//! A barrier of a workgroup that is *aligned* has a meaning only if all threads execute it
//! together. So where a terminator decides whether a thread will execute it, all threads that come
//! to the terminator together decide the same, or the program is wrong. That the program is correct
//! is an assumption of the caller: nothing is inferred unless the caller asks for it.
//!
//! # Definition
//!
//! Let `X` be a block with such a barrier. Two models say which executions are right:
//!
//! - **strict**: all threads of a workgroup execute the same barriers, in the same order;
//! - **lenient**: a thread that has ended does not count: what threads have executed are beginnings
//!   of one list.
//!
//! Of threads of a workgroup that come to the end of `B` together, all or none go to its successor
//! `A` if for some such `X`
//!
//! 1. `X` post-dominates `A`, but does not strictly post-dominate `B`; and if `B` and `X` lie in a
//!    common cycle, the innermost of which has the header `H`, then `X` is not `H`, and no way from
//!    `A` reaches `H` before `X`;
//! 2. no way from any other successor of `B` reaches `X` without passing `H` (at all, if there is
//!    no common cycle);
//! 3. (lenient only) every way from any other successor that leaves the function passes another
//!    such barrier first.
//!
//! The terminator may be taken to be uniform if that holds for all its successors but one.
//!
//! Common cycles that are irreducible, or lie in one that is, prove nothing: which block is the
//! header is a choice.
//!
//! # Why it is sound
//!
//! Two threads that are converged at the end of `B` are in the same iteration of the innermost
//! common cycle. Let one go to `A` and another to `C`. By 1 the first executes `X` in this
//! iteration; by 2 the second does not, after `B`; nor before, since a way from `X` to `B` and back
//! to `X` without `H` would be a smaller common cycle. So their lists of barriers differ in an
//! instance of `X`: wrong in the strict model. In the lenient model the second can have ended
//! before. By 3 it executes a barrier `Y` first, and what the first executes on its way to `X`
//! cannot be reached from `C` in this iteration, for it leads to `X`: so their lists differ in the
//! place of `Y`, and neither is a beginning of the other.
//!
//! Kong's rule, that every branch on which a barrier is control dependent, directly or not, is
//! invariant, does not hold even in the strict model: in `if (tid < 16) if (n > 1000) barrier();`
//! no thread executes the barrier if `n` is small.
//!
//! Calls are taken to return, and loops without a barrier to end.
//!
//! # Complexity
//!
//! For each edge of a branch, the barriers that post-dominate its target are examined, nearest
//! first, until one proves something; each costs two searches, O(blocks + edges). Functions have
//! few barriers; the bound is branches times barriers times size.

use phalanx_graph::{BitSet, Cfg, Cycles, Node, PostDomTree};

/// Which executions of barriers are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierModel {
    /// All threads of a workgroup execute the same barriers.
    Strict,
    /// All that have not ended do.
    Lenient,
    /// Whether they do is what is asked: those that are together have until now. That shows nothing
    /// of branches.
    Judged,
}

/// The blocks whose terminators may be taken to be uniform in a workgroup, in order of their
/// numbers. `barriers` are the blocks with an aligned barrier of all threads of the workgroup.
#[must_use]
pub fn invariant_branches(
    cfg: &Cfg,
    postdom: &PostDomTree,
    cycles: &Cycles,
    barriers: &[Node],
    model: BarrierModel,
) -> Vec<Node> {
    if barriers.is_empty() || model == BarrierModel::Judged {
        return Vec::new();
    }
    let mut has_barrier = BitSet::new(cfg.node_count());
    for barrier in barriers {
        has_barrier.insert(barrier.index());
    }
    let mut rule = Rule {
        cfg,
        postdom,
        cycles,
        has_barrier,
        seen: vec![0; cfg.node_count()],
        time: 0,
        work: Vec::new(),
    };
    cfg.nodes().filter(|&node| cfg.is_branch(node) && rule.is_invariant(node, model)).collect()
}

struct Rule<'a> {
    cfg: &'a Cfg,
    postdom: &'a PostDomTree,
    cycles: &'a Cycles,
    has_barrier: BitSet,
    /// By block: the last search that met it.
    seen: Vec<u32>,
    time: u32,
    work: Vec<Node>,
}

impl Rule<'_> {
    /// Whether all successors but one at most are shown to be taken by all threads or none.
    fn is_invariant(&mut self, branch: Node, model: BarrierModel) -> bool {
        let mut targets: Vec<Node> = self.cfg.successors(branch).to_vec();
        targets.sort_unstable();
        targets.dedup();
        let mut unknown = 0;
        for &first in &targets {
            unknown += usize::from(!self.is_taken_by_all_or_none(branch, first, &targets, model));
            if unknown > 1 {
                return false;
            }
        }
        true
    }

    fn is_taken_by_all_or_none(
        &mut self,
        branch: Node,
        first: Node,
        targets: &[Node],
        model: BarrierModel,
    ) -> bool {
        let postdom = self.postdom;
        let exit = postdom.virtual_exit();
        let end = postdom.level(postdom.ipdom(branch).unwrap_or(exit));
        let others: Vec<Node> = targets.iter().copied().filter(|&s| s != first).collect();
        let mut at = first;
        while at != exit && postdom.level(at) > end {
            if self.has_barrier.contains(at.index())
                && self.decides(branch, first, &others, at)
                && (model == BarrierModel::Strict || !self.can_leave(&others))
            {
                return true;
            }
            at = postdom.ipdom(at).unwrap_or(exit);
        }
        false
    }

    /// Conditions 1 and 2, where the barrier is known to post-dominate `first` and not strictly the
    /// branch.
    fn decides(&mut self, branch: Node, first: Node, others: &[Node], barrier: Node) -> bool {
        let cycles = self.cycles;
        let common = cycles.common(branch, barrier);
        if common.is_some_and(|c| !cycles.is_canonical(c)) {
            return false;
        }
        let header = common.map(|common| cycles.header(common));
        if header == Some(barrier) {
            return false;
        }
        let is_late = header.is_some_and(|header| {
            self.reaches(&[first], |node| node == header, |node| node == barrier)
        });
        !is_late && !self.reaches(others, |node| node == barrier, |node| Some(node) == header)
    }

    /// Whether a way from some of the blocks leaves the function without passing a barrier.
    fn can_leave(&mut self, from: &[Node]) -> bool {
        let (cfg, has_barrier) = (self.cfg, std::mem::take(&mut self.has_barrier));
        let ends =
            |node: Node| cfg.successors(node).is_empty() && !has_barrier.contains(node.index());
        let found = self.reaches(from, ends, |node| has_barrier.contains(node.index()));
        self.has_barrier = has_barrier;
        found
    }

    /// Whether a way from some of the blocks, themselves included, reaches a wanted block before
    /// one that stops it.
    fn reaches(
        &mut self,
        from: &[Node],
        is_wanted: impl Fn(Node) -> bool,
        stops: impl Fn(Node) -> bool,
    ) -> bool {
        self.time += 1;
        self.work.clear();
        self.work.extend(from);
        while let Some(node) = self.work.pop() {
            if std::mem::replace(&mut self.seen[node.index()], self.time) == self.time {
                continue;
            }
            if is_wanted(node) {
                return true;
            }
            if !stops(node) {
                self.work.extend(self.cfg.successors(node));
            }
        }
        false
    }
}
