//! Sinks an operation to the only block that reads it.
//!
//! The operation must compute a value and have no other effect. The move pays only if some threads
//! that execute the operation do not come to that block. The threads that are together in the block
//! are those that were together before, so the value is the same. No call in between may keep some
//! of them from coming ([`ends`](crate::ends)).

use phalanx_core::legality::machines::Machines;
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::{BlockId, Body, InstId, Opcode, edit::Transaction, flow::node_of};

use crate::answers::Answers;
use crate::{
    code::Code,
    convergent::Operation,
    ends::{Ends, InstPlace},
    locations::Locations,
    pass::PassError,
};

/// A planned move of an operation.
struct Move {
    inst: InstId,
    to: BlockId,
}

pub(super) fn run(
    db: &mut Database,
    function: FunctionInput,
    machines: Machines,
) -> Result<bool, PassError> {
    let candidates: Vec<InstId> = {
        let code = Code::of(db, function);
        let all = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        let is_pure = |&inst: &InstId| Operation::of(&code, inst).is_some_and(|o| o.is_pure());
        all.filter(is_pure).collect()
    };
    if candidates.is_empty() {
        return Ok(false);
    }
    // The readers of a value are known within a transaction; legality is asked outside of it.
    let mut read = Vec::new();
    db.edit(function, |edit| {
        read.extend(candidates.iter().filter_map(|&inst| place(edit, inst)));
        Ok::<_, PassError>(())
    })?;
    let moves: Vec<Move> = {
        let code = Code::of(db, function);
        let answers = Answers::new(db, function, machines);
        let ends = Ends::new(&code);
        let all_come = |found: &Move| all_come(&code, &answers, &ends, found);
        let is_worth = |found: &Move| is_worth(&code, &answers, found) && all_come(found);
        read.into_iter().filter(is_worth).collect()
    };
    if moves.is_empty() {
        return Ok(false);
    }
    let mut locations = Locations::new();
    db.edit(function, |edit| {
        moves.iter().rev().try_for_each(|found| {
            locations.drop(edit, found.inst)?;
            apply(edit, found)
        })
    })?;
    locations.finish(db, function)?;
    Ok(true)
}

/// The only block that reads an operation, if that is not its own block.
fn place(edit: &Transaction<'_>, inst: InstId) -> Option<Move> {
    let body = edit.body();
    let mut to = None;
    for found in edit.uses_of(inst) {
        let at = match body.inst(found.user).opcode {
            Opcode::Phi => body.phi_incoming(found.user).nth(found.index as usize)?.1,
            _ => body.block_of(found.user)?,
        };
        if to.is_some_and(|to| to != at) {
            return None;
        }
        to = Some(at);
    }
    let to = to.filter(|&to| body.block_of(inst) != Some(to))?;
    Some(Move { inst, to })
}

fn is_worth(code: &Code<'_>, answers: &Answers<'_>, &Move { inst, to }: &Move) -> bool {
    let (Some(from), Some(operation)) = (code.body.block_of(inst), Operation::of(code, inst))
    else {
        return false;
    };
    let Some(legality) = answers.at(operation.scope) else { return false };
    let (from, to) = (node_of(from), node_of(to));
    // If all threads come to the block anyway, the move saves nothing.
    legality.sink(from, to).is_ok() && legality.hoist(to, from, false).is_err()
}

/// Whether no thread ends between the operation and its reader. If the reader is moved away itself,
/// no thread may end in the rest of the block either.
fn all_come(
    code: &Code<'_>,
    answers: &Answers<'_>,
    ends: &Ends,
    &Move { inst, to }: &Move,
) -> bool {
    let (db, function) = (answers.db, answers.function);
    let (Some(cfg), Some(cycles)) = (queries::cfg(db, function), queries::cycles(db, function))
    else {
        return false;
    };
    let place = match first_reader(code.body, inst, to) {
        Some(reader) => InstPlace::Before(reader),
        None => InstPlace::EndOf(to),
    };
    ends.all_come(code, (cfg, cycles), inst, place)
}

fn first_reader(body: &Body, inst: InstId, block: BlockId) -> Option<InstId> {
    body.block_insts(block).find(|&user| {
        let is_phi = body.inst(user).opcode == Opcode::Phi;
        !is_phi && body.operands(user).iter().any(|value| value.as_inst() == Some(inst))
    })
}

fn apply(edit: &mut Transaction<'_>, &Move { inst, to }: &Move) -> Result<(), PassError> {
    match first_reader(edit.body(), inst, to) {
        Some(before) => edit.move_before(inst, before)?,
        None => edit.move_to_end(inst, to)?,
    }
    Ok(())
}
