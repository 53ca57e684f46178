//! Builds the cycle hierarchy in almost linear time.
//!
//! Havlak's algorithm takes the nodes in decreasing preorder of a depth-first search. A node `h`
//! with an edge from a descendant (or from itself) heads a cycle: the cycles and nodes found by
//! walking backwards from the sources of those edges through descendants of `h`. Nodes of a
//! finished cycle are represented by its header (union-find), so each node and each cycle is walked
//! once.
//!
//! Walking backwards can meet an edge whose source is no descendant of `h`: the cycle has a second
//! entry there. Havlak looks at such edges again in each enclosing cycle, which is quadratic.
//! Ramalingam (*Identifying Loops in Almost Linear Time*, 1999) showed that the edge `p -> b`
//! cannot matter again before the lowest common ancestor `w` of `p` and `b` in the search tree is
//! reached, and that there it may be replaced by an edge to `b`'s representative. The edge waits in
//! a bucket at `w`. In decreasing preorder `w` is found by another compressed climb: `p` is
//! numbered after the subtree of `h`, so the highest ancestor of `p` numbered above `h` is a child
//! of `w`.
//!
//! Predecessors are taken in decreasing order of their position, and absorbed cycles and nodes keep
//! the order in which they were absorbed. For reducible graphs this is the order in which LLVM
//! lists the blocks of a cycle.

use super::{CrossingEdges, CrossingNodes, Cycle, Cycles};
use std::cell::Cell;

use crate::dfs::{Frame, NONE, Preorder};
use crate::dom::jump_pointer;
use crate::graph::{Graph, Repeats};
use crate::node::Node;
use crate::scratch::{SCRATCH_KEPT, refill};
use crate::threshold::Thresholds;

/// As [`build`], with the search that visits the last successor first.
pub(super) fn search_and_build<G: Graph + ?Sized>(graph: &G) -> Cycles {
    let (mut dfs, mut stack) = SEARCH.take();
    dfs.search::<G, true>(graph, &mut stack, |_| {});
    let cycles = build(graph, &dfs);
    if dfs.interval.capacity() <= SCRATCH_KEPT {
        SEARCH.set((dfs, stack));
    }
    cycles
}

pub(super) fn build<G: Graph + ?Sized>(graph: &G, dfs: &Preorder) -> Cycles {
    let mut finder = Finder { graph, dfs, tables: TABLES.take() };
    finder.run();
    let mut tables = finder.tables;
    let mut cycles = lay_out(graph.node_count(), &mut tables);
    if !cycles.is_empty() {
        cycles.entries = crossing_nodes(&mut cycles, &tables.late);
        cycles.exits = crossing_edges(&cycles, graph);
    }
    if tables.up.capacity() <= SCRATCH_KEPT && tables.late.capacity() <= SCRATCH_KEPT {
        tables.clear();
        TABLES.set(tables);
    }
    cycles
}

thread_local! {
    static SEARCH: Cell<(Preorder, Vec<Frame>)> = Cell::default();
    static TABLES: Cell<Tables> = Cell::default();
}

/// An edge into a cycle at another node than its header.
struct LateEdge {
    from: Node,
    to: Node,
    /// Next in the same bucket, or waiting at the same representative.
    next: u32,
}

/// The members of cycles in the order of absorption: a singly linked list per cycle, whose elements
/// are nodes; a header stands for its whole cycle.
#[derive(Default)]
struct Parts {
    first: Vec<u32>,
    last: Vec<u32>,
    /// Next member of the same cycle, by node.
    next: Vec<u32>,
}

impl Parts {
    fn push(&mut self, cycle: u32, node: Node) {
        let c = cycle as usize;
        if self.last[c] == NONE {
            self.first[c] = node.raw();
        } else {
            self.next[self.last[c] as usize] = node.raw();
        }
        self.last[c] = node.raw();
    }
}

struct Finder<'a, G: ?Sized> {
    graph: &'a G,
    dfs: &'a Preorder,
    tables: Tables,
}

