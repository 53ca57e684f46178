//! What an IR has said of a function, and the sink into which it says it.
//!
//! Values go into the table at once. Edges and slots wait until everything is said: what an
//! argument takes depends on the nodes that stand on edges, and what a load reads on all stores.

use std::collections::BTreeSet;
use std::ops::Range;

use phalanx_graph::{BitSet, Cfg};
use rustc_hash::{FxHashMap, FxHashSet};

use super::region::RegionFrame;
use super::rules::Rule;
use super::slots::{Slot, SlotEvent, Slots};
use super::verify::Record;
use super::{Brought, Source, incoming};
use crate::block_graph::{Block, BlockGraph, Edge, NodeOrigin};
use crate::divergence::repair::{EditableTable, Image};
use crate::divergence::{Definition, Incoming, ValueTableBuilder};
use crate::{SourceSet, Value};

/// An edge, and what it brings.
pub(super) type SaidEdge = (Block, Vec<Brought>);

/// What was said of blocks.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) graph: BlockGraph,
    /// By block: its arguments by position.
    arguments: Vec<Vec<Option<Value>>>,
    /// By block.
    pub(super) edges: Vec<Vec<SaidEdge>>,
    /// Values that were said and are not gone.
    values: BitSet,
    /// Where an argument stands.
    place: FxHashMap<Value, (Block, usize)>,
    pub(super) slots: Slots,
    /// What is around the blocks that are analysed, if these are not all.
    pub(super) env: Option<RegionFrame>,
}

/// Where an IR says its function. See the [module documentation](super).
#[derive(Debug)]
pub struct Sink<'a> {
    said: &'a mut Said,
    table: &'a mut EditableTable,
    /// The block whose end is being said.
    at: Option<Block>,
    /// That block is none of those that are analysed.
    is_outside: bool,
    /// Blocks whose ends were said, with the edges that they had.
    ended: Vec<(Block, Vec<SaidEdge>)>,
    /// The same blocks.
    have_ended: FxHashSet<Block>,
    /// Blocks with arguments that take something else.
    behind: FxHashSet<Block>,
    /// Blocks whose slots are said, with what they do.
    slots: Vec<(Block, Vec<(Slot, SlotEvent)>)>,
    /// Where these blocks stand there.
    slots_at: FxHashMap<Block, usize>,
    /// Instead of all this, what is said is recorded, to be [verified](super::verify).
    record: Option<Record>,
}

