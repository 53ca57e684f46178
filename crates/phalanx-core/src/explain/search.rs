//! The derivation of every fact, shortest first.
//!
//! The rules of [`precise`](crate::divergence) once more, breadth first: all facts of one length
//! are known before any longer one, and each is written down with what it was derived from. A fact
//! can be derived several times, each time for sources that it did not have yet, so there are at
//! most as many entries as facts times sources.
//!
//! What is between a branch and the values that it reaches (divergent exits, cycles assumed
//! divergent, meetings further on) is derived in the same step as the branch: it has no length of
//! its own. So the length of a derivation depends on which value follows from which branch, and not
//! on how that is found out.
//!
//! In a region that is assumed divergent, a branch whose two sides leave the region separates its
//! exits. This is the only rule with two antecedents; the entry names the later one. All other
//! consequences of such a branch either hold already or are omitted by the rules. Those that hold
//! are derived as well, since they may give a shorter chain to a use. The search never derives a
//! fact that the analysis has not found.

use crate::SourceSet;
use phalanx_graph::sync::{Answer, Consequence, EnteringEdges, LeavingEdge, SyncView};
use phalanx_graph::{CycleId, Node};
use rustc_hash::FxHashMap;

use crate::affect::{User, UserKind, Value};
use crate::divergence::by_block::ByBlock;
use crate::divergence::invariance::Invariance;
use crate::divergence::liveout::{LiveOuts, leaving};
use crate::divergence::llvm::Sources;
use crate::divergence::remaining::Remaining;
use crate::divergence::selection::{Keys, Selections};
use crate::divergence::{Divergence, FlowFacts, ValueTable};

/// What an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Derived {
    /// A value where it is computed.
    Value(Value),
    /// The direction of the terminator of a block.
    Terminator(Node),
    /// What a user sees of a value computed in a cycle, because of when threads left.
    Use(Value, User),
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

/// One derivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) fact: Derived,
    /// What is new in it.
    pub(super) sources: SourceSet,
    /// The entry that it follows from; [`NONE`] for what introduces the sources itself.
    pub(super) cause: u32,
    /// How many values and branches there are between it and what introduces the sources.
    pub(super) length: u32,
}

/// No entry.
pub(super) const NONE: u32 = u32::MAX;

/// All derivations of a function, in order of length.
pub(super) fn derivations(
    flow: FlowFacts<'_>,
    table: &ValueTable,
    answer: &Divergence,
) -> Vec<Entry> {
    let mut search = Search::new(flow, table, answer);
    for (value, &seed) in table.values().zip(table.seeds()) {
        search.value(value, seed);
    }
    for &(block, seed) in table.seeded_terminators() {
        search.terminator(block, seed);
    }
    let mut at = 0;
    loop {
        // What has no length goes first: it belongs to the length at hand.
        if let Some(entry) = search.waiting.pop() {
            search.follow(entry);
        } else if at < search.longer.len() {
            let entry = search.longer[at];
            at += 1;
            search.follow(entry);
        } else {
            return search.entries;
        }
    }
}

struct Search<'a> {
    flow: FlowFacts<'a>,
    table: &'a ValueTable,
    /// What holds: nothing else is derived.
    answer: &'a Divergence,
    view: SyncView<'a>,
    entries: Vec<Entry>,
    /// Entries to be followed: values, terminators and uses, first in first out.
    longer: Vec<u32>,
    /// Entries to be followed before any of these.
    waiting: Vec<u32>,
    /// The entry being followed.
    cause: u32,
    values: Vec<SourceSet>,
    terminators: Vec<SourceSet>,
    /// Terminators whose entries have been followed.
    separated: Vec<SourceSet>,
    joined: Vec<SourceSet>,
    exits: Vec<SourceSet>,
    exits_from: Vec<SourceSet>,
    assumed: Sources,
    live_out: Sources,
    remaining: Vec<Option<Remaining>>,
    selections: Selections,
    reached: FxHashMap<(CycleId, Node), SourceSet>,
    onward: FxHashMap<(CycleId, Node), SourceSet>,
    uses: FxHashMap<(Value, User), SourceSet>,
    invariance: Option<Invariance>,
    live_outs: Option<LiveOuts>,
    by_block: Option<ByBlock>,
}

