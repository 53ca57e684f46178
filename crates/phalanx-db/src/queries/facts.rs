//! Queries on what instructions compute.

use std::sync::Arc;

use phalanx_analysis::{
    divergence::{self as solver, Divergence, LlvmFixes, Rules, SourceSets, ValueTable},
    follow::Sources,
    launch,
    lower::{self, Code, Family, Surroundings},
    memory::{PrivateMemory, TypeLayout},
    summary::CallFacts,
};
use phalanx_ir::{
    Context, FunctionHeader, GlobalName, ValueKind, attributes::AttrList, constant::ConstKind,
    verify::ModuleIndex,
};
use phalanx_target::{
    LaunchFacts, Target,
    calling_convention::{self, Entry},
};
use rustc_hash::FxHashMap;

use super::answer_slot::is_call;
use super::calls::{call_graph, is_local};
use super::control_slot::controlled;
use super::follow::repaired;
use super::graph::{cfg, cycles, dom_tree, postdom_tree, sync_dependence};
use super::memory::type_layout;
use super::summaries::KnownCalls;
use crate::{FunctionInput, ModuleInput};

use salsa::Database as Db;

/// The target of a module: the driver's triple and processor, or else the module's own.
///
/// *Reads* `shell`, `overrides`. *Changes when* the triple or the processor do. *Cost* O(1).
#[salsa::tracked(returns(ref))]
pub fn target(db: &dyn Db, module: ModuleInput) -> Target {
    let overrides = module.overrides(db);
    let own = module.shell(db).triple.map(|triple| module.context(db).text(triple).into_owned());
    let triple = overrides.triple.clone().or(own).unwrap_or_default();
    Target::new(&triple, overrides.cpu.as_deref().unwrap_or_default())
}

/// Functions of a module by name.
///
/// *Reads* `functions`. *Changes when* a function is added or removed. *Cost* O(functions).
#[salsa::tracked(returns(ref))]
pub fn symbols(db: &dyn Db, module: ModuleInput) -> FxHashMap<GlobalName, FunctionInput> {
    module.functions(db).iter().map(|entry| (entry.name, entry.input)).collect()
}

/// Where the entities of a module are, by name: what the rules of instructions look at.
///
/// *Reads* `shell`, `functions`. *Changes when* an entity is added or removed. *Cost* O(entities).
#[salsa::tracked(returns(ref))]
pub fn module_index(db: &dyn Db, module: ModuleInput) -> ModuleIndex {
    let functions = module.functions(db).iter().map(|entry| entry.name);
    ModuleIndex::with_functions(module.shell(db), functions)
}

/// Functions that a function calls by name, sorted, with their attributes.
///
/// *Reads* `header`, `flow`, `body`, [`symbols`], headers of the callees. *Changes when* a callee appears, goes, or changes its
/// attributes. *Cost* O(instructions); of a large function after an edit that of the edit, and O(callees).
#[salsa::tracked(returns(ref))]
pub fn callees(db: &dyn Db, function: FunctionInput) -> Vec<(GlobalName, AttrList)> {
    let names: Arc<[GlobalName]> = match function.is_large(db) {
        true => {
            let slot = &function.slots(db).callees;
            // Other blocks are another answer in any case, and nothing else is read.
            slot.answer(db, function, 0, is_call, || called(db, function))
        }
        false => called(db, function),
    };
    let symbols = symbols(db, function.module(db));
    let attributes = |name: &GlobalName| Some((*name, symbols.get(name)?.header(db).attributes));
    names.iter().filter_map(attributes).collect()
}

