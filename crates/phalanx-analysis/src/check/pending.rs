//! Copies in the background whose memory is accessed before a wait for them.
//!
//! ```c
//! event_t e = async_work_group_copy(tile, in, 64, 0);
//! float v = tile[get_local_id(0)];     // the copy may not have finished
//! wait_group_events(1, &e);
//! ```
//!
//! A copy is tracked from its call along the edges of the graph, up to any wait. The analysis does
//! not find out which copies a wait is for, so a wait for another copy hides a mistake. On the way
//!
//! | copy | accesses that are wrong |
//! |---|---|
//! | `async_work_group_copy` and `_strided_copy` to a whole variable of workgroup memory | loads, stores and atomics of the variable |
//! | the same from such a variable | stores and atomics of it |
//! | `llvm.nvvm.cp.async.ca` and `.cg` to workgroup memory | loads of exactly that address |
//!
//! A copy of a part of a variable is not judged: the other part may be in use meanwhile, as in
//! double buffering. An access is certain if it is executed whenever the copy is, with no barrier
//! in between. That is an *error* for a copy by a workgroup, which runs beside all threads.
//! Everything else is a *warning*. An access behind a barrier is a warning, too: the barrier does
//! not wait for the copy, but in `phalanx-simt` one thread copies at the call, so nothing goes
//! wrong there. O(copies × instructions).

use phalanx_graph::Node;
use phalanx_ir::{
    GlobalName, InstId, Opcode, Value, ValueKind,
    constant::ConstKind,
    flow::{block_of, node_of},
};
use phalanx_target::{Scope, SpaceKind, address_space::AddressSpace, library::source_name};
use rustc_hash::FxHashSet;

use super::{
    Calls, Facts, Finding, Level, Rule,
    sites::{SiteKind, integer, sites_at},
};
use crate::code::Code;

/// How many steps of an address are looked at.
const STEPS: usize = 16;

/// Memory that must not be accessed while a copy goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Busy {
    /// A whole variable.
    Variable { name: GlobalName, is_read: bool },
    /// The memory at an address, in the thread that copies.
    Address(Value),
}

/// Whether a function begins a copy. O(instructions).
#[must_use]
pub fn has_copies(code: Code<'_>) -> bool {
    let mut insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    insts.any(|inst| !matches!(kind_of_call(code, inst), None | Some(Kind::Wait)))
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    OfWorkgroup,
    OfThread,
    Wait,
}

fn kind(name: &[u8]) -> Option<Kind> {
    if let Some(rest) = name.strip_prefix(b"llvm.nvvm.cp.async.") {
        return match rest {
            _ if rest.starts_with(b"ca.shared") || rest.starts_with(b"cg.shared") => {
                Some(Kind::OfThread)
            }
            // Any of these may wait for the copy: waits for groups, and arrivals at objects.
            _ if rest.starts_with(b"wait") || rest.starts_with(b"mbarrier") => Some(Kind::Wait),
            _ => None,
        };
    }
    match source_name(name)? {
        "async_work_group_copy" | "async_work_group_strided_copy" => Some(Kind::OfWorkgroup),
        "wait_group_events" => Some(Kind::Wait),
        _ => None,
    }
}

fn kind_of_call(code: Code<'_>, inst: InstId) -> Option<Kind> {
    if code.body.inst(inst).opcode != Opcode::Call {
        return None;
    }
    let callee = code.body.const_callee(inst)?;
    match &code.context.const_data(callee).kind {
        &ConstKind::Global(GlobalName::Named(symbol)) => kind(code.context.bytes(symbol)),
        _ => None,
    }
}

/// Findings about copies, in the order of the copies. `size` gives the bytes of a variable.
#[must_use]
pub fn findings(facts: Facts<'_>, size: &dyn Fn(GlobalName) -> Option<u64>) -> Vec<Finding> {
    let code = facts.code;
    let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    let mut found = Vec::new();
    for copy in insts {
        let Some(kind) = kind_of_call(code, copy) else { continue };
        for busy in busy(facts, copy, kind, size) {
            found.extend(too_soon(facts, copy, busy));
        }
    }
    found
}

