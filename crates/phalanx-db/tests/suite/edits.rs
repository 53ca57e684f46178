//! Edits through the database: exactly what may run, runs.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use phalanx_analysis::lower::Numbering;
use phalanx_db::{Database, Did, FunctionInput, ModuleInput, TargetOverrides, queries};
use phalanx_ir::{
    BuildError, Context, InstBuilder, InstId, Opcode, Type, Value, edit::Transaction,
    inst::InstFlags,
};
use phalanx_target::LaunchStatement;
use phalanx_testing::files::check_table;

/// A small function, a large one, and one that is never edited.
fn text() -> String {
    let mut text = String::from(
        r#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()

attributes #0 = { "amdgpu-flat-work-group-size"="1,128" }

define amdgpu_kernel void @other(ptr addrspace(1) %p, i32 %n) #0 {
entry:
  store i32 %n, ptr addrspace(1) %p
  ret void
}
"#,
    );
    for (name, length) in [("small", 4), ("large", 400)] {
        text.push_str(&format!(
            r#"
define amdgpu_kernel void @{name}(ptr addrspace(1) %p, i32 %n) {{
entry:
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %c = icmp slt i32 %tid, %n
  br i1 %c, label %then, label %exit
then:
  %v0 = add i32 %n, %n
"#
        ));
        for at in 1..length {
            text.push_str(&format!("  %v{at} = add i32 %v{}, %n\n", at - 1));
        }
        text.push_str(&format!(
            r#"  store i32 %v{}, ptr addrspace(1) %p
  br label %exit
exit:
  ret void
}}
"#,
            length - 1
        ));
    }
    text
}

struct Fixture {
    db: Database,
    context: Arc<Context>,
    module: ModuleInput,
}

impl Fixture {
    /// With every fact asked often enough for those of large functions to be kept.
    fn new() -> Self {
        let mut db = Database::with_event_log();
        let context = Arc::new(Context::new());
        let parsed = phalanx_llvm::parse_module(Arc::clone(&context), text().as_bytes())
            .unwrap_or_else(|e| panic!("{e:?}"));
        let module = db.load(parsed.module, None, TargetOverrides::default());
        let mut fixture = Fixture { db, context, module };
        fixture.ask();
        for name in ["small", "large"] {
            for operand in [Value::arg(1), fixture.named(name, "v1").into(), Value::arg(1)] {
                let at = fixture.named(name, "v2");
                fixture.edit(name, |edit| edit.set_operand(at, 1, operand)).unwrap();
                fixture.ask();
            }
        }
        fixture.db.take_log();
        fixture
    }

    fn function(&self, name: &str) -> FunctionInput {
        let symbol = self.context.find_symbol(name.as_bytes()).expect("the name is interned");
        let entries = self.module.functions(&self.db);
        entries.iter().find(|e| e.name.symbol() == Some(symbol)).expect("the function exists").input
    }

    fn named(&self, function: &str, name: &str) -> InstId {
        let code = self.function(function).view(&self.db);
        let mut ids = code.body.all_ids();
        ids.find(|&i| code.extras.names.inst(i) == Some(name.as_bytes())).expect("it has the name")
    }

    fn edit<R>(
        &mut self,
        function: &str,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<R, BuildError>,
    ) -> Result<R, BuildError> {
        let function = self.function(function);
        self.db.edit(function, edit)
    }

    /// What a driver asks after each transform.
    fn ask(&self) {
        for entry in self.module.functions(&self.db).iter().filter(|e| e.is_definition) {
            let f = entry.input;
            queries::postdom_tree(&self.db, f);
            queries::cycles(&self.db, f);
            queries::divergence(&self.db, f);
            queries::control_divergence(&self.db, f);
        }
        queries::module_divergent_branches(&self.db, self.module);
    }

