//! The cost of a query after an edit, through the database:
//! `cargo bench -p phalanx --bench edits`.
//!
//! Unless stated otherwise, the function consists of random kernels in sequence
//! (`phalanx_testing::inlined`). Each edit is one transaction; transaction and query are timed
//! together. For comparison, the function is also lowered and solved from scratch with warm flow
//! facts.
//!
//! | table | edit | question |
//! |---|---|---|
//! | operand | one operand reads another value | `divergence` |
//! | llvm | the same | `uniformity`, by LLVM's rules |
//! | kernels | the same, in our kernels at -O2, inlined into one function (`phalanx_test_suite::giants`) | as of *operand*, *llvm*, *split*, *all* |
//! | summary | the same, in a function that returns the last computed value | `summary` |
//! | recursion | the same, in a function that calls itself before it returns, called by a kernel | `summary`, `divergence` |
//! | assumed | the same, in a kernel with loads and barriers | `assumed_divergence` of race-free programs with barriers |
//! | classes | the same | `load_classes` |
//! | kinds | one pointer gets another base, in a function full of pointers | `memory_kinds` |
//! | kept | one operand of an integer reads another value, in a function full of pointers | the facts about memory, each by itself; users of a value in `data_flow` |
//! | changes | each kind of edit of instructions; a block is split; a branch leads one way | each fact by itself, in a kernel with loads, stores and stack slots, and one with addresses in slots |
//! | | the same, in a function that gets the pointers as arguments | `summary` |
//! | access | as `assumed` | `memory_accesses` |
//! | split | one block is split | all flow facts and `divergence` |
//! | all | the same | every fact of a function |
//! | facts | one block of our kernels, inlined into one function, is split | the same, each fact by itself |
//! | module | one operand in one of 10,000 functions | divergent branches of the module |
//! | calls | the same, of kernels that call 100 functions, which call one of ten | the same |
//! | *1st* | the first edit of each function, in these two | the same |
//! | once | one operand of each of 10,000 kernels that call one function | `divergence` of the kernel |
//! | memory | a million rounds of an edit and the question | `divergence` |
//! | overhead | none: cold, through the database and by calling the analyses | all flow facts and `divergence` |
//!
//! *times*: how many times the median fits into the time from scratch; for *split* and *all*, the
//! median as a share of that time. *opt-22*: how many times it fits into the time of LLVM's
//! analyses by LLVM's own timers, if LLVM is installed: uniformity with cycles and dominators
//! preserved, or all four.
//!
//! For *assumed*, *classes* and *access* only the query is timed: the facts that it reads were
//! asked before, from scratch too if they are not updated incrementally.
//!
//! Arguments are names of tables; `--quick` leaves out the largest sizes, `--size=N` asks for one
//! alone where a table has several by number.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench prints and asks the system"
)]

mod addresses;
mod changes;
mod common;
#[path = "../every_fact/mod.rs"]
mod every_fact;
mod modules;
mod operands;
mod whole;

use addresses::{OF_MEMORY, kept, kinds};
use changes::changes;
use common::{Ask, divergence};
use modules::{calls, module, once};
use operands::{
    access, after_operand, assumed, classes, kernels, operand, others, recursion, summary,
    uniformity,
};
use whole::{all, by_fact, memory, overhead, split};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let is_quick = arguments.iter().any(|a| a == "--quick");
    let names: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|n| *n == name);
    println!(
        "table        insts   scratch us  edit us   median      p90      p99      times   opt-22  repaired    solved"
    );
    let one = arguments.iter().find_map(|a| a.strip_prefix("--size="));
    let one = one.map(|number| [number.parse().expect("--size takes a number")]);
    let sizes: &[usize] = match &one {
        Some(one) => one,
        None if is_quick => &[750, 7500],
        None => &[750, 7500, 75_000, 750_000],
    };
    if is_wanted("operand") {
        sizes.iter().for_each(|&size| operand("operand", size, divergence));
    }
    if is_wanted("llvm") {
        sizes.iter().for_each(|&size| operand("llvm", size, uniformity));
    }
    if is_wanted("kernels") {
        let rounds: &[usize] = if is_quick { &[1] } else { &[1, 20, 200] };
        rounds.iter().for_each(|&rounds| kernels(rounds));
    }
    if is_wanted("summary") {
        sizes.iter().for_each(|&size| summary(size));
    }
    if is_wanted("recursion") {
        sizes.iter().filter(|&&size| size < 750_000).for_each(|&size| recursion(size));
    }
    if is_wanted("assumed") {
        let below: &[Ask] = &[divergence, others, classes];
        sizes.iter().for_each(|&size| after_operand("assumed", size, assumed, below));
    }
    if is_wanted("classes") {
        let below: &[Ask] = &[divergence, others];
        sizes.iter().for_each(|&size| after_operand("classes", size, classes, below));
    }
    if is_wanted("kinds") {
        sizes.iter().for_each(|&size| kinds(size));
    }
    if is_wanted("kept") {
        for of in OF_MEMORY {
            sizes.iter().for_each(|&size| kept(size, of));
        }
    }
    if is_wanted("access") {
        sizes.iter().for_each(|&size| access(size));
    }
    if is_wanted("changes") {
        sizes.iter().filter(|&&size| size < 750_000).for_each(|&size| changes(size));
    }
    if is_wanted("split") {
        sizes.iter().filter(|&&size| size < 750_000).for_each(|&size| split(size));
    }
    if is_wanted("all") {
        sizes.iter().filter(|&&size| size < 750_000).for_each(|&size| all(size));
    }
    if is_wanted("facts") {
        let rounds: &[usize] = if is_quick { &[1] } else { &[1, 20] };
        rounds.iter().for_each(|&rounds| by_fact(rounds));
    }
    if is_wanted("module") {
        module(if is_quick { 1000 } else { 10_000 });
    }
    if is_wanted("calls") {
        calls(if is_quick { 1000 } else { 10_000 });
    }
    if is_wanted("once") {
        once(if is_quick { 1000 } else { 10_000 });
    }
    if is_wanted("overhead") {
        [210, 300, 1000, 3000].into_iter().for_each(overhead);
    }
    if is_wanted("memory") {
        memory(if is_quick { 100_000 } else { 1_000_000 });
    }
}
