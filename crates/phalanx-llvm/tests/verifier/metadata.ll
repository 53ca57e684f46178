; Attachments and module flags.

;; range
;= ok
define i32 @f(ptr %p) {
  %v = load i32, ptr %p, !range !0
  ret i32 %v
}
!0 = !{i32 0, i32 10}

;; range of two that wrap
;= ok
define i8 @f(ptr %p) {
  %v = load i8, ptr %p, !range !0
  ret i8 %v
}
!0 = !{i8 -10, i8 -5, i8 0, i8 10}

;; range of three, the last wraps around
;= ok
define i8 @f(ptr %p) {
  %v = load i8, ptr %p, !range !0
  ret i8 %v
}
!0 = !{i8 -10, i8 -5, i8 0, i8 10, i8 20, i8 -20}

;; range of three, the last wraps onto the first
;= Intervals are overlapping
define i8 @f(ptr %p) {
  %v = load i8, ptr %p, !range !0
  ret i8 %v
}
!0 = !{i8 -10, i8 -5, i8 0, i8 10, i8 20, i8 -8}

;; range on an add
;= Ranges are only for loads, calls and invokes!
define i32 @f(i32 %p) {
  %v = add i32 %p, %p, !range !0
  ret i32 %v
}
!0 = !{i32 0, i32 10}

;; range of another type
;= Range types must match instruction type!
define i32 @f(ptr %p) {
  %v = load i32, ptr %p, !range !0
  ret i32 %v
}
!0 = !{i64 0, i64 10}

;; range of mixed types
;= Range pair types must match!
define i32 @f(ptr %p) {
  %v = load i32, ptr %p, !range !0
  ret i32 %v
}
!0 = !{i32 0, i64 10}

;; unfinished range
;= Unfinished range!
define i32 @f(ptr %p) {
  %v = load i32, ptr %p, !range !0
  ret i32 %v
}
!0 = !{i32 0, i32 10, i32 20}

;; empty range list
;= It should have at least one range!
define i32 @f(ptr %p) {
  %v = load i32, ptr %p, !range !0
  ret i32 %v
}
!0 = !{}

;; range of equal ends
;= The upper and lower limits cannot be the same value
define i32 @f(ptr %p) {
  %v = load i32, ptr %p, !range !0
  ret i32 %v
}
!0 = !{i32 5, i32 5}

;; range of strings
;= The lower limit must be an integer!
define i32 @f(ptr %p) {
  %v = load i32, ptr %p, !range !0
  ret i32 %v
}
!0 = !{!"a", i32 5}

;; overlapping ranges
;= Intervals are overlapping
define i32 @f(ptr %p) {
  %v = load i32, ptr %p, !range !0
  ret i32 %v
}
!0 = !{i32 0, i32 10, i32 5, i32 20}

;; contiguous ranges
;= Intervals are contiguous
define i32 @f(ptr %p) {
  %v = load i32, ptr %p, !range !0
  ret i32 %v
}
!0 = !{i32 0, i32 10, i32 10, i32 20}

;; ranges out of order
;= Intervals are not in order
define i32 @f(ptr %p) {
  %v = load i32, ptr %p, !range !0
  ret i32 %v
}
!0 = !{i32 10, i32 20, i32 0, i32 5}

;; nonnull
;= ok
define ptr @f(ptr %p) {
  %v = load ptr, ptr %p, !nonnull !0
  ret ptr %v
}
!0 = !{}

;; nonnull on an integer
;= nonnull applies only to pointer types
define i32 @f(ptr %p) {
  %v = load i32, ptr %p, !nonnull !0
  ret i32 %v
}
!0 = !{}

;; nonnull on a call
;= nonnull applies only to load instructions, use attributes for calls or invokes
declare ptr @g()
define ptr @f() {
  %v = call ptr @g(), !nonnull !0
  ret ptr %v
}
!0 = !{}

;; nonnull with an operand
;= nonnull metadata must be empty
define ptr @f(ptr %p) {
  %v = load ptr, ptr %p, !nonnull !0
  ret ptr %v
}
!0 = !{i32 1}

;; align
;= ok
define ptr @f(ptr %p) {
  %v = load ptr, ptr %p, !align !0
  ret ptr %v
}
!0 = !{i64 16}

;; align of three
;= align metadata value must be a power of 2!
define ptr @f(ptr %p) {
  %v = load ptr, ptr %p, !align !0
  ret ptr %v
}
!0 = !{i64 3}

;; align of i32
;= align metadata value must be an i64!
define ptr @f(ptr %p) {
  %v = load ptr, ptr %p, !align !0
  ret ptr %v
}
!0 = !{i32 16}

;; dereferenceable
;= ok
define ptr @f(ptr %p) {
  %v = load ptr, ptr %p, !dereferenceable !0
  ret ptr %v
}
!0 = !{i64 16}

