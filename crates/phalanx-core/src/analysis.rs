//! One interface over all of the crate, for a compiler that keeps its own IR.
//!
//! # What
//!
//! An IR implements [`Source`]: it *says* its values and the ends of its blocks into a [`Sink`].
//! [`Analysis`] keeps what was said, and answers. After a change the IR says only what changed
//! ([`Change`]), by the same code.
//!
//! Values come into a block by its edges, as arguments. An IR with phis says a phi as an argument,
//! and what it takes from a predecessor as what the edges of that predecessor bring.
//!
//! ```text
//!   b0:      v0 = thread id              sink.value(v0, b0, source x, [])
//!            branch v0 -> b1(0), b1(1)   sink.end(b0, [v0]), sink.edge(b1, [0]), sink.edge(b1, [1])
//!   b1(v1):  ...                         sink.argument(v1, b1, 0)
//! ```
//!
//! Private variables in memory are [slots](SlotEvent): a load reads the stores that reach it.
//! A [`Region`] is a part of a function that is analysed by itself.
//!
//! A whole compiler of this kind is in `examples/toy.rs`.
//!
//! # Cost
//!
//! [`Analysis::new`] costs a few solutions from scratch. [`Analysis::after`] costs what
//! [`Retained::repair`] does where only values and conditions change. A change of an edge also
//! rebuilds the graph, O(blocks + edges). A function that cannot be updated incrementally
//! ([`Unfit`](crate::divergence::repair::Unfit)) is solved from scratch after each change.

mod region;
mod rules;
mod said;
mod slots;
mod verify;
mod versions;

use std::sync::OnceLock;

use phalanx_graph::sync::SyncDependence;
use phalanx_graph::{Cfg, Cycles, DomTree, DominanceFrontier, Joins, Node, PostDomTree};
use rustc_hash::FxHashSet;

pub use self::region::Region;
use self::region::RegionFrame;
pub use self::rules::Rule;
use self::said::Said;
pub use self::said::Sink;
use self::slots::GraphFacts;
pub use self::slots::{Slot, SlotEvent};
pub use self::verify::{Mistake, verify};
use crate::block_graph::{Block, BlockGraph, NodeOrigin};
use crate::control::control_divergence;
use crate::divergence::repair::{EditableTable, Outcome, Retained};
use crate::divergence::{
    Divergence, FlowFacts, Incoming, PhiKey, Rules, SourceSets, ValueTable, ValueTableBuilder,
    solve,
};
use crate::explain::{Derivations, Fact, Link};
use crate::legality::Legality;
use crate::legality::edges::EdgeDivergence;
use crate::legality::machines::{Machine, Machines, Rounds};
use crate::{LaunchFacts, Scope, SourceSet, User, Value, varying};

/// An IR that says its function.
pub trait Source {
    /// The first block.
    fn entry(&self) -> Block;
    /// More than every block's number.
    fn block_count(&self) -> usize;
    /// More than every value's number. Numbers that name nothing are never said.
    fn value_count(&self) -> usize;
    /// Says the arguments, values and slots of a block, and its end.
    fn say_block(&self, block: Block, to: &mut Sink<'_>);
    /// Says one value.
    fn say_value(&self, value: Value, to: &mut Sink<'_>);
    /// Says the end of one block: what decides, and all edges.
    fn say_end(&self, block: Block, to: &mut Sink<'_>);
    /// Says all that a block does with [slots](SlotEvent), in order. Nothing in an IR without them.
    fn say_slots(&self, block: Block, to: &mut Sink<'_>) {
        let _ = (block, to);
    }
}

/// What an edge brings to an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Brought {
    /// A value.
    Value(Value),
    /// A constant, by any number below `2^31 - 1` that tells constants apart.
    Constant(u32),
    /// Any value whatever.
    Undef,
}

/// What has changed in a function since it was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A value that is no argument is new, or is computed otherwise or elsewhere.
    Value(Value),
    /// A value is no more, and nothing reads it.
    Gone(Value),
    /// The end of a block: what decides, where edges lead, or what they bring.
    End(Block),
    /// What a block does with slots: something was added, is gone, or is another.
    Slots(Block),
    /// All of a block: it is new, has other arguments, or is no more and says nothing.
    Block(Block),
    /// Everything.
    Everything,
}

/// What reads a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reader {
    /// A value, or an argument that an edge brings it to.
    Value(Value),
    /// The end of a block.
    End(Block),
}

