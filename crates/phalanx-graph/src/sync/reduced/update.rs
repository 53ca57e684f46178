//! Updates a reduced graph by copying when its graph changes in one place.

use super::{Leaving, Reduced, Rows, contraction::is_in_region, ranks};
use crate::cfg::{Cfg, Diamond};
use crate::cycles::{CycleId, Cycles};
use crate::dfs::NONE;
use crate::dom::DomTree;
use crate::node::Node;
use crate::threshold::Thresholds;

/// Copies a table and appends an entry; an empty table stands for default values and stays empty.
fn with_one<T: Copy>(table: &[T], last: T) -> Vec<T> {
    if table.is_empty() {
        return Vec::new();
    }
    let mut copy = Vec::with_capacity(table.len() + 1);
    copy.extend_from_slice(table);
    copy.push(last);
    copy
}

impl Reduced {
    /// The reduced graph of a graph made by [`Cfg::after_split`]. The cycles must have kept their
    /// numbers.
    ///
    /// The new node is inserted between the node and those of its children that are in the same
    /// cycle. Later positions and ranks grow by one, and edges out start in the new node. Both
    /// nodes have the frontier that the node had; but a header dominates the whole of its cycle, so
    /// the new node then has an empty frontier within the cycle.
    ///
    /// None when the node is in an irreducible region.
    pub(crate) fn after_split(&self, split: &Cfg, cycles: &Cycles, node: Node) -> Option<Self> {
        if is_in_region(cycles, node) {
            return None;
        }
        let new = Node::new(split.node_count() - 1);
        let (at, end) = self.interval(node);
        let headed = self.inner(cycles, node).filter(|&cycle| cycles.header(cycle) == node);
        let is_there = at != NONE;
        // The new node becomes the parent of all children. Of a header's children, it takes only
        // those in the cycle, which come first.
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
        if !cycles.is_empty() {
            parent.push(if is_there { node.raw() } else { NONE });
        }
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
            representative: with_one(&self.representative, new.raw()),
            inner: with_one(&self.inner, self.inner.get(node.index()).copied().unwrap_or(NONE)),
            interval,
            parent,
            dom: self.dom.as_ref().map(|dom| dom.after_split(node)),
            rank,
            frontier: self.frontier.with_copy(fringe),
            sources: self.sources.with_row(if is_there { Some(node.raw()) } else { None }),
            cycle_count: self.cycle_count,
            leaving: self.leaving.clone(),
        };
        if is_there {
            reduced.rename_sources(split, cycles, node, new);
            for edge in &mut reduced.leaving.edges {
                edge.position += u32::from(edge.position >= at);
            }
            let (first, end) = reduced.leaving.at_positions(at + 1, at + 2);
            for edge in &mut reduced.leaving.edges[first as usize..end as usize] {
                edge.from = new;
            }
        }
        Some(reduced)
    }

    /// The reduced graph of a graph made by [`Cfg::after_merge`]: undoes what
    /// [`after_split`](Self::after_split) does. The cycles must have kept their numbers. None when
    /// the nodes are in an irreducible region.
    pub(crate) fn after_merge(
        &self,
        merged: &Cfg,
        cycles: &Cycles,
        (node, next): (Node, Node),
    ) -> Option<Self> {
        // `next` is in no cycle any more; before the merge it was in the same cycles as `node`.
        if is_in_region(cycles, node) {
            return None;
        }
        let mut reduced = self.clone();
        if let Some(inner) = reduced.inner.get_mut(next.index()) {
            *inner = NONE;
        }
        reduced.dom = self.dom.as_ref().map(|dom| dom.after_merge(node, next));
        let at = self.interval(next).0;
        if at == NONE {
            return Some(reduced);
        }
        if !cycles.is_empty() {
            let children = reduced.parent.iter_mut().filter(|up| **up == next.raw());
            children.for_each(|up| *up = node.raw());
            reduced.parent[next.index()] = NONE;
        }
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
                None => self.forward_row(self.representative(target)),
            };
            reduced.sources.rename(row, next.raw(), node.raw());
        }
        reduced.sources.clear(self.forward_row(next));
        let (first, end) = self.leaving.at_positions(at, at + 1);
        for edge in &mut reduced.leaving.edges[first as usize..end as usize] {
            edge.from = node;
        }
        for edge in &mut reduced.leaving.edges {
            edge.position -= u32::from(edge.position >= at);
        }
        Some(reduced)
    }

    /// The reduced graph of a graph made by [`Cfg::after_diamond`], with cycles made by
    /// [`Cycles::after_diamond`]: all edges of the diamond are within one cycle, or back to its
    /// header.
    ///
    /// None when there are irreducible regions.
    pub(crate) fn after_diamond(&self, cycles: &Cycles, diamond: &Diamond) -> Option<Self> {
        if self.has_regions() {
            return None;
        }
        let (node, join) = (diamond.node(), diamond.join());
        let mut reduced = self.clone();
        if self.interval(node).0 == NONE {
            return Some(reduced);
        }
        let back = self.goes_back_to(cycles, node, join);
        let row = back.map_or_else(|| self.forward_row(join), CycleId::index);
        let is_side = |block: u32| diamond.sides().any(|side| side.raw() == block);
        if !reduced.sources.row(row).contains(&node.raw()) {
            let first = diamond.sides().next()?;
            reduced.sources.rename(row, first.raw(), node.raw());
        }
        reduced.sources.keep(row, |source| !is_side(source));
        for side in diamond.sides() {
            reduced.sources.clear(self.forward_row(side));
            reduced.take_out_leaf(side);
        }
        reduced.sort_sources(row);
        Some(reduced)
    }

    /// Takes a leaf of the level tree out of it.
    fn take_out_leaf(&mut self, leaf: Node) {
        let (at, rank) = (self.interval(leaf).0, self.rank(leaf));
        for (first, end) in &mut self.interval {
            *first -= u32::from(*first > at && *first != NONE);
            *end -= u32::from(*end > at);
        }
        for other in &mut self.rank {
            *other -= u32::from(*other > rank && *other != NONE);
        }
        self.interval[leaf.index()] = (NONE, 0);
        self.rank[leaf.index()] = NONE;
        if let Some(up) = self.parent.get_mut(leaf.index()) {
            *up = NONE;
        }
        self.frontier.clear(leaf);
        for edge in &mut self.leaving.edges {
            edge.position -= u32::from(edge.position > at);
        }
    }

    /// The reduced graph of a graph made by [`Cfg::after_edge_split`]. The cycles must have kept
    /// their numbers. Ranks are computed from scratch, since the new node can change the order of
    /// the search.
    ///
    /// None when there are irreducible regions.
    pub(crate) fn after_edge_split(
        &self,
        (split, dom, cycles): (&Cfg, &DomTree, &Cycles),
        from: Node,
    ) -> Option<Self> {
        if self.has_regions() {
            return None;
        }
        let new = Node::new(split.node_count() - 1);
        let to = *split.successors(new).first()?;
        let is_there = self.interval(from).0 != NONE;
        let mut reduced = self.clone();
        if !cycles.is_empty() {
            reduced.parent.push(NONE);
        }
        reduced.interval.push((NONE, 0));
        reduced.rank.push(NONE);
        reduced.sources = self.sources.with_row(is_there.then_some(from.raw()));
        if !is_there {
            reduced.frontier = self.frontier.with_copy(None);
            return Some(reduced);
        }
        reduced.rank = ranks(split, &mut Vec::new());
        let left = reduced.left(cycles, from, new);
        let parent = left.map_or(from, |cycle| cycles.header(cycle));
        let is_between = dom.idom(to) == Some(new);
        let (at, above) = match is_between {
            true => (self.interval(to).0, self.interval(to).1 - self.interval(to).0),
            false => (self.place_of_leaf((dom, cycles), (new, parent), left.is_some()), 0),
        };
        let low = self.interval(parent).0;
        for (first, end) in reduced.interval.iter_mut().filter(|interval| interval.0 != NONE) {
            let is_around = *first <= low && *end == at;
            *end += u32::from(*end > at || is_around);
            *first += u32::from(*first >= at);
        }
        reduced.interval[new.index()] = (at, at + above + 1);
        if !cycles.is_empty() {
            reduced.parent[new.index()] = parent.raw();
            if is_between {
                reduced.parent[to.index()] = new.raw();
            }
        }
        for edge in &mut reduced.leaving.edges {
            edge.position += u32::from(edge.position >= at);
        }
        let back = self.goes_back_to(cycles, from, to);
        let row = back.map_or_else(|| reduced.forward_row(to), CycleId::index);
        reduced.sources.rename(row, from.raw(), new.raw());
        reduced.sort_sources(row);
        reduced.frontier = match (is_between, back) {
            (true, _) => self.frontier.with_copy(Some(to)),
            (false, Some(_)) => self.frontier.with_copy(None),
            (false, None) => self.frontier.with_one(to),
        };
        if self.left(cycles, from, to).is_some() {
            reduced.leaving.retarget(reduced.interval(from).0, (to, new), cycles);
        }
        Some(reduced)
    }

    /// The position of a new leaf of the level tree: after its siblings that come before it in the
    /// dominator tree.
    fn place_of_leaf(
        &self,
        (dom, cycles): (&DomTree, &Cycles),
        (new, parent): (Node, Node),
        is_behind: bool,
    ) -> u32 {
        if cycles.is_empty() {
            // The level tree is the dominator tree.
            return dom.tin(new).unwrap_or(0);
        }
        let headed = self.inner(cycles, parent).filter(|&cycle| cycles.header(cycle) == parent);
        let mut at = self.interval(parent).1;
        for (child, up) in self.parent.iter().enumerate() {
            if *up != parent.raw() {
                continue;
            }
            let child = Node::new(child);
            let comes_behind = headed.is_some_and(|cycle| !cycles.contains(cycle, child));
            if (comes_behind, dom.tin(child)) > (is_behind, dom.tin(new)) {
                at = at.min(self.interval(child).0);
            }
        }
        at
    }

    /// Sorts a row by position and number.
    fn sort_sources(&mut self, row: usize) {
        let (first, end) = self.sources.range(row);
        let mut sorted = self.sources.row(row).to_vec();
        sorted.sort_unstable_by_key(|source| (self.position(*source), *source));
        self.sources.items_mut()[first as usize..end as usize].copy_from_slice(&sorted);
    }

    /// The edges out of `node` start in `new` now.
    fn rename_sources(&mut self, split: &Cfg, cycles: &Cycles, node: Node, new: Node) {
        for &target in split.successors(new) {
            let row = match self.goes_back_to(cycles, new, target) {
                Some(cycle) => cycle.index(),
                None => self.forward_row(self.representative(target)),
            };
            self.sources.rename(row, node.raw(), new.raw());
        }
    }
}

