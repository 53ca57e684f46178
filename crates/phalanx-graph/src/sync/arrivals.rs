//! The slow twin of sync dependence for branches whose cycles are all reducible.
//!
//! Everything that reaches a block after a branch `B` *arrives* over an edge, and an [`Arrival`]
//! says what is known about the threads that come that way:
//!
//! - **label**: the last place where they were all together: a successor of `B` or a block where
//!   different labels met. Threads with equal labels have met since `B`.
//! - **tags**: which of the cycles `D1` (innermost) .. `Dk` around `B` they have gone round since
//!   `B`; of each path only the outermost one, 0 for none.
//! - **mixed**: the `j` for which threads in different iterations of `Dj` have met already.
//!
//! One pass in decreasing modified post-order; a cycle that does not contain `B` is one node. At a
//! block that different labels reach, `j` becomes mixed when two of them come with different tags,
//! where tags below `j` count as "same iteration of `Dj`". At the header of `Di` all threads that
//! go round meet, and every exit **edge** of `Di` gets an arrival with the header's label and the
//! tag `i`. An irreducible cycle that different labels reach is assumed divergent: threads leave
//! each of its blocks apart.
//!
//! This is written for readers, with sets and maps, quadratic and worse. Property tests compare
//! [`SyncDependence`](crate::sync::SyncDependence) with it.

use std::collections::{BTreeMap, BTreeSet};

use crate::cfg::Cfg;
use crate::cycles::{CycleId, Cycles};
use crate::node::Node;
use crate::sync::order::ModifiedPostOrder;

/// Where threads were last together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// They took the branch's edge to this block.
    Successor(Node),
    /// They met in this block.
    Join(Node),
    /// They left an assumed-divergent cycle from this block.
    LeftFrom(Node),
}

/// What is known about threads that cross an edge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// Where they were last together.
    pub label: Label,
    /// Outermost cycles gone round since the branch, by position in the chain, 1-based; 0 for none.
    pub tags: BTreeSet<usize>,
    /// Cycles of the chain of which different iterations have met.
    pub mixed: BTreeSet<usize>,
}

/// What is known about threads in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Where they were last together; `None` inside a cycle that is assumed divergent.
    pub label: Option<Label>,
    /// See [`Arrival::mixed`].
    pub mixed: BTreeSet<usize>,
}

/// Everything about one branch.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Arrivals {
    /// The cycles around the branch, from the inside out.
    pub chain: Vec<CycleId>,
    /// Arrivals by edge.
    pub edges: BTreeMap<(Node, Node), BTreeSet<Arrival>>,
    /// Blocks that different labels reach.
    pub joins: BTreeSet<Node>,
    /// Irreducible cycles that different labels reach.
    pub assumed: BTreeSet<CycleId>,
    /// By block reached.
    pub states: BTreeMap<Node, State>,
}

/// Whether some cycle around the branch is irreducible, so that [`arrivals`] does not apply.
#[must_use]
pub fn in_irreducible_cycle(cycles: &Cycles, branch: Node) -> bool {
    cycles.innermost(branch).is_some_and(|c| !cycles.is_canonical(c))
}

/// A node of the graph in which cycles that do not contain the branch are single nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Block(Node),
    Cycle(CycleId),
}

/// Computes the arrivals for the branch that ends a block.
///
/// The cycles around the branch must be reducible, see [`in_irreducible_cycle`].
#[must_use]
pub fn arrivals(cfg: &Cfg, cycles: &Cycles, order: &ModifiedPostOrder, branch: Node) -> Arrivals {
    let chain: Vec<CycleId> =
        cycles.innermost(branch).map(|c| cycles.ancestors(c).collect()).unwrap_or_default();
    let mut pass = Pass {
        cfg,
        cycles,
        order,
        branch,
        incoming: BTreeMap::new(),
        fresh: BTreeMap::new(),
        result: Arrivals { chain, ..Arrivals::default() },
    };
    if !cfg.is_branch(branch) || order.number(branch).is_none() {
        return pass.result;
    }
    for &s in cfg.successors(branch) {
        let arrival = Arrival {
            label: Label::Successor(s),
            tags: BTreeSet::from([0]),
            mixed: BTreeSet::new(),
        };
        pass.push(branch, s, arrival);
    }
    while let Some((_, part)) = pass.fresh.pop_last() {
        pass.visit(part);
    }
    pass.result
}

