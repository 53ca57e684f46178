//! Small graphs, and what may move in them.

use expect_test::{Expect, expect};
use phalanx_graph::{Cfg, Cycles, DomTree, Joins, sync::SyncDependence};

use super::{machines::Machine, *};
use crate::divergence::{Rules, ValueTableBuilder, solve};

struct Example {
    cfg: Cfg,
    dom: DomTree,
    cycles: Cycles,
    sync: SyncDependence,
    divergence: Divergence,
    edges: EdgeDivergence,
}

fn n(number: usize) -> Node {
    Node::new(number)
}

impl Example {
    /// A graph by its edges, with divergent branches.
    fn new(edges: &[(usize, usize)], divergent: &[usize]) -> Self {
        let nodes = edges.iter().map(|&(a, b)| a.max(b)).max().unwrap_or(0) + 1;
        let to = |from: usize| {
            edges.iter().filter(move |e| e.0 == from).map(|e| n(e.1)).collect::<Vec<_>>()
        };
        let cfg = Cfg::new(n(0), (0..nodes).map(to));
        let (dom, cycles) = (DomTree::new(&cfg), Cycles::new(&cfg));
        let sync = SyncDependence::new(&cfg, &dom, &cycles);
        let mut table = ValueTableBuilder::new(nodes);
        divergent.iter().for_each(|&block| table.seed_terminator(n(block), SourceSet::X));
        let flow = FlowFacts { cfg: &cfg, dom: &dom, cycles: &cycles, sync: &sync };
        let divergence = solve(flow, &table.finish(), Rules::Precise);
        let edges = EdgeDivergence::new(flow, divergence.terminators());
        Self { cfg, dom, cycles, sync, divergence, edges }
    }

    fn legality(&self) -> Legality<'_> {
        let Self { cfg, dom, cycles, sync, divergence, edges } = self;
        let flow = FlowFacts { cfg, dom, cycles, sync };
        let is_divergent = |node: Node| {
            cfg.is_branch(node) && divergence.terminator(node).intersects(SourceSet::X)
        };
        let joins = Joins::new(cfg, &|_| false);
        let machine = Machine { joins: &joins, cycles, is_divergent: &is_divergent };
        let (rounds, machines) = (machine.rounds(), Machines::All);
        Legality { flow, divergence, edges, varying: SourceSet::X, rounds, machines }
    }

    /// The only cycle.
    fn cycle(&self) -> CycleId {
        self.cycles.iter().next().expect("there is a cycle")
    }
}

fn check(answers: &[(&str, Result<(), Refusal>)], expected: &Expect) {
    let lines = answers.iter().map(|(question, answer)| match answer {
        Ok(()) => format!("{question}: yes\n"),
        Err(refusal) => format!("{question}: {refusal}\n"),
    });
    expected.assert_eq(&lines.collect::<String>());
}

const DIAMOND: &[(usize, usize)] = &[(0, 1), (0, 2), (1, 3), (2, 3)];

