//! Metadata and debug records: what is read is written as LLVM writes it, and what LLVM refuses is
//! refused.

use crate::support;

use std::sync::Arc;

use expect_test::{Expect, expect};
use phalanx_ir::Context;
use phalanx_llvm::parse_module;
use support::{Llvm, first_difference, ours, refuse};

#[track_caller]
fn compare(source: &str, expected: &Expect, is_llvms_text: bool) {
    let written = ours(source.as_bytes()).expect("a module");
    expected.assert_eq(std::str::from_utf8(&written).expect("ASCII").trim_end());
    let Some(llvm) = Llvm::find() else { return };
    let theirs = llvm.rewrite(source.as_bytes()).expect("LLVM reads it");
    if is_llvms_text {
        assert_eq!(first_difference(&written, &theirs), None);
    }
    let again = llvm.rewrite(&written).expect("LLVM reads ours");
    assert_eq!(first_difference(&again, &theirs), None);
}

/// What we write for a text; LLVM must write the same, byte for byte.
#[track_caller]
fn check(source: &str, expected: &Expect) {
    compare(source, expected, true);
}

/// What we write for a text; LLVM writes it otherwise, but takes ours for the same.
#[track_caller]
fn check_meaning(source: &str, expected: &Expect) {
    compare(source, expected, false);
}

