//! Transforms that copy rounds and blocks: kernels behave the same, and all groups of threads stay.

use std::sync::Arc;

use phalanx::transform::{Registry, jump_threading::JumpThreading, loop_unroll::LoopUnroll};
use phalanx_core::legality::machines::Machines;
use phalanx_fuzz::motions::{Tally, check, check_under, counted};
use phalanx_fuzz::programs;
use phalanx_simt::Reconvergence;
use rand::{SeedableRng as _, rngs::SmallRng};

/// Pipelines that copy, and whether every execution of convergent operations stays.
const PIPELINES: &[(&str, bool)] = &[
    ("loop-unroll", true),
    ("loop-unroll<full-size=30;count=2>", true),
    ("loop-unroll<full-size=40;count=3>", true),
    ("jump-threading", true),
    ("jump-threading<size=40>,loop-unroll<count=2>,jump-threading", true),
    (
        "simplifycfg,jump-threading,loop-unroll<count=2>,jump-threading,instsimplify,simplifycfg,early-cse,licm,dce",
        false,
    ),
];

fn campaign(pipeline: (&str, bool), seeds: std::ops::Range<u64>) -> Tally {
    let mut all = Tally::default();
    for seed in seeds {
        let text = counted::random(&mut SmallRng::seed_from_u64(seed));
        let tally = check(&Registry::standard(), &text, pipeline, seed, 3);
        all.merge(tally.unwrap_or_else(|error| panic!("{error}")));
    }
    all
}

#[test]
fn kernels_with_loops_and_branches() {
    for &pipeline in PIPELINES {
        let tally = campaign(pipeline, 0..programs(60, 120));
        println!("{}: {tally:?}", pipeline.0);
        assert!(tally.changed > 20 && tally.launches > 50 && tally.groups > 1000, "{tally:?}");
    }
}

/// Only one edge puts the vote into the outer cycle, and that edge is never taken in the last round
/// of the inner one.
const BY_AN_EDGE: &str = "target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
define amdgpu_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %i = add i32 %x, 16
  %at = getelementptr i32, ptr addrspace(1) %gp, i32 %i
  br label %outer
outer:
  %k = phi i32 [ 0, %entry ], [ %k.next, %middle ]
  %k.next = add i32 %k, 1
  br label %inner
inner:
  %j = phi i32 [ 0, %outer ], [ %j.next, %latch ]
  %b = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %n = trunc i64 %b to i32
  store i32 %n, ptr addrspace(1) %at, align 4
  %c = icmp eq i32 %j, 1
  br i1 %c, label %exit, label %middle
middle:
  %d = icmp ult i32 %k, %x
  br i1 %d, label %outer, label %latch
latch:
  %j.next = add i32 %j, 1
  br label %inner
exit:
  ret void
}";

/// A negative control.
#[test]
fn an_edge_too_few_is_found_out() {
    let mut registry = Registry::standard();
    // If threads join at post-dominators, they meet at the vote of `inner` after different numbers
    // of rounds. So this test uses maximal convergence.
    let run = |registry: &Registry, pipeline: &str| {
        let models = [Reconvergence::Maximal];
        check_under(registry, BY_AN_EDGE, (pipeline, true), (5, 6), &models)
    };
    assert!(
        run(&registry, "loop-unroll<machines=maximal>")
            .is_ok_and(|tally| tally.changed == 1 && tally.groups > 10)
    );
    registry.add(Arc::new(LoopUnroll {
        distorted: true,
        machines: Machines::Only(Reconvergence::Maximal),
        ..LoopUnroll::default()
    }));
    assert!(run(&registry, "loop-unroll").is_err());
}

#[test]
fn copies_behind_divergent_branches_are_found_out() {
    let mut registry = Registry::standard();
    registry.add(Arc::new(JumpThreading { size: 40, distorted: true, ..JumpThreading::default() }));
    let is_found = |seed: u64| {
        let text = counted::random(&mut SmallRng::seed_from_u64(seed));
        check(&registry, &text, ("jump-threading", true), seed, 3).is_err()
    };
    let found = (0..120).filter(|&seed| is_found(seed)).count();
    println!("{found} of 120");
    assert!(found > 0);
}
