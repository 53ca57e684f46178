//! Edits of a large function that is given pointers: what it does through them is repaired, and is
//! that from scratch.

mod random;

#[path = "support.rs"]
mod support;

use phalanx_analysis::summary::Through;
use phalanx_db::{Did, queries};
use phalanx_ir::{
    BuildError, GlobalName, InstBuilder, InstId, Opcode, Type, Value, builder::Callee,
};
use phalanx_testing::files::check_table;
use support::Fixture;

/// A function that is given pointers: what `%a` and `%b` point to is read, written and handed on,
/// `%c` is put into a slot first; then `long` sums.
fn text(long: usize) -> String {
    let mut text = String::from(
        r#"
target triple = "nvptx64-nvidia-cuda"
@dev = internal addrspace(1) global [4 x i32] zeroinitializer
@kept = internal addrspace(1) global ptr null
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.redux.sync.umin(i32, i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal void @set(ptr %to, i32 %what) {
  %set = add i32 %what, 1
  store i32 %set, ptr %to
  ret void
}

define internal i32 @get(ptr %from) {
  %v = load i32, ptr %from
  ret i32 %v
}

define i32 @work(ptr %a, ptr %b, ptr %c, i32 %n, i32 %m) {
entry:
  %x = alloca i32
  %hold = alloca ptr
  %copy = alloca [4 x i32]
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store ptr %c, ptr %hold
  store i32 %n, ptr %x
  %a1 = getelementptr i32, ptr %a, i32 1
  %a2 = getelementptr i32, ptr %a, i32 2
  %a3 = getelementptr i32, ptr %a2, i32 1
  %la = load i32, ptr %a
  store i32 %n, ptr %a1
  %v0 = add i32 %la, %n
  %v1 = mul i32 %m, 3
  %g = getelementptr i32, ptr addrspace(1) @dev, i32 %n
  %lg = load i32, ptr addrspace(1) %g
  %c0 = icmp slt i32 %n, 7
  br i1 %c0, label %one, label %two
one:
  store i32 %v1, ptr %a2
  call void @set(ptr %a3, i32 %m)
  %held = load ptr, ptr %hold
  store i32 %v1, ptr %held
  br label %two
two:
  %i = phi i32 [ 0, %entry ], [ 0, %one ], [ %next, %two ]
  %lb = load i32, ptr %b
  %sum = add i32 %lb, %i
  %next = add i32 %i, 1
  store i32 %sum, ptr %b
  %l1 = load i32, ptr %a1
  %go = icmp slt i32 %next, %l1
  br i1 %go, label %two, label %three
three:
  call void @llvm.memcpy.p0.p0.i64(ptr %copy, ptr %a, i64 16, i1 false)
  %y = getelementptr [4 x i32], ptr %copy, i32 0, i32 2
  %ly = load i32, ptr %y
  %got = call i32 @get(ptr %b)
  %c1 = icmp slt i32 %ly, %m
  br i1 %c1, label %four, label %five
four:
  store i32 %m, ptr %a1
  ret i32 %ly
five:
  %w0 = add i32 %v1, %got
"#,
    );
    for at in 1..=long {
        text.push_str(&format!("  %w{at} = add i32 %n, {at}\n"));
    }
    text.push_str(
        "  store i32 %w0, ptr %x\n  ret i32 %w0\n}\n\
         define ptx_kernel void @kernel(ptr addrspace(1) %p, i32 %n) {\n  \
         %s = alloca [4 x i32]\n  %t = alloca i32\n  %u = alloca i32\n  \
         %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  \
         store i32 %n, ptr %s\n  store i32 %n, ptr %t\n  store i32 %n, ptr %u\n  \
         %r = call i32 @work(ptr %s, ptr %t, ptr %u, i32 %n, i32 %tid)\n  \
         %o = load i32, ptr %s\n  %q = load i32, ptr %t\n  \
         store i32 %r, ptr addrspace(1) %p\n  ret void\n}\n",
    );
    text
}

impl Fixture {
    /// Asked often enough for the summary to be followed.
    fn new(long: usize) -> Self {
        Self::warm(&text(long))
    }

    fn warm(text: &str) -> Self {
        let mut fixture = Fixture::of(text, "work");
        fixture.ask();
        for operand in [7, 8, 3] {
            let (at, operand) = (fixture.named("w1"), fixture.number(operand));
            fixture.edit(|edit| edit.set_operand(at, 1, operand));
            fixture.edit_set(1, operand);
            fixture.ask();
        }
        fixture.db.take_log();
        fixture
    }

    fn number(&self, number: i32) -> Value {
        Value::constant(self.context.const_i32(number))
    }

    /// A variable in which pointers are kept.
    fn kept(&self) -> Value {
        let name = self.context.find_symbol(b"kept").expect("it is there");
        self.context.const_global(GlobalName::Named(name), 1).into()
    }

    fn reduction(&self) -> Callee {
        let reduction = self.function("llvm.nvvm.redux.sync.umin").header(&self.db);
        Callee::indirect(self.context.const_global(reduction.name, 0).into(), reduction.ty)
    }

    /// Another operand of the sum that a small function leaves.
    fn edit_set(&mut self, index: u32, operand: Value) {
        let set = self.function("set");
        let sum = set.body(&self.db).all_ids().next().expect("it adds");
        let done: Result<(), BuildError> =
            self.db.edit(set, |edit| edit.set_operand(sum, index, operand));
        done.expect("the edit breaks no rule");
    }

    /// The next instruction behind a named one that has an opcode.
    fn behind(&self, name: &str, opcode: Opcode) -> InstId {
        let body = self.edited().body(&self.db);
        let mut all = std::iter::successors(body.next(self.named(name)), |&at| body.next(at));
        all.find(|&inst| body.inst(inst).opcode == opcode).expect("there is one")
    }

    fn ask(&self) {
        queries::summary(&self.db, self.edited());
        queries::divergence(&self.db, self.function("kernel"));
    }

    fn counts(&self) -> queries::Ways {
        queries::kept_answers(&self.db, self.edited()).through
    }

    fn through(&self) -> Option<Box<Through>> {
        queries::summary(&self.db, self.edited()).through.clone()
    }

    /// How it was found after an edit, as cells of a table, and whether callers are concerned.
    fn found(&self, before: queries::Ways) -> String {
        self.ask();
        let now = self.counts();
        let way = match (
            now.kept - before.kept,
            now.repaired - before.repaired,
            now.solved - before.solved,
        ) {
            (0, 0, 0) => "not asked",
            (_, 0, 0) => "kept",
            (_, _, 0) => "repaired",
            _ => "anew",
        };
        let kernel = self.function("kernel").id();
        let log = self.db.take_log().into_iter();
        let is_told = log
            .filter(|entry| entry.did == Did::Run && entry.key == kernel)
            .any(|entry| entry.query == "divergence");
        format!("{way} | {}", if is_told { "yes" } else { "no" })
    }

    #[track_caller]
    fn check(&self, what: &str) {
        let (db, cold) = self.cold();
        let all = self.module.functions(&self.db).iter().zip(&cold);
        for (warm, cold) in all.filter(|(warm, _)| warm.is_definition) {
            let (known, found) =
                (queries::summary(&self.db, warm.input), queries::summary(&db, cold.input));
            assert_eq!(known, found, "{what}");
        }
    }
}

type Edit = fn(&mut Fixture);

const EDITS: &[(&str, Edit)] = &[
    ("an integer that is not stored", |f| {
        let (w, m) = (f.named("w9"), Value::arg(4));
        f.edit(|edit| edit.set_operand(w, 1, m));
    }),
    ("an integer more", |f| {
        let w = f.named("w9");
        f.edit(|edit| edit.before(w).add(Value::arg(3), Value::arg(3)));
    }),
    ("an operand; something else is left", |f| {
        let (v, tid) = (f.named("v1"), f.named("tid"));
        f.edit(|edit| edit.set_operand(v, 1, tid));
    }),
    ("what is stored through a pointer", |f| {
        let (store, tid) = (f.behind("la", Opcode::Store), f.named("tid"));
        f.edit(|edit| edit.set_operand(store, 0, tid));
    }),
    ("a load through a pointer more", |f| {
        let load = f.named("lb");
        f.edit(|edit| edit.after(load).clone_of(load));
    }),
    ("a load through a pointer less", |f| {
        let (load, y) = (f.named("l1"), f.named("go"));
        f.edit(|edit| {
            edit.set_operand(y, 1, Value::arg(3))?;
            edit.erase(load)
        });
    }),
    ("a store through a pointer more, where others are", |f| {
        let (y, a1) = (f.named("y"), f.named("a1"));
        f.edit(|edit| edit.before(y).store(Value::arg(4), a1).map(drop));
    }),
    ("a store through a pointer less", |f| {
        let store = f.behind("la", Opcode::Store);
        f.edit(|edit| edit.erase(store));
    }),
    ("a load of other memory", |f| {
        let load = f.named("lg");
        f.edit(|edit| edit.after(load).clone_of(load));
    }),
    ("an index of other memory", |f| {
        let (g, m) = (f.named("g"), Value::arg(4));
        f.edit(|edit| edit.set_operand(g, 1, m));
    }),
    ("what is stored in a slot", |f| {
        let (store, m) = (f.behind("w9", Opcode::Store), Value::arg(4));
        f.edit(|edit| edit.set_operand(store, 0, m));
    }),
    ("what is returned", |f| {
        let (ret, v) = (f.behind("w9", Opcode::Ret), f.named("v0"));
        f.edit(|edit| edit.set_operand(ret, 0, v));
    }),
    ("a function is given something else beside the pointer", |f| {
        let body = f.edited().body(&f.db);
        let call = body.prev(f.named("held")).expect("the call stands before it");
        f.edit(|edit| edit.set_operand(call, 1, Value::arg(3)));
    }),
    ("a branch between stores", |f| {
        let (c, m) = (f.named("c0"), Value::arg(4));
        f.edit(|edit| edit.set_operand(c, 0, m));
    }),
    ("a reduction over the wave", |f| {
        let (v, w) = (f.named("v0"), f.named("w0"));
        let (reduction, all) = (f.reduction(), f.number(-1));
        f.edit(|edit| {
            let least = edit.after(v).call(reduction, &[v.into(), all])?;
            edit.set_operand(w, 1, least)
        });
    }),
    ("an address is of another part", |f| {
        let (a2, eight) = (f.named("a2"), f.number(8));
        f.edit(|edit| edit.set_operand(a2, 1, eight));
    }),
    ("where something is stored depends on an integer", |f| {
        let (a1, n) = (f.named("a1"), Value::arg(3));
        f.edit(|edit| edit.set_operand(a1, 1, n));
    }),
    ("a pointer is kept", |f| {
        let (w, kept) = (f.named("w9"), f.kept());
        f.edit(|edit| edit.before(w).store(Value::arg(1), kept).map(drop));
    }),
    ("a block split", |f| {
        let w = f.named("w9");
        f.edit(|edit| edit.split_before(w, "").map(drop));
    }),
    ("a function that is called leaves something else", |f| {
        let seven = f.number(7);
        f.edit_set(0, seven);
    }),
];

#[test]
fn the_table_in_the_documentation_is_what_happens() {
    let mut table = String::from(
        "| edited in a large function that is given pointers | through pointers | its callers are asked |\n|---|---|---|\n",
    );
    for (kind, edit) in EDITS {
        let mut fixture = Fixture::new(400);
        assert!(fixture.through().is_some(), "it is known what is done through pointers");
        let before = fixture.counts();
        edit(&mut fixture);
        table.push_str(&format!("| {kind} | {} |\n", fixture.found(before)));
        fixture.check(kind);
        // The retained state is equivalent to a new one.
        let v = fixture.named("v1");
        fixture.edit(|edit| edit.set_operand(v, 0, Value::arg(3)));
        fixture.check(kind);
        fixture.edit(|edit| edit.set_operand(v, 0, Value::arg(4)));
        fixture.check(kind);
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/what-runs.md");
    check_table(page, "| edited in a large function that is given pointers |", &table);
}

/// An argument is followed no longer when its address is kept, and is again when it is not.
#[test]
fn a_pointer_is_kept_and_is_not_any_more() {
    let mut f = Fixture::new(400);
    let is_followed = |f: &Fixture, at| f.through().is_some_and(|through| through.is_followed(at));
    let mut last = None;
    for round in 0..9 {
        let (w, kept, at) = (f.named("w9"), f.kept(), round % 3);
        match last.take() {
            Some(store) => f.edit(|edit| edit.erase(store)),
            None => {
                let pointer = Value::arg(at);
                last = Some(f.edit(|edit| edit.before(w).store(pointer, kept)));
            }
        }
        f.check(&format!("round {round}"));
        let v = f.named("v1");
        f.edit(|edit| edit.set_operand(v, 0, Value::arg(3 + round % 2)));
        f.check(&format!("round {round}, something else is stored"));
        assert_eq!(
            (0..3).filter(|&at| is_followed(&f, at)).count(),
            3 - usize::from(last.is_some())
        );
    }
    assert!(f.counts().repaired >= 9, "{:?}", f.counts());
}

/// If no pointer argument is followed, there are no facts, until an edit makes one followed again.
#[test]
fn all_pointers_are_kept() {
    let mut f = Fixture::new(400);
    let (w, kept) = (f.named("w9"), f.kept());
    let stores = [0, 1, 2].map(|at| {
        let store = f.edit(|edit| edit.before(w).store(Value::arg(at), kept));
        f.check("one more is kept");
        store
    });
    assert!(f.through().is_none());
    let before = f.counts();
    f.edit(|edit| edit.set_operand(w, 1, Value::arg(4)));
    f.check("an integer");
    assert_eq!(f.counts().kept, before.kept + 1);
    for store in stores {
        f.edit(|edit| edit.erase(store));
        f.check("one less is kept");
    }
    assert!(f.through().is_some());
}

/// There may be too many parts to tell them apart, and not any more.
#[test]
fn many_parts() {
    let mut f = Fixture::new(400);
    let (w, mut made) = (f.named("w9"), Vec::new());
    let step = |f: &mut Fixture, at: i32| {
        let index = f.number(at);
        f.edit(|edit| {
            let address = edit.before(w).gep(Type::I32, Value::arg(0), &[index])?;
            edit.before(w).store(Value::arg(3), address)
        })
    };
    for at in 4..34 {
        made.push(step(&mut f, at));
        f.check(&format!("{at} parts"));
        assert_eq!(f.through().is_some(), at < 30, "{at}");
    }
    for store in made.into_iter().rev() {
        f.edit(|edit| edit.erase(store));
        f.check("a part less");
    }
    assert!(f.through().is_some());
}

/// Where the function returns is a part of what it leaves, whether or not the graph is another.
#[test]
fn other_returns() {
    let mut f = Fixture::new(400);
    let body = f.edited().body(&f.db);
    let three = body.block_of(f.named("ly")).expect("it stands in a block");
    let [four, five] = *f.edited().flow(&f.db).successors(three) else { panic!("it branches") };
    for round in 0..6 {
        f.edit(|edit| match round {
            0 | 4 => edit.replace_terminator(five).ret(Value::arg(3)),
            1 | 3 => edit.replace_terminator(five).unreachable(),
            2 => edit.replace_terminator(four).unreachable(),
            _ => edit.replace_terminator(four).ret(Value::arg(4)),
        });
        f.check(&format!("round {round}"));
        let at = f.edited().body(&f.db).terminator(five).expect("it ends");
        f.edit(|edit| edit.before(at).store(Value::arg(3 + round % 2), Value::arg(0)).map(drop));
        f.check(&format!("round {round}, a store before that"));
    }
    assert!(f.counts().repaired > 5, "{:?}", f.counts());
}

/// A function without slots of its own, which does nothing with what one argument points to.
fn without_slots(long: usize) -> String {
    let body = r#"
define i32 @work(ptr %a, ptr %b, ptr %c, i32 %n, i32 %m) {
entry:
  %v1 = mul i32 %m, 3
  %c0 = icmp slt i32 %n, 7
  br i1 %c0, label %one, label %two
one:
  store i32 %v1, ptr %a
  br label %two
two:
  store i32 %n, ptr %b
  %w0 = add i32 %v1, %n
"#;
    let (text, all) = (text(long), "a function");
    let from = text.find("define i32 @work").expect(all);
    let to = text.find("  %w1 = ").expect(all);
    let rest = text[to..].replacen("  store i32 %w0, ptr %x\n", "", 1);
    format!("{}{body}{rest}", &text[..from])
}

/// Facts about memory are updated after an edit of the graph, even if there is no slot.
#[test]
fn the_graph_of_a_function_without_slots() {
    let mut f = Fixture::warm(&without_slots(400));
    let (c0, w) = (f.named("c0"), f.named("w9"));
    let body = f.edited().body(&f.db);
    let two = body.block_of(w).expect("it stands in a block");
    let entry = body.block_of(c0).expect("it stands in a block");
    let before = f.counts();
    // Past the store, by it, and past it again.
    let one = *f.edited().flow(&f.db).successors(entry).first().expect("it branches");
    for round in 0..4 {
        let target = if round % 2 == 0 { two } else { one };
        f.edit(|edit| edit.replace_terminator(entry).br(target).map(drop));
        f.check(&format!("round {round}"));
        let v = f.named("v1");
        f.edit(|edit| edit.set_operand(v, 0, Value::arg(3 + round % 2)));
        f.check(&format!("round {round}, what is stored"));
    }
    f.edit(|edit| edit.split_before(w, "").map(drop));
    f.check("a block split");
    assert!(f.counts().repaired > before.repaired + 4, "{:?}", f.counts());
}

/// That an argument is followed is known also where nothing is there that could be an input.
#[test]
fn nothing_is_done_with_what_is_there() {
    let text = without_slots(400).replace("  store i32 %v1, ptr %a\n", "");
    let mut f = Fixture::warm(&text.replace("  store i32 %n, ptr %b\n", ""));
    assert!(f.through().is_some_and(|through| through.parts.is_empty()));
    let (w, kept) = (f.named("w9"), f.kept());
    for at in 0..3 {
        f.edit(|edit| edit.before(w).store(Value::arg(at), kept).map(drop));
        f.check(&format!("{at} is kept"));
    }
    assert!(f.through().is_none());
}

/// The attributes of a function that is only named like an intrinsic count, however long ago the
/// call was analysed.
#[test]
fn a_made_up_intrinsic_promises_something() {
    let mut text = String::from(
        "target triple = \"nvptx64-nvidia-cuda\"\ndeclare i32 @llvm.made.up(i32)\n\
         declare i32 @one(i32) nodivergencesource\ndeclare i32 @two(i32) convergent memory(none)\n\
         define i32 @work(i32 %n) {\n  %r = call i32 @llvm.made.up(i32 %n)\n  %v0 = add i32 %n, 1\n",
    );
    (1..=300).for_each(|at| text.push_str(&format!("  %v{at} = add i32 %n, {at}\n")));
    text.push_str("  ret i32 %r\n}\n");
    let mut f = Fixture::of(&text, "work");
    let v0 = f.named("v0");
    f.check("at first");
    for operand in [7, 8, 3] {
        let operand = f.number(operand);
        f.edit(|edit| edit.set_operand(v0, 1, operand));
        f.check("a sum");
    }
    let made_up = f.function("llvm.made.up");
    for other in ["one", "two", "llvm.made.up"] {
        let attributes = f.function(other).header(&f.db).attributes;
        let done = f.db.edit_header(made_up, |header| header.attributes = attributes);
        done.expect("the header is right");
        f.check(other);
    }
}
