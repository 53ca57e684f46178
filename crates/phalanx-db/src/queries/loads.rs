//! Queries on loads that may take a cheaper way, and on what is written through pointers.
//!
//! What a function does with its arguments goes up the call graph, as summaries do:
//! [`parameter_uses`] reads that of the callees, to the same depth. What is done with a variable is
//! gathered over the module, and asked for only where a load of such a variable is met.

use std::sync::Arc;

use phalanx_analysis::{
    loads::{
        self, Facts, LoadClass, LoadClasses, Omitted, PassedUse, PointerFlow, Root, RootUse,
        Unchanged, VariableUse, Writers,
        clobbers::{Acquires, Clobbers},
        pointers::has_provenance,
    },
    lower::{Code, Environment},
    summary::is_exact,
};
use phalanx_ir::{
    GlobalName, InstId, Opcode, Type,
    attributes::{AttrKind, MemoryLocation},
    module::{GlobalVariable, Linkage},
};
use phalanx_target::calling_convention::{self, Entry};
use rustc_hash::{FxHashMap, FxHashSet};

use super::called::{NO_CALLEES, attributes_of_callees};
use super::calls::{DEPTH, closed_calls, named_by_shell};
use super::load_state::updated_classes;
use super::memory_fact;
use super::own_environment::{with_attributes, with_code};
use super::pointer_state;
use super::promises::constant_variables;
use super::{
    address_memory, call_place, cfg, classic_memory_ssa, cycles, divergence, memory_kinds,
    private_memory, symbols, target, variables,
};
use crate::retained::answers::Asked;
use crate::{FunctionInput, ModuleInput};

use salsa::Database as Db;

/// What pointers of a function are made from. Nothing for a declaration.
///
/// *Reads* `header`, `flow`, `body`, [`address_memory`]; kept:
/// [`Fact::version`](memory_fact::Fact::version). *Changes when* a pointer does. *Cost*
/// O(instructions + operands); large, after an edit of instructions, that of the edit: see
/// [`phalanx_analysis::loads::pointers::update`].
#[salsa::tracked(returns(ref))]
pub fn pointer_flow(db: &dyn Db, function: FunctionInput) -> Arc<PointerFlow> {
    let Some(private) = address_memory(db, function) else { return Arc::default() };
    let flow = match memory_fact::is_kept(db, function) {
        true => pointer_state::updated(db, function, private),
        false => {
            with_code(db, function, NO_CALLEES, |code, _| Arc::new(PointerFlow::new(code, private)))
        }
    };
    flow.unwrap_or_default()
}

/// The same without a rule. Not a query.
fn pointer_flow_without(db: &dyn Db, function: FunctionInput, omitted: Omitted) -> PointerFlow {
    let private = address_memory(db, function).as_ref();
    let flow = private.and_then(|private| {
        with_code(db, function, NO_CALLEES, |code, _| {
            PointerFlow::new_without(code, private, Some(omitted))
        })
    });
    flow.unwrap_or_default()
}

/// What a function does with each of its arguments that is a pointer: whether it writes there,
/// whether the pointer may be kept.
///
/// *Reads* `header`, [`pointer_flow`], [`call_place`], and this of the callees. *Changes when* an
/// argument is used otherwise. *Cost* O(arguments x uses of pointers).
#[salsa::tracked(returns(ref))]
pub fn parameter_uses(db: &dyn Db, function: FunctionInput) -> Vec<PassedUse> {
    let header = function.header(db);
    let context = function.module(db).context(db);
    let has_code = is_exact(header.linkage, function.module(db).is_whole(db))
        && function.flow(db).entry().is_some()
        && !context.function_attrs(header.attributes).has(AttrKind::Naked)
        && {
            let place = call_place(db, function);
            place.height <= DEPTH && place.component.is_empty()
        };
    let of = |position: u32| {
        let promised = promised_use(db, function, position);
        if !has_code {
            return promised;
        }
        let passed = |name, ty, position| passed_use(db, function, name, ty, position);
        let found = pointer_flow(db, function).uses(Root::Argument(position), &passed);
        PassedUse {
            writes: promised.writes && found.written.is_some(),
            escapes: promised.escapes && found.escapes.is_some(),
        }
    };
    (0..header.params.len() as u32).map(of).collect()
}

