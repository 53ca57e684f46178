//! Answers about a large function, with what they were found from, as plain data.

use std::cell::RefCell;
use std::sync::Arc;

use phalanx_analysis::{
    Convergence,
    check::{Callee, Finding, Judged, Sites},
    loads::{LoadUpdater, PassedUse, VariableUse},
    spaces::{MemoryKinds, SpaceSet},
    stable::RaceFree,
};
use phalanx_ir::{GlobalName, InstId, Type};
use rustc_hash::FxHashMap;

use super::counted_multiset::CountedMultiset;
use super::graph::GraphFacts;

/// What a function calls by name, sorted, as it is kept of a large one.
#[derive(Debug)]
pub(crate) struct KeptNames {
    pub(crate) counted_multiset: CountedMultiset<GlobalName>,
    pub(crate) names: Arc<[GlobalName]>,
}

impl KeptNames {
    pub(crate) fn new(counted_multiset: CountedMultiset<GlobalName>) -> Self {
        let mut names: Vec<GlobalName> = counted_multiset.all().collect();
        names.sort_unstable();
        KeptNames { counted_multiset, names: names.into() }
    }
}

/// Operations that threads take part in together, and the instructions that concern them, in the
/// order of the text.
#[derive(Debug)]
pub(crate) struct KeptConvergence {
    pub(crate) insts: Vec<InstId>,
    pub(crate) found: Arc<Convergence>,
}

/// What is asked by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Question {
    /// What a function may write that is called with a type.
    WrittenBy(GlobalName, Type),
    /// What it does with an argument.
    Passed(GlobalName, Type, u32),
    /// Which function writes a variable.
    Variable(GlobalName),
    /// Whether what callers pass does not change.
    IsUnchanged(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Spaces(Option<SpaceSet>),
    Use(PassedUse),
    Variable(VariableUse),
    Is(bool),
}

/// Questions that were asked, and what came back.
#[derive(Debug, Default)]
pub(crate) struct Asked(pub(crate) RefCell<FxHashMap<Question, Reply>>);

/// The classes of the loads of a function, and what was asked.
#[derive(Debug)]
pub(crate) struct KeptLoads {
    pub(crate) updater: Option<LoadUpdater>,
    pub(crate) asked: Asked,
    /// See [`promised_loads`], and [`invariant_marks`].
    pub(crate) promised: [Vec<InstId>; 2],
}

/// What instructions may write, what was asked of callees, and where addresses led.
#[derive(Debug)]
pub(crate) struct KeptWrites {
    pub(crate) counted_multiset: CountedMultiset<Option<SpaceSet>>,
    pub(crate) asked: Asked,
    pub(crate) kinds: Arc<MemoryKinds>,
}

/// Loads that are stable without races, and where addresses led.
#[derive(Debug)]
pub(crate) struct KeptRaces {
    pub(crate) found: RaceFree,
    pub(crate) kinds: Arc<MemoryKinds>,
}

/// Findings, and where addresses led.
#[derive(Debug)]
pub(crate) struct KeptConflicts {
    pub(crate) findings: Arc<[Finding]>,
    pub(crate) kinds: Arc<MemoryKinds>,
}

/// A graph without edges to some blocks, and its facts.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub(crate) graph: Arc<GraphFacts>,
    /// Identity of the graph that it was made from, and of what was left out.
    pub(crate) number: u64,
}

/// Findings of a large function, and the graphs in which they were found.
#[derive(Debug)]
pub(crate) struct KeptFindings {
    pub(crate) judged: Judged,
    pub(crate) graphs: Graphs,
}

/// Identities of the graph of a large function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Graphs {
    /// Of blocks, edges, the order of the blocks, and the edges to blocks that are never executed.
    pub(crate) all: u64,
    pub(crate) whole: u64,
    /// Of the graph without edges to blocks that are never executed, if there are such edges.
    pub(crate) cut: Option<u64>,
}

/// Operations of a function that rules are about, and what was asked of functions that it calls.
pub(crate) type KeptSites = (Arc<Sites>, FxHashMap<GlobalName, Callee>);
