//! Unknown values and bytes: poison, `undef`, and values frozen from them.
//!
//! A launch can be an *example* or a *bound*. As an example, which is what `phalanx run` does, the
//! interpreter chooses bits for `undef`, unwritten memory and frozen poison, and tracks only
//! poison. As a bound, after [`Program::follow_undef`](crate::Program::follow_undef), it tracks
//! these as well, so that one launch says what all examples have in common. Then a value is one of
//! these, from the best to the worst:
//!
//! | value | stands for | to branch on it |
//! |---|---|---|
//! | `Bits` | these bits | takes one edge |
//! | `Frozen` | some bits, the same at each use | takes some edge |
//! | `Undef` | any bits, others at each use | is undefined behaviour |
//! | `Poison` | poison | is undefined behaviour |
//!
//! The result of an operation is as bad as its worst operand, unless the other operand decides
//! (`and i32 %u, 0` is 0). It is poison if it could be poison for some bits: `shl i32 1, undef` is
//! poison. So a value is never better than in an example: an example that contradicts a value known
//! here cannot occur. What is lost is how values depend on each other: `and i32 undef, 1` may be 7
//! here.
//!
//! `Frozen` needs [`Launch::follow_frozen`](crate::Launch::follow_frozen); otherwise freezing
//! chooses bits. A branch on a frozen value takes an edge that the launch chooses, place by place,
//! so one launch is a bound of only some examples.
//!
//! Invariant: without `follow_undef`, neither values nor memory contain `Undef` or `Frozen`.

use crate::value::Value;

/// The state of a byte in memory, from the best to the worst.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum State {
    /// The byte is known.
    #[default]
    Defined,
    /// A part of a frozen value.
    Frozen,
    /// Any byte, another one at each read.
    Undef,
    /// It is poison.
    Poison,
}

impl State {
    /// The state of the bytes of an unknown value; none for other values.
    pub(crate) fn of(value: &Value) -> Option<State> {
        match value {
            Value::Frozen => Some(State::Frozen),
            Value::Undef => Some(State::Undef),
            Value::Poison => Some(State::Poison),
            Value::Unit | Value::Bits(_) | Value::Many(_) => None,
        }
    }

    /// The unknown value with these bytes; none if all are known.
    #[inline]
    pub(crate) fn of_all(states: &[State]) -> Option<Value> {
        match states.iter().max() {
            Some(State::Frozen) => Some(Value::Frozen),
            Some(State::Undef) => Some(Value::Undef),
            Some(State::Poison) => Some(Value::Poison),
            Some(State::Defined) | None => None,
        }
    }

    /// Whether a byte may change from this state to that: a known byte stays known, and a frozen
    /// one gets no worse.
    ///
    /// If both are known, the caller has to check that the bytes are equal.
    #[must_use]
    pub fn may_become(self, after: State) -> bool {
        after <= self
    }
}

/// The result of freezing poison and `undef`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Frozen {
    /// These bits, cut to the type.
    Bits(u128),
    /// An unknown value; branches on it take edges that depend on this number.
    Followed(u64),
}

/// One of `ways` edges, chosen by a number and a place. The first numbers choose the same edge
/// everywhere.
pub(crate) fn way(seed: u64, place: u64, ways: u64) -> u64 {
    if seed < 4 {
        return seed % ways;
    }
    let mixed =
        (seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 33) % ways
}

/// The result of an operation with unknown operands, if nothing better is known.
pub(crate) fn worst<'v>(operands: impl IntoIterator<Item = &'v Value>) -> Value {
    let mut found = State::Defined;
    let mut pending: Vec<&Value> = operands.into_iter().collect();
    while let Some(value) = pending.pop() {
        match value {
            Value::Many(parts) => pending.extend(parts.iter()),
            Value::Unit => found = State::Poison,
            other => found = found.max(State::of(other).unwrap_or_default()),
        }
    }
    State::of_all(&[found]).unwrap_or(Value::Poison)
}

/// Whether a part of a value is `undef` or frozen.
#[inline]
pub(crate) fn is_followed(value: &Value) -> bool {
    match value {
        Value::Undef | Value::Frozen => true,
        Value::Unit | Value::Poison | Value::Bits(_) => false,
        Value::Many(parts) => has_followed(parts),
    }
}

fn has_followed(parts: &[Value]) -> bool {
    let mut pending: Vec<&Value> = parts.iter().collect();
    while let Some(value) = pending.pop() {
        match value {
            Value::Undef | Value::Frozen => return true,
            Value::Many(parts) => pending.extend(parts.iter()),
            Value::Unit | Value::Poison | Value::Bits(_) => {}
        }
    }
    false
}

/// Whether a part of a value is `undef` or poison: what `noundef` forbids.
pub(crate) fn is_undefined(value: &Value) -> bool {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Undef | Value::Poison => return true,
            Value::Many(parts) => pending.extend(parts.iter()),
            Value::Unit | Value::Frozen | Value::Bits(_) => {}
        }
    }
    false
}

/// One of two values, if they are equal or it is unknown which one it is.
///
/// `condition` decides between them: an `undef` condition chooses anew at each use.
pub(crate) fn either(condition: &Value, yes: &Value, no: &Value) -> Value {
    match (yes, no) {
        (Value::Many(left), Value::Many(right)) if left.len() == right.len() => {
            // Vectors, and structures of numbers: no deeper than types nest.
            let lane = |(yes, no): (&Value, &Value)| either(condition, yes, no);
            Value::Many(left.iter().zip(right.iter()).map(lane).collect())
        }
        (Value::Bits(left), Value::Bits(right)) if left == right => yes.clone(),
        _ => worst([condition, yes, no]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_gets_worse() {
        let (bits, undef, frozen) = (Value::Bits(1), Value::Undef, Value::Frozen);
        assert_eq!(worst([&bits, &frozen, &undef]), Value::Undef);
        assert_eq!(worst([&bits, &frozen]), Value::Frozen);
        assert_eq!(worst([&undef, &Value::Poison]), Value::Poison);
        assert_eq!(either(&undef, &bits, &bits), bits);
        assert_eq!(either(&frozen, &bits, &Value::Bits(2)), Value::Frozen);
        let lanes = |a: Value, b: Value| Value::Many([a, b].into());
        assert_eq!(
            either(
                &frozen,
                &lanes(bits.clone(), undef.clone()),
                &lanes(bits.clone(), bits.clone())
            ),
            lanes(bits.clone(), undef.clone())
        );
        assert!(is_undefined(&lanes(bits.clone(), undef)) && !is_undefined(&lanes(bits, frozen)));
    }

    #[test]
    fn bytes_become_better() {
        use State::{Defined, Frozen, Poison, Undef};
        assert!(Poison.may_become(Undef) && Undef.may_become(Frozen) && Frozen.may_become(Defined));
        assert!(!Undef.may_become(Poison) && !Defined.may_become(Frozen));
        assert_eq!(State::of_all(&[Defined, Undef]), Some(Value::Undef));
        assert_eq!(State::of_all(&[Defined]), None);
    }
}
