//! Which memory each address leads to, within a function and across calls.
//!
//! [`returned_spaces`] goes up the call graph, [`argument_spaces`] down, as
//! [`summary`](super::summary) and [`argument_facts`](super::argument_facts) do for divergence,
//! with the same bounds. [`memory_kinds`] reads both, and only of functions that are called and of
//! arguments that cannot come from outside. An equal answer stops an edit.

use std::cell::OnceCell;
use std::iter::repeat;
use std::sync::Arc;

use phalanx_analysis::{
    lower::{Code, Environment},
    memory::PrivateMemory,
    spaces::{self as analysis, MemoryKinds, Returned, SpaceFacts, SpaceSet, VariableFacts},
    summary::is_exact,
};
use phalanx_ir::{GlobalName, GlobalVariable, Type};
use rustc_hash::FxHashMap;

use super::called::NO_CALLEES;
use super::calls::{DEPTH, closed_calls, is_local};
use super::kinds_state::{kinds_version, updated};
use super::known_calls::known_body;
use super::own_environment::with_code;
use super::passed::{Passed, unite};
use super::space_rounds::{component_argument_spaces, component_returned_spaces};
use super::{address_memory, call_place, cfg, dom_tree, symbols, type_layout};
use crate::{FunctionInput, ModuleInput};

use salsa::Database as Db;

/// What the database knows around a function.
pub(super) struct Known<'a> {
    db: &'a dyn Db,
    function: FunctionInput,
    /// What functions return that are being looked at, instead of what the query says.
    found: &'a [(FunctionInput, Returned)],
    /// Arguments that are being found; `None` asks the query.
    arguments: Option<&'a [SpaceSet]>,
    /// What the queries say, once they were asked: of the arguments, of the functions and the
    /// variables of the module.
    passed: OnceCell<Option<&'a [SpaceSet]>>,
    symbols: OnceCell<&'a FxHashMap<GlobalName, FunctionInput>>,
    variables: OnceCell<&'a FxHashMap<GlobalName, VariableFacts>>,
}

impl<'a> Known<'a> {
    pub(super) fn new(db: &'a dyn Db, function: FunctionInput) -> Self {
        let (passed, symbols, variables) = Default::default();
        Known { db, function, found: &[], arguments: None, passed, symbols, variables }
    }

    /// The same, with other arguments.
    pub(super) fn with_arguments(self, arguments: &'a [SpaceSet]) -> Self {
        Known { arguments: Some(arguments), ..self }
    }
}

impl SpaceFacts for Known<'_> {
    fn argument(&self, position: u32) -> Option<SpaceSet> {
        if let Some(known) = self.arguments {
            return known.get(position as usize).copied();
        }
        let passed = *self.passed.get_or_init(|| {
            let is_known = is_local(self.db, self.function);
            is_known.then(|| argument_spaces(self.db, self.function).as_deref()).flatten()
        });
        passed?.get(position as usize).copied()
    }

    fn returned(&self, callee: GlobalName) -> Option<Returned> {
        let all = || symbols(self.db, self.function.module(self.db));
        let input = *self.symbols.get_or_init(all).get(&callee)?;
        if let Some((_, found)) = self.found.iter().find(|(of, _)| *of == input) {
            return Some(*found);
        }
        *returned_spaces(self.db, input)
    }

    fn variable(&self, name: GlobalName) -> Option<VariableFacts> {
        let all = || variables(self.db, self.function.module(self.db));
        self.variables.get_or_init(all).get(&name).copied()
    }
}

/// What is known of the variables of a module.
///
/// *Reads* `shell`. *Changes when* a variable comes, goes, or holds something else. *Cost*
/// O(variables).
#[salsa::tracked(returns(ref))]
pub fn variables(db: &dyn Db, module: ModuleInput) -> FxHashMap<GlobalName, VariableFacts> {
    let is_whole = module.is_whole(db);
    let facts = |variable: &GlobalVariable| {
        let holds = variable.is_constant && is_exact(variable.linkage, is_whole);
        let initializer =
            variable.initializer.filter(|_| holds && !variable.externally_initialized);
        VariableFacts { is_defined: variable.initializer.is_some(), initializer }
    };
    let all = module.shell(db).variables.iter();
    all.map(|variable| (variable.name, facts(variable))).collect()
}

/// What the address of each variable of a module is a multiple of, if it is of more than one.
///
/// *Reads* `shell`, [`type_layout`]. *Changes when* a variable comes, goes, or is aligned
/// otherwise. *Cost* O(variables).
#[salsa::tracked(returns(ref))]
pub fn variable_alignments(db: &dyn Db, module: ModuleInput) -> FxHashMap<GlobalName, u64> {
    let (context, layout) = (module.context(db), type_layout(db, module));
    let align = |variable: &GlobalVariable| {
        let of_type = || layout.data_layout().abi_align(context, &**layout, variable.ty);
        // A declaration without an alignment says nothing about the address of the variable.
        let or_of_type = || variable.initializer.and_then(|_| of_type());
        variable.align.or_else(or_of_type).unwrap_or(1)
    };
    let all = module.shell(db).variables.iter();
    all.map(|variable| (variable.name, align(variable))).filter(|(_, align)| *align > 1).collect()
}

/// Gives the code of a function and its private objects in which addresses are.
pub(super) fn with_memory<R>(
    db: &dyn Db,
    function: FunctionInput,
    run: impl FnOnce(Code<'_>, Environment<'_>, &PrivateMemory) -> R,
) -> Option<R> {
    let memory = address_memory(db, function).as_ref()?;
    with_code(db, function, NO_CALLEES, |code, env| run(code, env, memory))
}

