//! What is not known of values and of bytes: poison, `undef`, and what was frozen of them.
//!
//! A launch can be an *example* or a *bound*. As an example, which is what `phalanx run` does,
//! `undef`, memory that nobody wrote and frozen poison are bits that somebody chose; poison alone
//! is followed. As a bound, after [`Program::follow_undef`](crate::Program::follow_undef), they are
//! followed as well, so that one launch says what all examples have in common. Then a value is one
//! of these, from the best to the worst:
//!
//! | value | stands for | to branch on it |
//! |---|---|---|
//! | `Bits` | these bits | goes one way |
//! | `Frozen` | some bits, the same at each use | goes some way |
//! | `Undef` | any bits, others at each use | is undefined behaviour |
//! | `Poison` | poison | is undefined behaviour |
//!
//! What an operation makes of such operands is as bad as the worst of them, unless the other
//! operand decides (`and i32 %u, 0` is 0), and poison where it could be poison for some bits: `shl
//! i32 1, undef` is poison. So a value is never better than in an example, and an example that
//! differs from what is known here is none of that program. What is lost is how values hang
//! together: `and i32 undef, 1` may be 7 here.
//!
//! `Frozen` needs [`Launch::follow_frozen`](crate::Launch::follow_frozen); otherwise freezing
//! chooses bits. A branch on it goes a way that the launch chooses, place by place, so one launch
//! is a bound of some examples only.
//!
//! Invariant: programs that follow nothing have neither `Undef` nor `Frozen`, in values or in
//! memory.

use crate::value::Value;

/// What is known of a byte in memory, from the best to the worst.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum State {
    /// It is the byte that is there.
    #[default]
    Defined,
    /// It is a part of what was frozen.
    Frozen,
    /// It is any byte, another each time it is read.
    Undef,
    /// It is poison.
    Poison,
}

impl State {
    /// What the bytes of a value are of which nothing is known; none for other values.
    pub(crate) fn of(value: &Value) -> Option<State> {
        match value {
            Value::Frozen => Some(State::Frozen),
            Value::Undef => Some(State::Undef),
            Value::Poison => Some(State::Poison),
            Value::Unit | Value::Bits(_) | Value::Many(_) => None,
        }
    }

    /// The value of a number that has these bytes, if it is not known.
    #[inline]
    pub(crate) fn of_all(states: &[State]) -> Option<Value> {
        match states.iter().max() {
            Some(State::Frozen) => Some(Value::Frozen),
            Some(State::Undef) => Some(Value::Undef),
            Some(State::Poison) => Some(Value::Poison),
            Some(State::Defined) | None => None,
        }
    }

    /// Whether a byte that was this may become that: bits stay, and what is frozen stays no worse.
    ///
    /// Bytes that are both defined have to be equal, which is the caller's business.
    #[must_use]
    pub fn may_become(self, after: State) -> bool {
        after <= self
    }
}

/// What becomes of poison and `undef` that are frozen.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Frozen {
    /// These bits, cut to the type.
    Bits(u128),
    /// Something that is followed; branches on it go ways that follow from this number.
    Followed(u64),
}

/// One of so many ways, which follows from a number and a place. The first numbers give one and the
/// same everywhere.
pub(crate) fn way(seed: u64, place: u64, ways: u64) -> u64 {
    if seed < 4 {
        return seed % ways;
    }
    let mixed =
        (seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 33) % ways
}

/// What an operation makes of operands, not all of which are bits, where nothing better is known.
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

/// One of two values, which are equal or of which nobody knows which one it is.
///
/// `condition` is what it hangs on: `undef` chooses anew at each use.
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
