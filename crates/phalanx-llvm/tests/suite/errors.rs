//! Messages about refused texts. Each text is also given to `llvm-as-22`, which must refuse it too.
#![allow(clippy::disallowed_methods, reason = "tests run programs")]

mod age;
mod instructions;

mod intrinsics;
mod use_lists;

use std::{fmt::Write as _, sync::Arc};

use expect_test::{Expect, expect};
use phalanx_ir::Context;
use phalanx_llvm::{line_col, parse_module};
use phalanx_testing::llvm_tools::require;

#[track_caller]
fn check(source: &str, expected: &Expect) {
    let error = parse_module(Arc::new(Context::new()), source.as_bytes())
        .expect_err("this text is refused");
    let (line, column) = error.line_col(source.as_bytes());
    let marked = &source[error.span.start as usize..error.span.end as usize];
    let mut message = format!("{line}:{column}: {} [{marked}]\n", error.message);
    for note in &error.notes {
        let (line, column) = line_col(source.as_bytes(), note.span.unwrap_or_default().start);
        let _ = writeln!(message, "  {line}:{column}: {}", note.message);
    }
    expected.assert_eq(&message);
    if let Some(assembler) = require("llvm-as") {
        let run = assembler.run(["-disable-output"], source.as_bytes()).expect("llvm-as runs");
        assert!(!run.success(), "LLVM takes this text");
    }
}

/// A function with a few values, around some instructions.
fn body(text: &str) -> String {
    format!("define i32 @f(i32 %x, ptr %p, float %y) {{\nentry:\n{text}\n}}\n")
}

