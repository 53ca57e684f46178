//! Explains the names of sources that a report prints in braces.
//!
//! ```text
//! {x, block.x} lists what something depends on:
//!   x        `threadIdx.x`
//!   block.x  `blockIdx.x`
//! ```
//!
//! Only names that occur are explained, in a fixed order: O(lines of the reports).

use std::fmt::{self, Write};

use anstyle::Style;
use phalanx_target::SourceSet;

use super::model::{FunctionReport, ModuleReport};
use crate::explain::words::{self, Dialect};

const DIM: Style = Style::new().dimmed();

/// The sources that occur in reports, and the language whose terms explain them.
#[derive(Clone, Debug, Default)]
pub struct Legend {
    used: SourceSet,
    dialect: Option<Dialect>,
}

impl Legend {
    /// Records the sources that the text of a report names. `all`: the text lists uniform values
    /// too.
    pub fn note(&mut self, report: &ModuleReport, all: bool) {
        let before = self.used;
        for function in &report.functions {
            for name in named(function, all) {
                self.used |= SourceSet::from_name(name).unwrap_or_default();
            }
        }
        // Programs in several languages have no common terms.
        self.dialect = match self.dialect {
            _ if before.is_empty() => Some(report.dialect),
            Some(known) if known == report.dialect => Some(known),
            _ => Some(Dialect::None),
        };
    }

    /// Writes the explanations; nothing if no source was named.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, out: &mut dyn Write) -> fmt::Result {
        let names: Vec<&str> = self.used.iter().filter_map(SourceSet::name).collect();
        let Some(width) = names.iter().map(|name| name.len()).max() else { return Ok(()) };
        writeln!(out, "\n{DIM}Braces list what something depends on:{DIM:#}")?;
        let dialect = self.dialect.unwrap_or(Dialect::None);
        for name in names {
            let source = SourceSet::from_name(name).unwrap_or_default();
            let meaning = words::source(source, dialect);
            writeln!(out, "{DIM}  {name:<width$}  {meaning}{DIM:#}")?;
        }
        Ok(())
    }
}

/// The sources in the text of a function.
fn named(function: &FunctionReport, all: bool) -> impl Iterator<Item = &'static str> + '_ {
    let values = function.arguments.iter().chain(function.values.iter().flatten());
    let values = values.filter(move |value| value.divergent || all).map(|v| &v.sources);
    let branches = function.branches.iter().flatten().map(|branch| &branch.sources);
    let uses = function.temporal_uses.iter().flatten().map(|use_| &use_.sources);
    let blocks = function.blocks.iter().flatten().map(|block| &block.sources);
    values.chain(branches).chain(uses).chain(blocks).flatten().copied()
}
