//! An IR that says its function, and after edits only what changed, is answered as one that is
//! analysed from scratch.

use phalanx_core::analysis::{
    Analysis, Brought, Change, Reader, Sink, Slot, SlotEvent, Source, verify,
};
use phalanx_core::block_graph::Block;
use phalanx_core::control::control_divergence;
use phalanx_core::divergence::repair::Outcome;
use phalanx_core::explain::{Cause, Fact};
use phalanx_core::legality::edges::EdgeDivergence;
use phalanx_core::{LaunchFacts, Scope, SourceSet, User, Value};
use phalanx_graph::PostDomTree;
use phalanx_testing::abstract_program::{Operand, Operation};
use phalanx_testing::block_arguments::{self as toy, Access, Program, generate};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::parallel_edges::model::{Solved, Telling, definition, value_of};

/// A program that counts what it says.
pub(crate) struct Said<'a> {
    program: &'a Program,
    pub(crate) ends: std::cell::Cell<usize>,
    pub(crate) values: std::cell::Cell<usize>,
}

impl<'a> Said<'a> {
    pub(crate) fn new(program: &'a Program) -> Self {
        Self { program, ends: 0.into(), values: 0.into() }
    }

    fn say(&self, value: u32, operation: &Operation, at: Block, to: &mut Sink<'_>) {
        self.values.set(self.values.get() + 1);
        let reads: Vec<Value> = operation.operands().filter_map(value_of).collect();
        to.value(Value::from_raw(value), at, definition(operation), None, &reads);
    }
}

impl Source for Said<'_> {
    fn entry(&self) -> Block {
        Block::new(0)
    }

    fn block_count(&self) -> usize {
        self.program.blocks.len()
    }

    fn value_count(&self) -> usize {
        self.program.value_count as usize
    }

    fn say_block(&self, block: Block, to: &mut Sink<'_>) {
        let own = &self.program.blocks[block.index()];
        for (position, argument) in own.arguments.iter().enumerate() {
            to.argument(Value::from_raw(*argument), block, position);
        }
        for (value, operation) in &own.operations {
            self.say(*value, operation, block, to);
        }
        self.say_slots(block, to);
        self.say_end(block, to);
    }

    fn say_value(&self, value: Value, to: &mut Sink<'_>) {
        for (number, block) in self.program.blocks.iter().enumerate() {
            let own = block.operations.iter().find(|(own, _)| *own == value.raw());
            if let Some((own, operation)) = own {
                self.say(*own, operation, Block::new(number), to);
            }
        }
    }

    fn say_slots(&self, block: Block, to: &mut Sink<'_>) {
        let own = &self.program.blocks[block.index()];
        for entry in &own.slots {
            let event = match entry.access {
                Access::Load => match own.operations.get(entry.at) {
                    Some((value, _)) => SlotEvent::Load(Value::from_raw(*value)),
                    // Where no thread comes.
                    None => continue,
                },
                Access::Kill => SlotEvent::Kill,
                Access::Store(operand) => SlotEvent::Store(brought(operand)),
                Access::Update(operand) => {
                    SlotEvent::Update(SourceSet::EMPTY, value_of(operand).into_iter().collect())
                }
            };
            to.slot(block, Slot::new(entry.slot), event);
        }
    }

    fn say_end(&self, block: Block, to: &mut Sink<'_>) {
        self.ends.set(self.ends.get() + 1);
        let end = &self.program.blocks[block.index()].end;
        let reads: Vec<Value> = end.read().and_then(value_of).into_iter().collect();
        to.end(block, SourceSet::EMPTY, &reads);
        for edge in &end.edges {
            let brings: Vec<Brought> = edge.arguments.iter().copied().map(brought).collect();
            to.edge(Block::new(edge.to), &brings);
        }
    }
}

fn brought(operand: Operand) -> Brought {
    match operand {
        Operand::Value(value) => Brought::Value(Value::from_raw(value)),
        Operand::Constant(constant) => Brought::Constant(constant),
        Operand::Undef => Brought::Undef,
    }
}

