//! The users of each value, while operands change.
//!
//! Rows of users are made for all values at once and stay as they were; users that are added wait
//! in a list aside. A value whose users changed is *touched*: its row may name users that no longer
//! read it, so each is checked. When an eighth of the values is aside, the rows are rebuilt: O(1)
//! amortised per edit.

use phalanx_graph::{BitSet, Node};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{EditableTable, Few};
use crate::affect::{AffectMap, User, UserKind, Value};

impl EditableTable {
    /// Calls for every user of a value, possibly several times.
    #[inline]
    pub(in crate::divergence::repair) fn each_user(
        &self,
        value: Value,
        mut call: impl FnMut(User),
    ) {
        let known: &[User] = match value.index() < self.users.value_count() {
            true => self.users.users(value),
            false => &[],
        };
        if !self.touched.contains(value.index()) {
            known.iter().for_each(|user| call(*user));
            return;
        }
        let more = self.more_users.get(&value).map_or(&[][..], SmallVec::as_slice);
        for &user in known.iter().chain(more) {
            if self.reads(user, value) {
                call(user);
            }
        }
    }

    /// Replaces operands and keeps users in step. The old operands, if they were others.
    pub(super) fn set_operands(&mut self, user: User, operands: &[Value]) -> Option<Few> {
        let mut new = Few::from_slice(operands);
        new.sort_unstable();
        new.dedup();
        if self.operands(user) == new.as_slice() {
            return None;
        }
        if let Some(last) = new.last() {
            self.grow(last.index() + 1, 0);
        }
        let old = Few::from_slice(self.operands(user));
        for &value in &new {
            if old.binary_search(&value).is_err() {
                self.touch(value);
                self.more_users.entry(value).or_default().push(user);
                self.more += 1;
            }
        }
        for &value in &old {
            if new.binary_search(&value).is_err() {
                self.touch(value);
            }
        }
        match user.kind() {
            UserKind::Value(value) => self.operands.replace(value.index(), &new),
            UserKind::Terminator(block) => self.terminator_operands.replace(block.index(), &new),
        }
        if self.more > self.rules.len() / 8 + 64 {
            self.collect_users();
        }
        Some(old)
    }

    pub(super) fn touch(&mut self, value: Value) {
        if self.touched.universe() <= value.index() {
            let mut larger = BitSet::new(self.rules.len().max(value.index() + 1) * 9 / 8 + 64);
            for known in self.touched.iter() {
                larger.insert(known);
            }
            self.touched = larger;
        }
        self.touched.insert(value.index());
    }

    /// Rebuilds the rows of users.
    pub(super) fn collect_users(&mut self) {
        let mut uses = Vec::new();
        for user in 0..self.rules.len() as u32 {
            let user = Value::from_raw(user);
            let of = self.operands.of(user.index()).iter();
            uses.extend(of.map(|value| (*value, User::value(user))));
        }
        for block in 0..self.terminator_operands.len() {
            let of = self.terminator_operands.of(block).iter();
            uses.extend(of.map(|value| (*value, User::terminator(Node::new(block)))));
        }
        self.users = AffectMap::from_edges(self.rules.len(), &uses);
        self.more_users = FxHashMap::default();
        self.more = 0;
        self.touched = BitSet::new(self.rules.len());
    }
}
