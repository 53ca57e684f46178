//! Exit comparisons of loops in which a workgroup walks over elements in strides.
//!
//! ```text
//! for (i = tid; i < n; i += 256)      // 256 threads, n a multiple of 256
//! ```
//!
//! # What
//!
//! A *stride* is a phi of two entries. It begins with `thread + rest`, and each round adds a `step`
//! that is the same in all rounds, and in all threads that agree on its atoms. After `k` rounds the
//! phi is `thread + (rest + k * step)`, modulo its width. Let `step` and `rest` be multiples of a
//! power of two, and let `thread` be below it. Then the low bits are `thread` and the high bits are
//! the rest, without a carry, whatever wraps. The same holds for a number that the phi is compared
//! with, if its own rest is such a multiple; bits of its thread part above the power of two count
//! as high bits. So the low bits, which are those of the thread, matter only if the high bits are
//! equal.
//!
//! # Why it is right
//!
//! Threads that execute the comparison together are in the same round `k`. The comparison is in the
//! header of the loop or in the block that leads back to it, so it is in every cycle that the
//! header is in. The phi has one entry from outside, and one from the block that leads back. So the
//! header dominates that block, and is the header of a cycle in each possible hierarchy. The
//! initial value is computed outside of that cycle, and its atoms still have the same values at the
//! comparison. The comparison can differ between rounds, although its sources and atoms do not: it
//! is no pure function of these.
//!
//! **Poison.** Only the high bits can violate the flags of the sum that is the next value. So the
//! value is poison in all threads that agree on the atoms of the high bits, or in none. A number
//! that is added to the stride before the comparison is such a multiple, too, or its addition has
//! no flags.
//!
//! O(1) for each comparison of a stride.

use phalanx_core::affect::Value;
use phalanx_ir::{
    BlockId, Body, InstId, Opcode, Value as Operand,
    inst::{InstFlags, IntPredicate},
};
use phalanx_target::SourceSet;
use smallvec::SmallVec;

use super::{
    ShapeContext, Shapes,
    algebra::{constant, sum, zeros_of_rest},
    expr::{Expr, mask},
    form::{ATOMS, Form},
    rule::Dependence,
};

/// A phi plus a number.
struct Ahead {
    phi: InstId,
    /// The added number; its thread part is constant.
    by: Form,
    /// The added operand.
    from: Option<Operand>,
    /// Whether the sum can be poison if the phi is not.
    has_flags: bool,
}

/// How a phi grows.
struct Stride {
    start: Form,
    step: Form,
    /// The block that leads back to the header.
    back: BlockId,
}

impl Shapes {
    /// The dependence of a comparison of a stride, if it is less than that of the stride.
    pub(super) fn of_stride(
        &mut self,
        place: ShapeContext<'_>,
        compare: InstId,
    ) -> Option<Dependence> {
        let &[left, right] = place.code.body.operands(compare) else { return None };
        self.compared(place, compare, [left, right], false)
            .or_else(|| self.compared(place, compare, [right, left], true))
    }

