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

;; immediate below its range
;= immarg value 16 out of range [24, 257)
declare void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32)
define void @f() {
  call void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32 16)
  ret void
}

;; immediate in its range
;= ok
declare void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32)
define void @f() {
  call void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32 256)
  ret void
}

;; immediate in its range that is no multiple
;= reg_count argument to nvvm.setmaxnreg must be in multiples of 8
declare void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32)
define void @f() {
  call void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32 31)
  ret void
}

;; range of a declaration
;= ok
declare void @llvm.test.immarg.range.intrinsic.i32(i32 immarg range(i32 -2, 14))
define void @f() {
  call void @llvm.test.immarg.range.intrinsic.i32(i32 -2)
  ret void
}

;; range of a declaration not met
;= immarg value 14 out of range [-2, 14)
declare void @llvm.test.immarg.range.intrinsic.i32(i32 immarg range(i32 -2, 14))
define void @f() {
  call void @llvm.test.immarg.range.intrinsic.i32(i32 14)
  ret void
}

;; immediate of another target
;= immarg operand has non-immediate parameter
declare i32 @llvm.arm.mrc(i32, i32, i32, i32, i32)
define void @f(i32 %a) {
  %x = call i32 @llvm.arm.mrc(i32 %a, i32 0, i32 0, i32 0, i32 0)
  ret void
}

;; speculatable call of an intrinsic that is
;= ok
declare i32 @llvm.umin.i32(i32, i32)
define i32 @f(i32 %a) {
  %r = call i32 @llvm.umin.i32(i32 %a, i32 3) speculatable
  ret i32 %r
}

;; speculatable call of an intrinsic that is not
;= speculatable attribute may not apply to call sites
declare void @llvm.sideeffect()
define void @f() {
  call void @llvm.sideeffect() speculatable
  ret void
}

;; attributes of a declaration that LLVM replaces
;= ok
declare i32 @llvm.umin.i32(i32 captures(none), i32 nonnull)
define i32 @f(i32 %a) {
  %r = call i32 @llvm.umin.i32(i32 %a, i32 3)
  ret i32 %r
}

;; bytes of a single byte
;= bswap must be an even number of bytes
define i8 @f(i8 %x) {
  %r = call i8 @llvm.bswap.i8(i8 %x)
  ret i8 %r
}

;; bytes of a vector
;= ok
define <2 x i16> @f(<2 x i16> %x) {
  %r = call <2 x i16> @llvm.bswap.v2i16(<2 x i16> %x)
  ret <2 x i16> %r
}

;; mask as wide as addresses
;= ok
target datalayout = "p3:32:32"
define ptr addrspace(3) @f(ptr addrspace(3) %p, i32 %m) {
  %r = call ptr addrspace(3) @llvm.ptrmask.p3.i32(ptr addrspace(3) %p, i32 %m)
  ret ptr addrspace(3) %r
}

;; mask wider than addresses
;= llvm.ptrmask intrinsic second argument bitwidth must match pointer index type size of first argument
target datalayout = "p3:32:32"
define ptr addrspace(3) @f(ptr addrspace(3) %p, i64 %m) {
  %r = call ptr addrspace(3) @llvm.ptrmask.p3.i64(ptr addrspace(3) %p, i64 %m)
  ret ptr addrspace(3) %r
}

;; masks of a scalar
;= llvm.ptrmask intrinsic arguments must be both scalars or both vectors
define ptr @f(ptr %p, <2 x i64> %m) {
  %r = call ptr @llvm.ptrmask.p0.v2i64(ptr %p, <2 x i64> %m)
  ret ptr %r
}

;; three-way comparison in one bit
;= result type must be at least 2 bits wide
define i1 @f(i32 %a) {
  %r = call i1 @llvm.ucmp.i1.i32(i32 %a, i32 3)
  ret i1 %r
}

;; three-way comparison of vectors of other lengths
;= return type and arguments must have the same number of elements
define <2 x i8> @f(<4 x i32> %a) {
  %r = call <2 x i8> @llvm.ucmp.v2i8.v4i32(<4 x i32> %a, <4 x i32> %a)
  ret <2 x i8> %r
}

;; part of a vector
;= ok
define <2 x i32> @f(<4 x i32> %a) {
  %r = call <2 x i32> @llvm.vector.extract.v2i32.v4i32(<4 x i32> %a, i64 2)
  ret <2 x i32> %r
}

;; part of a vector at an odd place
;= vector_extract index must be a constant multiple of the result type's known minimum vector length.
define <2 x i32> @f(<4 x i32> %a) {
  %r = call <2 x i32> @llvm.vector.extract.v2i32.v4i32(<4 x i32> %a, i64 1)
  ret <2 x i32> %r
}

;; part of a vector beyond its end
;= subvector operand of vector_insert would overrun the vector being inserted into.
define <4 x i32> @f(<4 x i32> %a, <2 x i32> %b) {
  %r = call <4 x i32> @llvm.vector.insert.v4i32.v2i32(<4 x i32> %a, <2 x i32> %b, i64 4)
  ret <4 x i32> %r
}