/// What the attributes of a function say.
fn promised_use(db: &dyn Db, function: FunctionInput, position: u32) -> PassedUse {
    let context = function.module(db).context(db);
    let header = function.header(db);
    let attributes = context.param_attrs(header.attributes, position as usize);
    let memory = context.function_attrs(header.attributes).memory();
    let reads = attributes.has(AttrKind::ReadOnly)
        || attributes.has(AttrKind::ReadNone)
        || memory.is_some_and(|memory| !memory.access(MemoryLocation::ArgMem).writes());
    let escapes = attributes
        .captures()
        .is_none_or(|kept| has_provenance(kept.other) || has_provenance(kept.ret));
    PassedUse { writes: !reads, escapes }
}

pub(super) fn passed_use(
    db: &dyn Db,
    caller: FunctionInput,
    name: GlobalName,
    ty: Type,
    position: u32,
) -> PassedUse {
    let Some(&callee) = symbols(db, caller.module(db)).get(&name) else {
        return PassedUse::UNKNOWN;
    };
    if callee.header(db).ty != ty {
        return PassedUse::UNKNOWN;
    }
    parameter_uses(db, callee).get(position as usize).copied().unwrap_or(PassedUse::UNKNOWN)
}

/// What is done through an argument of a kernel, or in it through a variable, with all that is
/// called. Not a query.
///
/// *Reads* [`pointer_flow`], [`parameter_uses`] of the callees.
pub fn written_by_kernel(db: &dyn Db, kernel: FunctionInput, root: Root) -> RootUse {
    let passed = |name, ty, position| passed_use(db, kernel, name, ty, position);
    pointer_flow(db, kernel).uses(root, &passed)
}

/// Variables that a function writes or lets others write, by name.
///
/// *Reads* [`pointer_flow`], [`parameter_uses`] of the callees. *Changes when* it begins or ceases
/// to write one. *Cost* O(variables x uses of pointers).
#[salsa::tracked(returns(ref))]
pub fn variables_written(db: &dyn Db, function: FunctionInput) -> Vec<GlobalName> {
    let is_written = |root: &Root| {
        let uses = written_by_kernel(db, function, *root);
        uses.written.is_some() || uses.escapes.is_some()
    };
    let roots = pointer_flow(db, function).all_roots().iter().filter(|root| is_written(root));
    let mut names: Vec<GlobalName> = roots
        .filter_map(|root| match root {
            Root::Variable(name) => Some(*name),
            Root::Argument(_) => None,
        })
        .collect();
    names.sort_unstable();
    names
}

/// For each written variable of a module, the first function that writes it.
///
/// *Reads* `functions`, [`variables_written`]. *Changes when* a variable begins or ceases to be
/// written. *Cost* O(functions + entries).
#[salsa::tracked(returns(ref))]
pub fn written_variables(db: &dyn Db, module: ModuleInput) -> FxHashMap<GlobalName, GlobalName> {
    let mut writers = FxHashMap::default();
    for entry in module.functions(db).iter().filter(|entry| entry.is_definition) {
        for &name in variables_written(db, entry.input) {
            writers.entry(name).or_insert(entry.name);
        }
    }
    writers
}

pub(super) fn variable(db: &dyn Db, function: FunctionInput, name: GlobalName) -> VariableUse {
    let module = function.module(db);
    if constant_variables(db, module).binary_search(&name).is_ok() {
        return VariableUse::Constant;
    }
    if hidden_variables(db, module).contains(&name) {
        return match written_variables(db, module).get(&name) {
            Some(&function) => VariableUse::Written(function),
            None => VariableUse::NeverWritten,
        };
    }
    match variables(db, module).contains_key(&name) {
        true => VariableUse::Visible,
        false => VariableUse::Unknown,
    }
}

/// Variables that nothing but code of the module can reach, and whose address no other entity has.
///
/// *Reads* `shell`, [`named_by_shell`]. *Changes when* one comes, goes, or is named elsewhere.
/// *Cost* O(variables).
#[salsa::tracked(returns(ref))]
fn hidden_variables(db: &dyn Db, module: ModuleInput) -> FxHashSet<GlobalName> {
    let named = named_by_shell(db, module);
    let is_hidden = |variable: &&GlobalVariable| {
        matches!(variable.linkage, Linkage::Internal | Linkage::Private)
            && !named.contains(&variable.name)
    };
    module.shell(db).variables.iter().filter(is_hidden).map(|variable| variable.name).collect()
}

