//! Operations among the converged threads of a wave: computes the result of each thread from the
//! operands of all.
//!
//! The meaning follows the usage guide of the AMDGPU backend and the PTX instruction set. A lane
//! outside of the group is inactive. Where the targets do not specify the result of reading an
//! inactive lane, the reader gets its own operand. If all readers get one result, it is the operand
//! of the first lane.

use phalanx_ir::Type;

use crate::{
    fault::FaultKind,
    intrinsic::{Reduce, reduce_all},
    shape::Shapes,
    sub_groups::{self, SubGroup},
    value::Value,
};

/// An operation among the threads of a group.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Collective {
    /// Wait for each other.
    Meet,
    /// The same, with a mask of lanes.
    MeetMasked,
    /// The lanes whose argument is true.
    Ballot,
    /// The same among the lanes of a mask.
    BallotMasked,
    /// The lane's own bit of a uniform mask.
    InverseBallot,
    /// The active lanes.
    Active,
    /// Whether the argument is true for all lanes of the mask.
    All,
    /// Whether it is true for any.
    Any,
    /// Whether it is the same for all.
    Same,
    /// The lanes that have the same value.
    MatchAny,
    /// All lanes if they have the same value, and whether they do.
    MatchAll,
    /// One lane of the mask, and whether it is this one.
    Elect,
    /// The value of the first lane.
    First,
    /// The value of a lane that the second argument names.
    ReadLane,
    /// `ds_bpermute`: the value of the lane that the first argument names, in bytes.
    Pull {
        /// Among how many lanes, of which a wave has as many or twice that.
        lanes: u32,
    },
    /// `ds_permute`: gives the value to the lane that the first argument names, in bytes.
    Push,
    /// `ds_swizzle`
    Swizzle,
    /// Data-parallel primitives.
    Dpp {
        /// Whether the first argument is what a lane without a source keeps.
        keeps_old: bool,
    },
    /// All values as one.
    Reduce(Reduce),
    /// The same among the lanes of a mask.
    ReduceMasked(Reduce),
    /// A sub-group function of OpenCL C.
    SubGroup(SubGroup),
    /// The function of this number, which the driver executes.
    Driver(u32),
    /// `shfl.sync`
    Shuffle {
        /// How the other lane is found.
        mode: Shuffle,
        /// Whether a predicate says that it was found.
        with_predicate: bool,
    },
}

impl Collective {
    /// Which of its arguments is a mask of the lanes that take part.
    pub(crate) const fn mask(self) -> Option<usize> {
        match self {
            Collective::MeetMasked
            | Collective::BallotMasked
            | Collective::All
            | Collective::Any
            | Collective::Same
            | Collective::MatchAny
            | Collective::MatchAll
            | Collective::Elect
            | Collective::Shuffle { .. } => Some(0),
            Collective::ReduceMasked(_) => Some(1),
            _ => None,
        }
    }
}

/// How `shfl.sync` finds the other lane.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Shuffle {
    Index,
    Up,
    Down,
    Xor,
}

/// The operands of one thread.
pub(crate) struct Lane {
    pub(crate) number: u32,
    pub(crate) args: Vec<Value>,
}