;; rounding of a truncation
;= ok
define half @f(float %a) {
  %r = call half @llvm.fptrunc.round.f16.f32(float %a, metadata !"round.upward")
  ret half %r
}

;; rounding of a truncation as the environment says
;= unsupported rounding mode argument
define half @f(float %a) {
  %r = call half @llvm.fptrunc.round.f16.f32(float %a, metadata !"round.dynamic")
  ret half %r
}

;; constrained operations
;= ok
define float @f(float %a) strictfp {
  %r = call float @llvm.experimental.constrained.fadd.f32(float %a, float %a, metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp
  %s = call float @llvm.experimental.constrained.ceil.f32(float %a, metadata !"fpexcept.strict") strictfp
  %t = call i1 @llvm.experimental.constrained.fcmp.f32(float %a, float %a, metadata !"oeq", metadata !"fpexcept.strict") strictfp
  ret float %r
}

;; constrained operation with an unknown rounding
;= invalid rounding mode argument
define float @f(float %a) strictfp {
  %r = call float @llvm.experimental.constrained.fadd.f32(float %a, float %a, metadata !"round.some", metadata !"fpexcept.strict") strictfp
  ret float %r
}

;; constrained operation with unknown exceptions
;= invalid exception behavior argument
define float @f(float %a) strictfp {
  %r = call float @llvm.experimental.constrained.ceil.f32(float %a, metadata !"fpexcept.some") strictfp
  ret float %r
}

;; predicated conversion of another length
;= VP cast intrinsic first argument and result vector lengths must be equal
define <2 x i32> @f(<4 x float> %a, <2 x i1> %m, i32 %n) {
  %r = call <2 x i32> @llvm.vp.fptosi.v2i32.v4f32(<4 x float> %a, <2 x i1> %m, i32 %n)
  ret <2 x i32> %r
}

;; cooperative atomic in workgroup memory
;= cooperative atomic intrinsics require a generic or global pointer
define i32 @f(ptr addrspace(3) %p) {
  %r = call i32 @llvm.amdgcn.cooperative.atomic.load.32x4B.p3(ptr addrspace(3) %p, i32 0, metadata !0)
  ret i32 %r
}
!0 = !{!""}

;; cooperative atomic in global memory
;= ok
define i32 @f(ptr addrspace(1) %p) {
  %r = call i32 @llvm.amdgcn.cooperative.atomic.load.32x4B.p1(ptr addrspace(1) %p, i32 0, metadata !0)
  ret i32 %r
}
!0 = !{!""}

;; cooperative atomic without a scope
;= cooperative atomic intrinsics require that the last argument is a metadata string
define i32 @f(ptr addrspace(1) %p) {
  %r = call i32 @llvm.amdgcn.cooperative.atomic.load.32x4B.p1(ptr addrspace(1) %p, i32 0, metadata !0)
  ret i32 %r
}
!0 = !{}

;; exclusive load without a type of element
;= Intrinsic requires elementtype attribute on first argument.
define i32 @f(ptr %p) {
  %r = call i32 @llvm.arm.ldrex.p0(ptr %p)
  ret i32 %r
}

;; exclusive load with a type of element
;= ok
define i32 @f(ptr %p) {
  %r = call i32 @llvm.arm.ldrex.p0(ptr elementtype(i32) %p)
  ret i32 %r
}

;; length of vectors of none
;= get_vector_length: VF must be positive
define i32 @f(i32 %n) {
  %r = call i32 @llvm.experimental.get.vector.length.i32(i32 %n, i32 0, i1 false)
  ret i32 %r
}

;; assumptions
;= ok
define void @f(ptr %p) {
  call void @llvm.assume(i1 true) [ "align"(ptr %p, i64 8), "nonnull"(ptr %p) ]
  ret void
}

;; assumption of what is no attribute
;= tags must be valid attribute names
define void @f(ptr %p) {
  call void @llvm.assume(i1 true) [ "alignment"(ptr %p, i64 8) ]
  ret void
}

;; assumption of an alignment without a number
;= alignment assumptions should have 2 or 3 arguments
define void @f(ptr %p) {
  call void @llvm.assume(i1 true) [ "align"(ptr %p) ]
  ret void
}

;; attached call of an intrinsic
;= ok
define ptr @f() {
  %r = call ptr @g() [ "clang.arc.attachedcall"(ptr @llvm.objc.retainAutoreleasedReturnValue) ]
  ret ptr %r
}
declare ptr @g()
declare ptr @llvm.objc.retainAutoreleasedReturnValue(ptr)

;; intrinsic in another bundle
;= Cannot take the address of an intrinsic!
define void @f() {
  call void @g() [ "other"(ptr @llvm.trap) ]
  ret void
}
declare void @g()
declare void @llvm.trap()
