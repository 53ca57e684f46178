//! Edits of blocks and edges: what is known of pointers, accesses, calls and loads follows, and is
//! what a new database finds.

#[path = "flow.rs"]
mod flow;
#[path = "support.rs"]
mod support;

use flow::{complete, edit_flow};
use phalanx_analysis::stable::Assumptions;
use phalanx_core::barriers::BarrierModel;
use phalanx_db::queries::{self, KeptAnswers};
use phalanx_ir::{BuildError, InstBuilder, InstId, Type, Value, edit::Transaction};
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use support::Fixture;

/// A kernel that works in rounds, of which every other one is a loop: with pointers and numbers
/// that come from the rounds before or from stack slots, barriers, and calls of a function that
/// writes.
fn text(rounds: usize) -> String {
    let mut text = String::from(
        r#"
target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [64 x i32] undef
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

define internal void @puts(ptr %p, i32 %n) {
  store i32 %n, ptr %p
  ret void
}

define ptx_kernel void @kernel(ptr addrspace(1) noalias %p, ptr %q, i32 %n, i1 %flag) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %near = addrspacecast ptr addrspace(3) @tile to ptr
  %slot = alloca i32
  %held = alloca ptr
  store ptr %near, ptr %held
"#,
    );
    for at in 0..rounds {
        let is_loop = at % 2 == 1;
        let (begin, last) = match is_loop {
            true => (
                format!(
                    "  %t{at} = phi i32 [ %tid, %x{0} ], [ %u{at}, %e{at} ]\n  \
                     %j{at} = phi ptr [ %near, %x{0} ], [ %f{at}, %e{at} ]\n",
                    at - 1
                ),
                format!("br i1 %d{at}, label %a{at}, label %x{at}"),
            ),
            false => (
                format!(
                    "  %t{at} = add i32 %tid, {at}\n  %j{at} = getelementptr i32, ptr %q, i32 %n\n"
                ),
                format!("br label %x{at}"),
            ),
        };
        let call = match at % 8 {
            2 => format!(
                "  %z{at} = load i32, ptr addrspace(1) %g{at}\n  \
                 call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
            ),
            5 => format!("  call void @puts(ptr %j{at}, i32 %t{at})\n"),
            7 => "  fence acquire\n".to_owned(),
            _ => String::new(),
        };
        text.push_str(&format!(
            "  br label %a{at}\na{at}:\n{begin}  \
             %g{at} = getelementptr i32, ptr addrspace(1) %p, i32 %t{at}\n  \
             %l{at} = load i32, ptr addrspace(1) %g{at}\n  store i32 %l{at}, ptr %slot\n  \
             %c{at} = icmp slt i32 %l{at}, %n\n  br i1 %c{at}, label %b{at}, label %e{at}\n\
             b{at}:\n{call}  %k{at} = load ptr, ptr %held\n  store i32 %t{at}, ptr %k{at}\n  \
             br label %e{at}\n\
             e{at}:\n  %f{at} = phi ptr [ %j{at}, %a{at} ], [ %k{at}, %b{at} ]\n  \
             %y{at} = load i32, ptr %slot\n  %v{at} = load i32, ptr %f{at}\n  \
             store ptr %f{at}, ptr %held\n  %u{at} = add nsw i32 %t{at}, 64\n  \
             %d{at} = icmp ult i32 %y{at}, %v{at}\n  {last}\nx{at}:\n"
        ));
    }
    text.push_str("  ret void\n}\n");
    text
}

/// A function that works in rounds with what it is given pointers to, and returns early from some.
fn given(rounds: usize) -> String {
    let mut text = String::from(
        r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define i32 @given(ptr %p, ptr %q, i32 %n, i1 %flag) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %q1 = getelementptr i32, ptr %q, i32 1
  %slot = alloca i32
  store i32 %n, ptr %slot
"#,
    );
    for at in 0..rounds {
        let (put, early) = match at % 6 {
            1 => ("store i32 %t{at}, ptr %q1", "br i1 %flag, label %r{at}, label %e{at}"),
            3 => ("store i32 %n, ptr %q", "br i1 %c{at}, label %r{at}, label %e{at}"),
            5 => ("store i32 %y{at}, ptr %slot", "br label %e{at}"),
            _ => ("store i32 %v{at}, ptr %q", "br label %e{at}"),
        };
        let (begin, last) = match at % 4 {
            2 => (
                "%t{at} = phi i32 [ %n, %x{before} ], [ %u{at}, %e{at} ]",
                "br i1 %d{at}, label %a{at}, label %x{at}",
            ),
            _ => ("%t{at} = add i32 %tid, {at}", "br label %x{at}"),
        };
        let part = if at % 3 == 0 { "%p" } else { "%q1" };
        let round = format!(
            "  br label %a{{at}}\na{{at}}:\n  {begin}\n  %v{{at}} = load i32, ptr {part}\n  \
             %c{{at}} = icmp slt i32 %v{{at}}, %t{{at}}\n  br i1 %c{{at}}, label %b{{at}}, label %e{{at}}\n\
             b{{at}}:\n  %y{{at}} = load i32, ptr %slot\n  {put}\n  {early}\n\
             r{{at}}:\n  store i32 {{at}}, ptr %p\n  ret i32 %y{{at}}\n\
             e{{at}}:\n  %w{{at}} = load i32, ptr %q\n  store i32 %w{{at}}, ptr %p\n  \
             %u{{at}} = add i32 %t{{at}}, 1\n  %d{{at}} = icmp ult i32 %u{{at}}, %n\n  {last}\nx{{at}}:\n"
        );
        let numbered = round.replace("{at}", &at.to_string());
        text.push_str(&numbered.replace("{before}", &at.wrapping_sub(1).to_string()));
    }
    text.push_str("  ret i32 0\n}\n");
    text
}

