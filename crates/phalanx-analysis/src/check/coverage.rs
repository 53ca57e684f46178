//! Which operations of a function the rules about barriers, masks and workgroup memory judge, and
//! which they do not.
//!
//! If a rule finds nothing, that is about the places it has judged. Not judged are
//!
//! | what | why |
//! |---|---|
//! | a convergent function that is only declared | it may have a barrier |
//! | a call through a pointer | the callee is not known |
//! | inline assembly with an instruction that is not known | it may wait for other threads |
//! | a barrier for some threads of a workgroup, unless a wave has to come to it together | the program decides which threads these are |
//! | a mask that is an argument or comes from memory | the program decides which lanes it names |
//! | accesses of workgroup memory, if it takes too many steps to execute the kernel | see [`races`](super::races) |
//! | an access of workgroup memory that is not compared with others | see [`Why`] |
//! | a wait for an object in memory (`mbarrier`) | the program decides which threads arrive |
//!
//! ```text
//! br i1 %divergent, label %a, label %b
//! a:  call void @helper()        ; declare void @helper() convergent: no finding, and a Gap
//! ```
//!
//! A call of a function that is defined in the module is no gap: its own gaps are listed for it.
//! O(instructions).

use phalanx_ir::{GlobalName, InstId, Opcode, Value, ValueKind};
use phalanx_target::intrinsics::Family;

use super::{
    facts::Callee,
    races::Why,
    sites::{self, Calls, Site, SiteKind},
};
use crate::code::Code;

/// How many operations behind a mask are looked at.
const OPERATIONS: usize = 48;

/// How much of one function is judged.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// How many barriers of workgroups and clusters are judged.
    pub barriers: usize,
    /// What is not judged, in the order of the text.
    pub gaps: Vec<Gap>,
}

/// A place that is not judged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gap {
    /// The call.
    pub inst: InstId,
    /// Why.
    pub reason: NotJudged,
}

/// Why something is not judged.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NotJudged {
    /// A convergent function without a definition that is certain to be the one called.
    UnknownCallee(GlobalName),
    /// A call through a pointer.
    IndirectCall,
    /// Inline assembly; the text is the instruction that is not known.
    Assembly(String),
    /// A barrier for some threads only.
    PartialBarrier,
    /// A wait for an object in memory.
    BarrierObject,
    /// A mask that is an argument, or read from memory, or computed from such.
    Mask,
    /// Accesses of workgroup memory by a kernel that takes too many steps to execute.
    WorkgroupMemory,
    /// An access of workgroup memory that is not compared with others.
    WorkgroupAccess(Why),
}

/// The coverage of a function; `is_defined` says whether a callee has a body in the module.
#[must_use]
pub fn coverage(
    code: Code<'_>,
    calls: Calls<'_>,
    is_defined: &dyn Fn(GlobalName) -> bool,
) -> Coverage {
    let mut coverage = Coverage::default();
    let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    for inst in insts.filter(|&inst| code.body.inst(inst).opcode.is_call()) {
        match gap(code, inst, calls, is_defined) {
            Some(reason) => coverage.gaps.push(Gap { inst, reason }),
            None => {
                let sites = sites::sites_at(code, inst, calls);
                let is_barrier = |site: &&Site| matches!(site.kind, SiteKind::Barrier { .. });
                coverage.barriers += sites.iter().filter(is_barrier).count();
            }
        }
    }
    coverage
}

fn gap(
    code: Code<'_>,
    call: InstId,
    calls: Calls<'_>,
    is_defined: &dyn Fn(GlobalName) -> bool,
) -> Option<NotJudged> {
    if let Some(asm) = sites::inline_assembly(code, call) {
        let unknown = sites::may_hide_barrier(code, asm, (calls.architecture)());
        return unknown.map(NotJudged::Assembly).or_else(|| partial(code, call, calls));
    }
    let Some(name) = sites::called(code, call) else {
        let Some(names) = sites::chosen_from(code, call) else {
            let is_indirect = code.body.callee(call).as_const().is_none();
            return is_indirect.then_some(NotJudged::IndirectCall);
        };
        let unknown =
            |name: &&GlobalName| (calls.callee)(**name) == Callee::Unknown && !is_defined(**name);
        return names.iter().find(unknown).map(|&name| NotJudged::UnknownCallee(name));
    };
    if let Some(intrinsic) = sites::intrinsic(code, call) {
        let waits = |base: &str| {
            base.starts_with("mbarrier.test.wait") || base.starts_with("mbarrier.try.wait")
        };
        if intrinsic.family == Family::Nvvm && waits(intrinsic.base) {
            return Some(NotJudged::BarrierObject);
        }
        if sites::is_unknown_barrier(intrinsic) {
            return Some(NotJudged::UnknownCallee(name));
        }
        return partial(code, call, calls).or_else(|| mask(code, call, calls));
    }
    let is_unknown = (calls.callee)(name) == Callee::Unknown && !is_defined(name);
    is_unknown.then_some(NotJudged::UnknownCallee(name))
}

/// The gap for a barrier that no group of threads has to reach together.
fn partial(code: Code<'_>, call: InstId, calls: Calls<'_>) -> Option<NotJudged> {
    let is_partial = |site: &Site| match site.kind {
        SiteKind::Barrier { barrier, .. } => barrier.partial && !barrier.aligned,
        _ => false,
    };
    sites::sites_at(code, call, calls).iter().any(is_partial).then_some(NotJudged::PartialBarrier)
}

/// The gap for a mask of which nothing is known.
fn mask(code: Code<'_>, call: InstId, calls: Calls<'_>) -> Option<NotJudged> {
    let members = |site: &Site| match site.kind {
        SiteKind::Group { members } => members,
        _ => None,
    };
    let at = sites::sites_at(code, call, calls).iter().find_map(members)?;
    let body = code.body;
    let mut work = vec![*body.call_args(call).get(usize::from(at))?];
    for _ in 0..OPERATIONS {
        let value = work.pop()?;
        match value.kind() {
            ValueKind::Arg(_) => return Some(NotJudged::Mask),
            ValueKind::Inst(inst) => match body.inst(inst).opcode {
                Opcode::Load => match slot(code, body.operands(inst)[0]) {
                    Some(own) => {
                        let stores = body.uses_of(own.into()).filter(|of| {
                            body.inst(of.user).opcode == Opcode::Store && of.index == 1
                        });
                        // In a loop, the content of a slot may depend on itself.
                        work.extend(stores.take(2).map(|of| body.operands(of.user)[0]));
                    }
                    None => return Some(NotJudged::Mask),
                },
                // The mask of a ballot names the lanes that executed it. The walk handles phis.
                Opcode::Call | Opcode::Phi => {}
                _ => work.extend_from_slice(body.operands(inst)),
            },
            _ => {}
        }
    }
    None
}

fn slot(code: Code<'_>, address: Value) -> Option<InstId> {
    let is_alloca = |inst: &InstId| code.body.inst(*inst).opcode == Opcode::Alloca;
    address.as_inst().filter(is_alloca)
}
