//! Every fact against its slow twin, on random graphs.

use std::collections::BTreeSet;

use phalanx_graph::testing::{checks, families, random};
use phalanx_graph::{
    Cfg, ControlDependence, Cycles, Dfs, DomTree, DominanceFrontier, Node, PostDomTree,
};
use proptest::prelude::*;

type Set = BTreeSet<Node>;

fn set(nodes: impl IntoIterator<Item = Node>) -> Set {
    nodes.into_iter().collect()
}

fn graphs(max: usize) -> impl Strategy<Value = (u64, Cfg)> {
    any::<u64>().prop_map(move |seed| (seed, random::any_graph(seed, max)))
}

/// How many graphs each property sees; set `PROPTEST_CASES` for more.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(3000);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn searches((_, cfg) in graphs(24)) {
        checks::search(&cfg);
    }

    #[test]
    fn dominators((_, cfg) in graphs(24)) {
        checks::dominators(&cfg);
    }

    #[test]
    fn post_dominators((_, cfg) in graphs(24)) {
        checks::post_dominators(&cfg);
    }

    #[test]
    fn frontiers((seed, cfg) in graphs(20)) {
        checks::frontiers(&cfg, seed);
    }

    #[test]
    fn control_dependence((_, cfg) in graphs(16)) {
        checks::control_dependence(&cfg);
    }

    #[test]
    fn cycles((_, cfg) in graphs(20)) {
        checks::cycles(&cfg, &Cycles::new(&cfg), &Dfs::last_successor_first(&cfg));
        let dfs = Dfs::new(&cfg);
        checks::cycles(&cfg, &Cycles::with_dfs(&cfg, &dfs), &dfs);
    }
}

#[test]
fn small_members_of_every_family() {
    for family in families::ALL {
        for size in [1, 2, 5, 12, 30] {
            checks::all(&(family.with_nodes)(size), 0x5555_1234_dead_beef);
        }
    }
}

#[test]
fn larger_graphs() {
    for seed in 0..6 {
        checks::all(&random::any_graph(seed, 90), seed);
    }
}

/// So many endless loops that the search for roots in LLVM's order runs out of its budget.
#[test]
fn endless_loops_beyond_the_budget_have_one_root_each() {
    let cfg = families::endless_chain(20_000);
    let postdom = PostDomTree::new(&cfg);
    let roots = set(postdom.roots().iter().copied());
    assert_eq!((roots.len(), postdom.roots().len()), (20_001, 20_001));
    assert!(roots.iter().all(|&root| cfg.successors(root) == [root]));
    assert!(cfg.nodes().all(|n| roots.contains(&n) == (postdom.ipdom(n).is_none() && cfg.successors(n) == [n])));
}

/// Every climb of the dominator algorithm is long here.
#[test]
fn climbs_beyond_the_budget_end_where_they_should() {
    for size in [10, 100, 5000] {
        let cfg = families::deep_climbs(size);
        let dom = DomTree::new(&cfg);
        for n in cfg.nodes().skip(1) {
            let expected = if n.index() <= size { n.index() - 1 } else { 0 };
            assert_eq!(dom.idom(n), Some(Node::new(expected)), "{n:?} of {size}");
        }
    }
}

/// Facts are stored in a database and shared between threads.
#[test]
fn facts_are_plain_values() {
    fn is_plain<T: Clone + std::fmt::Debug + Eq + Send + Sync + 'static>(_: &T) {}
    let cfg = families::diamonds(3);
    let (dom, postdom) = (DomTree::new(&cfg), PostDomTree::new(&cfg));
    is_plain(&cfg);
    is_plain(&Dfs::new(&cfg));
    is_plain(&DominanceFrontier::new(&cfg, &dom));
    is_plain(&ControlDependence::new(&cfg, &dom, &postdom));
    is_plain(&(dom, postdom));
    is_plain(&Cycles::new(&cfg));
}
