//! The interface between a set of rules and the pass that asks it about single instructions.

use phalanx_core::{
    affect::Value,
    divergence::{self, Incoming, PhiKey, Transfer},
};
use phalanx_ir::{
    Body, Const, Context, InstId, LocalMetadataId, Opcode, ValueKind, constant::ConstKind,
    flow::node_of,
};
use phalanx_target::SourceSet;

use crate::code::Numbering;
use crate::shape;

/// How the definition of a value enters the table.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rule {
    /// Sources, transfer and purity. If the transfer is an image, it is in `image`.
    pub(super) definition: divergence::Definition,
    /// What each source of an operand becomes, by bit number, if it does not stay as it is.
    pub(super) image: Option<[SourceSet; SourceSet::COUNT]>,
    /// Which operands are read.
    pub(super) reads: Reads,
}

impl Rule {
    pub(super) const fn new(definition: divergence::Definition) -> Rule {
        Rule { definition, image: None, reads: Reads::All }
    }

    /// The rule of a pure function of the operands.
    pub(super) const PURE: Rule = Rule::new(divergence::Definition::PURE);
    /// The rule of a function of the operands that may give another result each time.
    pub(super) const IMPURE: Rule = Rule::new(divergence::Definition::IMPURE);
}

/// Which operands of which instruction a definition depends on.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reads {
    /// Its own, all of them.
    All,
    /// Those of its own whose bit is set; operands from 64 on are always read.
    Some(u64),
    /// As `Some`, of another instruction: a member of a call's result depends on the call's
    /// operands.
    Of(InstId, u64),
    /// These values, which need not be operands.
    Values([Option<Value>; shape::ATOMS]),
}

/// How a terminator enters the table, apart from its operands.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum TerminatorRule {
    /// Goes where its operands say.
    Operands,
    /// Goes one way for all threads.
    Fixed,
    /// Depends on these sources as well.
    Source(SourceSet),
}

/// A set of rules: what instructions and arguments contribute to the table.
pub(crate) trait LoweringRules {
    /// Whether every instruction with this opcode is [`Rule::PURE`]. Most opcodes are, and the
    /// rules are not asked about their instructions. Some other opcodes may be pure as well.
    fn is_plain(&self, opcode: Opcode) -> bool;
    /// The definition of an argument.
    fn argument(&mut self, position: u32) -> divergence::Definition;
    /// The rule of an instruction other than a phi.
    fn inst(&mut self, inst: InstId) -> Rule;
    /// The first incoming value of a phi that is known to be equal to the one at this position.
    fn representative(&mut self, _phi: InstId, position: usize) -> usize {
        position
    }
    /// The rule of the terminator of a block.
    fn terminator(&mut self, inst: InstId) -> TerminatorRule;
}

/// The rule of an instruction that is no phi. If the transfer is an image, it is in `image`.
#[inline(always)]
pub(super) fn rule_of<R: LoweringRules + ?Sized>(body: &Body, rules: &mut R, inst: InstId) -> Rule {
    let rule = match body.inst(inst).opcode {
        opcode if !has_operands(opcode) => Rule::IMPURE,
        _ => rules.inst(inst),
    };
    // A fixed result ignores its operands, but they are uses, and can be temporally divergent.
    match rule.definition.transfer {
        Transfer::Fixed => Rule { reads: Reads::All, image: None, ..rule },
        _ => rule,
    }
}

/// Whether operands of an instruction are operands of its result: those of a terminator decide
/// where it goes.
#[inline]
pub(super) fn has_operands(opcode: Opcode) -> bool {
    !opcode.is_terminator() || opcode.is_call()
}

/// The values that the definition of an instruction reads.
#[inline]
pub(super) fn operands(
    body: &Body,
    numbering: Numbering,
    inst: InstId,
    reads: Reads,
    mut call: impl FnMut(Value),
) {
    let (of, mask) = match reads {
        Reads::All => {
            for &operand in body.operands(inst) {
                match operand.kind() {
                    ValueKind::Metadata(id) => local_values(body, numbering, id, &mut call),
                    _ => numbering.operand(operand).into_iter().for_each(&mut call),
                }
            }
            return;
        }
        Reads::Some(mask) => (inst, mask),
        Reads::Of(of, mask) => (of, mask),
        Reads::Values(values) => return values.into_iter().flatten().for_each(call),
    };
    for (position, &operand) in body.operands(of).iter().enumerate() {
        if position < 64 && mask >> position & 1 == 0 || mask == 0 {
            continue;
        }
        match operand.kind() {
            ValueKind::Metadata(id) => local_values(body, numbering, id, &mut call),
            _ => numbering.operand(operand).into_iter().for_each(&mut call),
        }
    }
}

/// The values in metadata that is an operand.
#[cold]
fn local_values(
    body: &Body,
    numbering: Numbering,
    metadata: LocalMetadataId,
    call: &mut impl FnMut(Value),
) {
    for &value in body.local_metadata(metadata).values() {
        numbering.operand(value).into_iter().for_each(&mut *call);
    }
}

/// The entries of a phi.
pub(super) fn incoming<R: LoweringRules + ?Sized>(
    context: &Context,
    body: &Body,
    numbering: Numbering,
    rules: &mut R,
    phi: InstId,
    mut give: impl FnMut(Incoming),
) {
    for (position, (operand, block)) in body.phi_incoming(phi).enumerate() {
        let value: Option<Value> = numbering.operand(operand);
        let key = match (value, operand.as_const()) {
            (Some(value), _) => match rules.representative(phi, position) {
                same if same == position => PhiKey::value(value),
                first => {
                    let first = numbering.operand(body.phi_values(phi)[first]);
                    PhiKey::value(first.unwrap_or(value))
                }
            },
            (None, Some(constant)) => constant_key(context, constant),
            // Blocks and metadata are no values; a number that no constant has keeps them apart.
            (None, None) => PhiKey::constant((1 << 30) + block.into_raw().into_u32()),
        };
        give(Incoming { pred: node_of(block), value, key });
    }
}

pub(super) fn constant_key(context: &Context, constant: Const) -> PhiKey {
    match context.const_data(constant).kind {
        ConstKind::Undef | ConstKind::Poison => PhiKey::UNDEF,
        _ => PhiKey::constant(constant.raw()),
    }
}
