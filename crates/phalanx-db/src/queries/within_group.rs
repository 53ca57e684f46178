//! Variance within a workgroup, what stable loads and barriers show, and inactive lanes. Nothing
//! else reads it.

use std::sync::Arc;

use phalanx_analysis::{
    assumed_facts::{AssumedFacts, StableLoad},
    loads::{Load, may_write},
    lower::{Code, Environment},
    readers,
    spaces::{MemoryKinds, SpaceSet},
    stable::{self, Assumptions, RaceFree, ordered},
    true_uniformity::{self, Known},
    variance::{self as analysis, Variance},
};
use phalanx_core::{
    barriers::{self, BarrierModel},
    control,
    divergence::{Divergence, Rules, SourceSets, ValueTable, solve},
};
use phalanx_graph::{Cfg, Node};
use phalanx_ir::{InstId, Opcode, Value};
use phalanx_target::{Scope, SourceSet, varying};

use super::answer_state::accesses_version;
use super::called::{NO_CALLEES, attributes_of_callees, callees};
use super::depends_on::{Changed, DependsOn};
use super::divergence_update::divergence_assuming;
use super::divergences::{control_divergence, divergence};
use super::explain::has_value;
use super::facts::affect_map;
use super::graph::{cfg, cycles, flow_facts, graph_facts, postdom_tree};
use super::launches::{is_only_launched, launch_facts};
use super::loads::waits_for_grids;
use super::memory::with_aliases;
use super::own_environment::{with_attributes, with_code};
use super::writes::written_by;
use super::{call_place, code, load_classes, memory_kinds, starts_at_launch};
use crate::FunctionInput;
use crate::retained::{answers::KeptRaces, place::Updated};

use salsa::Database as Db;

/// Along which dimensions values, terminators and blocks differ within a workgroup. None for a
/// declaration. Not a query.
///
/// *Reads* [`divergence()`], [`control_divergence`], [`launch_facts`].
pub fn variance(db: &dyn Db, function: FunctionInput) -> Option<Variance<'_>> {
    Some(Variance {
        divergence: divergence(db, function).as_ref()?,
        control: control_divergence(db, function).as_ref()?,
        launch: launch_facts(db, function),
    })
}

/// Along which dimensions threads differ in what an instruction that is no terminator does. Not a
/// query.
///
/// *Reads* `header`, `flow`, `body` and what [`variance`] reads. *Cost* O(operands).
pub fn statement_variance(db: &dyn Db, function: FunctionInput, statement: InstId) -> SourceSet {
    let of = |variance: Variance<'_>| {
        with_code(db, function, NO_CALLEES, |code, env| variance.statement(code, env, statement))
    };
    variance(db, function).and_then(of).unwrap_or_default()
}

/// Blocks with an aligned barrier of all threads of the workgroup, in order of the function. None
/// for a declaration.
///
/// *Reads* `header`, `flow`, `body`; of a large function what changed. *Changes when* a block comes
/// to have one, or loses its only one. *Cost* O(instructions).
#[salsa::tracked(returns(ref))]
pub fn barrier_blocks(db: &dyn Db, function: FunctionInput) -> Option<Arc<[Node]>> {
    let code = code(db, function);
    code.flow.entry()?;
    let make = || Arc::from(analysis::barrier_blocks(code));
    if !function.is_large(db) {
        return Some(make());
    }
    let slot = &function.retained(db).large().barriers;
    Some(slot.answer(db, function, 0, DependsOn::Instruction(analysis::is_whole_barrier), make))
}

/// Blocks whose terminators are uniform in each workgroup if barriers are used rightly.
///
/// *Reads* [`barrier_blocks`], `cfg`, `postdom_tree`, `cycles`. *Changes when* a barrier or the
/// graph does. *Cost* see [`barriers`].
#[salsa::tracked(returns(ref))]
pub fn invariant_branches(
    db: &dyn Db,
    function: FunctionInput,
    model: BarrierModel,
) -> Option<Arc<[Node]>> {
    let blocks = barrier_blocks(db, function).as_deref()?;
    let cycles = cycles(db, function)?;
    let (cfg, postdom) = (cfg(db, function)?, postdom_tree(db, function)?);
    Some(barriers::invariant_branches(cfg, postdom, cycles, blocks, model).into())
}

