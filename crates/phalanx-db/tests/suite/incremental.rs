//! What runs, and above all what does not: the table of `docs/what-runs.md`, checked against the
//! event log.

use std::sync::Arc;

use expect_test::{Expect, expect};
use phalanx_db::{Database, Did, FunctionInput, ModuleInput, TargetOverrides, queries};
use phalanx_ir::Context;

const TWO: &str = r#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()

define amdgpu_kernel void @first(ptr addrspace(1) %p, i32 %n) {
entry:
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %c = icmp slt i32 %tid, %n
  br i1 %c, label %then, label %exit
then:
  store i32 %tid, ptr addrspace(1) %p
  br label %exit
exit:
  ret void
}

define amdgpu_kernel void @second(ptr addrspace(1) %p, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i.next, %loop ]
  %i.next = add i32 %i, 1
  %c = icmp slt i32 %i.next, %n
  br i1 %c, label %loop, label %exit
exit:
  store i32 %i, ptr addrspace(1) %p
  ret void
}
"#;

struct Fixture {
    db: Database,
    context: Arc<Context>,
    module: ModuleInput,
}

impl Fixture {
    fn new(text: &str) -> Self {
        let mut db = Database::with_event_log();
        let context = Arc::new(Context::new());
        let parsed = phalanx_llvm::parse_module(Arc::clone(&context), text.as_bytes())
            .unwrap_or_else(|e| panic!("{e:?}"));
        let module = db.load(parsed.module, Some(parsed.source_map), TargetOverrides::default());
        Fixture { db, context, module }
    }

    fn reload(&mut self, text: &str, report: &Expect) {
        let parsed = phalanx_llvm::parse_module(Arc::clone(&self.context), text.as_bytes())
            .unwrap_or_else(|e| panic!("{e:?}"));
        let found = self.db.reload(self.module, parsed.module, Some(parsed.source_map));
        let names = |list: &[phalanx_ir::GlobalName]| {
            list.iter()
                .map(|n| n.symbol().map_or_else(String::new, |s| self.context.text(s).into_owned()))
                .collect::<Vec<_>>()
                .join(" ")
        };
        report.assert_eq(&format!(
            "added [{}] removed [{}] changed [{}] unchanged {}",
            names(&found.added),
            names(&found.removed),
            names(&found.changed),
            found.unchanged
        ));
    }

    fn function(&self, name: &str) -> FunctionInput {
        let symbol = self.context.find_symbol(name.as_bytes()).expect("the name is interned");
        let entries = self.module.functions(&self.db);
        entries.iter().find(|e| e.name.symbol() == Some(symbol)).expect("the function exists").input
    }

    /// Asks every fact of every definition.
    fn ask_everything(&self) {
        for entry in self.module.functions(&self.db).iter().filter(|e| e.is_definition) {
            self.ask(entry.input);
        }
    }

    fn ask(&self, f: FunctionInput) {
        queries::cfg(&self.db, f);
        queries::dfs(&self.db, f);
        queries::dom_tree(&self.db, f);
        queries::postdom_tree(&self.db, f);
        queries::dom_frontier(&self.db, f);
        queries::control_dependence(&self.db, f);
        queries::cycles(&self.db, f);
        queries::sync_dependence(&self.db, f);
        queries::affect_map(&self.db, f);
        queries::divergence(&self.db, f);
        queries::uniformity(&self.db, f);
    }

    /// `query(function)` of everything that ran since the last call, sorted.
    fn ran(&self) -> String {
        let mut lines: Vec<String> = self
            .db
            .take_log()
            .into_iter()
            .filter(|entry| entry.did == Did::Run)
            .map(|entry| format!("{}({})", entry.query, self.key_name(entry.key)))
            .collect();
        lines.sort();
        lines.join("\n")
    }

    fn key_name(&self, key: phalanx_db::Id) -> String {
        let entry = self.module.functions(&self.db).iter().find(|e| e.input.id() == key);
        match entry.and_then(|e| e.name.symbol()) {
            Some(symbol) => self.context.text(symbol).into_owned(),
            None => "module".to_owned(),
        }
    }
}

#[test]
fn a_fact_asked_twice_runs_once() {
    let fixture = Fixture::new(TWO);
    fixture.ask_everything();
    fixture.db.take_log();
    fixture.ask_everything();
    expect![""].assert_eq(&fixture.ran());
}

