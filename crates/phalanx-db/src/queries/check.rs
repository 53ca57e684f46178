//! Queries on what is wrong with a function, or may be.

use std::cell::RefCell;
use std::sync::Arc;

use phalanx_analysis::{
    check::{
        self, Callee, Calls, Edges, Facts, Finding, Judged, Operation, Sites, Split, costs::Costs,
        coverage::Coverage,
    },
    code::TypeSizes,
    lower::Code,
};
use phalanx_core::divergence::{Divergence, SourceSets};
use phalanx_graph::{Node, change::Change};
use phalanx_ir::{GlobalName, attributes::AttrKind};
use phalanx_target::{Architecture, LaunchFacts, Scope, SourceSet, varying};
use rustc_hash::{FxHashMap, FxHashSet};

use super::answer_state::blocks_version;
use super::called::NO_CALLEES;
use super::calls::{CallPlace, DEPTH};
use super::cut::cut;
use super::depends_on::{Changed, DependsOn};
use super::divergences::divergence;
use super::entered::{KnownCalls, called_under};
use super::known_names::library;
use super::launches::{is_kernel, is_only_launched, launch_facts};
use super::module::{symbols, target};
use super::own_environment::with_code;
use super::within_group::{JUDGED, assumed_control_divergence, assumed_divergence};
use super::{
    argument_facts, call_place, cfg, code, control_divergence, graph_facts, load_classes,
    memory_accesses, memory_kinds, type_layout,
};
use crate::FunctionInput;
use crate::retained::{
    answers::{Cut, Graphs, KeptFindings, KeptSites},
    place::Updated,
};

use salsa::Database as Db;

/// The barriers in the code of a function itself, of those at which other waves wait: barriers of
/// all threads of a workgroup or more.
///
/// *Reads* `header`, `flow`, `body`; of a large function what changed; the target where there is
/// inline assembly. *Changes when* its only barrier is removed, or a first one is added; without a
/// barrier, the same for convergent calls without a named callee. *Cost* O(instructions).
#[salsa::tracked(returns(copy))]
pub fn own_barriers(db: &dyn Db, function: FunctionInput) -> Callee {
    let find = || check::own_barriers(code(db, function), &|| architecture(db, function));
    if !function.is_large(db) {
        return find();
    }
    let slot = &function.retained(db).large().waits;
    slot.answer(db, function, 0, DependsOn::Instruction(check::may_be_barrier), find)
}

/// What a call of a function does, as far as barriers are concerned.
///
/// The calls below are walked up to functions that answer for themselves ([`answers_alone`]): the
/// answers of a whole call graph take little more than linear time, and do not nest deeply.
///
/// *Reads* `mentions`, [`symbols`], [`library`], [`call_place`] and [`own_barriers`] of the
/// function and of those that it calls, directly or not, up to some whose [`synchronizes`] it
/// reads; the header of a declaration. *Changes when* it comes to have a barrier or an unknown
/// call, or no longer has one. *Cost* O(calls of the functions that are walked).
#[salsa::tracked(returns(copy))]
pub fn synchronizes(db: &dyn Db, function: FunctionInput) -> Callee {
    let place = call_place(db, function);
    // What one function in recursion with others does, all of them do.
    if let Some(&first) = place.component.first()
        && first != function
    {
        return synchronizes(db, first);
    }
    let symbols = symbols(db, function.module(db));
    let mut seen = FxHashSet::default();
    let mut work = vec![function];
    let mut answer = Callee::Silent;
    while let Some(at) = work.pop() {
        if !seen.insert(at) {
            continue;
        }
        if at.flow(db).entry().is_none() {
            let context = at.module(db).context(db);
            if context.function_attrs(at.header(db).attributes).has(AttrKind::Convergent) {
                answer = Callee::Unknown;
            }
            continue;
        }
        let is_walked = at == function || !answers_alone(place, call_place(db, at));
        let own = if is_walked { own_barriers(db, at) } else { synchronizes(db, at) };
        match own {
            Callee::Silent => {}
            Callee::Unknown => answer = Callee::Unknown,
            Callee::Barrier => return Callee::Barrier,
        }
        if !is_walked {
            continue;
        }
        let library = library(db, at.module(db));
        for name in at.mentions(db).callees().iter().filter(|name| library.get(**name).is_none()) {
            match symbols.get(name) {
                Some(&callee) => work.push(callee),
                // An alias that other modules may replace, or a callee that is chosen at run time.
                None => answer = Callee::Unknown,
            }
        }
    }
    answer
}

