//! Uses outside of cycles of what is computed inside.
//!
//! For each canonical cycle the uses that leave it, sorted by where they read, so that "everything
//! that is reached from this divergent exit" is an interval. A phi reads at the end of the
//! predecessor. If that is still inside the cycle, the phi reads on the exit edge itself; such uses
//! are listed by edge.
//!
//! Uses of values that are invariant in the outermost cycle left are not listed: they see the same
//! value, whatever iterations the threads left in.
//!
//! A use that leaves `k` nested cycles is listed `k` times.

use phalanx_graph::sync::{LeavingEdge, SyncView};
use phalanx_graph::{CycleId, Cycles, Node};

use crate::affect::{User, UserKind, Value};
use crate::divergence::ValueTable;
use crate::divergence::invariance::Invariance;

/// One use outside of the cycle of its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveOut {
    /// Where it reads: a position in the dominator tree of [`SyncView::dominated`].
    at: u32,
    pub(crate) value: Value,
    pub(crate) user: User,
}

/// All uses outside of canonical cycles.
#[derive(Debug, Default)]
pub(crate) struct LiveOuts {
    /// First entry of each cycle's list, and the end; empty when there are no entries.
    start: Vec<u32>,
    /// The lists, each sorted by position.
    uses: Vec<(CycleId, LiveOut)>,
    /// Phis that read on leaving edges, sorted by edge.
    on_edges: Vec<(LeavingEdge, Value, User)>,
}

/// A use outside of the canonical cycle `inner` around the definition. It stands in `block` and
/// reads at the end of `place`, which is the same unless the user is a phi.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    inner: CycleId,
    block: Node,
    place: Node,
    value: Value,
    user: User,
}

/// All uses outside of the canonical cycles of their values, invariant values included.
pub(crate) fn leaving(view: &SyncView<'_>, cycles: &Cycles, table: &ValueTable) -> Vec<Leaving> {
    let mut found = Vec::new();
    for value in table.values() {
        let Some(inner) = view.canonical_cycle(table.block(value)) else { continue };
        for &user in table.affects().users(value) {
            let block = match user.kind() {
                UserKind::Value(user) => table.block(user),
                UserKind::Terminator(block) => block,
            };
            let is_phi = || matches!(user.kind(), UserKind::Value(user) if table.is_phi(user));
            if !cycles.contains(inner, block) && !is_phi() {
                found.push(Leaving { inner, block, place: block, value, user });
            }
        }
    }
    for phi in table.all_phis() {
        let block = table.block(phi.value);
        for entry in phi.incoming {
            let Some(value) = entry.value else { continue };
            let Some(inner) = view.canonical_cycle(table.block(value)) else { continue };
            if !cycles.contains(inner, block) {
                let (place, user) = (entry.pred, User::value(phi.value));
                found.push(Leaving { inner, block, place, value, user });
            }
        }
    }
    found
}

impl LiveOuts {
    /// Those of the leaving uses that can see another value than was computed last.
    pub(crate) fn new(
        leaving: &[Leaving],
        view: &SyncView<'_>,
        cycles: &Cycles,
        table: &ValueTable,
        invariance: &Invariance,
    ) -> Self {
        let mut lists = Self::default();
        for use_ in leaving {
            if !invariance.survives(cycles, table, use_.value, use_.block) {
                lists.add(view, cycles, use_);
            }
        }
        lists.on_edges.sort_unstable();
        lists.uses.sort_unstable_by_key(|(cycle, l)| (*cycle, l.at, l.value, l.user));
        if !lists.uses.is_empty() {
            lists.start.resize(cycles.len() + 1, 0);
            for (cycle, _) in &lists.uses {
                lists.start[cycle.index() + 1] += 1;
            }
            for i in 0..cycles.len() {
                lists.start[i + 1] += lists.start[i];
            }
        }
        lists
    }

    fn add(&mut self, view: &SyncView<'_>, cycles: &Cycles, use_: &Leaving) {
        let Leaving { inner, block, place, value, user } = *use_;
        let at = view.dominated(place).0;
        for cycle in cycles.ancestors(inner).take_while(|&c| !cycles.contains(c, block)) {
            if cycles.contains(cycle, place) {
                if let Some(edge) = view.leaving_edge(place, block) {
                    self.on_edges.push((edge, value, user));
                }
                return;
            }
            self.uses.push((cycle, LiveOut { at, value, user }));
        }
    }

    fn list(&self, cycle: CycleId) -> &[(CycleId, LiveOut)] {
        if self.uses.is_empty() {
            return &[];
        }
        let i = cycle.index();
        &self.uses[self.start[i] as usize..self.start[i + 1] as usize]
    }

    /// Uses outside the cycle that read in positions `first..end`.
    pub(crate) fn of(
        &self,
        cycle: CycleId,
        (first, end): (u32, u32),
    ) -> impl Iterator<Item = LiveOut> + '_ {
        let list = self.list(cycle);
        let low = list.partition_point(|(_, l)| l.at < first);
        let high = low + list[low..].partition_point(|(_, l)| l.at < end);
        list[low..high].iter().map(|&(_, use_)| use_)
    }

    /// Whether nothing computed in the cycle is read outside, except on exit edges.
    pub(crate) fn is_empty(&self, cycle: CycleId) -> bool {
        self.list(cycle).is_empty()
    }

    /// Uses by phis on an exit edge.
    pub(crate) fn on(&self, edge: LeavingEdge) -> impl Iterator<Item = (Value, User)> + '_ {
        let low = self.on_edges.partition_point(|&(e, ..)| e < edge);
        let list = self.on_edges[low..].iter().take_while(move |&&(e, ..)| e == edge);
        list.map(|&(_, value, user)| (value, user))
    }
}