impl<'a> Search<'a> {
    fn new(flow: FlowFacts<'a>, table: &'a ValueTable, answer: &'a Divergence) -> Self {
        let view = SyncView::new(flow.sync, flow.cfg, flow.dom, flow.cycles);
        let blocks = vec![SourceSet::EMPTY; table.block_count()];
        Self {
            flow,
            table,
            answer,
            entries: Vec::new(),
            longer: Vec::new(),
            waiting: Vec::new(),
            cause: NONE,
            values: vec![SourceSet::EMPTY; table.len()],
            terminators: blocks.clone(),
            separated: blocks.clone(),
            joined: blocks.clone(),
            exits: vec![SourceSet::EMPTY; view.leaving_edges()],
            exits_from: blocks,
            assumed: Sources::new(flow.cycles),
            live_out: Sources::new(flow.cycles),
            remaining: Vec::new(),
            selections: Selections::default(),
            reached: FxHashMap::default(),
            onward: FxHashMap::default(),
            uses: FxHashMap::default(),
            invariance: None,
            live_outs: None,
            by_block: None,
            view,
        }
    }

    /// Writes down a fact that follows from the entry at hand.
    fn push(&mut self, fact: Derived, sources: SourceSet) {
        let number = self.entries.len() as u32;
        let has_length =
            matches!(fact, Derived::Value(_) | Derived::Terminator(_) | Derived::Use(..));
        let length = match self.entries.get(self.cause as usize) {
            Some(cause) => cause.length + u32::from(has_length),
            None => 0,
        };
        self.entries.push(Entry { fact, sources, cause: self.cause, length });
        match has_length {
            true => self.longer.push(number),
            false => self.waiting.push(number),
        }
    }

    /// The sources of a value. Answers do not report versions of memory.
    fn holds(&self, value: Value) -> SourceSet {
        match self.table.is_reported(value) {
            true => self.answer.value(value),
            false => SourceSet::ALL,
        }
    }

    fn holds_at(&self, value: Value, user: User) -> SourceSet {
        match self.table.is_reported(value) && self.table.is_reported_user(user) {
            true => self.answer.at_use(value, user),
            false => SourceSet::ALL,
        }
    }

    fn value(&mut self, value: Value, sources: SourceSet) {
        let new = sources.difference(self.values[value.index()]) & self.holds(value);
        if !new.is_empty() {
            self.values[value.index()] |= new;
            self.push(Derived::Value(value), new);
        }
    }

    /// As [`value`](Self::value), unless the value depends on its own sources only.
    fn value_unless_fixed(&mut self, value: Value, sources: SourceSet) {
        if !self.table.is_fixed(value) {
            self.value(value, sources);
        }
    }

    fn terminator(&mut self, block: Node, sources: SourceSet) {
        let sources = self.table.terminator_transfer(block, sources);
        let new =
            sources.difference(self.terminators[block.index()]) & self.answer.terminator(block);
        if !new.is_empty() && !self.table.is_fixed_terminator(block) {
            self.terminators[block.index()] |= new;
            self.push(Derived::Terminator(block), new);
        }
    }

    /// A user sees sources in an operand.
    fn user(&mut self, user: User, sources: SourceSet) {
        match user.kind() {
            UserKind::Value(value) => self.value(value, self.table.transfer(value, sources)),
            UserKind::Terminator(block) => self.terminator(block, sources),
        }
    }

    /// A user sees the value of the iteration in which its thread left.
    fn read(&mut self, value: Value, user: User, sources: SourceSet) {
        let holds = self.holds_at(value, user);
        let known = self.uses.entry((value, user)).or_default();
        let new = sources.difference(*known) & holds;
        if new.is_empty() {
            return;
        }
        *known |= new;
        let number = self.entries.len() as u32;
        self.push(Derived::Use(value, user), new);
        // The use and its reader are one step: the entry of the reader follows from that of the
        // use.
        let length = self.entries[number as usize].length;
        let cause = std::mem::replace(&mut self.cause, number);
        let before = self.entries.len();
        self.user(user, new);
        for entry in &mut self.entries[before..] {
            entry.length = length;
        }
        self.cause = cause;
    }

