//! The shape of one instruction's result from those of its operands.

use phalanx_ir::{
    InstId, Opcode, Value as Operand,
    inst::{InstData, InstFlags, IntPredicate},
};

use super::{
    ShapeContext, Shapes, Trust,
    algebra::{binary, compare, constant, number, pure, sum, with_itself, zeros_of_rest},
    expr::{mask, signed},
    form::{Fact, Form, Progress, Rest},
    ids::{self, Known},
};

/// Whether the result of such an operation can be more than an atom without facts.
#[inline]
pub(crate) const fn is_looked_into(opcode: Opcode) -> bool {
    opcode.is_binary()
        && !matches!(
            opcode,
            Opcode::FAdd | Opcode::FSub | Opcode::FMul | Opcode::FDiv | Opcode::FRem
        )
        || matches!(
            opcode,
            Opcode::Call
                | Opcode::ICmp
                | Opcode::Select
                | Opcode::Trunc
                | Opcode::ZExt
                | Opcode::SExt
                | Opcode::Freeze
                | Opcode::Phi
        )
}

/// The fact of an instruction from those of its operands; see [`is_looked_into`].
#[inline]
pub(crate) fn fact(shapes: &mut Shapes, place: ShapeContext<'_>, inst: InstId) -> Fact {
    let data = place.code.body.inst(inst);
    match data.opcode {
        Opcode::Phi => match shapes.phis.get(&inst).cloned() {
            Some(form) => shapes.with_form(form),
            None => Fact::UNKNOWN,
        },
        Opcode::Call => call(shapes, place, inst),
        _ => operation(shapes, place, inst, data),
    }
}

impl Shapes {
    /// The fact of a value with a form.
    fn with_form(&mut self, form: Form) -> Fact {
        let width = self.exprs.width(form.thread);
        let mut zeros = self.exprs.zeros(form.thread);
        let mut bits = 255;
        if form.rest.is_none() {
            bits = 64 - self.exprs.range(form.thread).1.leading_zeros() as u8;
        } else {
            zeros = zeros.min(form.rest.zeros);
        }
        let is_defined = form.rest.values().all(|atom| self.fact(atom).is_defined);
        let zeros = zeros.min(width);
        Fact { form: self.keep(form), zeros, bits, is_defined, progress: Progress::Known }
    }

    /// Whether the thread's part and the rest have no common bits, so that no carry passes between
    /// them.
    pub(crate) fn is_apart(&self, form: &Form) -> bool {
        form.rest.is_none() || self.exprs.range(form.thread).1 <= mask(form.rest.zeros)
    }
}

/// Facts about an operand, without its form.
#[derive(Clone, Copy)]
struct Bits {
    has_form: bool,
    width: u8,
    constant: Option<u64>,
    zeros: u8,
    bits: u8,
    is_defined: bool,
}

#[inline]
fn bits(shapes: &Shapes, place: ShapeContext<'_>, operand: Operand, width: u8) -> Bits {
    if let Some(constant) = operand.as_const() {
        return match ids::integer(place, constant) {
            Some(value) => Bits {
                has_form: false,
                width,
                constant: Some(value),
                zeros: (value.trailing_zeros() as u8).min(width),
                bits: 64 - value.leading_zeros() as u8,
                is_defined: true,
            },
            None => Bits {
                has_form: false,
                width,
                constant: None,
                zeros: 0,
                bits: width,
                is_defined: false,
            },
        };
    }
    let fact = place.numbering.operand(operand).map_or(Fact::UNKNOWN, |value| shapes.fact(value));
    Bits {
        has_form: fact.form != 0,
        width,
        constant: None,
        zeros: fact.zeros.min(width),
        bits: fact.bits.min(width),
        is_defined: fact.is_defined,
    }
}

/// The flags of an operation that can make poison.
fn flags(data: &InstData) -> InstFlags {
    let all = match data.opcode {
        Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Shl | Opcode::Trunc => {
            InstFlags::NUW.with(InstFlags::NSW)
        }
        Opcode::UDiv | Opcode::SDiv | Opcode::LShr | Opcode::AShr => InstFlags::EXACT,
        Opcode::Or => InstFlags::DISJOINT,
        Opcode::ZExt => InstFlags::NNEG,
        Opcode::ICmp => InstFlags::SAME_SIGN,
        _ => InstFlags::NONE,
    };
    InstFlags(data.flags.0 & all.0)
}

