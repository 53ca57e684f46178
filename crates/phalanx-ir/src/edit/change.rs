//! The primitive changes. Each logs what it overwrites, keeps the def-use lists exact and notes
//! what it changed.

use crate::{
    body::{Body, InstId, raw},
    builder::{NewInst, check},
    constant::Const,
    edit::{
        Transaction,
        undo::{BodyStart, ExtrasStart, FlowStart, Undo, record},
    },
    extras::{Extras, Named},
    flow::{BlockId, Flow},
    inst::InstData,
    metadata::{Attachment, DebugRecord, LocalMetadata},
    value::Value,
};

impl Transaction<'_> {
    pub(super) fn body_to_change(&mut self) -> &mut Body {
        if self.log.body.is_none() {
            self.log.body = Some(BodyStart::of(self.store.body()));
        }
        self.store.body_mut()
    }

    fn flow_to_change(&mut self) -> &mut Flow {
        if self.log.flow.is_none() {
            self.log.flow = Some(FlowStart::of(self.store.flow()));
        }
        self.store.flow_mut()
    }

    fn extras_to_change(&mut self) -> &mut Extras {
        if self.log.extras.is_none() {
            self.log.extras = Some(ExtrasStart::of(self.store.extras()));
        }
        self.store.extras_mut()
    }

    pub(super) fn touch(&mut self, inst: InstId) {
        if self.insts.last() != Some(&inst) {
            self.insts.push(inst);
        }
    }

    fn touch_block(&mut self, block: BlockId) {
        if self.blocks.last() != Some(&block) {
            self.blocks.push(block);
        }
    }

    /// Sets one operand.
    pub(super) fn put_operand(&mut self, inst: InstId, index: u32, value: Value) {
        let body = self.body_to_change();
        let slot = body.inst(inst).operands.start + index;
        let old = std::mem::replace(&mut body.pool[slot as usize], value);
        let is_linked = body.block_of(inst).is_some();
        if is_linked && let Some(uses) = body.history.uses.get_mut() {
            uses.leave(slot, old);
            uses.enter(slot, value, raw(inst));
        }
        self.log.entries.push(Undo::Slot(slot, old));
        self.touch(inst);
    }

    /// Sets all operands.
    pub(super) fn put_operands(&mut self, inst: InstId, operands: &[Value]) {
        let body = self.body_to_change();
        let mut uses = body.history.uses.take();
        let is_linked = body.block_of(inst).is_some();
        if is_linked && let Some(uses) = &mut uses {
            uses.unlink(body, inst);
        }
        let old = *body.inst(inst);
        let (start, len) = (old.operands.start, old.operands.len as usize);
        let mut slots = Vec::new();
        if operands.len() <= len {
            for (slot, &value) in (start..).zip(operands) {
                let old = std::mem::replace(&mut body.pool[slot as usize], value);
                slots.push(Undo::Slot(slot, old));
            }
            record(body, inst).operands.len = operands.len() as u32;
        } else {
            let run = body.store_operands(operands);
            record(body, inst).operands = run;
        }
        if is_linked && let Some(uses) = &mut uses {
            uses.link(body, inst);
        }
        if let Some(uses) = uses {
            let _ = body.history.uses.set(uses);
        }
        self.log.entries.push(Undo::Record(inst, old));
        self.log.entries.extend(slots);
        self.touch(inst);
    }

    /// Adds an entry to a phi.
    pub(super) fn push_input(&mut self, phi: InstId, value: Value, from: BlockId) {
        let body = self.body_to_change();
        let old = *body.inst(phi);
        let mut uses = body.history.uses.take();
        let is_linked = body.block_of(phi).is_some();
        let moved = body.push_incoming(phi, value, from);
        if is_linked && let Some(uses) = &mut uses {
            match moved {
                Some(run) => {
                    uses.unlink_run(body, run);
                    uses.link(body, phi);
                }
                None => uses.enter_pushed(body, phi),
            }
        }
        if let Some(uses) = uses {
            let _ = body.history.uses.set(uses);
        }
        if moved.is_some() {
            self.log.entries.push(Undo::Record(phi, old));
        }
        self.log.entries.push(Undo::Pushed(phi));
        self.touch(phi);
    }

    /// Removes entries of a phi, by position in ascending order.
    pub(super) fn take_inputs(&mut self, phi: InstId, gone: &[u32]) {
        if gone.is_empty() {
            return;
        }
        let body = self.body_to_change();
        let operands = body.operands(phi);
        let half = operands.len() / 2;
        let entry = |&at: &u32| {
            let block = operands[half + at as usize].as_block()?;
            Some((at, operands[at as usize], block))
        };
        let entries = gone.iter().filter_map(entry).collect();
        let start = body.inst(phi).operands.start;
        if body.block_of(phi).is_some()
            && let Some(mut uses) = body.history.uses.take()
        {
            uses.leave_taken(body, phi, gone);
            let _ = body.history.uses.set(uses);
        }
        body.take_incoming(phi, gone);
        self.log.entries.push(Undo::Taken(phi, start, entries));
        self.touch(phi);
    }

    /// Adds an operand that is a constant behind the others.
    pub(super) fn push_operand(&mut self, inst: InstId, constant: Const) {
        let body = self.body_to_change();
        let mut uses = body.history.uses.take();
        let moved = body.push_operand(inst, constant.into());
        if let (Some(uses), Some(run)) = (&mut uses, moved) {
            uses.unlink_run(body, run);
            uses.link(body, inst);
        }
        if let Some(uses) = uses {
            let _ = body.history.uses.set(uses);
        }
        self.log.entries.push(Undo::OperandPushed(inst, moved));
        self.touch(inst);
    }

    /// Removes an operand; it and the operands behind it are constants, so the def-use lists do not
    /// change.
    pub(super) fn take_operand(&mut self, inst: InstId, index: u32) {
        let old = self.body_to_change().take_operand(inst, index);
        self.log.entries.push(Undo::OperandTaken(inst, index, old));
        self.touch(inst);
    }

    /// Replaces the record of an instruction; its operands stay where they are.
    pub(super) fn put_record(&mut self, inst: InstId, data: InstData) {
        let body = self.body_to_change();
        let old = std::mem::replace(record(body, inst), data);
        self.log.entries.push(Undo::Record(inst, old));
        self.touch(inst);
    }

    /// Makes an instruction of a checked record.
    pub(super) fn create(&mut self, data: InstData, new: &NewInst<'_>) -> InstId {
        check::create(self.body_to_change(), data, new)
    }

    /// Makes an instruction that shares the tables (call shapes, index lists) of another.
    pub(super) fn create_like(&mut self, data: InstData, operands: &[Value]) -> InstId {
        self.body_to_change().create(data, operands)
    }

    /// Puts an instruction into a block.
    pub(super) fn link(&mut self, block: BlockId, inst: InstId, before: Option<InstId>) {
        let body = self.body_to_change();
        body.link(block, inst, before);
        let mut uses = body.history.uses.take();
        if let Some(uses) = &mut uses {
            uses.link(body, inst);
        }
        if let Some(uses) = uses {
            let _ = body.history.uses.set(uses);
        }
        self.log.entries.push(Undo::Linked(inst));
        self.touch(inst);
    }

    /// Removes an instruction from its block.
    pub(super) fn unlink(&mut self, inst: InstId) {
        let body = self.body_to_change();
        let Some(block) = body.block_of(inst) else { return };
        let next = body.next(inst);
        body.take_out(inst);
        let mut uses = body.history.uses.take();
        if let Some(uses) = &mut uses {
            uses.unlink(body, inst);
        }
        if let Some(uses) = uses {
            let _ = body.history.uses.set(uses);
        }
        self.log.entries.push(Undo::Unlinked(inst, block, next));
        self.touch(inst);
    }

    /// Moves an instruction to another place.
    pub(super) fn relink(&mut self, inst: InstId, block: BlockId, before: Option<InstId>) {
        let body = self.body_to_change();
        let Some(old) = body.block_of(inst) else { return };
        let next = body.next(inst);
        body.take_out(inst);
        body.link(block, inst, before);
        self.log.entries.push(Undo::Unlinked(inst, old, next));
        self.log.entries.push(Undo::Linked(inst));
        self.touch(inst);
    }

    /// Moves what stands from `at` on to the empty block `to`.
    pub(super) fn split_list(&mut self, at: InstId, to: BlockId) {
        let body = self.body_to_change();
        let Some(from) = body.block_of(at) else { return };
        body.split_list(at, to);
        self.log.entries.push(Undo::Split(from, to));
        self.touch_block(from);
        self.touch_block(to);
    }

    /// Moves all instructions of `from` to the end of `to`.
    pub(super) fn join_lists(&mut self, to: BlockId, from: BlockId) {
        let body = self.body_to_change();
        let Some(first) = body.first(from) else { return };
        body.join_lists(to, from);
        self.log.entries.push(Undo::Joined(first, from));
        self.touch_block(to);
        self.touch_block(from);
    }

    pub(super) fn put_local_metadata(&mut self, at: usize, metadata: LocalMetadata) {
        let body = self.body_to_change();
        let old = std::mem::replace(&mut body.local_metadata[at], metadata);
        self.log.entries.push(Undo::LocalMetadata(at, old));
    }

    /// A block outside of the order.
    pub(super) fn new_block(&mut self) -> BlockId {
        let flow = self.flow_to_change();
        let block = flow.create_block();
        if let Some(degrees) = flow.in_degrees.get_mut() {
            degrees.push(0);
        }
        self.open.insert(block);
        self.touch_block(block);
        block
    }

    pub(super) fn place_block(&mut self, at: usize, block: BlockId) {
        self.flow_to_change().order.insert(at, block);
        self.log.entries.push(Undo::Placed(at));
        self.touch_block(block);
    }

    pub(super) fn displace_block(&mut self, at: usize) -> BlockId {
        let block = self.flow_to_change().order.remove(at);
        self.log.entries.push(Undo::Displaced(at, block));
        self.touch_block(block);
        block
    }

    /// Removes many blocks from the order at once. O(blocks).
    pub(super) fn displace_blocks(&mut self, gone: &[BlockId]) {
        let set: rustc_hash::FxHashSet<BlockId> = gone.iter().copied().collect();
        let flow = self.flow_to_change();
        let old = flow.order.clone();
        flow.order.retain(|block| !set.contains(block));
        self.log.entries.push(Undo::Order(old));
        for &block in gone {
            self.touch_block(block);
        }
    }

    /// Sets one successor of a block. O(1).
    pub(super) fn put_successor(&mut self, block: BlockId, index: usize, to: BlockId) {
        let flow = self.flow_to_change();
        let slot = flow.blocks[raw(block) as usize].start + index as u32;
        let old = std::mem::replace(&mut flow.pool[slot as usize], to);
        if let Some(degrees) = flow.in_degrees.get_mut() {
            degrees[raw(old) as usize] -= 1;
            degrees[raw(to) as usize] += 1;
        }
        self.log.entries.push(Undo::Edge(slot, old));
        self.touch_block(block);
    }

    /// Adds a successor behind the others.
    pub(super) fn push_successor(&mut self, block: BlockId, to: BlockId) {
        let flow = self.flow_to_change();
        let moved = flow.push_successor(block, to);
        if let Some(degrees) = flow.in_degrees.get_mut() {
            degrees[raw(to) as usize] += 1;
        }
        self.log.entries.push(Undo::EdgePushed(block, moved));
        self.touch_block(block);
    }

    /// Removes a successor of a block.
    pub(super) fn take_successor(&mut self, block: BlockId, index: u32) {
        let flow = self.flow_to_change();
        let old = flow.take_successor(block, index);
        if let Some(degrees) = flow.in_degrees.get_mut() {
            degrees[raw(old) as usize] -= 1;
        }
        self.log.entries.push(Undo::EdgeTaken(block, index, old));
        self.touch_block(block);
    }

    /// Sets the successors of a block; nothing happens when they are the same.
    pub(super) fn put_successors(&mut self, block: BlockId, successors: &[BlockId]) {
        if self.flow().successors(block) == successors {
            return;
        }
        let flow = self.flow_to_change();
        let at = raw(block) as usize;
        let old = flow.blocks[at];
        let mut degrees = std::mem::take(&mut flow.in_degrees);
        if let Some(degrees) = degrees.get_mut() {
            for &to in flow.successors(block) {
                degrees[raw(to) as usize] -= 1;
            }
            for &to in successors {
                degrees[raw(to) as usize] += 1;
            }
        }
        let mut undo = vec![Undo::Run(block, old)];
        if successors.len() <= old.len as usize {
            for (slot, &to) in (old.start..).zip(successors) {
                let old = std::mem::replace(&mut flow.pool[slot as usize], to);
                if old != to {
                    undo.push(Undo::Edge(slot, old));
                }
            }
            flow.blocks[at].len = successors.len() as u32;
        } else {
            flow.set_successors(block, successors);
        }
        flow.in_degrees = degrees;
        self.log.entries.extend(undo);
        self.touch_block(block);
    }

    /// Sets a name, made unique; the empty name takes the name away.
    pub(super) fn put_name(&mut self, named: Named, name: &[u8]) {
        let old = self.store.extras().names.entry(named);
        if old == 0 && name.is_empty() {
            return;
        }
        let names = &mut self.extras_to_change().names;
        // The entity may keep the name that it has.
        names.set_entry(named, 0);
        let name = names.unique(name);
        names.set(named, &name);
        self.log.entries.push(Undo::Name(named, old));
    }

    pub(super) fn put_attachments(&mut self, inst: InstId, attachments: Vec<Attachment>) {
        let old: Box<[Attachment]> = self.extras().attachments_of(inst).collect();
        if *old == *attachments {
            return;
        }
        self.extras_to_change().set_attachments(inst, attachments);
        self.log.entries.push(Undo::Attachments(inst, old));
    }

    /// Moves the debug records before one instruction to before another; returns whether there are
    /// any.
    pub(super) fn relink_debug_records(&mut self, from: InstId, to: InstId) -> bool {
        let count = self.extras().debug_run(from).len();
        if count == 0 || from == to {
            return false;
        }
        self.extras_to_change().move_debug_records(from, to);
        self.log.entries.push(Undo::RecordsMoved(from, to, count));
        true
    }

    /// Replaces `old` by `new` in the debug records before an instruction.
    pub(super) fn replace_in_debug_records(&mut self, inst: InstId, old: Value, new: Value) {
        let run = self.extras().debug_run(inst);
        let start = run.start;
        for at in run {
            let record = &self.extras().debug_records[at].1;
            if !record.values().any(|value| value == old) {
                continue;
            }
            let before = Box::new(record.clone());
            let record = &mut self.extras_to_change().debug_records[at].1;
            record.for_each_value_mut(&mut |value| {
                if *value == old {
                    *value = new;
                }
            });
            self.log.entries.push(Undo::OneRecord(inst, at - start, before));
        }
    }

    pub(super) fn put_debug_records(&mut self, inst: InstId, records: Vec<DebugRecord>) {
        let old: Box<[DebugRecord]> = self.extras().debug_records_before(inst).cloned().collect();
        if *old == *records {
            return;
        }
        self.extras_to_change().set_debug_records(inst, records);
        self.log.entries.push(Undo::Records(inst, old));
    }
}
