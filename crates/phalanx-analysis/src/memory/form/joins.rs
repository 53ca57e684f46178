//! The version of a variable with which each block begins: the second level of the [form](super).
//!
//! # What
//!
//! On this level a block defines a variable or does not. Which of its instructions is the last
//! definition does not matter to other blocks: they see the version *at the end of the block*. So
//! the version at the start of a block is that at function entry, the phi of a block, or the end of
//! a block.
//!
//! ```text
//! a: store, store   ; defines the variable
//! b:                ; begins with End(a)
//! c: store          ; begins with End(a)
//! d: load           ; joins b and c: begins with Phi(d)
//! ```
//!
//! # How
//!
//! Phis are placed at the iterated dominance frontier of the defining blocks (Cytron and others,
//! 1991). With [`Pruning::Live`] dead phis are dropped. No definition replaces all of a variable,
//! so a phi is live if a block with a use can be reached from it. Versions are then passed down the
//! dominator tree: a block without a phi begins with the version with which its immediate dominator
//! ends.
//!
//! The result depends only on the graph and on which blocks use and define the variable. After an
//! edit it is [repaired](repair).
//!
//! **Invariants.** Nothing is stored for a variable without definitions. Only reachable blocks have
//! phis; phis are sorted by block. A block whose phi is dropped begins with [`Start::Entry`], which
//! no use reads. The table `start` still contains the dropped phi, and the set `dropped` marks it.
//! So what is stored for other blocks does not depend on uses.
//!
//! **Complexity.** O(blocks + edges), for each variable.

mod repair;

use std::sync::OnceLock;

use phalanx_graph::{BitSet, Cfg, DomTree, DominanceFrontier, Node};

use super::rows::Rows;
use crate::memory::ssa::{Pruning, Search};

/// The version with which a block begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Start {
    /// The version at function entry.
    #[default]
    Entry,
    /// The version that the phi of a block makes.
    Phi(Node),
    /// The version that the last definition of a block makes.
    End(Node),
}

/// A reader of a version outside the block that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taker {
    /// A block that begins with it and touches the variable.
    Block(Node),
    /// The phi of a block.
    Phi(Node),
}

/// The graph of a function, and its dominance frontiers, which are computed at the first use.
pub(super) struct Graph<'a> {
    pub(super) cfg: &'a Cfg,
    pub(super) dom: &'a DomTree,
    frontier: Option<DominanceFrontier>,
}

impl<'a> Graph<'a> {
    pub(super) fn new((cfg, dom): (&'a Cfg, &'a DomTree)) -> Self {
        Graph { cfg, dom, frontier: None }
    }
}

/// The versions of one variable at the starts of blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Joins {
    /// By block, as if no phi were dropped.
    start: Vec<Start>,
    /// Blocks whose phi is dropped. Empty with [`Pruning::None`].
    dropped: BitSet,
    /// Blocks whose phi is kept, each with the end of its predecessors in `preds`.
    phis: Vec<(Node, u32)>,
    /// The distinct predecessors of each block in `phis`, sorted.
    preds: Vec<Node>,
    /// Blocks that define the variable.
    defining: BitSet,
    /// Blocks that use or define the variable. Empty with [`Pruning::None`].
    touched: BitSet,
    /// The readers of each version. Computed from the other fields at the first use.
    takers: OnceLock<Takers>,
}

impl PartialEq for Joins {
    fn eq(&self, other: &Self) -> bool {
        (&self.start, &self.dropped, &self.phis, &self.preds, &self.defining, &self.touched)
            == (
                &other.start,
                &other.dropped,
                &other.phis,
                &other.preds,
                &other.defining,
                &other.touched,
            )
    }
}

impl Eq for Joins {}

impl Joins {
    pub(super) fn new(graph: &mut Graph<'_>, rows: &Rows, variable: u8, pruning: Pruning) -> Self {
        let (cfg, dom) = (graph.cfg, graph.dom);
        let bit = 1u8 << variable;
        let (mut defining, mut using) = (BitSet::new(rows.len()), Vec::new());
        let mut touched = BitSet::new(if pruning == Pruning::Live { rows.len() } else { 0 });
        let mut definitions = Vec::new();
        let mut is_defined = false;
        for (block, row) in rows.iter() {
            let [uses, defines] = [row.does.uses, row.does.defines].map(|set| set & bit != 0);
            if uses {
                using.push(block);
            }
            if defines {
                is_defined = true;
                defining.insert(block.index());
                // No edge leads to the entry, so its dominance frontier is empty.
                if block != dom.root() {
                    definitions.push(block);
                }
            }
            if (uses || defines) && pruning == Pruning::Live {
                touched.insert(block.index());
            }
        }
        if !is_defined {
            return Self::default();
        }
        let mut places = Vec::new();
        if !definitions.is_empty() {
            let frontier = graph.frontier.get_or_insert_with(|| DominanceFrontier::new(cfg, dom));
            let mut search = Search::new(cfg.node_count());
            places = search.iterated(frontier, dom, definitions.iter().copied());
        }
        let mut start = vec![Start::Entry; rows.len()];
        places.iter().for_each(|&block| start[block.index()] = Start::Phi(block));
        for &block in dom.preorder() {
            if start[block.index()] == Start::Phi(block) {
                continue;
            }
            start[block.index()] = match dom.idom(block) {
                None => Start::Entry,
                Some(above) if defining.contains(above.index()) => Start::End(above),
                Some(above) => start[above.index()],
            };
        }
        let dropped = match pruning {
            Pruning::Live => dropped(cfg, &start, &using),
            Pruning::None => BitSet::default(),
        };
        let mut joins = Self { start, dropped, defining, touched, ..Self::default() };
        joins.list_phis(cfg);
        joins
    }

