//! The sync dependence of a whole graph, computed on demand and cached.
//!
//! There is one cache entry per branch, per divergent exit edge and per irreducible region, filled
//! by the first query for it. An entry depends on the graph alone, so a [`SyncDependence`] stays
//! valid when instructions change but the graph does not. Several threads may compute the same
//! entry; all get the same result, and the first one is stored.
//!
//! Queries go through a [`SyncView`], which holds the graph facts and the scratch tables of the
//! searches. The total size of all entries is limited to be linear in the graph; answers beyond
//! that limit are returned but not cached.

use std::iter;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use crate::cfg::{Cfg, Diamond};
use crate::cycles::{CycleId, Cycles};
use crate::dom::DomTree;
use crate::node::Node;
use crate::sync::copy::Place;
use crate::sync::irreducible::{Irreducible, RegionFacts};
use crate::sync::reduced::{LeavingEdge, Reduced, outermost_irreducible};
use crate::sync::wave::{Consequence, EnteringEdges, Wave};

/// Sync dependence of a graph: lazily filled, independent of any values.
///
/// A clone made after the first view was opened shares the entries, including those filled in
/// later.
#[derive(Clone, Debug, Default)]
pub struct SyncDependence {
    tables: OnceLock<Arc<Tables>>,
}

#[derive(Debug)]
pub(super) struct Tables {
    pub(super) graph: Reduced,
    /// The outermost irreducible cycle around each cycle; empty when there is none.
    regions: Vec<Option<CycleId>>,
    facts: Vec<OnceLock<RegionFacts>>,
    branches: Entries,
    exits: Entries,
    splits: Entries,
    /// By cycle left and node, see [`SyncView::onward`].
    onward: Mutex<Onward>,
    /// By cycle: where all threads that leave it meet.
    meetings: Vec<OnceLock<(Option<Node>, Footprint)>>,
    /// How many more consequences may be cached.
    room: AtomicUsize,
    pub(super) copy: Place,
}

type Onward = FxHashMap<(CycleId, Node), (Arc<[Consequence]>, Footprint)>;
type Entry = OnceLock<(Consequences, Footprint)>;

/// Entries by number, allocated in groups at the first access to a group.
#[derive(Debug)]
struct Entries {
    count: usize,
    first: Group,
    /// The groups after the first; small graphs have none.
    others: Vec<Group>,
}

type Group = OnceLock<Box<[Entry]>>;

/// Entries per group.
const GROUP: usize = 64;

impl Entries {
    fn new(n: usize) -> Self {
        let others = n.div_ceil(GROUP).saturating_sub(1);
        let others = iter::repeat_with(Group::new).take(others).collect();
        Self { count: n, first: Group::new(), others }
    }

    fn of(&self, i: usize) -> &Entry {
        let (number, at) = (i / GROUP, i % GROUP);
        let size = GROUP.min(self.count - number * GROUP);
        let group = if number == 0 { &self.first } else { &self.others[number - 1] };
        &group.get_or_init(|| iter::repeat_with(Entry::new).take(size).collect())[at]
    }

    fn filled(&self) -> usize {
        let made = iter::once(&self.first).chain(&self.others).filter_map(Group::get);
        made.flat_map(|group| group.iter()).filter(|entry| entry.get().is_some()).count()
    }
}

/// A cached answer. Most branches have one consequence, a join.
#[derive(Debug)]
enum Consequences {
    One(Consequence),
    List(Box<[Consequence]>),
}

impl Consequences {
    fn new(found: &[Consequence]) -> Self {
        match *found {
            [one] => Self::One(one),
            _ => Self::List(found.into()),
        }
    }

    fn list(&self) -> &[Consequence] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::List(list) => list,
        }
    }
}

/// The nodes that a search has looked at, as a range of numbers. The answer stays the same unless
/// something changes about these nodes, the block or edge of the query, or the header of the cycle
/// left. An irreducible region counts as the node that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    pub(super) first: u32,
    pub(super) last: u32,
}

impl Footprint {
    /// Nothing was looked at.
    pub const NOTHING: Self = Self { first: u32::MAX, last: 0 };
    /// Anything may have been looked at.
    pub const ALL: Self = Self { first: 0, last: u32::MAX };

    /// One node was looked at.
    #[must_use]
    pub const fn of(node: Node) -> Self {
        Self { first: node.raw(), last: node.raw() }
    }

