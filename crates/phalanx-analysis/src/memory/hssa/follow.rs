//! How the HSSA form of a function follows edits.
//!
//! # What
//!
//! The [form](crate::memory::form) is another one only where an instruction touches other classes
//! than before, comes, goes or moves, or where the graph is another one. What an instruction
//! touches follows from
//!
//! - itself: its operation, ordering, flags, the types of its operands, and what it calls. A change
//!   of these is in the journal;
//! - whether it touches private slots, and of a call which objects: from private memory. With
//!   another one, all instructions are looked at that touch slots there or in that of before and
//!   not in both, and calls of which the objects may be others;
//! - which objects the arguments of such a call are made from. They are looked for a number of
//!   steps up, so the same private memory does not say that as many are found: when a step changes,
//!   the calls are looked at that are given what is made from it;
//! - where its operands may lead ([`MemoryKinds`](crate::spaces::MemoryKinds)): that may change
//!   although the instruction does not, so whoever reads a value of which something else is known
//!   is looked at as well;
//! - what the functions that it calls promise and do: whoever keeps the form knows that these are
//!   the same;
//! - whether its block can be reached: a block of which that is another answer is told of, with its
//!   instructions.
//!
//! Nothing else is read, so an instruction that touches no class, before and after, is nothing to
//! it.
//!
//! **Complexity.** That of [`Form::follow`](crate::memory::form), for changed instructions and
//! users of values that lead elsewhere; times a bound for changed steps. With another private
//! memory O(touches of slots), a comparison each but for those between the first and the last one
//! that differs.

use std::sync::Arc;

use phalanx_ir::{Body, InstId, Opcode, flow::node_of};

use super::{MemorySsa, Reach, Scan};
use crate::code::{Code, Surroundings};
use crate::edited::Edited;
use crate::memory::{
    Followed, PrivateMemory,
    form::{Does, Graphs, Look},
    private::Touch,
};

/// How many uses of what is made from a changed address are looked at.
const MADE: usize = 256;

impl MemorySsa {
    /// The form after an edit; something else is known of where the results of `others` lead. What
    /// is known of calls is the same.
    #[must_use]
    pub fn follow(
        &self,
        code: Code<'_>,
        around: Surroundings<'_>,
        graphs: Graphs<'_>,
        (private, reach): (&Arc<PrivateMemory>, Reach<'_>),
        (edited, others): (Edited<'_>, &[InstId]),
    ) -> Followed<Self> {
        let old = &self.private;
        let body = code.body;
        let scan = Scan { code, around, private, reach };
        let dom = graphs.now.1;
        let look = |inst: InstId| {
            let block = body.block_of(inst).filter(|block| dom.is_reachable(node_of(*block)));
            Look { inst, does: block.map_or(Does::NOTHING, |_| scan.does(inst)) }
        };
        let users = |value: &InstId| body.uses_of((*value).into()).map(|read| read.user);
        // What stands in another block than before does what it did.
        let again = |inst: InstId| Look { inst, does: self.form.does(inst) };
        let all = edited.each().map(|(inst, is_own)| if is_own { look(inst) } else { again(inst) });
        let mut looked: Vec<Look> = all.collect();
        looked.extend(others.iter().flat_map(users).map(look));
        for &step in edited.own {
            let is_step = old.is_address(step) || private.is_address(step);
            if is_step && !each_call(body, step, |call| looked.push(look(call))) {
                return Followed::Unknown;
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
        let form = match self.form.follow(body, graphs, &looked, edited.blocks) {
            Followed::Same if is_same_memory => return Followed::Same,
            Followed::Same => self.form.clone(),
            Followed::Other(form) => form,
            Followed::Unknown => return Followed::Unknown,
        };
        Followed::Other(Self { private: Arc::clone(private), form })
    }
}

/// Calls for calls that are given what is made from an address by steps; false if too much is made
/// from it.
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

/// The touches of two private memories but for those at the beginning and at the end that are of
/// the same instructions and objects.
fn otherwise<'a>(one: &'a PrivateMemory, other: &'a PrivateMemory) -> [&'a [Touch]; 2] {
    let (mut a, mut b) = (one.touches(), other.touches());
    let is_same = |a: &Touch, b: &Touch| a.inst == b.inst && one.object(a) == other.object(b);
    let same = a.iter().zip(b).take_while(|(a, b)| is_same(a, b)).count();
    (a, b) = (&a[same..], &b[same..]);
    let same = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| is_same(a, b)).count();
    [&a[..a.len() - same], &b[..b.len() - same]]
}
