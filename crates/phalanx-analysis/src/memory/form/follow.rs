//! How the [form](super) follows edits.
//!
//! # What
//!
//! The form follows from what each instruction does, from the order of those that do anything in
//! each block, and from the graph. So with the same graph
//!
//! - only the rows of blocks change in which an instruction does something else than before, comes,
//!   goes or moves. Of the others in such a block it is known what they do;
//! - the other level changes for a variable only if one of these blocks begins to use or define it
//!   or ceases to.
//!
//! An instruction of which the same is known as before, and that stands where it stood among those
//! that do anything ([`place`](crate::memory::place)), costs no look at its block.
//!
//! With another graph the rows of the blocks that the edit tells of are put together anew, whatever
//! is known of their instructions: what a row says also depends on whether its block can be
//! reached. The other level is looked at for each variable. It is [repaired](super::joins) either
//! way, and often is what it was; where a good part of the blocks is another, it is made anew.
//!
//! **Complexity.** O(changed instructions, length of the blocks in which something is otherwise),
//! and for each variable of which the second level may be otherwise what its repair costs; with
//! another graph O(blocks) besides, to compare dominator trees. Copying tables: see
//! [`pages`](crate::memory::pages).

use std::sync::Arc;

use phalanx_graph::Node;
use phalanx_ir::{
    BlockId, Body, InstId,
    flow::{block_of, node_of},
};
use rustc_hash::FxHashMap;

use super::{
    Does, Form, Graphs, Place,
    change::Change,
    joins::{Graph, Joins},
    number, placed,
    rows::{Page, Rows},
};
use crate::memory::{Followed, place::neighbours, ssa::Pruning};
use crate::policy::most_blocks;

/// Of how many instructions of a block it is looked at where they stand before the block is looked
/// at as a whole.
const FEW: usize = 8;

/// An instruction that may do something else than before.
#[derive(Clone, Copy, Debug)]
pub(in crate::memory) struct Look {
    pub(in crate::memory) inst: InstId,
    /// What it does; nothing if it is in no block, or in one whose touches are not wanted.
    pub(in crate::memory) does: Does,
}

impl Form {
    /// The form after some instructions were inserted, removed, moved or changed, and `blocks` as
    /// in [`Edited`](crate::edited::Edited). `looked` has all of these instructions, and may have
    /// others.
    pub(in crate::memory) fn follow(
        &self,
        body: &Body,
        graphs: Graphs<'_>,
        looked: &[Look],
        blocks: Option<&[BlockId]>,
    ) -> Followed<Self> {
        let Some(mut change) = Change::new(graphs, blocks) else { return Followed::Unknown };
        let count = graphs.now.0.node_count();
        let mut others = self.otherwise(body, looked);
        others.extend_from_slice(&change.blocks);
        others.sort_unstable();
        others.dedup();
        let written = self.written(body, &change, looked, &others);
        let mut form = self.clone();
        if !written.is_empty() || count != self.rows.len() {
            form.rows.set(&written, count);
        }
        // Who is in no row any more; then who is somewhere else in one.
        let is_written =
            |block: u32| written.binary_search_by_key(&block, |(b, _)| b.raw()).is_ok();
        for look in looked {
            if self.place(look.inst).is_some_and(|place| is_written(place.block)) {
                form.places.set(number(look.inst), Place::default());
            }
        }
        let mut otherwise = Does::NOTHING;
        for (block, page) in &written {
            let (old, new) = (self.rows.of(*block).does, page.row(0).does);
            otherwise.uses |= old.uses ^ new.uses;
            otherwise.defines |= old.defines ^ new.defines;
            for (inst, place) in placed(*block, page.row(0).entries) {
                form.places.set(number(inst), place);
            }
        }
        let rows: Vec<Node> = written.iter().map(|(block, _)| *block).collect();
        change.note(&rows);
        let has_joined = form.join(&change, &self.rows, otherwise);
        match written.is_empty() && count == self.rows.len() && !has_joined {
            true => Followed::Same,
            false => Followed::Other(form),
        }
    }

