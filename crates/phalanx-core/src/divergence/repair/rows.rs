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
    /// `rows` rows, built from pairs of a row and an item.
    pub(super) fn new(
        rows: usize,
        nothing: T,
        items: impl Iterator<Item = (usize, T)> + Clone,
    ) -> Self {
        let mut new = Self::empty(rows);
        items.clone().for_each(|(row, _)| new.count(row));
        new.make_room(nothing);
        items.for_each(|(row, item)| new.fill(row, item));
        new
    }

    /// `rows` empty rows. The caller first [counts](Self::count) the items of each, then [makes
    /// room](Self::make_room), and then [fills](Self::fill) them in.
    pub(super) fn empty(rows: usize) -> Self {
        Self { at: vec![(0, 0); rows], items: Vec::new(), used: 0 }
    }

    /// A row will hold an item more.
    #[inline]
    pub(super) fn count(&mut self, row: usize) {
        self.at[row].1 += 1;
    }

    /// Makes room for what was counted.
    pub(super) fn make_room(&mut self, nothing: T) {
        let mut start = 0;
        for row in &mut self.at {
            row.0 = start;
            start += row.1;
            row.1 = 0;
        }
        self.items = vec![nothing; start as usize];
        self.used = start as usize;
    }

    /// Puts an item behind those of a row.
    #[inline]
    pub(super) fn fill(&mut self, row: usize, item: T) {
        let (start, len) = &mut self.at[row];
        self.items[(*start + *len) as usize] = item;
        *len += 1;
    }

    /// The same, if it is not the last one there.
    #[inline]
    pub(super) fn fill_other(&mut self, row: usize, item: T)
    where
        T: PartialEq,
    {
        let (start, len) = self.at[row];
        if len == 0 || self.items[(start + len - 1) as usize] != item {
            self.fill(row, item);
        }
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
