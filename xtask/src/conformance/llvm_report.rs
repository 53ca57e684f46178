//! The report about LLVM's test tree: differences by kind, folder and message.
//!
//! A difference is a file and a sentence. Differences that docs/conformance.md lists are known. The
//! goals state how many of each kind are allowed. Messages that differ only in places, names and
//! numbers form one class, so that each kind of fault is one entry of the report, with the smallest
//! file that shows it.

use std::collections::BTreeMap;

/// What is known to differ, each with a reason.
const KNOWN: &str = include_str!("../../../docs/conformance.md");

/// The kind of a difference.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    Crash,
    Unreadable,
    Changed,
    Reordered,
    Refused,
    Accepted,
}

impl Kind {
    const ALL: [Kind; 6] = [
        Kind::Crash,
        Kind::Unreadable,
        Kind::Changed,
        Kind::Reordered,
        Kind::Refused,
        Kind::Accepted,
    ];

    fn name(self) -> &'static str {
        match self {
            Kind::Crash => "panics",
            Kind::Unreadable => "prints that LLVM does not read",
            Kind::Changed => "prints that are another module",
            Kind::Reordered => "prints with declarations in another order",
            Kind::Refused => "valid files refused",
            Kind::Accepted => "invalid files accepted",
        }
    }
}

/// A difference.
pub(super) struct Finding {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) bytes: usize,
    pub(super) what: String,
}

/// Counts for each folder, and findings.
#[derive(Default)]
pub(super) struct Report {
    files: usize,
    inputs: usize,
    folders: BTreeMap<String, (usize, BTreeMap<Kind, usize>)>,
    findings: Vec<Finding>,
}

impl Report {
    pub(super) fn add(&mut self, file: &str, inputs: usize, findings: Vec<Finding>) {
        self.files += 1;
        self.inputs += inputs;
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        // Two levels: `CodeGen/AMDGPU`.
        let folder: Vec<&str> = folder.split('/').take(2).collect();
        let counts = self.folders.entry(folder.join("/")).or_default();
        counts.0 += inputs;
        for finding in &findings {
            *counts.1.entry(finding.kind).or_default() += 1;
        }
        self.findings.extend(findings);
    }

    fn count(&self, kind: Kind) -> usize {
        self.findings.iter().filter(|finding| finding.kind == kind).count()
    }

    /// Differences that the documentation does not list.
    pub(super) fn unlisted(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| !KNOWN.contains(&format!("`{}`", finding.name)))
    }

    /// Whether there are more than ten refused files, ten accepted, or ten in another order, or any
    /// other difference.
    pub(super) fn is_over_the_goals(&self) -> bool {
        Kind::ALL.into_iter().any(|kind| {
            let allowed = match kind {
                Kind::Reordered | Kind::Refused | Kind::Accepted => 10,
                Kind::Crash | Kind::Unreadable | Kind::Changed => 0,
            };
            self.count(kind) > allowed
        })
    }

    /// Every difference on a line of its own: kind, name, bytes, what it is.
    pub(super) fn table(&self) -> String {
        let row = |finding: &Finding| {
            let what = finding.what.replace(['\t', '\n'], " ");
            format!("{}\t{}\t{}\t{what}\n", finding.kind.name(), finding.name, finding.bytes)
        };
        self.findings.iter().map(row).collect()
    }

    pub(super) fn render(&self, show: usize) -> String {
        use std::fmt::Write as _;
        let mut out = format!("LLVM's test tree: {} files, {} texts\n", self.files, self.inputs);
        for kind in Kind::ALL {
            let _ = writeln!(out, "  {:6} {}", self.count(kind), kind.name());
        }
        let unlisted: Vec<&str> = self.unlisted().map(|finding| finding.name.as_str()).collect();
        if !unlisted.is_empty() {
            let _ = writeln!(out, "  {:6} not listed in docs/conformance.md", unlisted.len());
        }
        for name in unlisted.iter().take(show) {
            let _ = writeln!(out, "         {name}");
        }
        out.push_str("\nfolders with differences\n");
        for (folder, (inputs, counts)) in &self.folders {
            if counts.is_empty() {
                continue;
            }
            let counts: Vec<String> =
                counts.iter().map(|(kind, count)| format!("{count} {}", kind.name())).collect();
            let _ = writeln!(out, "  {folder} ({inputs}): {}", counts.join(", "));
        }
        for kind in Kind::ALL {
            let classes = self.classes(kind);
            if classes.is_empty() {
                continue;
            }
            let _ = writeln!(out, "\n{}, by kind with the smallest file", kind.name());
            for (class, members) in classes.iter().take(show) {
                let smallest = members.iter().min_by_key(|finding| finding.bytes);
                let Some(smallest) = smallest else { continue };
                let _ = writeln!(
                    out,
                    "  {:4} {class}\n       {}: {}",
                    members.len(),
                    smallest.name,
                    smallest.what
                );
            }
            if classes.len() > show {
                let _ = writeln!(out, "       and {} more kinds", classes.len() - show);
            }
        }
        out
    }

    /// The findings of a kind by class of message; the most frequent first.
    fn classes(&self, kind: Kind) -> Vec<(String, Vec<&Finding>)> {
        let mut classes: BTreeMap<String, Vec<&Finding>> = BTreeMap::new();
        for finding in self.findings.iter().filter(|finding| finding.kind == kind) {
            classes.entry(class_of(&finding.what)).or_default().push(finding);
        }
        let mut classes: Vec<_> = classes.into_iter().collect();
        classes.sort_by_key(|(_, members)| std::cmp::Reverse(members.len()));
        classes
    }
}

/// A message without its place, numbers and names.
fn class_of(message: &str) -> String {
    let place = |c: char| c.is_ascii_digit() || c == ':' || c == ' ';
    let message = message.trim_start_matches(place);
    let mut out = String::new();
    for word in message.split(' ') {
        let names = |c: char| "@%!#".contains(c);
        let is_name = word.trim_start_matches(['\'', '`', '"', '(']).starts_with(names);
        if !out.is_empty() {
            out.push(' ');
        }
        match is_name {
            true => out.push('_'),
            false => out.extend(word.chars().map(|c| if c.is_ascii_digit() { '0' } else { c })),
        }
    }
    while out.contains("00") {
        out = out.replace("00", "0");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_alike_but_for_names_and_numbers() {
        assert_eq!(class_of("3:1: error: no '@f' at 17"), class_of("44:5: error: no '@g' at 3"));
        assert_ne!(class_of("1:1: error: no '@f'"), class_of("1:1: error: not '@f'"));
    }
}
