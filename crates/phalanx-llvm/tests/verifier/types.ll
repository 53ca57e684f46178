; Types of operands and results.

;; add of different types
;= parser
define i32 @f(i32 %x, i64 %y) {
  %a = add i32 %x, %y
  ret i32 %a
}

;; add of floats
;= parser
define float @f(float %x) {
  %a = add float %x, %x
  ret float %a
}

;; fadd of integers
;= parser
define i32 @f(i32 %x) {
  %a = fadd i32 %x, %x
  ret i32 %a
}

;; and of pointers
;= parser
define ptr @f(ptr %x) {
  %a = and ptr %x, %x
  ret ptr %a
}

;; shift of floats
;= parser
define float @f(float %x) {
  %a = shl float %x, %x
  ret float %a
}

;; fneg of an integer
;= parser
define i32 @f(i32 %x) {
  %a = fneg i32 %x
  ret i32 %a
}

;; icmp of floats
;= parser
define i1 @f(float %x) {
  %a = icmp eq float %x, %x
  ret i1 %a
}

;; icmp of pointer vectors
;= ok
define <2 x i1> @f(<2 x ptr> %x) {
  %a = icmp eq <2 x ptr> %x, %x
  ret <2 x i1> %a
}

;; icmp of structures
;= parser
define i1 @f({ i32 } %x) {
  %a = icmp eq { i32 } %x, %x
  ret i1 %a
}

;; fcmp of integers
;= parser
define i1 @f(i32 %x) {
  %a = fcmp oeq i32 %x, %x
  ret i1 %a
}

;; select with a wide condition
;= parser
define i32 @f(i32 %x) {
  %a = select i32 %x, i32 %x, i32 %x
  ret i32 %a
}

;; select of different types
;= parser
define i32 @f(i1 %c, i32 %x, i64 %y) {
  %a = select i1 %c, i32 %x, i64 %y
  ret i32 %a
}

;; select by vector of other length
;= parser
define <4 x i32> @f(<2 x i1> %c, <4 x i32> %x) {
  %a = select <2 x i1> %c, <4 x i32> %x, <4 x i32> %x
  ret <4 x i32> %a
}

;; select of vectors by scalar
;= ok
define <4 x i32> @f(i1 %c, <4 x i32> %x) {
  %a = select i1 %c, <4 x i32> %x, <4 x i32> %x
  ret <4 x i32> %a
}

;; select of tokens
;= parser
declare token @llvm.experimental.convergence.anchor()
define void @f(i1 %c) {
  %a = call token @llvm.experimental.convergence.anchor()
  %s = select i1 %c, token %a, token %a
  ret void
}

;; trunc to wider
;= parser
define i64 @f(i32 %x) {
  %a = trunc i32 %x to i64
  ret i64 %a
}

;; zext to the same
;= parser
define i32 @f(i32 %x) {
  %a = zext i32 %x to i32
  ret i32 %a
}

;; zext of vector to scalar
;= parser
define i64 @f(<2 x i32> %x) {
  %a = zext <2 x i32> %x to i64
  ret i64 %a
}

;; fpext from half to bfloat
;= parser
define bfloat @f(half %x) {
  %a = fpext half %x to bfloat
  ret bfloat %a
}

;; fptrunc to wider
;= parser
define double @f(float %x) {
  %a = fptrunc float %x to double
  ret double %a
}

;; sitofp of float
;= parser
define float @f(float %x) {
  %a = sitofp float %x to float
  ret float %a
}

;; ptrtoint of integer
;= parser
define i64 @f(i64 %x) {
  %a = ptrtoint i64 %x to i64
  ret i64 %a
}

;; ptrtoint of vectors of different length
;= parser
define <2 x i64> @f(<4 x ptr> %x) {
  %a = ptrtoint <4 x ptr> %x to <2 x i64>
  ret <2 x i64> %a
}

;; ptrtoaddr
;= ok
define i64 @f(ptr %x) {
  %a = ptrtoaddr ptr %x to i64
  ret i64 %a
}

;; ptrtoaddr of another width than the address
;= PtrToAddr result must be address width
define i32 @f(ptr %x) {
  %a = ptrtoaddr ptr %x to i32
  ret i32 %a
}

;; bitcast between sizes
;= parser
define i64 @f(i32 %x) {
  %a = bitcast i32 %x to i64
  ret i64 %a
}

;; bitcast of pointer to integer
;= parser
define i64 @f(ptr %x) {
  %a = bitcast ptr %x to i64
  ret i64 %a
}

