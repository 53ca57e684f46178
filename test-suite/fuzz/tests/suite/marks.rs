//! Marks of uniform branches and addresses hold under both models of reconvergence.

#![allow(clippy::print_stdout, reason = "a law says what it has watched")]

use phalanx_fuzz::marks::{Tally, check, random};
use phalanx_simt::Reconvergence;

const MAXIMAL: &[Reconvergence] = &[Reconvergence::Maximal];
const STACKS: &[Reconvergence] = &[Reconvergence::PostDominator];
const BOTH: &[Reconvergence] = &[Reconvergence::Maximal, Reconvergence::PostDominator];

fn tally(pipeline: &str, programs: u64, models: &[Reconvergence]) -> Tally {
    let mut all = Tally::default();
    for seed in 0..programs {
        all.merge(check(&random(seed), pipeline, seed, models));
    }
    println!("{pipeline}, {models:?}: {all}");
    all
}

#[test]
fn marks_hold_on_all_machines() {
    let pipelines = [
        "annotate-uniform",
        "mark-loads",
        "simplifycfg<select-uniform;speculate=8>,annotate-uniform",
    ];
    for pipeline in pipelines {
        let all = tally(pipeline, 200, BOTH);
        assert!(all.wrong.is_empty(), "{}", all.wrong[0]);
        assert!(pipeline == "mark-loads" || all.marks > 200 && all.groups > 1000, "{all}");
    }
}

/// The check detects marks that hold for the other model only.
#[test]
fn marks_for_maximal_convergence_need_not_hold_on_stacks() {
    let only = "annotate-uniform<machines=maximal>";
    let all = tally(only, 200, MAXIMAL);
    assert!(all.wrong.is_empty() && all.marks > 200, "{all}");
    assert!(!tally(only, 200, STACKS).wrong.is_empty());
}

/// Threads of several rounds come to the call together, with another `%i` each.
const PASSED: &str = "target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.workitem.id.x()
define internal i32 @ask(i32 %n) noinline {
entry:
  %odd = trunc i32 %n to i1
  br i1 %odd, label %one, label %two
one:
  ret i32 1
two:
  ret i32 2
}
define amdgpu_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %most = and i32 %x, 3
  br label %h
h:
  %i = phi i32 [ 0, %entry ], [ %n, %h ], [ %n, %low ]
  %n = add i32 %i, 1
  %goes.on = icmp ult i32 %i, %most
  br i1 %goes.on, label %h, label %low
low:
  %v = call i32 @ask(i32 %i)
  %more = icmp ult i32 %i, 6
  br i1 %more, label %h, label %exit
exit:
  ret void
}";

#[test]
fn rounds_that_a_caller_mixes_count_in_the_callee() {
    let all = (0..8).map(|seed| check(PASSED, "annotate-uniform", seed, BOTH));
    assert!(all.into_iter().all(|tally| tally.wrong.is_empty()));
    let only = "annotate-uniform<machines=maximal>";
    let wrong = |models| (0..8).any(|seed| !check(PASSED, only, seed, models).wrong.is_empty());
    assert!(!wrong(MAXIMAL));
    assert!(wrong(STACKS));
}