/// What a function calls by name, sorted. Not a query.
fn called(db: &dyn Db, function: FunctionInput) -> Arc<[GlobalName]> {
    let body = function.body(db);
    let context = function.module(db).context(db);
    let mut names: Vec<GlobalName> = Vec::new();
    for inst in body.all_ids().filter(|&inst| body.inst(inst).opcode.is_call()) {
        if body.block_of(inst).is_none() {
            continue;
        }
        if let ValueKind::Const(callee) = body.callee(inst).kind()
            && let ConstKind::Global(name) = context.const_data(callee).kind
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    names.dedup();
    names.into()
}

/// Attributes of the functions of a module, by name.
///
/// *Reads* `functions`, headers. *Changes when* a function is added or removed, or changes its attributes. *Cost* O(functions).
#[salsa::tracked(returns(ref))]
pub fn function_attributes(db: &dyn Db, module: ModuleInput) -> FxHashMap<GlobalName, AttrList> {
    let entries = module.functions(db).iter();
    entries.map(|entry| (entry.name, entry.input.header(db).attributes)).collect()
}

/// Attributes of functions, by name.
#[derive(Clone, Copy)]
pub(super) enum Attributes<'a> {
    /// Of these, sorted.
    Of(&'a [(GlobalName, AttrList)]),
    /// Of these or of those, both sorted.
    Either(&'a [(GlobalName, AttrList)], &'a [(GlobalName, AttrList)]),
    /// Of all of the module.
    All(&'a FxHashMap<GlobalName, AttrList>),
}

impl Attributes<'_> {
    fn of(self, name: GlobalName) -> Option<AttrList> {
        let find = |list: &[(GlobalName, AttrList)]| {
            let found = list.binary_search_by_key(&name, |&(name, _)| name).ok()?;
            Some(list[found].1)
        };
        match self {
            Attributes::Of(list) => find(list),
            Attributes::Either(these, those) => find(these).or_else(|| find(those)),
            Attributes::All(map) => map.get(&name).copied(),
        }
    }
}

/// Attributes of the functions that a function calls. Who they are cannot be told from an edit, and to look through a large function for
/// them would cost more than the repair of what is asked: there they are those of the module. Not a query.
///
/// *Reads* [`callees`] or [`function_attributes`].
pub(super) fn attributes_of_callees(db: &dyn Db, function: FunctionInput) -> Attributes<'_> {
    match function.is_large(db) {
        true => Attributes::All(function_attributes(db, function.module(db))),
        false => Attributes::Of(callees(db, function)),
    }
}

/// What is known of the launches of a function: what the module says, what the driver states ([`Database::set_launch`]), and for a function
/// that is no kernel and cannot be named from outside of the module what is known of all kernels that it is called from.
///
/// *Reads* `header`, `launch`, `shell`, [`target`]; [`reaching_launches`] if it can matter. *Changes when* a stated size or the wave width do.
/// *Cost* O(attributes).
///
/// [`Database::set_launch`]: crate::Database::set_launch
#[salsa::tracked(returns(ref))]
pub fn launch_facts(db: &dyn Db, function: FunctionInput) -> LaunchFacts {
    let own = own_launch_facts(db, function);
    if !is_local(db, function) || is_kernel(db, function) {
        return own;
    }
    match reaching_launches(db, function.module(db)).get(&function) {
        Some(reaching) => own.meet(reaching),
        None => own,
    }
}

/// What is known of a function by itself. Not a query.
fn own_launch_facts(db: &dyn Db, function: FunctionInput) -> LaunchFacts {
    function.launch(db).over(stated_launch_facts(db, function))
}

/// What is known of the launches in which functions are executed that are called from known places only: what holds of all of their callers. Those
/// of which nothing is known are left out.
///
/// *Reads* [`call_graph`], and `launch`, `header`, `shell` for functions with a body. *Changes when* a call appears or goes, or the launch of a
/// kernel that calls something. *Cost* O(functions + calls).
#[salsa::tracked(returns(ref))]
pub fn reaching_launches(
    db: &dyn Db,
    module: ModuleInput,
) -> FxHashMap<FunctionInput, LaunchFacts> {
    let mut reaching: FxHashMap<FunctionInput, LaunchFacts> = FxHashMap::default();
    let nothing = LaunchFacts::default();
    for component in call_graph(db, module).top_down() {
        let mut joined: Option<LaunchFacts> = None;
        let mut add = |facts: LaunchFacts| {
            joined = Some(match joined.take() {
                Some(known) => known.join(&facts),
                None => facts,
            });
        };
        let is_in = |caller: &FunctionInput| component.iter().any(|(member, ..)| member == caller);
        for (_, callers, is_closed) in &component {
            if !is_closed {
                add(nothing.clone());
            }
            for caller in callers.iter().filter(|caller| !is_in(caller)) {
                let own = own_launch_facts(db, *caller);
                add(reaching.get(caller).map_or_else(|| own.clone(), |above| own.meet(above)));
            }
        }
        let Some(joined) = joined.filter(|joined| *joined != nothing) else { continue };
        for (member, _, is_closed) in component.into_iter().filter(|(.., is_closed)| *is_closed) {
            debug_assert!(is_closed);
            reaching.insert(member, joined.clone());
        }
    }
    reaching
}

