; Calls: what targets want, splices, alignments, bundles.

;; whole wave
;= ok
declare i32 @llvm.amdgcn.call.whole.wave.i32.p0(ptr, ...)
declare amdgpu_gfx_whole_wave i32 @c(i1, i32 inreg)
define i32 @k(i32 %x, ptr %p) {
  %r = call i32 (ptr, ...) @llvm.amdgcn.call.whole.wave.i32.p0(ptr @c, i32 inreg %x)
  ret i32 %r
}

;; whole wave of a pointer
;= Indirect whole wave calls are not allowed
declare i32 @llvm.amdgcn.call.whole.wave.i32.p0(ptr, ...)
declare amdgpu_gfx_whole_wave i32 @c(i1, i32 inreg)
define i32 @k(i32 %x, ptr %p) {
  %r = call i32 (ptr, ...) @llvm.amdgcn.call.whole.wave.i32.p0(ptr %p, i32 inreg %x)
  ret i32 %r
}

;; whole wave of another convention
;= Callee must have the amdgpu_gfx_whole_wave calling convention
declare i32 @llvm.amdgcn.call.whole.wave.i32.p0(ptr, ...)
declare amdgpu_gfx i32 @c(i1, i32 inreg)
define i32 @k(i32 %x, ptr %p) {
  %r = call i32 (ptr, ...) @llvm.amdgcn.call.whole.wave.i32.p0(ptr @c, i32 inreg %x)
  ret i32 %r
}

;; whole wave with too few arguments
;= Call argument count must match callee argument count
declare i32 @llvm.amdgcn.call.whole.wave.i32.p0(ptr, ...)
declare amdgpu_gfx_whole_wave i32 @c(i1, i32 inreg)
define i32 @k(i32 %x, ptr %p) {
  %r = call i32 (ptr, ...) @llvm.amdgcn.call.whole.wave.i32.p0(ptr @c)
  ret i32 %r
}

;; whole wave with another type
;= Argument types must match
declare i32 @llvm.amdgcn.call.whole.wave.i32.p0(ptr, ...)
declare amdgpu_gfx_whole_wave i32 @c(i1, i32 inreg)
define i32 @k(i32 %x, ptr %p) {
  %r = call i32 (ptr, ...) @llvm.amdgcn.call.whole.wave.i32.p0(ptr @c, ptr inreg %p)
  ret i32 %r
}

;; whole wave in another register
;= Argument inreg attributes must match
declare i32 @llvm.amdgcn.call.whole.wave.i32.p0(ptr, ...)
declare amdgpu_gfx_whole_wave i32 @c(i1, i32 inreg)
define i32 @k(i32 %x, ptr %p) {
  %r = call i32 (ptr, ...) @llvm.amdgcn.call.whole.wave.i32.p0(ptr @c, i32 %x)
  ret i32 %r
}

;; prefetch of global memory
;= ok
define void @f(ptr addrspace(1) %p) {
  call void @llvm.amdgcn.s.prefetch.data.p1(ptr addrspace(1) %p, i32 0)
  ret void
}

;; prefetch of memory of the group
;= llvm.amdgcn.s.prefetch.data only supports global or constant memory
define void @f(ptr addrspace(3) %p) {
  call void @llvm.amdgcn.s.prefetch.data.p3(ptr addrspace(3) %p, i32 0)
  ret void
}

;; lanes from an argument in a scalar register
;= ok
define void @f(i32 inreg %x) {
  call void @llvm.amdgcn.init.exec.from.input(i32 %x, i32 8)
  ret void
}

;; lanes from an argument in a vector register
;= only inreg arguments to the parent function are valid as inputs to this intrinsic
define void @f(i32 %x) {
  call void @llvm.amdgcn.init.exec.from.input(i32 %x, i32 8)
  ret void
}

;; matrices of 8 bits
;= ok
define <4 x float> @f(<8 x i32> %a, <8 x i32> %b, <4 x float> %c) {
  %r = call <4 x float> @llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4(<8 x i32> %a, <8 x i32> %b, <4 x float> %c, i32 0, i32 1, i32 0, i32 0, i32 0, i32 0)
  ret <4 x float> %r
}

;; matrices of 4 bits in wide registers
;= ok
define <4 x float> @f(<8 x i32> %a, <6 x i32> %b, <4 x float> %c) {
  %r = call <4 x float> @llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4(<8 x i32> %a, <6 x i32> %b, <4 x float> %c, i32 4, i32 2, i32 0, i32 0, i32 0, i32 0)
  ret <4 x float> %r
}

;; matrix that is too short for its format
;= invalid vector type for format
define <4 x float> @f(<4 x i32> %a, <8 x i32> %b, <4 x float> %c) {
  %r = call <4 x float> @llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4(<4 x i32> %a, <8 x i32> %b, <4 x float> %c, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0)
  ret <4 x float> %r
}

;; matrix of another length
;= operand 0 must be 4, 6 or 8 element i32 vector
define <4 x float> @f(<5 x i32> %a, <8 x i32> %b, <4 x float> %c) {
  %r = call <4 x float> @llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4(<5 x i32> %a, <8 x i32> %b, <4 x float> %c, i32 4, i32 0, i32 0, i32 0, i32 0, i32 0)
  ret <4 x float> %r
}

