//! The cost of each fact after each kind of edit.

use super::common::{percentiles, read, us};
use super::operands::ASSUMED;
use phalanx::db::{Database, FunctionInput, queries};
use phalanx::ir::{BuildError, InstId, Opcode, Value};
use phalanx::{FunctionId, Session};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// A kernel that works in rounds: it passes loaded values through a stack slot, sums them up,
/// stores them in workgroup memory, and writes the result under a condition.
fn mixed(size: usize) -> String {
    let mut text = String::from(
        "target triple = \"nvptx64-nvidia-cuda\"\n\
         @tile = internal addrspace(3) global [64 x i32] undef\n\
         declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\ndeclare void @llvm.nvvm.barrier0()\n\
         declare i32 @llvm.ctpop.i32(i32)\n\
         define ptx_kernel void @f(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias %q, i32 %n) {\n\
         entry:\n  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n",
    );
    let rounds = size / 20;
    for slot in 0..rounds.div_ceil(16) {
        text.push_str(&format!("  %slot{slot} = alloca i32\n"));
    }
    text.push_str("  br label %a0\n");
    for at in 0..rounds {
        let index = ["%n", "%tid"][usize::from(at % 4 == 3)];
        let slot = at / 16;
        text.push_str(&format!(
            "a{at}:\n  %i{at} = add i32 {index}, {at}\n  \
             %g{at} = getelementptr i32, ptr addrspace(1) %p, i32 %i{at}\n  \
             %l{at} = load i32, ptr addrspace(1) %g{at}\n  store i32 %l{at}, ptr %slot{slot}\n  \
             %s{at} = add i32 %l{at}, %n\n  \
             %t{at} = mul i32 %s{at}, %i{at}\n  %k{at} = call i32 @llvm.ctpop.i32(i32 %t{at})\n  \
             %h{at} = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %tid\n  \
             store i32 %k{at}, ptr addrspace(3) %h{at}\n  \
             %c{at} = icmp slt i32 %k{at}, %n\n  br i1 %c{at}, label %b{at}, label %e{at}\nb{at}:\n"
        ));
        if at % 64 == 63 {
            text.push_str("  call void @llvm.nvvm.barrier0()\n");
        }
        text.push_str(&format!(
            "  %r{at} = load i32, ptr %slot{slot}\n  %u{at} = xor i32 %r{at}, %s{at}\n  \
             %w{at} = getelementptr i32, ptr addrspace(1) %q, i32 %u{at}\n  \
             store i32 %u{at}, ptr addrspace(1) %w{at}\n  br label %e{at}\n\
             e{at}:\n  %x{at} = load i32, ptr %slot{slot}\n  %y{at} = add i32 %x{at}, 1\n  \
             store i32 %y{at}, ptr %slot{slot}\n  br label %a{}\n",
            at + 1
        ));
    }
    text.push_str(&format!("a{rounds}:\n  call void @llvm.nvvm.barrier0()\n  ret void\n}}\n"));
    text
}

/// The same as a called function, whose pointers may point to private memory of its caller.
fn given(size: usize) -> String {
    let kernel = "ptx_kernel void @f(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias %q";
    mixed(size).replace(kernel, "void @f(ptr %p, ptr %q").replace("ptr addrspace(1)", "ptr")
}

/// A kernel as unoptimised compilers write it: addresses go through stack slots, and some are
/// selected.
fn addressed(size: usize) -> String {
    let mut text = String::from(
        "target triple = \"nvptx64-nvidia-cuda\"\n\
         define ptx_kernel void @f(ptr noalias %p, ptr noalias %q, i32 %n) {\nentry:\n",
    );
    let rounds = size / 14;
    for slot in 0..rounds.div_ceil(16) {
        text.push_str(&format!("  %slot{slot} = alloca ptr\n"));
    }
    text.push_str("  br label %a0\n");
    for at in 0..rounds {
        let slot = at / 16;
        text.push_str(&format!(
            "a{at}:\n  %i{at} = add i32 %n, {at}\n  %g{at} = getelementptr i32, ptr %p, i32 %i{at}\n  \
             store ptr %g{at}, ptr %slot{slot}\n  %c{at} = icmp slt i32 %i{at}, 9\n  \
             br i1 %c{at}, label %b{at}, label %e{at}\n\
             b{at}:\n  %h{at} = getelementptr i32, ptr %q, i32 %i{at}\n  \
             store ptr %h{at}, ptr %slot{slot}\n  br label %e{at}\n\
             e{at}:\n  %l{at} = load ptr, ptr %slot{slot}\n  \
             %s{at} = select i1 %c{at}, ptr %l{at}, ptr %q\n  %v{at} = load i32, ptr %s{at}\n  \
             %w{at} = getelementptr i32, ptr %l{at}, i32 1\n  store i32 %v{at}, ptr %w{at}\n  \
             br label %a{}\n",
            at + 1
        ));
    }
    text.push_str(&format!("a{rounds}:\n  ret void\n}}\n"));
    text
}

