//! What an edit of the graph is to objects.
//!
//! Most objects keep their SSA form ([`Disturbed`]). Besides that, it hangs on the graph
//!
//! - which instructions do anything: those that can be reached;
//! - where functions return, which what arguments point to has to do with;
//! - whether a slot holds one address ([`holders`](super::super::holders)): only if the store is
//!   met before all loads, in the dominator tree's preorder. That is about the order of two blocks,
//!   of which neither may have been edited; so it is compared for each store of an address to a
//!   slot.
//!
//! **Complexity.** That of [`Disturbed`], O(touches of patches + uses of addresses), and O(uses) of
//! a slot for each address that is put there, up to the number of instructions.

use phalanx_ir::{
    InstId, Opcode,
    flow::{block_of, node_of},
};
use rustc_hash::FxHashSet;

use super::{Patch, PrivateMemory, SlotFollower, gather::is_object, sort};
use crate::code::Code;
use crate::memory::{
    origins::is_pointer,
    private::{Touch, holders::slot_of, is_address},
    ssa::{Disturbed, EventKind, Graph},
};

/// What is in question after an edit, besides what has to do with instructions that have changed.
#[derive(Debug, Default)]
pub(crate) struct InQuestion {
    /// Whether the graph is another.
    pub(super) is_other_graph: bool,
    pub(super) objects: Vec<InstId>,
    /// What can be reached and could not, or the other way round.
    pub(super) insts: Vec<InstId>,
}

impl InQuestion {
    /// Whether the graph is the same, which leaves nothing in question.
    pub(super) fn is_nothing(&self) -> bool {
        !self.is_other_graph && self.objects.is_empty() && self.insts.is_empty()
    }
}

impl SlotFollower {
    /// What is in question where the graph has become another. None if that is too much.
    pub(crate) fn in_question(
        &self,
        code: Code<'_>,
        (old, new): (Graph<'_>, Graph<'_>),
    ) -> Option<InQuestion> {
        let disturbed = Disturbed::between(old, new)?;
        let mut objects = Vec::new();
        self.base.disturbed(&disturbed, |object| objects.push(object));
        for &block in disturbed.definitions.iter().filter(|&&node| new.has(node)) {
            for inst in code.body.block_insts(block_of(block)) {
                let Some(Patch { memory, .. }) = self.patch_of(inst) else { continue };
                let defined = memory.of(inst).iter().filter(|touch| memory.is_definition(touch));
                objects.extend(defined.map(|touch| memory.object(touch)));
            }
        }
        for memory in self.patches.iter().map(|patch| &patch.memory) {
            let phis = disturbed.joins.iter().flat_map(|&join| memory.ssa.phis_of(join));
            let phis = phis.map(|at| memory.ssa.phis()[at].variable);
            objects.extend(phis.map(|slot| memory.slots[slot as usize].alloca));
        }
        objects.extend(self.reordered(code, (old, new))?);
        objects.retain(|&object| is_object(code, object));
        sort(&mut objects);
        let turned = disturbed.turned.iter().map(|&node| block_of(node));
        let insts = turned.flat_map(|block| code.body.block_insts(block)).collect();
        Some(InQuestion { is_other_graph: true, objects, insts })
    }

    /// Slots in which an address is put, and of which a load was met before the store and is met
    /// behind it, or the other way round. None if that are more uses than there are instructions.
    fn reordered(
        &self,
        code: Code<'_>,
        (old, new): (Graph<'_>, Graph<'_>),
    ) -> Option<FxHashSet<InstId>> {
        let body = code.body;
        let memories = self.patches.iter().map(|patch| &patch.memory).chain([&self.base]);
        let users = memories.flat_map(|memory| &memory.users).map(|(user, _)| *user);
        let (mut found, mut left) = (FxHashSet::default(), body.id_count());
        for store in users.filter(|&user| puts_address(code, user, self.pointees.is_some())) {
            let slot = body.operands(store)[1].as_inst().and_then(|to| slot_of(body, to));
            let (Some(slot), Some(from)) = (slot, body.block_of(store)) else { continue };
            let is_first = |of: Graph<'_>, block| of.position(node_of(from)) < of.position(block);
            let mut work = vec![slot];
            while let Some(at) = work.pop() {
                for user in body.uses_of(at.into()).map(|read| read.user) {
                    left = left.checked_sub(1)?;
                    let Some(block) = body.block_of(user).map(node_of) else { continue };
                    if is_first(old, block) != is_first(new, block) {
                        found.insert(slot);
                    } else if is_address(body, user) && slot_of(body, user) == Some(slot) {
                        work.push(user);
                    }
                }
            }
        }
        Some(found)
    }
}

/// Whether an instruction is a store of what may be the address of an object, such as arguments may
/// be as well.
fn puts_address(code: Code<'_>, inst: InstId, are_arguments: bool) -> bool {
    /// Longer ways up are taken for one.
    const STEPS: usize = 16;
    let body = code.body;
    if body.inst(inst).opcode != Opcode::Store {
        return false;
    }
    let mut at = body.operands(inst)[0];
    for _ in 0..STEPS {
        match at.as_inst() {
            Some(step) if body.inst(step).opcode == Opcode::Alloca => return true,
            Some(step) if is_address(body, step) => at = body.operands(step)[0],
            // Only what is loaded can be an address that a slot holds.
            Some(made) => {
                let data = body.inst(made);
                return data.opcode == Opcode::Load && is_pointer(code, data.ty);
            }
            None => return are_arguments && at.as_arg().is_some(),
        }
    }
    true
}

impl PrivateMemory {
    fn is_definition(&self, touch: &Touch) -> bool {
        self.events.event(touch.event).kind != EventKind::Use
    }

    /// Tells of the objects of which some slot may have another form.
    pub(in crate::memory::private) fn disturbed(
        &self,
        disturbed: &Disturbed,
        mut tell: impl FnMut(InstId),
    ) {
        for &block in &disturbed.definitions {
            for event in self.events.of(block).map(|number| self.events.event(number)) {
                if event.kind != EventKind::Use {
                    tell(self.slots[event.variable as usize].alloca);
                }
            }
        }
        for &block in &disturbed.joins {
            for phi in &self.ssa.phis()[self.ssa.phis_of(block)] {
                tell(self.slots[phi.variable as usize].alloca);
            }
        }
    }
}
