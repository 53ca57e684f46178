//! The retained state of a function beside the memos, from one edit to the next.
//!
//! A small function is analysed from scratch after each edit, with two exceptions that cost nothing
//! to retain: its graph, and facts about memory with their environment
//! ([`memory_state`](crate::queries::memory_state)). Places are allocated lazily: the one for the
//! divergence of a large function at the first query; all other ones of a large function, more than
//! a thousand bytes when empty, when one of them is first used; and those of facts about memory
//! likewise.

use std::sync::{Arc, Mutex, OnceLock, atomic::AtomicBool};

use phalanx_analysis::{
    check::Callee,
    loads::pointers::update::PointerUpdater,
    memory::{ClassicMemorySsa, MemorySsa, PrivateMemory},
    shape::access::AccessUpdater,
    spaces::{MemoryKinds, RetainedKinds},
    stable::Assumptions,
    summary::InstEffects,
    update::{ResultUpdater, ThroughUpdater},
};
use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::InstId;

use super::answers::{
    Cut, KeptConflicts, KeptConvergence, KeptFindings, KeptLoads, KeptNames, KeptRaces, KeptSites,
    KeptWrites,
};
use super::counted_multiset::CountedMultiset;
use super::graph::RetainedGraph;
use super::place::{Repairs, Retained, RetainedAnswer, RetainedRounds, UpdaterPlace, Ways, locked};

/// The retained state of a function beside the memos.
#[derive(Debug, Default)]
pub struct RetainedState {
    pub(crate) graph: RetainedGraph,
    /// Whether there ever was a [list](super::summaries::callee_summaries) of what is known of its
    /// callees.
    pub(crate) is_listed: AtomicBool,
    memory: OnceLock<Box<RetainedMemory>>,
    /// Of a large function the only one that most are ever asked for.
    divergence: OnceLock<Box<RetainedDivergence>>,
    large: OnceLock<Box<RetainedLarge>>,
}

impl RetainedState {
    /// The places for facts about memory.
    pub(crate) fn memory(&self) -> &RetainedMemory {
        self.memory.get_or_init(Box::default)
    }

    /// The same, if they were ever used.
    pub(crate) fn known_memory(&self) -> Option<&RetainedMemory> {
        self.memory.get().map(Box::as_ref)
    }

    /// The place for the divergence of a large function.
    pub(crate) fn divergence(&self) -> &RetainedDivergence {
        self.divergence.get_or_init(Box::default)
    }

    /// The same, if it was ever used.
    pub(crate) fn known_divergence(&self) -> Option<&RetainedDivergence> {
        self.divergence.get().map(Box::as_ref)
    }

    /// The others of a large function.
    pub(crate) fn large(&self) -> &RetainedLarge {
        self.large.get_or_init(Box::default)
    }

    /// What is counted in those of a large function: nothing, where they were never used.
    pub(crate) fn counted<T: Default>(&self, count: impl FnOnce(&RetainedLarge) -> T) -> T {
        self.large.get().map_or_else(T::default, |slots| count(slots))
    }

    /// Drops the retained state. Later queries may build it again.
    pub(crate) fn clear(&self) {
        self.graph.clear();
        if let Some(slots) = self.memory.get() {
            slots.clear();
        }
        if let Some(slot) = self.divergence.get() {
            slot.clear();
        }
        if let Some(slots) = self.large.get() {
            slots.clear();
        }
    }
}

/// The retained state of a large function, besides its divergence.
#[derive(Debug, Default)]
pub(crate) struct RetainedLarge {
    pub(crate) kinds: RetainedSpaces,
    pub(crate) barriers: RetainedAnswer<Arc<[Node]>>,
    /// Without barriers, and with them.
    pub(crate) race_free: [RetainedAnswer<Option<KeptRaces>>; 2],
    pub(crate) loads: RetainedAnswer<KeptLoads>,
    pub(crate) summary: RetainedSummary,
    pub(crate) summary_rounds: RetainedRounds<RetainedSummary>,
    pub(crate) divergence_rounds: RetainedRounds<RetainedPlace>,
    pub(crate) kinds_rounds: RetainedRounds<RetainedSpaces>,
    pub(crate) accesses: Retained<AccessUpdater>,
    pub(crate) conflicts: RetainedAnswer<KeptConflicts>,
    pub(crate) waits: RetainedAnswer<Callee>,
    pub(crate) sites: RetainedAnswer<KeptSites>,
    pub(crate) findings: RetainedAnswer<KeptFindings>,
    pub(crate) cut: RetainedCut,
    pub(crate) callees: RetainedAnswer<KeptNames>,
    pub(crate) convergence: RetainedAnswer<KeptConvergence>,
    pub(crate) written: RetainedAnswer<KeptWrites>,
}

