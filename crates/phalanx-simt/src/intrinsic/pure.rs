//! Evaluates intrinsics that are functions of their arguments.
//!
//! Targets approximate some mathematical functions. Here these are computed exactly rounded or
//! nearly so: a program may not rely on more.

use phalanx_ir::Type;

use super::{Lanes, Pure, Reduce, Unary};
use crate::{
    fault::FaultKind,
    float, ops,
    shape::{Shape, Shapes},
    unknown::worst,
    value::{Value, mask, signed},
};

/// The result of an intrinsic that is a function of its arguments. `ty` is the type of the result,
/// `types` those of the arguments.
pub(crate) fn pure(
    op: Pure,
    shapes: &Shapes,
    ty: Type,
    types: &[Type],
    args: &[Value],
) -> Result<Value, FaultKind> {
    let arg = |i: usize| args.get(i).cloned().unwrap_or(Value::Poison);
    let arg_type = |i: usize| types.get(i).copied().unwrap_or(Type::VOID);
    let bits = || ops::int_bits(shapes, arg_type(0));
    match op {
        Pure::Abs | Pure::CtLz | Pure::CtTz => {
            let bits = bits()?;
            let strict = arg(1).bits() == Some(1);
            let result = ops::lanes1(&arg(0), |a| Ok(one_integer(op, bits, a, strict)))?;
            Ok(if strict { ops::poisoned(result) } else { result })
        }
        Pure::CtPop | Pure::BSwap | Pure::BitReverse => {
            let bits = bits()?;
            ops::lanes1(&arg(0), |a| Ok(one_integer(op, bits, a, false)))
        }
        Pure::SMax
        | Pure::SMin
        | Pure::UMax
        | Pure::UMin
        | Pure::SAddSat
        | Pure::UAddSat
        | Pure::SSubSat
        | Pure::USubSat
        | Pure::SShlSat
        | Pure::UShlSat
        | Pure::MulHigh(_)
        | Pure::MulLow24(_) => {
            let bits = bits()?;
            let result = ops::lanes2(&arg(0), &arg(1), |a, b| Ok(two_integers(op, bits, a, b)))?;
            let is_shift = matches!(op, Pure::SShlSat | Pure::UShlSat);
            Ok(if is_shift { ops::poisoned(result) } else { result })
        }
        Pure::SAddOverflow
        | Pure::UAddOverflow
        | Pure::SSubOverflow
        | Pure::USubOverflow
        | Pure::SMulOverflow
        | Pure::UMulOverflow => {
            let bits = bits()?;
            let result = ops::lanes2(&arg(0), &arg(1), |a, b| Ok(overflowing(op, bits, a, b).0))?;
            let over = ops::lanes2(&arg(0), &arg(1), |a, b| Ok(overflowing(op, bits, a, b).1))?;
            Ok(Value::Many([result, over].into()))
        }
        Pure::FunnelLeft | Pure::FunnelRight => {
            let bits = bits()?;
            let shifted = |a: u128, b: u128, by: u128| {
                let by = (by % u128::from(bits)) as u32;
                let left = if op == Pure::FunnelLeft { by } else { bits - by };
                // The high half of `a` and `b` side by side, shifted left.
                let result = match left {
                    0 => a,
                    left if left == bits => b,
                    left => a << left | b >> (bits - left),
                };
                Value::Bits(result & mask(bits))
            };
            lanes3(&arg(0), &arg(1), &arg(2), &shifted)
        }
        Pure::PtrMask => ops::lanes2(&arg(0), &arg(1), |a, m| {
            let index = shapes.bits(ops::lane(shapes, arg_type(1))).unwrap_or(64);
            Ok(Value::Bits(a & (m | !mask(index))))
        }),
        Pure::SumOfDifferences => {
            let sum = |a: u128, b: u128, c: u128| {
                let byte = |x: u128, i: u32| (x >> (8 * i) & 255) as i32;
                let total: i32 = (0..4).map(|i| (byte(a, i) - byte(b, i)).abs()).sum();
                Value::Bits((c + total as u128) & mask(32))
            };
            lanes3(&arg(0), &arg(1), &arg(2), &sum)
        }
        Pure::Field(is_signed) => {
            let bits = bits()?;
            let field = |a: u128, offset: u128, width: u128| {
                let all = u128::from(bits) - 1;
                let (offset, width) = ((offset & all) as u32, (width & all) as u32);
                if width == 0 {
                    return Value::Bits(0);
                }
                let value = a >> offset & mask(width);
                match is_signed {
                    false => Value::Bits(value),
                    true => Value::Bits(signed(value, width) as u128 & mask(bits)),
                }
            };
            lanes3(&arg(0), &arg(1), &arg(2), &field)
        }
        Pure::Fma | Pure::MulAdd | Pure::FMed3 => {
            let kind = ops::float_kind(shapes, ty)?;
            let compute = |a: u128, b: u128, c: u128| {
                let operands = [a, b, c];
                let [a, b, c] = operands.map(|bits| float::to_f64(kind, bits));
                let single = kind != crate::shape::FloatKind::Double;
                let result = match op {
                    Pure::Fma if single => (a as f32).mul_add(b as f32, c as f32).into(),
                    Pure::Fma => a.mul_add(b, c),
                    Pure::FMed3 => a.max(b).min(a.min(b).max(c)),
                    _ if single => f64::from((a as f32) * (b as f32) + c as f32),
                    _ => a * b + c,
                };
                Value::Bits(float::result(kind, result, &operands))
            };
            lanes3(&arg(0), &arg(1), &arg(2), &compute)
        }
        Pure::CopySign => {
            let sign = 1 << (ops::float_kind(shapes, ty)?.bits() - 1);
            ops::lanes2(&arg(0), &arg(1), |a, b| Ok(Value::Bits(a & !sign | b & sign)))
        }
        Pure::MinNum | Pure::MaxNum | Pure::Minimum | Pure::Maximum | Pure::Pow => {
            let kind = ops::float_kind(shapes, ty)?;
            ops::lanes2(&arg(0), &arg(1), |a, b| {
                let operands = [a, b];
                let [a, b] = operands.map(|bits| float::to_f64(kind, bits));
                let result = match op {
                    Pure::MinNum => float::min_num(a, b),
                    Pure::MaxNum => float::max_num(a, b),
                    Pure::Minimum => float::minimum(a, b),
                    Pure::Maximum => float::maximum(a, b),
                    _ => a.powf(b),
                };
                Ok(Value::Bits(float::result(kind, result, &operands)))
            })
        }
        Pure::PowI => {
            let kind = ops::float_kind(shapes, ty)?;
            let Some(power) = arg(1).bits() else { return Ok(Value::Poison) };
            let power = signed(power, ops::int_bits(shapes, arg_type(1))?) as i32;
            ops::lanes1(&arg(0), |a| {
                let result = float::to_f64(kind, a).powi(power);
                Ok(Value::Bits(float::result(kind, result, &[a])))
            })
        }
        Pure::Scale => {
            let (kind, bits) = (ops::float_kind(shapes, ty)?, ops::int_bits(shapes, arg_type(1))?);
            ops::lanes2(&arg(0), &arg(1), |a, power| {
                let result = float::scale(float::to_f64(kind, a), signed(power, bits));
                Ok(Value::Bits(float::result(kind, result, &[a])))
            })
        }
        Pure::IsClass => {
            let kind = ops::float_kind(shapes, arg_type(0))?;
            let Some(classes) = arg(1).bits() else { return Ok(Value::Poison) };
            ops::lanes1(&arg(0), |a| {
                Ok(Value::bool(classes & u128::from(float::class(kind, a)) != 0))
            })
        }
        Pure::UCompare | Pure::SCompare => {
            let (bits, to) = (bits()?, ops::int_bits(shapes, ty)?);
            ops::lanes2(&arg(0), &arg(1), |a, b| {
                let order = match op {
                    Pure::UCompare => a.cmp(&b),
                    _ => signed(a, bits).cmp(&signed(b, bits)),
                };
                Ok(Value::Bits(order as i8 as i128 as u128 & mask(to)))
            })
        }
        Pure::Unary(unary) => {
            let kind = ops::float_kind(shapes, ty)?;
            ops::lanes1(&arg(0), |a| {
                // Clearing the sign keeps the payload of a NaN.
                if unary == Unary::Abs {
                    return Ok(Value::Bits(a & mask(kind.bits() - 1)));
                }
                let mut result = one_float(unary, float::to_f64(kind, a));
                if unary == Unary::Fract {
                    // The result must be less than one in its own format, too.
                    result = result.min(1.0 - kind.epsilon() / 2.0);
                }
                Ok(Value::Bits(float::result(kind, result, &[a])))
            })
        }
        Pure::ToSignedSat | Pure::ToUnsignedSat => {
            let (kind, bits) = (ops::float_kind(shapes, arg_type(0))?, ops::int_bits(shapes, ty)?);
            ops::lanes1(&arg(0), |a| {
                let value = float::to_f64(kind, a);
                Ok(Value::Bits(if op == Pure::ToUnsignedSat {
                    (value as u128).min(mask(bits))
                } else {
                    let limit = (mask(bits - 1)) as i128;
                    (value as i128).clamp(-limit - 1, limit) as u128 & mask(bits)
                }))
            })
        }
        Pure::Lanes(how) => {
            let len = match *shapes.of(ty) {
                Shape::Vector { len, .. } => len as usize,
                _ => 0,
            };
            Ok(lanes(how, len, args))
        }
        Pure::Reduce(reduce) => {
            let (start, vector, vector_type) = match reduce {
                Reduce::FAdd | Reduce::FMul => (Some(arg(0)), arg(1), arg_type(1)),
                _ => (None, arg(0), arg_type(0)),
            };
            let Shape::Vector { elem, .. } = *shapes.of(vector_type) else {
                return Err(FaultKind::unsupported("a reduction of this type"));
            };
            let Value::Many(lanes) = vector else { return Ok(Value::Poison) };
            reduce_all(reduce, shapes, elem, start.into_iter().chain(lanes.iter().cloned()))
        }
    }
}

