; Blocks, order of instructions, phis, dominance. See ../verifier.rs for the format.

;; entry with predecessor
;= Entry block to function must not have predecessors!
define void @f() {
entry:
  br label %entry
}

;; entry with predecessor through a loop
;= Entry block to function must not have predecessors!
define void @f(i1 %c) {
entry:
  br label %b
b:
  br i1 %c, label %entry, label %x
x:
  ret void
}

;; use before definition in a block
;= Instruction does not dominate all uses!
define i32 @f(i32 %x) {
  %a = add i32 %b, %x
  %b = add i32 %x, %x
  ret i32 %a
}

;; use in a block not dominated
;= Instruction does not dominate all uses!
define i32 @f(i1 %c, i32 %x) {
entry:
  br i1 %c, label %a, label %b
a:
  %v = add i32 %x, %x
  br label %b
b:
  ret i32 %v
}

;; use of own value
;= Only PHI nodes may reference their own value!
define i32 @f(i32 %x) {
  %a = add i32 %a, %x
  ret i32 %a
}

;; use of own value in unreachable code
;= ok
define i32 @f(i32 %x) {
  ret i32 %x
dead:
  %a = add i32 %a, %x
  br label %dead
}

;; use before definition in unreachable code
;= ok
define i32 @f(i32 %x) {
  ret i32 %x
dead:
  %a = add i32 %b, %x
  %b = add i32 %x, %x
  ret i32 %a
}

;; use of an unreachable definition in reachable code
;= Instruction does not dominate all uses!
define i32 @f(i32 %x) {
entry:
  br label %b
dead:
  %a = add i32 %x, %x
  br label %b
b:
  ret i32 %a
}

;; phi over an unreachable predecessor
;= ok
define i32 @f(i32 %x) {
entry:
  br label %b
dead:
  %a = add i32 %x, %x
  br label %b
b:
  %p = phi i32 [ %x, %entry ], [ %a, %dead ]
  ret i32 %p
}

;; phi uses a value of the wrong predecessor
;= Instruction does not dominate all uses!
define i32 @f(i1 %c, i32 %x) {
entry:
  br i1 %c, label %l, label %r
l:
  %a = add i32 %x, 1
  br label %j
r:
  %b = add i32 %x, 2
  br label %j
j:
  %p = phi i32 [ %b, %l ], [ %a, %r ]
  ret i32 %p
}

;; phi of the right predecessors
;= ok
define i32 @f(i1 %c, i32 %x) {
entry:
  br i1 %c, label %l, label %r
l:
  %a = add i32 %x, 1
  br label %j
r:
  %b = add i32 %x, 2
  br label %j
j:
  %p = phi i32 [ %a, %l ], [ %b, %r ]
  ret i32 %p
}

;; phi misses a predecessor
;= PHINode should have one entry for each predecessor of its parent basic block!
define i32 @f(i1 %c, i32 %x) {
entry:
  br i1 %c, label %l, label %j
l:
  br label %j
j:
  %p = phi i32 [ %x, %l ]
  ret i32 %p
}

;; phi names a block that is no predecessor
;= PHI node entries do not match predecessors!
define i32 @f(i1 %c, i32 %x) {
entry:
  br i1 %c, label %l, label %j
l:
  br label %j
other:
  ret i32 0
j:
  %p = phi i32 [ %x, %l ], [ %x, %other ]
  ret i32 %p
}

;; phi with one entry for a double edge
;= PHINode should have one entry for each predecessor of its parent basic block!
define i32 @f(i1 %c, i32 %x) {
entry:
  br i1 %c, label %j, label %j
j:
  %p = phi i32 [ %x, %entry ]
  ret i32 %p
}

;; phi with two equal entries for a double edge
;= ok
define i32 @f(i1 %c, i32 %x) {
entry:
  br i1 %c, label %j, label %j
j:
  %p = phi i32 [ %x, %entry ], [ %x, %entry ]
  ret i32 %p
}

;; phi with two different entries for a double edge
;= PHI node has multiple entries for the same basic block with different incoming values!
define i32 @f(i1 %c, i32 %x) {
entry:
  br i1 %c, label %j, label %j
j:
  %p = phi i32 [ %x, %entry ], [ 1, %entry ]
  ret i32 %p
}

;; phi in a switch with repeated targets
;= ok
define i32 @f(i32 %x) {
entry:
  switch i32 %x, label %j [ i32 1, label %j
                            i32 2, label %k ]
k:
  br label %j
j:
  %p = phi i32 [ %x, %entry ], [ 5, %k ], [ %x, %entry ]
  ret i32 %p
}

;; phi behind another instruction
;= PHI nodes not grouped at top of basic block!
define i32 @f(i32 %x) {
entry:
  br label %j
j:
  %a = add i32 %x, 1
  %p = phi i32 [ %x, %entry ]
  ret i32 %p
}

;; phi in the entry block
;= ok
define i32 @f() {
entry:
  %p = phi i32
  ret i32 %p
}

;; phi without entries in a block without predecessors
;= ok
define i32 @f() {
entry:
  ret i32 0
dead:
  %p = phi i32 [ 0, %dead2 ]
  ret i32 %p
dead2:
  br label %dead
}

;; phi uses itself around a loop
;= ok
define i32 @f(i1 %c) {
entry:
  br label %l
l:
  %p = phi i32 [ 0, %entry ], [ %p, %l ]
  br i1 %c, label %l, label %x
x:
  ret i32 %p
}

