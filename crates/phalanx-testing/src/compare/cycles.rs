//! `print<cycles>`: the cycle hierarchy, as a set.
//!
//! ```text
//! CycleInfo for function: f
//!     depth=1: entries(header other) block block
//!         depth=2: entries(inner)
//! ```
//!
//! A cycle is its depth, its header (the first entry), its entries and all its blocks. The blocks
//! determine the nesting. Names are printed without quotes, so a name with a blank or a bracket is
//! read as several names, on both sides alike.

use std::{collections::BTreeSet, fmt};

use super::{Fact, FormatError, PerFunction, sections};

/// One cycle.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cycle {
    /// 1 for a cycle in no other.
    pub depth: u32,
    /// The first entry.
    pub header: String,
    /// All entries, including the header.
    pub entries: BTreeSet<String>,
    /// All blocks, including entries and blocks of nested cycles.
    pub blocks: BTreeSet<String>,
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "depth={}: entries({}", self.depth, self.header)?;
        for entry in self.entries.iter().filter(|&entry| *entry != self.header) {
            write!(f, " {entry}")?;
        }
        f.write_str(")")?;
        for block in self.blocks.difference(&self.entries) {
            write!(f, " {block}")?;
        }
        Ok(())
    }
}

/// Parses `depth=1: entries(a b) c d`.
pub(crate) fn parse_cycle(text: &str) -> Option<Cycle> {
    let (depth, rest) = text.trim().strip_prefix("depth=")?.split_once(": entries(")?;
    let (entries, others) = rest.split_once(')')?;
    let names = |list: &str| list.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
    let header = entries.split_whitespace().next()?.to_owned();
    let entries = names(entries);
    let blocks = entries.union(&names(others)).cloned().collect();
    Some(Cycle { depth: depth.parse().ok()?, header, entries, blocks })
}

/// Parses a whole text.
///
/// # Errors
/// A line is not of the format.
pub fn parse(text: &str) -> Result<PerFunction<BTreeSet<Cycle>>, FormatError> {
    let mut out = Vec::new();
    for (function, lines) in sections(Fact::Cycles, text) {
        let mut cycles = BTreeSet::new();
        for (number, line) in lines.into_iter().filter(|(_, line)| !line.is_empty()) {
            let cycle = parse_cycle(line).ok_or_else(|| FormatError {
                line: number,
                expected: "a cycle",
                found: line.to_owned(),
            })?;
            cycles.insert(cycle);
        }
        out.push((function, cycles));
    }
    Ok(out)
}

/// The cycles that only one side has.
#[must_use]
pub fn compare(left: &BTreeSet<Cycle>, right: &BTreeSet<Cycle>) -> Vec<String> {
    one_sided("cycle", left, right)
}

/// The members of only one of two sets, as messages.
pub(crate) fn one_sided<T: Ord + fmt::Display>(
    kind: &str,
    left: &BTreeSet<T>,
    right: &BTreeSet<T>,
) -> Vec<String> {
    let only_left = left.difference(right).map(|item| format!("{kind} on the left only: {item}"));
    let only_right = right.difference(left).map(|item| format!("{kind} on the right only: {item}"));
    only_left.chain(only_right).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
CycleInfo for function: empty
CycleInfo for function: f
    depth=1: entries(B A) D C
        depth=2: entries(D C A)
";

    #[test]
    fn order_of_blocks_and_cycles_means_nothing_but_the_header_does() {
        let base = parse(TEXT).expect("well-formed");
        assert_eq!(base[0].1.len(), 0);
        assert_eq!(base[1].1.len(), 2);
        let same = parse(&TEXT.replace(") D C", ") C D").replace("(D C A)", "(D A C)"));
        assert_eq!(base, same.expect("well-formed"));
        let other = parse(&TEXT.replace("(D C A)", "(C D A)")).expect("well-formed");
        assert_eq!(
            compare(&base[1].1, &other[1].1),
            [
                "cycle on the left only: depth=2: entries(D A C)",
                "cycle on the right only: depth=2: entries(C A D)"
            ]
        );
    }

    #[test]
    fn each_part_counts() {
        let base = parse(TEXT).expect("well-formed");
        for (from, to) in [("depth=2", "depth=3"), ("(B A) D", "(B) A D"), (" D C\n", " D C E\n")] {
            let other = parse(&TEXT.replace(from, to)).expect("well-formed");
            assert_eq!(compare(&base[1].1, &other[1].1).len(), 2, "{from} -> {to}");
        }
        assert_eq!(compare(&base[1].1, &BTreeSet::new()).len(), 2);
    }

    #[test]
    fn other_lines_are_errors() {
        let error = parse("CycleInfo for function: f\n  loop(a)\n").expect_err("no cycle");
        assert_eq!(error.to_string(), "line 2: expected a cycle, found `  loop(a)`");
        assert!(parse("CycleInfo for function: f\n  depth=x: entries(a)\n").is_err());
        assert!(parse("CycleInfo for function: f\n  depth=1: entries()\n").is_err());
    }
}
