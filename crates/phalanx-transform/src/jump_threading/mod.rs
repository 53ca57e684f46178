//! `jump-threading`: if the edge by which a block is entered decides its branch, that edge is
//! redirected to the known successor.
//!
//! ```text
//!    P   Q           P    Q
//!     \ /            |    |
//!      B     ->      B'   B
//!     / \            |   / \
//!    T   F           T  ...
//! ```
//!
//! The block is copied for the predecessors from which its branch is known ([`known`]). If the
//! branch is known for all predecessors, no copy is needed. Values that the block defines get phis
//! where they are read ([`crate::ssa`]).
//!
//! # Convergence
//!
//! LLVM leaves every block with a convergent operation alone. Phalanx copies it when the threads
//! that are together in the block came by one edge
//! ([`duplicate`](phalanx_core::legality::Legality::duplicate)), at the scope of the operation:
//! behind uniform branches they did. Two conditions limit the copies ([`keep`]). The copy has one
//! successor only, and this must not move a convergent operation out of a cycle. And on machines
//! that reconverge at post-dominators, the sides of a divergent branch must still join before a
//! convergent operation.
//!
//! The pass copies no headers of cycles and threads no edge back to a header. So all cycles stay as
//! they are, and none becomes irreducible. Blocks with convergence tokens stay.
//!
//! Each transaction handles blocks that do not affect each other; the pass repeats a bounded number
//! of times. O(blocks × operations visited) per round, plus divergence facts where an operation is
//! convergent.
//!
//! # Parameters
//!
//! | parameter | meaning |
//! |---|---|
//! | `size=N` | at most so many instructions of a block are copied (6) |
//! | `machines=M` | preserve groups for one reconvergence model only: `maximal` or `post-dominator` (`all`) |

mod implied;
mod keep;
mod known;

pub(crate) use self::implied::implied;

use phalanx_analysis::convergence::tokens::Tokens;
use phalanx_core::legality::machines::Machines;
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::Cycles;
use phalanx_ir::{
    BlockId, InstId, Opcode, Type, Value,
    edit::Transaction,
    flow::{block_of, node_of},
};
use phalanx_target::Scope;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use self::{keep::keeping_groups, known::Known};
use crate::{
    answers::Answers,
    code::Code,
    convergent::Operation,
    copies::{check_block, redirect, unmark},
    pass::{Outcome, Parameters, Pass, PassError, machines},
    simplify_cfg::{replace_trivial, take_all},
    ssa::{Variable, is_read_outside, repair},
};

/// How often the pass repeats at most.
const ROUNDS: usize = 8;

/// Blocks with more predecessors are skipped.
const PREDECESSORS: usize = 32;

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct JumpThreading {
    /// How many instructions of a block are copied.
    pub size: usize,
    /// Under which reconvergence models groups are preserved.
    pub machines: Machines,
    /// Ignores groups of threads: for tests that check that the oracle finds the fault.
    #[doc(hidden)]
    pub distorted: bool,
}

impl Default for JumpThreading {
    fn default() -> Self {
        JumpThreading { size: 6, machines: Machines::All, distorted: false }
    }
}

/// A block whose successor is known for some edges.
#[derive(Debug)]
struct Plan {
    block: BlockId,
    /// The predecessors for which it is known; empty if for all.
    from: Vec<BlockId>,
    to: BlockId,
    /// The successors that the other predecessors may reach.
    rest: Vec<BlockId>,
}

impl JumpThreading {
    /// With what a pipeline says.
    ///
    /// # Errors
    /// When a parameter is not known.
    pub fn with_parameters(parameters: &Parameters) -> Result<JumpThreading, String> {
        let mut pass = JumpThreading::default();
        for (key, value) in parameters.iter() {
            match (key, value) {
                ("size", Some(size)) => {
                    let wrong = || format!("jump-threading: `{size}` is no number");
                    pass.size = size.parse().map_err(|_| wrong())?;
                }
                ("machines", Some(name)) => pass.machines = machines("jump-threading", name)?,
                _ => return Err(format!("jump-threading has no parameter `{key}`")),
            }
        }
        Ok(pass)
    }

