//! Which blocks may be copied on machines that reconverge at immediate post-dominators.
//!
//! Threading keeps the groups of maximal convergence: threads that meet in a block are together
//! there, whichever way they came. A machine with a stack of masks joins the sides of a divergent
//! branch only at the branch's immediate post-dominator. If that is the block that is copied, the
//! sides no longer meet there:
//!
//! ```text
//!      D                  D        D is divergent, B is its immediate post-dominator.
//!     / \                / \       The shuffle in T was executed by both sides together.
//!    P   Q              P   Q      Afterwards P's threads come to T through B', Q's through B,
//!     \ /               |   |      and D's sides do not join before J: the machine executes the
//!      B       ->       B'  B      shuffle twice, with part of the threads each time.
//!     / \                \ / \
//!    T   |               T   |
//!     \  |                \  |
//!      J                   J
//! ```
//!
//! A plan is dropped if all of this holds:
//!
//! - a divergent branch reconverges at the block, and leads both to a predecessor for which the block
//!   is copied and to one for which it is not;
//! - a block with a convergent operation is reached both from the target of the copy and from where
//!   the other predecessors may go on to, before the post-dominator of the copied block.
//!
//! Divergent means divergent within a wave: waves do not wait for each other at joins.
//!
//! **Invariant.** Plans of one transaction are judged together: a branch that reconverges at a block
//! that is copied may reconverge at the next post-dominator instead, so it counts for that, too.
//!
//! O(blocks + edges) per plan and divergent branch; nothing without convergent operations.

use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::{BitSet, Cfg, Node, PostDomTree};
use phalanx_ir::{BlockId, flow::node_of};
use phalanx_target::{Scope, varying};

use super::Plan;
use crate::code::Code;

/// The plans after which no convergent operation is reached by a second way.
pub(super) fn keeping_reconvergence(
    (db, function): (&Database, FunctionInput),
    code: &Code<'_>,
    cfg: &Cfg,
    mut plans: Vec<Plan>,
) -> Vec<Plan> {
    if plans.iter().all(|plan| plan.from.is_empty()) {
        return plans;
    }
    let convergent: Vec<Node> = code.convergent_blocks().map(node_of).collect();
    if convergent.is_empty() {
        return plans;
    }
    let (Some(postdom), Some(facts)) =
        (queries::postdom_tree(db, function), queries::divergence(db, function))
    else {
        return Vec::new();
    };
    let varying = varying(Scope::Wave, queries::launch_facts(db, function));
    let divergent: Vec<Node> = cfg
        .nodes()
        .filter(|&node| cfg.is_branch(node) && facts.terminator(node).intersects(varying))
        .collect();
    let copied: Vec<Node> = copies(&plans).map(|plan| node_of(plan.block)).collect();
    let graph = Graph { cfg, postdom };
    plans.retain(|plan| {
        plan.from.is_empty()
            || !graph.has_second_way(plan, &convergent)
            || !divergent.iter().any(|&branch| graph.parts(branch, plan, &copied))
    });
    plans
}

fn copies(plans: &[Plan]) -> impl Iterator<Item = &Plan> {
    plans.iter().filter(|plan| !plan.from.is_empty())
}

struct Graph<'a> {
    cfg: &'a Cfg,
    postdom: &'a PostDomTree,
}

impl Graph<'_> {
    /// Whether a convergent operation is reached from the copy as well as from the block.
    fn has_second_way(&self, plan: &Plan, convergent: &[Node]) -> bool {
        let end = self.postdom.ipdom(node_of(plan.block));
        let from_copy = self.reached([node_of(plan.to)], end);
        let from_block = self.reached(plan.rest.iter().map(|&to| node_of(to)), end);
        let is_reached =
            |node: &Node| from_copy.contains(node.index()) && from_block.contains(node.index());
        convergent.iter().any(is_reached)
    }

    /// Whether the sides of a branch reconverge at the block of a plan and leave it apart.
    fn parts(&self, branch: Node, plan: &Plan, copied: &[Node]) -> bool {
        let block = node_of(plan.block);
        let mut join = self.postdom.ipdom(branch);
        while join.is_some_and(|join| join != block && copied.contains(&join)) {
            join = join.and_then(|join| self.postdom.ipdom(join));
        }
        if join != Some(block) {
            return false;
        }
        let reached = self.reached([branch], Some(block));
        let is_for_copy = |pred: Node| plan.from.iter().any(|&from| node_of(from) == pred);
        let mut preds = self.cfg.predecessors(block).iter().copied();
        let mut arrives = preds.by_ref().filter(|pred| reached.contains(pred.index()));
        let Some(first) = arrives.next().map(is_for_copy) else { return false };
        arrives.any(|pred| is_for_copy(pred) != first)
    }

    /// What is reached from some blocks without passing another, that one left out.
    fn reached(&self, from: impl IntoIterator<Item = Node>, end: Option<Node>) -> BitSet {
        let mut reached = BitSet::new(self.cfg.node_count());
        let mut work: Vec<Node> = Vec::new();
        let mut visit = |node: Node, work: &mut Vec<Node>| {
            if Some(node) != end && reached.insert(node.index()) {
                work.push(node);
            }
        };
        from.into_iter().for_each(|node| visit(node, &mut work));
        while let Some(node) = work.pop() {
            self.cfg.successors(node).iter().for_each(|&next| visit(next, &mut work));
        }
        reached
    }
}

/// Where the predecessors that a copy is not for may go on to.
pub(super) fn rest(
    code: &Code<'_>,
    block: BlockId,
    targets: &[Option<BlockId>],
    to: BlockId,
) -> Vec<BlockId> {
    let others = || targets.iter().filter(|&&target| target != Some(to));
    match others().any(Option::is_none) {
        true => code.flow.successors(block).to_vec(),
        false => others().flatten().copied().collect(),
    }
}