/// Whether threads start in a function, and it is entered nowhere else. One that is called has
/// other threads' stores before it, as any function.
fn is_entered_by_launches(db: &dyn Db, function: FunctionInput) -> bool {
    let architecture = target(db, function.module(db)).architecture();
    let entry = calling_convention::entry(function.header(db).call_conv, architecture);
    entry == Entry::Kernel && call_place(db, function).callers.is_empty()
}

/// For each callee that cannot be named from outside of the module, and each of its arguments:
/// whether the function passes, in all its calls, pointers to memory that is not written while the
/// kernel runs.
///
/// *Reads* `header`, `body`, `mentions`, [`pointer_flow`], [`memory_kinds`], [`parameter_uses`] of
/// the callees, [`unchanged_arguments`]. *Changes when* an argument does not change any more, or
/// comes to. *Cost* O(calls), once per root O(uses of pointers).
#[salsa::tracked(returns(ref))]
fn passed_unchanged(db: &dyn Db, function: FunctionInput) -> Vec<(FunctionInput, Vec<bool>)> {
    let mut all: Vec<(FunctionInput, Vec<bool>)> = Vec::new();
    let calls = closed_calls(db, function);
    let Some(kinds) = memory_kinds(db, function).as_ref().filter(|_| !calls.is_empty()) else {
        return all;
    };
    let writers = WriterInputs::new(db, function, None);
    with_code(db, function, &[], |code, env| {
        let architecture = env.target.architecture();
        writers.with(|facts| {
            let mut unchanged = Unchanged::new(code, architecture, facts);
            for &(call, callee) in calls {
                let header = callee.header(db);
                let is_known = code.body.call_info(call).function_type == header.ty;
                let arguments = code.body.call_args(call).iter().zip(0..header.params.len() as u32);
                let mut found: Vec<bool> = arguments
                    .map(|(&argument, at)| {
                        is_known && unchanged.of(argument, kinds.at(code.body, call, at)).is_none()
                    })
                    .collect();
                found.resize(header.params.len(), false);
                match all.iter_mut().find(|(of, _)| *of == callee) {
                    None => all.push((callee, found)),
                    Some((_, known)) => known.iter_mut().zip(found).for_each(|(k, f)| *k &= f),
                }
            }
        });
    });
    all
}

/// By argument: whether all callers of a function are known and pass memory that is not written
/// while the kernel runs. `None` if that holds for no argument.
///
/// *Reads* [`call_place`], [`passed_unchanged`] of the callers. *Changes when* one of them does.
/// *Cost* O(callers).
#[salsa::tracked(returns(ref))]
pub fn unchanged_arguments(db: &dyn Db, function: FunctionInput) -> Option<Vec<bool>> {
    let place = call_place(db, function);
    let is_within_reach = place.is_closed && place.depth <= DEPTH && place.component.is_empty();
    if !is_within_reach || place.callers.is_empty() {
        return None;
    }
    let mut all = vec![true; function.header(db).params.len()];
    for &caller in &place.callers {
        match passed_unchanged(db, caller).iter().find(|(of, _)| *of == function) {
            Some((_, passed)) => all.iter_mut().zip(passed).for_each(|(all, one)| *all &= one),
            None => return None,
        }
    }
    Some(all)
}

/// Whether all callers of a function are known and pass memory for this argument that is not
/// written while the kernel runs. Not a query.
pub(super) fn is_unchanged_argument(db: &dyn Db, function: FunctionInput, position: u32) -> bool {
    let known = unchanged_arguments(db, function).as_ref();
    known.is_some_and(|known| known.get(position as usize) == Some(&true))
}

/// What [`Writers`] are made from.
struct WriterInputs<'a> {
    db: &'a dyn Db,
    function: FunctionInput,
    pointers: Arc<PointerFlow>,
    omitted: Option<Omitted>,
}

impl<'a> WriterInputs<'a> {
    fn new(db: &'a dyn Db, function: FunctionInput, omitted: Option<Omitted>) -> Self {
        let pointers = match omitted {
            Some(omitted @ Omitted::Slots) => Arc::new(pointer_flow_without(db, function, omitted)),
            _ => Arc::clone(pointer_flow(db, function)),
        };
        WriterInputs { db, function, pointers, omitted }
    }

