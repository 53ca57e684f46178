//! Programs with block arguments as graphs and tables, from scratch and edit by edit.

use phalanx_core::block_graph::{Block, BlockGraph, Edge};
use phalanx_core::divergence::repair::Retained;
use phalanx_core::divergence::{
    Definition, Divergence, FlowFacts, Incoming, PhiKey, Rules, ValueTable, ValueTableBuilder,
    solve,
};
use phalanx_core::{SourceSet, Value};
use phalanx_graph::sync::SyncDependence;
use phalanx_graph::{Cfg, Cycles, DomTree, Node};
use phalanx_testing::abstract_program::{Operand, Operation};
use phalanx_testing::block_arguments::{self as toy, Program};

/// A graph with what the analysis reads of it.
pub(crate) struct Graphs {
    pub cfg: Cfg,
    pub dom: DomTree,
    pub cycles: Cycles,
    pub sync: SyncDependence,
}

impl Graphs {
    pub(crate) fn new(cfg: Cfg) -> Self {
        let (dom, cycles) = (DomTree::new(&cfg), Cycles::new(&cfg));
        let sync = SyncDependence::new(&cfg, &dom, &cycles);
        Self { cfg, dom, cycles, sync }
    }

    pub(crate) fn flow(&self) -> FlowFacts<'_> {
        FlowFacts { cfg: &self.cfg, dom: &self.dom, cycles: &self.cycles, sync: &self.sync }
    }
}

/// Which edges of a block count as bringing equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Telling {
    /// Those that do.
    Right,
    /// All: no node stands on an edge, and every edge is stated.
    Nothing,
    /// All, and of parallel edges only the first is stated: wrong on purpose.
    FirstOnly,
}

/// The edges of a block, where they lead and what they bring.
fn edges(block: &toy::Block, telling: Telling) -> Vec<Edge> {
    let edges = &block.end.edges;
    let first = |edge: &toy::Edge| edges.iter().position(|other| other == edge).unwrap_or(0);
    let brings = |edge: &toy::Edge| if telling == Telling::Right { first(edge) as u32 } else { 0 };
    edges.iter().map(|edge| Edge { to: Block::new(edge.to), brings: brings(edge) }).collect()
}

pub(crate) fn value_of(operand: Operand) -> Option<Value> {
    match operand {
        Operand::Value(value) => Some(Value::from_raw(value)),
        Operand::Constant(_) | Operand::Undef => None,
    }
}

fn key(operand: Operand) -> PhiKey {
    match operand {
        Operand::Value(value) => PhiKey::value(Value::from_raw(value)),
        Operand::Constant(constant) => PhiKey::constant(constant),
        Operand::Undef => PhiKey::UNDEF,
    }
}

pub(crate) fn definition(operation: &Operation) -> Definition {
    match operation {
        Operation::ThreadId => Definition { seed: SourceSet::X, ..Definition::PURE },
        Operation::Uniform => Definition::IMPURE,
        Operation::AlwaysUniform(_) => Definition::fixed(SourceSet::EMPTY),
        Operation::Divergent => Definition::source(SourceSet::OPAQUE_THREAD),
        Operation::Argument(_) | Operation::Pure(..) | Operation::Test(_) | Operation::Phi(_) => {
            Definition::PURE
        }
    }
}

/// What comes into an argument of a block, by its position.
fn incoming(
    program: &Program,
    graph: &BlockGraph,
    to: usize,
    argument: usize,
    telling: Telling,
) -> Vec<Incoming> {
    let mut entries: Vec<Incoming> = Vec::new();
    for (number, block) in program.blocks.iter().enumerate() {
        for (at, edge) in block.end.edges.iter().enumerate().filter(|(_, edge)| edge.to == to) {
            let pred = graph.source(Block::new(number), at);
            let is_stated = entries.iter().any(|entry| entry.pred == pred);
            if telling != Telling::FirstOnly || !is_stated {
                let brought = edge.arguments[argument];
                entries.push(Incoming { pred, value: value_of(brought), key: key(brought) });
            }
        }
    }
    entries
}

/// The graph of a program.
pub(crate) fn graph(program: &Program, telling: Telling) -> BlockGraph {
    let mut graph = BlockGraph::new(program.blocks.len());
    for (number, block) in program.blocks.iter().enumerate() {
        graph.set_edges(Block::new(number), &edges(block, telling));
    }
    graph
}

