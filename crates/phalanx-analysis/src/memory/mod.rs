//! Memory: which accesses touch the same, and in which version.
//!
//! | module | what |
//! |---|---|
//! | [`sizes`] | sizes of types, offsets of addresses |
//! | [`ssa`] | SSA form of memory variables: uses, definitions, phis |
//! | [`private`] | objects of the frame that nobody else can reach, as memory variables |

pub mod private;
pub mod sizes;
pub mod ssa;

pub use private::PrivateMemory;
pub use sizes::{TypeLayout, TypeSizes};
pub use ssa::Ssa;
