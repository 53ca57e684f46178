//! Reduces a program that shows a difference.
//!
//! Greedy: as long as some small change leaves a program that still shows it, the change is made. A
//! branch becomes a jump, an operation becomes an argument, an operand becomes a constant; unread
//! and unreachable code is removed at once. Each round tries all remaining changes, so the cost is
//! quadratic in the size of the program.

use phalanx_graph::Node;
use phalanx_testing::abstract_program::{AbstractProgram, Block, Operand, Operation, Terminator};

/// The smallest program found that still shows what `shows` looks for.
#[must_use]
pub fn reduced(
    mut program: AbstractProgram,
    shows: &dyn Fn(&AbstractProgram) -> bool,
) -> AbstractProgram {
    loop {
        let smaller = changes(&program)
            .into_iter()
            .map(cleaned)
            .find(|candidate| weight(candidate) < weight(&program) && shows(candidate));
        match smaller {
            Some(next) => program = next,
            None => return program,
        }
    }
}

/// What a change has to reduce: blocks and edges first, then operations with an effect.
fn weight(program: &AbstractProgram) -> (usize, usize, usize) {
    let ways = program.blocks.iter().map(|b| b.terminator.targets().len()).sum::<usize>();
    let operations = program.blocks.iter().flat_map(|b| &b.operations);
    let operands = operations.clone().map(|(_, op)| {
        let read = op.operands().filter(|o| matches!(o, Operand::Value(_))).count();
        read + usize::from(!matches!(op, Operation::Argument(_)))
    });
    (program.blocks.len() + ways, operations.clone().count(), operands.sum())
}

fn changes(program: &AbstractProgram) -> Vec<AbstractProgram> {
    let mut out = Vec::new();
    for (number, block) in program.blocks.iter().enumerate() {
        let mut set = |terminator: Terminator| {
            let mut changed = program.clone();
            changed.blocks[number].terminator = terminator;
            out.push(changed);
        };
        let targets = block.terminator.targets();
        if targets.len() > 1 {
            targets.iter().for_each(|&to| set(Terminator::Jump(to)));
        }
        if !targets.is_empty() {
            set(Terminator::Return);
        }
    }
    for (number, block) in program.blocks.iter().enumerate() {
        for (index, (_, operation)) in block.operations.iter().enumerate() {
            // The result of a test is a bit, for which there is no argument.
            if matches!(operation, Operation::Argument(_) | Operation::Test(_)) {
                continue;
            }
            let mut changed = program.clone();
            changed.blocks[number].operations[index].1 = Operation::Argument(0);
            out.push(changed);
        }
    }
    out
}

/// The program without what is not reached and not read.
fn cleaned(mut program: AbstractProgram) -> AbstractProgram {
    let mut place = vec![None; program.blocks.len()];
    let (mut order, mut pending) = (Vec::new(), vec![Node::new(0)]);
    while let Some(node) = pending.pop() {
        if place[node.index()].is_none() {
            place[node.index()] = Some(Node::new(order.len()));
            order.push(node);
            pending.extend(program.blocks[node.index()].terminator.targets());
        }
    }
    let mut blocks: Vec<Block> = order.iter().map(|n| program.blocks[n.index()].clone()).collect();
    let moved = |node: &mut Node| {
        if let Some(to) = place[node.index()] {
            *node = to;
        }
    };
    for block in &mut blocks {
        match &mut block.terminator {
            Terminator::Return => {}
            Terminator::Jump(to) => moved(to),
            Terminator::Branch(_, to) => to.iter_mut().for_each(moved),
            Terminator::Switch(_, to) => to.iter_mut().for_each(moved),
        }
    }
    program.blocks = blocks;
    let cfg = program.cfg();
    let is_reached = |node: &Node| place[node.index()].is_some();
    for (number, block) in program.blocks.iter_mut().enumerate() {
        let preds = cfg.predecessors(Node::new(number));
        for (_, operation) in &mut block.operations {
            let Operation::Phi(entries) = operation else { continue };
            entries.retain(|(pred, _)| is_reached(pred));
            entries.iter_mut().for_each(|(pred, _)| moved(pred));
            entries.retain(|(pred, _)| preds.contains(pred));
            if entries.is_empty() {
                *operation = Operation::Argument(0);
            }
        }
    }
    drop_unread(&mut program);
    program
}

fn drop_unread(program: &mut AbstractProgram) {
    loop {
        let mut read = vec![false; program.value_count as usize];
        for block in &program.blocks {
            let operands = block.operations.iter().flat_map(|(_, op)| op.operands());
            for operand in operands.chain(block.terminator.condition()) {
                if let Operand::Value(value) = operand {
                    read[value as usize] = true;
                }
            }
        }
        let mut dropped = false;
        for block in &mut program.blocks {
            let before = block.operations.len();
            block.operations.retain(|(value, op)| {
                // A value that shows a difference may have no reader, but an argument shows
                // nothing.
                read[*value as usize] || !matches!(op, Operation::Argument(_))
            });
            dropped |= block.operations.len() != before;
        }
        if !dropped {
            return;
        }
    }
}
