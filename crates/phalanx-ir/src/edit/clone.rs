//! Clones blocks, for loop unrolling and jump threading.
//!
//! Cloning the loop `body` gives a second loop, which no edge enters yet:
//!
//! ```text
//! entry: br label %body
//! body:  %i = phi i32 [ 0, %entry ], [ %n, %body ]
//!        ...
//!        br i1 %c, label %body, label %exit
//! body1: %i1 = phi i32 [ %n1, %body1 ]                   ; no entry for an edge from outside
//!        ...
//!        br i1 %c1, label %body1, label %exit
//! exit:  %r = phi i32 [ %i, %body ], [ %i1, %body1 ]     ; an entry for the new edge
//! ```

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::{
    body::{InstId, raw},
    builder::BuildError,
    edit::Transaction,
    extras::Named,
    flow::BlockId,
    inst::Opcode,
    metadata::{DebugRecord, LocalMetadata},
    value::{Value, ValueKind},
};

/// The clones of blocks and instructions, by their originals.
#[derive(Clone, Debug, Default)]
pub struct Clones {
    pub(super) blocks: FxHashMap<BlockId, BlockId>,
    pub(super) insts: FxHashMap<InstId, InstId>,
}

impl Clones {
    /// The clone of a block of the region.
    pub fn block(&self, block: BlockId) -> Option<BlockId> {
        self.blocks.get(&block).copied()
    }

    /// The clone of an instruction of the region.
    pub fn inst(&self, inst: InstId) -> Option<InstId> {
        self.insts.get(&inst).copied()
    }

    /// The value that a clone reads where the original reads `value`: the clone of a value of the
    /// region; any other value as it is.
    pub fn value(&self, value: Value) -> Value {
        match value.kind() {
            ValueKind::Inst(inst) => self.inst(inst).map_or(value, Value::inst),
            ValueKind::Block(block) => self.block(block).map_or(value, Value::block),
            _ => value,
        }
    }
}

