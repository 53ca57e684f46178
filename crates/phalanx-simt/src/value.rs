//! The values that a thread computes with.

use std::{fmt, sync::Arc};

/// A value of any type; the type determines the meaning of its bits.
///
/// By default the interpreter chooses bits for `undef` and frozen values, which the language
/// allows. A program may instead keep them unknown: see [`unknown`](crate::unknown).
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub enum Value {
    /// Nothing: the result of an instruction without one, or an instruction that was not executed
    /// yet.
    #[default]
    Unit,
    /// The result of an operation whose rules were broken.
    Poison,
    /// Any bits, others at each use. Only if the program follows `undef`.
    Undef,
    /// Some unknown bits, the same at each use. Only if the program follows `undef`.
    Frozen,
    /// An integer, a floating-point number in its own format, or an address. Bits above the width
    /// are zero.
    Bits(u128),
    /// Lanes of a vector, elements of an array, members of a structure.
    Many(Arc<[Value]>),
}

impl Value {
    /// `i1 true` or `i1 false`
    #[must_use]
    pub fn bool(value: bool) -> Value {
        Value::Bits(value.into())
    }

    /// A `float`.
    #[must_use]
    pub fn f32(value: f32) -> Value {
        Value::Bits(value.to_bits().into())
    }

    /// A `double`.
    #[must_use]
    pub fn f64(value: f64) -> Value {
        Value::Bits(value.to_bits().into())
    }

    /// The bits of a scalar; none for poison and for anything else that has none.
    #[inline]
    #[must_use]
    pub fn bits(&self) -> Option<u128> {
        match self {
            Value::Bits(bits) => Some(*bits),
            _ => None,
        }
    }

    /// Elements of an aggregate or vector.
    #[must_use]
    pub fn elements(&self) -> Option<&[Value]> {
        match self {
            Value::Many(elements) => Some(elements),
            _ => None,
        }
    }

    /// Element `index`; poison of poison.
    #[must_use]
    pub fn element(&self, index: usize) -> Value {
        match self {
            Value::Many(elements) => elements.get(index).cloned().unwrap_or(Value::Poison),
            Value::Undef => Value::Undef,
            Value::Frozen => Value::Frozen,
            _ => Value::Poison,
        }
    }

    /// Whether any part is poison.
    #[must_use]
    pub fn has_poison(&self) -> bool {
        let mut pending = vec![self];
        while let Some(value) = pending.pop() {
            match value {
                Value::Poison => return true,
                Value::Many(elements) => pending.extend(elements.iter()),
                Value::Unit | Value::Undef | Value::Frozen | Value::Bits(_) => {}
            }
        }
        false
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Unit => f.write_str("()"),
            Value::Poison => f.write_str("poison"),
            Value::Undef => f.write_str("undef"),
            Value::Frozen => f.write_str("frozen"),
            Value::Bits(bits) => write!(f, "{bits:#x}"),
            Value::Many(elements) => f.debug_list().entries(elements.iter()).finish(),
        }
    }
}

/// The low `bits` bits.
#[inline]
#[must_use]
pub fn mask(bits: u32) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

/// A number of `bits` bits, with its sign.
#[inline]
#[must_use]
pub fn signed(value: u128, bits: u32) -> i128 {
    let unused = 128 - bits.min(128);
    ((value << unused) as i128) >> unused
}
