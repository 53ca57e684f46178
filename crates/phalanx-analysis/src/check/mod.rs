//! Diagnostics: what is wrong with a kernel, or may be, and why.
//!
//! # What
//!
//! A [`Finding`] says that a [`Rule`] is broken at an instruction, how sure that is ([`Level`]),
//! and what it follows from: the branch that parts threads, the sources that its direction depends
//! on, and two threads that go different ways, where such can be named. Other crates make the
//! texts.
//!
//! | module | rules |
//! |---|---|
//! | `finding` | what a finding is, in plain data |
//! | `facts` | the facts about a function, and about others, that rules read |
//! | [`barriers`] | barriers that not all threads of a workgroup execute |
//! | [`coverage`] | which operations are judged, and which are not |
//! | [`kinds`] | which threads a barrier is for, and how many |
//! | `symbolic` | distances between lanes that are known at run time only |
//! | `split` | arrivals at barriers and waits for them |
//! | `masks` | masks, lane by lane |
//! | `numbers` | numbers and counts of barriers, and other arguments that have to be the same for all threads |
//! | `walk` | the operands that single threads have at an operation |
//! | `entries` | the arguments that single threads call a function with |
//! | `evaluate` | the results of operations on known numbers |
//! | [`members`] | operations of a wave: which lanes take part, and which were expected to |
//! | [`accesses`] | accesses of memory that take longer than necessary |
//! | [`pending`] | memory that is accessed while a copy in the background goes on |
//! | [`costs`] | what accesses, branches and loops cost a wave |
//! | [`spins`] | loops in which threads wait for others |
//! | [`spaces`] | accesses that cannot be right for the memory that the address leads to |
//! | [`loads`] | loads that could be cheaper but for one obstacle |
//! | [`launch`] | statements about launches that would make something uniform |
//! | `counted` | loops of which all threads make the same number of rounds, where the counter is in a stack slot |
//! | [`races`] | races in workgroup memory |
//! | `rereads` | workgroup memory that is written again too soon |
//! | `rounds` | what decides whether a round of a cycle comes to an operation |
//! | `sites` | where the operations are that rules are about |
//! | `ways` | paths through the graph, searched no further than they can matter |
//! | `parting` | where threads part |
//! | `operations` | the operations that rules are about |
//! | `notes` | what was read to judge an operation |
//! | `judged` | findings about operations, and which are judged again after an edit |
//! | `witness` | threads that decide a branch differently |
//!
//! # Invariants
//!
//! - Take a kernel without a finding about barriers, that calls nothing unknown and uses no barrier
//!   of some threads only. It does not hang at a barrier, in the model in which barriers do not
//!   wait for threads that have ended ([`barriers`] has the argument).
//! - An *error* names one of three things: two threads, found by evaluation, of which one comes to
//!   the operation and the other does not; a number that no launch fits; or an order of operations
//!   that all paths through a function have. Everything else is at most a warning: facts about
//!   divergence are upper bounds.
//! - A function has at most one finding per rule and instruction. Findings are in the order of the
//!   text.

pub mod accesses;
pub mod barriers;
pub mod costs;
mod counted;
pub mod coverage;
mod entries;
mod evaluate;
mod facts;
mod few;
mod finding;
mod judged;
pub mod kinds;
pub mod launch;
pub mod loads;
mod masks;
pub mod members;
mod multiples;
mod notes;
mod numbers;
mod operations;
mod parting;
pub mod pending;
pub mod races;
mod rereads;
mod rounds;
mod sites;
mod sizes;
pub mod spaces;
pub mod spins;
mod split;
mod symbolic;
mod walk;
mod ways;
mod witness;

pub use entries::{CALLS, DEPTH, entries, passes_one};
pub use facts::{Callee, Edges, Entries, Facts, Passed};
pub use finding::{
    AccessCost, CountFault, Evaluated, Finding, Geometry, Level, Rule, Symbol, WaveCost, What,
    Witness,
};
pub use judged::{Judged, Split, findings, memory_depends_on};
pub use notes::{Notes, Reads};
pub use operations::{Operation, Sites, operations};
pub use rereads::edges;
pub use sites::{Calls, called, may_be_barrier, may_be_site, own_barriers};
pub use ways::{ends, is_undefined};