    fn plans(&self, db: &Database, function: FunctionInput) -> Vec<Plan> {
        let code = Code::of(db, function);
        let has_branch = |&block: &BlockId| code.flow.successors(block).len() > 1;
        if !code.flow.order().iter().any(has_branch) {
            return Vec::new();
        }
        let (Some(cfg), Some(dom), Some(cycles)) = (
            queries::cfg(db, function),
            queries::dom_tree(db, function),
            queries::cycles(db, function),
        ) else {
            return Vec::new();
        };
        let known = Known { code, cfg, dom };
        let answers = Answers::new(db, function, self.machines);
        // A plan is valid as long as no earlier one touched its blocks.
        let mut touched: FxHashSet<BlockId> = FxHashSet::default();
        let mut plans = Vec::new();
        for &block in code.flow.order() {
            if !dom.is_reachable(node_of(block)) || !has_branch(&block) {
                continue;
            }
            let all = || cfg.predecessors(node_of(block)).iter().copied();
            let mut preds: Vec<BlockId> =
                all().filter(|&pred| dom.is_reachable(pred)).map(block_of).collect();
            preds.sort_unstable_by_key(|pred| pred.into_raw().into_u32());
            preds.dedup();
            let plan = match known.always(block) {
                Some(to) => Some(Plan { block, from: Vec::new(), to, rest: Vec::new() }),
                None => self.thread((db, function), &answers, &known, cycles, block, &preds),
            };
            let Some(plan) = plan else { continue };
            let own = [plan.block, plan.to].into_iter().chain(plan.from.iter().copied());
            let own: SmallVec<[BlockId; 8]> = own.collect();
            if own.iter().any(|block| touched.contains(block)) {
                continue;
            }
            touched.extend(own);
            plans.push(plan);
        }
        match self.distorted {
            true => plans,
            false => keeping_groups((db, function), &code, self.machines, plans),
        }
    }

    /// A plan to copy a block for those predecessors from which it leads to one known successor.
    fn thread(
        &self,
        (db, function): (&Database, FunctionInput),
        answers: &Answers<'_>,
        known: &Known<'_>,
        cycles: &Cycles,
        block: BlockId,
        preds: &[BlockId],
    ) -> Option<Plan> {
        let (code, node) = (&known.code, node_of(block));
        if cycles.is_header(node) || preds.is_empty() || preds.len() > PREDECESSORS {
            return None;
        }
        // A thread that enters the cycle here does not come through the header, so the cycle has
        // another entry.
        let cycle = cycles.innermost(node);
        if cycle.is_some_and(|c| preds.iter().any(|&p| !cycles.contains(c, node_of(p)))) {
            return None;
        }
        let targets: Vec<Option<BlockId>> =
            preds.iter().map(|&pred| known.from(pred, block)).collect();
        let first = targets.iter().flatten().next().copied()?;
        if targets.iter().all(|&to| to == Some(first)) {
            return Some(Plan { block, from: Vec::new(), to: first, rest: Vec::new() });
        }
        if !self.can_copy((db, function), answers, code, block) {
            return None;
        }
        let mut candidates: SmallVec<[BlockId; 2]> = targets.iter().flatten().copied().collect();
        candidates.dedup();
        let goes_back = |to: BlockId| {
            let cycle = cycles.innermost(node_of(to)).filter(|_| cycles.is_header(node_of(to)));
            cycle.is_some_and(|cycle| cycles.contains(cycle, node))
        };
        let to = candidates.into_iter().find(|&to| !goes_back(to))?;
        let from = preds.iter().zip(&targets).filter(|&(_, &target)| target == Some(to));
        let from: Vec<BlockId> = from.map(|(&pred, _)| pred).collect();
        let leads_elsewhere = |&pred: &BlockId| {
            let opcode = code.body.terminator(pred).map(|t| code.body.inst(t).opcode);
            matches!(opcode, Some(Opcode::Br | Opcode::Switch))
        };
        let others = || targets.iter().filter(|&&target| target != Some(to));
        let rest: Vec<BlockId> = match others().any(Option::is_none) {
            true => code.flow.successors(block).to_vec(),
            false => others().flatten().copied().collect(),
        };
        from.iter().all(leads_elsewhere).then_some(Plan { block, from, to, rest })
    }

