; Module level: variables, aliases, comdats, names.

;; initialiser of another type
;= parser
@g = global i32 0.0

;; variable of an opaque type
;= parser
%t = type opaque
@g = global %t zeroinitializer

;; external variable of an opaque type
;= ok
%t = type opaque
@g = external global %t

;; common with a value
;= 'common' global must have a zero initializer!
@g = common global i32 1

;; common with zero
;= ok
@g = common global [4 x i32] zeroinitializer

;; common constant
;= 'common' global may not be marked constant!
@g = common constant i32 0

;; internal without initialiser
;= parser
@g = internal global i32

;; appending scalar
;= Only global arrays can have appending linkage!
@g = appending global i32 0

;; appending array
;= ok
@g = appending global [1 x i32] [i32 0]

;; scalable variable
;= Globals cannot contain scalable types
@g = global <vscale x 4 x i32> zeroinitializer

;; duplicate names
;= parser
@g = global i32 0
@g = global i32 0

;; duplicate functions
;= parser
declare void @g()
declare void @g()

;; function and variable of one name
;= parser
@g = global i32 0
declare void @g()

;; duplicate types
;= parser
%t = type { i32 }
%t = type { i64 }

;; alias
;= ok
@g = global i32 0
@a = alias i32, ptr @g

;; alias of a declaration
;= Alias must point to a definition
@g = external global i32
@a = alias i32, ptr @g

;; alias of a declared function
;= Alias must point to a definition
declare void @g()
@a = alias void (), ptr @g

;; alias to itself
;= Aliases cannot form a cycle
@a = alias i32, ptr @a

;; aliases in a cycle
;= Aliases cannot form a cycle
@a = alias i32, ptr @b
@b = alias i32, ptr @a

;; aliases in a cycle through an expression
;= Aliases cannot form a cycle
@a = alias i32, getelementptr (i8, ptr @b, i64 4)
@b = alias i32, ptr @c
@c = alias i32, ptr @a
@d = alias i32, ptr @c

;; alias of a weak alias
;= Alias cannot point to an interposable alias
@g = global i32 0
@w = weak alias i32, ptr @g
@a = alias i32, ptr @w

;; alias of an alias
;= ok
@g = global i32 0
@w = alias i32, ptr @g
@a = alias i32, ptr @w

;; alias of null
;= Aliasee should be either GlobalValue or ConstantExpr
@a = alias i32, ptr null

;; alias with common linkage
;= parser
@g = global i32 0
@a = common alias i32, ptr @g

;; alias of an available_externally function
;= Alias must point to a definition
define available_externally void @g() {
  ret void
}
@a = alias void (), ptr @g

;; alias in another address space
;= parser
@g = addrspace(1) global i32 0
@a = alias i32, ptr @g

;; ifunc
;= ok
define ptr @r() {
  ret ptr null
}
@i = ifunc void (), ptr @r

;; ifunc with a declared resolver
;= IFunc resolver must be a definition
declare ptr @r()
@i = ifunc void (), ptr @r

;; ifunc with a resolver that returns an integer
;= IFunc resolver must return a pointer
define i64 @r() {
  ret i64 0
}
@i = ifunc void (), ptr @r

;; ifunc of a variable
;= IFunc must have a Function resolver
@r = global i32 0
@i = ifunc void (), ptr @r

;; comdat
;= ok
$c = comdat any
@g = global i32 0, comdat($c)

;; undefined comdat
;= parser
@g = global i32 0, comdat($c)

;; declaration in a comdat
;= Declaration may not be in a Comdat!
$c = comdat any
declare void @f() comdat($c)

;; external variable in a comdat
;= Declaration may not be in a Comdat!
$c = comdat any
@g = external global i32, comdat($c)

;; llvm.used
;= ok
@g = global i32 0
@llvm.used = appending global [1 x ptr] [ptr @g], section "llvm.metadata"

;; llvm.used with another linkage
;= invalid linkage for intrinsic global variable
@g = global i32 0
@llvm.used = global [1 x ptr] [ptr @g], section "llvm.metadata"

;; llvm.used of integers
;= wrong type for intrinsic global variable
@llvm.used = appending global [1 x i32] [i32 0], section "llvm.metadata"

;; llvm.used of null
;= wrong initializer for intrinsic global variable
@llvm.used = appending global [1 x ptr] [ptr null], section "llvm.metadata"

;; llvm.used of an unnamed variable
;= members of llvm.used must be named
@0 = global i32 0
@llvm.used = appending global [1 x ptr] [ptr @0], section "llvm.metadata"

;; llvm.global_ctors
;= ok
define void @c() {
  ret void
}
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 0, ptr @c, ptr null }]

;; llvm.global_ctors in the old form
;= the third field of the element type is mandatory, specify ptr null to migrate from the obsoleted 2-field form
define void @c() {
  ret void
}
@llvm.global_ctors = appending global [1 x { i32, ptr }] [{ i32, ptr } { i32 0, ptr @c }]

;; llvm.global_ctors of integers
;= wrong type for intrinsic global variable
@llvm.global_ctors = appending global [1 x i32] [i32 0]

;; llvm.global_ctors with another linkage
;= invalid linkage for intrinsic global variable
define void @c() {
  ret void
}
@llvm.global_ctors = global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 0, ptr @c, ptr null }]

;; undefined name
;= parser
define ptr @f() {
  ret ptr @nothing
}

;; private with hidden visibility
;= parser
@g = private hidden global i32 0

;; thread local
;= ok
@g = thread_local global i32 0

;; prologue and prefix
;= ok
define void @f() prefix i32 5 prologue i8 3 {
  ret void
}

;; structure that contains itself
;= parser
%t = type { %t }
@g = external global %t

;; dso_local dllimport
;= parser
@g = external dso_local dllimport global i32

;; dllimport definition
;= Global is marked as dllimport, but not external
@g = dllimport global i32 0

;; kernel for SPIR with byval
;= ok
define spir_kernel void @f(ptr byval(i32) %x) {
  ret void
}

;; unknown intrinsic
;= ok
declare void @llvm.phalanx.unknown()

;; token variable
;= parser
@g = external global token

;; label variable
;= parser
@g = external global label

;; huge alignment
;= parser
@g = global i32 0, align 8589934592

;; module flags
;= ok
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"wchar_size", i32 4}

;; variable of a scalable tuple
;= Globals cannot contain scalable types
@g = external global target("riscv.vector.tuple", <vscale x 8 x i8>, 2)

;; variable of a scalable predicate in an array
;= Globals cannot contain scalable types
@g = external global [2 x target("aarch64.svcount")]

;; list of used globals that is used
;= invalid uses of intrinsic global variable
@llvm.used = appending global [1 x ptr] [ptr @f], section "llvm.metadata"
define ptr @f() {
  ret ptr @llvm.used
}

;; list of used globals
;= ok
@llvm.used = appending global [1 x ptr] [ptr @f], section "llvm.metadata"
define void @f() {
  ret void
}
