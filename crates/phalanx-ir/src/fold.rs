//! Constant expressions that are simpler constants.
//!
//! LLVM's reader folds some constant expressions while it reads. This module folds the same ones,
//! so that both see the same operands: integer arithmetic and truncation, bit casts of numbers,
//! conversions between null pointers and zero, casts and arithmetic of `undef` and `poison`, casts
//! that change nothing, pairs of casts that are one, neutral elements, and addresses with only zero
//! indices. Folding needs no data layout: sizes and offsets stay expressions. Vectors are folded
//! when all lanes are undefined, poison or zero; operations on single lanes are not folded.
//!
//! Meaning: LLVM 22 Language Reference, *Constant Expressions*. O(1) but for integers over 64 bits,
//! O(bits).

use crate::{
    constant::{Const, ConstExpr, ConstKind, Int},
    context::Context,
    inst::Opcode,
    types::{Type, TypeKind},
};

/// The simpler constant that equals an expression of type `ty`, if there is one.
pub fn fold(context: &Context, ty: Type, expr: &ConstExpr) -> Option<Const> {
    match (expr.opcode, &*expr.operands) {
        (
            Opcode::Trunc
            | Opcode::PtrToInt
            | Opcode::PtrToAddr
            | Opcode::IntToPtr
            | Opcode::BitCast
            | Opcode::AddrSpaceCast,
            &[operand],
        ) => cast(context, expr.opcode, operand, ty),
        (Opcode::Add | Opcode::Sub | Opcode::Xor, &[left, right]) => {
            binary(context, expr.opcode, left, right, ty)
        }
        (Opcode::GetElementPtr, &[base, ref indices @ ..]) => {
            address(context, expr, base, indices, ty)
        }
        _ => None,
    }
}

fn kind(context: &Context, constant: Const) -> &ConstKind {
    &context.const_data(constant).kind
}

fn is_zero(kind: &ConstKind) -> bool {
    match kind {
        ConstKind::Int(int) => int.words().iter().all(|&word| word == 0),
        ConstKind::Float(bits) => *bits == 0,
        ConstKind::Null | ConstKind::Zero => true,
        _ => false,
    }
}

fn cast(context: &Context, opcode: Opcode, operand: Const, to: Type) -> Option<Const> {
    let data = context.const_data(operand);
    match &data.kind {
        ConstKind::Poison => return Some(context.constant(to, ConstKind::Poison)),
        ConstKind::Undef => return Some(context.constant(to, ConstKind::Undef)),
        kind if is_zero(kind) && opcode != Opcode::AddrSpaceCast => {
            return Some(context.constant(to, ConstKind::Zero));
        }
        _ => {}
    }
    if opcode == Opcode::BitCast && data.ty == to {
        return Some(operand);
    }
    let bits = |ty| context.type_kind(ty).number_bits();
    let is_as_wide = bits(data.ty) == bits(to);
    match (opcode, &data.kind, context.type_kind(to)) {
        (Opcode::Trunc, ConstKind::Int(int), &TypeKind::Int(bits)) => {
            Some(context.constant(to, ConstKind::Int(truncate(int.words(), bits))))
        }
        (Opcode::BitCast, ConstKind::Int(int), target) if target.is_float() && is_as_wide => {
            let words = int.words();
            let high = words.get(1).copied().unwrap_or_default();
            Some(
                context
                    .constant(to, ConstKind::Float(u128::from(high) << 64 | u128::from(words[0]))),
            )
        }
        (Opcode::BitCast, &ConstKind::Float(value), &TypeKind::Int(bits)) if is_as_wide => {
            let words = [value as u64, (value >> 64) as u64];
            let used = bits.div_ceil(64).min(2) as usize;
            Some(context.constant(to, ConstKind::Int(truncate(&words[..used], bits))))
        }
        // Truncating a truncated value, or an address, truncates the original value.
        (Opcode::Trunc, ConstKind::Expr(inner), TypeKind::Int(_))
            if matches!(inner.opcode, Opcode::Trunc | Opcode::PtrToInt) =>
        {
            let outer = ConstExpr { flags: Default::default(), ..(**inner).clone() };
            Some(context.constant(to, ConstKind::Expr(Box::new(outer))))
        }
        (Opcode::BitCast, ConstKind::Expr(inner), _) if inner.opcode == Opcode::BitCast => {
            let source = inner.operands[0];
            let outer = ConstExpr { flags: Default::default(), ..(**inner).clone() };
            cast(context, Opcode::BitCast, source, to)
                .or_else(|| Some(context.constant(to, ConstKind::Expr(Box::new(outer)))))
        }
        _ => None,
    }
}

