//! How it follows an edit with which version blocks begin.
//!
//! # What
//!
//! After an edit some blocks begin or cease to define the variable, and the graph may be another
//! one ([`Change`]). A block has a phi if versions meet in it: if some predecessor that can be
//! reached ends with another version than its immediate dominator. Phis are the fewest with which
//! that is so of each block and of no other (what is at the iterated dominance frontier of the
//! definitions): a loop does not need one for the sake of its own.
//!
//! # How
//!
//! Delete and rederive (Gupta and others, *Maintaining Views Incrementally*, 1993):
//!
//! 1. The entry version of a block is *doubted* in two cases: the block has a phi, and its incoming
//!    edges or its immediate dominator changed; or it has no phi, and its immediate dominator now
//!    ends with another version than the block began with. A doubted block loses its phi. If the
//!    block does not define the variable, it ends with something else: phis of its successors are
//!    doubted, and what other blocks begin with that it dominates immediately. A phi is not doubted
//!    that a definition is reason enough for, without other phis; most are of that kind.
//! 2. What is doubted begins with what its immediate dominator ends with.
//! 3. Blocks that are entered otherwise, doubted or entered from a block that ends with something
//!    else get a phi if versions meet there, and hand it down; and so on.
//!
//! # Why that is right
//!
//! What is left after the first step is among the fewest. Call the *level* of a block that in the
//! tree of before. A phi that a definition is reason enough for is. Another phi that is left was
//! there because of an edge from `u` and some block that ended the way from `u` up to the immediate
//! dominator `d` with a version of its own; let `m` be the lowest such block. `u` is not doubted,
//! or the phi would be, so `m` still is the lowest block above `u` with a version of its own. It is
//! still below `d`: both dominate `u`, and if `m` were above `d`, `d` would end with the version of
//! `m`, with which it did not end before, so `d` would be doubted, and `u` with it, over which the
//! version comes. So `m` is a reason for the phi if it has a version of its own among the fewest.
//! Suppose some phis that are left were not among them, and take one of the highest level, and of
//! these the one that is found first when phis are placed from scratch before. It was found because
//! of some block above `u` and below `d`: `m`, which was found earlier, or one above `m`, so that
//! `m` has a higher level. Either way `m` is among the fewest, and so is the phi.
//!
//! Adding phis where versions meet to what is among the fewest leads to these, whatever the order,
//! when no more versions meet. Where the third step does not look, no more do than before.
//!
//! Whether a use can be reached from a block where nothing is other depends on where the ways from
//! it first come to a block with other edges or uses. If it can be reached from the same of these
//! as before, all phis that stay are live or dead as they were, and those that have come are
//! followed to the next use; else, or where that is far or often asked, it is found anew for all.
//!
//! **Complexity.** O(blocks that begin with something else or are doubted, and their edges) besides
//! copies of tables, one word by block; up to a bound, beyond which nothing is known.

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
    /// That after an edit; `rows` are those of before and now. None if that would be too much, or
    /// the variable was nowhere defined.
    pub(in crate::memory::form) fn follow(
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
        // Where the version at the end is another one, and where it is another question whether
        // there is a use.
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
        // Those that may have come or gone.
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

    /// Says of some blocks, in which there may be a phi that was not there or the other way round,
    /// whether they have one that is dropped. False if it has to be found of all: that of others
    /// depends on blocks in which uses, or edges, are others, and some of these are live and were
    /// not, or the other way round, or it is far to a use.
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
            // Another block leads to one of these now and did before, or tells itself.
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

    /// Lists phis: as in another list but for those of some blocks, in order.
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

/// Puts a block into a set or takes it out; whether that makes a difference.
fn put(set: &mut BitSet, block: Node, is: bool) -> bool {
    match is {
        true => set.insert(block.index()),
        false => set.remove(block.index()),
    }
}

/// Whether a use can be reached from a block; none if it is too far away, or no more blocks are
/// left to be visited.
fn is_live((cfg, rows): (&Cfg, &Rows), bit: u8, block: Node, left: &Cell<usize>) -> Option<bool> {
    // The nearest come first: who goes deep first may pass by a use that is next to the way.
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

/// The versions with which blocks begin, while they are brought up to date.
struct Repair<'a> {
    change: &'a Change<'a>,
    /// Blocks that define the variable now.
    defining: &'a BitSet,
    start: &'a mut [Start],
    is_doubted: BitSet,
    doubted: Vec<Node>,
    /// Those that have been given a phi.
    phis: Vec<Node>,
    /// How much may still be looked at.
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

    /// Phis of the successors of a block, and blocks without one that it dominates immediately:
    /// they follow from what it ends with.
    fn behind(&mut self, block: Node, found: &mut Vec<Node>) -> Option<()> {
        let (cfg, dom) = self.change.now;
        let before = found.len();
        found.extend(cfg.successors(block).iter().copied().filter(|&next| self.has_phi(next)));
        found.extend(dom.children(block).filter(|&below| !self.has_phi(below)));
        self.spend(cfg.successors(block).len() + found.len() - before)
    }

    /// Whether a block has a phi and needs it whatever phis others have: a definition above some
    /// predecessor is below the immediate dominator. If that does not hold because something else
    /// is above the predecessor than was, that is doubted, or will be, and then the question comes
    /// again.
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

    /// Doubts these, and what follows from them.
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
            // Those above it come first.
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

    /// The other two steps.
    fn rederive(&mut self, ends: &[Node]) -> Option<()> {
        let (cfg, dom) = self.change.now;
        self.doubted.sort_unstable_by_key(|block| dom.tin(*block));
        // Not those that only have another immediate dominator: if all ways to a block end with the
        // same version as before, so does whoever is on all of them.
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

    /// Gives a block a phi, and this to whoever begins with what the block begins with. Blocks are
    /// added that are entered from one of these.
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
