//! Random control-flow graphs.

use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};

use crate::cfg::{Cfg, CfgBuilder};
use crate::node::Node;

fn rng(seed: u64) -> SmallRng {
    SmallRng::seed_from_u64(seed)
}

fn build(lists: Vec<Vec<usize>>) -> Cfg {
    Cfg::new(Node::new(0), lists.into_iter().map(|list| list.into_iter().map(Node::new)))
}

/// A graph of any kind of this module with at most `max` nodes (at least 1): the default for
/// property tests.
///
/// Reducible and irreducible graphs, unreachable nodes, self-loops, parallel edges, several exits,
/// infinite loops and edges into the entry all occur often.
#[must_use]
pub fn any_graph(seed: u64, max: usize) -> Cfg {
    let mut r = rng(seed);
    let nodes = r.random_range(1..=max.max(1));
    let inner = r.random();
    match r.random_range(0..7) {
        0 => structured(inner, nodes),
        1 => reducible(inner, nodes),
        2 => irreducible(inner, nodes),
        3 => local(inner, nodes, r.random_range(1..8)),
        4 => arbitrary(inner, nodes, r.random_range(0.5..3.0)),
        5 if max >= 13 => nested_exits(inner),
        _ => clutter(&structured(inner, nodes), r.random()),
    }
}

/// A program-like graph: nested conditionals, loops of both shapes, switches, breaks, continues and
/// early returns. Reducible; the entry has no predecessors; every node is reachable unless code
/// follows a jump.
///
/// The node count is close to `nodes`, not exactly it.
#[must_use]
pub fn structured(seed: u64, nodes: usize) -> Cfg {
    let mut writer = Writer { rng: rng(seed), lists: vec![vec![]], at: 0 };
    let exit = writer.block();
    // An open construct: where control goes on when its current arm ends, and what its jumps
    // target.
    struct Open {
        arms: Vec<usize>,
        join: usize,
        after: usize,
        can_continue: Option<usize>,
    }
    let mut open: Vec<Open> = Vec::new();
    while writer.lists.len() < nodes || !open.is_empty() {
        let finish = writer.lists.len() >= nodes || (!open.is_empty() && writer.chance(0.35));
        if let Some(top) = open.last_mut().filter(|_| finish) {
            writer.jump(top.join);
            match top.arms.pop() {
                Some(arm) => writer.at = arm,
                None => {
                    writer.at = top.after;
                    open.pop();
                }
            }
            continue;
        }
        match writer.rng.random_range(0..10) {
            // Straight line.
            0 => {
                let next = writer.block();
                writer.jump(next);
                writer.at = next;
            }
            // Conditional or switch with `arms` arms, one of which may be empty.
            1..=4 => {
                let switch = writer.chance(0.15);
                let count = if switch { writer.rng.random_range(3..7) } else { 2 };
                let join = writer.block();
                let mut arms: Vec<usize> = (1..count).map(|_| writer.block()).collect();
                let mut targets = arms.clone();
                targets.push(if writer.chance(0.5) { join } else { writer.block() });
                if targets[count - 1] != join {
                    arms.push(targets[count - 1]);
                }
                if switch && writer.chance(0.5) {
                    targets.push(targets[0]);
                }
                let at = writer.at;
                writer.lists[at] = targets;
                writer.at = arms.pop().unwrap_or(join);
                open.push(Open { arms, join, after: join, can_continue: None });
            }
            // Loop tested at the top or at the bottom.
            5..=7 => {
                let (header, body, after) = (writer.block(), writer.block(), writer.block());
                writer.jump(header);
                if writer.chance(0.5) {
                    writer.lists[header] = vec![body, after];
                    writer.at = body;
                    open.push(Open {
                        arms: vec![],
                        join: header,
                        after,
                        can_continue: Some(header),
                    });
                } else {
                    let latch = writer.block();
                    writer.lists[header] = vec![body];
                    writer.lists[latch] = vec![header, after];
                    writer.at = body;
                    open.push(Open { arms: vec![], join: latch, after, can_continue: Some(latch) });
                }
            }
            // A conditional jump out: break, continue or return.
            _ => {
                let around: Vec<(usize, usize)> =
                    open.iter().filter_map(|o| Some((o.can_continue?, o.after))).collect();
                let target = match around.choose(&mut writer.rng) {
                    Some(&(latch, after)) => {
                        let choices = [latch, after, after, exit];
                        choices[writer.rng.random_range(0..choices.len())]
                    }
                    None => exit,
                };
                let next = writer.block();
                let at = writer.at;
                writer.lists[at] =
                    if writer.chance(0.5) { vec![target, next] } else { vec![next, target] };
                writer.at = next;
            }
        }
    }
    writer.jump(exit);
    build(writer.lists)
}

