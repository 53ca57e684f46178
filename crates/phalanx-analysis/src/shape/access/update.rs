//! Incremental update of the accesses of a function.
//!
//! # How
//!
//! The retained state has the shapes, and for each value the accesses that read it: an access reads
//! its own instruction, those that compute the address, the indices there, and the atoms of the
//! rest. After an edit of instructions the update [updates the shapes](Shapes::update), and then
//! recomputes the accesses that read
//!
//! - an instruction that has changed or moved,
//! - a value whose form has changed, or
//! - a value whose divergence has changed.
//!
//! | what changed | what happens |
//! |---|---|
//! | nothing that an access reads | the same list is returned |
//! | what some read | these are recomputed, and rows with a changed access are replaced |
//! | an access was inserted, removed or moved | the same; the rows of these blocks are rebuilt |
//! | inputs of the loops, cycles, or where threads are assumed to run apart | from scratch |
//! | the alignment of a variable that was read | from scratch |
//!
//! If an edit changes blocks, the update rebuilds their rows. Apart from that, the answer depends
//! on the graph in two ways: on the cycles that a block is in, and on the number of predecessors of
//! a loop header. So the update requires that the unedited blocks are in the same
//! [cycles](super::nest) as before. All instructions of the edited blocks count as changed. For the
//! loops only instructions count that have changed themselves, if all edited blocks are in one
//! cycle, the same as before. A new or removed edge to a loop header changes the phis there. That
//! does not affect accesses as long as nothing was assumed about these phis and nothing can be
//! assumed now.
//!
//! # Invariants
//!
//! - The answer is that of [`accesses`](super::accesses).
//! - The assumptions about phis hold as long as no instruction and no divergence changes that *any*
//!   round of assumptions has read. A form depends on the instructions that compute it, up to the
//!   phis, and all of these were read. So no form changes that a round has used.
//! - All other inputs are unchanged: the owner of an [`AccessUpdater`] guarantees that.
//! - In unreachable code a value can depend on itself, and then facts depend on the order in which
//!   they are computed. A function with unreachable blocks is not updated incrementally.
//!
//! **Complexity.** O(values whose form changes + their users + accesses that read a change + other
//! accesses of their blocks). If an access is inserted, removed or moved, O(instructions of the
//! block) as well.

use std::sync::Arc;

use phalanx_core::{affect::Value, divergence::Divergence};
use phalanx_graph::{BitSet, Node};
use phalanx_ir::{BlockId, GlobalName, InstId, Opcode, flow::node_of};
use phalanx_target::SourceSet;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Access, Accesses, Facts, Finder,
    lanes::Lanes,
    list::Listed,
    loops::{LoopReads, has_candidates},
    nest::Nest,
    readers::Readers,
};
use crate::{
    code::Numbering,
    edited::Edited,
    memory::order::blocks_behind,
    shape::{ShapeContext, Shapes},
};

/// The result of an incremental update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The answer is unchanged.
    Kept,
    /// The answer has changed.
    Repaired,
}

/// See the [module documentation](self).
#[derive(Debug)]
pub struct AccessUpdater {
    shapes: Shapes,
    uniform: FxHashSet<Value>,
    lanes: Lanes,
    of_loops: LoopReads,
    divergence: Divergence,
    /// Cycles in which threads are assumed to run apart, with their sources.
    apart: Vec<(Node, SourceSet)>,
    /// The alignments of variables that were read.
    alignments: FxHashMap<GlobalName, u64>,
    readers: Readers,
    list: Listed,
    nest: Nest,
}

fn number(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}

