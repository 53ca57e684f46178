//! Queries about a whole module after an edit of one function: which queries run again, and that
//! the answer equals that of a new database.

use std::sync::Arc;

use expect_test::{Expect, expect};
use phalanx_db::{Database, FunctionInput, ModuleInput, TargetOverrides, queries};
use phalanx_ir::{BuildError, Context, GlobalName, InstId, Opcode, Value};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

struct Fixture {
    db: Database,
    module: ModuleInput,
    context: Arc<Context>,
}

impl Fixture {
    fn new(text: &str) -> Self {
        let context = Arc::new(Context::new());
        let parsed = phalanx_llvm::parse_module(Arc::clone(&context), text.as_bytes());
        let module = parsed.unwrap_or_else(|e| panic!("{e:?}")).module;
        let mut db = Database::with_event_log();
        let module = db.load(module, None, TargetOverrides::default());
        Fixture { db, module, context }
    }

    fn functions(&self) -> Vec<FunctionInput> {
        let entries = self.module.functions(&self.db).iter();
        entries.filter(|entry| entry.is_definition).map(|entry| entry.input).collect()
    }

    fn name(&self, function: FunctionInput) -> String {
        let name = function.header(&self.db).name;
        match name {
            GlobalName::Named(symbol) => self.context.text(symbol).into_owned(),
            GlobalName::Numbered(number) => number.to_string(),
        }
    }

    fn function(&self, name: &str) -> FunctionInput {
        let functions = self.functions();
        *functions.iter().find(|f| self.name(**f) == name).expect("it has a body")
    }

    fn set(&mut self, function: FunctionInput, inst: InstId, value: Value) {
        let done: Result<(), BuildError> =
            self.db.edit(function, |edit| edit.set_operand(inst, 0, value));
        done.expect("the value is there");
    }

    /// What a call of a function with two arguments calls.
    fn callee(&self, function: FunctionInput, inst: InstId) -> Option<Value> {
        let body = function.body(&self.db);
        let operands = body.operands(inst);
        (body.inst(inst).opcode.is_call() && operands.len() == 3).then(|| operands[2])
    }

    fn callees(&self, function: FunctionInput) -> Vec<Value> {
        let ids = function.body(&self.db).all_ids();
        ids.filter_map(|inst| self.callee(function, inst)).collect()
    }

    fn set_callee(&mut self, function: FunctionInput, inst: InstId, callee: Value) {
        let done: Result<(), BuildError> =
            self.db.edit(function, |edit| edit.set_operand(inst, 2, callee));
        done.expect("the callees have one type");
    }

    /// The first sum of a function is one of an argument, or of something else.
    fn set_sum(&mut self, name: &str, value: Value) {
        let function = self.function(name);
        let body = function.body(&self.db);
        let is_sum = |inst: &InstId| body.inst(*inst).opcode == Opcode::Add;
        let sum = body.all_ids().find(is_sum).expect("there is one");
        self.set(function, sum, value);
    }

    fn branches(&self) -> usize {
        queries::module_divergent_branches(&self.db, self.module)
    }

    /// The same in a new database.
    fn branches_from_scratch(&self, is_whole: bool) -> usize {
        let mut db = Database::new();
        let mut module = self.module.shell(&self.db).clone();
        let entries = self.module.functions(&self.db).iter();
        module.functions = entries.map(|entry| entry.input.view(&self.db).to_function()).collect();
        let module = db.load(module, None, TargetOverrides::default());
        db.set_whole(module, is_whole);
        let entries = module.functions(&db).iter().filter(|entry| entry.is_definition);
        entries.map(|entry| queries::divergent_branches(&db, entry.input)).sum()
    }

    /// What happened with a question since the last call, by function: those of one query.
    fn happened(&self, query: &str, expected: &Expect) {
        let log = self.db.take_log().into_iter().filter(|entry| entry.query == query);
        let of = |key| self.functions().into_iter().find(|f| f.id() == key);
        let line = |entry: phalanx_db::LogEntry| {
            let name = of(entry.key).map_or("the module".to_owned(), |f| self.name(f));
            format!("{:?} {name}\n", entry.did)
        };
        expected.assert_eq(&log.map(line).collect::<String>());
    }
}

/// Kernels that call a function, and one more that calls nothing.
const KERNELS: &str = r#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define internal i32 @leaf(i32 %a, i32 %b) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %s = add i32 %a, %b
  ret i32 %s
}
define amdgpu_kernel void @first(i32 %a, i32 %b) {
  %r = call i32 @leaf(i32 %a, i32 %b)
  %s = add i32 %a, %r
  %c = icmp eq i32 %s, 0
  br i1 %c, label %then, label %exit
then:
  br label %exit
exit:
  ret void
}
define amdgpu_kernel void @second(i32 %a, i32 %b) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %s = add i32 %a, %b
  %r = call i32 @leaf(i32 %s, i32 %b)
  %c = icmp eq i32 %r, 0
  br i1 %c, label %then, label %exit
then:
  br label %exit
exit:
  ret void
}
define amdgpu_kernel void @alone(i32 %a, i32 %b) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %s = add i32 %a, %b
  %c = icmp eq i32 %s, 0
  br i1 %c, label %then, label %exit
