//! What follows from branches and divergent exits, as a graph.
//!
//! The answers of the sync dependence, drawn once: a node for each thing that can be known about
//! control flow, an edge for each consequence. All of it depends on the control flow alone, so it
//! stays when instructions change; only what has ever been divergent is in it.

use std::cmp::Reverse;

use phalanx_graph::sync::{Consequence, EnteringEdges, Footprint, LeavingEdge, SyncView};
use phalanx_graph::{CycleId, Node};
use rustc_hash::{FxHashMap, FxHashSet};

use super::subject::Subject;
use crate::divergence::FlowFacts;
use crate::divergence::consequences::has_exits;

/// In place of a number.
pub(super) const NONE: u32 = u32::MAX;

/// Something that can be known about control flow, for some sources. As
/// [`ControlFact`](crate::divergence::consequences::ControlFact).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Control {
    /// Threads that went different ways meet in the block, over all edges.
    Join(Node),
    /// Over the edges with this number in [`ControlGraph::edges`].
    JoinOver(Node, u32),
    /// The same at the header of a cycle, for edges back.
    JoinBack(CycleId, u32),
    /// Threads leave by the edge at different times.
    Exit(LeavingEdge),
    /// By all edges of a range that leave cycles of a depth.
    Exits { first: u32, end: u32, depth: u32 },
    /// By every edge out of its level that is reached from the node.
    ExitsFrom(Node),
    /// Threads that left the cycle at different times have met in the node.
    Onward(CycleId, Node),
    /// They get to all that the node dominates.
    Reach(CycleId, Node),
    /// Threads leave the cycle at different times.
    Left(CycleId),
    /// Threads run apart in an irreducible region.
    Assumed(CycleId),
    /// Everything computed in the cycle is read outside at different times.
    LiveOut(CycleId),
    /// Nothing any more: what it was about is not there after an edit of the control flow.
    Gone,
}

/// Edges over which threads come to a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JoinEdges {
    pub(super) ranges: Box<[EnteringEdges]>,
    /// And those that are reached from these nodes.
    pub(super) late: Box<[Node]>,
}

/// What follows from something.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    /// Sorted.
    pub(super) list: Box<[u32]>,
    /// Where the search for it has looked.
    pub(super) footprint: Footprint,
}

/// What threads reach that left a cycle at different times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    /// Positions in the dominator tree.
    pub(super) first: u32,
    pub(super) end: u32,
    /// The node that says so.
    pub(super) control: u32,
}

/// All that is reached behind a cycle: subtrees of the dominator tree, so of two either contains
/// the other or they are apart.
#[derive(Clone, Debug, Default)]
pub(super) struct ReachedTree {
    pub(super) list: Vec<Reached>,
    /// By position in the sorted list: the smallest that contains it. Not there while the list is
    /// not sorted.
    pub(super) env: Option<Vec<u32>>,
}

impl ReachedTree {
    fn prepare(&mut self) {
        self.list.sort_unstable_by_key(|reached| (reached.first, Reverse(reached.end)));
        let mut env = Vec::with_capacity(self.list.len());
        let mut open: Vec<u32> = Vec::new();
        for (i, reached) in self.list.iter().enumerate() {
            while open.pop_if(|last| self.list[*last as usize].end < reached.end).is_some() {}
            env.push(open.last().copied().unwrap_or(NONE));
            open.push(i as u32);
        }
        self.env = Some(env);
    }

    /// Those that contain a position.
    fn env(&self, at: u32) -> impl Iterator<Item = u32> {
        let up = self.env.as_deref().unwrap_or_default();
        let last = self.list.partition_point(|reached| reached.first <= at);
        let above = move |i: &usize| up.get(*i).filter(|i| **i != NONE).map(|i| *i as usize);
        std::iter::successors(last.checked_sub(1), above)
            .map(|i| self.list[i])
            .filter(move |reached| at < reached.end)
            .map(|reached| reached.control)
    }
}

/// Whether a cycle is an outermost irreducible one, and from no block of it edges lead to different
/// blocks outside: then threads that run apart in it leave by each edge apart, whatever terminators
/// do.
pub(super) fn is_plain_region(view: &SyncView<'_>, flow: FlowFacts<'_>, cycle: CycleId) -> bool {
    is_region(view, flow, cycle) && has_plain_exits(flow, cycle)
}

fn is_region(view: &SyncView<'_>, flow: FlowFacts<'_>, cycle: CycleId) -> bool {
    view.region_around(flow.cycles.header(cycle)) == Some(cycle)
}

