//! One repair of the kinds: evaluates nodes again until nothing changes.
//!
//! See [`retained`](super) for why the result is the least fixpoint. Nodes that wait are on a
//! stack, and are evaluated in no particular order. After more than [`SPACE_STEPS`] evaluations the
//! repair gives up. O(1) per node and reader, one look-up each.

use super::super::{extras::Extras, numbers::number, readers::takers, rules::Class, solve::Solver};
use super::Work;
use crate::memory::private::readers::{ReaderNode, Readers};
use crate::policy::SPACE_STEPS;
use phalanx_ir::{InstId, Opcode};
use rustc_hash::FxHashSet;

/// One repair.
pub(super) struct Repair<'a, 'b> {
    pub(super) solver: Solver<'a>,
    pub(super) work: Work<'a>,
    pub(super) readers: &'b Readers,
    pub(super) extras: &'b mut Extras,
    /// Nodes whose sets differ from those before the repair.
    pub(super) changed: FxHashSet<ReaderNode>,
    pub(super) visited: usize,
}

impl Repair<'_, '_> {
    fn node(&self, place: ReaderNode) -> usize {
        match place {
            ReaderNode::Value(inst) => number(inst),
            ReaderNode::Content(at) => self.solver.sets.values.len() + at as usize,
        }
    }

    /// Whether a node has a set in the function as it is now.
    fn is_node(&mut self, place: ReaderNode) -> bool {
        match place {
            ReaderNode::Value(inst) => {
                self.work.is_reached(inst) && self.solver.rules.is_tracked(inst)
            }
            ReaderNode::Content(at) => {
                let memory = self.solver.rules.memory;
                match (at as usize).checked_sub(memory.events().len()) {
                    None => self.work.is_reached(memory.touch_of(at).inst),
                    Some(phi) => self.work.dom.is_reachable(memory.ssa().phis()[phi].block),
                }
            }
        }
    }

    /// Whether a changed instruction may have gained or lost its set: an integer, if its operation
    /// has changed. Readers of an integer without a set take it for anything.
    fn may_turn(&mut self, inst: InstId) -> bool {
        let ty = self.work.code.body.inst(inst).ty;
        self.solver.rules.class(ty) == Class::Integer
    }

    /// Repairs the sets. Returns false if the limit was exceeded. `phis` are the phis of private
    /// memory that have other versions as entries.
    pub(super) fn run(&mut self, changed: &[InstId], phis: &[u32]) -> bool {
        let all = self.extras.any;
        // An instruction also determines what is stored by it.
        let memory = self.solver.rules.memory;
        let definitions = memory.events().len() as u32;
        let stored: Vec<ReaderNode> = changed
            .iter()
            .flat_map(|&inst| memory.of(inst).iter().map(|touch| ReaderNode::Content(touch.event)))
            .chain(phis.iter().map(|phi| ReaderNode::Content(definitions + phi)))
            .collect();
        let seeds: Vec<ReaderNode> = changed
            .iter()
            .map(|&inst| ReaderNode::Value(inst))
            .chain(stored.iter().copied())
            .collect();
        let turned: Vec<InstId> = match self.solver.rules.has_integers {
            true => changed.iter().copied().filter(|&inst| self.may_turn(inst)).collect(),
            false => Vec::new(),
        };
        let before = |&place: &ReaderNode| match place {
            ReaderNode::Value(inst) if turned.binary_search(&inst).is_ok() => u64::MAX,
            _ => self.solver.sets.get(self.node(place)),
        };
        let before: Vec<u64> = seeds.iter().map(before).collect();
        let mut work: Vec<ReaderNode> = stored;
        for &inst in &turned {
            self.changed.insert(ReaderNode::Value(inst));
            if !self.push_users(ReaderNode::Value(inst), &mut work) {
                return false;
            }
        }
        for &inst in changed {
            if self.is_node(ReaderNode::Value(inst)) {
                work.push(ReaderNode::Value(inst));
            } else if self.solver.sets.put(number(inst), 0) != 0 {
                self.changed.insert(ReaderNode::Value(inst));
                if !self.push_users(ReaderNode::Value(inst), &mut work) {
                    return false;
                }
            }
        }
        let mut phis: FxHashSet<ReaderNode> = FxHashSet::default();
        if !self.converge(&mut work, &mut phis) {
            return false;
        }
        if all != 0 {
            let seeds = seeds.into_iter().zip(before).filter(|(place, before)| {
                (before | self.solver.sets.get(self.node(*place))) & all != 0
            });
            let seeds: Vec<ReaderNode> = seeds.map(|(place, _)| place).collect();
            let Some(doubtful) = self.behind(seeds, all) else { return false };
            for &phi in &doubtful {
                self.extras.remove(phi, u64::MAX);
            }
            work.extend(doubtful);
            if !self.converge(&mut work, &mut phis) {
                return false;
            }
        }
        loop {
            let mut order: Vec<ReaderNode> = phis.iter().copied().collect();
            order.sort_unstable_by_key(|place| self.node(*place));
            for place in order {
                let (forward, backward) = self.work.parts(&mut self.solver, place);
                let extra = self.extras.of(place);
                let missing = backward & !(forward | extra);
                if missing != 0 {
                    self.extras.add(place, missing);
                    work.push(place);
                }
            }
            if work.is_empty() {
                break;
            }
            if !self.converge(&mut work, &mut phis) {
                return false;
            }
        }
        // Bits that now come over forward edges as well are no extras.
        for place in phis {
            let (forward, _) = self.work.parts(&mut self.solver, place);
            self.extras.remove(place, forward);
        }
        true
    }

