//! Facts that are updated after local edits equal those computed from scratch.

use phalanx_graph::cfg::Diamond;
use phalanx_graph::change::Change;
use phalanx_graph::sync::{SyncDependence, SyncView};
use phalanx_graph::testing::{families, random};
use phalanx_graph::{Cfg, Cycles, DomTree, Node, PostDomTree};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// How many times as many cases run as in an ordinary run.
fn effort() -> u64 {
    std::env::var("PHALANX_UPDATES").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// The split graph, built from scratch.
fn split(cfg: &Cfg, layout: &mut Vec<Node>, node: Node) -> Cfg {
    let new = Node::new(cfg.node_count());
    let mut lists: Vec<Vec<Node>> = cfg.nodes().map(|n| cfg.successors(n).to_vec()).collect();
    let behind = std::mem::replace(&mut lists[node.index()], vec![new]);
    lists.push(behind);
    let at = layout.iter().position(|n| *n == node).expect("laid out");
    layout.insert(at + 1, new);
    Cfg::with_layout(cfg.entry(), lists, layout)
}

#[derive(Debug, Default)]
struct Counts {
    postdom: usize,
    cycles: usize,
    refused: usize,
    sync: usize,
    /// How many updates were of graphs with irreducible regions.
    regions: usize,
}

fn check_splits(mut cfg: Cfg, seed: u64, rounds: usize, counts: &mut Counts) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut layout: Vec<Node> = cfg.nodes().collect();
    for round in 0..rounds {
        let node = Node::new(rng.random_range(0..cfg.node_count()));
        let (dom, postdom, cycles) =
            (DomTree::new(&cfg), PostDomTree::new(&cfg), Cycles::new(&cfg));
        let next = split(&cfg, &mut layout, node);
        let at = format!("seed {seed}, round {round}, {node} of {cfg:?}");
        assert_eq!(cfg.after_split(node), next, "{at}");
        assert_eq!(dom.after_split(node), DomTree::new(&next), "{at}");
        match postdom.after_split(&next, node) {
            Some(updated) => assert_eq!(updated, PostDomTree::new(&next), "{at}"),
            None => counts.refused += 1,
        }
        match cycles.after_split(&next, node) {
            Some(updated) => assert_eq!(updated, Cycles::new(&next), "{at}"),
            None => counts.refused += 1,
        }
        let sync = SyncDependence::new(&cfg, &dom, &cycles);
        let _ = SyncView::new(&sync, &cfg, &dom, &cycles);
        let (next_dom, next_cycles) = (DomTree::new(&next), Cycles::new(&next));
        if let Some(updated) = sync.after_split(&next, &next_cycles, node) {
            let scratch = SyncDependence::new(&next, &next_dom, &next_cycles);
            let _ = SyncView::new(&scratch, &next, &next_dom, &next_cycles);
            assert!(updated.is_of_same_graph(&scratch), "{at}");
            counts.sync += 1;
            counts.regions += usize::from(!next_cycles.all_reducible());
        }
        counts.postdom += usize::from(postdom.roots().len() > 1);
        counts.cycles += usize::from(cycles.is_header(node));
        cfg = next;
    }
}

/// The merged graph, built from scratch; none if `node` cannot be merged with its successor.
fn merge(cfg: &Cfg, layout: &mut Vec<Node>, node: Node) -> Option<(Node, Cfg)> {
    let at = layout.iter().position(|n| *n == node)?;
    let &next = layout.get(at + 1)?;
    if cfg.successors(node) != [next] || cfg.predecessors(next) != [node] || next == cfg.entry() {
        return None;
    }
    let mut lists: Vec<Vec<Node>> = cfg.nodes().map(|n| cfg.successors(n).to_vec()).collect();
    lists[node.index()] = std::mem::take(&mut lists[next.index()]);
    layout.remove(at + 1);
    Some((next, Cfg::with_layout(cfg.entry(), lists, layout)))
}

