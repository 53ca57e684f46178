//! Split barriers: whether arrivals and waits take turns.
//!
//! A thread that has arrived at a split barrier has to wait for it before it arrives again, and a
//! thread must not wait that has not arrived. In PTX everything else is undefined
//! (`barrier.cluster`); on AMD GPUs the count of arrivals goes wrong.
//!
//! **Definition.** For each scope a thread is *out* or *arrived*. It begins a kernel out. An
//! arrival leads from out to arrived, a wait leads back, and a whole barrier of that scope does
//! both. A forward analysis finds for each block the set of states in which threads come to it,
//! over all paths from the entry: the union at joins. An operation is reported
//! ([`Rule::UnpairedBarrier`]) if the wrong state is in its set; as an error if no other state is.
//! The state is not known at the entry of a function that is called, and after calls of functions
//! with barriers. Nothing is reported then until the next operation.
//!
//! Barriers of some threads are left out: the program decides which threads take part.
//!
//! O(blocks × scopes), and only for functions that have such barriers.

use phalanx_graph::Node;
use phalanx_target::{Scope, intrinsics::BarrierPhase};

use super::{
    Facts, Finding, Level, Rule,
    sites::{Site, SiteKind},
};

/// A set of states of threads.
type States = u8;
const OUT: States = 1;
const ARRIVED: States = 2;
const UNKNOWN: States = 4;

/// Findings about arrivals and waits that do not take turns.
pub(super) fn findings(facts: Facts<'_>, sites: &[Site]) -> Vec<Finding> {
    let mut scopes: Vec<Scope> = sites.iter().filter_map(split_scope).collect();
    scopes.sort_unstable();
    scopes.dedup();
    scopes.into_iter().flat_map(|scope| of_scope(facts, sites, scope)).collect()
}

/// The scope of an operation that is half of a barrier for all threads.
fn split_scope(site: &Site) -> Option<Scope> {
    match site.kind {
        SiteKind::Barrier { barrier, .. }
            if !barrier.partial && barrier.phase != BarrierPhase::Both =>
        {
            Some(barrier.scope)
        }
        _ => None,
    }
}

fn of_scope(facts: Facts<'_>, sites: &[Site], scope: Scope) -> Vec<Finding> {
    let mut of_block: Vec<Vec<&Site>> = vec![Vec::new(); facts.cfg.node_count()];
    for site in sites {
        of_block[site.block.index()].push(site);
    }
    let mut before: Vec<States> = vec![0; facts.cfg.node_count()];
    let entry = facts.cfg.entry();
    before[entry.index()] = if facts.is_kernel { OUT } else { UNKNOWN };
    let mut work: Vec<Node> = vec![entry];
    while let Some(node) = work.pop() {
        let sites = of_block[node.index()].iter();
        let after = sites.fold(before[node.index()], |states, site| step(site, scope, states).0);
        for &target in facts.cfg.successors(node) {
            if before[target.index()] | after != before[target.index()] {
                before[target.index()] |= after;
                work.push(target);
            }
        }
    }
    let mut found = Vec::new();
    for node in facts.cfg.nodes() {
        let mut states = before[node.index()];
        for site in &of_block[node.index()] {
            let (after, wrong) = step(site, scope, states);
            if states & wrong != 0 {
                let level = if states == wrong { Level::Error } else { Level::Warning };
                found.push(Finding::new(Rule::UnpairedBarrier, level, site.inst, scope));
            }
            states = after;
        }
    }
    found
}

/// The states after an operation, and those in which it must not be executed.
fn step(site: &Site, scope: Scope, states: States) -> (States, States) {
    match site.kind {
        _ if states == 0 => (0, 0),
        SiteKind::Group { .. } | SiteKind::Arguments => (states, 0),
        SiteKind::Call(_) | SiteKind::Unknown => (UNKNOWN, 0),
        SiteKind::Barrier { barrier, .. } if barrier.partial || barrier.scope != scope => {
            (states, 0)
        }
        SiteKind::Barrier { barrier, .. } => match barrier.phase {
            BarrierPhase::Arrive => (ARRIVED, ARRIVED),
            BarrierPhase::Wait => (OUT, OUT),
            BarrierPhase::Both => (OUT, ARRIVED),
        },
    }
}
