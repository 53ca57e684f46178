//! What an analysis knows of other functions: of callees, and of callers.
//!
//! An analysis asks through the trait [`CallFacts`]; a driver answers with a [`Summary`] of each
//! function that is called. A summary says what the result depends on ([`Outcome`]), what else the
//! call does ([`Effects`]), and what the call does to the memory that its pointer arguments point
//! to ([`Through`]).
//!
//! ```text
//! define i32 @twice(i32 %a) {        ; result: %a, as an operand of ordinary operations
//!   %r = add i32 %a, %a              ; effects: none
//!   ret i32 %r
//! }
//! ```
//!
//! This module holds the data alone. [`summary`](crate::summary) computes it.

mod at_call;
mod effects;
mod outcome;
mod summary;
mod through;

pub(crate) use at_call::{may_be_private_argument, of_call};
pub use effects::{Effects, Spaces};
pub use outcome::{Dependence, Outcome};
pub use summary::{CallFacts, NoCallFacts, Summary, is_copied, is_known_by_content};
pub(crate) use through::meet;
pub use through::{Input, PARTS, Part, Through};
