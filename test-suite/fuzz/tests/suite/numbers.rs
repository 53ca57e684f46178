//! Checks findings about barriers with thread-dependent numbers and counts against execution.
//! Without a finding nothing hangs; named threads use the numbers of the finding; and no thread
//! passes a barrier that is reported to wait for too many threads.

use std::fmt::Write as _;

use phalanx::analysis::check::Rule;
use phalanx_fuzz::hangs::{Ignored, Tally, check, waits_for_too_many};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};

const DECLARATIONS: &str = "target triple = \"nvptx64-nvidia-cuda\"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.nvvm.barrier.cta.sync.all(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)
declare void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32, i32)
";

/// A number as a function of the thread's index, the round and the arguments; it may be one for
/// all.
fn expression(name: &str, rng: &mut SmallRng, out: &mut String) {
    let choices = [
        "and i32 %x, 1",
        "lshr i32 %x, 3",
        "lshr i32 %x, 5",
        "lshr i32 %x, 10",
        "urem i32 %x, 3",
        "and i32 %x, 0",
        "and i32 %a0, 3",
        "and i32 %round, 3",
        "udiv i32 %x, %dx",
        "and i32 %dx, 1",
    ];
    let first = choices.choose(rng).expect("there are some");
    let second = choices.choose(rng).expect("there are some");
    let operation = ["add", "xor", "or", "and"].choose(rng).expect("there are some");
    let _ = writeln!(out, "  %{name}.a = {first}\n  %{name}.b = {second}");
    let _ = writeln!(out, "  %{name}.c = {operation} i32 %{name}.a, %{name}.b");
    let _ = writeln!(out, "  %{name} = and i32 %{name}.c, 7");
}

/// A function that waits at the barrier of an argument, which may go through a slot.
fn meeting(barrier: &str, rng: &mut SmallRng) -> String {
    let number = match rng.random_range(0..2) {
        0 => "  %slot = alloca i32\n  store i32 %n, ptr %slot\n  %number = load i32, ptr %slot\n",
        _ => "  %number = or i32 %n, 0\n",
    };
    format!(
        "define internal void @meet(i32 %n) convergent {{\n{number}  {barrier}\n  ret void\n}}\n"
    )
}

/// A kernel with a barrier in a loop, whose number comes directly, out of a join, or out of a slot.
/// The barrier may be in a function that is called.
fn numbered(rng: &mut SmallRng) -> String {
    let mut body = String::new();
    expression("one", rng, &mut body);
    expression("other", rng, &mut body);
    let barrier = match rng.random_range(0..3) {
        0 => "call void @llvm.nvvm.barrier.cta.sync.all(i32 %number)",
        1 => "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 %number)",
        _ => "call void asm sideeffect \"bar.sync $0;\", \"r\"(i32 %number)",
    };
    let (function, barrier) = match rng.random_range(0..3) {
        0 => (meeting(barrier, rng), "call void @meet(i32 %number) convergent"),
        _ => (String::new(), barrier),
    };
    let number = match rng.random_range(0..4) {
        0 => "  %number = add i32 %one, 0\n  br label %join\njoin:\n".to_owned(),
        1 => "  br i1 %which, label %then, label %join\nthen:\n  br label %join\njoin:\n  \
              %number = phi i32 [ %one, %head ], [ %other, %then ]\n"
            .to_owned(),
        2 => "  store i32 %one, ptr %slot\n  br i1 %which, label %then, label %join\nthen:\n  \
              store i32 %other, ptr %slot\n  br label %join\njoin:\n  \
              %number = load i32, ptr %slot\n"
            .to_owned(),
        _ => "  %number = select i1 %which, i32 %one, i32 %other\n  br label %join\njoin:\n"
            .to_owned(),
    };
    let which = ["icmp ult i32 %x, 5", "icmp eq i32 %a1, 3", "icmp ugt i32 %round, 1"]
        .choose(rng)
        .expect("there are some");
    let rounds = rng.random_range(1..4);
    let size = ["", " \"nvvm.reqntid\"=\"32\"", " \"nvvm.reqntid\"=\"64\""]
        .choose(rng)
        .expect("there are some");
    format!(
        "{DECLARATIONS}{function}define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1){size} {{
entry:
  %slot = alloca i32
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %dx = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  br label %head
head:
  %round = phi i32 [ 0, %entry ], [ %next, %join ]
  %which = {which}
{body}{number}  {barrier}
  %next = add i32 %round, 1
  %goes.on = icmp ult i32 %next, {rounds}
  br i1 %goes.on, label %head, label %exit
exit:
  store i32 1, ptr addrspace(1) %gp
  ret void
}}
"
    )
}