    fn follow(&mut self, number: u32) {
        self.cause = number;
        let Entry { fact, sources, .. } = self.entries[number as usize];
        match fact {
            Derived::Value(value) => {
                let table = self.table;
                for &user in table.affects().users(value) {
                    self.user(user, sources);
                }
            }
            Derived::Terminator(block) => self.separate(block, sources),
            // Its reader was told when it was found.
            Derived::Use(..) => {}
            Derived::Assumed(cycle) => self.run_apart(cycle, sources),
            Derived::Exit(edge) => self.leave(edge, sources),
            Derived::Onward(cycle, node) => {
                let answer = self.view.onward(cycle, node);
                self.draw(&answer, Some(cycle), sources);
            }
            Derived::ExitsFrom(node) => self.leave_from(node, sources),
            Derived::LiveOut(cycle) => self.read_outside(cycle, sources),
        }
    }

    /// Threads separate at the end of a block.
    fn separate(&mut self, block: Node, sources: SourceSet) {
        if !self.flow.cfg.is_branch(block) {
            return;
        }
        let sources = sources.difference(self.separated[block.index()]);
        self.separated[block.index()] |= sources;
        if let Some(region) = self.view.region_around(block) {
            let left = self.assumed.missing_around(self.flow.cycles, region, sources);
            let covered = sources.difference(left);
            if !covered.is_empty() && self.has_exits_together(block, region) {
                self.split(region, covered);
            }
        }
        if !sources.is_empty() {
            let answer = self.view.branch(block);
            self.draw(&answer, None, sources);
        }
    }

    /// Whether threads that run apart in a region leave it from the block by one edge, as long as
    /// nothing is known of the terminator.
    fn has_exits_together(&mut self, block: Node, region: CycleId) -> bool {
        let FlowFacts { cfg, cycles, .. } = self.flow;
        let mut outside = cfg.successors(block).iter().filter(|s| !cycles.contains(region, **s));
        let first = outside.next();
        let has_two = outside.any(|s| Some(s) != first);
        has_two && self.prepare_invariance().is_invariant_terminator(cycles, block, region)
    }

    /// Threads that run apart in a region leave it apart.
    fn split(&mut self, region: CycleId, sources: SourceSet) {
        let cycles = self.flow.cycles;
        self.prepare_invariance();
        for source in sources.iter() {
            let Some(invariance) = &self.invariance else { return };
            let separated = &self.separated;
            let together = |block: Node| {
                invariance.is_invariant_terminator(cycles, block, region)
                    && !separated[block.index()].intersects(source)
            };
            let answer = self.view.split(region, together);
            self.draw(&answer, None, source);
        }
    }

