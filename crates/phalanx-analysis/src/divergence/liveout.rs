//! Uses outside of cycles of what is computed inside.
//!
//! For each canonical cycle the uses that leave it, sorted by where they read, so that "everything that is
//! reached from this divergent exit" is an interval. A phi reads at the end of the predecessor. If that
//! is still inside the cycle, the phi reads on the exit edge itself; such uses are listed by edge.
//!
//! Uses of values that are invariant in the outermost cycle left are not listed: they see the same value,
//! whatever iterations the threads left in.
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
#[derive(Debug)]
pub(crate) struct LiveOuts {
    /// By cycle, each list sorted by position.
    cycles: Vec<Vec<LiveOut>>,
    /// By leaving edge: phis that read on it.
    edges: Vec<Vec<(Value, User)>>,
}

impl LiveOuts {
    pub(crate) fn new(
        view: &SyncView<'_>,
        cycles: &Cycles,
        table: &ValueTable,
        invariance: &Invariance,
    ) -> Self {
        let mut lists = Self {
            cycles: vec![Vec::new(); cycles.len()],
            edges: vec![Vec::new(); view.leaving_edges()],
        };
        let context = Context { view, cycles, table, invariance };
        for value in table.values() {
            let Some(inner) = view.canonical_cycle(table.block(value)) else { continue };
            for &user in table.affects().users(value) {
                let place = match user.kind() {
                    UserKind::Value(user) if table.is_phi(user) => continue,
                    UserKind::Value(user) => table.block(user),
                    UserKind::Terminator(block) => block,
                };
                if context.leaves(value, inner, place) {
                    lists.add(&context, inner, place, place, value, user);
                }
            }
        }
        for phi in table.all_phis() {
            let block = table.block(phi.value);
            for entry in phi.incoming {
                let Some(value) = entry.value else { continue };
                let Some(inner) = view.canonical_cycle(table.block(value)) else { continue };
                if context.leaves(value, inner, block) {
                    lists.add(&context, inner, block, entry.pred, value, User::value(phi.value));
                }
            }
        }
        for list in &mut lists.cycles {
            list.sort_unstable_by_key(|l| (l.at, l.value, l.user));
        }
        lists
    }

    /// Lists a use that stands in `block` and reads at the end of `place`, which is the same unless the
    /// user is a phi.
    fn add(
        &mut self,
        context: &Context<'_, '_>,
        inner: CycleId,
        block: Node,
        place: Node,
        value: Value,
        user: User,
    ) {
        let cycles = context.cycles;
        let at = context.view.dominated(place).0;
        for cycle in cycles.ancestors(inner).take_while(|&c| !cycles.contains(c, block)) {
            if cycles.contains(cycle, place) {
                if let Some(edge) = context.view.leaving_edge(place, block) {
                    self.edges[edge.index()].push((value, user));
                }
                return;
            }
            self.cycles[cycle.index()].push(LiveOut { at, value, user });
        }
    }

    /// Uses outside the cycle that read in positions `first..end`.
    pub(crate) fn of(&self, cycle: CycleId, (first, end): (u32, u32)) -> &[LiveOut] {
        let list = &self.cycles[cycle.index()];
        let low = list.partition_point(|l| l.at < first);
        let high = low + list[low..].partition_point(|l| l.at < end);
        &list[low..high]
    }

    /// Whether nothing computed in the cycle is read outside, except on exit edges.
    pub(crate) fn is_empty(&self, cycle: CycleId) -> bool {
        self.cycles[cycle.index()].is_empty()
    }

    /// Uses by phis on an exit edge.
    pub(crate) fn on(&self, edge: LeavingEdge) -> &[(Value, User)] {
        &self.edges[edge.index()]
    }
}

struct Context<'a, 'b> {
    view: &'a SyncView<'b>,
    cycles: &'a Cycles,
    table: &'a ValueTable,
    invariance: &'a Invariance,
}

impl Context<'_, '_> {
    /// Whether a use in a block sees another value than its definition may have in another iteration.
    fn leaves(&self, value: Value, inner: CycleId, block: Node) -> bool {
        !self.cycles.contains(inner, block)
            && !self.invariance.survives(self.cycles, self.table, value, block)
    }
}
