//! Edits of pointers: where they come from, what is done with them, and where they lead is
//! repaired, and is that from scratch.

#[path = "flow.rs"]
mod flow;
#[path = "support.rs"]
mod support;

use std::sync::Arc;

use flow::edit_flow;
use phalanx_db::queries;
use phalanx_ir::{
    BlockId, Body, BuildError, GlobalName, InstBuilder, InstId, Opcode, Type, Value,
    builder::Callee, constant::ConstKind, inst::InstFlags,
};
use phalanx_testing::many_slots;
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use support::Fixture;

/// Pointers of all kinds, what they can be made from, and what can be done with them; then `long`
/// slots and their blocks.
fn text(long: usize) -> String {
    let text = String::from(
        r#"
target triple = "nvptx64-nvidia-cuda"
@near = addrspace(3) global [64 x i32] undef
@far = addrspace(1) global [64 x i32] zeroinitializer
@v = global i32 0
@w = global i32 0
@table = addrspace(4) constant [4 x i32] zeroinitializer
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare ptr @elsewhere(ptr)

define void @writes(ptr %p, ptr %q) {
  %v = load i32, ptr %q
  store i32 %v, ptr %p
  ret void
}

define ptr @keeps(ptr %p, ptr %q) {
  store ptr %p, ptr %q
  ret ptr %q
}

define ptx_kernel void @kernel(ptr %out, ptr addrspace(1) %one, ptr %two, ptr noalias %three, i32 %n, i1 %c, ptr %four) {
entry:
  %p = alloca ptr
  %q = alloca ptr
  %r = alloca [2 x ptr]
  %s = alloca { ptr, ptr }
  %x = alloca i32
SLOTS  %g = addrspacecast ptr addrspace(1) %one to ptr
  %far = addrspacecast ptr addrspace(1) @far to ptr
  %near = getelementptr i32, ptr addrspacecast (ptr addrspace(3) @near to ptr), i32 %n
  %x1 = select i1 %c, ptr %three, ptr null
  %x2 = select i1 %c, ptr %x1, ptr null
  %x3 = select i1 %c, ptr %x2, ptr null
  %y1 = select i1 %c, ptr %three, ptr null
  %z = select i1 %c, ptr %x3, ptr %y1
  store i32 %n, ptr %z
  %vw = select i1 %c, ptr @v, ptr @w
  store ptr %out, ptr %p
  store ptr %two, ptr %q
  call void @llvm.memset.p0.i64(ptr %r, i8 0, i64 16, i1 false)
  store ptr %g, ptr %s
  br i1 %c, label %left, label %right
left:
  %r1 = getelementptr [2 x ptr], ptr %r, i32 0, i32 1
  store ptr %three, ptr %r1
  store ptr %far, ptr %p
  br label %loop
right:
  %second = getelementptr { ptr, ptr }, ptr %s, i32 0, i32 1
  store ptr %near, ptr %second
  br label %loop
loop:
  %i = phi ptr [ %out, %left ], [ %two, %right ], [ %j, %loop ], [ %i2, %inner ]
  %j = phi ptr [ %two, %left ], [ %g, %right ], [ %i, %loop ], [ %j2, %inner ]
  %i1 = getelementptr i32, ptr %i, i32 1
  %i2 = select i1 %c, ptr %i1, ptr %three
  store ptr %i2, ptr %q
  %li = load i32, ptr %i1
  store i32 %li, ptr %i2
  br i1 %c, label %loop, label %inner
inner:
  %k = phi ptr [ %i2, %loop ], [ %k1, %inner ]
  %k1 = getelementptr i8, ptr %k, i64 8
  %lq = load ptr, ptr %q
  %j2 = freeze ptr %lq
  store i32 %n, ptr %lq
  %old = atomicrmw add ptr %k1, i32 %n monotonic
  %more = icmp eq ptr %k1, %out
  br i1 %more, label %inner, label %back
back:
  br i1 %c, label %out2, label %out2
out2:
  %lp = load ptr, ptr %p
  %lr = load ptr, ptr %r
  %ls = load ptr, ptr %s
  call void @llvm.memcpy.p0.p0.i64(ptr %s, ptr %r, i64 16, i1 false)
  %ls2 = load ptr, ptr %s
  %whole = load { ptr, ptr }, ptr %s
  %number = ptrtoint ptr %lr to i64
  %back.again = inttoptr i64 %number to ptr
  call void @writes(ptr %lp, ptr %ls)
  %kept = call ptr @keeps(ptr %ls2, ptr %x)
  %other = call ptr @elsewhere(ptr %kept)
  %v = insertelement <2 x ptr> poison, ptr %lp, i32 0
  %w = insertelement <2 x ptr> %v, ptr %other, i32 1
  %t = extractelement <2 x ptr> %w, i32 %n
  %cx = cmpxchg ptr %t, i32 %n, i32 %li monotonic monotonic
  store ptr %back.again, ptr %out
  br i1 %c, label %s0, label %s0
"#,
    );
    // No block leads from `inner` to `loop`.
    let text = text.replace(", [ %i2, %inner ]", "").replace(", [ %j2, %inner ]", "");
    let mut text = text.replace("SLOTS", &many_slots::slots(long));
    text.push_str(&many_slots::blocks(long, &["%n"]));
    text.push_str(&format!("s{long}:\n  ret void\n"));
    text.push_str(
        "dead:\n  br label %never\nnever:\n  %ring = getelementptr i8, ptr %ring2, i64 1\n",
    );
    text.push_str("  %ring2 = getelementptr i8, ptr %ring, i64 1\n");
    text.push_str("  store ptr %ring, ptr %two\n  br label %never\n}\n");
    text
}

/// The same with tests of addresses, and branches and assumptions that depend on them.
fn text_with_tests(long: usize) -> String {
    let text = text(long)
        .replace(
            "declare ptr @elsewhere(ptr)\n",
            "declare ptr @elsewhere(ptr)\ndeclare i1 @llvm.nvvm.isspacep.shared(ptr)\ndeclare i1 @llvm.nvvm.isspacep.global(ptr)\n\
             declare i1 @llvm.nvvm.isspacep.local(ptr)\ndeclare void @llvm.assume(i1)\n",
        )
        .replace(
            "  br i1 %c, label %left, label %right\n",
            "  %test1 = call i1 @llvm.nvvm.isspacep.shared(ptr %two)\n  %test2 = call i1 @llvm.nvvm.isspacep.global(ptr %three)\n  \
             %both = and i1 %test1, %test2\n  br i1 %both, label %left, label %right\n",
        )
        .replace(
            "  br i1 %c, label %loop, label %inner\n",
            "  %test3 = call i1 @llvm.nvvm.isspacep.global(ptr %i1)\n  %not3 = xor i1 %test3, true\n  br i1 %not3, label %loop, label %inner\n",
        )
        .replace(
            "  %lr = load ptr, ptr %r\n",
            "  %lr = load ptr, ptr %r\n  %test4 = call i1 @llvm.nvvm.isspacep.local(ptr %lp)\n  call void @llvm.assume(i1 %test4)\n",
        );
    assert_eq!(text.matches("= call i1 @llvm.nvvm").count(), 4);
    text
}

impl Fixture {
    fn pointers() -> Self {
        Fixture::of(&text(20), "kernel")
    }

    fn tested_pointers() -> Self {
        Fixture::of(&text_with_tests(20), "kernel")
    }

    #[track_caller]
    fn check(&self, what: &str) {
        let (db, entries) = self.cold();
        for (warm, cold) in self.module.functions(&self.db).iter().zip(&entries) {
            let (now, of_cold) = (warm.input, cold.input);
            let pointers = queries::pointer_flow(&self.db, now);
            assert_eq!(pointers, queries::pointer_flow(&db, of_cold), "{what}: pointers");
            let kinds = queries::memory_kinds(&self.db, now);
            assert!(kinds == queries::memory_kinds(&db, of_cold), "{what}: kinds");
            let uses = queries::parameter_uses(&self.db, now);
            assert_eq!(uses, queries::parameter_uses(&db, of_cold), "{what}: uses");
            // What is said of each pointer, whether it is told of or looked for.
            let of_cold = queries::pointer_flow(&db, of_cold);
            for inst in warm.input.body(&self.db).all_ids() {
                let code = phalanx_analysis::lower::Code {
                    context: &self.context,
                    header: warm.input.header(&self.db),
                    flow: warm.input.flow(&self.db),
                    body: warm.input.body(&self.db),
                    library: phalanx_analysis::lower::Library::NONE,
                };
                let [a, b] = [pointers, of_cold].map(|flow| flow.of(code, inst.into()));
                let is_there = code.body.block_of(inst).is_some();
                assert!(!is_there || a == b, "{what}: {inst:?} is {a:?}, from scratch {b:?}");
            }
        }
    }

    fn ways(&self) -> [u64; 3] {
        let ways = queries::memory_repairs(&self.db, self.edited()).pointers;
        [ways.solved, ways.kept, ways.repaired]
    }
}

/// The instructions that can be reached, by what they are.
struct Choice {
    here: Vec<InstId>,
    pointers: Vec<Value>,
    /// Of which an operand is a pointer.
    users: Vec<InstId>,
}

impl Choice {
    fn of(fixture: &Fixture) -> Self {
        let f = fixture.edited();
        let (flow, body) = (f.flow(&fixture.db), f.body(&fixture.db));
        let blocks = &flow.order()[..flow.order().len() - 2];
        let here: Vec<InstId> = blocks.iter().flat_map(|&block| body.block_insts(block)).collect();
        let is_pointer = |&inst: &InstId| body.inst(inst).ty == Type::PTR;
        let of_args = [0, 2, 3].map(Value::arg);
        let insts = here.iter().copied().filter(is_pointer).map(Value::from);
        let mut pointers: Vec<Value> = of_args.into_iter().chain(insts).collect();
        // Those of slots that have nothing to do with the rest.
        pointers.truncate(35);
        pointers.push(Value::constant(fixture.context.const_null(Type::PTR)));
        let is_one = |value: &Value| pointers.contains(value);
        let users = here.iter().copied().filter(|&inst| body.operands(inst).iter().any(is_one));
        Choice { users: users.take(66).collect(), here, pointers }
    }
}

/// An operand of an instruction that is a pointer.
fn pointer_operand(body: &Body, inst: InstId, choice: &Choice, rng: &mut SmallRng) -> Option<u32> {
    let operands = body.operands(inst).iter().zip(0..);
    let all: Vec<u32> =
        operands.filter(|(value, _)| choice.pointers.contains(value)).map(|(_, at)| at).collect();
    all.choose(rng).copied()
}

/// One edit of what has to do with pointers, whatever it makes of the program. An edit that would
/// break a rule is none.
fn random_edit(fixture: &mut Fixture, rng: &mut SmallRng) -> Option<()> {
    let function = fixture.edited();
    let choice = Choice::of(fixture);
    let context = Arc::clone(&fixture.context);
    let (inst, near) = (*choice.users.choose(rng)?, *choice.users.choose(rng)?);
    let at = *choice.here[..90.min(choice.here.len())].choose(rng)?;
    let (pointer, other) = (*choice.pointers.choose(rng)?, *choice.pointers.choose(rng)?);
    let body = function.body(&fixture.db);
    let operand = pointer_operand(body, inst, &choice, rng);
    let near_operand = pointer_operand(body, near, &choice, rng);
    let global = context.find_symbol(b"far").map(GlobalName::Named)?;
    let far = context.constant(context.ptr_type(1), ConstKind::Global(global));
    let index = Value::constant(context.const_i32(rng.random_range(0..3)));
    let slot = [fixture.named("p"), fixture.named("q"), fixture.named("r")][rng.random_range(0..3)];
    let done: Result<(), BuildError> =
        fixture.db.edit(function, |edit| match rng.random_range(0..24) {
            0..=5 => match operand {
                Some(at) => edit.set_operand(inst, at, pointer),
                None => Ok(()),
            },
            6 => edit.before(at).load(Type::PTR, pointer).map(drop),
            7 => edit.before(at).load(Type::PTR, slot).map(drop),
            8 => edit.before(at).store(pointer, slot).map(drop),
            9 => edit.before(at).store(pointer, other).map(drop),
            10 | 11 => {
                let made = edit.before(at).gep(Type::I32, pointer, &[index])?;
                match near_operand {
                    Some(operand) => edit.set_operand(near, operand, made),
                    None => Ok(()),
                }
            }
            12 => {
                let made = edit.before(at).select(Value::arg(5), pointer, other)?;
                match near_operand {
                    Some(operand) => edit.set_operand(near, operand, made),
                    None => Ok(()),
                }
            }
            13 => edit.after(inst).clone_of(inst).map(drop),
            14 | 15 => edit.erase(inst),
            16 | 17 => edit.move_before(inst, near),
            18 => match pointer.as_inst() {
                Some(old) => edit.replace_all_uses(old, other).map(drop),
                None => Ok(()),
            },
            19 => {
                let mut flags = edit.body().inst(inst).flags;
                flags.0 ^= InstFlags::VOLATILE.0;
                edit.set_flags(inst, flags)
            }
            20 => {
                let cast = edit.before(at).addrspacecast(Value::constant(far), Type::PTR)?;
                edit.before(at).store(cast, slot).map(drop)
            }
            21 => edit.before(at).load(Type::I64, slot).map(drop),
            22 => edit.before(at).inttoptr(Value::arg(4), Type::PTR).map(drop),
            _ => match edit.body().inst(inst).opcode {
                Opcode::Store => edit.erase(inst),
                _ => Ok(()),
            },
        });
    done.ok()
}

/// One edit of tests of addresses, of conditions that are made of them, or of what depends on
/// these. An edit that would break a rule is none.
fn random_edit_of_tests(fixture: &mut Fixture, rng: &mut SmallRng) -> Option<()> {
    let function = fixture.edited();
    let choice = Choice::of(fixture);
    let context = Arc::clone(&fixture.context);
    let body = function.body(&fixture.db);
    let near = &choice.here[..90.min(choice.here.len())];
    let made = choice.here.iter().copied().filter(|&inst| body.inst(inst).ty == Type::I1);
    let mut conditions: Vec<Value> = made.map(Value::from).collect();
    conditions.extend([Value::arg(5), Value::constant(context.const_bool(true))]);
    let branches =
        choice.here.iter().copied().filter(|&inst| {
            body.inst(inst).opcode == Opcode::Br && !body.operands(inst).is_empty()
        });
    let branch = branches.collect::<Vec<_>>().choose(rng).copied()?;
    let (at, pointer) = (*near.choose(rng)?, *choice.pointers.choose(rng)?);
    let (one, two) = (*conditions.choose(rng)?, *conditions.choose(rng)?);
    let yes = Value::constant(context.const_bool(true));
    let name = ["isspacep.shared", "isspacep.global", "isspacep.local"][rng.random_range(0..3)];
    let test = fixture.function(&format!("llvm.nvvm.{name}")).header(&fixture.db).clone();
    let assume = fixture.function("llvm.assume").header(&fixture.db).clone();
    let callee = |header: &phalanx_ir::FunctionHeader| {
        Callee::indirect(context.const_global(header.name, 0).into(), header.ty)
    };
    let done: Result<(), BuildError> =
        fixture.db.edit(function, |edit| match rng.random_range(0..8) {
            0 | 1 => edit.set_operand(branch, 0, one),
            2 => {
                let made = edit.before(at).call(callee(&test), &[pointer])?;
                edit.set_operand(branch, 0, made)
            }
            3 => edit.before(at).call(callee(&test), &[pointer]).map(drop),
            4 => edit.before(at).call(callee(&assume), &[one]).map(drop),
            5 => edit.before(at).xor(one, yes).map(drop),
            6 => {
                let made = edit.before(branch).and(one, two)?;
                edit.set_operand(branch, 0, made)
            }
            _ => {
                let made = edit.before(branch).or(one, two)?;
                edit.set_operand(branch, 0, made)
            }
        });
    done.ok()
}

/// What comes in on two ways is still there when it does not come on one of them any more.
#[test]
fn what_comes_twice_is_taken_back_once() {
    let mut fixture = Fixture::pointers();
    let null = Value::constant(fixture.context.const_null(Type::PTR));
    let (x, y) = (fixture.named("x1"), fixture.named("y1"));
    for (inst, value) in [(x, null), (y, null), (x, Value::arg(3)), (y, Value::arg(3)), (x, null)] {
        fixture.edit(|edit| edit.set_operand(inst, 1, value));
        fixture.check("a selection");
    }
    let [solved, _, repaired] = fixture.ways();
    assert_eq!((solved, repaired), (1, 4));
}

/// Who was the second to write through an argument may be gone before the first is.
#[test]
fn who_is_next_is_still_there() {
    let mut fixture = Fixture::pointers();
    fixture.check("at first");
    let at = fixture.named("x1");
    let stores = fixture.edit(|edit| {
        let mut one = || edit.before(at).store(Value::arg(4), Value::arg(6));
        Ok([one()?, one()?, one()?])
    });
    fixture.check("three stores");
    for store in [stores[1], stores[0], stores[2]] {
        fixture.edit(|edit| edit.erase(store));
        fixture.check("a store less");
    }
    let [solved, kept, repaired] = fixture.ways();
    assert_eq!((solved, kept, repaired), (1, 1, 3));
}

/// A variable that the function did not mention before is a new root.
#[test]
fn a_variable_is_mentioned_for_the_first_time() {
    let mut fixture = Fixture::pointers();
    fixture.check("at first");
    let (at, context) = (fixture.named("x1"), Arc::clone(&fixture.context));
    let table = context.find_symbol(b"table").map(GlobalName::Named).expect("it is interned");
    let table = Value::constant(context.constant(context.ptr_type(4), ConstKind::Global(table)));
    for address in [Value::arg(1), table, Value::arg(1), table] {
        let load = fixture.edit(|edit| edit.before(at).load(Type::I32, address));
        fixture.check("a load more");
        let load = load.as_inst().expect("it is an instruction");
        fixture.edit(|edit| edit.erase(load));
        fixture.check("a load less");
    }
}

/// Variables are numbered in the order in which the first instruction mentions them.
#[test]
fn variables_change_places() {
    let mut fixture = Fixture::pointers();
    let (vw, operand) = (fixture.named("vw"), |f: &Fixture, at: usize| {
        f.edited().body(&f.db).operands(f.named("vw"))[at]
    });
    for _ in 0..4 {
        fixture.check("two variables");
        let (v, w) = (operand(&fixture, 1), operand(&fixture, 2));
        fixture.edit(|edit| {
            edit.set_operand(vw, 1, w)?;
            edit.set_operand(vw, 2, v)
        });
    }
    fixture.check("two variables that have changed places");
}

/// In code that is not reached an address may be made from itself.
#[test]
fn rings_are_closed_and_opened() {
    let mut fixture = Fixture::pointers();
    fixture.check("a ring");
    let (one, two) = (fixture.named("ring"), fixture.named("ring2"));
    let others = [Value::arg(2), two.into(), Value::arg(2), one.into(), Value::arg(0), two.into()];
    for other in others {
        fixture.edit(|edit| edit.set_operand(one, 0, other));
        fixture.check("a step");
    }
}

/// How many runs: more than the usual ones where `PHALANX_POINTERS` says so.
fn seeds() -> u64 {
    std::env::var("PHALANX_POINTERS").ok().and_then(|count| count.parse().ok()).unwrap_or(12)
}

/// The fact that a test proves about an address also holds for addresses computed from it by steps.
/// Users of these see a change in five cases: the test gets another address, a step above the test
/// does, a step gets another base, the result of the test is no longer used, or other blocks are
/// behind the test.
#[test]
fn what_tests_say_follows_steps_and_blocks() {
    let mut fixture = Fixture::tested_pointers();
    let n = fixture.edited().body(&fixture.db).operands(fixture.named("near"))[1];
    let inst = |value: Value| value.as_inst().expect("it is an instruction");
    // Two steps, where nothing is known yet, and loads behind the test and behind the join.
    let (first, places) = (fixture.named("near"), [fixture.named("r1"), fixture.named("lp")]);
    let (step, [near, far]) = fixture.edit(|edit| {
        let step = edit.before(first).gep(Type::I32, Value::arg(2), &[n])?;
        let second = edit.before(first).gep(Type::I32, step, &[n])?;
        let mut load = |at| edit.before(at).load(Type::I32, second);
        Ok((step, [load(places[0])?, load(places[1])?]))
    });
    let test = fixture.named("test1");
    let above = fixture.edit(|edit| {
        let above = edit.before(test).gep(Type::I32, Value::arg(2), &[n])?;
        edit.set_flags(inst(above), InstFlags::INBOUNDS)?;
        edit.set_operand(test, 0, above)?;
        Ok(above)
    });
    // Whether tests say something of the addresses of these two.
    let known = |fixture: &Fixture| {
        let kinds = queries::memory_kinds(&fixture.db, fixture.edited()).as_ref();
        let kinds = kinds.expect("it has a body");
        [near, far].map(|load| kinds.refined_of(inst(load)).count() == 1)
    };
    fixture.check("at first");
    assert_eq!(known(&fixture), [true, false]);
    let before = queries::kind_repairs(&fixture.db, fixture.edited());
    let branch = fixture.edited().flow(&fixture.db).order()[0];
    let branch = fixture.edited().body(&fixture.db).terminator(branch).expect("it has one");
    let both = fixture.named("both");
    let edits = [
        ("a test of another address", test, Value::arg(0), false),
        ("the test as it was", test, above, true),
        ("a step of another address, above the test", inst(above), Value::arg(0), false),
        ("the step as it was", inst(above), Value::arg(2), true),
        ("a step of another address, above the load", inst(step), Value::arg(0), false),
        ("the step as it was", inst(step), Value::arg(2), true),
        ("a branch that asks for something else", branch, Value::arg(5), false),
        ("the branch as it was", branch, both.into(), true),
    ];
    for (what, inst, value, is_known) in edits {
        fixture.edit(|edit| edit.set_operand(inst, 0, value));
        fixture.check(what);
        assert_eq!(known(&fixture), [is_known, false], "{what}");
    }
    let right = fixture.edited().body(&fixture.db).block_of(fixture.named("second"));
    let right = right.expect("it is in a block");
    fixture.edit(|edit| edit.replace_terminator(right).unreachable().map(drop));
    fixture.check("the way around the test ends");
    assert_eq!(known(&fixture), [true, true]);
    let after = queries::kind_repairs(&fixture.db, fixture.edited());
    assert_eq!((after.solved, after.repaired), (before.solved, before.repaired + 9));
}

/// What tests say where they have held follows edits of them, of what depends on them, of pointers,
/// and of the flow.
#[test]
fn tests_of_addresses_follow_random_edits() {
    let (mut edits, mut said, mut kinds) = ([0; 3], 0, [0; 2]);
    for seed in 0..2 * seeds() {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut fixture = Fixture::tested_pointers();
        fixture.check("at first");
        for round in 0..80 {
            for _ in 0..[1, 1, 2, 3][rng.random_range(0..4)] {
                let (at, done) = match rng.random_range(0..10) {
                    0..=4 => (0, random_edit(&mut fixture, &mut rng)),
                    5 if seed % 2 == 0 => (1, random_edit_of_flow(&mut fixture, &mut rng)),
                    _ => (2, random_edit_of_tests(&mut fixture, &mut rng)),
                };
                edits[at] += usize::from(done.is_some());
            }
            fixture.check(&format!("seed {seed}, round {round}"));
            let known = queries::memory_kinds(&fixture.db, fixture.edited());
            said += known.as_ref().map_or(0, |kinds| kinds.refined_uses().len());
        }
        let found = queries::kind_repairs(&fixture.db, fixture.edited());
        (kinds[0], kinds[1]) = (kinds[0] + found.solved, kinds[1] + found.repaired);
    }
    println!("{edits:?} edits, {said} operands of which tests say more, kinds {kinds:?}");
    assert!(edits[2] > 200 && said > 1000 && kinds[1] > 400, "{edits:?} {said} {kinds:?}");
}

#[test]
fn pointers_follow_random_edits() {
    let (mut edits, mut ways, mut kinds) = (0, [0; 3], [0; 2]);
    for seed in 0..seeds() {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut fixture = Fixture::pointers();
        fixture.check("at first");
        for round in 0..150 {
            let count = [1, 1, 2, 4][rng.random_range(0..4)];
            let done = (0..count).filter(|_| random_edit(&mut fixture, &mut rng).is_some()).count();
            edits += done;
            fixture.check(&format!("seed {seed}, round {round}"));
        }
        (0..3).for_each(|at| ways[at] += fixture.ways()[at]);
        let found = queries::kind_repairs(&fixture.db, fixture.edited());
        (kinds[0], kinds[1]) = (kinds[0] + found.solved, kinds[1] + found.repaired);
    }
    println!("{edits} edits: {ways:?}, kinds {kinds:?}");
    let [solved, kept, repaired] = ways;
    assert!(repaired > 700 && kept > 100 && solved * 10 < repaired, "{edits} {ways:?}");
    assert!(kinds[1] > 700, "{kinds:?}");
}

/// One edit of blocks and edges, or a phi more.
fn random_edit_of_flow(fixture: &mut Fixture, rng: &mut SmallRng) -> Option<()> {
    let function = fixture.edited();
    let choice = Choice::of(fixture);
    let is_phi = rng.random_bool(0.2);
    let done: Result<(), BuildError> = fixture.db.edit(function, |edit| {
        if !is_phi {
            return edit_flow(edit, Value::arg(5), rng);
        }
        let block = *edit.flow().order().choose(rng).expect("there is an entry");
        let order = edit.flow().order().to_vec();
        let edges = order.iter().flat_map(|&from| {
            let to = edit.flow().successors(from).iter();
            to.filter(|&&to| to == block).map(move |_| from)
        });
        let preds: Vec<BlockId> = edges.collect();
        let first = edit.body().block_insts(block).next().expect("blocks are not empty");
        let phi = edit.before(first).phi(Type::PTR)?;
        for pred in preds {
            let value = *choice.pointers.choose(rng).expect("there are arguments");
            edit.add_phi_input(phi.as_inst().expect("it is new"), value, pred)?;
        }
        edit.before(edit.body().terminator(block).expect("it has one"))
            .store(phi, Value::arg(0))?;
        Ok(())
    });
    done.ok()
}

#[test]
fn pointers_follow_random_edits_of_the_flow() {
    let (mut edits, mut flows, mut kinds) = (0, 0, [0; 2]);
    for seed in 0..seeds() {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut fixture = Fixture::pointers();
        fixture.check("at first");
        for round in 0..100 {
            for _ in 0..[1, 1, 2, 3][rng.random_range(0..4)] {
                let (count, done) = match rng.random_bool(0.4) {
                    true => (&mut flows, random_edit_of_flow(&mut fixture, &mut rng)),
                    false => (&mut edits, random_edit(&mut fixture, &mut rng)),
                };
                *count += usize::from(done.is_some());
            }
            fixture.check(&format!("seed {seed}, round {round}"));
        }
        let found = queries::kind_repairs(&fixture.db, fixture.edited());
        (kinds[0], kinds[1]) = (kinds[0] + found.solved, kinds[1] + found.repaired);
    }
    println!("{edits} edits, {flows} of the flow: kinds {kinds:?}");
    assert!(flows > 300 && kinds[1] > 2 * kinds[0], "{flows} {kinds:?}");
}
