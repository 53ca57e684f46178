//! Faults as text, and their insertion into a copy of the sources.
//!
//! A fault is one line of the incremental code with a part of it replaced:
//!
//! ```text
//! name-of-the-fault: what goes wrong with it
//!     crates/phalanx-analysis/src/shape/follow.rs
//!     <<others.push(inst); ==> >>
//! ```
//!
//! The third line is a line of the file without its indentation; the marked part reads `<<is ==>
//! becomes>>`. Where several lines of the file are the same, `(2)` behind the path chooses the
//! second. An empty line ends a fault; a line that begins with `#` is a comment.
//!
//! Faults in `unnoticed.txt` are not noticed by any test: either a test is missing, or the line is
//! not needed.
//!
//! All faults are inserted at once, each behind a condition that is true while its number is
//! switched on: one build serves all of them. A part that ends with `;` is a statement and is left
//! out or replaced; any other part is an expression.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};

/// The variable that holds the number of the fault that is switched on.
pub(super) const SWITCH: &str = "PHALANX_FAULT";

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) name: String,
    pub(super) what: String,
    /// Path of the file from the workspace's root.
    pub(super) file: String,
    /// Whether it is known that no test notices it.
    pub(super) is_unnoticed: bool,
    /// Which of several equal lines, from 1.
    nth: usize,
    /// The line as it stands, without indentation.
    line: String,
    /// Where the part begins in the line, what it is, and what it becomes.
    part: (usize, String, String),
}

/// All faults of a folder, in the order of files and lines.
pub(super) fn read(folder: &Path) -> anyhow::Result<Vec<Fault>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("no faults: {}", folder.display()))?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    paths.sort();
    let mut faults: Vec<Fault> = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path)?;
        let is_unnoticed = path.file_stem().is_some_and(|stem| stem == "unnoticed");
        let parsed = parse(&text).with_context(|| path.display().to_string())?;
        faults.extend(parsed.into_iter().map(|fault| Fault { is_unnoticed, ..fault }));
    }
    for (at, fault) in faults.iter().enumerate() {
        let is_new = faults[..at].iter().all(|other| other.name != fault.name);
        ensure!(is_new, "two faults are called `{}`", fault.name);
    }
    Ok(faults)
}

/// The faults of a text.
pub(super) fn parse(text: &str) -> anyhow::Result<Vec<Fault>> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let blocks = lines.split(|line| line.trim().is_empty()).filter(|block| !block.is_empty());
    blocks.map(|block| parse_one(block).with_context(|| block.join("\n"))).collect()
}

fn parse_one(block: &[&str]) -> anyhow::Result<Fault> {
    let &[head, path, marked] = block else {
        bail!("a fault has three lines: name and what, file, marked line");
    };
    let (name, what) = head.split_once(": ").context("expected `name: what goes wrong`")?;
    let path = path.trim();
    let (file, nth) = match path.strip_suffix(')').and_then(|path| path.split_once(" (")) {
        Some((file, nth)) => (file, nth.parse().context("expected a number in parentheses")?),
        None => (path, 1),
    };
    let marked = marked.trim();
    let parts = || {
        let (before, rest) = marked.split_once("<<")?;
        let (part, behind) = rest.rsplit_once(">>")?;
        let (is, becomes) = part.split_once(" ==> ")?;
        Some((before, is, becomes, behind))
    };
    let (before, is, becomes, behind) = parts().context("expected `<<is ==> becomes>>`")?;
    Ok(Fault {
        name: name.to_owned(),
        what: what.to_owned(),
        file: file.to_owned(),
        is_unnoticed: false,
        nth,
        line: format!("{before}{is}{behind}"),
        part: (before.len(), is.to_owned(), becomes.trim().to_owned()),
    })
}

impl Fault {
    /// Which line of a text is meant, from 0.
    pub(super) fn place(&self, text: &str) -> anyhow::Result<usize> {
        let mut places = text.lines().enumerate().filter(|(_, line)| line.trim() == self.line);
        let found = places.nth(self.nth - 1);
        let (at, _) = found.with_context(|| {
            format!("fault `{}`: {} has no line `{}`", self.name, self.file, self.line)
        })?;
        Ok(at)
    }