impl LoopReads {
    /// Whether a change of these instructions may change the solution of the loops.
    fn are_affected(&self, facts: Facts<'_>, changed: &[InstId]) -> bool {
        let Facts { code, cycles, .. } = facts;
        let numbering = Numbering::new(code.header);
        let was_read = |inst: InstId| {
            let at = numbering.inst(inst).index();
            at < self.values.universe() && self.values.contains(at)
        };
        // A new phi there is a new candidate for an assumption.
        let is_candidate = |inst: InstId| {
            let block = code.body.block_of(inst).filter(|_| cycles.all_reducible());
            code.body.inst(inst).opcode == Opcode::Phi
                && block.is_some_and(|block| has_candidates(facts, node_of(block)))
        };
        changed.iter().any(|&inst| was_read(inst) || is_candidate(inst))
    }
}

impl AccessUpdater {
    /// The accesses of a function from scratch, and the state for incremental updates. There is no
    /// such state if the function has unreachable blocks.
    #[must_use]
    pub fn new(facts: Facts<'_>) -> (Arc<Accesses>, Option<Self>) {
        let code = facts.code;
        let Some(nest) = nest(facts) else { return (Arc::new(super::accesses(facts)), None) };
        let values = code.header.params.len() + code.body.id_count();
        let mut finder = Finder::new(facts);
        finder.of_loops = Some(LoopReads { values: BitSet::new(values), atoms: Vec::new() });
        finder.solve_loops();
        let mut readers = Readers::new(values);
        let answer = Accesses::new(code, |inst| finder.noted_access(inst, &mut readers));
        let answer = Arc::new(answer);
        readers.settle();
        finder.shapes.settle();
        let Finder { shapes, uniform, lanes, of_loops, alignments, .. } = finder;
        let mut of_loops = of_loops.unwrap_or_default();
        of_loops.atoms.sort_unstable();
        of_loops.atoms.dedup();
        let divergence = facts.divergence.clone();
        let list = Listed::new(code, Arc::clone(&answer));
        let apart = apart(facts);
        let updater = AccessUpdater {
            shapes,
            uniform,
            lanes,
            of_loops,
            divergence,
            apart,
            alignments,
            readers,
            list,
            nest,
        };
        (answer, Some(updater))
    }

    /// The accesses.
    #[must_use]
    pub fn answer(&self) -> &Arc<Accesses> {
        &self.list.answer
    }

    /// Updates the answer. `None` if it has to be computed from scratch.
    #[must_use]
    pub fn update(mut self, facts: Facts<'_>, edited: Edited<'_>) -> Option<(Self, Found)> {
        let Edited { insts: changed, own, blocks } = edited;
        let mut of_loops = own;
        if let Some(blocks) = blocks {
            let nest = nest(facts)?;
            let others: Vec<Node> = blocks.iter().map(|&block| node_of(block)).collect();
            if !nest.is_same_but_for(&self.nest, &others) {
                return None;
            }
            if !nest.is_one_of(&self.nest, &others) {
                of_loops = changed;
            }
            self.nest = nest;
        }
        let is_aligned_as_before =
            self.alignments.iter().all(|(&name, &align)| (facts.alignment)(name) == align);
        if self.of_loops.are_affected(facts, of_loops)
            || self.apart != apart(facts)
            || !is_aligned_as_before
        {
            return None;
        }
        let mut read: Vec<Value> = Vec::new();
        let (now, before) = (facts.divergence.values(), self.divergence.values());
        now.each_that_differs(before, |number| read.push(Value::new(number)));
        let atoms = &self.of_loops.atoms;
        if read.iter().any(|value| atoms.binary_search(value).is_ok()) {
            return None;
        }
        let place = ShapeContext::new(facts.code, facts.env);
        let others = self.shapes.update(place, changed)?.others;
        read.extend(changed.iter().chain(&others).map(|&inst| place.numbering.inst(inst)));
        let mut dirty: Vec<InstId> =
            read.iter().flat_map(|&value| self.readers.of(value)).collect();
        dirty.sort_unstable_by_key(|&inst| number(inst));
        dirty.dedup();

        let mut finder = Finder::with_shapes(facts, self.shapes, self.uniform, self.lanes);
        let blocks = blocks.unwrap_or_default();
        let readers = &mut self.readers;
        let found = look_again(&mut self.list, &mut finder, readers, (&dirty, changed, blocks))?;
        let is_other_order = self.list.reorder(facts.code.flow.order());
        self.alignments.extend(finder.alignments.drain());
        (self.shapes, self.uniform, self.lanes) = (finder.shapes, finder.uniform, finder.lanes);
        self.divergence = facts.divergence.clone();
        let is_worth = self.shapes.can_be_updated() && !self.readers.is_crowded();
        let found = if is_other_order { Found::Repaired } else { found };
        is_worth.then_some((self, found))
    }
}

