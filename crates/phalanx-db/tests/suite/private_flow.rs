//! Edits of blocks in functions with stack slots: private memory and what follows from it are
//! repaired, and are what they are from scratch.

#[path = "support.rs"]
mod support;

use phalanx_db::queries;
use phalanx_ir::{
    BlockId, BuildError, InstBuilder, InstId, Opcode, Type, Value, edit::Transaction,
};
use phalanx_testing::many_slots;
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use support::Fixture;

/// How many slots of one number there are, besides others.
const SLOTS: usize = 24;

/// What is edited.
#[derive(Clone, Copy)]
struct Kind {
    /// A kernel, or else a function that is called, whose arguments point to objects as well.
    is_kernel: bool,
    /// Whether threads part.
    is_divergent: bool,
    /// Whether blocks lead back, anywhere: where threads part in what comes of that, divergence
    /// does not follow.
    has_cycles: bool,
}

/// A function of blocks that lead anywhere behind them, and some back. What one computes no other
/// reads, so that any block may lead to any other. All works on stack slots: numbers, parts of
/// arrays, pointers, pointers to slots.
fn text(rng: &mut SmallRng, kind: Kind, blocks: usize) -> String {
    let mut text = String::from(
        "target triple = \"nvptx64-nvidia-cuda\"\n\
         declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n\
         declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n\
         define internal void @set(ptr %to, i32 %what) {\n  store i32 %what, ptr %to\n  ret void\n}\n\
         define internal i32 @get(ptr %from) {\n  %v = load i32, ptr %from\n  ret i32 %v\n}\n\
         define LINKAGE void @kernel(ptr %out, i32 %n, i1 %c, ptr %io) {\nentry:\n",
    );
    text = text.replace("LINKAGE", if kind.is_kernel { "ptx_kernel" } else { "" });
    for at in 0..SLOTS {
        text.push_str(&format!("  %a{at} = alloca i32\n"));
    }
    text.push_str(
        "  %z = alloca [4 x i32]\n  %w = alloca [4 x i32]\n  %p = alloca ptr\n  %q = alloca ptr\n  \
         %kept = alloca ptr\n  %held = alloca i32\n  %sink = alloca i32\n  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  \
         store ptr %out, ptr %p\n  store i32 %n, ptr %a1\n  br label %b0\n",
    );
    for at in 0..blocks {
        text.push_str(&format!("b{at}:\n"));
        if at == 7 {
            text.push_str("  store ptr %held, ptr %kept\n");
        }
        for part in 0..rng.random_range(1..4) {
            let (slot, other) = (rng.random_range(0..SLOTS), rng.random_range(0..SLOTS));
            let it = format!("{at}.{part}");
            let one = match rng.random_range(0..16) {
                0..4 => format!(
                    "  %l{it} = load i32, ptr %a{slot}\n  store i32 %l{it}, ptr %a{other}\n"
                ),
                4 if kind.is_divergent => format!("  store i32 %tid, ptr %a{slot}\n"),
                4 => format!("  store i32 {part}, ptr %a{slot}\n"),
                5 => format!("  store i32 {at}, ptr %a{slot}\n  store i32 %n, ptr %a{other}\n"),
                6 => format!(
                    "  %l{it} = load i32, ptr %a{slot}\n  %g{it} = getelementptr i32, ptr %z, i32 2\n  \
                     store i32 %l{it}, ptr %g{it}\n"
                ),
                7 => format!(
                    "  %g{it} = getelementptr i32, ptr %w, i32 1\n  %l{it} = load i32, ptr %g{it}\n  \
                     store i32 %l{it}, ptr %a{slot}\n"
                ),
                8 => {
                    "  call void @llvm.memcpy.p0.p0.i64(ptr %w, ptr %z, i64 16, i1 false)\n".into()
                }
                9 => format!("  %l{it} = load ptr, ptr %p\n  store ptr %l{it}, ptr %q\n"),
                10 => format!("  %l{it} = load ptr, ptr %q\n  store i32 7, ptr %l{it}\n"),
                11 => format!("  call void @set(ptr %a{slot}, i32 %n)\n"),
                12 => format!(
                    "  %l{it} = call i32 @get(ptr %a{slot})\n  store i32 %l{it}, ptr %a{other}\n"
                ),
                13 if !kind.is_kernel => format!(
                    "  %l{it} = load i32, ptr %io\n  store i32 %l{it}, ptr %a{slot}\n  \
                     %g{it} = getelementptr i32, ptr %io, i32 1\n  store i32 {part}, ptr %g{it}\n"
                ),
                14 if !kind.is_kernel => {
                    format!("  %l{it} = load i32, ptr %a{slot}\n  store i32 %l{it}, ptr %io\n")
                }
                // If the store comes first, the slot holds one address.
                _ => format!(
                    "  %l{it} = load ptr, ptr %kept\n  store i32 {part}, ptr %l{it}\n  \
                     %k{it} = load i32, ptr %held\n  store i32 %k{it}, ptr %sink\n"
                ),
            };
            text.push_str(&one);
        }
        let slot = rng.random_range(0..SLOTS);
        text.push_str(&format!(
            "  %t{at} = load i32, ptr %a{slot}\n  %c{at} = icmp slt i32 %t{at}, %n\n"
        ));
        let to = |rng: &mut SmallRng| match kind.has_cycles && rng.random_bool(0.15) {
            true => rng.random_range(at.saturating_sub(6)..=at),
            false => (at + rng.random_range(1..5)).min(blocks),
        };
        let (one, other) = (to(rng), (at + 1).min(blocks));
        text.push_str(&format!("  br i1 %c{at}, label %b{one}, label %b{other}\n"));
    }
    text + &format!("b{blocks}:\n  ret void\n}}\n")
}

