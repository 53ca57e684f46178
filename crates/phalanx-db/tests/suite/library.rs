//! Functions that are known by name: a definition overrides the table, also in the retained state
//! of large functions.

#[path = "support.rs"]
mod support;

use std::sync::Arc;

use phalanx_db::{Database, queries};
use phalanx_ir::InstId;
use phalanx_target::{SourceSet, library::Extension};
use support::Fixture;

/// A kernel that asks where its thread is, with `long` instructions more; the function it asks is
/// declared or defined.
fn text(long: usize, is_defined: bool) -> String {
    let function = match is_defined {
        true => "define i64 @_Z12get_local_idj(i32 %d) {\n  ret i64 7\n}\n",
        false => "declare i64 @_Z12get_local_idj(i32)\n",
    };
    let mut text = format!(
        "target triple = \"spirv64-unknown-unknown\"\n{function}
define spir_kernel void @kernel(ptr addrspace(1) %out, i64 %n) {{
entry:
  %v0 = call i64 @_Z12get_local_idj(i32 0)\n"
    );
    for at in 1..=long {
        text.push_str(&format!("  %v{at} = add i64 %v{}, %n\n", at - 1));
    }
    text.push_str(&format!("  store i64 %v{long}, ptr addrspace(1) %out\n  ret void\n}}\n"));
    text
}

fn sources(fixture: &Fixture, of: InstId) -> SourceSet {
    let function = fixture.edited();
    let found = queries::divergence(&fixture.db, function).as_ref().expect("it has a body");
    let numbering = phalanx_analysis::lower::Numbering::new(function.header(&fixture.db));
    found.value(numbering.inst(of))
}

#[test]
fn a_definition_that_comes_or_goes_is_heeded() {
    for long in [3, 2_000] {
        let mut fixture = Fixture::of(&text(long, false), "kernel");
        let last = fixture.named(&format!("v{long}"));
        for round in 0..4 {
            let is_defined = round % 2 == 1;
            let parsed = phalanx_llvm::parse_module(
                Arc::clone(&fixture.context),
                text(long, is_defined).as_bytes(),
            );
            fixture.db.reload(fixture.module, parsed.expect("it is read").module, None);
            let expected = if is_defined { SourceSet::EMPTY } else { SourceSet::X };
            assert_eq!(sources(&fixture, last), expected, "{long} {round}");
            // Something is kept of a large function once it was edited.
            let at = fixture.named("v1");
            fixture.edit(|edit| edit.set_operand(at, 1, phalanx_ir::Value::arg(1)));
            assert_eq!(sources(&fixture, last), expected, "{long} {round}");
        }
    }
}

/// A kernel that another kernel calls gets the arguments of that call, and runs in launches of
/// both. The same holds for a call through an alias.
#[test]
fn a_kernel_with_callers_is_a_function() {
    let text = |call: &str| {
        format!(
            "target triple = \"nvptx64-nvidia-cuda\"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
@other = alias void (i32, ptr addrspace(1)), ptr @kernel
define ptx_kernel void @kernel(i32 %n, ptr addrspace(1) %o) \"nvvm.reqntid\"=\"32\" {{
  %v = add i32 %n, 1
  store i32 %v, ptr addrspace(1) %o
  ret void
}}
define ptx_kernel void @caller(ptr addrspace(1) %o) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  {call}
  ret void
}}\n"
        )
    };
    for (call, expected) in [
        ("ret void", SourceSet::EMPTY),
        ("call ptx_kernel void @kernel(i32 %t, ptr addrspace(1) %o)\n  ret void", SourceSet::X),
        ("call ptx_kernel void @other(i32 %t, ptr addrspace(1) %o)\n  ret void", SourceSet::X),
        ("call ptx_kernel void @kernel(i32 7, ptr addrspace(1) %o)\n  ret void", SourceSet::EMPTY),
    ] {
        let text = text(call).replace("ret void\n  ret void", "ret void");
        let fixture = Fixture::of(&text, "kernel");
        assert_eq!(sources(&fixture, fixture.named("v")), expected, "{call}");
        let facts = queries::launch_facts(&fixture.db, fixture.edited());
        let is_called = call.starts_with("call");
        let is_known = facts.workgroup_size[0] == phalanx_target::Extent::Exactly(32);
        assert_eq!(is_known, !is_called, "{call}: {facts:?}");
    }
}

