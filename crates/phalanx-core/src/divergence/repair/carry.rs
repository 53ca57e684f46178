//! The graph of consequences after an edit of the control flow.
//!
//! Nodes keep their numbers, so facts about them stay where they are; what a node is about gets its
//! new name. What is gone, for example the exit of a cycle that is none any more, becomes
//! [`Control::Gone`]. Consequences are drawn again where the search for them could end otherwise
//! ([`Carry::touches`]), and wherever one of them is gone. The nodes that gained or lost a support
//! by that are told; everything else rests on what it rested on.
//!
//! O(nodes), and the searches that are done again.

use phalanx_graph::Node;
use phalanx_graph::sync::{Carry, SyncView};

use super::control::{Control, ControlGraph, Drawn, JoinEdges, NONE, ReachedTree};
use super::subject::{Solution, Subject};
use crate::divergence::FlowFacts;

/// What became of the graph.
#[derive(Debug, Default)]
pub(super) struct Carried {
    /// Nodes with other supports than before.
    pub(super) changed: Vec<u32>,
    /// Nodes that are gone, with what they were.
    pub(super) gone: Vec<(u32, Control)>,
    /// Joins that are over other edges now.
    pub(super) reshaped: Vec<u32>,
}

impl ControlGraph {
    /// Renames what nodes are about. The graph must be completed with [`redraw`](Self::redraw).
    pub(super) fn rename(&mut self, carry: &Carry<'_>, view: &SyncView<'_>) -> Carried {
        let mut carried = Carried::default();
        if carry.is_split() {
            self.rename_split(carry);
            return carried;
        }
        let mut renamed: Vec<(Control, u32)> = Vec::new();
        if !carry.has_same_exits() {
            self.exits.clear();
            self.exits.resize(view.leaving_edges(), NONE);
        }
        for number in 0..self.kinds.len() as u32 {
            let old = self.kinds[number as usize];
            let new = self.renamed(carry, number, old);
            match new {
                Control::Exit(edge) => {
                    if self.exits.len() <= edge.index() {
                        self.exits.resize(view.leaving_edges(), NONE);
                    }
                    self.exits[edge.index()] = number;
                }
                Control::Gone if old != Control::Gone => {
                    carried.gone.push((number, old));
                    let block = match old {
                        Control::JoinBack(cycle, _) => carry.old_header(cycle),
                        Control::Join(block) | Control::JoinOver(block, _) => block,
                        _ => Node::default(),
                    };
                    self.forget(number, old, block);
                }
                _ => {}
            }
            if new != old {
                if self.numbers.get(&old) == Some(&number) {
                    self.numbers.remove(&old);
                    renamed.push((new, number));
                }
                self.kinds[number as usize] = new;
            }
        }
        renamed.retain(|(kind, _)| *kind != Control::Gone);
        self.numbers.extend(renamed);
        self.gone += carried.gone.len();
        let kinds = &self.kinds;
        self.ranges.retain(|number| kinds[*number as usize] != Control::Gone);
        self.rename_reached(carry, view);
        for of in [&mut self.assumed, &mut self.live_out] {
            let old = std::mem::take(of).into_iter();
            *of = old.filter_map(|(cycle, number)| Some((carry.cycle(cycle)?, number))).collect();
        }
        carried
    }

    /// As [`rename`](Self::rename), where blocks were split and nothing else happened: nodes are
    /// about what they were about, while blocks have other positions. Edges into a block have the
    /// numbers that they had where the same blocks lead there, as the new block is the last one.
    fn rename_split(&mut self, carry: &Carry<'_>) {
        for (number, kind) in (0..).zip(&self.kinds) {
            let by = match *kind {
                Control::JoinOver(block, _) => carry.entering(block),
                Control::JoinBack(cycle, _) => carry.back(cycle),
                _ => continue,
            };
            if by != Some(0) {
                self.loose.insert(number);
            }
        }
        let positions = carry.positions();
        for reached in self.reached.values_mut().flat_map(|tree| &mut tree.list) {
            (reached.first, reached.end) =
                (positions.now(reached.first), positions.now(reached.end));
        }
    }

