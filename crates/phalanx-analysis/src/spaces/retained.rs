//! Incremental update of the memory kinds of a function that is being edited.
//!
//! # What
//!
//! [`RetainedKinds`] holds the sets, the private memory that they were found with, and the answer.
//! The sets are the least solution of [unions](super::unions), which [`phalanx_fixpoint`] repairs
//! without ranks: what a changed node gave is withdrawn, node by node, and what still has a support
//! is given again.
//!
//! ```text
//! loop:
//!   %p = phi ptr [ %a, %entry ], [ %q, %loop ]   ; private around the loop, from %local
//!   %q = select i1 %c, ptr %p, ptr %local        ; now reads something else: neither has private
//! ```
//!
//! # What is named as changed
//!
//! - Changed instructions, and what they write to private objects. Instructions of blocks that are
//!   reached now and were not, or no longer, count as changed.
//! - A node is evaluated from the sets of its operands, or of values some steps further up;
//!   [`readers`](super::readers) finds those that depend on a changed instruction in that way.
//! - If private memory has changed, its versions get the numbers that they have now
//!   ([`Renumbered`]). Instructions that touch another slot than before, or that other versions
//!   reach, are named, and so are memory phis with other entries.
//! - [`refined`](super::refined) updates what tests of addresses tell, and says which instructions
//!   have other sets for their operands.
//! - An integer of which nothing is known, such as a product, is no node, and its readers take it
//!   for anything. A change of its operation can make it a node. So the readers of a changed
//!   integer are named.
//!
//! Two changes are not handled by repair: the first or last integer that becomes a pointer; and
//! more nodes than a bound. Then everything is found anew.
//!
//! **Complexity.** O(what was given by changed nodes, and the readers of that), each a few look-ups
//! and evaluations. If private memory has changed, the sets of its versions are copied.

use std::sync::Arc;

