//! Where pointers come from that go by way of a stack slot, and structures that a kernel is passed
//! by value and writes: in code as it is compiled without optimisation, and after edits.

#[path = "support.rs"]
mod support;

use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::{InstBuilder as _, InstId, Value};
use phalanx_target::SourceSet;
use support::Fixture;

const LONG: [usize; 2] = [3, 2_000];

/// `long` unrelated instructions: a large function retains state.
fn padding(long: usize) -> String {
    (1..=long).map(|at| format!("  %pad{at} = add i32 %n, {at}\n")).collect()
}

fn of(db: &Database, function: FunctionInput, inst: InstId) -> SourceSet {
    let found = queries::divergence(db, function).as_ref().expect("it has a body");
    let numbering = phalanx_analysis::lower::Numbering::new(function.header(db));
    found.value(numbering.inst(inst))
}

/// What is said of a value, which a new database has to say as well.
fn sources(fixture: &Fixture, name: &str) -> SourceSet {
    let inst = fixture.named(name);
    let found = of(&fixture.db, fixture.edited(), inst);
    let (cold, entries) = fixture.cold();
    let at = fixture.module.functions(&fixture.db).iter();
    let at = at.zip(&entries).find(|(warm, _)| warm.input == fixture.edited());
    let (_, entry) = at.expect("it is there");
    assert_eq!(found, of(&cold, entry.input, inst), "%{name}, warm and cold");
    found
}

/// A generic pointer of a kernel that is put into a slot and loaded again leads to device memory,
/// like the argument; not so where something else may be in the slot.
#[test]
fn pointers_by_way_of_slots() {
    for long in LONG {
        let text = format!(
            "target triple = \"nvptx64-nvidia-cuda\"
declare void @look(ptr)
define ptx_kernel void @kernel(ptr %in, ptr %other, i32 %n) {{
entry:
  %slot = alloca ptr
  %table = alloca ptr
  %unknown = load ptr, ptr %in
{}  %first = getelementptr ptr, ptr %in, i64 1
  store ptr %first, ptr %slot
  %again = load ptr, ptr %slot
  %place = getelementptr i32, ptr %again, i64 2
  store ptr %place, ptr %table
  %twice = load ptr, ptr %table
  %v = load i32, ptr %twice
  call void @look(ptr null)
  ret void
}}\n",
            padding(long)
        );
        let mut fixture = Fixture::of(&text, "kernel");
        let (store, call) = {
            let body = fixture.edited().body(&fixture.db);
            let first = Value::inst(fixture.named("first"));
            let store = body.uses_of(first).next().expect("it is stored").user;
            let is_call = |inst: &InstId| body.inst(*inst).opcode.is_call();
            (store, body.all_ids().find(is_call).expect("there is a call"))
        };
        let is_shared =
            |fixture: &Fixture| !sources(fixture, "v").contains(SourceSet::OPAQUE_THREAD);
        assert!(is_shared(&fixture), "{long}");
        let [first, unknown, slot] =
            ["first", "unknown", "slot"].map(|name| Value::inst(fixture.named(name)));
        let null = Value::constant(fixture.context.const_null(phalanx_ir::Type::PTR));
        let all = [
            (unknown, false),
            (Value::arg(1), true),
            (unknown, false),
            (first, true),
            (null, true),
        ];
        for (stored, expected) in all {
            fixture.edit(|edit| edit.set_operand(store, 0, stored));
            assert_eq!(is_shared(&fixture), expected, "{long} {stored:?}");
        }
        // An unknown function gets the address of the slot, and then no longer.
        for round in 0..2 {
            fixture.edit(|edit| edit.set_operand(call, 0, slot));
            assert!(!is_shared(&fixture), "{long} {round}");
            fixture.edit(|edit| edit.set_operand(call, 0, null));
            assert!(is_shared(&fixture), "{long} {round}");
        }
        // A store is gone that put something else there.
        let other = fixture.edit(|edit| edit.before(store).store(unknown, slot));
        assert!(!is_shared(&fixture), "{long}");
        fixture.edit(|edit| edit.erase(other));
        assert!(is_shared(&fixture), "{long}");
    }
}

