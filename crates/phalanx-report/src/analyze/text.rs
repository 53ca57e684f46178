//! The report as text for people.
//!
//! Colours are always written as ANSI sequences; a caller whose output is not a terminal strips
//! them.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};

use super::model::{ConvergenceReport, FunctionReport, ModuleReport, OperationReport, Trees};
use crate::indent::{DEEPEST, indentation};
use crate::lines::Place;
use crate::loads::write_loads;
use crate::spaces::{write_addresses, write_specializations};

const TITLE: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const DIVERGENT: Style = AnsiColor::Yellow.on_default();
const UNIFORM: Style = AnsiColor::Green.on_default();

/// Writes a report. `all` lists uniform values too.
pub fn write_text(report: &ModuleReport, all: bool, out: &mut String) -> fmt::Result {
    let triple = if report.triple.is_empty() { "no target" } else { &report.triple };
    writeln!(out, "{TITLE}{}{TITLE:#}: {triple}, {} scope", report.file, report.scope)?;
    if report.functions.is_empty() {
        writeln!(out, "\nno function with a body")?;
    }
    for function in &report.functions {
        out.push('\n');
        write_function(function, all, out)?;
    }
    Ok(())
}

fn write_function(function: &FunctionReport, all: bool, out: &mut String) -> fmt::Result {
    let kind = if function.kernel { "kernel" } else { "function" };
    writeln!(
        out,
        "{TITLE}{kind} @{}{TITLE:#} {DIM}line {}{DIM:#}",
        function.name, function.place.line
    )?;
    let s = &function.summary;
    writeln!(
        out,
        "  {} of {} values divergent, {} of {} branches, {} of {} cycles{}",
        s.divergent_values,
        s.values,
        s.divergent_branches,
        s.branches,
        s.divergent_cycles,
        s.cycles,
        match s.temporal_uses {
            0 => String::new(),
            n => format!(", {n} temporally divergent {}", if n == 1 { "use" } else { "uses" }),
        }
    )?;
    let arguments: Vec<_> = function.arguments.iter().filter(|a| a.divergent || all).collect();
    if !arguments.is_empty() {
        heading("arguments", out)?;
        lines(arguments.iter().map(|v| (v.place, v.divergent, &*v.sources, &*v.text)), out)?;
    }
    if let Some(branches) = function.branches.as_ref().filter(|b| !b.is_empty()) {
        heading("branches", out)?;
        lines(branches.iter().map(|b| (b.place, b.divergent, &*b.sources, &*b.text)), out)?;
    }
    if let Some(cycles) = function.cycles.as_ref().filter(|c| !c.is_empty()) {
        heading("cycles", out)?;
        for cycle in cycles {
            let divergent = cycle.divergent_exit || cycle.assumed_divergent;
            let verdict = match (cycle.assumed_divergent, cycle.divergent_exit) {
                (true, _) => "assumed divergent",
                (_, true) => "divergent exit",
                _ => "uniform",
            };
            let style = if divergent { DIVERGENT } else { UNIFORM };
            let shape = if cycle.reducible { "" } else { ", irreducible" };
            let indent = indentation(cycle.depth as usize - 1);
            let deep = match cycle.depth as usize > DEEPEST + 1 {
                true => format!(", depth {}", cycle.depth),
                false => String::new(),
            };
            writeln!(
                out,
                "    {indent}%{}{}  {style}{verdict}{style:#}{shape}{deep}, {} {}",
                cycle.header,
                others(&cycle.entries),
                cycle.blocks,
                if cycle.blocks == 1 { "block" } else { "blocks" },
            )?;
            if divergent {
                for exit in &cycle.exits {
                    writeln!(out, "    {indent}  {DIM}exit %{} -> %{}{DIM:#}", exit.from, exit.to)?;
                }
            }
        }
    }
    if let Some(values) = &function.values {
        let shown: Vec<_> = values.iter().filter(|v| v.divergent || all).collect();
        if !shown.is_empty() {
            heading(if all { "values" } else { "divergent values" }, out)?;
            lines(shown.iter().map(|v| (v.place, v.divergent, &*v.sources, &*v.text)), out)?;
        }
    }
    if let Some(uses) = function.temporal_uses.as_ref().filter(|u| !u.is_empty()) {
        heading("temporally divergent uses", out)?;
        for use_ in uses {
            lines([(use_.place, true, &*use_.sources, &*use_.user)].into_iter(), out)?;
            writeln!(
                out,
                "          {DIM}{} from cycle %{}{DIM:#}",
                use_.value, use_.outside_cycle
            )?;
        }
    }
    if let Some(blocks) = &function.blocks {
        heading("blocks", out)?;
        for block in blocks {
            let style = if block.divergent_control { DIVERGENT } else { UNIFORM };
            let verdict =
                if block.divergent_control { "divergent control" } else { "uniform control" };
            writeln!(
                out,
                "    %{}  {style}{verdict}{style:#}{}",
                block.name,
                sources(&block.sources)
            )?;
        }
    }
    if let Some(accesses) = function.accesses.as_ref().filter(|a| !a.is_empty()) {
        heading("memory accesses", out)?;
        for access in accesses {
            let is_regular = matches!(access.pattern, "broadcast" | "consecutive");
            let style = if is_regular { UNIFORM } else { DIVERGENT };
            let stride = match (access.pattern, access.stride) {
                ("strided", Some(stride)) => format!(" by {stride}"),
                _ => String::new(),
            };
            let rows = match (access.in_rows, access.assumes_no_wrap) {
                (true, true) => " in rows, if no index wraps",
                (true, false) => " in rows",
                (false, true) => " if no index wraps",
                (false, false) => "",
            };
            let touched = match (access.bytes, access.segments, access.sectors) {
                (Some(bytes), Some(segments), Some(sectors)) => {
                    format!(" {bytes} bytes in {segments} x 128 or {sectors} x 32")
                }
                _ => String::new(),
            };
            let banks = match access.bank_degree {
                Some(1) => ", no bank conflict".to_owned(),
                Some(degree) => format!(", bank conflict {degree}"),
                None => String::new(),
            };
            writeln!(
                out,
                "  {DIM}{:>6}{DIM:#}  {style}{}{stride}{rows}{style:#}{touched}{banks}  {}",
                access.place.line, access.pattern, access.text
            )?;
        }
    }
    if let Some(spaces) = function.spaces.as_ref().filter(|spaces| !spaces.is_empty()) {
        heading("spaces", out)?;
        write_addresses(spaces, out)?;
        write_specializations(&function.specializations, out)?;
    }
    if let Some(loads) = function.loads.as_ref().filter(|loads| !loads.is_empty()) {
        heading("loads", out)?;
        write_loads(loads, out)?;
    }
    if let Some(trees) = &function.trees {
        write_trees(trees, out)?;
    }
    if let Some(convergence) = &function.convergence {
        write_convergence(convergence, out)?;
    }
    Ok(())
}

