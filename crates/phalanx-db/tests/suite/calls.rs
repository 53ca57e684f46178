//! Summaries, arguments and the call graph, by small modules.

mod table;

mod launches;
mod through;

use std::sync::Arc;

use expect_test::{Expect, expect};
use phalanx_analysis::lower::Numbering;
use phalanx_db::{Database, FunctionInput, ModuleInput, TargetOverrides, queries};
use phalanx_ir::{Context, FunctionHeader, Opcode};
use phalanx_target::SourceSet;

const HEAD: &str = r#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare void @llvm.amdgcn.s.barrier()
declare i32 @outside(i32)
declare i32 @promised(i32) nodivergencesource
"#;

struct Module {
    db: Database,
    context: Arc<Context>,
    module: ModuleInput,
}

impl Module {
    fn new(text: &str) -> Module {
        let context = Arc::new(Context::new());
        let text = format!("{HEAD}{text}");
        let parsed = phalanx_llvm::parse_module(Arc::clone(&context), text.as_bytes())
            .unwrap_or_else(|e| panic!("{e:?}"));
        let mut db = Database::with_event_log();
        let module = db.load(parsed.module, None, TargetOverrides::default());
        Module { db, context, module }
    }

    fn name(&self, header: &FunctionHeader) -> String {
        header.name.symbol().map(|s| self.context.text(s).into_owned()).unwrap_or_default()
    }

    fn definitions(&self) -> Vec<(String, FunctionInput)> {
        let entries = self.module.functions(&self.db).iter().filter(|e| e.is_definition);
        entries.map(|e| (self.name(e.input.header(&self.db)), e.input)).collect()
    }

    fn function(&self, name: &str) -> FunctionInput {
        self.definitions().into_iter().find(|(n, _)| n == name).expect("it exists").1
    }

    /// What is known of each function and of each call.
    fn facts(&self) -> String {
        let mut out = String::new();
        for (name, input) in self.definitions() {
            let code = input.view(&self.db);
            let is_kernel = queries::is_kernel(&self.db, input);
            if !is_kernel {
                let summary = queries::summary(&self.db, input);
                let of = |o: &phalanx_analysis::summary::Outcome| {
                    format!("{} {:?}", o.sources, o.arguments)
                };
                out.push_str(&format!("@{name}: {}", of(&summary.result)));
                for member in &summary.members {
                    out.push_str(&format!("; {}", of(member)));
                }
                let arguments = queries::argument_facts(&self.db, input);
                match arguments {
                    Some(known) => out.push_str(&format!(" called with {known:?}")),
                    None => out.push_str(" called by anybody"),
                }
                out.push('\n');
            }
            let answer = queries::divergence(&self.db, input).as_ref().expect("it has a body");
            let numbering = Numbering::new(code.header);
            for &block in code.flow.order() {
                for inst in code.body.block_insts(block) {
                    let name = code.extras.names.inst(inst).unwrap_or_default();
                    if code.body.inst(inst).opcode == Opcode::Call && name.starts_with(b"r") {
                        let name = String::from_utf8_lossy(name);
                        let sources = answer.value(numbering.inst(inst));
                        out.push_str(&format!("  %{name} {sources}\n"));
                    }
                }
            }
        }
        out
    }
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&Module::new(text).facts());
}

