//! Checks loops over the elements of a workgroup against execution: which comparisons of their
//! counters are uniform among the threads of a round.

use phalanx::{Session, ir::Value, target::SourceSet};
use phalanx_fuzz::oracle::{Effort, check};
use rand::{SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};

const HEAD: &str = "target triple = \"nvptx64-nvidia-cuda\"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
";

/// A kernel with a loop, perhaps in another one, that counts from a function of the thread.
fn kernel(seed: u64) -> String {
    let rng = &mut SmallRng::seed_from_u64(seed);
    let mut of = |all: &[&str]| (*all.choose(rng).expect("there are some")).to_string();
    let size = of(&["64,1,1", "32,2,1", "64,2,1", "48,1,1", "16,4,1"]);
    let start = of(&["%x", "%x", "%y", "%flat", "%quad", "%moved", "%back", "%shared", "%far"]);
    let is_down = start == "%back";
    let step =
        of(&["64", "64", "128", "32", "256", "96", "65", "16", "1073741824", "%shifted", "%later"]);
    let step = if is_down && !step.starts_with('%') { format!("-{step}") } else { step };
    let limit =
        of(&["256", "320", "300", "%n", "%up", "%up", "%sum", "%x", "0", "-64", "%loaded", "65"]);
    let flags = of(&["", "", "nsw ", "nuw ", "nuw nsw "]);
    let test = |of: &mut dyn FnMut(&[&str]) -> String| {
        let predicate = of(&["ult", "slt", "ule", "sle", "ugt", "sge", "ne", "eq"]);
        let what = of(&["%i", "%i", "%ahead"]);
        if of(&["left", "left", "right"]) == "left" {
            format!("icmp {predicate} i32 {what}, {limit}")
        } else {
            format!("icmp {predicate} i32 {limit}, {what}")
        }
    };
    let ahead = of(&["64", "-64", "1", "128", "32"]);
    let ahead_flags = of(&["", "nsw ", "nuw "]);
    let (first, last) = (test(&mut of), test(&mut of).replace("%ahead", "%next"));
    let after = test(&mut of);
    let top = of(&["br label %mid", "br i1 %first, label %mid, label %exit"]);
    let mid = of(&[
        "br label %latch",
        "br i1 %odd, label %side, label %latch",
        "br i1 %odd, label %exit, label %latch",
        "br i1 %odd, label %exit, label %side",
    ]);
    let go = of(&["%last", "%last", "%frozen", "%first", "true"]);
    // Alone, in a loop, in a cycle of two entries.
    let (enter, round) = [
        ("br label %outer", "ret void"),
        ("br label %outer", "br i1 %again, label %outer, label %end"),
        ("br i1 %apart, label %outer, label %join", "br i1 %again, label %outer, label %end"),
    ][seed as usize % 3];
    let rounds = match seed % 3 {
        2 => "phi i32 [ 0, %entry ], [ %o.next, %exit ]",
        _ => "phi i32 [ %o.next, %exit ]",
    };
    format!(
        "{HEAD}define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) \"nvvm.reqntid\"=\"{size}\" {{
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %row = mul i32 %y, 32
  %flat = add i32 %row, %x
  %quad = mul i32 %x, 4
  %block = mul i32 %b, 64
  %moved = add i32 %block, %x
  %back = sub i32 256, %x
  %n = and i32 %a0, 511
  %more = add i32 %n, 63
  %up = and i32 %more, -64
  %sum = add i32 %up, 32
  %aligned = shl i32 %a1, 6
  %shared = add i32 %aligned, %x
  %far = add i32 %x, 2147483584
  %shifted = shl i32 %a0, 6
  %loaded = load i32, ptr addrspace(1) %gp, align 4
  %few.x = and i32 %x, 5
  %apart = icmp eq i32 %few.x, 1
  %slot = alloca i32, align 4
  store i32 0, ptr %slot, align 4
  {enter}
outer:
  br label %head
head:
  %i = phi i32 [ {start}, %outer ], [ %next, %latch ]
  %k = phi i32 [ 0, %outer ], [ %k.next, %latch ]
  %ahead = add {ahead_flags}i32 %i, {ahead}
  %first = {first}
  {top}
mid:
  %parity = add i32 %x, %k
  %bit = and i32 %parity, 3
  %odd = icmp eq i32 %bit, 0
  {mid}
side:
  br label %latch
latch:
  %turn = add i32 %k, %a0
  %later = shl i32 %turn, 6
  %next = add {flags}i32 %i, {step}
  %last = {last}
  %frozen = freeze i1 %last
  %k.next = add i32 %k, 1
  %few = icmp ult i32 %k, 5
  %go = and i1 %few, {go}
  br i1 %go, label %head, label %exit
exit:
  %after = {after}
  %frozen.after = freeze i1 %after
  %o = load i32, ptr %slot, align 4
  %o.next = add i32 %o, 1
  store i32 %o.next, ptr %slot, align 4
  br label %join
join:
  %count = {rounds}
  %again = icmp ult i32 %count, 3
  {round}
end:
  ret void
}}
"
    )
}

#[test]
fn comparisons_of_a_stride_are_what_is_claimed() {
    let (mut uniform, mut others) = (0, 0);
    for seed in 0..600 {
        let text = kernel(seed);
        let effort = Effort { launches: 3, hierarchies: 3, fuel: 20_000 };
        let tally =
            check(&text, "f", seed, effort).unwrap_or_else(|| panic!("seed {seed}\n{text}"));
        assert!(tally.unsound.is_empty(), "seed {seed}: {}\n{text}", tally.unsound.join("\n"));
        let mut session = Session::new();
        let module = session.read(text.as_bytes()).expect("it was read before");
        let f = session.function(module, "f").expect("it is there");
        let code = session.code(f);
        let divergence = session.divergence(f).expect("it has a body");
        let named = |name: &str| {
            let inst = code
                .body
                .all_ids()
                .find(|&inst| code.extras.names.inst(inst).is_some_and(|of| of == name.as_bytes()));
            divergence.mask(Value::inst(inst.expect("it is there")))
        };
        let thread = SourceSet::X | SourceSet::Y | SourceSet::WAVE;
        if named("i").intersects(thread) {
            for name in ["first", "last"] {
                let is_uniform = !named(name).intersects(thread);
                *if is_uniform { &mut uniform } else { &mut others } += 1;
            }
        }
    }
    assert!(uniform > 100 && others > 400, "{uniform} of {others}");
}