#[test]
fn divergence_asks_for_what_it_needs_only() {
    let fixture = Fixture::new(TWO);
    queries::divergence(&fixture.db, fixture.function("first"));
    expect![[r#"
        affect_map(first)
        aliases(module)
        called_kernels(module)
        divergence(first)
        graph_facts(first)
        language(module)
        library(module)
        module_facts(module)
        target(module)
        type_layout(module)"#]]
    .assert_eq(&fixture.ran());
}

#[test]
fn a_fact_of_the_graph_is_made_when_somebody_asks_for_it() {
    let mut fixture = Fixture::new(TWO);
    let f = fixture.function("first");
    let made = |fixture: &Fixture| {
        let facts = queries::graph_facts(&fixture.db, f).as_ref();
        facts.map_or_else(String::new, |facts| facts.made().join(" "))
    };
    expect![[""]].assert_eq(&made(&fixture));
    queries::postdom_tree(&fixture.db, f);
    expect![["postdom_tree"]].assert_eq(&made(&fixture));
    queries::dom_frontier(&fixture.db, f);
    expect![["dom_frontier dom_tree postdom_tree"]].assert_eq(&made(&fixture));
    queries::divergence(&fixture.db, f);
    let all = expect![["cycles dom_frontier dom_tree postdom_tree sync_dependence"]];
    all.assert_eq(&made(&fixture));
    // An edit of instructions leaves them, and so does another name of a block.
    let predicate = TWO.replace("slt i32 %tid, %n", "sgt i32 %tid, %n");
    let name = TWO.replace("then:", "other:").replace("%then", "%other");
    for edited in [predicate, name] {
        let parsed = phalanx_llvm::parse_module(Arc::clone(&fixture.context), edited.as_bytes());
        let parsed = parsed.unwrap_or_else(|e| panic!("{e:?}"));
        fixture.db.reload(fixture.module, parsed.module, Some(parsed.source_map));
        all.assert_eq(&made(&fixture));
    }
}

#[test]
fn the_same_text_again_runs_nothing() {
    let mut fixture = Fixture::new(TWO);
    fixture.ask_everything();
    fixture.reload(TWO, &expect!["added [] removed [] changed [] unchanged 3"]);
    fixture.db.take_log();
    fixture.ask_everything();
    expect![""].assert_eq(&fixture.ran());
}

#[test]
fn comments_names_and_places_are_no_inputs() {
    let mut fixture = Fixture::new(TWO);
    fixture.ask_everything();
    let renamed = format!("; a comment\n\n{}", TWO.replace("%tid", "%thread"));
    fixture.reload(&renamed, &expect!["added [] removed [] changed [first] unchanged 2"]);
    fixture.db.take_log();
    fixture.ask_everything();
    expect![""].assert_eq(&fixture.ran());
}

#[test]
fn an_instruction_edit_leaves_flow_facts_and_the_other_function_alone() {
    let mut fixture = Fixture::new(TWO);
    fixture.ask_everything();
    fixture.reload(
        &TWO.replace("slt i32 %tid, %n", "sgt i32 %tid, %n"),
        &expect!["added [] removed [] changed [first] unchanged 2"],
    );
    fixture.db.take_log();
    fixture.ask_everything();
    expect![[r#"
        affect_map(first)
        callees(first)
        llvm_affect_map(first)"#]]
    .assert_eq(&fixture.ran());
}

#[test]
fn a_flow_edit_reruns_the_facts_of_that_function() {
    let mut fixture = Fixture::new(TWO);
    fixture.ask_everything();
    let edited = TWO
        .replace("label %loop, label %exit", "label %loop, label %out")
        .replace("exit:\n  store i32 %i,", "out:\n  br label %exit\nexit:\n  store i32 %i,");
    fixture.reload(&edited, &expect!["added [] removed [] changed [second] unchanged 2"]);
    fixture.db.take_log();
    fixture.ask_everything();
    expect![[r#"
        affect_map(second)
        callees(second)
        divergence(second)
        graph_facts(second)
        llvm_affect_map(second)
        uniformity(second)"#]]
    .assert_eq(&fixture.ran());
}

#[test]
fn an_added_function_runs_alone() {
    let mut fixture = Fixture::new(TWO);
    fixture.ask_everything();
    let edited = format!("{TWO}define void @third() {{\n  ret void\n}}\n");
    fixture.reload(&edited, &expect!["added [third] removed [] changed [] unchanged 3"]);
    fixture.db.take_log();
    fixture.ask_everything();
    expect![[r#"
        affect_map(third)
        callees(first)
        callees(second)
        callees(third)
        divergence(third)
        graph_facts(third)
        llvm_affect_map(third)
        processors(module)
        symbols(module)
        uniformity(third)"#]]
    .assert_eq(&fixture.ran());
}

#[test]
fn another_triple_reruns_divergence_only() {
    let mut fixture = Fixture::new(TWO);
    fixture.ask_everything();
    fixture.reload(
        &TWO.replace("amdgcn-amd-amdhsa", "amdgcn-amd-amdpal"),
        &expect!["added [] removed [] changed [] unchanged 3"],
    );
    fixture.db.take_log();
    fixture.ask_everything();
    expect![[r#"
        affect_map(first)
        affect_map(second)
        aliases(module)
        called_kernels(module)
        language(module)
        library(module)
        llvm_affect_map(first)
        llvm_affect_map(second)
        module_facts(module)
        target(module)
        type_layout(module)"#]]
    .assert_eq(&fixture.ran());
}

#[test]
fn clones_answer_on_other_threads() {
    let fixture = Fixture::new(TWO);
    let inputs: Vec<FunctionInput> =
        ["first", "second"].map(|name| fixture.function(name)).to_vec();
    let answers: Vec<usize> = std::thread::scope(|scope| {
        let handles: Vec<_> = inputs
            .iter()
            .map(|&f| {
                let db = fixture.db.clone();
                scope.spawn(move || queries::cycles(&db, f).map_or(0, |c| c.len()))
            })
            .collect();
        handles.into_iter().map(|h| h.join().expect("the thread finishes")).collect()
    });
    assert_eq!(answers, [0, 1]);
}

const LOADS: &str = r#"
target triple = "amdgcn-amd-amdhsa"
@v = internal addrspace(1) global i32 0
declare i32 @llvm.amdgcn.workitem.id.x()

define internal void @writes(ptr addrspace(1) %p, i32 %n) {
  store i32 %n, ptr addrspace(1) %p
  ret void
}

define amdgpu_kernel void @first(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias %q, i32 %n) {
  %l = load i32, ptr addrspace(1) %p
  %m = load i32, ptr addrspace(1) @v
  call void @writes(ptr addrspace(1) %q, i32 %l)
  ret void
}

define amdgpu_kernel void @second(ptr addrspace(1) %p, i32 %n) {
  %l = load i32, ptr addrspace(1) %p
  store i32 %l, ptr addrspace(1) %p
  ret void
}
"#;

/// Classes of loads after edits: the queries that run, except projections.
fn loads_after(edit: impl Fn(&str) -> String) -> String {
    let mut fixture = Fixture::new(LOADS);
    let ask = |fixture: &Fixture| {
        for entry in fixture.module.functions(&fixture.db).iter().filter(|e| e.is_definition) {
            queries::load_classes(&fixture.db, entry.input);
            queries::ldu_candidates(&fixture.db, entry.input);
        }
    };
    ask(&fixture);
    let edited = edit(LOADS);
    assert_ne!(edited, LOADS);
    let parsed = phalanx_llvm::parse_module(Arc::clone(&fixture.context), edited.as_bytes());
    let parsed = parsed.unwrap_or_else(|e| panic!("{e:?}"));
    fixture.db.reload(fixture.module, parsed.module, Some(parsed.source_map));
    fixture.db.take_log();
    ask(&fixture);
    let ours = ["load", "ldu", "pointer", "parameter", "variables", "written", "promise"];
    let ran = fixture.ran();
    let lines = ran.lines().filter(|line| ours.iter().any(|prefix| line.starts_with(prefix)));
    lines.collect::<Vec<_>>().join("\n")
}

/// Versions of memory follow what is written through generic pointers and by callees; classes of
/// loads do not read them.
#[test]
fn versions_of_memory_follow_kinds() {
    const TEXT: &str = r#"
target triple = "nvptx64-nvidia-cuda"
@lds = internal addrspace(3) global [64 x i32] undef
@tmp = internal addrspace(3) global [64 x i32] undef
@dev = internal addrspace(1) global i32 0
define internal void @put(i32 %n) {
  store i32 %n, ptr addrspace(3) @lds
  ret void
}
define ptx_kernel void @f(ptr %out, i32 %n) {
  %s = addrspacecast ptr addrspace(3) @lds to ptr
  store i32 %n, ptr %s
  call void @put(i32 %n)
  %l = load i32, ptr %out
  ret void
}
"#;
    let after = |from: &str, to: &str| {
        let mut fixture = Fixture::new(TEXT);
        let ask = |fixture: &Fixture| {
            for entry in fixture.module.functions(&fixture.db).iter().filter(|e| e.is_definition) {
                queries::load_classes(&fixture.db, entry.input);
                queries::data_flow(&fixture.db, entry.input);
            }
        };
        ask(&fixture);
        let edited = TEXT.replace(from, to);
        assert_ne!(edited, TEXT);
        let parsed = phalanx_llvm::parse_module(Arc::clone(&fixture.context), edited.as_bytes());
        let parsed = parsed.unwrap_or_else(|e| panic!("{e:?}"));
        fixture.db.reload(fixture.module, parsed.module, Some(parsed.source_map));
        fixture.db.take_log();
        ask(&fixture);
        let ours = ["private_memory", "memory_", "written_spaces", "load_classes"];
        let ran = fixture.ran();
        let lines = ran.lines().filter(|line| ours.iter().any(|one| line.starts_with(one)));
        lines.collect::<Vec<_>>().join("\n")
    };
    // Another variable of the same memory.
    expect![[r#"
        load_classes(put)
        memory_kinds(put)
        memory_ssa(put)
        private_memory(put)
        written_spaces(put)"#]]
    .assert_eq(&after("(3) @lds\n", "(3) @tmp\n"));
    // The callee writes other memory.
    expect![[r#"
        load_classes(f)
        load_classes(put)
        memory_kinds(put)
        memory_ssa(f)
        memory_ssa(put)
        private_memory(put)
        written_spaces(put)"#]]
    .assert_eq(&after("(3) @lds\n", "(1) @dev\n"));
    // The generic pointer leads elsewhere.
    expect![[r#"
        load_classes(f)
        load_classes(put)
        memory_kinds(f)
        memory_ssa(f)
        private_memory(f)"#]]
    .assert_eq(&after("(3) @lds to", "(1) @dev to"));
}

#[test]
fn classes_of_loads_follow_what_is_written() {
    // A name, which nothing of a function reads.
    expect![""].assert_eq(&loads_after(|text| {
        text.replace("%l ", "%k ").replace("%l,", "%k,").replace("%l)", "%k)")
    }));
    // A promise about one load.
    expect![[r#"
        ldu_candidates(second)
        load_classes(second)
        promised_loads(second)
        promises_of_others(second)
        variables(module)"#]]
    .assert_eq(&loads_after(|text| {
        let marked = "load i32, ptr addrspace(1) %p, !invariant.load !0\n  store";
        text.replace("load i32, ptr addrspace(1) %p\n  store", marked) + "!0 = !{}\n"
    }));
    // What is stored, not where.
    expect![[r#"
        load_classes(second)
        pointer_flow(second)
        promised_loads(second)"#]]
    .assert_eq(&loads_after(|text| text.replace("store i32 %l", "store i32 %n")));
    // A callee ceases to write.
    expect![[r#"
        load_classes(writes)
        parameter_uses(writes)
        pointer_flow(writes)
        promised_loads(writes)
        variables_written(first)
        variables_written(writes)"#]]
    .assert_eq(&loads_after(|text| text.replace("  store i32 %n, ptr addrspace(1) %p\n", "")));
    // A variable begins to be written.
    expect![[r#"
        ldu_candidates(first)
        ldu_candidates(second)
        load_classes(first)
        load_classes(second)
        pointer_flow(second)
        promised_loads(second)
        variables_written(second)
        written_variables(module)"#]]
    .assert_eq(&loads_after(|text| {
        text.replace("store i32 %l, ptr addrspace(1) %p", "store i32 %l, ptr addrspace(1) @v")
    }));
}
