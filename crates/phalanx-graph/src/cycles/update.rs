//! Updates a cycle hierarchy by copying when its graph changes in one place.

use super::{CycleId, Cycles};
use crate::cfg::{Cfg, Diamond};
use crate::dfs::NONE;
use crate::dom::inserted;
use crate::node::Node;
use crate::threshold::Thresholds;

impl Cycles {
    /// The hierarchy of a graph made by [`Cfg::after_split`]: the new node is in the same cycles.
    ///
    /// Among the blocks of the innermost cycle, the new node takes the position of the node, and
    /// the node follows it. But a header stays first; then the position of the new node is found by
    /// a walk backwards from the header, as in the construction.
    ///
    /// None when the node is the header of a cycle with an irreducible cycle inside: the position
    /// is then unknown.
    #[must_use]
    pub fn after_split(&self, split: &Cfg, node: Node) -> Option<Self> {
        let new = Node::new(split.node_count() - 1);
        let Some(inner) = self.innermost(node) else {
            let mut hierarchy = self.clone();
            hierarchy.innermost.push(NONE);
            return Some(hierarchy);
        };
        let is_header = self.header(inner) == node;
        let at = match is_header {
            true => self.place(split, inner)?,
            false => {
                let first = self.cycles[inner.index()].first_block;
                let place = self.blocks(inner).iter().position(|&block| block == node)?;
                first + place as u32
            }
        };
        let mut hierarchy = self.with_block(new, inner, at);
        let exits = &mut hierarchy.exits;
        // The exits of the node are exits of the new node now.
        let own = match is_header {
            true => self.cycles[inner.index()].first_block,
            false => at,
        };
        let (first, end) = self.exits.range(own, own + 1);
        for (edge, position) in
            exits.edges[first..end].iter_mut().zip(&mut exits.positions[first..end])
        {
            (edge.0, *position) = (new, at);
        }
        let last = end + exits.positions[end..].partition_point(|&position| position < at);
        if last > end && first < end {
            exits.edges[first..last].rotate_left(end - first);
            exits.positions[first..last].rotate_left(end - first);
            let mut depths: Vec<u32> =
                (0..exits.depths.len()).map(|i| exits.depths.key(i)).collect();
            depths[first..last].rotate_left(end - first);
            exits.depths = Thresholds::new(depths.into_iter());
        }
        Some(hierarchy)
    }

    /// The hierarchy of a graph made by [`Cfg::after_edge_split`]: the new node is in the cycles
    /// that contain both ends of the edge.
    ///
    /// None when the innermost of them has an irreducible cycle inside: the position of the new
    /// node is then unknown.
    #[must_use]
    pub fn after_edge_split(&self, split: &Cfg, from: Node) -> Option<Self> {
        let new = Node::new(split.node_count() - 1);
        let to = *split.successors(new).first()?;
        let common = self.common(from, to);
        let mut hierarchy = match common {
            Some(cycle) => self.with_block(new, cycle, self.place(split, cycle)?),
            None => {
                let mut hierarchy = self.clone();
                hierarchy.innermost.push(NONE);
                hierarchy
            }
        };
        if self.innermost(from) != common {
            let edges = hierarchy.exits.edges.iter_mut();
            edges.filter(|edge| **edge == (from, to)).for_each(|edge| edge.1 = new);
        }
        Some(hierarchy)
    }

    /// The hierarchy with one more block in a cycle.
    fn with_block(&self, new: Node, inner: CycleId, at: u32) -> Self {
        let mut innermost = Vec::with_capacity(self.innermost.len() + 1);
        innermost.extend_from_slice(&self.innermost);
        innermost.push(inner.raw());
        let blocks = inserted(&self.blocks, at as usize, new);
        let mut cycles = self.cycles.clone();
        for (i, cycle) in cycles.iter_mut().enumerate() {
            let is_around = self.contains_cycle(CycleId(i as u32), inner);
            cycle.first_block += u32::from(!is_around && cycle.first_block >= at);
            cycle.end_block += u32::from(is_around || cycle.end_block > at);
        }
        let mut entries = self.entries.clone();
        entries.positions.iter_mut().for_each(|position| *position += u32::from(*position >= at));
        let mut exits = self.exits.clone();
        exits.positions.iter_mut().for_each(|position| *position += u32::from(*position >= at));
        Self { innermost, cycles, blocks, entries, exits }
    }

