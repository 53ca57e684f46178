//! Edits of the graph: the incrementally updated form against the one from scratch.

use std::sync::Arc;

use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::{BlockId, InstId, flow::block_of};
use rand::{Rng, SeedableRng, rngs::SmallRng};

use super::{COUNT, Case, Form, Graphs, Look, readers_are_right, said};
use crate::memory::{UpdatedFact, form::change::Change, ssa::Pruning};

/// Successors by block.
type Lists = Vec<Vec<Node>>;

/// A block that is not the entry.
fn any_block(lists: &Lists, rng: &mut SmallRng) -> Node {
    Node::new(rng.random_range(1..lists.len()))
}

/// Makes a random edit of the graph, and adds blocks with other successors and new blocks to
/// `told`. The entry is the first block, and no edge leads there.
fn edit(lists: &mut Lists, case: &mut Case, rng: &mut SmallRng, told: &mut Vec<Node>) {
    let to = any_block(lists, rng);
    let from = Node::new(rng.random_range(0..lists.len()));
    let own = lists[from.index()].len();
    match rng.random_range(0..8) {
        // Adds, removes or redirects an edge; parallel edges are allowed.
        0 | 1 => lists[from.index()].push(to),
        2 if own > 0 => {
            lists[from.index()].remove(rng.random_range(0..own));
        }
        3 | 4 if own > 0 => lists[from.index()][rng.random_range(0..own)] = to,
        // Splits a block; the last instructions move to the new one.
        5 => {
            let new = Node::new(lists.len());
            let next = std::mem::replace(&mut lists[from.index()], vec![new]);
            lists.push(next);
            let all: Vec<InstId> = case.body.block_insts(block_of(from)).collect();
            for &inst in &all[rng.random_range(0..=all.len())..] {
                case.body.unlink(inst);
                case.body.append(block_of(new), inst);
            }
            told.push(new);
        }
        // Splits an edge.
        6 if own > 0 => {
            let new = Node::new(lists.len());
            let at = rng.random_range(0..own);
            let next = std::mem::replace(&mut lists[from.index()][at], new);
            lists.push(vec![next]);
            told.push(new);
        }
        // Merges a block with its only successor.
        _ => {
            let &[next] = &lists[from.index()][..] else { return };
            let preds = lists.iter().flatten().filter(|to| **to == next).count();
            if next == from || preds != 1 {
                return;
            }
            lists[from.index()] = std::mem::take(&mut lists[next.index()]);
            let all: Vec<InstId> = case.body.block_insts(block_of(next)).collect();
            for inst in all {
                case.body.unlink(inst);
                case.body.append(block_of(from), inst);
            }
            told.push(next);
        }
    }
    told.push(from);
}

/// A round of edits of the graph and of instructions. Returns the graph before, the blocks that the
/// edit lists, and the instructions.
fn round(case: &mut Case, rng: &mut SmallRng) -> ((Cfg, DomTree), Vec<Node>, Vec<InstId>) {
    let mut lists: Lists =
        case.cfg.nodes().map(|block| case.cfg.successors(block).to_vec()).collect();
    let mut told = Vec::new();
    for _ in 0..[1, 1, 1, 2, 5][rng.random_range(0..5)] {
        edit(&mut lists, case, rng, &mut told);
    }
    let cfg = Cfg::new(Node::new(0), lists);
    let dom = DomTree::new(&cfg);
    let before = (std::mem::replace(&mut case.cfg, cfg), std::mem::replace(&mut case.dom, dom));
    let was_reachable =
        |block: Node| block.index() < before.1.node_count() && before.1.is_reachable(block);
    told.extend(
        case.cfg.nodes().filter(|&block| was_reachable(block) != case.dom.is_reachable(block)),
    );
    told.sort_unstable();
    told.dedup();
    let mut changed = Vec::new();
    if rng.random_bool(0.3) {
        changed.extend((0..rng.random_range(1..4)).map(|_| case.edit(rng)));
    }
    changed.extend(told.iter().flat_map(|&block| case.body.block_insts(block_of(block))));
    (before, told, changed)
}

#[test]
fn what_follows_edits_of_the_graph_is_the_form_from_scratch() {
    let seeds = std::env::var("PHALANX_FORMS").ok().and_then(|count| count.parse().ok());
    let (mut count, mut repaired, mut anew, mut ignored) = (0, 0, 0, 0);
    for seed in 0..seeds.unwrap_or(400) {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let Some(mut case) = Case::new(seed, rng) else { continue };
        if case.cfg.entry() != Node::new(0) || case.cfg.node_count() < 2 {
            continue;
        }
        // Half of the programs define and use little.
        if rng.random_bool(0.5) {
            let rare: Vec<InstId> = case.body.all_ids().filter(|_| rng.random_bool(0.8)).collect();
            rare.iter().for_each(|&inst| case.body.unlink(inst));
        }
        let mut forms = [Pruning::None, Pruning::Live].map(|pruning| (pruning, case.form(pruning)));
        for at in 0..20 {
            let ((cfg, dom), told, changed) = round(&mut case, rng);
            let blocks: Vec<BlockId> = told.iter().map(|&block| block_of(block)).collect();
            let graphs = Graphs { before: (&cfg, &dom), now: case.graph() };
            for (pruning, form) in &mut forms {
                let what = format!("seed {seed}, round {at}, {pruning:?}");
                let looked: Vec<Look> = changed.iter().map(|&i| case.look(i, *pruning)).collect();
                let scratch = case.form(*pruning);
                count += 1;
                match form.update(&case.body, graphs, &looked, Some(&blocks)) {
                    UpdatedFact::Unknown => panic!("{what}: blocks keep their numbers"),
                    UpdatedFact::Same => {}
                    UpdatedFact::Other(new) => {
                        assert!(new != *form, "{what}: it is the same");
                        let found = repairs([form, &new], graphs, (*pruning, &blocks));
                        repaired += found[0];
                        anew += found[1];
                        *form = new;
                    }
                }
                assert!(*form == scratch, "{what}");
                assert_eq!(said(form), said(&scratch), "{what}");
                if *pruning == Pruning::Live && at % 5 == 0 {
                    readers_are_right(&case, form, &mut ignored);
                }
            }
        }
    }
    println!("{count} rounds: {repaired} times repaired, {anew} times anew");
    assert!(repaired > 5_000 && anew * 2 < repaired, "{count} {repaired} {anew}");
}

/// The number of defined variables whose second level is repaired, and the number of those for
/// which the repair gives up.
fn repairs(
    [old, new]: [&Form; 2],
    graphs: Graphs<'_>,
    (pruning, blocks): (Pruning, &[BlockId]),
) -> [usize; 2] {
    let change = Change::new(graphs, Some(blocks)).expect("blocks keep their numbers");
    let mut found = [0; 2];
    for variable in 0..COUNT {
        let [before, now] = [old, new].map(|form| &form.joins[usize::from(variable)]);
        if *before != Arc::default() && *now != Arc::default() {
            let rows = [&old.rows, &new.rows];
            let is_repaired = before.update(&change, rows, (variable, pruning)).is_some();
            found[usize::from(!is_repaired)] += 1;
        }
    }
    found
}
