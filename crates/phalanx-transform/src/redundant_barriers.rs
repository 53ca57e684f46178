//! `remove-redundant-barriers`: removes a barrier if no access that other threads can see lies
//! between it and another barrier.
//!
//! This pass is opt-in: LLVM keeps every barrier.
//!
//! ```text
//!   barrier
//!   %v = add i32 %a, %b     ; no access
//!   barrier                 ; redundant
//! ```
//!
//! # What a barrier is for
//!
//! An execution barrier of the workgroup orders what any thread did before it and what any thread
//! does after it. A barrier is redundant if one of these rules holds:
//!
//! - on every path to it the threads met at another barrier, or the kernel began, and since then
//!   they accessed no memory that other threads can access; or
//! - on no path from it to the end of the kernel is such memory accessed.
//!
//! All threads have to meet at the barrier. Hardware counts arrivals, so a barrier that only some
//! threads execute pairs with another barrier, and all later barriers are then paired wrongly. So
//! the function has to be a kernel in which every branch that decides about any barrier, directly
//! or through other branches, is uniform in the workgroup, and which calls nothing that may have
//! barriers. With `assume-aligned`, *aligned* barriers count as well, in any function: it is
//! undefined if not all threads execute such a barrier together.
//!
//! # Fences
//!
//! On AMDGPU a barrier orders memory only together with fences: a release before it and an acquire
//! behind it. Both must still be there without the barrier. So each path to a barrier has one of
//! these states. `Dirty` is the least, `Clean` the greatest. Where paths meet, the state is the
//! lesser of both, and `Dirty` where neither is below the other:
//!
//! | state | meaning | a barrier is redundant |
//! |---|---|---|
//! | `Clean` | all accesses were released, then the threads met | yes |
//! | `Raw` | the threads met, but the accesses before were not released | yes |
//! | `Released` | accesses, then a release | no; behind it the state is `Clean` |
//! | `Dirty` | accesses | no; behind it `Raw`, or `Clean` where the barrier itself orders memory (NVPTX) |
//!
//! A release turns `Dirty` and `Raw` into `Released`. An acquire changes nothing, as it may as well
//! stand behind the other barrier. A fence for only some memory, or for less than the workgroup,
//! turns `Raw` into `Dirty` and has no other effect.
//!
//! # Why all redundant barriers may go at once
//!
//! A barrier that is redundant by the first rule leaves the state as it was, so the states with and
//! without it are equal. Behind a barrier that is redundant by the second rule there is no access,
//! so removing it affects no other barrier.
//!
//! # Which accesses count
//!
//! Accesses of private memory and constants do not count. A call accesses what its attributes say,
//! and everything if they say nothing. Votes and shuffles access nothing.
//!
//! The states are the greatest solution of the equations, found by iteration in reverse post-order.
//! O(instructions), times the depth of loops and the height of the states.

use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::{Cfg, Dfs, Node};
use phalanx_ir::{
    InstId, Opcode, SyncScope, Value,
    attributes::{Access, MemoryLocation},
    flow::node_of,
    inst::Ordering,
    metadata::kind,
};
use phalanx_target::{
    Scope,
    intrinsics::{BarrierPhase, Family},
    varying,
};

use crate::{
    code::Code,
    convergent::Operation,
    memory::Memory,
    pass::{Outcome, Parameters, Pass, PassError},
};

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, Default)]
pub struct RemoveRedundantBarriers {
    /// Whether to assume that all threads execute aligned barriers together.
    pub assumes_aligned: bool,
}

impl RemoveRedundantBarriers {
    /// With what a pipeline says.
    ///
    /// # Errors
    /// When a parameter is not known.
    pub fn with_parameters(parameters: &Parameters) -> Result<RemoveRedundantBarriers, String> {
        let mut pass = RemoveRedundantBarriers::default();
        for (key, value) in parameters.iter() {
            match (key, value) {
                ("assume-aligned", None) => pass.assumes_aligned = true,
                _ => return Err(format!("remove-redundant-barriers has no parameter `{key}`")),
            }
        }
        Ok(pass)
    }
}

impl Pass for RemoveRedundantBarriers {
    fn name(&self) -> &str {
        "remove-redundant-barriers"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let redundant = search(db, function, self.assumes_aligned);
        if redundant.is_empty() {
            return Ok(Outcome::Unchanged);
        }
        db.edit(function, |edit| redundant.iter().try_for_each(|&barrier| edit.erase(barrier)))?;
        Ok(Outcome::Changed)
    }
}

/// The state of a path at a place. See the [module documentation](self).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum State {
    Dirty,
    Released,
    Raw,
    Clean,
}

impl State {
    fn meet(self, other: State) -> State {
        match (self, other) {
            (State::Clean, state) | (state, State::Clean) => state,
            (one, other) if one == other => one,
            _ => State::Dirty,
        }
    }
}

