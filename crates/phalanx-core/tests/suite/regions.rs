//! A region is answered as the program that is cut out of the function, and what is claimed of it
//! holds when that program is executed.

use phalanx_core::analysis::{Analysis, Change, Region};
use phalanx_core::block_graph::Block;
use phalanx_core::{SourceSet, Value};
use phalanx_graph::DomTree;
use phalanx_graph::Node;
use phalanx_testing::abstract_oracle::{Effort, hierarchies};
use phalanx_testing::abstract_program::{Operand, Operation, ValueNumber};
use phalanx_testing::block_arguments::run::observe;
use phalanx_testing::block_arguments::{
    self as toy, Access, Edge, End, Program, SlotUse, generate,
};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng};

use crate::analysis::{Said, changes};

/// A region of a random program.
struct Part {
    entry: usize,
    inside: Vec<bool>,
    /// What differs among those who arrive.
    given: Vec<ValueNumber>,
}

impl Part {
    /// None where the random entry cannot be reached.
    fn random(program: &Program, rng: &mut SmallRng) -> Option<Self> {
        let cfg = program.cfg();
        let dom = DomTree::new(&cfg);
        let entry = rng.random_range(0..program.blocks.len());
        let node = Node::new(entry);
        if !dom.is_reachable(node) {
            return None;
        }
        let mut inside: Vec<bool> = (0..program.blocks.len())
            .map(|block| {
                let block = Node::new(block);
                dom.is_reachable(block) && dom.dominates(node, block) && rng.random_range(0..8) > 0
            })
            .collect();
        inside[entry] = true;
        // Threads come in by the entry alone.
        loop {
            let enters = |block: &usize| {
                let mut from = cfg.predecessors(Node::new(*block)).iter();
                inside[*block] && *block != entry && from.any(|pred| !inside[pred.index()])
            };
            let Some(other) = (0..inside.len()).find(enters) else { break };
            inside[other] = false;
        }
        let mut part = Self { entry, inside, given: Vec::new() };
        part.given = part.outside(program).filter(|_| rng.random_range(0..3) == 0).collect();
        Some(part)
    }

    /// Values that are computed outside, and arguments of the entry.
    fn outside<'a>(&'a self, program: &'a Program) -> impl Iterator<Item = ValueNumber> + 'a {
        program.blocks.iter().enumerate().flat_map(move |(number, block)| {
            let is_inside = self.inside[number];
            let arguments =
                block.arguments.iter().filter(move |_| !is_inside || number == self.entry);
            let operations = block.operations.iter().map(|(value, _)| value);
            arguments.chain(operations.filter(move |_| !is_inside)).copied()
        })
    }

    fn region(&self) -> Region {
        let blocks = (0..self.inside.len()).filter(|&block| self.inside[block]).map(Block::new);
        let region = Region::new(Block::new(self.entry), blocks);
        self.given.iter().fold(region, |region, &value| {
            region.given(Value::from_raw(value), SourceSet::OPAQUE_THREAD)
        })
    }

    /// The region as a program of its own: block 0 computes what comes from outside, and block `n`
    /// of the function is block `n + 1`. The last one is where rounds end.
    fn cut_out(&self, program: &Program) -> Program {
        let behind = program.blocks.len() + 1;
        let mut fresh = program.value_count..;
        let mut next = || fresh.next().expect("there are numbers");
        let of_value = |value| {
            let is_given = self.given.contains(&value);
            (value, if is_given { Operation::Divergent } else { Operation::Uniform })
        };
        let mut first = toy::Block {
            arguments: Vec::new(),
            operations: self.outside(program).map(of_value).collect(),
            slots: Vec::new(),
            end: End {
                condition: None,
                edges: vec![Edge { to: self.entry + 1, arguments: Vec::new() }],
            },
        };
        let mut slots: Vec<u32> = program
            .blocks
            .iter()
            .flat_map(|block| block.slots.iter().map(|used| used.slot))
            .collect();
        slots.sort_unstable();
        slots.dedup();
        for slot in slots {
            let held = next();
            first.operations.push((held, Operation::Uniform));
            let access = Access::Store(Operand::Value(held));
            first.slots.push(SlotUse { at: usize::MAX, slot, access });
        }
        let behind_all = first.operations.len();
        first.slots.iter_mut().for_each(|used| used.at = behind_all);
        let mut blocks = vec![first];
        let entry_arguments = program.blocks[self.entry].arguments.len();
        for (number, block) in program.blocks.iter().enumerate() {
            let is_inside = self.inside[number];
            let arguments: Vec<ValueNumber> = match (is_inside, number == self.entry) {
                (true, true) => Vec::new(),
                (true, false) => block.arguments.clone(),
                // What is brought there is told apart as in the function.
                (false, _) => block.arguments.iter().map(|_| next()).collect(),
            };
            let mut copy = toy::Block { arguments, ..block.clone() };
            if is_inside {
                for edge in &mut copy.end.edges {
                    edge.to = if edge.to == self.entry { behind } else { edge.to + 1 };
                }
            } else {
                copy = toy::Block { arguments: copy.arguments, ..empty(Vec::new()) };
            }
            blocks.push(copy);
        }
        blocks.push(empty((0..entry_arguments).map(|_| next()).collect()));
        Program { blocks, value_count: next() }
    }