/// What the module alone says. Not a query.
pub fn stated_launch_facts(db: &dyn Db, function: FunctionInput) -> LaunchFacts {
    let module = function.module(db);
    let metadata = &module.shell(db).metadata;
    launch::launch_facts(module.context(db), function.header(db), metadata, target(db, module))
}

/// Whether threads start in a function.
///
/// *Reads* `header`, [`target`]. *Cost* O(1).
pub fn is_kernel(db: &dyn Db, function: FunctionInput) -> bool {
    let architecture = target(db, function.module(db)).architecture();
    calling_convention::entry(function.header(db).call_conv, architecture) != Entry::Call
}

/// Our own rules look at no attributes of callees.
pub(super) const NO_CALLEES: &[(GlobalName, AttrList)] = &[];

/// Gives the code of a function and what is around it. `callees` are the attributes of functions that it calls, of those that
/// matter, sorted.
pub(super) fn with_code<R>(
    db: &dyn Db,
    function: FunctionInput,
    callees: &[(GlobalName, AttrList)],
    run: impl FnOnce(Code<'_>, Surroundings<'_>) -> R,
) -> Option<R> {
    with_code_and(db, function, callees, &KnownCalls::new(db, function), run)
}

/// As [`with_code`], with what is known of calls.
pub(super) fn with_code_and<R>(
    db: &dyn Db,
    function: FunctionInput,
    callees: &[(GlobalName, AttrList)],
    calls: &dyn CallFacts,
    run: impl FnOnce(Code<'_>, Surroundings<'_>) -> R,
) -> Option<R> {
    with_surroundings(db, function, Attributes::Of(callees), calls, run)
}

/// As [`with_code`], with attributes that may be those of the module.
pub(super) fn with_attributes<R>(
    db: &dyn Db,
    function: FunctionInput,
    callees: Attributes<'_>,
    run: impl FnOnce(Code<'_>, Surroundings<'_>) -> R,
) -> Option<R> {
    with_surroundings(db, function, callees, &KnownCalls::new(db, function), run)
}

fn with_surroundings<R>(
    db: &dyn Db,
    function: FunctionInput,
    callees: Attributes<'_>,
    calls: &dyn CallFacts,
    run: impl FnOnce(Code<'_>, Surroundings<'_>) -> R,
) -> Option<R> {
    cfg(db, function).as_ref()?;
    let module = function.module(db);
    let (context, header) = (module.context(db), function.header(db));
    let around = Known {
        context,
        header,
        target: target(db, module),
        layout: type_layout(db, module),
        launch: launch_facts(db, function),
        moment: Moment::new(db, function),
    };
    Some(around.with(db, function, (callees, calls), run))
}

/// What the processor says of when instructions are executed, and where private memory is.
#[derive(Clone, Copy, Debug)]
struct Moment {
    lockstep: bool,
    scratch_is_global: bool,
}

impl Moment {
    fn new(db: &dyn Db, function: FunctionInput) -> Moment {
        let module = function.module(db);
        let (context, target) = (module.context(db), target(db, module));
        let attributes = function.header(db).attributes;
        let processor = context.function_attr_text(attributes, "target-cpu").unwrap_or_default();
        let processor = std::str::from_utf8(processor).unwrap_or_default();
        Moment {
            lockstep: target.is_lockstep(processor),
            scratch_is_global: target.scratch_is_global(processor),
        }
    }
}

/// What is around a function, calls aside.
#[derive(Clone, Copy)]
struct Known<'a> {
    context: &'a Context,
    header: &'a FunctionHeader,
    target: &'a Target,
    layout: &'a TypeLayout,
    launch: &'a LaunchFacts,
    moment: Moment,
}

impl Known<'_> {
    fn with<R>(
        self,
        db: &dyn Db,
        function: FunctionInput,
        (callees, calls): (Attributes<'_>, &dyn CallFacts),
        run: impl FnOnce(Code<'_>, Surroundings<'_>) -> R,
    ) -> R {
        let Known { context, header, target, layout, launch, moment } = self;
        let code = Code { context, header, flow: function.flow(db), body: function.body(db) };
        let callee = |name: GlobalName| callees.of(name);
        // Read on demand, so that a function that names no register does not depend on the module's metadata.
        let node_string = |node| {
            let metadata = &function.module(db).shell(db).metadata;
            metadata.element(node, 0).filter(|_| metadata.values(node).len() == 1)?.as_string()
        };
        let Moment { lockstep, scratch_is_global } = moment;
        let (callee, node_string) = (&callee, &node_string);
        run(
            code,
            Surroundings {
                target,
                layout,
                launch,
                lockstep,
                scratch_is_global,
                callee,
                calls,
                node_string,
            },
        )
    }
}