/// The first call of a kernel, and the end of the last one, change what is known of it, also where
/// it is large and something is kept.
#[test]
fn calls_of_kernels_come_and_go() {
    for long in [3, 2_000] {
        let mut text = String::from(
            "target triple = \"nvptx64-nvidia-cuda\"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @caller(ptr addrspace(1) %o) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %f = call ptr @llvm.launder.invariant.group.p0(ptr null)
  call void @nothing(i32 %t, ptr addrspace(1) %o)
  ret void
}
declare ptr @llvm.launder.invariant.group.p0(ptr)
declare void @nothing(i32, ptr addrspace(1))
define ptx_kernel void @kernel(i32 %n, ptr addrspace(1) %o) {
  %v0 = add i32 %n, 1\n",
        );
        for at in 1..=long {
            text.push_str(&format!("  %v{at} = add i32 %v{}, %n\n", at - 1));
        }
        text.push_str(&format!("  store i32 %v{long}, ptr addrspace(1) %o\n  ret void\n}}\n"));
        let mut fixture = Fixture::of(&text, "kernel");
        let last = fixture.named(&format!("v{long}"));
        assert_eq!(sources(&fixture, last), SourceSet::EMPTY);
        let caller = fixture.function("caller");
        let global = |fixture: &Fixture, name: &str| {
            let symbol = fixture.context.find_symbol(name.as_bytes()).expect("it is there");
            let name = phalanx_ir::GlobalName::Named(symbol);
            phalanx_ir::Value::constant(
                fixture
                    .context
                    .constant(phalanx_ir::Type::PTR, phalanx_ir::ConstKind::Global(name)),
            )
        };
        for round in 0..4 {
            let name = ["kernel", "nothing"][round % 2];
            let callee = global(&fixture, name);
            let call = {
                let body = caller.body(&fixture.db);
                let is_it = |inst: &InstId| {
                    body.inst(*inst).opcode.is_call() && body.call_args(*inst).len() == 2
                };
                body.all_ids().find(is_it).expect("there is a call of two arguments")
            };
            let position = caller.body(&fixture.db).operands(call).len() as u32 - 1;
            let done = fixture.db.edit(caller, |edit| edit.set_operand(call, position, callee));
            done.expect("the edit breaks no rule");
            let expected = if name == "kernel" { SourceSet::X } else { SourceSet::EMPTY };
            assert_eq!(sources(&fixture, last), expected, "{long} {round}");
            let at = fixture.named("v1");
            fixture.edit(|edit| edit.set_operand(at, 1, phalanx_ir::Value::arg(0)));
            assert_eq!(sources(&fixture, last), expected, "{long} {round}");
        }
    }
}

