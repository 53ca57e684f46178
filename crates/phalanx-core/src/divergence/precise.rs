//! The analysis by the precise rules.
//!
//! Data flow goes first: a value tells its users what is new in it. When that has come to rest, one
//! terminator that grew is taken and the [consequences](super::consequences) of its branch are
//! drawn.

use crate::SourceSet;
use phalanx_fixpoint::interrupt;
use phalanx_graph::{CycleId, Node};

use super::consequences::{Consequences, ControlFact, Omitted, Sink};
use crate::affect::{User, UserKind, Value};
use crate::divergence::assumed::outermost;
use crate::divergence::llvm::merge;
use crate::divergence::marks::Marks;
use crate::divergence::naming::name_cycles;
use crate::divergence::result::{Divergence, TemporalUse};
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
    let mut found = Found::new(flow, table);
    let mut rules: Option<Consequences<'_>> = None;
    loop {
        while let Some((user, new)) = found.marks.pop() {
            interrupt::poll();
            match user.kind() {
                UserKind::Value(value) => found.marks.tell_users(value, new),
                UserKind::Terminator(block) if flow.cfg.is_branch(block) => {
                    found.branches.push((block, new));
                }
                UserKind::Terminator(_) => {}
            }
        }
        if let Some((fact, sources)) = found.facts.pop() {
            // There is none before a branch has been looked at.
            if let Some(rules) = &mut rules {
                rules.follow(&mut found, fact, sources);
            }
        } else if let Some((block, sources)) = found.branches.pop() {
            let rules = rules.get_or_insert_with(|| Consequences::new(flow, table, omitted));
            rules.separate(&mut found, block, sources);
        } else {
            break;
        }
    }
    let (values, terminators) = found.marks.finish();
    let Some(rules) = rules else {
        return Divergence { values, terminators, ..Divergence::default() };
    };
    let mut exits = rules.left.list();
    // The order of discovery is that of an algorithm; others find the same in another.
    exits.sort_unstable_by_key(|entry| entry.0);
    let mut temporal = merge(found.temporal);
    name_cycles(&mut temporal, &exits, flow.cycles, table);
    let result = Divergence {
        values,
        terminators,
        temporal: temporal.into(),
        unlisted: merge(found.unlisted).into(),
        assumed: outermost(&rules.assumed.list(), flow.cycles),
        divergent_exits: exits.into(),
    };
    rules.finish();
    result
}

/// What has been found, and of it what is still to be drawn consequences from.
struct Found<'a> {
    flow: FlowFacts<'a>,
    marks: Marks<'a>,
    /// Terminators that grew.
    branches: Vec<(Node, SourceSet)>,
    facts: Vec<(ControlFact, SourceSet)>,
    temporal: Vec<TemporalUse>,
    /// Uses of what is always uniform in cycles that are assumed divergent.
    unlisted: Vec<TemporalUse>,
}

impl<'a> Found<'a> {
    fn new(flow: FlowFacts<'a>, table: &'a ValueTable) -> Self {
        Self {
            flow,
            marks: Marks::seeded(table),
            branches: Vec::new(),
            facts: Vec::new(),
            temporal: Vec::new(),
            unlisted: Vec::new(),
        }
    }
}

impl Sink for Found<'_> {
    #[inline]
    fn value(&self, value: Value) -> SourceSet {
        self.marks.value(value)
    }

    #[inline]
    fn mark(&mut self, value: Value, sources: SourceSet) {
        self.marks.mark_value(value, sources);
    }

    fn read(&mut self, value: Value, user: User, sources: SourceSet) {
        self.marks.mark_use(user, sources);
        let FlowFacts { cycles, .. } = self.flow;
        let place = self.marks.table.block_of(user);
        let inner = cycles.innermost(self.marks.table.block(value));
        if let Some(cycle) = inner.and_then(|c| cycles.outermost_without(c, place)) {
            self.temporal.push(TemporalUse { value, user, cycle, sources });
        }
    }

    fn read_apart(&mut self, value: Value, user: User, cycle: CycleId, sources: SourceSet) {
        self.marks.mark_use(user, sources);
        self.unlisted.push(TemporalUse { value, user, cycle, sources });
    }

    fn found(&mut self, fact: ControlFact, sources: SourceSet) {
        self.facts.push((fact, sources));
    }

    fn separated(&mut self, block: Node, sources: SourceSet) {
        self.branches.push((block, sources));
    }
}
