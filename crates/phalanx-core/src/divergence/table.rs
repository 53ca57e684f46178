//! What the divergence analysis needs to know of a function body, as dense tables.
//!
//! A [`ValueTable`] says for every value where it is defined, which sources of divergence it
//! introduces by itself and what it does with those of its operands; for every phi, its incoming
//! values; and the users of each value. It knows neither opcodes nor targets, so any IR can be
//! analysed by filling one in.

mod builder;

use phalanx_graph::{BitSet, Node};
use smallvec::SmallVec;

use crate::SourceSet;

use crate::affect::{AffectMap, User, UserKind, Value};
pub use builder::ValueTableBuilder;

/// What a value's definition makes of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Transfer {
    /// It depends on every source that an operand depends on. The rule for ordinary operations.
    #[default]
    Propagate,
    /// It depends on its own sources only, whatever its operands are and wherever it is computed:
    /// what LLVM calls always uniform. With sources of its own, say "unknown but equal in a wave"
    /// for a ballot, these are all.
    Fixed,
    /// Each source of an operand is replaced by a set of sources, see [`ValueTableBuilder::image`].
    Image(u8),
}

/// What is known of one definition by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Definition {
    /// Sources that it introduces.
    pub seed: SourceSet,
    /// What it makes of its operands.
    pub transfer: Transfer,
    /// Whether its result is a function of its operands alone: no memory, no effect, no thread or
    /// time dependence. A phi is judged by its incoming values instead, whatever is said here.
    pub is_pure: bool,
}

impl Definition {
    /// A pure function of its operands.
    pub const PURE: Self =
        Self { seed: SourceSet::EMPTY, transfer: Transfer::Propagate, is_pure: true };

    /// Depends on its operands and may give another result each time.
    pub const IMPURE: Self =
        Self { seed: SourceSet::EMPTY, transfer: Transfer::Propagate, is_pure: false };

    /// Introduces these sources, and propagates its operands' too.
    #[must_use]
    pub const fn source(seed: SourceSet) -> Self {
        Self { seed, transfer: Transfer::Propagate, is_pure: false }
    }

    /// Introduces these sources and propagates its operands' too, and gives a thread the same
    /// result each time: the thread's index, the number of its lane or of its wave.
    ///
    /// Computed in a loop that threads leave in different rounds, it has no other sources behind
    /// the loop, which a value from [`source`](Self::source) has.
    #[must_use]
    pub const fn invariant(seed: SourceSet) -> Self {
        Self { seed, transfer: Transfer::Propagate, is_pure: true }
    }

    /// Depends on these sources and nothing else.
    #[must_use]
    pub const fn fixed(seed: SourceSet) -> Self {
        Self { seed, transfer: Transfer::Fixed, is_pure: false }
    }
}

/// Tells the incoming values of a phi apart: equal keys are equal values.
///
/// Values that are not known to be equal need different keys. Keys of one phi are compared with one
/// another and with the phi's own number only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhiKey(u32);

impl PhiKey {
    /// Undef or poison: equal to whatever it is compared with.
    pub const UNDEF: Self = Self(u32::MAX);

    /// A value, or the representative of its congruence class.
    #[must_use]
    pub const fn value(value: Value) -> Self {
        Self(value.raw())
    }

    /// A constant, by any number that tells constants apart.
    ///
    /// # Panics
    /// If the number is not below `2^31 - 1`.
    #[must_use]
    pub fn constant(number: u32) -> Self {
        assert!(number < Value::LIMIT - 1, "constant number {number} does not fit 31 bits");
        Self(number | Value::LIMIT)
    }
}

/// One entry of a phi.
///
/// Entries of one predecessor are for parallel edges, and should have one key. Where parallel edges
/// bring different values, a node on one of them tells them apart: see
/// [`block_graph`](crate::block_graph). Without such nodes the phi is unknown
/// ([`SourceSet::OPAQUE_THREAD`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The predecessor that it comes from.
    pub pred: Node,
    /// The value, unless it is a constant.
    pub value: Option<Value>,
    /// Tells it apart from the other entries.
    pub key: PhiKey,
}

