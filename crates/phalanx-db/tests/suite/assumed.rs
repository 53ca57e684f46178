//! Divergence under assumptions, stable loads and classes of loads of functions that are edited:
//! which edit runs what, what is kept, and that it is what a new database finds.

mod random;
#[path = "support.rs"]
mod support;

use phalanx_analysis::{loads::LoadClass, stable::Assumptions};
use phalanx_core::barriers::BarrierModel;
use phalanx_db::{Did, queries};
use phalanx_ir::{BuildError, InstBuilder, InstId, Type, Value, inst::InstFlags};
use phalanx_target::SourceSet;
use phalanx_testing::files::check_table;
use support::Fixture;

/// Race-free programs whose barriers are used rightly.
const STRICT: Assumptions = Assumptions { barriers: Some(BarrierModel::Strict), race_free: true };

/// All sets of assumptions: more than a function retains.
const ALL: [Assumptions; 6] = [
    Assumptions::NONE,
    Assumptions { barriers: None, race_free: true },
    Assumptions { barriers: Some(BarrierModel::Lenient), race_free: false },
    STRICT,
    Assumptions { barriers: Some(BarrierModel::Strict), race_free: false },
    Assumptions { barriers: Some(BarrierModel::Lenient), race_free: true },
];

/// A kernel with loads that are stable, one before a barrier and one behind it, a branch that the
/// barrier shows to be uniform, and `long` sums; it calls a function that writes through an
/// argument, and another one writes a variable.
fn text(long: usize) -> String {
    let mut text = String::from(
        r#"
target triple = "nvptx64-nvidia-cuda"
@v = internal addrspace(1) global i32 0
@w = internal addrspace(1) global i32 0
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()

define internal void @put(ptr addrspace(1) %p, i32 %n) {
  %put = add i32 %n, 1
  ret void
}

define void @writer(i32 %n) {
  store i32 %n, ptr addrspace(1) @w
  ret void
}

define ptx_kernel void @kernel(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias %q, ptr addrspace(1) %r, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %of.v = load i32, ptr addrspace(1) @v
  call void @put(ptr addrspace(1) %q, i32 %n)
  %of.p = load i32, ptr addrspace(1) %p
  %ix = add i32 %n, 1
  %at = getelementptr i32, ptr addrspace(1) %r, i32 %ix
  %early = load i32, ptr addrspace(1) %at
  %c = icmp slt i32 %early, %n
  br i1 %c, label %sync, label %exit
sync:
  call void @llvm.nvvm.barrier0()
  %late = load i32, ptr addrspace(1) %at
  store i32 %late, ptr addrspace(1) %r
  %v0 = add i32 %late, %n
"#,
    );
    for at in 1..long {
        text.push_str(&format!("  %v{at} = add i32 %v{}, %n\n", at - 1));
    }
    text.push_str(&format!(
        r#"  %to = getelementptr i32, ptr addrspace(1) %r, i32 %v{}
  store i32 %n, ptr addrspace(1) %to
  br label %exit
exit:
  ret void
}}
"#,
        long - 1
    ));
    text
}

impl Fixture {
    /// With everything asked often enough for that of a large function to be kept.
    fn new(long: usize) -> Self {
        Fixture::warm(&text(long))
    }

    fn warm(text: &str) -> Self {
        let mut fixture = Fixture::of(text, "kernel");
        fixture.ask();
        for operand in [fixture.named("v1").into(), Value::arg(3), fixture.named("v1").into()] {
            let at = fixture.named("v2");
            fixture.edit(|edit| edit.set_operand(at, 1, operand));
            fixture.ask();
        }
        fixture.db.take_log();
        fixture
    }

    fn ask(&self) {
        for entry in self.module.functions(&self.db).iter().filter(|e| e.is_definition) {
            queries::load_classes(&self.db, entry.input);
            queries::assumed_divergence(&self.db, entry.input, STRICT);
        }
    }

