//! What is said about texts that are refused. Each is also given to `llvm-as-22`, which must refuse it too.
#![allow(clippy::disallowed_methods, reason = "tests run programs")]

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

#[test]
fn an_unknown_instruction() {
    check(
        &body("  %a = ad i32 %x, 1\n  ret i32 %a"),
        &expect![[r#"
        3:8: expected an instruction, found `ad` [ad]
    "#]],
    );
}

#[test]
fn an_operand_of_another_type() {
    check(
        &body("  %a = add i64 %x, 1\n  ret i32 0"),
        &expect![[r#"
        3:16: `%x` has type `i32`, but `i64` was expected [%x]
    "#]],
    );
}

#[test]
fn an_undefined_value() {
    check(
        &body("  %a = add i32 %b, 1\n  ret i32 %a"),
        &expect![[r#"
        3:16: use of undefined value `%b` [%b]
    "#]],
    );
}

#[test]
fn an_undefined_block() {
    check(
        &body("  br label %nowhere"),
        &expect![[r#"
        3:12: use of undefined block `%nowhere` [%nowhere]
    "#]],
    );
}

#[test]
fn a_value_as_block() {
    check(
        &body("  br label %x"),
        &expect![[r#"
        3:12: `%x` has type `i32`, but a block was expected [%x]
    "#]],
    );
}

#[test]
fn a_value_defined_twice() {
    check(
        &body("  %a = add i32 %x, 1\n  %a = add i32 %x, 2\n  ret i32 %a"),
        &expect![[r#"
        4:3: multiple definitions of local value `%a` [%a]
    "#]],
    );
}

#[test]
fn a_block_defined_twice() {
    check(
        &body("  br label %a\na:\n  ret i32 0\na:\n  ret i32 1"),
        &expect![[r#"
        6:1: redefinition of block `%a` [a:]
    "#]],
    );
}

#[test]
fn a_value_used_with_another_type() {
    check(
        &body("  %a = add i64 %b, 1\n  %b = add i32 %x, 1\n  ret i32 %b"),
        &expect![[r#"
        4:3: `%b` has type `i32`, but was used with type `i64` [%b]
          3:16: used here
    "#]],
    );
}

#[test]
fn a_number_that_goes_back() {
    check(
        &body("  %5 = add i32 %x, 1\n  %3 = add i32 %x, 2\n  ret i32 %3"),
        &expect![[r#"
        4:3: this instruction must be numbered `%6` or greater [%3]
    "#]],
    );
}

#[test]
fn a_name_for_nothing() {
    check(
        &body("  %a = store i32 %x, ptr %p\n  ret i32 0"),
        &expect![[r#"
        3:3: an instruction without a result cannot have a name [%a]
    "#]],
    );
}

#[test]
fn a_block_that_does_not_end() {
    check(
        &body("  %a = add i32 %x, 1"),
        &expect![[r#"
        4:1: expected an instruction, found `}` [}]
    "#]],
    );
}

#[test]
fn a_result_of_another_type() {
    check(
        &body("  ret i64 0"),
        &expect![[r#"
        3:7: this function returns `i32`, found `i64` [i64]
    "#]],
    );
}

#[test]
fn a_condition_that_is_no_bit() {
    check(
        &body("  br i32 %x, label %entry, label %entry"),
        &expect![[r#"
        3:6: the condition of a branch must have type `i1`, found `i32` [i32 %x]
    "#]],
    );
}

#[test]
fn a_case_that_occurs_twice() {
    check(
        &body(
            "  switch i32 %x, label %d [\n    i32 1, label %d\n    i32 1, label %d\n  ]\nd:\n  ret i32 0",
        ),
        &expect![[r#"
        5:5: duplicate case in switch [i32 1]
    "#]],
    );
}

#[test]
fn an_address_that_is_no_pointer() {
    check(
        &body("  %a = load i32, i32 %x\n  ret i32 %a"),
        &expect![[r#"
        3:18: an address must be a pointer, found `i32` [i32 %x]
    "#]],
    );
}

#[test]
fn a_value_without_size() {
    check(
        &body("  %a = load void (), ptr %p\n  ret i32 0"),
        &expect![[r#"
        3:13: a value of type `void ()` cannot be in memory: it has no size [void ()]
    "#]],
    );
}

#[test]
fn an_atomic_without_alignment() {
    check(
        &body("  %a = load atomic i32, ptr %p seq_cst\n  ret i32 %a"),
        &expect![[r#"
        3:8: an atomic access must state its alignment [load atomic i32, ptr %p seq_cst]
    "#]],
    );
}

#[test]
fn a_release_load() {
    check(
        &body("  %a = load atomic i32, ptr %p release, align 4\n  ret i32 %a"),
        &expect![[r#"
        3:32: this access cannot be `release` [release]
    "#]],
    );
}

#[test]
fn a_floating_point_add_of_integers() {
    check(
        &body("  %a = fadd i32 %x, %x\n  ret i32 %a"),
        &expect![[r#"
        3:13: `fadd` needs floating-point numbers, found `i32` [i32 %x]
    "#]],
    );
}

#[test]
fn an_index_that_is_no_integer() {
    check(
        &body("  %a = getelementptr i32, ptr %p, float %y\n  ret i32 0"),
        &expect![[r#"
        3:8: a getelementptr index must be an integer, found `float` [getelementptr i32, ptr %p, float %y]
    "#]],
    );
}

#[test]
fn a_member_that_is_not_there() {
    check(
        &body("  %a = extractvalue { i32, i32 } undef, 2\n  ret i32 %a"),
        &expect![[r#"
        3:21: invalid index 2: `{ i32, i32 }` has no such member [{ i32, i32 } undef, 2]
    "#]],
    );
}

#[test]
fn a_structure_index_that_varies() {
    check(
        &body("  %a = getelementptr { i32, i32 }, ptr %p, i32 0, i32 %x\n  ret i32 0"),
        &expect![[r#"
        3:8: invalid getelementptr index: `{ i32, i32 }` needs a constant `i32` below 2 [getelementptr { i32, i32 }, ptr %p, i32 0, i32 %x]
    "#]],
    );
}

#[test]
fn too_many_arguments() {
    check(
        &body("  %a = call i32 (i32) @f(i32 %x, i32 1)\n  ret i32 %a"),
        &expect![[r#"
        3:34: too many arguments: the function takes 1 [i32 1]
    "#]],
    );
}

#[test]
fn an_argument_of_another_type() {
    check(
        &body("  %a = call i32 (i32, ptr, float) %p(i32 %x, ptr %p, double 1.0)\n  ret i32 %a"),
        &expect![[r#"
        3:54: this argument must have type `float`, found `double` [double 1.0]
    "#]],
    );
}

#[test]
fn a_call_of_an_integer() {
    check(
        &body("  %a = call i32 %x()\n  ret i32 %a"),
        &expect![[r#"
        3:17: `%x` has type `i32`, but `ptr` was expected [%x]
    "#]],
    );
}

#[test]
fn a_predicate_that_is_none() {
    check(
        &body("  %a = icmp lt i32 %x, 1\n  ret i32 0"),
        &expect![[r#"
        3:13: expected a predicate of icmp: `eq`, `slt` ..., found `lt` [lt]
    "#]],
    );
}

#[test]
fn a_shuffle_beyond_the_end() {
    check(
        &body(
            "  %a = shufflevector <2 x i32> undef, <2 x i32> undef, <2 x i32> <i32 0, i32 4>\n  ret i32 0",
        ),
        &expect![[r#"
        3:8: invalid operands of `shufflevector`: the mask must be constant and name lanes of the two vectors [shufflevector <2 x i32> undef, <2 x i32> undef, <2 x i32> <i32 0, i32 4>]
    "#]],
    );
}

#[test]
fn assembly_with_too_few_operands() {
    check(
        &body("  call void asm \"nop\", \"r,r\"(i32 %x)\n  ret i32 0"),
        &expect![[r#"
        3:13: inline assembly with 2 inputs cannot take 1 arguments [asm]
    "#]],
    );
}

#[test]
fn fast_math_on_integers() {
    check(
        &body("  %a = select fast i1 true, i32 %x, i32 1\n  ret i32 %a"),
        &expect![[r#"
        3:8: fast-math flags need a floating-point result, found `i32` [select fast i1 true, i32 %x, i32 1]
    "#]],
    );
}
