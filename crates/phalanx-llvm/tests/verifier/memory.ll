; Memory operations and addresses.

;; load through an integer
;= parser
define i32 @f(i32 %p) {
  %v = load i32, i32 %p
  ret i32 %v
}

;; load of an opaque type
;= parser
%t = type opaque
define void @f(ptr %p) {
  %v = load %t, ptr %p
  ret void
}

;; load of a function type
;= parser
define void @f(ptr %p) {
  %v = load void (), ptr %p
  ret void
}

;; load of a token
;= parser
define void @f(ptr %p) {
  %v = load token, ptr %p
  ret void
}

;; store of a token
;= parser
declare token @llvm.experimental.convergence.anchor()
define void @f(ptr %p) {
  %a = call token @llvm.experimental.convergence.anchor()
  store token %a, ptr %p
  ret void
}

;; store through an integer
;= parser
define void @f(i32 %p) {
  store i32 0, i32 %p
  ret void
}

;; store of a metadata
;= parser
define void @f(ptr %p) {
  store metadata !{}, ptr %p
  ret void
}

;; atomic load with release
;= parser
define i32 @f(ptr %p) {
  %v = load atomic i32, ptr %p release, align 4
  ret i32 %v
}

;; atomic load without alignment
;= parser
define i32 @f(ptr %p) {
  %v = load atomic i32, ptr %p acquire
  ret i32 %v
}

;; atomic load of i3
;= atomic memory access' size must be byte-sized
define i3 @f(ptr %p) {
  %v = load atomic i3, ptr %p acquire, align 4
  ret i3 %v
}

;; atomic load of i24
;= atomic memory access' operand must have a power-of-two size
define i24 @f(ptr %p) {
  %v = load atomic i24, ptr %p acquire, align 4
  ret i24 %v
}

;; atomic load of a structure
;= atomic load operand must have integer, pointer, floating point, or vector type!
define void @f(ptr %p) {
  %v = load atomic { i32 }, ptr %p acquire, align 4
  ret void
}

;; atomic load of a vector
;= ok
define void @f(ptr %p) {
  %v = load atomic <2 x i32>, ptr %p acquire, align 8
  ret void
}

;; atomic load of a vector of three
;= atomic memory access' operand must have a power-of-two size
define void @f(ptr %p) {
  %v = load atomic <3 x i32>, ptr %p acquire, align 16
  ret void
}

;; atomic store with acquire
;= parser
define void @f(ptr %p) {
  store atomic i32 0, ptr %p acquire, align 4
  ret void
}

;; atomic store of a float
;= ok
define void @f(ptr %p) {
  store atomic float 0.0, ptr %p release, align 4
  ret void
}

;; atomic store of x86_fp80
;= atomic memory access' operand must have a power-of-two size
define void @f(ptr %p, x86_fp80 %x) {
  store atomic x86_fp80 %x, ptr %p release, align 16
  ret void
}

;; fence monotonic
;= parser
define void @f() {
  fence monotonic
  ret void
}

;; fence with scope
;= ok
define void @f() {
  fence syncscope("agent") acquire
  ret void
}

;; cmpxchg of a float
;= cmpxchg operand must have integer or pointer type
define void @f(ptr %p) {
  %v = cmpxchg ptr %p, float 0.0, float 1.0 acq_rel monotonic
  ret void
}

;; cmpxchg of different types
;= parser
define void @f(ptr %p) {
  %v = cmpxchg ptr %p, i32 0, i64 1 acq_rel monotonic
  ret void
}

;; cmpxchg with release on failure
;= parser
define void @f(ptr %p) {
  %v = cmpxchg ptr %p, i32 0, i32 1 acq_rel release
  ret void
}

;; cmpxchg unordered
;= parser
define void @f(ptr %p) {
  %v = cmpxchg ptr %p, i32 0, i32 1 unordered monotonic
  ret void
}

;; cmpxchg of pointers
;= ok
define void @f(ptr %p) {
  %v = cmpxchg weak volatile ptr %p, ptr null, ptr %p seq_cst acquire
  ret void
}

;; cmpxchg of i7
;= atomic memory access' size must be byte-sized
define void @f(ptr %p) {
  %v = cmpxchg ptr %p, i7 0, i7 1 monotonic monotonic
  ret void
}

;; atomicrmw add of a float
;= parser
define void @f(ptr %p) {
  %v = atomicrmw add ptr %p, float 1.0 monotonic
  ret void
}

;; atomicrmw fadd of an integer
;= parser
define void @f(ptr %p) {
  %v = atomicrmw fadd ptr %p, i32 1 monotonic
  ret void
}

;; atomicrmw fadd of a vector
;= ok
define void @f(ptr %p) {
  %v = atomicrmw fadd ptr %p, <2 x half> zeroinitializer monotonic
  ret void
}

