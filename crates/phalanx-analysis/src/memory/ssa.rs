//! Static single assignment form of memory variables.
//!
//! # What
//!
//! A *memory variable* stands for a set of locations. An instruction *uses* it (may read it), *may
//! define* it (may change some of it) or *must define* it (replaces all of it). Each definition
//! makes a new *version*; where different versions meet there is a *memory phi*. For every use and
//! definition, [`Ssa::reaching`] is the version before it.
//!
//! ```text
//! then:  store i32 1, ptr %x    ; must define x: version 1
//! else:  call void @f(ptr %x)   ; may define x: version 2, after liveOnEntry
//! join:                         ; memory phi of x: version 1 from then, version 2 from else
//!        %v = load i32, ptr %x  ; use of x: reaching version is the phi
//! ```
//!
//! This is the form of Chow and others, *Effective Representation of Aliases and Indirect Memory
//! Operations in SSA Form* (HSSA, 1996): a may-use is a mu, a may-definition a chi, whose second
//! operand is the version before it.
//!
//! # How
//!
//! Phis are placed at the iterated dominance frontiers of the definitions (Cytron and others,
//! 1991), and versions are named in one walk down the dominator tree. Variables of which every use
//! has a definition before it in its block get no phi at all (semi-pruned form: Briggs and others,
//! 1998). With [`Pruning::Live`] a last pass drops dead phis: those from which no use is reached
//! over phis and may-definitions. The result is the pruned form.
//!
//! **Invariants.** Phis are sorted by block and variable, and dense. A phi has an entry for each
//! distinct predecessor, sorted; the entry of an unreachable predecessor is [`Version::Entry`].
//! Events in unreachable blocks have [`Version::Entry`] before them.
//!
//! **Complexity.** O(blocks + edges + events + entries of all phis, dropped ones included). For
//! each variable, the visited part of the dominance frontiers comes on top, at most O(blocks +
//! edges).

mod disturbed;
mod divide;
mod joined;
mod sparse;
mod split;

use std::ops::Range;

use phalanx_graph::{Cfg, DomTree, DominanceFrontier, Node};
use rustc_hash::FxHashSet;

pub(super) use self::disturbed::Disturbed;
pub use self::disturbed::Graph;
pub(super) use self::divide::GroupNumber;
pub(super) use self::joined::{LEFT_OUT, Part};
pub use self::sparse::Frontiers;

/// What an instruction does to a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// May read it.
    Use,
    /// May change some of it.
    MayDef,
    /// Replaces all of it.
    MustDef,
}

/// One use or definition of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The variable.
    pub variable: u32,
    /// What happens to it.
    pub kind: EventKind,
}

/// The events of a function: by block, in the order of execution within each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// The first event of each block, up to the last block with events, and then the number of
    /// events.
    start: Vec<u32>,
    list: Vec<Event>,
}

impl Events {
    /// The events, and the number that each event of `by_block` got. `by_block` may list the blocks
    /// in any order; the events of one block are in the order of execution.
    #[must_use]
    pub fn new(blocks: usize, by_block: &[(Node, Event)]) -> (Self, Vec<u32>) {
        let mut start = vec![0u32; blocks + 1];
        for (block, _) in by_block {
            start[block.index() + 1] += 1;
        }
        for i in 0..blocks {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let nothing = Event { variable: 0, kind: EventKind::Use };
        let (mut list, mut place) = (vec![nothing; by_block.len()], Vec::new());
        for (block, event) in by_block {
            let at = &mut next[block.index()];
            list[*at as usize] = *event;
            place.push(*at);
            *at += 1;
        }
        trim(&mut start);
        (Self { start, list }, place)
    }

    /// Numbers of the events of a block.
    #[inline]
    #[must_use]
    pub fn of(&self, block: Node) -> Range<u32> {
        let at = |index: usize| self.start.get(index).or(self.start.last()).copied();
        at(block.index()).unwrap_or(0)..at(block.index() + 1).unwrap_or(0)
    }

    /// One event.
    #[inline]
    #[must_use]
    pub fn event(&self, number: u32) -> Event {
        self.list[number as usize]
    }

    /// The number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// Drops the blocks behind the last one with events, so that equality does not depend on the number
/// of blocks.
fn trim(start: &mut Vec<u32>) {
    while let [.., last, end] = start.as_slice()
        && last == end
    {
        start.pop();
    }
}

/// A version of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// The content at function entry: `liveOnEntry`.
    Entry,
    /// Made by the event with this number.
    Def(u32),
    /// Made by the phi with this number.
    Phi(u32),
}

/// A memory phi: different versions of a variable meet at the start of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPhi {
    /// The block at whose start they meet.
    pub block: Node,
    /// The variable.
    pub variable: u32,
    first: u32,
    end: u32,
}