    /// What a node is about now.
    fn renamed(&mut self, carry: &Carry<'_>, number: u32, old: Control) -> Control {
        let new = match old {
            Control::Join(block) => carry.has(block).then_some(old),
            Control::JoinOver(block, edges) => carry.has(block).then(|| {
                match carry.entering(block) {
                    Some(by) => shift(&mut self.edges[edges as usize], by),
                    None => {
                        self.loose.insert(number);
                    }
                }
                old
            }),
            Control::JoinBack(cycle, edges) => carry.cycle(cycle).map(|now| {
                let known = &mut self.edges[edges as usize];
                match carry.back(cycle) {
                    Some(by) if known.late.iter().all(|node| carry.has(*node)) => shift(known, by),
                    _ => {
                        self.loose.insert(number);
                    }
                }
                Control::JoinBack(now, edges)
            }),
            Control::Exit(edge) => carry.leaving(edge).map(Control::Exit),
            Control::Exits { first, end, depth } => carry
                .leaving_range(first, end)
                .map(|(first, end)| Control::Exits { first, end, depth }),
            Control::ExitsFrom(node) => carry.has(node).then_some(old),
            Control::Onward(cycle, node) => {
                carry.cycle(cycle).filter(|_| carry.has(node)).map(|c| Control::Onward(c, node))
            }
            Control::Reach(cycle, node) => {
                carry.cycle(cycle).filter(|_| carry.has(node)).map(|c| Control::Reach(c, node))
            }
            Control::Left(cycle) => carry.cycle(cycle).map(Control::Left),
            Control::Assumed(cycle) => carry.cycle(cycle).map(Control::Assumed),
            Control::LiveOut(cycle) => carry.cycle(cycle).map(Control::LiveOut),
            Control::Gone => Some(old),
        };
        new.unwrap_or(Control::Gone)
    }

    /// Takes a node that is gone out of the lists of joins.
    fn forget(&mut self, number: u32, old: Control, block: Node) {
        match old {
            Control::Join(block) => self.whole_joins[block.index()] = NONE,
            Control::JoinOver(..) | Control::JoinBack(..) => {
                if let Some(joins) = self.joins.get_mut(&block) {
                    joins.retain(|join| *join != number);
                }
            }
            _ => {}
        }
    }

    /// Gives the nodes that say what is reached their new positions.
    fn rename_reached(&mut self, carry: &Carry<'_>, view: &SyncView<'_>) {
        let kinds = &self.kinds;
        let rename = |tree: &mut ReachedTree| {
            let before = tree.list.len();
            tree.list.retain_mut(|reached| match kinds[reached.control as usize] {
                Control::Reach(_, node) => {
                    (reached.first, reached.end) = view.dominated(node);
                    true
                }
                _ => false,
            });
            let key = |r: &super::control::Reached| (r.first, std::cmp::Reverse(r.end));
            let is_same = before == tree.list.len()
                && carry.redominated().is_empty()
                && tree.list.is_sorted_by_key(key);
            if !is_same {
                tree.env = None;
            }
        };
        self.reached.values_mut().for_each(rename);
        if !carry.has_same_cycles() {
            let old = std::mem::take(&mut self.reached);
            let renamed =
                old.into_iter().filter_map(|(cycle, tree)| Some((carry.cycle(cycle)?, tree)));
            self.reached = renamed.collect();
        }
    }

    /// Draws again what could be drawn otherwise, for what has facts.
    pub(super) fn redraw(
        &mut self,
        carry: &Carry<'_>,
        (view, flow): (&mut SyncView<'_>, FlowFacts<'_>),
        known: &Solution,
        carried: &mut Carried,
    ) {
        let mut causes: Vec<Subject> = Vec::new();
        self.move_ends(carry, &mut causes);
        for &block in carry.rewired() {
            causes.push(Subject::Branch(block.raw()));
        }
        // Its threads may come through new blocks first.
        let leads_to_stale =
            |end: &Node| flow.cfg.successors(*end).iter().any(|to| carry.is_stale(*to));
        let ends = carry.tails().iter().map(|(_, end)| *end).filter(leads_to_stale);
        causes.extend(ends.map(|end| Subject::Branch(end.raw())));
        let is_stale = |drawn: &Option<Drawn>, own: Option<Node>| {
            drawn.as_ref().is_some_and(|drawn| {
                own.is_some_and(|node| carry.is_stale(node)) || carry.touches(drawn.footprint)
            })
        };
        for (block, drawn) in self.branches.iter().enumerate() {
            if is_stale(drawn, Some(Node::new(block))) {
                causes.push(Subject::Branch(block as u32));
            }
        }
        for (number, drawn) in self.successors.iter().enumerate() {
            // An edge may lead to a new block first, but not if blocks were only split.
            let own = match self.kinds[number] {
                Control::Exit(edge) if !carry.is_split() => Some(view.ends(edge).1),
                _ => None,
            };
            if is_stale(drawn, own) {
                causes.push(Subject::Control(number as u32));
            }
        }
        for &(number, _) in &carried.gone {
            causes.push(Subject::Control(number));
            causes.extend_from_slice(&self.supports[number as usize]);
        }
        for &number in &self.loose {
            causes.extend_from_slice(&self.supports[number as usize]);
        }
        causes.sort_unstable();
        causes.dedup();
        for cause in causes {
            self.redraw_one((&mut *view, flow), known, cause, carried);
        }
        carried.reshaped = std::mem::take(&mut self.reshaped);
        debug_assert!(self.loose.is_empty(), "every join is drawn by something");
        self.loose.clear();
    }