/// The memory that must not be accessed while a copy goes on.
fn busy(
    facts: Facts<'_>,
    copy: InstId,
    kind: Kind,
    size: &dyn Fn(GlobalName) -> Option<u64>,
) -> Vec<Busy> {
    let code = facts.code;
    let args = code.body.call_args(copy);
    match (kind, args) {
        (Kind::OfThread, &[to, ..]) => vec![Busy::Address(to)],
        (Kind::OfWorkgroup, &[to, from, count, ..]) => {
            let whole = |pointer: Value| {
                let name = variable(facts, pointer)?;
                let elements = integer(code, count)?;
                let bytes = elements.checked_mul(element_size(code, copy)?)?;
                (size(name)? <= bytes).then_some(name)
            };
            let written = whole(to).map(|name| Busy::Variable { name, is_read: false });
            let read = whole(from).map(|name| Busy::Variable { name, is_read: true });
            written.into_iter().chain(read).collect()
        }
        _ => Vec::new(),
    }
}

/// The bytes of an element, by the type in the name:
/// `_Z21async_work_group_copyPU3AS3fPU3AS1Kfm...`.
fn element_size(code: Code<'_>, copy: InstId) -> Option<u64> {
    let callee = code.body.const_callee(copy)?;
    let ConstKind::Global(GlobalName::Named(symbol)) = code.context.const_data(callee).kind else {
        return None;
    };
    let bytes = code.context.bytes(symbol);
    let name = std::str::from_utf8(bytes).ok()?;
    let parameters = &name[name.find("copyP")? + "copyP".len()..];
    // The name of an address space, with its length before it.
    let mut ty = match parameters.strip_prefix('U') {
        Some(rest) => {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            rest.get(digits + rest[..digits].parse::<usize>().ok()?..)?
        }
        None => parameters,
    };
    let mut count = 1;
    if let Some(vector) = ty.strip_prefix("Dv") {
        let (lanes, element) = vector.split_once('_')?;
        // Vectors of three elements are as large as those of four.
        count = lanes.parse::<u64>().ok()?.next_power_of_two();
        ty = element;
    }
    let size = match ty.as_bytes() {
        [b'c' | b'h' | b'a', ..] => 1,
        [b's' | b't', ..] => 2,
        [b'D', b'h', ..] => 2,
        [b'i' | b'j' | b'f', ..] => 4,
        [b'l' | b'm' | b'd', ..] => 8,
        _ => return None,
    };
    Some(count * size)
}

/// The variable of workgroup memory to whose first byte a pointer points.
fn variable(facts: Facts<'_>, pointer: Value) -> Option<GlobalName> {
    let (base, is_moved) = base(facts.code, pointer);
    if is_moved {
        return None;
    }
    of_workgroup(facts, base)
}

/// The variable of workgroup memory that a value is the address of.
fn of_workgroup(facts: Facts<'_>, base: Value) -> Option<GlobalName> {
    let data = facts.code.context.const_data(base.as_const()?);
    let &ConstKind::Global(name) = &data.kind else { return None };
    let number = facts.code.context.type_kind(data.ty).address_space()?;
    let kind = AddressSpace::of(facts.target.architecture(), number).kind();
    (kind == SpaceKind::Workgroup).then_some(name)
}

/// The base of an address, and whether something is added to it.
fn base(code: Code<'_>, pointer: Value) -> (Value, bool) {
    let (mut at, mut is_moved) = (pointer, false);
    for _ in 0..STEPS {
        let next = match at.kind() {
            ValueKind::Inst(inst) => match code.body.inst(inst).opcode {
                Opcode::GetElementPtr => {
                    is_moved = true;
                    code.body.operands(inst)[0]
                }
                Opcode::AddrSpaceCast | Opcode::BitCast => code.body.operands(inst)[0],
                _ => return (at, is_moved),
            },
            ValueKind::Const(constant) => match &code.context.const_data(constant).kind {
                ConstKind::Expr(expr) => {
                    is_moved |= expr.opcode == Opcode::GetElementPtr;
                    Value::constant(expr.operands[0])
                }
                _ => return (at, is_moved),
            },
            _ => return (at, is_moved),
        };
        at = next;
    }
    (at, true)
}

