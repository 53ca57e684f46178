//! Which edit of a function in recursion is followed by which of them, in which round; and that an
//! edit can make less of what was found.

#[path = "support.rs"]
mod support;

use expect_test::expect;
use phalanx_db::{FunctionInput, queries};
use phalanx_ir::{BuildError, InstId, Value, edit::Transaction};
use phalanx_testing::files::check_table;
use support::Fixture;

/// Functions in a ring, with `long` further instructions each. `@a` returns the result of the last
/// one or its second argument, and passes its address on. `@kernel` calls `@a`.
fn text(names: &[&str], long: usize) -> String {
    let mut text = String::from(
        "target triple = \"nvptx64-nvidia-cuda\"\n\
         @lds = internal addrspace(3) global [64 x i32] undef\n\
         declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n",
    );
    for (name, next) in names.iter().zip(names.iter().cycle().skip(1)) {
        text.push_str(&format!(
            "define internal i32 @{name}(i32 %n, i32 %a, i32 %b, ptr %p) {{\nentry:\n  \
             %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  \
             %s = addrspacecast ptr addrspace(3) @lds to ptr\n  \
             %x = add i32 %a, 1\n  %y = add i32 %b, 1\n  \
             %g = getelementptr i32, ptr %p, i32 1\n  \
             %stops = icmp eq i32 %n, 0\n  br i1 %stops, label %stop, label %go\n\
             stop:\n  ret i32 %x\ngo:\n  %less = sub i32 %n, 1\n"
        ));
        for at in 0..long {
            text.push_str(&format!("  %w{at} = add i32 %n, {at}\n"));
        }
        text.push_str(&format!(
            "  %r = call i32 @{next}(i32 %less, i32 %x, i32 %y, ptr %g)\n  ret i32 %r\n}}\n"
        ));
    }
    text.push_str(
        "define ptx_kernel void @kernel(ptr addrspace(1) %p, i32 %n) {\n  \
         %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  \
         %q = addrspacecast ptr addrspace(1) %p to ptr\n  %one = add i32 %n, 1\n  \
         %r = call i32 @a(i32 %n, i32 %one, i32 %n, ptr %q)\n  \
         store i32 %r, ptr addrspace(1) %p\n  ret void\n}\n",
    );
    text
}

struct Ring {
    fixture: Fixture,
    names: &'static [&'static str],
}

/// How answers of one function were found.
type Counts = [[u64; 2]; 4];

