//! SSA form of memory variables against its definition. A definition reaches an event if a path
//! leads from it to the event without a must-definition of the variable.

use std::collections::BTreeSet;

use phalanx_analysis::memory::ssa::{Event, EventKind, Events, Frontiers, Pruning, Ssa, Version};
use phalanx_graph::testing::random::any_graph;
use phalanx_graph::{Cfg, DomTree, DominanceFrontier, Node};
use rand::{Rng, SeedableRng, rngs::SmallRng};

/// A definition. `None` is the content at function entry.
type Definition = Option<u32>;

struct Case {
    cfg: Cfg,
    dom: DomTree,
    events: Events,
    variables: u32,
}

fn case(seed: u64) -> Option<Case> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let cfg = any_graph(seed, if seed.is_multiple_of(10) { 60 } else { 12 });
    // As in the IR: no edge leads to the entry.
    if !cfg.predecessors(cfg.entry()).is_empty() {
        return None;
    }
    let variables = rng.random_range(1..4);
    let density = rng.random_range(1..4);
    let mut by_block: Vec<(Node, Event)> = Vec::new();
    for node in cfg.nodes() {
        for _ in 0..rng.random_range(0..=density) {
            let kinds = [EventKind::Use, EventKind::MayDef, EventKind::MustDef];
            let kind = kinds[rng.random_range(0..3)];
            by_block.push((node, Event { variable: rng.random_range(0..variables), kind }));
        }
    }
    let (events, _) = Events::new(cfg.node_count(), &by_block);
    let dom = DomTree::new(&cfg);
    Some(Case { cfg, dom, events, variables })
}

/// The last definitions before each event of one variable, by iterated data flow. A may-definition
/// also replaces earlier definitions, since it reads the version before it.
fn twin(case: &Case, variable: u32) -> Vec<(u32, BTreeSet<Definition>)> {
    let Case { cfg, dom, events, .. } = case;
    let mut out: Vec<BTreeSet<Definition>> = vec![BTreeSet::new(); cfg.node_count()];
    let at_start = |out: &[BTreeSet<Definition>], node: Node| {
        let mut at_start = BTreeSet::new();
        if node == cfg.entry() {
            at_start.insert(None);
        }
        for pred in cfg.predecessors(node).iter().filter(|pred| dom.is_reachable(**pred)) {
            at_start.extend(out[pred.index()].iter().copied());
        }
        at_start
    };
    let last = |node: Node| {
        let own = events.of(node).rev();
        own.map(|number| (number, events.event(number)))
            .find(|(_, event)| event.variable == variable && event.kind != EventKind::Use)
            .map(|(number, _)| number)
    };
    loop {
        let mut changed = false;
        for node in cfg.nodes().filter(|node| dom.is_reachable(*node)) {
            let new = match last(node) {
                Some(definition) => BTreeSet::from([Some(definition)]),
                None => at_start(&out, node),
            };
            changed |= new != out[node.index()];
            out[node.index()] = new;
        }
        if !changed {
            break;
        }
    }
    let mut found = Vec::new();
    for node in cfg.nodes().filter(|node| dom.is_reachable(*node)) {
        let mut here = at_start(&out, node);
        for number in events.of(node) {
            let event = events.event(number);
            if event.variable != variable {
                continue;
            }
            found.push((number, here.clone()));
            if event.kind != EventKind::Use {
                here = BTreeSet::from([Some(number)]);
            }
        }
    }
    found
}

/// The definitions that a version stands for: those behind its phis.
fn definitions(ssa: &Ssa, dom: &DomTree, version: Version) -> BTreeSet<Definition> {
    let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut stack = vec![version];
    while let Some(version) = stack.pop() {
        match version {
            Version::Entry => drop(found.insert(None)),
            Version::Def(event) => drop(found.insert(Some(event))),
            Version::Phi(phi) if seen.insert(phi) => {
                let entries = ssa.incoming(&ssa.phis()[phi as usize]).iter();
                stack.extend(entries.filter(|entry| dom.is_reachable(entry.0)).map(|e| e.1));
            }
            Version::Phi(_) => {}
        }
    }
    found
}

#[test]
fn versions_are_the_definitions_that_reach() {
    let (mut uses, mut phis) = (0, 0);
    for seed in 0..4000 {
        let Some(case) = case(seed) else { continue };
        for pruning in [Pruning::None, Pruning::Live] {
            let ssa = Ssa::new(&case.cfg, &case.dom, &case.events, case.variables, pruning);
            phis += ssa.phis().len();
            for variable in 0..case.variables {
                for (event, expected) in twin(&case, variable) {
                    // A must-definition does not read the version before it, and pruning may drop
                    // the phi before a dead may-definition. So only uses are compared.
                    if case.events.event(event).kind != EventKind::Use {
                        continue;
                    }
                    let found = definitions(&ssa, &case.dom, ssa.reaching(event));
                    assert_eq!(found, expected, "seed {seed}, {pruning:?}, event {event}");
                    uses += 1;
                }
            }
        }
    }
    assert!(uses > 10_000 && phis > 5_000, "{uses} {phis}");
}

