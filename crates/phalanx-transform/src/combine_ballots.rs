//! `combine-ballots`: merges two votes into one, and removes votes whose result is known.
//!
//! | before | after | when |
//! |---|---|---|
//! | `and`, `or`, `xor` of `ballot(a)` and `ballot(b)` | `ballot` of `and`, `or`, `xor` of `a` and `b` | the same threads execute both, and nothing else reads them |
//! | the least, the greatest, `and` or `or` over the wave of `x` | `x` | `x` is uniform in the wave where it is read |
//!
//! `early-cse` handles equal votes, `move-convergent` equal votes on both sides of a branch.
//!
//! The later vote stays. [`Legality::cse`](phalanx_core::legality::Legality::cse) decides whether
//! the same threads execute both votes, and no call between them may end some threads
//! ([`ends`](crate::ends)). Both votes are in the same innermost cycle, so both conditions of a
//! thread belong to one execution. A bit of a ballot is the condition of one thread, and 0 where
//! the thread does not take part. `and`, `or` and `xor` keep that 0, since each of them maps two
//! zeros to zero.
//!
//! Operations with effects besides their result stay: on NVPTX a vote waits for the threads of its
//! mask.
//!
//! Combined ballots may be combined again, so the pass repeats a bounded number of times.
//! O(instructions) per round.

use std::cell::OnceCell;

use phalanx_analysis::lower::Numbering;
use phalanx_core::{User, legality::machines::Machines};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::{InstBuilder as _, InstId, Opcode, Value, edit::Transaction, flow::node_of};
use phalanx_target::{Scope, intrinsics::Family, varying};
use rustc_hash::FxHashSet;

use crate::{
    answers::Answers,
    code::Code,
    convergent::Operation,
    ends::{Ends, InstPlace},
    pass::{Outcome, Parameters, Pass, PassError},
};

/// How often votes are combined again.
const ROUNDS: usize = 8;

/// Reductions of a uniform value that give back that value.
const IDEMPOTENT: [&str; 6] = [
    "wave.reduce.and",
    "wave.reduce.max",
    "wave.reduce.min",
    "wave.reduce.or",
    "wave.reduce.umax",
    "wave.reduce.umin",
];

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, Default)]
pub struct CombineBallots {
    /// For which machines groups are kept.
    pub machines: Machines,
}

impl CombineBallots {
    /// With what a pipeline says: `machines=maximal` or `machines=post-dominator`.
    ///
    /// # Errors
    /// When a parameter is not known.
    pub fn with_parameters(parameters: &Parameters) -> Result<CombineBallots, String> {
        Ok(CombineBallots { machines: parameters.machines_alone("combine-ballots")? })
    }
}

impl Pass for CombineBallots {
    fn name(&self) -> &str {
        "combine-ballots"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let reductions = reductions(db, function);
        if !reductions.is_empty() {
            db.edit(function, |edit| {
                reductions.iter().try_for_each(|&(inst, by)| edit.replace(inst, by))
            })?;
        }
        let mut changed = !reductions.is_empty();
        for _ in 0..ROUNDS {
            let pairs = pairs(db, function, self.machines);
            if pairs.is_empty() {
                break;
            }
            let combined = db.edit(function, |edit| {
                let mut combined = false;
                for pair in &pairs {
                    combined |= combine(edit, *pair)?;
                }
                Ok::<_, PassError>(combined)
            })?;
            if !combined {
                break;
            }
            changed = true;
        }
        Ok(Outcome::changed(changed))
    }
}

/// Reductions whose operand is uniform, each with that operand.
fn reductions(db: &Database, function: FunctionInput) -> Vec<(InstId, Value)> {
    let code = Code::of(db, function);
    let all = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    let candidates: Vec<InstId> = all.filter(|&inst| is_idempotent(&code, inst)).collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let Some(facts) = queries::divergence(db, function) else { return Vec::new() };
    let varying = varying(Scope::Wave, queries::launch_facts(db, function));
    let numbering = Numbering::new(function.header(db));
    let gone: FxHashSet<InstId> = candidates.iter().copied().collect();
    let is_uniform = |inst: InstId, data: Value| {
        // One of two chained reductions goes now; the next round looks at the other.
        if data.as_inst().is_some_and(|read| gone.contains(&read)) {
            return false;
        }
        match numbering.operand(data) {
            Some(value) => {
                let user = User::value(numbering.inst(inst));
                !(facts.value(value) | facts.at_use(value, user)).intersects(varying)
            }
            None => data.as_const().is_some(),
        }
    };
    let with_data = candidates.iter().map(|&inst| (inst, code.body.call_args(inst)[0]));
    with_data.filter(|&(inst, data)| is_uniform(inst, data)).collect()
}

