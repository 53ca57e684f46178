//! Transforms that are legal under one model of reconvergence only, executed under the other: the
//! checks detect that.

use phalanx::transform::Registry;
use phalanx_core::legality::machines::Machines;
use phalanx_fuzz::motions::{
    Tally, check_under, counted,
    instances::{self, Question},
    voting,
};
use phalanx_fuzz::programs;
use phalanx_simt::Reconvergence;
use rand::{SeedableRng as _, rngs::SmallRng};

const MAXIMAL: &[Reconvergence] = &[Reconvergence::Maximal];
const STACKS: &[Reconvergence] = &[Reconvergence::PostDominator];

fn check(text: &str, pipeline: &str, seed: u64, models: &[Reconvergence]) -> Result<Tally, String> {
    check_under(&Registry::standard(), text, (pipeline, true), (seed, 3), models)
}

/// How many random programs a pipeline changes, and of how many it changes the groups.
fn campaign(pipeline: &str, seeds: u64, models: &[Reconvergence]) -> (u64, u64) {
    let (mut changed, mut wrong) = (0, 0);
    for seed in 0..seeds {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let text = if seed % 2 == 0 { counted::random(rng) } else { voting(rng, 12) };
        match check(&text, pipeline, seed, models) {
            Ok(tally) => changed += tally.changed,
            Err(_) => wrong += 1,
        }
    }
    (changed, wrong)
}

/// Random programs with a vote behind a block that may be copied show the effect of jump threading
/// on groups.
#[test]
fn passes_keep_groups_on_stacks_unless_they_are_told_not_to() {
    for (pass, parameters) in
        [("jump-threading", "size=40"), ("simplifycfg", "speculate=4"), ("loop-unroll", "count=2")]
    {
        let (changed, wrong) = campaign(&format!("{pass}<{parameters}>"), programs(30, 60), STACKS);
        println!("{pass}: {changed} changed, {wrong} wrong");
        assert!(changed > 0 && wrong == 0, "{pass}: {changed} changed, {wrong} wrong");
    }
    let only = "jump-threading<size=40;machines=maximal>";
    let (changed, wrong) = campaign(only, programs(60, 120), STACKS);
    println!("{only}: {changed} changed, {wrong} wrong");
    assert!(wrong > 0);
}

/// The threads of `%entry` and those of `%second` vote together under maximal convergence, and
/// apart on a stack, until the two branches become one.
const JOINED: &str = "target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
define amdgpu_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %place = add i32 %x, 16
  %at = getelementptr i32, ptr addrspace(1) %gp, i32 %place
  %odd = trunc i32 %x to i1
  br i1 %odd, label %vote, label %second
second:
  %low = icmp ult i32 %x, 3
  br i1 %low, label %vote, label %other
vote:
  %v = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %n = trunc i64 %v to i32
  store i32 %n, ptr addrspace(1) %at, align 4
  br label %exit
other:
  store i32 7, ptr addrspace(1) %at, align 4
  br label %exit
exit:
  ret void
}";

#[test]
fn two_branches_become_one_for_maximal_convergence_only() {
    let run = |pipeline: &str, models: &[Reconvergence]| check(JOINED, pipeline, 3, models);
    let only = "simplifycfg<machines=maximal>";
    assert!(run(only, MAXIMAL).is_ok_and(|tally| tally.changed == 1 && tally.groups > 0));
    assert!(run(only, STACKS).is_err_and(|why| why.starts_with("other ")));
    assert_eq!(run("simplifycfg", STACKS).map(|tally| tally.changed), Ok(0));
}

/// Under maximal convergence `%i` is uniform among threads that are together in `%low`. On a stack
/// of masks, threads wait there for others that make more rounds first, so they take both edges.
const MIXED: &str = "target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
define amdgpu_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %most = and i32 %x, 3
  %place = add i32 %x, 16
  %at = getelementptr i32, ptr addrspace(1) %gp, i32 %place
  br label %h
h:
  %i = phi i32 [ 0, %entry ], [ %n, %h ], [ %n, %end ]
  %n = add i32 %i, 1
  %goes.on = icmp ult i32 %i, %most
  br i1 %goes.on, label %h, label %low
low:
  %odd = trunc i32 %i to i1
  br i1 %odd, label %one, label %two
one:
  %v = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  br label %end
two:
  %w = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  br label %end
end:
  %all = phi i64 [ %v, %one ], [ %w, %two ]
  %some = trunc i64 %all to i32
  store i32 %some, ptr addrspace(1) %at, align 4
  %more = icmp ult i32 %i, 6
  br i1 %more, label %h, label %exit
exit:
  ret void
}";

#[test]
fn uniform_branches_may_part_threads_on_stacks() {
    let run = |pipeline: &str, models: &[Reconvergence]| check(MIXED, pipeline, 3, models);
    let only = "move-convergent<machines=maximal>";
    assert!(run(only, MAXIMAL).is_ok_and(|tally| tally.changed == 1 && tally.groups > 0));
    assert!(run(only, STACKS).is_err_and(|why| why.starts_with("other ")));
    assert_eq!(run("move-convergent", STACKS).map(|tally| tally.changed), Ok(0));
}

/// A stack of masks does not depend on headers.
#[test]
fn a_split_header_is_legal_on_stacks_only() {
    let machines = |model| Machines::Only(model);
    let tally = |seed: u64, executed: Reconvergence| {
        let asked = machines(Reconvergence::PostDominator);
        let machines = (asked, machines(executed));
        instances::check_random_under(seed, &[Question::SplitHeader], machines, &|_, _| false)
    };
    let is_wrong = |model| (0..60).find(|&seed| !tally(seed, model).wrong.is_empty());
    assert_eq!(is_wrong(Reconvergence::PostDominator), None);
    assert!(is_wrong(Reconvergence::Maximal).is_some());
}
