//! Sync dependence of branches inside irreducible cycles.
//!
//! Inside the outermost irreducible cycle around a branch, the *region*, threads have no block
//! where they meet once per round under every cycle hierarchy. There LLVM's label propagation
//! decides, with all its known faults repaired (see [`label`](crate::sync::label)), restricted to
//! the region: labels that leave the region never come back to it. What is outside of the region
//! sees which edges out of it carry which labels, and is treated like everything else, by a wave.
//!
//! **Every hierarchy.** LLVM's rules look at the headers of the cycles that one depth-first search
//! happens to find, but the answer must be right for all. A block `y` of the region can be the
//! header of a cycle `S` around the branch only if it is an entry of `S`. Every path to `y` passes
//! its immediate dominator, so `idom(y)` is not in `S`. So `S` lies in the component of `y` in the
//! region without `idom(y)`: the [`Candidate`]s of a region are its blocks with at least two
//! predecessors and these components. Then
//!
//! - a join is unreliable when a candidate, of a component that contains branch and join, is on
//!   some way between them without being on every way from the entry to the join: some threads have
//!   passed the header of a cycle around the join since the branch, others not;
//! - an exit of a candidate's component is divergent when it does not have the candidate's label.
//!
//! Repairing LLVM's five known faults is not enough: these rules find more, in one of 35,000 random
//! functions.
//!
//! **Stopping early.** LLVM goes on when a single node is left to visit, since its label could run
//! round the region and meet others. It cannot if every labelled block lies in the branch's
//! innermost cycle and is strictly dominated by the branch: every path back to such a block leads
//! through the branch.
//!
//! **Footprint.** The consequences within a region depend on the region alone; `carry::regions`
//! lists what they depend on. Outside of the region, the wave reports which nodes it looked at.
//!
//! **Limit.** In a large region most branches have a join that makes the region unreliable as a
//! whole. A propagation that has not finished after [`LIMIT`] edges assumes so. This depends on the
//! graph alone.

use std::collections::BinaryHeap;

use crate::cfg::Cfg;
use crate::cycles::{CycleId, Cycles};
use crate::dfs::NONE;
use crate::dom::DomTree;
use crate::node::Node;
use crate::sync::label::unreliable_cycle;
use crate::sync::order::ModifiedPostOrder;
use crate::sync::reduced::Reduced;
use crate::sync::table::Footprint;
use crate::sync::wave::{Consequence, Wave};

/// Edges after which the region is assumed divergent.
pub(crate) const LIMIT: usize = 1024;

/// Components are computed for regions up to this size; in larger regions each component is taken
/// to be the whole region.
const SMALL: usize = 256;

/// A block that is the header of cycles in some hierarchies.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    node: Node,
    /// The nodes that these cycles may contain; `None` for the whole region.
    component: Option<Vec<Node>>,
}

impl Candidate {
    fn may_contain(&self, node: Node) -> bool {
        self.component.as_ref().is_none_or(|c| c.binary_search(&node).is_ok())
    }
}

/// The candidates of a region.
fn candidates(
    cfg: &Cfg,
    dom: &DomTree,
    cycles: &Cycles,
    reach: &mut Reach,
    region: CycleId,
) -> Vec<Candidate> {
    let blocks = cycles.blocks(region);
    let mut found = Vec::new();
    for &node in blocks {
        let mut preds = cfg.predecessors(node).iter().filter(|p| dom.is_reachable(**p));
        let first = preds.next();
        if !preds.any(|p| Some(p) != first) {
            continue;
        }
        let above = dom.idom(node).filter(|&x| cycles.contains(region, x));
        let component = match above {
            Some(above) if blocks.len() <= SMALL => {
                let inside = |n: Node| cycles.contains(region, n) && n != above;
                let forward = reach.from(node, inside, |n| cfg.successors(n)).to_vec();
                reach.from(node, inside, |n| cfg.predecessors(n));
                let mut both = forward;
                both.retain(|&n| reach.has(n));
                if both.is_empty() {
                    continue;
                }
                both.sort_unstable();
                Some(both)
            }
            _ => None,
        };
        found.push(Candidate { node, component });
    }
    found
}

