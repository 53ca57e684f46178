//! The algebra of forms: the form of a result from those of two operands.
//!
//! A form is a function of the thread plus a function of other values ([`Form`]). Each function
//! here gives the form of a result, or `None` if the result cannot be written as such a sum.

use phalanx_ir::{Opcode, inst::IntPredicate};

use super::{
    Shapes, Trust,
    expr::{decided, mask},
    form::{Form, Rest},
};

pub(super) fn zeros_of_rest(form: &Form, width: u8) -> u8 {
    if form.rest.is_none() { width } else { form.rest.zeros }
}

/// Marks a form as one of integers if its parts have no common bits, or if it has only one part.
pub(super) fn exact(shapes: &Shapes, form: Form, width: u8) -> Form {
    let is_exact = form.rest.is_none() || form.rest.zeros < width && shapes.is_apart(&form);
    Form { is_signed: is_exact, is_unsigned: is_exact, ..form }
}

/// Operations of a value with itself.
pub(super) fn with_itself(
    shapes: &mut Shapes,
    opcode: Opcode,
    a: &Form,
    width: u8,
) -> Option<Form> {
    match opcode {
        Opcode::Sub | Opcode::Xor => Some(constant(shapes, 0, width)),
        Opcode::And | Opcode::Or => Some(a.clone()),
        _ => None,
    }
}

pub(super) fn constant(shapes: &mut Shapes, value: u64, width: u8) -> Form {
    let thread = shapes.exprs.constant(value, width);
    Form { thread, rest: Rest::default(), is_signed: true, is_unsigned: true }
}

pub(super) fn pure(thread: super::expr::Expr) -> Form {
    Form { thread, rest: Rest::default(), is_signed: true, is_unsigned: true }
}

/// The value of a form that is a constant.
pub(super) fn number(shapes: &Shapes, form: &Form) -> Option<u64> {
    form.rest.is_none().then(|| shapes.exprs.constant_value(form.thread)).flatten()
}

pub(super) fn binary(
    shapes: &mut Shapes,
    opcode: Opcode,
    a: &Form,
    b: &Form,
    width: u8,
) -> Option<Form> {
    let ones = mask(width);
    if let (Some(x), Some(y)) = (number(shapes, a), number(shapes, b)) {
        let value = super::expr::binary(opcode, x, y, width)?;
        return Some(constant(shapes, value & ones, width));
    }
    // Constants that decide the result.
    for (this, other) in [(a, b), (b, a)] {
        match (opcode, number(shapes, other)) {
            (Opcode::And | Opcode::Mul, Some(0)) => return Some(constant(shapes, 0, width)),
            (Opcode::Or, Some(all)) if all == ones => return Some(constant(shapes, ones, width)),
            (Opcode::And, Some(all)) if all == ones => return Some(this.clone()),
            (Opcode::Or | Opcode::Xor | Opcode::Add, Some(0)) => return Some(this.clone()),
            _ => {}
        }
    }
    match opcode {
        // `~a` is `-1 - a`.
        Opcode::Xor if number(shapes, b) == Some(ones) => sum(shapes, b, a, true, width),
        Opcode::Add => sum(shapes, a, b, false, width),
        Opcode::Sub => sum(shapes, a, b, true, width),
        Opcode::Or | Opcode::Xor if are_apart(shapes, a, b, width) => {
            sum(shapes, a, b, false, width)
        }
        Opcode::Mul | Opcode::Shl => product(shapes, opcode, a, b, width),
        _ if a.rest.is_none() && b.rest.is_none() => {
            shapes.exprs.binary(opcode, a.thread, b.thread).map(pure)
        }
        Opcode::And => match (number(shapes, a), number(shapes, b)) {
            (Some(bits), _) => masked(shapes, b, bits, width),
            (_, Some(bits)) => masked(shapes, a, bits, width),
            _ => None,
        },
        Opcode::URem => match number(shapes, b)? {
            by if by.is_power_of_two() => masked(shapes, a, by - 1, width),
            _ => None,
        },
        Opcode::LShr => {
            let by = number(shapes, b).filter(|&by| by < u64::from(width))?;
            shifted(shapes, a, by as u8, width)
        }
        // The sign is a bit of the rest and is shifted with it: the thread's part is below.
        Opcode::AShr if a.rest.zeros < width => {
            let by = number(shapes, b).filter(|&by| by < u64::from(width))?;
            shifted(shapes, a, by as u8, width).or_else(|| narrowed(shapes, a, by as u8, width))
        }
        Opcode::UDiv => match number(shapes, b)? {
            by if by.is_power_of_two() => shifted(shapes, a, by.trailing_zeros() as u8, width),
            _ => None,
        },
        _ => None,
    }
}

/// Whether no bit can be set in both.
pub(super) fn are_apart(shapes: &Shapes, a: &Form, b: &Form, width: u8) -> bool {
    let apart = |low: &Form, high: &Form| {
        let zeros = shapes.exprs.zeros(high.thread).min(zeros_of_rest(high, width));
        low.rest.is_none() && shapes.exprs.range(low.thread).1 <= mask(zeros)
    };
    apart(a, b) || apart(b, a)
}

