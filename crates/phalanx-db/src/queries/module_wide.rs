//! Facts about whole modules, brought up to date from the functions that were edited: how many
//! branches diverge, and which functions [mix rounds](super::mixing).
//!
//! A query over all functions of a module is validated function by function after an edit of one.
//! So these are no queries: the facts stay beside the database, with what functions say to each
//! other, and the [log of edits](crate::edit_log) tells where to begin.
//!
//! ```text
//! edit @leaf:  its count and its summary are asked for again
//!              the summary is equal      ->  nothing else is asked
//!              the summary is another    ->  @kernel, which calls @leaf, is asked, and so on
//! ```
//!
//! What one function's divergence takes from others is a [`summary`] of each that it calls, and
//! what its callers [pass](passed_arguments). Functions in recursion with each other are solved
//! together, so they are asked together. Everything else that it reads of others, such as headers
//! and calls, leaves a gap in the log, and all functions are asked.
//!
//! Cost: O(functions) the first time and after a gap; else that of the functions asked, and of
//! looking through the callers of those whose summary has become another.

use rustc_hash::{FxHashMap, FxHashSet};
use salsa::Database as Db;

use super::summaries::passed_arguments;
use super::{call_place, divergent_branches, summary, symbols};
use crate::module_facts::{Known, ModuleFacts};
use crate::{Database, FunctionEntry, FunctionInput, ModuleInput};

/// How many branches of a module are divergent for some source. Not a query.
///
/// *Reads* [`divergent_branches`], [`summary`], `passed_arguments` of functions that an edit may
/// have changed; after another change, of all. *Cost* that of these functions.
pub fn module_divergent_branches(db: &Database, module: ModuleInput) -> usize {
    with_facts(db, module, |facts| facts.branches)
}

/// Asks the facts of a module, brought up to date.
pub(super) fn with_facts<R>(
    db: &Database,
    module: ModuleInput,
    ask: impl FnOnce(&mut ModuleFacts) -> R,
) -> R {
    let mut all = db.module_facts().lock();
    // Taken out meanwhile: an edit on another thread may stop the question half way.
    let kept = all.remove(&module);
    let edited = kept.as_ref().and_then(|kept| db.edited_since(kept.at));
    let mut facts = match (kept, edited) {
        (Some(mut kept), Some(edited)) => {
            kept.update(db, module, edited);
            kept
        }
        _ => ModuleFacts::new(db, module),
    };
    let answer = ask(&mut facts);
    all.insert(module, facts);
    answer
}

impl ModuleFacts {
    fn new(db: &Database, module: ModuleInput) -> Self {
        let definitions = module.functions(db).iter().filter(|entry| entry.is_definition);
        let find = |entry: &FunctionEntry| (entry.input, Known::find(db, entry.input));
        let functions: FxHashMap<FunctionInput, Known> = definitions.map(find).collect();
        let branches = functions.values().map(|known| known.branches).sum();
        ModuleFacts { at: db.revision(), functions, branches, mixing: None }
    }

    /// Asks the functions again that were edited, and those that these say something else to.
    fn update(&mut self, db: &Database, module: ModuleInput, edited: Vec<FunctionInput>) {
        let (mut work, mut seen) = (edited, FxHashSet::default());
        while let Some(function) = work.pop() {
            // The log is of all modules.
            let Some(known) = self.functions.get_mut(&function) else { continue };
            if !seen.insert(function) {
                continue;
            }
            let before = std::mem::replace(known, Known::find(db, function));
            self.branches = self.branches - before.branches + known.branches;
            if let Some(mixing) = &mut self.mixing {
                mixing.ask(db, function);
            }
            if before.summary != known.summary {
                work.extend(callers(db, module).get(&function).into_iter().flatten());
            }
            if before.passed != known.passed {
                work.extend(before.passed.iter().chain(&known.passed).map(|(callee, _)| *callee));
            }
            work.extend(call_place(db, function).component.iter());
        }
        self.at = db.revision();
    }
}

impl Known {
    fn find(db: &Database, function: FunctionInput) -> Self {
        let is_called = callers(db, function.module(db)).contains_key(&function);
        let calls = !function.mentions(db).callees().is_empty();
        Known {
            branches: divergent_branches(db, function),
            summary: is_called.then(|| Box::new(summary(db, function).clone())),
            passed: if calls { passed_arguments(db, function).clone() } else { Vec::new() },
        }
    }
}

/// The functions that call each function by name, including functions that are never executed.
///
/// *Reads* [`symbols`], `functions`, `mentions`. *Changes when* a call comes or goes. *Cost*
/// O(functions + calls).
#[salsa::tracked(returns(ref))]
pub(super) fn callers(
    db: &dyn Db,
    module: ModuleInput,
) -> FxHashMap<FunctionInput, Vec<FunctionInput>> {
    let symbols = symbols(db, module);
    let mut callers: FxHashMap<FunctionInput, Vec<FunctionInput>> = FxHashMap::default();
    for entry in module.functions(db) {
        let called = entry.input.mentions(db).callees().iter();
        for callee in called.filter_map(|name| symbols.get(name)) {
            callers.entry(*callee).or_default().push(entry.input);
        }
    }
    callers
}
