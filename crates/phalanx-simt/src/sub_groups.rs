//! Sub-group functions of OpenCL C: computes the result of each lane from the operands of all
//! lanes.
//!
//! ```text
//! sub_group_scan_exclusive_add(x)       // the sum over lower lanes
//! sub_group_clustered_reduce_max(x, 4)  // the maximum over each four lanes
//! sub_group_shuffle_xor(x, 1)           // the operand of the neighbour
//! ```
//!
//! The lanes are those that execute the function together, as for other
//! [collective](crate::collective) operations. If the specification leaves a result open, because
//! the lane to read is inactive, the reader gets its own operand.
//!
//! A ballot is four 32-bit numbers, the first lanes first. A query about a ballot ([`OfBallot`])
//! involves one thread only.
//!
//! Cost: O(lanes²) for scans and clusters, O(lanes) for the others.

use phalanx_ir::Type;

use crate::{
    collective::Lane,
    fault::FaultKind,
    float,
    intrinsic::{Reduce, reduce_all},
    ops,
    shape::{Shape, Shapes},
    value::{Value, mask},
};

/// An operation among the threads of a workgroup.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum WorkGroup {
    /// The sub-group function of that name, with threads as lanes.
    As(SubGroup),
    /// The operand of the thread whose local ids are the other arguments.
    Broadcast,
}

/// An operation among lanes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum SubGroup {
    /// Whether all numbers are not 0.
    All,
    /// Whether one is not 0.
    Any,
    /// Whether all are equal.
    AllEqual,
    /// Whether this is the first lane.
    Elect,
    /// The lanes whose number is not 0.
    Ballot,
    /// Combines the values of several lanes.
    Combine(Combine),
    /// The value of another lane.
    Read(From),
}

/// Combines the values of several lanes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Combine {
    pub(crate) op: Reduce,
    /// Whether numbers count as truth values: not 0 is true.
    pub(crate) is_logical: bool,
    pub(crate) over: Over,
}

/// The lanes that are combined.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Over {
    All,
    /// Lanes below.
    Before,
    /// Lanes below, and the lane itself.
    UpTo,
    /// Lanes of a cluster; the second argument is its size.
    Cluster,
    /// Lanes of a quad.
    Quad,
}

/// The lane that is read.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum From {
    /// The one that the second argument names.
    Index,
    Xor,
    Up,
    Down,
    /// The lane at this distance above, wrapping round.
    Rotate,
    /// The same within each cluster; the third argument is its size.
    RotateCluster,
    /// Lanes of two values, one after the other: `intel_sub_group_shuffle_up`.
    UpOfTwo,
    /// `intel_sub_group_shuffle_down`
    DownOfTwo,
    /// The lane of the own quad that the second argument names.
    OfQuad,
    /// The neighbour in the own quad: beside (0), below (1), across (2).
    QuadSwap,
}

/// A query about a ballot.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum OfBallot {
    /// The bit of the lane itself.
    Inverse,
    /// The bit that the second argument names.
    Extract,
    Count,
    /// The number of lanes up to this one, and below it.
    Inclusive,
    Exclusive,
    /// The first and the last lane.
    First,
    Last,
}

/// The results of the lanes, in the order of `lanes`, which are sorted by number.
pub(crate) fn perform(
    kind: SubGroup,
    shapes: &Shapes,
    types: &[Type],
    width: u32,
    lanes: &[Lane],
) -> Result<Vec<Value>, FaultKind> {
    let number = |lane: &Lane, at: usize| lane.args.get(at).and_then(Value::bits);
    let all = |value: Value| Ok(vec![value; lanes.len()]);
    let known: Option<Vec<u128>> = lanes.iter().map(|lane| number(lane, 0)).collect();
    let truth = |holds: &dyn Fn(&[u128]) -> bool| {
        known.as_deref().map_or(Value::Poison, |known| Value::Bits(holds(known).into()))
    };
    match kind {
        SubGroup::All => all(truth(&|known| known.iter().all(|&n| n != 0))),
        SubGroup::Any => all(truth(&|known| known.iter().any(|&n| n != 0))),
        SubGroup::AllEqual => all(truth(&|known| {
            let equal = |&n: &u128| match types.first().map(|&ty| shapes.of(ty)) {
                Some(Shape::Float(of)) => float::to_f64(*of, n) == float::to_f64(*of, known[0]),
                _ => n == known[0],
            };
            known.iter().all(equal)
        })),
        SubGroup::Elect => {
            Ok((0..lanes.len()).map(|at| Value::Bits(u128::from(at == 0))).collect())
        }
        SubGroup::Ballot => {
            let Some(known) = known else { return all(Value::Poison) };
            let named = lanes.iter().zip(known).filter(|(_, n)| *n != 0);
            let bits = named.fold(0u128, |bits, (lane, _)| bits | 1 << lane.number);
            all(four(bits))
        }
        SubGroup::Combine(combine) => {
            lanes.iter().map(|lane| self::combine(combine, shapes, types[0], lanes, lane)).collect()
        }
        SubGroup::Read(from) => {
            let at = |wanted: Option<u32>, arg: usize| {
                let found = wanted.and_then(|wanted| {
                    lanes.binary_search_by_key(&wanted, |lane| lane.number).ok()
                });
                found.and_then(|at| lanes[at].args.get(arg).cloned())
            };
            let read = |(place, lane): (usize, &Lane)| {
                let by = if matches!(from, From::UpOfTwo | From::DownOfTwo) { 2 } else { 1 };
                let Some(by) = number(lane, by).map(|by| by as u32) else { return Value::Poison };
                let (own, two) = (lane.number, own_or_next(from, lane.number, by, width));
                let found = match from {
                    From::Index => at(Some(by), 0),
                    From::Xor => at(Some(own ^ by), 0),
                    From::Up => at(own.checked_sub(by), 0),
                    From::Down => at(own.checked_add(by), 0),
                    From::Rotate => {
                        let count = lanes.len() as u64;
                        let to = (place as u64 + u64::from(by)) % count;
                        lanes[to as usize].args.first().cloned()
                    }
                    From::RotateCluster => match number(lane, 2) {
                        Some(count @ 1..) => {
                            let count = count as u32;
                            let first = own - own % count;
                            at(Some(first + own.wrapping_add(by) % count), 0)
                        }
                        _ => None,
                    },
                    From::UpOfTwo | From::DownOfTwo => at(Some(two.0), two.1),
                    From::OfQuad if by < 4 => at(Some(own / 4 * 4 + by), 0),
                    From::QuadSwap if by < 3 => at(Some(own ^ (by + 1)), 0),
                    From::OfQuad | From::QuadSwap => return Value::Poison,
                };
                found.or_else(|| lane.args.first().cloned()).unwrap_or(Value::Poison)
            };
            Ok(lanes.iter().enumerate().map(read).collect())
        }
    }
}