/// The tables of a [`Finder`]. All are empty when they are kept for the next one.
#[derive(Default)]
struct Tables {
    /// Union-find with path halving: a node's representative is the header of its outermost cycle.
    up: Vec<Node>,
    /// Header by cycle, in the order of discovery: nested cycles come first.
    headers: Vec<Node>,
    /// Cycle by header.
    header_cycle: Vec<u32>,
    parts: Parts,
    /// The cycles that have no parent, ordered as LLVM orders them.
    top: Vec<u32>,
    top_position: Vec<u32>,
    late: Vec<LateEdge>,
    /// First late edge waiting at a lowest common ancestor; empty until the first.
    buckets: Vec<u32>,
    /// First late edge waiting at a representative; empty until the first.
    waiting: Vec<u32>,
    /// Compressed tree parents for the search of lowest common ancestors; empty until the first.
    climb: Vec<u32>,
    work: Vec<Node>,
    /// By cycle in preorder: depth, and jump pointer.
    levels: Vec<u32>,
    jumps: Vec<u32>,
    /// A frame is a cycle by its new number and its next member.
    frames: Vec<(u32, u32)>,
}

impl Tables {
    fn clear(&mut self) {
        let Self { parts: Parts { first, last, next }, headers, header_cycle, .. } = self;
        for table in [first, last, next, header_cycle] {
            table.clear();
        }
        headers.clear();
        let Self { top, top_position, buckets, waiting, climb, levels, jumps, .. } = self;
        for table in [top, top_position, buckets, waiting, climb, levels, jumps] {
            table.clear();
        }
        self.up.clear();
        self.late.clear();
        self.work.clear();
        self.frames.clear();
    }
}

