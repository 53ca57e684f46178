//! Which values change from one iteration of a cycle to the next, repaired.
//!
//! As [`crate::divergence::invariance`], with facts that can be retracted: bit `d` of a value says that it varies in the
//! cycle of depth `d + 1` around its definition. A value that varies in a cycle varies in all around it, so what a user
//! sees of an operand are the bits of the cycles that contain both.
//!
//! Depths do not interact. So there is a set of facts for the first 16 of them, one for the next 16, and so on, as many as the
//! deepest cycle needs.

use phalanx_graph::{CycleId, Cycles, Node};
use smallvec::SmallVec;

use super::engine::{Engine, GivenUp, Rules};
use super::facts::{Facts, Subject, Subjects};
use super::table::EditableTable;
use crate::affect::{User, UserKind, Value};

/// How many facts there may be: so many per value in any function, and so many whatever the number of values.
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
    facts: Facts,
    engine: Engine,
}

impl Levels {
    /// Whether cycles are not nested too deep for so many values.
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
        bounds: (usize, usize),
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
            visited += band.repair(cycles, table, changed, bounds, &mut found)?;
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
            || band.facts.values.get(value.raw()) >> (depth % PER_BAND) & 1 == 0
    }

    /// Whether a use outside some cycles around the definition sees the same value in whatever iterations
    /// of them the value was computed.
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
        let mut band = Self { above, facts: Facts::default(), engine: Engine::new() };
        band.engine.grow(&mut band.facts, table.len(), 0);
        let Self { above, facts, engine } = &mut band;
        let mut rules = LevelRules { above: *above, cycles, table, facts, work: 0 };
        for value in 0..table.len() as u32 {
            let bits = rules.axiom(Value::from_raw(value));
            if bits != 0 {
                engine.add(&mut rules, Subject::Value(value), bits);
            }
        }
        // Without bounds nothing is given up.
        let _ = engine.run(&mut rules);
        band
    }

    fn repair(
        &mut self,
        cycles: &Cycles,
        table: &EditableTable,
        changed: &[Subject],
        bounds: (usize, usize),
        found: &mut Values,
    ) -> Result<usize, GivenUp> {
        self.engine.grow(&mut self.facts, table.len(), 0);
        self.engine.keep_before(true);
        self.engine.bounds = bounds;
        let facts = &mut self.facts;
        let mut rules = LevelRules { above: self.above, cycles, table, facts, work: 0 };
        self.engine.repair(&mut rules, changed)?;
        for &(subject, bits) in self.engine.before() {
            if let Subject::Value(value) = subject
                && self.facts.get(subject) != bits
            {
                found.push(Value::from_raw(value));
            }
        }
        Ok(self.engine.visited)
    }
}

struct LevelRules<'r> {
    /// The depth before the first that has a bit.
    above: u32,
    cycles: &'r Cycles,
    table: &'r EditableTable,
    facts: &'r mut Facts,
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
    fn facts(&self) -> &Facts {
        self.facts
    }

    fn facts_mut(&mut self) -> &mut Facts {
        self.facts
    }

    fn supported(&mut self, subject: Subject, want: u16, limit: u32) -> u16 {
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
            let bits = self.facts.values.below(operand.raw(), limit) & want;
            if bits & !found != 0 {
                found |= bits & self.seen(operand, block);
            }
        }
        found
    }

    fn consequences(&mut self, of: Subject, bits: u16, to: &mut Vec<(Subject, u16)>) {
        let Subject::Value(value) = of else { return };
        let value = Value::from_raw(value);
        let before = to.len();
        self.table.each_user(value, |user| {
            if let UserKind::Value(user) = user.kind() {
                let bits = bits & self.seen(value, self.table.block(user));
                if bits != 0 {
                    to.push((Subject::Value(user.raw()), bits));
                }
            }
        });
        self.work += to.len() - before;
    }

    fn work(&self) -> usize {
        self.work
    }
}
