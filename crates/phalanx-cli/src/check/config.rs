//! Levels of findings: options of the command line, and a configuration file.
//!
//! ```toml
//! [check]
//! deny = ["PHX003", "not-judged"]      # an error; also `warnings`: all that are no notes
//! warn = ["divergent-group-operation"] # a warning
//! allow = ["PHX007"]                   # not reported
//! level = "warning"                    # nothing below this is reported
//! except = [{ rules = ["PHX003"], function = "legacy_*", file = "vendor/*" }] # allowed there
//! pages = "https://example.org/rules"  # where the pages of rules are published: for SARIF
//!
//! [check.group]                        # threads of workgroups, by the names of kernels
//! "scan" = "512"
//! ```
//!
//! The file is `phalanx.toml` in the current folder or the nearest folder above that has it, or the
//! file that `--config` names. For one rule the command line takes precedence over the file; within
//! each of them, `deny` takes precedence over `warn`, and `warn` over `allow`.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};
use phalanx::{
    analysis::check::Rule,
    report::{
        check::{Diagnostic, SourceFile},
        explain::UnknownName,
    },
};

use super::sizes::Statement;
use crate::args::{CheckArgs, LevelArg};

/// The name of the file.
const FILE: &str = "phalanx.toml";
/// Its keys.
const KEYS: [&str; 7] = ["deny", "warn", "allow", "level", "except", "pages", "group"];

/// The level of each rule.
#[derive(Debug, Default)]
pub(super) struct Levels {
    /// From the highest precedence down.
    stated: Vec<(Rule, Option<&'static str>)>,
    /// The level of warnings, whatever their rules, from the highest precedence down.
    warnings: Vec<Option<&'static str>>,
    least: Option<&'static str>,
    pages: Option<String>,
    exceptions: Vec<Exception>,
    /// The level of things that are not judged, from the highest precedence down.
    not_judged: Vec<Option<&'static str>>,
    /// Sizes of workgroups that the file states.
    sizes: Vec<Statement>,
}

/// Stands for things that are not judged, in lists of rules.
const NOT_JUDGED: &str = "not-judged";
/// Stands for all findings whose final level is warning.
const WARNINGS: &str = "warnings";

/// Where rules are allowed. A name that ends in `*` is a prefix, which may match `/`; a missing
/// name matches everything. A file is named as the compiler names it, or relative to the folder of
/// `phalanx.toml`.
#[derive(Debug)]
struct Exception {
    rules: Vec<Rule>,
    function: Option<String>,
    file: Option<String>,
    folder: PathBuf,
}

impl Exception {
    fn read(value: &toml::Value, folder: &Path) -> anyhow::Result<Exception> {
        let table = value.as_table().context("`check.except` holds what is no table")?;
        if let Some(key) = table.keys().find(|k| !["rules", "function", "file"].contains(&&***k)) {
            bail!("`check.except.{key}` is not known");
        }
        let name = |key: &str| match table.get(key) {
            None => Ok(None),
            Some(name) => match name.as_str() {
                Some(name) => Ok(Some(name.to_owned())),
                None => bail!("`check.except.{key}` is no string"),
            },
        };
        let rules = table.get("rules").and_then(toml::Value::as_array);
        let mut named = Vec::new();
        for rule in rules.context("`check.except` has no list `rules`")? {
            match rule.as_str().context("`check.except.rules` holds what is no string")? {
                "all" => named.extend(Rule::ALL),
                name => named.push(rule_named(name)?),
            }
        }
        let (function, file) = (name("function")?, name("file")?);
        Ok(Exception { rules: named, function, file, folder: folder.to_owned() })
    }

