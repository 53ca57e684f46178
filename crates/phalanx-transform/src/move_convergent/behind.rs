//! Equal operations on both sides of a branch become one behind it.
//!
//! Both sides lead to one block and nowhere else. From the ends of the sides upwards, each
//! instruction is paired with one of the other side that does the same, possibly with other
//! operands. A pair moves if two conditions hold. It may be executed after everything that stays
//! behind it; and all its readers move as well, or are a phi of both. Where operands differ, a new
//! phi selects one. Constant operands have to be equal on both sides, since some operands must be
//! constants.
//!
//! If the branch is uniform at the scope of the operation, threads that are together behind it were
//! together on one side. So every group that executes the merged operation executed one of the two
//! together. Other instructions move only if they stand below a convergent operation that moves.
//!
//! ```text
//! T: %a = ballot(%p)   F: %b = ballot(%q)        T:     F:
//!    br %J                br %J          becomes J: %r = phi [ %p, %T ], [ %q, %F ]
//! J: %v = phi [ %a, %T ], [ %b, %F ]                %v = ballot(%r)
//! ```

use phalanx_core::legality::machines::Machines;
use phalanx_db::{Database, FunctionInput};
use phalanx_ir::{BlockId, InstId, Opcode, Type, Value, ValueKind, edit::Transaction};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

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
const INSTRUCTIONS: usize = 64;

/// How many new phis the merge of one convergent operation may cost.
const PHIS: usize = 3;

/// What moves behind one branch.
struct Moves {
    join: BlockId,
    sides: [BlockId; 2],
    /// Pairs of one instruction per side, in order.
    pairs: Vec<(InstId, InstId)>,
    /// Operands in which a pair differs: the first of the pair, its twin and the index. Each
    /// becomes a phi. The values are read when the plan is carried out: an earlier plan of the same
    /// transaction may have replaced them.
    phis: Vec<(InstId, InstId, usize)>,
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
    let &Moves { join, sides: [one, other], .. } = moves;
    let mut made: FxHashMap<(Value, Value), Value> = FxHashMap::default();
    for &(inst, twin, at) in &moves.phis {
        let (ours, theirs) = (edit.body().operands(inst)[at], edit.body().operands(twin)[at]);
        if ours == theirs {
            continue;
        }
        let phi = match made.get(&(ours, theirs)) {
            Some(&phi) => phi,
            None => {
                let ty = edit.type_of(ours).unwrap_or(Type::VOID);
                let phi = edit.at_start(join).phi(ty)?;
                if let Some(phi) = phi.as_inst() {
                    edit.add_phi_input(phi, ours, one)?;
                    edit.add_phi_input(phi, theirs, other)?;
                }
                made.insert((ours, theirs), phi);
                phi
            }
        };
        edit.set_operand(inst, at as u32, phi)?;
    }
    let body = edit.body();
    let first = body.block_insts(join).find(|&inst| body.inst(inst).opcode != Opcode::Phi);
    let Some(first) = first else { return Ok(()) };
    for &(inst, twin) in &moves.pairs {
        edit.move_before(inst, first)?;
        let joined: SmallVec<[InstId; 2]> = edit
            .body()
            .phis(join)
            .filter(|&phi| edit.phi_input(phi, one) == Some(inst.into()))
            .collect();
        for phi in joined {
            edit.replace(phi, inst)?;
        }
        stand_for(edit, inst, twin)?;
        locations.merge(edit, inst, twin)?;
        edit.replace(twin, inst)?;
    }
    Ok(())
}

