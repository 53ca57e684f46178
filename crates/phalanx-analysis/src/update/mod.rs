//! Incremental update of what was found about a function, while the function is edited.
//!
//! An *updater* is asked after every edit. It returns what solving from scratch would return, and
//! retains state that makes the next answer cheap. Each answer says how it was found ([`Found`]),
//! so that tests can assert it.
//!
//! | module | what it updates |
//! |---|---|
//! | [`divergence`] | divergence: brings tables up to date, repairs solutions |
//! | [`results`] | the part of a [summary](crate::summary) about the result |
//! | [`through`] | the part of a summary about pointers that are passed |
//!
//! For a function of at least [`LARGE`](crate::policy::LARGE) instructions:
//!
//! ```text
//! let mut updater = DivergenceUpdater::new(Sources::Full);
//! updater.answer(subject, |_| None, scratch);         // Found::Solved: retains only the tables
//! edit(&mut body);                                     // %x = add becomes %x = mul
//! updater.answer(subject, |_| Some(changes), scratch); // Found::Kept: solved, and now retained
//! edit(&mut body);                                     // %y = add becomes %y = mul
//! updater.answer(subject, |_| Some(changes), scratch); // Found::Repaired { visited: 3 }
//! ```
//!
//! [`Subject`] is the function as it is now, [`Stamp`] identifies the inputs of an answer,
//! [`Changes`] lists what has been edited since. Read [`divergence`] first.

pub mod divergence;
mod lowering;
pub mod results;
mod subject;
pub mod through;
mod unknown_through;

pub use divergence::DivergenceUpdater;
pub use results::{ResultUpdater, effects_depend_on, pointers_depend_on};
pub use subject::{Changes, Found, Sources, Stamp, Subject};
pub use through::ThroughUpdater;
