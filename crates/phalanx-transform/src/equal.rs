//! When two instructions compute the same value, and which flags survive when one replaces the
//! other.

use phalanx_ir::{
    InstFlags, InstId, Opcode, Type, Value, edit::Transaction, inst::CallInfo, metadata::kind,
};
use smallvec::SmallVec;

use crate::{code::Code, mark_loads::mark_of, pass::PassError};

/// Two instructions with equal keys compute the same value for a thread. Two convergent operations
/// with equal keys do so for a group of threads.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    opcode: Opcode,
    sub: u8,
    ty: Type,
    operands: SmallVec<[Value; 4]>,
    /// The element type of an address computation, or an index list.
    more: SmallVec<[u32; 2]>,
    call: Option<CallInfo>,
}

impl Key {
    /// The key of an operation that is no call, if its result depends on its operands alone.
    /// `resolve` maps a value to the value that replaces it.
    pub(crate) fn of_operation(
        code: &Code<'_>,
        inst: InstId,
        resolve: &dyn Fn(Value) -> Value,
    ) -> Option<Key> {
        let data = code.body.inst(inst);
        let divides =
            matches!(data.opcode, Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem);
        if !divides && !code.is_pure_operation(inst) {
            return None;
        }
        let mut operands: SmallVec<[Value; 4]> =
            code.body.operands(inst).iter().map(|&operand| resolve(operand)).collect();
        let commutes = matches!(
            data.opcode,
            Opcode::Add
                | Opcode::Mul
                | Opcode::And
                | Opcode::Or
                | Opcode::Xor
                | Opcode::FAdd
                | Opcode::FMul
        );
        if commutes {
            operands.sort_unstable();
        }
        let more = match data.opcode {
            Opcode::GetElementPtr => SmallVec::from_slice(&data.words[..1]),
            Opcode::ExtractValue | Opcode::InsertValue => code.body.indices(inst).into(),
            _ => SmallVec::new(),
        };
        Some(Key { opcode: data.opcode, sub: data.sub, ty: data.ty, operands, more, call: None })
    }

    /// The key of a call: callee, arguments, and all attributes and bundles at the call.
    pub(crate) fn of_call(code: &Code<'_>, call: InstId, resolve: &dyn Fn(Value) -> Value) -> Key {
        let data = code.body.inst(call);
        Key {
            opcode: data.opcode,
            sub: 0,
            ty: data.ty,
            operands: code.body.operands(call).iter().map(|&operand| resolve(operand)).collect(),
            more: SmallVec::new(),
            call: Some(code.body.call_info(call).clone()),
        }
    }
}

/// Removes from an instruction the flags and promises that `gone`, which it will replace, does not
/// have.
pub(crate) fn stand_for(
    edit: &mut Transaction<'_>,
    kept: InstId,
    inst: InstId,
) -> Result<(), PassError> {
    let (old, new) = (edit.body().inst(kept).flags, edit.body().inst(inst).flags);
    let promises = match edit.body().inst(kept).opcode {
        // The flags of a load say how it is made, so they stay.
        Opcode::Load => InstFlags::NONE,
        // And those of a call, except the fast-math flags.
        opcode if opcode.is_call() => InstFlags::FAST.with(InstFlags::TAIL),
        _ => InstFlags(u16::MAX),
    };
    let both = InstFlags(old.0 & (new.0 | !promises.0));
    if both != old {
        edit.set_flags(kept, both)?;
    }
    let theirs: SmallVec<[_; 4]> = edit.extras().attachments_of(inst).collect();
    let mine: SmallVec<[_; 4]> = edit.extras().attachments_of(kept).collect();
    for attachment in mine.iter().filter(|a| a.kind != kind::DBG && !theirs.contains(a)) {
        let name = edit.context().text(attachment.kind).into_owned();
        // The attachment that makes a mark a conclusion (`phalanx.noclobber`) stays, even if the
        // other instruction has the mark as a promise.
        let is_marked = |mark: &str| theirs.iter().any(|a| edit.context().text(a.kind) == mark);
        if !mark_of(&name).is_some_and(is_marked) {
            edit.attach(kept, &name, None)?;
        }
    }
    Ok(())
}
