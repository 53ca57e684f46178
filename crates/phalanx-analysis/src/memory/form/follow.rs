//! How the [form](super) follows edits of instructions.
//!
//! # What
//!
//! The form follows from what each instruction does, from the order of those that do anything in each block, and from the graph. So with the same graph
//!
//! - only the rows of blocks change in which an instruction does something else than before, comes, goes or moves. Of the others in such a block it is known what they do;
//! - the other level changes for a variable only if one of these blocks begins to use or define it or ceases to. It is found again then, and is often what it was.
//!
//! An instruction of which the same is known as before, and that stands where it stood among those that do anything ([`place`](crate::memory::place)),
//! costs no look at its block.
//!
//! **Complexity.** O(changed instructions, length of the blocks in which something is otherwise), and O(blocks + edges) for each variable of which the second level
//! may be otherwise. Copying tables: see [`pages`](crate::memory::pages).

use std::sync::Arc;

use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::{
    Body, InstId,
    flow::{block_of, node_of},
};
use rustc_hash::FxHashMap;

use super::{
    Does, Form, Place,
    joins::{Graph, Joins},
    number, placed,
    rows::{Page, bits},
};
use crate::memory::{place::neighbours, ssa::Pruning};

/// Of how many instructions of a block it is looked at where they stand before the block is looked at as a whole.
const FEW: usize = 8;

/// An instruction that may do something else than before.
#[derive(Clone, Copy, Debug)]
pub(in crate::memory) struct Look {
    pub(in crate::memory) inst: InstId,
    /// What it does; nothing if it is in no block, or in one whose touches are not wanted.
    pub(in crate::memory) does: Does,
}

impl Form {
    /// The form after some instructions were inserted, removed, moved or changed; none if it is the same. The graph is that of before. `looked` has all
    /// of these, and may have others.
    pub(in crate::memory) fn follow(
        &self,
        body: &Body,
        graph: (&Cfg, &DomTree),
        looked: &[Look],
    ) -> Option<Self> {
        let blocks = self.otherwise(body, looked);
        if blocks.is_empty() {
            return None;
        }
        let now: FxHashMap<InstId, Does> = looked.iter().map(|l| (l.inst, l.does)).collect();
        let range = looked.iter().map(|look| number(look.inst));
        let (low, high) = (range.clone().min().unwrap_or(0), range.max().unwrap_or(0));
        let does = |inst: InstId| {
            let is_looked_at = (low..=high).contains(&number(inst));
            let known = if is_looked_at { now.get(&inst).copied() } else { None };
            (inst, known.unwrap_or_else(|| self.does(inst)))
        };
        let mut otherwise = Does::NOTHING;
        let mut written: Vec<(Node, Page)> = Vec::new();
        for block in blocks {
            let mut page = Page::default();
            let insts = body.block_insts(block_of(block)).map(does);
            let row = page.push(insts, graph.1.is_reachable(block));
            let old = self.rows.of(block);
            if row != old {
                otherwise.uses |= row.does.uses ^ old.does.uses;
                otherwise.defines |= row.does.defines ^ old.does.defines;
                written.push((block, page));
            }
        }
        if written.is_empty() {
            return None;
        }
        let mut form = self.clone();
        form.rows.set(&written);
        // Who is in no row any more; then who is somewhere else in one.
        let is_written =
            |block: u32| written.binary_search_by_key(&block, |(b, _)| b.raw()).is_ok();
        for look in looked {
            if self.place(look.inst).is_some_and(|place| is_written(place.block)) {
                form.places.set(number(look.inst), Place::default());
            }
        }
        for (block, page) in &written {
            for (inst, place) in placed(*block, page.row(0).entries) {
                form.places.set(number(inst), place);
            }
        }
        form.join(graph, otherwise);
        Some(form)
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

    /// Whether the instructions before and behind one in its block that do anything are those that they were, as far as that is easily told.
    fn is_in_place(&self, body: &Body, inst: InstId) -> bool {
        let Some((_, entries, first)) = self.entries(inst) else { return false };
        let own = entries[first..].iter().take_while(|entry| entry.inst == inst).count();
        let before = first.checked_sub(1).map(|at| entries[at].inst);
        let behind = entries.get(first + own).map(|entry| entry.inst);
        neighbours(body, inst, |inst| self.place(inst).is_some()) == Some([before, behind])
    }

    /// Finds the second level again, of variables that some block begins or ceases to use or define.
    fn join(&mut self, graph: (&Cfg, &DomTree), otherwise: Does) {
        let (matters, pruning) = match self.is_pruned {
            true => (otherwise.uses | otherwise.defines, Pruning::Live),
            false => (otherwise.defines, Pruning::None),
        };
        let mut graph = Graph::new(graph);
        for variable in bits(matters) {
            let joins = Joins::new(&mut graph, &self.rows, variable, pruning);
            let old = &mut self.joins[usize::from(variable)];
            if **old != joins {
                *old = Arc::new(joins);
            }
        }
    }
}
