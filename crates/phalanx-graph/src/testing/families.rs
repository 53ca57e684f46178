//! Graph families: one shape each, at any size.
//!
//! `size` counts repetitions of the shape, not nodes; [`ALL`] scales them to a node count. The
//! entry is node 0 and has no predecessors.

use crate::cfg::{Cfg, CfgBuilder};
use crate::node::Node;

/// A builder whose edges are written as numbers.
struct Shape(CfgBuilder);

impl Shape {
    fn new(nodes: usize) -> Self {
        Self(CfgBuilder::with_nodes(nodes))
    }
    fn edges<const N: usize>(&mut self, from: usize, to: [usize; N]) {
        for t in to {
            self.0.add_edge(Node::new(from), Node::new(t));
        }
    }
    fn build(self) -> Cfg {
        self.0.build(Node::new(0))
    }
}

/// A family by name.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// What the family is called in tables.
    pub name: &'static str,
    /// Makes the member with about this many nodes (`complete`: about this many edges).
    pub with_nodes: fn(usize) -> Cfg,
}

/// Every family of this module.
pub const ALL: &[Family] = &[
    Family { name: "line", with_nodes: |n| line(n) },
    Family { name: "diamonds", with_nodes: |n| diamonds(n / 4) },
    Family { name: "nest", with_nodes: |n| nest(n / 2) },
    Family { name: "nest-top", with_nodes: |n| nest_tested_at_top(n / 2) },
    Family { name: "nest-if", with_nodes: |n| nested_conditionals(n / 2) },
    Family { name: "seqloops", with_nodes: |n| sequential_loops(n / 2) },
    Family { name: "earlyexit", with_nodes: |n| early_exits(n) },
    Family { name: "breaks", with_nodes: |n| breaks(n / 2) },
    Family { name: "continues", with_nodes: |n| continues(n) },
    Family { name: "switch", with_nodes: |n| switch(n) },
    Family { name: "interp", with_nodes: |n| interpreter(n) },
    Family { name: "ladder", with_nodes: |n| ladder(n / 2) },
    Family { name: "ladderloop", with_nodes: |n| ladder_loop(n / 2) },
    Family { name: "jumped-nest", with_nodes: |n| jumped_nest(n / 3) },
    Family { name: "left-nest", with_nodes: |n| left_nest(n / 3) },
    Family { name: "infinite", with_nodes: |n| infinite_loops(n / 2) },
    Family { name: "endless", with_nodes: |n| endless_chain(n / 2) },
    Family { name: "complete", with_nodes: |n| complete(n.isqrt()) },
    Family { name: "climb", with_nodes: |n| deep_climbs(n / 3) },
];

/// `size` nodes in a row.
#[must_use]
pub fn line(size: usize) -> Cfg {
    let mut s = Shape::new(size + 1);
    for i in 0..size {
        s.edges(i, [i + 1]);
    }
    s.build()
}

/// `size` two-armed conditionals in a row.
#[must_use]
pub fn diamonds(size: usize) -> Cfg {
    let mut s = Shape::new(4 * size + 1);
    for i in 0..size {
        let h = 4 * i;
        s.edges(h, [h + 1, h + 2]);
        s.edges(h + 1, [h + 3]);
        s.edges(h + 2, [h + 3]);
        s.edges(h + 3, [h + 4]);
    }
    s.build()
}

/// `size` loops inside one another, each tested at the bottom.
#[must_use]
pub fn nest(size: usize) -> Cfg {
    let size = size.max(1);
    let mut s = Shape::new(2 * size + 2);
    let latch = |i: usize| 2 * size - i;
    s.edges(0, [1]);
    for i in 0..size {
        let header = i + 1;
        s.edges(header, [if i + 1 < size { header + 1 } else { latch(i) }]);
        s.edges(latch(i), [header, latch(i) + 1]);
    }
    s.build()
}

