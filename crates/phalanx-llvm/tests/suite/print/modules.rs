//! What stands at the module level.

use super::{check, check_becomes};

#[test]
fn identification() {
    check(
        r#"
source_filename = "a\22b.c"
target datalayout = "e-p:64:64"
target triple = "nvptx64-nvidia-cuda"

module asm "first"
module asm "tab\09quote\22"
"#,
    );
    check_becomes(
        "module asm \"a\\0A\\0Ab\\0A\"\nmodule asm \"\"\nmodule asm \"c\"\n",
        "module asm \"a\"\nmodule asm \"\"\nmodule asm \"b\"\nmodule asm \"c\"\n",
    );
}

#[test]
fn address_spaces_of_the_layout() {
    check_becomes(
        r#"
target datalayout = "A5-G1-P3"

@plain = global i32 0
@named = addrspace("G") global i32 0
@alias = alias i32, ptr @plain

define void @f() {
  %plain = alloca i32, align 4
  %named = alloca i32, align 4, addrspace("A")
  ret void
}
"#,
        r#"
target datalayout = "A5-G1-P3"

@plain = global i32 0
@named = addrspace(1) global i32 0

@alias = alias i32, ptr @plain

define void @f() addrspace(3) {
  %plain = alloca i32, align 4
  %named = alloca i32, align 4, addrspace(5)
  ret void
}
"#,
    );
}

#[test]
fn names() {
    check(
        r#"
@plain.name-1 = global i32 0
@"do$llar" = global i32 0
@"1digit" = global i32 0
@"a b\22\\\01\FF" = global i32 0

define void @"f g"(i32 %"x y") {
"a b":
  %"1" = add i32 %"x y", 1
  br label %"c\0Ad"

"c\0Ad":                                          ; preds = %"a b"
  ret void
}
"#,
    );
}

#[test]
fn numbers_of_globals() {
    check_becomes(
        r#"
define void @1() { ret void }
@7 = alias i32, ptr @9
@9 = global i32 1
@12 = global ptr @1
"#,
        r#"
@0 = global i32 1
@1 = global ptr @3

@2 = alias i32, ptr @0

define void @3() {
  ret void
}
"#,
    );
}

#[test]
fn identified_types() {
    check(
        r#"
%0 = type { i8, %node }
%node = type { ptr, [4 x %leaf] }
%leaf = type { i32 }
%packed = type <{ i8, i32 }>
%hidden = type opaque
%"quoted name" = type { %inner, %0 }
%inner = type { double }

@a = global %node zeroinitializer
@b = global %packed <{ i8 1, i32 2 }>
@c = external global %hidden

define void @f(ptr %p) {
  %1 = getelementptr %"quoted name", ptr %p, i64 1
  ret void
}
"#,
    );
}

#[test]
fn unused_types_are_left_out() {
    check_becomes(
        "%unused = type { i32 }\n%used = type { i8 }\n@a = global %used zeroinitializer\n",
        "%used = type { i8 }\n\n@a = global %used zeroinitializer\n",
    );
}

#[test]
fn types() {
    check(
        r#"
declare void @f(i1, i128, i65, half, bfloat, float, double, x86_fp80, fp128, ppc_fp128)

declare { i32, <{ i8, ptr }>, {}, <{}> } @g(ptr addrspace(3), [2 x [3 x i8]], <2 x ptr addrspace(1)>, <vscale x 2 x i64>)

declare void @e(metadata, token)

declare target("spirv.Image", void, 1, 2) @h(target("aarch64.svcount"), x86_amx)

define void @i(ptr %p) {
  call void (i32, ...) %p(i32 1, ptr null)
  call void (...) %p(i32 1)
  ret void
}
"#,
    );
}

#[test]
fn variables() {
    check(
        r#"
$group = comdat any

$largest = comdat largest

@a = external global i32
@b = external hidden thread_local(localexec) local_unnamed_addr addrspace(3) externally_initialized global i32
@c = private unnamed_addr constant [3 x i8] c"ab\00", section "x\22y", partition "part", comdat($group), align 4
@d = dso_local thread_local global ptr null, code_model "large", no_sanitize_address, no_sanitize_hwaddress, sanitize_memtag, sanitize_address_dyninit
@largest = weak_odr protected dllexport global i32 0, comdat
@e = extern_weak dso_local hidden global i32
@f = available_externally dllimport constant i32 7
@g = common global i32 0, align 4
@h = appending global [1 x i32] [i32 1]
@i = linkonce global i32 1
@j = linkonce_odr global i32 1
@k = weak global i32 1
@l = internal global i32 1
"#,
    );
}

