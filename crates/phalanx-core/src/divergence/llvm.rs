//! LLVM's rules, on sets of sources, with each of LLVM 22's known faults repairable.
//!
//! For a terminator that is new in a set of sources, label propagation gives the joins and the
//! divergent exits of its branch ([`LabelPropagation`]). Then:
//!
//! - **join** `J` of the branch of `B`: if an irreducible cycle around `J` is unreliable, it is
//!   *assumed divergent* and everything in it depends on the sources; else every phi of `J` that
//!   selects anything does. A cycle is unreliable when `B` is outside and `J` inside (*outside
//!   divergence*), or both are inside and neither `B` nor the header lies on every path to `J`
//!   (*diverged entry*): then threads that meet in `J` may count rounds of the cycle differently.
//! - **divergent exit** `X`: let `D` be the outermost cycle that the exit leaves. Every use outside
//!   `D` of a value from inside `D` sees the value of another iteration in each thread.
//!
//! With [`LlvmFixes::NONE`] values and terminators are LLVM 22.1.8's wherever one source is
//! concerned.

use crate::SourceSet;
use phalanx_fixpoint::interrupt;
use phalanx_graph::sync::{LabelPropagation, LlvmFixes, ModifiedPostOrder, unreliable_cycle};
use phalanx_graph::{CycleId, Cycles, Node};

use crate::affect::{UserKind, Value};
use crate::divergence::invariance::Invariance;
use crate::divergence::marks::Marks;
use crate::divergence::result::{Divergence, TemporalUse};
use crate::divergence::{FlowFacts, ValueTable};

/// Computes divergence by LLVM's rules.
pub(crate) fn solve(flow: FlowFacts<'_>, table: &ValueTable, fixes: LlvmFixes) -> Divergence {
    let order = ModifiedPostOrder::new(flow.cfg, flow.cycles);
    let mut rules = Rules::new(flow, table, &order, fixes);
    rules.run();
    rules.finish()
}

/// Where threads of a branch meet and which cycles they leave, by block.
type Cached = Vec<Option<Box<phalanx_graph::sync::LabelSync>>>;

/// The rules at work.
pub(crate) struct Rules<'a> {
    pub(crate) flow: FlowFacts<'a>,
    pub(crate) marks: Marks<'a>,
    fixes: LlvmFixes,
    /// Values that assumed-divergent cycles do not touch because they are the same in each
    /// iteration.
    invariance: Option<Invariance>,
    labels: LabelPropagation<'a>,
    sync: Cached,
    /// Values by block, made when first needed.
    values_of: Option<Vec<Vec<Value>>>,
    pub(crate) assumed: Sources,
    pub(crate) exits: Sources,
    pub(crate) temporal: Vec<TemporalUse>,
    unlisted: Vec<TemporalUse>,
}

/// Sources by cycle, and the order in which cycles got their first.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    of: Vec<SourceSet>,
    order: Vec<CycleId>,
}

impl Sources {
    pub(crate) fn new(cycles: &Cycles) -> Self {
        Self { of: vec![SourceSet::EMPTY; cycles.len()], order: Vec::new() }
    }

    /// Adds sources; returns those that are new.
    pub(crate) fn add(&mut self, cycle: CycleId, sources: SourceSet) -> SourceSet {
        let known = &mut self.of[cycle.index()];
        let new = sources.difference(*known);
        if known.is_empty() && !new.is_empty() {
            self.order.push(cycle);
        }
        *known |= new;
        new
    }

    /// The sources that no cycle around this one has.
    pub(crate) fn missing_around(
        &self,
        cycles: &Cycles,
        cycle: CycleId,
        sources: SourceSet,
    ) -> SourceSet {
        if self.order.is_empty() {
            return sources;
        }
        cycles.ancestors(cycle).fold(sources, |left, c| left.difference(self.of[c.index()]))
    }

    pub(crate) fn list(&self) -> Vec<(CycleId, SourceSet)> {
        self.order.iter().map(|&c| (c, self.of[c.index()])).collect()
    }
}

impl<'a> Rules<'a> {
    pub(crate) fn new(
        flow: FlowFacts<'a>,
        table: &'a ValueTable,
        order: &'a ModifiedPostOrder,
        fixes: LlvmFixes,
    ) -> Self {
        Self {
            flow,
            marks: Marks::seeded(table),
            fixes,
            invariance: None,
            labels: LabelPropagation::new(flow.cfg, flow.cycles, order, fixes),
            sync: vec![None; table.block_count()],
            values_of: None,
            assumed: Sources::new(flow.cycles),
            exits: Sources::new(flow.cycles),
            temporal: Vec::new(),
            unlisted: Vec::new(),
        }
    }

