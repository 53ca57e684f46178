//! Loops in which threads wait for others: for lanes of their own wave, or for other workgroups.
//!
//! # Lanes that wait for each other
//!
//! ```c
//! while (atomicCAS(lock, 0, 1) != 0) ;    // one lane has the lock and has left the loop
//! ...
//! atomicExch(lock, 0);                    // without independent progress, only when all have left
//! ```
//!
//! A loop is reported ([`Rule::LanesWait`]) if three conditions hold. The result of an atomic
//! exchange or comparison in it decides whether it is left. Lanes of a wave may leave it in
//! different rounds. The memory of that operation is written behind the loop and nowhere else in
//! it. On all GPUs before Volta, and on AMD's, lanes that have left a loop wait for the others. So
//! the lane that could release the lock never does: a warning on AMD's GPUs. On others it is a
//! note, since the loop ends if lanes make progress independently. Nothing is reported if at most
//! one lane of a wave comes to the loop, or if lanes are told apart by an equation, so that one
//! lane may be meant.
//!
//! # Workgroups that wait for each other
//!
//! A loop is reported ([`Rule::GridWait`]) if three conditions hold. What it reads of memory that
//! other workgroups write decides whether it is left. Some atomic operation before it counts up
//! that memory. Which workgroups come to either depends on their numbers: the loop is a barrier of
//! the grid that not all workgroups come to. That is a note: the program decides for how many
//! workgroups it waits. It is a warning if the counter is in the memory that a cooperative launch
//! of CUDA provides, as that of `cg::grid_group::sync`: such a barrier waits for all.
//!
//! Loads and atomics in PTX assembly count like instructions: CUDA's headers write them so.
//!
//! O(cycles × operations looked at), which are bounded, and a walk of the threads of one wave for
//! each loop that is reported.

use phalanx_graph::{CycleId, Node};
use phalanx_ir::{
    InstId, Opcode, TypeKind, Value, ValueKind,
    edit::Use,
    flow::{block_of, node_of},
    inst::{InstFlags, IntPredicate, Ordering, RmwOp},
};
use phalanx_target::{
    Scope, SourceSet, SpaceKind,
    address_space::AddressSpace,
    inline_asm::{AccessKind, AsmValue},
    target::Architecture,
};
use rustc_hash::FxHashSet;

use super::{
    Facts, Finding, Level, Rule,
    sites::inline_assembly,
    walk::{Came, Walks},
    witness::{only_stored, read_register, row, slot, type_of},
};
use crate::code::read_assembly;

/// How many operations behind a condition are looked at.
const OPERATIONS: usize = 64;
/// By how many operations addresses are compared.
const DEPTH: usize = 12;

/// Loops in which threads may wait for ever.
#[must_use]
pub fn findings(facts: Facts<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    // Without an atomic or volatile access no loop waits.
    let body = facts.code.body;
    let mut insts = facts.code.flow.order().iter().flat_map(|&block| body.block_insts(block));
    if !insts.any(|inst| may_wait(facts, inst)) {
        return found;
    }
    for cycle in facts.cycles.iter() {
        found.extend(lanes(facts, cycle));
        found.extend(workgroups(facts, cycle));
    }
    // An inner and an outer loop may be left by the same operation.
    let mut seen = FxHashSet::default();
    found.retain(|finding| seen.insert((finding.inst, finding.rule)));
    found
}

/// Whether an instruction may make a loop around it wait.
fn may_wait(facts: Facts<'_>, inst: InstId) -> bool {
    let data = facts.code.body.inst(inst);
    match data.opcode {
        Opcode::CmpXchg | Opcode::AtomicRmw => true,
        Opcode::Load => {
            data.flags.contains(InstFlags::VOLATILE) || data.mem().ordering() != Ordering::NotAtomic
        }
        _ => in_assembly(facts, inst).is_some_and(|(kind, _)| kind != AccessKind::Store),
    }
}

