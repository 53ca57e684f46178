; Types of operands and results.

;; add of different types
define i32 @f(i32 %x, i64 %y) {
  %a = add i32 %x, %y
  ret i32 %a
}

;; add of floats
define float @f(float %x) {
  %a = add float %x, %x
  ret float %a
}

;; fadd of integers
define i32 @f(i32 %x) {
  %a = fadd i32 %x, %x
  ret i32 %a
}

;; and of pointers
define ptr @f(ptr %x) {
  %a = and ptr %x, %x
  ret ptr %a
}

;; shift of floats
define float @f(float %x) {
  %a = shl float %x, %x
  ret float %a
}

;; fneg of an integer
define i32 @f(i32 %x) {
  %a = fneg i32 %x
  ret i32 %a
}

;; icmp of floats
define i1 @f(float %x) {
  %a = icmp eq float %x, %x
  ret i1 %a
}

;; icmp of pointer vectors
define <2 x i1> @f(<2 x ptr> %x) {
  %a = icmp eq <2 x ptr> %x, %x
  ret <2 x i1> %a
}

;; icmp of structures
define i1 @f({ i32 } %x) {
  %a = icmp eq { i32 } %x, %x
  ret i1 %a
}

;; fcmp of integers
define i1 @f(i32 %x) {
  %a = fcmp oeq i32 %x, %x
  ret i1 %a
}

;; select with a wide condition
define i32 @f(i32 %x) {
  %a = select i32 %x, i32 %x, i32 %x
  ret i32 %a
}

;; select of different types
define i32 @f(i1 %c, i32 %x, i64 %y) {
  %a = select i1 %c, i32 %x, i64 %y
  ret i32 %a
}

;; select by vector of other length
define <4 x i32> @f(<2 x i1> %c, <4 x i32> %x) {
  %a = select <2 x i1> %c, <4 x i32> %x, <4 x i32> %x
  ret <4 x i32> %a
}

;; select of vectors by scalar
define <4 x i32> @f(i1 %c, <4 x i32> %x) {
  %a = select i1 %c, <4 x i32> %x, <4 x i32> %x
  ret <4 x i32> %a
}

;; select of tokens
declare token @llvm.experimental.convergence.anchor()
define void @f(i1 %c) {
  %a = call token @llvm.experimental.convergence.anchor()
  %s = select i1 %c, token %a, token %a
  ret void
}

;; trunc to wider
define i64 @f(i32 %x) {
  %a = trunc i32 %x to i64
  ret i64 %a
}

;; zext to the same
define i32 @f(i32 %x) {
  %a = zext i32 %x to i32
  ret i32 %a
}

;; zext of vector to scalar
define i64 @f(<2 x i32> %x) {
  %a = zext <2 x i32> %x to i64
  ret i64 %a
}

;; fpext from half to bfloat
define bfloat @f(half %x) {
  %a = fpext half %x to bfloat
  ret bfloat %a
}

;; fptrunc to wider
define double @f(float %x) {
  %a = fptrunc float %x to double
  ret double %a
}

;; sitofp of float
define float @f(float %x) {
  %a = sitofp float %x to float
  ret float %a
}

;; ptrtoint of integer
define i64 @f(i64 %x) {
  %a = ptrtoint i64 %x to i64
  ret i64 %a
}

;; ptrtoint of vectors of different length
define <2 x i64> @f(<4 x ptr> %x) {
  %a = ptrtoint <4 x ptr> %x to <2 x i64>
  ret <2 x i64> %a
}

;; ptrtoaddr
define i64 @f(ptr %x) {
  %a = ptrtoaddr ptr %x to i64
  ret i64 %a
}

;; ptrtoaddr of another width than the address
define i32 @f(ptr %x) {
  %a = ptrtoaddr ptr %x to i32
  ret i32 %a
}

;; bitcast between sizes
define i64 @f(i32 %x) {
  %a = bitcast i32 %x to i64
  ret i64 %a
}

;; bitcast of pointer to integer
define i64 @f(ptr %x) {
  %a = bitcast ptr %x to i64
  ret i64 %a
}

;; bitcast of pointer to vector of one pointer
define <1 x ptr> @f(ptr %x) {
  %a = bitcast ptr %x to <1 x ptr>
  ret <1 x ptr> %a
}

;; bitcast between address spaces
define ptr addrspace(1) @f(ptr %x) {
  %a = bitcast ptr %x to ptr addrspace(1)
  ret ptr addrspace(1) %a
}

;; bitcast of a structure
define { i32 } @f({ i32 } %x) {
  %a = bitcast { i32 } %x to { i32 }
  ret { i32 } %a
}

;; bitcast of vectors
define <2 x i64> @f(<4 x float> %x) {
  %a = bitcast <4 x float> %x to <2 x i64>
  ret <2 x i64> %a
}

;; bitcast of scalable to fixed
define <4 x i32> @f(<vscale x 4 x i32> %x) {
  %a = bitcast <vscale x 4 x i32> %x to <4 x i32>
  ret <4 x i32> %a
}

;; addrspacecast within an address space
define ptr @f(ptr %x) {
  %a = addrspacecast ptr %x to ptr
  ret ptr %a
}

;; addrspacecast
define ptr @f(ptr addrspace(3) %x) {
  %a = addrspacecast ptr addrspace(3) %x to ptr
  ret ptr %a
}

;; extractelement of a scalar
define i32 @f(i32 %x) {
  %a = extractelement i32 %x, i32 0
  ret i32 %a
}