use phalanx_fixpoint::{Fixpoint, Limits, Update};
use phalanx_graph::{Cfg, DomTree};
use phalanx_ir::{Const, InstId, Opcode, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::{
    MemoryKinds, SpaceFacts,
    nodes::Nodes,
    numbers::number,
    readers::Tables,
    refined::{Tests, refined_uses},
    rules::{Class, SpaceRules},
    solve::{Solver, constant_addresses},
    unions::Unions,
};
use crate::code::SpaceSet;
use crate::{
    code::{Code, Environment},
    edited::Edited,
    memory::{
        PrivateMemory,
        private::{
            compare::Renumbered,
            readers::{ReaderNode, Readers},
        },
    },
    policy::SPACE_STEPS,
};

/// The kinds of a function, and the state from which they are repaired.
#[derive(Debug)]
pub struct RetainedKinds {
    memory: Arc<PrivateMemory>,
    sets: Fixpoint<ReaderNode, u64>,
    readers: Readers,
    /// The paths on which constant variables are read.
    tables: Tables,
    /// Instructions that make pointers from integers.
    casts: FxHashSet<InstId>,
    /// By instruction, the constants whose sets the answer has because of it; and, by constant, the
    /// number of such instructions.
    asked: FxHashMap<InstId, SmallVec<[Const; 2]>>,
    counts: FxHashMap<Const, u32>,
    tests: Tests,
    answer: MemoryKinds,
    /// The number of instructions, with erased ones.
    count: usize,
}

impl RetainedKinds {
    /// Finds the kinds of a function from scratch, and retains what is needed to repair them.
    #[must_use]
    pub fn new(
        code: Code<'_>,
        env: Environment<'_>,
        (cfg, dom): (&Cfg, &DomTree),
        memory: Arc<PrivateMemory>,
        facts: &dyn SpaceFacts,
    ) -> Self {
        let mut solver = Solver::new(code, env, (cfg, dom), &memory, facts, false);
        solver.solve();
        let (calls, support) = std::mem::take(&mut solver.tests);
        let tests = Tests::new(solver.nodes.rules.refinements.clone(), support, &calls);
        let readers = memory.readers();
        let mut tables = Tables::default();
        let (mut casts, mut asked) = (FxHashSet::default(), FxHashMap::default());
        let mut counts: FxHashMap<Const, u32> = FxHashMap::default();
        for inst in code.flow.order().iter().flat_map(|&block| code.body.block_insts(block)) {
            if code.body.inst(inst).opcode == Opcode::IntToPtr {
                casts.insert(inst);
            }
            tables.note(code, inst);
            let constants = asked_by(&solver.nodes, inst);
            for &constant in &constants {
                *counts.entry(constant).or_default() += 1;
            }
            if !constants.is_empty() {
                asked.insert(inst, constants);
            }
        }
        let (answer, sets) = solver.finish();
        let sets = Fixpoint::of(sets.all());
        let count = code.body.id_count();
        RetainedKinds { memory, sets, readers, tables, casts, asked, counts, tests, answer, count }
    }

    /// The kinds.
    #[must_use]
    pub fn answer(&self) -> &MemoryKinds {
        &self.answer
    }

    /// Brings the kinds up to date. The environment of the function has to be the same; `memory`
    /// is the present private memory of objects with addresses. Returns how many nodes were
    /// evaluated. Returns None if the kinds have to be found anew; the state is then invalid.
    pub fn repair(
        &mut self,
        code: Code<'_>,
        env: Environment<'_>,
        (cfg, dom, memory): (&Cfg, &DomTree, &Arc<PrivateMemory>),
        facts: &dyn SpaceFacts,
        edited: Edited<'_>,
    ) -> Option<usize> {
        let changed = edited.own;
        let body = code.body;
        let count = body.id_count();
        if count < self.count || changed.len() > SPACE_STEPS {
            return None;
        }
        let others = self.renumber(memory);
        let had_casts = !self.casts.is_empty();
        for &inst in changed {
            let is_linked = body.block_of(inst).is_some();
            match is_linked && body.inst(inst).opcode == Opcode::IntToPtr {
                true => self.casts.insert(inst),
                false => self.casts.remove(&inst),
            };
        }
        if had_casts == self.casts.is_empty() {
            return None;
        }
        let mut read = self.tables.with_readers(code, changed, SPACE_STEPS)?;
        read.iter().for_each(|&inst| self.tables.note(code, inst));
        read.extend(&others.insts);
        let had_refinements = !self.tests.refinements.is_empty();
        read.extend(self.tests.update(code, (cfg, dom), edited, SPACE_STEPS)?);
        read.sort_unstable();
        read.dedup();
        self.count = count;
        self.answer.values.grow(count, SpaceSet::ALL);
        let mut rules = SpaceRules::new(code, env, &self.memory, facts, false);
        rules.has_integers = had_casts;
        rules.refinements = std::mem::take(&mut self.tests.refinements);
        let has_refinements = had_refinements || !rules.refinements.is_empty();
        let mut nodes = Nodes { rules, dom };
        let limit = SPACE_STEPS;
        let (readers, looked_at) = (&self.readers, 0);
        let mut unions = Unions { nodes: &mut nodes, readers, limit, looked_at };
        let mut named: Vec<ReaderNode> = Vec::new();
        for &inst in &read {
            named.push(ReaderNode::Value(inst));
            named.extend(unions.stored_by(inst));
        }
        let definitions = self.memory.events().len() as u32;
        named.extend(others.phis.iter().map(|phi| ReaderNode::Content(definitions + phi)));
        // A changed integer may have become a node, or be none any more.
        for &inst in changed.iter().filter(|_| had_casts) {
            if unions.nodes.rules.class(body.inst(inst).ty) == Class::Integer {
                named.extend(unions.readers_of(ReaderNode::Value(inst)));
            }
        }
        named.sort_unstable();
        named.dedup();
        let limits = Limits { visited: SPACE_STEPS, work: SPACE_STEPS };
        if self.sets.repair(&mut unions, &named, limits) == Update::TooMuch {
            return None;
        }
        let visited = self.sets.visited();
        let mut of_constants: Vec<(Const, SpaceSet)> = Vec::new();
        let mut is_new = false;
        for &inst in changed {
            let constants = asked_by(&nodes, inst);
            for &constant in &constants {
                let count = self.counts.entry(constant).or_default();
                *count += 1;
                if *count == 1 {
                    is_new = true;
                    let set = nodes.value(&self.sets, Value::constant(constant));
                    of_constants.push((constant, SpaceSet::from_bits(set as u16)));
                }
            }
            let before = match constants.is_empty() {
                true => self.asked.remove(&inst),
                false => self.asked.insert(inst, constants),
            };
            for constant in before.unwrap_or_default() {
                if let Some(count) = self.counts.get_mut(&constant) {
                    *count -= 1;
                    if *count == 0 {
                        self.counts.remove(&constant);
                        is_new = true;
                    }
                }
            }
        }
        if is_new {
            let old = self.answer.constants.iter().copied().chain(of_constants);
            let mut all: Vec<(Const, SpaceSet)> =
                old.filter(|(constant, _)| self.counts.contains_key(constant)).collect();
            all.sort_unstable();
            all.dedup();
            self.answer.constants = all.into();
        }
        let mut told = read;
        told.extend(self.sets.changes().iter().filter_map(|change| match change.subject {
            ReaderNode::Value(inst) => Some(inst),
            ReaderNode::Content(_) => None,
        }));
        for &inst in &told {
            let node = ReaderNode::Value(inst);
            let set = match nodes.is_node(node) {
                true => SpaceSet::from_bits(self.sets.get(node) as u16),
                false => SpaceSet::ALL,
            };
            self.answer.values.set(number(inst), set, SpaceSet::ALL);
        }
        if has_refinements {
            let uses = refined_uses((&mut nodes, &self.sets), told, &self.answer.uses);
            self.answer.uses = uses.into();
        }
        self.tests.refinements = std::mem::take(&mut nodes.rules.refinements);
        Some(visited)
    }
}

impl RetainedKinds {
    /// Gives nodes the numbers that their versions have in the present private memory. Returns what
    /// differs there.
    fn renumber(&mut self, memory: &Arc<PrivateMemory>) -> Renumbered {
        if Arc::ptr_eq(&self.memory, memory) {
            return Renumbered::default();
        }
        let renumbered = memory.renumbered(&self.memory);
        let mut now = vec![None; self.memory.version_count()];
        for (old, new) in renumbered.pairs() {
            now[old as usize] = Some(ReaderNode::Content(new));
        }
        self.sets.renumber((0..).map(ReaderNode::Content).zip(now));
        self.readers = memory.readers();
        self.memory = Arc::clone(memory);
        renumbered
    }
}

/// The constants whose sets the answer has because of an instruction, if it is reached.
fn asked_by(nodes: &Nodes<'_>, inst: InstId) -> SmallVec<[Const; 2]> {
    match nodes.is_reached(inst) {
        true => constant_addresses(nodes.rules.code, inst).collect(),
        false => SmallVec::new(),
    }
}
