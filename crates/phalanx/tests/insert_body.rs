//! The body of a function in another: inlining by transactions, and what is refused.

use expect_test::{Expect, expect};
use phalanx::{
    FunctionId, Session,
    ir::{BuildError, edit::Transaction, function::FunctionRef},
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

/// Inlines the call `%v` as if it were one of another function.
fn inline(edit: &mut Transaction<'_>, callee: FunctionRef<'_>) -> Result<(), BuildError> {
    let call = named(edit, "v");
    let args = edit.body().call_args(call).to_vec();
    let block = edit.body().block_of(call).expect("it is in a block");
    let next = edit.body().next(call).expect("a call is no terminator");
    let exit = edit.split_before(next, "exit")?;
    let inserted = edit.insert_body(callee, &args, exit)?;
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
