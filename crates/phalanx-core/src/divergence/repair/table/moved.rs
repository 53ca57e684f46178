//! Values that were moved to other blocks and are as they were otherwise.
//!
//! After a block was split these are many. They wait in a list of their own, since nothing but the
//! cycles around a value depends on its block.

use phalanx_graph::Node;

use super::{EditableTable, Edited};
use crate::affect::{User, Value};

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

    /// Lists the values that were only moved as edited, except where nothing depends on the move:
    /// given the blocks before and after. The others.
    pub(in crate::divergence::repair) fn settle_moves(
        &mut self,
        is_nothing: impl Fn(Node, Node) -> bool,
    ) -> Vec<Value> {
        let mut settled = Vec::new();
        for (value, before) in std::mem::take(&mut self.moved) {
            match is_nothing(before, self.block(value)) {
                true => settled.push(value),
                false => {
                    let user = User::value(value);
                    self.log.push(Edited { user, old: None, is_moved: true });
                }
            }
        }
        settled
    }
}
