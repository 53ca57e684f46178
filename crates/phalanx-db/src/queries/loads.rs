//! Queries on loads that may take a cheaper way, and on what is written through pointers.
//!
//! What a function does with its arguments goes up the call graph, as summaries do: [`parameter_uses`] reads that of the callees, to the same
//! depth. What is done with a variable is gathered over the module, and asked for only where a load of such a variable is met.

use phalanx_analysis::{
    loads::{
        self, Facts, LoadClass, LoadClasses, Omitted, PassedUse, PointerFlow, Root, RootUse,
        Variable, VariableUse, pointers::has_provenance,
    },
    lower::Code,
    summary::is_exact,
};
use phalanx_ir::{
    GlobalName, InstId, Opcode, Type,
    attributes::{AttrKind, MemoryLocation},
    metadata::kind,
    module::{GlobalIndex, Linkage},
};
use phalanx_target::calling_convention::{self, Entry};
use rustc_hash::FxHashMap;

use super::calls::{DEPTH, named_by_shell};
use super::facts::with_code;
use super::{
    call_place, callees, cfg, cycles, divergence, dom_tree, memory_ssa, module_index, symbols,
    target,
};
use crate::{FunctionInput, ModuleInput};

use salsa::Database as Db;

/// Attached beside `!invariant.load` where a transform of ours put that: it is a conclusion, and proves nothing.
pub const OUR_INVARIANT: &str = "phalanx.invariant.load";

/// What pointers of a function are made from.
///
/// *Reads* `header`, `flow`, `body`. *Changes when* a pointer does. *Cost* O(instructions + operands).
#[salsa::tracked(returns(ref))]
pub fn pointer_flow(db: &dyn Db, function: FunctionInput) -> PointerFlow {
    let context = function.module(db).context(db);
    let (header, flow, body) = (function.header(db), function.flow(db), function.body(db));
    PointerFlow::new(Code { context, header, flow, body })
}