const ASSUMPTIONS: [Assumptions; 2] = [
    Assumptions { barriers: None, race_free: true },
    Assumptions { barriers: Some(BarrierModel::Lenient), race_free: true },
];

impl Fixture {
    fn rounds(count: usize) -> Self {
        Fixture::of(&text(count), "kernel")
    }

    /// Whether everything is what a new database finds.
    #[track_caller]
    fn check(&self, what: &str) {
        self.check_some(what, || true);
    }

    /// The same of what is asked for, one question after the other. What is not falls behind.
    #[track_caller]
    fn check_some(&self, what: &str, mut is_asked: impl FnMut() -> bool) {
        let (db, entries) = self.cold();
        for (warm, cold) in self.module.functions(&self.db).iter().zip(&entries) {
            let (warm, cold) = (warm.input, cold.input);
            macro_rules! same {
                ($($query:ident)*) => {
                    $(if is_asked() {
                        let now = queries::$query(&self.db, warm);
                        assert!(now == queries::$query(&db, cold), "{what}: {}", stringify!($query));
                    })*
                };
            }
            same!(memory_kinds pointer_flow address_memory private_memory memory_ssa);
            same!(memory_accesses load_classes space_conflicts written_spaces own_barriers callees);
            same!(divergence diagnostics barrier_blocks convergence summary classic_memory_ssa);
            for assumptions in ASSUMPTIONS {
                let loads = |db, function| queries::stable_loads(db, function, assumptions);
                if is_asked() {
                    assert!(loads(&self.db, warm) == loads(&db, cold), "{what}: {assumptions:?}");
                }
            }
        }
    }

    fn answers(&self) -> KeptAnswers {
        queries::kept_answers(&self.db, self.edited())
    }
}

/// One random edit of an instruction: replaces an operand, or inserts, removes or moves the
/// instruction.
fn edit_inst(edit: &mut Transaction<'_>, rng: &mut SmallRng) -> Result<(), BuildError> {
    let block = *edit.flow().order().choose(rng).expect("there is an entry");
    let insts: Vec<InstId> = edit.body().block_insts(block).collect();
    let (inst, other) = (*insts.choose(rng).expect("not empty"), *insts.choose(rng).expect("so"));
    match rng.random_range(0..5) {
        0 | 1 => {
            let count = edit.body().operands(inst).len();
            let operands = edit.body().operands(other).to_vec();
            match (count, operands.choose(rng)) {
                (1.., Some(&value)) => {
                    edit.set_operand(inst, rng.random_range(0..count) as u32, value)
                }
                _ => Ok(()),
            }
        }
        2 => edit.after(inst).clone_of(inst).map(drop),
        3 => edit.erase(inst),
        _ => edit.move_before(inst, other),
    }
}

/// How many runs: more than the usual ones where `PHALANX_FLOWS` says so.
fn seeds() -> u64 {
    std::env::var("PHALANX_FLOWS").ok().and_then(|count| count.parse().ok()).unwrap_or(12)
}

