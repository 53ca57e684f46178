//! `phalanx performance`: what costs a wave most, the most expensive first.

use std::path::Path;

use anyhow::Context as _;
use phalanx::{
    Session,
    db::{FunctionEntry, queries},
    report::{
        check::{Checker, LinedText},
        performance::{ModuleCosts, performance, write_performance},
    },
    target::LaunchStatement,
};

use crate::{
    analyze::read,
    args::{Format, PerformanceArgs},
    files::Files,
    functions,
    input::{self, compiled_by},
    run::extents,
    status::Status,
    terminal::Terminal,
};

/// Runs the command.
pub(crate) fn run(args: &PerformanceArgs, terminal: &Terminal) -> anyhow::Result<Status> {
    let mut status = Status::Fine;
    let mut modules = Vec::new();
    for file in &args.files {
        match costs_of(args, file, terminal)? {
            Some(module) => modules.push(module),
            None => status = Status::Bad,
        }
    }
    let mut out = String::new();
    match args.format {
        Format::Json => {
            out = serde_json::to_string_pretty(&modules)?;
            out.push('\n');
        }
        Format::Text => {
            for module in &modules {
                write_performance(module, args.all, &mut out)?;
            }
        }
    }
    terminal.out(&out)?;
    Ok(status)
}

/// The costs of the functions of a file. None if it is no module; the error has been printed.
fn costs_of(
    args: &PerformanceArgs,
    file: &Path,
    terminal: &Terminal,
) -> anyhow::Result<Option<ModuleCosts>> {
    let workgroup_size = args.group.as_deref().map(extents).transpose().context("--group")?;
    let source = input::read_one(file, &args.source, &args.target, workgroup_size, terminal)?;
    let mut session = Session::new();
    let module = match read(&mut session, &source, &args.target)? {
        Ok(module) => module,
        Err(error) => {
            terminal.err(&error.render(&source.module, &source.text));
            return Ok(None);
        }
    };
    let entries = functions::select(&session, module.input(), &args.function)?;
    let launch = LaunchStatement { workgroup_size, wave_width: args.wave, ..Default::default() };
    let are_named = !args.function.is_empty();
    for warning in functions::state_launch(&mut session, &entries, launch, are_named)? {
        terminal.warn(&warning);
    }
    session.set_whole(module, !args.part_of_program);
    let (db, printer) = (session.database(), session.printer(module));
    let (files, text) = (Files::default(), LinedText::new(&source.text[..]));
    let files = files.of(&source);
    // A function that no kernel calls is not executed, such as clang's copy of an OpenCL kernel's
    // body.
    let is_shown = |entry: &FunctionEntry| {
        !args.function.is_empty() || args.part_of_program || queries::is_executed(db, entry.input)
    };
    let costs = entries.iter().filter(|entry| is_shown(entry)).filter_map(|entry| {
        let checker = Checker::new(db, entry.input, &printer, &text, &files);
        performance(db, entry.input, &checker)
    });
    let functions = costs.collect();
    let compiled = source.compiled.as_ref().map(|origin| compiled_by(&origin.about));
    Ok(Some(ModuleCosts { file: source.name.clone(), compiled, functions }))
}
