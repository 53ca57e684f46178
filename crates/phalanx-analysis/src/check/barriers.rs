//! Barriers that not all threads of a workgroup execute.
//!
//! This page is about workgroups. For the other kinds of barriers, replace "all threads of the
//! workgroup" by the threads that [`kinds`] says have to come to the barrier together.
//!
//! # Definition
//!
//! A barrier is passed when all threads of the workgroup that have not ended wait at it. So a
//! kernel hangs if some thread waits and another that has not ended will not come. Where barriers
//! are counted, the kernel goes on with the wrong data instead.
//!
//! ```c
//! if (threadIdx.x < 10)   // parts threads, and decides the barrier
//!   __syncthreads();      // PHX001
//! out[i] = x;             // so the threads that miss the barrier have not ended
//! ```
//!
//! A block is *live* if an operation that waits (a barrier, a call of a function with one) can
//! still be executed from its beginning; in a function that is called, also if the function can
//! return. Branches whose direction can differ between threads of the workgroup *part* them. A
//! barrier is *decided* by a branch that parts threads if it is control dependent on the branch,
//! directly or through other branches, whether these part threads or not. If no path leads from the
//! barrier to the end of the function, post-dominance says nothing, and every branch counts from
//! which the barrier is reached. A barrier in a cycle is also decided by what decides whether a
//! round comes to it, even if each thread comes in some round (`rounds`). The rule depends on where
//! the branch leads:
//!
//! | successors of the branch | finding |
//! |---|---|
//! | at most one is live, and on the other sides nothing is done that is also done behind the barrier | [`Rule::BarrierAfterExit`] |
//! | one is in a cycle around both, another outside | [`Rule::BarrierInDivergentLoop`] |
//! | each path that misses the barrier comes to another one first | [`Rule::UnmatchedBarriers`] |
//! | otherwise | [`Rule::DivergentBarrier`] |
//!
//! # Why no finding means no hang
//!
//! Take a kernel in which each branch that decides a barrier and parts threads has at most one live
//! successor (all other cases are reported), and two threads of a workgroup that were together so
//! far. Where they first part, at the end of `B`, the facts say that `B` parts threads. If one of
//! them goes to a block that is not live, it ends without a further barrier (calls are assumed to
//! return, and cycles without a barrier to end), and no barrier waits for it. Otherwise two
//! successors are live, so no barrier is decided by `B`: none is on a path to the immediate
//! post-dominator of `B`, where both arrive having executed the same barriers, and are converged
//! again. By induction on the length of the executions, all threads that have not ended execute the
//! same barriers. For a function that is called, returning counts as live, so all threads that call
//! it together execute the same barriers in it; its calls are judged as barriers. Tests compare
//! this with execution.
//!
//! # How sure a finding is
//!
//! An error needs a [`Witness`](super::Witness): a branch in control that is uniform, and two
//! threads of which evaluation shows that one goes where the barrier can be reached and the other
//! where it cannot, at least not in this iteration. Everything else is a warning. A finding is a
//! note if the only reason against uniformity is that memory may change between the reads of two
//! waves, that a caller may pass anything, or that a counter may wrap ([`sizes`](super::sizes)).
//!
//! # Complexity
//!
//! For each barrier, all branches that decide it are visited. Each of these that parts threads
//! costs O(blocks + edges) of the part of the graph between the branch and the barrier and on the
//! paths that miss the barrier (`ways`). Each cycle with a barrier that some rounds miss costs
//! O(blocks + edges) of the cycle. If the function cannot end from a barrier, or the cycle has
//! several entries, O(blocks + edges) per barrier.

use std::{
    cell::{OnceCell, RefCell},
    rc::Rc,
};

