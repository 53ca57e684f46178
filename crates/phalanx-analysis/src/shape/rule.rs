//! What a value depends on, where its shape says less than its operands do.

use phalanx_core::affect::Value;
use phalanx_ir::{InstId, Opcode, Value as Operand, inst::InstFlags};
use phalanx_target::SourceSet;
use smallvec::SmallVec;

use super::{
    Place, Shapes,
    algebra::by_high_bits,
    expr::mask,
    form::{ATOMS, Form},
    ids,
    ops::operand_width,
};

/// The sources of a value: these, and those of its atoms where the value is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependence {
    pub(crate) sources: SourceSet,
    pub(crate) atoms: SmallVec<[Value; ATOMS]>,
    /// Whether it is another one in each round of a loop, whatever it depends on.
    pub(crate) is_of_round: bool,
}

impl Shapes {
    /// What an instruction depends on, if that is less than what its operands do.
    #[inline]
    pub(crate) fn dependence(&mut self, place: Place<'_>, inst: InstId) -> Option<Dependence> {
        let is_worth = match place.code.body.inst(inst).opcode {
            Opcode::Mul => absorbs(place, inst, 0),
            Opcode::Or => absorbs(place, inst, u64::MAX),
            _ => true,
        };
        if !is_worth {
            return None;
        }
        match self.find(place, inst).form {
            0 if place.code.body.inst(inst).opcode == Opcode::ICmp => {
                self.of_stride(place, inst).or_else(|| self.of_same_sign(place, inst))
            }
            0 => None,
            form => self.dependence_of(place, inst, form),
        }
    }

    fn dependence_of(&self, place: Place<'_>, inst: InstId, form: u32) -> Option<Dependence> {
        let form = &self.forms[form as usize - 1];
        let sources = self.exprs.sources(form.thread, self.varying);
        let operands = place.code.body.operands(inst);
        let reads_none = operands.iter().all(|&operand| place.numbering.operand(operand).is_none());
        // An index says itself what it is, unless it is a constant.
        let is_less = match reads_none {
            true => (SourceSet::WAVE | SourceSet::QUAD).contains(sources),
            false => self.is_less(place, operands, sources, form),
        };
        if !is_less {
            return None;
        }
        let atoms = form.rest.values().collect();
        let found = Dependence { sources, atoms, is_of_round: false };
        if !found.atoms.is_empty() && !self.may_skip(place, inst, operands, &found) {
            return None;
        }
        Some(found)
    }

    /// What a comparison depends on that says that both sides have one sign, where all but the
    /// thread's low bits decide.
    ///
    /// It is poison where the signs are others, so it has no form: whoever drops its atoms would
    /// not see that. But signs are high bits. Threads that agree on the atoms agree on them, so
    /// they have poison together, too.
    fn of_same_sign(&mut self, place: Place<'_>, compare: InstId) -> Option<Dependence> {
        let data = place.code.body.inst(compare);
        if !data.flags.contains(InstFlags::SAME_SIGN) {
            return None;
        }
        let operands = place.code.body.operands(compare);
        let &[left, right] = operands else { return None };
        let width = operand_width(place, left)?;
        let a = self.operand(place, left, width)?;
        let b = self.operand(place, right, width)?;
        let form = by_high_bits(self, data.int_predicate(), &a, &b, width)?;
        let sources = self.exprs.sources(form.thread, self.varying);
        let atoms = form.rest.values().collect();
        let found = Dependence { sources, atoms, is_of_round: false };
        let is_less = self.is_less(place, operands, sources, &form);
        (is_less && self.may_skip(place, compare, operands, &found)).then_some(found)
    }