    /// Queries that ran since the last call, each once, sorted.
    fn ran(&self) -> String {
        let log = self.db.take_log().into_iter().filter(|entry| entry.did == Did::Run);
        let mut names: Vec<String> = log
            .map(|entry| {
                let find = |e: &&phalanx_db::FunctionEntry| e.input.id() == entry.key;
                let of = self.module.functions(&self.db).iter().find(find);
                let is_other = of.is_some_and(|e| e.input == self.function("other"));
                format!("`{}`{}", entry.query, if is_other { " of another function" } else { "" })
            })
            .collect();
        names.sort();
        names.dedup();
        match names.is_empty() {
            true => "nothing".into(),
            false => names.join(", "),
        }
    }
}

/// What runs when everything is asked again after an edit.
fn after(name: &str, edit: impl FnOnce(&mut Fixture, &str)) -> String {
    let mut fixture = Fixture::new();
    edit(&mut fixture, name);
    fixture.ask();
    fixture.ran()
}

fn keep(result: Result<(), BuildError>) {
    result.expect("the edit breaks no rule");
}

type Edit = fn(&mut Fixture, &str);

/// The kinds of edits, by name.
const KINDS: &[(&str, Edit)] = &[
    ("none: a transaction without changes", |f, name| keep(f.edit(name, |_| Ok(())))),
    ("a name, an attachment, a debug record", |f, name| {
        let v1 = f.named(name, "v1");
        keep(f.edit(name, |edit| edit.set_name(v1, "renamed")));
    }),
    ("an operand; equal divergence", |f, name| {
        let (v3, v1) = (f.named(name, "v3"), f.named(name, "v1"));
        keep(f.edit(name, |edit| edit.set_operand(v3, 0, v1)));
    }),
    ("an operand; other values diverge", |f, name| {
        let (v3, tid) = (f.named(name, "v3"), f.named(name, "tid"));
        keep(f.edit(name, |edit| edit.set_operand(v3, 0, tid)));
    }),
    ("an operand; another branch diverges", |f, name| {
        let c = f.named(name, "c");
        keep(f.edit(name, |edit| edit.set_operand(c, 0, Value::arg(1))));
    }),
    ("flags of an instruction", |f, name| {
        let v3 = f.named(name, "v3");
        keep(f.edit(name, |edit| edit.set_flags(v3, InstFlags::NSW)));
    }),
    ("an instruction more", |f, name| {
        let v3 = f.named(name, "v3");
        keep(f.edit(name, |edit| edit.before(v3).xor(Value::arg(1), Value::arg(1)).map(drop)));
    }),
    ("a block split", |f, name| {
        let v3 = f.named(name, "v3");
        keep(f.edit(name, |edit| edit.split_before(v3, "").map(drop)));
    }),
    ("an aborted edit of an operand", |f, name| {
        let (v3, tid) = (f.named(name, "v3"), f.named(name, "tid"));
        let stop = BuildError::NoPlace { function: String::new(), opcode: Opcode::Add };
        let done = f.edit(name, |edit| {
            edit.set_operand(v3, 0, tid)?;
            Err::<(), _>(stop.clone())
        });
        assert_eq!(done, Err(stop));
    }),
    ("launches of 64 threads stated", |f, name| {
        let function = f.function(name);
        let launch = LaunchStatement {
            workgroup_size: Some([64, 1, 1]),
            wave_width: Some(64),
            ..Default::default()
        };
        f.db.set_launch(function, launch).expect("the module does not say otherwise");
    }),
    ("an attribute of the function", |f, name| {
        let function = f.function(name);
        let done = f.db.edit_header(function, |header| header.align = Some(256));
        done.expect("functions can be aligned");
    }),
];

