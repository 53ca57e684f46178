//! Two ways from a branch to a phi on which it gets different values.
//!
//! The first is a shortest one; the second keeps off the blocks of the first, if there is such a
//! way, and else begins with another successor of the branch at least. Every order of the two is
//! tried before giving that up. Breadth first, O(blocks + edges) per try, at most 16 tries.

use std::collections::VecDeque;

use phalanx_graph::{Cfg, Node};

use crate::affect::Value;
use crate::divergence::{PhiKey, ValueTable};

/// Successors of the branch that are tried as first steps.
const FIRST_STEPS: usize = 4;

/// Ways from the end of `branch` to `phi` that bring different values. Each begins with `branch`
/// and ends with the block of the phi.
pub(super) fn ways(
    cfg: &Cfg,
    table: &ValueTable,
    branch: Node,
    phi: Value,
) -> Option<[Vec<Node>; 2]> {
    let block = table.block(phi);
    let incoming = table.phis(block).find(|p| p.value == phi)?.incoming;
    let search = Search { cfg, branch, block };
    let mut keys: Vec<PhiKey> =
        incoming.iter().map(|entry| entry.key).filter(|&key| key != PhiKey::UNDEF).collect();
    keys.sort_unstable();
    keys.dedup();
    // Only values that a way from the branch brings count.
    let reached = search.reached();
    let is_reached = |pred: Node| pred == branch || reached[pred.index()];
    let brings = |key: PhiKey| incoming.iter().any(|e| e.key == key && is_reached(e.pred));
    keys.retain(|&key| brings(key));
    let ends = |is_one: bool, key: PhiKey| -> Vec<Node> {
        let of = incoming.iter().filter(|e| e.key != PhiKey::UNDEF && (e.key == key) == is_one);
        of.map(|entry| entry.pred).collect()
    };
    let mut fallback = None;
    for &key in keys.iter().take(2) {
        let (one, other) = (ends(true, key), ends(false, key));
        for &first in cfg.successors(branch).iter().take(FIRST_STEPS) {
            let Some(way) = search.way(&[], |s| s == first, &one) else { continue };
            let inner = &way[1..way.len() - 1];
            if let Some(second) = search.way(inner, |s| s != first || s == block, &other) {
                return Some([way, second]);
            }
            if fallback.is_none() {
                fallback =
                    search.way(&[], |s| s != first, &other).map(|second| [way.clone(), second]);
            }
        }
    }
    fallback
}

struct Search<'a> {
    cfg: &'a Cfg,
    branch: Node,
    block: Node,
}

impl Search<'_> {
    /// Blocks that are reached from the branch without passing the block of the phi.
    fn reached(&self) -> Vec<bool> {
        let mut reached = vec![false; self.cfg.node_count()];
        let mut work = vec![self.branch];
        while let Some(at) = work.pop() {
            for &next in self.cfg.successors(at) {
                if next != self.block && !std::mem::replace(&mut reached[next.index()], true) {
                    work.push(next);
                }
            }
        }
        reached
    }

    /// A shortest way from the branch over a first step as wanted to one of the predecessors
    /// `ends`, and from there to the block.
    fn way(
        &self,
        avoided: &[Node],
        is_first: impl Fn(Node) -> bool,
        ends: &[Node],
    ) -> Option<Vec<Node>> {
        let direct = self.cfg.successors(self.branch).contains(&self.block)
            && is_first(self.block)
            && ends.contains(&self.branch);
        if direct {
            return Some(vec![self.branch, self.block]);
        }
        const UNSEEN: u32 = u32::MAX;
        let mut from = vec![UNSEEN; self.cfg.node_count()];
        for &node in avoided {
            from[node.index()] = node.raw();
        }
        let mut work = VecDeque::new();
        for &next in self.cfg.successors(self.branch) {
            if is_first(next) && next != self.block && from[next.index()] == UNSEEN {
                from[next.index()] = self.branch.raw();
                work.push_back(next);
            }
        }
        while let Some(at) = work.pop_front() {
            if ends.contains(&at) && self.cfg.successors(at).contains(&self.block) {
                let mut way = vec![self.block, at];
                let mut back = at;
                // The branch itself can be on the way, when threads come round; the first step is
                // where the way began.
                while way.len() <= self.cfg.node_count() + 1 {
                    back = Node::from_raw(from[back.index()]);
                    way.push(back);
                    if back == self.branch {
                        break;
                    }
                }
                way.reverse();
                return Some(way);
            }
            for &next in self.cfg.successors(at) {
                if next != self.block && next != self.branch && from[next.index()] == UNSEEN {
                    from[next.index()] = at.raw();
                    work.push_back(next);
                }
            }
        }
        None
    }
}
