//! Linearized random programs behave as before; and negative controls of that check.

use std::panic::{AssertUnwindSafe, catch_unwind};

use phalanx::transform::Registry;
use phalanx_fuzz::linear::{Tally, broken, check, check_random, random};
use rand::{SeedableRng as _, rngs::SmallRng};

#[test]
fn random_programs() {
    let mut all = Tally::default();
    for seed in 0..500 {
        all.merge(check_random(seed, if seed % 2 == 0 { 8 } else { 16 }, 2));
    }
    println!("{all}\n{:?}", all.executed);
    assert!(all.regions > 40 && all.removed > 50 && all.uniform[1] > 0, "{all}");
    assert!(all.executed.changed > 40 && all.executed.launches > 50, "{:?}", all.executed);
}

/// Faults that idle threads would cause: division by zero, an invalid address, a race, another
/// value in a stack slot.
const FAULTS: &str = r#"target triple = "TRIPLE"
declare i32 @TIDx()
declare i32 @TIDy()
define CONVENTION void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
entry:
  %slot = alloca i32, align 4SPACE
  store i32 5, PTR %slot, align 4
  %column = call i32 @TIDx()
  %row = call i32 @TIDy()
  %before = mul i32 %row, 40
  %x = add i32 %before, %column
  %r = urem i32 %x, 3
  %own.i = add i32 %x, 64
  %own = getelementptr i32, ptr addrspace(1) %gp, i32 %own.i
  %is = icmp ne i32 %r, 0
  %far.i = mul i32 %x, 1048576
  %far = getelementptr i32, ptr addrspace(1) %gp, i32 %far.i
  br i1 %is, label %some, label %others
some:
  %q = udiv i32 100, %r
  %m = sdiv i32 -2147483648, %r
  %n = srem i32 %q, %r
  %k = icmp ult i32 %x, %a0
  %u = icmp ugt i32 %a1, 77
  br i1 %k, label %inner, label %both
inner:
  %o = load i32, ptr addrspace(1) %own, align 4
  %p = add i32 %o, %q
  store i32 %q, PTR %slot, align 4
  br i1 %u, label %deep, label %both
deep:
  store i32 %p, ptr addrspace(1) %own, align 4
  store i32 %p, PTR %slot, align 4
  br label %both
both:
  %v = phi i32 [ %m, %some ], [ %p, %inner ], [ %n, %deep ]
  br label %join
others:
  %first = icmp eq i32 %x, 0
  br i1 %first, label %reads, label %join
reads:
  %w = load i32, ptr addrspace(1) %far, align 4
  store i32 %w, ptr addrspace(1) %gp, align 4
  switch i32 %w, label %join [ i32 1, label %case
                               i32 2, label %case ]
case:
  br label %join
join:
  %z = phi i32 [ %v, %both ], [ 7, %others ], [ %w, %reads ], [ 9, %case ]
  %to.i = add i32 %x, 200
  %to = getelementptr i32, ptr addrspace(1) %gp, i32 %to.i
  store i32 %z, ptr addrspace(1) %to, align 4
  %left = load i32, PTR %slot, align 4
  %left.i = add i32 %x, 320
  %left.to = getelementptr i32, ptr addrspace(1) %gp, i32 %left.i
  store i32 %left, ptr addrspace(1) %left.to, align 4
  ret void
}
"#;

fn faults(is_amd: bool) -> String {
    let [space, pointer] = match is_amd {
        true => [", addrspace(5)", "ptr addrspace(5)"],
        false => ["", "ptr"],
    };
    let [triple, id, convention] = match is_amd {
        true => ["amdgcn-amd-amdhsa", "llvm.amdgcn.workitem.id.", "amdgpu_kernel"],
        false => ["nvptx64-nvidia-cuda", "llvm.nvvm.read.ptx.sreg.tid.", "ptx_kernel"],
    };
    let text = FAULTS.replace("TRIPLE", triple).replace("TID", id);
    text.replace("CONVENTION", convention).replace("SPACE", space).replace("PTR", pointer)
}

#[test]
fn who_does_not_take_part_does_nothing() {
    for is_amd in [true, false] {
        let tally = check(&Registry::standard(), &faults(is_amd), "linearize", 3, 12);
        assert!(tally.regions == 1 && tally.removed == 4, "{tally}");
        assert!(tally.refused.is_empty() && tally.executed.launches > 3, "{tally:?}");
    }
}

/// A negative control: each kind of guard is needed.
#[test]
fn without_a_guard_it_is_seen() {
    for prefix in ["guarded", "mask", "divisor", "kept", "z.sel", "v"] {
        let registry = broken(prefix);
        let is_found = |text: &str, seed| {
            let all = || check(&registry, text, "broken", seed, 4);
            catch_unwind(AssertUnwindSafe(all)).is_err()
        };
        let found_in_faults = is_found(&faults(true), 3);
        let found =
            (0..60).any(|seed| is_found(&random(&mut SmallRng::seed_from_u64(seed), 8), seed));
        println!("{prefix}: {found_in_faults} {found}");
        assert!(found || found_in_faults, "{prefix}");
    }
}
