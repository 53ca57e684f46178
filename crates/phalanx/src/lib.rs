//! Phalanx: which values, branches and blocks of a GPU kernel are uniform or divergent among its
//! threads, and why.
//!
//! This is the crate that a compiler driver depends on. A [`Session`] holds modules. A driver asks
//! it for facts, changes the code, and asks again: only facts that the change affects are
//! recomputed.
//!
//! ```
//! use phalanx::prelude::*;
//!
//! let text = br#"
//! target triple = "amdgcn-amd-amdhsa"
//! declare i32 @llvm.amdgcn.workitem.id.x()
//!
//! define amdgpu_kernel void @k(ptr addrspace(1) %out, i32 %n) {
//! entry:
//!   %tid = call i32 @llvm.amdgcn.workitem.id.x()
//!   %inside = icmp ult i32 %tid, %n
//!   br i1 %inside, label %then, label %exit
//! then:
//!   store i32 %tid, ptr addrspace(1) %out
//!   br label %exit
//! exit:
//!   ret void
//! }
//! "#;
//! let mut session = Session::new();
//! let module = session.read(text)?;
//! let kernel = session.function(module, "k").expect("it is defined above");
//!
//! let divergence = session.divergence(kernel).expect("it has a body");
//! let entry = session.code(kernel).flow.entry().expect("it has a body");
//! assert!(divergence.is_divergent_branch(entry, Scope::Wave));
//! assert!(divergence.is_uniform(Value::arg(1), Scope::Grid), "arguments are the same for the whole launch");
//! # Ok::<(), phalanx::ReadError>(())
//! ```
//!
//! | to do this | use |
//! |---|---|
//! | read, verify, print text | [`Session::read`], [`Session::reread`], [`Session::print`] |
//! | build a module without text | [`ir::builder`], [`Session::add`] |
//! | walk a function | [`Session::code`]: [`ir::Flow`], [`ir::Body`] |
//! | ask the graph | [`Session::cfg`], [`Session::dom_tree`], [`Session::postdom_tree`], [`Session::cycles`] ... |
//! | ask what diverges | [`Session::divergence`], a [`DivergenceView`] |
//! | ask along which dimensions | [`Session::variance`], a [`VarianceView`] |
//! | ask why it diverges | [`Session::explain`], [`Session::explainer`] |
//! | ask what other threads or launches change | [`Session::divergence_assuming`], [`Session::is_truly_uniform`], [`Session::set_launch`], [`Session::set_whole`] |
//! | ask where pointers lead, and what aliases | [`Session::memory_kinds`], [`Session::alias`], [`Session::memory_ssa`] |
//! | ask how memory is accessed | [`Session::load_classes`], [`Session::memory_accesses`] |
//! | ask what may be moved | [`Session::convergence`], [`Session::legality`] |
//! | ask what is wrong | [`Session::diagnostics`], [`Session::space_conflicts`], [`Session::checker`] |
//! | ask what influences what | [`Session::data_flow`], [`Session::affect_map`] |
//! | state what functions do that are only declared | [`Session::set_extension`] |
//! | build a function in an existing module | [`Session::add_function`] |
//! | change a function | [`Session::edit`], a [`Transaction`](ir::edit::Transaction); facts for it: [`Session::known`] |
//! | change headers, variables, metadata | [`Session::edit_header`], [`Session::edit_shell`], [`Session::edit_metadata`] |
//! | restore an earlier version of a function | [`Session::replace_function`] |
//! | remove a module | [`Session::remove_module`] |
//! | query while other threads edit | [`Session::try_ask`], [`Session::try_edit`] |
//! | run transforms | [`Session::run_passes`], [`transform::Pipeline`] |
//! | see what was computed | [`Session::take_log`], [`Session::repairs`], [`Session::trim`] |
//! | render | [`report`] |
//! | run a kernel | [`simt::run`] |
//!
//! The crates below are re-exported as a whole, for drivers that need only a part. Three of them
//! are features that are on by default:
//!
//! | feature | gives | without it |
//! |---|---|---|
//! | `report` | [`report`], `ReadError::render` | no JSON, no demangling, no terminal colours among the dependencies |
//! | `simt` | [`simt`] | |
//! | `transform` | [`transform`] | |
//!
//! The feature `database` is off by default. With it, [`db`] is the salsa database below a session,
//! and [`Session::database`] and [`FunctionId::input`] lead there: for queries that are not among
//! the methods of [`Session`], and for a driver's own [`Pass`](transform::Pass). What `db` has
//! changes with salsa's versions; nothing else here names salsa.

mod known;
mod read;
mod session;
mod view;

pub use known::Known;
#[cfg(feature = "database")]
pub use phalanx_db as db;
pub use phalanx_db::{
    Busy, Cancelled, Did, Id, LogEntry, ModuleEditError, ReloadReport, TargetOverrides,
    queries::{CallLink, Passage, Repairs, Site, Subject},
};
pub use phalanx_graph as graph;
pub use phalanx_ir as ir;
pub use phalanx_llvm as llvm;
#[cfg(feature = "report")]
pub use phalanx_report as report;
#[cfg(feature = "simt")]
pub use phalanx_simt as simt;
pub use phalanx_target as target;
#[cfg(feature = "transform")]
pub use phalanx_transform as transform;
pub use read::{Invalid, ReadError, parse_for};
pub use session::{FunctionId, ModuleId, Session, Verifying};
pub use view::{DivergenceView, VarianceView};

/// The analyses, and the divergence analysis of `phalanx-core` below them.
pub mod analysis {
    pub use phalanx_analysis::*;
    pub use phalanx_core::{AffectMap, Divergence, User, UserKind, Value};
    pub use phalanx_core::{affect, control, divergence, legality};
}

/// What [`Session::run_passes`] returns.
#[cfg(feature = "transform")]
pub mod passes {
    pub use crate::session::{Broken, GaveUp, PassRun};
}

/// Compiles the code in the pages of documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../docs/explain.md")]
struct Pages;

/// What most drivers need.
pub mod prelude {
    pub use phalanx_graph::{Cfg, CycleId, Cycles, DomTree, Node, PostDomTree};
    pub use phalanx_ir::{BlockId, InstId, Module, Opcode, Value};
    pub use phalanx_target::{Scope, SourceSet};

    pub use crate::{
        DivergenceView, FunctionId, ModuleId, ReadError, ReloadReport, Session, Subject,
        TargetOverrides,
    };
}
