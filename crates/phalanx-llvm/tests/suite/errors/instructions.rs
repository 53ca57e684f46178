//! What is said about instructions that are refused.

use super::{body, check};
use expect_test::expect;

#[test]
fn an_unknown_instruction() {
    check(
        &body("  %a = ad i32 %x, 1\n  ret i32 %a"),
        &expect![[r#"
            3:8: expected an instruction, found `ad` [ad]
              1:1: if this is no typing mistake, the text is from an LLVM newer than 22, which is what is read here: write it with tools of LLVM 22
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
