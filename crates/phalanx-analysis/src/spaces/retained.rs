//! Incremental update of the memory kinds of a function that is being edited.
//!
//! # What
//!
//! [`RetainedKinds`] holds the solver's sets, the private memory that they were found with, and the
//! answer. After instructions were changed, it evaluates these again, then the readers of each set
//! that has changed, and so on.
//!
//! # Why that is the least fixpoint
//!
//! Edges between nodes are *forward* or *backward* by the reverse postorder of their blocks; only
//! phis, of values and of memory, have backward inputs. Forward edges have no cycle. For each phi
//! its *extra* is retained: what its backward inputs have in the least fixpoint and its forward
//! inputs do not have. With the extras fixed, the equations have no cycle and one solution.
//! Evaluating the readers of changed sets, in any order, reaches that solution.
//!
//! ```text
//! loop:
//!   %p = phi ptr [ %a, %entry ], [ %q, %loop ]   ; forward: shared. extra: private, from %q
//!   %q = select i1 %c, ptr %p, ptr %local
//! ```
//!
//! 1. **An extra still holds** if it cannot have been derived through a changed instruction. That
//!    is so if no path of edges, through nodes that share a bit with any extra, leads from a
//!    changed instruction to its phi. All other extras are dropped, together, and what followed
//!    from them is evaluated again. None of the remaining extras was derived through a dropped one,
//!    for then a path would lead to its phi as well. If no pointer gains anything around a loop,
//!    there are no extras and nothing to decide.
//! 2. **More may come around a loop.** When everything else has been evaluated, the additional bits
//!    of a visited phi's backward inputs become part of its extra, and its readers are evaluated
//!    again. From then on sets only grow, so everything that was derived stays valid. An extra that
//!    was dropped although it holds is found again.
//!
//! A node is evaluated from the sets of its operands, or of values some steps further up;
//! [`readers`](super::readers) finds the nodes that depend on a changed instruction in that way.
//!
//! The content of a private object is a node as well. If private memory has changed, nodes get the
//! numbers that their versions have now ([`Renumbered`]). An instruction counts as changed if it
//! touches another slot than before, or if other versions reach it.
//!
//! Two properties of the graph matter. One is which blocks are reached: instructions for which that
//! has changed count as changed. The other is which edges are backward: if blocks or edges have
//! changed, the order is another one. Then the extras of phis that have not changed are computed
//! anew, from the sets before the edit. Phis that have changed begin without extras, since extras
//! may be too small at the beginning.
//!
//! [`refined`](super::refined) updates what tests of addresses tell, and says which instructions
//! have other sets for their operands; these instructions count as changed.
//!
//! An integer of which nothing is known, such as a product, has no set, and its readers take it for
//! anything. A change of its operation can give it a set, or take the set away. So the readers of a
//! changed integer are always evaluated, and its set before the change counts as anything.
//!
//! Three changes are not handled by repair: the first or last integer that becomes a pointer; the
//! end of a memory phi that had an extra; more nodes than a bound. Then everything is found anew.
//!
//! **Complexity.** O(changed instructions, nodes whose sets have changed, and their readers), each
//! a few hash look-ups and evaluations; if blocks have changed, also O(blocks + edges + phis).

mod repair;

use std::sync::Arc;

