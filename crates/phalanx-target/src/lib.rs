//! What each target does: sources of divergence, address spaces, convergent operations.

pub mod sources;

pub use sources::{Extent, LaunchFacts, Scope, SourceSet, varying};