/// Lanes in another order, `len` of them.
fn lanes(how: Lanes, len: usize, args: &[Value]) -> Value {
    let vectors: Vec<&[Value]> = args.iter().filter_map(Value::elements).collect();
    let Some(&first) = vectors.first() else { return Value::Poison };
    let at = |arg: usize| args.get(arg).and_then(Value::bits).map_or(usize::MAX, |at| at as usize);
    let lanes: Vec<Value> = match how {
        Lanes::Reverse => first.iter().rev().cloned().collect(),
        Lanes::Interleave => {
            let lane = |at: usize| move |v: &&[Value]| v.get(at).cloned().unwrap_or(Value::Poison);
            (0..first.len()).flat_map(|at| vectors.iter().map(lane(at))).collect()
        }
        Lanes::Deinterleave(count) => {
            let part = |from| first.iter().skip(from).step_by(count).cloned().collect();
            (0..count).map(|from| Value::Many(part(from))).collect()
        }
        Lanes::Insert => {
            let (mut all, Some(part)) = (first.to_vec(), vectors.get(1)) else {
                return Value::Poison;
            };
            let place = at(2).checked_add(part.len()).and_then(|end| all.get_mut(at(2)..end));
            let Some(place) = place else { return Value::Poison };
            place.clone_from_slice(part);
            all
        }
        Lanes::Extract => match at(1).checked_add(len).and_then(|end| first.get(at(1)..end)) {
            Some(part) => part.to_vec(),
            None => return Value::Poison,
        },
    };
    Value::Many(lanes.into())
}