impl RetainedLarge {
    fn clear(&self) {
        self.kinds.clear();
        self.barriers.clear();
        self.race_free.iter().for_each(RetainedAnswer::clear);
        self.loads.clear();
        self.accesses.clear();
        self.conflicts.clear();
        self.waits.clear();
        self.sites.clear();
        self.findings.clear();
        self.cut.clear();
        self.callees.clear();
        self.convergence.clear();
        self.written.clear();
        self.summary.clear();
        self.summary_rounds.all().iter().for_each(|slot| slot.clear());
        self.divergence_rounds.all().iter().for_each(|slot| slot.clear());
        self.kinds_rounds.all().iter().for_each(|slot| slot.clear());
    }
}

/// The retained divergence of a function, one updater per set of rules or assumptions, while no
/// query uses it.
#[derive(Debug, Default)]
pub(crate) struct RetainedDivergence {
    pub(crate) full: Mutex<(UpdaterPlace, Repairs)>,
    pub(crate) llvm: Mutex<(UpdaterPlace, Repairs)>,
    /// Ordered by their last use; the most recent one comes last.
    pub(crate) assuming: Mutex<(Vec<(Assumptions, UpdaterPlace)>, Repairs)>,
}

/// The retained divergence of a function in one round of a recursion.
#[derive(Debug, Default)]
pub(crate) struct RetainedPlace {
    pub(crate) place: Mutex<UpdaterPlace>,
    pub(crate) counts: Mutex<Repairs>,
}

impl RetainedPlace {
    pub(crate) fn clear(&self) {
        *locked(&self.place) = UpdaterPlace::New;
    }
}

/// What is retained of a function.
pub(crate) type RetainedSpaces = Retained<RetainedKinds>;

/// The retained summary of one function.
#[derive(Debug, Default)]
pub(crate) struct RetainedSummary {
    pub(crate) results: Mutex<UpdaterPlace<ResultUpdater>>,
    pub(crate) besides: RetainedAnswer<CountedMultiset<InstEffects>>,
    /// Whether nothing is known of what is done through pointers.
    pub(crate) nothing: RetainedAnswer<bool>,
    pub(crate) through: Mutex<UpdaterPlace<ThroughUpdater>>,
    pub(crate) through_counts: Mutex<Ways>,
    pub(crate) counts: Mutex<Repairs>,
}

impl RetainedSummary {
    pub(crate) fn clear(&self) {
        *locked(&self.results) = UpdaterPlace::default();
        self.besides.clear();
        self.nothing.clear();
        *locked(&self.through) = UpdaterPlace::default();
    }

    /// How often effects were found in which way.
    pub(crate) fn effects(&self) -> Ways {
        self.besides.counts()
    }

    /// How often what is done through pointers was found in which way.
    pub(crate) fn through(&self) -> Ways {
        *locked(&self.through_counts)
    }
}

/// The graph of a function, and its dominator tree.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) cfg: Arc<Cfg>,
    pub(crate) dom: Arc<DomTree>,
}

/// What one answer was found from besides the body, and the answer.
pub(crate) type MemoryPlace<T, W> = Retained<(W, Arc<T>)>;

/// The answers of a function.
#[derive(Debug, Default)]
pub(crate) struct RetainedMemory {
    pub(crate) private: MemoryPlace<PrivateMemory, Graph>,
    pub(crate) addresses: MemoryPlace<PrivateMemory, Graph>,
    pub(crate) hssa: MemoryPlace<MemorySsa, (Arc<MemoryKinds>, Graph)>,
    /// With the loads that are [marked](super::promises::invariant_marks).
    pub(crate) classic: MemoryPlace<ClassicMemorySsa, (Graph, Vec<InstId>)>,
    pub(crate) pointers: Retained<PointerUpdater>,
}

