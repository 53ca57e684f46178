//! Convergent operations, tokens, and divergence where tokens are used outside of their cycle.

use phalanx::prelude::*;
use phalanx::{
    analysis::convergence::{Control, TokenKind},
    target::Scope,
};

const HEAD: &str = r#"target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare void @llvm.amdgcn.s.barrier()
declare void @unknown() convergent
declare token @llvm.experimental.convergence.entry()
declare token @llvm.experimental.convergence.loop()
define amdgpu_kernel void @f(ptr addrspace(1) %out) convergent {
"#;

fn load(body: &str) -> (Session, FunctionId) {
    let (session, _, function) = load_module(body);
    (session, function)
}

fn load_module(body: &str) -> (Session, ModuleId, FunctionId) {
    let text = format!("{HEAD}{body}}}\n");
    let mut session = Session::new();
    let read = session.read(text.as_bytes());
    let module = read.unwrap_or_else(|e| panic!("{}", e.render("test", text.as_bytes())));
    let function = session.function(module, "f").expect("it is there");
    (session, module, function)
}

fn named(session: &Session, function: FunctionId, name: &str) -> InstId {
    let code = session.code(function);
    let is_named = |&inst: &InstId| code.extras.names.inst(inst) == Some(name.as_bytes());
    code.body.all_ids().find(is_named).unwrap_or_else(|| panic!("no %{name}"))
}

/// A loop that threads leave in different rounds; behind it, a ballot with the token named here.
fn behind(token: &str) -> String {
    format!(
        r#"entry:
  %token = call token @llvm.experimental.convergence.entry()
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %cont ]
  %heart = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %token) ]
  %vote = call i64 @llvm.amdgcn.ballot.i64(i1 true) [ "convergencectrl"(token %heart) ]
  %found = icmp eq i32 %i, %id
  br i1 %found, label %break, label %cont
cont:
  %next = add i32 %i, 1
  br label %loop
break:
  %late = call i64 @llvm.amdgcn.ballot.i64(i1 true) [ "convergencectrl"(token {token}) ]
  %more = add i64 %late, 1
  ret void
"#
    )
}

#[test]
fn operations_and_scopes() {
    let (session, f) = load(
        "  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %vote = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  call void @llvm.amdgcn.s.barrier()
  call void @unknown()
  ret void
",
    );
    let facts = session.convergence(f).expect("it has code");
    assert_eq!(facts.control(), Control::Uncontrolled);
    let scopes: Vec<Option<Scope>> = facts.operations().iter().map(|o| o.scope).collect();
    assert_eq!(scopes, [Some(Scope::Wave), Some(Scope::Workgroup), None]);
}

#[test]
fn tokens_hearts_and_regions() {
    let (session, f) = load(&behind("%heart"));
    let facts = session.convergence(f).expect("it has code");
    assert_eq!(facts.control(), Control::Controlled);
    let [token, heart] = facts.tokens() else { panic!("{:?}", facts.tokens()) };
    assert_eq!((token.kind, heart.kind), (TokenKind::Entry, TokenKind::Loop));
    assert_eq!(heart.given, Some(token.inst));
    let loop_ = session.cycles(f).and_then(|cycles| cycles.innermost(heart.block));
    assert_eq!((heart.heart_of, token.heart_of), (loop_, None));
    assert_eq!(heart.extends, Vec::from_iter(loop_), "it is used behind the loop");
    let (cfg, dom) = (session.cfg(f).unwrap(), session.dom_tree(f).unwrap());
    let region = |of: &phalanx::analysis::convergence::Token| {
        of.region(cfg, dom).iter().map(|block| block.index()).collect::<Vec<_>>()
    };
    // Blocks are numbered in order: entry, loop, cont, break.
    assert_eq!(region(token), [0, 1, 2], "live until the last round");
    assert_eq!(region(heart), [1, 3], "not on the way to another round");
}

#[test]
fn a_vote_with_the_token_of_a_loop_left_behind_is_divergent() {
    for (token, is_uniform) in [("%heart", false), ("%token", true)] {
        let (session, f) = load(&behind(token));
        let divergence = session.divergence(f).expect("it has code");
        for name in ["late", "more"] {
            let value = Value::inst(named(&session, f, name));
            assert_eq!(divergence.is_uniform(value, Scope::Wave), is_uniform, "{name} {token}");
        }
        let inside = Value::inst(named(&session, f, "vote"));
        assert!(divergence.is_uniform(inside, Scope::Wave), "the one in the loop is its round's");
    }
}

/// In a function that is large enough for incremental updates: an edit of the token, and an edit of
/// the control flow.
#[test]
fn repaired_answers_know_tokens() {
    let padding: String =
        (0..300).map(|n| format!("  %p{n} = add i32 %id, {n}\n")).collect::<String>();
    let text = behind("%token")
        .replace("  br label %loop\nloop:", &format!("{padding}  br label %loop\nloop:"));
    let (mut session, module, f) = load_module(&text);
    let is_uniform = |session: &Session| {
        let late = Value::inst(named(session, f, "late"));
        session.divergence(f).expect("it has code").is_uniform(late, Scope::Wave)
    };
    assert!(is_uniform(&session));
    let (late, first) = (named(&session, f, "late"), named(&session, f, "p0"));
    let (whole, heart) = (named(&session, f, "token"), named(&session, f, "heart"));
    // State is retained only from the second query on.
    session.edit(f, |edit| edit.set_operand(first, 1, edit.context().const_i32(77))).unwrap();
    assert!(is_uniform(&session));
    for (token, expected) in [(heart, false), (whole, true), (heart, false)] {
        session
            .edit(f, |edit| {
                let tag = edit.context().symbol(b"convergencectrl");
                edit.set_bundles(late, &[(tag, &[Value::inst(token)])])
            })
            .unwrap();
        assert_eq!(is_uniform(&session), expected);
    }
    // The back edge is removed: then there is no cycle, and all threads vote together.
    let code = session.code(f);
    let cont = code.body.block_of(named(&session, f, "next")).unwrap();
    let exit = code.body.block_of(late).unwrap();
    session.edit(f, |edit| edit.redirect_edge(cont, 0, exit)).unwrap();
    let warm = session.divergence(f).unwrap().mask(Value::inst(late));
    let mut fresh = Session::new();
    let read = fresh.read(&session.print(module)).unwrap();
    let g = fresh.function(read, "f").unwrap();
    let cold = fresh.divergence(g).unwrap().mask(Value::inst(named(&fresh, g, "late")));
    assert_eq!(warm, cold);
    assert!(is_uniform(&session), "without a cycle there is one group");
}
