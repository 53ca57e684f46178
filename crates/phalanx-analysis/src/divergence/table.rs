//! What the divergence analysis needs to know of a function body, as dense tables.
//!
//! A [`ValueTable`] says for every value where it is defined, which sources of divergence it introduces
//! by itself and what it does with those of its operands; for every phi, what comes in from where; and
//! who uses what. It knows neither opcodes nor targets, so any IR can be analysed by filling one in.

use std::cell::Cell;

use phalanx_graph::{BitSet, Node};
use phalanx_target::SourceSet;

use crate::affect::{AffectMap, User, UserKind, Value};

/// What a value's definition makes of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Transfer {
    /// It depends on every source that an operand depends on. The rule for ordinary operations.
    #[default]
    Propagate,
    /// It depends on its own sources only, whatever its operands are and wherever it is computed: what
    /// LLVM calls always uniform. With sources of its own, say "unknown but equal in a wave" for a
    /// ballot, these are all.
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
    /// Whether its result is a function of its operands alone: no memory, no effect, no thread or time
    /// dependence. A phi is judged by its incoming values instead, whatever is said here.
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
    blocks: u32,
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
    of_block: Vec<u32>,
    pub(in crate::divergence) values: Vec<Value>,
    /// First entry of each phi, and the end.
    start: Vec<u32>,
    incoming: Vec<Incoming>,
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
    /// Whether it selects anything: at least two incoming values differ, not counting the phi itself and
    /// undef.
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

    /// Which values stand for versions of memory, if any do. Facts about them are no part of an answer.
    #[must_use]
    pub fn memory(&self) -> Option<MemoryValues> {
        self.memory
    }

    /// The same, where answers tell of versions of memory as of other values.
    pub(crate) fn with_memory_reported(self) -> ValueTable {
        ValueTable { memory: None, ..self }
    }

    /// How many values an answer tells of: all but those that stand for versions of memory.
    #[must_use]
    pub fn reported(&self) -> usize {
        self.memory.map_or(self.block.len(), |memory| memory.others as usize)
    }

    /// Whether an answer tells of a value.
    #[must_use]
    pub fn is_reported(&self, value: Value) -> bool {
        value.index() < self.reported()
    }

    /// Whether an answer tells of what a user reads.
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

    /// All images: what some definitions make of each source of an operand.
    pub(crate) fn images(&self) -> &[[SourceSet; SourceSet::COUNT]] {
        &self.images
    }

    /// The same code with these sources and no others, and other images. O(size of the table).
    pub(crate) fn with_sources(
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

    /// The same code, where definitions with an image have these sources as well, by number of the image.
    pub(crate) fn with_more_sources(&self, by_image: &[SourceSet]) -> ValueTable {
        let mut table = self.clone();
        for value in self.values().filter(|v| self.flags[v.index()] & flag::IMAGE != 0) {
            table.seed[value.index()] |= by_image[usize::from(self.image_of[value.index()])];
        }
        table
    }

    /// Who uses what.
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

    /// Takes it for granted that a terminator goes one way in each workgroup, for threads that come together.
    pub fn assume_uniform_in_group(&mut self, block: Node) {
        if self.assumed_terminators.universe() == 0 {
            self.assumed_terminators = BitSet::new(self.block_count());
        }
        self.assumed_terminators.insert(block.index());
    }

    /// Takes a load that gives one value to a wave for one that gives what is left of that: one value to more.
    ///
    /// Nothing happens to a definition that has other sources, or none; that it is asked for is remembered for a table that is edited.
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

/// Collects a [`ValueTable`].
///
/// Create all values first, in any order, then state uses and incoming values: so forward references
/// need no care.
#[derive(Clone, Debug)]
pub struct ValueTableBuilder {
    blocks: usize,
    memory: Option<MemoryValues>,
    block: Vec<Node>,
    seed: Vec<SourceSet>,
    flags: Vec<u8>,
    image_of: Vec<(Value, u8)>,
    images: Vec<[SourceSet; SourceSet::COUNT]>,
    phis: Vec<Value>,
    incoming: Vec<Incoming>,
    /// The phi of each entry.
    incoming_of: Vec<Value>,
    uses: Vec<(Value, User)>,
    fixed_terminators: BitSet,
    seeded_terminators: Vec<(Node, SourceSet)>,
}

thread_local! {
    /// Room for the uses of the next table: the largest of what a builder needs for itself.
    static USES: Cell<Vec<(Value, User)>> = const { Cell::new(Vec::new()) };
}

/// Room for more uses than this is given back.
const USES_KEPT: usize = 1 << 16;

impl ValueTableBuilder {
    /// No values yet, in a function of `blocks` blocks.
    #[must_use]
    pub fn new(blocks: usize) -> Self {
        Self::with_capacity(blocks, 0)
    }

    /// No values yet, but room for this many.
    #[must_use]
    pub fn with_capacity(blocks: usize, values: usize) -> Self {
        let mut uses = USES.take();
        uses.clear();
        uses.reserve(values * 3 / 2);
        Self {
            blocks,
            memory: None,
            block: Vec::with_capacity(values),
            seed: Vec::with_capacity(values),
            flags: Vec::with_capacity(values),
            image_of: Vec::new(),
            images: Vec::new(),
            phis: Vec::new(),
            incoming: Vec::new(),
            incoming_of: Vec::new(),
            uses,
            fixed_terminators: BitSet::default(),
            seeded_terminators: Vec::new(),
        }
    }

    /// This many values, all defined in a block by [`Definition::IMPURE`] until [`define`](Self::define) says otherwise.
    pub(crate) fn with_values(blocks: usize, values: usize, block: Node) -> Self {
        assert!(block.index() < blocks && values < Value::LIMIT as usize);
        let mut table = Self::with_capacity(blocks, values);
        table.block.resize(values, block);
        table.seed.resize(values, SourceSet::EMPTY);
        table.flags.resize(values, 0);
        table
    }

    /// Adds values that stand for versions of memory, after some numbers that are left out. The first of them.
    pub(crate) fn add_memory(&mut self, unused: usize, count: usize, block: Node) -> Value {
        let others = self.block.len();
        let first = others + unused;
        let end = first + count;
        assert!(end < Value::LIMIT as usize);
        self.block.resize(end, block);
        self.seed.resize(end, SourceSet::EMPTY);
        self.flags.resize(end, 0);
        self.memory = Some(MemoryValues { others: others as u32, first: first as u32 });
        Value::new(first)
    }

    /// Says how a value is defined that is no phi, and where.
    #[inline]
    pub(crate) fn define(&mut self, value: Value, block: Node, definition: Definition) {
        assert!(block.index() < self.blocks, "{block} is not one of {} blocks", self.blocks);
        let i = value.index();
        self.block[i] = block;
        self.seed[i] = definition.seed;
        self.flags[i] = self.flags_of(value, definition);
    }

    /// As [`define`](Self::define), by [`Definition::PURE`]; once per value.
    #[inline]
    pub(crate) fn define_pure(&mut self, value: Value, block: Node) {
        assert!(block.index() < self.blocks, "{block} is not one of {} blocks", self.blocks);
        self.block[value.index()] = block;
        self.flags[value.index()] = flag::PURE;
    }

    /// Says that a value is a phi, and where; without incoming values so far.
    #[inline]
    pub(crate) fn define_phi(&mut self, value: Value, block: Node, definition: Definition) {
        self.define(value, block, definition);
        self.flags[value.index()] |= flag::PHI;
        if self.phis.is_empty() {
            self.phis.reserve(8);
            self.incoming.reserve(16);
            self.incoming_of.reserve(16);
        }
        self.phis.push(value);
    }

    #[inline]
    fn flags_of(&mut self, value: Value, definition: Definition) -> u8 {
        let flags = if definition.is_pure { flag::PURE } else { 0 };
        match definition.transfer {
            Transfer::Propagate => flags,
            Transfer::Fixed => flags | flag::FIXED,
            Transfer::Image(image) => {
                assert!((image as usize) < self.images.len(), "no image has the number {image}");
                self.image_of.push((value, image));
                flags | flag::IMAGE
            }
        }
    }

    /// Adds a value that is no phi. Arguments are defined in the entry block.
    ///
    /// # Panics
    /// If the block is none of the function's, or there are too many values.
    pub fn value(&mut self, block: Node, definition: Definition) -> Value {
        assert!(block.index() < self.blocks, "{block} is not one of {} blocks", self.blocks);
        let value = Value::new(self.block.len());
        self.block.push(block);
        self.seed.push(definition.seed);
        let flags = self.flags_of(value, definition);
        self.flags.push(flags);
        value
    }

    /// Adds a phi, without incoming values so far.
    ///
    /// # Panics
    /// As [`value`](Self::value).
    pub fn phi(&mut self, block: Node, definition: Definition) -> Value {
        let value = self.value(block, definition);
        self.flags[value.index()] |= flag::PHI;
        self.phis.push(value);
        value
    }

    /// Registers what a [`Transfer::Image`] does: source `i` of an operand (by bit number) becomes
    /// `image[i]` in the result.
    ///
    /// # Panics
    /// If there are 256 already.
    pub fn image(&mut self, image: [SourceSet; SourceSet::COUNT]) -> Transfer {
        if let Some(i) = self.images.iter().position(|known| *known == image) {
            return Transfer::Image(i as u8);
        }
        let number = u8::try_from(self.images.len()).unwrap_or_else(|_| panic!("too many images"));
        self.images.push(image);
        Transfer::Image(number)
    }

    /// States that a value is an operand of another value that is no phi.
    #[inline]
    pub fn operand(&mut self, value: Value, user: Value) {
        self.uses.push((value, User::value(user)));
    }

    /// States that a value is an operand of a block's terminator.
    #[inline]
    pub fn terminator_operand(&mut self, value: Value, block: Node) {
        self.uses.push((value, User::terminator(block)));
    }

    /// Adds an entry to a phi. The use is registered with it.
    #[inline]
    pub fn incoming(&mut self, phi: Value, incoming: Incoming) {
        self.incoming_of.push(phi);
        self.incoming.push(incoming);
    }

    /// States that a block's terminator goes one way for all threads, whatever its operands.
    pub fn fix_terminator(&mut self, block: Node) {
        if self.fixed_terminators.universe() == 0 {
            self.fixed_terminators = BitSet::new(self.blocks);
        }
        self.fixed_terminators.insert(block.index());
    }

    /// States that a block's terminator depends on sources that are no operand's, as an `invoke` does.
    pub fn seed_terminator(&mut self, block: Node, seed: SourceSet) {
        self.seeded_terminators.push((block, seed));
    }

    /// The finished tables.
    ///
    /// # Panics
    /// If an incoming value was added to something that is no phi, or a used value does not exist.
    #[must_use]
    pub fn finish(mut self) -> ValueTable {
        let phis = self.collect_phis();
        let mut image_of = Vec::new();
        if !self.image_of.is_empty() {
            image_of = vec![0; self.block.len()];
            for (value, image) in self.image_of {
                image_of[value.index()] = image;
            }
        }
        let affects = AffectMap::from_edges(self.block.len(), &self.uses);
        if self.uses.capacity() <= USES_KEPT {
            USES.set(self.uses);
        }
        ValueTable {
            blocks: self.blocks as u32,
            memory: self.memory,
            affects,
            block: self.block,
            seed: self.seed,
            flags: self.flags,
            image_of,
            images: self.images,
            phis,
            fixed_terminators: self.fixed_terminators,
            assumed_terminators: BitSet::default(),
            narrowed: Vec::new(),
            seeded_terminators: self.seeded_terminators,
        }
    }

    /// Sorts phis by block and entries by phi, both stably, and registers the uses.
    fn collect_phis(&mut self) -> PhiTable {
        if self.phis.is_empty() {
            assert!(self.incoming.is_empty(), "an incoming value of something that is no phi");
            return PhiTable::default();
        }
        for (phi, incoming) in self.incoming_of.iter().zip(&self.incoming) {
            if let Some(value) = incoming.value {
                self.uses.push((value, User::value(*phi)));
            }
        }
        let key = |phi: &Value| (self.block[phi.index()], *phi);
        if !self.phis.is_sorted_by_key(key) {
            self.phis.sort_unstable_by_key(key);
        }
        let mut of_block = vec![0; self.blocks + 1];
        for phi in &self.phis {
            of_block[self.block[phi.index()].index() + 1] += 1;
        }
        for i in 0..self.blocks {
            of_block[i + 1] += of_block[i];
        }
        let start = self.starts_in_order().unwrap_or_else(|| self.sort_incoming());
        let incoming = std::mem::take(&mut self.incoming);
        for (i, phi) in self.phis.iter().enumerate() {
            let range = start[i] as usize..start[i + 1] as usize;
            if differ(*phi, incoming[range].iter().map(|entry| entry.key)) {
                self.flags[phi.index()] |= flag::JOINABLE;
            }
        }
        PhiTable { of_block, values: std::mem::take(&mut self.phis), start, incoming }
    }

    /// Where the entries of each phi start, if they are in the order of the phis already.
    fn starts_in_order(&self) -> Option<Vec<u32>> {
        let mut start = Vec::with_capacity(self.phis.len() + 1);
        start.push(0);
        for (i, phi) in self.incoming_of.iter().enumerate() {
            while self.phis.get(start.len() - 1)? != phi {
                start.push(i as u32);
            }
        }
        start.resize(self.phis.len() + 1, self.incoming.len() as u32);
        Some(start)
    }

    /// Puts the entries into the order of the phis; where those of each phi start.
    fn sort_incoming(&mut self) -> Vec<u32> {
        let mut row = vec![u32::MAX; self.block.len()];
        for (i, phi) in self.phis.iter().enumerate() {
            row[phi.index()] = i as u32;
        }
        let mut start = vec![0; self.phis.len() + 1];
        for phi in &self.incoming_of {
            assert!(
                self.flags[phi.index()] & flag::PHI != 0,
                "{phi:?} has an incoming value but is no phi"
            );
            start[row[phi.index()] as usize + 1] += 1;
        }
        for i in 0..self.phis.len() {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let nothing = Incoming { pred: Node::default(), value: None, key: PhiKey::UNDEF };
        let mut sorted = vec![nothing; self.incoming.len()];
        for (phi, incoming) in self.incoming_of.iter().zip(&self.incoming) {
            let at = &mut next[row[phi.index()] as usize];
            sorted[*at as usize] = *incoming;
            *at += 1;
        }
        self.incoming = sorted;
        start
    }
}

/// What the sources of a definition are where it is taken to give one value to more than a wave, and `left` is left of that.
pub(crate) fn narrowed(seed: SourceSet, left: SourceSet) -> SourceSet {
    if seed == SourceSet::OPAQUE_WAVE { left } else { seed }
}

/// What sources of the way that a terminator takes become where it is taken to go one way in each workgroup. Each source becomes what it becomes by
/// itself, and what has become of it stays.
pub(crate) fn one_way_in_group(sources: SourceSet) -> SourceSet {
    let of_group = SourceSet::BLOCK_XYZ | SourceSet::CLUSTER | SourceSet::OPAQUE_GROUP;
    match sources.difference(of_group).is_empty() {
        true => sources,
        // It is one way for the group, but who knows which.
        false => (sources & of_group) | SourceSet::OPAQUE_GROUP,
    }
}

/// Whether a phi with these incoming keys selects anything.
pub(crate) fn differ(phi: Value, keys: impl Iterator<Item = PhiKey>) -> bool {
    let mut keys = keys.filter(|&key| key != PhiKey::UNDEF && key != PhiKey::value(phi));
    keys.next().is_some_and(|first| keys.any(|key| key != first))
}
