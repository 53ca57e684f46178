//! Printed facts, read back and compared.
//!
//! LLVM's printing passes and ours write the same text formats. Some orders in them are accidents (cycle blocks,
//! frontiers, siblings of a tree), so texts are parsed into values that compare as what they mean: trees by the parent
//! of each block, cycles and frontiers as sets, uniformity definition by definition. A difference is a value too,
//! printed in a way that names function, block and instruction.
//!
//! [`differences`] compares any two texts of one [`Fact`]; [`uniformity`] has the value-by-value form that the
//! classification of differences works on.

pub mod cycles;
pub mod frontier;
pub mod trees;
pub mod uniformity;

use std::{collections::BTreeMap, fmt};

/// What a printing pass prints.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fact {
    /// `print<uniformity>`
    Uniformity,
    /// `print<cycles>`
    Cycles,
    /// `print<domtree>`
    DomTree,
    /// `print<postdomtree>`
    PostDomTree,
    /// `print<domfrontier>`
    DomFrontier,
}

impl Fact {
    /// All of them.
    pub const ALL: [Fact; 5] =
        [Fact::Uniformity, Fact::Cycles, Fact::DomTree, Fact::PostDomTree, Fact::DomFrontier];

    /// The name of the analysis in LLVM's pipelines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Fact::Uniformity => "uniformity",
            Fact::Cycles => "cycles",
            Fact::DomTree => "domtree",
            Fact::PostDomTree => "postdomtree",
            Fact::DomFrontier => "domfrontier",
        }
    }

    /// The printing pass.
    #[must_use]
    pub fn pass(self) -> String {
        format!("print<{}>", self.name())
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that is not in the format of its fact.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatError {
    /// Line, from 1.
    pub line: usize,
    /// What was expected there.
    pub expected: &'static str,
    /// What stands there.
    pub found: String,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}, found `{}`", self.line, self.expected, self.found)
    }
}

impl std::error::Error for FormatError {}

/// One place where two texts tell different things.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The function's name.
    pub function: String,
    /// What differs, in one line.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}: {}", self.function, self.what)
    }
}

/// Where the texts `left` and `right`, both of `fact`, differ in meaning.
///
/// # Errors
/// One of them is not in the format.
pub fn differences(fact: Fact, left: &str, right: &str) -> Result<Vec<Difference>, FormatError> {
    if left == right {
        return Ok(Vec::new());
    }
    Ok(match fact {
        Fact::Uniformity => {
            let (left, right) = (uniformity::parse(left)?, uniformity::parse(right)?);
            pair_up(&left, &right, |a, b| uniformity::compare(a, b).lines())
        }
        Fact::Cycles => pair_up(&cycles::parse(left)?, &cycles::parse(right)?, cycles::compare),
        Fact::DomTree | Fact::PostDomTree => {
            pair_up(&trees::parse(left)?, &trees::parse(right)?, trees::compare)
        }
        Fact::DomFrontier => {
            pair_up(&frontier::parse(left)?, &frontier::parse(right)?, frontier::compare)
        }
    })
}

/// The facts of each function of a text, in its order.
pub type PerFunction<T> = Vec<(String, T)>;

/// Compares function by function, by name; a function on one side only is a difference.
pub fn pair_up<T>(
    left: &PerFunction<T>,
    right: &PerFunction<T>,
    mut compare: impl FnMut(&T, &T) -> Vec<String>,
) -> Vec<Difference> {
    let of_right: BTreeMap<&str, &T> =
        right.iter().map(|(name, fact)| (name.as_str(), fact)).collect();
    let of_left: BTreeMap<&str, &T> =
        left.iter().map(|(name, fact)| (name.as_str(), fact)).collect();
    let difference =
        |function: &str, what: String| Difference { function: function.to_owned(), what };
    let mut out = Vec::new();
    for (name, fact) in left {
        match of_right.get(name.as_str()) {
            Some(other) => {
                out.extend(compare(fact, other).into_iter().map(|what| difference(name, what)))
            }
            None => out.push(difference(name, "the function is missing on the right".to_owned())),
        }
    }
    for (name, _) in right {
        if !of_left.contains_key(name.as_str()) {
            out.push(difference(name, "the function is missing on the left".to_owned()));
        }
    }
    let order =
        |list: &PerFunction<T>| list.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    if out.is_empty() && order(left) != order(right) {
        out.push(difference("", "the same functions in another order".to_owned()));
    }
    out
}

/// Cuts a text at the lines that open a function; what stands before the first is no fact (warnings, as a rule).
///
/// `open` gives the function's name if the line opens one.
pub(crate) fn sections<'a>(
    text: &'a str,
    open: impl Fn(&'a str) -> Option<&'a str>,
) -> Vec<(String, Vec<(usize, &'a str)>)> {
    let mut out: Vec<(String, Vec<(usize, &str)>)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if let Some(name) = open(line) {
            out.push((name.to_owned(), Vec::new()));
        } else if let Some((_, lines)) = out.last_mut() {
            lines.push((number + 1, line));
        }
    }
    out
}

/// A name as it is printed (quoted if need be) and what follows it.
pub(crate) fn split_name(text: &str) -> Option<(&str, &str)> {
    let body = text.strip_prefix('%').unwrap_or(text);
    let offset = text.len() - body.len();
    let length = if let Some(quoted) = body.strip_prefix('"') {
        quoted.find('"')? + 2
    } else {
        body.find([' ', '\t', ',']).unwrap_or(body.len())
    };
    (length > 0).then(|| text.split_at(offset + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_be_quoted() {
        assert_eq!(split_name("%a b"), Some(("%a", " b")));
        assert_eq!(split_name("%\"a b\" {0,1}"), Some(("%\"a b\"", " {0,1}")));
        assert_eq!(split_name("%\"a b"), None);
        assert_eq!(split_name(""), None);
    }

    #[test]
    fn functions_are_paired_by_name() {
        let of = |names: &[(&str, u32)]| -> PerFunction<u32> {
            names.iter().map(|&(name, fact)| (name.to_owned(), fact)).collect()
        };
        let compare = |left: &PerFunction<u32>, right: &PerFunction<u32>| -> Vec<String> {
            pair_up(
                left,
                right,
                |a, b| if a == b { vec![] } else { vec![format!("{a} is not {b}")] },
            )
            .iter()
            .map(ToString::to_string)
            .collect()
        };
        let base = of(&[("f", 1), ("g", 2)]);
        assert!(compare(&base, &base).is_empty());
        assert_eq!(compare(&base, &of(&[("f", 1), ("g", 3)])), ["@g: 2 is not 3"]);
        assert_eq!(compare(&base, &of(&[("f", 1)])), ["@g: the function is missing on the right"]);
        assert_eq!(compare(&of(&[("f", 1)]), &base), ["@g: the function is missing on the left"]);
        assert_eq!(
            compare(&base, &of(&[("g", 2), ("f", 1)])),
            ["@: the same functions in another order"]
        );
    }
}