;; atomicrmw xchg of a vector
;= parser
define void @f(ptr %p) {
  %v = atomicrmw xchg ptr %p, <2 x half> zeroinitializer monotonic
  ret void
}

;; atomicrmw xchg of a pointer
;= ok
define void @f(ptr %p) {
  %v = atomicrmw xchg ptr %p, ptr null monotonic
  ret void
}

;; atomicrmw unordered
;= parser
define void @f(ptr %p) {
  %v = atomicrmw add ptr %p, i32 1 unordered
  ret void
}

;; atomicrmw of i5
;= atomic memory access' size must be byte-sized
define void @f(ptr %p) {
  %v = atomicrmw or ptr %p, i5 1 monotonic
  ret void
}

;; alloca of an opaque type
;= parser
%t = type opaque
define void @f() {
  %a = alloca %t
  ret void
}

;; alloca of void
;= parser
define void @f() {
  %a = alloca void
  ret void
}

;; alloca of a float count
;= parser
define void @f() {
  %a = alloca i32, float 1.0
  ret void
}

;; alloca on AMDGPU in the wrong space
;= alloca on amdgpu must be in addrspace(5)
target triple = "amdgcn-amd-amdhsa"
define void @f() {
  %a = alloca i32
  ret void
}

;; alloca on AMDGPU in space 5
;= ok
target datalayout = "A5"
target triple = "amdgcn-amd-amdhsa"
define void @f() {
  %a = alloca i32, addrspace(5)
  ret void
}

;; alloca of a recursive structure
;= parser
%t = type { i32, %t }
define void @f() {
  %a = alloca %t
  ret void
}

;; alloca of a structure that points to itself
;= ok
%t = type { i32, ptr }
define void @f() {
  %a = alloca [4 x %t]
  ret void
}

;; swifterror alloca of an integer
;= swifterror alloca must have pointer type
define void @f() {
  %a = alloca swifterror i32
  ret void
}

;; gep over an integer
;= parser
define void @f(i64 %x) {
  %a = getelementptr i32, i64 %x, i64 1
  ret void
}

;; gep into an opaque type
;= parser
%t = type opaque
define void @f(ptr %x) {
  %a = getelementptr %t, ptr %x, i64 1
  ret void
}

;; gep by a float
;= parser
define void @f(ptr %x) {
  %a = getelementptr i32, ptr %x, float 1.0
  ret void
}

;; gep into a structure by a variable
;= parser
define void @f(ptr %x, i32 %i) {
  %a = getelementptr { i32, i32 }, ptr %x, i32 0, i32 %i
  ret void
}

;; gep into a structure out of range
;= parser
define void @f(ptr %x) {
  %a = getelementptr { i32, i32 }, ptr %x, i32 0, i32 2
  ret void
}

;; gep into a structure by i64
;= parser
define void @f(ptr %x) {
  %a = getelementptr { i32, i32 }, ptr %x, i32 0, i64 1
  ret void
}

;; gep into a scalar
;= parser
define void @f(ptr %x) {
  %a = getelementptr i32, ptr %x, i32 0, i32 0
  ret void
}

;; gep into an array beyond its end
;= ok
define void @f(ptr %x) {
  %a = getelementptr [4 x i32], ptr %x, i64 7, i64 9
  ret void
}

;; gep with a vector of indices
;= ok
define <4 x ptr> @f(ptr %x, <4 x i64> %i) {
  %a = getelementptr i32, ptr %x, <4 x i64> %i
  ret <4 x ptr> %a
}

;; gep with vectors of different lengths
;= parser
define void @f(<2 x ptr> %x, <4 x i64> %i) {
  %a = getelementptr i32, <2 x ptr> %x, <4 x i64> %i
  ret void
}

;; gep into structures of a vector of pointers
;= ok
define <2 x ptr> @f(<2 x ptr> %x) {
  %a = getelementptr { i32, i32 }, <2 x ptr> %x, <2 x i32> zeroinitializer, <2 x i32> <i32 1, i32 1>
  ret <2 x ptr> %a
}

;; gep into structures by different fields per lane
;= parser
define <2 x ptr> @f(<2 x ptr> %x) {
  %a = getelementptr { i32, i32 }, <2 x ptr> %x, <2 x i32> zeroinitializer, <2 x i32> <i32 0, i32 1>
  ret <2 x ptr> %a
}

;; va_arg
;= ok
define i32 @f(ptr %x) {
  %a = va_arg ptr %x, i32
  ret i32 %a
}

;; load with a huge alignment
;= parser
define i32 @f(ptr %p) {
  %v = load i32, ptr %p, align 8589934592
  ret i32 %v
}

;; load with a large alignment
;= ok
define i32 @f(ptr %p) {
  %v = load i32, ptr %p, align 4294967296
  ret i32 %v
}

;; load from a vector of pointers
;= parser
define i32 @f(<2 x ptr> %p) {
  %v = load i32, <2 x ptr> %p
  ret i32 %v
}