#[test]
fn a_result_follows_the_arguments_it_depends_on() {
    check(
        "define internal i32 @first(i32 %a, i32 %b) {
           %s = add i32 %a, 1
           ret i32 %s
         }
         define amdgpu_kernel void @k(i32 %n) {
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %r1 = call i32 @first(i32 %n, i32 %x)
           %r2 = call i32 @first(i32 %x, i32 %n)
           ret void
         }",
        &expect![[r#"
            @first: {} [plain, {}] called with [{x}, {x}]
              %r1 {}
              %r2 {x}
        "#]],
    );
}

#[test]
fn a_function_brings_its_own_sources() {
    check(
        "define i32 @lane() {
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           ret i32 %x
         }
         define i32 @group(i32 %a) {
           %b = call i32 @llvm.amdgcn.workgroup.id.x()
           %l = call i32 @lane()
           %s = add i32 %a, %b
           ret i32 %s
         }
         define weak i32 @another_may_come(i32 %a) {
           ret i32 %a
         }
         define amdgpu_kernel void @k(i32 %n) {
           %r1 = call i32 @lane()
           %r2 = call i32 @group(i32 %r1)
           %r3 = call i32 @group(i32 %n)
           %r4 = call i32 @another_may_come(i32 %n)
           %r5 = call i32 @outside(i32 %n)
           %r6 = call i32 @promised(i32 %n)
           %r7 = call i32 @promised(i32 %r1)
           ret void
         }",
        &expect![[r#"
            @lane: {x} [] called by anybody
            @group: {block.x} [plain] called by anybody
            @another_may_come: {opaque.thread} [] called by anybody
              %r1 {x}
              %r2 {x, block.x}
              %r3 {block.x}
              %r4 {opaque.thread}
              %r5 {opaque.thread}
              %r6 {opaque.wave}
              %r7 {opaque.thread, opaque.wave}
        "#]],
    );
}

#[test]
fn what_collapses_sources_does_so_behind_a_call() {
    check(
        "define internal i32 @first_lane(i32 %a, i32 %b) {
           %r = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %a)
           ret i32 %r
         }
         define internal i32 @both(i32 %a, i32 %b) {
           %r = call i32 @first_lane(i32 %a, i32 %b)
           %s = add i32 %r, %b
           ret i32 %s
         }
         define amdgpu_kernel void @k(i32 %n) {
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %b = call i32 @llvm.amdgcn.workgroup.id.x()
           %r1 = call i32 @first_lane(i32 %x, i32 %x)
           %r2 = call i32 @first_lane(i32 %b, i32 %x)
           %r3 = call i32 @both(i32 %x, i32 %b)
           ret void
         }",
        &expect![[r#"
            @first_lane: {} [{"rest", "wave"}, {}] called with [{x, block.x}, {x, block.x}]
              %r {block.x, opaque.wave}
            @both: {} [{"rest", "wave"}, plain] called with [{x}, {block.x}]
              %r {opaque.wave}
              %r1 {opaque.wave}
              %r2 {block.x}
              %r3 {x, block.x, opaque.wave}
        "#]],
    );
}

#[test]
fn threads_that_return_apart_meet_at_the_call() {
    check(
        "define internal i32 @apart(i32 %c) {
           %d = icmp eq i32 %c, 0
           br i1 %d, label %one, label %two
         one:
           ret i32 1
         two:
           ret i32 2
         }
         define internal i32 @apart_for_the_same(i32 %c) {
           %d = icmp eq i32 %c, 0
           br i1 %d, label %one, label %two
         one:
           ret i32 1
         two:
           ret i32 1
         }
         define internal i32 @together_again(i32 %c, i32 %e) {
           %d = icmp eq i32 %c, 0
           br i1 %d, label %then, label %join
         then:
           br label %join
         join:
           %f = icmp eq i32 %e, 0
           br i1 %f, label %one, label %two
         one:
           ret i32 1
         two:
           ret i32 2
         }
         define internal i32 @leaving_a_loop(i32 %c, i32 %e) {
         entry:
           br label %loop
         loop:
           %i = phi i32 [ 0, %entry ], [ %j, %next ]
           %d = icmp eq i32 %c, %i
           br i1 %d, label %one, label %next
         next:
           %j = add i32 %i, 1
           %f = icmp eq i32 %e, %j
           br i1 %f, label %two, label %loop
         one:
           ret i32 %i
         two:
           ret i32 %j
         }
         define amdgpu_kernel void @k(i32 %n) {
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %r1 = call i32 @apart(i32 %x)
           %r2 = call i32 @apart_for_the_same(i32 %x)
           %r3 = call i32 @together_again(i32 %x, i32 %n)
           %r4 = call i32 @leaving_a_loop(i32 %n, i32 %n)
           ret void
         }",
        &expect![[r#"
            @apart: {} [plain] called with [{x}]
            @apart_for_the_same: {} [{}] called with [{x}]
            @together_again: {} [{}, plain] called with [{x}, {}]
            @leaving_a_loop: {} [plain, plain] called with [{}, {}]
              %r1 {x}
              %r2 {}
              %r3 {}
              %r4 {}
        "#]],
    );
}

#[test]
fn members_of_a_result_are_told_apart() {
    check(
        "define internal { i32, i32 } @pair(i32 %a, i32 %b) {
           %1 = insertvalue { i32, i32 } poison, i32 %a, 0
           %2 = insertvalue { i32, i32 } %1, i32 %b, 1
           ret { i32, i32 } %2
         }
         define amdgpu_kernel void @k(i32 %n) {
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %r1 = call { i32, i32 } @pair(i32 %n, i32 %x)
           %a = extractvalue { i32, i32 } %r1, 0
           %r2 = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %a)
           ret void
         }",
        &expect![[r#"
            @pair: {} [plain, plain]; {} [plain, {}]; {} [{}, plain] called with [{}, {x}]
              %r1 {x}
              %r2 {}
        "#]],
    );
}

#[test]
fn recursion_ends_in_the_least_solution() {
    check(
        "define internal i32 @even(i32 %n, i32 %a) {
           %z = icmp eq i32 %n, 0
           br i1 %z, label %stop, label %go
         stop:
           ret i32 %a
         go:
           %m = sub i32 %n, 1
           %r = call i32 @odd(i32 %m, i32 %a)
           ret i32 %r
         }
         define internal i32 @odd(i32 %n, i32 %a) {
           %z = icmp eq i32 %n, 0
           br i1 %z, label %stop, label %go
         stop:
           ret i32 7
         go:
           %m = sub i32 %n, 1
           %r = call i32 @even(i32 %m, i32 %a)
           ret i32 %r
         }
         define amdgpu_kernel void @k(i32 %n) {
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %r1 = call i32 @even(i32 %n, i32 %x)
           ret void
         }",
        &expect![[r#"
            @even: {} [plain, plain] called with [{}, {x}]
              %r {x}
            @odd: {} [plain, plain] called with [{}, {x}]
              %r {x}
              %r1 {x}
        "#]],
    );
}

#[test]
fn arguments_are_those_of_all_calls() {
    check(
        "define internal i32 @known(i32 %a, i32 %b) {
           %r = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %b)
           ret i32 %a
         }
         define internal i32 @taken(i32 %a) {
           ret i32 %a
         }
         define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) {
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %r1 = call i32 @known(i32 %n, i32 %n)
           %c = icmp eq i32 %x, 0
           br i1 %c, label %then, label %exit
         then:
           %b = call i32 @llvm.amdgcn.workgroup.id.x()
           %r2 = call i32 @known(i32 %x, i32 %b)
           store ptr @taken, ptr addrspace(1) %p
           br label %exit
         exit:
           ret void
         }",
        &expect![[r#"
            @known: {} [plain, {}] called with [{x}, {block.x}]
              %r {block.x}
            @taken: {} [plain] called by anybody
              %r1 {}
              %r2 {x}
        "#]],
    );
}

/// The callee does not need the argument for its result, but uses it: the moment at which threads
/// left the loop counts.
#[test]
fn an_argument_from_a_loop_is_of_another_round_for_each_thread() {
    check(
        "define internal i32 @unused(i32 %a) {
           %r = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %a)
           ret i32 0
         }
         define amdgpu_kernel void @k() {
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           br label %loop
         loop:
           %i = phi i32 [ 0, %entry ], [ %j, %loop ]
           %j = add i32 %i, 1
           %c = icmp ult i32 %j, %x
           br i1 %c, label %loop, label %exit
         exit:
           %r1 = call i32 @unused(i32 %j)
           ret void
         }",
        &expect![[r#"
            @unused: {} [{}] called with [{x}]
              %r {opaque.wave}
              %r1 {}
        "#]],
    );
}

/// Linkage says that others may call; the driver says that they do not.
#[test]
fn all_of_a_program() {
    let mut module = Module::new(
        "define i32 @visible(i32 %a) {
           ret i32 %a
         }
         define amdgpu_kernel void @k(i32 %n) {
           %r = call i32 @visible(i32 %n)
           ret void
         }",
    );
    let facts = |m: &Module| queries::argument_facts(&m.db, m.function("visible")).clone();
    let returned = |m: &Module| {
        let answer = queries::divergence(&m.db, m.function("visible")).as_ref();
        answer.expect("it has a body").value(phalanx_core::Value::from_raw(0)).to_string()
    };
    assert_eq!((facts(&module), returned(&module).as_str()), (None, "{opaque.thread}"));
    module.db.set_whole(module.module, true);
    assert_eq!(facts(&module), Some(vec![SourceSet::EMPTY]));
    assert_eq!(returned(&module), "{}");
    module.db.set_whole(module.module, false);
    assert_eq!((facts(&module), returned(&module).as_str()), (None, "{opaque.thread}"));
}

/// Another definition may come from elsewhere, compiled from the same source in another way, unless
/// there is no elsewhere.
#[test]
fn definitions_in_all_of_a_program() {
    for linkage in ["linkonce_odr", "weak_odr", "linkonce", "weak"] {
        let mut module = Module::new(&format!(
            "define {linkage} i32 @returns(i32 %a) {{
               ret i32 %a
             }}
             define amdgpu_kernel void @k(i32 %n) {{
               %r = call i32 @returns(i32 %n)
               ret void
             }}"
        ));
        let result = |m: &Module| {
            let answer = queries::divergence(&m.db, m.function("k")).as_ref();
            answer.expect("it has a body").value(phalanx_core::Value::from_raw(1)).to_string()
        };
        assert_eq!(result(&module), "{opaque.thread}", "{linkage}");
        module.db.set_whole(module.module, true);
        assert_eq!(result(&module), "{}", "{linkage}");
    }
}

