//! Random edits of a large kernel with all kinds of operations: facts about its instructions equal
//! those of a new database.

use super::support::Fixture;
use phalanx_db::queries;
use phalanx_ir::{
    BuildError, InstId, Opcode, Value,
    edit::Transaction,
    inst::{InstFlags, IntPredicate},
};
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};

const HEAD: &str = r#"
target triple = "nvptx64-nvidia-cuda"
@lds = internal addrspace(3) global [64 x i32] undef
@dev = internal addrspace(1) global [64 x i32] zeroinitializer
@table = internal addrspace(1) constant [64 x i32] zeroinitializer
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i32 @llvm.ctpop.i32(i32)
declare void @computes(i32) memory(none)
declare void @together(i32) convergent memory(none)
declare void @anything(i32)

define internal void @leaf(ptr %p, i32 %n) {
  store i32 %n, ptr %p
  ret void
}

define ptx_kernel void @kernel(ptr addrspace(1) noalias %out, ptr addrspace(1) noalias %in, i32 %n) "nvvm.reqntid"="64" {
entry:
  %leak = alloca i32
  %slot = alloca i32
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %tid, ptr %slot
  %s = addrspacecast ptr addrspace(3) @lds to ptr
  %d = addrspacecast ptr addrspace(1) @dev to ptr
  br label %a0
done:
"#;

const ARMS: [&str; 7] = [
    "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
    "store i32 %n, ptr addrspace(1) %out",
    "%w{at} = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %n, i32 0, i32 31)",
    "call void @together(i32 %n)",
    "call void @leaf(ptr %g{at}, i32 %n)",
    "call void @anything(i32 %n)",
    "%w{at} = call i32 @llvm.ctpop.i32(i32 %n)",
];

/// A kernel of `rounds` parts, each with addresses, accesses, a cast that may be wrong, a condition
/// that may be evaluated, and an operation under it.
fn kernel(rng: &mut SmallRng, rounds: usize) -> String {
    kernel_where(rng, rounds, 0.0)
}

/// The same; with probability `never`, a branch leads to a block that is never executed.
fn kernel_where(rng: &mut SmallRng, rounds: usize, never: f64) -> String {
    // Few acquires and unknown calls, so that something can be said at all.
    let arms = *[&ARMS[..2], &ARMS[..4], &ARMS[..]].choose(rng).expect("there are some");
    let mut text = HEAD.to_owned();
    if rng.random() {
        text.push_str("  store i32 %n, ptr addrspace(1) %out\n");
    }
    text.push_str("  ret void\n");
    if never > 0.0 {
        text.push_str("never:\n  unreachable\n");
    }
    for at in 0..rounds {
        let base = ["%s", "%d"][rng.random_range(0..2)];
        let space = [1, 3][rng.random_range(0..2)];
        let from = ["h", "q"][rng.random_range(0..2)];
        let variable = if rng.random_bool(0.2) { "@table" } else { "@dev" };
        text.push_str(&format!(
            "a{at}:\n  %i{at} = add i32 %n, {at}\n  %t{at} = and i32 %tid, 48\n  \
             %v{at} = load i32, ptr %slot\n  %g{at} = getelementptr i32, ptr {base}, i32 %i{at}\n  \
             %h{at} = getelementptr i32, ptr %g{at}, i32 1\n  store i32 %i{at}, ptr %h{at}\n  \
             %r{at} = getelementptr i32, ptr addrspace(1) %in, i32 %i{at}\n  \
             %l{at} = load i32, ptr addrspace(1) %r{at}\n  \
             %u{at} = icmp eq i32 %n, {at}\n  \
             %q{at} = select i1 %u{at}, ptr %g{at}, ptr %h{at}\n  \
             %f{at} = select i1 %u{at}, ptr addrspace(1) %r{at}, ptr addrspace(1) %in\n  \
             %m{at} = load i32, ptr addrspace(1) %f{at}\n  \
             %k{at} = getelementptr i32, ptr addrspace(1) {variable}, i32 %l{at}\n"
        ));
        if rng.random_bool(0.2) {
            text.push_str(&format!(
                "  %x{at} = addrspacecast ptr %{from}{at} to ptr addrspace({space})\n  \
                 %y{at} = getelementptr i32, ptr addrspace({space}) %x{at}, i32 %n\n  \
                 %z{at} = load i32, ptr addrspace({space}) %y{at}\n"
            ));
        }
        if rng.random_bool(0.2) {
            text.push_str(&format!("  store i32 %i{at}, ptr addrspace(1) %k{at}\n"));
        }
        if rng.random_bool(0.1) {
            text.push_str(&format!("  store i32 %n, ptr %q{at}\n"));
        }
        if rng.random_bool(0.1) {
            text.push_str("  store ptr %leak, ptr addrspace(1) %out\n");
        }
        let tested = ["t", "v", "i", "l"][rng.random_range(0..4)];
        let arm = match rng.random_bool(0.4) {
            true => arms.choose(rng).expect("there are some").replace("{at}", &at.to_string()),
            false => String::new(),
        };
        let to = match never > 0.0 && rng.random_bool(never) {
            true => "never".to_owned(),
            false if rng.random_bool(0.1) => "done".to_owned(),
            false => format!("e{at}"),
        };
        text.push_str(&format!(
            "  %c{at} = icmp ult i32 %{tested}{at}, {}\n  br i1 %c{at}, label %b{at}, label %{to}\n\
             b{at}:\n  {arm}\n  br label %e{at}\ne{at}:\n  br label %a{}\n",
            rng.random_range(0..80),
            at + 1
        ));
    }
    let last = ARMS[0];
    text.push_str(&format!("a{rounds}:\n  {last}\n  ret void\n}}\n"));
    text
}

/// One random edit of instructions. Those that break a rule are refused and change nothing.
fn edit(edit: &mut Transaction<'_>, rng: &mut SmallRng) -> Result<(), BuildError> {
    let blocks = edit.flow().order().to_vec();
    let order: Vec<InstId> =
        blocks.iter().flat_map(|&block| edit.body().block_insts(block)).collect();
    let any = |rng: &mut SmallRng| *order.choose(rng).expect("there are instructions");
    let (inst, place) = (any(rng), any(rng));
    let opcode = edit.body().inst(inst).opcode;
    let has_memory =
        |inst: InstId| matches!(edit.body().inst(inst).opcode, Opcode::Load | Opcode::Store);
    match rng.random_range(0..20) {
        0..=8 => {
            let operands = edit.body().operands(inst).to_vec();
            let Some(index) = (0..operands.len()).collect::<Vec<_>>().choose(rng).copied() else {
                return Ok(());
            };
            let Some(ty) = edit.type_of(operands[index]) else { return Ok(()) };
            // What is above in the order may not be there on all ways: then the edit is refused.
            let at = order.iter().position(|&other| other == inst).unwrap_or(0);
            let mut values: Vec<Value> = order[..at]
                .iter()
                .filter(|&&i| edit.body().inst(i).ty == ty)
                .map(|&i| i.into())
                .collect();
            values.extend((0..3).map(Value::arg).filter(|&v| edit.type_of(v) == Some(ty)));
            if ty == phalanx_ir::Type::I32 {
                values.push(edit.context().const_i32(rng.random_range(-2..70)).into());
            }
            match values.choose(rng) {
                Some(&value) => edit.set_operand(inst, index as u32, value),
                None => Ok(()),
            }
        }
        9..=12 if !opcode.is_terminator() && opcode != Opcode::Alloca => {
            // Near to where it stood, so that it may read what it read.
            let place = if rng.random() { place } else { inst };
            edit.before(place).clone_of(inst).map(drop)
        }
        13 | 14 => edit.erase(inst),
        15 | 16 => edit.move_before(inst, place),
        17 if opcode == Opcode::ICmp => {
            let all = [IntPredicate::Ult, IntPredicate::Uge, IntPredicate::Eq];
            edit.set_int_predicate(inst, *all.choose(rng).expect("there are some"))
        }
        18 => match order
            .iter()
            .copied()
            .filter(|&inst| has_memory(inst))
            .nth(rng.random_range(0..40))
        {
            Some(inst) if rng.random() => edit.set_flags(inst, InstFlags::VOLATILE),
            Some(inst) => edit.set_flags(inst, InstFlags::NONE),
            None => Ok(()),
        },
        19 if rng.random_bool(0.2) => edit.split_before(place, "").map(drop),
        _ => Ok(()),
    }
}

#[track_caller]
fn check(fixture: &Fixture, what: &str) {
    let (db, cold) = fixture.cold();
    let all = fixture.module.functions(&fixture.db).iter().zip(&cold);
    for (warm, cold) in all.filter(|(warm, _)| warm.is_definition) {
        macro_rules! same {
            ($($query:ident)*) => {$(
                let (known, found) =
                    (queries::$query(&fixture.db, warm.input), queries::$query(&db, cold.input));
                assert!(known == found, "{what}: {}", stringify!($query));
            )*};
        }
        same!(space_conflicts written_spaces diagnostics callees convergence own_barriers);
        same!(barrier_blocks summary load_classes);
    }
}

#[test]
fn random_edits_are_followed() {
    let (mut all, mut findings, mut conflicts) = (queries::KeptAnswers::default(), 0, 0);
    for seed in 0..24 {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let text = kernel(rng, 30);
        let mut fixture = Fixture::of(&text, "kernel");
        let kernel = fixture.edited();
        assert!(kernel.is_large(&fixture.db));
        check(&fixture, "the first time");
        for round in 0..60 {
            for _ in 0..rng.random_range(1..3) {
                let _: Result<(), BuildError> =
                    fixture.db.edit(kernel, |transaction| edit(transaction, rng));
            }
            // Sometimes no query runs between two edits.
            if rng.random_bool(0.9) {
                check(&fixture, &format!("seed {seed}, round {round}"));
                findings += queries::diagnostics(&fixture.db, kernel)
                    .as_deref()
                    .into_iter()
                    .flatten()
                    .count();
                let found = queries::space_conflicts(&fixture.db, kernel).as_deref();
                conflicts += found.map_or(0, <[_]>::len);
            }
        }
        all.merge(queries::kept_answers(&fixture.db, kernel));
    }
    // All of it was there to be found, and followed.
    assert!(findings > 1000 && conflicts > 1000, "{findings} findings, {conflicts} conflicts");
    for (name, wanted) in [
        ("effects", 300),
        ("diagnostics", 300),
        ("callees", 20),
        ("written_spaces", 200),
        ("space_conflicts", 300),
        ("load_classes", 100),
    ] {
        let by_query = all.by_query();
        let found = by_query.iter().find(|(query, _)| *query == name).expect("it is kept").1;
        assert!(found.repaired > wanted, "{name}: {found:?}");
    }
}

/// Findings that do not depend on the split block stay.
#[test]
fn findings_follow_splits() {
    let mut all = queries::KeptAnswers::default();
    let mut findings = 0;
    for seed in 0..40 {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let never = if rng.random() { 0.1 } else { 0.0 };
        let text = kernel_where(rng, 30, never);
        let mut fixture = Fixture::of(&text, "kernel");
        let kernel = fixture.edited();
        queries::diagnostics(&fixture.db, kernel);
        for round in 0..30 {
            let _: Result<(), BuildError> = fixture.db.edit(kernel, |edit| {
                let insts = edit.flow().order().iter().flat_map(|&b| edit.body().block_insts(b));
                let insts: Vec<InstId> = insts.collect();
                let place = *insts.choose(rng).expect("there are instructions");
                edit.split_before(place, "").map(drop)
            });
            // With other edits, also in the same question.
            if rng.random_bool(0.3) {
                let _: Result<(), BuildError> =
                    fixture.db.edit(kernel, |transaction| edit(transaction, rng));
            }
            let (db, cold) = fixture.cold();
            let fresh = cold.iter().rfind(|entry| entry.is_definition);
            let fresh = fresh.expect("the kernel is the last").input;
            let found = queries::diagnostics(&fixture.db, kernel);
            assert!(found == queries::diagnostics(&db, fresh), "seed {seed}, round {round}");
            findings += found.as_deref().map_or(0, <[_]>::len);
        }
        all.merge(queries::kept_answers(&fixture.db, kernel));
    }
    let queries::Ways { kept, repaired, solved, .. } = all.findings;
    assert!(kept + repaired > 1000 && solved < 100, "{:?}", all.findings);
    assert!(findings > 1000, "{findings}");
}
