//! Other code that can reach a function or a variable, and what is unknown about memory then.

use std::sync::Arc;

use phalanx_analysis::loads::LoadClass;
use phalanx_db::{Database, FunctionInput, TargetOverrides, queries};
use phalanx_ir::{Context, Opcode};

/// A database with a module for NVPTX, and a function of it.
#[track_caller]
fn function(text: &str, name: &str) -> (Database, FunctionInput) {
    let text = format!("target triple = \"nvptx64-nvidia-cuda\"\n{text}");
    let mut db = Database::new();
    let context = Arc::new(Context::new());
    let parsed = phalanx_llvm::parse_module(Arc::clone(&context), text.as_bytes());
    let parsed = parsed.unwrap_or_else(|error| panic!("{error:?}")).module;
    let module = db.load(parsed, None, TargetOverrides::default());
    let symbol = context.find_symbol(name.as_bytes());
    let entries = module.functions(&db);
    let entry = entries.iter().find(|entry| entry.name.symbol() == symbol);
    let function = entry.expect("it is there").input;
    (db, function)
}

/// Threads that call a kernel have done something before.
#[test]
fn a_kernel_that_is_called_is_not_entered_by_launches_alone() {
    let starts = |caller: &str| {
        let text = format!("define ptx_kernel void @k() {{ ret void }} {caller}");
        let (db, kernel) = function(&text, "k");
        queries::starts_at_launch(&db, kernel)
    };
    assert!(starts(""));
    assert!(!starts("define void @f() { call ptx_kernel void @k() ret void }"));
}

/// What a call passes says nothing of a function that others may call.
#[test]
fn arguments_are_unchanged_where_all_callers_are_known() {
    let unchanged = |linkage: &str| {
        let text = format!(
            "define {linkage} void @f(ptr addrspace(1) %p) {{
               ret void
             }}
             define ptx_kernel void @k(ptr addrspace(1) noalias readonly %p) {{
               call void @f(ptr addrspace(1) %p)
               ret void
             }}"
        );
        let (db, callee) = function(&text, "f");
        queries::unchanged_arguments(&db, callee).clone()
    };
    assert_eq!(unchanged("internal"), Some(vec![true]));
    assert_eq!(unchanged(""), None);
}

/// Code that refers to a variable by another name may write it.
#[test]
fn a_variable_that_is_named_elsewhere_may_be_written() {
    let is_unwritten = |others: &str| {
        let text = format!(
            "@state = internal addrspace(1) global i32 0
             {others}
             define ptx_kernel void @k(ptr addrspace(1) %out) {{
               %l = load i32, ptr addrspace(1) @state
               store i32 %l, ptr addrspace(1) %out
               ret void
             }}"
        );
        let (db, kernel) = function(&text, "k");
        let body = kernel.body(&db);
        let load = body.all_ids().find(|&inst| body.inst(inst).opcode == Opcode::Load);
        let classes = queries::load_classes(&db, kernel).as_ref().expect("it has code");
        classes.of(load.expect("there is one")).is_some_and(|load| load.is(LoadClass::NonCoherent))
    };
    assert!(is_unwritten(""));
    assert!(is_unwritten("@other = addrspace(1) global i32 0"));
    assert!(!is_unwritten("@other = alias i32, ptr addrspace(1) @state"));
    assert!(!is_unwritten("@other = global ptr addrspace(1) @state"));
    assert!(!is_unwritten("!named = !{!0}\n!0 = !{ptr addrspace(1) @state}"));
}
