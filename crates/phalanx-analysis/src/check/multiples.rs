//! Divisors of numbers.
//!
//! There are two kinds of divisors, since arithmetic wraps. One is the number of low bits that are
//! zero, which wrapping does not change. The other divides the signed number, provided that no
//! operation with `nsw` wraps. An operation that wraps nevertheless gives poison, and a branch on
//! poison is undefined.
//!
//! ```text
//! %a = mul nsw i32 %n, 12     ; zeros: 2, number: 12
//! %b = mul i32 %n, 12         ; zeros: 2, number: 4
//! ```
//!
//! O(operations looked at), which are bounded.

use phalanx_ir::{InstId, Opcode, Value, inst::InstFlags};

use super::{
    Facts, evaluate,
    sites::{called, intrinsic},
    witness,
};

/// The depth to which operations are looked at.
const DEPTH: u32 = 6;

/// What is known to divide a number. See the [module documentation](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Divisor {
    /// How many low bits are zero, at least.
    pub(super) zeros: u32,
    /// A divisor of the signed number; 0 divides only zero.
    pub(super) number: u64,
}

impl Divisor {
    /// The divisor of zero, which everything divides.
    pub(super) const ZERO: Divisor = Divisor { zeros: u64::BITS, number: 0 };
    const ONE: Divisor = Divisor { zeros: 0, number: 1 };

    /// The divisor of a number of `bits` bits.
    fn of(number: u64, bits: u32) -> Divisor {
        Divisor {
            zeros: number.trailing_zeros(),
            number: evaluate::signed(number, bits).unsigned_abs(),
        }
    }

    /// Only the zeros are known; as many of them as are below the sign divide the signed number,
    /// too.
    fn of_zeros(zeros: u32, bits: u32) -> Divisor {
        Divisor { zeros, number: 1 << zeros.min(bits.saturating_sub(1)).min(62) }
    }

    /// A divisor of both.
    pub(super) fn common(self, other: Divisor) -> Divisor {
        Divisor { zeros: self.zeros.min(other.zeros), number: gcd(self.number, other.number) }
    }

    fn times(self, other: Divisor) -> Divisor {
        let number = self.number.checked_mul(other.number);
        let zeros = self.zeros.saturating_add(other.zeros).min(u64::BITS);
        Divisor { zeros, number: number.unwrap_or(self.number) }
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A divisor of an integer.
pub(super) fn divisor(facts: Facts<'_>, value: Value) -> Divisor {
    within(facts, value, DEPTH)
}

fn within(facts: Facts<'_>, value: Value, depth: u32) -> Divisor {
    let Some(bits) = witness::bits(facts, value) else { return Divisor::ONE };
    if let Some(number) = witness::constant(facts, value) {
        return Divisor::of(number, bits);
    }
    let (Some(inst), Some(depth)) = (value.as_inst(), depth.checked_sub(1)) else {
        return Divisor::ONE;
    };
    facts.reads_inst(inst);
    let data = facts.code.body.inst(inst);
    let operands = facts.code.body.operands(inst);
    let of = |at: usize| within(facts, operands[at], depth);
    let either = |a: usize, b: usize| of(a).common(of(b));
    // The whole divisor if nothing wraps, otherwise only the zeros.
    let unless = |holds: bool, all: Divisor| match holds {
        true => all,
        false => Divisor::of_zeros(all.zeros, bits),
    };
    let has = |flag| data.flags.contains(flag);
    match data.opcode {
        Opcode::Load => match witness::stored(facts, inst) {
            Some(value) => within(facts, value, depth),
            None => Divisor::ONE,
        },
        Opcode::SExt | Opcode::Freeze => of(0),
        Opcode::ZExt => unless(has(InstFlags::NNEG), of(0)),
        Opcode::Trunc => unless(has(InstFlags::NSW), of(0)),
        Opcode::Mul => unless(has(InstFlags::NSW), of(0).times(of(1))),
        Opcode::Shl => match witness::constant(facts, operands[1]).filter(|by| *by < bits.into()) {
            Some(by) => {
                let power = Divisor { zeros: by as u32, number: 1 << by };
                unless(has(InstFlags::NSW), of(0).times(power))
            }
            None => Divisor::of_zeros(of(0).zeros, bits),
        },
        Opcode::Add | Opcode::Sub => unless(has(InstFlags::NSW), either(0, 1)),
        Opcode::And => Divisor::of_zeros(of(0).zeros.max(of(1).zeros), bits),
        Opcode::Or | Opcode::Xor => Divisor::of_zeros(either(0, 1).zeros, bits),
        Opcode::Select => either(1, 2),
        Opcode::Call => of_call(facts, inst, (bits, depth)),
        _ => Divisor::ONE,
    }
}

/// The divisor of a call: of the size of workgroups, or of the minimum or maximum of two numbers.
fn of_call(facts: Facts<'_>, call: InstId, (bits, depth): (u32, u32)) -> Divisor {
    let Some(name) = called(facts.code, call) else { return Divisor::ONE };
    if let Some(found) = intrinsic(facts.code, call) {
        let axes = ["read.ptx.sreg.ntid.x", "read.ptx.sreg.ntid.y", "read.ptx.sreg.ntid.z"];
        let axis = axes.iter().position(|axis| *axis == found.base);
        let size = axis.and_then(|axis| Some(witness::exact_size(facts.launch)?[axis]));
        return size.map_or(Divisor::ONE, |size| Divisor::of(size.into(), bits));
    }
    let bytes = name.symbol().map_or(&b""[..], |symbol| facts.code.context.bytes(symbol));
    let extrema = ["llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax."];
    let is_one_of_two = extrema.iter().any(|prefix| bytes.starts_with(prefix.as_bytes()));
    match facts.code.body.call_args(call) {
        &[a, b] if is_one_of_two => within(facts, a, depth).common(within(facts, b, depth)),
        _ => Divisor::ONE,
    }
}
