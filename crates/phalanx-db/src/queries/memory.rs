//! Queries on memory.

use std::sync::Arc;

use phalanx_analysis::{
    alias::{Alias, AliasQuery, Named, Tbaa},
    data_flow::{DataFlow, MemoryFlow},
    edited::Edited,
    loads::written_by_call,
    lower::{Code, Environment},
    memory::{ClassicMemorySsa, MemorySsa, PrivateMemory, Reach, UpdatedFact, form::Graphs, ssa},
    spaces::MemoryKinds,
};
use phalanx_graph::{Cfg, DomTree};
use phalanx_ir::attributes::AttrKind;
use phalanx_ir::{
    ConstKind, GlobalName, InstId, Opcode, Value, metadata::kind, module::GlobalIndex,
};
use phalanx_target::AddressSpace;

use super::called::NO_CALLEES;
use super::memory_fact::{Fact, updated};
use super::own_environment::{with_attributes, with_code};
use super::promises::{
    added_variables, constant_variables, in_one_only, invariant_marks, promises,
};
use super::writes::written_by;
use super::{callees, library, memory_kinds, module_index};
use crate::retained::state::{Graph, MemoryPlace, RetainedMemory};
use crate::{FunctionInput, ModuleInput};

use salsa::Database as Db;

/// Private objects of a function, in SSA form. None for a declaration.
///
/// *Reads* `header`, `flow`, `body`, `dom_tree`, [`type_layout`], `target`; kept:
/// [`Fact::version`]. *Changes when* an access of a slot does. *Cost* O(instructions + phis); that
/// of the edit if it concerns no slot; after a split of a block a copy of the touches.
#[salsa::tracked(returns(ref))]
pub fn private_memory(db: &dyn Db, function: FunctionInput) -> Option<Arc<PrivateMemory>> {
    objects(db, function, PrivateMemory::without_origins, |slots| &slots.private)
}

/// The same of those private objects alone in which addresses are put or from which they are
/// loaded: what is known of pointers follows from these. None for a declaration.
///
/// *Reads* what [`private_memory`] does. *Changes when* an access of such an object does. *Cost* as
/// [`private_memory`]; accesses of other objects do not matter.
#[salsa::tracked(returns(ref))]
pub fn address_memory(db: &dyn Db, function: FunctionInput) -> Option<Arc<PrivateMemory>> {
    objects(db, function, PrivateMemory::of_addresses, |slots| &slots.addresses)
}

/// Private objects that are found by `make`, and are kept in a place of large functions.
fn objects(
    db: &dyn Db,
    function: FunctionInput,
    make: fn(Code<'_>, Environment<'_>, &Cfg, &DomTree) -> PrivateMemory,
    place: fn(&RetainedMemory) -> &MemoryPlace<PrivateMemory, Graph>,
) -> Option<Arc<PrivateMemory>> {
    let now = Graph::of(db, function)?;
    with_code(db, function, NO_CALLEES, |code, env| {
        let (cfg, dom) = now.parts();
        let update = |kept: &PrivateMemory, before: &Graph, edited: Edited<'_>| {
            let graphs = [before, &now].map(|graph| {
                let (cfg, dom) = graph.parts();
                ssa::Graph { cfg, dom }
            });
            kept.update(code, env, (graphs[0], graphs[1]), edited)
        };
        let make = || make(code, env, cfg, dom);
        updated(db, function, place, (Fact::Objects, now.clone()), update, make)
    })
}

/// The memory of a function in HSSA form: a variable per private slot and per class of memory. None
/// for a declaration.
///
/// *Reads* `header`, `flow`, `body`, `dom_tree`, [`private_memory`], [`memory_kinds`], attributes
/// of callees, `target`; of callees [`written_spaces`](super::written_spaces) and `summary`; kept:
/// [`Fact::version`]. *Changes when* an instruction that touches memory does, or what it touches.
/// *Cost* O(instructions + phis); large, after an edit, that of the edit and of the blocks in which
/// accesses become others, and where blocks or edges are others O(blocks).
#[salsa::tracked(returns(ref))]
pub fn memory_ssa(db: &dyn Db, function: FunctionInput) -> Option<Arc<MemorySsa>> {
    match function.is_large(db) {
        true => large_memory_ssa(db, function).clone(),
        false => versions(db, function),
    }
}

