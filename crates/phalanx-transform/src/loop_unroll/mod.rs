//! `loop-unroll`: replaces a loop by copies of its rounds.
//!
//! | how | when | exits |
//! |---|---|---|
//! | *in full* | the number of rounds has a known bound (`count`), and all rounds together are small | known exits become jumps |
//! | *by a factor* | `count=N` or `!llvm.loop` asks for it | every copy keeps all exits, except those that are known never to be taken from that copy |
//!
//! LLVM unrolls by a factor into a main loop and a remainder loop, which needs the number of rounds
//! before the first one. Threads of a wave with different numbers of rounds then separate between
//! the two loops, so LLVM leaves a loop with a convergent operation alone. Copies that keep their
//! exits need no number of rounds, and change no group of threads, however divergent the exits are
//! (`copy`). Their cost is that they keep all the exit tests.
//!
//! A loop is a reducible cycle. Several latches are first merged into one. Exits are copied like
//! everything else, and values that are read outside of the loop get phis ([`crate::ssa`]). A known
//! exit is folded only if that changes no group ([`crate::groups`]): an exit edge that is never
//! taken may be the only edge that puts the loop's operations into a surrounding cycle.
//!
//! Loops that use tokens from outside stay: a heart is executed once per round, and copies of it
//! would be other hearts. Loops also stay if they contain blocks whose address is taken, calls that
//! may not be duplicated, or exception handling.
//!
//! Inner loops come first. One transaction unrolls loops that contain no other loop of the plan;
//! the steps repeat a bounded number of times. O(instructions + copies) per step, and facts.
//!
//! # Parameters
//!
//! | parameter | meaning |
//! |---|---|
//! | `full-size=N` | at most so many instructions in all rounds together when a loop is unrolled in full (256); 0: never |
//! | `machines=M` | preserve groups for one reconvergence model only: `maximal` or `post-dominator` (`all`) |
//! | `count=N` | factor for other innermost loops, unless they are larger than `full-size` (1: not unrolled) |

mod copy;
mod count;
mod shape;
mod wishes;

pub use self::shape::Reason;

use phalanx_core::legality::machines::Machines;
use phalanx_db::{Database, FunctionInput};
use phalanx_graph::{BitSet, CycleId};
use phalanx_ir::{BlockId, InstId, edit::Transaction, flow::block_of};
use rustc_hash::FxHashSet;

use self::{
    copy::{Back, Copies, copy},
    count::{Count, count},
    shape::{Graph, Loop},
    wishes::Wishes,
};
use crate::{
    code::Code,
    pass::{Outcome, Parameters, Pass, PassError, machines},
    simplify_cfg::{replace_trivial, take, take_all},
    ssa::repair,
};

/// The size limit of full unrolling if metadata asks for it.
const ASKED: usize = 16 * 1024;

/// The factor if metadata asks for unrolling without a number.
const FACTOR: usize = 4;

/// At least so many rounds are evaluated to count the rounds of a loop.
const ROUNDS: usize = 256;

/// How often the pass repeats for loops around unrolled ones.
const STEPS: usize = 8;

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LoopUnroll {
    /// The size limit for full unrolling, in instructions of all rounds.
    pub full_size: usize,
    /// The factor for other loops.
    pub count: usize,
    /// Under which reconvergence models groups are preserved.
    pub machines: Machines,
    /// Removes edges that are never taken whatever happens to groups: for tests that check that the
    /// oracle finds the fault.
    #[doc(hidden)]
    pub distorted: bool,
}

impl Default for LoopUnroll {
    fn default() -> Self {
        LoopUnroll { full_size: 256, count: 1, machines: Machines::All, distorted: false }
    }
}

/// What the pass does with a loop.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// All rounds are copied.
    Full {
        /// How many.
        rounds: usize,
    },
    /// This number of copies in the loop.
    Partial {
        /// The factor.
        count: usize,
    },
    /// The loop is not unrolled.
    Stays(Reason),
}

