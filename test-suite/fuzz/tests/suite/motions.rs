//! Motions of convergent operations on random programs keep all groups of threads.

use std::{collections::BTreeSet, sync::Arc};

use phalanx::{
    Session,
    db::{Database, FunctionInput},
    target::Scope,
    transform::{Outcome, Pass, PassError, Registry, code::Code},
};
use phalanx_core::legality::{Refusal, Unroll, machines::Machines};
use phalanx_fuzz::motions::{
    self, PIPELINES, Tally, barriers, check,
    instances::{self, Question, Reason},
    voting,
};
use phalanx_fuzz::programs;
use phalanx_simt::Reconvergence;
use rand::{SeedableRng as _, rngs::SmallRng};

/// Random programs through one pipeline.
fn campaign(pipeline: (&str, bool), seeds: std::ops::Range<u64>, blocks: usize) -> Tally {
    let mut all = Tally::default();
    for seed in seeds {
        let text = voting(&mut SmallRng::seed_from_u64(seed), blocks);
        let tally = check(&Registry::standard(), &text, pipeline, seed, 2);
        all.merge(tally.unwrap_or_else(|error| panic!("{error}")));
    }
    all
}

#[test]
fn pipelines() {
    for &pipeline in PIPELINES {
        let tally = campaign(pipeline, 0..150, 12);
        println!("{}: {tally:?}", pipeline.0);
        assert!(tally.changed > 10 && tally.launches > 10 && tally.groups > 100, "{tally:?}");
    }
}

#[test]
fn kernels_without_races_have_none_with_fewer_barriers() {
    let mut all = barriers::Tally::default();
    for seed in 0..programs(160, 400) {
        let text = barriers::random(&mut SmallRng::seed_from_u64(seed));
        let pipeline = "remove-redundant-barriers";
        let tally = barriers::check(&Registry::standard(), &text, pipeline, seed, 3);
        all.merge(tally.unwrap_or_else(|error| panic!("{error}")));
    }
    println!("{all:?}");
    assert!(all.changed > 40 && all.launches > 40 && all.removed > 80, "{all:?}");
}

/// Removes every second barrier.
struct RemovesBarriers;

impl Pass for RemovesBarriers {
    fn name(&self) -> &str {
        "removes-barriers"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let code = Code::of(db, function);
        let all = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        let barriers: Vec<_> = all.filter(|&i| code.is_convergent(i)).skip(1).step_by(2).collect();
        db.edit(function, |edit| barriers.iter().try_for_each(|&barrier| edit.erase(barrier)))?;
        Ok(Outcome::changed(!barriers.is_empty()))
    }
}

/// A negative control.
#[test]
fn a_pass_that_removes_too_much_is_found_out() {
    let mut registry = Registry::standard();
    registry.add(Arc::new(RemovesBarriers));
    let is_found = |seed: u64| {
        let text = barriers::random(&mut SmallRng::seed_from_u64(seed));
        barriers::check(&registry, &text, "removes-barriers", seed, 3).is_err()
    };
    let found = (0..100).filter(|&seed| is_found(seed)).count();
    println!("{found} of 100");
    assert!(found >= 5, "{found} of 100");
}

fn single_motions(
    seeds: std::ops::Range<u64>,
    questions: &[Question],
    machines: Machines,
    distort: &dyn Fn(Question, Refusal) -> bool,
) -> instances::Tally {
    let mut all = instances::Tally::default();
    for seed in seeds {
        all.merge(instances::check_random(seed, questions, machines, distort));
    }
    all
}

/// Machines, and how many programs.
const MACHINES: [(Machines, u64); 3] = [
    (Machines::All, 24),
    (Machines::Only(Reconvergence::Maximal), 12),
    (Machines::Only(Reconvergence::PostDominator), 12),
];

