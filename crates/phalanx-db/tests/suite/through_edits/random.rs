//! Random edits of what has to do with pointers, with all that is known asked after each.

use super::support::Fixture;
use super::without_slots;
use phalanx_db::queries;
use phalanx_ir::{BlockId, BuildError, InstBuilder, InstId, Opcode, Type, Value, inst::InstFlags};
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};

/// What random edits choose from.
struct Choice {
    here: Vec<InstId>,
    /// Of functions and of memory, and what leads there.
    accesses: Vec<InstId>,
    pointers: Vec<Value>,
    numbers: Vec<Value>,
    rets: Vec<InstId>,
    /// Stores of pointers.
    escapes: Vec<InstId>,
}

impl Choice {
    fn of(f: &Fixture) -> Self {
        let body = f.edited().body(&f.db);
        let flow = f.edited().flow(&f.db);
        let here: Vec<InstId> =
            flow.order().iter().flat_map(|&block| body.block_insts(block)).collect();
        let opcode = |inst: &InstId| body.inst(*inst).opcode;
        let is_access = |inst: &InstId| {
            let others = [Opcode::GetElementPtr, Opcode::Alloca, Opcode::Call, Opcode::Phi];
            matches!(opcode(inst), Opcode::Load | Opcode::Store) || others.contains(&opcode(inst))
        };
        let of_type = |ty: Type| {
            here.iter().copied().filter(move |&inst| body.inst(inst).ty == ty).map(Value::from)
        };
        let pointers: Vec<Value> = (0..3).map(Value::arg).chain(of_type(Type::PTR)).collect();
        let numbers: Vec<Value> =
            (3..5).map(Value::arg).chain(of_type(Type::I32).take(40)).collect();
        let is_escape = |inst: &InstId| {
            opcode(inst) == Opcode::Store && pointers.contains(&body.operands(*inst)[0])
        };
        Choice {
            accesses: here.iter().copied().filter(is_access).collect(),
            rets: here.iter().copied().filter(|inst| opcode(inst) == Opcode::Ret).collect(),
            escapes: here.iter().copied().filter(is_escape).collect(),
            pointers,
            numbers,
            here,
        }
    }
}

/// One edit of what has to do with pointers, whatever it makes of the program. An edit that would
/// break a rule is none.
fn random_edit(f: &mut Fixture, rng: &mut SmallRng) -> Option<()> {
    let choice = Choice::of(f);
    let (function, kept) = (f.edited(), f.kept());
    let (inst, near) = (*choice.accesses.choose(rng)?, *choice.accesses.choose(rng)?);
    let at = choice.here[rng.random_range(0..choice.here.len().min(70))];
    let argument = Value::arg(rng.random_range(0..3));
    let pointer = if rng.random_bool(0.5) { argument } else { *choice.pointers.choose(rng)? };
    let constant = f.number(rng.random_range(0..4));
    let number = *[*choice.numbers.choose(rng)?, constant].choose(rng)?;
    let body = function.body(&f.db);
    let position = rng.random_range(0..body.operands(inst).len().max(1)) as u32;
    let ty = *[Type::I32, Type::I32, Type::I64, Type::PTR, Type::I8].choose(rng)?;
    let (reduction, all) = (f.reduction(), f.number(-1));
    let what = rng.random_range(0..32);
    if what == 27 {
        let operand = [Value::arg(1), f.number(1)][rng.random_range(0..2)];
        f.edit_set(rng.random_range(0..2), operand);
        return Some(());
    }
    let done: Result<(), BuildError> = f.db.edit(function, |edit| match what {
        0..3 => edit.before(at).store(number, pointer).map(drop),
        3..5 => edit.before(at).load(ty, pointer).map(drop),
        5..8 => edit.set_operand(inst, position, number),
        8 | 9 => edit.set_operand(inst, position, pointer),
        10 | 11 => edit.after(inst).clone_of(inst).map(drop),
        12..14 => edit.erase(inst),
        14 | 15 => edit.move_before(inst, near),
        16 => {
            let index = if rng.random_bool(0.8) { constant } else { number };
            let made = edit.before(at).gep(Type::I32, pointer, &[index])?;
            edit.before(at).store(number, made).map(drop)
        }
        17 => edit.before(at).store(pointer, kept).map(drop),
        18..21 => match choice.escapes.choose(rng) {
            Some(&store) => edit.erase(store),
            None => Ok(()),
        },
        21 | 22 => match choice.rets.choose(rng) {
            Some(&ret) => edit.set_operand(ret, 0, number),
            None => Ok(()),
        },
        23 => edit.split_before(at, "").map(drop),
        24 => {
            let mut flags = edit.body().inst(inst).flags;
            flags.0 ^= InstFlags::VOLATILE.0;
            edit.set_flags(inst, flags)
        }
        25 => match inst {
            _ if edit.body().inst(inst).ty == Type::I32 => {
                edit.replace_all_uses(inst, number).map(drop)
            }
            _ => Ok(()),
        },
        26 => edit.set_operand(at, 0, number),
        28 => {
            let least = edit.before(at).call(reduction, &[number, all])?;
            edit.before(at).store(least, pointer).map(drop)
        }
        _ => {
            // Blocks that end the function, or did.
            let blocks: Vec<BlockId> = edit.flow().order().to_vec();
            let is_end = |block: &&BlockId| edit.flow().successors(**block).is_empty();
            let ends: Vec<BlockId> = blocks.iter().filter(is_end).copied().collect();
            let [block, next] = [ends.choose(rng), ends.choose(rng)].map(|b| b.copied());
            let (Some(block), Some(next)) = (block, next) else { return Ok(()) };
            let mut end = edit.replace_terminator(block);
            match rng.random_range(0..4) {
                0 => end.unreachable().map(drop),
                1 if block != next => end.br(next).map(drop),
                _ => end.ret(number).map(drop),
            }
        }
    });
    done.ok()
}

