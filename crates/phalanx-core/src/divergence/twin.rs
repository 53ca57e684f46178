//! The slow twin of the precise rules: straight from the arrivals of each branch.
//!
//! For a branch whose cycles are all reducible it looks at every phi and every use in turn, and
//! asks what [`arrivals`] says about the edges and blocks concerned. Branches inside irreducible
//! cycles follow LLVM's rules with all faults repaired. Property tests compare the fast solver with
//! this.

use std::collections::BTreeSet;

use crate::SourceSet;
use phalanx_graph::sync::arrivals::{Arrival, Arrivals, arrivals, effective, in_irreducible_cycle};
use phalanx_graph::sync::{LlvmFixes, ModifiedPostOrder};
use phalanx_graph::{BitSet, CycleId, Node};

use crate::affect::{User, UserKind, Value};
use crate::divergence::invariance::Invariance;
use crate::divergence::llvm::Rules;
use crate::divergence::result::{Divergence, TemporalUse};
use crate::divergence::table::{Phi, PhiKey, flag};
use crate::divergence::{FlowFacts, ValueTable};

/// Computes divergence by the precise rules, slowly.
#[must_use]
pub fn solve(flow: FlowFacts<'_>, table: &ValueTable) -> Divergence {
    let order = ModifiedPostOrder::new(flow.cfg, flow.cycles);
    let rules = Rules::new(flow, table, &order, LlvmFixes::ALL);
    let mut twin = Twin { rules, order: &order, invariance: Invariance::new(flow.cycles, table) };
    twin.rules.keep_invariants(twin.invariance.clone());
    while let Some((user, new)) = twin.rules.marks.pop() {
        match user.kind() {
            UserKind::Value(value) => twin.rules.marks.tell_users(value, new),
            UserKind::Terminator(block) => twin.terminator(block, new),
        }
    }
    let mut answer = twin.rules.finish();
    answer.truncate(table.reported());
    answer
}

struct Twin<'a> {
    rules: Rules<'a>,
    order: &'a ModifiedPostOrder,
    invariance: Invariance,
}

/// The branch that is being examined.
struct Branch {
    facts: Arrivals,
    sources: SourceSet,
}

impl Twin<'_> {
    fn terminator(&mut self, block: Node, sources: SourceSet) {
        let flow = self.rules.flow;
        if !flow.dom.is_reachable(block) || !flow.cfg.is_branch(block) {
            return;
        }
        if in_irreducible_cycle(flow.cycles, block) {
            self.rules.divergent_terminator(block, sources);
            return;
        }
        let facts = arrivals(flow.cfg, flow.cycles, self.order, block);
        for &cycle in &facts.assumed {
            self.rules.assume_divergent(cycle, sources);
        }
        let branch = Branch { facts, sources };
        let table = self.rules.marks.table;
        let reached: BTreeSet<Node> = branch.facts.edges.keys().map(|edge| edge.1).collect();
        for &block in &reached {
            for phi in table.phis(block) {
                if self.selects_apart(&branch, block, &phi) {
                    self.rules.marks.mark_value(phi.value, sources);
                }
            }
        }
        if let Some(&outermost) = branch.facts.chain.last() {
            for value in self.rules.values_in(outermost) {
                self.uses_of(&branch, value);
            }
        }
    }

    /// Position in the chain of the smallest cycle around branch and definition, counted from 1.
    fn level(&self, branch: &Branch, value: Value) -> Option<usize> {
        let block = self.rules.marks.table.block(value);
        let contains = |c: &CycleId| self.rules.flow.cycles.contains(*c, block);
        branch.facts.chain.iter().position(contains).map(|i| i + 1)
    }

    fn is_outside(&self, branch: &Branch, level: usize, block: Node) -> bool {
        !self.rules.flow.cycles.contains(branch.facts.chain[level - 1], block)
    }

    fn survives(&self, value: Value, place: Node) -> bool {
        self.invariance.survives(self.rules.flow.cycles, self.rules.marks.table, value, place)
    }

    /// Whether threads that separated at the branch may bring different values to a phi.
    fn selects_apart(&self, branch: &Branch, block: Node, phi: &Phi<'_>) -> bool {
        let mut all: Vec<(&Arrival, Option<Value>, PhiKey)> = Vec::new();
        for entry in phi.incoming {
            if let Some(arrivals) = branch.facts.edges.get(&(entry.pred, block)) {
                all.extend(arrivals.iter().map(|a| (a, entry.value, entry.key)));
            }
        }
        let outside = |value: Option<Value>| {
            let value = value?;
            let level = self.level(branch, value)?;
            (self.is_outside(branch, level, block) && !self.survives(value, block)).then_some(level)
        };
        let mixed = |&(a, value, _): &(&Arrival, Option<Value>, PhiKey)| {
            outside(value).is_some_and(|level| a.mixed.contains(&level))
        };
        let known = |a: &&(&Arrival, Option<Value>, PhiKey)| a.2 != PhiKey::UNDEF;
        let values: BTreeSet<PhiKey> = all.iter().filter(known).map(|a| a.2).collect();
        let apart = all.iter().any(|a| all.iter().any(|b| a.0.label != b.0.label));
        if all.iter().any(mixed) || phi.is_joinable && apart && values.len() > 1 {
            return true;
        }
        all.iter().any(|a| {
            all.iter().any(|b| {
                let Some(level) = outside(a.1) else { return false };
                let tags = a.0.tags.union(&b.0.tags).map(|&t| effective(t, level));
                a.1 == b.1 && a.0.label != b.0.label && tags.collect::<BTreeSet<_>>().len() > 1
            })
        })
    }

    /// Uses of a value outside the cycles around branch and definition.
    fn uses_of(&mut self, branch: &Branch, value: Value) {
        let table = self.rules.marks.table;
        let Some(level) = self.level(branch, value) else { return };
        for &user in table.affects().users(value) {
            let place = self.rules.marks.table.block_of(user);
            if !self.is_outside(branch, level, place) {
                continue;
            }
            let hit = match user.kind() {
                UserKind::Value(phi) if table.is_phi(phi) => {
                    let mut phis = table.phis(place).filter(|p| p.value == phi);
                    phis.any(|p| {
                        let entries = p.incoming.iter().filter(|e| e.value == Some(value));
                        entries.map(|e| e.pred).any(|pred| {
                            self.is_outside(branch, level, pred)
                                && self.is_mixed(branch, level, value, pred)
                        })
                    })
                }
                _ => self.is_mixed(branch, level, value, place),
            };
            if hit {
                let cycle = self.left_by(value, place);
                let sources = branch.sources;
                self.rules.temporal.push(TemporalUse { value, user, cycle, sources });
                self.rules.marks.mark_use(user, sources);
            }
        }
    }

    /// Whether threads in a block hold the value of different iterations.
    fn is_mixed(&self, branch: &Branch, level: usize, value: Value, place: Node) -> bool {
        let state = branch.facts.states.get(&place);
        state.is_some_and(|s| s.mixed.contains(&level)) && !self.survives(value, place)
    }

    /// The outermost cycle around a definition that does not contain the place of a use.
    fn left_by(&self, value: Value, place: Node) -> CycleId {
        let cycles = self.rules.flow.cycles;
        let inner = cycles.innermost(self.rules.marks.table.block(value));
        let left = inner.and_then(|c| cycles.outermost_without(c, place));
        left.or(inner).unwrap_or(CycleId::from_raw(0))
    }
}

