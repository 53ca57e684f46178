//! The equations of the sets of pointers: which sets each set is the union of.
//!
//! There is a set for each pointer that is made from several others or loaded from private memory,
//! and one for each version of private memory. These are the nodes. O(operands) for each.

use phalanx_ir::{InstId, Value};

use super::flow::{Made, Objects, PointerFlow, STEPS, is_address};
use crate::code::Code;
use crate::memory::{
    PrivateMemory,
    private::{Effect, readers::ReaderNode},
    ssa::{EventKind, Version},
};

/// A set that is included in the set of a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Input {
    Objects(Objects),
    Node(ReaderNode),
}

/// Gives the inputs of nodes.
#[derive(Clone, Copy)]
pub(super) struct Nodes<'a> {
    pub(super) code: Code<'a>,
    pub(super) private: &'a PrivateMemory,
    pub(super) flow: &'a PointerFlow,
}

impl Nodes<'_> {
    /// Whether an instruction is a node.
    pub(super) fn is_value(self, inst: InstId) -> bool {
        matches!(self.flow.made(self.code, inst), Some(Made::Join(_) | Made::Held))
    }

    /// Calls `tell` with the inputs of a node; with none if there is no such node.
    pub(super) fn inputs(self, place: ReaderNode, tell: &mut dyn FnMut(Input)) {
        let private = self.private;
        match place {
            ReaderNode::Value(inst) => self.value(inst, tell),
            ReaderNode::Content(at) => match (at as usize).checked_sub(private.events().len()) {
                None => self.definition(at, tell),
                Some(phi) => {
                    let incoming = private.ssa().incoming(&private.ssa().phis()[phi]);
                    incoming.iter().for_each(|&(_, version)| self.version(version, tell));
                }
            },
        }
    }

    /// The content of memory at the entry is not defined by anything.
    fn version(self, version: Version, tell: &mut dyn FnMut(Input)) {
        if let Some(at) = self.private.number_of(version) {
            tell(Input::Node(ReaderNode::Content(at as u32)));
        }
    }

    /// The inputs of a pointer: what it is made from, or what the memory holds that it is loaded
    /// from.
    fn value(self, inst: InstId, tell: &mut dyn FnMut(Input)) {
        match self.flow.made(self.code, inst) {
            Some(Made::Join(operands)) => {
                operands.iter().for_each(|&operand| self.operand(operand, tell));
                // Numbers, for a vector of numbers that is cast.
                if !operands.iter().all(|&operand| is_address(self.code, operand)) {
                    tell(Input::Objects(Objects::UNKNOWN));
                }
            }
            Some(Made::Held) => {
                for touch in self.private.of(inst) {
                    self.version(self.private.reaching(touch), tell);
                }
            }
            _ => {}
        }
    }

    /// The input for a value, by where its chain of steps ends.
    fn operand(self, operand: Value, tell: &mut dyn FnMut(Input)) {
        let Some(end) = self.flow.end(self.code, operand, STEPS) else { return };
        tell(match end.as_inst().filter(|&inst| self.is_value(inst)) {
            Some(inst) => Input::Node(ReaderNode::Value(inst)),
            None => Input::Objects(self.flow.of(self.code, end)),
        });
    }

    /// The inputs for what a definition leaves in private memory.
    fn definition(self, event: u32, tell: &mut dyn FnMut(Input)) {
        let (code, private) = (self.code, self.private);
        let kind = private.events().event(event).kind;
        if kind == EventKind::Use {
            return;
        }
        let touch = private.touch_of(event);
        let operands = code.body.operands(touch.inst);
        let written = match touch.effect {
            Effect::Store => operands.first(),
            Effect::Fill => operands.get(1),
            _ => None,
        };
        match (touch.effect, written) {
            (_, Some(&value)) => match is_address(code, value) || value.as_const().is_some() {
                true => self.operand(value, tell),
                // A number, or an aggregate whose members are not tracked.
                false => tell(Input::Objects(Objects::UNKNOWN)),
            },
            (Effect::CopyTo, _) => {
                let own = private.of(touch.inst).iter();
                let mut is_known = false;
                for from in own.filter(|touch| touch.effect == Effect::CopyFrom) {
                    is_known = true;
                    self.version(private.reaching(from), tell);
                }
                if !is_known {
                    tell(Input::Objects(Objects::UNKNOWN));
                }
            }
            _ => tell(Input::Objects(Objects::UNKNOWN)),
        }
        if kind != EventKind::MustDef {
            self.version(private.reaching(touch), tell);
        }
    }
}