    /// The hierarchy of a graph made by [`Cfg::after_merge`]: without `next`, whose outgoing edges
    /// are those of `node` now.
    #[must_use]
    pub fn after_merge(&self, node: Node, next: Node) -> Self {
        let mut hierarchy = self.clone();
        let Some(at) = hierarchy.take_out(next) else { return hierarchy };
        let Some(inner) = self.innermost(node) else { return hierarchy };
        let exits = &mut hierarchy.exits;
        let first_block = self.cycles[inner.index()].first_block;
        let own = match self.header(inner) == node {
            true => first_block,
            false => at,
        };
        let (first, end) = self.exits.range(at, at + 1);
        for (edge, position) in
            exits.edges[first..end].iter_mut().zip(&mut exits.positions[first..end])
        {
            (edge.0, *position) = (node, own);
        }
        // A header comes first, and so do its edges.
        let low = exits.positions[..first].partition_point(|&position| position < own);
        if low < first && first < end {
            exits.edges[low..end].rotate_right(end - first);
            exits.positions[low..end].rotate_right(end - first);
            let mut depths: Vec<u32> =
                (0..exits.depths.len()).map(|i| exits.depths.key(i)).collect();
            depths[low..end].rotate_right(end - first);
            exits.depths = Thresholds::new(depths.into_iter());
        }
        hierarchy
    }

    /// The hierarchy of a graph made by [`Cfg::after_diamond`]: without the sides.
    ///
    /// A side is in the same cycles as the node of the diamond: it is entered from there alone, and
    /// every way from the node back to itself passes the join, to which the side leads as well.
    #[must_use]
    pub fn after_diamond(&self, diamond: &Diamond) -> Self {
        let mut hierarchy = self.clone();
        diamond.sides().for_each(|side| _ = hierarchy.take_out(side));
        hierarchy
    }

    /// Takes a block that is no entry of a cycle out of its cycles; returns the position that it
    /// had. Edges out of cycles stay.
    fn take_out(&mut self, block: Node) -> Option<u32> {
        let inner = self.innermost(block)?;
        self.innermost[block.index()] = NONE;
        let place = self.blocks(inner).iter().position(|&other| other == block)?;
        let at = self.cycles[inner.index()].first_block + place as u32;
        self.blocks.remove(at as usize);
        for cycle in &mut self.cycles {
            cycle.first_block -= u32::from(cycle.first_block > at);
            cycle.end_block -= u32::from(cycle.end_block > at);
        }
        let positions = self.entries.positions.iter_mut().chain(&mut self.exits.positions);
        positions.for_each(|position| *position -= u32::from(*position > at));
        Some(at)
    }

    /// The position of the new node among the blocks of its innermost cycle: walks backwards from
    /// the header as the construction does.
    fn place(&self, split: &Cfg, cycle: CycleId) -> Option<u32> {
        let new = Node::new(split.node_count() - 1);
        let header = self.header(cycle);
        if !self.all_reducible()
            && self
                .iter()
                .any(|c| self.contains_cycle(cycle, c) && c != cycle && !self.is_reducible(c))
        {
            return None;
        }
        // The node that represents a block of the cycle: the block itself, or the header of the
        // nested cycle around it.
        let part = |block: Node| {
            if block == new || block == header {
                return Some(block);
            }
            let inner = self.innermost(block).filter(|_| self.contains(cycle, block))?;
            let nested = self.outermost_without(inner, header);
            Some(nested.map_or(block, |nested| self.header(nested)))
        };
        let mut done = vec![false; split.node_count()];
        let mut work: Vec<Node> = Vec::new();
        work.extend(split.predecessors(header).iter().rev().filter_map(|&p| part(p)));
        let mut at = self.cycles[cycle.index()].first_block + 1;
        while let Some(block) = work.pop() {
            if block == header || std::mem::replace(&mut done[block.index()], true) {
                continue;
            }
            if block == new {
                return Some(at);
            }
            let nested = self.innermost(block).filter(|c| *c != cycle);
            at += nested.map_or(1, |nested| self.blocks(nested).len() as u32);
            work.extend(split.predecessors(block).iter().rev().filter_map(|&p| part(p)));
        }
        None
    }
}