/// Copies of what is around a function, so that one read does for all of it.
#[derive(Debug)]
pub(super) struct OwnSurroundings {
    context: Arc<Context>,
    header: FunctionHeader,
    target: Target,
    layout: Arc<TypeLayout>,
    launch: LaunchFacts,
    moment: Moment,
}

impl OwnSurroundings {
    /// *Reads* `header`, [`target`], [`type_layout`], [`launch_facts`].
    pub(super) fn new(db: &dyn Db, function: FunctionInput) -> Self {
        let module = function.module(db);
        OwnSurroundings {
            context: Arc::clone(module.context(db)),
            header: function.header(db).clone(),
            target: target(db, module).clone(),
            layout: Arc::clone(type_layout(db, module)),
            launch: launch_facts(db, function).clone(),
            moment: Moment::new(db, function),
        }
    }

    /// As [`with_attributes`], of the function whose surroundings these are.
    ///
    /// *Reads* `flow`, `body`.
    pub(super) fn with<R>(
        &self,
        db: &dyn Db,
        function: FunctionInput,
        around: (Attributes<'_>, &dyn CallFacts),
        run: impl FnOnce(Code<'_>, Surroundings<'_>) -> R,
    ) -> R {
        let OwnSurroundings { context, header, target, layout, launch, moment } = self;
        Known { context, header, target, layout, launch, moment: *moment }
            .with(db, function, around, run)
    }
}

/// The affect map, and what each definition contributes by itself.
///
/// *Reads* `header`, [`target`], [`launch_facts`], [`type_layout`], summaries of the callees, [`argument_facts`]. *Changes when* one of
/// them does. *Cost* O(1).
#[salsa::tracked(returns(ref))]
pub fn affect_map(db: &dyn Db, function: FunctionInput) -> Option<ValueTable> {
    new_affect_map(db, function)
}

/// As [`affect_map`], made anew. Not a query.
pub(super) fn new_affect_map(db: &dyn Db, function: FunctionInput) -> Option<ValueTable> {
    let (cfg, dom) = (cfg(db, function).as_ref()?, dom_tree(db, function).as_ref()?);
    with_code(db, function, NO_CALLEES, |code, around| {
        let memory = PrivateMemory::through_calls(code, around, cfg, dom);
        lower::full_with(code, around, &memory, 0)
    })
}

/// As [`affect_map`], with LLVM 22's sources and always-uniform values.
///
/// *Reads*, *changes*, *costs* as [`affect_map`]; reads [`callees`] as well, or [`function_attributes`].
#[salsa::tracked(returns(ref))]
pub fn llvm_affect_map(db: &dyn Db, function: FunctionInput) -> Option<ValueTable> {
    new_llvm_affect_map(db, function)
}

/// As [`llvm_affect_map`], made anew. Not a query.
pub(super) fn new_llvm_affect_map(db: &dyn Db, function: FunctionInput) -> Option<ValueTable> {
    with_attributes(db, function, attributes_of_callees(db, function), lower::as_llvm)
}

/// Sources of divergence of every value, terminator, use and cycle.
///
/// *Reads* [`affect_map`] and the graph facts. *Changes when* a source reaches something new.
/// *Cost* near-linear; see [`phalanx_analysis::divergence`].
#[salsa::tracked(returns(ref))]
pub fn divergence(db: &dyn Db, function: FunctionInput) -> Option<Divergence> {
    repaired(db, function, Sources::Full)
}

/// As [`divergence()`], from LLVM 22's sources.
///
/// *Reads* [`llvm_affect_map`] and the graph facts. *Cost* as [`divergence()`].
#[salsa::tracked(returns(ref))]
pub fn uniformity(db: &dyn Db, function: FunctionInput) -> Option<Divergence> {
    repaired(db, function, Sources::Llvm)
}

/// LLVM 22's own answer, its unsound results included: for comparisons only. Not a query.
pub fn exact_llvm_uniformity(db: &dyn Db, function: FunctionInput) -> Option<Divergence> {
    let table = with_code(db, function, callees(db, function), lower::as_exact_llvm)?;
    solve(db, function, &table, Rules::Llvm(LlvmFixes::NONE))
}

/// [`divergence()`] without a family of rules, in this function alone: for comparisons only. Not a query.
pub fn divergence_without(
    db: &dyn Db,
    function: FunctionInput,
    family: Family,
) -> Option<Divergence> {
    let (cfg, dom) = (cfg(db, function).as_ref()?, dom_tree(db, function).as_ref()?);
    let table = with_code(db, function, NO_CALLEES, |code, around| {
        let memory = PrivateMemory::through_calls(code, around, cfg, dom);
        lower::full_without_family(code, around, &memory, family)
    })?;
    solve(db, function, &table, Rules::Precise)
}

fn solve(
    db: &dyn Db,
    function: FunctionInput,
    values: &ValueTable,
    rules: Rules,
) -> Option<Divergence> {
    Some(solver::solve(flow_facts(db, function)?, values, rules))
}

/// What the solver needs to know of the control flow.
pub(super) fn flow_facts(db: &dyn Db, function: FunctionInput) -> Option<solver::Flow<'_>> {
    let (cfg, cycles) = (cfg(db, function).as_ref()?, cycles(db, function).as_ref()?);
    let (dom, sync) = (dom_tree(db, function).as_ref()?, sync_dependence(db, function).as_ref()?);
    Some(solver::Flow { cfg, dom, cycles, sync })
}