fn search(db: &Database, function: FunctionInput, machines: Machines) -> Vec<Moves> {
    let code = Code::of(db, function);
    let answers = Answers::new(db, function, machines);
    let has = |block| code.body.block_insts(block).any(|i| Operation::of(&code, i).is_some());
    // The sides that lead to a block, by that block.
    let mut sides: FxHashMap<BlockId, SmallVec<[BlockId; 2]>> = FxHashMap::default();
    for &block in code.flow.order() {
        let &[to] = code.flow.successors(block) else { continue };
        let is_jump = code.body.terminator(block).map(|t| code.body.inst(t).opcode);
        if is_jump == Some(Opcode::Br) && code.flow.in_degree(to) == 2 && has(block) {
            sides.entry(to).or_default().push(block);
        }
    }
    let mut all = Vec::new();
    // A block that a plan changes is not part of another plan.
    let mut touched: FxHashSet<BlockId> = FxHashSet::default();
    for &join in code.flow.order() {
        let Some(&[one, other]) = sides.get(&join).map(SmallVec::as_slice) else { continue };
        if one == other || [join, one, other].iter().any(|block| touched.contains(block)) {
            continue;
        }
        let sides = Sides { code, answers: &answers, join, one, other };
        if let Some(moves) = sides.moves() {
            touched.extend([join, one, other]);
            all.push(moves);
        }
    }
    all
}

struct Sides<'s, 'a> {
    code: Code<'a>,
    answers: &'s Answers<'a>,
    join: BlockId,
    one: BlockId,
    other: BlockId,
}

/// What an instruction does, apart from operands that are not constant.
#[derive(PartialEq)]
enum Shape {
    Computes(Key),
    /// An access, with its alignment and other properties.
    Accesses(Opcode, Type, [u32; 2]),
}

/// The pairs that move, last one first.
#[derive(Default)]
struct Pairs {
    list: Vec<(InstId, InstId)>,
    partner: FxHashMap<InstId, InstId>,
}

impl Sides<'_, '_> {
    fn insts(&self, block: BlockId) -> Vec<InstId> {
        let body = self.code.body;
        let is_plain = |&inst: &InstId| {
            let opcode = body.inst(inst).opcode;
            opcode != Opcode::Phi && !opcode.is_terminator()
        };
        body.block_insts(block).filter(is_plain).collect()
    }

    fn moves(&self) -> Option<Moves> {
        let (ours, theirs) = (self.insts(self.one), self.insts(self.other));
        let mut pairs = Pairs::default();
        let mut end = theirs.len();
        for (at, &inst) in ours.iter().enumerate().rev().take(INSTRUCTIONS) {
            let Some(shape) = self.shape(inst) else { continue };
            let candidates = theirs[..end].iter().enumerate().rev().take(INSTRUCTIONS);
            let found = candidates.map(|(at, &twin)| (at, twin)).find(|&(place, twin)| {
                self.shape(twin).as_ref() == Some(&shape)
                    && self.can_move((inst, twin), (&ours[at + 1..], &theirs[place + 1..]), &pairs)
            });
            if let Some((place, twin)) = found {
                end = place;
                pairs.list.push((inst, twin));
                pairs.partner.extend([(inst, twin), (twin, inst)]);
            }
        }
        // Only convergent operations are worth a move.
        let is_operation = |&(inst, _): &(InstId, InstId)| self.operation(inst).is_some();
        let count = pairs.list.iter().filter(|pair| is_operation(pair)).count();
        let highest = pairs.list.iter().rposition(is_operation)?;
        for &(inst, twin) in &pairs.list[highest + 1..] {
            pairs.partner.remove(&inst);
            pairs.partner.remove(&twin);
        }
        pairs.list.truncate(highest + 1);
        pairs.list.reverse();
        let phis = self.phis(&pairs);
        let mut distinct: Vec<[Value; 2]> = phis
            .iter()
            .map(|&(inst, twin, at)| [inst, twin].map(|i| self.code.body.operands(i)[at]))
            .collect();
        distinct.sort_unstable();
        distinct.dedup();
        (distinct.len() <= PHIS * count).then_some(Moves {
            join: self.join,
            sides: [self.one, self.other],
            pairs: pairs.list,
            phis,
        })
    }

    fn operation(&self, inst: InstId) -> Option<Operation> {
        Operation::of(&self.code, inst)
    }