fn is_idempotent(code: &Code<'_>, inst: InstId) -> bool {
    let is_pure = Operation::of(code, inst).is_some_and(|operation| operation.is_pure());
    is_pure
        && code
            .intrinsic(inst)
            .is_some_and(|i| i.family == Family::Amdgcn && IDEMPOTENT.contains(&i.base))
}

/// Two ballots and what combines them.
#[derive(Copy, Clone, Debug)]
struct Pair {
    earlier: InstId,
    later: InstId,
    by: InstId,
}

/// Pairs of ballots that may become one because the same threads execute both.
fn pairs(db: &Database, function: FunctionInput, machines: Machines) -> Vec<Pair> {
    let answers = Answers::new(db, function, machines);
    let code = Code::of(db, function);
    let body = code.body;
    let ends = OnceCell::new();
    let mut pairs: Vec<Pair> = Vec::new();
    let mut taken: FxHashSet<InstId> = FxHashSet::default();
    for by in code.flow.order().iter().flat_map(|&block| body.block_insts(block)) {
        if !matches!(body.inst(by).opcode, Opcode::And | Opcode::Or | Opcode::Xor) {
            continue;
        }
        let &[one, other] = body.operands(by) else { continue };
        let (Some(one), Some(other)) = (one.as_inst(), other.as_inst()) else { continue };
        let is_ballot = |inst: InstId| {
            let is_pure = Operation::of(&code, inst).is_some_and(|operation| operation.is_pure());
            is_pure && code.intrinsic(inst).is_some_and(|i| i.base == "ballot")
        };
        if one == other
            || !is_ballot(one)
            || !is_ballot(other)
            || body.const_callee(one) != body.const_callee(other)
            || body.call_info(one) != body.call_info(other)
        {
            continue;
        }
        let Some((earlier, later)) = in_order(&answers, &code, one, other) else { continue };
        let (Some(cfg), Some(cycles)) = (queries::cfg(db, function), queries::cycles(db, function))
        else {
            continue;
        };
        let ends = ends.get_or_init(|| Ends::new(&code));
        if !ends.all_come(&code, (cfg, cycles), earlier, InstPlace::Before(later)) {
            continue;
        }
        if taken.contains(&one) || taken.contains(&other) {
            continue;
        }
        taken.extend([one, other]);
        pairs.push(Pair { earlier, later, by });
    }
    pairs
}

/// The two votes, the earlier one first, if by the graph the same threads execute both.
fn in_order(
    answers: &Answers<'_>,
    code: &Code<'_>,
    one: InstId,
    other: InstId,
) -> Option<(InstId, InstId)> {
    let (above, below) = (code.body.block_of(one)?, code.body.block_of(other)?);
    if above == below {
        let first = code.body.block_insts(above).find(|&inst| inst == one || inst == other)?;
        return Some(if first == one { (one, other) } else { (other, one) });
    }
    let legality = answers.at(Scope::Wave)?;
    let (above, below) = (node_of(above), node_of(below));
    if legality.cse(above, below).is_ok() {
        return Some((one, other));
    }
    legality.cse(below, above).is_ok().then_some((other, one))
}

/// Replaces the combining instruction by the later of two ballots. Returns false if anything else
/// reads the ballots.
fn combine(edit: &mut Transaction<'_>, pair: Pair) -> Result<bool, PassError> {
    let Pair { earlier, later, by } = pair;
    let is_read_there = |inst: InstId| edit.uses_of(inst).all(|found| found.user == by);
    if !is_read_there(earlier) || !is_read_there(later) {
        return Ok(false);
    }
    let (a, b) = (edit.body().call_args(earlier)[0], edit.body().call_args(later)[0]);
    let opcode = edit.body().inst(by).opcode;
    let mut place = edit.before(later);
    let condition = match opcode {
        Opcode::And => place.and(a, b)?,
        Opcode::Or => place.or(a, b)?,
        _ => place.xor(a, b)?,
    };
    edit.set_operand(later, 0, condition)?;
    edit.replace(by, later)?;
    edit.erase(earlier)?;
    Ok(true)
}
