//! The facts that rules read, about a function and about the functions around it.

use phalanx_core::divergence::{Divergence, SourceSets};
use phalanx_graph::{Cfg, ControlDependence, Cycles, Dfs, DomTree, PostDomTree};
use phalanx_ir::GlobalName;
use phalanx_target::{LaunchFacts, Scope, SourceSet, Target};
use rustc_hash::{FxHashMap, FxHashSet};

use super::notes::Notes;
use crate::code::Code;

/// The facts that rules read about a function.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The function.
    pub code: Code<'a>,
    /// Its blocks and edges, without edges to blocks that [are undefined](super::is_undefined) to
    /// enter.
    pub cfg: &'a Cfg,
    /// A depth-first search from the entry; it may use these edges as well.
    pub dfs: &'a Dfs,
    /// Dominators; they may use these edges as well.
    pub dom: &'a DomTree,
    /// Post-dominators of that graph.
    pub postdom: &'a PostDomTree,
    /// Control dependence in it.
    pub control: &'a ControlDependence,
    /// Cycles.
    pub cycles: &'a Cycles,
    /// The divergence of the function.
    pub divergence: &'a Divergence,
    /// By block: the sources that its execution depends on.
    pub controlled: &'a SourceSets,
    /// What is known of launches.
    pub launch: &'a LaunchFacts,
    /// By scope, in the order of [`Scope::ALL`]: the sources that vary within it, given what is
    /// known of launches. Needed at every branch.
    pub varying: [SourceSet; Scope::ALL.len()],
    /// The target.
    pub target: &'a Target,
    /// Whether threads start in the function, and end where it returns.
    pub is_kernel: bool,
    /// Whether the facts about arguments come from all callers; otherwise callers may pass
    /// anything.
    pub callers_are_known: bool,
    /// Whether a callee has barriers.
    pub callee: &'a dyn Fn(GlobalName) -> Callee,
    /// What a callee does with workgroup memory before its first barrier and after its last one.
    pub edges: &'a dyn Fn(GlobalName) -> Edges,
    /// The sources that decide whether a thread comes to this function: none for a kernel. Needs a
    /// look at all callers.
    pub called_under: &'a dyn Fn() -> SourceSet,
    /// What the calls of this function are known to pass. Needs a look at all callers.
    pub passed: &'a dyn Passed,
    /// Where rules record what they read.
    pub notes: Option<&'a Notes>,
}

/// What calls of a function pass. By default, nothing is known.
pub trait Passed {
    /// What these threads come with, once for each known [way](super::entries()) to the function.
    fn entries(&self, _threads: &[[u32; 3]], _scope: Scope) -> Vec<Entries> {
        Vec::new()
    }

    /// Whether every call [passes one value](super::passes_one) for an argument.
    fn is_one(&self, _argument: usize, _scope: Scope) -> bool {
        false
    }
}

impl Facts<'_> {
    /// The sources that vary within a scope.
    pub(super) fn varying(&self, scope: Scope) -> SourceSet {
        self.varying[scope as usize]
    }
}

/// What a callee does, as far as barriers are concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee {
    /// It executes no barrier.
    Silent,
    /// It, or one of its callees, has a barrier.
    Barrier,
    /// Nothing is known: it may have a barrier.
    Unknown,
}

/// What a function does with workgroup memory before its first barrier and after its last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Edges {
    /// It writes before any barrier.
    pub writes_first: bool,
    /// It returns what it reads after its last barrier.
    pub returns_read: bool,
}

/// One thread at its first arrival at a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// The round in each cycle around the call, from the innermost cycle on.
    pub(super) rounds: Vec<u32>,
    /// The arguments, as far as known.
    pub(super) arguments: Vec<Option<u64>>,
    /// Whether the arrival of one thread implies that of all threads of the scope that would come,
    /// as far as is known.
    pub(super) is_sure: bool,
}

/// Threads at one call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Entries {
    pub(super) come: FxHashMap<[u32; 3], Entry>,
    /// Threads that go another way.
    pub(super) away: FxHashSet<[u32; 3]>,
}

impl Entries {
    /// The entry of a thread; none if it does not come, or if that is not known.
    pub(super) fn of(&self, thread: [u32; 3]) -> Option<&Entry> {
        self.come.get(&thread)
    }

    /// Whether a thread does not come to the call, although it has not ended.
    pub(super) fn is_away(&self, thread: [u32; 3]) -> bool {
        self.away.contains(&thread)
    }
}
