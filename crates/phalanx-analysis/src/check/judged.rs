//! Findings about operations of a function that is edited.
//!
//! # How
//!
//! What the rules say of one operation follows from the graph, from all operations, from what is
//! known of launches, and from what was *read* while it was judged ([`Reads`]). The latter is put
//! down for each operation. After an edit of instructions those are judged again that read
//!
//! - a branch or a value that diverges otherwise, or a block whose execution depends on something
//!   else,
//! - an instruction that has changed, as the operation itself or to evaluate a condition or a mask,
//!   or stack slots if an instruction has to do with pointers,
//! - whether a block has an effect, if that has become another,
//! - by what threads come to the function, and what functions that it calls do at their ends,
//!   likewise.
//!
//! After the split of a block its instructions count as changed, and where it parts threads the
//! branch is at the end of another block. To operations that have read neither, the two graphs are
//! one: what comes into the block still does, what leads out of it leads out of the new one, and no
//! way between others is another, nor what dominates or controls what. From which blocks something
//! that waits can be executed is found again, and has to be what it was.
//!
//! # Invariants
//!
//! - The answer is that of judging each operation: there is no other way to [find](findings)
//!   anything.
//! - Operations are the same, and so are blocks and edges but for one split: who keeps this sees to
//!   that. Where a function ends in another way, everything is judged again.
//!
//! **Complexity.** O(operations × what each read), and judging again those that are.

use std::sync::Arc;

use phalanx_core::divergence::SourceSets;
use phalanx_graph::Node;
use phalanx_ir::{InstId, Opcode, flow::node_of};
use phalanx_target::{LaunchFacts, SourceSet};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Facts, Finding, Rule, Sites,
    barriers::{self, Around, Check, has_effect},
    kinds, masks, members,
    notes::{Notes, Reads},
    numbers, rereads,
    sites::Site,
    split,
};
use crate::{code::Code, memory::has_pointers};

/// What there is to say about one operation.
#[derive(Debug)]
struct Judgement {
    barrier: Option<Finding>,
    /// Of who takes part, and of arguments.
    others: Vec<Finding>,
    reads: Reads,
}

/// What does not change with instructions.
#[derive(PartialEq, Debug)]
struct Launch {
    known: LaunchFacts,
    is_kernel: bool,
    callers_are_known: bool,
}

impl Launch {
    fn of(facts: Facts<'_>) -> Self {
        let Facts { is_kernel, callers_are_known, .. } = facts;
        Launch { known: facts.launch.clone(), is_kernel, callers_are_known }
    }
}

/// A block that was split, and the new one, which leads where the block has led.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Split {
    /// The block.
    pub block: Node,
    /// The new one.
    pub new: Node,
}

impl Split {
    fn has(self, block: Node) -> bool {
        block == self.block || block == self.new
    }
}

/// See the [module documentation](self).
#[derive(Debug)]
pub struct Judged {
    sites: Arc<Sites>,
    launch: Launch,
    around: Around,
    judgements: Vec<Judgement>,
    /// What follows from the operations and the graph alone.
    others: Vec<Finding>,
    terminators: SourceSets,
    controlled: SourceSets,
    findings: Arc<[Finding]>,
}

/// Everything that is found in a function with these operations, in the order of the text.
#[must_use]
pub fn findings(facts: Facts<'_>, sites: &Arc<Sites>) -> Arc<[Finding]> {
    Judged::new(facts, sites).findings
}

/// Whether [`Judged::follow`] has to be told that what is stored may be another, or what blocks do,
/// after an instruction came, went, moved or changed that is, or was, like this.
#[must_use]
pub fn concerns_memory(code: Code<'_>, inst: InstId) -> bool {
    code.body.inst(inst).opcode.is_call() || has_pointers(code, inst)
}

impl Judged {
    /// Judges all operations.
    #[must_use]
    pub fn new(facts: Facts<'_>, sites: &Arc<Sites>) -> Judged {
        let around = Around::new(facts, &sites.0);
        let check = Check::new(&around, &sites.0);
        let judge = |site: &Site| judge(facts, &check, site);
        let judgements = sites.0.iter().map(judge).collect();
        let others = said_of_all(facts, sites);
        let mut judged = Judged {
            sites: Arc::clone(sites),
            launch: Launch::of(facts),
            around,
            judgements,
            others,
            terminators: facts.divergence.terminators().clone(),
            controlled: facts.controlled.clone(),
            findings: Arc::default(),
        };
        judged.put_together();
        judged
    }

    /// Everything that is found, in the order of the text.
    #[must_use]
    pub fn findings(&self) -> &Arc<[Finding]> {
        &self.findings
    }

