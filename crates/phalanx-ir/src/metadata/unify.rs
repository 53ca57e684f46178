//! Finds nodes that are the same node for LLVM.
//!
//! LLVM keeps one node per content: two nodes that are not distinct, of one kind and with equal
//! fields, are the same node. So are nodes whose fields differ only in which copy of such a node
//! they mention. A module keeps nodes as they were written, because ids must not depend on later
//! text. The printer asks this module which nodes to print as one.
//!
//! ```text
//! !1 = !{!"a"}    !2 = !{!"a"}      equal: !1 represents both
//! !3 = !{!1}      !4 = !{!2}        equal too, since !1 and !2 are
//! ```
//!
//! Operands come before the nodes that mention them (post-order, on an explicit stack), so one pass
//! finds all copies outside cycles of uniqued nodes. Copies inside such cycles may need one pass
//! per link. After [`PASSES`] passes the remaining copies stay separate, which is harmless. O(total
//! size) per pass, expected.

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};

use super::table::{Entry, Metadata, MetadataId, MetadataValue};

const PASSES: usize = 4;

fn index(node: MetadataId) -> usize {
    node.into_raw().into_u32() as usize
}

impl Metadata {
    /// For each node with an equal one before it: that earlier one. Usually empty.
    pub fn representatives(&self) -> FxHashMap<MetadataId, MetadataId> {
        let mut same: Vec<MetadataId> = self.ids().collect();
        let order = self.uniqued_post_order();
        for _ in 0..PASSES {
            if !self.merge_pass(&order, &mut same) {
                break;
            }
        }
        let mut representatives = FxHashMap::default();
        for id in self.ids() {
            let representative = find(&same, id);
            if representative != id {
                representatives.insert(id, representative);
            }
        }
        representatives
    }

    /// Merges nodes that are equal except for merged operands. Returns whether there were any.
    fn merge_pass(&self, order: &[MetadataId], same: &mut [MetadataId]) -> bool {
        let mut table: HashTable<MetadataId> = HashTable::new();
        let mut merged = false;
        for &node in order {
            if same[index(node)] != node {
                continue;
            }
            let hash = |node: &MetadataId| self.hash_of(*node, same);
            let key = hash(&node);
            match table.find(key, |&other| self.is_same(node, other, same)) {
                Some(&other) => {
                    // The earlier node represents both.
                    let other = find(same, other);
                    let (first, second) = if other < node { (other, node) } else { (node, other) };
                    same[index(second)] = first;
                    merged = true;
                    if first == node {
                        table.insert_unique(key, node, |n| self.hash_of(*n, same));
                    }
                }
                None => {
                    table.insert_unique(key, node, hash);
                }
            }
        }
        merged
    }

    /// Nodes that are not distinct, operands first where there is no cycle.
    fn uniqued_post_order(&self) -> Vec<MetadataId> {
        let mut seen = vec![false; self.len()];
        let mut order = Vec::new();
        // A node, and how many of its values have been looked at.
        let mut stack: Vec<(MetadataId, usize)> = Vec::new();
        for root in self.ids() {
            if seen[index(root)] || self.is_distinct(root) {
                continue;
            }
            seen[index(root)] = true;
            stack.push((root, 0));
            while let Some((node, next)) = stack.last_mut() {
                let Some(value) = self.element(*node, *next) else {
                    order.push(*node);
                    stack.pop();
                    continue;
                };
                *next += 1;
                if let MetadataValue::Node(operand) = value
                    && !seen[index(operand)]
                    && !self.is_distinct(operand)
                {
                    seen[index(operand)] = true;
                    stack.push((operand, 0));
                }
            }
        }
        order
    }

    fn keys<'a>(
        &'a self,
        node: MetadataId,
        same: &'a [MetadataId],
    ) -> impl Iterator<Item = u64> + 'a {
        self.entries(node).iter().map(move |entry| match entry.value() {
            MetadataValue::Node(operand) => {
                Entry::new(entry.field(), MetadataValue::Node(find(same, operand))).0
            }
            _ => entry.0,
        })
    }

    fn hash_of(&self, node: MetadataId, same: &[MetadataId]) -> u64 {
        let mut hasher = FxHasher::default();
        self.node_kind(node).hash(&mut hasher);
        self.keys(node, same).for_each(|key| hasher.write_u64(key));
        hasher.finish()
    }

    fn is_same(&self, a: MetadataId, b: MetadataId, same: &[MetadataId]) -> bool {
        self.node_kind(a) == self.node_kind(b) && self.keys(a, same).eq(self.keys(b, same))
    }
}

