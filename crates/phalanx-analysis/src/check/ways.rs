//! Paths through the graph, searched no further than they can matter.
//!
//! # Why
//!
//! Whether a path leads from a branch to an operation behind it is a question about a few blocks.
//! But a plain search from the branch visits all blocks up to the end of the function if the answer
//! is no. A function into which a thousand kernels were inlined has a thousand such questions.
//!
//! # How
//!
//! - **Dominators.** Take a block `x` and a block `t` that `x` does not dominate. On the way from
//!   `x` up the dominator tree, let `y` be the last block that does not dominate `t`. Some path
//!   from the entry to `t` avoids `y`, and no path to `x` does. So all paths from `t` to `x` lead
//!   through `y`, and from `y` a path leads to `x`. Hence `t` reaches `x` exactly if it reaches
//!   `y`. Usually `y` is where the construct around `t` ends, however far `x` is.
//! - **Order.** Contract each outermost cycle to one block. The remaining graph has no cycle, and
//!   in reverse postorder of a depth-first search all its edges lead forwards. So a path to a block
//!   never leads behind the block, and the search does not go there.
//!
//! Both also hold among the blocks and nested cycles of a reducible cycle, for paths that do not
//! pass its header again: the header dominates all others, and each search comes to it first. A
//! cycle with several entries has no such order, and neither has a block in one: there the search
//! visits all blocks that it reaches.
//!
//! **Complexity.** O(blocks + edges) between `t` and `y`, in the order of the search, × O(log
//! depth); and the difference of their levels in the dominator tree.

use phalanx_graph::{Cfg, CycleId, Cycles, Dfs, DomTree, Node};
use phalanx_ir::{Opcode, attributes::AttrKind, flow::block_of, inst::InstFlags};
use rustc_hash::FxHashSet;

use super::Facts;
use crate::code::Code;

/// The blocks in which threads may end or stay for ever: exits, loops of one block without an exit,
/// and blocks that lead only to such a loop. O(blocks).
#[must_use]
pub fn ends(cfg: &Cfg) -> Vec<Node> {
    let is_loop = |node: Node| cfg.successors(node) == [node];
    let is_end = |node: Node| match cfg.successors(node) {
        [] => true,
        &[next] => is_loop(next),
        _ => false,
    };
    cfg.nodes().filter(|&node| is_end(node)).collect()
}

/// Whether a thread that comes to one of the [`ends`] has undefined behaviour, so that none does in
/// a correct program. As an end of the function, such a block would make each branch towards it
/// decide whether anything behind is executed.
///
/// It is nothing but `unreachable`; or it is in, or leads only to, a loop without an exit that
/// others do not notice, in a function that must make progress. Clang leaves such loops behind
/// when it unrolls a loop and knows that none of the copies can be the last one.
#[must_use]
pub fn is_undefined(code: Code<'_>, cfg: &Cfg, end: Node) -> bool {
    match cfg.successors(end) {
        [] => {
            let first = code.body.block_insts(block_of(end)).next();
            first.is_some_and(|first| code.body.inst(first).opcode == Opcode::Unreachable)
        }
        &[next] => {
            let attributes = code.context.function_attrs(code.header.attributes);
            attributes.has(AttrKind::MustProgress)
                && is_unnoticed(code, end)
                && is_unnoticed(code, next)
        }
        _ => false,
    }
}

/// Whether a block has no effect but plain accesses of memory.
fn is_unnoticed(code: Code<'_>, block: Node) -> bool {
    code.body.block_insts(block_of(block)).all(|inst| {
        let data = code.body.inst(inst);
        let is_watched = |flag| data.flags.contains(flag);
        match data.opcode {
            Opcode::Load | Opcode::Store => {
                !is_watched(InstFlags::ATOMIC) && !is_watched(InstFlags::VOLATILE)
            }
            Opcode::AtomicRmw | Opcode::CmpXchg | Opcode::Fence => false,
            opcode => !opcode.is_call(),
        }
    })
}

/// A graph, with facts about it.
#[derive(Clone, Copy)]
pub(super) struct Ways<'a> {
    cfg: &'a Cfg,
    dfs: &'a Dfs,
    dom: &'a DomTree,
    cycles: &'a Cycles,
}

impl<'a> Facts<'a> {
    /// The paths of threads through the function.
    pub(super) fn ways(&self) -> Ways<'a> {
        let Facts { cfg, dfs, dom, cycles, .. } = *self;
        Ways { cfg, dfs, dom, cycles }
    }
}

impl Ways<'_> {
    /// Whether a path from one of these blocks leads to a wanted block; paths continue only from
    /// blocks for which `goes_on` holds. `is_wanted` is called once for each block.
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
            // With the header the next round begins, for all threads that stay.
            return cycles.contains(common, target);
        }
        // A thread that leaves the cycle, or begins the next round, comes in another iteration if
        // at all.
        if header == Some(target) || !self.is_within(common, target) {
            return false;
        }
        self.reaches(common, target, block)
    }

    /// Whether a path leads from a block to another one with which it shares no cycle.
    pub(super) fn lead(&self, from: Node, to: Node) -> bool {
        debug_assert!(self.cycles.common(from, to).is_none());
        self.reaches(None, from, to)
    }

    /// Whether a path leads from one block to another without passing the header of `common`, which
    /// neither of them is. `common` is the innermost cycle that contains `to` and everything else
    /// that matters, if there is one.
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
    /// `to` if there is none.
    fn first_after(&self, from: Node, to: Node) -> Node {
        let mut above = from;
        while !self.dom.dominates(above, to) {
            let Some(next) = self.dom.idom(above) else { return to };
            above = next;
        }
        self.dom.children(above).find(|&below| self.dom.dominates(below, to)).unwrap_or(to)
    }

    /// Whether a path between blocks of a cycle that does not pass its header may come to a block.
    fn is_within(&self, common: Option<CycleId>, at: Node) -> bool {
        common.is_none_or(|common| {
            !self.cycles.is_reducible(common) || self.cycles.contains(common, at)
        })
    }

    /// The position of a block among the blocks and nested cycles of a cycle, or of the function.
    /// None if there is no order.
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

    /// The definition, word by word: walk on from the target, stay in the cycle, and stop before
    /// the next round.
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
