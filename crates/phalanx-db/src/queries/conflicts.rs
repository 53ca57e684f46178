//! What is wrong with memory spaces, and why an address may lead where it does.

use std::sync::Arc;

use phalanx_analysis::{
    check::{Finding, spaces as conflicts},
    listing::relisted,
    spaces::{
        self as analysis, MemoryKinds, SpaceChain, SpaceModel, SpaceSet, SpaceSubject,
        Specialization,
    },
};
use phalanx_ir::{InstId, ValueKind};

use super::called::NO_CALLEES;
use super::calls::closed_calls;
use super::depends_on::{Changed, DependsOn};
use super::explain::has_value;
use super::launches::is_kernel;
use super::own_environment::with_code;
use super::promises::constant_variables;
use super::spaces::{Known, with_memory};
use super::{call_place, cfg, dom_tree, memory_kinds, target};
use crate::FunctionInput;
use crate::retained::{
    answers::KeptConflicts,
    place::{Updated, fresh},
};

use salsa::Database as Db;

/// Accesses and casts that cannot be right where their addresses lead, and private addresses that
/// others read: see [`phalanx_analysis::check::spaces`]. None for a declaration.
///
/// *Reads* `header`, `flow`, `body`, `target`, `dom_tree`, [`memory_kinds`], `call_place`,
/// variables that are written by name; of a large function also [`conflicts_version`], and then
/// what changed and what reads an address that leads elsewhere. *Changes when* a finding does.
/// *Cost* O(instructions).
#[salsa::tracked(returns(ref))]
pub fn space_conflicts(db: &dyn Db, function: FunctionInput) -> Option<Arc<[Finding]>> {
    dom_tree(db, function)?;
    if !may_be_executed(db, function) {
        return Some(Arc::default());
    }
    if !function.is_large(db) {
        return with_context(db, function, conflicts::findings).map(Arc::from);
    }
    let kinds = memory_kinds(db, function).as_ref()?;
    let make = || {
        let findings = with_context(db, function, conflicts::findings).unwrap_or_default();
        KeptConflicts { findings: findings.into(), kinds: Arc::clone(kinds) }
    };
    let update = |kept: &mut KeptConflicts, changed: Changed<'_>| {
        let found = with_context(db, function, |of| kept.update(of, kinds, changed.affected));
        found.flatten().unwrap_or(Updated::Scratch)
    };
    let env = conflicts_version(db, function);
    let slot = &function.retained(db).large().conflicts;
    let read = |kept: &KeptConflicts| Some(Arc::clone(&kept.findings));
    slot.update(
        (db, function),
        env,
        DependsOn::Instruction(conflicts::depends_on),
        update,
        make,
        read,
    )
}

impl KeptConflicts {
    /// `kinds` are where addresses lead now.
    fn update(
        &mut self,
        of: conflicts::SpaceContext<'_>,
        kinds: &Arc<MemoryKinds>,
        changed: &[InstId],
    ) -> Option<Updated> {
        let again = conflicts::to_look_at(of, &self.kinds, &self.findings, changed)?;
        self.kinds = Arc::clone(kinds);
        if again.is_empty() {
            return Some(Updated::Same);
        }
        let look = |inst| conflicts::findings_at(of, inst);
        if let Some(found) = relisted(of.code, &self.findings, |f| f.inst, &again, look) {
            self.findings = found.into();
        }
        Some(Updated::CHANGED)
    }
}

/// Identity of what [`space_conflicts`] of a large function reads besides the body and
/// [`memory_kinds`].
///
/// *Reads* `header`, [`target`], [`constant_variables`]. *Changes when* one of them does. *Cost*
/// O(1).
#[salsa::tracked(returns(copy))]
pub(crate) fn conflicts_version(db: &dyn Db, function: FunctionInput) -> u64 {
    let module = function.module(db);
    let _ = (function.header(db), target(db, module), constant_variables(db, module));
    fresh()
}

