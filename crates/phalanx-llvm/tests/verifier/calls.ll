; Calls, attributes, conventions.

;; too few arguments
declare void @g(i32)
define void @f() {
  call void @g()
  ret void
}

;; too many arguments
declare void @g(i32)
define void @f() {
  call void @g(i32 1, i32 2)
  ret void
}

;; argument of another type
declare void @g(i32)
define void @f() {
  call void (i32) @g(i64 1)
  ret void
}

;; call with another type than the callee's
declare void @g(i32)
define void @f() {
  call void @g(i64 1)
  ret void
}

;; variable arguments
declare void @g(i32, ...)
define void @f() {
  call void (i32, ...) @g(i32 1, float 2.0, ptr null)
  ret void
}

;; too few variable arguments
declare void @g(i32, ...)
define void @f() {
  call void (i32, ...) @g()
  ret void
}

;; call of an integer
define void @f(i32 %x) {
  call void %x()
  ret void
}

;; intrinsic with another signature
declare i32 @llvm.ctpop.i32(i32)
define void @f() {
  %x = call i64 @llvm.ctpop.i32(i64 1)
  ret void
}

;; address of an intrinsic stored
declare void @llvm.donothing()
define void @f(ptr %p) {
  store ptr @llvm.donothing, ptr %p
  ret void
}

;; address of an intrinsic in a variable
declare void @llvm.donothing()
@g = global ptr @llvm.donothing

;; intrinsic invoked
declare i32 @llvm.ctpop.i32(i32)
declare i32 @p(...)
define void @f() personality ptr @p {
entry:
  %x = invoke i32 @llvm.ctpop.i32(i32 1) to label %n unwind label %u
n:
  ret void
u:
  %l = landingpad { ptr, i32 } cleanup
  ret void
}

;; intrinsic defined
define void @llvm.donothing() {
  ret void
}

;; immarg from a variable
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @f(ptr %p, i1 %v) {
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 4, i1 %v)
  ret void
}

;; immarg from a constant
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @f(ptr %p) {
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 4, i1 false)
  ret void
}

;; immarg in a function
declare void @g(i32 immarg)

;; call of a kernel
target triple = "amdgcn-amd-amdhsa"
declare amdgpu_kernel void @g()
define void @f() {
  call amdgpu_kernel void @g()
  ret void
}

;; call of a SPIR kernel
declare spir_kernel void @g()
define void @f() {
  call spir_kernel void @g()
  ret void
}

;; call of a PTX kernel
declare ptx_kernel void @g()
define void @f() {
  call ptx_kernel void @g()
  ret void
}

;; kernel with a result
define amdgpu_kernel i32 @f() {
  ret i32 0
}

;; SPIR kernel with a result
define spir_kernel i32 @f() {
  ret i32 0
}

;; PTX kernel with a result
define ptx_kernel i32 @f() {
  ret i32 0
}

;; kernel with variable arguments
define amdgpu_kernel void @f(...) {
  ret void
}

;; kernel with byval
define amdgpu_kernel void @f(ptr addrspace(5) byval(i32) %x) {
  ret void
}

;; kernel with sret
define amdgpu_kernel void @f(ptr sret(i32) %x) {
  ret void
}

;; kernel with byref on the stack
target datalayout = "A5"
define amdgpu_kernel void @f(ptr addrspace(5) byref(i32) %x) {
  ret void
}

;; kernel with byref in constant memory
target datalayout = "A5"
define amdgpu_kernel void @f(ptr addrspace(4) byref(i32) %x) {
  ret void
}

;; pixel shader with a result
define amdgpu_ps float @f(i32 inreg %x) {
  ret float 0.0
}

;; fastcc with variable arguments
define fastcc void @f(...) {
  ret void
}

;; token parameter
define void @f(token %t) {
  ret void
}

;; token result
declare token @f()

;; metadata parameter
define void @f(metadata %m) {
  ret void
}

;; sret with a result
define i32 @f(ptr sret(i32) %x) {
  ret i32 0
}

;; two sret
define void @f(ptr sret(i32) %x, ptr sret(i32) %y) {
  ret void
}

;; sret on the third parameter
define void @f(i32 %a, i32 %b, ptr sret(i32) %x) {
  ret void
}

;; byval and inreg
define void @f(ptr byval(i32) inreg %x) {
  ret void
}

;; zeroext and signext
define void @f(i8 zeroext signext %x) {
  ret void
}

;; zeroext on a float
define void @f(float zeroext %x) {
  ret void
}

;; noalias on an integer
define void @f(i32 noalias %x) {
  ret void
}

;; align on an integer
define void @f(i32 align 4 %x) {
  ret void
}

;; nonnull on a vector of pointers
define void @f(<2 x ptr> nonnull %x) {
  ret void
}

;; byval of an opaque type
%t = type opaque
define void @f(ptr byval(%t) %x) {
  ret void
}

;; readnone and readonly
define void @f(ptr readnone readonly %x) {
  ret void
}

