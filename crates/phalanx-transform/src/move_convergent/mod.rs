//! `move-convergent`: moves convergent operations to where they cost less, if all groups of threads
//! stay.
//!
//! | step | what it does | when all groups stay |
//! |---|---|---|
//! | [`both_sides`] | equal operations on both sides of a branch become one above it | the branch is uniform at the scope of the operation |
//! | [`behind`] | equal operations on both sides become one behind it, with phis for what they read | the same |
//! | [`out_of_loops`] | a loop-invariant operation moves before the loop | the group that entered makes all rounds together |
//! | [`down`] | an operation that is read in one block, which some threads do not execute, moves there | the same threads are together there |
//!
//! LLVM leaves convergent operations where they are, since it has no facts about who executes a
//! block together. [`phalanx_core::legality`] has these facts: the more branches are uniform, the
//! more motions it allows. The pass also checks the conditions of any code motion: that operands
//! are available, that memory is the same, and that no instruction in between may fail to return.
//!
//! Operations with a convergence token and calls of functions stay. So do operations that
//! synchronise at a larger scope than the analysis knows.
//!
//! Each step reads facts, plans, and edits in one transaction. The steps repeat until nothing
//! changes, a bounded number of times, since an operation that moved above one branch may move on
//! above another. O(instructions) per round, and facts.

mod behind;
mod both_sides;
mod down;
mod out_of_loops;

use phalanx_core::legality::machines::Machines;
use phalanx_db::{Database, FunctionInput};
use phalanx_ir::edit::Transaction;

use crate::{
    code::Code,
    convergent::Operation,
    locations::Locations,
    pass::{Outcome, Parameters, Pass, PassError},
};

/// How often the steps repeat at most.
const ROUNDS: usize = 8;

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, Default)]
pub struct MoveConvergent {
    /// Under which reconvergence models groups are preserved.
    pub machines: Machines,
}

impl MoveConvergent {
    /// With what a pipeline says: `machines=maximal` or `machines=post-dominator`.
    ///
    /// # Errors
    /// When a parameter is not known.
    pub fn with_parameters(parameters: &Parameters) -> Result<MoveConvergent, String> {
        Ok(MoveConvergent { machines: parameters.machines_alone("move-convergent")? })
    }
}

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
            let machines = self.machines;
            let mut again = both_sides::run(db, function, machines)?;
            again |= behind::run(db, function, machines)?;
            again |= out_of_loops::run(db, function, machines)?;
            again |= down::run(db, function, machines)?;
            if !again {
                break;
            }
            changed = true;
        }
        Ok(Outcome::changed(changed))
    }
}

/// Whether any operation could move; only then are facts computed. O(instructions).
fn has_operations(db: &Database, function: FunctionInput) -> bool {
    let code = Code::of(db, function);
    let mut all = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    code.flow.order().len() > 1 && all.any(|inst| Operation::of(&code, inst).is_some())
}

/// Makes all planned changes in one transaction; returns whether there were any.
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
