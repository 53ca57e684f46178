//! Which edit runs which query about memory spaces again, and that a repaired answer is the one
//! from scratch.

#[path = "support.rs"]
mod support;

use phalanx_db::{Did, queries};
use phalanx_ir::{InstBuilder, InstId, Opcode, Type, Value};
use phalanx_testing::files::check_table;
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};
use support::Fixture;

/// A kernel that passes an address to a function, which returns it; `long` instructions between.
fn text(long: usize) -> String {
    let mut text = String::from(
        r#"
target triple = "nvptx64-nvidia-cuda"
@lds = internal addrspace(3) global [64 x i32] undef
@dev = internal addrspace(1) global i32 0

define internal ptr @leaf(ptr %p, i32 %n) {
  %q = getelementptr inbounds i32, ptr %p, i32 %n
  ret ptr %q
}

define ptx_kernel void @kernel(ptr %out, i32 %n) {
entry:
  %s = addrspacecast ptr addrspace(3) @lds to ptr
  %g = addrspacecast ptr addrspace(1) @dev to ptr
  %a = getelementptr inbounds i32, ptr %s, i32 %n
  %v0 = add i32 %n, 1
"#,
    );
    for at in 1..=long {
        text.push_str(&format!("  %v{at} = add i32 %v{}, %n\n", at - 1));
    }
    text.push_str(
        r#"  %r = call ptr @leaf(ptr %a, i32 %v0)
  %b = getelementptr inbounds i32, ptr %r, i32 1
  store i32 %v0, ptr %b
  ret void
}
"#,
    );
    text
}

impl Fixture {
    fn asked(text: &str) -> Self {
        let fixture = Fixture::of(text, "kernel");
        fixture.ask();
        fixture
    }

    /// With kinds asked often enough for those of a large function to be kept.
    fn new(long: usize) -> Self {
        let mut fixture = Fixture::asked(&text(long));
        for operand in [1, 0, 1] {
            let at = fixture.named("v0");
            let operand = [Value::constant(fixture.context.const_i32(7)), Value::arg(1)][operand];
            fixture.edit(|edit| edit.set_operand(at, 1, operand));
            fixture.ask();
        }
        fixture.db.take_log();
        fixture
    }

    fn ask(&self) {
        for entry in self.module.functions(&self.db).iter().filter(|e| e.is_definition) {
            queries::memory_kinds(&self.db, entry.input);
            queries::space_conflicts(&self.db, entry.input);
        }
    }

    /// Queries about spaces that ran since the last call, with the function, sorted.
    fn ran(&self) -> String {
        let about = [
            "memory_kinds",
            "returned_spaces",
            "argument_spaces",
            "passed_spaces",
            "kinds_version",
            "variables",
            "space_conflicts",
        ];
        let log = self.db.take_log().into_iter().filter(|entry| entry.did == Did::Run);
        let log = log.filter(|entry| about.contains(&entry.query.as_str()));
        let mut names: Vec<String> = log
            .map(|entry| {
                let of = ["leaf", "kernel"].into_iter();
                let mut of = of.filter(|name| self.function(name).id() == entry.key);
                let of = of.next().map_or(String::new(), |name| format!(" of `@{name}`"));
                format!("`{}`{of}", entry.query)
            })
            .collect();
        names.sort();
        names.dedup();
        match names.is_empty() {
            true => "nothing".into(),
            false => names.join(", "),
        }
    }

    fn is_as_from_scratch(&self) -> bool {
        let (db, cold) = self.cold();
        let entries = self.module.functions(&self.db);
        entries.iter().zip(&cold).all(|(warm, cold)| {
            queries::memory_kinds(&self.db, warm.input) == queries::memory_kinds(&db, cold.input)
        })
    }
}

type Edit = fn(&mut Fixture);

const KINDS: &[(&str, Edit)] = &[
    ("an operand of an integer", |f| {
        let (v, seven) = (f.named("v0"), Value::constant(f.context.const_i32(7)));
        f.edit(|edit| edit.set_operand(v, 1, seven));
    }),
    ("an index", |f| {
        let b = f.named("b");
        f.edit(|edit| edit.set_operand(b, 1, Value::arg(1)));
    }),
    ("a base; the pointer leads where it did", |f| {
        let (a, s) = (f.named("a"), f.named("s"));
        let other = f.edit(|edit| {
            let ty = edit.type_of(s).unwrap_or(Type::VOID);
            let lds = edit.body().operands(s)[0];
            edit.before(a).cast(Opcode::AddrSpaceCast, lds, ty)
        });
        f.edit(|edit| edit.set_operand(a, 0, other));
    }),
    ("a base; the pointer leads elsewhere", |f| {
        let (a, g) = (f.named("a"), f.named("g"));
        f.edit(|edit| edit.set_operand(a, 0, g));
    }),
    ("a block split", |f| {
        let b = f.named("b");
        f.edit(|edit| edit.split_before(b, "").map(drop));
    }),
];

