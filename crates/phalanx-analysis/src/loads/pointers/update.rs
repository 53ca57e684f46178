//! Incremental update of what pointers are based on, in a function that is being edited.
//!
//! # What
//!
//! A [`PointerUpdater`] gives the [`PointerFlow`] of a function after each edit, equal to the one
//! from scratch. It retains the [`Tables`] from which the flow is repaired, except for functions in
//! which too much has changed at a time.
//!
//! # How
//!
//! 1. *Variables* are numbered by the first instruction that mentions them. If that changes,
//!    everything is made anew.
//! 2. *Versions* of private memory get the numbers that they have now ([`Renumbered`]). An
//!    instruction counts as changed if it touches something else than before, or if other versions
//!    reach it.
//! 3. *Steps* that have changed may end elsewhere, and so may steps from them.
//! 4. *Sets* are the least solution of unions ([`sets`](super::sets)), which [`phalanx_fixpoint`]
//!    repairs without ranks. What a node is given directly is never in doubt, so the repair does
//!    not go around loops through which nothing came.
//! 5. An instruction may *use* pointers in another way if it has changed, if its set has, or if it
//!    reads such a set. All uses are retained, so that the next instruction with a use is known
//!    when the first one has gone ([`Doers`]).
//!
//! **Why that is all.** The uses of an instruction, and the inputs of a node, depend on operands,
//! on what these are based on, on the slots that the instruction touches, and on the content of
//! these. Of the graph, only the set of listed blocks matters; instructions of blocks that have
//! become or ceased to be listed count as changed. Users are found from def-use lists, through
//! steps. Former users that are no users now have changed themselves.
//!
//! An added address computation that is read only by instructions changed in the same edit is not
//! reported as a change. So adding an address that is only accessed leaves the answer as it is.
//!
//! **Complexity.** O(uses of what has changed, and of pointers whose sets may have changed), up to
//! a bound. If private memory has changed, the sets of its versions are copied.

use std::sync::Arc;

use phalanx_fixpoint::{Limits, Update};
use phalanx_graph::BitSet;
use phalanx_ir::{GlobalName, InstId, Opcode};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::build::{self, done_by};
use super::doers::Doers;
use super::done::mentions;
use super::flow::{End, Made, Objects, PointerFlow, Root, matters};
use super::sets::{SetRules, Sets, Users, is_step_from, is_there, users};
use crate::code::Code;
use crate::edited::Edited;
use crate::memory::{
    PrivateMemory,
    origins::{is_pointer, number},
    private::{
        compare::Renumbered,
        readers::{ReaderNode, Readers},
    },
};
use crate::policy::{POINTER_STEPS, most_in_blocks};

/// The length up to which a chain of steps without stored ends is walked.
const STEPS: usize = 64;

/// How an answer was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The flow is the same as before.
    Kept,
    /// Repaired from the flow before.
    Repaired,
    /// From scratch.
    Made,
}

/// The state from which a flow is repaired.
#[derive(Debug)]
pub(super) struct Tables {
    is_listed: BitSet,
    sets: Sets,
    readers: Readers,
    doers: Doers,
}

impl Tables {
    pub(super) fn new(
        private: &PrivateMemory,
        is_listed: BitSet,
        sets: Sets,
        doers: Doers,
    ) -> Self {
        Tables { is_listed, sets, readers: private.readers(), doers }
    }
}

/// Updates the pointer flow of one function. See the [module documentation](self).
#[derive(Debug)]
pub struct PointerUpdater {
    flow: Arc<PointerFlow>,
    private: Arc<PrivateMemory>,
    tables: Option<Box<Tables>>,
}

impl PointerUpdater {
    /// An updater without retained tables. `before` is an earlier answer, which is shared if it is
    /// equal to the new one. The function may have been read again since, so that instructions have
    /// other numbers. So the stored ends of steps must be equal as well.
    #[must_use]
    pub fn new(
        code: Code<'_>,
        private: &Arc<PrivateMemory>,
        before: Option<&Arc<PointerFlow>>,
    ) -> Self {
        let (flow, tables) = build::flow(code, private, None, true);
        let same = before.filter(|before| ***before == flow && before.ends == flow.ends);
        let flow = same.map_or_else(|| Arc::new(flow), Arc::clone);
        PointerUpdater { flow, private: Arc::clone(private), tables: tables.map(Box::new) }
    }

