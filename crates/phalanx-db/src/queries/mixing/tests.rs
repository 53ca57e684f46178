//! That the answer for the module is the answer of each function by itself, also after edits.

use std::{fmt::Write as _, sync::Arc};

use phalanx_ir::{BuildError, Context, InstId, Opcode, Value};
use rand::{Rng, SeedableRng, rngs::SmallRng};

use super::*;
use crate::{FunctionEntry, TargetOverrides};

/// Functions that call others further on, or any, and some of which have a loop:
///
/// ```text
/// h:   br %i < bound, label %h, label %low    ; threads part here if the bound is theirs,
/// low: br .., label %h, label %exit           ; and wait at %low for those that make more rounds
/// ```
fn random_module(rng: &mut SmallRng) -> String {
    let count = rng.random_range(3..10);
    let env = rng.random_bool(0.3);
    let mut text = String::from(
        "target triple = \"amdgcn-amd-amdhsa\"\ndeclare i32 @llvm.amdgcn.workitem.id.x()\n\
         declare void @llvm.amdgcn.s.barrier()\n",
    );
    for at in 0..count {
        let kind = if at % 3 == 0 { "amdgpu_kernel void" } else { "internal i32" };
        let result = if at % 3 == 0 { "void" } else { "i32 %s" };
        let _ = write!(
            text,
            "define {kind} @f{at}(i32 %a) {{\nentry:\n  \
             %id = call i32 @llvm.amdgcn.workitem.id.x()\n  %s = add i32 %a, 1\n"
        );
        for call in 0..rng.random_range(0..3) {
            let callee = rng.random_range(if env { 0..count } else { at..count });
            let passed = ["a", "s", "id"][rng.random_range(0..3)];
            if callee % 3 != 0 && (env || callee > at) {
                let _ = writeln!(text, "  %c{call} = call i32 @f{callee}(i32 %{passed})");
            }
        }
        if rng.random_bool(0.4) {
            let bound = ["a", "s", "id"][rng.random_range(0..3)];
            let barrier =
                if rng.random_bool(0.7) { "call void @llvm.amdgcn.s.barrier()" } else { "" };
            let _ = write!(
                text,
                "  br label %h\nh:\n  %i = phi i32 [ 0, %entry ], [ %j, %h ], [ %j, %low ]\n  \
                 %j = add i32 %i, 1\n  %c = icmp slt i32 %j, %{bound}\n  \
                 br i1 %c, label %h, label %low\nlow:\n  {barrier}\n  \
                 %d = icmp slt i32 %j, 1000\n  br i1 %d, label %h, label %exit\nexit:\n"
            );
        }
        let _ = writeln!(text, "  ret {result}\n}}");
    }
    text
}

/// What is compared, called or added becomes an argument, the index of the thread, or a sum.
fn edit_at_random(db: &mut Database, function: FunctionInput, rng: &mut SmallRng) {
    let body = function.body(db);
    let is_place = |inst: &InstId| {
        matches!(body.inst(*inst).opcode, Opcode::Call | Opcode::Add | Opcode::ICmp)
            && body.operands(*inst).len() == 2
    };
    let places: Vec<InstId> = body.all_ids().filter(is_place).collect();
    let place = places[rng.random_range(0..places.len())];
    let operand = u32::from(body.inst(place).opcode == Opcode::ICmp);
    let id = InstId::from_raw(0.into());
    let value = if rng.random_bool(0.5) { Value::arg(0) } else { id.into() };
    let done: Result<(), BuildError> =
        db.edit(function, |edit| edit.set_operand(place, operand, value));
    done.expect("the values are above");
}

fn load(text: &str) -> (Database, ModuleInput) {
    let mut db = Database::new();
    let parsed = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
    let parsed = parsed.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let module = db.load(parsed.module, None, TargetOverrides::default());
    (db, module)
}

fn definitions(db: &Database, module: ModuleInput) -> Vec<FunctionInput> {
    let entries = module.functions(db).iter().filter(|entry| entry.is_definition);
    entries.map(|entry| entry.input).collect()
}

/// A database that has seen nothing of the edits.
fn cold(db: &Database, module: ModuleInput) -> (Database, ModuleInput) {
    let mut fresh = module.shell(db).clone();
    let copy = |entry: &FunctionEntry| entry.input.view(db).to_function();
    fresh.functions = module.functions(db).iter().map(copy).collect();
    let mut new = Database::new();
    let module = new.load(fresh, None, TargetOverrides::default());
    (new, module)
}

#[test]
fn a_module_knows_what_each_function_finds() {
    let (mut affected, mut others) = (0, 0);
    for seed in 0..60 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let text = random_module(&mut rng);
        let (mut db, module) = load(&text);
        let functions = definitions(&db, module);
        for step in 0..8 {
            let (cold, cold_module) = cold(&db, module);
            for (&function, cold_function) in functions.iter().zip(definitions(&cold, cold_module))
            {
                let known = with_facts(&db, module, |facts| facts.is_affected(&db, function));
                let found = is_affected_nearby(&cold, cold_function, usize::MAX);
                assert_eq!(Some(known), found, "seed {seed}, step {step}\n{text}");
                *if known { &mut affected } else { &mut others } += 1;
            }
            for _ in 0..rng.random_range(1..3) {
                let function = functions[rng.random_range(0..functions.len())];
                edit_at_random(&mut db, function, &mut rng);
            }
        }
    }
    assert!(affected > 300 && others > 300, "{affected} {others}");
}

/// A leaf that mixes rounds concerns a kernel far above.
#[test]
fn a_long_chain_is_asked_as_a_module() {
    let count = NEARBY + 2;
    let mut text = String::from(
        "target triple = \"amdgcn-amd-amdhsa\"\ndeclare i32 @llvm.amdgcn.workitem.id.x()\n\
         declare void @llvm.amdgcn.s.barrier()\n\
         define void @leaf() {\nentry:\n  %id = call i32 @llvm.amdgcn.workitem.id.x()\n  \
         br label %h\nh:\n  %i = phi i32 [ 0, %entry ], [ %j, %h ], [ %j, %low ]\n  \
         %j = add i32 %i, 1\n  %c = icmp slt i32 %j, %id\n  br i1 %c, label %h, label %low\n\
         low:\n  call void @llvm.amdgcn.s.barrier()\n  %d = icmp slt i32 %j, 1000\n  \
         br i1 %d, label %h, label %exit\nexit:\n  ret void\n}\n",
    );
    for at in 0..count {
        let callee = if at == 0 { "leaf".to_owned() } else { format!("f{}", at - 1) };
        let _ = writeln!(text, "define void @f{at}() {{\n  call void @{callee}()\n  ret void\n}}");
    }
    let (mut db, module) = load(&text);
    let functions = definitions(&db, module);
    let (leaf, kernel) = (functions[0], functions[count]);
    assert_eq!(is_affected_nearby(&db, kernel, NEARBY), None);
    assert_eq!(rounds_around(&db, kernel), Rounds::Elsewhere);
    let compare = leaf.body(&db).all_ids().find(|&i| leaf.body(&db).inst(i).opcode == Opcode::ICmp);
    let zero = leaf.module(&db).context(&db).const_i32(0);
    let done: Result<(), BuildError> = db
        .edit(leaf, |edit| edit.set_operand(compare.expect("there is one"), 1, Value::from(zero)));
    done.expect("a number is everywhere");
    assert_eq!(rounds_around(&db, kernel), Rounds::Apart);
}
