//! What costs a wave time: accesses of memory, branches whose sides it executes one after the
//! other, and loops in which lanes that are done wait for the others.
//!
//! ```c
//! if (in[i] > 0)             // lanes part: a wave executes both sides
//!   out[i] = slow(in[i]);    // 40 instructions
//! else
//!   out[i] = slower(in[i]);  // 60 instructions
//! ```
//!
//! A side of a branch is what its first block dominates, up to the block where the sides meet
//! again. If other branches lead to that first block as well, the side counts as empty. Branches
//! that leave a loop count with the loop. Instructions are those of the IR, without debug records,
//! phis and unconditional jumps. O(instructions + accesses × lanes).

use phalanx_graph::{CycleId, Node};
use phalanx_ir::{
    InstId, Opcode,
    flow::{block_of, node_of},
};
use phalanx_target::{Scope, SourceSet};

use super::{
    Facts,
    accesses::{Reached, reached},
};
use crate::shape::access::Accesses;

/// What a function costs a wave, each list in the order of the function.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Costs {
    /// Accesses of global and workgroup memory.
    pub accesses: Vec<(Reached, u32)>,
    /// Branches at which lanes of a wave part.
    pub branches: Vec<BranchCost>,
    /// Loops that lanes of a wave leave in different rounds.
    pub loops: Vec<LoopCost>,
}

/// A branch at which lanes of a wave part, other than one that leaves a loop.
#[derive(Clone, PartialEq, Debug)]
pub struct BranchCost {
    /// The branch.
    pub inst: InstId,
    /// Instructions on each side.
    pub sides: Vec<u32>,
    /// The sources that decide the side and vary in a wave.
    pub sources: SourceSet,
    /// The number of loops around it.
    pub depth: u32,
}

impl BranchCost {
    /// Instructions that a wave executes beyond those of the longest side.
    #[must_use]
    pub fn extra(&self) -> u32 {
        let all: u32 = self.sides.iter().fold(0, |sum, side| sum.saturating_add(*side));
        all - self.sides.iter().copied().max().unwrap_or(0)
    }
}

/// A loop that lanes of a wave leave in different rounds.
#[derive(Clone, PartialEq, Debug)]
pub struct LoopCost {
    /// The branch by which lanes leave it.
    pub exit: InstId,
    /// Instructions of a round, inner loops included.
    pub instructions: u32,
    /// The sources that decide the round and vary in a wave.
    pub sources: SourceSet,
    /// The number of loops around it.
    pub depth: u32,
}

/// What a function costs a wave.
#[must_use]
pub fn costs(facts: Facts<'_>, accesses: &Accesses) -> Costs {
    let depth = |inst| {
        let block = facts.code.body.block_of(inst);
        block.map_or(0, |block| facts.cycles.depth_of(node_of(block)))
    };
    let accesses = accesses
        .iter()
        .filter_map(|access| reached(facts, access))
        .map(|reached| (reached, depth(reached.inst)))
        .collect();
    Costs { accesses, branches: branches(facts), loops: loops(facts) }
}

fn branches(facts: Facts<'_>) -> Vec<BranchCost> {
    let sums = Sums::new(facts);
    let branch = |node: Node| {
        let sources = parts(facts, node)?;
        let inst = facts.code.body.terminator(block_of(node))?;
        if leaves_cycle(facts, node) {
            return None;
        }
        let sides = facts.cfg.successors(node).iter().map(|&first| sums.side(facts, node, first));
        let depth = facts.cycles.depth_of(node);
        Some(BranchCost { inst, sides: sides.collect(), sources, depth })
    };
    facts.code.flow.order().iter().filter_map(|&block| branch(node_of(block))).collect()
}

/// The sources that decide where lanes of a wave go at the end of a block, if they part there.
fn parts(facts: Facts<'_>, node: Node) -> Option<SourceSet> {
    let sources = facts.divergence.terminator(node) & facts.varying(Scope::Wave);
    (facts.dom.is_reachable(node) && !sources.is_empty()).then_some(sources)
}

/// Whether an edge from a block leaves the innermost cycle around it.
fn leaves_cycle(facts: Facts<'_>, node: Node) -> bool {
    facts.cycles.innermost(node).is_some_and(|cycle| {
        facts.cfg.successors(node).iter().any(|&next| !facts.cycles.contains(cycle, next))
    })
}

fn loops(facts: Facts<'_>) -> Vec<LoopCost> {
    let found = facts.cycles.iter().filter_map(|cycle| {
        let divergent = facts.divergence.cycles_with_divergent_exit();
        divergent
            .iter()
            .find(|(of, sources)| *of == cycle && sources.intersects(facts.varying(Scope::Wave)))?;
        let (exit, sources) = divergent_exit(facts, cycle)?;
        let blocks = facts.cycles.blocks(cycle).iter();
        let instructions = blocks.map(|&node| counted(facts, node)).sum();
        let depth = facts.cycles.depth(cycle).saturating_sub(1);
        Some(LoopCost { exit, instructions, sources, depth })
    });
    found.collect()
}

/// The first branch, in the order of the function, by which lanes leave a cycle in different
/// rounds.
fn divergent_exit(facts: Facts<'_>, cycle: CycleId) -> Option<(InstId, SourceSet)> {
    let edges = facts.cycles.exit_edges(cycle);
    let exits = edges.filter_map(|(from, _)| Some((from, parts(facts, from)?)));
    let (from, sources) = exits.min_by_key(|(from, _)| *from)?;
    Some((facts.code.body.terminator(block_of(from))?, sources))
}

/// Instructions of a block that a machine executes.
fn counted(facts: Facts<'_>, node: Node) -> u32 {
    let body = facts.code.body;
    let is_counted = |inst: &InstId| {
        let opcode = body.inst(*inst).opcode;
        opcode != Opcode::Phi && (opcode != Opcode::Br || !body.operands(*inst).is_empty())
    };
    let count = body.block_insts(block_of(node)).filter(is_counted).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Instructions of the blocks that each block dominates.
struct Sums {
    /// The sum over the blocks before each one in the preorder of the dominator tree, and over all.
    before: Vec<u32>,
}

impl Sums {
    fn new(facts: Facts<'_>) -> Sums {
        let mut before = vec![0u32];
        let mut sum = 0u32;
        for &node in facts.dom.preorder() {
            sum = sum.saturating_add(counted(facts, node));
            before.push(sum);
        }
        Sums { before }
    }

    fn below(&self, facts: Facts<'_>, node: Node) -> u32 {
        let ends = facts.dom.tin(node).zip(facts.dom.tout(node));
        ends.map_or(0, |(first, end)| self.before[end as usize] - self.before[first as usize])
    }

    /// Instructions on a side of a branch.
    fn side(&self, facts: Facts<'_>, branch: Node, first: Node) -> u32 {
        let is_own = facts.cfg.predecessors(first).len() == 1 && first != branch;
        if !is_own {
            return 0;
        }
        let join = facts.postdom.ipdom(branch).filter(|&join| facts.dom.dominates(first, join));
        self.below(facts, first).saturating_sub(join.map_or(0, |join| self.below(facts, join)))
    }
}