#[test]
fn tuples() {
    check(
        r#"@g = global i32 0
           !n = !{!0}
           !0 = !{i32 5, !"a\22\00b", null, ptr @g, !{!{}, i1 true}, !DIExpression(), [2 x i8] c"hi", !3}
           !3 = distinct !{}"#,
        &expect![[r#"
            @g = global i32 0

            !n = !{!0}

            !0 = !{i32 5, !"a\22\00b", null, ptr @g, !1, !DIExpression(), [2 x i8] c"hi", !3}
            !1 = !{!2, i1 true}
            !2 = !{}
            !3 = distinct !{}"#]],
    );
}

#[test]
fn nodes_may_be_used_before_they_are_defined_and_hold_each_other() {
    check(
        "!n = !{!2, !0}\n!0 = distinct !{!0, !1}\n!1 = !{!0, !2}\n!2 = !{!1}\n!7 = !{!7}\n!m = !{!7}",
        &expect![[r#"
            !n = !{!0, !2}
            !m = !{!3}

            !0 = !{!1}
            !1 = !{!2, !0}
            !2 = distinct !{!2, !1}
            !3 = distinct !{!3}"#]],
    );
}

#[test]
fn what_nothing_mentions_is_dropped() {
    check(
        "!0 = !{!1}\n!1 = !{}\n!n = !{!1}",
        &expect![[r#"
        !n = !{!0}

        !0 = !{}"#]],
    );
}

#[test]
fn named_metadata_of_one_name_is_joined() {
    check(
        "!a.b = !{!0, !DIExpression()}\n!c\\20d = !{}\n!a.b = !{!0, !1}\n!0 = !{}\n!1 = !{!0}",
        &expect![[r#"
            !a.b = !{!0, !DIExpression(), !0, !1}
            !c\20d = !{}

            !0 = !{}
            !1 = !{!0}"#]],
    );
}

#[test]
fn attachments_are_ordered_by_kind_and_the_last_of_a_kind_counts() {
    check(
        "define void @f() !foo !0 !foo !1 !prof !0 {
           ret void, !bar !0, !zoo !1, !range !0, !bar !1
         }
         declare !bar !0 void @g()
         @v = global i32 0, !type !0, !foo !1, !type !1
         !0 = !{i32 0}
         !1 = !{i32 1}",
        &expect![[r#"
            @v = global i32 0, !type !0, !type !1, !foo !1

            define void @f() !prof !0 !foo !0 !foo !1 {
              ret void, !range !0, !bar !1, !zoo !1
            }

            declare !bar !0 void @g()

            !0 = !{i32 0}
            !1 = !{i32 1}"#]],
    );
}

#[test]
fn metadata_as_arguments() {
    check(
        r#"define void @f(i32 %x) {
             call void @g(metadata i32 %y, metadata !"s", metadata i32 5, metadata ptr @f)
             %y = add i32 %x, 1
             call void @g(metadata !DIExpression(DW_OP_deref), metadata !DIArgList(i32 %x, i32 7))
             ret void
           }
           declare void @g(...)"#,
        &expect![[r#"
            define void @f(i32 %x) {
              call void @g(metadata i32 %y, metadata !"s", metadata i32 5, metadata ptr @f)
              %y = add i32 %x, 1
              call void @g(metadata !DIExpression(DW_OP_deref), metadata !DIArgList(i32 %x, i32 7))
              ret void
            }

            declare void @g(...)"#]],
    );
    check_meaning(
        r#"define void @f() {
             %a = call i64 @llvm.read_register.i64(metadata !0)
             %b = call i64 @llvm.read_register.i64(metadata !{!"fp"})
             ret void
           }
           declare i64 @llvm.read_register.i64(metadata)
           !0 = !{!"sp"}"#,
        &expect![[r#"
            define void @f() {
              %a = call i64 @llvm.read_register.i64(metadata !0)
              %b = call i64 @llvm.read_register.i64(metadata !1)
              ret void
            }

            declare i64 @llvm.read_register.i64(metadata)

            !0 = !{!"sp"}
            !1 = !{!"fp"}"#]],
    );
}

const FUNCTION: &str = r#"define void @f(i32 %x, ptr %p) !dbg !5 {
  %a = add i32 %x, 1
RECORDS
  ret void, !dbg !9
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "a", directory: "b")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!5 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 1, type: !6, unit: !0)
!6 = !DISubroutineType(types: !{})
!7 = !DILocalVariable(name: "v", scope: !5, file: !1, line: 2, type: !8)
!8 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!9 = !DILocation(line: 3, scope: !5)
!10 = distinct !DIAssignID()
!11 = !DILabel(scope: !5, name: "l", file: !1, line: 3)
"#;

fn with_records(records: &str) -> String {
    FUNCTION.replace("RECORDS", records)
}

#[test]
fn debug_records() {
    check(
        &with_records(
            "#dbg_value(ptr %b, !7, !DIExpression(), !9)
             %b = alloca i32, align 4, !DIAssignID !10
             #dbg_declare(ptr %p, !7, !DIExpression(DW_OP_plus_uconst, 8), !9)
             #dbg_declare_value(i32 %a, !7, !DIExpression(), !9)
             #dbg_assign(i32 %a, !7, !DIExpression(), !10, ptr %b, !DIExpression(), !9)
             #dbg_label(!11, !9)
             #dbg_value(!DIArgList(i32 %a, i32 5), !7, !DIExpression(DW_OP_LLVM_arg, 0, DW_OP_LLVM_arg, 1, DW_OP_plus), !9)
             #dbg_value(!{}, !7, !DIExpression(), !DILocation(line: 4, scope: !5))",
        ),
        &expect![[r#"
            define void @f(i32 %x, ptr %p) !dbg !3 {
              %a = add i32 %x, 1
                #dbg_value(ptr %b, !6, !DIExpression(), !8)
              %b = alloca i32, align 4, !DIAssignID !9
                #dbg_declare(ptr %p, !6, !DIExpression(DW_OP_plus_uconst, 8), !8)
                #dbg_declare_value(i32 %a, !6, !DIExpression(), !8)
                #dbg_assign(i32 %a, !6, !DIExpression(), !9, ptr %b, !DIExpression(), !8)
                #dbg_label(!10, !8)
                #dbg_value(!DIArgList(i32 %a, i32 5), !6, !DIExpression(DW_OP_LLVM_arg, 0, DW_OP_LLVM_arg, 1, DW_OP_plus), !8)
                #dbg_value(!5, !6, !DIExpression(), !11)
              ret void, !dbg !8
            }

            !llvm.dbg.cu = !{!0}
            !llvm.module.flags = !{!2}

            !0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug)
            !1 = !DIFile(filename: "a", directory: "b")
            !2 = !{i32 2, !"Debug Info Version", i32 3}
            !3 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 1, type: !4, spFlags: DISPFlagDefinition, unit: !0)
            !4 = !DISubroutineType(types: !5)
            !5 = !{}
            !6 = !DILocalVariable(name: "v", scope: !3, file: !1, line: 2, type: !7)
            !7 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
            !8 = !DILocation(line: 3, scope: !3)
            !9 = distinct !DIAssignID()
            !10 = !DILabel(scope: !3, name: "l", file: !1, line: 3)
            !11 = !DILocation(line: 4, scope: !3)"#]],
    );
}

#[test]
fn refused_debug_records() {
    let refuse = |record: &str, expected: &Expect| refuse(&with_records(record), expected);
    refuse(
        "#dbg_what(i32 %a, !7, !DIExpression(), !9)",
        &expect!["3:2: expected a kind of debug record, found `dbg_what`"],
    );
    refuse("#dbg_value(i32 %a, !7, !DIExpression())", &expect!["3:39: expected `,`, found `)`"]);
    refuse(
        "#dbg_value(i32 %a, !7, !DIExpression(), !9",
        &expect!["4:3: expected `)`, found `ret`"],
    );
    refuse(
        "#dbg_value(i32 %a, !\"v\", !DIExpression(), !9)",
        &expect![[r#"3:21: expected a metadata node: `!0`, `!{` or `!DI..(`, found `"v"`"#]],
    );
    refuse(
        "#dbg_value(i32 %a, !7, null, !9)",
        &expect!["3:24: expected a metadata node, found `null`"],
    );
    refuse(
        "#dbg_value(i32 %a, !99, !DIExpression(), !9)",
        &expect!["3:21: use of undefined metadata `!99`"],
    );
    refuse(
        "#dbg_value(i32 %none, !7, !DIExpression(), !9)",
        &expect!["3:16: use of undefined value `%none`"],
    );
    refuse(
        "#dbg_value(metadata i32 %a, !7, !DIExpression(), !9)",
        &expect!["3:12: `metadata` is the type of an argument; its value stands here alone"],
    );
    refuse("#dbg_label(!11)", &expect!["3:15: expected `,`, found `)`"]);
    refuse(
        "#dbg_value(!DIArgList(!7), !7, !DIExpression(), !9)",
        &expect!["3:23: expected a typed value, found `!`"],
    );
}

#[test]
fn fields_are_written_in_llvms_order_without_defaults() {
    check(
        r#"!n = !{!0, !1, !2, !3}
           !0 = !DILocation(scope: !5, column: 7, isImplicitCode: false, inlinedAt: null)
           !1 = distinct !DICompileUnit(splitDebugInlining: true, flags: "", file: !6, language: 12, nameTableKind: GNU)
           !2 = !DIBasicType(tag: DW_TAG_base_type, encoding: 5, name: "int", size: i32 32)
           !3 = distinct !DISubprogram(isLocal: true, isDefinition: true, isOptimized: true, virtuality: DW_VIRTUALITY_virtual, name: "f", flags: DIFlagPublic | 64)
           !5 = distinct !{}
           !6 = !DIFile(directory: "d", filename: "f")"#,
        &expect![[r#"
            !n = !{!0, !2, !4, !5}

            !0 = !DILocation(line: 0, column: 7, scope: !1)
            !1 = distinct !{}
            !2 = distinct !DICompileUnit(language: DW_LANG_C99, file: !3, isOptimized: false, runtimeVersion: 0, emissionKind: NoDebug, nameTableKind: GNU)
            !3 = !DIFile(filename: "f", directory: "d")
            !4 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
            !5 = distinct !DISubprogram(name: "f", scope: null, virtualIndex: 0, flags: DIFlagPublic | DIFlagArtificial, spFlags: DISPFlagVirtual | DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized)"#]],
    );
}

#[test]
fn numbers_of_any_size() {
    check(
        r#"!n = !{!0, !1, !2, !3, !4, !5}
           !0 = !DIEnumerator(name: "a", value: -170141183460469231731687303715884105729)
           !1 = !DIEnumerator(name: "b", value: 00018446744073709551616, isUnsigned: true)
           !2 = !DIEnumerator(name: "c", value: s0xFF)
           !3 = !DIBasicType(size: 18446744073709551615)
           !4 = !DISubrange(count: i16 -1, lowerBound: -9223372036854775808)
           !5 = !DIExpression(DW_OP_constu, 18446744073709551615, DW_OP_plus_uconst, u0x10)"#,
        &expect![[r#"
            !n = !{!0, !1, !2, !3, !4, !DIExpression(DW_OP_constu, 18446744073709551615, DW_OP_plus_uconst, 16)}

            !0 = !DIEnumerator(name: "a", value: -170141183460469231731687303715884105729)
            !1 = !DIEnumerator(name: "b", value: 18446744073709551616, isUnsigned: true)
            !2 = !DIEnumerator(name: "c", value: -1)
            !3 = !DIBasicType(size: 18446744073709551615)
            !4 = !DISubrange(count: -1, lowerBound: -9223372036854775808)"#]],
    );
}

#[test]
fn required_fields_are_written_where_llvm_forgets_them() {
    // LLVM does not read what it writes here: it leaves out fields that it demands.
    check_meaning(
        r#"!n = !{!0, !1}
           !0 = !DILabel(scope: !2, name: "", file: null, line: 0)
           !1 = !DIMacro(type: DW_MACINFO_define, name: "")
           !2 = distinct !{}"#,
        &expect![[r#"
            !n = !{!0, !2}

            !0 = !DILabel(scope: !1, name: "", file: null, line: 0)
            !1 = distinct !{}
            !2 = !DIMacro(type: DW_MACINFO_define, name: "")"#]],
    );
}

#[test]
fn refused_nodes() {
    let node = |text: &str| format!("!0 = {text}");
    refuse(&node("!DIFoo()"), &expect!["1:6: expected a kind of metadata node, found `!DIFoo`"]);
    refuse(&node("!DILocation(line: 1)"), &expect!["1:6: missing required field `scope`"]);
    refuse(&node("!DILocation(scope: null)"), &expect!["1:25: `scope` must not be null"]);
    refuse(
        &node("!DILocation(scope: !{}, lin: 3)"),
        &expect!["1:30: a `!DILocation` has no field `lin`"],
    );
    refuse(
        &node("!DILocation(scope: !{}, line: 3, line: 4)"),
        &expect!["1:39: field `line` is given twice"],
    );
    refuse(
        &node("!DILocation(scope: !{}, column: 65536)"),
        &expect!["1:38: value for `column` is too large: it goes up to 65535"],
    );
    refuse(
        &node("!DILocation(scope: !{}, line: -1)"),
        &expect!["1:36: expected an unsigned integer, found `-1`"],
    );
    refuse(
        &node("!DILocation(scope: !{} line: 1)"),
        &expect!["1:29: expected `,` or `)`, found `line:`"],
    );
    refuse(
        &node("!DIBasicType(tag: DW_TAG_foo)"),
        &expect!["1:24: expected a DWARF tag (`DW_TAG_..`), found `DW_TAG_foo`"],
    );
    refuse(
        &node("!DIBasicType(tag: DW_ATE_signed)"),
        &expect!["1:24: expected a DWARF tag (`DW_TAG_..`), found `DW_ATE_signed`"],
    );
    refuse(
        &node("!DIBasicType(flags: DIFlagZero)"),
        &expect!["1:26: expected a debug-info flag (`DIFlag..`), found `DIFlagZero`"],
    );
    refuse(
        &node("!DISubrange(count: -2)"),
        &expect!["1:25: value for `count` is too small: it goes from -1"],
    );
    refuse(&node("!DISubrange(count: null)"), &expect!["1:25: `count` must not be null"]);
    refuse(
        &node("!DIEnumerator(name: \"a\", value: -1, isUnsigned: true)"),
        &expect!["1:6: an unsigned enumerator with a negative value"],
    );
    refuse(
        &node("!DIFile(filename: \"a\", directory: \"b\", checksum: \"c\")"),
        &expect!["1:6: `checksumkind` and `checksum` must be given together"],
    );
    refuse(
        &node("!DIFile(filename: \"a\", directory: \"b\", checksumkind: CSK_None, checksum: \"\")"),
        &expect!["1:59: expected a kind of checksum, found `CSK_None`"],
    );
    refuse(
        &node("!DICompileUnit(language: DW_LANG_C, file: !{})"),
        &expect!["1:6: missing `distinct`: a `!DICompileUnit` must be distinct"],
    );
    refuse(
        &node("distinct !DICompileUnit(file: !{})"),
        &expect!["1:15: missing `language` or `sourceLanguageName`: a `!DICompileUnit` needs one"],
    );
    refuse(
        &node("distinct !DICompileUnit(language: 1, sourceLanguageName: DW_LNAME_C, file: !{})"),
        &expect!["1:15: `language` and `sourceLanguageName` exclude each other"],
    );
    refuse(
        &node("!DISubprogram(name: \"f\")"),
        &expect![
            "1:6: missing `distinct`: a `!DISubprogram` that is a definition must be distinct"
        ],
    );
    refuse(&node("!DIGlobalVariable(name: \"\")"), &expect!["1:30: `name` must not be empty"]);
    refuse(
        &node("!DIExpression(DW_OP_foo)"),
        &expect!["1:20: expected a DWARF operation (`DW_OP_..`), found `DW_OP_foo`"],
    );
    refuse(
        &node("!DIExpression(-1)"),
        &expect![
            "1:20: expected a DWARF operation (`DW_OP_..`) or an unsigned integer, found `-1`"
        ],
    );
    refuse(
        &node("!DIArgList(i32 1)"),
        &expect!["1:6: `!DIArgList` stands alone, as an operand of a call or debug record"],
    );
    refuse(
        &node("!DIAssignID()"),
        &expect!["1:6: missing `distinct`: a `!DIAssignID` must be distinct"],
    );
    refuse(&node("!\"text\""), &expect![[r#"1:7: expected `{`, found `"text"`"#]]);
    refuse(
        &node("i32 5"),
        &expect!["1:6: expected a metadata node: `!{` or `!DI..(`, found `i32`"],
    );
    refuse(&node("!{i32}"), &expect!["1:11: expected a constant of type `i32`, found `}`"]);
    refuse(&node("!{i32 %x}"), &expect!["1:12: a local name cannot be used in a constant"]);
    refuse(
        &node("!{metadata !{}}"),
        &expect!["1:8: `metadata` is the type of an argument; its value stands here alone"],
    );
    refuse(&node("!{!\"a\" !\"b\"}"), &expect!["1:13: expected `,` or `}`, found `!`"]);
    refuse(&node("!{!\"a\",}"), &expect!["1:13: expected metadata, found `}`"]);
    refuse(&node("!{!5, !4}"), &expect!["1:9: use of undefined metadata `!5`"]);
    refuse(&node("!{"), &expect!["1:8: expected metadata, found the end of the file"]);
    refuse("!0 = !{}\n!0 = !{}", &expect!["2:2: metadata `!0` is defined twice"]);
    refuse(
        "!4294967296 = !{}",
        &expect!["1:2: expected an unsigned integer of 32 bits, found `4294967296`"],
    );
    refuse("!n = !{null}", &expect!["1:8: expected `!`, found `null`"]);
    refuse("!n = !{!{}}", &expect!["1:9: expected an integer, found `{`"]);
    refuse(
        "!n = !{!DIFile(filename: \"a\", directory: \"b\")}",
        &expect!["1:8: named metadata holds numbered nodes and expressions only"],
    );
    refuse(
        "define void @f() {\n  ret void, !foo !\"a\"\n}",
        &expect![[r#"2:19: expected a metadata node: `!0`, `!{` or `!DI..(`, found `"a"`"#]],
    );
    refuse(
        "define void @f() {\n  ret void, !foo distinct !{}\n}",
        &expect!["2:18: expected a metadata node, found `distinct`"],
    );
}

#[test]
fn deep_nesting_needs_no_recursion() {
    let depth = 100_000;
    let tuples = format!("!n = !{{!0}}\n!0 = {}{}", "!{".repeat(depth), "}".repeat(depth));
    let nodes =
        format!("!0 = {}null{}", "!DIModule(name: \"a\", scope: ".repeat(depth), ")".repeat(depth));
    for source in [&tuples, &nodes] {
        let module =
            parse_module(Arc::new(Context::new()), source.as_bytes()).expect("a module").module;
        assert_eq!(module.metadata.len(), depth);
    }
    assert!(ours(tuples.as_bytes()).expect("a module").ends_with(b"!99999 = !{}\n"));
    assert!(ours(&tuples.as_bytes()[..tuples.len() - 1]).is_err());
}
