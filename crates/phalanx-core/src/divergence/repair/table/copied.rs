//! Tables that were edited as tables to be solved from scratch.
//!
//! Values keep their numbers. The copy does not show that the table was edited: it lists the
//! current users of a value, the images that some definition has, and the phis of a block in the
//! order of their numbers. Other operands than those of phis are listed once for each user, however
//! often it reads them.
//!
//! **Complexity.** O(values + uses); rows of users that no edit has touched are copied as they are.

use crate::SourceSet;
use phalanx_graph::BitSet;

use super::{EditableTable, Image, Rule};
use crate::affect::{AffectMap, Value};
use crate::divergence::ValueTable;
use crate::divergence::table::{PhiTable, flag};

impl EditableTable {
    /// The table as it is now, to be solved from scratch. What phis come from is repeated as it was
    /// stated, other operands are not. O(values + uses).
    #[must_use]
    pub fn to_table(&self) -> ValueTable {
        let mut fixed_terminators = BitSet::default();
        let mut seeded_terminators = Vec::new();
        for (&block, &(is_fixed, seed)) in &self.terminators {
            if !is_fixed {
                seeded_terminators.push((block, seed));
                continue;
            }
            if fixed_terminators.universe() == 0 {
                fixed_terminators = BitSet::new(self.block_count());
            }
            fixed_terminators.insert(block.index());
        }
        seeded_terminators.sort_unstable_by_key(|(block, _)| *block);
        let mut narrowed: Vec<(Value, SourceSet)> =
            self.narrowed.iter().map(|(value, left)| (*value, *left)).collect();
        narrowed.sort_unstable_by_key(|(value, _)| *value);
        let (image_of, images) = self.to_images();
        let mut table = ValueTable {
            blocks: self.block_count() as u32,
            memory: self.memory,
            block: self.rules.iter().map(|rule| rule.block).collect(),
            seed: self.rules.iter().map(|rule| rule.seed).collect(),
            flags: self.rules.iter().map(|rule| rule.flags).collect(),
            image_of,
            images,
            phis: self.to_phis(),
            affects: self.to_users(),
            fixed_terminators,
            assumed_terminators: BitSet::default(),
            narrowed,
            seeded_terminators,
        };
        self.assumed.iter().for_each(|block| table.assume_uniform_in_group(*block));
        table
    }

    /// The images that some definition has. Readers of a table behave differently if there are
    /// none.
    fn to_images(&self) -> (Vec<u8>, Vec<Image>) {
        if self.images.is_empty() {
            return Default::default();
        }
        let mut number: Vec<Option<u8>> = vec![None; self.images.len()];
        let mut images = Vec::new();
        let number_of = |rule: &Rule| {
            if rule.flags & flag::IMAGE == 0 {
                return 0;
            }
            let image = usize::from(rule.image);
            *number[image].get_or_insert_with(|| {
                images.push(self.images[image]);
                (images.len() - 1) as u8
            })
        };
        let image_of = self.rules.iter().map(number_of).collect();
        match images.is_empty() {
            true => Default::default(),
            false => (image_of, images),
        }
    }

    fn to_phis(&self) -> PhiTable {
        if self.incoming_of.is_empty() {
            return PhiTable::default();
        }
        let (mut of_block, mut values) = (Vec::with_capacity(self.phis.len() + 1), Vec::new());
        for block in 0..self.phis.len() {
            of_block.push(values.len() as u32);
            values.extend_from_slice(self.phis.of(block));
            values[of_block[block] as usize..].sort_unstable();
        }
        of_block.push(values.len() as u32);
        let (mut start, mut incoming) = (Vec::with_capacity(values.len() + 1), Vec::new());
        for &phi in &values {
            start.push(incoming.len() as u32);
            incoming.extend_from_slice(self.phi(phi).incoming);
        }
        start.push(incoming.len() as u32);
        PhiTable { of_block, values, start, incoming }
    }

    fn to_users(&self) -> AffectMap {
        if self.more == 0 && self.touched.is_empty() && self.users.value_count() == self.len() {
            return self.users.clone();
        }
        let count = self.len();
        let touched = self.touched.iter().take_while(|at| *at < count).map(Value::new);
        self.users.with_rows(count, touched, |value, users| {
            self.each_user(value, |user| users.push(user));
        })
    }
}

#[cfg(test)]
mod tests {
    use phalanx_graph::Node;

    use super::*;
    use crate::affect::User;
    use crate::divergence::{Definition, Incoming, PhiKey, ValueTableBuilder};

    fn incoming(pred: Node, value: Value) -> Incoming {
        Incoming { pred, value: Some(value), key: PhiKey::value(value) }
    }

    /// Of two values, one with an image, and two phis in the second block.
    fn table() -> (ValueTable, [Node; 2], [Value; 4]) {
        let blocks = [0, 1].map(Node::new);
        let mut table = ValueTableBuilder::new(2);
        let a = table.value(blocks[0], Definition::PURE);
        let transfer = table.image([SourceSet::LANE; SourceSet::COUNT]);
        let b = table.value(blocks[0], Definition { transfer, ..Definition::PURE });
        let [p, q] = [0, 1].map(|_| table.phi(blocks[1], Definition::PURE));
        table.operand(a, b);
        [p, q].into_iter().for_each(|phi| table.incoming(phi, incoming(blocks[0], a)));
        (table.finish(), blocks, [a, b, p, q])
    }

    #[test]
    fn what_was_not_edited_is_the_same() {
        let (table, ..) = table();
        assert_eq!(EditableTable::new(table.clone()).to_table(), table);
    }

    /// Solutions are told apart in another way where there are images.
    #[test]
    fn an_image_that_nobody_has_is_gone() {
        let (table, blocks, [a, b, ..]) = table();
        let mut edited = EditableTable::new(table);
        edited.set_value(b, blocks[0], Definition::PURE, None, &[a]);
        assert!(edited.to_table().images().is_empty());
    }

    #[test]
    fn phis_are_in_order_and_users_those_of_now() {
        let (table, blocks, [a, b, p, q]) = table();
        let mut edited = EditableTable::new(table);
        // Taken out of its block and put back, the phi is the last one there.
        edited.set_phi(p, blocks[0], Definition::PURE, &[]);
        edited.set_phi(p, blocks[1], Definition::PURE, &[incoming(blocks[0], b)]);
        let copied = edited.to_table();
        let phis: Vec<Value> = copied.phis(blocks[1]).map(|phi| phi.value).collect();
        assert_eq!(phis, [p, q]);
        assert_eq!(copied.phis(blocks[0]).len(), 0);
        let users = |of: Value| copied.affects().users(of).to_vec();
        assert_eq!(users(a), [b, q].map(User::value));
        assert_eq!(users(b), [User::value(p)]);
    }
}
