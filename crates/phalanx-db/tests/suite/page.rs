//! `docs/queries.md`, the page for drivers: the queries that its tables list exist and run, and
//! each arrow between queries in its figure is true: to ask the one at the head runs the one at the
//! tail.

use std::{collections::BTreeSet, sync::Arc};

use phalanx_analysis::stable::Assumptions;
use phalanx_core::barriers::BarrierModel;
use phalanx_db::{Database, Did, FunctionInput, ModuleInput, TargetOverrides, queries};
use phalanx_ir::Context;

/// A kernel with a stack slot, a loop, a barrier and a call of a function that only it can name.
const PROGRAM: &str = r#"
target triple = "amdgcn-amd-amdhsa"
@tile = internal addrspace(3) global [64 x i32] poison
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()

define internal i32 @twice(i32 %x, ptr %p) {
  %y = shl i32 %x, 1
  store i32 %y, ptr %p
  ret i32 %y
}

define amdgpu_kernel void @kernel(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) {
entry:
  %slot = alloca i32, addrspace(5)
  %held = alloca ptr, addrspace(5)
  %flat = addrspacecast ptr addrspace(5) %slot to ptr
  store ptr %flat, ptr addrspace(5) %held
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr i32, ptr addrspace(3) @tile, i32 %id
  store i32 %id, ptr addrspace(3) %at
  call void @llvm.amdgcn.s.barrier()
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %again = load ptr, ptr addrspace(5) %held
  %two = call i32 @twice(i32 %i, ptr %again)
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %two
  %read = load i32, ptr addrspace(1) %from
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %read
  br i1 %more, label %loop, label %rest
rest:
  %some = icmp slt i32 %id, %n
  br i1 %some, label %wait, label %end
wait:
  call void @llvm.amdgcn.s.barrier()
  br label %end
end:
  %last = load i32, ptr addrspace(3) %at
  store i32 %last, ptr addrspace(1) %out
  ret void
}
"#;

const RACE_FREE: Assumptions =
    Assumptions { barriers: Some(BarrierModel::Strict), race_free: true };

/// Asks a query by its name, of all that it is about. False: there is none of that name.
fn ask(db: &Database, module: ModuleInput, name: &str) -> bool {
    macro_rules! by_name {
        ($($query:ident ( $key:ident $(, $more:expr)? )),* $(,)?) => {
            match name {
                $(stringify!($query) => { by_name!(@ $query $key $(, $more)?); true })*
                _ => false,
            }
        };
        (@ $query:ident module) => { let _ = queries::$query(db, module); };
        (@ $query:ident function $(, $more:expr)?) => {
            for function in definitions(db, module) {
                let _ = queries::$query(db, function $(, $more)?);
            }
        };
    }
    by_name![
        graph_facts(function),
        divergence(function),
        uniformity(function),
        assumed_divergence(function, RACE_FREE),
        branch_divergence(function),
        control_divergence(function),
        edge_divergence(function),
        affect_map(function),
        private_memory(function),
        address_memory(function),
        memory_ssa(function),
        classic_memory_ssa(function),
        memory_kinds(function),
        space_conflicts(function),
        pointer_flow(function),
        load_classes(function),
        stable_loads(function, RACE_FREE),
        memory_accesses(function),
        convergence(function),
        diagnostics(function),
        launch_facts(function),
        derivations(function),
        call_graph(module),
        callees(function),
        summary(function),
        argument_facts(function),
        argument_spaces(function),
        written_spaces(function),
        symbols(module),
        library(module),
        target(module),
        type_layout(module),
    ]
}

fn definitions(db: &Database, module: ModuleInput) -> Vec<FunctionInput> {
    let entries = module.functions(db).iter();
    entries.filter(|entry| entry.is_definition).map(|entry| entry.input).collect()
}

/// The queries that run in a new database when one of them is asked; none if it does not exist.
fn runs(name: &str) -> Option<BTreeSet<String>> {
    let mut db = Database::with_event_log();
    let context = Arc::new(Context::new());
    let parsed = phalanx_llvm::parse_module(context, PROGRAM.as_bytes()).expect("it is right");
    let module = db.load(parsed.module, Some(parsed.source_map), TargetOverrides::default());
    db.take_log();
    ask(&db, module, name).then(|| {
        let log = db.take_log().into_iter().filter(|entry| entry.did == Did::Run);
        log.map(|entry| entry.query).collect()
    })
}

const PAGE: &str = include_str!("../../../../docs/queries.md");

#[test]
fn arrows_are_true() {
    let arrows = PAGE.lines().filter_map(|line| line.trim().split_once(" --> "));
    // What edits set is no query.
    let inputs = ["flow", "body", "header", "mentions", "launch"];
    let arrows: Vec<_> = arrows.filter(|(tail, _)| !inputs.contains(tail)).collect();
    assert!(arrows.len() > 15, "{arrows:?}");
    for (tail, head) in arrows {
        let ran = runs(head).unwrap_or_else(|| panic!("{head} is no query"));
        assert!(ran.contains(tail), "{tail} --> {head}: it runs {ran:?}");
    }
}

#[test]
fn queries_in_tables_exist() {
    let first = PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" |"));
    let names = first.flat_map(|(names, _)| names.split(", "));
    let names: Vec<&str> = names.map(|name| name.trim_matches('`')).collect();
    assert!(names.len() > 25, "{names:?}");
    for name in names {
        let ran = runs(name).unwrap_or_else(|| panic!("{name} is not asked by this test"));
        assert!(ran.contains(name), "{name} does not run: {ran:?}");
    }
}