    /// What two instructions must have in common, apart from operands that are not constant.
    fn shape(&self, inst: InstId) -> Option<Shape> {
        let (code, data) = (&self.code, self.code.body.inst(inst));
        let resolve = |value: Value| match value.kind() {
            ValueKind::Inst(_) | ValueKind::Arg(_) => {
                code.context.const_poison(code.type_of(value)).into()
            }
            _ => value,
        };
        if self.operation(inst).is_some() {
            return Some(Shape::Computes(Key::of_call(code, inst, &resolve)));
        }
        if matches!(data.opcode, Opcode::Load | Opcode::Store) && !code.has_order(inst) {
            return Some(Shape::Accesses(data.opcode, data.ty, data.words));
        }
        Key::of_operation(code, inst, &resolve).map(Shape::Computes)
    }

    /// Whether a pair may be executed behind what stands after it, and its readers move there, too.
    fn can_move(
        &self,
        (inst, twin): (InstId, InstId),
        (ours, theirs): (&[InstId], &[InstId]),
        pairs: &Pairs,
    ) -> bool {
        let body = self.code.body;
        let sides = [self.one, self.other];
        if let Some(operation) = self.operation(inst)
            && !(self.code.may_be_merged(inst) && self.answers.can_merge(operation.scope, sides))
        {
            return false;
        }
        let operands = body.operands(inst).iter().zip(body.operands(twin));
        let agree = |(&a, &b): (&Value, &Value)| {
            a == b
                || self.can_differ(a)
                    && self.can_differ(b)
                    && self.code.type_of(a) == self.code.type_of(b)
        };
        if !operands.into_iter().all(agree) {
            return false;
        }
        let passes = |inst: InstId, behind: &[InstId]| {
            let mut stay = behind.iter().filter(|other| !pairs.partner.contains_key(other));
            stay.all(|&other| self.passes(inst, other))
        };
        let phis_agree = body.phis(self.join).all(|phi| {
            let reads = |from: BlockId, what: InstId| {
                body.phi_incoming(phi).any(|(v, b)| b == from && v == Value::from(what))
            };
            reads(self.one, inst) == reads(self.other, twin)
        });
        phis_agree
            && passes(inst, ours)
            && passes(twin, theirs)
            && self.readers_move(inst, twin, ours, pairs)
            && self.readers_move(twin, inst, theirs, pairs)
    }

    /// Whether every reader of an instruction behind it moves, and is paired with a reader of the
    /// twin.
    fn readers_move(&self, inst: InstId, twin: InstId, behind: &[InstId], pairs: &Pairs) -> bool {
        let body = self.code.body;
        behind.iter().all(|&user| {
            (0..).zip(body.operands(user)).all(|(at, &operand): (usize, _)| {
                operand != Value::from(inst)
                    || pairs
                        .partner
                        .get(&user)
                        .is_some_and(|&other| body.operands(other).get(at) == Some(&twin.into()))
            })
        })
    }

    /// Whether a value may become an operand of a phi.
    fn can_differ(&self, value: Value) -> bool {
        match value.kind() {
            ValueKind::Arg(_) => true,
            // A stack slot behind a phi can no longer be analysed as a slot.
            ValueKind::Inst(inst) => {
                let data = self.code.body.inst(inst);
                data.opcode != Opcode::Alloca && data.ty != Type::TOKEN
            }
            _ => false,
        }
    }

    /// Whether an instruction may be executed after one that stands behind it.
    fn passes(&self, inst: InstId, behind: InstId) -> bool {
        let code = &self.code;
        if let Some(operation) = self.operation(inst) {
            return operation.passes(code, behind);
        }
        match code.body.inst(inst).opcode {
            Opcode::Load => !code.has_side_effects(behind),
            Opcode::Store => code.is_pure_operation(behind),
            _ => true,
        }
    }

    /// Operands that differ between both sides.
    fn phis(&self, pairs: &Pairs) -> Vec<(InstId, InstId, usize)> {
        let body = self.code.body;
        let mut phis = Vec::new();
        for &(inst, twin) in &pairs.list {
            for (at, (&a, &b)) in body.operands(inst).iter().zip(body.operands(twin)).enumerate() {
                let moves = a.as_inst().is_some_and(|a| {
                    pairs.partner.get(&a).is_some_and(|&partner| b == partner.into())
                });
                if a != b && !moves {
                    phis.push((inst, twin, at));
                }
            }
        }
        phis
    }
}
