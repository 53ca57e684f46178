//! Families of toy programs of any size, each of which stresses one thing.
//!
//! Control flow is regular and every branch is divergent: its condition depends on the thread's id.
//! A program has as many values as a small kernel of that shape would have. LLVM 22 needs quadratic
//! time or worse on most of these shapes; some are harmless.

mod writer;

use phalanx_graph::{Cfg, Node};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::abstract_program::{AbstractProgram, Operand, Operation};

use writer::Writer;

/// A family by name.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name in tables.
    pub name: &'static str,
    /// Makes the member of a size: repetitions of the shape.
    pub make: fn(usize) -> AbstractProgram,
}

/// All families.
pub const ALL: &[Family] = &[
    Family { name: "line", make: line },
    Family { name: "diamonds", make: diamonds },
    Family { name: "nest", make: |n| nest(n, false) },
    Family { name: "nestbig", make: |n| nest(n, true) },
    Family { name: "ladder", make: |n| ladder(n, false) },
    Family { name: "ladderloop", make: |n| ladder(n, true) },
    Family { name: "switch", make: switch },
    Family { name: "interp", make: interp },
    Family { name: "randlocal", make: |n| random(n, true) },
    Family { name: "randglobal", make: |n| random(n, false) },
    Family { name: "earlyexit", make: early_exit },
    Family { name: "breaks", make: breaks },
    Family { name: "continues", make: continues },
    Family { name: "inf", make: infinite },
    Family { name: "seqloops", make: |n| sequence(n, 1) },
    Family { name: "seqnest", make: |n| sequence(n, 2) },
    Family { name: "seqnest4", make: |n| sequence(n, 4) },
    Family { name: "nestif", make: |n| nested_conditionals(n, false) },
    Family { name: "nestifloop", make: |n| nested_conditionals(n, true) },
    Family { name: "unreach", make: |n| unreachable_defaults(n, true) },
    Family { name: "unreachown", make: |n| unreachable_defaults(n, false) },
    Family { name: "leftnest", make: left_nest },
    Family { name: "irrdiamonds", make: irreducible_diamonds },
];

/// A program on a given graph: every block where edges meet has a phi of literals, every branch
/// depends on the thread's id. The graph's nodes follow a fresh entry.
#[must_use]
pub fn on_graph(cfg: &Cfg) -> AbstractProgram {
    let mut w = Writer::new();
    let entry = w.at;
    let first = w.row(cfg.node_count());
    let node = |n: Node| Node::new(first + n.index());
    w.jump(node(cfg.entry()));
    for block in cfg.nodes() {
        w.at = node(block);
        let mut preds: Vec<Node> = cfg.predecessors(block).iter().map(|&p| node(p)).collect();
        preds.dedup();
        if block == cfg.entry() {
            preds.push(entry);
        }
        if preds.len() > 1 {
            let entries: Vec<(Node, Operand)> =
                preds.iter().enumerate().map(|(i, &p)| (p, Operand::Constant(i as u32))).collect();
            w.phi(&entries);
        }
        let to: Vec<Node> = cfg.successors(block).iter().map(|&s| node(s)).collect();
        match *to.as_slice() {
            [] => {}
            [to] => w.jump(to),
            [yes, no] => w.branch(w.divergent, yes, no),
            _ => w.switch(w.divergent, to),
        }
    }
    w.finish()
}

fn line(n: usize) -> AbstractProgram {
    let mut w = Writer::new();
    let mut values = vec![w.divergent];
    for i in 0..n {
        let far = values[values.len().saturating_sub(1 + i * 7 % 50)];
        let value = w.pure(values[i], far);
        values.push(value);
    }
    w.finish()
}

fn diamonds(n: usize) -> AbstractProgram {
    let mut w = Writer::new();
    let mut value = w.divergent;
    for _ in 0..n {
        let [head, yes, no, join] = [0; 4].map(|_: i32| w.block());
        w.jump(head);
        w.at = head;
        w.branch(value, yes, no);
        w.at = yes;
        let x = w.step(value);
        w.jump(join);
        w.at = no;
        let y = w.step(value);
        w.jump(join);
        w.at = join;
        value = w.phi(&[(yes, x), (no, y)]);
    }
    w.finish()
}