/// What an instruction means for other threads.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Event {
    /// It accesses, or may access, memory that other threads can access.
    Access,
    /// It releases all accesses to the whole workgroup.
    Release,
    /// A fence for only some memory, or for less than the workgroup.
    Fence,
    /// All threads of the workgroup meet; true if that orders memory.
    Barrier(bool),
}

impl Event {
    fn after(self, state: State) -> State {
        match (self, state) {
            (Event::Access, _) => State::Dirty,
            (Event::Release, State::Dirty | State::Raw) => State::Released,
            (Event::Fence, State::Raw) => State::Dirty,
            (Event::Barrier(true), _) | (Event::Barrier(false), State::Released) => State::Clean,
            (Event::Barrier(false), State::Dirty) => State::Raw,
            (_, state) => state,
        }
    }
}

/// Events of a function, by block.
struct Events {
    of: Vec<Vec<(InstId, Event)>>,
    is_kernel: bool,
}

fn search(db: &Database, function: FunctionInput, assumes_aligned: bool) -> Vec<InstId> {
    let code = Code::of(db, function);
    let barriers = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    if !barriers.into_iter().any(|inst| meeting(&code, inst).is_some()) {
        return Vec::new();
    }
    let (Some(cfg), Some(dfs)) = (queries::cfg(db, function), queries::dfs(db, function)) else {
        return Vec::new();
    };
    let memory = Memory::new(db, function);
    let is_kernel = queries::is_only_launched(db, function);
    let all_meet = is_kernel && all_meet(db, function, &code);
    let mut events = Events { of: vec![Vec::new(); cfg.node_count()], is_kernel };
    for &block in code.flow.order() {
        let meets = |is_aligned: bool| assumes_aligned && is_aligned || all_meet;
        for inst in code.body.block_insts(block) {
            if let Some(event) = event(&code, &memory, inst, &meets) {
                events.of[node_of(block).index()].push((inst, event));
            }
        }
    }
    let mut redundant = events.met_before(cfg, dfs);
    redundant.extend(events.quiet_after(cfg, dfs));
    redundant.sort_unstable();
    redundant.dedup();
    redundant
}

/// Whether all threads of a workgroup execute the same barriers of a kernel together, as far as
/// they reach them.
fn all_meet(db: &Database, function: FunctionInput, code: &Code<'_>) -> bool {
    code.flow.order().iter().all(|&block| {
        let mut has_barrier = false;
        let is_known = code.body.block_insts(block).all(|inst| {
            if !code.body.inst(inst).opcode.is_call() {
                return true;
            }
            let facts = code.call(inst);
            let barrier = facts.intrinsic.and_then(|intrinsic| intrinsic.info.barrier);
            has_barrier |= barrier.is_some_and(|barrier| barrier.scope != Scope::Wave);
            match (facts.intrinsic, barrier) {
                (None, _) => !facts.is_convergent,
                (_, Some(barrier)) if barrier.scope != Scope::Wave => meeting(code, inst).is_some(),
                _ => true,
            }
        });
        is_known && (!has_barrier || is_uniform(db, function, node_of(block)))
    })
}

/// Whether every branch that decides whether a block is executed is uniform in the workgroup.
fn is_uniform(db: &Database, function: FunctionInput, node: Node) -> bool {
    let (Some(control), Some(postdom), Some(facts)) = (
        queries::control_dependence(db, function),
        queries::postdom_tree(db, function),
        queries::divergence(db, function).as_ref(),
    ) else {
        return false;
    };
    let varying = varying(Scope::Workgroup, queries::launch_facts(db, function));
    let controllers = control.iterated_controllers(postdom, [node]);
    controllers.iter().all(|&branch| !facts.terminator(branch).intersects(varying))
}

/// For a barrier of a whole workgroup: whether it is aligned, and whether it orders memory. None
/// for other instructions.
fn meeting(code: &Code<'_>, inst: InstId) -> Option<(bool, bool)> {
    let intrinsic = code.intrinsic(inst)?;
    let barrier = intrinsic.info.barrier?;
    let is_plain = Operation::of(code, inst).is_some() && !intrinsic.info.has_result;
    let is_whole = barrier.scope == Scope::Workgroup
        && barrier.phase == BarrierPhase::Both
        && !barrier.partial;
    let orders = match intrinsic.family {
        Family::Amdgcn => false,
        Family::Nvvm => true,
        // Other barriers may order only some memory.
        _ => return None,
    };
    (is_plain && is_whole).then_some((barrier.aligned, orders))
}