    /// Gives what follows from the end of a block to the block that has the end now.
    fn move_ends(&mut self, carry: &Carry<'_>, causes: &mut Vec<Subject>) {
        let moves = || carry.tails().iter().filter(|(old, new)| old != new);
        let last = moves().map(|(_, new)| new.index()).max();
        if let Some(last) = last.filter(|last| self.branches.len() <= *last) {
            self.branches.resize((last + 1).next_power_of_two(), None);
        }
        let taken: Vec<(Node, Node, Option<Drawn>)> = moves()
            .map(|&(old, new)| {
                let drawn = self.branches.get_mut(old.index()).and_then(Option::take);
                (old, new, drawn)
            })
            .collect();
        for (old, new, drawn) in taken {
            let Some(drawn) = drawn else { continue };
            let (was, is) = (Subject::Branch(old.raw()), Subject::Branch(new.raw()));
            for &next in &drawn.list {
                for support in self.supports[next as usize].iter_mut().filter(|s| **s == was) {
                    *support = is;
                }
            }
            if let Some(known) = self.branches[new.index()].replace(drawn) {
                // It led elsewhere before.
                for &next in &known.list {
                    self.supports[next as usize].retain(|support| *support != is);
                }
                causes.push(is);
            }
        }
    }

    fn redraw_one(
        &mut self,
        (view, flow): (&mut SyncView<'_>, FlowFacts<'_>),
        known: &Solution,
        cause: Subject,
        carried: &mut Carried,
    ) {
        let slot = match cause {
            Subject::Branch(block) => self.branches.get_mut(block as usize),
            Subject::Control(number) => self.successors.get_mut(number as usize),
            Subject::Value(_) => None,
        };
        let old = slot.and_then(Option::take).map_or_else(Box::default, |drawn| drawn.list);
        self.size -= old.len();
        for &next in &old {
            let supports = &mut self.supports[next as usize];
            if let Some(at) = supports.iter().position(|support| *support == cause) {
                supports.swap_remove(at);
            }
        }
        // Each of these joins was drawn by this cause alone.
        self.spare.clear();
        for &next in &old {
            if let Control::JoinOver(..) | Control::JoinBack(..) = self.kinds[next as usize] {
                self.spare.push(next);
            }
        }
        let has_facts = known.get(cause) != 0;
        let new = match cause {
            Subject::Branch(block) if has_facts && flow.cfg.is_branch(Node::from_raw(block)) => {
                self.of_branch(view, flow, Node::from_raw(block)).to_vec()
            }
            Subject::Control(number) if has_facts => self.of_control(view, flow, number).to_vec(),
            _ => Vec::new(),
        };
        let differs = |a: &[u32], b: &[u32]| -> Vec<u32> {
            a.iter().filter(|next| b.binary_search(next).is_err()).copied().collect()
        };
        carried.changed.extend(differs(&old, &new));
        carried.changed.extend(differs(&new, &old));
        for number in std::mem::take(&mut self.spare) {
            let kind = self.kinds[number as usize];
            let block = match kind {
                Control::JoinBack(cycle, _) => flow.cycles.header(cycle),
                Control::JoinOver(block, _) => block,
                _ => continue,
            };
            self.forget(number, kind, block);
            self.loose.remove(&number);
            self.kinds[number as usize] = Control::Gone;
            self.gone += 1;
            // So that its block need not be looked up in cycles that are no more.
            carried.gone.push((number, Control::Join(block)));
        }
    }
}

/// Adds to the numbers of edges, wrapping.
fn shift(edges: &mut JoinEdges, by: u32) {
    for range in &mut edges.ranges {
        (range.first, range.end) = (range.first.wrapping_add(by), range.end.wrapping_add(by));
    }
}
