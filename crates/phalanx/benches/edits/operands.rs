//! Benches of edits of one operand in a large function.

use super::common::{
    Ask, Row, UNIFORMITY, after_edits, after_edits_below, divergence, every_fact, everything,
    flow_facts, giant, giant_of_kernels, is_sum, opt, places, read, read_named, scratch, text,
};
use super::whole::split_asking;
use phalanx::analysis::stable::Assumptions;
use phalanx::analysis::variance::BarrierModel;
use phalanx::db::{Database, FunctionInput, queries};
use phalanx::graph::{DomTree, Node};
use phalanx::{FunctionId, Session};
use phalanx_test_suite::giants;
use phalanx_testing::abstract_program::Operation;
use phalanx_testing::inlined::inlined;
use std::hint::black_box;
use std::time::Duration;

pub(crate) fn operand(name: &str, size: usize, ask: Ask) {
    let opt = opt(text(size).as_bytes(), &["domtree", "cycles"], &[UNIFORMITY]);
    row(name, giant(size), ask, |db, f| queries::repairs(db, f), opt);
}

/// The same in our kernels, inlined.
pub(crate) fn kernels(rounds: usize) {
    let Some(text) = giant_of_kernels(rounds) else { return };
    let opt = opt(&text, &["domtree", "cycles"], &[UNIFORMITY]);
    for (name, ask) in [("kernels", divergence as Ask), ("  llvm", uniformity)] {
        row(name, read_named(&text, giants::NAME), ask, |db, f| queries::repairs(db, f), opt);
    }
    if rounds < 200 {
        split_asking("  split", read_named(&text, giants::NAME), everything, |_| String::new());
        split_asking("  all", read_named(&text, giants::NAME), every_fact, |_| String::new());
    }
}

/// The cost of a query after edits of sums; `ways` says how its results were computed.
fn row(
    name: &str,
    (mut session, function): (Session, FunctionId),
    ask: Ask,
    ways: fn(&Database, FunctionInput) -> queries::Repairs,
    opt: Option<Duration>,
) {
    let scratch = scratch(&session, function, ask, &[flow_facts]);
    let places = places(&session, function, is_sum);
    let (edits, times) = after_edits(&mut session, function, &places, ask);
    let ways = ways(session.database(), function.input());
    Row {
        name,
        insts: session.code(function).body.id_count(),
        scratch,
        edits: Some(edits),
        times,
        opt,
        found: [ways.repaired, ways.solved + ways.kept + ways.rebuilt],
    }
    .print();
}

pub(crate) fn uniformity(db: &Database, input: FunctionInput) {
    black_box(queries::uniformity(db, input));
}

pub(crate) fn summarized(db: &Database, input: FunctionInput) {
    black_box(queries::summary(db, input));
}

/// The giant as a function that is called and returns its last value: its text, and the name of
/// that value.
fn called(size: usize) -> (String, String) {
    let program = inlined(size);
    // Some blocks above the last one, all paths lead through the first block of the last kernel.
    let dom = DomTree::new(&program.cfg());
    let above =
        std::iter::successors(Some(Node::new(program.blocks.len() - 1)), |&at| dom.idom(at));
    let computed = |at: Node| {
        let operations = program.blocks[at.index()].operations.iter();
        let numbers = operations.filter(|(_, what)| !matches!(what, Operation::Test(_)));
        numbers.map(|(value, _)| *value).next_back()
    };
    let last = above.into_iter().find_map(computed).expect("something is computed");
    let (kernel, last) = ("define amdgpu_kernel void", format!("%v{last}"));
    (text(size).replace(kernel, "define i32").replace("ret void", &format!("ret i32 {last}")), last)
}

pub(crate) fn summary(size: usize) {
    row(
        "summary",
        read(&called(size).0),
        summarized,
        |db, f| queries::summary_repairs(db, f),
        None,
    );
}

/// The same with a call of itself before it returns, called by a kernel.
pub(crate) fn recursion(size: usize) {
    let (text, last) = called(size);
    let call = format!("%again = call i32 @f(ptr addrspace(1) %gp, i32 %a0, i32 {last})");
    let both = format!("{call}\n  %both = add i32 %again, {last}\n  ret i32 %both");
    let text = text
        .replace("define i32", "define internal i32")
        .replace(&format!("ret i32 {last}"), &both)
        + "define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) {\n  \
           %r = call i32 @f(ptr addrspace(1) %p, i32 %n, i32 %n)\n  ret void\n}\n";
    for (name, ask) in [("summary", summarized as Ask), ("diverges", divergence as Ask)] {
        row(name, read(&text), ask, |db, f| queries::summary_repairs(db, f), None);
    }
}