#[test]
fn the_table_in_the_documentation_is_what_happens() {
    let mut table = String::from(
        "| edited in a kernel | runs in a small one | runs in a large one |\n|---|---|---|\n",
    );
    for (kind, edit) in KINDS {
        let after = |long: usize| {
            let mut fixture = Fixture::new(long);
            edit(&mut fixture);
            fixture.ask();
            let ran = fixture.ran();
            assert!(fixture.is_as_from_scratch(), "{kind}");
            ran
        };
        table.push_str(&format!("| {kind} | {} | {} |\n", after(1), after(400)));
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/what-runs.md");
    check_table(page, "| edited in a kernel |", &table);
}

#[test]
fn large_functions_are_repaired() {
    let mut fixture = Fixture::new(400);
    let kernel = fixture.function("kernel");
    let before = queries::kind_repairs(&fixture.db, kernel);
    let (a, s, g) = (fixture.named("a"), fixture.named("s"), fixture.named("g"));
    for base in [g, s, g] {
        fixture.edit(|edit| edit.set_operand(a, 0, base));
        assert!(fixture.is_as_from_scratch());
    }
    let after = queries::kind_repairs(&fixture.db, kernel);
    assert_eq!(after.repaired, before.repaired + 3);
    assert_eq!(after.solved, before.solved);
    assert!(after.visited - before.visited < 30, "{after:?}");
}

/// What is changed is read further down, and no set in between becomes another one.
#[test]
fn members_and_tables_are_read_from_afar() {
    let text = text(400)
        .replace(
            "define internal ptr @leaf",
            "@table = internal addrspace(4) constant [2 x ptr] [
               ptr addrspacecast (ptr addrspace(3) @lds to ptr),
               ptr addrspacecast (ptr addrspace(1) @dev to ptr)]
             define internal ptr @leaf",
        )
        .replace("@kernel(ptr %out, i32 %n)", "@kernel(ptr %out, i32 %n, i1 %c)")
        .replace(
            "  %v0 = ",
            "  %row = getelementptr [2 x ptr], ptr addrspace(4) @table, i32 0, i32 0
               %either = select i1 %c, ptr addrspace(4) %row, ptr addrspace(4) @table
               %entry.of = getelementptr ptr, ptr addrspace(4) %row, i32 0
               %loaded = load ptr, ptr addrspace(4) %entry.of
               %below = getelementptr inbounds i32, ptr %loaded, i32 %n
               %w = insertvalue { ptr, ptr, ptr } poison, ptr %s, 0
               %x = insertvalue { ptr, ptr, ptr } %w, ptr %g, 1
               %y = insertvalue { ptr, ptr, ptr } %x, ptr %s, 2
               %first = extractvalue { ptr, ptr, ptr } %y, 0
               %made = getelementptr inbounds i32, ptr %s, i32 %n
               %p = insertvalue { ptr, ptr, ptr } poison, ptr %made, 0
               %q = insertvalue { ptr, ptr, ptr } %p, ptr %g, 1
               %r.of = insertvalue { ptr, ptr, ptr } %q, ptr %s, 2
               %other = extractvalue { ptr, ptr, ptr } %r.of, 0
               %v0 = ",
        );
    let mut fixture = Fixture::asked(&text);
    let kernel = fixture.function("kernel");
    let [one, zero] = [1, 0].map(|n| Value::constant(fixture.context.const_i32(n)));
    let value = |name| Value::inst(fixture.named(name));
    let ([s, g], [row, either]) = (["s", "g"].map(value), ["row", "either"].map(value));
    // Twice for it to be kept.
    for index in [one, zero] {
        let a = fixture.named("a");
        fixture.edit(|edit| edit.set_operand(a, 1, index));
        fixture.ask();
    }
    let before = queries::kind_repairs(&fixture.db, kernel);
    let edits = [
        ("row", 2, [one, zero], "loaded"),
        ("entry.of", 1, [one, zero], "loaded"),
        ("entry.of", 0, [either, row], "loaded"),
        ("w", 1, [g, s], "first"),
        ("made", 0, [g, s], "other"),
    ];
    for (edited, operand, values, read) in edits {
        let (edited, read) = (fixture.named(edited), fixture.named(read));
        for value in values {
            let of = |fixture: &Fixture| {
                let kinds = queries::memory_kinds(&fixture.db, kernel).as_ref();
                kinds.expect("it has a body").of(read.into())
            };
            let was = of(&fixture);
            fixture.edit(|edit| edit.set_operand(edited, operand, value));
            assert!(fixture.is_as_from_scratch(), "{edited:?}");
            assert_ne!(of(&fixture), was);
        }
    }
    let after = queries::kind_repairs(&fixture.db, kernel);
    assert_eq!((after.repaired, after.solved), (before.repaired + 10, before.solved));
}

