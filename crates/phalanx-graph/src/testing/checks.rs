//! Every fact of a small graph against its slow twin.
//!
//! Each function panics at the first difference. They are what property tests and fuzz targets run;
//! the cost is cubic in the size of the graph and worse, so 20 nodes are many.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are assertions")]

mod sync;

use std::collections::BTreeSet;

use crate::{
    Cfg, ControlDependence, CycleId, Cycles, Dfs, DomTree, DominanceFrontier, Node, PostDomTree,
    testing::twins,
};

pub use sync::sync;

type Set = BTreeSet<Node>;

fn set(nodes: impl IntoIterator<Item = Node>) -> Set {
    nodes.into_iter().collect()
}

/// Orders, ancestors and reachability of both searches.
pub fn search(cfg: &Cfg) {
    for last_first in [false, true] {
        let dfs = if last_first { Dfs::last_successor_first(cfg) } else { Dfs::new(cfg) };
        let twin = twins::TwinDfs::new(cfg, last_first);
        assert_eq!(dfs.preorder(), twin.preorder);
        assert_eq!(dfs.postorder(), twin.postorder);
        assert!(dfs.rpo().eq(twin.postorder.iter().rev().copied()));
        assert_eq!(dfs.reachable_count(), twin.preorder.len());
        let position =
            |list: &[Node], n| list.iter().position(|&m| m == n).map(|position| position as u32);
        for a in cfg.nodes() {
            let subtree = twin.subtrees.get(&a);
            assert_eq!(dfs.is_reachable(a), subtree.is_some());
            assert_eq!(dfs.pre(a), position(&twin.preorder, a));
            assert_eq!(dfs.post(a), position(&twin.postorder, a));
            assert_eq!(dfs.rpo_index(a), position(&dfs.rpo().collect::<Vec<_>>(), a));
            assert_eq!(
                dfs.last_descendant(a),
                subtree.and_then(|nodes| nodes.iter().filter_map(|&n| dfs.pre(n)).max())
            );
            for b in cfg.nodes() {
                assert_eq!(dfs.is_ancestor(a, b), subtree.is_some_and(|nodes| nodes.contains(&b)));
            }
        }
    }
}

/// The dominator tree.
pub fn dominators(cfg: &Cfg) {
    let dom = DomTree::new(cfg);
    let twin = twins::dominated(cfg);
    let reachable = twins::reachable(cfg);
    for a in cfg.nodes() {
        assert_eq!(dom.is_reachable(a), reachable.contains(&a), "{a:?}");
        for b in cfg.nodes() {
            assert_eq!(dom.dominates(a, b), twin[a.index()].contains(&b), "{a:?} dom {b:?}");
            assert_eq!(dom.strictly_dominates(a, b), a != b && dom.dominates(a, b));
        }
        if !reachable.contains(&a) {
            assert_eq!((dom.idom(a), dom.level(a), dom.tin(a)), (None, None, None));
            assert!(dom.children(a).next().is_none() && dom.subtree(a).is_empty());
            continue;
        }
        assert_eq!(dom.idom(a), twins::closest(&twin, a), "closest dominator of {a:?}");
        assert_eq!(dom.level(a), Some(dom.idom(a).map_or(0, |up| dom.level(up).unwrap() + 1)));
        let children = set(reachable.iter().copied().filter(|&b| dom.idom(b) == Some(a)));
        assert_eq!(set(dom.children(a)), children);
        assert_eq!(dom.children(a).count(), children.len());
        let own: Set = twin[a.index()].intersection(&reachable).copied().collect();
        assert_eq!(set(dom.subtree(a).iter().copied()), own);
        assert_eq!(dom.tout(a).unwrap() - dom.tin(a).unwrap(), own.len() as u32);
    }
    // Children come in the order of the search.
    let dfs = Dfs::new(cfg);
    for a in cfg.nodes() {
        assert!(dom.children(a).map(|c| dfs.pre(c)).is_sorted());
    }
}