/// `size` loops inside one another, each tested at the top.
#[must_use]
pub fn nest_tested_at_top(size: usize) -> Cfg {
    let size = size.max(1);
    // Headers 1..=size; `size + 1 + i` runs after the loop at depth `i` and goes round the one
    // outside.
    let mut s = Shape::new(2 * size + 2);
    s.edges(0, [1]);
    for i in 1..=size {
        let body = if i < size { i + 1 } else { 2 * size + 1 };
        s.edges(i, [body, size + i]);
        if i > 1 {
            s.edges(size + i, [i - 1]);
        }
    }
    s.edges(2 * size + 1, [size]);
    s.build()
}

/// `size` one-armed conditionals inside one another.
#[must_use]
pub fn nested_conditionals(size: usize) -> Cfg {
    let mut s = Shape::new(2 * size + 1);
    for i in 0..size {
        s.edges(i, [i + 1, 2 * size - i]);
    }
    for i in size..2 * size {
        s.edges(i, [i + 1]);
    }
    s.build()
}

/// `size` two-node loops in a row.
#[must_use]
pub fn sequential_loops(size: usize) -> Cfg {
    let mut s = Shape::new(2 * size + 2);
    s.edges(0, [1]);
    for i in 0..size {
        let h = 2 * i + 1;
        s.edges(h, [h + 1]);
        s.edges(h + 1, [h, h + 2]);
    }
    s.build()
}

/// `size` guards in a row that leave for one common exit.
#[must_use]
pub fn early_exits(size: usize) -> Cfg {
    let mut s = Shape::new(size + 2);
    for i in 0..size {
        s.edges(i, [size + 1, i + 1]);
    }
    s.edges(size, [size + 1]);
    s.build()
}

/// One loop of `size` guards, each of which leaves through a node of its own.
#[must_use]
pub fn breaks(size: usize) -> Cfg {
    // 0 entry, 1 header, 2..2 + size guards, then latch, exit, landing nodes.
    let (latch, exit) = (size + 2, size + 3);
    let mut s = Shape::new(2 * size + 4);
    s.edges(0, [1]);
    s.edges(1, [2]);
    for i in 0..size {
        s.edges(2 + i, [exit + 1 + i, 3 + i]);
        s.edges(exit + 1 + i, [exit]);
    }
    s.edges(latch, [1, exit]);
    s.build()
}

/// One loop of `size` guards that go back to the header.
#[must_use]
pub fn continues(size: usize) -> Cfg {
    let mut s = Shape::new(size + 3);
    s.edges(0, [1]);
    s.edges(1, [2]);
    for i in 0..size {
        s.edges(2 + i, [1, if i + 1 < size { 3 + i } else { size + 2 }]);
    }
    s.build()
}

/// One switch with `size` cases that meet again.
#[must_use]
pub fn switch(size: usize) -> Cfg {
    let mut s = Shape::new(size + 2);
    for i in 1..=size {
        s.edges(0, [i]);
        s.edges(i, [size + 1]);
    }
    s.edges(0, [size + 1]);
    s.build()
}

/// A loop around a switch with `size` cases.
#[must_use]
pub fn interpreter(size: usize) -> Cfg {
    let mut s = Shape::new(size + 3);
    s.edges(0, [1]);
    for i in 0..size {
        s.edges(1, [3 + i]);
        s.edges(3 + i, [1]);
    }
    s.edges(1, [2]);
    s.build()
}

/// `size` rungs: each an irreducible cycle of two nodes entered at both.
#[must_use]
pub fn ladder(size: usize) -> Cfg {
    rungs(size, false)
}

/// A [`ladder`] whose last rung goes back to the first.
#[must_use]
pub fn ladder_loop(size: usize) -> Cfg {
    rungs(size, true)
}

