//! Finds the region between a divergent branch and its join, and decides whether it can be
//! linearized.
//!
//! The region of a branch holds the blocks that are reached from it without passing its immediate
//! post-dominator, the join. Without a join it holds all blocks that follow, if they end in
//! returns. A region qualifies when it is entered by the branch alone, has no cycle, and every
//! instruction in it can be [guarded](super::guards). Qualified regions are disjoint; outer ones
//! are tried first.
//!
//! # Branches that are kept
//!
//! A branch inside a region stays if it is uniform, and remains uniform when threads that do not
//! take part execute it: its condition depends only on values from before the region and on
//! instructions that compute the same in every thread. If such a branch sends an idle thread the
//! wrong way, no result changes. So this decision affects speed alone.
//!
//! Cost: O(divergent branches * region), regions being bounded.

use phalanx_analysis::lower::Numbering;
use phalanx_core::{affect::User, divergence::Divergence};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::{Cfg, Cycles, Dfs, DomTree, Node, PostDomTree};
use phalanx_ir::{
    BlockId, InstId, Opcode, Value, ValueKind,
    flow::{block_of, node_of},
};
use phalanx_target::{Scope, SourceSet, varying};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Refusal, Refused, Survey,
    guards::{Guard, Guards, Written},
    order::{Successors, Way, dominance_compact, linear},
};
use crate::code::Code;

/// Blocks to be linearized.
#[derive(Clone, Debug)]
pub struct Region {
    /// The block whose branch is the outermost divergent one.
    pub branch: BlockId,
    /// The block where all threads meet again; none if that is after the function returns.
    pub join: Option<BlockId>,
    /// Divergent branches in it.
    pub divergent: usize,
    /// Branches in it that are uniform.
    pub uniform: usize,
    /// Uniform branches that stay.
    pub kept: usize,
    /// Its blocks, that of the branch first, in compact order.
    pub(super) blocks: Vec<BlockId>,
    /// Where each of them leads afterwards.
    pub(super) ways: Vec<Way>,
    /// For each block, the earlier block that exactly the same threads execute, if there is one.
    pub(super) inherits: Vec<Option<usize>>,
    pub(super) guards: FxHashMap<InstId, Guard>,
    pub(super) markers: Vec<InstId>,
    /// Whether the join is the header of a cycle.
    pub(super) joins_at_header: bool,
}

impl Region {
    /// How many blocks it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Its blocks, that of the branch first.
    #[must_use]
    pub fn blocks(&self) -> &[BlockId] {
        &self.blocks
    }

    /// Whether it is empty: never.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

/// Finds the regions of a function; none for a declaration.
pub(super) fn survey(db: &Database, function: FunctionInput, blocks: usize) -> Option<Survey> {
    let mut survey = Survey::default();
    let flow = function.flow(db);
    let cfg = queries::cfg(db, function)?;
    if !flow.order().iter().any(|&block| cfg.is_branch(node_of(block))) {
        return Some(survey);
    }
    let divergence = queries::divergence(db, function).as_ref()?;
    let varying = varying(Scope::Wave, queries::launch_facts(db, function));
    let is_divergent =
        |node: Node| cfg.is_branch(node) && divergence.terminator(node).intersects(varying);
    let dfs = queries::dfs(db, function)?;
    let divergent: Vec<Node> = dfs.rpo().filter(|&node| is_divergent(node)).collect();
    if divergent.is_empty() {
        return Some(survey);
    }
    let taken = &function.module(db).shell(db).block_addresses;
    let name = function.header(db).name;
    let mut finder = Finder {
        code: Code::of(db, function),
        cfg,
        dfs,
        dom: queries::dom_tree(db, function)?,
        postdom: queries::postdom_tree(db, function)?,
        cycles: queries::cycles(db, function)?,
        divergence,
        varying,
        numbering: Numbering::new(function.header(db)),
        guards: Guards::new(db, function),
        addresses: taken.iter().filter(|a| a.function == name).map(|a| a.block).collect(),
        limit: blocks,
    };
    let mut claimed: FxHashSet<BlockId> = FxHashSet::default();
    for branch in divergent {
        if claimed.contains(&block_of(branch)) {
            continue;
        }
        match finder.region(branch) {
            Ok(region) => {
                claimed.extend(region.blocks.iter().skip(1));
                survey.regions.push(region);
            }
            Err(why) => survey.refused.push(Refused { branch: block_of(branch), why }),
        }
    }
    // Divergent branches inside a region that was found after an outer region was refused.
    survey.refused.retain(|refused| !claimed.contains(&refused.branch));
    Some(survey)
}

struct Finder<'a> {
    code: Code<'a>,
    cfg: &'a Cfg,
    dfs: &'a Dfs,
    dom: &'a DomTree,
    postdom: &'a PostDomTree,
    cycles: &'a Cycles,
    divergence: &'a Divergence,
    varying: SourceSet,
    numbering: Numbering,
    guards: Guards<'a>,
    addresses: FxHashSet<BlockId>,
    limit: usize,
}

