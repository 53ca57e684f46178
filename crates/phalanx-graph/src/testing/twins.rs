//! The facts of this crate from their definitions: slow, and meant to be obviously right.
//!
//! Nothing here shares code with the algorithms under test. Sets are ordered sets of plain node
//! numbers. Costs range from quadratic to worse; use graphs of up to a few hundred nodes.

use std::collections::{BTreeMap, BTreeSet};

use crate::cfg::Cfg;
use crate::node::Node;

/// A set of nodes.
pub type Set = BTreeSet<Node>;

/// The nodes that paths from `starts` reach without visiting `without`.
#[must_use]
pub fn reached<'a>(
    starts: impl IntoIterator<Item = Node>,
    without: Option<Node>,
    mut successors: impl FnMut(Node) -> &'a [Node],
) -> Set {
    let mut seen = Set::new();
    let mut work: Vec<Node> = starts.into_iter().collect();
    while let Some(node) = work.pop() {
        if Some(node) != without && seen.insert(node) {
            work.extend(successors(node));
        }
    }
    seen
}

/// The nodes that paths from the entry reach.
#[must_use]
pub fn reachable(cfg: &Cfg) -> Set {
    reached([cfg.entry()], None, |n| cfg.successors(n))
}

/// A depth-first search as one writes it on a blackboard.
#[derive(Clone, Debug, Default)]
pub struct TwinDfs {
    /// Reachable nodes in the order of first visits.
    pub preorder: Vec<Node>,
    /// Reachable nodes in the order of last visits.
    pub postorder: Vec<Node>,
    /// By node, the nodes of its subtree of the search tree.
    pub subtrees: BTreeMap<Node, Set>,
}

impl TwinDfs {
    /// Searches from the entry. Recursive: for small graphs.
    #[must_use]
    pub fn new(cfg: &Cfg, last_successor_first: bool) -> Self {
        let mut dfs = Self::default();
        dfs.visit(cfg, cfg.entry(), last_successor_first);
        dfs
    }

    fn visit(&mut self, cfg: &Cfg, node: Node, last_first: bool) {
        let met_before = self.preorder.len();
        self.preorder.push(node);
        let mut successors = cfg.successors(node).to_vec();
        if last_first {
            successors.reverse();
        }
        for s in successors {
            if !self.preorder.contains(&s) {
                self.visit(cfg, s, last_first);
            }
        }
        self.postorder.push(node);
        self.subtrees.insert(node, self.preorder[met_before..].iter().copied().collect());
    }
}

/// By node, the nodes that it dominates: those that cannot be reached any more when it is removed.
/// Unreachable nodes are dominated by all.
#[must_use]
pub fn dominated(cfg: &Cfg) -> Vec<Set> {
    cfg.nodes()
        .map(|a| {
            let rest = reached([cfg.entry()], Some(a), |n| cfg.successors(n));
            let reachable = reachable(cfg);
            cfg.nodes()
                .filter(|b| !reachable.contains(b) || (!rest.contains(b) && reachable.contains(&a)))
                .chain([a])
                .collect()
        })
        .collect()
}

/// By node, the nodes that it post-dominates when `roots` lead to the virtual exit: those that
/// reach no root any more when it is removed.
#[must_use]
pub fn post_dominated(cfg: &Cfg, roots: &[Node]) -> Vec<Set> {
    cfg.nodes()
        .map(|a| {
            let rest = reached(roots.iter().copied(), Some(a), |n| cfg.predecessors(n));
            cfg.nodes().filter(|b| !rest.contains(b)).collect()
        })
        .collect()
}

/// The closest strict dominator by node, given what each node dominates.
#[must_use]
pub fn closest(dominated: &[Set], node: Node) -> Option<Node> {
    let strict = |a: usize| a != node.index() && dominated[a].contains(&node);
    // The closest is the one that all others dominate.
    (0..dominated.len())
        .filter(|&a| strict(a))
        .find(|&a| {
            (0..dominated.len())
                .filter(|&o| strict(o))
                .all(|o| dominated[o].contains(&Node::new(a)))
        })
        .map(Node::new)
}

/// The dominance frontier of a node: nodes with a reachable predecessor that it dominates, not
/// strictly dominated by it.
#[must_use]
pub fn frontier(cfg: &Cfg, dominated: &[Set], x: Node) -> Set {
    let reachable = reachable(cfg);
    let own = &dominated[x.index()];
    reachable
        .iter()
        .copied()
        .filter(|_| reachable.contains(&x))
        .filter(|&y| {
            let reaches =
                cfg.predecessors(y).iter().any(|p| reachable.contains(p) && own.contains(p));
            let strictly = x != y && own.contains(&y);
            reaches && !strictly
        })
        .collect()
}

