//! Work on all functions of a module, in parallel, with results in order.
//!
//! Each worker has its own handle on the database. Results come out in the order of the text whatever the number of threads,
//! and large outputs are handed over in chunks, so not all of them are in memory at once.

use anyhow::bail;
use phalanx::{
    Session,
    db::{Database, FunctionEntry, ModuleInput},
};
use rayon::prelude::*;

use crate::terminal::Terminal;

/// How many functions are in the air at a time.
const CHUNK: usize = 256;

/// The functions of a module that have a body, narrowed to `names` if there are any.
pub(crate) fn select(
    session: &Session,
    module: ModuleInput,
    names: &[String],
) -> anyhow::Result<Vec<FunctionEntry>> {
    let db = session.database();
    let entries = module.functions(db).iter().filter(|entry| entry.is_definition);
    if names.is_empty() {
        return Ok(entries.copied().collect());
    }
    let mut chosen = Vec::new();
    let mut missing: Vec<&String> = names.iter().collect();
    for entry in entries {
        let name = entry.name.symbol().map(|symbol| session.context().text(symbol).into_owned());
        if let Some(position) = missing.iter().position(|wanted| Some(*wanted) == name.as_ref()) {
            missing.remove(position);
            chosen.push(*entry);
        }
    }
    if let Some(name) = missing.first() {
        bail!("no function @{name} with a body");
    }
    Ok(chosen)
}

/// Runs `work` on each function and gives the results to `done`, in order.
pub(crate) fn for_each<T: Send>(
    session: &Session,
    entries: &[FunctionEntry],
    (terminal, what): (&Terminal, &str),
    work: impl Fn(&Database, FunctionEntry) -> T + Sync,
    mut done: impl FnMut(FunctionEntry, T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let bar = terminal.progress(what, entries.len());
    for chunk in entries.chunks(CHUNK) {
        let results: Vec<T> = if let [entry] = chunk {
            vec![work(session.database(), *entry)]
        } else {
            chunk
                .par_iter()
                .map_with(session.database().clone(), |db, entry| work(db, *entry))
                .collect()
        };
        for (entry, result) in chunk.iter().zip(results) {
            done(*entry, result)?;
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(())
}
