//! Guarantees for drivers: ids, removal, handles, verification.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    time::{Duration, Instant},
};

use phalanx::{
    Busy, Cancelled, Session, Verifying,
    ir::{BuildError, InstBuilder, Type, builder::FunctionSpec},
    prelude::*,
};
use rustc_hash::FxHashSet;

/// A kernel of a chain of additions behind a divergent branch.
fn kernel(name: &str, adds: usize) -> String {
    let chain: String = (0..adds).map(|n| format!("  %s{} = add i32 %s{n}, %t\n", n + 1)).collect();
    format!(
        "target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @{name}(ptr addrspace(1) %p) {{
entry:
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %c = icmp eq i32 %t, 0
  br i1 %c, label %then, label %exit
then:
  %s0 = add i32 %t, 1
{chain}  store i32 %s{adds}, ptr addrspace(1) %p
  br label %exit
exit:
  ret void
}}
"
    )
}

fn read(session: &mut Session, text: &str) -> ModuleId {
    session.read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn only_function(session: &Session, module: ModuleId) -> FunctionId {
    session.functions(module).next().expect("a kernel is defined")
}

#[test]
fn modules_that_are_removed_give_their_places_to_others() {
    let mut session = Session::new();
    let (mut functions, mut modules) = (FxHashSet::default(), FxHashSet::default());
    let mut old = Vec::new();
    for round in 0..200 {
        let module = read(&mut session, &kernel("k", 3 + round % 5));
        let function = only_function(&session, module);
        assert!(session.divergence(function).is_some() && session.diagnostics(function).is_empty());
        modules.insert(module.input());
        functions.insert(function.input());
        assert!(session.remove_module(module));
        assert!(!session.remove_module(module), "it is gone");
        old.push((module, function));
    }
    assert_eq!((modules.len(), functions.len()), (1, 2), "of the declaration and the kernel");
    let module = read(&mut session, &kernel("k", 3));
    let function = only_function(&session, module);
    for (gone, kernel) in old {
        assert!(!session.has_module(gone) && !session.has_function(kernel));
        assert!(session.divergence(kernel).is_none());
    }
    assert!(session.has_function(function) && session.divergence(function).is_some());
}

#[test]
fn answers_in_places_that_were_used_before_are_those_of_a_new_session() {
    let mut used = Session::new();
    for adds in [400, 3, 700, 12] {
        let text = kernel("k", adds);
        let module = read(&mut used, &text);
        let function = only_function(&used, module);
        let mut fresh = Session::new();
        let other = read(&mut fresh, &text);
        let twin = only_function(&fresh, other);
        let masks = |session: &Session, function| {
            let facts = session.divergence(function).expect("it has a body");
            let insts = session.code(function).body.all_ids();
            insts.map(|inst| facts.mask(Value::inst(inst))).collect::<Vec<_>>()
        };
        assert_eq!(masks(&used, function), masks(&fresh, twin));
        assert_eq!(used.print(module), fresh.print(other));
        let allowed = used.edit(function, |edit| {
            let first = edit.flow().entry().expect("it has a body");
            edit.split_before(edit.body().terminator(first).expect("it has one"), "end").map(drop)
        });
        assert_eq!(allowed, Ok(()));
        assert!(used.divergence(function).is_some());
        assert!(used.remove_module(module));
    }
}

#[test]
fn an_id_that_names_nothing_is_refused_by_changes_and_by_code() {
    let (mut one, mut other) = (Session::new(), Session::new());
    let (text, next) = (kernel("k", 3), kernel("l", 3));
    let module = read(&mut one, &text);
    let function = only_function(&one, module);
    let twin = read(&mut other, &next);
    assert_eq!(only_function(&other, twin).input(), function.input(), "the same number");
    let nothing = |_: &mut phalanx::ir::edit::Transaction<'_>| Ok::<_, BuildError>(());
    let error = other.edit(function, nothing).expect_err("it is of another session");
    assert_eq!(error.to_string(), "an edit: the function is of another session, or was removed");
    assert!(other.set_launch(function, Default::default()).is_err());
    assert!(other.remove_functions(twin, &[function]).is_err());
    assert!(other.divergence(function).is_none() && other.cfg(function).is_none());
    assert!(other.explain(function, Subject::Value(Value::arg(0)), Scope::Wave).is_empty());
    let panics = |ask: &dyn Fn()| catch_unwind(AssertUnwindSafe(ask)).is_err();
    assert!(panics(&|| {
        other.code(function);
    }));
    assert!(panics(&|| drop(other.name(function))));
    assert!(panics(&|| drop(other.print(module))));
    assert!(panics(&|| {
        other.functions(module).count();
    }));
    assert_eq!(String::from_utf8_lossy(&other.print(twin)).matches("@l(").count(), 1);
}

#[test]
fn an_edit_ends_a_question_in_its_middle() {
    let mut session = Session::new();
    let module = read(&mut session, &kernel("k", 60_000));
    let function = only_function(&session, module);
    let clone = session.clone();
    let (tell, told) = mpsc::channel();
    let asker = std::thread::spawn(move || {
        let mut answers = 0;
        loop {
            let asked = clone.try_ask(|session| {
                let _ = tell.send(());
                // The launch decides which sources vary, so these are recomputed each time.
                session.divergence(function).is_some() && session.memory_ssa(function).is_some()
            });
            match asked {
                Ok(is_known) => answers += usize::from(is_known),
                Err(Cancelled) => return answers,
            }
        }
    });
    told.recv().expect("it asks");
    let begin = Instant::now();
    session.edit(function, |_| Ok::<_, BuildError>(())).expect("it changes nothing");
    // Milliseconds where nothing else runs; here other tests do.
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    asker.join().expect("the question ends by a value");
    assert!(session.divergence(function).is_some(), "what was broken off is found again");
}

#[test]
fn a_panic_in_a_question_is_no_cancellation() {
    let session = Session::new();
    let asked = catch_unwind(AssertUnwindSafe(|| session.try_ask(|_| -> () { panic!("ours") })));
    assert_eq!(asked.expect_err("it panics").downcast_ref::<&str>(), Some(&"ours"));
    assert_eq!(session.try_ask(|_| 3), Ok(3));
}

#[test]
fn an_edit_beside_another_handle_of_its_thread_says_so() {
    let mut session = Session::new();
    let module = read(&mut session, &kernel("k", 3));
    let function = only_function(&session, module);
    let others = [session.clone(), session.clone()];
    let busy = session.wait_until_alone(Duration::from_millis(3)).expect_err("two are alive");
    assert_eq!(busy, Busy { others: 2 });
    assert_eq!(
        busy.to_string(),
        "cannot edit: 2 other handle(s) on the same modules are alive; drop the clones first, \
         those of this thread included"
    );
    assert!(others[0].try_ask(|session| session.divergence(function).is_some()).is_ok());
    drop(others);
    assert_eq!(session.wait_until_alone(Duration::ZERO), Ok(()));
}

/// A function that reads a value before it is computed.
fn broken(session: &Session) -> Module {
    let mut module = session.builder();
    let spec = FunctionSpec::new(Type::I32).param(Type::I32, "n");
    let mut f = module.define_function("f", &spec).expect("the name is free");
    let entry = f.block("entry");
    f.switch_to(entry);
    let n = f.arg(0);
    let sum = f.add(n, n).expect("both are numbers");
    f.switch_before(sum.as_inst().expect("it is computed"));
    f.add(sum, n).expect("its operands have the right types");
    f.switch_to(entry);
    f.ret(sum).expect("it is a number");
    f.finish().expect("nothing is verified yet");
    module.finish().expect("nothing is verified yet")
}

#[test]
fn a_built_module_is_verified_when_it_is_added() {
    let mut session = Session::new();
    let error = session.add(broken(&session), TargetOverrides::default());
    let error = error.expect_err("a value is read before it is computed").to_string();
    assert!(error.contains("does not dominate all uses"), "{error}");
    session.set_verifying(Verifying::Nothing);
    assert!(session.add(broken(&session), TargetOverrides::default()).is_ok());
}

#[test]
fn edits_are_verified_as_the_session_says() {
    let swap = |session: &mut Session| {
        let module = read(
            session,
            "define i32 @f(i32 %n) {\n  %a = add i32 %n, 1\n  %b = add i32 %a, 1\n  ret i32 %b\n}\n",
        );
        let function = only_function(session, module);
        session.edit(function, |edit| {
            let mut all = edit.body().all_ids();
            let (a, b) = (all.next().expect("a"), all.next().expect("b"));
            edit.set_operand(a, 0, b)
        })
    };
    let mut session = Session::new();
    session.set_verifying(Verifying::Everything);
    assert!(swap(&mut session).is_err());
    session.set_verifying(Verifying::Nothing);
    assert!(swap(&mut session).is_ok());
}