pub(super) fn sum(
    shapes: &mut Shapes,
    a: &Form,
    b: &Form,
    is_difference: bool,
    width: u8,
) -> Option<Form> {
    let (opcode, factor) = match is_difference {
        true => (Opcode::Sub, u64::MAX),
        false => (Opcode::Add, 1),
    };
    // If one rest is no sum, the sum of the two is an unknown function.
    let thread = shapes.exprs.binary(opcode, a.thread, b.thread)?;
    let rest = a.rest.plus(&b.rest, factor, mask(width))?;
    Some(exact(shapes, Form { thread, rest, is_signed: false, is_unsigned: false }, width))
}

pub(super) fn product(
    shapes: &mut Shapes,
    opcode: Opcode,
    a: &Form,
    b: &Form,
    width: u8,
) -> Option<Form> {
    let (this, by, factor) = match (number(shapes, a), number(shapes, b)) {
        (_, Some(by)) if opcode == Opcode::Shl => (a, b, 1u64.checked_shl(by.try_into().ok()?)?),
        (_, Some(by)) => (a, b, by),
        (Some(by), _) if opcode == Opcode::Mul => (b, a, by),
        _ if a.rest.is_none() && b.rest.is_none() => {
            return shapes.exprs.binary(opcode, a.thread, b.thread).map(pure);
        }
        _ => return None,
    };
    if opcode == Opcode::Shl && number(shapes, by)? >= u64::from(width) {
        return None;
    }
    let thread = shapes.exprs.binary(opcode, this.thread, by.thread)?;
    let rest = this.rest.times(factor, mask(width), width);
    Some(exact(shapes, Form { thread, rest, is_signed: false, is_unsigned: false }, width))
}

/// `a & bits`.
pub(super) fn masked(shapes: &mut Shapes, a: &Form, bits: u64, width: u8) -> Option<Form> {
    let constant = shapes.exprs.constant(bits, width);
    if bits <= mask(a.rest.zeros) {
        // Only bits of the thread's part remain; carries out of them do not matter.
        return shapes.exprs.binary(Opcode::And, a.thread, constant).map(pure);
    }
    if !shapes.is_apart(a) {
        let is_index = shapes.trust == Trust::Indices && width == 64 && bits == mask(32);
        return is_index.then(|| of_index(shapes, a)).flatten();
    }
    let thread = shapes.exprs.binary(Opcode::And, a.thread, constant)?;
    let zeros = a.rest.zeros.max((bits.trailing_zeros() as u8).min(width));
    let rest = a.rest.function(zeros);
    Some(Form { thread, rest, is_signed: false, is_unsigned: false })
}

/// The thread's and the rest's part of `a >> by`, without the bits that are shifted in (zeros or
/// copies of the sign).
pub(super) fn shifted(shapes: &mut Shapes, a: &Form, by: u8, width: u8) -> Option<Form> {
    if !shapes.is_apart(a) {
        return None;
    }
    let constant = shapes.exprs.constant(by.into(), width);
    let thread = shapes.exprs.binary(Opcode::LShr, a.thread, constant)?;
    let rest = a.rest.function(a.rest.zeros.saturating_sub(by));
    Some(Form { thread, rest, is_signed: false, is_unsigned: false })
}

/// `a & 0xffffffff`: a 64-bit index cut to 32 bits, under the assumption that it does not wrap.
fn of_index(shapes: &mut Shapes, a: &Form) -> Option<Form> {
    let thread = shapes.exprs.cast(Opcode::Trunc, a.thread, 32)?;
    let thread = shapes.exprs.cast(Opcode::SExt, thread, 64)?;
    let rest = Rest { assumes: true, ..a.rest.function(a.rest.zeros.min(32)) };
    Some(Form { thread, rest, is_signed: false, is_unsigned: false })
}

/// `ashr a, by` of a value that was shifted to the left before: `(i << 32) >> 30` is a 32-bit index
/// times four, under the assumption that it does not wrap.
fn narrowed(shapes: &mut Shapes, a: &Form, by: u8, width: u8) -> Option<Form> {
    let zeros = shapes.exprs.zeros(a.thread).min(a.rest.zeros);
    if shapes.trust != Trust::Indices || width != 64 || zeros < by {
        return None;
    }
    let (coefs, offset) = shapes.exprs.linear(a.thread)?;
    // No index of a thread is larger, so the sum of the products is one of integers.
    const LARGEST: u128 = 1 << 10;
    let all = coefs.iter().map(|coef| u128::from(coef.unsigned_abs()) * LARGEST).sum::<u128>();
    if all + u128::from(offset.unsigned_abs()) > i64::MAX as u128 {
        return None;
    }
    let mut thread = shapes.exprs.constant((offset >> by) as u64, width);
    for (dim, coef) in coefs.into_iter().enumerate().filter(|&(_, coef)| coef != 0) {
        let index = shapes.exprs.index(dim, width);
        let coef = shapes.exprs.constant((coef >> by) as u64, width);
        let term = shapes.exprs.binary(Opcode::Mul, index, coef)?;
        thread = shapes.exprs.binary(Opcode::Add, thread, term)?;
    }
    let rest = Rest { assumes: true, ..a.rest.function(a.rest.zeros - by) };
    Some(Form { thread, rest, is_signed: false, is_unsigned: false })
}