/// What has changed between two programs, as little as can be said.
pub(crate) fn changes(before: &Program, now: &Program) -> Vec<Change> {
    let mut changes = Vec::new();
    for (number, block) in now.blocks.iter().enumerate() {
        let name = Block::new(number);
        let Some(old) = before.blocks.get(number).filter(|old| old.arguments == block.arguments)
        else {
            changes.push(Change::Block(name));
            continue;
        };
        let new = block.operations.iter().filter(|entry| !old.operations.contains(entry));
        changes.extend(new.map(|(value, _)| Change::Value(Value::from_raw(*value))));
        let loads = |of: &toy::Block| -> Vec<_> {
            of.slots.iter().map(|entry| of.operations.get(entry.at).map(|it| it.0)).collect()
        };
        if old.slots != block.slots || loads(old) != loads(block) {
            changes.push(Change::Slots(name));
        }
        if old.end != block.end {
            changes.push(Change::End(name));
        }
    }
    changes
}

/// All answers are those of the program analysed by itself.
fn compare(analysis: &Analysis, program: &Program, what: &str) {
    let solved = Solved::on(program, analysis.graph().clone(), Telling::Right);
    let cfg = &solved.graphs.cfg;
    let ends = solved.answer.terminators();
    let control = control_divergence(cfg, &PostDomTree::new(cfg), ends);
    let edges = EdgeDivergence::new(solved.graphs.flow(), ends);
    let (found, expected) = (analysis.answer(), &solved.answer);
    assert!(found == expected, "{}\n{found:?}\n{expected:?}\n{what}", analysis.follows());
    for block in (0..program.blocks.len()).map(Block::new) {
        let node = solved.graph.node(block);
        assert_eq!(analysis.control(block), control[node.index()], "{what}");
        assert_eq!(analysis.joins(block), edges.into_block(node), "{what}");
        let is_branch = cfg.is_branch(node);
        let expected = if is_branch { ends[node.index()] } else { SourceSet::EMPTY };
        assert_eq!(analysis.branch(block), expected, "{what}");
        let end = &program.blocks[block.index()].end;
        if let Some(read) = end.read().and_then(value_of) {
            let expected = solved.answer.at_use(read, User::terminator(node));
            assert_eq!(analysis.at_use(read, Reader::End(block)), expected, "{what}");
        }
    }
    // By the numbers of a new graph, too.
    let anew = Solved::new(program, Telling::Right);
    for value in anew.table.values() {
        assert_eq!(analysis.sources(value), anew.answer.value(value), "{what}");
    }
}

#[test]
fn what_is_said_of_changes_is_enough() {
    let (mut repaired, mut anew, mut rounds) = (0, 0, 0);
    for seed in 0..400 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut program = generate::program(&mut rng, [3, 6, 10, 20][seed as usize % 4]);
        let mut analysis = Analysis::new(&Said::new(&program));
        compare(&analysis, &program, &format!("seed {seed}\n{program:#?}"));
        for round in 0..10 {
            let before = program.clone();
            (0..=round % 3).for_each(|_| _ = program.edit(&mut rng));
            let outcome = analysis.after(&Said::new(&program), &changes(&before, &program));
            rounds += 1;
            repaired += usize::from(matches!(outcome, Outcome::Repaired { .. }));
            anew += usize::from(!analysis.follows());
            let what = format!("seed {seed}, round {round}\n{before:#?}\n{program:#?}");
            compare(&analysis, &program, &what);
        }
    }
    assert!(repaired > rounds / 2 && anew > 10, "{repaired}, {anew}, {rounds}");
}

