//! [`NewInst`]: the description of an instruction before it is made.
//!
//! The methods of [`InstBuilder`](crate::builder::InstBuilder) fill it in; each implementor of that
//! trait checks it and inserts the instruction.

use smallvec::SmallVec;

use crate::{
    builder::{call::CallSpec, error::BuildError},
    flow::BlockId,
    inst::{CallInfo, InstFlags, MemInfo, Opcode, Ordering},
    symbol::SyncScope,
    types::Type,
    value::Value,
};

/// Properties of the next instruction beside its operands. The next instruction uses them up, even
/// if it is not inserted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Modifiers {
    /// Name of the result.
    pub name: Vec<u8>,
    /// Flags.
    pub flags: InstFlags,
    /// Alignment in bytes.
    pub align: Option<u64>,
}

/// An instruction that is about to be made.
#[derive(Clone, Debug)]
pub struct NewInst<'a> {
    /// Which operation.
    pub opcode: Opcode,
    /// Predicate of comparisons, operation of `atomicrmw`; else 0.
    pub sub: u8,
    /// Type of the result; none to derive it from the operands.
    pub ty: Option<Type>,
    /// Operands, as the opcode orders them.
    pub operands: SmallVec<[Value; 8]>,
    /// Allocated type of an `alloca`, source element type of a `getelementptr`.
    pub element_type: Option<Type>,
    /// Orderings and scope of a memory operation; the alignment comes from the [`Modifiers`].
    pub mem: MemInfo,
    /// The shape of a call.
    pub call: Option<CallInfo>,
    /// Index list of `extractvalue` and `insertvalue`, clause kinds of `landingpad`.
    pub indices: &'a [u32],
    /// Successors of a terminator.
    pub successors: &'a [BlockId],
}

impl<'a> NewInst<'a> {
    /// An instruction whose result type follows from its operands.
    pub fn new(opcode: Opcode, operands: &[Value]) -> NewInst<'a> {
        NewInst {
            opcode,
            sub: 0,
            ty: None,
            operands: operands.into(),
            element_type: None,
            mem: MemInfo::PLAIN,
            call: None,
            indices: &[],
            successors: &[],
        }
    }

    /// With a result type.
    #[must_use]
    pub fn of_type(mut self, ty: Type) -> NewInst<'a> {
        self.ty = Some(ty);
        self
    }

    /// With successors.
    #[must_use]
    pub fn to(mut self, successors: &'a [BlockId]) -> NewInst<'a> {
        self.successors = successors;
        self
    }
}

pub(super) fn call_inst<'a>(
    opcode: Opcode,
    call: &CallSpec,
    successors: &'a [BlockId],
) -> NewInst<'a> {
    let (operands, info) = call.parts();
    let mut inst = NewInst::new(opcode, &[]).to(successors);
    inst.operands.extend(operands);
    inst.call = Some(info);
    inst
}

/// Orderings and scope, packed.
pub(super) fn ordered(
    success: Ordering,
    failure: Ordering,
    scope: SyncScope,
) -> Result<MemInfo, BuildError> {
    MemInfo::PLAIN.with_orderings(success, failure).with_scope(scope).ok_or_else(|| {
        BuildError::Entity {
            function: String::new(),
            entity: format!("scope {}", scope.0.raw()),
            message: "has a symbol beyond the first million, which a memory operation cannot hold",
        }
    })
}