    /// Queries that ran for the kernel since the last call, of those that this is about, sorted.
    fn ran(&self) -> String {
        let about = [
            "barrier_blocks",
            "invariant_branches",
            "race_free_loads",
            "stable_loads",
            "load_classes",
            "assumed_divergence",
            "affect_map",
            "block_layout",
            "accesses_version",
            "loads_version",
        ];
        let log = self.db.take_log().into_iter().filter(|entry| entry.did == Did::Run);
        let log = log
            .filter(|entry| about.contains(&entry.query.as_str()) && self.names_kernel(entry.key));
        let mut names: Vec<String> = log.map(|entry| format!("`{}`", entry.query)).collect();
        names.sort();
        names.dedup();
        match names.is_empty() {
            true => "nothing".into(),
            false => names.join(", "),
        }
    }

    /// Whether a key is no other function: queries with more than a function for a key have one of
    /// their own.
    fn names_kernel(&self, key: phalanx_db::Id) -> bool {
        let of = self.module.functions(&self.db).iter().find(|e| e.input.id() == key);
        of.is_none_or(|e| e.input == self.edited())
    }

    /// Everything is what a new database finds, and the assumed divergence what its definition
    /// says.
    fn check(&self, assumptions: &[Assumptions], what: &str) {
        let (cold, entries) = self.cold();
        let both = self.module.functions(&self.db).iter().zip(&entries);
        for (warm, fresh) in both.filter(|(e, _)| e.is_definition) {
            let (warm, fresh) = (warm.input, fresh.input);
            assert!(
                queries::load_classes(&self.db, warm) == queries::load_classes(&cold, fresh),
                "{what}: classes of loads"
            );
            for &assumptions in assumptions {
                let loads = |db, f| queries::stable_loads(db, f, assumptions).to_vec();
                assert_eq!(loads(&self.db, warm), loads(&cold, fresh), "{what}: {assumptions:?}");
                if let Some(model) = assumptions.barriers {
                    let of = |db, f| queries::invariant_branches(db, f, model).clone();
                    assert_eq!(of(&self.db, warm), of(&cold, fresh), "{what}: {model:?}");
                }
                let found = queries::assumed_divergence(&self.db, warm, assumptions);
                let twin = queries::assumed_divergence_from_scratch(&cold, fresh, assumptions);
                assert!(
                    found.as_deref() == twin.as_ref(),
                    "{what}: divergence assuming {assumptions:?}"
                );
            }
        }
    }
}

type Edit = fn(&mut Fixture);

/// What of the answers that are kept was found with what was kept.
fn kept(before: queries::KeptAnswers, after: queries::KeptAnswers) -> String {
    let all = [
        ("barriers", before.barriers, after.barriers),
        ("race-free loads", before.race_free, after.race_free),
        ("classes", before.loads, after.loads),
    ];
    let of = |is: fn(queries::Ways, queries::Ways) -> bool| {
        let names = all.iter().filter(|(_, before, after)| is(*before, *after));
        names.map(|(name, ..)| *name).collect::<Vec<_>>().join(", ")
    };
    let made = of(|before, after| after.solved > before.solved);
    let repaired = of(|before, after| after.repaired > before.repaired);
    let kept = of(|before, after| after.kept > before.kept && after.solved == before.solved);
    let ways = [("kept", kept), ("repaired", repaired), ("anew", made)].into_iter();
    let ways = ways.filter(|(_, names)| !names.is_empty());
    let ways: Vec<String> = ways.map(|(way, names)| format!("{way}: {names}")).collect();
    if ways.is_empty() { "-".to_owned() } else { ways.join("; ") }
}

