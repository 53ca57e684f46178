//! Edits of the control flow: the SSA forms of the memory of a large function follow them, and are
//! those from scratch.

#[path = "support.rs"]
mod support;

use phalanx_db::queries;
use phalanx_ir::{
    BlockId, BuildError, InstBuilder, InstId, Opcode, Type, Value, edit::Transaction,
    inst::InstFlags,
};
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use support::Fixture;

const HEAD: &str = r#"
target triple = "nvptx64-nvidia-cuda"
@lds = internal addrspace(3) global [64 x i32] undef
@fixed = internal addrspace(1) constant [4 x i32] zeroinitializer
declare void @outside(ptr)
declare void @reads(ptr readonly) memory(argmem: read)
declare void @llvm.nvvm.barrier0()

define internal void @leaf(ptr addrspace(3) %to, i32 %n) {
  store i32 %n, ptr addrspace(3) %to
  ret void
}

define ptx_kernel void @kernel(ptr addrspace(1) noalias %out, ptr %p, i32 %n, i1 %c) {
entry:
  %slot = alloca [4 x i32]
  %kept = alloca ptr
  %part = getelementptr i32, ptr %slot, i32 1
  %deep = getelementptr i32, ptr %part, i32 1
  %s = addrspacecast ptr addrspace(3) @lds to ptr
  %g = addrspacecast ptr addrspace(1) %out to ptr
  %d = addrspacecast ptr addrspace(1) %out to ptr
"#;

/// What the blocks of random programs have; `#` is a number.
const ACCESSES: [&str; 19] = [
    "  store i32 %n, ptr addrspace(1) %out\n",
    "  %a# = load i32, ptr addrspace(1) %out\n",
    "  store i32 %n, ptr addrspace(3) @lds\n",
    "  %b# = load i32, ptr addrspace(3) @lds\n",
    "  store i32 %n, ptr %s\n  %c# = load i32, ptr %s\n",
    "  %d# = load i32, ptr %p\n",
    "  store i32 %n, ptr %p\n",
    "  %e# = getelementptr i32, ptr addrspace(1) @fixed, i32 %n\n  %f# = load i32, ptr addrspace(1) %e#\n",
    "  store i32 %n, ptr %slot\n  %g# = load i32, ptr %slot\n",
    "  %h# = load i32, ptr %deep\n",
    "  call void @reads(ptr %deep)\n",
    "  call void @reads(ptr %g)\n",
    "  call void @leaf(ptr addrspace(3) @lds, i32 %n)\n",
    "  store ptr %s, ptr %kept\n",
    "  %i# = load ptr, ptr %kept\n  store i32 %n, ptr %i#\n",
    "  %j# = atomicrmw add ptr addrspace(1) %out, i32 %n monotonic\n",
    "  %k# = load volatile i32, ptr addrspace(3) @lds\n",
    "  call void @llvm.nvvm.barrier0()\n",
    "  call void @outside(ptr %d)\n",
];

/// A kernel of blocks that lead to some near and few anywhere, with some of these accesses.
fn text(rng: &mut SmallRng) -> String {
    let blocks = rng.random_range(60..140);
    let some = rng.random_range(2..ACCESSES.len());
    let most = [0, 1, 3][rng.random_range(0..3)];
    let mut text = format!("{HEAD}  br label %b0\n");
    for at in 0..blocks {
        text.push_str(&format!("b{at}:\n"));
        for copy in 0..rng.random_range(0..=most) {
            let access = ACCESSES[..some].choose(rng).expect("there are some");
            text.push_str(&access.replace('#', &format!("{at}x{copy}")));
        }
        let near = |rng: &mut SmallRng| match rng.random_range(0..20) {
            0 => rng.random_range(0..blocks),
            1 | 2 => at - at.min(rng.random_range(0..6)),
            _ => (at + rng.random_range(1..5)).min(blocks - 1),
        };
        let (one, other) = (near(rng), near(rng));
        text.push_str(&match rng.random_range(0..12) {
            _ if at + 1 == blocks => "  ret void\n".into(),
            0 => "  ret void\n".into(),
            1 => format!(
                "  switch i32 %n, label %b{one} [ i32 1, label %b{other} i32 2, label %b{one} ]\n"
            ),
            2..6 => format!("  br label %b{one}\n"),
            _ => format!("  br i1 %c, label %b{one}, label %b{other}\n"),
        });
    }
    // Unreachable code, which makes the function large enough.
    text.push_str("rest:\n  %w0 = add i32 %n, 1\n");
    for at in 1..256 {
        text.push_str(&format!("  %w{at} = add i32 %w{}, %n\n", at - 1));
    }
    text + "  ret void\n}\n"
}

impl Fixture {
    fn random(rng: &mut SmallRng) -> Self {
        Fixture::of(&text(rng), "kernel")
    }

    /// Whether all facts are those from scratch.
    #[track_caller]
    fn check(&self, what: &str) {
        let (db, entries) = self.cold();
        for (warm, cold) in self.module.functions(&self.db).iter().zip(&entries) {
            let [now, then] = [(&self.db, warm.input), (&db, cold.input)]
                .map(|(db, f)| (queries::memory_ssa(db, f), queries::classic_memory_ssa(db, f)));
            assert!(now.0 == then.0, "{what}: memory_ssa");
            assert!(now.1 == then.1, "{what}: classic_memory_ssa");
        }
    }

    fn found(&self) -> [queries::Ways; 2] {
        let repairs = queries::memory_repairs(&self.db, self.edited());
        [repairs.hssa, repairs.classic]
    }
}

/// One edit of the flow.
fn edit_flow(
    edit: &mut Transaction<'_>,
    rng: &mut SmallRng,
    (condition, number): (Value, Value),
) -> Result<(), BuildError> {
    let order: Vec<BlockId> = edit.flow().order().to_vec();
    if order.len() < 8 {
        // There is little left that can be edited.
        return edit.clone_blocks(&order[1..]).map(drop);
    }
    // Mostly what is near each other.
    let at = rng.random_range(0..order.len());
    let near = (at + rng.random_range(0..9)).saturating_sub(4).min(order.len() - 1);
    // Nothing leads to the entry.
    let (block, to) = (order[at], order[near.max(1)]);
    let any = *order[1..].choose(rng).expect("there are blocks");
    let count = edit.flow().successors(block).len();
    let index = rng.random_range(0..count.max(1));
    match rng.random_range(0..18) {
        0..3 => {
            let insts: Vec<InstId> = edit.body().block_insts(block).collect();
            edit.split_before(*insts.choose(rng).expect("it has a terminator"), "").map(drop)
        }
        3 => edit.split_edge(block, index, "").map(drop),
        4..6 => {
            let is_only = |block: &&BlockId| match edit.flow().successors(**block) {
                [next] => edit.flow().in_degree(*next) == 1,
                _ => false,
            };
            match order.iter().filter(is_only).copied().collect::<Vec<_>>().choose(rng) {
                Some(&block) => edit.merge_successor(block),
                None => Ok(()),
            }
        }
        6..9 => edit.redirect_edge(block, index, to),
        9 => edit.redirect_edge(block, index, any),
        10 => edit.replace_terminator(block).cond_br(condition, to, any).map(drop),
        11 | 12 => match *edit.flow().successors(block) {
            // What leads away is kept.
            [next] => edit.replace_terminator(block).cond_br(condition, to, next).map(drop),
            [one, other] => {
                let next = if rng.random_bool(0.5) { one } else { other };
                edit.replace_terminator(block).br(next).map(drop)
            }
            _ => Ok(()),
        },
        13 => match rng.random_range(0..4) {
            0 => edit.replace_terminator(block).ret_void().map(drop),
            1 => edit.replace_terminator(block).unreachable().map(drop),
            _ => edit.replace_terminator(block).switch(number, any, &[]).map(drop),
        },
        14 => {
            // Most of what is not reached stays: it may be reached again.
            if rng.random_bool(0.1) { edit.erase_unreachable().map(drop) } else { Ok(()) }
        }
        15 => {
            let new = edit.create_block("", Some(block))?;
            edit.at_end(new).br(to)?;
            edit.redirect_edge(block, index, new)
        }
        16 => edit.move_block_after(block, any),
        _ => edit.clone_blocks(&[block]).map(drop),
    }
}

/// One edit of instructions that access memory.
fn edit_access(edit: &mut Transaction<'_>, rng: &mut SmallRng) -> Result<(), BuildError> {
    let body = edit.body();
    let order = edit.flow().order();
    let all: Vec<InstId> = order.iter().flat_map(|&block| body.block_insts(block)).collect();
    let is_access = |inst: &InstId| {
        let opcode = body.inst(*inst).opcode;
        opcode.is_call() || matches!(opcode, Opcode::Load | Opcode::Store | Opcode::AtomicRmw)
    };
    let is_step = |inst: &InstId| {
        matches!(body.inst(*inst).opcode, Opcode::GetElementPtr | Opcode::AddrSpaceCast)
    };
    let steps: Vec<InstId> = all.iter().copied().filter(is_step).collect();
    let all: Vec<InstId> = all.into_iter().filter(is_access).collect();
    let pick = |rng: &mut SmallRng| all.choose(rng).copied();
    let (Some(inst), Some(other), Some(&step), Some(&address)) =
        (pick(rng), pick(rng), steps.choose(rng), steps.choose(rng))
    else {
        return Ok(());
    };
    match rng.random_range(0..8) {
        0 => edit.after(inst).clone_of(inst).map(drop),
        1 | 2 => edit.erase(inst),
        3 => edit.move_before(inst, other),
        4 => edit.before(inst).load(Type::I32, address).map(drop),
        5 => {
            let position = u32::from(edit.body().inst(inst).opcode == Opcode::Store);
            edit.set_operand(inst, position, address)
        }
        6 => edit.set_operand(step, 0, address),
        _ => {
            let mut flags = edit.body().inst(inst).flags;
            flags.0 ^= InstFlags::VOLATILE.0;
            edit.set_flags(inst, flags)
        }
    }
}

/// How many runs: more than the usual ones where `PHALANX_MEMORY_FLOW` says so.
fn seeds() -> u64 {
    std::env::var("PHALANX_MEMORY_FLOW").ok().and_then(|count| count.parse().ok()).unwrap_or(30)
}

#[test]
fn both_forms_follow_random_edits_of_the_flow() {
    let (mut flows, mut accesses, mut solved, mut repaired) = (0, 0, [0; 2], [0; 2]);
    for seed in 0..seeds() {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let mut f = Fixture::random(rng);
        f.check("at first");
        let (kernel, before) = (f.edited(), f.found());
        let operands = (Value::arg(3), Value::arg(2));
        for round in 0..40 {
            let flow = rng.random_range(1..=3);
            // One that cannot be done is none.
            let done: Result<usize, BuildError> = f.db.edit(kernel, |edit| {
                Ok((0..flow).filter(|_| edit_flow(edit, rng, operands).is_ok()).count())
            });
            flows += done.unwrap_or(0);
            if rng.random_bool(0.4) {
                let done = f.db.edit(kernel, |edit| edit_access(edit, rng));
                accesses += usize::from(done.is_ok());
            }
            f.check(&format!("seed {seed}, round {round}"));
        }
        for (at, (now, before)) in f.found().into_iter().zip(before).enumerate() {
            solved[at] += now.solved - before.solved;
            repaired[at] += now.repaired - before.repaired;
        }
    }
    println!(
        "{flows} edits of the flow, {accesses} of accesses: {solved:?} solved, {repaired:?} repaired"
    );
    assert!(flows > 1_000 && accesses > 200, "{flows} {accesses}");
    assert!((0..2).all(|at| repaired[at] > 10 * solved[at]), "{solved:?} {repaired:?}");
}

/// A loop with a branch in it, and what is large behind it.
fn looping() -> String {
    let mut text = format!(
        "{HEAD}  br label %head
head:
  %l = load i32, ptr addrspace(1) %out
  br i1 %c, label %then, label %join
then:
  store i32 %n, ptr addrspace(3) @lds
  %t = add i32 %l, 1
  br label %join
join:
  %m = load i32, ptr addrspace(3) @lds
  call void @reads(ptr %deep)
  br i1 %c, label %head, label %exit
exit:
  store i32 %n, ptr addrspace(1) %out
  %w0 = add i32 %n, 1
"
    );
    for at in 1..256 {
        text.push_str(&format!("  %w{at} = add i32 %w{}, %n\n", at - 1));
    }
    text + "  ret void\n}\n"
}

type Edit = fn(&mut Transaction<'_>, [BlockId; 5], [InstId; 2]) -> Result<(), BuildError>;

/// Edits, one after another; each is followed.
const EDITS: &[(&str, Edit)] = &[
    ("a block is split before an access", |edit, _, [load, _]| {
        edit.split_before(load, "").map(drop)
    }),
    ("and merged", |edit, [_, head, ..], _| edit.merge_successor(head)),
    ("nobody comes to a definition in the loop", |edit, [_, head, _, join, _], _| {
        edit.redirect_edge(head, 0, join)
    }),
    ("and one does", |edit, [_, head, then, ..], _| edit.redirect_edge(head, 0, then)),
    ("the loop ends", |edit, [.., join, exit], _| edit.redirect_edge(join, 0, exit)),
    ("and is one", |edit, [_, head, _, join, _], _| edit.redirect_edge(join, 0, head)),
    ("the loop has two entries", |edit, [entry, head, _, join, _], _| {
        edit.replace_terminator(entry).cond_br(Value::arg(3), head, join).map(drop)
    }),
    ("and the function no end", |edit, [.., exit], _| {
        edit.replace_terminator(exit).br(exit).map(drop)
    }),
    ("addresses stand in another block", |edit, _, [_, step]| {
        edit.split_before(step, "").map(drop)
    }),
];

#[test]
fn each_kind_of_edit_is_followed() {
    let mut f = Fixture::of(&looping(), "kernel");
    let order = f.edited().flow(&f.db).order().to_vec();
    let blocks = <[BlockId; 5]>::try_from(order).expect("there are five");
    let insts = [f.named("l"), f.named("deep")];
    f.check("at first");
    for (what, edit) in EDITS {
        let before = f.found();
        f.edit(|transaction| edit(transaction, blocks, insts));
        f.check(what);
        for (now, before) in f.found().iter().zip(&before) {
            let count = (now.solved - before.solved, now.repaired - before.repaired);
            assert_eq!(count, (0, 1), "{what}");
        }
    }
}