    fn is_about(&self, diagnostic: &Diagnostic) -> bool {
        let location = &diagnostic.location;
        let is_named = |pattern: &String, place: &SourceFile| {
            let below = below(&self.folder, place);
            matches(pattern, &place.file) || below.is_some_and(|name| matches(pattern, &name))
        };
        let is_file = |pattern: &String| location.frames().any(|place| is_named(pattern, place));
        let is_function = |pattern: &String| {
            matches(pattern, &diagnostic.function) || matches(pattern, &diagnostic.symbol)
        };
        self.rules.iter().any(|rule| rule.code() == diagnostic.code)
            && self.function.as_ref().is_none_or(is_function)
            && self.file.as_ref().is_none_or(is_file)
    }
}

/// The rule with a code or a name.
pub(super) fn rule_named(name: &str) -> anyhow::Result<Rule> {
    Rule::from_name(name).map_or_else(
        || {
            let names = Rule::ALL.iter().flat_map(|rule| [rule.code(), rule.slug()]);
            Err(UnknownName::among("rule", name, names.map(str::to_owned)).into())
        },
        Ok,
    )
}

/// Whether a name is this one, or begins so if the pattern ends in `*`.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

/// The name of a file relative to a folder that it is in.
fn below(folder: &Path, place: &SourceFile) -> Option<String> {
    let mut path = PathBuf::new();
    for part in Path::new(&place.folder).join(&place.file).components() {
        match part {
            Component::ParentDir => _ = path.pop(),
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    Some(path.strip_prefix(folder).ok()?.to_str()?.to_owned())
}

impl Levels {
    pub(super) fn new(args: &CheckArgs) -> anyhow::Result<Levels> {
        let mut levels = Levels::default();
        levels.state(&args.deny, Some("error"))?;
        levels.state(&args.warn, Some("warning"))?;
        levels.state(&args.allow, None)?;
        levels.least = args.level.map(LevelArg::name);
        let file = match &args.config {
            Some(path) => Some(path.clone()),
            None => find(&std::env::current_dir()?),
        };
        if let Some(path) = file {
            levels.add_file(&path).with_context(|| path.display().to_string())?;
        }
        if args.strict {
            levels.stated.push((Rule::BarrierAfterExit, Some("warning")));
        }
        Ok(levels)
    }

    fn state(&mut self, names: &[String], level: Option<&'static str>) -> anyhow::Result<()> {
        for name in names {
            match name.as_str() {
                NOT_JUDGED => self.not_judged.push(level),
                WARNINGS => self.warnings.push(level),
                "all" => self.stated.extend(Rule::ALL.iter().map(|&rule| (rule, level))),
                name => self.stated.push((rule_named(name)?, level)),
            }
        }
        Ok(())
    }

    fn add_file(&mut self, path: &Path) -> anyhow::Result<()> {
        let text = std::fs::read_to_string(path).context("cannot read it")?;
        let table: toml::Table = text.parse()?;
        let Some(check) = table.get("check") else { return Ok(()) };
        let check = check.as_table().context("`check` is no table")?;
        if let Some(key) = check.keys().find(|k| !KEYS.contains(&&***k)) {
            bail!("`check.{key}` is not known");
        }
        for (key, level) in [("deny", Some("error")), ("warn", Some("warning")), ("allow", None)] {
            let Some(list) = check.get(key) else { continue };
            let list = list.as_array().with_context(|| format!("`check.{key}` is no list"))?;
            let names: Option<Vec<String>> =
                list.iter().map(|name| name.as_str().map(str::to_owned)).collect();
            let names = names.with_context(|| format!("`check.{key}` holds what is no string"))?;
            self.state(&names, level)?;
        }
        if let Some(level) = check.get("level") {
            let name = level.as_str().and_then(LevelArg::from_name);
            let name = name.context("`check.level` is none of note, warning, error")?.name();
            self.least = self.least.or(Some(name));
        }
        if let Some(list) = check.get("except") {
            let list = list.as_array().context("`check.except` is no list")?;
            let path = std::path::absolute(path)?;
            let folder = path.parent().context("it is in no folder")?;
            self.exceptions = list
                .iter()
                .map(|one| Exception::read(one, folder))
                .collect::<anyhow::Result<_>>()?;
        }
        if let Some(table) = check.get("group") {
            let table = table.as_table().context("`check.group` is no table")?;
            for (name, size) in table {
                let what = || format!("`check.group.{name}`");
                let size = size.as_str().with_context(|| format!("{} is no string", what()))?;
                self.sizes.push(Statement::of(name, size).with_context(what)?);
            }
        }
        if let Some(pages) = check.get("pages") {
            let pages = pages.as_str().filter(|pages| pages.contains("://"));
            self.pages = Some(pages.context("`check.pages` is no address")?.to_owned());
        }
        Ok(())
    }

    /// Whether things that are not judged are an error.
    pub(super) fn denies_not_judged(&self) -> bool {
        self.not_judged.first() == Some(&Some("error"))
    }

    /// The sizes of workgroups that the file states.
    pub(super) fn sizes(&self) -> Vec<Statement> {
        self.sizes.clone()
    }

    /// Where the pages of rules are published.
    pub(super) fn pages(&self) -> Option<&str> {
        self.pages.as_deref()
    }

    /// The level at which a finding is reported; none if it is not reported.
    pub(super) fn of(&self, diagnostic: &Diagnostic) -> Option<&'static str> {
        if self.exceptions.iter().any(|exception| exception.is_about(diagnostic)) {
            return None;
        }
        let mut stated = self.stated.iter();
        let level = match stated.find(|(rule, _)| rule.code() == diagnostic.code) {
            Some((_, level)) => *level,
            None => Some(diagnostic.level),
        };
        match self.warnings.first() {
            Some(stated) if level == Some("warning") => *stated,
            _ => level,
        }
    }

    /// Whether a finding reaches the least level.
    pub(super) fn is_shown(&self, diagnostic: &Diagnostic) -> bool {
        let order = |name: &str| ["note", "warning", "error"].iter().position(|&n| n == name);
        self.least.is_none_or(|least| order(diagnostic.level) >= order(least))
    }
}

/// The nearest file, from a folder upwards.
fn find(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(FILE)).find(|path| path.is_file())
}
