//! A kernel in which nothing is found about barriers does not hang, on random programs; and the check of that can fail.

use phalanx::analysis::check::Rule;
use phalanx_fuzz::hangs::{Ignored, Tally, check, check_random};
use rand::{SeedableRng as _, rngs::SmallRng};

fn tally(seeds: std::ops::Range<u64>, ignored: Ignored) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        tally.merge(check_random(seed, 3, ignored));
    }
    tally
}

#[test]
fn no_finding_no_hang() {
    let tally = tally(0..400, Ignored::Nothing);
    println!("{tally}");
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n\n"));
    // A check that looks at nothing finds nothing.
    assert!(tally.silent > 40 && tally.passed > 40 && tally.exits > 2, "{tally}");
    assert!(tally.found > 40 && tally.hung > 20 && tally.witnesses > 5, "{tally}");
}

/// Each rule is needed: without its findings programs are called right that hang.
#[test]
fn without_a_rule_hangs_are_seen() {
    for rule in [Rule::DivergentBarrier, Rule::BarrierInDivergentLoop] {
        let tally = tally(0..400, Ignored::Of(rule));
        println!("without {}:\n{tally}", rule.slug());
        assert!(tally.wrong.len() > 1, "{rule:?}\n{tally}");
    }
}

/// Threads that wait at barriers of two numbers wait for ever.
const TWO_BARRIERS: &str = r#"target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %odd = trunc i32 %x to i1
  br i1 %odd, label %one, label %other
one:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 1)
  br label %join
other:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 2)
  br label %join
join:
  ret void
}
"#;

#[test]
fn without_the_rule_about_two_barriers_hangs_are_seen() {
    let run = |ignored| {
        let rng = &mut SmallRng::seed_from_u64(1);
        check(TWO_BARRIERS, rng, 8, ignored).expect("it is well-formed")
    };
    let tally = run(Ignored::Nothing);
    assert!(tally.wrong.is_empty() && tally.found == 1 && tally.hung == 1, "{tally}");
    let tally = run(Ignored::Of(Rule::UnmatchedBarriers));
    assert!(tally.silent == 1 && tally.wrong.len() == 1, "{tally}");
}
