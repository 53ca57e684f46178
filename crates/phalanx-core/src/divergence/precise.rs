//! The precise rules: consequences of branches, divergent exits and assumed-divergent cycles.
//!
//! Data flow goes first: a value tells its users what is new in it. When that has come to rest, one
//! terminator that grew is taken and the consequences of its branch are drawn ([`Consequence`],
//! from the sync dependence of the graph):
//!
//! | consequence | what it means for values |
//! |---|---|
//! | join | phis whose values differ over the edges reached |
//! | divergent exit of a cycle | uses of the cycle's values that are reached from there, and the consequences of the exit in turn |
//! | irreducible cycle assumed divergent | every value in it that is not the same in each iteration, and the consequences of threads leaving it by each exit apart |
//! | live out | every use outside of a cycle |
//!
//! Everything is a set of sources that only grows, and only new members of a set are propagated. So
//! each fact is handled at most once per source, whatever caused it: `n` branches out of one loop
//! cost what they add, not `n` times the loop.
//!
//! The consequences of **branches in assumed-divergent regions** are derived like those of all
//! other branches, so that the answer does not depend on the order in which rules are applied.
//! Values in the region depend on the sources already, and each exit is treated as divergent from
//! all others. There is one exception: two exits from one block count as one as long as the
//! terminator of that block chooses the same successor for all threads, whatever their rounds.

pub(super) mod omitted;
mod scratch;

use crate::SourceSet;
use phalanx_fixpoint::interrupt;
use phalanx_graph::sync::{Answer, Consequence, LeavingEdge, SyncView};
use phalanx_graph::{CycleId, Node};
use rustc_hash::FxHashMap;

pub(crate) use self::omitted::Omitted;
use self::omitted::rule_of;
use self::scratch::Scratch;
use crate::affect::{User, UserKind, Value};
use crate::divergence::assumed::outermost;
use crate::divergence::by_block::ByBlock;
use crate::divergence::invariance::Invariance;
use crate::divergence::liveout::{LiveOuts, leaving};
use crate::divergence::llvm::{Sources, merge};
use crate::divergence::marks::Marks;
use crate::divergence::naming::name_cycles;
use crate::divergence::remaining::Remaining;
use crate::divergence::result::{Divergence, TemporalUse};
use crate::divergence::selection::{Keys, Selections};
use crate::divergence::{FlowFacts, ValueTable};

/// Computes divergence by the precise rules.
pub(crate) fn solve(flow: FlowFacts<'_>, table: &ValueTable) -> Divergence {
    solve_without(flow, table, None)
}

/// The same without one rule.
pub(crate) fn solve_without(
    flow: FlowFacts<'_>,
    table: &ValueTable,
    omitted: Option<Omitted>,
) -> Divergence {
    let mut marks = Marks::seeded(table);
    let mut control: Option<Control<'_>> = None;
    loop {
        while let Some((user, new)) = marks.pop() {
            interrupt::poll();
            match user.kind() {
                UserKind::Value(value) => marks.tell_users(value, new),
                UserKind::Terminator(block) if flow.cfg.is_branch(block) => {
                    let control = control.get_or_insert_with(|| Control::new(flow, table, omitted));
                    control.scratch.branches.push((block, new));
                }
                UserKind::Terminator(_) => {}
            }
        }
        let Some(control) = &mut control else { break };
        if !control.step(&mut marks) {
            break;
        }
    }
    let (values, terminators) = marks.finish();
    let Some(mut control) = control else {
        return Divergence { values, terminators, ..Divergence::default() };
    };
    let mut exits = control.left.list();
    // The order of discovery is that of an algorithm; others find the same in another.
    exits.sort_unstable_by_key(|entry| entry.0);
    let mut temporal = merge(std::mem::take(&mut control.temporal));
    name_cycles(&mut temporal, &exits, flow.cycles, table);
    let result = Divergence {
        values,
        terminators,
        temporal: temporal.into(),
        unlisted: merge(std::mem::take(&mut control.unlisted)).into(),
        assumed: outermost(&control.assumed.list(), flow.cycles),
        divergent_exits: exits.into(),
    };
    control.scratch.give_back();
    result
}