/// The sparse form, computed from the blocks with events, equals the dense one.
#[test]
fn the_sparse_form_is_the_same() {
    let (mut phis, mut reached) = (0, 0);
    for seed in 0..4000 {
        let Some(Case { cfg, dom, events, variables }) = case(seed) else { continue };
        let dense = Ssa::new(&cfg, &dom, &events, variables, Pruning::Live);
        // Unreachable events are not passed to the sparse form.
        let numbers: Vec<u32> = dom.preorder().iter().flat_map(|&at| events.of(at)).collect();
        let block = |number: u32| cfg.nodes().find(|&at| events.of(at).contains(&number));
        let by_block: Vec<(Node, Event)> = numbers
            .iter()
            .map(|&number| (block(number).expect("it is in one"), events.event(number)))
            .collect();
        let frontier = DominanceFrontier::new(&cfg, &dom);
        let graph = Frontiers { cfg: &cfg, dom: &dom, frontier: &|| &frontier };
        let (_, sparse) = Ssa::sparse(graph, &by_block, variables);
        let same = |version: Version| match version {
            Version::Def(event) => Version::Def(numbers[event as usize]),
            other => other,
        };
        for (event, &number) in (0..).zip(&numbers) {
            assert_eq!(same(sparse.reaching(event)), dense.reaching(number), "seed {seed}");
            reached += 1;
        }
        assert_eq!(sparse.phis(), dense.phis(), "seed {seed}");
        for phi in sparse.phis() {
            let entries = sparse.incoming(phi).iter().map(|&(pred, version)| (pred, same(version)));
            assert!(entries.eq(dense.incoming(phi).iter().copied()), "seed {seed}");
            phis += 1;
        }
    }
    assert!(reached > 10_000 && phis > 1_000, "{reached} {phis}");
}

/// Every kept phi reaches a use. And if versions differ at a join and the variable is live there,
/// the join has a phi.
#[test]
fn pruned_phis_are_read() {
    let mut dropped = 0;
    for seed in 0..2000 {
        let Some(case) = case(seed) else { continue };
        let new = |pruning| Ssa::new(&case.cfg, &case.dom, &case.events, case.variables, pruning);
        let (all, live) = (new(Pruning::None), new(Pruning::Live));
        let mut read = BTreeSet::new();
        let mut stack = Vec::new();
        for event in 0..case.events.len() as u32 {
            if case.events.event(event).kind == EventKind::Use {
                stack.push(live.reaching(event));
            }
        }
        let mut seen = BTreeSet::new();
        while let Some(version) = stack.pop() {
            if !seen.insert(version) {
                continue;
            }
            match version {
                Version::Entry => {}
                Version::Def(event) if case.events.event(event).kind == EventKind::MayDef => {
                    stack.push(live.reaching(event));
                }
                Version::Def(_) => {}
                Version::Phi(phi) => {
                    read.insert(phi);
                    stack.extend(live.incoming(&live.phis()[phi as usize]).iter().map(|e| e.1));
                }
            }
        }
        assert_eq!(read.len(), live.phis().len(), "seed {seed}");
        dropped += all.phis().len() - live.phis().len();
    }
    assert!(dropped > 1000, "{dropped}");
}

/// Many variables in a long function, each used in a small part of it: the size of the form is
/// linear in the size of the function.
#[test]
fn many_variables_in_a_long_function() {
    let blocks = 30_000;
    let n = Node::new;
    // A chain of diamonds, with a variable for each.
    let lists = (0..blocks).map(|i| match i % 3 {
        _ if i + 3 >= blocks => vec![],
        0 => vec![n(i + 1), n(i + 2)],
        1 => vec![n(i + 2)],
        _ => vec![n(i + 1)],
    });
    let cfg = Cfg::new(n(0), lists);
    let dom = DomTree::new(&cfg);
    let mut by_block = Vec::new();
    for i in (3..blocks - 6).step_by(3) {
        let variable = (i / 3) as u32;
        by_block.push((n(i + 1), Event { variable, kind: EventKind::MustDef }));
        by_block.push((n(i + 3), Event { variable, kind: EventKind::Use }));
    }
    let (events, _) = Events::new(blocks, &by_block);
    let ssa = Ssa::new(&cfg, &dom, &events, (blocks / 3) as u32, Pruning::Live);
    assert_eq!(ssa.phis().len(), by_block.len() / 2);
}
