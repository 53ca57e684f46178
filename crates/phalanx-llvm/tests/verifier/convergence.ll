; Convergence control tokens.

;; anchor used
;= ok
declare token @llvm.experimental.convergence.anchor()
declare void @g() convergent
define void @f() {
  %a = call token @llvm.experimental.convergence.anchor()
  call void @g() [ "convergencectrl"(token %a) ]
  ret void
}

;; bundle with a value that is no token
;= The 'convergencectrl' bundle requires exactly one token use.
declare void @g() convergent
define void @f(i32 %x) {
  call void @g() [ "convergencectrl"(i32 %x) ]
  ret void
}

;; bundle with token none
;= Convergence control tokens can only be produced by calls to the convergence control intrinsics.
declare void @g() convergent
define void @f(i32 %x) {
  call void @g() [ "convergencectrl"(token none) ]
  ret void
}

;; empty bundle
;= The 'convergencectrl' bundle requires exactly one token use.
declare void @g() convergent
define void @f(i32 %x) {
  call void @g() [ "convergencectrl"() ]
  ret void
}

;; entry intrinsic twice
;= Entry intrinsic cannot be preceded by a convergent operation in the same basic block.
declare token @llvm.experimental.convergence.entry()
define void @f() convergent {
  %a = call token @llvm.experimental.convergence.entry()
  %b = call token @llvm.experimental.convergence.entry()
  ret void
}

;; entry with a token
;= Convergence control tokens can only be produced by calls to the convergence control intrinsics.
declare token @llvm.experimental.convergence.entry()
declare token @llvm.experimental.convergence.anchor()
define void @f() convergent {
  %a = call token @llvm.experimental.convergence.entry() [ "convergencectrl"(token none) ]
  ret void
}

;; loop heart
;= ok
declare token @llvm.experimental.convergence.entry()
declare token @llvm.experimental.convergence.loop()
declare void @g() convergent
define void @f(i1 %c) convergent {
entry:
  %a = call token @llvm.experimental.convergence.entry()
  br label %l
l:
  %h = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %a) ]
  call void @g() [ "convergencectrl"(token %h) ]
  br i1 %c, label %l, label %x
x:
  call void @g() [ "convergencectrl"(token %a) ]
  ret void
}

;; heart not in the header
;= Cycle heart must dominate all blocks in the cycle.
declare token @llvm.experimental.convergence.entry()
declare token @llvm.experimental.convergence.loop()
define void @f(i1 %c) convergent {
entry:
  %a = call token @llvm.experimental.convergence.entry()
  br label %l
l:
  br label %m
m:
  %h = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %a) ]
  br i1 %c, label %l, label %x
x:
  ret void
}

;; hearts of nested loops
;= ok
declare token @llvm.experimental.convergence.entry()
declare token @llvm.experimental.convergence.loop()
declare void @g() convergent
define void @f(i1 %c) convergent {
entry:
  %a = call token @llvm.experimental.convergence.entry()
  br label %l
l:
  %h = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %a) ]
  br label %m
m:
  %i = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %h) ]
  br i1 %c, label %m, label %n
n:
  call void @g() [ "convergencectrl"(token %h) ]
  br i1 %c, label %l, label %x
x:
  ret void
}

;; inner heart that uses the outermost token
;= Cycle heart must dominate all blocks in the cycle.
declare token @llvm.experimental.convergence.entry()
declare token @llvm.experimental.convergence.loop()
define void @f(i1 %c) convergent {
entry:
  %a = call token @llvm.experimental.convergence.entry()
  br label %l
l:
  %h = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %a) ]
  br label %m
m:
  %i = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %a) ]
  br i1 %c, label %m, label %n
n:
  br i1 %c, label %l, label %x
x:
  ret void
}