impl<G: Graph + ?Sized> Finder<'_, G> {
    fn run(&mut self) {
        let (graph, dfs) = (self.graph, self.dfs);
        for &h in dfs.nodes.iter().rev() {
            if !self.tables.buckets.is_empty() {
                self.open_bucket(h);
            }
            let (first, last) = dfs.interval[h.index()];
            for &p in graph.predecessors(h).iter().rev() {
                let pre = dfs.interval[p.index()].0;
                if first <= pre && pre <= last {
                    if self.tables.up.is_empty() {
                        self.start();
                    }
                    let source = self.find(p);
                    self.tables.work.push(source);
                }
            }
            if !self.tables.work.is_empty() {
                self.close_cycle(h);
            }
        }
    }

    /// Allocates the tables, which an acyclic graph does not need.
    fn start(&mut self) {
        let n = self.graph.node_count();
        self.tables.up.extend((0..n as u32).map(Node::from_raw));
        refill(&mut self.tables.header_cycle, n, NONE);
        refill(&mut self.tables.parts.next, n, NONE);
    }

    fn find(&mut self, node: Node) -> Node {
        let mut at = node;
        loop {
            let up = self.tables.up[at.index()];
            if up == at {
                return at;
            }
            let far = self.tables.up[up.index()];
            self.tables.up[at.index()] = far;
            at = far;
        }
    }

    /// Makes the cycle of `h` out of what reaches the nodes in `work` backwards.
    fn close_cycle(&mut self, h: Node) {
        let cycle = self.tables.headers.len() as u32;
        self.tables.headers.push(h);
        self.tables.header_cycle[h.index()] = cycle;
        self.tables.parts.first.push(NONE);
        self.tables.parts.last.push(NONE);
        while let Some(part) = self.tables.work.pop() {
            // Nodes that are in the cycle already are represented by `h`.
            if part == h || self.tables.up[part.index()] == h {
                continue;
            }
            self.tables.up[part.index()] = h;
            self.tables.parts.push(cycle, part);
            let nested = self.tables.header_cycle[part.index()];
            if nested != NONE {
                self.remove_from_top(nested);
            }
            self.walk_back(part, h);
        }
        self.tables.top_position.push(self.tables.top.len() as u32);
        self.tables.top.push(cycle);
    }

    /// Moves the last top-level cycle into the place of the one that gets a parent.
    fn remove_from_top(&mut self, cycle: u32) {
        let at = self.tables.top_position[cycle as usize];
        self.tables.top.swap_remove(at as usize);
        if let Some(&moved) = self.tables.top.get(at as usize) {
            self.tables.top_position[moved as usize] = at;
        }
    }

    /// Queues the sources of the edges into `part`, a node or the header of a nested cycle.
    fn walk_back(&mut self, part: Node, h: Node) {
        let (graph, numbers) = (self.graph, &self.dfs.interval);
        let (first, last) = numbers[h.index()];
        for &p in graph.predecessors(part).iter().rev() {
            let pre = numbers[p.index()].0;
            if first <= pre && pre <= last {
                let source = self.find(p);
                self.tables.work.push(source);
            } else if pre != NONE {
                self.postpone(p, part, h);
            }
        }
        if let Some(&first) = self.tables.waiting.get(part.index()) {
            let mut at = first;
            while at != NONE {
                let LateEdge { from, next, .. } = self.tables.late[at as usize];
                let source = self.find(from);
                self.tables.work.push(source);
                at = next;
            }
        }
    }

    /// Puts the edge into the bucket of the lowest common ancestor of its ends.
    fn postpone(&mut self, from: Node, to: Node, h: Node) {
        if self.tables.buckets.is_empty() {
            let n = self.graph.node_count();
            refill(&mut self.tables.buckets, n, NONE);
            refill(&mut self.tables.waiting, n, NONE);
            self.tables.climb = search_parents(self.dfs);
        }
        let meet = self.common_ancestor(from, h);
        let bucket = &mut self.tables.buckets[meet.index()];
        self.tables.late.push(LateEdge { from, to, next: *bucket });
        *bucket = self.tables.late.len() as u32 - 1;
    }

    /// The lowest common ancestor of `p` and `h` in the search tree. `h` is the node being
    /// processed; `p` is a proper ancestor of it or numbered after its subtree.
    fn common_ancestor(&mut self, p: Node, h: Node) -> Node {
        let number = |node: Node| self.dfs.interval[node.index()].0;
        let (mut at, limit) = (number(p), number(h));
        if at < limit {
            return p;
        }
        // Path halving is sound because the limit only falls.
        loop {
            let up = self.tables.climb[at as usize];
            if up <= limit {
                return self.dfs.nodes[up as usize];
            }
            let far = self.tables.climb[up as usize];
            if far <= limit {
                return self.dfs.nodes[far as usize];
            }
            self.tables.climb[at as usize] = far;
            at = far;
        }
    }

    /// Hands the edges whose ends meet at `h` to the representatives of their targets.
    fn open_bucket(&mut self, h: Node) {
        let mut at = std::mem::replace(&mut self.tables.buckets[h.index()], NONE);
        while at != NONE {
            let LateEdge { to, next, .. } = self.tables.late[at as usize];
            let part = self.find(to);
            self.tables.late[at as usize].next = self.tables.waiting[part.index()];
            self.tables.waiting[part.index()] = at;
            at = next;
        }
    }
}

/// Parents in the search tree, by preorder number.
fn search_parents(dfs: &Preorder) -> Vec<u32> {
    let mut parents = vec![0; dfs.nodes.len()];
    let mut open: Vec<(u32, u32)> = Vec::new();
    for (i, node) in dfs.nodes.iter().enumerate() {
        while open.last().is_some_and(|&(_, last)| last < i as u32) {
            open.pop();
        }
        parents[i] = open.last().map_or(0, |&(number, _)| number);
        open.push((i as u32, dfs.interval[node.index()].1));
    }
    parents
}

