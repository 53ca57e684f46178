//! Incremental update of the versions with which blocks begin.
//!
//! # What
//!
//! An edit may change which blocks define the variable, and it may change the graph ([`Change`]). A
//! block has a phi if versions meet in it: if some reachable predecessor ends with another version
//! than its immediate dominator. The phis are the smallest set that satisfies this for each block,
//! which is the iterated dominance frontier of the definitions. In a larger set, a phi of a loop
//! header could be its own reason, over the back edge.
//!
//! # How
//!
//! Delete and rederive (Gupta and others, *Maintaining Views Incrementally*, 1993):
//!
//! 1. The entry version of a block is *doubted* in two cases: the block has a phi, and its incoming
//!    edges or its immediate dominator changed; or it has no phi, and its immediate dominator now
//!    ends with another version than the block began with. A doubted block loses its phi. If the
//!    block does not define the variable, it now ends with another version: then the phis of its
//!    successors are doubted, and so are the entry versions of the blocks that it dominates
//!    immediately. A phi is *grounded*, and never doubted, if definitions alone justify it, without
//!    other phis. Most phis are.
//! 2. A doubted block begins with the version with which its immediate dominator ends.
//! 3. Three kinds of blocks get a phi if versions meet there: blocks with other incoming edges,
//!    doubted blocks, and successors of blocks that end with another version. A new phi is passed
//!    down the dominator tree, and this step repeats for the blocks behind.
//!
//! # Why that is right
//!
//! The phis that survive the first step belong to the smallest set after the edit. The *level* of a
//! block is its depth in the dominator tree before the edit. A grounded phi belongs to the smallest
//! set. Any other surviving phi had as its reason an edge from `u`, and a block on the way from `u`
//! up to the immediate dominator `d` that ends with a version of its own; let `m` be the lowest
//! such block. `u` is not doubted, or the phi would be, so `m` still is the lowest block above `u`
//! with a version of its own. It is still below `d`: both dominate `u`, and if `m` were above `d`,
//! `d` would end with the version of `m`, with which it did not end before, so `d` would be
//! doubted, and `u` with it, over which the version comes. So `m` is a reason for the phi if it
//! keeps a version of its own in the smallest set. Suppose that some surviving phis were not in the
//! smallest set. Take one of the highest level, and of these the one that a placement from scratch
//! before the edit finds first. The placement found it because of some block above `u` and below
//! `d`: `m`, which was found earlier, or one above `m`, so that `m` has a higher level. Either way
//! `m` keeps its version in the smallest set, so the phi belongs to that set.
//!
//! Start with a part of the smallest set and add phis where versions meet: when no more versions
//! meet, the result is the smallest set, whatever the order. At blocks that the third step does not
//! visit, versions meet only if they met before.
//!
//! Liveness of an unchanged block depends on the changed blocks (with other edges or uses) that
//! paths from it meet first. If each changed block can reach a use exactly if it could before, all
//! old phis are live or dead as before, and the update searches for a use only from new phis.
//! Otherwise, or if such a search exceeds its budget, liveness is computed again for all phis.
//!
//! **Complexity.** O(blocks that are doubted or begin with another version, and their edges), and
//! copies of tables with one word per block. Beyond a bound the update gives up.

use std::cell::Cell;

use phalanx_graph::{BitSet, Cfg, Node};
use rustc_hash::FxHashSet;

use super::{Joins, Start, dropped, push_phi};
use crate::memory::{
    form::{change::Change, rows::Rows},
    ssa::Pruning,
};
use crate::policy::{USE_BLOCKS, most_visits};

