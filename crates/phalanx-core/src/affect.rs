//! The affect map: for every value, what reads it.
//!
//! **Definition** (Kong, *Variance Analysis on SSA-based IR*, 2009). `v` affects `u` when the
//! result of `u`, or the direction that the terminator `u` takes, depends directly on `v`. These
//! are the def-use edges of SSA; a client that analyses memory adds versions of memory as values of
//! their own.
//!
//! **Representation.** Compressed sparse rows: the users of all values in one vector, in value
//! order, with an offset per value. A [`User`] is one 32-bit number: a value, or the terminator of
//! a block.

use std::fmt;

use phalanx_graph::Node;

/// A definition, as a dense number: an argument or an instruction, whether or not it has a result.
///
/// Instructions without a result (a store) have a number too: facts about them are facts about what
/// they do. Terminators do not; they are named by their block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u32);

impl Value {
    /// Numbers must stay below this, so that a [`User`] fits 32 bits.
    pub const LIMIT: u32 = 1 << 31;

    /// The value with this raw number.
    ///
    /// # Panics
    /// If the number is not below [`Value::LIMIT`].
    #[inline]
    #[must_use]
    pub fn from_raw(raw: u32) -> Self {
        assert!(raw < Self::LIMIT, "value number {raw} does not fit 31 bits");
        Self(raw)
    }

    /// The value with this position.
    ///
    /// # Panics
    /// If the position is not below [`Value::LIMIT`].
    #[inline]
    #[must_use]
    pub fn new(index: usize) -> Self {
        assert!(index < Self::LIMIT as usize, "value number {index} does not fit 31 bits");
        Self(index as u32)
    }

    /// The number as an index into dense tables.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The number as it is.
    #[inline]
    #[must_use]
    pub const fn raw(self) -> u32 {
        self.0
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// What reads a value: another value's definition or a terminator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct User(u32);

/// A [`User`], taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UserKind {
    /// The definition of this value.
    Value(Value),
    /// The terminator of this block.
    Terminator(Node),
}

impl User {
    /// The definition of a value.
    #[inline]
    #[must_use]
    pub const fn value(value: Value) -> Self {
        Self(value.0)
    }

    /// The terminator of a block.
    ///
    /// # Panics
    /// If the block's number is not below [`Value::LIMIT`].
    #[inline]
    #[must_use]
    pub fn terminator(block: Node) -> Self {
        assert!(block.raw() < Value::LIMIT, "block number {block} does not fit 31 bits");
        Self(block.raw() | Value::LIMIT)
    }

    /// Which of the two it is.
    #[inline]
    #[must_use]
    pub const fn kind(self) -> UserKind {
        if self.0 < Value::LIMIT {
            UserKind::Value(Value(self.0))
        } else {
            UserKind::Terminator(Node::from_raw(self.0 & !Value::LIMIT))
        }
    }
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            UserKind::Value(value) => write!(f, "{value:?}"),
            UserKind::Terminator(block) => write!(f, "terminator of {block}"),
        }
    }
}

/// Users of every value, in compressed sparse rows.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AffectMap {
    start: Vec<u32>,
    users: Vec<User>,
}

impl AffectMap {
    /// The map with these edges; the users of a value keep the order in which they are listed.
    ///
    /// # Panics
    /// If a value is not below `values`, or there are 2^32 edges or more.
    #[must_use]
    pub fn from_edges(values: usize, edges: &[(Value, User)]) -> Self {
        assert!(edges.len() < u32::MAX as usize, "{} uses do not fit 32 bits", edges.len());
        let mut start = vec![0u32; values + 1];
        for (value, _) in edges {
            start[value.index()] += 1;
        }
        assert!(start[values] == 0, "value {values} of {values} is used");
        let mut end = 0;
        for count in &mut start {
            end += *count;
            *count = end;
        }
        // From the last edge to the first, each row from its end to its start: no table of
        // positions is needed.
        let mut users = vec![User(0); edges.len()];
        for &(value, user) in edges.iter().rev() {
            let at = &mut start[value.index()];
            *at -= 1;
            users[*at as usize] = user;
        }
        Self { start, users }
    }

