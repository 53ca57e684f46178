//! `phalanx check`.

mod baseline;
mod config;
mod files;
mod watch;

use std::path::Path;

use anyhow::Context as _;
use phalanx::{
    ModuleId, Session,
    analysis::check::coverage::Coverage,
    db::{Database, FunctionEntry, FunctionInput, queries},
    report::{
        check::{
            Checker, Diagnostic, Judged, LogOptions, Run, Side, against, distinct, page, sarif,
            write_judged, write_summary, write_text,
        },
        diagnostics::SourceText,
    },
    target::LaunchStatement,
};

use crate::{
    Status,
    analyze::overrides,
    args::{CheckArgs, CheckFormat},
    functions,
    input::{self, Source},
    run::extents,
    terminal::Terminal,
};
use baseline::Baseline;
use config::Levels;
use files::Files;

/// Runs the command.
pub(crate) fn run(args: &CheckArgs, terminal: &Terminal) -> anyhow::Result<Status> {
    if let Some(name) = &args.explain {
        let text = page(name).with_context(|| format!("no rule is called {name}"))?;
        terminal.out(text)?;
        return Ok(Status::Fine);
    }
    input::read_stdin_once(args.files.iter().chain(&args.against))?;
    let check = Check::new(args, terminal)?;
    if args.watch {
        return watch::run(&check);
    }
    let mut worst = Status::Fine;
    let mut all = Vec::new();
    for path in &args.files {
        let source = match input::read(path) {
            Ok(source) => source,
            Err(error) => {
                terminal.error(&format!("{error:#}"));
                worst = Status::Bad;
                continue;
            }
        };
        let mut session = Session::new();
        let Some(module) = check.read(&mut session, &source)? else {
            worst = Status::Bad;
            continue;
        };
        let (found, judged) = match &args.against {
            Some(before) => match check.against(&session, module, &source, before)? {
                Some(found) => (found, None),
                None => {
                    worst = Status::Bad;
                    continue;
                }
            },
            None => {
                let (found, judged) = check.examine(&session, module, &source)?;
                (found, Some(judged))
            }
        };
        all.push(Checked { source, found, judged });
    }
    if let Some(path) = &args.write_baseline {
        let told = |d: &&Diagnostic| d.suppression.is_none();
        let diagnostics = all.iter().flat_map(|checked| &checked.found).filter(told);
        Baseline::of(diagnostics).write(path)?;
        return Ok(worst);
    }
    check.tell(&all, worst == Status::Bad)?;
    let is_error = |checked: &Checked| {
        let mut found = checked.found.iter();
        found.any(|d| d.level == "error" && d.suppression.is_none())
            || check.levels.denies_not_judged()
                && checked.judged.as_ref().is_some_and(|judged| !judged.is_complete())
    };
    Ok(worst.max(if all.iter().any(is_error) { Status::Findings } else { Status::Fine }))
}

/// A module that was checked.
struct Checked {
    source: Source,
    found: Vec<Diagnostic>,
    /// What was judged; nothing is in a comparison.
    judged: Option<Judged>,
}

/// What is to be checked, and how findings are told.
struct Check<'a> {
    args: &'a CheckArgs,
    terminal: &'a Terminal,
    levels: Levels,
    baseline: Baseline,
    files: Files,
    launch: LaunchStatement,
}

impl<'a> Check<'a> {
    fn new(args: &'a CheckArgs, terminal: &'a Terminal) -> anyhow::Result<Self> {
        let baseline = args.baseline.as_deref().map(Baseline::read).transpose()?;
        let workgroup_size = args.group.as_deref().map(extents).transpose().context("--group")?;
        Ok(Check {
            args,
            terminal,
            levels: Levels::new(args)?,
            baseline: baseline.unwrap_or_default(),
            files: Files::default(),
            launch: LaunchStatement { workgroup_size, wave_width: args.wave, ..Default::default() },
        })
    }

    /// Reads a module; none, and a message, if that cannot be done.
    fn read(&self, session: &mut Session, source: &Source) -> anyhow::Result<Option<ModuleId>> {
        let module = match session.read_for(&source.text, overrides(&self.args.target)) {
            Ok(module) => module,
            Err(error) => {
                self.terminal.err(&error.render(&source.name, &source.text));
                return Ok(None);
            }
        };
        self.state(session, module)?;
        Ok(Some(module))
    }

    /// Says what is known of launches.
    fn state(&self, session: &mut Session, module: ModuleId) -> anyhow::Result<()> {
        for entry in functions::select(session, module.input(), &self.args.function)? {
            session.database_mut().set_launch(entry.input, self.launch)?;
        }
        session.set_whole(module, !self.args.part_of_program);
        Ok(())
    }

