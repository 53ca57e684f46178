//! Random edits of a function, made on its parts directly: the lowering is told only which
//! instructions changed.

use super::goes_round;
use phalanx_analysis::lower::{Code, Library};
use phalanx_ir::inst::{InstFlags, Opcode, OperandRange};
use phalanx_ir::{BlockId, Body, Context, Function, InstData, InstId, Type, Value};
use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

pub(super) fn code<'a>(context: &'a Context, function: &'a Function) -> Code<'a> {
    let (header, flow, body) = (&function.header, &function.flow, &function.body);
    Code { context, header, flow, body, library: Library::NONE }
}

pub(super) fn type_of(context: &Context, function: &Function, value: Value) -> Option<Type> {
    if let Some(inst) = value.as_inst() {
        return Some(function.body.inst(inst).ty);
    }
    if let Some(position) = value.as_arg() {
        return function.header.params.get(position as usize).copied();
    }
    Some(context.const_data(value.as_const()?).ty)
}

/// Another value of the same type, from anywhere in the function.
pub(super) fn another(
    context: &Context,
    function: &Function,
    rng: &mut SmallRng,
    old: Value,
) -> Value {
    let body = &function.body;
    let ty = type_of(context, function, old);
    for _ in 0..40 {
        let inst = InstId::from_raw((rng.random_range(0..body.id_count()) as u32).into());
        let found = match rng.random_range(0..4) {
            0 => {
                let count = function.header.params.len() as u32;
                if count == 0 { continue } else { Value::arg(rng.random_range(0..count)) }
            }
            1 => match body.operands(inst).choose(rng) {
                Some(operand) => *operand,
                None => continue,
            },
            _ if body.block_of(inst).is_some() => Value::inst(inst),
            _ => continue,
        };
        if type_of(context, function, found) == ty && ty.is_some() {
            return found;
        }
    }
    old
}

pub(super) fn replace_uses(body: &mut Body, old: InstId, new: Value, changed: &mut Vec<InstId>) {
    for inst in body.all_ids() {
        if body.block_of(inst).is_some() && body.operands(inst).contains(&Value::inst(old)) {
            for operand in body.operands_mut(inst) {
                if *operand == Value::inst(old) {
                    *operand = new;
                }
            }
            changed.push(inst);
        }
    }
}

/// One edit of instructions; what it changed.
pub(super) fn edit(context: &Context, function: &mut Function, rng: &mut SmallRng) -> Vec<InstId> {
    let mut changed = Vec::new();
    let linked: Vec<InstId> =
        function.body.all_ids().filter(|&i| function.body.block_of(i).is_some()).collect();
    let Some(&inst) = linked.choose(rng) else { return changed };
    let opcode = function.body.inst(inst).opcode;
    match rng.random_range(0..10) {
        0..=4 => {
            let operands = function.body.operands(inst);
            let last = operands.len().saturating_sub(usize::from(opcode.is_call()));
            if last > 0 {
                let at = rng.random_range(0..last);
                let new = another(context, function, rng, operands[at]);
                if operands[at].as_block().is_none() {
                    function.body.operands_mut(inst)[at] = new;
                    changed.push(inst);
                }
            }
        }
        5 if opcode.is_binary() => {
            let others = [Opcode::Add, Opcode::And, Opcode::LShr, Opcode::Shl, Opcode::UDiv];
            function.body.inst_mut(inst).opcode = *others.choose(rng).expect("some");
            changed.push(inst);
        }
        6 if !opcode.is_terminator() => {
            let with = another(context, function, rng, Value::inst(inst));
            if with != Value::inst(inst) {
                replace_uses(&mut function.body, inst, with, &mut changed);
                function.body.unlink(inst);
                changed.push(inst);
            }
        }
        7 if !opcode.is_terminator() && opcode != Opcode::Phi => {
            let data = *function.body.inst(inst);
            let operands = function.body.operands(inst).to_vec();
            let copy = function.body.create(data, &operands);
            function.body.insert_before(copy, inst);
            replace_uses(&mut function.body, inst, Value::inst(copy), &mut changed);
            changed.push(copy);
        }
        8 if !opcode.is_terminator() && opcode != Opcode::Phi => {
            let Some(&block) = function.flow.order().choose(rng) else { return changed };
            if let Some(end) = function.body.terminator(block) {
                function.body.unlink(inst);
                function.body.insert_before(inst, end);
                changed.push(inst);
            }
        }
        _ => {}
    }
    changed
}