impl Sink<'_> {
    /// A value that is computed in a block. `image` says what becomes of each source of what it
    /// reads, where that is not [`Transfer`](crate::divergence::Transfer) alone.
    pub fn value(
        &mut self,
        value: Value,
        at: Block,
        definition: Definition,
        image: Option<&Image>,
        reads: &[Value],
    ) {
        if let Some(record) = &mut self.record {
            return record.value(value, at, reads);
        }
        self.forget_argument(value);
        self.said.has_said(value);
        let (at, given) = match &self.said.env {
            Some(env) => env.place(value, at),
            None => (at, None),
        };
        if let Some(sources) = given {
            return self.given(value, at, sources);
        }
        let loads = self.said.slots.reads(value, reads);
        let reads = loads.as_deref().unwrap_or(reads);
        self.table.set_value(value, self.said.graph.node(at), definition, image, reads);
    }

    /// A value of which no definition counts.
    fn given(&mut self, value: Value, at: Block, sources: SourceSet) {
        self.said.slots.forget_load(value);
        let node = self.said.graph.node(at);
        self.table.set_value(value, node, Definition::source(sources), None, &[]);
    }

    /// A value that is computed in a block by an operation with this rule.
    ///
    /// # Panics
    /// If the rule names an operand that is not read.
    pub fn operation(&mut self, value: Value, at: Block, rule: Rule, reads: &[Value]) {
        let parts = rule.parts(reads);
        if let Some(record) = &mut self.record {
            return record.value(value, at, reads);
        }
        self.value(value, at, parts.definition, parts.image.as_ref(), parts.reads);
    }

    /// A value that comes into a block by its edges, as the argument of this position.
    pub fn argument(&mut self, value: Value, at: Block, position: usize) {
        if let Some(record) = &mut self.record {
            return record.argument(value, at, position);
        }
        self.forget_argument(value);
        self.said.has_said(value);
        self.said.slots.forget_load(value);
        let placed = self.said.env.as_ref().map(|env| env.place_argument(value, at));
        if let Some((at, Some(sources))) = placed {
            return self.given(value, at, sources);
        }
        let arguments = &mut self.said.arguments[at.index()];
        if arguments.len() <= position {
            arguments.resize(position + 1, None);
        }
        if let Some(other) = arguments[position].replace(value) {
            self.said.values.remove(other.index());
        }
        self.said.place.insert(value, (at, position));
        self.behind.insert(at);
    }

    /// The end of a block: what it reads to decide on an edge, and sources that decide besides.
    /// Its edges follow.
    pub fn end(&mut self, at: Block, sources: SourceSet, reads: &[Value]) {
        if let Some(record) = &mut self.record {
            return record.end(at, reads);
        }
        self.is_outside = self.said.is_outside(at);
        if self.is_outside {
            return;
        }
        self.table.set_terminator(self.said.graph.node(at), false, sources, reads);
        let old = std::mem::take(&mut self.said.edges[at.index()]);
        if self.have_ended.insert(at) {
            self.ended.push((at, old));
        }
        self.at = Some(at);
    }

    /// The next edge of the block whose end was said last, and what it brings to the arguments of
    /// the block that it leads to.
    ///
    /// # Panics
    /// If no end was said before.
    pub fn edge(&mut self, to: Block, brings: &[Brought]) {
        if let Some(record) = &mut self.record {
            return record.edge(to, brings);
        }
        if self.is_outside {
            return;
        }
        let to = self.said.env.as_ref().map_or(to, |env| env.target(to));
        let at = self.at.expect("an edge is said after the end of its block");
        self.said.edges[at.index()].push((to, brings.to_vec()));
    }

    /// What a block does next with a slot. Said together with everything that the block does with
    /// slots, in order, in [`Source::say_slots`](super::Source::say_slots).
    ///
    /// # Panics
    /// If the slots of this block are not being said.
    pub fn slot(&mut self, at: Block, slot: Slot, event: SlotEvent) {
        if let Some(record) = &mut self.record {
            return record.slot(at, slot, &event);
        }
        if self.said.is_outside(at) {
            return;
        }
        let place = self.slots_at.get(&at);
        let place = place.unwrap_or_else(|| panic!("the slots of {at:?} are not being said"));
        self.slots[*place].1.push((slot, event));
    }

    /// The block says what it does with slots from now on.
    pub(super) fn slots_anew(&mut self, block: Block) {
        let next = self.slots.len();
        let place = *self.slots_at.entry(block).or_insert(next);
        match self.slots.get_mut(place) {
            Some((_, events)) => events.clear(),
            None => self.slots.push((block, Vec::new())),
        }
    }

    /// Says the values that are given, as if they came from outside, before anything inside is
    /// said.
    pub(super) fn say_given(&mut self) {
        let Some(env) = &self.said.env else { return };
        let before = env.before;
        for (value, sources) in env.given() {
            self.said.has_said(value);
            self.given(value, before, sources);
        }
    }

    /// Says the block that stands for all that is outside, once everything inside is said: it leads
    /// to the entry, and slots hold something that comes from there.
    pub(super) fn say_before(&mut self) {
        let Some(env) = &self.said.env else { return };
        let (before, entry, outside) = (env.before, env.entry(), env.outside());
        let events = self.slots.iter().flat_map(|(_, events)| events);
        let used: BTreeSet<Slot> = events.map(|(slot, _)| *slot).collect();
        self.slots_anew(before);
        for slot in used {
            self.slot(before, slot, SlotEvent::Update(outside, Vec::new()));
        }
        self.end(before, SourceSet::EMPTY, &[]);
        self.said.edges[before.index()].push((entry, Vec::new()));
    }

    fn forget_argument(&mut self, value: Value) {
        if let Some((block, position)) = self.said.place.remove(&value) {
            let argument = &mut self.said.arguments[block.index()][position];
            *argument = argument.filter(|known| *known != value);
        }
    }

    pub(super) fn gone(&mut self, value: Value, entry: Block) {
        self.value(value, entry, Definition::source(self.said.of_unsaid()), None, &[]);
        self.said.values.remove(value.index());
    }

    /// Forgets what a block had, before it says what it has.
    pub(super) fn block_anew(&mut self, block: Block) {
        for value in std::mem::take(&mut self.said.arguments[block.index()]).into_iter().flatten() {
            self.said.place.remove(&value);
        }
        self.end(block, SourceSet::EMPTY, &[]);
        self.slots_anew(block);
    }

    /// Takes in what was said, and brings the graph up to date with the edges. Blocks whose
    /// arguments have to be stated.
    pub(super) fn settle(self) -> FxHashSet<Block> {
        let Self { said, mut behind, ended, slots, .. } = self;
        for (block, events) in slots {
            said.slots.set_events(block, events);
        }
        for (block, old) in ended {
            let now = &said.edges[block.index()];
            let mut first: FxHashMap<&SaidEdge, u32> = FxHashMap::default();
            let edges: Vec<Edge> = now
                .iter()
                .zip(0u32..)
                .map(|(edge, at)| Edge { to: edge.0, brings: *first.entry(edge).or_insert(at) })
                .collect();
            if said.graph.set_edges(block, &edges) || *now != old {
                behind.extend(old.iter().chain(now).map(|(to, _)| *to));
            }
        }
        behind
    }
}

