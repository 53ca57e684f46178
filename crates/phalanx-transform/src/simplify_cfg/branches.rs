//! Folds branches with one possible target, and removes unreachable blocks.
//!
//! A branch on `undef` or poison is undefined behaviour and left alone. A constant branch stays if
//! removing its other edge would change the cycles around a convergent operation. Then all other
//! constant branches in the same outermost cycle stay, too.

use phalanx_graph::{BitSet, Cfg, Cycles, Node};
use phalanx_ir::{
    BlockId, Const, ConstKind, InstBuilder as _, Opcode,
    edit::Transaction,
    flow::{block_of, node_of},
};
use smallvec::SmallVec;

use super::{graph, has_address, jump, keep_attachments};
use crate::{code::Code, groups::disturbed, pass::PassError};

/// The real successors of a terminator, if they differ from what it states.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Plan {
    /// One block.
    Jump(BlockId),
    /// These cases lead where the default does.
    Cases(Vec<(Const, BlockId)>),
}

/// Folds terminators and removes unreachable blocks; returns whether there were any.
pub(super) fn run(edit: &mut Transaction<'_>) -> Result<bool, PassError> {
    let mut changed = false;
    let plans: Vec<(BlockId, Plan)> = {
        let code = Code::in_edit(edit);
        let order = code.flow.order().iter();
        order.filter_map(|&block| Some((block, plan(&code, block)?))).collect()
    };
    let plans = allowed(edit, plans);
    for (block, plan) in plans {
        changed = true;
        carry_out(edit, block, &plan)?;
    }
    Ok(changed | remove_unreachable(edit)?)
}

/// Makes blocks jump to their only real successor where that changes no group of threads, and
/// removes blocks that become unreachable.
pub(crate) fn take(
    edit: &mut Transaction<'_>,
    taken: impl IntoIterator<Item = (BlockId, BlockId)>,
) -> Result<(), PassError> {
    let plans = taken.into_iter().map(|(block, to)| (block, Plan::Jump(to))).collect();
    let plans = allowed(edit, plans);
    let jump_to = |(block, plan)| match plan {
        Plan::Jump(to) => Some((block, to)),
        Plan::Cases(_) => None,
    };
    take_all(edit, plans.into_iter().filter_map(jump_to))
}

/// As [`take`], but ignores groups.
pub(crate) fn take_all(
    edit: &mut Transaction<'_>,
    taken: impl IntoIterator<Item = (BlockId, BlockId)>,
) -> Result<(), PassError> {
    for (block, to) in taken {
        jump(edit, block, to)?;
    }
    remove_unreachable(edit)?;
    Ok(())
}

fn carry_out(edit: &mut Transaction<'_>, block: BlockId, plan: &Plan) -> Result<(), PassError> {
    match plan {
        Plan::Jump(to) => jump(edit, block, *to),
        Plan::Cases(cases) => {
            let Some(old) = edit.body().terminator(block) else { return Ok(()) };
            let attachments: SmallVec<[_; 2]> = edit.extras().attachments_of(old).collect();
            let (on, default) = (edit.body().operands(old)[0], edit.flow().successors(block)[0]);
            edit.replace_terminator(block).switch(on, default, cases)?;
            keep_attachments(edit, block, &attachments)
        }
    }
}

pub(super) fn remove_unreachable(edit: &mut Transaction<'_>) -> Result<bool, PassError> {
    let Some((cfg, _)) = graph(edit) else { return Ok(false) };
    let dfs = phalanx_graph::Dfs::new(&cfg);
    let mut gone = edit.flow().order().iter().filter(|&&b| !dfs.is_reachable(node_of(b)));
    if gone.any(|&block| has_address(edit, block)) {
        return Ok(false);
    }
    Ok(edit.erase_unreachable()? > 0)
}