/// The address without casts.
fn uncast(code: Code<'_>, pointer: Value) -> Value {
    let mut at = pointer;
    for _ in 0..STEPS {
        match at.as_inst() {
            Some(inst)
                if matches!(
                    code.body.inst(inst).opcode,
                    Opcode::AddrSpaceCast | Opcode::BitCast
                ) =>
            {
                at = code.body.operands(inst)[0];
            }
            _ => break,
        }
    }
    at
}

/// The finding about the first access, in the order of the function, of those that come first in
/// each block behind a copy and before any wait. A copy has at most one finding.
fn too_soon(facts: Facts<'_>, copy: InstId, busy: Busy) -> Option<Finding> {
    let code = facts.code;
    let home = node_of(code.body.block_of(copy)?);
    let mut seen: FxHashSet<Node> = FxHashSet::default();
    let mut wrong: Vec<InstId> = Vec::new();
    let mut has_barrier = false;
    let mut work: Vec<(Node, Option<InstId>)> = vec![(home, Some(copy))];
    while let Some((node, after)) = work.pop() {
        let insts = code.body.block_insts(block_of(node));
        let mut insts = insts.skip_while(|&inst| after.is_some_and(|after| inst != after));
        if after.is_some() {
            insts.next();
        }
        let mut is_open = true;
        for inst in insts {
            // The next execution of the copy has waited for nothing, but what follows belongs to
            // it.
            let kind = kind_of_call(code, inst);
            let [is_barrier, may_wait] = match kind {
                Some(_) => [false, kind == Some(Kind::Wait)],
                None => waits(facts, inst),
            };
            if inst == copy || may_wait {
                is_open = false;
                break;
            }
            has_barrier |= is_barrier;
            if accesses(facts, inst, busy) {
                wrong.push(inst);
                is_open = false;
                break;
            }
        }
        if is_open {
            let next = facts.cfg.successors(node).iter();
            let next = next.filter(|&&to| may_follow(facts, home, to, busy) && seen.insert(to));
            work.extend(next.map(|&to| (to, None)));
        }
    }
    let place = |inst: &InstId| {
        let block = code.body.block_of(*inst);
        code.flow.order().iter().position(|&at| Some(at) == block)
    };
    let first = wrong.into_iter().min_by_key(place)?;
    let at = node_of(code.body.block_of(first)?);
    let is_certain = matches!(busy, Busy::Variable { .. })
        && !has_barrier
        && facts.dom.dominates(home, at)
        && (home == at || facts.postdom.post_dominates(at, home));
    let level = if is_certain { Level::Error } else { Level::Warning };
    let other = Some(copy);
    Some(Finding { other, ..Finding::new(Rule::PendingCopy, level, first, Scope::Workgroup) })
}

/// Whether a call is a barrier, and whether it is of a function that may wait for copies.
fn waits(facts: Facts<'_>, inst: InstId) -> [bool; 2] {
    let architecture = &|| facts.target.architecture();
    let calls = Calls { callee: facts.callee, architecture };
    let mut found = [false; 2];
    for site in sites_at(facts.code, inst, calls) {
        match site.kind {
            SiteKind::Call(_) | SiteKind::Unknown => found[1] = true,
            kind => found[0] |= kind.may_wait(),
        }
    }
    found
}

/// Whether an address has the same value after an edge.
fn may_follow(facts: Facts<'_>, home: Node, to: Node, busy: Busy) -> bool {
    match busy {
        Busy::Variable { .. } => true,
        // In another round of a loop it is computed anew.
        Busy::Address(_) => to != home && facts.dom.dominates(home, to),
    }
}

fn accesses(facts: Facts<'_>, inst: InstId, busy: Busy) -> bool {
    let code = facts.code;
    let operands = code.body.operands(inst);
    let (address, writes) = match code.body.inst(inst).opcode {
        Opcode::Load => (operands[0], false),
        Opcode::Store => (operands[1], true),
        Opcode::AtomicRmw | Opcode::CmpXchg => (operands[0], true),
        _ => return false,
    };
    match busy {
        Busy::Variable { name, is_read } => {
            let is_affected = writes || !is_read;
            is_affected && of_workgroup(facts, base(code, address).0) == Some(name)
        }
        Busy::Address(to) => !writes && uncast(code, address) == uncast(code, to),
    }
}
