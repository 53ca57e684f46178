//! The objects that an edit of the graph affects.
//!
//! Most objects keep their SSA form ([`Disturbed`]). Besides, private memory depends on the graph
//! in three ways:
//!
//! - only reachable instructions count;
//! - the returns of the function read the objects that arguments point to;
//! - an alloca holds one address ([`holders`](super::super::holders)) only if a scan in the
//!   preorder of the dominator tree meets the store before all loads. An edit elsewhere can change
//!   the order of the two blocks. So the update compares their order for each store of an address
//!   to an alloca.
//!
//! **Complexity.** That of [`Disturbed`], O(touches of patches + uses of addresses), and O(uses) of
//! an alloca for each store of an address there, up to the number of instructions.

use phalanx_ir::{
    InstId, Opcode,
    flow::{block_of, node_of},
};
use rustc_hash::FxHashSet;

use super::{Patch, PrivateMemory, PrivateMemoryUpdater, gather::is_object, sort};
use crate::code::Code;
use crate::memory::{
    origins::is_pointer,
    private::{Touch, holders::slot_of, is_address},
    ssa::{Disturbed, EventKind, Graph},
};

/// What a change of the graph affects, besides the objects of changed instructions.
#[derive(Debug, Default)]
pub(crate) struct InQuestion {
    /// Whether the graph has changed.
    pub(super) is_other_graph: bool,
    pub(super) objects: Vec<InstId>,
    /// Instructions that became reachable or unreachable.
    pub(super) insts: Vec<InstId>,
}

impl InQuestion {
    /// Whether the graph is the same, so that nothing is affected.
    pub(super) fn is_nothing(&self) -> bool {
        !self.is_other_graph && self.objects.is_empty() && self.insts.is_empty()
    }
}

impl PrivateMemoryUpdater {
    /// Finds what a change of the graph affects. `None` if the budget was exceeded.
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

    /// Allocas in which an address is stored, and whose store has changed its order relative to
    /// another use. `None` if there are more uses to compare than instructions.
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

/// Whether an instruction stores a value that may be the address of an object. `are_arguments` says
/// whether arguments are such addresses.
fn puts_address(code: Code<'_>, inst: InstId, are_arguments: bool) -> bool {
    /// A longer chain counts as an address.
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
            // Apart from these, only a load can give the address of an object.
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

    /// Calls `tell` for each object with a slot whose SSA form may have changed.
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
