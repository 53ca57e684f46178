//! Evaluates the operations on numbers, lane by lane.
//!
//! The meaning is that of LLVM 22's Language Reference: an operation that violates its flags or
//! ranges gives poison, poison operands give poison, and an impossible division is undefined
//! behaviour.

use phalanx_ir::{
    InstData, InstFlags, Opcode, Type,
    inst::{IntPredicate, RmwOp},
};

use crate::{
    fault::FaultKind,
    float,
    shape::{FloatKind, Shape, Shapes},
    unknown::{is_followed, worst},
    value::{Value, mask, signed},
};

type Result<T> = std::result::Result<T, FaultKind>;

/// Applies an operation to each lane of two operands of one type.
pub(crate) fn lanes2(
    a: &Value,
    b: &Value,
    mut op: impl FnMut(u128, u128) -> Result<Value>,
) -> Result<Value> {
    match (a, b) {
        (Value::Bits(a), Value::Bits(b)) => op(*a, *b),
        (Value::Many(left), Value::Many(right)) => {
            let lane = |(a, b): (&Value, &Value)| match (a, b) {
                (Value::Bits(a), Value::Bits(b)) => op(*a, *b),
                (a, b) => Ok(worst([a, b])),
            };
            Ok(Value::Many(left.iter().zip(right.iter()).map(lane).collect::<Result<_>>()?))
        }
        (Value::Many(lanes), other) | (other, Value::Many(lanes)) => {
            let lane = |lane| worst([lane, other]);
            Ok(Value::Many(lanes.iter().map(lane).collect()))
        }
        (a, b) => Ok(worst([a, b])),
    }
}

/// Applies an operation to each lane of an operand.
pub(crate) fn lanes1(a: &Value, mut op: impl FnMut(u128) -> Result<Value>) -> Result<Value> {
    match a {
        Value::Bits(a) => op(*a),
        Value::Many(lanes) => {
            let lanes = lanes.iter().map(|lane| match lane {
                Value::Bits(bits) => op(*bits),
                other => Ok(worst([other])),
            });
            Ok(Value::Many(lanes.collect::<Result<_>>()?))
        }
        other => Ok(worst([other])),
    }
}

/// The type of a lane.
pub(crate) fn lane(shapes: &Shapes, ty: Type) -> Type {
    match *shapes.of(ty) {
        Shape::Vector { elem, .. } => elem,
        _ => ty,
    }
}

pub(crate) fn float_kind(shapes: &Shapes, ty: Type) -> Result<FloatKind> {
    match shapes.of(lane(shapes, ty)) {
        Shape::Float(kind) => Ok(*kind),
        _ => Err(FaultKind::unsupported("this floating-point format")),
    }
}

pub(crate) fn int_bits(shapes: &Shapes, ty: Type) -> Result<u32> {
    match shapes.bits(lane(shapes, ty)) {
        Some(bits) if bits <= 128 => Ok(bits),
        Some(bits) => Err(FaultKind::unsupported(format!("integers of {bits} bits"))),
        None => Err(FaultKind::unsupported("integers of this type")),
    }
}

/// Replaces a value by poison if it could be poison for some bits of an unknown operand; lane by
/// lane.
pub(crate) fn poisoned(value: Value) -> Value {
    match value {
        Value::Undef | Value::Frozen => Value::Poison,
        Value::Many(lanes) => Value::Many(lanes.iter().cloned().map(poisoned).collect()),
        other => other,
    }
}

/// The result of an integer operation on a lane if one operand is unknown but the other one
/// decides.
fn decided(opcode: Opcode, bits: u32, a: &Value, b: &Value) -> Option<Value> {
    let known = match (a, b) {
        (Value::Bits(known), Value::Undef | Value::Frozen) => *known,
        (Value::Undef | Value::Frozen, Value::Bits(known)) => *known,
        _ => return None,
    };
    let decides = match opcode {
        Opcode::And | Opcode::Mul => known == 0,
        Opcode::Or => known == mask(bits),
        _ => false,
    };
    decides.then_some(Value::Bits(known))
}