    /// Takes note of consequences. `left` is the cycle that threads left, if that is the cause.
    fn draw(&mut self, answer: &Answer<'a>, left: Option<CycleId>, sources: SourceSet) {
        let mut rest = answer.iter().copied().peekable();
        let (mut ranges, mut late): (Vec<EnteringEdges>, Vec<Node>) = (Vec::new(), Vec::new());
        while let Some(consequence) = rest.next() {
            match consequence {
                Consequence::Join(block) => self.join(block, sources),
                Consequence::JoinOver(_, first) | Consequence::JoinBack(_, first) => {
                    ranges.clear();
                    ranges.push(first);
                    late.clear();
                    while let Some(more) = rest.peek() {
                        match more {
                            Consequence::Also(more) => ranges.push(*more),
                            Consequence::AlsoFrom(node) => late.push(*node),
                            _ => break,
                        }
                        rest.next();
                    }
                    match consequence {
                        Consequence::JoinBack(cycle, _) => {
                            self.join_back(cycle, &ranges, &late, sources);
                        }
                        Consequence::JoinOver(block, _) => self.join_over(block, &ranges, sources),
                        _ => {}
                    }
                }
                Consequence::Also(_) | Consequence::AlsoFrom(_) => {}
                Consequence::Assume(cycle) => {
                    let new = self.assumed.add(cycle, sources);
                    if !new.is_empty() {
                        self.push(Derived::Assumed(cycle), new);
                    }
                }
                Consequence::Exit(edge) => self.exit(edge, sources),
                Consequence::Exits { first, end, depth } => self.exits(first, end, depth, sources),
                Consequence::ExitsFrom(node) => self.exits_from(node, sources),
                Consequence::Reaches(node) => {
                    if let Some(cycle) = left {
                        self.reach(cycle, node, sources);
                    }
                }
                Consequence::Onward(cycle, node) => {
                    let known = self.onward.entry((cycle, node)).or_default();
                    let new = sources.difference(*known);
                    *known |= new;
                    if !new.is_empty() {
                        self.push(Derived::Onward(cycle, node), new);
                    }
                }
                Consequence::LiveOut(cycle) => {
                    let new = self.live_out.add(cycle, sources);
                    if !new.is_empty() {
                        self.push(Derived::LiveOut(cycle), new);
                    }
                }
            }
        }
    }

    /// Threads that went different ways come over all edges.
    fn join(&mut self, block: Node, sources: SourceSet) {
        if self.joined[block.index()].contains(sources) {
            return;
        }
        self.joined[block.index()] |= sources;
        let table = self.table;
        for phi in table.phis(block).filter(|phi| phi.is_joinable) {
            self.value_unless_fixed(phi.value, sources);
        }
    }

    /// Threads that went different ways come over the edges in `ranges`.
    fn join_over(&mut self, block: Node, ranges: &[EnteringEdges], sources: SourceSet) {
        if self.joined[block.index()].contains(sources) {
            return;
        }
        let (row, table) = (self.view.entering(block), self.table);
        for phi in table.phis(block) {
            if phi.is_joinable
                && !self.values[phi.value.index()].contains(sources)
                && self.selections.over(&self.view, row, &phi, ranges) == Keys::Many
            {
                self.value_unless_fixed(phi.value, sources);
            }
        }
    }

    /// Threads that went different ways come back to the header of the cycle, over the edges in
    /// `ranges` and those that are reached from the nodes in `late`.
    fn join_back(
        &mut self,
        cycle: CycleId,
        ranges: &[EnteringEdges],
        late: &[Node],
        sources: SourceSet,
    ) {
        let block = self.flow.cycles.header(cycle);
        if self.joined[block.index()].contains(sources) {
            return;
        }
        let (row, table) = (self.view.back_edges(cycle), self.table);
        for phi in table.phis(block) {
            if !phi.is_joinable || self.values[phi.value.index()].contains(sources) {
                continue;
            }
            let mut keys = self.selections.over(&self.view, row, &phi, ranges);
            for &node in late {
                if keys != Keys::Many {
                    keys = keys.and(self.selections.back_from(&self.view, cycle, &phi, node));
                }
            }
            if keys == Keys::Many {
                self.value_unless_fixed(phi.value, sources);
            }
        }
    }

    fn exit(&mut self, edge: LeavingEdge, sources: SourceSet) {
        let new = sources.difference(self.exits[edge.index()]);
        if !new.is_empty() {
            self.exits[edge.index()] |= new;
            self.push(Derived::Exit(edge), new);
        }
    }

    /// Edges by number that leave the cycle of some depth around their source.
    fn exits(&mut self, first: u32, end: u32, depth: u32, sources: SourceSet) {
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
        let new = sources.difference(self.exits_from[node.index()]);
        if !new.is_empty() {
            self.exits_from[node.index()] |= new;
            self.push(Derived::ExitsFrom(node), new);
        }
    }

    fn leave_from(&mut self, node: Node, sources: SourceSet) {
        if let Some((first, end, depth)) = self.view.exits_below(node) {
            self.exits(first, end, depth, sources);
            for next in self.view.frontier(node) {
                self.exits_from(next, sources);
            }
        }
    }