    /// The flow.
    #[must_use]
    pub fn flow(&self) -> &Arc<PointerFlow> {
        &self.flow
    }

    /// Brings the flow up to date. `private` is private memory as it is now.
    pub fn update(
        &mut self,
        code: Code<'_>,
        private: &Arc<PrivateMemory>,
        edited: Edited<'_>,
    ) -> Found {
        let Edited { own: changed, blocks, .. } = edited;
        if let (Some(_), Some(tables)) = (blocks, &mut self.tables) {
            tables.is_listed = build::listed(code);
        }
        let is_same_memory = Arc::ptr_eq(&self.private, private);
        if blocks.is_some() && changed.len() > most_in_blocks(code.body.id_count()) {
            self.tables = None;
            return self.anew(code, private);
        }
        let matters = |inst: &InstId| self.flow.has_to_do(code, *inst);
        let found = match is_same_memory && !changed.iter().any(matters) {
            true => match &mut self.tables {
                // Instructions that have a use, but are not the first with it, may have gone.
                Some(tables) => {
                    changed.iter().for_each(|inst| tables.doers.forget(*inst));
                    Some(Found::Kept)
                }
                None => Some(Found::Kept),
            },
            false => self.repair(code, private, is_same_memory, changed),
        };
        self.private = Arc::clone(private);
        found.unwrap_or_else(|| self.anew(code, private))
    }

    /// Solves from scratch, with tables.
    fn anew(&mut self, code: Code<'_>, private: &Arc<PrivateMemory>) -> Found {
        let (flow, tables) = build::flow(code, private, None, true);
        self.tables = tables.map(Box::new);
        self.private = Arc::clone(private);
        if flow != *self.flow {
            self.flow = Arc::new(flow);
        }
        Found::Made
    }

    /// Repairs the flow. None if that cannot be done.
    fn repair(
        &mut self,
        code: Code<'_>,
        private: &PrivateMemory,
        is_same_memory: bool,
        changed: &[InstId],
    ) -> Option<Found> {
        // The tables are dropped if they cannot be brought up to date.
        let mut tables = self.tables.take()?;
        let is_listed = &tables.is_listed;
        let is_there = |inst| is_there(code, is_listed, inst);
        if !changed.iter().all(|&inst| self.flow.mentions_the_same(code, inst, is_there(inst))) {
            return None;
        }
        let memory = match is_same_memory {
            true => Renumbered::default(),
            false => {
                let memory = private.renumbered(&self.private);
                renumber(&mut tables.sets, &memory, self.private.version_count());
                tables.readers = private.readers();
                memory
            }
        };
        let mut flow = PointerFlow::clone(&self.flow);
        let mut repair = Repair {
            code,
            private,
            flow: &mut flow,
            tables: &mut tables,
            changed: changed.iter().copied().collect(),
            doubtful: Vec::new(),
            again: FxHashSet::default(),
            left: POINTER_STEPS,
            is_other: false,
        };
        repair.run(&memory)?;
        let is_other = repair.is_other;
        self.tables = Some(tables);
        match is_other {
            true => {
                self.flow = Arc::new(flow);
                Some(Found::Repaired)
            }
            false => Some(Found::Kept),
        }
    }
}

impl PointerFlow {
    /// Whether a changed instruction concerns pointers, or did before: otherwise the flow is the
    /// same.
    fn has_to_do(&self, code: Code<'_>, inst: InstId) -> bool {
        let is_told = |end: &End| *end != End::Unstated;
        let is_set = |set: &Objects| *set != Objects::NONE;
        code.body.block_of(inst).is_some() && matters(code, inst)
            || self.ends.get(number(inst)).is_some_and(is_told)
            || self.sets.get(number(inst)).is_some_and(is_set)
            || self.held.contains(inst)
            || self.firsts.iter().any(|(by, ..)| *by == inst)
            || self.roots.mentioned.contains(&inst)
    }

