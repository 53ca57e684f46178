//! Orders of uses that do not fit the uses.

use expect_test::expect;

use crate::errors::{body, check};

/// An order has an index for each use.
#[test]
fn use_list_orders_of_other_uses() {
    let in_body = |order: &str| body(&format!("  %a = add i32 %x, %x\n  ret i32 %a\n  {order}"));
    let globals = "@g = global i32 0
@h = global ptr @g
@i = global ptr getelementptr (i8, ptr @g, i64 1)
@j = global ptr getelementptr (i8, ptr @g, i64 1)
define void @f() {
  br label %b
b:
  ret void
}
";
    for (source, expected) in [
        (
            in_body("uselistorder i32 %x, { 1, 0, 2 }"),
            expect![[r#"
            5:3: wrong number of indices: expected one for each of 2 uses, found 3 [uselistorder i32 %x, { 1, 0, 2 }]
        "#]],
        ),
        (
            in_body("uselistorder i32 %a, { 1, 0 }"),
            expect![[r#"
            5:3: this has one use only, and so no order of them [uselistorder i32 %a, { 1, 0 }]
        "#]],
        ),
        (
            in_body("uselistorder ptr %p, { 1, 0 }"),
            expect![[r#"
            5:3: this has no uses, and so no order of them [uselistorder ptr %p, { 1, 0 }]
        "#]],
        ),
        (
            in_body("uselistorder label %entry, { 1, 0 }"),
            expect![[r#"
            5:3: this has no uses, and so no order of them [uselistorder label %entry, { 1, 0 }]
        "#]],
        ),
        (
            globals.to_owned() + "uselistorder ptr @g, { 1, 0, 2 }",
            expect![[r#"
            10:1: wrong number of indices: expected one for each of 2 uses, found 3 [uselistorder ptr @g, { 1, 0, 2 }]
        "#]],
        ),
        (
            globals.to_owned() + "uselistorder_bb @f, %b, { 1, 0 }",
            expect![[r#"
            10:1: this has one use only, and so no order of them [uselistorder_bb @f, %b, { 1, 0 }]
        "#]],
        ),
    ] {
        check(&source, &expected);
    }
}