fn operation(shapes: &mut Shapes, place: ShapeContext<'_>, inst: InstId, data: &InstData) -> Fact {
    let Some(width) = place.width(data.ty) else { return Fact::UNKNOWN };
    let operands = place.code.body.operands(inst);
    let (of, is_select) = (operands[0], data.opcode == Opcode::Select);
    let operand_width = match data.opcode {
        Opcode::Trunc | Opcode::ZExt | Opcode::SExt | Opcode::ICmp => {
            match operand_width(place, of) {
                Some(width) => width,
                None => return Fact::UNKNOWN,
            }
        }
        _ => width,
    };
    let first = bits(shapes, place, of, if is_select { 1 } else { operand_width });
    let second = operands.get(1).map(|&b| bits(shapes, place, b, operand_width));
    let third = operands.get(2).map(|&c| bits(shapes, place, c, operand_width));
    let has_form =
        first.has_form || second.is_some_and(|b| b.has_form) || third.is_some_and(|c| c.has_form);
    let atom = plain(data, width, first, second, third);
    // A result that is no function of the thread is an atom, unless it equals an operand or a
    // constant.
    let is_special = has_form
        || operands.get(1) == Some(&of)
        || is_select && shapes.are_congruent(place, operands[1], operands[2])
        || is_select && first.constant.is_some()
        || atom.bits == 0
        || data.opcode == Opcode::ICmp && first.bits < operand_width;
    if !is_special {
        return atom;
    }
    let form = match atom.bits {
        0 if makes_no_poison(data, second) => Some((constant(shapes, 0, width), true)),
        _ => form(shapes, place, data, operands, [width, operand_width]),
    };
    let Some((form, is_sure)) = form else { return atom };
    if shapes.trust == Trust::Nothing && !is_kept(shapes, place, operands, &form) {
        return Fact { is_defined: false, ..atom };
    }
    let fact = with_form_from(shapes, place, operands, form, is_sure);
    // Both facts hold: combine them.
    Fact { zeros: fact.zeros.max(atom.zeros), bits: fact.bits.min(atom.bits), ..fact }
}

/// The fact of a result with a form. `is_sure`: the operation gives no poison unless an operand is
/// poison.
fn with_form_from(
    shapes: &mut Shapes,
    place: ShapeContext<'_>,
    operands: &[Operand],
    form: Form,
    is_sure: bool,
) -> Fact {
    let fact = shapes.with_form(form);
    // If flags are assumed to hold, the atoms do not decide: the result may be poison although they
    // are not.
    let is_defined = match shapes.trust {
        Trust::Nothing => fact.is_defined,
        Trust::Flags | Trust::Indices => {
            let is_defined = |operand: &Operand| match operand.as_const() {
                Some(constant) => ids::integer(place, constant).is_some(),
                None => {
                    place.numbering.operand(*operand).is_some_and(|v| shapes.fact(v).is_defined)
                }
            };
            fact.is_defined && is_sure && operands.iter().all(is_defined)
        }
    };
    Fact { is_defined, ..fact }
}

/// Bits of an integer operand.
pub(super) fn operand_width(place: ShapeContext<'_>, operand: Operand) -> Option<u8> {
    let ty = match operand.kind() {
        phalanx_ir::ValueKind::Inst(inst) => place.code.body.inst(inst).ty,
        phalanx_ir::ValueKind::Arg(position) => place.code.header.params[position as usize],
        phalanx_ir::ValueKind::Const(constant) => place.code.context.const_data(constant).ty,
        _ => return None,
    };
    place.width(ty)
}

