; Calls, attributes, conventions.

;; too few arguments
;= ok
declare void @g(i32)
define void @f() {
  call void @g()
  ret void
}

;; too many arguments
;= ok
declare void @g(i32)
define void @f() {
  call void @g(i32 1, i32 2)
  ret void
}

;; argument of another type
;= parser
declare void @g(i32)
define void @f() {
  call void (i32) @g(i64 1)
  ret void
}

;; call with another type than the callee's
;= ok
declare void @g(i32)
define void @f() {
  call void @g(i64 1)
  ret void
}

;; variable arguments
;= ok
declare void @g(i32, ...)
define void @f() {
  call void (i32, ...) @g(i32 1, float 2.0, ptr null)
  ret void
}

;; too few variable arguments
;= parser
declare void @g(i32, ...)
define void @f() {
  call void (i32, ...) @g()
  ret void
}

;; call of an integer
;= parser
define void @f(i32 %x) {
  call void %x()
  ret void
}

;; intrinsic with another signature
;= Invalid user of intrinsic instruction!
declare i32 @llvm.ctpop.i32(i32)
define void @f() {
  %x = call i64 @llvm.ctpop.i32(i64 1)
  ret void
}

;; address of an intrinsic stored
;= Invalid user of intrinsic instruction!
declare void @llvm.donothing()
define void @f(ptr %p) {
  store ptr @llvm.donothing, ptr %p
  ret void
}

;; address of an intrinsic in a variable
;= Invalid user of intrinsic instruction!
declare void @llvm.donothing()
@g = global ptr @llvm.donothing

;; intrinsic invoked
;= Cannot invoke an intrinsic other than donothing, patchpoint, statepoint, coro_resume, coro_destroy, clang.arc.attachedcall or wasm.(re)throw
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
;= llvm intrinsics cannot be defined!
define void @llvm.donothing() {
  ret void
}

;; immarg from a variable
;= immarg operand has non-immediate parameter
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @f(ptr %p, i1 %v) {
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 4, i1 %v)
  ret void
}

;; immarg from a constant
;= ok
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @f(ptr %p) {
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 4, i1 false)
  ret void
}

;; immarg in a function
;= immarg attribute only applies to intrinsics
declare void @g(i32 immarg)

;; call of a kernel
;= calling convention does not permit calls
target triple = "amdgcn-amd-amdhsa"
declare amdgpu_kernel void @g()
define void @f() {
  call amdgpu_kernel void @g()
  ret void
}

;; call of a SPIR kernel
;= calling convention does not permit calls
declare spir_kernel void @g()
define void @f() {
  call spir_kernel void @g()
  ret void
}

;; call of a PTX kernel
;= ok
declare ptx_kernel void @g()
define void @f() {
  call ptx_kernel void @g()
  ret void
}

;; kernel with a result
;= Calling convention requires void return type
define amdgpu_kernel i32 @f() {
  ret i32 0
}

;; SPIR kernel with a result
;= Calling convention requires void return type
define spir_kernel i32 @f() {
  ret i32 0
}

;; PTX kernel with a result
;= ok
define ptx_kernel i32 @f() {
  ret i32 0
}

;; kernel with variable arguments
;= Calling convention does not support varargs or perfect forwarding!
define amdgpu_kernel void @f(...) {
  ret void
}

;; kernel with byval
;= Calling convention disallows byval
define amdgpu_kernel void @f(ptr addrspace(5) byval(i32) %x) {
  ret void
}

;; kernel with sret
;= Calling convention does not allow sret
define amdgpu_kernel void @f(ptr sret(i32) %x) {
  ret void
}

;; kernel with byref on the stack
;= Calling convention disallows stack byref
target datalayout = "A5"
define amdgpu_kernel void @f(ptr addrspace(5) byref(i32) %x) {
  ret void
}

;; kernel with byref in constant memory
;= ok
target datalayout = "A5"
define amdgpu_kernel void @f(ptr addrspace(4) byref(i32) %x) {
  ret void
}

;; pixel shader with a result
;= ok
define amdgpu_ps float @f(i32 inreg %x) {
  ret float 0.0
}

;; fastcc with variable arguments
;= Calling convention does not support varargs or perfect forwarding!
define fastcc void @f(...) {
  ret void
}

;; token parameter
;= Function takes token but isn't an intrinsic
define void @f(token %t) {
  ret void
}

;; token result
;= Function returns a token but isn't an intrinsic
declare token @f()

;; metadata parameter
;= Function takes metadata but isn't an intrinsic
define void @f(metadata %m) {
  ret void
}

;; sret with a result
;= parser
define i32 @f(ptr sret(i32) %x) {
  ret i32 0
}

