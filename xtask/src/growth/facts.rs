//! Every fact of every function of a file, and how long each takes, in a process of its own.

use std::{
    fs,
    io::{Write as _, stdout},
    path::Path,
    time::Instant,
};

use anyhow::{Context as _, anyhow};
use phalanx::Session;

// The facts are those that the benches of `phalanx` ask, by the same list.
#[path = "../../../crates/phalanx/benches/every_fact/mod.rs"]
mod every_fact;

/// Reads a module, asks, and prints a line for each fact: its name and seconds. A line is printed
/// when its fact is known, so the facts before one that does not end are known, too.
pub(super) fn print(file: &Path) -> anyhow::Result<()> {
    let text = fs::read(file).with_context(|| file.display().to_string())?;
    let mut session = Session::new();
    let module = session
        .read(&text)
        .map_err(|error| anyhow!("{}", error.render(&file.display().to_string(), &text)))?;
    let functions: Vec<_> = session.functions(module).collect();
    for (name, ask) in every_fact::FACTS {
        let started = Instant::now();
        for function in &functions {
            ask(session.database(), function.input());
        }
        writeln!(stdout(), "  {name} {:.6}", started.elapsed().as_secs_f64())?;
    }
    Ok(())
}
