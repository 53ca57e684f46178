//! The tables of a function that is followed, lowered once and then brought up to date where it is
//! edited.
//!
//! # What
//!
//! [`Tables`] are what divergence is solved from, of the function as it was at a [`Stamp`]. They
//! are kept from the first answer on, as lowering has left them: that costs their room, some 60
//! bytes for each instruction, 100 where there are many stack slots, and hardly any time; by LLVM's
//! rules less. After an edit they are made to be edited ([`Tables::edited`]), and what has changed
//! is stated in them. So a solution from scratch, where too much has changed for a repair or none
//! is worth it yet, lowers only what has changed; and a solution of the same tables with further
//! [assumptions](Granted) lowers nothing.
//!
//! # Invariants
//!
//! Tables count for the very inputs of their stamp. A [`Lowering`] that could not bring them up to
//! date has left them half done: they are of no use any more.
//!
//! **Complexity.** Lowering: O(instructions). The first edit: O(values + uses), a good deal less
//! than lowering. Each edit: O(changed instructions, and what [looks](crate::lower::Neighbours) at
//! them). To be solved from, edited tables are copied: O(values + uses).

use std::borrow::Cow;

use phalanx_core::divergence::{Flow, ValueTable, repair::EditableTable};
use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::{InstId, Opcode, flow::node_of};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::subject::{Changes, Purpose, Sources, Stamp, Subject};
use crate::code::Numbering;
use crate::convergence::escape;
use crate::granted::{Difference, Granted};
use crate::lower::{self, MemoryRows, Neighbours, Restated, RowNumbers};
use crate::memory::{
    Changed, InQuestion, Numbered, PrivateMemory, SlotFollower, SplitBlock, ssa::Graph,
};
use crate::shape::Shapes;
use crate::summary::Seeded;

/// What tables were made from, as far as it takes to bring them up to date.
#[derive(Debug)]
pub(super) struct Lowering {
    sources: Sources,
    purpose: Purpose,
    pub(super) stamp: Stamp,
    pub(super) granted: Granted,
    pub(super) memory: SlotFollower,
    pub(super) rows: RowNumbers,
    neighbours: Neighbours,
    pub(super) seeded: Seeded,
    /// Whether all of private memory was looked at again.
    pub(super) is_whole_new: bool,
}

/// What an edit is to the control flow of tables that were brought up to date.
#[derive(Debug)]
pub(super) struct Restatement {
    /// Whether that is another.
    pub(super) is_other_flow: bool,
    /// The blocks that were touched, if they are known.
    pub(super) touched: Option<Vec<Node>>,
}

/// What comes of lowering a function.
#[derive(Debug)]
pub(super) struct Lowered {
    sources: Sources,
    pub(super) table: ValueTable,
    pub(super) memory: PrivateMemory,
    rows: MemoryRows,
    /// None where no rule looks at them.
    shapes: Option<Box<Shapes>>,
    granted: Granted,
}

/// See the [module documentation](self).
#[derive(Debug)]
pub(super) struct Tables {
    stamp: Stamp,
    form: Form,
    /// The graph that they are of, where there are stack slots: what an edit of it is to these is
    /// found by comparison.
    graph: Option<(Cfg, DomTree)>,
}

#[derive(Debug)]
enum Form {
    /// As lowering has left them.
    Lowered(Box<Lowered>),
    Edited(Box<Lowering>, Box<EditableTable>),
}

/// How many numbers are left out before the versions of memory, for instructions that are yet to
/// come.
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
        let Subject { code, around, granted, .. } = *subject;
        let count = code.body.id_count();
        let unused = match room {
            Room::Some => count / 16 + 16,
            Room::Much => count / 4 + 1024,
        };
        let (mut table, rows, shapes) = match sources {
            Sources::Full => {
                let (table, rows, shapes) = lower::full_and_rows(code, around, &memory, unused);
                (table, rows, Some(shapes))
            }
            Sources::Llvm => (lower::as_llvm(code, around), MemoryRows::default(), None),
        };
        granted.apply(code.header, &mut table);
        Self { sources, table, memory, rows, shapes, granted: granted.clone() }
    }

    /// The tables by themselves, and what it takes to bring them up to date.
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
            granted: self.granted,
            memory: purpose.followed(self.memory, subject),
            rows,
            neighbours,
            seeded: Seeded::default(),
            is_whole_new: true,
        };
        (self.table, lowering)
    }
}

