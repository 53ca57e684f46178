//! Whether an edit of the graph preserves groups on machines that reconverge at post-dominators.
//!
//! ```text
//!   A: br a, B, T      becomes   A: br (a and b), T', F
//!   B: br b, T, F
//! ```
//!
//! Under maximal convergence the groups at `T` stay: the threads of `A` and those of `B` were
//! together there before. Where sides join at post-dominators, they executed `T` separately before
//! the edit, and execute it together afterwards.
//!
//! An edit preserves groups if each convergent operation is whole after it if and only if it was
//! whole before, and branches mix rounds after it if and only if they did before
//! ([`phalanx_core::legality::machines`]). That is enough for operations that are whole. For other
//! operations nothing more is compared.
//!
//! **Facts.** Divergence is known for the function before the edit. After the edit a branch counts
//! as uniform if its condition is a constant, or if all former branches on this condition were
//! uniform.
//!
//! Cost: twice that of [`Machine::whole`](phalanx_core::legality::machines::Machine::whole);
//! nothing without convergent operations.

use phalanx_analysis::joins;
use phalanx_core::legality::machines::{Machine, Rounds};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::{Cycles, Node};
use phalanx_ir::{
    InstId, Value,
    edit::Transaction,
    flow::{block_of, node_of},
};
use phalanx_target::{Scope, varying};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::code::Code;

/// Facts about a function before an edit.
pub(crate) struct Stacks {
    /// Conditions on which every branch was uniform within a wave.
    uniform: FxHashSet<Value>,
    before: State,
}

/// Whether rounds are mixed, and which operations are parted.
#[derive(PartialEq, Eq)]
struct State {
    mixes: bool,
    parted: FxHashMap<InstId, bool>,
}

impl Stacks {
    /// Facts about a function before an edit; none if there is no convergent operation, or too much
    /// to look at.
    pub(crate) fn before(db: &Database, function: FunctionInput) -> Option<Stacks> {
        let code = Code::of(db, function);
        code.convergent_blocks().next()?;
        let facts = queries::divergence(db, function).as_ref()?;
        let within = varying(Scope::Wave, queries::launch_facts(db, function));
        // If a caller or callee mixes rounds, values that are uniform under maximal convergence may
        // differ.
        let is_elsewhere = queries::rounds_around(db, function) == Rounds::Elsewhere;
        let is_divergent = |node: Node| is_elsewhere || facts.terminator(node).intersects(within);
        let mut uniform = FxHashSet::default();
        let mut divergent = FxHashSet::default();
        for &block in code.flow.order() {
            let Some(condition) = condition(&code, node_of(block)) else { continue };
            match is_divergent(node_of(block)) {
                true => divergent.insert(condition),
                false => uniform.insert(condition),
            };
        }
        uniform.retain(|condition| !divergent.contains(condition));
        let before = state(&code, &is_divergent)?;
        Some(Stacks { uniform, before })
    }

    /// Whether no branch mixes rounds and no operation is parted.
    pub(crate) fn are_whole(&self) -> bool {
        !self.before.mixes && self.before.parted.values().all(|&parted| !parted)
    }

    /// Whether the edit preserved the groups of the remaining operations.
    pub(crate) fn are_kept(&self, edit: &Transaction<'_>) -> bool {
        let code = Code::in_edit(edit);
        let is_divergent = |node: Node| {
            condition(&code, node).is_some_and(|condition| {
                condition.as_const().is_none() && !self.uniform.contains(&condition)
            })
        };
        let Some(after) = state(&code, &is_divergent) else { return false };
        let mut left = after.parted.iter();
        after.mixes == self.before.mixes
            && left.all(|(inst, parted)| self.before.parted.get(inst) == Some(parted))
    }
}

/// The condition that decides where a block leads.
fn condition(code: &Code<'_>, node: Node) -> Option<Value> {
    let block = block_of(node);
    let terminator = code.body.terminator(block)?;
    let is_branch = code.flow.successors(block).len() > 1;
    is_branch.then(|| code.body.operands(terminator).first().copied()).flatten()
}

/// None if there is too much to look at.
fn state(code: &Code<'_>, is_divergent: &dyn Fn(Node) -> bool) -> Option<State> {
    let joins = joins::of(code.flow, code.body)?;
    let cycles = Cycles::new(joins.cfg());
    let machine = Machine { joins: &joins, cycles: &cycles, is_divergent };
    let mixes = match machine.rounds() {
        Rounds::Apart | Rounds::Elsewhere => false,
        Rounds::Mixed { .. } => true,
        Rounds::Unknown => return None,
    };
    let blocks: Vec<Node> = code.convergent_blocks().map(node_of).collect();
    let by = joins.parted(&blocks, is_divergent).ok()?;
    let mut parted = FxHashMap::default();
    for (block, by) in blocks.into_iter().zip(by) {
        let insts = code.body.block_insts(block_of(block));
        let operations = insts.filter(|&inst| code.is_convergent(inst));
        parted.extend(operations.map(|inst| (inst, by.is_some())));
    }
    Some(State { mixes, parted })
}