const KINDS: &[(&str, Edit)] = &[
    ("an operand of a sum; equal divergence", |f| {
        let (v3, v1) = (f.named("v3"), f.named("v1"));
        f.edit(|edit| edit.set_operand(v3, 0, v1));
    }),
    ("an operand of a sum; other values diverge", |f| {
        let (v3, tid) = (f.named("v3"), f.named("tid"));
        f.edit(|edit| edit.set_operand(v3, 0, tid));
    }),
    ("an operand of a sum; an address diverges", |f| {
        let (ix, tid) = (f.named("ix"), f.named("tid"));
        f.edit(|edit| edit.set_operand(ix, 0, tid));
    }),
    ("an index of a load; the address diverges", |f| {
        let (at, tid) = (f.named("at"), f.named("tid"));
        f.edit(|edit| edit.set_operand(at, 1, tid));
    }),
    ("a sum more", |f| {
        let v3 = f.named("v3");
        f.edit(|edit| edit.before(v3).add(Value::arg(3), Value::arg(3)).map(drop));
    }),
    ("a load more", |f| {
        let (v3, at) = (f.named("v3"), Value::inst(f.named("at")));
        f.edit(|edit| edit.before(v3).load(Type::I32, at).map(drop));
    }),
    ("a load becomes volatile", |f| {
        let early = f.named("early");
        f.edit(|edit| edit.set_flags(early, InstFlags::VOLATILE));
    }),
    ("a store more", |f| {
        let (early, zero) = (f.named("early"), Value::constant(f.context.const_i32(0)));
        f.edit(|edit| edit.before(early).store(zero, Value::arg(0)).map(drop));
    }),
    ("a barrier more", |f| {
        let (early, barrier) = (f.named("early"), f.barrier());
        f.edit(|edit| edit.before(early).clone_of(barrier).map(drop));
    }),
    ("a barrier less", |f| {
        let barrier = f.barrier();
        f.edit(|edit| edit.erase(barrier));
    }),
    ("a block split", |f| {
        let v3 = f.named("v3");
        f.edit(|edit| edit.split_before(v3, "").map(drop));
    }),
    ("a function that is called begins to write", |f| {
        let (put, zero) = (f.function("put"), Value::constant(f.context.const_i32(0)));
        let at = put.body(&f.db).all_ids().next().expect("it is not empty");
        let done: Result<(), BuildError> =
            f.db.edit(put, |edit| edit.before(at).store(zero, Value::arg(0)).map(drop));
        done.expect("an argument can be stored to");
    }),
    ("a variable that is read begins to be written", |f| {
        let writer = f.function("writer");
        let at = writer.body(&f.db).all_ids().next().expect("it is not empty");
        let address = f.edited().body(&f.db).operands(f.named("of.v"))[0];
        let done: Result<(), BuildError> =
            f.db.edit(writer, |edit| edit.set_operand(at, 1, address));
        done.expect("it is a variable");
    }),
];

impl Fixture {
    fn barrier(&self) -> InstId {
        let body = self.edited().body(&self.db);
        let block = body.block_of(self.named("late")).expect("it is in a block");
        body.block_insts(block).next().expect("it stands first")
    }
}