    /// Evaluates until nothing changes, with the extras fixed. Records the phis that it meets.
    fn converge(&mut self, work: &mut Vec<ReaderNode>, phis: &mut FxHashSet<ReaderNode>) -> bool {
        while let Some(place) = work.pop() {
            if !self.is_node(place) {
                continue;
            }
            self.visited += 1;
            if self.visited > SPACE_STEPS {
                return false;
            }
            let (forward, backward) = self.work.parts(&mut self.solver, place);
            let extra = self.extras.of(place);
            if backward | extra != 0 || self.is_phi(place) {
                phis.insert(place);
            }
            let node = self.node(place);
            if self.solver.sets.put(node, forward | extra) != forward | extra {
                self.changed.insert(place);
                if !self.push_users(place, work) {
                    return false;
                }
            }
        }
        true
    }

    fn is_phi(&self, place: ReaderNode) -> bool {
        match place {
            ReaderNode::Value(inst) => self.work.code.body.inst(inst).opcode == Opcode::Phi,
            ReaderNode::Content(at) => at as usize >= self.solver.rules.memory.events().len(),
        }
    }

    /// Adds the readers of a node. Returns false if there are too many.
    fn push_users(&self, place: ReaderNode, work: &mut Vec<ReaderNode>) -> bool {
        let inst = match place {
            ReaderNode::Value(inst) => inst,
            ReaderNode::Content(at) => {
                work.extend(self.readers[at as usize].iter().copied());
                return true;
            }
        };
        let code = self.work.code;
        let mut is_all = true;
        for one in code.body.uses_of(inst.into()) {
            work.push(ReaderNode::Value(one.user));
            let touches = self.solver.rules.memory.of(one.user);
            work.extend(touches.iter().map(|touch| ReaderNode::Content(touch.event)));
            // The instruction that takes the value out again reads it, whatever else is in the
            // structure.
            if code.body.inst(one.user).opcode == Opcode::InsertValue {
                let mut push = |taker| work.push(ReaderNode::Value(taker));
                is_all &= takers(code, one.user, SPACE_STEPS, &mut push);
            }
        }
        is_all
    }

    /// The phis with an extra to which a path leads from changed instructions, along edges and
    /// through nodes that share a bit with any extra. None if there are too many nodes.
    fn behind(&mut self, mut work: Vec<ReaderNode>, all: u64) -> Option<Vec<ReaderNode>> {
        let mut seen: FxHashSet<ReaderNode> = work.iter().copied().collect();
        let (mut users, mut phis) = (Vec::new(), Vec::new());
        while let Some(place) = work.pop() {
            phis.extend(self.extras.has(place).then_some(place));
            if seen.len() > SPACE_STEPS || !self.push_users(place, &mut users) {
                return None;
            }
            for user in users.drain(..) {
                if seen.contains(&user) || !self.is_node(user) {
                    continue;
                }
                let is_shared = self.solver.sets.get(self.node(user)) & all != 0
                    || self.changed.contains(&user);
                if is_shared {
                    seen.insert(user);
                    work.push(user);
                }
            }
        }
        phis.sort_unstable();
        Some(phis)
    }
}
