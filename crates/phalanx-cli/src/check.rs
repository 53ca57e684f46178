//! `phalanx check`.

mod again;
mod baseline;
mod config;
mod fixes;
mod once;
mod rules;
mod sizes;
mod stored;
mod units;
mod watch;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use phalanx::{
    ModuleId, Session,
    analysis::check::coverage::Coverage,
    db::{Database, FunctionEntry, FunctionInput, ModuleEditError, queries},
    report::{
        check::{
            Checker, Diagnostic, Judged, LinedText, Location, LogOptions, ModuleText, Run, Side,
            SourceFile, against, distinct, findings, page_of, sarif, source_name, symbol_name,
            write_github, write_github_summary, write_judged, write_line, write_summary,
            write_text,
        },
        explain::UnknownName,
    },
    target::LaunchStatement,
};

use phalanx_source::{About, Digest, Entry, Hasher};

use crate::{
    analyze::read,
    args::{CheckArgs, CheckFormat},
    files::{Files, FilesOf},
    functions,
    input::{self, Origin, Reader, Source, compiled_by},
    status::Status,
    terminal::{self, Terminal},
};
use baseline::Baseline;
use config::Levels;
pub(crate) use fixes::Trials;
use once::once_a_line;
use rules::rendered;
use sizes::Sizes;
use units::{Item, items, work_off};

/// A module that cannot be read: the rendered error.
#[derive(Debug)]
struct Unreadable(String);

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