impl LoopUnroll {
    /// With what a pipeline says.
    ///
    /// # Errors
    /// When a parameter is not known.
    pub fn with_parameters(parameters: &Parameters) -> Result<LoopUnroll, String> {
        let mut pass = LoopUnroll::default();
        for (key, value) in parameters.iter() {
            let number = |text: &str| {
                text.parse().map_err(|_| format!("loop-unroll: `{text}` is no number"))
            };
            match (key, value) {
                ("full-size", Some(size)) => pass.full_size = number(size)?,
                ("count", Some(count)) => pass.count = number(count)?,
                ("machines", Some(name)) => pass.machines = machines("loop-unroll", name)?,
                _ => return Err(format!("loop-unroll has no parameter `{key}`")),
            }
        }
        Ok(pass)
    }

    /// The decision about each loop of a function, by header, inner loops first.
    #[must_use]
    pub fn decisions(&self, db: &Database, function: FunctionInput) -> Vec<(BlockId, Decision)> {
        let Some(graph) = Graph::of(db, function) else { return Vec::new() };
        let code = Code::of(db, function);
        let all = inner_first(&graph).into_iter().map(|cycle| {
            let found = graph.describe(&code, cycle);
            let decision = self.decide((db, function), &graph, &code, &found);
            (found.header, decision.map_or_else(Decision::Stays, |plan| plan.decision))
        });
        all.collect()
    }

    fn decide(
        &self,
        place: (&Database, FunctionInput),
        graph: &Graph<'_>,
        code: &Code<'_>,
        found: &Loop,
    ) -> Result<Plan, Reason> {
        let wishes = Wishes::of(place, code, &found.latches);
        if wishes.disable {
            return Err(Reason::Disabled);
        }
        graph.check(place, code, found, self.machines)?;
        let is_asked = wishes.full || wishes.enable;
        let allowed = if is_asked { ASKED } else { self.full_size };
        let is_innermost = graph.cycles.children(found.cycle).next().is_none();
        let factor = match wishes.count {
            Some(count) => count,
            None if wishes.enable && !wishes.full => FACTOR,
            None if is_innermost && found.size <= self.full_size => self.count,
            None => 1,
        };
        let wants_part = factor > 1 && factor.saturating_mul(found.size) <= ASKED;
        let bound = allowed.checked_div(found.size).unwrap_or(0) + 1;
        let bound = bound.max(ROUNDS);
        let known = count(graph, code, found, bound);
        let plan = |decision| Plan { found: found.clone(), decision, count: known.clone() };
        let size = known.rounds.map(|rounds| rounds.saturating_mul(found.size));
        match (known.rounds, size) {
            // A factor that is not less than the number of rounds means full unrolling.
            (Some(rounds), Some(size))
                if wishes.count.map_or(size <= allowed, |n| rounds <= n && size <= ASKED) =>
            {
                Ok(plan(Decision::Full { rounds }))
            }
            _ if wants_part => Ok(plan(Decision::Partial { count: factor })),
            (_, Some(size)) => Err(Reason::TooLarge { size }),
            _ => Err(Reason::UnknownCount),
        }
    }

    /// Loops to be unrolled, none of which is inside another.
    fn plans(
        &self,
        db: &Database,
        function: FunctionInput,
        done: &FxHashSet<BlockId>,
    ) -> Vec<Plan> {
        let code = Code::of(db, function);
        let Some(graph) = Graph::of(db, function).filter(|graph| !graph.cycles.is_empty()) else {
            return Vec::new();
        };
        let mut plans: Vec<Plan> = Vec::new();
        // Cycles that contain a planned loop, or are one.
        let mut hold_planned = BitSet::new(graph.cycles.len());
        for cycle in inner_first(&graph) {
            let header = block_of(graph.cycles.header(cycle));
            if hold_planned.contains(cycle.index())
                || done.contains(&header)
                || self.is_too_large((db, function), &graph, &code, cycle)
            {
                continue;
            }
            let found = graph.describe(&code, cycle);
            if let Ok(plan) = self.decide((db, function), &graph, &code, &found) {
                plans.push(plan);
                let around = graph.cycles.ancestors(cycle);
                around.take_while(|around| hold_planned.insert(around.index())).for_each(drop);
            }
        }
        plans
    }

