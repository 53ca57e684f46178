//! The control flow is edited: the price of everything that depends on it, by repair and from
//! scratch.
//!
//! Random structured kernels, one after the other, as in the bench `repair`. *split*: a block is
//! split in the middle. *edge*: a block is put on an edge. *merge*: a block is merged with the only
//! one it leads to. *redirect*: an edge goes to the block after the one it went to, which graph
//! facts do not follow by copying. Each is followed by all of: graph, dominators, post-dominators,
//! cycles, sync dependence, divergence. Columns are medians, in microseconds; *share* is what
//! repair costs of what everything costs from scratch (the graph included, tables of values not).
//! Arguments: names of edits, or nothing for all; `--quick` for sizes up to 100,000.
#![allow(clippy::print_stdout, reason = "a bench prints")]

#[path = "../tests/suite/support.rs"]
mod support;

use std::time::{Duration, Instant};

use phalanx_core::SourceSet;
use phalanx_core::divergence::repair::{Outcome, Retained};
use phalanx_core::divergence::{
    Definition, Divergence, FlowFacts, Incoming, PhiKey, Rules, Value, ValueTable, solve,
};
use phalanx_graph::sync::SyncDependence;
use phalanx_graph::{Cfg, Cycles, DomTree, Node, PostDomTree};
use phalanx_testing::abstract_program::{AbstractProgram, Block, Operand, Operation, Terminator};
use phalanx_testing::inlined::inlined;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

fn sources(number: u32) -> SourceSet {
    match number % 3 {
        0 => SourceSet::X,
        1 => SourceSet::LANE,
        _ => SourceSet::OPAQUE_THREAD,
    }
}

struct Facts {
    cfg: Cfg,
    dom: DomTree,
    postdom: PostDomTree,
    cycles: Cycles,
    sync: SyncDependence,
}

impl Facts {
    /// Everything but divergence from scratch, and what each part took.
    fn new(program: &AbstractProgram, layout: &[Node]) -> (Self, [Duration; 5]) {
        let lists: Vec<Vec<Node>> =
            program.blocks.iter().map(|b| b.terminator.targets().to_vec()).collect();
        let mut times = [Duration::ZERO; 5];
        let start = Instant::now();
        let lists = lists.iter().map(|list| list.iter().copied());
        let cfg = Cfg::with_layout(Node::new(0), lists, layout);
        times[0] = start.elapsed();
        let dom = DomTree::new(&cfg);
        times[1] = start.elapsed() - times[0];
        let postdom = PostDomTree::new(&cfg);
        times[2] = start.elapsed() - times[1] - times[0];
        let cycles = Cycles::new(&cfg);
        times[3] = start.elapsed() - times[2] - times[1] - times[0];
        let sync = SyncDependence::new(&cfg, &dom, &cycles);
        (Self { cfg, dom, postdom, cycles, sync }, times)
    }

    /// The same after an edit, by updates. None for an edit that nothing follows by copying.
    fn after(&self, edit: &Edited) -> Option<(Self, [Duration; 5])> {
        let mut times = [Duration::ZERO; 5];
        let start = Instant::now();
        let cfg = match edit.what {
            What::Split(node) => self.cfg.after_split(node),
            What::Edge(from, edge) => self.cfg.after_edge_split(from, edge)?,
            What::Merge(node, next) => self.cfg.after_merge(node, next)?,
            What::Redirect => return None,
        };
        times[0] = start.elapsed();
        let dom = match edit.what {
            What::Split(node) => Some(self.dom.after_split(node)),
            What::Edge(from, _) => self.dom.after_edge_split(&cfg, from),
            What::Merge(node, next) => Some(self.dom.after_merge(node, next)),
            What::Redirect => None,
        };
        let dom = dom.unwrap_or_else(|| DomTree::new(&cfg));
        times[1] = start.elapsed();
        let postdom = match edit.what {
            What::Split(node) => self.postdom.after_split(&cfg, node),
            What::Edge(from, _) => self.postdom.after_edge_split(&cfg, from),
            What::Merge(node, next) => self.postdom.after_merge(&cfg, node, next),
            What::Redirect => None,
        };
        let postdom = postdom.unwrap_or_else(|| PostDomTree::new(&cfg));
        times[2] = start.elapsed();
        let cycles = match edit.what {
            What::Split(node) => self.cycles.after_split(&cfg, node),
            What::Edge(from, _) => self.cycles.after_edge_split(&cfg, from),
            What::Merge(node, next) => Some(self.cycles.after_merge(node, next)),
            What::Redirect => None,
        };
        let cycles = cycles.unwrap_or_else(|| Cycles::new(&cfg));
        times[3] = start.elapsed();
        let sync = match edit.what {
            What::Split(node) => self.sync.after_split(&cfg, &cycles, node),
            What::Edge(from, _) => self.sync.after_edge_split(&cfg, &dom, &cycles, from),
            What::Merge(node, next) => self.sync.after_merge(&cfg, &cycles, node, next),
            What::Redirect => None,
        };
        let sync = sync.unwrap_or_else(|| SyncDependence::new(&cfg, &dom, &cycles));
        times[4] = start.elapsed();
        for i in (1..5).rev() {
            times[i] -= times[i - 1];
        }
        Some((Self { cfg, dom, postdom, cycles, sync }, times))
    }

