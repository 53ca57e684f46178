//! Sizes of workgroups that are assumed: what is found depends on them as little as possible.

use expect_test::{Expect, expect};

use super::races::found;

/// A kernel in which no size of workgroups is stated, with a tile of this type.
#[expect(clippy::needless_pass_by_value, reason = "`expect!` is written at the call")]
fn check(tile: &str, bound: &str, body: &str, expected: Expect) {
    let text = format!(
        r#"target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global {tile} undef
@size = external addrspace(4) constant i32
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %n, ptr addrspace(3) %rows) {bound} {{
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
{body}  ret void
}}
"#
    );
    let barrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)";
    expected.assert_eq(&found(&text.replace("  barrier\n", &format!("  {barrier}\n"))));
}

/// y counts rows of the grid: no address of the tile depends on it.
#[test]
fn rows_of_the_grid() {
    let body = "  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %group = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
  %first = mul i32 %group, %size
  %row = add i32 %first, %y
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %row
  %value = load i32, ptr addrspace(1) %from
  %own = getelementptr i32, ptr addrspace(3) @tile, i32 %x
  store i32 %value, ptr addrspace(3) %own
  barrier
  %back = sub i32 127, %x
  %other = getelementptr i32, ptr addrspace(3) @tile, i32 %back
  %read = load i32, ptr addrspace(3) %other
  store i32 %read, ptr addrspace(1) %out
";
    check("[128 x i32]", "", body, expect![""]);
    check(
        "[128 x i32]",
        "",
        &body.replace("  barrier\n", ""),
        expect![[r#"
        PHX050 warning: 127 reads, 0 writes tile[0]
    "#]],
    );
    // A number that is read from constant memory, as the size of workgroups is, has no y.
    let third = "  %number = load i32, ptr addrspace(4) @size
  %less = urem i32 %x, %number
  %third = getelementptr i32, ptr addrspace(3) @tile, i32 %less
  %fourth = load i32, ptr addrspace(3) %third
";
    check("[128 x i32]", "", &(body.to_owned() + third), expect![""]);
    // A thread that asks for its y knows of several rows.
    let asks = body.replace("  barrier\n", "  barrier\n  %top = icmp eq i32 %y, 0\n");
    check(
        "[128 x i32]",
        "",
        &asks,
        expect![[r#"
        PHX050 warning: 0 writes, 0 writes tile[0]
    "#]],
    );
}

/// x counts columns of the grid: no address of the tile depends on it.
#[test]
fn columns_of_the_grid() {
    let body = "  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %x
  %value = load i32, ptr addrspace(1) %from
  %own = getelementptr i32, ptr addrspace(3) @tile, i32 %y
  store i32 %value, ptr addrspace(3) %own
  barrier
  %back = sub i32 127, %y
  %other = getelementptr i32, ptr addrspace(3) @tile, i32 %back
  %read = load i32, ptr addrspace(3) %other
  store i32 %read, ptr addrspace(1) %out
";
    check("[128 x i32]", "", body, expect![""]);
    let racy = body.replace("  barrier\n", "");
    check(
        "[128 x i32]",
        "",
        &racy,
        expect![[r#"
        PHX050 warning: 0 reads, 0 writes tile[0]
    "#]],
    );
    check("[128 x i32]", "\"nvvm.maxntid\"=\"256\"", body, expect![""]);
}

/// Memory that an argument points to has no length: rows of 16 are for 16 threads.
#[test]
fn rows_of_memory_without_a_length() {
    let body = "  br label %fill
fill:
  %i = phi i32 [ 0, %entry ], [ %i1, %fill ]
  %row = mul i32 %i, 16
  %at = add i32 %row, %x
  %own = getelementptr i32, ptr addrspace(3) %rows, i32 %at
  store i32 %x, ptr addrspace(3) %own
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, 16
  br i1 %more, label %fill, label %turn
turn:
  barrier
  %column = mul i32 %x, 16
  %other = getelementptr i32, ptr addrspace(3) %rows, i32 %column
  %read = load i32, ptr addrspace(3) %other
  store i32 %read, ptr addrspace(1) %out
";
    check("i32", "", body, expect![""]);
    check(
        "i32",
        "",
        &body.replace("  barrier\n", ""),
        expect![[r#"
        PHX050 warning: 2 reads, 32 writes argument 3[32]
    "#]],
    );
}

/// Of memory that no thread writes nothing is said: in other sizes more threads write.
#[test]
fn what_more_threads_may_write() {
    let body = "  %own = getelementptr i32, ptr addrspace(3) @tile, i32 %x
  store i32 %x, ptr addrspace(3) %own
  barrier
  %back = sub i32 1023, %x
  %other = getelementptr i32, ptr addrspace(3) @tile, i32 %back
  %read = load i32, ptr addrspace(3) %other
  store i32 %read, ptr addrspace(1) %out
";
    check("[2048 x i32]", "", body, expect![""]);
    check(
        "[2048 x i32]",
        r#""nvvm.reqntid"="256""#,
        body,
        expect![[r#"
        PHX052 error: 0 reads tile[1023]
    "#]],
    );
}

/// Threads fit an array of three dimensions: 8 x 8 x 4 would leave rows of 5.
#[test]
fn planes_of_an_array() {
    let body = "  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %z = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  %own = getelementptr [9 x [5 x [5 x i32]]], ptr addrspace(3) @tile, i32 0, i32 %z, i32 %y, i32 %x
  store i32 %x, ptr addrspace(3) %own
";
    check("[9 x [5 x [5 x i32]]]", "", body, expect![""]);
    // One element for each row.
    let rows = body.replace("i32 %y, i32 %x", "i32 %y, i32 0");
    check(
        "[9 x [5 x [5 x i32]]]",
        "",
        &rows,
        expect![[r#"
        PHX050 warning: 1 writes, 0 writes tile[0, 0, 0]
    "#]],
    );
}
