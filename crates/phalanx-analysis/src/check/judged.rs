//! Incremental update of the findings about operations.
//!
//! # How
//!
//! The findings about one operation depend on the graph, on all operations, on what is known of
//! launches, and on the facts that were *read* while the operation was judged ([`Reads`]). These
//! facts are recorded for each operation. After an edit of instructions, an operation is judged
//! again if it has read
//!
//! - a branch or a value that diverges otherwise now, or a block whose execution depends on other
//!   sources,
//! - an instruction that has changed: the operation itself, or an instruction that a condition or a
//!   mask is computed from; or stack slots, if a changed instruction concerns pointers,
//! - whether a block has an effect, if that has changed,
//! - what threads pass to the function, or what callees do at their ends, if that has changed.
//!
//! After the split of a block, its instructions count as changed. If the block parts threads, the
//! branch is now at the end of another block. For operations that have read neither, the two graphs
//! are equivalent: edges into the block are the same, edges out of it now leave the new block, and
//! no path, dominator or control dependence between other blocks changes. The set of live blocks is
//! found again, and has to be the same.
//!
//! # Invariants
//!
//! - The answer is that of judging each operation anew: there is no other way to [find](findings)
//!   anything.
//! - Operations, blocks and edges have to be the same, except for one split; the owner of the state
//!   checks that. If the function ends in another way, everything is judged again.
//!
//! **Complexity.** O(operations × what each has read), and the cost of judging again.

use std::sync::Arc;

use phalanx_core::divergence::SourceSets;
use phalanx_graph::Node;
use phalanx_ir::{InstId, Opcode, flow::node_of};
use phalanx_target::{LaunchFacts, SourceSet};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Facts, Finding, Rule, Sites,
    barriers::{self, Check, FunctionFacts, has_effect},
    kinds, masks, members,
    notes::{Notes, Reads},
    numbers, rereads,
    sites::Site,
    split,
};
use crate::{code::Code, memory::has_pointers};

/// The findings about one operation, and the facts that they depend on.
#[derive(Debug)]
struct Judgement {
    barrier: Option<Finding>,
    /// Findings about which threads take part, and about arguments.
    others: Vec<Finding>,
    reads: Reads,
}

/// Facts that do not change with instructions.
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

/// A block that was split, and the new block, which has the former successors.
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

/// The findings about all operations of a function, updated after edits. See the [module
/// documentation](self).
#[derive(Debug)]
pub struct Judged {
    sites: Arc<Sites>,
    launch: Launch,
    env: FunctionFacts,
    judgements: Vec<Judgement>,
    /// Findings that depend on the operations and the graph alone.
    others: Vec<Finding>,
    terminators: SourceSets,
    controlled: SourceSets,
    findings: Arc<[Finding]>,
}

/// All findings in a function with these operations, in the order of the text.
#[must_use]
pub fn findings(facts: Facts<'_>, sites: &Arc<Sites>) -> Arc<[Finding]> {
    Judged::new(facts, sites).findings
}

/// Whether stored values, or effects of blocks, may change after an instruction came, went, moved
/// or changed that is, or was, like this one. [`Judged::update`] has to know that.
#[must_use]
pub fn memory_depends_on(code: Code<'_>, inst: InstId) -> bool {
    code.body.inst(inst).opcode.is_call() || has_pointers(code, inst)
}

impl Judged {
    /// Judges all operations.
    #[must_use]
    pub fn new(facts: Facts<'_>, sites: &Arc<Sites>) -> Judged {
        let env = FunctionFacts::new(facts, &sites.0);
        let check = Check::new(&env, &sites.0);
        let judge = |site: &Site| judge(facts, &check, site);
        let judgements = sites.0.iter().map(judge).collect();
        let others = said_of_all(facts, sites);
        let mut judged = Judged {
            sites: Arc::clone(sites),
            launch: Launch::of(facts),
            env,
            judgements,
            others,
            terminators: facts.divergence.terminators().clone(),
            controlled: facts.controlled.clone(),
            findings: Arc::default(),
        };
        judged.put_together();
        judged
    }

    /// All findings, in the order of the text.
    #[must_use]
    pub fn findings(&self) -> &Arc<[Finding]> {
        &self.findings
    }

    /// Brings the findings up to date after changes of instructions, in the same blocks with the
    /// same edges except for one split; `is_memory` says whether some changed instruction [concerns
    /// memory](memory_depends_on). Returns how many operations were judged again; None if all have
    /// to be.
    #[must_use]
    pub fn update(
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
                // A split does not change the terminator of the block.
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
        // If the branch at the end of a split block varies, it counts as changed, and so does the
        // branch of the new block.
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
            None if is_memory && !self.env.is_as_before(facts, &self.sites.0) => return None,
            None => {}
            Some(_) => {
                let env = FunctionFacts::new(facts, &sites.0);
                if !env.says_the_same(&self.env) {
                    return None;
                }
                self.env = env;
                let others = said_of_all(facts, sites);
                is_other = others != self.others;
                self.others = others;
            }
        }
        self.sites = Arc::clone(sites);
        let check = Check::new(&self.env, &sites.0);
        for (site, known) in sites.0.iter().zip(&mut self.judgements) {
            // The operands of an operation are read without a record.
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
        // If a barrier waits for threads that cannot come, it is not also reported that they do not
        // come.
        let is_counted = |finding: &&Finding| finding.rule == Rule::WrongBarrierCount;
        let counted: FxHashSet<InstId> =
            found.iter().filter(is_counted).map(|finding| finding.inst).collect();
        found.retain(|finding| !finding.rule.is_about_coming() || !counted.contains(&finding.inst));
        // Sites are in the order of the text. Findings at other instructions come first.
        let order: FxHashMap<InstId, usize> =
            self.sites.0.iter().map(|site| site.inst).zip(0..).collect();
        found.sort_by_key(|finding| {
            let place = order.get(&finding.inst).copied();
            (place, finding.inst, finding.rule, std::cmp::Reverse(finding.level))
        });
        // Of several operations in one assembly text, only the worst finding is reported.
        found.dedup_by_key(|finding| (finding.inst, finding.rule));
        self.findings = found.into();
    }
}

/// Findings that depend on the operations and the graph alone.
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
    // A finding about evaluated masks says more than one about possible masks.
    let is_said = others.iter().any(|finding| finding.rule == Rule::MissingMembers);
    others.extend(members::finding(facts, site).filter(|_| !is_said));
    others.extend(members::active(facts, site));
    others.extend(numbers::findings(facts, check, site));
    // If waves may part because of what they read, a thread may have written in between.
    let of_waves = barrier.as_ref().filter(|found| found.sources == SourceSet::OPAQUE_WAVE);
    let branch = of_waves.and_then(|found| found.branch);
    let too_soon = branch.and_then(|at| rereads::finding(facts, check.waiting(), at));
    // In that case the early write is the fault.
    let barrier = barrier.filter(|_| too_soon.is_none());
    others.extend(too_soon);
    Judgement { barrier, others, reads: notes.into_inner() }
}