fn nest(n: usize, with_diamonds: bool) -> AbstractProgram {
    let mut w = Writer::new();
    let mut counters = Vec::new();
    for _ in 0..n {
        let before = w.at;
        let header = w.block();
        w.jump(header);
        w.at = header;
        let counter = w.phi(&[(before, Operand::Constant(0))]);
        counters.push((header, counter));
        if with_diamonds {
            let (side, join) = (w.block(), w.block());
            let sum = w.pure(counter, w.divergent);
            w.branch(sum, side, join);
            w.at = side;
            let x = w.step(counter);
            w.jump(join);
            w.at = join;
            w.phi(&[(side, x), (header, counter)]);
        }
    }
    for (header, counter) in counters.into_iter().rev() {
        let (latch, next) = (w.block(), w.block());
        w.jump(latch);
        w.at = latch;
        let value = w.step(counter);
        w.enter(header, counter, (latch, value));
        let test = w.pure(value, w.divergent);
        w.branch(test, header, next);
        w.at = next;
    }
    w.finish()
}

fn ladder(n: usize, closed: bool) -> AbstractProgram {
    let mut w = Writer::new();
    let first = w.row(2 * n + 1);
    let node = |i: usize| Node::new(first + i);
    let exit = node(2 * n);
    w.branch(w.divergent, node(0), node(1));
    let mut last = [(w.at, w.divergent); 2];
    let mut top = None;
    for i in 0..n {
        let (a, b) = (node(2 * i), node(2 * i + 1));
        w.at = a;
        let p = w.phi(&last[..1]);
        let x = w.step(p);
        let after = if i + 1 < n {
            node(2 * i + 2)
        } else if closed {
            node(0)
        } else {
            exit
        };
        w.branch(x, b, after);
        w.at = b;
        let q = w.phi(&[last[1], (a, x)]);
        let y = w.step(q);
        w.branch(y, a, if i + 1 < n { node(2 * i + 3) } else { exit });
        w.enter(a, p, (b, y));
        last = [(a, x), (b, y)];
        top.get_or_insert(p);
    }
    if let (true, Some(p)) = (closed, top) {
        w.enter(node(0), p, last[0]);
    } else {
        w.at = exit;
        w.phi(&last);
    }
    w.finish()
}

fn switch(n: usize) -> AbstractProgram {
    let mut w = Writer::new();
    let entry = w.at;
    let first = w.row(n + 1);
    let exit = Node::new(first + n);
    let mut to = vec![exit];
    to.extend((0..n).map(|i| Node::new(first + i)));
    w.switch(w.divergent, to.clone());
    let mut entries = vec![(entry, w.divergent)];
    for &case in &to[1..] {
        w.at = case;
        let value = w.step(w.argument);
        w.jump(exit);
        entries.push((case, value));
    }
    w.at = exit;
    w.phi(&entries);
    w.finish()
}

fn interp(n: usize) -> AbstractProgram {
    let mut w = Writer::new();
    let entry = w.at;
    let (top, exit) = (w.block(), w.block());
    w.jump(top);
    w.at = top;
    let counter = w.phi(&[]);
    let mut entries = vec![(entry, w.divergent)];
    let first = w.row(n);
    let mut to = vec![exit];
    to.extend((0..n).map(|i| Node::new(first + i)));
    w.switch(counter, to.clone());
    for &case in &to[1..] {
        w.at = case;
        let value = w.step(counter);
        w.jump(top);
        entries.push((case, value));
    }
    w.blocks[top.index()].operations[0].1 = Operation::Phi(entries);
    w.at = exit;
    w.step(counter);
    w.finish()
}

