; Module level: variables, aliases, comdats, names.

;; initialiser of another type
@g = global i32 0.0

;; variable of an opaque type
%t = type opaque
@g = global %t zeroinitializer

;; external variable of an opaque type
%t = type opaque
@g = external global %t

;; common with a value
@g = common global i32 1

;; common with zero
@g = common global [4 x i32] zeroinitializer

;; common constant
@g = common constant i32 0

;; internal without initialiser
@g = internal global i32

;; appending scalar
@g = appending global i32 0

;; appending array
@g = appending global [1 x i32] [i32 0]

;; scalable variable
@g = global <vscale x 4 x i32> zeroinitializer

;; duplicate names
@g = global i32 0
@g = global i32 0

;; duplicate functions
declare void @g()
declare void @g()

;; function and variable of one name
@g = global i32 0
declare void @g()

;; duplicate types
%t = type { i32 }
%t = type { i64 }

;; alias
@g = global i32 0
@a = alias i32, ptr @g

;; alias of a declaration
@g = external global i32
@a = alias i32, ptr @g

;; alias of a declared function
declare void @g()
@a = alias void (), ptr @g

;; alias to itself
@a = alias i32, ptr @a

;; aliases in a cycle
@a = alias i32, ptr @b
@b = alias i32, ptr @a

;; aliases in a cycle through an expression
@a = alias i32, getelementptr (i8, ptr @b, i64 4)
@b = alias i32, ptr @c
@c = alias i32, ptr @a
@d = alias i32, ptr @c

;; alias of a weak alias
@g = global i32 0
@w = weak alias i32, ptr @g
@a = alias i32, ptr @w

;; alias of an alias
@g = global i32 0
@w = alias i32, ptr @g
@a = alias i32, ptr @w

;; alias of null
@a = alias i32, ptr null

;; alias with common linkage
@g = global i32 0
@a = common alias i32, ptr @g

;; alias of an available_externally function
define available_externally void @g() {
  ret void
}
@a = alias void (), ptr @g

;; alias in another address space
@g = addrspace(1) global i32 0
@a = alias i32, ptr @g

;; ifunc
define ptr @r() {
  ret ptr null
}
@i = ifunc void (), ptr @r

;; ifunc with a declared resolver
declare ptr @r()
@i = ifunc void (), ptr @r

;; ifunc with a resolver that returns an integer
define i64 @r() {
  ret i64 0
}
@i = ifunc void (), ptr @r

;; ifunc of a variable
@r = global i32 0
@i = ifunc void (), ptr @r

;; comdat
$c = comdat any
@g = global i32 0, comdat($c)

;; undefined comdat
@g = global i32 0, comdat($c)

;; declaration in a comdat
$c = comdat any
declare void @f() comdat($c)

;; external variable in a comdat
$c = comdat any
@g = external global i32, comdat($c)

;; llvm.used
@g = global i32 0
@llvm.used = appending global [1 x ptr] [ptr @g], section "llvm.metadata"

;; llvm.used with another linkage
@g = global i32 0
@llvm.used = global [1 x ptr] [ptr @g], section "llvm.metadata"

;; llvm.used of integers
@llvm.used = appending global [1 x i32] [i32 0], section "llvm.metadata"

;; llvm.used of null
@llvm.used = appending global [1 x ptr] [ptr null], section "llvm.metadata"

;; llvm.used of an unnamed variable
@0 = global i32 0
@llvm.used = appending global [1 x ptr] [ptr @0], section "llvm.metadata"

;; llvm.global_ctors
define void @c() {
  ret void
}
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 0, ptr @c, ptr null }]

;; llvm.global_ctors in the old form
define void @c() {
  ret void
}
@llvm.global_ctors = appending global [1 x { i32, ptr }] [{ i32, ptr } { i32 0, ptr @c }]

;; llvm.global_ctors of integers
@llvm.global_ctors = appending global [1 x i32] [i32 0]

;; llvm.global_ctors with another linkage
define void @c() {
  ret void
}
@llvm.global_ctors = global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 0, ptr @c, ptr null }]

;; undefined name
define ptr @f() {
  ret ptr @nothing
}

;; private with hidden visibility
@g = private hidden global i32 0

;; thread local
@g = thread_local global i32 0

;; prologue and prefix
define void @f() prefix i32 5 prologue i8 3 {
  ret void
}

;; structure that contains itself
%t = type { %t }
@g = external global %t

;; dso_local dllimport
@g = external dso_local dllimport global i32

;; dllimport definition
@g = dllimport global i32 0

;; kernel for SPIR with byval
define spir_kernel void @f(ptr byval(i32) %x) {
  ret void
}

;; unknown intrinsic
declare void @llvm.phalanx.unknown()

;; token variable
@g = external global token

;; label variable
@g = external global label

;; huge alignment
@g = global i32 0, align 8589934592

;; module flags
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"wchar_size", i32 4}
