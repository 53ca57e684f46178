//! Values that are in other blocks, and phis that read from other blocks, and are as they were
//! otherwise.
//!
//! After a block was split these are many. They wait in lists of their own, since little depends on
//! these blocks: of a value the cycles around it, of an entry the end of the block that it comes
//! from.

use phalanx_graph::Node;
use smallvec::SmallVec;

use super::{EditableTable, Edited};
use crate::affect::{User, Value};
use crate::divergence::Incoming;
use crate::divergence::table::of_parallel_edges;

/// An entry of a phi that comes from another block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rerouted {
    pub(super) phi: Value,
    value: Option<Value>,
    before: Node,
    now: Node,
}

impl EditableTable {
    /// States that a value that is no phi is in another block now. The rest stays as it was said.
    pub fn move_value(&mut self, value: Value, block: Node) {
        debug_assert!(!self.is_phi(value), "{value:?} is a phi");
        self.grow(0, block.index() + 1);
        let before = std::mem::replace(&mut self.rules[value.index()].block, block);
        if before != block {
            self.moved.push((value, before));
        }
    }

    /// States which blocks the entries of a phi come from, if the phi is in `block` as before and
    /// its entries are what they were otherwise; keys of values stay as they were said. Returns
    /// whether that is so: if not, nothing has been stated.
    pub fn reroute_phi(&mut self, phi: Value, block: Node, incoming: &[Incoming]) -> bool {
        if phi.index() >= self.len() || !self.is_phi(phi) || self.block(phi) != block {
            return false;
        }
        let known = self.phi(phi).incoming;
        let mut incoming: SmallVec<[Incoming; 8]> = SmallVec::from_slice(incoming);
        for (entry, was) in incoming.iter_mut().zip(known).filter(|(_, was)| was.value.is_some()) {
            entry.key = was.key;
        }
        let is_joinable = self.is_joinable(phi);
        if is_joinable && of_parallel_edges(known) != of_parallel_edges(&incoming) {
            return false;
        }
        self.reroute(phi, &incoming)
    }

    /// States these entries of a phi, if they are what they were but for their blocks. Returns
    /// whether that is so.
    pub(super) fn reroute(&mut self, phi: Value, incoming: &[Incoming]) -> bool {
        let Some(&row) = self.incoming_of.get(&phi) else { return false };
        let known = self.incoming.of(row as usize);
        let is_same =
            |(was, is): (&Incoming, &Incoming)| (was.value, was.key) == (is.value, is.key);
        if known.len() != incoming.len() || !known.iter().zip(incoming).all(is_same) {
            return false;
        }
        let entries = known.iter().zip(incoming).filter(|(was, is)| was.pred != is.pred);
        let rerouted = entries.map(|(was, is)| Rerouted {
            phi,
            value: is.value,
            before: was.pred,
            now: is.pred,
        });
        let before = self.rerouted.len();
        self.rerouted.extend(rerouted);
        if self.rerouted.len() > before {
            self.incoming.replace(row as usize, incoming);
        }
        true
    }

    /// Lists the values that were only moved, and the phis that were only rerouted, as edited,
    /// except where nothing depends on it: given the blocks before and after, of a value, and at
    /// whose ends an entry is read. Of the others, what is read at another place.
    pub(in crate::divergence::repair) fn settle_moves(
        &mut self,
        is_nothing: impl Fn(Node, Node) -> bool,
        is_same_end: impl Fn(Node, Node) -> bool,
    ) -> Vec<(Value, User)> {
        let mut elsewhere = Vec::new();
        for (value, before) in std::mem::take(&mut self.moved) {
            let user = User::value(value);
            match is_nothing(before, self.block(value)) {
                true => elsewhere.extend(self.operands(user).iter().map(|read| (*read, user))),
                false => self.log.push(Edited { user, old: None, is_moved: true }),
            }
        }
        for Rerouted { phi, value, before, now } in std::mem::take(&mut self.rerouted) {
            let user = User::value(phi);
            match is_same_end(before, now) {
                true => elsewhere.extend(value.map(|value| (value, user))),
                false if self.log.last().is_some_and(|last| last.user == user) => {}
                false => self.log.push(Edited { user, old: None, is_moved: false }),
            }
        }
        elsewhere
    }
}
