//! Findings and classes of a large function that is edited: barriers behind guards, conflicts of
//! spaces, loads.

use super::{support::Fixture, text};
use phalanx_analysis::{check::Rule, loads::LoadClass};
use phalanx_db::queries;
use phalanx_ir::{InstBuilder, Type, Value, builder::Callee};
use phalanx_target::SourceSet;

/// Addresses that contradict a cast, and a private one that is stored where others read.
#[test]
fn conflicts_come_and_go() {
    let text = text(400)
        .replace("entry:\n", "entry:\n  %slot = alloca i32\n  %kept = alloca ptr\n")
        .replace(
            "  call void @leaf",
            "  store ptr %slot, ptr addrspace(1) %out\n  %bad = addrspacecast ptr %b to ptr addrspace(1)\n  \
             %far = getelementptr i32, ptr addrspace(1) %bad, i32 %n\n  %l = load i32, ptr addrspace(1) %far\n  call void @leaf",
        );
    let mut f = Fixture::warm(&text);
    let found =
        |f: &Fixture| queries::space_conflicts(&f.db, f.edited()).as_deref().map(<[_]>::len);
    assert_eq!(found(&f), Some(2), "a stored address, and a cast");
    let [a, s, g, l, far, bad, slot, kept] =
        ["a", "s", "g", "l", "far", "bad", "slot", "kept"].map(|name| f.named(name));
    let store =
        f.edited().body(&f.db).all_ids().find(|&inst| {
            f.edited().body(&f.db).operands(inst).first() == Some(&Value::inst(slot))
        });
    let (store, null) = (store.expect("it is stored"), f.context.const_zero(Type::PTR));
    type Edit<'a> = &'a dyn Fn(&mut Fixture);
    let edits: [(&str, usize, Edit<'_>); 8] = [
        ("null is stored", 1, &|f| f.edit(|edit| edit.set_operand(store, 0, null))),
        ("it leads where the cast does", 0, &|f| f.edit(|edit| edit.set_operand(a, 0, g))),
        ("the other memory again", 1, &|f| f.edit(|edit| edit.set_operand(a, 0, s))),
        ("nothing is loaded any more", 1, &|f| f.edit(|edit| edit.replace(l, Value::arg(1)))),
        ("the address is made from another one", 1, &|f| {
            f.edit(|edit| edit.set_operand(far, 0, Value::arg(0)));
        }),
        ("no cast", 0, &|f| f.edit(|edit| edit.erase(bad))),
        ("the slot is stored", 1, &|f| f.edit(|edit| edit.set_operand(store, 0, slot))),
        ("in private memory", 0, &|f| {
            let kept = Value::inst(kept);
            f.edit(|edit| {
                edit.before(store).store(slot, kept)?;
                edit.erase(store)
            });
        }),
    ];
    for (what, count, edit) in edits {
        edit(&mut f);
        f.check(what);
        assert_eq!(found(&f), Some(count), "{what}");
    }
    let before = f.counts().conflicts;
    let v = f.named("v1");
    f.edit(|edit| edit.set_operand(v, 1, Value::arg(1)));
    f.check("an integer");
    assert_eq!(f.counts().conflicts.kept, before.kept + 1);
}

/// Whether threads that miss a barrier have ended is a matter of what the last block does, and
/// where threads return of how a function ends.
#[test]
fn a_barrier_behind_a_guard() {
    let text = text(400)
        .replace("add i32 %n, 1\n  %v1", "add i32 %tid, 1\n  %v1")
        .replace("store i32 %n, ptr addrspace(1) %out\n", "")
        .replace(
            "call void @together(i32 %n)",
            "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
        );
    let mut f = Fixture::warm(&text);
    let (x, v) = (f.named("x3"), f.named("v0"));
    for _ in 0..2 {
        assert_eq!(f.rules(), [Rule::BarrierAfterExit]);
        let store = f.edit(|edit| edit.before(x).store(v, Value::arg(0)));
        f.check("the last block stores");
        assert_eq!(f.rules(), [Rule::DivergentBarrier]);
        f.edit(|edit| edit.erase(store));
        f.check("the last block does nothing");
    }
    assert!(f.counts().findings.repaired >= 4, "{:?}", f.counts().findings);
    // The caller of a function may wait behind the call, unless the function does not return.
    let mut f = Fixture::warm(&text.replace("ptx_kernel void @kernel", "void @kernel"));
    assert_eq!(f.rules(), [Rule::DivergentBarrier]);
    let last = f.edited().body(&f.db).block_of(f.named("x3")).expect("it is in a block");
    f.edit(|edit| edit.replace_terminator(last).unreachable().map(drop));
    f.check("nothing returns");
    assert_eq!(f.rules(), [Rule::BarrierAfterExit]);
}

/// A default that no thread takes ends nothing. What it does can be put in its block, and then
/// threads come there.
#[test]
fn a_barrier_behind_a_switch_without_a_default() {
    let text = text(400).replace("mul i32 %v0, %v0", "add i32 %tid, 1").replace(
        "  %c = icmp slt i32 %v1, %n\n  br i1 %c, label %outer, label %exit\n",
        "  switch i32 %v1, label %never [ i32 1, label %outer\n i32 2, label %join\n ]\n\
         never:\n  unreachable\n",
    );
    let text =
        text.replace("call void @together(i32 %w)", "store i32 %w, ptr addrspace(1) %out").replace(
            "call void @together(i32 %n)",
            "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
        );
    let mut f = Fixture::warm(&text);
    let never = f.edited().flow(&f.db).order()[1];
    let end = f.edited().body(&f.db).terminator(never).expect("it has an end");
    for _ in 0..2 {
        assert_eq!(f.rules(), []);
        let store = f.edit(|edit| edit.before(end).store(Value::arg(1), Value::arg(0)));
        f.check("something is done there");
        assert_eq!(f.rules(), [Rule::DivergentBarrier]);
        f.edit(|edit| edit.erase(store));
        f.check("nothing is done there");
    }
    f.edit(|edit| edit.replace_terminator(never).ret_void().map(drop));
    f.check("threads end there");
    assert_eq!(f.rules(), [Rule::DivergentBarrier]);
}

/// A barrier for as many threads as a workgroup has is a barrier of all threads, unless other code
/// may execute it. So a call matters even if the callee has no barrier.
#[test]
fn a_barrier_of_as_many_as_there_are() {
    let text = text(400)
        .replace(
            "(ptr addrspace(1) %out, i32 %n) {\nentry",
            "(ptr addrspace(1) %out, i32 %n) \"nvvm.reqntid\"=\"64\" {\nentry",
        )
        .replace("mul i32 %v0, %v0", "add i32 %tid, 1")
        .replace("  call void @leaf(i32 %v0)\n", "")
        .replace("  call void @computes(i32 %u)\n  %c", "  %c")
        .replace("call void @together(i32 %n)", "store i32 %u, ptr addrspace(1) %out")
        .replace(
            "call void @together(i32 %w)",
            "call void @llvm.nvvm.barrier.cta.sync.count(i32 1, i32 64)",
        )
        + "declare void @llvm.nvvm.barrier.cta.sync.count(i32, i32)\n";
    let mut f = Fixture::warm(&text);
    let u = f.named("u");
    let header = f.function("leaf").header(&f.db);
    let leaf = Callee::indirect(f.context.const_global(header.name, 0).into(), header.ty);
    for _ in 0..2 {
        assert_eq!(f.rules(), [Rule::DivergentBarrier]);
        let call = f.edit(|edit| edit.after(u).call(leaf, &[Value::arg(1)]));
        let call = call.as_inst().expect("a call is an instruction");
        f.check("a call of a function without a barrier");
        assert_eq!(f.rules(), []);
        f.edit(|edit| edit.erase(call));
        f.check("none");
    }
}

/// A kernel begins to write what it is given, and ceases to: all loads of it are others, though
/// none of them, nor an address, has changed.
#[test]
fn classes_follow_what_is_done_with_an_argument() {
    let text = text(400).replace(
        "kernel(ptr addrspace(1) %out",
        "kernel(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out",
    );
    let text = text.replace("  %u = add", "  %l = load i32, ptr addrspace(1) %in\n  %u = add");
    let mut f = Fixture::warm(&text);
    let is_apart = |f: &Fixture| {
        let classes = queries::load_classes(&f.db, f.edited()).as_ref().expect("it has a body");
        classes.of(f.named("l")).expect("it is a load").is(LoadClass::NonCoherent)
    };
    let (u, v) = (f.named("u"), f.named("v0"));
    for _ in 0..2 {
        assert!(is_apart(&f));
        let store = f.edit(|edit| edit.after(u).store(v, Value::arg(0)));
        f.check("a store through the argument");
        assert!(!is_apart(&f));
        f.edit(|edit| edit.erase(store));
        f.check("none");
    }
}

/// A branch depends on less after the edit, but the barrier behind it still depends on the same
/// because of another branch.
#[test]
fn a_barrier_under_two_branches() {
    let text = text(400)
        .replace("define void @meet", "declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()\ndefine void @meet")
        .replace(
            "%v0 = add i32 %n, 1\n  %v1 = mul i32 %v0, %v0",
            "%y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()\n  %v0 = add i32 %tid, 1\n  %v1 = mul i32 %v0, %y",
        )
        .replace(
            "call void @together(i32 %w)",
            "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
        );
    let mut f = Fixture::warm(&text);
    let sources = |f: &Fixture| -> Vec<SourceSet> {
        let found = queries::diagnostics(&f.db, f.edited()).as_deref().into_iter().flatten();
        found.map(|finding| finding.sources).collect()
    };
    let (w, v0, v1) = (f.named("w"), f.named("v0"), f.named("v1"));
    for _ in 0..2 {
        assert_eq!(sources(&f), [SourceSet::X | SourceSet::Y]);
        f.edit(|edit| edit.set_operand(w, 0, v0));
        f.check("the inner branch depends on less");
        assert_eq!(sources(&f), [SourceSet::X]);
        f.edit(|edit| edit.set_operand(w, 0, v1));
        f.check("and on both again");
    }
}
