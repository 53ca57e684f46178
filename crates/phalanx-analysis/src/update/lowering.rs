//! The tables of a function that is being edited: lowered once, and brought up to date where the
//! function is edited.
//!
//! # What
//!
//! [`Tables`] are what divergence is solved from, of the function as it was at a [`Stamp`]. An
//! updater retains them from its first answer on, in the form in which lowering has left them.
//! That takes some 60 bytes for each instruction, 100 where there are many stack slots, and less by
//! LLVM's rules; it takes hardly any time. After an edit the tables are converted to an editable
//! form ([`Tables::edited`]), and changed instructions are restated in them. So a solution from
//! scratch lowers only what has changed. (The updater solves from scratch where too much has
//! changed for a repair, or where none is worth it yet.) A solution of the same tables with further
//! [assumptions](AssumedFacts) lowers nothing.
//!
//! # Invariants
//!
//! Tables are valid only for exactly the inputs of their stamp. A [`Lowering`] that could not bring
//! them up to date has left them half updated, so both are dropped.
//!
//! **Complexity.** Lowering: O(instructions). The first edit: O(values + uses), a good deal less
//! than lowering. Each edit: O(changed instructions, and what [looks](crate::lower::Neighbours) at
//! them). To be solved from, edited tables are copied: O(values + uses).

use std::borrow::Cow;

use phalanx_core::divergence::{FlowFacts, ValueTable, repair::EditableTable};
use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::{InstId, Opcode, flow::node_of};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::subject::{Changes, Purpose, Sources, Stamp, Subject};
use crate::assumed_facts::{AssumedFacts, Difference};
use crate::code::Numbering;
use crate::convergence::escape;
use crate::lower::{self, MemoryRows, Neighbours, Restated, RowNumbers};
use crate::memory::{
    Changed, InQuestion, Numbered, PrivateMemory, PrivateMemoryUpdater, SplitBlock, ssa::Graph,
};
use crate::shape::Shapes;
use crate::summary::Seeded;

/// What tables were made from, as far as an update needs it.
#[derive(Debug)]
pub(super) struct Lowering {
    sources: Sources,
    purpose: Purpose,
    pub(super) stamp: Stamp,
    pub(super) assumed_facts: AssumedFacts,
    pub(super) memory: PrivateMemoryUpdater,
    pub(super) rows: RowNumbers,
    neighbours: Neighbours,
    pub(super) seeded: Seeded,
    /// Whether all of private memory was looked at again.
    pub(super) is_whole_new: bool,
}

/// How an update of tables relates to the control flow.
#[derive(Debug)]
pub(super) struct Restatement {
    /// Whether the control flow differs from that of the tables before.
    pub(super) is_other_flow: bool,
    /// The blocks that were touched, if they are known.
    pub(super) touched: Option<Vec<Node>>,
}

/// The result of lowering a function.
#[derive(Debug)]
pub(super) struct Lowered {
    sources: Sources,
    pub(super) table: ValueTable,
    pub(super) memory: PrivateMemory,
    rows: MemoryRows,
    /// None where no rule uses shapes.
    shapes: Option<Box<Shapes>>,
    assumed_facts: AssumedFacts,
}

/// The tables of a function. See the [module documentation](self).
#[derive(Debug)]
pub(super) struct Tables {
    stamp: Stamp,
    form: Form,
    /// The graph of the tables, if the function has stack slots. The effect of an edit of the graph
    /// on stack slots is found by comparing the graphs.
    graph: Option<(Cfg, DomTree)>,
}

#[derive(Debug)]
enum Form {
    /// As lowering has left them.
    Lowered(Box<Lowered>),
    Edited(Box<Lowering>, Box<EditableTable>),
}

/// How many numbers to reserve before the versions of memory, for instructions that edits will add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// For a few edits.
    Some,
    /// For many.
    Much,
}

impl Lowered {
    pub(super) fn new(
        sources: Sources,
        memory: PrivateMemory,
        subject: &Subject<'_>,
        room: Room,
    ) -> Self {
        let Subject { code, env, assumed_facts, .. } = *subject;
        let count = code.body.id_count();
        let unused = match room {
            Room::Some => count / 16 + 16,
            Room::Much => count / 4 + 1024,
        };
        let (mut table, rows, shapes) = match sources {
            Sources::Full => {
                let (table, rows, shapes) = lower::full_and_rows(code, env, &memory, unused);
                (table, rows, Some(shapes))
            }
            Sources::Llvm => (lower::as_llvm(code, env), MemoryRows::default(), None),
        };
        assumed_facts.apply(code.header, &mut table);
        Self { sources, table, memory, rows, shapes, assumed_facts: assumed_facts.clone() }
    }