fn plan(code: &Code<'_>, block: BlockId) -> Option<Plan> {
    let terminator = code.body.terminator(block)?;
    let successors = code.flow.successors(block);
    let operands = code.body.operands(terminator);
    match code.body.inst(terminator).opcode {
        Opcode::Br if successors.len() == 2 => {
            if successors[0] == successors[1] {
                return Some(Plan::Jump(successors[0]));
            }
            let taken = code.int(operands[0])?;
            Some(Plan::Jump(successors[usize::from(taken == 0)]))
        }
        Opcode::Switch => {
            let default = successors[0];
            if successors[1..].iter().all(|&to| to == default) {
                return Some(Plan::Jump(default));
            }
            if let Some(value) = operands[0].as_const() {
                let ConstKind::Int(_) = code.context.const_data(value).kind else { return None };
                let case = operands[1..].iter().position(|&case| case == operands[0]);
                return Some(Plan::Jump(case.map_or(default, |at| successors[at + 1])));
            }
            let cases = operands[1..].iter().zip(&successors[1..]);
            let kept: Vec<(Const, BlockId)> = cases
                .filter(|&(_, &to)| to != default)
                .filter_map(|(case, &to)| Some((case.as_const()?, to)))
                .collect();
            (kept.len() + 1 < successors.len()).then_some(Plan::Cases(kept))
        }
        _ => None,
    }
}

/// Whether a plan removes an edge between two blocks altogether.
fn removes_edges(edit: &Transaction<'_>, block: BlockId, plan: &Plan) -> bool {
    match plan {
        Plan::Jump(to) => edit.flow().successors(block).iter().any(|s| s != to),
        Plan::Cases(_) => false,
    }
}

/// The plans that change no group at a convergent operation. Usually one comparison of the cycles
/// before and after suffices.
fn allowed(edit: &Transaction<'_>, mut plans: Vec<(BlockId, Plan)>) -> Vec<(BlockId, Plan)> {
    if !plans.iter().any(|(block, plan)| removes_edges(edit, *block, plan)) {
        return plans;
    }
    let watched: Vec<Node> = Code::in_edit(edit).convergent_blocks().map(node_of).collect();
    let Some((cfg, cycles)) = graph(edit) else { return plans };
    if watched.is_empty() || cycles.is_empty() {
        return plans;
    }
    // A refused plan stays refused, so this ends. After some rounds all plans inside cycles are
    // dropped, and then all plans.
    for round in 0..5 {
        let after = without(edit, &cfg, &plans);
        let after_cycles = Cycles::new(&after);
        let wrong = disturbed((&cfg, &cycles), (&after, &after_cycles), &watched);
        if wrong.is_empty() {
            return plans;
        }
        let mut refused = BitSet::new(cfg.node_count());
        let outermost = |node| cycles.innermost(node).and_then(|c| cycles.ancestors(c).last());
        for node in wrong {
            if let Some(cycle) = outermost(node) {
                for block in cycles.blocks(cycle) {
                    refused.insert(block.index());
                }
            }
        }
        plans.retain(|(block, plan)| {
            let node = node_of(*block);
            let in_cycle = cycles.innermost(node).is_some();
            let is_refused = match round {
                0 | 1 => refused.contains(node.index()),
                2 => in_cycle,
                _ => true,
            };
            !(is_refused && removes_edges(edit, *block, plan))
        });
    }
    plans
}

/// The graph after the plans.
fn without(edit: &Transaction<'_>, cfg: &Cfg, plans: &[(BlockId, Plan)]) -> Cfg {
    let mut to: Vec<Option<BlockId>> = vec![None; cfg.node_count()];
    for (block, plan) in plans {
        if let Plan::Jump(target) = plan {
            to[node_of(*block).index()] = Some(*target);
        }
    }
    let flow = edit.flow();
    let lists = cfg.nodes().map(|node| {
        let successors: SmallVec<[Node; 4]> = match to[node.index()] {
            Some(target) => [node_of(target)].into_iter().collect(),
            None => flow.successors(block_of(node)).iter().map(|&s| node_of(s)).collect(),
        };
        successors
    });
    Cfg::new(cfg.entry(), lists)
}
