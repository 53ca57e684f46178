//! `phalanx report`: a page of a module; of several, a page of each and one with links to all.

use std::path::Path;

use anyhow::Context as _;
use phalanx::{
    Session,
    db::queries,
    report::{
        check::{Checker, Diagnostic, Judged, LinedText, distinct, findings, write_judged},
        page::{self, Builder, Page},
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
    if let [file] = &args.files[..] {
        let Some(mut page) = page_of(args, file, terminal)? else { return Ok(Status::Bad) };
        if let Some(before) = &args.against {
            let Some(before) = page_of(args, before, terminal)? else { return Ok(Status::Bad) };
            page.set_earlier(before);
        }
        let mut out = String::new();
        page::write(&page, &mut out)?;
        if args.output == Path::new("-") {
            terminal.out(&out)?;
            return Ok(Status::Fine);
        }
        write(&args.output, &out, terminal)?;
        return Ok(Status::Fine);
    }
    several(args, terminal)
}

/// A page of each file in a folder beside the output, and links to all in the output.
fn several(args: &ReportArgs, terminal: &Terminal) -> anyhow::Result<Status> {
    if args.against.is_some() {
        anyhow::bail!("--against shows two versions of one file, and several were given");
    }
    if args.output == Path::new("-") {
        anyhow::bail!("the pages of several files are files: -o cannot be `-`");
    }
    let folder = args.output.with_extension("");
    if folder == args.output {
        anyhow::bail!(
            "-o {} has no extension; pages go to a folder of that name",
            folder.display()
        );
    }
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let beside = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (mut list, mut status) = (page::List::default(), Status::Fine);
    let mut names: Vec<String> = Vec::new();
    for file in &args.files {
        let Some(page) = page_of(args, file, terminal)? else {
            status = Status::Bad;
            continue;
        };
        let base = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Files in several folders may have one name.
        let (mut name, mut number) = (format!("{base}.html"), 1);
        while names.contains(&name) {
            number += 1;
            name = format!("{base}.{number}.html");
        }
        names.push(name.clone());
        let mut out = String::new();
        page::write(&page, &mut out)?;
        write(&folder.join(&name), &out, terminal)?;
        list.add(&page, &format!("{beside}/{name}"))?;
    }
    let mut out = String::new();
    list.write(&mut out)?;
    write(&args.output, &out, terminal)?;
    Ok(status)
}

fn write(path: &Path, text: &str, terminal: &Terminal) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    terminal.note(&format!("{}: {} KB", path.display(), text.len().div_ceil(1024)));
    Ok(())
}

/// The page of a file. None if it is no module, which has been said.
fn page_of(args: &ReportArgs, file: &Path, terminal: &Terminal) -> anyhow::Result<Option<Page>> {
    let workgroup_size = args.group.as_deref().map(extents).transpose().context("--group")?;
    let source = input::read_one(file, &args.source, &args.target, workgroup_size, terminal)?;
    let mut session = Session::new();
    let module = match session.read_for(&source.text, overrides(&args.target)) {
        Ok(module) => module,
        Err(error) => {
            terminal.err(&error.render(&source.module, &source.text));
            return Ok(None);
        }
    };
    let entries = functions::select(&session, module.input(), &args.function)?;
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
        builder.add(entry, found, coverage.gaps.len());
    }
    let mut said = String::new();
    write_judged(&all, &judged, &source.name, &mut said)?;
    let compiled = source.compiled.as_ref().map(|origin| compiled_by(&origin.about));
    Ok(Some(builder.finish(&files, compiled, said.trim().to_owned())))
}