impl Ring {
    /// Asked often enough for everything to be followed.
    fn new(names: &'static [&'static str], long: usize) -> Ring {
        let fixture = Fixture::of(&text(names, long), "a");
        let mut ring = Ring { fixture, names };
        ring.ask();
        for number in [3, 4, 5] {
            for name in names {
                let (w, number) = (ring.named(name, "w1"), ring.number(number));
                ring.edit(name, |edit| edit.set_operand(w, 1, number));
            }
            // What has been edited once is expected to be edited again; what comes out equal counts
            // as what it was from then on.
            let (one, number) = (ring.named("kernel", "one"), ring.number(number));
            ring.edit("kernel", |edit| edit.set_operand(one, 1, number));
            ring.ask();
        }
        ring
    }

    fn function(&self, name: &str) -> FunctionInput {
        self.fixture.function(name)
    }

    fn named(&self, function: &str, name: &str) -> InstId {
        let code = self.function(function).view(&self.fixture.db);
        let mut ids = code.body.all_ids();
        ids.find(|&i| code.extras.names.inst(i) == Some(name.as_bytes())).expect("it has the name")
    }

    /// The first return of a function.
    fn first_return(&self, function: &str) -> InstId {
        let code = self.function(function).view(&self.fixture.db);
        let mut ids = code.body.all_ids();
        ids.find(|&i| code.body.inst(i).opcode == phalanx_ir::Opcode::Ret).expect("there are two")
    }

    fn number(&self, number: i32) -> Value {
        Value::constant(self.fixture.context.const_i32(number))
    }

    fn callee(&self, name: &str) -> Value {
        let name = self.function(name).header(&self.fixture.db).name;
        Value::constant(self.fixture.context.const_global(name, 0))
    }

    fn edit(
        &mut self,
        function: &str,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<(), BuildError>,
    ) {
        let function = self.function(function);
        self.fixture.db.edit(function, edit).expect("the edit breaks no rule");
    }

    fn ask(&self) {
        for entry in self.fixture.module.functions(&self.fixture.db) {
            queries::summary(&self.fixture.db, entry.input);
            queries::divergence(&self.fixture.db, entry.input);
            queries::memory_kinds(&self.fixture.db, entry.input);
        }
    }

    /// Repaired and from scratch: summaries and divergence in rounds, divergence, kinds in rounds.
    fn counts(&self, name: &str) -> Counts {
        let (db, function) = (&self.fixture.db, self.function(name));
        let of =
            |found: queries::Repairs| [found.repaired + found.rebuilt, found.solved + found.kept];
        let kinds = queries::kind_round_repairs(db, function);
        [
            of(queries::summary_repairs(db, function)),
            of(queries::round_repairs(db, function)),
            of(queries::repairs(db, function)),
            [kinds.repaired, kinds.solved],
        ]
    }

    /// What was found since, of all functions, as cells of a table; that it is what a new database
    /// finds.
    #[track_caller]
    fn found(&self, before: &[Counts], what: &str) -> String {
        self.ask();
        self.check(what);
        let cell = |before: [u64; 2], now: [u64; 2]| match [now[0] - before[0], now[1] - before[1]]
        {
            [0, 0] => "-".to_owned(),
            [repaired, 0] => format!("repaired {repaired}x"),
            [0, anew] => format!("anew {anew}x"),
            [repaired, anew] => format!("repaired {repaired}x, anew {anew}x"),
        };
        let now = self.all_counts();
        let mut cells = Vec::new();
        for kind in 0..4 {
            let each = before.iter().zip(&now).map(|(before, now)| cell(before[kind], now[kind]));
            cells.push(each.collect::<Vec<_>>().join("; "));
        }
        cells.join(" | ")
    }

    fn all_counts(&self) -> Vec<Counts> {
        self.names.iter().map(|name| self.counts(name)).collect()
    }

    #[track_caller]
    fn check(&self, what: &str) {
        let (db, cold) = self.fixture.cold();
        let all = self.fixture.module.functions(&self.fixture.db).iter().zip(&cold);
        for (warm, cold) in all.filter(|(warm, _)| warm.is_definition) {
            macro_rules! same {
                ($($query:ident)*) => {$(
                    let known = queries::$query(&self.fixture.db, warm.input);
                    assert!(*known == *queries::$query(&db, cold.input), "{what}: {}", stringify!($query));
                )*};
            }
            same!(summary argument_facts divergence memory_kinds argument_spaces);
        }
    }
}

type Edit = fn(&mut Ring);

