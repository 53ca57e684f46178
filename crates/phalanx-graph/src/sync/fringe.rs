//! Dominance frontiers within levels, as lists that share their tails.
//!
//! The frontier of a node consists of the frontiers of its children in the level tree, without the
//! children of the node itself, and of the targets of its own edges. All frontiers together can be
//! quadratic: a row of `n` nodes whose last one jumps to `m` places further out has `n * m`
//! entries. But from a node to its parent, a list only loses its deepest entries and gains a few:
//!
//! ```text
//!   h1 -> h2 -> h3 -> {j3, j2, j1}    lists, deepest parent first:   h3: j3 - j2 - j1
//!   j3 has parent h2, j2 has h1,                                      h2:      j2 - j1
//!   j1 has a parent above h1                                          h1:           j1
//! ```
//!
//! So lists are sorted by the depth of the parents of their entries, deepest first. A list is a
//! position in a forest of cells. To remove the deepest entries, it moves on along its cells. To
//! add an entry, it copies only the deeper ones. Equal lists share their cells.

use crate::dfs::NONE;
use crate::node::Node;
use crate::sync::reduced::Rows;

/// The frontiers of all nodes.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Fringes {
    /// First cell by node, `NONE` for an empty frontier.
    first: Vec<u32>,
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    node: Node,
    next: u32,
}

impl Fringes {
    /// Empties the frontier of a node.
    pub(crate) fn clear(&mut self, node: Node) {
        self.first[node.index()] = NONE;
    }

    /// The frontiers with one more node, whose frontier has one entry.
    pub(crate) fn with_one(&self, node: Node) -> Self {
        let mut fringes = self.with_copy(None);
        if let Some(last) = fringes.first.last_mut() {
            *last = fringes.cells.len() as u32;
        }
        fringes.cells.push(Cell { node, next: NONE });
        fringes
    }

    /// The frontiers with one more node, whose frontier equals that of `of` or is empty.
    pub(crate) fn with_copy(&self, of: Option<Node>) -> Self {
        let mut first = Vec::with_capacity(self.first.len() + 1);
        first.extend_from_slice(&self.first);
        first.push(of.map_or(NONE, |node| self.first[node.index()]));
        Self { first, cells: self.cells.clone() }
    }

    /// The frontier of a node, deepest parents first.
    pub(crate) fn of(&self, node: Node) -> Fringe<'_> {
        Fringe { cells: &self.cells, next: self.first[node.index()] }
    }
}

/// The nodes of one frontier.
#[derive(Clone, Debug)]
pub(crate) struct Fringe<'a> {
    cells: &'a [Cell],
    next: u32,
}

impl Iterator for Fringe<'_> {
    type Item = Node;

    #[inline]
    fn next(&mut self) -> Option<Node> {
        let cell = self.cells.get(self.next as usize)?;
        self.next = cell.next;
        Some(cell.node)
    }
}

/// Computes the frontiers.
///
/// `preorder` and `parent` (by node) describe the level tree; `edges` are pairs of a node and a
/// target that is not below it, in any order.
pub(crate) fn fringes(
    preorder: &[Node],
    parent: &[u32],
    edges: &[(u32, u32)],
    room: &mut Room,
) -> Fringes {
    let mut fringes = Fringes { first: vec![NONE; parent.len()], cells: Vec::new() };
    if edges.is_empty() {
        return fringes;
    }
    let Room { depth, targets, taken, cells } = room;
    depth.clear();
    depth.resize(parent.len(), 0);
    for node in preorder {
        let up = parent[node.index()];
        if up != NONE {
            depth[node.index()] = depth[up as usize] + 1;
        }
    }
    targets.refill(parent.len(), edges);
    cells.clear();
    let mut builder = Builder { parent, depth, first: &mut fringes.first, cells, taken };
    for &node in preorder.iter().rev() {
        builder.add_edges(node, targets.row(node.index()));
        builder.hand_up(node);
    }
    fringes.cells = cells.as_slice().into();
    fringes
}

/// Tables that are needed while fringes are computed.
#[derive(Debug, Default)]
pub(crate) struct Room {
    depth: Vec<u32>,
    targets: Rows,
    taken: Vec<Node>,
    cells: Vec<Cell>,
}

struct Builder<'a> {
    parent: &'a [u32],
    depth: &'a [u32],
    first: &'a mut [u32],
    cells: &'a mut Vec<Cell>,
    taken: &'a mut Vec<Node>,
}