#[test]
fn legal_motions_keep_all_groups() {
    let seeds = std::env::var("PHALANX_CAMPAIGN").ok().and_then(|n| n.parse().ok());
    for (machines, few) in MACHINES {
        let seeds = 0..seeds.unwrap_or(few);
        let tally = single_motions(seeds, &Question::ALL, machines, &|_, _| false);
        println!("{machines:?}\n{tally}");
        assert!(tally.wrong.is_empty(), "{machines:?}: {:#?}", tally.wrong);
        let legal = Question::ALL.iter().filter(|&&question| tally.of(question).legal > 0).count();
        assert!(legal + 2 > Question::ALL.len(), "{machines:?}: {tally}");
    }
}

/// Peels, unrolls and rotates loops, especially those with several back edges.
#[test]
fn copies_of_rounds_keep_all_groups() {
    let questions = [Question::Unroll, Question::Peel, Question::Rotate];
    let seeds = std::env::var("PHALANX_CAMPAIGN").ok().and_then(|n| n.parse().ok());
    let tally =
        single_motions(1000..1000 + seeds.unwrap_or(16), &questions, Machines::All, &|_, _| false);
    println!("{tally}");
    assert!(tally.wrong.is_empty(), "{:#?}", tally.wrong);
    assert!(questions.iter().all(|&question| tally.of(question).legal > 50), "{tally}");
}

/// The reasons for which each question is refused. `Header` and `TooFar` do not occur.
const REASONS: &[(Question, &[&str])] = &[
    (
        Question::Hoist,
        &["DivergentExit", "NotBefore", "NotDominated", "NotReached", "OtherCycle", "Separates"],
    ),
    (
        Question::HoistSpeculatable,
        &["DivergentExit", "NotBefore", "NotDominated", "OtherCycle", "Separates"],
    ),
    (Question::Sink, &["NotDominated", "OtherCycle", "Separates"]),
    (Question::Reuse, &["NotDominated", "OtherCycle", "Separates"]),
    (Question::Duplicate, &["DivergentEdges"]),
    (Question::Merge, &["DivergentBranch", "NotSides"]),
    (Question::Speculate, &["DivergentBranch", "NotSides"]),
    (Question::Unswitch, &["DivergentBranch"]),
    (Question::Rotate, &["NoSecondHeader"]),
    (Question::SplitHeader, &["HasConvergent"]),
];

/// A negative control for each rule: motions that are permitted against the rule are detected.
#[test]
fn motions_that_are_not_legal_are_found_out() {
    let mut missing: BTreeSet<Reason> = BTreeSet::new();
    for &(question, names) in REASONS {
        missing.extend(names.iter().map(|&name| (question, name.to_owned())));
    }
    let all = missing.len();
    for seed in 0..400 {
        // A question that has been detected is not asked again.
        let questions = Question::ALL.iter().copied();
        let questions: Vec<Question> =
            questions.filter(|q| missing.iter().any(|(of, _)| of == q)).collect();
        for (reason, _) in
            instances::check_random(seed, &questions, Machines::All, &|_, _| true).wrong
        {
            missing.remove(&reason.expect("what is legal keeps all groups"));
        }
        if missing.is_empty() {
            println!("{all} rules are needed, by {} programs", seed + 1);
            return;
        }
    }
    panic!("never found out: {missing:#?}");
}

/// A cycle with two entries, which threads enter after they separated.
const TWO_ENTRIES: &str = "target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
define amdgpu_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
entry:
  %uni.0.n = lshr i32 %a1, 0
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %odd = trunc i32 %x to i1
  %most = and i32 %x, 7
  br i1 %odd, label %one, label %other
one:
  %i = phi i32 [ 0, %entry ], [ %j.next, %other ]
  %i.next = add i32 %i, 1
  %i.ends = icmp ugt i32 %i.next, %most
  br i1 %i.ends, label %exit, label %other
other:
  %j = phi i32 [ 0, %entry ], [ %i.next, %one ]
  %j.next = add i32 %j, 1
  %j.ends = icmp ugt i32 %j.next, 6
  br i1 %j.ends, label %exit, label %one
exit:
  ret void
}";

