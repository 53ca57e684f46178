//! Random edits of random kernels with barriers, loads, stores and calls.

use phalanx_db::{FunctionInput, queries};
use phalanx_ir::{BuildError, InstBuilder, InstId, Opcode, Type, Value, inst::InstFlags};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};

use super::{ALL, support::Fixture};

const POINTERS: [&str; 4] = ["%p", "%q", "%r", "@v"];

/// Blocks in a row, with arms that may hold a barrier, and loops; each operation reads some before.
fn kernel(rng: &mut SmallRng, segments: usize) -> String {
    let mut text = String::from(
        r#"
target triple = "nvptx64-nvidia-cuda"
@v = internal addrspace(1) global [64 x i32] zeroinitializer
@w = internal addrspace(1) global [64 x i32] zeroinitializer
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
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
  %slot = alloca i32
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %gid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  store i32 %gid, ptr %slot
  br label %a0
"#,
    );
    let mut known = ["%n", "%gid", "%tid"].map(str::to_owned).to_vec();
    for at in 0..segments {
        let any = |known: &[String], rng: &mut SmallRng| {
            let few = known.len().min(if rng.random_bool(0.7) { 2 } else { 12 });
            known[known.len() - 1 - rng.random_range(0..few)].clone()
        };
        let uniform = if rng.random_bool(0.8) { "%n" } else { "%gid" };
        let (a, b) = (any(&known, rng), any(&known, rng));
        let pointer = POINTERS[rng.random_range(0..4)];
        let index = if rng.random_bool(0.6) { uniform.to_owned() } else { any(&known, rng) };
        text.push_str(&format!(
            "a{at}:\n  %i{at} = add i32 {a}, {uniform}\n  %s{at} = xor i32 %i{at}, {b}\n  \
             %g{at} = getelementptr i32, ptr addrspace(1) {pointer}, i32 {index}\n  \
             %l{at} = load i32, ptr addrspace(1) %g{at}\n"
        ));
        if rng.random_bool(0.2) {
            text.push_str(&format!("  %o{at} = load i32, ptr %slot\n"));
            text.push_str(&format!("  store i32 %s{at}, ptr %slot\n"));
        }
        if rng.random_bool(0.1) {
            text.push_str(&format!("  store i32 %s{at}, ptr addrspace(1) %g{at}\n"));
        }
        if at > segments / 2 && rng.random_bool(0.1) {
            text.push_str(&format!("  call void @put(ptr addrspace(1) %q, i32 %s{at})\n"));
        }
        let tested =
            [format!("%l{at}"), any(&known, rng)][usize::from(rng.random_bool(0.3))].clone();
        let arm = match at > segments / 3 && rng.random_bool(0.3) {
            true => "  call void @llvm.nvvm.barrier0()\n",
            false => "",
        };
        text.push_str(&format!(
            "  %c{at} = icmp slt i32 {tested}, {uniform}\n  br i1 %c{at}, label %b{at}, label %e{at}\n\
             b{at}:\n{arm}  %t{at} = mul i32 %s{at}, 3\n  br label %e{at}\n\
             e{at}:\n  %k{at} = phi i32 [ %i{at}, %a{at} ], [ %t{at}, %b{at} ], [ %d{at}, %e{at} ]\n  \
             %d{at} = add i32 %k{at}, 1\n  %x{at} = icmp slt i32 %d{at}, %l{at}\n  \
             br i1 %x{at}, label %e{at}, label %a{}\n",
            at + 1
        ));
        known.extend(["i", "s", "l", "k", "d"].map(|name| format!("%{name}{at}")));
    }
    text.push_str(&format!("a{segments}:\n  call void @llvm.nvvm.barrier0()\n  ret void\n}}\n"));
    text
}

fn is_barrier(fixture: &Fixture, inst: InstId) -> bool {
    let body = fixture.edited().body(&fixture.db);
    body.inst(inst).opcode == Opcode::Call
        && body.inst(inst).ty == Type::VOID
        && body.call_args(inst).is_empty()
}

