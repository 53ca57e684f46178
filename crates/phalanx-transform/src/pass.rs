//! What a pass is, what it is given, and how it ends.

use phalanx_core::legality::machines::Machines;
use phalanx_db::{Database, FunctionInput};
use phalanx_ir::BuildError;

/// Whether a pass changed a function.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The function is as it was.
    Unchanged,
    /// The pass changed something.
    Changed,
}

impl Outcome {
    /// `Changed` if `is_changed`.
    #[must_use]
    pub const fn changed(is_changed: bool) -> Outcome {
        if is_changed { Outcome::Changed } else { Outcome::Unchanged }
    }

    /// Whether something changed.
    #[must_use]
    pub const fn is_changed(self) -> bool {
        matches!(self, Outcome::Changed)
    }
}

/// Why a pass gave up. The function is as it was before the transaction that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PassError {
    /// An edit was refused.
    #[error(transparent)]
    Edit(#[from] BuildError),
    /// An error of a pass that a driver has added.
    #[error("{0}")]
    Other(String),
}

/// A transform or a check of one function.
pub trait Pass: Send + Sync {
    /// Its name in pipelines.
    fn name(&self) -> &str;

    /// Whether the pass also runs on functions that are marked `optnone`: true for passes that
    /// annotate code and do not change what is executed. The [`Manager`](crate::Manager) skips such
    /// functions for other passes, as LLVM's does.
    fn runs_on_optnone(&self) -> bool {
        false
    }

    /// Works on one function with a body.
    ///
    /// # Errors
    /// When an edit is refused: a mistake in the pass.
    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError>;
}

/// What stands in angle brackets after the name of a pass, separated by semicolons:
/// `simplifycfg<no-select;speculate=3>`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Parameters {
    items: Vec<(String, Option<String>)>,
}

impl Parameters {
    /// Splits the text between the brackets.
    #[must_use]
    pub fn parse(text: &str) -> Parameters {
        let items = text.split(';').map(str::trim).filter(|item| !item.is_empty());
        let split = |item: &str| match item.split_once('=') {
            Some((key, value)) => (key.trim().to_owned(), Some(value.trim().to_owned())),
            None => (item.to_owned(), None),
        };
        Parameters { items: items.map(split).collect() }
    }

    /// Keys and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.items.iter().map(|(key, value)| (key.as_str(), value.as_deref()))
    }

    /// The reconvergence models of a pass that has no other parameters.
    pub(crate) fn machines_alone(&self, pass: &str) -> Result<Machines, String> {
        let mut found = Machines::default();
        for (key, value) in self.iter() {
            match (key, value) {
                ("machines", Some(name)) => found = machines(pass, name)?,
                _ => return Err(format!("{pass} has no parameter `{key}`")),
            }
        }
        Ok(found)
    }

    /// Whether there are no parameters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

/// The reconvergence models that a parameter names.
pub(crate) fn machines(pass: &str, name: &str) -> Result<Machines, String> {
    let known = "`all`, `maximal` and `post-dominator`";
    Machines::from_name(name)
        .ok_or_else(|| format!("{pass}: there are no machines `{name}`, only {known}"))
}
