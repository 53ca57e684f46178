//! The addresses that the lanes of a wave access: patterns of small kernels, and claims that are
//! checked against the addresses of a launch.

mod random;

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use phalanx::{
    analysis::shape::access::{Access, Pattern, Within},
    db::queries,
    prelude::*,
    target::LaunchStatement,
};

const HEAD: &str = r#"target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
@big = internal addrspace(3) global [8192 x i32] undef, align 16
@tile = internal addrspace(3) global [33 x [33 x float]] undef, align 4
@words = internal addrspace(1) global [100000 x float] zeroinitializer
@lines = internal addrspace(1) global [100000 x float] zeroinitializer, align 128
@elsewhere = external addrspace(1) global [100000 x float]
%pair = type { i32, double }
define ptx_kernel void @k(ptr addrspace(1) align 256 %p, ptr addrspace(1) %q, i32 %n, i32 %m) {
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
"#;

/// A kernel with this body and its accesses, for this launch; without a size nothing is known of
/// the launch.
fn accesses(body: &str, size: Option<[u32; 3]>) -> (Session, FunctionId, Vec<Access>) {
    accesses_of(&format!("{HEAD}{body}}}\n"), size)
}

fn accesses_of(text: &str, size: Option<[u32; 3]>) -> (Session, FunctionId, Vec<Access>) {
    let mut session = Session::new();
    let module = session
        .read(text.as_bytes())
        .unwrap_or_else(|e| panic!("{}", e.render("test", text.as_bytes())));
    let function = session.function(module, "k").expect("defined");
    if size.is_some() {
        let launch = LaunchStatement { workgroup_size: size, ..Default::default() };
        session.set_launch(function, launch).expect("nothing else is said");
    }
    let found = queries::memory_accesses(session.database(), function.input());
    let found = found.as_ref().expect("it has a body").iter().copied().collect();
    (session, function, found)
}

fn check(body: &str, size: Option<[u32; 3]>, expected: &Expect) {
    let (session, function, found) = accesses(body, size);
    let mut out = String::new();
    for access in found {
        let name = session.print_inst(function, access.inst);
        let _ = write!(out, "{}: {:?}", name.trim(), access.pattern);
        if access.within == Within::Row {
            out.push_str(" in a row");
        }
        if access.assumes_no_wrap {
            out.push_str(" if no index wraps");
        }
        if let (Some(segments), Some(sectors)) = (access.segments, access.sectors) {
            let _ = write!(out, ", {segments} segments, {sectors} sectors");
        }
        if let Some(degree) = access.bank_degree {
            let _ = write!(out, ", banks {degree}");
        }
        out.push('\n');
    }
    expected.assert_eq(&out);
}

const SAXPY: &str = "
  %base = mul i32 %b, 256
  %i = add nsw i32 %base, %x
  %wide = sext i32 %i to i64
  %at = getelementptr inbounds float, ptr addrspace(1) %p, i64 %wide
  %v = load float, ptr addrspace(1) %at, align 4
  store float %v, ptr addrspace(1) %at, align 4
  ret void
";

/// One offset of the lanes: how much is touched depends on size and alignment, and on where the
/// base is, and only shared memory has banks.
#[test]
fn accesses_with_one_index() {
    check(
        "
  %offset = shl i32 %x, 3
  %at = getelementptr i8, ptr addrspace(1) %p, i32 %offset
  %there = getelementptr i8, ptr addrspace(3) @big, i32 %offset
  %word = load i32, ptr addrspace(1) %at, align 4
  %packed = load i32, ptr addrspace(1) %at, align 1
  %pair = load i64, ptr addrspace(1) %at, align 8
  %four = load <4 x i32>, ptr addrspace(1) %at, align 8
  %here = load i32, ptr addrspace(3) %there, align 4
  %loose = load i32, ptr addrspace(3) %there, align 1
  ret void
",
        Some([256, 1, 1]),
        &expect![[r#"
            %word = load i32, ptr addrspace(1) %at, align 4: Strided(8), 3 segments, 9 sectors
            %packed = load i32, ptr addrspace(1) %at, align 1: Strided(8), 3 segments, 9 sectors
            %pair = load i64, ptr addrspace(1) %at, align 8: Consecutive, 3 segments, 9 sectors
            %four = load <4 x i32>, ptr addrspace(1) %at, align 8: Strided(8), 3 segments, 9 sectors
            %here = load i32, ptr addrspace(3) %there, align 4: Strided(8), 3 segments, 9 sectors, banks 2
            %loose = load i32, ptr addrspace(3) %there, align 1: Strided(8), 3 segments, 9 sectors, banks 2
        "#]],
    );
}

#[test]
fn saxpy() {
    check(
        SAXPY,
        Some([256, 1, 1]),
        &expect![[r#"
        %v = load float, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 5 sectors
        store float %v, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 5 sectors
    "#]],
    );
    check(
        SAXPY,
        None,
        &expect![[r#"
        %v = load float, ptr addrspace(1) %at, align 4: Consecutive in a row
        store float %v, ptr addrspace(1) %at, align 4: Consecutive in a row
    "#]],
    );
}

#[test]
fn rows_and_columns_of_a_matrix() {
    let body = "
  %row = mul nsw i32 %y, %n
  %i = add nsw i32 %row, %x
  %wide = sext i32 %i to i64
  %at = getelementptr inbounds float, ptr addrspace(1) %p, i64 %wide
  %in.row = load float, ptr addrspace(1) %at, align 4
  %column = mul nsw i32 %x, 1024
  %j = add nsw i32 %column, %y
  %wide.j = sext i32 %j to i64
  %at.j = getelementptr inbounds float, ptr addrspace(1) %p, i64 %wide.j
  %in.column = load float, ptr addrspace(1) %at.j, align 4
  %tile.at = getelementptr inbounds [33 x [33 x float]], ptr addrspace(3) @tile, i32 0, i32 %x, i32 %y
  store float %in.row, ptr addrspace(3) %tile.at, align 4
  %member = getelementptr inbounds %pair, ptr addrspace(1) %p, i32 %x, i32 1
  %of.pair = load double, ptr addrspace(1) %member, align 8
  %same = load float, ptr addrspace(1) %q, align 4
  %through = load i32, ptr addrspace(1) %at, align 4
  %through.at = getelementptr inbounds float, ptr addrspace(1) %p, i32 %through
  %gathered = load float, ptr addrspace(1) %through.at, align 4
  ret void
";
    check(
        body,
        Some([32, 8, 1]),
        &expect![[r#"
            %in.row = load float, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 5 sectors
            %in.column = load float, ptr addrspace(1) %at.j, align 4: Strided(4096), 32 segments, 32 sectors
            store float %in.row, ptr addrspace(3) %tile.at, align 4: Strided(132), 32 segments, 32 sectors, banks 1
            %of.pair = load double, ptr addrspace(1) %member, align 8: Strided(16), 5 segments, 17 sectors
            %same = load float, ptr addrspace(1) %q, align 4: Broadcast, 1 segments, 1 sectors
            %through = load i32, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 5 sectors
            %gathered = load float, ptr addrspace(1) %through.at, align 4: Gather
        "#]],
    );
    check(
        body,
        Some([16, 16, 1]),
        &expect![[r#"
            %in.row = load float, ptr addrspace(1) %at, align 4: Consecutive in a row
            %in.column = load float, ptr addrspace(1) %at.j, align 4: Gather, 32 segments, 32 sectors
            store float %in.row, ptr addrspace(3) %tile.at, align 4: Gather, 17 segments, 18 sectors, banks 2
            %of.pair = load double, ptr addrspace(1) %member, align 8: Gather, 3 segments, 9 sectors
            %same = load float, ptr addrspace(1) %q, align 4: Broadcast, 1 segments, 1 sectors
            %through = load i32, ptr addrspace(1) %at, align 4: Consecutive in a row
            %gathered = load float, ptr addrspace(1) %through.at, align 4: Gather
        "#]],
    );
}

#[test]
fn a_loop_over_a_grid() {
    check(
        "
  %base = mul i32 %b, 256
  %start = add nsw i32 %base, %x
  br label %loop
loop:
  %i = phi i32 [ %start, %entry ], [ %next, %latch ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %latch, label %exit
latch:
  %wide = sext i32 %i to i64
  %at = getelementptr inbounds i32, ptr addrspace(1) %p, i64 %wide
  %v = load i32, ptr addrspace(1) %at, align 4
  %other.at = getelementptr inbounds i32, ptr addrspace(1) %p, i32 %v
  store i32 %v, ptr addrspace(1) %other.at, align 4
  %next = add nsw i32 %i, %m
  br label %loop
exit:
  %last = sext i32 %i to i64
  %last.at = getelementptr inbounds i32, ptr addrspace(1) %p, i64 %last
  store i32 0, ptr addrspace(1) %last.at, align 4
  ret void
",
        Some([256, 1, 1]),
        &expect![[r#"
            %v = load i32, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 5 sectors
            store i32 %v, ptr addrspace(1) %other.at, align 4: Gather
            store i32 0, ptr addrspace(1) %last.at, align 4: Gather
        "#]],
    );
}

/// The phi is thread and rest; as a number that is extended and may wrap it is neither.
#[test]
fn an_index_that_wraps_round_a_loop() {
    check(
        "
  %start = mul i32 %x, 32
  br label %loop
loop:
  %i = phi i32 [ %start, %entry ], [ %next, %latch ]
  %more = icmp ult i32 %i, %n
  br i1 %more, label %latch, label %exit
latch:
  %at = getelementptr float, ptr addrspace(3) @big, i32 %i
  store float 1.0, ptr addrspace(3) %at, align 4
  %next = add i32 %i, 256
  br label %loop
exit:
  ret void
",
        Some([256, 1, 1]),
        &expect![[r#"
            store float 1.000000e+00, ptr addrspace(3) %at, align 4: Strided(128) if no index wraps, 32 segments, 32 sectors, banks 32
        "#]],
    );
}

/// Both values of the phi differ by a constant in the arithmetic of their width, and not as the
/// numbers that are extended.
#[test]
fn a_phi_of_values_that_differ_by_a_constant_once_they_wrap() {
    let body = |factor: i32, step: i32| {
        format!(
            "
  %first = mul i32 %x, {factor}
  %second = add i32 %first, {step}
  br label %loop
loop:
  %i = phi i32 [ %first, %entry ], [ %second, %loop ]
  %at = getelementptr i8, ptr addrspace(1) %p, i32 %i
  %v = load i8, ptr addrspace(1) %at, align 1
  %more = icmp ult i8 %v, 7
  br i1 %more, label %loop, label %exit
exit:
  ret void
"
        )
    };
    check(
        &body(1 << 24, 1 << 24),
        Some([256, 1, 1]),
        &expect![[r#"
            %v = load i8, ptr addrspace(1) %at, align 1: Strided(16777216) if no index wraps, 32 segments, 32 sectors
        "#]],
    );
    check(
        &body(4, 1024),
        Some([256, 1, 1]),
        &expect![[r#"
            %v = load i8, ptr addrspace(1) %at, align 1: Strided(4), 2 segments, 5 sectors
        "#]],
    );
}

/// Twice `100 * x` is `-56 * x` in eight bits, and not as numbers that are extended.
#[test]
fn a_sum_of_factors_that_wraps() {
    let body = |factor: i32| {
        format!(
            "
  %x8 = trunc i32 %x to i8
  %n8 = trunc i32 %n to i8
  %m8 = trunc i32 %m to i8
  %part = mul i8 %x8, {factor}
  %one = add nsw i8 %part, %n8
  %other = add nsw i8 %part, %m8
  %sum = add nsw i8 %one, %other
  %wide = sext i8 %sum to i64
  %at = getelementptr i8, ptr addrspace(1) %p, i64 %wide
  %v = load i8, ptr addrspace(1) %at, align 1
  ret void
"
        )
    };
    check(
        &body(100),
        Some([2, 1, 1]),
        &expect![[r#"
            %v = load i8, ptr addrspace(1) %at, align 1: Strided(-56) if no index wraps, 2 segments, 2 sectors
        "#]],
    );
    check(
        &body(10),
        Some([2, 1, 1]),
        &expect![[r#"
            %v = load i8, ptr addrspace(1) %at, align 1: Strided(20), 2 segments, 2 sectors
        "#]],
    );
}

/// Only 32 bits of an index count in a space of such addresses, and all in one of wider ones.
#[test]
fn an_index_that_is_wider_than_addresses() {
    let text = r#"target triple = "amdgcn-amd-amdhsa"
target datalayout = "e-p:64:64-p1:64:64-p3:32:32-p5:32:32-A5-G1"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) %p, ptr addrspace(3) %l) "target-cpu"="gfx1100" {
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %wide = zext i32 %x to i64
  %high = shl i64 %wide, 32
  %both = add i64 %high, %wide
  %a = getelementptr i8, ptr addrspace(3) %l, i64 %high
  %b = getelementptr i32, ptr addrspace(3) %l, i64 %both
  %c = getelementptr i8, ptr addrspace(1) %p, i64 %high
  %u = load i8, ptr addrspace(3) %a, align 1
  %v = load i32, ptr addrspace(3) %b, align 4
  %w = load i8, ptr addrspace(1) %c, align 1
  ret void
}
"#;
    for size in [Some([64, 1, 1]), None] {
        let (_, _, found) = accesses_of(text, size);
        let patterns: Vec<Pattern> = found.iter().map(|access| access.pattern).collect();
        assert_eq!(
            patterns,
            [Pattern::Broadcast, Pattern::Consecutive, Pattern::Strided(1 << 32)],
            "{size:?}"
        );
    }
}

/// The sum may overflow, and `freeze` makes any address of that.
#[test]
fn an_index_that_is_frozen() {
    let body = |sum: &str| {
        format!(
            "
  %sum = {sum}
  %frozen = freeze i32 %sum
  %wide = sext i32 %frozen to i64
  %at = getelementptr float, ptr addrspace(1) %p, i64 %wide
  %v = load float, ptr addrspace(1) %at, align 4
  ret void
"
        )
    };
    let sums = ["add nsw i32 %n, %x", "add nuw nsw i32 %x, 7", "add i32 %n, %x", "shl i32 1, %x"];
    for (sum, expected) in sums.into_iter().zip([
        expect![[r#"
            %v = load float, ptr addrspace(1) %at, align 4: Gather
        "#]],
        expect![[r#"
            %v = load float, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 5 sectors
        "#]],
        expect![[r#"
            %v = load float, ptr addrspace(1) %at, align 4: Consecutive if no index wraps, 2 segments, 5 sectors
        "#]],
        expect![[r#"
            %v = load float, ptr addrspace(1) %at, align 4: Gather
        "#]],
    ]) {
        check(&body(sum), Some([64, 1, 1]), &expected);
    }
}

/// The address is as aligned as the variable, whatever the index is a multiple of.
#[test]
fn where_a_variable_is() {
    let body = |variable: &str| {
        format!(
            "
  %base = mul nsw i32 %b, 256
  %i = add nsw i32 %base, %x
  %wide = sext i32 %i to i64
  %at = getelementptr float, ptr addrspace(1) {variable}, i64 %wide
  %v = load float, ptr addrspace(1) %at, align 4
  ret void
"
        )
    };
    for (variable, expected) in [
        (
            "@words",
            expect![[r#"
                %v = load float, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 5 sectors
            "#]],
        ),
        (
            "@lines",
            expect![[r#"
                %v = load float, ptr addrspace(1) %at, align 4: Consecutive, 1 segments, 4 sectors
            "#]],
        ),
        (
            "@elsewhere",
            expect![[r#"
                %v = load float, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 5 sectors
            "#]],
        ),
        (
            "getelementptr (i8, ptr addrspace(1) @lines, i64 64)",
            expect![[r#"
                %v = load float, ptr addrspace(1) %at, align 4: Consecutive, 2 segments, 4 sectors
            "#]],
        ),
        (
            "null",
            expect![[r#"
                %v = load float, ptr addrspace(1) %at, align 4: Consecutive, 1 segments, 4 sectors
            "#]],
        ),
    ] {
        check(&body(variable), Some([256, 1, 1]), &expected);
    }
}

/// A cycle with two entries, in which threads are taken to run apart: what is equal among those
/// that compute it together need not be among those that are together in the block behind.
#[test]
fn what_is_computed_in_a_cycle_with_two_entries() {
    let text = r#"target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.ballot.i32(i1)
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) "target-cpu"="gfx1030" {
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %odd = icmp ult i32 %x, 16
  br i1 %odd, label %left, label %right
left:
  %first = call i32 @llvm.amdgcn.ballot.i32(i1 %odd)
  %at = getelementptr float, ptr addrspace(1) %p, i32 %first
  %here = load float, ptr addrspace(1) %at, align 4
  br label %behind
behind:
  %there = load float, ptr addrspace(1) %at, align 4
  br label %right
right:
  %more = icmp ult i32 %x, %n
  br i1 %more, label %left, label %exit
exit:
  %own = getelementptr float, ptr addrspace(1) %p, i32 %n
  %last = load float, ptr addrspace(1) %own, align 4
  ret void
}
"#;
    let (session, function, found) = accesses_of(text, Some([64, 1, 1]));
    let patterns = found.iter().map(|access| {
        format!("{}: {:?}", session.print_inst(function, access.inst).trim(), access.pattern)
    });
    expect![[r#"
        %here = load float, ptr addrspace(1) %at, align 4: Broadcast
        %there = load float, ptr addrspace(1) %at, align 4: Gather
        %last = load float, ptr addrspace(1) %own, align 4: Broadcast
    "#]]
    .assert_eq(&patterns.map(|line| line + "\n").collect::<String>());
}
