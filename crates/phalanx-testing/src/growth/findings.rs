//! Code for which `phalanx check` reports many findings.

use super::{Family, Text, data::DEBUG, module, w};

pub(super) const FAMILIES: &[Family] = &[
    module("findings", findings),
    module("findings_with_lines", findings_with_lines),
    module("findings_of_functions", findings_of_functions),
    module("races", races),
];

/// `n` barriers, each under a condition of its own that differs between threads.
fn findings(text: &mut Text, n: usize) {
    text.usual_kernel();
    conditional_barriers(text, n, |_| String::new());
    text.end();
}

/// As `findings`, with debug information: each barrier is on a line of its own.
fn findings_with_lines(text: &mut Text, n: usize) {
    w!(text, "define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) !dbg !4 {{\nentry:");
    w!(text, "  %tid = call i32 @llvm.amdgcn.workitem.id.x(), !dbg !100");
    conditional_barriers(text, n, |i| format!(", !dbg !{}", 100 + i));
    w!(text, "  ret void, !dbg !100\n}}\n{DEBUG}");
    for i in 0..n {
        w!(text, "!{} = !DILocation(line: {}, column: 3, scope: !4)", 100 + i, i + 1);
    }
}

fn conditional_barriers(text: &mut Text, n: usize, at: impl Fn(usize) -> String) {
    w!(text, "  br label %b0{}", at(0));
    for i in 0..n {
        let (at, next) = (at(i), i + 1);
        w!(text, "b{i}:\n  %c{i} = icmp slt i32 %tid, {i}{at}");
        w!(text, "  br i1 %c{i}, label %t{i}, label %b{next}{at}");
        w!(text, "t{i}:\n  call void @llvm.amdgcn.s.barrier(){at}\n  br label %b{next}{at}");
    }
    w!(text, "b{n}:");
}

/// `n` kernels, every other one with a barrier under a condition that differs between threads.
fn findings_of_functions(text: &mut Text, n: usize) {
    for i in 0..n {
        let of = if i % 2 == 0 { "%tid" } else { "%n" };
        w!(text, "define amdgpu_kernel void @k{i}(ptr addrspace(1) %p, i32 %n) {{\nentry:");
        w!(text, "  %tid = call i32 @llvm.amdgcn.workitem.id.x()");
        w!(text, "  %c = icmp slt i32 {of}, {}\n  br i1 %c, label %a, label %b", i % 50);
        w!(text, "a:\n  call void @llvm.amdgcn.s.barrier()\n  br label %b\nb:");
        text.end();
    }
}

/// `n` elements of workgroup memory that each thread writes and its neighbour reads, with no
/// barrier in between.
fn races(text: &mut Text, n: usize) {
    w!(text, "@s = internal addrspace(3) global [1024 x i32] poison");
    text.usual_kernel();
    w!(text, "  %next = add i32 %tid, 1");
    for i in 0..n {
        w!(text, "  %g{i} = getelementptr i32, ptr addrspace(3) @s, i32 %tid");
        w!(text, "  store i32 {i}, ptr addrspace(3) %g{i}");
        w!(text, "  %h{i} = getelementptr i32, ptr addrspace(3) @s, i32 %next");
        w!(text, "  %l{i} = load i32, ptr addrspace(3) %h{i}");
        w!(text, "  store i32 %l{i}, ptr addrspace(1) %p");
    }
    text.end();
}
