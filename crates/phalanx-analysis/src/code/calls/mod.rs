//! What a function knows of others: of those that it calls, and of those that call it.
//!
//! [`CallFacts`] is how an analysis asks; a driver answers with a [`Summary`] of each function that
//! is called. A summary says what the result depends on ([`Outcome`]), what the call does besides
//! ([`Effects`]), and what it does with what its pointers point to ([`Through`]).
//!
//! ```text
//! define i32 @twice(i32 %a) {        ; result: %a, as an operand of ordinary operations
//!   %r = add i32 %a, %a              ; effects: none
//!   ret i32 %r
//! }
//! ```
//!
//! Here is the data alone. [`summary`](crate::summary) finds it.

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
