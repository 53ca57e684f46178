//! The call graph of a module, and the place of a function in it.
//!
//! Nodes are functions with a body; an edge is a direct call. A function is *closed* if all its
//! callers are known: it cannot be named from outside of the module (or the driver says that no
//! other module names it), and every mention of it is a direct call. The graph is built from
//! [`Mentions`](crate::Mentions), which are inputs of high durability. So salsa does not check it
//! after an edit that changes no call.

use std::sync::Arc;

use phalanx_analysis::summary::is_exact;
use phalanx_graph::Components;
use phalanx_ir::{
    Const, FunctionHeader, GlobalName, InstId, attributes::AttrKind, constant::ConstKind,
    module::Linkage,
};
use phalanx_target::calling_convention::{self, Entry};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{aliases, called_kernels, target};
use crate::{FunctionInput, ModuleInput};

use salsa::Database as Db;

/// The largest number of nested calls that queries follow, upwards and downwards. It bounds how
/// deep queries nest, and is far beyond what kernels have.
pub(super) const DEPTH: u32 = 24;

/// The call graph of the functions of a module that have a body.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct CallGraph {
    numbers: FxHashMap<FunctionInput, u32>,
    functions: Vec<FunctionInput>,
    /// By function, each once; without those that are never executed, where others are.
    callers: Vec<Vec<u32>>,
    is_closed: Vec<bool>,
    /// Whether it can be executed: it may have an unknown caller, or another function that can be
    /// executed calls it.
    is_live: Vec<bool>,
    components: Components,
    /// By component: its members if a call may come back to where it was made, else none.
    recursive: Vec<Arc<[FunctionInput]>>,
    /// By component: the longest way down, and the longest way up through closed functions.
    height: Vec<u32>,
    depth: Vec<u32>,
}

impl CallGraph {
    /// Functions with a body, components of the graph one after another, callees before callers.
    pub fn bottom_up(&self) -> impl Iterator<Item = FunctionInput> + '_ {
        let components = 0..self.components.len();
        let members = components.flat_map(|c| self.components.members(c));
        members.map(|&number| self.functions[number as usize])
    }

    /// Components of the graph, callers before callees: each function with its callers, and whether
    /// all of them are known.
    pub(super) fn top_down(
        &self,
    ) -> impl Iterator<Item = Vec<(FunctionInput, Vec<FunctionInput>, bool)>> + '_ {
        let input = |number: u32| self.functions[number as usize];
        let member = move |&number: &u32| {
            let callers =
                self.callers[number as usize].iter().map(|&caller| input(caller)).collect();
            (input(number), callers, self.is_closed[number as usize])
        };
        let components = (0..self.components.len()).rev();
        components.map(move |c| self.components.members(c).iter().map(member).collect())
    }
}