    /// Whether each variable that an instruction mentions, or mentioned, is still mentioned first
    /// by the same instruction.
    fn mentions_the_same(&self, code: Code<'_>, inst: InstId, is_there: bool) -> bool {
        let now = if is_there { mentions(code, inst) } else { SmallVec::new() };
        let roots = &*self.roots;
        let first = roots.all.len() - roots.mentioned.len();
        let by = |name: &GlobalName| {
            roots.variables.get(name).map(|&at| number(roots.mentioned[at - first]))
        };
        let is_early = |name: &GlobalName| by(name).is_none_or(|by| number(inst) < by);
        if now.iter().any(is_early) {
            return false;
        }
        // The variables that it is the first to mention, in the order in which it mentions them.
        let mut own: SmallVec<[Root; 2]> = SmallVec::new();
        for name in now.iter().filter(|name| by(name) == Some(number(inst))) {
            if !own.contains(&Root::Variable(*name)) {
                own.push(Root::Variable(*name));
            }
        }
        let known = roots.all[first..].iter().zip(&roots.mentioned);
        known.filter(|(_, by)| **by == inst).map(|(root, _)| root).eq(&own)
    }
}

/// Gives the sets of versions, of which there were `count`, the numbers that the versions have now.
fn renumber(sets: &mut Sets, memory: &Renumbered, count: usize) {
    let mut now = vec![None; count];
    for (old, new) in memory.pairs() {
        now[old as usize] = Some(ReaderNode::Content(new));
    }
    sets.renumber((0..).map(ReaderNode::Content).zip(now));
}

/// One repair.
struct Repair<'a> {
    code: Code<'a>,
    private: &'a PrivateMemory,
    flow: &'a mut PointerFlow,
    tables: &'a mut Tables,
    changed: FxHashSet<InstId>,
    /// Nodes whose inputs may have changed.
    doubtful: Vec<ReaderNode>,
    /// Instructions whose uses of pointers may have changed.
    again: FxHashSet<InstId>,
    /// The number of steps after which the repair gives up.
    left: usize,
    /// Whether the flow has changed.
    is_other: bool,
}