#[test]
fn facts_follow_random_edits_of_the_flow() {
    let mut edits = 0;
    let (mut answers, mut memory) = (KeptAnswers::default(), queries::MemoryRepairs::default());
    let (mut accesses, mut kinds) = (queries::Ways::default(), [0; 2]);
    for seed in 0..seeds() {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut fixture = Fixture::rounds(rng.random_range(16..40));
        let (function, is_tidy) = (fixture.edited(), seed % 2 == 0);
        fixture.check("at first");
        for round in 0..60 {
            let count = [1, 1, 1, 3][rng.random_range(0..4)];
            for _ in 0..count {
                let of_flow = rng.random_bool(0.8);
                let done: Result<(), BuildError> =
                    fixture.db.edit(function, |edit| match of_flow {
                        true => {
                            edit_flow(edit, Value::arg(3), &mut rng)?;
                            // Most passes leave nothing behind that is not reached.
                            if is_tidy { edit.erase_unreachable().map(drop) } else { Ok(()) }
                        }
                        false => edit_inst(edit, &mut rng),
                    });
                edits += usize::from(done.is_ok());
            }
            let is_all = rng.random_bool(0.5);
            let mut is_asked = || is_all || rng.random_bool(0.2);
            fixture.check_some(&format!("seed {seed}, round {round}"), &mut is_asked);
        }
        answers.merge(fixture.answers());
        memory.merge(queries::memory_repairs(&fixture.db, function));
        accesses.merge(queries::access_repairs(&fixture.db, function));
        let found = queries::kind_repairs(&fixture.db, function);
        kinds = [kinds[0] + found.solved, kinds[1] + found.repaired];
    }
    println!("{edits} edits: {answers:?}, {memory:?}, {accesses:?}, kinds {kinds:?}");
    assert!(edits > 300, "{edits}");
    let queries::MemoryRepairs { private, addresses, hssa, classic, pointers } = memory;
    for ways in [private, addresses, hssa, classic, pointers] {
        assert!(ways.kept + ways.repaired > 2 * ways.solved, "{memory:?}");
    }
    assert!(accesses.repaired > 60 && kinds[1] > kinds[0], "{accesses:?} {kinds:?}");
    for (query, found) in answers.by_query() {
        // Diagnostics of barriers depend on the whole graph, and no pointer is followed.
        let is_followed = !matches!(query, "diagnostics" | "through");
        assert!(!is_followed || found.kept + found.repaired > found.solved, "{query}: {answers:?}");
    }
}

/// What a function does through pointers, with several returns.
#[test]
fn what_is_done_through_pointers_follows_random_edits_of_the_flow() {
    let (mut edits, mut found) = (0, queries::Ways::default());
    for seed in 0..seeds() {
        let mut rng = SmallRng::seed_from_u64(1000 + seed);
        let mut fixture = Fixture::of(&given(rng.random_range(24..48)), "given");
        let function = fixture.edited();
        for round in 0..60 {
            let of_flow = rng.random_bool(0.7);
            let done: Result<(), BuildError> = fixture.db.edit(function, |edit| match of_flow {
                true => {
                    edit_flow(edit, Value::arg(3), &mut rng)?;
                    edit.erase_unreachable().map(drop)
                }
                false => edit_inst(edit, &mut rng),
            });
            edits += usize::from(done.is_ok());
            if rng.random_bool(0.7) {
                let (db, entries) = fixture.cold();
                let is_edited =
                    |at: &usize| fixture.module.functions(&fixture.db)[*at].input == function;
                let at = (0..entries.len()).find(is_edited).expect("it is there");
                let new = queries::summary(&db, entries[at].input);
                let now = queries::summary(&fixture.db, function);
                assert!(now == new, "seed {seed}, round {round}: {now:#?} {new:#?}");
            }
        }
        let through = fixture.answers().through;
        found.kept += through.kept;
        found.repaired += through.repaired;
        found.solved += through.solved;
    }
    println!("{edits} edits: {found:?}");
    assert!(edits > 300 && found.repaired > found.solved, "{edits} {found:?}");
}

/// A loop is solved from its instructions, which are the same in two blocks.
#[test]
fn a_split_in_a_loop_leaves_it_solved() {
    let mut fixture = Fixture::rounds(20);
    let sum = fixture.named("u4");
    for number in [3, 4, 3] {
        let other = Value::constant(fixture.context.const_i32(number));
        fixture.edit(|edit| edit.set_operand(sum, 1, other));
        fixture.check("a sum of others");
    }
    let ways = |fixture: &Fixture| {
        let found = queries::access_repairs(&fixture.db, fixture.edited());
        (found.solved, found.repaired)
    };
    let (solved, repaired) = ways(&fixture);
    let at = fixture.named("k5");
    let block = fixture.edited().body(&fixture.db).block_of(at).expect("it is in a block");
    fixture.edit(|edit| edit.split_before(at, ""));
    fixture.check("the loop has a block more");
    assert_eq!(ways(&fixture), (solved, repaired + 1));
    fixture.edit(|edit| edit.merge_successor(block));
    fixture.check("as it was");
    assert_eq!(ways(&fixture), (solved, repaired + 2));
}