fn check_merges(mut cfg: Cfg, seed: u64, rounds: usize, counts: &mut Counts) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut layout: Vec<Node> = cfg.nodes().collect();
    for round in 0..rounds {
        let node = Node::new(rng.random_range(0..cfg.node_count()));
        if layout.contains(&node) && rng.random_bool(0.5) {
            cfg = split(&cfg, &mut layout, node);
        }
        let (dom, postdom, cycles) =
            (DomTree::new(&cfg), PostDomTree::new(&cfg), Cycles::new(&cfg));
        let found = layout
            .clone()
            .into_iter()
            .find_map(|node| Some((node, merge(&cfg, &mut layout, node)?)));
        let Some((node, (other, next))) = found else { continue };
        let at = format!("seed {seed}, round {round}, {node} {other} of {cfg:?}");
        assert_eq!(cfg.after_merge(node, other).as_ref(), Some(&next), "{at}");
        assert_eq!(dom.after_merge(node, other), DomTree::new(&next), "{at}");
        match postdom.after_merge(&next, node, other) {
            Some(updated) => assert_eq!(updated, PostDomTree::new(&next), "{at}"),
            None => counts.refused += 1,
        }
        let next_cycles = Cycles::new(&next);
        assert_eq!(cycles.after_merge(node, other), next_cycles, "{at}");
        let sync = SyncDependence::new(&cfg, &dom, &cycles);
        let _ = SyncView::new(&sync, &cfg, &dom, &cycles);
        let next_dom = DomTree::new(&next);
        if let Some(updated) = sync.after_merge(&next, &next_cycles, node, other) {
            let scratch = SyncDependence::new(&next, &next_dom, &next_cycles);
            let _ = SyncView::new(&scratch, &next, &next_dom, &next_cycles);
            assert!(updated.is_of_same_graph(&scratch), "{at}");
            counts.sync += 1;
            counts.regions += usize::from(!next_cycles.all_reducible());
        }
        counts.postdom += usize::from(postdom.roots().len() > 1);
        counts.cycles += usize::from(cycles.is_header(node));
        cfg = next;
    }
}

/// The search that chose the root of the endless loop began in the block that is merged away.
#[test]
fn a_merge_may_choose_another_root() {
    let n = Node::new;
    let mut layout = vec![n(0), n(2), n(1), n(3)];
    let lists = [vec![n(2), n(3)], vec![n(2)], vec![n(1)], vec![]];
    let cfg = Cfg::with_layout(n(0), lists, &layout);
    let postdom = PostDomTree::new(&cfg);
    let (_, next) = merge(&cfg, &mut layout, n(2)).expect("one way in, one way out");
    let updated = postdom.after_merge(&next, n(2), n(1));
    assert!(updated.is_none_or(|updated| updated == PostDomTree::new(&next)));
}

#[test]
fn merges() {
    let mut counts = Counts::default();
    for seed in 0..3000 * effort() {
        check_merges(random::any_graph(seed, 24), seed, 8, &mut counts);
    }
    for family in families::ALL {
        for size in [3, 12, 40] {
            check_merges((family.with_nodes)(size), size as u64, 12, &mut counts);
        }
    }
    assert!(counts.postdom > 1000 && counts.cycles > 500, "{counts:?}");
    assert!(counts.sync > 3000 && counts.refused < 500 * effort() as usize, "{counts:?}");
    assert!(counts.regions > 1000, "{counts:?}");
}

/// The graph with a new block on an edge, built from scratch.
fn split_edge(cfg: &Cfg, layout: &mut Vec<Node>, from: Node, edge: usize) -> Cfg {
    let new = Node::new(cfg.node_count());
    let mut lists: Vec<Vec<Node>> = cfg.nodes().map(|n| cfg.successors(n).to_vec()).collect();
    let to = std::mem::replace(&mut lists[from.index()][edge], new);
    lists.push(vec![to]);
    let at = layout.iter().position(|n| *n == from).expect("laid out");
    layout.insert(at + 1, new);
    Cfg::with_layout(cfg.entry(), lists, layout)
}

