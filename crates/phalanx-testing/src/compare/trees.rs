//! `print<domtree>` and `print<postdomtree>`, as trees.
//!
//! ```text
//! DominatorTree for function: f
//! =============================--------------------------------
//! Inorder Dominator Tree: DFSNumbers invalid: 0 slow queries.
//!   [1] %entry {4294967295,4294967295} [0]
//!     [2] %exit {4294967295,4294967295} [1]
//! Roots: %entry
//! ```
//!
//! A tree is the parent of each node and the set of roots. The order of siblings is arbitrary; the
//! printed levels must agree with the nesting. The numbers in braces depend on earlier queries.

use std::collections::{BTreeMap, BTreeSet};

use super::{Fact, FormatError, PerFunction, sections, split_name};

/// A dominator or post-dominator tree.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tree {
    /// The parent of each node; `None` for the root. The virtual exit is `<<exit node>>`.
    pub parents: BTreeMap<String, Option<String>>,
    /// The blocks the tree was built from.
    pub roots: BTreeSet<String>,
}

const VIRTUAL: &str = "<<exit node>>";

/// Parses a text of `fact`, one of the two trees.
///
/// # Errors
/// A line is not of the format, a level is skipped, or a node occurs twice.
pub fn parse(fact: Fact, text: &str) -> Result<PerFunction<Tree>, FormatError> {
    let mut out = Vec::new();
    for (function, lines) in sections(fact, text) {
        out.push((function, parse_tree(&lines)?));
    }
    Ok(out)
}

fn parse_tree(lines: &[(usize, &str)]) -> Result<Tree, FormatError> {
    let mut tree = Tree::default();
    let mut path: Vec<String> = Vec::new();
    for &(number, line) in lines {
        let fail = |expected| FormatError { line: number, expected, found: line.to_owned() };
        let trimmed = line.trim();
        if let Some(roots) = line.strip_prefix("Roots:") {
            let mut rest = roots.trim();
            while !rest.is_empty() {
                let (name, after) = split_name(rest).ok_or_else(|| fail("a block"))?;
                tree.roots.insert(name.to_owned());
                rest = after.trim_start();
            }
        } else if let Some(node) = trimmed.strip_prefix('[') {
            let (level, name) = parse_node(node).ok_or_else(|| fail("a node of the tree"))?;
            if level == 0 || level > path.len() + 1 {
                return Err(fail("a level that follows the one above"));
            }
            path.truncate(level - 1);
            let parent = path.last().cloned();
            if tree.parents.insert(name.clone(), parent).is_some() {
                return Err(fail("each node once"));
            }
            path.push(name);
        } else if !trimmed.is_empty()
            && !trimmed.starts_with("=====")
            && !trimmed.starts_with("Inorder ")
        {
            return Err(fail("a node of the tree or the roots"));
        }
    }
    Ok(tree)
}

/// Parses `2] %exit {4294967295,4294967295} [1]`; the last number is the level from 0.
fn parse_node(text: &str) -> Option<(usize, String)> {
    let (level, rest) = text.split_once(']')?;
    let level: usize = level.parse().ok()?;
    let rest = rest.trim_start();
    let (name, rest) = match rest.strip_prefix(VIRTUAL) {
        Some(after) => (VIRTUAL, after),
        None => split_name(rest)?,
    };
    let (_, from_zero) = rest.rsplit_once('[')?;
    let from_zero: usize = from_zero.strip_suffix(']')?.parse().ok()?;
    (from_zero + 1 == level).then(|| (level, name.to_owned()))
}

/// The nodes with different parents or on one side only, and the roots.
#[must_use]
pub fn compare(left: &Tree, right: &Tree) -> Vec<String> {
    let mut out = Vec::new();
    let show = |parent: Option<&Option<String>>| match parent {
        None => "no node".to_owned(),
        Some(None) => "the root".to_owned(),
        Some(Some(parent)) => format!("below {parent}"),
    };
    let nodes: BTreeSet<&String> = left.parents.keys().chain(right.parents.keys()).collect();
    for node in nodes {
        let (a, b) = (left.parents.get(node), right.parents.get(node));
        if a != b {
            out.push(format!("{node} is {} on the left, {} on the right", show(a), show(b)));
        }
    }
    out.extend(super::cycles::one_sided("root", &left.roots, &right.roots));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
PostDominatorTree for function: f
=============================--------------------------------
Inorder PostDominator Tree: DFSNumbers invalid: 0 slow queries.
  [1]  <<exit node>> {4294967295,4294967295} [0]
    [2] %\"q r\" {4294967295,4294967295} [1]
      [3] %a {4294967295,4294967295} [2]
    [2] %b {4294967295,4294967295} [1]
Roots: %\"q r\" %b
";

    fn tree(text: &str) -> Tree {
        parse(Fact::PostDomTree, text).expect("well-formed").remove(0).1
    }

    #[test]
    fn siblings_and_roots_may_come_in_any_order() {
        let base = tree(TEXT);
        assert_eq!(base.parents["%a"].as_deref(), Some("%\"q r\""));
        assert_eq!(base.parents["%b"].as_deref(), Some(VIRTUAL));
        assert_eq!(base.roots.len(), 2);
        let swapped = "\
PostDominatorTree for function: f
  [1]  <<exit node>> {0,7} [0]
    [2] %b {5,6} [1]
    [2] %\"q r\" {1,4} [1]
      [3] %a {2,3} [2]
Roots: %b %\"q r\" ";
        assert_eq!(compare(&base, &tree(swapped)), Vec::<String>::new());
    }

    #[test]
    fn parents_nodes_and_roots_count() {
        let base = tree(TEXT);
        let moved =
            TEXT.replace("      [3] %a {4294967295,4294967295} [2]", "    [2] %a {0,0} [1]");
        assert_eq!(
            compare(&base, &tree(&moved)),
            ["%a is below %\"q r\" on the left, below <<exit node>> on the right"]
        );
        let gone = TEXT.replace("    [2] %b {4294967295,4294967295} [1]\n", "");
        assert_eq!(
            compare(&base, &tree(&gone)),
            ["%b is below <<exit node>> on the left, no node on the right"]
        );
        let root = TEXT.replace(" %b\n", "\n");
        assert_eq!(compare(&base, &tree(&root)), ["root on the left only: %b"]);
    }

    fn malformed(text: &str) -> bool {
        parse(Fact::PostDomTree, text).is_err()
    }

    #[test]
    fn malformed_trees_are_errors() {
        assert!(malformed(&TEXT.replace("[3] %a", "[4] %a")), "level skipped");
        assert!(malformed(&TEXT.replace("[2] %b {4294967295,4294967295} [1]", "[2] %b {0,0} [2]")));
        assert!(malformed(&TEXT.replace("%b {", "%a {")), "node twice");
        assert!(malformed(&TEXT.replace("Roots:", "Root:")));
    }
}