/// The tables of one function. Made by a [`ValueTableBuilder`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueTable {
    pub(in crate::divergence) blocks: u32,
    /// See [`ValueTable::memory`].
    pub(in crate::divergence) memory: Option<MemoryValues>,
    pub(in crate::divergence) block: Vec<Node>,
    pub(in crate::divergence) seed: Vec<SourceSet>,
    /// See `flag`.
    pub(in crate::divergence) flags: Vec<u8>,
    /// Image number by value; empty when no value has one.
    pub(in crate::divergence) image_of: Vec<u8>,
    pub(in crate::divergence) images: Vec<[SourceSet; SourceSet::COUNT]>,
    pub(in crate::divergence) phis: PhiTable,
    pub(in crate::divergence) affects: AffectMap,
    pub(in crate::divergence) fixed_terminators: BitSet,
    /// Terminators taken to go one way in each workgroup; of size 0 when there are none.
    pub(in crate::divergence) assumed_terminators: BitSet,
    /// See [`ValueTable::narrow_wave`]: values, and what is left.
    pub(in crate::divergence) narrowed: Vec<(Value, SourceSet)>,
    pub(in crate::divergence) seeded_terminators: Vec<(Node, SourceSet)>,
}

/// Values of a table that stand for versions of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryValues {
    /// How many values there are besides; they have the lowest numbers.
    pub others: u32,
    /// The first one. What lies between are numbers that are not in use.
    pub first: u32,
}

/// Phis by block.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(in crate::divergence) struct PhiTable {
    /// First phi of each block, and the end; empty when there are no phis.
    pub(in crate::divergence) of_block: Vec<u32>,
    pub(in crate::divergence) values: Vec<Value>,
    /// First entry of each phi, and the end.
    pub(in crate::divergence) start: Vec<u32>,
    pub(in crate::divergence) incoming: Vec<Incoming>,
}

pub(in crate::divergence) mod flag {
    pub(in crate::divergence) const FIXED: u8 = 1;
    pub(in crate::divergence) const PURE: u8 = 2;
    pub(in crate::divergence) const PHI: u8 = 4;
    pub(in crate::divergence) const JOINABLE: u8 = 8;
    pub(in crate::divergence) const IMAGE: u8 = 16;
}

/// One phi of a [`ValueTable`].
#[derive(Clone, Copy, Debug)]
pub struct Phi<'a> {
    /// The phi.
    pub value: Value,
    /// Its entries in their own order, repeated for parallel edges as the IR has them.
    pub incoming: &'a [Incoming],
    /// Whether it selects anything: at least two incoming values differ, not counting the phi
    /// itself and undef.
    pub is_joinable: bool,
}

