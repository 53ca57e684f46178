//! Makes graphs that differ from a given one in one place, by copying.
//!
//! ```text
//! after_split(b)            a -> b -> c, d    becomes    a -> b -> new -> c, d
//! after_edge_split(a, 0)    a -> b, c         becomes    a -> new, c    new -> b
//! after_merge(a, b)         a -> b -> c       becomes    a -> c         b has no edges
//! ```

use super::{Cfg, unless_by_number};
use crate::dom::inserted;
use crate::node::Node;

impl Cfg {
    /// The graph with a node split in two. A new node takes over the outgoing edges of the node,
    /// which then leads to the new node alone. The new node has the next number and follows the
    /// node in the layout.
    ///
    /// ```
    /// use phalanx_graph::{Cfg, Node};
    ///
    /// let n = Node::new;
    /// let cfg = Cfg::new(n(0), [vec![n(1), n(1), n(2)], vec![n(0)], vec![]]);
    /// let split = cfg.after_split(n(0));
    /// assert_eq!(split.successors(n(0)), [n(3)]);
    /// assert_eq!(split.successors(n(3)), [n(1), n(1), n(2)]);
    /// assert_eq!(split.predecessors(n(1)), [n(3), n(3)]);
    /// ```
    ///
    /// # Panics
    /// If the graph does not have the node.
    #[must_use]
    pub fn after_split(&self, node: Node) -> Self {
        let new = Node::new(self.node_count());
        let row =
            self.succ_start[node.index()] as usize..self.succ_start[node.index() + 1] as usize;
        let moved = row.len();
        let mut succ = Vec::with_capacity(self.succ.len() + 1);
        succ.extend_from_slice(&self.succ[..row.start]);
        succ.push(new);
        succ.extend_from_slice(&self.succ[row.end..]);
        succ.extend_from_slice(&self.succ[row.clone()]);
        let mut succ_start = Vec::with_capacity(self.succ_start.len() + 1);
        succ_start.extend_from_slice(&self.succ_start[..=node.index()]);
        let behind = self.succ_start[node.index() + 1..].iter();
        succ_start.extend(behind.map(|start| start + 1 - moved as u32));
        succ_start.push(succ.len() as u32);
        let mut pred = Vec::with_capacity(self.pred.len() + 1);
        pred.extend_from_slice(&self.pred);
        for target in &self.succ[row] {
            let row = self.pred_start[target.index()] as usize
                ..self.pred_start[target.index() + 1] as usize;
            pred[row].iter_mut().filter(|source| **source == node).for_each(|source| *source = new);
        }
        pred.push(node);
        let mut pred_start = Vec::with_capacity(self.pred_start.len() + 1);
        pred_start.extend_from_slice(&self.pred_start);
        pred_start.push(pred.len() as u32);
        let renamed = |exit: Node| if exit == node { new } else { exit };
        let exits = unless_by_number(self.exits().map(renamed).collect());
        let Self { entry, not_laid_out, .. } = *self;
        Self { entry, succ_start, succ, pred_start, pred, exits, not_laid_out }
    }

    /// The graph with a new node on the edge at position `edge` among those that leave a node. The
    /// new node has the next number and follows that node in the layout.
    ///
    /// None when there is no such edge, or another one with the same ends.
    #[must_use]
    pub fn after_edge_split(&self, from: Node, edge: usize) -> Option<Self> {
        let new = Node::new(self.node_count());
        let to = *self.successors(from).get(edge)?;
        if self.successors(from).iter().filter(|other| **other == to).count() > 1 {
            return None;
        }
        let mut succ = inserted(&self.succ, self.succ.len(), to);
        succ[self.succ_start[from.index()] as usize + edge] = new;
        let succ_start = inserted(&self.succ_start, self.succ_start.len(), succ.len() as u32);
        let mut pred = inserted(&self.pred, self.pred.len(), from);
        let row = self.pred_start[to.index()] as usize..self.pred_start[to.index() + 1] as usize;
        pred[row].iter_mut().filter(|source| **source == from).for_each(|source| *source = new);
        let pred_start = inserted(&self.pred_start, self.pred_start.len(), pred.len() as u32);
        let Self { entry, not_laid_out, .. } = *self;
        let exits = self.exits.clone();
        Some(Self { entry, succ_start, succ, pred_start, pred, exits, not_laid_out })
    }

    /// The graph with two nodes merged: `next` must be the only successor of `node`, and `node` the
    /// only predecessor of `next`. `node` takes over the outgoing edges of `next`, which is left
    /// without edges. In the layout `next` must follow `node`; it is no longer laid out.
    ///
    /// None when the nodes do not fulfil this.
    #[must_use]
    pub fn after_merge(&self, node: Node, next: Node) -> Option<Self> {
        if self.successors(node) != [next] || self.predecessors(next) != [node] || node == next {
            return None;
        }
        let row =
            |n: Node| self.succ_start[n.index()] as usize..self.succ_start[n.index() + 1] as usize;
        let (own, moved) = (row(node), row(next));
        let mut succ = Vec::with_capacity(self.succ.len() - 1);
        let mut succ_start = Vec::with_capacity(self.succ_start.len());
        let (low, high) = if node < next { (own, moved.clone()) } else { (moved.clone(), own) };
        succ.extend_from_slice(&self.succ[..low.start]);
        if node < next {
            succ.extend_from_slice(&self.succ[moved.clone()]);
        }
        succ.extend_from_slice(&self.succ[low.end..high.start]);
        if next < node {
            succ.extend_from_slice(&self.succ[moved.clone()]);
        }
        succ.extend_from_slice(&self.succ[high.end..]);
        let (first, last) = (node.min(next).index(), node.max(next).index());
        // Rows between the two nodes move by as many entries as the first node gains or loses.
        let by = match node < next {
            true => (moved.len() as u32).wrapping_sub(1),
            false => 0u32.wrapping_sub(moved.len() as u32),
        };
        succ_start.extend_from_slice(&self.succ_start[..=first]);
        succ_start
            .extend(self.succ_start[first + 1..=last].iter().map(|start| start.wrapping_add(by)));
        succ_start.extend(self.succ_start[last + 1..].iter().map(|start| start - 1));
        let mut pred = self.pred.clone();
        for target in &self.succ[moved] {
            let row = self.pred_start[target.index()] as usize
                ..self.pred_start[target.index() + 1] as usize;
            pred[row]
                .iter_mut()
                .filter(|source| **source == next)
                .for_each(|source| *source = node);
        }
        pred.remove(self.pred_start[next.index()] as usize);
        let mut pred_start = self.pred_start.clone();
        pred_start[next.index() + 1..].iter_mut().for_each(|start| *start -= 1);
        let renamed = |exit: Node| if exit == next { node } else { exit };
        let mut exits: Vec<Node> = self.exits().map(renamed).collect();
        let laid_out = exits.len() - self.not_laid_out as usize;
        let at = laid_out + exits[laid_out..].partition_point(|exit| *exit < next);
        exits.insert(at, next);
        let exits = unless_by_number(exits);
        let (entry, not_laid_out) = (self.entry, self.not_laid_out + 1);
        Some(Self { entry, succ_start, succ, pred_start, pred, exits, not_laid_out })
    }
}
