//! Pure functions from our IR to facts: tables for the core, memory, spaces, shapes, summaries of
//! calls, checks.
//!
//! Nothing here has global state, reads files or knows of queries. A result that is updated after
//! edits is a value that the caller holds. Divergence itself is computed by [`phalanx_core`], which
//! knows no IR: it is a function of tables, and [`lower`] makes these tables from a function of the
//! IR. The crate knows no text format and no salsa.
//!
//! Each folder uses only folders above it in this table; `cargo xtask tidy` checks that.
//!
//! | folder | what it holds |
//! |---|---|
//! | [`policy`], [`edited`], [`joins`] | thresholds that choose between a repair and solving from scratch; lists of edited instructions; joins of a graph |
//! | [`code`] | what analyses are given: a function, its environment, summaries of its callees, as plain data |
//! | [`listing`], [`launch`] | lists of instructions that are updated after edits; what is known of launches |
//! | [`memory`] | private objects and SSA forms of memory |
//! | [`spaces`] | which memories a pointer may lead to |
//! | [`alias`] | whether two accesses may touch the same bytes |
//! | [`shape`] | how a value changes from lane to lane |
//! | [`convergence`] | convergence control |
//! | [`lower`] | tables of values, which divergence is solved from |
//! | [`summary`] | what a call does, found from the code |
//! | [`assumed_facts`], [`explain`] | assumptions that a solution may use; chains of causes through calls |
//! | [`update`] | incremental update of divergence and summaries |
//! | [`readers`], [`loads`] | which instructions read an address; which loads read memory that no thread writes |
//! | [`data_flow`], [`variance`], [`true_uniformity`], [`stable`] | smaller analyses |
//! | [`check`] | diagnostics |
//!
//! Read first: [`phalanx_core::divergence`] (what is computed, from what), [`code`] (what every
//! analysis is given), [`lower`] (where the tables come from), [`memory`].

pub mod alias;
pub mod assumed_facts;
pub mod check;
pub mod code;
pub mod convergence;
pub mod data_flow;
pub mod edited;
pub mod explain;
pub mod joins;
pub mod launch;
pub mod listing;
pub mod loads;
pub mod lower;
pub mod memory;
pub mod policy;
pub mod readers;
pub mod shape;
pub mod spaces;
pub mod stable;
pub mod summary;
pub mod true_uniformity;
pub mod update;
pub mod variance;

pub use convergence::Convergence;
pub use summary::Summary;
