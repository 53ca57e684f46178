//! Edges between the same blocks that bring different values: what is claimed of them holds in
//! execution, follows edits, and is explained.

pub(crate) mod model;

use phalanx_core::block_graph::{Block, NodeOrigin};
use phalanx_core::control::control_divergence;
use phalanx_core::divergence::repair::{Outcome, Retained};
use phalanx_core::explain::check::Implications;
use phalanx_core::explain::{Cause, Derivations, Fact, Link};
use phalanx_core::legality::edges::EdgeDivergence;
use phalanx_core::{SourceSet, User, Value};
use phalanx_graph::{BitSet, Cfg, Node, PostDomTree};
use phalanx_testing::abstract_oracle::{Effort, hierarchies};
use phalanx_testing::abstract_program::{Operand, Operation};
use phalanx_testing::block_arguments::run::{Observed, Reader, observe};
use phalanx_testing::block_arguments::{self as toy, Program, generate};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use model::{Graphs, Solved, Telling, restate};

pub(crate) fn block(
    arguments: &[u32],
    operations: &[(u32, Operation)],
    condition: Option<u32>,
    edges: &[(usize, &[Operand])],
) -> toy::Block {
    let edge =
        |(to, brought): &(usize, &[Operand])| toy::Edge { to: *to, arguments: brought.to_vec() };
    let condition = condition.map(Operand::Value);
    toy::Block {
        arguments: arguments.to_vec(),
        operations: operations.to_vec(),
        slots: Vec::new(),
        end: toy::End { condition, edges: edges.iter().map(edge).collect() },
    }
}

const ZERO: Operand = Operand::Constant(0);
const ONE: Operand = Operand::Constant(1);

fn sources(solved: &Solved, value: usize) -> SourceSet {
    solved.answer.value(Value::new(value))
}

/// `branch id -> b1(0), b1(1)`, and likewise with a launch argument.
fn two_ways(condition: Operation) -> Program {
    let blocks = vec![
        block(&[], &[(0, condition)], Some(0), &[(1, &[ZERO, ONE]), (1, &[ONE, ONE])]),
        block(&[1, 2], &[(3, Operation::Pure(0, [Operand::Value(1), ZERO]))], None, &[]),
    ];
    Program { blocks, value_count: 4 }
}

#[test]
fn an_argument_has_the_sources_of_the_branch_that_chooses_it() {
    let solved = Solved::new(&two_ways(Operation::ThreadId), Telling::Right);
    // The second argument is the same by both edges.
    let found = [1, 2, 3].map(|value| sources(&solved, value));
    assert_eq!(found, [SourceSet::X, SourceSet::EMPTY, SourceSet::X]);
    let uniform = Solved::new(&two_ways(Operation::Argument(0)), Telling::Right);
    assert!((0..4).all(|value| sources(&uniform, value).is_empty()));
    // Threads are told apart by the edge that they came by.
    let edges = EdgeDivergence::new(solved.graphs.flow(), solved.answer.terminators());
    assert_eq!(edges.into_block(Node::new(1)), SourceSet::X);
}

/// Without a node on an edge nothing is known of the argument, whatever the branch is.
#[test]
fn an_argument_is_unknown_without_nodes_on_edges() {
    for condition in [Operation::ThreadId, Operation::Argument(0)] {
        let solved = Solved::new(&two_ways(condition), Telling::Nothing);
        assert!(sources(&solved, 1).contains(SourceSet::OPAQUE_THREAD));
        assert!(sources(&solved, 2).is_empty());
    }
}

#[test]
fn the_chain_names_the_branch_and_both_edges() {
    let solved = Solved::new(&two_ways(Operation::ThreadId), Telling::Right);
    let Solved { graph, graphs, table, answer } = &solved;
    let derivations = Derivations::new(graphs.flow(), table, answer);
    let fact = Fact::Value(Value::new(3));
    let chain = derivations.of(graphs.flow(), table, None, fact, SourceSet::X);
    let facts: Vec<Fact> = chain.iter().map(|link: &Link| link.fact).collect();
    let branch = Fact::Terminator(Node::new(0));
    assert_eq!(
        facts,
        [fact, Fact::Value(Value::new(1)), branch, Fact::Value(Value::new(0))],
        "{chain:?}"
    );
    let Cause::Join(separation) = &chain[1].cause else { panic!("{:?}", chain[1]) };
    let ways = separation.ways.as_ref().expect("two ways");
    let places = ways.iter().flatten().map(|node| graph.place(*node));
    let on_edges: Vec<NodeOrigin> =
        places.filter(|place| matches!(place, NodeOrigin::Edge(..))).collect();
    assert_eq!(on_edges, [NodeOrigin::Edge(Block::new(0), 1)]);
}