    /// Everything that is found in a module, as levels and the baseline have it.
    fn examine(
        &self,
        session: &Session,
        module: ModuleId,
        source: &Source,
    ) -> anyhow::Result<(Vec<Diagnostic>, Judged)> {
        let entries = functions::select(session, module.input(), &self.args.function)?;
        let db = session.database();
        let mut judged = match self.args.function.is_empty() {
            true => Judged::of_module(db, module.input()),
            false => Judged::default(),
        };
        let mut concerned: Vec<(FunctionEntry, Coverage, bool)> = Vec::new();
        let all = |db: &Database, function: FunctionInput| {
            let mut found =
                queries::diagnostics(db, function).as_deref().unwrap_or_default().to_vec();
            let conflicts = queries::space_conflicts(db, function).as_deref();
            found.extend_from_slice(conflicts.unwrap_or_default());
            found.extend(queries::waiting_loops(db, function).iter().flatten().cloned());
            if self.args.no_generic {
                found.extend(queries::mixed_spaces(db, function).iter().flatten().cloned());
            }
            if self.args.suggest_launch {
                found.extend(queries::launch_suggestions(db, function).iter().flatten().cloned());
            }
            if self.args.performance {
                found.extend(queries::slow_accesses(db, function).iter().flatten().cloned());
            }
            if self.args.loads {
                found.extend(queries::slow_loads(db, function).iter().flatten().cloned());
            }
            found
        };
        functions::for_each(
            session,
            &entries,
            (self.terminal, "checking"),
            |db, entry| {
                let coverage = queries::coverage(db, entry.input).unwrap_or_default();
                (coverage, !all(db, entry.input).is_empty())
            },
            |entry, (coverage, has_findings)| {
                let is_judged = coverage.gaps.is_empty() && queries::is_executed(db, entry.input);
                if has_findings || !is_judged {
                    concerned.push((entry, coverage, has_findings));
                } else {
                    judged.kernels += usize::from(queries::is_kernel(db, entry.input));
                    judged.barriers += coverage.barriers;
                }
                Ok(())
            },
        )?;
        if concerned.is_empty() {
            return Ok((Vec::new(), judged));
        }
        let printer = session.printer(module);
        let mut found = Vec::new();
        for (entry, coverage, has_findings) in concerned {
            let checker = Checker::new(db, entry.input, &printer, &source.text, &self.files);
            judged.add_function(db, entry.input, &coverage, &checker);
            if has_findings {
                let findings = all(db, entry.input);
                found.extend(findings.iter().map(|finding| checker.diagnostic(finding)));
            }
        }
        Ok((self.keep(distinct(found)), judged))
    }

    /// What became worse since another version of a module.
    fn against(
        &self,
        session: &Session,
        module: ModuleId,
        source: &Source,
        before: &Path,
    ) -> anyhow::Result<Option<Vec<Diagnostic>>> {
        let before = input::read(before)?;
        let mut old = Session::new();
        let Some(old_module) = self.read(&mut old, &before)? else { return Ok(None) };
        let entries = functions::select(session, module.input(), &self.args.function)?;
        let selected: Vec<FunctionInput> = entries.iter().map(|entry| entry.input).collect();
        let db = session.database();
        let printer = session.printer(module);
        let sides = (
            Side { db: old.database(), module: old_module.input() },
            Side { db, module: module.input() },
        );
        let checker = |function| Checker::new(db, function, &printer, &source.text, &self.files);
        let found = against(sides.0, sides.1, &selected, &checker);
        Ok(Some(self.keep(distinct(found))))
    }

    fn keep(&self, mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        found.retain_mut(|diagnostic| {
            let Some(level) = self.levels.of(diagnostic) else { return false };
            diagnostic.level = level;
            self.levels.is_shown(diagnostic)
        });
        self.baseline.mark(&mut found);
        // Only a log has a way to say that something is known.
        if self.args.format != CheckFormat::Sarif {
            found.retain(|diagnostic| diagnostic.suppression.is_none());
        }
        found
    }

    /// Tells what was found; `is_incomplete` when there is a module that could not be checked.
    fn tell(&self, all: &[Checked], is_incomplete: bool) -> anyhow::Result<()> {
        match self.args.format {
            CheckFormat::Text => {
                let mut text = String::new();
                for checked in all {
                    self.write(&checked.source, &checked.found, &mut text)?;
                }
                let found: Vec<Diagnostic> = all.iter().flat_map(|c| c.found.clone()).collect();
                let mut judged: Option<Judged> = None;
                for one in all.iter().filter_map(|checked| checked.judged.clone()) {
                    judged.get_or_insert_default().merge(one);
                }
                let name = all.first().map(|checked| checked.source.name.as_str());
                match judged {
                    Some(judged) => {
                        write_judged(&found, &judged, name.unwrap_or_default(), &mut text)?;
                    }
                    // That nothing was found is no news of a module that was not checked.
                    None if found.is_empty() && is_incomplete => {}
                    None => write_summary(&found, &mut text)?,
                }
                self.terminal.out(&text)?;
            }
            CheckFormat::Json => {
                let module = |checked: &Checked| {
                    let mut value = serde_json::json!({
                        "file": checked.source.name,
                        "diagnostics": checked.found,
                    });
                    if let Some(judged) = &checked.judged {
                        value["judged"] = serde_json::json!(judged);
                    }
                    value
                };
                let modules: Vec<serde_json::Value> = all.iter().map(module).collect();
                self.terminal.out(&(serde_json::to_string_pretty(&modules)? + "\n"))?;
            }
            CheckFormat::Sarif => {
                let runs: Vec<Run<'_>> = all
                    .iter()
                    .map(|checked| Run {
                        module: &checked.source.name,
                        text: &checked.source.text,
                        diagnostics: &checked.found,
                        judged: checked.judged.as_ref(),
                    })
                    .collect();
                let options = LogOptions { pages: self.levels.pages(), is_incomplete };
                let log = sarif(&runs, &self.files, options);
                self.terminal.out(&(serde_json::to_string_pretty(&log)? + "\n"))?;
            }
        }
        Ok(())
    }

    fn write(&self, source: &Source, found: &[Diagnostic], out: &mut String) -> anyhow::Result<()> {
        let module = SourceText { name: &source.name, text: &source.text };
        for diagnostic in found {
            write_text(diagnostic, module, &self.files, out)?;
        }
        Ok(())
    }
}