/// The post-dominator tree.
pub fn post_dominators(cfg: &Cfg) {
    let postdom = PostDomTree::new(cfg);
    let roots = postdom.roots();
    assert_eq!(set(roots.iter().copied()), twins::roots(cfg));
    assert_eq!(roots.len(), twins::roots(cfg).len(), "roots are distinct");
    let twin = twins::post_dominated(cfg, roots);
    for a in cfg.nodes() {
        for b in cfg.nodes() {
            assert_eq!(postdom.post_dominates(a, b), twin[a.index()].contains(&b));
        }
        assert!(postdom.post_dominates(postdom.virtual_exit(), a));
        assert_eq!(postdom.ipdom(a), twins::closest(&twin, a));
        assert_eq!(postdom.level(a), postdom.ipdom(a).map_or(1, |up| postdom.level(up) + 1));
    }
}

/// Dominance frontiers, and iterated ones of nodes that the seed picks.
pub fn frontiers(cfg: &Cfg, seed: u64) {
    let dom = DomTree::new(cfg);
    let frontiers = DominanceFrontier::new(cfg, &dom);
    let twin = twins::dominated(cfg);
    let slow: Vec<Set> = cfg.nodes().map(|x| twins::frontier(cfg, &twin, x)).collect();
    for x in cfg.nodes() {
        let found = frontiers.frontier(&dom, x);
        assert!(found.is_sorted_by(|a, b| a < b));
        assert_eq!(set(found), slow[x.index()], "frontier of {x:?}");
        for (from, to) in frontiers.frontier_edges(&dom, x) {
            assert!(cfg.successors(from).contains(&to) && dom.dominates(x, from));
        }
    }
    let starts = set(cfg.nodes().filter(|x| seed >> (x.raw() % 64) & 3 == 3));
    let found = frontiers.iterated_frontier(&dom, starts.iter().copied());
    assert!(found.is_sorted_by(|a, b| a < b));
    assert_eq!(set(found), twins::closure(&starts, |x| slow[x.index()].clone()));
    let keep = |x: Node| !x.raw().is_multiple_of(3);
    let found = frontiers.iterated_frontier_within(&dom, starts.iter().copied(), keep);
    let kept = |x: Node| slow[x.index()].iter().copied().filter(|&y| keep(y)).collect();
    assert_eq!(set(found), twins::closure(&starts, kept));
}

/// Control dependence, direct and iterated.
pub fn control_dependence(cfg: &Cfg) {
    let (dom, postdom) = (DomTree::new(cfg), PostDomTree::new(cfg));
    let control = ControlDependence::new(cfg, &dom, &postdom);
    let twin = twins::post_dominated(cfg, postdom.roots());
    let slow: Vec<BTreeSet<(Node, Node)>> =
        cfg.nodes().map(|x| twins::controlling_edges(cfg, &twin, x)).collect();
    let branches = |x: Node| -> Set { slow[x.index()].iter().map(|&(b, _)| b).collect() };
    for x in cfg.nodes() {
        let edges: Vec<_> = control.controlling_edges(&postdom, x).collect();
        assert_eq!(edges.iter().copied().collect::<BTreeSet<_>>(), slow[x.index()], "{x:?}");
        assert_eq!(edges.len(), slow[x.index()].len(), "parallel edges once");
        assert_eq!(set(control.controllers(&postdom, x)), branches(x));
        assert_eq!(
            set(control.iterated_controllers(&postdom, [x])),
            twins::closure(&set([x]), branches)
        );
    }
    for b in cfg.nodes().filter(|&b| dom.is_reachable(b) && cfg.is_branch(b)) {
        for &a in cfg.successors(b) {
            let found = set(crate::control::controlled_by_edge(&postdom, b, a));
            let slow = cfg.nodes().filter(|x| slow[x.index()].contains(&(b, a)));
            assert_eq!(found, set(slow));
        }
    }
}

