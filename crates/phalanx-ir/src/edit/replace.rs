//! Replaces a value by another where it is read.
//!
//! All uses are checked before the first one is changed, so a replacement is done completely or not
//! at all. O(uses), and O(operands) for uses in instructions with rules beyond types.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::{Transaction, Use, insts::Plan};
use crate::extras::Named;
use crate::{
    body::{InstId, raw},
    builder::BuildError,
    value::{Value, ValueKind},
};

impl Transaction<'_> {
    /// Replaces `old` by `new` in everything that reads it: operands and debug information.
    /// O(uses).
    ///
    /// # Errors
    /// When their types differ, or one of them is not a value of the function. When a reader of
    /// `old` cannot read `new`: callees, tokens and stack slots have rules beyond their type. When
    /// `new` reads `old` itself and is no phi: it would read its own result, which is allowed in
    /// unreachable code only. To insert an instruction between a value and all its other readers,
    /// use [`Transaction::replace_uses_where`]. `old` must be an instruction or an argument.
    pub fn replace_all_uses(
        &mut self,
        old: impl Into<Value>,
        new: impl Into<Value>,
    ) -> Result<(), BuildError> {
        let (old, new) = (old.into(), new.into());
        self.replace_uses_where(old, new, |_| true)?;
        self.replace_mentions(old, new);
        Ok(())
    }

    /// As [`Transaction::replace_all_uses`], for the operands for which `which` holds; debug
    /// information stays. A phi has one value for all edges from one block: if `which` holds for
    /// one of them, all are replaced.
    ///
    /// # Errors
    /// As [`Transaction::replace_all_uses`].
    pub fn replace_uses_where(
        &mut self,
        old: impl Into<Value>,
        new: impl Into<Value>,
        mut which: impl FnMut(Use) -> bool,
    ) -> Result<(), BuildError> {
        let (old, new) = (old.into(), new.into());
        if !matches!(old.kind(), ValueKind::Inst(_) | ValueKind::Arg(_)) {
            return Err(self.entity(old, "has no uses that could be replaced"));
        }
        if self.checked_type(old)? != self.checked_type(new)? {
            return Err(self.entity(new, "has another type than the value it is to replace"));
        }
        if old == new {
            return Ok(());
        }
        let mut left = Vec::new();
        let mut uses: Vec<_> = self
            .uses_of(old)
            .filter(|&u| {
                let is_wanted = which(u);
                if !is_wanted {
                    left.push(u);
                }
                is_wanted
            })
            .collect();
        let is_all = left.is_empty();
        self.take_parallel(&mut uses, left);
        self.check_uses(&uses, is_all, old, new)?;
        for Use { user, index } in uses {
            self.put_operand(user, index, new);
        }
        Ok(())
    }

    /// Checks that `new` can be read in all these places: callees, tokens and slots have rules
    /// beyond their type.
    fn check_uses(
        &self,
        uses: &[Use],
        is_all: bool,
        old: Value,
        new: Value,
    ) -> Result<(), BuildError> {
        let Some(ty) = self.type_of(new) else { return Ok(()) };
        for found in uses {
            self.check_not_itself(found.user, new)?;
        }
        let chosen: FxHashSet<Use> =
            if is_all { FxHashSet::default() } else { uses.iter().copied().collect() };
        let mut last = None;
        for &Use { user, .. } in uses {
            let body = self.body();
            let data = *body.inst(user);
            if last == Some(user) || self.is_simple((body, data.opcode), old, new, ty) {
                continue;
            }
            last = Some(user);
            self.check_not_parent((user, data.opcode), old)?;
            let mut operands: SmallVec<[Value; 8]> = body.operands(user).into();
            for (index, operand) in (0..).zip(&mut operands) {
                if *operand == old && (is_all || chosen.contains(&Use { user, index })) {
                    *operand = new;
                }
            }
            self.check_plan(user, &Plan { data, operands: &operands, call: None })?;
        }
        Ok(())
    }

    /// Replaces an instruction by `new` in everything that reads it, and erases the instruction. If
    /// `new` is an instruction without a name, it gets the name.
    ///
    /// # Errors
    /// As [`Transaction::replace_all_uses`] and [`Transaction::erase`].
    pub fn replace(&mut self, inst: InstId, new: impl Into<Value>) -> Result<(), BuildError> {
        let new = new.into();
        self.linked(inst)?;
        self.check_erasable(inst)?;
        if new == Value::inst(inst) {
            return Err(self.entity(new, "cannot take its own place"));
        }
        self.replace_all_uses(inst, new)?;
        let name = self.extras().names.inst(inst).map(<[u8]>::to_vec);
        self.erase(inst)?;
        if let (Some(name), Some(new)) = (name, new.as_inst())
            && self.extras().names.inst(new).is_none()
        {
            self.put_name(Named::Inst(raw(new)), &name);
        }
        Ok(())
    }
}
