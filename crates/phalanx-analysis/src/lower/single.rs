//! The rules for single instructions, for callers that need no table of the whole function.
//!
//! The rules are those of [`full`](super::full) without private memory: the content of private
//! memory is unknown. O(1) for each instruction, and its [shape](crate::shape) if a rule needs it.

use phalanx_core::{
    affect::Value,
    divergence::{Transfer, differ},
};
use phalanx_ir::{InstId, Opcode};
use phalanx_target::SourceSet;

use super::full::FullRules;
use super::rule::{LoweringRules, has_operands, incoming, operands, rule_of};
use crate::code::{Code, Environment, Numbering};

/// Answers for one instruction after another.
pub(crate) struct Single<'a> {
    code: Code<'a>,
    numbering: Numbering,
    rules: FullRules<'a>,
}

/// What a definition contributes by itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contribution {
    /// The sources that it introduces.
    pub(crate) seed: SourceSet,
    /// Whether the result is a function of the operands alone; true for a phi whose entries
    /// cannot differ.
    pub(crate) is_pure: bool,
    /// Whether the result ignores the operands.
    pub(crate) is_fixed: bool,
}

impl<'a> Single<'a> {
    pub(crate) fn new(code: Code<'a>, env: Environment<'a>) -> Self {
        let numbering = Numbering::new(code.header);
        Single { code, numbering, rules: FullRules::new(code, env) }
    }

    /// The sources of an argument.
    pub(crate) fn argument(&mut self, position: u32) -> SourceSet {
        self.rules.argument(position).seed
    }

    pub(crate) fn contribution(&mut self, inst: InstId) -> Contribution {
        if self.code.body.inst(inst).opcode == Opcode::Phi {
            let is_pure = !self.selects(inst);
            return Contribution { seed: SourceSet::EMPTY, is_pure, is_fixed: false };
        }
        let definition = rule_of(self.code.body, &mut self.rules, inst).definition;
        let is_fixed = definition.transfer == Transfer::Fixed;
        Contribution { seed: definition.seed, is_pure: definition.is_pure, is_fixed }
    }

    /// The values that an instruction's definition reads. None for a terminator that is no call:
    /// its operands decide where it goes.
    pub(crate) fn reads(&mut self, inst: InstId, mut call: impl FnMut(Value)) {
        let Code { context, body, .. } = self.code;
        match body.inst(inst).opcode {
            Opcode::Phi => {
                incoming(context, body, self.numbering, &mut self.rules, inst, |entry| {
                    entry.value.into_iter().for_each(&mut call);
                });
            }
            opcode if has_operands(opcode) => {
                let rule = rule_of(body, &mut self.rules, inst);
                operands(body, self.numbering, inst, rule.reads, call);
            }
            _ => {}
        }
    }

    /// Whether a phi has entries that may differ from each other.
    fn selects(&mut self, phi: InstId) -> bool {
        let Code { context, body, .. } = self.code;
        let mut keys = Vec::new();
        incoming(context, body, self.numbering, &mut self.rules, phi, |entry| keys.push(entry.key));
        differ(self.numbering.inst(phi), keys.into_iter())
    }
}
