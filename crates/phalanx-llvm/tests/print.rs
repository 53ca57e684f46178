//! The spelling of every construct: what is read in LLVM's own spelling is written in it again.
//!
//! Each test holds one theme in the form LLVM 22 writes. Where LLVM is installed, it confirms that form.

mod support;

use support::{Llvm, first_difference, normalized, ours};

/// The text is LLVM's spelling of itself, and ours.
#[track_caller]
fn check(text: &str) {
    check_becomes(text, text);
}

/// LLVM and we both write `text` as `expected`.
#[track_caller]
fn check_becomes(text: &str, expected: &str) {
    let expected = normalized(expected.as_bytes());
    let written = ours(text.as_bytes()).unwrap_or_else(|message| panic!("not read: {message}"));
    if let Some(difference) = first_difference(&written, &expected) {
        panic!("ours and the expected text differ at {difference}");
    }
    if let Some(llvm) = Llvm::find() {
        let theirs = llvm.rewrite(text.as_bytes()).unwrap_or_else(|m| panic!("LLVM refuses: {m}"));
        if let Some(difference) = first_difference(&theirs, &expected) {
            panic!("LLVM's and the expected text differ at {difference}");
        }
    }
}

/// A function around instructions; arguments `%i` (i32), `%p` (ptr), `%f` (float), `%v` (<4 x i32>).
#[track_caller]
fn check_insts(lines: &str) {
    let mut text = "define void @f(i32 %i, ptr %p, float %f, <4 x i32> %v) {\n".to_owned();
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        text += line;
        text += "\n";
    }
    check(&(text + "  ret void\n}\n"));
}

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
fn integers() {
    check(
        r#"
@a = global i1 true
@b = global i1 false
@c = global i8 -128
@d = global i64 -9223372036854775808
@e = global i128 -170141183460469231731687303715884105728
@f = global i129 340282366920938463463374607431768211455
@g = global i1000 -7
@h = global i2 -1
"#,
    );
}

#[test]
fn floating_point() {
    check(
        r#"
@a = global float 1.250000e+00
@b = global float 0x3FB99999A0000000
@c = global float 0x36A0000000000000
@d = global float 0x7FF8000000000000
@e = global float 0x7FF4000000000000
@f = global double -0.000000e+00
@g = global double 1.000000e-01
@h = global double 0x3FD5555555555555
@i = global double 4.940660e-324
@j = global double 1.000000e+100
@k = global double 0xFFF0000000000000
@l = global half 0xH3C00
@m = global bfloat 0xR3F80
@n = global x86_fp80 0xK4000C8F5C28F5C28F800
@o = global fp128 0xL00000000000000013FFF000000000000
@p = global ppc_fp128 0xM400921FB54442D180000000000000001
"#,
    );
}

#[test]
fn aggregates() {
    check(
        r#"
@a = global [2 x i32] [i32 1, i32 2]
@b = global { i32, ptr } { i32 1, ptr @a }
@c = global <{ i8, [0 x i32] }> <{ i8 1, [0 x i32] zeroinitializer }>
@d = global [2 x { i32, i32 }] [{ i32, i32 } zeroinitializer, { i32, i32 } undef]
@e = global [4 x i8] c"a\22\\\FF"
@f = global [2 x i8] [i8 1, i8 poison]
@g = global <3 x i16> <i16 1, i16 2, i16 poison>
@h = global <4 x i32> splat (i32 -1)
@i = global <2 x float> splat (float 0x3FB99999A0000000)
@j = global <2 x ptr> <ptr @a, ptr @a>
@k = global [2 x i32] [i32 undef, i32 poison]
@l = global {} zeroinitializer
"#,
    );
}