/// Sources of the direction of each block's terminator, by block number.
///
/// *Reads* [`divergence()`]. *Changes when* a branch's sources do. *Cost* O(blocks / 1000): the tables are shared.
#[salsa::tracked(returns(ref))]
pub fn branch_divergence(db: &dyn Db, function: FunctionInput) -> Option<SourceSets> {
    Some(divergence(db, function).as_ref()?.terminators().clone())
}

/// Sources that the execution of each block depends on, by block number.
///
/// *Reads* [`branch_divergence`], `postdom_tree`. *Changes when* a branch's sources do. *Cost* near-linear per source; of a large function,
/// in the same graph, what is controlled by branches that differ.
#[salsa::tracked(returns(ref))]
pub fn control_divergence(db: &dyn Db, function: FunctionInput) -> Option<SourceSets> {
    let graph = (cfg(db, function).as_ref()?, postdom_tree(db, function).as_ref()?);
    let terminators = branch_divergence(db, function).as_ref()?;
    Some(controlled(db, function, graph, None, terminators))
}

/// How many branches of a function are divergent for some source.
///
/// *Reads* [`branch_divergence`]. *Changes when* a branch becomes divergent or uniform. *Cost* O(blocks).
#[salsa::tracked(returns(copy))]
pub fn divergent_branches(db: &dyn Db, function: FunctionInput) -> usize {
    let branches = branch_divergence(db, function).as_ref();
    branches.map_or(0, |branches| branches.iter().filter(|sources| !sources.is_empty()).count())
}

/// Functions of a module that are counted together: so many that both a group and the list of groups stay short.
const GROUP: usize = 128;

/// The sum of [`divergent_branches`] over one group of functions.
///
/// *Reads* `functions`, [`divergent_branches`]. *Changes when* one of them does. *Cost* O(1) per function of the group.
#[salsa::tracked(returns(copy))]
fn divergent_branches_of_group(db: &dyn Db, module: ModuleInput, group: usize) -> usize {
    let entries = module.functions(db);
    let group = entries.iter().skip(group * GROUP).take(GROUP);
    group.filter(|e| e.is_definition).map(|e| divergent_branches(db, e.input)).sum()
}

/// How many branches of a module are divergent for some source.
///
/// Counted by groups of functions: those in which nothing was edited are validated in one step.
///
/// *Reads* `functions`, [`divergent_branches`]. *Changes when* one of them does. *Cost* O(functions) the first time, then
/// O(functions / 128) and the groups with edited functions.
#[salsa::tracked(returns(copy))]
pub fn module_divergent_branches(db: &dyn Db, module: ModuleInput) -> usize {
    let groups = module.functions(db).len().div_ceil(GROUP);
    (0..groups).map(|group| divergent_branches_of_group(db, module, group)).sum()
}