/// A change that was not said is found, if it matters; one that was said is none.
#[test]
fn changes_that_were_not_said_are_found() {
    let (mut found, mut others) = (0, 0);
    for seed in 0..200 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut program = generate::program(&mut rng, 10);
        let mut analysis = Analysis::new(&Said::new(&program));
        for round in 0..4 {
            let before = program.clone();
            program.edit(&mut rng);
            let said = Said::new(&program);
            let is_other = analysis.difference(&said).is_some();
            let all = changes(&before, &program);
            let edges = |program: &Program| -> Vec<_> {
                program.blocks.iter().map(|block| block.end.edges.clone()).collect()
            };
            let is_same = edges(&before) == edges(&program);
            assert!(is_other || is_same, "seed {seed}, round {round}: edges\n{all:?}");
            assert!(!is_other || !all.is_empty(), "seed {seed}, round {round}: nothing");
            (found, others) = (found + usize::from(is_other), others + usize::from(!is_other));
            analysis.after(&said, &all);
            assert_eq!(analysis.difference(&said), None, "seed {seed}, round {round}\n{all:?}");
        }
    }
    assert!(found > 300 && others > 50, "{found}, {others}");
}

/// A change of one value or end lets the IR say nothing else.
#[test]
fn only_what_changed_is_said() {
    let programs = (0..).map(|seed| generate::program(&mut SmallRng::seed_from_u64(seed), 20));
    let mut both = programs.map(|program| (Analysis::new(&Said::new(&program)), program));
    let (mut analysis, mut program) = both.find(|(it, _)| it.follows()).expect("one follows");
    let at = program.blocks.iter().position(|block| !block.operations.is_empty()).expect("one");
    let value = program.blocks[at].operations[0].0;
    program.blocks[at].operations[0].1 = Operation::Divergent;
    let said = Said::new(&program);
    analysis.after(&said, &[Change::Value(Value::from_raw(value))]);
    assert_eq!((said.ends.get(), said.values.get()), (0, 1));
    compare(&analysis, &program, "a value");
    let at = program.blocks.iter().position(|block| block.end.edges.len() > 1).expect("a branch");
    program.blocks[at].end.condition = Some(Operand::Constant(1));
    let said = Said::new(&program);
    analysis.after(&said, &[Change::End(Block::new(at))]);
    assert_eq!((said.ends.get(), said.values.get()), (1, 0));
    compare(&analysis, &program, "an end");
}

/// Chains are of the function as it is after changes.
#[test]
fn changes_are_explained() {
    let mut chains = 0;
    for seed in 0..60 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut program = generate::program(&mut rng, 8);
        let mut analysis = Analysis::new(&Said::new(&program));
        for _ in 0..5 {
            let before = program.clone();
            program.edit(&mut rng);
            analysis.after(&Said::new(&program), &changes(&before, &program));
        }
        for value in (0..program.value_count).map(Value::from_raw) {
            let chain = analysis.explain(Fact::Value(value), SourceSet::ALL);
            assert_eq!(chain.is_empty(), analysis.sources(value).is_empty(), "seed {seed}");
            chains += usize::from(chain.len() > 2);
            if let Some(last) = chain.last() {
                assert_eq!(last.cause, Cause::Source, "seed {seed}");
            }
        }
    }
    assert!(chains > 50, "{chains}");
}

/// Values and blocks that are no more leave nothing behind.
#[test]
fn what_is_gone_is_forgotten() {
    let mut program = generate::program(&mut SmallRng::seed_from_u64(12), 6);
    let mut analysis = Analysis::new(&Said::new(&program));
    // The last block is cut off and says nothing from now on.
    let last = program.blocks.len() - 1;
    let own = program.blocks[last].clone();
    for block in &mut program.blocks {
        block.end.edges.retain(|edge| edge.to != last);
    }
    let empty = &mut program.blocks[last];
    (empty.operations, empty.arguments, empty.end) = (vec![], vec![], Default::default());
    let operations = own.operations.iter().map(|(value, _)| *value);
    let values = own.arguments.iter().copied().chain(operations).map(Value::from_raw);
    let mut changes: Vec<Change> = values.clone().map(Change::Gone).collect();
    changes.extend((0..=last).map(|block| Change::Block(Block::new(block))));
    analysis.after(&Said::new(&program), &changes);
    assert!(values.clone().count() > 0);
    // Of what is gone nothing is known.
    assert!(values.clone().all(|value| analysis.sources(value) == SourceSet::OPAQUE_THREAD));
    let fresh = Analysis::new(&Said::new(&program));
    let mut all = (0..program.value_count).map(Value::from_raw);
    assert!(all.all(|value| analysis.sources(value) == fresh.sources(value)));
    assert!((0..last).map(Block::new).all(|b| analysis.control(b) == fresh.control(b)));
}

