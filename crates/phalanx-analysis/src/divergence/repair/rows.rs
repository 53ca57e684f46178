//! Lists that can be replaced one by one.

/// Rows of items in one vector; a row that is replaced moves to its end.
///
/// Old rows stay where they are until half of everything is waste.
#[derive(Clone, Debug)]
pub(super) struct Rows<T> {
    /// Start and length by row.
    at: Vec<(u32, u32)>,
    items: Vec<T>,
    used: usize,
}

impl<T: Copy> Rows<T> {
    /// Rows of these lengths; `fill` is called with the row of each item, in any order, and its item.
    pub(super) fn new(
        rows: usize,
        nothing: T,
        items: impl Iterator<Item = (usize, T)> + Clone,
    ) -> Self {
        let mut at = vec![(0u32, 0u32); rows];
        for (row, _) in items.clone() {
            at[row].1 += 1;
        }
        let mut start = 0;
        for row in &mut at {
            row.0 = start;
            start += row.1;
            row.1 = 0;
        }
        let mut list = vec![nothing; start as usize];
        for (row, item) in items {
            let row = &mut at[row];
            list[(row.0 + row.1) as usize] = item;
            row.1 += 1;
        }
        Self { at, items: list, used: start as usize }
    }

    pub(super) fn len(&self) -> usize {
        self.at.len()
    }

    /// Makes room for rows, empty ones.
    pub(super) fn grow(&mut self, rows: usize) {
        if self.at.len() < rows {
            self.at.resize(rows, (0, 0));
        }
    }

    #[inline]
    pub(super) fn of(&self, row: usize) -> &[T] {
        let (start, len) = self.at[row];
        &self.items[start as usize..(start + len) as usize]
    }

    /// Every row may be rewritten and shortened in place.
    pub(super) fn normalize(&mut self, change: impl Fn(&mut [T]) -> usize) {
        for row in &mut self.at {
            let (start, end) = (row.0 as usize, (row.0 + row.1) as usize);
            row.1 = change(&mut self.items[start..end]) as u32;
        }
    }

    /// Puts a list in the place of a row.
    pub(super) fn replace(&mut self, row: usize, list: &[T]) {
        let (start, len) = self.at[row];
        self.used = self.used + list.len() - len as usize;
        if list.len() <= len as usize {
            self.items[start as usize..start as usize + list.len()].copy_from_slice(list);
            self.at[row].1 = list.len() as u32;
            return;
        }
        if self.items.len() > 2 * self.used + 1024 {
            self.compact();
        }
        self.at[row] = (self.items.len() as u32, list.len() as u32);
        self.items.extend_from_slice(list);
    }

    fn compact(&mut self) {
        let mut items = Vec::with_capacity(self.used);
        for row in &mut self.at {
            let old = &self.items[row.0 as usize..(row.0 + row.1) as usize];
            row.0 = items.len() as u32;
            items.extend_from_slice(old);
        }
        self.items = items;
    }
}