;; noundef on a void result
declare noundef void @f()

;; two returned
define i32 @f(i32 returned %x, i32 returned %y) {
  ret i32 %x
}

;; returned of another type
define i32 @f(i64 returned %x) {
  ret i32 0
}

;; range of another width
define void @f(i32 range(i64 0, 5) %x) {
  ret void
}

;; nofpclass on an integer
define void @f(i32 nofpclass(nan) %x) {
  ret void
}

;; elementtype on a function
define void @f(ptr elementtype(i32) %x) {
  ret void
}

;; noinline and alwaysinline
define void @f() noinline alwaysinline {
  ret void
}

;; optnone alone
define void @f() optnone {
  ret void
}

;; optnone and optsize
define void @f() optnone noinline optsize {
  ret void
}

;; allocsize out of bounds
declare ptr @f(i32) allocsize(1)

;; allocsize of a float
declare ptr @f(float) allocsize(0)

;; vscale_range upside down
declare void @f() vscale_range(8, 4)

;; frame pointer of a kind unknown
define void @f() "frame-pointer"="sometimes" {
  ret void
}

;; denormal mode of a kind unknown
define void @f() "denormal-fp-math"="never" {
  ret void
}

;; builtin on a function
define void @f() builtin {
  ret void
}

;; parameter attribute on a function
define void @f() noalias {
  ret void
}

;; jumptable without unnamed_addr
define void @f() jumptable {
  ret void
}

;; naked function that uses its argument
define i32 @f(i32 %x) naked {
  ret i32 %x
}

;; speculatable on a call alone
declare void @g()
define void @f() {
  call void @g() speculatable
  ret void
}

;; musttail
declare void @g(i32)
define void @f(i32 %x) {
  musttail call void @g(i32 %x)
  ret void
}

;; musttail before something else
declare void @g(i32)
define void @f(i32 %x) {
  musttail call void @g(i32 %x)
  fence acquire
  ret void
}

;; musttail with another number of parameters
declare void @g()
define void @f(i32 %x) {
  musttail call void @g()
  ret void
}

;; musttail with other parameter types
declare void @g(i64)
define void @f(i32 %x) {
  musttail call void @g(i64 0)
  ret void
}

;; musttail with another result
declare i64 @g(i32)
define i32 @f(i32 %x) {
  %r = musttail call i64 @g(i32 %x)
  ret i32 0
}

;; musttail with another convention
declare fastcc void @g(i32)
define void @f(i32 %x) {
  musttail call fastcc void @g(i32 %x)
  ret void
}

;; musttail with its result not returned
declare i32 @g(i32)
define i32 @f(i32 %x) {
  %r = musttail call i32 @g(i32 %x)
  ret i32 0
}

;; musttail with another byval
declare void @g(ptr)
define void @f(ptr byval(i32) %x) {
  musttail call void @g(ptr %x)
  ret void
}

;; musttail with varargs on one side
declare void @g(i32, ...)
define void @f(i32 %x) {
  musttail call void (i32, ...) @g(i32 %x)
  ret void
}

;; musttail of assembly
define void @f() {
  musttail call void asm "nop", ""()
  ret void
}

;; two deopt bundles
declare void @g()
define void @f() {
  call void @g() [ "deopt"(), "deopt"() ]
  ret void
}

;; funclet bundle without a pad
declare void @g()
define void @f() {
  call void @g() [ "funclet"(token none) ]
  ret void
}

;; callbr of a function
declare void @g()
define void @f() {
  callbr void @g() to label %a []
a:
  ret void
}

;; callbr of assembly
define void @f() {
  callbr void asm "nop", "!i"() to label %a [label %b]
a:
  ret void
b:
  ret void
}

;; indirect call that returns a token
define void @f(ptr %p) {
  %t = call token %p()
  ret void
}

;; direct call of a function with a metadata parameter
declare void @g(metadata)
define void @f() {
  call void @g(metadata !{})
  ret void
}

;; metadata argument of an intrinsic
declare void @llvm.dbg.value(metadata, metadata, metadata)
declare metadata @llvm.read_register.i32(metadata)
define void @f() {
  %x = add i32 1, 2
  ret void
}

;; swifterror parameter used as a value
define void @f(ptr swifterror %x, ptr %p) {
  store ptr %x, ptr %p
  ret void
}

;; inalloca not last
define void @f(ptr inalloca(i32) %x, i32 %y) {
  ret void
}

;; assembly stored
define void @f(ptr %p) {
  store ptr asm "nop", "", ptr %p
  ret void
}

;; assembly with too few arguments
define void @f() {
  call void asm "nop", "r"()
  ret void
}

;; common function
define common void @f() {
  ret void
}

;; internal declaration
declare internal void @f()

;; declaration with a personality
declare i32 @p(...)
declare void @f() personality ptr @p

;; writable without permission to write
define void @f(ptr writable %x) memory(read) {
  ret void
}
