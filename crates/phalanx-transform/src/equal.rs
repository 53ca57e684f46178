//! When two instructions compute the same, and what stays of both when one stands for the other.

use phalanx_ir::{
    InstFlags, InstId, Opcode, Type, Value, edit::Transaction, inst::CallInfo, metadata::kind,
};
use smallvec::SmallVec;

use crate::{code::Code, mark_loads::mark_of, pass::PassError};

/// What makes two instructions compute the same: equal keys do, for a thread, and for a group of
/// threads where they are convergent operations.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    opcode: Opcode,
    sub: u8,
    ty: Type,
    operands: SmallVec<[Value; 4]>,
    /// Element type of an address, index list.
    more: SmallVec<[u32; 2]>,
    call: Option<CallInfo>,
}

impl Key {
    /// What an operation that is no call computes, if that depends on its operands alone. `resolve`
    /// says what a value is known to be.
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

    /// What a call does: callee, arguments, and all that stands at it.
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

/// Takes from an instruction the flags and promises that an equal one, for which it will stand,
/// does not have.
pub(crate) fn stand_for(
    edit: &mut Transaction<'_>,
    kept: InstId,
    inst: InstId,
) -> Result<(), PassError> {
    let (old, new) = (edit.body().inst(kept).flags, edit.body().inst(inst).flags);
    let promises = match edit.body().inst(kept).opcode {
        // Flags of a load say how it is made.
        Opcode::Load => InstFlags::NONE,
        // And those of a call that are not for fast mathematics.
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
        // A mark that was concluded is no promise because the other one has a promise.
        let is_marked = |mark: &str| theirs.iter().any(|a| edit.context().text(a.kind) == mark);
        if !mark_of(&name).is_some_and(is_marked) {
            edit.attach(kept, &name, None)?;
        }
    }
    Ok(())
}
