//! What the rules read of a function, and what they are told of the functions around it.

use phalanx_core::divergence::{Divergence, SourceSets};
use phalanx_graph::{Cfg, ControlDependence, Cycles, Dfs, DomTree, PostDomTree};
use phalanx_ir::GlobalName;
use phalanx_target::{LaunchFacts, Scope, SourceSet, Target};
use rustc_hash::{FxHashMap, FxHashSet};

use super::notes::Notes;
use crate::code::Code;

/// What the checks read of a function.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The function.
    pub code: Code<'a>,
    /// Its blocks and edges, without those to blocks that [nobody comes to](super::is_undefined).
    pub cfg: &'a Cfg,
    /// A search from the entry; it may follow these edges as well.
    pub dfs: &'a Dfs,
    /// Dominators; likewise.
    pub dom: &'a DomTree,
    /// Post-dominators of that graph.
    pub postdom: &'a PostDomTree,
    /// Control dependence in it.
    pub control: &'a ControlDependence,
    /// Cycles.
    pub cycles: &'a Cycles,
    /// What diverges.
    pub divergence: &'a Divergence,
    /// By block: the sources that its execution depends on.
    pub controlled: &'a SourceSets,
    /// What is known of launches.
    pub launch: &'a LaunchFacts,
    /// By scope, as [`Scope::ALL`] orders them: what varies within it, by what is known of
    /// launches. It is asked for at every branch.
    pub varying: [SourceSet; Scope::ALL.len()],
    /// What it runs on.
    pub target: &'a Target,
    /// Whether threads start here, and end where it returns.
    pub is_kernel: bool,
    /// Whether arguments are known to be what callers pass; else anything may come.
    pub callers_are_known: bool,
    /// What is known of a function that is called.
    pub callee: &'a dyn Fn(GlobalName) -> Callee,
    /// What a function that is called does with workgroup memory at its ends.
    pub edges: &'a dyn Fn(GlobalName) -> Edges,
    /// What it depends on whether a thread comes to this function: nothing, in a kernel. It takes a
    /// look at all callers.
    pub called_under: &'a dyn Fn() -> SourceSet,
    /// What the calls of this function are known to pass. It takes a look at all callers.
    pub passed: &'a dyn Passed,
    /// Where it is put down what is read.
    pub notes: Option<&'a Notes>,
}

/// What is asked about calls of a function. Nothing is known by default.
pub trait Passed {
    /// What these threads come with, once for each [way](super::entries()) to the function that is
    /// known.
    fn entries(&self, _threads: &[[u32; 3]], _scope: Scope) -> Vec<Entries> {
        Vec::new()
    }

    /// Whether every call [passes one value](super::passes_one) for an argument.
    fn is_one(&self, _argument: usize, _scope: Scope) -> bool {
        false
    }
}

impl Facts<'_> {
    /// What varies within a scope.
    pub(super) fn varying(&self, scope: Scope) -> SourceSet {
        self.varying[scope as usize]
    }
}

/// What a function that is called does, as far as barriers are concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee {
    /// It executes no barrier.
    Silent,
    /// There is a barrier in it, or in what it calls.
    Barrier,
    /// Nothing is known: it may.
    Unknown,
}

/// What a function does with workgroup memory before its first barrier and behind its last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Edges {
    /// It writes before any barrier.
    pub writes_first: bool,
    /// It returns what it reads behind all of them.
    pub returns_read: bool,
}

/// One thread at its first arrival at a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// Which round of the cycles around the call it is, from the innermost one on.
    pub(super) rounds: Vec<u32>,
    /// What is known of the arguments.
    pub(super) arguments: Vec<Option<u64>>,
    /// Whether all threads of the scope that would come by what is known of them do if one does.
    pub(super) is_sure: bool,
}

/// Threads at one call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Entries {
    pub(super) come: FxHashMap<[u32; 3], Entry>,
    /// They go another way.
    pub(super) away: FxHashSet<[u32; 3]>,
}

impl Entries {
    /// How a thread comes; none if it does not, or if that is not known.
    pub(super) fn of(&self, thread: [u32; 3]) -> Option<&Entry> {
        self.come.get(&thread)
    }

    /// Whether a thread does not come to the call, though it has not ended.
    pub(super) fn is_away(&self, thread: [u32; 3]) -> bool {
        self.away.contains(&thread)
    }
}
