//! Evaluates operations on known numbers.
//!
//! Integer arithmetic of LLVM, on numbers of at most 64 bits. There is no result if it would be
//! poison or undefined: an `add nsw` that wraps, a shift by too much, a division by zero.
//!
//! O(1).

use phalanx_ir::{InstId, Opcode, inst::InstFlags};
use phalanx_target::intrinsics::Family;

use super::{
    Facts,
    sites::called,
    witness::{bits, lane, read_register, register_index},
};
use crate::code::Code;

/// The result of a call in a thread of a workgroup of that size, if known: indices and lanes, and
/// arithmetic intrinsics.
pub(super) fn of_call(
    facts: Facts<'_>,
    call: InstId,
    arguments: &[Option<u64>],
    (thread, size): ([u32; 3], Option<[u32; 3]>),
) -> Option<u64> {
    if let Some(axis) = register_index(facts, call) {
        return Some(u64::from(thread[axis]));
    }
    let of = bits(facts, call.into())?;
    let lane = || lane(facts.launch, thread, size);
    let found = read_register(facts, call)?;
    if found.family == Family::Amdgcn {
        // The number of lanes before this one in a mask, of which each intrinsic counts one half of
        // the wave.
        let first = match found.base {
            "mbcnt.lo" => 0,
            "mbcnt.hi" => 32,
            _ => return None,
        };
        let &[Some(mask), Some(more)] = arguments else { return None };
        let below = ones(lane()?.saturating_sub(first).min(32));
        let count = u64::from((mask & below & ones(32)).count_ones());
        return Some((count + more) & ones(of));
    }
    let axes = ["read.ptx.sreg.ntid.x", "read.ptx.sreg.ntid.y", "read.ptx.sreg.ntid.z"];
    if let Some(axis) = axes.iter().position(|axis| *axis == found.base) {
        return Some(u64::from(size?[axis]));
    }
    let equal = |lane: u32| 1u64 << lane.min(31);
    match found.base {
        "read.ptx.sreg.laneid" => lane().map(u64::from),
        "read.ptx.sreg.warpsize" => facts.launch.wave_width.map(u64::from),
        "read.ptx.sreg.lanemask.eq" => lane().map(equal),
        "read.ptx.sreg.lanemask.lt" => lane().map(|lane| equal(lane) - 1),
        "read.ptx.sreg.lanemask.le" => lane().map(|lane| 2 * equal(lane) - 1),
        "read.ptx.sreg.lanemask.gt" => lane().map(|lane| !(2 * equal(lane) - 1) & ones(32)),
        "read.ptx.sreg.lanemask.ge" => lane().map(|lane| !(equal(lane) - 1) & ones(32)),
        _ if found.family == Family::Generic => {
            let name = called(facts.code, call)?;
            arithmetic_call(facts.code.context.bytes(name.symbol()?), arguments, of)
        }
        _ => None,
    }
}

/// Arithmetic intrinsics of LLVM.
pub(super) fn arithmetic_call(name: &[u8], arguments: &[Option<u64>], of: u32) -> Option<u64> {
    let name = std::str::from_utf8(name).ok()?.strip_prefix("llvm.")?;
    let base = name.split('.').next()?;
    let &first = arguments.first()?;
    let a = first?;
    let b = arguments.get(1).copied().flatten();
    let by = |count: Option<u64>| count.map(|count| (count % u64::from(of.max(1))) as u32);
    let joined = |high: u64, low: u64, left: u32| match left {
        0 => high,
        left => (high << left | low >> (of - left)) & ones(of),
    };
    let third = arguments.get(2).copied().flatten();
    match base {
        "umin" => Some(a.min(b?)),
        "umax" => Some(a.max(b?)),
        "smin" => Some(if signed(a, of) < signed(b?, of) { a } else { b? }),
        "smax" => Some(if signed(a, of) > signed(b?, of) { a } else { b? }),
        "ctpop" => Some(u64::from(a.count_ones())),
        "ctlz" if a != 0 => Some(u64::from(a.leading_zeros()) + u64::from(of) - 64),
        "cttz" if a != 0 => Some(u64::from(a.trailing_zeros())),
        "bitreverse" => Some(a.reverse_bits() >> (64 - of.clamp(1, 64))),
        "fshl" => Some(joined(a, b?, by(third)?)),
        "fshr" => {
            let right = by(third)?;
            Some(if right == 0 { b? } else { joined(a, b?, of - right) })
        }
        _ => None,
    }
}