#[test]
fn aggregates_become_canonical() {
    check_becomes(
        r#"
@a = global [2 x i8] [i8 97, i8 0]
@b = global [2 x i8] c"\00\00"
@c = global <2 x i32> <i32 1, i32 1>
@d = global <2 x i32> <i32 0, i32 0>
@e = global [2 x ptr] [ptr null, ptr null]
@f = global { i32, float } { i32 0, float 0.0 }
@g = global [2 x i32] [i32 undef, i32 undef]
@h = global [2 x [1 x i32]] [[1 x i32] [i32 0], [1 x i32] zeroinitializer]
@i = global {} {}
@j = global i32 zeroinitializer
@k = global ptr zeroinitializer
@l = global double zeroinitializer
@m = global <2 x ptr> splat (ptr @a)
@n = global <2 x i32> <i32 poison, i32 poison>
"#,
        r#"
@a = global [2 x i8] c"a\00"
@b = global [2 x i8] zeroinitializer
@c = global <2 x i32> splat (i32 1)
@d = global <2 x i32> zeroinitializer
@e = global [2 x ptr] zeroinitializer
@f = global { i32, float } zeroinitializer
@g = global [2 x i32] undef
@h = global [2 x [1 x i32]] zeroinitializer
@i = global {} zeroinitializer
@j = global i32 0
@k = global ptr null
@l = global double 0.000000e+00
@m = global <2 x ptr> <ptr @a, ptr @a>
@n = global <2 x i32> poison
"#,
    );
}

#[test]
fn scalable_vectors() {
    check(
        r#"
@g = global i32 0

define void @f(<vscale x 2 x i32> %x) {
  %a = add <vscale x 2 x i32> %x, splat (i32 7)
  %b = add <vscale x 2 x i32> %x, zeroinitializer
  %c = icmp eq <vscale x 2 x ptr> zeroinitializer, shufflevector (<vscale x 2 x ptr> insertelement (<vscale x 2 x ptr> poison, ptr @g, i64 0), <vscale x 2 x ptr> poison, <vscale x 2 x i32> zeroinitializer)
  %d = shufflevector <vscale x 2 x i32> %x, <vscale x 2 x i32> poison, <vscale x 2 x i32> zeroinitializer
  ret void
}
"#,
    );
}

#[test]
fn expressions() {
    check(
        r#"
%s = type { i32, [4 x i32] }

@g = global %s zeroinitializer
@h = global i32 0
@a = global i64 ptrtoint (ptr @g to i64)
@b = global i64 add (i64 ptrtoint (ptr @g to i64), i64 3)
@c = global i64 sub nuw nsw (i64 ptrtoint (ptr @g to i64), i64 ptrtoint (ptr @h to i64))
@d = global ptr getelementptr (i8, ptr @g, i64 3)
@e = global ptr getelementptr inbounds (%s, ptr @g, i64 0, i32 1, i64 2)
@f = global ptr getelementptr inbounds nuw inrange(-8, 16) (i8, ptr @g, i64 12)
@i = global ptr addrspace(3) addrspacecast (ptr @g to ptr addrspace(3))
@j = global ptr inttoptr (i64 7 to ptr)
@k = global i32 trunc (i64 add (i64 ptrtoint (ptr @g to i64), i64 3) to i32)
@l = global i64 xor (i64 ptrtoint (ptr @g to i64), i64 -1)
@m = global i64 ptrtoaddr (ptr @g to i64)
@n = global ptr getelementptr nusw (i8, ptr @g, i64 5)
"#,
    );
}

#[test]
fn addresses_and_authenticated_pointers() {
    check(
        r#"
@a = global ptr dso_local_equivalent @f
@b = global ptr no_cfi @f
@c = global ptr ptrauth (ptr @a, i32 2)
@d = global ptr ptrauth (ptr @a, i32 2, i64 3)
@e = global ptr ptrauth (ptr @a, i32 2, i64 0, ptr @e)
@g = global ptr blockaddress(@f, %named)
@h = global ptr blockaddress(@f, %1)

define void @f() {
  br label %1

1:                                                ; preds = %0
  br label %named

named:                                            ; preds = %1
  indirectbr ptr blockaddress(@f, %1), [label %2]

2:                                                ; preds = %named
  ret void
}
"#,
    );
}