;; two sret
;= Cannot have multiple 'sret' parameters!
define void @f(ptr sret(i32) %x, ptr sret(i32) %y) {
  ret void
}

;; sret on the third parameter
;= Attribute 'sret' is not on first or second parameter!
define void @f(i32 %a, i32 %b, ptr sret(i32) %x) {
  ret void
}

;; byval and inreg
;= Attributes 'byval', 'inalloca', 'preallocated', 'inreg', 'nest', 'byref', and 'sret' are incompatible!
define void @f(ptr byval(i32) inreg %x) {
  ret void
}

;; zeroext and signext
;= Attributes 'zeroext and signext' are incompatible!
define void @f(i8 zeroext signext %x) {
  ret void
}

;; zeroext on a float
;= Attribute 'zeroext' applied to incompatible type!
define void @f(float zeroext %x) {
  ret void
}

;; noalias on an integer
;= Attribute 'noalias' applied to incompatible type!
define void @f(i32 noalias %x) {
  ret void
}

;; align on an integer
;= Attribute 'align 4' applied to incompatible type!
define void @f(i32 align 4 %x) {
  ret void
}

;; nonnull on a vector of pointers
;= Attribute 'nonnull' applied to incompatible type!
define void @f(<2 x ptr> nonnull %x) {
  ret void
}

;; byval of an opaque type
;= Attribute 'byval' does not support unsized types!
%t = type opaque
define void @f(ptr byval(%t) %x) {
  ret void
}

;; readnone and readonly
;= Attributes 'readnone and readonly' are incompatible!
define void @f(ptr readnone readonly %x) {
  ret void
}

;; noundef on a void result
;= Attribute 'noundef' applied to incompatible type!
declare noundef void @f()

;; two returned
;= More than one parameter has attribute returned!
define i32 @f(i32 returned %x, i32 returned %y) {
  ret i32 %x
}

;; returned of another type
;= Incompatible argument and return types for 'returned' attribute
define i32 @f(i64 returned %x) {
  ret i32 0
}

;; range of another width
;= Attribute 'range(i64 0, 5)' applied to incompatible type!
define void @f(i32 range(i64 0, 5) %x) {
  ret void
}

;; nofpclass on an integer
;= Attribute 'nofpclass(nan)' applied to incompatible type!
define void @f(i32 nofpclass(nan) %x) {
  ret void
}

;; elementtype on a function
;= Attribute 'elementtype' can only be applied to intrinsics and inline asm.
define void @f(ptr elementtype(i32) %x) {
  ret void
}

;; noinline and alwaysinline
;= Attributes 'noinline and alwaysinline' are incompatible!
define void @f() noinline alwaysinline {
  ret void
}

;; optnone alone
;= Attribute 'optnone' requires 'noinline'!
define void @f() optnone {
  ret void
}

;; optnone and optsize
;= Attributes 'optsize and optnone' are incompatible!
define void @f() optnone noinline optsize {
  ret void
}

;; allocsize out of bounds
;= 'allocsize' element size argument is out of bounds
declare ptr @f(i32) allocsize(1)

;; allocsize of a float
;= 'allocsize' element size argument must refer to an integer parameter
declare ptr @f(float) allocsize(0)

;; vscale_range upside down
;= 'vscale_range' minimum cannot be greater than maximum
declare void @f() vscale_range(8, 4)

;; frame pointer of a kind unknown
;= invalid value for 'frame-pointer' attribute: sometimes
define void @f() "frame-pointer"="sometimes" {
  ret void
}

;; denormal mode of a kind unknown
;= invalid value for 'denormal-fp-math' attribute: never
define void @f() "denormal-fp-math"="never" {
  ret void
}

;; builtin on a function
;= parser
define void @f() builtin {
  ret void
}

;; parameter attribute on a function
;= parser
define void @f() noalias {
  ret void
}

;; jumptable without unnamed_addr
;= Attribute 'jumptable' requires 'unnamed_addr'
define void @f() jumptable {
  ret void
}

;; naked function that uses its argument
;= cannot use argument of naked function
define i32 @f(i32 %x) naked {
  ret i32 %x
}

;; speculatable on a call alone
;= speculatable attribute may not apply to call sites
declare void @g()
define void @f() {
  call void @g() speculatable
  ret void
}

;; musttail
;= ok
declare void @g(i32)
define void @f(i32 %x) {
  musttail call void @g(i32 %x)
  ret void
}

;; musttail before something else
;= musttail call must precede a ret with an optional bitcast
declare void @g(i32)
define void @f(i32 %x) {
  musttail call void @g(i32 %x)
  fence acquire
  ret void
}

;; musttail with another number of parameters
;= cannot guarantee tail call due to mismatched parameter counts
declare void @g()
define void @f(i32 %x) {
  musttail call void @g()
  ret void
}

