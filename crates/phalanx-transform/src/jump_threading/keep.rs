//! Which ways may be taken without a change of groups.
//!
//! A block is copied for some of its predecessors, and the copy leads to one successor. The copy alone changes no group of others: the
//! block is no header, so all cycles keep theirs, and a copy is in the cycles that the block is in. What may change groups is that the copy
//! does not lead to the other successors: who came to a vote in a cycle by an edge that is never taken may fall out of that cycle. So the
//! graph with the copies is compared with that in which they lead on ([`crate::groups`]).
//!
//! O(blocks + edges) for all, and where that fails for each of a bounded number.

use phalanx_graph::{Cfg, Cycles, Node};
use phalanx_ir::flow::node_of;
use rustc_hash::FxHashMap;

use super::Plan;
use crate::{code::Code, groups::disturbed};

/// How many plans are looked at one by one.
const SINGLE: usize = 16;

/// The plans that change no group.
pub(super) fn keeping_groups(
    code: &Code<'_>,
    (cfg, cycles): (&Cfg, &Cycles),
    plans: Vec<Plan>,
) -> Vec<Plan> {
    if cycles.is_empty() {
        return plans;
    }
    let convergent: Vec<Node> = code.convergent_blocks().map(node_of).collect();
    if convergent.is_empty() || keeps(cfg, &convergent, &plans) {
        return plans;
    }
    let mut kept: Vec<Plan> = Vec::new();
    for plan in plans.into_iter().take(SINGLE) {
        kept.push(plan);
        if !keeps(cfg, &convergent, &kept) {
            kept.pop();
        }
    }
    kept
}

fn keeps(cfg: &Cfg, convergent: &[Node], plans: &[Plan]) -> bool {
    let (before, after) = (with(cfg, plans, false), with(cfg, plans, true));
    let (cycles_before, cycles_after) = (Cycles::new(&before), Cycles::new(&after));
    let copies = (cfg.node_count()..).zip(plans);
    let copied = copies.filter(|(_, plan)| convergent.contains(&node_of(plan.block)));
    let watched: Vec<Node> =
        convergent.iter().copied().chain(copied.map(|(at, _)| Node::new(at))).collect();
    disturbed((&before, &cycles_before), (&after, &cycles_after), &watched).is_empty()
}

/// The graph with a copy of its block for each plan, which leads on as the block does, or where it is known to.
fn with(cfg: &Cfg, plans: &[Plan], is_known: bool) -> Cfg {
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
        if let Some(&to) = jumps.get(&node).filter(|_| is_known) {
            return vec![to];
        }
        let original = match node.index().checked_sub(cfg.node_count()) {
            Some(at) => node_of(plans[at].block),
            None => node,
        };
        let successors = cfg.successors(original).iter();
        successors.map(|&next| entered.get(&(node, next)).copied().unwrap_or(next)).collect()
    });
    Cfg::new(cfg.entry(), lists)
}
