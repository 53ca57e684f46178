//! Workgroup memory that is written again before all waves have read it.
//!
//! ```c
//! do {
//!   flag[t] = more(t);
//!   barrier();
//!   ...
//!   again = flag[0];      // no barrier behind it: a quick wave writes flag[0] of the next round
//! } while (again);
//! ```
//!
//! A branch that decides a barrier depends on what is loaded from workgroup memory at one address.
//! All waves go one way if they read one value. If a store to that memory can be executed after the
//! load without a barrier in between, a wave can execute it before another wave has read. That is
//! [`Rule::WrittenTooSoon`], a warning at the load. If a barrier is on every path to the next
//! store, there is no finding ([stable loads](crate::stable)).
//!
//! Stores to another variable, or to the memory of another argument of a kernel, are left out. The
//! load may be in a callee that returns what it has read, and the store in one that is called next
//! ([`Edges`]). Then the finding is at the call, for any variables. O(instructions) behind each
//! such load.

use phalanx_graph::Node;
use phalanx_ir::{
    BlockId, GlobalName, InstId, Opcode, Value, ValueKind,
    constant::ConstKind,
    edit::Use,
    flow::{block_of, node_of},
};
use phalanx_target::{Architecture, Scope, SourceSet, SpaceKind, intrinsics::BarrierPhase};
use rustc_hash::FxHashSet;

use super::facts::Edges;
use super::{
    Facts, Finding, Level, Rule,
    accesses::{space, space_of},
    launch::harmless,
    sites::{self, Calls, Site, SiteKind, called},
    witness::slot,
};
use crate::code::{Code, Numbering};

/// How many operations behind a condition are looked at.
const OPERATIONS: usize = 48;

/// What a function does with workgroup memory at its ends. O(instructions).
#[must_use]
pub fn edges(code: Code<'_>, architecture: Architecture, calls: Calls<'_>) -> Edges {
    let body = code.body;
    let waits = |inst: InstId| {
        let mut found = sites::sites_at(code, inst, calls).into_iter();
        found.any(|site| site.kind.may_wait())
    };
    let is_shared =
        |address: Value| space_of(code, architecture, address) == Some(SpaceKind::Workgroup);
    let written = |inst: InstId| match body.inst(inst).opcode {
        Opcode::Store => Some(body.operands(inst)[1]),
        Opcode::AtomicRmw | Opcode::CmpXchg => Some(body.operands(inst)[0]),
        _ => None,
    };
    let mut edges = Edges::default();
    let mut seen = FxHashSet::default();
    let mut work: Vec<BlockId> = code.flow.entry().into_iter().collect();
    while let Some(block) = work.pop().filter(|_| !edges.writes_first) {
        let mut insts = body.block_insts(block).take_while(|&inst| !waits(inst));
        edges.writes_first = { &mut insts }.any(|inst| written(inst).is_some_and(is_shared));
        if !body.block_insts(block).any(waits) {
            let next = code.flow.successors(block).iter();
            work.extend(next.filter(|&&next| seen.insert(next)).copied());
        }
    }
    for &block in code.flow.order() {
        let Some(last) = body.terminator(block) else { continue };
        if body.inst(last).opcode != Opcode::Ret || edges.returns_read {
            continue;
        }
        // The value is computed where no operation waits any more.
        let insts: Vec<InstId> = body.block_insts(block).collect();
        let behind = insts.iter().rposition(|&inst| waits(inst)).map_or(0, |at| at + 1);
        let mut work: Vec<Value> = body.operands(last).to_vec();
        for _ in 0..OPERATIONS {
            let Some(inst) = work.pop().and_then(Value::as_inst) else { break };
            if !insts[behind..].contains(&inst) {
                continue;
            }
            match body.inst(inst).opcode {
                Opcode::Load if is_shared(body.operands(inst)[0]) => edges.returns_read = true,
                Opcode::Load => {
                    let stores = body.operands(inst)[0]
                        .as_inst()
                        .into_iter()
                        .flat_map(|own| body.uses_of(own.into()));
                    let stores = stores
                        .filter(|of| body.inst(of.user).opcode == Opcode::Store && of.index == 1);
                    work.extend(stores.take(2).map(|of| body.operands(of.user)[0]));
                }
                Opcode::Phi | Opcode::Call => {}
                _ => work.extend_from_slice(body.operands(inst)),
            }
        }
    }
    edges
}

/// The finding about a load that a branch depends on, if its memory may be written again too soon.
pub(super) fn finding(facts: Facts<'_>, waiting: &[&Site], branch: Node) -> Option<Finding> {
    let loads = reads_behind(facts, branch);
    loads.into_iter().find_map(|load| {
        let store = written_after(facts, waiting, load)?;
        let numbering = Numbering::new(facts.code.header);
        let sources = facts.divergence.value(numbering.inst(load));
        Some(Finding {
            other: Some(store),
            safe: harmless(
                sources & facts.varying(Scope::Workgroup),
                Scope::Workgroup,
                facts.launch,
            ),
            sources: sources & facts.varying(Scope::Workgroup),
            ..Finding::new(Rule::WrittenTooSoon, Level::Warning, load, Scope::Workgroup)
        })
    })
}

