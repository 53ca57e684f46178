//! Instructions on constants that are constants.
//!
//! A result that is poison by the rules of the instruction (a shift too far, an overflow against a flag) becomes poison. What is undefined
//! behaviour stays. `undef` is looked at only where [`phalanx_ir::fold`] does, and `freeze` of what is not fully defined stays, since it
//! need not give every thread the same.
//!
//! Integers of up to 128 bits; `float` and `double` as far as neither NaN nor subnormal numbers are involved, whose bits
//! targets treat differently; vectors whose lanes are all the same.
//!
//! Meaning: LLVM 22 Language Reference. O(1).

use phalanx_ir::{
    Const, ConstKind, Context, InstFlags, InstId, Opcode, Type, TypeKind,
    constant::{ConstExpr, Int},
    fold as expressions,
    inst::{FloatPredicate, IntPredicate},
};

use crate::code::Code;

/// The constant that an instruction is; none when it is not known to be one.
#[must_use]
pub fn fold(code: &Code<'_>, inst: InstId) -> Option<Const> {
    let operands: Option<Vec<Const>> =
        code.body.operands(inst).iter().map(|operand| operand.as_const()).collect();
    fold_with(code, inst, &operands?)
}

/// As [`fold`], with these constants as the operands.
#[must_use]
pub fn fold_with(code: &Code<'_>, inst: InstId, operands: &[Const]) -> Option<Const> {
    let data = code.body.inst(inst);
    let operation =
        Operation { opcode: data.opcode, sub: data.sub, flags: data.flags, ty: data.ty };
    match data.opcode {
        Opcode::GetElementPtr => expressions::fold(
            code.context,
            data.ty,
            &ConstExpr {
                opcode: data.opcode,
                flags: data.flags,
                operands: operands.into(),
                source_type: Some(data.element_type()),
                in_range: None,
                mask: Box::default(),
            },
        ),
        Opcode::ExtractValue => {
            let mut member = operands[0];
            for &index in code.body.indices(inst) {
                member = element(code.context, member, index as usize)?;
            }
            Some(member)
        }
        Opcode::ExtractElement => {
            let index = number(code.context, operands[1])?;
            element(code.context, operands[0], usize::try_from(index).ok()?)
        }
        Opcode::Freeze => is_defined(code.context, operands[0]).then(|| operands[0]),
        _ if !is_operation(data.opcode) => None,
        _ => operation.fold(code.context, operands),
    }
}

fn is_operation(opcode: Opcode) -> bool {
    opcode.is_binary()
        || opcode.is_cast()
        || matches!(opcode, Opcode::ICmp | Opcode::FCmp | Opcode::Select | Opcode::FNeg)
}

/// Whether every bit of a constant is defined.
#[must_use]
pub fn is_defined(context: &Context, constant: Const) -> bool {
    let mut work = vec![constant];
    // Constants are graphs without cycles, but may be large; what is not seen soon is not known.
    for _ in 0..64 {
        let Some(constant) = work.pop() else { return true };
        match &context.const_data(constant).kind {
            ConstKind::Int(_)
            | ConstKind::Float(_)
            | ConstKind::Null
            | ConstKind::Zero
            | ConstKind::Bytes(_)
            | ConstKind::Global(_) => {}
            ConstKind::Splat(element) => work.push(*element),
            ConstKind::Aggregate(elements) => work.extend(elements.iter()),
            _ => return false,
        }
    }
    false
}

fn element(context: &Context, aggregate: Const, index: usize) -> Option<Const> {
    let data = context.const_data(aggregate);
    let ty = match context.type_kind(data.ty) {
        TypeKind::Vector { elem, len, scalable: false } => {
            (index < *len as usize).then_some(*elem)?
        }
        TypeKind::Array { elem, len } => ((index as u64) < *len).then_some(*elem)?,
        TypeKind::Struct { fields, .. } => *fields.get(index)?,
        _ => return None,
    };
    match &data.kind {
        ConstKind::Aggregate(elements) => elements.get(index).copied(),
        ConstKind::Splat(element) => Some(*element),
        ConstKind::Zero => Some(context.const_zero(ty)),
        ConstKind::Undef => Some(context.const_undef(ty)),
        ConstKind::Poison => Some(context.const_poison(ty)),
        ConstKind::Bytes(bytes) => Some(context.int_const(ty, u64::from(*bytes.get(index)?))),
        _ => None,
    }
}

fn number(context: &Context, constant: Const) -> Option<u128> {
    match &context.const_data(constant).kind {
        ConstKind::Int(Int::Small(value)) => Some(u128::from(*value)),
        ConstKind::Int(Int::Big(words)) => match **words {
            [low, high] => Some(u128::from(high) << 64 | u128::from(low)),
            _ => None,
        },
        _ => None,
    }
}

