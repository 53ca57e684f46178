//! Sync dependence of a reducible graph against the slow twin, branch by branch.

use std::collections::BTreeSet;

use crate::{
    Cfg, CycleId, Cycles, DomTree, Node,
    sync::{
        Answer, Consequence, LeavingEdge, ModifiedPostOrder, SyncDependence, SyncView,
        arrivals::arrivals,
    },
};

/// Everything that follows from a branch, exits of exits included.
#[derive(Default)]
struct Closure {
    joins: BTreeSet<Node>,
    exits: BTreeSet<LeavingEdge>,
    from: BTreeSet<Node>,
    onward: BTreeSet<(CycleId, Node)>,
}

impl Closure {
    fn of(view: &mut SyncView<'_>, cycles: &Cycles, branch: Node) -> Self {
        let mut all = Self::default();
        let mut work = vec![view.branch(branch)];
        while let Some(answer) = work.pop() {
            all.add(view, cycles, &answer, &mut work);
        }
        all
    }

    fn add<'a>(
        &mut self,
        view: &mut SyncView<'a>,
        cycles: &Cycles,
        answer: &Answer<'a>,
        work: &mut Vec<Answer<'a>>,
    ) {
        let mut from = Vec::new();
        for &consequence in answer.iter() {
            match consequence {
                Consequence::Join(block) | Consequence::JoinOver(block, _) => {
                    self.joins.insert(block);
                }
                Consequence::JoinBack(cycle, _) => {
                    self.joins.insert(cycles.header(cycle));
                }
                Consequence::Exit(edge) => self.exit(view, edge, work),
                Consequence::Exits { first, end, depth } => {
                    self.exits(view, first, end, depth, work);
                }
                Consequence::ExitsFrom(node) => from.push(node),
                Consequence::Onward(cycle, node) => {
                    if self.onward.insert((cycle, node)) {
                        work.push(view.onward(cycle, node));
                    }
                }
                Consequence::Also(_) | Consequence::AlsoFrom(_) | Consequence::Reaches(_) => {}
                Consequence::Assume(_) | Consequence::LiveOut(_) => {
                    unreachable!("the graph is reducible")
                }
            }
        }
        while let Some(node) = from.pop() {
            if !self.from.insert(node) {
                continue;
            }
            if let Some((first, end, depth)) = view.exits_below(node) {
                self.exits(view, first, end, depth, work);
                from.extend(view.frontier(node));
            }
        }
    }

    fn exits<'a>(
        &mut self,
        view: &mut SyncView<'a>,
        first: u32,
        end: u32,
        depth: u32,
        work: &mut Vec<Answer<'a>>,
    ) {
        for i in first..end {
            if view.depth_kept(i as usize) < depth {
                self.exit(view, LeavingEdge::from_raw(i), work);
            }
        }
    }

    fn exit<'a>(&mut self, view: &mut SyncView<'a>, edge: LeavingEdge, work: &mut Vec<Answer<'a>>) {
        if self.exits.insert(edge) {
            work.push(view.exit(edge));
        }
    }
}

/// Compares where threads meet again after each branch, and which exits diverge. Returns how many
/// branches were compared: none when a cycle is irreducible, since the fast algorithm is right for
/// all hierarchies and the twin for one only.
pub fn sync(cfg: &Cfg) -> usize {
    let cycles = Cycles::new(cfg);
    if !cycles.all_reducible() {
        return 0;
    }
    let dom = DomTree::new(cfg);
    let order = ModifiedPostOrder::new(cfg, &cycles);
    let sync = SyncDependence::new(cfg, &dom, &cycles);
    let mut view = SyncView::new(&sync, cfg, &dom, &cycles);
    let mut compared = 0;
    for branch in cfg.nodes().filter(|b| cfg.is_branch(*b) && dom.is_reachable(*b)) {
        let slow = arrivals(cfg, &cycles, &order, branch);
        let fast = Closure::of(&mut view, &cycles, branch);
        // A divergent exit is an edge over which different labels arrive.
        let is_divergent = |edge: &(Node, Node)| {
            let labels: BTreeSet<_> = slow.edges[edge].iter().map(|a| a.label).collect();
            labels.len() > 1
        };
        let slow_exits: BTreeSet<(Node, Node)> =
            slow.edges.keys().copied().filter(is_divergent).collect();
        let fast_exits: BTreeSet<(Node, Node)> = fast.exits.iter().map(|&e| view.ends(e)).collect();
        assert_eq!(fast_exits, slow_exits, "exits of {branch}");
        // Different labels on one edge are a join for the twin, but not for the fast algorithm.
        let entered = fast_exits.iter().map(|&(_, to)| {
            let inner = cycles.innermost(to);
            let other = inner.and_then(|c| cycles.outermost_without(c, branch));
            other.map_or(to, |c| cycles.header(c))
        });
        let fast_joins: BTreeSet<Node> = fast.joins.iter().copied().chain(entered).collect();
        assert_eq!(fast_joins, slow.joins, "joins of {branch}");
        compared += 1;
    }
    compared
}