/// Whether edges lead from a block of a region to different blocks outside of it.
pub(crate) fn has_exits(flow: FlowFacts<'_>, block: Node, region: CycleId) -> bool {
    let FlowFacts { cfg, cycles, .. } = flow;
    let mut outside = cfg.successors(block).iter().filter(|s| !cycles.contains(region, **s));
    let first = outside.next();
    outside.any(|s| Some(s) != first)
}

/// A fact about control flow that became known, for some sources.
#[derive(Clone, Copy, Debug)]
enum Fact {
    /// Threads run apart in the cycle.
    Assumed(CycleId),
    /// Threads leave by the edge at different times.
    Exit(LeavingEdge),
    /// Threads that left the cycle at different times have met in the node.
    Onward(CycleId, Node),
    /// Threads leave by every edge out of its level that is reached from the node at different
    /// times.
    ExitsFrom(Node),
    /// Everything computed in the cycle is read outside at different times.
    LiveOut(CycleId),
}

/// What is known about control flow.
struct Control<'a> {
    flow: FlowFacts<'a>,
    omitted: Option<Omitted>,
    table: &'a ValueTable,
    view: SyncView<'a>,
    scratch: Scratch,
    /// Cycles assumed divergent, with divergent exits, and with everything read outside divergent.
    assumed: Sources,
    left: Sources,
    live_out: Sources,
    /// By source number; empty until one is needed.
    remaining: Vec<Option<Remaining>>,
    selections: Selections,
    /// By cycle left and node: sources for which all uses that the node dominates are marked.
    reached: FxHashMap<(CycleId, Node), SourceSet>,
    /// By cycle left and node, see [`Fact::Onward`].
    onward: FxHashMap<(CycleId, Node), SourceSet>,
    temporal: Vec<TemporalUse>,
    /// Uses of what is always uniform in cycles that are assumed divergent.
    unlisted: Vec<TemporalUse>,
    /// Made when first needed.
    invariance: Option<Invariance>,
    live_outs: Option<LiveOuts>,
    by_block: Option<ByBlock>,
}

impl<'a> Control<'a> {
    fn new(flow: FlowFacts<'a>, table: &'a ValueTable, omitted: Option<Omitted>) -> Self {
        let view = SyncView::new(flow.sync, flow.cfg, flow.dom, flow.cycles);
        let blocks = table.block_count();
        let in_cycles = if flow.cycles.is_empty() { 0 } else { blocks };
        Self {
            flow,
            omitted,
            table,
            scratch: Scratch::take(blocks, in_cycles, view.leaving_edges()),
            assumed: Sources::new(flow.cycles),
            left: Sources::new(flow.cycles),
            live_out: Sources::new(flow.cycles),
            remaining: Vec::new(),
            selections: Selections::default(),
            reached: FxHashMap::default(),
            onward: FxHashMap::default(),
            temporal: Vec::new(),
            unlisted: Vec::new(),
            invariance: None,
            live_outs: None,
            by_block: None,
            view,
        }
    }

    /// Draws the consequences of one fact or branch. False if there is none left.
    fn step(&mut self, marks: &mut Marks<'a>) -> bool {
        if let Some((fact, sources)) = self.scratch.facts.pop() {
            match fact {
                Fact::Assumed(cycle) => self.run_apart(marks, cycle, sources),
                Fact::Exit(edge) => self.leave(marks, edge, sources),
                Fact::Onward(cycle, node) => {
                    let answer = self.view.onward(cycle, node);
                    self.draw(marks, &answer, Some(cycle), sources);
                }
                Fact::ExitsFrom(node) => self.leave_from(node, sources),
                Fact::LiveOut(cycle) => self.read_outside(marks, cycle, sources),
            }
            return true;
        }
        let Some((block, sources)) = self.scratch.branches.pop() else { return false };
        self.separate(marks, block, sources);
        true
    }

    /// Threads separate at the end of a block.
    fn separate(&mut self, marks: &mut Marks<'a>, block: Node, sources: SourceSet) {
        let sources = sources.difference(self.scratch.separated[block.index()]);
        self.scratch.separated[block.index()] |= sources;
        if let Some(region) = self.view.region_around(block) {
            let left = self.assumed.missing_around(self.flow.cycles, region, sources);
            let covered = sources.difference(left);
            if !covered.is_empty() && self.has_exits_together(block, region) {
                self.split(marks, region, covered);
            }
        }
        if !sources.is_empty() {
            let answer = self.view.branch(block);
            self.draw(marks, &answer, None, sources);
        }
    }