#[test]
fn arithmetic() {
    check_insts(
        r#"
  %1 = add i32 %i, 1
  %2 = add nuw nsw i32 %1, %i
  %3 = sub nsw i32 0, %2
  %4 = mul nuw i32 %3, -1
  %5 = udiv exact i32 %4, 2
  %6 = sdiv i32 %5, 2
  %7 = urem i32 %6, 2
  %8 = srem i32 %7, 2
  %9 = shl nuw nsw i32 %8, 2
  %10 = lshr exact i32 %9, 2
  %11 = ashr i32 %10, 2
  %12 = and i32 %11, 2
  %13 = or disjoint i32 %12, 2
  %14 = xor i32 %13, -1
  %15 = add <4 x i32> %v, <i32 1, i32 2, i32 3, i32 4>
  %16 = add <4 x i32> %v, splat (i32 1)
"#,
    );
}

#[test]
fn floating_point_arithmetic() {
    check_insts(
        r#"
  %1 = fneg float %f
  %2 = fadd fast float %1, 1.000000e+00
  %3 = fsub reassoc nsz float %2, %f
  %4 = fmul nnan ninf arcp contract afn float %3, %f
  %5 = fdiv contract float %4, %f
  %6 = frem float %5, %f
  %7 = fcmp nnan olt float %6, %f
  %8 = fcmp true float %6, %f
  %9 = select ninf i1 %7, float %6, float %5
  %10 = fptrunc nnan double 1.000000e+00 to float
  %11 = fpext fast float %10 to double
"#,
    );
}

#[test]
fn conversions() {
    check_insts(
        r#"
  %1 = trunc nuw nsw i32 %i to i8
  %2 = zext nneg i8 %1 to i32
  %3 = sext i8 %1 to i32
  %4 = fptoui float %f to i32
  %5 = fptosi float %f to i32
  %6 = uitofp nneg i32 %5 to float
  %7 = sitofp i32 %5 to float
  %8 = ptrtoint ptr %p to i64
  %9 = ptrtoaddr ptr %p to i64
  %10 = inttoptr i64 %8 to ptr
  %11 = bitcast <4 x i32> %v to i128
  %12 = addrspacecast ptr %p to ptr addrspace(3)
"#,
    );
}

#[test]
fn comparison_and_choice() {
    check_insts(
        r#"
  %1 = icmp eq i32 %i, 1
  %2 = icmp samesign ult i32 %i, 1
  %3 = icmp sge ptr %p, null
  %4 = fcmp uno float %f, 0.000000e+00
  %5 = select i1 %1, i32 %i, i32 2
  %6 = select <4 x i1> zeroinitializer, <4 x i32> %v, <4 x i32> poison
  %7 = freeze i32 %i
  %8 = freeze <4 x i32> splat (i32 1)
"#,
    );
}

#[test]
fn memory() {
    check_insts(
        r#"
  %1 = alloca i32, align 4
  %2 = alloca [3 x i8], i32 %i, align 16
  %3 = alloca i32, i64 1, align 4, addrspace(5)
  %4 = alloca inalloca i64, align 8
  %5 = alloca swifterror ptr, align 8
  %6 = load i32, ptr %p, align 4
  %7 = load volatile i32, ptr %p, align 1
  %8 = load atomic i32, ptr %p seq_cst, align 4
  %9 = load atomic volatile i32, ptr %p syncscope("agent") acquire, align 4
  store i32 %i, ptr %p, align 4
  store volatile float 1.000000e+00, ptr %p, align 2
  store atomic i32 %i, ptr %p release, align 4
  store atomic volatile i32 %i, ptr %p syncscope("work group") unordered, align 4
  fence acq_rel
  fence syncscope("singlethread") seq_cst
  %10 = va_arg ptr %p, i32
"#,
    );
}