;; unknown format of a matrix
;= invalid value for cbsz format
define <4 x float> @f(<8 x i32> %a, <8 x i32> %b, <4 x float> %c) {
  %r = call <4 x float> @llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4(<8 x i32> %a, <8 x i32> %b, <4 x float> %c, i32 5, i32 0, i32 0, i32 0, i32 0, i32 0)
  ret <4 x float> %r
}

;; splice to the left
;= ok
define void @f(<4 x i32> %a) {
  %r = call <4 x i32> @llvm.vector.splice.left.v4i32(<4 x i32> %a, <4 x i32> %a, i32 3)
  ret void
}

;; splice to the left behind the end
;= The splice index exceeds the range [0, VL-1] where VL is the known minimum number of elements in the vector. For scalable vectors the minimum number of elements is determined from vscale_range.
define void @f(<4 x i32> %a) {
  %r = call <4 x i32> @llvm.vector.splice.left.v4i32(<4 x i32> %a, <4 x i32> %a, i32 4)
  ret void
}

;; splice to the right
;= ok
define void @f(<4 x i32> %a) {
  %r = call <4 x i32> @llvm.vector.splice.right.v4i32(<4 x i32> %a, <4 x i32> %a, i32 4)
  ret void
}

;; splice to the right before the start
;= The splice index exceeds the range [0, VL] where VL is the known minimum number of elements in the vector. For scalable vectors the minimum number of elements is determined from vscale_range.
define void @f(<4 x i32> %a) {
  %r = call <4 x i32> @llvm.vector.splice.right.v4i32(<4 x i32> %a, <4 x i32> %a, i32 5)
  ret void
}

;; splice of what the machine makes longer
;= ok
define void @f(<vscale x 2 x i32> %a) vscale_range(2,4) {
  %r = call <vscale x 2 x i32> @llvm.vector.splice.left.nxv2i32(<vscale x 2 x i32> %a, <vscale x 2 x i32> %a, i32 3)
  ret void
}

;; splice of what it may not make longer
;= The splice index exceeds the range [0, VL-1] where VL is the known minimum number of elements in the vector. For scalable vectors the minimum number of elements is determined from vscale_range.
define void @f(<vscale x 2 x i32> %a) {
  %r = call <vscale x 2 x i32> @llvm.vector.splice.left.nxv2i32(<vscale x 2 x i32> %a, <vscale x 2 x i32> %a, i32 3)
  ret void
}

;; relocation of a text
;= ok
define void @f() {
  call void @llvm.reloc.none(metadata !"x")
  ret void
}

;; relocation of a node
;= llvm.reloc.none argument must be a metadata string
define void @f() {
  call void @llvm.reloc.none(metadata !{})
  ret void
}

;; argument that is huge
;= Incorrect alignment of argument passed to called function!
declare void @g(<2147483648 x float>)
define void @f(<2147483648 x float> %v) {
  call void @g(<2147483648 x float> %v)
  ret void
}

;; slot that is passed and not made for it
;= inalloca argument for call has mismatched alloca
declare void @g(ptr inalloca(i64))
define void @f() {
  %a = alloca i64
  call void @g(ptr inalloca(i64) %a)
  ret void
}

;; attached call of nothing
;= operand bundle "clang.arc.attachedcall" requires one function as an argument
declare ptr @g()
define ptr @f() {
  %r = call ptr @g() [ "clang.arc.attachedcall"() ]
  ret ptr %r
}

;; attached call behind a number
;= a call with operand bundle "clang.arc.attachedcall" must call a function returning a pointer or a non-returning function that has a void return type
declare i32 @g()
declare ptr @llvm.objc.retainAutoreleasedReturnValue(ptr)
define i32 @f() {
  %r = call i32 @g() [ "clang.arc.attachedcall"(ptr @llvm.objc.retainAutoreleasedReturnValue) ]
  ret i32 %r
}

;; tail call that forwards nothing
;= parser
declare ptr @g(ptr, ...)
define ptr @f(ptr %p, ...) {
  %r = musttail call ptr (ptr, ...) @g(ptr %p)
  ret ptr %r
}

;; call by another type of a function with a preallocated argument
;= ok
declare void @g(ptr preallocated(i32))
define void @f() {
  call void @g(i32 0)
  ret void
}

;; huge copy
;= huge 'byval' arguments are unsupported
define void @f(ptr byval([2147483648 x i16])) {
  ret void
}

;; copy of a barrier
;= 'byval' argument has illegal target extension type
define void @f(ptr byval([2 x target("amdgcn.named.barrier", 0)])) {
  ret void
}

;; states of AArch64
;= Attributes 'aarch64_new_za', 'aarch64_in_za', 'aarch64_out_za', 'aarch64_inout_za', 'aarch64_preserves_za' and 'aarch64_za_state_agnostic' are mutually exclusive
declare void @f() "aarch64_new_za" "aarch64_in_za"

;; streaming and perhaps streaming
;= Attributes 'aarch64_pstate_sm_enabled and aarch64_pstate_sm_compatible' are incompatible!
declare void @f() "aarch64_pstate_sm_enabled" "aarch64_pstate_sm_compatible"

;; feature without a sign
;= target feature 'avx' must start with a '+' or '-'
declare void @f() "target-features"="+sse2,avx"

;; feature without a name
;= target-features attribute should not contain an empty string
declare void @f() "target-features"="+sse2,,-avx"

;; real time that may block
;= Attributes 'sanitize_realtime and sanitize_realtime_blocking' are incompatible!
declare void @f() sanitize_realtime sanitize_realtime_blocking
