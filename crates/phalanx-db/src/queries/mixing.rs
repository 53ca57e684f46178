//! Whether branches mix rounds in what a function calls, or where it is called from: facts of
//! uniformity do not hold then on machines that reconverge at post-dominators
//! ([`machines`](phalanx_core::legality::machines)).
//!
//! ```text
//! @kernel ---> @f ---> @leaf        @f mixes rounds and votes
//!         \--> @g                   @kernel: what @f returns need not be what it says
//!                                   @leaf, @g: nor what they are passed
//! ```
//!
//! Most functions are asked together with few others: those are looked at one by one. Where there
//! are more ([`NEARBY`]), the answer is that of the module. It is brought up to date after edits as
//! [counts](super::module_wide) are, so a pass that asks for each function of a long chain of calls
//! and edits it takes linear time.
//!
//! Cost: O(functions nearby); else O(functions + calls) for the first question, then that of the
//! functions that an edit concerns, unless some function mixes rounds and others come to.

use phalanx_analysis::policy::NEARBY;
use phalanx_core::legality::machines::{Machines, Rounds};
use phalanx_graph::Reconvergence;
use rustc_hash::{FxHashMap, FxHashSet};
use salsa::Database as Db;

use super::module_wide::{callers, with_facts};
use super::summaries::are_callers_known;
use super::{call_graph, call_place, convergence, own_rounds, symbols};
use crate::module_facts::{Mixing, ModuleFacts};
use crate::{Database, FunctionInput, ModuleInput};

/// Whether facts of uniformity of a function hold on machines that reconverge at post-dominators:
/// see [`machines`](phalanx_core::legality::machines). Not a query.
///
/// *Reads* [`own_rounds`] and [`call_place`] of the function, of callers whose facts are used and
/// of what these call, and [`convergence`] of callees. *Cost* O(functions that are looked at);
/// where these are many, as [`module_divergent_branches`](super::module_divergent_branches).
pub fn rounds_around(db: &Database, function: FunctionInput) -> Rounds {
    let own = own_rounds(db, function);
    if own != Rounds::Apart {
        return own;
    }
    let is_affected = is_affected_nearby(db, function, NEARBY).unwrap_or_else(|| {
        with_facts(db, function.module(db), |facts| facts.is_affected(db, function))
    });
    if is_affected { Rounds::Elsewhere } else { Rounds::Apart }
}

/// Whether facts of uniformity of a function hold on these machines. Not a query.
pub fn facts_hold(db: &Database, function: FunctionInput, on: Machines) -> bool {
    !on.include(Reconvergence::PostDominator) || rounds_around(db, function) == Rounds::Apart
}

/// Whether a function's facts do not hold because of others; none if that depends on more than
/// `most` functions.
fn is_affected_nearby(db: &dyn Db, function: FunctionInput, most: usize) -> Option<bool> {
    let mut seen = FxHashSet::default();
    let mut work = vec![function];
    // Callers, as long as what they pass is used.
    let mut above = Vec::new();
    while let Some(at) = work.pop() {
        if !seen.insert(at) {
            continue;
        }
        if seen.len() > most {
            return None;
        }
        if own_rounds(db, at) != Rounds::Apart {
            return Some(true);
        }
        above.push(at);
        if are_callers_known(db, at) {
            work.extend(call_place(db, at).callers.iter().copied());
        }
    }
    // What all of these call.
    let symbols = symbols(db, function.module(db));
    let callees = |of: FunctionInput| {
        of.mentions(db).callees().iter().filter_map(|name| symbols.get(name)).copied()
    };
    let mut work: Vec<FunctionInput> = above.into_iter().flat_map(callees).collect();
    while let Some(at) = work.pop() {
        if !seen.insert(at) {
            continue;
        }
        if seen.len() > most {
            return None;
        }
        if own_rounds(db, at) != Rounds::Apart && has_operation(db, at) {
            return Some(true);
        }
        work.extend(callees(at));
    }
    Some(false)
}

fn has_operation(db: &dyn Db, function: FunctionInput) -> bool {
    convergence(db, function).as_ref().is_some_and(|found| !found.operations().is_empty())
}

impl ModuleFacts {
    fn is_affected(&mut self, db: &Database, function: FunctionInput) -> bool {
        let functions = self.functions.keys();
        let mixing = self.mixing.get_or_insert_with(|| {
            let mut mixing = Mixing::default();
            functions.for_each(|&function| mixing.ask(db, function));
            mixing
        });
        let Mixing { own, affected } = mixing;
        let find = || find_affected(db, function.module(db), own);
        !own.is_empty() && affected.get_or_insert_with(find).contains(&function)
    }
}

impl Mixing {
    /// Asks a function whether it mixes rounds itself.
    pub(super) fn ask(&mut self, db: &Database, function: FunctionInput) {
        let mixes = own_rounds(db, function) != Rounds::Apart;
        let now = mixes.then(|| has_operation(db, function));
        let before = match now {
            Some(has_operation) => self.own.insert(function, has_operation),
            None => self.own.remove(&function),
        };
        if before != now {
            self.affected = None;
        }
    }
}

/// Functions that mix rounds, those that call one with a convergent operation, however far below,
/// and those that any of these passes something to. O(functions + calls).
fn find_affected(
    db: &Database,
    module: ModuleInput,
    own: &FxHashMap<FunctionInput, bool>,
) -> FxHashSet<FunctionInput> {
    let callers = callers(db, module);
    let with_operation = own.iter().filter(|(_, has_operation)| **has_operation);
    let mut found = FxHashSet::default();
    close(&mut found, with_operation.map(|(&function, _)| function), callers);
    let mut passes: FxHashMap<FunctionInput, Vec<FunctionInput>> = FxHashMap::default();
    for callee in call_graph(db, module).bottom_up().filter(|&f| are_callers_known(db, f)) {
        for &caller in &call_place(db, callee).callers {
            passes.entry(caller).or_default().push(callee);
        }
    }
    let above: Vec<FunctionInput> = found.drain().chain(own.keys().copied()).collect();
    close(&mut found, above, &passes);
    found
}

/// Adds functions and all that are reached from them.
fn close(
    found: &mut FxHashSet<FunctionInput>,
    from: impl IntoIterator<Item = FunctionInput>,
    next: &FxHashMap<FunctionInput, Vec<FunctionInput>>,
) {
    let mut work: Vec<FunctionInput> = from.into_iter().collect();
    while let Some(at) = work.pop() {
        if found.insert(at) {
            work.extend(next.get(&at).into_iter().flatten());
        }
    }
}

#[cfg(test)]
mod tests;
