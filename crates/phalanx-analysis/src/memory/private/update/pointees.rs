//! The objects that arguments point to, in incremental updates.
//!
//! When a function returns, its caller may read all objects that arguments point to. So a return
//! uses each of these objects, but it does not connect them. Returns are in no component. The scan
//! of a patch visits them in addition, if an argument points to one of its objects.

use phalanx_graph::DomTree;
use phalanx_ir::{InstId, Opcode, flow::node_of};

use crate::code::{Code, Environment};
use crate::memory::private::{is_pointee, pointee_of};

/// See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Pointees {
    /// By argument: whether what it points to is an object.
    are_objects: Box<[bool]>,
    /// All reachable returns.
    returns: Vec<InstId>,
}

impl Pointees {
    /// The objects of arguments of a function. O(arguments + blocks).
    pub(crate) fn new(code: Code<'_>, env: Environment<'_>, dom: &DomTree) -> Self {
        let arguments = 0..code.header.params.len() as u32;
        let are_objects = arguments.map(|at| is_pointee(code, env, at)).collect();
        Pointees { are_objects, returns: returns(code, dom) }
    }

    pub(super) fn is_object(&self, position: u32) -> bool {
        self.are_objects.get(position as usize) == Some(&true)
    }

    pub(super) fn returns(&self) -> &[InstId] {
        &self.returns
    }

    /// All objects of arguments, if a return is among instructions that moved to another block:
    /// each return reads all of them.
    pub(super) fn returned(&self, moved: &[InstId]) -> impl Iterator<Item = InstId> {
        let is_any = moved.iter().any(|inst| self.returns.contains(inst));
        let objects =
            (0..).zip(&self.are_objects).filter(move |(_, is_object)| is_any && **is_object);
        objects.map(|(position, _)| pointee_of(position))
    }

    /// Whether an edit of these instructions changed the set of returns.
    pub(super) fn has_other_returns(
        &self,
        code: Code<'_>,
        dom: &DomTree,
        changed: &[InstId],
    ) -> bool {
        let is_return = |inst: &InstId| {
            code.body.inst(*inst).opcode == Opcode::Ret || self.returns.contains(inst)
        };
        changed.iter().any(is_return) && self.returns != returns(code, dom)
    }
}

fn returns(code: Code<'_>, dom: &DomTree) -> Vec<InstId> {
    let reachable = code.flow.order().iter().filter(|&&block| dom.is_reachable(node_of(block)));
    let last = reachable.filter_map(|&block| code.body.terminator(block));
    last.filter(|&inst| code.body.inst(inst).opcode == Opcode::Ret).collect()
}