    pub(super) fn add(&mut self, node: Node) {
        self.first = self.first.min(node.raw());
        self.last = self.last.max(node.raw());
    }

    fn and(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }
}

impl SyncDependence {
    /// The empty table of a graph. Later uses of the table must pass the same graph, tree and
    /// cycles.
    #[must_use]
    pub fn new(cfg: &Cfg, dom: &DomTree, cycles: &Cycles) -> Self {
        debug_assert!(dom.node_count() == cfg.node_count() && cycles.len() <= cfg.node_count());
        Self::default()
    }

    /// The table, without answers, of a graph made by [`Cfg::after_split`], from the table of the
    /// graph before. `cycles` are the cycles after the split, made by [`Cycles::after_split`].
    ///
    /// None if the reduced graph was never computed or the node is in an irreducible region; then
    /// make a [`new`](Self::new) table. The same holds for [`after_merge`](Self::after_merge).
    /// [`after_edge_split`](Self::after_edge_split) returns none if the graph has any irreducible
    /// region.
    #[must_use]
    pub fn after_split(&self, split: &Cfg, cycles: &Cycles, node: Node) -> Option<Self> {
        let graph = self.tables.get()?.graph.after_split(split, cycles, node)?;
        let tables = Arc::new(Tables::new(graph, split, cycles));
        Some(Self { tables: OnceLock::from(tables) })
    }

    /// As [`after_split`](Self::after_split), for a graph made by [`Cfg::after_edge_split`], with
    /// its dominator tree and its cycles.
    #[must_use]
    pub fn after_edge_split(
        &self,
        split: &Cfg,
        dom: &DomTree,
        cycles: &Cycles,
        from: Node,
    ) -> Option<Self> {
        let graph = self.tables.get()?.graph.after_edge_split((split, dom, cycles), from)?;
        let tables = Arc::new(Tables::new(graph, split, cycles));
        Some(Self { tables: OnceLock::from(tables) })
    }

    /// As [`after_split`](Self::after_split), for a graph made by [`Cfg::after_merge`], with cycles
    /// made by [`Cycles::after_merge`].
    #[must_use]
    pub fn after_merge(
        &self,
        merged: &Cfg,
        cycles: &Cycles,
        node: Node,
        next: Node,
    ) -> Option<Self> {
        let graph = self.tables.get()?.graph.after_merge(merged, cycles, (node, next))?;
        let tables = Arc::new(Tables::new(graph, merged, cycles));
        Some(Self { tables: OnceLock::from(tables) })
    }

    /// As [`after_edge_split`](Self::after_edge_split), for a graph made by [`Cfg::after_diamond`],
    /// with cycles made by [`Cycles::after_diamond`].
    #[must_use]
    pub fn after_diamond(&self, closed: &Cfg, cycles: &Cycles, diamond: &Diamond) -> Option<Self> {
        let graph = self.tables.get()?.graph.after_diamond(cycles, diamond)?;
        let tables = Arc::new(Tables::new(graph, closed, cycles));
        Some(Self { tables: OnceLock::from(tables) })
    }

    /// Whether the reduced graph equals that of another table; for tests.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn is_of_same_graph(&self, other: &Self) -> bool {
        match (self.tables.get(), other.tables.get()) {
            (Some(a), Some(b)) => a.graph.is_same(&b.graph),
            _ => false,
        }
    }

    /// How many answers are cached, for tests of what is computed.
    #[must_use]
    pub fn filled_slots(&self) -> usize {
        let Some(tables) = self.tables.get() else { return 0 };
        tables.branches.filled() + tables.exits.filled() + tables.splits.filled()
    }

    fn tables(&self, cfg: &Cfg, dom: &DomTree, cycles: &Cycles) -> &Tables {
        self.tables.get_or_init(|| {
            let graph = Reduced::new(cfg, dom, cycles);
            Arc::new(Tables::new(graph, cfg, cycles))
        })
    }
}