impl ValueTable {
    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.block.len()
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.block.is_empty()
    }

    /// Which values stand for versions of memory, if any do. Facts about them are no part of an
    /// answer.
    #[must_use]
    pub fn memory(&self) -> Option<MemoryValues> {
        self.memory
    }

    /// The same table, but answers also report versions of memory.
    pub fn with_memory_reported(self) -> ValueTable {
        ValueTable { memory: None, ..self }
    }

    /// The number of values that an answer reports: all except those that stand for versions of
    /// memory.
    #[must_use]
    pub fn reported(&self) -> usize {
        self.memory.map_or(self.block.len(), |memory| memory.others as usize)
    }

    /// Whether an answer reports a value.
    #[must_use]
    pub fn is_reported(&self, value: Value) -> bool {
        value.index() < self.reported()
    }

    /// Whether an answer reports the uses of a user.
    #[must_use]
    pub fn is_reported_user(&self, user: User) -> bool {
        match user.kind() {
            UserKind::Value(user) => self.is_reported(user),
            UserKind::Terminator(_) => true,
        }
    }

    /// How many blocks there are.
    #[must_use]
    pub fn block_count(&self) -> usize {
        self.blocks as usize
    }

    /// All values in number order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = Value> + ExactSizeIterator + use<> {
        (0..self.block.len() as u32).map(Value::from_raw)
    }

    /// The block of the definition; the entry for an argument.
    #[inline]
    #[must_use]
    pub fn block(&self, value: Value) -> Node {
        self.block[value.index()]
    }

    /// The block where a user stands.
    #[inline]
    pub(crate) fn block_of(&self, user: User) -> Node {
        match user.kind() {
            UserKind::Value(value) => self.block(value),
            UserKind::Terminator(block) => block,
        }
    }

    /// The sources that the definition introduces.
    #[inline]
    #[must_use]
    pub fn seed(&self, value: Value) -> SourceSet {
        self.seed[value.index()]
    }

    /// The same of all values, in number order.
    #[inline]
    pub(crate) fn seeds(&self) -> &[SourceSet] {
        &self.seed
    }

    /// Whether the definition ignores its operands, see [`Transfer::Fixed`].
    #[inline]
    #[must_use]
    pub fn is_fixed(&self, value: Value) -> bool {
        self.flags[value.index()] & flag::FIXED != 0
    }

    /// Whether the result is a function of the operands alone. False for phis.
    #[inline]
    #[must_use]
    pub fn is_pure(&self, value: Value) -> bool {
        self.flags[value.index()] & (flag::PURE | flag::PHI) == flag::PURE
    }

    /// Whether the value is a phi.
    #[inline]
    #[must_use]
    pub fn is_phi(&self, value: Value) -> bool {
        self.flags[value.index()] & flag::PHI != 0
    }

    /// What sources of an operand become in the result.
    #[inline]
    #[must_use]
    pub fn transfer(&self, value: Value, operand: SourceSet) -> SourceSet {
        match self.flags[value.index()] & (flag::FIXED | flag::IMAGE) {
            0 => operand,
            flag::IMAGE => {
                let image = &self.images[self.image_of[value.index()] as usize];
                let bit = |s: SourceSet| image[s.bits().trailing_zeros() as usize];
                operand.iter().fold(SourceSet::EMPTY, |all, s| all | bit(s))
            }
            _ => SourceSet::EMPTY,
        }
    }

    /// Says what else a definition introduces than was said.
    pub fn set_seed(&mut self, value: Value, seed: SourceSet) {
        self.seed[value.index()] = seed;
    }

    /// All images: what some definitions make of each source of an operand.
    pub fn images(&self) -> &[[SourceSet; SourceSet::COUNT]] {
        &self.images
    }

    /// The same code with these sources and no others, and other images. O(size of the table).
    pub fn with_sources(
        &self,
        seeds: &[(Value, SourceSet)],
        image: impl Fn(&[SourceSet; SourceSet::COUNT]) -> [SourceSet; SourceSet::COUNT],
    ) -> ValueTable {
        let mut table = self.clone();
        table.seed.fill(SourceSet::EMPTY);
        for &(value, sources) in seeds {
            table.seed[value.index()] = sources;
        }
        table.seeded_terminators.clear();
        table.images = self.images.iter().map(image).collect();
        table
    }

    /// The same code, where definitions with an image have these sources as well, by number of the
    /// image.
    pub fn with_more_sources(&self, by_image: &[SourceSet]) -> ValueTable {
        let mut table = self.clone();
        for value in self.values().filter(|v| self.flags[v.index()] & flag::IMAGE != 0) {
            table.seed[value.index()] |= by_image[usize::from(self.image_of[value.index()])];
        }
        table
    }

    /// The users of each value.
    #[must_use]
    pub fn affects(&self) -> &AffectMap {
        &self.affects
    }

    /// Whether the terminator is known to go one way for all threads, whatever its operands.
    #[inline]
    #[must_use]
    pub fn is_fixed_terminator(&self, block: Node) -> bool {
        self.fixed_terminators.contains(block.index())
    }

    /// Assumes that a terminator goes one way in each workgroup, for threads that execute it
    /// together.
    pub fn assume_uniform_in_group(&mut self, block: Node) {
        if self.assumed_terminators.universe() == 0 {
            self.assumed_terminators = BitSet::new(self.block_count());
        }
        self.assumed_terminators.insert(block.index());
    }

    /// Takes a load that gives one value to a wave for one that gives what is left of that: one
    /// value to more.
    ///
    /// Nothing happens to a definition that has other sources, or none; that it is asked for is
    /// remembered for a table that is edited.
    pub fn narrow_wave(&mut self, value: Value, left: SourceSet) {
        let seed = &mut self.seed[value.index()];
        *seed = narrowed(*seed, left);
        self.narrowed.push((value, left));
    }

    /// What sources of an operand of a terminator become in the way that it takes.
    #[inline]
    #[must_use]
    pub fn terminator_transfer(&self, block: Node, operand: SourceSet) -> SourceSet {
        let is_assumed = self.assumed_terminators.universe() != 0
            && self.assumed_terminators.contains(block.index());
        if is_assumed { one_way_in_group(operand) } else { operand }
    }

    /// Terminators that introduce sources by themselves.
    #[must_use]
    pub fn seeded_terminators(&self) -> &[(Node, SourceSet)] {
        &self.seeded_terminators
    }

    /// The phis of a block, in order.
    pub fn phis(&self, block: Node) -> impl ExactSizeIterator<Item = Phi<'_>> {
        let of_block = &self.phis.of_block;
        let range = match of_block.is_empty() {
            true => 0..0,
            false => of_block[block.index()] as usize..of_block[block.index() + 1] as usize,
        };
        range.map(|i| self.phi_at(i))
    }

    /// All phis, those of each block together.
    pub fn all_phis(&self) -> impl ExactSizeIterator<Item = Phi<'_>> {
        (0..self.phis.values.len()).map(|i| self.phi_at(i))
    }

    fn phi_at(&self, i: usize) -> Phi<'_> {
        let value = self.phis.values[i];
        let range = self.phis.start[i] as usize..self.phis.start[i + 1] as usize;
        let is_joinable = self.flags[value.index()] & flag::JOINABLE != 0;
        Phi { value, incoming: &self.phis.incoming[range], is_joinable }
    }
}