/// Loads from workgroup memory, at one address for the workgroup, that a condition is computed
/// from, and calls that return such loads.
fn reads_behind(facts: Facts<'_>, branch: Node) -> Vec<InstId> {
    let body = facts.code.body;
    let Some(terminator) = body.terminator(block_of(branch)) else { return Vec::new() };
    let mut seen = FxHashSet::default();
    let mut found = Vec::new();
    let mut work: Vec<Value> = body.operands(terminator).iter().take(1).copied().collect();
    while let Some(inst) = work.pop() {
        let Some(inst) = inst.as_inst() else { continue };
        if seen.len() >= OPERATIONS || !seen.insert(inst) {
            continue;
        }
        facts.reads_inst(inst);
        let operands = body.operands(inst);
        match body.inst(inst).opcode {
            Opcode::Load => match slot(facts, operands[0]) {
                Some(own) => {
                    facts.reads_slots();
                    for Use { user, index } in body.uses_of(own.into()) {
                        if body.inst(user).opcode == Opcode::Store && index == 1 {
                            work.push(body.operands(user)[0]);
                        }
                    }
                }
                None if is_shared(facts, operands[0]) && is_one(facts, operands[0]) => {
                    found.push(inst);
                }
                None => {}
            },
            Opcode::Phi => work.extend(body.phi_incoming(inst).map(|(value, _)| value)),
            Opcode::Call => {
                let name = called(facts.code, inst);
                if name.is_some_and(|name| facts.at_edges(name).returns_read) {
                    found.push(inst);
                }
            }
            _ => work.extend_from_slice(operands),
        }
    }
    found
}

fn is_shared(facts: Facts<'_>, address: Value) -> bool {
    space(facts, address) == Some(SpaceKind::Workgroup)
}

fn is_one(facts: Facts<'_>, address: Value) -> bool {
    let numbering = Numbering::new(facts.code.header);
    let sources = numbering.operand(address).map_or(SourceSet::EMPTY, |number| {
        let sources = facts.divergence.value(number);
        facts.reads_value(number, sources);
        sources
    });
    !sources.intersects(facts.varying(Scope::Workgroup))
}

/// A store to memory that a load reads, executed after the load with no barrier in between.
fn written_after(facts: Facts<'_>, waiting: &[&Site], load: InstId) -> Option<InstId> {
    let body = facts.code.body;
    let start = body.block_of(load)?;
    let read = match body.inst(load).opcode {
        Opcode::Load => object(facts, body.operands(load)[0]),
        _ => None,
    };
    let waits = |inst: InstId| {
        waiting.iter().any(|site| {
            site.inst == inst
                && match site.kind {
                    SiteKind::Barrier { barrier, .. } => barrier.phase != BarrierPhase::Arrive,
                    _ => true,
                }
        })
    };
    let writes = |inst: InstId| {
        let address = match body.inst(inst).opcode {
            Opcode::Store => body.operands(inst)[1],
            Opcode::AtomicRmw | Opcode::CmpXchg => body.operands(inst)[0],
            _ => return false,
        };
        let written = object(facts, address);
        is_shared(facts, address) && (read.is_none() || written.is_none() || read == written)
    };
    facts.reads_slots();
    let mut seen = FxHashSet::default();
    let mut work = vec![(start, Some(load))];
    while let Some((block, after)) = work.pop() {
        let mut insts =
            body.block_insts(block).skip_while(|&inst| after.is_some_and(|at| at != inst));
        if after.is_some() {
            insts.next();
        }
        let mut is_over = false;
        for inst in insts {
            let name = called(facts.code, inst);
            if name.is_some_and(|name| facts.at_edges(name).writes_first) {
                return Some(inst);
            }
            if waits(inst) {
                is_over = true;
                break;
            }
            if writes(inst) {
                return Some(inst);
            }
        }
        if !is_over {
            let next = facts.cfg.successors(node_of(block)).iter();
            work.extend(
                next.filter(|&&next| seen.insert(next)).map(|&next| (block_of(next), None)),
            );
        }
    }
    None
}

/// Workgroup memory that overlaps no other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Object {
    Variable(GlobalName),
    /// What an argument of a kernel points to: the host passes each memory of its own.
    Argument(u32),
}

/// The object that an address is in, if it is known.
fn object(facts: Facts<'_>, address: Value) -> Option<Object> {
    let body = facts.code.body;
    let mut at = address;
    for _ in 0..32 {
        at = match at.kind() {
            ValueKind::Inst(inst) => match body.inst(inst).opcode {
                Opcode::GetElementPtr | Opcode::AddrSpaceCast => body.operands(inst)[0],
                _ => return None,
            },
            ValueKind::Const(constant) => match &facts.code.context.const_data(constant).kind {
                ConstKind::Global(name) => return Some(Object::Variable(*name)),
                ConstKind::Expr(expr) => Value::constant(*expr.operands.first()?),
                _ => return None,
            },
            ValueKind::Arg(position) if facts.is_kernel => {
                return Some(Object::Argument(position));
            }
            _ => return None,
        };
    }
    None
}