/// All values as one, from the left.
pub(crate) fn reduce_all(
    op: Reduce,
    shapes: &Shapes,
    ty: Type,
    values: impl Iterator<Item = Value>,
) -> Result<Value, FaultKind> {
    let combine = |a: Value, b: Value| -> Result<Value, FaultKind> {
        ops::lanes2(&a, &b, |a, b| {
            if let Shape::Float(kind) = *shapes.of(ty) {
                let (x, y) = (float::to_f64(kind, a), float::to_f64(kind, b));
                return Ok(match op {
                    Reduce::FAdd => float::binary(phalanx_ir::Opcode::FAdd, kind, a, b)
                        .map_or(Value::Poison, Value::Bits),
                    Reduce::FMul => float::binary(phalanx_ir::Opcode::FMul, kind, a, b)
                        .map_or(Value::Poison, Value::Bits),
                    Reduce::FMax => Value::Bits(float::result(kind, float::max_num(x, y), &[a, b])),
                    Reduce::FMaximum => {
                        Value::Bits(float::result(kind, float::maximum(x, y), &[a, b]))
                    }
                    Reduce::FMinimum => {
                        Value::Bits(float::result(kind, float::minimum(x, y), &[a, b]))
                    }
                    _ => Value::Bits(float::result(kind, float::min_num(x, y), &[a, b])),
                });
            }
            let bits = ops::int_bits(shapes, ty)?;
            let (sa, sb) = (signed(a, bits), signed(b, bits));
            Ok(Value::Bits(match op {
                Reduce::Add => a.wrapping_add(b) & mask(bits),
                Reduce::Mul => a.wrapping_mul(b) & mask(bits),
                Reduce::And => a & b,
                Reduce::Or => a | b,
                Reduce::Xor => a ^ b,
                Reduce::SMax => {
                    if sa >= sb {
                        a
                    } else {
                        b
                    }
                }
                Reduce::SMin => {
                    if sa <= sb {
                        a
                    } else {
                        b
                    }
                }
                Reduce::UMax => a.max(b),
                _ => a.min(b),
            }))
        })
    };
    let mut all: Option<Value> = None;
    for value in values {
        all = Some(match all {
            None => value,
            Some(before) => combine(before, value)?,
        });
    }
    Ok(all.unwrap_or(Value::Poison))
}

