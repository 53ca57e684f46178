//! The least that an IR has to say: a kernel with one branch.
//!
//! ```console
//! $ cargo run -p phalanx-core --example smallest
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use phalanx_core::analysis::{Analysis, Sink, Source};
use phalanx_core::block_graph::{Block, NodeOrigin};
use phalanx_core::divergence::Definition;
use phalanx_core::{LaunchFacts, Node, Scope, SourceSet, Value, varying};

/// ```text
/// b0:  %0 = thread id
///      %1 = argument n
///      %2 = less %0, %1
///      branch %2, b1, b2
/// b1:  jump b2
/// b2:  return
/// ```
struct Kernel;

impl Source for Kernel {
    fn entry(&self) -> Block {
        Block::new(0)
    }

    fn block_count(&self) -> usize {
        3
    }

    fn value_count(&self) -> usize {
        3
    }

    fn say_block(&self, block: Block, to: &mut Sink<'_>) {
        if block == self.entry() {
            (0..3).for_each(|value| self.say_value(Value::new(value), to));
        }
        self.say_end(block, to);
    }

    fn say_value(&self, value: Value, to: &mut Sink<'_>) {
        let [id, n] = [Value::new(0), Value::new(1)];
        let (definition, reads) = match value.index() {
            0 => (Definition::invariant(SourceSet::X), vec![]),
            1 => (Definition::PURE, vec![]),
            _ => (Definition::PURE, vec![id, n]),
        };
        to.value(value, self.entry(), definition, None, &reads);
    }

    fn say_end(&self, block: Block, to: &mut Sink<'_>) {
        let condition = [Value::new(2)];
        let (reads, targets): (&[Value], &[usize]) = match block.index() {
            0 => (&condition, &[1, 2]),
            1 => (&[], &[2]),
            _ => (&[], &[]),
        };
        to.end(block, SourceSet::EMPTY, reads);
        for &target in targets {
            to.edge(Block::new(target), &[]);
        }
    }
}

fn main() {
    let analysis = Analysis::new(&Kernel);
    let in_a_wave = varying(Scope::Wave, &LaunchFacts::default());
    let parts = analysis.branch(Block::new(0)).intersects(in_a_wave);
    println!(
        "the branch of b0 {} threads of a wave",
        if parts { "parts" } else { "does not part" }
    );
    may_move(&analysis);
}

/// Whether a vote may move from the block under the branch to the one before it.
fn may_move(analysis: &Analysis) {
    let legality = analysis.legality(Scope::Wave, &LaunchFacts::default(), &|_| false);
    let [before, under] = [0, 1].map(|number| analysis.graph().node(Block::new(number)));
    match legality.hoist(under, before, true) {
        Ok(()) => println!("a vote in b1 may move to b0"),
        Err(refusal) => {
            // A node may also stand for an edge; its number is not that of a block.
            let name = |node: Node| match analysis.graph().place(node) {
                NodeOrigin::Block(block) => format!("{block:?}"),
                origin => format!("{origin:?}"),
            };
            println!("a vote in b1 stays: {}", refusal.describe(&name));
        }
    }
}