impl Lowering {
    /// States in tables what has changed since, and what is granted now. None if that cannot be
    /// done.
    ///
    /// `before` is the graph of the tables, which is needed where there are stack slots.
    pub(super) fn restate(
        &mut self,
        subject: &Subject<'_>,
        changes: Changes<'_>,
        (before, table): (Option<Graph<'_>>, &mut EditableTable),
    ) -> Option<Restatement> {
        let Subject { code, around, stamp, granted, .. } = *subject;
        let as_llvm = self.sources == Sources::Llvm;
        if self.sources == Sources::Full && may_be_circular(subject, changes.insts) {
            return None;
        }
        let is_other_flow = changes.flow || self.stamp.flow != stamp.flow;
        // Nobody knows the blocks of another flow that the history does not tell of.
        let blocks = changes.flow.then_some(changes.blocks).filter(|blocks| !blocks.is_empty());
        let mut insts: SmallVec<[InstId; 16]> = SmallVec::from_slice(changes.insts);
        if is_other_flow {
            insts.extend(Neighbours::moved(code, blocks, table));
        }
        // Which calls are outside of the cycle of their token depends on all tokens, and on the
        // cycles.
        if self.sources == Sources::Full && (is_other_flow || escape::concerns(code, &insts)) {
            insts.extend(escape::controlled(code));
        }
        let difference = granted.difference(&self.granted);
        match self.sources {
            Sources::Full => {
                let memory = match is_other_flow && self.memory.has_slots() {
                    true => {
                        let split = split_since(before?.cfg, subject, changes);
                        self.followed_graph(subject, (changes.insts, &insts), (before?, split))
                    }
                    false => self.followed(subject, &insts, &InQuestion::default()),
                };
                self.restate_full(subject, insts, (memory, &difference), table)?;
            }
            Sources::Llvm => self.neighbours.update_as_llvm(code, around, &insts, table),
        }
        for &(block, is_assumed) in &difference.branches {
            table.assume_uniform_in_group(block, is_assumed);
        }
        if is_other_flow {
            Neighbours::update_terminators(code, around, as_llvm, blocks, table);
        }
        self.stamp = stamp;
        if !(granted.is_nothing() && self.granted.is_nothing()) {
            self.granted = granted.clone();
        }
        let touched = blocks.map(|blocks| blocks.iter().map(|block| node_of(*block)).collect());
        Some(Restatement { is_other_flow, touched })
    }

    /// Private memory after these instructions have changed, and what else is in question. None if
    /// it is to be made anew.
    fn followed(
        &mut self,
        subject: &Subject<'_>,
        insts: &[InstId],
        besides: &InQuestion,
    ) -> Option<Changed> {
        let Subject { code, around, flow, stamp, .. } = *subject;
        let graph = Numbered { cfg: flow.cfg, dom: flow.dom, number: stamp.flow };
        self.memory.follow(code, around, graph, (insts, besides))
    }

    /// The same where the graph is another one. Of the instructions some have moved only.
    fn followed_graph(
        &mut self,
        subject: &Subject<'_>,
        (changed, insts): (&[InstId], &[InstId]),
        (before, block): (Graph<'_>, Option<SplitBlock>),
    ) -> Option<Changed> {
        let Subject { code, around, flow, .. } = *subject;
        let memory = &mut self.memory;
        let split = |block| memory.follow_split((code, around), flow.dom, block, changed);
        block.and_then(split).or_else(|| {
            let now = Graph { cfg: flow.cfg, dom: flow.dom };
            let besides = self.memory.in_question(code, (before, now))?;
            self.followed(subject, insts, &besides)
        })
    }

    /// States instructions by our own rules, and with them private memory, where that has been
    /// followed.
    fn restate_full(
        &mut self,
        subject: &Subject<'_>,
        mut insts: SmallVec<[InstId; 16]>,
        (followed, difference): (Option<Changed>, &Difference),
        table: &mut EditableTable,
    ) -> Option<()> {
        let Subject { code, flow, stamp, .. } = *subject;
        let graph = Numbered { cfg: flow.cfg, dom: flow.dom, number: stamp.flow };
        let memory = &mut self.memory;
        let patches = match followed {
            Some(changed) => {
                insts.extend_from_slice(&changed.others);
                Some((changed.patches, changed.parts))
            }
            None => {
                let new = self.purpose.memory(subject);
                let new = self.purpose.followed(new, subject);
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
        // Versions of memory have numbers of their own, of which there must be room before them.
        if values > table.room() || has_memory && table.room() == usize::MAX {
            return None;
        }
        let numbering = Numbering::new(code.header);
        for &(load, left) in &difference.loads {
            table.narrow(numbering.inst(load), left);
            // One of private memory has no sources of its own, and is stated with its versions.
            insts.extend((!memory.is_load(load)).then_some(load));
        }
        let around = subject.around;
        let (rows, is_whole_new) = (&mut self.rows, patches.is_none());
        let restated = Restated { rows, memory, graph, patches };
        if !self.neighbours.update_full_with(code, around, restated, &insts, table) {
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
    /// Those of a function by these rules, lowered anew.
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

    /// Tables that were kept for repairs.
    pub(super) fn of(lowering: Lowering, table: EditableTable, graph: Graph<'_>) -> Self {
        let graph = graph_for(&lowering.memory, graph);
        Tables {
            stamp: lowering.stamp,
            form: Form::Edited(Box::new(lowering), Box::new(table)),
            graph,
        }
    }

    /// Brings them up to date with what has changed since. None if that cannot be done.
    pub(super) fn follow(self, subject: &Subject<'_>, changes: Changes<'_>) -> Option<Self> {
        if self.stamp == subject.stamp && self.granted() == subject.granted {
            return Some(self);
        }
        let Tables { stamp, form, graph } = self;
        if stamp.around != subject.stamp.around {
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

    /// What is to be solved.
    pub(super) fn table(&self) -> Cow<'_, ValueTable> {
        match &self.form {
            Form::Lowered(lowered) => Cow::Borrowed(&lowered.table),
            Form::Edited(_, table) => Cow::Owned(table.to_table()),
        }
    }

    /// What is granted in them.
    fn granted(&self) -> &Granted {
        match &self.form {
            Form::Lowered(lowered) => &lowered.granted,
            Form::Edited(lowering, _) => &lowering.granted,
        }
    }

    /// A copy for somebody else, where nothing is granted in them.
    pub(super) fn copy(&self) -> Option<ValueTable> {
        self.granted().is_nothing().then(|| self.table().into_owned())
    }

    /// Tables to be edited.
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

/// The block that was split, if nothing else has happened to a graph since it was as before. What
/// stands in the new block has stood in the old one or has changed: no other block is touched.
pub(super) fn split_since(
    before: &Cfg,
    subject: &Subject<'_>,
    changes: Changes<'_>,
) -> Option<SplitBlock> {
    let Flow { cfg, dom, .. } = subject.flow;
    SplitBlock::between(before, (cfg, dom), changes.blocks)
}

/// How many instructions are visited to see whether one reads itself.
const FAR: usize = 256;

/// Whether one of these instructions may read itself by way of others, without a phi: that can be
/// where nobody comes, and then shapes hang on the order in which they are found.
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

/// A graph to compare with, if there are stack slots.
fn graph_for(memory: &SlotFollower, graph: Graph<'_>) -> Option<(Cfg, DomTree)> {
    memory.has_slots().then(|| (graph.cfg.clone(), graph.dom.clone()))
}
