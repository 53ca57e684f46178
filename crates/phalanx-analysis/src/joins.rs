//! Where the branches of a function join again, on machines that reconverge at post-dominators.
//!
//! [`Joins`] needs to know which blocks no thread completes. In our IR these end with
//! `unreachable`: below, `%dead` does not keep the branch from joining at `%end`.
//!
//! ```text
//!   br i1 %c, label %dead, label %end
//! dead:
//!   unreachable
//! ```
//!
//! Cost: O(blocks + edges).

use phalanx_graph::{Joins, Node};
use phalanx_ir::{Body, Flow, Opcode, flow::block_of};

/// Where the branches of a function join; none for a declaration.
#[must_use]
pub fn of(flow: &Flow, body: &Body) -> Option<Joins> {
    let is_unreachable = |node: Node| {
        let end = body.terminator(block_of(node));
        end.is_none_or(|end| body.inst(end).opcode == Opcode::Unreachable)
    };
    Some(Joins::new(&flow.cfg()?, &is_unreachable))
}
