//! What is one value for a whole workgroup, though nothing but check can tell: values between
//! barriers, rounds that are counted in memory.

use super::found;

/// A kernel whose workgroups take numbers until there are none left: one thread takes them, and all
/// read what it was. `between` is behind the read.
fn takes_numbers(between: &str, target: &str) -> String {
    let (triple, convention, id, barrier) = match target {
        "amdgcn" => (
            "amdgcn-amd-amdhsa",
            "amdgpu_kernel",
            "llvm.amdgcn.workitem.id.x()",
            "fence syncscope(\"workgroup\") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope(\"workgroup\") acquire",
        ),
        "unordered" => (
            "amdgcn-amd-amdhsa",
            "amdgpu_kernel",
            "llvm.amdgcn.workitem.id.x()",
            "call void @llvm.amdgcn.s.barrier()",
        ),
        _ => (
            "nvptx64-nvidia-cuda",
            "ptx_kernel",
            "llvm.nvvm.read.ptx.sreg.tid.x()",
            "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
        ),
    };
    let between = between.replace("barrier", barrier);
    format!(
        "target triple = \"{triple}\"
@job = internal addrspace(3) global i32 undef
@line = internal addrspace(3) global [256 x i32] undef
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define {convention} void @k(ptr addrspace(1) %next, ptr addrspace(1) %out, i32 %n) {{
entry:
  %id = call i32 @{id}
  %is.first = icmp eq i32 %id, 0
  br label %loop
loop:
  br i1 %is.first, label %take, label %wait
take:
  %taken = atomicrmw add ptr addrspace(1) %next, i32 1 monotonic
  store i32 %taken, ptr addrspace(3) @job
  br label %wait
wait:
  {barrier}
  %mine = load i32, ptr addrspace(3) @job
  {between}
  %is.over = icmp sge i32 %mine, %n
  br i1 %is.over, label %exit, label %work
work:
  %own = getelementptr i32, ptr addrspace(3) @line, i32 %id
  store i32 %mine, ptr addrspace(3) %own
  {barrier}
  br label %loop
exit:
  ret void
}}
"
    )
}

/// What one thread writes for all is one value for all where barriers are between the reads and the
/// next write.
#[test]
fn what_barriers_keep_apart_is_one_value() {
    for target in ["nvptx", "amdgcn"] {
        assert_eq!(found(&takes_numbers("", target)), "", "{target}");
    }
    // Without the barrier at the end of a round the first thread may write before others have read.
    let racy = takes_numbers("", "nvptx").replace(
        "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n  br label %loop",
        "  br label %loop",
    );
    assert_eq!(found(&racy), "k: warning PHX043\n");
    // On AMD GPUs a barrier alone makes nothing visible.
    assert_eq!(found(&takes_numbers("", "unordered")), "k: note PHX003\nk: note PHX003\n");
    // One more between the read and the branch changes nothing.
    assert_eq!(found(&takes_numbers("barrier", "nvptx")), "");
    // The same in a function that is all that a kernel does, and not where the kernel writes
    // besides.
    let apart = takes_numbers("", "nvptx")
        .replace("define ptx_kernel void @k(", "define internal void @k(");
    let own = "  %own = alloca i32\n  store i32 7, ptr %own\n";
    for (besides, expected) in [
        ("", ""),
        (own, ""),
        ("  store i32 7, ptr addrspace(3) @job\n", "k: note PHX002\nk: note PHX002\n"),
    ] {
        let kernel = format!(
            "define ptx_kernel void @launched(ptr addrspace(1) %next, ptr addrspace(1) %out, i32 %n) {{
  call void @k(ptr addrspace(1) %next, ptr addrspace(1) %out, i32 %n)
{besides}  ret void\n}}\n"
        );
        assert_eq!(found(&format!("{apart}{kernel}")), expected);
    }
    // Other code writes there.
    for other in [
        "store i32 7, ptr addrspace(3) @job",
        "%any = load ptr, ptr addrspace(1) %out\n  store i32 7, ptr %any",
        "call void @other()",
    ] {
        let text = takes_numbers(other, "nvptx") + "declare void @other() nocallback\n";
        assert_ne!(found(&text), "", "{other}");
    }
    // What is only written elsewhere is apart, and a fence writes nothing.
    for harmless in ["store i32 7, ptr addrspace(3) @line", "call void @llvm.nvvm.membar.gl()"] {
        let text = takes_numbers(harmless, "nvptx") + "declare void @llvm.nvvm.membar.gl()\n";
        assert_eq!(found(&text), "", "{harmless}");
    }
}

