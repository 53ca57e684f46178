//! `infer-address-spaces`: rewrites accesses through generic pointers to accesses of the address
//! space that they point to.
//!
//! # What
//!
//! If [`memory_kinds`](queries::memory_kinds) says that a generic address points to memories of one
//! narrower space, the pass rewrites its loads, stores, atomics, memory intrinsics and comparisons
//! to that space. It computes the address in that space as well: it copies address steps, phis,
//! selections and masks, and looks through casts from the space. Where the chain ends, it casts the
//! generic pointer. Then it removes instructions of the generic chain that nothing reads any more.
//!
//! ```text
//!   %p = addrspacecast ptr addrspace(3) @tile to ptr
//!   %q = getelementptr i32, ptr %p, i64 %i
//!   %v = load i32, ptr %q              ; becomes: load i32, ptr addrspace(3) %q2
//! ```
//!
//! The facts come from callers and callees, from private memory and from address-space tests. So
//! the pass rewrites a parameter or a loaded pointer that LLVM's pass of this name leaves generic.
//! It also folds address-space tests whose answer is known.
//!
//! # What stays
//!
//! - Volatile accesses, except plain ones on NVPTX, where each space has volatile accesses.
//! - Stores to constant memory, and atomics in spaces where the target has none: they are undefined
//!   anyway.
//! - Comparisons and other uses of pointers that may point to no memory: a cast to the space and
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

/// Whether a generic pointer to device memory and its cast to this space have the same bits, so
/// that a cast there and back changes nothing.
const fn is_plain(architecture: Architecture, space: u32) -> bool {
    match architecture {
        Architecture::Amdgcn | Architecture::R600 => matches!(space, 1 | 4),
        Architecture::Nvptx => space == 1,
        _ => false,
    }
}