fn random(n: usize, is_local: bool) -> AbstractProgram {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut lists: Vec<Vec<usize>> = Vec::new();
    for i in 0..n {
        if i + 1 == n {
            lists.push(Vec::new());
            continue;
        }
        let far = if is_local {
            if rng.random_bool(0.85) {
                i + rng.random_range(2..=20)
            } else {
                i.saturating_sub(rng.random_range(0..=20))
            }
        } else {
            rng.random_range(1..n)
        };
        let far = far.clamp(1, n - 1);
        let is_jump = rng.random_bool(0.3) || far == i + 1;
        lists.push(if is_jump { vec![i + 1] } else { vec![i + 1, far] });
    }
    let mut w = Writer::new();
    let entry = w.at;
    let first = w.row(n);
    let node = |i: usize| Node::new(first + i);
    w.jump(node(0));
    // By block: a phi web that carries the thread's id, one fed by literals, and their sum.
    let mut values = Vec::new();
    for i in 0..n {
        w.at = node(i);
        let [v, u] = [0; 2].map(|_: i32| w.phi(&[]));
        let sum = w.pure(v, u);
        values.push((v, u, sum));
    }
    let mut entries: Vec<Vec<Node>> = vec![Vec::new(); n];
    for (i, list) in lists.iter().enumerate() {
        for &to in list {
            entries[to].push(node(i));
        }
    }
    for (i, list) in lists.iter().enumerate() {
        let (v, u, _) = values[i];
        if i == 0 {
            w.enter(node(0), v, (entry, w.divergent));
            w.enter(node(0), u, (entry, Operand::Constant(0)));
        }
        for &pred in &entries[i] {
            w.enter(node(i), v, (pred, values[pred.index() - first].2));
            w.enter(node(i), u, (pred, Operand::Constant(rng.random_range(0..10))));
        }
        w.at = node(i);
        match *list.as_slice() {
            [to] => w.jump(node(to)),
            [near, far] => {
                let value = if rng.random() { v } else { w.argument };
                w.branch(value, node(near), node(far));
            }
            _ => {}
        }
    }
    w.finish()
}

fn early_exit(n: usize) -> AbstractProgram {
    let mut w = Writer::new();
    let exit = w.block();
    let mut value = w.divergent;
    let mut entries = Vec::new();
    let first = w.block();
    w.jump(first);
    w.at = first;
    for _ in 0..n {
        value = w.step(value);
        entries.push((w.at, value));
        let next = w.block();
        w.branch(value, exit, next);
        w.at = next;
    }
    entries.push((w.at, value));
    w.jump(exit);
    w.at = exit;
    w.phi(&entries);
    w.finish()
}

fn breaks(n: usize) -> AbstractProgram {
    let mut w = Writer::new();
    let (before, header, exit) = (w.at, w.block(), w.block());
    w.jump(header);
    w.at = header;
    let counter = w.phi(&[(before, w.divergent)]);
    let mut value = counter;
    let next = w.block();
    w.jump(next);
    w.at = next;
    let mut entries = Vec::new();
    for _ in 0..n {
        value = w.step(value);
        let (landing, next) = (w.block(), w.block());
        w.branch(value, landing, next);
        w.at = landing;
        let result = w.step(value);
        w.jump(exit);
        entries.push((landing, result));
        w.at = next;
    }
    let latch = w.at;
    let next = w.step(value);
    w.enter(header, counter, (latch, next));
    w.branch(next, header, exit);
    entries.push((latch, next));
    w.at = exit;
    w.phi(&entries);
    w.finish()
}

/// One loop of guards that go back to the header, with an exit at the end.
fn continues(n: usize) -> AbstractProgram {
    let mut w = Writer::new();
    let (before, header) = (w.at, w.block());
    w.jump(header);
    w.at = header;
    let counter = w.phi(&[]);
    let mut entries = vec![(before, w.divergent)];
    let mut value = counter;
    for _ in 0..n {
        value = w.step(value);
        let next = w.block();
        entries.push((w.at, value));
        w.branch(value, header, next);
        w.at = next;
    }
    w.step(value);
    w.blocks[header.index()].operations[0].1 = Operation::Phi(entries);
    w.finish()
}

fn infinite(n: usize) -> AbstractProgram {
    let mut w = Writer::new();
    for _ in 0..n {
        let (endless, next) = (w.block(), w.block());
        w.branch(w.divergent, endless, next);
        w.at = endless;
        w.op(Operation::Uniform);
        w.jump(endless);
        w.at = next;
    }
    w.finish()
}