#[test]
fn atomics() {
    let mut lines = String::from(
        r#"
  %1 = cmpxchg ptr %p, i32 1, i32 %i acq_rel monotonic, align 4
  %2 = cmpxchg weak volatile ptr %p, i32 1, i32 %i syncscope("agent") seq_cst seq_cst, align 8
  %3 = cmpxchg ptr %p, ptr %p, ptr null release monotonic, align 8
  %4 = atomicrmw volatile xchg ptr %p, ptr null syncscope("x") monotonic, align 8
"#,
    );
    for (number, operation) in phalanx_ir::inst::RmwOp::ALL.iter().enumerate() {
        let value = if operation.text().starts_with('f') { "float %f" } else { "i32 %i" };
        let text = operation.text();
        lines +=
            &format!("  %{} = atomicrmw {text} ptr %p, {value} acquire, align 4\n", number + 5);
    }
    check_insts(&lines);
}

#[test]
fn alignments_that_are_not_stated() {
    check_becomes(
        r#"
%s = type { i8, i16 }
define void @f(ptr %q) {
  %1 = alloca i24
  %2 = alloca i64
  %3 = alloca <3 x float>
  %4 = alloca %s
  %5 = load i64, ptr %q
  %6 = load %s, ptr %q
  %7 = load <{ i32 }>, ptr %q
  store x86_fp80 0xK00000000000000000000, ptr %q
  %8 = cmpxchg ptr %q, ptr null, ptr null seq_cst seq_cst
  %9 = atomicrmw add ptr %q, i128 0 seq_cst
  ret void
}
"#,
        r#"
%s = type { i8, i16 }

define void @f(ptr %q) {
  %1 = alloca i24, align 4
  %2 = alloca i64, align 8
  %3 = alloca <3 x float>, align 16
  %4 = alloca %s, align 8
  %5 = load i64, ptr %q, align 4
  %6 = load %s, ptr %q, align 2
  %7 = load <{ i32 }>, ptr %q, align 1
  store x86_fp80 0xK00000000000000000000, ptr %q, align 16
  %8 = cmpxchg ptr %q, ptr null, ptr null seq_cst seq_cst, align 8
  %9 = atomicrmw add ptr %q, i128 0 seq_cst, align 16
  ret void
}
"#,
    );
}

#[test]
fn addresses() {
    check_insts(
        r#"
  %1 = getelementptr i8, ptr %p, i32 %i
  %2 = getelementptr inbounds { i32, [4 x i8] }, ptr %p, i64 0, i32 1, i64 %10
  %3 = getelementptr nusw i8, ptr %p, i64 1
  %4 = getelementptr nuw i8, ptr %p, i64 1
  %5 = getelementptr nusw nuw i8, ptr %p, i64 1
  %6 = getelementptr inbounds nuw i8, ptr %p, i64 1
  %7 = getelementptr i8, ptr %p, <2 x i64> <i64 0, i64 1>
  %8 = getelementptr i8, <2 x ptr> zeroinitializer, <2 x i64> %9
  %9 = zext <2 x i32> poison to <2 x i64>
  %10 = sext i32 %i to i64
"#,
    );
}

#[test]
fn vectors_and_aggregates() {
    check_insts(
        r#"
  %1 = extractelement <4 x i32> %v, i64 0
  %2 = insertelement <4 x i32> %v, i32 %i, i32 1
  %3 = shufflevector <4 x i32> %v, <4 x i32> poison, <2 x i32> <i32 3, i32 poison>
  %4 = shufflevector <4 x i32> %v, <4 x i32> %2, <4 x i32> zeroinitializer
  %5 = shufflevector <4 x i32> %v, <4 x i32> %2, <8 x i32> poison
  %6 = shufflevector <4 x i32> %v, <4 x i32> %2, <2 x i32> <i32 1, i32 1>
  %7 = insertvalue { i32, [2 x float] } poison, float %f, 1, 0
  %8 = extractvalue { i32, [2 x float] } %7, 1, 1
"#,
    );
}