/// The cycle hierarchy that this search gives.
pub fn cycles(cfg: &Cfg, cycles: &Cycles, dfs: &Dfs) {
    let twin = twins::cycles(cfg, dfs.preorder());
    assert_eq!(cycles.len(), twin.len());
    assert_eq!(cycles.all_reducible(), twin.values().all(|c| c.entries.len() == 1));
    for c in cycles.iter() {
        let slow = twin.get(&cycles.header(c)).expect("the header of a cycle");
        let entries: Vec<Node> = cycles.entries(c).collect();
        assert_eq!(entries[0], slow.header);
        assert_eq!(entries.len(), slow.entries.len(), "entries of {c:?}");
        assert_eq!(set(entries), slow.entries);
        assert_eq!(cycles.is_reducible(c), slow.entries.len() == 1);
        let is_canonical = cycles.ancestors(c).all(|around| cycles.is_reducible(around));
        assert_eq!(cycles.is_canonical(c), is_canonical);
        assert_eq!(cycles.blocks(c).len(), slow.blocks.len());
        assert_eq!(set(cycles.blocks(c).iter().copied()), slow.blocks);
        assert_eq!(cycles.blocks(c)[0], slow.header);
        assert_eq!(cycles.depth(c), slow.depth);
        assert_eq!(cycles.parent(c).map(|up| cycles.header(up)), slow.parent);
        let exits: Vec<_> = cycles.exit_edges(c).collect();
        assert_eq!(exits.len(), slow.exit_edges.len(), "exit edges of {c:?}");
        assert_eq!(exits.into_iter().collect::<BTreeSet<_>>(), slow.exit_edges);
        assert_eq!(set(cycles.exit_blocks(c)), slow.exit_edges.iter().map(|e| e.1).collect());
        for n in cfg.nodes() {
            assert_eq!(cycles.contains(c, n), slow.blocks.contains(&n));
        }
        for d in cycles.iter() {
            let inner = &twin[&cycles.header(d)];
            let nested = inner.blocks.is_subset(&slow.blocks);
            assert_eq!(cycles.contains_cycle(c, d), nested);
        }
        assert!(cycles.children(c).all(|d| cycles.parent(d) == Some(c)));
        assert_eq!(
            cycles.children(c).count(),
            twin.values().filter(|d| d.parent == Some(slow.header)).count()
        );
    }
    assert_eq!(cycles.top_level().count(), twin.values().filter(|c| c.depth == 1).count());
    assert!(cycles.top_level().all(|c| cycles.parent(c).is_none()));

    let around = |n: Node| -> Vec<CycleId> {
        let mut all: Vec<_> = cycles.iter().filter(|&c| cycles.contains(c, n)).collect();
        all.sort_by_key(|&c| std::cmp::Reverse(cycles.depth(c)));
        all
    };
    for n in cfg.nodes() {
        let chain = around(n);
        assert_eq!(cycles.innermost(n), chain.first().copied());
        assert_eq!(cycles.depth_of(n), chain.len() as u32);
        assert_eq!(cycles.is_header(n), twin.contains_key(&n));
        if let Some(inner) = cycles.innermost(n) {
            assert!(cycles.ancestors(inner).eq(chain.iter().copied()));
        }
        for m in cfg.nodes() {
            let common = chain.iter().copied().find(|&c| cycles.contains(c, m));
            assert_eq!(cycles.common(n, m), common);
            if let Some(inner) = cycles.innermost(n) {
                assert_eq!(cycles.innermost_around(inner, m), common);
                let without = chain.iter().copied().rfind(|&c| !cycles.contains(c, m));
                assert_eq!(cycles.outermost_without(inner, m), without);
            }
        }
    }
}

/// Every fact. `seed` picks the sets that iterated frontiers start from.
pub fn all(cfg: &Cfg, seed: u64) {
    search(cfg);
    dominators(cfg);
    post_dominators(cfg);
    frontiers(cfg, seed);
    control_dependence(cfg);
    cycles(cfg, &Cycles::new(cfg), &Dfs::last_successor_first(cfg));
    let dfs = Dfs::new(cfg);
    cycles(cfg, &Cycles::with_dfs(cfg, &dfs), &dfs);
}
