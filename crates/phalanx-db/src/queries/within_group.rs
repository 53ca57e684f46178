//! Variance within a workgroup, what stable loads and barriers show, and inactive lanes. Nothing else reads it.

use phalanx_analysis::{
    control,
    divergence::{Divergence, Rules, ValueTable, solve},
    loads::Load,
    lower::Numbering,
    stable::{self, Assumptions},
    true_uniformity::{self, Known},
    variance::{BarrierModel, Variance, barrier_blocks, barriers},
};
use phalanx_graph::Node;
use phalanx_ir::{InstId, Value};
use phalanx_target::{Scope, SourceSet, varying};
use rustc_hash::FxHashMap;

use super::facts::{
    NO_CALLEES, affect_map, control_divergence, divergence, flow_facts, is_kernel, launch_facts,
    with_code,
};
use super::graph::{cfg, cycles, postdom_tree};
use super::{callees, load_classes, memory_kinds, starts_at_launch};
use crate::FunctionInput;

use salsa::Database as Db;

/// Along which dimensions values, terminators and blocks differ within a workgroup. None for a declaration. Not a query.
///
/// *Reads* [`divergence()`], [`control_divergence`], [`launch_facts`].
pub fn variance(db: &dyn Db, function: FunctionInput) -> Option<Variance<'_>> {
    Some(Variance {
        divergence: divergence(db, function).as_ref()?,
        control: control_divergence(db, function).as_deref()?,
        launch: launch_facts(db, function),
    })
}

/// Along which dimensions threads differ in what an instruction that is no terminator does. Not a query.
///
/// *Reads* `header`, `flow`, `body` and what [`variance`] reads. *Cost* O(operands).
pub fn statement_variance(db: &dyn Db, function: FunctionInput, statement: InstId) -> SourceSet {
    let of = |variance: Variance<'_>| {
        with_code(db, function, NO_CALLEES, |code, around| {
            variance.statement(code, around, statement)
        })
    };
    variance(db, function).and_then(of).unwrap_or_default()
}

/// Blocks whose terminators are uniform in each workgroup if barriers are used rightly.
///
/// *Reads* `header`, `flow`, `body`, `cfg`, `postdom_tree`, `cycles`. *Changes when* a barrier or the graph does. *Cost* see
/// [`barriers`].
#[salsa::tracked(returns(ref))]
pub fn invariant_branches(
    db: &dyn Db,
    function: FunctionInput,
    model: BarrierModel,
) -> Option<Vec<Node>> {
    let blocks = with_code(db, function, NO_CALLEES, |code, _| barrier_blocks(code))?;
    let cycles = cycles(db, function).as_deref()?;
    let (cfg, postdom) = (cfg(db, function).as_deref()?, postdom_tree(db, function).as_deref()?);
    Some(barriers::invariant_branches(cfg, postdom, cycles, &blocks, model))
}

/// Loads that are stable in more than a wave, in order of their numbers, and what is left of [`SourceSet::OPAQUE_WAVE`]; see [`stable`].
///
/// *Reads* [`load_classes`], [`starts_at_launch`], [`memory_kinds`], `header`, `flow`, `body`, `cfg`. *Changes when* an instruction does. *Cost* that of
/// [`load_classes`].
#[salsa::tracked(returns(ref))]
pub fn stable_loads(
    db: &dyn Db,
    function: FunctionInput,
    assumptions: Assumptions,
) -> Vec<(InstId, SourceSet)> {
    stable_loads_without(db, function, assumptions, None)
}