/// O(blocks and edges of the cycle).
fn has_plain_exits(flow: FlowFacts<'_>, cycle: CycleId) -> bool {
    !flow.cycles.blocks(cycle).iter().any(|&block| has_exits(flow, block, cycle))
}

/// All nodes so far.
#[derive(Clone, Debug, Default)]
pub(super) struct ControlGraph {
    pub(super) kinds: Vec<Control>,
    pub(super) numbers: FxHashMap<Control, u32>,
    /// Nodes by edge out of a cycle.
    pub(super) exits: Vec<u32>,
    /// By node, once drawn.
    pub(super) successors: Vec<Option<Drawn>>,
    /// By node, other than ranges of exits.
    pub(super) supports: Vec<Vec<Subject>>,
    /// By block, once drawn.
    pub(super) branches: Vec<Option<Drawn>>,
    pub(super) edges: Vec<JoinEdges>,
    /// Nodes for whole joins, by block.
    pub(super) whole_joins: Vec<u32>,
    /// Other joins by block.
    pub(super) joins: FxHashMap<Node, Vec<u32>>,
    pub(super) reached: FxHashMap<CycleId, ReachedTree>,
    /// Joins over some edges that may be taken for those that are drawn.
    pub(super) spare: Vec<u32>,
    /// Those that were taken, and have other edges now.
    pub(super) reshaped: Vec<u32>,
    /// Joins whose edges are not what they are said to be, until they are drawn again.
    pub(super) loose: FxHashSet<u32>,
    /// How many nodes are gone.
    pub(super) gone: usize,
    /// Nodes for ranges of exits.
    pub(super) ranges: Vec<u32>,
    /// Nodes for regions in which threads run apart, and for cycles that are read outside.
    pub(super) assumed: FxHashMap<CycleId, u32>,
    pub(super) live_out: FxHashMap<CycleId, u32>,
    /// Something was met that has no node: a cycle within a region in which threads run apart, or a
    /// region that they do not leave by each edge apart.
    pub(super) is_irregular: bool,
    /// How many edges there are.
    pub(super) size: usize,
}

impl ControlGraph {
    pub(super) fn len(&self) -> usize {
        self.kinds.len()
    }

    /// The joins in a block.
    pub(super) fn joins(&self, block: Node) -> impl Iterator<Item = u32> {
        let whole = self.whole_joins.get(block.index()).copied().filter(|join| *join != NONE);
        let others = match self.joins.is_empty() {
            true => None,
            false => self.joins.get(&block),
        };
        whole.into_iter().chain(others.into_iter().flatten().copied())
    }

    fn join(&mut self, view: &SyncView<'_>, block: Node) -> u32 {
        if self.whole_joins.len() <= block.index() {
            self.whole_joins.resize((block.index() + 1).next_power_of_two(), NONE);
        }
        if self.whole_joins[block.index()] == NONE {
            self.whole_joins[block.index()] = self.add(view, Control::Join(block));
        }
        self.whole_joins[block.index()]
    }

    /// Brings what is reached behind a cycle into a form that can be asked.
    pub(super) fn prepare_reached(&mut self, cycle: CycleId) {
        if let Some(tree) = self.reached.get_mut(&cycle).filter(|tree| tree.env.is_none()) {
            tree.prepare();
        }
    }

    /// The nodes that say that threads that left the cycle at different times reach a position,
    /// after [`prepare_reached`](Self::prepare_reached).
    pub(super) fn reached(&self, cycle: CycleId, at: u32) -> impl Iterator<Item = u32> {
        self.reached.get(&cycle).into_iter().flat_map(move |tree| tree.env(at))
    }

    /// The node for an edge out of a cycle, if there is one.
    pub(super) fn exit_number(&self, edge: LeavingEdge) -> Option<u32> {
        self.exits.get(edge.index()).copied().filter(|number| *number != NONE)
    }

    /// The node for an edge out of a cycle.
    pub(super) fn exit(&mut self, view: &SyncView<'_>, edge: LeavingEdge) -> u32 {
        if let Some(known) = self.exit_number(edge) {
            return known;
        }
        self.exits.resize(view.leaving_edges(), NONE);
        let number = self.add(view, Control::Exit(edge));
        self.exits[edge.index()] = number;
        number
    }

