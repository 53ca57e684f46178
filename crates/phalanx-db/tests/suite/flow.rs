//! Random edits of blocks and edges.

use phalanx_ir::{BlockId, BuildError, InstBuilder, InstId, Opcode, Value, edit::Transaction};
use rand::{Rng, rngs::SmallRng, seq::IndexedRandom};

/// Gives the phis of a block something for edges from another that they have nothing for: what is
/// zero.
pub(crate) fn complete(
    edit: &mut Transaction<'_>,
    from: BlockId,
    to: BlockId,
) -> Result<(), BuildError> {
    let edges = edit.flow().successors(from).iter().filter(|&&next| next == to).count();
    let phis: Vec<InstId> = edit.body().phis(to).collect();
    for phi in phis {
        let zero = edit.context().const_zero(edit.body().inst(phi).ty);
        let present = edit.body().phi_incoming(phi).filter(|(_, block)| *block == from).count();
        for _ in present..edges {
            edit.add_phi_input(phi, zero, from)?;
        }
    }
    Ok(())
}

/// A case of a `switch` on a constant comes or goes; a block that ends otherwise gets one.
fn cases(
    edit: &mut Transaction<'_>,
    a: BlockId,
    b: BlockId,
    rng: &mut SmallRng,
) -> Result<(), BuildError> {
    let value = |edit: &Transaction<'_>, value| edit.context().const_i32(value);
    let end = edit.body().terminator(a).expect("blocks end");
    let cases = edit.flow().successors(a).len().saturating_sub(1);
    if edit.body().inst(end).opcode != Opcode::Switch {
        let (tested, to) = (value(edit, 1), edit.flow().successors(a).first().copied());
        edit.replace_terminator(a).switch(tested, to.unwrap_or(b), &[])?;
    } else if cases > 0 && rng.random_bool(0.4) {
        return edit.remove_case(a, rng.random_range(1..=cases));
    }
    let value = value(edit, rng.random_range(0..6));
    edit.add_case(a, value, b).map(drop)
}

/// One edit of blocks and edges. A branch that is put in is taken on a condition that is known
/// everywhere.
pub(crate) fn edit_flow(
    edit: &mut Transaction<'_>,
    condition: Value,
    rng: &mut SmallRng,
) -> Result<(), BuildError> {
    let order = edit.flow().order().to_vec();
    let at = rng.random_range(0..order.len());
    // Near, so that little is left behind.
    let near = (at + rng.random_range(0..8)).saturating_sub(3).min(order.len() - 1);
    let (a, b) = (order[at], order[near]);
    let successors = edit.flow().successors(a).len();
    match rng.random_range(0..18) {
        0..=3 => {
            let insts: Vec<InstId> = edit.body().block_insts(a).collect();
            edit.split_before(*insts.choose(rng).expect("blocks are not empty"), "").map(drop)
        }
        4 | 5 if successors > 0 => {
            edit.split_edge(a, rng.random_range(0..successors), "").map(drop)
        }
        6..=8 => edit.merge_successor(a),
        9 | 10 if successors > 0 => {
            edit.redirect_edge(a, rng.random_range(0..successors), b)?;
            complete(edit, a, b)
        }
        11 if successors > 1 => {
            // A branch that leads one way.
            let to = edit.flow().successors(a)[rng.random_range(0..2)];
            edit.redirect_edge(a, 0, to)?;
            edit.redirect_edge(a, 1, to)
        }
        12 => {
            edit.replace_terminator(a).cond_br(condition, b, a)?;
            complete(edit, a, b)?;
            complete(edit, a, a)
        }
        13 => edit.move_block_after(a, b),
        14 => edit.erase_unreachable().map(drop),
        15 | 16 => {
            cases(edit, a, b, rng)?;
            complete(edit, a, b)
        }
        _ => {
            let new = edit.create_block("", Some(a))?;
            edit.at_end(new).br(b)?;
            complete(edit, new, b)?;
            if successors > 0 {
                edit.redirect_edge(a, rng.random_range(0..successors), new)?;
            }
            Ok(())
        }
    }
}