    /// Whether threads that run apart in a region leave it from the block by one edge, as long as
    /// nothing is known of the terminator.
    fn has_exits_together(&mut self, block: Node, region: CycleId) -> bool {
        has_exits(self.flow, block, region) && {
            let cycles = self.flow.cycles;
            self.prepare_invariance().is_invariant_terminator(cycles, block, region)
        }
    }

    /// Threads that run apart in a region leave it apart.
    fn split(&mut self, marks: &mut Marks<'a>, region: CycleId, sources: SourceSet) {
        if self.omitted == Some(Omitted::Split) {
            return;
        }
        let cycles = self.flow.cycles;
        self.prepare_invariance();
        // One source at a time: a terminator that goes different ways for one of them holds threads
        // together for the others.
        for source in sources.iter() {
            let Some(invariance) = &self.invariance else { return };
            let together = |block| {
                invariance.is_invariant_terminator(cycles, block, region)
                    && !marks.terminator(block).intersects(source)
            };
            let answer = self.view.split(region, together);
            self.draw(marks, &answer, None, source);
        }
    }

    /// Takes note of consequences. `left` is the cycle that threads left, if that is the cause.
    fn draw(
        &mut self,
        marks: &mut Marks<'a>,
        answer: &Answer<'a>,
        left: Option<CycleId>,
        sources: SourceSet,
    ) {
        let mut rest = answer.iter().copied().peekable();
        while let Some(consequence) = rest.next() {
            if self.omitted.is_some() && self.omitted == rule_of(consequence) {
                continue;
            }
            match consequence {
                Consequence::Join(block) => self.join(marks, block, sources),
                Consequence::JoinOver(_, first) | Consequence::JoinBack(_, first) => {
                    self.scratch.ranges.clear();
                    self.scratch.ranges.push(first);
                    self.scratch.late.clear();
                    while let Some(more) = rest.peek() {
                        match more {
                            Consequence::Also(more) => self.scratch.ranges.push(*more),
                            Consequence::AlsoFrom(node) => self.scratch.late.push(*node),
                            _ => break,
                        }
                        rest.next();
                    }
                    match consequence {
                        Consequence::JoinBack(cycle, _) => self.join_back(marks, cycle, sources),
                        Consequence::JoinOver(block, _) => self.join_over(marks, block, sources),
                        _ => {}
                    }
                }
                Consequence::Also(_) | Consequence::AlsoFrom(_) => {}
                Consequence::Assume(cycle) => self.assume(cycle, sources),
                Consequence::Exit(edge) => self.exit(edge, sources),
                Consequence::Exits { first, end, depth } => {
                    self.exits(first, end, depth, sources);
                }
                Consequence::ExitsFrom(node) => self.exits_from(node, sources),
                Consequence::Reaches(node) => {
                    if let Some(cycle) = left {
                        self.reach(marks, cycle, node, sources);
                    }
                }
                Consequence::Onward(cycle, node) => {
                    let known = self.onward.entry((cycle, node)).or_default();
                    let new = sources.difference(*known);
                    if !new.is_empty() {
                        *known |= new;
                        self.scratch.facts.push((Fact::Onward(cycle, node), new));
                    }
                }
                Consequence::LiveOut(cycle) => {
                    let new = self.live_out.add(cycle, sources);
                    if !new.is_empty() {
                        self.scratch.facts.push((Fact::LiveOut(cycle), new));
                    }
                }
            }
        }
    }

    /// Threads that went different ways come over all edges.
    fn join(&mut self, marks: &mut Marks<'a>, block: Node, sources: SourceSet) {
        if self.scratch.joined[block.index()].contains(sources) {
            return;
        }
        self.scratch.joined[block.index()] |= sources;
        for phi in self.table.phis(block) {
            if phi.is_joinable {
                marks.mark_value(phi.value, sources);
            }
        }
    }

    /// Threads that went different ways come over the edges in `ranges`.
    fn join_over(&mut self, marks: &mut Marks<'a>, block: Node, sources: SourceSet) {
        if self.scratch.joined[block.index()].contains(sources) {
            return;
        }
        let row = self.view.entering(block);
        for phi in self.table.phis(block) {
            if phi.is_joinable
                && !marks.value(phi.value).contains(sources)
                && self.selections.over(&self.view, row, &phi, &self.scratch.ranges) == Keys::Many
            {
                marks.mark_value(phi.value, sources);
            }
        }
    }