/// As [`stable_loads`], without one of the rules: for negative controls. Not a query.
pub fn stable_loads_without(
    db: &dyn Db,
    function: FunctionInput,
    assumptions: Assumptions,
    omitted: Option<stable::Omitted>,
) -> Vec<(InstId, SourceSet)> {
    let Some(classes) = load_classes(db, function) else { return Vec::new() };
    let is_stable = |load: &&Load| load.classes().next().is_some();
    let mut all: FxHashMap<InstId, SourceSet> = classes
        .loads()
        .iter()
        .filter(is_stable)
        .map(|load| (load.inst, SourceSet::EMPTY))
        .collect();
    if starts_at_launch(db, function) || omitted == Some(stable::Omitted::Entry) {
        let facts = cfg(db, function).as_deref().zip(memory_kinds(db, function).as_ref());
        let found = facts.and_then(|facts| {
            with_code(db, function, callees(db, function), |code, around| {
                stable::race_free_loads(code, around, facts, assumptions, omitted)
            })
        });
        for (load, left) in found.unwrap_or_default() {
            all.entry(load).and_modify(|known| *known &= left).or_insert(left);
        }
    }
    let mut all: Vec<(InstId, SourceSet)> = all.into_iter().collect();
    all.sort_unstable_by_key(|(load, _)| load.into_raw().into_u32());
    all
}

/// As [`divergence()`], for questions about more than a wave: [`stable_loads`] give one value to the threads that they are stable for. Where barriers
/// are taken to be used rightly, the terminators of [`invariant_branches`] go one way in each workgroup; what is assumed is said of
/// terminators only, their conditions are what they are.
///
/// *Reads* [`affect_map`], [`stable_loads`], [`invariant_branches`] and the graph facts. *Changes when* an instruction does. *Cost* as one
/// [`divergence()`] from scratch, and what it reads.
#[salsa::tracked(returns(ref))]
pub fn assumed_divergence(
    db: &dyn Db,
    function: FunctionInput,
    assumptions: Assumptions,
) -> Option<Divergence> {
    let table = assumed_map(db, function, assumptions)?;
    if Some(&table) == affect_map(db, function).as_ref() {
        return divergence(db, function).clone();
    }
    Some(solve(flow_facts(db, function)?, &table, Rules::Precise))
}

/// The affect map that [`assumed_divergence`] is about. Not a query.
pub(super) fn assumed_map(
    db: &dyn Db,
    function: FunctionInput,
    assumptions: Assumptions,
) -> Option<ValueTable> {
    let mut table = affect_map(db, function).clone()?;
    let numbering = Numbering::new(function.header(db));
    for &(load, left) in stable_loads(db, function, assumptions) {
        table.narrow_wave(numbering.inst(load), left);
    }
    if let Some(model) = assumptions.barriers {
        let branches = invariant_branches(db, function, model).as_ref()?;
        branches.iter().for_each(|&branch| table.assume_uniform_in_group(branch));
    }
    Some(table)
}

/// As [`control_divergence`](super::control_divergence), from [`assumed_divergence`].
///
/// *Reads* [`assumed_divergence`], `postdom_tree`. *Cost* near-linear per source.
#[salsa::tracked(returns(ref))]
pub fn assumed_control_divergence(
    db: &dyn Db,
    function: FunctionInput,
    assumptions: Assumptions,
) -> Option<Vec<SourceSet>> {
    let postdom = postdom_tree(db, function).as_deref()?;
    let answer = assumed_divergence(db, function, assumptions).as_ref()?;
    Some(control::control_divergence(cfg(db, function).as_deref()?, postdom, answer.terminators()))
}

/// Whether a value is equal over all lanes of a wave, active or not. Not a query: it is asked of single values, and is as fast after an edit as
/// before.
///
/// *Reads* `header`, `flow`, `body`, [`divergence()`], [`control_divergence`], [`launch_facts`] and the graph facts. *Cost* O(what the value is
/// computed from).
pub fn is_truly_uniform(db: &dyn Db, function: FunctionInput, value: Value) -> bool {
    let is_member = |known| {
        with_code(db, function, NO_CALLEES, |code, around| {
            true_uniformity::is_truly_uniform(code, around, known, value)
        })
    };
    what_is_known(db, function).and_then(is_member).unwrap_or(false)
}

/// What true uniformity is found from. None for a declaration. Not a query.
pub fn what_is_known(db: &dyn Db, function: FunctionInput) -> Option<Known<'_>> {
    Some(Known {
        flow: flow_facts(db, function)?,
        divergence: divergence(db, function).as_ref()?,
        control: control_divergence(db, function).as_deref()?,
        varying: varying(Scope::Wave, launch_facts(db, function)),
        is_kernel: is_kernel(db, function),
    })
}