/// An operation with two operands of the result's type, at least one of which is unknown.
fn binary_followed(opcode: Opcode, bits: u32, a: &Value, b: &Value, result: Value) -> Value {
    match (a, b, result) {
        (Value::Many(left), Value::Many(right), Value::Many(results)) => {
            let lane = |((a, b), result): ((&Value, &Value), &Value)| {
                decided(opcode, bits, a, b).unwrap_or_else(|| result.clone())
            };
            let lanes = left.iter().zip(right.iter()).zip(results.iter());
            Value::Many(lanes.map(lane).collect())
        }
        (a, b, result) => decided(opcode, bits, a, b).unwrap_or(result),
    }
}

/// An operation with two operands of the result's type.
pub(crate) fn binary(shapes: &Shapes, data: &InstData, a: &Value, b: &Value) -> Result<Value> {
    let result = binary_of_known(shapes, data, a, b)?;
    if !is_followed(&result) {
        return Ok(result);
    }
    let is_shift = matches!(data.opcode, Opcode::Shl | Opcode::LShr | Opcode::AShr);
    if is_shift && is_followed(b) || data.flags != InstFlags::NONE {
        return Ok(poisoned(result));
    }
    let bits = shapes.bits(lane(shapes, data.ty)).unwrap_or(128);
    Ok(binary_followed(data.opcode, bits, a, b, result))
}

fn binary_of_known(shapes: &Shapes, data: &InstData, a: &Value, b: &Value) -> Result<Value> {
    match data.opcode {
        Opcode::FAdd | Opcode::FSub | Opcode::FMul | Opcode::FDiv | Opcode::FRem => {
            let kind = float_kind(shapes, data.ty)?;
            lanes2(a, b, |a, b| {
                let result =
                    float::binary(data.opcode, kind, a, b).map_or(Value::Poison, Value::Bits);
                Ok(checked_float(kind, data.flags, &[a, b], result))
            })
        }
        opcode => {
            let bits = int_bits(shapes, data.ty)?;
            // A poison dividend gives poison; a poison divisor is undefined behaviour.
            if matches!(opcode, Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem)
                && (b.has_poison() || is_followed(b))
            {
                let what = if b.has_poison() { "poison" } else { "undef, or by what is frozen" };
                return Err(FaultKind::undefined(format!("division by {what}")));
            }
            // One of the possible dividends overflows.
            if matches!(opcode, Opcode::SDiv | Opcode::SRem) && is_followed(a) {
                let is_minus_one = |lane: &Value| lane.bits() == Some(mask(bits));
                if b.elements().unwrap_or(std::slice::from_ref(b)).iter().any(is_minus_one) {
                    return Err(FaultKind::undefined("division of undef that overflows"));
                }
            }
            lanes2(a, b, |a, b| integer(opcode, data.flags, bits, a, b))
        }
    }
}

/// Whether one of these numbers violates fast-math flags.
pub(crate) fn breaks(kind: FloatKind, flags: InstFlags, numbers: &[u128]) -> bool {
    if !flags.contains(InstFlags::NNAN) && !flags.contains(InstFlags::NINF) {
        return false;
    }
    numbers.iter().any(|&bits| {
        let value = float::to_f64(kind, bits);
        value.is_nan() && flags.contains(InstFlags::NNAN)
            || value.is_infinite() && flags.contains(InstFlags::NINF)
    })
}

/// The number, or poison if it violates fast-math flags.
pub(crate) fn checked_float(
    kind: FloatKind,
    flags: InstFlags,
    operands: &[u128],
    result: Value,
) -> Value {
    let is_broken = breaks(kind, flags, operands)
        || result.bits().is_some_and(|bits| breaks(kind, flags, &[bits]));
    if is_broken { Value::Poison } else { result }
}

