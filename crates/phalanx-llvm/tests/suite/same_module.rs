//! For LLVM our text is the same module as the original: small texts of kinds that were once
//! changed or refused.
//!
//! LLVM rewrites old forms while it reads, so the tests compare LLVM's print of the original with
//! its print of our text.

use crate::support;

use support::{Llvm, ours};

#[track_caller]
fn same(text: &str) {
    let read = ours(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    if let Some(llvm) = Llvm::find() {
        let theirs = llvm.rewrite(text.as_bytes()).expect("LLVM reads the text");
        let again = llvm.rewrite(&read).expect("LLVM reads what we wrote");
        assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&theirs));
    }
}

/// Of old calls of bit counts and the like only the operands stay; of masked accesses also metadata
/// and `tail`.
#[test]
fn what_stays_of_old_calls() {
    same(
        "declare i32 @llvm.ctlz.i32(i32)
declare i64 @llvm.objectsize.i64.p0(ptr, i1)
declare i64 @llvm.objectsize.i64(ptr, i1, i1, i1)
declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, i32, <4 x i1>, <4 x float>)
declare ptr @llvm.thread.pointer()
define void @f(i32 %a, ptr %p, <4 x i1> %m, <4 x float> %v) {
  %1 = tail call i32 @llvm.ctlz.i32(i32 %a) nounwind, !foo !0
  %2 = tail call i64 @llvm.objectsize.i64.p0(ptr %p, i1 true)
  %3 = tail call i64 @llvm.objectsize.i64(ptr %p, i1 true, i1 false, i1 false)
  %4 = tail call fast <4 x float> @llvm.masked.load.v4f32.p0(ptr %p, i32 8, <4 x i1> %m, <4 x float> %v) nounwind, !foo !0
  %5 = tail call ptr @llvm.thread.pointer()
  ret void
}
!0 = !{}
",
    );
}

/// Alignment 0 is that of the elements.
#[test]
fn gathers_without_alignment() {
    same(
        "target datalayout = \"e-i64:32\"
declare <2 x i64> @llvm.masked.gather.v2i64.v2p0(<2 x ptr>, i32, <2 x i1>, <2 x i64>)
declare void @llvm.masked.scatter.v2f16.v2p0(<2 x half>, <2 x ptr>, i32, <2 x i1>)
define void @f(<2 x ptr> %p, <2 x i1> %m, <2 x i64> %v, <2 x half> %h) {
  %1 = call <2 x i64> @llvm.masked.gather.v2i64.v2p0(<2 x ptr> %p, i32 0, <2 x i1> %m, <2 x i64> %v)
  call void @llvm.masked.scatter.v2f16.v2p0(<2 x half> %h, <2 x ptr> %p, i32 0, <2 x i1> %m)
  ret void
}
",
    );
}

/// The suffix is that of one type, the calls are of several.
#[test]
fn undeclared_names_that_are_wrong() {
    same(
        "define void @f(<2 x i32> %a, <4 x i32> %b, ptr %p) {
  %1 = call <2 x i32> @llvm.smin.v4i32(<2 x i32> %a, <2 x i32> %a)
  %2 = call <4 x i32> @llvm.smin.v4i32(<4 x i32> %b, <4 x i32> %b)
  call void @llvm.experimental.memset.pattern.p0.p0.i64(ptr %p, i8 1, i64 8, i1 false)
  call void @llvm.experimental.memset.pattern(ptr %p, i16 1, i64 8, i1 false)
  call void @llvm.experimental.memset.pattern(ptr %p, ptr %p, i64 8, i1 false)
  ret void
}
",
    );
}

#[test]
fn undeclared_old_forms_at_several_types() {
    same(
        "define void @f(ptr %p, ptr addrspace(3) %q, <2 x i1> %m, <2 x i32> %v, <2 x i8> %w) {
  %a = alloca i8
  %b = alloca i8, addrspace(3)
  call void @llvm.lifetime.start(i64 1, ptr %a)
  call void @llvm.lifetime.start(i64 1, ptr addrspace(3) %b)
  %1 = call <2 x i32> @llvm.masked.load(ptr %p, i32 4, <2 x i1> %m, <2 x i32> %v)
  %2 = call <2 x i8> @llvm.masked.load(ptr addrspace(3) %q, i32 4, <2 x i1> %m, <2 x i8> %w)
  ret void
}
",
    );
}

#[test]
fn splices_by_the_sign_of_the_offset() {
    same(
        "declare <4 x i32> @llvm.experimental.vector.splice.v4i32(<4 x i32>, <4 x i32>, i32)
define void @f(<4 x i32> %a, <2 x float> %b) {
  %1 = call <4 x i32> @llvm.experimental.vector.splice.v4i32(<4 x i32> %a, <4 x i32> %a, i32 3)
  %2 = call <4 x i32> @llvm.experimental.vector.splice.v4i32(<4 x i32> %a, <4 x i32> %a, i32 -2)
  %3 = call <2 x float> @llvm.vector.splice(<2 x float> %b, <2 x float> %b, i32 -1)
  ret void
}
",
    );
    same(
        "define i8 @f(<16 x i8> %a, <16 x i1> %m) {
  %1 = call i8 @llvm.experimental.vector.extract.last.active.v16i8(<16 x i8> %a, <16 x i1> %m, i8 0)
  ret i8 %1
}
",
    );
}

