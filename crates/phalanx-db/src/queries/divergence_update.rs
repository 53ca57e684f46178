//! Divergence of an edited function: incremental update of state that is retained beside the memos.
//!
//! Each function retains a [`DivergenceUpdater`] per set of rules, and a few more, one per set of
//! [`Assumptions`] that was queried. A query takes the updater out of its place while it works. A
//! query that is cancelled or panics loses it, and the next query starts from scratch. The retained
//! state is valid for one dependency stamp: a position in the history of the body, and two numbers
//! that change whenever another input does ([`graph_facts()`], [`env`], both in one
//! [`dependency_stamp`]).
//!
//! The first query for a function that is not very large is solved as for a small function: it
//! reads its inputs directly, and the two numbers are not computed, since the function may be
//! analysed only once. For other queries, a solution from scratch reads the inputs that the
//! instructions call for, and a repair reads the inputs that they may call for; both also read the
//! two numbers, which change whenever one of these inputs does. So whichever way an answer was
//! computed, the next computation has read an input that changed at least as late. Salsa relies on
//! this when it compares the two.

use std::cell::OnceCell;
use std::sync::Arc;

use phalanx_analysis::{
    assumed_facts::AssumedFacts,
    memory::Looks,
    policy::{ASSUMPTIONS_KEPT, TABLES_KEPT},
    stable::Assumptions,
    update::{Changes, DivergenceUpdater, Found, Sources, Stamp, Subject},
};
use phalanx_core::divergence::{self as solver, Divergence, Rules, ValueTable};

use phalanx_ir::{Body, Flow};

use super::called::{Attributes, NO_CALLEES, attributes_of_callees};
use super::calls::is_local;
use super::facts::{new_affect_map, new_llvm_affect_map};
use super::known_calls::KnownCalls;
use super::memory_fact::private_at_hand;
use super::own_environment::OwnEnvironment;
use super::promises::register_names;
use super::summaries::callee_summaries;
use super::{argument_facts, function_attributes, graph_facts};
use crate::FunctionInput;
use crate::queries::own_environment::read_alone;
use crate::retained::{
    graph::GraphFacts,
    place::{Repairs, UpdaterPlace, fresh, locked},
    state::RetainedDivergence,
};

use salsa::Database as Db;

/// What is around a large function, read as one: an edit of its instructions leaves it as it is.
#[derive(Debug)]
pub struct StampedEnvironment {
    environment: OwnEnvironment,
    /// Identity of all that [`affect_map`] reads besides flow and body.
    number: u64,
}

/// What [`affect_map`] of a large function reads besides flow and body, together.
///
/// *Reads* `header`, `module_facts`, `launch` or [`launch_facts`](super::launch_facts), summaries
/// of the callees, [`register_names`], [`argument_facts`]. *Changes when* one of them does. *Cost*
/// O(attributes).
#[salsa::tracked(returns(ref), no_eq)]
pub fn environment(db: &dyn Db, function: FunctionInput) -> Arc<StampedEnvironment> {
    // Not the mentions themselves: calls come and go while what is called is the same.
    let _ = callee_summaries(db, function);
    let _ = register_names(db, function.module(db));
    if is_local(db, function) {
        let _ = argument_facts(db, function);
    }
    Arc::new(StampedEnvironment { environment: OwnEnvironment::new(db, function), number: fresh() })
}

/// The dependency stamp of the divergence of a large function, besides its instructions. It is one
/// query, since reading a query is expensive compared with a small edit.
#[derive(Debug)]
pub struct DependencyStamp {
    graph: Arc<GraphFacts>,
    env: Arc<StampedEnvironment>,
}

/// The graph facts and what is around a large function, read as one. None for a declaration.
///
/// *Reads* [`graph_facts()`], [`env`]. *Changes when* one of them does. *Cost* O(1).
#[salsa::tracked(returns(ref), no_eq)]
pub(crate) fn dependency_stamp(db: &dyn Db, function: FunctionInput) -> Option<DependencyStamp> {
    let graph = Arc::clone(graph_facts(db, function).as_ref()?);
    Some(DependencyStamp { graph, env: Arc::clone(environment(db, function)) })
}

