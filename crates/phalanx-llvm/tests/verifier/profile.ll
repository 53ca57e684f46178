; Profiles of instructions and functions.

;; prof br ok
;= ok
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  br i1 %c, label %a, label %b, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"branch_weights", i32 1, i32 2}

;; prof call ok
;= Wrong number of operands
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", i32 1, i32 2}

;; prof select ok
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", i32 1, i32 2}

;; prof fn ok
;= first operand should be 'function_entry_count' or 'synthetic_function_entry_count'
!0 = !{!"branch_weights", i32 1, i32 2}
define void @pp() !prof !0 { ret void }

;; prof ret ok
;= !prof branch_weights are not allowed for this instruction
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"branch_weights", i32 1, i32 2}

;; prof call expected
;= Wrong number of operands
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", !"expected", i32 1, i32 2}

;; prof select expected
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", !"expected", i32 1, i32 2}

;; prof fn expected
;= first operand should be 'function_entry_count' or 'synthetic_function_entry_count'
!0 = !{!"branch_weights", !"expected", i32 1, i32 2}
define void @pp() !prof !0 { ret void }

;; prof ret expected
;= !prof branch_weights are not allowed for this instruction
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"branch_weights", !"expected", i32 1, i32 2}

;; prof br one
;= Wrong number of operands
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  br i1 %c, label %a, label %b, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"branch_weights", i32 1}

;; prof call one
;= ok
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", i32 1}

;; prof select one
;= Wrong number of operands
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", i32 1}

;; prof fn one
;= first operand should be 'function_entry_count' or 'synthetic_function_entry_count'
!0 = !{!"branch_weights", i32 1}
define void @pp() !prof !0 { ret void }

;; prof ret one
;= !prof branch_weights are not allowed for this instruction
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"branch_weights", i32 1}

;; prof call three
;= Wrong number of operands
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", i32 1, i32 2, i32 3}

;; prof select three
;= Wrong number of operands
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", i32 1, i32 2, i32 3}

;; prof fn three
;= first operand should be 'function_entry_count' or 'synthetic_function_entry_count'
!0 = !{!"branch_weights", i32 1, i32 2, i32 3}
define void @pp() !prof !0 { ret void }

;; prof ret three
;= !prof branch_weights are not allowed for this instruction
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"branch_weights", i32 1, i32 2, i32 3}

;; prof call none
;= !prof annotations should have no less than 2 operands
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"branch_weights"}

;; prof select none
;= !prof annotations should have no less than 2 operands
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"branch_weights"}

;; prof fn none
;= !prof annotations should have no less than 2 operands
!0 = !{!"branch_weights"}
define void @pp() !prof !0 { ret void }

;; prof ret none
;= !prof annotations should have no less than 2 operands
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"branch_weights"}

;; prof call i64
;= Wrong number of operands
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", i64 1, i64 2}

;; prof select i64
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", i64 1, i64 2}

;; prof fn i64
;= first operand should be 'function_entry_count' or 'synthetic_function_entry_count'
!0 = !{!"branch_weights", i64 1, i64 2}
define void @pp() !prof !0 { ret void }

;; prof ret i64
;= !prof branch_weights are not allowed for this instruction
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"branch_weights", i64 1, i64 2}

;; prof call str
;= !prof brunch_weights operand is not a const int
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", !"a", !"b"}

;; prof select str
;= Wrong number of operands
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", !"a", !"b"}

;; prof fn str
;= first operand should be 'function_entry_count' or 'synthetic_function_entry_count'
!0 = !{!"branch_weights", !"a", !"b"}
define void @pp() !prof !0 { ret void }

;; prof ret str
;= !prof branch_weights are not allowed for this instruction
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"branch_weights", !"a", !"b"}

;; prof call empty
;= !prof annotations should have at least 1 operand
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{}

;; prof select empty
;= !prof annotations should have at least 1 operand
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{}

;; prof fn empty
;= !prof annotations should have no less than 2 operands
!0 = !{}
define void @pp() !prof !0 { ret void }

