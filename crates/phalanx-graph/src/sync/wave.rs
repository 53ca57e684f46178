//! Where labels meet when threads separate, found by skipping from fringe to fringe.
//!
//! **Idea.** Labels are propagated as in [`crate::sync::arrivals`], one level of the [`Reduced`]
//! graph at a time. Everything that a labelled node `n` dominates carries the label of `n`, until
//! it leaves the level. So the propagation visits only the successors of the branch and, from each
//! visited node, its dominance frontier; what lies between is an interval of positions. A wave ends
//! when one live node is left, where all threads meet.
//!
//! ```text
//!   B -> b1 | exit,  b1 -> b2 | exit,  b2 -> b3 | exit ...      (n early exits)
//!   from B: b1 is labelled, its frontier is {exit}; exit is reached by labels exit and b1: a join. Two
//!   visits, whatever n is.
//! ```
//!
//! Visited nodes never dominate one another, so each edge is crossed by at most one label.
//!
//! **Cycles by exits.** Three facts make it possible to look at one level at a time. Let `B` be a
//! branch in the canonical cycle `D`, and `l` the label that the threads that go round have at the
//! header of `D`, where they meet. Every exit edge of `D` can be taken by threads that went round,
//! so `l` arrives there.
//!
//! 1. An exit edge is *divergent* when another label than `l` arrives there too: threads that leave
//!    in this round meet threads that leave in a later one.
//! 2. What happens outside `D` depends only on which exit edges are divergent: two exits with
//!    different labels include a divergent one, and a meeting of labels outside is a meeting of
//!    some divergent exit with the rest of the exits. So each divergent exit has consequences of
//!    its own, whichever branch caused it, and only the outermost cycle that the edge leaves needs
//!    to be looked at.
//! 3. Threads that have left in different rounds have met behind each divergent exit and everywhere
//!    that is reached from there, and nowhere else. This is temporal divergence.
//!
//! So the consequences of a branch stay within its innermost cycle, and those of a divergent exit
//! within the cycle around the one that it leaves ([`Consequence`]). In the wave of a divergent
//! exit of `D`, all other exits share one label, the *rest*; it is implicit in everything that the
//! header of `D` dominates.
//!
//! **Irreducible regions** are single nodes. When different labels meet at one, the region is
//! assumed divergent, which splits threads further. That is a consequence of its own
//! ([`Consequence::Assume`]): two paths that both pass the region and part in it are found from the
//! region.
//!
//! **Cost** of a wave: the number of visited nodes and of entries in their frontiers, times a
//! logarithm.

mod report;

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::take;

use crate::cfg::Cfg;
use crate::cycles::{CycleId, Cycles};
use crate::dfs::NONE;
use crate::node::Node;
use crate::scratch::SCRATCH_KEPT;
use crate::sync::reduced::{LeavingEdge, Reduced};
use crate::sync::table::Footprint;

/// One consequence of threads separating, at a branch, at a divergent exit or in an irreducible
/// region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Consequence {
    /// Threads that went different ways meet in the block, and come over all its edges.
    Join(Node),
    /// As [`Join`](Self::Join), but threads come over some edges only, all of them forward edges:
    /// these and those of the [`Also`](Self::Also) that follow.
    JoinOver(Node, EnteringEdges),
    /// Threads that went different ways are back at the header of the cycle, over these edges and
    /// those of the [`Also`](Self::Also) and [`AlsoFrom`](Self::AlsoFrom) that follow.
    JoinBack(CycleId, EnteringEdges),
    /// More edges of the preceding join.
    Also(EnteringEdges),
    /// More edges of the preceding [`JoinBack`](Self::JoinBack): those that can be reached from the
    /// node in one round.
    AlsoFrom(Node),
    /// Threads enter the irreducible cycle in an unknown order and run apart in it.
    Assume(CycleId),
    /// Threads leave by this edge at different times.
    Exit(LeavingEdge),
    /// As [`Exit`](Self::Exit), for every edge in a range of numbers that leaves cycles of a depth.
    Exits {
        /// First number.
        first: u32,
        /// Number after the last.
        end: u32,
        /// The edge must leave the cycle of this depth around its source.
        depth: u32,
    },
    /// As [`Exit`](Self::Exit), for every edge that leaves the node's level and can be reached from
    /// the node in one round.
    ExitsFrom(Node),
    /// Of a divergent exit only: the exit reaches the node and everything that it dominates.
    Reaches(Node),
    /// Of a divergent exit of the cycle only: threads that left by it meet in the node, and no
    /// other thread that left the cycle comes there. The consequences further on are the same for
    /// all exits that lead there; [`SyncView::onward`](crate::sync::SyncView::onward) has them.
    Onward(CycleId, Node),
    /// Values computed in the cycle are read outside at different times.
    LiveOut(CycleId),
}

