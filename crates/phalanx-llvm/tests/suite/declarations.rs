//! Which declarations of intrinsics a module has after reading, and in which order: LLVM's.

use crate::support;

use expect_test::{Expect, expect};
use support::{Llvm, ours};

/// The names that are declared, in order.
fn declared(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let names = text.lines().filter(|line| line.starts_with("declare "));
    names
        .filter_map(|line| Some(line.split_once('@')?.1.split_once('(')?.0.to_owned() + "\n"))
        .collect()
}

#[track_caller]
fn check(text: &str, expected: &Expect) {
    let read = ours(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    expected.assert_eq(&declared(&read));
    if let Some(llvm) = Llvm::find() {
        let theirs = llvm.rewrite(text.as_bytes()).expect("LLVM reads the text");
        assert_eq!(declared(&theirs), declared(&read), "LLVM has another order");
        let again = llvm.rewrite(&read).expect("LLVM reads what we wrote");
        assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&theirs));
    }
}

/// What one name stands for is declared from its last call to its first.
#[test]
fn calls_without_a_declaration() {
    check(
        "define void @f(i8 %a, i16 %b, i32 %c) {
  %1 = call i8 @llvm.umax(i8 %a, i8 1)
  %2 = call i32 @llvm.abs.i64(i32 %c, i1 false)
  %3 = call i16 @llvm.umax(i16 %b, i16 1)
  %4 = call i32 @llvm.umax(i32 %c, i32 1)
  %5 = call i8 @llvm.umax(i8 %1, i8 2)
  %6 = call i16 @llvm.abs.i64(i16 %b, i1 false)
  %7 = call i8 @llvm.abs.i8(i8 %a, i1 false)
  ret void
}
",
        &expect![[r#"
            llvm.abs.i16
            llvm.abs.i32
            llvm.abs.i8
            llvm.umax.i8
            llvm.umax.i32
            llvm.umax.i16
        "#]],
    );
}

/// Old declarations are replaced behind those that calls ask for, whether they are called or not.
#[test]
fn old_declarations_without_calls() {
    check(
        "declare <4 x i8> @llvm.masked.gather.v4i8.v4p0(<4 x ptr>, i32, <4 x i1>, <4 x i8>)
declare void @llvm.masked.store.nxv2i8(<vscale x 2 x i8>, ptr, i32, <vscale x 2 x i1>)
declare void @g()
define void @f(<vscale x 2 x i8> %v, ptr %p, <vscale x 2 x i1> %m, half %h) {
  %1 = call half @llvm.fabs.f32(half %h)
  call void @llvm.masked.store.nxv2i8(<vscale x 2 x i8> %v, ptr %p, i32 1, <vscale x 2 x i1> %m)
  ret void
}
",
        &expect![[r#"
            g
            llvm.fabs.f16
            llvm.masked.gather.v4i8.v4p0
            llvm.masked.store.nxv2i8.p0
        "#]],
    );
}

/// Intrinsics of targets that are no GPUs have names by their types, too.
#[test]
fn intrinsics_of_other_targets() {
    check(
        "define void @f(<vscale x 4 x i1> %p, <vscale x 4 x i32> %a, <4 x i16> %b) {
  %1 = call <vscale x 4 x i32> @llvm.aarch64.sve.add(<vscale x 4 x i1> %p, \
<vscale x 4 x i32> %a, <vscale x 4 x i32> %a)
  %2 = call <4 x i32> @llvm.aarch64.neon.smull(<4 x i16> %b, <4 x i16> %b)
  %3 = call target(\"dx.RawBuffer\", float, 1, 0) @llvm.dx.resource.handlefrombinding(i32 0, \
i32 0, i32 1, i32 0, ptr null)
  %4 = call target(\"dx.RawBuffer\", i32, 1, 0) @llvm.dx.resource.handlefrombinding(i32 0, \
i32 1, i32 1, i32 0, ptr null)
  ret void
}
",
        &expect![[r#"
            llvm.aarch64.neon.smull.v4i32
            llvm.aarch64.sve.add.nxv4i32
            llvm.dx.resource.handlefrombinding.tdx.RawBuffer_i32_1_0t
            llvm.dx.resource.handlefrombinding.tdx.RawBuffer_f32_1_0t
        "#]],
    );
}