use phalanx_core::affect::User;
use phalanx_graph::{BitSet, Node};
use phalanx_ir::{InstId, Opcode, Value, ValueKind, flow::block_of};
use phalanx_target::{
    Scope, SourceSet,
    intrinsics::Location,
    transfer::{Operands, TransferContext},
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Facts, Finding, Geometry, Level, Rule,
    counted::{is_alike_in_rows, is_alike_unless_wraps},
    kinds::{self, Counted},
    launch::harmless,
    rounds::Rounds,
    sites::{Site, SiteKind, condition, intrinsic, waits},
    witness::{Decision, decision, witness},
};
use crate::code::{Code, Numbering, pointer_space};

/// Facts about a function that all its barriers share, from its graph, its operations, and the
/// blocks in which threads return.
#[derive(Debug)]
pub(super) struct FunctionFacts {
    /// Blocks from which an operation that waits can be executed.
    live: BitSet,
    /// Blocks from which a path leads to the end of the function.
    ending: BitSet,
    /// Whether only operations of the target are called. Not computed if no barrier is for a number
    /// of threads.
    pub(super) calls_are_known: bool,
}

impl FunctionFacts {
    /// O(blocks + edges); O(1) if no operation waits, since the facts are then not needed.
    pub(super) fn new(facts: Facts<'_>, sites: &[Site]) -> Self {
        let waiting = waiting(sites);
        if waiting.is_empty() {
            let none = || BitSet::new(0);
            return FunctionFacts { live: none(), ending: none(), calls_are_known: false };
        }
        let ending = backwards(facts, facts.cfg.exits());
        let calls_are_known = kinds::calls_are_known(facts, &waiting);
        FunctionFacts { live: live(facts, &waiting), ending, calls_are_known }
    }

    /// Whether these facts agree with `old` about all blocks that existed then.
    pub(super) fn says_the_same(&self, old: &Self) -> bool {
        let of_all = |now: &BitSet, old: &BitSet| {
            now.universe() >= old.universe()
                && (0..old.universe()).all(|block| now.contains(block) == old.contains(block))
        };
        self.calls_are_known == old.calls_are_known
            && of_all(&self.live, &old.live)
            && of_all(&self.ending, &old.ending)
    }

    /// Whether a change of instructions, none of which is an operation, leaves these facts as they
    /// are.
    pub(super) fn is_as_before(&self, facts: Facts<'_>, sites: &[Site]) -> bool {
        self.calls_are_known == kinds::calls_are_known(facts, &waiting(sites))
    }
}

/// Operations that wait.
fn waiting(sites: &[Site]) -> Vec<&Site> {
    sites.iter().filter(|site| site.kind.may_wait()).collect()
}

/// Findings about barriers, in order, without those that another one makes superfluous.
pub(super) fn said_once<'a>(all: impl Iterator<Item = &'a Finding>) -> Vec<Finding> {
    // If threads wait at two different barriers, one finding is enough.
    let mut branches = FxHashSet::default();
    let is_new = |finding: &&Finding| {
        finding.rule != Rule::UnmatchedBarriers || branches.insert(finding.branch)
    };
    all.filter(is_new).cloned().collect()
}

/// Whether barriers of a function are judged in full: none is for some threads only, and the
/// function calls nothing unknown. Then no finding means that the function does not hang.
#[must_use]
pub fn are_judged(code: Code<'_>, calls: super::Calls<'_>) -> bool {
    super::sites::sites(code, calls).iter().all(|site| match site.kind {
        SiteKind::Barrier { barrier, .. } => {
            !barrier.partial && barrier.scope == Scope::Workgroup && waits(barrier)
        }
        SiteKind::Unknown => false,
        SiteKind::Call(_) | SiteKind::Group { .. } | SiteKind::Arguments => true,
    })
}

/// Blocks from which an operation that waits can be executed.
fn live(facts: Facts<'_>, waiting: &[&Site]) -> BitSet {
    let mut from: Vec<Node> = waiting.iter().map(|site| site.block).collect();
    if !facts.is_kernel {
        let returns = |&node: &Node| {
            let last = facts.code.body.terminator(block_of(node));
            last.is_some_and(|last| facts.code.body.inst(last).opcode == Opcode::Ret)
        };
        from.extend(facts.cfg.nodes().filter(returns));
    }
    backwards(facts, from)
}

