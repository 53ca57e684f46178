//! Simulates the stack of masks of a machine: a slow twin of the keys in `phalanx_simt`'s second
//! model of reconvergence.
//!
//! The input is the threads of a wave and the blocks that each executed. The twin follows them as
//! hardware does. An entry of the stack is a set of threads at one block, and the block at which
//! they stop. The top entry makes a step with all of its threads. If these threads take different
//! edges, the entry stops at the immediate post-dominator of the block. It waits there until the
//! threads of each edge, which are entries above it, arrive. Threads have no history here, and
//! executions have no keys.

use phalanx_graph::{Joins, Node};
use phalanx_simt::{Reconvergence, launch::Order};
use phalanx_testing::generate::{self, Options};

use crate::reference::{Execution, Instance, Setting, execute, translate};

/// A set of threads at one block.
struct Entry {
    threads: Vec<usize>,
    /// The block where they wait for lower entries.
    until: Option<Node>,
}

/// The group of each execution of each thread, according to the stack.
///
/// # Panics
/// The executions do not fit such a machine: threads of one entry stand at different blocks.
#[must_use]
pub fn groups(paths: &[Vec<Node>], joins: &Joins) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); paths.len()];
    let mut at = vec![0; paths.len()];
    let mut number = 0;
    let mut stack = vec![Entry { threads: (0..paths.len()).collect(), until: None }];
    while let Some(top) = stack.last_mut() {
        top.threads.retain(|&thread| at[thread] < paths[thread].len());
        let Some(&first) = top.threads.first() else {
            stack.pop();
            continue;
        };
        let block = paths[first][at[first]];
        assert!(top.threads.iter().all(|&thread| paths[thread][at[thread]] == block));
        if top.until == Some(block) {
            stack.pop();
            continue;
        }
        let mut ways: Vec<(Option<Node>, Vec<usize>)> = Vec::new();
        for &thread in &top.threads {
            groups[thread].push(number);
            at[thread] += 1;
            let next = paths[thread].get(at[thread]).copied();
            match ways.iter_mut().find(|(to, _)| *to == next) {
                Some((_, threads)) => threads.push(thread),
                None => ways.push((next, vec![thread])),
            }
        }
        number += 1;
        ways.retain(|(to, _)| to.is_some());
        if ways.len() > 1 {
            let (join, below) = (joins.of(block), top.until);
            // Where they do not join by themselves, none waits for them here.
            if join.is_none() {
                stack.pop();
            }
            let until = join.or(below);
            stack.extend(ways.into_iter().map(|(_, threads)| Entry { threads, until }));
        }
    }
    groups
}

/// Pairs of executions of one block in different threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Pairs that are together.
    pub together: usize,
    /// Pairs that are not.
    pub apart: usize,
    /// Pairs on which the stack and the keys differ.
    pub different: usize,
}

impl Pairs {
    /// Compares the stack with the keys of an execution.
    #[must_use]
    pub fn compare(execution: &Execution, joins: &Joins) -> Pairs {
        let path = |thread: &Vec<Instance>| thread.iter().map(|instance| instance.block).collect();
        let paths: Vec<Vec<Node>> = execution.threads.iter().map(path).collect();
        let groups = groups(&paths, joins);
        let mut pairs = Pairs::default();
        for (t, first) in execution.threads.iter().enumerate() {
            for (u, second) in execution.threads[..t].iter().enumerate() {
                for (i, a) in first.iter().enumerate() {
                    for (j, b) in second.iter().enumerate().filter(|(_, b)| a.block == b.block) {
                        let is_together = a.key == b.key;
                        pairs.together += usize::from(is_together);
                        pairs.apart += usize::from(!is_together);
                        pairs.different +=
                            usize::from(is_together != (groups[t][i] == groups[u][j]));
                    }
                }
            }
        }
        pairs
    }
}

/// A random program executed under a model, and where its branches join; none for a program that is
/// not translated.
#[must_use]
pub fn run(
    seed: u64,
    options: Options,
    reconvergence: Reconvergence,
    order: Order,
) -> Option<(Execution, Joins)> {
    let program = generate::program(seed, options);
    let twins = translate(&program)?;
    let cfg = program.cfg();
    let threads = 2 + (seed % 5) as u32;
    let setting = Setting { threads, args: [seed as u32, 5], fuel: 40, reconvergence };
    let execution = execute(&twins.llvm, &phalanx_graph::Cycles::new(&cfg), setting, order);
    Some((execution, Joins::new(&cfg, &|_| false)))
}