/// The results of the threads of a group, in the order of `lanes`, which are sorted by number.
pub(crate) fn perform(
    kind: Collective,
    shapes: &Shapes,
    types: &[Type],
    width: u32,
    lanes: &[Lane],
) -> Result<Vec<Value>, FaultKind> {
    let poisoned = |what| Err(FaultKind::undefined(format!("{what} is poison")));
    let arg = |lane: &Lane, i: usize| lane.args.get(i).cloned().unwrap_or(Value::Poison);
    let number = |lane: &Lane, i: usize| lane.args.get(i).and_then(Value::bits);
    let at = |lane: u32| lanes.binary_search_by_key(&lane, |l| l.number).ok().map(|i| &lanes[i]);
    let each = |f: &dyn Fn(&Lane) -> Value| Ok(lanes.iter().map(f).collect());
    let all = |value: &Value| Ok(vec![value.clone(); lanes.len()]);
    let bits_of = |holds: &dyn Fn(&Lane) -> bool| -> u128 {
        lanes.iter().filter(|l| holds(l)).fold(0, |mask, l| mask | 1 << l.number)
    };
    let is_named = |mask: u128, lane: &Lane| mask >> lane.number & 1 == 1;
    match kind {
        Collective::Meet | Collective::MeetMasked => all(&Value::Unit),
        Collective::Driver(_) => Err(FaultKind::unsupported("a function of a driver")),
        Collective::Active => all(&Value::Bits(bits_of(&|_| true))),
        Collective::Ballot => {
            if lanes.iter().any(|l| number(l, 0).is_none()) {
                return poisoned("an argument of a ballot");
            }
            let ballot = bits_of(&|l| number(l, 0) == Some(1));
            all(&Value::Bits(ballot & crate::value::mask(width.max(32))))
        }
        Collective::InverseBallot => each(&|l| match number(l, 0) {
            Some(mask) => Value::bool(mask >> l.number & 1 == 1),
            None => Value::Poison,
        }),
        Collective::BallotMasked | Collective::All | Collective::Any | Collective::Same => {
            each(&|l| {
                let Some(mask) = number(l, 0) else { return Value::Poison };
                let named: Vec<&Lane> = lanes.iter().filter(|l| is_named(mask, l)).collect();
                if named.iter().any(|l| number(l, 1).is_none()) {
                    return Value::Poison;
                }
                let count = named.iter().filter(|l| number(l, 1) == Some(1)).count();
                match kind {
                    Collective::BallotMasked => {
                        Value::Bits(bits_of(&|l| is_named(mask, l) && number(l, 1) == Some(1)))
                    }
                    Collective::All => Value::bool(count == named.len()),
                    Collective::Any => Value::bool(count > 0),
                    _ => Value::bool(count == 0 || count == named.len()),
                }
            })
        }
        Collective::MatchAny => each(&|l| {
            let Some(mask) = number(l, 0) else { return Value::Poison };
            Value::Bits(bits_of(&|other| is_named(mask, other) && arg(other, 1) == arg(l, 1)))
        }),
        Collective::MatchAll => each(&|l| {
            let Some(mask) = number(l, 0) else { return Value::Poison };
            let same = lanes.iter().filter(|o| is_named(mask, o)).all(|o| arg(o, 1) == arg(l, 1));
            let found = if same { bits_of(&|o| is_named(mask, o)) } else { 0 };
            Value::Many([Value::Bits(found), Value::bool(same)].into())
        }),
        Collective::Elect => each(&|l| {
            let Some(mask) = number(l, 0) else { return Value::Poison };
            let leader = lanes.iter().find(|o| is_named(mask, o)).map_or(0, |o| o.number);
            Value::Many([Value::Bits(leader.into()), Value::bool(leader == l.number)].into())
        }),
        Collective::First => all(&arg(&lanes[0], 0)),
        Collective::ReadLane => {
            // The lane number is uniform; otherwise that of the first lane counts.
            let Some(wanted) = number(&lanes[0], 1) else { return poisoned("a lane number") };
            // An inactive lane's register is unspecified, but all readers get the same value of it.
            all(&arg(at(wanted as u32 % width).unwrap_or(&lanes[0]), 0))
        }
        Collective::Pull { lanes } => each(&|l| match number(l, 0) {
            Some(from) => {
                let count = lanes.min(width);
                let first = l.number - l.number % count;
                at(first + (from as u32 >> 2) % count).map_or(Value::Bits(0), |o| arg(o, 1))
            }
            None => Value::Poison,
        }),
        Collective::Push => each(&|l| {
            let to = |o: &&Lane| number(o, 0).map(|n| (n as u32 >> 2) % width) == Some(l.number);
            lanes.iter().rfind(to).map_or(Value::Bits(0), |o| arg(o, 1))
        }),
        Collective::Swizzle => each(&|l| {
            let Some(pattern) = number(l, 1) else { return Value::Poison };
            let pattern = pattern as u32;
            let from = if pattern >> 15 & 1 == 1 {
                l.number & !3 | pattern >> (2 * (l.number & 3)) & 3
            } else {
                let (and, or, xor) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
                l.number & !31 | ((l.number & 31 & and | or) ^ xor) & 31
            };
            at(from).map_or(Value::Bits(0), |o| arg(o, 0))
        }),
        Collective::Dpp { keeps_old } => {
            let first = usize::from(keeps_old);
            each(&|l| dpp(l, first, &|other, i| at(other).map(|o| arg(o, i)), width))
        }
        Collective::Reduce(op) => {
            let values = lanes.iter().map(|l| arg(l, 0));
            all(&reduce_all(op, shapes, types[0], values)?)
        }
        Collective::ReduceMasked(op) => lanes
            .iter()
            .map(|l| {
                let Some(mask) = number(l, 1) else { return Ok(Value::Poison) };
                let named = lanes.iter().filter(|o| is_named(mask, o)).map(|o| arg(o, 0));
                reduce_all(op, shapes, types[0], named)
            })
            .collect(),
        Collective::SubGroup(kind) => sub_groups::perform(kind, shapes, types, width, lanes),
        Collective::Shuffle { mode, with_predicate } => each(&|l| {
            let (Some(b), Some(c)) = (number(l, 2), number(l, 3)) else { return Value::Poison };
            let (lane, b, c) = (l.number as i64, b as i64 & 31, c as i64);
            let (clamp, segment) = (c & 31, c >> 8 & 31);
            let (last, first) = (lane & segment | clamp & !segment, lane & segment);
            let (other, found) = match mode {
                Shuffle::Up => (lane - b, lane - b >= last),
                Shuffle::Down => (lane + b, lane + b <= last),
                Shuffle::Xor => (lane ^ b, lane ^ b <= last),
                Shuffle::Index => {
                    let other = first | b & !segment;
                    (other, other <= last)
                }
            };
            let other = if found { other as u32 } else { l.number };
            let value = at(other).map_or_else(|| arg(l, 1), |o| arg(o, 1));
            if with_predicate { Value::Many([value, Value::bool(found)].into()) } else { value }
        }),
    }
}

