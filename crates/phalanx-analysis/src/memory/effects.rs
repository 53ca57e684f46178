//! Which instructions read and write memory.
//!
//! What a call does follows from the attributes of the call and of the callee (`memory(..)`; older
//! attributes such as `readonly` are read as one) and, for intrinsics, from the tables of
//! `phalanx-target`. A call without such attributes may read and write anything. A volatile or
//! ordered access counts as a write, since nothing may be moved across it (LLVM's MemorySSA does
//! the same). O(1) per instruction.

use phalanx_ir::{
    GlobalName, InstId, Opcode,
    attributes::{Access, AttrKind, MemoryEffects, MemoryLocation},
    constant::ConstKind,
    inst::{InstFlags, Ordering},
};
use phalanx_target::intrinsics::{Location, MemoryEffect, is_intrinsic_name};

use crate::code::{Code, Environment, read_assembly};

/// What an instruction does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryAccess {
    /// Nothing.
    None,
    /// It reads.
    Read,
    /// It may write, or is ordered with respect to other accesses.
    Write,
}

/// Intrinsics that touch no memory. LLVM declares that they write some, so that no pass moves them.
const MARKERS: [&[u8]; 7] = [
    b"llvm.assume",
    b"llvm.experimental.noalias.scope.decl",
    b"llvm.pseudoprobe",
    b"llvm.sideeffect",
    b"llvm.allow.runtime.check",
    b"llvm.allow.ubsan.check",
    b"llvm.dbg.",
];

/// What an instruction does to memory.
#[must_use]
pub fn memory_access(code: Code<'_>, env: Environment<'_>, inst: InstId) -> MemoryAccess {
    let data = code.body.inst(inst);
    let is_ordered =
        || data.flags.contains(InstFlags::VOLATILE) || data.mem().ordering() > Ordering::Unordered;
    match data.opcode {
        Opcode::Load if is_ordered() => MemoryAccess::Write,
        Opcode::Load => MemoryAccess::Read,
        Opcode::Store
        | Opcode::Fence
        | Opcode::AtomicRmw
        | Opcode::CmpXchg
        | Opcode::VaArg
        | Opcode::CatchPad
        | Opcode::CatchRet => MemoryAccess::Write,
        opcode if opcode.is_call() => {
            let effects = call_effects(code, env, inst);
            match (effects.is_none(), effects.only_reads()) {
                (true, _) => MemoryAccess::None,
                (false, true) => MemoryAccess::Read,
                (false, false) => MemoryAccess::Write,
            }
        }
        _ => MemoryAccess::None,
    }
}

/// Converts an entry of the intrinsic tables to the form of the `memory` attribute.
#[must_use]
pub fn of_table(effect: MemoryEffect) -> MemoryEffects {
    let access = match (effect.reads, effect.writes) {
        (false, false) => return MemoryEffects::NONE,
        (true, false) => Access::Read,
        (false, true) => Access::Write,
        (true, true) => Access::ReadWrite,
    };
    let arguments = MemoryEffects::only(MemoryLocation::ArgMem, access);
    let inaccessible = MemoryEffects::only(MemoryLocation::InaccessibleMem, access);
    match effect.location {
        Location::None => MemoryEffects::NONE,
        Location::Argument => arguments,
        Location::Inaccessible => inaccessible,
        Location::ArgumentOrInaccessible => arguments.union(inaccessible),
        Location::Any => MemoryEffects::all(access),
    }
}

/// What a call may do to memory.
#[must_use]
pub fn call_effects(code: Code<'_>, env: Environment<'_>, call: InstId) -> MemoryEffects {
    let Code { context, body, .. } = code;
    let info = body.call_info(call);
    let site = context.function_attrs(info.attributes);
    let mut effects = site.memory().unwrap_or(MemoryEffects::UNKNOWN);
    let has_bundles = !info.bundles.is_empty() && {
        let control = context.find_symbol(b"convergencectrl");
        info.bundles.iter().any(|&(tag, _)| Some(tag) != control)
    };
    let Some(callee) = body.const_callee(call) else { return effects };
    let name = match &context.const_data(callee).kind {
        ConstKind::Global(name) => *name,
        // A barrier in the assembly orders memory accesses, whatever the call promises.
        ConstKind::InlineAsm(asm)
            if read_assembly(code, asm, env.target.architecture()).has_barrier() =>
        {
            return MemoryEffects::UNKNOWN;
        }
        _ => return effects,
    };
    if let GlobalName::Named(symbol) = name {
        let text = context.bytes(symbol);
        if is_intrinsic_name(text) && MARKERS.iter().any(|marker| text.starts_with(marker)) {
            return MemoryEffects::NONE;
        }
        if let Some(intrinsic) = code.intrinsic(name) {
            effects = effects.intersect(of_table(intrinsic.info.memory));
        }
    }
    // Operands of an operand bundle may be read and written, whatever the callee promises.
    if !has_bundles && let Some(attributes) = (env.callee)(name) {
        let declared = context.function_attrs(attributes);
        if let Some(promised) = declared.memory() {
            effects = effects.intersect(promised);
        }
        debug_assert!(!declared.has(AttrKind::Memory) || declared.memory().is_some());
    }
    effects
}