;; prof ret empty
;= !prof annotations should have at least 1 operand
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{}

;; prof call int
;= expected string with name of the !prof annotation
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{i32 1}

;; prof select int
;= expected string with name of the !prof annotation
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{i32 1}

;; prof fn int
;= !prof annotations should have no less than 2 operands
!0 = !{i32 1}
define void @pp() !prof !0 { ret void }

;; prof ret int
;= expected string with name of the !prof annotation
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{i32 1}

;; prof call int2
;= expected string with name of the !prof annotation
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{i32 1, i32 2}

;; prof select int2
;= expected string with name of the !prof annotation
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{i32 1, i32 2}

;; prof fn int2
;= expected string with name of the !prof annotation
!0 = !{i32 1, i32 2}
define void @pp() !prof !0 { ret void }

;; prof ret int2
;= expected string with name of the !prof annotation
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{i32 1, i32 2}

;; prof call VP
;= ok
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"VP", i32 0, i64 20, i64 1, i64 2}

;; prof select VP
;= VP !prof indirect call or memop size expected to be applied to CallBase instructions only
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"VP", i32 0, i64 20, i64 1, i64 2}

;; prof fn VP
;= first operand should be 'function_entry_count' or 'synthetic_function_entry_count'
!0 = !{!"VP", i32 0, i64 20, i64 1, i64 2}
define void @pp() !prof !0 { ret void }

;; prof ret VP
;= VP !prof indirect call or memop size expected to be applied to CallBase instructions only
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"VP", i32 0, i64 20, i64 1, i64 2}

;; prof call unknown
;= ok
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"unknown", !"x"}

;; prof select unknown
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"unknown", !"x"}

;; prof fn unknown
;= ok
!0 = !{!"unknown", !"x"}
define void @pp() !prof !0 { ret void }

;; prof ret unknown
;= 'unknown' !prof should only appear on instructions on which 'branch_weights' would
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"unknown", !"x"}

;; prof call unknown0
;= 'unknown' !prof should have a single additional operand
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"unknown"}

;; prof select unknown0
;= 'unknown' !prof should have a single additional operand
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"unknown"}

;; prof fn unknown0
;= !prof annotations should have no less than 2 operands
!0 = !{!"unknown"}
define void @pp() !prof !0 { ret void }

;; prof ret unknown0
;= 'unknown' !prof should only appear on instructions on which 'branch_weights' would
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"unknown"}

;; prof call unknown2
;= 'unknown' !prof should have a single additional operand
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"unknown",!"a",!"b"}

;; prof select unknown2
;= 'unknown' !prof should have a single additional operand
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"unknown",!"a",!"b"}

;; prof fn unknown2
;= 'unknown' !prof should have a single additional operand
!0 = !{!"unknown",!"a",!"b"}
define void @pp() !prof !0 { ret void }

;; prof ret unknown2
;= 'unknown' !prof should only appear on instructions on which 'branch_weights' would
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"unknown",!"a",!"b"}

;; prof call unknown int
;= 'unknown' !prof should have an additional operand of type string
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"unknown",i32 3}

;; prof select unknown int
;= 'unknown' !prof should have an additional operand of type string
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"unknown",i32 3}

;; prof fn unknown int
;= 'unknown' !prof should have an additional operand of type string
!0 = !{!"unknown",i32 3}
define void @pp() !prof !0 { ret void }

;; prof ret unknown int
;= 'unknown' !prof should only appear on instructions on which 'branch_weights' would
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"unknown",i32 3}

;; prof call unknown empty
;= the 'unknown' !prof operand should not be an empty string
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"unknown",!""}

;; prof select unknown empty
;= the 'unknown' !prof operand should not be an empty string
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"unknown",!""}

;; prof fn unknown empty
;= the 'unknown' !prof operand should not be an empty string
!0 = !{!"unknown",!""}
define void @pp() !prof !0 { ret void }

;; prof ret unknown empty
;= 'unknown' !prof should only appear on instructions on which 'branch_weights' would
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"unknown",!""}

