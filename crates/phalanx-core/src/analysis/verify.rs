//! Checks what an IR says of its function.
//!
//! # What
//!
//! [`Analysis`](super::Analysis) takes what a [`Source`] says as it is: an edge belongs to the block
//! whose end was said last, a value that was never said may be anything. So an adapter with a
//! mistake gets wrong or imprecise answers without any sign.
//! [`verify`] lets the IR say all of its function, and lists what cannot be right ([`Mistake`]):
//!
//! ```text
//!   b0:  sink.value(v0, b0, ..)             v0 is computed here
//!        sink.end(b0, .., [v1])             Mistake::NotSaid: v1 is said nowhere
//!        sink.edge(b1, [])                  Mistake::MissingArgument: b1 has one
//!   b1:  sink.argument(v2, b1, 0)
//!                                           Mistake::NoEnd: the end of b1 is not said
//! ```
//!
//! It cannot know whether a definition or its sources are those of the operation, nor the order of
//! values within a block.
//!
//! # Cost
//!
//! O(what is said), and a dominator tree. Meant for debug builds and for tests of an adapter.

use std::collections::hash_map::Entry;
use std::fmt;

use phalanx_graph::{Cfg, DomTree};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Brought, Reader, Slot, SlotEvent, Source};
use crate::Value;
use crate::block_graph::Block;

/// Something that an IR says and that cannot be right. Displayed as a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mistake {
    /// The number of a block is not below [`Source::block_count`].
    BlockNumber(Block),
    /// The number of a value is not below [`Source::value_count`].
    ValueNumber(Value),
    /// While a block says itself, it says the end or the slots of another one, or an edge before
    /// its end: the block that is saying itself.
    OtherBlock(Block),
    /// The end of a block that can be reached is never said.
    NoEnd(Block),
    /// A block says its end, and no path leads to it from the entry. Its edges count, so that
    /// answers about what is behind it are less precise than they could be.
    NotReached(Block),
    /// The end of a block is said twice.
    TwoEnds(Block),
    /// A value is said twice, in these blocks.
    SaidTwice(Value, Block, Block),
    /// Two values are said as the argument of a block with this position.
    SamePosition(Block, usize),
    /// A value is read, and never said.
    NotSaid(Value, Reader),
    /// A value is read where it may not have been computed: its block, the block of the reader.
    NotDominated(Value, Reader, [Block; 2]),
    /// An edge from the first block to the second brings nothing to the argument with this
    /// position.
    MissingArgument(Block, Block, usize),
    /// An edge from the first block to the second brings something to this position, and the second
    /// block says no argument there. Perhaps it says the argument by [`Sink::value`], so that what
    /// edges bring does not count.
    ///
    /// [`Sink::value`]: super::Sink::value
    NoArgument(Block, Block, usize),
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reader = |reader: Reader| match reader {
            Reader::Value(value) => format!("{value:?}"),
            Reader::End(block) => format!("the end of {block:?}"),
        };
        match *self {
            Self::BlockNumber(block) => write!(f, "{block:?} is not below the count of blocks"),
            Self::ValueNumber(value) => write!(f, "{value:?} is not below the count of values"),
            Self::OtherBlock(block) => write!(
                f,
                "{block:?} says the end or slots of another block, or an edge before its own end"
            ),
            Self::NoEnd(block) => write!(f, "the end of {block:?} is not said"),
            Self::NotReached(block) => {
                write!(f, "{block:?} is said, and no path leads to it from the entry")
            }
            Self::TwoEnds(block) => write!(f, "the end of {block:?} is said twice"),
            Self::SaidTwice(value, first, second) => {
                write!(f, "{value:?} is said twice, in {first:?} and in {second:?}")
            }
            Self::SamePosition(block, position) => {
                write!(f, "argument {position} of {block:?} is said twice")
            }
            Self::NotSaid(value, by) => {
                write!(f, "{value:?}, which {} reads, is not said", reader(by))
            }
            Self::NotDominated(value, by, [from, to]) => write!(
                f,
                "{value:?} of {from:?} does not dominate {} in {to:?}, which reads it",
                reader(by)
            ),
            Self::MissingArgument(from, to, position) => {
                write!(f, "an edge of {from:?} brings nothing to argument {position} of {to:?}")
            }
            Self::NoArgument(from, to, position) => write!(
                f,
                "an edge of {from:?} brings something to argument {position} of {to:?}, which is \
                 not said"
            ),
        }
    }
}

/// Lets an IR say its function, and lists what cannot be right in it, in order. See the
/// [module documentation](self).
///
/// # Errors
/// The mistakes, at least one.
pub fn verify(source: &dyn Source) -> Result<(), Vec<Mistake>> {
    let mut record = Record { values: source.value_count(), ..Record::default() };
    record.blocks.resize_with(source.block_count(), BlockRecord::default);
    for block in (0..source.block_count()).map(Block::new) {
        record = super::said::recorded(record, block, source);
    }
    let mut mistakes = record.finish(source.entry());
    mistakes.sort_unstable();
    mistakes.dedup();
    if mistakes.is_empty() { Ok(()) } else { Err(mistakes) }
}

/// What was said of a block.
#[derive(Debug, Default)]
struct BlockRecord {
    arguments: Vec<Option<Value>>,
    has_end: bool,
    edges: Vec<(Block, Vec<Brought>)>,
}

