//! Compares nodes, rows and edges out of cycles of the old and the new graph.

use rustc_hash::FxHashMap;

use super::{Carry, Changed, Numbers, Side};
use crate::bitset::BitSet;
use crate::cycles::CycleId;
use crate::dfs::NONE;
use crate::node::Node;
use crate::sync::reduced::LeavingEdge;

impl<'a> Carry<'a> {
    pub(super) fn compare_cycles(&mut self) {
        let (old, new) = (self.old.cycles, self.new.cycles);
        let mut same = old.len() == new.len();
        for cycle in old.iter() {
            let header = old.header(cycle);
            let now = new.innermost(header).filter(|now| {
                let parent = match old.parent(cycle) {
                    Some(up) => self.cycles[up.index()],
                    None => NONE,
                };
                let has_parent = match (old.parent(cycle), new.parent(*now)) {
                    (None, None) => true,
                    (Some(_), Some(now)) => now.raw() == parent,
                    _ => false,
                };
                new.header(*now) == header
                    && has_parent
                    && new.is_reducible(*now) == old.is_reducible(cycle)
            });
            let now = now.map_or(NONE, CycleId::raw);
            same &= now == cycle.raw();
            self.cycles.push(now);
        }
        self.has_same_cycles = same;
    }

    pub(super) fn compare_nodes(&mut self) -> Option<()> {
        let (old, new) = (self.old, self.new);
        for node in old.cfg.nodes() {
            let inner = match old.innermost(node) {
                NONE => NONE,
                cycle => match self.cycles[cycle as usize] {
                    // A value that is no cycle's number.
                    NONE => NONE - 1,
                    cycle => cycle,
                },
            };
            let is_same = inner == new.innermost(node)
                && old.graph.representative(node) == new.graph.representative(node)
                && old.is_reachable(node) == new.is_reachable(node);
            if !is_same {
                self.recycled.push(node);
                self.mark(node)?;
                if old.is_reachable(node) != new.is_reachable(node) {
                    self.changed.rewired.push(node);
                }
            }
            match (old.has(node), new.has(node)) {
                (true, true) => self.compare_parents(node)?,
                (true, false) => self.mark(node)?,
                (false, _) => {}
            }
        }
        self.redominated.sort_unstable_by_key(|&(first, end)| (first, std::cmp::Reverse(end)));
        let mut reach = 0;
        self.redominated.retain(|&(_, end)| {
            let is_new = reach < end;
            reach = reach.max(end);
            is_new
        });
        // A block whose end moved to another block does not count as rewired.
        let Changed { rewired, tails, .. } = &mut self.changed;
        rewired.sort_unstable();
        rewired.dedup();
        let mut ends: Vec<Node> = tails.iter().map(|tail| tail.0).collect();
        ends.sort_unstable();
        rewired.retain(|block| ends.binary_search(block).is_err());
        Some(())
    }