    fn flow(&self) -> FlowFacts<'_> {
        FlowFacts { cfg: &self.cfg, dom: &self.dom, cycles: &self.cycles, sync: &self.sync }
    }
}

fn value_of(operand: Operand) -> Option<Value> {
    match operand {
        Operand::Value(v) => Some(Value::from_raw(v)),
        _ => None,
    }
}

/// States what an operation is now.
fn state(retained: &mut Retained, block: Node, number: u32, operation: &Operation) {
    let value = Value::from_raw(number);
    let definition = match operation {
        Operation::Uniform => Definition::IMPURE,
        Operation::AlwaysUniform(_) => Definition::fixed(SourceSet::EMPTY),
        Operation::Divergent => Definition::source(sources(number)),
        Operation::ThreadId => Definition { seed: sources(number), ..Definition::PURE },
        _ => Definition::PURE,
    };
    if let Operation::Phi(entries) = operation {
        let incoming = |&(pred, operand): &(Node, Operand)| {
            let key = match operand {
                Operand::Value(v) => PhiKey::value(Value::from_raw(v)),
                Operand::Constant(c) => PhiKey::constant(c),
                Operand::Undef => PhiKey::UNDEF,
            };
            Incoming { pred, value: value_of(operand), key }
        };
        let incoming: Vec<Incoming> = entries.iter().map(incoming).collect();
        retained.table().set_phi(value, block, definition, &incoming);
        return;
    }
    let operands: Vec<Value> = operation.operands().filter_map(value_of).collect();
    retained.table().set_value(value, block, definition, None, &operands);
}

fn state_phis(retained: &mut Retained, program: &AbstractProgram, block: Node) {
    for (number, operation) in &program.blocks[block.index()].operations {
        if matches!(operation, Operation::Phi(_)) {
            state(retained, block, *number, operation);
        }
    }
}

fn state_end(retained: &mut Retained, program: &AbstractProgram, block: Node) {
    let condition = program.blocks[block.index()].terminator.condition().and_then(value_of);
    retained.table().set_terminator(block, false, SourceSet::EMPTY, condition.as_slice());
}

fn each_entry(block: &mut Block, mut call: impl FnMut(&mut Vec<(Node, Operand)>)) {
    for (_, operation) in &mut block.operations {
        if let Operation::Phi(entries) = operation {
            call(entries);
        }
    }
}

/// What was done, the blocks whose ends or operations are others, and those whose phis are.
struct Edited {
    what: What,
    touched: Vec<Node>,
    behind: Vec<Node>,
}

#[derive(Clone, Copy)]
enum What {
    Split(Node),
    Edge(Node, usize),
    Merge(Node, Node),
    Redirect,
}

fn rename_entries(program: &mut AbstractProgram, behind: &[Node], old: Node, new: Node) {
    for to in behind {
        each_entry(&mut program.blocks[to.index()], |entries| {
            entries.iter_mut().filter(|entry| entry.0 == old).for_each(|entry| entry.0 = new);
        });
    }
}