    /// Threads that went different ways come back to the header of the cycle, over the edges in
    /// `ranges` and those that are reached from the nodes in `late`.
    fn join_back(&mut self, marks: &mut Marks<'a>, cycle: CycleId, sources: SourceSet) {
        let block = self.flow.cycles.header(cycle);
        if self.scratch.joined[block.index()].contains(sources) {
            return;
        }
        let row = self.view.back_edges(cycle);
        for phi in self.table.phis(block) {
            if !phi.is_joinable || marks.value(phi.value).contains(sources) {
                continue;
            }
            let mut keys = self.selections.over(&self.view, row, &phi, &self.scratch.ranges);
            for &node in &self.scratch.late {
                if keys != Keys::Many {
                    keys = keys.and(self.selections.back_from(&self.view, cycle, &phi, node));
                }
            }
            if keys == Keys::Many {
                marks.mark_value(phi.value, sources);
            }
        }
    }

    fn assume(&mut self, cycle: CycleId, sources: SourceSet) {
        let new = self.assumed.add(cycle, sources);
        if !new.is_empty() {
            self.scratch.facts.push((Fact::Assumed(cycle), new));
        }
    }

    fn exit(&mut self, edge: LeavingEdge, sources: SourceSet) {
        let known = &mut self.scratch.exits[edge.index()];
        let new = sources.difference(*known);
        if !new.is_empty() {
            *known |= new;
            self.scratch.facts.push((Fact::Exit(edge), new));
        }
    }

    /// Edges by number that leave the cycle of some depth around their source.
    fn exits(&mut self, first: u32, end: u32, depth: u32, sources: SourceSet) {
        const FEW: u32 = 8;
        if end - first <= FEW {
            for i in first..end {
                if self.view.depth_kept(i as usize) < depth {
                    self.exit(LeavingEdge::from_raw(i), sources);
                }
            }
            return;
        }
        self.remaining.resize(SourceSet::COUNT, None);
        for source in sources.iter() {
            let number = source.bits().trailing_zeros() as usize;
            let mut remaining = self.remaining[number].take().unwrap_or_else(|| {
                let count = self.view.leaving_edges();
                Remaining::new((0..count).map(|i| self.view.depth_kept(i)))
            });
            while let Some(i) = remaining.take(first, end, depth) {
                self.exit(LeavingEdge::from_raw(i), source);
            }
            self.remaining[number] = Some(remaining);
        }
    }

    fn exits_from(&mut self, node: Node, sources: SourceSet) {
        let known = &mut self.scratch.exits_from[node.index()];
        let new = sources.difference(*known);
        if !new.is_empty() {
            *known |= new;
            self.scratch.facts.push((Fact::ExitsFrom(node), new));
        }
    }

    /// Draws [`Fact::ExitsFrom`].
    fn leave_from(&mut self, node: Node, sources: SourceSet) {
        if let Some((first, end, depth)) = self.view.exits_below(node) {
            self.exits(first, end, depth, sources);
            for next in self.view.frontier(node) {
                self.exits_from(next, sources);
            }
        }
    }

    /// Draws [`Fact::Exit`].
    fn leave(&mut self, marks: &mut Marks<'a>, edge: LeavingEdge, sources: SourceSet) {
        let cycle = self.view.cycle_left(edge);
        self.left.add(cycle, sources);
        self.prepare_live_outs();
        let is_omitted = self.omitted == Some(Omitted::ReadOnExit);
        if let Some(live_outs) = self.live_outs.as_ref().filter(|_| !is_omitted) {
            for (value, user) in live_outs.on(edge) {
                read(marks, self.flow, &mut self.temporal, value, user, sources);
            }
        }
        let answer = self.view.exit(edge);
        self.draw(marks, &answer, Some(cycle), sources);
    }

