//! Cases of a `switch`, one at a time.
//!
//! A `switch` stores its cases twice: the values are operands, and the targets are successors of
//! its block, each at the same position. At position 0 are the tested value and the default. Both
//! runs grow as those of phis do: when a run has no room left, it moves to a place with as much
//! room again.
//!
//! ```text
//! switch i32 %x, label %other [ i32 7, label %a  i32 9, label %b ]
//!
//! place       0       1   2
//! operands    %x      7   9
//! successors  %other  %a  %b
//! ```

use crate::{
    body::{Body, InstId, raw},
    builder::BuildError,
    constant::Const,
    edit::{Transaction, store},
    flow::{BlockFlow, BlockId, Flow},
    inst::{Opcode, OperandRange},
    metadata::{Attachment, kind},
    value::Value,
};

impl Transaction<'_> {
    fn switch_of(&self, block: BlockId) -> Result<InstId, BuildError> {
        let terminator = self.terminator(block)?;
        match self.body().inst(terminator).opcode {
            Opcode::Switch => Ok(terminator),
            _ => Err(self.entity(terminator.into(), "is no `switch`")),
        }
    }

    /// The place of a value's case among the successors of a block that ends in a `switch`; none
    /// when there is no such case. The default has place 0. O(cases).
    pub fn case_of(&self, block: BlockId, value: Const) -> Option<usize> {
        let switch = self.switch_of(block).ok()?;
        let types = store::env(self.store).types;
        let tested = *self.body().operands(switch).first()?;
        let is_int = self.type_of(value).is_some() && types.is_plain_int(value);
        if !is_int || self.type_of(tested) != self.type_of(value) {
            return None;
        }
        let key = types.int_key(value);
        let is_equal = |case: &Value| {
            *case == Value::from(value) || case.as_const().is_some_and(|c| types.int_key(c) == key)
        };
        let cases = self.body().operands(switch).iter().skip(1);
        Some(1 + cases.into_iter().position(is_equal)?)
    }

    /// Adds a case to the `switch` at the end of a block, behind the others; returns its place
    /// among the successors. Phis of the target need a value for the edge, by
    /// [`Transaction::add_phi_input`], unless there is a parallel edge already. Branch weights of
    /// the `switch` are dropped. O(cases) to look for an equal one; O(1) beyond that, amortised.
    ///
    /// To let a case or the default (place 0) lead elsewhere, use [`Transaction::redirect_edge`].
    ///
    /// # Errors
    /// When the block does not end in a `switch`, the value is no valid case value or a case
    /// already, or the target is the entry or begins with a pad.
    pub fn add_case(
        &mut self,
        block: BlockId,
        value: Const,
        to: BlockId,
    ) -> Result<usize, BuildError> {
        let switch = self.switch_of(block)?;
        let ty = self.checked_type(value.into())?;
        let tested = self.body().operands(switch)[0];
        if !store::env(self.store).types.is_plain_int(value) || self.type_of(tested) != Some(ty) {
            return Err(self.entity(value.into(), "is no integer of the type that is tested"));
        }
        if self.case_of(block, value).is_some() {
            return Err(self.entity(value.into(), "has a case already"));
        }
        self.placed(to)?;
        self.check_not_entry(to)?;
        self.check_no_pad(to)?;
        let place = self.flow().successors(block).len();
        let is_parallel = self.flow().successors(block).contains(&to);
        self.push_operand(switch, value);
        self.push_successor(block, to);
        self.forget_profile(switch);
        self.edges_added(block, to, 1, is_parallel);
        Ok(place)
    }

    /// Removes a case from the `switch` at the end of a block, by its place among the successors:
    /// see [`Transaction::case_of`]. The cases behind it move by one place. Phis of its target lose
    /// the value of the edge, and branch weights of the `switch` are dropped. O(cases behind it).
    ///
    /// # Errors
    /// When the block does not end in a `switch`, or this is no place of a case: the default, at 0,
    /// stays.
    pub fn remove_case(&mut self, block: BlockId, place: usize) -> Result<(), BuildError> {
        let switch = self.switch_of(block)?;
        let Some(&to) = self.flow().successors(block).get(place).filter(|_| place > 0) else {
            return Err(self.entity(switch.into(), "has no such case"));
        };
        self.take_operand(switch, place as u32);
        self.take_successor(block, place as u32);
        self.forget_profile(switch);
        self.edges_removed(block, to, 1);
        Ok(())
    }

    /// Drops the branch weights, of which there is one for each successor.
    fn forget_profile(&mut self, inst: InstId) {
        let list: Vec<Attachment> = self.extras().attachments_of(inst).collect();
        if list.iter().any(|a| a.kind == kind::PROF) {
            self.put_attachments(inst, list.into_iter().filter(|a| a.kind != kind::PROF).collect());
        }
    }
}