    /// A copy of the map with room for more values, in which `row` gives the new row of each of
    /// `others` (sorted). O(values + uses).
    ///
    /// # Panics
    /// If there are 2^32 users or more, or others are not in order and below `values`.
    pub(crate) fn with_rows(
        &self,
        values: usize,
        others: impl Iterator<Item = Value>,
        mut row: impl FnMut(Value, &mut Vec<User>),
    ) -> Self {
        let mut new = Self {
            start: Vec::with_capacity(values + 1),
            users: Vec::with_capacity(self.users.len() + self.users.len() / 8),
        };
        for other in others {
            self.copy_rows(other.index(), &mut new);
            new.start.push(new.users.len() as u32);
            row(other, &mut new.users);
        }
        self.copy_rows(values, &mut new);
        assert!(new.users.len() < u32::MAX as usize, "{} uses do not fit 32 bits", new.users.len());
        new.start.push(new.users.len() as u32);
        new
    }

    /// Adds the rows that come next in another map, up to one.
    fn copy_rows(&self, end: usize, to: &mut Self) {
        let first = to.start.len();
        let known = end.min(self.value_count());
        assert!(first <= end, "value {end} comes after the one before {first}");
        if first < known {
            let (from, shifted) = (self.start[first], to.users.len() as u32);
            to.start.extend(self.start[first..known].iter().map(|start| start - from + shifted));
            to.users.extend_from_slice(&self.users[from as usize..self.start[known] as usize]);
        }
        // Those that are new are not used.
        to.start.resize(end, to.users.len() as u32);
    }

    /// All users, those of each value together.
    pub(crate) fn all_users(&self) -> &[User] {
        &self.users
    }

    /// How many values there are.
    #[must_use]
    pub fn value_count(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// How many edges there are.
    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.users.len()
    }

    /// What reads the value; once per operand, so possibly with repetitions.
    #[inline]
    #[must_use]
    pub fn users(&self, value: Value) -> &[User] {
        let i = value.index();
        &self.users[self.start[i] as usize..self.start[i + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_keep_their_order_and_kind() {
        let v = Value::new;
        let block = Node::new(7);
        let map = AffectMap::from_edges(
            3,
            &[
                (v(2), User::terminator(block)),
                (v(0), User::value(v(2))),
                (v(2), User::value(v(1))),
            ],
        );
        assert_eq!(map.users(v(0)), [User::value(v(2))]);
        assert_eq!(map.users(v(1)), []);
        assert_eq!(
            map.users(v(2)).iter().map(|u| u.kind()).collect::<Vec<_>>(),
            [UserKind::Terminator(block), UserKind::Value(v(1))]
        );
        assert_eq!((map.value_count(), map.edge_count()), (3, 3));
    }

    #[test]
    fn rows_are_replaced_and_values_are_added() {
        let v = Value::new;
        let edges =
            [(v(0), User::value(v(1))), (v(1), User::value(v(2))), (v(2), User::value(v(0)))];
        let map = AffectMap::from_edges(3, &edges);
        let others = [v(1), v(3)];
        let row = |value: Value, users: &mut Vec<User>| {
            users.extend([User::value(value), User::terminator(Node::new(0))]);
        };
        let new = map.with_rows(5, others.into_iter(), row);
        let mut expected = vec![edges[0], edges[2]];
        for value in others {
            expected.extend([(value, User::value(value)), (value, User::terminator(Node::new(0)))]);
        }
        assert_eq!(new, AffectMap::from_edges(5, &expected));
        assert_eq!(map.with_rows(3, std::iter::empty(), row), map);
        let none = AffectMap::default();
        assert_eq!(none.with_rows(2, std::iter::once(v(1)), row).users(v(1)).len(), 2);
    }
}
