//! One small function per rule: what each pass does, and what it must not do.

mod annotate_uniform;
mod combine_ballots;
mod convergence_tokens;
mod dce;
mod early_cse;
mod infer_address_spaces;
mod infer_convergence_attrs;
mod inst_simplify;
mod jump_threading;
mod licm;
mod linearize;
mod locations;
mod loop_unroll;
mod manager;
mod mark_loads;
mod move_convergent;
mod reconvergence;
mod redundant_barriers;
mod simplify_cfg;
mod stale_plans;

use std::sync::Arc;

use expect_test::Expect;
use phalanx_db::{Database, ModuleInput, TargetOverrides};
use phalanx_ir::Context;
use phalanx_llvm::ModulePrinter;
use phalanx_transform::{Event, Manager, Options, Pipeline, Registry};

/// Loads at an address, in a loop and behind it. Threads leave the loop in different rounds, and
/// load behind it at the address of their last round.
const ADDRESS_IN_AND_BEHIND_A_LOOP: &str =
    "define amdgpu_kernel void @f(ptr addrspace(4) %p, i32 %n) {
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           br label %loop
         loop:
           %i = phi i32 [ 0, %entry ], [ %j, %loop ]
           %at = getelementptr i32, ptr addrspace(4) %p, i32 %i
           %inside = getelementptr i32, ptr addrspace(4) %p, i32 %i
           %u = load i32, ptr addrspace(4) %inside, align 4
           %j = add i32 %i, 1
           %v = load i32, ptr addrspace(4) %at, align 4
           %e = icmp ult i32 %j, %x
           br i1 %e, label %loop, label %exit
         exit:
           %w = load i32, ptr addrspace(4) %at, align 4
           ret void
         }";

const DECLARATIONS: &str = r"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare void @llvm.amdgcn.s.barrier()
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @pure(i32) memory(none) nounwind willreturn
declare i32 @pure_but_may_hang(i32) memory(none) nounwind
declare i32 @reads(i32) memory(read) nounwind willreturn
declare void @unknown()
";

fn load(functions: &str) -> (Database, ModuleInput) {
    load_for("amdgcn-amd-amdhsa", &format!("{DECLARATIONS}{functions}"))
}

fn load_for(triple: &str, text: &str) -> (Database, ModuleInput) {
    let text = format!("target triple = \"{triple}\"\n{text}");
    let parsed = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
    let parsed = parsed.unwrap_or_else(|error| panic!("{error}"));
    let mut db = Database::with_event_log();
    let module = db.load(parsed.module, None, TargetOverrides::default());
    (db, module)
}

fn print(db: &Database, module: ModuleInput) -> String {
    let entries = module.functions(db);
    let views = entries.iter().map(|entry| entry.input.view(db)).collect();
    let printer = ModulePrinter::with_functions(module.shell(db), views);
    let mut out = Vec::new();
    for entry in entries.iter().filter(|entry| entry.is_definition) {
        printer.function(entry.input.view(db)).text(&mut out);
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn run(db: &mut Database, module: ModuleInput, pipeline: &str) {
    let pipeline = Pipeline::parse(pipeline, &Registry::standard()).unwrap();
    let mut manager = Manager::new(Options { verify_each: true, statistics: false });
    let mut tell = |_: &Database, event: Event<'_>| {
        if let Event::Broken { errors, .. } = event {
            panic!("{errors:?}");
        }
    };
    manager.run(db, module, &pipeline, &mut tell).unwrap();
}

/// The functions after a pipeline.
fn check(pipeline: &str, functions: &str, expected: &Expect) {
    let (mut db, module) = load(functions);
    run(&mut db, module, pipeline);
    expected.assert_eq(&print(&db, module));
}

/// A pipeline leaves the functions alone.
fn check_unchanged(pipeline: &str, functions: &str) {
    let (mut db, module) = load(functions);
    let before = print(&db, module);
    run(&mut db, module, pipeline);
    assert_eq!(print(&db, module), before);
}