fn lay_out(layout: &mut Vec<Node>, new: Node, behind: Node) {
    let at = layout.iter().position(|n| *n == behind).expect("laid out");
    layout.insert(at + 1, new);
}

/// Splits a block in the middle.
fn split(program: &mut AbstractProgram, layout: &mut Vec<Node>, rng: &mut SmallRng) -> Edited {
    let node = layout[rng.random_range(0..layout.len())];
    let new = Node::new(program.blocks.len());
    let block = &mut program.blocks[node.index()];
    let phis = block.operations.iter().filter(|op| matches!(op.1, Operation::Phi(_))).count();
    let operations = block.operations.split_off(phis.max(block.operations.len() / 2));
    let terminator = std::mem::replace(&mut block.terminator, Terminator::Jump(new));
    let behind = terminator.targets().to_vec();
    program.blocks.push(Block { operations, terminator });
    rename_entries(program, &behind, node, new);
    lay_out(layout, new, node);
    Edited { what: What::Split(node), touched: vec![node, new], behind }
}

/// Puts a block on an edge of a branch.
fn edge(program: &mut AbstractProgram, layout: &mut Vec<Node>, rng: &mut SmallRng) -> Edited {
    loop {
        let from = layout[rng.random_range(0..layout.len())];
        let new = Node::new(program.blocks.len());
        let Terminator::Branch(_, to) = &mut program.blocks[from.index()].terminator else {
            continue;
        };
        if to[0] == to[1] {
            continue;
        }
        let at = rng.random_range(0..2);
        let old = std::mem::replace(&mut to[at], new);
        program.blocks.push(Block { operations: Vec::new(), terminator: Terminator::Jump(old) });
        rename_entries(program, &[old], from, new);
        lay_out(layout, new, from);
        let touched = vec![from, new];
        return Edited { what: What::Edge(from, at), touched, behind: vec![old] };
    }
}

/// Merges a block with the one that it leads to.
fn merge(program: &mut AbstractProgram, layout: &mut Vec<Node>, rng: &mut SmallRng) -> Edited {
    let mut entries = vec![0; program.blocks.len()];
    for block in &program.blocks {
        block.terminator.targets().iter().for_each(|to| entries[to.index()] += 1);
    }
    loop {
        let at = rng.random_range(0..layout.len() - 1);
        let (node, next) = (layout[at], layout[at + 1]);
        let is_only = program.blocks[node.index()].terminator.targets() == [next];
        if !is_only || entries[next.index()] != 1 {
            continue;
        }
        let Block { operations, terminator } = std::mem::replace(
            &mut program.blocks[next.index()],
            Block { operations: Vec::new(), terminator: Terminator::Return },
        );
        let behind = terminator.targets().to_vec();
        let block = &mut program.blocks[node.index()];
        block.terminator = terminator;
        for (number, operation) in operations {
            let operation = match operation {
                Operation::Phi(entries) => Operation::Test(entries[0].1),
                other => other,
            };
            block.operations.push((number, operation));
        }
        rename_entries(program, &behind, next, node);
        layout.remove(at + 1);
        return Edited { what: What::Merge(node, next), touched: vec![node, next], behind };
    }
}

/// Lets an edge go one block further.
fn redirect(program: &mut AbstractProgram, layout: &mut [Node], rng: &mut SmallRng) -> Edited {
    loop {
        let from = layout[rng.random_range(0..layout.len())];
        let Terminator::Branch(_, to) = &program.blocks[from.index()].terminator else { continue };
        let (old, other) = (to[0], to[1]);
        let &[new] = program.blocks[old.index()].terminator.targets() else { continue };
        if old == other || new == other || new == old {
            continue;
        }
        if let Terminator::Branch(_, to) = &mut program.blocks[from.index()].terminator {
            to[0] = new;
        }
        each_entry(&mut program.blocks[old.index()], |entries| entries.retain(|e| e.0 != from));
        each_entry(&mut program.blocks[new.index()], |entries| {
            entries.push((from, Operand::Constant(7)));
        });
        return Edited { what: What::Redirect, touched: vec![from], behind: vec![old, new] };
    }
}

