//! The outcomes of the result of a function, from its solutions.
//!
//! [`Reading`] reads it off the solutions: one with the function's own sources, and for each pass
//! one with some of its arguments as the only sources.

use phalanx_core::divergence::Divergence;
use phalanx_ir::{InstId, Opcode, TypeKind, attributes::AttrKind};
use phalanx_target::{SourceSet, TransferContext};

use super::outcome::Pass;
use super::returns::Returns;
use crate::code::{Code, Environment, Numbering, calls::Outcome};

/// The outcomes of a result. By default there is no result, and the effect of a call depends on
/// when it is made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Results {
    pub(crate) result: Outcome,
    pub(crate) members: Box<[Outcome]>,
    pub(crate) is_timeless: bool,
}

/// Reads results off solutions.
pub(crate) struct Reading<'a> {
    code: Code<'a>,
    returns: &'a Returns,
    result: Outcome,
    members: Vec<Outcome>,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(code: Code<'a>, env: Environment<'_>, returns: &'a Returns) -> Self {
        let wave = TransferContext::new(env.launch, env.lockstep).wave;
        let result = Outcome::new(wave, code.header.params.len());
        Reading { code, returns, members: vec![result.clone(); member_count(code)], result }
    }

    fn read(&mut self, answer: &Divergence, mut add: impl FnMut(&mut Outcome, SourceSet)) {
        let numbering = Numbering::new(self.code.header);
        add(&mut self.result, self.returns.whole(answer));
        for (position, member) in self.members.iter_mut().enumerate() {
            add(member, self.returns.member(self.code, numbering, answer, position as u32));
        }
    }

    /// Reads the solution with the function's own sources.
    pub(crate) fn own(&mut self, answer: &Divergence) {
        self.read(answer, |outcome, sources| outcome.sources |= sources);
    }

    /// Reads a solution with arguments as the only sources.
    pub(crate) fn pass(&mut self, pass: &Pass, answer: &Divergence) {
        self.read(answer, |outcome, found| pass.note(outcome, found));
    }

    pub(crate) fn finish(mut self, is_timeless: bool) -> Results {
        let Code { context, header, .. } = self.code;
        if context.function_attrs(header.attributes).has(AttrKind::NoDivergenceSource) {
            self.members.iter_mut().for_each(Outcome::promise_no_source);
            self.result.promise_no_source();
        }
        Results { result: self.result, members: self.members.into(), is_timeless }
    }
}

/// The number of members of the result that have outcomes of their own.
fn member_count(code: Code<'_>) -> usize {
    const MOST: usize = 8;
    match code.context.type_kind(code.header.ret) {
        TypeKind::Struct { fields, .. } if fields.len() <= MOST => fields.len(),
        _ => 0,
    }
}

/// The first instruction that is no pure function of its operands and of the thread. `is_pure`
/// decides for all instructions except phis, comparisons and terminators.
pub(crate) fn first_impure(
    code: Code<'_>,
    mut is_pure: impl FnMut(InstId) -> bool,
) -> Option<InstId> {
    let mut insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    insts.find(|&inst| !is_timeless(code, inst, &mut is_pure))
}

pub(crate) fn is_timeless(
    code: Code<'_>,
    inst: InstId,
    is_pure: impl FnOnce(InstId) -> bool,
) -> bool {
    match code.body.inst(inst).opcode {
        // The rule of a comparison may have fewer sources than its operands, and then depend on the
        // round of a loop. The comparison itself is pure.
        Opcode::Phi | Opcode::ICmp => true,
        opcode if opcode.is_terminator() => !opcode.is_call(),
        _ => is_pure(inst),
    }
}
