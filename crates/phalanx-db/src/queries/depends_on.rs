//! Which instructions an answer depends on, and which of them have changed.
//!
//! See [`RetainedAnswer`](crate::retained::place::RetainedAnswer), which asks.

use phalanx_analysis::lower::Code;
use phalanx_ir::{BlockId, InstId};

/// Whether an answer may depend on an instruction.
#[derive(Clone, Copy)]
pub(crate) enum DependsOn<'a> {
    /// The instruction tells by itself.
    Instruction(fn(Code<'_>, InstId) -> bool),
    /// So does something that is another one only where the number of what else is read is.
    WithEnvironment(&'a dyn Fn(Code<'_>, InstId) -> bool),
}

impl DependsOn<'_> {
    pub(super) fn ask(self, code: Code<'_>, inst: InstId) -> bool {
        match self {
            DependsOn::Instruction(ask) => ask(code, inst),
            DependsOn::WithEnvironment(ask) => ask(code, inst),
        }
    }
}

/// Instructions that have changed, by number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changed<'a> {
    /// Those that concern the answer, as they were or as they are.
    pub(super) affected: &'a [InstId],
    /// Those of them that have changed themselves: see [`Edited::own`]. What an instruction tells
    /// wherever it stands may be another of these alone.
    pub(super) own: &'a [InstId],
    pub(super) all: &'a [InstId],
    /// See [`Edited::blocks`].
    pub(super) blocks: Option<&'a [BlockId]>,
}

/// Whether an instruction is a call: answers about callees and places of calls depend on these
/// alone.
pub(super) fn is_call(code: Code<'_>, inst: InstId) -> bool {
    code.body.inst(inst).opcode.is_call()
}
