//! Graphs and the facts about them: orders, dominators, cycles, control and sync dependence.
//!
//! A function body is seen here only as a directed graph: dense [`Node`] numbers, ordered successor
//! lists, one entry. Every fact is a plain value made by one constructor call, valid from the
//! moment it exists, without interior mutability, comparable with `==` and free to move between
//! threads.
//!
//! Read first: [`Cfg`] (the graph), [`DomTree`] (what a finished fact looks like), [`Cycles`] (the
//! hierarchy that everything about convergence stands on).
//!
//! | fact | type | time for `n` nodes, `m` edges | memory |
//! |---|---|---|---|
//! | depth-first numbering | [`Dfs`] | `O(n + m)` | `O(n)` |
//! | dominator tree | [`DomTree`] | `O((n + m) log n)`, linear in practice | `O(n)` |
//! | post-dominator tree | [`PostDomTree`] | the same, see there for infinite loops | `O(n)` |
//! | dominance frontier | [`DominanceFrontier`] | `O(n + m)`, a query pays for its answer | `O(n + m)` |
//! | control dependence | [`ControlDependence`] | `O(n + m)`, a query pays for its answer | `O(n + m)` |
//! | joins of parted threads | [`Joins`] | as post-dominators, a query pays for its search | `O(n + m)` |
//! | cycle hierarchy | [`Cycles`] | `O((n + m) log n)`, linear in practice | `O(n + m)` |
//! | strongly connected components | [`Components`] | `O(n + m)` | `O(n)` |
//!
//! **Updates.** When a block is split, put on an edge, or merged with its only successor, or a
//! small branch goes away with its sides ([`cfg::Diamond`]), the facts change in one place.
//! `after_split`, `after_edge_split`, `after_merge` and `after_diamond` of [`Cfg`], [`DomTree`],
//! [`PostDomTree`], [`Cycles`] and [`sync::SyncDependence`] copy the old fact and apply the
//! difference, in a fraction of the time. The result equals what the constructor makes of the new
//! graph, orders included. An update returns `None` if it cannot guarantee that. A new block has
//! the next number and must follow the block in question in the layout ([`Cfg::with_layout`]); a
//! block that is merged into another must have followed it.
//!
//! No algorithm recurses, whatever the depth of the graph.
//!
//! This crate must not know: instructions, values, text formats, queries or databases.
//!
//! Parallel edges are kept in the successor lists, which mirror the operands of terminators, but
//! every fact treats them as one edge. Unreachable blocks keep their numbers and are ignored: they
//! are dominated by everything, lie in no cycle and start no path.

pub mod bitset;
pub mod cfg;
pub mod change;
pub mod components;
pub mod control;
pub mod cycles;
pub mod dfs;
pub mod dom;
pub mod frontier;
pub mod graph;
pub mod joins;
pub mod node;
pub mod postdom;
mod scratch;
pub mod sync;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod threshold;

pub use bitset::BitSet;
pub use cfg::{Cfg, CfgBuilder};
pub use components::Components;
pub use control::ControlDependence;
pub use cycles::{CycleId, Cycles};
pub use dfs::Dfs;
pub use dom::DomTree;
pub use frontier::DominanceFrontier;
pub use graph::Graph;
pub use joins::{Joins, Reconvergence};
pub use node::{Node, NodeSet, NodeVec};
pub use postdom::PostDomTree;