/// Generic accesses of which no single space is known, for targets without such. None for a
/// declaration.
///
/// *Reads* what [`space_conflicts`] does. *Changes when* a finding does. *Cost* O(accesses).
#[salsa::tracked(returns(ref))]
pub fn mixed_spaces(db: &dyn Db, function: FunctionInput) -> Option<Vec<Finding>> {
    dom_tree(db, function)?;
    match may_be_executed(db, function) {
        true => with_context(db, function, conflicts::mixed),
        false => Some(Vec::new()),
    }
}

/// Whether a function can be executed: it is a kernel, or it is live in the call graph.
fn may_be_executed(db: &dyn Db, function: FunctionInput) -> bool {
    is_kernel(db, function) || call_place(db, function).is_live
}

fn with_context<R>(
    db: &dyn Db,
    function: FunctionInput,
    find: impl FnOnce(conflicts::SpaceContext<'_>) -> R,
) -> Option<R> {
    let dom = dom_tree(db, function)?;
    let kinds = memory_kinds(db, function).as_ref()?;
    let module = function.module(db);
    let is_constant = |name| constant_variables(db, module).binary_search(&name).is_ok();
    with_code(db, function, NO_CALLEES, |code, env| {
        let architecture = env.target.architecture();
        let is_constant = &is_constant;
        find(conflicts::SpaceContext { code, dom, architecture, kinds, is_constant })
    })
}

/// Why an address may lead to each of some memories: a shortest chain for each, one for all that
/// have the same. Not a query; the cost is that of [`memory_kinds`].
pub fn explain_spaces(
    db: &dyn Db,
    function: FunctionInput,
    subject: SpaceSubject,
    memories: SpaceSet,
) -> Vec<SpaceChain> {
    let (Some(cfg), Some(dom)) = (cfg(db, function), dom_tree(db, function)) else {
        return Vec::new();
    };
    let is_there = match subject {
        SpaceSubject::Value(value) => {
            let is_label = matches!(value.kind(), ValueKind::Block(_) | ValueKind::Metadata(_));
            !is_label && has_value(db, function, value)
        }
        SpaceSubject::Use(user, _) => function.body(db).has(user),
    };
    if !is_there {
        return Vec::new();
    }
    let known = Known::new(db, function);
    let chains = with_memory(db, function, |code, env, memory| {
        analysis::space_chains(code, env, (cfg, dom), memory, &known, (subject, memories))
    });
    chains.unwrap_or_default()
}

/// Copies of a function that cannot be named from outside of its module, each for some of its
/// calls, through whose arguments it would access narrower spaces. Not a query.
///
/// *Reads* `header`, `call_place`, `mentions` and [`memory_kinds`] of the callers. *Cost* O(calls
/// in the callers).
pub fn space_specializations(
    db: &dyn Db,
    function: FunctionInput,
) -> Vec<Specialization<(FunctionInput, InstId)>> {
    let place = call_place(db, function);
    if !place.is_closed {
        return Vec::new();
    }
    let header = function.header(db);
    let module = function.module(db);
    let mut calls: Vec<((FunctionInput, InstId), Vec<SpaceSet>)> = Vec::new();
    for &caller in &place.callers {
        let Some(kinds) = memory_kinds(db, caller) else { return Vec::new() };
        let body = caller.body(db);
        for &(call, _) in closed_calls(db, caller).iter().filter(|(_, to)| *to == function) {
            if body.call_info(call).function_type != header.ty {
                return Vec::new();
            }
            let positions = 0..header.params.len() as u32;
            let sets = positions.map(|at| kinds.at(body, call, at)).collect();
            calls.push(((caller, call), sets));
        }
    }
    let model = SpaceModel::new(target(db, module).architecture());
    let is_generic = |at: u32| {
        let ty = header.params.get(at as usize);
        let space = ty.and_then(|ty| module.context(db).type_kind(*ty).address_space());
        space.is_some() && space == model.generic()
    };
    analysis::specializations(model, is_generic, &calls)
}