/// What was before an acquire is behind it once an edge leads back.
#[test]
fn a_way_back_to_before_a_barrier() {
    let mut fixture = Fixture::rounds(20);
    let loads = |fixture: &Fixture| {
        let assumptions = Assumptions { barriers: None, race_free: true };
        queries::stable_loads(&fixture.db, fixture.edited(), assumptions).len()
    };
    fixture.check("at first");
    let before = loads(&fixture);
    let block_of = |fixture: &Fixture, name: &str| {
        fixture.edited().body(&fixture.db).block_of(fixture.named(name)).expect("it is in a block")
    };
    let (from, own, to) =
        (block_of(&fixture, "d3"), block_of(&fixture, "t3"), block_of(&fixture, "t1"));
    fixture.edit(|edit| {
        edit.redirect_edge(from, 0, to)?;
        complete(edit, from, to)
    });
    fixture.check("from the fourth round back to the second");
    assert!(loads(&fixture) < before);
    fixture.edit(|edit| {
        edit.redirect_edge(from, 0, own)?;
        complete(edit, from, own)
    });
    fixture.check("there and back");
    assert_eq!(loads(&fixture), before);
    let found = fixture.answers().race_free;
    assert_eq!((found.repaired, found.solved), (4, 2), "with barriers and without");
}

/// What is before an acquire in its block stays before it where both come to stand in another
/// block.
#[test]
fn a_split_before_a_load_and_a_barrier() {
    let mut fixture = Fixture::rounds(20);
    let before = fixture.named("z2");
    let block = fixture.edited().body(&fixture.db).block_of(before).expect("it is in a block");
    fixture.check("at first");
    for _ in 0..2 {
        fixture.edit(|edit| edit.split_before(before, ""));
        fixture.check("the load begins a block");
        fixture.edit(|edit| edit.merge_successor(block));
        fixture.check("as it was");
    }
    let found = fixture.answers().race_free;
    assert_eq!((found.kept, found.solved), (8, 2), "with barriers and without");
}

/// An acquire that moves between blocks of which only instructions were edited, while another block
/// is split.
#[test]
fn a_barrier_that_moves_while_a_block_is_split() {
    let mut fixture = Fixture::rounds(20);
    fixture.check("at first");
    let (old, new, split) = (fixture.named("k2"), fixture.named("k0"), fixture.named("y10"));
    fixture.edit(|edit| edit.split_before(split, "").map(drop));
    fixture.check("a block is split");
    let barrier = fixture.edited().body(&fixture.db).prev(old).expect("it is behind it");
    for at in [new, old] {
        fixture.edit(|edit| {
            edit.move_before(barrier, at)?;
            edit.split_before(split, "").map(drop)
        });
        fixture.check("there and back");
    }
}

/// What came round a loop through a phi that is new is known to have come so, whatever the graph is
/// by then.
#[test]
fn a_pointer_comes_round_a_loop_no_longer() {
    let mut fixture = Fixture::rounds(20);
    fixture.check("at first");
    let [t, near, last, split] = ["t3", "near", "d3", "y10"].map(|name| fixture.named(name));
    fixture.edit(|edit| edit.split_before(split, ""));
    fixture.check("it is followed");
    let way = |fixture: &Fixture| {
        let found = queries::kind_repairs(&fixture.db, fixture.edited());
        (found.solved, found.repaired)
    };
    let before = fixture.edited().body(&fixture.db).phi_incoming(t).next().expect("two ways").1;
    let choice = fixture.edit(|edit| {
        let phi = edit.before(t).phi(Type::PTR)?;
        let choice = edit.before(last).select(Value::arg(3), phi, Value::arg(1))?;
        let inst = phi.as_inst().expect("it is new");
        let from = edit.body().block_of(last).expect("it is in a block");
        edit.add_phi_input(inst, Value::inst(near), before)?;
        edit.add_phi_input(inst, choice, from)?;
        edit.before(last).load(Type::I32, phi)?;
        Ok::<_, BuildError>(choice.as_inst().expect("it is no constant"))
    });
    fixture.check("an address of the device comes in");
    fixture.edit(|edit| edit.split_before(split, ""));
    fixture.check("another graph");
    let before = way(&fixture);
    fixture.edit(|edit| edit.set_operand(choice, 2, Value::inst(near)));
    fixture.check("and no longer");
    assert_eq!(
        way(&fixture),
        (before.0, before.1 + 1),
        "what has come round the loop is forgotten"
    );
}

/// A load from a new address: there are no old facts about that address.
#[test]
fn a_load_reads_an_address_that_is_new() {
    let mut fixture = Fixture::rounds(20);
    fixture.check("at first");
    let load = fixture.named("l4");
    for at in 0..3 {
        let index = Value::constant(fixture.context.const_i32(at));
        fixture.edit(|edit| {
            let new = edit.before(load).gep(Type::I32, Value::arg(0), &[index])?;
            edit.set_operand(load, 0, new)
        });
        fixture.check("another address");
    }
}