impl Joins {
    /// The versions after an edit; `rows` are the rows before and now. `None` if the budget was
    /// exceeded, or if the variable had no definition before and has one now.
    pub(in crate::memory::form) fn update(
        &self,
        change: &Change<'_>,
        rows: [&Rows; 2],
        (variable, pruning): (u8, Pruning),
    ) -> Option<Self> {
        let bit = 1u8 << variable;
        if self.start.is_empty() {
            let defines = |block: &Node| rows[1].of(*block).does.defines & bit != 0;
            return (!change.blocks.iter().any(defines)).then(Self::default);
        }
        let count = rows[1].len();
        let mut new = Self {
            start: Vec::with_capacity(count),
            dropped: self.dropped.clone(),
            defining: self.defining.clone(),
            touched: self.touched.clone(),
            ..Self::default()
        };
        new.start.extend_from_slice(&self.start);
        new.start.resize(count, Start::Entry);
        new.defining.raise(count);
        if pruning == Pruning::Live {
            new.dropped.raise(count);
            new.touched.raise(count);
        }
        // Blocks whose version at the end may change, and blocks whose liveness may change.
        let (mut ends, mut uses) = (Vec::new(), Vec::new());
        for &block in &change.blocks {
            let [before, now] = rows.map(|rows| rows.of(block).does);
            if put(&mut new.defining, block, now.defines & bit != 0) {
                ends.push(block);
            }
            if pruning == Pruning::Live {
                put(&mut new.touched, block, (now.uses | now.defines) & bit != 0);
                if !change.is_same_graph || (before.uses ^ now.uses) & bit != 0 {
                    uses.push(block);
                }
            }
        }
        if new.defining.is_empty() {
            return Some(Self::default());
        }
        let mut repair = Repair {
            change,
            defining: &new.defining,
            start: &mut new.start,
            is_doubted: BitSet::new(count),
            doubted: Vec::new(),
            phis: Vec::new(),
            left: 64 + count + change.now.0.edge_count(),
        };
        repair.doubt_all(&ends)?;
        repair.rederive(&ends)?;
        // Blocks whose phi may be new or gone.
        let mut others = repair.phis;
        others.extend_from_slice(&repair.doubted);
        others.extend_from_slice(&change.gone);
        if pruning == Pruning::Live && !new.drop_dead(change, rows, bit, (&uses, &others)) {
            new.dropped = dropped(change.now.0, &new.start, &rows[1].using(bit));
            new.list_phis(change.now.0);
        } else {
            others.extend_from_slice(&change.entered);
            others.sort_unstable();
            others.dedup();
            new.list_phis_but(self, change.now.0, &others);
        }
        Some(new)
    }

    /// Updates `dropped` for the blocks in `others`, whose phi may be new or gone. `uses` are the
    /// blocks whose uses or edges have changed. Returns false if `dropped` has to be computed for
    /// all blocks: because a block in `uses` became live or dead, or because a search exceeded its
    /// budget.
    fn drop_dead(
        &mut self,
        change: &Change<'_>,
        rows: [&Rows; 2],
        bit: u8,
        (uses, others): (&[Node], &[Node]),
    ) -> bool {
        let left = Cell::new(most_visits(self.start.len()));
        let was_live = |block| is_live((change.before.0, rows[0]), bit, block, &left);
        let is_live = |block| is_live((change.now.0, rows[1]), bit, block, &left);
        for &block in uses {
            // A block on a path to one of these was reachable before and is now, or is in `uses`
            // itself.
            if change.was_reachable(block) && change.is_reachable(block) {
                match (was_live(block), is_live(block)) {
                    (Some(before), Some(now)) if before == now => {}
                    _ => return false,
                }
            }
        }
        for &block in others {
            let has_phi = self.start[block.index()] == Start::Phi(block);
            let is_dead = match has_phi {
                true => is_live(block).map(|is_live| !is_live),
                false => Some(false),
            };
            let Some(is_dead) = is_dead else { return false };
            put(&mut self.dropped, block, is_dead);
        }
        true
    }

