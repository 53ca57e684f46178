//! Intrinsics that are called without a declaration.

use expect_test::expect;

use crate::errors::check;

#[test]
fn one_that_there_is_not() {
    check(
        "define void @f() {\n  call void @llvm.made.up()\n  ret void\n}\n",
        &expect![[r#"
        2:13: unknown intrinsic `@llvm.made.up` [@llvm.made.up]
    "#]],
    );
}

#[test]
fn a_suffix_on_one_that_has_none() {
    check(
        "define void @f() {\n  call void @llvm.trap.i32()\n  ret void\n}\n",
        &expect![[r#"
        2:13: unknown intrinsic `@llvm.trap.i32` [@llvm.trap.i32]
    "#]],
    );
}

#[test]
fn another_signature() {
    check(
        "define void @f(i32 %a, i64 %b) {\n  call i32 @llvm.umax.i32(i32 %a, i64 %b)\n  ret void\n}\n",
        &expect![[r#"
            2:12: invalid signature of the intrinsic `@llvm.umax.i32` [@llvm.umax.i32]
        "#]],
    );
}

#[test]
fn its_own_signature_and_another() {
    check(
        "define void @f(float %a, i32 %b) {\n  call float @llvm.sqrt(float %a)\n  call i32 @llvm.sqrt(i32 %b)\n  ret void\n}\n",
        &expect![[r#"
            2:14: invalid signature of the intrinsic `@llvm.sqrt` [@llvm.sqrt]
        "#]],
    );
}

#[test]
fn an_address() {
    check(
        "define ptr @f() {\n  ret ptr @llvm.trap\n}\n",
        &expect![[r#"
        2:11: the intrinsic `@llvm.trap` is not declared, so it can only be called [@llvm.trap]
    "#]],
    );
}