/// Whether [`synchronizes`] is asked of a function below another one, in place of a walk through
/// what it calls.
///
/// It is where few calls are below it, and so answers nest little. In deeper call graphs it is of
/// functions whose height is divisible by more powers of two: of a chain of n calls, a function
/// walks log n others on average, and no more than log n answers nest. Functions in recursion with
/// each other have one height, and are walked together, unless there are many.
fn answers_alone(above: &CallPlace, below: &CallPlace) -> bool {
    const MANY: usize = 64;
    let powers = |place: &CallPlace| place.height.trailing_zeros();
    !below.is_with(above)
        && (below.height < DEPTH || powers(below) > powers(above) || below.component.len() > MANY)
}

/// Everything that is found in a function. None for a declaration.
///
/// *Reads* `header`, `flow`, `body`, [`synchronizes`] of what it calls; of a large function also
/// [`blocks_version`], and then what changed; where it has an operation that a rule is about, also
/// [`divergence()`], [`control_divergence`], [`launch_facts`], [`call_place`], [`argument_facts`]
/// and the graph facts, also without edges to `unreachable`; where a finding depends on what is
/// equal in a wave only, [`assumed_divergence`] and [`assumed_control_divergence`]; of a small one
/// whose arguments are numbers of barriers or masks, the same of its callers. *Changes when* a
/// finding does. *Cost* O(instructions) without such operations; see [`check`].
#[salsa::tracked(returns(ref))]
pub fn diagnostics(db: &dyn Db, function: FunctionInput) -> Option<Arc<[Finding]>> {
    match function.is_large(db) {
        true => large_diagnostics(db, function).clone(),
        false => findings(db, function),
    }
}

/// [`diagnostics`] of a large function, which are followed.
///
/// *Reads* what [`diagnostics`] does. *Changes when* one of them does. *Cost* see there.
#[salsa::tracked(returns(ref), no_eq)]
fn large_diagnostics(db: &dyn Db, function: FunctionInput) -> Option<Arc<[Finding]>> {
    findings(db, function)
}

/// As [`diagnostics`]; for a large function from retained state. Not a query.
fn findings(db: &dyn Db, function: FunctionInput) -> Option<Arc<[Finding]>> {
    cfg(db, function)?;
    let sites = sites(db, function);
    if sites.is_empty() {
        return Some(Arc::default());
    }
    if !is_executed(db, function) {
        return Some(Arc::default());
    }
    let cut = cut(db, function);
    let graphs = match function.is_large(db) {
        true => Some(Graphs::of(db, function, cut.as_ref())?),
        false => None,
    };
    let found = with_graph(db, function, cut.as_ref(), |facts| {
        let Some(graphs) = graphs else { return check::findings(facts, &sites) };
        let update = |kept: &mut KeptFindings, changed: Changed<'_>| {
            let of = (db, function, cut.as_ref());
            let Some(split) = split_since(of, (kept.graphs, graphs)) else {
                return Updated::Scratch;
            };
            kept.graphs = graphs;
            let changed = (changed.all, !changed.affected.is_empty());
            match kept.judged.update(facts, &sites, changed, split) {
                Some(0) => Updated::Same,
                Some(_) => Updated::CHANGED,
                None => Updated::Scratch,
            }
        };
        let make = || KeptFindings { judged: Judged::new(facts, &sites), graphs };
        let read = |kept: &KeptFindings| Arc::clone(kept.judged.findings());
        let slot = &function.retained(db).large().findings;
        let depends_on = DependsOn::Instruction(check::memory_depends_on);
        // Other inputs are compared by the incremental update itself.
        slot.update((db, function), 0, depends_on, update, make, read)
    })?;
    // What is only known to be equal in a wave may be equal beyond it: that is found for who needs
    // it. What memory may be private is known by then, too.
    let by_memory = SourceSet::OPAQUE_WAVE | SourceSet::OPAQUE_THREAD;
    let is_of_waves = |finding: &Finding| finding.sources.intersects(by_memory);
    if !found.iter().any(is_of_waves) {
        return Some(found);
    }
    with_stable_loads(db, function, cut.as_ref(), |facts| check::findings(facts, &sites))
}