/// Which lane of which of two values is read, if they stand one after the other.
fn own_or_next(from: From, own: u32, by: u32, width: u32) -> (u32, usize) {
    match from {
        From::UpOfTwo => match own.checked_sub(by) {
            Some(at) => (at, 1),
            None => ((own + width).wrapping_sub(by), 0),
        },
        _ => match own.wrapping_add(by) {
            at if at < width => (at, 0),
            at => (at - width, 1),
        },
    }
}

/// The result of a combination for one lane.
fn combine(
    Combine { op, is_logical, over }: Combine,
    shapes: &Shapes,
    ty: Type,
    lanes: &[Lane],
    of: &Lane,
) -> Result<Value, FaultKind> {
    let cluster = match over {
        Over::Cluster => match of.args.get(1).and_then(Value::bits) {
            Some(count @ 1..) => count as u32,
            _ => return Ok(Value::Poison),
        },
        _ => 1,
    };
    let is_member = |lane: &&Lane| match over {
        Over::All => true,
        Over::Before => lane.number < of.number,
        Over::UpTo => lane.number <= of.number,
        Over::Cluster => lane.number / cluster == of.number / cluster,
        Over::Quad => lane.number / 4 == of.number / 4,
    };
    let value = |lane: &Lane| match lane.args.first() {
        Some(Value::Bits(bits)) if is_logical => Value::Bits(u128::from(*bits != 0)),
        Some(value) => value.clone(),
        None => Value::Poison,
    };
    let mut members = lanes.iter().filter(is_member).map(value).peekable();
    match members.peek() {
        Some(_) => reduce_all(op, shapes, ty, members),
        None if is_logical => Ok(Value::Bits(u128::from(op == Reduce::And))),
        None => identity(op, shapes, ty),
    }
}

/// The neutral element of an operation.
fn identity(op: Reduce, shapes: &Shapes, ty: Type) -> Result<Value, FaultKind> {
    if let Shape::Float(kind) = *shapes.of(ty) {
        return Ok(Value::Bits(float::from_f64(
            kind,
            match op {
                Reduce::FMul => 1.0,
                Reduce::FMax | Reduce::FMaximum => f64::NEG_INFINITY,
                Reduce::FMin | Reduce::FMinimum => f64::INFINITY,
                _ => 0.0,
            },
        )));
    }
    let bits = ops::int_bits(shapes, ty)?;
    Ok(Value::Bits(match op {
        Reduce::Mul => 1,
        Reduce::And | Reduce::UMin => mask(bits),
        Reduce::SMax => 1 << (bits - 1),
        Reduce::SMin => mask(bits - 1),
        _ => 0,
    }))
}

/// A set of lanes as a vector of four numbers.
pub(crate) fn four(bits: u128) -> Value {
    let part = |at: u32| Value::Bits(bits >> (32 * at) & mask(32));
    Value::Many([0, 1, 2, 3].map(part).into())
}

/// The result of a query about a ballot, for one thread.
pub(crate) fn of_ballot(asked: OfBallot, lane: u32, width: u32, args: &[Value]) -> Value {
    let parts = args.first().and_then(Value::elements).unwrap_or_default();
    let parts: Option<Vec<u128>> = parts.iter().map(Value::bits).collect();
    let Some(parts) = parts.filter(|parts| parts.len() == 4) else { return Value::Poison };
    let bits = (0..4).fold(0, |bits, at| bits | parts[at] << (32 * at)) & mask(width);
    let count = |bits: u128| Value::Bits(bits.count_ones().into());
    match asked {
        OfBallot::Inverse => Value::Bits(bits >> lane & 1),
        OfBallot::Extract => match args.get(1).and_then(Value::bits) {
            Some(at @ 0..128) => Value::Bits(bits >> at & 1),
            _ => Value::Poison,
        },
        OfBallot::Count => count(bits),
        OfBallot::Inclusive => count(bits & mask(lane + 1)),
        OfBallot::Exclusive => count(bits & !(u128::MAX << lane)),
        OfBallot::First | OfBallot::Last if bits == 0 => Value::Poison,
        OfBallot::First => Value::Bits(bits.trailing_zeros().into()),
        OfBallot::Last => Value::Bits((127 - bits.leading_zeros()).into()),
    }
}
