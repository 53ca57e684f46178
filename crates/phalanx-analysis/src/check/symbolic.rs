//! Distances between lanes that are known at run time only.
//!
//! ```c
//! out[x * n + y] = v;      // x = threadIdx.x: n elements from lane to lane
//! ```
//!
//! An address is taken apart into sums, products and shifts. Let it be the sum of `c * s * x` and
//! of values that are the same for the wave. `x` is the thread's index along x (or the lane), `c` a
//! constant, and `s` a value that is the same for the wave but no constant. Then the address grows
//! by `c * s` bytes from lane to lane. Casts are assumed to lose nothing, since an index in C does
//! not wrap.
//!
//! There is no answer if two such products are added, or if the index is used in any other way.
//! O(operations looked at), which are bounded.

use phalanx_ir::{InstId, Opcode, Type, TypeKind, Value};
use phalanx_target::Scope;
use rustc_hash::FxHashMap;

use super::finding::Symbol;
use super::{
    Facts,
    sites::integer,
    witness::{is_lane, register_index, stored},
};
use crate::code::Numbering;

/// How many operations are looked at.
const OPERATIONS: usize = 96;

/// How a value grows from lane to lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slope {
    By(i64),
    Times(Symbol),
}

impl Slope {
    const ZERO: Slope = Slope::By(0);

    fn plus(self, other: Slope) -> Option<Slope> {
        match (self, other) {
            (one, Slope::ZERO) | (Slope::ZERO, one) => Some(one),
            (Slope::By(a), Slope::By(b)) => Some(Slope::By(a.checked_add(b)?)),
            // `n * x + n * x`, which compilers do not write.
            _ => None,
        }
    }

    fn times(self, by: i64) -> Option<Slope> {
        Some(match self {
            Slope::By(bytes) => Slope::By(bytes.checked_mul(by)?),
            Slope::Times(_) if by == 0 => Slope::ZERO,
            Slope::Times(of) => Slope::Times(Symbol { bytes: of.bytes.checked_mul(by)?, ..of }),
        })
    }
}

/// The distance between neighbouring lanes of a wave in an address, if it is known at run time
/// only.
pub(super) fn distance(facts: Facts<'_>, address: Value) -> Option<Symbol> {
    let mut known: FxHashMap<Value, Option<Slope>> = FxHashMap::default();
    let mut work = vec![address];
    let mut left = OPERATIONS;
    while let Some(&value) = work.last() {
        if known.contains_key(&value) {
            work.pop();
            continue;
        }
        left = left.checked_sub(1)?;
        let parts = parts(facts, value);
        let open = |part: &&Value| !known.contains_key(*part);
        let next: Vec<Value> = parts.iter().filter(open).copied().collect();
        // A value that depends on itself has no slope.
        if next.iter().any(|part| work.contains(part)) {
            known.insert(value, None);
        } else if next.is_empty() {
            let slope = slope(facts, value, &|part| known.get(&part).copied().flatten());
            known.insert(value, slope);
        } else {
            work.extend(next);
        }
    }
    match known.get(&address).copied().flatten()? {
        Slope::Times(symbol) => Some(symbol),
        Slope::By(_) => None,
    }
}

/// Whether a value is the same for the wave.
fn is_one(facts: Facts<'_>, value: Value) -> bool {
    let numbering = Numbering::new(facts.code.header);
    let sources = numbering.operand(value).map(|number| facts.divergence.value(number));
    value.as_const().is_some()
        || sources.is_some_and(|sources| !sources.intersects(facts.varying(Scope::Wave)))
}

/// The values whose slopes the slope of a value depends on.
fn parts(facts: Facts<'_>, value: Value) -> Vec<Value> {
    let Some(inst) = value.as_inst().filter(|_| !is_one(facts, value)) else { return Vec::new() };
    let body = facts.code.body;
    let operands = body.operands(inst);
    match body.inst(inst).opcode {
        Opcode::Load => stored(facts, inst).into_iter().collect(),
        Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::GetElementPtr => operands.to_vec(),
        Opcode::Or => operands.to_vec(),
        Opcode::Shl
        | Opcode::SExt
        | Opcode::ZExt
        | Opcode::Trunc
        | Opcode::Freeze
        | Opcode::AddrSpaceCast => operands[..1].to_vec(),
        _ => Vec::new(),
    }
}

