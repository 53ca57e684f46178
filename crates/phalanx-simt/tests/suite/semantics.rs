//! The examples of `test-suite/semantics`: tables of converged dynamic instances, and ballots.
#![allow(clippy::disallowed_methods, reason = "tests read files")]

use std::{fs, sync::Arc};

use expect_test::{Expect, expect};
use phalanx_graph::{Cfg, Cycles, Dfs, Node};
use phalanx_ir::{Context, InstId, flow::node_of};
use phalanx_simt::{Launch, Observer, Program, Silent, Value, observe::Moment, run, trace::Trace};
use phalanx_target::Target;
use phalanx_testing::llvm_tools::workspace_root;

fn module(name: &str) -> phalanx_ir::Module {
    let path = workspace_root().join(format!("test-suite/semantics/{name}.ll"));
    let text = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    phalanx_llvm::parse_module(Arc::new(Context::new()), &text)
        .unwrap_or_else(|e| panic!("{name}: {e}"))
        .module
}

/// The cycle hierarchy of a depth-first search that visits blocks in the order of these names
/// first.
fn hierarchy(function: &phalanx_ir::Function, cfg: &Cfg, headers: &[&str]) -> Cycles {
    let name = |node: Node| {
        let block = function.flow.order().iter().find(|&&block| node_of(block) == node).unwrap();
        String::from_utf8_lossy(function.extras.names.block(*block).unwrap_or_default())
            .into_owned()
    };
    let dfs = [Dfs::new(cfg), Dfs::last_successor_first(cfg)];
    let found = dfs.iter().map(|dfs| Cycles::with_dfs(cfg, dfs)).find(|cycles| {
        let mut found: Vec<String> = cycles.iter().map(|c| name(cycles.header(c))).collect();
        found.sort();
        found == headers
    });
    found.unwrap_or_else(|| panic!("no search of the two finds the headers {headers:?}"))
}

#[track_caller]
fn table(name: &str, threads: u32, headers: &[&str], expected: &Expect) {
    let module = module(name);
    let mut program = Program::new(&module, &Target::new("amdgcn-amd-amdhsa", "")).unwrap();
    let number = program.function(name).unwrap();
    let cycles = hierarchy(program.code(number), program.graph(number).unwrap().0, headers);
    program.set_hierarchy(number, cycles);
    let launch = Launch { block: [threads, 1, 1], ..Launch::default() };
    let mut trace = Trace::new(1000);
    let mut memory = program.memory(0).unwrap();
    run(&program, name, &launch, &mut memory, &mut trace).unwrap();
    let block_name = |function: usize, block| {
        let names = &program.code(function).extras.names;
        String::from_utf8_lossy(names.block(block).unwrap_or_default()).into_owned()
    };
    let table = trace.table(&block_name);
    expected.assert_eq(&table);
    is_in_the_docs(name, &table);
}

/// Checks that `docs/semantics.md` shows the output of an example.
#[track_caller]
fn is_in_the_docs(name: &str, shown: &str) {
    let page = fs::read_to_string(workspace_root().join("docs/semantics.md")).unwrap();
    let Some(at) = page.find(&format!("`{name}.ll`")) else { panic!("{name} is not explained") };
    let block = page[at..].split("```text\n").nth(1).and_then(|rest| rest.split("```").next());
    let words = |text: &str| text.lines().map(|l| l.trim().to_owned()).collect::<Vec<_>>();
    assert_eq!(words(block.unwrap_or_default()), words(shown), "what the page says of {name}");
}

