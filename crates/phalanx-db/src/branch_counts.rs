//! Divergent branches of modules, as plain data:
//! [`module_divergent_branches`](crate::queries::module_divergent_branches) brings it up to date.
//!
//! ```text
//! module --> at revision 7, 3 in all
//!   @kernel  3 branches; passes { thread.x } to @leaf
//!   @leaf    0 branches; its summary
//! ```
//!
//! Cost: a few words for each function, and a summary of each that is called.

use std::sync::{Mutex, MutexGuard, PoisonError};

use phalanx_analysis::Summary;
use phalanx_target::SourceSet;
use rustc_hash::FxHashMap;
use salsa::Revision;

use crate::{FunctionInput, ModuleInput};

/// The counts of each module that was asked about.
#[derive(Debug, Default)]
pub(crate) struct CountsByModule(Mutex<FxHashMap<ModuleInput, BranchCounts>>);

impl CountsByModule {
    fn all(&self) -> MutexGuard<'_, FxHashMap<ModuleInput, BranchCounts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the counts of a module out.
    pub(crate) fn remove(&self, module: ModuleInput) -> Option<BranchCounts> {
        self.all().remove(&module)
    }

    pub(crate) fn insert(&self, module: ModuleInput, counts: BranchCounts) {
        self.all().insert(module, counts);
    }
}

/// The counts of a module at a revision.
#[derive(Debug)]
pub(crate) struct BranchCounts {
    pub(crate) at: Revision,
    pub(crate) functions: FxHashMap<FunctionInput, Known>,
    pub(crate) total: usize,
}

/// What is known of a function with a body.
#[derive(PartialEq, Debug)]
pub(crate) struct Known {
    pub(crate) branches: usize,
    /// What its calls do, if something in the module calls it.
    pub(crate) summary: Option<Box<Summary>>,
    /// What it passes to functions of which all callers may be known.
    pub(crate) passed: Vec<(FunctionInput, Vec<SourceSet>)>,
}