;; dereferenceable of i32
;= dereferenceable, dereferenceable_or_null metadata value must be an i64!
define ptr @f(ptr %p) {
  %v = load ptr, ptr %p, !dereferenceable !0
  ret ptr %v
}
!0 = !{i32 16}

;; dereferenceable_or_null on a select
;= dereferenceable, dereferenceable_or_null apply only to load and inttoptr instructions, use attributes for calls or invokes
define ptr @f(i1 %c, ptr %p) {
  %v = select i1 %c, ptr %p, ptr null, !dereferenceable_or_null !0
  ret ptr %v
}
!0 = !{i64 16}

;; fpmath
;= ok
define float @f(float %x) {
  %v = fdiv float %x, %x, !fpmath !0
  ret float %v
}
!0 = !{float 2.5}

;; fpmath of a double
;= fpmath accuracy must have float type
define float @f(float %x) {
  %v = fdiv float %x, %x, !fpmath !0
  ret float %v
}
!0 = !{double 2.5}

;; fpmath of zero
;= fpmath accuracy not a positive number!
define float @f(float %x) {
  %v = fdiv float %x, %x, !fpmath !0
  ret float %v
}
!0 = !{float 0.0}

;; fpmath of an integer
;= invalid fpmath accuracy!
define float @f(float %x) {
  %v = fdiv float %x, %x, !fpmath !0
  ret float %v
}
!0 = !{i32 1}

;; fpmath on an add
;= fpmath requires a floating point result!
define i32 @f(i32 %x) {
  %v = add i32 %x, %x, !fpmath !0
  ret i32 %v
}
!0 = !{float 2.5}

;; fpmath of two
;= fpmath takes one operand!
define float @f(float %x) {
  %v = fdiv float %x, %x, !fpmath !0
  ret float %v
}
!0 = !{float 2.5, float 2.5}

;; invariant.group on an add
;= invariant.group metadata is only for loads and stores
define i32 @f(i32 %x) {
  %v = add i32 %x, %x, !invariant.group !0
  ret i32 %v
}
!0 = !{}

;; dbg that is no location
;= ok
define i32 @f(i32 %x) {
  %v = add i32 %x, %x, !dbg !0
  ret i32 %v
}
!0 = !{}

;; unknown attachments
;= ok
define i32 @f(i32 %x) {
  %v = add i32 %x, %x, !phalanx.note !0, !amdgpu.noclobber !0
  ret i32 %v
}
!0 = !{}

;; module flag twice
;= module flag identifiers must be unique (or of 'require' type)
!llvm.module.flags = !{!0, !1}
!0 = !{i32 1, !"a", i32 4}
!1 = !{i32 1, !"a", i32 4}

;; module flag of two operands
;= incorrect number of operands in module flag
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"a"}

;; module flag of an unknown behaviour
;= invalid behavior operand in module flag (unexpected constant)
!llvm.module.flags = !{!0}
!0 = !{i32 9, !"a", i32 4}

;; module flag of a behaviour that is a string
;= invalid behavior operand in module flag (expected constant integer)
!llvm.module.flags = !{!0}
!0 = !{!"1", !"a", i32 4}

;; module flag without name
;= invalid ID operand in module flag (expected metadata string)
!llvm.module.flags = !{!0}
!0 = !{i32 1, i32 5, i32 4}

;; module flag with a maximum that is a string
;= invalid value for 'max' module flag (expected constant integer)
!llvm.module.flags = !{!0}
!0 = !{i32 7, !"a", !"b"}

;; module flag with a minimum that is a string
;= invalid value for 'min' module flag (expected constant non-negative integer)
!llvm.module.flags = !{!0}
!0 = !{i32 8, !"a", !"b"}

;; module flag to append a number
;= invalid value for 'append'-type module flag (expected a metadata node)
!llvm.module.flags = !{!0}
!0 = !{i32 5, !"a", i32 7}

;; module flag that requires another
;= ok
!llvm.module.flags = !{!0, !1}
!0 = !{i32 1, !"a", i32 4}
!1 = !{i32 3, !"b", !2}
!2 = !{!"a", i32 4}

;; module flag that requires another of another value
;= invalid requirement on flag, flag does not have the required value
!llvm.module.flags = !{!0, !1}
!0 = !{i32 1, !"a", i32 4}
!1 = !{i32 3, !"b", !2}
!2 = !{!"a", i32 5}

;; module flag that requires one that is not there
;= invalid requirement on flag, flag is not present in module
!llvm.module.flags = !{!1}
!1 = !{i32 3, !"b", !2}
!2 = !{!"a", i32 5}

;; module flag that requires a number
;= invalid value for 'require' module flag (expected metadata pair)
!llvm.module.flags = !{!1}
!1 = !{i32 3, !"b", i32 3}