#[test]
fn attributes_of_variables() {
    check(
        r#"
@a = global i32 0, !foo !0 #0

attributes #0 = { "bss-section"="x" }

!0 = !{}
"#,
    );
}

#[test]
fn dso_local_where_it_says_nothing() {
    check_becomes(
        "@a = dso_local hidden global i32 0\n@b = dso_preemptable global i32 0\n",
        "@a = hidden global i32 0\n@b = global i32 0\n",
    );
}

#[test]
fn aliases_and_ifuncs() {
    check(
        r#"
@v = global [2 x i32] zeroinitializer

@a = alias i32, ptr @v
@b = private thread_local(initialexec) unnamed_addr alias i32, getelementptr (i8, ptr @v, i64 4), partition "p"
@c = weak_odr dso_local dllexport alias i32, ptr @a

@i = ifunc i32 (i32), ptr @resolver
@j = internal ifunc void (), ptr @resolver, partition "p"

define ptr @resolver() {
  ret ptr null
}
"#,
    );
}

#[test]
fn comdats() {
    check(
        r#"
$f = comdat exactmatch

$"two words" = comdat nodeduplicate

$g = comdat samesize

@v = global i32 0, comdat($g)

define void @f() comdat {
  ret void
}

define void @h() comdat($"two words") {
  ret void
}
"#,
    );
}

#[test]
fn headers() {
    check(
        r#"
declare void @a()

; Function Attrs: nounwind
declare extern_weak noundef i32 @b(i32 noundef, ...) #0

declare !foo !0 amdgpu_kernel void @c(ptr addrspace(1) noalias)

declare cc99 void @d(...)

; Function Attrs: nounwind
define weak_odr protected dllexport fastcc noundef signext i8 @e(ptr byref(i32) align 4 %x, i32 %0) unnamed_addr #0 section "foo" partition "x" align 8 gc "shadow-stack" prefix i32 1 prologue i32 2 personality ptr @a !foo !0 {
  ret i8 1
}

define internal void @g() local_unnamed_addr addrspace(1) #1 {
  ret void
}

attributes #0 = { nounwind "key"="value" }
attributes #1 = { "only-text" }

!0 = !{}
"#,
    );
}

#[test]
fn program_address_space() {
    check(
        r#"
target datalayout = "P1"

declare void @a() addrspace(0)

define void @b() addrspace(1) {
  call addrspace(0) void @a()
  call addrspace(1) void @b()
  ret void
}
"#,
    );
}

#[test]
fn types_that_only_debug_information_names() {
    check(
        r#"
%s = type { float, %a }
%a = type { i32 }

define void @f() !dbg !3 {
    #dbg_value(%s poison, !6, !DIExpression(), !7)
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}

!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug)
!1 = !DIFile(filename: "x.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 1, type: !4, spFlags: DISPFlagDefinition, unit: !0)
!4 = !DISubroutineType(types: !5)
!5 = !{}
!6 = !DILocalVariable(name: "x", scope: !3, file: !1, line: 1)
!7 = !DILocation(line: 1, scope: !3)
"#,
    );
}

#[test]
fn names_of_address_spaces() {
    check_becomes(
        r#"
target datalayout = "p2(shared):32:32"

@a = addrspace("shared") global i32 0
"#,
        r#"
target datalayout = "p2(shared):32:32"

@a = addrspace(2) global i32 0
"#,
    );
}

#[test]
fn empty_names_are_numbers() {
    check_becomes(
        r#"
@"" = global i8 1
@a = global ptr @0

declare void @""()
"#,
        r#"
@0 = global i8 1
@a = global ptr @0

declare void @1()
"#,
    );
}

#[test]
fn a_space_before_the_colon_of_memory_effects() {
    check_becomes(
        "define void @f() memory(argmem : write) {\n  ret void\n}\n",
        r#"
; Function Attrs: memory(argmem: write)
define void @f() #0 {
  ret void
}

attributes #0 = { memory(argmem: write) }
"#,
    );
}

#[test]
fn vectors_of_a_target_type() {
    check(
        r#"
define <2 x target("llvm.test.vectorelement")> @f(<2 x target("llvm.test.vectorelement")> %x) {
  ret <2 x target("llvm.test.vectorelement")> %x
}
"#,
    );
}

#[test]
fn extra_inhabitants() {
    check(
        r#"
!named = !{!0}

!0 = !DIBasicType(name: "B", size: 1, encoding: DW_ATE_unsigned, num_extra_inhabitants: 254)
"#,
    );
}