/// The call graph of a module.
///
/// *Reads* [`named_by_shell`], [`aliases`], `functions`, `is_whole`, headers and `mentions` of the
/// functions. *Changes when* a call appears or goes, or the linkage of a function changes. *Cost*
/// O(functions + calls + entities).
#[salsa::tracked(returns(ref))]
pub fn call_graph(db: &dyn Db, module: ModuleInput) -> CallGraph {
    let entries = module.functions(db);
    let functions: Vec<FunctionInput> =
        entries.iter().filter(|e| e.is_definition).map(|e| e.input).collect();
    let numbers: FxHashMap<FunctionInput, u32> = functions.iter().copied().zip(0..).collect();
    let mut names: FxHashMap<GlobalName, u32> =
        entries.iter().filter_map(|e| Some((e.name, *numbers.get(&e.input)?))).collect();
    for (&alias, end) in aliases(db, module) {
        if let Some(&number) = names.get(end) {
            names.insert(alias, number);
        }
    }
    let mut taken = named_by_shell(db, module).clone();
    let mut callees: Vec<Vec<u32>> = Vec::with_capacity(functions.len());
    let mut callers: Vec<Vec<u32>> = vec![Vec::new(); functions.len()];
    for (function, number) in functions.iter().zip(0u32..) {
        let mentions = function.mentions(db);
        let called = mentions.callees();
        let mut called: Vec<u32> = called.iter().filter_map(|n| names.get(n)).copied().collect();
        // A function may be called by two names.
        let mut seen = FxHashSet::default();
        called.retain(|&callee| seen.insert(callee));
        for &callee in &called {
            callers[callee as usize].push(number);
        }
        callees.push(called);
        taken.extend(mentions.taken());
        let header = function.header(db);
        let constants = header.prefix.iter().chain(&header.prologue).chain(&header.personality);
        entities(db, module, constants.copied(), &mut taken);
    }
    let is_closed = |function: &FunctionInput| {
        let header = function.header(db);
        let context = module.context(db);
        let architecture = target(db, module).architecture();
        is_local(db, *function)
            && calling_convention::entry(header.call_conv, architecture) == Entry::Call
            && header.address_space == 0
            && !context.function_attrs(header.attributes).has(AttrKind::Naked)
            && !taken.contains(&header.name)
    };
    let is_closed: Vec<bool> = functions.iter().map(is_closed).collect();
    let is_live = leave_out_dead(&mut callers, &callees, &is_closed);
    let components = Components::new(&callees);
    let of = |number: u32| components.of(number as usize);
    let mut is_recursive: Vec<bool> =
        (0..components.len()).map(|c| components.members(c).len() > 1).collect();
    let mut height = vec![0u32; components.len()];
    let mut depth = vec![0u32; components.len()];
    // Components are numbered from below.
    for c in 0..components.len() {
        for &member in components.members(c) {
            is_recursive[c] |= callees[member as usize].contains(&member);
            let outside = callees[member as usize].iter().filter(|&&callee| of(callee) != c);
            height[c] = outside.map(|&callee| height[of(callee)] + 1).fold(height[c], u32::max);
        }
    }
    for c in (0..components.len()).rev() {
        let closed = components.members(c).iter().filter(|&&m| is_closed[m as usize]);
        let outside = closed.flat_map(|&m| &callers[m as usize]).filter(|&&up| of(up) != c);
        depth[c] = outside.map(|&up| depth[of(up)] + 1).max().unwrap_or(0);
    }
    let members = |c: usize| match is_recursive[c] {
        true => components.members(c).iter().map(|&n| functions[n as usize]).collect(),
        false => Arc::default(),
    };
    let recursive = (0..components.len()).map(members).collect();
    CallGraph {
        numbers,
        functions,
        callers,
        is_closed,
        is_live,
        components,
        recursive,
        height,
        depth,
    }
}

/// Leaves out who is never executed among the callers of functions that are: clang makes a function
/// of each OpenCL kernel, calls it nowhere once it is inlined, and leaves it there. What only such
/// functions call keeps its callers, so that something is known of it. Who can be executed.
fn leave_out_dead(callers: &mut [Vec<u32>], callees: &[Vec<u32>], is_closed: &[bool]) -> Vec<bool> {
    let mut is_live: Vec<bool> = is_closed.iter().map(|is_closed| !is_closed).collect();
    let mut work: Vec<u32> =
        (0..).zip(&is_live).filter(|(_, live)| **live).map(|(n, _)| n).collect();
    while let Some(caller) = work.pop() {
        for &callee in &callees[caller as usize] {
            if !std::mem::replace(&mut is_live[callee as usize], true) {
                work.push(callee);
            }
        }
    }
    for (of, _) in callers.iter_mut().zip(&is_live).filter(|(_, is_live)| **is_live) {
        of.retain(|&caller| is_live[caller as usize]);
    }
    is_live
}

/// What variables, aliases and metadata of a module name.
///
/// *Reads* `shell`. *Changes when* one is named first or no longer. *Cost* O(entities + metadata).
#[salsa::tracked(returns(ref))]
pub(super) fn named_by_shell(db: &dyn Db, module: ModuleInput) -> FxHashSet<GlobalName> {
    let shell = module.shell(db);
    let mut names = FxHashSet::default();
    let initializers = shell.variables.iter().filter_map(|v| v.initializer);
    let constants = initializers.chain(shell.aliases.iter().map(|a| a.target));
    entities(db, module, constants, &mut names);
    let metadata = &shell.metadata;
    let values = metadata.ids().flat_map(|id| metadata.values(id));
    entities(db, module, values.filter_map(|value| value.as_const()), &mut names);
    names
}

