//! The rules of the kinds as [`phalanx_fixpoint`] takes them.
//!
//! A set is a union of what its inputs give, and each bit of an input goes its own way: what a node
//! gives to a reader is the reader's value if the node has these bits and all others have none.
//! What is not a node counts as fixed, and comes with every value of the reader; it is a seed.
//!
//! Readers are found by def-use lists, by the [readers of versions](Readers), and by the chains
//! through which [members](super::readers) are looked up. A reader is evaluated from all its
//! inputs, so giving to it costs O(its inputs).

use std::ops::ControlFlow;

use phalanx_fixpoint::{Rules, Seen};
use phalanx_ir::{InstId, Opcode};

use super::{
    nodes::{Nodes, SetsOf},
    readers::takers,
};
use crate::memory::private::readers::{ReaderNode, Readers};

/// The rules of one function.
pub(super) struct Unions<'n, 'a> {
    pub(super) nodes: &'n mut Nodes<'a>,
    pub(super) readers: &'n Readers,
    /// The number of readers of a structure up to which they are searched.
    pub(super) limit: usize,
    /// How many readers were looked at.
    pub(super) looked_at: usize,
}

/// No node has a bit.
struct Nothing;

impl SetsOf for Nothing {
    fn of(&self, _: ReaderNode) -> u64 {
        0
    }
}

/// One node has these bits, and all others have none.
struct Only(ReaderNode, u64);

impl SetsOf for Only {
    fn of(&self, node: ReaderNode) -> u64 {
        if node == self.0 { self.1 } else { 0 }
    }
}

impl Unions<'_, '_> {
    fn evaluate(&mut self, sets: &impl SetsOf, node: ReaderNode) -> u64 {
        match self.nodes.is_node(node) {
            true => self.nodes.evaluate(sets, node),
            false => 0,
        }
    }

    /// Nodes that may read a node.
    pub(super) fn readers_of(&mut self, node: ReaderNode) -> Vec<ReaderNode> {
        let code = self.nodes.rules.code;
        let inst = match node {
            ReaderNode::Value(inst) => inst,
            ReaderNode::Content(at) => {
                let readers = self.readers[at as usize].to_vec();
                self.looked_at += readers.len();
                return readers;
            }
        };
        let mut readers = Vec::new();
        let mut is_all = true;
        for one in code.body.uses_of(inst.into()) {
            readers.push(ReaderNode::Value(one.user));
            readers.extend(self.stored_by(one.user));
            // The instruction that takes the value out again reads it, whatever else is in the
            // structure.
            if code.body.inst(one.user).opcode == Opcode::InsertValue {
                let mut push = |taker| readers.push(ReaderNode::Value(taker));
                is_all &= takers(code, one.user, self.limit, &mut push);
            }
        }
        self.looked_at = match is_all {
            true => self.looked_at + readers.len(),
            // The search gave up, and so does the update.
            false => usize::MAX,
        };
        readers
    }

    /// The versions of private memory that an instruction makes.
    pub(super) fn stored_by(&self, inst: InstId) -> impl Iterator<Item = ReaderNode> + use<'_> {
        let touches = self.nodes.rules.memory.of(inst).iter();
        touches.map(|touch| ReaderNode::Content(touch.event))
    }
}

impl Rules for Unions<'_, '_> {
    type Subject = ReaderNode;
    type Bits = u64;
    type Step = ();

    fn seed(&mut self, of: ReaderNode) -> u64 {
        self.evaluate(&Nothing, of)
    }

    fn gives(
        &mut self,
        of: ReaderNode,
        bits: u64,
        _: Seen<'_, ReaderNode, u64>,
        tell: &mut impl FnMut(ReaderNode, u64, ()) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if bits == 0 || self.looked_at == usize::MAX {
            return ControlFlow::Continue(());
        }
        for reader in self.readers_of(of) {
            let given = self.evaluate(&Only(of, bits), reader);
            tell(reader, given, ())?;
        }
        ControlFlow::Continue(())
    }

    fn supported(&mut self, of: ReaderNode, want: u64, seen: Seen<'_, ReaderNode, u64>) -> u64 {
        want & self.evaluate(&seen, of)
    }

    fn work(&self) -> usize {
        self.looked_at
    }
}