/// Asks for all that is compared.
macro_rules! for_each_fact {
    ($check:ident) => {
        $check!(private_memory);
        $check!(address_memory);
        $check!(memory_ssa);
        $check!(divergence);
        $check!(summary);
    };
}

impl Fixture {
    fn ask(&self) {
        let (db, f) = (&self.db, self.edited());
        macro_rules! ask {
            ($query:ident) => {
                queries::$query(db, f)
            };
        }
        for_each_fact!(ask);
    }

    #[track_caller]
    fn check(&self, what: &str) {
        let (db, entries) = self.cold();
        for (warm, cold) in self.module.functions(&self.db).iter().zip(&entries) {
            macro_rules! check {
                ($query:ident) => {
                    let (now, of_cold) = (warm.input, cold.input);
                    let is_equal = queries::$query(&self.db, now) == queries::$query(&db, of_cold);
                    assert!(is_equal, "{what}: {}", stringify!($query));
                };
            }
            for_each_fact!(check);
        }
    }

    /// Blocks with which edits begin: those that can be reached, and more rarely others.
    fn blocks(&self) -> Vec<BlockId> {
        self.edited().flow(&self.db).order().to_vec()
    }
}

/// One edit of blocks. An edit that would break a rule is none.
fn edit_blocks(
    edit: &mut Transaction<'_>,
    rng: &mut SmallRng,
    (block, to): (BlockId, BlockId),
) -> Result<(), BuildError> {
    let insts: Vec<InstId> = edit.body().block_insts(block).collect();
    let edges = edit.flow().successors(block).len();
    let slot = rng.random_range(0..edges.max(1));
    match rng.random_range(0..15) {
        0..3 => edit.split_before(*insts.choose(rng).expect("it has an end"), "").map(drop),
        3..5 => edit.split_edge(block, slot, "").map(drop),
        5..7 => edit.merge_successor(block),
        7..11 => edit.redirect_edge(block, slot, to),
        11 => edit.replace_terminator(block).br(to).map(drop),
        12 => edit.replace_terminator(block).cond_br(Value::arg(2), to, block).map(drop),
        13 => edit.move_block_after(block, to),
        _ => match rng.random_range(0..4) {
            0 => edit.erase_unreachable().map(drop),
            1 => edit.replace_terminator(block).ret_void().map(drop),
            2 => edit.replace_terminator(block).unreachable().map(drop),
            _ => {
                let last = edit.body().terminator(block).expect("it has an end");
                let (head, tail) = (block, edit.split_before(last, "")?);
                edit.replace_terminator(head).cond_br(Value::arg(2), tail, to).map(drop)
            }
        },
    }
}

