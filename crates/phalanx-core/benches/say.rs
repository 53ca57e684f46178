//! An IR says its function and is solved: the price of [`Analysis::new`], by size.
//!
//! A chain of blocks with an argument and four values each, of which every fourth branches, forward
//! or back. *whole* is all of [`Analysis::new`], medians of fifteen; *each* is that per value. It
//! grows near-linearly with the number of blocks and of values.
#![allow(clippy::print_stdout, reason = "a bench prints")]

use std::hint::black_box;
use std::time::Instant;

use phalanx_core::analysis::{Analysis, Brought, Sink, Source};
use phalanx_core::block_graph::Block;
use phalanx_core::divergence::Definition;
use phalanx_core::{SourceSet, Value};

/// Values of a block: its argument, and those that it computes.
const VALUES: usize = 5;

/// A chain of so many blocks.
struct Chain(usize);

impl Chain {
    fn is_branch(&self, block: usize) -> bool {
        block % 4 == 3 && block + 1 < self.0
    }
}

impl Source for Chain {
    fn entry(&self) -> Block {
        Block::new(0)
    }

    fn block_count(&self) -> usize {
        self.0
    }

    fn value_count(&self) -> usize {
        self.0 * VALUES
    }

    fn say_block(&self, block: Block, to: &mut Sink<'_>) {
        let first = block.index() * VALUES;
        match block.index() {
            0 => self.say_value(Value::new(0), to),
            _ => to.argument(Value::new(first), block, 0),
        }
        (1..VALUES).for_each(|value| self.say_value(Value::new(first + value), to));
        self.say_end(block, to);
    }

    fn say_value(&self, value: Value, to: &mut Sink<'_>) {
        let number = value.index();
        let definition = match number % 97 {
            0 => Definition::source(SourceSet::X),
            _ => Definition::PURE,
        };
        let reads = [1, 2].map(|back| Value::new(number.saturating_sub(back)));
        let count = (number % VALUES).min(2);
        to.value(value, Block::new(number / VALUES), definition, None, &reads[..count]);
    }

    fn say_end(&self, block: Block, to: &mut Sink<'_>) {
        let at = block.index();
        let last = Value::new(at * VALUES + VALUES - 1);
        let condition = [last];
        let reads = if self.is_branch(at) { &condition[..] } else { &[] };
        to.end(block, SourceSet::EMPTY, reads);
        let forward = (at + 1 < self.0).then_some(at + 1);
        let other = self.is_branch(at).then(|| match at % 8 {
            7 => at - 2,
            _ => (at + 3).min(self.0 - 1),
        });
        for target in forward.into_iter().chain(other) {
            to.edge(Block::new(target), &[Brought::Value(last)]);
        }
    }
}

fn main() {
    println!("    values  whole (ms)  each (ns)");
    for blocks in [1_600, 16_000, 160_000] {
        let chain = Chain(blocks);
        let mut times: Vec<f64> = (0..15)
            .map(|_| {
                let start = Instant::now();
                black_box(Analysis::new(&chain));
                start.elapsed().as_secs_f64()
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let (values, median) = (chain.value_count(), times[times.len() / 2]);
        println!("{values:>10} {:>11.1} {:>10.0}", median * 1e3, median * 1e9 / values as f64);
    }
}