;; musttail with other parameter types
;= cannot guarantee tail call due to mismatched parameter types
declare void @g(i64)
define void @f(i32 %x) {
  musttail call void @g(i64 0)
  ret void
}

;; musttail with another result
;= cannot guarantee tail call due to mismatched return types
declare i64 @g(i32)
define i32 @f(i32 %x) {
  %r = musttail call i64 @g(i32 %x)
  ret i32 0
}

;; musttail with another convention
;= cannot guarantee tail call due to mismatched calling conv
declare fastcc void @g(i32)
define void @f(i32 %x) {
  musttail call fastcc void @g(i32 %x)
  ret void
}

;; musttail with its result not returned
;= musttail call result must be returned
declare i32 @g(i32)
define i32 @f(i32 %x) {
  %r = musttail call i32 @g(i32 %x)
  ret i32 0
}

;; musttail with another byval
;= cannot guarantee tail call due to mismatched ABI impacting function attributes
declare void @g(ptr)
define void @f(ptr byval(i32) %x) {
  musttail call void @g(ptr %x)
  ret void
}

;; musttail with varargs on one side
;= cannot guarantee tail call due to mismatched varargs
declare void @g(i32, ...)
define void @f(i32 %x) {
  musttail call void (i32, ...) @g(i32 %x)
  ret void
}

;; musttail of assembly
;= cannot use musttail call with inline asm
define void @f() {
  musttail call void asm "nop", ""()
  ret void
}

;; two deopt bundles
;= Multiple deopt operand bundles
declare void @g()
define void @f() {
  call void @g() [ "deopt"(), "deopt"() ]
  ret void
}

;; funclet bundle without a pad
;= Funclet bundle operands should correspond to a FuncletPadInst
declare void @g()
define void @f() {
  call void @g() [ "funclet"(token none) ]
  ret void
}

;; callbr of a function
;= crash
declare void @g()
define void @f() {
  callbr void @g() to label %a []
a:
  ret void
}

;; callbr of assembly
;= ok
define void @f() {
  callbr void asm "nop", "!i"() to label %a [label %b]
a:
  ret void
b:
  ret void
}

;; indirect call that returns a token
;= Return type cannot be token for indirect call!
define void @f(ptr %p) {
  %t = call token %p()
  ret void
}

;; direct call of a function with a metadata parameter
;= Function takes metadata but isn't an intrinsic
declare void @g(metadata)
define void @f() {
  call void @g(metadata !{})
  ret void
}

;; metadata argument of an intrinsic
;= parser
declare void @llvm.dbg.value(metadata, metadata, metadata)
declare metadata @llvm.read_register.i32(metadata)
define void @f() {
  %x = add i32 1, 2
  ret void
}

;; swifterror parameter used as a value
;= swifterror value should be the second operand when used by stores
define void @f(ptr swifterror %x, ptr %p) {
  store ptr %x, ptr %p
  ret void
}

;; inalloca not last
;= inalloca isn't on the last parameter!
define void @f(ptr inalloca(i32) %x, i32 %y) {
  ret void
}

;; assembly stored
;= parser
define void @f(ptr %p) {
  store ptr asm "nop", "", ptr %p
  ret void
}

;; assembly with too few arguments
;= parser
define void @f() {
  call void asm "nop", "r"()
  ret void
}

;; common function
;= parser
define common void @f() {
  ret void
}

;; internal declaration
;= parser
declare internal void @f()

;; declaration with a personality
;= Function declaration shouldn't have a personality routine
declare i32 @p(...)
declare void @f() personality ptr @p

;; writable without permission to write
;= Attribute writable and memory without argmem: write are incompatible!
define void @f(ptr writable %x) memory(read) {
  ret void
}

;; indirect constraint
;= ok
define void @f(ptr %p) {
  call void asm "", "=*m,*m,r"(ptr elementtype(i32) %p, ptr elementtype(i8) %p, i32 1)
  ret void
}

;; indirect constraint of an operand that does not say to what it points
;= Operand for indirect constraint must have elementtype attribute
define void @f(ptr %p) {
  call void asm "", "*m"(ptr %p)
  ret void
}

;; indirect output that does not say to what it points
;= Operand for indirect constraint must have elementtype attribute
define i32 @f(ptr %p) {
  %x = call i32 asm "", "=r,=*m,r"(ptr %p, i32 1)
  ret i32 %x
}

;; indirect constraint of a number
;= Operand for indirect constraint must have pointer type
define void @f(i64 %p) {
  call void asm "", "*m"(i64 %p)
  ret void
}

;; operand that says to what it points for another constraint
;= Elementtype attribute can only be applied for indirect constraints
define void @f(ptr %p) {
  call void asm "", "r,~{memory}"(ptr elementtype(i32) %p)
  ret void
}