/// Blocks from which one of `from` is reached, `from` included.
pub(super) fn backwards(facts: Facts<'_>, from: impl IntoIterator<Item = Node>) -> BitSet {
    let mut seen = BitSet::new(facts.cfg.node_count());
    let mut work: Vec<Node> = from.into_iter().filter(|node| seen.insert(node.index())).collect();
    while let Some(node) = work.pop() {
        let new = facts.cfg.predecessors(node).iter().filter(|node| seen.insert(node.index()));
        work.extend(new);
    }
    seen
}

/// Judges barriers, one after the other.
pub(super) struct Check<'a> {
    env: &'a FunctionFacts,
    waiting: Vec<&'a Site>,
    /// The positions of the operations of each block among `waiting`. Computed on demand: most
    /// edits need none.
    waiting_in: OnceCell<FxHashMap<Node, Vec<usize>>>,
    counted: OnceCell<Counted>,
    /// The blocks that a block is control dependent on, directly or not. Cached for the blocks that
    /// were needed, since several barriers may be in one block.
    controllers: RefCell<FxHashMap<Node, Rc<[Node]>>>,
    rounds: Rounds,
}

impl<'a> Check<'a> {
    /// O(operations).
    pub(super) fn new(env: &'a FunctionFacts, sites: &'a [Site]) -> Self {
        Check {
            env,
            waiting: waiting(sites),
            waiting_in: OnceCell::new(),
            counted: OnceCell::new(),
            controllers: RefCell::default(),
            rounds: Rounds::default(),
        }
    }