impl Body {
    /// Adds an operand behind the others; returns the old run if it has moved. O(1) amortised.
    pub(super) fn push_operand(&mut self, inst: InstId, value: Value) -> Option<OperandRange> {
        let old = self.insts[raw(inst) as usize].operands;
        let end = (old.start + old.len) as usize;
        let has_room = old.len > 0 && self.pool.get(end) == Some(&Value::ROOM);
        let mut run = old;
        if !has_room {
            run.start = u32::try_from(self.pool.len()).expect("fewer than 2^32 operands");
            self.pool.extend_from_within(old.start as usize..end);
            self.pool.resize(self.pool.len() + old.len.max(4) as usize, Value::ROOM);
        }
        self.pool[(run.start + run.len) as usize] = value;
        run.len += 1;
        self.insts[raw(inst) as usize].operands = run;
        (!has_room).then_some(old)
    }

    /// Removes an operand, but not the only one; its slot becomes room. O(operands behind it).
    pub(super) fn take_operand(&mut self, inst: InstId, index: u32) -> Value {
        let run = &mut self.insts[raw(inst) as usize].operands;
        let (at, end) = ((run.start + index) as usize, (run.start + run.len) as usize);
        run.len -= 1;
        let old = self.pool[at];
        self.pool.copy_within(at + 1..end, at);
        self.pool[end - 1] = Value::ROOM;
        old
    }

    /// Puts back what [`Body::take_operand`] removed.
    pub(super) fn put_operand_back(&mut self, inst: InstId, index: u32, value: Value) {
        let run = &mut self.insts[raw(inst) as usize].operands;
        let (at, end) = ((run.start + index) as usize, (run.start + run.len) as usize);
        run.len += 1;
        self.pool.copy_within(at..end, at + 1);
        self.pool[at] = value;
    }
}

/// The marker of room in the edge pool.
fn room() -> BlockId {
    BlockId::from_raw(u32::MAX.into())
}

impl Flow {
    /// Adds a successor behind the others; returns the old run if it has moved. O(1) amortised.
    pub(super) fn push_successor(&mut self, block: BlockId, to: BlockId) -> Option<BlockFlow> {
        let old = self.blocks[raw(block) as usize];
        let end = (old.start + old.len) as usize;
        let has_room = old.len > 0 && self.pool.get(end) == Some(&room());
        let mut run = old;
        if !has_room {
            run.start = u32::try_from(self.pool.len()).expect("fewer than 2^32 edges");
            self.pool.extend_from_within(old.start as usize..end);
            self.pool.resize(self.pool.len() + old.len.max(4) as usize, room());
        }
        self.pool[(run.start + run.len) as usize] = to;
        run.len += 1;
        self.blocks[raw(block) as usize] = run;
        (!has_room).then_some(old)
    }

    /// Removes a successor, but not the only one; its slot becomes room. O(successors behind it).
    pub(super) fn take_successor(&mut self, block: BlockId, index: u32) -> BlockId {
        let run = &mut self.blocks[raw(block) as usize];
        let (at, end) = ((run.start + index) as usize, (run.start + run.len) as usize);
        run.len -= 1;
        let old = self.pool[at];
        self.pool.copy_within(at + 1..end, at);
        self.pool[end - 1] = room();
        old
    }

    /// Puts back what [`Flow::take_successor`] removed.
    pub(super) fn put_successor_back(&mut self, block: BlockId, index: u32, to: BlockId) {
        let run = &mut self.blocks[raw(block) as usize];
        let (at, end) = ((run.start + index) as usize, (run.start + run.len) as usize);
        run.len += 1;
        self.pool.copy_within(at..end, at + 1);
        self.pool[at] = to;
    }
}
