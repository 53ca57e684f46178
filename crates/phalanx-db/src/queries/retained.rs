//! State that a function retains between two questions, so that an answer is brought up to date
//! instead of being found from scratch.
//!
//! A large function has a place ([`Retained`]) for each analysis that can follow edits. The place
//! holds the state of the analysis and a [`Stamp`]: the position in the history of the body, the
//! [layout](super::layout) of the blocks, and the number of the *environment*, which is new
//! whenever anything else that the analysis reads has changed. [`Retained::update`] is the one way
//! in:
//!
//! 1. it takes the state out, so that work that is broken off loses the state and leaves
//!    nothing half done;
//! 2. it finds out what has been edited since the stamp, and whether the environment is the same;
//! 3. the caller brings the state up to date or makes another one, and says which ([`Updated`]);
//! 4. it stamps the state, counts, and puts the state back.
//!
//! ```text
//! slot.update((db, function), environment, |known| {
//!     let known = known.and_then(Known::in_same_environment);
//!     ...
//!     (answer, Some(state), Updated::Changed { visited })
//! })
//! ```
//!
//! **Invariant.** What the caller answers equals the answer from scratch; retained state decides
//! what it costs only. No lock is held while the caller works.
//!
//! **Complexity.** That of finding what has been edited, see [`since`].

use std::sync::Arc;

use super::layout::{Since, block_layout, since};
use crate::FunctionInput;
use crate::retained::place::{Retained, Stamp, Updated, Ways, locked};

use salsa::Database as Db;

impl Stamp {
    fn now(db: &dyn Db, function: FunctionInput, environment: u64) -> Self {
        let position = function.body(db).journal().position();
        Stamp { position, layout: Arc::clone(block_layout(db, function)), environment }
    }
}

/// State that was retained, and what has happened since.
pub(crate) struct Known<'db, T> {
    pub(crate) state: T,
    /// None where the history does not reach back so far.
    pub(crate) since: Option<Since<'db>>,
    /// Whether everything else is as it was that the analysis reads.
    pub(crate) is_same_environment: bool,
}

impl<'db, T> Known<'db, T> {
    /// State and edits, where nothing but edits has happened and they are known.
    pub(crate) fn in_same_environment(self) -> Option<(T, Since<'db>)> {
        Some((self.state, self.since.filter(|_| self.is_same_environment)?))
    }
}

impl<T> Retained<T> {
    /// Has the state brought up to date, and gives the answer that comes with it. `run` gives the
    /// state that is to be retained, if any, and says what became of it.
    ///
    /// *Reads* `body`, [`block_layout`].
    pub(crate) fn update<'db, R>(
        &self,
        (db, function): (&'db dyn Db, FunctionInput),
        environment: u64,
        run: impl FnOnce(Option<Known<'db, T>>) -> (R, Option<T>, Updated),
    ) -> R {
        let now = Stamp::now(db, function, environment);
        let taken = locked(&self.state).take();
        let known = taken.map(|taken| {
            let (stamp, state) = *taken;
            let since = since(db, function, (stamp.position, &stamp.layout));
            let is_same_environment = stamp.environment == environment;
            Known { state, since, is_same_environment }
        });
        let (answer, state, updated) = run(known);
        locked(&self.ways).count(updated);
        *locked(&self.state) = state.map(|state| Box::new((now, state)));
        answer
    }

    /// Drops the state; it is made again by the next question.
    pub(crate) fn clear(&self) {
        *locked(&self.state) = None;
    }

    /// How often the answer was found in which way.
    pub(crate) fn ways(&self) -> Ways {
        *locked(&self.ways)
    }
}

impl<T: Clone> Retained<T> {
    /// The state, if it is that of the function as it is now. The number of the environment is read
    /// only where the rest is the same.
    pub(crate) fn of_now(
        &self,
        (db, function): (&dyn Db, FunctionInput),
        environment: impl FnOnce() -> u64,
    ) -> Option<T> {
        let (stamp, state) = locked(&self.state).as_deref().cloned()?;
        let is_of_now = stamp.position == function.body(db).journal().position()
            && Arc::ptr_eq(&stamp.layout, block_layout(db, function))
            && stamp.environment == environment();
        is_of_now.then_some(state)
    }
}
