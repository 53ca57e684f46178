; What LLVM knows of intrinsics whatever their declarations say.

;; thread index of another type
;= Intrinsic has incorrect return type!
declare i16 @llvm.amdgcn.workitem.id.x()
define i16 @f() {
  %x = call i16 @llvm.amdgcn.workitem.id.x()
  ret i16 %x
}

;; thread index of another type that nobody calls
;= ok
declare i16 @llvm.amdgcn.workitem.id.x()

;; thread index with an argument
;= Intrinsic has incorrect argument type!
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x(i32)
define i32 @f() {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(i32 0)
  ret i32 %x
}

;; thread index with variable arguments
;= Intrinsic was not defined with variable arguments!
declare i32 @llvm.amdgcn.workitem.id.x(...)
define i32 @f() {
  %x = call i32 (...) @llvm.amdgcn.workitem.id.x()
  ret i32 %x
}

;; anchor that makes an integer
;= Intrinsic has incorrect return type!
declare i32 @llvm.experimental.convergence.anchor()
define void @f() {
  %x = call i32 @llvm.experimental.convergence.anchor()
  ret void
}

;; signatures
;= ok
declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare i64 @llvm.amdgcn.s.memtime()
declare void @llvm.amdgcn.s.barrier()
declare void @llvm.nvvm.bar.warp.sync(i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare void @llvm.assume(i1)
define i32 @f(i32 %x, i1 %c) {
  %a = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %b = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %d = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %e = call i32 @llvm.amdgcn.ds.bpermute(i32 %d, i32 %x)
  %g = call i64 @llvm.amdgcn.s.memtime()
  call void @llvm.amdgcn.s.barrier()
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %h = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %x, i32 0, i32 31)
  %i = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %c)
  %j = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %c)
  call void @llvm.assume(i1 %j)
  ret i32 %e
}

;; ballot of an integer
;= Intrinsic has incorrect argument type!
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i32)
define i32 @f(i32 %x) {
  %i = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i32 %x)
  ret i32 %i
}

;; lifetime of an alloca
;= ok
declare void @llvm.lifetime.start.p0(ptr)
define void @f() {
  %p = alloca i32
  call void @llvm.lifetime.start.p0(ptr %p)
  ret void
}

;; lifetime of an argument
;= llvm.lifetime.start/end can only be used on alloca or poison
declare void @llvm.lifetime.start.p0(ptr)
define void @f(ptr %p) {
  call void @llvm.lifetime.start.p0(ptr %p)
  ret void
}

;; lifetime of poison
;= ok
declare void @llvm.lifetime.end.p0(ptr)
define void @f() {
  call void @llvm.lifetime.end.p0(ptr poison)
  ret void
}

;; class test of no class
;= unsupported bits for llvm.is.fpclass test mask
declare i1 @llvm.is.fpclass.f32(float, i32)
define i1 @f(float %x) {
  %r = call i1 @llvm.is.fpclass.f32(float %x, i32 2048)
  ret i1 %r
}

;; prefetch beyond its range
;= rw argument to llvm.prefetch must be 0-1
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
define void @f(ptr %p) {
  call void @llvm.prefetch.p0(ptr %p, i32 2, i32 3, i32 0)
  ret void
}

;; prefetch beyond its locality
;= locality argument to llvm.prefetch must be 0-3
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
define void @f(ptr %p) {
  call void @llvm.prefetch.p0(ptr %p, i32 1, i32 4, i32 0)
  ret void
}

;; prefetch of a third cache
;= cache type argument to llvm.prefetch must be 0-1
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
define void @f(ptr %p) {
  call void @llvm.prefetch.p0(ptr %p, i32 1, i32 3, i32 2)
  ret void
}

;; wait count from a variable
;= immarg operand has non-immediate parameter
declare void @llvm.amdgcn.s.waitcnt(i32)
define void @f(i32 %x) {
  call void @llvm.amdgcn.s.waitcnt(i32 %x)
  ret void
}

;; row mask from a variable
;= immarg operand has non-immediate parameter
declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32, i32, i32, i1)
define i32 @f(i32 %x) {
  %r = call i32 @llvm.amdgcn.update.dpp.i32(i32 %x, i32 %x, i32 1, i32 %x, i32 15, i1 true)
  ret i32 %r
}