    /// Exempts invariant values from assumed divergence, which LLVM does not.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn keep_invariants(&mut self, invariance: Invariance) {
        self.invariance = Some(invariance);
    }

    fn run(&mut self) {
        while let Some((user, new)) = self.marks.pop() {
            interrupt::poll();
            match user.kind() {
                UserKind::Value(value) => self.marks.tell_users(value, new),
                UserKind::Terminator(block) => self.divergent_terminator(block, new),
            }
        }
    }

    pub(crate) fn finish(self) -> Divergence {
        let (values, terminators) = self.marks.finish();
        Divergence {
            values,
            terminators,
            temporal: merge(self.temporal).into(),
            unlisted: merge(self.unlisted).into(),
            assumed: self.assumed.list(),
            divergent_exits: self.exits.list().into(),
        }
    }

    /// What follows from threads separating at the end of a block.
    pub(crate) fn divergent_terminator(&mut self, block: Node, sources: SourceSet) {
        if !self.flow.dom.is_reachable(block) || !self.flow.cfg.is_branch(block) {
            return;
        }
        let sync = match self.sync[block.index()].take() {
            Some(sync) => sync,
            None => Box::new(self.labels.run(block)),
        };
        let mut unreliable = Vec::new();
        for &join in &sync.joins {
            match unreliable_cycle(self.flow.cycles, self.flow.dom, block, join) {
                Some(cycle) => unreliable.push(cycle),
                None => self.join(join, sources),
            }
        }
        unreliable.sort_by_key(|&c| std::cmp::Reverse(self.flow.cycles.depth(c)));
        for cycle in unreliable {
            self.assume_divergent(cycle, sources);
        }
        if let Some(inner) = self.flow.cycles.innermost(block) {
            for &exit in &sync.exits {
                self.divergent_exit(inner, exit, sources);
            }
        }
        self.sync[block.index()] = Some(sync);
    }

    /// Threads that separated meet in the block.
    fn join(&mut self, block: Node, sources: SourceSet) {
        for phi in self.marks.table.phis(block) {
            if phi.is_joinable {
                self.marks.mark_value(phi.value, sources);
            }
        }
    }

    /// Threads may run through the cycle apart.
    pub(crate) fn assume_divergent(&mut self, cycle: CycleId, sources: SourceSet) {
        let sources = self.assumed.missing_around(self.flow.cycles, cycle, sources);
        if sources.is_empty() {
            return;
        }
        self.assumed.add(cycle, sources);
        for value in self.values_in(cycle) {
            let is_kept = |known: &Invariance| {
                known.is_invariant(self.flow.cycles, self.marks.table, value, cycle)
            };
            if !self.invariance.as_ref().is_some_and(is_kept) {
                self.taint(value, cycle, sources);
            }
        }
    }

    /// A value of a cycle that is assumed divergent.
    fn taint(&mut self, value: Value, cycle: CycleId, sources: SourceSet) {
        let table = self.marks.table;
        if !table.is_fixed(value) {
            self.marks.mark_value(value, sources);
        } else if self.fixes.assumed_always_uniform {
            for &user in table.affects().users(value) {
                if table.block_of(user) != table.block(value) {
                    self.unlisted.push(TemporalUse { value, user, cycle, sources });
                    self.marks.mark_use(user, sources);
                }
            }
        }
    }

    /// Values by block of the cycle, in the cycle's block order.
    pub(crate) fn values_in(&mut self, cycle: CycleId) -> Vec<Value> {
        let table = self.marks.table;
        let of = self.values_of.get_or_insert_with(|| {
            let mut of = vec![Vec::new(); table.block_count()];
            for value in table.values() {
                of[table.block(value).index()].push(value);
            }
            of
        });
        let blocks = self.flow.cycles.blocks(cycle);
        blocks.iter().flat_map(|block| of[block.index()].iter().copied()).collect()
    }

    /// Threads leave cycles around `inner` at different times by the exit to a block.
    fn divergent_exit(&mut self, inner: CycleId, exit: Node, sources: SourceSet) {
        let cycles = self.flow.cycles;
        let left = if self.fixes.exit_depth {
            cycles.outermost_without(inner, exit)
        } else {
            let depth = cycles.depth_of(exit);
            cycles.ancestors(inner).take_while(|&c| cycles.depth(c) > depth).last()
        };
        // By depth alone, the exit may leave nothing: LLVM then means the innermost cycle.
        let left = left.unwrap_or(inner);
        let sources = self.exits.add(left, sources);
        let sources = self.assumed.missing_around(cycles, left, sources);
        if !sources.is_empty() {
            self.uses_outside(left, sources);
        }
    }

    /// Every use outside a cycle of what is computed inside.
    ///
    /// Listed are, as in LLVM, the values that are computed on every way to some exit of the cycle:
    /// what is not can only be read by a phi in an exit block.
    pub(crate) fn uses_outside(&mut self, cycle: CycleId, sources: SourceSet) {
        let FlowFacts { dom, cycles, .. } = self.flow;
        let table = self.marks.table;
        let mut exits: Vec<u32> =
            cycles.exit_edges(cycle).filter_map(|(_, to)| dom.tin(to)).collect();
        exits.sort_unstable();
        for value in self.values_in(cycle) {
            let block = table.block(value);
            for &user in table.affects().users(value) {
                if cycles.contains(cycle, self.marks.table.block_of(user)) {
                    continue;
                }
                let next = exits.get(exits.partition_point(|&tin| Some(tin) < dom.tin(block)));
                let is_listed = next.is_some_and(|&tin| Some(tin) < dom.tout(block));
                let list = if is_listed { &mut self.temporal } else { &mut self.unlisted };
                list.push(TemporalUse { value, user, cycle, sources });
                self.marks.mark_use(user, sources);
            }
        }
    }
}

/// Sorts temporal uses and merges the sources of equal ones.
pub(crate) fn merge(mut uses: Vec<TemporalUse>) -> Vec<TemporalUse> {
    let key = |t: &TemporalUse| (t.value, t.user, t.cycle);
    uses.sort_by_key(key);
    uses.dedup_by(|next, kept| {
        let same = key(next) == key(kept);
        if same {
            kept.sources |= next.sources;
        }
        same
    });
    uses
}
