//! Private variables: what is claimed of loads holds in execution, is what is claimed of values
//! after variables were made values, and follows edits.

use phalanx_core::analysis::{Analysis, Reader as Read};
use phalanx_core::block_graph::Block;
use phalanx_core::divergence::repair::Outcome;
use phalanx_core::explain::{Cause, Fact};
use phalanx_core::{SourceSet, User, Value};
use phalanx_testing::abstract_oracle::{Effort, hierarchies};
use phalanx_testing::abstract_program::{Operand, Operation};
use phalanx_testing::block_arguments::promote::promote;
use phalanx_testing::block_arguments::run::{Observed, Reader, observe};
use phalanx_testing::block_arguments::{Access, Program, SlotUse, generate};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::analysis::{Said, changes};
use crate::parallel_edges::block;

const NOTHING: [Operand; 2] = [Operand::Constant(0); 2];

/// Adds what a block does with slot 0.
fn with_slots(program: &mut Program, block: usize, uses: &[(usize, Access)]) {
    let own = uses.iter().map(|&(at, access)| SlotUse { at, slot: 0, access });
    program.blocks[block].slots.extend(own);
}

fn random(seed: u64) -> (SmallRng, Program) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let blocks = [3, 5, 8, 12][seed as usize % 4];
    let program = generate::with_slots(&mut rng, blocks, 1 + seed as u32 % 3);
    assert!(program.is_valid(), "seed {seed}: {program:?}");
    (rng, program)
}

/// ```text
/// b0:  store 7
///      branch id -> b1, b2
/// b1:  v2 = load; store 8
/// b2:  v3 = load; store id; v4 = load; kill; store 1; v5 = load
/// ```
#[test]
fn loads_read_the_stores_that_reach_them() {
    let load = |value: u32| (value, Operation::Pure(0, NOTHING));
    let first = [(0, Operation::ThreadId), (1, Operation::Argument(0))];
    let blocks = vec![
        block(&[], &first, Some(0), &[(1, &[]), (2, &[])]),
        block(&[], &[load(2)], None, &[(2, &[])]),
        block(&[], &[load(3), load(4), load(5)], None, &[]),
    ];
    let mut program = Program { blocks, value_count: 6 };
    let constant = |of| Access::Store(Operand::Constant(of));
    with_slots(&mut program, 0, &[(0, constant(7))]);
    with_slots(&mut program, 1, &[(0, Access::Load), (1, constant(8))]);
    let id = Access::Store(Operand::Value(0));
    let last = [
        (0, Access::Load),
        (1, id),
        (1, Access::Load),
        (2, Access::Kill),
        (2, constant(1)),
        (2, Access::Load),
    ];
    with_slots(&mut program, 2, &last);
    let mut analysis = Analysis::new(&Said::new(&program));
    let found = |analysis: &Analysis| [2, 3, 4, 5].map(|v| analysis.sources(Value::new(v)));
    let none = SourceSet::EMPTY;
    assert_eq!(found(&analysis), [none, SourceSet::X, SourceSet::X, none]);
    // The same constant by both ways, under the same branch.
    let before = program.clone();
    program.blocks[1].slots[1].access = constant(7);
    analysis.after(&Said::new(&program), &changes(&before, &program));
    assert_eq!(found(&analysis), [none, none, SourceSet::X, none]);
}

/// A loop that threads leave in different rounds, and a variable that is another in each.
#[test]
fn a_load_behind_a_loop_differs_by_the_round() {
    let blocks = vec![
        block(&[], &[(0, Operation::ThreadId)], None, &[(1, &[])]),
        block(
            &[],
            &[(1, Operation::Uniform), (2, Operation::Pure(0, [Operand::Value(0), NOTHING[0]]))],
            Some(2),
            &[(1, &[]), (2, &[])],
        ),
        block(&[], &[(3, Operation::Pure(0, NOTHING))], None, &[]),
    ];
    let mut program = Program { blocks, value_count: 4 };
    with_slots(&mut program, 1, &[(2, Access::Store(Operand::Value(1)))]);
    with_slots(&mut program, 2, &[(0, Access::Load)]);
    let analysis = Analysis::new(&Said::new(&program));
    assert_eq!(analysis.sources(Value::new(1)), SourceSet::EMPTY);
    assert_eq!(analysis.sources(Value::new(3)), SourceSet::X);
}

#[derive(Debug, Default)]
struct Tally {
    claims: usize,
    loads: usize,
    seen: usize,
    wrong: Vec<String>,
}

fn refuted(analysis: &Analysis, observed: &Observed, tally: &mut Tally) {
    let answer = analysis.answer();
    let end = |block: usize| analysis.graph().node(Block::new(block));
    for value in observed.values.iter().filter(|at| answer.value(Value::new(*at)).is_empty()) {
        tally.wrong.push(format!("value {value}"));
    }
    for block in observed.ends.iter().filter(|block| answer.terminator(end(*block)).is_empty()) {
        tally.wrong.push(format!("end {block}"));
    }
    for (value, reader) in &observed.uses {
        let user = match *reader {
            Reader::Value(user) => User::value(Value::from_raw(user)),
            Reader::End(block) => User::terminator(end(block)),
        };
        if answer.at_use(Value::from_raw(*value), user).is_empty() {
            tally.wrong.push(format!("use of {value} by {reader:?}"));
        }
    }
    tally.seen += observed.values.iter().count() + observed.uses.len();
}

