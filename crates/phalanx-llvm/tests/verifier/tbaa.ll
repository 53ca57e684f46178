; Tags of accesses by type.

;; tbaa ok
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa struct ok
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!6, !7, i64 4}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4}

;; tbaa struct bad offset
;= Offset not zero at the point of scalar access
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!6, !7, i64 5}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4}

;; tbaa struct offset past
;= Offset not zero at the point of scalar access
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!6, !7, i64 8}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4}

;; tbaa empty
;= TBAA metadata cannot have 0 operands
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{}

;; tbaa scalar fmt
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!"int", !9}
!9 = !{!"root"}

;; tbaa string
;= Access type node must be a valid scalar type
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!"a"}

;; tbaa self
;= Access type node must be a valid scalar type
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = distinct !{!0}

;; tbaa two
;= Access type node must be a valid scalar type
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7, !7}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa five
;= Struct tag metadata must have either 3 or 4 operands
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7,!7,i64 0,i64 0,i64 1}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa const
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7,!7,i64 0,i64 1}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa const2
;= Immutability part of the struct tag metadata must be either 0 or 1
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7,!7,i64 0,i64 2}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa const i32
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7,!7,i64 0,i32 1}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa offset i32
;= Access bit-width not the same as description bit-width
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7,!7,i32 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa offset str
;= Offset must be constant integer
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7,!7,!"x"}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa base null
;= crash
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{null, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa access null
;= Malformed struct tag metadata: base and access-type should be non-null and point to Metadata nodes
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7, null, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa base string
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!"a", !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa access is struct
;= Access type node must be a valid scalar type
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!6, !6, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4}

;; tbaa base scalar nonzero
;= Offset not zero at the point of scalar access
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7,!7,i64 4}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa not contained
;= Access type node must be a valid scalar type
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7, !6, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4}

;; tbaa other access
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!6, !8, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4}

;; tbaa base is root
;= Access type node must be a valid scalar type
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!9, !9, i64 0}
!9 = !{!"root"}

;; tbaa new ok
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!16,!16,i64 0,i64 4}
!9 = !{!"root"}
!17 = !{!9, i64 1, !"char"}
!16 = !{!17, i64 4, !"int"}

;; tbaa new struct
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!15,!16,i64 4,i64 4}
!9 = !{!"root"}
!17 = !{!9, i64 1, !"char"}
!16 = !{!17, i64 4, !"int"}
!15 = !{!9, i64 8, !"S", !16, i64 0, i64 4, !16, i64 4, i64 4}

;; tbaa new struct bad
;= Offset not zero at the point of scalar access
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!15,!16,i64 2,i64 4}
!9 = !{!"root"}
!17 = !{!9, i64 1, !"char"}
!16 = !{!17, i64 4, !"int"}
!15 = !{!9, i64 8, !"S", !16, i64 0, i64 4, !16, i64 4, i64 4}

;; tbaa new no size
;= Access tag metadata must have either 4 or 5 operands
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!15,!16,i64 4}
!9 = !{!"root"}
!17 = !{!9, i64 1, !"char"}
!16 = !{!17, i64 4, !"int"}
!15 = !{!9, i64 8, !"S", !16, i64 0, i64 4, !16, i64 4, i64 4}

;; tbaa new imm
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!15,!16,i64 4,i64 4,i64 1}
!9 = !{!"root"}
!17 = !{!9, i64 1, !"char"}
!16 = !{!17, i64 4, !"int"}
!15 = !{!9, i64 8, !"S", !16, i64 0, i64 4, !16, i64 4, i64 4}

;; tbaa new six
;= Access tag metadata must have either 4 or 5 operands
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!15,!16,i64 4,i64 4,i64 1,i64 1}
!9 = !{!"root"}
!17 = !{!9, i64 1, !"char"}
!16 = !{!17, i64 4, !"int"}
!15 = !{!9, i64 8, !"S", !16, i64 0, i64 4, !16, i64 4, i64 4}

;; tbaa base names only
;= Did not see access type in access path!
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!6, !7, i64 4}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S"}