/// Each thread has a copy of what a kernel is passed by value. What it writes there is what it
/// loads, and the rest is what the host passed.
#[test]
fn structures_that_a_kernel_is_passed_and_writes() {
    for long in LONG {
        let text = format!(
            "target triple = \"nvptx64-nvidia-cuda\"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
define internal void @limit(ptr %s, i32 %by) {{
  %at = getelementptr i8, ptr %s, i64 8
  store i32 %by, ptr %at
  ret void
}}
define ptx_kernel void @kernel(ptr byval({{ i32, i32, i32, i32 }}) align 4 %s, i32 %n) {{
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %c = icmp slt i32 %tid, %n
{}  %at1 = getelementptr i8, ptr %s, i64 4
  %at2 = getelementptr i8, ptr %s, i64 8
  %at3 = getelementptr i8, ptr %s, i64 12
  store i32 %block, ptr %at1
  call void @limit(ptr %s, i32 %block)
  br i1 %c, label %then, label %join
then:
  store i32 %n, ptr %at3
  br label %join
join:
  %v0 = load i32, ptr %s
  %v1 = load i32, ptr %at1
  %v2 = load i32, ptr %at2
  %v3 = load i32, ptr %at3
  ret void
}}\n",
            padding(long)
        );
        let mut fixture = Fixture::of(&text, "kernel");
        let block = SourceSet::BLOCK_X;
        let found = |fixture: &Fixture| ["v0", "v1", "v2", "v3"].map(|name| sources(fixture, name));
        let before = found(&fixture);
        // Some threads have written the last one: what they had is another number than what was
        // passed.
        assert_eq!(before, [SourceSet::EMPTY, block, block, SourceSet::X], "{long}");
        let store = {
            let body = fixture.edited().body(&fixture.db);
            let at = Value::inst(fixture.named("at1"));
            let is_store = |inst: &InstId| body.inst(*inst).opcode == phalanx_ir::Opcode::Store;
            body.uses_of(at).map(|of| of.user).find(is_store).expect("it is written")
        };
        for round in 0..2 {
            let tid = Value::inst(fixture.named("tid"));
            fixture.edit(|edit| edit.set_operand(store, 0, tid));
            assert_eq!(found(&fixture)[1], SourceSet::X, "{long} {round}");
            let block = Value::inst(fixture.named("block"));
            fixture.edit(|edit| edit.set_operand(store, 0, block));
            assert_eq!(found(&fixture), before, "{long} {round}");
        }
        // Its address escapes: then it may hold anything.
        let s = Value::arg(0);
        let at = fixture.edited().body(&fixture.db).operands(store)[1];
        let escape = fixture.edit(|edit| edit.before(store).store(s, at));
        assert!(found(&fixture).iter().all(|v| v.contains(SourceSet::OPAQUE_THREAD)), "{long}");
        fixture.edit(|edit| edit.erase(escape));
        assert_eq!(found(&fixture), before, "{long}");
    }
}

/// A kernel that passes a structure by reference, as clang compiles OpenCL for AMD GPUs, and a
/// function that reads a member of it at once and another from a copy of its own.
fn by_reference(long: usize, more: &str) -> Fixture {
    Fixture::of(&by_reference_text(long, more), "kernel")
}

fn by_reference_text(long: usize, more: &str) -> String {
    let padding: String = (1..=long).map(|at| format!("  %pad{at} = add i32 %n, {at}\n")).collect();
    format!(
        "target triple = \"amdgcn-amd-amdhsa\"
%big = type {{ i32, [20 x i32] }}
@there = external addrspace(1) global ptr addrspace(5)
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.memcpy.p5.p4.i64(ptr addrspace(5), ptr addrspace(4), i64, i1)
declare void @llvm.memcpy.p5.p5.i64(ptr addrspace(5), ptr addrspace(5), i64, i1)
define internal i32 @body(ptr addrspace(5) byref(%big) align 4 %s) {{
  %mine = alloca %big, align 4, addrspace(5)
  call void @llvm.memcpy.p5.p5.i64(ptr addrspace(5) %mine, ptr addrspace(5) %s, i64 84, i1 false)
  %first = load i32, ptr addrspace(5) %s
  %at = getelementptr i8, ptr addrspace(5) %mine, i64 8
  %third = load i32, ptr addrspace(5) %at
  %v = add i32 %first, %third
  ret i32 0
}}
define amdgpu_kernel void @kernel(ptr addrspace(4) byref(%big) align 4 %passed, i32 %n) {{
entry:
  %s = alloca %big, align 4, addrspace(5)
  %hold = alloca i32, align 4, addrspace(5)
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  call void @llvm.memcpy.p5.p4.i64(ptr addrspace(5) %s, ptr addrspace(4) %passed, i64 84, i1 false)
  %at = getelementptr i8, ptr addrspace(5) %s, i64 12
{padding}  store i32 %n, ptr addrspace(5) %at
  store i32 %n, ptr addrspace(5) %hold
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 9
  br i1 %more, label %loop, label %done
done:
  %r = call i32 @body(ptr addrspace(5) byref(%big) align 4 %s)
  ret void
}}
{more}"
    )
}