impl Finder<'_> {
    fn region(&mut self, branch: Node) -> Result<Region, Refusal> {
        let (join, nodes) = self.reached(branch)?;
        let order = dominance_compact(self.dom, self.dfs, &nodes, branch);
        let blocks: Vec<BlockId> = order.iter().copied().map(block_of).collect();
        let number: FxHashMap<Node, usize> =
            order.iter().enumerate().map(|(at, &node)| (node, at)).collect();
        let (mut guards, mut markers) = (FxHashMap::default(), Vec::new());
        for &block in &blocks[1..] {
            let Some(terminator) = self.code.body.terminator(block) else {
                return Err(Refusal::Ends { block });
            };
            for inst in self.code.body.block_insts(block).filter(|&inst| inst != terminator) {
                let decision = self.guards.decide(inst, &blocks[1..])?;
                guards.extend(decision.guard.map(|guard| (inst, guard)));
                markers.extend(decision.markers);
            }
        }
        let successors: Vec<Successors> = order
            .iter()
            .map(|&node| {
                let to = |next: &Node| number.get(next).copied().unwrap_or(order.len());
                let mut list: Successors = self.cfg.successors(node).iter().map(to).collect();
                list.sort_unstable();
                list.dedup();
                if list.is_empty() {
                    list.push(order.len());
                }
                list
            })
            .collect();
        let is_branch = |at: usize| successors[at].len() > 1;
        let written = self.guards.written(&blocks);
        let mut alike = FxHashMap::default();
        let keeps: Vec<bool> = (0..order.len())
            .map(|at| {
                at > 0 && is_branch(at) && self.stays(order[at], &number, &written, &mut alike)
            })
            .collect();
        let ways = linear(&successors, &keeps);
        let inherits = (0..order.len())
            .map(|at| {
                let above = self.dom.idom(order[at]).filter(|_| at > 0)?;
                let number = number.get(&above).copied().filter(|&above| above > 0)?;
                self.postdom.post_dominates(order[at], above).then_some(number)
            })
            .collect();
        let divergent = order.iter().filter(|&&node| self.is_divergent(node)).count();
        let branches = (0..order.len()).filter(|&at| is_branch(at)).count();
        Ok(Region {
            branch: block_of(branch),
            join: join.map(block_of),
            divergent,
            uniform: branches.saturating_sub(divergent),
            kept: ways.iter().filter(|way| matches!(way, Way::Kept(_))).count(),
            blocks,
            ways,
            inherits,
            guards,
            markers,
            joins_at_header: join.is_some_and(|join| self.cycles.is_header(join)),
        })
    }

    /// The join of a branch, and the blocks before it.
    fn reached(&self, branch: Node) -> Result<(Option<Node>, FxHashSet<Node>), Refusal> {
        let join = self.postdom.ipdom(branch);
        let cycle = self.cycles.innermost(branch);
        let mut found: FxHashSet<Node> = FxHashSet::default();
        let mut work = vec![branch];
        found.insert(branch);
        while let Some(node) = work.pop() {
            let block = block_of(node);
            let opcode = self.code.body.terminator(block).map(|t| self.code.body.inst(t).opcode);
            match opcode {
                Some(Opcode::Br | Opcode::Switch) => {}
                Some(Opcode::Ret) if join.is_none() => {}
                _ => return Err(Refusal::Ends { block }),
            }
            for &next in self.cfg.successors(node).iter().filter(|&&next| Some(next) != join) {
                if next == branch {
                    return Err(Refusal::Rounds { header: block_of(self.header(next)) });
                }
                if !found.insert(next) {
                    continue;
                }
                if found.len() > self.limit {
                    return Err(Refusal::TooLarge { blocks: self.limit });
                }
                if self.cycles.innermost(next) != cycle {
                    let header = block_of(self.header(next));
                    return Err(match self.cycles.innermost(next) {
                        Some(inner)
                            if cycle.is_none_or(|c| self.cycles.contains_cycle(c, inner)) =>
                        {
                            Refusal::Cycle { header }
                        }
                        _ => Refusal::Rounds { header: block_of(self.header(branch)) },
                    });
                }
                if !self.dom.strictly_dominates(branch, next) {
                    return Err(match self.cycles.is_header(next) {
                        true => Refusal::Rounds { header: block_of(next) },
                        false => Refusal::Entered { block: block_of(next) },
                    });
                }
                if self.addresses.contains(&block_of(next)) {
                    return Err(Refusal::Address { block: block_of(next) });
                }
                work.push(next);
            }
        }
        Ok((join, found))
    }

    fn header(&self, node: Node) -> Node {
        self.cycles.innermost(node).map_or(node, |cycle| self.cycles.header(cycle))
    }

    fn is_divergent(&self, node: Node) -> bool {
        self.cfg.is_branch(node) && self.divergence.terminator(node).intersects(self.varying)
    }

    /// Whether a branch inside a region stays.
    fn stays(
        &self,
        node: Node,
        number: &FxHashMap<Node, usize>,
        written: &Written,
        alike: &mut FxHashMap<InstId, bool>,
    ) -> bool {
        let Some(terminator) = self.code.body.terminator(block_of(node)) else { return false };
        let condition = self.code.body.operands(terminator)[0];
        if self.is_divergent(node) {
            return false;
        }
        self.is_alike(condition, User::terminator(node), number, written, alike)
    }

    /// Whether a value is equal in all threads that executed the first block together.
    fn is_alike(
        &self,
        value: Value,
        user: User,
        number: &FxHashMap<Node, usize>,
        written: &Written,
        known: &mut FxHashMap<InstId, bool>,
    ) -> bool {
        let mut work = vec![(value, user)];
        let mut seen: Vec<InstId> = Vec::new();
        let is_alike = loop {
            let Some((value, user)) = work.pop() else { break true };
            let Some(numbered) = self.numbering.operand(value) else {
                match value.kind() {
                    ValueKind::Const(_) => continue,
                    _ => break false,
                }
            };
            if self.divergence.at_use(numbered, user).intersects(self.varying) {
                break false;
            }
            let Some(inst) = value.as_inst() else { continue };
            let block = self.code.body.block_of(inst);
            let is_inside =
                block.is_some_and(|b| number.get(&node_of(b)).is_some_and(|&at| at > 0));
            if !is_inside {
                continue;
            }
            match known.get(&inst) {
                Some(true) => continue,
                Some(false) => break false,
                None => {}
            }
            if !self.guards.is_as_before(inst, written) {
                break false;
            }
            if !seen.contains(&inst) {
                seen.push(inst);
                let user = User::value(numbered);
                work.extend(self.code.body.operands(inst).iter().map(|&read| (read, user)));
            }
        };
        if is_alike {
            known.extend(seen.into_iter().map(|inst| (inst, true)));
        } else if let Some(inst) = value.as_inst() {
            known.insert(inst, false);
        }
        is_alike
    }
}
