//! Explanations of everything in the kernels of the test suite.
#![allow(clippy::disallowed_methods, reason = "tests read files")]

use std::path::Path;

use phalanx::{
    Session,
    analysis::lower::Numbering,
    db::{
        FunctionInput,
        queries::{self, CallLink, Passage},
    },
    ir::Type,
    llvm::ModulePrinter,
    prelude::*,
    report::{
        diagnostics::SourceText,
        explain::{Explainer, write_texts},
        source::NoFiles,
    },
};

/// Every possible subject.
fn subjects(session: &Session, function: FunctionId) -> Vec<Subject> {
    let code = session.code(function);
    let arguments = 0..code.header.params.len() as u32;
    let mut all: Vec<Subject> =
        arguments.map(|position| Subject::Value(Value::arg(position))).collect();
    for &block in code.flow.order() {
        all.extend([Subject::Block(block), Subject::Branch(block)]);
        for inst in code.body.block_insts(block) {
            if code.body.inst(inst).ty != Type::VOID {
                all.push(Subject::Value(Value::inst(inst)));
            }
            let operands = 0..code.body.operands(inst).len();
            all.extend(operands.map(|operand| Subject::Use { user: inst, operand }));
        }
    }
    all
}

/// Whether the analysis calls a subject divergent, without using an explanation.
fn is_divergent(session: &Session, function: FunctionId, subject: Subject, scope: Scope) -> bool {
    use phalanx::analysis::explain::Fact;
    let view = session.divergence(function).expect("it has a body");
    match queries::fact_of(session.database(), function.input(), subject) {
        None => false,
        Some(Fact::Value(value)) => view.facts().value(value).intersects(view.varying(scope)),
        Some(Fact::Use(value, user)) => {
            view.facts().at_use(value, user).intersects(view.varying(scope))
        }
        Some(Fact::Terminator(block)) => {
            view.is_divergent_branch(phalanx::ir::flow::block_of(block), scope)
        }
        Some(Fact::Block(block)) => {
            view.is_divergent_control(phalanx::ir::flow::block_of(block), scope)
        }
    }
}

/// There is a chain exactly for divergent subjects; every link has a place, a source and a sentence
/// of its kind.
#[test]
fn everything_in_the_test_suite() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test-suite/ll");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("it is there").flatten().map(|e| e.path()).collect();
    files.sort();
    let (mut chains, mut links, mut calls, mut behind) = (0, 0, 0, 0);
    for path in files.iter().filter(|path| path.extension().is_some_and(|e| e == "ll")) {
        let text = std::fs::read(path).expect("it can be read");
        let name = path.display().to_string();
        let mut session = Session::new();
        let module = session.read(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let functions: Vec<FunctionId> = session.functions(module).collect();
        let db = session.database();
        let views = module.input().functions(db).iter().map(|e| e.input.view(db)).collect();
        let printer = ModulePrinter::with_functions(module.input().shell(db), views);
        for &function in &functions {
            let explainer = Explainer::new(db, function.input(), &printer, &text);
            for subject in subjects(&session, function) {
                for scope in [Scope::Wave, Scope::Grid] {
                    let varying = views_varying(&session, function, scope);
                    let input = function.input();
                    let chain = queries::explain_through_calls(db, input, subject, varying, None);
                    hangs_together(&session, function, &chain);
                    let own = session.explain(function, subject, scope);
                    assert_eq!(own.is_empty(), chain.is_empty());
                    assert!(own.len() <= chain.len());
                    calls += chain.iter().filter(|link| link.passage != Passage::No).count();
                    let is_behind =
                        |link: &&CallLink| matches!(link.passage, Passage::Behind { .. });
                    behind += chain.iter().filter(is_behind).count();
                    let expected = is_divergent(&session, function, subject, scope);
                    assert_eq!(!chain.is_empty(), expected, "{name}: {subject:?} in the {scope:?}");
                    let Some(explanation) = explainer.explain(subject, scope) else { continue };
                    assert_eq!(explanation.steps.len(), chain.len());
                    for step in &explanation.steps {
                        assert!(step.place.line > 0, "{name}: {step:?}");
                        assert!(step.kind != "other" && !step.source.is_empty(), "{step:?}");
                    }
                    let shown = SourceText { name: "k.ll", text: &text };
                    let mut out = String::new();
                    write_texts(&[explanation], shown, &NoFiles, &mut out)
                        .expect("a string can be written to");
                    assert_eq!(out.matches("because:").count(), chain.len(), "{out}");
                    chains += usize::from(expected);
                    links += chain.len();
                }
            }
        }
    }
    assert!(chains > 500 && links > 2 * chains, "{chains} chains, {links} links");
    assert!(calls > 40, "{calls} calls are passed");
    assert!(behind > 8, "{behind} times it is in memory that a call leaves something");
}

