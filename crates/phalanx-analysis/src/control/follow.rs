//! Control divergence of a function that is edited, found from the one before.
//!
//! # What
//!
//! While the graph is the same, control divergence follows from the sources of the branches alone. [`Followed`] keeps the last answer with the
//! sources that it was found from; where these have become others, only what the branches control that differ is looked at again.
//!
//! # How
//!
//! Each source by itself. A branch is *active* if its direction depends on the source, or its block does. An edge of a branch leads over a *path* in the
//! post-dominator tree ([`control`](super)); a block depends on the source if a path of an active branch leads over it. Kept is by how many it is
//! covered. Branches that have lost the source are deleted and derived again:
//!
//! 1. A branch that has lost it is made inactive, and its paths are taken off. So is each branch that they led over, unless its own
//!    direction depends on the source. That is too much: some may be active for another reason. But no loop of branches is left that are active because of
//!    each other alone.
//! 2. Branches that were made inactive and are covered yet, and those that have got the source, are made active, and their paths are laid; and so is
//!    each branch that these lead over.
//! 3. Blocks that came to be covered or ceased to be have got, or lost, the source.
//!
//! # Invariants
//!
//! - A branch is active if and only if the source is among those of its terminator or it is covered, and the active ones are the least such set. After the
//!   first step what is active still is active in the least set for the new sources: a chain of branches from one that
//!   has the source to it is cut only at branches that have it themselves.
//! - Parallel edges are paths of their own, laid and taken off alike.
//!
//! **Complexity.** O(blocks and edges that the paths of branches lead over which begin or cease to be active, or might have), per source; who would have
//! to look at more than a quarter of the blocks finds it from scratch. Counts are made at the first repair, in O(blocks + edges) per source, and
//! take 4 bytes per block and source.

use std::sync::Arc;

use phalanx_graph::{BitSet, Cfg, Node, PostDomTree};
use phalanx_target::SourceSet;

use super::control_divergence;
use crate::divergence::SourceSets;

/// Control divergence, and what it was found from. See the [module documentation](self).
#[derive(Clone, Debug)]
pub struct Followed {
    cfg: Arc<Cfg>,
    postdom: Arc<PostDomTree>,
    terminators: SourceSets,
    answer: SourceSets,
    /// Of each source that some branch has had since these are kept.
    covers: Vec<Cover>,
    /// Whether there is something for each source that a branch has.
    has_covers: bool,
}

/// Which branches are active for one source, and how many of their paths lead over each block.
#[derive(Clone, Debug)]
struct Cover {
    source: SourceSet,
    paths: Vec<u32>,
    active: BitSet,
}

/// The graph, and how much of it may be looked at.
struct Climb<'a> {
    cfg: &'a Cfg,
    postdom: &'a PostDomTree,
    /// So many blocks, counted as often as they are visited.
    limit: usize,
    visited: usize,
}

/// More was to be looked at than is worth it.
struct TooMuch;

impl Followed {
    /// From scratch.
    #[must_use]
    pub fn new(cfg: &Arc<Cfg>, postdom: &Arc<PostDomTree>, terminators: &SourceSets) -> Self {
        let mut answer = control_divergence(cfg, postdom, terminators);
        answer.share();
        Followed {
            cfg: Arc::clone(cfg),
            postdom: Arc::clone(postdom),
            terminators: terminators.clone(),
            answer,
            covers: Vec::new(),
            has_covers: false,
        }
    }

    /// Sources by block.
    #[must_use]
    pub fn answer(&self) -> &SourceSets {
        &self.answer
    }

    /// The same for terminators with other sources, and how many blocks were looked at. None if the graph is another, or to find it from scratch is
    /// cheaper.
    #[must_use]
    pub fn repaired(
        mut self,
        cfg: &Arc<Cfg>,
        postdom: &Arc<PostDomTree>,
        terminators: &SourceSets,
    ) -> Option<(Self, usize)> {
        if !Arc::ptr_eq(&self.cfg, cfg) || !Arc::ptr_eq(&self.postdom, postdom) {
            return None;
        }
        let mut changed: Vec<Node> = Vec::new();
        terminators.each_that_differs(&self.terminators, |block| {
            if block < cfg.node_count() && cfg.is_branch(Node::new(block)) {
                changed.push(Node::new(block));
            }
        });
        let before = std::mem::replace(&mut self.terminators, terminators.clone());
        if changed.is_empty() {
            return Some((self, 0));
        }
        let limit = 64 + cfg.node_count() / 4;
        let mut climb = Climb { cfg, postdom, limit, visited: 0 };
        if !self.has_covers {
            self.cover(&before);
        }
        let sources = changed.iter().fold(SourceSet::EMPTY, |all, branch| {
            let (was, is) = (before[branch.index()], terminators[branch.index()]);
            all | (was - is) | (is - was)
        });
        for source in sources.iter() {
            let at = match self.covers.iter().position(|cover| cover.source == source) {
                Some(at) => at,
                // No branch had it, so none is active.
                None => {
                    self.covers.push(Cover::none(source, cfg.node_count()));
                    self.covers.len() - 1
                }
            };
            let cover = &mut self.covers[at];
            let touched = cover.follow(&mut climb, (&before, terminators), &changed).ok()?;
            for block in touched {
                let (known, is_covered) = (self.answer[block.index()], cover.covers(block));
                if known.contains(source) != is_covered {
                    let now = if is_covered { known | source } else { known - source };
                    self.answer.set(block.index(), now);
                }
            }
        }
        Some((self, climb.visited))
    }