/// Bits and poison of a result that has no form.
fn plain(data: &InstData, width: u8, a: Bits, b: Option<Bits>, c: Option<Bits>) -> Fact {
    let (bz, bb) = b.map_or((0, width), |b| (b.zeros, b.bits));
    let constant = b.and_then(|b| b.constant);
    let shift = constant.filter(|&by| by < u64::from(width)).map(|by| by as u8);
    let (zeros, bits) = match data.opcode {
        Opcode::Add => (a.zeros.min(bz), a.bits.max(bb).saturating_add(1)),
        Opcode::Sub => (a.zeros.min(bz), width),
        Opcode::Mul => (a.zeros.saturating_add(bz), a.bits.saturating_add(bb)),
        Opcode::Shl => match shift {
            Some(by) => (a.zeros.saturating_add(by), a.bits.saturating_add(by)),
            None => (a.zeros, width),
        },
        Opcode::LShr => match shift {
            Some(by) => (a.zeros.saturating_sub(by), a.bits.saturating_sub(by)),
            None => (0, a.bits),
        },
        Opcode::And => (a.zeros.max(bz), a.bits.min(bb)),
        Opcode::Or | Opcode::Xor => (a.zeros.min(bz), a.bits.max(bb)),
        Opcode::UDiv => (0, a.bits),
        Opcode::URem => (0, a.bits.min(bb)),
        Opcode::Trunc => (a.zeros, a.bits),
        Opcode::ZExt => (a.zeros, a.bits),
        Opcode::SExt => (a.zeros, width),
        Opcode::Select => {
            let (cz, cb) = c.map_or((0, width), |c| (c.zeros, c.bits));
            (bz.min(cz), bb.max(cb))
        }
        Opcode::Freeze if a.is_defined => (a.zeros, a.bits),
        _ => (0, width),
    };
    // In a zero, all bits are zero.
    let is_zero = zeros >= bits.min(width) && data.opcode != Opcode::Freeze;
    let (zeros, bits) = if is_zero { (width, 0) } else { (zeros, bits.min(width)) };
    let is_defined = a.is_defined
        && b.is_none_or(|b| b.is_defined)
        && c.is_none_or(|c| c.is_defined)
        && makes_no_poison(data, b);
    let is_defined = is_defined || data.opcode == Opcode::Freeze && a.is_defined;
    Fact { form: 0, zeros, bits, is_defined, progress: Progress::Known }
}

/// Whether an operation gives poison only if an operand is poison, judging by opcode and flags.
fn makes_no_poison(data: &InstData, second: Option<Bits>) -> bool {
    let is_shift = matches!(data.opcode, Opcode::Shl | Opcode::LShr | Opcode::AShr);
    let amount = second.and_then(|b| b.constant);
    let width = second.map_or(64, |b| b.width);
    flags(data) == InstFlags::NONE && (!is_shift || amount.is_some_and(|by| by < u64::from(width)))
}

/// Whether all atoms that have cancelled out are never poison in some threads only.
fn is_kept(shapes: &Shapes, place: ShapeContext<'_>, operands: &[Operand], form: &Form) -> bool {
    let is_left = |atom| form.rest.values().any(|left| left == atom);
    operands.iter().filter_map(|&operand| place.numbering.operand(operand)).all(|value| {
        let fact = shapes.fact(value);
        match shapes.form_of(fact) {
            Some(of) => of.rest.values().all(|atom| is_left(atom) || shapes.fact(atom).is_defined),
            None => is_left(value) || fact.is_defined,
        }
    })
}

/// The form of a result, and whether the operation gives no poison unless an operand is poison.
/// `None` if the result has no form.
fn form(
    shapes: &mut Shapes,
    place: ShapeContext<'_>,
    data: &InstData,
    operands: &[Operand],
    [width, operand_width]: [u8; 2],
) -> Option<(Form, bool)> {
    let sure = |form| (form, true);
    match data.opcode {
        Opcode::Freeze => {
            let value = place.numbering.operand(operands[0])?;
            let form = shapes.operand(place, operands[0], width)?;
            shapes.fact(value).is_defined.then_some(form).map(sure)
        }
        Opcode::Select => select(shapes, place, operands, width).map(sure),
        Opcode::ICmp => {
            let a = shapes.operand(place, operands[0], operand_width)?;
            let b = shapes.operand(place, operands[1], operand_width)?;
            let known = |o: Operand| bits(shapes, place, o, operand_width).bits;
            let ranges = [known(operands[0]), known(operands[1])];
            if !is_sure(shapes, data, operand_width, &a, &b, &a) {
                return None;
            }
            compare(shapes, data.int_predicate(), &a, &b, operand_width, ranges).map(sure)
        }
        Opcode::Trunc | Opcode::ZExt | Opcode::SExt => {
            let a = shapes.operand(place, operands[0], operand_width)?;
            cast(shapes, data, &a, operand_width, width)
        }
        opcode => {
            let a = shapes.operand(place, operands[0], width)?;
            let b = shapes.operand(place, operands[1], width)?;
            if operands[0] == operands[1]
                && let Some(form) = with_itself(shapes, opcode, &a, width)
            {
                let is_sure = flags(data) == InstFlags::NONE || opcode != Opcode::Or;
                return is_sure.then_some(form).map(sure);
            }
            let result = binary(shapes, opcode, &a, &b, width)?;
            let is_sure = is_sure(shapes, data, width, &a, &b, &result);
            match shapes.trust {
                Trust::Nothing => is_sure.then_some(result).map(sure),
                Trust::Flags | Trust::Indices => {
                    Some((trusting(shapes, data, &a, &b, result), is_sure))
                }
            }
        }
    }
}