    /// What follows when threads separate at the end of a block, which is a branch.
    pub(super) fn of_branch(
        &mut self,
        view: &mut SyncView<'_>,
        flow: FlowFacts<'_>,
        block: Node,
    ) -> &[u32] {
        if self.branches.len() <= block.index() {
            self.branches.resize((block.index() + 1).next_power_of_two(), None);
        }
        if self.branches[block.index()].is_none() {
            let mut drawn = Vec::new();
            let mut footprint = Footprint::ALL;
            if !self.is_irregular {
                let answer = view.branch(block);
                footprint = answer.footprint();
                self.draw((view, flow), &answer, None, &mut drawn);
            }
            self.keep(Subject::Branch(block.raw()), &mut drawn);
            self.branches[block.index()] = Some(Drawn { list: drawn.into(), footprint });
        }
        self.branches[block.index()].as_ref().map_or(&[], |drawn| &drawn.list)
    }

    /// What follows from a node, besides what it says of values.
    pub(super) fn of_control(
        &mut self,
        view: &mut SyncView<'_>,
        flow: FlowFacts<'_>,
        number: u32,
    ) -> &[u32] {
        if self.successors[number as usize].is_none() {
            let mut drawn = Vec::new();
            let mut footprint = Footprint::NOTHING;
            match self.kinds[number as usize] {
                Control::Exit(edge) => {
                    let cycle = view.cycle_left(edge);
                    let left = self.node(view, Control::Left(cycle));
                    drawn.push(left);
                    let answer = view.exit(edge);
                    footprint = answer.footprint();
                    self.draw((view, flow), &answer, Some(cycle), &mut drawn);
                }
                Control::Onward(cycle, node) => {
                    let answer = view.onward(cycle, node);
                    footprint = answer.footprint();
                    self.draw((view, flow), &answer, Some(cycle), &mut drawn);
                }
                Control::ExitsFrom(node) => {
                    footprint = Footprint::of(node);
                    if let Some((first, end, depth)) = view.exits_below(node) {
                        self.exits(view, first, end, depth, &mut drawn);
                        for next in view.frontier(node) {
                            let next = self.node(view, Control::ExitsFrom(next));
                            drawn.push(next);
                        }
                    }
                }
                Control::Assumed(region) => {
                    // Fixed terminators, which hold threads together, are not known here.
                    let answer = view.split(region, |_| false);
                    footprint = answer.footprint();
                    self.draw((view, flow), &answer, None, &mut drawn);
                }
                Control::LiveOut(cycle) => drawn.push(self.node(view, Control::Left(cycle))),
                Control::Join(_)
                | Control::JoinOver(..)
                | Control::JoinBack(..)
                | Control::Exits { .. }
                | Control::Reach(..)
                | Control::Left(_)
                | Control::Gone => {}
            }
            self.keep(Subject::Control(number), &mut drawn);
            self.successors[number as usize] = Some(Drawn { list: drawn.into(), footprint });
        }
        self.successors[number as usize].as_ref().map_or(&[], |drawn| &drawn.list)
    }

    fn keep(&mut self, cause: Subject, drawn: &mut Vec<u32>) {
        drawn.sort_unstable();
        drawn.dedup();
        self.size += drawn.len();
        for &next in &*drawn {
            self.supports[next as usize].push(cause);
        }
    }

    fn exits(
        &mut self,
        view: &SyncView<'_>,
        first: u32,
        end: u32,
        depth: u32,
        drawn: &mut Vec<u32>,
    ) {
        const FEW: u32 = 8;
        if end - first > FEW {
            drawn.push(self.node(view, Control::Exits { first, end, depth }));
            return;
        }
        for edge in first..end {
            if view.depth_kept(edge as usize) < depth {
                drawn.push(self.exit(view, LeavingEdge::from_raw(edge)));
            }
        }
    }

    /// The node for something, a new one if there is none.
    pub(super) fn node(&mut self, view: &SyncView<'_>, control: Control) -> u32 {
        match control {
            Control::Join(block) => return self.join(view, block),
            Control::Exit(edge) => return self.exit(view, edge),
            // Each is drawn once.
            Control::JoinOver(..) | Control::JoinBack(..) => return self.add(view, control),
            _ => {}
        }
        if let Some(&known) = self.numbers.get(&control) {
            return known;
        }
        let number = self.add(view, control);
        self.numbers.insert(control, number);
        number
    }