/// What a kernel only reads is the same for all waves.
#[test]
fn what_nobody_writes_is_one_value() {
    let text = |attributes: &str| {
        format!(
            r#"
target triple = "nvptx64-nvidia-cuda"
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @k(ptr addrspace(1) {attributes} %p, ptr addrspace(1) %out) {{
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store i32 %i, ptr addrspace(1) %out
  %next = add i32 %i, 1
  %rounds = load i32, ptr addrspace(1) %p
  %more = icmp slt i32 %next, %rounds
  br i1 %more, label %loop, label %exit
exit:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}}
"#
        )
    };
    assert_eq!(found(&text("noalias readonly")), "");
    assert_eq!(found(&text("")), "k: note PHX002\n");
}

/// A loop whose counter is in a stack slot: all threads of a workgroup of 256 make the same number
/// of rounds if it ends at a multiple.
#[test]
fn rounds_that_are_counted_in_a_slot() {
    let text = |start: &str, bound: &str, step: &str, env: [&str; 2]| {
        let [before, behind] = env;
        format!(
            r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @k(i32 %n, i32 %m) "nvvm.reqntid"="256" {{
entry:
  %i = alloca i32
  %lid = alloca i32
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %id, ptr %lid
  {before}
  %start = load i32, ptr %lid
  store i32 {start}, ptr %i
  br label %header
header:
  %now = load i32, ptr %i
  %up = add i32 %n, 255
  %blocks = sdiv i32 %up, 256
  %padded = mul nsw i32 %blocks, 256
  %own = mul i32 %id, 256
  %more = icmp slt i32 %now, {bound}
  br i1 %more, label %body, label %exit
body:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %latch
latch:
  %old = load i32, ptr %i
  %next = add nsw i32 %old, {step}
  store i32 %next, ptr %i
  br label %header
exit:
  {behind}
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}}
"#
        )
    };
    let plain = ["", ""];
    assert_eq!(found(&text("%start", "1024", "256", plain)), "");
    assert_eq!(found(&text("%start", "%padded", "256", plain)), "");
    assert_eq!(found(&text("%start", "%padded", "-512", plain)), "");
    let quotient = ["%q = sdiv i32 %id, 32\n  %r = srem i32 %q, 16", ""];
    assert_eq!(found(&text("%r", "64", "8", quotient)), "");
    assert_eq!(found(&text("%r", "65", "8", quotient)), "k: warning PHX002\n");
    let warning = "k: warning PHX002\n";
    assert_eq!(found(&text("%start", "1000", "256", plain)), warning);
    assert_eq!(found(&text("%start", "%n", "256", plain)), warning);
    assert_eq!(found(&text("%start", "%own", "256", plain)), warning);
    assert_eq!(found(&text("%start", "1024", "255", plain)), warning);
    // Beside what the workgroup begins with, and in steps that are no numbers.
    let far =
        |factor: u32| format!("%base = mul nsw i32 %m, {factor}\n  %far = add nsw i32 %base, %id");
    let (far256, far100) = (far(256), far(100));
    assert_eq!(found(&text("%far", "%padded", "256", [&far256, ""])), "");
    assert_eq!(found(&text("%far", "%padded", "256", [&far100, ""])), warning);
    assert_eq!(found(&text("%start", "%padded", "%base", [&far256, ""])), "");
    assert_eq!(found(&text("%start", "%padded", "%base", [&far100, ""])), warning);
    assert_eq!(found(&text("%start", "%padded", "%own", plain)), warning);
    // Where only a bound is known, along the only index.
    let bounded = |size: &str| {
        let simple = text("%start", "1024", "256", plain);
        found(&simple.replace("reqntid\"=\"256\"", &format!("maxntid\"=\"{size}\"")))
    };
    assert_eq!(bounded("256"), "");
    assert_eq!(bounded("512"), warning);
    // In another loop: with a counter that starts again in each round, and with one that goes on.
    let outer = |text: &str, from: &str| {
        text.replace(from, &format!("br label %outer\nouter:\n  {from}")).replace(
            "exit:",
            "exit:\n  %again = icmp slt i32 %m, 0\n  br i1 %again, label %outer, label %end\nend:",
        )
    };
    let simple = text("%start", "1024", "256", plain);
    assert_eq!(found(&outer(&simple, "%start = load")), "");
    assert_eq!(found(&outer(&simple, "br label %header\nheader:")), "k: warning PHX002\n");
    // A round that may not count.
    let may_skip = simple.replace(
        "  br label %latch\nlatch:\n",
        "  %odd = icmp slt i32 %m, 7\n  br i1 %odd, label %header, label %latch\nlatch:\n",
    );
    assert_eq!(found(&may_skip), "k: warning PHX002\n");
}