struct Writer {
    rng: SmallRng,
    lists: Vec<Vec<usize>>,
    /// The block that is being written.
    at: usize,
}

impl Writer {
    fn block(&mut self) -> usize {
        self.lists.push(vec![]);
        self.lists.len() - 1
    }
    fn jump(&mut self, to: usize) {
        self.lists[self.at] = vec![to];
    }
    fn chance(&mut self, p: f64) -> bool {
        self.rng.random_bool(p)
    }
}

/// A loop in a loop, with several ways out of the inner one and a way past it. Threads that leave
/// by one exit may be back at the outer header before others have met. Reducible; node numbers are
/// random except for the entry's.
#[must_use]
pub fn nested_exits(seed: u64) -> Cfg {
    let mut r = rng(seed);
    let (inner, outer) = (r.random_range(2..5), r.random_range(2..7));
    let (header, first, behind) = (1, 2, 2 + inner);
    let exit = behind + outer;
    let mut lists: Vec<Vec<usize>> = vec![Vec::new(); exit + 1];
    lists[0].push(header);
    lists[header].extend([first, r.random_range(behind..=exit)]);
    for (node, list) in lists.iter_mut().enumerate().take(behind).skip(first) {
        // Forward, and back from the last.
        list.push(if node + 1 < behind { r.random_range(node + 1..behind) } else { first });
        for _ in 0..r.random_range(0..3) {
            list.push(r.random_range(first..exit));
        }
        list.retain(|&to| to > node || to == first);
    }
    for (node, list) in lists.iter_mut().enumerate().take(exit).skip(behind) {
        for _ in 0..r.random_range(1..3) {
            let to = r.random_range(node + 1..=exit + 1);
            list.push(if to >= exit && r.random_bool(0.9) { header } else { to.min(exit) });
        }
    }
    let mut numbers: Vec<usize> = (1..=exit).collect();
    numbers.shuffle(&mut r);
    numbers.insert(0, 0);
    let mut named = vec![Vec::new(); lists.len()];
    for (node, list) in lists.into_iter().enumerate() {
        named[numbers[node]] = list.into_iter().map(|to| numbers[to]).collect();
    }
    build(named)
}

/// Any reducible graph, by undoing the reduction rules T1 and T2 of Hecht and Ullman: a node gets a
/// self-loop, or is split in two where the second part takes over some of the edges.
///
/// Every reducible graph whose nodes are all reachable can result.
#[must_use]
pub fn reducible(seed: u64, nodes: usize) -> Cfg {
    let mut r = rng(seed);
    let mut lists: Vec<Vec<usize>> = vec![vec![]];
    while lists.len() < nodes {
        let n = r.random_range(0..lists.len());
        if r.random_bool(0.25) {
            lists[n].push(n);
            continue;
        }
        let m = lists.len();
        let (mut first, mut second) = (vec![m], vec![]);
        for t in std::mem::take(&mut lists[n]) {
            // An edge stays, moves or doubles.
            let choice = r.random_range(0..5);
            if choice <= 2 {
                second.push(t);
            }
            if choice >= 2 {
                first.push(t);
            }
        }
        if first.len() > 1 && r.random_bool(0.5) {
            let other = r.random_range(0..first.len());
            first.swap(0, other);
        }
        lists[n] = first;
        lists.push(second);
    }
    build(lists)
}