fn tally(seed: u64, count: usize, ignored: Ignored) -> Tally {
    let rng = &mut SmallRng::seed_from_u64(seed);
    let mut all = Tally::default();
    for _ in 0..count {
        let text = numbered(rng);
        let tally = check(&text, rng, 4, ignored);
        all.merge(tally.unwrap_or_else(|| panic!("it is refused:\n{text}")));
    }
    all
}

#[test]
fn barriers_of_one_number_do_not_hang() {
    let all = tally(1, 600, Ignored::Nothing);
    println!("{all}");
    assert!(all.wrong.is_empty(), "{}", all.wrong[0]);
    assert!(all.silent > 60 && all.passed > 60 && all.hung > 100, "{all}");
    assert!(all.numbers > 100 && all.differing > 100, "{all}");
}

#[test]
fn without_the_rule_hangs_are_seen() {
    let all = tally(2, 60, Ignored::Of(Rule::DifferentBarrierNumbers));
    assert!(all.wrong.len() > 10, "{all}");
}

/// A barrier with a count that some waves come to, and others perhaps arrive at.
fn counted(rng: &mut SmallRng) -> String {
    let size = 32 * rng.random_range(2..5);
    let limit = [8, 32, 40, 64, 96].choose(rng).expect("there are some");
    let count = 32 * rng.random_range(1..5);
    let condition = ["ult i32 %x", "ult i32 %x", "eq i32 %a1"].choose(rng).expect("some");
    let arrives = "call void @llvm.nvvm.barrier.cta.arrive.aligned.count";
    let waits = "call void @llvm.nvvm.barrier.cta.sync.aligned.count";
    let other = match rng.random_range(0..4) {
        0 => format!("  {arrives}(i32 1, i32 {count})\n"),
        1 => format!("  {waits}(i32 1, i32 {count})\n"),
        2 => format!("  {waits}(i32 2, i32 32)\n"),
        _ => String::new(),
    };
    format!(
        "{DECLARATIONS}define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) \
         \"nvvm.reqntid\"=\"{size}\" {{
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %comes = icmp {condition}, {limit}
  br i1 %comes, label %here, label %there
here:
  {waits}(i32 1, i32 {count})
  br label %exit
there:
{other}  br label %exit
exit:
  store i32 1, ptr addrspace(1) %gp
  ret void
}}
"
    )
}

#[test]
fn who_waits_for_too_many_hangs() {
    let rng = &mut SmallRng::seed_from_u64(3);
    let (mut few, mut passed) = (0, 0);
    for _ in 0..300 {
        let text = counted(rng);
        let (is_few, [hung, ended]) =
            waits_for_too_many(&text, rng).unwrap_or_else(|| panic!("it is refused:\n{text}"));
        // Whether any thread comes depends on an argument only.
        let is_certain = !text.contains("eq i32 %a1");
        assert!(!is_few || !is_certain || ended == 0, "it was passed:\n{text}");
        few += u32::from(is_few && hung > 0);
        passed += u32::from(!is_few && ended > 0);
    }
    assert!(few > 15 && passed > 30, "{few} {passed}");
}
