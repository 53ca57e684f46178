//! `phalanx report`: a page about a module; for several modules, one page each and a page with
//! links.

use std::path::Path;

use anyhow::Context as _;
use phalanx::{
    ModuleId, Session,
    db::{FunctionEntry, queries},
    report::{
        check::{Checker, Diagnostic, Judged, LinedText, distinct, findings, write_judged},
        page::{self, Builder, Page},
    },
    target::LaunchStatement,
};

use crate::{
    analyze::read,
    args::ReportArgs,
    check::Trials,
    files::Files,
    functions,
    input::{Reader, Source, compiled_by},
    run::extents,
    status::Status,
    terminal::Terminal,
};

/// Runs the command.
pub(crate) fn run(args: &ReportArgs, terminal: &Terminal) -> anyhow::Result<Status> {
    let report = Report::new(args, terminal)?;
    if let [file] = &args.files[..] {
        let Some(mut page) = report.page_of(file)? else { return Ok(Status::Bad) };
        if let Some(before) = &args.against {
            let Some(before) = report.page_of(before)? else { return Ok(Status::Bad) };
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
    several(&report, terminal)
}

/// A page of each file in a folder beside the output, and links to all in the output.
fn several(report: &Report<'_>, terminal: &Terminal) -> anyhow::Result<Status> {
    let args = report.args;
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
        let Some(page) = report.page_of(file)? else {
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

/// The options for making pages.
struct Report<'a> {
    args: &'a ReportArgs,
    launch: LaunchStatement,
    reader: Reader,
    terminal: Terminal,
}

/// The findings in a module.
struct Examined {
    /// All findings, function by function.
    found: Vec<Diagnostic>,
    /// The functions, with the number of findings and of operations that are not judged in each.
    functions: Vec<(FunctionEntry, usize, usize)>,
    /// Messages about kernels whose launch differs from the stated one.
    warnings: Vec<String>,
    judged: Judged,
}

impl<'a> Report<'a> {
    fn new(args: &'a ReportArgs, terminal: &Terminal) -> anyhow::Result<Self> {
        let workgroup_size = args.group.as_deref().map(extents).transpose().context("--group")?;
        Ok(Report {
            args,
            launch: LaunchStatement { workgroup_size, wave_width: args.wave, ..Default::default() },
            reader: Reader::new(&args.source, &args.target).launched_with(workgroup_size),
            terminal: *terminal,
        })
    }

    /// The page of a file. None if it is no module; the error has been printed.
    fn page_of(&self, file: &Path) -> anyhow::Result<Option<Page>> {
        let source = self.reader.read(file)?;
        source.note(&self.terminal);
        let mut session = Session::new();
        let module = match read(&mut session, &source, &self.args.target)? {
            Ok(module) => module,
            Err(error) => {
                self.terminal.err(&error.render(&source.module, &source.text));
                return Ok(None);
            }
        };
        let files = Files::default();
        let Examined { mut found, functions, warnings, judged } =
            self.examine(&mut session, module, (&source, &files))?;
        warnings.iter().for_each(|warning| self.terminal.warn(warning));
        let trials =
            Trials { reader: &self.reader, found: &|source, files| self.found(source, files) };
        let files = files.of(&source);
        trials.add_fixes((&source, &files), &mut found, &judged);
        let mut said = String::new();
        write_judged(&found, &judged, &source.name, &mut said)?;
        let (db, printer) = (session.database(), session.printer(module));
        let mut builder = Builder::new(db, module.input(), &printer, (&source.name, &source.text));
        for (entry, count, not_judged) in functions {
            builder.add(entry, (found.drain(..count).collect(), not_judged), &files);
        }
        let compiled = source.compiled.as_ref().map(|origin| compiled_by(&origin.about));
        Ok(Some(builder.finish(&files, compiled, said.trim().to_owned())))
    }

    /// The findings in a module that has been read, with the stated launch.
    fn examine(
        &self,
        session: &mut Session,
        module: ModuleId,
        (source, files): (&Source, &Files),
    ) -> anyhow::Result<Examined> {
        let entries = functions::select(session, module.input(), &self.args.function)?;
        let are_named = !self.args.function.is_empty();
        let warnings = functions::state_launch(session, &entries, self.launch, are_named)?;
        session.set_whole(module, !self.args.part_of_program);
        let (db, printer) = (session.database(), session.printer(module));
        let (text, files) = (LinedText::new(&source.text[..]), files.of(source));
        let judged = match self.args.function.is_empty() {
            true => Judged::of_module(db, module.input()),
            false => Judged::default(),
        };
        let mut examined = Examined { found: Vec::new(), functions: Vec::new(), warnings, judged };
        for entry in entries {
            let checker = Checker::new(db, entry.input, &printer, &text, &files);
            let mut coverage = queries::coverage(db, entry.input).unwrap_or_default();
            coverage.gaps.extend(queries::unjudged_memory(db, entry.input));
            examined.judged.add_function(db, entry.input, &coverage, &checker);
            let found = findings(db, entry.input);
            let found = distinct(found.iter().map(|finding| checker.diagnostic(finding)).collect());
            examined.functions.push((entry, found.len(), coverage.gaps.len()));
            examined.found.extend(found);
        }
        Ok(examined)
    }

    /// The findings in a source that a fix has changed.
    fn found(&self, source: &Source, files: &Files) -> anyhow::Result<(Vec<Diagnostic>, Judged)> {
        let mut session = Session::new();
        let module = read(&mut session, source, &self.args.target)?
            .map_err(|error| anyhow::Error::msg(error.render(&source.module, &source.text)))?;
        let examined = self.examine(&mut session, module, (source, files))?;
        Ok((examined.found, examined.judged))
    }
}