    /// The rows of some blocks that are not what they were, in order.
    fn written(
        &self,
        body: &Body,
        change: &Change<'_>,
        looked: &[Look],
        blocks: &[Node],
    ) -> Vec<(Node, Page)> {
        if blocks.is_empty() {
            return Vec::new();
        }
        let now: FxHashMap<InstId, Does> = looked.iter().map(|l| (l.inst, l.does)).collect();
        let range = looked.iter().map(|look| number(look.inst));
        let (low, high) = (range.clone().min().unwrap_or(0), range.max().unwrap_or(0));
        let does = |inst: InstId| {
            let is_looked_at = (low..=high).contains(&number(inst));
            let known = if is_looked_at { now.get(&inst).copied() } else { None };
            (inst, known.unwrap_or_else(|| self.does(inst)))
        };
        let written = blocks.iter().filter_map(|&block| {
            let mut page = Page::default();
            let insts = body.block_insts(block_of(block)).map(does);
            let row = page.push(insts, change.is_reachable(block));
            (row != self.rows.of(block)).then_some((block, page))
        });
        written.collect()
    }

    /// Blocks in which something may be otherwise, in order.
    fn otherwise(&self, body: &Body, looked: &[Look]) -> Vec<Node> {
        let (mut blocks, mut unmoved) = (Vec::new(), Vec::new());
        for look in looked {
            let before = self.place(look.inst).map(|place| Node::from_raw(place.block));
            let now = body.block_of(look.inst).map(node_of).filter(|_| look.does != Does::NOTHING);
            match before {
                Some(block) if before == now && self.does(look.inst) == look.does => {
                    unmoved.push((block, look.inst));
                }
                _ => blocks.extend(before.into_iter().chain(now)),
            }
        }
        // They may have been moved within their block.
        unmoved.sort_unstable();
        unmoved.dedup();
        let in_block = unmoved.chunk_by(|a, b| a.0 == b.0);
        let is_in_place = |insts: &[(Node, InstId)]| {
            insts.len() <= FEW && insts.iter().all(|&(_, inst)| self.is_in_place(body, inst))
        };
        blocks.extend(in_block.filter(|insts| !is_in_place(insts)).map(|insts| insts[0].0));
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    /// Whether the instructions before and behind one in its block that do anything are those that
    /// they were, as far as that is easily told.
    fn is_in_place(&self, body: &Body, inst: InstId) -> bool {
        let Some((_, entries, first)) = self.entries(inst) else { return false };
        let own = entries[first..].iter().take_while(|entry| entry.inst == inst).count();
        let before = first.checked_sub(1).map(|at| entries[at].inst);
        let behind = entries.get(first + own).map(|entry| entry.inst);
        neighbours(body, inst, |inst| self.place(inst).is_some()) == Some([before, behind])
    }

    /// Brings the second level up to date, of all variables with another graph, else of those that
    /// some block begins or ceases to use or define; whether it is another one.
    fn join(&mut self, change: &Change<'_>, before: &Rows, otherwise: Does) -> bool {
        let (matters, pruning) = match self.is_pruned {
            true => (otherwise.uses | otherwise.defines, Pruning::Live),
            false => (otherwise.defines, Pruning::None),
        };
        let mut graph = Graph::new(change.now);
        let mut has_joined = false;
        for (variable, old) in (0..).zip(&mut self.joins) {
            if change.is_same_graph && matters >> variable & 1 == 0 {
                continue;
            }
            let rows = [before, &self.rows];
            let is_few = change.blocks.len() <= most_blocks(self.rows.len());
            let joins = is_few.then(|| old.follow(change, rows, (variable, pruning))).flatten();
            let joins =
                joins.unwrap_or_else(|| Joins::new(&mut graph, &self.rows, variable, pruning));
            if **old != joins {
                *old = Arc::new(joins);
                has_joined = true;
            }
        }
        has_joined
    }
}
