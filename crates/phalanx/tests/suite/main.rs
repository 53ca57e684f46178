//! All integration tests of the crate, a module each: one program is linked instead of many.
//!
//! `cargo test -p phalanx --test suite NAME` runs those of a module.

mod accesses;
mod again;
mod barriers;
mod contract;
mod convergence;
mod data_flow;
mod data_layouts;
mod driver;
mod edit_rules;
mod explain;
mod insert_body;
mod large_inputs;
mod loads;
mod masks;
mod null;
mod null_and_grids;
mod odd_edges;
mod own_target;
mod public;
mod quads;
mod shapes;
mod strangers;
mod true_uniformity;
