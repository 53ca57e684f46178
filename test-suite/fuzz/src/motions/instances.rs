//! Checks single motions against execution: each motion is made, whether it is legal or not.
//!
//! A *probe*, a vote that nothing reads, is put into a block of a random program, and the program
//! is executed before and after the motion. For each answer of [`Legality`], the groups of the
//! probe and of its copies must have this relation:
//!
//! | motion | groups before and after |
//! |---|---|
//! | hoist, merge, duplicate, unswitch, unroll, peel, rotate, split a header | the same, equally often |
//! | hoist out of a cycle | the same |
//! | hoist or speculate what may be executed speculatively | those before are among those after |
//! | sink | those after are among those before |
//! | reuse | the later vote gives each thread what the earlier one gave it |
//!
//! Groups are those of all models of reconvergence that a motion has to be legal under.
//!
//! For refused motions, it is counted how often a group really changed in some launch: this
//! measures how precise the rules are. It is also counted for each [reason](Reason): a reason that
//! never prevents a change is not needed.

use phalanx::{
    Session,
    ir::{
        BlockId, BuildError, InstBuilder as _, InstId, Module, Opcode, Value,
        edit::{Clones, InModule, Transaction},
        flow::{block_of, node_of},
    },
    target::Scope,
};
use phalanx_core::legality::{Legality, Refusal, Unroll, machines::Machines};
use phalanx_graph::{Cfg, CycleId, Cycles, DomTree, Node};
use rand::{Rng as _, RngCore, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};

use super::compare::{Made, Relation, compare, compare_values};
use super::tally::name_of;
use super::{counted, demote, voting_for};
use crate::oracle::programs::Kind;
use crate::transforms::{MODELS, module_of};

pub use super::tally::{Count, Question, Reason, Tally};

/// A question, and the place that it is about.
#[derive(Copy, Clone, Debug)]
struct Case {
    question: Question,
    /// The block of the probe, and another block.
    from: Node,
    to: Node,
    cycle: Option<CycleId>,
}

struct Subject<'s> {
    base: &'s Module,
    at: usize,
    /// A vote that probes are copies of.
    vote: InstId,
    cfg: &'s Cfg,
    dom: &'s DomTree,
    cycles: &'s Cycles,
}

type Motion = Result<Option<Made>, BuildError>;

/// The places of edges from a block to another.
fn edges(edit: &Transaction<'_>, from: BlockId, to: BlockId) -> Vec<usize> {
    let successors = edit.flow().successors(from).iter().enumerate();
    successors.filter(|&(_, &next)| next == to).map(|(at, _)| at).collect()
}

fn redirect(
    edit: &mut Transaction<'_>,
    from: BlockId,
    old: BlockId,
    new: BlockId,
) -> Result<(), BuildError> {
    edges(edit, from, old).into_iter().try_for_each(|at| edit.redirect_edge(from, at, new))
}