#[test]
fn an_unknown_entity() {
    check(
        "foo",
        &expect![[r#"
        1:1: expected a top-level entity: a function, global, type, metadata or attribute group, found `foo` [foo]
    "#]],
    );
}

#[test]
fn summaries() {
    check(
        "^0 = ()\n",
        &expect![[r#"
        1:6: expected a kind of summary: `gv`, `module`, `typeid` .., found `(` [(]
    "#]],
    );
    check(
        "^0 = gv: (name: \"f\")\n",
        &expect![[r#"
        1:17: a summary of a global that there is not ["f"]
    "#]],
    );
}

#[test]
fn a_missing_type() {
    check(
        "@a = global 5",
        &expect![[r#"
        1:13: expected a type, found `5` [5]
    "#]],
    );
}

#[test]
fn void_where_a_value_is_needed() {
    check(
        "@a = global void undef",
        &expect![[r#"
        1:13: `void` is only allowed as the result of a function [void]
    "#]],
    );
}

#[test]
fn a_wide_integer_type() {
    check(
        "@a = global i9999999 0",
        &expect![[r#"
        1:13: an integer type has 1 to 8388608 bits [i9999999]
    "#]],
    );
}

#[test]
fn a_type_that_names_itself() {
    for (source, expected) in [
        (
            "%a = type %a",
            expect![[r#"
            1:11: only a structure type can name itself [%a]
        "#]],
        ),
        (
            "%a = type [2 x %a]",
            expect![[r#"
            1:16: only a structure type can name itself [%a]
        "#]],
        ),
        (
            "%0 = type void (%0)",
            expect![[r#"
            1:17: only a structure type can name itself [%0]
        "#]],
        ),
        (
            "%a = type %b\n%b = type %a",
            expect![[r#"
                2:1: only a structure type can be used before its definition [%b]
                  1:11: used here
            "#]],
        ),
    ] {
        check(source, &expected);
    }
}

#[test]
fn a_pointer_with_a_star() {
    check(
        "@a = global ptr* null",
        &expect![[r#"
        1:16: `ptr*` is invalid: use `ptr` [*]
    "#]],
    );
}

#[test]
fn an_array_of_labels() {
    check(
        "@a = external global [3 x label]",
        &expect![[r#"
            1:27: an array cannot hold elements of type `label` [label]
        "#]],
    );
}

#[test]
fn a_vector_without_elements() {
    check(
        "@a = external global <0 x i32>",
        &expect![[r#"
        1:23: a vector needs at least one element [0]
    "#]],
    );
}

#[test]
fn a_structure_that_is_not_closed() {
    check(
        "@a = external global { i32, i64",
        &expect![[r#"
        1:32: expected `}`, found the end of the file []
    "#]],
    );
}

#[test]
fn an_undefined_type() {
    check(
        "@a = external global %T",
        &expect![[r#"
        1:22: use of undefined type `%T` [%T]
    "#]],
    );
}

#[test]
fn a_type_defined_twice() {
    check(
        "%T = type { i32 }\n%T = type { i64 }",
        &expect![[r#"
        2:1: redefinition of type `%T` [%T]
    "#]],
    );
}

#[test]
fn a_type_that_holds_itself() {
    check(
        "%T = type { i32, [2 x %U] }\n%U = type { %T }",
        &expect![[r#"
        1:1: structure type `%T` holds itself [%T]
    "#]],
    );
}

#[test]
fn a_float_that_does_not_fit() {
    check(
        "@a = global float 0.1",
        &expect![[r#"
        1:19: floating-point constant invalid for type: `float` cannot hold exactly this number [0.1]
    "#]],
    );
}

#[test]
fn an_integer_as_float() {
    check(
        "@a = global float 1",
        &expect![[r#"
        1:19: an integer constant must have integer type, not `float` [1]
    "#]],
    );
}

#[test]
fn a_constant_of_another_type() {
    check(
        "@a = global [2 x i8] c\"abc\"",
        &expect![[r#"
        1:22: expected a constant of type `[2 x i8]`, found one of type `[3 x i8]` [c"abc"]
    "#]],
    );
}

#[test]
fn a_structure_element_of_another_type() {
    check(
        "@a = global { i32, i64 } { i32 1, i32 2 }",
        &expect![[r#"
        1:26: element 1 of this structure must have type `i64`, found `i32` [{ i32 1, i32 2 }]
    "#]],
    );
}

#[test]
fn too_few_structure_elements() {
    check(
        "@a = global { i32, i64 } { i32 1 }",
        &expect![[r#"
        1:26: expected a structure of 2 elements, found 1 [{ i32 1 }]
    "#]],
    );
}

#[test]
fn null_that_is_no_pointer() {
    check(
        "@a = global i32 null",
        &expect![[r#"
        1:17: `null` cannot have type `i32` [null]
    "#]],
    );
}

#[test]
fn a_dropped_constant_expression() {
    check(
        "@a = global i32 mul (i32 2, i32 3)",
        &expect![[r#"
            1:17: `mul` is not allowed as a constant expression [mul]
              1:1: this text seems to be from LLVM 19 or older: constants could be computed by more operations; assemble it with `llvm-as` of such an LLVM and run `llvm-dis` of LLVM 22 on the bitcode, which can still be read
        "#]],
    );
}

#[test]
fn an_impossible_conversion() {
    check(
        "@a = global i64 trunc (i32 5 to i64)",
        &expect![[r#"
        1:17: `trunc` cannot convert `i32` to `i64` [trunc (i32 5 to i64)]
    "#]],
    );
}

#[test]
fn an_undefined_global() {
    check(
        "@a = global ptr @b",
        &expect![[r#"
        1:17: use of undefined value `@b` [@b]
    "#]],
    );
}

#[test]
fn a_global_in_another_address_space() {
    check(
        "@a = addrspace(1) global i32 0\n@b = global ptr @a",
        &expect![[r#"
        2:17: `@a` has type `ptr addrspace(1)`, but `ptr` was expected [@a]
    "#]],
    );
}

#[test]
fn a_global_defined_twice() {
    check(
        "@a = global i32 0\n@a = global i32 1",
        &expect![[r#"
        2:1: redefinition of `@a` [@a]
          1:1: first mentioned here
    "#]],
    );
}

#[test]
fn an_undefined_comdat() {
    check(
        "@a = global i32 0, comdat($c)",
        &expect![[r#"
        1:27: use of undefined comdat `$c` [$c]
    "#]],
    );
}

#[test]
fn an_alignment_of_three() {
    check(
        "@a = global i32 0, align 3",
        &expect![[r#"
        1:26: an alignment must be a power of two [3]
    "#]],
    );
}

#[test]
fn an_unterminated_string() {
    check(
        "source_filename = \"abc",
        &expect![[r#"
        1:19: unterminated string ["abc]
    "#]],
    );
}

#[test]
fn a_local_name_outside() {
    check(
        "@a = global ptr %x",
        &expect![[r#"
        1:17: a local name cannot be used in a constant [%x]
    "#]],
    );
}

#[test]
fn hidden_and_internal() {
    check(
        "@a = internal hidden global i32 0",
        &expect![[r#"
        1:15: a symbol with local linkage must have default visibility [hidden]
    "#]],
    );
}

#[test]
fn a_declaration_with_weak_linkage() {
    check(
        "declare weak void @f()",
        &expect![[r#"
        1:9: a declaration must be `external` or `extern_weak` [weak]
    "#]],
    );
}

#[test]
fn a_function_without_blocks() {
    check(
        "define void @f() {\n}",
        &expect![[r#"
        2:1: the body of a function needs at least one block [}]
    "#]],
    );
}