/// The first of the nodes that are merged with this one. Links lead to earlier nodes, so this ends.
fn find(same: &[MetadataId], mut node: MetadataId) -> MetadataId {
    while same[index(node)] != node {
        node = same[index(node)];
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{metadata::NodeBuilder, symbol::Symbol};

    fn tuple(metadata: &mut Metadata, distinct: bool, values: &[MetadataValue]) -> MetadataId {
        metadata.add(NodeBuilder::tuple(distinct, values.iter().copied())).unwrap()
    }

    fn same(metadata: &Metadata, id: MetadataId) -> MetadataId {
        metadata.representatives().get(&id).copied().unwrap_or(id)
    }

    #[test]
    fn copies_of_copies_are_one() {
        let mut metadata = Metadata::new();
        let text = MetadataValue::String(Symbol::from_raw(1));
        let a = tuple(&mut metadata, false, &[text]);
        let b = tuple(&mut metadata, false, &[text]);
        let over_b = tuple(&mut metadata, false, &[MetadataValue::Node(b)]);
        let over_a = tuple(&mut metadata, false, &[MetadataValue::Node(a)]);
        let distinct = tuple(&mut metadata, true, &[text]);
        assert_eq!(same(&metadata, b), a);
        assert_eq!(same(&metadata, over_a), over_b);
        assert_eq!(same(&metadata, distinct), distinct);
        assert_eq!(metadata.representatives().len(), 2);
    }

    #[test]
    fn operands_that_come_later_are_seen() {
        let mut metadata = Metadata::new();
        let [outer_a, outer_b, inner_a, inner_b] = [(); 4].map(|()| metadata.reserve());
        for (outer, inner) in [(outer_a, inner_a), (outer_b, inner_b)] {
            metadata
                .define(outer, NodeBuilder::tuple(false, [MetadataValue::Node(inner)]))
                .unwrap();
            metadata.define(inner, NodeBuilder::tuple(false, [MetadataValue::Int(1)])).unwrap();
        }
        assert_eq!(same(&metadata, outer_b), outer_a);
        assert_eq!(same(&metadata, inner_b), inner_a);
    }

    #[test]
    fn cycles_stay_apart_and_their_users_do_not() {
        let mut metadata = Metadata::new();
        let ids = [(); 4].map(|()| metadata.reserve());
        for (node, next) in [(0, 1), (1, 0), (2, 3), (3, 2)] {
            metadata
                .define(ids[node], NodeBuilder::tuple(false, [MetadataValue::Node(ids[next])]))
                .unwrap();
        }
        let a = tuple(&mut metadata, false, &[MetadataValue::Node(ids[0]), MetadataValue::Null]);
        let b = tuple(&mut metadata, false, &[MetadataValue::Node(ids[0]), MetadataValue::Null]);
        assert_eq!(metadata.representatives().into_iter().collect::<Vec<_>>(), [(b, a)]);
    }

    /// Compares all pairs until nothing changes.
    fn slow_representatives(metadata: &Metadata) -> Vec<MetadataId> {
        let mut same: Vec<MetadataId> = metadata.ids().collect();
        loop {
            let before = same.clone();
            for a in metadata.ids().filter(|&a| !metadata.is_distinct(a)) {
                for b in metadata.ids().filter(|&b| b < a && !metadata.is_distinct(b)) {
                    let value = |v: MetadataValue| match v {
                        MetadataValue::Node(node) => MetadataValue::Node(same[index(node)]),
                        v => v,
                    };
                    if metadata.values(a).map(value).eq(metadata.values(b).map(value)) {
                        let (a, b) = (same[index(a)], same[index(b)]);
                        let (from, to) = (a.max(b), a.min(b));
                        same.iter_mut().filter(|s| **s == from).for_each(|s| *s = to);
                    }
                }
            }
            if same == before {
                return same;
            }
        }
    }

    #[test]
    fn as_the_slow_twin_finds() {
        // A small random generator: the sequence must only be varied and reproducible.
        let mut state = 1u64;
        let mut random = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..3000 {
            let mut metadata = Metadata::new();
            let ids: Vec<_> = (0..8).map(|_| metadata.reserve()).collect();
            // Operands go up in a random order of the nodes, so that there are no cycles.
            let mut rank: Vec<usize> = (0..ids.len()).collect();
            (1..rank.len()).rev().for_each(|at| rank.swap(at, random(at as u64 + 1) as usize));
            for at in 0..ids.len() {
                let above: Vec<_> =
                    (0..ids.len()).filter(|&other| rank[other] > rank[at]).collect();
                let mut values = Vec::new();
                for _ in 0..random(3) {
                    values.push(match above.len() {
                        n if n > 0 && random(3) > 0 => {
                            MetadataValue::Node(ids[above[random(n as u64) as usize]])
                        }
                        _ => MetadataValue::Int(random(2) as i64),
                    });
                }
                metadata.define(ids[at], NodeBuilder::tuple(random(6) == 0, values)).unwrap();
            }
            let fast: Vec<_> = ids.iter().map(|&id| same(&metadata, id)).collect();
            assert_eq!(fast, slow_representatives(&metadata));
        }
    }

    #[test]
    fn long_chains_need_no_recursion() {
        let mut metadata = Metadata::new();
        let mut last = tuple(&mut metadata, false, &[]);
        for _ in 0..200_000 {
            last = tuple(&mut metadata, false, &[MetadataValue::Node(last)]);
        }
        assert!(metadata.representatives().is_empty());
    }
}