    fn leave(&mut self, edge: LeavingEdge, sources: SourceSet) {
        let cycle = self.view.cycle_left(edge);
        self.prepare_live_outs();
        let on_edge: Vec<(Value, User)> =
            self.live_outs.as_ref().map(|l| l.on(edge).collect()).unwrap_or_default();
        for (value, user) in on_edge {
            self.read(value, user, sources);
        }
        let answer = self.view.exit(edge);
        self.draw(&answer, Some(cycle), sources);
    }

    /// Threads that left a cycle at different times get to all that a node dominates.
    fn reach(&mut self, cycle: CycleId, node: Node, sources: SourceSet) {
        let Some(live_outs) = self.live_outs.take() else { return };
        if !live_outs.is_empty(cycle) {
            let known = self.reached.entry((cycle, node)).or_default();
            let new = sources.difference(*known);
            *known |= new;
            if !new.is_empty() {
                for use_ in live_outs.of(cycle, self.view.dominated(node)) {
                    self.read(use_.value, use_.user, new);
                }
            }
        }
        self.live_outs = Some(live_outs);
    }

    fn block_of(&self, user: User) -> Node {
        match user.kind() {
            UserKind::Value(value) => self.table.block(value),
            UserKind::Terminator(block) => block,
        }
    }

    /// Everything computed in a cycle is read outside at different times.
    fn read_outside(&mut self, cycle: CycleId, sources: SourceSet) {
        let (by_block, invariance) = self.take_values();
        let (cycles, table) = (self.flow.cycles, self.table);
        for &block in cycles.blocks(cycle) {
            let region = self.view.region_around(block);
            for &value in by_block.of(block) {
                for &user in table.affects().users(value) {
                    let place = self.block_of(user);
                    if cycles.contains(cycle, place) {
                        continue;
                    }
                    let leaves_region = region.is_none_or(|r| !cycles.contains(r, place));
                    if !leaves_region || !invariance.survives(cycles, table, value, place) {
                        self.read(value, user, sources);
                    }
                }
            }
        }
        (self.by_block, self.invariance) = (Some(by_block), Some(invariance));
    }

    /// Threads run apart in a cycle.
    fn run_apart(&mut self, cycle: CycleId, sources: SourceSet) {
        let (by_block, invariance) = self.take_values();
        let FlowFacts { cfg, cycles, .. } = self.flow;
        let table = self.table;
        let is_region = self.view.region_around(cycles.header(cycle)) == Some(cycle);
        let mut branches = Vec::new();
        for &block in cycles.blocks(cycle) {
            for &value in by_block.of(block) {
                if invariance.is_invariant(cycles, table, value, cycle) {
                    continue;
                }
                self.value_unless_fixed(value, sources);
                if table.is_fixed(value) {
                    for &user in table.affects().users(value) {
                        if self.block_of(user) != block {
                            self.read(value, user, sources);
                        }
                    }
                }
            }
            if !is_region
                && cfg.is_branch(block)
                && !invariance.is_invariant_terminator(cycles, block, cycle)
            {
                branches.push(block);
            }
        }
        (self.by_block, self.invariance) = (Some(by_block), Some(invariance));
        for block in branches {
            self.separate(block, sources);
        }
        if is_region {
            self.split(cycle, sources);
        }
    }

    fn prepare_invariance(&mut self) -> &Invariance {
        let (cycles, table) = (self.flow.cycles, self.table);
        self.invariance.get_or_insert_with(|| Invariance::new(cycles, table))
    }

    /// Tables of values, out of their places.
    fn take_values(&mut self) -> (ByBlock, Invariance) {
        self.prepare_invariance();
        let (cycles, table) = (self.flow.cycles, self.table);
        (
            self.by_block.take().unwrap_or_else(|| ByBlock::new(table)),
            self.invariance.take().unwrap_or_else(|| Invariance::new(cycles, table)),
        )
    }

    fn prepare_live_outs(&mut self) {
        if self.live_outs.is_some() {
            return;
        }
        let leaving = leaving(&self.view, self.flow.cycles, self.table);
        let mut live_outs = LiveOuts::default();
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
