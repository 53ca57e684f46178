//! Divergence: what every value, branch and use of a function depends on, and therefore among which
//! threads it is equal.
//!
//! # What
//!
//! For every value the set of *sources* ([`SourceSet`]) it depends on, such that two threads that
//! are converged at the definition and agree on these sources hold equal values (see
//! [`crate::sources`]); for every terminator likewise for the direction it takes; and for uses
//! outside of cycles what the moment of leaving the cycle depends on (*temporal divergence*).
//! Uniformity at a scope is then a mask test: `value(v) & varying(scope, facts) == {}`.
//!
//! # How to ask
//!
//! ```text
//!   Cfg, DomTree, Cycles            phalanx-graph, from the control flow alone
//!   SyncDependence                  same; one lazily filled entry per branch. Keep it across edits
//!        |                          of instructions
//!        v
//!   FlowFacts   ValueTable          the body as dense tables: ValueTableBuilder
//!        \          /
//!       solve(flow, &table, Rules::Precise)  ->  Divergence
//! ```
//!
//! Values are numbered by the caller ([`Value`]): one number per argument and per instruction that
//! is no terminator, results or not. Terminators are named by their block. A phi lists its entries
//! as the IR does, parallel edges included; [`PhiKey`] says which incoming values are known to be
//! equal. Parallel edges that bring different values need nodes of their own, see
//! [`block_graph`](crate::block_graph).
//!
//! # Rules
//!
//! The least solution of rules that each have a *single* antecedent, "if this has source `s` then
//! so has that". So the analysis is reachability in a graph: it distributes over sources, all are
//! solved in one pass over bit masks, and every derived fact has one support that explains it.
//!
//! | fact | follows from |
//! |---|---|
//! | value `u` | an operand of `u` ([`Transfer`]) |
//! | terminator of `B` | an operand of it |
//! | phi at a join `J` of `B` | the terminator of `B` |
//! | use outside a cycle | a divergent exit of the cycle |
//! | exit of a cycle is divergent | the terminator of a branch inside, or another divergent exit |
//! | irreducible cycle is assumed divergent | the terminator of a branch |
//! | values of an assumed-divergent cycle | that assumption |
//!
//! [`Rules`] chooses between LLVM's rules (bit for bit, or with its known faults repaired) and the
//! precise rules, which is what everybody should use.

mod assumed;
pub(crate) mod by_block;
pub(crate) mod consequences;
pub(crate) mod invariance;
pub(crate) mod liveout;
pub(crate) mod llvm;
mod marks;
mod naming;
mod precise;
pub(crate) mod remaining;
pub mod repair;
mod result;
pub(crate) mod selection;
mod sets;
mod table;
mod temporal;
#[cfg(any(test, feature = "testing"))]
pub mod twin;

#[cfg(doc)]
use crate::SourceSet;
pub use phalanx_graph::sync::LlvmFixes;
use phalanx_graph::sync::SyncDependence;
use phalanx_graph::{Cfg, Cycles, DomTree};

pub use crate::affect::{AffectMap, User, UserKind, Value};
#[cfg(any(test, feature = "testing"))]
pub use consequences::omitted::Omitted;
pub use result::{Divergence, TemporalUse};
pub use sets::SourceSets;
pub use table::{
    Definition, Incoming, MemoryValues, Phi, PhiKey, Transfer, ValueTable, ValueTableBuilder,
};
pub use table::{differ, narrowed, one_way_in_group};
pub use temporal::TemporalUses;

/// What the analysis needs to know of a function's control flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowFacts<'a> {
    /// The control-flow graph.
    pub cfg: &'a Cfg,
    /// Its dominator tree.
    pub dom: &'a DomTree,
    /// Its cycle hierarchy.
    pub cycles: &'a Cycles,
    /// Its sync dependence: where threads that separate at a branch meet again.
    pub sync: &'a SyncDependence,
}

/// By which rules divergence is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Rules {
    /// Sound, and as precise as we can be.
    #[default]
    Precise,
    /// LLVM's rules with the given faults repaired; [`LlvmFixes::NONE`] for what LLVM 22.1.8 says.
    Llvm(LlvmFixes),
}

/// Computes divergence by the precise rules without one of them: wrong, for tests that want to see
/// that.
#[cfg(any(test, feature = "testing"))]
#[must_use]
pub fn solve_without(flow: FlowFacts<'_>, table: &ValueTable, omitted: Omitted) -> Divergence {
    let mut answer = precise::solve_without(flow, table, Some(omitted));
    answer.truncate(table.reported());
    answer
}

/// Computes the divergence of a function.
#[must_use]
pub fn solve(flow: FlowFacts<'_>, table: &ValueTable, rules: Rules) -> Divergence {
    let mut answer = match rules {
        Rules::Precise => precise::solve(flow, table),
        Rules::Llvm(fixes) => llvm::solve(flow, table, fixes),
    };
    answer.truncate(table.reported());
    answer
}