/// What data-parallel primitives move to a lane. `source(lane, i)` is argument `i` of an active
/// lane.
fn dpp(
    lane: &Lane,
    first: usize,
    source: &dyn Fn(u32, usize) -> Option<Value>,
    width: u32,
) -> Value {
    let number = |i: usize| lane.args.get(first + i).and_then(Value::bits).map(|b| b as u32);
    let own = lane.args.get(first).cloned().unwrap_or(Value::Poison);
    let old = if first == 1 { lane.args[0].clone() } else { own };
    let (Some(control), Some(rows), Some(banks), Some(bound)) =
        (number(1), number(2), number(3), number(4))
    else {
        return Value::Poison;
    };
    let (n, row, at) = (lane.number, lane.number & !15, lane.number & 15);
    if rows >> (n / 16 % 4) & 1 == 0 || banks >> (at / 4) & 1 == 0 {
        return old;
    }
    let in_row = |position: Option<u32>| position.filter(|&p| p < 16).map(|p| row | p);
    let by = control & 15;
    let from = match control {
        0..=0xff => Some(n & !3 | control >> (2 * (n & 3)) & 3),
        0x101..=0x10f => in_row(Some(at + by)),
        0x111..=0x11f => in_row(at.checked_sub(by)),
        0x121..=0x12f => in_row(Some((at + 16 - by) % 16)),
        0x130 => Some(n + 1).filter(|&n| n < width),
        0x134 => Some((n + 1) % width),
        0x138 => n.checked_sub(1),
        0x13c => Some((n + width - 1) % width),
        0x140 => Some(row | (15 - at)),
        0x141 => Some(row | at & 8 | (7 - (at & 7))),
        0x142 => row.checked_sub(1),
        0x143 => (n >= 32).then_some(31),
        0x150..=0x15f => Some(row | by),
        0x160..=0x16f => Some(row | at ^ by),
        _ => return Value::Poison,
    };
    match from.and_then(|from| source(from, first)) {
        Some(value) => value,
        None if bound == 1 => Value::Bits(0),
        None => old,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use phalanx_ir::{Context, Module};
    use std::sync::Arc;

    fn check(kind: Collective, width: u32, args: &[(u32, &[u128])], expected: &Expect) {
        let module = Module::new(Arc::new(Context::new()));
        let lanes: Vec<Lane> = args
            .iter()
            .map(|&(number, args)| Lane {
                number,
                args: args.iter().map(|&a| Value::Bits(a)).collect(),
            })
            .collect();
        let results = perform(kind, &Shapes::new(&module), &[Type::I32; 4], width, &lanes).unwrap();
        expected.assert_eq(&format!("{results:?}"));
    }

    #[test]
    fn lanes_are_pulled_from_the_wave_or_from_its_half() {
        let lanes: [(u32, &[u128]); 3] = [(5, &[20, 1]), (31, &[20, 2]), (37, &[20, 3])];
        check(Collective::Pull { lanes: 64 }, 64, &lanes, &expect!["[0x1, 0x1, 0x1]"]);
        check(Collective::Pull { lanes: 32 }, 64, &lanes, &expect!["[0x1, 0x1, 0x3]"]);
        // Lane 37 is in the other half.
        check(
            Collective::Pull { lanes: 32 },
            64,
            &[(5, &[148, 1]), (37, &[148, 3])],
            &expect!["[0x1, 0x3]"],
        );
        check(Collective::Pull { lanes: 64 }, 32, &lanes[..2], &expect!["[0x1, 0x1]"]);
    }

    #[test]
    fn ballots_have_bits_of_active_lanes() {
        check(
            Collective::Ballot,
            32,
            &[(0, &[1]), (3, &[0]), (5, &[1])],
            &expect!["[0x21, 0x21, 0x21]"],
        );
        check(Collective::Active, 32, &[(1, &[]), (2, &[])], &expect!["[0x6, 0x6]"]);
        check(
            Collective::All,
            32,
            &[(0, &[3, 1]), (1, &[3, 1]), (2, &[4, 0])],
            &expect!["[0x1, 0x1, 0x0]"],
        );
    }

    #[test]
    fn lanes_are_read_and_shuffled() {
        check(Collective::First, 32, &[(2, &[7]), (3, &[8])], &expect!["[0x7, 0x7]"]);
        check(Collective::ReadLane, 32, &[(2, &[7, 3]), (3, &[8, 3])], &expect!["[0x8, 0x8]"]);
        check(Collective::ReadLane, 32, &[(2, &[7, 0]), (3, &[8, 0])], &expect!["[0x7, 0x7]"]);
        let xor = Collective::Shuffle { mode: Shuffle::Xor, with_predicate: false };
        let mask = 0xffff_ffff;
        check(xor, 32, &[(0, &[mask, 5, 1, 31]), (1, &[mask, 6, 1, 31])], &expect!["[0x6, 0x5]"]);
        let down = Collective::Shuffle { mode: Shuffle::Down, with_predicate: true };
        check(
            down,
            32,
            &[(30, &[mask, 5, 1, 31]), (31, &[mask, 6, 1, 31])],
            &expect!["[[0x6, 0x1], [0x6, 0x0]]"],
        );
    }

    #[test]
    fn rows_shift() {
        // row_shr:1, all rows and banks, without and with a bound.
        let shift = |bound| [9, 7, 0x111, 15, 15, bound];
        let dpp = Collective::Dpp { keeps_old: true };
        let (keep, zero) = (shift(0), shift(1));
        check(dpp, 32, &[(15, &keep), (16, &keep), (17, &keep)], &expect!["[0x9, 0x9, 0x7]"]);
        check(dpp, 32, &[(15, &zero), (16, &zero), (17, &zero)], &expect!["[0x0, 0x0, 0x7]"]);
    }
}
