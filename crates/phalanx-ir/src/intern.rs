//! Append-only interners behind shared references.
//!
//! A value gets the number of the first equal value ever seen, for the life of the interner.
//! Numbers are never reused, and the value of a number never changes. So a query may read an
//! interner without declaring that to salsa: for a given number the answer is a constant.
//!
//! Looking a number up is lock-free ([`boxcar`]); interning takes a short lock. Both are O(1)
//! expected.

use std::{borrow::Borrow, fmt, hash::Hash, sync::Mutex};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// An append-only set of `T` in which every member has a dense `u32` number.
pub struct Interner<T> {
    items: boxcar::Vec<T>,
    index: Mutex<HashTable<u32>>,
}

impl<T: Hash + Eq> Interner<T> {
    /// An empty interner.
    pub fn new() -> Self {
        Interner { items: boxcar::Vec::new(), index: Mutex::new(HashTable::new()) }
    }

    /// The number of `value`, adding it when it is new.
    ///
    /// # Panics
    /// When more than `u32::MAX` distinct values are interned.
    pub fn intern<Q>(&self, value: &Q) -> u32
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = T> + ?Sized,
    {
        self.intern_with(value, |q| q.to_owned())
    }

    /// As [`Interner::intern`], with the conversion to the owned form given by the caller.
    pub fn intern_with<Q>(&self, value: &Q, own: impl FnOnce(&Q) -> T) -> u32
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = hash_of(value);
        let mut index = self.index.lock().unwrap_or_else(|poison| poison.into_inner());
        if let Some(&found) = index.find(hash, |&i| self.items[i as usize].borrow() == value) {
            return found;
        }
        let number = self.items.push(own(value));
        let number = u32::try_from(number).expect("fewer than 2^32 interned values");
        index.insert_unique(hash, number, |&i| hash_of(self.items[i as usize].borrow()));
        number
    }

    /// The number of `value` if it has been interned.
    pub fn find<Q>(&self, value: &Q) -> Option<u32>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let index = self.index.lock().unwrap_or_else(|poison| poison.into_inner());
        index.find(hash_of(value), |&i| self.items[i as usize].borrow() == value).copied()
    }

    /// The value with this number.
    ///
    /// # Panics
    /// When the number does not come from this interner.
    #[inline]
    pub fn get(&self, number: u32) -> &T {
        &self.items[number as usize]
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.items.count()
    }

    /// Whether nothing has been interned.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn hash_of<Q: Hash + ?Sized>(value: &Q) -> u64 {
    std::hash::BuildHasher::hash_one(&FxBuildHasher, value)
}

impl<T: Hash + Eq> Default for Interner<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for Interner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.items.iter().map(|(_, item)| item)).finish()
    }
}
