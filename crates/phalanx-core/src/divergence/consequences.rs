//! The precise rules: consequences of branches, divergent exits and assumed-divergent cycles.
//!
//! # What
//!
//! When threads separate at the end of a block ([`Consequences::separate`]), or something about
//! control flow is known ([`ControlFact`], [`Consequences::follow`]), these rules tell a [`Sink`]
//! what follows ([`Consequence`], from the sync dependence of the graph):
//!
//! | consequence | what it means for values |
//! |---|---|
//! | join | phis whose values differ over the edges reached |
//! | divergent exit of a cycle | uses of the cycle's values that are reached from there, and the consequences of the exit in turn |
//! | irreducible cycle assumed divergent | every value in it that is not the same in each iteration, and the consequences of threads leaving it by each exit apart |
//! | live out | every use outside of a cycle |
//!
//! What values make of that is up to the sink: the [analysis](super::precise) only adds up sources;
//! [explanations](crate::explain) note what each fact was derived from.
//!
//! # Regions
//!
//! The consequences of **branches in assumed-divergent regions** are derived like those of all
//! other branches, so that the answer does not depend on the order in which rules are applied.
//! Values in the region depend on the sources already, and each exit is treated as divergent from
//! all others. There is one exception: two exits from one block count as one as long as threads
//! have not separated at the end of that block.
//!
//! # Complexity
//!
//! Everything is a set of sources that only grows, and only new members of a set are propagated. So
//! each fact is handled at most once per source, whatever caused it: `n` branches out of one loop
//! cost what they add, not `n` times the loop.

pub(super) mod omitted;
mod scratch;

use crate::SourceSet;
use phalanx_graph::sync::{Answer, Consequence, LeavingEdge, SyncView};
use phalanx_graph::{CycleId, Node};
use rustc_hash::FxHashMap;

pub(crate) use self::omitted::Omitted;
use self::omitted::rule_of;
use self::scratch::Scratch;
use crate::affect::{User, Value};
use crate::divergence::by_block::ByBlock;
use crate::divergence::invariance::Invariance;
use crate::divergence::liveout::{LiveOuts, leaving};
use crate::divergence::llvm::Sources;
use crate::divergence::remaining::Remaining;
use crate::divergence::selection::{Keys, Selections};
use crate::divergence::{FlowFacts, ValueTable};

/// Whether edges lead from a block of a region to different blocks outside of it.
pub(crate) fn has_exits(flow: FlowFacts<'_>, block: Node, region: CycleId) -> bool {
    let FlowFacts { cfg, cycles, .. } = flow;
    let mut outside = cfg.successors(block).iter().filter(|s| !cycles.contains(region, **s));
    let first = outside.next();
    outside.any(|s| Some(s) != first)
}

/// A fact about control flow that became known, for some sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControlFact {
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

/// Takes note of what the rules find. It is told of a value or a use again where several rules lead
/// there, and adds up the sources.
pub(crate) trait Sink {
    /// The sources of a value so far.
    fn value(&self, value: Value) -> SourceSet;
    /// A value depends on more, unless it depends on its own sources only.
    fn mark(&mut self, value: Value, sources: SourceSet);
    /// A user outside of a cycle sees the value of the iteration in which its thread left.
    fn read(&mut self, value: Value, user: User, sources: SourceSet);
    /// A user in another block sees a value of its own for each thread, since they run apart in
    /// the cycle: the value is always uniform where it is computed.
    fn read_apart(&mut self, value: Value, user: User, cycle: CycleId, sources: SourceSet);
    /// A fact about control flow is new for these sources: its consequences are to be
    /// [drawn](Consequences::follow).
    fn found(&mut self, fact: ControlFact, sources: SourceSet);
    /// Threads [separate](Consequences::separate) at the end of a block, which is a branch in a
    /// cycle in which they run apart.
    fn separated(&mut self, block: Node, sources: SourceSet);
}