/// Adds the entities that constants are made of.
fn entities(
    db: &dyn Db,
    module: ModuleInput,
    constants: impl Iterator<Item = Const>,
    names: &mut FxHashSet<GlobalName>,
) {
    let context = module.context(db);
    let mut seen: FxHashSet<Const> = FxHashSet::default();
    let mut work: Vec<Const> = constants.collect();
    while let Some(constant) = work.pop() {
        if seen.insert(constant) {
            let kind: &ConstKind = &context.const_data(constant).kind;
            names.extend(kind.entity());
            work.extend_from_slice(kind.parts());
        }
    }
}

/// Where a function is in the call graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallPlace {
    /// The largest number of nested calls below it.
    pub height: u32,
    /// The largest number of nested calls above it, up to functions that are not closed.
    pub depth: u32,
    /// Whether all callers are known.
    pub is_closed: bool,
    /// Whether it can be executed: not if it has no callers, or only callers that cannot be
    /// executed.
    pub is_live: bool,
    /// Its callers, in the order of the module. Callers that are never executed are left out if
    /// there are others.
    pub callers: Box<[FunctionInput]>,
    /// The functions that it is in recursion with, itself included, in the order of the module;
    /// empty when it is not recursive. One list for all of them.
    pub component: Arc<[FunctionInput]>,
    /// Where it is in that list.
    pub position: u32,
}

impl CallPlace {
    /// Whether two functions are in recursion with each other.
    pub(super) fn is_with(&self, other: &CallPlace) -> bool {
        // No function is in two components.
        self.component.first().is_some_and(|first| other.component.first() == Some(first))
    }
}

/// Where a function is in the call graph.
///
/// *Reads* [`call_graph`]. *Changes when* its callers do, or what is above or below. *Cost*
/// O(callers).
#[salsa::tracked(returns(ref))]
pub fn call_place(db: &dyn Db, function: FunctionInput) -> CallPlace {
    let graph = call_graph(db, function.module(db));
    let Some(&number) = graph.numbers.get(&function) else { return CallPlace::default() };
    let at = number as usize;
    let component = graph.components.of(at);
    let is_recursive = !graph.recursive[component].is_empty();
    // Members are in order.
    let position = graph.components.members(component).binary_search(&number).unwrap_or_default();
    let inputs = |numbers: &[u32]| numbers.iter().map(|&n| graph.functions[n as usize]).collect();
    CallPlace {
        height: graph.height[component],
        depth: graph.depth[component],
        is_closed: graph.is_closed[at],
        is_live: graph.is_live[at],
        callers: inputs(&graph.callers[at]),
        component: Arc::clone(&graph.recursive[component]),
        position: if is_recursive { position as u32 } else { 0 },
    }
}

/// Calls of functions that cannot be named from outside of the module, and of kernels, with the
/// callee.
///
/// *Reads* `mentions`, [`symbols`](super::symbols), [`called_kernels`], headers of the callees,
/// `is_whole`. *Changes when* such a call comes or goes. *Cost* O(calls).
#[salsa::tracked(returns(ref))]
pub(crate) fn closed_calls(db: &dyn Db, function: FunctionInput) -> Vec<(InstId, FunctionInput)> {
    let symbols = super::symbols(db, function.module(db));
    let calls = function.mentions(db).calls().iter();
    let found = calls.filter_map(|&(inst, name)| Some((inst, *symbols.get(&name)?)));
    let kernels = called_kernels(db, function.module(db));
    let is_kernel = |callee: FunctionInput| {
        !kernels.is_empty() && kernels.contains_key(&callee.header(db).name)
    };
    found.filter(|(_, callee)| is_local(db, *callee) || is_kernel(*callee)).collect()
}

/// Whether a function cannot be named from outside of its module, or the driver says that no other
/// module names it.
pub(super) fn is_local(db: &dyn Db, function: FunctionInput) -> bool {
    is_local_in(db, function.module(db), function.header(db))
}

/// The same of a function of a module, by its header.
pub(super) fn is_local_in(db: &dyn Db, module: ModuleInput, header: &FunctionHeader) -> bool {
    match header.linkage {
        Linkage::Internal | Linkage::Private => true,
        linkage => is_exact(linkage, true) && module.is_whole(db),
    }
}