fn views_varying(session: &Session, function: FunctionId, scope: Scope) -> SourceSet {
    session.divergence(function).map_or(SourceSet::EMPTY, |view| view.varying(scope))
}

/// Checks that each link is about what the previous link names, in the function that it names.
fn hangs_together(session: &Session, function: FunctionId, chain: &[CallLink]) {
    use phalanx::analysis::explain::{Cause, Fact};
    let db = session.database();
    let input = function.input();
    assert!(chain.first().is_none_or(|first| first.function == input));
    // Where the chain continues after it returns from a callee: the caller, and what the call
    // reads.
    let mut left: Vec<(FunctionInput, Option<Fact>)> = Vec::new();
    for pair in chain.windows(2) {
        let (this, next) = (&pair[0], &pair[1]);
        match this.passage {
            Passage::No => {
                assert_eq!(this.function, next.function);
                let antecedent = this.link.cause.antecedent();
                assert_eq!(antecedent, Some(next.link.fact), "{this:?} {next:?}");
            }
            Passage::Into(callee) | Passage::Behind { callee, .. } => {
                assert_eq!(next.function, callee);
                left.push((this.function, this.link.cause.antecedent()));
            }
            Passage::Back(site) => {
                let (caller, read) = left.pop().expect("a call was entered");
                assert_eq!((caller, caller), (site.caller, next.function));
                assert_eq!(read, Some(next.link.fact));
                assert_eq!(this.link.cause, Cause::Source);
            }
            Passage::Up(site) => {
                assert_eq!(next.function, site.caller);
                assert_eq!(this.link.cause, Cause::Source);
                let passed = site.caller.body(db).call_args(site.call)[site.position as usize];
                let numbering = Numbering::new(site.caller.header(db));
                let is_passed = match next.link.fact {
                    Fact::Value(value) | Fact::Use(value, _) => {
                        Some(value) == numbering.operand(passed)
                    }
                    _ => false,
                };
                assert!(is_passed, "{this:?} {next:?}");
            }
        }
    }
    if let Some(last) = chain.last() {
        assert_eq!((&last.link.cause, last.passage), (&Cause::Source, Passage::No));
    }
}

/// Facts are updated after edits, and so are explanations.
#[test]
fn an_explanation_after_an_edit() {
    let text = br#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) %out, i32 %n) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %sum = add i32 %id, %n
  %twice = mul i32 %sum, 2
  store i32 %twice, ptr addrspace(1) %out
  ret void
}
"#;
    let mut session = Session::new();
    let module = session.read(text).expect("it is valid");
    let kernel = session.function(module, "k").expect("it is defined");
    let entry = session.code(kernel).flow.entry().expect("it has a body");
    let insts: Vec<InstId> = session.code(kernel).body.block_insts(entry).collect();
    let twice = Subject::Value(Value::inst(insts[2]));
    assert_eq!(session.explain(kernel, twice, Scope::Wave).len(), 3);
    session
        .edit(kernel, |edit| edit.set_operand(insts[1], 0, Value::arg(1)))
        .expect("the edit is fine");
    assert_eq!(session.explain(kernel, twice, Scope::Wave).len(), 0);
}