/// Blocks in a row, some of them loops in which two pointers change places; each pointer is made
/// from one before.
fn pointers(rng: &mut SmallRng, blocks: u32) -> String {
    let mut text = String::from(
        r#"
target triple = "nvptx64-nvidia-cuda"
@lds = internal addrspace(3) global [64 x i32] undef
@dev = internal addrspace(1) global i32 0
declare ptr @unknown()
define ptx_kernel void @kernel(ptr %out, i32 %n, i1 %c) {
entry:
  %slot = alloca ptr
  %p0 = addrspacecast ptr addrspace(3) @lds to ptr
  %p1 = addrspacecast ptr addrspace(1) @dev to ptr
  %p2 = alloca i32
  %p3 = getelementptr inbounds i32, ptr %out, i32 1
  store ptr %p1, ptr %slot
  br label %b0
"#,
    );
    let mut known = vec!["%p0".to_owned(), "%p1".to_owned(), "%p2".to_owned(), "%p3".to_owned()];
    let mut before = "entry".to_owned();
    for block in 0..blocks {
        let any =
            |known: &[String], rng: &mut SmallRng| known[rng.random_range(0..known.len())].clone();
        let (a, b) = (any(&known, rng), any(&known, rng));
        let is_loop = rng.random_bool(0.4);
        text.push_str(&format!("b{block}:\n"));
        if is_loop {
            text.push_str(&format!(
                "  %x{block} = phi ptr [ {a}, %{before} ], [ %y{block}, %b{block} ]\n  \
                 %y{block} = phi ptr [ {b}, %{before} ], [ %z{block}, %b{block} ]\n  \
                 %z{block} = getelementptr inbounds i32, ptr %x{block}, i32 %n\n"
            ));
            known.extend(["x", "y", "z"].map(|name| format!("%{name}{block}")));
        }
        for at in 0..rng.random_range(2..6) {
            let (a, b) = (any(&known, rng), any(&known, rng));
            let name = format!("%v{block}.{at}");
            let made = match rng.random_range(0..8) {
                0 | 1 => format!("getelementptr inbounds i32, ptr {a}, i32 %n"),
                2 | 3 => format!("select i1 %c, ptr {a}, ptr {b}"),
                4 => "load ptr, ptr %slot".to_owned(),
                5 => format!("getelementptr i32, ptr {a}, i32 2"),
                6 => {
                    let opcode = ["add", "mul", "or"][rng.random_range(0..3)];
                    text.push_str(&format!(
                        "  {name}.n = ptrtoint ptr {a} to i64\n  {name}.m = {opcode} i64 {name}.n, 8\n"
                    ));
                    format!("inttoptr i64 {name}.m to ptr")
                }
                _ if rng.random_bool(0.1) => "call ptr @unknown()".to_owned(),
                _ => format!("freeze ptr {a}"),
            };
            text.push_str(&format!("  {name} = {made}\n"));
            known.push(name);
            if rng.random_bool(0.1) {
                text.push_str(&format!("  store ptr {b}, ptr %slot\n"));
            }
        }
        text.push_str(&format!("  store i32 1, ptr {}\n", any(&known, rng)));
        let next = format!("b{}", block + 1);
        match is_loop {
            true => text.push_str(&format!("  br i1 %c, label %b{block}, label %{next}\n")),
            false => text.push_str(&format!("  br label %{next}\n")),
        }
        before = format!("b{block}");
    }
    text.push_str(&format!("b{blocks}:\n  ret void\n}}\n"));
    text
}

#[test]
fn random_edits_of_pointers_are_followed() {
    let (mut repaired, mut solved) = (0, 0);
    for seed in 0..12 {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let mut fixture = Fixture::asked(&pointers(rng, 70));
        let kernel = fixture.function("kernel");
        assert!(kernel.body(&fixture.db).all_ids().count() > 300, "it is a large one");
        for _ in 0..30 {
            let body = kernel.body(&fixture.db);
            let is_pointer = |inst: InstId| {
                fixture.context.type_kind(body.inst(inst).ty).address_space() == Some(0)
            };
            let mut order: Vec<InstId> = Vec::new();
            for &block in kernel.flow(&fixture.db).order() {
                order.extend(body.block_insts(block));
            }
            let integers = order.iter().filter(|&&inst| {
                body.inst(inst).opcode.is_binary() && body.inst(inst).ty == Type::I64
            });
            let integers: Vec<InstId> = integers.copied().collect();
            if !integers.is_empty() && rng.random_bool(0.2) {
                let integer = integers[rng.random_range(0..integers.len())];
                let opcode = [Opcode::Add, Opcode::Mul, Opcode::Sub][rng.random_range(0..3)];
                fixture.edit(|edit| edit.set_opcode(integer, opcode));
                assert!(fixture.is_as_from_scratch(), "seed {seed}");
                continue;
            }
            // Later instructions read earlier ones; a phi may read what comes round.
            let at = rng.random_range(6..order.len());
            let user = order[at];
            let operands = body.operands(user);
            let reads: Vec<u32> = (0..operands.len() as u32)
                .filter(|&i| operands[i as usize].as_inst().is_some_and(is_pointer))
                .collect();
            let values: Vec<InstId> =
                order[..at].iter().copied().filter(|&i| is_pointer(i)).collect();
            if reads.is_empty() || body.inst(user).opcode == Opcode::Load {
                continue;
            }
            let operand = reads[rng.random_range(0..reads.len())];
            let value = values[rng.random_range(0..values.len())];
            if body.inst(user).opcode == Opcode::Store && rng.random_bool(0.8) {
                continue;
            }
            let is_phi = body.inst(user).opcode == Opcode::Phi;
            if is_phi && body.block_of(value) == body.block_of(user) && operand == 0 {
                continue;
            }
            let is_erased = !is_phi && is_pointer(user) && rng.random_bool(0.2);
            fixture.edit(|edit| match is_erased {
                true => edit.replace(user, value),
                false => edit.set_operand(user, operand, value),
            });
            assert!(fixture.is_as_from_scratch(), "seed {seed}");
        }
        let repairs = queries::kind_repairs(&fixture.db, kernel);
        repaired += repairs.repaired;
        solved += repairs.solved;
    }
    println!("{repaired} repaired, {solved} solved");
    // Each once at first, and hardly ever again.
    assert!(repaired > 200 && solved < 20, "{repaired} repaired, {solved} solved");
}

/// Nothing is known about an integer that cannot hold an address. Its users see that, even if they
/// had no incoming facts before.
#[test]
fn an_integer_comes_to_be_followed_and_no_longer() {
    let mut padding = String::from("  %v0 = add i32 %n, 1\n");
    for at in 1..300 {
        padding.push_str(&format!("  %v{at} = add i32 %v{}, %n\n", at - 1));
    }
    // Nothing of the stack is in memory of the workgroup: no address comes in by `%near`.
    let text = format!(
        r#"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @kernel(i1 %c, i32 %n) {{
entry:
  %slot = alloca i32
  %shared = addrspacecast ptr %slot to ptr addrspace(3)
  %none = ptrtoint ptr addrspace(3) %shared to i64
  %near = add i64 %none, 8
  %nowhere = inttoptr i64 %near to ptr
  store i32 %n, ptr %nowhere
  %own = ptrtoint ptr %slot to i64
{padding}  br label %loop
loop:
  %p = phi i64 [ %own, %entry ], [ %round, %loop ]
  %round = mul i64 %own, 8
  %r = inttoptr i64 %p to ptr
  store i32 %n, ptr %r
  br i1 %c, label %loop, label %exit
exit:
  ret void
}}
"#
    );
    let mut fixture = Fixture::asked(&text);
    let kernel = fixture.function("kernel");
    assert!(kernel.body(&fixture.db).all_ids().count() > 300, "it is a large one");
    let mut sets = Vec::new();
    for name in ["round", "near"] {
        let inst = fixture.named(name);
        for opcode in [Opcode::Mul, Opcode::Add, Opcode::Mul, Opcode::Sub] {
            fixture.edit(|edit| edit.set_opcode(inst, opcode));
            assert!(fixture.is_as_from_scratch(), "{name} as {opcode:?}");
            let kinds = queries::memory_kinds(&fixture.db, kernel).as_ref().expect("it has a body");
            let address = fixture.named(if name == "round" { "r" } else { "nowhere" });
            sets.push(format!("{}", kinds.of(Value::inst(address))));
        }
    }
    assert_eq!(sets[0], sets[2]);
    assert_ne!(sets[0], sets[1]);
    assert_ne!(sets[4], sets[5]);
    assert_eq!(queries::kind_repairs(&fixture.db, kernel).solved, 1);
}