;; token used after its loop in another region
;= Convergence region is not well-nested.
declare token @llvm.experimental.convergence.anchor()
declare void @g() convergent
define void @f(i1 %c) {
entry:
  br label %l
l:
  %a = call token @llvm.experimental.convergence.anchor()
  br i1 %c, label %l, label %x
x:
  %b = call token @llvm.experimental.convergence.anchor()
  call void @g() [ "convergencectrl"(token %a) ]
  call void @g() [ "convergencectrl"(token %b) ]
  ret void
}

;; regions that cross at a join
;= ok
declare token @llvm.experimental.convergence.anchor()
declare void @g() convergent
define void @f(i1 %c) {
entry:
  %a = call token @llvm.experimental.convergence.anchor()
  br i1 %c, label %l, label %r
l:
  %b = call token @llvm.experimental.convergence.anchor()
  call void @g() [ "convergencectrl"(token %b) ]
  br label %j
r:
  br label %j
j:
  call void @g() [ "convergencectrl"(token %a) ]
  ret void
}

;; token popped on one side of a branch
;= Convergence region is not well-nested.
declare token @llvm.experimental.convergence.anchor()
declare void @g() convergent
define void @f(i1 %c) {
entry:
  %a = call token @llvm.experimental.convergence.anchor()
  %b = call token @llvm.experimental.convergence.anchor()
  br i1 %c, label %l, label %r
l:
  call void @g() [ "convergencectrl"(token %a) ]
  br label %j
r:
  call void @g() [ "convergencectrl"(token %b) ]
  br label %j
j:
  call void @g() [ "convergencectrl"(token %b) ]
  ret void
}

;; token used in unreachable code
;= ok
declare token @llvm.experimental.convergence.anchor()
declare void @g() convergent
define void @f(i1 %c) {
entry:
  %a = call token @llvm.experimental.convergence.anchor()
  ret void
dead:
  call void @g() [ "convergencectrl"(token %a) ]
  br label %dead
}

;; a convergent intrinsic without token beside tokens
;= Cannot mix controlled and uncontrolled convergence in the same function.
declare token @llvm.experimental.convergence.anchor()
declare void @llvm.nvvm.barrier0() convergent
define void @f() {
  %a = call token @llvm.experimental.convergence.anchor()
  call void @llvm.nvvm.barrier0()
  ret void
}

;; convergent call site without token beside tokens
;= Cannot mix controlled and uncontrolled convergence in the same function.
declare token @llvm.experimental.convergence.anchor()
declare void @g()
define void @f() {
  %a = call token @llvm.experimental.convergence.anchor()
  call void @g() convergent
  ret void
}

;; convergent assembly beside tokens
;= Cannot mix controlled and uncontrolled convergence in the same function.
declare token @llvm.experimental.convergence.anchor()
define void @f() {
  %a = call token @llvm.experimental.convergence.anchor()
  call void asm sideeffect "bar.sync", ""() convergent
  ret void
}

;; loop intrinsic outside of a loop
;= ok
declare token @llvm.experimental.convergence.anchor()
declare token @llvm.experimental.convergence.loop()
define void @f() {
entry:
  %a = call token @llvm.experimental.convergence.anchor()
  br label %b
b:
  %h = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %a) ]
  ret void
}

;; loop intrinsic in the block of its token
;= Loop intrinsic cannot be preceded by a convergent operation in the same basic block.
declare token @llvm.experimental.convergence.anchor()
declare token @llvm.experimental.convergence.loop()
define void @f() {
entry:
  %a = call token @llvm.experimental.convergence.anchor()
  %h = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %a) ]
  ret void
}

;; loop intrinsic with two bundles
;= The 'convergencectrl' bundle can occur at most once on a call
declare token @llvm.experimental.convergence.anchor()
declare token @llvm.experimental.convergence.loop()
define void @f() {
entry:
  %a = call token @llvm.experimental.convergence.anchor()
  br label %b
b:
  %h = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %a), "convergencectrl"(token %a) ]
  ret void
}