#[test]
fn natural_loop() {
    table(
        "natural_loop",
        2,
        &["H"],
        &expect![[r#"
                      1   2   3   4   5   6   7   8   9  10    11
        thread 0  Entry  H   B   L   H       L               Exit
        thread 1  Entry  H       L   H   B   L   H   B   L   Exit
    "#]],
    );
}

#[test]
fn nested_irreducible() {
    table(
        "nested_irreducible",
        3,
        &["R", "S"],
        &expect![[r#"
                      1   2   3   4   5   6   7   8     9
        thread 0  Entry  P   Q   S   P   Q   R   S   Exit
        thread 1  Entry  P   Q               R   S   Exit
        thread 2  Entry                      R   S   Exit
    "#]],
    );
}

#[test]
fn diverged_entry_with_header_r() {
    table(
        "diverged_entry",
        2,
        &["R", "S"],
        &expect![[r#"
                      1   2   3   4   5   6   7   8   9  10  11    12
        thread 0  Entry  P   Q               R   S   P   Q   S   Exit
        thread 1  Entry  P   Q   S   P   Q   R   S               Exit
    "#]],
    );
}

#[test]
fn diverged_entry_with_header_p() {
    table(
        "diverged_entry_p",
        2,
        &["P"],
        &expect![[r#"
                      1   2   3   4   5   6   7   8   9    10
        thread 0  Entry  P   Q   R   S   P   Q   R   S   Exit
        thread 1  Entry  P   Q       S   P   Q   R   S   Exit
    "#]],
    );
}

#[test]
fn diverged_outside_with_header_p() {
    table(
        "diverged_outside_p",
        2,
        &["P"],
        &expect![[r#"
                      1   2   3   4   5   6   7   8   9  10  11    12
        thread 0  Entry          P   Q   R   S   P   Q       S   Exit
        thread 1  Entry  R   S   P   Q       S   P   Q   R   S   Exit
    "#]],
    );
}

#[test]
fn diverged_outside_with_header_r() {
    table(
        "diverged_outside_r",
        2,
        &["R", "S"],
        &expect![[r#"
                      1   2   3   4   5   6   7   8   9  10  11    12
        thread 0  Entry  P   Q   R   S   P   Q   S               Exit
        thread 1  Entry          R   S   P   Q   S   P   Q   S   Exit
    "#]],
    );
}

/// Results of ballots, each once for its group.
#[derive(Default)]
struct Ballots {
    of: Vec<InstId>,
    seen: Vec<(u32, InstId, u128)>,
}

impl Observer for Ballots {
    fn value(&mut self, at: Moment<'_>, value: &Value) {
        let entry = (at.key.number(), at.inst, value.bits().unwrap_or(0));
        if self.of.contains(&at.inst) && !self.seen.contains(&entry) {
            self.seen.push(entry);
        }
    }
}

fn ballots(name: &str) -> String {
    let module = module(name);
    let program = Program::new(&module, &Target::new("amdgcn-amd-amdhsa", "")).unwrap();
    let body = &module.function(name).unwrap().body;
    let is_call = |&inst: &InstId| body.inst(inst).opcode == phalanx_ir::Opcode::Call;
    // All calls but that of the id.
    let of = body.all_ids().filter(is_call).skip(1).collect();
    let mut watch = Ballots { of, seen: Vec::new() };
    let launch = Launch { block: [2, 1, 1], ..Launch::default() };
    run(&program, name, &launch, &mut program.memory(0).unwrap(), &mut watch).unwrap();
    watch.seen.iter().map(|(_, _, bits)| format!("{bits:02b}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn ballots_with_a_block_to_continue_at() {
    let found = ballots("ballot_continue");
    expect!["11 10 11 10"].assert_eq(&found);
    is_in_the_docs("ballot_continue", &found);
}

#[test]
fn ballots_of_the_same_loop_nested() {
    let found = ballots("ballot_nested");
    expect!["11 01 10 10 10"].assert_eq(&found);
    is_in_the_docs("ballot_nested", &found);
}

#[test]
fn ballots_of_nested_loops() {
    expect!["11 10 11 10"].assert_eq(&ballots("nested_rounds"));
}

#[test]
fn ballots_where_a_single_break_goes() {
    expect!["11"].assert_eq(&ballots("single_break"));
}

#[test]
fn ballots_where_sides_merge() {
    expect!["01 10 11 01 10 11"].assert_eq(&ballots("merge_point"));
}

/// Ballots of a text, each once for its group; calls that make tokens are left out.
fn ballots_with_tokens(module: &phalanx_ir::Module, name: &str) -> String {
    let program = Program::new(module, &Target::new("amdgcn-amd-amdhsa", "")).unwrap();
    let body = &module.function(name).unwrap().body;
    let is_ballot = |&inst: &InstId| body.inst(inst).ty == phalanx_ir::Type::I64;
    let of = body.all_ids().filter(is_ballot).collect();
    let mut watch = Ballots { of, seen: Vec::new() };
    let launch = Launch { block: [2, 1, 1], ..Launch::default() };
    run(&program, name, &launch, &mut program.memory(0).unwrap(), &mut watch).unwrap();
    watch.seen.iter().map(|(_, _, bits)| format!("{bits:02b}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_token_of_a_loop_behind_it_tells_rounds_apart() {
    let module = module("single_break_tokens");
    expect!["01 10 11"].assert_eq(&ballots_with_tokens(&module, "single_break_tokens"));
}

/// A thread that holds a token does not wait for threads that have to make another one first.
#[test]
fn both_sides_of_a_branch_with_one_token() {
    let path = workspace_root().join("test-suite/semantics/merge_point.ll");
    let text = fs::read_to_string(path).unwrap();
    let text = text
        .replace(
            "define",
            "declare token @llvm.experimental.convergence.anchor()\n\
             declare token @llvm.experimental.convergence.loop()\ndefine",
        )
        .replace("entry:", "entry:\n  %t = call token @llvm.experimental.convergence.anchor()")
        .replace(
            "  br i1 %odd",
            "  %h = call token @llvm.experimental.convergence.loop() [ \"convergencectrl\"(token %t) ]\n  \
             br i1 %odd",
        )
        .replace("(i1 true)", "(i1 true) [ \"convergencectrl\"(token %h) ]");
    let parsed = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
    let module = parsed.unwrap_or_else(|e| panic!("{e}\n{text}")).module;
    expect!["01 10 11 01 10 11"].assert_eq(&ballots_with_tokens(&module, "merge_point"));
}

/// Threads that call with tokens of different rounds are apart in what they call.
#[test]
fn a_call_with_a_token_is_one_for_its_group() {
    let text = br#"target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare token @llvm.experimental.convergence.entry()
declare token @llvm.experimental.convergence.loop()
define internal i64 @votes() convergent {
  %entry = call token @llvm.experimental.convergence.entry()
  %vote = call i64 @llvm.amdgcn.ballot.i64(i1 true) [ "convergencectrl"(token %entry) ]
  ret i64 %vote
}
define amdgpu_kernel void @f() convergent {
entry:
  %whole = call token @llvm.experimental.convergence.entry()
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %cont ]
  %heart = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %whole) ]
  %found = icmp eq i32 %i, %id
  br i1 %found, label %break, label %cont
cont:
  %next = add i32 %i, 1
  br label %loop
break:
  %round = call i64 @votes() [ "convergencectrl"(token %heart) ]
  %all = call i64 @votes() [ "convergencectrl"(token %whole) ]
  ret void
}"#;
    let module = phalanx_llvm::parse_module(Arc::new(Context::new()), text).unwrap().module;
    expect!["01 10 11"].assert_eq(&ballots_with_tokens(&module, "f"));
}

#[test]
fn tokens_say_what_is_together() {
    // Of the watched calls, only ballots give the same number to the whole group.
    let module = module("tokens");
    let program = Program::new(&module, &Target::new("amdgcn-amd-amdhsa", "")).unwrap();
    let body = &module.function("tokens").unwrap().body;
    let context = &module.context;
    let is_ballot = |&inst: &InstId| {
        body.inst(inst).opcode == phalanx_ir::Opcode::Call
            && body.inst(inst).ty == context.int_type(64)
    };
    let of = body.all_ids().filter(is_ballot).collect();
    let mut watch = Ballots { of, seen: Vec::new() };
    let launch = Launch { block: [4, 1, 1], ..Launch::default() };
    run(&program, "tokens", &launch, &mut program.memory(0).unwrap(), &mut watch).unwrap();
    let found: Vec<String> = watch.seen.iter().map(|(_, _, bits)| format!("{bits:04b}")).collect();
    expect!["1111 1110 1100 1000 1111"].assert_eq(&found.join(" "));
}

#[test]
fn a_missing_function_is_an_error() {
    let module = module("ballot_nested");
    let program = Program::new(&module, &Target::new("amdgcn-amd-amdhsa", "")).unwrap();
    let mut memory = program.memory(0).unwrap();
    let error = run(&program, "f", &Launch::default(), &mut memory, &mut Silent).unwrap_err();
    expect!["no function @f"].assert_eq(&error.to_string());
}