/// One random edit. Those that break a rule are refused and change nothing.
fn edit(fixture: &mut Fixture, rng: &mut SmallRng) {
    let kernel = fixture.edited();
    let body = kernel.body(&fixture.db);
    let mut order: Vec<InstId> = Vec::new();
    for &block in kernel.flow(&fixture.db).order() {
        order.extend(body.block_insts(block));
    }
    let of = |is: &dyn Fn(InstId) -> bool, rng: &mut SmallRng| {
        let found: Vec<InstId> = order.iter().copied().filter(|&inst| is(inst)).collect();
        found.choose(rng).copied()
    };
    let opcode = |inst: InstId| body.inst(inst).opcode;
    let place = *order.choose(rng).expect("there are instructions");
    let is_number = |inst: InstId| body.inst(inst).ty == Type::I32;
    // What is above in the order may not be there on all ways: then the edit is refused.
    let above = |user: InstId, rng: &mut SmallRng| {
        let at = order.iter().position(|&inst| inst == user).unwrap_or(0);
        let values: Vec<InstId> = order[..at].iter().copied().filter(|&i| is_number(i)).collect();
        values.choose(rng).map_or(Value::arg(3), |&inst| Value::inst(inst))
    };
    let zero = Value::constant(fixture.context.const_i32(0));
    let target = match rng.random_range(0..14) {
        0..=4 => of(&|inst| opcode(inst).is_binary() || opcode(inst) == Opcode::ICmp, rng)
            .map(|inst| (inst, above(inst, rng), 0)),
        5 => of(&|inst| opcode(inst) == Opcode::GetElementPtr, rng)
            .map(|inst| (inst, above(inst, rng), 1)),
        6 => of(&|inst| opcode(inst) == Opcode::GetElementPtr, rng)
            .map(|inst| (inst, Value::arg(rng.random_range(0..3)), 0)),
        _ => None,
    };
    if let Some((inst, value, operand)) = target {
        let _: Result<(), BuildError> =
            fixture.db.edit(kernel, |edit| edit.set_operand(inst, operand, value));
        return;
    }
    let address = of(&|inst| opcode(inst) == Opcode::GetElementPtr, rng);
    let load = of(&|inst| opcode(inst) == Opcode::Load, rng);
    let store = of(&|inst| opcode(inst) == Opcode::Store, rng);
    let barrier = of(&|inst| is_barrier(fixture, inst), rng);
    let (choice, sum) = (rng.random_range(0..11), above(place, rng));
    let is_volatile = rng.random_bool(0.5);
    let before = order.choose(rng).copied();
    let _: Result<(), BuildError> =
        fixture.db.edit(kernel, |edit| match (choice, address, load, store, barrier) {
            (0, Some(address), ..) => edit.before(place).load(Type::I32, address).map(drop),
            (1, Some(address), ..) => edit.before(place).store(zero, address).map(drop),
            (2, _, Some(load), ..) => edit.replace(load, sum),
            (3, _, Some(load), ..) => edit
                .set_flags(load, if is_volatile { InstFlags::VOLATILE } else { InstFlags::NONE }),
            (4, _, Some(load), ..) => {
                let before = before.unwrap_or(load);
                edit.move_before(load, before)
            }
            (5, _, _, Some(store), _) => edit.erase(store),
            (6, .., Some(barrier)) => edit.before(place).clone_of(barrier).map(drop),
            (7, .., Some(barrier)) => edit.erase(barrier),
            (8, ..) => edit.split_before(place, "").map(drop),
            _ => {
                let sum = edit.before(place).add(sum, zero)?;
                edit.before(place).xor(sum, zero).map(drop)
            }
        });
}

/// An edit of another function: it writes through its argument or the variable, or no longer.
fn edit_elsewhere(fixture: &mut Fixture, rng: &mut SmallRng) {
    let function: FunctionInput = fixture.function(["put", "writer"][rng.random_range(0..2)]);
    let first = function.body(&fixture.db).all_ids().find(|&inst| {
        let body = function.body(&fixture.db);
        body.block_of(inst).is_some() && body.inst(inst).opcode == Opcode::Store
    });
    let last = function.flow(&fixture.db).order().first().copied();
    let last = last.and_then(|block| function.body(&fixture.db).last(block)).expect("it returns");
    let kernel = fixture.edited().body(&fixture.db);
    let variable = kernel.all_ids().find_map(|inst| {
        let is_address = kernel.inst(inst).opcode == Opcode::GetElementPtr;
        kernel.operands(inst).first().copied().filter(|v| is_address && v.as_const().is_some())
    });
    let address = match function == fixture.function("put") {
        true => Some(Value::arg(0)),
        false => variable,
    };
    let zero = Value::constant(fixture.context.const_i32(0));
    let _: Result<(), BuildError> = fixture.db.edit(function, |edit| match (first, address) {
        (Some(store), _) => edit.erase(store),
        (None, Some(address)) => edit.before(last).store(zero, address).map(drop),
        (None, None) => Ok(()),
    });
}

#[test]
fn random_edits_are_followed() {
    let mut repairs = queries::Repairs::default();
    let mut kept = queries::KeptAnswers::default();
    for seed in 0..10 {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let mut fixture = Fixture::of(&kernel(rng, 40), "kernel");
        let kernel = fixture.edited();
        assert!(kernel.is_large(&fixture.db));
        let few = match seed % 3 {
            0 => &ALL[..],
            1 => &ALL[..4],
            _ => &ALL[3..4],
        };
        fixture.check(few, "the first time");
        for round in 0..40 {
            match rng.random_bool(0.1) {
                true => edit_elsewhere(&mut fixture, rng),
                false => edit(&mut fixture, rng),
            }
            // Sometimes no query runs between two edits.
            if rng.random_bool(0.8) {
                fixture.check(few, &format!("seed {seed}, round {round}"));
            }
        }
        let found = queries::assumed_repairs(&fixture.db, kernel);
        repairs.repaired += found.repaired;
        repairs.rebuilt += found.rebuilt;
        repairs.solved += found.solved + found.kept;
        let answers = queries::kept_answers(&fixture.db, kernel);
        for (sum, of) in [
            (&mut kept.barriers, answers.barriers),
            (&mut kept.race_free, answers.race_free),
            (&mut kept.loads, answers.loads),
        ] {
            sum.kept += of.kept;
            sum.solved += of.solved;
        }
    }
    assert!(repairs.repaired > 300, "{repairs:?}");
    assert!(kept.barriers.kept > 100 && kept.barriers.solved > 5, "{kept:?}");
    assert!(kept.race_free.kept > 100 && kept.race_free.solved > 30, "{kept:?}");
    assert!(kept.loads.kept > 100 && kept.loads.solved > 30, "{kept:?}");
}