impl Tables {
    fn new(graph: Reduced, cfg: &Cfg, cycles: &Cycles) -> Self {
        let is_reducible = cycles.all_reducible();
        let count = if is_reducible { 0 } else { cycles.len() };
        Tables {
            regions: if is_reducible { Vec::new() } else { outermost_irreducible(cycles) },
            facts: iter::repeat_with(OnceLock::new).take(count).collect(),
            branches: Entries::new(cfg.node_count()),
            exits: Entries::new(graph.leaving.len()),
            splits: Entries::new(count),
            onward: Mutex::default(),
            meetings: iter::repeat_with(OnceLock::new).take(cycles.len()).collect(),
            room: AtomicUsize::new(256 + 4 * (cfg.node_count() + cfg.edge_count())),
            copy: Place::default(),
            graph,
        }
    }
}

/// An answer: cached, or computed for this query only.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    list: List<'a>,
    footprint: Footprint,
}

#[derive(Clone, Debug)]
enum List<'a> {
    /// From its own cache entry.
    Consequences(&'a [Consequence]),
    /// Cached in the map of [`SyncView::onward`].
    Shared(Arc<[Consequence]>),
    /// Not cached: the limit was reached, or the answer depends on more than the graph.
    Computed(Vec<Consequence>),
}

impl Answer<'_> {
    /// The nodes that the search has looked at.
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        self.footprint
    }
}

impl Deref for Answer<'_> {
    type Target = [Consequence];
    fn deref(&self) -> &[Consequence] {
        match &self.list {
            List::Consequences(kept) => kept,
            List::Shared(shared) => shared,
            List::Computed(computed) => computed,
        }
    }
}

/// A [`SyncDependence`] with the facts that it is computed from.
#[derive(Debug)]
pub struct SyncView<'a> {
    pub(super) cfg: &'a Cfg,
    pub(super) dom: &'a DomTree,
    pub(super) cycles: &'a Cycles,
    pub(super) tables: &'a Tables,
    /// Made when the first answer is computed: views that only read the graph need no scratch
    /// tables.
    wave: Option<Box<Wave<'a>>>,
    irreducible: Option<Box<Irreducible<'a>>>,
    targets: Vec<Node>,
}

impl<'a> SyncView<'a> {
    /// Opens a table for reading and filling.
    #[must_use]
    pub fn new(
        sync: &'a SyncDependence,
        cfg: &'a Cfg,
        dom: &'a DomTree,
        cycles: &'a Cycles,
    ) -> Self {
        let tables = sync.tables(cfg, dom, cycles);
        Self { cfg, dom, cycles, tables, wave: None, irreducible: None, targets: Vec::new() }
    }

