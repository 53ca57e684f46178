//! `print<domfrontier>`: the dominance frontier of each block, as sets.
//!
//! ```text
//! DominanceFrontier for function: f
//!   DomFrontier for BB %a is:   %b %c
//! ```
//!
//! LLVM iterates over hash tables here, so the orders of lines and of blocks in a line are
//! arbitrary.

use std::collections::{BTreeMap, BTreeSet};

use super::{Fact, FormatError, PerFunction, cycles::one_sided, sections, split_name};

/// The frontier of each block.
pub type Frontiers = BTreeMap<String, BTreeSet<String>>;

/// Parses a whole text.
///
/// # Errors
/// A line is not of the format or a block occurs twice.
pub fn parse(text: &str) -> Result<PerFunction<Frontiers>, FormatError> {
    let mut out = Vec::new();
    for (function, lines) in sections(Fact::DomFrontier, text) {
        let mut frontiers = Frontiers::new();
        for (number, line) in lines.into_iter().filter(|(_, line)| !line.is_empty()) {
            let fail = |expected| FormatError { line: number, expected, found: line.to_owned() };
            let (block, frontier) =
                parse_line(line).ok_or_else(|| fail("the frontier of a block"))?;
            if frontiers.insert(block, frontier).is_some() {
                return Err(fail("each block once"));
            }
        }
        out.push((function, frontiers));
    }
    Ok(out)
}

fn parse_line(line: &str) -> Option<(String, BTreeSet<String>)> {
    let (block, rest) = split_name(line.strip_prefix("  DomFrontier for BB ")?)?;
    let mut rest = rest.strip_prefix(" is:")?.trim();
    let mut frontier = BTreeSet::new();
    while !rest.is_empty() {
        let (name, after) = split_name(rest)?;
        frontier.insert(name.to_owned());
        rest = after.trim_start();
    }
    Some((block.to_owned(), frontier))
}

/// The blocks with different frontiers or on one side only.
#[must_use]
pub fn compare(left: &Frontiers, right: &Frontiers) -> Vec<String> {
    let mut out = Vec::new();
    for (block, frontier) in left {
        match right.get(block) {
            Some(other) => {
                out.extend(one_sided(&format!("frontier of {block}: block"), frontier, other));
            }
            None => out.push(format!("{block} has a frontier on the left only")),
        }
    }
    for block in right.keys().filter(|&block| !left.contains_key(block)) {
        out.push(format!("{block} has a frontier on the right only"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
DominanceFrontier for function: f
  DomFrontier for BB %a is:\t
  DomFrontier for BB %\"b c\" is:\t %a %\"b c\" %0
";

    fn frontiers(text: &str) -> Frontiers {
        parse(text).expect("well-formed").remove(0).1
    }

    #[test]
    fn order_means_nothing() {
        let swapped = "\
DominanceFrontier for function: f
  DomFrontier for BB %\"b c\" is:\t %0 %a %\"b c\"
  DomFrontier for BB %a is:\t
";
        assert_eq!(frontiers(TEXT), frontiers(swapped));
        assert_eq!(frontiers(TEXT)["%\"b c\""].len(), 3);
    }

    #[test]
    fn blocks_and_members_count() {
        let base = frontiers(TEXT);
        assert_eq!(
            compare(&base, &frontiers(&TEXT.replace(" %0\n", " %1\n"))),
            [
                "frontier of %\"b c\": block on the left only: %0",
                "frontier of %\"b c\": block on the right only: %1"
            ]
        );
        let renamed = frontiers(&TEXT.replace("BB %a", "BB %z"));
        assert_eq!(
            compare(&base, &renamed),
            ["%a has a frontier on the left only", "%z has a frontier on the right only"]
        );
    }

    #[test]
    fn other_lines_are_errors() {
        assert!(parse(&TEXT.replace(" is:", " was:")).is_err());
        assert!(parse(&TEXT.replace("BB %\"b c\"", "BB %a")).is_err(), "block twice");
    }
}