    /// The facts that all barriers share.
    pub(super) fn env(&self) -> &'a FunctionFacts {
        self.env
    }

    /// Operations that wait.
    pub(super) fn waiting(&self) -> &[&'a Site] {
        &self.waiting
    }

    /// Positions of the operations in a block that wait.
    fn waiting_in(&self, block: Node) -> Option<&Vec<usize>> {
        let by_block = self.waiting_in.get_or_init(|| {
            let mut by_block: FxHashMap<Node, Vec<usize>> = FxHashMap::default();
            for (at, site) in self.waiting.iter().enumerate() {
                by_block.entry(site.block).or_default().push(at);
            }
            by_block
        });
        by_block.get(&block)
    }

    fn controllers(&self, facts: Facts<'_>, block: Node) -> Rc<[Node]> {
        let find = || facts.control.iterated_controllers(facts.postdom, [block]).into();
        Rc::clone(self.controllers.borrow_mut().entry(block).or_insert_with(find))
    }

    /// The finding about a barrier, if there is one.
    pub(super) fn finding(&self, facts: Facts<'_>, site: &Site) -> Option<Finding> {
        let counted = || self.counted.get_or_init(|| Counted::new(&self.waiting));
        let scope = kinds::together(facts, site, counted, self.env.calls_are_known)?;
        let callee = match site.kind {
            SiteKind::Call(name) => Some(name),
            _ => None,
        };
        let mut deciding = if !self.env.ending.contains(site.block.index()) {
            let before = backwards(facts, [site.block]);
            facts.cfg.nodes().filter(|node| before.contains(node.index())).collect()
        } else if facts.is_parted(site.block, scope) {
            self.controllers(facts, site.block).to_vec()
        } else {
            // The usual case: nothing that varies decides the barrier.
            Vec::new()
        };
        for cycle in
            facts.cycles.innermost(site.block).into_iter().flat_map(|c| facts.cycles.ancestors(c))
        {
            deciding.extend(self.rounds.deciding(facts, cycle, site.block));
        }
        let mut worst: Option<Finding> = None;
        let within = conditional(facts, site, scope) | chosen(facts, site, scope);
        if !within.is_empty() {
            let level = likely(facts, within);
            let found = Finding::new(Rule::DivergentBarrier, level, site.inst, scope);
            worst = Some(Finding { sources: within, callee, ..found });
        }
        for branch in deciding {
            let sources = facts.parting(branch, scope);
            if sources.is_empty() {
                continue;
            }
            let finding = Finding { callee, ..self.decided(facts, site, scope, branch, sources) };
            let weight = |finding: &Finding| (finding.level, rank(finding.rule));
            if worst.as_ref().is_none_or(|worst| weight(&finding) > weight(worst)) {
                worst = Some(finding);
            }
        }
        worst
    }

    /// The finding about a barrier and a branch that decides it and parts threads.
    fn decided(
        &self,
        facts: Facts<'_>,
        site: &Site,
        scope: Scope,
        branch: Node,
        sources: SourceSet,
    ) -> Finding {
        let targets = {
            let mut targets = facts.cfg.successors(branch).to_vec();
            targets.sort_unstable();
            targets.dedup();
            targets
        };
        // The targets from which the barrier is reached in this iteration.
        let comes = |node: Node| facts.ways().come(branch, node, site.block);
        let (coming, missing): (Vec<Node>, Vec<Node>) =
            targets.iter().copied().partition(|&target| comes(target));
        let mut other = None;
        let rule = if self.is_exit(facts, site, &targets) {
            Rule::BarrierAfterExit
        } else if leaves_cycle(facts, site, branch, &targets) {
            Rule::BarrierInDivergentLoop
        } else if let Some(met) = self.met_instead(facts, site, branch, &coming, &missing) {
            other = Some(met);
            Rule::UnmatchedBarriers
        } else {
            Rule::DivergentBarrier
        };
        let is_together = !facts.is_parted(branch, scope);
        let is_near = scope <= Scope::Workgroup;
        let is_for_rows = scope == Scope::Wave
            && (decision(facts, branch, Scope::Wave) == Decision::TogetherInRows
                || is_alike_in_rows(facts, branch, Scope::Wave));
        let witness = (rule != Rule::BarrierAfterExit && is_together && is_near && !is_for_rows)
            .then(|| {
                let comes = |node: Node| coming.contains(&node);
                let in_wave = scope == Scope::Wave;
                witness(facts, branch, in_wave, comes, |node| missing.contains(&node))
            })
            .flatten();
        let level = match rule {
            Rule::BarrierAfterExit => Level::Note,
            _ if is_for_rows || is_alike_unless_wraps(facts, branch, scope) => Level::Note,
            _ if witness.is_some_and(|witness| witness.is_certain) => Level::Error,
            _ => likely(facts, sources),
        };
        let mut safe = harmless(sources, scope, facts.launch);
        if let Some(width) = facts.launch.wave_width.filter(|_| is_for_rows) {
            let rows = Geometry::RowsOfWaves(width);
            safe.retain(|other| *other != rows);
            safe.insert(0, rows);
        }
        if let Some(witness) = witness {
            // The first thread that decides otherwise comes after those that agree.
            let last = witness.comes.iter().zip(&witness.stays_away).map(|(a, b)| (*a).max(*b));
            let last: Vec<u32> = last.collect();
            if let [axis] = (0..3).filter(|&axis| last[axis] > 0).collect::<Vec<_>>()[..]
                && last[axis] > 1
                && !witness.is_certain
            {
                safe.insert(0, Geometry::AtMost { axis, threads: last[axis] });
            }
        }
        Finding {
            branch: Some(branch),
            sources,
            other,
            witness,
            safe,
            ..Finding::new(rule, level, site.inst, scope)
        }
    }

    /// Whether the threads that do not go on towards barriers have practically ended.
    fn is_exit(&self, facts: Facts<'_>, site: &Site, targets: &[Node]) -> bool {
        let (live, quiet): (Vec<Node>, Vec<Node>) =
            targets.iter().partition(|target| self.env.live.contains(target.index()));
        if live.len() > 1 || quiet.is_empty() {
            return false;
        }
        // No operation waits where they go, so the barrier is not reached again from there.
        let is_done_behind = |at: Node| has_effect(facts, at) && facts.ways().lead(site.block, at);
        !facts.ways().any(quiet, |_| true, is_done_behind)
    }

    /// Another operation that waits, if each path from `missing` meets one before threads are
    /// together again.
    fn met_instead(
        &self,
        facts: Facts<'_>,
        site: &Site,
        branch: Node,
        coming: &[Node],
        missing: &[Node],
    ) -> Option<InstId> {
        if coming.is_empty() || missing.is_empty() {
            return None;
        }
        let join = facts.postdom.ipdom(branch).filter(|&at| at != facts.postdom.virtual_exit());
        let met_in = |node: Node| self.waiting_in(node);
        // The first one in the text that is another operation.
        let mut met: Option<usize> = None;
        let mut escapes = |node: Node| {
            let Some(here) = met_in(node) else {
                return Some(node) == join || facts.cfg.successors(node).is_empty();
            };
            if Some(node) != join {
                let other = here.iter().find(|&&at| self.waiting[at].inst != site.inst);
                met = met.into_iter().chain(other.copied()).min();
            }
            false
        };
        let goes_on = |node: Node| met_in(node).is_none() && Some(node) != join;
        let some = facts.ways().any(missing.iter().copied(), goes_on, &mut escapes);
        met.filter(|_| !some).map(|at| self.waiting[at].inst)
    }
}