/// Results of a function that returns nothing and writes are not asked for, while what it does
/// through pointers is: each follows what has changed since it was asked itself.
#[test]
fn parts_are_asked_at_different_times() {
    let mut text = String::from(
        "target triple = \"nvptx64-nvidia-cuda\"\n\
         define void @work(ptr %a, ptr %b, i32 %n) {\n  %la = load i32, ptr %a\n  %v0 = add i32 %n, 1\n",
    );
    (1..=300).for_each(|at| text.push_str(&format!("  %v{at} = add i32 %n, {at}\n")));
    text.push_str("  ret void\n}\n");
    let mut f = Fixture::of(&text, "work");
    let (load, v0) = (f.named("la"), f.named("v0"));
    f.check("at first");
    for operand in [7, 8, 3] {
        let operand = f.number(operand);
        f.edit(|edit| edit.set_operand(v0, 1, operand));
        f.check("a sum");
    }
    let store = f.edit(|edit| edit.before(v0).store(Value::arg(2), Value::arg(0)));
    f.check("a store");
    f.edit(|edit| edit.erase(load));
    f.check("the load is gone");
    f.edit(|edit| edit.erase(store));
    f.check("the store is gone");
}

/// How many runs: more than the usual ones where `PHALANX_SLOTS` says so.
fn seeds() -> u64 {
    std::env::var("PHALANX_SLOTS").ok().and_then(|count| count.parse().ok()).unwrap_or(8)
}

#[test]
fn what_is_done_through_pointers_follows_random_edits() {
    let (mut edits, mut known) = (0, 0);
    let mut all = queries::Ways::default();
    for seed in 0..seeds() {
        let mut rng = SmallRng::seed_from_u64(seed);
        // With fewer inputs, the state stays retained where sources collapse.
        let mut fixture = match seed % 2 {
            0 => Fixture::new(300),
            _ => Fixture::warm(&without_slots(300)),
        };
        for round in 0..150 {
            let count = [1, 1, 1, 2, 4][rng.random_range(0..5)];
            edits += (0..count).filter(|_| random_edit(&mut fixture, &mut rng).is_some()).count();
            fixture.check(&format!("seed {seed}, round {round}"));
            known += u64::from(fixture.through().is_some());
        }
        let counts = fixture.counts();
        all.kept += counts.kept;
        all.repaired += counts.repaired;
        all.solved += counts.solved;
    }
    println!("{edits} edits, known after {known}: {all:?}");
    assert!(all.repaired > 50 * seeds() && known > 70 * seeds(), "{edits} edits, {known}: {all:?}");
}
