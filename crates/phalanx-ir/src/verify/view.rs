//! [`InstView`]: an instruction as the type rules see it, linked into a body or not yet.

use smallvec::SmallVec;

use crate::{
    attributes::AttrList,
    body::{Body, InstId},
    call_conv::CallConv,
    constant::Const,
    context::Context,
    flow::Flow,
    function::FunctionHeader,
    inst::{CallInfo, InstData, Opcode},
    metadata::LocalMetadata,
    symbol::Symbol,
    types::Type,
    value::{Value, ValueKind},
    verify::types::Types,
};

/// Types of operands.
pub(crate) type OperandTypes = SmallVec<[Type; 8]>;

/// An instruction with everything that type rules read.
///
/// The builder makes one of a new instruction, the verifier of an existing one.
pub(crate) struct InstView<'a> {
    pub(crate) data: &'a InstData,
    pub(crate) operands: &'a [Value],
    /// Types of the operands, one each.
    pub(crate) types: &'a [Type],
    /// The shape of a call; none for other opcodes.
    pub(crate) call: Option<&'a CallInfo>,
    /// Index list of `extractvalue` and `insertvalue`, clause kinds of `landingpad`.
    pub(crate) indices: &'a [u32],
    /// Header of the function the instruction is in.
    pub(crate) header: &'a FunctionHeader,
    /// The body, for questions about other instructions.
    pub(crate) body: &'a Body,
}

impl<'a> InstView<'a> {
    pub(crate) fn opcode(&self) -> Opcode {
        self.data.opcode
    }

    /// Type of operand `at`.
    pub(crate) fn ty(&self, at: usize) -> Type {
        self.types[at]
    }

    /// Arguments of a call.
    pub(crate) fn args(&self) -> &'a [Value] {
        &self.operands[..self.call.map_or(0, |info| info.args as usize)]
    }

    /// The callee of a call.
    pub(crate) fn callee(&self) -> Value {
        self.operands[self.operands.len() - 1]
    }

    pub(crate) fn const_callee(&self) -> Option<Const> {
        self.callee().as_const()
    }

    /// Tag and operands of each bundle of a call.
    pub(crate) fn bundles(&self) -> impl Iterator<Item = (Symbol, &'a [Value])> + use<'a> {
        let (bundles, args): (&[(Symbol, u32)], usize) = match self.call {
            Some(info) => (&info.bundles, info.args as usize),
            None => (&[], 0),
        };
        let mut rest = &self.operands[args..];
        bundles.iter().map(move |&(tag, len)| {
            let (these, others) = rest.split_at(len as usize);
            rest = others;
            (tag, these)
        })
    }

    pub(crate) fn call_conv(&self) -> CallConv {
        self.call.map_or(CallConv::C, |info| info.call_conv)
    }

    pub(crate) fn call_attributes(&self) -> AttrList {
        self.call.map_or(AttrList::EMPTY, |info| info.attributes)
    }
}

/// The type of an operand whose number is known to be in range.
pub(crate) fn type_of(
    types: &Types<'_>,
    header: &FunctionHeader,
    body: &Body,
    value: Value,
) -> Type {
    match value.kind() {
        ValueKind::Inst(inst) => body.inst(inst).ty,
        ValueKind::Arg(position) => header.params[position as usize],
        ValueKind::Block(_) => Type::LABEL,
        ValueKind::Const(constant) => types.context.const_data(constant).ty,
        ValueKind::Metadata(_) => Type::METADATA,
    }
}

/// The type of an operand; none when its number is out of range.
pub(crate) fn type_of_checked(
    context: &Context,
    header: &FunctionHeader,
    body: &Body,
    value: Value,
) -> Option<Type> {
    match value.kind() {
        ValueKind::Inst(inst) => {
            ((inst.into_raw().into_u32() as usize) < body.id_count()).then(|| body.inst(inst).ty)
        }
        ValueKind::Arg(position) => header.params.get(position as usize).copied(),
        ValueKind::Block(_) => Some(Type::LABEL),
        ValueKind::Const(constant) => ((constant.raw() as usize) < context.const_count())
            .then(|| context.const_data(constant).ty),
        ValueKind::Metadata(_) => Some(Type::METADATA),
    }
}

/// What is wrong with an operand's number, if anything: other rules look entities up without a
/// check.
pub(crate) fn dangling(
    types: &Types<'_>,
    header: &FunctionHeader,
    body: &Body,
    flow: &Flow,
    value: Value,
) -> Option<&'static str> {
    let number = |raw: la_arena::RawIdx| raw.into_u32() as usize;
    match value.kind() {
        ValueKind::Inst(inst) if number(inst.into_raw()) >= body.id_count() => {
            Some("Referring to an instruction in another function!")
        }
        ValueKind::Arg(position) if position as usize >= header.params.len() => {
            Some("Referring to an argument in another function!")
        }
        ValueKind::Block(block) if number(block.into_raw()) >= flow.id_count() => {
            Some("Referring to a basic block in another function!")
        }
        ValueKind::Const(constant) if constant.raw() as usize >= types.context.const_count() => {
            Some("Referring to a constant of another context!")
        }
        ValueKind::Metadata(id) => match body.try_local_metadata(id) {
            None => Some("Referring to metadata of another function!"),
            Some(LocalMetadata::Value(inner)) => dangling_leaf(types, header, body, *inner),
            Some(LocalMetadata::ArgList(list)) => {
                list.iter().find_map(|&inner| dangling_leaf(types, header, body, inner))
            }
            Some(_) => None,
        },
        _ => None,
    }
}

/// As [`dangling`], for values that metadata may wrap.
pub(crate) fn dangling_leaf(
    types: &Types<'_>,
    header: &FunctionHeader,
    body: &Body,
    value: Value,
) -> Option<&'static str> {
    match value.kind() {
        ValueKind::Block(_) | ValueKind::Metadata(_) => Some("Metadata may only wrap values!"),
        _ => dangling(types, header, body, &Flow::new(), value),
    }
}

/// The view of an instruction of a body.
pub(crate) fn view<'a>(
    header: &'a FunctionHeader,
    body: &'a Body,
    inst: InstId,
    types: &'a [Type],
) -> InstView<'a> {
    let data = body.inst(inst);
    InstView {
        data,
        operands: body.operands(inst),
        types,
        call: data.opcode.is_call().then(|| body.call_info(inst)),
        indices: match data.opcode {
            Opcode::ExtractValue | Opcode::InsertValue | Opcode::LandingPad => body.indices(inst),
            _ => &[],
        },
        header,
        body,
    }
}
