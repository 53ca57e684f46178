//! What is retained of a function from one question to the next, as plain data.
//!
//! An answer about a large function is brought up to date after an edit instead of being found from
//! scratch. What that takes is here, apart from the queries that use it: so a function is an input
//! with a place for each analysis, and knows none of them.
//!
//! | module | what |
//! |---|---|
//! | [`place`] | where state is while no question is asked: taken out, brought up to date, put back |
//! | [`slots`] | the places of a function |
//! | [`answers`], [`graph`], [`layout`], [`counted_multiset`] | what is in them |
//!
//! ```text
//! FunctionInput --slots--> Slots --large--> LargeSlots { loads: AnswerSlot<KeptLoads>, .. }
//! ```
//!
//! Retained state decides what an answer costs, never what it says. Start at
//! [`place::Retained`]; its `update` is beside the queries, since it reads the journal of edits.

pub(crate) mod answers;
pub(crate) mod counted_multiset;
pub(crate) mod graph;
pub(crate) mod layout;
pub(crate) mod place;
pub(crate) mod state;