then:
  br label %exit
exit:
  ret void
}
"#;

#[test]
fn the_first_edit_of_a_function_asks_no_other_one() {
    let mut module = Fixture::new(KERNELS);
    assert_eq!(module.branches(), 0);
    module.db.take_log();
    module.set_sum("alone", Value::inst(InstId::from_raw(0.into())));
    assert_eq!(module.branches(), 1);
    module.happened(
        "divergent_branches",
        &expect![[r#"
        Run alone
    "#]],
    );
}

#[test]
fn callers_are_asked_where_a_summary_becomes_another() {
    let mut module = Fixture::new(KERNELS);
    module.branches();
    module.db.take_log();
    module.set_sum("leaf", Value::inst(InstId::from_raw(0.into())));
    assert_eq!(module.branches(), 2);
    module.happened(
        "divergent_branches",
        &expect![[r#"
        Run leaf
        Run second
        Run first
    "#]],
    );
}

#[test]
fn a_callee_is_asked_where_it_is_passed_something_else() {
    let mut module = Fixture::new(KERNELS);
    module.branches();
    module.db.take_log();
    module.set_sum("second", Value::inst(InstId::from_raw(0.into())));
    assert_eq!(module.branches(), 1);
    module.happened(
        "divergent_branches",
        &expect![[r#"
        Run second
        Run leaf
    "#]],
    );
}

/// What was read of the whole module stays as durable as it was: a pass that edits each function
/// once does not look at all functions each time.
#[test]
fn the_first_edit_of_a_function_looks_at_nothing_of_the_module() {
    let mut module = Fixture::new(KERNELS);
    let second = module.function("second");
    module.branches();
    module.set_sum("second", Value::arg(1));
    module.db.take_log();
    queries::divergence(&module.db, second);
    // The call graph is validated as a whole, without a check of its inputs.
    let names = module.db.take_log().into_iter().map(|entry| entry.query);
    let made_from = ["aliases", "named_by_shell", "language", "called_kernels", "mentions"];
    let looked: Vec<String> = names.filter(|name| made_from.contains(&&**name)).collect();
    assert_eq!(looked, Vec::<String>::new());
}

/// A module of small functions that call each other, in circles, too, and branch on what they get.
fn random_module(rng: &mut SmallRng) -> String {
    let count = rng.random_range(4..12);
    let mut text = String::from(
        "target triple = \"amdgcn-amd-amdhsa\"\ndeclare i32 @llvm.amdgcn.workitem.id.x()\n",
    );
    for at in 0..count {
        let (kind, end) = match at % 3 {
            0 => ("amdgpu_kernel void", "void"),
            1 => ("internal i32", "i32 %s3"),
            _ => ("i32", "i32 %s3"),
        };
        text.push_str(&format!(
            "define {kind} @f{at}(i32 %a, i32 %b) {{\n  \
             %id = call i32 @llvm.amdgcn.workitem.id.x()\n  %s0 = add i32 %a, %b\n"
        ));
        for call in 1..3 {
            // Kernels are not called; the last ones of both lists call back to the first.
            let callee = rng.random_range(0..count);
            let of = ["a", "b", "s0", "s1"][rng.random_range(0..=call + 1)];
            text.push_str(&match callee % 3 {
                0 => format!("  %s{call} = add i32 %{of}, 1\n"),
                _ => format!("  %s{call} = call i32 @f{callee}(i32 %{of}, i32 %b)\n"),
            });
        }
        text.push_str(&format!(
            "  %s3 = add i32 %s1, %s2\n  %c = icmp eq i32 %s3, 0\n  \
             br i1 %c, label %then, label %exit\nthen:\n  br label %exit\nexit:\n  ret {end}\n}}\n"
        ));
    }
    text
}

/// Another operand of a sum, a comparison or a call: an argument, or what stands above it; of a
/// call also another callee.
fn edit_at_random(module: &mut Fixture, rng: &mut SmallRng) {
    let functions = module.functions();
    let function = functions[rng.random_range(0..functions.len())];
    let ids: Vec<InstId> = function.body(&module.db).all_ids().collect();
    let at = rng.random_range(1..6);
    let callees: Vec<Value> = functions.iter().flat_map(|f| module.callees(*f)).collect();
    if callees.len() > 1 && module.callee(function, ids[at]).is_some() && rng.random_bool(0.3) {
        let callee = callees[rng.random_range(0..callees.len())];
        return module.set_callee(function, ids[at], callee);
    }
    let above = rng.random_range(0..at + 2);
    let value = if above < 2 { Value::arg(above as u32) } else { Value::inst(ids[above - 2]) };
    module.set(function, ids[at], value);
}

#[test]
fn counts_follow_random_edits() {
    for seed in 0..40 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut module = Fixture::new(&random_module(&mut rng));
        let mut is_whole = false;
        for step in 0..12 {
            for _ in 0..rng.random_range(1..4) {
                edit_at_random(&mut module, &mut rng);
                // Another change than one of a function.
                is_whole ^= rng.random_bool(0.1);
                module.db.set_whole(module.module, is_whole);
            }
            let expected = module.branches_from_scratch(is_whole);
            assert_eq!(module.branches(), expected, "seed {seed}, step {step}");
        }
    }
}