/// The result of an instruction of any type, with poison in each lane that violates fast-math
/// flags.
pub(crate) fn as_promised(shapes: &Shapes, data: &InstData, result: Value) -> Value {
    let Shape::Float(kind) = *shapes.of(lane(shapes, data.ty)) else { return result };
    let checked =
        lanes1(&result, |bits| Ok(checked_float(kind, data.flags, &[], Value::Bits(bits))));
    let checked = checked.unwrap_or(result);
    let promises = data.flags.contains(InstFlags::NNAN) || data.flags.contains(InstFlags::NINF);
    if promises { poisoned(checked) } else { checked }
}

/// As [`as_promised`], for a call: its arguments are checked as well, lane by lane.
pub(crate) fn as_promised_of(
    shapes: &Shapes,
    data: &InstData,
    types: &[Type],
    args: &[Value],
    result: Value,
) -> Value {
    let mut result = as_promised(shapes, data, result);
    for (arg, &ty) in args.iter().zip(types) {
        let Shape::Float(kind) = *shapes.of(lane(shapes, ty)) else { continue };
        let is_broken =
            |lane: &Value| lane.bits().is_some_and(|bits| breaks(kind, data.flags, &[bits]));
        result = match (arg.elements(), result) {
            (Some(lanes), Value::Many(results)) if lanes.len() == results.len() => {
                let lane = |(lane, result): (&Value, &Value)| match is_broken(lane) {
                    true => Value::Poison,
                    false => result.clone(),
                };
                Value::Many(lanes.iter().zip(results.iter()).map(lane).collect())
            }
            (Some(lanes), result @ Value::Bits(_)) => match lanes.iter().any(is_broken) {
                true => Value::Poison,
                false => result,
            },
            (None, Value::Bits(_)) if is_broken(arg) => Value::Poison,
            (_, result) => result,
        };
    }
    result
}

/// An integer operation on numbers of `bits` bits.
pub(crate) fn integer(
    opcode: Opcode,
    flags: InstFlags,
    bits: u32,
    a: u128,
    b: u128,
) -> Result<Value> {
    let (all, least) = (mask(bits), 1u128 << (bits - 1));
    let (sa, sb) = (signed(a, bits), signed(b, bits));
    // The exact result fits in 128 bits with its sign, unless the operands have 128 bits.
    let fits = |exact: Option<i128>| exact.is_some_and(|r| signed(r as u128 & all, bits) == r);
    let (nuw, nsw) = (flags.contains(InstFlags::NUW), flags.contains(InstFlags::NSW));
    let exact = flags.contains(InstFlags::EXACT);
    let (result, broken) = match opcode {
        Opcode::Add => {
            let (sum, carry) = a.overflowing_add(b);
            let over = carry || sum > all;
            (sum, nuw && over || nsw && !fits(sa.checked_add(sb)))
        }
        Opcode::Sub => (a.wrapping_sub(b), nuw && b > a || nsw && !fits(sa.checked_sub(sb))),
        Opcode::Mul => {
            let (product, carry) = a.overflowing_mul(b);
            let over = carry || product > all;
            (a.wrapping_mul(b), nuw && over || nsw && !fits(sa.checked_mul(sb)))
        }
        Opcode::UDiv | Opcode::URem | Opcode::SDiv | Opcode::SRem if b == 0 => {
            return Err(FaultKind::undefined("division by zero"));
        }
        Opcode::UDiv => (a / b, exact && !a.is_multiple_of(b)),
        Opcode::URem => (a % b, false),
        Opcode::SDiv | Opcode::SRem if a == least && b == all => {
            return Err(FaultKind::undefined("division that overflows"));
        }
        Opcode::SDiv => ((sa / sb) as u128, exact && sa % sb != 0),
        Opcode::SRem => ((sa % sb) as u128, false),
        Opcode::Shl | Opcode::LShr | Opcode::AShr if b >= u128::from(bits) => {
            return Ok(Value::Poison);
        }
        Opcode::Shl => {
            let result = a << b & all;
            let lost = result >> b != a;
            let sign = signed(result, bits) >> b != sa;
            (result, nuw && lost || nsw && sign)
        }
        Opcode::LShr => (a >> b, exact && a >> b << b != a),
        Opcode::AShr => ((sa >> b) as u128, exact && sa >> b << b != sa),
        Opcode::And => (a & b, false),
        Opcode::Or => (a | b, flags.contains(InstFlags::DISJOINT) && a & b != 0),
        Opcode::Xor => (a ^ b, false),
        _ => return Err(FaultKind::unsupported(opcode.text())),
    };
    Ok(if broken { Value::Poison } else { Value::Bits(result & all) })
}

