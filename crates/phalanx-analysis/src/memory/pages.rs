//! Persistent tables: a copy shares all pages that it does not change.
//!
//! A table consists of groups of pages. Copying a table copies references to its groups. A change
//! copies the group and the page that it touches. A comparison of two tables skips groups and pages
//! that both share.
//!
//! A missing entry has the default value. Equality ignores default entries at the end, as in
//! [`by_inst`](super::by_inst).
//!
//! **Complexity.** Reading: O(1). Changing an entry: O(page + group), or O(1) if the value is the
//! same. Copying: O(groups), one for 8192 entries.

use std::sync::Arc;

/// Entries of a page.
const PAGE: usize = 128;
/// Pages of a group.
const GROUP: usize = 64;

/// No page, or a full one.
type Page<T> = Option<Arc<[T; PAGE]>>;
/// At most [`GROUP`] pages.
type Group<T> = Arc<Vec<Page<T>>>;

/// Values by index.
#[derive(Clone, Debug)]
pub(crate) struct Pages<T> {
    groups: Vec<Group<T>>,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Pages { groups: Vec::new() }
    }
}

impl<T: Clone + Default + PartialEq> Pages<T> {
    /// A table of `values`; the first one has index 0.
    pub(crate) fn new(values: &[T]) -> Self {
        let nothing = T::default();
        let page = |values: &[T]| {
            let says_something = values.iter().any(|value| *value != nothing);
            let at = |i: usize| values.get(i).cloned().unwrap_or_default();
            says_something.then(|| Arc::new(std::array::from_fn(at)))
        };
        let group = |values: &[T]| Arc::new(values.chunks(PAGE).map(page).collect());
        Pages { groups: values.chunks(PAGE * GROUP).map(group).collect() }
    }

    /// The value at an index if a page is stored for it. `None` stands for the default value.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        let page = self.groups.get(number / PAGE / GROUP)?.get(number / PAGE % GROUP)?;
        Some(&page.as_ref()?[number % PAGE])
    }

    /// Sets the value at an index.
    pub(crate) fn set(&mut self, number: usize, value: T) {
        if self.get(number).map_or(value == T::default(), |old| *old == value) {
            return;
        }
        let (group, page) = (number / PAGE / GROUP, number / PAGE % GROUP);
        if self.groups.len() <= group {
            self.groups.resize_with(group + 1, Arc::default);
        }
        let pages = Arc::make_mut(&mut self.groups[group]);
        if pages.len() <= page {
            pages.resize(page + 1, None);
        }
        let new = || Arc::new(std::array::from_fn(|_| T::default()));
        Arc::make_mut(pages[page].get_or_insert_with(new))[number % PAGE] = value;
    }
}

impl<T: Default> Pages<T> {
    /// Whether `is_same` holds for the two values at each index that either table stores. A missing
    /// value counts as the default.
    pub(crate) fn agrees(&self, other: &Self, is_same: impl Fn(&T, &T) -> bool) -> bool {
        let nothing = T::default();
        (0..self.groups.len().max(other.groups.len())).all(|number| {
            let groups = [self, other].map(|table| table.groups.get(number));
            if groups[0].zip(groups[1]).is_some_and(|(a, b)| Arc::ptr_eq(a, b)) {
                return true;
            }
            let [a, b] = groups.map(|group| group.map_or(&[][..], |group| group));
            (0..a.len().max(b.len())).all(|at| {
                match [a, b].map(|pages| pages.get(at).and_then(Option::as_ref)) {
                    [Some(a), Some(b)] => {
                        Arc::ptr_eq(a, b) || a.iter().zip(&**b).all(|(a, b)| is_same(a, b))
                    }
                    [Some(page), None] => page.iter().all(|value| is_same(value, &nothing)),
                    [None, Some(page)] => page.iter().all(|value| is_same(&nothing, value)),
                    [None, None] => true,
                }
            })
        })
    }
}

impl<T: Default + PartialEq> PartialEq for Pages<T> {
    fn eq(&self, other: &Self) -> bool {
        self.agrees(other, T::eq)
    }
}

impl<T: Default + Eq> Eq for Pages<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_a_vector_without_an_end() {
        for n in [0, 1, PAGE - 1, PAGE, PAGE + 1, PAGE * GROUP, 2 * PAGE * GROUP + 7] {
            let plain: Vec<u32> = (0..n).map(|i| (i % 5) as u32).collect();
            let table = Pages::new(&plain);
            let get = |table: &Pages<u32>, i| table.get(i).copied().unwrap_or_default();
            assert!(
                (0..n + 3).all(|i| get(&table, i) == plain.get(i).copied().unwrap_or_default())
            );
            assert_eq!(table, table.clone());
            assert_eq!(table == Pages::default(), n <= 1);
            // Filled entry by entry, and extended with default values.
            let mut other = Pages::default();
            plain.iter().enumerate().rev().for_each(|(i, value)| other.set(i, *value));
            assert_eq!(table, other);
            other.set(3 * PAGE * GROUP, 1);
            assert_ne!(table, other);
            assert_ne!(other, table);
            other.set(3 * PAGE * GROUP, 0);
            assert_eq!(table, other);
            assert_eq!(other, table);
        }
    }

    #[test]
    fn tables_agree_on_what_is_not_told() {
        let table = Pages::new(&vec![1u32; 2 * PAGE]);
        let is_same = |a: &u32, b: &u32| a == b || [a, b].contains(&&0);
        let mut other = table.clone();
        other.set(3, 0);
        other.set(5 * PAGE, 7);
        assert!(table.agrees(&other, is_same) && other.agrees(&table, is_same));
        other.set(PAGE + 1, 2);
        assert!(!table.agrees(&other, is_same) && !other.agrees(&table, is_same));
        assert!(Pages::default().agrees(&other, is_same));
        // A missing entry counts as the default value.
        assert!(!Pages::default().agrees(&other, |a, b| a == b));
    }

    #[test]
    fn a_copy_shares_what_is_not_changed() {
        let table = Pages::new(&vec![1u32; 2 * PAGE * GROUP]);
        let mut other = table.clone();
        other.set(5, 1);
        assert!(Arc::ptr_eq(&table.groups[0], &other.groups[0]), "it is what it was");
        other.set(5, 2);
        assert_eq!((table.get(5), other.get(5)), (Some(&1), Some(&2)));
        assert!(Arc::ptr_eq(&table.groups[1], &other.groups[1]));
        let page = |table: &Pages<u32>, at: usize| table.groups[0][at].clone().expect("a page");
        assert!(Arc::ptr_eq(&page(&table, 1), &page(&other, 1)));
        assert!(!Arc::ptr_eq(&page(&table, 0), &page(&other, 0)));
        other.set(5, 1);
        assert_eq!(table, other);
    }
}