/// Whether a cycle of a region is a cycle, with the same header, in every hierarchy.
fn is_in_every_hierarchy(cycles: &Cycles, candidates: &[Candidate], cycle: CycleId) -> bool {
    let header = cycles.header(cycle);
    let own = candidates.iter().find(|c| c.node == header).and_then(|c| c.component.as_ref());
    cycles.is_reducible(cycle) && own.is_some_and(|c| c.len() == cycles.blocks(cycle).len())
}

/// Finds what is reached from a node.
#[derive(Clone, Debug)]
struct Reach {
    /// By node, the search that met it last.
    met: Vec<u32>,
    search: u32,
    found: Vec<Node>,
}

impl Reach {
    fn new(nodes: usize) -> Self {
        Self { met: vec![0; nodes], search: 0, found: Vec::new() }
    }

    /// What is reached from a node by at least one edge through nodes that satisfy a condition.
    fn from<'a>(
        &mut self,
        from: Node,
        inside: impl Fn(Node) -> bool,
        next: impl Fn(Node) -> &'a [Node],
    ) -> &[Node] {
        self.search += 1;
        self.found.clear();
        let (mut at, mut looked) = (from, 0);
        loop {
            for &n in next(at) {
                if inside(n) && self.met[n.index()] != self.search {
                    self.met[n.index()] = self.search;
                    self.found.push(n);
                }
            }
            let Some(&node) = self.found.get(looked) else { return &self.found };
            (at, looked) = (node, looked + 1);
        }
    }

    /// Whether the last search met a node.
    fn has(&self, node: Node) -> bool {
        self.met[node.index()] == self.search
    }
}

/// What is known about a region.
#[derive(Debug)]
pub(crate) struct RegionFacts {
    order: ModifiedPostOrder,
    candidates: Vec<Candidate>,
}

/// Label propagation inside regions. Scratch tables are kept between branches.
#[derive(Debug)]
pub(crate) struct Irreducible<'a> {
    cfg: &'a Cfg,
    dom: &'a DomTree,
    cycles: &'a Cycles,
    graph: &'a Reduced,
    label: Vec<u32>,
    touched: Vec<Node>,
    fresh: BinaryHeap<u32>,
    is_fresh: Vec<bool>,
    joins: Vec<Node>,
    exits: Vec<Node>,
    reach: Reach,
}

/// How the propagation ended.
enum End {
    /// Every reachable block has its label.
    Complete,
    /// All threads met in a block from which no labelled block can be reached again.
    Met,
    /// The limit of edges was exceeded.
    Limit,
}

impl<'a> Irreducible<'a> {
    pub(crate) fn new(
        cfg: &'a Cfg,
        dom: &'a DomTree,
        cycles: &'a Cycles,
        graph: &'a Reduced,
    ) -> Self {
        let n = cfg.node_count();
        Self {
            cfg,
            dom,
            cycles,
            graph,
            label: vec![NONE; n],
            touched: Vec::new(),
            fresh: BinaryHeap::new(),
            is_fresh: vec![false; n],
            joins: Vec::new(),
            exits: Vec::new(),
            reach: Reach::new(n),
        }
    }

    /// The tables that the searches in a region need.
    pub(crate) fn facts(&mut self, region: CycleId) -> RegionFacts {
        let Self { cfg, dom, cycles, reach, .. } = self;
        RegionFacts {
            order: ModifiedPostOrder::of_cycle(cfg, cycles, region),
            candidates: candidates(cfg, dom, cycles, reach, region),
        }
    }