#[test]
fn the_table_in_the_documentation_is_what_happens() {
    let mut table =
        String::from("| edit | runs in a small function | runs in a large one |\n|---|---|---|\n");
    for (kind, edit) in KINDS {
        let (small, large) = (after("small", edit), after("large", edit));
        assert!(!small.contains("of another") && !large.contains("of another"), "{kind}");
        table.push_str(&format!("| {kind} | {small} | {large} |\n"));
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/what-runs.md");
    check_table(page, "| edit |", &table);
}

#[test]
fn a_panic_in_an_edit_leaves_nothing_behind() {
    let mut fixture = Fixture::new();
    let function = fixture.function("large");
    let before = fixture.db.clone_of(function);
    let divergence = queries::divergence(&fixture.db, function).clone();
    let v3 = fixture.named("large", "v3");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _ = fixture.edit("large", |edit| {
            edit.split_before(v3, "half")?;
            edit.set_flags(v3, InstFlags::NSW)?;
            panic!("a bug of the driver");
            #[expect(unreachable_code, reason = "gives the closure its type")]
            Ok(())
        });
    }));
    assert!(panicked.is_err());
    assert!(fixture.db.clone_of(function) == before);
    assert_eq!(*queries::divergence(&fixture.db, function), divergence);
    keep(fixture.edit("large", |edit| edit.set_flags(v3, InstFlags::NUW)));
}

/// The parts of a function, to compare.
trait CloneOf {
    fn clone_of(
        &self,
        function: FunctionInput,
    ) -> (phalanx_ir::Flow, phalanx_ir::Body, phalanx_ir::Extras);
}

impl CloneOf for Database {
    fn clone_of(
        &self,
        f: FunctionInput,
    ) -> (phalanx_ir::Flow, phalanx_ir::Body, phalanx_ir::Extras) {
        (f.flow(self).clone(), f.body(self).clone(), f.extras(self).clone())
    }
}

/// An edit cancels what other threads are computing; whatever they were in the middle of, later
/// answers are right.
#[test]
fn an_edit_cancels_other_threads_and_answers_stay_right() {
    let mut fixture = Fixture::new();
    let function = fixture.function("large");
    let (v3, tid, v2) =
        (fixture.named("large", "v3"), fixture.named("large", "tid"), fixture.named("large", "v2"));
    for round in 0..40 {
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let db = fixture.db.clone();
                std::thread::spawn(move || {
                    let asked = db.try_ask(|db| {
                        queries::divergence(db, function);
                        queries::uniformity(db, function);
                        queries::control_divergence(db, function);
                    });
                    asked.is_err()
                })
            })
            .collect();
        let operand = if round % 2 == 0 { tid } else { v2 };
        keep(fixture.edit("large", |edit| edit.set_operand(v3, 0, operand)));
        let _cancelled: Vec<bool> =
            workers.into_iter().map(|w| w.join().expect("no worker panics")).collect();
        let divergent = queries::divergence(&fixture.db, function)
            .as_ref()
            .map(|d| d.values().iter().filter(|s| !s.is_empty()).count())
            .expect("it has a body");
        // The thread's index, its comparison, and, of 400 sums, all from the third on, with the
        // store of the last.
        assert_eq!(divergent, if round % 2 == 0 { 2 + 397 + 1 } else { 2 });
    }
    // What a cancelled query had taken out is lost; it is built again.
    let quiet = |fixture: &mut Fixture, flags: InstFlags| {
        keep(fixture.edit("large", |edit| edit.set_flags(v3, flags)));
        queries::divergence(&fixture.db, function);
        queries::repairs(&fixture.db, function).repaired
    };
    quiet(&mut fixture, InstFlags::NSW);
    quiet(&mut fixture, InstFlags::NUW);
    let before = quiet(&mut fixture, InstFlags::NSW);
    assert_eq!(quiet(&mut fixture, InstFlags::NUW), before + 1);
}

/// After an edit that changes nothing, the query returns the same allocation, so a comparison
/// compares two addresses.
#[test]
fn an_answer_that_an_edit_leaves_as_it_was_is_the_same_one() {
    let mut fixture = Fixture::new();
    let function = fixture.function("large");
    let [v3, v5, v7] = ["v3", "v5", "v7"].map(|name| fixture.named("large", name));
    let tid = fixture.named("large", "tid");
    let mut answer = |first: Value| {
        keep(fixture.edit("large", |edit| edit.set_operand(v7, 0, first)));
        let answer = queries::divergence(&fixture.db, function).clone().expect("it has a body");
        (answer, queries::repairs(&fixture.db, function).repaired)
    };
    let (first, second) = (answer(v3.into()), answer(v5.into()));
    assert!(Arc::ptr_eq(&first.0, &second.0));
    assert_eq!(second.1, first.1 + 1, "it was repaired");
    // The new facts are in a new answer; the old answer does not change.
    let divergent = |of: &phalanx_core::divergence::Divergence| {
        of.values().iter().filter(|sources| !sources.is_empty()).count()
    };
    let before = divergent(&second.0);
    let third = answer(tid.into());
    assert!(divergent(&third.0) > before);
    assert_eq!(divergent(&second.0), before);
}