fn int_bits(context: &Context, ty: Type) -> Option<u32> {
    match *context.type_kind(ty) {
        TypeKind::Int(bits @ 1..=128) => Some(bits),
        _ => None,
    }
}

fn mask(bits: u32) -> u128 {
    u128::MAX >> (128 - bits)
}

fn signed(value: u128, bits: u32) -> i128 {
    ((value << (128 - bits)) as i128) >> (128 - bits)
}

fn int_const(context: &Context, ty: Type, bits: u32, value: u128) -> Const {
    let value = value & mask(bits);
    let int = match bits {
        0..=64 => Int::from_u64(bits, value as u64),
        _ => Int::Big([value as u64, (value >> 64) as u64].into()),
    };
    context.constant(ty, ConstKind::Int(int))
}

/// What an instruction does, apart from its operands.
#[derive(Copy, Clone)]
struct Operation {
    opcode: Opcode,
    sub: u8,
    flags: InstFlags,
    ty: Type,
}

impl Operation {
    fn fold(self, context: &Context, operands: &[Const]) -> Option<Const> {
        let is_poison = |constant: &Const| context.const_data(*constant).kind == ConstKind::Poison;
        let poison = || Some(context.const_poison(self.ty));
        if self.opcode == Opcode::Select {
            return match &context.const_data(operands[0]).kind {
                ConstKind::Poison => poison(),
                ConstKind::Int(bit) => Some(operands[if bit.to_u64()? != 0 { 1 } else { 2 }]),
                _ => None,
            };
        }
        let divides =
            matches!(self.opcode, Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem);
        if operands.iter().any(is_poison) {
            // By poison is undefined behaviour.
            return if divides { None } else { poison() };
        }
        if let TypeKind::Vector { elem, .. } = *context.type_kind(self.ty) {
            // A cast of bits may have other lanes, or make lanes of a number.
            let is_lane_wise = |&constant: &Const| {
                lanes(context, context.const_data(constant).ty) == lanes(context, self.ty)
            };
            if self.opcode == Opcode::BitCast && !operands.iter().all(is_lane_wise) {
                return None;
            }
            let lanes: Option<Vec<Const>> = operands.iter().map(|&c| splat(context, c)).collect();
            let lane = Operation { ty: elem, ..self }.fold(context, &lanes?)?;
            return Some(context.constant(self.ty, ConstKind::Splat(lane)));
        }
        self.scalar(context, operands).or_else(|| {
            let is_expression = matches!(
                self.opcode,
                Opcode::Trunc
                    | Opcode::PtrToInt
                    | Opcode::PtrToAddr
                    | Opcode::IntToPtr
                    | Opcode::BitCast
                    | Opcode::AddrSpaceCast
                    | Opcode::Add
                    | Opcode::Sub
                    | Opcode::Xor
            );
            if !is_expression || self.flags != InstFlags::NONE {
                return None;
            }
            let expr = ConstExpr {
                opcode: self.opcode,
                flags: self.flags,
                operands: operands.into(),
                source_type: None,
                in_range: None,
                mask: Box::default(),
            };
            // `undef` against `undef` may differ between threads.
            let folded = expressions::fold(context, self.ty, &expr)?;
            is_defined(context, folded).then_some(folded)
        })
    }