    fn compared(
        &mut self,
        place: ShapeContext<'_>,
        compare: InstId,
        [this, other]: [Operand; 2],
        is_swapped: bool,
    ) -> Option<Dependence> {
        let body = place.code.body;
        let ahead = self.ahead(place, this)?;
        let width = place.width(body.inst(ahead.phi).ty)?;
        let Stride { start, step, back } = self.stride(place, ahead.phi, width)?;
        let block = body.block_of(compare)?;
        if Some(block) != body.block_of(ahead.phi) && block != back {
            return None;
        }
        let of_other = self.operand(place, other, width)?;
        // A value without a form is an atom itself.
        let is_atom = |value| of_other.rest.values().any(|atom| atom == value);
        let is_read = place.numbering.operand(other).is_some_and(is_atom);
        if !is_read && !self.is_same_here(place, compare, other) {
            return None;
        }
        let mut zeros = self.zeros_of_all(&step, width);
        for form in [&start, &of_other, &ahead.by] {
            zeros = zeros.min(zeros_of_rest(form, width));
        }
        let by = self.exprs.constant_value(ahead.by.thread)?;
        if ahead.has_flags {
            zeros = zeros.min(by.trailing_zeros() as u8);
        }
        // The sign is a high bit.
        if zeros == 0 || zeros >= width {
            return None;
        }
        // Further high bits are the same in all threads.
        let by_low = self.exprs.constant(by & mask(zeros), width);
        let thread = self.exprs.binary(Opcode::Add, start.thread, by_low)?;
        let predicate = place.code.body.inst(compare).int_predicate();
        let threads = match is_swapped {
            true => [of_other.thread, thread],
            false => [thread, of_other.thread],
        };
        let sources = self.sources_by_bits(predicate, threads, zeros, width)?;
        if sources.contains(self.exprs.sources(start.thread, self.varying)) {
            return None;
        }
        let mut atoms: SmallVec<[Value; ATOMS]> = SmallVec::new();
        for form in [&start, &step, &of_other, &ahead.by] {
            for atom in form.rest.values() {
                if !atoms.contains(&atom) {
                    atoms.push(atom);
                }
            }
        }
        if atoms.len() > ATOMS {
            return None;
        }
        Some(Dependence { sources, atoms, is_of_round: true })
    }

    /// The number of low bits that are zero in a form with a constant thread part.
    fn zeros_of_all(&self, form: &Form, width: u8) -> u8 {
        self.exprs.zeros(form.thread).min(zeros_of_rest(form, width))
    }

    /// Writes a value as a phi plus a number.
    fn ahead(&mut self, place: ShapeContext<'_>, value: Operand) -> Option<Ahead> {
        let body = place.code.body;
        let inst = value.as_inst()?;
        let data = body.inst(inst);
        let width = place.width(data.ty)?;
        let is_sub = match data.opcode {
            Opcode::Phi => {
                let by = constant(self, 0, width);
                return Some(Ahead { phi: inst, by, from: None, has_flags: false });
            }
            Opcode::Add => false,
            Opcode::Sub => true,
            _ => return None,
        };
        let &[left, right] = body.operands(inst) else { return None };
        let phi = |operand: Operand| {
            operand.as_inst().filter(|&inst| body.inst(inst).opcode == Opcode::Phi)
        };
        let (phi, from) = match (phi(left), phi(right)) {
            (Some(phi), None) => (phi, right),
            (None, Some(phi)) if !is_sub => (phi, left),
            _ => return None,
        };
        let mut by = self.operand(place, from, width)?;
        self.exprs.constant_value(by.thread)?;
        if is_sub {
            let zero = constant(self, 0, width);
            by = sum(self, &zero, &by, true, width)?;
        }
        let has_flags = data.flags.contains(InstFlags::NUW) || data.flags.contains(InstFlags::NSW);
        Some(Ahead { phi, by, from: Some(from), has_flags })
    }

    /// How a phi grows, if it begins with a function of the thread.
    fn stride(&mut self, place: ShapeContext<'_>, phi: InstId, width: u8) -> Option<Stride> {
        let body = place.code.body;
        let &[first, second] = body.phi_values(phi) else { return None };
        for (position, [next, start]) in [[first, second], [second, first]].into_iter().enumerate()
        {
            let ahead = self.ahead(place, next);
            let Some(ahead) = ahead.filter(|ahead| ahead.phi == phi && ahead.from.is_some()) else {
                continue;
            };
            let (_, back) = body.phi_incoming(phi).nth(position)?;
            let (_, enters) = body.phi_incoming(phi).nth(1 - position)?;
            // A step is the same in all rounds if it is a constant, an argument, or computed
            // outside of the loop.
            let is_outside = |inst: InstId| {
                let block = body.block_of(inst);
                block == Some(enters) || block == place.code.flow.entry()
            };
            let from = ahead.from.and_then(Operand::as_inst);
            if !ahead.by.rest.is_none() && !from.is_none_or(is_outside) {
                return None;
            }
            let start = self.operand(place, start, width)?;
            let varies = !self.exprs.indices(start.thread).is_empty();
            return varies.then_some(Stride { start, step: ahead.by, back });
        }
        None
    }