#[cfg(any(test, feature = "testing"))]
impl Reduced {
    /// Whether both are equal, although frontier lists may share their tails in different ways.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let nodes = || (0..self.interval.len()).map(Node::new);
        let empty = || crate::sync::fringe::Fringes::default();
        let (mut a, mut b) = (self.clone(), other.clone());
        (a.frontier, b.frontier) = (empty(), empty());
        a == b && nodes().all(|node| self.frontier.of(node).eq(other.frontier.of(node)))
    }
}

impl Leaving {
    /// The edge from `position` to `old` leads to `new` now, which has the largest number.
    fn retarget(&mut self, position: u32, (old, new): (Node, Node), cycles: &Cycles) {
        let (first, end) = self.at_positions(position, position + 1);
        let (first, end) = (first as usize, end as usize);
        let Some(at) = self.edges[first..end].iter().position(|edge| edge.to == old) else {
            return;
        };
        let at = first + at;
        self.edges[at].to = new;
        self.edges[at..end].rotate_left(1);
        let kept = self.edges.iter().map(|edge| cycles.depth(edge.owner) - 1);
        self.depths = Thresholds::new(kept);
        let owned = self.edges.iter().enumerate().map(|(i, edge)| (edge.owner.raw(), i as u32));
        self.owned = Rows::from_pairs(cycles.len(), &owned.collect::<Vec<_>>());
    }
}