    /// Whether a cycle has too many blocks to be unrolled. This check is cheap, so the blocks of a
    /// deep nest are not visited once for each loop around them.
    fn is_too_large(
        &self,
        place: (&Database, FunctionInput),
        graph: &Graph<'_>,
        code: &Code<'_>,
        cycle: CycleId,
    ) -> bool {
        // Each block has at least one instruction.
        let size = graph.cycles.blocks(cycle).len();
        let is_asked = || Wishes::of(place, code, &graph.ends(cycle).1) != Wishes::default();
        size > ASKED || size > self.full_size && !is_asked()
    }
}

/// A loop that is unrolled.
struct Plan {
    found: Loop,
    decision: Decision,
    count: Count,
}

fn inner_first(graph: &Graph<'_>) -> Vec<CycleId> {
    let mut order: Vec<_> = graph.cycles.iter().collect();
    order.retain(|&cycle| graph.dom.is_reachable(graph.cycles.header(cycle)));
    order.sort_by_key(|&cycle| (std::cmp::Reverse(graph.cycles.depth(cycle)), cycle.raw()));
    order
}

impl Pass for LoopUnroll {
    fn name(&self) -> &str {
        "loop-unroll"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        // Headers of loops that have been unrolled.
        let mut done: FxHashSet<BlockId> = FxHashSet::default();
        for _ in 0..STEPS {
            let plans = self.plans(db, function, &done);
            if plans.is_empty() {
                break;
            }
            let mut work: Vec<(Plan, usize, Back)> = Vec::new();
            for plan in plans {
                done.insert(plan.found.header);
                let (count, back) = match plan.decision {
                    Decision::Full { rounds } => (rounds, Back::Nowhere),
                    Decision::Partial { count } => {
                        let node = wishes::unrolled(db, function, &plan.found.latches)?;
                        (count, Back::ToFirst(node))
                    }
                    Decision::Stays(_) => continue,
                };
                work.push((plan, count, back));
            }
            db.edit(function, |edit| {
                let mut variables = Vec::new();
                let mut taken: Vec<(BlockId, BlockId)> = Vec::new();
                let mut phis: Vec<InstId> = Vec::new();
                for (plan, count, back) in &work {
                    let copies = copy(edit, &plan.found, *count, *back, &mut variables)?;
                    taken.extend(known_ways(edit, plan, &copies, *count));
                    let headers = (0..*count).map(|round| copies.block(round, plan.found.header));
                    phis.extend(headers.flat_map(|header| edit.body().phis(header)));
                }
                phis.extend(repair(edit, &variables)?);
                match self.distorted {
                    true => take_all(edit, taken)?,
                    false => take(edit, taken)?,
                }
                replace_trivial(edit, phis)?;
                Ok::<_, PassError>(())
            })?;
        }
        Ok(Outcome::changed(!done.is_empty()))
    }
}

/// The known exits of the copies. An exit of a copy is known if it is the same in all rounds that
/// the copy stands for.
fn known_ways(
    edit: &Transaction<'_>,
    plan: &Plan,
    copies: &Copies,
    count: usize,
) -> Vec<(BlockId, BlockId)> {
    let mut ways = Vec::new();
    for exit in &plan.count.exits {
        for copy in 0..count {
            let mut rounds = exit.is_taken.iter().skip(copy).step_by(count).copied();
            let Some(Some(leaves)) = rounds.next() else { continue };
            if rounds.any(|other| other != Some(leaves)) {
                continue;
            }
            let block = copies.block(copy, exit.block);
            let mut successors = edit.flow().successors(block).iter().copied();
            let to = successors.find(|&to| (to == exit.outside) == leaves);
            ways.extend(to.map(|to| (block, to)));
        }
    }
    ways
}
