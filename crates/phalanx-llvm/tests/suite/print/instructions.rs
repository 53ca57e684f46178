//! Instructions, terminators and calls.

use super::{check, check_becomes, check_insts};

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