/// The first access of memory in assembly, and its address, which is an argument.
fn in_assembly(facts: Facts<'_>, inst: InstId) -> Option<(AccessKind, Value)> {
    let asm = inline_assembly(facts.code, inst)?;
    let read = read_assembly(facts.code, asm, facts.target.architecture());
    let access = read.accesses.first()?;
    let AsmValue::Argument(at) = read.values[access.address] else { return None };
    Some((access.kind, *facts.code.body.call_args(inst).get(at as usize)?))
}

/// Blocks of a cycle that leave it, each once.
fn exits(facts: Facts<'_>, cycle: CycleId) -> impl Iterator<Item = Node> + '_ {
    // Edges of one block are adjacent.
    let mut last = None;
    let blocks = facts.cycles.exit_edges(cycle).map(|(from, _)| from);
    blocks.filter(move |&from| last.replace(from) != Some(from))
}

fn block(facts: Facts<'_>, inst: InstId) -> Option<Node> {
    facts.code.body.block_of(inst).map(node_of)
}

/// The instructions of a cycle that the condition of a branch is computed from, also through stack
/// slots.
fn behind(facts: Facts<'_>, cycle: CycleId, branch: Node) -> Vec<InstId> {
    let body = facts.code.body;
    let Some(terminator) = body.terminator(block_of(branch)) else { return Vec::new() };
    let mut seen = FxHashSet::default();
    let mut found = Vec::new();
    let mut work: Vec<Value> = body.operands(terminator).iter().take(1).copied().collect();
    while let Some(value) = work.pop() {
        let Some(inst) = value.as_inst() else { continue };
        let is_there = block(facts, inst).is_some_and(|at| facts.cycles.contains(cycle, at));
        if !is_there || found.len() >= OPERATIONS || !seen.insert(inst) {
            continue;
        }
        found.push(inst);
        match body.inst(inst).opcode {
            Opcode::Load => {
                let Some(own) = slot(facts, body.operands(inst)[0]) else { continue };
                for Use { user, index } in body.uses_of(own.into()) {
                    if body.inst(user).opcode == Opcode::Store && index == 1 {
                        work.push(body.operands(user)[0]);
                    }
                }
            }
            Opcode::Phi => work.extend(body.phi_incoming(inst).map(|(value, _)| value)),
            Opcode::Call => work.extend_from_slice(body.call_args(inst)),
            Opcode::CmpXchg | Opcode::AtomicRmw => {}
            _ => work.extend_from_slice(body.operands(inst)),
        }
    }
    found
}

/// The address of an access of memory that other threads see.
fn address(facts: Facts<'_>, inst: InstId) -> Option<Value> {
    let body = facts.code.body;
    let address = match body.inst(inst).opcode {
        Opcode::Load | Opcode::AtomicRmw | Opcode::CmpXchg => body.operands(inst)[0],
        Opcode::Store => body.operands(inst)[1],
        _ => in_assembly(facts, inst)?.1,
    };
    slot(facts, address).is_none().then_some(address)
}

/// Whether two addresses are computed alike. Two loads from one place are assumed to give one
/// value.
fn is_same(facts: Facts<'_>, one: Value, other: Value) -> bool {
    let body = facts.code.body;
    let mut work = vec![(one, other)];
    for _ in 0..DEPTH {
        let Some((one, other)) = work.pop() else { return true };
        let [one, other] = [one, other].map(|value| resolved(facts, value));
        if one == other {
            continue;
        }
        let (Some(a), Some(b)) = (one.as_inst(), other.as_inst()) else { return false };
        let is_step = |inst| {
            matches!(
                body.inst(inst).opcode,
                Opcode::GetElementPtr
                    | Opcode::AddrSpaceCast
                    | Opcode::SExt
                    | Opcode::ZExt
                    | Opcode::Load
            )
        };
        let (left, right) = (body.operands(a), body.operands(b));
        let is_alike = is_step(a) && is_step(b) && body.inst(a).opcode == body.inst(b).opcode;
        if !is_alike || left.len() != right.len() {
            return false;
        }
        work.extend(left.iter().copied().zip(right.iter().copied()));
    }
    work.is_empty()
}

/// The value that a load gives from a slot that is written at one place.
fn resolved(facts: Facts<'_>, value: Value) -> Value {
    let mut at = value;
    for _ in 0..DEPTH {
        match at.as_inst().and_then(|load| only_stored(facts, load)) {
            Some(value) => at = value,
            None => return at,
        }
    }
    at
}

/// All writes of memory that other threads see, except one.
fn writes(facts: Facts<'_>, but: InstId) -> impl Iterator<Item = (InstId, Node, Value)> + '_ {
    let body = facts.code.body;
    let insts = facts.code.flow.order().iter().flat_map(move |&at| body.block_insts(at));
    insts.filter(move |&inst| inst != but).filter_map(move |inst| {
        let is_write = match body.inst(inst).opcode {
            Opcode::Store | Opcode::AtomicRmw | Opcode::CmpXchg => true,
            _ => in_assembly(facts, inst).is_some_and(|(kind, _)| kind != AccessKind::Load),
        };
        let address = is_write.then(|| address(facts, inst)).flatten()?;
        Some((inst, block(facts, inst)?, address))
    })
}

fn lanes(facts: Facts<'_>, cycle: CycleId) -> Option<Finding> {
    let body = facts.code.body;
    for branch in exits(facts, cycle) {
        let sources = facts.divergence.terminator(branch) & facts.varying(Scope::Wave);
        if sources.is_empty() {
            continue;
        }
        let takes = |&inst: &InstId| match body.inst(inst).opcode {
            Opcode::CmpXchg => true,
            Opcode::AtomicRmw => matches!(
                body.inst(inst).rmw_op(),
                RmwOp::Xchg | RmwOp::Or | RmwOp::Max | RmwOp::UMax
            ),
            _ => false,
        };
        for acquire in behind(facts, cycle, branch).into_iter().filter(takes) {
            let Some(lock) = address(facts, acquire) else { continue };
            let (within, behind): (Vec<_>, Vec<_>) = writes(facts, acquire)
                .filter(|(_, _, address)| is_same(facts, *address, lock))
                .partition(|(_, at, _)| facts.cycles.contains(cycle, *at));
            let header = facts.cycles.header(cycle);
            let is_released = behind.iter().any(|(_, at, _)| facts.dom.dominates(header, *at));
            if within.is_empty() && is_released && may_be_several(facts, acquire) {
                // On these targets lanes of a wave never go on without the others.
                let level = match facts.target.architecture() {
                    Architecture::Amdgcn | Architecture::R600 => Level::Warning,
                    _ => Level::Note,
                };
                return Some(Finding {
                    branch: Some(branch),
                    sources,
                    ..Finding::new(Rule::LanesWait, level, acquire, Scope::Wave)
                });
            }
        }
    }
    None
}

/// Whether several lanes of a wave come to an instruction, and nothing indicates that one is meant.
fn may_be_several(facts: Facts<'_>, inst: InstId) -> bool {
    let body = facts.code.body;
    let Some(at) = block(facts, inst) else { return false };
    let walks = Walks::to(facts, (inst, at), Scope::Wave);
    let width = facts.launch.wave_width.unwrap_or(32).min(facts.launch.max_extent(0));
    // The rounds, of the loops around the one that waits, in which each lane comes.
    let mut rounds: FxHashSet<Vec<u32>> = FxHashSet::default();
    let (mut several, mut are_sure, mut together) = (0, true, false);
    for came in row(0, width).into_iter().map(|thread| walks.of(thread, None)) {
        match came {
            Came::Comes(arrivals) => {
                are_sure &= arrivals.iter().all(|arrival| arrival.is_sure);
                let env = arrivals.iter().map(|arrival| arrival.rounds.get(1..));
                let own: FxHashSet<Vec<u32>> =
                    env.map(|rounds| rounds.unwrap_or_default().to_vec()).collect();
                together |= own.into_iter().any(|round| !rounds.insert(round));
            }
            Came::NotCalled | Came::Unknown => are_sure = false,
            Came::StaysAway(_) => continue,
        }
        several += 1;
    }
    if several < 2 {
        return false;
    }
    // If lanes take turns, one comes in each round.
    if are_sure {
        return together;
    }
    let branches = facts.control.iterated_controllers(facts.postdom, [at]);
    let cycle = facts.cycles.innermost(at);
    !branches.into_iter().any(|branch| {
        let parts = facts.divergence.terminator(branch).intersects(facts.varying(Scope::Wave));
        let is_around = cycle.is_none_or(|cycle| !facts.cycles.contains(cycle, branch));
        parts && is_around && {
            let terminator = body.terminator(block_of(branch));
            let condition = terminator.and_then(|last| body.operands(last).first()?.as_inst());
            let compare = condition.map(|inst| body.inst(inst));
            !compare.is_some_and(|data| {
                data.opcode == Opcode::ICmp
                    && !matches!(data.int_predicate(), IntPredicate::Eq | IntPredicate::Ne)
            })
        }
    })
}

fn workgroups(facts: Facts<'_>, cycle: CycleId) -> Option<Finding> {
    let body = facts.code.body;
    let header = facts.cycles.header(cycle);
    let waits = |&branch: &Node| {
        let reads =
            |&inst: &InstId| body.inst(inst).opcode == Opcode::Load || may_wait(facts, inst);
        behind(facts, cycle, branch).iter().any(reads)
    };
    if !exits(facts, cycle).any(|branch| waits(&branch)) {
        return None;
    }
    let groups = SourceSet::BLOCK_XYZ | SourceSet::CLUSTER;
    let entered_by = facts.entered_by();
    let of_groups = |at: Node| {
        (facts.controlled[at.index()] | entered_by) & facts.varying(Scope::Grid) & groups
    };
    if of_groups(header).is_empty() {
        return None;
    }
    for branch in exits(facts, cycle) {
        let reads = |&inst: &InstId| {
            may_wait(facts, inst) && address(facts, inst).is_some_and(|of| is_of_device(facts, of))
        };
        for read in behind(facts, cycle, branch).into_iter().filter(reads) {
            let Some(counter) = address(facts, read) else { continue };
            let counts = |&(inst, at, address): &(InstId, Node, Value)| {
                let adds = || match in_assembly(facts, inst) {
                    Some((AccessKind::Atomic { adds }, _)) => adds,
                    _ => false,
                };
                (body.inst(inst).opcode == Opcode::AtomicRmw || adds())
                    && facts.dom.dominates(at, header)
                    && is_same(facts, address, counter)
                    && !of_groups(at).is_empty()
            };
            if writes(facts, read).any(|write| counts(&write)) {
                let level = match is_of_launch(facts, counter) {
                    true => Level::Warning,
                    false => Level::Note,
                };
                return Some(Finding {
                    sources: of_groups(header),
                    ..Finding::new(Rule::GridWait, level, read, Scope::Grid)
                });
            }
        }
    }
    None
}

/// Whether an address may lead to memory of other workgroups.
fn is_of_device(facts: Facts<'_>, address: Value) -> bool {
    let body = facts.code.body;
    let mut at = address;
    for _ in 0..DEPTH {
        let kind = type_of(facts, at).map(|ty| facts.code.context.type_kind(ty));
        let space = kind
            .and_then(TypeKind::address_space)
            .map(|number| AddressSpace::of(facts.target.architecture(), number).kind());
        if matches!(space, Some(SpaceKind::Workgroup | SpaceKind::Private)) {
            return false;
        }
        match at.kind() {
            ValueKind::Inst(inst) => match body.inst(inst).opcode {
                Opcode::GetElementPtr | Opcode::AddrSpaceCast => at = body.operands(inst)[0],
                _ => return true,
            },
            _ => return true,
        }
    }
    true
}

/// Whether an address is computed from the registers in which a cooperative launch of CUDA passes
/// memory for barriers of the grid.
fn is_of_launch(facts: Facts<'_>, address: Value) -> bool {
    let body = facts.code.body;
    let mut work = vec![address];
    for _ in 0..OPERATIONS {
        let Some(value) = work.pop() else { return false };
        let Some(inst) = value.as_inst() else { continue };
        if body.inst(inst).opcode.is_call() {
            let register = read_register(facts, inst);
            if register.is_some_and(|found| found.base.contains("sreg.envreg")) {
                return true;
            }
            continue;
        }
        work.extend_from_slice(body.operands(inst));
    }
    false
}
