//! Edits of accesses of stack slots: the update of divergence costs what the affected slots cost,
//! and the result equals that from scratch.

#[path = "support.rs"]
mod support;

use phalanx_db::queries;
use phalanx_ir::{BuildError, InstBuilder, InstId, Opcode, Type, Value};
use phalanx_testing::many_slots;
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use support::Fixture;

/// A kernel as a compiler writes it that does not optimise: arguments and variables are in slots,
/// pointers to them as well; then `long` times the same with slots of their own.
fn text(long: usize) -> String {
    let text = String::from(
        r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @outside(ptr)
@where = internal addrspace(1) global [4 x i32] zeroinitializer

define internal void @set(ptr %to, i32 %what) {
  store i32 %what, ptr %to
  ret void
}

define internal i32 @get(ptr %from) {
  %v = load i32, ptr %from
  ret i32 %v
}

define ptx_kernel void @kernel(ptr %out, i32 %n, i1 %c) {
entry:
  %out.addr = alloca ptr
  %x.addr = alloca ptr
  %x = alloca i32
  %y = alloca i32
  %z = alloca [4 x i32]
  %w = alloca [4 x i32]
  %v = alloca [4 x i32]
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %and = and i32 %tid, 3
  store ptr %out, ptr %out.addr
  store i32 %n, ptr %x
  store i32 %tid, ptr %y
  store ptr %x, ptr %x.addr
  %px = load ptr, ptr %x.addr
  %vx = load i32, ptr %px
  %cx = icmp slt i32 %vx, 7
  br i1 %cx, label %one, label %two
one:
  %z1 = getelementptr [4 x i32], ptr %z, i32 0, i32 1
  store i32 %vx, ptr %z1
  call void @set(ptr %x, i32 %n)
  br label %two
two:
  %walk = phi ptr [ %out, %entry ], [ %out, %one ], [ %step, %two ]
  %step = getelementptr i32, ptr %walk, i32 1
  %lw = load i32, ptr %step
  %g = call i32 @get(ptr %x)
  %cg = icmp slt i32 %g, %lw
  %zi = getelementptr [4 x i32], ptr %z, i32 0, i32 %and
  %li = load i32, ptr %zi
  %sum = add i32 %li, %g
  store i32 %sum, ptr %y
  br i1 %cg, label %two, label %three
three:
  call void @set(ptr %y, i32 %tid)
  call void @llvm.memcpy.p0.p0.i64(ptr %w, ptr %z, i64 16, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %v, ptr %step, i64 16, i1 false)
  %lv = load i32, ptr %v
  %w2 = getelementptr [4 x i32], ptr %w, i32 0, i32 2
  %lz = load i32, ptr %w2
  %cz = icmp slt i32 %lz, %n
  br i1 %cz, label %s0, label %s0
"#,
    );
    // Slots of the rest, in the entry.
    let slots = many_slots::slots(long) + "  %tid = call";
    let mut text = text.replace("  %tid = call", &slots);
    text.push_str(&many_slots::blocks(long, &["%n", "%tid", "%lz"]));
    text.push_str(&format!("s{long}:\n  ret void\n}}\n"));
    text
}

impl Fixture {
    fn warm(long: usize) -> Self {
        let mut fixture = Fixture::of(&text(long), "kernel");
        fixture.ask();
        for operand in [4, 5, 4] {
            let at = fixture.named("cx");
            let operand = Value::constant(fixture.context.const_i32(operand));
            fixture.edit(|edit| edit.set_operand(at, 1, operand));
            fixture.ask();
        }
        fixture
    }

    fn ask(&self) {
        queries::divergence(&self.db, self.edited());
    }

    fn check(&self, what: &str) {
        let (cold, entries) = self.cold();
        for (warm, cold_entry) in self.module.functions(&self.db).iter().zip(&entries) {
            let now = queries::divergence(&self.db, warm.input);
            assert!(now == queries::divergence(&cold, cold_entry.input), "{what}");
            let now = queries::private_memory(&self.db, warm.input);
            assert!(now == queries::private_memory(&cold, cold_entry.input), "{what}: memory");
        }
    }

    fn found(&self) -> [u64; 4] {
        let (db, kernel) = (&self.db, self.edited());
        let (looks, ways) = (queries::slot_looks(db, kernel), queries::repairs(db, kernel));
        [looks.in_part, looks.whole, ways.repaired + ways.rebuilt, ways.kept + ways.solved]
    }
}

/// One edit of an instruction that has to do with memory, whatever it makes of the program. An edit
/// that would break a rule is none.
fn random_edit(fixture: &mut Fixture, rng: &mut SmallRng) -> bool {
    let function = fixture.edited();
    let body = function.body(&fixture.db);
    let is_there = |inst: &InstId| body.block_of(*inst).is_some();
    let of = |wanted: fn(Opcode) -> bool| -> Vec<InstId> {
        body.all_ids().filter(|inst| is_there(inst) && wanted(body.inst(*inst).opcode)).collect()
    };
    let accesses = of(|opcode| {
        let others = [Opcode::GetElementPtr, Opcode::Phi, Opcode::Call, Opcode::Alloca];
        matches!(opcode, Opcode::Load | Opcode::Store) || others.contains(&opcode)
    });
    let mut values: Vec<Value> = body
        .all_ids()
        .filter(|inst| is_there(inst) && body.inst(*inst).ty != Type::VOID)
        .map(Value::from)
        .collect();
    values.extend([Value::arg(0), Value::arg(1)]);
    let mut slots: Vec<Value> =
        of(|opcode| opcode == Opcode::Alloca).into_iter().map(Value::from).collect();
    slots.push(Value::arg(0));
    let mut inst = *accesses.choose(rng).expect("there are accesses");
    // Those of the first blocks have more to do with each other.
    if rng.random_bool(0.5) {
        inst = accesses[rng.random_range(0..accesses.len().min(45))];
    }
    let operands = body.operands(inst).len() as u32;
    let value = *values.choose(rng).expect("there are values");
    let slot = *slots.choose(rng).expect("there are slots");
    let position = rng.random_range(0..operands.max(1));
    let near = accesses[rng.random_range(0..accesses.len())];
    let what = rng.random_range(0..12);
    let done: Result<(), BuildError> = fixture.db.edit(function, |edit| match what {
        0..4 => edit.set_operand(inst, position, value),
        4..6 => edit.set_operand(inst, position, slot),
        6 => edit.after(inst).clone_of(inst).map(drop),
        7 => edit.erase(inst),
        8 => edit.before(inst).store(value, slot).map(drop),
        9 => edit.move_before(inst, near),
        10 => {
            let more = edit.before(inst).gep(Type::I32, slot, &[value])?;
            edit.before(inst).store(Value::arg(1), more).map(drop)
        }
        _ => {
            edit.set_operand(inst, position, slot)?;
            edit.set_operand(near, 0, value)
        }
    });
    done.is_ok()
}

/// How many runs: more than the usual ones where `PHALANX_SLOTS` says so.
fn seeds() -> u64 {
    std::env::var("PHALANX_SLOTS").ok().and_then(|count| count.parse().ok()).unwrap_or(60)
}

/// What is known of a load that reads another slot since stays with that one when its old slot is
/// one again.
#[test]
fn a_load_has_left_a_slot_that_was_none_for_a_while() {
    let mut fixture = Fixture::warm(30);
    let [slot, load, inside, other, outside] =
        ["a6", "b6", "b1", "z", "tid"].map(|name| fixture.named(name));
    fixture.edit(|edit| edit.move_before(slot, inside));
    fixture.ask();
    fixture.edit(|edit| edit.set_operand(load, 0, other));
    fixture.ask();
    fixture.check("the load reads another slot");
    fixture.edit(|edit| edit.move_before(slot, outside));
    fixture.ask();
    fixture.check("the slot is one again");
}

#[test]
fn slots_follow_random_edits() {
    let (mut edits, mut found) = (0, [0; 4]);
    let mut memory = queries::Ways::default();
    for seed in 0..seeds() {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut fixture = Fixture::warm(30);
        for round in 0..150 {
            let done: u32 = (0..rng.random_range(1..3))
                .map(|_| u32::from(random_edit(&mut fixture, &mut rng)))
                .sum();
            edits += done;
            let before = fixture.found();
            fixture.ask();
            let after = fixture.found();
            // What is given up is counted from none again.
            let more = |at: usize| after[at].saturating_sub(before[at]);
            (0..4).for_each(|at| found[at] += more(at));
            fixture.check(&format!("seed {seed}, round {round}"));
        }
        let ways = queries::memory_repairs(&fixture.db, fixture.edited()).private;
        memory.solved += ways.solved;
        memory.kept += ways.kept;
        memory.repaired += ways.repaired;
    }
    let [in_part, whole, repaired, solved] = found;
    println!("{edits} edits: {found:?}, private memory: {memory:?}");
    assert!(edits > 400 && repaired > 300, "{edits} {found:?}");
    assert!(memory.repaired > 200 && memory.solved * 10 < memory.repaired, "{memory:?}");
    assert!(in_part > 200 && whole * 10 < in_part && solved * 4 < repaired, "{found:?}");
}