/// Numbers the cycles in preorder and places their blocks.
fn lay_out(n: usize, tables: &mut Tables) -> Cycles {
    let Tables { headers, header_cycle, parts, top, levels, jumps, frames: stack, .. } = tables;
    let count = headers.len();
    let mut cycles: Vec<Cycle> = Vec::with_capacity(count);
    let mut innermost = vec![NONE; n];
    let mut blocks = Vec::new();
    for &root in &*top {
        let mut enter = Some(root);
        loop {
            if let Some(old) = enter.take() {
                let new = cycles.len() as u32;
                let parent = stack.last().map_or(NONE, |&(up, _)| up);
                let header = headers[old as usize];
                innermost[header.index()] = new;
                let first_block = blocks.len() as u32;
                blocks.push(header);
                let (level, jump) = if parent == NONE {
                    (0, new)
                } else {
                    (levels[parent as usize] + 1, jump_pointer(parent, levels, jumps))
                };
                levels.push(level);
                jumps.push(jump);
                cycles.push(Cycle {
                    parent,
                    end: new + 1,
                    depth: level + 1,
                    jump,
                    first_block,
                    end_block: first_block + 1,
                    irreducible: false,
                    irreducible_around: false,
                });
                stack.push((new, parts.first[old as usize]));
            }
            let Some((cycle, member)) = stack.last_mut() else { break };
            if *member == NONE {
                let end = cycles.len() as u32;
                let done = &mut cycles[*cycle as usize];
                done.end_block = blocks.len() as u32;
                done.end = end;
                stack.pop();
                continue;
            }
            let node = Node::from_raw(*member);
            *member = parts.next[node.index()];
            let nested = header_cycle[node.index()];
            if nested == NONE {
                innermost[node.index()] = *cycle;
                blocks.push(node);
            } else {
                enter = Some(nested);
            }
        }
    }
    Cycles {
        innermost,
        cycles,
        blocks,
        entries: CrossingNodes::default(),
        exits: CrossingEdges::default(),
    }
}

/// Depth of the smallest cycle that contains both nodes.
fn common_depth(cycles: &Cycles, a: Node, b: Node) -> u32 {
    cycles.common(a, b).map_or(0, |c| cycles.depth(c))
}

/// The targets of late edges: every entry that is not the header is one, for each cycle that it
/// enters.
fn crossing_nodes(cycles: &mut Cycles, late: &[LateEdge]) -> CrossingNodes {
    if late.is_empty() {
        return CrossingNodes::default();
    }
    let mut position = vec![NONE; cycles.innermost.len()];
    for (i, block) in cycles.blocks.iter().enumerate() {
        position[block.index()] = i as u32;
    }
    let mut items: Vec<(u32, u32)> = late
        .iter()
        .map(|edge| (position[edge.to.index()], common_depth(cycles, edge.to, edge.from)))
        .collect();
    items.sort_unstable();
    items.dedup_by_key(|&mut (at, _)| at);
    let nodes = items.iter().map(|&(at, _)| cycles.blocks[at as usize]).collect();
    let positions = items.iter().map(|&(at, _)| at).collect();
    let depths = Thresholds::new(items.into_iter().map(|(_, depth)| depth));
    let found = CrossingNodes { nodes, positions, depths };
    // Cycles come before those in them.
    for at in 0..cycles.cycles.len() {
        let around = cycles.cycles.get(cycles.cycles[at].parent as usize);
        let is_around = around.is_some_and(|around| around.irreducible_around);
        let cycle = &mut cycles.cycles[at];
        let (mut next, end) = found.range(cycle.first_block, cycle.end_block);
        if found.positions.get(next) == Some(&cycle.first_block) {
            next += 1;
        }
        cycle.irreducible = found.depths.next_below(next, end, cycle.depth).is_some();
        cycle.irreducible_around = cycle.irreducible || is_around;
    }
    found
}

fn crossing_edges<G: Graph + ?Sized>(cycles: &Cycles, graph: &G) -> CrossingEdges {
    let mut edges = Vec::new();
    let mut positions = Vec::new();
    let mut depths = Vec::new();
    let mut repeats = Repeats::default();
    for (at, &from) in cycles.blocks.iter().enumerate() {
        let Some(inner) = cycles.innermost(from) else { continue };
        let succs = graph.successors(from);
        for (i, &to) in succs.iter().enumerate() {
            if cycles.contains(inner, to) || repeats.is_repeat(graph.node_count(), from, succs, i) {
                continue;
            }
            edges.push((from, to));
            positions.push(at as u32);
            depths.push(cycles.innermost_around(inner, to).map_or(0, |c| cycles.depth(c)));
        }
    }
    CrossingEdges { edges, positions, depths: Thresholds::new(depths.into_iter()) }
}