    /// Counts paths for the answer that is there.
    fn cover(&mut self, terminators: &SourceSets) {
        let all: SourceSet = terminators.iter().copied().collect();
        for source in all.iter() {
            let mut cover = Cover::none(source, self.cfg.node_count());
            cover.count(&self.cfg, &self.postdom, |branch| {
                (terminators[branch.index()] | self.answer[branch.index()]).contains(source)
            });
            self.covers.push(cover);
        }
        self.has_covers = true;
    }
}

impl Cover {
    fn none(source: SourceSet, blocks: usize) -> Self {
        Cover { source, paths: vec![0; blocks], active: BitSet::new(blocks) }
    }

    fn covers(&self, block: Node) -> bool {
        self.paths[block.index()] > 0
    }

    /// Lays the paths of all branches that are active. O(blocks + edges): a path is entered at its ends, and sums are taken up the tree.
    fn count(&mut self, cfg: &Cfg, postdom: &PostDomTree, is_active: impl Fn(Node) -> bool) {
        let exit = postdom.virtual_exit();
        // How many more paths lead over a block than over its children together. The exit is behind the blocks.
        let mut begin = vec![0i64; cfg.node_count() + 1];
        for branch in cfg.nodes().filter(|&node| cfg.is_branch(node) && is_active(node)) {
            self.active.insert(branch.index());
            let end = postdom.ipdom(branch).unwrap_or(exit);
            for target in cfg.successors(branch) {
                begin[target.index()] += 1;
                begin[end.index()] -= 1;
            }
        }
        for &node in postdom.as_dom_tree().preorder().iter().rev() {
            if node == exit {
                continue;
            }
            let paths = begin[node.index()];
            self.paths[node.index()] = u32::try_from(paths).unwrap_or_default();
            begin[postdom.ipdom(node).unwrap_or(exit).index()] += paths;
        }
    }

    /// Makes this right for terminators with other sources. Gives the blocks of which the count has changed, some more than once.
    fn follow(
        &mut self,
        climb: &mut Climb<'_>,
        (before, now): (&SourceSets, &SourceSets),
        changed: &[Node],
    ) -> Result<Vec<Node>, TooMuch> {
        let (source, cfg) = (self.source, climb.cfg);
        let has = |sets: &SourceSets, branch: Node| sets[branch.index()].contains(source);
        let mut touched: Vec<Node> = Vec::new();
        let mut gone: Vec<Node> = Vec::new();
        for &branch in changed {
            if has(before, branch) && !has(now, branch) && self.active.remove(branch.index()) {
                gone.push(branch);
            }
        }
        let mut at = 0;
        while let Some(&branch) = gone.get(at) {
            at += 1;
            climb.paths_of(branch, |block| {
                self.paths[block.index()] -= 1;
                touched.push(block);
                if !has(now, block) && self.active.remove(block.index()) {
                    gone.push(block);
                }
            })?;
        }
        let mut work: Vec<Node> = gone;
        work.retain(|&branch| self.covers(branch));
        work.extend(changed.iter().copied().filter(|&branch| has(now, branch)));
        work.retain(|branch| self.active.insert(branch.index()));
        while let Some(branch) = work.pop() {
            climb.paths_of(branch, |block| {
                self.paths[block.index()] += 1;
                touched.push(block);
                if cfg.is_branch(block) && self.active.insert(block.index()) {
                    work.push(block);
                }
            })?;
        }
        Ok(touched)
    }
}