    fn with<R>(&self, run: impl FnOnce(Writers<'_>) -> R) -> R {
        let (db, function) = (self.db, self.function);
        let unchanged = |position: u32| is_unchanged_argument(db, function, position);
        run(Writers {
            pointers: &self.pointers,
            is_kernel: is_entered_by_launches(db, function),
            variable: &|name| variable(db, function, name),
            passed: &|name, ty, position| passed_use(db, function, name, ty, position),
            is_unchanged_argument: &unchanged,
            earlier_grids: waits_for_grids(db, function.module(db)),
            omitted: self.omitted,
        })
    }
}

/// Loads from memory that never changes, according to marks in the input that Phalanx did not add;
/// sorted.
///
/// *Reads* `body`, [`promises_of_others`]. *Changes when* such a mark comes or goes, or an
/// instruction that has one is a load no more. *Cost* O(marks).
#[salsa::tracked(returns(ref))]
pub fn promised_loads(db: &dyn Db, function: FunctionInput) -> Vec<InstId> {
    let body = function.body(db);
    let marked = promises_of_others(db, function).iter().copied();
    marked.filter(|&inst| body.inst(inst).opcode == Opcode::Load).collect()
}

/// Instructions marked `!invariant.load` in the input, not by Phalanx; sorted.
///
/// *Reads* `marks`. *Changes when* a mark comes or goes. *Cost* O(marks).
#[salsa::tracked(returns(ref))]
fn promises_of_others(db: &dyn Db, function: FunctionInput) -> Vec<InstId> {
    let marked = function.marks(db).iter().filter(|(_, mark)| mark.is_invariant && !mark.is_ours);
    marked.map(|(inst, _)| inst).collect()
}

/// Which loads of a function may take a cheaper way, and why the others may not; see
/// [`phalanx_analysis::loads`]. None for a declaration.
///
/// *Reads* [`divergence()`], [`private_memory`], [`memory_kinds`], [`pointer_flow`],
/// [`promised_loads`], `header`, `flow`, `body`, graph facts, [`classic_memory_ssa`] where it
/// matters what happens before a load, and of callees `summary`, [`parameter_uses`] and
/// [`written_spaces`]; [`written_variables`] where a load of a variable is met that is not
/// constant, [`unchanged_arguments`] where one of an argument of a function that is no kernel is,
/// [`starts_at_launch`]. *Changes when* a class or a reason does. *Cost* see there.
#[salsa::tracked(returns(ref))]
pub fn load_classes(db: &dyn Db, function: FunctionInput) -> Option<LoadClasses> {
    match function.is_large(db) {
        true => large_load_classes(db, function).clone(),
        false => load_classes_without(db, function, None),
    }
}

/// [`load_classes`] of a large function, which are followed.
///
/// *Reads* what [`load_classes`] does, `loads_version`. *Changes when* one of them does. *Cost* see
/// [`load_classes`].
#[salsa::tracked(returns(ref), no_eq)]
fn large_load_classes(db: &dyn Db, function: FunctionInput) -> Option<LoadClasses> {
    updated_classes(db, function)
}

/// As [`load_classes`], without one of the rules: for negative controls. Not a query.
pub fn load_classes_without(
    db: &dyn Db,
    function: FunctionInput,
    omitted: Option<Omitted>,
) -> Option<LoadClasses> {
    with_facts(db, function, omitted, &Asked::default(), loads::classify)
}

/// Gives what is known for the loads of a function. What is asked by name is put down in `asked`.
pub(super) fn with_facts<R>(
    db: &dyn Db,
    function: FunctionInput,
    omitted: Option<Omitted>,
    asked: &Asked,
    run: impl FnOnce(Code<'_>, Environment<'_>, Facts<'_>) -> R,
) -> Option<R> {
    let is_at_launch = starts_at_launch(db, function);
    let (cfg, cycles) = (cfg(db, function)?, cycles(db, function)?);
    let divergence = divergence(db, function).as_ref()?;
    let private = private_memory(db, function).as_ref()?;
    let promised = promised_loads(db, function);
    let by_number = |inst: &InstId| inst.into_raw().into_u32();
    let is_promised =
        |inst: InstId| promised.binary_search_by_key(&by_number(&inst), by_number).is_ok();
    let kinds = memory_kinds(db, function).as_ref()?;
    let written_by = |name, ty| asked.written_by(db, function, name, ty);
    let variable = |name| asked.variable(db, function, name);
    let passed = |name, ty, position| asked.passed(db, function, (name, ty, position));
    let is_unchanged = |position| asked.is_unchanged(db, function, position);
    let classic = || classic_memory_ssa(db, function).clone();
    WriterInputs::new(db, function, omitted).with(|writers| {
        let writers = Writers {
            variable: &variable,
            passed: &passed,
            is_unchanged_argument: &is_unchanged,
            ..writers
        };
        let facts = Facts {
            cfg,
            cycles,
            divergence,
            private,
            kinds,
            written_by: &written_by,
            classic: &classic,
            writers,
            is_at_launch,
            is_promised: &is_promised,
        };
        let callees = attributes_of_callees(db, function);
        with_attributes(db, function, callees, |code, env| run(code, env, facts))
    })
}

/// Functions that cannot be named from outside of the module, before all of whose calls in a
/// function a thread has written no device memory and sees nothing of what others wrote.
///
/// *Reads* [`starts_at_launch`], what [`load_classes`] does, `mentions`. *Changes when* a store, an
/// acquire or a call does. *Cost* a walk per call.
#[salsa::tracked(returns(ref))]
fn called_at_launch(db: &dyn Db, function: FunctionInput) -> Vec<FunctionInput> {
    let calls = closed_calls(db, function);
    if calls.is_empty() || !starts_at_launch(db, function) {
        return Vec::new();
    }
    let found = with_facts(db, function, None, &Asked::default(), |code, env, facts| {
        let mut clobbers = Clobbers::new(code, facts, &Acquires::new(code, env));
        let late = calls.iter().filter(|(call, _)| {
            code.body.block_of(*call).is_some()
                && !clobbers.is_nothing_before(code, env, facts, *call)
        });
        // Who is in the set is called late, or is in the list already.
        let mut seen: FxHashSet<FunctionInput> = late.map(|(_, callee)| *callee).collect();
        let callees = calls.iter().map(|(_, callee)| *callee);
        callees.filter(|callee| seen.insert(*callee)).collect()
    });
    found.unwrap_or_default()
}

/// Whether kernels of a module may run while an earlier grid still writes (programmatic dependent
/// launch): the module declares `llvm.nvvm.griddepcontrol.wait`, or some assembly in it waits so.
///
/// *Reads* [`symbols`], mentions of all functions. *Changes when* the declaration, or the first
/// such assembly, comes or goes. *Cost* O(functions).
#[salsa::tracked(returns(copy))]
pub(crate) fn waits_for_grids(db: &dyn Db, module: ModuleInput) -> bool {
    let symbols = symbols(db, module);
    let name = module.context(db).find_symbol(b"llvm.nvvm.griddepcontrol.wait");
    name.is_some_and(|name| symbols.contains_key(&GlobalName::Named(name)))
        || module.functions(db).iter().any(|entry| entry.input.mentions(db).waits_for_grids())
}

/// Whether device memory, as a thread sees it, is as it was when the launch began whenever a
/// function is entered: launches enter it, or all its callers are known and call it before anything
/// else happens.
///
/// Never where the module [waits for earlier grids](waits_for_grids): until then they may write.
///
/// *Reads* [`call_place`], [`called_at_launch`] of the callers, [`waits_for_grids`]. *Changes when*
/// it does. *Cost* O(callers).
#[salsa::tracked(returns(copy))]
pub fn starts_at_launch(db: &dyn Db, function: FunctionInput) -> bool {
    if waits_for_grids(db, function.module(db)) {
        return false;
    }
    let place = call_place(db, function);
    if is_entered_by_launches(db, function) {
        return true;
    }
    let is_within_reach = place.is_closed && place.depth <= DEPTH && place.component.is_empty();
    is_within_reach
        && !place.callers.is_empty()
        && place.callers.iter().all(|&caller| called_at_launch(db, caller).contains(&function))
}

/// Loads that one thread may execute for its wave, from memory that is not written while the kernel
/// runs; in the order of blocks.
///
/// *Reads* [`load_classes`]. *Changes when* a load becomes such or ceases to be. *Cost* O(loads).
#[salsa::tracked(returns(ref))]
pub fn ldu_candidates(db: &dyn Db, function: FunctionInput) -> Vec<InstId> {
    let classes = load_classes(db, function).as_ref();
    classes.map_or_else(Vec::new, |classes| classes.that_are(LoadClass::Ldu).collect())
}
