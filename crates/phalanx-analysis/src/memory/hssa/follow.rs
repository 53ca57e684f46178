//! How the HSSA form of a function follows edits of instructions.
//!
//! # What
//!
//! With the same graph the [form](crate::memory::form) is another one only where an instruction touches other classes than before, comes, goes or moves. What an
//! instruction touches follows from
//!
//! - itself: its operation, ordering, flags, the types of its operands, and what it calls. A change of these is in the journal;
//! - whether it touches private slots, and of a call which objects: from private memory. With another one, all instructions are looked at that touch
//!   slots there or in that of before and not in both, and calls that touch any;
//! - which objects the arguments of such a call are made from. They are looked for a number of steps up, so the same private memory does not say that
//!   as many are found: when a step changes, nothing is known;
//! - where its operands may lead ([`MemoryKinds`](crate::spaces::MemoryKinds)): that may change although the instruction does not, so whoever reads
//!   a value of which something else is known is looked at as well;
//! - what the functions that it calls promise and do: whoever keeps the form knows that these are the same.
//!
//! Nothing else is read, so an instruction that touches no class, before and after, is nothing to it.
//!
//! **Complexity.** That of [`Form::follow`](crate::memory::form), for changed instructions and users of values that lead elsewhere; with another private memory
//! O(touches of slots).

use std::sync::Arc;

use phalanx_graph::{Cfg, DomTree};
use phalanx_ir::{InstId, flow::node_of};

use super::{MemorySsa, Reach, Scan};
use crate::edited::Edited;
use crate::lower::{Code, Surroundings};
use crate::memory::{
    Followed, PrivateMemory,
    form::{Does, Look},
};

impl MemorySsa {
    /// The form after some instructions were inserted, removed, moved or changed, and something else is known of
    /// where the results of `others` lead. The graph and what is known of calls are the same.
    #[must_use]
    pub fn follow(
        &self,
        code: Code<'_>,
        around: Surroundings<'_>,
        graph: (&Cfg, &DomTree),
        (private, reach): (&Arc<PrivateMemory>, Reach<'_>),
        (edited, others): (Edited<'_>, &[InstId]),
    ) -> Followed<Self> {
        let Edited { insts: changed, blocks: None, .. } = edited else { return Followed::Unknown };
        let old = &self.private;
        let body = code.body;
        // Whoever used one that nobody uses any more has changed as well.
        let is_step = |inst: &InstId| {
            body.is_used((*inst).into()) && (old.is_address(*inst) || private.is_address(*inst))
        };
        if changed.iter().any(is_step) {
            return Followed::Unknown;
        }
        let scan = Scan { code, around, private, reach };
        let look = |inst: InstId| {
            let block = body.block_of(inst).filter(|block| graph.1.is_reachable(node_of(*block)));
            Look { inst, does: block.map_or(Does::NOTHING, |_| scan.does(inst)) }
        };
        let users = |value: &InstId| body.uses_of((*value).into()).map(|read| read.user);
        let mut looked: Vec<Look> = changed.iter().map(|&inst| look(inst)).collect();
        looked.extend(others.iter().flat_map(users).map(look));
        let is_same_memory = Arc::ptr_eq(old, private);
        if !is_same_memory {
            let touched = |memory: &Arc<PrivateMemory>, other: &Arc<PrivateMemory>| {
                let insts = memory.touches().iter().map(|touch| touch.inst);
                let is_call = |inst: InstId| body.inst(inst).opcode.is_call();
                let matters = |inst: &InstId| is_call(*inst) || other.of(*inst).is_empty();
                insts.filter(matters).map(look).collect::<Vec<Look>>()
            };
            looked.extend(touched(old, private));
            looked.extend(touched(private, old));
        }
        match self.form.follow(body, graph, &looked) {
            None if is_same_memory => Followed::Same,
            form => {
                let form = form.unwrap_or_else(|| self.form.clone());
                Followed::Other(Self { private: Arc::clone(private), form })
            }
        }
    }
}