/// Which threads meet in such a cycle depends on which of its entries is its header, and in a copy
/// that may be the other one.
#[test]
fn copies_of_rounds_with_two_entries_are_found_out() {
    for question in [Question::Unroll, Question::Peel, Question::Rotate] {
        let mut tally = instances::Tally::default();
        let both = (Machines::All, Machines::All);
        for seed in 0..4 {
            tally.merge(instances::check(TWO_ENTRIES, seed, &[question], both, &|_, _| false));
        }
        let refused = tally.reasons.get(&(question, "Irreducible".to_owned()));
        println!("{question:?}: {refused:?}");
        assert!(refused.is_some_and(|&(_, seen)| seen > 0), "{tally}");
    }
}

/// A vote in the requested number of rounds, one at a time or two at a time with a remainder.
fn rounds(is_uniform: bool, two_at_a_time: bool) -> String {
    let asked = if is_uniform { "%a1" } else { "%x" };
    let body = match two_at_a_time {
        false => {
            "  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %v = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %exit"
        }
        true => {
            "  %pairs = and i32 %n, -2
  %any = icmp ne i32 %pairs, 0
  br i1 %any, label %loop, label %rest
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %v = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %w = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %next = add i32 %i, 2
  %more = icmp ult i32 %next, %pairs
  br i1 %more, label %loop, label %rest
rest:
  %left = icmp ult i32 %pairs, %n
  br i1 %left, label %last, label %exit
last:
  %u = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  br label %exit"
        }
    };
    format!(
        "target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
define amdgpu_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {{
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %few = and i32 {asked}, 3
  %n = add i32 %few, 1
{body}
exit:
  ret void
}}"
    )
}

/// Threads with different numbers of rounds separate before the remainder.
#[test]
fn a_remainder_is_for_rounds_that_all_make() {
    for is_uniform in [true, false] {
        let [before, after] = [false, true].map(|two| rounds(is_uniform, two));
        let mut session = Session::new();
        let module = session.read(before.as_bytes()).expect("it is well-formed");
        let function = session.function(module, "f").expect("it is there");
        let cycle = session.cycles(function).and_then(|cycles| cycles.iter().next());
        let legality = session.legality(function, Scope::Wave).expect("it has code");
        let cycle = cycle.expect("there is a loop");
        let answer = legality.unroll(cycle, Unroll::WithRemainder, &|_| true);
        let same = (0..12).filter_map(|seed| {
            Some(motions::groups(&before, seed)? == motions::groups(&after, seed)?)
        });
        let same: Vec<bool> = same.collect();
        assert!(same.len() > 6, "{same:?}");
        match is_uniform {
            true => assert!(answer.is_ok() && !same.contains(&false), "{answer:?}, {same:?}"),
            false => {
                assert!(matches!(answer, Err(Refusal::DivergentExit { .. })), "{answer:?}");
                assert!(same.contains(&false), "{same:?}");
            }
        }
    }
}

/// Moves votes to the entry, which is wrong.
struct MovesVotes;

impl Pass for MovesVotes {
    fn name(&self) -> &str {
        "moves-votes"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let code = Code::of(db, function);
        let Some(entry) = code.flow.entry() else { return Ok(Outcome::Unchanged) };
        let is_there = |inst| {
            code.body.operands(inst).iter().all(|operand| {
                operand.as_inst().is_none_or(|of| code.body.block_of(of) == Some(entry))
            })
        };
        let others = code.flow.order().iter().filter(|&&block| block != entry);
        let votes: Vec<_> = others
            .flat_map(|&block| code.body.block_insts(block))
            .filter(|&i| code.is_convergent(i) && code.call(i).memory.is_none() && is_there(i))
            .collect();
        db.edit(function, |edit| votes.iter().try_for_each(|&vote| edit.move_to_end(vote, entry)))?;
        Ok(Outcome::changed(!votes.is_empty()))
    }
}

#[test]
fn a_pass_that_moves_too_much_is_found_out() {
    let mut registry = Registry::standard();
    registry.add(Arc::new(MovesVotes));
    let is_found = |seed: u64| {
        let text = voting(&mut SmallRng::seed_from_u64(seed), 12);
        check(&registry, &text, ("moves-votes", false), seed, 2).is_err()
    };
    let found = (0..60).filter(|&seed| is_found(seed)).count();
    assert!(found >= 5, "{found} of 60");
}
