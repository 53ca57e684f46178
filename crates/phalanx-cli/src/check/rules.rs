//! The list of rules, and pages about them as a terminal shows them.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use phalanx::analysis::check::Rule;

const HEAD: Style = AnsiColor::BrightCyan.on_default().bold();
const CODE: Style = AnsiColor::Green.on_default();
const BOLD: Style = Style::new().bold();

/// A line for each rule: code, usual level, name, what it is about.
pub(super) fn list() -> String {
    let mut rules: Vec<Rule> = Rule::ALL.to_vec();
    rules.sort_by_key(|rule| rule.code());
    let width = rules.iter().map(|rule| rule.slug().len()).max().unwrap_or(0);
    let mut out = String::new();
    for rule in rules {
        let (code, level) = (rule.code(), rule.usual_level().name());
        let (name, about) = (rule.slug(), rule.summary());
        let _ = writeln!(out, "{BOLD}{code}{BOLD:#}  {level:7}  {name:width$}  {about}");
    }
    out + "\nA page about a rule: phalanx check --explain RULE\n"
}

/// A page in Markdown, for a terminal: headings and code are coloured, their marks left out; tables
/// get columns, links keep their text.
pub(super) fn rendered(page: &str) -> String {
    let mut out = String::new();
    let mut is_code = false;
    let mut table: Vec<Vec<String>> = Vec::new();
    for line in page.lines() {
        if !is_code && line.starts_with('|') {
            let cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
            table.push(cells.collect());
            continue;
        }
        write_table(&std::mem::take(&mut table), &mut out);
        if line.starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            let _ = writeln!(out, "    {CODE}{line}{CODE:#}");
        } else if line.starts_with('#') {
            let text = line.trim_start_matches('#').trim();
            let _ = writeln!(out, "{HEAD}{}{HEAD:#}", text.replace('`', ""));
        } else {
            let _ = writeln!(out, "{}", inline(line));
        }
    }
    write_table(&table, &mut out);
    out
}

fn write_table(rows: &[Vec<String>], out: &mut String) {
    let is_rule =
        |row: &Vec<String>| row.iter().all(|cell| cell.chars().all(|c| "-: ".contains(c)));
    let plain = |cell: &String| anstream::adapter::strip_str(&inline(cell)).to_string();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|at| {
            let cells = rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| plain(cell).chars().count()).max().unwrap_or(0)
        })
        .collect();
    for row in rows.iter().filter(|row| !is_rule(row)) {
        let mut line = String::from("  ");
        for (cell, width) in row.iter().zip(&widths) {
            let blank = width.saturating_sub(plain(cell).chars().count()) + 2;
            let _ = write!(line, "{}{}", inline(cell), " ".repeat(blank));
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// `code`, **bold** and [text](link) within a line.
fn inline(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['`', '*', '[']) {
        out += &rest[..at];
        rest = &rest[at..];
        if let Some((code, after)) = rest.strip_prefix('`').and_then(|r| r.split_once('`')) {
            let _ = write!(out, "{CODE}{code}{CODE:#}");
            rest = after;
        } else if let Some((text, after)) = rest.strip_prefix("**").and_then(|r| r.split_once("**"))
        {
            let _ = write!(out, "{BOLD}{text}{BOLD:#}");
            rest = after;
        } else if let Some((text, after)) = rest.strip_prefix('[').and_then(|r| r.split_once("]("))
            && let Some((_, after)) = after.split_once(')')
        {
            out += &inline(text);
            rest = after;
        } else {
            out += &rest[..1];
            rest = &rest[1..];
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_page_for_a_terminal() {
        let page = "# `PHX000`\n\nSee [**this**](a.md) and `x[i]`, 2 * 3.\n\n```cuda\nif (x) {}\n```\n\n\
            | a | b |\n|---|---|\n| `code` | c |\n| d | longer |\n";
        expect![[r#"
            PHX000

            See this and x[i], 2 * 3.

                if (x) {}

              a     b
              code  c
              d     longer
        "#]]
        .assert_eq(&anstream::adapter::strip_str(&rendered(page)).to_string());
    }
}
