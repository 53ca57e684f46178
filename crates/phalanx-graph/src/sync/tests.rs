//! Sync dependence against its slow twin, the order's defining property, and LLVM's faults one by
//! one.

use std::collections::BTreeSet;

use crate::cfg::Cfg;
use crate::cycles::Cycles;
use crate::dom::DomTree;
use crate::node::Node;
use crate::sync::{
    Consequence, LabelPropagation, LabelSync, LlvmFixes, ModifiedPostOrder, SyncDependence,
    SyncView,
};
use crate::testing::random::{any_graph, nested_exits, with_fresh_entry};
use crate::testing::{checks, families};

fn n(i: usize) -> Node {
    Node::new(i)
}

fn graph(lists: &[&[usize]]) -> Cfg {
    Cfg::new(n(0), lists.iter().map(|list| list.iter().map(|&to| n(to)).collect::<Vec<_>>()))
}

#[test]
fn order_puts_what_follows_a_cycle_below_it_and_what_is_inside_above() {
    for seed in 0..2000 {
        let cfg = any_graph(seed, 24);
        let cycles = Cycles::new(&cfg);
        let order = ModifiedPostOrder::new(&cfg, &cycles);
        for cycle in cycles.iter() {
            let header = order.number(cycles.header(cycle));
            for &block in cycles.blocks(cycle) {
                assert!(order.number(block) >= header, "seed {seed}: {block} in {cycle:?}");
            }
            let within = |to| cycles.parent(cycle).is_none_or(|up| cycles.contains(up, to));
            for (from, to) in cycles.exit_edges(cycle).filter(|edge| within(edge.1)) {
                assert!(order.number(to) < header, "seed {seed}: {from} -> {to} out of {cycle:?}");
            }
            // The order of one cycle is the restriction of the whole order.
            let own = ModifiedPostOrder::of_cycle(&cfg, &cycles, cycle);
            let mut blocks = cycles.blocks(cycle).to_vec();
            blocks.sort_unstable_by_key(|&block| order.number(block));
            assert_eq!(own.order(), blocks, "seed {seed}: {cycle:?}");
        }
        for node in cfg.nodes() {
            let reachable = DomTree::new(&cfg).is_reachable(node);
            assert_eq!(order.number(node).is_some(), reachable, "seed {seed}: {node}");
        }
    }
}

#[test]
fn meets_where_the_slow_twin_does() {
    let mut compared = 0;
    for seed in 0..6000 {
        let cfg = with_fresh_entry(&any_graph(seed, if seed % 10 == 0 { 40 } else { 14 }));
        compared += checks::sync(&cfg);
    }
    assert!(compared > 5000, "{compared}");
}

#[test]
fn meets_where_the_slow_twin_does_in_loops_with_many_exits() {
    let mut compared = 0;
    for seed in 0..8000 {
        compared += checks::sync(&nested_exits(seed));
    }
    assert!(compared > 20_000, "{compared}");
}

/// Threads that leave the inner loop to 9 are back at the outer header 1 before the others have met
/// in 8.
#[test]
fn who_is_back_before_the_others_meet() {
    let lists: &[&[usize]] =
        &[&[1], &[10, 2], &[7, 3], &[4], &[6, 5], &[3, 9, 7], &[8], &[9, 8], &[1], &[1], &[]];
    assert_eq!(checks::sync(&graph(lists)), 5);
}

#[test]
fn answers_are_kept_and_independent_of_who_asks_first() {
    let cfg = families::breaks(30);
    let (dom, cycles) = (DomTree::new(&cfg), Cycles::new(&cfg));
    let branches: Vec<Node> = cfg.nodes().filter(|b| cfg.is_branch(*b)).collect();
    let (forth, back) =
        (SyncDependence::new(&cfg, &dom, &cycles), SyncDependence::new(&cfg, &dom, &cycles));
    assert_eq!(forth.filled_slots(), 0);
    let ask = |sync: &SyncDependence, order: &[Node]| -> BTreeSet<(Node, Vec<Consequence>)> {
        let mut view = SyncView::new(sync, &cfg, &dom, &cycles);
        order.iter().map(|&b| (b, view.branch(b).to_vec())).collect()
    };
    let reversed: Vec<Node> = branches.iter().rev().copied().collect();
    assert_eq!(ask(&forth, &branches), ask(&back, &reversed));
    assert_eq!(forth.filled_slots(), branches.len());
    assert_eq!(ask(&forth, &branches), ask(&back, &branches));
}

/// The joins and exits of a branch, by LLVM's rules and with some repairs.
fn with_and_without(lists: &[&[usize]], branch: usize, fixes: LlvmFixes) -> [LabelSync; 2] {
    let cfg = graph(lists);
    let cycles = Cycles::new(&cfg);
    let order = ModifiedPostOrder::new(&cfg, &cycles);
    [LlvmFixes::NONE, fixes].map(|fixes| {
        let mut found = LabelPropagation::new(&cfg, &cycles, &order, fixes).run(n(branch));
        found.joins.sort_unstable();
        found.exits.sort_unstable();
        found
    })
}

#[test]
fn fault_exit_join() {
    // do { } while (divergent), leaving for 3 either from 1 or from 2.
    let lists: &[&[usize]] = &[&[1], &[2, 3], &[1, 3], &[]];
    let fixes = LlvmFixes { exit_join: true, ..LlvmFixes::NONE };
    let [old, new] = with_and_without(lists, 2, fixes);
    assert_eq!((old.joins, old.exits), (vec![], vec![n(3)]));
    assert_eq!((new.joins, new.exits), (vec![n(3)], vec![n(3)]));
}

#[test]
fn fault_header_branch() {
    // for (;;) { if (divergent) continue; if (uniform) break; }: the branch is in the header.
    let lists: &[&[usize]] = &[&[1], &[2, 3], &[3, 4], &[1], &[]];
    let fixes = LlvmFixes { header_branch: true, ..LlvmFixes::NONE };
    let [old, new] = with_and_without(lists, 1, fixes);
    assert_eq!(old.exits, []);
    assert_eq!(new.exits, [n(4)]);
}

#[test]
fn fault_irreducible_ancestor() {
    // 1 and 2 form a cycle with two entries; 3 is a loop of its own inside it, whose branch leads
    // to 4 or back to itself. 4 meets 5 only in a later round of the outer cycle.
    let lists: &[&[usize]] = &[&[1, 2], &[3], &[1, 6], &[4, 5], &[2], &[3, 2], &[]];
    let fixes = LlvmFixes { irreducible_ancestor: true, ..LlvmFixes::NONE };
    let [old, new] = with_and_without(lists, 3, fixes);
    assert!(old.joins.iter().all(|join| new.joins.contains(join)));
    assert!(new.joins.len() > old.joins.len(), "{old:?} {new:?}");
}

#[test]
fn no_branch_no_consequences() {
    let cfg = graph(&[&[1], &[2, 2], &[], &[1, 2]]);
    let (dom, cycles) = (DomTree::new(&cfg), Cycles::new(&cfg));
    let sync = SyncDependence::new(&cfg, &dom, &cycles);
    let mut view = SyncView::new(&sync, &cfg, &dom, &cycles);
    for block in cfg.nodes() {
        assert!(view.branch(block).is_empty(), "{block}");
    }
}
