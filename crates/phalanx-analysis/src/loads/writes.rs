//! Which memories a function may write, together with all that it calls.
//!
//! That is the union of what the addresses of its stores may lead to ([`MemoryKinds`]), and of what
//! its callees may write. Barriers and fences write nothing themselves;
//! [`order`](crate::memory::order) says what they make visible. O(instructions).

use phalanx_ir::{
    GlobalName, InstId, Opcode, Type, TypeKind, attributes::MemoryLocation, constant::ConstKind,
};

use crate::code::{Code, Environment, SpaceSet, value_type};
use crate::memory::effects::call_effects;
use crate::spaces::MemoryKinds;

/// Intrinsics that are fences, on targets that have such besides the instruction.
const FENCES: [&[u8]; 2] = [b"llvm.nvvm.membar.", b"llvm.nvvm.fence."];

/// The memories that a function may write when it is called with a type; none if that is not known.
pub type WrittenBy<'a> = &'a dyn Fn(GlobalName, Type) -> Option<SpaceSet>;

/// The memories that a function may write; none if the effect of some instruction is not known.
#[must_use]
pub fn written_memories(
    code: Code<'_>,
    env: Environment<'_>,
    kinds: &MemoryKinds,
    callee: WrittenBy<'_>,
) -> Option<SpaceSet> {
    let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    let mut all = SpaceSet::EMPTY;
    for inst in insts.filter(|&inst| may_write(code, inst)) {
        all |= written_at(code, env, kinds, callee, inst)?;
    }
    Some(all)
}

/// The memories that an instruction may write, if it [may write](may_write) any; none if that is
/// not known.
#[must_use]
pub fn written_at(
    code: Code<'_>,
    env: Environment<'_>,
    kinds: &MemoryKinds,
    callee: WrittenBy<'_>,
    inst: InstId,
) -> Option<SpaceSet> {
    match code.body.inst(inst).opcode {
        Opcode::Store => Some(kinds.at(code.body, inst, 1).memories()),
        Opcode::AtomicRmw | Opcode::CmpXchg => Some(kinds.at(code.body, inst, 0).memories()),
        opcode if opcode.is_call() => written_by_call(code, env, kinds, callee, inst),
        _ => None,
    }
}

/// Whether [`written_memories`] may change after an instruction was inserted, removed, moved or
/// changed that is, or was, like this one. Changes of where addresses lead, and of what callees
/// write, are not seen here.
#[must_use]
pub fn may_write(code: Code<'_>, inst: InstId) -> bool {
    let opcode = code.body.inst(inst).opcode;
    let writes = matches!(
        opcode,
        Opcode::Store
            | Opcode::AtomicRmw
            | Opcode::CmpXchg
            | Opcode::VaArg
            | Opcode::CatchPad
            | Opcode::CatchRet
    );
    writes || opcode.is_call()
}

/// The memories that a call may write; none if that is not known.
#[must_use]
pub fn written_by_call(
    code: Code<'_>,
    env: Environment<'_>,
    kinds: &MemoryKinds,
    callee: WrittenBy<'_>,
    call: InstId,
) -> Option<SpaceSet> {
    let Code { context, body, .. } = code;
    let info = body.call_info(call);
    let name = body.const_callee(call).and_then(|callee| match context.const_data(callee).kind {
        ConstKind::Global(name) => Some(name),
        _ => None,
    });
    let text = name.and_then(GlobalName::symbol).map(|symbol| context.bytes(symbol));
    let intrinsic = code.called_intrinsic(call);
    let is_fence = |text: &[u8]| FENCES.iter().any(|prefix| text.starts_with(prefix));
    if intrinsic.is_some_and(|intrinsic| intrinsic.info.barrier.is_some())
        || text.is_some_and(is_fence)
    {
        return Some(SpaceSet::EMPTY);
    }
    let effects = call_effects(code, env, call);
    if effects.only_reads() {
        return Some(SpaceSet::EMPTY);
    }
    if let Some(name) = name
        && info.bundles.is_empty()
        && let Some(written) = callee(name, info.function_type)
    {
        return Some(written);
    }
    let is_through_arguments = MemoryLocation::ALL.iter().all(|&at| {
        matches!(at, MemoryLocation::ArgMem | MemoryLocation::InaccessibleMem)
            || !effects.access(at).writes()
    });
    if !is_through_arguments || !info.bundles.is_empty() {
        return None;
    }
    let is_address = |position: &usize| {
        let ty = value_type(code, body.call_args(call)[*position]);
        ty.is_some_and(|ty| match context.type_kind(ty) {
            TypeKind::Vector { elem, .. } => context.type_kind(*elem).address_space().is_some(),
            kind => kind.address_space().is_some(),
        })
    };
    let positions = (0..body.call_args(call).len()).filter(is_address);
    let of = |position: usize| kinds.at(body, call, position as u32).memories();
    Some(positions.map(of).fold(SpaceSet::EMPTY, SpaceSet::or))
}