/// One edit of what has to do with slots.
fn edit_slots(
    edit: &mut Transaction<'_>,
    rng: &mut SmallRng,
    (block, to): (BlockId, BlockId),
) -> Result<(), BuildError> {
    let entry = edit.flow().entry().expect("a body");
    let is_slot = |inst: &InstId| edit.body().inst(*inst).opcode == Opcode::Alloca;
    let slots: Vec<InstId> = edit.body().block_insts(entry).filter(is_slot).collect();
    let is_plain = |inst: &InstId| !edit.body().inst(*inst).opcode.is_terminator();
    let insts: Vec<InstId> = edit.body().block_insts(block).filter(is_plain).collect();
    let last = edit.body().terminator(to).expect("it has an end");
    let Some(&slot) = slots.choose(rng) else { return Ok(()) };
    let inst = *insts.choose(rng).unwrap_or(&last);
    match rng.random_range(0..11) {
        0..3 => edit.before(last).store(Value::arg(1), slot).map(drop),
        3..5 => edit.before(last).load(Type::I32, slot).map(drop),
        5 => edit.erase(inst),
        6 => edit.move_before(inst, last),
        7 => edit.after(inst).clone_of(inst).map(drop),
        8 if rng.random_bool(0.1) => edit.before(last).store(slot, Value::arg(0)).map(drop),
        8 | 9 => {
            let new = edit.after(slot).clone_of(slot)?;
            edit.before(last).store(Value::arg(1), new).map(drop)
        }
        _ => match edit.body().inst(inst).opcode {
            Opcode::Load => edit.set_operand(inst, 0, slot),
            Opcode::Store => edit.set_operand(inst, 1, slot),
            _ => Ok(()),
        },
    }
}

/// How many runs: more than the usual ones where `PHALANX_SLOTS` says so.
fn seeds() -> u64 {
    std::env::var("PHALANX_SLOTS").ok().and_then(|count| count.parse().ok()).unwrap_or(10)
}