/// Some edits, after which no value depends on itself but through a phi: such a one is not
/// executed, and whatever is said of it is right.
pub(super) fn edits(
    context: &Context,
    function: &mut Function,
    rng: &mut SmallRng,
    most: usize,
) -> Vec<InstId> {
    loop {
        let mut edited = function.clone();
        let mut changed = Vec::new();
        for _ in 0..rng.random_range(1..=most) {
            changed.extend(edit(context, &mut edited, rng));
        }
        if !goes_round(&edited.body) {
            *function = edited;
            return changed;
        }
    }
}

/// Moves the instructions of a block that is entered from one other block to the end of that one,
/// and leaves it unreachable; what changed besides.
fn merge(function: &mut Function, block: BlockId) -> Vec<InstId> {
    let mut changed = Vec::new();
    let &[next] = function.flow.successors(block) else { return changed };
    let is_entry = function.flow.entry() == Some(next);
    let Some(end) = function.body.terminator(block) else { return changed };
    if next == block || is_entry || function.flow.in_degree(next) != 1 {
        return changed;
    }
    let phis: Vec<InstId> = function.body.phis(next).collect();
    for phi in phis {
        let Some((value, _)) = function.body.phi_incoming(phi).next() else { return changed };
        replace_uses(&mut function.body, phi, value, &mut changed);
        function.body.unlink(phi);
        changed.push(phi);
    }
    let Function { flow, body, .. } = function;
    body.unlink(end);
    changed.push(end);
    let moved: Vec<InstId> = body.block_insts(next).collect();
    for &inst in &moved {
        body.unlink(inst);
        body.append(block, inst);
    }
    changed.push(body.push(next, without_operands(Opcode::Unreachable), &[]));
    let successors = flow.successors(next).to_vec();
    flow.set_successors(next, &[]);
    flow.set_successors(block, &successors);
    rename_incoming(body, &successors, next, block, &mut changed);
    changed
}

/// A terminator without operands.
fn without_operands(opcode: Opcode) -> InstData {
    InstData {
        opcode,
        sub: 0,
        flags: InstFlags::default(),
        ty: Type::VOID,
        operands: OperandRange { start: 0, len: 0 },
        words: [0; 2],
    }
}

/// The phis of blocks are entered from `new` where they were entered from `old`.
fn rename_incoming(
    body: &mut Body,
    blocks: &[BlockId],
    old: BlockId,
    new: BlockId,
    changed: &mut Vec<InstId>,
) {
    for &to in blocks {
        let phis: Vec<InstId> = body.phis(to).collect();
        for phi in phis {
            for operand in body.operands_mut(phi) {
                if *operand == Value::block(old) {
                    *operand = Value::block(new);
                }
            }
            changed.push(phi);
        }
    }
}

/// Splits a block, merges one into another, or lets a branch go one way; what changed, without
/// instructions that are only in another block: the lowering finds them.
pub(super) fn edit_flow(function: &mut Function, rng: &mut SmallRng) -> Vec<InstId> {
    if rng.random_bool(0.3) {
        // The entry as often as all other blocks together.
        let all = function.flow.order();
        let block = if rng.random_bool(0.5) { all.first() } else { all.choose(rng) };
        let block = block.copied();
        return block.map_or_else(Vec::new, |block| merge(function, block));
    }
    let Function { flow, body, .. } = function;
    let mut changed = Vec::new();
    let Some(&block) = flow.order().choose(rng) else { return changed };
    let Some(end) = body.terminator(block) else { return changed };
    let successors = flow.successors(block).to_vec();
    if rng.random_bool(0.3) {
        if let [to, _] = successors[..] {
            body.set_operands(end, &[]);
            flow.set_successors(block, &[to]);
            changed.push(end);
        }
        return changed;
    }
    let insts: Vec<InstId> =
        body.block_insts(block).filter(|&i| body.inst(i).opcode != Opcode::Phi).collect();
    let rest = &insts[rng.random_range(0..insts.len())..];
    let new = flow.create_block();
    flow.append_block(new);
    for &inst in rest {
        body.unlink(inst);
        body.append(new, inst);
    }
    let jump = without_operands(Opcode::Br);
    changed.push(body.push(block, jump, &[]));
    flow.set_successors(new, &successors);
    flow.set_successors(block, &[new]);
    rename_incoming(body, &successors, block, new, &mut changed);
    changed
}