/// [`memory_ssa`] of a large function, which is followed.
///
/// *Reads* what [`memory_ssa`] does. *Changes when* one of them does. *Cost* see there.
#[salsa::tracked(returns(ref), no_eq)]
fn large_memory_ssa(db: &dyn Db, function: FunctionInput) -> Option<Arc<MemorySsa>> {
    versions(db, function)
}

/// As [`memory_ssa`]; for a large function from retained state. Not a query.
fn versions(db: &dyn Db, function: FunctionInput) -> Option<Arc<MemorySsa>> {
    let graph = Graph::of(db, function)?;
    let private = private_memory(db, function).as_ref()?;
    let kinds = memory_kinds(db, function).as_ref()?;
    with_attributes(db, function, promises(db, function), |code, env| {
        let leads_to = |inst, position| kinds.at(code.body, inst, position);
        let called = |name, ty| written_by(db, function, name, ty);
        let written_by = |call| written_by_call(code, env, kinds, &called, call);
        let reach = Reach { leads_to: &leads_to, written_by: &written_by };
        let update = |kept: &MemorySsa, before: &(Arc<MemoryKinds>, Graph), edited: Edited<'_>| {
            let Some(others) = kinds.other_results(&before.0) else { return UpdatedFact::Unknown };
            let graphs = Graphs { before: before.1.parts(), now: graph.parts() };
            kept.update(code, env, graphs, (private, reach), (edited, &others))
        };
        let make = || MemorySsa::new(code, env, graph.parts(), Arc::clone(private), reach);
        let with = (Arc::clone(kinds), graph.clone());
        updated(db, function, |slots| &slots.hssa, (Fact::Hssa, with), update, make)
    })
}

/// What versions of private slots of a function influence. None for a declaration.
///
/// *Reads* [`private_memory`]. *Changes when* that does. *Cost* O(touches of slots + entries of
/// phis).
#[salsa::tracked(returns(ref))]
pub fn memory_flow(db: &dyn Db, function: FunctionInput) -> Option<MemoryFlow> {
    Some(MemoryFlow::new(private_memory(db, function).as_ref()?))
}

/// Forward data flow of a function, memory included. None for a declaration. Not a query: it looks
/// at the def-use lists of the body and at [`memory_flow`] when it is asked, so it costs after an
/// edit what it cost before.
///
/// *Reads* `header`, `flow`, `body`, [`memory_ssa`], [`memory_flow`].
pub fn data_flow(db: &dyn Db, function: FunctionInput) -> Option<DataFlow<'_>> {
    let (memory, env) = (memory_ssa(db, function).as_ref()?, memory_flow(db, function).as_ref()?);
    let code = Code {
        context: function.module(db).context(db),
        header: function.header(db),
        flow: function.flow(db),
        body: function.body(db),
        library: library(db, function.module(db)),
    };
    Some(DataFlow::new(code, memory, env))
}

/// MemorySSA of a function with one variable for all of memory, as LLVM has it. None for a
/// declaration.
///
/// *Reads* `header`, `flow`, `body`, marks of loads, `dom_tree`, attributes of callees and the
/// constant variables of the module; kept: [`Fact::version`]. *Changes when* and *costs* as
/// [`memory_ssa`].
#[salsa::tracked(returns(ref))]
pub fn classic_memory_ssa(db: &dyn Db, function: FunctionInput) -> Option<Arc<ClassicMemorySsa>> {
    let graph = Graph::of(db, function)?;
    with_attributes(db, function, promises(db, function), |code, env| {
        let never_changes = |load| never_changes(db, function, code, env, load);
        let marks = invariant_marks(db, function);
        let update =
            |kept: &ClassicMemorySsa, before: &(Graph, Vec<InstId>), edited: Edited<'_>| {
                let graphs = Graphs { before: before.0.parts(), now: graph.parts() };
                // A mark is about its load alone.
                let others = in_one_only(&before.1, marks);
                kept.update(code, env, graphs, &never_changes, (edited, &others))
            };
        let make = || ClassicMemorySsa::new(code, env, graph.parts(), never_changes);
        let with = (graph.clone(), marks.clone());
        updated(db, function, |slots| &slots.classic, (Fact::Classic, with), update, make)
    })
}

/// How two loads, stores or atomic operations of a function relate: their addresses, or else their
/// types. None if one of them is something else, or for a declaration. Not a query: where several
/// pairs are asked about, [`with_aliases`] shares the work.
pub fn alias(db: &dyn Db, function: FunctionInput, a: InstId, b: InstId) -> Option<Alias> {
    let known = with_aliases(db, function, |query| {
        let (a, b) = (query.location(a)?, query.location(b)?);
        Some(query.alias(a, b))
    })??;
    match known {
        Alias::May if !may_alias_by_type(db, function, a, b) => Some(Alias::No),
        known => Some(known),
    }
}