/// A graph with what is known of it alone.
#[derive(Debug)]
struct Graphs {
    cfg: Cfg,
    dom: DomTree,
    cycles: Cycles,
    sync: SyncDependence,
    /// Where contents of slots meet.
    frontier: OnceLock<DominanceFrontier>,
}

impl Graphs {
    fn new(cfg: Cfg) -> Self {
        let (dom, cycles) = (DomTree::new(&cfg), Cycles::new(&cfg));
        let sync = SyncDependence::new(&cfg, &dom, &cycles);
        Self { cfg, dom, cycles, sync, frontier: OnceLock::new() }
    }

    fn env<'a>(&'a self, graph: &'a BlockGraph, entry: Block) -> GraphFacts<'a> {
        let frontier = self.frontier.get_or_init(|| DominanceFrontier::new(&self.cfg, &self.dom));
        let entry = graph.node(entry);
        GraphFacts { graph, entry, cfg: &self.cfg, dom: &self.dom, frontier }
    }

    fn flow(&self) -> FlowFacts<'_> {
        FlowFacts { cfg: &self.cfg, dom: &self.dom, cycles: &self.cycles, sync: &self.sync }
    }
}

fn incoming(pred: Node, brought: Brought) -> Incoming {
    match brought {
        Brought::Value(value) => Incoming { pred, value: Some(value), key: PhiKey::value(value) },
        Brought::Constant(number) => Incoming { pred, value: None, key: PhiKey::constant(number) },
        Brought::Undef => Incoming { pred, value: None, key: PhiKey::UNDEF },
    }
}

#[derive(Debug)]
enum Answer {
    /// Follows changes.
    Kept(Box<Retained>),
    /// Solved from scratch each time, from this table.
    Anew(Box<(ValueTable, Divergence)>),
}

/// Answers about a function of any IR. Borrows nothing of it. See the
/// [module documentation](self).
#[derive(Debug)]
pub struct Analysis {
    said: Said,
    graphs: Graphs,
    answer: Answer,
    control: OnceLock<SourceSets>,
    edges: OnceLock<EdgeDivergence>,
}

impl Analysis {
    /// Lets the IR say everything, and solves.
    ///
    /// # Panics
    /// If what is said does not fit together: a block that is none, an edge that brings too little.
    #[must_use]
    pub fn new(source: &dyn Source) -> Self {
        Self::of(source, None)
    }

    /// As [`new`](Self::new), of a [part](Region) of the function: what differs among threads that
    /// arrive at its entry together, until they leave it or come to its entry again. Answers about
    /// blocks outside mean nothing.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    #[must_use]
    pub fn of_region(source: &dyn Source, region: &Region) -> Self {
        Self::of(source, Some(RegionFrame::new(region, source.block_count())))
    }

    fn of(source: &dyn Source, env: Option<RegionFrame>) -> Self {
        let (said, graphs, table) = all(source, env.clone());
        let answer = match Retained::of(graphs.flow(), table) {
            Ok(retained) => Answer::Kept(Box::new(retained)),
            Err(_) => {
                // The table is used up.
                let table = all(source, env).2.to_table();
                let answer = solve(graphs.flow(), &table, Rules::Precise);
                Answer::Anew(Box::new((table, answer)))
            }
        };
        Self { said, graphs, answer, control: OnceLock::new(), edges: OnceLock::new() }
    }

