//! Irreducible regions: threads that run apart in one, and what is read outside of cycles there.
//!
//! The rules are those of [`precise`](crate::divergence::precise), in both directions:
//!
//! - Where a region is assumed divergent, every value in it depends on the sources but for what is
//!   fixed and what is the same in each iteration. What is fixed is read in other blocks by threads
//!   that had different ones.
//! - Where everything computed in a cycle is read outside at different times, each use outside
//!   depends on the sources, unless it leaves the region and sees the same value in each iteration.
//!
//! What a region has no nodes for ([`ControlGraph::is_irregular`](super::control::ControlGraph))
//! cannot be followed.
//!
//! **Complexity.** When a region or a cycle becomes such or ceases to be, O(values in the region +
//! their uses). The members of regions are [listed](Members) once, in a pass over all values.
//! Otherwise O(cycles around a value).

use std::ops::ControlFlow;

use crate::SourceSet;
use phalanx_graph::sync::SyncView;
use phalanx_graph::{CycleId, Node};
use rustc_hash::FxHashMap;

use super::rules::DivergenceRules;
use super::subject::{Known, Subject, subject};
use super::table::{EditableTable, Edited};
use crate::affect::{User, UserKind, Value};
use crate::divergence::TemporalUse;

/// Values by region, once anybody has asked. They have at least what is true: values that come with
/// an edit are added, possibly again, those that go stay.
#[derive(Debug, Default)]
pub(super) struct Members(Option<FxHashMap<CycleId, Vec<Value>>>);

impl Members {
    fn of(&mut self, view: &SyncView<'_>, table: &EditableTable, region: CycleId) -> &[Value] {
        let members = self.0.get_or_insert_with(|| {
            let mut members: FxHashMap<CycleId, Vec<Value>> = FxHashMap::default();
            for value in (0..table.len() as u32).map(Value::from_raw) {
                if let Some(region) = view.region_around(table.block(value)) {
                    members.entry(region).or_default().push(value);
                }
            }
            members
        });
        members.get(&region).map_or(&[], Vec::as_slice)
    }

    /// Adds values that were edited.
    pub(super) fn add(&mut self, view: &SyncView<'_>, table: &EditableTable, log: &[Edited]) {
        let Some(members) = &mut self.0 else { return };
        for edited in log {
            let UserKind::Value(value) = edited.user.kind() else { continue };
            if let Some(region) = view.region_around(table.block(value)) {
                members.entry(region).or_default().push(value);
            }
        }
    }
}

impl DivergenceRules<'_, '_> {
    /// Values in a cycle, some possibly several times.
    fn values_in(&self, cycle: CycleId) -> Vec<Value> {
        let (cycles, table) = (self.flow.cycles, self.table);
        let is_in = |value: &Value| cycles.contains(cycle, table.block(*value));
        match self.view.region_around(cycles.header(cycle)) {
            Some(region) if cycles.contains_cycle(region, cycle) => {
                let mut members = self.members.borrow_mut();
                let members = members.of(&self.view, table, region);
                members.iter().copied().filter(is_in).collect()
            }
            _ => (0..table.len() as u32).map(Value::from_raw).filter(is_in).collect(),
        }
    }

    /// Uses outside of a cycle that has to do with regions, of what is computed in it.
    pub(super) fn uses_across(&self, cycle: CycleId) -> Vec<(Value, User)> {
        let cycles = self.flow.cycles;
        let is_near = |other: &CycleId| {
            cycles.contains_cycle(*other, cycle) || cycles.contains_cycle(cycle, *other)
        };
        let mut found = Vec::new();
        if self.graph.live_out.keys().any(is_near) {
            for value in self.values_in(cycle) {
                self.table.each_user(value, |user| {
                    if !cycles.contains(cycle, self.table.block_of(user)) {
                        found.push((value, user));
                    }
                });
            }
        }
        found
    }

    /// The node of the region around a block in which threads run apart, if it has one.
    fn assumed_around(&self, block: Node) -> Option<(CycleId, u32)> {
        let region = self.view.region_around(block)?;
        Some((region, *self.graph.assumed.get(&region)?))
    }

    fn is_invariant(&self, value: Value, cycle: CycleId) -> bool {
        let (cycles, table) = (self.flow.cycles, self.table);
        self.levels.is_none_or(|levels| levels.is_invariant(cycles, table, value, cycle))
    }

