//! Sync dependence by label propagation: LLVM's algorithm, with each of its known faults
//! repairable.
//!
//! **Question.** Threads that were together separate at the branch of a block `B`. At which blocks
//! do threads that took different ways meet again (*joins*), and which exits of cycles around `B`
//! do they take at different times (*divergent exits*)?
//!
//! **Algorithm** (LLVM 22, *Convergence And Uniformity*). Each successor of `B` starts with itself
//! as its label. Labels travel along edges in decreasing [`ModifiedPostOrder`]; a block that two
//! different labels reach is a join and goes on with itself as the label. At the header of a
//! reducible cycle all threads that go round meet, so the header's label goes to the exits of the
//! cycle and nowhere else. When a single block is left to be visited, all threads meet there and
//! the search stops, except inside irreducible cycles, where a second round can pass at other
//! blocks.
//!
//! ```text
//!        B             label(C) = C, label(D) = D
//!       / \            label(E) = D (one label reaches it)
//!      C   D           F: labels C and D meet, a join: label(F) = F
//!       \ / \          G: labels F and D meet, a join
//!        F   E
//!         \ /
//!          G
//! ```
//!
//! **Known faults**, each repaired by one flag of [`LlvmFixes`]: see there. With no flag set the
//! result is LLVM 22.1.8's, joins and exits, on every graph.
//!
//! **Cost.** `O(m log n)` per branch in the blocks that are passed, which can be all of them: `n`
//! branches in a row that leave to a common block cost `O(n^2)`. That is why [`SyncDependence`]
//! uses this algorithm only inside irreducible cycles. Scratch tables are reused between branches.
//!
//! [`SyncDependence`]: crate::sync::SyncDependence

use std::collections::BinaryHeap;

use crate::cfg::Cfg;
use crate::cycles::{CycleId, Cycles};
use crate::dfs::NONE;
use crate::dom::DomTree;
use crate::node::Node;
use crate::sync::order::ModifiedPostOrder;

/// Which of LLVM 22's known faults to repair.
///
/// Every flag makes more values divergent. With all of them set no wrong "uniform" is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct LlvmFixes {
    /// A join found on the way from a cycle's header to one of its exits counts as a join. Without
    /// it a phi of constants behind a loop with a divergent exit stays uniform.
    pub exit_join: bool,
    /// A divergent branch in the header of a loop makes the other exits of the loop divergent too.
    pub header_branch: bool,
    /// Which cycle an exit leaves is decided by containment. Without it, by depth: an exit that
    /// lands on the header of another loop of the same depth is overlooked.
    pub exit_depth: bool,
    /// The search does not stop early while any cycle around the branch is irreducible. Without it,
    /// only if the innermost one is.
    pub irreducible_ancestor: bool,
    /// In a cycle that is assumed divergent, operations whose results are always uniform are
    /// divergent for users in other blocks, because those may see the result of another iteration.
    pub assumed_always_uniform: bool,
}

impl LlvmFixes {
    /// LLVM 22.1.8 as it is.
    pub const NONE: Self = Self {
        exit_join: false,
        header_branch: false,
        exit_depth: false,
        irreducible_ancestor: false,
        assumed_always_uniform: false,
    };

    /// Every fault repaired.
    pub const ALL: Self = Self {
        exit_join: true,
        header_branch: true,
        exit_depth: true,
        irreducible_ancestor: true,
        assumed_always_uniform: true,
    };
}

/// The answer for one branch. Lists are in order of discovery, without repetitions.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LabelSync {
    /// Blocks where threads that separated at the branch meet.
    pub joins: Vec<Node>,
    /// Blocks outside some cycle around the branch that threads enter, leaving it, at different
    /// times.
    pub exits: Vec<Node>,
}

/// Label propagation over one graph: the fixed tables and the scratch of the search.
#[derive(Clone, Debug)]
pub struct LabelPropagation<'a> {
    cfg: &'a Cfg,
    cycles: &'a Cycles,
    order: &'a ModifiedPostOrder,
    fixes: LlvmFixes,
    scratch: Scratch,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    /// Label by node, `NONE` for none. Entries of `touched` nodes only.
    label: Vec<u32>,
    touched: Vec<Node>,
    /// Numbers of the nodes to be visited; each once, thanks to `is_fresh`.
    fresh: BinaryHeap<u32>,
    is_fresh: Vec<bool>,
    is_join: Vec<bool>,
    is_exit: Vec<bool>,
    joins: Vec<Node>,
    exits: Vec<Node>,
}

impl<'a> LabelPropagation<'a> {
    /// Prepares the search in a graph. `order` must be the graph's.
    #[must_use]
    pub fn new(
        cfg: &'a Cfg,
        cycles: &'a Cycles,
        order: &'a ModifiedPostOrder,
        fixes: LlvmFixes,
    ) -> Self {
        let n = cfg.node_count();
        let scratch = Scratch {
            label: vec![NONE; n],
            is_fresh: vec![false; n],
            is_join: vec![false; n],
            is_exit: vec![false; n],
            ..Scratch::default()
        };
        Self { cfg, cycles, order, fixes, scratch }
    }

    /// Joins and divergent exits of the branch that ends a block. Empty when it is no branch or
    /// unreachable.
    pub fn run(&mut self, branch: Node) -> LabelSync {
        if !self.cfg.is_branch(branch) || self.order.number(branch).is_none() {
            return LabelSync::default();
        }
        let inner = self.cycles.innermost(branch);
        let region = self.irreducible_region(branch);
        for &s in self.cfg.successors(branch) {
            if inner.is_some_and(|c| !self.cycles.contains(c, s)) {
                self.add_exit(s);
            }
            self.follow(s, s.raw());
        }
        while let Some(&number) = self.scratch.fresh.peek() {
            let node = self.order.order()[number as usize];
            let in_region = region.is_some_and(|c| self.cycles.contains(c, node));
            if self.scratch.fresh.len() == 1 && !in_region {
                break;
            }
            self.scratch.fresh.pop();
            self.scratch.is_fresh[node.index()] = false;
            self.pass(branch, node);
        }
        self.exits_of_irreducible_cycles(branch);
        self.take()
    }