/// What the sources of a definition are where it is taken to give one value to more than a wave,
/// and `left` is left of that.
///
/// [`SourceSet::OPAQUE_THREAD`] in `left` says that it gives no memory of one thread only, as far
/// as it was taken to: no load has that left.
pub fn narrowed(seed: SourceSet, left: SourceSet) -> SourceSet {
    let is_shared = left.contains(SourceSet::OPAQUE_THREAD);
    let may_be_private = SourceSet::OPAQUE_THREAD | SourceSet::OPAQUE_WAVE;
    match seed == SourceSet::OPAQUE_WAVE || is_shared && seed == may_be_private {
        true => left - SourceSet::OPAQUE_THREAD,
        false => seed,
    }
}

/// What sources of the way that a terminator takes become where it is taken to go one way in each
/// workgroup. Each source becomes what it becomes by itself, and what has become of it stays.
pub fn one_way_in_group(sources: SourceSet) -> SourceSet {
    let of_group = SourceSet::BLOCK_XYZ | SourceSet::CLUSTER | SourceSet::OPAQUE_GROUP;
    match sources.difference(of_group).is_empty() {
        true => sources,
        // All threads of a group go the same way, but it is not known which.
        false => (sources & of_group) | SourceSet::OPAQUE_GROUP,
    }
}

/// What a phi with these entries depends on besides: it is unknown if one predecessor brings
/// different values. O(entries) if there are two, else O(entries log entries).
pub(in crate::divergence) fn of_parallel_edges(incoming: &[Incoming]) -> SourceSet {
    let is_one = |a: &Incoming, b: &Incoming| {
        a.pred != b.pred || a.key == b.key || a.key == PhiKey::UNDEF || b.key == PhiKey::UNDEF
    };
    let are_told_apart = match incoming {
        [] | [_] => true,
        [a, b] => is_one(a, b),
        _ => {
            let mut sorted: SmallVec<[Incoming; 8]> = SmallVec::from_slice(incoming);
            // The key of undef is the last one: two others of a predecessor are next to each other.
            sorted.sort_unstable_by_key(|entry| (entry.pred, entry.key));
            sorted.windows(2).all(|pair| is_one(&pair[0], &pair[1]))
        }
    };
    match are_told_apart {
        true => SourceSet::EMPTY,
        false => SourceSet::OPAQUE_THREAD,
    }
}

/// Whether a phi with these incoming keys selects anything.
pub fn differ(phi: Value, keys: impl Iterator<Item = PhiKey>) -> bool {
    let mut keys = keys.filter(|&key| key != PhiKey::UNDEF && key != PhiKey::value(phi));
    keys.next().is_some_and(|first| keys.any(|key| key != first))
}
