//! What a value depends on, where its shape says less than its operands do.

use phalanx_ir::{InstId, Opcode, Value as Operand};
use phalanx_target::SourceSet;
use smallvec::SmallVec;

use super::{Place, Shapes, form::ATOMS, ops};
use crate::affect::Value;

/// The sources of a value: these, and those of its atoms where the value is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependence {
    pub(crate) sources: SourceSet,
    pub(crate) atoms: SmallVec<[Value; ATOMS]>,
}

impl Shapes {
    /// What an instruction depends on, if that is less than what its operands do.
    #[inline]
    pub(crate) fn dependence(&self, place: Place<'_>, inst: InstId) -> Option<Dependence> {
        let value = place.numbering.inst(inst);
        let form = self.form_of(self.fact(value))?;
        let found = Dependence {
            sources: self.exprs.sources(form.thread, self.in_wave),
            atoms: form.rest.values().collect(),
        };
        let operands = place.code.body.operands(inst);
        let reads_none = operands.iter().all(|&operand| place.numbering.operand(operand).is_none());
        // An index says itself what it is, unless it is a constant.
        let is_less = match reads_none {
            true => (SourceSet::WAVE).contains(found.sources),
            false => self.is_less(place, operands, &found),
        };
        if !is_less {
            return None;
        }
        if !found.atoms.is_empty() && !self.may_skip(place, inst, operands, &found) {
            return None;
        }
        Some(found)
    }

    /// Whether operands depend on more.
    fn is_less(&self, place: Place<'_>, operands: &[Operand], found: &Dependence) -> bool {
        operands.iter().filter_map(|&operand| place.numbering.operand(operand)).any(|value| {
            match self.form_of(self.fact(value)) {
                Some(form) => {
                    let sources = self.exprs.sources(form.thread, self.in_wave);
                    !found.sources.contains(sources)
                        || form.rest.values().any(|atom| !found.atoms.contains(&atom))
                }
                None => !found.atoms.contains(&value),
            }
        })
    }

    /// Whether operands need not be read by the analysis although they are by the instruction.
    ///
    /// An operand from another block can be another one in threads that left a cycle on the way in different iterations; that is
    /// asked of what is read only. In the same block it is what it was.
    fn may_skip(
        &self,
        place: Place<'_>,
        inst: InstId,
        operands: &[Operand],
        found: &Dependence,
    ) -> bool {
        let body = place.code.body;
        operands.iter().all(|&operand| {
            let Some(value) = place.numbering.operand(operand) else { return true };
            let is_here =
                operand.as_inst().is_none_or(|of| body.block_of(of) == body.block_of(inst));
            // A function of the thread alone is the same in all iterations.
            let is_pure = || self.form_of(self.fact(value)).is_some_and(|form| form.rest.is_none());
            is_here || found.atoms.contains(&value) || is_pure()
        })
    }

    /// Whether two incoming values of a phi, or two arms, are known to be equal wherever their atoms are.
    pub(crate) fn are_congruent(&self, place: Place<'_>, a: Operand, b: Operand) -> bool {
        if a == b {
            return true;
        }
        let (Some(x), Some(y)) = (place.numbering.operand(a), place.numbering.operand(b)) else {
            return false;
        };
        let (of_a, of_b) = (self.fact(x), self.fact(y));
        if of_a.form != 0 && of_a.form == of_b.form {
            return self.form_of(of_a).is_some_and(|form| form.rest.is_none() || form.rest.is_sum);
        }
        let (Some(a), Some(b)) = (a.as_inst(), b.as_inst()) else { return false };
        let body = place.code.body;
        let (first, second) = (body.inst(a), body.inst(b));
        let is_same = (first.opcode, first.sub, first.flags, first.ty, first.words)
            == (second.opcode, second.sub, second.flags, second.ty, second.words);
        is_same && is_function(first.opcode) && body.operands(a) == body.operands(b)
    }
}

/// Whether the result is a function of the operands, all of which are in the list, and of the words.
pub(crate) const fn is_function(opcode: Opcode) -> bool {
    opcode.is_binary()
        || opcode.is_cast()
        || matches!(
            opcode,
            Opcode::FNeg
                | Opcode::ICmp
                | Opcode::FCmp
                | Opcode::Select
                | Opcode::GetElementPtr
                | Opcode::ExtractElement
                | Opcode::InsertElement
                | Opcode::ShuffleVector
        )
}

/// Whether the rule of such an instruction can depend on what its operands are.
pub(crate) const fn looks(opcode: Opcode) -> bool {
    ops::is_looked_into(opcode)
}
