//! A part of a function, analysed by itself.
//!
//! # What
//!
//! A [`Region`] is some blocks with one entry. [`Analysis::of_region`](super::Analysis::of_region)
//! analyses one arrival at the entry: which values differ between the threads that arrive together,
//! until they leave the region or reach its entry again. The client decides what a thread is. For a
//! loop vectorizer, the threads are the iterations of a loop, which become lanes:
//!
//! ```text
//!   header(i):  v = load a[i]        given: i is a source      v, c differ among lanes
//!               c = v < n            n is outside: the same    the branch to `then` needs a mask
//!               branch c -> then, latch
//!   then:       store b[n], 0                                  n does not
//!   latch(p):   i2 = i + 1
//!               branch .. -> header(i2), exit
//! ```
//!
//! What the region reads and does not compute has the sources that are [given](Region::given) for
//! it, or else those of [everything outside](Region::outside): none, if values from outside are the
//! same for all threads that arrive. So has each argument of the entry. A value inside may be
//! given, too, if the client knows better than its definition says.
//!
//! # How
//!
//! The IR says its function as it is. A block *before* the region stands for all that is outside:
//! it computes the values that are, and leads to the entry. An edge to the entry leads to a block
//! *behind* instead, and an edge out of the region leads to its block, which does nothing.
//!
//! # Cost
//!
//! The IR is asked about the blocks of the region; about others only if something outside has
//! sources. Tables have the size of the function. A change of edges, of slots or of the number of
//! blocks is answered from scratch.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::block_graph::Block;
use crate::{SourceSet, Value};

/// Some blocks of a function. See the [module documentation](self).
#[derive(Clone, Debug)]
pub struct Region {
    entry: Block,
    blocks: FxHashSet<Block>,
    given: FxHashMap<Value, SourceSet>,
    outside: SourceSet,
}

impl Region {
    /// The region of these blocks and `entry`. Threads come into it by `entry` alone.
    #[must_use]
    pub fn new(entry: Block, blocks: impl IntoIterator<Item = Block>) -> Self {
        let blocks = blocks.into_iter().chain([entry]).collect();
        Self { entry, blocks, given: FxHashMap::default(), outside: SourceSet::EMPTY }
    }

    /// The same, with what a value differs by: one from outside, an argument of the entry, or any.
    #[must_use]
    pub fn given(mut self, value: Value, sources: SourceSet) -> Self {
        self.given.insert(value, sources);
        self
    }

    /// The same, where everything from outside may differ by these sources: what values, contents
    /// of slots and arguments of the entry have that are not [given](Self::given).
    #[must_use]
    pub fn outside(mut self, sources: SourceSet) -> Self {
        self.outside = sources;
        self
    }

    /// Whether a block is in the region.
    #[must_use]
    pub fn contains(&self, block: Block) -> bool {
        self.blocks.contains(&block)
    }
}

/// A region, and the blocks that stand for what is around it.
#[derive(Clone, Debug)]
pub(super) struct RegionFrame {
    pub(super) region: Region,
    /// All that is outside: it leads to the entry.
    pub(super) before: Block,
    /// Where threads go that reach the entry again.
    pub(super) behind: Block,
}

impl RegionFrame {
    /// The numbers behind those of the function are free.
    pub(super) fn new(region: &Region, blocks: usize) -> Self {
        let [before, behind] = [blocks, blocks + 1].map(Block::new);
        Self { region: region.clone(), before, behind }
    }

    /// Where a value is computed, and what it differs by if its definition does not count.
    pub(super) fn place(&self, value: Value, at: Block) -> (Block, Option<SourceSet>) {
        let given = self.region.given.get(&value).copied();
        match self.region.contains(at) {
            true => (at, given),
            false => (self.before, Some(given.unwrap_or(self.region.outside))),
        }
    }

    /// Where an argument is computed, and what it differs by if edges do not say.
    pub(super) fn place_argument(&self, value: Value, at: Block) -> (Block, Option<SourceSet>) {
        match at == self.region.entry {
            true => {
                let given = self.region.given.get(&value).copied();
                (self.before, Some(given.unwrap_or(self.region.outside)))
            }
            false => self.place(value, at),
        }
    }

    /// Where an edge leads, of a block in the region.
    pub(super) fn target(&self, to: Block) -> Block {
        if to == self.region.entry { self.behind } else { to }
    }

    /// Whether anything is to be said of blocks outside.
    pub(super) fn is_outside_said(&self) -> bool {
        !self.region.outside.is_empty()
    }

    /// Values that are given, in the order of their numbers.
    pub(super) fn given(&self) -> Vec<(Value, SourceSet)> {
        let mut given: Vec<_> =
            self.region.given.iter().map(|(&value, &sources)| (value, sources)).collect();
        given.sort_unstable_by_key(|(value, _)| value.raw());
        given
    }

    pub(super) fn entry(&self) -> Block {
        self.region.entry
    }

    pub(super) fn outside(&self) -> SourceSet {
        self.region.outside
    }
}