/// Edges into a block that all go forward or all go back, by consecutive numbers; see
/// [`SyncView::sources`](crate::sync::SyncView::sources).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EnteringEdges {
    /// Number of the first.
    pub first: u32,
    /// Number after the last.
    pub end: u32,
}

/// The label of the rest: all exits of the cycle but the divergent one that the wave starts from.
const REST: u32 = NONE;

/// Tells the label "met at this node" from the labels of edges.
const JOINED: u32 = 1 << 31;

/// The search for the consequences of one separation. Its scratch tables are reused between waves.
#[derive(Debug)]
pub(crate) struct Wave<'a> {
    cfg: &'a Cfg,
    cycles: &'a Cycles,
    graph: &'a Reduced,
    level: Option<CycleId>,
    /// The cycle whose exits are searched, and the divergent exit if the wave starts from one.
    behind: Option<CycleId>,
    left_by: Option<(Node, Node)>,
    /// The positions that implicitly carry the label of the rest.
    rest: Option<(u32, u32)>,
    /// Where all threads that left the cycle meet, if known.
    meeting: Option<Node>,
    /// Visit by node.
    visit_of: Vec<u32>,
    visits: Vec<Visit>,
    /// Edges over which labels arrive: a linked list per visit.
    crossed: Vec<Crossed>,
    /// Visits at which labels have arrived over all edges.
    complete: Vec<u32>,
    /// All visits, earliest rank first; some may be over.
    pending: BinaryHeap<(Reverse<u32>, u32)>,
    /// How many visits are not over, and how many of these another label than the rest's has
    /// reached.
    live: usize,
    live_other: usize,
    /// The labels that have come back to the level's header, and over which edges.
    back: Back,
    back_ranges: Vec<(u32, u32)>,
    /// Ways out of the level.
    ways_out: Vec<(u32, WayOut)>,
    found: Vec<Consequence>,
    ranges: Vec<(u32, u32)>,
}

/// Scratch tables that every search needs, reused by the next one unless they are large. All
/// entries of `visit_of` are `NONE`.
#[derive(Default)]
struct Scratch {
    visit_of: Vec<u32>,
    visits: Vec<Visit>,
    crossed: Vec<Crossed>,
    complete: Vec<u32>,
    pending: BinaryHeap<(Reverse<u32>, u32)>,
    back_ranges: Vec<(u32, u32)>,
    ways_out: Vec<(u32, WayOut)>,
    found: Vec<Consequence>,
    ranges: Vec<(u32, u32)>,
}

thread_local! {
    static SCRATCH: Cell<Scratch> = Cell::default();
}

impl Drop for Wave<'_> {
    fn drop(&mut self) {
        if self.visit_of.capacity() > SCRATCH_KEPT || self.crossed.capacity() > SCRATCH_KEPT {
            return;
        }
        self.forget_visits();
        SCRATCH.set(Scratch {
            visit_of: take(&mut self.visit_of),
            visits: take(&mut self.visits),
            crossed: take(&mut self.crossed),
            complete: take(&mut self.complete),
            pending: take(&mut self.pending),
            back_ranges: take(&mut self.back_ranges),
            ways_out: take(&mut self.ways_out),
            found: take(&mut self.found),
            ranges: take(&mut self.ranges),
        });
    }
}

#[derive(Clone, Copy, Debug)]
struct Visit {
    node: Node,
    /// First label that arrived, not counting the rest.
    label: u32,
    /// Three flags: a label has arrived; a second label has arrived; the label of the rest has
    /// arrived over edges in `crossed`. The first two do not count the rest.
    has_label: bool,
    has_another: bool,
    has_rest: bool,
    is_over: bool,
    /// How many edges were crossed.
    count: u32,
    crossed: u32,
}

#[derive(Clone, Copy, Debug)]
struct Crossed {
    edges: EnteringEdges,
    next: u32,
}