/// Lets a block say itself into a record.
pub(super) fn recorded(mut record: Record, block: Block, source: &dyn Source) -> Record {
    let entry = phalanx_graph::Node::new(0);
    let mut table = EditableTable::new(ValueTableBuilder::with_values(1, 0, entry).finish());
    let mut said = Said::new(1);
    let mut sink = said.sink(&mut table);
    record.begin(block);
    sink.record = Some(record);
    source.say_block(block, &mut sink);
    sink.record.unwrap_or_default()
}

impl Said {
    fn has_said(&mut self, value: Value) {
        self.values.raise(value.index() + 1);
        self.values.insert(value.index());
    }

    /// What a value differs by that the IR does not say: nothing is known of it.
    fn of_unsaid(&self) -> SourceSet {
        self.env.as_ref().map_or(SourceSet::OPAQUE_THREAD, RegionFrame::outside)
    }

    /// States the values of some numbers that were not said.
    pub(super) fn state_unsaid(
        &self,
        numbers: Range<usize>,
        entry: Block,
        table: &mut EditableTable,
    ) {
        let (node, unknown) = (self.graph.node(entry), Definition::source(self.of_unsaid()));
        for value in numbers.filter(|&number| !self.values.contains(number)).map(Value::new) {
            table.set_value(value, node, unknown, None, &[]);
        }
    }

    pub(super) fn new(blocks: usize) -> Self {
        Self {
            graph: BlockGraph::new(blocks),
            arguments: vec![Vec::new(); blocks],
            values: BitSet::new(0),
            edges: vec![Vec::new(); blocks],
            place: FxHashMap::default(),
            slots: Slots::default(),
            env: None,
        }
    }

    /// Whether a block is none of those that are analysed.
    fn is_outside(&self, block: Block) -> bool {
        self.env.as_ref().is_some_and(|env| {
            block != env.before && block != env.behind && !env.region.contains(block)
        })
    }

    pub(super) fn grow(&mut self, blocks: usize) {
        while self.graph.block_count() < blocks {
            self.graph.add_block();
        }
        self.arguments.resize(blocks.max(self.arguments.len()), Vec::new());
        self.edges.resize(blocks.max(self.edges.len()), Vec::new());
    }

    pub(super) fn sink<'a>(&'a mut self, table: &'a mut EditableTable) -> Sink<'a> {
        Sink {
            said: self,
            table,
            at: None,
            is_outside: false,
            ended: Vec::new(),
            have_ended: FxHashSet::default(),
            behind: FxHashSet::default(),
            slots: Vec::new(),
            slots_at: FxHashMap::default(),
            record: None,
        }
    }

    /// States what the arguments of a block take, by the edges of the graph.
    pub(super) fn state_arguments(&self, block: Block, cfg: &Cfg, table: &mut EditableTable) {
        let node = self.graph.node(block);
        let from = cfg.predecessors(node).iter().filter_map(|pred| match self.graph.place(*pred) {
            NodeOrigin::Block(from) | NodeOrigin::Edge(from, _) => Some(from),
            NodeOrigin::Nothing => None,
        });
        let mut from: Vec<Block> = from.collect();
        from.sort_unstable();
        from.dedup();
        for (position, argument) in self.arguments[block.index()].iter().enumerate() {
            let Some(argument) = *argument else { continue };
            let of = |from: Block| {
                let edges = self.edges[from.index()].iter().enumerate();
                edges.filter(|(_, (to, _))| *to == block).map(move |(at, (_, brings))| {
                    let brought = brings.get(position).unwrap_or_else(|| {
                        panic!(
                            "an edge of {from:?} brings nothing to argument {position} of {block:?}"
                        )
                    });
                    incoming(self.graph.source(from, at), *brought)
                })
            };
            let entries: Vec<Incoming> = from.iter().copied().flat_map(of).collect();
            table.set_phi(argument, node, Definition::PURE, &entries);
        }
    }
}
