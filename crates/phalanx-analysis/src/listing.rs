//! Lists by instruction, in the order of the text, that follow edits of instructions.
//!
//! Instructions that have not changed stand in the same order as before, as long as their blocks do. So the entries of those that are looked at again are
//! taken out, and what these have now is put in, each before the next instruction of its block that is listed, or behind the block.
//!
//! O(entries + blocks), a few steps for each; and for each new entry the instructions between it and the next one that is listed in its block.

use phalanx_graph::BitSet;
use phalanx_ir::{BlockId, InstId, flow::node_of};

use crate::lower::Code;

fn number(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}

/// The list after some instructions have changed, where it was `old`: `look` gives what they have now, in order. None if it is the same.
///
/// Entries of instructions that were removed are only found if these are among `again`.
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
    let rest: Vec<T> = old.iter().filter(stays).cloned().collect();
    if new.is_empty() && rest.len() == old.len() {
        return None;
    }
    let order = Order::new(code, rest.iter().map(inst_of).collect());
    let mut new: Vec<(Place, Vec<T>)> = new
        .into_iter()
        .filter_map(|(inst, found)| Some((order.place(code, inst)?, found)))
        .collect();
    new.sort_by_key(|(place, _)| *place);
    let mut found = Vec::with_capacity(old.len() + new.len());
    let mut rest = rest.into_iter();
    let mut taken = 0;
    for (place, entries) in new {
        found.extend(rest.by_ref().take(place.before - taken));
        taken = place.before;
        found.extend(entries);
    }
    found.extend(rest);
    (found != old).then_some(found)
}

/// Where an entry is put: compared as the text has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place {
    /// The position of the entry of the list before which it stands.
    before: usize,
    block: u32,
    /// Instructions to there, or to the end of the block: the more, the earlier.
    distance: std::cmp::Reverse<usize>,
}

/// What is listed, in order.
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

    /// None for an instruction that stands nowhere.
    fn place(&self, code: Code<'_>, inst: InstId) -> Option<Place> {
        let body = code.body;
        let block = self.rank(Some(body.block_of(inst)?));
        let rank_of = |inst: &InstId| self.rank(body.block_of(*inst));
        let first = self.insts.partition_point(|inst| rank_of(inst) < block);
        let end = first + self.insts[first..].partition_point(|inst| rank_of(inst) <= block);
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
        Some(Place { before, block, distance: std::cmp::Reverse(distance) })
    }
}