/// The retained convergent operations of a large function are dropped when a function that is known
/// by name gets a definition: the barrier is an ordinary call then.
#[test]
fn convergent_operations_follow_definitions() {
    let text = |is_defined: bool| {
        let function = match is_defined {
            true => "define void @_Z7barrierj(i32 %f) {\n  ret void\n}\n",
            false => "declare void @_Z7barrierj(i32)\n",
        };
        let mut text = format!(
            "target triple = \"spirv64-unknown-unknown\"\n{function}
define spir_kernel void @kernel(ptr addrspace(1) %out, i64 %n) {{
entry:
  call void @_Z7barrierj(i32 1)
  %v0 = add i64 %n, 1\n"
        );
        for at in 1..=2_000 {
            text.push_str(&format!("  %v{at} = add i64 %v{}, %n\n", at - 1));
        }
        text + "  store i64 %v2000, ptr addrspace(1) %out\n  ret void\n}\n"
    };
    let mut fixture = Fixture::of(&text(false), "kernel");
    for round in 0..4 {
        let is_defined = round % 2 == 1;
        let text = text(is_defined);
        let parsed = phalanx_llvm::parse_module(Arc::clone(&fixture.context), text.as_bytes());
        fixture.db.reload(fixture.module, parsed.expect("it is read").module, None);
        for _ in 0..3 {
            let found = queries::convergence(&fixture.db, fixture.edited());
            let count = found.as_ref().expect("it has a body").operations().len();
            assert_eq!(count, usize::from(!is_defined), "{round}");
            let at = fixture.named("v1");
            fixture.edit(|edit| edit.set_operand(at, 1, phalanx_ir::Value::arg(1)));
        }
    }
}

/// If a driver states the effects of a function, or withdraws them, the retained state of large
/// functions follows.
#[test]
fn functions_of_a_driver_come_and_go() {
    for long in [3, 2_000] {
        let mut text = String::from(
            "target triple = \"nvptx64-nvidia-cuda\"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @team_max(i32)
define ptx_kernel void @kernel(i32 %n, ptr addrspace(1) %o) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v0 = call i32 @team_max(i32 %t)\n",
        );
        for at in 1..=long {
            text.push_str(&format!("  %v{at} = add i32 %v{}, %n\n", at - 1));
        }
        text.push_str(&format!("  store i32 %v{long}, ptr addrspace(1) %o\n  ret void\n}}\n"));
        let mut fixture = Fixture::of(&text, "kernel");
        let last = fixture.named(&format!("v{long}"));
        let rows = "@ agree(data=0)  memory=none convergent willreturn\n team_max";
        let extension = Extension::parse(rows).expect("it is right");
        for round in 0..4 {
            let is_known = round % 2 == 1;
            let given = if is_known { extension } else { Extension::default() };
            fixture.db.set_extension(fixture.module, given);
            let found = sources(&fixture, last);
            assert_eq!(
                found.contains(SourceSet::OPAQUE_THREAD),
                !is_known,
                "{long} {round}: {found}"
            );
            let at = fixture.named("v1");
            fixture.edit(|edit| edit.set_operand(at, 1, phalanx_ir::Value::arg(0)));
            assert_eq!(sources(&fixture, last), found, "{long} {round}");
        }
    }
}

/// Addresses of SPIR-V's variables that are formed by instructions, in every space that these are
/// declared in; of arguments of a kernel nothing else is said than before.
#[test]
fn addresses_of_built_in_variables() {
    let of = |space: u32, address: &str| {
        format!(
            "target triple = \"spirv64-unknown-unknown\"
@__spirv_BuiltInLocalInvocationId = external addrspace({space}) constant <3 x i64>
@other = external addrspace({space}) constant [3 x i64]
define spir_func ptr addrspace({space}) @same(ptr addrspace({space}) %p) {{
  ret ptr addrspace({space}) %p
}}
define spir_kernel void @kernel(ptr addrspace({space}) %arg, i32 %n, i1 %c) {{
  %slot = alloca ptr addrspace({space})
  {address}
  %v = load i64, ptr addrspace({space}) %at
  ret void
}}\n"
        )
    };
    let variable = "@__spirv_BuiltInLocalInvocationId";
    for (space, is_shared) in [(1, true), (7, false)] {
        let p = format!("ptr addrspace({space})");
        let cases = [
            (format!("%at = getelementptr i64, {p} {variable}, i32 %n"), false),
            (format!("%at = select i1 %c, {p} {variable}, {p} %arg"), false),
            (format!("%at = freeze {p} {variable}"), false),
            (format!("%at = call {p} @same({p} {variable})"), false),
            (format!("store {p} {variable}, ptr %slot\n  %at = load {p}, ptr %slot"), false),
            (format!("store {p} %arg, ptr %slot\n  %at = load {p}, ptr %slot"), is_shared),
            (format!("%at = getelementptr i64, {p} %arg, i32 %n"), is_shared),
            (format!("%at = select i1 %c, {p} @other, {p} %arg"), is_shared),
        ];
        for (address, is_one) in cases {
            let fixture = Fixture::of(&of(space, &address), "kernel");
            let found = sources(&fixture, fixture.named("v"));
            let is_divergent = found.contains(SourceSet::OPAQUE_THREAD);
            assert_eq!(is_divergent, !is_one, "{space} {address}: {found}");
        }
        // Directly it is known what differs.
        let direct = of(space, &format!("%at = freeze {p} %arg"))
            .replace(&format!("load i64, {p} %at"), &format!("load i64, {p} {variable}"));
        let fixture = Fixture::of(&direct, "kernel");
        assert_eq!(sources(&fixture, fixture.named("v")), SourceSet::THREAD_XYZ, "{space}");
    }
}

/// The retained state of a large kernel assumes that it is only launched. When an edit adds the
/// first call, all later answers equal those of a new database.
#[test]
fn facts_that_are_kept_of_a_kernel_follow_its_first_call() {
    let mut text = String::from(
        "target triple = \"nvptx64-nvidia-cuda\"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @caller(ptr %o) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %own = alloca i32
  call void @nothing(i32 %t, ptr %own)
  ret void
}
declare void @nothing(i32, ptr)
define ptx_kernel void @kernel(i32 %n, ptr %o) {
  %c = icmp eq i32 %n, 0
  br i1 %c, label %then, label %rest
then:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %rest
rest:
  %l = load i32, ptr %o
  %v0 = add i32 %n, %l\n",
    );
    for at in 1..=2_000 {
        text.push_str(&format!("  %v{at} = add i32 %v{}, %n\n", at - 1));
    }
    text.push_str("  store i32 %v2000, ptr %o\n  ret void\n}\n");
    let mut fixture = Fixture::of(&text, "kernel");
    let caller = fixture.function("caller");
    let facts = |db: &Database, function: phalanx_db::FunctionInput| {
        let numbering = phalanx_analysis::lower::Numbering::new(function.header(db));
        let divergence = queries::divergence(db, function).as_ref().expect("it has a body");
        let kinds = queries::memory_kinds(db, function).as_ref().expect("it has a body");
        let loads = queries::load_classes(db, function).as_ref().expect("it has a body");
        let pointers = kinds.of(phalanx_ir::Value::arg(1));
        let values =
            divergence.value(numbering.operand(phalanx_ir::Value::arg(0)).expect("a value"));
        let findings = queries::diagnostics(db, function).as_deref().unwrap_or_default().to_vec();
        format!("{values} {pointers} {:?} {findings:?}", loads.loads())
    };
    let global = |fixture: &Fixture, name: &str| {
        let symbol = fixture.context.find_symbol(name.as_bytes()).expect("it is there");
        let kind = phalanx_ir::ConstKind::Global(phalanx_ir::GlobalName::Named(symbol));
        phalanx_ir::Value::constant(fixture.context.constant(phalanx_ir::Type::PTR, kind))
    };
    let mut seen = Vec::new();
    for round in 0..6 {
        // Something is kept of a large function once it was edited and asked about twice.
        for _ in 0..2 {
            let at = fixture.named("v1");
            fixture.edit(|edit| edit.set_operand(at, 1, phalanx_ir::Value::arg(0)));
            let warm = facts(&fixture.db, fixture.edited());
            let (cold, entries) = fixture.cold();
            let at = fixture.module.functions(&fixture.db).iter();
            let mut at = at.zip(&entries).filter(|(warm, _)| warm.input == fixture.edited());
            let (_, entry) = at.next().expect("it is there");
            assert_eq!(warm, facts(&cold, entry.input), "{round}");
            seen.push(warm);
        }
        let callee = global(&fixture, ["kernel", "nothing"][round % 2]);
        let call = {
            let body = caller.body(&fixture.db);
            let is_it = |inst: &InstId| {
                body.inst(*inst).opcode.is_call() && body.call_args(*inst).len() == 2
            };
            body.all_ids().find(is_it).expect("there is a call of two arguments")
        };
        let position = caller.body(&fixture.db).operands(call).len() as u32 - 1;
        let done = fixture.db.edit(caller, |edit| edit.set_operand(call, position, callee));
        done.expect("the edit breaks no rule");
    }
    assert_ne!(seen[0], seen[2], "the call makes a difference");
}
