; Safepoints of garbage collection, what they give back, and roots.

;; safepoint with a relocation
;= ok
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(void ()) @g, i32 0, i32 0, i32 0, i32 0) [ "gc-live"(ptr addrspace(1) %o, ptr %p, i32 1) ]
  %n = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %t, i32 0, i32 0)
  ret void
}

;; safepoint without a collector
;= Enclosing function does not use GC.
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(void ()) @g, i32 0, i32 0, i32 0, i32 0)
  ret void
}

;; callee without a type
;= gc.statepoint callee argument must have elementtype attribute
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr @g, i32 0, i32 0, i32 0, i32 0)
  ret void
}

;; callee that is no function
;= gc.statepoint callee elementtype must be function type
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(i32) @g, i32 0, i32 0, i32 0, i32 0)
  ret void
}

;; negative number of patched bytes
;= gc.statepoint number of patchable bytes must be positive
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 -1, ptr elementtype(void ()) @g, i32 0, i32 0, i32 0, i32 0)
  ret void
}

;; another number of arguments
;= gc.statepoint mismatch in number of call args
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(i32 (i32)) @h, i32 0, i32 0, i32 0, i32 0)
  ret void
}

;; argument of another type
;= gc.statepoint call argument does not match wrapped function type
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(i32 (i32)) @h, i32 1, i32 0, i64 0, i32 0, i32 0)
  ret void
}

;; unknown flag
;= unknown flag used in gc.statepoint flags argument
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(void ()) @g, i32 0, i32 4, i32 0, i32 0)
  ret void
}

;; arguments of a transition
;= gc.statepoint w/inline transition bundle is deprecated
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(void ()) @g, i32 0, i32 0, i32 1, i32 0, i32 0)
  ret void
}

;; operands for deoptimisation
;= gc.statepoint w/inline deopt operands is deprecated
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(void ()) @g, i32 0, i32 0, i32 0, i32 1, i32 0)
  ret void
}

;; number that is no constant
;= gc.statepoint number of transition arguments must be constant integer
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(i32 %i) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(void ()) @g, i32 0, i32 0, i32 %i, i32 0)
  ret void
}

;; too many arguments
;= gc.statepoint too many arguments
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(void ()) @g, i32 0, i32 0, i32 0, i32 0, i32 0)
  ret void
}

;; variable arguments with a result
;= gc.statepoint doesn't support wrapping non-void vararg functions yet
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(i32 (...)) @g, i32 0, i32 0, i32 0, i32 0)
  ret void
}

;; base out of bounds
;= gc.relocate: statepoint base index out of bounds
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(void ()) @g, i32 0, i32 0, i32 0, i32 0) [ "gc-live"(ptr addrspace(1) %o, ptr %p, i32 1) ]
  %n = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %t, i32 3, i32 0)
  ret void
}

;; derived out of bounds
;= gc.relocate: statepoint derived index out of bounds
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(void ()) @g, i32 0, i32 0, i32 0, i32 0) [ "gc-live"(ptr addrspace(1) %o, ptr %p, i32 1) ]
  %n = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %t, i32 0, i32 3)
  ret void
}

;; relocation of a number
;= gc.relocate: relocated value must be a pointer
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(void ()) @g, i32 0, i32 0, i32 0, i32 0) [ "gc-live"(ptr addrspace(1) %o, ptr %p, i32 1) ]
  %n = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %t, i32 0, i32 2)
  ret void
}

;; relocation into another address space
;= gc.relocate: relocating a pointer shouldn't change its address space
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(void ()) @g, i32 0, i32 0, i32 0, i32 0) [ "gc-live"(ptr addrspace(1) %o, ptr %p, i32 1) ]
  %n = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %t, i32 0, i32 1)
  ret void
}

;; relocation by no number
;= immarg operand has non-immediate parameter
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(void ()) @g, i32 0, i32 0, i32 0, i32 0) [ "gc-live"(ptr addrspace(1) %o, ptr %p, i32 1) ]
  %n = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %t, i32 0, i32 undef)
  ret void
}

;; relocation of nothing
;= gc relocate is incorrectly tied to the statepoint
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %n = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token none, i32 0, i32 0)
  ret void
}

;; relocation of an undefined token
;= ok
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define void @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %n = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token undef, i32 0, i32 0)
  ret void
}

;; result of the callee
;= ok
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define i32 @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(i32 (i32)) @h, i32 1, i32 0, i32 7, i32 0, i32 0)
  %r = call i32 @llvm.experimental.gc.result.i32(token %t)
  ret i32 %r
}

;; result of a callee without one
;= gc.result result type does not match wrapped callee
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define i32 @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(void ()) @g, i32 0, i32 0, i32 0, i32 0)
  %r = call i32 @llvm.experimental.gc.result.i32(token %t)
  ret i32 %r
}

;; result of no safepoint
;= gc.result operand #1 must be from a statepoint
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)
declare i32 @llvm.experimental.gc.result.i32(token)
declare void @g()
declare i32 @h(i32)
define i32 @f(ptr addrspace(1) %o, ptr %p) gc "statepoint-example" {
  %r = call i32 @llvm.experimental.gc.result.i32(token none)
  ret i32 %r
}

;; root that is a structure
;= ok
declare void @llvm.gcroot(ptr, ptr)
@d = constant i8 0
define void @f() gc "shadow-stack" {
  %r = alloca { i32 }
  call void @llvm.gcroot(ptr %r, ptr @d)
  ret void
}

;; root that is a structure without a description
;= llvm.gcroot parameter #1 must either be a pointer alloca, or argument #2 must be a non-null constant.
declare void @llvm.gcroot(ptr, ptr)
define void @f() gc "shadow-stack" {
  %r = alloca { i32 }
  call void @llvm.gcroot(ptr %r, ptr null)
  ret void
}

;; root that is no slot
;= llvm.gcroot parameter #1 must be an alloca.
declare void @llvm.gcroot(ptr, ptr)
define void @f(ptr %r) gc "shadow-stack" {
  call void @llvm.gcroot(ptr %r, ptr null)
  ret void
}