/// The cycles in which threads are assumed to run apart, by header, with the sources.
fn apart(Facts { cycles, divergence, .. }: Facts<'_>) -> Vec<(Node, SourceSet)> {
    let assumed = divergence.assumed_divergent_cycles().iter();
    let mut apart: Vec<_> =
        assumed.map(|&(cycle, sources)| (cycles.header(cycle), sources)).collect();
    apart.sort_unstable_by_key(|&(header, _)| header);
    apart
}

/// The cycles, if all blocks can be reached.
fn nest(Facts { code, cfg, cycles, .. }: Facts<'_>) -> Option<Nest> {
    let mut reached = blocks_behind(cfg, vec![cfg.entry()]);
    reached.insert(cfg.entry().index());
    let are_all = code.flow.order().iter().all(|&block| reached.contains(node_of(block).index()));
    are_all.then(|| Nest::new(cfg, cycles, &reached))
}

/// Recomputes the accesses in `dirty`. Rebuilds the rows of blocks in which accesses may have been
/// inserted, removed or moved: those of changed instructions, and `others`.
fn look_again(
    list: &mut Listed,
    finder: &mut Finder<'_>,
    readers: &mut Readers,
    (dirty, changed, others): (&[InstId], &[InstId], &[BlockId]),
) -> Option<Found> {
    let code = finder.facts.code;
    let is_dirty =
        |inst: InstId| dirty.binary_search_by_key(&number(inst), |&dirty| number(dirty)).is_ok();
    let is_told = |block: Option<BlockId>| block.is_none_or(|b| others.binary_search(&b).is_ok());
    // The rows of these blocks are rebuilt in any case.
    let is_covered = |inst: InstId| is_told(list.home(inst)) && is_told(code.body.block_of(inst));
    let elsewhere = changed.iter().filter(|&&inst| !is_covered(inst));
    let affected = elsewhere.flat_map(|&inst| list.affected(code, inst));
    let mut moved: Vec<BlockId> = affected.chain(others.iter().copied()).collect();
    moved.sort_unstable();
    moved.dedup();
    // A dirty access may have been removed.
    let mut blocks: Vec<BlockId> = dirty.iter().filter_map(|&inst| list.home(inst)).collect();
    blocks.extend(&moved);
    blocks.sort_unstable();
    blocks.dedup();
    let mut rows = Vec::with_capacity(blocks.len());
    for block in blocks {
        let mut look = |inst| finder.noted_access(inst, readers);
        if moved.binary_search(&block).is_ok() {
            rows.push((block, list.again(code, block, is_dirty, look)));
            continue;
        }
        let row = list.answer.of(block).iter().map(|access| match is_dirty(access.inst) {
            true => look(access.inst),
            false => Some(*access),
        });
        rows.push((block, row.collect::<Option<_>>()?));
    }
    Some(if list.replace(&rows) { Found::Repaired } else { Found::Kept })
}

impl Finder<'_> {
    /// Computes the access of an instruction, and records what it reads.
    fn noted_access(&mut self, inst: InstId, readers: &mut Readers) -> Option<Access> {
        self.read.clear();
        let access = self.access(inst)?;
        readers.add(self.place.numbering.inst(inst), inst);
        self.read.iter().for_each(|&value| readers.add(value, inst));
        Some(access)
    }
}
