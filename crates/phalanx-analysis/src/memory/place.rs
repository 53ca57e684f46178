//! Whether an instruction is where it was among those that do anything to memory.
//!
//! # What
//!
//! What is in SSA form follows from the order of accesses within each block, and not from what
//! stands between them. An edit that moves an access, or changes it and leaves it where it is, is
//! told from the accesses next to it: the instructions that were not changed are in the order in
//! which they were, so if every changed access has the same neighbours as before, all of them have.
//!
//! # How
//!
//! Instructions that do nothing are stepped over, a bounded number of them; beyond that nothing is
//! known. O(1).

use phalanx_ir::{Body, InstId};

/// How many instructions that touch nothing are stepped over.
const NEIGHBOURS: usize = 256;

/// The next instructions before and behind one in its block that touch something; none if they are
/// too far away.
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
