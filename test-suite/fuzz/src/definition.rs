//! Which threads are converged, by the definition: a slow twin of the closed form that the
//! interpreter uses.
//!
//! The definitions are those of LLVM's *Convergence And Uniformity* document ("Convergence",
//! "Maximal Convergence"), for instances of blocks. *Convergence-before* is the transitive closure
//! of three rules:
//!
//! 1. `P` is before `Q` where `P` comes before `Q` in the same thread;
//! 2. `P` is before `Q2` where `P` comes before `Q1` in the same thread and `Q1` is converged with
//!    `Q2`;
//! 3. `P1` is before `Q` where `P1` is converged with `P2` and `P2` comes before `Q` in the same
//!    thread.
//!
//! Instances `X1` and `X2` of one block in different threads are *maximally converged* if and only
//! if for every cycle around the block with header `H`, every instance of `H` that comes before
//! `X1` in its thread is convergence-before `X2`, and vice versa, without assuming that `X1` is
//! converged with `X2`.
//!
//! This defines the relation in terms of itself, by a monotone operator: if more pairs are
//! converged, more pairs are convergence-before, and so more pairs are converged. The twin starts
//! with no converged pair and applies the operator until nothing changes, which gives the least
//! solution. No pair depends on itself, as the last condition demands, and no pair that the
//! definition requires is missing. Cost: O(n³) with sets as words for each of at most n² rounds; n
//! is at most 128.

use phalanx_graph::{Cycles, Node};
use phalanx_simt::{Reconvergence, launch::Order};
use phalanx_testing::{
    abstract_oracle::hierarchies,
    generate::{self, Options},
};

use crate::reference::{Execution, Instance, Setting, execute, translate};

/// A set of instances.
type Set = u128;

/// More instances are too many.
pub const LIMIT: usize = Set::BITS as usize;

/// The maximal converged-with relation of an execution.
#[derive(Clone, Debug)]
pub struct Converged {
    /// First instance of each thread, and the end.
    starts: Vec<usize>,
    /// The instances with which each instance is converged, except itself.
    with: Vec<Set>,
}

impl Converged {
    /// The relation for threads that executed these blocks, under a hierarchy of cycles.
    ///
    /// # Panics
    /// There are more than [`LIMIT`] instances, or convergence-before turns out to have a cycle,
    /// which would be an error of the definition.
    #[must_use]
    pub fn new(paths: &[Vec<Node>], cycles: &Cycles) -> Converged {
        let mut starts = vec![0];
        for path in paths {
            starts.push(starts[starts.len() - 1] + path.len());
        }
        let blocks: Vec<Node> = paths.concat();
        assert!(blocks.len() <= LIMIT, "{} instances are too many", blocks.len());
        let mut converged = Converged { with: vec![0; blocks.len()], starts };
        let headers = converged.headers_before(&blocks, cycles);
        loop {
            let after = converged.after();
            let mut is_new = false;
            for a in 0..blocks.len() {
                for b in 0..a {
                    let is_candidate = blocks[a] == blocks[b]
                        && converged.thread(a) != converged.thread(b)
                        && converged.with[a] >> b & 1 == 0;
                    let all_before = |headers: Set, x: usize| {
                        members(headers).all(|header| after[header] >> x & 1 == 1)
                    };
                    if is_candidate && all_before(headers[a], b) && all_before(headers[b], a) {
                        converged.with[a] |= 1 << b;
                        converged.with[b] |= 1 << a;
                        is_new = true;
                    }
                }
            }
            if !is_new {
                let is_strict = (0..blocks.len()).all(|i| after[i] >> i & 1 == 0);
                assert!(is_strict, "an instance is convergence-before itself");
                return converged;
            }
        }
    }

    /// Whether two instances, each by thread and position, are converged.
    #[must_use]
    pub fn contains(&self, a: (usize, usize), b: (usize, usize)) -> bool {
        let number = |(thread, position)| self.starts[thread] + position;
        self.with[number(a)] >> number(b) & 1 == 1
    }

    fn thread(&self, instance: usize) -> usize {
        self.starts.partition_point(|&start| start <= instance) - 1
    }

