//! Numbers as sums: what indices of addresses have in common.
//!
//! # What
//!
//! A number is taken apart into a constant and multiples of values that are not looked into, in the
//! arithmetic of some low bits ([`Sum`]). Two numbers with the same multiples differ by a constant.
//! Where multiples are left, they differ by a constant and some multiple of the greatest power of
//! two that divides them: more is not known in an arithmetic that wraps.
//!
//! # How
//!
//! `add`, `sub`, `mul` and `shl` by constants, `or disjoint`, extensions and truncations are looked
//! through, a bounded number of steps. Under an extension, an operation is looked through only if
//! its flags exclude wrapping. If it wraps nevertheless, the address is poison, and an access
//! through it is undefined behaviour. O(steps).

use phalanx_ir::{
    InstId, Opcode, TypeKind, Value, ValueKind,
    inst::{InstData, InstFlags},
};
use smallvec::SmallVec;

use crate::code::{Code, TypeSizes, cut, value_type};

/// How many values are looked into for one number, and how many a sum may be of.
const STEPS: usize = 32;
const TERMS: usize = 8;

/// How a value with fewer bits than a number becomes one with as many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Extended {
    /// It has as many or more: its low bits count.
    Not,
    Signed,
    Unsigned,
}

/// A value as a part of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    value: Value,
    extended: Extended,
}

/// See the [module documentation](self).
#[derive(Clone, Debug)]
pub(super) struct Sum {
    bits: u32,
    constant: i64,
    /// By how much each part is multiplied.
    parts: SmallVec<[(Part, i64); TERMS]>,
}

/// How far it is from one number to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distance {
    /// So far.
    Exact(i64),
    /// So far, and any multiple of two to that power.
    Modulo(i64, u32),
}

impl Sum {
    /// Zero, in arithmetic of so many bits, at most 64.
    pub(super) fn new(bits: u32) -> Self {
        Sum { bits, constant: 0, parts: SmallVec::new() }
    }

    pub(super) fn add_constant(&mut self, constant: i64) {
        self.constant = self.constant.wrapping_add(constant);
    }

    /// Adds a multiple of an index, with its sign. False if it cannot be taken apart far enough.
    pub(super) fn add_index(
        &mut self,
        code: Code<'_>,
        sizes: &TypeSizes<'_>,
        index: Value,
        factor: i64,
    ) -> bool {
        let Some(width) = width(code, index) else { return false };
        let extended = self.extension(width, Extended::Signed);
        let mut work: SmallVec<[(Part, i64); TERMS]> = SmallVec::new();
        work.push((Part { value: index, extended }, factor));
        let mut steps = 0;
        while let Some((part, factor)) = work.pop() {
            steps += 1;
            if let ValueKind::Const(constant) = part.value.kind() {
                let known = sizes.integer(constant).zip(self::width(code, part.value));
                let Some((value, width)) = known else { return false };
                let value = match part.extended {
                    Extended::Unsigned => zero_extended(value, width),
                    _ => value,
                };
                self.add_constant(value.wrapping_mul(factor));
                continue;
            }
            let apart = match part.value.kind() {
                ValueKind::Inst(inst) if steps < STEPS => {
                    self.apart(code, sizes, inst, part.extended)
                }
                ValueKind::Inst(_) | ValueKind::Arg(_) => None,
                _ => return false,
            };
            match apart {
                Some(parts) => {
                    work.extend(
                        parts.into_iter().map(|(part, by)| (part, factor.wrapping_mul(by))),
                    );
                }
                None if !self.add_part(part, factor) => return false,
                None => {}
            }
        }
        true
    }