/// A comparison of integers or addresses of `bits` bits.
pub(crate) fn compare(predicate: IntPredicate, bits: u32, a: u128, b: u128) -> bool {
    predicate.holds(a.cmp(&b), signed(a, bits).cmp(&signed(b, bits)))
}

/// A conversion between numbers. The caller handles addresses.
pub(crate) fn convert(shapes: &Shapes, data: &InstData, from: Type, a: &Value) -> Result<Value> {
    let result = convert_known(shapes, data, from, a)?;
    let may_be_poison =
        data.flags != InstFlags::NONE || matches!(data.opcode, Opcode::FpToUi | Opcode::FpToSi);
    Ok(if may_be_poison && is_followed(&result) { poisoned(result) } else { result })
}

fn convert_known(shapes: &Shapes, data: &InstData, from: Type, a: &Value) -> Result<Value> {
    let to = data.ty;
    let flags = data.flags;
    match data.opcode {
        Opcode::Trunc => {
            let (from, to) = (int_bits(shapes, from)?, int_bits(shapes, to)?);
            lanes1(a, |a| {
                let result = a & mask(to);
                let broken = flags.contains(InstFlags::NUW) && result != a
                    || flags.contains(InstFlags::NSW) && signed(result, to) != signed(a, from);
                Ok(if broken { Value::Poison } else { Value::Bits(result) })
            })
        }
        Opcode::ZExt => {
            let from = int_bits(shapes, from)?;
            int_bits(shapes, to)?;
            lanes1(a, |a| {
                let broken = flags.contains(InstFlags::NNEG) && signed(a, from) < 0;
                Ok(if broken { Value::Poison } else { Value::Bits(a) })
            })
        }
        Opcode::SExt => {
            let (from, to) = (int_bits(shapes, from)?, int_bits(shapes, to)?);
            lanes1(a, |a| Ok(Value::Bits(signed(a, from) as u128 & mask(to))))
        }
        Opcode::FpToUi | Opcode::FpToSi => {
            let (kind, bits) = (float_kind(shapes, from)?, int_bits(shapes, to)?);
            let is_signed = data.opcode == Opcode::FpToSi;
            lanes1(a, |a| Ok(to_integer(float::to_f64(kind, a), bits, is_signed)))
        }
        Opcode::UiToFp | Opcode::SiToFp => {
            let (bits, kind) = (int_bits(shapes, from)?, float_kind(shapes, to)?);
            let is_signed = data.opcode == Opcode::SiToFp;
            lanes1(a, |a| {
                if flags.contains(InstFlags::NNEG) && signed(a, bits) < 0 {
                    return Ok(Value::Poison);
                }
                // Rounded once: wide integers do not go through `f64`.
                Ok(Value::Bits(match (kind, is_signed) {
                    (FloatKind::Single, true) => (signed(a, bits) as f32).to_bits().into(),
                    (FloatKind::Single, false) => (a as f32).to_bits().into(),
                    (_, true) => float::from_f64(kind, signed(a, bits) as f64),
                    (_, false) => float::from_f64(kind, a as f64),
                }))
            })
        }
        Opcode::FpTrunc | Opcode::FpExt => {
            let (from, to) = (float_kind(shapes, from)?, float_kind(shapes, to)?);
            lanes1(a, |a| {
                let result = Value::Bits(float::from_f64(to, float::to_f64(from, a)));
                let is_broken = breaks(from, flags, &[a]);
                Ok(if is_broken { Value::Poison } else { checked_float(to, flags, &[], result) })
            })
        }
        opcode => Err(FaultKind::unsupported(opcode.text())),
    }
}