/// Identity of what [`llvm_affect_map`] reads besides flow and body.
///
/// *Reads* [`env`], [`function_attributes`]. *Changes when* one of them does. *Cost* O(1).
#[salsa::tracked(returns(copy))]
pub(crate) fn llvm_version(db: &dyn Db, function: FunctionInput) -> u64 {
    let _ = (environment(db, function), function_attributes(db, function.module(db)));
    fresh()
}

/// Reads what is around a function but for its callers.
pub(super) fn read_environment(db: &dyn Db, function: FunctionInput) {
    read_alone(db, function);
    // Not the mentions themselves: calls come and go while what is called is the same.
    let _ = callee_summaries(db, function);
}

/// Which answer is followed.
#[derive(Copy, Clone)]
enum Wanted {
    Of(Sources),
    /// By our own rules, with what follows from these.
    Assuming(Assumptions),
}

impl Wanted {
    fn sources(self) -> Sources {
        match self {
            Wanted::Of(sources) => sources,
            Wanted::Assuming(_) => Sources::Full,
        }
    }
}

impl RetainedDivergence {
    /// Moves something to or from a place, and counts.
    fn at<R>(&self, wanted: Wanted, run: impl FnOnce(&mut UpdaterPlace, &mut Repairs) -> R) -> R {
        let mut both = match wanted {
            Wanted::Of(Sources::Full) => locked(&self.full),
            Wanted::Of(Sources::Llvm) => locked(&self.llvm),
            Wanted::Assuming(assumptions) => return self.at_assuming(assumptions, run),
        };
        let (place, counts) = &mut *both;
        run(place, counts)
    }

    fn at_assuming<R>(
        &self,
        assumptions: Assumptions,
        run: impl FnOnce(&mut UpdaterPlace, &mut Repairs) -> R,
    ) -> R {
        let mut both = locked(&self.assuming);
        let (places, counts) = &mut *both;
        match places.iter().position(|(of, _)| *of == assumptions) {
            Some(at) => places[at..].rotate_left(1),
            None => {
                let extra = (places.len() + 1).saturating_sub(ASSUMPTIONS_KEPT);
                places.drain(..extra);
                places.push((assumptions, UpdaterPlace::New));
            }
        }
        let last = places.len() - 1;
        run(&mut places[last].1, counts)
    }

    /// Whether this is the first query, and the function is too small to retain state from the
    /// first query on. Records such a query, which is answered from scratch.
    fn is_first(&self, wanted: Wanted, position: u64, size: usize) -> bool {
        if size >= TABLES_KEPT || matches!(wanted, Wanted::Assuming(_)) {
            return false;
        }
        self.at(wanted, |place, counts| {
            let is_first = matches!(place, UpdaterPlace::New);
            if is_first {
                *place = UpdaterPlace::Asked(position);
                counts.count(Found::Solved);
            }
            is_first
        })
    }

    /// Takes the updater out. `None` for the first query, unless the function is large enough to
    /// retain state from the first query on.
    fn take(&self, wanted: Wanted, position: u64, size: usize) -> Option<DivergenceUpdater> {
        self.at(wanted, |place, _| match (wanted, &place) {
            (Wanted::Of(sources), UpdaterPlace::New | UpdaterPlace::Busy)
                if size >= TABLES_KEPT =>
            {
                *place = UpdaterPlace::Busy;
                Some(DivergenceUpdater::new(sources))
            }
            (Wanted::Of(sources), _) => {
                place.take(position, |at| DivergenceUpdater::seen(sources, at).keeping_tables())
            }
            _ => place.take(position, |at| DivergenceUpdater::seen(wanted.sources(), at)),
        })
    }

