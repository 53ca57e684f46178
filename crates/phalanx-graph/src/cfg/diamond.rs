//! Takes a small branch out of a graph, by copying.
//!
//! ```text
//!     node                 node
//!    /    \                  |
//!  side  side    becomes     |     the sides have no edges
//!    \    /                  |
//!     join                 join
//! ```

use super::{Cfg, unless_by_number};
use crate::node::Node;

/// A node with two ways out that meet in the next node, each directly or over one node that has no
/// other edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diamond {
    node: Node,
    sides: [Option<Node>; 2],
    join: Node,
}

impl Diamond {
    /// The diamond that begins in a node.
    #[must_use]
    pub fn at(cfg: &Cfg, node: Node) -> Option<Self> {
        let &[a, b] = cfg.successors(node) else { return None };
        let over = |side: Node| match *cfg.successors(side) {
            [next] if cfg.predecessors(side) == [node] && side != cfg.entry() => Some(next),
            _ => None,
        };
        let (sides, join) = match (over(a), over(b)) {
            (Some(x), Some(y)) if x == y => ([Some(a), Some(b)], x),
            (Some(x), _) if x == b => ([Some(a), None], b),
            (_, Some(y)) if y == a => ([None, Some(b)], a),
            _ => return None,
        };
        (join != node).then_some(Self { node, sides, join })
    }

    /// Where it begins.
    #[must_use]
    pub fn node(&self) -> Node {
        self.node
    }

    /// The nodes between.
    pub fn sides(&self) -> impl Iterator<Item = Node> + use<> {
        self.sides.into_iter().flatten()
    }

    /// Where it ends.
    #[must_use]
    pub fn join(&self) -> Node {
        self.join
    }

    /// Replaces the node and the sides in a list of sources of edges into the join: by the node
    /// alone, in the place of the first of them.
    fn close(&self, sources: &[Node]) -> Vec<Node> {
        let is_part = |source: &Node| *source == self.node || self.sides.contains(&Some(*source));
        let first = sources.iter().position(is_part).unwrap_or(0);
        let mut closed: Vec<Node> = sources[..first].to_vec();
        closed.push(self.node);
        closed.extend(sources[first..].iter().filter(|source| !is_part(source)));
        closed
    }
}

impl Cfg {
    /// The graph without the branch of a diamond: its node leads to its join alone, and the sides
    /// have no edges and are not laid out any more. Among the predecessors of the join, the node
    /// takes the place of the first of node and sides.
    ///
    /// ```
    /// use phalanx_graph::{Cfg, Node, cfg::Diamond};
    ///
    /// let n = Node::new;
    /// let cfg = Cfg::new(n(0), [vec![n(1), n(2)], vec![n(3)], vec![n(3)], vec![]]);
    /// let diamond = Diamond::at(&cfg, n(0)).expect("both ways lead to 3");
    /// let closed = cfg.after_diamond(&diamond);
    /// assert_eq!(closed.successors(n(0)), [n(3)]);
    /// assert!(closed.successors(n(1)).is_empty() && closed.predecessors(n(3)) == [n(0)]);
    /// ```
    #[must_use]
    pub fn after_diamond(&self, diamond: &Diamond) -> Self {
        let (node, join) = (diamond.node, diamond.join);
        let straight = [join];
        let closed = diamond.close(self.predecessors(join));
        let rows = |of: Node, list| {
            let mut rows: Vec<(Node, &[Node])> = vec![(of, list)];
            rows.extend(diamond.sides().map(|side| (side, &[][..])));
            rows.sort_unstable_by_key(|row| row.0);
            rows
        };
        let (succ_start, succ) = with_rows(&self.succ_start, &self.succ, &rows(node, &straight));
        let (pred_start, pred) = with_rows(&self.pred_start, &self.pred, &rows(join, &closed));
        let mut exits: Vec<Node> = self.exits().collect();
        let laid_out = exits.len() - self.not_laid_out as usize;
        let mut not_laid_out = self.not_laid_out;
        for side in diamond.sides() {
            let at = laid_out + exits[laid_out..].partition_point(|exit| *exit < side);
            exits.insert(at, side);
            not_laid_out += 1;
        }
        let exits = unless_by_number(exits);
        Self { entry: self.entry, succ_start, succ, pred_start, pred, exits, not_laid_out }
    }
}

/// Compressed rows with other lists in some rows, which are in order.
fn with_rows(start: &[u32], items: &[Node], rows: &[(Node, &[Node])]) -> (Vec<u32>, Vec<Node>) {
    let mut new_start = Vec::with_capacity(start.len());
    let mut new_items = Vec::with_capacity(items.len() + 1);
    let (mut next, mut by) = (0, 0u32);
    let mut copy = |next: usize, end: usize, by: u32, list: &[Node]| {
        let last = (end + 1).min(start.len());
        new_start.extend(start[next..last].iter().map(|at| at.wrapping_add(by)));
        new_items.extend_from_slice(&items[start[next] as usize..start[last - 1] as usize]);
        new_items.extend_from_slice(list);
    };
    for (row, list) in rows {
        copy(next, row.index(), by, list);
        next = row.index() + 1;
        let was = start[next] - start[row.index()];
        by = by.wrapping_add(list.len() as u32).wrapping_sub(was);
    }
    copy(next, start.len(), by, &[]);
    (new_start, new_items)
}
