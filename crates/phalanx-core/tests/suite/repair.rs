//! Repaired divergence is what solving from scratch says, after any edit of instructions; and the
//! price is that of what changed.

mod model;

use phalanx_core::SourceSet;
use phalanx_core::divergence::repair::{Outcome, Retained, Unfit};
use phalanx_core::divergence::{Definition, Divergence, Rules, Value, solve};
use phalanx_graph::sync::SyncDependence;
use phalanx_graph::{Cfg, Cycles, DomTree, Node};
use phalanx_testing::abstract_families;
use phalanx_testing::abstract_program::{AbstractProgram, Operand};
use phalanx_testing::generate::{Options, program};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use model::{Def, End, Model, incoming};

#[derive(Debug, Default)]
struct Counts {
    flow_repaired: usize,
    flow_rebuilt: usize,
    repaired: usize,
    rebuilt: usize,
    scratch: usize,
    /// Functions that could be followed for all that the answer tells.
    missed: usize,
    /// Repaired, with threads that run apart in a region.
    apart: usize,
    temporal: usize,
    changed: usize,
    /// How often the rules were asked from either end.
    rules: usize,
}

fn check(
    seed: u64,
    program: &AbstractProgram,
    rounds: usize,
    flow_share: f64,
    counts: &mut Counts,
) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut model = Model::new(program, &mut rng);
    let mut retained: Option<Retained> = None;
    let mut last = None;
    for round in 0..rounds {
        for _ in 0..rng.random_range(1..4) {
            model.edit(&mut rng, &mut retained);
        }
        let is_flow = rng.random_bool(flow_share);
        let mut touched = Vec::new();
        let before = model.successors();
        if is_flow {
            touched = model.edit_flow(&mut rng, &mut retained);
            if rng.random_bool(0.3) {
                touched.extend(model.edit_flow(&mut rng, &mut retained));
            }
        }
        let scratch = solve(model.flow(), &model.table(), Rules::Precise);
        let touched = rng.random_bool(0.5).then_some(touched.as_slice());
        let repaired = retained.as_mut().map(|retained| match is_flow {
            true => retained.repair_flow(model.flow(), touched),
            false => retained.repair(model.flow()),
        });
        match repaired {
            Some(Ok(Outcome::Repaired { .. })) if is_flow => counts.flow_repaired += 1,
            Some(Ok(Outcome::Rebuilt)) if is_flow => counts.flow_rebuilt += 1,
            None => {
                counts.scratch += 1;
                retained = Retained::new(model.flow(), model.table()).ok();
                let is_possible = Retained::is_possible(model.flow(), &scratch);
                assert!(retained.is_none() || is_possible, "seed {seed}, round {round}");
                counts.missed += usize::from(is_possible && retained.is_none());
            }
            Some(Ok(Outcome::Repaired { .. })) => {
                counts.repaired += 1;
                counts.apart += usize::from(!scratch.assumed_divergent_cycles().is_empty());
            }
            Some(Ok(Outcome::Rebuilt)) => counts.rebuilt += 1,
            Some(Err(_)) => {
                counts.scratch += 1;
                retained = None;
                counts.missed += usize::from(Retained::is_possible(model.flow(), &scratch));
            }
        }
        if let Some(retained) = &mut retained
            && **retained.answer() != scratch
        {
            let of = |d: &Divergence| {
                let values: Vec<_> = (0..d.values().len())
                    .map(|v| (v, d.value(Value::new(v))))
                    .filter(|e| !e.1.is_empty())
                    .collect();
                format!(
                    "values {values:?}\nterminators {:?}\ntemporal {:?}\nexits {:?}\nassumed {:?}\nunlisted {:?}",
                    d.terminators(),
                    d.temporal_uses(),
                    d.cycles_with_divergent_exit(),
                    d.assumed_divergent_cycles(),
                    d.unlisted_uses(),
                )
            };
            let table = model.table();
            let differ = |v: &Value| retained.answer().value(*v) != scratch.value(*v);
            let wrong: Vec<(Value, &Def)> =
                table.values().filter(differ).map(|v| (v, &model.values[v.index()])).collect();
            panic!(
                "seed {seed}, round {round}: {wrong:?}\nrepaired {}\nscratch {}\nbefore {before:?}\nafter {:?}",
                of(retained.answer()),
                of(&scratch),
                model.successors()
            );
        }
        counts.changed += usize::from(last.as_ref() != Some(&scratch));
        counts.temporal += usize::from(!scratch.temporal_uses().is_empty());
        last = Some(scratch);
    }
    if let Some(retained) = retained.filter(|_| seed.is_multiple_of(8)) {
        counts.rules += 1;
        if let Err(wrong) = retained.check_rules(model.flow()) {
            panic!("seed {seed}: {wrong}");
        }
    }
}