const EDITS: &[(&str, Edit)] = &[
    ("nothing", |_| {}),
    ("a sum that matters to nobody", |f| {
        let (w, number) = (f.fixture.named("w7"), f.number(90));
        f.fixture.edit(|edit| edit.set_operand(w, 1, number));
    }),
    ("the same in the last function", |f| {
        let last = f.names[f.names.len() - 1];
        let (w, number) = (f.named(last, "w7"), f.number(90));
        f.edit(last, |edit| edit.set_operand(w, 1, number));
    }),
    ("the result depends on the other argument", |f| {
        let (ret, y) = (f.first_return("a"), f.fixture.named("y"));
        f.fixture.edit(|edit| edit.set_operand(ret, 0, y));
    }),
    ("the result differs by thread", |f| {
        let (ret, tid) = (f.first_return("a"), f.fixture.named("tid"));
        f.fixture.edit(|edit| edit.set_operand(ret, 0, tid));
    }),
    ("something else that is equal in the wave is passed", |f| {
        let r = f.fixture.named("r");
        f.fixture.edit(|edit| edit.set_operand(r, 1, Value::arg(1)));
    }),
    ("what is passed differs by thread", |f| {
        let (r, tid) = (f.fixture.named("r"), f.fixture.named("tid"));
        f.fixture.edit(|edit| edit.set_operand(r, 1, tid));
    }),
    ("an address of other memory is passed", |f| {
        let (r, s) = (f.fixture.named("r"), f.fixture.named("s"));
        f.fixture.edit(|edit| edit.set_operand(r, 3, s));
    }),
    ("a function calls itself", |f| {
        let (r, a) = (f.fixture.named("r"), f.callee("a"));
        f.fixture.edit(|edit| {
            let copy = edit.before(r).clone_of(r)?;
            edit.set_operand(copy, 4, a)
        });
    }),
    ("a block split", |f| {
        let w = f.fixture.named("w9");
        f.fixture.edit(|edit| edit.split_before(w, "").map(drop));
    }),
    ("the kernel passes what differs by thread", |f| {
        let (r, tid) = (f.named("kernel", "r"), f.named("kernel", "tid"));
        f.edit("kernel", |edit| edit.set_operand(r, 2, tid));
    }),
];

fn table(names: &'static [&'static str]) -> String {
    let mut table = String::new();
    for (kind, edit) in EDITS {
        let mut ring = Ring::new(names, 300);
        let before = ring.all_counts();
        edit(&mut ring);
        table.push_str(&format!("| {kind} | {} |\n", ring.found(&before, kind)));
    }
    table
}

#[test]
fn the_table_in_the_documentation_is_what_happens() {
    let head = "| edited in a recursion of two | summaries of `@a`; `@b` in rounds | what they pass, in rounds | `divergence` | addresses that they pass, in rounds |\n\
                |---|---|---|---|---|\n";
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/what-runs.md");
    let table = format!("{head}{}", table(&["a", "b"]));
    check_table(page, "| edited in a recursion of two |", &table);
}

/// What one function has no more was in others because it had it.
#[test]
fn what_is_less_after_an_edit_is_found() {
    let mut ring = Ring::new(&["a", "b", "c"], 300);
    let known = |ring: &Ring| -> Vec<_> {
        let db = &ring.fixture.db;
        let all = ring.names.iter().map(|name| ring.function(name));
        let facts = |f| (queries::summary(db, f).clone(), queries::argument_facts(db, f).clone());
        all.map(|f| (facts(f), queries::argument_spaces(db, f).clone())).collect()
    };
    let before = known(&ring);
    let (ret, r) = (ring.first_return("b"), ring.named("b", "r"));
    let of = |ring: &Ring, name| Value::from(ring.named("b", name));
    let edits = [
        ("a result", ret, 0, of(&ring, "tid"), of(&ring, "x")),
        ("a number that is passed", r, 1, of(&ring, "tid"), of(&ring, "x")),
        ("an address that is passed", r, 3, of(&ring, "s"), of(&ring, "g")),
    ];
    for (what, inst, position, more, less) in edits {
        ring.edit("b", |edit| edit.set_operand(inst, position, more));
        ring.check(what);
        let now = known(&ring);
        let is_other = now.iter().zip(&before).filter(|(now, before)| now != before);
        assert_eq!(is_other.count(), 3, "{what} matters to all of them");
        ring.edit("b", |edit| edit.set_operand(inst, position, less));
        ring.check(what);
        assert!(known(&ring) == before, "{what}");
    }
}

