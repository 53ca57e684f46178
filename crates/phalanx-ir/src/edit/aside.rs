//! [`Aside`]: a cached value beside the data that it is computed from, and no part of that data.

use std::sync::OnceLock;

/// A value that is computed when first needed. All compare equal, and a clone starts empty.
#[derive(Debug)]
pub(crate) struct Aside<T>(OnceLock<T>);

impl<T> Aside<T> {
    /// The value, computed now if it is not there.
    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(make)
    }

    /// The value if it is there.
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// The value if it is there, to keep it up to date.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.0.get_mut()
    }
}

impl<T> Default for Aside<T> {
    fn default() -> Self {
        Aside(OnceLock::new())
    }
}

impl<T> Clone for Aside<T> {
    fn clone(&self) -> Self {
        Aside::default()
    }
}

impl<T> PartialEq for Aside<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Aside<T> {}
