//! Two versions of random programs: differences must be reported, and equal behaviour must not.

#![allow(clippy::print_stdout, reason = "a test that fails says what it has found")]

use phalanx_fuzz::against::{
    self, LLVM, Mistake, OURS, Tally, by_llvm, by_us, hidden, mistaken, shown,
};
use phalanx_fuzz::programs;
use phalanx_testing::llvm_tools;
use rand::{SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};

/// How many programs to try: more when a campaign asks.
fn seeds(few: u64) -> std::ops::Range<u64> {
    let asked = std::env::var("PHALANX_CAMPAIGN").ok().and_then(|n| n.parse().ok());
    let first: u64 =
        std::env::var("PHALANX_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or_default();
    first..first + asked.unwrap_or(few)
}

/// Checks that every difference is reported, and that there are few false alarms.
fn judge(what: &str, tally: &Tally) {
    println!("{what}: {}", tally.line());
    for text in tally.missed.iter().take(2) {
        println!("missed: {text}");
    }
    for text in tally.false_alarms.iter().take(2) {
        println!("false alarm: {text}");
    }
    assert!(tally.missed.is_empty(), "{what}: {}", tally.line());
    let equal = tally.silent + tally.parted + tally.false_alarms.len() as u64;
    assert!(tally.false_alarms.len() as u64 <= equal / 100, "{what}: {}", tally.line());
}

#[test]
fn deliberate_mistakes() {
    let mut tally = Tally::default();
    for seed in seeds(programs(20, 40)) {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let before = against::program(rng);
        let Some(&mistake) = Mistake::ALL.choose(rng) else { continue };
        for _ in 0..8 {
            if let Some(after) = mistaken(&before, mistake, rng) {
                tally.add(&before, &after, &format!("{mistake:?}"), seed);
                break;
            }
        }
    }
    judge("mistakes", &tally);
    assert!(tally.right > 3 && tally.silent > 5, "{}", tally.line());
}

#[test]
fn passes_of_ours() {
    let mut tally = Tally::default();
    for seed in seeds(programs(20, 40)) {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let before = against::program(rng);
        let Some(&passes) = OURS.choose(rng) else { continue };
        if let Some(after) = by_us(&before, passes) {
            tally.add(&before, &after, passes, seed);
        }
    }
    judge("ours", &tally);
    assert!(tally.silent > 10, "{}", tally.line());
}

#[test]
fn passes_of_llvm() {
    let Some(opt) = llvm_tools::require("opt") else { return };
    let mut tally = Tally::default();
    for seed in seeds(programs(20, 40)) {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let before = against::program(rng);
        let Some(&passes) = LLVM.choose(rng) else { continue };
        if let Some(after) = by_llvm(&opt, &before, passes) {
            tally.add(&before, &after, passes, seed);
        }
    }
    judge("LLVM's", &tally);
    assert!(tally.silent > 10, "{}", tally.line());
}

/// LLVM does not know that votes and barriers are special.
#[test]
fn passes_of_llvm_that_are_misled() {
    let Some(opt) = llvm_tools::require("opt") else { return };
    let mut tally = Tally::default();
    for seed in seeds(programs(20, 40)) {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let before = against::program(rng);
        let Some(&passes) = LLVM.choose(rng) else { continue };
        if let Some(after) = by_llvm(&opt, &hidden(&before), passes) {
            tally.add(&before, &shown(&after), passes, seed);
        }
    }
    judge("misled", &tally);
    assert!(tally.right > 3 && tally.silent > 10, "{}", tally.line());
}

/// A barrier orders accesses of one memory. A store to a buffer may move across a barrier between
/// accesses of workgroup memory, but not across one that stands before a load of the buffer.
#[test]
fn memory_of_its_own() {
    let kernel = |first: &str, second: &str, load: &str| {
        format!(
            "target triple = \"nvptx64-nvidia-cuda\"
@lds = internal addrspace(3) global [64 x i32] zeroinitializer
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @f(ptr addrspace(1) %gp) {{
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = and i32 %x, 63
  %j = xor i32 %i, 1
  %own = getelementptr i32, ptr addrspace(3) @lds, i32 %i
  %mine = getelementptr i32, ptr addrspace(1) %gp, i32 %i
  %other = getelementptr i32, ptr addrspace(1) %gp, i32 %j
  %theirs = getelementptr i32, ptr addrspace(3) @lds, i32 %j
  store i32 %x, ptr addrspace(3) %own
{first}
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
{second}
  %r = load i32, ptr addrspace({load}
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store i32 %r, ptr addrspace(3) %own
  ret void
}}
"
        )
    };
    let store = "  store i32 5, ptr addrspace(1) %mine";
    let told = |load: &str| -> Vec<(&str, &str)> {
        let found = against::reported(&kernel(store, "", load), &kernel("", store, load));
        found.unwrap().into_iter().map(|(code, level, _)| (code, level)).collect()
    };
    assert_eq!(told("3) %theirs"), []);
    assert_eq!(told("1) %other"), [("PHX022", "error")]);
}
