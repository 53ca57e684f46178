; Scopes of aliasing, access groups, named metadata.

;; alias.scope ok
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = distinct !{!2}

;; alias.scope named
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = !{!1}
!1 = distinct !{!1, !2, !"s"}
!2 = distinct !{!2, !"d"}

;; alias.scope empty
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = !{}

;; alias.scope scope direct
;= scope must have two or three operands
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = distinct !{!0, !2}
!2 = distinct !{!2}

;; alias.scope str
;= scope list must consist of MDNodes
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = !{!"a"}

;; alias.scope scope not self
;= first scope operand must be self-referential or string
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = !{!1}
!1 = !{!2, !2}
!2 = distinct !{!2}

;; alias.scope scope strname
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = !{!1}
!1 = !{!"s", !2}
!2 = !{!"d"}

;; alias.scope no domain
;= scope must have two or three operands
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = !{!1}
!1 = distinct !{!1}

;; alias.scope 4
;= scope must have two or three operands
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = !{!1}
!1 = distinct !{!1, !2, !"s", !"t"}
!2 = distinct !{!2}

;; alias.scope third int
;= third scope operand must be string (if used)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = !{!1}
!1 = distinct !{!1, !2, i32 3}
!2 = distinct !{!2}

;; alias.scope domain string
;= second scope operand must be MDNode
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = !{!1}
!1 = distinct !{!1, !"d"}

;; alias.scope domain empty
;= domain must have one or two operands
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = !{}

;; alias.scope domain 3
;= domain must have one or two operands
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = distinct !{!2, !"a", !"b"}

;; alias.scope domain second int
;= second domain operand must be string (if used)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = distinct !{!2, i32 1}

;; alias.scope domain not self
;= first domain operand must be self-referential or string
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = !{!1}

;; alias.scope int
;= scope list must consist of MDNodes
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = !{i32 1}

;; alias.scope null
;= crash
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = !{null}

;; alias.scope DI
;= domain must have one or two operands
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !alias.scope !0
  ret i32 0
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = !DIFile(filename: "a", directory: "b")

;; alias.scope on add
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = add i32 %i, 1, !alias.scope !0
  ret i32 0
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = distinct !{!2}

;; noalias on add
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = add i32 %i, 1, !noalias !0
  ret i32 0
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = distinct !{!2}

;; access.group ok
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !llvm.access.group !0
  ret i32 0
}
!0 = distinct !{}

;; access.group list
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !llvm.access.group !0
  ret i32 0
}
!0 = !{!1}
!1 = distinct !{}

;; access.group nondistinct
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !llvm.access.group !0
  ret i32 0
}
!0 = !{}

;; access.group str
;= Access scope list must consist of MDNodes
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !llvm.access.group !0
  ret i32 0
}
!0 = !{!"a"}

;; access.group list nondist
;= Access scope list contains invalid access scope
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !llvm.access.group !0
  ret i32 0
}
!0 = !{!1}
!1 = !{}

;; access.group nonempty distinct
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !llvm.access.group !0
  ret i32 0
}
!0 = distinct !{!1}
!1 = distinct !{}

;; access.group int
;= Access scope list must consist of MDNodes
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !llvm.access.group !0
  ret i32 0
}
!0 = !{i32 1}

;; named llvm.ident empty
;= incorrect number of operands in llvm.ident metadata
!llvm.ident = !{!0}
!0 = !{}

;; named llvm.ident str
;= ok
!llvm.ident = !{!0}
!0 = !{!"a"}

;; named llvm.ident int
;= invalid value for llvm.ident metadata entry operand(the operand should be a string)
!llvm.ident = !{!0}
!0 = !{i32 1}

;; named llvm.ident str2
;= incorrect number of operands in llvm.ident metadata
!llvm.ident = !{!0}
!0 = !{!"a",!"b"}

;; named llvm.ident node
;= invalid value for llvm.ident metadata entry operand(the operand should be a string)
!llvm.ident = !{!0}
!0 = !{!1}
!1 = !{!"a"}

;; named llvm.ident null
;= invalid value for llvm.ident metadata entry operand(the operand should be a string)
!llvm.ident = !{!0}
!0 = !{null}

;; named llvm.ident flag
;= incorrect number of operands in llvm.ident metadata
!llvm.ident = !{!0}
!0 = !{i32 1, !"x", i32 3}

;; named llvm.ident tbaa
;= incorrect number of operands in llvm.ident metadata
!llvm.ident = !{!0}
!0 = !{!7,!7,i64 0}
!7 = !{!"i",!8,i64 0}
!8 = !{!"r"}

;; named llvm.commandline str
;= ok
!llvm.commandline = !{!0}
!0 = !{!"a"}

;; named llvm.commandline str2
;= incorrect number of operands in llvm.commandline metadata
!llvm.commandline = !{!0}
!0 = !{!"a",!"b"}

;; named llvm.errno.tbaa empty
;= TBAA metadata cannot have 0 operands
!llvm.errno.tbaa = !{!0}
!0 = !{}

;; named llvm.errno.tbaa str
;= Old-style TBAA is no longer allowed, use struct-path TBAA instead
!llvm.errno.tbaa = !{!0}
!0 = !{!"a"}

;; named llvm.errno.tbaa int
;= Old-style TBAA is no longer allowed, use struct-path TBAA instead
!llvm.errno.tbaa = !{!0}
!0 = !{i32 1}

;; named llvm.errno.tbaa str2
;= Old-style TBAA is no longer allowed, use struct-path TBAA instead
!llvm.errno.tbaa = !{!0}
!0 = !{!"a",!"b"}

;; named llvm.errno.tbaa node
;= Old-style TBAA is no longer allowed, use struct-path TBAA instead
!llvm.errno.tbaa = !{!0}
!0 = !{!1}
!1 = !{!"a"}

;; named llvm.errno.tbaa null
;= crash
!llvm.errno.tbaa = !{!0}
!0 = !{null}

;; named llvm.errno.tbaa flag
;= Old-style TBAA is no longer allowed, use struct-path TBAA instead
!llvm.errno.tbaa = !{!0}
!0 = !{i32 1, !"x", i32 3}

;; named llvm.errno.tbaa tbaa
;= ok
!llvm.errno.tbaa = !{!0}
!0 = !{!7,!7,i64 0}
!7 = !{!"i",!8,i64 0}
!8 = !{!"r"}