    /// A new node.
    fn add(&mut self, view: &SyncView<'_>, control: Control) -> u32 {
        let number = self.kinds.len() as u32;
        self.kinds.push(control);
        self.successors.push(None);
        self.supports.push(Vec::new());
        match control {
            Control::JoinOver(block, _) => self.joins.entry(block).or_default().push(number),
            Control::Exits { .. } => self.ranges.push(number),
            Control::Assumed(region) => _ = self.assumed.insert(region, number),
            Control::LiveOut(cycle) => _ = self.live_out.insert(cycle, number),
            Control::Reach(cycle, node) => {
                let (first, end) = view.dominated(node);
                let entry = Reached { first, end, control: number };
                let tree = self.reached.entry(cycle).or_default();
                tree.list.push(entry);
                tree.env = None;
            }
            _ => {}
        }
        number
    }

    /// A spare join of the same kind in the same block, with these edges from now on.
    fn spare_join(&mut self, consequence: Consequence, edges: &JoinEdges) -> Option<u32> {
        let place = |number: u32| match (self.kinds[number as usize], consequence) {
            (Control::JoinOver(a, known), Consequence::JoinOver(b, _)) if a == b => Some(known),
            (Control::JoinBack(a, known), Consequence::JoinBack(b, _)) if a == b => Some(known),
            _ => None,
        };
        let has_same = |at: &usize| {
            !self.loose.contains(&self.spare[*at])
                && place(self.spare[*at]).is_some_and(|known| self.edges[known as usize] == *edges)
        };
        let mut all = 0..self.spare.len();
        let at = all
            .clone()
            .find(has_same)
            .or_else(|| all.find(|at| place(self.spare[*at]).is_some()))?;
        let known = place(self.spare[at])?;
        let number = self.spare.swap_remove(at);
        if self.loose.remove(&number) || self.edges[known as usize] != *edges {
            self.edges[known as usize] = edges.clone();
            self.reshaped.push(number);
        }
        Some(number)
    }

    fn draw(
        &mut self,
        (view, flow): (&SyncView<'_>, FlowFacts<'_>),
        answer: &[Consequence],
        left: Option<CycleId>,
        drawn: &mut Vec<u32>,
    ) {
        let mut rest = answer.iter().copied().peekable();
        while let Some(consequence) = rest.next() {
            let control = match consequence {
                Consequence::Join(block) => Control::Join(block),
                Consequence::JoinOver(_, first) | Consequence::JoinBack(_, first) => {
                    let (mut ranges, mut late) = (vec![first], Vec::new());
                    while let Some(more) = rest.peek() {
                        match more {
                            Consequence::Also(more) => ranges.push(*more),
                            Consequence::AlsoFrom(node) => late.push(*node),
                            _ => break,
                        }
                        rest.next();
                    }
                    let edges = JoinEdges { ranges: ranges.into(), late: late.into() };
                    if let Some(known) = self.spare_join(consequence, &edges) {
                        drawn.push(known);
                        continue;
                    }
                    self.size += edges.ranges.len() + edges.late.len();
                    let number = self.edges.len() as u32;
                    self.edges.push(edges);
                    match consequence {
                        Consequence::JoinBack(cycle, _) => Control::JoinBack(cycle, number),
                        Consequence::JoinOver(block, _) => Control::JoinOver(block, number),
                        _ => continue,
                    }
                }
                Consequence::Exit(edge) => Control::Exit(edge),
                Consequence::Exits { first, end, depth } => {
                    self.exits(view, first, end, depth, drawn);
                    continue;
                }
                Consequence::ExitsFrom(node) => Control::ExitsFrom(node),
                Consequence::Onward(cycle, node) => Control::Onward(cycle, node),
                Consequence::Reaches(node) => match left {
                    Some(cycle) => Control::Reach(cycle, node),
                    None => continue,
                },
                Consequence::Also(_) | Consequence::AlsoFrom(_) => continue,
                Consequence::Assume(cycle) => {
                    // Of what has a node that was looked at, or is after all has been drawn.
                    let is_plain =
                        self.assumed.contains_key(&cycle) || has_plain_exits(flow, cycle);
                    if !is_plain || !is_region(view, flow, cycle) {
                        self.is_irregular = true;
                        continue;
                    }
                    Control::Assumed(cycle)
                }
                Consequence::LiveOut(cycle) => Control::LiveOut(cycle),
            };
            if let Control::Exit(edge) = control {
                drawn.push(self.exit(view, edge));
                continue;
            }
            let is_back = match control {
                Control::JoinBack(cycle, _) => Some(cycle),
                _ => None,
            };
            let number = self.node(view, control);
            if let Some(cycle) = is_back {
                let header = flow.cycles.header(cycle);
                self.joins.entry(header).or_default().push(number);
            }
            drawn.push(number);
        }
    }
}
