//! Ways through the graph, looked for no further than they can lead.
//!
//! # Why
//!
//! Whether a way leads from a branch to an operation behind it is a question about a few blocks,
//! but who just walks on from the branch walks to the end of the function where the answer is no. A
//! function into which a thousand kernels were inlined has a thousand such questions.
//!
//! # How
//!
//! - **Dominators.** Take a block `x` and another, `t`, that it does not dominate, and on the way
//!   from `x` up the dominator tree the last block `y` that does not dominate `t`. Some way from
//!   the entry to `t` avoids `y` and no way to `x` does, so all ways from `t` to `x` lead through
//!   `y`, and from there one does. So `t` reaches `x` if it reaches `y`: the block where what `t`
//!   lies in is over, as a rule, however far `x` is.
//! - **Order.** Take the blocks that lie in no cycle, and each cycle that lies in no other as one
//!   block: what remains has no cycle, and the order in which a depth-first search leaves blocks
//!   for the last time, turned around, is one in which all edges lead forwards. So a way to a block
//!   never leads behind it, and is not followed there.
//!
//! Both hold as well among the blocks and nested cycles of a reducible cycle, of ways that do not
//! pass its header again: it dominates all others, and each search comes to it first. A cycle with
//! several entries has no such order, and neither has a block in one: there ways are followed to
//! their end.
//!
//! **Complexity.** O(blocks + edges) between `t` and `y`, in the order of the search, × O(log
//! depth); and the difference of their levels in the dominator tree.

use phalanx_graph::{Cfg, CycleId, Cycles, Dfs, DomTree, Node};
use phalanx_ir::{Opcode, flow::block_of};
use rustc_hash::FxHashSet;

use super::Facts;
use crate::code::Code;

/// Whether a block is nothing but `unreachable`: what a thread does that comes there is undefined,
/// so none does, in a program that means anything. As an end of the function it would have each
/// branch towards it decide whether anything behind is executed.
#[must_use]
pub fn is_undefined(code: Code<'_>, block: Node) -> bool {
    let first = code.body.block_insts(block_of(block)).next();
    first.is_some_and(|first| code.body.inst(first).opcode == Opcode::Unreachable)
}

/// A graph and what is known of it.
#[derive(Clone, Copy)]
pub(super) struct Ways<'a> {
    cfg: &'a Cfg,
    dfs: &'a Dfs,
    dom: &'a DomTree,
    cycles: &'a Cycles,
}

impl<'a> Facts<'a> {
    /// Ways of threads through the function.
    pub(super) fn ways(&self) -> Ways<'a> {
        let Facts { cfg, dfs, dom, cycles, .. } = *self;
        Ways { cfg, dfs, dom, cycles }
    }
}