    /// The sources of a comparison of two sums whose rests are multiples of a power of two.
    fn sources_by_bits(
        &mut self,
        predicate: IntPredicate,
        threads: [Expr; 2],
        zeros: u8,
        width: u8,
    ) -> Option<SourceSet> {
        let low = mask(zeros);
        let mut sources = SourceSet::EMPTY;
        let mut lows = threads;
        for (thread, low_bits) in threads.into_iter().zip(&mut lows) {
            if self.exprs.range(thread).1 <= low {
                continue;
            }
            let [low, high] =
                [low, mask(width) & !low].map(|bits| self.exprs.constant(bits, width));
            *low_bits = self.exprs.binary(Opcode::And, thread, low)?;
            let high = self.exprs.binary(Opcode::And, thread, high)?;
            sources |= self.exprs.sources(high, self.varying);
        }
        // If the high bits are equal, the low bits are compared, as unsigned numbers.
        let within = self.exprs.compare(predicate.unsigned(), lows[0], lows[1])?;
        Some(sources | self.exprs.sources(within, self.varying))
    }
}

/// Reports comparisons of strides that may depend on an instruction: it is an incoming value of the
/// phi, or the number that a round adds. If the instruction was edited, it may have been the sum of
/// a stride before. Other edited instructions are reported by their own calls.
pub(super) fn behind(body: &Body, inst: InstId, is_edited: bool, mut tell: impl FnMut(InstId)) {
    let users = |inst: InstId| body.uses_of(Operand::inst(inst)).map(|use_| use_.user);
    let mut strides: SmallVec<[InstId; 4]> = SmallVec::new();
    let mut tell_if = |user: InstId| {
        if body.inst(user).opcode == Opcode::ICmp {
            tell(user);
        }
    };
    for user in users(inst) {
        match body.inst(user).opcode {
            Opcode::Phi if is_edited || counts(body, user) => strides.push(user),
            Opcode::Add | Opcode::Sub => {
                let Some(phi) = summed_phi(body, user) else { continue };
                for next in users(user) {
                    if next == phi {
                        strides.push(phi);
                    } else {
                        tell_if(next);
                    }
                }
            }
            _ => {}
        }
    }
    strides.sort_unstable();
    strides.dedup();
    for stride in strides {
        comparisons(body, stride, &mut tell);
    }
}

/// Reports comparisons of a phi that may be a stride: they depend on the blocks that its entries
/// come from.
pub(crate) fn compared_with(body: &Body, phi: InstId, mut tell: impl FnMut(InstId)) {
    if counts(body, phi) {
        comparisons(body, phi, &mut tell);
    }
}

/// Reports comparisons of a phi, and of sums of it.
fn comparisons(body: &Body, phi: InstId, tell: &mut impl FnMut(InstId)) {
    let users = |inst: InstId| body.uses_of(Operand::inst(inst)).map(|use_| use_.user);
    let mut tell_if = |user: InstId| {
        if body.inst(user).opcode == Opcode::ICmp {
            tell(user);
        }
    };
    for user in users(phi) {
        tell_if(user);
        if matches!(body.inst(user).opcode, Opcode::Add | Opcode::Sub) {
            users(user).for_each(&mut tell_if);
        }
    }
}

/// The phi to which a sum adds a value that is not a phi.
fn summed_phi(body: &Body, sum: InstId) -> Option<InstId> {
    let is_phi = |inst: &InstId| body.inst(*inst).opcode == Opcode::Phi;
    let mut phis = body.operands(sum).iter().filter_map(|of| of.as_inst()).filter(is_phi);
    phis.next().filter(|_| phis.next().is_none())
}

/// Whether a sum of the phi is an incoming value of it.
fn counts(body: &Body, phi: InstId) -> bool {
    let is_next = |inst: InstId| {
        matches!(body.inst(inst).opcode, Opcode::Add | Opcode::Sub)
            && body.operands(inst).contains(&Operand::inst(phi))
    };
    body.phi_values(phi).iter().filter_map(|value| value.as_inst()).any(is_next)
}
