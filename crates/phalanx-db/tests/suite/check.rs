//! What checking runs again after an edit: the function itself, and those whose facts the edit
//! changes.

mod below;
mod entered;
mod lanes;
mod left_out;
mod races;
mod scattered;
mod sizes;
mod together;

use std::sync::Arc;

use expect_test::{Expect, expect};
use phalanx_db::{Database, Did, ModuleInput, TargetOverrides, queries};
use phalanx_ir::{BuildError, Context, InstBuilder, Opcode, Value, builder::Callee};

/// `@kernel` and `@other` call `@meet`, which has a barrier; `@quiet` has nothing that a rule is
/// about.
const MODULE: &str = r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

define internal void @meet(i32 %wanted) {
entry:
  %c = icmp eq i32 %wanted, 7
  br i1 %c, label %then, label %exit
then:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %exit
exit:
  ret void
}

define ptx_kernel void @kernel(i32 %n) {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  call void @meet(i32 %n)
  ret void
}

define ptx_kernel void @other(i32 %n) {
  call void @meet(i32 4)
  ret void
}

define ptx_kernel void @quiet(ptr addrspace(1) %p) {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %id, ptr addrspace(1) %p
  ret void
}
"#;

struct Fixture {
    db: Database,
    context: Arc<Context>,
    module: ModuleInput,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture::of(MODULE)
    }

    fn of(text: &str) -> Fixture {
        let mut db = Database::with_event_log();
        let context = Arc::new(Context::new());
        let parsed = phalanx_llvm::parse_module(Arc::clone(&context), text.as_bytes())
            .unwrap_or_else(|e| panic!("{e:?}"));
        let module = db.load(parsed.module, Some(parsed.source_map), TargetOverrides::default());
        Fixture { db, context, module }
    }

    /// Findings of all functions, by code and function.
    fn check(&self) -> String {
        let mut out = Vec::new();
        for entry in self.module.functions(&self.db).iter().filter(|e| e.is_definition) {
            for finding in
                queries::diagnostics(&self.db, entry.input).as_deref().into_iter().flatten()
            {
                out.push(format!("{} in {}", finding.rule.code(), self.name(entry.input.id())));
            }
        }
        out.join("\n")
    }

    fn name(&self, id: phalanx_db::Id) -> String {
        let mut entries = self.module.functions(&self.db).iter();
        let symbol = entries.find(|e| e.input.id() == id).and_then(|e| e.name.symbol());
        symbol.map_or_else(|| "module".to_owned(), |s| self.context.text(s).into_owned())
    }

    /// Edits the text, checks again, and gives what is found and which functions were checked and
    /// solved.
    #[expect(clippy::needless_pass_by_value, reason = "`expect!` is written at the call")]
    fn edit(&mut self, from: &str, to: &str, expected: Expect) {
        self.check();
        let text = MODULE.replace(from, to);
        assert_ne!(text, MODULE);
        let parsed = phalanx_llvm::parse_module(Arc::clone(&self.context), text.as_bytes())
            .unwrap_or_else(|e| panic!("{e:?}"));
        self.db.reload(self.module, parsed.module, Some(parsed.source_map));
        self.db.take_log();
        let found = self.check();
        let mut ran: Vec<String> = self
            .db
            .take_log()
            .into_iter()
            .filter(|entry| entry.did == Did::Run)
            .filter(|entry| ["diagnostics", "divergence", "synchronizes"].contains(&&*entry.query))
            .map(|entry| format!("{}({})", entry.query, self.name(entry.key)))
            .collect();
        ran.sort();
        let or_nothing = |text: String| if text.is_empty() { "nothing".to_owned() } else { text };
        let (found, ran) = (or_nothing(found), or_nothing(ran.join(" ")));
        expected.assert_eq(&format!("found: {found}\nran: {ran}"));
    }
}