impl Subject<'_> {
    /// A random case of a question, if there is one.
    fn case(&self, question: Question, rng: &mut dyn RngCore) -> Option<Case> {
        let nodes: Vec<Node> = self.cfg.nodes().filter(|&n| self.dom.is_reachable(n)).collect();
        let inner: Vec<Node> = nodes.iter().copied().filter(|&n| n != self.cfg.entry()).collect();
        let is_of_rounds = matches!(question, Question::Unroll | Question::Peel | Question::Rotate);
        let cycles: Vec<CycleId> = self
            .cycles
            .iter()
            .filter(|&cycle| is_of_rounds || self.cycles.is_reducible(cycle))
            .collect();
        let from = *inner.choose(rng)?;
        let above = |node: Node| {
            let mut all = Vec::new();
            let mut at = self.dom.idom(node);
            while let Some(up) = at {
                all.push(up);
                at = self.dom.idom(up);
            }
            all
        };
        let plain = |from: Node, to: Node| Some(Case { question, from, to, cycle: None });
        // Sometimes an unrelated block.
        let is_elsewhere = rng.random_ratio(1, 8);
        let anywhere = *inner.choose(rng)?;
        match question {
            Question::Hoist
            | Question::HoistSpeculatable
            | Question::Sink
            | Question::Reuse
            | Question::Merge
                if is_elsewhere && anywhere != from =>
            {
                plain(from, anywhere)
            }
            Question::Speculate if is_elsewhere => plain(from, self.cfg.predecessors(from)[0]),
            Question::Hoist | Question::HoistSpeculatable => plain(from, *above(from).choose(rng)?),
            Question::Sink | Question::Reuse => plain(*above(from).choose(rng)?, from),
            Question::Duplicate => plain(from, from),
            Question::Merge | Question::Speculate => {
                let &[branch] = self.cfg.predecessors(from) else { return None };
                let sides = self.cfg.successors(branch);
                let other = *sides.iter().find(|&&side| side != from)?;
                let is_side = self.cfg.predecessors(other) == [branch];
                match question {
                    Question::Speculate => plain(from, branch),
                    _ if is_side && sides.len() == 2 => plain(from, other),
                    _ => None,
                }
            }
            Question::Unswitch
            | Question::Unroll
            | Question::Peel
            | Question::Rotate
            | Question::SplitHeader => {
                let cycle = *cycles.choose(rng)?;
                let blocks = self.cycles.blocks(cycle);
                // Only branches on invariant conditions can be unswitched.
                let mut branches: Vec<Node> =
                    blocks.iter().copied().filter(|&node| self.is_invariant(node)).collect();
                // Few are divergent.
                if question == Question::Unswitch && rng.random() {
                    let is_of_thread = |&node: &Node| self.is_on(node, b"bit.0");
                    if branches.iter().any(is_of_thread) {
                        branches.retain(is_of_thread);
                    }
                }
                let to = match question {
                    Question::Unswitch => *branches.choose(rng)?,
                    _ => self.cycles.header(cycle),
                };
                if question == Question::SplitHeader && self.around(cycle, true).len() < 2 {
                    return None;
                }
                let from = match question {
                    // The effect on other blocks is of interest, too.
                    Question::SplitHeader if rng.random() => from,
                    _ => *blocks.choose(rng)?,
                };
                Some(Case { question, from, to, cycle: Some(cycle) })
            }
        }
    }

    /// Whether a block ends with a branch on what is defined in the entry.
    fn is_invariant(&self, node: Node) -> bool {
        let function = &self.base.functions[self.at];
        let Some(branch) = function.body.terminator(block_of(node)) else { return false };
        let is_branch = function.body.inst(branch).opcode == Opcode::Br;
        let condition = function.body.operands(branch).first().and_then(|value| value.as_inst());
        let block = condition.and_then(|inst| function.body.block_of(inst));
        is_branch && self.cfg.successors(node).len() == 2 && block == function.flow.entry()
    }

    /// Whether a block ends with a branch on a value of this name.
    fn is_on(&self, node: Node, name: &[u8]) -> bool {
        let function = &self.base.functions[self.at];
        let branch = function.body.terminator(block_of(node));
        let condition = branch.and_then(|b| function.body.operands(b).first()?.as_inst());
        condition.is_some_and(|inst| function.extras.names.inst(inst) == Some(name))
    }

    fn answer(&self, legality: &Legality<'_>, case: Case) -> Result<(), Refusal> {
        let Case { question, from, to, cycle } = case;
        let is_convergent = |node: Node| node == from;
        let in_cycle = |ask: &dyn Fn(CycleId) -> Result<(), Refusal>| match cycle {
            Some(cycle) => ask(cycle),
            None => Err(Refusal::NotSpeculatable),
        };
        match question {
            Question::Hoist => legality.hoist(from, to, false),
            Question::HoistSpeculatable => legality.hoist(from, to, true),
            Question::Sink => legality.sink(from, to),
            Question::Reuse => legality.cse(from, to),
            Question::Duplicate => legality.duplicate(from),
            Question::Merge => legality.merge(from, to),
            Question::Speculate => legality.speculate(from, true),
            Question::Unswitch => in_cycle(&|c| legality.unswitch(c, to, &is_convergent)),
            Question::Unroll => {
                in_cycle(&|c| legality.unroll(c, Unroll::WithExits, &is_convergent))
            }
            Question::Peel => in_cycle(&|c| legality.peel(c)),
            Question::Rotate => in_cycle(&|c| legality.rotate(c)),
            Question::SplitHeader => in_cycle(&|c| legality.split_header(c, &is_convergent)),
        }
    }

    /// The modules before and after the motion of a case.
    fn make(&self, case: Case) -> Option<(Module, Module, Made)> {
        let mut before = self.base.clone();
        let (first, second) = {
            let mut store = InModule::new(&mut before, self.at);
            let mut edit = Transaction::new(&mut store);
            let (from, to) = (block_of(case.from), block_of(case.to));
            let first = edit.at_start(from).named("probe").clone_of(self.vote).ok()?;
            let second = match case.question {
                Question::Merge | Question::Reuse => {
                    Some(edit.at_start(to).named("probe").clone_of(self.vote).ok()?)
                }
                _ => None,
            };
            edit.commit().ok()?;
            (first, second)
        };
        let mut after = before.clone();
        let made = {
            let mut store = InModule::new(&mut after, self.at);
            let mut edit = Transaction::new(&mut store);
            let made = self.motion(&mut edit, case, first, second).ok()??;
            let errors = edit.verify();
            assert!(errors.is_empty(), "{case:?}: {errors:?}");
            edit.commit().ok()?;
            made
        };
        Some((before, after, made))
    }

    fn motion(
        &self,
        edit: &mut Transaction<'_>,
        case: Case,
        probe: InstId,
        second: Option<InstId>,
    ) -> Motion {
        let (from, to) = (block_of(case.from), block_of(case.to));
        let before: Vec<InstId> = [Some(probe), second].into_iter().flatten().collect();
        let moved =
            |relation| Ok(Some(Made { after: vec![probe], before: before.clone(), relation }));
        match case.question {
            Question::Hoist | Question::HoistSpeculatable => {
                edit.move_to_end(probe, to)?;
                let is_inside = self
                    .cycles
                    .innermost(case.from)
                    .is_none_or(|cycle| self.cycles.contains(cycle, case.to));
                moved(match (case.question, is_inside) {
                    (Question::Hoist, true) => Relation::Equal,
                    (Question::Hoist, false) => Relation::EqualSets,
                    (_, true) => Relation::Grows,
                    (_, false) => Relation::GrowsSets,
                })
            }
            Question::Sink => {
                edit.move_to_end(probe, to)?;
                moved(Relation::Shrinks)
            }
            Question::Reuse => moved(Relation::Equal),
            Question::Speculate => {
                edit.move_to_end(probe, to)?;
                moved(Relation::Grows)
            }
            Question::Merge => {
                let Some(second) = second else { return Ok(None) };
                let branch = block_of(self.cfg.predecessors(case.from)[0]);
                let join = match (self.cfg.successors(case.from), self.cfg.successors(case.to)) {
                    (&[one], &[other]) if one == other && self.cfg.predecessors(one).len() == 2 => {
                        Some(block_of(one))
                    }
                    _ => None,
                };
                edit.erase(second)?;
                match join.filter(|_| case.from.index().is_multiple_of(2)) {
                    // Behind both sides, where they have led nowhere else.
                    Some(join) => edit.move_to_end(probe, join)?,
                    None => edit.move_to_end(probe, branch)?,
                }
                moved(Relation::Equal)
            }
            Question::Duplicate => self.duplicate(edit, from, probe),
            Question::Unswitch => self.unswitch(edit, case, probe),
            Question::Unroll | Question::Peel => self.unroll(edit, case, probe),
            Question::Rotate => self.rotate(edit, case, probe),
            Question::SplitHeader => self.split_header(edit, case, probe),
        }
    }

    /// A copy for each predecessor, on the edge where that leads elsewhere, too.
    fn duplicate(&self, edit: &mut Transaction<'_>, block: BlockId, probe: InstId) -> Motion {
        let mut preds: Vec<Node> = self.cfg.predecessors(node_of(block)).to_vec();
        preds.sort_unstable();
        preds.dedup();
        let mut copies = Vec::new();
        for pred in preds {
            let pred = block_of(pred);
            let places = edges(edit, pred, block);
            let new = edit.split_edge(pred, places[0], "copy")?;
            for &place in &places[1..] {
                edit.redirect_edge(pred, place, new)?;
            }
            copies.push(edit.at_end(new).named("probe").clone_of(probe)?);
        }
        edit.erase(probe)?;
        Ok(Some(Made { before: vec![probe], after: copies, relation: Relation::Equal }))
    }

    fn clone_cycle(
        &self,
        edit: &mut Transaction<'_>,
        cycle: CycleId,
    ) -> Result<Clones, BuildError> {
        let blocks: Vec<BlockId> =
            self.cycles.blocks(cycle).iter().copied().map(block_of).collect();
        edit.clone_blocks(&blocks)
    }

    /// Predecessors of a header from within its cycle, or from outside.
    fn around(&self, cycle: CycleId, inside: bool) -> Vec<BlockId> {
        let header = self.cycles.header(cycle);
        let mut preds: Vec<Node> = self.cfg.predecessors(header).to_vec();
        preds.retain(|&pred| self.cycles.contains(cycle, pred) == inside);
        preds.sort_unstable();
        preds.dedup();
        preds.into_iter().map(block_of).collect()
    }

    /// A branch on what is defined in the entry is taken before the cycle.
    fn unswitch(&self, edit: &mut Transaction<'_>, case: Case, probe: InstId) -> Motion {
        let Some(cycle) = case.cycle else { return Ok(None) };
        let Some(branch) = edit.body().terminator(block_of(case.to)) else { return Ok(None) };
        let condition = edit.body().operands(branch)[0];
        let clones = self.clone_cycle(edit, cycle)?;
        let header = block_of(self.cycles.header(cycle));
        let Some(other) = clones.block(header) else { return Ok(None) };
        let first = self.around(cycle, false);
        let choose = edit.create_block("choose", first.first().copied())?;
        edit.at_end(choose).cond_br(condition, header, other)?;
        for pred in first {
            redirect(edit, pred, header, choose)?;
        }
        let constant = |value: bool| Value::from(edit.context().const_bool(value));
        let (yes, no) = (constant(true), constant(false));
        let position = edit.body().operands(branch).iter().position(|&v| v == condition);
        let position = position.unwrap_or_default() as u32;
        edit.set_operand(branch, position, yes)?;
        if let Some(copy) = clones.inst(branch) {
            edit.set_operand(copy, position, no)?;
        }
        let after = [Some(probe), clones.inst(probe)].into_iter().flatten().collect();
        Ok(Some(Made { before: vec![probe], after, relation: Relation::Equal }))
    }

    /// Two copies of a cycle in turns, or one for the first round.
    fn unroll(&self, edit: &mut Transaction<'_>, case: Case, probe: InstId) -> Motion {
        let Some(cycle) = case.cycle else { return Ok(None) };
        let clones = self.clone_cycle(edit, cycle)?;
        let header = block_of(self.cycles.header(cycle));
        let Some(other) = clones.block(header) else { return Ok(None) };
        let latches = self.around(cycle, true);
        for &latch in &latches {
            let Some(copy) = clones.block(latch) else { return Ok(None) };
            redirect(edit, copy, other, header)?;
            if case.question == Question::Unroll {
                redirect(edit, latch, header, other)?;
            }
        }
        if case.question == Question::Peel {
            for pred in self.around(cycle, false) {
                redirect(edit, pred, header, other)?;
            }
        }
        let after = [Some(probe), clones.inst(probe)].into_iter().flatten().collect();
        Ok(Some(Made { before: vec![probe], after, relation: Relation::Equal }))
    }

    /// A copy of the header is before the cycle.
    fn rotate(&self, edit: &mut Transaction<'_>, case: Case, probe: InstId) -> Motion {
        let Some(cycle) = case.cycle else { return Ok(None) };
        let header = block_of(self.cycles.header(cycle));
        let clones = edit.clone_blocks(&[header])?;
        let Some(first) = clones.block(header) else { return Ok(None) };
        // A header that leads to itself is a round, of which the first one is made before.
        redirect(edit, first, first, header)?;
        for pred in self.around(cycle, false) {
            redirect(edit, pred, header, first)?;
        }
        let after = [Some(probe), clones.inst(probe)].into_iter().flatten().collect();
        Ok(Some(Made { before: vec![probe], after, relation: Relation::Equal }))
    }

    /// One of several latches leads to a header of its own.
    fn split_header(&self, edit: &mut Transaction<'_>, case: Case, probe: InstId) -> Motion {
        let Some(cycle) = case.cycle else { return Ok(None) };
        let header = block_of(self.cycles.header(cycle));
        let latches = self.around(cycle, true);
        let (Some(&last), true) = (latches.last(), latches.len() > 1) else { return Ok(None) };
        let first = self.around(cycle, false);
        let outer = edit.create_block("outer", first.first().copied())?;
        edit.at_end(outer).br(header)?;
        for pred in first.into_iter().chain([last]) {
            redirect(edit, pred, header, outer)?;
        }
        Ok(Some(Made { before: vec![probe], after: vec![probe], relation: Relation::Equal }))
    }
}