type Asked = (&'static str, fn(&Database, FunctionInput));

const FACTS: [Asked; 15] = [
    ("divergence", |db, f| _ = black_box(queries::divergence(db, f))),
    ("control_divergence", |db, f| _ = black_box(queries::control_divergence(db, f))),
    ("memory_kinds", |db, f| _ = black_box(queries::memory_kinds(db, f))),
    ("space_conflicts", |db, f| _ = black_box(queries::space_conflicts(db, f))),
    ("private_memory", |db, f| _ = black_box(queries::private_memory(db, f))),
    ("memory_ssa", |db, f| _ = black_box(queries::memory_ssa(db, f))),
    ("memory_flow", |db, f| _ = black_box(queries::memory_flow(db, f))),
    ("classic_memory_ssa", |db, f| _ = black_box(queries::classic_memory_ssa(db, f))),
    ("pointer_flow", |db, f| _ = black_box(queries::pointer_flow(db, f))),
    ("load_classes", |db, f| _ = black_box(queries::load_classes(db, f))),
    ("assumed_divergence", |db, f| _ = black_box(queries::assumed_divergence(db, f, ASSUMED))),
    ("memory_accesses", |db, f| _ = black_box(queries::memory_accesses(db, f))),
    ("summary", |db, f| _ = black_box(queries::summary(db, f))),
    ("convergence", |db, f| _ = black_box(queries::convergence(db, f))),
    ("diagnostics", |db, f| _ = black_box(queries::diagnostics(db, f))),
];

/// Instructions whose name begins with this character.
fn named(session: &Session, function: FunctionId, first: char) -> Vec<InstId> {
    let code = session.code(function);
    let is_named = |inst: &InstId| {
        let name = code.extras.names.inst(*inst).unwrap_or_default();
        name.first() == Some(&(first as u8)) && name.get(1).is_some_and(u8::is_ascii_digit)
    };
    code.body.all_ids().filter(is_named).collect()
}

/// The first store behind each of these instructions.
fn stores(session: &Session, function: FunctionId, first: char) -> Vec<InstId> {
    let body = session.code(function).body;
    let behind = |at: InstId| std::iter::successors(Some(at), |&at| body.next(at));
    let is_store = |at: &InstId| body.inst(*at).opcode == Opcode::Store;
    named(session, function, first).into_iter().filter_map(|at| behind(at).find(is_store)).collect()
}

enum Kind {
    /// Replaces an operand by an argument; every other time restores it.
    Argument(u32, u32),
    /// Replaces an operand by one of its own operands; every other time restores it.
    Operand(u32),
    /// Inserts a copy behind the instruction; every other time erases the last copy.
    Copy,
    /// Splits its block before it; every other time merges both parts.
    Split,
    /// Makes the branch of its block lead to the first target only; every other time restores it.
    Branch,
}

/// A kind of edit, and the instructions to apply it to.
type Column = (&'static str, Kind, Vec<InstId>);

pub(crate) fn changes(size: usize) {
    table(&mixed(size), mixed_edits, &FACTS);
    let of_summary: Vec<Asked> =
        FACTS.iter().copied().filter(|(name, _)| *name == "summary").collect();
    table(&given(size), mixed_edits, &of_summary);
    table(&addressed(size), addressed_edits, &FACTS);
}

/// The edits of [`mixed`] and [`given`].
fn mixed_edits(session: &Session, function: FunctionId) -> Vec<Column> {
    vec![
        ("sum", Kind::Operand(0), named(session, function, 't')),
        ("index", Kind::Operand(1), named(session, function, 'w')),
        ("integer", Kind::Copy, named(session, function, 't')),
        ("call", Kind::Copy, named(session, function, 'k')),
        ("address", Kind::Copy, named(session, function, 'g')),
        ("load", Kind::Copy, named(session, function, 'l')),
        ("store", Kind::Copy, stores(session, function, 'w')),
        ("slot load", Kind::Copy, named(session, function, 'x')),
        ("slot store", Kind::Copy, stores(session, function, 'y')),
        ("split", Kind::Split, named(session, function, 's')),
        ("branch", Kind::Branch, named(session, function, 'c')),
    ]
}

/// The edits of [`addressed`].
fn addressed_edits(session: &Session, function: FunctionId) -> Vec<Column> {
    vec![
        ("base", Kind::Argument(0, 1), named(session, function, 'g')),
        ("join", Kind::Argument(1, 0), named(session, function, 's')),
        ("kept", Kind::Argument(0, 0), stores(session, function, 'h')),
        ("loaded", Kind::Copy, named(session, function, 'l')),
        ("put", Kind::Copy, stores(session, function, 'g')),
        ("split", Kind::Split, named(session, function, 'v')),
        ("branch", Kind::Branch, named(session, function, 'c')),
    ]
}

/// The cost of each of these facts from scratch and after each kind of edit.
fn table(text: &str, edits: fn(&Session, FunctionId) -> Vec<Column>, facts: &[Asked]) {
    let (mut session, function) = read(text);
    let kinds = edits(&session, function);
    let insts = session.code(function).body.id_count();
    let mut columns: Vec<(&str, Vec<Duration>)> = Vec::new();
    let ask = |session: &Session| {
        let time = |(_, ask): &Asked| {
            let start = Instant::now();
            ask(session.database(), function.input());
            start.elapsed()
        };
        facts.iter().map(time).collect::<Vec<Duration>>()
    };
    columns.push(("scratch", ask(&session)));
    for (name, kind, insts) in kinds {
        let mut times: Vec<Vec<Duration>> = vec![Vec::new(); facts.len()];
        let (mut copy, mut before, mut head, mut away) = (None, None, None, None);
        for round in 0..60 {
            let at = insts[(round / 2) * 7919 % insts.len()];
            let done: Result<(), BuildError> = session.edit(function, |edit| {
                edit.verifying(false);
                match (&kind, copy.take()) {
                    (Kind::Argument(index, argument), _) => {
                        let now = edit.body().operands(at)[*index as usize];
                        let new = match before.take() {
                            Some(before) => before,
                            None => {
                                before = Some(now);
                                Value::arg(*argument)
                            }
                        };
                        edit.set_operand(at, *index, new)
                    }
                    (Kind::Operand(index), _) => {
                        let now = edit.body().operands(at)[*index as usize];
                        // One of its operands, and back.
                        let new = match before.take() {
                            Some(before) => before,
                            None => {
                                before = Some(now);
                                let made = now.as_inst().expect("it is computed");
                                edit.body().operands(made)[0]
                            }
                        };
                        edit.set_operand(at, *index, new)
                    }
                    (Kind::Copy, Some(copy)) => edit.erase(copy),
                    (Kind::Copy, None) => {
                        copy = Some(edit.after(at).clone_of(at)?);
                        Ok(())
                    }
                    (Kind::Split, _) => match head.take() {
                        Some(block) => edit.merge_successor(block),
                        None => {
                            head = edit.body().block_of(at);
                            edit.split_before(at, "").map(drop)
                        }
                    },
                    (Kind::Branch, _) => {
                        let block = edit.body().block_of(at).expect("it is in a block");
                        let [one, other] = edit.flow().successors(block) else { panic!("two") };
                        let (one, other) = (*one, *other);
                        let to = away.take().unwrap_or_else(|| {
                            away = Some(other);
                            one
                        });
                        edit.redirect_edge(block, 1, to)
                    }
                }
            });
            done.expect("the value is there");
            let took = ask(&session);
            if round >= 10 {
                times.iter_mut().zip(took).for_each(|(times, took)| times.push(took));
            }
        }
        let medians = times.iter_mut().map(|times| {
            percentiles(times);
            times[times.len() / 2]
        });
        columns.push((name, medians.collect()));
    }
    print!("{:<22}", format!("us, {insts}"));
    columns.iter().for_each(|(name, _)| print!("{name:>11}"));
    println!();
    for (row, (name, _)) in facts.iter().enumerate() {
        print!("{name:<22}");
        columns.iter().for_each(|(_, times)| print!("{:>11.1}", us(times[row])));
        println!();
    }
}
