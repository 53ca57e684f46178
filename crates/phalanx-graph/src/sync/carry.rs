//! What stays true of sync dependence when an edit makes one graph of another.
//!
//! Both graphs and their facts are at hand. Blocks keep their numbers; what is compared is the reduced graph, row by row:
//! parents in the level tree, cycles by header, edges into each node, edges out of cycles. From the differences follows
//! which nodes a search for an answer could meet in another state than before (*stale* nodes). An answer whose [`Footprint`]
//! holds no stale node is an answer still; only the numbers of cycles and edges in it may be others.
//!
//! **Renamed edges.** A block that is split passes its end on to a new block, and a block on an edge passes the edge on. These
//! are no differences: chains of new blocks with one way in and one way out are skipped in the new graph, those of blocks that
//! went are skipped in the old one, and when a block leads to the same blocks as before then its edges are the same edges
//! with other ends ([`Carry::tails`]).
//!
//! **Stale nodes.** A search reads of a node: the edges into it, the frontier of its dominance within its level, the edges
//! back and the edges out of the level below it. So:
//!
//! | difference | stale |
//! |---|---|
//! | edges into a node | the node, and for each edge that came or went whatever has the source below itself, up to the node's parent |
//! | parent of a node | the node, the parents between it and the first that has it below itself in both trees, and for each edge into it whatever has its source below itself, up to the parent |
//! | edge out of a cycle, edge back | whatever has the source below itself, up to the header |
//! | innermost cycle | the node |
//!
//! **Complexity.** O(nodes + edges) comparisons of what lies in memory in order, and a bounded number of steps up the trees;
//! beyond that there is no answer.

use rustc_hash::FxHashMap;

use crate::bitset::BitSet;
use crate::cycles::{CycleId, Cycles};
use crate::dfs::NONE;
use crate::dom::DomTree;
use crate::node::Node;
use crate::sync::reduced::{LeavingEdge, Reduced};
use crate::sync::table::{Footprint, SyncView};
use crate::sync::wave::EnteringEdges;

/// See the [module documentation](self).
#[derive(Clone, Debug)]
pub struct Carry<'a> {
    old: Side<'a>,
    new: Side<'a>,
    /// New cycle by old one, or `NONE`.
    cycles: Vec<u32>,
    has_same_cycles: bool,
    /// New number by old number of an edge out of a cycle, or `NONE`; not there when all are the same.
    leaving: Option<Numbers>,
    stale: BitSet,
    /// Nodes with other edges into them, and old cycles with other edges back.
    other_rows: BitSet,
    other_back: BitSet,
    changed: Changed,
    recycled: Vec<Node>,
    redominated: Vec<(u32, u32)>,
    steps: usize,
}

#[derive(Clone, Copy, Debug)]
struct Side<'a> {
    cfg: &'a crate::cfg::Cfg,
    dom: &'a DomTree,
    cycles: &'a Cycles,
    graph: &'a Reduced,
}

impl<'a> Side<'a> {
    fn of(view: &SyncView<'a>) -> Self {
        Self { cfg: view.cfg, dom: view.dom, cycles: view.cycles, graph: &view.tables.graph }
    }

    fn is_reachable(&self, block: Node) -> bool {
        block.index() < self.dom.node_count() && self.dom.is_reachable(block)
    }

    /// Whether a node of the reduced graph is reachable.
    fn has(&self, node: Node) -> bool {
        node.index() < self.dom.node_count() && self.graph.interval(node).0 != NONE
    }

    /// Whether `above` has `node` below itself in the level tree, or is it.
    fn is_above(&self, above: Node, node: Node) -> bool {
        if !self.has(above) {
            return false;
        }
        let (first, end) = self.graph.interval(above);
        let at = self.graph.interval(node).0;
        first <= at && at < end
    }

    fn innermost(&self, block: Node) -> u32 {
        self.cycles.innermost(block).map_or(NONE, CycleId::raw)
    }
}

