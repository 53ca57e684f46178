//! `phalanx report`.

use std::path::Path;

use anyhow::Context as _;
use phalanx::{
    Session,
    db::queries,
    report::{
        check::{Checker, Diagnostic, Judged, LinedText, distinct, findings, write_judged},
        page::{self, Builder},
    },
    target::LaunchStatement,
};

use crate::{
    analyze::overrides,
    args::ReportArgs,
    files::Files,
    functions,
    input::{self, compiled_by},
    run::extents,
    status::Status,
    terminal::Terminal,
};

/// Runs the command.
pub(crate) fn run(args: &ReportArgs, terminal: &Terminal) -> anyhow::Result<Status> {
    let source = input::read_one(&args.file, &args.source, &args.target, terminal)?;
    let mut session = Session::new();
    let module = match session.read_for(&source.text, overrides(&args.target)) {
        Ok(module) => module,
        Err(error) => {
            terminal.err(&error.render(&source.module, &source.text));
            return Ok(Status::Bad);
        }
    };
    let entries = functions::select(&session, module.input(), &args.function)?;
    let workgroup_size = args.group.as_deref().map(extents).transpose().context("--group")?;
    let launch = LaunchStatement { workgroup_size, wave_width: args.wave, ..Default::default() };
    for entry in &entries {
        session.database_mut().set_launch(entry.input, launch)?;
    }
    session.set_whole(module, !args.part_of_program);
    let (db, printer) = (session.database(), session.printer(module));
    let (files, text) = (Files::default(), LinedText::new(&source.text[..]));
    let files = files.of(&source);
    let mut judged = match args.function.is_empty() {
        true => Judged::of_module(db, module.input()),
        false => Judged::default(),
    };
    let mut builder = Builder::new(db, module.input(), &printer, (&source.name, &source.text));
    let mut all: Vec<Diagnostic> = Vec::new();
    for entry in entries {
        let checker = Checker::new(db, entry.input, &printer, &text, &files);
        let mut coverage = queries::coverage(db, entry.input).unwrap_or_default();
        coverage.gaps.extend(queries::unjudged_memory(db, entry.input));
        judged.add_function(db, entry.input, &coverage, &checker);
        let found = findings(db, entry.input);
        let found = distinct(found.iter().map(|finding| checker.diagnostic(finding)).collect());
        all.extend(found.iter().cloned());
        builder.add(entry, found);
    }
    let mut said = String::new();
    write_judged(&all, &judged, &source.name, &mut said)?;
    let compiled = source.compiled.as_ref().map(|origin| compiled_by(&origin.about));
    let page = builder.finish(&files, compiled, said.trim().to_owned());
    let mut out = String::new();
    page::write(&page, &mut out)?;
    if args.output == Path::new("-") {
        terminal.out(&out)?;
        return Ok(Status::Fine);
    }
    std::fs::write(&args.output, &out)
        .with_context(|| format!("cannot write {}", args.output.display()))?;
    terminal.note(&format!("{}: {} KB", args.output.display(), out.len().div_ceil(1024)));
    Ok(Status::Fine)
}