impl Builder<'_> {
    /// Where a node stands in lists: deeper parents first.
    fn key(&self, node: Node) -> (u32, Node) {
        let up = self.parent[node.index()];
        let depth = if up == NONE { 0 } else { self.depth[up as usize] + 1 };
        (u32::MAX - depth, node)
    }

    fn cell(&mut self, node: Node, next: u32) -> u32 {
        self.cells.push(Cell { node, next });
        self.cells.len() as u32 - 1
    }

    /// Adds the targets of a node's own edges.
    fn add_edges(&mut self, node: Node, targets: &[u32]) {
        let known = self.first[node.index()];
        let list = match *targets {
            [] => return,
            [to] => self.cell(Node::from_raw(to), NONE),
            _ => {
                let mut sorted: Vec<Node> = targets.iter().map(|&to| Node::from_raw(to)).collect();
                sorted.sort_unstable_by_key(|&to| self.key(to));
                sorted.dedup();
                sorted.iter().rev().fold(NONE, |list, &to| self.cell(to, list))
            }
        };
        self.first[node.index()] = self.merge(known, list);
    }

    /// Adds the frontier of a node to that of its parent, without the nodes that are children of
    /// the parent.
    fn hand_up(&mut self, node: Node) {
        let up = self.parent[node.index()];
        if up == NONE {
            return;
        }
        let mut list = self.first[node.index()];
        while let Some(cell) = self.cells.get(list as usize) {
            if self.parent[cell.node.index()] != up {
                break;
            }
            list = cell.next;
        }
        let known = self.first[up as usize];
        self.first[up as usize] = self.merge(known, list);
    }

    /// The union of two lists; shares the end of one of them, and all of it if the other adds
    /// nothing.
    fn merge(&mut self, a: u32, b: u32) -> u32 {
        if a == NONE || b == NONE {
            return if a == NONE { b } else { a };
        }
        let (mut x, mut y) = (a, b);
        self.taken.clear();
        let (mut only_a, mut only_b) = (true, true);
        let end = loop {
            if x == y || y == NONE {
                break x;
            }
            if x == NONE {
                break y;
            }
            let (left, right) = (self.cells[x as usize], self.cells[y as usize]);
            let order = self.key(left.node).cmp(&self.key(right.node));
            if order.is_le() {
                self.taken.push(left.node);
                x = left.next;
                only_b &= order.is_eq();
            } else {
                self.taken.push(right.node);
            }
            if order.is_ge() {
                y = right.next;
                only_a &= order.is_eq();
            }
        };
        // The rest comes from one list. If everything before came from that list too, the result is
        // that list as it is.
        if only_a && end == x {
            return a;
        }
        if only_b && end == y {
            return b;
        }
        let mut list = end;
        while let Some(node) = self.taken.pop() {
            list = self.cell(node, list);
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree by parents, root 0, numbered in preorder.
    fn fringes_of(parent: &[u32], edges: &[(u32, u32)]) -> Fringes {
        let preorder: Vec<Node> = (0..parent.len()).map(Node::new).collect();
        fringes(&preorder, parent, edges, &mut Room::default())
    }

    fn list(found: &Fringes, node: usize) -> Vec<u32> {
        found.of(Node::new(node)).map(Node::raw).collect()
    }

    #[test]
    fn a_row_that_jumps_far_shares_its_lists() {
        // 0 - 1 - 2 - ... - n in a row; n jumps to one child of each of them.
        let n = 50u32;
        let mut parent: Vec<u32> = (0..=n).map(|i| i.wrapping_sub(1)).collect();
        parent.extend(0..n);
        let edges: Vec<(u32, u32)> = (0..n).map(|i| (n, n + 1 + i)).collect();
        // Not a preorder, but parents come first and the row is in order, which is all that
        // matters.
        let found = fringes_of(&parent, &edges);
        for i in 0..=n {
            let expected: Vec<u32> = (0..i).rev().map(|j| n + 1 + j).collect();
            assert_eq!(list(&found, i as usize), expected);
        }
        assert_eq!(found.cells.len(), n as usize);
    }

    #[test]
    fn lists_are_unions_without_what_the_node_is_the_parent_of() {
        //        0
        //      / | \       5 and 6 are children of 0, 4 a child of 1
        //     1  5  6
        //    / \
        //   2   4
        //   |
        //   3
        let parent = [NONE, 0, 1, 2, 1, 0, 0];
        let found = fringes_of(&parent, &[(3, 4), (3, 5), (2, 6), (4, 5), (3, 5)]);
        assert_eq!(list(&found, 3), [4, 5]);
        assert_eq!(list(&found, 2), [4, 5, 6]);
        assert_eq!(list(&found, 4), [5]);
        assert_eq!(list(&found, 1), [5, 6]);
        assert_eq!(list(&found, 0), []);
    }
}