    /// Brings all answers up to date with a function in which only this has changed.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn after(&mut self, source: &dyn Source, changes: &[Change]) -> Outcome {
        let updated = match changes.contains(&Change::Everything) {
            true => None,
            false => self.update(source, changes),
        };
        updated.unwrap_or_else(|| {
            *self = self.anew(source);
            Outcome::Rebuilt
        })
    }

    /// The same from scratch.
    fn anew(&self, source: &dyn Source) -> Self {
        match &self.said.env {
            None => Self::new(source),
            Some(env) => Self::of_region(source, &env.region),
        }
    }

    /// The block that threads come from.
    fn entry(&self, source: &dyn Source) -> Block {
        self.said.env.as_ref().map_or_else(|| source.entry(), |env| env.before)
    }

    /// Whether a region has to be said anew after these changes.
    fn is_other_region(&self, source: &dyn Source, changes: &[Change]) -> bool {
        self.said.env.as_ref().is_some_and(|env| {
            env.before.index() != source.block_count()
                || changes
                    .iter()
                    .any(|change| matches!(change, Change::Slots(_) | Change::Block(_)))
        })
    }

    /// None if everything has to be said anew.
    fn update(&mut self, source: &dyn Source, changes: &[Change]) -> Option<Outcome> {
        if self.is_other_region(source, changes) {
            return None;
        }
        let entry = self.entry(source);
        let Answer::Kept(retained) = &mut self.answer else { return None };
        (self.control, self.edges) = (OnceLock::new(), OnceLock::new());
        let said = &mut self.said;
        if said.env.is_none() {
            said.grow(source.block_count());
        }
        if retained.edited_table().room() < source.value_count() {
            return None;
        }
        let known = retained.edited_table().reported();
        retained.table().grow(source.value_count(), 0);
        let mut sink = said.sink(retained.table());
        for change in changes {
            match *change {
                Change::Value(value) => source.say_value(value, &mut sink),
                Change::Gone(value) => sink.gone(value, entry),
                Change::End(block) => source.say_end(block, &mut sink),
                Change::Block(block) => {
                    sink.block_anew(block);
                    source.say_block(block, &mut sink);
                }
                Change::Slots(block) => {
                    sink.slots_anew(block);
                    source.say_slots(block, &mut sink);
                }
                Change::Everything => return None,
            }
        }
        let behind = sink.settle();
        said.state_unsaid(known..source.value_count(), entry, retained.table());
        if !said.slots.is_empty() && !retained.edited_table().has_memory() {
            return None;
        }
        let touched = said.graph.take_touched();
        if !touched.is_empty() {
            self.graphs = Graphs::new(said.graph.cfg(entry));
        }
        for block in sorted(behind) {
            said.state_arguments(block, &self.graphs.cfg, retained.table());
        }
        settle_slots(said, &self.graphs, entry, retained.table(), !touched.is_empty());
        let flow = self.graphs.flow();
        match touched.is_empty() {
            true => retained.repair(flow).ok(),
            false => retained.repair_flow(flow, Some(&touched)).ok(),
        }
    }

    /// Compares with an analysis from scratch: the first value with other sources, or the first
    /// block with another terminator or other slots. A difference means that the driver did not
    /// report a change, or not all of it. That gives wrong answers without any other sign, so a
    /// compiler should call this in debug builds after each pass. Costs as much as
    /// [`new`](Self::new), and a comparison per value.
    #[must_use]
    pub fn difference(&self, source: &dyn Source) -> Option<Reader> {
        let anew = self.anew(source);
        let known = self.answer().values().len();
        let values = (0..source.value_count()).map(Value::new);
        let mut values = values
            .filter(|&value| value.index() >= known || self.sources(value) != anew.sources(value));
        let is_same = |block| self.said.slots.is_same(&anew.said.slots, block);
        let blocks = (0..source.block_count()).map(Block::new);
        let mut blocks = blocks.filter(|&block| {
            let edges = [&self.said, &anew.said].map(|said| said.edges.get(block.index()));
            edges[0] != edges[1] || !is_same(block) || self.branch(block) != anew.branch(block)
        });
        values.next().map(Reader::Value).or_else(|| blocks.next().map(Reader::End))
    }

    /// Whether changes are followed. Otherwise each is solved from scratch.
    #[must_use]
    pub fn follows(&self) -> bool {
        matches!(self.answer, Answer::Kept(_))
    }

    /// All that is known, by the numbers of [`graph`](Self::graph).
    #[must_use]
    pub fn answer(&self) -> &Divergence {
        match &self.answer {
            Answer::Kept(retained) => retained.answer(),
            Answer::Anew(anew) => &anew.1,
        }
    }

    /// Which node a block has, and what a node stands for.
    #[must_use]
    pub fn graph(&self) -> &BlockGraph {
        &self.said.graph
    }

    /// The slot that a fact of [`explain`](Self::explain) is about, and the node where its contents
    /// meet or are updated; nothing if the value is one of the IR.
    #[must_use]
    pub fn slot_of(&self, value: Value) -> Option<(Slot, Node)> {
        self.said.slots.owner(value)
    }

    /// What a value depends on where it is computed. A number that the IR has not said, or has said
    /// to be [gone](Change::Gone), has [`OPAQUE_THREAD`](SourceSet::OPAQUE_THREAD); outside of a
    /// region, what everything [outside](Region::outside) has.
    #[must_use]
    pub fn sources(&self, value: Value) -> SourceSet {
        self.answer().value(value)
    }

    /// What a value depends on where it is read: also on when threads left the cycles around it. A
    /// reader that does not read the value stands for a place: what another one would see there.
    #[must_use]
    pub fn at_use(&self, value: Value, reader: Reader) -> SourceSet {
        let user = match reader {
            Reader::Value(user) => User::value(user),
            Reader::End(block) => User::terminator(self.said.graph.node(block)),
        };
        let reads = match &self.answer {
            Answer::Kept(retained) => retained.edited_table().reads(user, value),
            Answer::Anew(anew) => anew.0.affects().users(value).contains(&user),
        };
        match reads {
            true => self.answer().at_use(value, user),
            false => self.sources(value) | self.left_between(value, reader),
        }
    }

    /// What decides in which round threads leave the cycles that a value is computed in and a
    /// reader is not. O(cycles that threads leave in different rounds).
    fn left_between(&self, value: Value, reader: Reader) -> SourceSet {
        let block = |value: Value| match &self.answer {
            Answer::Kept(retained) => retained.edited_table().block(value),
            Answer::Anew(anew) => anew.0.block(value),
        };
        let home = block(value);
        let at = match reader {
            Reader::Value(user) => block(user),
            Reader::End(block) => self.said.graph.node(block),
        };
        let (cycles, answer) = (&self.graphs.cycles, self.answer());
        let left = answer.cycles_with_divergent_exit().iter();
        let left = left.filter(|(cycle, _)| !cycles.contains(*cycle, at));
        let assumed = answer.assumed_divergent_cycles().iter();
        let of_home = left.chain(assumed).filter(|(cycle, _)| cycles.contains(*cycle, home));
        of_home.fold(SourceSet::EMPTY, |all, (_, sources)| all | *sources)
    }

    /// What decides on the edge by which threads leave a block; nothing if there is no choice.
    #[must_use]
    pub fn branch(&self, block: Block) -> SourceSet {
        let node = self.said.graph.node(block);
        match self.graphs.cfg.is_branch(node) {
            true => self.answer().terminator(node),
            false => SourceSet::EMPTY,
        }
    }

    /// What decides whether a thread executes a block. The first question after a change costs
    /// O(blocks + edges), as for [`joins`](Self::joins) a solution.
    #[must_use]
    pub fn control(&self, block: Block) -> SourceSet {
        let cfg = &self.graphs.cfg;
        let make = || control_divergence(cfg, &PostDomTree::new(cfg), self.answer().terminators());
        self.control.get_or_init(make)[self.said.graph.node(block).index()]
    }

    /// What threads differ in that execute a block together, and came by different edges.
    #[must_use]
    pub fn joins(&self, block: Block) -> SourceSet {
        self.edge_divergence().into_block(self.said.graph.node(block))
    }

    /// Which motions of convergent operations keep the groups of threads that execute them, in
    /// launches of which this is known: for votes and shuffles of [`Scope::Wave`], for barriers of
    /// the scope that they are for. It is asked about nodes of [`graph`](Self::graph), and valid
    /// until the next change. `is_unreachable` says which blocks without successors no thread
    /// completes; machines that reconverge at post-dominators do not wait for threads there. The
    /// first question after a change costs a solution.
    #[must_use]
    pub fn legality(
        &self,
        scope: Scope,
        launch: &LaunchFacts,
        is_unreachable: &dyn Fn(Block) -> bool,
    ) -> Legality<'_> {
        let flow = self.graphs.flow();
        let in_a_wave = varying(Scope::Wave, launch);
        let joins = || {
            let is_unreachable = |node| match self.said.graph.place(node) {
                NodeOrigin::Block(block) => is_unreachable(block),
                NodeOrigin::Edge(..) | NodeOrigin::Nothing => false,
            };
            Joins::new(flow.cfg, &is_unreachable)
        };
        let is_divergent = |node| self.answer().terminator(node).intersects(in_a_wave);
        let rounds = match flow.cycles.is_empty() {
            true => Rounds::Apart,
            false => Machine { joins: &joins(), cycles: flow.cycles, is_divergent: &is_divergent }
                .rounds(),
        };
        Legality {
            flow,
            divergence: self.answer(),
            edges: self.edge_divergence(),
            varying: varying(scope, launch),
            rounds,
            machines: Machines::All,
        }
    }

    fn edge_divergence(&self) -> &EdgeDivergence {
        let make = || EdgeDivergence::new(self.graphs.flow(), self.answer().terminators());
        self.edges.get_or_init(make)
    }

    /// The shortest chain of causes from a fact to one of some sources, also after changes. Facts
    /// and links name nodes of [`graph`](Self::graph), and contents of [slots](Self::slot_of).
    /// Costs a solution from scratch.
    #[must_use]
    pub fn explain(&self, fact: Fact, sources: SourceSet) -> Vec<Link> {
        let flow = self.graphs.flow();
        let postdom = PostDomTree::new(flow.cfg);
        let of = |table: &ValueTable| {
            let derivations = Derivations::new(flow, table, self.answer());
            derivations.of(flow, table, Some(&postdom), fact, sources)
        };
        match &self.answer {
            Answer::Kept(retained) => of(&retained.edited_table().to_table()),
            Answer::Anew(anew) => of(&anew.0),
        }
    }
}

