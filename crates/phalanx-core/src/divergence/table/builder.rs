//! How a [`ValueTable`] is filled in.
//!
//! A [`ValueTableBuilder`] is told of values, uses and incoming values in any order. At the end
//! phis are put in the order of their blocks, incoming values in that of their phis, and uses in
//! that of what is used.
//!
//! # Cost
//!
//! O(values + uses + incoming values). Room for uses, the largest part, is handed on from one
//! builder to the next of a thread.

use std::cell::Cell;

use crate::SourceSet;
use phalanx_graph::{BitSet, Node};

use super::{
    Definition, Incoming, MemoryValues, PhiKey, PhiTable, Transfer, ValueTable, differ, flag,
    of_parallel_edges,
};
use crate::affect::{AffectMap, User, Value};

/// Collects a [`ValueTable`].
///
/// Create all values first, in any order, then state uses and incoming values: so forward
/// references need no care.
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

    /// This many values, all defined in a block by [`Definition::IMPURE`] until
    /// [`define`](Self::define) says otherwise.
    pub fn with_values(blocks: usize, values: usize, block: Node) -> Self {
        assert!(block.index() < blocks && values < Value::LIMIT as usize);
        let mut table = Self::with_capacity(blocks, values);
        table.block.resize(values, block);
        table.seed.resize(values, SourceSet::EMPTY);
        table.flags.resize(values, 0);
        table
    }

    /// Adds values that stand for versions of memory, after some numbers that are left out. The
    /// first of them.
    pub fn add_memory(&mut self, unused: usize, count: usize, block: Node) -> Value {
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
    pub fn define(&mut self, value: Value, block: Node, definition: Definition) {
        assert!(block.index() < self.blocks, "{block} is not one of {} blocks", self.blocks);
        let i = value.index();
        self.block[i] = block;
        self.seed[i] = definition.seed;
        self.flags[i] = self.flags_of(value, definition);
    }

    /// As [`define`](Self::define), by [`Definition::PURE`]; once per value.
    #[inline]
    pub fn define_pure(&mut self, value: Value, block: Node) {
        assert!(block.index() < self.blocks, "{block} is not one of {} blocks", self.blocks);
        self.block[value.index()] = block;
        self.flags[value.index()] = flag::PURE;
    }

    /// Says that a value is a phi, and where; without incoming values so far.
    #[inline]
    pub fn define_phi(&mut self, value: Value, block: Node, definition: Definition) {
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

    /// States that a block's terminator depends on sources that are no operand's, as an `invoke`
    /// does.
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
            let entries = &incoming[range];
            if differ(*phi, entries.iter().map(|entry| entry.key)) {
                self.flags[phi.index()] |= flag::JOINABLE;
                self.seed[phi.index()] |= of_parallel_edges(entries);
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