    /// Brings the findings up to date with instructions that have changed, in the same blocks with
    /// the same edges but for one that was split; `is_memory` if some [concern
    /// memory](concerns_memory). How many operations were judged again; none if all are to be.
    #[must_use]
    pub fn follow(
        &mut self,
        facts: Facts<'_>,
        sites: &Arc<Sites>,
        (changed, is_memory): (&[InstId], bool),
        split: Option<Split>,
    ) -> Option<usize> {
        let opcode = |inst: InstId| facts.code.body.inst(inst).opcode;
        let is_split = |block: Node| split.is_some_and(|split| split.has(block));
        let may_end = |&inst: &InstId| {
            opcode(inst).is_terminator()
                && !matches!(opcode(inst), Opcode::Br | Opcode::Switch)
                // That of a block that was split has not changed by that.
                && !facts.code.body.block_of(inst).is_some_and(|block| is_split(node_of(block)))
        };
        let is_same = self.has_operations(sites, split) && self.launch == Launch::of(facts);
        if !is_same || changed.iter().any(may_end) {
            return None;
        }
        let others = |now: &SourceSets, before: &SourceSets| {
            let mut nodes = FxHashSet::default();
            now.each_that_differs(before, |block| _ = nodes.insert(Node::new(block)));
            nodes
        };
        // A branch that varies at the end of a block that was split is one that differs, and so is
        // that of the new block.
        let branches = others(facts.divergence.terminators(), &self.terminators);
        let blocks = others(facts.controlled, &self.controlled);
        let insts: FxHashSet<InstId> = changed.iter().copied().collect();
        let is_touched = |reads: &Reads| {
            reads.branches.iter().any(|block| branches.contains(block))
                || reads.controlled.iter().any(|block| blocks.contains(block))
                || reads.insts.iter().any(|inst| insts.contains(inst))
                || reads.values.iter().any(|&(of, was)| facts.divergence.value(of) != was)
                || reads.uses.iter().any(|&(of, at, was)| facts.divergence.at_use(of, at) != was)
                || reads.callers.is_some_and(|was| (facts.called_under)() != was)
                || reads.callees.iter().any(|&(name, was)| (facts.edges)(name) != was)
                || is_memory && reads.slots
                || is_memory && reads.effects.iter().any(|&(at, is)| has_effect(facts, at) != is)
        };
        let (mut count, mut is_other) = (0, false);
        match split {
            None if is_memory && !self.around.is_as_before(facts, &self.sites.0) => return None,
            None => {}
            Some(_) => {
                let around = Around::new(facts, &sites.0);
                if !around.says_the_same(&self.around) {
                    return None;
                }
                self.around = around;
                let others = said_of_all(facts, sites);
                is_other = others != self.others;
                self.others = others;
            }
        }
        self.sites = Arc::clone(sites);
        let check = Check::new(&self.around, &sites.0);
        for (site, known) in sites.0.iter().zip(&mut self.judgements) {
            // Its own operands are read without being put down.
            if insts.contains(&site.inst) || is_touched(&known.reads) {
                let found = judge(facts, &check, site);
                is_other |= found.barrier != known.barrier || found.others != known.others;
                *known = found;
                count += 1;
            }
        }
        self.terminators = facts.divergence.terminators().clone();
        self.controlled = facts.controlled.clone();
        if is_other {
            self.put_together();
        }
        Some(count)
    }

    /// Whether these are the operations that were judged.
    fn has_operations(&self, sites: &Arc<Sites>, split: Option<Split>) -> bool {
        let is_same = |(old, new): (&Site, &Site)| {
            let stands = old.block == new.block
                || split.is_some_and(|split| split.block == old.block && split.has(new.block));
            old.inst == new.inst && old.kind == new.kind && stands
        };
        let (old, new) = (&self.sites.0, &sites.0);
        Arc::ptr_eq(&self.sites, sites)
            || split.is_some() && old.len() == new.len() && old.iter().zip(new).all(is_same)
    }

    fn put_together(&mut self) {
        let barriers = self.judgements.iter().filter_map(|known| known.barrier.as_ref());
        let mut found = barriers::said_once(barriers);
        found.extend(self.others.iter().cloned());
        found.extend(self.judgements.iter().flat_map(|known| known.others.iter().cloned()));
        // If a barrier waits for threads that cannot come, it says no more that they do not.
        let is_counted = |finding: &&Finding| finding.rule == Rule::WrongBarrierCount;
        let counted: FxHashSet<InstId> =
            found.iter().filter(is_counted).map(|finding| finding.inst).collect();
        found.retain(|finding| !finding.rule.is_about_coming() || !counted.contains(&finding.inst));
        // Sites are in the order of the text. What is no site comes first.
        let order: FxHashMap<InstId, usize> =
            self.sites.0.iter().map(|site| site.inst).zip(0..).collect();
        found.sort_by_key(|finding| {
            let place = order.get(&finding.inst).copied();
            (place, finding.inst, finding.rule, std::cmp::Reverse(finding.level))
        });
        // Of several operations in one text the worst is said.
        found.dedup_by_key(|finding| (finding.inst, finding.rule));
        self.findings = found.into();
    }
}

/// What follows from the operations and the graph alone.
fn said_of_all(facts: Facts<'_>, sites: &Sites) -> Vec<Finding> {
    let mut found = kinds::counts(facts, &sites.0);
    found.extend(split::findings(facts, &sites.0));
    found
}

fn judge(facts: Facts<'_>, check: &Check<'_>, site: &Site) -> Judgement {
    let notes = Notes::default();
    let facts = Facts { notes: Some(&notes), ..facts };
    let barrier = check.finding(facts, site);
    let mut others: Vec<Finding> = Vec::new();
    others.extend(masks::finding(facts, site));
    // What evaluation shows of a mask says more than what may be.
    let is_said = others.iter().any(|finding| finding.rule == Rule::MissingMembers);
    others.extend(members::finding(facts, site).filter(|_| !is_said));
    others.extend(members::active(facts, site));
    others.extend(numbers::findings(facts, check, site));
    // If waves may part by what they read, somebody may have written in between.
    let of_waves = barrier.as_ref().filter(|found| found.sources == SourceSet::OPAQUE_WAVE);
    let branch = of_waves.and_then(|found| found.branch);
    let too_soon = branch.and_then(|at| rereads::finding(facts, check.waiting(), at));
    // Then that is what is wrong.
    let barrier = barrier.filter(|_| too_soon.is_none());
    others.extend(too_soon);
    Judgement { barrier, others, reads: notes.into_inner() }
}
