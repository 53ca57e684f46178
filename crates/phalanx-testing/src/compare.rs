//! Parses printed facts and compares them.
//!
//! LLVM's printing passes and ours write the same text formats. Some orders in these texts are
//! arbitrary (cycle blocks, frontiers, siblings of a tree). So texts are parsed into values that
//! compare by meaning: trees by the parent of each block, cycles and frontiers as sets, uniformity
//! definition by definition. A difference is a value too; its text names function, block and
//! instruction.
//!
//! [`differences`] compares any two texts of one [`Fact`]. [`uniformity`] also has a value-by-value
//! form, which the classification of differences uses.

pub mod cycles;
pub mod frontier;
pub mod trees;
pub mod uniformity;

use std::{collections::BTreeMap, fmt};

/// The fact that a printing pass prints.
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
    /// All facts.
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
    /// What was found there.
    pub found: String,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}, found `{}`", self.line, self.expected, self.found)
    }
}

impl std::error::Error for FormatError {}

/// One difference between two texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The function's name.
    pub function: String,
    /// The difference, in one line.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}: {}", self.function, self.what)
    }
}

/// The differences in meaning between the texts `left` and `right`, both of `fact`.
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
            pair_up(&trees::parse(fact, left)?, &trees::parse(fact, right)?, trees::compare)
        }
        Fact::DomFrontier => {
            pair_up(&frontier::parse(left)?, &frontier::parse(right)?, frontier::compare)
        }
    })
}

/// The facts of each function of a text, in the order of the text.
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
                out.extend(compare(fact, other).into_iter().map(|what| difference(name, what)));
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

/// How the text of each fact begins for a function: the name stands between the two strings.
const HEADINGS: [(Fact, &str, &str); 5] = [
    (Fact::Uniformity, "UniformityInfo for function '", "':"),
    (Fact::Cycles, "CycleInfo for function: ", ""),
    (Fact::DomTree, "DominatorTree for function: ", ""),
    (Fact::PostDomTree, "PostDominatorTree for function: ", ""),
    (Fact::DomFrontier, "DominanceFrontier for function: ", ""),
];

/// The fact and the function whose text starts with this line, if any.
fn heading(line: &str) -> Option<(Fact, &str)> {
    HEADINGS.iter().find_map(|&(fact, before, after)| {
        Some((fact, line.strip_prefix(before)?.strip_suffix(after)?))
    })
}

/// A function's name and the lines about it, with their numbers.
pub(crate) type Section<'a> = (String, Vec<(usize, &'a str)>);

/// The lines of a text about one fact, function by function.
///
/// Several passes may have printed into the text, in turns. Lines before the first heading are
/// ignored; they are usually warnings.
pub(crate) fn sections(fact: Fact, text: &str) -> Vec<Section<'_>> {
    let mut out: Vec<Section<'_>> = Vec::new();
    let mut ours = false;
    for (number, line) in text.lines().enumerate() {
        if let Some((of, name)) = heading(line) {
            ours = of == fact;
            if ours {
                out.push((name.to_owned(), Vec::new()));
            }
        } else if let Some((_, lines)) = out.last_mut().filter(|_| ours) {
            lines.push((number + 1, line));
        }
    }
    out
}

/// The number of functions that a text says something about.
#[must_use]
pub fn function_count(fact: Fact, text: &str) -> usize {
    text.lines().filter(|line| heading(line).is_some_and(|(of, _)| of == fact)).count()
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
    fn facts_may_be_printed_in_turns() {
        let text = "\
a warning
CycleInfo for function: f
    depth=1: entries(a)
UniformityInfo for function 'f':
ALL VALUES UNIFORM
CycleInfo for function: g
";
        assert_eq!(function_count(Fact::Cycles, text), 2);
        assert_eq!(function_count(Fact::DomTree, text), 0);
        let cycles = cycles::parse(text).expect("well-formed");
        assert_eq!(cycles.iter().map(|(_, cycles)| cycles.len()).collect::<Vec<_>>(), [1, 0]);
        assert!(uniformity::parse(text).expect("well-formed")[0].1.all_uniform);
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