impl Repair<'_> {
    /// None if the limit was exceeded.
    fn run(&mut self, memory: &Renumbered) -> Option<()> {
        let mut seeds: Vec<InstId> = self.changed.iter().chain(&memory.insts).copied().collect();
        seeds.sort_unstable_by_key(|inst| number(*inst));
        seeds.dedup();
        for &inst in &seeds {
            self.affect(inst);
            self.hold(inst)?;
        }
        self.end_anew(&seeds)?;
        let versions = self.private.events().len() as u32;
        self.doubtful.extend(memory.phis.iter().map(|phi| ReaderNode::Content(versions + phi)));
        self.repair_sets()?;
        for inst in std::mem::take(&mut self.again) {
            let done = match self.is_there(inst) && matters(self.code, inst) {
                true => {
                    let flow = (&*self.flow, &self.tables.sets);
                    done_by(self.code, self.private, flow, inst, None)
                }
                false => SmallVec::new(),
            };
            self.is_other |= self.tables.doers.set(inst, &done, &mut self.flow.firsts);
        }
        Some(())
    }

    fn is_there(&self, inst: InstId) -> bool {
        is_there(self.code, &self.tables.is_listed, inst)
    }

    fn step(&mut self) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        Some(())
    }

    /// Records that the result of an instruction, what it puts into private memory, and its uses of
    /// pointers may have changed.
    fn affect(&mut self, inst: InstId) {
        self.again.insert(inst);
        self.doubtful.push(ReaderNode::Value(inst));
        let touches = self.private.of(inst).iter();
        self.doubtful.extend(touches.map(|touch| ReaderNode::Content(touch.event)));
    }

    /// The users of an instruction, and those of steps from it, with the steps.
    fn users(&mut self, inst: InstId) -> Option<Vec<InstId>> {
        let users = users(self.code, &self.tables.is_listed, self.flow, inst);
        self.left = self.left.checked_sub(users.len())?;
        Some(users)
    }

    /// Finds anew whether an instruction is a load from private memory. If it is a pointer, its
    /// users, also through address steps, are examined.
    fn hold(&mut self, inst: InstId) -> Option<()> {
        let data = self.code.body.inst(inst);
        let is_held = self.is_there(inst)
            && data.opcode == Opcode::Load
            && is_pointer(self.code, data.ty)
            && self.private.is_load(inst);
        if is_held != self.flow.held.contains(inst) {
            match is_held {
                true => self.flow.held.insert(inst),
                false => self.flow.held.remove(inst),
            }
            self.is_other = true;
        }
        // A user may have had any object before and have those of a set now, or the other way
        // round, or its steps may begin at another pointer.
        if is_pointer(self.code, data.ty) {
            let users = self.users(inst)?;
            // In unreachable code a step may be made from itself. Then the chain has no end, and
            // stored ends of other steps are not valid.
            let is_step = matches!(self.flow.made(self.code, inst), Some(Made::Step(_)));
            if is_step && users.contains(&inst) {
                return None;
            }
            users.into_iter().for_each(|user| self.affect(user));
        }
        Some(())
    }

    /// Finds where changed steps, and steps from them, end now.
    fn end_anew(&mut self, seeds: &[InstId]) -> Option<()> {
        let mut work = seeds.to_vec();
        while let Some(inst) = work.pop() {
            self.step()?;
            if !self.is_there(inst) {
                if self.flow.ends.get(number(inst)) == Some(&End::Nowhere) {
                    self.flow.ends.set(number(inst), End::Unstated);
                    self.is_other = true;
                }
                continue;
            }
            let now = match self.flow.made(self.code, inst) {
                Some(Made::Step(from)) => {
                    // What was made from itself had no end.
                    let end = self.flow.end(self.code, from, STEPS)?;
                    let made = end.as_inst().and_then(|end| self.flow.made(self.code, end));
                    if let Some(Made::Step(_)) = made {
                        return None;
                    }
                    End::At(end)
                }
                _ => End::Unstated,
            };
            let was = self.flow.ends.get(number(inst)).copied().unwrap_or_default();
            let users: Vec<InstId> =
                self.code.body.uses_of(inst.into()).map(|read| read.user).collect();
            // All readers have changed in this edit, so no other instruction depends on the step.
            let is_new =
                was == End::Unstated && users.iter().all(|user| self.changed.contains(user));
            if now == was || is_new {
                continue;
            }
            self.flow.ends.set(number(inst), now);
            self.is_other = true;
            work.extend(
                users.into_iter().filter(|&user| is_step_from(self.code, self.flow, user, inst)),
            );
        }
        Some(())
    }

    /// Repairs the sets. Readers of a changed set may use pointers in another way.
    fn repair_sets(&mut self) -> Option<()> {
        self.doubtful.sort_unstable();
        self.doubtful.dedup();
        let Tables { is_listed, sets, readers, .. } = &mut *self.tables;
        let mut rules = SetRules {
            code: self.code,
            private: self.private,
            flow: self.flow,
            is_listed,
            users: Users::Searched(readers),
            looked_at: 0,
        };
        let limits = Limits { work: self.left, ..Limits::NONE };
        if sets.repair(&mut rules, &self.doubtful, limits) == Update::TooMuch {
            return None;
        }
        let others: Vec<ReaderNode> = sets.changes().iter().map(|change| change.subject).collect();
        for place in others {
            match place {
                ReaderNode::Value(inst) => {
                    self.flow.sets.set(number(inst), self.tables.sets.get(place));
                    self.is_other = true;
                    let users = self.users(inst)?;
                    self.again.extend(users);
                }
                ReaderNode::Content(at) => {
                    let readers = self.tables.readers[at as usize].iter();
                    self.again.extend(readers.filter_map(|place| match place {
                        ReaderNode::Value(inst) => Some(*inst),
                        ReaderNode::Content(_) => None,
                    }));
                }
            }
        }
        Some(())
    }
}
