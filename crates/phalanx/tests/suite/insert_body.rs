//! The body of a function in another: inlining by transactions, and what is refused.

use expect_test::{Expect, expect};
use phalanx::{
    FunctionId, Session,
    ir::{
        BlockId, BuildError,
        edit::{Inserted, Transaction},
        function::FunctionRef,
    },
    prelude::*,
};

const TEXT: &str = r#"
target triple = "nvptx64-nvidia-cuda"
@where = internal constant ptr blockaddress(@addressed, %a)
declare void @llvm.dbg.value(metadata, metadata, metadata)
declare void @own(i32)
define internal i32 @clamp(i32 %x, i32 %limit) {
entry:
  %c = icmp slt i32 %x, %limit
  br i1 %c, label %small, label %loop
small:
  call void @llvm.dbg.value(metadata i32 %x, metadata !{}, metadata !DIExpression())
  ret i32 %x
loop:
  %i = phi i32 [ %x, %entry ], [ %half, %loop ]
  %half = lshr i32 %i, 1
  %pair = insertvalue { i32, i32 } poison, i32 %half, 1
  %again = extractvalue { i32, i32 } %pair, 1
  call void @own(i32 noundef %again) #0
  %d = icmp sgt i32 %half, %limit
  br i1 %d, label %loop, label %out, !mine !0
out:
  ret i32 %half
}
define void @f(i32 %n, ptr %p) {
entry:
  %x = add i32 %n, 1
  %v = call i32 @clamp(i32 %x, i32 7)
  store i32 %v, ptr %p
  ret void
}
define i32 @addressed(i32 %x, i32 %y) {
  br label %a
a:
  ret i32 %x
}
define i32 @tail(i32 %x, i32 %y) {
  %v = musttail call i32 @clamp(i32 %x, i32 %y)
  ret i32 %v
}
define i32 @many(i32 %x, i32 %y, ...) {
  ret i32 %x
}
define i32 @unwinds(i32 %x, i32 %y) personality ptr null {
  ret i32 %x
}
define i32 @longer(i64 %x, i32 %y) {
  ret i32 %y
}
define i32 @fewer(i32 %x) {
  ret i32 %x
}
declare i32 @declared(i32, i32)
attributes #0 = { nounwind }
!0 = !{!"text"}
"#;

fn named(edit: &Transaction<'_>, name: &str) -> InstId {
    let names = &edit.extras().names;
    let mut ids = edit.body().all_ids();
    ids.find(|&i| names.inst(i) == Some(name.as_bytes())).expect("an instruction has the name")
}

/// Inlines the call `%v` as if it called another function.
fn inline(edit: &mut Transaction<'_>, callee: FunctionRef<'_>) -> Result<(), BuildError> {
    inline_by(edit, |edit, args, exit| edit.insert_body(callee, args, exit))
}

