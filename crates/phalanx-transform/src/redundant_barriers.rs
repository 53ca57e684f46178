//! `remove-redundant-barriers`: a barrier goes when nothing that others can see happens between it
//! and another.
//!
//! This is a transform for who asks for it: LLVM keeps every barrier.
//!
//! # What a barrier is for
//!
//! An execution barrier of the workgroup orders what any thread did before it and what any thread
//! does after it. It adds nothing when either
//!
//! - on every way to it the threads have met at another barrier, or the kernel has begun, and
//!   accessed no memory that others can access since; or
//! - on no way from it to the end of the kernel such memory is accessed.
//!
//! All threads have to meet at it. Hardware counts arrivals, so a barrier that only some threads
//! execute has another one for a partner, and from there on all of them have. So the function has
//! to be a kernel in which every branch that decides about any barrier, directly or through other
//! branches, is uniform in the workgroup, and which calls nothing that may have barriers. With
//! `assume-aligned` those count besides, anywhere, that are *aligned*: not to execute such a
//! barrier all together is undefined.
//!
//! # Fences
//!
//! On AMDGPU a barrier orders memory only together with fences: a release before it and an acquire
//! behind it. Both have to be there without the barrier, too. So the way to a barrier is in one of
//! these states (`Dirty` is the least, `Clean` the greatest; ways that meet have the least of both,
//! and `Dirty` where neither is below the other):
//!
//! | state | meaning | a barrier is redundant |
//! |---|---|---|
//! | `Clean` | all that was accessed was released, then the threads met | yes |
//! | `Raw` | the threads met, but nothing was released before | yes |
//! | `Released` | accessed, then released | no; behind it the state is `Clean` |
//! | `Dirty` | accessed | no; behind it `Raw`, or `Clean` where the barrier itself orders memory (NVPTX) |
//!
//! A release turns `Dirty` and `Raw` into `Released`; an acquire changes nothing, as it may as well
//! stand behind the other barrier. A fence of less than all memory or less than the workgroup turns
//! `Raw` into `Dirty` and counts for nothing else.
//!
//! # Why all may go at once
//!
//! A barrier that is redundant by the first rule leaves the state as it was, so the states with and
//! without it are equal. By the second rule nothing is accessed behind it, so nobody needs it
//! either.
//!
//! # What is accessed
//!
//! Private memory and constants are nobody else's business. A call accesses what its attributes
//! say, and everything if they say nothing. Votes and shuffles access nothing.
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
    /// Whether aligned barriers are taken to be executed by all threads together.
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

/// What a way to a place looks like. See the [module documentation](self).
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

/// What an instruction is to other threads.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Event {
    /// It accesses memory that they can access, or may.
    Access,
    /// It releases what was accessed to all of the workgroup.
    Release,
    /// A fence of less than all memory, or less than the workgroup.
    Fence,
    /// All threads of the workgroup meet; whether that orders memory.
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
/// they come.
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

/// Whether every branch that decides about a block is uniform in the workgroup.
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

/// Whether an instruction is a barrier of a whole workgroup, if so whether it is aligned, and
/// whether it orders memory.
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
        // What else there is may order some memory only.
        _ => return None,
    };
    (is_plain && is_whole).then_some((barrier.aligned, orders))
}

/// What an instruction is to other threads, if anything. `meets`: whether all threads come to a
/// barrier, aligned or not, together.
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
            // Metadata may restrict it to some memory.
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
    /// Barriers before which the threads have met already.
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

    /// Barriers behind which nothing is accessed.
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