    /// The consequences of the branch that ends a block of a region, and the nodes outside of the
    /// region that the search looked at.
    pub(crate) fn branch(
        &mut self,
        wave: &mut Wave<'a>,
        region: CycleId,
        facts: &RegionFacts,
        branch: Node,
    ) -> (Vec<Consequence>, Footprint) {
        let RegionFacts { order, candidates } = facts;
        let end = self.propagate(region, order, branch);
        let mut looked = Footprint::NOTHING;
        let found = match end {
            End::Limit => vec![Consequence::Assume(region)],
            End::Met => self.inside(region, branch),
            End::Complete => {
                let mut found = self.inside(region, branch);
                self.by_other_hierarchies(region, candidates, branch, &mut found);
                looked = self.outside(wave, region, candidates, branch, &mut found);
                found
            }
        };
        for node in self.touched.drain(..) {
            self.label[node.index()] = NONE;
            self.is_fresh[node.index()] = false;
        }
        self.fresh.clear();
        self.joins.clear();
        self.exits.clear();
        (found, looked)
    }

    fn propagate(&mut self, region: CycleId, order: &ModifiedPostOrder, branch: Node) -> End {
        let Some(inner) = self.cycles.innermost(branch) else { return End::Complete };
        // Whether no labelled block can be reached again without passing the branch.
        let mut is_local = true;
        for &s in self.cfg.successors(branch) {
            if !self.cycles.contains(inner, s) {
                is_local = false;
                self.add_exit(region, s);
            }
            self.follow(order, s, s.raw());
        }
        let mut checked = 0;
        let mut edges = self.cfg.successors(branch).len();
        while let Some(&number) = self.fresh.peek() {
            let node = order.order()[number as usize];
            let touched = &self.touched[checked..];
            is_local = is_local
                && touched.iter().all(|&t| {
                    self.cycles.contains(inner, t) && self.dom.strictly_dominates(branch, t)
                });
            checked = self.touched.len();
            if self.fresh.len() == 1 && is_local && !self.in_other_irreducible(node, branch) {
                return End::Met;
            }
            edges += 1 + self.cfg.successors(node).len();
            if edges > LIMIT {
                return End::Limit;
            }
            self.fresh.pop();
            self.is_fresh[node.index()] = false;
            is_local &= self.pass(region, order, inner, branch, node);
        }
        End::Complete
    }

    /// Whether a node is in an irreducible cycle that does not contain the branch.
    fn in_other_irreducible(&self, node: Node, branch: Node) -> bool {
        let inner = self.cycles.innermost(node);
        let other = inner.and_then(|c| self.cycles.outermost_without(c, branch));
        other.is_some_and(|c| !self.cycles.is_reducible(c))
    }

    /// Passes the label of a node on. Returns false if the label leaves the branch's innermost
    /// cycle.
    fn pass(
        &mut self,
        region: CycleId,
        order: &ModifiedPostOrder,
        inner: CycleId,
        branch: Node,
        node: Node,
    ) -> bool {
        let (cycles, cfg) = (self.cycles, self.cfg);
        let label = self.label[node.index()];
        let mut stays = true;
        let headed = cycles.innermost(node).filter(|&c| cycles.header(c) == node);
        let Some(cycle) = headed.filter(|&c| cycles.is_reducible(c)) else {
            if node != branch {
                for &s in cfg.successors(node) {
                    stays &= cycles.contains(inner, s);
                    self.follow(order, s, label);
                }
            }
            return stays;
        };
        let around_branch = cycles.contains(cycle, branch);
        for (_, exit) in cycles.exit_edges(cycle) {
            stays &= cycles.contains(inner, exit);
            if self.meet(order, exit, label) {
                self.joins.push(exit);
                if around_branch {
                    self.add_exit(region, exit);
                }
            }
        }
        stays
    }

    fn follow(&mut self, order: &ModifiedPostOrder, node: Node, label: u32) {
        if self.meet(order, node, label) {
            self.joins.push(node);
        }
    }