#[test]
fn the_table_in_the_documentation_is_what_happens() {
    let mut table = String::from(
        "| edited under assumptions | runs in a small kernel | runs in a large one | of that |\n|---|---|---|---|\n",
    );
    for (kind, edit) in KINDS {
        let after = |long: usize| {
            let mut fixture = Fixture::new(long);
            let before = queries::kept_answers(&fixture.db, fixture.edited());
            edit(&mut fixture);
            fixture.ask();
            let after = queries::kept_answers(&fixture.db, fixture.edited());
            let ran = fixture.ran();
            fixture.check(&[STRICT], kind);
            (ran, kept(before, after))
        };
        let ((small, nothing), (large, kept)) = (after(4), after(400));
        assert_eq!(nothing, "-");
        assert!(!large.contains("affect_map"), "{kind}: {large}");
        table.push_str(&format!("| {kind} | {small} | {large} | {kept} |\n"));
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/what-runs.md");
    check_table(page, "| edited under assumptions |", &table);
}

/// Classes and stable loads are what they should be, before it is asked how they follow edits.
#[test]
fn the_kernel_is_what_it_is_meant_to_be() {
    for long in [4, 400] {
        let fixture = Fixture::new(long);
        let (db, kernel) = (&fixture.db, fixture.edited());
        assert_eq!(kernel.is_large(db), long == 400);
        let classes = queries::load_classes(db, kernel).as_ref().expect("it has a body");
        let of = |name: &str| {
            let load = classes.of(fixture.named(name)).expect("it is a load");
            LoadClass::ALL.map(|class| load.is(class))
        };
        assert_eq!(of("of.v"), [true; 3], "{:?}", classes.of(fixture.named("of.v")));
        assert_eq!(of("of.p"), [true; 3]);
        assert_eq!(of("early"), [true, false, false]);
        assert_eq!(of("late"), [false; 3]);
        let stable = queries::stable_loads(db, kernel, STRICT);
        let left = |name: &str| {
            let load = stable.iter().find(|(load, _)| *load == fixture.named(name));
            load.map(|(_, left)| *left)
        };
        assert_eq!(left("early"), Some(SourceSet::EMPTY));
        assert_eq!(left("late"), Some(SourceSet::OPAQUE_GROUP));
        let branches = queries::invariant_branches(db, kernel, BarrierModel::Strict).as_deref();
        assert_eq!(branches.map(<[_]>::len), Some(1));
    }
}

/// An address that diverges and then does not: each time it is compared with how it was the last
/// time.
#[test]
fn classes_follow_there_and_back() {
    let mut fixture = Fixture::new(400);
    let (ix, tid) = (fixture.named("ix"), fixture.named("tid"));
    let before = queries::kept_answers(&fixture.db, fixture.edited()).loads;
    for round in 1..=3 {
        for (operand, is_scalar) in [(Value::inst(tid), false), (Value::arg(3), true)] {
            fixture.edit(|edit| edit.set_operand(ix, 0, operand));
            fixture.ask();
            let classes = queries::load_classes(&fixture.db, fixture.edited()).as_ref();
            let load = classes.and_then(|all| all.of(fixture.named("early")));
            let load = load.expect("it is a load");
            assert_eq!(load.is(LoadClass::Scalar), is_scalar, "round {round}");
        }
    }
    let after = queries::kept_answers(&fixture.db, fixture.edited()).loads;
    assert_eq!((after.repaired - before.repaired, after.solved), (6, before.solved));
}

/// A load is stable in a workgroup or in all of them by where its address leads, and hears of it
/// however far from there the address was made. A promise that memory never changes, on a load of
/// memory that is written: it is about that load alone.
#[test]
fn classes_follow_promises() {
    let marked = "%early = load i32, ptr addrspace(1) %at, !other !0";
    let text = text(400).replace("%early = load i32, ptr addrspace(1) %at", marked) + "!0 = !{}\n";
    let mut fixture = Fixture::of(&text, "kernel");
    fixture.check(&[], "before");
    let class = |fixture: &Fixture| {
        let classes = queries::load_classes(&fixture.db, fixture.edited()).as_ref();
        let load = classes.and_then(|classes| classes.of(fixture.named("late")).cloned());
        load.expect("it is a load").classes().collect::<Vec<_>>()
    };
    let (late, before) = (fixture.named("late"), class(&fixture));
    let attachments = &fixture.edited().extras(&fixture.db).attachments;
    let node = attachments.first().expect("there is one").1.node;
    let answers = |fixture: &Fixture| queries::kept_answers(&fixture.db, fixture.edited()).loads;
    let made = answers(&fixture).solved;
    fixture.edit(|edit| edit.attach(late, "invariant.load", Some(node)));
    fixture.check(&[], "a promise");
    assert_ne!(class(&fixture), before);
    assert_eq!(answers(&fixture).solved, made, "no other load is looked at");
}

#[test]
fn stable_loads_follow_addresses() {
    let text = text(400).replace(
        "  %c = icmp",
        "  %far = addrspacecast ptr addrspace(1) %r to ptr
  %tile = addrspacecast ptr addrspace(3) @tile to ptr
  %base = getelementptr i8, ptr %far, i32 0
  %then = getelementptr i8, ptr %base, i32 4
  %through = load i32, ptr %then
  %c = icmp",
    );
    let text = text.replace("@v = ", "@tile = internal addrspace(3) global [2 x i32] undef\n@v = ");
    let mut fixture = Fixture::warm(&text);
    let (base, through) = (fixture.named("base"), fixture.named("through"));
    let (far, tile) = (fixture.named("far"), fixture.named("tile"));
    let left = |fixture: &Fixture| {
        let stable = queries::stable_loads(&fixture.db, fixture.edited(), STRICT);
        stable.iter().find(|(load, _)| *load == through).map(|(_, left)| *left)
    };
    assert_eq!(left(&fixture), Some(SourceSet::EMPTY));
    let before = queries::kept_answers(&fixture.db, fixture.edited()).race_free;
    for (from, all) in
        [(tile, SourceSet::OPAQUE_GROUP), (far, SourceSet::EMPTY), (tile, SourceSet::OPAQUE_GROUP)]
    {
        fixture.edit(|edit| edit.set_operand(base, 0, from));
        fixture.check(&[STRICT], "the base of an address");
        assert_eq!(left(&fixture), Some(all));
    }
    let after = queries::kept_answers(&fixture.db, fixture.edited()).race_free;
    assert_eq!((after.repaired - before.repaired, after.solved), (3, before.solved));
    // Other changes of facts about addresses are not known by instruction: then the answer is
    // computed from scratch.
    let late = fixture.named("late");
    let writer = fixture.function("writer").body(&fixture.db);
    let variable = writer.all_ids().find_map(|inst| writer.operands(inst).get(1).copied());
    let variable = variable.expect("it stores to a variable");
    fixture.edit(|edit| {
        edit.set_operand(base, 0, far)?;
        edit.before(late).load(Type::I32, variable)
    });
    fixture.check(&[STRICT], "the base of an address, and a load of a variable more");
    assert_eq!(left(&fixture), Some(SourceSet::EMPTY));
    assert_eq!(
        queries::kept_answers(&fixture.db, fixture.edited()).race_free.solved,
        after.solved + 1
    );
}

/// A function retains a few updaters. Queries that alternate between more assumptions than that
/// are solved from scratch each time.
#[test]
fn followers_are_few() {
    let mut fixture = Fixture::new(400);
    // Near the end, so that few others follow.
    let late = fixture.named("v390");
    let values = [fixture.named("v1"), fixture.named("tid")];
    let mut ask = |assumptions: &[Assumptions], rounds: usize| {
        let before = queries::assumed_repairs(&fixture.db, fixture.edited());
        for round in 0..rounds {
            fixture.edit(|edit| edit.set_operand(late, 0, values[round % 2]));
            for &assumptions in assumptions {
                queries::assumed_divergence(&fixture.db, fixture.edited(), assumptions);
            }
        }
        let after = queries::assumed_repairs(&fixture.db, fixture.edited());
        (after.repaired - before.repaired, after.solved + after.kept - before.solved - before.kept)
    };
    // Each of four is solved, solved and kept, and then repaired, but for the one that is kept
    // already.
    let (repaired, solved) = ask(&ALL[1..5], 10);
    assert!(repaired >= 31 && solved <= 8, "{repaired} {solved}");
    // The fifth takes the place of the first, and so on.
    assert_eq!(ask(&ALL[1..6], 6), (4, 26));
    let (repaired, solved) = ask(&[STRICT], 6);
    assert!(repaired >= 4 && solved <= 2, "{repaired} {solved}");
    fixture.db.trim(fixture.module);
    fixture.edit(|edit| edit.set_flags(late, InstFlags::NSW));
    fixture.ask();
    let before = queries::assumed_repairs(&fixture.db, fixture.edited());
    fixture.edit(|edit| edit.set_flags(late, InstFlags::NUW));
    fixture.ask();
    let after = queries::assumed_repairs(&fixture.db, fixture.edited());
    assert_eq!((after.repaired, after.kept), (before.repaired, before.kept + 1), "dropped");
}

/// A pass over a whole function makes larger edits. Then divergence under assumptions is solved
/// from the tables of `divergence`. State is retained again once edits are very small.
#[test]
fn after_larger_edits_nothing_is_kept() {
    let mut fixture = Fixture::new(4000);
    let late = fixture.named("v3990");
    fixture.db.trim(fixture.module);
    let mut ask = |inserted: usize| {
        let before = queries::assumed_repairs(&fixture.db, fixture.edited());
        fixture.edit(|edit| {
            let mut xor = || edit.before(late).xor(Value::arg(3), Value::arg(3)).map(drop);
            (0..inserted).try_for_each(|_| xor())
        });
        fixture.ask();
        let after = queries::assumed_repairs(&fixture.db, fixture.edited());
        [after.solved - before.solved, after.kept - before.kept, after.repaired - before.repaired]
    };
    ask(12);
    for inserted in [12, 12, 12] {
        assert_eq!(ask(inserted), [1, 0, 0]);
    }
    assert_eq!(ask(4), [0, 1, 0]);
    assert_eq!(ask(12), [0, 0, 1]);
}

/// If no assumption makes a difference, the answer is the one without assumptions, and nothing is
/// solved.
#[test]
fn without_effect_it_is_divergence() {
    let body = (1..400).map(|at| format!("  %v{at} = add i32 %v{}, %n\n", at - 1));
    let text = format!(
        "target triple = \"amdgcn-amd-amdhsa\"\n\
         define amdgpu_kernel void @kernel(ptr addrspace(4) %c, ptr addrspace(1) %p, i32 %n) {{\n  \
         %l = load i32, ptr addrspace(4) %c\n  %v0 = add i32 %l, %n\n{}  \
         store i32 %v399, ptr addrspace(1) %p\n  ret void\n}}\n",
        body.collect::<String>()
    );
    let mut fixture = Fixture::of(&text, "kernel");
    let kernel = fixture.edited();
    for operand in [Value::arg(2), Value::inst(fixture.named("v1")), Value::arg(2)] {
        let v2 = fixture.named("v2");
        fixture.edit(|edit| edit.set_operand(v2, 1, operand));
        fixture.check(&ALL, "no effect");
        assert!(!queries::stable_loads(&fixture.db, kernel, STRICT).is_empty());
        let ways = queries::assumed_repairs(&fixture.db, kernel);
        assert_eq!(ways, queries::Repairs::default());
    }
}

/// Where an address leads decides how far a load is stable, and changes where no load does.
#[test]
fn stable_loads_follow_where_addresses_lead() {
    let body = (1..400).map(|at| format!("  %v{at} = add i32 %v{}, %n\n", at - 1));
    let text = format!(
        "target triple = \"nvptx64-nvidia-cuda\"\n\
         @lds = internal addrspace(3) global [64 x i32] undef\n\
         @dev = addrspace(1) global [64 x i32] zeroinitializer\n\
         define ptx_kernel void @kernel(ptr addrspace(1) %out, i32 %n) {{\n  \
         %s = addrspacecast ptr addrspace(3) @lds to ptr\n  \
         %d = addrspacecast ptr addrspace(1) @dev to ptr\n  \
         %at = getelementptr i32, ptr %s, i32 %n\n  %l = load i32, ptr %at\n  \
         %v0 = add i32 %l, %n\n{}  store i32 %v399, ptr addrspace(1) %out\n  ret void\n}}\n",
        body.collect::<String>()
    );
    let mut fixture = Fixture::of(&text, "kernel");
    fixture.check(&ALL, "the first time");
    let [s, d, at, l] = ["s", "d", "at", "l"].map(|name| fixture.named(name));
    for _ in 0..3 {
        for (base, left) in [(d, SourceSet::EMPTY), (s, SourceSet::OPAQUE_GROUP)] {
            fixture.edit(|edit| edit.set_operand(at, 0, base));
            fixture.check(&ALL, "another base");
            let stable = queries::stable_loads(&fixture.db, fixture.edited(), STRICT);
            assert_eq!(**stable, [(l, left)]);
        }
    }
}

/// An address that is uniform in its loop and diverges behind it, since threads leave in different
/// iterations.
#[test]
fn classes_follow_when_threads_leave_a_loop() {
    let body = (1..400).map(|at| format!("  %v{at} = add i32 %v{}, %n\n", at - 1));
    let text = format!(
        "target triple = \"nvptx64-nvidia-cuda\"\n\
         declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n\
         define ptx_kernel void @kernel(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias %q, i32 %n) {{\n\
         entry:\n  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %limit = add i32 %n, 7\n  \
         br label %loop\n\
         loop:\n  %i = phi i32 [ 0, %entry ], [ %next, %loop ]\n  %next = add i32 %i, 1\n  \
         %at = getelementptr i32, ptr addrspace(1) %p, i32 %i\n  \
         %c = icmp slt i32 %next, %limit\n  br i1 %c, label %loop, label %exit\n\
         exit:\n  %l = load i32, ptr addrspace(1) %at\n  %v0 = add i32 %l, %n\n{}  \
         store i32 %v399, ptr addrspace(1) %q\n  ret void\n}}\n",
        body.collect::<String>()
    );
    let mut fixture = Fixture::of(&text, "kernel");
    fixture.check(&[STRICT], "the first time");
    let [limit, tid, l] = ["limit", "tid", "l"].map(|name| fixture.named(name));
    let made = |f: &Fixture| queries::kept_answers(&f.db, f.edited()).loads.solved;
    let mut first = None;
    for _ in 0..3 {
        for (operand, is_scalar) in [(Value::inst(tid), false), (Value::arg(2), true)] {
            fixture.edit(|edit| edit.set_operand(limit, 0, operand));
            fixture.check(&[STRICT], "another limit");
            let classes = queries::load_classes(&fixture.db, fixture.edited()).as_ref();
            let load = classes.and_then(|all| all.of(l)).expect("it is a load");
            assert_eq!(load.is(LoadClass::Scalar), is_scalar);
        }
        // Once more while what classes are found from is beginning to be kept itself.
        assert_eq!(made(&fixture), *first.get_or_insert(made(&fixture)));
    }
}

/// Which of a store and a load comes first is seen in the code alone.
#[test]
fn classes_follow_a_store_that_moves() {
    let mut fixture = Fixture::new(400);
    let [early, c] = ["early", "c"].map(|name| fixture.named(name));
    let zero = Value::constant(fixture.context.const_i32(0));
    let behind = fixture.edit(|edit| {
        edit.before(c).store(zero, Value::arg(2))?;
        Ok(edit
            .body()
            .block_insts(edit.body().block_of(c).expect("it is there"))
            .collect::<Vec<_>>())
    });
    let at = behind.iter().position(|&inst| inst == c).expect("it is in its block");
    let store = behind[at - 1];
    fixture.check(&[STRICT], "a store behind");
    for _ in 0..2 {
        for (before, is_scalar) in [(early, false), (c, true)] {
            fixture.edit(|edit| edit.move_before(store, before));
            fixture.check(&[STRICT], "the store moved");
            let classes = queries::load_classes(&fixture.db, fixture.edited()).as_ref();
            let load = classes.and_then(|all| all.of(early)).expect("it is a load");
            assert_eq!(load.is(LoadClass::Scalar), is_scalar);
        }
    }
}