/// The rules, and what is known about control flow.
pub(crate) struct Consequences<'a> {
    flow: FlowFacts<'a>,
    omitted: Option<Omitted>,
    table: &'a ValueTable,
    view: SyncView<'a>,
    scratch: Scratch,
    /// Cycles that are assumed divergent.
    pub(super) assumed: Sources,
    /// Cycles with divergent exits.
    pub(super) left: Sources,
    /// Cycles of which everything that is read outside is divergent.
    live_out: Sources,
    /// By source number; empty until one is needed.
    remaining: Vec<Option<Remaining>>,
    selections: Selections,
    /// By cycle left and node: sources for which all uses that the node dominates are marked.
    reached: FxHashMap<(CycleId, Node), SourceSet>,
    /// By cycle left and node, see [`ControlFact::Onward`].
    onward: FxHashMap<(CycleId, Node), SourceSet>,
    /// Made when first needed.
    invariance: Option<Invariance>,
    live_outs: Option<LiveOuts>,
    by_block: Option<ByBlock>,
}

impl<'a> Consequences<'a> {
    pub(crate) fn new(
        flow: FlowFacts<'a>,
        table: &'a ValueTable,
        omitted: Option<Omitted>,
    ) -> Self {
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
            invariance: None,
            live_outs: None,
            by_block: None,
            view,
        }
    }

    /// Keeps the tables, empty, for the next function that this thread looks at.
    pub(crate) fn finish(self) {
        self.scratch.give_back();
    }

    /// Draws the consequences of a fact about control flow.
    pub(crate) fn follow(&mut self, sink: &mut impl Sink, fact: ControlFact, sources: SourceSet) {
        match fact {
            ControlFact::Assumed(cycle) => self.run_apart(sink, cycle, sources),
            ControlFact::Exit(edge) => self.leave(sink, edge, sources),
            ControlFact::Onward(cycle, node) => {
                let answer = self.view.onward(cycle, node);
                self.draw(sink, &answer, Some(cycle), sources);
            }
            ControlFact::ExitsFrom(node) => self.leave_from(sink, node, sources),
            ControlFact::LiveOut(cycle) => self.read_outside(sink, cycle, sources),
        }
    }

    /// Threads separate at the end of a block.
    pub(crate) fn separate(&mut self, sink: &mut impl Sink, block: Node, sources: SourceSet) {
        let sources = sources.difference(self.scratch.separated[block.index()]);
        self.scratch.separated[block.index()] |= sources;
        if let Some(region) = self.view.region_around(block) {
            let left = self.assumed.missing_around(self.flow.cycles, region, sources);
            let covered = sources.difference(left);
            if !covered.is_empty() && self.has_exits_together(block, region) {
                self.split(sink, region, covered);
            }
        }
        if !sources.is_empty() {
            let answer = self.view.branch(block);
            self.draw(sink, &answer, None, sources);
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
    fn split(&mut self, sink: &mut impl Sink, region: CycleId, sources: SourceSet) {
        if self.omitted == Some(Omitted::Split) {
            return;
        }
        let cycles = self.flow.cycles;
        self.prepare_invariance();
        // One source at a time: a terminator that goes different ways for one of them holds threads
        // together for the others.
        for source in sources.iter() {
            let Some(invariance) = &self.invariance else { return };
            let separated = &self.scratch.separated;
            let together = |block: Node| {
                invariance.is_invariant_terminator(cycles, block, region)
                    && !separated[block.index()].intersects(source)
            };
            let answer = self.view.split(region, together);
            self.draw(sink, &answer, None, source);
        }
    }

    /// Takes note of consequences. `left` is the cycle that threads left, if that is the cause.
    fn draw(
        &mut self,
        sink: &mut impl Sink,
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
                Consequence::Join(block) => self.join(sink, block, sources),
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
                        Consequence::JoinBack(cycle, _) => self.join_back(sink, cycle, sources),
                        Consequence::JoinOver(block, _) => self.join_over(sink, block, sources),
                        _ => {}
                    }
                }
                Consequence::Also(_) | Consequence::AlsoFrom(_) => {}
                Consequence::Assume(cycle) => self.assume(sink, cycle, sources),
                Consequence::Exit(edge) => self.exit(sink, edge, sources),
                Consequence::Exits { first, end, depth } => {
                    self.exits(sink, (first, end, depth), sources);
                }
                Consequence::ExitsFrom(node) => self.exits_from(sink, node, sources),
                Consequence::Reaches(node) => {
                    if let Some(cycle) = left {
                        self.reach(sink, cycle, node, sources);
                    }
                }
                Consequence::Onward(cycle, node) => {
                    let known = self.onward.entry((cycle, node)).or_default();
                    let new = sources.difference(*known);
                    if !new.is_empty() {
                        *known |= new;
                        sink.found(ControlFact::Onward(cycle, node), new);
                    }
                }
                Consequence::LiveOut(cycle) => {
                    let new = self.live_out.add(cycle, sources);
                    if !new.is_empty() {
                        sink.found(ControlFact::LiveOut(cycle), new);
                    }
                }
            }
        }
    }

    /// Threads that went different ways come over all edges.
    fn join(&mut self, sink: &mut impl Sink, block: Node, sources: SourceSet) {
        if self.scratch.joined[block.index()].contains(sources) {
            return;
        }
        self.scratch.joined[block.index()] |= sources;
        for phi in self.table.phis(block) {
            if phi.is_joinable {
                sink.mark(phi.value, sources);
            }
        }
    }

    /// Threads that went different ways come over the edges in `ranges`.
    fn join_over(&mut self, sink: &mut impl Sink, block: Node, sources: SourceSet) {
        if self.scratch.joined[block.index()].contains(sources) {
            return;
        }
        let row = self.view.entering(block);
        for phi in self.table.phis(block) {
            if phi.is_joinable
                && !sink.value(phi.value).contains(sources)
                && self.selections.over(&self.view, row, &phi, &self.scratch.ranges) == Keys::Many
            {
                sink.mark(phi.value, sources);
            }
        }
    }

    /// Threads that went different ways come back to the header of the cycle, over the edges in
    /// `ranges` and those that are reached from the nodes in `late`.
    fn join_back(&mut self, sink: &mut impl Sink, cycle: CycleId, sources: SourceSet) {
        let block = self.flow.cycles.header(cycle);
        if self.scratch.joined[block.index()].contains(sources) {
            return;
        }
        let row = self.view.back_edges(cycle);
        for phi in self.table.phis(block) {
            if !phi.is_joinable || sink.value(phi.value).contains(sources) {
                continue;
            }
            let mut keys = self.selections.over(&self.view, row, &phi, &self.scratch.ranges);
            for &node in &self.scratch.late {
                if keys != Keys::Many {
                    keys = keys.and(self.selections.back_from(&self.view, cycle, &phi, node));
                }
            }
            if keys == Keys::Many {
                sink.mark(phi.value, sources);
            }
        }
    }

    fn assume(&mut self, sink: &mut impl Sink, cycle: CycleId, sources: SourceSet) {
        let new = self.assumed.add(cycle, sources);
        if !new.is_empty() {
            sink.found(ControlFact::Assumed(cycle), new);
        }
    }

    fn exit(&mut self, sink: &mut impl Sink, edge: LeavingEdge, sources: SourceSet) {
        let known = &mut self.scratch.exits[edge.index()];
        let new = sources.difference(*known);
        if !new.is_empty() {
            *known |= new;
            sink.found(ControlFact::Exit(edge), new);
        }
    }

    /// Edges by number that leave the cycle of some depth around their source.
    fn exits(
        &mut self,
        sink: &mut impl Sink,
        (first, end, depth): (u32, u32, u32),
        sources: SourceSet,
    ) {
        const FEW: u32 = 8;
        if end - first <= FEW {
            for i in first..end {
                if self.view.depth_kept(i as usize) < depth {
                    self.exit(sink, LeavingEdge::from_raw(i), sources);
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
                self.exit(sink, LeavingEdge::from_raw(i), source);
            }
            self.remaining[number] = Some(remaining);
        }
    }

    fn exits_from(&mut self, sink: &mut impl Sink, node: Node, sources: SourceSet) {
        let known = &mut self.scratch.exits_from[node.index()];
        let new = sources.difference(*known);
        if !new.is_empty() {
            *known |= new;
            sink.found(ControlFact::ExitsFrom(node), new);
        }
    }

    /// Draws [`ControlFact::ExitsFrom`].
    fn leave_from(&mut self, sink: &mut impl Sink, node: Node, sources: SourceSet) {
        if let Some((first, end, depth)) = self.view.exits_below(node) {
            self.exits(sink, (first, end, depth), sources);
            for next in self.view.frontier(node) {
                self.exits_from(sink, next, sources);
            }
        }
    }

    /// Draws [`ControlFact::Exit`].
    fn leave(&mut self, sink: &mut impl Sink, edge: LeavingEdge, sources: SourceSet) {
        let cycle = self.view.cycle_left(edge);
        self.left.add(cycle, sources);
        self.prepare_live_outs();
        let is_omitted = self.omitted == Some(Omitted::ReadOnExit);
        if let Some(live_outs) = self.live_outs.as_ref().filter(|_| !is_omitted) {
            for (value, user) in live_outs.on(edge) {
                sink.read(value, user, sources);
            }
        }
        let answer = self.view.exit(edge);
        self.draw(sink, &answer, Some(cycle), sources);
    }

    /// Threads that left a cycle at different times get to all that a node dominates.
    fn reach(&mut self, sink: &mut impl Sink, cycle: CycleId, node: Node, sources: SourceSet) {
        let Some(live_outs) = &self.live_outs else { return };
        if live_outs.is_empty(cycle) {
            return;
        }
        let known = self.reached.entry((cycle, node)).or_default();
        let new = sources.difference(*known);
        *known |= new;
        if !new.is_empty() {
            for use_ in live_outs.of(cycle, self.view.dominated(node)) {
                sink.read(use_.value, use_.user, new);
            }
        }
    }

    /// Draws [`ControlFact::LiveOut`].
    fn read_outside(&mut self, sink: &mut impl Sink, cycle: CycleId, sources: SourceSet) {
        self.left.add(cycle, sources);
        self.prepare_values();
        let (Some(by_block), Some(invariance)) = (&self.by_block, &self.invariance) else { return };
        let FlowFacts { cycles, .. } = self.flow;
        let table = self.table;
        for &block in cycles.blocks(cycle) {
            let region = self.view.region_around(block);
            for &value in by_block.of(block) {
                for &user in table.affects().users(value) {
                    let place = table.block_of(user);
                    if cycles.contains(cycle, place) {
                        continue;
                    }
                    // Inside a region, threads may have come by other rounds of what is around.
                    let leaves_region = region.is_none_or(|r| !cycles.contains(r, place));
                    if !leaves_region || !invariance.survives(cycles, table, value, place) {
                        sink.read(value, user, sources);
                    }
                }
            }
        }
    }

    /// Draws [`ControlFact::Assumed`].
    fn run_apart(&mut self, sink: &mut impl Sink, cycle: CycleId, sources: SourceSet) {
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
                sink.mark(value, sources);
                if table.is_fixed(value) && self.omitted != Some(Omitted::ReadApart) {
                    // The value is uniform at each instance, but threads that read it elsewhere may
                    // have left at different instances.
                    for &user in table.affects().users(value) {
                        if table.block_of(user) != block {
                            sink.read_apart(value, user, cycle, sources);
                        }
                    }
                }
            }
            if !is_region
                && cfg.is_branch(block)
                && !invariance.is_invariant_terminator(cycles, block, cycle)
            {
                sink.separated(block, sources);
            }
        }
        if is_region {
            self.split(sink, cycle, sources);
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
