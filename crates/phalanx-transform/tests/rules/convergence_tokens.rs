//! `infer-convergence-tokens`, `drop-convergence-tokens`

use expect_test::{Expect, expect};
use phalanx_llvm::ModulePrinter;
use phalanx_testing::llvm_tools;

fn text(db: &phalanx_db::Database, module: phalanx_db::ModuleInput) -> Vec<u8> {
    let views = module.functions(db).iter().map(|entry| entry.input.view(db)).collect();
    let mut text = Vec::new();
    ModulePrinter::with_functions(module.shell(db), views).module(&mut text);
    text
}

/// The functions after inference, which LLVM's verifier accepts; dropping gives them back.
fn check(functions: &str, expected: &Expect) {
    let (mut db, module) = crate::load(functions);
    let before = text(&db, module);
    crate::run(&mut db, module, "infer-convergence-tokens");
    expected.assert_eq(&crate::print(&db, module));
    if let Some(opt) = llvm_tools::require("opt") {
        let with_tokens = text(&db, module);
        let outcome = opt.run(["-passes=verify", "-disable-output", "-"], &with_tokens).unwrap();
        assert!(outcome.success(), "{}", outcome.summary());
    }
    crate::run(&mut db, module, "drop-convergence-tokens");
    assert_eq!(String::from_utf8_lossy(&text(&db, module)), String::from_utf8_lossy(&before));
}

#[test]
fn a_cycle_gets_a_heart() {
    check(
        r"define void @f(i1 %c) convergent {
entry:
  %before = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
  br label %loop
loop:
  %inside = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
  br i1 %c, label %loop, label %exit
exit:
  %after = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
  ret void
}",
        &expect![[r""]],
    );
}

#[test]
fn the_heart_of_an_inner_cycle_is_given_the_token_of_the_outer() {
    check(
        r"define void @f(i1 %c) convergent {
entry:
  br label %outer
outer:
  br label %inner
inner:
  call void @llvm.amdgcn.s.barrier()
  br i1 %c, label %inner, label %latch
latch:
  br i1 %c, label %outer, label %exit
exit:
  ret void
}",
        &expect![[r""]],
    );
}

#[test]
fn a_cycle_without_convergent_operations_gets_none() {
    check(
        r"define void @f(i1 %c) convergent {
entry:
  call void @llvm.amdgcn.s.barrier()
  br label %loop
loop:
  br i1 %c, label %loop, label %exit
exit:
  ret void
}",
        &expect![[r""]],
    );
}

#[test]
fn a_function_that_is_not_convergent_begins_with_an_anchor() {
    check(
        r"define void @f(i1 %c) {
  %vote = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
  ret void
}",
        &expect![[r""]],
    );
}

#[test]
fn operations_in_an_irreducible_cycle_get_anchors() {
    check(
        r"define void @f(i1 %c) convergent {
entry:
  br i1 %c, label %a, label %b
a:
  %one = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
  br label %b
b:
  %two = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
  br i1 %c, label %a, label %exit
exit:
  ret void
}",
        &expect![[r""]],
    );
}

/// Convergent calls keep their other bundles, attributes and names.
#[test]
fn what_else_a_call_says_stays() {
    check(
        r#"define i32 @f(i32 %n) convergent {
  %x = tail call i32 @pure(i32 noundef %n) convergent [ "note"(i32 1) ]
  ret i32 %x
}"#,
        &expect![[r""]],
    );
}

#[test]
fn controlled_functions_are_left_alone() {
    crate::check_unchanged(
        "infer-convergence-tokens",
        r#"declare token @llvm.experimental.convergence.anchor()
define void @f(i1 %c) {
  %t = call token @llvm.experimental.convergence.anchor()
  %vote = call i64 @llvm.amdgcn.ballot.i64(i1 %c) [ "convergencectrl"(token %t) ]
  ret void
}"#,
    );
}

/// Without the token both rounds would vote together.
#[test]
fn a_token_that_is_used_outside_of_its_cycle_is_not_dropped() {
    crate::check_unchanged(
        "drop-convergence-tokens",
        r#"declare token @llvm.experimental.convergence.anchor()
declare token @llvm.experimental.convergence.loop()
define void @f(i1 %c) {
entry:
  %t = call token @llvm.experimental.convergence.anchor()
  br label %loop
loop:
  %h = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %t) ]
  br i1 %c, label %loop, label %exit
exit:
  %vote = call i64 @llvm.amdgcn.ballot.i64(i1 %c) [ "convergencectrl"(token %h) ]
  ret void
}"#,
    );
}
