//! `infer-address-spaces`: accesses through generic pointers become accesses of the space that they
//! lead to.
//!
//! # What
//!
//! Where [`memory_kinds`](queries::memory_kinds) says that a generic address leads to memories of
//! one narrower space, loads, stores, atomics, memory intrinsics and comparisons of it are
//! rewritten to that space. The address is made in that space as well: steps, phis, selections and
//! masks are copied, casts from the space are looked through, and where the chain ends the generic
//! pointer is cast. What then reads the generic chain no more takes it along.
//!
//! Facts come from across calls, through private memory and from tests, so a parameter or a loaded
//! pointer is rewritten where LLVM's pass of this name sees a generic one. Tests of a space whose
//! answer is known are folded.
//!
//! # What stays
//!
//! - Volatile accesses, but for plain ones on NVPTX, where each space has them.
//! - Stores to constant memory and atomics where the target has none: undefined as they are.
//! - Comparisons and other uses of pointers that may lead nowhere, where a cast to the space and
//!   back need not give the same pointer ([`is_plain`]).
//!
//! # Cost
//!
//! O(instructions) to look, O(chains) to rewrite, and one transaction.

mod calls;
mod plan;
mod rewrite;

use phalanx_db::{Database, FunctionInput, queries};
use phalanx_target::Architecture;

use crate::pass::{Outcome, Pass, PassError};

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, Default)]
pub struct InferAddressSpaces;

impl Pass for InferAddressSpaces {
    fn name(&self) -> &str {
        "infer-address-spaces"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let Some(plan) = plan::Plan::new(db, function) else { return Ok(Outcome::Unchanged) };
        if plan.is_empty() {
            return Ok(Outcome::Unchanged);
        }
        calls::declare(db, function, &plan)?;
        let dom = queries::dom_tree(db, function).map(|dom| dom.preorder().to_vec());
        let order = dom.unwrap_or_default();
        db.edit(function, |edit| rewrite::rewrite(edit, &plan, &order))?;
        Ok(Outcome::Changed)
    }
}

/// Whether a generic pointer of device memory and one of this space are the same bits, so that a
/// cast there and back is nothing.
const fn is_plain(architecture: Architecture, space: u32) -> bool {
    match architecture {
        Architecture::Amdgcn | Architecture::R600 => matches!(space, 1 | 4),
        Architecture::Nvptx => space == 1,
        _ => false,
    }
}
