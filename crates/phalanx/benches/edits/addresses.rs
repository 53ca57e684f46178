//! Benches of edits in a function full of addresses.

use super::common::{Ask, Row, after_edits, flow_facts, is_sum, places, read, scratch};
use phalanx::analysis::data_flow::Entity;
use phalanx::analysis::lower::Numbering;
use phalanx::db::{Database, FunctionInput, queries};
use phalanx::ir::Opcode;
use phalanx_testing::pointers::{Through, pointers};
use std::hint::black_box;

pub(crate) fn memory_kinds(db: &Database, input: FunctionInput) {
    black_box(queries::memory_kinds(db, input));
}

pub(crate) fn kinds(size: usize) {
    let (mut session, function) = read(&pointers(size, Through::Loops));
    memory_kinds(session.database(), function.input());
    let scratch = scratch(&session, function, memory_kinds, &[flow_facts]);
    let places = places(&session, function, |data| {
        matches!(data.opcode, Opcode::GetElementPtr | Opcode::Phi)
    });
    let (edits, times) = after_edits(&mut session, function, &places, memory_kinds);
    let ways = queries::kind_repairs(session.database(), function.input());
    Row {
        name: "kinds",
        insts: session.code(function).body.id_count(),
        scratch,
        edits: Some(edits),
        times,
        opt: None,
        found: [ways.repaired, ways.solved],
    }
    .print();
}

pub(crate) fn private_memory(db: &Database, input: FunctionInput) {
    black_box(queries::private_memory(db, input));
}

pub(crate) fn memory_ssa(db: &Database, input: FunctionInput) {
    black_box(queries::memory_ssa(db, input));
}

pub(crate) fn classic_memory_ssa(db: &Database, input: FunctionInput) {
    black_box(queries::classic_memory_ssa(db, input));
}

pub(crate) fn pointer_flow(db: &Database, input: FunctionInput) {
    black_box(queries::pointer_flow(db, input));
}

/// Data flow from the last instruction: the users of one value, and the inverted HSSA form.
pub(crate) fn data_flow(db: &Database, input: FunctionInput) {
    let flow = queries::data_flow(db, input).expect("it has a body");
    let last =
        Numbering::new(input.header(db)).inst(input.body(db).all_ids().last().expect("it returns"));
    black_box(flow.users(Entity::Value(last)).count());
}

pub(crate) type Pick = fn(queries::MemoryRepairs) -> queries::Ways;

/// Facts about memory, each with the counter of how it, or the fact that it depends on, was
/// computed.
pub(crate) const OF_MEMORY: [(&str, Ask, Pick); 5] = [
    ("private", private_memory, |ways| ways.private),
    ("hssa", memory_ssa, |ways| ways.hssa),
    ("classic", classic_memory_ssa, |ways| ways.classic),
    ("pointers", pointer_flow, |ways| ways.pointers),
    ("flow", data_flow, |ways| ways.hssa),
];

/// Pointers, and a few sums between them.
pub(crate) fn with_sums(size: usize) -> String {
    let mut text = String::new();
    for line in pointers(size, Through::Loops).lines() {
        text.push_str(line);
        text.push('\n');
        if let Some(at) = line.strip_prefix("left").and_then(|line| line.strip_suffix(':')) {
            text.push_str(&format!(
                "  %x{at} = add i32 %n, 1\n  %y{at} = add i32 %x{at}, %n\n  \
                 %z{at} = mul i32 %y{at}, %x{at}\n"
            ));
        }
    }
    text
}

pub(crate) fn kept(size: usize, (name, ask, pick): (&str, Ask, Pick)) {
    let (mut session, function) = read(&with_sums(size));
    ask(session.database(), function.input());
    let scratch = scratch(&session, function, ask, &[flow_facts]);
    let places = places(&session, function, is_sum);
    let (edits, times) = after_edits(&mut session, function, &places, ask);
    let ways = pick(queries::memory_repairs(session.database(), function.input()));
    Row {
        name,
        insts: session.code(function).body.id_count(),
        scratch,
        edits: Some(edits),
        times,
        opt: None,
        found: [ways.kept + ways.repaired, ways.solved],
    }
    .print();
}
