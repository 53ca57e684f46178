//! Incremental update of facts about memory: an edit that does not affect them leaves them as they
//! are, and others repair them.
//!
//! # What
//!
//! [`private_memory`](super::private_memory), [`address_memory`](super::address_memory),
//! [`memory_ssa`](super::memory_ssa) and [`classic_memory_ssa`](super::classic_memory_ssa) read the
//! body, so they run again after any edit; but most edits do not touch memory. A function of [some
//! size](is_kept) retains the last answer of each, in a [`MemoryPlace`] that shares it with the
//! memo. When the query runs again, the journal lists the instructions that have changed since. If
//! the dependency set of the answer does not contain them, the query returns the same answer. Salsa
//! then compares two equal addresses, and no dependent query runs. Otherwise the query *repairs*
//! the answer: the new one shares its unchanged parts with the old one.
//!
//! # Invariants
//!
//! - A retained or repaired answer equals the one from scratch, including tables by instruction
//!   ([`by_inst`](phalanx_analysis::memory)): their equality does not depend on the number of
//!   instructions.
//! - An answer is valid for one dependency stamp: a position in the history of the body, a
//!   [layout](super::layout) of its blocks, and a number that changes whenever the environment of
//!   the function does.
//! - The other facts about the same body that an answer depends on are retained with it, and so is
//!   the graph. The query compares them with the current ones.
//!
//! Retaining an answer costs nothing, so it is done from the first query on. If an answer from
//! scratch equals the retained one, the query returns the retained one, unless the new one has a
//! larger dependency set.
//!
//! In a function that is not large, an answer is repaired after [few](is_few) changes only, since a
//! repair costs more per instruction than a computation from scratch. For such a function, two
//! numbers represent the environment for all answers. Each is a query of its own, and checking its
//! memo costs as much as examining several instructions.
//!
//! **Complexity.** O(changed instructions) for an unaffected answer. For a repair, see each answer.
//! Otherwise the cost from scratch.

use std::sync::Arc;

use phalanx_graph::{Cfg, DomTree};

use super::effects::{called_effects, intrinsic_effects, intrinsics_version, read_called_effects};
use super::graph_facts;
use super::own_environment::read_alone;
use super::promises::{constant_variables, promises};
use crate::FunctionInput;
use crate::queries::memory_fact::{Fact, objects_version};
use crate::retained::{
    place::{Ways, fresh},
    state::Graph,
};

use salsa::Database as Db;

/// How often the facts about memory of a function were found in which way.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct MemoryRepairs {
    /// Of `private_memory`.
    pub private: Ways,
    /// Of `address_memory`.
    pub addresses: Ways,
    /// Of `memory_ssa`.
    pub hssa: Ways,
    /// Of `classic_memory_ssa`.
    pub classic: Ways,
    /// Of `pointer_flow`.
    pub pointers: Ways,
}

impl MemoryRepairs {
    /// Adds those of another function.
    pub fn merge(&mut self, other: MemoryRepairs) {
        self.private.merge(other.private);
        self.addresses.merge(other.addresses);
        self.hssa.merge(other.hssa);
        self.classic.merge(other.classic);
        self.pointers.merge(other.pointers);
    }

    /// The names of the queries, and how their answers were found.
    #[must_use]
    pub fn by_query(&self) -> [(&'static str, Ways); 5] {
        [
            ("private_memory", self.private),
            ("address_memory", self.addresses),
            ("memory_ssa", self.hssa),
            ("classic_memory_ssa", self.classic),
            ("pointer_flow", self.pointers),
        ]
    }
}

impl Graph {
    /// None for a declaration.
    pub(super) fn of(db: &dyn Db, function: FunctionInput) -> Option<Self> {
        let graph = graph_facts(db, function).as_ref()?;
        Some(Graph { cfg: Arc::clone(graph.cfg()), dom: Arc::clone(graph.dom_tree()) })
    }

    pub(super) fn parts(&self) -> (&Cfg, &DomTree) {
        (&self.cfg, &self.dom)
    }
}

/// How the facts about memory of a function were found so far; all zero for functions of so few
/// instructions that nothing is kept. Not a query.
pub fn memory_repairs(db: &dyn Db, function: FunctionInput) -> MemoryRepairs {
    let slots = function.retained(db).known_memory();
    slots.map_or_else(MemoryRepairs::default, |slots| MemoryRepairs {
        private: slots.private.ways(),
        addresses: slots.addresses.ways(),
        hssa: slots.hssa.ways(),
        classic: slots.classic.ways(),
        pointers: slots.pointers.ways(),
    })
}

/// Identity of what [`memory_ssa`](super::memory_ssa) is found from besides flow, body, and other
/// facts about it.
///
/// *Reads* [`objects_version`]; attributes, effects and `written_spaces` of the callees and of the
/// intrinsics of the module. *Changes when* one of them does. *Cost* O(1).
#[salsa::tracked(returns(copy))]
pub(super) fn memory_version(db: &dyn Db, function: FunctionInput) -> u64 {
    let _ = (objects_version(db, function), promises(db, function));
    let _ = (called_effects(db, function), intrinsic_effects(db, function.module(db)));
    fresh()
}

/// Identity of what [`classic_memory_ssa`](super::classic_memory_ssa) is found from besides flow
/// and body.
///
/// *Reads* [`objects_version`], attributes of the callees and of the intrinsics of the module,
/// constant variables. *Changes when* one of them does. *Cost* O(1).
#[salsa::tracked(returns(copy))]
pub(super) fn classic_version(db: &dyn Db, function: FunctionInput) -> u64 {
    let _ = (objects_version(db, function), promises(db, function));
    let _ = constant_variables(db, function.module(db));
    fresh()
}

/// Identity of what a function that is not large is in: of all that its facts about memory are
/// found from besides flow, body, and other facts about it, but for what its callees do.
///
/// *Reads* what [`objects_version`] and [`classic_version`] do. *Changes when* one of them does.
/// *Cost* O(1).
#[salsa::tracked(returns(copy))]
fn small_version(db: &dyn Db, function: FunctionInput) -> u64 {
    read_alone(db, function);
    let _ = (promises(db, function), constant_variables(db, function.module(db)));
    fresh()
}

/// The same with what its callees do.
///
/// *Reads* what [`memory_version`] does, of intrinsics what that follows from. *Changes when* one
/// of them does. *Cost* O(calls).
#[salsa::tracked(returns(copy))]
fn small_memory_version(db: &dyn Db, function: FunctionInput) -> u64 {
    let _ = (small_version(db, function), intrinsics_version(db, function.module(db)));
    read_called_effects(db, function);
    fresh()
}

impl Fact {
    /// A number that is another when anything is another that it is found from.
    pub(super) fn version(self, db: &dyn Db, function: FunctionInput) -> u64 {
        match (self, function.is_large(db)) {
            (Fact::Objects, true) => objects_version(db, function),
            (Fact::Hssa, true) => memory_version(db, function),
            (Fact::Classic, true) => classic_version(db, function),
            (Fact::Hssa, false) => small_memory_version(db, function),
            (Fact::Objects | Fact::Classic, false) => small_version(db, function),
        }
    }
}