    fn values<'a>(&'a self, program: &'a Program) -> impl Iterator<Item = ValueNumber> + 'a {
        let blocks = program.blocks.iter().enumerate().filter(|(number, _)| self.inside[*number]);
        blocks.flat_map(|(_, block)| {
            block.arguments.iter().copied().chain(block.operations.iter().map(|(value, _)| *value))
        })
    }
}

fn empty(arguments: Vec<ValueNumber>) -> toy::Block {
    toy::Block { arguments, operations: Vec::new(), slots: Vec::new(), end: End::default() }
}

/// A region is answered as what is cut out.
fn compare(analysis: &Analysis, part: &Part, program: &Program, what: &str) {
    let cut = part.cut_out(program);
    let alone = Analysis::new(&Said::new(&cut));
    for value in part.values(program).map(Value::from_raw) {
        assert_eq!(analysis.sources(value), alone.sources(value), "{value:?} {what}");
    }
    for number in (0..program.blocks.len()).filter(|&number| part.inside[number]) {
        let (here, there) = (Block::new(number), Block::new(number + 1));
        assert_eq!(analysis.branch(here), alone.branch(there), "{here:?} {what}");
        assert_eq!(analysis.control(here), alone.control(there), "{here:?} {what}");
        assert_eq!(analysis.joins(here), alone.joins(there), "{here:?} {what}");
    }
}

#[derive(Default, Debug)]
struct Tally {
    regions: usize,
    claims: usize,
    divergent: usize,
    wrong: usize,
    repaired: usize,
}

/// Executes what is cut out, and counts claims that are refuted.
fn execute(analysis: &Analysis, part: &Part, program: &Program, seed: u64, tally: &mut Tally) {
    let cut = part.cut_out(program);
    for cycles in hierarchies(&cut.cfg(), seed, 2) {
        let observed = observe(&cut, &cycles, Effort { runs: 8, threads: 5, fuel: 40 });
        for value in part.values(program) {
            let is_uniform = analysis.sources(Value::from_raw(value)).is_empty();
            let differs = observed.values.contains(value as usize);
            tally.claims += usize::from(is_uniform);
            tally.divergent += usize::from(differs);
            tally.wrong += usize::from(is_uniform && differs);
        }
        for number in (0..program.blocks.len()).filter(|&number| part.inside[number]) {
            let differs = observed.ends.contains(number + 1);
            let is_uniform = analysis.branch(Block::new(number)).is_empty();
            let edges = &cut.blocks[number + 1].end.edges;
            let is_choice = edges.iter().any(|edge| edge != &edges[0]);
            tally.wrong += usize::from(is_uniform && differs && is_choice);
        }
    }
}

fn random(seed: u64) -> (Program, SmallRng) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let blocks = [4, 7, 12][seed as usize % 3];
    let program = match seed % 2 {
        0 => generate::program(&mut rng, blocks),
        _ => generate::with_slots(&mut rng, blocks, 3),
    };
    (program, rng)
}

#[test]
fn a_region_is_answered_as_what_is_cut_out_and_executed() {
    let mut tally = Tally::default();
    for seed in 0..700 {
        let (mut program, mut rng) = random(seed);
        let Some(part) = Part::random(&program, &mut rng) else { continue };
        let mut analysis = Analysis::of_region(&Said::new(&program), &part.region());
        tally.regions += 1;
        compare(&analysis, &part, &program, &format!("seed {seed}\n{program:#?}"));
        execute(&analysis, &part, &program, seed, &mut tally);
        for round in 0..3 {
            let before = program.clone();
            program.edit(&mut rng);
            if program.blocks.len() != before.blocks.len() || !is_entered_once(&program, &part) {
                break;
            }
            let told = changes(&before, &program);
            let outcome = analysis.after(&Said::new(&program), &told);
            tally.repaired += usize::from(matches!(
                outcome,
                phalanx_core::divergence::repair::Outcome::Repaired { .. }
            ));
            assert_eq!(analysis.difference(&Said::new(&program)), None, "seed {seed}, {round}");
            compare(&analysis, &part, &program, &format!("seed {seed}, {round}\n{program:#?}"));
        }
    }
    assert_eq!(tally.wrong, 0, "{tally:?}");
    assert!(tally.regions > 500 && tally.claims > 2000 && tally.divergent > 500, "{tally:?}");
    assert!(tally.repaired > 100, "{tally:?}");
}