/// Numbers by numbers that mostly follow one another.
#[derive(Clone, Debug)]
struct Numbers {
    new: Vec<u32>,
    /// By old number: how often up to here the new number was not the one after that of the one before.
    breaks: Vec<u32>,
}

/// Blocks that lead elsewhere.
#[derive(Clone, Debug, Default)]
struct Changed {
    blocks: BitSet,
    rewired: Vec<Node>,
    tails: Vec<(Node, Node)>,
    /// By old source and target: the source of the edge into the target now, and the edge that it leaves cycles by.
    edges: FxHashMap<(Node, Node), (Node, (Node, Node))>,
}

/// Longest chain of blocks that is skipped.
const LONGEST: usize = 64;

impl<'a> Carry<'a> {
    /// Compares two graphs. `touched` are blocks whose successors may be others, new ones included, if they are known.
    ///
    /// None when they have too little in common.
    #[must_use]
    pub fn new(old: &SyncView<'a>, new: &SyncView<'a>, touched: Option<&[Node]>) -> Option<Self> {
        let (old, new) = (Side::of(old), Side::of(new));
        let (before, now) = (old.dom.node_count(), new.dom.node_count());
        if now < before || old.cfg.entry() != new.cfg.entry() {
            return None;
        }
        let mut carry = Self {
            old,
            new,
            cycles: Vec::new(),
            has_same_cycles: false,
            leaving: None,
            stale: BitSet::new(now),
            other_rows: BitSet::new(now),
            other_back: BitSet::new(old.cycles.len()),
            changed: Changed { blocks: BitSet::new(now), ..Changed::default() },
            recycled: Vec::new(),
            redominated: Vec::new(),
            steps: 4096 + 2 * now,
        };
        carry.compare_ends(touched);
        carry.compare_cycles();
        carry.compare_nodes()?;
        carry.compare_rows()?;
        carry.compare_back_rows()?;
        carry.compare_leaving()?;
        Some(carry)
    }

    /// The new number of a cycle with the same header, depth and parents.
    #[must_use]
    pub fn cycle(&self, old: CycleId) -> Option<CycleId> {
        let new = self.cycles[old.index()];
        (new != NONE).then(|| CycleId::from_raw(new))
    }

    /// The header of an old cycle.
    #[must_use]
    pub fn old_header(&self, cycle: CycleId) -> Node {
        self.old.cycles.header(cycle)
    }

    /// Whether all cycles are the same by number.
    #[must_use]
    pub fn has_same_cycles(&self) -> bool {
        self.has_same_cycles
    }

    /// Whether all edges out of cycles are the same by number, though their ends may be others.
    #[must_use]
    pub fn has_same_exits(&self) -> bool {
        self.leaving.is_none()
    }

    /// The new number of an edge out of a cycle.
    #[must_use]
    pub fn leaving(&self, edge: LeavingEdge) -> Option<LeavingEdge> {
        let Some(numbers) = &self.leaving else { return Some(edge) };
        let new = numbers.new[edge.index()];
        (new != NONE).then(|| LeavingEdge::from_raw(new))
    }

    /// The new numbers of a range of edges out of cycles, if they still follow one another.
    #[must_use]
    pub fn leaving_range(&self, first: u32, end: u32) -> Option<(u32, u32)> {
        let Some(numbers) = &self.leaving else { return Some((first, end)) };
        let last = end.checked_sub(1).filter(|last| first <= *last)? as usize;
        let low = numbers.new[first as usize];
        let is_whole = low != NONE && numbers.breaks[first as usize] == numbers.breaks[last];
        is_whole.then(|| (low, numbers.new[last] + 1))
    }

    /// The new numbers of forward edges into a node, if the edges into it are the same.
    #[must_use]
    pub fn entering(&self, node: Node, edges: EnteringEdges) -> Option<EnteringEdges> {
        let is_same = self.new.has(node) && !self.other_rows.contains(node.index());
        is_same
            .then(|| shifted(edges, self.old.graph.entering(node), self.new.graph.entering(node)))
    }