struct Pass<'a> {
    cfg: &'a Cfg,
    cycles: &'a Cycles,
    order: &'a ModifiedPostOrder,
    branch: Node,
    /// Labelled edges into each part.
    incoming: BTreeMap<Part, BTreeSet<(Node, Node)>>,
    fresh: BTreeMap<u32, Part>,
    result: Arrivals,
}

impl Pass<'_> {
    fn part(&self, block: Node) -> Part {
        let outermost = self
            .cycles
            .innermost(block)
            .and_then(|c| self.cycles.outermost_without(c, self.branch));
        outermost.map_or(Part::Block(block), Part::Cycle)
    }

    fn push(&mut self, from: Node, to: Node, arrival: Arrival) {
        let part = self.part(to);
        let first = match part {
            Part::Block(block) => block,
            Part::Cycle(cycle) => self.cycles.header(cycle),
        };
        let Some(number) = self.order.number(first) else { return };
        self.result.edges.entry((from, to)).or_default().insert(arrival);
        self.incoming.entry(part).or_default().insert((from, to));
        self.fresh.insert(number, part);
    }

    fn visit(&mut self, part: Part) {
        let all: Vec<Arrival> = self.incoming[&part]
            .iter()
            .flat_map(|edge| self.result.edges[edge].iter().cloned())
            .collect();
        let labels: BTreeSet<Label> = all.iter().map(|a| a.label).collect();
        let tags: BTreeSet<usize> = all.iter().flat_map(|a| a.tags.iter().copied()).collect();
        let mut mixed: BTreeSet<usize> = all.iter().flat_map(|a| a.mixed.iter().copied()).collect();
        for j in 1..=self.result.chain.len() {
            if all.iter().any(|a| all.iter().any(|b| iterations_differ(a, b, j))) {
                mixed.insert(j);
            }
        }
        match part {
            Part::Block(block) => self.visit_block(block, &labels, &tags, &mixed),
            Part::Cycle(cycle) => self.visit_cycle(cycle, &labels, &tags, &mixed),
        }
    }

    fn visit_block(
        &mut self,
        block: Node,
        labels: &BTreeSet<Label>,
        tags: &BTreeSet<usize>,
        mixed: &BTreeSet<usize>,
    ) {
        let label = self.meet(block, labels);
        self.result.states.insert(block, State { label: Some(label), mixed: mixed.clone() });
        let round = self.result.chain.iter().position(|&c| self.cycles.header(c) == block);
        let cycles = self.cycles;
        if let Some(i) = round {
            let arrival = Arrival { label, tags: BTreeSet::from([i + 1]), mixed: BTreeSet::new() };
            for (from, to) in cycles.exit_edges(self.result.chain[i]) {
                self.push(from, to, arrival.clone());
            }
            return;
        }
        let cfg = self.cfg;
        for &s in cfg.successors(block) {
            self.push(block, s, Arrival { label, tags: tags.clone(), mixed: mixed.clone() });
        }
    }

    fn visit_cycle(
        &mut self,
        cycle: CycleId,
        labels: &BTreeSet<Label>,
        tags: &BTreeSet<usize>,
        mixed: &BTreeSet<usize>,
    ) {
        let cycles = self.cycles;
        let together = if cycles.is_reducible(cycle) {
            Some(self.meet(cycles.header(cycle), labels))
        } else if labels.len() == 1 {
            labels.first().copied()
        } else {
            self.result.assumed.insert(cycle);
            None
        };
        for &block in cycles.blocks(cycle) {
            self.result.states.insert(block, State { label: together, mixed: mixed.clone() });
        }
        for (from, to) in cycles.exit_edges(cycle) {
            let label = together.unwrap_or(Label::LeftFrom(from));
            self.push(from, to, Arrival { label, tags: tags.clone(), mixed: mixed.clone() });
        }
    }

    fn meet(&mut self, block: Node, labels: &BTreeSet<Label>) -> Label {
        if labels.len() > 1 {
            self.result.joins.insert(block);
            return Label::Join(block);
        }
        labels.first().copied().unwrap_or(Label::Join(block))
    }
}

/// The tag as seen by `Dj`: tags below `j` count as the same iteration.
#[must_use]
pub fn effective(tag: usize, j: usize) -> usize {
    if tag >= j { tag } else { 0 }
}

/// Whether threads of the two arrivals were not together since the branch and may be in different
/// iterations of `Dj`.
#[must_use]
pub fn iterations_differ(a: &Arrival, b: &Arrival, j: usize) -> bool {
    a.label != b.label
        && a.tags.iter().any(|&s| b.tags.iter().any(|&t| effective(s, j) != effective(t, j)))
}