/// The comparison of two forms of this width; `bits` is how many bits each has.
pub(super) fn compare(
    shapes: &mut Shapes,
    predicate: IntPredicate,
    a: &Form,
    b: &Form,
    width: u8,
    bits: [u8; 2],
) -> Option<Form> {
    use IntPredicate as P;
    if a == b && (a.rest.is_none() || a.rest.is_sum) {
        let is_true = matches!(predicate, P::Eq | P::Uge | P::Ule | P::Sge | P::Sle);
        return Some(constant(shapes, is_true.into(), 1));
    }
    if a.rest.is_none() && b.rest.is_none() {
        return shapes.exprs.compare(predicate, a.thread, b.thread).map(pure);
    }
    if matches!(predicate, P::Eq | P::Ne) {
        // Adding the same number to both sides does not change the result.
        let difference = sum(shapes, a, b, true, width)?;
        if difference.rest.is_none() {
            let zero = shapes.exprs.constant(0, width);
            return shapes.exprs.compare(predicate, difference.thread, zero).map(pure);
        }
    }
    let range = |form: &Form, bits: u8| match form.rest.is_none() {
        true => shapes.exprs.range(form.thread),
        false => (0, mask(bits)),
    };
    if let Some(known) = decided(predicate, range(a, bits[0]), range(b, bits[1]), width) {
        return Some(constant(shapes, known.into(), 1));
    }
    by_high_bits(shapes, predicate, a, b, width)
}

/// A comparison with one side whose low bits are of the thread's part and whose high bits are of
/// the atoms, if the other side has the same low bits in all threads. The low bits matter only if
/// the high ones are equal.
pub(super) fn by_high_bits(
    shapes: &mut Shapes,
    predicate: IntPredicate,
    a: &Form,
    b: &Form,
    width: u8,
) -> Option<Form> {
    let both = a.rest.with(&b.rest)?;
    let (x, y) = (shapes.exprs.constant_value(a.thread), shapes.exprs.constant_value(b.thread));
    let (low, other, is_left) = match (x, y) {
        (None, Some(other)) => (a, (b, other), true),
        (Some(other), None) => (b, (a, other), false),
        _ => return None,
    };
    // A form without a rest has no high bits.
    let zeros = if low.rest.is_none() { other.0.rest.zeros } else { low.rest.zeros };
    // The sign is a high bit.
    let is_split = zeros > 0 && zeros < width;
    let is_aligned = other.0.rest.is_none() || other.0.rest.zeros >= zeros;
    if !is_split || !is_aligned {
        return None;
    }
    // High bits of the thread's part that are the same in all threads count with those of the
    // atoms.
    let mut of_thread = low.thread;
    if shapes.exprs.range(of_thread).1 > mask(zeros) {
        let [high, low] = [mask(width) & !mask(zeros), mask(zeros)]
            .map(|bits| shapes.exprs.constant(bits, width))
            .map(|bits| shapes.exprs.binary(Opcode::And, of_thread, bits));
        shapes.exprs.constant_value(high?)?;
        of_thread = low?;
    }
    // If the high bits are equal, the low ones are compared as unsigned numbers.
    let predicate = predicate.unsigned();
    let bits = shapes.exprs.constant(other.1 & mask(zeros), width);
    let (left, right) = if is_left { (of_thread, bits) } else { (bits, of_thread) };
    let within = shapes.exprs.compare(predicate, left, right)?;
    shapes.exprs.constant_value(within)?;
    let thread = shapes.exprs.constant(0, 1);
    let rest = both.function(0);
    Some(Form { thread, rest, is_signed: false, is_unsigned: false })
}

/// A form as a signed number of another width.
pub(super) fn sign_extended(shapes: &mut Shapes, a: &Form, from: u8, width: u8) -> Option<Form> {
    if a.rest.is_none() {
        return shapes.exprs.cast(Opcode::SExt, a.thread, width).map(pure);
    }
    let thread = match shapes.is_apart(a) && a.rest.zeros < from {
        true => shapes.exprs.cast(Opcode::ZExt, a.thread, width)?,
        false if a.is_signed || shapes.trust == Trust::Indices => {
            shapes.exprs.cast(Opcode::SExt, a.thread, width)?
        }
        false => return None,
    };
    let mut rest = a.rest.function(a.rest.zeros);
    rest.assumes |= !(a.is_signed || shapes.is_apart(a) && a.rest.zeros < from);
    Some(Form { thread, rest, is_signed: false, is_unsigned: false })
}

/// `a + b * factor` in 64 bits.
pub(super) fn plus_scaled(shapes: &mut Shapes, a: &Form, b: &Form, factor: u64) -> Option<Form> {
    let factor = constant(shapes, factor, 64);
    let scaled = product(shapes, Opcode::Mul, b, &factor, 64)?;
    sum(shapes, a, &scaled, false, 64)
}