/// Whether the branch leads some threads out of a cycle that contains it and the barrier.
fn leaves_cycle(facts: Facts<'_>, site: &Site, branch: Node, targets: &[Node]) -> bool {
    let cycles = facts.cycles;
    let Some(common) = cycles.common(branch, site.block) else { return false };
    cycles.ancestors(common).any(|cycle| {
        let stays = |target: &&Node| cycles.contains(cycle, **target);
        let count = targets.iter().filter(stays).count();
        count > 0 && count < targets.len()
    })
}

/// The sources that decide which functions threads of a scope call, if one of these has a barrier.
fn chosen(facts: Facts<'_>, site: &Site, scope: Scope) -> SourceSet {
    let callee = facts.code.body.callee(site.inst);
    match site.kind {
        SiteKind::Call(_) if callee.as_const().is_none() => {
            let numbering = Numbering::new(facts.code.header);
            let user = User::value(numbering.inst(site.inst));
            let sources =
                numbering.operand(callee).map(|value| facts.divergence.at_use(value, user));
            sources.unwrap_or_default() & facts.varying(scope)
        }
        _ => SourceSet::EMPTY,
    }
}

/// The sources that decide within assembly whether an operation is executed, of those that vary
/// among the threads of a scope.
pub(super) fn conditional(facts: Facts<'_>, site: &Site, scope: Scope) -> SourceSet {
    /// Special registers have no operands.
    struct None;
    impl Operands for None {
        fn count(&self) -> usize {
            0
        }
        fn sources(&self, _: usize) -> SourceSet {
            SourceSet::EMPTY
        }
        fn constant(&self, _: usize) -> Option<u64> {
            Option::None
        }
        fn may_be_private(&self, _: usize) -> bool {
            false
        }
    }
    let Some((read, origins)) = condition(facts, site) else { return SourceSet::EMPTY };
    let mut sources = SourceSet::EMPTY;
    if origins.is_anything {
        sources |= SourceSet::OPAQUE_THREAD;
    }
    let context = TransferContext::new(facts.launch, false);
    for operation in origins.operations.iter().map(|&at| &read.operations[at]) {
        sources |= match operation.arguments.is_empty() {
            true => operation.intrinsic.info.result.evaluate(&None, &context),
            false => SourceSet::OPAQUE_THREAD,
        };
    }
    let numbering = Numbering::new(facts.code.header);
    let arguments = facts.code.body.call_args(site.inst);
    for &position in &origins.arguments {
        let argument = arguments.get(position as usize);
        let number = argument.and_then(|&argument| numbering.operand(argument));
        if let Some(number) = number {
            let of = facts.divergence.value(number);
            facts.reads_value(number, of);
            sources |= of;
        }
    }
    sources & facts.varying(scope)
}

