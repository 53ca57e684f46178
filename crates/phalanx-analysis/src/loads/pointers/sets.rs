//! The rules of the sets of pointers: the set of a node is the union of its inputs.
//!
//! [`nodes`](super::nodes) gives the inputs, which are other nodes or fixed sets. Inputs are not
//! changed on the way.

use std::ops::ControlFlow;

use phalanx_fixpoint::{Bits, Fixpoint, Rules, Seen};
use phalanx_graph::BitSet;
use phalanx_ir::{InstId, flow::node_of};
use rustc_hash::FxHashSet;

use super::flow::{Made, Objects, PointerFlow};
use super::nodes::{Input, Nodes};
use crate::code::Code;
use crate::memory::{
    PrivateMemory,
    private::readers::{ReaderNode, Readers},
    ssa::{EventKind, Version},
};

/// The set of each node.
pub(super) type Sets = Fixpoint<ReaderNode, Objects>;

/// The set of what a version of private memory holds.
pub(super) fn held_at(sets: &Sets, private: &PrivateMemory, version: Version) -> Objects {
    let number = private.number_of(version);
    number.map_or(Objects::NONE, |at| sets.get(ReaderNode::Content(at as u32)))
}

pub(super) fn is_there(code: Code<'_>, is_listed: &BitSet, inst: InstId) -> bool {
    let block = code.body.block_of(inst);
    block.is_some_and(|block| is_listed.contains(node_of(block).index()))
}

/// How the readers of a node are found.
pub(super) enum Users<'a> {
    /// All pairs of a node and a reader, in order.
    Listed(Vec<(ReaderNode, ReaderNode)>),
    /// By def-use lists, and by the readers of versions.
    Searched(&'a Readers),
}

pub(super) struct SetRules<'a> {
    pub(super) code: Code<'a>,
    pub(super) private: &'a PrivateMemory,
    pub(super) flow: &'a PointerFlow,
    pub(super) is_listed: &'a BitSet,
    pub(super) users: Users<'a>,
    /// How many uses have been looked at.
    pub(super) looked_at: usize,
}

impl SetRules<'_> {
    fn nodes(&self) -> Nodes<'_> {
        Nodes { code: self.code, private: self.private, flow: self.flow }
    }

    fn is_node(&self, place: ReaderNode) -> bool {
        match place {
            ReaderNode::Value(inst) => {
                is_there(self.code, self.is_listed, inst) && self.nodes().is_value(inst)
            }
            ReaderNode::Content(at) => {
                let events = self.private.events();
                at as usize >= events.len() || events.event(at).kind != EventKind::Use
            }
        }
    }

    /// Calls `tell` with the inputs of a node.
    pub(super) fn inputs(&self, place: ReaderNode, tell: &mut dyn FnMut(Input)) {
        if self.is_node(place) {
            self.nodes().inputs(place, tell);
        }
    }

    fn reads(&self, reader: ReaderNode, of: ReaderNode) -> bool {
        let mut is_read = false;
        self.inputs(reader, &mut |input| {
            is_read |= matches!(input, Input::Node(from) if from == of);
        });
        is_read
    }

    /// Nodes that may read a given node.
    fn readers(&mut self, of: ReaderNode) -> Vec<ReaderNode> {
        let readers = match (&self.users, of) {
            (Users::Listed(all), _) => {
                let first = all.partition_point(|(from, _)| *from < of);
                let own = all[first..].iter().take_while(|(from, _)| *from == of);
                return own.map(|(_, to)| *to).collect();
            }
            (Users::Searched(readers), ReaderNode::Content(at)) => readers[at as usize].to_vec(),
            (Users::Searched(_), ReaderNode::Value(inst)) => {
                let users = users(self.code, self.is_listed, self.flow, inst);
                let into = |&user: &InstId| {
                    let touches = self.private.of(user).iter();
                    let versions = touches.map(|touch| ReaderNode::Content(touch.event));
                    std::iter::once(ReaderNode::Value(user)).chain(versions).collect::<Vec<_>>()
                };
                users.iter().flat_map(into).collect()
            }
        };
        self.looked_at += readers.len() + 1;
        readers.into_iter().filter(|&reader| self.reads(reader, of)).collect()
    }
}

/// The users of an instruction, and those of steps from it, with the steps.
pub(super) fn users(
    code: Code<'_>,
    is_listed: &BitSet,
    flow: &PointerFlow,
    inst: InstId,
) -> Vec<InstId> {
    let mut users = Vec::new();
    let mut seen: FxHashSet<InstId> = FxHashSet::default();
    let mut work = vec![inst];
    while let Some(value) = work.pop() {
        for user in code.body.uses_of(value.into()).map(|read| read.user) {
            if !is_there(code, is_listed, user) || !seen.insert(user) {
                continue;
            }
            users.push(user);
            if is_step_from(code, flow, user, value) {
                work.push(user);
            }
        }
    }
    users
}

pub(super) fn is_step_from(
    code: Code<'_>,
    flow: &PointerFlow,
    user: InstId,
    value: InstId,
) -> bool {
    let made = flow.made(code, user);
    matches!(made, Some(Made::Step(from)) if from.as_inst() == Some(value))
}

impl Rules for SetRules<'_> {
    type Subject = ReaderNode;
    type Bits = Objects;
    type Step = ();

    fn seed(&mut self, of: ReaderNode) -> Objects {
        let mut set = Objects::NONE;
        self.inputs(of, &mut |input| match input {
            Input::Objects(objects) => set = set.union(objects),
            Input::Node(_) => {}
        });
        set
    }

    fn gives(
        &mut self,
        of: ReaderNode,
        objects: Objects,
        _: Seen<'_, ReaderNode, Objects>,
        tell: &mut impl FnMut(ReaderNode, Objects, ()) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match objects {
            Objects::NONE => ControlFlow::Continue(()),
            _ => self.readers(of).into_iter().try_for_each(|reader| tell(reader, objects, ())),
        }
    }

    fn supported(
        &mut self,
        of: ReaderNode,
        want: Objects,
        seen: Seen<'_, ReaderNode, Objects>,
    ) -> Objects {
        let mut set = Objects::NONE;
        self.inputs(of, &mut |input| {
            set = set.union(match input {
                Input::Objects(objects) => objects,
                Input::Node(from) => seen.get(from),
            });
        });
        set.common(want)
    }

    fn work(&self) -> usize {
        self.looked_at
    }
}