;; bitcast of pointer to vector of one pointer
;= ok
define <1 x ptr> @f(ptr %x) {
  %a = bitcast ptr %x to <1 x ptr>
  ret <1 x ptr> %a
}

;; bitcast between address spaces
;= parser
define ptr addrspace(1) @f(ptr %x) {
  %a = bitcast ptr %x to ptr addrspace(1)
  ret ptr addrspace(1) %a
}

;; bitcast of a structure
;= parser
define { i32 } @f({ i32 } %x) {
  %a = bitcast { i32 } %x to { i32 }
  ret { i32 } %a
}

;; bitcast of vectors
;= ok
define <2 x i64> @f(<4 x float> %x) {
  %a = bitcast <4 x float> %x to <2 x i64>
  ret <2 x i64> %a
}

;; bitcast of scalable to fixed
;= parser
define <4 x i32> @f(<vscale x 4 x i32> %x) {
  %a = bitcast <vscale x 4 x i32> %x to <4 x i32>
  ret <4 x i32> %a
}

;; addrspacecast within an address space
;= parser
define ptr @f(ptr %x) {
  %a = addrspacecast ptr %x to ptr
  ret ptr %a
}

;; addrspacecast
;= ok
define ptr @f(ptr addrspace(3) %x) {
  %a = addrspacecast ptr addrspace(3) %x to ptr
  ret ptr %a
}

;; extractelement of a scalar
;= parser
define i32 @f(i32 %x) {
  %a = extractelement i32 %x, i32 0
  ret i32 %a
}

;; extractelement by float
;= parser
define i32 @f(<4 x i32> %x, float %y) {
  %a = extractelement <4 x i32> %x, float %y
  ret i32 %a
}

;; extractelement out of range
;= ok
define i32 @f(<4 x i32> %x) {
  %a = extractelement <4 x i32> %x, i32 9
  ret i32 %a
}

;; insertelement of another type
;= parser
define <4 x i32> @f(<4 x i32> %x, i64 %y) {
  %a = insertelement <4 x i32> %x, i64 %y, i32 0
  ret <4 x i32> %a
}

;; shufflevector of different vectors
;= parser
define <4 x i32> @f(<4 x i32> %x, <2 x i32> %y) {
  %a = shufflevector <4 x i32> %x, <2 x i32> %y, <4 x i32> zeroinitializer
  ret <4 x i32> %a
}

;; shufflevector with a lane out of range
;= parser
define <2 x i32> @f(<2 x i32> %x) {
  %a = shufflevector <2 x i32> %x, <2 x i32> %x, <2 x i32> <i32 0, i32 4>
  ret <2 x i32> %a
}

;; shufflevector by a variable mask
;= parser
define <2 x i32> @f(<2 x i32> %x, <2 x i32> %m) {
  %a = shufflevector <2 x i32> %x, <2 x i32> %x, <2 x i32> %m
  ret <2 x i32> %a
}

;; shufflevector with poison lanes
;= ok
define <3 x i32> @f(<2 x i32> %x) {
  %a = shufflevector <2 x i32> %x, <2 x i32> %x, <3 x i32> <i32 0, i32 poison, i32 3>
  ret <3 x i32> %a
}

;; scalable shufflevector
;= ok
define <vscale x 2 x i32> @f(<vscale x 2 x i32> %x) {
  %a = shufflevector <vscale x 2 x i32> %x, <vscale x 2 x i32> %x, <vscale x 2 x i32> zeroinitializer
  ret <vscale x 2 x i32> %a
}

;; extractvalue out of range
;= parser
define i32 @f({ i32, i64 } %x) {
  %a = extractvalue { i32, i64 } %x, 2
  ret i32 %a
}

;; extractvalue of a scalar
;= parser
define i32 @f(i32 %x) {
  %a = extractvalue i32 %x, 0
  ret i32 %a
}

;; extractvalue of an array out of range
;= parser
define i32 @f([2 x i32] %x) {
  %a = extractvalue [2 x i32] %x, 2
  ret i32 %a
}

;; insertvalue of another type
;= parser
define { i32, i64 } @f({ i32, i64 } %x) {
  %a = insertvalue { i32, i64 } %x, i32 1, 1
  ret { i32, i64 } %a
}

;; insertvalue into a nested aggregate
;= ok
define { i32, [2 x i64] } @f({ i32, [2 x i64] } %x) {
  %a = insertvalue { i32, [2 x i64] } %x, i64 1, 1, 1
  ret { i32, [2 x i64] } %a
}

