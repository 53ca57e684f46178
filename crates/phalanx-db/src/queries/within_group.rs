//! Queries on variance within a workgroup, on what stable loads and barriers show, and on inactive lanes. Nothing else reads them.

use phalanx_analysis::{
    control,
    divergence::{Divergence, Rules, ValueTable, solve},
    loads::Load,
    lower::{Definition, Numbering},
    stable::{self, Assumptions},
    true_uniformity::{self, Known},
    variance::{BarrierModel, Variance, barrier_blocks, barriers},
};
use phalanx_graph::{BitSet, Node};
use phalanx_ir::{InstId, Opcode, ValueKind};
use phalanx_target::{AddressSpace, Scope, SourceSet, varying};
use rustc_hash::FxHashMap;

use super::facts::{
    NO_CALLEES, affect_map, divergence, flow_facts, is_kernel, launch_facts, target, with_code,
};
use super::graph::{cfg, cycles, postdom_tree};
use super::{callees, load_classes, memory_kinds, starts_at_launch};
use crate::FunctionInput;

use salsa::Database as Db;

/// Along which dimensions values, statements, terminators and blocks differ within a workgroup.
///
/// *Reads* [`affect_map`], [`divergence()`], [`launch_facts`] and the graph facts. *Changes when* one of these does. *Cost* near-linear.
#[salsa::tracked(returns(ref))]
pub fn variance(db: &dyn Db, function: FunctionInput) -> Option<Variance> {
    let table = affect_map(db, function).as_ref()?;
    let postdom = postdom_tree(db, function).as_deref()?;
    let answer = divergence(db, function).as_ref()?;
    let launch = launch_facts(db, function);
    Some(Variance::new(flow_facts(db, function)?, postdom, table, answer, launch))
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

/// The values that are equal over all lanes of a wave, active or not, by number.
///
/// *Reads* `header`, [`affect_map`], [`divergence()`], [`launch_facts`] and the graph facts. *Changes when* one of these does. *Cost* near-linear.
#[salsa::tracked(returns(ref))]
pub fn truly_uniform(db: &dyn Db, function: FunctionInput) -> Option<BitSet> {
    let (body, numbering) = (function.body(db), Numbering::new(function.header(db)));
    // Loads of memory that is the same for all are told apart by their address where it matters; this leaves out a little more.
    let is_read_from_private = |value| match numbering.definition(value) {
        Definition::Inst(inst) => {
            body.inst(inst).opcode == Opcode::Load && !is_constant_load(db, function, inst)
        }
        Definition::Argument(_) => false,
    };
    Some(true_uniformity::truly_uniform(Known {
        flow: flow_facts(db, function)?,
        postdom: postdom_tree(db, function).as_deref()?,
        table: affect_map(db, function).as_ref()?,
        divergence: divergence(db, function).as_ref()?,
        varying: varying(Scope::Wave, launch_facts(db, function)),
        arguments: function.header(db).params.len(),
        is_kernel: is_kernel(db, function),
        is_read_from_private: &is_read_from_private,
    }))
}

/// Whether a load reads constant memory by its type.
fn is_constant_load(db: &dyn Db, function: FunctionInput, load: InstId) -> bool {
    let module = function.module(db);
    let (context, body) = (module.context(db), function.body(db));
    let address = body.operands(load)[0];
    let ty = match address.kind() {
        ValueKind::Inst(inst) => body.inst(inst).ty,
        ValueKind::Arg(position) => function.header(db).params[position as usize],
        ValueKind::Const(constant) => context.const_data(constant).ty,
        _ => return false,
    };
    let architecture = target(db, module).architecture();
    let space = context.type_kind(ty).address_space();
    space.is_some_and(|space| AddressSpace::of(architecture, space).is_constant())
}