/// Threads leave the loop by one of two edges, in whatever round. What they bring is the same in
/// each round, but they take different edges.
#[test]
fn edges_that_leave_a_loop_bring_different_values() {
    let v = Operand::Value;
    let blocks = vec![
        block(&[], &[(0, Operation::ThreadId), (1, Operation::Argument(0))], None, &[(1, &[])]),
        block(
            &[],
            &[(2, Operation::Uniform), (3, Operation::Pure(0, [v(0), v(2)]))],
            Some(3),
            &[(1, &[]), (2, &[v(1), v(2)]), (2, &[ZERO, v(2)])],
        ),
        block(&[4, 5], &[], None, &[]),
    ];
    let program = Program { blocks, value_count: 6 };
    let solved = Solved::new(&program, Telling::Right);
    assert_eq!(sources(&solved, 4), SourceSet::X, "the edge decides");
    assert_eq!(sources(&solved, 5), SourceSet::X, "the round decides");
    assert_eq!(sources(&solved, 2), SourceSet::EMPTY);
}

#[derive(Debug, Default)]
struct Tally {
    programs: usize,
    /// Edges that bring something else than another one between the same blocks.
    parallel: usize,
    /// Values, ends and uses that are claimed to be uniform.
    claims: usize,
    seen: usize,
    wrong: Vec<String>,
}

/// Whether what was seen to differ was claimed not to.
fn refuted(solved: &Solved, observed: &Observed, tally: &mut Tally) {
    let Solved { graph, answer, .. } = solved;
    let end = |block: usize| graph.node(Block::new(block));
    for value in observed.values.iter().filter(|value| sources(solved, *value).is_empty()) {
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

fn execute(seed: u64, telling: Telling, tally: &mut Tally) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut program = generate::program(&mut rng, [3, 5, 8, 12][seed as usize % 4]);
    assert!(program.is_valid(), "seed {seed}: {program:?}");
    for _ in 0..seed % 5 {
        program.edit(&mut rng);
    }
    let solved = Solved::new(&program, telling);
    tally.programs += 1;
    tally.parallel += program.parallel();
    tally.claims += solved.answer.values().iter().filter(|sources| sources.is_empty()).count();
    let before = tally.wrong.len();
    for cycles in hierarchies(&program.cfg(), seed, 4) {
        let observed = observe(&program, &cycles, Effort { runs: 12, threads: 5, fuel: 40 });
        refuted(&solved, &observed, tally);
    }
    if telling != Telling::FirstOnly {
        assert_eq!(tally.wrong.len(), before, "seed {seed}: {:?}\n{program:#?}", tally.wrong);
    }
}

#[test]
fn no_claim_is_refuted() {
    for telling in [Telling::Right, Telling::Nothing] {
        let mut tally = Tally::default();
        (0..1500).for_each(|seed| execute(seed, telling, &mut tally));
        assert!(tally.parallel > 1000 && tally.claims > 3000 && tally.seen > 3000, "{tally:?}");
    }
}

/// The law can fail: what was claimed before edges were told apart is refuted.
#[test]
fn claims_that_forget_edges_are_refuted() {
    let mut tally = Tally::default();
    (0..500).for_each(|seed| execute(seed, Telling::FirstOnly, &mut tally));
    assert!(tally.wrong.len() > 20, "{tally:?}");
}

/// Whether a way leads from every block to one without successors.
fn all_come_to_an_end(cfg: &Cfg) -> bool {
    let ends = |node: &Node| cfg.successors(*node).is_empty();
    let mut work: Vec<Node> = cfg.nodes().filter(ends).collect();
    let mut seen = BitSet::new(cfg.node_count());
    while let Some(node) = work.pop() {
        if seen.insert(node.index()) {
            work.extend(cfg.predecessors(node));
        }
    }
    seen.count() == cfg.node_count()
}

/// Every fact has a chain that holds, and every block is decided on by what decides on it in the
/// program's own graph.
#[test]
fn causes_and_control_are_right_with_nodes_on_edges() {
    let (mut through, mut ended) = (0, 0);
    for seed in 0..1500 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let program = generate::program(&mut rng, [3, 5, 8][seed as usize % 3]);
        let Solved { graph, graphs, table, answer } = Solved::new(&program, Telling::Right);
        let (flow, postdom) = (graphs.flow(), PostDomTree::new(&graphs.cfg));
        let derivations = Derivations::new(flow, &table, &answer);
        let twin = Implications::new(flow, &table, &answer, graphs.cycles.all_reducible());
        for value in table.values() {
            let fact = Fact::Value(value);
            let chain = derivations.of(flow, &table, None, fact, SourceSet::ALL);
            assert_eq!(chain.is_empty(), answer.value(value).is_empty(), "seed {seed}, {value:?}");
            if !chain.is_empty() {
                let checked = twin.check(&postdom, fact, SourceSet::ALL, &chain);
                assert_eq!(checked, Ok(()), "seed {seed}, {value:?}");
            }
            let is_on_edge = |node: &Node| matches!(graph.place(*node), NodeOrigin::Edge(..));
            through += usize::from(chain.iter().any(|link| match &link.cause {
                Cause::Join(by) => by.ways.iter().flatten().flatten().any(is_on_edge),
                _ => false,
            }));
        }
        // Where threads never leave, an exit is made up, and the graphs may have different ones.
        let own = program.cfg();
        if !all_come_to_an_end(&own) {
            continue;
        }
        ended += 1;
        let ends: Vec<SourceSet> = own.nodes().map(|node| answer.terminator(node)).collect();
        let expected = control_divergence(&own, &PostDomTree::new(&own), &ends.into());
        let found = control_divergence(&graphs.cfg, &postdom, answer.terminators());
        for block in 0..program.blocks.len() {
            assert_eq!(found[block], expected[block], "seed {seed}, block {block}\n{program:#?}");
        }
    }
    assert!(through > 40 && ended > 600, "{through}, {ended}");
}

