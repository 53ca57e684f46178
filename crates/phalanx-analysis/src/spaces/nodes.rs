//! Sets by node: how the set of a node is computed from the sets of others.
//!
//! A node is the result of an instruction, or what a version of private memory holds. Its inputs
//! are other nodes and fixed sets; the tests that guard the reader, and the type of the result,
//! restrict what comes from an input. The rules themselves are in [`rules`](super::rules), and what
//! is done with them in [`solve`](super::solve) and [`retained`](super::retained).
//!
//! O(inputs) for each evaluation.

use phalanx_fixpoint::{Fixpoint, Seen};
use phalanx_graph::{DomTree, Node};
use phalanx_ir::{InstId, Opcode, Value, ValueKind, flow::node_of};
use smallvec::SmallVec;

use super::{
    numbers::{inst_of, number},
    rules::{Input, SpaceRules, restrict},
};
use crate::code::SpaceSet;
use crate::memory::private::readers::ReaderNode;

const ANYTHING: u64 = SpaceSet::ALL.bits() as u64;

/// Sets of nodes.
pub(super) trait SetsOf {
    /// The set of a node.
    fn of(&self, node: ReaderNode) -> u64;
}

/// Sets in two tables: of the results of instructions, and of versions of private memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Sets {
    pub(super) values: Vec<u64>,
    pub(super) content: Vec<u64>,
}

impl Sets {
    /// Replaces a set; returns the old one.
    #[inline]
    pub(super) fn put(&mut self, node: ReaderNode, set: u64) -> u64 {
        let place = match node {
            ReaderNode::Value(inst) => &mut self.values[number(inst)],
            ReaderNode::Content(at) => &mut self.content[at as usize],
        };
        std::mem::replace(place, set)
    }

    /// All nodes with their sets.
    pub(super) fn all(&self) -> impl Iterator<Item = (ReaderNode, u64)> + '_ {
        let value = |(at, &set): (usize, &u64)| (ReaderNode::Value(inst_of(at)), set);
        let content = |(at, &set): (usize, &u64)| (ReaderNode::Content(at as u32), set);
        let values = self.values.iter().enumerate().map(value);
        values.chain(self.content.iter().enumerate().map(content))
    }
}

impl SetsOf for Sets {
    #[inline]
    fn of(&self, node: ReaderNode) -> u64 {
        match node {
            ReaderNode::Value(inst) => self.values[number(inst)],
            ReaderNode::Content(at) => self.content[at as usize],
        }
    }
}

impl SetsOf for Fixpoint<ReaderNode, u64> {
    fn of(&self, node: ReaderNode) -> u64 {
        self.get(node)
    }
}

impl SetsOf for Seen<'_, ReaderNode, u64> {
    fn of(&self, node: ReaderNode) -> u64 {
        self.get(node)
    }
}

/// The rules, applied to nodes.
pub(super) struct Nodes<'a> {
    pub(super) rules: SpaceRules<'a>,
    pub(super) dom: &'a DomTree,
}

impl Nodes<'_> {
    /// Whether an instruction is in a block that is reached.
    pub(super) fn is_reached(&self, inst: InstId) -> bool {
        let block = self.rules.code.body.block_of(inst);
        block.is_some_and(|block| self.dom.is_reachable(node_of(block)))
    }

    /// Whether a node has a set in the function as it is now.
    pub(super) fn is_node(&mut self, node: ReaderNode) -> bool {
        let memory = self.rules.memory;
        match node {
            ReaderNode::Value(inst) => self.is_reached(inst) && self.rules.is_tracked(inst),
            ReaderNode::Content(at) => match (at as usize).checked_sub(memory.events().len()) {
                None => self.is_reached(memory.touch_of(at).inst),
                Some(phi) => self.dom.is_reachable(memory.ssa().phis()[phi].block),
            },
        }
    }

    /// The set of a value, without refinements by tests.
    pub(super) fn value(&mut self, sets: &impl SetsOf, value: Value) -> u64 {
        match self.rules.fixed(value) {
            Some(set) => set,
            None => match value.kind() {
                ValueKind::Inst(inst) => sets.of(ReaderNode::Value(inst)),
                _ => ANYTHING,
            },
        }
    }

    /// The set of a value where an instruction reads it, or where a phi takes it from a block.
    pub(super) fn at(
        &mut self,
        sets: &impl SetsOf,
        value: Value,
        (user, from): (InstId, Option<Node>),
    ) -> u64 {
        let set = self.value(sets, value);
        if self.rules.refinements.is_empty() {
            return set;
        }
        let bound = self.rules.refinements.at(self.rules.code, self.dom, value, user, from);
        match bound == SpaceSet::ALL {
            true => set,
            false => restrict(set, u64::from(bound.bits())),
        }
    }

    /// The set of an input, which this instruction reads.
    pub(super) fn read(&mut self, sets: &impl SetsOf, input: Input, user: InstId) -> u64 {
        match input {
            Input::Set(set) => set,
            Input::Value(value) => self.at(sets, value, (user, None)),
            Input::Incoming(value, from) => self.at(sets, value, (user, Some(from))),
            // Content that was never written is undefined.
            Input::Version(version) => match self.rules.memory.number_of(version) {
                None => u64::from(SpaceSet::NOWHERE.bits()),
                Some(at) => sets.of(ReaderNode::Content(at as u32)),
            },
        }
    }

    /// Calls `tell` with the inputs of a node; returns the instruction that reads them.
    pub(super) fn inputs(&mut self, node: ReaderNode, mut tell: impl FnMut(Input)) -> InstId {
        let memory = self.rules.memory;
        let at = match node {
            ReaderNode::Value(inst) => {
                self.rules.inputs(inst, tell);
                return inst;
            }
            ReaderNode::Content(at) => at,
        };
        match (at as usize).checked_sub(memory.events().len()) {
            None => {
                self.rules.stored(at, tell);
                memory.touch_of(at).inst
            }
            Some(phi) => {
                for &(_, version) in memory.ssa().incoming(&memory.ssa().phis()[phi]) {
                    tell(Input::Version(version));
                }
                // A version has the same set for each reader.
                inst_of(0)
            }
        }
    }

    /// The union of the inputs of a node, restricted by its type.
    pub(super) fn evaluate(&mut self, sets: &impl SetsOf, node: ReaderNode) -> u64 {
        // Most nodes have one or two inputs; a phi has as many as its block has edges.
        let mut inputs: SmallVec<[Input; 8]> = SmallVec::new();
        let user = self.inputs(node, |input| inputs.push(input));
        let mut set = 0;
        for input in inputs {
            set |= self.read(sets, input, user);
        }
        match node {
            ReaderNode::Value(inst) => self.rules.clamp(inst, set),
            ReaderNode::Content(_) => set,
        }
    }

    /// Adds the operands of an instruction whose sets are smaller than those of their values.
    pub(super) fn refined(
        &mut self,
        sets: &impl SetsOf,
        inst: InstId,
        uses: &mut Vec<((InstId, u32), SpaceSet)>,
    ) {
        let body = self.rules.code.body;
        if body.inst(inst).opcode == Opcode::Phi {
            return;
        }
        for (&operand, at) in body.operands(inst).iter().zip(0..) {
            let set = self.value(sets, operand);
            let here = self.at(sets, operand, (inst, None));
            if here != set {
                uses.push(((inst, at), SpaceSet::from_bits(here as u16)));
            }
        }
    }
}
