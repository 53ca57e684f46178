//! The checks of every new instruction, for the builder and for transactions.

use crate::{
    body::{Body, InstId},
    builder::new_inst::{Modifiers, NewInst},
    flow::BlockId,
    function::FunctionRef,
    inst::{InstData, Opcode, OperandRange},
    types::Type,
    value::Value,
    verify::{
        env::Env,
        fault::Fault,
        integrity,
        result::{ResultType, result_type},
        rules,
        types::MAX_ALIGN,
        view::{InstView, OperandTypes, dangling, type_of},
    },
};

/// The error when a function would have this many blocks and instructions, if these are too many
/// for the numbers of a [`Value`].
pub(crate) fn excess(blocks: usize, insts: usize) -> Option<&'static str> {
    if blocks > Value::LIMIT {
        return Some("more than 2^29 blocks in a function");
    }
    (insts > Value::LIMIT).then_some("more than 2^29 instructions in a function")
}

fn is_below(block: BlockId, count: usize) -> bool {
    (block.into_raw().into_u32() as usize) < count
}

/// The record of a new instruction, or the rule that it breaks.
pub(crate) fn check(
    env: &Env<'_>,
    function: FunctionRef<'_>,
    new: &NewInst<'_>,
    modifiers: &Modifiers,
) -> Result<InstData, Fault> {
    let fault = |message: &'static str| Err(Fault::new(message, Vec::new()));
    if let Some(message) = excess(function.flow.id_count(), function.body.id_count() + 1) {
        return fault(message);
    }
    for &operand in &new.operands {
        if let Some(message) =
            dangling(&env.types, function.header, function.body, function.flow, operand)
        {
            return fault(message);
        }
        // Its id stays valid, but nothing computes its result.
        if operand.as_inst().is_some_and(|inst| function.body.block_of(inst).is_none()) {
            return fault("Referring to an instruction that was erased!");
        }
    }
    let type_count = env.types.context.type_count();
    let exists = |ty: Option<Type>| ty.is_none_or(|ty| (ty.raw() as usize) < type_count);
    if !exists(new.ty) || !exists(new.element_type) {
        return fault("Referring to a type of another context!");
    }
    if !new.successors.iter().all(|&s| is_below(s, function.flow.id_count())) {
        return fault("Referring to a basic block in another function!");
    }
    let mut mem = new.mem;
    if let Some(align) = modifiers.align {
        if !align.is_power_of_two() {
            return fault("alignment is not a power of two");
        }
        if align > MAX_ALIGN {
            return fault("huge alignment values are unsupported");
        }
        mem = mem.with_align(Some(align));
    }
    let mut data = InstData {
        opcode: new.opcode,
        sub: new.sub,
        flags: modifiers.flags,
        ty: new.ty.unwrap_or(Type::VOID),
        operands: OperandRange { start: 0, len: new.operands.len() as u32 },
        words: [new.element_type.map_or(0, Type::raw), mem.raw()],
    };
    let shape = integrity::Shape {
        data: &data,
        call: new.call.as_ref(),
        indices: new.indices.len(),
        successors: Some(new.successors.len()),
    };
    if let Some(message) = shape.fault(env) {
        return fault(message);
    }
    let types: OperandTypes = new
        .operands
        .iter()
        .map(|&value| type_of(&env.types, function.header, function.body, value))
        .collect();
    let view = |data| InstView {
        data,
        operands: &new.operands,
        types: &types,
        call: new.call.as_ref(),
        indices: new.indices,
        header: function.header,
        body: function.body,
    };
    let untyped = data;
    if new.ty.is_none()
        && let ResultType::Exactly(ty) = result_type(&env.types, &view(&untyped))
    {
        data.ty = ty;
    }
    rules::check(env, &view(&data))?;
    Ok(data)
}

/// Makes an instruction of a checked record, in no block yet.
pub(crate) fn create(body: &mut Body, mut data: InstData, new: &NewInst<'_>) -> InstId {
    match new.opcode {
        Opcode::ExtractValue | Opcode::InsertValue | Opcode::LandingPad => {
            data.words = body.add_indices(new.indices);
        }
        _ => {
            if let Some(info) = &new.call {
                data.words = [body.add_call_info(info.clone()), 0];
            }
        }
    }
    body.create(data, &new.operands)
}
