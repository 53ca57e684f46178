//! Lowers again the instructions that changed.
//!
//! Most rules look at an instruction and at the types of its operands, which never change. A few
//! rules also look at the instruction that defines an operand:
//!
//! - the rule of a member of a call's result looks at the call;
//! - LLVM's rule for shifts and masks looks at whether they drop the lane's part of the thread
//!   index;
//! - our rules look at [shapes](crate::shape);
//! - the rule of a call looks at the blocks of its arguments.
//!
//! So an instruction is lowered again if its rule looks at an instruction that changed or whose
//! shape changed; def-use lists give these users. An instruction that no longer looks at a changed
//! one has itself changed.
//!
//! O(changed instructions, their operands, and the instructions whose rules look at them).

use phalanx_core::{
    affect::Value,
    divergence::{self, Incoming, PhiKey, repair::EditableTable},
};
use phalanx_graph::Node;
use phalanx_ir::{
    BlockId, Body, InstId, Opcode,
    flow::{block_of, node_of},
};
use phalanx_target::SourceSet;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::build::lower;
use super::full::FullRules;
use super::llvm::LlvmRules;
use super::private::{MemoryRows, PartRows, RowNumbers};
use super::rule::{
    LoweringRules, TerminatorRule, constant_key, has_operands, incoming, operands, rule_of,
};
use crate::code::{Code, Environment, Numbering};
use crate::{
    memory::{Numbered, Part, Patches, PrivateMemoryUpdater, PrivateView},
    shape::{ShapeContext, Shapes, compared_with},
};

/// A short list of instructions.
pub(crate) type Insts = SmallVec<[InstId; 16]>;

/// The state that is retained to bring the tables of a lowering up to date.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    /// The shapes that rules have used; none for LLVM's rules.
    shapes: Option<Box<Shapes>>,
}

/// Versions of private memory in a table, and what they are made from.
pub(crate) struct Restated<'a> {
    /// Which values stand for which rows.
    pub(crate) rows: &'a mut RowNumbers,
    /// Private memory as it is now.
    pub(crate) memory: &'a mut PrivateMemoryUpdater,
    /// The graph as it is now.
    pub(crate) graph: Numbered<'a>,
    /// The patches of private memory that have changed, and parts of other patches; none if all of
    /// it may have changed.
    pub(crate) patches: Option<(Patches, Vec<Part>)>,
}

/// Whether rules for instructions with this opcode look at the definitions of the operands.
fn looks(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::ExtractValue
            | Opcode::LShr
            | Opcode::AShr
            | Opcode::UDiv
            | Opcode::And
            | Opcode::Call
            | Opcode::Invoke
    )
}

/// Whether a rule may look at the block of an instruction that was moved from another one: its own,
/// or one that reads it.
///
/// Some rules ask whether an instruction and what it reads are in one block, which changes if one
/// of the two was moved and the other was left behind. The rules of calls and of comparisons with
/// what grows in a loop also ask whether what they read is in the entry: a split moves instructions
/// out of the entry, a merge into it.
fn looks_at_block(code: Code<'_>, inst: InstId, before: BlockId) -> bool {
    let Code { body, flow, .. } = code;
    let opcode = |inst: InstId| body.inst(inst).opcode;
    let reads_phi = |inst: InstId| {
        body.operands(inst)
            .iter()
            .any(|of| of.as_inst().is_some_and(|of| opcode(of) == Opcode::Phi))
    };
    let is_own = matches!(
        opcode(inst),
        Opcode::Phi | Opcode::Alloca | Opcode::Call | Opcode::ExtractValue | Opcode::ICmp
    );
    let is_left = |of: InstId| body.block_of(of) == Some(before);
    is_own
        || opcode(inst).is_terminator()
        || body.operands(inst).iter().filter_map(|of| of.as_inst()).any(is_left)
        || (flow.entry() == Some(before) || flow.entry() == body.block_of(inst))
            && body.uses_of(inst.into()).any(|of| match opcode(of.user) {
                Opcode::Call | Opcode::Invoke | Opcode::Phi => true,
                Opcode::Add | Opcode::Sub => reads_phi(of.user),
                _ => false,
            })
}