#[test]
fn an_edit_that_changes_nothing_that_matters_checks_its_function() {
    Fixture::new().edit(
        "store i32 %id, ptr",
        "store i32 7, ptr",
        expect![[r#"
            found: nothing
            ran: diagnostics(quiet)"#]],
    );
}

#[test]
fn an_argument_that_comes_to_differ_by_thread_checks_the_callee() {
    Fixture::new().edit(
        "call void @meet(i32 %n)",
        "call void @meet(i32 %id)",
        expect![[r#"
            found: PHX001 in meet
            ran: diagnostics(kernel) diagnostics(meet) divergence(meet)"#]],
    );
}

#[test]
fn a_barrier_that_goes_checks_the_callers() {
    Fixture::new().edit(
        "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n",
        "",
        expect![[r#"
            found: nothing
            ran: diagnostics(kernel) diagnostics(meet) diagnostics(other) synchronizes(meet)"#]],
    );
}

#[test]
fn a_comment_checks_nothing() {
    Fixture::new().edit(
        "define internal void @meet",
        "; a comment\ndefine internal void @meet",
        expect![[r#"
            found: nothing
            ran: nothing"#]],
    );
}

/// It is unknown whether a convergent call without a named callee waits for other threads. The same
/// holds for such a call in a callee.
#[test]
fn calls_of_nobody_who_is_named_are_not_judged() {
    let fixture = Fixture::of(
        r#"
target triple = "nvptx64-nvidia-cuda"
@other.name = alias void (), ptr @plain
define void @plain() { ret void }
define internal void @assembly() {
  call void asm sideeffect "bar.sync 0;", ""() convergent
  ret void
}
define internal void @strange() {
  call void asm sideeffect "strange.op;", ""()
  ret void
}
define internal void @harmless() {
  call void asm sideeffect "membar.cta;", ""()
  ret void
}
define internal void @through(ptr %callee) personality ptr null {
  invoke void %callee() convergent to label %exit unwind label %other
other:
  %pad = landingpad { ptr, i32 } cleanup
  br label %exit
exit:
  ret void
}
define internal void @by_alias() {
  call void @other.name()
  ret void
}
define ptx_kernel void @calls_assembly() {
  call void @assembly()
  ret void
}
define ptx_kernel void @calls_harmless() {
  call void @harmless()
  ret void
}
define ptx_kernel void @calls_through(ptr %callee) {
  call void @through(ptr %callee)
  ret void
}
define ptx_kernel void @calls_by_alias() {
  call void @by_alias()
  ret void
}
"#,
    );
    let mut out = String::new();
    for entry in fixture.module.functions(&fixture.db).iter().filter(|e| e.is_definition) {
        let (name, db) = (fixture.name(entry.input.id()), &fixture.db);
        let does = queries::synchronizes(db, entry.input);
        let is_judged = queries::barriers_are_judged(db, entry.input);
        out += &format!("{name}: {does:?}, {}\n", if is_judged { "judged" } else { "not judged" });
    }
    expect![[r#"
        plain: Silent, judged
        assembly: Barrier, judged
        strange: Unknown, not judged
        harmless: Silent, judged
        through: Unknown, not judged
        by_alias: Silent, judged
        calls_assembly: Barrier, judged
        calls_harmless: Silent, judged
        calls_through: Unknown, not judged
        calls_by_alias: Silent, judged
    "#]]
    .assert_eq(&out);
}

/// A copy to memory of others is seen by them, wherever it is made from.
#[test]
fn what_is_done_instead_of_a_barrier() {
    let kernel = |name: &str, copy: &str| {
        format!(
            "define ptx_kernel void @{name}(ptr addrspace(1) %p) \"nvvm.reqntid\"=\"64\" {{
             entry:
               %slot = alloca [4 x i32]
               %other.slot = alloca [4 x i32]
               %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
               %few = icmp ult i32 %id, 48
               br i1 %few, label %then, label %exit
             then:
               call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
               br label %exit
             exit:
               {copy}
               ret void
             }}\n"
        )
    };
    let mut text = String::from(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
         declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
         declare void @llvm.memcpy.p1.p0.i64(ptr addrspace(1), ptr, i64, i1)
         declare void @llvm.memcpy.p0.p1.i64(ptr, ptr addrspace(1), i64, i1)
         declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n",
    );
    for (name, spaces, to, from) in [
        ("out", "p1.p0", "ptr addrspace(1) %p", "ptr %slot"),
        ("in", "p0.p1", "ptr %slot", "ptr addrspace(1) %p"),
        ("within", "p0.p0", "ptr %other.slot", "ptr %slot"),
    ] {
        let call = format!("call void @llvm.memcpy.{spaces}.i64({to}, {from}, i64 16, i1 false)");
        text.push_str(&kernel(name, &call));
    }
    expect![[r#"
        PHX001 in out
        PHX003 in in
        PHX003 in within"#]]
    .assert_eq(&Fixture::of(&text).check());
}

/// `freeze` of poison may give any value, so nothing is known about which way threads go.
#[test]
fn whatever_is_poison_ends_the_evaluation() {
    let mut text = String::from(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
         declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n",
    );
    // By hand each is zero in all threads, and poison in some.
    for (name, value) in [
        ("exact", "%v = lshr exact i32 %id, 10"),
        ("exact.signed", "%v = ashr exact i32 %id, 10"),
        ("exact.quotient", "%v = udiv exact i32 %id, 1024"),
        ("disjoint", "%o = or disjoint i32 %id, 255\n%v = icmp ne i32 %o, 255"),
        (
            "not.negative",
            "%m = xor i32 %id, -1\n%w = zext nneg i32 %m to i64\n%v = lshr i64 %w, 32",
        ),
        ("cut", "%t = trunc nuw i32 %id to i7\n%w = zext i7 %t to i32\n%v = lshr i32 %w, 7"),
        ("cut.signed", "%t = trunc nsw i32 %id to i8\n%v = icmp slt i8 %t, -128"),
        ("one.sign", "%m = xor i32 %id, -1\n%v = icmp samesign eq i32 %m, %id"),
        ("fine", "%v = lshr i32 %id, 10"),
    ] {
        let ty = match name {
            "disjoint" | "cut.signed" | "one.sign" => "i1",
            "not.negative" => "i64",
            _ => "i32",
        };
        text.push_str(&format!(
            "define ptx_kernel void @{name}() \"nvvm.reqntid\"=\"256\" {{
             entry:
               %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
               {value}
               %f = freeze {ty} %v
               %c = icmp eq {ty} %f, 0
               br i1 %c, label %then, label %exit
             then:
               call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
               br label %exit
             exit:
               ret void
             }}\n"
        ));
    }
    expect![[r#"
        PHX003 in exact
        PHX003 in exact.signed
        PHX003 in exact.quotient
        PHX003 in disjoint
        PHX003 in not.negative
        PHX003 in cut
        PHX003 in cut.signed
        PHX003 in one.sign"#]]
    .assert_eq(&Fixture::of(&text).check());
}

/// A barrier with a count is a barrier of all threads only if the count equals the size of the
/// workgroup, and no other code takes part in the same barrier.
#[test]
fn barriers_of_some_threads_are_told_from_those_of_all() {
    let kernel = |name: &str, size: u32, count: u32, besides: &str| {
        format!(
            "define ptx_kernel void @{name}() \"nvvm.reqntid\"=\"{size}\" {{
             entry:
               %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
               %few = icmp ult i32 %id, 48
               {besides}
               br i1 %few, label %then, label %exit
             then:
               call void @llvm.nvvm.barrier.cta.sync.count(i32 1, i32 {count})
               br label %exit
             exit:
               ret void
             }}\n"
        )
    };
    let mut text = String::from(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
         declare void @llvm.nvvm.barrier.cta.sync.count(i32, i32)
         declare void @may_count()\n",
    );
    text.push_str(&kernel("all", 64, 64, ""));
    text.push_str(&kernel("half", 128, 64, ""));
    text.push_str(&kernel("with_others", 64, 64, "call void @may_count()"));
    expect!["PHX003 in all"].assert_eq(&Fixture::of(&text).check());
}

/// The cluster's is signalled by one wave of each workgroup, a named one by those that have joined:
/// neither is judged.
#[test]
fn amd_barriers_are_told_apart_by_their_numbers() {
    let kernel = |name: &str, number: i32| {
        format!(
            "define amdgpu_kernel void @{name}() {{
             entry:
               %group = call i32 @llvm.amdgcn.workgroup.id.x()
               %first = icmp eq i32 %group, 0
               br i1 %first, label %then, label %exit
             then:
               call void @llvm.amdgcn.s.barrier.signal(i32 {number})
               br label %exit
             exit:
               call void @llvm.amdgcn.s.barrier.wait(i16 {number})
               ret void
             }}\n"
        )
    };
    let mut text = String::from(
        "target triple = \"amdgcn-amd-amdhsa\"
         declare i32 @llvm.amdgcn.workgroup.id.x()
         declare void @llvm.amdgcn.s.barrier.signal(i32)
         declare void @llvm.amdgcn.s.barrier.wait(i16)\n",
    );
    for (name, number) in [("workgroup", -1), ("cluster", -3), ("named", 1)] {
        text.push_str(&kernel(name, number));
    }
    expect!["PHX009 in workgroup"].assert_eq(&Fixture::of(&text).check());
}

/// An edit of a large function adds a call: from then on the facts of the callee count.
#[test]
fn a_function_that_is_called_since_an_edit() {
    let mut text = String::from(
        r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

define internal void @helper() {
  ret void
}

define ptx_kernel void @kernel(i32 %n) {
entry:
  %s0 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %c = icmp eq i32 %s0, 3
  br i1 %c, label %some, label %exit
some:
"#,
    );
    (0..300).for_each(|at| text.push_str(&format!("  %s{} = add i32 %s{at}, %n\n", at + 1)));
    text.push_str("  br label %exit\nexit:\n  ret void\n}\n");
    let mut fixture = Fixture::of(&text);
    let function = |f: &Fixture, name: &str| {
        let symbol = f.context.find_symbol(name.as_bytes()).expect("it is interned");
        let mut entries = f.module.functions(&f.db).iter();
        entries.find(|e| e.name.symbol() == Some(symbol)).expect("it is there").input
    };
    let callee = |f: &Fixture, name: &str| {
        let header = function(f, name).header(&f.db);
        Callee::indirect(f.context.const_global(header.name, 0).into(), header.ty)
    };
    let kernel = function(&fixture, "kernel");
    let sum = |f: &Fixture| {
        let body = kernel.body(&f.db);
        body.all_ids().find(|&at| body.inst(at).opcode == Opcode::Add).expect("it adds")
    };
    let first = sum(&fixture);
    for number in 0..3 {
        let number = Value::constant(fixture.context.const_i32(number));
        let done: Result<(), BuildError> =
            fixture.db.edit(kernel, |edit| edit.set_operand(first, 1, number));
        done.expect("it breaks no rule");
        assert_eq!(fixture.check(), "");
    }
    let helper = callee(&fixture, "helper");
    let done: Result<Value, BuildError> =
        fixture.db.edit(kernel, |edit| edit.before(first).call(helper, &[]));
    done.expect("it can be called");
    assert_eq!(fixture.check(), "");
    let barrier = callee(&fixture, "llvm.nvvm.barrier.cta.sync.aligned.all");
    let zero = Value::constant(fixture.context.const_i32(0));
    let called = function(&fixture, "helper");
    let last = called.body(&fixture.db).all_ids().next().expect("it returns");
    let done: Result<Value, BuildError> =
        fixture.db.edit(called, |edit| edit.before(last).call(barrier, &[zero]));
    done.expect("it can wait");
    expect!["PHX003 in kernel"].assert_eq(&fixture.check());
}

#[test]
fn a_mask_that_is_computed_since_an_edit_is_taken_to_be_right() {
    let sums: String = (1..300).map(|at| format!("  %s{at} = add i32 %s{}, 1\n", at - 1)).collect();
    let text = format!(
        r#"target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
define ptx_kernel void @kernel(i32 %mask) {{
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %s0 = add i32 %mask, 1
{sums}  %c = icmp slt i32 %id, 5
  br i1 %c, label %then, label %exit
then:
  %b = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 true)
  br label %exit
exit:
  ret void
}}
"#
    );
    let mut fixture = Fixture::of(&text);
    let kernel = fixture.module.functions(&fixture.db)[2].input;
    assert!(kernel.is_large(&fixture.db));
    let found = fixture.check();
    expect!["PHX006 in kernel"].assert_eq(&found);
    let body = kernel.body(&fixture.db);
    let order = kernel.flow(&fixture.db).order();
    let insts = order.iter().flat_map(|&block| body.block_insts(block));
    let calls: Vec<_> = insts.filter(|&inst| body.inst(inst).opcode == Opcode::Call).collect();
    let ballot = calls[1];
    let constant = body.operands(ballot)[0];
    let mut with_mask = |mask: Value| {
        let done: Result<(), BuildError> =
            fixture.db.edit(kernel, |edit| edit.set_operand(ballot, 0, mask));
        done.expect("the value is there");
        fixture.check()
    };
    for _ in 0..3 {
        assert_eq!(with_mask(Value::arg(0)), "", "whoever computed it knows");
        assert_eq!(with_mask(constant), found);
    }
}

/// A constant mask is right if all that it names in a wave come when one comes.
#[test]
fn a_mask_that_names_those_who_come_is_right() {
    let text = |[number, mask]: [&str; 2], launch: &str| {
        found(&format!(
            r#"target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
define ptx_kernel void @kernel(ptr addrspace(1) %p) {launch} {{
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %id, 31
  %c = icmp ult i32 {number}
  br i1 %c, label %then, label %exit
then:
  %b = call i32 @llvm.nvvm.vote.ballot.sync(i32 {mask}, i1 true)
  br label %exit
exit:
  store i32 %id, ptr addrspace(1) %p
  ret void
}}
"#
        ))
    };
    let exact = "\"nvvm.reqntid\"=\"64\"";
    assert_eq!(text(["%id, 8", "255"], exact), "");
    assert_eq!(text(["%lane, 8", "255"], exact), "");
    // In the second wave there are eight as well; in the first one others come that are not named.
    assert_eq!(text(["%id, 40", "255"], exact), "kernel: error PHX014\n");
    assert_eq!(text(["%id, 40", "-1"], exact), "kernel: warning PHX006\n");
    assert_eq!(text(["%id, 36", "255"], exact), "kernel: warning PHX006\nkernel: error PHX014\n");
    assert_eq!(text(["%id, 8", "511"], exact), "kernel: error PHX006\n");
    // If rows are whole waves.
    assert_eq!(text(["%id, 8", "255"], ""), "kernel: note PHX006\n");
    assert_eq!(text(["%id, 8", "511"], ""), "kernel: error PHX006\n");
}

/// Rules and levels of everything that is found in a module, by function.
fn found(text: &str) -> String {
    let fixture = Fixture::of(text);
    let db = &fixture.db;
    let mut out = String::new();
    for entry in fixture.module.functions(db).iter().filter(|e| e.is_definition) {
        for finding in queries::diagnostics(db, entry.input).as_deref().into_iter().flatten() {
            let (name, level) = (fixture.name(entry.input.id()), finding.level.name());
            out += &format!("{name}: {level} {}\n", finding.rule.code());
        }
    }
    out
}

/// A function that only dead ones call is not executed either.
#[test]
fn who_is_reached_from_dead_functions_only_is_not_judged() {
    let text = |caller: &str| {
        format!(
            r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define internal void @meet(i32 %wanted) {{
  %c = icmp eq i32 %wanted, 7
  br i1 %c, label %then, label %exit
then:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %exit
exit:
  ret void
}}
define internal void @between() {{
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  call void @meet(i32 %id)
  ret void
}}
define {caller} void @caller() {{
  call void @between()
  ret void
}}
"#
        )
    };
    assert_eq!(found(&text("internal")), "");
    assert_eq!(found(&text("ptx_kernel")), "meet: warning PHX001\n");
}