/// Makes motions in a random program, for some questions. `distort` may turn a refusal into
/// permission: for tests that the comparison can fail.
///
/// # Panics
/// As [`check`].
#[must_use]
pub fn check_random(
    seed: u64,
    questions: &[Question],
    machines: Machines,
    distort: &dyn Fn(Question, Refusal) -> bool,
) -> Tally {
    check_random_under(seed, questions, (machines, machines), distort)
}

/// As [`check_random`], with legality for some machines and execution on others.
///
/// # Panics
/// As [`check`].
#[must_use]
pub fn check_random_under(
    seed: u64,
    questions: &[Question],
    machines: (Machines, Machines),
    distort: &dyn Fn(Question, Refusal) -> bool,
) -> Tally {
    let rng = &mut SmallRng::seed_from_u64(seed);
    // Graphs of all kinds, or many loops.
    let text = match seed % 2 {
        0 => voting_for(Kind::Amdgcn, rng, 12),
        _ => counted::random(rng),
    };
    check(&text, seed, questions, machines, distort)
}

/// As [`check_random`], for a given program: its kernel `@f` has a line that begins with
/// `%uni.0.n = ` in the entry, and a ballot.
///
/// # Panics
/// When a motion breaks rules of the IR.
#[must_use]
pub fn check(
    text: &str,
    seed: u64,
    questions: &[Question],
    (asked, executed): (Machines, Machines),
    distort: &dyn Fn(Question, Refusal) -> bool,
) -> Tally {
    let rng = &mut SmallRng::seed_from_u64(!seed);
    let mut tally = Tally::default();
    let mut session = Session::new();
    // One more vote, to make probes of.
    let Some(at) = text.find("  %uni.0.n = ") else { return tally };
    if !text.contains("@llvm.amdgcn.ballot.i64(i1") {
        return tally;
    }
    let vote = "  %probe.base = call i64 @llvm.amdgcn.ballot.i64(i1 true)\n";
    let text = format!("{}{vote}{}", &text[..at], &text[at..]);
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    let function = session.function(module, "f").expect("the kernel is called @f");
    session.edit(function, demote).expect("every value has a place in memory");
    let base = module_of(&session, module);
    let Some(at) = base.functions.iter().position(|f| {
        matches!(f.header.name, phalanx::ir::GlobalName::Named(name) if base.context.bytes(name) == b"f")
    }) else {
        return tally;
    };
    let body = &base.functions[at].body;
    let names = &base.functions[at].extras.names;
    let Some(vote) = body.all_ids().find(|&i| names.inst(i) == Some(b"probe.base".as_slice()))
    else {
        return tally;
    };
    let (Some(cfg), Some(dom), Some(cycles)) =
        (session.cfg(function), session.dom_tree(function), session.cycles(function))
    else {
        return tally;
    };
    let subject = Subject { base: &base, at, vote, cfg, dom, cycles };
    // As many in all.
    let times = 5 * Question::ALL.len() / questions.len().max(1);
    for &question in questions {
        for _ in 0..times {
            let Some(case) = subject.case(question, rng) else { continue };
            let scope = if rng.random() { Scope::Wave } else { Scope::Workgroup };
            // Votes are of a wave.
            let scope = if question == Question::Reuse { Scope::Wave } else { scope };
            let Some(legality) = session.legality(function, scope) else { continue };
            let answer = subject.answer(&legality.under(asked), case);
            let Some((before, after, made)) = subject.make(case) else { continue };
            let launch = rng.next_u64();
            let number = usize::from(scope != Scope::Wave);
            let (mut groups, mut holds) = (0, true);
            for model in MODELS.into_iter().filter(|&model| executed.include(model)) {
                let launch = (launch, model);
                let found = match made.before[..] {
                    [first, second] if question == Question::Reuse => {
                        compare_values(&before, [first, second], launch)
                    }
                    _ => compare(&before, &after, &made, number, launch),
                };
                groups += found.0;
                holds &= found.1;
            }
            if groups == 0 {
                continue;
            }
            let count = &mut tally.counts[question as usize];
            let refusal = answer.err();
            let reason = refusal.map(|refusal| (question, name_of(refusal)));
            if refusal.is_none_or(|refusal| distort(question, refusal)) {
                count.legal += 1;
                count.groups += groups;
                if !holds {
                    let text = format!("{case:?}, {scope:?}, seed {seed}, launch {launch}");
                    tally.wrong.push((reason, text));
                }
            } else {
                count.refused += 1;
                count.seen += u64::from(!holds);
                if let Some(reason) = reason {
                    let (refused, seen) = tally.reasons.entry(reason).or_default();
                    *refused += 1;
                    *seen += u64::from(!holds);
                }
            }
        }
    }
    tally
}