;; prof call fec
;= expected either branch_weights or VP profile name
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"function_entry_count", i64 2}

;; prof select fec
;= expected either branch_weights or VP profile name
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"function_entry_count", i64 2}

;; prof fn fec
;= ok
!0 = !{!"function_entry_count", i64 2}
define void @pp() !prof !0 { ret void }

;; prof ret fec
;= expected either branch_weights or VP profile name
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"function_entry_count", i64 2}

;; prof call foo
;= expected either branch_weights or VP profile name
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"foo", i32 2}

;; prof select foo
;= expected either branch_weights or VP profile name
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"foo", i32 2}

;; prof fn foo
;= first operand should be 'function_entry_count' or 'synthetic_function_entry_count'
!0 = !{!"foo", i32 2}
define void @pp() !prof !0 { ret void }

;; prof ret foo
;= expected either branch_weights or VP profile name
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"foo", i32 2}

;; prof call null
;= first operand should not be null
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{null, i32 2}

;; prof select null
;= first operand should not be null
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{null, i32 2}

;; prof fn null
;= first operand should not be null
!0 = !{null, i32 2}
define void @pp() !prof !0 { ret void }

;; prof ret null
;= first operand should not be null
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{null, i32 2}

;; prof br neg
;= ok
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  br i1 %c, label %a, label %b, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"branch_weights", i32 -1, i32 2}

;; prof call neg
;= Wrong number of operands
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", i32 -1, i32 2}

;; prof select neg
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", i32 -1, i32 2}

;; prof fn neg
;= first operand should be 'function_entry_count' or 'synthetic_function_entry_count'
!0 = !{!"branch_weights", i32 -1, i32 2}
define void @pp() !prof !0 { ret void }

;; prof ret neg
;= !prof branch_weights are not allowed for this instruction
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"branch_weights", i32 -1, i32 2}

;; prof call zero
;= Wrong number of operands
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", i32 0, i32 0}

;; prof select zero
;= ok
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", i32 0, i32 0}

;; prof fn zero
;= first operand should be 'function_entry_count' or 'synthetic_function_entry_count'
!0 = !{!"branch_weights", i32 0, i32 0}
define void @pp() !prof !0 { ret void }

;; prof ret zero
;= !prof branch_weights are not allowed for this instruction
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"branch_weights", i32 0, i32 0}

;; prof call weights null
;= crash
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", null, i32 2}

;; prof select weights null
;= crash
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", null, i32 2}

;; prof fn weights null
;= first operand should be 'function_entry_count' or 'synthetic_function_entry_count'
!0 = !{!"branch_weights", null, i32 2}
define void @pp() !prof !0 { ret void }

;; prof ret weights null
;= crash
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"branch_weights", null, i32 2}

;; prof call weights expr
;= Wrong number of operands
@g = global i32 0
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", i32 ptrtoint (ptr @g to i32), i32 2}

;; prof select weights expr
;= !prof brunch_weights operand is not a const int
@g = global i32 0
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"branch_weights", i32 ptrtoint (ptr @g to i32), i32 2}

;; prof fn weights expr
;= first operand should be 'function_entry_count' or 'synthetic_function_entry_count'
@g = global i32 0

!0 = !{!"branch_weights", i32 ptrtoint (ptr @g to i32), i32 2}
define void @pp() !prof !0 { ret void }

;; prof ret weights expr
;= !prof branch_weights are not allowed for this instruction
@g = global i32 0
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"branch_weights", i32 ptrtoint (ptr @g to i32), i32 2}

;; prof call foo only
;= !prof annotations should have no less than 2 operands
declare i32 @d(ptr)
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = call i32 @d(ptr %p), !prof !0
  ret i32 0
}
!0 = !{!"foo"}

;; prof select foo only
;= !prof annotations should have no less than 2 operands
define i32 @f(ptr %p, i1 %c, i32 %i, i64 %l, float %x) {
  %v = select i1 %c, i32 1, i32 2, !prof !0
  ret i32 0
}
!0 = !{!"foo"}