    /// Whether operands depend on more than these sources and what a form is made of.
    fn is_less(
        &self,
        place: Place<'_>,
        operands: &[Operand],
        sources: SourceSet,
        form: &Form,
    ) -> bool {
        let has = |atom: Value| form.rest.values().any(|other| other == atom);
        operands.iter().filter_map(|&operand| place.numbering.operand(operand)).any(|value| {
            match self.form_of(self.fact(value)) {
                Some(of) => {
                    !sources.contains(self.exprs.sources(of.thread, self.varying))
                        || of.rest.values().any(|atom| !has(atom))
                }
                None => !has(value),
            }
        })
    }

    /// Whether operands need not be read by the analysis although they are by the instruction.
    ///
    /// An operand from another block can be another one in threads that left a cycle on the way in
    /// different iterations; that is asked of what is read only. In the same block it is what it
    /// was.
    fn may_skip(
        &self,
        place: Place<'_>,
        inst: InstId,
        operands: &[Operand],
        found: &Dependence,
    ) -> bool {
        operands.iter().all(|&operand| {
            let is_atom = |value| found.atoms.contains(&value);
            place.numbering.operand(operand).is_none_or(is_atom)
                || self.is_same_here(place, inst, operand)
        })
    }

    /// Whether an operand is what its form says of atoms that are read where the instruction is.
    pub(super) fn is_same_here(&self, place: Place<'_>, inst: InstId, operand: Operand) -> bool {
        let body = place.code.body;
        let Some(value) = place.numbering.operand(operand) else { return true };
        let is_here = operand.as_inst().is_none_or(|of| body.block_of(of) == body.block_of(inst));
        // A function of the thread alone is the same in all iterations.
        let is_pure = || self.form_of(self.fact(value)).is_some_and(|form| form.rest.is_none());
        is_here || is_pure()
    }

    /// Whether two incoming values of a phi, or two arms, are known to be equal wherever their
    /// atoms are.
    pub(crate) fn are_congruent(&mut self, place: Place<'_>, a: Operand, b: Operand) -> bool {
        if a == b {
            return true;
        }
        for inst in [a, b].into_iter().filter_map(Operand::as_inst) {
            self.find(place, inst);
        }
        let (Some(x), Some(y)) = (place.numbering.operand(a), place.numbering.operand(b)) else {
            return false;
        };
        let (of_a, of_b) = (self.fact(x), self.fact(y));
        if let (Some(form), Some(other)) = (self.form_of(of_a), self.form_of(of_b))
            && form == other
        {
            return form.rest.is_none() || form.rest.is_sum;
        }
        let (Some(a), Some(b)) = (a.as_inst(), b.as_inst()) else { return false };
        let body = place.code.body;
        let (first, second) = (body.inst(a), body.inst(b));
        let is_same = (first.opcode, first.sub, first.flags, first.ty, first.words)
            == (second.opcode, second.sub, second.flags, second.ty, second.words);
        is_same && is_function(first.opcode) && body.operands(a) == body.operands(b)
    }
}

/// Whether the result is a function of the operands, all of which are in the list, and of the
/// words.
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

/// Whether an operand is this constant, which makes a constant of the result.
fn absorbs(place: Place<'_>, inst: InstId, constant: u64) -> bool {
    let Some(width) = place.width(place.code.body.inst(inst).ty) else { return false };
    let operands = place.code.body.operands(inst).iter().filter_map(|operand| operand.as_const());
    let mut values = operands.filter_map(|operand| ids::integer(place, operand));
    values.any(|value| value == constant & mask(width))
}

/// Whether the rule of such an instruction depends on what its operands are. Others can have less
/// than their operands only where an operand is the reverse of another, or bits are shifted out:
/// optimised code has none of these.
#[inline]
pub(crate) const fn asks(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::And
            | Opcode::Or
            | Opcode::Xor
            | Opcode::Mul
            | Opcode::Sub
            | Opcode::LShr
            | Opcode::AShr
            | Opcode::UDiv
            | Opcode::SDiv
            | Opcode::URem
            | Opcode::SRem
            | Opcode::ICmp
            | Opcode::Select
            | Opcode::Trunc
            | Opcode::Freeze
            | Opcode::Call
    )
}