/// What the function that is called finds in the structure, which a new database has to say as
/// well.
fn found_in_body(fixture: &Fixture) -> SourceSet {
    let function = fixture.function("body");
    let code = function.view(&fixture.db);
    let named = |inst: &InstId| code.extras.names.inst(*inst) == Some(b"v");
    let v = code.body.all_ids().find(named).expect("it has the name");
    let warm = of(&fixture.db, function, v);
    let (cold, entries) = fixture.cold();
    let mut at = fixture.module.functions(&fixture.db).iter().zip(&entries);
    let (_, entry) = at.find(|(warm, _)| warm.input == function).expect("it is there");
    assert_eq!(warm, of(&cold, entry.input, v), "warm and cold");
    warm
}

/// What a function reads from a structure that it is passed by reference is what its caller has put
/// there before the call.
#[test]
fn structures_that_are_passed_by_reference() {
    for long in LONG {
        let mut fixture = by_reference(long, "");
        let [tid, group, at, i] =
            ["tid", "group", "at", "i"].map(|name| Value::inst(fixture.named(name)));
        let store = {
            let body = fixture.edited().body(&fixture.db);
            let is_store = |inst: &InstId| body.inst(*inst).opcode == phalanx_ir::Opcode::Store;
            body.uses_of(at).map(|of| of.user).find(is_store).expect("it is written")
        };
        let more = fixture.named("more");
        let n = Value::arg(1);
        assert_eq!(found_in_body(&fixture), SourceSet::EMPTY, "{long}");
        for round in 0..2 {
            for (stored, expected) in
                [(group, SourceSet::BLOCK_X), (tid, SourceSet::X), (n, SourceSet::EMPTY)]
            {
                fixture.edit(|edit| edit.set_operand(store, 0, stored));
                assert_eq!(found_in_body(&fixture), expected, "{long} {round} {stored:?}");
            }
        }
        // Written in a loop that threads leave in different rounds.
        let in_loop = fixture.edit(|edit| edit.before(more).store(i, at));
        assert_eq!(found_in_body(&fixture), SourceSet::EMPTY, "{long}");
        fixture.edit(|edit| edit.set_operand(more, 1, tid));
        assert_eq!(found_in_body(&fixture), SourceSet::X, "{long}");
        fixture.edit(|edit| edit.erase(in_loop));
        assert_eq!(found_in_body(&fixture), SourceSet::EMPTY, "{long}");
    }
}

/// Nothing is known about the content once other code may write there.
#[test]
fn structures_that_are_passed_by_reference_and_reached_otherwise() {
    for long in LONG {
        let mut fixture = by_reference(long, "");
        let s = Value::inst(fixture.named("s"));
        let hold = Value::inst(fixture.named("hold"));
        let call = fixture.named("r");
        let s_type = fixture.edited().body(&fixture.db).inst(fixture.named("s")).ty;
        let unknown = |fixture: &Fixture| found_in_body(fixture).contains(SourceSet::OPAQUE_THREAD);
        let escape = fixture.edit(|edit| edit.before(call).store(s, hold));
        assert!(unknown(&fixture), "{long}: its address is kept");
        fixture.edit(|edit| edit.erase(escape));
        assert!(!unknown(&fixture), "{long}");
        let there = fixture.edit(|edit| edit.before(call).load(s_type, hold));
        fixture.edit(|edit| edit.set_operand(call, 0, there));
        assert!(unknown(&fixture), "{long}: an address from nowhere");
    }
}