/// A reducible graph with a few edges added anywhere, which usually makes some cycles irreducible.
#[must_use]
pub fn irreducible(seed: u64, nodes: usize) -> Cfg {
    let mut r = rng(seed);
    let base = if r.random_bool(0.5) {
        structured(r.random(), nodes)
    } else {
        reducible(r.random(), nodes)
    };
    let n = base.node_count();
    let mut lists: Vec<Vec<usize>> =
        base.nodes().map(|v| base.successors(v).iter().map(|s| s.index()).collect()).collect();
    for _ in 0..r.random_range(1..=1 + n / 6) {
        let from = r.random_range(0..n);
        let to = r.random_range(0..n);
        let at = r.random_range(0..=lists[from].len());
        lists[from].insert(at, to);
    }
    build(lists)
}

/// Each node goes to the next or jumps to one within `reach` of it, forwards or backwards, or both:
/// the shape of machine-made code with gotos. The last node is the only exit.
#[must_use]
pub fn local(seed: u64, nodes: usize, reach: usize) -> Cfg {
    let mut r = rng(seed);
    let n = nodes.max(1);
    let lists = (0..n - 1)
        .map(|i| {
            let ahead = r.random_range(i + 1..(i + reach + 2).min(n));
            let behind = r.random_range(i.saturating_sub(reach)..=i);
            match r.random_range(0..20) {
                0 => vec![ahead],
                1..=6 => vec![i + 1],
                7..=13 => vec![i + 1, ahead],
                14..=16 => vec![behind, i + 1],
                17..=18 => vec![i + 1, behind],
                _ => vec![ahead, behind],
            }
        })
        .chain([vec![]])
        .collect();
    build(lists)
}

/// Independent random edges, `degree` per node on average: many nodes are unreachable, and the
/// reachable part is strongly irreducible.
#[must_use]
pub fn arbitrary(seed: u64, nodes: usize, degree: f64) -> Cfg {
    let mut r = rng(seed);
    let n = nodes.max(1);
    let mut builder = CfgBuilder::with_nodes(n);
    for _ in 0..(n as f64 * degree) as usize {
        let from = Node::new(r.random_range(0..n));
        builder.add_edge(from, Node::new(r.random_range(0..n)));
    }
    builder.build(Node::new(0))
}

/// The graph with noise: unreachable nodes that jump into it and among themselves, repeated
/// targets, wide switches, endless self-loops in place of exits.
#[must_use]
pub fn clutter(graph: &Cfg, seed: u64) -> Cfg {
    let mut r = rng(seed);
    let n = graph.node_count();
    let mut lists: Vec<Vec<usize>> =
        graph.nodes().map(|v| graph.successors(v).iter().map(|s| s.index()).collect()).collect();
    for (i, list) in lists.iter_mut().enumerate() {
        if list.is_empty() && r.random_bool(0.3) {
            list.push(i);
        } else if !list.is_empty() && r.random_bool(0.1) {
            list.push(list[r.random_range(0..list.len())]);
        }
        if r.random_bool(0.05) {
            let width = r.random_range(1..20);
            list.extend((0..width).map(|_| r.random_range(0..n)));
        }
    }
    let total = n + r.random_range(0..=1 + n / 4);
    for _ in n..total {
        let degree = r.random_range(0..3);
        lists.push((0..degree).map(|_| r.random_range(0..total)).collect());
    }
    build(lists)
}

/// The graph behind a new entry without predecessors, as LLVM requires of a function. Node `i`
/// becomes `i + 1`.
#[must_use]
pub fn with_fresh_entry(graph: &Cfg) -> Cfg {
    let shifted = graph
        .nodes()
        .map(|v| graph.successors(v).iter().map(|s| Node::new(s.index() + 1)).collect::<Vec<_>>());
    let first = vec![Node::new(graph.entry().index() + 1)];
    Cfg::new(Node::new(0), std::iter::once(first).chain(shifted))
}