    /// The new numbers of edges back to the header of an old cycle, if these edges are the same.
    #[must_use]
    pub fn back(&self, cycle: CycleId, edges: EnteringEdges) -> Option<EnteringEdges> {
        let new = self.cycle(cycle).filter(|_| !self.other_back.contains(cycle.index()))?;
        Some(shifted(edges, self.old.graph.back(cycle), self.new.graph.back(new)))
    }

    /// Whether a node of the reduced graph is reachable now.
    #[must_use]
    pub fn has(&self, node: Node) -> bool {
        self.new.has(node)
    }

    /// Whether a search would meet the node in another state.
    #[must_use]
    pub fn is_stale(&self, node: Node) -> bool {
        self.stale.contains(node.index())
    }

    /// Whether a search that has looked there could end otherwise.
    #[must_use]
    pub fn touches(&self, footprint: Footprint) -> bool {
        let Footprint { first, last } = footprint;
        if footprint == Footprint::ALL {
            return true;
        }
        self.stale.next_member(first as usize, (last as usize).saturating_add(1)).is_some()
    }

    /// Nodes that are stale, in order.
    pub fn stale(&self) -> impl Iterator<Item = Node> {
        self.stale.iter().map(Node::new)
    }

    /// Blocks that lead to others than before, or are reachable and were not, or were and are not.
    #[must_use]
    pub fn rewired(&self) -> &[Node] {
        &self.changed.rewired
    }

    /// Pairs of blocks, the second of which leads now where the first has led before.
    #[must_use]
    pub fn tails(&self) -> &[(Node, Node)] {
        &self.changed.tails
    }

    /// Old blocks that are in other cycles than before, or in another region, or reachable and were not, or were and are not.
    #[must_use]
    pub fn recycled(&self) -> &[Node] {
        &self.recycled
    }

    /// Intervals of positions, see [`SyncView::dominated`], of what is dominated by others than before: apart and in
    /// order.
    #[must_use]
    pub fn redominated(&self) -> &[(u32, u32)] {
        &self.redominated
    }

    /// New positions by old ones, see [`SyncView::dominated`].
    #[must_use]
    pub fn positions(&self) -> Vec<u32> {
        let Self { old, new, .. } = self;
        let now = |node: Node| new.graph.dominated(new.dom, new.graph.representative(node)).0;
        if !old.graph.has_regions() {
            return old.dom.preorder().iter().map(|&node| now(node)).collect();
        }
        let mut positions = vec![NONE; old.dom.node_count()];
        for node in (0..old.dom.node_count()).map(Node::new).filter(|node| old.has(*node)) {
            positions[old.graph.dominated(old.dom, node).0 as usize] = now(node);
        }
        positions
    }

    fn is_new(&self, block: Node) -> bool {
        self.new.is_reachable(block) && !self.old.is_reachable(block)
    }

    fn is_gone(&self, block: Node) -> bool {
        self.old.is_reachable(block) && !self.new.is_reachable(block)
    }