/// The retained state of rounds is dropped with the rest, and built again.
#[test]
fn what_is_kept_is_dropped() {
    let mut ring = Ring::new(&["a", "b"], 300);
    let sum = |ring: &mut Ring, number| {
        let (w, number) = (ring.fixture.named("w7"), ring.number(number));
        ring.fixture.edit(|edit| edit.set_operand(w, 1, number));
        let before = ring.all_counts();
        ring.found(&before, "a sum")
    };
    let repaired = sum(&mut ring, 50);
    ring.fixture.db.trim(ring.fixture.module);
    let solved = sum(&mut ring, 51);
    sum(&mut ring, 52);
    expect![[r#"
        repaired 2x; - | repaired 1x; - | repaired 1x; - | repaired 1x; -
        anew 2x; - | anew 1x; - | anew 1x; - | anew 1x; -
    "#]]
    .assert_eq(&format!("{repaired}\n{solved}\n"));
    assert_eq!(sum(&mut ring, 53), repaired);
}

#[test]
fn three_functions_in_recursion() {
    expect![[r#"
        | nothing | -; -; - | -; -; - | -; -; - | -; -; - |
        | a sum that matters to nobody | repaired 2x; -; - | repaired 1x; -; - | repaired 1x; -; - | repaired 1x; -; - |
        | the same in the last function | -; -; repaired 1x | -; -; repaired 1x | -; -; repaired 1x | -; -; repaired 1x |
        | the result depends on the other argument | repaired 2x, anew 1x; anew 1x; anew 2x | anew 1x; anew 1x; anew 1x | anew 1x; anew 1x; anew 1x | repaired 1x; -; - |
        | the result differs by thread | repaired 2x, anew 1x; anew 1x; anew 2x | anew 1x; anew 1x; anew 1x | anew 1x; anew 1x; anew 1x | repaired 1x; -; - |
        | something else that is equal in the wave is passed | repaired 2x; -; - | repaired 1x; -; - | repaired 1x; -; - | repaired 1x; -; - |
        | what is passed differs by thread | repaired 2x, anew 1x; anew 1x; anew 1x | anew 2x; anew 1x; anew 1x | anew 1x; anew 1x; anew 1x | repaired 1x; -; - |
        | an address of other memory is passed | repaired 2x; -; - | repaired 1x; -; anew 1x | repaired 1x; -; anew 1x | repaired 1x, anew 1x; anew 1x; anew 1x |
        | a function calls itself | anew 2x; -; - | anew 1x; -; - | anew 1x; -; - | anew 1x; -; - |
        | a block split | repaired 1x, anew 1x; -; - | repaired 1x; -; - | repaired 1x; -; - | repaired 1x; -; - |
        | the kernel passes what differs by thread | -; -; - | anew 1x; anew 1x; anew 1x | anew 1x; anew 1x; anew 1x | -; -; - |
    "#]].assert_eq(&table(&["a", "b", "c"]));
}

#[test]
fn a_function_that_calls_itself() {
    expect![[r#"
        | nothing | - | - | - | - |
        | a sum that matters to nobody | repaired 2x | repaired 1x | repaired 1x | repaired 1x |
        | the same in the last function | repaired 2x | repaired 1x | repaired 1x | repaired 1x |
        | the result depends on the other argument | repaired 1x, anew 1x | anew 1x | anew 1x | repaired 1x |
        | the result differs by thread | repaired 1x, anew 1x | anew 1x | anew 1x | repaired 1x |
        | something else that is equal in the wave is passed | repaired 2x | repaired 1x | repaired 1x | repaired 1x |
        | what is passed differs by thread | repaired 2x, anew 1x | anew 2x | anew 1x | repaired 1x |
        | an address of other memory is passed | repaired 2x | anew 1x | anew 1x | repaired 1x, anew 1x |
        | a function calls itself | repaired 2x | repaired 1x | repaired 1x | anew 1x |
        | a block split | repaired 1x, anew 1x | repaired 1x | repaired 1x | repaired 1x |
        | the kernel passes what differs by thread | - | anew 1x | anew 1x | - |
    "#]].assert_eq(&table(&["a"]));
}