;; tbaa base even
;= Offset not zero at the point of scalar access
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!6, !7, i64 4}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7}

;; tbaa base offset i32
;= Offset not zero at the point of scalar access
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!6, !7, i64 4}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i32 0}

;; tbaa base mixed widths
;= Bitwidth between the offsets and struct type entries must match
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!6, !7, i64 4}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i32 4}

;; tbaa base decreasing
;= Offsets must be increasing!
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!6, !7, i64 4}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 4, !7, i64 0}

;; tbaa base member string
;= Incorrect field entry in struct type node!
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!6, !7, i64 4}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !"x", i64 0, !7, i64 4}

;; tbaa base noname
;= Struct tag nodes have a string as their first operand
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!6, !7, i64 4}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!7, !7, i64 0, !7, i64 4}

;; tbaa base dup
;= Offset not zero at the point of scalar access
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!6, !7, i64 4}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 0}

;; tbaa base recursive
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!6, !7, i64 4}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !6, i64 0, !7, i64 4}

;; tbaa base member null
;= crash
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!6, !7, i64 4}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", null, i64 0, !7, i64 4}

;; tbaa base offset undef
;= Offset entries must be constants!
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!6, !7, i64 4}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 undef, !7, i64 4}

;; tbaa base name int
;= Struct tag nodes have a string as their first operand
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!6, !7, i64 4}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{i64 3, !7, i64 0, !7, i64 4}

;; tbaa scalar 3
;= Access type node must be a valid scalar type
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 4}

;; tbaa scalar parent string
;= Access type node must be a valid scalar type
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7, !7, i64 0}
!7 = !{!"int", !"x", i64 0}

;; tbaa scalar one
;= Access type node must be a valid scalar type
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7, !7, i64 0}
!7 = !{!"int"}

;; tbaa scalar offset i32
;= Access bit-width not the same as description bit-width
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i32 0}

;; tbaa scalar no name
;= Access tag metadata must have either 4 or 5 operands
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!8, !8, i64 0}

;; tbaa scalar cycle
;= Access type node must be a valid scalar type
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7, !7, i64 0}
!7 = !{!"int", !7, i64 0}

;; tbaa scalar two fields
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8}

;; tbaa scalar four
;= Access type node must be a valid scalar type
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0, i64 0}

;; tbaa scalar parent null
;= Access type node must be a valid scalar type
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = load i32, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7, !7, i64 0}
!7 = !{!"int", null, i64 0}

;; tbaa on %v = alloca i32, !tbaa !
;= This instruction shall not have a TBAA access tag!
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = alloca i32, !tbaa !0
  ret i32 0
}
!0 = !{!7,!7,i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa on store i32 0, ptr %p, !tb
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  store i32 0, ptr %p, !tbaa !0
  ret i32 0
}
!0 = !{!7,!7,i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa on %v = call i32 @d(ptr %p)
;= ok
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !tbaa !0
  ret i32 0
}
!0 = !{!7,!7,i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa on %v = add i32 %i, 1, !tba
;= This instruction shall not have a TBAA access tag!
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = add i32 %i, 1, !tbaa !0
  ret i32 0
}
!0 = !{!7,!7,i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa on fence seq_cst, !tbaa !0
;= This instruction shall not have a TBAA access tag!
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  fence seq_cst, !tbaa !0
  ret i32 0
}
!0 = !{!7,!7,i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa on %v = cmpxchg ptr %p, i32
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = cmpxchg ptr %p, i32 0, i32 1 seq_cst seq_cst, !tbaa !0
  ret i32 0
}
!0 = !{!7,!7,i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa on %v = atomicrmw add ptr %
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = atomicrmw add ptr %p, i32 0 seq_cst, !tbaa !0
  ret i32 0
}
!0 = !{!7,!7,i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa on %v = va_arg ptr %p, i32,
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = va_arg ptr %p, i32, !tbaa !0
  ret i32 0
}
!0 = !{!7,!7,i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}

;; tbaa on call void @llvm.memcpy.p
;= ok
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %p, i64 4, i1 false), !tbaa !0
  ret i32 0
}
!0 = !{!7,!7,i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