/// What one branch brings about by itself: values at joins and in cycles assumed divergent, and
/// uses outside of cycles.
///
/// Nothing else separates threads, and no value tells another: the table is that of the function
/// with operands that have no sources.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OfBranch {
    /// Values that depend on which way threads took.
    pub values: BTreeSet<Value>,
    /// Uses that depend on when threads left a cycle.
    pub uses: BTreeSet<(Value, User)>,
}

/// See [`OfBranch`]. By the twin if `is_slow`, else by the solver.
#[must_use]
pub fn of_branch(flow: FlowFacts<'_>, table: &ValueTable, branch: Node, is_slow: bool) -> OfBranch {
    let alone = table.with_branch_alone(branch, SourceSet::X);
    let fast = crate::divergence::precise::solve(flow, &alone);
    let uses = |answer: &Divergence| -> BTreeSet<(Value, User)> {
        let uses = answer.temporal.iter().chain(answer.unlisted.iter());
        uses.map(|use_| (use_.value, use_.user)).collect()
    };
    let mut found = OfBranch { values: values_in(table, &fast), uses: uses(&fast) };
    if is_slow {
        let slow = solve(flow, &alone);
        found.values = values_in(table, &slow);
        // The twin says of a phi that it depends on the branch, and not by which of its uses.
        let is_marked_phi = |user: User| match user.kind() {
            UserKind::Value(value) => table.is_phi(value) && found.values.contains(&value),
            UserKind::Terminator(_) => false,
        };
        found.uses.retain(|&(_, user)| is_marked_phi(user));
        found.uses.extend(uses(&slow));
    }
    found
}

fn values_in(table: &ValueTable, answer: &Divergence) -> BTreeSet<Value> {
    table.values().filter(|&value| !answer.value(value).is_empty()).collect()
}

impl ValueTable {
    /// The table in which nothing depends on anything but one terminator.
    fn with_branch_alone(&self, branch: Node, source: SourceSet) -> ValueTable {
        let mut alone = self.clone();
        alone.seed = vec![SourceSet::EMPTY; self.len()];
        alone.images = vec![[SourceSet::EMPTY; SourceSet::COUNT]];
        alone.image_of = vec![0; self.len()];
        for flags in &mut alone.flags {
            if *flags & flag::FIXED == 0 {
                *flags |= flag::IMAGE;
            }
        }
        alone.fixed_terminators = BitSet::new(self.block_count());
        for block in 0..self.block_count() {
            alone.fixed_terminators.insert(block);
        }
        alone.fixed_terminators.remove(branch.index());
        alone.seeded_terminators = vec![(branch, source)];
        alone
    }
}