fn rungs(size: usize, closed: bool) -> Cfg {
    let size = size.max(1);
    let mut s = Shape::new(2 * size + 2);
    let exit = 2 * size + 1;
    s.edges(0, [1, 2]);
    for i in 0..size {
        let (a, b) = (2 * i + 1, 2 * i + 2);
        let last = i + 1 == size;
        s.edges(
            a,
            [
                b,
                if !last {
                    a + 2
                } else if closed {
                    1
                } else {
                    exit
                },
            ],
        );
        s.edges(b, [a, if last { exit } else { b + 2 }]);
    }
    s.build()
}

/// A [`nest`] with a chain of `size` guards before it that jump to its innermost node: every loop
/// is irreducible, and the jumps enter all of them at once.
#[must_use]
pub fn jumped_nest(size: usize) -> Cfg {
    let size = size.max(1);
    let mut s = Shape::new(4 * size + 2);
    // Guards 0..size, headers size..2 size, landing pads 2 size..3 size, latches, exit.
    let latch = |i: usize| 4 * size - 1 - i;
    for i in 0..size {
        s.edges(i, [2 * size + i, i + 1]);
        let header = size + i;
        s.edges(header, [header + 1]);
        s.edges(2 * size + i, [if i + 1 < size { 2 * size + i + 1 } else { latch(size - 1) }]);
        s.edges(latch(i), [header, latch(i) + 1]);
    }
    s.edges(4 * size, [4 * size + 1]);
    s.build()
}

/// A [`nest`] whose innermost part is a chain of `size` guards that leave all loops at once.
#[must_use]
pub fn left_nest(size: usize) -> Cfg {
    let size = size.max(1);
    let mut s = Shape::new(3 * size + 2);
    // Entry, headers 1..=size, guards, latches, exit.
    let exit = 3 * size + 1;
    let latch = |i: usize| 3 * size - i;
    s.edges(0, [1]);
    for i in 0..size {
        s.edges(1 + i, [2 + i]);
        s.edges(size + 1 + i, [exit, size + 2 + i]);
        s.edges(latch(i), [1 + i, latch(i) + 1]);
    }
    s.build()
}

/// `size` guards in a row that go to an endless loop each.
#[must_use]
pub fn infinite_loops(size: usize) -> Cfg {
    let mut s = Shape::new(2 * size + 1);
    for i in 0..size {
        s.edges(2 * i, [2 * i + 1, 2 * i + 2]);
        s.edges(2 * i + 1, [2 * i + 1]);
    }
    s.build()
}

/// [`infinite_loops`] without any exit: the last guard's successor loops too.
#[must_use]
pub fn endless_chain(size: usize) -> Cfg {
    let mut s = Shape::new(2 * size + 1);
    for i in 0..size {
        // The guards come last, so that the post-dominator roots are searched from far away.
        let guard = if i == 0 { 0 } else { size + i };
        let next = if i + 1 < size { size + i + 1 } else { 2 * size };
        s.edges(guard, [i + 1, next]);
        s.edges(i + 1, [i + 1]);
    }
    s.edges(2 * size, [2 * size]);
    s.build()
}

/// An entry before `size` nodes with an edge from each to each, itself included.
#[must_use]
pub fn complete(size: usize) -> Cfg {
    let size = size.max(1);
    let mut s = Shape::new(size + 1);
    s.edges(0, [1]);
    for i in 1..=size {
        for j in 1..=size {
            s.edges(i, [j]);
        }
    }
    s.build()
}

/// A line of `size` nodes followed by nodes that hang below its end and are also reached from its
/// start: plain semi-NCA climbs the whole line for each of them.
#[must_use]
pub fn deep_climbs(size: usize) -> Cfg {
    let size = size.max(1);
    let mut s = Shape::new(2 * size + 1);
    for i in 0..size {
        s.edges(i, [i + 1]);
    }
    for i in 1..=size {
        s.edges(size, [size + i]);
    }
    for i in 1..=size {
        s.edges(0, [size + i]);
    }
    s.build()
}