    fn wave(&mut self) -> &mut Wave<'a> {
        let &mut Self { cfg, cycles, tables, ref mut wave, .. } = self;
        wave.get_or_insert_with(|| Box::new(Wave::new(cfg, cycles, &tables.graph)))
    }

    /// The consequences when threads separate at the end of a block. Empty unless it is a reachable
    /// branch.
    pub fn branch(&mut self, block: Node) -> Answer<'a> {
        let tables = self.tables;
        let entry = tables.branches.of(block.index());
        if let Some(known) = kept(entry) {
            return known;
        }
        if !self.cfg.is_branch(block) || !self.dom.is_reachable(block) {
            return Answer { list: List::Consequences(&[]), footprint: Footprint::NOTHING };
        }
        if let Some(region) = self.region_around(block) {
            let (found, footprint) = self.branch_in(region, block);
            return keep(tables, entry, &found, footprint);
        }
        self.targets.clear();
        self.targets.extend_from_slice(self.cfg.successors(block));
        self.targets.sort_unstable();
        self.targets.dedup();
        let targets = std::mem::take(&mut self.targets);
        let level = tables.graph.inner(self.cycles, block);
        let edges = targets.iter().enumerate().map(|(i, &to)| (block, to, i as u32));
        let (found, footprint) = self.wave().separate(level, edges);
        let answer = keep(tables, entry, found, footprint);
        self.targets = targets;
        answer
    }

    /// The consequences of a branch of a region, and the nodes that the search has looked at: the
    /// whole region counts as the node that stands for it.
    fn branch_in(&mut self, region: CycleId, block: Node) -> (Vec<Consequence>, Footprint) {
        let &mut Self { cfg, dom, cycles, tables, ref mut wave, ref mut irreducible, .. } = self;
        let wave = wave.get_or_insert_with(|| Box::new(Wave::new(cfg, cycles, &tables.graph)));
        let irreducible = irreducible
            .get_or_insert_with(|| Box::new(Irreducible::new(cfg, dom, cycles, &tables.graph)));
        let facts = tables.facts[region.index()].get_or_init(|| irreducible.facts(region));
        let (found, outside) = irreducible.branch(wave, region, facts, block);
        (found, outside.and(Footprint::of(tables.graph.representative(block))))
    }

    /// The consequences when threads leave by an edge at different times.
    pub fn exit(&mut self, edge: LeavingEdge) -> Answer<'a> {
        let tables = self.tables;
        let entry = tables.exits.of(edge.index());
        if let Some(known) = kept(entry) {
            return known;
        }
        let (meeting, looked) = self.meeting_behind(tables.graph.leaving.owner(edge));
        let (found, footprint) = self.wave().leave(edge, meeting);
        keep(tables, entry, found, footprint.and(looked))
    }

    fn meeting_behind(&mut self, cycle: CycleId) -> (Option<Node>, Footprint) {
        let tables = self.tables;
        let entry = &tables.meetings[cycle.index()];
        *entry.get_or_init(|| self.wave().meeting_behind(cycle))
    }

    /// The consequences when threads that left the cycle by divergent exits have met in a node; see
    /// [`Consequence::Onward`].
    pub fn onward(&mut self, cycle: CycleId, node: Node) -> Answer<'a> {
        let tables = self.tables;
        // A panic in another thread leaves the map as it was before or after an insertion.
        let kept = || tables.onward.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, footprint)) = kept().get(&(cycle, node)) {
            return Answer { list: List::Shared(Arc::clone(known)), footprint: *footprint };
        }
        let (meeting, looked) = self.meeting_behind(cycle);
        let (found, footprint) = self.wave().go_on(cycle, node, meeting);
        let footprint = footprint.and(looked);
        if !reserve(tables, found) {
            return Answer { list: List::Computed(found.to_vec()), footprint };
        }
        let found: Arc<[Consequence]> = found.into();
        let mut kept = kept();
        let found = &kept.entry((cycle, node)).or_insert((found, footprint)).0;
        Answer { list: List::Shared(Arc::clone(found)), footprint }
    }

    /// The consequences outside of a region when threads run apart in it and leave by each edge
    /// apart.
    ///
    /// `together` says of a block of the region whether its terminator sends all threads the same
    /// way whenever they come; then its edges do not separate threads that come to it together.
    pub fn split(&mut self, region: CycleId, together: impl Fn(Node) -> bool) -> Answer<'a> {
        let tables = self.tables;
        let entry = tables.splits.of(region.index());
        let mut edges: Vec<(Node, Node, u32)> =
            self.cycles.exit_edges(region).map(|(from, to)| (from, to, 0)).collect();
        edges.sort_unstable();
        let mut is_common = true;
        for at in 0..edges.len() {
            edges[at].2 = at as u32;
            if at > 0 && edges[at].0 == edges[at - 1].0 && together(edges[at].0) {
                edges[at].2 = edges[at - 1].2;
                is_common = false;
            }
        }
        if let Some(known) = is_common.then(|| kept(entry)).flatten() {
            return known;
        }
        let around = self.cycles.parent(region);
        let stands_for_it = tables.graph.representative(self.cycles.header(region));
        let (found, footprint) = self.wave().separate(around, edges);
        let footprint = footprint.and(Footprint::of(stands_for_it));
        match is_common {
            true => keep(tables, entry, found, footprint),
            false => Answer { list: List::Computed(found.to_vec()), footprint },
        }
    }

    /// The outermost irreducible cycle around a block.
    #[must_use]
    pub fn region_around(&self, block: Node) -> Option<CycleId> {
        let inner = self.cycles.innermost(block)?;
        self.tables.regions.get(inner.index()).copied().flatten()
    }

    /// The smallest cycle around a block such that it and all around it are reducible.
    #[inline]
    #[must_use]
    pub fn canonical_cycle(&self, block: Node) -> Option<CycleId> {
        self.tables.graph.inner(self.cycles, block)
    }

    /// The header of a cycle.
    #[must_use]
    pub fn header(&self, cycle: CycleId) -> Node {
        self.cycles.header(cycle)
    }

    /// How many edges leave cycles.
    #[must_use]
    pub fn leaving_edges(&self) -> usize {
        self.tables.graph.leaving.len()
    }

    /// The ends of an edge that leaves a cycle.
    #[must_use]
    pub fn ends(&self, edge: LeavingEdge) -> (Node, Node) {
        self.tables.graph.leaving.ends(edge)
    }

    /// The outermost cycle that an edge leaves.
    #[must_use]
    pub fn cycle_left(&self, edge: LeavingEdge) -> CycleId {
        self.tables.graph.leaving.owner(edge)
    }

    /// The edge from a block out of canonical cycles to another block.
    #[must_use]
    pub fn leaving_edge(&self, from: Node, to: Node) -> Option<LeavingEdge> {
        let graph = &self.tables.graph;
        let position = graph.interval(graph.representative(from)).0;
        graph.leaving.find(position, from, to)
    }

    /// Depth of the innermost cycle around the source that each edge, by number, does not leave.
    #[must_use]
    pub fn depth_kept(&self, number: usize) -> u32 {
        self.tables.graph.leaving.depth(number as u32)
    }

    /// The forward edges into a block that is in no region.
    #[must_use]
    pub fn entering(&self, block: Node) -> EnteringEdges {
        let (first, end) = self.tables.graph.entering(block);
        EnteringEdges { first, end }
    }

    /// The edges back to the header of a reducible cycle that lies in reducible cycles only.
    #[must_use]
    pub fn back_edges(&self, cycle: CycleId) -> EnteringEdges {
        let (first, end) = self.tables.graph.back(cycle);
        EnteringEdges { first, end }
    }

    /// The part of `edges` whose sources `node` dominates in its level.
    #[must_use]
    pub fn edges_below(&self, node: Node, edges: EnteringEdges) -> EnteringEdges {
        let graph = &self.tables.graph;
        let (first, end) = graph.interval(node);
        let (first, end) = graph.at_positions((edges.first, edges.end), first, end);
        EnteringEdges { first, end }
    }

    /// The sources of edges, by edge number.
    #[must_use]
    pub fn sources(&self, edges: EnteringEdges) -> impl ExactSizeIterator<Item = Node> + use<'a> {
        let items = &self.tables.graph.sources.items()[edges.first as usize..edges.end as usize];
        items.iter().map(|&source| Node::from_raw(source))
    }

    /// The edges that leave a node's level from what it dominates there, as a range of numbers and
    /// the depth of the level; `None` at the outermost level.
    #[must_use]
    pub fn exits_below(&self, node: Node) -> Option<(u32, u32, u32)> {
        let level = self.level_of(node)?;
        let graph = &self.tables.graph;
        let (first, end) = graph.interval(node);
        let (low, high) = graph.leaving.at_positions(first, end);
        Some((low, high, self.cycles.depth(level)))
    }

    /// The level in which a node is treated as one: for the header of a cycle, the one around the
    /// cycle.
    fn level_of(&self, node: Node) -> Option<CycleId> {
        let inner = self.tables.graph.inner(self.cycles, node)?;
        if self.cycles.header(inner) == node { self.cycles.parent(inner) } else { Some(inner) }
    }

    /// Where the dominance of a node ends within its level.
    pub fn frontier(&self, node: Node) -> impl Iterator<Item = Node> + use<'a> {
        self.tables.graph.frontier.of(node)
    }

    /// The interval of a block in the dominator tree in which irreducible regions are single nodes:
    /// what a block dominates there are the blocks whose intervals start in its own.
    #[inline]
    #[must_use]
    pub fn dominated(&self, block: Node) -> (u32, u32) {
        let graph = &self.tables.graph;
        graph.dominated(self.dom, graph.representative(block))
    }
}

/// Caches an answer if there is room, and returns it.
fn keep<'a>(
    tables: &'a Tables,
    entry: &'a Entry,
    found: &[Consequence],
    footprint: Footprint,
) -> Answer<'a> {
    if !reserve(tables, found) {
        return Answer { list: List::Computed(found.to_vec()), footprint };
    }
    let (list, footprint) = entry.get_or_init(|| (Consequences::new(found), footprint));
    Answer { list: List::Consequences(list.list()), footprint: *footprint }
}

/// The cached answer, if there is one.
fn kept(entry: &Entry) -> Option<Answer<'_>> {
    let (list, footprint) = entry.get()?;
    Some(Answer { list: List::Consequences(list.list()), footprint: *footprint })
}

/// Reserves room for an answer. False if there is not enough.
fn reserve(tables: &Tables, found: &[Consequence]) -> bool {
    let take = |room: usize| room.checked_sub(found.len() + 1);
    tables.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
}