/// Which phis are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruning {
    /// All phis at the iterated frontiers of definitions, used or not.
    None,
    /// Only phis from which some use is reached.
    Live,
}

/// Versions of variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ssa {
    reaching: Vec<Version>,
    phis: Vec<MemoryPhi>,
    incoming: Vec<(Node, Version)>,
}

impl Ssa {
    /// Computes the SSA form of variables `0..variables`.
    #[must_use]
    pub fn new(
        cfg: &Cfg,
        dom: &DomTree,
        events: &Events,
        variables: u32,
        pruning: Pruning,
    ) -> Self {
        let mut ssa = Self { reaching: vec![Version::Entry; events.len()], ..Self::default() };
        if variables == 0 {
            return ssa;
        }
        ssa.place(cfg, dom, events, variables, pruning);
        ssa.rename_all(cfg, dom, events, variables);
        if pruning == Pruning::Live {
            ssa.drop_dead(events);
        }
        ssa
    }

    /// The version before an event.
    #[inline]
    #[must_use]
    pub fn reaching(&self, event: u32) -> Version {
        self.reaching[event as usize]
    }

    /// All phis.
    #[must_use]
    pub fn phis(&self) -> &[MemoryPhi] {
        &self.phis
    }

    /// The version that comes in from each distinct predecessor, sorted by predecessor.
    #[must_use]
    pub fn incoming(&self, phi: &MemoryPhi) -> &[(Node, Version)] {
        &self.incoming[phi.first as usize..phi.end as usize]
    }

    /// The numbers of the phis of a block.
    #[must_use]
    pub fn phis_of(&self, block: Node) -> Range<usize> {
        let first = self.phis.partition_point(|phi| phi.block < block);
        let count = self.phis[first..].partition_point(|phi| phi.block == block);
        first..first + count
    }

    /// Replaces a predecessor in all phis of `join`; each phi keeps the version that came from it.
    /// Returns the numbers of these phis.
    pub(in crate::memory) fn come_from(
        &mut self,
        join: Node,
        (old, new): (Node, Node),
    ) -> Range<usize> {
        let phis = self.phis_of(join);
        for phi in &self.phis[phis.clone()] {
            let entries = &mut self.incoming[phi.first as usize..phi.end as usize];
            entries.iter_mut().filter(|(pred, _)| *pred == old).for_each(|entry| entry.0 = new);
            entries.sort_unstable_by_key(|(pred, _)| *pred);
        }
        phis
    }

    /// Sets the version before each must-definition to [`Version::Entry`]. No event reads that
    /// version. It would also make the form depend on the block of the event, since dead phis are
    /// dropped.
    pub(in crate::memory) fn forget_replaced(&mut self, events: &Events) {
        for (version, event) in self.reaching.iter_mut().zip(&events.list) {
            if event.kind == EventKind::MustDef {
                *version = Version::Entry;
            }
        }
    }

    /// Places phis with one entry per predecessor.
    fn place(
        &mut self,
        cfg: &Cfg,
        dom: &DomTree,
        events: &Events,
        variables: u32,
        pruning: Pruning,
    ) {
        let blocks = dom.preorder().iter().map(|&block| (block, events.of(block)));
        let definitions = Self::definitions(dom, events, blocks, variables, pruning);
        if !definitions.is_empty() {
            let frontier = DominanceFrontier::new(cfg, dom);
            let mut search = Search::new(cfg.node_count());
            self.put_phis(cfg, dom, &frontier, &mut search, &definitions);
        }
    }

    /// The defining blocks of each variable that may need phis, grouped by variable. `blocks` is in
    /// the preorder of the dominator tree.
    fn definitions(
        dom: &DomTree,
        events: &Events,
        blocks: impl Iterator<Item = (Node, Range<u32>)>,
        variables: u32,
        pruning: Pruning,
    ) -> Vec<(u32, Node)> {
        let count = variables as usize;
        let mut is_global = vec![pruning == Pruning::None; count];
        // The last block in which an event of the variable was seen, and in which a definition was.
        let mut defined_in = vec![u32::MAX; count];
        let mut definitions: Vec<(u32, Node)> = Vec::new();
        for (block, numbers) in blocks {
            for number in numbers {
                let Event { variable, kind } = events.event(number);
                let last = &mut defined_in[variable as usize];
                if kind != EventKind::MustDef && *last != block.raw() {
                    is_global[variable as usize] = true;
                }
                if kind != EventKind::Use && *last != block.raw() {
                    *last = block.raw();
                    definitions.push((variable, block));
                }
            }
        }
        // A definition in the entry block has the entry's (empty) frontier, since no edge leads
        // there: it needs no phi.
        definitions
            .retain(|(variable, block)| is_global[*variable as usize] && *block != dom.root());
        by_variable(&definitions, count)
    }

