//! Whether an instruction still stands between the same two memory accesses.
//!
//! # What
//!
//! The SSA form of memory depends on the order of the accesses within each block, not on the other
//! instructions between them. Comparing the neighbours of an access before and after an edit tells
//! whether the edit moved it. Unchanged instructions keep their order. So if every changed access
//! has the same neighbours as before, the order of all accesses is the same.
//!
//! # How
//!
//! The search steps over a bounded number of instructions that touch no memory. Beyond the bound
//! the answer is "unknown". O(1).

use phalanx_ir::{Body, InstId};

/// How many instructions that touch nothing are stepped over.
const NEIGHBOURS: usize = 256;

/// The nearest instructions before and behind `inst` in its block that touch something. `None` if
/// they are too far away.
pub(super) fn neighbours(
    body: &Body,
    inst: InstId,
    touches: impl Fn(InstId) -> bool,
) -> Option<[Option<InstId>; 2]> {
    let find = |mut at: Option<InstId>, step: &dyn Fn(InstId) -> Option<InstId>| {
        for _ in 0..NEIGHBOURS {
            match at {
                Some(inst) if !touches(inst) => at = step(inst),
                found => return Some(found),
            }
        }
        None
    };
    let before = find(body.prev(inst), &|inst| body.prev(inst))?;
    let behind = find(body.next(inst), &|inst| body.next(inst))?;
    Some([before, behind])
}
