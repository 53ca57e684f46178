//! Queries on what instructions compute.

use std::sync::Arc;

use phalanx_analysis::{
    control,
    divergence::{self as solver, Divergence, LlvmFixes, Rules, SourceSets, ValueTable},
    follow::Sources,
    lower::{self, Family},
    memory::PrivateMemory,
};
use phalanx_graph::Node;
use phalanx_ir::{
    Body, Flow as Blocks, GlobalName, InstId, Opcode, attributes::AttrList, constant::ConstKind,
    module::Linkage, verify::ModuleIndex,
};
use phalanx_target::Target;
use rustc_hash::FxHashMap;

use super::answer_slot::{Changed, Concerns, is_call};
use super::convergent::code;
use super::follow::followed_divergence;
use super::graph::{cfg, dom_tree, graph_facts};
use super::memory::private_memory;
use super::summaries::KnownCalls;
use super::surroundings::{
    Attributes, NO_CALLEES, attributes_of_callees, with_attributes, with_code, with_parts,
};
use crate::retained::{answers::KeptNames, place::Updated, tally::Tally};
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

/// Other names of entities: aliases that nobody can replace, and what each stands for in the end.
///
/// *Reads* `shell`. *Changes when* an alias does. *Cost* O(aliases).
#[salsa::tracked(returns(ref))]
pub(crate) fn aliases(db: &dyn Db, module: ModuleInput) -> FxHashMap<GlobalName, GlobalName> {
    let (context, all) = (module.context(db), &module.shell(db).aliases);
    let named = |target| match context.const_data(target).kind {
        ConstKind::Global(name) => Some(name),
        _ => None,
    };
    let kept =
        |linkage| matches!(linkage, Linkage::External | Linkage::Internal | Linkage::Private);
    let direct: FxHashMap<GlobalName, GlobalName> = (all.iter())
        .filter(|alias| kept(alias.linkage) && !alias.is_ifunc)
        .filter_map(|alias| Some((alias.name, named(alias.target)?)))
        .collect();
    let end = |mut name: GlobalName| {
        // The verifier refuses those that stand for themselves; a module need not have been
        // verified.
        for _ in 0..=direct.len() {
            match direct.get(&name) {
                Some(&next) => name = next,
                None => return Some(name),
            }
        }
        None
    };
    let is_replaced = |name: &GlobalName| all.iter().any(|a| a.name == *name);
    let ends = direct.keys().filter_map(|&name| Some((name, end(name)?)));
    ends.filter(|(_, end)| !is_replaced(end)).collect()
}

/// Functions of a module by name, those of [`aliases`] included.
///
/// *Reads* `functions`, [`aliases`]. *Changes when* a function or an alias of one is added or
/// removed. *Cost* O(functions).
#[salsa::tracked(returns(ref))]
pub fn symbols(db: &dyn Db, module: ModuleInput) -> FxHashMap<GlobalName, FunctionInput> {
    let entries = module.functions(db).iter().map(|entry| (entry.name, entry.input));
    let mut symbols: FxHashMap<GlobalName, FunctionInput> = entries.collect();
    for (&name, end) in aliases(db, module) {
        if let Some(&function) = symbols.get(end) {
            symbols.insert(name, function);
        }
    }
    symbols
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
    let names = called(db, function);
    let symbols = symbols(db, function.module(db));
    let attributes = |name: &GlobalName| Some((*name, symbols.get(name)?.header(db).attributes));
    names.iter().filter_map(attributes).collect()
}

/// What a function calls by name, sorted. Not a query.
fn called(db: &dyn Db, function: FunctionInput) -> Arc<[GlobalName]> {
    let code = code(db, function);
    let name = |inst: InstId| {
        let callee = code.body.inst(inst).opcode.is_call().then(|| code.body.const_callee(inst))?;
        match code.context.const_data(callee?).kind {
            ConstKind::Global(name) => Some(name),
            _ => None,
        }
    };
    let make = || KeptNames::new(Tally::new(code, name));
    if !function.is_large(db) {
        return make().names;
    }
    let follow = |kept: &mut KeptNames, Changed { own, .. }: Changed<'_>| {
        if own.is_empty() {
            return Updated::Same;
        }
        if kept.tally.look_again(code, own, name) {
            let tally = std::mem::take(&mut kept.tally);
            *kept = KeptNames::new(tally);
        }
        Updated::CHANGED
    };
    let slot = &function.slots(db).large().callees;
    let names = |kept: &KeptNames| Arc::clone(&kept.names);
    // Nothing else is read.
    slot.follow((db, function), 0, Concerns::Itself(is_call), follow, make, names)
}

/// Attributes of the functions of a module, by name.
///
/// *Reads* [`symbols`], headers. *Changes when* a function is added or removed, or changes its
/// attributes. *Cost* O(functions).
#[salsa::tracked(returns(ref))]
pub(crate) fn function_attributes(
    db: &dyn Db,
    module: ModuleInput,
) -> FxHashMap<GlobalName, AttrList> {
    let functions = symbols(db, module).iter();
    functions.map(|(&name, function)| (name, function.header(db).attributes)).collect()
}