pub(super) const fn ones(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// A number of `bits` bits as a signed one.
pub(super) fn signed(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits.clamp(1, 64);
    ((value << unused) as i64) >> unused
}

/// The result of an operation whose type has `bits` bits; none if it is poison or undefined.
pub(super) fn evaluate(
    code: Code<'_>,
    inst: InstId,
    operands: &[u64],
    bits: u32,
    from: u32,
) -> Option<u64> {
    let data = code.body.inst(inst);
    let &a = operands.first()?;
    let b = operands.get(1).copied().unwrap_or(0);
    let wide = |value: i128| {
        let signed = i128::from(signed(value as u64, bits));
        let unsigned = i128::from(value as u64 & ones(bits));
        (signed, unsigned)
    };
    let arithmetic = |op: fn(i128, i128) -> i128| {
        let of_signed = op(i128::from(signed(a, bits)), i128::from(signed(b, bits)));
        let of_unsigned = op(i128::from(a), i128::from(b));
        let wraps = (data.flags.contains(InstFlags::NSW) && wide(of_signed).0 != of_signed)
            || (data.flags.contains(InstFlags::NUW) && wide(of_unsigned).1 != of_unsigned);
        (!wraps).then_some(of_unsigned as u64)
    };
    let has = |flag| data.flags.contains(flag);
    // What a shift or division loses; flags may state that it loses nothing.
    let inexact = match data.opcode {
        Opcode::UDiv => a.checked_rem(b).unwrap_or(0),
        Opcode::SDiv => signed(a, bits).checked_rem(signed(b, bits)).unwrap_or(0) as u64,
        Opcode::LShr | Opcode::AShr => a & ones(b.min(64) as u32),
        _ => 0,
    };
    let is_poison = match data.opcode {
        Opcode::UDiv | Opcode::SDiv | Opcode::LShr | Opcode::AShr => {
            has(InstFlags::EXACT) && inexact != 0
        }
        Opcode::Or => has(InstFlags::DISJOINT) && a & b != 0,
        Opcode::ZExt => has(InstFlags::NNEG) && signed(a, from) < 0,
        Opcode::Trunc => {
            has(InstFlags::NUW) && a > ones(bits)
                || has(InstFlags::NSW) && signed(a, from) != signed(a, bits)
        }
        Opcode::ICmp => has(InstFlags::SAME_SIGN) && (signed(a, from) < 0) != (signed(b, from) < 0),
        _ => false,
    };
    if is_poison {
        return None;
    }
    match data.opcode {
        Opcode::Add => arithmetic(|a, b| a + b),
        Opcode::Sub => arithmetic(|a, b| a - b),
        Opcode::Mul => arithmetic(|a, b| a.wrapping_mul(b)),
        Opcode::UDiv => a.checked_div(b),
        Opcode::URem => a.checked_rem(b),
        Opcode::SDiv | Opcode::SRem => {
            let (x, y) = (signed(a, bits), signed(b, bits));
            // If the quotient is undefined, so is the remainder.
            let quotient = x.checked_div(y).filter(|&q| signed(q as u64, bits) == q)?;
            Some(if data.opcode == Opcode::SDiv { quotient } else { x % y } as u64)
        }
        Opcode::And => Some(a & b),
        Opcode::Or => Some(a | b),
        Opcode::Xor => Some(a ^ b),
        // Bits that are shifted out do not matter, unless flags state that there are none.
        Opcode::Shl if b < u64::from(bits) && data.flags == InstFlags::default() => Some(a << b),
        Opcode::Shl if b < u64::from(bits) => arithmetic_shift(a, b, bits).then_some(a << b),
        Opcode::LShr if b < u64::from(bits) => Some(a >> b),
        Opcode::AShr if b < u64::from(bits) => Some((signed(a, bits) >> b) as u64),
        Opcode::Trunc | Opcode::ZExt => Some(a),
        Opcode::SExt => Some(signed(a, from) as u64),
        Opcode::Select => Some(if a == 0 { *operands.get(2)? } else { b }),
        Opcode::ICmp => {
            let signed = signed(a, from).cmp(&signed(b, from));
            Some(u64::from(data.int_predicate().holds(a.cmp(&b), signed)))
        }
        _ => None,
    }
}

/// Whether a shift to the left loses neither bits nor the sign.
fn arithmetic_shift(a: u64, by: u64, bits: u32) -> bool {
    let shifted = i128::from(a) << by;
    shifted <= i128::from(ones(bits.saturating_sub(1)))
}
