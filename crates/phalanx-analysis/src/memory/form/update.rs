//! Incremental update of the [form](super) after edits.
//!
//! # What
//!
//! The form depends on what each instruction does, on the order of the instructions that touch
//! memory in each block, and on the graph. So if the graph is the same,
//!
//! - only the rows of some blocks change: those in which a touching instruction was inserted,
//!   removed, moved, or changed in what it does. For the other instructions of such a block, the
//!   old row still has what they do;
//! - the second level changes for a variable only if one of these blocks begins or ceases to use or
//!   define it.
//!
//! The update skips the block of an instruction that does the same as before and still stands
//! between the same two accesses ([`place`](crate::memory::place)).
//!
//! If the graph has changed, the update rebuilds the rows of all blocks that the edit lists, since
//! a row also depends on whether its block can be reached. It updates the second level of each
//! variable. That is a [repair](super::joins), which often changes nothing; if many blocks have
//! changed, the second level is computed from scratch.
//!
//! **Complexity.** O(changed instructions + lengths of the changed blocks), and the cost of a
//! repair for each variable whose second level may change. If the graph has changed, O(blocks)
//! besides, to compare dominator trees. Copying tables: see [`pages`](crate::memory::pages).

use std::sync::Arc;

use phalanx_graph::Node;
use phalanx_ir::{
    BlockId, Body, InstId,
    flow::{block_of, node_of},
};
use rustc_hash::FxHashMap;

use super::{
    Does, Entries, Form, Graphs,
    change::Change,
    joins::{Graph, Joins},
    number, placed,
    rows::{Page, Rows},
};
use crate::memory::{UpdatedFact, place::neighbours, ssa::Pruning};
use crate::policy::most_blocks;

/// If more listed instructions of a block are unchanged than this, the update rebuilds the row
/// instead of checking the neighbours of each one.
const FEW: usize = 8;

/// An instruction that may do something else than before.
#[derive(Clone, Copy, Debug)]
pub(in crate::memory) struct Look {
    pub(in crate::memory) inst: InstId,
    /// What it does. Nothing if it is in no block, or if the form leaves out touches of its block.
    pub(in crate::memory) does: Does,
}

impl Form {
    /// The form after an edit. `looked` has all instructions that were inserted, removed, moved or
    /// changed, and may have others. `blocks` is as in [`Edited`](crate::edited::Edited).
    pub(in crate::memory) fn update(
        &self,
        body: &Body,
        graphs: Graphs<'_>,
        looked: &[Look],
        blocks: Option<&[BlockId]>,
    ) -> UpdatedFact<Self> {
        let Some(mut change) = Change::new(graphs, blocks) else { return UpdatedFact::Unknown };
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
        // First the places of instructions that are in no row any more, then those that have moved.
        let is_written =
            |block: u32| written.binary_search_by_key(&block, |(b, _)| b.raw()).is_ok();
        for look in looked {
            if self.place(look.inst).is_some_and(|place| is_written(place.block)) {
                form.places.set(number(look.inst), Entries::default());
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
            true => UpdatedFact::Same,
            false => UpdatedFact::Other(form),
        }
    }

    /// Builds the rows of `blocks`, and returns those that have changed, in order.
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

    /// Blocks whose rows may have changed, in order.
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
        // Instructions that do the same in the same block may have moved within it.
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

    /// Whether the nearest touching instructions before and behind `inst` in its block are the same
    /// as before. Returns false if they are too far away.
    fn is_in_place(&self, body: &Body, inst: InstId) -> bool {
        let Some((_, entries, first)) = self.entries(inst) else { return false };
        let own = entries[first..].iter().take_while(|entry| entry.inst == inst).count();
        let before = first.checked_sub(1).map(|at| entries[at].inst);
        let behind = entries.get(first + own).map(|entry| entry.inst);
        neighbours(body, inst, |inst| self.place(inst).is_some()) == Some([before, behind])
    }

    /// Updates the second level: of all variables if the graph has changed, otherwise of those that
    /// some block begins or ceases to use or define. Returns whether it has changed.
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
            let joins = is_few.then(|| old.update(change, rows, (variable, pruning))).flatten();
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