/// The same by LLVM's rules, although these also read attributes of callees.
#[test]
fn uniformity_is_repaired_too() {
    let mut fixture = Fixture::new();
    let function = fixture.function("large");
    let v3 = fixture.named("large", "v3");
    for flags in [InstFlags::NSW, InstFlags::NUW, InstFlags::NSW] {
        keep(fixture.edit("large", |edit| edit.set_flags(v3, flags)));
        fixture.db.take_log();
        queries::uniformity(&fixture.db, function);
    }
    assert_eq!(fixture.ran(), "`uniformity`");
}

/// Attributes of callees decide, also after they change: in a small function and in a large one,
/// with and without retained state.
#[test]
fn uniformity_follows_attributes_of_callees() {
    for length in [4, 400] {
        let mut text = String::from(
            "target triple = \"amdgcn-amd-amdhsa\"
             declare i32 @plain(i32)
             declare i32 @promised(i32) nodivergencesource
             define amdgpu_kernel void @f(i32 %n) {
               %a = call i32 @plain(i32 %n)
               %b = call i32 @promised(i32 %n)
               %v0 = add i32 %n, %n\n",
        );
        for at in 1..length {
            text.push_str(&format!("  %v{at} = add i32 %v{}, %n\n", at - 1));
        }
        text.push_str("  ret void\n}\n");
        let mut db = Database::new();
        let context = Arc::new(Context::new());
        let parsed = phalanx_llvm::parse_module(context, text.as_bytes()).expect("it is valid");
        let module = db.load(parsed.module, None, TargetOverrides::default());
        let [plain, promised, f] = [0, 1, 2].map(|at| module.functions(&db)[at].input);
        let calls: Vec<InstId> = f.body(&db).all_ids().take(2).collect();
        let are_divergent = |db: &Database| {
            let facts = queries::uniformity(db, f).as_ref().expect("it has a body");
            let numbering = Numbering::new(f.header(db));
            [0, 1].map(|at| !facts.value(numbering.inst(calls[at])).is_empty())
        };
        let own = plain.header(&db).attributes;
        for attributes in [own, promised.header(&db).attributes, own] {
            db.edit_header(plain, |header| header.attributes = attributes).expect("it is valid");
            for operand in [Value::arg(0), calls[1].into(), Value::arg(0)] {
                let last = f.body(&db).all_ids().nth(2).expect("the first sum");
                let done: Result<(), BuildError> =
                    db.edit(f, |edit| edit.set_operand(last, 1, operand));
                done.expect("the value is there");
                assert_eq!(are_divergent(&db), [attributes == own, false], "{length}");
            }
        }
        let is_kept = queries::repairs(&db, f).repaired > 0;
        assert_eq!(is_kept, length == 400);
    }
}

/// A function that grows by edits is repaired once it is large.
#[test]
fn a_function_that_grows_becomes_large() {
    let mut fixture = Fixture::new();
    let function = fixture.function("small");
    let v3 = fixture.named("small", "v3");
    assert!(!function.is_large(&fixture.db));
    keep(fixture.edit("small", |edit| {
        for _ in 0..400 {
            edit.before(v3).xor(Value::arg(1), Value::arg(1))?;
        }
        Ok(())
    }));
    assert!(function.is_large(&fixture.db));
    for flags in [InstFlags::NSW, InstFlags::NUW, InstFlags::NSW] {
        keep(fixture.edit("small", |edit| edit.set_flags(v3, flags)));
        fixture.ask();
    }
    let ways = queries::repairs(&fixture.db, function);
    assert_eq!((ways.solved, ways.kept, ways.repaired), (1, 1, 1));
}

/// After a small edit, state is retained at once, since more edits are likely. Larger edits have to
/// come twice in a row before it is retained.
#[test]
fn a_function_is_followed_after_one_small_edit_or_two_larger_ones() {
    // The number of instructions that each edit changes, and how the query is answered: from
    // scratch, from scratch with retained state, by repair.
    let few = [(4, [0, 1, 0]), (12, [0, 0, 1])];
    let more = [(12, [1, 0, 0]), (12, [0, 1, 0]), (12, [0, 0, 1])];
    let apart = [(12, [1, 0, 0]), (200, [1, 0, 0]), (12, [1, 0, 0]), (4, [0, 1, 0])];
    for edits in [&few[..], &more, &apart] {
        let mut fixture = Fixture::new();
        let function = fixture.function("large");
        let v3 = fixture.named("large", "v3");
        let add = |fixture: &mut Fixture, count: usize| {
            keep(fixture.edit("large", |edit| {
                let mut xor = || edit.before(v3).xor(Value::arg(1), Value::arg(1)).map(drop);
                (0..count).try_for_each(|_| xor())
            }));
            let before = queries::repairs(&fixture.db, function);
            queries::divergence(&fixture.db, function);
            let now = queries::repairs(&fixture.db, function);
            let found = [now.solved - before.solved, now.kept - before.kept];
            [found[0], found[1], now.repaired - before.repaired]
        };
        // Large enough that a few are not very few.
        add(&mut fixture, 4000);
        fixture.db.trim(fixture.module);
        assert_eq!(add(&mut fixture, 1), [1, 0, 0], "at first");
        for (at, (count, expected)) in edits.iter().enumerate() {
            assert_eq!(add(&mut fixture, *count), *expected, "{at} of {edits:?}");
        }
    }
}

#[test]
fn what_is_kept_can_be_dropped() {
    let mut fixture = Fixture::new();
    let function = fixture.function("large");
    let (v3, tid) = (fixture.named("large", "v3"), fixture.named("large", "tid"));
    let ways = |f: &Fixture| queries::repairs(&f.db, function);
    keep(fixture.edit("large", |edit| edit.set_operand(v3, 0, tid)));
    fixture.ask();
    let before = ways(&fixture);
    assert_eq!((before.solved, before.kept), (1, 1));
    assert!(before.repaired >= 1);
    fixture.db.trim(fixture.module);
    keep(fixture.edit("large", |edit| edit.set_operand(v3, 0, Value::arg(1))));
    fixture.ask();
    assert_eq!(ways(&fixture).solved, before.solved + 1, "it starts anew");
}

#[test]
fn what_the_module_says_of_launches_cannot_be_contradicted() {
    let mut fixture = Fixture::new();
    let function = fixture.function("other");
    let mut state = |size| {
        let launch =
            LaunchStatement { workgroup_size: Some(size), wave_width: None, ..Default::default() };
        fixture.db.set_launch(function, launch).map_err(|e| e.to_string())
    };
    assert_eq!(state([128, 1, 1]), Ok(()));
    assert_eq!(
        state([32, 8, 1]),
        Err("@other is not launched with workgroups of 256: the module says at most 128".into())
    );
    assert!(state([0, 1, 1]).is_err());
}

#[test]
fn functions_come_and_go_and_their_inputs_are_used_again() {
    let mut fixture = Fixture::new();
    let copy = |fixture: &Fixture, name: &str| {
        let code = fixture.function("small").view(&fixture.db);
        let mut header = code.header.clone();
        header.name = phalanx_ir::GlobalName::Named(fixture.context.symbol(name.as_bytes()));
        phalanx_ir::Function {
            header,
            flow: code.flow.clone(),
            body: code.body.clone(),
            extras: code.extras.clone(),
            use_list_orders: Vec::new(),
        }
    };
    let module = fixture.module;
    let mut last = None;
    for _ in 0..5 {
        let function = copy(&fixture, "copy");
        let added = fixture.db.add_function(module, function).expect("the name is free");
        assert!(last.is_none_or(|last| last == added), "the input is used again");
        last = Some(added);
        fixture.ask();
        let again = copy(&fixture, "copy");
        let error = fixture.db.add_function(module, again).expect_err("the name is taken");
        assert_eq!(error.to_string(), "@copy is defined already");
        assert_eq!(
            queries::divergence(&fixture.db, added).as_ref().map(|d| d.values().len() > 4),
            Some(true)
        );
        fixture.db.remove_functions(module, &[added]).expect("nobody calls it");
    }
    let id = fixture.module.functions(&fixture.db)[0].input;
    let error = fixture.db.remove_functions(module, &[id]).expect_err("two kernels call it");
    assert_eq!(error.to_string(), "@llvm.amdgcn.workitem.id.x is still referred to");
    let mut bad = copy(&fixture, "bad");
    bad.body.inst_mut(InstId::from_raw(0.into())).ty = Type::I64;
    let error = fixture.db.add_function(module, bad).expect_err("its types are wrong");
    assert!(error.to_string().starts_with("@bad is not well-formed: "), "{error}");
    assert_eq!(fixture.module.functions(&fixture.db).len(), 4);
}

/// A call is not analysed again, but the memos that were read for it are validated.
#[test]
fn after_an_edit_of_the_flow_edits_of_instructions_run_nothing_about_it() {
    let mut fixture = Fixture::new();
    let split = fixture.named("large", "v2");
    fixture.edit("large", |edit| edit.split_before(split, "rest")).unwrap();
    fixture.ask();
    fixture.db.take_log();
    let operand: Value = fixture.named("large", "v1").into();
    fixture.edit("large", |edit| edit.set_operand(split, 1, operand)).unwrap();
    queries::divergence(&fixture.db, fixture.function("large"));
    let log = fixture.db.take_log().into_iter();
    let names: Vec<String> = log.map(|entry| format!("{:?} {}", entry.did, entry.query)).collect();
    let stamp = ["Validate graph_facts", "Validate environment", "Validate dependency_stamp"];
    let expected = [&["Validate module_index", "Run divergence"], &stamp[..]].concat();
    assert_eq!(names, expected);
}

#[test]
fn functions_that_nobody_calls_come_to_a_module_with_calls() {
    let mut text = String::from(
        "define i32 @callee(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n\
         define i32 @large(i32 %n) {\n  %v0 = call i32 @callee(i32 %n)\n",
    );
    for at in 1..1200 {
        text.push_str(&format!("  %v{at} = add i32 %v{}, %n\n", at - 1));
    }
    text.push_str("  ret i32 %v1199\n}\n");
    let context = Arc::new(Context::new());
    let parsed = phalanx_llvm::parse_module(Arc::clone(&context), text.as_bytes())
        .unwrap_or_else(|e| panic!("{e:?}"));
    let mut db = Database::with_event_log();
    let module = db.load(parsed.module, None, TargetOverrides::default());
    let large = module.functions(&db)[1].input;
    for name in ["first", "second", "third"] {
        let code = module.functions(&db)[0].input.view(&db);
        let mut header = code.header.clone();
        header.name = phalanx_ir::GlobalName::Named(context.symbol(name.as_bytes()));
        let function = phalanx_ir::Function {
            header,
            flow: code.flow.clone(),
            body: code.body.clone(),
            extras: code.extras.clone(),
            use_list_orders: Vec::new(),
        };
        db.add_function(module, function).expect("the name is free");
        db.take_log();
        let found = queries::divergence(&db, large).clone();
        let log = db.take_log();
        let ran = log.iter().any(|entry| entry.did == Did::Run && entry.query == "divergence");
        assert_eq!(ran, name == "first", "nobody calls it");
        let (mut fresh, text) = (Database::new(), text.as_bytes());
        let parsed = phalanx_llvm::parse_module(Arc::clone(&context), text).expect("as before");
        let again = fresh.load(parsed.module, None, TargetOverrides::default());
        let expected = queries::divergence(&fresh, again.functions(&fresh)[1].input);
        assert_eq!(&found, expected);
    }
}