fn binary(context: &Context, opcode: Opcode, left: Const, right: Const, ty: Type) -> Option<Const> {
    let kinds = (kind(context, left), kind(context, right));
    match kinds {
        (ConstKind::Poison, _) | (_, ConstKind::Poison) => {
            return Some(context.constant(ty, ConstKind::Poison));
        }
        // Each use of `undef` is another value: their difference is any value, except that LLVM
        // takes this one as 0.
        (ConstKind::Undef, ConstKind::Undef) if opcode == Opcode::Xor => {
            return Some(context.constant(ty, ConstKind::Zero));
        }
        (ConstKind::Undef, _) | (_, ConstKind::Undef) => {
            return Some(context.constant(ty, ConstKind::Undef));
        }
        (_, zero) if is_zero(zero) => return Some(left),
        (zero, _) if is_zero(zero) && opcode != Opcode::Sub => return Some(right),
        _ => {}
    }
    let (ConstKind::Int(a), ConstKind::Int(b)) = kinds else { return None };
    let &TypeKind::Int(bits) = context.type_kind(ty) else { return None };
    let mut carry = opcode == Opcode::Sub;
    let words: Vec<u64> = a
        .words()
        .iter()
        .zip(b.words())
        .map(|(&a, &b)| match opcode {
            Opcode::Xor => a ^ b,
            _ => {
                // a - b is a + !b + 1.
                let b = if opcode == Opcode::Sub { !b } else { b };
                let (sum, first) = a.overflowing_add(b);
                let (sum, second) = sum.overflowing_add(u64::from(carry));
                carry = first || second;
                sum
            }
        })
        .collect();
    Some(context.constant(ty, ConstKind::Int(truncate(&words, bits))))
}

fn address(
    context: &Context,
    expr: &ConstExpr,
    base: Const,
    indices: &[Const],
    ty: Type,
) -> Option<Const> {
    match kind(context, base) {
        ConstKind::Poison => return Some(context.constant(ty, ConstKind::Poison)),
        ConstKind::Undef => return Some(context.constant(ty, ConstKind::Undef)),
        _ => {}
    }
    let stays = |&index: &Const| {
        let kind = kind(context, index);
        is_zero(kind) || *kind == ConstKind::Undef
    };
    let same_type = context.const_data(base).ty == ty;
    (expr.in_range.is_none() && same_type && indices.iter().all(stays)).then_some(base)
}

/// The low bits as an integer of that width.
fn truncate(words: &[u64], bits: u32) -> Int {
    if bits <= 64 {
        return Int::from_u64(bits, words[0]);
    }
    let mut words = words[..bits.div_ceil(64) as usize].to_vec();
    if let (Some(top), extra @ 1..) = (words.last_mut(), bits % 64) {
        *top &= (1 << extra) - 1;
    }
    Int::Big(words.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_integers() {
        let context = Context::new();
        let ty = context.type_of_kind(&TypeKind::Int(100));
        let int = |words: [u64; 2]| context.constant(ty, ConstKind::Int(Int::Big(words.into())));
        let run = |opcode, a, b| binary(&context, opcode, int(a), int(b), ty);
        assert_eq!(run(Opcode::Add, [u64::MAX, 1], [1, 1]), Some(int([0, 3])));
        assert_eq!(run(Opcode::Sub, [0, 1], [1, 0]), Some(int([u64::MAX, 0])));
        let ones = [u64::MAX, (1 << 36) - 1];
        assert_eq!(run(Opcode::Sub, [1, 0], [2, 0]), Some(int(ones)));
        assert_eq!(run(Opcode::Xor, ones, [1, 0]), Some(int([u64::MAX - 1, ones[1]])));
        let narrow = context.type_of_kind(&TypeKind::Int(70));
        let cut = cast(&context, Opcode::Trunc, int(ones), narrow).unwrap();
        assert_eq!(context.const_data(cut).kind, ConstKind::Int(Int::Big([u64::MAX, 63].into())));
    }

    #[test]
    fn bits_of_another_width() {
        let context = Context::new();
        let int =
            |bits, value| context.int_const(context.type_of_kind(&TypeKind::Int(bits)), value);
        let run = |value, to| cast(&context, Opcode::BitCast, value, to);
        let half = context.type_of_kind(&TypeKind::Half);
        assert_eq!(
            run(int(16, 0x3c00), half),
            Some(context.constant(half, ConstKind::Float(0x3c00)))
        );
        assert_eq!(run(int(32, 0x3c00_3c00), half), None);
        let one = context.constant(Type::DOUBLE, ConstKind::Float(1.0f64.to_bits().into()));
        assert_eq!(run(one, Type::I64), Some(int(64, 1.0f64.to_bits())));
        assert_eq!(run(one, Type::I32), None);
    }
}