/// The changed instructions and those whose rules look at them, in order.
fn with_lookers(body: &Body, changed: &[InstId]) -> Insts {
    let mut all = Insts::from_slice(changed);
    for &inst in changed {
        for user in body.uses_of(inst.into()).map(|of| of.user) {
            if looks(body.inst(user).opcode) {
                all.push(user);
            }
        }
    }
    all.sort_unstable_by_key(|inst| inst.into_raw().into_u32());
    all.dedup();
    all
}

impl Neighbours {
    /// For a function whose tables were made by [`as_llvm`](super::as_llvm), whose rules use no
    /// shapes.
    #[must_use]
    pub fn of_llvm() -> Self {
        Self::default()
    }

    /// For a function whose tables were made by [`full`](super::full). O(one lowering).
    #[must_use]
    pub fn of_full(code: Code<'_>, env: Environment<'_>) -> Self {
        let mut rules = FullRules::new(code, env);
        lower(code, &mut rules);
        Self::with_shapes(rules.into_shapes())
    }

    /// For a function whose tables were made from these shapes.
    pub(crate) fn with_shapes(mut shapes: Box<Shapes>) -> Self {
        shapes.settle();
        Self { shapes: Some(shapes) }
    }

    /// Brings tables made by [`full`](super::full) up to date. Returns false if that failed: the
    /// tables then have to be made anew.
    #[must_use]
    pub fn update_full(
        &mut self,
        code: Code<'_>,
        env: Environment<'_>,
        changed: &[InstId],
        table: &mut EditableTable,
    ) -> bool {
        let Some(mut shapes) = self.shapes.take() else { return false };
        let Some(updated) = shapes.update(ShapeContext::new(code, env), changed) else {
            return false;
        };
        let mut rules = FullRules::with_shapes(code, env, shapes);
        Self::update(code, &mut rules, &updated.rules, table);
        self.shapes = Some(rules.into_shapes());
        true
    }

