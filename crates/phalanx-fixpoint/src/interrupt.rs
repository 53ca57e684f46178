//! Long computations that end early because their answer is no longer wanted.
//!
//! A thread that asks [`watch`]es a flag while it asks. Long loops call [`poll`], which unwinds
//! with an [`Interrupted`] once the flag is set. The code that began to watch catches that. A
//! thread that watches nothing is never interrupted.
//!
//! ```
//! use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
//! use phalanx_fixpoint::interrupt::{Interrupted, poll, watch};
//!
//! let flag = Arc::new(AtomicBool::new(true));
//! let unwound = std::panic::catch_unwind(|| {
//!     let _watch = watch(&flag);
//!     poll();
//! });
//! assert!(unwound.unwrap_err().is::<Interrupted>());
//! poll(); // Nothing is watched any more.
//! ```
//!
//! # Cost
//!
//! [`poll`] reads a thread-local variable and the flag, about two nanoseconds. It may be called in
//! each round of a loop that does more than that.
//!
//! # What a loop that polls promises
//!
//! What it was working on may be left half done, so that nobody else may see it: it is taken out of
//! where it is kept, and put back at the end.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static WATCHED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// What [`poll`] unwinds with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// The thread watches a flag while this is alive.
#[derive(Debug)]
#[must_use = "nothing is watched any more when this is dropped"]
pub struct Watch {
    before: Option<Arc<AtomicBool>>,
}

/// Lets this thread watch a flag, in place of the one that it watched before.
pub fn watch(flag: &Arc<AtomicBool>) -> Watch {
    let before = WATCHED.with(|watched| watched.replace(Some(Arc::clone(flag))));
    Watch { before }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let before = self.before.take();
        WATCHED.with(|watched| *watched.borrow_mut() = before);
    }
}

/// Unwinds if the flag is set that this thread watches.
#[inline]
pub fn poll() {
    let is_set = WATCHED
        .with(|watched| watched.borrow().as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)));
    if is_set {
        interrupt();
    }
}

#[cold]
fn interrupt() -> ! {
    // Not a panic: nothing went wrong, and no hook has to tell of it.
    resume_unwind(Box::new(Interrupted))
}
