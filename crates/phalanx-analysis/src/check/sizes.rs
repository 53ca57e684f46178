//! Loops that step by the size of the workgroup, for any size.
//!
//! ```text
//! last = (n + size - 1) / size * size;
//! for (i = tid; i < last; i += size) barrier();       // tid < size
//! ```
//!
//! # Rule
//!
//! A counter begins with the thread's index along an axis, and each round adds the extent of the
//! workgroup along that axis. The counter is compared with a multiple of that extent by `i < bound`
//! or `i >= bound`. Then all threads of a round decide alike.
//!
//! # Why
//!
//! Let `d` be the extent and `t` the index, so `0 <= t < d`. In round `k` the counter is `t + k*d`.
//! If the bound is `m*d`, then `t + k*d < m*d` exactly if `k < m`, which does not depend on `t`.
//! With `<=`, `>`, `==` or `!=` the thread of index 0 can decide alone, so these are left out.
//!
//! `x / d * d` and `x - x % d` are multiples of `d`: always for unsigned operations, and for signed
//! ones if the product does not wrap (`nsw`). An unsigned multiple may be negative as a signed
//! number. A signed comparison `i < bound` is then false for each counter that has not wrapped, as
//! that is not negative.
//!
//! # Overflow
//!
//! If the sum is `nsw`, a counter that wraps is poison, and the branch is undefined. Without the
//! flag (C adds the unsigned `blockDim.x` to an `int`), counters of some threads can wrap in the
//! last round if the bound is less than `d` below the largest number. The answer is then
//! [`Rounds::UnlessWraps`], and the finding stays as a note.
//!
//! O(operations looked at), which are bounded.

use phalanx_ir::{InstId, Opcode, Value, inst::InstFlags};

use super::{
    Facts,
    sites::{integer, intrinsic},
    witness,
};

/// How many casts and loads of slots are looked through.
const STEPS: usize = 8;

/// Whether all threads of a workgroup make the same number of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounds {
    /// They do, or the branch is on poison.
    Same,
    /// They do if the counter does not wrap.
    UnlessWraps,
}

/// As which kind of number a value is a multiple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Multiple {
    /// As an unsigned number.
    Unsigned,
    /// As a signed number.
    Signed,
}

/// The value behind loads of slots that are written once.
pub(super) fn resolved(facts: Facts<'_>, value: Value) -> Value {
    let mut at = value;
    for _ in 0..STEPS {
        let Some(inst) = at.as_inst() else { return at };
        facts.reads_inst(inst);
        if facts.code.body.inst(inst).opcode != Opcode::Load {
            return at;
        }
        match witness::stored(facts, inst) {
            Some(stored) => at = stored,
            None => return at,
        }
    }
    at
}

/// The axis of a call of an intrinsic whose name begins with `prefix`, or of a library function.
fn axis_of(facts: Facts<'_>, value: Value, prefix: &str, function: &str) -> Option<usize> {
    let inst = resolved(facts, value).as_inst()?;
    if facts.code.body.inst(inst).opcode != Opcode::Call {
        return None;
    }
    let found = intrinsic(facts.code, inst)?;
    if found.base.strip_prefix("__ockl_").unwrap_or(found.base) == function {
        let axis = facts.code.body.call_args(inst).first().and_then(|&d| integer(facts.code, d));
        return axis.filter(|axis| *axis < 3).map(|axis| axis as usize);
    }
    let axis = found.base.strip_prefix(prefix)?;
    ["x", "y", "z"].iter().position(|name| *name == axis)
}

/// The axis along which a value is the thread's index in its workgroup.
pub(super) fn index_axis(facts: Facts<'_>, value: Value) -> Option<usize> {
    axis_of(facts, value, "read.ptx.sreg.tid.", "get_local_id")
}

/// Whether a value is the extent of the workgroup along an axis.
pub(super) fn is_size(facts: Facts<'_>, value: Value, axis: usize) -> bool {
    axis_of(facts, value, "read.ptx.sreg.ntid.", "get_local_size") == Some(axis)
}

/// Whether a value is a multiple of the extent of the workgroup along an axis.
pub(super) fn multiple(facts: Facts<'_>, value: Value, axis: usize) -> Option<Multiple> {
    let inst = resolved(facts, value).as_inst()?;
    let data = facts.code.body.inst(inst);
    let has_nsw = data.flags.contains(InstFlags::NSW);
    let divided = |value: Value, by: [Opcode; 2]| -> Option<(InstId, Multiple)> {
        let inst = resolved(facts, value).as_inst()?;
        let opcode = facts.code.body.inst(inst).opcode;
        let kind = match by.iter().position(|of| *of == opcode)? {
            0 => Multiple::Unsigned,
            _ => Multiple::Signed,
        };
        is_size(facts, facts.code.body.operands(inst)[1], axis).then_some((inst, kind))
    };
    match data.opcode {
        Opcode::Mul => {
            let &[left, right] = facts.code.body.operands(inst) else { return None };
            let quotient = match is_size(facts, right, axis) {
                true => left,
                false if is_size(facts, left, axis) => right,
                false => return None,
            };
            let by = [Opcode::UDiv, Opcode::SDiv];
            match divided(quotient, by) {
                Some((_, Multiple::Unsigned)) => Some(Multiple::Unsigned),
                _ => has_nsw.then_some(Multiple::Signed),
            }
        }
        Opcode::Sub => {
            let &[whole, rest] = facts.code.body.operands(inst) else { return None };
            let (rest, kind) = divided(rest, [Opcode::URem, Opcode::SRem])?;
            let is_its_own =
                resolved(facts, facts.code.body.operands(rest)[0]) == resolved(facts, whole);
            // The remainder has the sign of the number and is not larger, so nothing wraps.
            is_its_own.then_some(kind)
        }
        _ => None,
    }
}
