//! Replaces the slots of a program by values: each load reads the value that the slot holds.
//!
//! This is slow and follows the definitions. A block where contents of a slot meet gets an
//! argument. These blocks are the iterated dominance frontier of the blocks that change the slot.
//! It is the least set such that a block `b` is in it if `a` changes the slot or is in the set, `a`
//! dominates a predecessor of `b`, and `a` does not strictly dominate `b`.

use std::collections::BTreeSet;

use phalanx_graph::{Cfg, DomTree, Node};

use super::{Access, Program, SlotUse, UPDATE};
use crate::abstract_program::{Operand, Operation, ValueNumber};

/// The same program without slots. Values keep their numbers; new values get new ones.
#[must_use]
pub fn promote(program: &Program) -> Program {
    let mut now = program.clone();
    let all = program.blocks.iter().flat_map(|block| &block.slots).map(|entry| entry.slot);
    for slot in all.collect::<BTreeSet<u32>>() {
        promote_one(&mut now, slot);
    }
    now
}

fn promote_one(program: &mut Program, slot: u32) {
    let cfg = program.cfg();
    let dom = DomTree::new(&cfg);
    let joins = joins(program, slot, &cfg, &dom);
    let mut leave = vec![Operand::Undef; program.blocks.len()];
    for node in dom.preorder().to_vec() {
        let block = node.index();
        let mut content = match (joins.contains(&block), dom.idom(node)) {
            (true, _) => {
                let argument = fresh(program);
                program.blocks[block].arguments.push(argument);
                Operand::Value(argument)
            }
            (false, Some(above)) => leave[above.index()],
            (false, None) => Operand::Undef,
        };
        rewrite(program, block, slot, &mut content);
        leave[block] = content;
    }
    for (block, content) in leave.iter().enumerate() {
        let edges = &mut program.blocks[block].end.edges;
        edges.iter_mut().filter(|edge| joins.contains(&edge.to)).for_each(|edge| {
            edge.arguments.push(*content);
        });
    }
    // Unreachable blocks no longer use the slot.
    for block in &mut program.blocks {
        block.slots.retain(|entry| entry.slot != slot);
    }
}

fn fresh(program: &mut Program) -> ValueNumber {
    program.value_count += 1;
    program.value_count - 1
}

/// The blocks where contents meet.
fn joins(program: &Program, slot: u32, cfg: &Cfg, dom: &DomTree) -> BTreeSet<usize> {
    let changes = |block: usize| {
        let mut own = program.blocks[block].slots.iter().filter(|entry| entry.slot == slot);
        own.any(|entry| entry.access != Access::Load)
    };
    let reached = |block: &usize| dom.is_reachable(Node::new(*block));
    let changed: Vec<usize> =
        (0..program.blocks.len()).filter(reached).filter(|block| changes(*block)).collect();
    let mut joins = BTreeSet::new();
    let mut work = changed;
    while let Some(from) = work.pop() {
        let from = Node::new(from);
        for (to, pred) in
            cfg.nodes().flat_map(|to| cfg.predecessors(to).iter().map(move |p| (to, *p)))
        {
            let meets = dom.dominates(from, pred) && !dom.strictly_dominates(from, to);
            if dom.is_reachable(pred) && meets && joins.insert(to.index()) {
                work.push(to.index());
            }
        }
    }
    joins
}

/// Replaces the uses of a slot in a block. `content` is the content before the block, and after it
/// on return.
fn rewrite(program: &mut Program, block: usize, slot: u32, content: &mut Operand) {
    let mut shift = 0;
    let uses = std::mem::take(&mut program.blocks[block].slots);
    let is_update =
        |entry: &&SlotUse| entry.slot == slot && matches!(entry.access, Access::Update(_));
    // An update becomes an operation. Uses of other slots at the same position then come after it.
    let updates = |at: usize| uses.iter().filter(is_update).filter(|entry| entry.at <= at).count();
    let others = uses.iter().filter(|entry| entry.slot != slot);
    let others = others.map(|entry| SlotUse { at: entry.at + updates(entry.at), ..entry.clone() });
    let others: Vec<SlotUse> = others.collect();
    for entry in uses.iter().filter(|entry| entry.slot == slot) {
        let at = entry.at + shift;
        match entry.access {
            Access::Kill => *content = Operand::Undef,
            Access::Store(operand) => *content = operand,
            Access::Load => {
                if let Operation::Pure(_, [_, read]) = &mut program.blocks[block].operations[at].1 {
                    *read = *content;
                }
            }
            Access::Update(operand) => {
                let value = fresh(program);
                let operation = Operation::Pure(UPDATE, [*content, operand]);
                program.blocks[block].operations.insert(at, (value, operation));
                *content = Operand::Value(value);
                shift += 1;
            }
        }
    }
    program.blocks[block].slots = others;
}