impl Graphs {
    /// None for a declaration.
    fn of(db: &dyn Db, function: FunctionInput, cut: Option<&Cut>) -> Option<Self> {
        let all = cut.map_or_else(|| blocks_version(db, function), |cut| cut.number);
        let whole = graph_facts(db, function).as_ref()?.number();
        Some(Graphs { all, whole, cut: cut.map(|cut| cut.graph.number()) })
    }
}

/// How a graph has become another one: not at all, or by one split. None if in any other way.
fn split_since(
    (db, function, cut): (&dyn Db, FunctionInput, Option<&Cut>),
    (old, now): (Graphs, Graphs),
) -> Option<Option<Split>> {
    if old.all == now.all {
        return Some(None);
    }
    let whole = graph_facts(db, function).as_ref()?;
    let Change::Split(block) = whole.change_from(old.whole)? else { return None };
    let is_split_too = match (old.cut, cut) {
        (None, None) => true,
        (Some(old), Some(cut)) => cut.graph.change_from(old) == Some(Change::Split(block)),
        _ => false,
    };
    let new = Node::new(whole.cfg().node_count() - 1);
    is_split_too.then_some(Some(Split { block, new }))
}

/// Operations of a function that rules are about. Those of a large function are kept while what is
/// called does not change, and calls are looked at again that do.
fn sites(db: &dyn Db, function: FunctionInput) -> Arc<Sites> {
    let asked = RefCell::new(FxHashMap::default());
    let ask = |name| *asked.borrow_mut().entry(name).or_insert_with(|| callee(db, function, name));
    let code = code(db, function);
    let architecture = || architecture(db, function);
    let calls = Calls { callee: &ask, architecture: &architecture };
    let find = || Arc::new(Sites::new(code, calls));
    if !function.is_large(db) {
        return find();
    }
    let update = |(sites, known): &mut KeptSites, changed: Changed<'_>| {
        if known.iter().any(|(&name, &known)| callee(db, function, name) != known) {
            return Updated::Scratch;
        }
        if changed.affected.is_empty() {
            return Updated::Same;
        }
        let new = sites.after(code, calls, changed.affected);
        known.extend(asked.borrow_mut().drain());
        match new {
            Some(new) => {
                *sites = Arc::new(new);
                Updated::CHANGED
            }
            None => Updated::Same,
        }
    };
    let make = || {
        let found = find();
        (found, asked.take())
    };
    let slot = &function.retained(db).large().sites;
    let depends_on = DependsOn::Instruction(check::may_be_site);
    slot.update((db, function), 0, depends_on, update, make, |(found, _)| Arc::clone(found))
}

/// Branches of a function that part threads of a wave, and would not for some launches.
///
/// *Reads* what [`diagnostics`] reads. *Changes when* a divergent branch does. *Cost* O(blocks).
#[salsa::tracked(returns(ref))]
pub fn launch_suggestions(db: &dyn Db, function: FunctionInput) -> Option<Vec<Finding>> {
    with_facts(db, function, check::launch::findings)
}

/// Loops in which threads wait for others, in vain for all that is known.
///
/// *Reads* what [`diagnostics`] reads, and of functions that are no kernels the control of their
/// calls. *Changes when* such a loop does. *Cost* O(cycles × operations behind their conditions).
#[salsa::tracked(returns(ref))]
pub fn waiting_loops(db: &dyn Db, function: FunctionInput) -> Option<Vec<Finding>> {
    let has_cycles = super::cycles(db, function).is_some_and(|cycles| !cycles.is_empty());
    if !has_cycles || !is_executed(db, function) {
        return cfg(db, function).as_ref().map(|_| Vec::new());
    }
    with_facts(db, function, check::spins::findings)
}

/// Accesses of memory that take longer than they had to.
///
/// *Reads* [`memory_accesses`] and what [`diagnostics`] reads. *Changes when* an address does.
/// *Cost* that of [`memory_accesses`].
#[salsa::tracked(returns(ref))]
pub fn slow_accesses(db: &dyn Db, function: FunctionInput) -> Option<Vec<Finding>> {
    let accesses = memory_accesses(db, function).as_ref()?;
    with_facts(db, function, |facts| check::accesses::findings(facts, accesses))
}