/// A number that was never said, also among those that a change brings, is unknown where it is
/// asked for and where it is read.
#[test]
fn what_was_never_said_is_unknown() {
    let mut program = generate::program(&mut SmallRng::seed_from_u64(3), 6);
    let never = Value::from_raw(program.value_count);
    program.value_count += 1;
    let mut analysis = Analysis::new(&Said::new(&program));
    assert_eq!(analysis.sources(never), SourceSet::OPAQUE_THREAD);
    let (later, reader) = (program.value_count, program.value_count + 1);
    program.value_count += 2;
    let reads = Operation::Test(Operand::Value(later));
    program.blocks[0].operations.push((reader, reads));
    let said = Said::new(&program);
    analysis.after(&said, &[Change::Value(Value::from_raw(reader))]);
    for value in [later, reader].map(Value::from_raw) {
        assert_eq!(analysis.sources(value), SourceSet::OPAQUE_THREAD);
    }
    assert_eq!(analysis.difference(&said), None);
}

/// What a value would be for a new reader is answered by any reader in the same place: never less
/// than what the new one sees.
#[test]
fn a_reader_stands_for_its_place() {
    let (mut places, mut temporal) = (0, 0);
    for seed in 0..200 {
        let program = generate::program(&mut SmallRng::seed_from_u64(seed), 8);
        let analysis = Analysis::new(&Said::new(&program));
        let all = (0..program.value_count).flat_map(|value| {
            (0..program.blocks.len()).map(move |block| (Value::from_raw(value), block))
        });
        for (value, at) in all {
            let mut more = program.clone();
            let new = more.value_count;
            more.value_count += 1;
            let reads = Operation::Test(Operand::Value(value.raw()));
            more.blocks[at].operations.push((new, reads));
            let said = Said::new(&more);
            if verify(&said).is_err() {
                continue;
            }
            let expected = Analysis::new(&said).at_use(value, Reader::Value(Value::from_raw(new)));
            let at = Block::new(at);
            let found = analysis.at_use(value, Reader::End(at));
            assert!(found.contains(expected), "seed {seed}: {value:?} in {at:?}\n{program:#?}");
            places += 1;
            temporal += usize::from(expected != analysis.sources(value));
        }
    }
    assert!(places > 5_000 && temporal > 10, "{places} {temporal}");
}

/// Motions are judged by what is known after changes, as from scratch. Both verdicts occur.
#[test]
fn motions_are_judged_after_changes() {
    let launch = LaunchFacts::default();
    let (mut legal, mut refused) = (0, 0);
    for seed in 0..60 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut program = generate::program(&mut rng, 8);
        let mut analysis = Analysis::new(&Said::new(&program));
        for _ in 0..4 {
            let before = program.clone();
            program.edit(&mut rng);
            analysis.after(&Said::new(&program), &changes(&before, &program));
            let fresh = Analysis::new(&Said::new(&program));
            let blocks = || (0..program.blocks.len()).map(Block::new);
            for (from, to) in blocks().flat_map(|from| blocks().map(move |to| (from, to))) {
                let verdict = |analysis: &Analysis| {
                    let legality = analysis.legality(Scope::Wave, &launch, &|_| false);
                    let nodes = [from, to].map(|block| analysis.graph().node(block));
                    legality.hoist(nodes[0], nodes[1], true).is_ok()
                };
                let verdict = [verdict(&analysis), verdict(&fresh)];
                assert_eq!(verdict[0], verdict[1], "seed {seed}: {from:?} to {to:?}");
                let count = if verdict[0] { &mut legal } else { &mut refused };
                *count += usize::from(from != to);
            }
        }
    }
    assert!(legal > 100 && refused > 100, "{legal} {refused}");
}