fn inline_by(
    edit: &mut Transaction<'_>,
    insert: impl FnOnce(&mut Transaction<'_>, &[Value], BlockId) -> Result<Inserted, BuildError>,
) -> Result<(), BuildError> {
    let call = named(edit, "v");
    let args = edit.body().call_args(call).to_vec();
    let block = edit.body().block_of(call).expect("it is in a block");
    let next = edit.body().next(call).expect("a call is no terminator");
    let exit = edit.split_before(next, "exit")?;
    let inserted = insert(edit, &args, exit)?;
    edit.redirect_edge(block, 0, inserted.entry)?;
    let ty = edit.body().inst(call).ty;
    let result = edit.at_start(exit).phi(ty)?;
    for (from, value) in inserted.returns {
        let phi = result.as_inst().expect("it is an instruction");
        edit.add_phi_input(phi, value.expect("it returns something"), from)?;
    }
    edit.replace(call, result)
}

fn session() -> (Session, ModuleId, FunctionId) {
    let mut session = Session::new();
    let module = session.read(TEXT.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    let f = session.function(module, "f").expect("it is defined");
    (session, module, f)
}

fn print(session: &Session, module: ModuleId) -> String {
    String::from_utf8(session.print(module)).expect("it is UTF-8")
}

#[test]
fn a_call_is_inlined() {
    let (mut session, module, f) = session();
    session.divergence(f);
    let callee = session.function(module, "clamp").expect("it is defined");
    let callee = session.code(callee).to_function();
    session.edit(f, |edit| inline(edit, callee.view())).expect("it can be inlined");
    let text = print(&session, module);
    let from = text.find("define void @f").expect("it is there");
    let to = from + text[from..].find("\n}").expect("it ends");
    expect![[r#"
        define void @f(i32 %n, ptr %p) {
        entry:
          %x = add i32 %n, 1
          br label %entry1

        exit:                                             ; preds = %out, %small
          %v = phi i32 [ %x, %small ], [ %half, %out ]
          store i32 %v, ptr %p, align 4
          ret void

        entry1:                                           ; preds = %entry
          %c = icmp slt i32 %x, 7
          br i1 %c, label %small, label %loop

        small:                                            ; preds = %entry1
          call void @llvm.dbg.value(metadata i32 %x, metadata !0, metadata !DIExpression())
          br label %exit

        loop:                                             ; preds = %loop, %entry1
          %i = phi i32 [ %x, %entry1 ], [ %half, %loop ]
          %half = lshr i32 %i, 1
          %pair = insertvalue { i32, i32 } poison, i32 %half, 1
          %again = extractvalue { i32, i32 } %pair, 1
          call void @own(i32 noundef %again) #0
          %d = icmp sgt i32 %half, 7
          br i1 %d, label %loop, label %out, !mine !1

        out:                                              ; preds = %loop
          br label %exit"#]]
    .assert_eq(&text[from..to]);
    let mut fresh = Session::new();
    let again = fresh.read(text.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(print(&fresh, again), text);
    let g = fresh.function(again, "f").expect("it is defined");
    assert_eq!(session.cfg(f), fresh.cfg(g));
}

#[test]
fn what_is_taken_back_leaves_nothing_behind() {
    let (mut session, module, f) = session();
    let (before, text) = (session.code(f).to_function(), print(&session, module));
    let callee = session.function(module, "clamp").expect("it is defined");
    let callee = session.code(callee).to_function();
    let done = session.edit(f, |edit| {
        edit.is_used(Value::arg(0));
        inline(edit, callee.view())?;
        edit.erase(InstId::from_raw(100_000_000.into()))
    });
    assert!(done.is_err());
    assert!(session.code(f).to_function() == before);
    assert_eq!(print(&session, module), text);
}

/// What cannot stand in another function.
#[test]
fn what_is_refused() {
    let refused = |name: &str, why: Expect| {
        let (mut session, module, f) = session();
        let before = session.code(f).to_function();
        let callee = session.function(module, name).expect("it is there");
        let callee = session.code(callee).to_function();
        let done = session.edit(f, |edit| inline(edit, callee.view()));
        why.assert_eq(&done.expect_err("it is refused").to_string());
        assert!(session.code(f).to_function() == before);
    };
    refused("declared", expect!["@declared: the body is not there to be inserted"]);
    refused("addressed", expect!["@addressed: the body has a block that has its address taken"]);
    refused(
        "tail",
        expect!["@tail: the body has a `musttail` call, which must stay before its return"],
    );
    refused("many", expect!["@many: the body takes variable arguments"]);
    refused("unwinds", expect!["@unwinds: the body has another personality"]);
    refused("longer", expect!["@f: %x has another type than the parameter"]);
    refused("fewer", expect!["@fewer: the body takes another number of arguments"]);
}

const DEBUG: &str = r#"
declare void @own(i32)
define i32 @callee(i32 %x) !dbg !5 {
entry:
    #dbg_value(i32 %x, !8, !DIExpression(), !9)
  %a = add i32 %x, 1, !dbg !9
  %b = mul i32 %a, 3, !dbg !10
  %c = sub i32 %b, 2
    #dbg_assign(i32 %c, !13, !DIExpression(), !14, ptr poison, !DIExpression(), !9)
    #dbg_value(i32 %b, !13, !DIExpression(), !9)
    #dbg_label(!16, !9)
  ret i32 %c, !dbg !9
}
define i32 @unknown(i32 %x) {
  call void @own(i32 %x)
  ret i32 %x
}
define void @f(i32 %n, ptr %p) !dbg !6 {
entry:
  %v = call i32 @callee(i32 %n), !dbg !12
  store i32 %v, ptr %p
  ret void
}
define void @g(i32 %n, ptr %p) !dbg !15 {
entry:
  %v = call i32 @unknown(i32 %n), !dbg !17
  store i32 %v, ptr %p
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !4)
!4 = !{}
!5 = distinct !DISubprogram(name: "callee", file: !1, line: 1, type: !3, unit: !0)
!6 = distinct !DISubprogram(name: "f", file: !1, line: 20, type: !3, unit: !0)
!7 = distinct !DISubprogram(name: "inner", file: !1, line: 10, type: !3, unit: !0)
!8 = !DILocalVariable(name: "x", arg: 1, scope: !5, file: !1, line: 1)
!9 = !DILocation(line: 2, column: 3, scope: !5)
!10 = !DILocation(line: 11, column: 5, scope: !7, inlinedAt: !11)
!11 = distinct !DILocation(line: 3, column: 7, scope: !5)
!12 = !DILocation(line: 21, column: 9, scope: !6)
!13 = !DILocalVariable(name: "y", scope: !5, file: !1, line: 1)
!14 = distinct !DIAssignID()
!15 = distinct !DISubprogram(name: "g", file: !1, line: 30, type: !3, unit: !0)
!16 = !DILabel(scope: !5, name: "here", file: !1, line: 4)
!17 = !DILocation(line: 31, column: 1, scope: !15)
"#;

/// Inlines the call `%v` of a function, with locations. Returns the resulting function and its new
/// locations.
fn inlined_with_locations(function: &str, callee: &str) -> String {
    let mut session = Session::new();
    let module = session.read(DEBUG.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    let f = session.function(module, function).expect("it is defined");
    let callee = session.function(module, callee).expect("it is defined");
    let callee = session.code(callee).to_function();
    let code = session.code(f);
    let is_call = |inst: &InstId| code.body.inst(*inst).opcode == Opcode::Call;
    let call = code.body.all_ids().find(is_call).expect("there is a call");
    let location = code.extras.attachments_of(call).next().expect("it has a location").node;
    let database = session.database_mut();
    let locations = database
        .edit_metadata(module.input(), |metadata| metadata.inlined(callee.view(), location))
        .expect("it is a location");
    session
        .edit(f, |edit| {
            inline_by(edit, |edit, args, exit| {
                edit.insert_body_at(callee.view(), args, exit, &locations)
            })
        })
        .expect("it can be inlined");
    let text = print(&session, module);
    let again = Session::new().read(text.as_bytes()).map(drop);
    assert!(again.is_ok(), "{text}");
    let from = text.find(&format!("define void @{function}")).expect("it is there");
    let to = from + text[from..].find("\n}").expect("it ends");
    let locations = text.lines().filter(|line| line.contains("DILocation("));
    let locations: Vec<&str> = locations.collect();
    format!("{}\n}}\n{}\n", &text[from..to], locations.join("\n"))
}

/// Inlined lines stay lines of the callee; their call chain continues to the call.
#[test]
fn inlined_code_says_where_it_comes_from() {
    expect![[r#"
        define void @f(i32 %n, ptr %p) !dbg !14 {
        entry:
          br label %entry1

        exit:                                             ; preds = %entry1
          %v = phi i32 [ %c, %entry1 ]
          store i32 %v, ptr %p, align 4
          ret void

        entry1:                                           ; preds = %entry
            #dbg_value(i32 %n, !6, !DIExpression(), !15)
          %a = add i32 %n, 1, !dbg !15
          %b = mul i32 %a, 3, !dbg !17
          %c = sub i32 %b, 2
            #dbg_label(!13, !15)
          br label %exit, !dbg !15
        }
        !7 = !DILocation(line: 2, column: 3, scope: !3)
        !8 = !DILocation(line: 11, column: 5, scope: !9, inlinedAt: !10)
        !10 = distinct !DILocation(line: 3, column: 7, scope: !3)
        !15 = !DILocation(line: 2, column: 3, scope: !3, inlinedAt: !16)
        !16 = distinct !DILocation(line: 21, column: 9, scope: !14)
        !17 = !DILocation(line: 11, column: 5, scope: !9, inlinedAt: !18)
        !18 = distinct !DILocation(line: 3, column: 7, scope: !3, inlinedAt: !16)
        !20 = !DILocation(line: 31, column: 1, scope: !19)
    "#]]
    .assert_eq(&inlined_with_locations("f", "callee"));
}

/// Code without a line gets the place of the call, since a call that may be inlined needs a
/// location.
#[test]
fn code_without_lines_is_where_it_was_called() {
    expect![[r#"
        define void @g(i32 %n, ptr %p) !dbg !16 {
        entry:
          br label %0

        exit:                                             ; preds = %0
          %v = phi i32 [ %n, %0 ]
          store i32 %v, ptr %p, align 4
          ret void

        0:                                                ; preds = %entry
          call void @own(i32 %n), !dbg !17
          br label %exit, !dbg !17
        }
        !7 = !DILocation(line: 2, column: 3, scope: !3)
        !8 = !DILocation(line: 11, column: 5, scope: !9, inlinedAt: !10)
        !10 = distinct !DILocation(line: 3, column: 7, scope: !3)
        !15 = !DILocation(line: 21, column: 9, scope: !14)
        !17 = !DILocation(line: 31, column: 1, scope: !16)
    "#]]
    .assert_eq(&inlined_with_locations("g", "unknown"));
}

/// Nodes of another module are not attached.
#[test]
fn locations_of_another_module_are_refused() {
    let mut other = Session::new();
    let module = other.read(DEBUG.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    let callee = other.function(module, "callee").expect("it is defined");
    let callee = other.code(callee).to_function();
    let location = callee.extras.attachments[0].1.node;
    let locations = other
        .database_mut()
        .edit_metadata(module.input(), |metadata| metadata.inlined(callee.view(), location))
        .expect("it is a location");
    let (mut session, module, f) = session();
    let callee = session.function(module, "clamp").expect("it is defined");
    let callee = session.code(callee).to_function();
    let done = session.edit(f, |edit| {
        inline_by(edit, |edit, args, exit| {
            edit.insert_body_at(callee.view(), args, exit, &locations)
        })
    });
    let why = expect!["@f: the locations of the body are of another module"];
    why.assert_eq(&done.expect_err("it is refused").to_string());
}