/// Loads that are stable in more than a wave, in order of their numbers, and what is left of
/// [`SourceSet::OPAQUE_WAVE`]; see [`stable`].
///
/// *Reads* [`load_classes`], [`starts_at_launch`], [`race_free_loads`]; where barriers are judged,
/// [`ordered_loads`], and for where addresses lead [`memory_kinds`], [`divergence()`], `header`,
/// `flow`, `body`. *Changes when* one of them does. *Cost* O(loads); where barriers are judged,
/// O(instructions).
#[salsa::tracked(returns(ref))]
pub fn stable_loads(
    db: &dyn Db,
    function: FunctionInput,
    assumptions: Assumptions,
) -> Arc<[StableLoad]> {
    let race_free = match assumptions.race_free && starts_at_launch(db, function) {
        true => race_free_loads(db, function, assumptions.barriers.is_some()),
        false if assumptions == JUDGED => ordered_loads(db, function),
        false => &Arc::default(),
    };
    let loads = with_classes(db, function, race_free);
    let facts = || Some((memory_kinds(db, function).as_ref()?, divergence(db, function).as_ref()?));
    match (assumptions == JUDGED).then(facts).flatten() {
        Some((kinds, answer)) => stable::with_shared(code(db, function), kinds, answer, &loads),
        None => loads,
    }
    .into()
}

/// The assumptions of the check of barriers.
pub(super) const JUDGED: Assumptions =
    Assumptions { barriers: Some(BarrierModel::Judged), race_free: false };

/// Loads of a kernel, or of a function that is all of one, that barriers keep apart from every
/// write of what they read; see [`ordered`].
///
/// *Reads* `header`, `flow`, `body`, `marks`, `cfg`, [`memory_kinds`], `private_memory`,
/// `written_spaces` and `summary` of the callees; [`call_place`] of what is no kernel, and the code
/// of the callers. *Changes when* one of these loads does. *Cost* see [`ordered`].
#[salsa::tracked(returns(ref))]
fn ordered_loads(db: &dyn Db, function: FunctionInput) -> Arc<[StableLoad]> {
    let find = || {
        let (cfg, kinds) = (cfg(db, function)?, memory_kinds(db, function).as_ref()?);
        let written_by = |name, ty| written_by(db, function, name, ty);
        let is_partial_fence = |fence: InstId| function.marks(db).at(fence).is_partial;
        with_code(db, function, callees(db, function), |code, env| {
            with_aliases(db, function, |aliases| {
                let facts = ordered::Facts {
                    code,
                    env,
                    cfg,
                    kinds,
                    written_by: &written_by,
                    is_partial_fence: &is_partial_fence,
                };
                ordered::ordered_loads(facts, aliases)
            })
        })?
    };
    // Writes of an earlier grid are in no order with barriers of this one.
    let is_alone = !waits_for_grids(db, function.module(db));
    let is_all = is_only_launched(db, function) || is_all_of_kernels(db, function);
    (is_all && is_alone).then(find).flatten().map_or_else(Arc::default, Arc::from)
}

/// Whether a function is all that each of its callers does, which are kernels: clang makes a
/// function of an OpenCL kernel, and a kernel that calls it.
fn is_all_of_kernels(db: &dyn Db, function: FunctionInput) -> bool {
    let place = call_place(db, function);
    let does_nothing_else = |caller: &FunctionInput| {
        let code = code(db, *caller);
        let mut blocks = code.flow.order().iter();
        let only = blocks.next().filter(|_| blocks.next().is_none());
        let Some(kinds) = memory_kinds(db, *caller) else { return false };
        let is_own = |inst: InstId| {
            code.body.inst(inst).opcode == Opcode::Store
                && kinds.at(code.body, inst, 1).memories() == SpaceSet::PRIVATE
        };
        let acts = |inst: &InstId| may_write(code, *inst) && !is_own(*inst);
        is_only_launched(db, *caller)
            && only.is_some_and(|&block| code.body.block_insts(block).filter(acts).count() == 1)
    };
    place.is_closed && !place.callers.is_empty() && place.callers.iter().all(does_nothing_else)
}

/// As [`stable_loads`], without one of the rules: for negative controls. Not a query.
pub fn stable_loads_without(
    db: &dyn Db,
    function: FunctionInput,
    assumptions: Assumptions,
    omitted: Option<stable::Omitted>,
) -> Vec<StableLoad> {
    let is_known = starts_at_launch(db, function) || omitted == Some(stable::Omitted::Entry);
    let find = || {
        with_race_facts(db, function, |code, env, (cfg, kinds)| {
            RaceFree::new(code, env, (cfg, kinds), assumptions, omitted)
        })
    };
    let race_free = is_known.then(find).flatten();
    with_classes(db, function, race_free.as_ref().map_or(&[], |found| found.loads()))
}