use phalanx_graph::{Cfg, Dfs, DomTree, Node};
use phalanx_ir::{Const, InstId, Opcode, Value, flow::node_of};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use self::repair::Repair;
use super::{
    MemoryKinds, SpaceFacts,
    extras::Extras,
    numbers::{inst_of, number},
    readers::Tables,
    refined::{Tests, refined_uses},
    rules::{Input, SpaceRules},
    solve::{Sets, Solver, constant_addresses},
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
    sets: Sets,
    readers: Readers,
    /// Position of each block in reverse postorder.
    rank: Vec<u32>,
    extras: Extras,
    /// Phis that have sets.
    phis: FxHashSet<InstId>,
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
        let tests = Tests::new(solver.rules.refinements.clone(), support, &calls);
        let rank = ranks(cfg);
        let readers = memory.readers();
        let definitions = memory.events().len();
        let mut tables = Tables::default();
        let (mut casts, mut asked) = (FxHashSet::default(), FxHashMap::default());
        let mut counts: FxHashMap<Const, u32> = FxHashMap::default();
        let (mut extras, mut phis) = (Extras::default(), FxHashSet::default());
        let work = Work { code, dom, rank: &rank };
        for inst in code.flow.order().iter().flat_map(|&block| code.body.block_insts(block)) {
            if code.body.inst(inst).opcode == Opcode::IntToPtr {
                casts.insert(inst);
            }
            tables.note(code, inst);
            let constants = work.asked(inst);
            for &constant in &constants {
                *counts.entry(constant).or_default() += 1;
            }
            if !constants.is_empty() {
                asked.insert(inst, constants);
            }
            if code.body.inst(inst).opcode == Opcode::Phi && solver.rules.is_tracked(inst) {
                phis.insert(inst);
                work.extra(&mut solver, ReaderNode::Value(inst), &mut extras);
            }
        }
        for at in 0..memory.ssa().phis().len() {
            let place = ReaderNode::Content((definitions + at) as u32);
            work.extra(&mut solver, place, &mut extras);
        }
        let (answer, sets) = solver.finish();
        RetainedKinds {
            memory,
            sets,
            readers,
            rank,
            extras,
            phis,
            tables,
            casts,
            asked,
            counts,
            tests,
            answer,
        }
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
        let Edited { own: changed, blocks, .. } = edited;
        let body = code.body;
        let count = body.id_count();
        if count < self.sets.values.len() || changed.len() > SPACE_STEPS {
            return None;
        }
        let others = self.renumber(memory)?;
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
        self.sets.values.resize(count, 0);
        self.answer.values.grow(count, SpaceSet::ALL);
        let mut rules = SpaceRules::new(code, env, &self.memory, facts, false);
        rules.has_integers = had_casts;
        rules.refinements = std::mem::take(&mut self.tests.refinements);
        let has_refinements = had_refinements || !rules.refinements.is_empty();
        let sets = std::mem::take(&mut self.sets);
        let mut solver = Solver::resume(rules, dom, sets);
        for &inst in changed {
            let is_phi = body.block_of(inst).is_some() && body.inst(inst).opcode == Opcode::Phi;
            match is_phi && solver.rules.is_tracked(inst) {
                true => self.phis.insert(inst),
                false => self.phis.remove(&inst),
            };
        }
        if blocks.is_some() {
            self.rank = ranks(cfg);
            self.extras = Extras::default();
            let work = Work { code, dom, rank: &self.rank };
            for &phi in self.phis.iter().filter(|phi| read.binary_search(phi).is_err()) {
                work.extra(&mut solver, ReaderNode::Value(phi), &mut self.extras);
            }
            let definitions = self.memory.events().len() as u32;
            let count = self.memory.ssa().phis().len() as u32;
            for phi in (0..count).filter(|phi| !others.phis.contains(phi)) {
                work.extra(&mut solver, ReaderNode::Content(definitions + phi), &mut self.extras);
            }
        }
        let mut repair = Repair {
            solver,
            work: Work { code, dom, rank: &self.rank },
            readers: &self.readers,
            extras: &mut self.extras,
            changed: FxHashSet::default(),
            visited: 0,
        };
        let visited = repair.run(&read, &others.phis).then_some(repair.visited);
        let (of_others, mut solver) = (repair.changed, repair.solver);
        visited?;
        let mut of_constants: Vec<(Const, SpaceSet)> = Vec::new();
        let mut is_new = false;
        for &inst in changed {
            let constants = match body.block_of(inst).is_some() {
                true => Work { code, dom, rank: &self.rank }.asked(inst),
                false => SmallVec::new(),
            };
            for &constant in &constants {
                let count = self.counts.entry(constant).or_default();
                *count += 1;
                if *count == 1 {
                    is_new = true;
                    let set = solver.of(Value::constant(constant));
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
        told.extend(of_others.into_iter().filter_map(inst_at));
        let is_reached = |inst| body.block_of(inst).is_some_and(|b| dom.is_reachable(node_of(b)));
        for &inst in &told {
            let is_told = is_reached(inst) && solver.rules.is_tracked(inst);
            let set = match is_told {
                true => SpaceSet::from_bits(solver.sets.get(number(inst)) as u16),
                false => SpaceSet::ALL,
            };
            self.answer.values.set(number(inst), set, SpaceSet::ALL);
        }
        if has_refinements {
            let uses = refined_uses(&mut solver, told, is_reached, &self.answer.uses);
            self.answer.uses = uses.into();
        }
        self.tests.refinements = std::mem::take(&mut solver.rules.refinements);
        self.sets = solver.into_sets();
        visited
    }
}

impl RetainedKinds {
    /// Gives nodes the numbers that their versions have in the present private memory. Returns what
    /// differs there, or None if that is not known.
    fn renumber(&mut self, memory: &Arc<PrivateMemory>) -> Option<Renumbered> {
        if Arc::ptr_eq(&self.memory, memory) {
            return Some(Renumbered::default());
        }
        let renumbered = memory.renumbered(&self.memory);
        if self.extras.renumber(&renumbered) {
            return None;
        }
        self.sets.content = renumbered.table(&self.sets.content);
        self.readers = memory.readers();
        self.memory = Arc::clone(memory);
        Some(renumbered)
    }
}

/// The position of each block in reverse postorder.
fn ranks(cfg: &Cfg) -> Vec<u32> {
    let dfs = Dfs::new(cfg);
    let rank = |at| dfs.rpo_index(Node::new(at)).unwrap_or(u32::MAX);
    (0..cfg.node_count()).map(rank).collect()
}

fn inst_at(place: ReaderNode) -> Option<InstId> {
    match place {
        ReaderNode::Value(inst) => Some(inst),
        ReaderNode::Content(_) => None,
    }
}

/// What a repair knows of the function.
#[derive(Clone, Copy)]
struct Work<'a> {
    code: Code<'a>,
    dom: &'a DomTree,
    rank: &'a [u32],
}

impl Work<'_> {
    /// The constants whose sets the answer has because of an instruction, if it is reached.
    fn asked(&self, inst: InstId) -> SmallVec<[Const; 2]> {
        match self.is_reached(inst) {
            true => constant_addresses(self.code, inst).collect(),
            false => SmallVec::new(),
        }
    }

    fn is_reached(&self, inst: InstId) -> bool {
        let block = self.code.body.block_of(inst);
        block.is_some_and(|block| self.dom.is_reachable(node_of(block)))
    }

    /// What the forward inputs of a node give, and what its backward inputs give.
    fn parts(&self, solver: &mut Solver<'_>, place: ReaderNode) -> (u64, u64) {
        let (mut forward, mut backward) = (0, 0);
        match place {
            ReaderNode::Value(inst) if self.code.body.inst(inst).opcode == Opcode::Phi => {
                let here = self.code.body.block_of(inst).map_or(0, |b| self.rank_of(node_of(b)));
                let mut inputs: SmallVec<[Input; 8]> = SmallVec::new();
                solver.rules.inputs(inst, |input| inputs.push(input));
                for input in inputs {
                    let set = solver.read(input, inst);
                    match input {
                        Input::Incoming(_, from) if self.rank_of(from) >= here => backward |= set,
                        _ => forward |= set,
                    }
                }
                (solver.rules.clamp(inst, forward), solver.rules.clamp(inst, backward))
            }
            ReaderNode::Value(inst) => (solver.evaluate(number(inst)), 0),
            ReaderNode::Content(at) => {
                let memory = solver.rules.memory;
                let definitions = memory.events().len();
                let node = solver.sets.values.len() + at as usize;
                let Some(phi) = (at as usize).checked_sub(definitions) else {
                    return (solver.evaluate(node), 0);
                };
                let phi = &memory.ssa().phis()[phi];
                let here = self.rank_of(phi.block);
                for &(from, version) in memory.ssa().incoming(phi) {
                    let set = solver.read(Input::Version(version), inst_of(0));
                    match self.rank_of(from) >= here {
                        true => backward |= set,
                        false => forward |= set,
                    }
                }
                (forward, backward)
            }
        }
    }

    fn rank_of(&self, node: Node) -> u32 {
        self.rank.get(node.index()).copied().unwrap_or(u32::MAX)
    }

    /// Records what a phi has from backward inputs alone.
    fn extra(&self, solver: &mut Solver<'_>, place: ReaderNode, extras: &mut Extras) {
        if let ReaderNode::Value(inst) = place
            && !self.is_reached(inst)
        {
            return;
        }
        let (forward, backward) = self.parts(solver, place);
        extras.add(place, backward & !forward);
    }
}