    /// A copy of the tables from which divergence was computed, if they are retained and valid for
    /// this stamp. While they are copied, other queries find the place busy.
    fn table(&self, stamp: Stamp) -> Option<ValueTable> {
        let place = std::mem::replace(&mut locked(&self.full).0, UpdaterPlace::Busy);
        let table = match &place {
            UpdaterPlace::Idle(updater) => updater.table(stamp),
            _ => None,
        };
        locked(&self.full).0 = place;
        table
    }

    /// Puts the updater back after it has computed an answer.
    fn put(&self, wanted: Wanted, updater: DivergenceUpdater, found: Found) {
        self.at(wanted, |place, counts| {
            *place = UpdaterPlace::Idle(updater);
            counts.count(found);
        });
    }

    fn count(&self, wanted: Wanted, found: Found) {
        self.at(wanted, |_, counts| counts.count(found));
    }

    /// Drops the retained state. Later queries may build it again.
    pub(crate) fn clear(&self) {
        locked(&self.full).0 = UpdaterPlace::Busy;
        locked(&self.llvm).0 = UpdaterPlace::Busy;
        locked(&self.assuming).0.clear();
    }
}

/// Divergence of a large function, updated from the journal of its edits. `None` for a declaration.
///
/// *Reads* `flow`, `body`, [`dependency_stamp`], [`llvm_version`] by LLVM's rules. *Cost* from
/// scratch the first times; then that of what changed.
pub(super) fn updated_divergence(
    db: &dyn Db,
    function: FunctionInput,
    sources: Sources,
) -> Option<Arc<Divergence>> {
    update(db, function, Wanted::Of(sources), AssumedFacts::nothing())
}

/// The same by our own rules, under assumptions.
///
/// *Reads* `flow`, `body`, [`dependency_stamp`]. *Cost* as [`updated_divergence`]; entries of
/// `assumed_facts` that differ from those before count as changes.
pub(super) fn divergence_assuming(
    db: &dyn Db,
    function: FunctionInput,
    assumptions: Assumptions,
    assumed_facts: &AssumedFacts,
) -> Option<Arc<Divergence>> {
    update(db, function, Wanted::Assuming(assumptions), assumed_facts)
}

/// How the divergence of a function was found so far; all zero for small functions, which are
/// always solved from scratch. Not a query.
pub fn repairs(db: &dyn Db, function: FunctionInput) -> Repairs {
    let Some(slot) = function.retained(db).known_divergence() else { return Repairs::default() };
    let mut all = locked(&slot.full).1;
    all.merge(locked(&slot.llvm).1);
    all
}

/// Statistics of the updates of private memory for the divergence of a function, since its state is
/// retained. Not a query.
pub fn slot_looks(db: &dyn Db, function: FunctionInput) -> Looks {
    let Some(slot) = function.retained(db).known_divergence() else { return Looks::default() };
    match &locked(&slot.full).0 {
        UpdaterPlace::Idle(updater) => updater.looks(),
        _ => Looks::default(),
    }
}

/// The same of divergence under assumptions; what is not other than without them is not counted.
/// Not a query.
pub fn assumed_repairs(db: &dyn Db, function: FunctionInput) -> Repairs {
    let slot = function.retained(db).known_divergence();
    slot.map_or_else(Repairs::default, |slot| locked(&slot.assuming).1)
}

/// Drops the retained state of a function. Not a query.
pub(crate) fn drop_kept(db: &dyn Db, function: FunctionInput) {
    function.retained(db).clear();
}

/// The tables from which divergence of a large function was computed, if they are retained. A query
/// that needs the same tables does not build them again.
///
/// *Reads* `body`, [`dependency_stamp`]: the inputs of the tables. *Cost* that of a copy.
pub(super) fn tables_at_hand(db: &dyn Db, function: FunctionInput) -> Option<ValueTable> {
    let position = function.body(db).journal().position();
    let DependencyStamp { graph, env } = dependency_stamp(db, function).as_ref()?;
    let stamp = Stamp { position, flow: graph.number(), env: env.number };
    function.retained(db).divergence().table(stamp)
}

