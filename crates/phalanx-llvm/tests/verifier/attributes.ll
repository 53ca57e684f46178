; Attributes and what globals say of themselves. See ../verifier.rs for the format.

;; a boolean text of a parameter
;= invalid value for 'no-jump-tables' attribute: q
declare void @f(ptr "no-jump-tables"="q")

;; a boolean text of a result
;= parser
declare ptr "less-precise-fpmad"="yes" @f()

;; a boolean text of a call
;= invalid value for 'no-inline-line-tables' attribute: 1
declare void @f()
define void @g() {
  call void @f() "no-inline-line-tables"="1"
  ret void
}

;; boolean texts that are good
;= ok
declare void @f() "no-jump-tables"="true" "use-sample-profile" "branch-target-enforcement"="false"

;; a boolean text of functions on a parameter
;= ok
declare void @f(ptr "branch-target-enforcement"="x")

;; a boolean text of functions
;= invalid value for 'branch-target-enforcement' attribute: x
declare void @f() "branch-target-enforcement"="x"

;; signed return addresses
;= invalid value for 'sign-return-address' attribute: zz
declare void @f() "sign-return-address"="zz"

;; key of signed return addresses
;= invalid value for 'sign-return-address-key' attribute: c_key
declare void @f() "sign-return-address-key"="c_key"

;; modular format of one part
;= modular-format attribute requires at least 5 arguments
declare void @f() "modular-format"="printf"

;; modular format of five parts
;= ok
declare void @f(ptr, ...) "modular-format"="printf,2,2,impl,float"

;; modular format from an argument that there is not
;= modular-format attribute first arg index is out of bounds
declare void @f(ptr) "modular-format"="printf,2,2,impl,float"

;; allocator of no kind
;= 'allockind()' requires exactly one of alloc, realloc, and free
declare ptr @f() allockind("zeroed")

;; allocator of two kinds
;= 'allockind()' requires exactly one of alloc, realloc, and free
declare ptr @f() allockind("alloc,free")

;; allocator that frees zeroes
;= 'allockind("free")' doesn't allow uninitialized, zeroed, or aligned modifiers.
declare ptr @f() allockind("free,zeroed")

;; allocator of memory that is zero and is not
;= 'allockind()' can't be both zeroed and uninitialized
declare ptr @f() allockind("alloc,zeroed,uninitialized")

;; written only, on a number
;= ok
declare void @f(float writeonly, { i32 } writeonly)

;; not extended, on a pointer
;= ok
declare void @f(ptr noext)

;; variable argument of a type that an attribute is not for
;= Attribute 'signext' applied to incompatible type!
declare void @f(...)
define void @g(ptr %p) {
  call void (...) @f(ptr signext %p)
  ret void
}

;; variable argument that is the result
;= Incompatible argument and return types for 'returned' attribute
declare void @f(...)
define void @g(ptr %p) {
  call void (...) @f(ptr returned %p)
  ret void
}

;; variable argument with sret
;= Attribute 'sret' cannot be used for vararg call arguments!
declare void @f(...)
define void @g(ptr %p) {
  call void (...) @f(ptr sret(i32) %p)
  ret void
}

;; two nested functions, one by a variable argument
;= More than one parameter has attribute nest!
declare void @f(ptr, ...)
define void @g(ptr %p) {
  call void (ptr, ...) @f(ptr nest %p, ptr nest %p)
  ret void
}

;; swifterror argument from a parameter that is none
;= swifterror argument for call has mismatched parameter
declare void @f(ptr swifterror)
define void @g(ptr %p) {
  call void @f(ptr swifterror %p)
  ret void
}

;; swifterror argument from an alloca that is none
;= swifterror argument for call has mismatched alloca
declare void @f(ptr swifterror)
define void @g() {
  %p = alloca ptr
  call void @f(ptr swifterror %p)
  ret void
}

;; swifterror argument by the callee alone
;= swifterror argument for call has mismatched alloca
declare void @f(ptr swifterror)
define void @g() {
  %p = alloca ptr
  call void @f(ptr %p)
  ret void
}

;; swifterror slot that the callee alone says it takes
;= ok
declare void @f(ptr swifterror)
define void @g() {
  %p = alloca swifterror ptr
  call void @f(ptr %p)
  ret void
}

;; preallocated argument without a bundle
;= preallocated operand either requires a preallocated bundle or the call to be musttail (but not both)
declare void @f(ptr preallocated(i32))
define void @g(ptr %p) {
  call void @f(ptr preallocated(i32) %p)
  ret void
}

;; preallocated call
;= preallocated as a call site attribute can only be on llvm.call.preallocated.arg
declare void @f()
define void @g(ptr %p) {
  call void @f() preallocated(i32)
  ret void
}

;; hidden alias for export
;= dllexport GlobalValue must have default or protected visibility
@g = global i32 0
@a = hidden dllexport alias i32, ptr @g

;; imported alias
;= Global is marked as dllimport, but not external
@g = global i32 0
@a = dllimport alias i32, ptr @g

;; hidden ifunc for export
;= dllexport GlobalValue must have default or protected visibility
define ptr @r() {
  ret ptr null
}
@a = hidden dllexport ifunc void (), ptr @r

;; imported ifunc
;= dllimport GlobalValue must have default visibility
define ptr @r() {
  ret ptr null
}
@a = protected dllimport ifunc void (), ptr @r

;; available variable in a comdat
;= Declaration may not be in a Comdat!
$c = comdat any
@g = available_externally global i32 0, comdat($c)

;; available function in a comdat
;= Declaration may not be in a Comdat!
$f = comdat any
define available_externally void @f() comdat {
  ret void
}
