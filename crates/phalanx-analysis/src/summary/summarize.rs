//! The summary of a function with a body, from scratch.
//!
//! O(function) for each pass; there are two, and one more for every 12 parameters (3 where sources
//! collapse), at most six.

use std::fmt;

use phalanx_core::divergence::{FlowFacts, Rules, ValueTable, solve};
use phalanx_graph::PostDomTree;
use phalanx_ir::Type;

use super::besides::Besides;
use super::facts::WithoutArguments;
use super::passes::{self, arguments};
use super::results::{Reading, Results, first_impure};
use super::returns::Returns;
use super::through;
use crate::code::{
    Code, Environment, Numbering,
    calls::{Summary, Through},
};
use crate::lower::{self, Single};
use crate::memory::PrivateMemory;

/// The summary of a function with a body.
///
/// O(function) for each pass; there are two, and one more for every 12 parameters (3 where sources
/// collapse), at most six.
#[must_use]
pub fn summarize(
    code: Code<'_>,
    env: Environment<'_>,
    flow: FlowFacts<'_>,
    postdom: &PostDomTree,
    known: AtHand<'_>,
) -> Summary {
    let returns = || Returns::new(code, flow, postdom);
    summarize_with(code, env, (flow, postdom), (returns, true), known)
}

/// As [`summarize`], without the branches at which threads part for different returns. The result
/// is wrong: tests use it to see that these branches matter.
#[cfg(any(test, feature = "testing"))]
#[must_use]
pub fn summarize_without_parting(
    code: Code<'_>,
    env: Environment<'_>,
    flow: FlowFacts<'_>,
    postdom: &PostDomTree,
) -> Summary {
    let returns = || Returns::new(code, flow, postdom).without_parting();
    summarize_with(code, env, (flow, postdom), (returns, false), AtHand::default())
}

/// Parts of a summary, and inputs to it, that the caller has computed already. They save time and
/// do not change the result.
#[derive(Default)]
pub struct AtHand<'a> {
    /// The effects of single instructions.
    pub besides: Option<Besides>,
    /// What the function does through pointers. `Some(None)`: known that no pointer is followed.
    pub through: Option<Option<Box<Through>>>,
    /// Gives the table from which divergence of the function is solved, with any facts about its
    /// arguments.
    pub table: Option<&'a dyn Fn() -> Option<ValueTable>>,
}

impl fmt::Debug for AtHand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AtHand { besides, through, table } = self;
        let mut all = f.debug_struct("AtHand");
        all.field("besides", besides).field("through", through);
        all.field("table", &table.is_some()).finish()
    }
}

fn summarize_with(
    code: Code<'_>,
    env: Environment<'_>,
    (flow, postdom): (FlowFacts<'_>, &PostDomTree),
    (returns, can_part): (impl FnOnce() -> Returns, bool),
    known: AtHand<'_>,
) -> Summary {
    let besides = known.besides.unwrap_or_else(|| Besides::new(code, env, flow.cycles));
    let facts = WithoutArguments(env.calls, code);
    let env = Environment { calls: &facts, ..env };
    let through = known
        .through
        .unwrap_or_else(|| through::through(code, env, (flow, postdom), can_part).map(Box::new));
    if let Some(summary) = besides.without_result(code, through.clone()) {
        return summary;
    }
    let table = match known.table.and_then(|table| table()) {
        Some(table) => with_own_arguments(code, env, table),
        None => {
            let memory = PrivateMemory::through_calls(code, env, flow.cfg, flow.dom);
            lower::full_with(code, env, &memory, 0)
        }
    };
    let is_timeless =
        first_impure(code, |inst| table.is_pure(Numbering::new(code.header).inst(inst))).is_none();
    if code.header.ret == Type::VOID {
        let results = Results { is_timeless, ..Results::default() };
        return besides.with_results(code, through, results);
    }
    let inputs = arguments(code);
    let tokens = passes::tokens(env, &table, inputs.len());
    let returns = returns();
    let mut reading = Reading::new(code, env, &returns);
    let more = tokens.unconditional(&table);
    reading.own(&solve(flow, more.as_ref().unwrap_or(&table), Rules::Precise));
    for (pass, seeds) in passes::seeded(&tokens, &inputs) {
        reading.pass(&pass, &solve(flow, &tokens.table(&table, &seeds), Rules::Precise));
    }
    besides.with_results(code, through, reading.finish(is_timeless))
}

/// Replaces the facts about arguments in a table by those of `env`. A table has these facts only
/// in the definitions of the arguments.
fn with_own_arguments(code: Code<'_>, env: Environment<'_>, mut table: ValueTable) -> ValueTable {
    let mut rules = Single::new(code, env);
    for position in 0..code.header.params.len() as u32 {
        let argument = Numbering::new(code.header).argument(position);
        table.set_seed(argument, rules.argument(position));
    }
    table
}