#[test]
fn branches() {
    check(
        r#"
define i32 @f(i32 %x, ptr %p) {
  br i1 true, label %1, label %named

1:                                                ; preds = %5, %0
  %2 = phi i32 [ %x, %0 ], [ 1, %5 ]
  switch i32 %2, label %5 [
    i32 0, label %named
    i32 -1, label %3
    i32 7, label %3
  ]

3:                                                ; preds = %1, %1
  switch i32 %2, label %5 [
  ]

named:                                            ; preds = %4, %1, %0
  ret i32 %x

4:                                                ; No predecessors!
  indirectbr ptr %p, [label %5, label %named]

5:                                                ; preds = %4, %3, %1
  br label %1

6:                                                ; No predecessors!
  unreachable

a.very.long.name.of.a.block.that.leaves.no.room.before.the.comment: ; No predecessors!
  ret i32 0
}
"#,
    );
}

#[test]
fn calls() {
    check(
        r#"
declare noundef i32 @f(i32 noundef, ...)

declare float @g(float)

define void @h(ptr %p, float %x) {
  %1 = call i32 (i32, ...) @f(i32 noundef 1, ptr align 8 %p)
  %2 = tail call fast nofpclass(nan) float @g(float nofpclass(inf) %x)
  %3 = notail call fastcc noundef addrspace(3) i32 null(i32 inreg 3) #0
  call cc99 void %p() [ "deopt"(i32 1, ptr null), "x\22"() ]
  musttail call void @h(ptr %p, float %x)
  ret void
}

define void @v(ptr %p, ...) {
  musttail call void (ptr, ...) @v(ptr %p, ...)
  ret void
}

define void @w(...) {
  musttail call void (...) @w(...)
  ret void
}

attributes #0 = { nounwind }
"#,
    );
}

#[test]
fn inline_assembly() {
    check(
        r##"
define void @f(i32 %x) {
  %1 = call i32 asm "mov $0, $1\0A", "=r,r"(i32 %x)
  call void asm sideeffect alignstack inteldialect unwind "\22", "~{memory}"()
  callbr void asm sideeffect "# $0", "!i"()
          to label %a [label %b]

a:                                                ; preds = %0
  callbr void asm "", ""()
          to label %b []

b:                                                ; preds = %a, %0
  ret void
}
"##,
    );
}

#[test]
fn exceptions() {
    check(
        r#"
declare i32 @personality(...)

declare void @may(ptr)

declare void @va(i32, ...)

define i32 @itanium() personality ptr @personality {
entry:
  invoke fastcc void @may(ptr null) #0 [ "deopt"(i32 1) ]
          to label %ok unwind label %lp

ok:                                               ; preds = %entry
  invoke void (i32, ...) @va(i32 1, i32 2)
          to label %done unwind label %catch

done:                                             ; preds = %ok
  ret i32 0

lp:                                               ; preds = %entry
  %0 = landingpad { ptr, i32 }
          cleanup
          catch ptr null
          filter [1 x ptr] [ptr @may]
  resume { ptr, i32 } %0

catch:                                            ; preds = %ok
  %1 = landingpad { ptr, i32 }
          catch ptr @may
          catch ptr null
  unreachable
}

define void @windows() personality ptr @personality {
entry:
  invoke void @may(ptr null)
          to label %ok unwind label %dispatch

ok:                                               ; preds = %handler2, %handler1, %entry
  ret void

dispatch:                                         ; preds = %entry
  %s = catchswitch within none [label %handler1, label %handler2] unwind label %cleanup

handler1:                                         ; preds = %dispatch
  %0 = catchpad within %s [ptr null, i32 8]
  call void @may(ptr null) [ "funclet"(token %0) ]
  catchret from %0 to label %ok

handler2:                                         ; preds = %dispatch
  %1 = catchpad within %s []
  catchret from %1 to label %ok

cleanup:                                          ; preds = %dispatch
  %c = cleanuppad within none [i32 1]
  cleanupret from %c unwind label %more

more:                                             ; preds = %cleanup
  %d = cleanuppad within none []
  cleanupret from %d unwind to caller
}

define void @nested() personality ptr @personality {
entry:
  invoke void @may(ptr null)
          to label %ok unwind label %dispatch

ok:                                               ; preds = %entry
  ret void

dispatch:                                         ; preds = %entry
  %s = catchswitch within none [label %handler] unwind to caller

handler:                                          ; preds = %dispatch
  %p = catchpad within %s []
  unreachable
}

attributes #0 = { nounwind }
"#,
    );
}