/// What an IR says of everything, or of a part.
fn all(source: &dyn Source, env: Option<RegionFrame>) -> (Said, Graphs, EditableTable) {
    let (own, values) = (source.block_count(), source.value_count());
    let blocks = env.as_ref().map_or(own, |env| env.behind.index() + 1);
    let first = env.as_ref().map_or_else(|| source.entry(), |env| env.before);
    let mut said = Said::new(blocks);
    let is_said = |block: &Block| {
        let env = env.as_ref();
        env.is_none_or(|env| env.is_outside_said() || env.region.contains(*block))
    };
    let all: Vec<Block> = (0..own).map(Block::new).filter(is_said).collect();
    said.env = env;
    let entry = said.graph.node(first);
    let empty = ValueTableBuilder::with_values(blocks, values, entry).finish();
    let mut table = EditableTable::new(empty);
    let mut sink = said.sink(&mut table);
    sink.say_given();
    for block in all {
        sink.slots_anew(block);
        source.say_block(block, &mut sink);
    }
    sink.say_before();
    let behind = sink.settle();
    said.graph.take_touched();
    let graphs = Graphs::new(said.graph.cfg(first));
    table.grow(values, graphs.cfg.node_count());
    for block in sorted(behind) {
        said.state_arguments(block, &graphs.cfg, &mut table);
    }
    said.state_unsaid(0..values, first, &mut table);
    if !said.slots.is_empty() {
        // Room for a quarter more values; when it is used up, the table is rebuilt.
        table.leave_room(values + values / 4 + 64);
    }
    settle_slots(&mut said, &graphs, first, &mut table, true);
    (said, graphs, table)
}

/// States what loads read of slots.
fn settle_slots(
    said: &mut Said,
    graphs: &Graphs,
    entry: Block,
    table: &mut EditableTable,
    all: bool,
) {
    let Said { slots, graph, .. } = said;
    if !slots.is_empty() {
        slots.settle(&graphs.env(graph, entry), table, all);
    }
}

/// Blocks in the order of their numbers, so that tables are the same in every run.
fn sorted(blocks: FxHashSet<Block>) -> Vec<Block> {
    let mut blocks: Vec<Block> = blocks.into_iter().collect();
    blocks.sort_unstable();
    blocks
}
