//! Strongly connected components of any directed graph: call graphs, for instance, which have no
//! entry.
//!
//! A component is a maximal set of nodes in which each node reaches each other node. Components are
//! numbered so that an edge between two of them leads from the larger number to the smaller one: in
//! a call graph, callees come first.
//!
//! Tarjan (*Depth-First Search and Linear Graph Algorithms*, SIAM J. Comput. 1972, section 4), with
//! an explicit stack. O(nodes + edges). The numbers depend only on the order of the nodes and of
//! their successors.

/// The components of a graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Components {
    /// By node.
    of: Vec<u32>,
    /// Nodes by component, each list in order.
    members: Vec<u32>,
    /// First member of each component, and the end.
    start: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Components {
    /// The components of a graph whose successors are listed by node.
    ///
    /// # Panics
    /// When a successor is not a node.
    #[must_use]
    pub fn new<L: AsRef<[u32]>>(successors: &[L]) -> Components {
        let nodes = successors.len();
        let mut of = vec![NONE; nodes];
        // By node: its number in order of discovery, and the earliest node on the stack that it is
        // known to reach.
        let mut found = vec![NONE; nodes];
        let mut low = vec![0u32; nodes];
        let mut on_path: Vec<(u32, u32)> = Vec::new();
        let mut open: Vec<u32> = Vec::new();
        let (mut time, mut count) = (0u32, 0u32);
        for root in 0..nodes as u32 {
            if found[root as usize] != NONE {
                continue;
            }
            on_path.push((root, 0));
            while let Some((node, next)) = on_path.last_mut() {
                let at = *node as usize;
                if *next == 0 {
                    found[at] = time;
                    low[at] = time;
                    time += 1;
                    open.push(*node);
                }
                let list = successors[at].as_ref();
                if let Some(&to) = list.get(*next as usize) {
                    *next += 1;
                    if found[to as usize] == NONE {
                        on_path.push((to, 0));
                    } else if of[to as usize] == NONE {
                        low[at] = low[at].min(found[to as usize]);
                    }
                    // A new node is entered next; when it is left, its `low` is merged into that of
                    // its parent.
                    continue;
                }
                on_path.pop();
                if let Some(&(parent, _)) = on_path.last() {
                    low[parent as usize] = low[parent as usize].min(low[at]);
                }
                if low[at] == found[at] {
                    while let Some(member) = open.pop() {
                        of[member as usize] = count;
                        if member as usize == at {
                            break;
                        }
                    }
                    count += 1;
                }
            }
        }
        Self::by_component(of, count as usize)
    }

    fn by_component(of: Vec<u32>, count: usize) -> Components {
        let mut start = vec![0u32; count + 1];
        for &component in &of {
            start[component as usize + 1] += 1;
        }
        for i in 0..count {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let mut members = vec![0u32; of.len()];
        for (node, &component) in of.iter().enumerate() {
            let at = &mut next[component as usize];
            members[*at as usize] = node as u32;
            *at += 1;
        }
        Components { of, members, start }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The component of a node.
    #[must_use]
    pub fn of(&self, node: usize) -> usize {
        self.of[node] as usize
    }

    /// The nodes of a component, in order.
    #[must_use]
    pub fn members(&self, component: usize) -> &[u32] {
        &self.members[self.start[component] as usize..self.start[component + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};

    use super::*;

    /// Pairs of nodes of which the first reaches the second, closed step by step.
    fn reachable(successors: &[Vec<u32>]) -> BTreeSet<(u32, u32)> {
        let nodes = 0..successors.len() as u32;
        let mut reaches: BTreeSet<(u32, u32)> = nodes.map(|node| (node, node)).collect();
        loop {
            let steps = reaches
                .iter()
                .flat_map(|&(from, at)| successors[at as usize].iter().map(move |&to| (from, to)));
            let new: Vec<(u32, u32)> = steps.filter(|pair| !reaches.contains(pair)).collect();
            if new.is_empty() {
                return reaches;
            }
            reaches.extend(new);
        }
    }

    #[test]
    fn components_are_those_who_reach_each_other() {
        let mut rng = SmallRng::seed_from_u64(7);
        let mut large = 0;
        for _ in 0..600 {
            let n = rng.random_range(0..14);
            let row = |rng: &mut SmallRng| -> Vec<u32> {
                (0..rng.random_range(0..3)).map(|_| rng.random_range(0..n as u32)).collect()
            };
            let successors: Vec<Vec<u32>> = (0..n).map(|_| row(&mut rng)).collect();
            let reaches = reachable(&successors);
            let components = Components::new(&successors);
            for a in 0..n as u32 {
                let of_a = components.of(a as usize);
                for b in 0..n as u32 {
                    let of_b = components.of(b as usize);
                    let (there, back) = (reaches.contains(&(a, b)), reaches.contains(&(b, a)));
                    assert_eq!(of_a == of_b, there && back, "{successors:?}");
                    assert!(!there || of_a >= of_b, "{successors:?}");
                }
                assert!(components.members(of_a).contains(&a));
            }
            let sizes = (0..components.len()).map(|c| components.members(c).len());
            large += usize::from(sizes.clone().any(|size| size > 2));
            assert_eq!(sizes.sum::<usize>(), n);
        }
        assert!(large > 50, "{large}");
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let n = 200_000u32;
        let chain: Vec<Vec<u32>> = (0..n).map(|i| vec![(i + 1).min(n - 1)]).collect();
        let components = Components::new(&chain);
        assert_eq!((components.len(), components.of(0)), (n as usize, n as usize - 1));
        let ring: Vec<[u32; 1]> = (0..n).map(|i| [(i + 1) % n]).collect();
        assert_eq!(Components::new(&ring).len(), 1);
    }
}
