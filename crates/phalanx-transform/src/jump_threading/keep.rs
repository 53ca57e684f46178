//! Which jumps may be threaded without changing a group of threads.
//!
//! A block is copied for some of its predecessors, and the copy leads to one successor. Copying
//! alone changes no group: the block is no header, so all cycles keep their headers, and the copy
//! is in the same cycles as the block. But the copy drops the edges to the other successors. A
//! thread that came to a vote in a cycle by such a never-taken edge may then be outside of that
//! cycle. So [`disturbed`] compares the graph with threaded copies to the graph in which the copies
//! keep all successors ([`crate::groups`]).
//!
//! On machines that reconverge at post-dominators, the copy removes a place where the sides of a
//! branch join. There the groups are kept if all convergent operations are whole, before and after
//! ([`phalanx_core::legality::machines`]).
//!
//! O(blocks + edges) for all plans at once; if that check fails, the same for each of a bounded
//! number of plans. For machines that reconverge at post-dominators, the same for each divergent
//! branch.

use phalanx_core::legality::machines::{Machine, Machines};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::{Cfg, Cycles, Joins, Node, Reconvergence};
use phalanx_ir::{
    Opcode,
    flow::{block_of, node_of},
};
use phalanx_target::{Scope, varying};
use rustc_hash::FxHashMap;

use super::Plan;
use crate::{code::Code, groups::disturbed};

/// How many plans are checked one by one.
const SINGLE: usize = 16;

/// The plans that change no group under the given reconvergence models.
pub(super) fn keeping_groups(
    (db, function): (&Database, FunctionInput),
    code: &Code<'_>,
    machines: Machines,
    plans: Vec<Plan>,
) -> Vec<Plan> {
    let (Some(cfg), Some(cycles)) = (queries::cfg(db, function), queries::cycles(db, function))
    else {
        return Vec::new();
    };
    let convergent: Vec<Node> = code.convergent_blocks().map(node_of).collect();
    if convergent.is_empty() || plans.is_empty() {
        return plans;
    }
    let Some(facts) = queries::divergence(db, function) else { return Vec::new() };
    let within = varying(Scope::Wave, queries::launch_facts(db, function));
    let is_divergent = |node| facts.terminator(node).intersects(within);
    let graph = Graph { code, cfg, convergent, is_divergent: &is_divergent };
    let has_stacks = machines.include(Reconvergence::PostDominator);
    if has_stacks && !graph.is_whole(&[]) {
        return Vec::new();
    }
    let keeps = |plans: &[Plan]| {
        let keeps_rounds = !machines.include(Reconvergence::Maximal)
            || cycles.is_empty()
            || graph.keeps_rounds(plans);
        keeps_rounds && (!has_stacks || graph.is_whole(plans))
    };
    if keeps(&plans) {
        return plans;
    }
    let mut kept: Vec<Plan> = Vec::new();
    for plan in plans.into_iter().take(SINGLE) {
        kept.push(plan);
        if !keeps(&kept) {
            kept.pop();
        }
    }
    kept
}

struct Graph<'a> {
    code: &'a Code<'a>,
    cfg: &'a Cfg,
    /// Blocks with convergent operations.
    convergent: Vec<Node>,
    is_divergent: &'a dyn Fn(Node) -> bool,
}

impl Graph<'_> {
    /// Blocks with convergent operations, copies included.
    fn watched(&self, plans: &[Plan]) -> Vec<Node> {
        let copies = (self.cfg.node_count()..).zip(plans);
        let copied = copies.filter(|(_, plan)| self.convergent.contains(&node_of(plan.block)));
        self.convergent.iter().copied().chain(copied.map(|(at, _)| Node::new(at))).collect()
    }

    fn keeps_rounds(&self, plans: &[Plan]) -> bool {
        let (before, after) =
            (with(self.cfg, plans, Ways::None), with(self.cfg, plans, Ways::OfCopies));
        let (cycles_before, cycles_after) = (Cycles::new(&before), Cycles::new(&after));
        let (before, after) = ((&before, &cycles_before), (&after, &cycles_after));
        disturbed(before, after, &self.watched(plans)).is_empty()
    }

    /// Whether all convergent operations are whole after the plans.
    fn is_whole(&self, plans: &[Plan]) -> bool {
        let after = with(self.cfg, plans, Ways::All);
        let original = |node: Node| match node.index().checked_sub(self.cfg.node_count()) {
            Some(at) => node_of(plans[at].block),
            None => node,
        };
        let body = self.code.body;
        let is_unreachable = |node: Node| {
            let end = body.terminator(block_of(original(node)));
            end.is_none_or(|end| body.inst(end).opcode == Opcode::Unreachable)
        };
        let joins = Joins::new(&after, &is_unreachable);
        let cycles = Cycles::new(&after);
        let is_divergent = |node: Node| (self.is_divergent)(original(node));
        let machine = Machine { joins: &joins, cycles: &cycles, is_divergent: &is_divergent };
        machine.whole(&self.watched(plans)).is_ok()
    }
}

/// Which edges of blocks and copies a graph has.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Ways {
    /// Copies keep all successors of their block.
    None,
    /// Copies lead to their known successor only.
    OfCopies,
    /// Copies lead to their known successor only, and copied blocks keep only the successors that
    /// their remaining predecessors can reach.
    All,
}

/// The graph with a copy of its block for each plan.
fn with(cfg: &Cfg, plans: &[Plan], ways: Ways) -> Cfg {
    let mut entered: FxHashMap<(Node, Node), Node> = FxHashMap::default();
    let mut jumps: FxHashMap<Node, Node> = FxHashMap::default();
    for (at, plan) in (cfg.node_count()..).zip(plans) {
        let (block, copy, to) = (node_of(plan.block), Node::new(at), node_of(plan.to));
        if plan.from.is_empty() {
            jumps.insert(block, to);
        }
        jumps.insert(copy, to);
        entered.extend(plan.from.iter().map(|&from| ((node_of(from), block), copy)));
    }
    let lists = cfg.nodes().chain((cfg.node_count()..).zip(plans).map(|(at, _)| Node::new(at)));
    let lists = lists.map(|node| -> Vec<Node> {
        if let Some(&to) = jumps.get(&node).filter(|_| ways != Ways::None) {
            return vec![to];
        }
        let original = match node.index().checked_sub(cfg.node_count()) {
            Some(at) => node_of(plans[at].block),
            None => node,
        };
        let is_copied = |plan: &&Plan| node_of(plan.block) == node && !plan.from.is_empty();
        let successors = match plans.iter().find(is_copied).filter(|_| ways == Ways::All) {
            Some(plan) => plan.rest.iter().map(|&to| node_of(to)).collect(),
            None => cfg.successors(original).to_vec(),
        };
        let entered = |next| entered.get(&(node, next)).copied().unwrap_or(next);
        successors.into_iter().map(entered).collect()
    });
    Cfg::new(cfg.entry(), lists)
}
