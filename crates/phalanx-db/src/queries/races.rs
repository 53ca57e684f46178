//! What is wrong with accesses of workgroup memory.

use phalanx_analysis::check::{
    Callee, Calls,
    coverage::{Gap, NotJudged},
    races::{self, Found, Program, Unit, Variable},
};
use phalanx_ir::{GlobalName, GlobalVariable, constant::ConstKind};
use phalanx_target::{AddressSpace, SpaceKind};
use rustc_hash::FxHashMap;

use super::called::NO_CALLEES;
use super::check::synchronizes;
use super::divergences::divergence;
use super::launches::{is_kernel, launch_facts};
use super::module::{symbols, target};
use super::own_environment::with_code;
use super::{cfg, code, cycles, postdom_tree, type_layout};
use crate::{FunctionInput, ModuleInput};

use salsa::Database as Db;

/// Races in workgroup memory, and accesses of it that cannot be right, of a kernel: see
/// [`phalanx_analysis::check::races`]. Empty for other functions, none for a declaration.
///
/// *Reads* variables of the module; where there is workgroup memory, an array, or a plain store of
/// what is no constant also `header`, `flow`, `body`, [`cfg`], [`postdom_tree`], [`cycles`],
/// [`divergence`] of the kernel and of all it calls, [`synchronizes`], [`launch_facts`]. *Changes
/// when* a finding does. *Cost* O(threads × instructions) up to a limit.
#[salsa::tracked(returns(ref))]
pub fn workgroup_memory(db: &dyn Db, function: FunctionInput) -> Option<Found> {
    cfg(db, function)?;
    if !is_kernel(db, function) {
        return Some(Found::default());
    }
    let module = function.module(db);
    let architecture = || target(db, module).architecture();
    let callee = |name| {
        symbols(db, module).get(&name).map_or(Callee::Unknown, |&callee| synchronizes(db, callee))
    };
    let variables = workgroup_variables(db, module);
    let unit = |function: FunctionInput| {
        Some(Unit {
            code: code(db, function),
            cfg: cfg(db, function)?,
            postdom: postdom_tree(db, function)?,
            cycles: cycles(db, function)?,
            divergence: divergence(db, function).as_ref()?,
        })
    };
    let has_arrays = || races::has_arrays(code(db, function), architecture());
    let has_arrays = !variables.is_empty() || has_arrays();
    let stores = has_arrays || races::has_plain_stores(code(db, function));
    if !stores {
        return Some(Found::default());
    }
    let kernel = unit(function)?;
    let launch = launch_facts(db, function);
    if !has_arrays && !races::may_lose_index(kernel, launch, architecture()) {
        return Some(Found::default());
    }
    let called = |name: GlobalName| unit(*symbols(db, module).get(&name)?);
    let mut found = races::findings(Program {
        kernel,
        function: &called,
        variables,
        calls: Calls { callee: &callee, architecture: &architecture },
        launch,
        target: target(db, module),
        layout: type_layout(db, module),
        lockstep: with_code(db, function, NO_CALLEES, |_, env| env.lockstep)?,
    });
    if !has_arrays {
        // There is no workgroup memory to be compared.
        (found.gave_up, found.left_out) = (false, Vec::new());
    }
    Some(found)
}

/// Accesses of workgroup memory by a kernel that are not judged. Not a query.
pub fn unjudged_memory(db: &dyn Db, function: FunctionInput) -> Vec<Gap> {
    let Some(found) = workgroup_memory(db, function) else { return Vec::new() };
    let left_out = found.left_out.iter();
    let mut gaps: Vec<Gap> = left_out
        .map(|&(inst, why)| Gap { inst, reason: NotJudged::WorkgroupAccess(why) })
        .collect();
    let first = function.flow(db).entry().and_then(|entry| function.body(db).first(entry));
    if let (true, Some(inst)) = (found.gave_up, first) {
        gaps.push(Gap { inst, reason: NotJudged::WorkgroupMemory });
    }
    gaps
}

/// Variables of workgroup memory.
///
/// *Reads* `shell`, [`target`]. *Changes when* one of them does. *Cost* O(variables).
#[salsa::tracked(returns(ref))]
fn workgroup_variables(db: &dyn Db, module: ModuleInput) -> FxHashMap<GlobalName, Variable> {
    let (architecture, context) = (target(db, module).architecture(), module.context(db));
    let variables = module.shell(db).variables.iter();
    let shared = variables.filter(|variable| {
        AddressSpace::of(architecture, variable.address_space).kind() == SpaceKind::Workgroup
    });
    let known = |variable: &GlobalVariable| {
        let is_undefined = variable.initializer.is_some_and(|initial| {
            matches!(context.const_data(initial).kind, ConstKind::Undef | ConstKind::Poison)
        });
        (variable.name, Variable { ty: variable.ty, is_undefined })
    };
    shared.map(known).collect()
}