    /// The line with the fault behind its switch.
    fn switched(&self, line: &str, number: usize) -> String {
        let indentation = line.len() - line.trim_start().len();
        let (at, is, becomes) = &self.part;
        let start = indentation + at;
        let (before, behind) = (&line[..start], &line[start + is.len()..]);
        let on = format!("crate::is_faulty({number})");
        match (is.ends_with(';'), becomes.as_str()) {
            (true, "") => format!("{before}if !{on} {{ {is} }}{behind}"),
            (true, becomes) => format!("{before}if {on} {{ {becomes} }} else {{ {is} }}{behind}"),
            (false, becomes) => {
                format!("{before}(if {on} {{ {becomes} }} else {{ {is} }}){behind}")
            }
        }
    }
}

/// The files that hold faults, with all faults inserted behind their switches; a fault's number is
/// its position from 1. The roots of their crates are among them, for the switch itself.
pub(super) fn inserted(root: &Path, faults: &[Fault]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let read = |file: &str| -> anyhow::Result<Vec<String>> {
        let text = fs::read_to_string(root.join(file)).with_context(|| file.to_owned())?;
        Ok(text.lines().map(str::to_owned).collect())
    };
    let mut taken: Vec<(&str, usize)> = Vec::new();
    for (number, fault) in (1..).zip(faults) {
        let lines = match files.get_mut(&fault.file) {
            Some(lines) => lines,
            None => files.entry(fault.file.clone()).or_insert(read(&fault.file)?),
        };
        // Lines are sought in the text as it was: other faults are on other lines.
        let original = fs::read_to_string(root.join(&fault.file))?;
        let at = fault.place(&original)?;
        ensure!(
            !taken.contains(&(&fault.file, at)),
            "fault `{}`: another one is on the same line",
            fault.name
        );
        taken.push((&fault.file, at));
        lines[at] = fault.switched(&lines[at], number);
    }
    // Each crate has the switch in its root.
    let root_of = |file: &str| file.split_once("/src/").map(|(of, _)| format!("{of}/src/lib.rs"));
    let roots: BTreeSet<String> = faults.iter().filter_map(|fault| root_of(&fault.file)).collect();
    for root in roots {
        let mut lines = match files.remove(&root) {
            Some(lines) => lines,
            None => read(&root)?,
        };
        lines.push(switch());
        files.insert(root, lines);
    }
    Ok(files.into_iter().map(|(file, lines)| (file, lines.join("\n") + "\n")).collect())
}

/// The code that checks whether a fault is switched on, for the root of a crate.
fn switch() -> String {
    format!(
        r#"
/// Whether the fault of this number is switched on.
pub(crate) fn is_faulty(number: u32) -> bool {{
    static ON: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let read = || std::env::var("{SWITCH}").ok()?.parse().ok();
    *ON.get_or_init(|| read().unwrap_or_default()) == number
}}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(marked: &str) -> Fault {
        let text = format!("# why\nname: what\n    src/a.rs (2)\n    {marked}\n");
        parse(&text).expect("a fault").remove(0)
    }

    #[test]
    fn statements_are_left_out() {
        let fault = one("<<list.push(1); ==> >>");
        assert_eq!(fault.place("list.push(1);\n  list.push(1);\n").expect("the second"), 1);
        assert_eq!(
            fault.switched("    list.push(1);", 7),
            "    if !crate::is_faulty(7) { list.push(1); }"
        );
    }

    #[test]
    fn expressions_are_replaced() {
        assert_eq!(
            one("if <<a == b ==> true>> && c {").switched("  if a == b && c {", 3),
            "  if (if crate::is_faulty(3) { true } else { a == b }) && c {"
        );
    }

    #[test]
    fn a_line_that_is_gone_is_said() {
        let error = one("x(<<1 ==> 2>>);").place("y();\n").expect_err("no such line");
        assert_eq!(error.to_string(), "fault `name`: src/a.rs has no line `x(1);`");
    }

    #[test]
    fn unmarked_lines_are_refused() {
        let error = parse("name: what\n    a.rs\n    x();\n").expect_err("no mark");
        assert_eq!(error.root_cause().to_string(), "expected `<<is ==> becomes>>`");
    }

    /// Every fault of the list in the workspace matches a line of the workspace.
    #[test]
    fn every_fault_has_its_line() {
        let root = crate::tidy::workspace_root().expect("a workspace");
        let faults = read(&root.join(crate::faults::FOLDER)).expect("faults");
        assert!(faults.len() >= 60, "only {}", faults.len());
        inserted(&root, &faults).expect("lines as they are");
    }
}
