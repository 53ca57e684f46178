//! The rule of a value, if by its shape it depends on less than its operands do.

use phalanx_core::affect::Value;
use phalanx_ir::{InstId, Opcode, Value as Operand, inst::InstFlags};
use phalanx_target::SourceSet;
use smallvec::SmallVec;

use super::{
    ShapeContext, Shapes,
    algebra::by_high_bits,
    expr::mask,
    form::{ATOMS, Form},
    ids,
    ops::operand_width,
};

/// The dependence of a value: some sources, and the sources of its atoms at the place of the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependence {
    pub(crate) sources: SourceSet,
    pub(crate) atoms: SmallVec<[Value; ATOMS]>,
    /// Whether the value can differ between rounds of a loop although its sources and atoms do not.
    pub(crate) is_of_round: bool,
}

impl Shapes {
    /// The dependence of an instruction, if it is less than that of its operands.
    #[inline]
    pub(crate) fn dependence(
        &mut self,
        place: ShapeContext<'_>,
        inst: InstId,
    ) -> Option<Dependence> {
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

    fn dependence_of(
        &self,
        place: ShapeContext<'_>,
        inst: InstId,
        form: u32,
    ) -> Option<Dependence> {
        let form = &self.forms[form as usize - 1];
        let sources = self.exprs.sources(form.thread, self.varying);
        let operands = place.code.body.operands(inst);
        let reads_none = operands.iter().all(|&operand| place.numbering.operand(operand).is_none());
        // An instruction without value operands reads an index and has sources of its own. The
        // shape says less only if its sources are at most the wave and the quad.
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

    /// The dependence of a comparison with `samesign`, if all bits except the thread's low bits
    /// decide it.
    ///
    /// The comparison is poison if the signs differ, so it has no form: a form would lose that when
    /// its atoms cancel out. But signs are high bits. Threads that agree on the atoms agree on the
    /// signs, so the result is poison in all of them or in none.
    fn of_same_sign(&mut self, place: ShapeContext<'_>, compare: InstId) -> Option<Dependence> {
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

    /// Whether the operands depend on more than these sources and the atoms of this form.
    fn is_less(
        &self,
        place: ShapeContext<'_>,
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

    /// Whether the rule may leave out the operands of the instruction.
    ///
    /// An operand from another block can differ in threads that left a cycle in different
    /// iterations. The solver checks that only for values that the rule reads. An operand from the
    /// same block cannot differ for this reason.
    fn may_skip(
        &self,
        place: ShapeContext<'_>,
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

    /// Whether the form of an operand holds with the values of its atoms at the instruction.
    pub(super) fn is_same_here(
        &self,
        place: ShapeContext<'_>,
        inst: InstId,
        operand: Operand,
    ) -> bool {
        let body = place.code.body;
        let Some(value) = place.numbering.operand(operand) else { return true };
        let is_here = operand.as_inst().is_none_or(|of| body.block_of(of) == body.block_of(inst));
        // A function of the thread alone is the same in all iterations.
        let is_pure = || self.form_of(self.fact(value)).is_some_and(|form| form.rest.is_none());
        is_here || is_pure()
    }

    /// Whether two incoming values of a phi, or two arms of a select, are equal whenever their
    /// atoms are.
    pub(crate) fn are_congruent(
        &mut self,
        place: ShapeContext<'_>,
        a: Operand,
        b: Operand,
    ) -> bool {
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

/// Whether the result depends only on the listed operands and the words of the instruction.
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

/// Whether an operand is this constant, which decides the result.
fn absorbs(place: ShapeContext<'_>, inst: InstId, constant: u64) -> bool {
    let Some(width) = place.width(place.code.body.inst(inst).ty) else { return false };
    let operands = place.code.body.operands(inst).iter().filter_map(|operand| operand.as_const());
    let mut values = operands.filter_map(|operand| ids::integer(place, operand));
    values.any(|value| value == constant & mask(width))
}

/// Whether the rule of such an instruction may use shapes. Other instructions can depend on less
/// than their operands only if one operand undoes another, or bits are shifted out. Optimised code
/// has no such instructions.
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
