//! `infer-convergence-attrs`: adds attributes that say what a function does to groups of threads
//! and to memory.
//!
//! The attributes come from the [summary](phalanx_analysis::summary) of each function whose
//! definition here is the one that is executed:
//!
//! | attribute | when |
//! |---|---|
//! | `convergent` is removed | no operation that communicates among threads is reached from here: calls of the function may be moved and copied |
//! | `nodivergencesource` | a wave that calls it with uniform arguments gets a uniform result |
//! | `memory(..)` | the summary knows more than the attribute says |
//!
//! The pass also removes `convergent` from calls of functions that are not convergent. A function
//! that mentions convergence control tokens keeps it. The pass changes nothing for definitions that
//! may be replaced at link time (weak ones), nor for `optnone` and `naked` functions.
//!
//! LLVM's `function-attrs` drops `convergent` as well, but treats every call site that is marked
//! `convergent` as a convergent operation. It does not infer `nodivergencesource`.
//!
//! Cost: that of the summary; O(calls).

use phalanx_analysis::summary::is_exact;
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::{
    InstId, Type,
    attributes::{AttrKind, AttrSet, AttrSetBuilder, AttrSetData, Attribute, MemoryEffects},
    inst::CallInfo,
};
use phalanx_target::{Scope, SourceSet, varying};

use crate::pass::{Outcome, Pass, PassError};

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, Default)]
pub struct InferConvergenceAttrs;

impl Pass for InferConvergenceAttrs {
    fn name(&self) -> &str {
        "infer-convergence-attrs"
    }

    fn runs_on_optnone(&self) -> bool {
        true
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let calls = calls_that_need_no_mark(db, function);
        let attributes = inferred(db, function);
        if calls.is_empty() && attributes.is_none() {
            return Ok(Outcome::Unchanged);
        }
        if !calls.is_empty() {
            db.edit(function, |edit| {
                for (call, info) in calls {
                    edit.set_call_info(call, info)?;
                }
                Ok::<_, PassError>(())
            })?;
        }
        if let Some(set) = attributes {
            let context = function.module(db).context(db).clone();
            let done = db.edit_header(function, |header| {
                header.attributes = context.with_function_attrs(header.attributes, set);
            });
            done.map_err(|error| PassError::Other(error.to_string()))?;
        }
        Ok(Outcome::Changed)
    }
}

/// The attributes of a function, if they are to change.
fn inferred(db: &Database, function: FunctionInput) -> Option<AttrSet> {
    let header = function.header(db);
    let context = function.module(db).context(db);
    let known = context.function_attrs(header.attributes);
    let is_open = is_exact(header.linkage, false)
        && !known.has(AttrKind::OptimizeNone)
        && !known.has(AttrKind::Naked);
    if !is_open {
        return None;
    }
    let summary = queries::summary(db, function);
    let mut builder = AttrSetBuilder::from_set(known);
    let mut is_changed = false;
    if known.has(AttrKind::Convergent) && !summary.effects.convergent {
        builder.remove(AttrKind::Convergent);
        is_changed = true;
    }
    let said = known.memory().unwrap_or(MemoryEffects::UNKNOWN);
    let memory = said.intersect(summary.effects.memory);
    if memory != said {
        builder.add(Attribute::Int(AttrKind::Memory, memory.raw()));
        is_changed = true;
    }
    let wave = varying(Scope::Wave, queries::launch_facts(db, function));
    let is_called = !queries::is_only_launched(db, function);
    let is_source = summary.result.sources.intersects(wave | SourceSet::OPAQUE_THREAD);
    let returns = header.ret != Type::VOID;
    if is_called && returns && !is_source && !known.has(AttrKind::NoDivergenceSource) {
        builder.add(Attribute::Enum(AttrKind::NoDivergenceSource));
        is_changed = true;
    }
    is_changed.then(|| builder.finish(context))
}

/// Calls that are marked as convergent although their callee is not, with the call info that they
/// should have.
fn calls_that_need_no_mark(db: &Database, function: FunctionInput) -> Vec<(InstId, CallInfo)> {
    let module = function.module(db);
    let (context, symbols) = (module.context(db), queries::symbols(db, module));
    let body = function.body(db);
    let is_marked = |set: &AttrSetData| set.has(AttrKind::Convergent);
    let mut found = Vec::new();
    for &(call, name) in function.mentions(db).calls() {
        let info = body.call_info(call);
        let site = context.function_attrs(info.attributes);
        // Bundles may control convergence, or have a meaning that is not known.
        if !is_marked(site) || !info.bundles.is_empty() {
            continue;
        }
        let Some(&callee) = symbols.get(&name) else { continue };
        let summary = queries::summary(db, callee);
        let is_known = summary.is_from_code && summary.ty == Some(info.function_type);
        if !is_known || summary.effects.convergent {
            continue;
        }
        let mut builder = AttrSetBuilder::from_set(site);
        builder.remove(AttrKind::Convergent);
        let mut info = info.clone();
        info.attributes = context.with_function_attrs(info.attributes, builder.finish(context));
        found.push((call, info));
    }
    found
}
