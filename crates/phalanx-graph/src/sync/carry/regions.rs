//! Irreducible regions, old and new.
//!
//! The reduced graph has one node for a region, so its rows do not show differences within the
//! region. The consequences of branches inside depend on the region itself: its blocks, the edges
//! from and to them, the cycles in it, and which of its blocks dominate which. If all that is the
//! same, so are the answers, except for what the searches outside of the region met. If anything
//! differs, the node of the region is stale. Two hierarchies that differ in a header list blocks in
//! another order, which counts as a difference.
//!
//! O(blocks of regions, and edges from and to them).

use super::Carry;
use crate::cycles::CycleId;
use crate::node::Node;
use crate::sync::reduced::outermost_irreducible;

impl Carry<'_> {
    pub(super) fn compare_regions(&mut self) -> Option<()> {
        let (old, new) = (self.old, self.new);
        if !old.graph.has_regions() {
            return Some(());
        }
        let around = outermost_irreducible(old.cycles);
        for region in old.cycles.iter().filter(|cycle| around[cycle.index()] == Some(*cycle)) {
            let node = old.graph.representative(old.cycles.header(region));
            let is_same = self.cycle(region).is_some_and(|now| {
                let blocks = old.cycles.blocks(region);
                blocks == new.cycles.blocks(now)
                    && blocks.iter().all(|b| new.graph.representative(*b) == node)
                    && blocks.iter().all(|b| self.is_same_in((region, now), *b))
            });
            if !is_same {
                self.mark(node)?;
            }
        }
        Some(())
    }

    /// Whether a block of a region has the same successors, reachability and cycles as before, and
    /// is dominated by the same blocks of the region.
    fn is_same_in(&self, (region, now): (CycleId, CycleId), block: Node) -> bool {
        let (old, new) = (self.old, self.new);
        let before = old.cfg.predecessors(block);
        let inner = old.cycles.innermost(block).and_then(|inner| self.cycle(inner));
        let above = old.dom.idom(block).filter(|up| old.cycles.contains(region, *up));
        old.cfg.successors(block) == new.cfg.successors(block)
            && before == new.cfg.predecessors(block)
            && before.iter().all(|from| old.is_reachable(*from) == new.is_reachable(*from))
            && inner == new.cycles.innermost(block)
            && above == new.dom.idom(block).filter(|up| new.cycles.contains(now, *up))
    }
}

#[cfg(test)]
mod tests {
    use crate::cfg::Cfg;
    use crate::cycles::Cycles;
    use crate::dom::DomTree;
    use crate::node::Node;
    use crate::sync::{Carry, SyncDependence, SyncView};

    /// The branches in regions of one graph that may have other consequences in another graph. The
    /// graphs have the same blocks and differ in their edges.
    fn touched(old: &[&[usize]], new: &[&[usize]]) -> Vec<usize> {
        let n = Node::new;
        let graph = |lists: &[&[usize]]| {
            let ends = lists.iter().map(|list| list.iter().map(|&to| n(to)).collect::<Vec<_>>());
            let cfg = Cfg::new(n(0), ends);
            let (dom, cycles) = (DomTree::new(&cfg), Cycles::new(&cfg));
            let sync = SyncDependence::new(&cfg, &dom, &cycles);
            (cfg, dom, cycles, sync)
        };
        let (before, now) = (graph(old), graph(new));
        let mut was = SyncView::new(&before.3, &before.0, &before.1, &before.2);
        let is = SyncView::new(&now.3, &now.0, &now.1, &now.2);
        let carry =
            Carry::new(&SyncView::new(&before.3, &before.0, &before.1, &before.2), &is, None);
        let carry = carry.expect("the graphs have much in common");
        let branches = before.0.nodes().filter(|node| before.0.is_branch(*node));
        let inside: Vec<Node> =
            branches.filter(|node| was.region_around(*node).is_some()).collect();
        let is_touched = |node: &Node| carry.touches(was.branch(*node).footprint());
        inside.into_iter().filter(is_touched).map(Node::index).collect()
    }

    /// Two regions in a row, {1, 2} and {5, 6}, which are entered and left at either block.
    const TWO: [&[usize]; 9] =
        [&[1, 2], &[2, 3], &[1, 3], &[4], &[5, 6], &[6, 7], &[5, 7], &[8], &[]];

    fn edited(at: usize, leads_to: &'static [usize], more: &[&'static [usize]]) -> Vec<usize> {
        let mut new = TWO.to_vec();
        new[at] = leads_to;
        new.extend_from_slice(more);
        touched(&TWO, &new)
    }

    #[test]
    fn branches_of_a_region_stay_while_it_is_the_same() {
        assert!(edited(0, &[1, 2], &[]).is_empty(), "nothing has changed");
        assert!(edited(7, &[9], &[&[8]]).is_empty(), "a block behind both");
        assert_eq!(edited(5, &[6, 9], &[&[7]]), [5, 6], "a block on the way out");
        assert_eq!(edited(1, &[9, 3], &[&[2]]), [1, 2], "a block within the first");
        assert_eq!(edited(2, &[3], &[]), [1, 2], "the first is no cycle any more");
        assert_eq!(edited(4, &[5], &[]), [5, 6], "the second has one entry");
        assert_eq!(edited(6, &[5, 8], &[]), [5, 6], "it is left for elsewhere");
    }
}
