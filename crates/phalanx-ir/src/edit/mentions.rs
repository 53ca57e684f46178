//! Values that metadata mentions: operands of debug intrinsics and debug records.
//!
//! A mention is no use: it keeps nothing alive. When a value is replaced, its mentions are replaced
//! too. When it is erased, its mentions become poison, and a debugger says "optimised out".
//!
//! ```text
//! %v = add i32 %a, 1
//!   #dbg_value(i32 %v, !4, !DIExpression(), !9)     mentions %v; becomes poison if %v is erased
//! ```
//!
//! Mentions are found through a map. It is made when the first value of a function with debug
//! information is replaced or erased: O(mentions), once per transaction.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::{
    body::InstId,
    builder::BuildError,
    constant::Const,
    edit::Transaction,
    metadata::{DebugRecord, DebugVariableKind},
    value::{Value, ValueKind},
};

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Mention {
    /// Metadata used as an operand.
    Operand(u32),
    /// A debug record, by the number of the group of records that it belongs to.
    Record(u32),
}

/// The mentions of each value. A list may contain mentions that have gone since.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    of: FxHashMap<Value, SmallVec<[Mention; 2]>>,
    /// Instructions that have a metadata operand.
    holders: FxHashMap<u32, SmallVec<[InstId; 1]>>,
    /// The group of debug records that stand before an instruction. Records of a group stay
    /// together, and other groups can join it.
    groups: FxHashMap<InstId, u32>,
    /// Of each group: the group that it has joined, or itself; and the instruction that it stands
    /// before.
    joined: Vec<(u32, InstId)>,
}

impl Mentions {
    fn new(edit: &Transaction<'_>) -> Self {
        let mut mentions = Mentions::default();
        for (at, metadata) in (0..).zip(&edit.body().local_metadata) {
            for &value in metadata.values() {
                mentions.add(value, Mention::Operand(at));
            }
        }
        if !edit.body().local_metadata.is_empty() {
            for inst in edit.body().all_ids() {
                for operand in edit.body().operands(inst) {
                    if let ValueKind::Metadata(id) = operand.kind() {
                        mentions.holders.entry(id.into_raw().into_u32()).or_default().push(inst);
                    }
                }
            }
        }
        for (inst, record) in &edit.extras().debug_records {
            let group = mentions.group(*inst);
            for value in record.values() {
                mentions.add(value, Mention::Record(group));
            }
        }
        mentions
    }

    /// The number of mentions in the lists.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.of.values().map(SmallVec::len).sum()
    }

    fn group(&mut self, inst: InstId) -> u32 {
        let new = self.joined.len() as u32;
        let group = *self.groups.entry(inst).or_insert(new);
        if group == new {
            self.joined.push((new, inst));
        }
        group
    }

    /// Records that the debug records before one instruction were moved to before another.
    fn records_moved(&mut self, from: InstId, to: InstId) {
        let Some(group) = self.groups.remove(&from) else { return };
        let other = *self.groups.entry(to).or_insert(group);
        self.joined[group as usize] = (other, to);
    }

    /// The instruction that a group stands before.
    fn place(&mut self, mut group: u32) -> InstId {
        loop {
            let (next, inst) = self.joined[group as usize];
            if next == group {
                return inst;
            }
            // Path halving shortens later look-ups.
            self.joined[group as usize].0 = self.joined[next as usize].0;
            group = next;
        }
    }

    fn add(&mut self, value: Value, mention: Mention) {
        if value.as_const().is_none() {
            let list = self.of.entry(value).or_default();
            if list.last() != Some(&mention) {
                list.push(mention);
            }
        }
    }
}