/// Sizes that are no powers of two: where numbers with a sign are compared and nothing wraps, steps
/// and bounds that are multiples of the size will do.
#[test]
fn rounds_of_sizes_that_are_no_powers_of_two() {
    let text = |[bound, sum, compare]: [&str; 3]| {
        format!(
            r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @k(i32 %n) "nvvm.reqntid"="192" {{
entry:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %group = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %base = mul nsw i32 %group, %size
  %first = add nsw i32 %base, %id
  %whole = mul nsw i32 %n, 384
  %some = icmp {compare} i32 %first, {bound}
  br i1 %some, label %loop, label %exit
loop:
  %i = phi i32 [ %first, %entry ], [ %next, %loop ]
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %next = {sum}
  %more = icmp {compare} i32 %next, {bound}
  br i1 %more, label %loop, label %exit
exit:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}}
"#
        )
    };
    let plain = "add nsw i32 %i, 192";
    assert_eq!(found(&text(["1920", plain, "slt"])), "");
    assert_eq!(found(&text(["%whole", plain, "slt"])), "");
    assert_eq!(found(&text(["%whole", "add nsw i32 %size, %i", "sge"])), "");
    assert_eq!(found(&text(["1920", "sub nsw i32 %i, %whole", "samesign ult"])), "");
    for wrong in [
        ["1921", plain, "slt"],
        ["%n", plain, "slt"],
        ["1920", "add nsw i32 %i, 191", "slt"],
        // What wraps is no multiple any more.
        ["1920", "add i32 %i, 192", "slt"],
        ["1920", plain, "ult"],
    ] {
        assert_ne!(found(&text(wrong)), "", "{wrong:?}");
    }
    // A part of the workgroup begins elsewhere.
    let simple = text(["1920", plain, "slt"]);
    assert_ne!(found(&simple.replace("reqntid\"=\"192\"", "reqntid\"=\"193\"")), "");
}

/// A number of an inner loop is not the same in one round of the outer one.
#[test]
fn rounds_of_an_inner_loop_do_not_count() {
    let text = r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @k(i32 %n) "nvvm.reqntid"="192" {
entry:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  br label %inner
inner:
  %i = phi i32 [ %id, %entry ], [ %next, %inner ]
  %r = phi i32 [ 0, %entry ], [ %r.next, %inner ]
  %next = add nsw i32 %i, 192
  %r.next = add nsw i32 %r, 1
  %more = icmp slt i32 %r.next, %id
  br i1 %more, label %inner, label %behind
behind:
  %late = icmp slt i32 %next, 1920
  br i1 %late, label %wait, label %exit
wait:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %exit
exit:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}
"#;
    assert_ne!(found(text), "");
}

/// A structure that a function is passed by value has the content that its callers were passed: one
/// value, if no code writes the copy.
#[test]
fn copies_that_are_passed_on_are_one_value() {
    let text = |[before, passed, within]: [&str; 3]| {
        format!(
            r#"
target triple = "nvptx64-nvidia-cuda"
%s = type {{ i32, [3 x i32] }}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define internal void @inner(ptr byval(%s) %q) {{
entry:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  {within}
  %at = getelementptr %s, ptr %q, i32 0, i32 0
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %next = add i32 %i, 1
  %rounds = load i32, ptr %at
  %more = icmp slt i32 %next, %rounds
  br i1 %more, label %loop, label %exit
exit:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}}
define internal void @outer(ptr byval(%s) %q) {{
  %copy = alloca %s
  %at = getelementptr %s, ptr %q, i32 0, i32 1
  %some = load i32, ptr %at
  %c = icmp eq i32 %some, 7
  br i1 %c, label %then, label %exit
then:
  call void @llvm.memcpy.p0.p0.i64(ptr %copy, ptr %q, i64 16, i1 false)
  call void @inner(ptr byval(%s) %copy)
  br label %exit
exit:
  ret void
}}
define ptx_kernel void @k(ptr byval(%s) %p) {{
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %slot = alloca %s
  call void @llvm.memcpy.p0.p0.i64(ptr %slot, ptr %p, i64 16, i1 false)
  {before}
  call void @inner(ptr byval(%s) {passed})
  call void @outer(ptr byval(%s) {passed})
  ret void
}}
"#
        )
    };
    assert_eq!(found(&text(["", "%p", ""])), "");
    assert_eq!(found(&text(["", "%slot", ""])), "");
    for wrong in [
        ["store i32 %id, ptr %p", "%p", ""],
        ["store i32 %id, ptr %p", "%slot", ""],
        ["store i32 %id, ptr %slot", "%slot", ""],
        ["%other = getelementptr i8, ptr %slot, i32 %id", "%other", ""],
        ["call void @llvm.memcpy.p0.p0.i64(ptr %slot, ptr %p, i64 8, i1 false)", "%slot", ""],
        ["", "%p", "store i32 %id, ptr %q"],
        ["", "%p", "%number = ptrtoint ptr %q to i64"],
    ] {
        assert!(found(&text(wrong)).starts_with("inner: warning PHX002\n"), "{wrong:?}");
    }
}

