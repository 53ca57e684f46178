//! Rules for results of inline assembly, from its text: the sources of each result.
//!
//! ```text
//! %b = call i32 asm "mov.u32 $0, %ctaid.x;", "=r"()              block x, and nothing else
//! %s = call i32 asm "add.s32 $0, $1, %tid.x;", "=r,r"(i32 %a)    thread x, and what %a has
//! ```
//!
//! [`Assembly`](phalanx_target::inline_asm::Assembly) gives a graph of values. Each value, from the
//! first on, gets its own sources, and an image: what it makes of the sources of the call's
//! arguments. An operation follows the table of its intrinsic. A value that the text does not
//! explain is divergent. On AMD GPUs a scalar register, in addition, holds one value per wave.
//!
//! **Complexity.** O(length of the text × sources).

use phalanx_core::divergence::{self, Definition};
use phalanx_ir::{Const, Value, constant::InlineAsm};
use phalanx_target::{SourceSet, TransferContext, inline_asm::AsmValue, target::Architecture};

use super::results::{OperandFacts, rule_of};
use super::rule::{Reads, Rule};
use crate::code::{Code, read_assembly};

/// The number of arguments that are told apart.
const ARGUMENTS: usize = 64;

/// What is known of a value of the text.
#[derive(Clone)]
struct Part {
    /// Sources of its own.
    seed: SourceSet,
    /// What each source of an argument becomes.
    image: [SourceSet; SourceSet::COUNT],
    /// The arguments that the value is computed from, one bit each.
    arguments: u64,
    /// Whether the value is a function of the arguments and of the thread.
    is_pure: bool,
    /// The integer constant that the value is.
    constant: Option<u64>,
}

impl Part {
    const ANYTHING: Part = Part {
        seed: SourceSet::OPAQUE_THREAD,
        image: [SourceSet::EMPTY; SourceSet::COUNT],
        arguments: 0,
        is_pure: false,
        constant: None,
    };

    const NOTHING: Part = Part { seed: SourceSet::EMPTY, is_pure: true, ..Part::ANYTHING };

    /// The union of both.
    fn with(mut self, other: &Part) -> Part {
        self.seed |= other.seed;
        for (mine, its) in self.image.iter_mut().zip(other.image) {
            *mine |= its;
        }
        self.arguments |= other.arguments;
        self.is_pure &= other.is_pure;
        self.constant = None;
        self
    }

    /// The part after a rule has been applied to its sources.
    fn through(&self, image: Option<&[SourceSet; SourceSet::COUNT]>) -> Part {
        let mut part = Part { seed: apply(image, self.seed), ..self.clone() };
        part.image.iter_mut().for_each(|of| *of = apply(image, *of));
        part
    }
}

fn identity() -> [SourceSet; SourceSet::COUNT] {
    std::array::from_fn(|bit| SourceSet::from_bits(1 << bit))
}

fn apply(image: Option<&[SourceSet; SourceSet::COUNT]>, sources: SourceSet) -> SourceSet {
    let Some(image) = image else { return sources };
    let has = |bit: &usize| sources.intersects(SourceSet::from_bits(1 << bit));
    let bits = (0..SourceSet::COUNT).filter(has);
    bits.fold(SourceSet::EMPTY, |all, bit| all | image[bit])
}

/// The rule of a call of assembly, or of member `result` of the structure that it returns. None if
/// the text explains nothing of it.
pub(super) fn rule(
    code: Code<'_>,
    (asm, architecture): (&InlineAsm, Architecture),
    (arguments, integer): (&[Value], &dyn Fn(Const) -> Option<u64>),
    context: &TransferContext,
    result: Option<u32>,
) -> Option<Rule> {
    let read = read_assembly(code, asm, architecture);
    if arguments.len() > ARGUMENTS {
        return None;
    }
    let mut parts: Vec<Part> = Vec::with_capacity(read.values.len());
    for value in &read.values {
        let part = match value {
            AsmValue::Argument(position) => match arguments.get(*position as usize) {
                Some(argument) => Part {
                    image: identity(),
                    arguments: 1 << position,
                    constant: argument.as_const().and_then(integer),
                    ..Part::NOTHING
                },
                None => Part::ANYTHING,
            },
            AsmValue::Integer(number) => Part { constant: Some(*number as u64), ..Part::NOTHING },
            AsmValue::Of(from) => {
                from.iter().fold(Part::NOTHING, |all, &from| all.with(&parts[from]))
            }
            AsmValue::Result { operation, index } => {
                let operation = &read.operations[*operation];
                let from: Vec<&Part> = operation.arguments.iter().map(|&at| &parts[at]).collect();
                let facts: Vec<OperandFacts> = from
                    .iter()
                    .map(|part| OperandFacts {
                        constant: part.constant,
                        varies: part.arguments != 0 || !part.seed.is_empty(),
                        may_be_private: true,
                    })
                    .collect();
                let info = operation.intrinsic.info;
                let is_pure = info.is_invariant_with_operands();
                let rule = rule_of(info.result_at(*index), &facts, context, is_pure);
                let own = Part { seed: rule.definition.seed, is_pure, ..Part::NOTHING };
                let is_read = |at: usize| match rule.reads {
                    Reads::Some(mask) => at >= 64 || mask >> at & 1 == 1,
                    _ => true,
                };
                from.iter()
                    .enumerate()
                    .filter(|&(at, _)| is_read(at))
                    .fold(own, |all, (_, part)| all.with(&part.through(rule.image.as_ref())))
            }
            AsmValue::Anything => Part::ANYTHING,
        };
        parts.push(part);
    }
    let results = match result {
        Some(index) => vec![*read.results.get(index as usize)?],
        None => read.results,
    };
    let part = results.iter().fold(Part::NOTHING, |all, &at| all.with(&parts[at]));
    let is_fixed = part.arguments == 0;
    let transfer = match is_fixed {
        true => divergence::Transfer::Fixed,
        false => divergence::Transfer::Propagate,
    };
    let definition = Definition { seed: part.seed, transfer, is_pure: part.is_pure };
    let image = (!is_fixed && part.image != identity()).then_some(part.image);
    Some(Rule { definition, image, reads: Reads::Some(part.arguments) })
}

/// The rule of a result in a register that the whole wave shares.
pub(super) fn in_scalar_register(rule: Option<Rule>, context: &TransferContext) -> Rule {
    let seed = SourceSet::OPAQUE_WAVE;
    let fixed = divergence::Transfer::Fixed;
    let unknown = Rule::new(Definition { seed, transfer: fixed, is_pure: false });
    let Some(rule) = rule else { return unknown };
    let per_wave = |sources: SourceSet| match sources.intersects(context.wave) {
        true => (sources - context.wave) | SourceSet::OPAQUE_WAVE,
        false => sources,
    };
    let image = rule.image.unwrap_or_else(identity);
    let is_fixed = rule.definition.transfer == fixed;
    Rule {
        definition: Definition { seed: per_wave(rule.definition.seed), ..rule.definition },
        image: (!is_fixed).then(|| image.map(per_wave)),
        reads: rule.reads,
    }
}

/// Whether this module reads assembly texts of a target.
pub(super) const fn is_read(architecture: Architecture) -> bool {
    matches!(architecture, Architecture::Amdgcn | Architecture::Nvptx)
}
