//! Chores of the workspace: `cargo xtask tidy | ci | circles | conformance | docs | faults | fuzz
//! | growth | oracle | edits | precision | refine | validate`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]
#![allow(clippy::disallowed_methods, reason = "chores read files and start programs")]

mod ci;
mod circles;
mod conformance;
mod docs;
mod edits;
mod faults;
mod fuzz;
mod growth;
mod oracle;
mod precision;
mod refine;
mod tidy;
mod validate;

use clap::{Parser, Subcommand};

/// Chores of the Phalanx workspace.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Check what no compiler checks: crate layering, lint tables, module sizes and docs, stray
    /// paths.
    Tidy,
    /// Everything a change must pass: fmt, clippy, tidy, docs, tests.
    Ci(ci::Options),
    /// Files of one crate that use each other in a circle.
    Circles(circles::Options),
    /// `phalanx` against LLVM 22: facts, tests, random functions, mutants, round trips.
    Conformance(Box<conformance::Options>),
    /// Render the book of `docs/` to `target/book`, and check its links.
    Docs,
    /// Faults of repairs, switched on one by one: does a test notice each?
    Faults(faults::Options),
    /// libFuzzer on every target for a while each.
    Fuzz(fuzz::Options),
    /// How time and memory grow with the input, for every command, fact and pass.
    Growth(growth::Options),
    /// Claims of uniformity, memory spaces or loads against execution, on random programs.
    Oracle(oracle::Options),
    /// Facts of edited functions against those of new databases, over random transactions.
    Edits(edits::Options),
    /// The refinement law: no pass and no pair of passes makes a random program worse.
    Refine(refine::Options),
    /// Ask Alive2 whether passes refine what one thread does.
    Validate(validate::Options),
    /// How much of our kernels is called divergent, by LLVM 22 and by us.
    Precision(precision::Options),
}

fn main() -> anyhow::Result<()> {
    match Args::parse().chore {
        Chore::Tidy => tidy::run(),
        Chore::Ci(options) => ci::run(&options),
        Chore::Circles(options) => circles::run(&options),
        Chore::Conformance(options) => conformance::run(&options),
        Chore::Docs => docs::run(),
        Chore::Faults(options) => faults::run(&options),
        Chore::Fuzz(options) => fuzz::run(&options),
        Chore::Growth(options) => growth::run(&options),
        Chore::Oracle(options) => oracle::run(&options),
        Chore::Edits(options) => edits::run(&options),
        Chore::Refine(options) => refine::run(&options),
        Chore::Validate(options) => validate::run(&options),
        Chore::Precision(options) => precision::run(&options),
    }
}
