//! Which instructions make visible what other threads wrote.
//!
//! # What
//!
//! An *acquire* is what a thread has to do to read, without a race, what another thread wrote
//! during the launch: an atomic operation with acquire ordering, a fence with one, a barrier, or a
//! call that may contain one of these. A thread that has executed none reads, wherever there is no
//! race, what memory was when the launch began, or what it wrote itself.
//!
//! An operation counts as an acquire unless it is known not to be one. Volatile accesses are not
//! acquires: they order nothing (LLVM Language Reference, *Volatile Memory Accesses*). O(1) per
//! instruction.

use phalanx_graph::{BitSet, Cfg, Node};
use phalanx_ir::{InstId, Opcode, attributes::MemoryEffects, constant::ConstKind, inst::Ordering};

use super::effects::call_effects;
use crate::code::{Code, Environment};

/// Intrinsics that write memory as stores do, and order nothing.
const PLAIN: [&[u8]; 6] = [
    b"llvm.memcpy.",
    b"llvm.memmove.",
    b"llvm.memset.",
    b"llvm.lifetime.",
    b"llvm.masked.",
    b"llvm.prefetch.",
];

const fn is_acquire(ordering: Ordering) -> bool {
    matches!(ordering, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

/// Whether an instruction may be an acquire.
#[must_use]
pub fn acquires(code: Code<'_>, env: Environment<'_>, inst: InstId) -> bool {
    let data = code.body.inst(inst);
    match data.opcode {
        Opcode::Load | Opcode::Store | Opcode::Fence | Opcode::AtomicRmw => {
            is_acquire(data.mem().ordering())
        }
        Opcode::CmpXchg => {
            is_acquire(data.mem().ordering()) || is_acquire(data.mem().failure_ordering())
        }
        opcode if opcode.is_call() => call_acquires(code, env, inst),
        _ => false,
    }
}

fn call_acquires(code: Code<'_>, env: Environment<'_>, call: InstId) -> bool {
    let Code { context, body, .. } = code;
    let info = body.call_info(call);
    let is_control = |tag| Some(tag) == context.find_symbol(b"convergencectrl");
    if info.bundles.iter().any(|&(tag, _)| !is_control(tag)) {
        return true;
    }
    let callee = body.const_callee(call).map(|callee| &context.const_data(callee).kind);
    let name = match callee {
        Some(&ConstKind::Global(name)) => name,
        // Code that is not visible, such as assembly. Its memory attributes say nothing about
        // barriers.
        _ => return true,
    };
    if let Some(intrinsic) = code.called_intrinsic(call) {
        let info = intrinsic.info;
        // `nosync` in LLVM's own tables proves nothing: LLVM gives it to barriers and fences, too.
        let is_plain = || {
            let effects = call_effects(code, env, call);
            effects.only_reads() && !info.convergent || effects == MemoryEffects::NONE
        };
        let text = name.symbol().map(|symbol| context.bytes(symbol)).unwrap_or_default();
        let is_store = PLAIN.iter().any(|prefix| text.starts_with(prefix));
        return info.barrier.is_some() || !is_store && !is_plain();
    }
    match env.calls.summary(name).filter(|found| found.ty == Some(info.function_type)) {
        Some(summary) => summary.effects.acquires,
        None => true,
    }
}

/// Blocks that can be reached from any of `work` over at least one edge. O(blocks + edges).
pub(crate) fn blocks_behind(cfg: &Cfg, mut work: Vec<Node>) -> BitSet {
    let mut behind = BitSet::new(cfg.node_count());
    while let Some(block) = work.pop() {
        for &next in cfg.successors(block) {
            if behind.insert(next.index()) {
                work.push(next);
            }
        }
    }
    behind
}