/// A chain of calls that is longer than any stack: what is far away is not known, and nothing
/// overflows.
#[test]
fn a_long_chain_of_calls() {
    let mut text = String::from("define internal i32 @f0(i32 %a) {\n ret i32 %a\n}\n");
    for at in 1..10_000 {
        text.push_str(&format!(
            "define internal i32 @f{at}(i32 %a) {{
               %r = call i32 @f{}(i32 %a)
               ret i32 %r
             }}\n",
            at - 1
        ));
    }
    text.push_str(
        "define amdgpu_kernel void @k(i32 %n) {
           %r1 = call i32 @f9999(i32 %n)
           %r2 = call i32 @f10(i32 %n)
           ret void
         }",
    );
    let module = Module::new(&text);
    let value = |name: &str, of: &str| {
        let input = module.function(name);
        let code = input.view(&module.db);
        let answer = queries::divergence(&module.db, input).as_ref().expect("it has a body");
        let mut ids = code.body.all_ids();
        let found = ids.find(|&i| code.extras.names.inst(i) == Some(of.as_bytes()));
        answer.value(Numbering::new(code.header).inst(found.expect("it is named"))).to_string()
    };
    assert_eq!(value("k", "r1"), "{opaque.thread}");
    assert_eq!(value("k", "r2"), "{}");
    assert_eq!(value("f9999", "r"), "{opaque.thread}");
    assert_eq!(value("f5000", "r"), "{opaque.thread}");
}

