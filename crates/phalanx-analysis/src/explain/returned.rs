//! Why the result of a call depends on what it does: chains inside of the function that is called.
//!
//! The [summary](crate::summary) of a function says that the result depends on a source for one of
//! two reasons: the function brings the source in, or an argument has it. Either was found by
//! solving the function alone: once where no argument has a source, and once for each argument
//! where that argument alone has sources. The chain is a chain of that solution. It leads from the
//! returned value to what brings the source in, or to the argument.
//!
//! Cost: O(function) for each chain. Chains are computed on demand and not retained.

use phalanx_core::divergence::{FlowFacts, Rules, solve};
use phalanx_graph::PostDomTree;
use phalanx_target::SourceSet;

use super::{Derivations, Link};
use crate::code::{Code, Environment, Numbering};
use crate::lower;
use crate::memory::PrivateMemory;
use crate::summary::{WithoutArguments, returns::Returns};

/// The arguments that have sources in the solution that a chain is from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// No argument has a source: the question is what the function brings in by itself.
    Nothing,
    /// This argument has these sources, and nothing else has any.
    Argument(u32, SourceSet),
}

/// One of the shortest chains from what is returned, or from a member of it, to what is [`Given`],
/// for one of `sources`. Empty if there is none.
///
/// The first link is about a return, about what is inserted into the structure that is returned, or
/// about a branch at which threads part for different returns. What `env` knows of the
/// function's own arguments does not matter.
#[must_use]
pub fn returned(
    code: Code<'_>,
    env: Environment<'_>,
    flow: FlowFacts<'_>,
    postdom: &PostDomTree,
    given: Given,
    member: Option<u32>,
    sources: SourceSet,
) -> Vec<Link> {
    let facts = WithoutArguments(env.calls, code);
    let env = Environment { calls: &facts, ..env };
    let memory = PrivateMemory::through_calls(code, env, flow.cfg, flow.dom);
    let mut table = lower::full_with(code, env, &memory, 0);
    let numbering = Numbering::new(code.header);
    if let Given::Argument(position, sources) = given {
        if position as usize >= code.header.params.len() {
            return Vec::new();
        }
        table = table.with_sources(&[(numbering.argument(position), sources)], |image| *image);
    }
    let answer = solve(flow, &table, Rules::Precise);
    let known = Derivations::new(flow, &table, &answer);
    let starts = Returns::new(code, flow, postdom).facts(code, numbering, member);
    let chains = starts.into_iter().map(|fact| known.of(flow, &table, None, fact, sources));
    // The first of the shortest.
    chains.filter(|chain| !chain.is_empty()).min_by_key(Vec::len).unwrap_or_default()
}