impl Ways<'_> {
    /// Whether a way that begins with these blocks leads to one that is wanted; blocks are left
    /// where `goes_on` holds. Each block is asked about once.
    pub(super) fn any(
        &self,
        from: impl IntoIterator<Item = Node>,
        goes_on: impl Fn(Node) -> bool,
        mut is_wanted: impl FnMut(Node) -> bool,
    ) -> bool {
        let mut seen = FxHashSet::default();
        let mut work: Vec<Node> = from.into_iter().collect();
        while let Some(node) = work.pop() {
            if !seen.insert(node) {
                continue;
            }
            if is_wanted(node) {
                return true;
            }
            if goes_on(node) {
                work.extend(self.cfg.successors(node));
            }
        }
        false
    }

    /// Whether a thread that goes from a branch to `target` may come to a block, in the same
    /// iteration of the cycles around both.
    pub(super) fn come(&self, branch: Node, target: Node, block: Node) -> bool {
        let cycles = self.cycles;
        let common = cycles.common(branch, block);
        let header = common.map(|common| cycles.header(common));
        if let Some(common) = common.filter(|&common| cycles.is_reducible(common))
            && header == Some(block)
        {
            // With what is in the header the next round begins, for all that stay.
            return cycles.contains(common, target);
        }
        // Who leaves the cycle, or begins the next round, comes in another iteration if at all.
        if header == Some(target) || !self.is_within(common, target) {
            return false;
        }
        self.reaches(common, target, block)
    }

    /// Whether a way leads from a block to another one with which it shares no cycle.
    pub(super) fn lead(&self, from: Node, to: Node) -> bool {
        debug_assert!(self.cycles.common(from, to).is_none());
        self.reaches(None, from, to)
    }

    /// Whether a way leads from a block to another, neither of which is the header of `common`,
    /// without passing that. It is the innermost cycle around `to` and all that is of interest, if
    /// there is one.
    fn reaches(&self, common: Option<CycleId>, from: Node, to: Node) -> bool {
        let header = common.map(|common| self.cycles.header(common));
        let is_ordered = common.is_none_or(|common| self.cycles.is_reducible(common));
        let to = match is_ordered {
            true if self.dom.dominates(from, to) => return true,
            true => self.first_after(from, to),
            false => to,
        };
        let last = self.position(common, to);
        let goes_on = |at: Node| {
            Some(at) != header
                && self.is_within(common, at)
                && match (self.position(common, at), last) {
                    (Some(at), Some(last)) => at <= last,
                    _ => true,
                }
        };
        self.any([from], goes_on, |at| at == to)
    }

    /// The first block on the way down the dominator tree to `to` that does not dominate `from`;
    /// `to` where there is none.
    fn first_after(&self, from: Node, to: Node) -> Node {
        let mut above = from;
        while !self.dom.dominates(above, to) {
            let Some(next) = self.dom.idom(above) else { return to };
            above = next;
        }
        self.dom.children(above).find(|&below| self.dom.dominates(below, to)).unwrap_or(to)
    }

    /// Whether a way between blocks of a cycle that does not pass its header may come to a block.
    fn is_within(&self, common: Option<CycleId>, at: Node) -> bool {
        common.is_none_or(|common| {
            !self.cycles.is_reducible(common) || self.cycles.contains(common, at)
        })
    }

    /// Where a block is among the blocks and nested cycles of a cycle, or of the function. None
    /// where there is no order.
    fn position(&self, common: Option<CycleId>, at: Node) -> Option<u32> {
        let cycles = self.cycles;
        if common.is_some_and(|common| !cycles.is_reducible(common)) {
            return None;
        }
        let innermost = cycles.innermost(at).filter(|&innermost| Some(innermost) != common);
        let nested = innermost.and_then(|innermost| match common {
            Some(common) => cycles.outermost_without(innermost, cycles.header(common)),
            None => cycles.ancestors(innermost).last(),
        });
        match nested {
            Some(nested) if !cycles.is_reducible(nested) => None,
            Some(nested) => self.dfs.rpo_index(cycles.header(nested)),
            None => self.dfs.rpo_index(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use phalanx_graph::testing::random::{any_graph, structured};

    use super::*;

    /// What is said of ways, word by word: walk on from the target, stay in the cycle, and stop
    /// before the next round.
    fn comes_slowly(cfg: &Cfg, cycles: &Cycles, branch: Node, target: Node, block: Node) -> bool {
        let common = cycles.common(branch, block);
        let is_next_round = |at: Node| common.is_some_and(|common| at == cycles.header(common));
        let is_left = |at: Node| {
            common.is_some_and(|common| cycles.is_reducible(common) && !cycles.contains(common, at))
        };
        if is_next_round(block) && common.is_some_and(|common| cycles.is_reducible(common)) {
            return !is_left(target);
        }
        let mut reached = vec![target];
        let mut at = 0;
        while let Some(&node) = reached.get(at) {
            at += 1;
            if is_left(node) || is_next_round(node) {
                continue;
            }
            for next in cfg.successors(node) {
                if !reached.contains(next) {
                    reached.push(*next);
                }
            }
        }
        reached.contains(&block) && !is_next_round(target) && !is_left(target)
    }

    fn holds(cfg: &Cfg) -> [usize; 2] {
        let (dfs, dom, cycles) = (Dfs::new(cfg), DomTree::new(cfg), Cycles::new(cfg));
        let ways = Ways { cfg, dfs: &dfs, dom: &dom, cycles: &cycles };
        let reached = || cfg.nodes().filter(|&node| dfs.is_reachable(node));
        let mut counts = [0; 2];
        for branch in reached().filter(|&node| cfg.is_branch(node)) {
            for (&target, block) in
                cfg.successors(branch).iter().flat_map(|t| reached().map(move |block| (t, block)))
            {
                let wanted = comes_slowly(cfg, &cycles, branch, target, block);
                let found = ways.come(branch, target, block);
                assert_eq!(found, wanted, "{branch} -> {target}, {block} in {cfg:?}");
                counts[usize::from(found)] += 1;
            }
        }
        for (from, to) in reached().flat_map(|from| reached().map(move |to| (from, to))) {
            if from != to && cycles.common(from, to).is_none() {
                let wanted = ways.any([from], |_| true, |at| at == to);
                assert_eq!(ways.lead(from, to), wanted, "{from} -> {to} in {cfg:?}");
            }
        }
        counts
    }

    #[test]
    fn ways_are_what_a_walk_finds() {
        let mut counts = [0; 2];
        for seed in 0..600 {
            let found = [holds(&any_graph(seed, 16)), holds(&structured(seed, 30))];
            found.iter().flatten().zip([0, 1, 0, 1]).for_each(|(n, of)| counts[of] += n);
        }
        assert!(counts.iter().all(|&count| count > 10_000), "both answers are common: {counts:?}");
    }
}
