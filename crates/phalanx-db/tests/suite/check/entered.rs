//! Numbers of barriers and masks that callers pass.

use super::found;

const DECLARATIONS: &str = "target triple = \"nvptx64-nvidia-cuda\"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)
";

/// A barrier whose number is an argument, and a kernel that computes `%number` of `%id`.
fn with_number(linkage: &str, kernel: &str) -> String {
    found(&format!(
        "{DECLARATIONS}define {linkage} void @meet(i32 %n) convergent {{
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 %n)
  ret void
}}
define ptx_kernel void @k(i32 %m) {{
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
{kernel}
  ret void
}}"
    ))
}

const ODD: &str = "  %number = and i32 %id, 1
  call void @meet(i32 %number) convergent";

/// Threads of one call that pass different numbers are named: other callers make it no less an
/// error.
#[test]
fn numbers_that_threads_pass_are_evaluated() {
    assert_eq!(with_number("internal", ODD), "meet: error PHX013\n");
    assert_eq!(with_number("", ODD), "meet: error PHX013\n");
}

/// A number that may differ and cannot be evaluated is a warning, one that is the same is right.
#[test]
fn numbers_that_are_not_known_are_warnings() {
    let by_argument = "  %number = and i32 %id, %m
  call void @meet(i32 %number) convergent";
    assert_eq!(with_number("internal", by_argument), "meet: warning PHX013\n");
    let of_all = "  call void @meet(i32 %m) convergent";
    assert_eq!(with_number("internal", of_all), "");
}

/// Each call is analysed by itself: the numbers of two calls are not compared.
#[test]
fn two_calls_with_two_numbers_are_two_barriers() {
    let both = "  call void @meet(i32 1) convergent
  call void @meet(i32 2) convergent";
    assert_eq!(with_number("internal", both), "");
    let one_is_wrong = format!("  call void @meet(i32 1) convergent\n{ODD}");
    assert_eq!(with_number("internal", &one_is_wrong), "meet: error PHX013\n");
}

/// Numbers of different rounds of a loop are not compared either.
#[test]
fn rounds_of_a_loop_around_the_call_are_told_apart() {
    let in_rounds = |number: &str| {
        with_number(
            "internal",
            &format!(
                "  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %loop ]
  %low = and i32 %id, 1
  %number = {number}
  call void @meet(i32 %number) convergent
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 3
  br i1 %more, label %loop, label %end
end:"
            ),
        )
    };
    assert_eq!(in_rounds("and i32 %i, 1"), "");
    assert_eq!(in_rounds("add i32 %i, %low"), "meet: error PHX013\n");
}

/// A number passes through functions in between.
#[test]
fn numbers_are_passed_on() {
    let text = format!(
        "{DECLARATIONS}define internal void @meet(i32 %n) convergent {{
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 %n)
  ret void
}}
define internal void @between(i32 %a) convergent {{
  %slot = alloca i32
  store i32 %a, ptr %slot
  %b = load i32, ptr %slot
  %c = add i32 %b, 1
  call void @meet(i32 %c) convergent
  ret void
}}
define ptx_kernel void @k() {{
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %wave = lshr i32 %id, 4
  call void @between(i32 %wave) convergent
  ret void
}}"
    );
    assert_eq!(found(&text), "meet: error PHX013\n");
}

/// A counted barrier is right if the number is the same in each wave, as callers compute it.
#[test]
fn barriers_of_some_waves_whose_number_is_passed() {
    let text = |shift: u32, branch: &str| {
        found(&format!(
            "{DECLARATIONS}define internal void @meet(i32 %n) convergent {{
  %slot = alloca i32
  store i32 %n, ptr %slot
  %m = load i32, ptr %slot
  %number = add i32 %m, 1
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 %number, i32 64)
  ret void
}}
define ptx_kernel void @k() {{
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %pair = lshr i32 %id, {shift}
  {branch}
call:
  call void @meet(i32 %pair) convergent
  br label %exit
exit:
  ret void
}}"
        ))
    };
    assert_eq!(text(6, "br label %call"), "");
    assert_eq!(text(4, "br label %call"), "meet: error PHX013\n");
}

/// Masks that lanes pass are evaluated like those that are computed on the spot.
#[test]
fn masks_that_lanes_pass() {
    let text = |mask: &str| {
        found(&format!(
            "{DECLARATIONS}define internal i32 @ask(i32 %m) convergent {{
  %v = call i32 @llvm.nvvm.vote.ballot.sync(i32 %m, i1 true)
  ret i32 %v
}}
define ptx_kernel void @k(ptr addrspace(1) %p) {{
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %octet = and i32 %id, 24
  %next = xor i32 %octet, 8
  %mask = {mask}
  %v = call i32 @ask(i32 %mask) convergent
  store i32 %v, ptr addrspace(1) %p
  ret void
}}"
        ))
    };
    assert_eq!(text("shl i32 255, %octet"), "");
    assert_eq!(text("shl i32 255, %next"), "ask: error PHX014\n");
    assert_eq!(text("shl i32 1, %id"), "");
    assert_eq!(text("or i32 %octet, -32"), "ask: error PHX014\n");
}

/// A lane that is named and goes another way in the caller is missing, unless it has ended.
#[test]
fn lanes_that_do_not_come_to_the_call() {
    let text = |other: &str| {
        found(&format!(
            "{DECLARATIONS}define internal i32 @ask(i32 %m) convergent {{
  %v = call i32 @llvm.nvvm.vote.ballot.sync(i32 %m, i1 true)
  ret i32 %v
}}
define ptx_kernel void @k(ptr addrspace(1) %p) {{
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %low = icmp ult i32 %id, 16
  %mask = select i1 %low, i32 -1, i32 65535
  br i1 %low, label %call, label %other
call:
  %w = call i32 @ask(i32 %mask) convergent
  br label %exit
other:
  {other}
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}}"
        ))
    };
    assert_eq!(text("br label %exit"), "ask: error PHX006\n");
    assert_eq!(text("ret void"), "");
}

/// A kernel with fewer threads than a wave has none that pass anything else.
#[test]
fn threads_that_no_launch_has_pass_nothing() {
    let text = |size: u32| {
        found(&format!(
            "{DECLARATIONS}define internal void @meet(i32 %n) convergent {{
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 %n)
  ret void
}}
define ptx_kernel void @k() \"nvvm.reqntid\"=\"{size}\" {{
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %number = lshr i32 %id, 3
  call void @meet(i32 %number) convergent
  ret void
}}
define ptx_kernel void @all() {{
  call void @meet(i32 0) convergent
  ret void
}}"
        ))
    };
    assert!(!text(8).contains("error"), "{}", text(8));
    assert_eq!(text(16), "meet: error PHX013\n");
}
