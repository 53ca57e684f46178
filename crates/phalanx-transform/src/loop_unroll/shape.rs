//! Which cycles can be copied.

use std::{cell::OnceCell, fmt};

use phalanx_analysis::convergence::tokens::{TokenKind, Tokens};
use phalanx_core::legality::{Legality, Refusal, Unroll, machines::Machines};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::{Cfg, CycleId, Cycles, Node, Reconvergence};
use phalanx_ir::{
    BlockId, InstId, Opcode, Type,
    flow::{block_of, node_of},
};
use phalanx_target::Scope;
use rustc_hash::FxHashSet;

use crate::{code::Code, copies, stacks::Stacks};

/// Why a loop is not unrolled.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// `llvm.loop.unroll.disable` says so, or the loop has been unrolled before.
    Disabled,
    /// It has several entries.
    Irreducible,
    /// A block does not end in a branch.
    Terminator(BlockId),
    /// The address of a block is taken.
    Address(BlockId),
    /// This instruction may not be duplicated.
    NoDuplicate(InstId),
    /// The loop uses a token from outside, or its token is used outside: copies would need tokens
    /// of their own.
    Token(InstId),
    /// Copies would change which threads execute a convergent operation together.
    Groups(Refusal),
    /// On machines that reconverge at post-dominators some convergent operation is executed apart
    /// by threads that would be together under maximal convergence, or the other way round.
    Parted,
    /// The number of rounds is not known, and nothing asks for copies that keep their exits.
    UnknownCount,
    /// All rounds together have more instructions than the limit.
    TooLarge {
        /// How many there would be.
        size: usize,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Disabled => f.write_str("its metadata says that it stays"),
            Reason::Irreducible => f.write_str("it has several entries"),
            Reason::Terminator(_) => f.write_str("a block in it ends in no branch"),
            Reason::Address(_) => f.write_str("the address of a block in it is taken"),
            Reason::NoDuplicate(_) => f.write_str("an instruction in it may not be there twice"),
            Reason::Token(_) => {
                f.write_str("a convergence token comes into it, or is used outside of it")
            }
            Reason::Groups(refusal) => write!(f, "{refusal}"),
            Reason::Parted => f.write_str(
                "threads are together at other operations where they join at post-dominators",
            ),
            Reason::UnknownCount => f.write_str("how many rounds it makes is not known"),
            Reason::TooLarge { size } => write!(f, "all rounds have {size} instructions"),
        }
    }
}

/// A cycle that can be copied.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub(super) cycle: CycleId,
    pub(super) header: BlockId,
    /// In reverse post-order, the header first.
    pub(super) blocks: Vec<BlockId>,
    /// Blocks outside that lead to the header.
    pub(super) entering: Vec<BlockId>,
    /// Blocks inside that do.
    pub(super) latches: Vec<BlockId>,
    /// Instructions without phis.
    pub(super) size: usize,
}

/// The facts about a function's graph.
pub(super) struct Graph<'a> {
    pub(super) cfg: &'a Cfg,
    pub(super) cycles: &'a Cycles,
    pub(super) dfs: &'a phalanx_graph::Dfs,
    pub(super) dom: &'a phalanx_graph::DomTree,
    /// Whether some operation is executed apart where threads join at post-dominators: of the
    /// function, so it is found once for all loops.
    is_parted: OnceCell<bool>,
}

