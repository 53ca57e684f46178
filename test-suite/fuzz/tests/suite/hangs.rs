//! On random programs, a kernel without findings about barriers does not hang; and negative
//! controls of that check.

use phalanx::analysis::check::Rule;
use phalanx_fuzz::hangs::{Ignored, Tally, check, check_random};
use rand::{SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};

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
    // The test must have checked enough.
    assert!(tally.silent > 40 && tally.passed > 40 && tally.exits > 2, "{tally}");
    assert!(tally.found > 40 && tally.hung > 20 && tally.witnesses > 5, "{tally}");
    assert!(tally.numbers > 4 && tally.differing > 0, "{tally}");
}

/// A negative control for each rule: without its findings, programs that hang have no finding.
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

/// A loop with a barrier whose counter steps by the size of the workgroup, or is shifted like its
/// bound; or a loop that is almost like that. Behind the loop threads wait at another barrier.
fn counted_loop(rng: &mut SmallRng) -> String {
    let mut of = |all: &[&str]| (*all.choose(rng).expect("there are some")).to_owned();
    let is_by_size = of(&["size", "shift"]) == "size";
    let (starts, steps, bounds): (&[&str], &[&str], &[&str]) = match is_by_size {
        true => (
            &["%x", "%x", "%x", "%x", "%y", "%x.1"],
            &["%dx", "%dx", "%dx", "%dx", "%dy", "%c"],
            &["%div", "%div", "%rem", "%rem", "%other.rem", "%other.div", "%n"],
        ),
        false => (
            &["%from", "%from", "%from", "%from.1", "%x"],
            &["%c", "%c", "32"],
            &["%to", "%to", "%to.1", "%to.2", "%to.y", "%n"],
        ),
    };
    let (start, step, bound) = (of(starts), of(steps), of(bounds));
    let flags = of(&["", "nsw", "nsw", "nuw nsw"]);
    let shift_flags = of(&["", "nsw", "nsw"]);
    let base = of(&["0", "0", "0", "2147483136"]);
    let predicate = of(&["slt", "slt", "slt", "ult", "sle", "ne"]);
    let is_swapped = of(&["", "", "swapped"]) == "swapped";
    let is_at_bottom = of(&["top", "bottom"]) == "bottom";
    let compare = |what: &str| match (is_swapped, predicate.as_str()) {
        (true, "slt") => format!("icmp sgt i32 {bound}, {what}"),
        (true, "sle") => format!("icmp sge i32 {bound}, {what}"),
        (true, "ult") => format!("icmp ugt i32 {bound}, {what}"),
        _ => format!("icmp {predicate} i32 {what}, {bound}"),
    };
    let (first, again) = (compare("%i"), compare("%next"));
    let (head, latch) = match is_at_bottom {
        true => ("br label %body", "br i1 %again, label %head, label %exit"),
        false => ("br i1 %first, label %body, label %exit", "br label %head"),
    };
    format!(
        "target triple = \"nvptx64-nvidia-cuda\"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {{
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %dx = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %dy = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
  %n = and i32 %a0, 127
  %m = and i32 %a1, 63
  %c.0 = and i32 %a1, 31
  %c = add nuw nsw i32 %c.0, 5
  %x.1 = add nuw nsw i32 %x, 1
  %q = udiv i32 %n, %dx
  %div = mul i32 %q, %dx
  %other.div = mul i32 %q, %dy
  %r = urem i32 %n, %dx
  %rem = sub i32 %n, %r
  %other.rem = sub i32 %m, %r
  %b = add i32 %m, {base}
  %e = add i32 %n, {base}
  %x.2 = shl i32 %x, 1
  %from = add {shift_flags} i32 %b, %x
  %from.1 = add {shift_flags} i32 %from, 1
  %to = add {shift_flags} i32 %e, %x
  %to.1 = add {shift_flags} i32 %to, 3
  %to.2 = add {shift_flags} i32 %e, %x.2
  %to.y = add {shift_flags} i32 %e, %y
  br label %head
head:
  %i = phi i32 [ {start}, %entry ], [ %next, %body ]
  %first = {first}
  {head}
body:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %next = add {flags} i32 %i, {step}
  %again = {again}
  {latch}
exit:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 1)
  store i32 1, ptr addrspace(1) %gp
  ret void
}}
"
    )
}

#[test]
fn counted_loops_without_a_finding_do_not_hang() {
    let rng = &mut SmallRng::seed_from_u64(46);
    let mut all = Tally::default();
    for _ in 0..1500 {
        let text = counted_loop(rng);
        let tally = check(&text, rng, 6, Ignored::Nothing);
        all.merge(tally.unwrap_or_else(|| panic!("it is refused:\n{text}")));
    }
    println!("{all}");
    assert!(all.wrong.is_empty(), "{}", all.wrong[0]);
    assert!(all.silent > 80 && all.passed > 80 && all.hung > 200, "{all}");
}
