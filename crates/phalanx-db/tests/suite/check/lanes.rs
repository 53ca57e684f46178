//! Numbers of barriers, masks and rounds, thread by thread.

use super::found;

const DECLARATIONS: &str = "target triple = \"nvptx64-nvidia-cuda\"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.activemask()
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare void @llvm.nvvm.bar.warp.sync(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
";

fn check(text: &str) -> String {
    found(&format!("{DECLARATIONS}{text}"))
}

/// Facts that depend on callers are unknown in the analysis of a function by itself.
#[test]
fn masks_of_functions_that_some_lanes_call() {
    let text = |lanes: &str| {
        check(&format!(
            "define internal i32 @half(i32 %v) convergent {{
  %s = call i32 @llvm.nvvm.vote.ballot.sync(i32 65535, i1 true)
  ret i32 %s
}}
define ptx_kernel void @k(ptr addrspace(1) %p) {{
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %id, 31
  %is.low = icmp ult i32 %lane, {lanes}
  br i1 %is.low, label %low, label %exit
low:
  %s = call i32 @half(i32 %id) convergent
  store i32 %s, ptr addrspace(1) %p
  br label %exit
exit:
  ret void
}}"
        ))
    };
    assert_eq!(text("16"), "");
    assert_eq!(text("32"), "half: error PHX014\n");
    let called_by_all = "define internal i32 @half(i32 %v) convergent {
  %s = call i32 @llvm.nvvm.vote.ballot.sync(i32 65535, i1 true)
  ret i32 %s
}
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %s = call i32 @half(i32 0) convergent
  store i32 %s, ptr addrspace(1) %p
  ret void
}";
    assert_eq!(check(called_by_all), "half: error PHX014\n");
}

/// Rows may be shorter than a wave: then a lane is not its index along x.
#[test]
fn masks_of_rows() {
    let text = |size: &str| {
        check(&format!(
            "define ptx_kernel void @k(ptr addrspace(1) %p) {size} {{
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %by = shl i32 %y, 3
  %mask = shl i32 255, %by
  %s = call i32 @llvm.nvvm.vote.ballot.sync(i32 %mask, i1 true)
  store i32 %s, ptr addrspace(1) %p
  ret void
}}"
        ))
    };
    assert_eq!(text(""), "");
    assert_eq!(text("\"nvvm.reqntid\"=\"8,4\""), "");
    assert_eq!(text("\"nvvm.reqntid\"=\"16,4\""), "k: error PHX014\n");
}

/// In the tail of a reduction, a lane reads from a lane that is not in the mask. The value that it
/// gets is not used.
#[test]
fn tails_of_reductions() {
    let text = |by: &str| {
        check(&format!(
            "define ptx_kernel void @k(ptr addrspace(1) %p) \"nvvm.reqntid\"=\"32\" {{
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %is.low = icmp ult i32 %id, 16
  br i1 %is.low, label %low, label %exit
low:
  %s = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 65535, i32 %id, i32 {by}, i32 31)
  store i32 %s, ptr addrspace(1) %p
  br label %exit
exit:
  ret void
}}"
        ))
    };
    assert_eq!(text("1"), "");
    assert_eq!(text("16"), "k: error PHX016\n");
}

/// What lanes agree on by an active mask is right, as many as they are.
#[test]
fn active_masks() {
    let text = |lane: &str| {
        check(&format!(
            "define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {{
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %comes = icmp slt i32 %id, %n
  br i1 %comes, label %then, label %exit
then:
  %mask = call i32 @llvm.nvvm.activemask()
  %low = sub i32 0, %mask
  %first = and i32 %mask, %low
  %s = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %mask, i32 %id, i32 {lane}, i32 31)
  store i32 %s, ptr addrspace(1) %p
  br label %exit
exit:
  ret void
}}"
        ))
    };
    assert_eq!(text("%first"), "k: note PHX018\n");
    assert_eq!(text("0"), "k: warning PHX018\n");
}