impl<'a> Graph<'a> {
    pub(super) fn of(db: &'a Database, function: FunctionInput) -> Option<Graph<'a>> {
        Some(Graph {
            cfg: queries::cfg(db, function)?,
            cycles: queries::cycles(db, function)?,
            dfs: queries::dfs(db, function)?,
            dom: queries::dom_tree(db, function)?,
            is_parted: OnceCell::new(),
        })
    }

    /// Blocks outside of a cycle that lead to its header, and blocks inside that do.
    pub(super) fn ends(&self, cycle: CycleId) -> (Vec<BlockId>, Vec<BlockId>) {
        let mut preds = self.cfg.predecessors(self.cycles.header(cycle)).to_vec();
        preds.retain(|&pred| self.dom.is_reachable(pred));
        preds.sort_unstable_by_key(|&node| self.dfs.rpo_index(node));
        preds.dedup();
        let (inside, outside): (Vec<Node>, Vec<Node>) =
            preds.into_iter().partition(|&pred| self.cycles.contains(cycle, pred));
        let blocks = |nodes: Vec<Node>| nodes.into_iter().map(block_of).collect();
        (blocks(outside), blocks(inside))
    }

    /// The blocks of a cycle, its entering blocks and its latches.
    pub(super) fn describe(&self, code: &Code<'_>, cycle: CycleId) -> Loop {
        let header = self.cycles.header(cycle);
        let mut nodes = self.cycles.blocks(cycle).to_vec();
        nodes.sort_unstable_by_key(|&node| self.dfs.rpo_index(node));
        let (entering, latches) = self.ends(cycle);
        let blocks: Vec<BlockId> = nodes.into_iter().map(block_of).collect();
        let insts = blocks.iter().flat_map(|&block| code.body.block_insts(block));
        let size = insts.filter(|&i| code.body.inst(i).opcode != Opcode::Phi).count();
        Loop { cycle, header: block_of(header), blocks, entering, latches, size }
    }

    /// Whether a cycle may be replaced by a sequence of copies.
    pub(super) fn check(
        &self,
        (db, function): (&Database, FunctionInput),
        code: &Code<'_>,
        found: &Loop,
        machines: Machines,
    ) -> Result<(), Reason> {
        if !self.cycles.is_reducible(found.cycle) {
            return Err(Reason::Irreducible);
        }
        for &block in &found.blocks {
            copies::check_block(db, function, code, block).map_err(|why| match why {
                copies::Obstacle::Terminator => Reason::Terminator(block),
                copies::Obstacle::Address => Reason::Address(block),
                copies::Obstacle::NoDuplicate(inst) => Reason::NoDuplicate(inst),
            })?;
        }
        check_tokens(code, found)?;
        // Never-taken edges are removed, after which the sides of a branch may join earlier.
        let find_parted = || Stacks::before(db, function).is_some_and(|stacks| !stacks.are_whole());
        if machines.include(Reconvergence::PostDominator)
            && *self.is_parted.get_or_init(find_parted)
        {
            return Err(Reason::Parted);
        }
        let is_convergent =
            |node| code.body.block_insts(block_of(node)).any(|inst| code.is_convergent(inst));
        if !found.blocks.iter().any(|&block| is_convergent(node_of(block))) {
            return Ok(());
        }
        // Every round keeps its exits, or removes never-taken edges only where that changes no
        // group. So the scope does not matter.
        let legality = queries::legality(db, function, Scope::Grid);
        let ask = |l: Legality<'_>| {
            l.under(machines).unroll(found.cycle, Unroll::WithExits, &is_convergent)
        };
        match legality.map(ask) {
            None | Some(Ok(())) => Ok(()),
            Some(Err(refusal)) => Err(Reason::Groups(refusal)),
        }
    }
}

/// Checks that tokens stay within a round. An anchor in the loop becomes a separate anchor in each
/// copy, but a heart counts the rounds.
fn check_tokens(code: &Code<'_>, found: &Loop) -> Result<(), Reason> {
    let tokens = Tokens::new(code.context);
    let body = code.body;
    let inside: FxHashSet<BlockId> = found.blocks.iter().copied().collect();
    let is_inside = |inst: InstId| body.block_of(inst).is_some_and(|b| inside.contains(&b));
    let mut has_token = false;
    for inst in found.blocks.iter().flat_map(|&block| body.block_insts(block)) {
        let data = body.inst(inst);
        if data.ty == Type::TOKEN {
            has_token = true;
            let is_control = data.opcode.is_call()
                && [TokenKind::Anchor, TokenKind::Loop]
                    .iter()
                    .any(|kind| code.callee_name(inst) == Some(kind.name().as_bytes()));
            if !is_control {
                return Err(Reason::Token(inst));
            }
        }
        if data.opcode.is_call()
            && let Some(token) = tokens.used(body, inst)
            && !is_inside(token)
        {
            return Err(Reason::Token(inst));
        }
    }
    if !has_token {
        return Ok(());
    }
    let all = code.flow.order().iter().filter(|block| !inside.contains(block));
    for inst in all.flat_map(|&block| body.block_insts(block)) {
        if body.inst(inst).opcode.is_call()
            && let Some(token) = tokens.used(body, inst)
            && is_inside(token)
        {
            return Err(Reason::Token(inst));
        }
    }
    Ok(())
}
