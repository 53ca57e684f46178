//! Uses outside of cycles of what is computed inside, as far as repair needs to find them.
//!
//! As [`crate::divergence::liveout`]: by cycle, sorted by the position in the dominator tree at
//! which they read, and by leaving edge. Which uses there are is decided by [`attachments`] alone;
//! the lists only say where to look. They have at least what is true: uses that come with an edit
//! are added aside, those that go stay.

use std::collections::BTreeSet;

use phalanx_graph::sync::{Carry, LeavingEdge, SyncView};
use phalanx_graph::{CycleId, Cycles, Node};
use rustc_hash::FxHashMap;

use super::flow::renamed_keys;
use super::levels::Levels;
use super::table::EditableTable;
use crate::affect::{User, UserKind, Value};

/// Where a use outside of the cycles of its value is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attachment {
    /// Read on an edge out of a cycle, by a phi.
    Edge(LeavingEdge),
    /// Read behind a cycle, at a position.
    Cycle(CycleId, u32),
}

/// What decides about uses outside of cycles.
pub(super) struct Scene<'s, 'f> {
    pub(super) view: &'s SyncView<'f>,
    pub(super) cycles: &'s Cycles,
    pub(super) table: &'s EditableTable,
    pub(super) levels: &'s Levels,
}

impl Scene<'_, '_> {
    /// Calls for every attachment of a use, possibly several times. The user must read the value.
    pub(super) fn attachments(&self, value: Value, user: User, mut call: impl FnMut(Attachment)) {
        let Some(inner) = self.view.canonical_cycle(self.table.block(value)) else { return };
        let block = self.table.block_of(user);
        if self.cycles.contains(inner, block)
            || self.levels.survives(self.cycles, self.table, value, block)
        {
            return;
        }
        match user.kind() {
            UserKind::Value(phi) if self.table.is_phi(phi) => {
                for entry in self.table.phi(phi).incoming {
                    if entry.value == Some(value) {
                        self.at(inner, block, entry.pred, &mut call);
                    }
                }
            }
            _ => self.at(inner, block, block, &mut call),
        }
    }

    /// A use that stands in a block and reads at the end of a place.
    fn at(&self, inner: CycleId, block: Node, place: Node, call: &mut impl FnMut(Attachment)) {
        let at = self.view.dominated(place).0;
        for cycle in self.cycles.ancestors(inner) {
            if self.cycles.contains(cycle, block) {
                return;
            }
            if self.cycles.contains(cycle, place) {
                if let Some(edge) = self.view.leaving_edge(place, block) {
                    call(Attachment::Edge(edge));
                }
                return;
            }
            call(Attachment::Cycle(cycle, at));
        }
    }
}

type Use = (u32, Value, User);

/// Lists of uses.
#[derive(Clone, Debug, Default)]
pub(super) struct Outside {
    /// By cycle.
    cycles: Vec<Vec<Use>>,
    edges: Vec<Vec<(Value, User)>>,
    more: FxHashMap<CycleId, BTreeSet<Use>>,
    more_edges: FxHashMap<LeavingEdge, BTreeSet<(Value, User)>>,
    count: usize,
}

impl Outside {
    pub(super) fn new(scene: &Scene<'_, '_>) -> Self {
        let mut lists = Self {
            cycles: vec![Vec::new(); scene.cycles.len()],
            edges: vec![Vec::new(); scene.view.leaving_edges()],
            ..Self::default()
        };
        for value in (0..scene.table.len() as u32).map(Value::from_raw) {
            if scene.view.canonical_cycle(scene.table.block(value)).is_none() {
                continue;
            }
            scene.table.each_user(value, |user| {
                scene.attachments(value, user, |found| match found {
                    Attachment::Edge(edge) => lists.edges[edge.index()].push((value, user)),
                    Attachment::Cycle(cycle, at) => {
                        lists.cycles[cycle.index()].push((at, value, user));
                    }
                });
            });
        }
        for list in &mut lists.cycles {
            list.sort_unstable();
            list.dedup();
        }
        for list in &mut lists.edges {
            list.sort_unstable();
            list.dedup();
        }
        lists
    }

    /// Lists the attachments of a use.
    pub(super) fn add(&mut self, scene: &Scene<'_, '_>, value: Value, user: User) {
        scene.attachments(value, user, |found| match found {
            Attachment::Edge(edge) => {
                if self.edges[edge.index()].binary_search(&(value, user)).is_err() {
                    let is_new = self.more_edges.entry(edge).or_default().insert((value, user));
                    self.count += usize::from(is_new);
                }
            }
            Attachment::Cycle(cycle, at) => {
                let entry = (at, value, user);
                if self.cycles[cycle.index()].binary_search(&entry).is_err() {
                    let is_new = self.more.entry(cycle).or_default().insert(entry);
                    self.count += usize::from(is_new);
                }
            }
        });
    }

    /// Gives cycles, edges and positions the names that they have after an edit of the control
    /// flow.
    pub(super) fn rename(&mut self, carry: &Carry<'_>, view: &SyncView<'_>, cycles: usize) {
        let positions = carry.positions();
        let now = |at: u32| positions.now(at);
        for list in &mut self.cycles {
            list.iter_mut().for_each(|entry| entry.0 = now(entry.0));
            if !list.is_sorted() {
                list.sort_unstable();
            }
        }
        for set in self.more.values_mut() {
            *set = set.iter().map(|&(at, value, user)| (now(at), value, user)).collect();
        }
        if !carry.has_same_cycles() {
            let mut lists = vec![Vec::new(); cycles];
            for (old, list) in std::mem::take(&mut self.cycles).into_iter().enumerate() {
                if let Some(new) = carry.cycle(CycleId::from_raw(old as u32)) {
                    lists[new.index()] = list;
                }
            }
            self.cycles = lists;
            renamed_keys(&mut self.more, |cycle| carry.cycle(cycle));
        }
        if !carry.has_same_exits() {
            let mut lists = vec![Vec::new(); view.leaving_edges()];
            for (old, list) in std::mem::take(&mut self.edges).into_iter().enumerate() {
                if let Some(new) = carry.leaving(LeavingEdge::from_raw(old as u32)) {
                    lists[new.index()] = list;
                }
            }
            self.edges = lists;
            renamed_keys(&mut self.more_edges, |edge| carry.leaving(edge));
        }
    }

    /// How many uses have been added since the lists were made.
    pub(super) fn added(&self) -> usize {
        self.count
    }

    /// Uses that may read behind a cycle, in positions `first..end`.
    pub(super) fn behind(
        &self,
        cycle: CycleId,
        first: u32,
        end: u32,
    ) -> impl Iterator<Item = (Value, User)> {
        let list = &self.cycles[cycle.index()];
        let low = list.partition_point(|entry| entry.0 < first);
        let high = low + list[low..].partition_point(|entry| entry.0 < end);
        let least = |at| (at, Value::from_raw(0), User::value(Value::from_raw(0)));
        let more = self.more.get(&cycle).into_iter();
        let more = more.flat_map(move |set| set.range(least(first)..least(end.max(first))));
        list[low..high].iter().chain(more).map(|entry| (entry.1, entry.2))
    }

    /// Phis that may read on an edge.
    pub(super) fn on(&self, edge: LeavingEdge) -> impl Iterator<Item = (Value, User)> {
        let more = self.more_edges.get(&edge).into_iter().flatten();
        self.edges[edge.index()].iter().chain(more).copied()
    }
}