/// Runs a program, and holds claims about another one against that.
fn execute(program: &Program, claimed: &Program, seed: u64, tally: &mut Tally) {
    let analysis = Analysis::new(&Said::new(claimed));
    let answers = analysis.answer().values();
    tally.claims += answers.iter().filter(|sources| sources.is_empty()).count();
    let accesses = program.blocks.iter().flat_map(|block| &block.slots);
    tally.loads += accesses.filter(|entry| entry.access == Access::Load).count();
    for cycles in hierarchies(&program.cfg(), seed, 4) {
        let effort = Effort { runs: 12, threads: 5, fuel: 40 };
        refuted(&analysis, &observe(program, &cycles, effort), tally);
    }
}

#[test]
fn no_claim_about_loads_is_refuted() {
    let mut tally = Tally::default();
    for seed in 0..1500 {
        let (_, program) = random(seed);
        execute(&program, &program, seed, &mut tally);
        assert!(tally.wrong.is_empty(), "seed {seed}: {:?}\n{program:#?}", tally.wrong);
    }
    assert!(tally.loads > 1500 && tally.claims > 3000 && tally.seen > 3000, "{tally:?}");
}

/// The law can fail: stores of which nothing is said are found out.
#[test]
fn claims_that_forget_stores_are_refuted() {
    let mut tally = Tally::default();
    for seed in 0..400 {
        let (_, program) = random(seed);
        let mut claimed = program.clone();
        for block in &mut claimed.blocks[1..] {
            block.slots.retain(|entry| entry.access == Access::Load);
        }
        execute(&program, &claimed, seed, &mut tally);
    }
    assert!(tally.wrong.len() > 25, "{tally:?}");
}

/// Answers are those of the program without slots.
fn compare(analysis: &Analysis, program: &Program, what: &str) {
    let promoted = promote(program);
    assert!(promoted.is_valid(), "{what}\n{promoted:#?}");
    let other = Analysis::new(&Said::new(&promoted));
    for value in (0..program.value_count).map(Value::from_raw) {
        let (found, expected) = (analysis.sources(value), other.sources(value));
        assert_eq!(found, expected, "{value:?}, {what}\n{program:#?}\n{promoted:#?}");
    }
    for block in (0..program.blocks.len()).map(Block::new) {
        assert_eq!(analysis.control(block), other.control(block), "{what}");
        let ends = [analysis, &other].map(|it| it.answer().terminator(it.graph().node(block)));
        assert_eq!(ends[0], ends[1], "{what}");
        let condition = program.blocks[block.index()].end.read();
        if let Some(Operand::Value(read)) = condition {
            let read = Value::from_raw(read);
            let uses = [analysis, &other].map(|it| it.at_use(read, Read::End(block)));
            assert_eq!(uses[0], uses[1], "{what}");
        }
    }
}

#[test]
fn answers_are_those_after_slots_were_made_values() {
    for seed in 0..1500 {
        let (_, program) = random(seed);
        compare(&Analysis::new(&Said::new(&program)), &program, &format!("seed {seed}"));
    }
}

#[test]
fn edits_of_slots_are_followed() {
    let (mut repaired, mut rounds, mut differing) = (0, 0, 0);
    for seed in 0..300 {
        let (mut rng, mut program) = random(seed);
        let mut analysis = Analysis::new(&Said::new(&program));
        for round in 0..12 {
            let before = program.clone();
            let at = (seed as usize + round) % program.blocks.len();
            match round % 3 {
                0 => program.edit(&mut rng),
                _ => program.edit_slots(&mut rng, at, 3),
            };
            let said = Said::new(&program);
            let is_other = analysis.difference(&said).is_some();
            differing += usize::from(is_other);
            let all = changes(&before, &program);
            assert!(!is_other || !all.is_empty(), "seed {seed}, round {round}");
            let outcome = analysis.after(&said, &all);
            rounds += 1;
            repaired += usize::from(matches!(outcome, Outcome::Repaired { .. }));
            let what = format!("seed {seed}, round {round}, {all:?}");
            assert_eq!(analysis.difference(&said), None, "{what}\n{before:#?}\n{program:#?}");
            compare(&analysis, &program, &what);
        }
    }
    assert!(repaired > rounds * 3 / 4 && differing > rounds / 3, "{repaired} {differing} {rounds}");
}

/// A change of one store says one block, and computes no operation anew.
#[test]
fn a_store_says_only_its_block() {
    let (_, mut program) = random(7);
    let mut analysis = Analysis::new(&Said::new(&program));
    assert!(analysis.follows());
    let access = Access::Store(Operand::Constant(2));
    program.blocks[0].slots.insert(0, SlotUse { at: 0, slot: 0, access });
    let said = Said::new(&program);
    analysis.after(&said, &[phalanx_core::analysis::Change::Slots(Block::new(0))]);
    assert_eq!((said.ends.get(), said.values.get()), (0, 0));
    compare(&analysis, &program, "a store");
}

/// Chains lead through contents of slots to a source.
#[test]
fn loads_are_explained() {
    let mut through = 0;
    for seed in 0..800 {
        let (mut rng, mut program) = random(seed);
        let mut analysis = Analysis::new(&Said::new(&program));
        for round in 0..4 {
            let before = program.clone();
            program.edit_slots(&mut rng, round % before.blocks.len(), 3);
            analysis.after(&Said::new(&program), &changes(&before, &program));
        }
        for value in (0..program.value_count).map(Value::from_raw) {
            let chain = analysis.explain(Fact::Value(value), SourceSet::ALL);
            assert_eq!(chain.is_empty(), analysis.sources(value).is_empty(), "seed {seed}");
            through += usize::from(chain.iter().any(|link| match link.fact {
                Fact::Value(value) => analysis.slot_of(value).is_some(),
                _ => false,
            }));
            if let Some(last) = chain.last() {
                assert_eq!(last.cause, Cause::Source, "seed {seed}");
            }
        }
    }
    assert!(through > 8, "{through}");
}
