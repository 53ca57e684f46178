//! Graphs that differ from others in one place, by copying.

use super::Cfg;
use crate::node::Node;

impl Cfg {
    /// The graph with a node split in two: its edges out start in a new node, which is entered from it alone, has the next
    /// number, and follows it in the layout.
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
    /// If the node is none of the graph.
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
        let mut exits = self.exits.clone();
        exits.iter_mut().filter(|exit| **exit == node).for_each(|exit| *exit = new);
        Self { entry: self.entry, succ_start, succ, pred_start, pred, exits }
    }
}
