//! Which edit of a large function that is called leaves what of its summary, and that it is the one
//! from scratch.

#[path = "support.rs"]
mod support;

use phalanx_db::{Did, FunctionInput, queries};
use phalanx_ir::{
    BuildError, InstBuilder, InstId, Opcode, Type, Value, builder::Callee, edit::Transaction,
};
use phalanx_testing::files::check_table;
use support::Fixture;

/// A function that returns something, with loops, calls, a slot and operations of the wave; `long`
/// instructions between.
fn text(long: usize) -> String {
    let mut text = String::from(
        r#"
target triple = "nvptx64-nvidia-cuda"
@dev = internal addrspace(1) global [4 x i32] zeroinitializer
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.redux.sync.umin(i32, i32)
declare void @llvm.nvvm.barrier0()

define internal i32 @leaf(i32 %n, i32 %m) {
  %sum = add i32 %n, 1
  ret i32 %sum
}

define i32 @callee(i32 %n, i32 %m) {
entry:
  %slot = alloca i32
  %v0 = add i32 %n, 1
  %v1 = mul i32 %v0, 3
  store i32 %v0, ptr %slot
  %g = getelementptr i32, ptr addrspace(1) @dev, i32 %n
  %l = load i32, ptr addrspace(1) %g
  %called = call i32 @leaf(i32 %n, i32 %m)
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 2
  %go = icmp slt i32 %next, %n
  br i1 %go, label %loop, label %out
out:
  %k = icmp eq i32 %v0, %called
  br i1 %k, label %then, label %done
then:
  %o = load i32, ptr %slot
  ret i32 %o
done:
  %w0 = add i32 %i, %called
"#,
    );
    for at in 1..=long {
        text.push_str(&format!("  %w{at} = add i32 %n, {at}\n"));
    }
    text.push_str(
        "  ret i32 %w0\n}\n\
         define ptx_kernel void @kernel(ptr addrspace(1) %p, i32 %n) {\n  \
         %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  \
         %r = call i32 @callee(i32 %n, i32 %t)\n  store i32 %r, ptr addrspace(1) %p\n  ret void\n}\n",
    );
    text
}

/// The same with `count` further arguments, for which the kernel passes its own.
fn with_more(count: u32) -> String {
    let more: String = (0..count).map(|at| format!(", i32 %a{at}")).collect();
    let passed = ", i32 %n".repeat(count as usize);
    let (callee, call) = ("@callee(i32 %n, i32 %m", "@callee(i32 %n, i32 %t");
    text(400).replace(callee, &format!("{callee}{more}")).replace(call, &format!("{call}{passed}"))
}

struct Edited(Fixture);

impl Edited {
    /// Asked often enough for the summary to be followed.
    fn new(long: usize) -> Self {
        Self::of(&text(long))
    }

    fn of(text: &str) -> Self {
        let mut edited = Edited(Fixture::of(text, "callee"));
        edited.ask();
        for operand in [7, 8, 3] {
            let (at, operand) = (edited.named("v1"), edited.number(operand));
            edited.edit(|edit| edit.set_operand(at, 1, operand));
            // What has been edited once is expected to be edited again; a summary that comes out
            // equal counts as the one of before from then on.
            edited.edit_leaf(1, operand);
            edited.ask();
        }
        edited.0.db.take_log();
        edited
    }

    fn callee(&self) -> FunctionInput {
        self.0.edited()
    }

    fn named(&self, name: &str) -> InstId {
        self.0.named(name)
    }

    /// The first instruction with an opcode.
    fn first(&self, opcode: Opcode) -> InstId {
        let body = self.callee().body(&self.0.db);
        let mut ids = body.all_ids();
        let is =
            |inst: &InstId| body.inst(*inst).opcode == opcode && body.block_of(*inst).is_some();
        ids.find(is).expect("there is one")
    }

    fn number(&self, number: i32) -> Value {
        Value::constant(self.0.context.const_i32(number))
    }

    fn edit<R>(&mut self, edit: impl FnOnce(&mut Transaction<'_>) -> Result<R, BuildError>) {
        self.0.edit(edit);
    }

    /// Changes the sum that the small function returns.
    fn edit_leaf(&mut self, index: u32, operand: Value) {
        let leaf = self.0.function("leaf");
        let sum = leaf.body(&self.0.db).all_ids().next().expect("it adds");
        let done: Result<(), BuildError> =
            self.0.db.edit(leaf, |edit| edit.set_operand(sum, index, operand));
        done.expect("the edit breaks no rule");
    }

    fn reduction(&self) -> Callee {
        let reduction = self.0.function("llvm.nvvm.redux.sync.umin").header(&self.0.db);
        Callee::indirect(self.0.context.const_global(reduction.name, 0).into(), reduction.ty)
    }

    fn returns(&self) -> Vec<InstId> {
        let body = self.callee().body(&self.0.db);
        let is = |inst: &InstId| body.inst(*inst).opcode == Opcode::Ret;
        body.all_ids().filter(is).collect()
    }

    fn ask(&self) {
        queries::summary(&self.0.db, self.callee());
        queries::divergence(&self.0.db, self.0.function("kernel"));
    }

    /// How the parts were found after an edit, as cells of a table, and whether callers are
    /// concerned.
    fn found(&self, before: (queries::Repairs, queries::KeptAnswers)) -> String {
        self.ask();
        let (repairs, kept) = self.counts();
        let way = |before: queries::Ways, now: queries::Ways| match (
            now.kept - before.kept,
            now.repaired - before.repaired,
            now.solved - before.solved,
        ) {
            (0, 0, 0) => "not asked",
            (_, 0, 0) => "kept",
            (_, _, 0) => "repaired",
            _ => "anew",
        };
        let results = match (
            repairs.repaired - before.0.repaired,
            repairs.rebuilt - before.0.rebuilt,
            repairs.kept + repairs.solved - before.0.kept - before.0.solved,
        ) {
            (0, 0, 0) => "not asked",
            (_, 0, 0) => "repaired",
            (0, _, 0) => "derived again",
            _ => "anew",
        };
        let log = self.0.db.take_log().into_iter();
        let kernel = self.0.function("kernel").id();
        let is_told = log
            .filter(|entry| entry.did == Did::Run && entry.key == kernel)
            .any(|entry| entry.query == "divergence");
        let [effects, through] =
            [way(before.1.effects, kept.effects), way(before.1.through, kept.through)];
        let callers = if is_told { "yes" } else { "no" };
        format!("{results} | {effects} | {through} | {callers}")
    }

    fn counts(&self) -> (queries::Repairs, queries::KeptAnswers) {
        let (db, callee) = (&self.0.db, self.callee());
        (queries::summary_repairs(db, callee), queries::kept_answers(db, callee))
    }

    #[track_caller]
    fn check(&self, what: &str) {
        let (db, cold) = self.0.cold();
        let all = self.0.module.functions(&self.0.db).iter().zip(&cold);
        for (warm, cold) in all.filter(|(warm, _)| warm.is_definition) {
            let (known, found) =
                (queries::summary(&self.0.db, warm.input), queries::summary(&db, cold.input));
            assert_eq!(known, found, "{what}");
        }
    }
}

type Edit = fn(&mut Edited);

const EDITS: &[(&str, Edit)] = &[
    ("an operand; the same is returned", |f| {
        let (v, seven) = (f.named("v1"), f.number(7));
        f.edit(|edit| edit.set_operand(v, 1, seven));
    }),
    ("an operand; the result depends on the other argument", |f| {
        let next = f.named("next");
        f.edit(|edit| edit.set_operand(next, 1, Value::arg(1)));
    }),
    ("an integer more", |f| {
        let w = f.named("w9");
        f.edit(|edit| edit.before(w).add(Value::arg(0), Value::arg(0)));
    }),
    ("what is returned", |f| {
        let (out, v) = (f.named("o"), f.named("v0"));
        f.edit(|edit| edit.replace(out, v));
    }),
    ("a return gives the same as the other", |f| {
        let (v, done) = (f.named("v0"), f.named("w0"));
        let rets = f.returns();
        f.edit(|edit| {
            edit.set_operand(rets[0], 0, v)?;
            edit.set_operand(rets[1], 0, v)?;
            edit.set_operand(done, 1, v)
        });
    }),
    ("what is stored in a slot", |f| {
        let (store, v) = (f.first(Opcode::Store), f.named("v1"));
        f.edit(|edit| edit.set_operand(store, 0, v));
    }),
    ("a store less", |f| {
        let store = f.first(Opcode::Store);
        f.edit(|edit| edit.erase(store));
    }),
    ("a store to memory of the device", |f| {
        let (g, v) = (f.named("g"), f.named("v0"));
        f.edit(|edit| edit.after(g).store(v, g));
    }),
    ("an instruction that is not timeless less", |f| {
        let l = f.named("l");
        f.edit(|edit| edit.erase(l));
    }),
    ("a reduction over the wave", |f| {
        let (k, w) = (f.named("v0"), f.named("w0"));
        let (reduction, all) = (f.reduction(), f.number(-1));
        f.edit(|edit| {
            let v = edit.after(k).call(reduction, &[k.into(), all])?;
            edit.set_operand(w, 1, v)
        });
    }),
    ("a call with other arguments", |f| {
        let (called, seven) = (f.named("called"), f.number(7));
        f.edit(|edit| edit.set_operand(called, 0, seven));
    }),
    ("a block split", |f| {
        let w = f.named("w9");
        f.edit(|edit| edit.split_before(w, "").map(drop));
    }),
    ("a branch that always goes one way", |f| {
        let go = f.named("go");
        f.edit(|edit| edit.set_operand(go, 1, Value::arg(1)));
    }),
    ("a function that is called returns something else", |f| {
        f.edit_leaf(0, Value::arg(1));
    }),
    ("a function that is called returns the same", |f| {
        let nine = f.number(9);
        f.edit_leaf(1, nine);
    }),
];

#[test]
fn the_table_in_the_documentation_is_what_happens() {
    let mut table = String::from(
        "| edited in a large function that is called | results | effects | through pointers | its callers are asked |\n|---|---|---|---|---|\n",
    );
    for (kind, edit) in EDITS {
        let mut edited = Edited::new(400);
        let before = edited.counts();
        edit(&mut edited);
        let found = edited.found(before);
        edited.check(kind);
        table.push_str(&format!("| {kind} | {found} |\n"));
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/what-runs.md");
    check_table(page, "| edited in a large function that is called |", &table);
}

/// An answer that becomes less durable counts as changed even if it is equal. That happens at the
/// first edit of its inputs.
#[test]
fn an_equal_summary_stops_there_from_the_second_edit_on() {
    let mut f = Edited(Fixture::of(&text(4), "callee"));
    f.ask();
    for (operand, is_told) in [(7, true), (8, false), (3, false)] {
        f.0.db.take_log();
        let operand = f.number(operand);
        f.edit_leaf(1, operand);
        f.ask();
        let (callee, log) = (f.callee().id(), f.0.db.take_log());
        let runs = log.iter().filter(|entry| entry.did == Did::Run && entry.key == callee);
        assert_eq!(runs.count() > 0, is_told, "{operand:?}: {log:?}");
    }
}

/// With reductions, an argument takes more bits, so there are more passes; the facts about the last
/// arguments are the same.
#[test]
fn a_first_reduction_and_its_end() {
    for count in [12, 22] {
        let mut f = Edited::of(&with_more(count - 2));
        let (k, w, reduction, all) = (f.named("v0"), f.named("w0"), f.reduction(), f.number(-1));
        let mut number = 0;
        let mut last = f.named("called");
        for is_reducing in [true, false, true] {
            let called = f.named("called");
            f.edit(|edit| {
                let v = match is_reducing {
                    true => edit.after(k).call(reduction, &[k.into(), all])?,
                    false => edit.replace(last, called).map(|()| called.into())?,
                };
                last = v.as_inst().expect("it is an instruction");
                edit.set_operand(w, 1, v)
            });
            f.check(&format!("{count} arguments, reducing: {is_reducing}"));
            for _ in 0..count {
                number += 1;
                let argument = Value::arg(number % count);
                f.edit(|edit| edit.set_operand(w, 0, argument));
                f.check(&format!("{count} arguments, reducing: {is_reducing}, reads {argument:?}"));
            }
        }
        let repaired = f.counts().0.repaired;
        assert!(repaired > 30, "{count} arguments: repaired {repaired} times");
    }
}

/// The returned value becomes the same at both returns, or computed once per call, and ceases to
/// be.
#[test]
fn returns_of_the_same() {
    let mut f = Edited::new(400);
    let rets = f.returns();
    let [v, l, next] = ["v0", "l", "next"].map(|name| Value::from(f.named(name)));
    for (first, second) in
        [(v, v), (v, l), (next, next), (l, l), (Value::arg(1), Value::arg(1)), (next, v), (v, v)]
    {
        f.edit(|edit| {
            edit.set_operand(rets[0], 0, first)?;
            edit.set_operand(rets[1], 0, second)
        });
        f.check(&format!("{first:?} and {second:?} are returned"));
    }
    // What is returned moves into the loop, where there are many of it.
    let (w, next) = (f.named("v0"), f.named("next"));
    f.edit(|edit| edit.set_operand(w, 0, Value::arg(1)));
    f.check("what is returned is another");
    let k = f.named("k");
    f.edit(|edit| {
        let inside = edit.after(next).add(Value::arg(0), Value::arg(0))?;
        edit.set_operand(rets[0], 0, inside)?;
        edit.set_operand(rets[1], 0, inside)
    });
    f.check("the same from a loop");
    let inside = f.callee().body(&f.0.db).operands(rets[0])[0].as_inst().expect("it is one");
    f.edit(|edit| edit.move_before(inside, k));
    f.check("moved out of it");
    assert!(f.counts().0.repaired > 8, "{:?}", f.counts());
}

/// Sources of the function itself are no arguments: with many of these, each bit stands for one.
#[test]
fn sources_that_come_and_go() {
    let mut f = Edited::of(&with_more(12));
    let (g, w) = (f.named("g"), f.named("w0"));
    f.edit(|edit| {
        let load = edit.after(g).load(Type::I32, g)?;
        edit.set_operand(w, 1, load)
    });
    f.check("a load that is returned");
    let load = f.callee().body(&f.0.db).operands(w)[1].as_inst().expect("it is one");
    f.edit(|edit| edit.set_operand(load, 0, g));
    f.check("the same");
    f.edit(|edit| edit.set_operand(w, 1, Value::arg(5)));
    f.check("an argument");
    assert!(f.counts().0.repaired > 3, "{:?}", f.counts());
}

/// A function that only computes begins to read memory, and ceases to.
#[test]
fn a_function_becomes_timeless_and_is_no_longer() {
    let pure: String = text(400)
        .lines()
        .filter(|line| !["store", "%l =", "alloca"].iter().any(|part| line.contains(part)))
        .map(|line| {
            format!("{}\n", line.replace("%o = load i32, ptr %slot", "%o = add i32 %n, %m"))
        })
        .collect();
    let mut f = Edited::of(&pure);
    let is_timeless = |f: &Edited| queries::summary(&f.0.db, f.callee()).is_timeless;
    assert!(is_timeless(&f));
    let (g, v) = (f.named("g"), f.named("v1"));
    f.edit(|edit| edit.after(g).load(Type::I32, g));
    f.check("a load");
    assert!(!is_timeless(&f));
    f.edit(|edit| edit.set_operand(v, 1, Value::arg(1)));
    f.check("a load, and an integer");
    let load = f.first(Opcode::Load);
    f.edit(|edit| edit.erase(load));
    f.check("no load");
    assert!(is_timeless(&f) && f.counts().0.repaired > 3, "{:?}", f.counts());
}

/// Where the address of an access comes from is a part of the effects.
#[test]
fn an_address_leads_elsewhere() {
    let text = text(400).replace(
        "%l = load i32, ptr addrspace(1) %g",
        "%x = addrspacecast ptr addrspace(1) %g to ptr\n  %y = getelementptr i32, ptr %x, i32 1\n  \
         %z = getelementptr i32, ptr %y, i32 1\n  %l = load i32, ptr %z",
    );
    let mut f = Edited::of(&text);
    let effects = |f: &Edited| queries::summary(&f.0.db, f.callee()).effects;
    let (before, y, slot) = (effects(&f), f.named("y"), f.named("slot"));
    f.edit(|edit| edit.set_operand(y, 0, slot));
    f.check("its own slot");
    assert_ne!(effects(&f), before);
}

/// The effects through a pointer are updated, whatever changes.
#[test]
fn what_is_left_in_memory_of_the_caller() {
    let text = text(400)
        .replace("@callee(i32 %n, i32 %m) {", "@callee(i32 %n, i32 %m, ptr %left) {")
        .replace("store i32 %v0, ptr %slot", "store i32 %v1, ptr %left")
        .replace(
            "%r = call i32 @callee(i32 %n, i32 %t)",
            "%s = alloca i32\n  %r = call i32 @callee(i32 %n, i32 %t, ptr %s)",
        );
    let mut f = Edited::of(&text);
    let left = |f: &Edited| queries::summary(&f.0.db, f.callee()).through.clone();
    let (before, v) = (left(&f), f.named("v1"));
    assert!(before.is_some(), "the pointer is followed");
    f.edit(|edit| edit.set_operand(v, 1, Value::arg(1)));
    f.check("what is stored");
    assert_ne!(left(&f), before);
}

/// A call that may unwind decides by itself where threads go: a source of the function, and of no
/// argument.
#[test]
fn a_call_that_may_unwind() {
    let text = with_more(12)
        .replace(
            "%called = call i32 @leaf(i32 %n, i32 %m)\n  br label %loop",
            "%called = invoke i32 @leaf(i32 %n, i32 %m) to label %loop unwind label %pad",
        )
        .replace(
            "loop:\n",
            "pad:\n  %caught = landingpad { ptr, i32 } cleanup\n  ret i32 7\nloop:\n",
        );
    let at = text.find("@callee(").expect("it is defined");
    let open = at + text[at..].find(") {").expect("it has a body") + 1;
    let text = format!("{} personality ptr null{}", &text[..open], &text[open..]);
    let mut f = Edited::of(&text);
    let called = f.named("called");
    for argument in [3, 9, 0] {
        f.edit(|edit| edit.set_operand(called, 0, Value::arg(argument)));
        f.check(&format!("argument {argument} is passed"));
    }
    assert!(f.counts().0.repaired > 3, "{:?}", f.counts());
}
