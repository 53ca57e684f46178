//! What has no name is numbered in the order of its use.

use super::check_becomes;

#[test]
fn attribute_groups_are_numbered_headers_first() {
    check_becomes(
        r#"
declare void @f() #9
define void @g() "a" {
  call void @f() #4
  call void @f() nounwind
  call void @f() #9
  ret void
}
declare void @h() "c"
attributes #9 = { nounwind }
attributes #4 = { "b" }
attributes #5 = { "unused" }
"#,
        r#"
; Function Attrs: nounwind
declare void @f() #0

define void @g() #1 {
  call void @f() #3
  call void @f() #0
  call void @f() #0
  ret void
}

declare void @h() #2

attributes #0 = { nounwind }
attributes #1 = { "a" }
attributes #2 = { "c" }
attributes #3 = { "b" }
"#,
    );
}

#[test]
fn metadata_is_numbered_in_order_of_use() {
    check_becomes(
        r#"
define void @f() !foo !9 {
  ret void, !foo !7, !bar !8
}
@v = global i32 0, !foo !3
!named = !{!5, !6}
!3 = !{!"variable", !4}
!4 = !{!3}
!5 = !{!"named"}
!6 = !{!9, !5}
!7 = !{!"inst"}
!8 = distinct !{}
!9 = !{!"function"}
!10 = !{!"unused"}
"#,
        r#"
@v = global i32 0, !foo !0

define void @f() !foo !4 {
  ret void, !foo !5, !bar !6
}

!named = !{!2, !3}

!0 = !{!"variable", !1}
!1 = !{!0}
!2 = !{!"named"}
!3 = !{!4, !2}
!4 = !{!"function"}
!5 = !{!"inst"}
!6 = distinct !{}
"#,
    );
}

#[test]
fn unnamed_values_are_numbered_in_order() {
    check_becomes(
        r#"
define i32 @f(i32, ptr %p, i32) {
  %5 = add i32 %0, %1
  store i32 %5, ptr %p
  br label %9
9:
  %10 = add i32 %5, 1
  ret i32 %10
}
"#,
        r#"
define i32 @f(i32 %0, ptr %p, i32 %1) {
  %3 = add i32 %0, %1
  store i32 %3, ptr %p, align 4
  br label %4

4:                                                ; preds = %2
  %5 = add i32 %3, 1
  ret i32 %5
}
"#,
    );
}
