//! Large programs made of many small kernels in a row, with values that cross from one to the next:
//! loops, loop-carried values, temporal divergence, as in code after inlining.

use phalanx_graph::{Cycles, Node};
use rand::{Rng, SeedableRng, rngs::SmallRng};

use crate::{
    abstract_program::{AbstractProgram, Block, Operand, Operation, Terminator},
    generate::{Options, Shape, program},
};

/// Random kernels in a row, of about `size` operations. The control flow is reducible.
#[must_use]
pub fn inlined(size: usize) -> AbstractProgram {
    let mut rng = SmallRng::seed_from_u64(7);
    let mut blocks: Vec<Block> = Vec::new();
    let mut count = 0u32;
    let mut shared: Vec<u32> = Vec::new();
    for seed in 0.. {
        if count as usize >= size {
            break;
        }
        let part =
            program(seed, Options { shape: Some(Shape::Structured), blocks: 30, undef: false });
        if !Cycles::new(&part.cfg()).all_reducible() {
            continue;
        }
        let first = blocks.len();
        let after = Node::new(first + part.blocks.len());
        let node = |n: Node| Node::new(first + n.index());
        let operand = |o: Operand| match o {
            Operand::Value(v) => Operand::Value(v + count),
            other => other,
        };
        for (i, block) in part.blocks.iter().enumerate() {
            let mut operations = Vec::new();
            for (number, operation) in &block.operations {
                let operation = match operation {
                    Operation::Phi(entries) => {
                        Operation::Phi(entries.iter().map(|e| (node(e.0), operand(e.1))).collect())
                    }
                    // A value that the caller passes in.
                    Operation::Argument(a) if !shared.is_empty() => {
                        let near = shared.len().saturating_sub(40);
                        let mut pick =
                            || Operand::Value(shared[rng.random_range(near..shared.len())]);
                        Operation::Pure(*a, [pick(), pick()])
                    }
                    Operation::Pure(f, [a, b]) => Operation::Pure(*f, [operand(*a), operand(*b)]),
                    Operation::Test(a) => Operation::Test(operand(*a)),
                    Operation::AlwaysUniform(a) => Operation::AlwaysUniform(operand(*a)),
                    other => other.clone(),
                };
                operations.push((number + count, operation));
            }
            let is_number = |op: &&(u32, Operation)| !matches!(op.1, Operation::Test(_));
            if i == 0 {
                shared.extend(operations.iter().filter(is_number).map(|op| op.0));
            }
            let terminator = match &block.terminator {
                Terminator::Return => Terminator::Jump(after),
                Terminator::Jump(to) => Terminator::Jump(node(*to)),
                Terminator::Branch(c, to) => Terminator::Branch(operand(*c), to.map(node)),
                Terminator::Switch(c, to) => {
                    Terminator::Switch(operand(*c), to.iter().copied().map(node).collect())
                }
            };
            blocks.push(Block { operations, terminator });
        }
        count += part.value_count;
    }
    blocks.push(Block { operations: Vec::new(), terminator: Terminator::Return });
    AbstractProgram { blocks, value_count: count }
}