    fn can_copy(
        &self,
        (db, function): (&Database, FunctionInput),
        answers: &Answers<'_>,
        code: &Code<'_>,
        block: BlockId,
    ) -> bool {
        let body = code.body;
        let insts = || body.block_insts(block).filter(|&i| body.inst(i).opcode != Opcode::Phi);
        // The terminator does not count: it becomes a jump, or is erased.
        if insts().count() > self.size + 1 || check_block(db, function, code, block).is_err() {
            return false;
        }
        let tokens = Tokens::new(code.context);
        let has_token = |inst: InstId| {
            let data = body.inst(inst);
            data.ty == Type::TOKEN || data.opcode.is_call() && tokens.used(body, inst).is_some()
        };
        if insts().any(has_token) {
            return false;
        }
        self.distorted
            || insts().filter(|&inst| code.is_convergent(inst)).all(|inst| {
                // A call may communicate with any thread.
                let scope = Operation::of(code, inst).map_or(Scope::Grid, |found| found.scope);
                answers.at(scope).is_some_and(|legality| legality.duplicate(node_of(block)).is_ok())
            })
    }
}

impl Pass for JumpThreading {
    fn name(&self) -> &str {
        "jump-threading"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let mut changed = false;
        for _ in 0..ROUNDS {
            let plans = self.plans(db, function);
            if plans.is_empty() {
                break;
            }
            changed = true;
            db.edit(function, |edit| apply(edit, &plans))?;
        }
        Ok(Outcome::changed(changed))
    }
}

fn apply(edit: &mut Transaction<'_>, plans: &[Plan]) -> Result<(), PassError> {
    let mut variables = Vec::new();
    let mut ways: Vec<(BlockId, BlockId)> = Vec::new();
    let mut phis: Vec<InstId> = Vec::new();
    for plan in plans {
        let taken = match plan.from.is_empty() {
            true => plan.block,
            false => copy(edit, plan, &mut variables)?,
        };
        ways.push((taken, plan.to));
        let around = edit.flow().successors(taken).iter().copied().chain([plan.block, taken]);
        phis.extend(around.flat_map(|block| edit.body().phis(block)));
    }
    phis.extend(repair(edit, &variables)?);
    let is_copy = |block: BlockId| plans.iter().all(|plan| plan.block != block);
    for &(block, _) in ways.iter().filter(|way| is_copy(way.0)) {
        unmark(edit, block)?;
    }
    take_all(edit, ways)?;
    phis.sort_unstable_by_key(|phi| phi.into_raw().into_u32());
    phis.dedup();
    replace_trivial(edit, phis)?;
    Ok(())
}

/// Copies a block for the predecessors of a plan; the copy still has all successors of the block.
fn copy(
    edit: &mut Transaction<'_>,
    plan: &Plan,
    variables: &mut Vec<Variable>,
) -> Result<BlockId, PassError> {
    let block = plan.block;
    let read_outside: Vec<InstId> = edit
        .body()
        .block_insts(block)
        .filter(|&inst| edit.body().inst(inst).ty != Type::VOID)
        .filter(|&inst| is_read_outside(edit, inst, &|place| place == block))
        .collect();
    let clones = edit.clone_blocks(&[block])?;
    let new = clones.block(block).unwrap_or(block);
    for &from in &plan.from {
        let inputs: Vec<(InstId, Value)> = edit
            .body()
            .phis(block)
            .filter_map(|phi| Some((clones.inst(phi)?, edit.phi_input(phi, from)?)))
            .collect();
        redirect(edit, from, block, new, &inputs)?;
    }
    variables.extend(read_outside.into_iter().map(|inst| Variable {
        original: inst,
        definitions: vec![(block, inst.into()), (new, clones.value(inst.into()))],
    }));
    Ok(new)
}