;; phi uses itself from the entry
;= Instruction does not dominate all uses!
define i32 @f(i1 %c) {
entry:
  br label %l
l:
  %p = phi i32 [ %p, %entry ], [ %p, %l ]
  br i1 %c, label %l, label %x
x:
  ret i32 %p
}

;; phi uses an earlier phi of its block from the entry
;= Instruction does not dominate all uses!
define i32 @f(i1 %c) {
entry:
  br label %l
l:
  %a = phi i32 [ 0, %entry ], [ 1, %l ]
  %p = phi i32 [ %a, %entry ], [ %a, %l ]
  br i1 %c, label %l, label %x
x:
  ret i32 %p
}

;; phi uses a later value around a loop
;= ok
define i32 @f(i1 %c) {
entry:
  br label %l
l:
  %p = phi i32 [ 0, %entry ], [ %n, %l ]
  %n = add i32 %p, 1
  br i1 %c, label %l, label %x
x:
  ret i32 %n
}

;; phi of tokens
;= PHI nodes cannot have token type!
declare token @llvm.experimental.convergence.anchor()
define void @f(i1 %c) {
entry:
  %a = call token @llvm.experimental.convergence.anchor()
  br label %l
l:
  %p = phi token [ %a, %entry ]
  ret void
}

;; phi of labels
;= Entry block to function must not have predecessors!
define void @f(i1 %c) {
entry:
  br label %l
l:
  %p = phi label [ %entry, %entry ]
  ret void
}

;; invoke result on the normal edge
;= ok
declare i32 @g()
declare i32 @p(...)
define i32 @f() personality ptr @p {
entry:
  %r = invoke i32 @g() to label %n unwind label %u
n:
  ret i32 %r
u:
  %l = landingpad { ptr, i32 } cleanup
  ret i32 0
}

;; invoke result on the unwind edge
;= Instruction does not dominate all uses!
declare i32 @g()
declare i32 @p(...)
define i32 @f() personality ptr @p {
entry:
  %r = invoke i32 @g() to label %n unwind label %u
n:
  ret i32 0
u:
  %l = landingpad { ptr, i32 } cleanup
  ret i32 %r
}

;; invoke result behind a normal destination with another predecessor
;= Instruction does not dominate all uses!
declare i32 @g()
declare i32 @p(...)
define i32 @f(i1 %c) personality ptr @p {
entry:
  br i1 %c, label %i, label %n
i:
  %r = invoke i32 @g() to label %n unwind label %u
n:
  ret i32 %r
u:
  %l = landingpad { ptr, i32 } cleanup
  ret i32 0
}

;; invoke result in a phi of the normal destination
;= ok
declare i32 @g()
declare i32 @p(...)
define i32 @f(i1 %c) personality ptr @p {
entry:
  br i1 %c, label %i, label %n
i:
  %r = invoke i32 @g() to label %n unwind label %u
n:
  %q = phi i32 [ %r, %i ], [ 0, %entry ]
  ret i32 %q
u:
  %l = landingpad { ptr, i32 } cleanup
  ret i32 0
}

;; invoke result in a phi of the unwind destination
;= Instruction does not dominate all uses!
declare i32 @g()
declare i32 @p(...)
define i32 @f(i1 %c) personality ptr @p {
entry:
  %r = invoke i32 @g() to label %n unwind label %u
n:
  ret i32 0
u:
  %q = phi i32 [ %r, %entry ]
  %l = landingpad { ptr, i32 } cleanup
  ret i32 0
}

;; invoke result below a normal destination that is a loop header
;= ok
declare i32 @g()
declare i32 @p(...)
define i32 @f(i1 %c) personality ptr @p {
entry:
  %r = invoke i32 @g() to label %n unwind label %u
n:
  %q = phi i32 [ %r, %entry ], [ %s, %n ]
  %s = add i32 %r, %q
  br i1 %c, label %n, label %x
x:
  ret i32 %s
u:
  %l = landingpad { ptr, i32 } cleanup
  ret i32 0
}

;; function used as a value of another function
;= parser
define i32 @f(i32 %x) {
  ret i32 %x
}
define i32 @g() {
  ret i32 %x
}

;; instruction after the terminator
;= ok
define void @f() {
  ret void
  ret void
}

;; no terminator
;= parser
define i32 @f(i32 %x) {
  %a = add i32 %x, 1
}

;; deep domination is fine
;= ok
define i32 @f(i1 %c, i32 %x) {
entry:
  %v = add i32 %x, 1
  br i1 %c, label %a, label %b
a:
  br i1 %c, label %aa, label %ab
aa:
  br label %j
ab:
  br label %j
b:
  br label %j
j:
  ret i32 %v
}

;; blockaddress of the entry
;= blockaddress may not be used with the entry block!
@g = global ptr blockaddress(@f, %entry)
define void @f() {
entry:
  ret void
}

;; blockaddress of another block
;= ok
@g = global ptr blockaddress(@f, %b)
define void @f() {
entry:
  br label %b
b:
  ret void
}

;; named void call
;= parser
declare void @g()
define void @f() {
  %x = call void @g()
  ret void
}

;; an irreducible loop with a value from one entry
;= Instruction does not dominate all uses!
define i32 @f(i1 %c, i32 %x) {
entry:
  br i1 %c, label %a, label %b
a:
  %v = add i32 %x, 1
  br i1 %c, label %b, label %e
b:
  %w = add i32 %v, 1
  br label %a
e:
  ret i32 %v
}
