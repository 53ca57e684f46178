//! How arguments and instructions of a function are numbered as values of the analyses.
//!
//! Arguments come first, then instructions by id, unlinked ones included. The number of an
//! instruction does not depend on other instructions, so facts stay in place when the function is
//! edited.
//!
//! ```text
//! define void @f(i32 %a, i32 %b) {   ; %a: value 0, %b: value 1
//!   %x = add i32 %a, %b              ; the instruction with id 0: value 2
//! ```

use phalanx_core::affect::Value;
use phalanx_ir::{FunctionHeader, InstId};

/// The numbering of one function.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Numbering {
    arguments: u32,
}

/// What a [`Value`] stands for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Definition {
    /// The argument with this position.
    Argument(u32),
    /// This instruction.
    Inst(InstId),
}

/// The function has no such value.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct NotThere;

impl Numbering {
    /// The numbering of the function with this header.
    #[inline]
    #[must_use]
    pub fn new(header: &FunctionHeader) -> Self {
        Numbering { arguments: header.params.len() as u32 }
    }

    /// The value of an argument.
    #[inline]
    #[must_use]
    pub fn argument(self, position: u32) -> Value {
        debug_assert!(position < self.arguments);
        Value::from_raw(position)
    }

    /// The value of an instruction.
    #[inline]
    #[must_use]
    pub fn inst(self, inst: InstId) -> Value {
        Value::from_raw(self.arguments + inst.into_raw().into_u32())
    }

    /// The value of an operand; none for constants, blocks and metadata.
    #[inline]
    #[must_use]
    pub fn operand(self, operand: phalanx_ir::Value) -> Option<Value> {
        match operand.kind() {
            phalanx_ir::ValueKind::Inst(inst) => Some(self.inst(inst)),
            phalanx_ir::ValueKind::Arg(position) => Some(self.argument(position)),
            _ => None,
        }
    }

    /// As [`Numbering::operand`], for facts about the first `count` values; an error for an operand
    /// that is not among them.
    #[inline]
    pub fn operand_of(
        self,
        operand: phalanx_ir::Value,
        count: usize,
    ) -> Result<Option<Value>, NotThere> {
        let number = match operand.kind() {
            phalanx_ir::ValueKind::Arg(at) if at >= self.arguments => return Err(NotThere),
            phalanx_ir::ValueKind::Inst(inst) if !self.is_below(inst, count) => {
                return Err(NotThere);
            }
            _ => self.operand(operand),
        };
        Ok(number)
    }

    /// Whether an instruction is among the first `count` values.
    #[inline]
    #[must_use]
    pub fn is_below(self, inst: InstId, count: usize) -> bool {
        (inst.into_raw().into_u32() as usize) < count.saturating_sub(self.arguments as usize)
    }

    /// What a value stands for.
    #[inline]
    #[must_use]
    pub fn definition(self, value: Value) -> Definition {
        match value.raw().checked_sub(self.arguments) {
            None => Definition::Argument(value.raw()),
            Some(inst) => Definition::Inst(InstId::from_raw(inst.into())),
        }
    }
}
