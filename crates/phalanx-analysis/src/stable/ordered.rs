//! Loads of workgroup memory that barriers separate from all writes of that memory.
//!
//! ```text
//! if (tid == 0) job = next();     // written between the second barrier and the first
//! barrier();
//! mine = job;                     // read between the first barrier and the second
//! barrier();
//! ```
//!
//! # What
//!
//! The executions of barriers of the whole workgroup cut the run of a kernel into *intervals*. A
//! load of workgroup memory is *ordered* if no interval may have both the load and a write of what
//! it reads, by any thread. Then it is [stable](super) in the workgroup. That holds for programs
//! with races, too.
//!
//! # Why it holds
//!
//! The caller wants to find out whether threads part on the way to a barrier. Up to the first such
//! parting, threads that are together have executed the same barriers, and all of them. Let
//! converged threads `s` and `t` read different values at one address, both behind the `k`th
//! barrier. Then a thread `u` has written there after `s` read it, and before `t` did. As `s` is
//! behind the `k`th barrier, `u` has come to it; as `t` has not come to the next one, `u` has not
//! gone beyond that. So the write of `u` and the load are in the same interval: from the `k`th
//! barrier a path leads to each of them that passes no other barrier.
//!
//! A barrier counts if it makes visible what was written before it: on AMD GPUs, a barrier between
//! a fence that releases and one that acquires. Barriers of some threads only, and split ones, cut
//! nothing. After a call that may have a barrier an interval may begin, but no interval ends there.
//! No load is ordered if something else may write memory of the workgroup: a function that is
//! called, a copy in the background, or another workgroup of the cluster.
//!
//! # Complexity
//!
//! O(barriers × (blocks + edges + accesses of workgroup memory)), and for each interval O(loads ×
//! writes) in it; gives up beyond [`LIMIT`].

use phalanx_graph::{BitSet, Cfg, Node};
use phalanx_ir::{InstId, Opcode, Value, inst::Ordering};
use phalanx_target::{
    Scope, SourceSet,
    intrinsics::{Barrier, BarrierPhase, Family},
    target::Architecture,
};
use rustc_hash::FxHashSet;

use super::is_plain_load;
use crate::alias::query::{Alias, AliasQuery, Location};
use crate::assumed_facts::StableLoad;
use crate::code::{Code, Environment, SpaceSet};
use crate::loads::writes::{WrittenBy, may_write, written_at};
use crate::memory::order::acquires;
use crate::spaces::MemoryKinds;

/// The number of steps after which the analysis gives up.
const LIMIT: usize = 1 << 20;

/// The input of the analysis: a kernel, with facts about it.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// Its code.
    pub code: Code<'a>,
    /// Its environment: target, launch, callees.
    pub env: Environment<'a>,
    /// Blocks and edges.
    pub cfg: &'a Cfg,
    /// Where its addresses lead.
    pub kinds: &'a MemoryKinds,
    /// What the functions write that it calls.
    pub written_by: WrittenBy<'a>,
    /// Whether a fence orders only some memory, by its metadata.
    pub is_partial_fence: &'a dyn Fn(InstId) -> bool,
}

/// What the analysis needs of an instruction.
#[derive(Clone, Copy)]
enum Event {
    /// An interval ends, and another one begins.
    Barrier,
    /// An interval may begin.
    Beginning,
    Load(InstId),
    Write(Value),
}

/// Ordered loads of a kernel, in order of their numbers.
#[must_use]
pub fn ordered_loads(facts: Facts<'_>, aliases: &mut AliasQuery<'_>) -> Vec<StableLoad> {
    let Some(events) = events(facts) else { return Vec::new() };
    let mut loads: FxHashSet<InstId> = FxHashSet::default();
    let all = || events.iter().flatten().copied();
    loads.extend(all().filter_map(|event| match event {
        Event::Load(load) => Some(load),
        _ => None,
    }));
    let mut left = LIMIT;
    for (at, row) in events.iter().enumerate() {
        let is_entry = Node::new(at) == facts.cfg.entry();
        let begins = |(at, event): (usize, &Event)| {
            matches!(event, Event::Barrier | Event::Beginning).then_some(at + 1)
        };
        let within = row.iter().enumerate().filter_map(begins);
        for from in is_entry.then_some(0).into_iter().chain(within) {
            if loads.is_empty() {
                return Vec::new();
            }
            let Some(interval) = interval(facts.cfg, &events, (at, from), &mut left) else {
                return Vec::new();
            };
            if left < interval.loads.len() * interval.writes.len() {
                return Vec::new();
            }
            left -= interval.loads.len() * interval.writes.len();
            for load in interval.loads {
                let read = Location::env(facts.code.body.operands(load)[0]);
                let meets = |&to: &Value| aliases.alias(read, Location::env(to)) != Alias::No;
                if loads.contains(&load) && interval.writes.iter().any(meets) {
                    loads.remove(&load);
                }
            }
        }
    }
    let mut found: Vec<StableLoad> =
        loads.into_iter().map(|load| (load, SourceSet::OPAQUE_GROUP)).collect();
    found.sort_unstable_by_key(|(load, _)| load.into_raw().into_u32());
    found
}