    /// Tells what is in a region in which threads run apart.
    pub(super) fn run_apart(
        &mut self,
        region: CycleId,
        bits: u16,
        tell: &mut impl FnMut(Subject, u16) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for value in self.values_in(region) {
            if !self.table.is_fixed(value) && !self.is_invariant(value, region) {
                tell(Subject::Value(value.raw()), bits)?;
            }
        }
        for (_, user) in self.uses_apart(region) {
            tell(subject(user), self.transfer(user, bits))?;
        }
        ControlFlow::Continue(())
    }

    /// Uses, in other blocks, of what is fixed in a region.
    pub(super) fn uses_apart(&self, region: CycleId) -> Vec<(Value, User)> {
        let mut found = Vec::new();
        for value in self.values_in(region) {
            if !self.table.is_fixed(value) {
                continue;
            }
            self.table.each_user(value, |user| {
                if self.is_read_apart(value, user, region) {
                    found.push((value, user));
                }
            });
        }
        found
    }

    fn is_read_apart(&self, value: Value, user: User, region: CycleId) -> bool {
        self.table.is_fixed(value)
            && self.table.block_of(user) != self.table.block(value)
            && !self.is_invariant(value, region)
    }

    /// What a user that is not fixed has from regions in which threads run apart: where it is, and
    /// where it reads what is fixed.
    pub(super) fn of_apart(&mut self, user: User, want: u16, known: Known<'_>) -> u16 {
        let mut found = 0;
        if let UserKind::Value(value) = user.kind() {
            match self.assumed_around(self.table.block(value)) {
                Some((region, number)) if !self.is_invariant(value, region) => {
                    found |= known.get(Subject::Control(number)) & want;
                }
                _ => {}
            }
        }
        let table = self.table;
        for &operand in table.operands(user) {
            self.work += 1;
            let bits = self.apart(operand, user, known);
            if bits != 0 {
                found |= self.transfer(user, bits) & want;
            }
        }
        found
    }

    /// What a use of something fixed depends on because threads run apart.
    fn apart(&self, value: Value, user: User, known: Known<'_>) -> u16 {
        match self.assumed_around(self.table.block(value)) {
            Some((region, number)) if self.is_read_apart(value, user, region) => {
                known.get(Subject::Control(number))
            }
            _ => 0,
        }
    }

    /// The same as an answer lists it.
    pub(super) fn use_apart(
        &self,
        (value, user): (Value, User),
        known: Known<'_>,
    ) -> Option<TemporalUse> {
        let sources = SourceSet::from_bits(self.apart(value, user, known));
        let (cycle, _) = self.assumed_around(self.table.block(value))?;
        (!sources.is_empty()).then_some(TemporalUse { value, user, cycle, sources })
    }

    /// Uses outside of a cycle of what is computed in it, that threads come to with values of
    /// different iterations.
    pub(super) fn uses_outside(&self, cycle: CycleId) -> Vec<(Value, User)> {
        let mut found = Vec::new();
        for value in self.values_in(cycle) {
            self.table.each_user(value, |user| {
                if self.is_read_outside(value, user, cycle) {
                    found.push((value, user));
                }
            });
        }
        found
    }

    fn is_read_outside(&self, value: Value, user: User, cycle: CycleId) -> bool {
        let (cycles, table) = (self.flow.cycles, self.table);
        let place = table.block_of(user);
        if cycles.contains(cycle, place) {
            return false;
        }
        let region = self.view.region_around(table.block(value));
        // Inside a region, threads may have come by other rounds of what is around.
        let leaves_region = region.is_none_or(|region| !cycles.contains(region, place));
        let survives =
            |place| self.levels.is_none_or(|levels| levels.survives(cycles, table, value, place));
        !leaves_region || !survives(place)
    }

    /// What the moment of a use depends on because of cycles that are read outside.
    pub(super) fn live_out(&self, value: Value, user: User, known: Known<'_>) -> u16 {
        if self.graph.live_out.is_empty() {
            return 0;
        }
        let cycles = self.flow.cycles;
        let Some(inner) = cycles.innermost(self.table.block(value)) else { return 0 };
        let mut found = 0;
        for cycle in cycles.ancestors(inner) {
            let Some(&number) = self.graph.live_out.get(&cycle) else { continue };
            if self.is_read_outside(value, user, cycle) {
                found |= known.get(Subject::Control(number));
            }
        }
        found
    }
}
