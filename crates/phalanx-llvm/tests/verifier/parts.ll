; Flags, debug information and constants of modules; scalable parts of structures.

;; interposition that is no number
;= SemanticInterposition metadata requires constant integer argument
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"SemanticInterposition", !""}

;; linker options
;= 'Linker Options' named metadata no longer supported
!llvm.module.flags = !{!0}
!0 = !{i32 6, !"Linker Options", !{}}

;; linker options beside those of today
;= ok
!llvm.module.flags = !{!0}
!llvm.linker.options = !{}
!0 = !{i32 6, !"Linker Options", !{}}

;; platform without a version
;= either both or no 'aarch64-elf-pauthabi-platform' and 'aarch64-elf-pauthabi-version' module flags must be present
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"aarch64-elf-pauthabi-platform", i32 2}

;; platform and version
;= ok
!llvm.module.flags = !{!0, !1}
!0 = !{i32 1, !"aarch64-elf-pauthabi-platform", i32 2}
!1 = !{i32 1, !"aarch64-elf-pauthabi-version", i32 31}

;; counts of calls
;= ok
declare void @a()
!llvm.module.flags = !{!0}
!0 = !{i32 5, !"CG Profile", !1}
!1 = !{!2, !3}
!2 = !{ptr @a, ptr @a, i64 32}
!3 = !{ptr @a, null, i64 32}

;; counts of calls without a number
;= expected a MDNode triple
declare void @a()
!llvm.module.flags = !{!0}
!0 = !{i32 5, !"CG Profile", !1}
!1 = !{!2}
!2 = !{ptr @a, ptr @a}

;; counts of calls of a text
;= expected a Function or null
declare void @a()
!llvm.module.flags = !{!0}
!0 = !{i32 5, !"CG Profile", !1}
!1 = !{!2}
!2 = !{ptr @a, !"b", i64 1}

;; counts of calls that are no numbers
;= expected an integer constant
declare void @a()
!llvm.module.flags = !{!0}
!0 = !{i32 5, !"CG Profile", !1}
!1 = !{!2}
!2 = !{ptr @a, ptr @a, !""}

;; errno without a type
;= llvm.errno.tbaa must have at least one operand
!llvm.errno.tbaa = !{}

;; constructors in another address space
;= wrong type for intrinsic global variable
target datalayout = "P1"
declare void @f() addrspace(1)
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr null, ptr null }]

;; signed by no number
;= parser
@v = global i32 0
@p = global ptr ptrauth (ptr @v, i32 ptrtoint (ptr @v to i32))

;; signed with a number for a symbol
;= signed ptrauth constant deactivation symbol must be a global value or null
@v = global i32 0
@p = global ptr ptrauth (ptr @v, i32 0, i64 1, ptr null, ptr inttoptr (i64 16 to ptr))

;; signed with a symbol
;= ok
@v = global i32 0
@p = global ptr ptrauth (ptr @v, i32 0, i64 1, ptr null, ptr @v)

;; type by a text
;= invalid base type
!named = !{!0}
!0 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !"int")

;; elements that are missing
;= DISubprogram contains null entry in `elements` field
!named = !{!0}
!0 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "s", elements: !1)
!1 = !{null}

;; constant of a member
;= ok
!named = !{!0}
!0 = !DIDerivedType(tag: DW_TAG_member, name: "m", baseType: null, extraData: !1)
!1 = !{i32 0}

;; constants of a member
;= extraData must be ConstantAsMetadata, MDString, DIObjCProperty, or MDTuple with single ConstantAsMetadata operand
!named = !{!0}
!0 = !DIDerivedType(tag: DW_TAG_member, name: "m", baseType: null, extraData: !1)
!1 = !{i32 0, i32 1}

;; scalable parts of one type
;= ok
define void @f(ptr %p) {
  %a = load { <vscale x 1 x i32>, <vscale x 1 x i32> }, ptr %p
  ret void
}

;; scalable part beside a number
;= parser
define void @f(ptr %p) {
  %a = alloca { i32, <vscale x 1 x i32> }
  ret void
}

;; scalable part beside a number that is read
;= parser
define void @f(ptr %p) {
  %a = load { i32, <vscale x 1 x i32> }, ptr %p
  ret void
}

;; steps through scalable parts
;= parser
define void @f(ptr %p) {
  %a = getelementptr { <vscale x 1 x i32>, <vscale x 1 x i32> }, ptr %p, i32 0
  ret void
}

;; constant steps over scalable vectors
;= parser
@g = external global i32
@p = global ptr getelementptr (<vscale x 1 x i8>, ptr @g, i64 1)

;; fields by a scalable vector
;= parser
define void @f(<vscale x 2 x ptr> %a) {
  %w = getelementptr { i32, i32 }, <vscale x 2 x ptr> %a, <vscale x 2 x i32> zeroinitializer, <vscale x 2 x i32> zeroinitializer
  ret void
}

;; unit that is listed
;= ok
!llvm.module.flags = !{!2}
!llvm.dbg.cu = !{!0}
!named = !{!0}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1)
!1 = !DIFile(filename: "a", directory: "b")
!2 = !{i32 2, !"Debug Info Version", i32 3}

;; unit that is listed without a version
;= DICompileUnit not listed in llvm.dbg.cu
!llvm.dbg.cu = !{!0}
!named = !{!0}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1)
!1 = !DIFile(filename: "a", directory: "b")

;; unit in another list of LLVM's
;= DICompileUnit not listed in llvm.dbg.cu
!llvm.module.flags = !{!2}
!llvm.units = !{!0}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1)
!1 = !DIFile(filename: "a", directory: "b")
!2 = !{i32 2, !"Debug Info Version", i32 3}