/// Memory that a function accesses while a copy in the background goes on. Not a query: functions
/// without such copies are told by their calls. *Cost* O(instructions) without.
pub fn pending_copies(db: &dyn Db, function: FunctionInput) -> Vec<Finding> {
    let module = function.module(db);
    let context = module.context(db);
    if !check::pending::has_copies(code(db, function)) {
        return Vec::new();
    }
    let size = |name: GlobalName| {
        let mut variables = module.shell(db).variables.iter();
        let variable = variables.find(|variable| variable.name == name)?;
        TypeSizes::new(context, type_layout(db, module)).store_size(variable.ty)
    };
    with_facts(db, function, |facts| check::pending::findings(facts, &size)).unwrap_or_default()
}

/// What accesses, branches and loops of a function cost a wave. None for a declaration. Not a
/// query: it is asked for once, to be shown.
pub fn costs(db: &dyn Db, function: FunctionInput) -> Option<Costs> {
    let accesses = memory_accesses(db, function).as_ref()?;
    with_facts(db, function, |facts| check::costs::costs(facts, accesses))
}

/// Loads that would take a cheaper way but for one obstacle.
///
/// *Reads* `load_classes`, `memory_kinds` and what [`diagnostics`] reads. *Changes when* a class or
/// a reason does. *Cost* that of `load_classes`.
#[salsa::tracked(returns(ref))]
pub fn slow_loads(db: &dyn Db, function: FunctionInput) -> Option<Vec<Finding>> {
    let (loads, kinds) =
        (load_classes(db, function).as_ref()?, memory_kinds(db, function).as_ref()?);
    with_facts(db, function, |facts| check::loads::findings(facts, loads, kinds))
}

/// Whether no finding about barriers means that a function does not hang at one: see
/// [`check::barriers::are_judged`]. Not a query.
pub fn barriers_are_judged(db: &dyn Db, function: FunctionInput) -> bool {
    let callee = |name| callee(db, function, name);
    let architecture = || architecture(db, function);
    let calls = Calls { callee: &callee, architecture: &architecture };
    let judged = |code: Code<'_>| check::barriers::are_judged(code, calls);
    with_code(db, function, NO_CALLEES, |code, _| judged(code)).unwrap_or(false)
}

/// What of a function's barriers is judged by [`diagnostics`]; none for a declaration. See
/// [`check::coverage`]. Not a query.
pub fn coverage(db: &dyn Db, function: FunctionInput) -> Option<Coverage> {
    cfg(db, function)?;
    let callee = |name| callee(db, function, name);
    let architecture = || architecture(db, function);
    let calls = Calls { callee: &callee, architecture: &architecture };
    let symbols = symbols(db, function.module(db));
    let is_defined = |name: GlobalName| {
        symbols.get(&name).is_some_and(|callee| callee.flow(db).entry().is_some())
    };
    Some(check::coverage::coverage(code(db, function), calls, &is_defined))
}

/// Whether a function is executed for all that is known: a kernel, or a function that one calls, or
/// others may. Not a query.
pub fn is_executed(db: &dyn Db, function: FunctionInput) -> bool {
    is_kernel(db, function) || call_place(db, function).is_live
}

/// Operations among threads, for comparisons: see [`check::operations`]. Not a query.
pub fn group_operations(db: &dyn Db, function: FunctionInput) -> Vec<Operation> {
    let callee = |name| callee(db, function, name);
    let architecture = || architecture(db, function);
    let calls = Calls { callee: &callee, architecture: &architecture };
    let found = with_code(db, function, NO_CALLEES, |code, _| check::operations(code, calls));
    found.unwrap_or_default()
}

fn architecture(db: &dyn Db, function: FunctionInput) -> Architecture {
    target(db, function.module(db)).architecture()
}

fn callee(db: &dyn Db, function: FunctionInput, name: GlobalName) -> Callee {
    let symbols = symbols(db, function.module(db));
    symbols.get(&name).map_or(Callee::Unknown, |&callee| synchronizes(db, callee))
}

