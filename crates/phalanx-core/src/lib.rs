//! Divergence over any IR: which values, branches and uses differ among threads, and why.
//!
//! # What it holds
//!
//! | module | holds |
//! |---|---|
//! | [`sources`], [`launch`] | reasons for which threads differ; which of them vary at a scope, in a launch |
//! | [`analysis`] | one interface over all of it, for a compiler with an IR of its own |
//! | [`divergence`] | sources of values, branches and uses: solved once, repaired after edits |
//! | [`block_graph`] | graphs whose parallel edges bring different values |
//! | [`control`] | sources that decide whether a block is executed |
//! | [`legality`] | motions that keep groups of threads together |
//! | [`barriers`] | branches that barriers show to be uniform |
//! | [`explain`] | the shortest chain of causes from a fact to a source |
//!
//! # What it must not know
//!
//! It depends on no IR, no target, no text format and not on salsa. A compiler describes its
//! functions by plain numbers: blocks are [`Node`]s of a graph, values are [`Value`]s in a table.
//! Nothing that is answered borrows from the compiler's own data.
//!
//! # Read first
//!
//! * [`SourceSet`] and [`varying`]: what is computed, and how to ask whether it is uniform;
//! * [`Source`](analysis::Source) and [`Analysis`](analysis::Analysis): how an IR says its
//!   function, and what it may ask;
//! * [`Retained`](divergence::repair::Retained): answers that follow edits, of which that is made.
//!
//! # Example
//!
//! By tables, without [`analysis`] (for that, see `examples/toy.rs`):
//!
//! ```text
//!   b0:  id = thread id           id = {x}
//!        branch id -> b1, b2
//!   b1:  jump b2
//!   b2:  phi = [0 from b0, 1 from b1]
//!        sum = phi + size         size is a launch argument
//! ```
//!
//! ```
//! use phalanx_core::divergence::repair::Retained;
//! use phalanx_core::divergence::{Definition, FlowFacts, Incoming, PhiKey, ValueTableBuilder};
//! use phalanx_core::{LaunchFacts, Scope, SourceSet, varying};
//! use phalanx_graph::{Cfg, Cycles, DomTree, Node, sync::SyncDependence};
//!
//! // The graph, and what follows from it alone.
//! let [b0, b1, b2] = [0, 1, 2].map(Node::new);
//! let cfg = Cfg::new(b0, [vec![b1, b2], vec![b2], vec![]]);
//! let (dom, cycles) = (DomTree::new(&cfg), Cycles::new(&cfg));
//! let sync = SyncDependence::new(&cfg, &dom, &cycles);
//! let flow = FlowFacts { cfg: &cfg, dom: &dom, cycles: &cycles, sync: &sync };
//!
//! // The values: first all definitions, then who reads what.
//! let mut table = ValueTableBuilder::new(cfg.node_count());
//! let size = table.value(b0, Definition::PURE);
//! let id = table.value(b0, Definition::source(SourceSet::X));
//! let phi = table.phi(b2, Definition::PURE);
//! let sum = table.value(b2, Definition::PURE);
//! table.terminator_operand(id, b0);
//! for (pred, constant) in [(b0, 0), (b1, 1)] {
//!     table.incoming(phi, Incoming { pred, value: None, key: PhiKey::constant(constant) });
//! }
//! table.operand(phi, sum);
//! table.operand(size, sum);
//!
//! // Threads of one `x` agree on `sum`; those of a wave need not.
//! let mut kept = Retained::new(flow, table.finish()).unwrap();
//! let in_a_wave = varying(Scope::Wave, &LaunchFacts::default());
//! assert_eq!(kept.answer().value(sum), SourceSet::X);
//! assert!(kept.answer().value(sum).intersects(in_a_wave));
//!
//! // An edit: the branch reads `size` now. One statement, and only what follows from it is redone.
//! kept.table().set_terminator(b0, false, SourceSet::EMPTY, &[size]);
//! kept.repair(flow).unwrap();
//! assert!(kept.answer().value(sum).is_empty());
//! ```
//!
//! # Rust
//!
//! The crate and the two below it, `phalanx-graph` and `phalanx-fixpoint`, state Rust 1.87 for the
//! compilers that embed them. Lints check that, not a build: `clippy::incompatible_msrv` for
//! library functions, `cargo xtask tidy` for let chains.

pub mod affect;
pub mod analysis;
pub mod barriers;
pub mod block_graph;
pub mod control;
pub mod divergence;
pub mod explain;
pub mod launch;
pub mod legality;
pub mod sources;

pub use affect::{AffectMap, User, UserKind, Value};
pub use divergence::Divergence;
pub use launch::{Extent, LaunchFacts, LaunchStatement, QuadLayout};
pub use phalanx_graph::Node;
pub use sources::{Scope, SourceSet, varying};
