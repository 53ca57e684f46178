//! Queries that an edit can cancel, and edits with a time limit.

use std::time::Duration;

use phalanx_db::{Busy, Cancelled};
use phalanx_ir::{BuildError, edit::Transaction};

use super::{FunctionId, Session};

impl Session {
    /// Runs queries on this handle, unless another handle edits meanwhile. The closure may make any
    /// number of queries.
    ///
    /// An edit waits until all other handles are dropped, so a thread that gets [`Cancelled`] must
    /// drop its handle. Outside of `try_ask`, a query that an edit cancels unwinds the thread.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use phalanx::{Cancelled, ir::BuildError, prelude::*};
    ///
    /// let mut session = Session::new();
    /// let module = session.read(b"define i32 @f(i32 %n) {\n  ret i32 %n\n}\n")?;
    /// let function = session.function(module, "f").expect("it is defined");
    ///
    /// let clone = session.clone();
    /// let (started, starts) = mpsc::channel();
    /// let asker = std::thread::spawn(move || {
    ///     let mut rounds = 0;
    ///     loop {
    ///         let known = clone.try_ask(|session| session.divergence(function).is_some());
    ///         let _ = started.send(());
    ///         match known {
    ///             Ok(is_known) => assert!(is_known),
    ///             Err(Cancelled) => return rounds, // This drops the clone, and the edit begins.
    ///         }
    ///         rounds += 1;
    ///     }
    /// });
    /// starts.recv()?;
    /// session.edit(function, |_| Ok::<_, BuildError>(()))?;
    /// assert!(asker.join().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When another handle edits, or waits to edit.
    pub fn try_ask<'s, R>(&'s self, ask: impl FnOnce(&'s Self) -> R) -> Result<R, Cancelled> {
        self.db.try_ask(|_| ask(self))
    }

    /// Waits until this is the only handle on its modules, but no longer than `at_most`. Meanwhile
    /// queries of [`Session::try_ask`] on other handles end. After that no change has to wait,
    /// until this handle is cloned.
    ///
    /// # Errors
    /// When other handles are still alive. Handles of the calling thread are never dropped while it
    /// waits, so waiting longer does not help then.
    pub fn wait_until_alone(&mut self, at_most: Duration) -> Result<(), Busy> {
        self.db.wait_until_alone(at_most)
    }

    /// As [`Session::edit`], but waits no longer than `at_most` for other handles to be dropped.
    ///
    /// ```
    /// use std::time::Duration;
    /// use phalanx::{Busy, ir::BuildError, prelude::*};
    ///
    /// #[derive(Debug)]
    /// enum Failed { Busy(Busy), Edit(BuildError) }
    /// impl From<Busy> for Failed { fn from(busy: Busy) -> Self { Failed::Busy(busy) } }
    /// impl From<BuildError> for Failed { fn from(error: BuildError) -> Self { Failed::Edit(error) } }
    ///
    /// let mut session = Session::new();
    /// let module = session.read(b"define i32 @f(i32 %n) {\n  ret i32 %n\n}\n")?;
    /// let function = session.function(module, "f").expect("it is defined");
    /// let kept = session.clone();
    /// let at_most = Duration::from_millis(5);
    /// let result = session.try_edit(function, at_most, |_| Ok::<_, Failed>(()));
    /// assert!(matches!(result, Err(Failed::Busy(Busy { others: 1 }))));
    /// drop(kept);
    /// assert!(session.try_edit(function, at_most, |_| Ok::<_, Failed>(())).is_ok());
    /// # Ok::<(), phalanx::ReadError>(())
    /// ```
    ///
    /// # Errors
    /// When other handles are still alive; or as [`Session::edit`].
    pub fn try_edit<R, E: From<BuildError> + From<Busy>>(
        &mut self,
        function: FunctionId,
        at_most: Duration,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        self.wait_until_alone(at_most)?;
        self.edit(function, edit)
    }
}
