//! Sync dependence: where threads that separate at a branch meet again, and which cycles they leave
//! at different times.
//!
//! **Terms** (LLVM, *Convergence And Uniformity*). Threads run the same graph. Those that execute
//! an instance of a block together are *converged* there; when the branch at its end sends them
//! different ways they *separate*. A *join* is a block where threads that separated meet again
//! having come different ways: a phi there can tell them apart. An exit of a cycle is *divergent*
//! when threads that were together in the cycle take it in different rounds: what they bring along
//! was computed in different rounds (*temporal divergence*). An irreducible cycle has no block that
//! all threads pass once per round under every cycle hierarchy. So after some separations threads
//! must be *assumed* to run apart in it.
//!
//! All this follows from the graph alone, branch by branch. [`SyncDependence`] computes each answer
//! at its first query and caches it; a cached answer stays true as long as the graph does not
//! change.
//!
//! | module | what |
//! |---|---|
//! | `order` | the order in which labels travel |
//! | `label` | LLVM's label propagation, with its faults repairable one by one |
//! | `arrivals` | the slow twin: edge by edge, for branches in reducible cycles |
//! | `reduced` | the graph with irreducible regions contracted, its levels and intervals |
//! | `fringe` | dominance frontiers that share their tails |
//! | `wave` | the fast algorithm on it: skips to the fringes, one level at a time |
//! | `irreducible` | branches inside irreducible regions, right for every hierarchy |
//! | `table` | the lazily filled table |
//! | `carry` | which cached answers stay true when the graph is edited |
//! | `copy` | a copy of a graph, to be compared with the edited one |
//!
//! Read first: [`Consequence`] (the possible answers), then the module docs of `wave`.

pub mod arrivals;
mod carry;
mod copy;
mod fringe;
mod irreducible;
pub mod label;
pub mod order;
mod reduced;
mod table;
#[cfg(test)]
mod tests;
mod wave;

pub use carry::{Carry, Positions};
pub use copy::GraphCopy;
pub use label::{LabelPropagation, LabelSync, LlvmFixes, unreliable_cycle};
pub use order::ModifiedPostOrder;
pub use reduced::LeavingEdge;
pub use table::{Answer, Footprint, SyncDependence, SyncView};
pub use wave::{Consequence, EnteringEdges};
