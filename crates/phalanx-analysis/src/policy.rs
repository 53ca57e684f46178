//! When an answer is brought up to date after edits, and when it is found from scratch.
//!
//! Both ways give the same answer, so a threshold decides about time only. All of them are here,
//! with what they compare; `crates/phalanx/benches/edits.rs` measures what they are worth.
//!
//! | threshold | compared with | beyond it |
//! |---|---|---|
//! | [`LARGE`] | instructions of a function | answers are repaired; below, they are found from scratch |
//! | [`MEMORY_KEPT`] | instructions | facts about memory are kept while an edit does not concern them |
//! | [`TABLES_KEPT`] | instructions | tables of divergence are kept from the first question on |
//! | [`GRAPH_REPAIRED`] | blocks of a graph | facts of the graph are repaired when a block is split |
//! | [`ROUNDS_KEPT`] | rounds of a recursion | nothing is kept to be repaired |
//! | [`ASSUMPTIONS_KEPT`] | sets of assumptions | the state of the one asked longest ago is dropped |
//! | [`most_repaired`] | changed instructions | divergence is solved from scratch |
//! | [`most_by_single_edits`] | changed instructions | the driver rewrites the function: retain later |
//! | [`most_lowered`] | changed instructions | tables are made anew, not brought up to date |
//! | [`most_looked_at`] | changed instructions | all are looked at again |
//! | [`most_in_blocks`] | instructions of changed blocks | all are looked at again |
//! | [`rewritten`] | changed instructions | nothing is retained: another rewrite is likely |
//! | [`most_spliced`] | instructions of components | private memory is made anew |
//! | [`most_blocks`] | blocks with other accesses | the form of memory is made anew |
//! | [`most_visits`], [`USE_BLOCKS`] | blocks on the way to uses, to one use | the same |
//! | [`READERS`], [`POINTER_STEPS`], [`SPACE_STEPS`], [`PRIVATE_STEPS`] | steps of one repair | it is given up |
//!
//! Functions of the size of a function give a number of changes; each is at least 8, so that a
//! handful of edits is always repaired.

/// Functions with fewer instructions are always solved from scratch: that takes microseconds.
pub const LARGE: usize = 256;

/// Functions with fewer instructions keep no facts about memory: to find them takes as long as to
/// find out what has changed.
pub const MEMORY_KEPT: usize = 64;

/// Functions with fewer instructions keep their tables of divergence from the second question on:
/// most functions are asked about once.
pub const TABLES_KEPT: usize = 1024;

/// Graphs with fewer blocks have their facts made anew, which costs as little as a repair.
pub const GRAPH_REPAIRED: usize = 64;

/// In so many rounds of a recursion state is retained. Most recursions take two or three.
pub const ROUNDS_KEPT: usize = 6;

/// For so many sets of assumptions a function retains state.
pub const ASSUMPTIONS_KEPT: usize = 4;

/// An edit has at most so many more readers of addresses looked at than it has instructions.
pub const READERS: usize = 1 << 10;

/// A repair of what pointers are made from takes at most so many steps.
pub const POINTER_STEPS: usize = 1 << 14;

/// A repair of memory spaces looks at most at so many values.
pub const SPACE_STEPS: usize = 1 << 13;

/// So many blocks are visited on the way to one use of memory. Few in tests, so that some uses are
/// too far away.
pub const USE_BLOCKS: usize = if cfg!(test) { 8 } else { 256 };

/// A repair of private memory looks at so many instructions at least before it is given up.
pub const PRIVATE_STEPS: usize = 1 << 14;

/// Of so many changes divergence is repaired: each costs what some tens of instructions cost from
/// scratch.
#[must_use]
pub fn most_repaired(size: usize) -> usize {
    (size / 256).max(8)
}

/// So many changes at a time are made by a driver that asks after each of its edits, and will ask
/// again soon.
#[must_use]
pub fn most_by_single_edits(size: usize) -> usize {
    (size / 1024).max(8)
}

/// Of so many changes tables are brought up to date: each costs several times what it costs to
/// lower one instruction.
#[must_use]
pub fn most_lowered(size: usize) -> usize {
    (size / 8).max(8)
}

/// So many instructions are looked at again one by one, as from scratch, with little besides.
#[must_use]
pub fn most_looked_at(size: usize) -> usize {
    (size / 4).max(8)
}

/// The same of whole blocks, in which most is found as it was.
#[must_use]
pub fn most_in_blocks(size: usize) -> usize {
    (size / 8).max(8)
}

/// More changes at a time rewrite a good part of a function.
#[must_use]
pub fn rewritten(size: usize) -> usize {
    (size / 16).max(8)
}

/// In so many blocks, of `count`, the form of memory is followed: to follow one costs several times
/// what it costs from scratch.
#[must_use]
pub fn most_blocks(count: usize) -> usize {
    (count / 4).max(16)
}

/// So many blocks are visited on the way to uses, in a graph of `blocks`: from scratch each is
/// visited once, which costs a tenth of one of these visits.
#[must_use]
pub fn most_visits(blocks: usize) -> usize {
    blocks / 8 + USE_BLOCKS
}

/// So many components of private memory, or instructions of these, are done again at a time.
#[must_use]
pub fn most_spliced(size: usize) -> usize {
    (size / 8).max(256)
}
