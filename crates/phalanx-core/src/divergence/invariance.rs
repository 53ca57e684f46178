//! Which values cannot change while a thread stays inside a cycle.
//!
//! **Definition.** A value is *invariant* in a cycle when it is a pure function of values that are
//! defined outside of it: no matter in which iteration it was computed, it is the same. A phi
//! counts when it selects nothing, that is, when all its incoming values are known to be one.
//!
//! **Use.** Threads that leave a cycle in different iterations hold the same value of something
//! invariant, so such a use is not temporally divergent; and threads that run apart in an
//! irreducible cycle compute the same value of it.
//!
//! **Representation.** Invariance in a cycle implies invariance in the cycles nested in it. So one
//! number per value suffices: the least depth of a cycle around the definition in which it is
//! invariant. An operand that is defined outside some of these cycles matters only to those that
//! contain it too:
//!
//! ```text
//!   least(v) = max over operands o of  min(least(o), 1 + depth of the smallest cycle around both)
//!   least(v) = infinite when v is not pure
//! ```
//!
//! The least solution is found by a worklist that starts at what is not pure; every value is raised
//! at most as often as cycles are nested around it.

use phalanx_graph::{CycleId, Cycles, Node};

use crate::affect::{User, UserKind, Value};
use crate::divergence::ValueTable;

/// Variant in every cycle.
const NEVER: u32 = u32::MAX;

/// Invariance of all values and terminators of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invariance {
    /// Least depth by value.
    values: Vec<u32>,
    /// Least depth by block.
    terminators: Vec<u32>,
}

impl Invariance {
    /// Computes it.
    pub(crate) fn new(cycles: &Cycles, table: &ValueTable) -> Self {
        let mut found =
            Self { values: vec![0; table.len()], terminators: vec![0; table.block_count()] };
        let mut work = Vec::new();
        for value in table.values() {
            if cycles.innermost(table.block(value)).is_some()
                && !table.is_pure(value)
                && !table.is_phi(value)
            {
                found.values[value.index()] = NEVER;
                work.push(value);
            }
        }
        for phi in table.all_phis() {
            if phi.is_joinable && cycles.innermost(table.block(phi.value)).is_some() {
                found.values[phi.value.index()] = NEVER;
                work.push(phi.value);
            }
        }
        while let Some(value) = work.pop() {
            let least = found.values[value.index()];
            for &user in table.affects().users(value) {
                if let Some(user) = found.raise(cycles, table, value, user, least) {
                    work.push(user);
                }
            }
        }
        found
    }

    /// Lets a user see what an operand has become. The user, if it changes and has users itself.
    fn raise(
        &mut self,
        cycles: &Cycles,
        table: &ValueTable,
        value: Value,
        user: User,
        least: u32,
    ) -> Option<Value> {
        let (block, next) = match user.kind() {
            UserKind::Value(user) => (table.block(user), Some(user)),
            UserKind::Terminator(block) => (block, None),
        };
        let known = match next {
            Some(user) => &mut self.values[user.index()],
            None => &mut self.terminators[block.index()],
        };
        if *known >= least {
            return None;
        }
        let common = match table.block(value) == block {
            true => cycles.innermost(block)?,
            false => cycles.common(table.block(value), block)?,
        };
        let seen = least.min(cycles.depth(common) + 1);
        if *known >= seen {
            return None;
        }
        *known = seen;
        next
    }

    /// Whether a value keeps its value while a thread stays in the cycle.
    pub(crate) fn is_invariant(
        &self,
        cycles: &Cycles,
        table: &ValueTable,
        value: Value,
        cycle: CycleId,
    ) -> bool {
        !cycles.contains(cycle, table.block(value))
            || self.values[value.index()] <= cycles.depth(cycle)
    }

    /// Whether the terminator of a block of the cycle goes the same way each time while a thread
    /// stays in the cycle.
    pub(crate) fn is_invariant_terminator(
        &self,
        cycles: &Cycles,
        block: Node,
        cycle: CycleId,
    ) -> bool {
        self.terminators[block.index()] <= cycles.depth(cycle)
    }

    /// Whether a use outside some cycles around the definition sees the same value in whatever
    /// iterations of them the value was computed.
    pub(crate) fn survives(
        &self,
        cycles: &Cycles,
        table: &ValueTable,
        value: Value,
        place: Node,
    ) -> bool {
        let Some(inner) = cycles.innermost(table.block(value)) else { return true };
        match cycles.outermost_without(inner, place) {
            Some(left) => self.is_invariant(cycles, table, value, left),
            None => true,
        }
    }
}
