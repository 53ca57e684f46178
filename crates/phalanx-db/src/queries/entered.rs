//! How threads come to a function: which calls there are, what they depend on, and what they pass.
//!
//! None of it is a query. [`diagnostics`](super::diagnostics) asks for operations whose arguments
//! may differ between threads, and then reads the callers. A large function is not asked about its
//! callers' arguments: its findings are repaired after edits, and a change of a caller is none.

use phalanx_analysis::check::{self, CALLS, Entries, Facts, Passed};
use phalanx_ir::{InstId, flow::node_of};
use phalanx_target::{Scope, SourceSet, varying};
use rustc_hash::FxHashSet;

use super::check::{is_executed, with_facts_below};
use super::launches::{is_kernel, launch_facts};
use super::module::symbols;
use super::{call_place, code, control_divergence};
use crate::FunctionInput;

use salsa::Database as Db;

/// What it depends on whether a thread comes to a function: the control of its calls, and of those
/// of its callers.
pub(super) fn called_under(db: &dyn Db, function: FunctionInput) -> SourceSet {
    let symbols = symbols(db, function.module(db));
    let mut sources = SourceSet::EMPTY;
    let mut seen = FxHashSet::default();
    let mut work = vec![function];
    while let Some(at) = work.pop() {
        if !seen.insert(at) || is_kernel(db, at) {
            continue;
        }
        let place = call_place(db, at);
        if !place.is_closed {
            return SourceSet::ALL;
        }
        for &caller in place.callers.iter().filter(|&&caller| is_executed(db, caller)) {
            let Some(controlled) = control_divergence(db, caller) else { return SourceSet::ALL };
            let code = code(db, caller);
            for &block in code.flow.order() {
                let calls = |inst| {
                    let callee = check::called(code, inst)?;
                    (symbols.get(&callee) == Some(&at)).then_some(())
                };
                if code.body.block_insts(block).any(|inst| calls(inst).is_some()) {
                    sources |= controlled[node_of(block).index()];
                }
            }
            work.push(caller);
        }
    }
    sources
}

/// Calls of a function in its module, callers in the order of the module and calls in that of the
/// text. None if it is in recursion.
fn calls(db: &dyn Db, function: FunctionInput) -> Option<Vec<(FunctionInput, InstId)>> {
    let place = call_place(db, function);
    if !place.component.is_empty() {
        return None;
    }
    let symbols = symbols(db, function.module(db));
    let mut found = Vec::new();
    for &caller in place.callers.iter().filter(|&&caller| is_executed(db, caller)) {
        let code = code(db, caller);
        let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        let is_call = |&inst: &InstId| {
            check::called(code, inst).and_then(|name| symbols.get(&name)) == Some(&function)
        };
        found.extend(insts.filter(is_call).map(|inst| (caller, inst)));
    }
    Some(found)
}

/// What calls pass, through functions of which each is this far from the last one.
pub(super) struct KnownCalls<'a> {
    pub(super) db: &'a dyn Db,
    pub(super) function: FunctionInput,
    /// The number of functions through which arguments are followed upwards.
    pub(super) depth: usize,
}

impl KnownCalls<'_> {
    /// One function further up; none at the end, and for large functions and kernels.
    fn above(&self) -> Option<usize> {
        let is_asked = !self.function.is_large(self.db) && !is_kernel(self.db, self.function);
        self.depth.checked_sub(1).filter(|_| is_asked)
    }
}

impl Passed for KnownCalls<'_> {
    fn entries(&self, threads: &[[u32; 3]], scope: Scope) -> Vec<Entries> {
        let db = self.db;
        let Some(depth) = self.above() else { return Vec::new() };
        let mut found = Vec::new();
        for (caller, call) in calls(db, self.function).unwrap_or_default() {
            let of = |facts: Facts<'_>| check::entries(facts, call, threads, scope);
            found.extend(with_facts_below((db, caller, depth), of).unwrap_or_default());
            if found.len() >= CALLS {
                break;
            }
        }
        found.truncate(CALLS);
        found
    }

    fn is_one(&self, argument: usize, scope: Scope) -> bool {
        let db = self.db;
        let Some(depth) = self.above().filter(|_| call_place(db, self.function).is_closed) else {
            return false;
        };
        let calls = calls(db, self.function).filter(|calls| calls.len() <= CALLS);
        calls.is_some_and(|calls| {
            calls.into_iter().all(|(caller, call)| {
                let varying = varying(scope, launch_facts(db, caller));
                let passes_one = |facts: Facts<'_>| check::passes_one(facts, call, argument, scope);
                !called_under(db, caller).intersects(varying)
                    && with_facts_below((db, caller, depth), passes_one) == Some(true)
            })
        })
    }
}