/// Whether two instructions may access one byte, as far as their `!tbaa` goes. Not a query; reads
/// `extras`, which no analysis does, so that a change of metadata costs nothing elsewhere.
pub fn may_alias_by_type(db: &dyn Db, function: FunctionInput, a: InstId, b: InstId) -> bool {
    let module = function.module(db);
    let tbaa = Tbaa::new(module.context(db), &module.shell(db).metadata);
    let tag = |inst: InstId| {
        let mut attachments = function.extras(db).attachments_of(inst);
        tbaa.tag(attachments.find(|attachment| attachment.kind == kind::TBAA)?.node)
    };
    match (tag(a), tag(b)) {
        (Some(a), Some(b)) => tbaa.may_alias(a, b),
        _ => true,
    }
}

/// What a name stands for if it is that of a variable. Not a query.
///
/// *Reads* [`module_index`], `added_variables`.
pub fn named(db: &dyn Db, module: ModuleInput, name: GlobalName) -> Option<Named> {
    match module_index(db, module).find(name)? {
        GlobalIndex::Variable(_) => Some(match added_variables(db, module).binary_search(&name) {
            Ok(_) => Named::Added,
            Err(_) => Named::Object,
        }),
        _ => None,
    }
}

/// Answers questions about what aliases in a function. Not a query.
///
/// *Reads* [`private_memory`], [`named`], [`memory_kinds`].
pub fn with_aliases<R>(
    db: &dyn Db,
    function: FunctionInput,
    ask: impl FnOnce(&mut AliasQuery<'_>) -> R,
) -> Option<R> {
    let private = private_memory(db, function).as_ref()?;
    let variable = |name| named(db, function.module(db), name);
    with_code(db, function, callees(db, function), |code, env| {
        let kinds = memory_kinds(db, function).as_deref();
        ask(&mut AliasQuery::new(code, env, private, &variable).with_kinds(kinds))
    })
}

/// Whether a load reads memory that does not change while this function runs: by a promise, because
/// it is constant memory or a constant variable, or because it is memory of an argument that this
/// function only reads and that no other code can access.
fn never_changes(
    db: &dyn Db,
    function: FunctionInput,
    code: Code<'_>,
    env: Environment<'_>,
    load: InstId,
) -> bool {
    if invariant_marks(db, function).binary_search(&load).is_ok() {
        return true;
    }
    let mut address = code.body.operands(load)[0];
    let space = |address: Value| {
        let ty = match (address.as_inst(), address.as_const(), address.as_arg()) {
            (Some(inst), ..) => code.body.inst(inst).ty,
            (_, Some(constant), _) => code.context.const_data(constant).ty,
            (.., Some(position)) => *code.header.params.get(position as usize)?,
            _ => return None,
        };
        let number = code.context.type_kind(ty).address_space()?;
        Some(AddressSpace::of(env.target.architecture(), number))
    };
    for _ in 0..STEPS {
        if space(address).is_some_and(AddressSpace::is_constant) {
            return true;
        }
        let base = match (address.as_inst(), address.as_const()) {
            (Some(inst), _) => match code.body.inst(inst).opcode {
                Opcode::GetElementPtr | Opcode::AddrSpaceCast => code.body.operands(inst)[0],
                _ => return false,
            },
            (_, Some(constant)) => match &code.context.const_data(constant).kind {
                ConstKind::Global(name) => {
                    let constant = constant_variables(db, function.module(db));
                    return constant.binary_search(name).is_ok();
                }
                ConstKind::Expr(expr)
                    if matches!(expr.opcode, Opcode::GetElementPtr | Opcode::AddrSpaceCast) =>
                {
                    match expr.operands.first() {
                        Some(base) => Value::constant(*base),
                        None => return false,
                    }
                }
                _ => return false,
            },
            _ => {
                let Some(position) = address.as_arg() else { return false };
                let attributes =
                    code.context.param_attrs(code.header.attributes, position as usize);
                // Neither this function nor other code writes it.
                return attributes.has(AttrKind::NoAlias)
                    && (attributes.has(AttrKind::ReadOnly) || attributes.has(AttrKind::ReadNone));
            }
        };
        address = base;
    }
    false
}

/// The largest number of steps from an address up to its base.
const STEPS: usize = 64;