;; values of a permutation may vary
;= ok
declare i32 @llvm.amdgcn.permlane16.i32(i32, i32, i32, i32, i1, i1)
define i32 @f(i32 %x) {
  %r = call i32 @llvm.amdgcn.permlane16.i32(i32 %x, i32 %x, i32 %x, i32 %x, i1 false, i1 true)
  ret i32 %r
}

;; exp target from a variable
;= immarg operand has non-immediate parameter
declare void @llvm.amdgcn.exp.f32(i32, i32, float, float, float, float, i1, i1)
define void @f(i32 %x, float %y) {
  call void @llvm.amdgcn.exp.f32(i32 %x, i32 15, float %y, float %y, float %y, float %y, i1 true, i1 false)
  ret void
}

;; immediate that is undefined
;= immarg operand has non-immediate parameter
declare i32 @llvm.ctlz.i32(i32, i1)
define i32 @f(i32 %x) {
  %r = call i32 @llvm.ctlz.i32(i32 %x, i1 undef)
  ret i32 %r
}

;; immediate zero
;= ok
declare i32 @llvm.ctlz.i32(i32, i1)
define i32 @f(i32 %x) {
  %r = call i32 @llvm.ctlz.i32(i32 %x, i1 zeroinitializer)
  ret i32 %r
}

;; maximum of two types
;= Intrinsic has incorrect argument type!
declare i32 @llvm.umax.i32(i32, i64)
define i32 @f(i32 %a, i64 %b) {
  %m = call i32 @llvm.umax.i32(i32 %a, i64 %b)
  ret i32 %m
}

;; maximum of floats
;= Intrinsic has incorrect return type!
declare float @llvm.umax.f32(float, float)
define float @f(float %a) {
  %m = call float @llvm.umax.f32(float %a, float %a)
  ret float %m
}

;; maximum of one
;= Callsite was not defined with variable arguments!
declare i32 @llvm.umax.i32(i32)
define i32 @f(i32 %a) {
  %m = call i32 @llvm.umax.i32(i32 %a)
  ret i32 %m
}

;; maximum with variable arguments
;= Intrinsic was not defined with variable arguments!
declare i32 @llvm.umax.i32(i32, i32, ...)
define i32 @f(i32 %a) {
  %m = call i32 (i32, i32, ...) @llvm.umax.i32(i32 %a, i32 %a, i32 %a)
  ret i32 %m
}

;; mask of a load that is too short
;= Intrinsic has incorrect argument type!
declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, <2 x i1>, <4 x i32>)
define <4 x i32> @f(ptr %p, <2 x i1> %m, <4 x i32> %v) {
  %l = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr %p, <2 x i1> %m, <4 x i32> %v)
  ret <4 x i32> %l
}

;; name of an intrinsic that there is not
;= ok
declare void @llvm.amdgcn.made.up()
define void @f() {
  call void @llvm.amdgcn.made.up()
  ret void
}

;; undeclared intrinsic that there is not
;= parser
define void @f() {
  call void @llvm.amdgcn.made.up()
  ret void
}

;; undeclared intrinsic of another type
;= parser
define void @f(i32 %a, i64 %b) {
  %m = call i32 @llvm.umax.i32(i32 %a, i64 %b)
  ret void
}

;; undeclared intrinsic of an older compiler
;= ok
define void @f() {
  call void @llvm.nvvm.barrier0()
  ret void
}

;; undeclared intrinsic at two types
;= ok
define void @f(float %a, double %b) {
  %x = call float @llvm.sqrt(float %a)
  %y = call double @llvm.sqrt(double %b)
  ret void
}

;; undeclared intrinsic at two types one of which is not its
;= parser
define void @f(float %a, i32 %b) {
  %x = call float @llvm.sqrt(float %a)
  %y = call i32 @llvm.sqrt(i32 %b)
  ret void
}

;; undeclared intrinsic whose address is taken
;= parser
define ptr @f(float %a) {
  %x = call float @llvm.sqrt(float %a)
  ret ptr @llvm.sqrt
}

;; annotation of an older compiler
;= ok
declare void @llvm.var.annotation(ptr, ptr, ptr, i32)
define void @f(ptr %p) {
  call void @llvm.var.annotation(ptr %p, ptr %p, ptr %p, i32 1)
  ret void
}

