//! The tracked queries. Every analysis is one, named as in the field.
//!
//! Graph facts: [`graph_facts()`] reads `flow`, and holds what follows from it. Each of these makes
//! its fact the first time that it is asked for:
//!
//! | fact | made from |
//! |---|---|
//! | [`cfg()`] | |
//! | [`dfs`], [`dom_tree`], [`postdom_tree`], [`cycles`] | `cfg` |
//! | [`dom_frontier`] | `cfg`, `dom_tree` |
//! | [`control_dependence`] | `cfg`, `dom_tree`, `postdom_tree` |
//! | [`sync_dependence`] | `cfg`, `dom_tree`, `cycles` |
//!
//! Everything in this table changes with the flow alone: an edit of instructions re-runs none of
//! it. A declaration has no flow, and these return `None` for it. Those of a large function are
//! made from the last ones where one block was split, put on an edge or merged, or a small branch
//! went away. [`GraphFacts`] are shared, so a driver can hold them while it edits.
//!
//! Divergence: [`affect_map`] and [`divergence()`] hold what we know to be true;
//! [`llvm_affect_map`] and [`uniformity`] answer the same questions from LLVM 22's sources. Both
//! read [`target`] and [`launch_facts`], LLVM's also [`callees`]: small projections that stay equal
//! when what they leave out changes. Those of large functions are repaired after edits; [`repairs`]
//! counts how often. [`explain()`] says why something diverges, from [`derivations`];
//! [`variance()`] answers in Kong's terms, and [`assumed_divergence`] where barriers are taken to
//! be used rightly.
//!
//! [`convergence()`] lists convergent operations and the tokens that control them. Memory:
//! [`memory_kinds`] says which memories each pointer may lead to; [`returned_spaces`] and
//! [`argument_spaces`] carry that across calls. What is wrong: [`diagnostics`]; [`space_conflicts`]
//! of memory spaces. Memory: [`private_memory`], [`address_memory`], [`memory_ssa`], and
//! [`load_classes`] for loads that may take a cheaper way.
//!
//! Large functions: an answer that is computed from retained state may be computed in several ways,
//! which read different inputs. Salsa compares the revisions in which the inputs of two equal
//! answers changed. So it must not see an answer that equals one for which more was read. Such
//! answers come from queries named `large_...`, without `Eq`. The public query reads only that
//! answer, and compares. Retained state may decide which inputs are read, but never the answer.
//!
//! Across calls: [`call_graph`], [`summary`] of callees, [`argument_facts`] from callers.

mod access_state;
mod answer_state;
mod argument_rounds;
mod called;
mod calls;
mod check;
mod code;
mod conflicts;
mod convergent;
mod cut;
mod depends_on;
mod divergence_update;
mod divergences;
mod effects;
mod entered;
mod explain;
mod explain_calls;
mod facts;
mod graph;
mod kinds_state;
mod known_calls;
mod known_names;
mod launches;
mod layout;
mod legality;
mod load_state;
mod loads;
mod memory;
mod memory_fact;
mod memory_state;
mod mixing;
mod module;
mod module_wide;
mod own_environment;
mod passed;
mod pointer_state;
mod promises;
mod races;
mod retained;
mod rounds;
mod shape;
mod space_rounds;
mod spaces;
mod summaries;
mod summary_rounds;
mod summary_state;
mod walker;
mod within_group;
mod writes;

pub use crate::marks::OUR_INVARIANT;
pub use access_state::*;
pub use answer_state::*;
pub use argument_rounds::*;
pub use called::*;
pub use calls::*;
pub use check::*;
pub use code::*;
pub use conflicts::*;
pub use convergent::*;
pub use divergence_update::*;
pub use divergences::*;
pub use explain::*;
pub use explain_calls::*;
pub use facts::*;
pub use graph::*;
pub use kinds_state::*;
pub use known_names::*;
pub use launches::*;
pub use legality::*;
pub use loads::*;
pub use memory::*;
pub use memory_state::*;
pub use mixing::*;
pub use module::*;
pub use module_wide::module_divergent_branches;
pub use races::{unjudged_memory, workgroup_memory};
pub use shape::*;
pub use spaces::*;
pub use summaries::*;
pub use summary_state::*;
pub use walker::*;
pub use within_group::*;
pub use writes::*;

pub use crate::retained::graph::GraphFacts;
pub use crate::retained::layout::Layout;
pub use crate::retained::place::{Repairs, Ways};
