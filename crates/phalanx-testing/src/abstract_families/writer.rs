//! Writes an abstract program block by block.

use phalanx_graph::Node;

use crate::abstract_program::{
    AbstractProgram, Block, Operand, Operation, Terminator, ValueNumber,
};

/// Writes a program block by block.
pub(super) struct Writer {
    pub(super) blocks: Vec<Block>,
    pub(super) next: ValueNumber,
    pub(super) at: Node,
    /// The launch argument and a value that depends on the thread.
    pub(super) argument: Operand,
    pub(super) divergent: Operand,
}

impl Writer {
    /// A writer whose entry block is open.
    pub(super) fn new() -> Self {
        let mut writer = Self {
            blocks: Vec::new(),
            next: 0,
            at: Node::new(0),
            argument: Operand::Undef,
            divergent: Operand::Undef,
        };
        writer.block();
        writer.argument = writer.op(Operation::Argument(0));
        let thread = writer.op(Operation::ThreadId);
        writer.divergent = writer.pure(thread, writer.argument);
        writer
    }

    pub(super) fn block(&mut self) -> Node {
        self.blocks.push(Block { operations: Vec::new(), terminator: Terminator::Return });
        Node::new(self.blocks.len() - 1)
    }

    /// Adds blocks in a row; returns the number of the first one.
    pub(super) fn row(&mut self, count: usize) -> usize {
        let first = self.blocks.len();
        for _ in 0..count {
            self.block();
        }
        first
    }

    pub(super) fn op(&mut self, operation: Operation) -> Operand {
        self.blocks[self.at.index()].operations.push((self.next, operation));
        self.next += 1;
        Operand::Value(self.next - 1)
    }

    pub(super) fn pure(&mut self, a: Operand, b: Operand) -> Operand {
        let name = self.next;
        self.op(Operation::Pure(name, [a, b]))
    }

    pub(super) fn constant(&mut self) -> Operand {
        Operand::Constant(self.next + 1)
    }

    /// An operation on a value and a literal.
    pub(super) fn step(&mut self, a: Operand) -> Operand {
        let constant = self.constant();
        self.pure(a, constant)
    }

    pub(super) fn phi(&mut self, entries: &[(Node, Operand)]) -> Operand {
        self.op(Operation::Phi(entries.to_vec()))
    }

    /// Adds an entry to a phi.
    pub(super) fn enter(&mut self, block: Node, phi: Operand, entry: (Node, Operand)) {
        for (number, operation) in &mut self.blocks[block.index()].operations {
            if let Operation::Phi(entries) = operation
                && Operand::Value(*number) == phi
            {
                entries.push(entry);
            }
        }
    }

    pub(super) fn jump(&mut self, to: Node) {
        self.blocks[self.at.index()].terminator = Terminator::Jump(to);
    }

    /// A branch on a comparison of a value.
    pub(super) fn branch(&mut self, value: Operand, yes: Node, no: Node) {
        let test = self.op(Operation::Test(value));
        self.blocks[self.at.index()].terminator = Terminator::Branch(test, [yes, no]);
    }

    pub(super) fn switch(&mut self, value: Operand, to: Vec<Node>) {
        self.blocks[self.at.index()].terminator = Terminator::Switch(value, to);
    }

    pub(super) fn finish(self) -> AbstractProgram {
        AbstractProgram { blocks: self.blocks, value_count: self.next }
    }
}