fn lanes3(
    a: &Value,
    b: &Value,
    c: &Value,
    op: &dyn Fn(u128, u128, u128) -> Value,
) -> Result<Value, FaultKind> {
    match (a, b, c) {
        (Value::Bits(a), Value::Bits(b), Value::Bits(c)) => Ok(op(*a, *b, *c)),
        (Value::Many(x), Value::Many(y), Value::Many(z)) => {
            let lanes = x.iter().zip(y.iter()).zip(z.iter()).map(|((a, b), c)| lanes3(a, b, c, op));
            Ok(Value::Many(lanes.collect::<Result<_, _>>()?))
        }
        (a, b, c) => Ok(worst([a, b, c])),
    }
}

fn one_integer(op: Pure, bits: u32, a: u128, strict: bool) -> Value {
    let unused = 128 - bits;
    Value::Bits(match op {
        Pure::Abs => {
            let value = signed(a, bits);
            if strict && a == 1 << (bits - 1) {
                return Value::Poison;
            }
            value.unsigned_abs() & mask(bits)
        }
        Pure::CtLz | Pure::CtTz if a == 0 && strict => return Value::Poison,
        Pure::CtLz => (a.leading_zeros() - unused).into(),
        Pure::CtTz => a.trailing_zeros().min(bits).into(),
        Pure::CtPop => a.count_ones().into(),
        Pure::BSwap => a.swap_bytes() >> unused,
        _ => a.reverse_bits() >> unused,
    })
}

