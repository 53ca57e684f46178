//! The interpreter's closed form of convergence equals the definition, on random executions.

use phalanx_fuzz::{
    definition::{Converged, Pairs},
    reference::{Execution, Setting, execute, translate},
};
use phalanx_graph::{Cfg, Cycles, Node};
use phalanx_simt::{Reconvergence, launch::Order};
use phalanx_testing::{
    abstract_oracle::hierarchies,
    generate::{self, Options, Shape},
};

/// The program of a seed with its hierarchies, the function's own first; and an execution of at
/// most 120 instances under one of them.
fn run(seed: u64, under: usize) -> Option<(Execution, Vec<Cycles>)> {
    let shape = if seed.is_multiple_of(3) { Shape::Structured } else { Shape::Random };
    let blocks = [5, 7, 9, 12, 15][(seed % 5) as usize];
    let program = generate::program(seed, Options { shape: Some(shape), blocks, undef: false });
    let hierarchies = hierarchies(&program.cfg(), seed, 4);
    let threads = 2 + (seed % 4) as u32;
    let setting = Setting {
        threads,
        args: [seed as u32, 5],
        fuel: 120 / threads.max(6),
        reconvergence: Reconvergence::Maximal,
    };
    let twins = translate(&program)?;
    let execution = execute(&twins.llvm, hierarchies.get(under)?, setting, Order::Turns(13));
    Some((execution, hierarchies))
}

#[test]
fn keys_are_the_maximal_relation_of_the_definition() {
    let (mut all, mut executions, mut irreducible) = (Pairs::default(), 0, 0);
    for seed in 0..2500 {
        let mut under = 0;
        while let Some((execution, hierarchies)) = run(seed, under) {
            let cycles = &hierarchies[under];
            let found = Pairs::compare(&execution, cycles);
            assert_eq!(found.different, 0, "seed {seed}, hierarchy {under}:\n{}", execution.text());
            all.converged += found.converged;
            all.apart += found.apart;
            executions += 1;
            irreducible += usize::from(!cycles.all_reducible());
            under += 1;
        }
    }
    println!("{executions} executions ({irreducible} of irreducible cycles), {all:?}");
    assert!(executions > 2500 && irreducible > 500);
    assert!(all.converged > 10_000 && all.apart > 10_000, "{all:?}");
}

/// The document's own example, a natural loop: `H3` is the second instance of `H` in one thread,
/// and so on.
#[test]
fn a_natural_loop() {
    let node = Node::new;
    let [entry, h, b, l, exit] = [0, 1, 2, 3, 4].map(node);
    let cfg = Cfg::new(entry, [vec![h], vec![b, l], vec![l], vec![h, exit], vec![]]);
    let paths = [vec![entry, h, b, l, h, l, exit], vec![entry, h, l, h, b, l, h, b, l, exit]];
    let converged = Converged::new(&paths, &Cycles::new(&cfg));
    let mut pairs = Vec::new();
    for i in 0..paths[0].len() {
        pairs.extend(
            (0..paths[1].len()).filter(|&j| converged.contains((0, i), (1, j))).map(|j| (i, j)),
        );
    }
    assert_eq!(pairs, [(0, 0), (1, 1), (3, 2), (4, 3), (5, 5), (6, 9)]);
}

/// A negative control: keys of one hierarchy are not the relation of another.
#[test]
fn keys_of_another_hierarchy_are_noticed() {
    let mut different = 0;
    for seed in 0..500 {
        if let Some((execution, hierarchies)) = run(seed, 1) {
            different += usize::from(Pairs::compare(&execution, &hierarchies[0]).different > 0);
        }
    }
    assert!(different > 20, "{different} executions");
}