;; undeclared masked load of an older compiler
;= ok
define <4 x i32> @f(ptr %p, <4 x i1> %m, <4 x i32> %v) {
  %l = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr %p, i32 4, <4 x i1> %m, <4 x i32> %v)
  ret <4 x i32> %l
}

;; variable arguments where there are none
;= va_start called in a non-varargs function
declare void @llvm.va_start.p0(ptr)
define void @f(ptr %p) {
  call void @llvm.va_start.p0(ptr %p)
  ret void
}

;; address of a variable of the thread that is an argument
;= llvm.threadlocal.address first argument must be a GlobalValue
declare ptr @llvm.threadlocal.address.p0(ptr)
define ptr @f(ptr %p) {
  %a = call ptr @llvm.threadlocal.address.p0(ptr %p)
  ret ptr %a
}

;; address of a variable of the thread that is every thread's
;= llvm.threadlocal.address operand isThreadLocal() must be true
@g = global i32 0
declare ptr @llvm.threadlocal.address.p0(ptr)
define ptr @f() {
  %a = call ptr @llvm.threadlocal.address.p0(ptr @g)
  ret ptr %a
}

;; address of a variable of the thread
;= ok
@g = thread_local global i32 0
declare ptr @llvm.threadlocal.address.p0(ptr)
define ptr @f() {
  %a = call ptr @llvm.threadlocal.address.p0(ptr @g)
  ret ptr %a
}

;; declaration of one scope
;= ok
declare void @llvm.experimental.noalias.scope.decl(metadata)
define void @f() {
  call void @llvm.experimental.noalias.scope.decl(metadata !0)
  ret void
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = distinct !{!2}

;; declaration of two scopes
;= !id.scope.list must point to a list with a single scope
declare void @llvm.experimental.noalias.scope.decl(metadata)
define void @f() {
  call void @llvm.experimental.noalias.scope.decl(metadata !0)
  ret void
}
!0 = !{!1, !2}
!1 = distinct !{!1, !3}
!2 = distinct !{!2, !3}
!3 = distinct !{!3}

;; declaration of no scope
;= !id.scope.list must point to a list with a single scope
declare void @llvm.experimental.noalias.scope.decl(metadata)
define void @f() {
  call void @llvm.experimental.noalias.scope.decl(metadata !{})
  ret void
}

;; declaration of what is no scope
;= scope must have two or three operands
declare void @llvm.experimental.noalias.scope.decl(metadata)
define void @f() {
  call void @llvm.experimental.noalias.scope.decl(metadata !0)
  ret void
}
!0 = !{!1}
!1 = !{i32 4}

;; declaration of a string
;= !id.scope.list must point to an MDNode
declare void @llvm.experimental.noalias.scope.decl(metadata)
define void @f() {
  call void @llvm.experimental.noalias.scope.decl(metadata !"scope")
  ret void
}

;; teardown of no setup
;= llvm.call.preallocated.teardown token argument must be a llvm.call.preallocated.setup
declare void @llvm.call.preallocated.teardown(token)
define void @f() {
  call void @llvm.call.preallocated.teardown(token none)
  ret void
}

;; argument of no setup
;= llvm.call.preallocated.arg token argument must be a llvm.call.preallocated.setup
declare ptr @llvm.call.preallocated.arg(token, i32)
define void @f() {
  %p = call ptr @llvm.call.preallocated.arg(token none, i32 0) preallocated(i32)
  ret void
}

;; dynamic area of the width of a pointer
;= ok
declare i64 @llvm.get.dynamic.area.offset.i64()
define i64 @f() {
  %a = call i64 @llvm.get.dynamic.area.offset.i64()
  ret i64 %a
}

;; dynamic area of another width
;= get_dynamic_area_offset result type must be scalar integer matching alloca address space width
target datalayout = "e-p5:32:32-A5"
declare i64 @llvm.get.dynamic.area.offset.i64()
define i64 @f() {
  %a = call i64 @llvm.get.dynamic.area.offset.i64()
  ret i64 %a
}

;; dynamic area of the width of private memory
;= ok
target datalayout = "e-p5:32:32-A5"
declare i32 @llvm.get.dynamic.area.offset.i32()
define i32 @f() {
  %a = call i32 @llvm.get.dynamic.area.offset.i32()
  ret i32 %a
}