    /// The tables alone, and what is needed to bring them up to date.
    pub(super) fn split(self, purpose: Purpose, subject: &Subject<'_>) -> (ValueTable, Lowering) {
        let rows = RowNumbers::of(&self.rows, &self.table);
        let neighbours = match self.shapes {
            Some(shapes) => Neighbours::with_shapes(shapes),
            None => Neighbours::of_llvm(),
        };
        let lowering = Lowering {
            sources: self.sources,
            purpose,
            stamp: subject.stamp,
            assumed_facts: self.assumed_facts,
            memory: purpose.updated(self.memory, subject),
            rows,
            neighbours,
            seeded: Seeded::default(),
            is_whole_new: true,
        };
        (self.table, lowering)
    }
}

impl Lowering {
    /// Restates in the tables what has changed since their stamp, and the present assumptions. None
    /// if that cannot be done.
    ///
    /// `before` is the graph of the tables, which is needed if there are stack slots.
    pub(super) fn restate(
        &mut self,
        subject: &Subject<'_>,
        changes: Changes<'_>,
        (before, table): (Option<Graph<'_>>, &mut EditableTable),
    ) -> Option<Restatement> {
        let Subject { code, env, stamp, assumed_facts, .. } = *subject;
        let as_llvm = self.sources == Sources::Llvm;
        if self.sources == Sources::Full && may_be_circular(subject, changes.insts) {
            return None;
        }
        let is_other_flow = changes.flow || self.stamp.flow != stamp.flow;
        // If the history does not list the changed blocks, they are not known.
        let blocks = changes.flow.then_some(changes.blocks).filter(|blocks| !blocks.is_empty());
        let mut insts: SmallVec<[InstId; 16]> = SmallVec::from_slice(changes.insts);
        // What was only moved as well.
        let mut all = insts.clone();
        if is_other_flow {
            let mut moved = Neighbours::moved(code, blocks, table);
            all.extend_from_slice(&moved);
            let changed: FxHashSet<InstId> = changes.insts.iter().copied().collect();
            moved.retain(|inst| !changed.contains(inst));
            insts.extend(Neighbours::relocate(code, &moved, table));
            Neighbours::reroute(code, &mut insts, table);
        }
        // Which calls are outside of the cycle of their token depends on all tokens, and on all
        // cycles.
        if self.sources == Sources::Full && (is_other_flow || escape::depends_on(code, &insts)) {
            let controlled = escape::controlled(code);
            all.extend_from_slice(&controlled);
            insts.extend(controlled);
        }
        let difference = assumed_facts.difference(&self.assumed_facts);
        match self.sources {
            Sources::Full => {
                let memory = match is_other_flow && self.memory.has_slots() {
                    true => {
                        let split = split_since(before?.cfg, subject, changes);
                        self.updated_graph(subject, (changes.insts, &all), (before?, split))
                    }
                    false => self.updated(subject, &insts, &InQuestion::default()),
                };
                self.restate_full(subject, insts, (memory, &difference), table)?;
            }
            Sources::Llvm => self.neighbours.update_as_llvm(code, env, &insts, table),
        }
        for &(block, is_assumed) in &difference.branches {
            table.assume_uniform_in_group(block, is_assumed);
        }
        if is_other_flow {
            Neighbours::update_terminators(code, env, as_llvm, blocks, table);
        }
        self.stamp = stamp;
        if !(assumed_facts.is_nothing() && self.assumed_facts.is_nothing()) {
            self.assumed_facts = assumed_facts.clone();
        }
        let touched = blocks.map(|blocks| blocks.iter().map(|block| node_of(*block)).collect());
        Some(Restatement { is_other_flow, touched })
    }

    /// Updates private memory after changes of these instructions, and of `besides`. None if
    /// private memory has to be made anew.
    fn updated(
        &mut self,
        subject: &Subject<'_>,
        insts: &[InstId],
        besides: &InQuestion,
    ) -> Option<Changed> {
        let Subject { code, env, flow, stamp, .. } = *subject;
        let graph = Numbered { cfg: flow.cfg, dom: flow.dom, number: stamp.flow };
        self.memory.update(code, env, graph, (insts, besides))
    }

    /// The same after a change of the graph. `insts` are `changed` and instructions that have only
    /// moved.
    fn updated_graph(
        &mut self,
        subject: &Subject<'_>,
        (changed, insts): (&[InstId], &[InstId]),
        (before, block): (Graph<'_>, Option<SplitBlock>),
    ) -> Option<Changed> {
        let Subject { code, env, flow, .. } = *subject;
        let memory = &mut self.memory;
        let split = |block| memory.update_split((code, env), flow.dom, block, changed);
        block.and_then(split).or_else(|| {
            let now = Graph { cfg: flow.cfg, dom: flow.dom };
            let besides = self.memory.in_question(code, (before, now))?;
            self.updated(subject, insts, &besides)
        })
    }

    /// Restates instructions by our own rules, and private memory with them: `updated` is its
    /// change, or None if private memory is made anew.
    fn restate_full(
        &mut self,
        subject: &Subject<'_>,
        mut insts: SmallVec<[InstId; 16]>,
        (updated, difference): (Option<Changed>, &Difference),
        table: &mut EditableTable,
    ) -> Option<()> {
        let Subject { code, flow, stamp, .. } = *subject;
        let graph = Numbered { cfg: flow.cfg, dom: flow.dom, number: stamp.flow };
        let memory = &mut self.memory;
        let patches = match updated {
            Some(changed) => {
                insts.extend_from_slice(&changed.others);
                Some((changed.patches, changed.parts))
            }
            None => {
                let new = self.purpose.memory(subject);
                let new = self.purpose.updated(new, subject);
                insts.extend(memory.replace(code, new));
                None
            }
        };
        let has_memory = match &patches {
            Some((patches, parts)) => {
                let is_empty = |&patch: &u32| memory.patch(patch).1.is_empty();
                !parts.is_empty() || !patches.iter().all(is_empty)
            }
            None => memory.whole().is_some_and(|memory| !memory.is_empty()),
        };
        let values = code.header.params.len() + code.body.id_count();
        // Versions of memory have numbers of their own; all instructions must have lower ones.
        if values > table.room() || has_memory && table.room() == usize::MAX {
            return None;
        }
        let numbering = Numbering::new(code.header);
        for &(load, left) in &difference.loads {
            table.narrow(numbering.inst(load), left);
            // A load of private memory has no sources of its own, and is restated with its
            // versions.
            insts.extend((!memory.is_load(load)).then_some(load));
        }
        let env = subject.env;
        let (rows, is_whole_new) = (&mut self.rows, patches.is_none());
        let restated = Restated { rows, memory, graph, patches };
        if !self.neighbours.update_full_with(code, env, restated, &insts, table) {
            return None;
        }
        self.is_whole_new = is_whole_new;
        if self.purpose == Purpose::Through {
            self.seeded.update(code, self.is_whole_new, memory, rows);
            if self.seeded.is_empty() {
                return None;
            }
        }
        Some(())
    }
}

impl Tables {
    /// The tables of a function by the rules of `sources`, newly lowered.
    pub(super) fn new(sources: Sources, subject: &Subject<'_>) -> Self {
        let Subject { flow, stamp, .. } = *subject;
        let memory = match sources {
            Sources::Full => Purpose::Divergence.memory(subject),
            Sources::Llvm => PrivateMemory::default(),
        };
        let graph = memory.has_slots().then(|| (flow.cfg.clone(), flow.dom.clone()));
        let lowered = Lowered::new(sources, memory, subject, Room::Some);
        Tables { stamp, form: Form::Lowered(Box::new(lowered)), graph }
    }

    /// The tables that belonged to retained solutions.
    pub(super) fn of(lowering: Lowering, table: EditableTable, graph: Graph<'_>) -> Self {
        let graph = graph_for(&lowering.memory, graph);
        Tables {
            stamp: lowering.stamp,
            form: Form::Edited(Box::new(lowering), Box::new(table)),
            graph,
        }
    }

    /// Brings the tables up to date. None if that cannot be done.
    pub(super) fn update(self, subject: &Subject<'_>, changes: Changes<'_>) -> Option<Self> {
        if self.stamp == subject.stamp && self.assumed_facts() == subject.assumed_facts {
            return Some(self);
        }
        let Tables { stamp, form, graph } = self;
        if stamp.env != subject.stamp.env {
            return None;
        }
        let (mut lowering, mut table) = match form {
            Form::Edited(lowering, table) => (lowering, table),
            Form::Lowered(lowered) => {
                let before = Subject { stamp, ..*subject };
                let (table, lowering) = lowered.split(Purpose::Divergence, &before);
                (Box::new(lowering), Box::new(EditableTable::new(table)))
            }
        };
        let before = graph.as_ref().map(|(cfg, dom)| Graph { cfg, dom });
        let restatement = lowering.restate(subject, changes, (before, &mut table))?;
        table.forget_edits();
        if table.is_full() {
            return None;
        }
        let graph = match graph {
            Some(graph) if !restatement.is_other_flow => Some(graph),
            _ => {
                let now = Graph { cfg: subject.flow.cfg, dom: subject.flow.dom };
                graph_for(&lowering.memory, now)
            }
        };
        Some(Tables { stamp: subject.stamp, form: Form::Edited(lowering, table), graph })
    }

    /// The table to solve.
    pub(super) fn table(&self) -> Cow<'_, ValueTable> {
        match &self.form {
            Form::Lowered(lowered) => Cow::Borrowed(&lowered.table),
            Form::Edited(_, table) => Cow::Owned(table.to_table()),
        }
    }

    /// The assumptions that the tables were made with.
    fn assumed_facts(&self) -> &AssumedFacts {
        match &self.form {
            Form::Lowered(lowered) => &lowered.assumed_facts,
            Form::Edited(lowering, _) => &lowering.assumed_facts,
        }
    }

    /// A copy of the tables, if they were made without assumptions.
    pub(super) fn copy(&self) -> Option<ValueTable> {
        self.assumed_facts().is_nothing().then(|| self.table().into_owned())
    }

    /// The tables in editable form.
    pub(super) fn edited(self, subject: &Subject<'_>) -> (EditableTable, Lowering) {
        match self.form {
            Form::Edited(lowering, table) => (*table, *lowering),
            Form::Lowered(lowered) => {
                let (table, lowering) = lowered.split(Purpose::Divergence, subject);
                (EditableTable::new(table), lowering)
            }
        }
    }
}

/// The block that was split, if the graph has changed in no other way since `before`. Instructions
/// of the new block were in the old one or are listed as changed: no other block is touched.
pub(super) fn split_since(
    before: &Cfg,
    subject: &Subject<'_>,
    changes: Changes<'_>,
) -> Option<SplitBlock> {
    let FlowFacts { cfg, dom, .. } = subject.flow;
    SplitBlock::between(before, (cfg, dom), changes.blocks)
}

/// How many instructions are visited to see whether one reads itself.
const FAR: usize = 256;

/// Whether one of these instructions may read itself by way of others, without a phi. That is
/// possible in unreachable blocks, and there shapes depend on the order in which they are found.
fn may_be_circular(subject: &Subject<'_>, insts: &[InstId]) -> bool {
    let (body, dom) = (subject.code.body, subject.flow.dom);
    if dom.preorder().len() == dom.node_count() {
        return false;
    }
    let is_apart = |inst: InstId| {
        let block = body.block_of(inst);
        block.is_some_and(|block| !dom.is_reachable(node_of(block)))
            && body.inst(inst).opcode != Opcode::Phi
    };
    insts.iter().any(|&inst| {
        let mut seen: FxHashSet<InstId> = FxHashSet::default();
        let mut work: SmallVec<[InstId; 8]> = SmallVec::new();
        work.extend(is_apart(inst).then_some(inst));
        while let Some(at) = work.pop() {
            for read in body.operands(at).iter().filter_map(|operand| operand.as_inst()) {
                if read == inst || seen.len() > FAR {
                    return true;
                }
                if is_apart(read) && seen.insert(read) {
                    work.push(read);
                }
            }
        }
        false
    })
}

/// The graph to compare with, if there are stack slots.
fn graph_for(memory: &PrivateMemoryUpdater, graph: Graph<'_>) -> Option<(Cfg, DomTree)> {
    memory.has_slots().then(|| (graph.cfg.clone(), graph.dom.clone()))
}