    /// Lists all phis that are not dropped.
    fn list_phis(&mut self, cfg: &Cfg) {
        let all = self.start.iter().enumerate().map(|(at, start)| (Node::new(at), start));
        let kept = all.filter(|(block, start)| {
            **start == Start::Phi(*block) && !self.dropped.contains(block.index())
        });
        (self.phis, self.preds) = (Vec::new(), Vec::new());
        let mut row = Vec::new();
        for (block, _) in kept {
            push_phi((&mut self.phis, &mut self.preds), cfg, block, &mut row);
        }
    }

    #[inline]
    pub(super) fn start(&self, block: Node) -> Start {
        match self.start.get(block.index()) {
            Some(Start::Phi(block)) if self.dropped.contains(block.index()) => Start::Entry,
            start => start.copied().unwrap_or_default(),
        }
    }

    /// Blocks with a phi, in order.
    pub(super) fn phis(&self) -> impl ExactSizeIterator<Item = Node> + '_ {
        self.phis.iter().map(|phi| phi.0)
    }

    /// The distinct predecessors of a block that has a phi, sorted.
    pub(super) fn preds(&self, block: Node) -> Option<&[Node]> {
        let at = self.phis.binary_search_by_key(&block, |phi| phi.0).ok()?;
        let first = at.checked_sub(1).map_or(0, |before| self.phis[before].1);
        Some(&self.preds[first as usize..self.phis[at].1 as usize])
    }

    /// The readers of a version outside its block. O(blocks + edges) the first time.
    pub(super) fn takers(&self, version: Start) -> &[Taker] {
        self.takers.get_or_init(|| Takers::new(self)).of(version)
    }

    /// The version with which a block ends.
    #[inline]
    pub(super) fn end(&self, block: Node) -> Start {
        match self.defining.contains(block.index()) {
            true => Start::End(block),
            false => self.start(block),
        }
    }
}

/// Adds a phi to a list of them, with its predecessors.
fn push_phi(
    (phis, preds): (&mut Vec<(Node, u32)>, &mut Vec<Node>),
    cfg: &Cfg,
    block: Node,
    row: &mut Vec<Node>,
) {
    row.clear();
    row.extend_from_slice(cfg.predecessors(block));
    row.sort_unstable();
    row.dedup();
    preds.extend_from_slice(row);
    phis.push((block, preds.len() as u32));
}

/// The blocks with a phi from which no block in `using` can be reached.
fn dropped(cfg: &Cfg, start: &[Start], using: &[Node]) -> BitSet {
    let mut dropped = BitSet::new(start.len());
    let mut is_live = None;
    for (at, start) in start.iter().enumerate() {
        if *start == Start::Phi(Node::new(at)) {
            let is_live = is_live.get_or_insert_with(|| before(cfg, using));
            if !is_live.contains(at) {
                dropped.insert(at);
            }
        }
    }
    dropped
}

/// Blocks from which one of `blocks` can be reached, themselves included.
fn before(cfg: &Cfg, blocks: &[Node]) -> BitSet {
    let mut found = BitSet::new(cfg.node_count());
    let mut blocks = blocks.to_vec();
    blocks.iter().for_each(|block| _ = found.insert(block.index()));
    while let Some(block) = blocks.pop() {
        let preds = cfg.predecessors(block).iter();
        blocks.extend(preds.filter(|pred| found.insert(pred.index())));
    }
    found
}

/// Readers by version: the inverse of `start`.
#[derive(Clone, Debug)]
struct Takers {
    /// The first entry of each version in `list`, and then the length of `list`. Each block has two
    /// versions: its phi and its end.
    first: Vec<u32>,
    list: Vec<Taker>,
}

impl Takers {
    fn new(joins: &Joins) -> Self {
        let mut found: Vec<(usize, Taker)> = Vec::new();
        for block in joins.touched.iter().map(Node::new) {
            found.extend(key(joins.start(block)).map(|key| (key, Taker::Block(block))));
        }
        for block in joins.phis() {
            let preds = joins.preds(block).unwrap_or_default().iter();
            let versions = preds.filter_map(|pred| key(joins.end(*pred)));
            found.extend(versions.map(|key| (key, Taker::Phi(block))));
        }
        let mut first = vec![0u32; 2 * joins.start.len() + 1];
        found.iter().for_each(|(key, _)| first[key + 1] += 1);
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        found.sort_by_key(|(key, _)| *key);
        Takers { first, list: found.into_iter().map(|(_, taker)| taker).collect() }
    }

    fn of(&self, version: Start) -> &[Taker] {
        let Some(key) = key(version) else { return &[] };
        match (self.first.get(key), self.first.get(key + 1)) {
            (Some(&first), Some(&end)) => &self.list[first as usize..end as usize],
            _ => &[],
        }
    }
}

fn key(version: Start) -> Option<usize> {
    match version {
        Start::Entry => None,
        Start::Phi(block) => Some(2 * block.index()),
        Start::End(block) => Some(2 * block.index() + 1),
    }
}
