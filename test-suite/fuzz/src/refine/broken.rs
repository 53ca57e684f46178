//! Passes that mishandle poison, which the refinement law has to detect.
//!
//! Each makes one mistake that real passes have made, wherever possible. A law that does not detect
//! them is useless. For example [`Mistake::Unfrozen`] is `linearize` without the freezes of
//! conditions.
//!
//! Invariant: the result is well-formed; only its meaning is wrong.

use phalanx::{
    db::{Database, FunctionInput},
    ir::{
        BlockId, BuildError, ConstKind, InstFlags, InstId, Opcode, Value, ValueKind,
        edit::Transaction,
    },
    transform::{Outcome, Pass, PassError, Registry, linearize::Linearize},
};
use std::sync::Arc;

/// What is wrong with a pass.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// Runs `linearize`, and then removes all freezes.
    Unfrozen,
    /// Adds flags that sums do not overflow.
    Promises,
    /// Moves divisions before the branch that guards them.
    Early,
    /// Swaps the operands of a logical `and` or `or`.
    Swapped,
    /// Replaces `undef` by poison.
    Poison,
}

impl Mistake {
    /// All mistakes.
    pub const ALL: &[Mistake] =
        &[Mistake::Unfrozen, Mistake::Promises, Mistake::Early, Mistake::Swapped, Mistake::Poison];

    /// The name of the pass.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mistake::Unfrozen => "unfrozen",
            Mistake::Promises => "promises",
            Mistake::Early => "early",
            Mistake::Swapped => "swapped",
            Mistake::Poison => "poison",
        }
    }

    /// The standard passes and this one.
    #[must_use]
    pub fn registry(self) -> Registry {
        let mut registry = Registry::standard();
        registry.add(Arc::new(Broken(self)));
        registry
    }
}

struct Broken(Mistake);

impl Pass for Broken {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        if self.0 == Mistake::Unfrozen {
            Linearize::default().run(db, function)?;
        }
        let (flow, body) = (function.flow(db), function.body(db));
        let all: Vec<InstId> =
            flow.order().iter().flat_map(|&block| body.block_insts(block)).collect();
        let is_changed = db.edit(function, |edit| {
            let mut is_changed = false;
            for inst in all {
                is_changed |= mistake(self.0, edit, inst)?;
            }
            Ok::<bool, BuildError>(is_changed)
        })?;
        Ok(Outcome::changed(is_changed))
    }
}

/// Makes the mistake with an instruction, if it can be made there.
fn mistake(mistake: Mistake, edit: &mut Transaction<'_>, inst: InstId) -> Result<bool, BuildError> {
    let data = *edit.body().inst(inst);
    let operands: Vec<Value> = edit.body().operands(inst).to_vec();
    match (mistake, data.opcode) {
        (Mistake::Unfrozen, Opcode::Freeze) => {
            let uses: Vec<_> = edit.uses_of(inst).collect();
            for read in &uses {
                edit.set_operand(read.user, read.index, operands[0])?;
            }
            Ok(!uses.is_empty())
        }
        (Mistake::Promises, Opcode::Add) if data.flags == InstFlags::NONE => {
            edit.set_flags(inst, InstFlags::NUW)?;
            Ok(true)
        }
        (Mistake::Early, Opcode::UDiv | Opcode::URem) => {
            let Some(block) = edit.body().block_of(inst) else { return Ok(false) };
            let is_here = |value: &Value| {
                value.as_inst().is_some_and(|of| edit.body().block_of(of) == Some(block))
            };
            let flow = edit.flow();
            let leads_here = |&&from: &&BlockId| flow.successors(from).contains(&block);
            let before: Vec<BlockId> = flow.order().iter().filter(leads_here).copied().collect();
            match before[..] {
                [before] if before != block && !operands.iter().any(is_here) => {
                    edit.move_to_end(inst, before)?;
                    Ok(true)
                }
                _ => Ok(false),
            }
        }
        (Mistake::Swapped, Opcode::Select) => {
            let is_bit = |value: Value| match value.kind() {
                ValueKind::Const(constant) => {
                    matches!(edit.context().const_data(constant).kind, ConstKind::Int(_))
                }
                _ => false,
            };
            let [condition, yes, no] = operands[..] else { return Ok(false) };
            let is_one = edit.type_of(yes) == edit.type_of(condition);
            let (part, index) = match (is_bit(yes), is_bit(no)) {
                (false, true) => (yes, 1),
                (true, false) => (no, 2),
                _ => return Ok(false),
            };
            if !is_one {
                return Ok(false);
            }
            edit.set_operand(inst, 0, part)?;
            edit.set_operand(inst, index, condition)?;
            Ok(true)
        }
        (Mistake::Poison, _) => {
            let mut is_changed = false;
            for (index, operand) in operands.iter().enumerate() {
                let ValueKind::Const(constant) = operand.kind() else { continue };
                let context = edit.context();
                let data = context.const_data(constant);
                if matches!(data.kind, ConstKind::Undef) {
                    let poison = context.const_poison(data.ty);
                    edit.set_operand(inst, index as u32, poison)?;
                    is_changed = true;
                }
            }
            Ok(is_changed)
        }
        _ => Ok(false),
    }
}
