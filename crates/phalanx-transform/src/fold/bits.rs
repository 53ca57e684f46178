//! Bit casts between vectors with different lane widths, and between vectors and scalars.
//!
//! As in LLVM, the lanes are parts of one number. The first lane holds the lowest bits on a
//! little-endian data layout, and the highest bits otherwise. A lane that contains bits of poison
//! is poison. Bits of `undef` are unknown, so such a cast is not folded. Pointers are not folded.
//! O(lanes).

use phalanx_ir::{Const, ConstKind, Context, InstFlags, Opcode, Type, TypeKind};

use super::{
    Operation, element, lanes,
    numbers::{int_bits, int_const, number},
};
use crate::code::Code;

/// Casts of more bits are not folded.
const BITS: u64 = 8192;

/// Whether the cast changes the number of lanes.
pub(super) fn has_other_lanes(context: &Context, constant: Const, to: Type) -> bool {
    lanes(context, context.const_data(constant).ty) != lanes(context, to)
}

/// A bit; none if it is poison.
type Bit = Option<bool>;

/// A constant cast to another type of the same width.
pub(super) fn cast(code: &Code<'_>, constant: Const, to: Type) -> Option<Const> {
    let context = code.context;
    let from = context.const_data(constant).ty;
    if context.const_data(constant).kind == ConstKind::Poison {
        return Some(context.const_poison(to));
    }
    let (old, new) = (Lanes::of(context, from)?, Lanes::of(context, to)?);
    let total = old.count as u64 * u64::from(old.bits);
    if total > BITS || total != new.count as u64 * u64::from(new.bits) {
        return None;
    }
    let big = code.is_big_endian();
    let mut bits: Vec<Bit> = Vec::with_capacity(total as usize);
    for at in 0..old.count {
        let at = if big { old.count - 1 - at } else { at };
        let lane = match old.is_vector {
            true => element(context, constant, at)?,
            false => constant,
        };
        if context.const_data(lane).kind == ConstKind::Poison {
            bits.extend((0..old.bits).map(|_| None));
        } else {
            let value = number(context, as_type(context, lane, old.number)?)?;
            bits.extend((0..old.bits).map(|bit| Some(value >> bit & 1 != 0)));
        }
    }
    let mut made: Vec<Const> = Vec::with_capacity(new.count);
    for lane in bits.chunks(new.bits as usize) {
        let lane: Option<Vec<bool>> = lane.iter().copied().collect();
        made.push(match lane {
            None => context.const_poison(new.lane),
            Some(lane) => {
                let value = lane.iter().rev().fold(0, |value, &bit| value << 1 | u128::from(bit));
                as_type(context, int_const(context, new.number, new.bits, value), new.lane)?
            }
        });
    }
    if big {
        made.reverse();
    }
    match new.is_vector {
        true => Some(context.const_aggregate(to, &made)),
        false => made.first().copied(),
    }
}

/// A scalar cast to another type of the same width.
fn as_type(context: &Context, constant: Const, to: Type) -> Option<Const> {
    if context.const_data(constant).ty == to {
        return Some(constant);
    }
    let cast = Operation { opcode: Opcode::BitCast, sub: 0, flags: InstFlags::NONE, ty: to };
    cast.fold(context, &[constant])
}

/// The lanes of a vector; a scalar counts as a vector of one lane.
struct Lanes {
    is_vector: bool,
    count: usize,
    lane: Type,
    bits: u32,
    /// The integer type that is as wide as a lane.
    number: Type,
}

impl Lanes {
    fn of(context: &Context, ty: Type) -> Option<Lanes> {
        let (is_vector, count, lane) = match *context.type_kind(ty) {
            TypeKind::Vector { elem, len, scalable: false } => (true, len as usize, elem),
            TypeKind::Vector { .. } => return None,
            _ => (false, 1, ty),
        };
        let bits = match context.type_kind(lane) {
            TypeKind::Half | TypeKind::BFloat => 16,
            TypeKind::Float => 32,
            TypeKind::Double => 64,
            _ => int_bits(context, lane)?,
        };
        Some(Lanes { is_vector, count, lane, bits, number: context.int_type(bits) })
    }
}
