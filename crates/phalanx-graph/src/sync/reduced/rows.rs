//! Lists of numbers in compressed sparse rows.

use crate::scratch::refill;

/// Lists of numbers in compressed sparse rows.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Rows {
    /// Where each row starts among the items, and the end; then the items.
    table: Vec<u32>,
    /// The number of rows plus one, which is where the items start in `table`.
    head: u32,
}

impl Rows {
    /// The rows made of pairs of a row and an item. The items of a row keep the order of the pairs.
    pub(crate) fn from_pairs(rows: usize, pairs: &[(u32, u32)]) -> Self {
        let mut made = Self::default();
        made.refill(rows, pairs);
        made
    }

    /// As [`from_pairs`](Self::from_pairs), in place.
    pub(crate) fn refill(&mut self, rows: usize, pairs: &[(u32, u32)]) {
        self.head = rows as u32 + 1;
        refill(&mut self.table, rows + 1 + pairs.len(), 0);
        let (start, items) = self.table.split_at_mut(rows + 1);
        for (row, _) in pairs {
            start[*row as usize] += 1;
        }
        let mut end = 0;
        for count in &mut *start {
            end += *count;
            *count = end;
        }
        // Each row is filled from its end to its start.
        for &(row, item) in pairs.iter().rev() {
            let at = &mut start[row as usize];
            *at -= 1;
            items[*at as usize] = item;
        }
    }

    #[inline]
    pub(crate) fn row(&self, row: usize) -> &[u32] {
        let (start, end) = self.range(row);
        &self.items()[start as usize..end as usize]
    }

    /// Where the row lies among all items.
    #[inline]
    pub(crate) fn range(&self, row: usize) -> (u32, u32) {
        (self.table[row], self.table[row + 1])
    }

    #[inline]
    pub(crate) fn items(&self) -> &[u32] {
        &self.table[self.head as usize..]
    }

    /// The rows with another one at the end.
    pub(super) fn with_row(&self, item: Option<u32>) -> Self {
        let (start, items) = self.table.split_at(self.head as usize);
        let mut table = Vec::with_capacity(self.table.len() + 2);
        table.extend_from_slice(start);
        table.push(items.len() as u32 + u32::from(item.is_some()));
        table.extend_from_slice(items);
        table.extend(item);
        Self { table, head: self.head + 1 }
    }

    pub(super) fn items_mut(&mut self) -> &mut [u32] {
        &mut self.table[self.head as usize..]
    }

    /// Empties a row.
    pub(super) fn clear(&mut self, row: usize) {
        self.keep(row, |_| false);
    }

    /// Keeps some items of a row.
    pub(super) fn keep(&mut self, row: usize, which: impl Fn(u32) -> bool) {
        let ((start, end), head) = (self.range(row), self.head);
        let kept: Vec<u32> = self.row(row).iter().copied().filter(|item| which(*item)).collect();
        let gone = end - start - kept.len() as u32;
        self.table.splice((head + start) as usize..(head + end) as usize, kept);
        self.table[row + 1..head as usize].iter_mut().for_each(|other| *other -= gone);
    }

    /// Replaces `old` by `new` in a row without moving it.
    pub(super) fn rename(&mut self, row: usize, old: u32, new: u32) {
        let (start, end) = self.range(row);
        let row = &mut self.items_mut()[start as usize..end as usize];
        row.iter_mut().filter(|item| **item == old).for_each(|item| *item = new);
    }
}
