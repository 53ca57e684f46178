//! Constant expressions that are simpler constants read as those, and LLVM agrees.

use crate::support;

use expect_test::{Expect, expect};
use support::{Llvm, ours};

/// The initializers after reading; LLVM must print the same.
#[track_caller]
fn check(initializers: &[&str], expected: &Expect) {
    let mut text = "@g = global [4 x i32] zeroinitializer\n".to_owned();
    for (number, initializer) in initializers.iter().enumerate() {
        text += &format!("@x{number} = global {initializer}\n");
    }
    let globals = |text: &[u8]| -> String {
        let text = String::from_utf8_lossy(text).into_owned();
        text.lines()
            .filter(|line| line.starts_with("@x"))
            .map(|line| {
                line.split_once("global ").map_or(line, |(_, value)| value).to_owned() + "\n"
            })
            .collect()
    };
    let read = globals(&ours(text.as_bytes()).unwrap_or_else(|error| panic!("{error}")));
    expected.assert_eq(&read);
    if let Some(llvm) = Llvm::find() {
        let theirs = globals(&llvm.rewrite(text.as_bytes()).expect("LLVM reads the text"));
        assert_eq!(read, theirs, "LLVM reads something else");
    }
}

#[test]
fn casts_of_nothing_in_particular() {
    check(
        &[
            "i64 ptrtoint (ptr undef to i64)",
            "i64 ptrtoint (ptr poison to i64)",
            "i32 trunc (i64 undef to i32)",
            "float bitcast (i32 poison to float)",
            "i64 bitcast (<2 x i32> undef to i64)",
            "ptr addrspace(3) addrspacecast (ptr undef to ptr addrspace(3))",
        ],
        &expect![[r#"
            i64 undef
            i64 poison
            i32 undef
            float poison
            i64 undef
            ptr addrspace(3) undef
        "#]],
    );
}

#[test]
fn null_and_zero() {
    check(
        &[
            "i64 ptrtoint (ptr null to i64)",
            "i32 ptrtoint (ptr addrspace(5) null to i32)",
            "ptr inttoptr (i64 0 to ptr)",
            "ptr inttoptr (i64 5 to ptr)",
            "ptr addrspace(3) addrspacecast (ptr null to ptr addrspace(3))",
            "<2 x i32> bitcast (i64 0 to <2 x i32>)",
        ],
        &expect![[r#"
            i64 0
            i32 0
            ptr null
            ptr inttoptr (i64 5 to ptr)
            ptr addrspace(3) addrspacecast (ptr null to ptr addrspace(3))
            <2 x i32> zeroinitializer
        "#]],
    );
}

#[test]
fn numbers() {
    check(
        &[
            "i8 trunc (i64 511 to i8)",
            "float bitcast (i32 1065353216 to float)",
            "i64 bitcast (double -2.0 to i64)",
            "i16 bitcast (half 1.0 to i16)",
            "i64 add (i64 1, i64 -3)",
            "i64 sub (i64 1, i64 3)",
            "i8 xor (i8 3, i8 -1)",
            "i128 add (i128 18446744073709551615, i128 1)",
        ],
        &expect![[r#"
            i8 -1
            float 1.000000e+00
            i64 -4611686018427387904
            i16 15360
            i64 -2
            i64 -2
            i8 -4
            i128 18446744073709551616
        "#]],
    );
}

#[test]
fn neutral_elements() {
    check(
        &[
            "i64 add (i64 0, i64 ptrtoint (ptr @g to i64))",
            "i64 sub (i64 ptrtoint (ptr @g to i64), i64 0)",
            "i64 sub (i64 0, i64 ptrtoint (ptr @g to i64))",
            "i64 xor (i64 ptrtoint (ptr @g to i64), i64 0)",
            "i64 add (i64 ptrtoint (ptr @g to i64), i64 undef)",
            "i64 xor (i64 undef, i64 undef)",
            "i64 sub (i64 ptrtoint (ptr @g to i64), i64 poison)",
            "i64 sub (i64 ptrtoint (ptr @g to i64), i64 ptrtoint (ptr @g to i64))",
        ],
        &expect![[r#"
            i64 ptrtoint (ptr @g to i64)
            i64 ptrtoint (ptr @g to i64)
            i64 sub (i64 0, i64 ptrtoint (ptr @g to i64))
            i64 ptrtoint (ptr @g to i64)
            i64 undef
            i64 0
            i64 poison
            i64 sub (i64 ptrtoint (ptr @g to i64), i64 ptrtoint (ptr @g to i64))
        "#]],
    );
}

#[test]
fn casts_that_change_nothing_or_are_one() {
    check(
        &[
            "ptr bitcast (ptr @g to ptr)",
            "i32 trunc (i64 ptrtoint (ptr @g to i64) to i32)",
            "i16 trunc (i32 trunc (i64 ptrtoint (ptr @g to i64) to i32) to i16)",
            "double bitcast (<2 x i32> bitcast (i64 ptrtoint (ptr @g to i64) to <2 x i32>) to double)",
            "i64 bitcast (<2 x i32> bitcast (i64 ptrtoint (ptr @g to i64) to <2 x i32>) to i64)",
        ],
        &expect![[r#"
            ptr @g
            i32 ptrtoint (ptr @g to i32)
            i16 ptrtoint (ptr @g to i16)
            double bitcast (i64 ptrtoint (ptr @g to i64) to double)
            i64 ptrtoint (ptr @g to i64)
        "#]],
    );
}

#[test]
fn addresses() {
    check(
        &[
            "ptr getelementptr (i8, ptr @g, i64 0)",
            "ptr getelementptr ([4 x i32], ptr @g, i64 0, i64 0)",
            "ptr getelementptr ([4 x i32], ptr @g, i64 0, i64 1)",
            "ptr getelementptr (i8, ptr undef, i64 1)",
            "ptr getelementptr (i8, ptr poison, i64 1)",
            "ptr getelementptr (i8, ptr null, i64 1)",
            "ptr getelementptr inbounds inrange(0, 4) (i8, ptr @g, i64 0)",
        ],
        &expect![[r#"
            ptr @g
            ptr @g
            ptr getelementptr ([4 x i32], ptr @g, i64 0, i64 1)
            ptr undef
            ptr poison
            ptr getelementptr (i8, ptr null, i64 1)
            ptr getelementptr inbounds inrange(0, 4) (i8, ptr @g, i64 0)
        "#]],
    );
}
