//! Where a function has operations that other threads take part in.

use phalanx_graph::Node;
use phalanx_ir::{
    Const, GlobalName, InstId, Value, attributes::AttrKind, constant::ConstKind, flow::node_of,
};
use phalanx_target::{
    Architecture, Transfer,
    intrinsics::{self, Barrier, BarrierPhase, Intrinsic},
};

use super::{assembly, kinds};
use crate::lower::Code;

/// What a function that is called does, as far as barriers are concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee {
    /// It executes no barrier.
    Silent,
    /// There is a barrier in it, or in what it calls.
    Barrier,
    /// Nothing is known: it may.
    Unknown,
}

/// What rules ask about calls.
#[derive(Clone, Copy)]
pub struct Calls<'a> {
    /// What is known of a function that is called.
    pub callee: &'a dyn Fn(GlobalName) -> Callee,
    /// Whose instructions inline assembly has. Asked only where there is some.
    pub architecture: &'a dyn Fn() -> Architecture,
}

/// An operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Site {
    pub(super) inst: InstId,
    pub(super) block: Node,
    pub(super) kind: SiteKind,
}

/// What it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SiteKind {
    /// A barrier. The number, and that of the threads that it is for, is none where the target has none or it is no constant.
    Barrier { barrier: Barrier, number: Option<u64>, threads: Option<u64> },
    /// A call of a function with a barrier in it.
    Call(GlobalName),
    /// A call of a function in which there may be one.
    Unknown,
    /// An operation of a wave, and what names the threads that take part, if anything does.
    Group { members: Option<Members> },
}

/// What names the threads that take part in an operation of a wave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Members {
    /// An argument of the call.
    Argument(u8),
    /// A number in the text of inline assembly.
    Lanes(u64),
    /// Something that inline assembly computes.
    Computed,
}

impl SiteKind {
    /// Whether all threads of some group are waited for, or may be.
    pub(super) fn may_wait(self) -> bool {
        !matches!(self, SiteKind::Group { .. })
    }
}

/// All operations, in the order of the text. O(instructions).
pub(super) fn sites(code: Code<'_>, calls: Calls<'_>) -> Vec<Site> {
    let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    insts.filter_map(|inst| site(code, inst, calls)).collect()
}

/// What an instruction is, if rules are about it.
pub(super) fn site(code: Code<'_>, inst: InstId, calls: Calls<'_>) -> Option<Site> {
    let block = node_of(code.body.block_of(inst)?);
    Some(Site { inst, block, kind: kind(code, inst, calls)? })
}

/// What a function does in its own code: a barrier there is one for which others wait, of all threads of a workgroup or more. O(instructions).
#[must_use]
pub fn own_barriers(code: Code<'_>, architecture: &dyn Fn() -> Architecture) -> Callee {
    let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    let mut answer = Callee::Silent;
    for inst in insts {
        match does(code, inst, architecture) {
            Callee::Silent => {}
            Callee::Unknown => answer = Callee::Unknown,
            Callee::Barrier => return Callee::Barrier,
        }
    }
    answer
}

/// Whether an instruction is such a barrier, or may be one for all that is known: a convergent call of nobody who is named, and inline assembly.
#[must_use]
pub fn may_be_barrier(code: Code<'_>, inst: InstId) -> bool {
    assembly::of(code, inst).is_some()
        || does(code, inst, &|| Architecture::Generic) != Callee::Silent
}

/// What an instruction does itself.
fn does(code: Code<'_>, inst: InstId, architecture: &dyn Fn() -> Architecture) -> Callee {
    match kind(code, inst, Calls { callee: &|_| Callee::Silent, architecture }) {
        Some(SiteKind::Barrier { barrier, .. })
            if !barrier.partial && barrier.phase != BarrierPhase::Wait =>
        {
            Callee::Barrier
        }
        Some(SiteKind::Unknown) => Callee::Unknown,
        _ => Callee::Silent,
    }
}

/// Whether the operations that rules are about, or what they say of them, may be others after an instruction came, went, moved or changed that is, or was,
/// like this, by what is called: all calls but of intrinsics that no rule is about.
#[must_use]
pub fn may_be_site(code: Code<'_>, inst: InstId) -> bool {
    code.body.inst(inst).opcode.is_call() && {
        let found = called(code, inst).and_then(|name| intrinsic(code, name));
        let (callee, architecture) = (&|_| Callee::Unknown, &|| Architecture::Generic);
        found.is_none() || kind(code, inst, Calls { callee, architecture }).is_some()
    }
}

fn kind(code: Code<'_>, inst: InstId, calls: Calls<'_>) -> Option<SiteKind> {
    if !code.body.inst(inst).opcode.is_call() {
        return None;
    }
    if let Some(asm) = assembly::of(code, inst) {
        return assembly::kind(code, inst, asm, (calls.architecture)());
    }
    let Some(name) = called(code, inst) else {
        return is_convergent(code, inst).then_some(SiteKind::Unknown);
    };
    let Some(intrinsic) = intrinsic(code, name) else {
        return match (calls.callee)(name) {
            Callee::Silent => None,
            Callee::Barrier => Some(SiteKind::Call(name)),
            Callee::Unknown => Some(SiteKind::Unknown),
        };
    };
    let info = intrinsic.info;
    if let Some(barrier) = info.barrier {
        if barrier.scope == phalanx_target::Scope::Wave {
            // One that takes a mask names its members in it; one without orders code only.
            return barrier
                .partial
                .then_some(SiteKind::Group { members: Some(Members::Argument(0)) });
        }
        return Some(kinds::of_call(code, inst, intrinsic, barrier));
    }
    let members = match info.result {
        Transfer::Collective { mask }
        | Transfer::Agree { mask, .. }
        | Transfer::Differ { mask, .. }
        | Transfer::Shuffle { mask, .. }
            if info.convergent =>
        {
            mask
        }
        _ => return None,
    };
    Some(SiteKind::Group { members: members.map(Members::Argument) })
}

/// Who is called, if that is said by name.
pub(super) fn called(code: Code<'_>, call: InstId) -> Option<GlobalName> {
    let callee: Const = code.body.callee(call).as_const()?;
    match code.context.const_data(callee).kind {
        ConstKind::Global(name) => Some(name),
        _ => None,
    }
}

/// The intrinsic with a name.
pub(super) fn intrinsic(code: Code<'_>, name: GlobalName) -> Option<Intrinsic> {
    intrinsics::lookup(code.context.bytes(name.symbol()?))
}

fn is_convergent(code: Code<'_>, call: InstId) -> bool {
    let attributes = code.body.call_info(call).attributes;
    code.context.function_attrs(attributes).has(AttrKind::Convergent)
}

/// The value of an integer constant.
pub(super) fn integer(code: Code<'_>, value: Value) -> Option<u64> {
    match &code.context.const_data(value.as_const()?).kind {
        ConstKind::Int(int) => int.to_u64(),
        _ => None,
    }
}

/// Whether a barrier waits: one that only announces does not.
pub(super) fn waits(barrier: Barrier) -> bool {
    !matches!(barrier.phase, BarrierPhase::Arrive)
}