fn sequence(n: usize, depth: usize) -> AbstractProgram {
    let mut w = Writer::new();
    for _ in 0..n {
        let mut counters = Vec::new();
        for _ in 0..depth {
            let before = w.at;
            let header = w.block();
            w.jump(header);
            w.at = header;
            counters.push((header, w.phi(&[(before, Operand::Constant(0))])));
        }
        for (header, counter) in counters.into_iter().rev() {
            let (latch, next) = (w.block(), w.block());
            w.jump(latch);
            w.at = latch;
            let value = w.step(counter);
            w.enter(header, counter, (latch, value));
            let test = w.pure(value, w.divergent);
            w.branch(test, header, next);
            w.at = next;
        }
    }
    w.finish()
}

/// Conditionals inside conditionals; with `in_loop`, inside a loop that the arms may continue.
fn nested_conditionals(n: usize, in_loop: bool) -> AbstractProgram {
    let mut w = Writer::new();
    let header = w.block();
    let before = w.at;
    w.jump(header);
    w.at = header;
    let mut value = w.divergent;
    let mut back = vec![(before, value)];
    let phi = in_loop.then(|| w.phi(&[]));
    value = phi.unwrap_or(value);
    let mut open = Vec::new();
    for _ in 0..n {
        let (next, join) = (w.block(), w.block());
        value = w.step(value);
        open.push((w.at, value, join));
        if in_loop {
            back.push((w.at, value));
            w.switch(value, vec![next, join, header]);
        } else {
            w.branch(value, next, join);
        }
        w.at = next;
    }
    for (head, before, join) in open.into_iter().rev() {
        w.jump(join);
        let end = w.at;
        w.at = join;
        value = w.phi(&[(end, value), (head, before)]);
    }
    if phi.is_some() {
        w.blocks[header.index()].operations[0].1 = Operation::Phi(back);
    }
    w.finish()
}

fn unreachable_defaults(n: usize, is_shared: bool) -> AbstractProgram {
    let mut w = Writer::new();
    let shared = is_shared.then(|| w.block());
    let mut value = w.divergent;
    for _ in 0..n {
        let head = w.at;
        let never = shared.unwrap_or_else(|| w.block());
        let [a, b, join] = [0; 3].map(|_: i32| w.block());
        let selector = w.step(value);
        w.switch(selector, vec![never, a, b, join]);
        w.at = a;
        let x = w.step(value);
        w.jump(join);
        w.at = b;
        let y = w.step(value);
        w.jump(join);
        w.at = join;
        value = w.phi(&[(a, x), (b, y), (head, value)]);
    }
    w.finish()
}

/// Loops inside loops around a chain of guards that leave them all at once.
fn left_nest(n: usize) -> AbstractProgram {
    let mut w = Writer::new();
    let exit = w.block();
    let mut headers = Vec::new();
    for _ in 0..n {
        let header = w.block();
        w.jump(header);
        w.at = header;
        headers.push(header);
    }
    let mut value = w.divergent;
    let mut entries = Vec::new();
    for _ in 0..n {
        value = w.step(value);
        let next = w.block();
        entries.push((w.at, value));
        w.branch(value, exit, next);
        w.at = next;
    }
    for header in headers.into_iter().rev() {
        let next = w.block();
        w.branch(w.divergent, header, next);
        w.at = next;
    }
    entries.push((w.at, value));
    w.jump(exit);
    w.at = exit;
    w.phi(&entries);
    w.finish()
}

/// A loop with two entries around a row of conditionals.
fn irreducible_diamonds(n: usize) -> AbstractProgram {
    let mut w = Writer::new();
    let (first, second, exit) = (w.block(), w.block(), w.block());
    w.branch(w.argument, first, second);
    w.at = first;
    w.jump(second);
    w.at = second;
    let mut value = w.divergent;
    for _ in 0..n {
        let [yes, no, join] = [0; 3].map(|_: i32| w.block());
        w.branch(value, yes, no);
        w.at = yes;
        let x = w.step(value);
        w.jump(join);
        w.at = no;
        let y = w.step(value);
        w.jump(join);
        w.at = join;
        value = w.phi(&[(yes, x), (no, y)]);
    }
    w.branch(w.argument, first, exit);
    w.finish()
}