/// What a function does with each of its arguments that is a pointer: whether it writes there, whether the pointer may be kept.
///
/// *Reads* `header`, [`pointer_flow`], [`call_place`], and this of the callees. *Changes when* an argument is used otherwise. *Cost* O(arguments x
/// uses of pointers).
#[salsa::tracked(returns(ref))]
pub fn parameter_uses(db: &dyn Db, function: FunctionInput) -> Vec<PassedUse> {
    let header = function.header(db);
    let context = function.module(db).context(db);
    let has_code = is_exact(header.linkage)
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

fn passed_use(
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

/// What is done through an argument of a kernel, or in it through a variable, with all that is called. Not a query.
///
/// *Reads* [`pointer_flow`], [`parameter_uses`] of the callees.
pub fn written_by_kernel(db: &dyn Db, kernel: FunctionInput, root: Root) -> RootUse {
    let passed = |name, ty, position| passed_use(db, kernel, name, ty, position);
    pointer_flow(db, kernel).uses(root, &passed)
}

/// Variables that a function writes or lets others write, by name.
///
/// *Reads* [`pointer_flow`], [`parameter_uses`] of the callees. *Changes when* it begins or ceases to write one. *Cost* O(variables x uses of
/// pointers).
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

/// Who writes the variables of a module: the first function of it that does.
///
/// *Reads* `functions`, [`variables_written`]. *Changes when* a variable begins or ceases to be written. *Cost* O(functions + entries).
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

fn variable(db: &dyn Db, function: FunctionInput, name: GlobalName) -> Variable {
    let module = function.module(db);
    let nothing = Variable { uses: VariableUse::Unknown, space: 0 };
    let Some(GlobalIndex::Variable(at)) = module_index(db, module).find(name) else {
        return nothing;
    };
    let Some(variable) = module.shell(db).variables.get(at) else { return nothing };
    let is_hidden = matches!(variable.linkage, Linkage::Internal | Linkage::Private);
    let uses = match variable.is_constant {
        true => VariableUse::Constant,
        // Nothing but code of the module can reach it, and no other entity has its address.
        false if is_hidden && !named_by_shell(db, module).contains(&name) => {
            match written_variables(db, module).get(&name) {
                Some(&function) => VariableUse::Written(function),
                None => VariableUse::NeverWritten,
            }
        }
        false => VariableUse::Visible,
    };
    Variable { uses, space: variable.address_space }
}

/// Loads that somebody else than us promises to be of memory that never changes, sorted.
///
/// *Reads* `body`, `extras`. *Changes when* such a mark comes or goes. *Cost* O(attachments).
#[salsa::tracked(returns(ref))]
pub fn promised_loads(db: &dyn Db, function: FunctionInput) -> Vec<InstId> {
    let (body, extras) = (function.body(db), function.extras(db));
    let ours = function.module(db).context(db).find_symbol(OUR_INVARIANT.as_bytes());
    let marked = extras.attachments.iter().filter(|(inst, attachment)| {
        attachment.kind == kind::INVARIANT_LOAD
            && body.inst(*inst).opcode == Opcode::Load
            && !extras.attachments_of(*inst).any(|other| Some(other.kind) == ours)
    });
    let mut found: Vec<InstId> = marked.map(|(inst, _)| *inst).collect();
    found.sort_unstable_by_key(|inst| inst.into_raw().into_u32());
    found
}

/// Which loads of a function may take a cheaper way, and why the others may not; see [`phalanx_analysis::loads`]. None for a declaration.
///
/// *Reads* [`divergence()`], [`memory_ssa`], [`pointer_flow`], [`promised_loads`], `header`, `flow`, `body`, graph facts, and of callees `summary` and
/// [`parameter_uses`]; [`written_variables`] where a load of a variable is met that is not constant. *Changes when* a class or a reason does. *Cost* see there.
#[salsa::tracked(returns(ref))]
pub fn load_classes(db: &dyn Db, function: FunctionInput) -> Option<LoadClasses> {
    load_classes_without(db, function, None)
}

/// As [`load_classes`], without one of the rules: for negative controls. Not a query.
pub fn load_classes_without(
    db: &dyn Db,
    function: FunctionInput,
    omitted: Option<Omitted>,
) -> Option<LoadClasses> {
    let (cfg, dom) = (cfg(db, function).as_deref()?, dom_tree(db, function).as_deref()?);
    let cycles = cycles(db, function).as_deref()?;
    let divergence = divergence(db, function).as_ref()?;
    let private = memory_ssa(db, function).as_ref()?.private();
    let promised = promised_loads(db, function);
    let by_number = |inst: &InstId| inst.into_raw().into_u32();
    let is_promised =
        |inst: InstId| promised.binary_search_by_key(&by_number(&inst), by_number).is_ok();
    let variable = |name| variable(db, function, name);
    let passed = |name, ty, position| passed_use(db, function, name, ty, position);
    let architecture = target(db, function.module(db)).architecture();
    let entry = calling_convention::entry(function.header(db).call_conv, architecture);
    let facts = Facts {
        cfg,
        dom,
        cycles,
        divergence,
        private,
        pointers: pointer_flow(db, function),
        // One that is called has other threads' stores before it, as any function.
        is_kernel: entry == Entry::Kernel && call_place(db, function).callers.is_empty(),
        is_promised: &is_promised,
        variable: &variable,
        passed: &passed,
        omitted,
    };
    with_code(db, function, callees(db, function), |code, around| {
        loads::classify(code, around, facts)
    })
}

/// Loads of a function that one thread may do for its wave, of memory that nobody writes while the kernel runs; in the order of blocks.
///
/// *Reads* [`load_classes`]. *Changes when* a load becomes such or ceases to be. *Cost* O(loads).
#[salsa::tracked(returns(ref))]
pub fn ldu_candidates(db: &dyn Db, function: FunctionInput) -> Vec<InstId> {
    let classes = load_classes(db, function).as_ref();
    classes.map_or_else(Vec::new, |classes| classes.that_are(LoadClass::Ldu).collect())
}
