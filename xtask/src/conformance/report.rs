//! The results of a conformance run, and their text.

use std::{collections::BTreeMap, fmt::Write as _};

/// The class of a difference.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Class {
    /// Ours is divergent, LLVM's uniform, and an execution shows different values: LLVM is wrong.
    LlvmWrong,
    /// The same once branches are independent of each other: LLVM is right by luck, not by its
    /// rules.
    LlvmLucky,
    /// Ours is divergent, LLVM's uniform, and no execution differs; without the soundness fixes
    /// ours is LLVM's. The fixes cost this.
    LlvmUnsafe,
    /// Ours is uniform, LLVM's divergent, and no execution shows different values.
    Finer,
    /// A list printed beside the values (cycles, temporal uses) differs by the fixes or
    /// refinements.
    Listing,
    /// Known, and for the reason that the entry gives.
    Explained,
    /// There must be none.
    Unexplained,
}

impl Class {
    const ALL: [Class; 7] = [
        Class::LlvmWrong,
        Class::LlvmLucky,
        Class::LlvmUnsafe,
        Class::Finer,
        Class::Listing,
        Class::Explained,
        Class::Unexplained,
    ];

    fn name(self) -> &'static str {
        match self {
            Class::LlvmWrong => "ours divergent, LLVM wrong in an execution",
            Class::LlvmLucky => "ours divergent, LLVM wrong if branches are independent",
            Class::LlvmUnsafe => "ours divergent by the soundness fixes, no execution differs",
            Class::Finer => "ours uniform, no execution differs",
            Class::Listing => "lists that follow from these",
            Class::Explained => "explained",
            Class::Unexplained => "unexplained",
        }
    }
}

/// One difference.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Entry {
    pub(super) class: Class,
    /// The file, and the function where there is one.
    pub(super) place: String,
    /// What differs.
    pub(super) what: String,
}

impl Entry {
    pub(super) fn new(class: Class, place: impl Into<String>, what: impl Into<String>) -> Entry {
        Entry { class, place: place.into(), what: what.into() }
    }

    pub(super) fn unexplained(place: impl Into<String>, what: impl Into<String>) -> Entry {
        Entry::new(Class::Unexplained, place, what)
    }
}

/// One part of the run.
#[derive(Clone, Debug, Default)]
pub(super) struct Section {
    title: String,
    /// What was compared and how many of it, in the order in which they were first counted.
    counts: Vec<(String, usize)>,
    entries: Vec<Entry>,
    /// Why the section, or a part of it, was left out.
    skipped: Vec<String>,
}

impl Section {
    pub(super) fn new(title: &str) -> Section {
        Section { title: title.to_owned(), ..Section::default() }
    }

    /// Counts `amount` more of something.
    pub(super) fn count(&mut self, what: &str, amount: usize) {
        match self.counts.iter_mut().find(|(name, _)| name == what) {
            Some((_, count)) => *count += amount,
            None => self.counts.push((what.to_owned(), amount)),
        }
    }

    pub(super) fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    pub(super) fn skip(&mut self, reason: impl Into<String>) {
        self.skipped.push(reason.into());
    }

    /// Merges the results of another worker for the same section.
    pub(super) fn merge(&mut self, other: Section) {
        for (what, amount) in other.counts {
            self.count(&what, amount);
        }
        self.entries.extend(other.entries);
        self.skipped.extend(other.skipped);
    }

    /// The number of entries of a class.
    pub(super) fn of_class(&self, class: Class) -> usize {
        self.entries.iter().filter(|entry| entry.class == class).count()
    }

    /// The section as text; of each class but the unexplained at most `limit` entries.
    pub(super) fn render(&self, limit: usize) -> String {
        let mut out = format!("{}\n", self.title);
        for reason in &self.skipped {
            let _ = writeln!(out, "  skipped: {reason}");
        }
        let counts: Vec<String> =
            self.counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
        if !counts.is_empty() {
            let _ = writeln!(out, "  {}", counts.join(", "));
        }
        let mut entries = self.entries.clone();
        entries.sort();
        let mut by_class: BTreeMap<Class, Vec<&Entry>> = BTreeMap::new();
        for entry in &entries {
            by_class.entry(entry.class).or_default().push(entry);
        }
        for class in Class::ALL {
            let Some(entries) = by_class.get(&class) else { continue };
            let _ = writeln!(out, "  {}: {}", class.name(), entries.len());
            let limit = if class == Class::Unexplained { usize::MAX } else { limit };
            for entry in entries.iter().take(limit) {
                let _ =
                    writeln!(out, "    {}: {}", entry.place, entry.what.replace('\n', "\n      "));
            }
            if entries.len() > limit {
                let _ = writeln!(out, "    ... {} more", entries.len() - limit);
            }
        }
        if self.of_class(Class::Unexplained) == 0 && self.skipped.is_empty() {
            let _ = writeln!(out, "  unexplained: 0");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unexplained_entries_are_all_listed_and_the_order_is_fixed() {
        let mut section = Section::new("facts");
        section.count("files", 2);
        for what in ["c", "a", "b"] {
            section.push(Entry::unexplained("f.ll", what));
            section.push(Entry::new(Class::Finer, "f.ll", what));
        }
        let mut other = Section::new("facts");
        other.count("files", 3);
        section.merge(other);
        assert_eq!(
            section.render(1),
            "facts\n  5 files\n  ours uniform, no execution differs: 3\n    f.ll: a\n    ... 2 more\n  \
             unexplained: 3\n    f.ll: a\n    f.ll: b\n    f.ll: c\n"
        );
        assert_eq!(Section::new("empty").render(1), "empty\n  unexplained: 0\n");
    }
}
