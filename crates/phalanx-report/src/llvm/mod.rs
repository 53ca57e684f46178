//! Prints facts in the format of LLVM's printing passes, so that tests written for `opt` accept the
//! output unchanged.
//!
//! Where LLVM's order depends on addresses or on the history of a data structure (children of a
//! tree node, blocks of a cycle, members of a frontier), ours is by block number.

mod cycles;
mod dominators;
mod memory_ssa;
mod text;
mod uniformity;

pub use cycles::{print_cycle, print_cycles};
pub use dominators::{print_dom_frontier, print_dom_tree, print_postdom_tree};
pub use memory_ssa::print_memory_ssa;
pub(crate) use memory_ssa::{annotate, block_name};
pub use text::Text;
pub use uniformity::print_uniformity;

use phalanx_graph::Node;

/// The names of blocks.
pub trait BlockNames {
    /// Writes the name without a `%`.
    fn write_name(&self, node: Node, out: &mut Vec<u8>);

    /// Writes the name as an operand: `%name`.
    fn write_operand(&self, node: Node, out: &mut Vec<u8>) {
        out.push(b'%');
        self.write_name(node, out);
    }
}