/// Whether threads still come into the region by its entry alone, and all that it reads from
/// outside was there before.
fn is_entered_once(program: &Program, part: &Part) -> bool {
    let cfg = program.cfg();
    let dom = DomTree::new(&cfg);
    let entry = Node::new(part.entry);
    (0..program.blocks.len()).filter(|&block| part.inside[block]).all(|block| {
        let node = Node::new(block);
        let mut from = cfg.predecessors(node).iter();
        dom.is_reachable(node)
            && dom.dominates(entry, node)
            && (block == part.entry || from.all(|pred| part.inside[pred.index()]))
    })
}

/// The law can fail: a source that is not given is missed.
#[test]
fn sources_that_are_left_out_are_missed() {
    let mut tally = Tally::default();
    for seed in 0..200 {
        let (program, mut rng) = random(seed);
        let Some(part) = Part::random(&program, &mut rng) else { continue };
        let none = Part { given: Vec::new(), inside: part.inside.clone(), ..part };
        let analysis = Analysis::of_region(&Said::new(&program), &none.region());
        execute(&analysis, &part, &program, seed, &mut tally);
    }
    assert!(tally.wrong > 50, "{tally:?}");
}

/// ```text
/// b0(i):  c = i < n        the header: rounds become lanes
///         branch c -> b1, b3
/// b1:     s = n + n
///         branch s -> b2, b2
/// b2(p):  jump b0
/// b3:
/// ```
#[test]
fn rounds_of_a_loop_are_lanes() {
    let (i, n, c, s) = (0, 1, 2, 3);
    let value = |value: ValueNumber| Operand::Value(value);
    let pure = |a, b| Operation::Pure(0, [value(a), value(b)]);
    let edge = |to, arguments| Edge { to, arguments };
    let block = |arguments, operations, condition, edges| toy::Block {
        arguments,
        operations,
        slots: Vec::new(),
        end: End { condition, edges },
    };
    let program = Program {
        blocks: vec![
            block(vec![], vec![(n, Operation::Argument(0))], None, vec![edge(1, vec![value(n)])]),
            block(
                vec![i],
                vec![(c, pure(i, n))],
                Some(value(c)),
                vec![edge(2, vec![]), edge(3, vec![])],
            ),
            block(
                vec![],
                vec![(s, pure(n, n))],
                Some(value(s)),
                vec![edge(1, vec![value(s)]), edge(3, vec![])],
            ),
            block(vec![], vec![], None, vec![]),
        ],
        value_count: 4,
    };
    let header = Block::new(1);
    let blocks = [1, 2].map(Block::new);
    let region = Region::new(header, blocks).given(Value::new(0), SourceSet::LANE);
    let said = Said::new(&program);
    let analysis = Analysis::of_region(&said, &region);
    assert_eq!(analysis.sources(Value::new(0)), SourceSet::LANE, "the round");
    assert_eq!(analysis.branch(header), SourceSet::LANE, "needs a mask");
    assert_eq!(analysis.control(Block::new(2)), SourceSet::LANE);
    assert!(analysis.sources(Value::new(3)).is_empty(), "what comes from outside is the same");
    assert!(analysis.branch(Block::new(2)).is_empty());
    assert_eq!(said.values.get(), 2, "nothing outside is said");
    let cautious = Region::new(header, blocks).outside(SourceSet::OPAQUE_THREAD);
    let analysis = Analysis::of_region(&Said::new(&program), &cautious);
    let expected = SourceSet::OPAQUE_THREAD;
    assert_eq!([0, 3].map(|value| analysis.sources(Value::new(value))), [expected; 2]);

    let mut analysis = Analysis::of_region(&said, &region);
    let mut edited = program.clone();
    edited.blocks[2].operations[0].1 = pure(n, i);
    let told = [Change::Value(Value::new(3))];
    analysis.after(&Said::new(&edited), &told);
    assert_eq!(analysis.branch(Block::new(2)), SourceSet::LANE, "it follows edits");
}