    /// Lists the phis: copies those of `old`, except for the blocks in `others` (sorted), which are
    /// checked again.
    fn list_phis_but(&mut self, old: &Self, cfg: &Cfg, others: &[Node]) {
        self.phis.reserve(old.phis.len() + 1);
        self.preds.reserve(old.preds.len() + 8);
        let mut row = Vec::new();
        let mut from = 0;
        let copy = |new: &mut Self, from: usize, to: usize| {
            let end = |at: usize| at.checked_sub(1).map_or(0, |before| old.phis[before].1);
            let (first, shifted) = (end(from), new.preds.len() as u32);
            new.preds.extend_from_slice(&old.preds[first as usize..end(to) as usize]);
            let moved = |&(block, end): &(Node, u32)| (block, end - first + shifted);
            new.phis.extend(old.phis[from..to].iter().map(moved));
        };
        for &block in others {
            let to = from + old.phis[from..].partition_point(|phi| phi.0 < block);
            copy(self, from, to);
            from = to + usize::from(old.phis.get(to).is_some_and(|phi| phi.0 == block));
            let is_kept = self.start[block.index()] == Start::Phi(block)
                && !self.dropped.contains(block.index());
            if is_kept {
                push_phi((&mut self.phis, &mut self.preds), cfg, block, &mut row);
            }
        }
        copy(self, from, old.phis.len());
    }
}

/// Puts a block into a set or takes it out. Returns whether the set has changed.
fn put(set: &mut BitSet, block: Node, is: bool) -> bool {
    match is {
        true => set.insert(block.index()),
        false => set.remove(block.index()),
    }
}

/// Whether a use can be reached from a block. `None` if the search is too long or `left` is used
/// up.
fn is_live((cfg, rows): (&Cfg, &Rows), bit: u8, block: Node, left: &Cell<usize>) -> Option<bool> {
    // Breadth first: a depth-first search may miss a use nearby.
    let mut found = vec![block];
    let mut seen = FxHashSet::from_iter([block]);
    let mut at = 0;
    while let Some(&block) = found.get(at) {
        if rows.of(block).does.uses & bit != 0 {
            return Some(true);
        }
        at += 1;
        left.set(left.get().checked_sub(1)?);
        if at > USE_BLOCKS {
            return None;
        }
        found.extend(cfg.successors(block).iter().filter(|next| seen.insert(**next)));
    }
    Some(false)
}

/// The versions with which blocks begin, during an update.
struct Repair<'a> {
    change: &'a Change<'a>,
    /// Blocks that define the variable now.
    defining: &'a BitSet,
    start: &'a mut [Start],
    is_doubted: BitSet,
    doubted: Vec<Node>,
    /// Blocks that got a phi in this update.
    phis: Vec<Node>,
    /// The remaining budget.
    left: usize,
}

