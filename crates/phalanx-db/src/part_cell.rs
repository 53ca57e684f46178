//! A part of a function that a transaction takes out of its input and puts back, in one revision.
//!
//! salsa has a new revision whenever an input is set, and a part that is worked on in place would
//! have to be set twice: to nothing while it is out, and to what it has become. Here it is set
//! once, when it is taken out: from then on whatever was read of it is out of date. The end of the
//! transaction puts the new part into the empty place. No query can have read the empty place: a
//! transaction has exclusive access to the database, and asks no query that reads a part of a
//! function. A query that did would panic; otherwise it could see another value than later queries
//! of the same revision.
//!
//! A part is some hundred bytes large. So it is boxed, and taking it out only moves a pointer.

use std::sync::OnceLock;

/// A part, or the place of one that a transaction is changing.
#[derive(Debug)]
pub struct PartCell<T>(OnceLock<Box<T>>);

impl<T> PartCell<T> {
    /// Holds a part.
    pub(crate) fn new(part: T) -> Self {
        PartCell(OnceLock::from(Box::new(part)))
    }

    /// The place of a part that is taken out.
    pub(crate) fn taken() -> Self {
        PartCell(OnceLock::new())
    }

    /// The part.
    ///
    /// # Panics
    /// When it is taken out.
    pub(crate) fn get(&self) -> &T {
        self.0.get().expect("nobody reads a part while a transaction changes it")
    }

    /// The part, to be changed.
    ///
    /// # Panics
    /// When it is taken out.
    pub(crate) fn into_inner(self) -> Box<T> {
        self.0.into_inner().expect("a part is taken out once")
    }

    /// Fills the place of a part that was taken out.
    pub(crate) fn put_back(&self, part: Box<T>) {
        let filled = self.0.set(part);
        debug_assert!(filled.is_ok(), "a part is put back where it was taken from");
    }
}