/// How many times as much is done as in an ordinary run.
fn effort() -> u64 {
    std::env::var("PHALANX_REPAIR").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

#[test]
fn warm_equals_cold() {
    let mut counts = Counts::default();
    for seed in 0..2000 * effort() {
        let blocks = [4, 8, 12, 20, 40][seed as usize % 5];
        let program = program(seed, Options { blocks, undef: seed % 3 == 0, shape: None });
        check(seed, &program, 12, 0.0, &mut counts);
    }
    let all = counts.repaired + counts.rebuilt + counts.scratch;
    assert!(counts.repaired * 2 > all && counts.apart > 500, "{counts:?}");
    assert!(counts.temporal > all / 20 && counts.changed > all / 4, "{counts:?}");
    assert!(counts.rules > 100, "{counts:?}");
}

/// Blocks are split and merged, edges come and go, among other edits.
#[test]
fn warm_equals_cold_when_the_control_flow_is_edited() {
    let mut counts = Counts::default();
    for seed in 0..2000 * effort() {
        let blocks = [4, 8, 12, 20, 40][seed as usize % 5];
        let program = program(seed, Options { blocks, undef: seed % 3 == 0, shape: None });
        check(seed, &program, 12, 0.6, &mut counts);
    }
    assert!(counts.flow_repaired > 20 * counts.flow_rebuilt, "{counts:?}");
    // Cycles within regions that are assumed divergent are not told of where the region is as well.
    assert!(counts.scratch > 8 * counts.missed, "{counts:?}");
    assert!(counts.flow_repaired > 5000 && counts.temporal > 3000, "{counts:?}");
}

/// Wide joins, many exits, deep nests: what random programs have too little of.
#[test]
fn warm_equals_cold_on_families() {
    let mut counts = Counts::default();
    let mut programs: Vec<AbstractProgram> = Vec::new();
    for family in abstract_families::ALL {
        programs.extend([4, 13, 40].map(family.make));
    }
    for family in phalanx_graph::testing::families::ALL {
        programs.extend([8, 40, 120].map(|n| abstract_families::on_graph(&(family.with_nodes)(n))));
    }
    for round in 0..effort() {
        for (i, program) in programs.iter().enumerate() {
            check(round * 1000 + i as u64, program, 25, 0.0, &mut counts);
            check(round * 1000 + i as u64, program, 25, 0.5, &mut counts);
        }
    }
    let all = counts.repaired + counts.rebuilt + counts.scratch;
    assert!(counts.repaired * 2 > all && counts.changed > all / 4, "{counts:?}");
}

/// A chain of operations with one divergent value at its head, in a loop or not.
fn chain(n: usize, is_loop: bool) -> Model {
    let node = Node::new;
    let lists: [Vec<Node>; 4] = match is_loop {
        true => [vec![node(1)], vec![node(2)], vec![node(1), node(3)], vec![]],
        false => [vec![node(1)], vec![node(2)], vec![node(3)], vec![]],
    };
    let cfg = Cfg::new(node(0), lists);
    let (dom, cycles) = (DomTree::new(&cfg), Cycles::new(&cfg));
    let sync = SyncDependence::new(&cfg, &dom, &cycles);
    let def = |block: usize, operands: Vec<Value>| Def {
        block: node(block),
        definition: Definition::PURE,
        image: None,
        operands,
        incoming: None,
    };
    // Value 0 is divergent, value 1 is not, value 2 is where the loop begins.
    let mut values = vec![def(0, vec![]), def(0, vec![]), def(1, vec![])];
    values[0].definition = Definition::source(SourceSet::X);
    let last = Value::new(n - 1);
    let from = |pred: usize, value: Value| incoming(node(pred), Operand::Value(value.raw()));
    values[2].incoming = Some(match is_loop {
        true => vec![from(0, Value::new(0)), from(2, last)],
        false => vec![from(0, Value::new(0))],
    });
    values.extend((3..n).map(|i| def(2, vec![Value::new(i - 1), Value::new(1)])));
    let ends = vec![End::default(); 4];
    Model { layout: cfg.nodes().collect(), cfg, dom, cycles, sync, values, ends }
}

fn follow(model: &Model) -> Option<Retained> {
    Some(Retained::new(model.flow(), model.table()).expect("reducible"))
}

fn repair(retained: &mut Option<Retained>, model: &Model) -> Result<Outcome, Unfit> {
    retained.as_mut().expect("followed").repair(model.flow())
}

fn answer(retained: &Option<Retained>) -> &Divergence {
    retained.as_ref().expect("followed").answer()
}

fn branch_on(retained: &mut Option<Retained>, read: &[Value]) {
    let table = retained.as_mut().expect("followed").table();
    table.set_terminator(Node::new(2), false, SourceSet::EMPTY, read);
}

#[test]
fn the_price_is_that_of_what_changes() {
    const N: usize = 20_000;
    for is_loop in [false, true] {
        let mut model = chain(N, is_loop);
        let mut retained = follow(&model);
        let mut rng = SmallRng::seed_from_u64(3);
        for _ in 0..200 {
            let at = rng.random_range(100..N);
            // Skips a link or puts it back: what is divergent stays so, in a cycle of support or
            // not.
            let skips = rng.random_range(1..3);
            model.values[at].operands[0] = Value::new(at - skips);
            model.state(Value::new(at), &mut retained);
            let Ok(Outcome::Repaired { visited }) = repair(&mut retained, &model) else {
                panic!("given up");
            };
            assert!(visited < 16, "{visited} visited");
        }
        assert_eq!(*answer(&retained), solve(model.flow(), &model.table(), Rules::Precise));
        // What the loop carries holds itself up no longer when the head of the chain is uniform.
        model.values[0].definition = Definition::PURE;
        model.state(Value::new(0), &mut retained);
        repair(&mut retained, &model).expect("reducible");
        assert!(answer(&retained).values().iter().all(|sources| sources.is_empty()));
    }
}

/// The answer follows when a branch becomes divergent, and when it does no longer.
#[test]
fn control_comes_and_goes() {
    let mut model = chain(8, true);
    model.values[0].definition = Definition::PURE;
    let mut outside = model.values[7].clone();
    outside.block = Node::new(3);
    outside.operands = vec![Value::new(7)];
    model.values.push(outside);
    let source = Definition::source(SourceSet::X);
    model.values.push(Def { definition: source, ..model.values[1].clone() });
    let mut retained = follow(&model);
    assert_eq!(answer(&retained).value(Value::new(7)), SourceSet::EMPTY);
    for _ in 0..2 {
        let x = [Value::new(9)];
        branch_on(&mut retained, &x);
        assert!(matches!(repair(&mut retained, &model), Ok(Outcome::Repaired { visited: 1..12 })));
        assert_eq!(answer(&retained).temporal_uses().len(), 1);
        assert_eq!(answer(&retained).value(Value::new(8)), SourceSet::X);
        assert_eq!(answer(&retained).value(Value::new(7)), SourceSet::EMPTY);
        assert_eq!(answer(&retained).cycles_with_divergent_exit().len(), 1);
        branch_on(&mut retained, &[]);
        assert!(matches!(repair(&mut retained, &model), Ok(Outcome::Repaired { visited: 1..12 })));
        assert!(answer(&retained).temporal_uses().is_empty());
        assert_eq!(answer(&retained).value(Value::new(8)), SourceSet::EMPTY);
        assert!(answer(&retained).cycles_with_divergent_exit().is_empty());
    }
}