impl Repair<'_> {
    fn has_phi(&self, block: Node) -> bool {
        self.start[block.index()] == Start::Phi(block)
    }

    /// The version with which a block ends.
    fn end(&self, block: Node) -> Start {
        match self.defining.contains(block.index()) {
            true => Start::End(block),
            false => self.start[block.index()],
        }
    }

    fn spend(&mut self, count: usize) -> Option<()> {
        self.left = self.left.checked_sub(count)?;
        Some(())
    }

    /// The blocks whose version at the start depends on the version at the end of `block`:
    /// successors with a phi, and blocks without one that it dominates immediately.
    fn behind(&mut self, block: Node, found: &mut Vec<Node>) -> Option<()> {
        let (cfg, dom) = self.change.now;
        let before = found.len();
        found.extend(cfg.successors(block).iter().copied().filter(|&next| self.has_phi(next)));
        found.extend(dom.children(block).filter(|&below| !self.has_phi(below)));
        self.spend(cfg.successors(block).len() + found.len() - before)
    }

    /// Whether a block has a phi that definitions alone justify: some predecessor ends with the
    /// version of a block below the immediate dominator. If the answer is no because the version of
    /// a predecessor is out of date, that predecessor is or will be doubted, and then this phi is
    /// examined again.
    fn is_grounded(&mut self, block: Node) -> Option<bool> {
        let (cfg, dom) = self.change.now;
        let Some(above) = dom.idom(block).filter(|_| self.has_phi(block)) else {
            return Some(false);
        };
        self.spend(cfg.predecessors(block).len())?;
        let mut preds = cfg.predecessors(block).iter().filter(|pred| dom.is_reachable(**pred));
        Some(preds.any(|&pred| match self.end(pred) {
            Start::End(by) => dom.strictly_dominates(above, by),
            _ => false,
        }))
    }

    /// Doubts these blocks, and the blocks that depend on them.
    fn doubt(&mut self, mut work: Vec<Node>) -> Option<()> {
        while let Some(block) = work.pop() {
            self.spend(1)?;
            if self.is_grounded(block)? || !self.is_doubted.insert(block.index()) {
                continue;
            }
            self.doubted.push(block);
            self.start[block.index()] = Start::Entry;
            if !self.defining.contains(block.index()) {
                self.behind(block, &mut work)?;
            }
        }
        Some(())
    }

    /// The first step. `ends` are the blocks that have begun or ceased to define the variable.
    fn doubt_all(&mut self, ends: &[Node]) -> Option<()> {
        let change = self.change;
        for block in &change.gone {
            self.start[block.index()] = Start::Entry;
        }
        let met = change.entered.iter().chain(&change.moved).copied();
        let mut work: Vec<Node> = met.filter(|&block| self.has_phi(block)).collect();
        for &block in ends.iter().filter(|block| change.is_reachable(**block)) {
            self.behind(block, &mut work)?;
        }
        self.doubt(work)?;
        for &block in &change.moved {
            // The blocks that dominate this one come earlier in the list.
            let Some(above) = change.now.1.idom(block) else { continue };
            let begins = self.end(above);
            if self.has_phi(block) || self.is_doubted.contains(block.index()) {
                continue;
            }
            if !change.was_reachable(block) {
                self.start[block.index()] = begins;
            } else if self.start[block.index()] != begins {
                self.doubt(vec![block])?;
            }
        }
        Some(())
    }

    /// The second and the third step.
    fn rederive(&mut self, ends: &[Node]) -> Option<()> {
        let (cfg, dom) = self.change.now;
        self.doubted.sort_unstable_by_key(|block| dom.tin(*block));
        // A block that only has another immediate dominator needs no visit: if all predecessors end
        // with the same versions as before, so does every block that dominates them all.
        let mut entered = self.change.entered.clone();
        for &block in ends {
            entered.extend_from_slice(cfg.successors(block));
        }
        for &block in &self.doubted {
            let Some(above) = dom.idom(block) else { continue };
            self.start[block.index()] = self.end(above);
            entered.push(block);
            if !self.defining.contains(block.index()) {
                entered.extend_from_slice(cfg.successors(block));
            }
        }
        while let Some(block) = entered.pop() {
            let Some(above) = dom.idom(block).filter(|_| !self.has_phi(block)) else { continue };
            self.spend(cfg.predecessors(block).len())?;
            let begins = self.end(above);
            let mut preds = cfg.predecessors(block).iter().filter(|pred| dom.is_reachable(**pred));
            if preds.any(|&pred| self.end(pred) != begins) {
                self.phis.push(block);
                self.hand_down(block, &mut entered)?;
            }
        }
        Some(())
    }

    /// Gives a block a phi, and this version to all blocks that begin with the same version as the
    /// block. Adds the successors of these blocks to `entered`.
    fn hand_down(&mut self, phi: Node, entered: &mut Vec<Node>) -> Option<()> {
        let (cfg, dom) = self.change.now;
        let mut work = vec![phi];
        while let Some(block) = work.pop() {
            self.start[block.index()] = Start::Phi(phi);
            self.spend(1)?;
            if !self.defining.contains(block.index()) {
                let (next, first) = (cfg.successors(block), work.len());
                entered.extend_from_slice(next);
                work.extend(dom.children(block).filter(|&below| !self.has_phi(below)));
                self.spend(next.len() + work.len() - first)?;
            }
        }
        Some(())
    }
}
