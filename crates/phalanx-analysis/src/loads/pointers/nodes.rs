//! What the sets of pointers are unions of.
//!
//! There is a set for each pointer that is made from several others or loaded from private memory,
//! and one for each version of private memory: the nodes. O(operands) for each.

use phalanx_ir::{InstId, Value};

use super::flow::{Made, Objects, PointerFlow, STEPS, is_address};
use crate::code::Code;
use crate::memory::{
    PrivateMemory,
    private::{Effect, readers::Place},
    ssa::{EventKind, Version},
};

/// Something of which all that is in it is in the set of a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Input {
    Objects(Objects),
    Node(Place),
}

/// Tells what comes into nodes.
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

    /// The inputs of a node; none if there is no such node.
    pub(super) fn inputs(self, place: Place, tell: &mut dyn FnMut(Input)) {
        let private = self.private;
        match place {
            Place::Value(inst) => self.value(inst, tell),
            Place::Content(at) => match (at as usize).checked_sub(private.events().len()) {
                None => self.definition(at, tell),
                Some(phi) => {
                    let incoming = private.ssa().incoming(&private.ssa().phis()[phi]);
                    incoming.iter().for_each(|&(_, version)| self.version(version, tell));
                }
            },
        }
    }

    /// What memory holds at the entry is nothing that is defined.
    fn version(self, version: Version, tell: &mut dyn FnMut(Input)) {
        if let Some(at) = self.private.number_of(version) {
            tell(Input::Node(Place::Content(at as u32)));
        }
    }

    /// What a pointer is made from, or what is held where it is loaded.
    fn value(self, inst: InstId, tell: &mut dyn FnMut(Input)) {
        match self.flow.made(self.code, inst) {
            Some(Made::Join(operands)) => {
                operands.iter().for_each(|&operand| self.operand(operand, tell));
                // A vector of numbers that is cast.
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

    /// A value, by where its chain of steps ends.
    fn operand(self, operand: Value, tell: &mut dyn FnMut(Input)) {
        let Some(end) = self.flow.end(self.code, operand, STEPS) else { return };
        tell(match end.as_inst().filter(|&inst| self.is_value(inst)) {
            Some(inst) => Input::Node(Place::Value(inst)),
            None => Input::Objects(self.flow.of(self.code, end)),
        });
    }

    /// What a definition of private memory leaves there.
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
                // A number, or several things at once: what these are made from is not followed.
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