impl Climb<'_> {
    /// Calls for each block that the edges of a branch lead over, for each edge by itself.
    fn paths_of(&mut self, branch: Node, mut call: impl FnMut(Node)) -> Result<(), TooMuch> {
        let exit = self.postdom.virtual_exit();
        let end = self.postdom.ipdom(branch).unwrap_or(exit);
        for &target in self.cfg.successors(branch) {
            let mut block = target;
            while block != end && block != exit {
                if self.visited == self.limit {
                    return Err(TooMuch);
                }
                self.visited += 1;
                call(block);
                block = self.postdom.ipdom(block).unwrap_or(exit);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use phalanx_graph::testing::{families, random};
    use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};

    use super::*;

    /// What sequences of changes came to.
    #[derive(Debug, Default)]
    struct Tally {
        repaired: usize,
        got: usize,
        lost: usize,
        visited: usize,
        anew: usize,
    }

    /// Changes branches of a graph a few at a time; each answer is the one from scratch.
    fn follow(cfg: Cfg, seed: u64, rounds: usize, tally: &mut Tally) {
        let cfg = Arc::new(cfg);
        let postdom = Arc::new(PostDomTree::new(&cfg));
        let rng = &mut SmallRng::seed_from_u64(seed);
        let n = cfg.node_count();
        // Few branches with a source, or many.
        let density = [0.05, 0.3, 0.9][rng.random_range(0..3)];
        let any = |rng: &mut SmallRng| match rng.random_bool(density) {
            true => SourceSet::from_bits(rng.random_range(0..8)),
            false => SourceSet::EMPTY,
        };
        let mut sets: SourceSets = (0..n).map(|_| any(rng)).collect::<Vec<_>>().into();
        if rng.random() {
            sets.share();
        }
        let mut followed = Followed::new(&cfg, &postdom, &sets);
        for _ in 0..rounds {
            for _ in 0..rng.random_range(0..4) {
                let block = rng.random_range(0..n);
                sets.set(block, any(rng));
            }
            let before = followed.answer().clone();
            let expected = control_divergence(&cfg, &postdom, &sets);
            followed = match followed.repaired(&cfg, &postdom, &sets) {
                Some((repaired, visited)) => {
                    tally.repaired += 1;
                    tally.visited += visited;
                    repaired
                }
                None => {
                    tally.anew += 1;
                    Followed::new(&cfg, &postdom, &sets)
                }
            };
            assert!(*followed.answer() == expected, "seed {seed}: {cfg:?}\n{sets:?}");
            for block in 0..n {
                tally.got += usize::from(!(expected[block] - before[block]).is_empty());
                tally.lost += usize::from(!(before[block] - expected[block]).is_empty());
            }
        }
    }

    #[test]
    fn a_repaired_answer_is_the_one_from_scratch() {
        let mut tally = Tally::default();
        for seed in 0..3000 {
            follow(random::any_graph(seed, 40), seed, 12, &mut tally);
        }
        assert!(tally.repaired > 30_000 && tally.got > 10_000 && tally.lost > 10_000, "{tally:?}");
    }

    #[test]
    fn in_loops_within_loops_and_tests_within_tests() {
        let mut tally = Tally::default();
        for seed in 0..60 {
            for make in [families::nest, families::nested_conditionals, families::early_exits] {
                follow(make(60), seed, 12, &mut tally);
            }
            for make in [families::continues, families::infinite_loops, families::jumped_nest] {
                follow(make(60), seed, 12, &mut tally);
            }
        }
        assert!(tally.repaired > 3_000 && tally.got > 800 && tally.lost > 800, "{tally:?}");
    }

    /// What is repaired is looked at; who would have to look at most of it finds it anew.
    #[test]
    fn one_branch_costs_what_it_controls() {
        let cfg = Arc::new(families::diamonds(3000));
        let postdom = Arc::new(PostDomTree::new(&cfg));
        let branch =
            cfg.nodes().filter(|&node| cfg.is_branch(node)).nth(300).expect("there are many");
        let mut sets: SourceSets = vec![SourceSet::EMPTY; cfg.node_count()].into();
        let followed = Followed::new(&cfg, &postdom, &sets);
        sets.set(branch.index(), SourceSet::X);
        let (followed, visited) = followed.repaired(&cfg, &postdom, &sets).expect("it is little");
        assert_eq!(visited, 2, "the sides of one diamond");
        sets.set(branch.index(), SourceSet::Y);
        let (followed, visited) = followed.repaired(&cfg, &postdom, &sets).expect("it is little");
        assert_eq!(visited, 4);
        let another = Arc::new(PostDomTree::new(&cfg));
        assert!(followed.repaired(&cfg, &another, &sets).is_none(), "another graph");
        let nest = Arc::new(families::nest(3000));
        let postdom = Arc::new(PostDomTree::new(&nest));
        let mut sets: SourceSets = vec![SourceSet::EMPTY; nest.node_count()].into();
        let followed = Followed::new(&nest, &postdom, &sets);
        for branch in nest.nodes().filter(|&node| nest.is_branch(node)) {
            sets.set(branch.index(), SourceSet::X);
        }
        assert!(followed.repaired(&nest, &postdom, &sets).is_none(), "all of it");
    }
}