    /// Lets a label arrive at a node of the region. True when it meets another one there.
    fn meet(&mut self, order: &ModifiedPostOrder, node: Node, label: u32) -> bool {
        let Some(number) = order.number(node) else { return false };
        let old = self.label[node.index()];
        if old == label {
            return false;
        }
        if old != node.raw() && !std::mem::replace(&mut self.is_fresh[node.index()], true) {
            self.fresh.push(number);
        }
        if old == NONE {
            self.label[node.index()] = label;
            self.touched.push(node);
            return false;
        }
        self.label[node.index()] = node.raw();
        true
    }

    fn add_exit(&mut self, region: CycleId, node: Node) {
        if self.cycles.contains(region, node) {
            self.exits.push(node);
        }
    }

    /// Joins, unreliable cycles and left cycles within the region.
    fn inside(&mut self, region: CycleId, branch: Node) -> Vec<Consequence> {
        let cycles = self.cycles;
        let Some(inner) = cycles.innermost(branch) else { return Vec::new() };
        let mut found = Vec::new();
        for &join in &self.joins {
            found.push(match unreliable_cycle(cycles, self.dom, branch, join) {
                Some(cycle) => Consequence::Assume(cycle),
                None => Consequence::Join(join),
            });
        }
        for cycle in cycles.ancestors(inner).take_while(|&c| c != region) {
            if !cycles.is_reducible(cycle) {
                let header = self.label[cycles.header(cycle).index()];
                // `outside` handles the edges out of the region one by one.
                let differs =
                    |to: &Node| cycles.contains(region, *to) && self.label[to.index()] != header;
                let exits = cycles.exit_edges(cycle).map(|(_, to)| to).filter(differs);
                self.exits.extend(exits);
            }
        }
        for &exit in &self.exits {
            if let Some(left) = cycles.outermost_without(inner, exit) {
                found.push(Consequence::LiveOut(left));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Adds what becomes unreliable because other hierarchies have other headers.
    fn by_other_hierarchies(
        &mut self,
        region: CycleId,
        candidates: &[Candidate],
        branch: Node,
        found: &mut Vec<Consequence>,
    ) {
        let (cfg, dom, cycles) = (self.cfg, self.dom, self.cycles);
        let around_branch: Vec<&Candidate> = candidates
            .iter()
            .filter(|c| c.may_contain(branch) && !dom.strictly_dominates(branch, c.node))
            .collect();
        for &join in &self.joins {
            if dom.strictly_dominates(branch, join) {
                continue;
            }
            // A cycle that every hierarchy has contains the smallest cycle around both.
            let common = cycles.common(branch, join);
            let fixed = common.and_then(|c| {
                let within = cycles.ancestors(c).take_while(|&c| c != region);
                within.into_iter().find(|&c| is_in_every_hierarchy(cycles, candidates, c))
            });
            if fixed.is_some() && fixed == common {
                continue;
            }
            let inside = |n: Node| cycles.contains(region, n) && n != branch;
            self.reach.from(join, inside, |n| cfg.predecessors(n));
            for candidate in &around_branch {
                let header = candidate.node;
                if header != branch
                    && header != join
                    && self.label[header.index()] != NONE
                    && candidate.may_contain(join)
                    && fixed.is_none_or(|c| cycles.contains(c, header))
                    && self.reach.has(header)
                    && !dom.strictly_dominates(header, join)
                {
                    found
                        .push(Consequence::Assume(self.smallest_around(region, branch, candidate)));
                }
            }
        }
        for candidate in &around_branch {
            let header = self.label[candidate.node.index()];
            if header == NONE {
                continue;
            }
            let Some(component) = &candidate.component else { continue };
            let differs = |from: &Node| {
                let from = *from;
                let mut out = cfg.successors(from).iter();
                out.any(|&to| {
                    let label = if from == branch { to.raw() } else { self.label[from.index()] };
                    component.binary_search(&to).is_err() && label != NONE && label != header
                })
            };
            if component.iter().any(differs) {
                let cycle = self.smallest_around(region, branch, candidate);
                let is_own = cycles.blocks(cycle).len() == component.len();
                found.push(match is_own {
                    true => Consequence::LiveOut(cycle),
                    false => Consequence::Assume(cycle),
                });
            }
        }
        // `outside` handles the exits of the whole region one by one.
        found.sort_unstable();
        found.dedup();
    }

    /// The smallest cycle of this hierarchy around the branch that contains the candidate's
    /// component.
    fn smallest_around(&self, region: CycleId, branch: Node, candidate: &Candidate) -> CycleId {
        let (Some(component), Some(inner)) = (&candidate.component, self.cycles.innermost(branch))
        else {
            return region;
        };
        let contains = |c: &CycleId| component.iter().all(|n| self.cycles.contains(*c, *n));
        self.cycles.ancestors(inner).find(contains).unwrap_or(region)
    }

    /// Adds the consequences outside of the region of the labels on the edges that leave it.
    /// Returns the nodes that the search looked at.
    fn outside(
        &mut self,
        wave: &mut Wave<'a>,
        region: CycleId,
        candidates: &[Candidate],
        branch: Node,
        found: &mut Vec<Consequence>,
    ) -> Footprint {
        let (cycles, graph) = (self.cycles, self.graph);
        let header = self.label[cycles.header(region).index()];
        let whole = candidates
            .iter()
            .filter(|c| c.component.is_none() && !self.dom.strictly_dominates(branch, c.node));
        let headers: Vec<u32> = whole.map(|c| self.label[c.node.index()]).collect();
        let differs =
            |label: u32| label != header || headers.iter().any(|&h| h != NONE && h != label);
        let position = graph.interval(graph.representative(branch)).0;
        let mut edges = Vec::new();
        let mut unlabelled = Vec::new();
        let left = |from, to| {
            let edge = graph.leaving.find(position, from, to);
            Consequence::LiveOut(edge.map_or(region, |edge| graph.leaving.owner(edge)))
        };
        for (i, (from, to)) in cycles.exit_edges(region).enumerate() {
            let own = OWN_LABEL + i as u32;
            let Some(label) = self.edge_label(region, branch, from, own) else {
                unlabelled.push((from, to));
                continue;
            };
            if differs(label) {
                found.push(left(from, to));
            }
            edges.push((from, to, label));
        }
        // A block that no label reaches is, for LLVM, not reached from the header's meeting point.
        unlabelled.retain(|edge| edges.iter().all(|other| other.1 != edge.1));
        found.extend(unlabelled.into_iter().map(|(from, to)| left(from, to)));
        found.sort_unstable();
        found.dedup();
        if edges.iter().all(|edge| edge.2 == edges[0].2) {
            return Footprint::NOTHING;
        }
        edges.sort_unstable();
        let (outside, looked) = wave.separate(cycles.parent(region), edges);
        found.extend_from_slice(outside);
        looked
    }

    /// The label on an edge out of the region; `own` if the edge starts at the branch or different
    /// labels arrive there. `None` if no label arrives.
    fn edge_label(&self, region: CycleId, branch: Node, from: Node, own: u32) -> Option<u32> {
        let mut label = match self.label[from.index()] {
            _ if from == branch => Some(own),
            NONE => None,
            label => Some(label),
        };
        let cycles = self.cycles;
        let inner = cycles.innermost(from)?;
        for cycle in cycles.ancestors(inner).take_while(|&c| c != region) {
            if cycles.is_reducible(cycle) {
                let round = self.label[cycles.header(cycle).index()];
                match label {
                    _ if round == NONE => {}
                    None => label = Some(round),
                    Some(known) if known == round => {}
                    Some(_) => label = Some(own),
                }
            }
        }
        label
    }
}

/// Labels of single edges start here, above those of blocks.
const OWN_LABEL: u32 = 1 << 30;
