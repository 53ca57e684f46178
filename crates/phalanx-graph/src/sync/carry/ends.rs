//! Determines which blocks have other successors, and which only seem to since their edges were
//! renamed.

use super::{Carry, Changed, Renamed, Side};
use crate::node::Node;

/// The longest chain of blocks that is skipped.
const LONGEST: usize = 64;

/// The path of an edge through the blocks that are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    /// Where the path ends.
    target: Node,
    /// The first block on the path.
    first: Node,
    /// The last block before the target.
    source: Node,
}

impl Way {
    fn new(side: &Side<'_>, from: Node, first: Node, skips: &dyn Fn(Node) -> bool) -> Self {
        let (mut source, mut target) = (from, first);
        for _ in 0..LONGEST {
            match *side.cfg.successors(target) {
                [next] if skips(target) && has_one_way_in(side, target) => {
                    (source, target) = (target, next);
                }
                _ => break,
            }
        }
        Self { target, first, source }
    }

    /// Whether nothing was skipped.
    fn is_edge(&self, from: Node) -> bool {
        self.source == from && self.first == self.target
    }
}

fn has_one_way_in(side: &Side<'_>, block: Node) -> bool {
    side.cfg.predecessors(block).len() == 1
}

/// The last block of the chain that starts in a block. Adds the other blocks but the first to
/// `chained`.
fn end(
    side: &Side<'_>,
    block: Node,
    skips: &dyn Fn(Node) -> bool,
    chained: &mut Vec<Node>,
) -> Node {
    let mut at = block;
    for _ in 0..LONGEST {
        match *side.cfg.successors(at) {
            [next] if next != block && skips(next) && has_one_way_in(side, next) => {
                chained.push(next);
                at = next;
            }
            _ => break,
        }
    }
    at
}

impl Carry<'_> {
    /// Finds the blocks with other successors.
    pub(super) fn compare_ends(&mut self, touched: Option<&[Node]>) {
        let (old, new) = (self.old, self.new);
        let is_changed = |block: &Node| {
            block.index() < old.dom.node_count()
                && old.cfg.successors(*block) != new.cfg.successors(*block)
        };
        let mut all: Vec<Node> = match touched {
            Some(touched) => touched.iter().copied().filter(is_changed).collect(),
            None => old.cfg.nodes().filter(is_changed).collect(),
        };
        all.sort_unstable();
        all.dedup();
        for block in all {
            self.changed.blocks.insert(block.index());
            let is_same = old.is_reachable(block) && new.is_reachable(block) && self.pass_on(block);
            if !is_same {
                self.changed.rewired.push(block);
            }
        }
        let Changed { rewired, chained, .. } = &mut self.changed;
        rewired.retain(|block| !chained.contains(block));
    }

    /// Whether a block leads where it led before, with chains skipped.
    fn pass_on(&mut self, block: Node) -> bool {
        let (old, new) = (self.old, self.new);
        let (is_gone, is_new) = (|node| self.is_gone(node), |node| self.is_new(node));
        let mut chained = Vec::new();
        let ends =
            (end(&old, block, &is_gone, &mut chained), end(&new, block, &is_new, &mut chained));
        let (was, is) = (old.cfg.successors(ends.0), new.cfg.successors(ends.1));
        if was.len() != is.len() {
            return false;
        }
        let pairs = was.iter().zip(is).map(|(&was, &is)| {
            (Way::new(&old, ends.0, was, &is_gone), Way::new(&new, ends.1, is, &is_new))
        });
        let mut pairs: Vec<(Way, Way)> = pairs.collect();
        if pairs.iter().any(|(was, is)| was.target != is.target) {
            return false;
        }
        // Parallel edges that became distinct, or distinct edges that became parallel, cannot be
        // told apart by their ends.
        pairs.sort_unstable();
        pairs.dedup();
        if pairs.windows(2).any(|pair| pair[0].0.target == pair[1].0.target) {
            return false;
        }
        let changed = &mut self.changed;
        changed.chained.append(&mut chained);
        for (was, is) in pairs {
            changed.skips |= !was.is_edge(ends.0) || !is.is_edge(ends.1);
            let now = Renamed { source: is.source, leaves: (ends.1, is.first) };
            changed.edges.insert((was.source, was.target), now);
            changed.edges.insert((ends.0, was.first), now);
            changed.blocks.insert(was.source.index());
            changed.blocks.insert(ends.0.index());
        }
        changed.tails.push(ends);
        true
    }

    /// Whether the only changes are blocks split or merged outside of irreducible regions. Then
    /// only the rows of these blocks differ.
    pub(super) fn is_chained(&mut self) -> bool {
        let (old, new) = (self.old, self.new);
        let (before, now) = (old.dom.node_count(), new.dom.node_count());
        let Changed { rewired, chained, skips, .. } = &self.changed;
        let came = chained.iter().filter(|block| block.index() >= before).count();
        let went = chained.iter().filter(|block| self.is_gone(**block)).count();
        let is_chained = self.has_same_cycles
            && rewired.is_empty()
            && !*skips
            && !chained.iter().any(|block| old.is_in_region(*block) || new.is_in_region(*block))
            && came == now - before
            && came + went == chained.len()
            && old.dom.preorder().len() + came == new.dom.preorder().len() + went;
        if is_chained {
            for block in std::mem::take(&mut self.changed.chained) {
                self.stale.insert(block.index());
                self.other_rows.insert(block.index());
                if self.is_gone(block) {
                    self.recycled.push(block);
                }
            }
        }
        is_chained
    }
}
