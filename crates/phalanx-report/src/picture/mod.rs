//! Draws graphs as SVG, without other programs.
//!
//! [`svg()`] draws nodes and edges, [`flow()`] the control-flow graph of a function,
//! [`dom_tree`] and [`postdom_tree`] its trees, and [`stacked`] puts several drawings into one.

mod flow;
mod stack;
mod svg;
mod tree;

pub use flow::flow;
pub use stack::stacked;
pub use svg::{Look, MOST, PictureEdge, PictureNode, svg};
pub use tree::{dom_tree, postdom_tree};
