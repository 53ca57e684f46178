//! All integration tests of the crate, a module each: one program is linked instead of many.
//!
//! `cargo test -p phalanx-db --test suite NAME` runs those of a module.
#![allow(clippy::duplicate_mod, reason = "each module extends the fixture by its own methods")]

mod alias;
mod an_analysis;
mod at_hand;
mod calls;
mod check;
mod copies;
mod edits;
mod incremental;
mod library;
mod library_code;
mod lowering_updates;
mod memory;
mod metadata_edits;
mod module_edits;
mod module_wide;
mod page;
mod permuted;
mod rare_dependencies;
mod reach;
mod recursion;
mod retention;
mod slot_cases;
mod spaces;
mod summaries;
mod token_edits;
