//! Tables that outlive their use.
//!
//! A function of a few blocks is analysed in a microsecond, and a good part of that would go into
//! getting tables from the allocator and giving them back. So what an analysis needs on the way,
//! and is no part of its answer, is kept per thread for the next one. Nothing in these tables has a
//! meaning between two uses, except where a table says that it is left in its initial state.

/// The most entries of a table that is kept: enough for nearly all functions, little enough to
/// forget about.
pub(crate) const SCRATCH_KEPT: usize = 1 << 14;

/// Makes a table of `n` entries that are all the same.
pub(crate) fn refill<T: Clone>(table: &mut Vec<T>, n: usize, value: T) {
    table.clear();
    table.resize(n, value);
}