    fn compare_parents(&mut self, node: Node) -> Option<()> {
        let (old, new) = (self.old, self.new);
        let (was, is) = (old.parent(node), new.parent(node));
        if was != is {
            let first = |mut at: Option<Node>, side: &Side<'a>, skips: &dyn Fn(Node) -> bool| {
                while let Some(up) = at.filter(|up| skips(*up)) {
                    at = side.parent(up);
                }
                at
            };
            let was_old = first(was, &old, &|up| !new.has(up));
            let is_old = first(is, &new, &|up| !old.has(up));
            if was_old != is_old {
                self.moved(node)?;
            }
        }
        let (was, is) = (old.graph.idom(old.dom, node), new.graph.idom(new.dom, node));
        if was != is {
            let first = |mut at: Option<Node>, side: &Side<'a>, skips: &dyn Fn(Node) -> bool| {
                while let Some(up) = at.filter(|up| skips(*up)) {
                    at = side.graph.idom(side.dom, up);
                }
                at
            };
            let was = first(was, &old, &|up| !new.has(up));
            let is = first(is, &new, &|up| !old.has(up));
            if was != is {
                self.redominated.push(new.graph.dominated(new.dom, node));
            }
        }
        Some(())
    }

    /// Marks what is stale since a node has another parent.
    fn moved(&mut self, node: Node) -> Option<()> {
        let (old, new) = (self.old, self.new);
        self.mark(node)?;
        if let Some(up) = old.parent(node) {
            self.climb(old, up, |above| new.is_above(above, node))?;
            for &source in old.graph.sources_of(node) {
                self.climb(old, Node::from_raw(source), |above| above == up)?;
            }
        }
        if let Some(up) = new.parent(node) {
            self.climb(new, up, |above| old.is_above(above, node))?;
            for &source in new.graph.sources_of(node) {
                self.climb(new, Node::from_raw(source), |above| above == up)?;
            }
        }
        Some(())
    }

    /// The new source of an old edge.
    fn source(&self, source: u32, target: Node) -> u32 {
        if !self.changed.blocks.contains(source as usize) {
            return source;
        }
        let renamed = self.changed.edges.get(&(Node::from_raw(source), target));
        renamed.map_or(source, |renamed| renamed.source.raw())
    }

    pub(super) fn compare_rows(&mut self) -> Option<()> {
        let (old, new) = (self.old, self.new);
        for node in (0..new.dom.node_count()).map(Node::new) {
            let row = |side: &Side<'a>| match side.has(node) {
                true => side.graph.sources_of(node),
                false => &[],
            };
            let (was, is) = (row(&old), row(&new));
            if was == is
                && (self.changed.edges.is_empty()
                    || was.iter().all(|s| !self.changed.blocks.contains(*s as usize)))
            {
                continue;
            }
            let was: Vec<u32> = was.iter().map(|s| self.source(*s, node)).collect();
            if was == is && old.has(node) == new.has(node) {
                continue;
            }
            self.other_rows.insert(node.index());
            self.mark(node)?;
            let up = (
                Some(node).filter(|n| old.has(*n)).and_then(|n| old.parent(n)),
                Some(node).filter(|n| new.has(*n)).and_then(|n| new.parent(n)),
            );
            if old.has(node) {
                let gone = old.graph.sources_of(node).iter().zip(&was);
                for (&source, _) in gone.filter(|(_, now)| !is.contains(now)) {
                    self.climb(old, Node::from_raw(source), |above| Some(above) == up.0)?;
                }
            }
            for &source in is.iter().filter(|source| !was.contains(source)) {
                self.climb(new, Node::from_raw(source), |above| Some(above) == up.1)?;
            }
        }
        Some(())
    }

    pub(super) fn compare_back_rows(&mut self) -> Option<()> {
        let (old, new) = (self.old, self.new);
        let row = |side: &Side<'a>, cycle: CycleId| {
            let (first, end) = side.graph.back(cycle);
            &side.graph.sources.items()[first as usize..end as usize]
        };
        let mut is_known = BitSet::new(new.cycles.len());
        for cycle in old.cycles.iter() {
            let header = old.cycles.header(cycle);
            let was: Vec<u32> = row(&old, cycle).iter().map(|s| self.source(*s, header)).collect();
            let now = self.cycle(cycle);
            let is = now.map_or(&[][..], |now| row(&new, now));
            if let Some(now) = now {
                is_known.insert(now.index());
            }
            if was == is {
                continue;
            }
            self.other_back.insert(cycle.index());
            for (&source, _) in
                row(&old, cycle).iter().zip(&was).filter(|(_, now)| !is.contains(now))
            {
                self.climb_to(old, Node::from_raw(source), header)?;
            }
            for &source in is.iter().filter(|source| !was.contains(source)) {
                self.climb_to(new, Node::from_raw(source), header)?;
            }
        }
        for cycle in new.cycles.iter().filter(|cycle| !is_known.contains(cycle.index())) {
            let header = new.cycles.header(cycle);
            for &source in row(&new, cycle) {
                self.climb_to(new, Node::from_raw(source), header)?;
            }
        }
        Some(())
    }

    pub(super) fn compare_leaving(&mut self) -> Option<()> {
        type Key = (Node, Node, u32);
        let (old, new) = (self.old, self.new);
        let (was, is) = (&old.graph.leaving, &new.graph.leaving);
        let before = |i: usize| -> Key {
            let edge = LeavingEdge::from_raw(i as u32);
            let (from, to) = was.ends(edge);
            let (from, to) = match self.changed.blocks.contains(from.index()) {
                true => self.changed.edges.get(&(from, to)).map_or((from, to), |e| e.leaves),
                false => (from, to),
            };
            (from, to, self.cycles[was.owner(edge).index()])
        };
        let now = |i: usize| -> Key {
            let edge = LeavingEdge::from_raw(i as u32);
            let (from, to) = is.ends(edge);
            (from, to, is.owner(edge).raw())
        };
        let (n, m) = (was.len(), is.len());
        let first = (0..n.min(m)).take_while(|&i| before(i) == now(i)).count();
        if first == n && n == m {
            return Some(());
        }
        let rest = n.min(m) - first;
        let same = (0..rest).take_while(|&i| before(n - 1 - i) == now(m - 1 - i)).count();
        let mut numbers = vec![NONE; n];
        (0..first).for_each(|i| numbers[i] = i as u32);
        (0..same).for_each(|i| numbers[n - 1 - i] = (m - 1 - i) as u32);
        let mut others: FxHashMap<Key, u32> =
            (first..m - same).map(|i| (now(i), i as u32)).collect();
        for (i, number) in numbers.iter_mut().enumerate().take(n - same).skip(first) {
            *number = others.remove(&before(i)).unwrap_or(NONE);
        }
        let mut breaks = Vec::with_capacity(n);
        let mut count = 0;
        for i in 0..n {
            let follows = i > 0
                && numbers[i] != NONE
                && numbers[i - 1] != NONE
                && numbers[i] == numbers[i - 1] + 1;
            count += u32::from(!follows);
            breaks.push(count);
        }
        let mut came: Vec<u32> = others.into_values().collect();
        came.sort_unstable();
        for i in (0..n as u32).filter(|i| numbers[*i as usize] == NONE) {
            let edge = LeavingEdge::from_raw(i);
            let header = old.cycles.header(was.owner(edge));
            self.climb_to(old, was.ends(edge).0, header)?;
        }
        for i in came {
            let edge = LeavingEdge::from_raw(i);
            let header = new.cycles.header(is.owner(edge));
            self.climb_to(new, is.ends(edge).0, header)?;
        }
        self.leaving = Some(Numbers { new: numbers, breaks });
        Some(())
    }
}