/// All assumptions.
pub(crate) const ASSUMED: Assumptions =
    Assumptions { barriers: Some(BarrierModel::Lenient), race_free: true };

pub(crate) fn assumed(db: &Database, input: FunctionInput) {
    black_box(queries::assumed_divergence(db, input, ASSUMED));
}

/// The other facts that load classes depend on, which have costs of their own.
pub(crate) fn others(db: &Database, input: FunctionInput) {
    black_box(queries::memory_kinds(db, input));
    black_box(queries::private_memory(db, input));
    black_box(queries::pointer_flow(db, input));
}

pub(crate) fn classes(db: &Database, input: FunctionInput) {
    black_box(queries::load_classes(db, input));
}

/// A kernel of this many instructions that works in rounds: loads, sums of loaded values, a barrier
/// in some rounds, and a store behind a comparison.
pub(crate) fn with_barriers(size: usize) -> (Session, FunctionId) {
    let mut text = String::from(
        "target triple = \"nvptx64-nvidia-cuda\"\n\
         declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\ndeclare void @llvm.nvvm.barrier0()\n\
         define ptx_kernel void @f(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias %q, i32 %n) {\n\
         entry:\n  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  br label %a0\n",
    );
    let rounds = size / 15;
    for at in 0..rounds {
        let index = ["%n", "%tid"][usize::from(at % 4 == 3)];
        text.push_str(&format!(
            "a{at}:\n  %i{at} = add i32 {index}, {at}\n  \
             %g{at} = getelementptr i32, ptr addrspace(1) %p, i32 %i{at}\n  \
             %l{at} = load i32, ptr addrspace(1) %g{at}\n  %s{at} = add i32 %l{at}, %n\n  \
             %t{at} = mul i32 %s{at}, %i{at}\n  %u{at} = xor i32 %t{at}, %s{at}\n  \
             %v{at} = sub i32 %u{at}, %i{at}\n  %c{at} = icmp slt i32 %v{at}, %n\n  \
             br i1 %c{at}, label %b{at}, label %e{at}\nb{at}:\n"
        ));
        if at % 64 == 63 {
            text.push_str("  call void @llvm.nvvm.barrier0()\n");
        }
        text.push_str(&format!(
            "  %w{at} = getelementptr i32, ptr addrspace(1) %q, i32 %v{at}\n  \
             store i32 %u{at}, ptr addrspace(1) %w{at}\n  br label %e{at}\n\
             e{at}:\n  %x{at} = add i32 %v{at}, 1\n  br label %a{}\n",
            at + 1
        ));
    }
    text.push_str(&format!("a{rounds}:\n  call void @llvm.nvvm.barrier0()\n  ret void\n}}\n"));
    read(&text)
}

/// As [`operand`], of a kernel with barriers; `others` are asked before and not timed.
pub(crate) fn after_operand(
    name: &str,
    size: usize,
    ask: fn(&Database, FunctionInput),
    others: &[Ask],
) {
    let (mut session, function) = with_barriers(size);
    let scratch = scratch(&session, function, ask, others);
    let (edits, times) = after_edits_below(&mut session, function, 400, (ask, others));
    let (db, input) = (session.database(), function.input());
    let found = queries::assumed_divergence(db, input, ASSUMED);
    let defined = queries::assumed_divergence_from_scratch(db, input, ASSUMED);
    assert!(found.as_deref() == defined.as_ref());
    let ways = queries::assumed_repairs(db, input);
    Row {
        name,
        insts: session.code(function).body.id_count(),
        scratch,
        edits: Some(edits),
        times,
        opt: None,
        found: [ways.repaired, ways.solved + ways.kept + ways.rebuilt],
    }
    .print();
}

pub(crate) fn memory_accesses(db: &Database, input: FunctionInput) {
    black_box(queries::memory_accesses(db, input));
}

/// Memory accesses after an edit of a sum, from up-to-date divergence.
pub(crate) fn access(size: usize) {
    let (mut session, function) = with_barriers(size);
    let scratch = scratch(&session, function, memory_accesses, &[flow_facts, divergence]);
    let asked = (memory_accesses as Ask, &[divergence as Ask][..]);
    let (edits, times) = after_edits_below(&mut session, function, 1000, asked);
    let ways = queries::access_repairs(session.database(), function.input());
    Row {
        name: "access",
        insts: session.code(function).body.id_count(),
        scratch,
        edits: Some(edits),
        times,
        opt: None,
        found: [ways.kept + ways.repaired, ways.solved],
    }
    .print();
}
