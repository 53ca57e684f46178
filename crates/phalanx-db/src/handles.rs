//! Handles on one database: how an edit waits for other handles, and how it cancels their queries.
//!
//! A clone of a [`Database`] is another handle on it, usually for another thread. An edit needs the
//! database for itself: it waits until all other handles are dropped. To have that soon, the edit
//! raises a flag, and questions that were asked in [`Database::try_ask`] end with [`Cancelled`]: at
//! the next query, or in the middle of a long loop
//! ([`interrupt`](phalanx_fixpoint::interrupt)).
//!
//! ```text
//!   editor                          asker, with a handle of its own
//!   edit()                          try_ask(..) runs for long
//!     raises the flag  ---------->  ends within milliseconds: Err(Cancelled)
//!     waits            <----------  drops its handle
//!     edits
//! ```
//!
//! A thread that holds two handles and edits by one of them would wait for itself for ever.
//! [`Database::wait_until_alone`] waits for a bounded time, and says how many handles are alive.
//!
//! Cost: a question reads the flag a few times in each query, two nanoseconds each.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::sleep,
    time::{Duration, Instant},
};

use phalanx_fixpoint::interrupt::{Interrupted, watch};

use crate::Database;

/// A question was broken off because another handle edits, or waits to edit. Asked again after the
/// edit, on a new handle, it is answered.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the question was broken off, because the modules are being edited")]
pub struct Cancelled;

/// An edit cannot begin, because other handles on the modules are alive. Nothing was changed.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "cannot edit: {others} other handle(s) on the same modules are alive; drop the clones first, \
     those of this thread included"
)]
pub struct Busy {
    /// The number of handles besides the one that wanted to edit.
    pub others: usize,
}

/// What all handles on one database share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handles {
    /// Set while a handle waits for exclusive access.
    wanted: Arc<AtomicBool>,
    /// One for each handle.
    alive: Arc<()>,
}

impl Handles {
    fn others(&self) -> usize {
        Arc::strong_count(&self.alive) - 1
    }
}

impl Database {
    /// Runs queries, unless another handle edits meanwhile.
    ///
    /// # Errors
    /// If another handle waits to edit. It waits until this handle is dropped.
    pub fn try_ask<'d, R>(&'d self, ask: impl FnOnce(&'d Self) -> R) -> Result<R, Cancelled> {
        let _watch = watch(&self.handles().wanted);
        // State that a cancelled query leaves half done is lost; the next query computes it again.
        catch_unwind(AssertUnwindSafe(|| ask(self))).map_err(|payload| {
            match payload.is::<Interrupted>() || payload.is::<salsa::Cancelled>() {
                true => Cancelled,
                false => resume_unwind(payload),
            }
        })
    }

    /// Waits until no other handle is alive, for so long at most. Questions of
    /// [`Database::try_ask`] on others end meanwhile. After that, no edit waits until this handle
    /// is cloned.
    ///
    /// # Errors
    /// When others are still alive.
    pub fn wait_until_alone(&mut self, at_most: Duration) -> Result<(), Busy> {
        let handles = self.handles().clone_flag();
        let _wanted = Wanted::raise(&handles);
        let end = Instant::now() + at_most;
        let mut pause = Duration::from_micros(10);
        loop {
            let others = self.handles().others();
            if others == 0 {
                return Ok(());
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Busy { others });
            }
            sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(1));
        }
    }

    /// Waits until no other handle is alive, however long that takes.
    pub(crate) fn alone(&mut self) {
        if self.handles().others() > 0 {
            let wanted = self.handles().clone_flag();
            let _wanted = Wanted::raise(&wanted);
            salsa::Database::trigger_cancellation(self);
        }
    }
}

impl Handles {
    fn clone_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.wanted)
    }
}

/// The flag is up while this is alive.
struct Wanted<'a>(&'a AtomicBool);

impl<'a> Wanted<'a> {
    fn raise(flag: &'a AtomicBool) -> Self {
        flag.store(true, Ordering::Relaxed);
        Wanted(flag)
    }
}

impl Drop for Wanted<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