/// What was said so far.
#[derive(Debug, Default)]
pub(super) struct Record {
    values: usize,
    blocks: Vec<BlockRecord>,
    /// The block that is saying itself.
    at: Option<Block>,
    homes: FxHashMap<Value, Block>,
    reads: Vec<(Value, Reader, Block)>,
    mistakes: Vec<Mistake>,
}

impl Record {
    /// This block says itself from now on.
    pub(super) fn begin(&mut self, block: Block) {
        self.at = Some(block);
    }

    pub(super) fn value(&mut self, value: Value, at: Block, reads: &[Value]) {
        self.define(value, at);
        self.read(reads, Reader::Value(value), at);
    }

    pub(super) fn argument(&mut self, value: Value, at: Block, position: usize) {
        self.define(value, at);
        let Some(block) = self.blocks.get_mut(at.index()) else { return };
        if block.arguments.len() <= position {
            block.arguments.resize(position + 1, None);
        }
        if block.arguments[position].replace(value).is_some() {
            self.mistakes.push(Mistake::SamePosition(at, position));
        }
    }

    pub(super) fn end(&mut self, at: Block, reads: &[Value]) {
        self.is_own(at);
        self.read(reads, Reader::End(at), at);
        match self.blocks.get_mut(at.index()) {
            Some(block) if block.has_end => self.mistakes.push(Mistake::TwoEnds(at)),
            Some(block) => block.has_end = true,
            None => self.mistakes.push(Mistake::BlockNumber(at)),
        }
    }

    pub(super) fn edge(&mut self, to: Block, brings: &[Brought]) {
        if to.index() >= self.blocks.len() {
            return self.mistakes.push(Mistake::BlockNumber(to));
        }
        let Some(at) = self.at else { return };
        match &mut self.blocks[at.index()] {
            block if block.has_end => block.edges.push((to, brings.to_vec())),
            _ => self.mistakes.push(Mistake::OtherBlock(at)),
        }
    }

    pub(super) fn slot(&mut self, at: Block, _: Slot, event: &SlotEvent) {
        self.is_own(at);
        // What a slot does is no reader; the end of its block stands for it.
        match event {
            SlotEvent::Store(Brought::Value(value)) => self.read(&[*value], Reader::End(at), at),
            SlotEvent::Update(_, values) => self.read(values, Reader::End(at), at),
            SlotEvent::Load(_) | SlotEvent::Kill | SlotEvent::Store(_) => {}
        }
    }

    fn is_own(&mut self, at: Block) {
        if let Some(own) = self.at.filter(|own| *own != at) {
            self.mistakes.push(Mistake::OtherBlock(own));
        }
    }

    fn define(&mut self, value: Value, at: Block) {
        if value.index() >= self.values {
            self.mistakes.push(Mistake::ValueNumber(value));
        }
        if at.index() >= self.blocks.len() {
            self.mistakes.push(Mistake::BlockNumber(at));
        }
        match self.homes.entry(value) {
            Entry::Occupied(first) => {
                self.mistakes.push(Mistake::SaidTwice(value, *first.get(), at));
            }
            Entry::Vacant(none) => {
                none.insert(at);
            }
        }
    }

    fn read(&mut self, values: &[Value], by: Reader, at: Block) {
        self.reads.extend(values.iter().map(|value| (*value, by, at)));
    }

    fn finish(mut self, entry: Block) -> Vec<Mistake> {
        let count = self.blocks.len();
        if entry.index() >= count {
            self.mistakes.push(Mistake::BlockNumber(entry));
            return self.mistakes;
        }
        let node = |block: Block| phalanx_graph::Node::new(block.index());
        let edges = |block: &BlockRecord| {
            let targets: FxHashSet<Block> = block.edges.iter().map(|(to, _)| *to).collect();
            let mut targets: Vec<Block> = targets.into_iter().collect();
            targets.sort_unstable();
            targets.into_iter().map(node).collect::<Vec<_>>()
        };
        let cfg = Cfg::new(node(entry), self.blocks.iter().map(edges));
        let dom = DomTree::new(&cfg);
        for (from, block) in self.blocks.iter().enumerate() {
            let at = Block::new(from);
            match dom.is_reachable(node(at)) {
                true if !block.has_end => self.mistakes.push(Mistake::NoEnd(at)),
                false if block.has_end => self.mistakes.push(Mistake::NotReached(at)),
                _ => {}
            }
            for (to, brings) in &block.edges {
                let arguments = &self.blocks[to.index()].arguments;
                for (position, argument) in arguments.iter().enumerate() {
                    let Some(argument) = argument else { continue };
                    match brings.get(position) {
                        Some(Brought::Value(value)) => {
                            self.reads.push((*value, Reader::Value(*argument), at));
                        }
                        Some(Brought::Constant(_) | Brought::Undef) => {}
                        None => self.mistakes.push(Mistake::MissingArgument(at, *to, position)),
                    }
                }
                for position in 0..brings.len() {
                    if arguments.get(position).is_none_or(Option::is_none) {
                        self.mistakes.push(Mistake::NoArgument(at, *to, position));
                    }
                }
            }
        }
        for &(value, by, at) in &self.reads {
            let Some(&home) = self.homes.get(&value) else {
                self.mistakes.push(Mistake::NotSaid(value, by));
                continue;
            };
            let is_known = home.index() < count && at.index() < count;
            if is_known && dom.is_reachable(node(at)) && !dom.dominates(node(home), node(at)) {
                self.mistakes.push(Mistake::NotDominated(value, by, [home, at]));
            }
        }
        self.mistakes
    }
}
