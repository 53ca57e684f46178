//! `linearize`: predication of divergent regions, for targets without hardware for divergence.
//!
//! Where the threads of a wave separate at a branch and meet again without a cycle in between, the
//! pass makes all of them execute all sides one after the other. A side has no effect in a thread
//! that would not have executed it:
//!
//! ```text
//!       A  c                A  c                       The mask of T is c, that of F is not c.
//!      / \                  |
//!     T   F      becomes    T  guarded by its mask     A phi in J becomes a selection by masks.
//!      \ /                  |
//!       J                   F  guarded by its mask
//!                           |
//!                           J
//! ```
//!
//! | step | what it does |
//! |---|---|
//! | [`region`] | which blocks between a divergent branch and its join qualify, and which uniform branches inside stay |
//! | [`order`] | where each block leads afterwards: partial linearization |
//! | [`guards`] | how each instruction is kept from doing anything in threads that do not take part |
//! | [`apply`] | the guards themselves |
//! | [`rewrite`] | masks, selections, new edges |
//!
//! *Sources:* Moll and Hack, "Partial Control-Flow Linearization" (PLDI 2018); Karrenberg and Hack,
//! "Whole-Function Vectorization" (CGO 2011).
//!
//! # What holds
//!
//! The operands of each thread that takes part in a block are unchanged, so the result of a
//! function does not depend on which values are uniform. Masks are defined in every thread: a
//! condition counts only under the mask of its block, and the condition of a branch that stays is
//! frozen. No divergent branch is left in a region.
//!
//! # Convergence
//!
//! A convergent operation in a region would be executed together by threads that were apart. So
//! such a region is refused, and its inner branches are tried on their own. Outside of regions
//! nothing changes: a region has one entry and one join, and none of its blocks is the header of a
//! cycle. So every other block keeps the headers of the cycles around it, which determine the
//! threads that are together there.
//!
//! # Parameters
//!
//! | parameter | meaning |
//! |---|---|
//! | `max-blocks=N` | a region has at most so many blocks (128) |

mod apply;
mod guards;
mod order;
mod region;
mod rewrite;

use std::fmt;

use phalanx_db::{Database, FunctionInput};
use phalanx_ir::{BlockId, InstId};

pub use self::region::Region;
use crate::{
    locations::Locations,
    pass::{Outcome, Parameters, Pass, PassError},
};

/// How often a function is searched again: a linearized region can make another branch divergent.
const ROUNDS: usize = 8;

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Linearize {
    /// How many blocks a region has at most.
    pub blocks: usize,
}

impl Default for Linearize {
    fn default() -> Self {
        Linearize { blocks: 128 }
    }
}

/// Why the region of a branch is not linearized.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The region has a convergent operation.
    Convergent {
        /// The operation.
        inst: InstId,
    },
    /// The region calls a function that may have effects or undefined behaviour.
    Call {
        /// The call.
        inst: InstId,
    },
    /// A memory operation is atomic or volatile.
    Ordered {
        /// The operation.
        inst: InstId,
    },
    /// No private memory can replace the address in idle threads.
    NoSlot {
        /// The access.
        inst: InstId,
    },
    /// The instruction is of a kind that has no guard.
    Unsupported {
        /// The instruction.
        inst: InstId,
    },
    /// The region contains a cycle.
    Cycle {
        /// Its header.
        header: BlockId,
    },
    /// Threads leave a cycle in different rounds.
    Rounds {
        /// The header of that cycle.
        header: BlockId,
    },
    /// The region has an entry besides the branch.
    Entered {
        /// The block that is entered.
        block: BlockId,
    },
    /// A block ends with a terminator that has no successor or is not supported.
    Ends {
        /// The block.
        block: BlockId,
    },
    /// The address of a block is taken.
    Address {
        /// The block.
        block: BlockId,
    },
    /// The region has too many blocks.
    TooLarge {
        /// The limit.
        blocks: usize,
    },
}

impl Refusal {
    /// A short name, for tables.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Refusal::Convergent { .. } => "convergent",
            Refusal::Call { .. } => "call",
            Refusal::Ordered { .. } => "ordered",
            Refusal::NoSlot { .. } => "no-slot",
            Refusal::Unsupported { .. } => "unsupported",
            Refusal::Cycle { .. } => "cycle",
            Refusal::Rounds { .. } => "rounds",
            Refusal::Entered { .. } => "entered",
            Refusal::Ends { .. } => "ends",
            Refusal::Address { .. } => "address",
            Refusal::TooLarge { .. } => "too-large",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Convergent { .. } => "a convergent operation is in the region",
            Refusal::Call { .. } => "a call in the region may have effects or undefined behaviour",
            Refusal::Ordered { .. } => "an atomic or volatile access is in the region",
            Refusal::NoSlot { .. } => {
                "an access in the region is to an address space without generic addresses"
            }
            Refusal::Unsupported { .. } => "an instruction in the region has no guard",
            Refusal::Cycle { .. } => "a cycle is in the region",
            Refusal::Rounds { .. } => "threads leave a cycle in different rounds",
            Refusal::Entered { .. } => "the region is entered from elsewhere",
            Refusal::Ends { .. } => "a block of the region ends in something else than a branch",
            Refusal::Address { .. } => "the address of a block of the region is taken",
            Refusal::TooLarge { blocks } => {
                return write!(f, "the region has more than {blocks} blocks");
            }
        })
    }
}

/// A divergent branch that is not linearized.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The block that it ends.
    pub branch: BlockId,
    /// Why it is refused.
    pub why: Refusal,
}

/// The regions of a function that the pass linearizes, and the branches that it refuses.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Disjoint regions.
    pub regions: Vec<Region>,
    /// Divergent branches that are refused.
    pub refused: Vec<Refused>,
}

impl Linearize {
    /// With what a pipeline says.
    ///
    /// # Errors
    /// When a parameter is not known.
    pub fn with_parameters(parameters: &Parameters) -> Result<Linearize, String> {
        let mut pass = Linearize::default();
        for (key, value) in parameters.iter() {
            match (key, value) {
                ("max-blocks", Some(count)) => {
                    let wrong = || format!("linearize: `{count}` is no number of blocks");
                    pass.blocks = count.parse().map_err(|_| wrong())?;
                }
                _ => return Err(format!("linearize has no parameter `{key}`")),
            }
        }
        Ok(pass)
    }

    /// The regions that the pass would linearize. Empty for a declaration.
    #[must_use]
    pub fn survey(&self, db: &Database, function: FunctionInput) -> Survey {
        region::survey(db, function, self.blocks).unwrap_or_default()
    }
}

impl Pass for Linearize {
    fn name(&self) -> &str {
        "linearize"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let mut changed = false;
        for _ in 0..ROUNDS {
            let regions = self.survey(db, function).regions;
            if regions.is_empty() {
                break;
            }
            let space = guards::Guards::new(db, function).slot_space();
            let mut locations = Locations::new();
            db.edit(function, |edit| rewrite::rewrite(edit, regions, space, &mut locations))?;
            locations.finish(db, function)?;
            changed = true;
        }
        Ok(Outcome::changed(changed))
    }
}