impl RetainedMemory {
    pub(crate) fn clear(&self) {
        self.private.clear();
        self.addresses.clear();
        self.hssa.clear();
        self.classic.clear();
        self.pointers.clear();
    }
}

/// What was found last of a large function.
#[derive(Debug)]
pub(crate) struct KeptCut {
    pub(crate) blocks: u64,
    pub(crate) ends: Arc<[Node]>,
    pub(crate) undefined: Vec<Node>,
    pub(crate) cut: Option<Cut>,
}

/// Where that is.
#[derive(Debug, Default)]
pub(crate) struct RetainedCut {
    pub(crate) kept: Mutex<Option<KeptCut>>,
    pub(crate) graph: RetainedGraph,
}

impl RetainedCut {
    pub(crate) fn clear(&self) {
        *locked(&self.kept) = None;
        self.graph.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use phalanx_ir::Context;

    use crate::{Database, FunctionInput, TargetOverrides, queries};

    /// A kernel of `adds` additions, with a barrier, a branch and accesses of memory.
    fn kernel(adds: usize) -> (Database, FunctionInput) {
        let sums: String =
            (0..adds).map(|n| format!("  %s{} = add i32 %s{n}, %t\n", n + 1)).collect();
        let text = format!(
            "target triple = \"amdgcn-amd-amdhsa\"
             declare i32 @llvm.amdgcn.workitem.id.x()
             declare void @llvm.amdgcn.s.barrier()
             define amdgpu_kernel void @f(ptr addrspace(1) %p) {{
               %a = alloca i32, addrspace(5)
               %t = call i32 @llvm.amdgcn.workitem.id.x()
               %s0 = add i32 %t, 1
             {sums}
               store i32 %s{adds}, ptr addrspace(5) %a
               call void @llvm.amdgcn.s.barrier()
               %c = icmp eq i32 %t, 0
               br i1 %c, label %then, label %exit
             then:
               %l = load i32, ptr addrspace(5) %a
               store i32 %l, ptr addrspace(1) %p
               br label %exit
             exit:
               ret void
             }}"
        );
        let context = Arc::new(Context::new());
        let parsed = phalanx_llvm::parse_module(context, text.as_bytes());
        let parsed = parsed.unwrap_or_else(|error| panic!("{error:?}"));
        let mut db = Database::new();
        let module = db.load(parsed.module, None, TargetOverrides::default());
        let entries = module.functions(&db).iter();
        let found =
            entries.filter(|entry| entry.is_definition).map(|entry| entry.input).next_back();
        (db, found.expect("a kernel is defined"))
    }

    fn ask(db: &Database, f: FunctionInput) {
        let _ = (queries::divergence(db, f), queries::uniformity(db, f));
        let _ = (queries::control_divergence(db, f), queries::edge_divergence(db, f));
        let _ = (queries::memory_accesses(db, f), queries::summary(db, f));
        let _ = (queries::memory_ssa(db, f), queries::classic_memory_ssa(db, f));
        let _ = (queries::memory_kinds(db, f), queries::pointer_flow(db, f));
        let _ = (queries::load_classes(db, f), queries::written_spaces(db, f));
        let _ = (queries::convergence(db, f), queries::space_conflicts(db, f));
        let _ = (queries::diagnostics(db, f), queries::callees(db, f));
        let _ = (queries::repairs(db, f), queries::kept_answers(db, f));
        let _ = (queries::memory_repairs(db, f), queries::summary_repairs(db, f));
    }

    #[test]
    fn slots_come_to_be_where_something_is_kept_in_them() {
        let kept = |adds| {
            let (db, function) = kernel(adds);
            ask(&db, function);
            let slots = function.retained(&db);
            let (memory, large) = (slots.memory.get().is_some(), slots.large.get().is_some());
            (memory, large, function.is_large(&db))
        };
        assert_eq!(kept(4), (false, false, false), "the graph alone");
        assert_eq!(kept(80), (true, false, false));
        assert_eq!(kept(400), (true, true, true));
    }
}