/// Runs the command.
pub(crate) fn run(args: &CheckArgs, terminal: &Terminal) -> anyhow::Result<Status> {
    if let Some(name) = &args.explain {
        let rule = config::rule_named(name)?;
        terminal.out(&rendered(page_of(rule)))?;
        return Ok(Status::Fine);
    }
    if args.list_rules {
        terminal.out(&rules::list())?;
        return Ok(Status::Fine);
    }
    input::read_stdin_once(args.files.iter().chain(&args.against))?;
    let items = items(args, terminal)?;
    let check = Check::new(args, terminal, items.len() > 1)?;
    if args.watch {
        return watch::run(&check);
    }
    let (mut all, mut worst) = check.all(&items, terminal);
    if args.fix && check.write_fixes(&all)? {
        check.reader.forget();
        check.files.forget();
        (all, worst) = check.all(&items, terminal);
    }
    if let Some((cache, _)) = check.reader.cache() {
        cache.trim();
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

/// The result for an item: a module that was checked, or why there is none.
struct Outcome {
    messages: String,
    checked: Option<Checked>,
}

/// A module that was checked.
struct Checked {
    source: Source,
    found: Vec<Diagnostic>,
    /// What was judged.
    judged: Option<Judged>,
}

/// The command's options, and how findings are reported.
struct Check<'a> {
    args: &'a CheckArgs,
    terminal: Terminal,
    reader: Reader,
    levels: Levels,
    baseline: Baseline,
    files: Files,
    sizes: Sizes,
    /// The folder that file names in the output are relative to.
    root: Option<PathBuf>,
    /// Of the functions that the command line names, those that were found, if there are several
    /// files: each function has to be in one of them.
    named: Option<Mutex<BTreeSet<String>>>,
}

impl<'a> Check<'a> {
    fn new(args: &'a CheckArgs, terminal: &Terminal, has_many: bool) -> anyhow::Result<Self> {
        let baseline = args.baseline.as_deref().map(Baseline::read).transpose()?;
        let levels = Levels::new(args)?;
        let sizes = Sizes::new(&args.group, levels.sizes())?;
        Ok(Check {
            args,
            terminal: if has_many { terminal.without_progress() } else { *terminal },
            reader: Reader::new(&args.source, &args.target).launched_with(sizes.largest()),
            levels,
            baseline: baseline.unwrap_or_default(),
            files: Files::default(),
            root: args.srcroot.as_deref().map(std::path::absolute).transpose()?,
            sizes,
            named: (has_many && !args.function.is_empty()).then(Mutex::default),
        })
    }

    /// The functions of a module that are to be checked.
    fn entries(&self, session: &Session, module: ModuleId) -> anyhow::Result<Vec<FunctionEntry>> {
        let Some(named) = &self.named else {
            return functions::select(session, module.input(), &self.args.function);
        };
        let mut entries = Vec::new();
        for name in &self.args.function {
            match functions::find(session, module.input(), name) {
                Ok(entry) => {
                    entries.push(entry);
                    named.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
                }
                Err(error) if error.is::<UnknownName>() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(entries)
    }

    /// Functions that are named on the command line but that no file has.
    fn missing(&self) -> Vec<&String> {
        let Some(named) = &self.named else { return Vec::new() };
        let named = named.lock().unwrap_or_else(PoisonError::into_inner);
        self.args.function.iter().filter(|name| !named.contains(*name)).collect()
    }

    /// Checks everything; the status says whether something could not be checked.
    fn all(&self, items: &[Item], terminal: &Terminal) -> (Vec<Checked>, Status) {
        let mut worst = Status::Fine;
        let mut all = Vec::new();
        for outcome in work_off(items, terminal, |item| self.item(item)) {
            terminal.err(&outcome.messages);
            match outcome.checked {
                Some(checked) => all.push(checked),
                None => worst = Status::Bad,
            }
        }
        for name in self.missing() {
            terminal.error(&format!("no function is called `{name}` in any of the files"));
            worst = Status::Bad;
        }
        for name in self.sizes.unmet() {
            terminal.error(&format!("--group: no function is called `{name}`"));
            worst = Status::Bad;
        }
        (all, worst)
    }

    /// Checks one of several.
    fn item(&self, item: &Item) -> Outcome {
        let mut messages = String::new();
        let checked = match self.checked(item) {
            Ok(checked) => Some(checked),
            Err(error) => {
                messages = input::said(&error);
                match error.downcast::<Unreadable>() {
                    Ok(Unreadable(text)) => messages += &text,
                    Err(error) => messages += &terminal::error_line(&format!("{error:#}")),
                }
                None
            }
        };
        Outcome { messages, checked }
    }

    fn checked(&self, item: &Item) -> anyhow::Result<Checked> {
        let mut source = match item {
            Item::File(path) => self.reader.read(path)?,
            Item::Unit(unit) => self.reader.unit(unit, None)?,
        };
        if let Some(before) = &self.args.against {
            let (found, judged) = self.against(&source, before)?;
            return Ok(Checked { source, found, judged: Some(judged) });
        }
        // A cached result does not say which of the named functions the file has.
        let has_names = self.named.is_some() || self.sizes.has_names();
        let kept = source.compiled.as_ref().filter(|_| !has_names);
        let own = self.args.target.own_functions.as_deref().map(std::fs::read).transpose();
        let own = own.unwrap_or_default().unwrap_or_default();
        let key = kept.map(|origin| self.key(origin, &own));
        let known = key
            .zip(self.reader.cache())
            .and_then(|(key, (cache, files))| stored::read(&cache.get(key, files)?.payload));
        let (found, judged) = match known {
            Some(known) => known,
            None => {
                let (mut found, judged) = self.found(&source, &self.files)?;
                let trials = Trials {
                    reader: &self.reader,
                    found: &|source, files| self.found(source, files),
                };
                let files = self.files_of(&source);
                if self.tries_fixes() {
                    trials.add_fixes((&source, &files), &mut found, &judged);
                }
                self.add_of_others(&source, &mut found)?;
                if let (Some(key), Some((cache, _))) = (key, self.reader.cache()) {
                    let reads = source.compiled.as_ref().map(|origin| origin.reads.clone());
                    let payload = stored::write(&found, &judged);
                    cache.put(key, &Entry { reads: reads.unwrap_or_default(), payload });
                }
                (found, judged)
            }
        };
        // A project has many modules, and their texts are rarely shown.
        let is_shown = |diagnostic: &Diagnostic| {
            let reasons = diagnostic.reasons.iter().map(|reason| &reason.location);
            reasons.chain([&diagnostic.location]).any(|place| place.source.is_none())
        };
        if source.compiled.is_some() && !found.iter().any(is_shown) {
            source.text = Vec::new();
        }
        Ok(Checked { source, found: self.keep(found), judged: Some(judged) })
    }

    /// All findings in a module, before levels and the baseline are applied.
    fn found(&self, source: &Source, files: &Files) -> anyhow::Result<(Vec<Diagnostic>, Judged)> {
        let mut session = Session::new();
        let module = self.read(&mut session, source)?;
        self.examine(&session, module, (source, files))
    }

    /// A key of everything that the findings in a module depend on.
    fn key(&self, origin: &Origin, own_functions: &[u8]) -> Digest {
        let args = self.args;
        let options = format!(
            "{:?}",
            (
                (
                    &args.function,
                    self.sizes.key(),
                    args.wave,
                    args.part_of_program,
                    args.no_generic
                ),
                (args.suggest_launch, args.performance, args.loads, &args.target),
                self.tries_fixes(),
            )
        );
        let program = std::env::current_exe().and_then(std::fs::metadata);
        let program = program.and_then(|program| Ok((program.len(), program.modified()?)));
        Hasher::default()
            .with(b"findings")
            .with(origin.digest.to_string().as_bytes())
            .with(options.as_bytes())
            .with(own_functions)
            .with(format!("{program:?}").as_bytes())
            .finish()
    }

    /// Whether fixes are shown or made. Each is compiled and checked before it is shown.
    fn tries_fixes(&self) -> bool {
        self.args.fix || !matches!(self.args.format, CheckFormat::Line | CheckFormat::Github)
    }

    /// Reads a module.
    fn read(&self, session: &mut Session, source: &Source) -> anyhow::Result<ModuleId> {
        let module = read(session, source, &self.args.target)?
            .map_err(|error| Unreadable(error.render(&source.module, &source.text)))?;
        self.state(session, module)?;
        Ok(module)
    }

    /// What is stated of the launches of a function.
    fn launch(&self, db: &Database, function: FunctionInput) -> LaunchStatement {
        let symbol = symbol_name(db, function.module(db), function.header(db).name);
        LaunchStatement {
            workgroup_size: self.sizes.of([&source_name(db, function), &symbol]),
            wave_width: self.args.wave,
            ..Default::default()
        }
    }

    /// States the launch that options give.
    fn state(&self, session: &mut Session, module: ModuleId) -> anyhow::Result<()> {
        for entry in self.entries(session, module)? {
            let launch = self.launch(session.database(), entry.input);
            match session.database_mut().set_launch(entry.input, launch) {
                // One of several kernels: `add_unlaunched` reports it.
                Err(ModuleEditError::Launch { .. }) if self.args.function.is_empty() => {}
                outcome => outcome?,
            }
        }
        session.set_whole(module, !self.args.part_of_program);
        Ok(())
    }

    /// Records kernels whose own launch facts contradict the stated launch.
    fn add_unlaunched(&self, session: &Session, module: ModuleId, judged: &mut Judged) {
        let db = session.database();
        for entry in module.input().functions(db).iter().filter(|entry| entry.is_definition) {
            let facts = queries::launch_facts(db, entry.input);
            if let Some(why) = self.launch(db, entry.input).contradiction(facts)
                && queries::is_kernel(db, entry.input)
                && self.args.function.is_empty()
            {
                judged.add_unlaunched(source_name(db, entry.input), &why);
            }
        }
    }

    /// All findings in a module, with levels and the baseline applied.
    fn examine(
        &self,
        session: &Session,
        module: ModuleId,
        (source, files): (&Source, &Files),
    ) -> anyhow::Result<(Vec<Diagnostic>, Judged)> {
        let entries = self.entries(session, module)?;
        let db = session.database();
        let mut judged = match self.args.function.is_empty() {
            true => Judged::of_module(db, module.input()),
            false => Judged::default(),
        };
        self.add_unlaunched(session, module, &mut judged);
        let mut affected: Vec<(FunctionEntry, Coverage, bool)> = Vec::new();
        let all = |db: &Database, function: FunctionInput| {
            let mut found = findings(db, function);
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
            (&self.terminal, "checking"),
            |db, entry| {
                let mut coverage = queries::coverage(db, entry.input).unwrap_or_default();
                coverage.gaps.extend(queries::unjudged_memory(db, entry.input));
                (coverage, !all(db, entry.input).is_empty())
            },
            |entry, (coverage, has_findings)| {
                let is_judged = coverage.gaps.is_empty() && queries::is_executed(db, entry.input);
                if has_findings || !is_judged {
                    affected.push((entry, coverage, has_findings));
                } else {
                    judged.kernels += usize::from(queries::is_kernel(db, entry.input));
                    judged.barriers += coverage.barriers;
                }
                Ok(())
            },
        )?;
        if affected.is_empty() {
            return Ok((Vec::new(), judged));
        }
        let printer = session.printer(module);
        let (text, files) = (LinedText::new(&source.text[..]), files.of(source));
        let mut found = Vec::new();
        for (entry, coverage, has_findings) in affected {
            let checker = Checker::new(db, entry.input, &printer, &text, &files);
            judged.add_function(db, entry.input, &coverage, &checker);
            if has_findings {
                let findings = all(db, entry.input);
                found.extend(findings.iter().map(|finding| checker.diagnostic(finding)));
            }
        }
        Ok((distinct(found), judged))
    }

    /// Findings about what became worse since another version of a module.
    fn against(&self, source: &Source, before: &Path) -> anyhow::Result<(Vec<Diagnostic>, Judged)> {
        let mut session = Session::new();
        let module = self.read(&mut session, source)?;
        let before = self.reader.read(before)?;
        let mut old = Session::new();
        let old_module = self.read(&mut old, &before)?;
        let entries = functions::select(&session, module.input(), &self.args.function)?;
        let selected: Vec<FunctionInput> = entries.iter().map(|entry| entry.input).collect();
        let db = session.database();
        let printer = session.printer(module);
        let sides = (
            Side { db: old.database(), module: old_module.input() },
            Side { db, module: module.input() },
        );
        let (text, files) = (LinedText::new(&source.text[..]), self.files_of(source));
        let checker = |function| Checker::new(db, function, &printer, &text, &files);
        let mut found = against(sides.0, sides.1, &selected, &checker);
        self.add_unlaunched(&session, module, &mut found.judged);
        Ok((self.keep(distinct(found.diagnostics)), found.judged))
    }

    /// The files that a module was compiled from.
    fn files_of(&self, source: &Source) -> FilesOf<'_> {
        self.files.of(source)
    }

    /// Applies levels, the baseline and `--srcroot`.
    fn keep(&self, mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        if let Some(root) = &self.root {
            found.iter_mut().for_each(|diagnostic| below(root, diagnostic));
        }
        found.retain_mut(|diagnostic| {
            let Some(level) = self.levels.of(diagnostic) else { return false };
            diagnostic.level = level;
            self.levels.is_shown(diagnostic)
        });
        self.baseline.mark(&mut found);
        // Only SARIF can mark findings as suppressed.
        if self.args.format != CheckFormat::Sarif {
            found.retain(|diagnostic| diagnostic.suppression.is_none());
        }
        found
    }

    /// Prints the findings; `is_incomplete` if a module could not be checked.
    fn tell(&self, all: &[Checked], is_incomplete: bool) -> anyhow::Result<()> {
        match self.args.format {
            CheckFormat::Text | CheckFormat::Line | CheckFormat::Github => {
                let mut text = String::new();
                let mut found: Vec<Diagnostic> = Vec::new();
                for checked in all {
                    let merged = once_a_line(&checked.found);
                    self.write(&checked.source, &merged, &mut text)?;
                    found.extend(merged);
                }
                let mut last = String::new();
                let mut judged: Option<Judged> = None;
                for one in all.iter().filter_map(|checked| checked.judged.clone()) {
                    judged.get_or_insert_default().merge(one);
                }
                let name = all.first().map(|checked| checked.source.name.as_str());
                match judged {
                    Some(judged) => {
                        write_judged(&found, &judged, name.unwrap_or_default(), &mut last)?;
                    }
                    // "Nothing found" would be misleading if a module was not checked.
                    None if found.is_empty() && is_incomplete => {}
                    None => write_summary(&found, &mut last)?,
                }
                last += &compilations(all);
                match self.args.format {
                    CheckFormat::Github => write_github_summary(&last, &mut text)?,
                    _ => text += &last,
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
                    if let Some(origin) = &checked.source.compiled {
                        let About { compiler, language, level, architecture, headers } =
                            &origin.about;
                        value["compiled"] = serde_json::json!({
                            "compiler": compiler,
                            "language": language,
                            "level": level,
                            "architecture": architecture,
                            "headers": headers,
                        });
                    }
                    value
                };
                let modules: Vec<serde_json::Value> = all.iter().map(module).collect();
                self.terminal.out(&(serde_json::to_string_pretty(&modules)? + "\n"))?;
            }
            CheckFormat::Sarif => {
                let lined = |checked: &Checked| LinedText::new(checked.source.text.clone());
                let texts: Vec<LinedText<'static>> = all.iter().map(lined).collect();
                let files: Vec<FilesOf<'_>> =
                    all.iter().map(|checked| self.files_of(&checked.source)).collect();
                let runs: Vec<Run<'_>> = all
                    .iter()
                    .zip(&texts)
                    .zip(&files)
                    .map(|((checked, text), files)| Run {
                        module: &checked.source.name,
                        text,
                        is_compiled: checked.source.compiled.is_some(),
                        sources: files,
                        diagnostics: &checked.found,
                        judged: checked.judged.as_ref(),
                    })
                    .collect();
                let options = LogOptions { pages: self.levels.pages(), is_incomplete };
                let log = sarif(&runs, options);
                self.terminal.out(&(serde_json::to_string_pretty(&log)? + "\n"))?;
            }
        }
        Ok(())
    }

    fn write(&self, source: &Source, found: &[Diagnostic], out: &mut String) -> anyhow::Result<()> {
        let text = LinedText::new(&source.text[..]);
        let module = ModuleText { name: &source.module, text: &text };
        let files = self.files_of(source);
        for diagnostic in found {
            match self.args.format {
                CheckFormat::Line => write_line(diagnostic, &source.name, out)?,
                CheckFormat::Github => write_github(diagnostic, &source.name, out)?,
                _ => write_text(diagnostic, module, &files, out)?,
            }
        }
        Ok(())
    }
}

/// Makes names of files below a folder relative to it.
fn below(root: &Path, diagnostic: &mut Diagnostic) {
    let shorten_name = |file: &mut String, folder: &mut String| {
        let full = normal(&Path::new(folder).join(&*file));
        if let Ok(rest) = full.strip_prefix(root)
            && let Some(rest) = rest.to_str()
        {
            *file = rest.to_owned();
            *folder = root.display().to_string();
        }
    };
    for edit in diagnostic.fix.iter_mut().flat_map(|fix| &mut fix.edits) {
        shorten_name(&mut edit.file, &mut edit.folder);
    }
    let shorten = |place: &mut SourceFile| shorten_name(&mut place.file, &mut place.folder);
    let reasons = diagnostic.reasons.iter_mut().map(|reason| &mut reason.location);
    for location in reasons.chain([&mut diagnostic.location]) {
        let Location { source, inlined, inlined_at, .. } = location;
        source.iter_mut().chain(inlined).chain(inlined_at).for_each(shorten);
    }
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// How sources were compiled: a line for each way, with the number of files.
fn compilations(all: &[Checked]) -> String {
    let mut ways: BTreeMap<&About, usize> = BTreeMap::new();
    for origin in all.iter().filter_map(|checked| checked.source.compiled.as_ref()) {
        *ways.entry(&origin.about).or_default() += 1;
    }
    let line = |(about, count): (&About, usize)| match count {
        1 => format!("{}\n", compiled_by(about)),
        _ => format!("{count} files: {}\n", compiled_by(about)),
    };
    ways.into_iter().map(line).collect()
}
