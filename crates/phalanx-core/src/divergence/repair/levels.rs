//! Which values change from one iteration of a cycle to the next, repaired.
//!
//! As [`crate::divergence::invariance`], with facts that can be retracted: bit `d` of a value says
//! that it varies in the cycle of depth `d + 1` around its definition. A value that varies in a
//! cycle varies in all around it, so what a user sees of an operand are the bits of the cycles that
//! contain both.
//!
//! Depths do not interact. So there is a set of facts for the first 16 of them, one for the next
//! 16, and so on, as many as the deepest cycle needs.

use std::ops::ControlFlow;

use phalanx_fixpoint::{Fixpoint, Limits, Ranks, Rules, Update};
use phalanx_graph::{CycleId, Cycles, Node};
use smallvec::SmallVec;

use super::state::GivenUp;
use super::subject::{Known, Solution, Subject, Subjects};
use super::table::EditableTable;
use crate::affect::{User, UserKind, Value};

/// Limits on the number of facts: a function may have up to `PER_VALUE` facts per value, or up to
/// `ANYWAY` facts in total.
const PER_VALUE: usize = 256;
const ANYWAY: usize = 1 << 26;

/// A few values.
pub(super) type Values = SmallVec<[Value; 8]>;

/// Depths that have bits in one set of facts.
const PER_BAND: u32 = 16;

/// Variance of all values.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    bands: Vec<Band>,
}

/// Some depths.
#[derive(Clone, Debug)]
struct Band {
    /// The depth before the first.
    above: u32,
    varied: Solution,
}

impl Levels {
    /// Whether cycles are not nested too deeply for this number of values.
    pub(super) fn is_possible(cycles: &Cycles, values: usize) -> bool {
        let deepest = deepest(cycles) as usize;
        deepest <= PER_VALUE || deepest.saturating_mul(values) <= ANYWAY
    }

    /// Computes it. It must be [possible](Self::is_possible).
    pub(super) fn new(cycles: &Cycles, table: &EditableTable) -> Self {
        let mut levels = Self { bands: Vec::new() };
        levels.deepen(cycles, table);
        levels
    }

    /// Adds facts for cycles that are deeper than any before.
    pub(super) fn deepen(&mut self, cycles: &Cycles, table: &EditableTable) {
        let deepest = deepest(cycles);
        while (self.bands.len() as u32) * PER_BAND < deepest {
            self.bands.push(Band::new(self.bands.len() as u32 * PER_BAND, cycles, table));
        }
    }

    /// Follows edits; returns the values that vary otherwise than before.
    pub(super) fn repair(
        &mut self,
        cycles: &Cycles,
        table: &EditableTable,
        changed: &[Subject],
        limits: Limits,
    ) -> Result<(Values, usize), GivenUp> {
        let is_value = |subject: &Subject| matches!(subject, Subject::Value(_));
        let values: Subjects;
        let changed = if changed.iter().all(is_value) {
            changed
        } else {
            values = changed.iter().filter(|subject| is_value(subject)).copied().collect();
            &values
        };
        let mut found = Values::new();
        let mut visited = 0;
        for band in &mut self.bands {
            visited += band.repair(cycles, table, changed, limits, &mut found)?;
        }
        found.sort_unstable();
        found.dedup();
        Ok((found, visited))
    }

    /// Whether a value keeps its value while a thread stays in a cycle.
    pub(super) fn is_invariant(
        &self,
        cycles: &Cycles,
        table: &EditableTable,
        value: Value,
        cycle: CycleId,
    ) -> bool {
        let depth = cycles.depth(cycle) - 1;
        let band = &self.bands[(depth / PER_BAND) as usize];
        !cycles.contains(cycle, table.block(value))
            || band.varied.get(Subject::Value(value.raw())) >> (depth % PER_BAND) & 1 == 0
    }

