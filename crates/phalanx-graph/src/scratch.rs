//! Scratch tables that are reused by later analyses of the same thread.
//!
//! Analysing a function of a few blocks takes a microsecond, and allocating and freeing tables
//! would take a good part of that. So scratch tables, which are no part of an answer, are kept per
//! thread for the next analysis. Their contents have no meaning between two uses, except where a
//! table is documented to be left in its initial state.

/// Larger tables are not kept. The limit suits nearly all functions, and the memory is negligible.
pub(crate) const SCRATCH_KEPT: usize = 1 << 14;

/// Makes a table of `n` entries that are all the same.
pub(crate) fn refill<T: Clone>(table: &mut Vec<T>, n: usize, value: T) {
    table.clear();
    table.resize(n, value);
}