/// Threads that a token keeps together from a loop on make a call behind it in whichever round they
/// left, so nothing is known of the content there.
#[test]
fn structures_that_are_passed_by_reference_behind_a_loop_of_their_token() {
    let with_token = |token: &str| {
        let bundle = |token: &str| format!(" [ \"convergencectrl\"(token %{token}) ]");
        let text = by_reference_text(3, "")
            .replace("align 4 %s) {", "align 4 %s) convergent {")
            .replace("%passed, i32 %n) {", "%passed, i32 %n) convergent {")
            .replace(
                "entry:\n",
                "entry:\n  %entered = call token @llvm.experimental.convergence.entry()\n",
            )
            .replace(
                "  %next = add",
                &format!(
                    "  %heart = call token @llvm.experimental.convergence.loop(){}\n  %next = add",
                    bundle("entered")
                ),
            )
            .replace(
                "@body(ptr addrspace(5) byref(%big) align 4 %s)\n",
                &format!("@body(ptr addrspace(5) byref(%big) align 4 %s){}\n", bundle(token)),
            );
        let declared = "declare token @llvm.experimental.convergence.entry()
declare token @llvm.experimental.convergence.loop()
";
        found_in_body(&Fixture::of(&format!("{text}{declared}"), "kernel"))
    };
    assert_eq!(with_token("entered"), SourceSet::EMPTY);
    assert!(with_token("heart").contains(SourceSet::OPAQUE_THREAD));
}

/// The content is that of all callers, of those who say that they pass a structure.
#[test]
fn structures_that_several_callers_pass_by_reference() {
    let caller = |stored: &str, attribute: &str| {
        format!(
            "define amdgpu_kernel void @other(i32 %n) {{
  %s = alloca %big, align 4, addrspace(5)
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %at = getelementptr i8, ptr addrspace(5) %s, i64 8
  store i32 {stored}, ptr addrspace(5) %at
  %r = call i32 @body(ptr addrspace(5) {attribute} %s)
  ret void
}}"
        )
    };
    let found = |text: &str| found_in_body(&by_reference(3, text));
    assert_eq!(found(&caller("%n", "byref(%big)")), SourceSet::EMPTY);
    assert_eq!(found(&caller("%g", "byref(%big)")), SourceSet::BLOCK_X);
    assert_eq!(found(&caller("%x", "byref(%big)")), SourceSet::X);
    assert!(found(&caller("%n", "")).contains(SourceSet::OPAQUE_THREAD));
}

/// A function that writes through the argument, keeps it, or is given the structure twice, is told
/// nothing.
#[test]
fn structures_by_reference_that_are_not_only_read() {
    let found = |text: &str, name: &'static str| {
        let fixture = Fixture::of(
            &format!(
                "target triple = \"amdgcn-amd-amdhsa\"
declare void @look(ptr addrspace(5))
define internal void @f(ptr addrspace(5) byref([20 x i32]) %s, ptr addrspace(5) %also) {{
  {text}
  %v = load i32, ptr addrspace(5) %s
  ret void
}}
define amdgpu_kernel void @kernel(i32 %n) {{
  %s = alloca [20 x i32], align 4, addrspace(5)
  %t = alloca [20 x i32], align 4, addrspace(5)
  store i32 %n, ptr addrspace(5) %s
  call void @f(ptr addrspace(5) byref([20 x i32]) %s, ptr addrspace(5) {name})
  ret void
}}"
            ),
            "f",
        );
        let v = fixture.named("v");
        of(&fixture.db, fixture.edited(), v)
    };
    assert_eq!(found("", "%t"), SourceSet::EMPTY);
    assert_eq!(found("store i32 1, ptr addrspace(5) %also", "%t"), SourceSet::EMPTY);
    let unknown = SourceSet::OPAQUE_THREAD;
    assert!(found("store i32 1, ptr addrspace(5) %also", "%s").contains(unknown));
    assert!(found("store i32 1, ptr addrspace(5) %s", "%t").contains(unknown));
    assert!(found("call void @look(ptr addrspace(5) %s)", "%t").contains(unknown));
}