/// Whether an operation is known to give no poison: its flags hold, and shift amounts are less than
/// the width.
fn is_sure(shapes: &Shapes, data: &InstData, width: u8, a: &Form, b: &Form, result: &Form) -> bool {
    let is_shift = matches!(data.opcode, Opcode::Shl | Opcode::LShr | Opcode::AShr);
    if is_shift && !(b.rest.is_none() && shapes.exprs.range(b.thread).1 < width.into()) {
        return false;
    }
    let flags = flags(data);
    if flags == InstFlags::NONE {
        return true;
    }
    let range = |form: &Form| form.rest.is_none().then(|| shapes.exprs.range(form.thread));
    match (data.opcode, range(a), range(b)) {
        (Opcode::ICmp, Some(a), Some(b)) => {
            let top = 1 << (width - 1);
            a.1 < top && b.1 < top
        }
        (Opcode::Or, ..) => {
            let apart = |low: &Form, high: &Form| {
                low.rest.is_none()
                    && shapes.exprs.range(low.thread).1
                        <= mask(shapes.exprs.zeros(high.thread).min(zeros_of_rest(high, width)))
            };
            apart(a, b) || apart(b, a)
        }
        (Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Shl, Some(x), Some(y)) => {
            let (a, b) = ([x.0, x.1].map(i128::from), [y.0, y.1].map(i128::from));
            let (least, largest) = match data.opcode {
                Opcode::Add => (a[0] + b[0], a[1] + b[1]),
                Opcode::Sub => (a[0] - b[1], a[1] - b[0]),
                Opcode::Mul if a[1] < 1 << 60 && b[1] < 1 << 60 => (a[0] * b[0], a[1] * b[1]),
                Opcode::Shl if a[1] < 1 << 60 && b[1] < 60 => (a[0] << b[0], a[1] << b[1]),
                _ => return false,
            };
            // Below the sign bit, unsigned and signed numbers are the same.
            let top = 1i128 << (width - 1);
            if a[1] < top && b[1] < top && least >= 0 && largest < top {
                return true;
            }
            // The addition of a negative number.
            let signed = |of: [i128; 2]| match (of[1] < top, of[0] >= top) {
                (true, _) => Some(of),
                (_, true) => Some(of.map(|end| end - 2 * top)),
                _ => None,
            };
            match (data.opcode, flags, signed(a), signed(b)) {
                (Opcode::Add, InstFlags::NSW, Some(a), Some(b)) => {
                    a[0] + b[0] >= -top && a[1] + b[1] < top
                }
                _ => false,
            }
        }
        (Opcode::Add, ..) => {
            // There is no carry if the operands have no common bits.
            let one = a.rest.is_none() || b.rest.is_none();
            let is_low = |form: &Form| shapes.exprs.range(form.thread).1 < 1 << (width - 1);
            one && result.rest.zeros < width
                && is_low(a)
                && is_low(b)
                && shapes.is_apart(result)
                && shapes.is_apart(a)
                && shapes.is_apart(b)
        }
        _ => false,
    }
}

/// Adds the facts that follow from flags, if they may be assumed to hold.
fn trusting(shapes: &Shapes, data: &InstData, a: &Form, b: &Form, result: Form) -> Form {
    let has = |flag| flags(data).contains(flag);
    let keeps = matches!(data.opcode, Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Shl);
    let all = [a, b, &result].map(|form| shapes.exprs.fits(form.thread));
    let exact = is_of_integers(shapes, data.opcode, [a, b, &result]);
    let [fits_signed, fits_unsigned] =
        [0, 1].map(|sign| exact[sign] && all.iter().all(|fits| fits[sign]));
    let is_signed = keeps && fits_signed && has(InstFlags::NSW) && a.is_signed && b.is_signed;
    let is_unsigned =
        keeps && fits_unsigned && has(InstFlags::NUW) && a.is_unsigned && b.is_unsigned;
    Form {
        is_signed: is_signed || result.is_signed,
        is_unsigned: is_unsigned || result.is_unsigned,
        ..result
    }
}