/// How a wave ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// No label but that of the rest is left.
    Over,
    /// All threads met in the node and have the label.
    Met(Node, u32),
    /// All threads but those of the rest met in the node and have the label.
    Onward(Node, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Back {
    Nobody,
    One(u32),
    Many,
}

#[derive(Clone, Copy, Debug)]
enum WayOut {
    Edge(LeavingEdge),
    Numbers(u32, u32),
}

impl<'a> Wave<'a> {
    pub(crate) fn new(cfg: &'a Cfg, cycles: &'a Cycles, graph: &'a Reduced) -> Self {
        let mut scratch = SCRATCH.take();
        scratch.visit_of.resize(cfg.node_count(), NONE);
        let Scratch {
            visit_of,
            visits,
            crossed,
            complete,
            pending,
            back_ranges,
            ways_out,
            found,
            ranges,
        } = scratch;
        Self {
            cfg,
            cycles,
            graph,
            level: None,
            behind: None,
            left_by: None,
            rest: None,
            meeting: None,
            visit_of,
            visits,
            crossed,
            complete,
            pending,
            live: 0,
            live_other: 0,
            back: Back::Nobody,
            back_ranges,
            ways_out,
            found,
            ranges,
        }
    }

    /// Threads separate: the threads with a label take the edges with that label. All edges start
    /// in one node of the level.
    pub(crate) fn separate(
        &mut self,
        level: Option<CycleId>,
        edges: impl IntoIterator<Item = (Node, Node, u32)>,
    ) -> (&[Consequence], Footprint) {
        self.start(level);
        for (from, to, label) in edges {
            self.cross(from, to, label);
        }
        let end = self.spread();
        self.conclude(end);
        (&self.found, self.footprint())
    }

    /// Where all threads meet that leave the cycle without leaving the one around it.
    pub(crate) fn meeting_behind(&mut self, cycle: CycleId) -> (Option<Node>, Footprint) {
        self.start(self.cycles.parent(cycle));
        let graph = self.graph;
        for (i, edge) in graph.leaving.owned_by(cycle).enumerate() {
            let (from, to) = graph.leaving.ends(edge);
            self.cross(from, to, i as u32);
        }
        let end = self.spread();
        self.found.clear();
        let mut footprint = self.footprint();
        footprint.add(self.cycles.header(cycle));
        // Threads that are back at the header of the level before the others have met do not come
        // to the meeting.
        match end {
            End::Met(node, _) if self.back == Back::Nobody => (Some(node), footprint),
            _ => (None, footprint),
        }
    }

    fn footprint(&self) -> Footprint {
        let mut footprint = Footprint::NOTHING;
        self.visits.iter().for_each(|visit| footprint.add(visit.node));
        if let Some(cycle) = self.behind {
            footprint.add(self.cycles.header(cycle));
        }
        footprint
    }

    /// Threads leave by this edge at different times. `meeting` is where all threads meet behind
    /// the cycle that the edge leaves.
    pub(crate) fn leave(
        &mut self,
        edge: LeavingEdge,
        meeting: Option<Node>,
    ) -> (&[Consequence], Footprint) {
        self.start_behind(self.graph.leaving.owner(edge), meeting);
        let (from, to) = self.graph.leaving.ends(edge);
        self.left_by = Some((from, to));
        self.cross(from, to, 0);
        let end = self.spread();
        self.conclude(end);
        (&self.found, self.footprint())
    }

    /// Threads that left the cycle by divergent exits have met in the node; the wave goes on from
    /// there.
    pub(crate) fn go_on(
        &mut self,
        cycle: CycleId,
        node: Node,
        meeting: Option<Node>,
    ) -> (&[Consequence], Footprint) {
        self.start_behind(cycle, meeting);
        let label = node.raw() | JOINED;
        let number = self.visit(node) as usize;
        let visit = &mut self.visits[number];
        (visit.has_label, visit.label, visit.is_over) = (true, label, true);
        self.live -= 1;
        self.pass_on(node, label);
        let end = self.spread();
        self.conclude(end);
        (&self.found, self.footprint())
    }

    /// Prepares a wave in which the rest, all other exits of a cycle, share a label.
    fn start_behind(&mut self, cycle: CycleId, meeting: Option<Node>) {
        let header = self.cycles.header(cycle);
        self.start(self.cycles.parent(cycle));
        self.behind = Some(cycle);
        self.rest = Some(self.graph.interval(header));
        self.meeting = meeting;
        let graph = self.graph;
        for node in graph.frontier.of(header) {
            self.visit(node);
        }
    }

    fn forget_visits(&mut self) {
        for visit in self.visits.drain(..) {
            self.visit_of[visit.node.index()] = NONE;
        }
    }

    fn start(&mut self, level: Option<CycleId>) {
        self.forget_visits();
        self.level = level;
        self.behind = None;
        self.left_by = None;
        self.rest = None;
        self.meeting = None;
        self.crossed.clear();
        self.complete.clear();
        self.pending.clear();
        self.ways_out.clear();
        self.back_ranges.clear();
        self.found.clear();
        (self.live, self.live_other, self.back) = (0, 0, Back::Nobody);
    }

    /// The visit of a node, made if there is none.
    #[inline]
    fn visit(&mut self, node: Node) -> u32 {
        let known = self.visit_of[node.index()];
        if known != NONE {
            return known;
        }
        let new = self.visits.len() as u32;
        self.visit_of[node.index()] = new;
        self.visits.push(Visit {
            node,
            label: REST,
            has_label: false,
            has_another: false,
            has_rest: false,
            is_over: false,
            count: 0,
            crossed: NONE,
        });
        self.pending.push((Reverse(self.graph.rank(node)), new));
        self.live += 1;
        new
    }

    /// Lets a label cross a single edge.
    #[inline]
    fn cross(&mut self, from: Node, to: Node, label: u32) {
        let graph = self.graph;
        if let Some(level) = self.level {
            if !self.cycles.contains(level, to) {
                let position = graph.interval(graph.representative(from)).0;
                if let Some(edge) = graph.leaving.find(position, from, to) {
                    self.ways_out.push((label, WayOut::Edge(edge)));
                }
                return;
            }
            if self.cycles.header(level) == to {
                if let Some(edge) = graph.edge_from(graph.back(level), from) {
                    self.back_ranges.push((edge, edge + 1));
                }
                self.come_back(label);
                return;
            }
        }
        let node = graph.representative(to);
        if let Some(first) = graph.edge_into(self.cfg, node, from, to) {
            self.arrive(node, label, EnteringEdges { first, end: first + 1 });
        }
    }

    /// Lets a label reach a node over some edges.
    #[inline]
    fn arrive(&mut self, node: Node, label: u32, edges: EnteringEdges) {
        let number = self.visit(node);
        let visit = &mut self.visits[number as usize];
        if visit.is_over {
            // The node from which a wave goes on has met the rest already.
            debug_assert!(label == REST, "a label reaches {node} after it was passed on");
            return;
        }
        if label == REST {
            visit.has_rest = true;
        } else if !visit.has_label {
            (visit.has_label, visit.label) = (true, label);
            self.live_other += 1;
        } else if visit.label != label {
            visit.has_another = true;
        }
        self.crossed.push(Crossed { edges, next: visit.crossed });
        visit.crossed = self.crossed.len() as u32 - 1;
        visit.count += edges.end - edges.first;
        let (start, end) = self.graph.entering(node);
        if visit.count == end - start {
            self.complete.push(number);
        }
    }

    fn come_back(&mut self, label: u32) {
        self.back = match self.back {
            Back::Nobody => Back::One(label),
            Back::One(known) if known == label => Back::One(label),
            _ => Back::Many,
        };
    }

    /// Passes labels on until all threads have met, or all but those of the rest.
    fn spread(&mut self) -> End {
        loop {
            if self.rest.is_some() && self.live_other == 0 {
                return End::Over;
            }
            let next = self.complete.pop().or_else(|| Some(self.pending.pop()?.1));
            let Some(number) = next else { return End::Over };
            let Visit { node, is_over, has_label, .. } = self.visits[number as usize];
            if is_over {
                continue;
            }
            self.live -= 1;
            self.live_other -= usize::from(has_label);
            self.visits[number as usize].is_over = true;
            let label = self.settle(number);
            let is_alone = match self.rest {
                None => self.live == 0,
                Some(_) => self.live_other == 0,
            };
            if is_alone {
                // Whether the rest meets here too is known only at the known meeting.
                if self.rest.is_none() || self.meeting == Some(node) {
                    return End::Met(node, label);
                }
                if label != REST && label & JOINED != 0 {
                    return End::Onward(node, label);
                }
            }
            self.pass_on(node, label);
        }
    }

    /// Determines the label of a node after all labels have arrived. Reports a join.
    fn settle(&mut self, number: u32) -> u32 {
        let visit = self.visits[number as usize];
        let Visit { node, has_label, .. } = visit;
        if !has_label {
            return REST;
        }
        let rest = self.edges_of_the_rest(&visit);
        let is_join = visit.has_another || visit.has_rest || rest.is_some();
        if is_join {
            self.report_join(&visit, rest);
        }
        if self.rest.is_some() {
            self.found.push(Consequence::Reaches(node));
        }
        if is_join { node.raw() | JOINED } else { visit.label }
    }

    /// Passes the label of a node to the frontier of its dominance.
    fn pass_on(&mut self, node: Node, label: u32) {
        let graph = self.graph;
        let (first, end) = graph.interval(node);
        for next in graph.frontier.of(node) {
            let (first, end) = graph.at_positions(graph.entering(next), first, end);
            self.arrive(next, label, EnteringEdges { first, end });
        }
        let Some(level) = self.level else { return };
        let back = graph.at_positions(graph.back(level), first, end);
        if back.0 < back.1 {
            self.back_ranges.push(back);
            self.come_back(label);
        }
        let (low, high) = graph.leaving.at_positions(first, end);
        if graph.leaving.any_leaves(low, high, self.cycles.depth(level)) {
            self.ways_out.push((label, WayOut::Numbers(low, high)));
        }
    }
}
