//! Equal operations on both sides of a branch become one above it.
//!
//! Both sides are entered by the branch alone. Instructions of one side are paired with equal ones
//! of the other, in order. A pair of convergent operations moves if everything that stays before
//! either of them may also be executed behind it, and if its operands are available above the
//! branch or move there as well. Operands move only if they have no effects and no undefined
//! behaviour.
//!
//! If the branch is uniform at the scope of the operation, threads that are together at the branch
//! take one side together. So every group that executes the merged operation executed one of the
//! two together.

use phalanx_core::legality::machines::Machines;
use phalanx_db::{Database, FunctionInput};
use phalanx_ir::{BlockId, InstId, Opcode, Value, edit::Transaction};
use rustc_hash::{FxHashMap, FxHashSet};

use super::carry_out;
use crate::answers::Answers;
use crate::{
    code::Code,
    convergent::Operation,
    equal::{Key, stand_for},
    locations::Locations,
    pass::PassError,
};

/// How many instructions of a side are searched.
const INSTRUCTIONS: usize = 512;

/// What moves above one branch.
struct Moves {
    branch: BlockId,
    /// Pairs of one instruction per side, in order.
    pairs: Vec<(InstId, InstId)>,
}

pub(super) fn run(
    db: &mut Database,
    function: FunctionInput,
    machines: Machines,
) -> Result<bool, PassError> {
    let moves = search(db, function, machines);
    carry_out(db, function, &moves, apply)
}

fn apply(
    edit: &mut Transaction<'_>,
    moves: &Moves,
    locations: &mut Locations,
) -> Result<(), PassError> {
    for &(one, other) in &moves.pairs {
        edit.move_to_end(one, moves.branch)?;
        stand_for(edit, one, other)?;
        locations.merge(edit, one, other)?;
        edit.replace(other, one)?;
    }
    Ok(())
}

fn search(db: &Database, function: FunctionInput, machines: Machines) -> Vec<Moves> {
    let code = Code::of(db, function);
    let answers = Answers::new(db, function, machines);
    let mut all = Vec::new();
    // A block that a plan changes is not part of another plan.
    let mut touched: FxHashSet<BlockId> = FxHashSet::default();
    for &branch in code.flow.order() {
        let &[one, other] = code.flow.successors(branch) else { continue };
        let terminator = code.body.terminator(branch);
        let is_branch = terminator.is_some_and(|t| code.body.inst(t).opcode == Opcode::Br);
        if !is_branch
            || one == other
            || code.flow.in_degree(one) != 1
            || code.flow.in_degree(other) != 1
            || [branch, one, other].iter().any(|block| touched.contains(block))
        {
            continue;
        }
        let pairs = Sides { code, answers: &answers, one, other }.pairs();
        if !pairs.is_empty() {
            touched.extend([branch, one, other]);
            all.push(Moves { branch, pairs });
        }
    }
    all
}

struct Sides<'s, 'a> {
    code: Code<'a>,
    answers: &'s Answers<'a>,
    one: BlockId,
    other: BlockId,
}

impl Sides<'_, '_> {
    fn pairs(&self) -> Vec<(InstId, InstId)> {
        let Sides { code, one, other, .. } = self;
        let operation = |inst: InstId| Operation::of(code, inst);
        let has = |block| code.body.block_insts(block).any(|inst| operation(inst).is_some());
        if !has(*one) || !has(*other) {
            return Vec::new();
        }
        // The instructions of one side by what they compute; equal ones in order.
        let mut by_key: FxHashMap<Key, Vec<InstId>> = FxHashMap::default();
        let mut places: FxHashMap<InstId, usize> = FxHashMap::default();
        let itself = |value: Value| value;
        for (at, inst) in code.body.block_insts(*one).take(INSTRUCTIONS).enumerate() {
            places.insert(inst, at);
            if let Some(key) = self.key(inst, &itself) {
                by_key.entry(key).or_default().push(inst);
            }
        }
        by_key.values_mut().for_each(|list| list.reverse());
        // For instructions of the second side, the equal instruction of the first.
        let mut partner: FxHashMap<InstId, InstId> = FxHashMap::default();
        let mut moves: FxHashSet<InstId> = FxHashSet::default();
        let mut pairs: Vec<(InstId, InstId)> = Vec::new();
        let mut last = 0;
        for inst in code.body.block_insts(*other).take(INSTRUCTIONS) {
            let mapped = |value: Value| match value.as_inst().and_then(|i| partner.get(&i)) {
                Some(&partner) => partner.into(),
                None => value,
            };
            let Some(key) = self.key(inst, &mapped) else { continue };
            let found = by_key.get_mut(&key).and_then(Vec::pop);
            let Some(found) = found else { continue };
            partner.insert(inst, found);
            let Some(operation) = operation(inst) else { continue };
            // The relative order of two convergent operations must be the same on both sides.
            if places[&found] < last
                || !code.may_be_merged(inst)
                || !self.answers.can_merge(operation.scope, [*one, *other])
            {
                continue;
            }
            let Some(needed) = self.needed((found, inst), &partner, &moves) else { continue };
            let mut new: Vec<(InstId, InstId)> = needed;
            new.push((found, inst));
            let will_move = |inst: &InstId| {
                moves.contains(inst) || new.iter().any(|pair| pair.0 == *inst || pair.1 == *inst)
            };
            let passes = |block: BlockId, inst: InstId| {
                let before = code.body.block_insts(block).take_while(|&i| i != inst);
                before.filter(|i| !will_move(i)).all(|i| operation.passes(code, i))
            };
            if !passes(*one, found) || !passes(*other, inst) {
                continue;
            }
            last = places[&found];
            moves.extend(new.iter().flat_map(|&(a, b)| [a, b]));
            pairs.extend(new);
        }
        pairs
    }

    fn key(&self, inst: InstId, resolve: &dyn Fn(Value) -> Value) -> Option<Key> {
        match Operation::of(&self.code, inst) {
            Some(_) => Some(Key::of_call(&self.code, inst, resolve)),
            None => Key::of_operation(&self.code, inst, resolve),
        }
    }

    /// The pairs that must move before a pair does, in order; none when one of its operands cannot
    /// move.
    fn needed(
        &self,
        pair: (InstId, InstId),
        partner: &FxHashMap<InstId, InstId>,
        moves: &FxHashSet<InstId>,
    ) -> Option<Vec<(InstId, InstId)>> {
        let body = self.code.body;
        let mut needed: Vec<(InstId, InstId)> = Vec::new();
        let mut work = vec![pair];
        while let Some((_, second)) = work.pop() {
            for operand in body.operands(second) {
                let Some(read) = operand.as_inst() else { continue };
                let is_there = body.block_of(read) != Some(self.other);
                if is_there || moves.contains(&read) || needed.iter().any(|n| n.1 == read) {
                    continue;
                }
                let &first = partner.get(&read)?;
                // What one call demands of its operands is not known to hold for the threads of the
                // other side.
                let is_free = |inst: InstId| {
                    let is_call = body.inst(inst).opcode.is_call();
                    self.code.is_speculatable(inst) && !(is_call && self.code.demands_defined(inst))
                };
                if !is_free(read) || !is_free(first) {
                    return None;
                }
                needed.push((first, read));
                work.push((first, read));
            }
        }
        // In block order an operation comes after its operands.
        let order: FxHashMap<InstId, usize> =
            body.block_insts(self.other).enumerate().map(|(at, inst)| (inst, at)).collect();
        needed.sort_unstable_by_key(|n| order.get(&n.1).copied());
        needed.dedup();
        Some(needed)
    }
}
