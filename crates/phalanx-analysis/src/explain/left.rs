//! Why private memory holds what it does after a call: chains inside of the function that was given
//! its address.
//!
//! This is to memory what [`returned`](super::returned) is to results. The
//! [summary](crate::summary::through) of a function says why memory that an argument points to has
//! a source when the function returns: the function brings the source in, or an argument has it.
//! The chain is one of the solution that said so, in which that memory is treated like a stack
//! slot. It leads from the memory at the return to what brings the source in, or to the argument.
//!
//! What the memory held before the call, unchanged or as an operand of what it holds afterwards, is
//! explained in the caller.
//!
//! Cost: O(function) for each chain. Chains are computed on demand and not retained.

use phalanx_core::{
    affect::Value,
    divergence::{FlowFacts, Rules, solve},
};
use phalanx_graph::PostDomTree;
use phalanx_target::SourceSet;

use super::{Derivations, Link, returned::Given};
use crate::code::{
    Code, Environment, Numbering,
    calls::{Input, Outcome, meet, of_call},
};
use crate::lower::{self, MemoryVersion, VersionBy};
use crate::memory::PrivateMemory;
use crate::summary::{WithoutArguments, through::ends};

/// A question about a function that was given the address of private memory: why it leaves a source
/// there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Left {
    /// The parameter that points to the memory.
    pub parameter: u32,
    /// The parts that matter, by their bytes ([`Part::range`](crate::code::calls::Part)).
    pub parts: Vec<Option<(i64, i64)>>,
    /// What it is given.
    pub given: Given,
}

/// The question to ask the callee from whose call a version of private memory comes, about a source
/// of the version. The source comes from `operand` if `operand` had the source `before` the call,
/// and is brought in by the callee otherwise. None where the operand is no argument.
#[must_use]
pub fn left_by(
    code: Code<'_>,
    env: Environment<'_>,
    memory: &PrivateMemory,
    version: &MemoryVersion,
    operand: Option<Value>,
    (before, source): (SourceSet, SourceSet),
) -> Vec<Left> {
    let found = || {
        let VersionBy::Write(call) = version.by else { return None };
        let known = of_call(code, env.calls, call)?;
        let through = known.through.as_ref()?;
        let mut slots = memory.slots().iter().filter(|slot| slot.alloca == version.object);
        let slot = slots.find(|slot| slot.range.map(|(first, _)| first) == version.offset)?;
        let passed = memory.passed(call).iter().find(|passed| passed.object == version.object)?;
        let asked = |given: Given, has_it: &dyn Fn(&Outcome) -> bool| {
            let parts = through.parts_of(passed.position);
            let parts = parts.filter(|part| meet(passed.shift(part.range), slot.range));
            let parts: Vec<_> = parts
                .filter(|part| part.content.as_ref().is_some_and(has_it))
                .map(|part| part.range)
                .collect();
            let is_any = !parts.is_empty();
            is_any.then_some(Left { parameter: passed.position, parts, given })
        };
        let Some(operand) = operand else {
            let own = asked(Given::Nothing, &|outcome| outcome.sources.contains(source));
            return Some(own.into_iter().collect());
        };
        let numbering = Numbering::new(code.header);
        let arguments = code.body.call_args(call);
        let is_it = |position: u32| {
            let argument = arguments.get(position as usize);
            argument.and_then(|&argument| numbering.operand(argument)) == Some(operand)
        };
        let inputs = through.inputs.iter().enumerate();
        let found = inputs.filter_map(|(at, input)| match *input {
            Input::Argument(position) if is_it(position) => {
                asked(Given::Argument(position, before), &|outcome| {
                    outcome.arguments[at].apply(before, outcome.wave).contains(source)
                })
            }
            _ => None,
        });
        Some(found.collect())
    };
    found().unwrap_or_default()
}

/// One of the shortest chains from what a function leaves to what it is [`Given`], for one of
/// `sources`, and which of its values stand for versions of memory. Empty if there is none.
///
/// The first link is about what is there at a return, or about a branch that sends threads to
/// returns at which something else is there. What `env` knows of the function's own arguments
/// does not matter.
#[must_use]
pub fn left(
    code: Code<'_>,
    env: Environment<'_>,
    (flow, postdom): (FlowFacts<'_>, &PostDomTree),
    left: &Left,
    sources: SourceSet,
) -> (Vec<Link>, Vec<MemoryVersion>) {
    let facts = WithoutArguments(env.calls, code);
    let env = Environment { calls: &facts, ..env };
    let memory = PrivateMemory::with_pointees(code, env, flow.cfg, flow.dom);
    let (mut table, values, versions) = lower::full_through_and_versions(code, env, &memory);
    if let Given::Argument(position, sources) = left.given {
        if position as usize >= code.header.params.len() {
            return (Vec::new(), Vec::new());
        }
        let argument = Numbering::new(code.header).argument(position);
        table = table.with_sources(&[(argument, sources)], |image| *image);
    }
    let answer = solve(flow, &table, Rules::Precise);
    let known = Derivations::new(flow, &table, &answer);
    let starts =
        ends((code, flow, postdom), (&memory, &values), left.parameter, &left.parts).into_iter();
    let chains = starts.map(|fact| known.of(flow, &table, None, fact, sources));
    // The first of the shortest.
    let chain = chains.filter(|chain| !chain.is_empty()).min_by_key(Vec::len);
    (chain.unwrap_or_default(), versions)
}