#[test]
fn convergence_control() {
    check(
        r#"
; Function Attrs: convergent
declare void @f() #0

; Function Attrs: convergent
define void @g() #0 {
  %1 = call token @llvm.experimental.convergence.entry()
  call void @f() #0 [ "convergencectrl"(token %1) ]
  ret void
}

; Function Attrs: convergent nocallback nofree nosync nounwind willreturn memory(none)
declare token @llvm.experimental.convergence.entry() #1

attributes #0 = { convergent }
attributes #1 = { convergent nocallback nofree nosync nounwind willreturn memory(none) }
"#,
    );
}

#[test]
fn statepoints() {
    check(
        r#"
declare void @f()

define ptr addrspace(1) @g(ptr addrspace(1) %x) gc "statepoint-example" {
  %token = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(void ()) @f, i32 0, i32 0, i32 0, i32 0) [ "gc-live"(ptr addrspace(1) %x) ]
  %moved = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %token, i32 0, i32 0) ; (%x, %x)
  ret ptr addrspace(1) %moved
}

declare token @llvm.experimental.gc.statepoint.p0(i64 immarg, i32 immarg, ptr, i32 immarg, i32 immarg, ...)

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(none)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32 immarg, i32 immarg) #0

attributes #0 = { nocallback nofree nosync nounwind willreturn memory(none) }
"#,
    );
}

#[test]
fn attribute_groups_are_numbered_headers_first() {
    check_becomes(
        r#"
declare void @f() #9
define void @g() "a" {
  call void @f() #4
  call void @f() nounwind
  call void @f() #9
  ret void
}
declare void @h() "c"
attributes #9 = { nounwind }
attributes #4 = { "b" }
attributes #5 = { "unused" }
"#,
        r#"
; Function Attrs: nounwind
declare void @f() #0

define void @g() #1 {
  call void @f() #3
  call void @f() #0
  call void @f() #0
  ret void
}

declare void @h() #2

attributes #0 = { nounwind }
attributes #1 = { "a" }
attributes #2 = { "c" }
attributes #3 = { "b" }
"#,
    );
}

#[test]
fn metadata_is_numbered_in_order_of_use() {
    check_becomes(
        r#"
define void @f() !foo !9 {
  ret void, !foo !7, !bar !8
}
@v = global i32 0, !foo !3
!named = !{!5, !6}
!3 = !{!"variable", !4}
!4 = !{!3}
!5 = !{!"named"}
!6 = !{!9, !5}
!7 = !{!"inst"}
!8 = distinct !{}
!9 = !{!"function"}
!10 = !{!"unused"}
"#,
        r#"
@v = global i32 0, !foo !0

define void @f() !foo !4 {
  ret void, !foo !5, !bar !6
}

!named = !{!2, !3}

!0 = !{!"variable", !1}
!1 = !{!0}
!2 = !{!"named"}
!3 = !{!4, !2}
!4 = !{!"function"}
!5 = !{!"inst"}
!6 = distinct !{}
"#,
    );
}

#[test]
fn unnamed_values_are_numbered_in_order() {
    check_becomes(
        r#"
define i32 @f(i32, ptr %p, i32) {
  %5 = add i32 %0, %1
  store i32 %5, ptr %p
  br label %9
9:
  %10 = add i32 %5, 1
  ret i32 %10
}
"#,
        r#"
define i32 @f(i32 %0, ptr %p, i32 %1) {
  %3 = add i32 %0, %1
  store i32 %3, ptr %p, align 4
  br label %4

4:                                                ; preds = %2
  %5 = add i32 %3, 1
  ret i32 %5
}
"#,
    );
}
