//! Long computations that end early because their answer is no longer wanted.
//!
//! A thread [`watch`]es a flag during a query. Long loops call [`poll`], which unwinds with an
//! [`Interrupted`] once the flag is set. The code that began to watch catches that. A thread that
//! watches nothing is never interrupted.
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
//! # Rule for loops that poll
//!
//! An interrupted loop may leave its data half done, and no other code may see that. So the loop
//! takes the data out of the place where it is retained, and puts it back at the end.

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
    // Not a panic: nothing went wrong, and no panic hook should run.
    resume_unwind(Box::new(Interrupted))
}
