//! The undo log of a transaction.
//!
//! Each primitive change logs what it overwrites. Tables that only grow are cut to the length that
//! they had when the transaction first touched them. An abort replays the log from its end.
//! Afterwards every part is equal to what it was, except for spare capacity.

use smallvec::SmallVec;

use crate::{
    body::{Body, InstId},
    edit::store::Store,
    extras::{Extras, Named},
    flow::{BlockFlow, BlockId, Flow},
    inst::{InstData, OperandRange},
    metadata::{Attachment, DebugRecord, LocalMetadata},
    value::Value,
};

/// One logged change. Each variant says what was there before.
#[derive(Debug)]
pub(super) enum Undo {
    Record(InstId, InstData),
    /// A slot of the operand pool.
    Slot(u32, Value),
    /// The instruction was in no block.
    Linked(InstId),
    /// The instruction was in this block before that instruction, or at the end.
    Unlinked(InstId, BlockId, Option<InstId>),
    /// The second block's instructions were at the end of the first.
    Split(BlockId, BlockId),
    /// From this instruction on, all were in this block.
    Joined(InstId, BlockId),
    /// A phi did not have its last entry.
    Pushed(InstId),
    /// A phi also had these entries, at these positions, and its operands began here.
    Taken(InstId, u32, Box<[(u32, Value, BlockId)]>),
    /// An instruction did not have its last operand; if the operands have moved, they were here.
    OperandPushed(InstId, Option<OperandRange>),
    /// An instruction also had this operand, at this position.
    OperandTaken(InstId, u32, Value),
    LocalMetadata(usize, LocalMetadata),
    /// Successors of a block.
    Run(BlockId, BlockFlow),
    /// A slot of the edge pool.
    Edge(u32, BlockId),
    /// A block did not have its last successor; if the successors have moved, they were here.
    EdgePushed(BlockId, Option<BlockFlow>),
    /// A block also had this successor, at this position.
    EdgeTaken(BlockId, u32, BlockId),
    /// A block was inserted at this position of the order.
    Placed(usize),
    /// This block was removed from this position of the order.
    Displaced(usize, BlockId),
    /// The order was this.
    Order(Vec<BlockId>),
    Name(Named, u32),
    Attachments(InstId, Box<[Attachment]>),
    Records(InstId, Box<[DebugRecord]>),
    /// This many debug records, now the first ones before the second instruction, were before the
    /// first.
    RecordsMoved(InstId, InstId, usize),
    /// The debug record with this position among those before an instruction was this.
    OneRecord(InstId, usize, Box<DebugRecord>),
}

/// Lengths of a body's tables.
#[derive(Copy, Clone, Debug)]
pub(super) struct BodyStart {
    insts: usize,
    ends: usize,
    pool: usize,
    calls: usize,
    indices: usize,
    local_metadata: usize,
}

impl BodyStart {
    pub(super) fn of(body: &Body) -> Self {
        BodyStart {
            insts: body.insts.len(),
            ends: body.ends.len(),
            pool: body.pool.len(),
            calls: body.calls.len(),
            indices: body.indices.len(),
            local_metadata: body.local_metadata.len(),
        }
    }

    /// How many operands there were.
    #[cfg(test)]
    pub(super) fn operands(self) -> usize {
        self.pool
    }

    fn cut(self, body: &mut Body) {
        body.insts.truncate(self.insts);
        body.places.truncate(self.insts);
        body.ends.truncate(self.ends);
        body.pool.truncate(self.pool);
        body.calls.truncate(self.calls);
        body.indices.truncate(self.indices);
        body.local_metadata.truncate(self.local_metadata);
    }
}

/// Lengths of a flow's tables.
#[derive(Copy, Clone, Debug)]
pub(super) struct FlowStart {
    blocks: usize,
    pool: usize,
}

impl FlowStart {
    pub(super) fn of(flow: &Flow) -> Self {
        FlowStart { blocks: flow.blocks.len(), pool: flow.pool.len() }
    }
}

/// Lengths of the tables of names.
#[derive(Copy, Clone, Debug)]
pub(super) struct ExtrasStart {
    bytes: usize,
    insts: usize,
    args: usize,
    blocks: usize,
}

impl ExtrasStart {
    pub(super) fn of(extras: &Extras) -> Self {
        let names = &extras.names;
        ExtrasStart {
            bytes: names.bytes.len(),
            insts: names.insts.len(),
            args: names.args.len(),
            blocks: names.blocks.len(),
        }
    }
}

