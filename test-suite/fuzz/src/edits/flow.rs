//! Random edits of blocks and edges.

use phalanx::ir::{
    BlockId, BuildError, InstBuilder, InstId, Opcode, Type, Value, edit::Transaction,
};
use rand::{Rng, RngCore, seq::IndexedRandom};

use super::seldom;

/// One edit of blocks and edges.
pub(super) fn blocks_and_edges(
    edit: &mut Transaction<'_>,
    rng: &mut dyn RngCore,
) -> Result<(), BuildError> {
    let order = edit.flow().order();
    let mut block = || *order.choose(rng).expect("there is an entry");
    let (a, b) = (block(), block());
    let successors = edit.flow().successors(a).len();
    match rng.random_range(0..15) {
        0 | 1 => {
            let insts: Vec<InstId> = edit.body().block_insts(a).collect();
            let at = *insts.choose(rng).expect("blocks are not empty");
            edit.split_before(at, "split").map(drop)
        }
        2 if successors > 0 => {
            edit.split_edge(a, rng.random_range(0..successors), "edge").map(drop)
        }
        3 => edit.merge_successor(a),
        4 | 5 if successors > 0 => {
            edit.redirect_edge(a, rng.random_range(0..successors), b)?;
            complete(edit, a, b)?;
            erase_unreachable(edit, rng)
        }
        6 => {
            let phis: Vec<Value> = edit.body().phis(a).map(Value::inst).collect();
            let condition = edit.body().all_ids().find(|&i| {
                edit.body().block_of(i) == Some(a) && edit.body().inst(i).ty == Type::I1
            });
            let to_self = phis.is_empty() && edit.flow().entry() != Some(a);
            match condition {
                Some(condition) if edit.flow().entry() != Some(b) => {
                    let other = if to_self { a } else { b };
                    edit.replace_terminator(a).cond_br(condition, b, other)?;
                    complete(edit, a, b)?;
                }
                _ => {
                    edit.replace_terminator(a).ret_void()?;
                }
            }
            erase_unreachable(edit, rng)
        }
        7 | 8 => {
            // The blocks that follow in a straight line, sometimes together with the block.
            let mut region = vec![a];
            while rng.random_bool(0.4) {
                let next = edit.flow().successors(region[region.len() - 1]).first();
                let Some(&next) = next.filter(|b| !region.contains(b)) else { break };
                region.push(next);
            }
            let clones = edit.clone_blocks(&region)?;
            let Some(copy) = clones.block(a) else { return Ok(()) };
            let from = order_with_edge_to(edit, a);
            let Some((from, index)) = from else { return erase_unreachable(edit, rng) };
            edit.redirect_edge(from, index, copy)?;
            complete(edit, from, copy)?;
            erase_unreachable(edit, rng)
        }
        9 => edit.move_block_after(b, a),
        10 => {
            let all = order.to_vec();
            edit.merge_successors(&all, |_, _| rng.random_bool(0.5)).map(drop)
        }
        11 => seldom::unwinding(edit, b, rng),
        12 | 13 => {
            cases(edit, a, b, rng)?;
            erase_unreachable(edit, rng)
        }
        _ => {
            let new = edit.create_block("new", Some(a))?;
            edit.at_end(new).br(b)?;
            complete(edit, new, b)?;
            if successors > 0 {
                let index = rng.random_range(0..successors);
                edit.redirect_edge(a, index, new)?;
            }
            erase_unreachable(edit, rng)
        }
    }
}

/// Adds or removes a case of a `switch`; if there is no switch, makes one.
fn cases(
    edit: &mut Transaction<'_>,
    a: BlockId,
    b: BlockId,
    rng: &mut dyn RngCore,
) -> Result<(), BuildError> {
    let body = edit.body();
    let end = body.terminator(a).expect("blocks end");
    if body.inst(end).opcode == Opcode::Switch {
        let cases = edit.flow().successors(a).len() - 1;
        if cases > 0 && rng.random_bool(0.4) {
            return edit.remove_case(a, rng.random_range(1..=cases));
        }
        let ty = edit.type_of(body.operands(end)[0]).expect("it is of this function");
        let value = edit.context().int_const(ty, rng.random_range(0..6));
        edit.add_case(a, value, b)?;
    } else {
        let is_int = |&i: &InstId| [Type::I32, Type::I64].contains(&body.inst(i).ty);
        let tested = body.block_insts(a).filter(is_int).last().map(Value::inst);
        let tested = tested.unwrap_or_else(|| edit.context().const_i32(1).into());
        let to = edit.flow().successors(a).first().copied().unwrap_or(b);
        edit.replace_terminator(a).switch(tested, to, &[])?;
        let ty = edit.type_of(tested).expect("it is of this function");
        let value = edit.context().int_const(ty, 1);
        edit.add_case(a, value, b)?;
    }
    complete(edit, a, b)
}

/// Usually: sometimes unreachable code stays.
fn erase_unreachable(edit: &mut Transaction<'_>, rng: &mut dyn RngCore) -> Result<(), BuildError> {
    match rng.random_bool(0.7) {
        true => edit.erase_unreachable().map(drop),
        false => Ok(()),
    }
}

fn order_with_edge_to(edit: &Transaction<'_>, to: BlockId) -> Option<(BlockId, usize)> {
    let flow = edit.flow();
    flow.order()
        .iter()
        .find_map(|&from| Some((from, flow.successors(from).iter().position(|&s| s == to)?)))
}

/// Gives the phis of a block zero for edges without a value.
pub(super) fn complete(
    edit: &mut Transaction<'_>,
    from: BlockId,
    to: BlockId,
) -> Result<(), BuildError> {
    let edges = edit.flow().successors(from).iter().filter(|&&s| s == to).count();
    let phis: Vec<InstId> = edit.body().phis(to).collect();
    for phi in phis {
        let zero = edit.context().const_zero(edit.body().inst(phi).ty);
        let present = edit.body().phi_incoming(phi).filter(|(_, b)| *b == from).count();
        for _ in present..edges {
            edit.add_phi_input(phi, zero, from)?;
        }
    }
    Ok(())
}
