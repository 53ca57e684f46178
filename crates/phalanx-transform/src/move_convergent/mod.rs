//! `move-convergent`: moves convergent operations to where they cost less and all groups of threads stay.
//!
//! | step | what it does | when all groups stay |
//! |---|---|---|
//! | [`both_sides`] | equal operations on both sides of a branch become one above it | the branch is uniform at the scope of the operation |
//! | [`behind`] | equal operations on both sides become one behind it, with phis for what they read | the same |
//! | [`out_of_loops`] | an operation that does the same in every round moves before the loop | all rounds are made by the group that entered |
//! | [`down`] | an operation that is read in one block, to which not everybody comes, moves there | the same threads are together there |
//!
//! LLVM leaves convergent operations where they are, since it has no facts about who executes a block together.
//! [`phalanx_analysis::legality`] has them: uniform branches buy freedom. What is looked at besides is what any code motion has to:
//! operands, memory, what may not come back.
//!
//! Operations with a convergence token and calls of functions stay. So does what synchronises at a larger scope than is known of.
//!
//! Each step asks for facts, plans, and edits in one transaction; the steps repeat until nothing changes, a bounded number of times,
//! since what was moved above one branch may move on above another. O(instructions) per round and facts.

mod behind;
mod both_sides;
mod down;
mod out_of_loops;

use phalanx_analysis::legality::Legality;
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::{BlockId, edit::Transaction, flow::node_of};
use phalanx_target::Scope;

use crate::{
    code::Code,
    convergent::Operation,
    locations::Locations,
    pass::{Outcome, Pass, PassError},
};

/// How often the steps repeat at most.
const ROUNDS: usize = 8;

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, Default)]
pub struct MoveConvergent;

impl Pass for MoveConvergent {
    fn name(&self) -> &str {
        "move-convergent"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let mut changed = false;
        for _ in 0..ROUNDS {
            if !has_operations(db, function) {
                break;
            }
            let mut again = both_sides::run(db, function)?;
            again |= behind::run(db, function)?;
            again |= out_of_loops::run(db, function)?;
            again |= down::run(db, function)?;
            if !again {
                break;
            }
            changed = true;
        }
        Ok(Outcome::changed(changed))
    }
}

/// Whether there is anything that could move: facts are asked only then. O(instructions).
fn has_operations(db: &Database, function: FunctionInput) -> bool {
    let code = Code::of(db, function);
    let mut all = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    code.flow.order().len() > 1 && all.any(|inst| Operation::of(&code, inst).is_some())
}

/// Makes all planned changes in one transaction; whether there were any.
fn carry_out<M>(
    db: &mut Database,
    function: FunctionInput,
    plan: &[M],
    make: impl Fn(&mut Transaction<'_>, &M, &mut Locations) -> Result<(), PassError>,
) -> Result<bool, PassError> {
    if plan.is_empty() {
        return Ok(false);
    }
    let mut locations = Locations::new();
    db.edit(function, |edit| plan.iter().try_for_each(|one| make(edit, one, &mut locations)))?;
    locations.finish(db, function)?;
    Ok(true)
}

/// Answers about motions, by scope.
struct Answers<'a> {
    db: &'a Database,
    function: FunctionInput,
}

impl<'a> Answers<'a> {
    /// Those for what communicates within a scope.
    fn at(&self, scope: Scope) -> Option<Legality<'a>> {
        queries::legality(self.db, self.function, scope)
    }

    /// Whether what both sides of a branch do together, at a scope, may be done above it or behind it: whoever executes the one there
    /// together executed one of the two together.
    fn can_merge(&self, scope: Scope, [one, other]: [BlockId; 2]) -> bool {
        let legality = self.at(scope);
        legality.is_some_and(|l| l.merge(node_of(one), node_of(other)).is_ok())
    }
}
