//! Counts the rounds of a loop by evaluating them one after the other.
//!
//! Phis of the header that start with constants are known in the first round. They are known in the
//! next round if their values on the back edge can be evaluated. The *known exits* are blocks that
//! every round executes once and whose branch leaves the loop. Each round evaluates their
//! conditions. The first known exit that is taken ends the loop, unless another exit did so
//! earlier.
//!
//! O(rounds × operations between phis and conditions), both bounded.

use phalanx_ir::{BlockId, Const, InstId, Opcode, Value, flow::node_of};
use rustc_hash::{FxHashMap, FxHashSet};

use super::shape::{Graph, Loop};
use crate::{code::Code, evaluate::Evaluator, fold::is_defined};

/// The number of rounds of a loop, and which exits are taken when.
#[derive(Clone, Debug, Default)]
pub(super) struct Count {
    /// The greatest possible number of rounds; none when no known exit ends the loop within the
    /// bound.
    pub(super) rounds: Option<usize>,
    /// The known exits, and whether they are taken in each of these rounds.
    pub(super) exits: Vec<Exit>,
}

/// A branch that leaves the loop, and that each round executes once.
#[derive(Clone, Debug)]
pub(super) struct Exit {
    pub(super) block: BlockId,
    pub(super) outside: BlockId,
    /// Whether the exit is taken, by round; none if unknown.
    pub(super) is_taken: Vec<Option<bool>>,
}

/// Evaluates up to `bound` rounds.
pub(super) fn count(graph: &Graph<'_>, code: &Code<'_>, found: &Loop, bound: usize) -> Count {
    let body = code.body;
    let inside: FxHashSet<BlockId> = found.blocks.iter().copied().collect();
    let mut exits: Vec<Exit> = Vec::new();
    for &block in &found.blocks {
        let &[one, other] = code.flow.successors(block) else { continue };
        let outside = match (inside.contains(&one), inside.contains(&other)) {
            (true, false) => other,
            (false, true) => one,
            _ => continue,
        };
        let node = node_of(block);
        let is_branch = body.terminator(block).is_some_and(|t| body.inst(t).opcode == Opcode::Br);
        let is_passed = found.latches.iter().all(|&l| graph.dom.dominates(node, node_of(l)));
        if is_branch && is_passed && graph.cycles.innermost(node) == Some(found.cycle) {
            exits.push(Exit { block, outside, is_taken: Vec::new() });
        }
    }
    if exits.is_empty() {
        return Count::default();
    }
    let phis: Vec<(InstId, Option<Const>, Option<Value>)> = body
        .phis(found.header)
        .map(|phi| {
            let value = |blocks: &[BlockId]| {
                let mut all = body.phi_incoming(phi).filter(|(_, b)| blocks.contains(b));
                let first = all.next().map(|(value, _)| value);
                first.filter(|&first| all.all(|(value, _)| value == first))
            };
            let start = value(&found.entering).and_then(Value::as_const);
            (phi, start, value(&found.latches))
        })
        .collect();
    // Each use of `undef` may give another value.
    let mut state: FxHashMap<InstId, Const> = phis
        .iter()
        .filter_map(|&(phi, start, _)| Some((phi, start?)))
        .filter(|&(_, start)| is_defined(code.context, start))
        .collect();
    let mut loose: Vec<InstId> = Vec::new();
    for round in 0..bound {
        let assumed = state.iter().map(|(&p, &c)| (p, c));
        let mut evaluator = Evaluator::new(*code, assumed, &|_| None).loosely(loose);
        let (mut is_known, mut ends) = (false, false);
        for exit in &mut exits {
            let condition = body.terminator(exit.block).map(|t| body.operands(t)[0]);
            let first = code.flow.successors(exit.block)[0];
            let is_taken = condition
                .and_then(|condition| evaluator.condition(condition))
                .map(|holds| holds == (first == exit.outside));
            exit.is_taken.push(is_taken);
            is_known |= is_taken.is_some();
            ends |= is_taken == Some(true);
        }
        if ends {
            return Count { rounds: Some(round + 1), exits };
        }
        if !is_known {
            break;
        }
        let next = phis.iter().filter_map(|&(phi, _, next)| {
            let value = evaluator.value(next?)?;
            is_defined(code.context, value).then_some((phi, value))
        });
        state = next.collect();
        let is_loose = |value: &Option<Value>| value.is_some_and(|v| evaluator.is_loose(v));
        loose = phis.iter().filter(|phi| is_loose(&phi.2)).map(|phi| phi.0).collect();
    }
    Count { rounds: None, exits: Vec::new() }
}
