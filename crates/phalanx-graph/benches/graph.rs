//! Cold cost of each fact on each graph family, in nanoseconds per node.
//!
//! `cargo bench -p phalanx-graph --bench graph` prints one row per family at 10,000, 100,000 and
//! 1,000,000 nodes. A family that grows faster than its size shows at once: its row rises to the
//! right. `-- NAME…` restricts the families, `-- --nodes N` gives one size.
//!
//! A plain harness rather than criterion: each figure is the best of a few whole computations, and
//! the table is the result. The answers are spot-checked so that no computation is optimised away.

#![expect(clippy::print_stdout, reason = "the table is the output")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use phalanx_graph::testing::families::{self, Family};
use phalanx_graph::testing::random;
use phalanx_graph::{
    Cfg, ControlDependence, Cycles, Dfs, DomTree, DominanceFrontier, Node, PostDomTree,
};

const FACTS: [&str; 9] =
    ["cfg", "dfs", "dom", "postdom", "frontier", "idf", "control", "icd", "cycles"];

const PROGRAMS: &[Family] = &[
    Family { name: "structured", with_nodes: |n| random::structured(1, n) },
    Family { name: "reducible", with_nodes: |n| random::reducible(1, n) },
    Family { name: "local", with_nodes: |n| random::local(1, n, 20) },
    Family { name: "arbitrary", with_nodes: |n| random::arbitrary(1, n, 2.0) },
];

/// The best of several runs; fewer when one takes long.
fn best<T>(mut run: impl FnMut() -> T) -> Duration {
    let mut least = Duration::MAX;
    let mut spent = Duration::ZERO;
    for _ in 0..5 {
        let start = Instant::now();
        black_box(run());
        let took = start.elapsed();
        least = least.min(took);
        spent += took;
        if spent > Duration::from_millis(400) {
            break;
        }
    }
    least
}

fn rebuild(cfg: &Cfg) -> Cfg {
    Cfg::new(cfg.entry(), cfg.nodes().map(|n| cfg.successors(n).iter().copied()))
}

fn measure(cfg: &Cfg) -> [Duration; FACTS.len()] {
    let dom = DomTree::new(cfg);
    let postdom = PostDomTree::new(cfg);
    let frontier = DominanceFrontier::new(cfg, &dom);
    let control = ControlDependence::new(cfg, &dom, &postdom);
    assert!(dom.dominates(cfg.entry(), Node::new(cfg.node_count() - 1)));
    let every_tenth = || cfg.nodes().step_by(10);
    [
        best(|| rebuild(cfg)),
        best(|| Dfs::new(cfg)),
        best(|| DomTree::new(cfg)),
        best(|| PostDomTree::new(cfg)),
        best(|| DominanceFrontier::new(cfg, &dom)),
        best(|| frontier.iterated_frontier(&dom, every_tenth())),
        best(|| ControlDependence::new(cfg, &dom, &postdom)),
        best(|| control.iterated_controllers(&postdom, every_tenth())),
        best(|| Cycles::new(cfg)),
    ]
}

/// The facts of many small functions, as in real modules: prints the sum over all.
fn measure_small(nodes: usize, count: u64) {
    let cfgs: Vec<Cfg> = (0..count).map(|seed| random::structured(seed, nodes)).collect();
    let total: usize = cfgs.iter().map(Cfg::node_count).sum();
    let edges: usize = cfgs.iter().map(Cfg::edge_count).sum();
    let mut sum = [Duration::ZERO; FACTS.len()];
    for cfg in &cfgs {
        for (sum, took) in sum.iter_mut().zip(measure(cfg)) {
            *sum += took;
        }
    }
    print_row(&format!("{count} x {nodes}"), total, edges, total, sum);
}

fn print_row(name: &str, nodes: usize, edges: usize, unit: usize, times: [Duration; FACTS.len()]) {
    print!("{name:12} {nodes:>9} {edges:>9}");
    for took in times {
        print!(" {:>8.1}", took.as_secs_f64() * 1e9 / unit as f64);
    }
    println!();
}

fn main() {
    let mut names = Vec::new();
    let mut sizes = vec![10_000, 100_000, 1_000_000];
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--nodes" => sizes = args.next().and_then(|n| n.parse().ok()).into_iter().collect(),
            "--bench" | "--test" => {}
            name => names.push(name.to_owned()),
        }
    }
    println!("nanoseconds per node (complete: per edge), best run");
    print!("{:12} {:>9} {:>9}", "family", "nodes", "edges");
    FACTS.iter().for_each(|fact| print!(" {fact:>8}"));
    println!();
    if names.is_empty() {
        measure_small(8, 4000);
        measure_small(40, 1000);
        measure_small(400, 100);
    }
    for family in PROGRAMS.iter().chain(families::ALL) {
        if !names.is_empty() && !names.iter().any(|name| name == family.name) {
            continue;
        }
        for &size in &sizes {
            let cfg = (family.with_nodes)(size);
            let unit = if family.name == "complete" { cfg.edge_count() } else { cfg.node_count() };
            print_row(family.name, cfg.node_count(), cfg.edge_count(), unit, measure(&cfg));
        }
    }
}
