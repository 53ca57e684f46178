//! All integration tests of the crate, a module each: one program is linked instead of many.
//!
//! `cargo test -p phalanx-db --test suite NAME` runs those of a module.
#![allow(clippy::duplicate_mod, reason = "each module extends the fixture by its own methods")]

mod access_edits;
mod alias;
mod an_analysis;
mod assumed;
mod at_hand;
mod calls;
mod check;
mod copies;
mod edits;
mod flow_edits;
mod incremental;
mod library;
mod library_code;
mod lowering_updates;
mod memory;
mod memory_edits;
mod memory_flow_edits;
mod metadata_edits;
mod module_edits;
mod module_wide;
mod page;
mod permuted;
mod pointer_edits;
mod private_edits;
mod private_flow;
mod rare_dependencies;
mod reach;
mod recursion;
mod slot_accesses;
mod slot_cases;
mod slot_edits;
mod small_answers;
mod spaces;
mod summaries;
mod through_edits;
mod token_edits;