impl Transaction<'_> {
    /// Clones blocks with all edges among them. Edges that leave the region exist twice afterwards,
    /// and phis outside have entries for both. Edges into the region still lead to the originals,
    /// so phis of the clones have entries for edges from within the region alone. After redirecting
    /// edges to the clones, add those entries. The clones stand after the last block of the region.
    /// O(instructions cloned).
    ///
    /// # Errors
    /// When a block is not in the function or given twice, or is the entry, or a `catchswitch` is
    /// in the region without all of its pads or one of these without it.
    pub fn clone_blocks(&mut self, region: &[BlockId]) -> Result<Clones, BuildError> {
        let mut clones = Clones::default();
        for &block in region {
            self.terminator(block)?;
            if self.flow().entry() == Some(block) {
                return Err(self.entity(Value::block(block), "is the entry of its function"));
            }
            if clones.blocks.insert(block, block).is_some() {
                return Err(self.entity(Value::block(block), "is in the region twice"));
            }
        }
        for &block in region {
            self.check_catching(block, &clones)?;
        }
        let insts = region.iter().map(|&block| self.body().block_insts(block).count());
        self.check_room(region.len(), insts.sum())?;
        let last = self.flow().order().iter().rposition(|b| clones.blocks.contains_key(b));
        let first = last.map_or(0, |last| last + 1);
        for (at, &block) in (first..).zip(region) {
            let name = self.extras().names.block(block).unwrap_or_default().to_vec();
            let new = self.block_at(at, "");
            self.put_name(Named::Block(raw(new)), &name);
            clones.blocks.insert(block, new);
        }
        for &block in region {
            self.clone_insts(block, &mut clones);
        }
        for &block in region {
            self.connect(block, &clones);
        }
        self.forget_mentions();
        Ok(clones)
    }

    /// Checks that pads and `catchswitch` are cloned together: each pad belongs to one
    /// `catchswitch`, which leads to its own pads only.
    fn check_catching(&self, block: BlockId, clones: &Clones) -> Result<(), BuildError> {
        let body = self.body();
        let is_within = |block: Option<BlockId>| block.is_some_and(|b| clones.block(b).is_some());
        let pad = |block| {
            let mut insts = body.block_insts(block);
            let first = insts.find(|&i| body.inst(i).opcode != Opcode::Phi);
            first.filter(|&i| body.inst(i).opcode == Opcode::CatchPad)
        };
        let parent = |pad| {
            let insts = body.operands(pad).iter().filter_map(|value| value.as_inst());
            insts.filter(|&i| body.inst(i).opcode == Opcode::CatchSwitch).last()
        };
        let end = self.terminator(block)?;
        if body.inst(end).opcode == Opcode::CatchSwitch {
            let outside = self.flow().successors(block).iter().filter(|&&to| !is_within(Some(to)));
            if outside.copied().filter_map(pad).any(|pad| parent(pad) == Some(end)) {
                return Err(self.entity(end.into(), "is in the region without its pads"));
            }
        }
        match pad(block).filter(|&pad| !is_within(parent(pad).and_then(|p| body.block_of(p)))) {
            Some(pad) => Err(self.entity(pad.into(), "is in the region without its `catchswitch`")),
            None => Ok(()),
        }
    }

    /// Clones the instructions of a block, still without operands.
    fn clone_insts(&mut self, block: BlockId, clones: &mut Clones) {
        let to = clones.blocks[&block];
        let insts: Vec<InstId> = self.body().block_insts(block).collect();
        for inst in insts {
            let data = *self.body().inst(inst);
            let new = self.create_like(data, &[]);
            self.link(to, new, None);
            clones.insts.insert(inst, new);
            let attachments = self.extras().attachments_of(inst).collect();
            self.put_attachments(new, attachments);
            let name = self.extras().names.inst(inst).unwrap_or_default().to_vec();
            self.put_name(Named::Inst(raw(new)), &name);
        }
    }

    /// Gives the clones their operands and edges.
    fn connect(&mut self, block: BlockId, clones: &Clones) {
        let to = clones.blocks[&block];
        let insts: Vec<InstId> = self.body().block_insts(block).collect();
        for inst in insts {
            let new = clones.insts[&inst];
            let is_phi = self.body().inst(inst).opcode == Opcode::Phi;
            let operands: SmallVec<[Value; 8]> = match is_phi {
                true => {
                    let within = |(_, from): &(Value, BlockId)| clones.blocks.contains_key(from);
                    let entries: SmallVec<[_; 8]> =
                        self.body().phi_incoming(inst).filter(within).collect();
                    let values = entries.iter().map(|e| clones.value(e.0));
                    let blocks = entries.iter().map(|e| clones.value(Value::block(e.1)));
                    values.chain(blocks).collect()
                }
                false => self.body().operands(inst).iter().map(|&v| clones.value(v)).collect(),
            };
            let operands: SmallVec<[Value; 8]> =
                operands.into_iter().map(|v| self.clone_metadata(v, clones)).collect();
            self.put_operands(new, &operands);
            if is_phi {
                self.pend(to);
            }
            let map = |record: &DebugRecord| {
                let mut record = record.clone();
                record.for_each_value_mut(&mut |v| *v = clones.value(*v));
                record
            };
            let records = self.extras().debug_records_before(inst).map(map).collect();
            self.put_debug_records(new, records);
        }
        let successors: SmallVec<[BlockId; 4]> = self.flow().successors(block).into();
        let mapped: SmallVec<[BlockId; 4]> =
            successors.iter().map(|&s| clones.block(s).unwrap_or(s)).collect();
        self.put_successors(to, &mapped);
        for &outside in successors.iter().filter(|s| !clones.blocks.contains_key(s)) {
            for phi in self.phis_of(outside) {
                if let Some(value) = self.phi_input(phi, block) {
                    self.push_input(phi, clones.value(value), to);
                }
            }
            self.pend(outside);
        }
    }

    /// The operand of a clone for metadata that wraps a value of the region: metadata that wraps
    /// its clone.
    fn clone_metadata(&mut self, value: Value, clones: &Clones) -> Value {
        let ValueKind::Metadata(id) = value.kind() else { return value };
        let old: &LocalMetadata = self.body().local_metadata(id);
        let mut new = old.clone();
        new.for_each_value_mut(&mut |v| *v = clones.value(*v));
        if new == *old {
            return value;
        }
        Value::metadata(self.body_to_change().add_local_metadata(new))
    }
}