/// The tables of a program on a graph of it.
pub(crate) fn table(program: &Program, graph: &BlockGraph, telling: Telling) -> ValueTable {
    let mut all: Vec<Option<(Node, Option<&Operation>)>> = vec![None; program.value_count as usize];
    for (number, block) in program.blocks.iter().enumerate() {
        let node = graph.node(Block::new(number));
        for argument in &block.arguments {
            all[*argument as usize] = Some((node, None));
        }
        for (value, operation) in &block.operations {
            all[*value as usize] = Some((node, Some(operation)));
        }
    }
    let mut table = ValueTableBuilder::new(graph.cfg(Block::new(0)).node_count());
    for (node, operation) in all.iter().flatten() {
        match operation {
            Some(operation) => table.value(*node, definition(operation)),
            None => table.phi(*node, Definition::PURE),
        };
    }
    for (number, block) in program.blocks.iter().enumerate() {
        for (argument, value) in block.arguments.iter().enumerate() {
            for entry in incoming(program, graph, number, argument, telling) {
                table.incoming(Value::from_raw(*value), entry);
            }
        }
        for (value, operation) in &block.operations {
            for operand in operation.operands().filter_map(value_of) {
                table.operand(operand, Value::from_raw(*value));
            }
        }
        if let Some(read) = block.end.read().and_then(value_of) {
            table.terminator_operand(read, graph.node(Block::new(number)));
        }
    }
    table.finish()
}

/// A program with everything the analysis reads, and its answer.
pub(crate) struct Solved {
    pub graph: BlockGraph,
    pub graphs: Graphs,
    pub table: ValueTable,
    pub answer: Divergence,
}

impl Solved {
    pub(crate) fn new(program: &Program, telling: Telling) -> Self {
        let graph = graph(program, telling);
        Self::on(program, graph, telling)
    }

    /// With a graph of the program whose nodes have other numbers.
    pub(crate) fn on(program: &Program, graph: BlockGraph, telling: Telling) -> Self {
        let graphs = Graphs::new(graph.cfg(Block::new(0)));
        let table = table(program, &graph, telling);
        let answer = solve(graphs.flow(), &table, Rules::Precise);
        Self { graph, graphs, table, answer }
    }
}

/// States in the tables, and in the graph, what differs between two programs. Whether edges do.
pub(crate) fn restate(
    (before, now): (&Program, &Program),
    graph: &mut BlockGraph,
    retained: Option<&mut Retained>,
    telling: Telling,
) -> bool {
    while graph.block_count() < now.blocks.len() {
        graph.add_block();
    }
    // Blocks first: entries name nodes.
    let mut is_flow = before.blocks.len() < now.blocks.len();
    let mut behind = vec![false; now.blocks.len()];
    for (number, block) in now.blocks.iter().enumerate() {
        let old = before.blocks.get(number);
        if old.map(|old| &old.end) == Some(&block.end) {
            continue;
        }
        is_flow |= graph.set_edges(Block::new(number), &edges(block, telling));
        let left = old.into_iter().flat_map(|old| &old.end.edges);
        for edge in left.chain(&block.end.edges) {
            behind[edge.to] = true;
        }
    }
    let Some(retained) = retained else { return is_flow };
    let table = retained.table();
    table.grow(now.value_count as usize, graph.cfg(Block::new(0)).node_count());
    for (number, block) in now.blocks.iter().enumerate() {
        let old = before.blocks.get(number);
        let node = graph.node(Block::new(number));
        let is_new = |value: &u32| old.is_none_or(|old| !old.arguments.contains(value));
        for (argument, value) in block.arguments.iter().enumerate() {
            if behind[number] || is_new(value) {
                let entries = incoming(now, graph, number, argument, telling);
                table.set_phi(Value::from_raw(*value), node, Definition::PURE, &entries);
            }
        }
        for entry in &block.operations {
            if old.is_none_or(|old| !old.operations.contains(entry)) {
                let (value, operation) = (Value::from_raw(entry.0), &entry.1);
                let reads: Vec<Value> = operation.operands().filter_map(value_of).collect();
                table.set_value(value, node, definition(operation), None, &reads);
            }
        }
        if old.is_none_or(|old| old.end != block.end) {
            let reads: Vec<Value> = block.end.read().and_then(value_of).into_iter().collect();
            table.set_terminator(node, false, SourceSet::EMPTY, &reads);
        }
    }
    is_flow
}