/// Lanes that left the outer loop have ended: an inner loop changes nothing.
#[test]
fn inner_loops_of_a_tail() {
    let text = |behind: &str| {
        check(&format!(
            "define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n, i32 %m) {{
entry:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  br label %outer
outer:
  %i = phi i32 [ %id, %entry ], [ %i.next, %latch ]
  br label %inner
inner:
  %j = phi i32 [ 0, %outer ], [ %j.next, %inner ]
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %j.next = add i32 %j, 1
  %again = icmp slt i32 %j.next, %m
  br i1 %again, label %inner, label %latch
latch:
  %i.next = add i32 %i, 100
  %more = icmp slt i32 %i.next, %n
  br i1 %more, label %outer, label %exit
exit:
  {behind}
  ret void
}}"
        ))
    };
    assert_eq!(text(""), "k: note PHX006\n");
    assert_eq!(text("store i32 1, ptr addrspace(1) %p"), "k: warning PHX006\n");
}

/// Before a loop that tests at its end the thread's index itself is compared with a multiple of the
/// workgroup's size.
#[test]
fn guards_of_loops_that_step_by_the_size() {
    let text = |bound: &str| {
        check(&format!(
            "define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {{
entry:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %rest = urem i32 %n, %size
  %whole = sub i32 %n, %rest
  %any = icmp slt i32 %id, {bound}
  br i1 %any, label %head, label %exit
head:
  %i = phi i32 [ %id, %entry ], [ %next, %head ]
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %next = add nsw i32 %i, %size
  %more = icmp slt i32 %next, {bound}
  br i1 %more, label %head, label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}}"
        ))
    };
    assert_eq!(text("%whole"), "");
    assert_eq!(text("%n"), "k: warning PHX002\n");
}

/// A flag that a function returns is written again by the next call of it, or behind a barrier.
#[test]
fn flags_that_are_returned() {
    let text = |between: &str| {
        check(&format!(
            "@flag = internal addrspace(3) global i32 undef
define internal i32 @any(i32 %v) convergent {{
  store i32 %v, ptr addrspace(3) @flag
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %read = load i32, ptr addrspace(3) @flag
  ret i32 %read
}}
define ptx_kernel void @k(ptr addrspace(1) %p) {{
entry:
  br label %head
head:
  %all = call i32 @any(i32 1) convergent
  {between}
  %more = icmp eq i32 %all, 1
  br i1 %more, label %head, label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}}"
        ))
    };
    let barrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)";
    assert_eq!(text(""), "k: warning PHX043\n");
    assert!(!text(barrier).contains("PHX043"));
}

/// Special registers that assembly moves are known, too: a lane is not among those before it.
#[test]
fn lanes_before_and_up_to_this_one() {
    let text = |register: &str| {
        check(&format!(
            "define ptx_kernel void @k(ptr addrspace(1) %p) {{
  %mask = call i32 asm \"mov.u32 $0, %lanemask_{register};\", \"=r\"()
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %id, 31
  %own = shl i32 1, %lane
  %all = xor i32 %mask, %own
  %s = call i32 @llvm.nvvm.vote.ballot.sync(i32 %all, i1 true)
  store i32 %s, ptr addrspace(1) %p
  ret void
}}"
        ))
    };
    assert_eq!(text("le"), "k: error PHX014\n");
    // In its mask, but not in those of the lanes before it.
    assert_eq!(text("lt"), "k: error PHX015\n");
}

/// A ballot of all lanes names those for which its condition holds; others are not in that mask.
#[test]
fn masks_that_ballots_have_made() {
    let text = |comes: &str, mask: &str, asked: &str| {
        check(&format!(
            "define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {{
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %id, 31
  %is.low = icmp ult i32 %lane, 16
  %is.data = icmp ult i32 %lane, %n
  %mask = call i32 @llvm.nvvm.vote.ballot.sync(i32 {mask}, i1 {asked})
  %comes = icmp ult i32 %lane, {comes}
  br i1 %comes, label %sync, label %exit
sync:
  call void @llvm.nvvm.bar.warp.sync(i32 %mask)
  store i32 %n, ptr addrspace(1) %p
  br label %exit
exit:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}}"
        ))
    };
    assert_eq!(text("16", "-1", "%is.low"), "");
    assert_eq!(text("17", "-1", "%is.low"), "k: error PHX014\n");
    assert_eq!(text("15", "-1", "%is.low"), "k: error PHX006\n");
    // Of data nothing is known, and of a ballot of some lanes neither.
    assert_eq!(text("17", "-1", "%is.data"), "");
    assert_eq!(text("17", "65535", "%is.low"), "k: error PHX014\n");
    assert_eq!(text("15", "-1", "%is.data"), "");
}
