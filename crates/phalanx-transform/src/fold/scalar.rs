//! Operations on scalar constants.

use std::cmp::Ordering;

use phalanx_ir::{
    Const, ConstKind, Context, InstFlags, Opcode, Type, TypeKind,
    inst::{FloatPredicate, IntPredicate},
};

use super::numbers::{
    Float, float, float_const, float_or_nan, int_bits, int_const, is_double, mask, number, rounded,
    signed,
};

/// What an instruction computes, apart from its operands.
#[derive(Copy, Clone)]
pub(super) struct Operation {
    pub(super) opcode: Opcode,
    /// Predicate of a comparison.
    pub(super) sub: u8,
    pub(super) flags: InstFlags,
    /// Type of the result.
    pub(super) ty: Type,
}

impl Operation {
    /// The result for scalar operands that are neither poison nor `undef`.
    pub(super) fn scalar(self, context: &Context, operands: &[Const]) -> Option<Const> {
        let first = context.const_data(operands[0]);
        if self.opcode == Opcode::ICmp {
            return self.compare(context, operands);
        }
        if let Some(bits) = int_bits(context, first.ty) {
            let a = number(context, operands[0])?;
            return match self.opcode {
                opcode if opcode.is_binary() => {
                    self.integer(context, bits, a, number(context, operands[1])?)
                }
                _ => self.convert_int(context, bits, a),
            };
        }
        if self.opcode == Opcode::FCmp {
            return self.compare_floats(context, operands);
        }
        let a = float(context, operands[0])?;
        match self.opcode {
            Opcode::FNeg | Opcode::FpExt | Opcode::FpTrunc => {
                let value = if self.opcode == Opcode::FNeg { -a } else { a };
                self.allowed(context, &[a], float_const(context, self.ty, value)?)
            }
            Opcode::FAdd | Opcode::FSub | Opcode::FMul | Opcode::FDiv | Opcode::FRem => {
                let b = float(context, operands[1])?;
                let value = self.float(context, a, b);
                self.allowed(context, &[a, b], float_const(context, self.ty, value)?)
            }
            Opcode::FpToSi | Opcode::FpToUi => {
                rounded(context, self.ty, a, self.opcode == Opcode::FpToSi)
            }
            _ => None,
        }
    }

    fn integer(self, context: &Context, bits: u32, a: u128, b: u128) -> Option<Const> {
        let (sa, sb) = (signed(a, bits), signed(b, bits));
        let (all, least) = (mask(bits), signed(1 << (bits - 1), bits));
        let greatest = !least;
        let fits = |value: Option<i128>| value.is_some_and(|v| v >= least && v <= greatest);
        let has = |flag| self.flags.contains(flag);
        let shift = u32::try_from(b).ok().filter(|&by| by < bits);
        let (value, unsigned_fits, signed_fits) = match self.opcode {
            Opcode::Add => (
                a.wrapping_add(b),
                a.checked_add(b).is_some_and(|v| v <= all),
                fits(sa.checked_add(sb)),
            ),
            Opcode::Sub => (a.wrapping_sub(b), a >= b, fits(sa.checked_sub(sb))),
            Opcode::Mul => (
                a.wrapping_mul(b),
                a.checked_mul(b).is_some_and(|v| v <= all),
                fits(sa.checked_mul(sb)),
            ),
            Opcode::Shl => {
                let Some(by) = shift else { return Some(context.const_poison(self.ty)) };
                let value = (a << by) & all;
                (value, value >> by == a, signed(value, bits) >> by == sa)
            }
            Opcode::LShr | Opcode::AShr => {
                let Some(by) = shift else { return Some(context.const_poison(self.ty)) };
                let is_exact = (a >> by) << by == a;
                if has(InstFlags::EXACT) && !is_exact {
                    return Some(context.const_poison(self.ty));
                }
                let value = if self.opcode == Opcode::LShr { a >> by } else { (sa >> by) as u128 };
                (value, true, true)
            }
            Opcode::And => (a & b, true, true),
            Opcode::Xor => (a ^ b, true, true),
            Opcode::Or => {
                if has(InstFlags::DISJOINT) && a & b != 0 {
                    return Some(context.const_poison(self.ty));
                }
                (a | b, true, true)
            }
            Opcode::UDiv | Opcode::URem => {
                let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
                if self.opcode == Opcode::UDiv && has(InstFlags::EXACT) && rest != 0 {
                    return Some(context.const_poison(self.ty));
                }
                (if self.opcode == Opcode::UDiv { quotient } else { rest }, true, true)
            }
            Opcode::SDiv | Opcode::SRem => {
                if sb == -1 && sa == least {
                    return None;
                }
                let (quotient, rest) = (sa.checked_div(sb)?, sa.checked_rem(sb)?);
                if self.opcode == Opcode::SDiv && has(InstFlags::EXACT) && rest != 0 {
                    return Some(context.const_poison(self.ty));
                }
                (if self.opcode == Opcode::SDiv { quotient } else { rest } as u128, true, true)
            }
            _ => return None,
        };
        let wraps = matches!(self.opcode, Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Shl);
        let broken =
            wraps && (has(InstFlags::NUW) && !unsigned_fits || has(InstFlags::NSW) && !signed_fits);
        match broken {
            true => Some(context.const_poison(self.ty)),
            false => Some(int_const(context, self.ty, bits, value)),
        }
    }

