//! Contraction of irreducible regions: which node stands for each block, and the contracted graph.

use crate::cfg::Cfg;
use crate::cycles::{CycleId, Cycles};
use crate::dfs::NONE;
use crate::node::Node;
use crate::sync::reduced::Rows;

/// Which node stands for each block.
pub(super) struct Contraction {
    pub(super) representative: Vec<u32>,
    pub(super) inner: Vec<u32>,
}

impl Contraction {
    pub(super) fn new(cfg: &Cfg, cycles: &Cycles) -> Self {
        let n = cfg.node_count();
        let innermost = |node: Node| cycles.innermost(node).map_or(NONE, CycleId::raw);
        if cycles.all_reducible() {
            return Self { representative: Vec::new(), inner: Vec::new() };
        }
        let regions = outermost_irreducible(cycles);
        let mut representative = Vec::with_capacity(n);
        let mut inner = Vec::with_capacity(n);
        for node in cfg.nodes() {
            match cycles.innermost(node).and_then(|c| regions[c.index()]) {
                Some(region) => {
                    representative.push(cycles.header(region).raw());
                    inner.push(cycles.parent(region).map_or(NONE, CycleId::raw));
                }
                None => {
                    representative.push(node.raw());
                    inner.push(innermost(node));
                }
            }
        }
        Self { representative, inner }
    }

    /// The graph with regions contracted; `None` if there are none. Blocks of regions keep their
    /// numbers and become unreachable.
    pub(super) fn quotient(&self, cfg: &Cfg) -> Option<Cfg> {
        if self.representative.is_empty() {
            return None;
        }
        let standing = |node: Node| Node::from_raw(self.representative[node.index()]);
        let mut edges: Vec<(u32, u32)> = Vec::with_capacity(cfg.edge_count());
        for from in cfg.nodes() {
            for &to in cfg.successors(from) {
                let (a, b) = (standing(from), standing(to));
                let inside = a == b && !(a == from && b == to);
                let loop_of_region = a == b && self.is_region(a, cfg);
                if !inside && !loop_of_region {
                    edges.push((a.raw(), b.raw()));
                }
            }
        }
        let rows = Rows::from_pairs(cfg.node_count(), &edges);
        let lists = (0..cfg.node_count())
            .map(|i| rows.row(i).iter().map(|&to| Node::from_raw(to)).collect::<Vec<_>>());
        Some(Cfg::new(standing(cfg.entry()), lists))
    }

    /// Whether a node stands for other blocks than itself.
    fn is_region(&self, node: Node, cfg: &Cfg) -> bool {
        // A region has at least two blocks, and its header has a successor in it.
        let mut near = cfg.successors(node).iter().chain(cfg.predecessors(node));
        near.any(|s| *s != node && self.representative[s.index()] == node.raw())
    }
}

/// By cycle: the outermost irreducible cycle around it, itself included.
pub(crate) fn outermost_irreducible(cycles: &Cycles) -> Vec<Option<CycleId>> {
    let mut regions: Vec<Option<CycleId>> = Vec::with_capacity(cycles.len());
    for cycle in cycles.iter() {
        let above = cycles.parent(cycle).and_then(|up| regions[up.index()]);
        regions.push(above.or_else(|| (!cycles.is_reducible(cycle)).then_some(cycle)));
    }
    regions
}

/// Whether a block is in an irreducible region.
pub(crate) fn is_in_region(cycles: &Cycles, block: Node) -> bool {
    let mut around = std::iter::successors(cycles.innermost(block), |&cycle| cycles.parent(cycle));
    around.any(|cycle| !cycles.is_reducible(cycle))
}