#[test]
fn around_a_divergent_branch() {
    let example = Example::new(DIAMOND, &[0]);
    let l = example.legality();
    check(
        &[
            ("hoist 3 to 0", l.hoist(n(3), n(0), false)),
            ("hoist 1 to 0", l.hoist(n(1), n(0), true)),
            ("sink 0 to 3", l.sink(n(0), n(3))),
            ("sink 0 to 1", l.sink(n(0), n(1))),
            ("duplicate 3", l.duplicate(n(3))),
            ("merge 1 and 2", l.merge(n(1), n(2))),
            ("speculate 1", l.speculate(n(1), true)),
            ("1 again in 3", l.cse(n(1), n(3))),
        ],
        &expect![[r#"
            hoist 3 to 0: yes
            hoist 1 to 0: threads part at the divergent branch of 0, and some do not come to 1
            sink 0 to 3: yes
            sink 0 to 1: threads part at the divergent branch of 0, and some do not come to 1
            duplicate 3: threads that are together in 3 came by different edges
            merge 1 and 2: the branch of 0 is divergent
            speculate 1: the branch of 0 is divergent
            1 again in 3: 3 is reached without 1
        "#]],
    );
}

#[test]
fn around_a_uniform_branch() {
    let example = Example::new(DIAMOND, &[]);
    let l = example.legality();
    check(
        &[
            ("hoist 1 to 0", l.hoist(n(1), n(0), true)),
            ("hoist 1 to 0, as it is", l.hoist(n(1), n(0), false)),
            ("sink 0 to 1", l.sink(n(0), n(1))),
            ("duplicate 3", l.duplicate(n(3))),
            ("merge 1 and 2", l.merge(n(1), n(2))),
            ("merge 1 and 3", l.merge(n(1), n(3))),
            ("speculate 1", l.speculate(n(1), true)),
            ("speculate 1, as it is", l.speculate(n(1), false)),
        ],
        &expect![[r#"
            hoist 1 to 0: yes
            hoist 1 to 0, as it is: 1 need not be reached, and the operation may not be executed where it was not
            sink 0 to 1: yes
            duplicate 3: yes
            merge 1 and 2: yes
            merge 1 and 3: 3 is entered by more than the one branch, or takes part in a cycle
            speculate 1: yes
            speculate 1, as it is: the operation may not be executed where it was not
        "#]],
    );
}

/// 1 is the header, 2 the body and latch, 3 behind.
const LOOP: &[(usize, usize)] = &[(0, 1), (1, 2), (2, 1), (1, 3)];

#[test]
fn a_cycle_that_is_left_together() {
    let example = Example::new(LOOP, &[]);
    let (l, cycle) = (example.legality(), example.cycle());
    let is_convergent = |block: Node| block == n(2);
    check(
        &[
            ("out of the header", l.hoist(n(1), n(0), false)),
            ("out of the body", l.hoist(n(2), n(0), false)),
            ("out of the body, speculated", l.hoist(n(2), n(0), true)),
            ("from behind", l.hoist(n(3), n(0), true)),
            ("unroll", l.unroll(cycle, Unroll::WithRemainder, &is_convergent)),
            ("peel", l.peel(cycle)),
            ("rotate", l.rotate(cycle)),
            ("unswitch", l.unswitch(cycle, n(1), &is_convergent)),
            ("split the header", l.split_header(cycle, &is_convergent)),
        ],
        &expect![[r#"
            out of the header: yes
            out of the body: 2 need not be reached, and the operation may not be executed where it was not
            out of the body, speculated: yes
            from behind: yes
            unroll: yes
            peel: yes
            rotate: yes
            unswitch: yes
            split the header: 2 in the cycle of 1 has a convergent operation
        "#]],
    );
}

/// Both ways of a branch may lead to the header.
#[test]
fn a_cycle_behind_two_edges() {
    let both = Example::new(&[(0, 1), (0, 1), (1, 1), (1, 2)], &[0]);
    let past = Example::new(&[(0, 1), (0, 2), (1, 1), (1, 2)], &[]);
    check(
        &[
            ("hoist 1 to 0 over both edges", both.legality().hoist(n(1), n(0), true)),
            ("hoist 1 to 0, which may go past it", past.legality().hoist(n(1), n(0), true)),
        ],
        &expect![[r#"
            hoist 1 to 0 over both edges: yes
            hoist 1 to 0, which may go past it: 0 is not the one block before the cycle of 1, or leads elsewhere, too
        "#]],
    );
}

#[test]
fn a_cycle_that_is_left_by_some() {
    let example = Example::new(LOOP, &[1]);
    let (l, cycle) = (example.legality(), example.cycle());
    let is_convergent = |block: Node| block == n(2);
    check(
        &[
            ("out of the header", l.hoist(n(1), n(0), false)),
            ("out of the body", l.hoist(n(2), n(0), true)),
            ("from behind", l.hoist(n(3), n(0), false)),
            ("unroll", l.unroll(cycle, Unroll::WithRemainder, &is_convergent)),
            ("unroll, exits kept", l.unroll(cycle, Unroll::WithExits, &is_convergent)),
            ("unroll without votes", l.unroll(cycle, Unroll::WithRemainder, &|_| false)),
            ("unswitch", l.unswitch(cycle, n(1), &is_convergent)),
            ("unswitch without votes", l.unswitch(cycle, n(1), &|_| false)),
        ],
        &expect![[r#"
            out of the header: threads leave the cycle of 1 in different rounds
            out of the body: threads leave the cycle of 1 in different rounds
            from behind: 3 need not be reached, and the operation may not be executed where it was not
            unroll: threads leave the cycle of 1 in different rounds
            unroll, exits kept: yes
            unroll without votes: yes
            unswitch: the branch of 1 is divergent
            unswitch without votes: yes
        "#]],
    );
}

#[test]
fn two_latches_and_two_entries() {
    let latches = Example::new(&[(0, 1), (1, 2), (1, 3), (2, 1), (3, 1), (3, 4)], &[]);
    let entries = Example::new(&[(0, 1), (0, 2), (1, 2), (2, 1), (2, 3)], &[]);
    check(
        &[
            ("peel with two latches", latches.legality().peel(latches.cycle())),
            ("rotate with two ways on", latches.legality().rotate(latches.cycle())),
            ("peel with two entries", entries.legality().peel(entries.cycle())),
            ("out of two entries", entries.legality().hoist(n(2), n(0), true)),
        ],
        &expect![[r#"
            peel with two latches: yes
            rotate with two ways on: rounds do not go on from 1 to one block that could be the header
            peel with two entries: the cycle of 2 has several entries
            out of two entries: the cycle of 2 has several entries
        "#]],
    );
}

/// On a stack of masks threads of two rounds meet in 3, where the branch of 2 joins: no group of
/// the cycle or behind it is that of maximal convergence.
#[test]
fn rounds_that_are_mixed() {
    // 1 is the header; 2 goes on with the next round or to 3, where all come in the end.
    let example = Example::new(&[(0, 1), (1, 2), (2, 1), (2, 3), (3, 1), (3, 4)], &[2]);
    let Example { cfg, cycles, divergence, .. } = &example;
    let is_divergent =
        |node: Node| cfg.is_branch(node) && divergence.terminator(node).intersects(SourceSet::X);
    let joins = Joins::new(cfg, &|_| false);
    let machine = Machine { joins: &joins, cycles, is_divergent: &is_divergent };
    let whole = |blocks: &[Node]| machine.whole(blocks);
    check(
        &[
            ("the header", whole(&[n(1)])),
            ("where rounds meet", whole(&[n(3)])),
            ("behind the cycle", whole(&[n(4)])),
            ("nothing", whole(&[])),
        ],
        &expect![[r#"
            the header: where threads join at post-dominators, those that part at the divergent branch of 2 join at 3 after different numbers of rounds
            where rounds meet: where threads join at post-dominators, those that part at the divergent branch of 2 join at 3 after different numbers of rounds
            behind the cycle: where threads join at post-dominators, those that part at the divergent branch of 2 join at 3 after different numbers of rounds
            nothing: yes
        "#]],
    );
}