;; wchar_size that is a string
;= wchar_size metadata requires constant integer argument
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"wchar_size", !"4"}

;; nofree of an address from an integer
;= ok
define ptr @f(i64 %x) {
  %p = inttoptr i64 %x to ptr, !nofree !0
  ret ptr %p
}
!0 = !{}

;; nofree of a load
;= nofree applies only to inttoptr instruction
define ptr @f(ptr %p) {
  %q = load ptr, ptr %p, !nofree !0
  ret ptr %q
}
!0 = !{}

;; nofree of a number
;= nofree applies only to pointer types
define i32 @f(ptr %p) {
  %q = load i32, ptr %p, !nofree !0
  ret i32 %q
}
!0 = !{}

;; nofree that says something
;= nofree metadata must be empty
define ptr @f(i64 %x) {
  %p = inttoptr i64 %x to ptr, !nofree !0
  ret ptr %p
}
!0 = !{i32 1}

;; expression that swaps nothing
;= invalid expression
!named = !{!0}
!0 = !DIExpression(DW_OP_swap)

;; expressions
;= ok
!named = !{!0, !1, !2, !3, !4, !5}
!0 = !DIExpression(DW_OP_constu, 1, DW_OP_swap)
!1 = !DIExpression(DW_OP_stack_value, DW_OP_LLVM_fragment, 0, 8)
!2 = !DIExpression(DW_OP_LLVM_arg, 0, DW_OP_LLVM_entry_value, 1)
!3 = !DIExpression(DW_OP_breg5, 8, DW_OP_deref, DW_OP_LLVM_convert, 16, DW_ATE_signed)
!4 = !DIExpression()
!5 = !DIExpression(DW_OP_LLVM_implicit_pointer)

;; expression without its operand
;= invalid expression
!named = !{!0}
!0 = !DIExpression(DW_OP_plus_uconst)

;; expression that goes on behind its fragment
;= invalid expression
!named = !{!0}
!0 = !DIExpression(DW_OP_LLVM_fragment, 0, 8, DW_OP_deref)

;; expression that goes on behind its value
;= invalid expression
!named = !{!0}
!0 = !DIExpression(DW_OP_stack_value, DW_OP_deref)

;; operation that LLVM does not know
;= invalid expression
!named = !{!0}
!0 = !DIExpression(DW_OP_lit5)

;; entry value that does not come first
;= invalid expression
!named = !{!0}
!0 = !DIExpression(DW_OP_deref, DW_OP_LLVM_entry_value, 1)

;; address space of a pointer type
;= ok
!named = !{!0}
!0 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: null, dwarfAddressSpace: 1)

;; address space of a member
;= DWARF address space only applies to pointer or reference types
!named = !{!0}
!0 = !DIDerivedType(tag: DW_TAG_typedef, baseType: null, dwarfAddressSpace: 1)

;; structure passed both ways
;= invalid reference flags
!named = !{!0}
!0 = !DICompositeType(tag: DW_TAG_structure_type, flags: DIFlagTypePassByReference | DIFlagTypePassByValue)

;; rank of a structure
;= rank can only appear in array type
!named = !{!0}
!0 = !DICompositeType(tag: DW_TAG_structure_type, rank: !1)
!1 = !DIExpression()

;; parameters of a template that are none
;= invalid template parameter
!named = !{!0}
!0 = !DICompositeType(tag: DW_TAG_structure_type, templateParams: !1)
!1 = !{!0}

;; range with a count and an end
;= Subrange can have any one of count or upperBound
!named = !{!0}
!0 = !DISubrange(count: 3, upperBound: 4)

;; generic range without a step
;= GenericSubrange must contain stride
!named = !{!0}
!0 = !DIGenericSubrange(lowerBound: !1, upperBound: !1)
!1 = !DIExpression()

;; compile unit that is not listed
;= DICompileUnit not listed in llvm.dbg.cu
!named = !{!0}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1)
!1 = !DIFile(filename: "a.c", directory: "/")

;; compile unit that is listed
;= ok
!llvm.dbg.cu = !{!0}
!named = !{!0}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1)
!1 = !DIFile(filename: "a.c", directory: "/")
!llvm.module.flags = !{!2}
!2 = !{i32 2, !"Debug Info Version", i32 3}

;; place in a tuple
;= ok
!llvm.dbg.cu = !{!3}
!llvm.module.flags = !{!6}
!named = !{!0}
!0 = !{!1}
!1 = !DILocation(line: 1, scope: !2)
!2 = distinct !DISubprogram(name: "f", scope: !4, file: !4, line: 1, type: !5, unit: !3)
!3 = distinct !DICompileUnit(language: DW_LANG_C99, file: !4)
!4 = !DIFile(filename: "a.c", directory: "/")
!5 = !DISubroutineType(types: !{})
!6 = !{i32 2, !"Debug Info Version", i32 3}
