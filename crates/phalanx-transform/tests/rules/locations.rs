//! Debug locations and debug records of what moves, and of what becomes one.

use expect_test::{Expect, expect};
use phalanx_ir::metadata::{Field, MetadataId, MetadataValue, kind};

use crate::{load, print, run};

/// The function `f`, whose code is of lines 1 to 3: `!1` to `!3`. Line 2 is in a block of the
/// source, and `!4` is of a function called in line 2.
fn program(body: &str) -> String {
    format!(
        "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a, i1 %u) !dbg !10 {{
         {body}
         }}
         define i32 @callee(i32 %a) memory(none) nounwind willreturn speculatable !dbg !16 {{
           ret i32 %a
         }}
         !llvm.dbg.cu = !{{!11}}
         !llvm.module.flags = !{{!12}}
         !1 = !DILocation(line: 1, column: 7, scope: !10)
         !2 = !DILocation(line: 2, column: 7, scope: !15)
         !3 = !DILocation(line: 3, column: 7, scope: !10)
         !4 = !DILocation(line: 44, column: 7, scope: !16, inlinedAt: !2)
         !10 = distinct !DISubprogram(name: \"f\", file: !13, line: 1, type: !14, unit: !11, spFlags: DISPFlagDefinition)
         !11 = distinct !DICompileUnit(language: DW_LANG_C99, file: !13, emissionKind: FullDebug)
         !12 = !{{i32 2, !\"Debug Info Version\", i32 3}}
         !13 = !DIFile(filename: \"f.c\", directory: \"/\")
         !14 = !DISubroutineType(types: !{{}})
         !15 = distinct !DILexicalBlock(scope: !10, file: !13, line: 2)
         !16 = distinct !DISubprogram(name: \"callee\", file: !13, line: 40, type: !14, unit: !11, spFlags: DISPFlagDefinition)
         !17 = !DILocalVariable(name: \"v\", scope: !10, file: !13, line: 1, type: !18)
         !18 = !DIBasicType(name: \"int\", size: 32, encoding: DW_ATE_signed)"
    )
}

/// The lines of the instructions of `f` after a pipeline, `-` where there is none, and the records
/// about variables.
fn check(pipeline: &str, body: &str, expected: &Expect) {
    let (mut db, module) = load(&program(body));
    run(&mut db, module, pipeline);
    let definitions = module.functions(&db).iter().filter(|entry| entry.is_definition);
    let function = definitions.map(|entry| entry.input).next().unwrap();
    let (body, extras) = (function.body(&db), function.extras(&db));
    let metadata = &module.shell(&db).metadata;
    let int = |node, field| match metadata.field(node, field) {
        Some(MetadataValue::Int(value)) => value,
        _ => 0,
    };
    let place = |node: MetadataId| {
        let scope = metadata.field(node, Field::Scope).and_then(MetadataValue::as_node);
        let scope = scope.map_or(0, |scope| int(scope, Field::Line));
        format!("{}:{} in {scope}", int(node, Field::Line), int(node, Field::Column))
    };
    let mut text = String::new();
    for inst in function.flow(&db).order().iter().flat_map(|&block| body.block_insts(block)) {
        let node = extras.attachments_of(inst).find(|a| a.kind == kind::DBG).map(|a| a.node);
        let place = node.map_or_else(|| "-".to_owned(), place);
        text += &format!("{:?} {place}\n", body.inst(inst).opcode);
    }
    for line in print(&db, module).lines().filter(|line| line.contains("#dbg")) {
        text += line.trim().split(", !").next().unwrap_or_default();
        text.push('\n');
    }
    expected.assert_eq(&text);
}

#[test]
fn what_leaves_a_loop_has_no_line() {
    check(
        "licm",
        "entry:
           br label %loop, !dbg !1
         loop:
           %x = add i32 %a, 1, !dbg !2
           %y = call i32 @callee(i32 %x), !dbg !2
           store volatile i32 %y, ptr addrspace(1) %p, align 4, !dbg !2
           br i1 %u, label %loop, label %exit, !dbg !2
         exit:
           ret void, !dbg !3",
        &expect![[r#"
            Add -
            Call 0:0 in 1
            Br 1:7 in 1
            Store 2:7 in 2
            Br 2:7 in 2
            Ret 3:7 in 1
        "#]],
    );
}

#[test]
fn a_selection_has_the_line_of_the_branch() {
    check(
        "simplifycfg<select-uniform>",
        "entry:
           #dbg_value(i32 0, !17, !DIExpression(), !1)
           br i1 %u, label %then, label %exit, !dbg !1
         then:
           %y = add i32 %a, 1, !dbg !2
           #dbg_value(i32 %y, !17, !DIExpression(), !2)
           br label %exit, !dbg !2
         exit:
           %v = phi i32 [ 0, %entry ], [ %y, %then ], !dbg !3
           store i32 %v, ptr addrspace(1) %p, align 4, !dbg !3
           ret void, !dbg !3",
        &expect![[r#"
            Add -
            Select 1:7 in 1
            Store 3:7 in 1
            Ret 3:7 in 1
            #dbg_value(i32 0
            #dbg_value(i32 poison
        "#]],
    );
}

#[test]
fn what_stands_for_two_has_what_their_lines_have_in_common() {
    let sides = |one: &str, other: &str| {
        format!(
            "entry:
           br i1 %u, label %one, label %other, !dbg !1
         one:
           %b = call i64 @llvm.amdgcn.ballot.i64(i1 %u), !dbg !{one}
           call void @unknown(), !dbg !{one}
           br label %exit, !dbg !1
         other:
           %c = call i64 @llvm.amdgcn.ballot.i64(i1 %u), !dbg !{other}
           br label %exit, !dbg !3
         exit:
           %v = phi i64 [ %b, %one ], [ %c, %other ]
           store i64 %v, ptr addrspace(1) %p, align 8, !dbg !3
           ret void, !dbg !3"
        )
    };
    check(
        "move-convergent",
        &sides("1", "3"),
        &expect![[r#"
        Call 0:0 in 1
        Br 1:7 in 1
        Call 1:7 in 1
        Br 1:7 in 1
        Br 3:7 in 1
        Phi -
        Store 3:7 in 1
        Ret 3:7 in 1
    "#]],
    );
    for other in ["4", "2"] {
        check(
            "move-convergent",
            &sides("2", other),
            &expect![[r#"
        Call 2:7 in 2
        Br 1:7 in 1
        Call 2:7 in 2
        Br 1:7 in 1
        Br 3:7 in 1
        Phi -
        Store 3:7 in 1
        Ret 3:7 in 1
    "#]],
        );
    }
}

#[test]
fn a_variable_has_its_value_in_those_who_take_part() {
    check(
        "linearize",
        "entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x(), !dbg !1
           %d = icmp ult i32 %x, 7, !dbg !1
           #dbg_value(i32 0, !17, !DIExpression(), !1)
           br i1 %d, label %then, label %other, !dbg !1
         then:
           %y = add i32 %a, 1, !dbg !2
           #dbg_value(i32 %y, !17, !DIExpression(), !2)
           store i32 %y, ptr addrspace(1) %p, align 4, !dbg !2
           ret void, !dbg !2
         other:
           ret void, !dbg !3",
        &expect![[r#"
            Alloca -
            AddrSpaceCast -
            Call 1:7 in 1
            ICmp 1:7 in 1
            Br 1:7 in 1
            Add 2:7 in 2
            AddrSpaceCast -
            Select -
            Store 2:7 in 2
            Br 2:7 in 2
            Ret 0:0 in 1
            Br 3:7 in 1
            #dbg_value(i32 0
            #dbg_value(i32 poison
        "#]],
    );
}