/// The log of one transaction.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Inline room for two: most transactions change one or two things.
    pub(super) entries: SmallVec<[Undo; 2]>,
    pub(super) body: Option<BodyStart>,
    pub(super) flow: Option<FlowStart>,
    pub(super) extras: Option<ExtrasStart>,
}

impl Log {
    /// Instructions whose attachments were changed, with repetitions.
    pub(super) fn reattached(&self) -> impl Iterator<Item = InstId> {
        self.entries.iter().filter_map(|entry| match entry {
            Undo::Attachments(inst, _) => Some(*inst),
            _ => None,
        })
    }

    /// Takes all changes back.
    pub(super) fn undo(&mut self, store: &mut dyn Store) {
        for entry in std::mem::take(&mut self.entries).into_iter().rev() {
            undo(entry, store);
        }
        if let Some(start) = self.body.take() {
            let body = store.body_mut();
            start.cut(body);
            body.history.uses.take();
        }
        if let Some(start) = self.flow.take() {
            let flow = store.flow_mut();
            flow.blocks.truncate(start.blocks);
            flow.pool.truncate(start.pool);
            flow.in_degrees = Default::default();
        }
        if let Some(start) = self.extras.take() {
            let names = &mut store.extras_mut().names;
            names.bytes.truncate(start.bytes);
            names.insts.truncate(start.insts);
            names.args.truncate(start.args);
            names.blocks.truncate(start.blocks);
        }
    }
}

fn undo(entry: Undo, store: &mut dyn Store) {
    match entry {
        Undo::Record(inst, data) => *record(store.body_mut(), inst) = data,
        Undo::Slot(slot, value) => store.body_mut().pool[slot as usize] = value,
        Undo::Linked(inst) => store.body_mut().take_out(inst),
        Undo::Unlinked(inst, block, before) => store.body_mut().link(block, inst, before),
        Undo::Split(first, second) => store.body_mut().join_lists(first, second),
        Undo::Joined(inst, block) => store.body_mut().split_list(inst, block),
        Undo::Pushed(phi) => {
            let body = store.body_mut();
            let last = body.inst(phi).operands.len / 2 - 1;
            body.take_incoming(phi, &[last]);
        }
        Undo::Taken(phi, start, entries) => store.body_mut().put_incoming(phi, start, &entries),
        Undo::OperandPushed(inst, None) => {
            let body = store.body_mut();
            let last = body.inst(inst).operands.len - 1;
            body.take_operand(inst, last);
        }
        Undo::OperandPushed(inst, Some(run)) => record(store.body_mut(), inst).operands = run,
        Undo::OperandTaken(inst, index, value) => {
            store.body_mut().put_operand_back(inst, index, value);
        }
        Undo::LocalMetadata(at, metadata) => store.body_mut().local_metadata[at] = metadata,
        Undo::Run(block, run) => {
            store.flow_mut().blocks[block.into_raw().into_u32() as usize] = run;
        }
        Undo::Edge(slot, to) => store.flow_mut().pool[slot as usize] = to,
        Undo::EdgePushed(block, None) => {
            let flow = store.flow_mut();
            let last = flow.successors(block).len() as u32 - 1;
            flow.take_successor(block, last);
        }
        Undo::EdgePushed(block, Some(run)) => {
            store.flow_mut().blocks[block.into_raw().into_u32() as usize] = run;
        }
        Undo::EdgeTaken(block, index, to) => {
            store.flow_mut().put_successor_back(block, index, to);
        }
        Undo::Placed(at) => {
            store.flow_mut().order.remove(at);
        }
        Undo::Order(order) => store.flow_mut().order = order,
        Undo::Displaced(at, block) => store.flow_mut().order.insert(at, block),
        Undo::Name(named, entry) => store.extras_mut().names.set_entry(named, entry),
        Undo::Attachments(inst, old) => store.extras_mut().set_attachments(inst, old.into_vec()),
        Undo::Records(inst, old) => store.extras_mut().set_debug_records(inst, old.into_vec()),
        Undo::RecordsMoved(from, to, count) => {
            store.extras_mut().move_first_records(to, count, from);
        }
        Undo::OneRecord(inst, position, old) => {
            let extras = store.extras_mut();
            let at = extras.debug_run(inst).start + position;
            extras.debug_records[at].1 = *old;
        }
    }
}

/// The record of an instruction, without discarding the history of the body.
pub(super) fn record(body: &mut Body, inst: InstId) -> &mut InstData {
    &mut body.insts[inst.into_raw().into_u32() as usize]
}