#[test]
fn private_memory_follows_edits_of_blocks() {
    let (mut edits, mut ways, mut addresses) = (0, [0; 3], [0; 3]);
    let (mut looks, mut wholes) = (0, 0);
    let mut repairs = queries::Repairs::default();
    for seed in 0..seeds() {
        let mut rng = SmallRng::seed_from_u64(seed);
        let blocks = rng.random_range(45..90);
        let kind = Kind {
            is_kernel: seed % 3 != 0,
            is_divergent: seed % 2 == 0,
            has_cycles: seed % 6 % 5 == 1,
        };
        let mut fixture = Fixture::of(&text(&mut rng, kind, blocks), "kernel");
        fixture.check("at first");
        for round in 0..80 {
            for _ in 0..[1, 1, 1, 2, 4][rng.random_range(0..5)] {
                let blocks = fixture.blocks();
                let near = rng.random_range(0..blocks.len());
                let most = if rng.random_bool(0.6) { 6 } else { blocks.len() };
                let mut to = near + rng.random_range(0..most);
                if kind.has_cycles || rng.random_bool(0.02) {
                    to %= blocks.len();
                }
                let to = to.min(blocks.len() - 1);
                let at = (blocks[near], blocks[to]);
                let is_flow = rng.random_bool(0.7);
                let function = fixture.edited();
                let done = fixture.db.edit(function, |edit| match is_flow {
                    true => edit_blocks(edit, &mut rng, at),
                    false => edit_slots(edit, &mut rng, at),
                });
                edits += u32::from(done.is_ok());
            }
            let before = queries::slot_looks(&fixture.db, fixture.edited());
            fixture.ask();
            let now = queries::slot_looks(&fixture.db, fixture.edited());
            looks += now.in_part.saturating_sub(before.in_part);
            wholes += now.whole.saturating_sub(before.whole);
            fixture.check(&format!("seed {seed}, round {round}"));
        }
        repairs.merge(queries::repairs(&fixture.db, fixture.edited()));
        let found = queries::memory_repairs(&fixture.db, fixture.edited());
        for (sum, found) in [(&mut ways, found.private), (&mut addresses, found.addresses)] {
            let more = [found.solved, found.kept, found.repaired];
            sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
    }
    println!(
        "{edits} edits: {ways:?}, of addresses: {addresses:?}, looks: {looks}, {wholes}; divergence: {repairs:?}"
    );
    let [solved, kept, repaired] = ways;
    assert!(kept + repaired > 10 * solved, "{edits} {ways:?}");
    assert!(looks > 100 && wholes * 10 < looks, "{edits} {looks} {wholes}");
    assert!(repairs.repaired > repairs.solved, "{edits} {repairs:?}");
}

/// A function with some blocks of interest before many others.
fn with_blocks(linkage: &str, blocks: &str) -> Fixture {
    let text = format!(
        "target triple = \"nvptx64-nvidia-cuda\"\n\
         define {linkage} void @kernel(ptr %out, i32 %n, i1 %c, ptr %io) {{\nentry:\n  \
         %x = alloca i32\n{}{blocks}{}s30:\n  ret void\n}}\n",
        many_slots::slots(30),
        many_slots::blocks(30, &["%n"]),
    );
    let mut fixture = Fixture::of(&text, "kernel");
    fixture.check("at first");
    // Retained state stays retained at the next query.
    for other in [4, 5, 4] {
        let at = fixture.named("d9");
        let other = Value::constant(fixture.context.const_i32(other));
        fixture.edit(|edit| edit.set_operand(at, 1, other));
        fixture.ask();
    }
    fixture
}

/// The block of an instruction.
fn block(fixture: &Fixture, name: &str) -> BlockId {
    fixture.edited().body(&fixture.db).block_of(fixture.named(name)).expect("it is there")
}

/// A block that keeps its place and what it holds is led to from elsewhere alone, and so dominated
/// by blocks that are no other ones either.
#[test]
fn another_version_reaches_a_block_that_was_not_edited() {
    let blocks = "
  br i1 %c, label %a, label %over
a:
  %na = add i32 %n, 1
  br label %b
over:
  store i32 %n, ptr %x
  br label %j
j:
  %nj = add i32 %n, 2
  br label %t
t:
  unreachable
b:
  %l = load i32, ptr %x
  %cl = icmp slt i32 %l, 5
  br i1 %cl, label %s0, label %s1
";
    let mut fixture = with_blocks("ptx_kernel", blocks);
    let (a, j, b) = (block(&fixture, "na"), block(&fixture, "nj"), block(&fixture, "l"));
    let before = queries::memory_repairs(&fixture.db, fixture.edited()).private;
    fixture.edit(|edit| {
        edit.replace_terminator(a).unreachable()?;
        edit.redirect_edge(j, 0, b)
    });
    fixture.check("led to from elsewhere");
    let now = queries::memory_repairs(&fixture.db, fixture.edited()).private;
    assert_eq!((now.repaired, now.solved), (before.repaired + 1, before.solved));
}

/// A return comes to a block that is led to from elsewhere: what an argument points to is left as
/// that has it.
#[test]
fn another_version_reaches_a_return_that_was_split_off() {
    let blocks = "
  br i1 %c, label %go, label %s0
go:
  %cn = icmp slt i32 %n, 5
  br i1 %cn, label %a, label %b
a:
  store i32 1, ptr %io
  %na = add i32 %n, 1
  ret void
b:
  store i32 %n, ptr %io
  %nb = add i32 %n, 2
  br label %t
t:
  unreachable
";
    let mut fixture = with_blocks("", blocks);
    let (a, b) = (block(&fixture, "na"), block(&fixture, "nb"));
    fixture.edit(|edit| {
        let ret = edit.body().terminator(a).expect("it has an end");
        let tail = edit.split_before(ret, "")?;
        edit.replace_terminator(a).unreachable()?;
        edit.redirect_edge(b, 0, tail)
    });
    fixture.check("split off");
}
