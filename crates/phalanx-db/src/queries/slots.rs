//! What is kept of a function beside the memos, from one edit to the next.
//!
//! A small function is looked at from scratch after each edit, but for what costs nothing to keep: its graph, and facts about memory with what is around it
//! ([`memory_slot`](super::memory_slot)). The slot of a large one's divergence comes to be when that is asked for; the others,
//! more than a thousand bytes when they are empty, when the first of them is used; so do those of facts about memory.

use std::sync::{Arc, OnceLock, atomic::AtomicBool};

use phalanx_analysis::{check::Callee, shape::access::AccessFollower};
use phalanx_graph::Node;

use super::answer_slot::AnswerSlot;
use super::argument_rounds::DivergenceSlot;
use super::check::{KeptFindings, KeptSites};
use super::conflicts::KeptConflicts;
use super::convergent::KeptConvergence;
use super::cut::CutSlot;
use super::facts::KeptNames;
use super::follow::Slot;
use super::graph_slot::GraphSlot;
use super::kinds_slot::KindsSlot;
use super::load_slot::KeptLoads;
use super::loads::KeptWrites;
use super::memory_slot::MemorySlots;
use super::retained::Retained;
use super::rounds::RoundSlots;
use super::summary_slot::SummarySlot;
use super::within_group::KeptRaces;

/// What is kept of a function beside the memos.
#[derive(Debug, Default)]
pub struct Slots {
    pub(super) graph: GraphSlot,
    /// Whether there ever was a [list](super::summaries::callee_summaries) of what is known of its callees.
    pub(super) is_listed: AtomicBool,
    memory: OnceLock<Box<MemorySlots>>,
    /// Of a large function the only one that most are ever asked for.
    divergence: OnceLock<Box<Slot>>,
    large: OnceLock<Box<LargeSlots>>,
}

impl Slots {
    /// Those of facts about memory.
    pub(super) fn memory(&self) -> &MemorySlots {
        self.memory.get_or_init(Box::default)
    }

    /// The same, if they were ever used.
    pub(super) fn known_memory(&self) -> Option<&MemorySlots> {
        self.memory.get().map(Box::as_ref)
    }

    /// That of the divergence of a large function.
    pub(super) fn divergence(&self) -> &Slot {
        self.divergence.get_or_init(Box::default)
    }

    /// The same, if it was ever used.
    pub(super) fn known_divergence(&self) -> Option<&Slot> {
        self.divergence.get().map(Box::as_ref)
    }

    /// The others of a large function.
    pub(super) fn large(&self) -> &LargeSlots {
        self.large.get_or_init(Box::default)
    }

    /// What is counted in those of a large function: nothing, where they were never used.
    pub(super) fn counted<T: Default>(&self, count: impl FnOnce(&LargeSlots) -> T) -> T {
        self.large.get().map_or_else(T::default, |slots| count(slots))
    }

    /// Drops what is kept; it is made again when it is worth it.
    pub(super) fn clear(&self) {
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

/// What is kept of a large function beside the memos and its divergence.
#[derive(Debug, Default)]
pub(super) struct LargeSlots {
    pub(super) kinds: KindsSlot,
    pub(super) barriers: AnswerSlot<Arc<[Node]>>,
    /// Without barriers, and with them.
    pub(super) race_free: [AnswerSlot<Option<KeptRaces>>; 2],
    pub(super) loads: AnswerSlot<KeptLoads>,
    pub(super) summary: SummarySlot,
    pub(super) summary_rounds: RoundSlots<SummarySlot>,
    pub(super) divergence_rounds: RoundSlots<DivergenceSlot>,
    pub(super) kinds_rounds: RoundSlots<KindsSlot>,
    pub(super) accesses: Retained<AccessFollower>,
    pub(super) conflicts: AnswerSlot<KeptConflicts>,
    pub(super) waits: AnswerSlot<Callee>,
    pub(super) sites: AnswerSlot<KeptSites>,
    pub(super) findings: AnswerSlot<KeptFindings>,
    pub(super) cut: CutSlot,
    pub(super) callees: AnswerSlot<KeptNames>,
    pub(super) convergence: AnswerSlot<KeptConvergence>,
    pub(super) written: AnswerSlot<KeptWrites>,
}

impl LargeSlots {
    fn clear(&self) {
        self.kinds.clear();
        self.barriers.clear();
        self.race_free.iter().for_each(AnswerSlot::clear);
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
            let slots = function.slots(&db);
            let (memory, large) = (slots.memory.get().is_some(), slots.large.get().is_some());
            (memory, large, function.is_large(&db))
        };
        assert_eq!(kept(4), (false, false, false), "the graph alone");
        assert_eq!(kept(80), (true, false, false));
        assert_eq!(kept(400), (true, true, true));
    }
}