#[derive(Debug, Default)]
struct Edits {
    flow: usize,
    repaired: usize,
    rebuilt: usize,
    scratch: usize,
    nodes_used_again: usize,
}

/// Edits a program, and follows. The answer is what solving from scratch says, on the same graph
/// and on one that is made anew.
fn follow(seed: u64, telling: Telling, edits: &mut Edits) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut program = generate::program(&mut rng, [3, 6, 10, 20][seed as usize % 4]);
    let mut graph = model::graph(&program, telling);
    let mut retained: Option<Retained> = None;
    for round in 0..16 {
        let before = program.clone();
        program.edit(&mut rng);
        let mut is_flow = restate((&before, &program), &mut graph, retained.as_mut(), telling);
        let touched = graph.take_touched();
        is_flow |= !touched.is_empty();
        let graphs = Graphs::new(graph.cfg(Block::new(0)));
        let repaired = retained.as_mut().map(|retained| match is_flow {
            true => retained.repair_flow(graphs.flow(), Some(&touched)),
            false => retained.repair(graphs.flow()),
        });
        edits.flow += usize::from(is_flow && repaired.is_some());
        match repaired {
            Some(Ok(Outcome::Repaired { .. })) => edits.repaired += 1,
            Some(Ok(Outcome::Rebuilt)) => edits.rebuilt += 1,
            Some(Err(_)) | None => {
                edits.scratch += 1;
                let table = model::table(&program, &graph, telling);
                retained = Retained::new(graphs.flow(), table).ok();
            }
        }
        let Some(retained) = &retained else { continue };
        let scratch = Solved::on(&program, graph.clone(), telling);
        let what = || format!("seed {seed}, round {round}\n{before:#?}\n{program:#?}");
        assert!(**retained.answer() == scratch.answer, "{}", what());
        let anew = Solved::new(&program, telling);
        assert_eq!(retained.answer().values(), anew.answer.values(), "{}", what());
        for block in (0..program.blocks.len()).map(Block::new) {
            let (here, there) = (graph.node(block), anew.graph.node(block));
            let expected = anew.answer.terminator(there);
            assert_eq!(retained.answer().terminator(here), expected, "{}", what());
            edits.nodes_used_again += usize::from(here != there);
        }
    }
}

#[test]
fn warm_equals_cold() {
    let mut edits = Edits::default();
    (0..800).for_each(|seed| follow(seed, Telling::Right, &mut edits));
    assert!(edits.repaired > 8 * edits.rebuilt && edits.flow > 2000, "{edits:?}");
    assert!(edits.repaired > 6000 && edits.nodes_used_again > 500, "{edits:?}");
    (0..200).for_each(|seed| follow(seed, Telling::Nothing, &mut edits));
}
