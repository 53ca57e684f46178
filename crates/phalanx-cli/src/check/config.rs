//! Which findings matter: options of the command line over those of a file.
//!
//! ```toml
//! [check]
//! deny = ["PHX003"]                    # an error
//! warn = ["divergent-group-operation"] # a warning
//! allow = ["PHX007"]                   # not reported
//! level = "warning"                    # nothing below this is reported
//! ```
//!
//! The file is `phalanx.toml` in the current folder or the nearest one above that has it, or what `--config` names. For one rule the command line
//! counts before the file; within one of them, `deny` counts before `warn`, and `warn` before `allow`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use phalanx::{analysis::check::Rule, report::check::Diagnostic};

use crate::args::{CheckArgs, LevelArg};

/// The name of the file.
const FILE: &str = "phalanx.toml";

/// What becomes of the findings of each rule.
#[derive(Debug, Default)]
pub(super) struct Levels {
    /// From the strongest statement on.
    stated: Vec<(Rule, Option<&'static str>)>,
    least: Option<&'static str>,
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
        Ok(levels)
    }

    fn state(&mut self, names: &[String], level: Option<&'static str>) -> anyhow::Result<()> {
        for name in names {
            if name == "all" {
                self.stated.extend(Rule::ALL.iter().map(|&rule| (rule, level)));
                continue;
            }
            let rule =
                Rule::from_name(name).with_context(|| format!("no rule is called {name}"))?;
            self.stated.push((rule, level));
        }
        Ok(())
    }

    fn add_file(&mut self, path: &Path) -> anyhow::Result<()> {
        let text = std::fs::read_to_string(path).context("cannot read it")?;
        let table: toml::Table = text.parse()?;
        let Some(check) = table.get("check") else { return Ok(()) };
        let check = check.as_table().context("`check` is no table")?;
        if let Some(key) =
            check.keys().find(|k| !["deny", "warn", "allow", "level"].contains(&&***k))
        {
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
        Ok(())
    }

    /// The level at which a finding is told; none when it is not.
    pub(super) fn of(&self, diagnostic: &Diagnostic) -> Option<&'static str> {
        let mut stated = self.stated.iter();
        match stated.find(|(rule, _)| rule.code() == diagnostic.code) {
            Some((_, level)) => *level,
            None => Some(diagnostic.level),
        }
    }

    /// Whether a finding is above the least level.
    pub(super) fn is_shown(&self, diagnostic: &Diagnostic) -> bool {
        let order = |name: &str| ["note", "warning", "error"].iter().position(|&n| n == name);
        self.least.is_none_or(|least| order(diagnostic.level) >= order(least))
    }
}

/// The nearest file, from a folder upwards.
fn find(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(FILE)).find(|path| path.is_file())
}