/// Whether the thread's part of a result equals the operation on those of the operands as integers
/// (signed, unsigned), up to a constant. That may fail, since a factor can wrap to another one that
/// also fits.
fn is_of_integers(shapes: &Shapes, opcode: Opcode, [a, b, result]: [&Form; 3]) -> [bool; 2] {
    let exprs = &shapes.exprs;
    let width = exprs.width(result.thread);
    let linear = |form: &Form| exprs.linear(form.thread).map(|(coefs, _)| coefs.map(i128::from));
    let (Some(x), Some(y), Some(z)) = (linear(a), linear(b), linear(result)) else {
        let largest = |form: &Form| i128::from(exprs.range(form.thread).1);
        let sum = largest(a) + largest(b);
        let is_sum = opcode == Opcode::Add;
        return [is_sum && sum <= (mask(width) >> 1).into(), is_sum && sum <= mask(width).into()];
    };
    let is = |by: &dyn Fn(usize) -> i128| (0..z.len()).all(|at| by(at) == z[at]);
    let times = |factors: [i128; 4], by: [i128; 2]| by.map(|by| is(&|at| factors[at] * by));
    match (opcode, number(shapes, a), number(shapes, b)) {
        (Opcode::Add, ..) => [is(&|at| x[at] + y[at]); 2],
        (Opcode::Sub, ..) => [is(&|at| x[at] - y[at]); 2],
        (Opcode::Shl, _, Some(by)) => times(x, [1 << by.min(64); 2]),
        (Opcode::Mul, _, Some(by)) => times(x, [signed(by, width).into(), by.into()]),
        (Opcode::Mul, Some(by), _) => times(y, [signed(by, width).into(), by.into()]),
        _ => [false; 2],
    }
}

fn select(
    shapes: &mut Shapes,
    place: ShapeContext<'_>,
    operands: &[Operand],
    width: u8,
) -> Option<Form> {
    let condition = shapes.operand(place, operands[0], 1)?;
    let known = number(shapes, &condition);
    let a = shapes.operand(place, operands[1], width);
    let b = shapes.operand(place, operands[2], width);
    match known {
        Some(0) => return b,
        Some(_) => return a,
        None => {}
    }
    let (a, b) = (a?, b?);
    if a == b && (a.rest.is_none() || a.rest.is_sum)
        || shapes.are_congruent(place, operands[1], operands[2])
    {
        return Some(a);
    }
    let is_pure = condition.rest.is_none() && a.rest.is_none() && b.rest.is_none();
    if !is_pure {
        return None;
    }
    shapes.exprs.select(condition.thread, a.thread, b.thread).map(pure)
}

/// The form of a conversion, and whether its flags certainly hold.
fn cast(
    shapes: &mut Shapes,
    data: &InstData,
    a: &Form,
    from: u8,
    width: u8,
) -> Option<(Form, bool)> {
    let (opcode, flags) = (data.opcode, flags(data));
    let range = shapes.exprs.range(a.thread);
    let is_positive = from > 0 && range.1 < 1 << (from - 1);
    let is_sure = match opcode {
        _ if flags == InstFlags::NONE => true,
        Opcode::ZExt => a.rest.is_none() && is_positive,
        Opcode::Trunc => a.rest.is_none() && range.1 <= mask(width) >> 1,
        _ => false,
    };
    if !is_sure && shapes.trust == Trust::Nothing {
        return None;
    }
    let thread = match opcode {
        _ if a.rest.is_none() => {
            return shapes
                .exprs
                .cast(opcode, a.thread, width)
                .map(|thread| (pure(thread), is_sure));
        }
        Opcode::Trunc => {
            let thread = shapes.exprs.cast(opcode, a.thread, width)?;
            let zeros = a.rest.zeros.min(width);
            let rest = match zeros == width {
                true => Rest::default(),
                false => a.rest.function(zeros),
            };
            return Some((Form { thread, rest, is_signed: false, is_unsigned: false }, is_sure));
        }
        // The parts have no common bits, so each is extended by itself; the sign is a bit of the
        // rest.
        _ if shapes.is_apart(a) && a.rest.zeros < from => {
            shapes.exprs.cast(Opcode::ZExt, a.thread, width)?
        }
        // The sum is one of integers.
        Opcode::SExt if a.is_signed => shapes.exprs.cast(Opcode::SExt, a.thread, width)?,
        Opcode::ZExt if a.is_unsigned => shapes.exprs.cast(Opcode::ZExt, a.thread, width)?,
        Opcode::ZExt if !is_sure && a.is_signed => {
            shapes.exprs.cast(Opcode::SExt, a.thread, width)?
        }
        _ if shapes.trust == Trust::Indices => {
            let thread = shapes.exprs.cast(Opcode::SExt, a.thread, width)?;
            let rest = Rest { assumes: true, ..a.rest.function(a.rest.zeros) };
            return Some((Form { thread, rest, is_signed: false, is_unsigned: false }, is_sure));
        }
        _ => return None,
    };
    let rest = a.rest.function(a.rest.zeros);
    Some((Form { thread, rest, is_signed: false, is_unsigned: false }, is_sure))
}