/// By block, the events in it, in order. None if no load can be ordered.
fn events(facts: Facts<'_>) -> Option<Vec<Vec<Event>>> {
    let Facts { code, env, kinds, .. } = facts;
    let body = code.body;
    let is_shared = |inst| kinds.at(body, inst, 0).memories() == SpaceSet::SHARED;
    // Most functions have no such loads, or no barriers, which is cheaper to find out than what
    // they write.
    let insts = || code.flow.order().iter().flat_map(|&block| body.block_insts(block));
    let has_load = || insts().any(|inst| is_plain_load(code, inst) && is_shared(inst));
    if !has_load() || !insts().any(|inst| is_barrier(facts, inst)) {
        return None;
    }
    let mut events: Vec<Vec<Event>> = vec![Vec::new(); facts.cfg.node_count()];
    for &block in code.flow.order() {
        let row = &mut events[phalanx_ir::flow::node_of(block).index()];
        for inst in body.block_insts(block) {
            let opcode = body.inst(inst).opcode;
            if is_barrier(facts, inst) {
                row.push(Event::Barrier);
            } else if is_plain_load(code, inst) {
                row.extend(is_shared(inst).then_some(Event::Load(inst)));
            } else if may_write(code, inst) {
                let written = written_at(code, env, kinds, facts.written_by, inst)?;
                if !written.and(SpaceSet::PEERS).is_empty() {
                    return None;
                }
                if !written.and(SpaceSet::SHARED).is_empty() {
                    row.push(Event::Write(address(code, inst)?));
                }
            }
            if opcode.is_call() && acquires(code, env, inst) {
                row.push(Event::Beginning);
            }
        }
    }
    Some(events)
}

/// The address that an instruction writes to, if it has written when it has been executed.
fn address(code: Code<'_>, inst: InstId) -> Option<Value> {
    let body = code.body;
    match body.inst(inst).opcode {
        Opcode::Store => Some(body.operands(inst)[1]),
        Opcode::AtomicRmw | Opcode::CmpXchg => Some(body.operands(inst)[0]),
        Opcode::Call => {
            let name = super::called_name(code, inst)?;
            let fills = ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."];
            let is_known = fills.iter().any(|prefix| name.starts_with(prefix.as_bytes()));
            is_known.then(|| body.call_args(inst).first().copied()).flatten()
        }
        _ => None,
    }
}

/// The loads and writes that one interval may have.
#[derive(Default)]
struct Interval {
    loads: Vec<InstId>,
    writes: Vec<Value>,
}

/// The interval that begins at a place in a block. None if the limit of steps is exceeded.
fn interval(
    cfg: &Cfg,
    events: &[Vec<Event>],
    (block, from): (usize, usize),
    left: &mut usize,
) -> Option<Interval> {
    let mut found = Interval::default();
    let mut entered = BitSet::new(events.len());
    let mut work = vec![(block, from)];
    while let Some((at, from)) = work.pop() {
        let row = &events[at][from..];
        *left = left.checked_sub(row.len() + 1)?;
        let mut ends = false;
        for event in row {
            match *event {
                Event::Barrier => {
                    ends = true;
                    break;
                }
                Event::Beginning => {}
                Event::Load(load) => found.loads.push(load),
                Event::Write(to) => found.writes.push(to),
            }
        }
        if !ends {
            let next = cfg.successors(Node::new(at)).iter().map(|next| next.index());
            work.extend(next.filter(|&next| entered.insert(next)).map(|next| (next, 0)));
        }
    }
    Some(found)
}

/// Whether an instruction is a barrier of the whole workgroup that orders the accesses before it
/// and those behind it.
fn is_barrier(facts: Facts<'_>, inst: InstId) -> bool {
    let Facts { code, env, .. } = facts;
    if !is_of_all(code, inst) {
        return false;
    }
    let beside = |inst: Option<InstId>, orders: fn(Ordering) -> bool| {
        inst.is_some_and(|inst| {
            let data = code.body.inst(inst);
            data.opcode == Opcode::Fence
                && orders(data.mem().ordering())
                && is_of_group(code.context.bytes(data.mem().scope().0))
                && !(facts.is_partial_fence)(inst)
        })
    };
    let releases = |order| matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst);
    let acquires = |order| matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst);
    match env.target.architecture() {
        Architecture::Nvptx => true,
        Architecture::Amdgcn => {
            beside(code.body.prev(inst), releases) && beside(code.body.next(inst), acquires)
        }
        _ => false,
    }
}

/// Whether an instruction is a barrier at which all threads of the workgroup wait.
fn is_of_all(code: Code<'_>, inst: InstId) -> bool {
    if code.body.inst(inst).opcode != Opcode::Call {
        return false;
    }
    let found = code.called_intrinsic(inst);
    let barrier = found.and_then(|found| found.info.barrier);
    let is_whole = |barrier: Barrier| {
        !barrier.partial && barrier.scope == Scope::Workgroup && barrier.phase == BarrierPhase::Both
    };
    // A barrier with a reduction has its predicate as the last operand, which can be any value.
    barrier.is_some_and(is_whole)
        && (found.is_some_and(|found| found.family == Family::Library)
            || code.body.call_args(inst).first().is_none_or(|number| number.as_const().is_some()))
}

/// Whether an AMD synchronization scope includes all threads of a workgroup, and all memory.
fn is_of_group(scope: &[u8]) -> bool {
    matches!(scope, b"" | b"agent" | b"cluster" | b"workgroup")
}
