//! Reduced graphs of graphs that differ from others in one place, by copying.

use super::{Reduced, Rows};
use crate::cfg::Cfg;
use crate::cycles::Cycles;
use crate::dfs::NONE;
use crate::dom::inserted;
use crate::node::Node;

impl Reduced {
    /// The reduced graph of a graph made by [`Cfg::after_split`], where the cycles have kept their numbers.
    ///
    /// The new node comes between the node and those of its children that are in the same cycle. Positions and ranks behind
    /// grow by one; edges out start in the new node; the dominance of both ends where that of the node has ended, except that what
    /// a header dominates in its cycle is the whole of it.
    ///
    /// None when there are irreducible regions.
    pub(crate) fn after_split(&self, split: &Cfg, cycles: &Cycles, node: Node) -> Option<Self> {
        if self.has_regions() {
            return None;
        }
        let new = Node::new(split.node_count() - 1);
        let (at, end) = self.interval(node);
        let headed = self.inner(node).filter(|&cycle| cycles.header(cycle) == node);
        let mut inner = self.inner.clone();
        inner.push(self.inner[node.index()]);
        let is_there = at != NONE;
        // What the new node is put above: all children, or those of them in the cycle of a header, which come first.
        let mut own_end = end;
        let mut parent = Vec::with_capacity(self.parent.len() + 1);
        parent.extend_from_slice(&self.parent);
        for (child, up) in parent.iter_mut().enumerate().filter(|(_, up)| **up == node.raw()) {
            let child = Node::new(child);
            match headed {
                Some(cycle) if !cycles.contains(cycle, child) => {
                    own_end = own_end.min(self.interval(child).0);
                }
                _ => *up = new.raw(),
            }
        }
        parent.push(if is_there { node.raw() } else { NONE });
        let shift = |&(first, end): &(u32, u32)| {
            let is_behind = first > at && first != NONE;
            (first + u32::from(is_behind), end + u32::from(end > at))
        };
        let mut interval = Vec::with_capacity(self.interval.len() + 1);
        interval.extend(self.interval.iter().map(shift));
        interval.push(if is_there { (at + 1, own_end + 1) } else { (NONE, 0) });
        let from = self.rank(node);
        let mut rank = Vec::with_capacity(self.rank.len() + 1);
        let behind = |rank: &u32| rank + u32::from(*rank > from && *rank != NONE);
        rank.extend(self.rank.iter().map(behind));
        rank.push(if is_there { from + 1 } else { NONE });
        let fringe = if headed.is_some() { None } else { Some(node) };
        let mut reduced = Self {
            representative: Vec::new(),
            inner,
            interval,
            parent,
            dominated: Vec::new(),
            idom: Vec::new(),
            rank,
            frontier: self.frontier.with_copy(fringe),
            sources: self.sources.with_row(if is_there { Some(node.raw()) } else { None }),
            cycle_count: self.cycle_count,
            leaving: self.leaving.clone(),
        };
        if is_there {
            reduced.rename_sources(split, cycles, node, new);
            for position in &mut reduced.leaving.positions {
                *position += u32::from(*position >= at);
            }
            let (first, end) = reduced.leaving.at_positions(at + 1, at + 2);
            for edge in &mut reduced.leaving.edges[first as usize..end as usize] {
                edge.0 = new;
            }
        }
        Some(reduced)
    }

    /// The reduced graph of a graph made by [`Cfg::after_merge`], where the cycles have kept their numbers: what
    /// [`after_split`](Self::after_split) does, the other way round.
    pub(crate) fn after_merge(
        &self,
        merged: &Cfg,
        cycles: &Cycles,
        (node, next): (Node, Node),
    ) -> Option<Self> {
        if self.has_regions() {
            return None;
        }
        let mut reduced = self.clone();
        reduced.inner[next.index()] = NONE;
        let at = self.interval(next).0;
        if at == NONE {
            return Some(reduced);
        }
        reduced.parent.iter_mut().filter(|up| **up == next.raw()).for_each(|up| *up = node.raw());
        reduced.parent[next.index()] = NONE;
        for (first, end) in &mut reduced.interval {
            *first -= u32::from(*first > at && *first != NONE);
            *end -= u32::from(*end > at);
        }
        reduced.interval[next.index()] = (NONE, 0);
        let rank = self.rank(next);
        for other in &mut reduced.rank {
            *other -= u32::from(*other > rank && *other != NONE);
        }
        reduced.rank[next.index()] = NONE;
        reduced.frontier.clear(next);
        for &target in merged.successors(node) {
            let row = match self.goes_back_to(cycles, node, target) {
                Some(cycle) => cycle.index(),
                None => self.forward_row(target),
            };
            reduced.sources.rename(row, next.raw(), node.raw());
        }
        reduced.sources.clear(self.forward_row(next));
        let (first, end) = self.leaving.at_positions(at, at + 1);
        for edge in &mut reduced.leaving.edges[first as usize..end as usize] {
            edge.0 = node;
        }
        for position in &mut reduced.leaving.positions {
            *position -= u32::from(*position >= at);
        }
        Some(reduced)
    }

    /// The edges out of a node start in another one now.
    fn rename_sources(&mut self, split: &Cfg, cycles: &Cycles, node: Node, new: Node) {
        for &target in split.successors(new) {
            let row = match self.goes_back_to(cycles, new, target) {
                Some(cycle) => cycle.index(),
                None => self.forward_row(target),
            };
            self.sources.rename(row, node.raw(), new.raw());
        }
    }
}

#[cfg(any(test, feature = "testing"))]
impl Reduced {
    /// Whether both say the same; lists may share their ends in other ways.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let nodes = || (0..self.interval.len()).map(Node::new);
        let empty = || crate::sync::fringe::Fringes::default();
        let (mut a, mut b) = (self.clone(), other.clone());
        (a.frontier, b.frontier) = (empty(), empty());
        a == b && nodes().all(|node| self.frontier.of(node).eq(other.frontier.of(node)))
    }
}

impl Rows {
    /// The rows with another one at the end.
    fn with_row(&self, item: Option<u32>) -> Self {
        let mut rows = Self {
            start: inserted(&self.start, self.start.len(), 0),
            items: Vec::with_capacity(self.items.len() + 1),
        };
        rows.items.extend_from_slice(&self.items);
        rows.items.extend(item);
        if let Some(last) = rows.start.last_mut() {
            *last = rows.items.len() as u32;
        }
        rows
    }

    fn clear(&mut self, row: usize) {
        let (start, end) = (self.start[row], self.start[row + 1]);
        self.items.drain(start as usize..end as usize);
        self.start[row + 1..].iter_mut().for_each(|other| *other -= end - start);
    }

    fn rename(&mut self, row: usize, old: u32, new: u32) {
        let row = self.start[row] as usize..self.start[row + 1] as usize;
        self.items[row].iter_mut().filter(|item| **item == old).for_each(|item| *item = new);
    }
}