    /// What comes after an instance in its thread.
    fn later(&self, instance: usize) -> Set {
        let end = self.starts[self.thread(instance) + 1];
        (instance + 1..end).fold(0, |set, later| set | 1 << later)
    }

    /// For each instance, the instances before it in its thread of headers of cycles around its
    /// block.
    fn headers_before(&self, blocks: &[Node], cycles: &Cycles) -> Vec<Set> {
        let is_around = |header: Node, block: Node| {
            let mut around = cycles.innermost(block).into_iter().flat_map(|c| cycles.ancestors(c));
            around.any(|cycle| cycles.header(cycle) == header)
        };
        let of = |x: usize| {
            let before = self.starts[self.thread(x)]..x;
            before.filter(|&h| is_around(blocks[h], blocks[x])).fold(0, |set, h| set | 1 << h)
        };
        (0..blocks.len()).map(of).collect()
    }

    /// For each instance, what it is convergence-before.
    fn after(&self) -> Vec<Set> {
        let by_rules = |p: usize| {
            let own = self.later(p);
            let second = members(own).fold(0, |set, q| set | self.with[q]);
            let third = members(self.with[p]).fold(0, |set, p| set | self.later(p));
            own | second | third
        };
        let mut after: Vec<Set> = (0..self.with.len()).map(by_rules).collect();
        // The transitive closure (Warshall).
        for through in 0..after.len() {
            for from in 0..after.len() {
                if after[from] >> through & 1 == 1 {
                    after[from] |= after[through];
                }
            }
        }
        after
    }
}

/// Pairs of instances of one block in different threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Pairs with the same key.
    pub converged: usize,
    /// Pairs with different keys.
    pub apart: usize,
    /// Pairs on which the definition and the keys differ.
    pub different: usize,
}

impl Pairs {
    /// Compares the definition under these cycles with the keys of an execution.
    ///
    /// # Panics
    /// A key is of two blocks, or twice in a thread, which no relation between threads allows.
    #[must_use]
    pub fn compare(execution: &Execution, cycles: &Cycles) -> Pairs {
        let path = |thread: &Vec<Instance>| thread.iter().map(|instance| instance.block).collect();
        let paths: Vec<Vec<Node>> = execution.threads.iter().map(path).collect();
        let by_definition = Converged::new(&paths, cycles);
        let mut pairs = Pairs::default();
        for (t, first) in execution.threads.iter().enumerate() {
            for (u, second) in execution.threads[..t].iter().enumerate() {
                for (i, a) in first.iter().enumerate() {
                    for (j, b) in second.iter().enumerate() {
                        let is_converged = a.key == b.key;
                        assert!(!is_converged || a.block == b.block, "a key is of one block");
                        if a.block != b.block {
                            continue;
                        }
                        let differs = by_definition.contains((t, i), (u, j)) != is_converged;
                        pairs.converged += usize::from(is_converged);
                        pairs.apart += usize::from(!is_converged);
                        pairs.different += usize::from(differs);
                    }
                }
            }
            for (i, a) in first.iter().enumerate() {
                assert!(first[..i].iter().all(|b| a.key != b.key), "a thread has a key once");
            }
        }
        pairs
    }
}

/// The interpreter converges threads of the program that the bytes encode according to the
/// definition, under its hierarchies of cycles.
///
/// # Panics
/// It does not.
pub fn convergence(data: &[u8]) {
    let mut choices = crate::Entropy::new(data);
    let program = generate::program_from(&mut choices, Options::default());
    let Some(twins) = translate(&program) else { return };
    let seed = fxhash::hash64(data);
    let threads = 2 + (seed % 5) as u32;
    let setting = Setting {
        threads,
        args: [seed as u32, 5],
        fuel: LIMIT as u32 / threads.max(5),
        reconvergence: Reconvergence::Maximal,
    };
    for cycles in hierarchies(&program.cfg(), seed, 2) {
        let execution = execute(&twins.llvm, &cycles, setting, Order::Turns(13));
        let pairs = Pairs::compare(&execution, &cycles);
        assert_eq!(pairs.different, 0, "{}\n{}", twins.model, execution.text());
    }
}

fn members(mut set: Set) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (next < Set::BITS).then_some(next as usize)
    })
}
