//! The sizes of workgroups that are stated: of all kernels, or of kernels by name.
//!
//! ```text
//! phalanx check --group 256 --group scan=512 --group 'reduce*=32x8' kernels.cu
//!
//! [check.group]                # in phalanx.toml
//! "scan" = "512"
//! ```
//!
//! A name is that in the source, as findings have it (`sum<float>`), or the symbol. One that ends
//! in `*` is a prefix. The first statement with a kernel's name counts. The command line comes
//! before the file; within each of them, a size without a name comes last.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context as _, bail};

use super::config::matches;
use crate::run::extents;

/// A size, and for which kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement {
    /// None: all of them.
    name: Option<String>,
    size: [u32; 3],
}

impl Statement {
    /// One for the kernels with a name.
    pub(super) fn of(name: &str, size: &str) -> anyhow::Result<Statement> {
        Ok(Statement { name: Some(name.to_owned()), size: extents(size)? })
    }

    /// `SIZE`, or `NAME=SIZE`. A name in the source may have a `=`; a size has none.
    fn read(text: &str) -> anyhow::Result<Statement> {
        match text.rsplit_once('=') {
            Some((name, size)) => Statement::of(name, size),
            None => Ok(Statement { name: None, size: extents(text)? }),
        }
    }
}

/// All statements.
#[derive(Debug)]
pub(super) struct Sizes {
    /// From the highest precedence down.
    stated: Vec<Statement>,
    /// How many of them are from the command line.
    of_command_line: usize,
    /// Those of which a kernel was found.
    met: Mutex<BTreeSet<usize>>,
}

impl Sizes {
    /// From the options of the command line, and from the file.
    pub(super) fn new(options: &[String], file: Vec<Statement>) -> anyhow::Result<Sizes> {
        let read = |text: &String| Statement::read(text).with_context(|| format!("--group {text}"));
        let mut stated: Vec<Statement> = options.iter().map(read).collect::<anyhow::Result<_>>()?;
        for (at, one) in stated.iter().enumerate() {
            if let Some(other) = stated[..at].iter().find(|other| other.name == one.name) {
                let of = one.name.as_ref().map(|name| format!(" of `{name}`")).unwrap_or_default();
                let size = |[x, y, z]: [u32; 3]| format!("{x}x{y}x{z}");
                let [first, second] = [other, one].map(|statement| size(statement.size));
                bail!("--group: the size{of} is stated twice, as {first} and {second}");
            }
        }
        stated.sort_by_key(|statement| statement.name.is_none());
        let of_command_line = stated.len();
        stated.extend(file);
        Ok(Sizes { stated, of_command_line, met: Mutex::default() })
    }

    /// The size that is stated for a function with this name in the source and this symbol.
    pub(super) fn of(&self, names: [&str; 2]) -> Option<[u32; 3]> {
        let is_meant = |statement: &Statement| {
            let pattern = statement.name.as_deref();
            pattern.is_none_or(|pattern| names.iter().any(|name| matches(pattern, name)))
        };
        let at = self.stated.iter().position(is_meant)?;
        self.met.lock().unwrap_or_else(PoisonError::into_inner).insert(at);
        Some(self.stated[at].size)
    }

    /// Whether the command line names kernels, each of which has to be found.
    pub(super) fn has_names(&self) -> bool {
        self.stated.iter().take(self.of_command_line).any(|statement| statement.name.is_some())
    }

    /// What findings depend on.
    pub(super) fn key(&self) -> &[Statement] {
        &self.stated
    }

    /// The largest size.
    pub(super) fn largest(&self) -> Option<[u32; 3]> {
        let sizes = self.stated.iter().map(|statement| statement.size);
        sizes.max_by_key(|size| size.iter().map(|&extent| u64::from(extent)).product::<u64>())
    }

    /// Names on the command line that no function has whose launch was stated.
    pub(super) fn unmet(&self) -> Vec<&str> {
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let named = self.stated.iter().take(self.of_command_line).enumerate();
        let unmet = named.filter(|(at, _)| !met.contains(at));
        unmet.filter_map(|(_, statement)| statement.name.as_deref()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_before_all_and_options_before_the_file() {
        let options = ["256", "scan=512", "sum<*=32x8"].map(str::to_owned);
        let file = vec![Statement::of("scan", "64").unwrap(), Statement::of("*", "128").unwrap()];
        let sizes = Sizes::new(&options, file.clone()).unwrap();
        assert_eq!(sizes.of(["scan", "_Z4scanPi"]), Some([512, 1, 1]));
        assert_eq!(sizes.of(["other", "_Z5otherPi"]), Some([256, 1, 1]));
        assert_eq!(sizes.unmet(), ["sum<*"]);
        assert_eq!(sizes.of(["sum<float>", "_Z3sumIfEvPi"]), Some([32, 8, 1]));
        assert!(sizes.unmet().is_empty());
        assert_eq!(sizes.largest(), Some([512, 1, 1]));
        let of_file = Sizes::new(&["_Z4scanPi=32".to_owned()], file).unwrap();
        assert_eq!(of_file.of(["scan", "_Z4scanPi"]), Some([32, 1, 1]));
        assert_eq!(of_file.of(["other", "_Z5otherPi"]), Some([128, 1, 1]));
        let wrong = Sizes::new(&["scan=16,16".to_owned()], Vec::new()).unwrap_err();
        assert_eq!(format!("{wrong:#}"), "--group scan=16,16: `16,16` is no size: write `16x16`");
        for (twice, of) in [(["64", "32"], ""), (["scan=64", "scan=32"], " of `scan`")] {
            let error = Sizes::new(&twice.map(str::to_owned), Vec::new()).unwrap_err();
            let said = format!("--group: the size{of} is stated twice, as 64x1x1 and 32x1x1");
            assert_eq!(error.to_string(), said);
        }
    }
}