fn write_convergence(convergence: &ConvergenceReport, out: &mut String) -> fmt::Result {
    if convergence.operations.is_empty() && convergence.tokens.is_empty() {
        return Ok(());
    }
    heading(&format!("convergence by {}", convergence.control), out)?;
    for token in &convergence.tokens {
        write!(out, "  {DIM}{:>6}{DIM:#}  {} {}", token.place.line, token.name, token.kind)?;
        if let Some(given) = &token.given {
            write!(out, " of {given}")?;
        }
        if let Some(header) = &token.heart_of {
            write!(out, ", heart of cycle %{header}")?;
        }
        writeln!(out, ", live in %{}", token.region.join(", %"))?;
        if !token.extends.is_empty() {
            writeln!(out, "          {DIM}extends cycle %{}{DIM:#}", token.extends.join(", %"))?;
        }
    }
    let control = |operation: &OperationReport| {
        let scope = operation.scope.unwrap_or("unknown scope");
        let token = operation.token.iter().map(|token| format!(", {token}"));
        let cycle = operation.cycle.iter().map(|header| format!(", in cycle %{header}"));
        token.chain(cycle).fold(scope.to_owned(), |all, part| all + &part)
    };
    let heads: Vec<String> = convergence.operations.iter().map(control).collect();
    let width = heads.iter().map(String::len).max().unwrap_or(0);
    for (operation, head) in convergence.operations.iter().zip(&heads) {
        let line = operation.place.line;
        writeln!(out, "  {DIM}{line:>6}{DIM:#}  {head:<width$}  {}", operation.text)?;
    }
    Ok(())
}

fn write_trees(trees: &Trees, out: &mut String) -> fmt::Result {
    for (title, edges, none) in [
        ("immediate dominators", &trees.dominators, "entry"),
        ("immediate post-dominators", &trees.post_dominators, "exit"),
    ] {
        heading(title, out)?;
        for edge in edges {
            match &edge.parent {
                Some(parent) => writeln!(out, "    %{} <- %{parent}", edge.block)?,
                None => writeln!(out, "    %{} <- ({none})", edge.block)?,
            }
        }
    }
    Ok(())
}

fn heading(text: &str, out: &mut String) -> fmt::Result {
    writeln!(out, "\n  {TITLE}{text}{TITLE:#}")
}

fn others(entries: &[String]) -> String {
    match entries {
        [_, rest @ ..] if !rest.is_empty() => format!(" (also entered at %{})", rest.join(", %")),
        _ => String::new(),
    }
}

/// Place, verdict, sources and text of each, the texts aligned.
fn lines<'a>(
    entries: impl Iterator<Item = (Place, bool, &'a [&'static str], &'a str)> + Clone,
    out: &mut String,
) -> fmt::Result {
    let width = entries.clone().map(|(_, _, from, _)| sources(from).len()).max().unwrap_or(0);
    for (place, divergent, from, text) in entries {
        let style = if divergent { DIVERGENT } else { UNIFORM };
        let verdict = if divergent { "divergent" } else { "uniform" };
        let from = sources(from);
        writeln!(
            out,
            "  {DIM}{:>6}{DIM:#}  {style}{verdict:<9}{style:#}{from:<width$}  {text}",
            place.line
        )?;
    }
    Ok(())
}

fn sources(from: &[&str]) -> String {
    if from.is_empty() { String::new() } else { format!(" {{{}}}", from.join(", ")) }
}