    fn add_part(&mut self, part: Part, factor: i64) -> bool {
        let is_full = self.parts.len() == TERMS;
        match self.parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, known)) => *known = known.wrapping_add(factor),
            None if is_full => return false,
            None => self.parts.push((part, factor)),
        }
        true
    }

    fn extension(&self, width: u32, narrow: Extended) -> Extended {
        if width >= self.bits { Extended::Not } else { narrow }
    }

    /// What the result of an instruction, extended in some way, is the sum of.
    fn apart(
        &self,
        code: Code<'_>,
        sizes: &TypeSizes<'_>,
        inst: InstId,
        extended: Extended,
    ) -> Option<SmallVec<[(Part, i64); 2]>> {
        let data = *code.body.inst(inst);
        let operands = code.body.operands(inst);
        let here = |value, by| (Part { value, extended }, by);
        let one = |part| Some(SmallVec::from_iter([part]));
        match (data.opcode, operands) {
            (Opcode::Add, &[a, b]) if wraps_not(data, extended) => {
                Some(SmallVec::from_iter([here(a, 1), here(b, 1)]))
            }
            (Opcode::Sub, &[a, b]) if wraps_not(data, extended) => {
                Some(SmallVec::from_iter([here(a, 1), here(b, -1)]))
            }
            // Bits that are in one of both only neither carry nor change a sign.
            (Opcode::Or, &[a, b]) if data.flags.contains(InstFlags::DISJOINT) => {
                Some(SmallVec::from_iter([here(a, 1), here(b, 1)]))
            }
            (Opcode::Mul, &[a, b]) if wraps_not(data, extended) => {
                let (value, by) = match (sizes.integer_operand(a), sizes.integer_operand(b)) {
                    (_, Some(by)) => (a, by),
                    (Some(by), _) => (b, by),
                    _ => return None,
                };
                let by = match extended {
                    Extended::Unsigned => zero_extended(by, width(code, a)?),
                    _ => by,
                };
                one(here(value, by))
            }
            (Opcode::Shl, &[a, b]) if wraps_not(data, extended) => {
                let by = u32::try_from(sizes.integer_operand(b)?).ok()?;
                if by >= width(code, a)? {
                    return None;
                }
                // Of an integer that is wider than any address, nothing may be left in the low
                // bits.
                one(here(a, 1i64.checked_shl(by).unwrap_or(0)))
            }
            (Opcode::SExt, &[a]) => {
                // Above the sign bit of what was extended with its sign there is nothing new to
                // extend with zeros.
                let narrow = match extended {
                    Extended::Unsigned => return None,
                    _ => Extended::Signed,
                };
                one((Part { value: a, extended: self.extension(width(code, a)?, narrow) }, 1))
            }
            (Opcode::ZExt, &[a]) => {
                let narrow = match data.flags.contains(InstFlags::NNEG) {
                    true => Extended::Signed,
                    false => Extended::Unsigned,
                };
                one((Part { value: a, extended: self.extension(width(code, a)?, narrow) }, 1))
            }
            (Opcode::Trunc, &[a]) if wraps_not(data, extended) => {
                one((Part { value: a, extended: self.extension(width(code, a)?, extended) }, 1))
            }
            _ => None,
        }
    }

    /// How far it is from another number up to this one. Values that are not `same` are others on
    /// each side.
    pub(super) fn distance_from(&self, other: &Sum, same: &dyn Fn(Value) -> bool) -> Distance {
        let mut left = self.clone();
        let mut power = self.bits;
        for &(part, factor) in &other.parts {
            if !same(part.value) || !left.add_part(part, factor.wrapping_neg()) {
                power = power.min(factor.trailing_zeros());
            }
        }
        for (_, factor) in &left.parts {
            power = power.min(factor.trailing_zeros());
        }
        let constant = cut(self.constant.wrapping_sub(other.constant), self.bits);
        match power == self.bits {
            true => Distance::Exact(constant),
            false => Distance::Modulo(constant, power),
        }
    }
}

/// Whether so many bytes, and so many that begin this far behind them, have none in common in a
/// ring of two to some power.
pub(super) fn are_apart_modulo(
    distance: i64,
    power: u32,
    [size, behind]: [Option<u64>; 2],
) -> bool {
    let (Some(size), Some(behind), Some(ring)) = (size, behind, 1u64.checked_shl(power)) else {
        return false;
    };
    let up = distance as u64 & (ring - 1);
    size <= up && behind <= ring - up
}

/// Whether a result that is extended is the one that numbers without bounds would give.
fn wraps_not(data: InstData, extended: Extended) -> bool {
    match extended {
        Extended::Not => true,
        Extended::Signed => data.flags.contains(InstFlags::NSW),
        Extended::Unsigned => data.flags.contains(InstFlags::NUW),
    }
}

fn zero_extended(value: i64, width: u32) -> i64 {
    if width >= i64::BITS { value } else { value & ((1 << width) - 1) }
}

/// How many bits an integer has.
fn width(code: Code<'_>, value: Value) -> Option<u32> {
    match *code.context.type_kind(value_type(code, value)?) {
        TypeKind::Int(bits) => Some(bits),
        _ => None,
    }
}