/// What is known of the launches in which a function is executed: what its own attributes say, or,
/// where all kernels are known from which it is called, what is the same for all of these.
fn launches(db: &dyn Db, function: FunctionInput) -> &LaunchFacts {
    let own = launch_facts(db, function);
    let mut seen = FxHashSet::default();
    let mut work = vec![function];
    let mut common: Option<&LaunchFacts> = None;
    while let Some(at) = work.pop() {
        if !seen.insert(at) {
            continue;
        }
        if is_kernel(db, at) {
            let facts = launch_facts(db, at);
            if *common.get_or_insert(facts) != facts {
                return own;
            }
            continue;
        }
        let place = call_place(db, at);
        if !place.is_closed {
            return own;
        }
        work.extend(place.callers.iter().copied());
    }
    common.unwrap_or(own)
}

/// What a function does with workgroup memory before its first barrier and behind its last one.
///
/// *Reads* `flow`, `body`, [`synchronizes`] of what it calls. *Changes when* a barrier or an access
/// of workgroup memory at one of its ends does. *Cost* O(instructions).
#[salsa::tracked(returns(copy))]
fn edges(db: &dyn Db, function: FunctionInput) -> Edges {
    if function.flow(db).entry().is_none() {
        return Edges::default();
    }
    let callee = |name| callee(db, function, name);
    let architecture = || architecture(db, function);
    let calls = Calls { callee: &callee, architecture: &architecture };
    check::edges(code(db, function), architecture(), calls)
}

/// Gives everything that checks read of a function.
fn with_facts<R>(
    db: &dyn Db,
    function: FunctionInput,
    run: impl FnOnce(Facts<'_>) -> R,
) -> Option<R> {
    with_facts_below((db, function, check::DEPTH), run)
}

/// The same, where arguments are followed upwards through so many functions.
pub(super) fn with_facts_below<R>(
    (db, function, depth): (&dyn Db, FunctionInput, usize),
    run: impl FnOnce(Facts<'_>) -> R,
) -> Option<R> {
    let divergence = divergence(db, function).as_ref()?;
    let controlled = control_divergence(db, function).as_ref()?;
    let cut = cut(db, function);
    with_divergence((db, function, depth), cut.as_ref(), (divergence, controlled), run)
}

/// The same, with what [`cut`] has found.
fn with_graph<R>(
    db: &dyn Db,
    function: FunctionInput,
    cut: Option<&Cut>,
    run: impl FnOnce(Facts<'_>) -> R,
) -> Option<R> {
    let divergence = divergence(db, function).as_ref()?;
    let controlled = control_divergence(db, function).as_ref()?;
    with_divergence((db, function, check::DEPTH), cut, (divergence, controlled), run)
}

/// The same, where loads give one value to several waves that are [stable](super::stable_loads).
fn with_stable_loads<R>(
    db: &dyn Db,
    function: FunctionInput,
    cut: Option<&Cut>,
    run: impl FnOnce(Facts<'_>) -> R,
) -> Option<R> {
    let divergence = assumed_divergence(db, function, JUDGED).as_ref()?;
    let controlled = assumed_control_divergence(db, function, JUDGED).as_ref()?;
    with_divergence((db, function, check::DEPTH), cut, (divergence, controlled), run)
}

fn with_divergence<R>(
    (db, function, depth): (&dyn Db, FunctionInput, usize),
    cut: Option<&Cut>,
    (divergence, controlled): (&Divergence, &SourceSets),
    run: impl FnOnce(Facts<'_>) -> R,
) -> Option<R> {
    let callee = |name| callee(db, function, name);
    let called_under = || called_under(db, function);
    let edges = |name| {
        symbols(db, function.module(db))
            .get(&name)
            .map_or_else(Default::default, |&of| edges(db, of))
    };
    let graph = graph_facts(db, function).as_ref()?;
    let defined = cut.map_or(graph, |cut| &cut.graph);
    let callers_are_known = argument_facts(db, function).is_some();
    let launch = launches(db, function);
    with_code(db, function, NO_CALLEES, |code, env| {
        run(Facts {
            code,
            cfg: defined.cfg(),
            dfs: graph.dfs(),
            dom: graph.dom_tree(),
            postdom: defined.postdom_tree(),
            control: defined.control_dependence(),
            cycles: graph.cycles(),
            divergence,
            controlled,
            launch,
            varying: Scope::ALL.map(|scope| varying(scope, launch)),
            target: env.target,
            is_kernel: is_only_launched(db, function),
            callers_are_known,
            callee: &callee,
            edges: &edges,
            called_under: &called_under,
            passed: &KnownCalls { db, function, depth },
            notes: None,
        })
    })
}