/// These loads and those that are of a class.
fn with_classes(db: &dyn Db, function: FunctionInput, race_free: &[StableLoad]) -> Vec<StableLoad> {
    let Some(classes) = load_classes(db, function) else { return Vec::new() };
    let is_stable = |load: &&Load| load.classes().next().is_some();
    let of_class = classes.loads().iter().filter(is_stable);
    let mut all: Vec<StableLoad> = of_class.map(|load| (load.inst, SourceSet::EMPTY)).collect();
    all.extend_from_slice(race_free);
    // Of a load in both lists the first entry stays: what has a class is one value for all.
    let number = |(load, _): &StableLoad| load.into_raw().into_u32();
    all.sort_by_key(number);
    all.dedup_by_key(|load| number(load));
    all
}

/// Loads that are stable without races, where nothing was seen before the function is entered; with
/// barriers that are used rightly, or without.
///
/// *Reads* `header`, `flow`, `body`, `cfg`, [`memory_kinds`], [`attributes_of_callees`]; of a large
/// function also [`accesses_version`], and then what changed and what reads an address that leads
/// elsewhere. *Changes when* a load, an acquire or a call does. *Cost* O(instructions + edges).
#[salsa::tracked(returns(ref))]
fn race_free_loads(db: &dyn Db, function: FunctionInput, has_barriers: bool) -> Arc<[StableLoad]> {
    if function.is_large(db) {
        return updated_race_free(db, function, has_barriers);
    }
    let found = with_race_facts(db, function, |code, env, (cfg, kinds)| {
        RaceFree::new(code, env, (cfg, kinds), race_free(has_barriers), None)
    });
    found.map_or_else(Arc::default, |found| Arc::clone(found.loads()))
}

/// That there are no races; with barriers that are used rightly, or without. Which model of
/// barriers it is makes no difference to loads.
fn race_free(has_barriers: bool) -> Assumptions {
    Assumptions { barriers: has_barriers.then_some(BarrierModel::Lenient), race_free: true }
}

/// [`race_free_loads`] of a large function, from retained state. Not a query.
fn updated_race_free(
    db: &dyn Db,
    function: FunctionInput,
    has_barriers: bool,
) -> Arc<[StableLoad]> {
    let assumptions = race_free(has_barriers);
    let make = || {
        with_race_facts(db, function, |code, env, (cfg, kinds)| {
            let found = RaceFree::new(code, env, (cfg, kinds), assumptions, None);
            KeptRaces { found, kinds: Arc::clone(kinds) }
        })
    };
    let update = |known: &mut Option<KeptRaces>, changed: Changed<'_>| {
        let Some(known) = known else { return Updated::Scratch };
        let found = with_race_facts(db, function, |code, env, (cfg, kinds)| {
            let mut again = readers::of_kinds(code, kinds, &known.kinds)?;
            again.retain(|&inst| stable::depends_on(code, inst));
            again.extend_from_slice(changed.affected);
            known.kinds = Arc::clone(kinds);
            let changed = (&again[..], changed.blocks);
            known.found.update(code, env, (cfg, kinds), changed)
        });
        match found.flatten() {
            Some(false) => Updated::Same,
            Some(true) => Updated::CHANGED,
            None => Updated::Scratch,
        }
    };
    let env = accesses_version(db, function);
    let slot = &function.retained(db).large().race_free[usize::from(has_barriers)];
    let read = |known: &Option<KeptRaces>| {
        known.as_ref().map_or_else(Arc::default, |known| Arc::clone(known.found.loads()))
    };
    slot.update((db, function), env, DependsOn::Instruction(stable::depends_on), update, make, read)
}

/// Gives what stable loads without races are found from.
fn with_race_facts<R>(
    db: &dyn Db,
    function: FunctionInput,
    run: impl FnOnce(Code<'_>, Environment<'_>, (&Cfg, &Arc<MemoryKinds>)) -> R,
) -> Option<R> {
    let facts = (cfg(db, function)?, memory_kinds(db, function).as_ref()?);
    let callees = attributes_of_callees(db, function);
    with_attributes(db, function, callees, |code, env| run(code, env, facts))
}

/// As [`divergence()`], for questions about more than a wave: [`stable_loads`] give one value to
/// the threads that they are stable for. Where barriers are taken to be used rightly, the
/// terminators of [`invariant_branches`] go one way in each workgroup; what is assumed is said of
/// terminators only, their conditions are what they are.
///
/// *Reads* [`divergence()`], [`stable_loads`], [`invariant_branches`]; where these make a
/// difference, in a small function [`affect_map`] and the graph facts, in a large one what
/// [`divergence()`] reads. *Changes when* one of them does. *Cost* as [`divergence()`].
#[salsa::tracked(returns(ref))]
pub fn assumed_divergence(
    db: &dyn Db,
    function: FunctionInput,
    assumptions: Assumptions,
) -> Option<Arc<Divergence>> {
    let assumed_facts = assumed_facts(db, function, assumptions)?;
    let without = divergence(db, function).as_ref()?;
    if assumed_facts.is_without_effect(function.header(db), without) {
        return Some(without.clone());
    }
    if function.is_large(db) {
        return divergence_assuming(db, function, assumptions, &assumed_facts);
    }
    let values = with_assumed_facts(db, function, &assumed_facts)?;
    Some(Arc::new(solve(flow_facts(db, function)?, &values, Rules::Precise)))
}