    fn mark(&mut self, node: Node) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        self.stale.insert(node.index());
        Some(())
    }

    /// Marks a node and what is above it, up to where a condition holds.
    fn climb(&mut self, tree: &'a Reduced, from: Node, until: impl Fn(Node) -> bool) -> Option<()> {
        let mut at = Some(tree.representative(from));
        while let Some(node) = at.filter(|node| !until(*node)) {
            self.mark(node)?;
            at = tree.parent(node);
        }
        Some(())
    }

    /// The same, that node included.
    fn climb_to(&mut self, tree: &'a Reduced, from: Node, last: Node) -> Option<()> {
        self.climb(tree, from, |node| node == last)?;
        self.mark(last)
    }

    /// Finds the blocks that lead elsewhere.
    fn compare_ends(&mut self, touched: Option<&[Node]>) {
        let (old, new) = (self.old, self.new);
        let is_changed = |block: &Node| {
            block.index() < old.dom.node_count()
                && old.cfg.successors(*block) != new.cfg.successors(*block)
        };
        let mut all: Vec<Node> = match touched {
            Some(touched) => touched.iter().copied().filter(is_changed).collect(),
            None => old.cfg.nodes().filter(is_changed).collect(),
        };
        all.sort_unstable();
        all.dedup();
        for block in all {
            self.changed.blocks.insert(block.index());
            let is_same = old.is_reachable(block) && new.is_reachable(block) && self.pass_on(block);
            if !is_same {
                self.changed.rewired.push(block);
            }
        }
    }

    /// Finds out whether a block leads where it has led, chains aside.
    fn pass_on(&mut self, block: Node) -> bool {
        let (old, new) = (self.old, self.new);
        let single = |side: &Side<'a>, node: Node| side.cfg.predecessors(node).len() == 1;
        let end = |side: &Side<'a>, skips: &dyn Fn(Node) -> bool| {
            let mut at = block;
            for _ in 0..LONGEST {
                match *side.cfg.successors(at) {
                    [next] if next != block && skips(next) && single(side, next) => at = next,
                    _ => break,
                }
            }
            at
        };
        let (is_gone, is_new) = (|node| self.is_gone(node), |node| self.is_new(node));
        let ends = (end(&old, &is_gone), end(&new, &is_new));
        // Where an edge leads to, where it leaves cycles, and the source of its last part.
        let follow = |side: &Side<'a>, from: Node, to: Node, skips: &dyn Fn(Node) -> bool| {
            let (mut source, mut target) = (from, to);
            for _ in 0..LONGEST {
                match *side.cfg.successors(target) {
                    [next] if skips(target) && single(side, target) => {
                        (source, target) = (target, next);
                    }
                    _ => break,
                }
            }
            (target, (from, to), source)
        };
        let (was, is) = (old.cfg.successors(ends.0), new.cfg.successors(ends.1));
        if was.len() != is.len() {
            return false;
        }
        let mut found: Vec<(Node, (Node, Node), Node, (Node, Node))> = Vec::new();
        for (&was, &is) in was.iter().zip(is) {
            let (target, left_by, source) = follow(&old, ends.0, was, &is_gone);
            let (now, leaves_by, new_source) = follow(&new, ends.1, is, &is_new);
            if target != now {
                return false;
            }
            found.push((target, (source, left_by.1), new_source, leaves_by));
        }
        // Parallel edges that are not so any more, or were not, cannot be told apart by their ends.
        found.sort_unstable();
        found.dedup();
        if found.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return false;
        }
        for (target, (source, first), new_source, leaves_by) in found {
            self.changed.edges.insert((source, target), (new_source, leaves_by));
            self.changed.edges.insert((ends.0, first), (new_source, leaves_by));
            self.changed.blocks.insert(source.index());
            self.changed.blocks.insert(ends.0.index());
        }
        self.changed.tails.push(ends);
        true
    }

    fn compare_cycles(&mut self) {
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

    fn compare_nodes(&mut self) -> Option<()> {
        let (old, new) = (self.old, self.new);
        for node in old.cfg.nodes() {
            let inner = match old.innermost(node) {
                NONE => NONE,
                cycle => match self.cycles[cycle as usize] {
                    // Never a number.
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
        // Whose end is now that of another does not lead elsewhere.
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
        let (was, is) = (old.graph.parent(node), new.graph.parent(node));
        if was != is {
            let first = |mut at: Option<Node>, side: &Side<'a>, skips: &dyn Fn(Node) -> bool| {
                while let Some(up) = at.filter(|up| skips(*up)) {
                    at = side.graph.parent(up);
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

    /// A node has another parent.
    fn moved(&mut self, node: Node) -> Option<()> {
        let (old, new) = (self.old, self.new);
        self.mark(node)?;
        if let Some(up) = old.graph.parent(node) {
            self.climb(old.graph, up, |above| new.is_above(above, node))?;
            for &source in old.graph.sources.row(node.index()) {
                self.climb(old.graph, Node::from_raw(source), |above| above == up)?;
            }
        }
        if let Some(up) = new.graph.parent(node) {
            self.climb(new.graph, up, |above| old.is_above(above, node))?;
            for &source in new.graph.sources.row(node.index()) {
                self.climb(new.graph, Node::from_raw(source), |above| above == up)?;
            }
        }
        Some(())
    }

    /// The source of an old edge, as it is now.
    fn source(&self, source: u32, target: Node) -> u32 {
        if !self.changed.blocks.contains(source as usize) {
            return source;
        }
        let renamed = self.changed.edges.get(&(Node::from_raw(source), target));
        renamed.map_or(source, |renamed| renamed.0.raw())
    }

    fn compare_rows(&mut self) -> Option<()> {
        let (old, new) = (self.old, self.new);
        for node in (0..new.dom.node_count()).map(Node::new) {
            let row = |side: &Side<'a>| match side.has(node) {
                true => side.graph.sources.row(node.index()),
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
                Some(node).filter(|n| old.has(*n)).and_then(|n| old.graph.parent(n)),
                Some(node).filter(|n| new.has(*n)).and_then(|n| new.graph.parent(n)),
            );
            if old.has(node) {
                for (&source, _) in old
                    .graph
                    .sources
                    .row(node.index())
                    .iter()
                    .zip(&was)
                    .filter(|(_, now)| !is.contains(now))
                {
                    self.climb(old.graph, Node::from_raw(source), |above| Some(above) == up.0)?;
                }
            }
            for &source in is.iter().filter(|source| !was.contains(source)) {
                self.climb(new.graph, Node::from_raw(source), |above| Some(above) == up.1)?;
            }
        }
        Some(())
    }

    fn compare_back_rows(&mut self) -> Option<()> {
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
                self.climb_to(old.graph, Node::from_raw(source), header)?;
            }
            for &source in is.iter().filter(|source| !was.contains(source)) {
                self.climb_to(new.graph, Node::from_raw(source), header)?;
            }
        }
        for cycle in new.cycles.iter().filter(|cycle| !is_known.contains(cycle.index())) {
            let header = new.cycles.header(cycle);
            for &source in row(&new, cycle) {
                self.climb_to(new.graph, Node::from_raw(source), header)?;
            }
        }
        Some(())
    }

    fn compare_leaving(&mut self) -> Option<()> {
        type Key = (Node, Node, u32);
        let (old, new) = (self.old, self.new);
        let (was, is) = (&old.graph.leaving, &new.graph.leaving);
        let before = |i: usize| -> Key {
            let edge = LeavingEdge::from_raw(i as u32);
            let (from, to) = was.ends(edge);
            let (from, to) = match self.changed.blocks.contains(from.index()) {
                true => self.changed.edges.get(&(from, to)).map_or((from, to), |e| e.1),
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
            self.climb_to(old.graph, was.ends(edge).0, header)?;
        }
        for i in came {
            let edge = LeavingEdge::from_raw(i);
            let header = new.cycles.header(is.owner(edge));
            self.climb_to(new.graph, is.ends(edge).0, header)?;
        }
        self.leaving = Some(Numbers { new: numbers, breaks });
        Some(())
    }
}

/// A range in a row that has been moved.
fn shifted(edges: EnteringEdges, was: (u32, u32), is: (u32, u32)) -> EnteringEdges {
    let by = is.0.wrapping_sub(was.0);
    EnteringEdges { first: edges.first.wrapping_add(by), end: edges.end.wrapping_add(by) }
}