fn call(shapes: &mut Shapes, place: ShapeContext<'_>, call: InstId) -> Fact {
    let data = place.code.body.inst(call);
    let Some(width) = place.width(data.ty) else { return Fact::UNKNOWN };
    let Some(callee) = place.code.body.const_callee(call) else { return Fact::UNKNOWN };
    let intrinsic = *shapes.callees.entry(callee).or_insert_with(|| ids::intrinsic(place, callee));
    let Some(known) = intrinsic.and_then(|found| ids::known(place, call, found)) else {
        return Fact::UNKNOWN;
    };
    let defined = Fact { is_defined: true, ..Fact::UNKNOWN };
    let form = match known {
        Known::Index(dim) if width >= 10 => Some(pure(shapes.exprs.index(dim, width))),
        Known::Index(_) => None,
        Known::Extent(dim) => {
            let extent = shapes.exprs.geometry().exact(dim);
            extent.map(|n| constant(shapes, n.into(), width))
        }
        Known::WaveSize => {
            let lanes = shapes.exprs.geometry().wave();
            lanes.map(|n| constant(shapes, n.into(), width))
        }
        Known::Defined => None,
        Known::LanesBelow { high } => {
            let args = place.code.body.call_args(call);
            let base = args.get(1).copied();
            return match base.and_then(|base| lanes_below(shapes, place, base, high, width)) {
                Some(form) => with_form_from(shapes, place, args, form, true),
                None => Fact::UNKNOWN,
            };
        }
        Known::Extremum(is_signed, is_smaller) => {
            let args = place.code.body.call_args(call);
            let form = (|| {
                let a = shapes.operand(place, args[0], width)?;
                let b = shapes.operand(place, args[1], width)?;
                let predicate = match (is_signed, is_smaller) {
                    (true, true) => IntPredicate::Slt,
                    (true, false) => IntPredicate::Sgt,
                    (false, true) => IntPredicate::Ult,
                    (false, false) => IntPredicate::Ugt,
                };
                if !a.rest.is_none() || !b.rest.is_none() {
                    return None;
                }
                let less = shapes.exprs.compare(predicate, a.thread, b.thread)?;
                shapes.exprs.select(less, a.thread, b.thread).map(pure)
            })();
            return match form {
                Some(form) => with_form_from(shapes, place, args, form, true),
                None => Fact::UNKNOWN,
            };
        }
    };
    form.map_or(defined, |form| shapes.with_form(form))
}

/// The number of lanes below this one, of the first 32 or of the others, plus `base`.
fn lanes_below(
    shapes: &mut Shapes,
    place: ShapeContext<'_>,
    base: Operand,
    high: bool,
    width: u8,
) -> Option<Form> {
    let mut base = shapes.operand(place, base, width)?;
    let lane = shapes.exprs.index(3, width);
    let lanes = shapes.exprs.geometry().wave()?;
    let zero = shapes.exprs.constant(0, width);
    let thread = match (lanes, high) {
        (..=32, false) => lane,
        (..=32, true) => zero,
        (64, _) => {
            let half = shapes.exprs.constant(32, width);
            let is_low = shapes.exprs.compare(IntPredicate::Ult, lane, half)?;
            let below = shapes.exprs.select(is_low, lane, half)?;
            let beyond = shapes.exprs.binary(Opcode::Sub, lane, half)?;
            let beyond = shapes.exprs.select(is_low, zero, beyond)?;
            let (this, other) = if high { (beyond, below) } else { (below, beyond) };
            // Both together are the lane, which is linear and can be subtracted again.
            match base.thread == other {
                true => {
                    base.thread = zero;
                    lane
                }
                false => this,
            }
        }
        _ => return None,
    };
    sum(shapes, &base, &pure(thread), false, width)
}
