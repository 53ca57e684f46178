//! Incremental update of what was found about a function, while the function is edited.
//!
//! A *follower* is asked after every edit. It returns what solving from scratch would return, and
//! retains state that makes the next answer cheap. Each answer says how it was found ([`Found`]),
//! so that tests can assert it.
//!
//! | module | what it updates |
//! |---|---|
//! | [`follower`] | divergence: brings tables up to date, repairs solutions |
//! | [`results`] | the part of a [summary](crate::summary) about the result |
//! | [`through`] | the part of a summary about pointers that are passed |
//!
//! For a function of at least [`LARGE`](crate::policy::LARGE) instructions:
//!
//! ```text
//! let mut follower = Follower::new(Sources::Full);
//! follower.answer(subject, |_| None, scratch);         // Found::Solved: retains only the tables
//! edit(&mut body);                                     // %x = add becomes %x = mul
//! follower.answer(subject, |_| Some(changes), scratch); // Found::Kept: solved, and now retained
//! edit(&mut body);                                     // %y = add becomes %y = mul
//! follower.answer(subject, |_| Some(changes), scratch); // Found::Repaired { visited: 3 }
//! ```
//!
//! [`Subject`] is the function as it is now, [`Stamp`] identifies the inputs of an answer,
//! [`Changes`] lists what has been edited since. Read [`follower`] first.

pub mod follower;
mod lowering;
pub mod results;
mod subject;
pub mod through;
mod untold;

pub use follower::Follower;
pub use results::{ResultFollower, concerns_effects, concerns_pointers};
pub use subject::{Changes, Found, Sources, Stamp, Subject};
pub use through::ThroughFollower;