/// What is called by a call that may unwind gives what it gives to others.
#[test]
fn invoked_functions_have_summaries() {
    check(
        "define internal i32 @first(i32 %a, i32 %b) {
           ret i32 %a
         }
         define internal i32 @round(i32 %a, i32 %b) personality ptr null {
           %r = invoke i32 @first(i32 %a, i32 %b) to label %ok unwind label %pad
         ok:
           ret i32 %r
         pad:
           %caught = landingpad { ptr, i32 } cleanup
           resume { ptr, i32 } %caught
         }
         define amdgpu_kernel void @k(i32 %n) {
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %r1 = call i32 @round(i32 %n, i32 %x)
           %r2 = call i32 @round(i32 %x, i32 %n)
           ret void
         }",
        &expect![[r#"
            @first: {} [plain, {}] called with [{x}, {x}]
            @round: {} [plain, {}] called with [{x}, {x}]
              %r1 {}
              %r2 {x}
        "#]],
    );
}

/// Clang may leave a function in the module after inlining it everywhere. It has no callers, so its
/// calls do not count. A function whose callers are all of this kind keeps them.
#[test]
fn functions_that_are_never_executed_pass_nothing_to_those_that_are() {
    let text = "define amdgpu_kernel void @k(i32 %n) {
           call void @left(i32 %n)
           ret void
         }
         define internal void @dead(i32 %n) {
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           call void @left(i32 %x)
           call void @below(i32 7)
           ret void
         }
         define internal void @below(i32 %n) {
           call void @left(i32 %n)
           ret void
         }
         define internal void @left(i32 %n) {
           ret void
         }";
    expect![[r#"
        @dead: {} [] called by anybody
        @below: {} [] called with [{}]
        @left: {} [] called with [{}]
    "#]]
    .assert_eq(&Module::new(text).facts());
}