/// Of two findings about one barrier, the one with the higher rank is kept.
fn rank(rule: Rule) -> u32 {
    match rule {
        Rule::UnmatchedBarriers => 3,
        Rule::BarrierInDivergentLoop => 2,
        Rule::DivergentBarrier => 1,
        _ => 0,
    }
}

/// The level of a possible fault, by what is known of its sources.
pub(super) fn likely(facts: Facts<'_>, sources: SourceSet) -> Level {
    let unknown = SourceSet::OPAQUE_THREAD
        | SourceSet::OPAQUE_QUAD
        | SourceSet::OPAQUE_WAVE
        | SourceSet::OPAQUE_GROUP;
    let is_passed = !facts.is_kernel && !facts.callers_are_known && (sources - unknown).is_empty();
    match (sources - SourceSet::OPAQUE_WAVE).is_empty() || is_passed {
        true => Level::Note,
        false => Level::Warning,
    }
}

/// Whether other threads can see that a block was executed.
pub(super) fn has_effect(facts: Facts<'_>, block: Node) -> bool {
    let mut insts = facts.code.body.block_insts(block_of(block));
    let has_effect = insts.any(|inst| has_effect_itself(facts.code, inst));
    facts.reads_effect(block, has_effect);
    has_effect
}

/// Whether other threads can see that an instruction was executed.
#[must_use]
pub fn has_effect_itself(code: Code<'_>, inst: InstId) -> bool {
    let body = code.body;
    match body.inst(inst).opcode {
        Opcode::Store => !is_own(code, body.operands(inst)[1]),
        Opcode::AtomicRmw | Opcode::CmpXchg | Opcode::Invoke | Opcode::CallBr => true,
        Opcode::Call => {
            let found = intrinsic(code, inst);
            let Some(found) = found else { return true };
            let memory = found.info.memory;
            let is_own =
                memory.location == Location::Argument && writes_its_own(code, inst, found.base);
            (memory.writes_memory() && !is_own) || found.info.convergent
        }
        _ => false,
    }
}

/// Whether an intrinsic that writes what its arguments point to writes to stack slots only.
fn writes_its_own(code: Code<'_>, call: InstId, base: &str) -> bool {
    let arguments = code.body.call_args(call);
    // These only read what their second argument points to.
    let copies = ["memcpy", "memmove"].iter().any(|name| base.starts_with(name));
    let written = if copies { &arguments[..arguments.len().min(1)] } else { arguments };
    let mut pointers = written.iter().filter(|&&argument| is_pointer(code, argument)).peekable();
    pointers.peek().is_some() && pointers.all(|&pointer| is_own(code, pointer))
}

fn is_pointer(code: Code<'_>, value: Value) -> bool {
    let Code { context, header, body, .. } = code;
    let ty = match value.kind() {
        ValueKind::Inst(inst) => body.inst(inst).ty,
        ValueKind::Arg(position) => header.params[position as usize],
        ValueKind::Const(constant) => context.const_data(constant).ty,
        _ => return false,
    };
    pointer_space(context, ty).is_some()
}

/// Whether an address is that of a stack slot. Looks through a few steps.
fn is_own(code: Code<'_>, address: Value) -> bool {
    let body = code.body;
    let mut at = address;
    for _ in 0..8 {
        let Some(inst) = at.as_inst() else { return false };
        match body.inst(inst).opcode {
            Opcode::Alloca => return true,
            Opcode::GetElementPtr | Opcode::AddrSpaceCast => at = body.operands(inst)[0],
            _ => return false,
        }
    }
    false
}