fn slope(facts: Facts<'_>, value: Value, of: &dyn Fn(Value) -> Option<Slope>) -> Option<Slope> {
    if is_one(facts, value) {
        return Some(Slope::ZERO);
    }
    let body = facts.code.body;
    let inst = value.as_inst()?;
    let operands = body.operands(inst);
    let data = body.inst(inst);
    match data.opcode {
        Opcode::Call => {
            let is_index = register_index(facts, inst) == Some(0) || is_lane(facts, inst);
            let is_other_axis = matches!(register_index(facts, inst), Some(1 | 2));
            // Lanes of a row have the same index along y and z.
            match (is_index, is_other_axis) {
                (true, _) => Some(Slope::By(1)),
                (_, true) => Some(Slope::ZERO),
                _ => None,
            }
        }
        Opcode::Load => of(stored(facts, inst)?),
        Opcode::Add => of(operands[0])?.plus(of(operands[1])?),
        Opcode::Sub => of(operands[0])?.plus(of(operands[1])?.times(-1)?),
        Opcode::Or if data.flags.contains(phalanx_ir::inst::InstFlags::DISJOINT) => {
            of(operands[0])?.plus(of(operands[1])?)
        }
        Opcode::Mul => product(facts, [operands[0], operands[1]], of),
        Opcode::Shl => {
            let by = integer(facts.code, operands[1]).filter(|by| *by < 62)?;
            of(operands[0])?.times(1 << by)
        }
        Opcode::SExt | Opcode::ZExt | Opcode::Trunc | Opcode::Freeze | Opcode::AddrSpaceCast => {
            of(operands[0])
        }
        Opcode::GetElementPtr => element(facts, inst, of),
        _ => None,
    }
}

fn product(
    facts: Facts<'_>,
    operands: [Value; 2],
    of: &dyn Fn(Value) -> Option<Slope>,
) -> Option<Slope> {
    let [one, other] = operands;
    let (varying, factor) = match (is_one(facts, one), is_one(facts, other)) {
        (true, _) => (other, one),
        (_, true) => (one, other),
        _ => return None,
    };
    let slope = of(varying)?;
    match (slope, integer(facts.code, factor)) {
        (slope, Some(by)) => slope.times(i64::try_from(by).ok()?),
        (Slope::ZERO, None) => Some(Slope::ZERO),
        (Slope::By(bytes), None) => {
            Some(Slope::Times(Symbol { value: named(facts, factor), bytes }))
        }
        (Slope::Times(_), None) => None,
    }
}

/// The value behind casts and a slot, which is likely to have a name in the source.
fn named(facts: Facts<'_>, value: Value) -> Value {
    let body = facts.code.body;
    let mut at = value;
    for _ in 0..8 {
        let Some(inst) = at.as_inst() else { return at };
        let next = match body.inst(inst).opcode {
            Opcode::SExt | Opcode::ZExt | Opcode::Trunc => Some(body.operands(inst)[0]),
            Opcode::Load => stored(facts, inst),
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => return at,
        }
    }
    at
}

/// The slope of an address of an element; of arrays only.
fn element(facts: Facts<'_>, inst: InstId, of: &dyn Fn(Value) -> Option<Slope>) -> Option<Slope> {
    let body = facts.code.body;
    let operands = body.operands(inst);
    let mut ty = body.inst(inst).element_type();
    let mut all = of(operands[0])?;
    for (position, &index) in operands[1..].iter().enumerate() {
        if position > 0 {
            ty = match facts.code.context.type_kind(ty) {
                TypeKind::Array { elem, .. } => *elem,
                // An index of a field is a constant; further indices are not handled.
                _ => {
                    return (of(index)? == Slope::ZERO && position + 2 == operands.len())
                        .then_some(all);
                }
            };
        }
        let size = i64::try_from(size(facts, ty)?).ok()?;
        all = all.plus(of(index)?.times(size)?)?;
    }
    Some(all)
}

/// The distance in bytes between neighbouring numbers, or arrays of them.
fn size(facts: Facts<'_>, ty: Type) -> Option<u64> {
    let mut ty = ty;
    let mut count = 1u64;
    for _ in 0..8 {
        match facts.code.context.type_kind(ty) {
            TypeKind::Array { elem, len } => (ty, count) = (*elem, count.checked_mul(*len)?),
            kind => {
                let bytes = u64::from(kind.number_bits()?).div_ceil(8).next_power_of_two();
                return count.checked_mul(bytes);
            }
        }
    }
    None
}
