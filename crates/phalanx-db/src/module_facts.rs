//! Facts about whole modules, as plain data. [`queries`](crate::queries) bring them up to date.
//!
//! ```text
//! module --> at revision 7, 3 divergent branches in all
//!   @kernel  3 branches; passes { thread.x } to @leaf
//!   @leaf    0 branches; its summary
//! ```
//!
//! Cost: a few words for each function, and a summary of each that is called.

use std::sync::{Mutex, MutexGuard, PoisonError};

use phalanx_analysis::Summary;
use phalanx_target::SourceSet;
use rustc_hash::{FxHashMap, FxHashSet};
use salsa::Revision;

use crate::{FunctionInput, ModuleInput};

/// The facts of each module that was asked about.
#[derive(Debug, Default)]
pub(crate) struct FactsByModule(Mutex<FxHashMap<ModuleInput, ModuleFacts>>);

impl FactsByModule {
    /// All of them. A question keeps the lock until it is answered, so that threads that ask at
    /// once do not all find the same.
    pub(crate) fn lock(&self) -> MutexGuard<'_, FxHashMap<ModuleInput, ModuleFacts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The facts of a module at a revision.
#[derive(Debug)]
pub(crate) struct ModuleFacts {
    pub(crate) at: Revision,
    pub(crate) functions: FxHashMap<FunctionInput, Known>,
    /// Divergent branches of all functions.
    pub(crate) branches: usize,
    /// None until it is asked for.
    pub(crate) mixing: Option<Mixing>,
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

/// Functions whose branches mix rounds, of which most modules have none.
#[derive(Debug, Default)]
pub(crate) struct Mixing {
    /// Those themselves, and whether they have a convergent operation.
    pub(crate) own: FxHashMap<FunctionInput, bool>,
    /// Those, and all functions whose facts of uniformity do not hold because of them; none until
    /// it is asked for.
    pub(crate) affected: Option<FxHashSet<FunctionInput>>,
}