fn check_edge_splits(mut cfg: Cfg, seed: u64, rounds: usize, counts: &mut Counts) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut layout: Vec<Node> = cfg.nodes().collect();
    for round in 0..rounds {
        let from = Node::new(rng.random_range(0..cfg.node_count()));
        let edges = cfg.successors(from).len();
        if edges == 0 {
            continue;
        }
        let edge = rng.random_range(0..edges);
        let (dom, postdom, cycles) =
            (DomTree::new(&cfg), PostDomTree::new(&cfg), Cycles::new(&cfg));
        let next = split_edge(&cfg, &mut layout, from, edge);
        let at = format!("seed {seed}, round {round}, edge {edge} of {from} of {cfg:?}");
        let Some(updated) = cfg.after_edge_split(from, edge) else {
            cfg = next;
            continue;
        };
        assert_eq!(updated, next, "{at}");
        match dom.after_edge_split(&next, from) {
            Some(updated) => assert_eq!(updated, DomTree::new(&next), "{at}"),
            None => counts.refused += 1,
        }
        match postdom.after_edge_split(&next, from) {
            Some(updated) => {
                assert_eq!(updated, PostDomTree::new(&next), "{at}");
                counts.postdom += 1;
            }
            None => assert!(postdom.roots().len() > next.exits().count(), "{at}"),
        }
        match cycles.after_edge_split(&next, from) {
            Some(updated) => assert_eq!(updated, Cycles::new(&next), "{at}"),
            None => counts.refused += 1,
        }
        let sync = SyncDependence::new(&cfg, &dom, &cycles);
        let _ = SyncView::new(&sync, &cfg, &dom, &cycles);
        let (next_dom, next_cycles) = (DomTree::new(&next), Cycles::new(&next));
        if let Some(updated) = sync.after_edge_split(&next, &next_dom, &next_cycles, from) {
            let scratch = SyncDependence::new(&next, &next_dom, &next_cycles);
            let _ = SyncView::new(&scratch, &next, &next_dom, &next_cycles);
            assert!(updated.is_of_same_graph(&scratch), "{at}");
            counts.sync += 1;
        }
        counts.cycles += usize::from(!cycles.is_empty());
        cfg = next;
    }
}

#[test]
fn edge_splits() {
    let mut counts = Counts::default();
    for seed in 0..3000 * effort() {
        check_edge_splits(random::any_graph(seed, 24), seed, 8, &mut counts);
    }
    for family in families::ALL {
        for size in [3, 12, 40] {
            check_edge_splits((family.with_nodes)(size), size as u64, 12, &mut counts);
        }
    }
    assert!(counts.postdom > 5000 && counts.cycles > 5000, "{counts:?}");
    assert!(counts.sync > 5000 && counts.refused < 2000 * effort() as usize, "{counts:?}");
}

#[test]
fn splits() {
    let mut counts = Counts::default();
    for seed in 0..3000 * effort() {
        check_splits(random::any_graph(seed, 24), seed, 6, &mut counts);
    }
    for family in families::ALL {
        for size in [3, 12, 40] {
            check_splits((family.with_nodes)(size), size as u64, 12, &mut counts);
        }
    }
    assert!(counts.postdom > 1000 && counts.cycles > 1000, "{counts:?}");
    assert!(counts.sync > 5000 && counts.regions > 1000, "{counts:?}");
    assert!(counts.refused < 500 * effort() as usize, "{counts:?}");
}

/// The graph without the branch of a diamond, built from scratch.
fn close(cfg: &Cfg, layout: &mut Vec<Node>, diamond: &Diamond) -> Cfg {
    let mut lists: Vec<Vec<Node>> = cfg.nodes().map(|n| cfg.successors(n).to_vec()).collect();
    lists[diamond.node().index()] = vec![diamond.join()];
    diamond.sides().for_each(|side| lists[side.index()].clear());
    layout.retain(|node| !diamond.sides().any(|side| side == *node));
    Cfg::with_layout(cfg.entry(), lists, layout)
}

