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
//! A whole compiler of this kind is in `examples/toy.rs`.
//!
//! # Cost
//!
//! [`Analysis::new`] costs a few solutions from scratch. [`Analysis::after`] costs what
//! [`Retained::repair`] does where only values and conditions change. A change of an edge also
//! builds the graph anew, O(blocks + edges). A function that cannot be followed
//! ([`Unfit`](crate::divergence::repair::Unfit)) is solved from scratch after each change.

use std::sync::OnceLock;

use phalanx_graph::sync::SyncDependence;
use phalanx_graph::{Cfg, Cycles, DomTree, Node, PostDomTree};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::block_graph::{Block, BlockGraph, Edge, Place};
use crate::control::control_divergence;
use crate::divergence::repair::{EditableTable, Image, Outcome, Retained};
use crate::divergence::{
    Definition, Divergence, Flow, Incoming, PhiKey, Rules, SourceSets, ValueTable,
    ValueTableBuilder, solve,
};
use crate::explain::{Derivations, Fact, Link};
use crate::legality::edges::EdgeDivergence;
use crate::{SourceSet, User, Value};

/// An IR that says its function.
pub trait Source {
    /// The first block.
    fn entry(&self) -> Block;
    /// More than every block's number.
    fn block_count(&self) -> usize;
    /// More than every value's number. Numbers that name nothing are never said.
    fn value_count(&self) -> usize;
    /// Says the arguments and values of a block, and its end.
    fn say_block(&self, block: Block, to: &mut Sink<'_>);
    /// Says one value.
    fn say_value(&self, value: Value, to: &mut Sink<'_>);
    /// Says the end of one block: what decides, and all edges.
    fn say_end(&self, block: Block, to: &mut Sink<'_>);
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

/// An edge, and what it brings.
type SaidEdge = (Block, Vec<Brought>);

/// What was said of blocks.
#[derive(Debug)]
struct Said {
    graph: BlockGraph,
    /// By block: its arguments by position.
    arguments: Vec<Vec<Option<Value>>>,
    /// By block.
    edges: Vec<Vec<SaidEdge>>,
    /// Where an argument stands.
    place: FxHashMap<Value, (Block, usize)>,
}

/// Where an IR says its function. See the [module documentation](self).
#[derive(Debug)]
pub struct Sink<'a> {
    said: &'a mut Said,
    table: &'a mut EditableTable,
    /// The block whose end is being said.
    at: Option<Block>,
    /// Blocks whose ends were said, with the edges that they had.
    ended: Vec<(Block, Vec<SaidEdge>)>,
    /// Blocks with arguments that take something else.
    behind: FxHashSet<Block>,
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
        self.forget_argument(value);
        self.table.set_value(value, self.said.graph.node(at), definition, image, reads);
    }

    /// A value that comes into a block by its edges, as the argument of this position.
    pub fn argument(&mut self, value: Value, at: Block, position: usize) {
        self.forget_argument(value);
        let arguments = &mut self.said.arguments[at.index()];
        if arguments.len() <= position {
            arguments.resize(position + 1, None);
        }
        arguments[position] = Some(value);
        self.said.place.insert(value, (at, position));
        self.behind.insert(at);
    }

    /// The end of a block: what it reads to decide on an edge, and sources that decide besides.
    /// Its edges follow.
    pub fn end(&mut self, at: Block, sources: SourceSet, reads: &[Value]) {
        self.table.set_terminator(self.said.graph.node(at), false, sources, reads);
        let old = std::mem::take(&mut self.said.edges[at.index()]);
        if self.ended.iter().all(|(block, _)| *block != at) {
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
        let at = self.at.expect("an edge is said after the end of its block");
        self.said.edges[at.index()].push((to, brings.to_vec()));
    }

    fn forget_argument(&mut self, value: Value) {
        if let Some((block, position)) = self.said.place.remove(&value) {
            let argument = &mut self.said.arguments[block.index()][position];
            *argument = argument.filter(|known| *known != value);
        }
    }

    fn gone(&mut self, value: Value, entry: Block) {
        self.value(value, entry, Definition::IMPURE, None, &[]);
    }

    /// Forgets what a block had, before it says what it has.
    fn block_anew(&mut self, block: Block) {
        for value in std::mem::take(&mut self.said.arguments[block.index()]).into_iter().flatten() {
            self.said.place.remove(&value);
        }
        self.end(block, SourceSet::EMPTY, &[]);
    }

    /// Brings the graph up to date with the edges that were said. Blocks whose arguments have to be
    /// stated.
    fn settle_edges(self) -> FxHashSet<Block> {
        let Self { said, mut behind, ended, .. } = self;
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

impl Said {
    fn new(blocks: usize) -> Self {
        Self {
            graph: BlockGraph::new(blocks),
            arguments: vec![Vec::new(); blocks],
            edges: vec![Vec::new(); blocks],
            place: FxHashMap::default(),
        }
    }

    fn grow(&mut self, blocks: usize) {
        while self.graph.block_count() < blocks {
            self.graph.add_block();
        }
        self.arguments.resize(blocks.max(self.arguments.len()), Vec::new());
        self.edges.resize(blocks.max(self.edges.len()), Vec::new());
    }

    fn sink<'a>(&'a mut self, table: &'a mut EditableTable) -> Sink<'a> {
        Sink { said: self, table, at: None, ended: Vec::new(), behind: FxHashSet::default() }
    }

    /// States what the arguments of a block take, by the edges of the graph.
    fn state_arguments(&self, block: Block, cfg: &Cfg, table: &mut EditableTable) {
        let node = self.graph.node(block);
        let from = cfg.predecessors(node).iter().filter_map(|pred| match self.graph.place(*pred) {
            Place::Block(from) | Place::Edge(from, _) => Some(from),
            Place::Nothing => None,
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

fn incoming(pred: Node, brought: Brought) -> Incoming {
    match brought {
        Brought::Value(value) => Incoming { pred, value: Some(value), key: PhiKey::value(value) },
        Brought::Constant(number) => Incoming { pred, value: None, key: PhiKey::constant(number) },
        Brought::Undef => Incoming { pred, value: None, key: PhiKey::UNDEF },
    }
}

/// A graph with what is known of it alone.
#[derive(Debug)]
struct Graphs {
    cfg: Cfg,
    dom: DomTree,
    cycles: Cycles,
    sync: SyncDependence,
}

impl Graphs {
    fn new(cfg: Cfg) -> Self {
        let (dom, cycles) = (DomTree::new(&cfg), Cycles::new(&cfg));
        let sync = SyncDependence::new(&cfg, &dom, &cycles);
        Self { cfg, dom, cycles, sync }
    }

    fn flow(&self) -> Flow<'_> {
        Flow { cfg: &self.cfg, dom: &self.dom, cycles: &self.cycles, sync: &self.sync }
    }
}

#[derive(Debug)]
enum Answer {
    /// Follows changes.
    Kept(Box<Retained>),
    /// Found anew each time, from this table.
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
        let (said, graphs, table) = all(source);
        let answer = match Retained::of(graphs.flow(), table) {
            Ok(retained) => Answer::Kept(Box::new(retained)),
            Err(_) => {
                // The table is used up.
                let table = all(source).2.to_table();
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
        let followed = match changes.contains(&Change::Everything) {
            true => None,
            false => self.follow(source, changes),
        };
        followed.unwrap_or_else(|| {
            *self = Self::new(source);
            Outcome::Rebuilt
        })
    }

    /// None if everything has to be said anew.
    fn follow(&mut self, source: &dyn Source, changes: &[Change]) -> Option<Outcome> {
        let Answer::Kept(retained) = &mut self.answer else { return None };
        (self.control, self.edges) = (OnceLock::new(), OnceLock::new());
        let said = &mut self.said;
        said.grow(source.block_count());
        retained.table().grow(source.value_count(), 0);
        let mut sink = said.sink(retained.table());
        for change in changes {
            match *change {
                Change::Value(value) => source.say_value(value, &mut sink),
                Change::Gone(value) => sink.gone(value, source.entry()),
                Change::End(block) => source.say_end(block, &mut sink),
                Change::Block(block) => {
                    sink.block_anew(block);
                    source.say_block(block, &mut sink);
                }
                Change::Everything => return None,
            }
        }
        let behind = sink.settle_edges();
        let touched = said.graph.take_touched();
        if !touched.is_empty() {
            self.graphs = Graphs::new(said.graph.cfg(source.entry()));
        }
        for block in sorted(behind) {
            said.state_arguments(block, &self.graphs.cfg, retained.table());
        }
        let flow = self.graphs.flow();
        match touched.is_empty() {
            true => retained.repair(flow).ok(),
            false => retained.repair_flow(flow, Some(&touched)).ok(),
        }
    }

    /// The first value of which something else is known than from scratch, or end of a block that
    /// is another one: a change was not said, or not all of it. A missed change is a wrong answer
    /// that nobody sees, so a compiler asks this in debug builds after each of its passes. Costs
    /// what [`new`](Self::new) does, and a look at each value.
    #[must_use]
    pub fn difference(&self, source: &dyn Source) -> Option<Reader> {
        let anew = Self::new(source);
        let known = self.answer().values().len();
        let values = (0..source.value_count()).map(Value::new);
        let mut values = values
            .filter(|&value| value.index() >= known || self.sources(value) != anew.sources(value));
        let blocks = (0..source.block_count()).map(Block::new);
        let mut blocks = blocks.filter(|&block| {
            let edges = [&self.said, &anew.said].map(|said| said.edges.get(block.index()));
            edges[0] != edges[1] || self.branch(block) != anew.branch(block)
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

    /// What a value depends on where it is computed.
    #[must_use]
    pub fn sources(&self, value: Value) -> SourceSet {
        self.answer().value(value)
    }

    /// What a value depends on where it is read: also on when threads left the cycles around it.
    #[must_use]
    pub fn at_use(&self, value: Value, reader: Reader) -> SourceSet {
        let user = match reader {
            Reader::Value(user) => User::value(user),
            Reader::End(block) => User::terminator(self.said.graph.node(block)),
        };
        self.answer().at_use(value, user)
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
        let make = || EdgeDivergence::new(self.graphs.flow(), self.answer().terminators());
        self.edges.get_or_init(make).into_block(self.said.graph.node(block))
    }

    /// The shortest chain of causes from a fact to one of some sources, also after changes. Facts
    /// and links name nodes of [`graph`](Self::graph). Costs a solution from scratch.
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

/// What an IR says of everything.
fn all(source: &dyn Source) -> (Said, Graphs, EditableTable) {
    let (blocks, values) = (source.block_count(), source.value_count());
    let mut said = Said::new(blocks);
    let entry = said.graph.node(source.entry());
    let empty = ValueTableBuilder::with_values(blocks, values, entry).finish();
    let mut table = EditableTable::new(empty);
    let mut sink = said.sink(&mut table);
    for block in (0..blocks).map(Block::new) {
        source.say_block(block, &mut sink);
    }
    let behind = sink.settle_edges();
    said.graph.take_touched();
    let graphs = Graphs::new(said.graph.cfg(source.entry()));
    table.grow(values, graphs.cfg.node_count());
    for block in sorted(behind) {
        said.state_arguments(block, &graphs.cfg, &mut table);
    }
    (said, graphs, table)
}

/// Blocks in the order of their numbers, so that tables are the same in every run.
fn sorted(blocks: FxHashSet<Block>) -> Vec<Block> {
    let mut blocks: Vec<Block> = blocks.into_iter().collect();
    blocks.sort_unstable();
    blocks
}