fn two_integers(op: Pure, bits: u32, a: u128, b: u128) -> Value {
    let (sa, sb) = (signed(a, bits), signed(b, bits));
    let (all, most) = (mask(bits), mask(bits - 1) as i128);
    let clamp = |exact: Option<i128>, negative: bool| {
        let limit = if negative { -most - 1 } else { most };
        exact.unwrap_or(limit).clamp(-most - 1, most) as u128 & all
    };
    Value::Bits(match op {
        Pure::SMax => {
            if sa >= sb {
                a
            } else {
                b
            }
        }
        Pure::SMin => {
            if sa <= sb {
                a
            } else {
                b
            }
        }
        Pure::UMax => a.max(b),
        Pure::UMin => a.min(b),
        Pure::SAddSat => clamp(sa.checked_add(sb), sa < 0),
        Pure::SSubSat => clamp(sa.checked_sub(sb), sa < 0),
        Pure::UAddSat => a.checked_add(b).map_or(all, |sum| sum.min(all)),
        Pure::USubSat => a.saturating_sub(b),
        Pure::SShlSat | Pure::UShlSat if b >= bits.into() => return Value::Poison,
        Pure::UShlSat if (a << b & all) >> b != a => all,
        Pure::UShlSat => a << b & all,
        Pure::SShlSat => {
            let shifted = signed(a << b & all, bits);
            clamp((shifted >> b == sa).then_some(shifted), sa < 0)
        }
        // Operands have at most 64 bits.
        Pure::MulHigh(true) => (sa.wrapping_mul(sb) >> bits) as u128 & all,
        Pure::MulHigh(false) => a.wrapping_mul(b) >> bits & all,
        Pure::MulLow24(is_signed) => {
            let low =
                |x: u128| if is_signed { signed(x & mask(24), 24) } else { (x & mask(24)) as i128 };
            low(a).wrapping_mul(low(b)) as u128 & all
        }
        _ => return Value::Poison,
    })
}

fn overflowing(op: Pure, bits: u32, a: u128, b: u128) -> (Value, Value) {
    let (sa, sb) = (signed(a, bits), signed(b, bits));
    let all = mask(bits);
    let fits = |exact: Option<i128>| exact.is_some_and(|r| signed(r as u128 & all, bits) == r);
    let (result, over) = match op {
        Pure::SAddOverflow => (a.wrapping_add(b), !fits(sa.checked_add(sb))),
        Pure::UAddOverflow => (a.wrapping_add(b), a.checked_add(b).is_none_or(|r| r > all)),
        Pure::SSubOverflow => (a.wrapping_sub(b), !fits(sa.checked_sub(sb))),
        Pure::USubOverflow => (a.wrapping_sub(b), b > a),
        Pure::SMulOverflow => (a.wrapping_mul(b), !fits(sa.checked_mul(sb))),
        _ => (a.wrapping_mul(b), a.checked_mul(b).is_none_or(|r| r > all)),
    };
    (Value::Bits(result & all), Value::bool(over))
}

fn one_float(op: Unary, a: f64) -> f64 {
    match op {
        Unary::Sqrt => a.sqrt(),
        Unary::RSqrt => 1.0 / a.sqrt(),
        Unary::Rcp => 1.0 / a,
        Unary::Abs => a.abs(),
        Unary::Floor => a.floor(),
        Unary::Ceil => a.ceil(),
        Unary::Trunc => a.trunc(),
        Unary::RoundEven => a.round_ties_even(),
        Unary::Round => a.round(),
        Unary::Exp => a.exp(),
        Unary::Exp2 => a.exp2(),
        Unary::Exp10 => 10f64.powf(a),
        Unary::Log => a.ln(),
        Unary::Log2 => a.log2(),
        Unary::Log10 => a.log10(),
        Unary::Sin => a.sin(),
        Unary::Cos => a.cos(),
        Unary::Tan => a.tan(),
        Unary::Fract => a - a.floor(),
        Unary::Canonicalize => a,
    }
}