/// The affect map, and what each definition contributes by itself.
///
/// *Reads* `header`, `flow`, `body`, the graph facts, `module_facts`, `launch` or [`launch_facts`], summaries of the callees,
/// [`argument_facts`]; of a small function with stack slots [`private_memory`]. *Changes when* an instruction does. *Cost* near-linear.
///
/// [`argument_facts`]: super::argument_facts
/// [`launch_facts`]: super::launch_facts
#[salsa::tracked(returns(ref))]
pub fn affect_map(db: &dyn Db, function: FunctionInput) -> Option<ValueTable> {
    let flow = flow_facts(db, function)?;
    if function.is_large(db) || !has_slots(function.flow(db), function.body(db)) {
        let parts = (function.flow(db), function.body(db));
        return Some(new_affect_map(
            db,
            (function, parts),
            &KnownCalls::of_any(db, function),
            flow,
        ));
    }
    // Not looked through again, where others ask for it as well.
    let slots = private_memory(db, function).as_ref()?;
    with_code(db, function, NO_CALLEES, |code, around| {
        let memory = slots.followed_through_calls(code, around, flow.cfg, flow.dom);
        lower::full_with(code, around, &memory, 0)
    })
}

/// Whether there may be stack slots that are private memory.
fn has_slots(flow: &Blocks, body: &Body) -> bool {
    let mut insts = flow.entry().into_iter().flat_map(|entry| body.block_insts(entry));
    insts.any(|inst| body.inst(inst).opcode == Opcode::Alloca)
}

/// As [`affect_map`], made anew of a function that has a body. Not a query.
pub(super) fn new_affect_map(
    db: &dyn Db,
    code: (FunctionInput, (&Blocks, &Body)),
    calls: &KnownCalls<'_>,
    flow: solver::Flow<'_>,
) -> ValueTable {
    with_parts(db, code, (Attributes::Of(NO_CALLEES), calls), |code, around| {
        let memory = PrivateMemory::through_calls(code, around, flow.cfg, flow.dom);
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
/// *Reads* [`affect_map`] and the graph facts; of a large function, which is followed, `flow`, `body` and [`footing`](super::footing), or what a small one's reads the first time.
/// *Changes when* a source reaches something new. *Cost* near-linear; see [`phalanx_analysis::divergence`].
#[salsa::tracked(returns(ref))]
pub fn divergence(db: &dyn Db, function: FunctionInput) -> Option<Arc<Divergence>> {
    match function.is_large(db) {
        true => followed_divergence(db, function, Sources::Full),
        false => {
            solve(db, function, affect_map(db, function).as_ref()?, Rules::Precise).map(Arc::new)
        }
    }
}

/// As [`divergence()`], from LLVM 22's sources.
///
/// *Reads* [`llvm_affect_map`], of a large function what that is made from, and the graph facts. *Cost* as [`divergence()`].
#[salsa::tracked(returns(ref))]
pub fn uniformity(db: &dyn Db, function: FunctionInput) -> Option<Arc<Divergence>> {
    match function.is_large(db) {
        true => followed_divergence(db, function, Sources::Llvm),
        false => {
            let values = llvm_affect_map(db, function).as_ref()?;
            solve(db, function, values, Rules::Precise).map(Arc::new)
        }
    }
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
    let (cfg, dom) = (cfg(db, function)?, dom_tree(db, function)?);
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
    Some(graph_facts(db, function).as_ref()?.flow())
}

/// Sources of the direction of each block's terminator, by block number.
///
/// *Reads* [`divergence()`]. *Changes when* a branch's sources do. *Cost* O(1): the tables are shared.
#[salsa::tracked(returns(ref))]
pub fn branch_divergence(db: &dyn Db, function: FunctionInput) -> Option<SourceSets> {
    Some(divergence(db, function).as_ref()?.terminators().clone())
}

/// Sources that the execution of each block depends on, by block number.
///
/// *Reads* [`branch_divergence`], `postdom_tree`. *Changes when* a branch's sources or the graph
/// do. *Cost* near-linear per source.
#[salsa::tracked(returns(ref))]
pub fn control_divergence(db: &dyn Db, function: FunctionInput) -> Option<SourceSets> {
    let graph = graph_facts(db, function).as_ref()?;
    let terminators = branch_divergence(db, function).as_ref()?;
    Some(control::control_divergence(graph.cfg(), graph.postdom_tree(), terminators))
}

/// How many branches of a function are divergent for some source.
///
/// A return of something divergent is no branch, nor is what leads to one block only.
///
/// *Reads* [`branch_divergence`], [`cfg()`]. *Changes when* a branch becomes divergent or uniform. *Cost* O(blocks), and the successors
/// of those whose terminators read something divergent.
#[salsa::tracked(returns(copy))]
pub fn divergent_branches(db: &dyn Db, function: FunctionInput) -> usize {
    let known = (cfg(db, function), branch_divergence(db, function).as_ref());
    let (Some(cfg), Some(branches)) = known else { return 0 };
    let of_blocks = branches.iter().enumerate();
    of_blocks.filter(|(at, of)| !of.is_empty() && cfg.is_branch(Node::new(*at))).count()
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