    /// Places phis at the iterated frontiers of the definitions, sorted by block and variable.
    fn put_phis(
        &mut self,
        cfg: &Cfg,
        dom: &DomTree,
        frontier: &DominanceFrontier,
        search: &mut Search,
        definitions: &[(u32, Node)],
    ) {
        let mut places: Vec<(Node, u32)> = Vec::new();
        for group in definitions.chunk_by(|a, b| a.0 == b.0) {
            let variable = group[0].0;
            let found = search.iterated(frontier, dom, group.iter().map(|(_, block)| *block));
            places.extend(found.into_iter().map(|block| (block, variable)));
        }
        places.sort_unstable();
        let mut row: Vec<Node> = Vec::new();
        for (block, variable) in places {
            row.clear();
            row.extend_from_slice(cfg.predecessors(block));
            row.sort_unstable();
            row.dedup();
            let first = self.incoming.len() as u32;
            self.incoming.extend(row.iter().map(|pred| (*pred, Version::Entry)));
            let end = self.incoming.len() as u32;
            self.phis.push(MemoryPhi { block, variable, first, end });
        }
    }

    fn rename_all(&mut self, cfg: &Cfg, dom: &DomTree, events: &Events, variables: u32) {
        let mut first_phi = vec![0u32; cfg.node_count() + 1];
        for phi in &self.phis {
            first_phi[phi.block.index() + 1] += 1;
        }
        for i in 0..cfg.node_count() {
            first_phi[i + 1] += first_phi[i];
        }
        let phis_of = |block: Node| first_phi[block.index()]..first_phi[block.index() + 1];
        let blocks = dom.preorder().iter().map(|&block| (block, events.of(block)));
        self.rename(cfg, dom, events, variables, blocks, phis_of);
    }

    /// The renaming walk. `blocks` are the blocks with events or phis and the predecessors of phis,
    /// with their events, in the preorder of the dominator tree.
    fn rename(
        &mut self,
        cfg: &Cfg,
        dom: &DomTree,
        events: &Events,
        variables: u32,
        blocks: impl Iterator<Item = (Node, Range<u32>)>,
        phis_of: impl Fn(Node) -> Range<u32>,
    ) {
        let mut current = vec![Version::Entry; variables as usize];
        let mut undo: Vec<(u32, Version)> = Vec::new();
        // For each subtree that the walk is in: where it ends, and the length of `undo` when the
        // walk entered it.
        let mut open: Vec<(u32, usize)> = Vec::new();
        for (block, numbers) in blocks {
            let (Some(at), Some(end)) = (dom.tin(block), dom.tout(block)) else { continue };
            while let Some(&(end, kept)) = open.last()
                && end <= at
            {
                open.pop();
                for (variable, old) in undo.drain(kept..).rev() {
                    current[variable as usize] = old;
                }
            }
            open.push((end, undo.len()));
            let mut set = |current: &mut Vec<Version>, variable: u32, version: Version| {
                let old = std::mem::replace(&mut current[variable as usize], version);
                undo.push((variable, old));
            };
            for number in phis_of(block) {
                set(&mut current, self.phis[number as usize].variable, Version::Phi(number));
            }
            for number in numbers {
                let Event { variable, kind } = events.event(number);
                self.reaching[number as usize] = current[variable as usize];
                if kind != EventKind::Use {
                    set(&mut current, variable, Version::Def(number));
                }
            }
            for &next in cfg.successors(block) {
                for number in phis_of(next) {
                    let phi = self.phis[number as usize];
                    let row = &mut self.incoming[phi.first as usize..phi.end as usize];
                    if let Ok(entry) = row.binary_search_by_key(&block, |entry| entry.0) {
                        row[entry].1 = current[phi.variable as usize];
                    }
                }
            }
        }
    }