;; extractelement by float
define i32 @f(<4 x i32> %x, float %y) {
  %a = extractelement <4 x i32> %x, float %y
  ret i32 %a
}

;; extractelement out of range
define i32 @f(<4 x i32> %x) {
  %a = extractelement <4 x i32> %x, i32 9
  ret i32 %a
}

;; insertelement of another type
define <4 x i32> @f(<4 x i32> %x, i64 %y) {
  %a = insertelement <4 x i32> %x, i64 %y, i32 0
  ret <4 x i32> %a
}

;; shufflevector of different vectors
define <4 x i32> @f(<4 x i32> %x, <2 x i32> %y) {
  %a = shufflevector <4 x i32> %x, <2 x i32> %y, <4 x i32> zeroinitializer
  ret <4 x i32> %a
}

;; shufflevector with a lane out of range
define <2 x i32> @f(<2 x i32> %x) {
  %a = shufflevector <2 x i32> %x, <2 x i32> %x, <2 x i32> <i32 0, i32 4>
  ret <2 x i32> %a
}

;; shufflevector by a variable mask
define <2 x i32> @f(<2 x i32> %x, <2 x i32> %m) {
  %a = shufflevector <2 x i32> %x, <2 x i32> %x, <2 x i32> %m
  ret <2 x i32> %a
}

;; shufflevector with poison lanes
define <3 x i32> @f(<2 x i32> %x) {
  %a = shufflevector <2 x i32> %x, <2 x i32> %x, <3 x i32> <i32 0, i32 poison, i32 3>
  ret <3 x i32> %a
}

;; scalable shufflevector
define <vscale x 2 x i32> @f(<vscale x 2 x i32> %x) {
  %a = shufflevector <vscale x 2 x i32> %x, <vscale x 2 x i32> %x, <vscale x 2 x i32> zeroinitializer
  ret <vscale x 2 x i32> %a
}

;; extractvalue out of range
define i32 @f({ i32, i64 } %x) {
  %a = extractvalue { i32, i64 } %x, 2
  ret i32 %a
}

;; extractvalue of a scalar
define i32 @f(i32 %x) {
  %a = extractvalue i32 %x, 0
  ret i32 %a
}

;; extractvalue of an array out of range
define i32 @f([2 x i32] %x) {
  %a = extractvalue [2 x i32] %x, 2
  ret i32 %a
}

;; insertvalue of another type
define { i32, i64 } @f({ i32, i64 } %x) {
  %a = insertvalue { i32, i64 } %x, i32 1, 1
  ret { i32, i64 } %a
}

;; insertvalue into a nested aggregate
define { i32, [2 x i64] } @f({ i32, [2 x i64] } %x) {
  %a = insertvalue { i32, [2 x i64] } %x, i64 1, 1, 1
  ret { i32, [2 x i64] } %a
}

;; return of another type
define i32 @f(i64 %x) {
  ret i64 %x
}

;; return of a value from void
define void @f(i64 %x) {
  ret i64 %x
}

;; return of nothing from int
define i32 @f() {
  ret void
}

;; branch on an integer
define void @f(i32 %x) {
  br i32 %x, label %a, label %a
a:
  ret void
}

;; switch on a float
define void @f(float %x) {
  switch float %x, label %a [ ]
a:
  ret void
}

;; switch with a case of another type
define void @f(i32 %x) {
  switch i32 %x, label %a [ i64 0, label %a ]
a:
  ret void
}

;; switch with a duplicate case
define void @f(i32 %x) {
  switch i32 %x, label %a [ i32 5, label %a
                            i32 5, label %a ]
a:
  ret void
}

;; switch over wide integers
define void @f(i128 %x) {
  switch i128 %x, label %a [ i128 18446744073709551616, label %a
                             i128 18446744073709551617, label %a ]
a:
  ret void
}

;; indirectbr on an integer
define void @f(i64 %x) {
  indirectbr i64 %x, [label %a]
a:
  ret void
}

;; freeze
define i32 @f(i32 %x) {
  %a = freeze i32 %x
  ret i32 %a
}

;; freeze of a token
declare token @llvm.experimental.convergence.anchor()
define void @f() {
  %a = call token @llvm.experimental.convergence.anchor()
  %b = freeze token %a
  ret void
}

;; fast flags on an integer phi
define i32 @f(i32 %x) {
entry:
  br label %a
a:
  %p = phi fast i32 [ %x, %entry ]
  ret i32 %p
}

;; fast flags on an array select
define [2 x float] @f(i1 %c, [2 x float] %x) {
  %p = select nnan i1 %c, [2 x float] %x, [2 x float] %x
  ret [2 x float] %p
}

;; fast flags on a structure call
declare { float, float } @g()
define void @f() {
  %p = call fast { float, float } @g()
  ret void
}

;; fast flags on a mixed structure call
declare { float, i32 } @g()
define void @f() {
  %p = call fast { float, i32 } @g()
  ret void
}

;; constant of the wrong shape
define <2 x i32> @f() {
  ret <2 x i32> <i32 1, i32 2, i32 3>
}

;; constant expression with a bad cast
@g = global i32 0
define i64 @f() {
  ret i64 bitcast (ptr @g to i64)
}

;; aggregate parameter and result
define { i32, [2 x float] } @f({ i32, [2 x float] } %x) {
  ret { i32, [2 x float] } %x
}

;; parameter of opaque type
%t = type opaque
define void @f(%t %x) {
  ret void
}

;; result of opaque type
%t = type opaque
declare %t @f()

;; function type with a void parameter
declare void @f(void)

;; label parameter
declare void @f(label)

;; metadata result
declare metadata @f()
