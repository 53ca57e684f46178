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
//! | [`NEARBY`] | functions that call each other | what holds of all is kept for the module |
//! | [`ASSUMPTIONS_KEPT`] | sets of assumptions | the state of the one asked longest ago is dropped |
//! | [`most_repaired`] | changed instructions | divergence is solved from scratch |
//! | [`most_by_single_edits`] | changed instructions | the driver rewrites the function: retain later |
//! | [`most_lowered`] | changed instructions | tables are made anew, not brought up to date |
//! | [`most_looked_at`] | changed instructions | all are looked at again |
//! | [`most_in_blocks`] | instructions of changed blocks | all are looked at again |
//! | [`rewritten`] | changed instructions | nothing is retained: another rewrite is likely |
//! | [`most_blocks`] | blocks with other accesses | the form of memory is made anew |
//! | [`most_visits`], [`USE_BLOCKS`] | blocks on the way to uses, to one use | the same |
//! | [`READERS`], [`POINTER_STEPS`], [`SPACE_STEPS`], [`PRIVATE_STEPS`] | steps of one repair | it is given up |
//!
//! Functions of the size of a function give a number of changes; each is at least 8, so that a
//! handful of edits is always repaired.

/// Functions with fewer instructions are always solved from scratch: that takes microseconds.
pub const LARGE: usize = 256;

/// In functions with fewer instructions, facts about memory are not retained: finding them takes as
/// long as finding out what has changed.
pub const MEMORY_KEPT: usize = 64;

/// Functions with fewer instructions retain their tables of divergence from the second query on:
/// most functions are queried once.
pub const TABLES_KEPT: usize = 1024;

/// Graphs with fewer blocks have their facts made anew, which costs as little as a repair.
pub const GRAPH_REPAIRED: usize = 64;

/// The number of rounds of a recursion in which state is retained. Most recursions take two or
/// three.
pub const ROUNDS_KEPT: usize = 6;

/// So many functions that call each other are asked one by one whether threads of several rounds
/// meet in them: a microsecond for each.
pub const NEARBY: usize = 64;

/// The number of sets of assumptions for which a function retains state.
pub const ASSUMPTIONS_KEPT: usize = 4;

/// The number of further readers of addresses that one edit may cause to be looked at.
pub const READERS: usize = 1 << 10;

/// The number of steps that a repair of [pointer flow](crate::loads::pointers) takes at most.
pub const POINTER_STEPS: usize = 1 << 14;

/// The number of values that a repair of memory spaces looks at, at most.
pub const SPACE_STEPS: usize = 1 << 13;

/// The number of blocks that are visited at most on the way to one use of memory. Small in tests,
/// so that some uses are too far away.
pub const USE_BLOCKS: usize = if cfg!(test) { 8 } else { 256 };

/// The minimum of the number of instructions that a repair of private memory may look at.
pub const PRIVATE_STEPS: usize = 1 << 14;

/// The number of changes after which divergence is still repaired: each change costs as much as
/// some tens of instructions cost from scratch.
#[must_use]
pub fn most_repaired(size: usize) -> usize {
    (size / 256).max(8)
}

/// The number of changes at a time that a driver makes which queries after each of its edits. Such
/// a driver will query again soon.
#[must_use]
pub fn most_by_single_edits(size: usize) -> usize {
    (size / 1024).max(8)
}

/// The number of changes for which tables are brought up to date: each costs several times what
/// lowering one instruction costs.
#[must_use]
pub fn most_lowered(size: usize) -> usize {
    (size / 8).max(8)
}

/// The number of instructions that are looked at again one by one: that costs little more per
/// instruction than from scratch.
#[must_use]
pub fn most_looked_at(size: usize) -> usize {
    (size / 4).max(8)
}

/// The same for instructions of whole changed blocks, most of which are found to be as they were.
#[must_use]
pub fn most_in_blocks(size: usize) -> usize {
    (size / 8).max(8)
}

/// More changes at a time than this are a rewrite of a good part of the function.
#[must_use]
pub fn rewritten(size: usize) -> usize {
    (size / 16).max(8)
}

/// The number of blocks, of `count`, in which the SSA form of memory is updated: updating one block
/// costs several times what it costs from scratch.
#[must_use]
pub fn most_blocks(count: usize) -> usize {
    (count / 4).max(16)
}

/// The number of blocks that are visited on the way to uses, in a graph of `blocks`. From scratch
/// each block is visited once, which costs a tenth of one of these visits.
#[must_use]
pub fn most_visits(blocks: usize) -> usize {
    blocks / 8 + USE_BLOCKS
}