/// A graph with a few new sides on edges and between nodes, somewhere in the layout.
fn with_diamonds(cfg: &Cfg, layout: &mut Vec<Node>, rng: &mut SmallRng) -> Cfg {
    let mut lists: Vec<Vec<Node>> = cfg.nodes().map(|n| cfg.successors(n).to_vec()).collect();
    for node in cfg.nodes() {
        let &[to] = cfg.successors(node) else { continue };
        if to == node || rng.random_bool(0.3) {
            continue;
        }
        let mut ways = vec![to, to];
        for way in &mut ways {
            if rng.random_bool(0.7) {
                *way = Node::new(lists.len());
                lists.push(vec![to]);
                let at = layout.iter().position(|n| *n == node);
                let behind = at.filter(|_| rng.random_bool(0.7)).map_or(layout.len(), |at| at + 1);
                layout.insert(behind, *way);
            }
        }
        lists[node.index()] = ways;
    }
    Cfg::with_layout(cfg.entry(), lists, layout)
}

fn check_diamonds(cfg: &Cfg, seed: u64, counts: &mut Counts) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut layout: Vec<Node> = cfg.nodes().collect();
    let mut cfg = with_diamonds(cfg, &mut layout, &mut rng);
    let nodes: Vec<Node> = cfg.nodes().collect();
    for node in nodes {
        let Some(diamond) = Diamond::at(&cfg, node) else { continue };
        let (dom, postdom, cycles) =
            (DomTree::new(&cfg), PostDomTree::new(&cfg), Cycles::new(&cfg));
        let next = close(&cfg, &mut layout, &diamond);
        let at = format!("seed {seed}, {diamond:?} of {cfg:?}");
        let Some(change) = Change::between(&cfg, &next) else {
            // The node is not where the first side was among the predecessors of the join.
            assert_ne!(cfg.after_diamond(&diamond), next, "{at}");
            counts.refused += 1;
            cfg = next;
            continue;
        };
        assert_eq!(change, Change::Diamond(diamond), "{at}");
        let (next_dom, next_cycles) = (DomTree::new(&next), Cycles::new(&next));
        assert_eq!(dom.after_diamond(&diamond), next_dom, "{at}");
        match postdom.after_diamond(&next, &diamond) {
            Some(updated) => {
                assert_eq!(updated, PostDomTree::new(&next), "{at}");
                counts.postdom += 1;
            }
            None => assert!(postdom.roots().len() > cfg.exits().count(), "{at}"),
        }
        let sync = SyncDependence::new(&cfg, &dom, &cycles);
        let _ = SyncView::new(&sync, &cfg, &dom, &cycles);
        assert_eq!(cycles.after_diamond(&diamond), next_cycles, "{at}");
        counts.cycles += usize::from(cycles.innermost(node).is_some());
        if let Some(updated) = sync.after_diamond(&next, &next_cycles, &diamond) {
            let scratch = SyncDependence::new(&next, &next_dom, &next_cycles);
            let _ = SyncView::new(&scratch, &next, &next_dom, &next_cycles);
            assert!(updated.is_of_same_graph(&scratch), "{at}");
            counts.sync += 1;
        }
        cfg = next;
    }
}

#[test]
fn diamonds() {
    let mut counts = Counts::default();
    for seed in 0..3000 * effort() {
        check_diamonds(&random::any_graph(seed, 24), seed, &mut counts);
    }
    for family in families::ALL {
        for size in [3, 12, 40] {
            check_diamonds(&(family.with_nodes)(size), size as u64, &mut counts);
        }
    }
    assert!(counts.postdom > 5000 && counts.cycles > 3000 && counts.sync > 6000, "{counts:?}");
    assert!(counts.refused < 500 * effort() as usize, "{counts:?}");
}