    /// Whether a use outside some cycles around the definition sees the same value in whatever
    /// iterations of them the value was computed.
    pub(super) fn survives(
        &self,
        cycles: &Cycles,
        table: &EditableTable,
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

fn deepest(cycles: &Cycles) -> u32 {
    cycles.iter().map(|cycle| cycles.depth(cycle)).max().unwrap_or(0)
}

impl Band {
    fn new(above: u32, cycles: &Cycles, table: &EditableTable) -> Self {
        let mut varied = Fixpoint::new(Ranks::Kept);
        varied.grow(Subject::VALUES, table.len());
        let mut rules = LevelRules { above, cycles, table, work: 0 };
        let values = (0..table.len() as u32).map(Subject::Value);
        // Without limits nothing is too much.
        let _ = varied.solve(&mut rules, values, Limits::NONE);
        Self { above, varied }
    }

    fn repair(
        &mut self,
        cycles: &Cycles,
        table: &EditableTable,
        changed: &[Subject],
        limits: Limits,
        found: &mut Values,
    ) -> Result<usize, GivenUp> {
        let mut rules = LevelRules { above: self.above, cycles, table, work: 0 };
        if self.varied.repair(&mut rules, changed, limits) == Update::TooMuch {
            return Err(GivenUp);
        }
        found.extend(self.varied.changes().iter().filter_map(|change| match change.subject {
            Subject::Value(value) => Some(Value::from_raw(value)),
            Subject::Branch(_) | Subject::Control(_) => None,
        }));
        Ok(self.varied.visited())
    }
}

struct LevelRules<'r> {
    /// The depth before the first that has a bit.
    above: u32,
    cycles: &'r Cycles,
    table: &'r EditableTable,
    work: usize,
}

impl LevelRules<'_> {
    /// Bits of the cycles around a place up to a depth.
    fn up_to(&self, depth: u32) -> u16 {
        ((1u32 << depth.saturating_sub(self.above).min(PER_BAND)) - 1) as u16
    }

    /// What is no function of its operands, or selects, varies in all cycles around it.
    fn axiom(&self, value: Value) -> u16 {
        let varies = match self.table.is_phi(value) {
            true => self.table.is_joinable(value),
            false => !self.table.is_pure(value),
        };
        match self.cycles.innermost(self.table.block(value)) {
            Some(cycle) if varies => self.up_to(self.cycles.depth(cycle)),
            _ => 0,
        }
    }

    /// The bits of an operand that a user in a block sees.
    fn seen(&self, value: Value, block: Node) -> u16 {
        let common = self.cycles.common(self.table.block(value), block);
        common.map_or(0, |cycle| self.up_to(self.cycles.depth(cycle)))
    }
}

impl Rules for LevelRules<'_> {
    type Subject = Subject;
    type Bits = u16;
    type Step = ();

    fn seed(&mut self, of: Subject) -> u16 {
        match of {
            Subject::Value(value) => self.axiom(Value::from_raw(value)),
            Subject::Branch(_) | Subject::Control(_) => 0,
        }
    }

    fn supported(&mut self, subject: Subject, want: u16, known: Known<'_>) -> u16 {
        let Subject::Value(value) = subject else { return 0 };
        let value = Value::from_raw(value);
        let mut found = self.axiom(value) & want;
        let block = self.table.block(value);
        if self.cycles.innermost(block).is_none() {
            return found;
        }
        for &operand in self.table.operands(User::value(value)) {
            if found == want {
                break;
            }
            self.work += 1;
            let bits = known.get(Subject::Value(operand.raw())) & want;
            if bits & !found != 0 {
                found |= bits & self.seen(operand, block);
            }
        }
        found
    }

    fn gives(
        &mut self,
        of: Subject,
        bits: u16,
        _: Known<'_>,
        tell: &mut impl FnMut(Subject, u16, ()) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Subject::Value(value) = of else { return ControlFlow::Continue(()) };
        let value = Value::from_raw(value);
        let (mut told, mut told_on) = (0, ControlFlow::Continue(()));
        self.table.each_user(value, |user| {
            if let UserKind::Value(user) = user.kind() {
                let bits = bits & self.seen(value, self.table.block(user));
                if bits != 0 && told_on.is_continue() {
                    told += 1;
                    told_on = tell(Subject::Value(user.raw()), bits, ());
                }
            }
        });
        self.work += told;
        told_on
    }

    fn work(&self) -> usize {
        self.work
    }
}