/// What an instruction means for other threads, if anything. `meets` says whether all threads
/// execute a barrier together, given whether it is aligned.
fn event(
    code: &Code<'_>,
    memory: &Memory<'_>,
    inst: InstId,
    meets: &dyn Fn(bool) -> bool,
) -> Option<Event> {
    let (data, operands) = (code.body.inst(inst), code.body.operands(inst));
    let seen = |address: Value| memory.is_seen_by_others(address).then_some(Event::Access);
    match data.opcode {
        Opcode::Load if memory.never_changes(inst) && !code.has_order(inst) => None,
        Opcode::Load => seen(operands[0]),
        Opcode::Store => seen(operands[1]),
        Opcode::Fence => {
            let scope = data.mem().scope();
            let is_wide = scope == SyncScope::SYSTEM
                || ["workgroup", "cluster", "agent"].contains(&&*code.context.text(scope.0));
            let releases = matches!(
                data.mem().ordering(),
                Ordering::Release | Ordering::AcqRel | Ordering::SeqCst
            );
            // Metadata may restrict the fence to some memory.
            let is_whole = code.extras.attachments_of(inst).all(|a| a.kind == kind::DBG);
            match (is_wide && is_whole, releases) {
                (true, true) => Some(Event::Release),
                (true, false) => None,
                (false, _) => Some(Event::Fence),
            }
        }
        Opcode::Call => {
            if let Some((is_aligned, orders)) = meeting(code, inst) {
                return Some(if meets(is_aligned) {
                    Event::Barrier(orders)
                } else {
                    Event::Access
                });
            }
            let facts = code.call(inst);
            let is_vote = Operation::of(code, inst)
                .is_some_and(|o| o.scope == Scope::Wave && o.memory.only_inaccessible());
            if facts.memory.is_none() || is_vote {
                return None;
            }
            let by_arguments = MemoryLocation::ALL.iter().all(|&location| {
                location == MemoryLocation::ArgMem || facts.memory.access(location) == Access::None
            });
            let is_own = |arg: &Value| !memory.is_address(*arg) || seen(*arg).is_none();
            let args = code.body.call_args(inst);
            (!by_arguments || !args.iter().all(is_own)).then_some(Event::Access)
        }
        _ => code.may_access_memory(inst).then_some(Event::Access),
    }
}

impl Events {
    /// Barriers that are redundant by the first rule.
    fn met_before(&self, cfg: &Cfg, dfs: &Dfs) -> Vec<InstId> {
        let start = if self.is_kernel { State::Clean } else { State::Dirty };
        let mut out = vec![State::Clean; cfg.node_count()];
        let into = |node: Node, out: &[State]| {
            let start = if node == cfg.entry() { start } else { State::Clean };
            let preds = cfg.predecessors(node).iter().filter(|&&p| dfs.is_reachable(p));
            preds.fold(start, |state, pred| state.meet(out[pred.index()]))
        };
        let mut changed = true;
        while changed {
            changed = false;
            for &node in dfs.postorder().iter().rev() {
                let mut state = into(node, &out);
                for &(_, event) in &self.of[node.index()] {
                    state = event.after(state);
                }
                changed |= std::mem::replace(&mut out[node.index()], state) != state;
            }
        }
        let mut redundant = Vec::new();
        for &node in dfs.postorder().iter().rev() {
            let mut state = into(node, &out);
            for &(inst, event) in &self.of[node.index()] {
                let met = matches!(state, State::Clean | State::Raw);
                match event {
                    Event::Barrier(orders) if state == State::Clean || met && !orders => {
                        redundant.push(inst);
                    }
                    _ => {}
                }
                state = event.after(state);
            }
        }
        redundant
    }

    /// Barriers that are redundant by the second rule.
    fn quiet_after(&self, cfg: &Cfg, dfs: &Dfs) -> Vec<InstId> {
        if !self.is_kernel {
            return Vec::new();
        }
        let is_access = |event: &(InstId, Event)| event.1 == Event::Access;
        let mut is_quiet: Vec<bool> = self.of.iter().map(|of| !of.iter().any(is_access)).collect();
        let order = dfs.postorder();
        let quiet_behind = |node: Node, is_quiet: &[bool]| {
            cfg.successors(node).iter().all(|next| is_quiet[next.index()])
        };
        let mut changed = true;
        while changed {
            changed = false;
            for &node in order {
                if is_quiet[node.index()] && !quiet_behind(node, &is_quiet) {
                    is_quiet[node.index()] = false;
                    changed = true;
                }
            }
        }
        let mut redundant = Vec::new();
        for &node in order.iter().filter(|&&node| quiet_behind(node, &is_quiet)) {
            let last = self.of[node.index()].iter().rev().take_while(|event| !is_access(event));
            let barriers = last.filter(|event| matches!(event.1, Event::Barrier(_)));
            redundant.extend(barriers.map(|event| event.0));
        }
        redundant
    }
}
