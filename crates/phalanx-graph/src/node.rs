//! Dense node numbers and the containers indexed by them.
//!
//! A [`Node`] is a position in a graph's node list and nothing more. All tables of this crate are
//! dense vectors over these numbers; [`NodeVec`] and [`NodeSet`] are the typed forms for callers.

use std::fmt;
use std::ops::{Index, IndexMut};

use crate::bitset::BitSet;

/// A node of a graph: a dense number below the graph's node count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Node(u32);

impl Node {
    /// The node with this position.
    ///
    /// # Panics
    /// If the position does not fit 32 bits.
    #[inline]
    #[must_use]
    pub fn new(index: usize) -> Self {
        assert!(index <= u32::MAX as usize, "node number {index} does not fit 32 bits");
        Self(index as u32)
    }

    /// The node with this raw number.
    #[inline]
    #[must_use]
    pub const fn from_raw(raw: u32) -> Self {
        Self(raw)
    }

    /// The position as an index into dense tables.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The position as the 32-bit number that it is.
    #[inline]
    #[must_use]
    pub const fn raw(self) -> u32 {
        self.0
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A value for every node of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NodeVec<T>(Vec<T>);

impl<T> NodeVec<T> {
    /// `len` copies of `value`.
    #[must_use]
    pub fn filled(value: T, len: usize) -> Self
    where
        T: Clone,
    {
        Self(vec![value; len])
    }

    /// The values as a slice in node order.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }

    /// How many nodes have a value.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Nodes with their values, in node order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Node, &T)> {
        self.0.iter().enumerate().map(|(i, value)| (Node(i as u32), value))
    }

    /// Appends the value of the next node and returns that node.
    pub fn push(&mut self, value: T) -> Node {
        let node = Node::new(self.0.len());
        self.0.push(value);
        node
    }
}

impl<T> From<Vec<T>> for NodeVec<T> {
    fn from(values: Vec<T>) -> Self {
        Self(values)
    }
}

impl<T> FromIterator<T> for NodeVec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<T> Index<Node> for NodeVec<T> {
    type Output = T;
    #[inline]
    fn index(&self, node: Node) -> &T {
        &self.0[node.index()]
    }
}

impl<T> IndexMut<Node> for NodeVec<T> {
    #[inline]
    fn index_mut(&mut self, node: Node) -> &mut T {
        &mut self.0[node.index()]
    }
}

/// A set of nodes: a dense bit set.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NodeSet(BitSet);

impl NodeSet {
    /// The empty set over a graph of `node_count` nodes.
    #[must_use]
    pub fn new(node_count: usize) -> Self {
        Self(BitSet::new(node_count))
    }

    /// Whether the node is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, node: Node) -> bool {
        self.0.contains(node.index())
    }

    /// Adds the node; true when it was absent.
    #[inline]
    pub fn insert(&mut self, node: Node) -> bool {
        self.0.insert(node.index())
    }

    /// Removes the node; true when it was present.
    #[inline]
    pub fn remove(&mut self, node: Node) -> bool {
        self.0.remove(node.index())
    }

    /// How many nodes are in the set. Counts the words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.count()
    }

    /// Whether no node is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The nodes in increasing order.
    pub fn iter(&self) -> impl Iterator<Item = Node> {
        self.0.iter().map(|i| Node(i as u32))
    }
}

impl Extend<Node> for NodeSet {
    fn extend<I: IntoIterator<Item = Node>>(&mut self, nodes: I) {
        for node in nodes {
            self.insert(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_are_indexed_by_node() {
        let mut values = NodeVec::filled(0, 3);
        values[Node::new(1)] = 7;
        assert_eq!(values.push(9), Node::new(3));
        assert_eq!(
            values.iter().map(|(n, v)| (n.raw(), *v)).collect::<Vec<_>>(),
            [(0, 0), (1, 7), (2, 0), (3, 9)]
        );

        let mut set = NodeSet::new(4);
        set.extend([Node::new(3), Node::new(1), Node::new(3)]);
        assert_eq!(set.len(), 2);
        assert_eq!(set.iter().collect::<Vec<_>>(), [Node::new(1), Node::new(3)]);
        assert!(set.remove(Node::new(1)) && !set.remove(Node::new(1)));
    }
}