/// The answer of [`divergence()`](super::divergence()), [`uniformity`](super::uniformity) or
/// [`assumed_divergence`](super::assumed_divergence) updated from the journal. `None` for a
/// declaration.
///
/// *Reads* `flow`, `body`, [`dependency_stamp`], [`llvm_version`] by LLVM's rules; for a solution
/// from scratch, its inputs. *Cost* from scratch the first times, then that of the changes.
fn update(
    db: &dyn Db,
    function: FunctionInput,
    wanted: Wanted,
    assumed_facts: &AssumedFacts,
) -> Option<Arc<Divergence>> {
    // Each input is read once: reading one costs as much as examining an instruction.
    let (body, slots) = (function.body(db), function.retained(db));
    let journal = body.journal();
    let position = journal.position();
    let slot = slots.divergence();
    let code = (function, (function.flow(db), body));
    if slot.is_first(wanted, position, body.id_count()) {
        return first_answer(db, code, wanted.sources()).map(Arc::new);
    }
    let DependencyStamp { graph, env } = dependency_stamp(db, function).as_ref()?;
    let flow = graph.flow();
    let number = match wanted.sources() {
        Sources::Full => env.number,
        Sources::Llvm => llvm_version(db, function),
    };
    let stamp = Stamp { position, flow: graph.number(), env: number };
    let calls = KnownCalls::of_large(db, function);
    let lowered = || new_affect_map(db, code, &calls, flow);
    let table = || match wanted {
        Wanted::Of(Sources::Full) => Some(lowered()),
        Wanted::Of(Sources::Llvm) => new_llvm_affect_map(db, function),
        // Not lowered again.
        Wanted::Assuming(_) => tables_at_hand(db, function).or_else(|| Some(lowered())),
    };
    let scratch = || match table() {
        Some(mut table) => {
            if matches!(wanted, Wanted::Assuming(_)) {
                assumed_facts.apply(function.header(db), &mut table);
            }
            solver::solve(flow, &table, Rules::Precise)
        }
        None => Divergence::default(),
    };
    let Some(mut updater) = slot.take(wanted, position, body.id_count()) else {
        slot.count(wanted, Found::Solved);
        return Some(Arc::new(scratch()));
    };
    let changes = OnceCell::new();
    let since = |position| {
        let changes = changes.get_or_init(|| journal.since(position)).as_ref()?;
        Some(Changes { insts: &changes.insts, blocks: &changes.blocks, flow: changes.flow })
    };
    let callees = match wanted.sources() {
        Sources::Full => Attributes::Of(NO_CALLEES),
        Sources::Llvm => attributes_of_callees(db, function),
    };
    let own = &env.environment;
    // Of calls it says nothing, so where these are followed it is of no use.
    let private = match wanted {
        Wanted::Of(Sources::Llvm) => None,
        _ => private_at_hand(db, function, slots).filter(|private| private.is_through_calls()),
    };
    let private = private.as_deref();
    let (answer, found) = own.with(db, code, (callees, &calls), |code, env| {
        let subject = Subject { code, env, flow, stamp, assumed_facts, private };
        updater.answer(subject, since, scratch)
    });
    slot.put(wanted, updater, found);
    Some(answer)
}

/// From scratch, without what it takes to follow a function. None for a declaration.
fn first_answer(
    db: &dyn Db,
    code: (FunctionInput, (&Flow, &Body)),
    sources: Sources,
) -> Option<Divergence> {
    let function = code.0;
    let flow = graph_facts(db, function).as_ref()?.flow();
    let table = match sources {
        Sources::Full => new_affect_map(db, code, &KnownCalls::of_first(db, function), flow),
        Sources::Llvm => new_llvm_affect_map(db, function)?,
    };
    Some(solver::solve(flow, &table, Rules::Precise))
}