    /// Threads that left a cycle at different times get to all that a node dominates.
    fn reach(&mut self, marks: &mut Marks<'a>, cycle: CycleId, node: Node, sources: SourceSet) {
        let Some(live_outs) = &self.live_outs else { return };
        if live_outs.is_empty(cycle) {
            return;
        }
        let known = self.reached.entry((cycle, node)).or_default();
        let new = sources.difference(*known);
        *known |= new;
        if !new.is_empty() {
            for use_ in live_outs.of(cycle, self.view.dominated(node)) {
                read(marks, self.flow, &mut self.temporal, use_.value, use_.user, new);
            }
        }
    }

    /// Draws [`Fact::LiveOut`].
    fn read_outside(&mut self, marks: &mut Marks<'a>, cycle: CycleId, sources: SourceSet) {
        self.left.add(cycle, sources);
        self.prepare_values();
        let (Some(by_block), Some(invariance)) = (&self.by_block, &self.invariance) else { return };
        let FlowFacts { cycles, .. } = self.flow;
        let table = self.table;
        for &block in cycles.blocks(cycle) {
            let region = self.view.region_around(block);
            for &value in by_block.of(block) {
                for &user in table.affects().users(value) {
                    let place = marks.block_of(user);
                    if cycles.contains(cycle, place) {
                        continue;
                    }
                    // Inside a region, threads may have come by other rounds of what is around.
                    let leaves_region = region.is_none_or(|r| !cycles.contains(r, place));
                    if !leaves_region || !invariance.survives(cycles, table, value, place) {
                        read(marks, self.flow, &mut self.temporal, value, user, sources);
                    }
                }
            }
        }
    }

    /// Draws [`Fact::Assumed`].
    fn run_apart(&mut self, marks: &mut Marks<'a>, cycle: CycleId, sources: SourceSet) {
        self.prepare_values();
        let (Some(by_block), Some(invariance)) = (&self.by_block, &self.invariance) else { return };
        let FlowFacts { cfg, cycles, .. } = self.flow;
        let table = self.table;
        let is_region = self.view.region_around(cycles.header(cycle)) == Some(cycle);
        for &block in cycles.blocks(cycle) {
            for &value in by_block.of(block) {
                if invariance.is_invariant(cycles, table, value, cycle) {
                    continue;
                }
                marks.mark_value(value, sources);
                if table.is_fixed(value) && self.omitted != Some(Omitted::ReadApart) {
                    // The value is uniform at each instance, but threads that read it elsewhere may
                    // have left at different instances.
                    for &user in table.affects().users(value) {
                        if marks.block_of(user) != block {
                            self.unlisted.push(TemporalUse { value, user, cycle, sources });
                            marks.mark_use(user, sources);
                        }
                    }
                }
            }
            if !is_region
                && cfg.is_branch(block)
                && !invariance.is_invariant_terminator(cycles, block, cycle)
            {
                self.scratch.branches.push((block, sources));
            }
        }
        if is_region {
            self.split(marks, cycle, sources);
        }
    }

    fn prepare_invariance(&mut self) -> &Invariance {
        let (cycles, table) = (self.flow.cycles, self.table);
        self.invariance.get_or_insert_with(|| Invariance::new(cycles, table))
    }

    fn prepare_values(&mut self) {
        self.prepare_invariance();
        let table = self.table;
        self.by_block.get_or_insert_with(|| ByBlock::new(table));
    }

    fn prepare_live_outs(&mut self) {
        if self.live_outs.is_some() {
            return;
        }
        let leaving = leaving(&self.view, self.flow.cycles, self.table);
        let mut live_outs = LiveOuts::default();
        // In most functions no values leave cycles; then invariance is not needed.
        if !leaving.is_empty() {
            self.prepare_invariance();
            if let Some(known) = &self.invariance {
                live_outs =
                    LiveOuts::new(&leaving, &self.view, self.flow.cycles, self.table, known);
            }
        }
        self.live_outs = Some(live_outs);
    }
}

/// A use outside of a cycle sees the value of the iteration in which its thread left.
fn read(
    marks: &mut Marks<'_>,
    flow: FlowFacts<'_>,
    temporal: &mut Vec<TemporalUse>,
    value: Value,
    user: User,
    sources: SourceSet,
) {
    marks.mark_use(user, sources);
    let place = marks.block_of(user);
    let inner = flow.cycles.innermost(marks.table.block(value));
    if let Some(cycle) = inner.and_then(|c| flow.cycles.outermost_without(c, place)) {
        temporal.push(TemporalUse { value, user, cycle, sources });
    }
}