;; return of another type
;= parser
define i32 @f(i64 %x) {
  ret i64 %x
}

;; return of a value from void
;= parser
define void @f(i64 %x) {
  ret i64 %x
}

;; return of nothing from int
;= parser
define i32 @f() {
  ret void
}

;; branch on an integer
;= parser
define void @f(i32 %x) {
  br i32 %x, label %a, label %a
a:
  ret void
}

;; switch on a float
;= parser
define void @f(float %x) {
  switch float %x, label %a [ ]
a:
  ret void
}

;; switch with a case of another type
;= Switch constants must all be same type as switch value!
define void @f(i32 %x) {
  switch i32 %x, label %a [ i64 0, label %a ]
a:
  ret void
}

;; switch with a duplicate case
;= parser
define void @f(i32 %x) {
  switch i32 %x, label %a [ i32 5, label %a
                            i32 5, label %a ]
a:
  ret void
}

;; switch over wide integers
;= ok
define void @f(i128 %x) {
  switch i128 %x, label %a [ i128 18446744073709551616, label %a
                             i128 18446744073709551617, label %a ]
a:
  ret void
}

;; indirectbr on an integer
;= parser
define void @f(i64 %x) {
  indirectbr i64 %x, [label %a]
a:
  ret void
}

;; freeze
;= ok
define i32 @f(i32 %x) {
  %a = freeze i32 %x
  ret i32 %a
}

;; freeze of a token
;= ok
declare token @llvm.experimental.convergence.anchor()
define void @f() {
  %a = call token @llvm.experimental.convergence.anchor()
  %b = freeze token %a
  ret void
}

;; fast flags on an integer phi
;= parser
define i32 @f(i32 %x) {
entry:
  br label %a
a:
  %p = phi fast i32 [ %x, %entry ]
  ret i32 %p
}

;; fast flags on an array select
;= ok
define [2 x float] @f(i1 %c, [2 x float] %x) {
  %p = select nnan i1 %c, [2 x float] %x, [2 x float] %x
  ret [2 x float] %p
}

;; fast flags on a structure call
;= ok
declare { float, float } @g()
define void @f() {
  %p = call fast { float, float } @g()
  ret void
}

;; fast flags on a mixed structure call
;= parser
declare { float, i32 } @g()
define void @f() {
  %p = call fast { float, i32 } @g()
  ret void
}

;; constant of the wrong shape
;= parser
define <2 x i32> @f() {
  ret <2 x i32> <i32 1, i32 2, i32 3>
}

;; constant expression with a bad cast
;= parser
@g = global i32 0
define i64 @f() {
  ret i64 bitcast (ptr @g to i64)
}

;; aggregate parameter and result
;= ok
define { i32, [2 x float] } @f({ i32, [2 x float] } %x) {
  ret { i32, [2 x float] } %x
}

;; parameter of opaque type
;= parser
%t = type opaque
define void @f(%t %x) {
  ret void
}

;; result of opaque type
;= ok
%t = type opaque
declare %t @f()

;; function type with a void parameter
;= parser
declare void @f(void)

;; label parameter
;= parser
declare void @f(label)

;; metadata result
;= parser
declare metadata @f()

;; parameter that is like a token
;= Function takes token but isn't an intrinsic
define void @f(target("dx.Foo") %x) {
  ret void
}

;; result that is like a token
;= Function returns a token but isn't an intrinsic
declare target("dx.Foo") @f()

;; argument that is like a token
;= Function has token parameter but isn't an intrinsic
define void @f(ptr %g) {
  call void %g(target("dx.Foo") poison)
  ret void
}

;; result of an indirect call that is like a token
;= Return type cannot be token for indirect call!
define void @f(ptr %g) {
  %x = call target("dx.Foo") %g()
  ret void
}

;; phi that is like a token
;= PHI nodes cannot have token type!
define void @f(i1 %c) {
entry:
  br label %next
next:
  %x = phi target("dx.Foo") [ poison, %entry ]
  ret void
}

;; variable of a target type that no variable may have
;= Global @g has illegal target extension type
@g = external global [2 x target("foo")]

;; variables of target types
;= ok
@a = external global target("dx.Foo")
@b = external global [2 x target("spirv.Image")]
@c = external addrspace(3) global target("amdgcn.named.barrier", 0)

;; variable of an integral constant
;= Global @g has illegal target extension type
@g = external global target("spirv.IntegralConstant")

;; named barrier on the stack
;= Alloca has illegal target extension type
define void @f() {
  %x = alloca [2 x target("amdgcn.named.barrier", 0)]
  ret void
}