    /// Passes the label of a node on.
    fn pass(&mut self, branch: Node, node: Node) {
        let reducible = match self.cycles.innermost(node) {
            Some(c) if self.cycles.header(c) == node && self.cycles.is_reducible(c) => Some(c),
            _ => None,
        };
        if node == branch && !(self.fixes.header_branch && reducible.is_some()) {
            return;
        }
        let label = self.scratch.label[node.index()];
        let Some(cycle) = reducible else {
            let cfg = self.cfg;
            for &s in cfg.successors(node) {
                self.follow(s, label);
            }
            return;
        };
        let inside = self.cycles.contains(cycle, branch);
        let cycles = self.cycles;
        for (_, exit) in cycles.exit_edges(cycle) {
            if !inside {
                self.follow(exit, label);
            } else if self.meet(exit, label) {
                self.add_exit(exit);
                if self.fixes.exit_join {
                    self.add_join(exit);
                }
            }
        }
    }

    fn follow(&mut self, node: Node, label: u32) {
        if self.meet(node, label) {
            self.add_join(node);
        }
    }

    /// Lets a label arrive at a node. True when it meets another one there.
    fn meet(&mut self, node: Node, label: u32) -> bool {
        let scratch = &mut self.scratch;
        let old = scratch.label[node.index()];
        if old == label {
            return false;
        }
        if old != node.raw() && !scratch.is_fresh[node.index()] {
            if let Some(number) = self.order.number(node) {
                scratch.is_fresh[node.index()] = true;
                scratch.fresh.push(number);
            }
        }
        if old == NONE {
            scratch.label[node.index()] = label;
            scratch.touched.push(node);
            return false;
        }
        scratch.label[node.index()] = node.raw();
        true
    }

    fn add_join(&mut self, node: Node) {
        if !std::mem::replace(&mut self.scratch.is_join[node.index()], true) {
            self.scratch.joins.push(node);
        }
    }

    fn add_exit(&mut self, node: Node) {
        if !std::mem::replace(&mut self.scratch.is_exit[node.index()], true) {
            self.scratch.exits.push(node);
        }
    }

    /// The cycle inside which the search must not stop early.
    fn irreducible_region(&self, branch: Node) -> Option<CycleId> {
        let inner = self.cycles.innermost(branch)?;
        let irreducible = |c: &CycleId| !self.cycles.is_reducible(*c);
        if self.fixes.irreducible_ancestor {
            self.cycles.ancestors(inner).filter(irreducible).last()
        } else {
            self.cycles.ancestors(inner).take_while(irreducible).last()
        }
    }

    /// An irreducible cycle has no block where all threads meet once per round: an exit that the
    /// label of the header's meeting point does not reach is divergent.
    fn exits_of_irreducible_cycles(&mut self, branch: Node) {
        let Some(inner) = self.cycles.innermost(branch) else { return };
        let cycles = self.cycles;
        for cycle in cycles.ancestors(inner) {
            if cycles.is_reducible(cycle) {
                continue;
            }
            let header = self.scratch.label[cycles.header(cycle).index()];
            for (_, exit) in cycles.exit_edges(cycle) {
                if self.scratch.label[exit.index()] != header {
                    self.add_exit(exit);
                }
            }
        }
    }

    /// The answer; leaves the scratch tables clean.
    fn take(&mut self) -> LabelSync {
        let scratch = &mut self.scratch;
        for node in scratch.touched.drain(..) {
            scratch.label[node.index()] = NONE;
            scratch.is_fresh[node.index()] = false;
        }
        scratch.fresh.clear();
        let joins = std::mem::take(&mut scratch.joins);
        let exits = std::mem::take(&mut scratch.exits);
        joins.iter().for_each(|n| scratch.is_join[n.index()] = false);
        exits.iter().for_each(|n| scratch.is_exit[n.index()] = false);
        LabelSync { joins, exits }
    }
}

/// The irreducible cycle that can no longer be relied on when threads that separated at `branch`
/// meet at `join`: those threads may count rounds of it differently.
///
/// Either `branch` is outside and `join` inside (*outside divergence*), or both are inside and
/// neither the branch nor the header is on every way to the join (*diverged entry*).
#[must_use]
pub fn unreliable_cycle(
    cycles: &Cycles,
    dom: &DomTree,
    branch: Node,
    join: Node,
) -> Option<CycleId> {
    let inner = cycles.innermost(join)?;
    diverged_entry(cycles, dom, inner, branch, join)
        .or_else(|| cycles.outermost_without(inner, branch).filter(|&c| !cycles.is_reducible(c)))
}

fn diverged_entry(
    cycles: &Cycles,
    dom: &DomTree,
    inner: CycleId,
    branch: Node,
    join: Node,
) -> Option<CycleId> {
    if dom.strictly_dominates(branch, join) {
        return None;
    }
    let mut cycle = cycles.innermost_around(inner, branch)?;
    let avoids_header = |c: CycleId| !dom.strictly_dominates(cycles.header(c), join);
    if cycles.is_reducible(cycle) || !avoids_header(cycle) {
        return None;
    }
    while let Some(up) = cycles.parent(cycle).filter(|&up| avoids_header(up)) {
        cycle = up;
    }
    Some(cycle)
}
