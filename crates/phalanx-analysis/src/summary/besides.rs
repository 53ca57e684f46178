//! What a call does besides computing a result: the union of the effects of single instructions.

use phalanx_graph::Cycles;
use phalanx_ir::{InstId, Opcode, Type};

use super::results::Results;
use crate::code::{
    Code, Environment,
    calls::{Effects, Summary, Through},
};

/// The contribution of a single instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InstEffects {
    effects: Effects,
    writes_memory: bool,
}

impl InstEffects {
    /// The contribution of an instruction. `None` if it has no effect.
    #[must_use]
    pub fn by(code: Code<'_>, env: Environment<'_>, inst: InstId) -> Option<InstEffects> {
        let effects = Effects::at(code, env, inst);
        let told = InstEffects { effects, writes_memory: writes_memory(code, inst) };
        (told.writes_memory || effects != Effects::NONE).then_some(told)
    }
}

/// The union of the contributions of all instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Besides {
    effects: Effects,
    writes_memory: bool,
}

impl Besides {
    /// Computes the union for a function. O(instructions).
    #[must_use]
    pub fn new(code: Code<'_>, env: Environment<'_>, cycles: &Cycles) -> Besides {
        let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        Besides::of(code, cycles, insts.filter_map(|inst| InstEffects::by(code, env, inst)))
    }

    /// Computes the union from the contributions of instructions. Repetitions do not matter.
    #[must_use]
    pub fn of(code: Code<'_>, cycles: &Cycles, all: impl Iterator<Item = InstEffects>) -> Besides {
        let mut writes_memory = false;
        let all = all.inspect(|told| writes_memory |= told.writes_memory);
        let effects = Effects::of(code, cycles, all.map(|told| told.effects));
        Besides { effects, writes_memory }
    }

    /// The summary of a function that returns nothing and writes memory: it is known without a
    /// solution.
    #[must_use]
    pub fn without_result(self, code: Code<'_>, through: Option<Box<Through>>) -> Option<Summary> {
        let is_known = code.header.ret == Type::VOID && self.writes_memory;
        is_known.then(|| self.with_results(code, through, Results::default()))
    }

    /// The summary of a function with these results.
    #[must_use]
    pub fn with_results(
        self,
        code: Code<'_>,
        through: Option<Box<Through>>,
        Results { result, members, is_timeless }: Results,
    ) -> Summary {
        let Besides { effects, .. } = self;
        let bottom = Summary::bottom(code.header);
        Summary { effects, through, result, members, is_timeless, ..bottom }
    }
}

/// Whether an instruction writes to memory or orders accesses, so that the effect of a call depends
/// on when it is made.
fn writes_memory(code: Code<'_>, inst: InstId) -> bool {
    matches!(
        code.body.inst(inst).opcode,
        Opcode::Store | Opcode::AtomicRmw | Opcode::CmpXchg | Opcode::Fence
    )
}