impl Transaction<'_> {
    fn has_mentions(&self) -> bool {
        !self.body().local_metadata.is_empty() || !self.extras().debug_records.is_empty()
    }

    /// Replaces `old` by `new` in everything that mentions it.
    pub(super) fn replace_mentions(&mut self, old: Value, new: Value) {
        if !self.has_mentions() {
            return;
        }
        let mut mentions = match self.mentions.take() {
            Some(mentions) => mentions,
            None => Mentions::new(self),
        };
        let mut replace = |value: &mut Value| {
            if *value == old {
                *value = new;
            }
        };
        for mention in mentions.of.remove(&old).unwrap_or_default() {
            match mention {
                Mention::Operand(at) => {
                    let mut metadata = self.body().local_metadata[at as usize].clone();
                    metadata.for_each_value_mut(&mut replace);
                    if metadata != self.body().local_metadata[at as usize] {
                        self.put_local_metadata(at as usize, metadata);
                        // The holders read another value now.
                        for &holder in mentions.holders.get(&at).into_iter().flatten() {
                            self.touch(holder);
                        }
                    }
                }
                Mention::Record(group) => {
                    self.replace_in_debug_records(mentions.place(group), old, new);
                }
            }
            mentions.add(new, mention);
        }
        self.mentions = Some(mentions);
    }

    /// Replaces a value that is going to be erased by poison in everything that mentions it.
    pub(super) fn erase_mentions(&mut self, inst: InstId) {
        if self.has_mentions() {
            let poison = self.context().const_poison(self.body().inst(inst).ty);
            self.replace_mentions(Value::inst(inst), poison.into());
        }
    }

    /// Replaces constants for which `which` holds by poison in everything that mentions them: they
    /// refer to entities that are going to be removed from the module. Instruction operands that
    /// are such constants stay. O(instructions + mentions).
    pub fn forget_constants(&mut self, mut which: impl FnMut(Const) -> bool) {
        let context = std::sync::Arc::clone(&self.module().context);
        let mut replace = |value: &mut Value| {
            if let Some(constant) = value.as_const()
                && which(constant)
            {
                *value = context.const_poison(context.const_data(constant).ty).into();
            }
        };
        let mut changed = FxHashSet::default();
        for at in 0..self.body().local_metadata.len() {
            let mut metadata = self.body().local_metadata[at].clone();
            metadata.for_each_value_mut(&mut replace);
            if metadata != self.body().local_metadata[at] {
                self.put_local_metadata(at, metadata);
                changed.insert(at as u32);
            }
        }
        if !changed.is_empty() {
            let reads = |value: &Value| match value.kind() {
                ValueKind::Metadata(id) => changed.contains(&id.into_raw().into_u32()),
                _ => false,
            };
            let body = self.body();
            let holds = |&inst: &InstId| body.has(inst) && body.operands(inst).iter().any(reads);
            let holders: Vec<InstId> = body.all_ids().filter(holds).collect();
            holders.into_iter().for_each(|inst| self.touch(inst));
        }
        let mut places: Vec<InstId> = self.extras().debug_records.iter().map(|r| r.0).collect();
        places.dedup();
        for inst in places {
            let mut records: Vec<_> = self.extras().debug_records_before(inst).cloned().collect();
            records.iter_mut().for_each(|record| record.for_each_value_mut(&mut replace));
            self.put_debug_records(inst, records);
        }
    }

    /// Makes the debug records before an instruction say that the values of their variables are
    /// unknown. Call this when the instruction can now be reached without passing the place where a
    /// variable got its value. Records of variables in memory stay. O(debug records of the
    /// function).
    ///
    /// # Errors
    /// When the instruction is not in the function.
    pub fn forget_debug_values(&mut self, inst: InstId) -> Result<(), BuildError> {
        self.linked(inst)?;
        let mut records: Vec<DebugRecord> =
            self.extras().debug_records_before(inst).cloned().collect();
        for record in &mut records {
            let value = match record {
                DebugRecord::Variable(variable) if variable.kind == DebugVariableKind::Value => {
                    &mut variable.value
                }
                DebugRecord::Assign(assign) => &mut assign.value,
                _ => continue,
            };
            value.for_each_value_mut(&mut |value| {
                if let Some(ty) = self.type_of(*value) {
                    *value = self.context().const_poison(ty).into();
                }
            });
        }
        self.put_debug_records(inst, records);
        Ok(())
    }

    /// Moves the debug records before one instruction to before another, behind the records there.
    ///
    /// # Errors
    /// When one of them is not in the function.
    pub fn carry_debug_records(&mut self, from: InstId, to: InstId) -> Result<(), BuildError> {
        self.linked(from)?;
        self.linked(to)?;
        self.move_debug_records(to, Some(from));
        self.move_debug_records(from, Some(to));
        Ok(())
    }

    /// Moves the debug records before one instruction to before another, in front of the records
    /// there.
    pub(super) fn move_debug_records(&mut self, from: InstId, to: Option<InstId>) {
        match to {
            None => self.put_debug_records(from, Vec::new()),
            Some(to) => {
                if self.relink_debug_records(from, to)
                    && let Some(mentions) = &mut self.mentions
                {
                    mentions.records_moved(from, to);
                }
            }
        }
    }

    /// Discards the map: clones of debug records and of metadata operands have made new mentions.
    pub(super) fn forget_mentions(&mut self) {
        self.mentions = None;
    }
}