pub(super) fn kinds(
    db: &dyn Db,
    function: FunctionInput,
    known: &Known<'_>,
) -> Option<MemoryKinds> {
    let graph = (cfg(db, function)?, dom_tree(db, function)?);
    with_memory(db, function, |code, env, memory| {
        analysis::memory_kinds(code, env, graph, memory, known)
    })
}

/// Which memories each pointer of a function may lead to. None for a declaration.
///
/// *Reads* `header`, `flow`, `body`, `dom_tree`, `target`, `type_layout`, [`address_memory`],
/// variables of the module that are named, [`returned_spaces`] of the callees, [`argument_spaces`]
/// of a function that cannot be named from outside. *Changes when* an address may lead elsewhere.
/// *Cost* near-linear; see [`phalanx_analysis::spaces`]. Of a large function also
/// [`kinds_version`](super::kinds_version), and then that of what changed.
#[salsa::tracked(returns(ref))]
pub fn memory_kinds(db: &dyn Db, function: FunctionInput) -> Option<Arc<MemoryKinds>> {
    let known = Known::new(db, function);
    let kinds = match function.is_large(db) {
        true => {
            let slot = &function.retained(db).large().kinds;
            updated(db, function, slot, (kinds_version(db, function), &known))
        }
        false => kinds(db, function, &known),
    };
    kinds.map(Arc::new)
}

/// Which memories the result of a function may lead to, by what it is passed. None if its code is
/// not known to be what runs.
///
/// *Reads* what [`memory_kinds`] does but for arguments, `call_place`, and this of the callees.
/// *Changes when* the result may lead elsewhere. *Cost* that of [`memory_kinds`].
#[salsa::tracked(returns(ref))]
pub fn returned_spaces(db: &dyn Db, function: FunctionInput) -> Option<Returned> {
    let place = known_body(db, function)?;
    match place.component.first() {
        None => returned(db, function, &[]),
        Some(&first) => {
            let all = component_returned_spaces(db, first);
            all.get(place.position as usize).copied().flatten()
        }
    }
}

pub(super) fn returned(
    db: &dyn Db,
    function: FunctionInput,
    found: &[(FunctionInput, Returned)],
) -> Option<Returned> {
    let graph = (cfg(db, function)?, dom_tree(db, function)?);
    let known = Known { found, ..Known::new(db, function) };
    with_memory(db, function, |code, env, memory| {
        // Nothing else can be passed on.
        let (ret, ..) = phalanx_ir::Function::split_type(code.context, code.header.ty)?;
        if !analysis::may_hold_address(code, ret) {
            return None;
        }
        Some(analysis::returned(code, env, graph, memory, &known))
    })?
}

/// What a function passes, by callee of those that cannot be named from outside of the module: the
/// union over its calls.
///
/// *Reads* `header`, `body`, [`closed_calls`], [`memory_kinds`]. *Changes when* something else may
/// be passed. *Cost* O(calls).
#[salsa::tracked(returns(ref))]
fn passed_spaces(db: &dyn Db, function: FunctionInput) -> Passed<SpaceSet> {
    match memory_kinds(db, function) {
        None => Vec::new(),
        Some(kinds) => passed(db, function, kinds),
    }
}

pub(super) fn passed(
    db: &dyn Db,
    function: FunctionInput,
    kinds: &MemoryKinds,
) -> Passed<SpaceSet> {
    let mut all: Passed<SpaceSet> = Vec::new();
    let calls = closed_calls(db, function);
    if calls.is_empty() {
        return all;
    }
    // By callee, in the order of `all`: reading an input costs as much as several calls.
    let mut types: Vec<Type> = Vec::new();
    with_code(db, function, NO_CALLEES, |code, _| {
        for &(inst, callee) in calls {
            let known = all.iter().position(|(of, _)| *of == callee);
            let at = known.unwrap_or_else(|| {
                let header = callee.header(db);
                types.push(header.ty);
                all.push((callee, vec![SpaceSet::EMPTY; header.params.len()]));
                all.len() - 1
            });
            let sets = &mut all[at].1;
            if known.is_some() && sets.iter().all(|set| *set == SpaceSet::ALL) {
                continue;
            }
            match code.body.call_info(inst).function_type == types[at] {
                true => {
                    let passed = analysis::passed(code, kinds, inst).chain(repeat(SpaceSet::ALL));
                    sets.iter_mut().zip(passed).for_each(|(set, from)| *set |= from);
                }
                false => sets.fill(SpaceSet::ALL),
            }
        }
    });
    all
}

pub(super) fn from_outside(db: &dyn Db, function: FunctionInput) -> Vec<SpaceSet> {
    let place = call_place(db, function);
    let mut all = vec![SpaceSet::EMPTY; function.header(db).params.len()];
    let callers = place.callers.iter();
    for &caller in callers.filter(|caller| !place.is_with(call_place(db, **caller))) {
        let passed = passed_spaces(db, caller).iter().find(|(of, _)| *of == function);
        if let Some((_, sets)) = passed {
            unite(&mut all, sets);
        }
    }
    all
}

/// What each argument of a function may lead to, all of whose callers are known: what is passed.
/// None for others.
///
/// *Reads* `call_place`, [`passed_spaces`] of the callers. *Changes when* something else may be
/// passed. *Cost* O(callers).
#[salsa::tracked(returns(ref))]
pub fn argument_spaces(db: &dyn Db, function: FunctionInput) -> Option<Vec<SpaceSet>> {
    let place = call_place(db, function);
    if !place.is_closed || place.depth > DEPTH || place.callers.is_empty() {
        return None;
    }
    match place.component.first() {
        None => Some(from_outside(db, function)),
        Some(&first) => {
            let own = component_argument_spaces(db, first).get(place.position as usize);
            own.and_then(|(_, arguments)| arguments.clone())
        }
    }
}