;; prof fn foo only
;= !prof annotations should have no less than 2 operands
!0 = !{!"foo"}
define void @pp() !prof !0 { ret void }

;; prof ret foo only
;= !prof annotations should have no less than 2 operands
define i32 @k(ptr %p, i1 %c, i32 %i) {
entry:
  br label %h
h:
  ret i32 0, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"foo"}

;; prof fn fec ok
;= ok
!0 = !{!"function_entry_count", i64 2}
define void @pp() !prof !0 { ret void }

;; prof fn twicefec ok
;= function must have a single !prof attachment
!0 = !{!"function_entry_count", i64 2}
define void @pp() !prof !0 !prof !0 { ret void }

;; prof decl fec ok
;= function declaration may not have a !prof attachment
!0 = !{!"function_entry_count", i64 2}
declare !prof !0 void @pp()

;; prof fn imports
;= ok
!0 = !{!"function_entry_count", i64 2, i64 3}
define void @pp() !prof !0 { ret void }

;; prof fn twiceimports
;= function must have a single !prof attachment
!0 = !{!"function_entry_count", i64 2, i64 3}
define void @pp() !prof !0 !prof !0 { ret void }

;; prof decl imports
;= function declaration may not have a !prof attachment
!0 = !{!"function_entry_count", i64 2, i64 3}
declare !prof !0 void @pp()

;; prof fn synthetic
;= ok
!0 = !{!"synthetic_function_entry_count", i64 2}
define void @pp() !prof !0 { ret void }

;; prof fn twicesynthetic
;= function must have a single !prof attachment
!0 = !{!"synthetic_function_entry_count", i64 2}
define void @pp() !prof !0 !prof !0 { ret void }

;; prof decl synthetic
;= function declaration may not have a !prof attachment
!0 = !{!"synthetic_function_entry_count", i64 2}
declare !prof !0 void @pp()

;; prof fn i32
;= ok
!0 = !{!"function_entry_count", i32 2}
define void @pp() !prof !0 { ret void }

;; prof fn twicei32
;= function must have a single !prof attachment
!0 = !{!"function_entry_count", i32 2}
define void @pp() !prof !0 !prof !0 { ret void }

;; prof decl i32
;= function declaration may not have a !prof attachment
!0 = !{!"function_entry_count", i32 2}
declare !prof !0 void @pp()

;; prof fn two
;= !prof annotations should have no less than 2 operands
!0 = !{!"function_entry_count"}
define void @pp() !prof !0 { ret void }

;; prof fn twicetwo
;= !prof annotations should have no less than 2 operands
!0 = !{!"function_entry_count"}
define void @pp() !prof !0 !prof !0 { ret void }

;; prof decl two
;= !prof annotations should have no less than 2 operands
!0 = !{!"function_entry_count"}
declare !prof !0 void @pp()

;; prof fn twicenull
;= second operand should not be null
!0 = !{!"function_entry_count", null}
define void @pp() !prof !0 !prof !0 { ret void }

;; prof decl null
;= second operand should not be null
!0 = !{!"function_entry_count", null}
declare !prof !0 void @pp()

;; prof fn null2
;= ok
!0 = !{!"function_entry_count", i64 1, null}
define void @pp() !prof !0 { ret void }

;; prof fn twicenull2
;= function must have a single !prof attachment
!0 = !{!"function_entry_count", i64 1, null}
define void @pp() !prof !0 !prof !0 { ret void }

;; prof decl null2
;= function declaration may not have a !prof attachment
!0 = !{!"function_entry_count", i64 1, null}
declare !prof !0 void @pp()

;; prof fn twicestr
;= expected integer argument to function_entry_count
!0 = !{!"function_entry_count", !"x"}
define void @pp() !prof !0 !prof !0 { ret void }

;; prof decl str
;= expected integer argument to function_entry_count
!0 = !{!"function_entry_count", !"x"}
declare !prof !0 void @pp()