    /// Brings tables made by [`full_with`](super::full_with) up to date. Returns false if that
    /// failed.
    #[must_use]
    pub(crate) fn update_full_with(
        &mut self,
        code: Code<'_>,
        env: Environment<'_>,
        restated: Restated<'_>,
        changed: &[InstId],
        table: &mut EditableTable,
    ) -> bool {
        let Some(mut shapes) = self.shapes.take() else { return false };
        let Some(updated) = shapes.update(ShapeContext::new(code, env), changed) else {
            return false;
        };
        let Restated { rows: numbers, memory, graph, patches } = restated;
        let looked = PrivateView::Updated(memory);
        let mut rules = FullRules::with_shapes(code, env, shapes).with_memory(looked);
        let mut calls = Self::update(code, &mut rules, &updated.rules, table);
        // The operands of calls that read private memory are stated with its versions, and the
        // contents after such a call depend on its rule.
        let is_reader =
            |inst: InstId| !memory.passed(inst).is_empty() && code.body.block_of(inst).is_some();
        // After a split of a block, parts contain many of these instructions.
        let in_parts: FxHashSet<InstId> = match &patches {
            Some((_, parts)) => parts.iter().flat_map(|part| part.insts.iter().copied()).collect(),
            None => FxHashSet::default(),
        };
        let is_stated = |call: InstId| match &patches {
            Some((patches, _)) => memory.is_in(patches, call) || in_parts.contains(&call),
            None => true,
        };
        match memory.has_slots() {
            true => calls.retain(|&mut inst| is_reader(inst) && !is_stated(inst)),
            false => calls.clear(),
        }
        let shapes = rules.into_shapes();
        let patches = match patches {
            Some((mut patches, parts)) if !calls.is_empty() => {
                patches.extend(parts.iter().map(|part| part.patch));
                match memory.with_calls(code, env, graph, (&patches, &calls)) {
                    Some(patches) => Some((patches, Vec::new())),
                    None => return false,
                }
            }
            patches => patches,
        };
        let looked = PrivateView::Updated(memory);
        let mut rules = FullRules::with_shapes(code, env, shapes).with_memory(looked);
        let mut state = |rules: &mut FullRules<'_>, objects: Option<&[InstId]>, stated| {
            let rows = MemoryRows::new(code, rules, stated, None);
            numbers.update(&rows, objects, rules, code, table);
        };
        match patches {
            None => memory.whole().into_iter().for_each(|of| state(&mut rules, None, of)),
            Some((patches, parts)) => {
                for (objects, stated) in patches.iter().map(|&patch| memory.patch(patch)) {
                    state(&mut rules, Some(objects), stated);
                }
                for part in &parts {
                    let (_, stated) = memory.patch(part.patch);
                    let rows = PartRows::new(code, &rules, stated, part);
                    if !numbers.update_part(&rows, &mut rules, code, table) {
                        return false;
                    }
                }
            }
        }
        self.shapes = Some(rules.into_shapes());
        true
    }

    /// Brings tables made by [`as_llvm`](super::as_llvm) up to date.
    pub fn update_as_llvm(
        &self,
        code: Code<'_>,
        env: Environment<'_>,
        changed: &[InstId],
        table: &mut EditableTable,
    ) {
        Self::update(code, &mut LlvmRules::new(code, env, false), changed, table);
    }

    /// Lowers the changed instructions and those whose rules look at them; returns them.
    fn update(
        code: Code<'_>,
        rules: &mut dyn LoweringRules,
        changed: &[InstId],
        table: &mut EditableTable,
    ) -> Insts {
        let Code { header, flow, body, .. } = code;
        let Some(entry) = flow.entry().map(node_of) else { return Insts::new() };
        let numbering = Numbering::new(header);
        table.grow(header.params.len() + body.id_count(), flow.id_count());
        let mut read: SmallVec<[Value; 8]> = SmallVec::new();
        let mut entries: SmallVec<[Incoming; 4]> = SmallVec::new();
        let all = with_lookers(body, changed);
        for &inst in &all {
            let value = numbering.inst(inst);
            let Some(block) = body.block_of(inst).map(node_of) else {
                table.set_value(value, entry, divergence::Definition::IMPURE, None, &[]);
                continue;
            };
            let opcode = body.inst(inst).opcode;
            if opcode == Opcode::Phi {
                entries.clear();
                incoming(code.context, body, numbering, rules, inst, |entry| entries.push(entry));
                table.set_phi(value, block, divergence::Definition::PURE, &entries);
                continue;
            }
            let rule = rule_of(body, rules, inst);
            read.clear();
            if has_operands(opcode) {
                operands(body, numbering, inst, rule.reads, |operand| read.push(operand));
            }
            table.set_value(value, block, rule.definition, rule.image.as_ref(), &read);
            if opcode.is_terminator() {
                terminator(body, numbering, (inst, block), rules, table);
            }
        }
        all
    }

    /// Instructions that are in another block than a table says, and phis that may have other
    /// entries, in order: after blocks were split or merged. O(instructions), or O(instructions of
    /// `blocks` and phis of their successors).
    #[must_use]
    pub fn moved(code: Code<'_>, blocks: Option<&[BlockId]>, table: &EditableTable) -> Vec<InstId> {
        let Code { body, flow, .. } = code;
        let numbering = Numbering::new(code.header);
        let is_moved = |inst: &InstId| {
            let value = numbering.inst(*inst);
            let block = body.block_of(*inst).map(node_of);
            value.index() >= table.len() || block.is_some_and(|b| b != table.block(value))
        };
        let is_phi = |inst: &InstId| body.inst(*inst).opcode == Opcode::Phi;
        let Some(blocks) = blocks else {
            return body.all_ids().filter(is_moved).collect();
        };
        let mut found: Vec<InstId> = Vec::new();
        for &block in blocks {
            found.extend(body.block_insts(block).filter(|inst| is_moved(inst) || is_phi(inst)));
            for &next in flow.successors(block) {
                found.extend(body.block_insts(next).take_while(is_phi));
            }
        }
        found.sort_unstable_by_key(|inst| inst.into_raw().into_u32());
        found.dedup();
        found
    }

    /// States that these instructions are in other blocks, and as they were otherwise. Returns
    /// those that have to be lowered again, since a rule may look at the block.
    #[must_use]
    pub(crate) fn relocate(
        code: Code<'_>,
        moved: &[InstId],
        table: &mut EditableTable,
    ) -> Vec<InstId> {
        let numbering = Numbering::new(code.header);
        let mut others = Vec::new();
        for &inst in moved {
            let value = numbering.inst(inst);
            let before = (value.index() < table.len()).then(|| block_of(table.block(value)));
            match (before, code.body.block_of(inst)) {
                (Some(before), Some(block)) if !looks_at_block(code, inst, before) => {
                    table.move_value(value, node_of(block));
                }
                _ => others.push(inst),
            }
        }
        others
    }

    /// States where the entries of phis come from, and takes phis out of `insts` of which nothing
    /// else has changed. What reads such a phi is lowered as before, but for comparisons with it
    /// where it is a stride, which are added.
    pub(crate) fn reroute(code: Code<'_>, insts: &mut Insts, table: &mut EditableTable) {
        let (body, numbering) = (code.body, Numbering::new(code.header));
        let mut comparisons = Insts::new();
        let mut entries: SmallVec<[Incoming; 8]> = SmallVec::new();
        let mut is_other = |phi: InstId| {
            let Some(block) = body.block_of(phi) else { return true };
            entries.clear();
            for (operand, pred) in body.phi_incoming(phi) {
                let value = numbering.operand(operand);
                let key = match (value, operand.as_const()) {
                    (Some(value), _) => PhiKey::value(value),
                    (None, Some(constant)) => constant_key(code.context, constant),
                    (None, None) => return true,
                };
                entries.push(Incoming { pred: node_of(pred), value, key });
            }
            if !table.reroute_phi(numbering.inst(phi), node_of(block), &entries) {
                return true;
            }
            compared_with(body, phi, |comparison| comparisons.push(comparison));
            false
        };
        insts.retain(|inst| body.inst(*inst).opcode != Opcode::Phi || is_other(*inst));
        insts.extend(comparisons);
    }

    /// Restates terminators after edges or blocks have changed: those of all blocks, or of
    /// `blocks`.
    pub fn update_terminators(
        code: Code<'_>,
        env: Environment<'_>,
        as_llvm: bool,
        blocks: Option<&[BlockId]>,
        table: &mut EditableTable,
    ) {
        let Code { header, flow, body, .. } = code;
        let numbering = Numbering::new(header);
        let mut full;
        let mut llvm;
        let rules: &mut dyn LoweringRules = if as_llvm {
            llvm = LlvmRules::new(code, env, false);
            &mut llvm
        } else {
            full = FullRules::new(code, env);
            &mut full
        };
        table.grow(0, flow.id_count());
        let update = |block: BlockId| match body.terminator(block) {
            Some(inst) => terminator(body, numbering, (inst, node_of(block)), rules, table),
            None => table.set_terminator(node_of(block), false, SourceSet::EMPTY, &[]),
        };
        match blocks {
            Some(blocks) => blocks.iter().copied().for_each(update),
            None => (0..flow.id_count()).map(|i| block_of(Node::new(i))).for_each(update),
        }
    }
}

fn terminator(
    body: &Body,
    numbering: Numbering,
    (inst, block): (InstId, Node),
    rules: &mut dyn LoweringRules,
    table: &mut EditableTable,
) {
    let (is_fixed, seed) = match rules.terminator(inst) {
        TerminatorRule::Fixed => (true, SourceSet::EMPTY),
        TerminatorRule::Source(sources) => (false, sources),
        TerminatorRule::Operands => (false, SourceSet::EMPTY),
    };
    let read = body.operands(inst).iter().filter_map(|&operand| numbering.operand(operand));
    let read: SmallVec<[Value; 2]> = if is_fixed { SmallVec::new() } else { read.collect() };
    table.set_terminator(block, is_fixed, seed, &read);
}