/// The facts about a function that hold under assumptions. `None` for a declaration. Not a query.
fn assumed_facts(
    db: &dyn Db,
    function: FunctionInput,
    assumptions: Assumptions,
) -> Option<AssumedFacts> {
    let loads = Arc::clone(stable_loads(db, function, assumptions));
    let branches = match assumptions.barriers {
        Some(model) => invariant_branches(db, function, model).clone()?,
        None => Arc::default(),
    };
    Some(AssumedFacts { loads, branches })
}

/// The affect map with the facts that hold under assumptions.
fn with_assumed_facts(
    db: &dyn Db,
    function: FunctionInput,
    assumed_facts: &AssumedFacts,
) -> Option<ValueTable> {
    let mut table = affect_map(db, function).clone()?;
    assumed_facts.apply(function.header(db), &mut table);
    Some(table)
}

/// The affect map that [`assumed_divergence`] is about. Not a query.
pub(super) fn assumed_map(
    db: &dyn Db,
    function: FunctionInput,
    assumptions: Assumptions,
) -> Option<ValueTable> {
    with_assumed_facts(db, function, &assumed_facts(db, function, assumptions)?)
}

/// As [`assumed_divergence`], solved from scratch from the affect map, whatever is kept: the twin,
/// for tests. Not a query.
pub fn assumed_divergence_from_scratch(
    db: &dyn Db,
    function: FunctionInput,
    assumptions: Assumptions,
) -> Option<Divergence> {
    let table = assumed_map(db, function, assumptions)?;
    Some(solve(flow_facts(db, function)?, &table, Rules::Precise))
}

/// As [`branch_divergence`](super::branch_divergence), from [`assumed_divergence`].
///
/// *Reads* [`assumed_divergence`]. *Changes when* a branch's sources do. *Cost* O(1).
#[salsa::tracked(returns(ref))]
fn assumed_branch_divergence(
    db: &dyn Db,
    function: FunctionInput,
    assumptions: Assumptions,
) -> Option<SourceSets> {
    Some(assumed_divergence(db, function, assumptions).as_ref()?.terminators().clone())
}

/// As [`control_divergence`](super::control_divergence), from [`assumed_divergence`].
///
/// *Reads* [`assumed_branch_divergence`], `postdom_tree`. *Changes when* a branch's sources or the
/// graph do. *Cost* as [`control_divergence`](super::control_divergence).
#[salsa::tracked(returns(ref))]
pub fn assumed_control_divergence(
    db: &dyn Db,
    function: FunctionInput,
    assumptions: Assumptions,
) -> Option<SourceSets> {
    let graph = graph_facts(db, function).as_ref()?;
    let terminators = assumed_branch_divergence(db, function, assumptions).as_ref()?;
    Some(control::control_divergence(graph.cfg(), graph.postdom_tree(), terminators))
}

/// Whether a value is equal over all lanes of a wave, active or not. Not a query: it is asked of
/// single values, and is as fast after an edit as before.
///
/// *Reads* `header`, `flow`, `body`, [`divergence()`], [`control_divergence`], [`launch_facts`] and
/// the graph facts. *Cost* O(what the value is computed from).
pub fn is_truly_uniform(db: &dyn Db, function: FunctionInput, value: Value) -> bool {
    if !has_value(db, function, value) {
        return false;
    }
    let is_member = |known| {
        with_code(db, function, NO_CALLEES, |code, env| {
            true_uniformity::is_truly_uniform(code, env, known, value)
        })
    };
    what_is_known(db, function).and_then(is_member).unwrap_or(false)
}

/// What true uniformity is found from. None for a declaration. Not a query.
pub fn what_is_known(db: &dyn Db, function: FunctionInput) -> Option<Known<'_>> {
    Some(Known {
        flow: flow_facts(db, function)?,
        divergence: divergence(db, function).as_ref()?,
        control: control_divergence(db, function).as_ref()?,
        varying: varying(Scope::Wave, launch_facts(db, function)),
        is_kernel: is_only_launched(db, function),
    })
}