    fn scalar(self, context: &Context, operands: &[Const]) -> Option<Const> {
        let first = context.const_data(operands[0]);
        if self.opcode == Opcode::ICmp {
            return self.compare(context, operands);
        }
        if let Some(&bits) = Some(&int_bits(context, first.ty)).and_then(|b| b.as_ref()) {
            let a = number(context, operands[0])?;
            return match self.opcode {
                opcode if opcode.is_binary() => {
                    self.integer(context, bits, a, number(context, operands[1])?)
                }
                _ => self.convert_int(context, bits, a),
            };
        }
        let kind = context.type_kind(first.ty);
        if !matches!(kind, TypeKind::Float | TypeKind::Double) {
            return None;
        }
        let a = float(context, operands[0])?;
        match self.opcode {
            Opcode::FNeg => float_const(context, self.ty, -a),
            Opcode::FAdd | Opcode::FSub | Opcode::FMul | Opcode::FDiv => {
                let b = float(context, operands[1])?;
                self.float(context, a, b)
            }
            Opcode::FCmp => {
                let b = float(context, operands[1])?;
                Some(context.const_bool(float_holds(FloatPredicate::from_number(self.sub), a, b)))
            }
            Opcode::FpToSi | Opcode::FpToUi => {
                let bits = int_bits(context, self.ty).filter(|&bits| bits <= 64)?;
                let whole = a.trunc();
                let (low, high) = match self.opcode {
                    Opcode::FpToUi => (0.0, 2f64.powi(bits as i32)),
                    _ => (-(2f64.powi(bits as i32 - 1)), 2f64.powi(bits as i32 - 1)),
                };
                if whole < low || whole >= high {
                    return Some(context.const_poison(self.ty));
                }
                let value = match self.opcode {
                    Opcode::FpToUi => whole as u128,
                    _ => whole as i128 as u128,
                };
                Some(int_const(context, self.ty, bits, value))
            }
            Opcode::FpExt if self.ty == Type::DOUBLE => float_const(context, self.ty, a),
            Opcode::FpTrunc if self.ty == Type::FLOAT => float_const(context, self.ty, a),
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
            // From the integer to its type at once: by way of `double` it would be rounded twice.
            Opcode::UiToFp | Opcode::SiToFp => {
                let is_signed = self.opcode == Opcode::SiToFp;
                let bits = match *context.type_kind(self.ty) {
                    TypeKind::Float if is_signed => u128::from((sa as f32).to_bits()),
                    TypeKind::Float => u128::from((a as f32).to_bits()),
                    TypeKind::Double if is_signed => u128::from((sa as f64).to_bits()),
                    TypeKind::Double => u128::from((a as f64).to_bits()),
                    _ => return None,
                };
                let constant = context.constant(self.ty, ConstKind::Float(bits));
                float(context, constant).map(|_| constant)
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

    fn float(self, context: &Context, a: f64, b: f64) -> Option<Const> {
        let value = match (self.opcode, self.ty) {
            // In `float`: the result of an operation in `double` would be rounded twice.
            (opcode, Type::FLOAT) => {
                let (a, b) = (a as f32, b as f32);
                f64::from(match opcode {
                    Opcode::FAdd => a + b,
                    Opcode::FSub => a - b,
                    Opcode::FMul => a * b,
                    _ => a / b,
                })
            }
            (Opcode::FAdd, _) => a + b,
            (Opcode::FSub, _) => a - b,
            (Opcode::FMul, _) => a * b,
            _ => a / b,
        };
        let no_infinities = self.flags.contains(InstFlags::NINF);
        if no_infinities && [a, b, value].iter().any(|v| v.is_infinite()) {
            return None;
        }
        float_const(context, self.ty, value)
    }
}

/// Whether a comparison of integers holds.
fn int_holds(predicate: IntPredicate, (a, b): (u128, u128), bits: u32) -> bool {
    predicate.holds(a.cmp(&b), signed(a, bits).cmp(&signed(b, bits)))
}

/// Whether a comparison of numbers that are no NaN holds.
fn float_holds(predicate: FloatPredicate, a: f64, b: f64) -> bool {
    use FloatPredicate as P;
    match predicate {
        P::False | P::Uno => false,
        P::True | P::Ord => true,
        P::Oeq | P::Ueq => a == b,
        P::Ogt | P::Ugt => a > b,
        P::Oge | P::Uge => a >= b,
        P::Olt | P::Ult => a < b,
        P::Ole | P::Ule => a <= b,
        P::One | P::Une => a != b,
    }
}

/// How many lanes a vector has, and whether it has a multiple of that.
fn lanes(context: &Context, ty: Type) -> Option<(u32, bool)> {
    match *context.type_kind(ty) {
        TypeKind::Vector { len, scalable, .. } => Some((len, scalable)),
        _ => None,
    }
}

/// The lane of a vector whose lanes are all the same.
fn splat(context: &Context, constant: Const) -> Option<Const> {
    let data = context.const_data(constant);
    let TypeKind::Vector { elem, .. } = *context.type_kind(data.ty) else { return Some(constant) };
    match data.kind {
        ConstKind::Splat(element) => Some(element),
        ConstKind::Zero => Some(context.const_zero(elem)),
        _ => None,
    }
}

/// A number that every target treats alike.
fn float(context: &Context, constant: Const) -> Option<f64> {
    let data = context.const_data(constant);
    let ConstKind::Float(bits) = data.kind else { return None };
    let is_plain = |subnormal: bool, nan: bool| !subnormal && !nan;
    match data.ty {
        Type::FLOAT => {
            let value = f32::from_bits(bits as u32);
            is_plain(value.is_subnormal(), value.is_nan()).then(|| f64::from(value))
        }
        Type::DOUBLE => {
            let value = f64::from_bits(bits as u64);
            is_plain(value.is_subnormal(), value.is_nan()).then_some(value)
        }
        _ => None,
    }
}

fn float_const(context: &Context, ty: Type, value: f64) -> Option<Const> {
    let bits = match ty {
        Type::FLOAT => u128::from((value as f32).to_bits()),
        Type::DOUBLE => u128::from(value.to_bits()),
        _ => return None,
    };
    let constant = context.constant(ty, ConstKind::Float(bits));
    // What underflowed may be flushed on some targets.
    let result = float(context, constant)?;
    (result != 0.0 || value == 0.0).then_some(constant)
}
