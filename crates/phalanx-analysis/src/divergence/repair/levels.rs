//! Which values change from one iteration of a cycle to the next, repaired.
//!
//! As [`crate::divergence::invariance`], with facts that can be retracted: bit `d` of a value says that it varies in the
//! cycle of depth `d + 1` around its definition. A value that varies in a cycle varies in all around it, so what a user
//! sees of an operand are the bits of the cycles that contain both.

use phalanx_graph::{CycleId, Cycles, Node};

use super::engine::{Engine, GivenUp, Rules};
use super::facts::{Facts, Subject};
use super::table::EditableTable;
use crate::affect::{User, UserKind, Value};

/// Cycles nested deeper than this have no bit.
pub(super) const DEEPEST: u32 = 16;

/// Variance of all values.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    pub(super) facts: Facts,
    engine: Engine,
}

impl Levels {
    /// Computes it.
    pub(super) fn new(cycles: &Cycles, table: &EditableTable) -> Self {
        let mut levels = Self { facts: Facts::default(), engine: Engine::new() };
        levels.engine.grow(&mut levels.facts, table.len(), 0);
        let Self { facts, engine } = &mut levels;
        let mut rules = LevelRules { cycles, table, facts, work: 0 };
        for value in 0..table.len() as u32 {
            let bits = rules.axiom(Value::from_raw(value));
            if bits != 0 {
                engine.add(&mut rules, Subject::Value(value), bits);
            }
        }
        // Without bounds nothing is given up.
        let _ = engine.run(&mut rules);
        levels
    }

    /// Follows edits; returns the values that vary otherwise than before.
    pub(super) fn repair(
        &mut self,
        cycles: &Cycles,
        table: &EditableTable,
        changed: &[Subject],
        bounds: (usize, usize),
    ) -> Result<(Vec<Value>, usize), GivenUp> {
        self.engine.grow(&mut self.facts, table.len(), 0);
        self.engine.before = Some(rustc_hash::FxHashMap::default());
        self.engine.bounds = bounds;
        let mut rules = LevelRules { cycles, table, facts: &mut self.facts, work: 0 };
        let values = |subject: &&Subject| matches!(subject, Subject::Value(_));
        let changed: Vec<Subject> = changed.iter().filter(values).copied().collect();
        self.engine.repair(&mut rules, &changed)?;
        let before = self.engine.before.take().unwrap_or_default();
        let mut found: Vec<Value> = Vec::new();
        for (subject, bits) in before {
            if let Subject::Value(value) = subject
                && self.facts.get(subject) != bits
            {
                found.push(Value::from_raw(value));
            }
        }
        found.sort_unstable();
        Ok((found, self.engine.visited))
    }

    /// Whether a value keeps its value while a thread stays in a cycle.
    pub(super) fn is_invariant(
        &self,
        cycles: &Cycles,
        table: &EditableTable,
        value: Value,
        cycle: CycleId,
    ) -> bool {
        !cycles.contains(cycle, table.block(value))
            || self.facts.values.get(value.raw()) >> (cycles.depth(cycle) - 1) & 1 == 0
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

/// Bits of the cycles around a place up to a depth.
fn up_to(depth: u32) -> u16 {
    ((1u32 << depth.min(DEEPEST)) - 1) as u16
}

struct LevelRules<'r> {
    cycles: &'r Cycles,
    table: &'r EditableTable,
    facts: &'r mut Facts,
    work: usize,
}

impl LevelRules<'_> {
    /// What is no function of its operands, or selects, varies in all cycles around it.
    fn axiom(&self, value: Value) -> u16 {
        let varies = match self.table.is_phi(value) {
            true => self.table.is_joinable(value),
            false => !self.table.is_pure(value),
        };
        match self.cycles.innermost(self.table.block(value)) {
            Some(cycle) if varies => up_to(self.cycles.depth(cycle)),
            _ => 0,
        }
    }

    /// The bits of an operand that a user in a block sees.
    fn seen(&self, value: Value, block: Node) -> u16 {
        let common = self.cycles.common(self.table.block(value), block);
        common.map_or(0, |cycle| up_to(self.cycles.depth(cycle)))
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
