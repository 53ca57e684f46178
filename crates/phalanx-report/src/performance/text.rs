//! A report as text.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};

use super::model::{Entry, ModuleCosts};

const DIM: Style = Style::new().dimmed();
const FIX: Style = AnsiColor::Green.on_default();

/// Writes what costs something, the most expensive of each function first; everything if that is
/// `all`.
///
/// # Errors
/// Errors of `out`.
pub fn write_performance(module: &ModuleCosts, all: bool, out: &mut dyn Write) -> fmt::Result {
    let mut silent = 0;
    for function in &module.functions {
        let is_shown = |entry: &&Entry| all || entry.cost > 0;
        if !function.entries.iter().any(|entry| is_shown(&entry)) {
            silent += 1;
            continue;
        }
        let kind = if function.kernel { "kernel" } else { "function" };
        writeln!(out, "{kind} `{}`", function.name)?;
        for entry in function.entries.iter().filter(is_shown) {
            write_entry(entry, out)?;
        }
        let hidden = function.entries.iter().filter(|entry| !is_shown(entry)).count();
        match hidden {
            0 => {}
            1 => writeln!(out, "{DIM}        1 more costs nothing that is known{DIM:#}")?,
            _ => writeln!(out, "{DIM}        {hidden} more cost nothing that is known{DIM:#}")?,
        }
        writeln!(out)?;
    }
    match silent {
        0 => {}
        1 => writeln!(out, "1 function costs nothing that is known")?,
        _ => writeln!(out, "{silent} functions cost nothing that is known")?,
    }
    Ok(())
}

fn write_entry(entry: &Entry, out: &mut dyn Write) -> fmt::Result {
    let place = match &entry.location.source {
        Some(source) => format!("{}:{}:{}", source.file, source.line, source.column),
        None => format!("line {}", entry.location.ir.line),
    };
    let at_most = if entry.at_most { "<=" } else { "" };
    let cost = format!("{at_most}{}", entry.cost);
    let copies = match entry.copies {
        1 => String::new(),
        copies => format!(" ({copies} copies)"),
    };
    writeln!(out, "{cost:>6}  {DIM}{place}{DIM:#}  {}{copies}", entry.message)?;
    if !entry.assumed.is_empty() {
        writeln!(out, "{DIM}          assumed: {}{DIM:#}", entry.assumed.join("; "))?;
    }
    if !entry.depends_on.is_empty() && entry.access.is_none() {
        let depends = entry.depends_on.join(", ");
        writeln!(out, "{DIM}          depends on {depends}{DIM:#}")?;
    }
    if let Some(fix) = entry.fix {
        writeln!(out, "          {FIX}fix{FIX:#}: {fix}")?;
    }
    Ok(())
}