    /// Drops the phis from which no use is reached.
    fn drop_dead(&mut self, events: &Events) {
        let mut is_live = vec![false; self.phis.len()];
        let mut is_read = vec![false; events.len()];
        let mut stack: Vec<Version> = Vec::new();
        for (number, version) in self.reaching.iter().enumerate() {
            if events.event(number as u32).kind == EventKind::Use {
                stack.push(*version);
            }
        }
        while let Some(version) = stack.pop() {
            match version {
                Version::Entry => {}
                Version::Def(event) => {
                    let is_may = events.event(event).kind == EventKind::MayDef;
                    if is_may && !std::mem::replace(&mut is_read[event as usize], true) {
                        stack.push(self.reaching[event as usize]);
                    }
                }
                Version::Phi(phi) => {
                    if !std::mem::replace(&mut is_live[phi as usize], true) {
                        let phi = self.phis[phi as usize];
                        stack.extend(self.incoming(&phi).iter().map(|entry| entry.1));
                    }
                }
            }
        }
        if is_live.iter().all(|live| *live) {
            return;
        }
        let mut number = 0u32;
        let new_number: Vec<Option<u32>> = is_live
            .iter()
            .map(|live| {
                live.then(|| {
                    number += 1;
                    number - 1
                })
            })
            .collect();
        // A dropped phi reaches only dead definitions and other dropped phis, so `Entry` can
        // replace it.
        let renumber = |version: Version| match version {
            Version::Phi(phi) => new_number[phi as usize].map_or(Version::Entry, Version::Phi),
            other => other,
        };
        let mut incoming = Vec::new();
        let mut phis = Vec::new();
        for (phi, _) in self.phis.iter().zip(&is_live).filter(|(_, live)| **live) {
            let first = incoming.len() as u32;
            let entries = self.incoming(phi).iter();
            incoming.extend(entries.map(|(pred, version)| (*pred, renumber(*version))));
            phis.push(MemoryPhi { first, end: incoming.len() as u32, ..*phi });
        }
        self.reaching.iter_mut().for_each(|version| *version = renumber(*version));
        self.phis = phis;
        self.incoming = incoming;
    }
}

/// Groups definitions by variable. The order within each group stays the same (a counting sort).
fn by_variable(definitions: &[(u32, Node)], variables: usize) -> Vec<(u32, Node)> {
    let mut next = vec![0u32; variables + 1];
    for (variable, _) in definitions {
        next[*variable as usize + 1] += 1;
    }
    for i in 0..variables {
        next[i + 1] += next[i];
    }
    let mut sorted = definitions.to_vec();
    for definition in definitions {
        let at = &mut next[definition.0 as usize];
        sorted[*at as usize] = *definition;
        *at += 1;
    }
    sorted
}

/// Computes iterated dominance frontiers, one per variable, with shared scratch space.
pub(super) struct Search {
    met: Met,
    round: u32,
}

/// The nodes that a search has met.
enum Met {
    /// Dense: by node, the number of the last search that met it.
    All(Vec<u32>),
    /// Sparse: pairs of a search and a node that it met.
    Some(FxHashSet<(u32, Node)>),
}

impl Search {
    pub(super) fn new(nodes: usize) -> Self {
        Self { met: Met::All(vec![0; nodes]), round: 0 }
    }

    /// For searches that meet few nodes of a large graph.
    fn sparse() -> Self {
        Self { met: Met::Some(FxHashSet::default()), round: 0 }
    }

    /// Whether this search meets a node for the first time.
    fn meets(&mut self, node: Node) -> bool {
        match &mut self.met {
            Met::All(met) => std::mem::replace(&mut met[node.index()], self.round) != self.round,
            Met::Some(met) => met.insert((self.round, node)),
        }
    }

    /// The iterated frontier of some nodes, in no order.
    ///
    /// Frontiers of single nodes overlap. In deeply nested loops, walking them one by one would be
    /// quadratic. Once the walk has cost as much as a search that is linear in the graph, that
    /// search takes over.
    pub(super) fn iterated(
        &mut self,
        frontier: &DominanceFrontier,
        dom: &DomTree,
        nodes: impl Iterator<Item = Node> + Clone,
    ) -> Vec<Node> {
        self.round += 1;
        let bound = 64 + dom.node_count() / 4;
        let mut looked = 0;
        let mut found = Vec::new();
        let mut stack: Vec<Node> = nodes.clone().collect();
        while let Some(node) = stack.pop() {
            for (_, to) in frontier.frontier_edges(dom, node) {
                looked += 1;
                if self.meets(to) {
                    found.push(to);
                    stack.push(to);
                }
            }
            looked += 1;
            if looked > bound {
                return frontier.iterated_frontier(dom, nodes);
            }
        }
        found
    }
}