/// The least set that contains the images, under the given map, of `starts` and of the set itself.
#[must_use]
pub fn closure(starts: &Set, image: impl Fn(Node) -> Set) -> Set {
    let mut all = Set::new();
    loop {
        let more: Set = starts.iter().chain(&all).flat_map(|&n| image(n)).collect();
        if more.is_subset(&all) {
            return all;
        }
        all.extend(more);
    }
}

/// The edges that `x` is control dependent on: from a reachable branch `b` to `a` such that `x`
/// post-dominates `a` and does not strictly post-dominate `b`.
#[must_use]
pub fn controlling_edges(cfg: &Cfg, post_dominated: &[Set], x: Node) -> BTreeSet<(Node, Node)> {
    let own = &post_dominated[x.index()];
    let mut edges = BTreeSet::new();
    for b in reachable(cfg) {
        let targets: Set = cfg.successors(b).iter().copied().collect();
        for &a in targets.iter().filter(|_| targets.len() > 1) {
            if own.contains(&a) && (x == b || !own.contains(&b)) {
                edges.insert((b, a));
            }
        }
    }
    edges
}

/// A cycle as the definition describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TwinCycle {
    /// The entry that the search meets first.
    pub header: Node,
    /// All entries.
    pub entries: Set,
    /// All nodes, nested cycles included.
    pub blocks: Set,
    /// Edges that leave, parallel ones once.
    pub exit_edges: BTreeSet<(Node, Node)>,
    /// 1 at top level.
    pub depth: u32,
    /// Header of the parent.
    pub parent: Option<Node>,
}

/// The cycle hierarchy by header, for a depth-first preorder given as the list of reachable nodes.
#[must_use]
pub fn cycles(cfg: &Cfg, preorder: &[Node]) -> BTreeMap<Node, TwinCycle> {
    let reachable = reachable(cfg);
    let mut found = BTreeMap::new();
    let mut work = vec![(reachable.clone(), None, 1)];
    while let Some((nodes, parent, depth)) = work.pop() {
        for blocks in components(cfg, &nodes) {
            let entries: Set = blocks
                .iter()
                .copied()
                .filter(|&b| {
                    let outside = |p: &Node| reachable.contains(p) && !blocks.contains(p);
                    b == cfg.entry() || cfg.predecessors(b).iter().any(outside)
                })
                .collect();
            let Some(&header) = preorder.iter().find(|b| blocks.contains(b)) else { continue };
            let exit_edges = blocks
                .iter()
                .flat_map(|&b| cfg.successors(b).iter().map(move |&s| (b, s)))
                .filter(|(_, s)| !blocks.contains(s))
                .collect();
            let mut inside = blocks.clone();
            inside.remove(&header);
            work.push((inside, Some(header), depth + 1));
            found.insert(header, TwinCycle { header, entries, blocks, exit_edges, depth, parent });
        }
    }
    found
}

/// The maximal strongly connected subsets of `nodes` with at least one edge inside.
fn components(cfg: &Cfg, nodes: &Set) -> Vec<Set> {
    let inside = |n: Node| -> Vec<Node> {
        cfg.successors(n).iter().copied().filter(|s| nodes.contains(s)).collect()
    };
    // By node, what it reaches over at least one edge.
    let ahead: BTreeMap<Node, Set> = nodes
        .iter()
        .map(|&n| {
            let (mut seen, mut work) = (Set::new(), inside(n));
            while let Some(m) = work.pop() {
                if seen.insert(m) {
                    work.extend(inside(m));
                }
            }
            (n, seen)
        })
        .collect();
    let mut done = Set::new();
    let mut found = Vec::new();
    for &n in nodes {
        if !done.contains(&n) && ahead[&n].contains(&n) {
            let component: Set =
                ahead[&n].iter().copied().filter(|m| ahead[m].contains(&n)).collect();
            done.extend(&component);
            found.push(component);
        }
    }
    found
}

/// The post-dominator roots for the nodes that cannot reach a node without successors. Follows the
/// words of the convention in [`crate::postdom`], without its shortcuts.
#[must_use]
pub fn roots(cfg: &Cfg) -> Set {
    let mut roots: Vec<Node> = cfg.nodes().filter(|&n| cfg.successors(n).is_empty()).collect();
    let real = roots.len();
    while let Some(start) = {
        let done = reached(roots.iter().copied(), None, |n| cfg.predecessors(n));
        cfg.nodes().find(|n| !done.contains(n))
    } {
        let (mut met, mut work) = (Vec::new(), vec![start]);
        while let Some(n) = work.pop() {
            if !met.contains(&n) {
                met.push(n);
                let mut succs = cfg.successors(n).to_vec();
                succs.sort();
                work.extend(succs);
            }
        }
        roots.push(met[met.len() - 1]);
    }
    let reaches_other = |&root: &Node| {
        let ahead = reached([root], None, |n| cfg.successors(n));
        roots.iter().any(|&other| other != root && ahead.contains(&other))
    };
    let (exits, endless) = roots.split_at(real);
    exits.iter().chain(endless.iter().filter(|r| !reaches_other(r))).copied().collect()
}
