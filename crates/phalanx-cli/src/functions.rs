//! Processes all functions of a module in parallel, with results in order.
//!
//! Each worker has its own handle on the database. Results are in the order of the text, whatever
//! the number of threads. Large outputs are handed over in chunks, so that not all of them are in
//! memory at once.

use std::num::NonZeroUsize;

use anyhow::bail;
use phalanx::{
    Session,
    db::{Database, FunctionEntry, ModuleEditError, ModuleInput, queries},
    ir::constant::ConstKind,
    report::{check::source_name, explain::UnknownName, source::OPENCL_BODY},
    target::LaunchStatement,
};
use rayon::prelude::*;

use crate::terminal::Terminal;

/// How many functions are processed at a time.
const CHUNK: usize = 256;

/// How many threads there are for one module.
pub(crate) fn threads() -> NonZeroUsize {
    NonZeroUsize::new(rayon::current_num_threads()).unwrap_or(NonZeroUsize::MIN)
}

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
    names.iter().map(|name| find(session, module, name)).collect()
}

/// States how functions are launched. If that contradicts one of several kernels, and no kernel was
/// named on the command line, the kernel keeps its own launch facts. Returns messages about such
/// kernels.
pub(crate) fn state_launch(
    session: &mut Session,
    entries: &[FunctionEntry],
    launch: LaunchStatement,
    are_named: bool,
) -> anyhow::Result<Vec<String>> {
    let is_kernel = |db: &Database, entry: &FunctionEntry| queries::is_kernel(db, entry.input);
    let kernels = entries.iter().filter(|entry| is_kernel(session.database(), entry)).count();
    let mut said = Vec::new();
    for entry in entries {
        match session.database_mut().set_launch(entry.input, launch) {
            Err(error @ ModuleEditError::Launch { .. }) if !are_named && kernels > 1 => {
                if is_kernel(session.database(), entry) {
                    said.push(format!("{error}; it is taken as its module says"));
                }
            }
            outcome => outcome?,
        }
    }
    Ok(said)
}

/// The function with a name: its name in the module, with or without `@`, or its name in the
/// program, with or without template arguments.
pub(crate) fn find(
    session: &Session,
    module: ModuleInput,
    name: &str,
) -> anyhow::Result<FunctionEntry> {
    let db = session.database();
    let symbol = name.strip_prefix('@').unwrap_or(name);
    let entries = module.functions(db);
    let text = |entry: &FunctionEntry| match entry.name.symbol() {
        Some(symbol) => session.context().text(symbol).into_owned(),
        None => String::new(),
    };
    if let Some(entry) = entries.iter().find(|entry| text(entry) == symbol) {
        if !entry.is_definition {
            bail!("@{symbol} has no body");
        }
        return Ok(*entry);
    }
    let defined: Vec<(&FunctionEntry, String)> = entries
        .iter()
        .filter(|entry| entry.is_definition)
        .map(|entry| (entry, source_name(db, entry.input)))
        .collect();
    let wanted = name.replace(' ', "");
    let is_called = |full: &str| {
        let full = &*full.replace(' ', "");
        let without_arguments = full.split_once('<').map_or(full, |(start, _)| start);
        let ends = |full: &str| full == wanted || full.ends_with(&format!("::{wanted}"));
        ends(full) || ends(without_arguments)
    };
    // An OpenCL kernel exists twice: as the function with its code, and as the kernel that the host
    // calls.
    let mut called: Vec<&(&FunctionEntry, String)> =
        defined.iter().filter(|(_, full)| is_called(full)).collect();
    if let Some(kernel) = called.iter().find(|(entry, _)| queries::is_kernel(db, entry.input)) {
        let kernel = *kernel;
        called.retain(|(_, full)| *full != kernel.1);
        called.push(kernel);
    }
    match called.as_slice() {
        [(entry, _)] => Ok(**entry),
        [] => {
            let symbols = defined.iter().map(|(entry, _)| format!("@{}", text(entry)));
            let sources = defined.iter().map(|(_, full)| full.clone());
            match name.starts_with('@') {
                true => Err(UnknownName::among("function", name, symbols).into()),
                false => {
                    let all = sources.chain(symbols.map(|s| s.trim_start_matches('@').to_owned()));
                    Err(UnknownName::among("function", name, all).into())
                }
            }
        }
        several => {
            let several: Vec<String> = several
                .iter()
                .map(|(entry, full)| format!("`{full}` (@{})", text(entry)))
                .collect();
            bail!("several functions are called {name}: {}", several.join(", "))
        }
    }
}

/// The function with the code of a kernel. Clang puts the code of an OpenCL kernel into a separate
/// function that the kernel calls; it is inlined from -O1 on.
pub(crate) fn code_of(
    session: &Session,
    module: ModuleInput,
    kernel: FunctionEntry,
) -> FunctionEntry {
    let (db, context) = (session.database(), session.context());
    let body = kernel.input.body(db);
    let Some(symbol) = kernel.name.symbol() else { return kernel };
    let Some(code) =
        context.find_symbol(format!("{OPENCL_BODY}{}", context.text(symbol)).as_bytes())
    else {
        return kernel;
    };
    let order = kernel.input.flow(db).order();
    let calls = order.iter().flat_map(|&block| body.block_insts(block)).any(|inst| {
        let callee = body.inst(inst).opcode.is_call().then(|| body.const_callee(inst)).flatten();
        callee.is_some_and(|callee| {
            matches!(context.const_data(callee).kind, ConstKind::Global(name) if name.symbol() == Some(code))
        })
    });
    let mut entries = module.functions(db).iter().filter(|_| calls);
    entries.find(|e| e.is_definition && e.name.symbol() == Some(code)).copied().unwrap_or(kernel)
}

/// Runs `work` on each function and passes the results to `done`, in order.
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
            bar.inc(1);
            vec![work(session.database(), *entry)]
        } else {
            chunk
                .par_iter()
                .map_with(session.database().clone(), |db, entry| {
                    let result = work(db, *entry);
                    bar.inc(1);
                    result
                })
                .collect()
        };
        for (entry, result) in chunk.iter().zip(results) {
            done(*entry, result)?;
        }
    }
    bar.finish_and_clear();
    Ok(())
}
