//! Lists with entries by instruction, in the order of the text, that are updated after edits.
//!
//! Instructions that have not changed stand in the same order as before, as long as their blocks
//! do. So the update takes out the entries of the instructions that are looked at again, and
//! inserts their new entries. Each new entry goes before the next listed instruction of its block,
//! or behind all entries of the block.
//!
//! Where blocks have changed, all listed instructions of these blocks have to be among those that
//! are looked at again: they may be in another block than before.
//!
//! O(entries + blocks), a few steps for each. Each new entry also costs a walk over the
//! instructions between it and the next listed one of its block; a block with many new entries is
//! walked once.

use std::cmp::Reverse;

use phalanx_graph::BitSet;
use phalanx_ir::{BlockId, Body, InstId, flow::node_of};
use rustc_hash::FxHashMap;

use crate::code::Code;

fn number(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}

/// Updates the list `old` after some instructions have changed: `look` returns the present entries
/// of an instruction, in order. None if the list is the same.
///
/// Entries of removed instructions are only taken out if these instructions are among `again`.
#[must_use]
pub fn relisted<T: Clone + PartialEq>(
    code: Code<'_>,
    old: &[T],
    inst_of: impl Fn(&T) -> InstId,
    again: &[InstId],
    mut look: impl FnMut(InstId) -> Vec<T>,
) -> Option<Vec<T>> {
    let mut is_again = BitSet::new(code.body.id_count());
    let mut new: Vec<(InstId, Vec<T>)> = Vec::new();
    for &inst in again {
        if is_again.insert(number(inst)) && code.body.block_of(inst).is_some() {
            let found = look(inst);
            if !found.is_empty() {
                new.push((inst, found));
            }
        }
    }
    let stays = |entry: &&T| !is_again.contains(number(inst_of(entry)));
    // One copy of a long list: it takes the most time.
    let mut rest: Vec<&T> = Vec::with_capacity(old.len());
    rest.extend(old.iter().filter(stays));
    if new.is_empty() && rest.len() == old.len() {
        return None;
    }
    let order = Order::new(code, rest.iter().map(|entry| inst_of(entry)).collect());
    let mut counts: FxHashMap<BlockId, usize> = FxHashMap::default();
    for block in new.iter().filter_map(|(inst, _)| code.body.block_of(*inst)) {
        *counts.entry(block).or_default() += 1;
    }
    let crowded = counts.into_iter().filter(|(_, count)| *count > MANY).map(|(block, _)| block);
    let places: FxHashMap<InstId, Insertion> =
        crowded.flat_map(|block| order.places(code, block)).collect();
    let place = |inst: InstId| places.get(&inst).copied().or_else(|| order.place(code, inst));
    let mut new: Vec<(Insertion, Vec<T>)> =
        new.into_iter().filter_map(|(inst, found)| Some((place(inst)?, found))).collect();
    new.sort_by_key(|(place, _)| *place);
    let mut found = Vec::with_capacity(old.len() + new.len());
    let mut rest = rest.into_iter().cloned();
    let mut taken = 0;
    for (place, entries) in new {
        found.extend(rest.by_ref().take(place.before - taken));
        taken = place.before;
        found.extend(entries);
    }
    found.extend(rest);
    (found != old).then_some(found)
}

/// In a block with more new entries than this, all places are found in one walk.
const MANY: usize = 8;

/// Where an entry is put; ordered as the text is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Insertion {
    /// The position, in the list, of the entry before which the new one stands.
    before: usize,
    block: u32,
    /// How many instructions are between this one and that entry, or the end of the block: the more
    /// there are, the earlier this one stands.
    distance: Reverse<usize>,
}

/// The instructions that stay listed, in order.
struct Order {
    insts: Vec<InstId>,
    is_listed: BitSet,
    /// Position of each block in the text.
    ranks: Vec<u32>,
}

impl Order {
    fn new(code: Code<'_>, insts: Vec<InstId>) -> Self {
        let mut is_listed = BitSet::new(code.body.id_count());
        for &inst in &insts {
            is_listed.insert(number(inst));
        }
        let mut ranks = vec![u32::MAX; code.flow.id_count()];
        for (&block, rank) in code.flow.order().iter().zip(0..) {
            ranks[node_of(block).index()] = rank;
        }
        Order { insts, is_listed, ranks }
    }

    fn rank(&self, block: Option<BlockId>) -> u32 {
        let rank = block.and_then(|block| self.ranks.get(node_of(block).index()));
        rank.copied().unwrap_or(u32::MAX)
    }

    /// The range of the entries of a block: the position of the first one, and one past the last.
    fn range(&self, body: &Body, block: u32) -> (usize, usize) {
        let rank_of = |inst: &InstId| self.rank(body.block_of(*inst));
        let first = self.insts.partition_point(|inst| rank_of(inst) < block);
        let count = self.insts[first..].partition_point(|inst| rank_of(inst) <= block);
        (first, first + count)
    }

    /// The places of all instructions of a block that are not listed.
    fn places(&self, code: Code<'_>, block: BlockId) -> Vec<(InstId, Insertion)> {
        let body = code.body;
        let rank = self.rank(Some(block));
        let (mut before, mut distance) = (self.range(body, rank).1, 0);
        let mut found = Vec::new();
        let mut at = body.last(block);
        while let Some(inst) = at {
            match self.is_listed.contains(number(inst)) {
                true => (before, distance) = (before.saturating_sub(1), 0),
                false => {
                    let place = Insertion { before, block: rank, distance: Reverse(distance) };
                    found.push((inst, place));
                    distance += 1;
                }
            }
            at = body.prev(inst);
        }
        found
    }

    /// The place of an instruction that is not listed. None if the instruction is in no block.
    fn place(&self, code: Code<'_>, inst: InstId) -> Option<Insertion> {
        let body = code.body;
        let block = self.rank(Some(body.block_of(inst)?));
        let (first, end) = self.range(body, block);
        let mut distance = 0;
        let mut at = inst;
        let before = loop {
            match body.next(at) {
                None => break end,
                Some(next) if self.is_listed.contains(number(next)) => {
                    let own = self.insts[first..end].iter();
                    break first + own.take_while(|&&listed| listed != next).count();
                }
                Some(next) => at = next,
            }
            distance += 1;
        };
        Some(Insertion { before, block, distance: Reverse(distance) })
    }
}