/// A pointer loaded from a stack slot leads where the stored pointer leads. A value read through it
/// is uniform if that memory is not written.
#[test]
fn pointers_in_slots_lead_to_what_is_shared() {
    let text = |[put, from]: [&str; 2]| {
        format!(
            r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define internal void @inner(ptr %q) {{
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %next = add i32 %i, 1
  %rounds = load i32, ptr %q
  %more = icmp slt i32 %next, %rounds
  br i1 %more, label %loop, label %exit
exit:
  ret void
}}
define ptx_kernel void @k(ptr noalias readonly %p, ptr noalias %out) {{
entry:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %own = alloca i32
  %slot = alloca ptr
  store i32 %id, ptr %own
  store ptr %p, ptr %slot
  {put}
  %bounds = load ptr, ptr %slot
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store i32 %i, ptr %out
  %next = add i32 %i, 1
  %rounds = load i32, ptr %bounds
  %more = icmp slt i32 %next, %rounds
  br i1 %more, label %loop, label %exit
exit:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  call void @inner(ptr {from})
  ret void
}}
"#
        )
    };
    assert_eq!(found(&text(["", "%bounds"])), "");
    assert_eq!(found(&text(["store ptr %own, ptr %slot", "%p"])), "k: warning PHX002\n");
    assert_eq!(found(&text(["", "%own"])), "inner: warning PHX002\n");
    // A value loaded from device memory that may be written is uniform within a wave only.
    let written = text(["", "%p"]).replace("noalias readonly %p", "%p");
    assert_eq!(found(&written), "inner: note PHX002\nk: note PHX002\n");
}

/// A slot that is written several times, one after the other, holds what was written last.
#[test]
fn bounds_that_are_rounded_in_place() {
    let text = |[again, bound]: [&str; 2]| {
        format!(
            r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @k(i32 %n, i1 %c) "nvvm.reqntid"="192" {{
entry:
  %slot = alloca i32
  %i = alloca i32
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %n, ptr %slot
  %given = load i32, ptr %slot
  %count = sdiv i32 %given, 192
  %whole = mul nsw i32 %count, 192
  store i32 {bound}, ptr %slot
  store i32 %id, ptr %i
  {again}
  br label %header
header:
  %now = load i32, ptr %i
  %end = load i32, ptr %slot
  %more = icmp slt i32 %now, %end
  br i1 %more, label %body, label %exit
body:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %old = load i32, ptr %i
  %next = add nsw i32 %old, 192
  store i32 %next, ptr %i
  br label %header
exit:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}}
"#
        )
    };
    let warning = "k: warning PHX002\n";
    assert_eq!(found(&text(["", "%whole"])), "");
    assert_eq!(found(&text(["", "%count"])), warning);
    assert_eq!(found(&text(["store i32 %n, ptr %slot", "%whole"])), warning);
    // Not on every way, and in rounds.
    let perhaps = "br i1 %c, label %then, label %header\nthen:\n  store i32 %n, ptr %slot";
    assert_eq!(found(&text([perhaps, "%whole"])), warning);
    let in_rounds = text(["", "%whole"]).replace("  %old =", "  store i32 %n, ptr %slot\n  %old =");
    assert_eq!(found(&in_rounds), warning);
}
