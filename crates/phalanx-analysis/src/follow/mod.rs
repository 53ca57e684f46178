//! What has been found of a function, while the function is edited.
//!
//! A *follower* is asked after every edit. It gives what solving from scratch would give, and keeps
//! what makes the next answer cheap. Each says how it found an answer ([`Found`]), so that tests
//! can see that it was no accident.
//!
//! | module | what it follows |
//! |---|---|
//! | [`follower`] | divergence: tables brought up to date, solutions repaired |
//! | [`results`] | the result of a [summary](crate::summary) |
//! | [`through`] | what a summary says of pointers that are passed |
//!
//! ```text
//! let mut follower = Follower::seen(position);
//! follower.answer(&subject, None);           // Found::Solved: nothing was kept
//! edit(&mut body);                           // %x = add becomes %x = mul
//! follower.answer(&subject, Some(changes));  // Found::Repaired { visited: 3 }
//! ```
//!
//! [`Subject`] is the function as it is, [`Stamp`] says which inputs an answer is for, [`Changes`]
//! what has been edited since. Read [`follower`] first.

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