#[test]
fn old_forms_for_gpus() {
    same(
        "declare <2 x i16> @llvm.amdgcn.ds.fadd.v2bf16(ptr addrspace(3), <2 x i16>)
declare i32 @llvm.amdgcn.atomic.csub.i32.p1(ptr addrspace(1), i32, i32, i32, i1)
declare <8 x i32> @llvm.amdgcn.wmma.i32.16x16x64.iu8.v8i32.v8i32(i1, <8 x i32>, i1, <8 x i32>, <8 x i32>, i1, i1)
declare void @llvm.nvvm.cp.async.bulk.shared.cta.to.cluster(ptr addrspace(3), ptr addrspace(3), ptr addrspace(3), i32)
declare void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile.1d(ptr addrspace(3), ptr addrspace(3), ptr, i32, i16, i64, i1, i1)
declare float @llvm.nvvm.tanh.approx.f32(float)
declare <2 x half> @llvm.nvvm.ex2.approx.f16x2(<2 x half>)
declare i32 @llvm.nvvm.barrier0.and(i32)
define void @f(ptr addrspace(3) %s, ptr addrspace(1) %g, ptr %p, <2 x i16> %h, <8 x i32> %a, float %x, <2 x half> %y) {
  %r = call <2 x i16> @llvm.amdgcn.ds.fadd.v2bf16(ptr addrspace(3) %s, <2 x i16> %h)
  %i = call i32 @llvm.amdgcn.atomic.csub.i32.p1(ptr addrspace(1) %g, i32 1, i32 0, i32 0, i1 false)
  %w = call <8 x i32> @llvm.amdgcn.wmma.i32.16x16x64.iu8.v8i32.v8i32(i1 0, <8 x i32> %a, i1 1, <8 x i32> %a, <8 x i32> %a, i1 0, i1 0), !foo !0
  call void @llvm.nvvm.cp.async.bulk.shared.cta.to.cluster(ptr addrspace(3) %s, ptr addrspace(3) %s, ptr addrspace(3) %s, i32 4)
  call void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile.1d(ptr addrspace(3) %s, ptr addrspace(3) %s, ptr %p, i32 0, i16 0, i64 0, i1 0, i1 0)
  %t = call float @llvm.nvvm.tanh.approx.f32(float %x)
  %e = call <2 x half> @llvm.nvvm.ex2.approx.f16x2(<2 x half> %y)
  %b = call i32 @llvm.nvvm.barrier0.and(i32 1)
  ret void
}
!0 = !{}
",
    );
}

/// A list of one constant is the constant, one of `null` is empty; where one call is no record, all
/// stay calls.
#[test]
fn debug_calls_with_lists() {
    let text = |value: &str, place: &str| {
        format!(
            "define void @f() !dbg !5 {{
  call void @llvm.dbg.value(metadata i32 1, metadata !6, metadata !DIExpression()), !dbg !7
  call void @llvm.dbg.declare(metadata {value}, metadata !6, metadata !DIExpression()){place}
  ret void
}}
declare void @llvm.dbg.value(metadata, metadata, metadata)
declare void @llvm.dbg.declare(metadata, metadata, metadata)
!llvm.dbg.cu = !{{!2}}
!llvm.module.flags = !{{!1}}
!1 = !{{i32 2, !\"Debug Info Version\", i32 3}}
!2 = distinct !DICompileUnit(language: DW_LANG_C, file: !3)
!3 = !DIFile(filename: \"a\", directory: \"b\")
!5 = distinct !DISubprogram(name: \"f\", unit: !2)
!6 = !DILocalVariable(name: \"x\", scope: !5)
!7 = !DILocation(line: 1, scope: !5)
!8 = !{{null}}
!9 = !{{ptr null}}
"
        )
    };
    same(&text("!8", ", !dbg !7"));
    same(&text("!9", ", !dbg !7"));
    same(&text("ptr null", ""));
}

#[test]
fn empty_strings_are_metadata() {
    same(
        "!named = !{!0, !1}
!0 = !DIDerivedType(tag: DW_TAG_member, name: \"a\", baseType: null, extraData: !\"\")
!1 = !DIDerivedType(tag: DW_TAG_member, name: \"a\", baseType: null)
",
    );
}

/// Digits that do not count are passed over.
#[test]
fn constants_with_too_many_digits() {
    same(
        "@a = global fp128 0xL00000000000000003fff00000000000012
@b = global double 0x1397723CCABD0000401C666660000000
@c = global double 0x13ff0000000000000
",
    );
}

/// A stated alignment needs no size.
#[test]
fn structures_that_are_defined_later() {
    same(
        "define void @f(ptr %p) {
  %a = alloca %s, align 8
  ret void
}
%s = type { float, float }
",
    );
}

/// How large they are, and how they are aligned, is written in some types of targets.
#[test]
fn types_of_targets_in_memory() {
    same(
        "define void @f() {
  %a = alloca target(\"spirv.Type\", target(\"spirv.Literal\", 32), 21, 4, 32)
  %b = alloca target(\"spirv.Type\", 21, 8, 64)
  ret void
}
",
    );
}

/// A structure with a name stands for the one that an intrinsic returns.
#[test]
fn named_results_of_intrinsics() {
    same(
        "%s = type { i32, i1 }
declare %s @llvm.uadd.with.overflow.i32(i32, i32)
define i32 @f(i32 %a) {
  %1 = call %s @llvm.uadd.with.overflow.i32(i32 %a, i32 1)
  %2 = extractvalue %s %1, 0
  ret i32 %2
}
",
    );
}