    fn convert_int(self, context: &Context, from: u32, a: u128) -> Option<Const> {
        let sa = signed(a, from);
        let has = |flag| self.flags.contains(flag);
        let poison = || Some(context.const_poison(self.ty));
        match self.opcode {
            Opcode::Trunc => {
                let to = int_bits(context, self.ty)?;
                let low = a & mask(to);
                let broken =
                    has(InstFlags::NUW) && low != a || has(InstFlags::NSW) && signed(low, to) != sa;
                if broken { poison() } else { Some(int_const(context, self.ty, to, low)) }
            }
            Opcode::ZExt if has(InstFlags::NNEG) && sa < 0 => poison(),
            Opcode::ZExt => Some(int_const(context, self.ty, int_bits(context, self.ty)?, a)),
            Opcode::SExt => {
                Some(int_const(context, self.ty, int_bits(context, self.ty)?, sa as u128))
            }
            Opcode::UiToFp if has(InstFlags::NNEG) && sa < 0 => poison(),
            Opcode::UiToFp | Opcode::SiToFp => {
                let is_signed = self.opcode == Opcode::SiToFp;
                // Convert the integer to `float` directly: a detour through `double` would round
                // twice. Large integers would also round twice on the way to the smaller formats.
                let value = match *context.type_kind(self.ty) {
                    TypeKind::Float if is_signed => f64::from(sa as f32),
                    TypeKind::Float => f64::from(a as f32),
                    TypeKind::Double if is_signed => sa as f64,
                    TypeKind::Double => a as f64,
                    _ if is_signed && sa.unsigned_abs() < 1 << 53 => sa as f64,
                    _ if !is_signed && a < 1 << 53 => a as f64,
                    _ => return None,
                };
                float_const(context, self.ty, value)
            }
            _ => None,
        }
    }

    fn compare(self, context: &Context, operands: &[Const]) -> Option<Const> {
        let ty = context.const_data(operands[0]).ty;
        let is_null = |c: Const| context.const_data(c).kind == ConstKind::Null;
        let predicate = IntPredicate::from_number(self.sub);
        if is_null(operands[0]) && is_null(operands[1]) {
            return Some(context.const_bool(int_holds(predicate, (0, 0), 64)));
        }
        let bits = int_bits(context, ty)?;
        let pair = (number(context, operands[0])?, number(context, operands[1])?);
        let top = 1u128 << (bits - 1);
        if self.flags.contains(InstFlags::SAME_SIGN) && (pair.0 ^ pair.1) & top != 0 {
            return Some(context.const_poison(self.ty));
        }
        Some(context.const_bool(int_holds(predicate, pair, bits)))
    }

    fn compare_floats(self, context: &Context, operands: &[Const]) -> Option<Const> {
        let predicate = FloatPredicate::from_number(self.sub);
        let [a, b] = [float_or_nan(context, operands[0])?, float_or_nan(context, operands[1])?];
        let (Float::Plain(a), Float::Plain(b)) = (a, b) else {
            // Neither less, nor equal, nor greater.
            return Some(match self.flags.contains(InstFlags::NNAN) {
                true => context.const_poison(self.ty),
                false => context.const_bool(float_holds(predicate, None)),
            });
        };
        Some(context.const_bool(float_holds(predicate, a.partial_cmp(&b))))
    }

    /// The result; none if `ninf` is set and the result or an operand is infinite.
    fn allowed(self, context: &Context, operands: &[f64], result: Const) -> Option<Const> {
        let is_infinite = float(context, result)?.is_infinite()
            || operands.iter().any(|operand| operand.is_infinite());
        match is_infinite && self.flags.contains(InstFlags::NINF) {
            true => None,
            false => Some(result),
        }
    }

    /// Computes in `f64` for `double`, and in `float` for all other formats. For smaller formats
    /// `float` has so many digits that the final rounding changes nothing.
    fn float(self, context: &Context, a: f64, b: f64) -> f64 {
        if !is_double(context, self.ty) {
            let (a, b) = (a as f32, b as f32);
            return f64::from(match self.opcode {
                Opcode::FAdd => a + b,
                Opcode::FSub => a - b,
                Opcode::FMul => a * b,
                Opcode::FRem => a % b,
                _ => a / b,
            });
        }
        match self.opcode {
            Opcode::FAdd => a + b,
            Opcode::FSub => a - b,
            Opcode::FMul => a * b,
            Opcode::FRem => a % b,
            _ => a / b,
        }
    }
}

/// Whether a comparison of integers holds.
fn int_holds(predicate: IntPredicate, (a, b): (u128, u128), bits: u32) -> bool {
    predicate.holds(a.cmp(&b), signed(a, bits).cmp(&signed(b, bits)))
}

/// Whether a comparison holds for operands in this order; no order means that one is NaN.
fn float_holds(predicate: FloatPredicate, order: Option<Ordering>) -> bool {
    use FloatPredicate as P;
    match predicate {
        P::False => false,
        P::True => true,
        P::Ord => order.is_some(),
        P::Uno => order.is_none(),
        P::Oeq => order.is_some_and(Ordering::is_eq),
        P::Ogt => order.is_some_and(Ordering::is_gt),
        P::Oge => order.is_some_and(Ordering::is_ge),
        P::Olt => order.is_some_and(Ordering::is_lt),
        P::Ole => order.is_some_and(Ordering::is_le),
        P::One => order.is_some_and(Ordering::is_ne),
        P::Ueq => order.is_none_or(Ordering::is_eq),
        P::Ugt => order.is_none_or(Ordering::is_gt),
        P::Uge => order.is_none_or(Ordering::is_ge),
        P::Ult => order.is_none_or(Ordering::is_lt),
        P::Ule => order.is_none_or(Ordering::is_le),
        P::Une => order.is_none_or(Ordering::is_ne),
    }
}
