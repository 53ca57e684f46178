//! Integers as sums: compares indices of addresses that are no constants.
//!
//! # What
//!
//! A number is taken apart into a constant and multiples of opaque values, modulo a power of two
//! ([`Sum`]). Two numbers with the same multiples differ by a constant. If multiples are left, the
//! numbers differ by a constant and some multiple of the greatest power of two that divides all of
//! them: more is not known in an arithmetic that wraps.
//!
//! ```text
//! %j = add i64 %i, 3        ; %j - %i = 3
//! %k = shl i64 %n, 2        ; 4·%n: %k + 1 and 0 differ by 1 modulo 4
//! ```
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

/// How many values are looked into for one number, and how many terms a sum may have.
const STEPS: usize = 32;
const TERMS: usize = 8;

/// How a value with fewer bits than the sum is extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Extended {
    /// The value has as many bits or more: its low bits count.
    Not,
    Signed,
    Unsigned,
}

/// A value that is a term of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    value: Value,
    extended: Extended,
}

/// A number as a sum. See the [module documentation](self).
#[derive(Clone, Debug)]
pub(super) struct Sum {
    bits: u32,
    constant: i64,
    /// The terms, each with its factor.
    parts: SmallVec<[(Part, i64); TERMS]>,
}

/// The distance from one number to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distance {
    /// Exactly this far.
    Exact(i64),
    /// This far, plus any multiple of two to this power.
    Modulo(i64, u32),
}

impl Sum {
    /// Zero, in arithmetic of `bits` bits, at most 64.
    pub(super) fn new(bits: u32) -> Self {
        Sum { bits, constant: 0, parts: SmallVec::new() }
    }

    pub(super) fn add_constant(&mut self, constant: i64) {
        self.constant = self.constant.wrapping_add(constant);
    }

    /// Adds a multiple of an index, which is signed. False if the index needs too many terms.
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

    /// The terms whose sum is the result of an instruction, extended in some way.
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
            // No bit is set in both operands, so nothing is carried and the sign does not change.
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
                // For an integer that is wider than any address, the low bits may be all zero.
                one(here(a, 1i64.checked_shl(by).unwrap_or(0)))
            }
            (Opcode::SExt, &[a]) => {
                // A value that was extended with its sign cannot be split further under an
                // extension with zeros.
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

    /// The distance from `other` to this number. A value that is not `same` may differ between the
    /// two numbers.
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

/// Whether two ranges are disjoint, of which the second begins at `distance` from the first, modulo
/// two to some power.
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

/// Whether flags exclude that the operation wraps, as its extension requires.
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