type Edit = fn(&mut AbstractProgram, &mut Vec<Node>, &mut SmallRng) -> Edited;

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn scratch(facts: &Facts, table: &ValueTable) -> (Divergence, Duration) {
    let start = Instant::now();
    let answer = solve(facts.flow(), table, Rules::Precise);
    (answer, start.elapsed())
}

fn measure(name: &str, edit: Edit, size: usize) {
    let mut program = inlined(size);
    let mut layout: Vec<Node> = (0..program.blocks.len()).map(Node::new).collect();
    let mut rng = SmallRng::seed_from_u64(3);
    // So that there is something to merge.
    for _ in 0..60 {
        split(&mut program, &mut layout, &mut rng);
    }
    let table = support::table(&program, sources);
    let (mut facts, _) = Facts::new(&program, &layout);
    let mut retained = Retained::new(facts.flow(), table).expect("reducible");
    let mut parts: [Vec<Duration>; 5] = Default::default();
    let (mut everything, mut divergence, mut rebuilt, mut visits) =
        (Vec::new(), Vec::new(), 0, Vec::new());
    let mut from_scratch = Vec::new();
    let rounds = if size > 200_000 { 8 } else { 25 };
    for round in 0..rounds {
        let edited = edit(&mut program, &mut layout, &mut rng);
        let (next, times) = facts.after(&edited).unwrap_or_else(|| Facts::new(&program, &layout));
        let start = Instant::now();
        let Edited { touched, behind, .. } = &edited;
        for &block in touched {
            for (number, operation) in &program.blocks[block.index()].operations {
                state(&mut retained, block, *number, operation);
            }
            state_end(&mut retained, &program, block);
        }
        behind.iter().for_each(|&block| state_phis(&mut retained, &program, block));
        match retained.repair_flow(next.flow(), Some(touched)) {
            Ok(Outcome::Repaired { visited }) => visits.push(visited),
            other => {
                println!("{other:?}");
                rebuilt += 1;
            }
        }
        let answer = std::hint::black_box(retained.answer().clone());
        let took = start.elapsed();
        if round == 0 {
            facts = next;
            continue;
        }
        divergence.push(took);
        everything.push(took + times.iter().sum());
        for (list, time) in parts.iter_mut().zip(times) {
            list.push(time);
        }
        if round < 5 {
            let table = retained.table().to_table();
            let (again, times) = Facts::new(&program, &layout);
            let (expected, took) = scratch(&again, &table);
            assert!(again.cfg == next.cfg && again.dom == next.dom);
            assert!(again.postdom == next.postdom && again.cycles == next.cycles);
            assert!(*answer == expected, "repaired and from scratch");
            from_scratch.push(took + times.iter().sum());
        }
        std::hint::black_box(&next.postdom);
        facts = next;
    }
    let blocks = facts.cfg.node_count();
    visits.sort_unstable();
    let (scratch, warm) = (median(from_scratch), median(everything));
    print!(
        "{name:9} {size:>9} {blocks:>8} {scratch:>10.0} {warm:>10.0} {:>6.1}%",
        100.0 * warm / scratch
    );
    for part in parts {
        print!(" {:>8.0}", median(part));
    }
    println!(
        " {:>10.0} {:>8} {rebuilt:>8}",
        median(divergence),
        visits.get(visits.len() / 2).copied().unwrap_or(0)
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let is_quick = arguments.iter().any(|a| a == "--quick");
    let names: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    println!(
        "{:9} {:>9} {:>8} {:>10} {:>10} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>10} {:>8} {:>8}",
        "edit",
        "values",
        "blocks",
        "scratch",
        "repair",
        "share",
        "cfg",
        "dom",
        "postdom",
        "cycles",
        "sync",
        "divergence",
        "visited",
        "rebuilt"
    );
    let sizes: &[usize] =
        if is_quick { &[1_000, 10_000, 100_000] } else { &[1_000, 10_000, 100_000, 1_000_000] };
    let edits: [(&str, Edit); 4] = [
        ("split", split),
        ("edge", edge),
        ("merge", merge),
        ("redirect", |program, layout, rng| redirect(program, layout, rng)),
    ];
    for (name, edit) in edits {
        if names.is_empty() || names.iter().any(|n| *n == name) {
            sizes.iter().for_each(|&size| measure(name, edit, size));
        }
    }
}