/// Towards zero; poison when it does not fit.
fn to_integer(value: f64, bits: u32, is_signed: bool) -> Value {
    let whole = value.trunc();
    let limit = 2f64.powi(bits as i32 - i32::from(is_signed));
    let fits =
        if is_signed { whole >= -limit && whole < limit } else { whole >= 0.0 && whole < limit };
    match fits {
        false => Value::Poison,
        true if is_signed => Value::Bits(whole as i128 as u128 & mask(bits)),
        true => Value::Bits(whole as u128),
    }
}

/// What an atomic operation leaves in memory.
pub(crate) fn atomic(
    shapes: &Shapes,
    op: RmwOp,
    ty: Type,
    old: &Value,
    operand: &Value,
) -> Result<Value> {
    if let Shape::Float(kind) = *shapes.of(lane(shapes, ty))
        && op != RmwOp::Xchg
    {
        return lanes2(old, operand, |a, b| {
            Ok(float::atomic(op, kind, a, b).map_or(Value::Poison, Value::Bits))
        });
    }
    let bits = int_bits(shapes, ty)?;
    let all = mask(bits);
    lanes2(old, operand, |a, b| {
        let (sa, sb) = (signed(a, bits), signed(b, bits));
        Ok(Value::Bits(match op {
            RmwOp::Xchg => b,
            RmwOp::Add => a.wrapping_add(b) & all,
            RmwOp::Sub => a.wrapping_sub(b) & all,
            RmwOp::And => a & b,
            RmwOp::Nand => !(a & b) & all,
            RmwOp::Or => a | b,
            RmwOp::Xor => a ^ b,
            RmwOp::Max => {
                if sa >= sb {
                    a
                } else {
                    b
                }
            }
            RmwOp::Min => {
                if sa <= sb {
                    a
                } else {
                    b
                }
            }
            RmwOp::UMax => a.max(b),
            RmwOp::UMin => a.min(b),
            RmwOp::UIncWrap => {
                if a >= b {
                    0
                } else {
                    a + 1
                }
            }
            RmwOp::UDecWrap => {
                if a == 0 || a > b {
                    b
                } else {
                    a - 1
                }
            }
            RmwOp::USubCond => {
                if a >= b {
                    a - b
                } else {
                    a
                }
            }
            RmwOp::USubSat => a.saturating_sub(b),
            _ => return Err(FaultKind::unsupported(op.text())),
        }))
    })
}

/// The same bits as another type: numbers and vectors of numbers, lowest lane first.
pub(crate) fn bitcast(shapes: &Shapes, from: Type, to: Type, a: &Value) -> Result<Value> {
    if from == to {
        return Ok(a.clone());
    }
    let width = int_bits(shapes, from)?;
    let lanes = match a {
        Value::Many(lanes) => lanes.to_vec(),
        other => vec![other.clone()],
    };
    // For a lane without bits, what it is instead: any lane that takes a bit of it is the same.
    let mut bits: Vec<std::result::Result<bool, &Value>> = Vec::new();
    for lane in &lanes {
        let value = lane.bits().ok_or(lane);
        bits.extend((0..width).map(|i| value.map(|value| value >> i & 1 == 1)));
    }
    let number = |bits: &[std::result::Result<bool, &Value>]| {
        let mut all = bits.iter().rev();
        let joined = all.try_fold(0, |all, bit| Some(all << 1 | u128::from((*bit).ok()?)));
        let unknown = || worst(bits.iter().filter_map(|bit| bit.err()));
        joined.map_or_else(unknown, Value::Bits)
    };
    match *shapes.of(to) {
        Shape::Vector { elem, len } => {
            let width = int_bits(shapes, elem)? as usize;
            let part = |i: usize| bits.get(i * width..).and_then(|rest| rest.get(..width));
            let part = |i: usize| part(i).map_or(Value::Poison, number);
            Ok(Value::Many((0..len as usize).map(part).collect()))
        }
        _ => {
            int_bits(shapes, to)?;
            Ok(number(&bits))
        }
    }
}
