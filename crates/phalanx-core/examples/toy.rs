//! A toy compiler whose own IR is analysed, edited, and analysed again.
//!
//! The IR has blocks with arguments, as MLIR has. `impl Source for Function` is all that an IR has
//! to say of itself.
//!
//! ```console
//! $ cargo run -p phalanx-core --example toy
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use phalanx_core::analysis::{Analysis, Brought, Change, Sink, Source, verify};
use phalanx_core::block_graph::Block;
use phalanx_core::divergence::Definition;
use phalanx_core::explain::Fact;
use phalanx_core::{LaunchFacts, Scope, SourceSet, Value, varying};

/// What an instruction does.
enum Op {
    /// The `x` coordinate of the thread in its workgroup.
    ThreadId,
    /// An argument of the kernel.
    Size,
    /// Adds two values.
    Add(usize, usize),
    /// Compares two values.
    Less(usize, usize),
    /// The value that the first active lane of the wave has.
    Broadcast(usize),
}

/// A basic block. Instructions are named by their numbers in the function.
struct Body {
    arguments: Vec<usize>,
    instructions: Vec<(usize, Op)>,
    /// What decides between the edges, if there are two.
    condition: Option<usize>,
    /// Where edges lead, and what they bring: instructions or constants.
    edges: Vec<(usize, Vec<Result<usize, u32>>)>,
}

struct Function {
    blocks: Vec<Body>,
    instructions: usize,
}

impl Function {
    fn say(&self, number: usize, op: &Op, at: Block, to: &mut Sink<'_>) {
        let (definition, reads) = match op {
            Op::ThreadId => (Definition::invariant(SourceSet::X), vec![]),
            Op::Size => (Definition::PURE, vec![]),
            Op::Add(a, b) | Op::Less(a, b) => (Definition::PURE, vec![*a, *b]),
            // Unknown, but one value for the wave.
            Op::Broadcast(a) => (Definition::fixed(SourceSet::OPAQUE_WAVE), vec![*a]),
        };
        let reads: Vec<Value> = reads.into_iter().map(Value::new).collect();
        to.value(Value::new(number), at, definition, None, &reads);
    }
}

impl Source for Function {
    fn entry(&self) -> Block {
        Block::new(0)
    }

    fn block_count(&self) -> usize {
        self.blocks.len()
    }

    fn value_count(&self) -> usize {
        self.instructions
    }

    fn say_block(&self, block: Block, to: &mut Sink<'_>) {
        let body = &self.blocks[block.index()];
        for (position, argument) in body.arguments.iter().enumerate() {
            to.argument(Value::new(*argument), block, position);
        }
        for (number, op) in &body.instructions {
            self.say(*number, op, block, to);
        }
        self.say_end(block, to);
    }

    fn say_value(&self, value: Value, to: &mut Sink<'_>) {
        // A real IR knows the block of an instruction.
        for (block, body) in self.blocks.iter().enumerate() {
            for (number, op) in body.instructions.iter().filter(|(n, _)| *n == value.index()) {
                self.say(*number, op, Block::new(block), to);
            }
        }
    }

    fn say_end(&self, block: Block, to: &mut Sink<'_>) {
        let body = &self.blocks[block.index()];
        let reads: Vec<Value> = body.condition.into_iter().map(Value::new).collect();
        to.end(block, SourceSet::EMPTY, &reads);
        for (target, brings) in &body.edges {
            let brought = |operand: &Result<usize, u32>| match *operand {
                Ok(instruction) => Brought::Value(Value::new(instruction)),
                Err(constant) => Brought::Constant(constant),
            };
            to.edge(Block::new(*target), &brings.iter().map(brought).collect::<Vec<_>>());
        }
    }
}

/// ```text
/// b0:          %0 = thread id
///              %1 = size
///              %2 = less %0, %1
///              branch %2, b1(7), b1(%1)
/// b1(%3):      %4 = add %3, %1
///              jump b2(%4)
/// b2(%5):      %6 = add %5, %0         a loop: who leaves in which round?
///              %7 = less %6, %1
///              branch %7, b2(%6), b3
/// b3:          %8 = add %5, %1
/// ```
fn kernel() -> Function {
    let body = |arguments: &[usize], instructions, condition, edges| Body {
        arguments: arguments.to_vec(),
        instructions,
        condition,
        edges,
    };
    let first = vec![(0, Op::ThreadId), (1, Op::Size), (2, Op::Less(0, 1))];
    let env = vec![(6, Op::Add(5, 0)), (7, Op::Less(6, 1))];
    Function {
        blocks: vec![
            body(&[], first, Some(2), vec![(1, vec![Err(7)]), (1, vec![Ok(1)])]),
            body(&[3], vec![(4, Op::Add(3, 1))], None, vec![(2, vec![Ok(4)])]),
            body(&[5], env, Some(7), vec![(2, vec![Ok(6)]), (3, vec![])]),
            body(&[], vec![(8, Op::Add(5, 1))], None, vec![]),
        ],
        instructions: 9,
    }
}

fn print(title: &str, function: &Function, analysis: &Analysis) {
    println!("{title}");
    let in_a_wave = varying(Scope::Wave, &LaunchFacts::default());
    for value in 0..function.instructions {
        let sources = analysis.sources(Value::new(value));
        let kind = if sources.intersects(in_a_wave) { "divergent" } else { "uniform" };
        println!("  %{value}: {kind} in a wave {sources}");
    }
    for block in (0..function.blocks.len()).map(Block::new) {
        let (branch, control) = (analysis.branch(block), analysis.control(block));
        println!("  {block:?}: branch {branch}, executed by {control}");
    }
}

fn main() {
    let mut function = kernel();
    // In debug builds: what is said fits together.
    debug_assert_eq!(verify(&function), Ok(()));
    let mut analysis = Analysis::new(&function);
    print("as written:", &function, &analysis);
    // Parallel edges: the branch of b0 chooses what %3 is.
    assert_eq!(analysis.sources(Value::new(3)), SourceSet::X);
    let chain = analysis.explain(Fact::Value(Value::new(4)), SourceSet::X);
    let node = |node| format!("{:?}", analysis.graph().place(node));
    for link in &chain {
        println!("  {}", link.describe(&node, &|value| format!("%{}", value.raw())));
    }

    // One value per wave instead of one per thread. Only that is said.
    function.blocks[0].instructions[0].1 = Op::Broadcast(1);
    let outcome = analysis.after(&function, &[Change::Value(Value::new(0))]);
    print(&format!("after an edit ({outcome:?}):"), &function, &analysis);
    let in_a_wave = varying(Scope::Wave, &LaunchFacts::default());
    assert!((0..9).all(|v| !analysis.sources(Value::new(v)).intersects(in_a_wave)));

    // The edges bring the same now, so the branch decides nothing.
    function.blocks[0].edges[0].1 = vec![Ok(1)];
    analysis.after(&function, &[Change::End(Block::new(0))]);
    assert!(analysis.sources(Value::new(3)).is_empty());
    assert!(analysis.branch(Block::new(0)).is_empty());
    println!("%3 is the same for all once both edges bring %1");
}
