//! The functions that lower a whole function: by our rules or by LLVM's, with or without private
//! memory.

use phalanx_core::{affect::Value, divergence::ValueTable};
use phalanx_ir::{InstId, flow::node_of};

use super::build::{lower, lower_open};
use super::full::FullRules;
use super::llvm::LlvmRules;
use super::omitted::OmittedRead;
use super::private::{MemoryRows, MemoryVersion, PointeeValues};
use crate::code::{Code, Environment, Numbering};
use crate::memory::{PrivateMemory, PrivateView};
use crate::shape::Shapes;

/// Tables by our own rules, which hold for every execution.
#[must_use]
pub fn full(code: Code<'_>, env: Environment<'_>) -> ValueTable {
    lower(code, &mut FullRules::new(code, env))
}

/// As [`full`], with the contents of private memory for its loads. The values that stand for
/// versions of memory are numbered after `unused` numbers that are left out.
#[must_use]
pub fn full_with(
    code: Code<'_>,
    env: Environment<'_>,
    memory: &PrivateMemory,
    unused: usize,
) -> ValueTable {
    with_rows(code, env, (memory, None), unused).0
}

/// The same without something that loads depend on. Tests use it to see that they find the error.
#[cfg(any(test, feature = "testing"))]
#[must_use]
pub fn full_without(
    code: Code<'_>,
    env: Environment<'_>,
    memory: &PrivateMemory,
    omitted: OmittedRead,
) -> ValueTable {
    with_rows(code, env, (memory, Some(omitted)), 0).0
}

/// The same, with what is needed to bring the table up to date: which values stand for versions of
/// memory, and the shapes that rules used.
pub(crate) fn full_and_rows(
    code: Code<'_>,
    env: Environment<'_>,
    memory: &PrivateMemory,
    unused: usize,
) -> (ValueTable, MemoryRows, Box<Shapes>) {
    let mut rules = FullRules::new(code, env).with_memory(PrivateView::Whole(memory));
    let (table, rows) = with_rules(code, &mut rules, (memory, None), unused);
    (table, rows, rules.into_shapes())
}

/// As [`full_with`], for memory [with pointees](PrivateMemory::with_pointees). In answers, versions
/// of memory have sources as other values do.
pub(crate) fn full_through(
    code: Code<'_>,
    env: Environment<'_>,
    memory: &PrivateMemory,
) -> (ValueTable, PointeeValues) {
    let (table, rows) = with_rows(code, env, (memory, None), 0);
    let first = table.memory().map_or(0, |memory| memory.first as usize);
    (table.with_memory_reported(), rows.pointees(first))
}

/// As [`full_through`], with the versions of memory that values stand for, in the order of their
/// numbers.
pub(crate) fn full_through_and_versions(
    code: Code<'_>,
    env: Environment<'_>,
    memory: &PrivateMemory,
) -> (ValueTable, PointeeValues, Vec<MemoryVersion>) {
    let (table, rows) = with_rows(code, env, (memory, None), 0);
    let first = table.memory().map_or(0, |memory| memory.first as usize);
    (table.with_memory_reported(), rows.pointees(first), rows.versions(first))
}

/// The versions of memory that values stand for, in the order of their numbers, in a table made by
/// [`full_with`] with no unused numbers. O(one lowering).
#[must_use]
pub fn memory_versions(
    code: Code<'_>,
    env: Environment<'_>,
    memory: &PrivateMemory,
) -> Vec<MemoryVersion> {
    let (table, rows) = with_rows(code, env, (memory, None), 0);
    table.memory().map_or_else(Vec::new, |memory| rows.versions(memory.first as usize))
}

/// As [`full_with`] with no unused numbers, and with one more value for each argument in `passed`:
/// the content of the private object that the argument is the address of. None if that is not
/// known. In answers, versions of memory have sources as other values do.
pub(crate) fn full_with_contents(
    code: Code<'_>,
    env: Environment<'_>,
    memory: &PrivateMemory,
    passed: &[(InstId, u32)],
) -> (ValueTable, Vec<Option<Value>>) {
    let mut rules = FullRules::new(code, env).with_memory(PrivateView::Whole(memory));
    let Some(entry) = code.flow.entry().map(node_of).filter(|_| !memory.is_empty()) else {
        return (lower(code, &mut rules), vec![None; passed.len()]);
    };
    let mut table = lower_open(code, &mut rules);
    let (rows, numbers) = MemoryRows::with_contents(code, &rules, memory, passed);
    rows.add_to(&mut table, Numbering::new(code.header), entry, 0);
    let table = table.finish();
    let first = table.memory().map_or(0, |memory| memory.first as usize);
    let value = |row: u32| Value::new(first + row as usize);
    let values = numbers.into_iter().map(|row| row.map(value)).collect();
    (table.with_memory_reported(), values)
}

fn with_rows(
    code: Code<'_>,
    env: Environment<'_>,
    (memory, omitted): (&PrivateMemory, Option<OmittedRead>),
    unused: usize,
) -> (ValueTable, MemoryRows) {
    let mut rules = FullRules::new(code, env).with_memory(PrivateView::Whole(memory));
    with_rules(code, &mut rules, (memory, omitted), unused)
}

pub(super) fn with_rules(
    code: Code<'_>,
    rules: &mut FullRules<'_>,
    (memory, omitted): (&PrivateMemory, Option<OmittedRead>),
    unused: usize,
) -> (ValueTable, MemoryRows) {
    let Some(entry) = code.flow.entry().map(node_of).filter(|_| !memory.is_empty()) else {
        return (lower(code, rules), MemoryRows::default());
    };
    let mut table = lower_open(code, rules);
    let rows = MemoryRows::new(code, rules, memory, omitted);
    rows.add_to(&mut table, Numbering::new(code.header), entry, unused);
    (table.finish(), rows)
}

/// Tables by the rules of LLVM 22: its sources, its always-uniform values.
#[must_use]
pub fn as_llvm(code: Code<'_>, env: Environment<'_>) -> ValueTable {
    lower(code, &mut LlvmRules::new(code, env, false))
}

/// As [`as_llvm`], and with an omission of LLVM: it takes results of `invoke` for sources, but does
/// not look at their users.
#[must_use]
pub fn as_exact_llvm(code: Code<'_>, env: Environment<'_>) -> ValueTable {
    lower(code, &mut LlvmRules::new(code, env, true))
}
