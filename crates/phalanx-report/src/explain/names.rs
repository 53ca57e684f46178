//! Looks up entities by name, with similar names as suggestions.

use std::fmt;

/// A name that was not found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownName {
    /// What was looked for: `value`, `block`, `function`.
    pub kind: &'static str,
    /// The name.
    pub name: String,
    /// Similar names, best first, at most three.
    pub near: Vec<String>,
}

impl UnknownName {
    /// Says that there is no such name among the given ones.
    pub fn among(kind: &'static str, name: &str, names: impl Iterator<Item = String>) -> Self {
        let limit = 1 + name.chars().count() / 3;
        let mut near: Vec<(usize, String)> = names
            .map(|other| (distance(name, &other, limit), other))
            .filter(|(distance, _)| *distance <= limit)
            .collect();
        near.sort();
        near.dedup();
        let near = near.into_iter().take(3).map(|(_, name)| name).collect();
        UnknownName { kind, name: name.to_owned(), near }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no {} is called {}", self.kind, self.name)?;
        match self.near.as_slice() {
            [] => Ok(()),
            near => write!(f, "; did you mean {}?", near.join(" or ")),
        }
    }
}

impl std::error::Error for UnknownName {}

/// The number of insertions, removals and replacements of characters between two names
/// (Levenshtein, 1966), or `limit + 1` if there are more. O(product of the lengths); names whose
/// lengths differ by more than the limit are not compared.
fn distance(a: &str, b: &str, limit: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit {
        return limit + 1;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()].min(limit + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_offered_best_first() {
        let names = ["%tid", "%tidy", "%tied", "%index", "%t"].map(str::to_owned);
        let error = UnknownName::among("value", "%tdi", names.into_iter());
        assert_eq!(error.to_string(), "no value is called %tdi; did you mean %t or %tid or %tidy?");
        let error = UnknownName::among("value", "%zzzzz", std::iter::once("%a".to_owned()));
        assert_eq!(error.to_string(), "no value is called %zzzzz");
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("kitten", "sitting", 9), 3);
        assert_eq!(distance("", "abc", 9), 3);
        assert_eq!(distance("abc", "abc", 9), 0);
        assert_eq!(distance("abcdef", "ghijkl", 2), 3);
    }
}
