//! Incremental update of the HSSA form of a function after edits.
//!
//! # What
//!
//! The [form](crate::memory::form) changes only if the graph does, or if an instruction is
//! inserted, removed, moved, or touches other classes than before. What an instruction touches
//! depends on
//!
//! - the instruction: its operation, ordering, flags, the types of its operands, and its callee.
//!   The journal records each change of these;
//! - whether it touches private slots and, for a call, which objects: facts from private memory. If
//!   private memory has changed, the update examines instructions that touch slots only before or
//!   only after the edit, and calls whose objects may have changed;
//! - the objects from which the arguments of such a call are computed. The search for them stops
//!   after a number of steps, so its result can change although private memory does not. If an edit
//!   changes such a step, the update examines the calls whose arguments are computed from it;
//! - the memories that its operands may lead to ([`MemoryKinds`](crate::spaces::MemoryKinds)). They
//!   can change although the instruction does not, so the update also examines the users of each
//!   value whose kinds have changed;
//! - attributes and summaries of its callees. The caller of the update guarantees that these are
//!   unchanged;
//! - whether its block can be reached. The edit lists the blocks for which that has changed, with
//!   their instructions.
//!
//! The form depends on nothing else. So an edit of an instruction that touches no class, before and
//! after, does not change it.
//!
//! **Complexity.** That of [`Form::update`](crate::memory::form), for changed instructions and
//! users of values whose kinds have changed; times a bound for each changed address. If private
//! memory has changed, also a comparison per touch of a slot. The touches between the first and the
//! last difference are examined.

use std::sync::Arc;

use phalanx_ir::{Body, InstId, Opcode, flow::node_of};

use super::{MemorySsa, Reach, Scan};
use crate::code::{Code, Environment};
use crate::edited::Edited;
use crate::memory::{
    PrivateMemory, UpdatedFact,
    form::{Does, Graphs, Look},
    private::Touch,
};

/// The largest number of uses that are visited from a changed address.
const MADE: usize = 256;

impl MemorySsa {
    /// The form after an edit. `others` are instructions whose results lead to other memories than
    /// before. Attributes and summaries of callees are unchanged.
    #[must_use]
    pub fn update(
        &self,
        code: Code<'_>,
        env: Environment<'_>,
        graphs: Graphs<'_>,
        (private, reach): (&Arc<PrivateMemory>, Reach<'_>),
        (edited, others): (Edited<'_>, &[InstId]),
    ) -> UpdatedFact<Self> {
        let old = &self.private;
        let body = code.body;
        let scan = Scan { code, env, private, reach };
        let dom = graphs.now.1;
        let look = |inst: InstId| {
            let block = body.block_of(inst).filter(|block| dom.is_reachable(node_of(*block)));
            Look { inst, does: block.map_or(Does::NOTHING, |_| scan.does(inst)) }
        };
        let users = |value: &InstId| body.uses_of((*value).into()).map(|read| read.user);
        // An instruction that only has moved with its block does the same as before.
        let again = |inst: InstId| Look { inst, does: self.form.does(inst) };
        let all = edited.each().map(|(inst, is_own)| if is_own { look(inst) } else { again(inst) });
        let mut looked: Vec<Look> = all.collect();
        looked.extend(others.iter().flat_map(users).map(look));
        for &step in edited.own {
            let is_step = old.is_address(step) || private.is_address(step);
            if is_step && !each_call(body, step, |call| looked.push(look(call))) {
                return UpdatedFact::Unknown;
            }
        }
        let is_same_memory = Arc::ptr_eq(old, private);
        if !is_same_memory {
            let [before, now] = otherwise(old, private);
            let is_call = |inst: InstId| body.inst(inst).opcode.is_call();
            let touched = |touches: &[Touch], other: &PrivateMemory| {
                let insts = touches.iter().map(|touch| touch.inst);
                let matters = |inst: &InstId| is_call(*inst) || other.of(*inst).is_empty();
                insts.filter(matters).map(look).collect::<Vec<Look>>()
            };
            looked.extend(touched(before, private));
            looked.extend(touched(now, old));
        }
        let form = match self.form.update(body, graphs, &looked, edited.blocks) {
            UpdatedFact::Same if is_same_memory => return UpdatedFact::Same,
            UpdatedFact::Same => self.form.clone(),
            UpdatedFact::Other(form) => form,
            UpdatedFact::Unknown => return UpdatedFact::Unknown,
        };
        UpdatedFact::Other(Self { private: Arc::clone(private), form })
    }
}

/// Calls `call` for each call whose arguments are computed from an address by steps and casts.
/// Returns false if the bound is exceeded.
fn each_call(body: &Body, address: InstId, mut call: impl FnMut(InstId)) -> bool {
    let mut work: smallvec::SmallVec<[InstId; 8]> = smallvec::SmallVec::from_slice(&[address]);
    let mut left = MADE;
    while let Some(address) = work.pop() {
        for read in body.uses_of(address.into()) {
            let Some(rest) = left.checked_sub(1) else { return false };
            left = rest;
            match body.inst(read.user).opcode {
                opcode if opcode.is_call() => call(read.user),
                Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast
                    if read.index == 0 =>
                {
                    work.push(read.user);
                }
                _ => {}
            }
        }
    }
    true
}

/// The touches of two private memories, without the common prefix and the common suffix: those of
/// the same instructions and objects.
fn otherwise<'a>(one: &'a PrivateMemory, other: &'a PrivateMemory) -> [&'a [Touch]; 2] {
    let (mut a, mut b) = (one.touches(), other.touches());
    let is_same = |a: &Touch, b: &Touch| a.inst == b.inst && one.object(a) == other.object(b);
    let same = a.iter().zip(b).take_while(|(a, b)| is_same(a, b)).count();
    (a, b) = (&a[same..], &b[same..]);
    let same = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| is_same(a, b)).count();
    [&a[..a.len() - same], &b[..b.len() - same]]
}
