//! Operations on vectors, arrays and structures.
//!
//! A value of several parts may also be poison as a whole; then each of its parts is poison. All
//! are linear in the number of parts.

use phalanx_ir::{InstData, Type};

use super::state::Frame;
use crate::{
    fault::FaultKind,
    program::Program,
    shape::Shape,
    unknown::{Frozen, either, worst},
    value::{Value, mask},
};

pub(super) fn lanes_of(program: &Program<'_>, ty: Type, vector: &Value) -> Vec<Value> {
    match (vector, program.shapes.of(ty)) {
        (Value::Many(lanes), _) => lanes.to_vec(),
        (whole, &Shape::Vector { len, .. }) => vec![worst([whole]); len as usize],
        _ => Vec::new(),
    }
}

pub(super) fn with(mut lanes: Vec<Value>, index: usize, value: Value) -> Value {
    lanes[index] = value;
    Value::Many(lanes.into())
}

pub(super) fn insert(into: &Value, indices: &[u32], value: Value) -> Value {
    let Some((&first, rest)) = indices.split_first() else { return value };
    let mut members = match into {
        Value::Many(members) => members.to_vec(),
        _ => Vec::new(),
    };
    let first = first as usize;
    if members.len() <= first {
        members.resize(first + 1, Value::Poison);
    }
    members[first] = insert(&members[first].clone(), rest, value);
    Value::Many(members.into())
}

pub(super) fn select(condition: &Value, yes: &Value, no: &Value) -> Value {
    match condition {
        Value::Bits(0) => no.clone(),
        Value::Bits(_) => yes.clone(),
        Value::Many(lanes) => {
            let lane = |(i, c): (usize, &Value)| select(c, &yes.element(i), &no.element(i));
            Value::Many(lanes.iter().enumerate().map(lane).collect())
        }
        Value::Undef | Value::Frozen => either(condition, yes, no),
        Value::Poison | Value::Unit => Value::Poison,
    }
}

/// Replaces poison and `undef` by these bits, lane by lane; values that stay unknown have no bits.
pub(crate) fn freeze(
    program: &Program<'_>,
    frozen: Frozen,
    ty: Type,
    value: &Value,
) -> Result<Value, FaultKind> {
    Ok(match (value, program.shapes.of(ty)) {
        (_, &Shape::Vector { elem, len }) => {
            let lane = |i| freeze(program, frozen, elem, &value.element(i as usize));
            Value::Many((0..len).map(lane).collect::<Result<_, FaultKind>>()?)
        }
        (_, &Shape::Array { elem, len, .. }) => {
            let lane = |i| freeze(program, frozen, elem, &value.element(i as usize));
            Value::Many((0..len).map(lane).collect::<Result<_, FaultKind>>()?)
        }
        (_, Shape::Struct(members)) => {
            let each = members.iter().enumerate();
            let each = each.map(|(i, &(ty, _))| freeze(program, frozen, ty, &value.element(i)));
            Value::Many(each.collect::<Result<_, FaultKind>>()?)
        }
        (Value::Poison | Value::Undef, shape) => match (frozen, shape) {
            (Frozen::Followed(_), _) => Value::Frozen,
            (Frozen::Bits(frozen), &Shape::Int(bits) | &Shape::Ptr { bits, .. }) => {
                Value::Bits(frozen & mask(bits))
            }
            (Frozen::Bits(frozen), Shape::Float(kind)) => Value::Bits(frozen & mask(kind.bits())),
            (Frozen::Bits(_), _) => Value::Bits(0),
        },
        (value, _) => value.clone(),
    })
}

pub(super) fn shuffle(
    program: &Program<'_>,
    frame: &Frame,
    data: &InstData,
    operands: &[phalanx_ir::Value],
) -> Result<Value, FaultKind> {
    let function = program.functions[frame.code].function;
    let ty = function.value_type(program.context(), operands[0]);
    let mut lanes = lanes_of(program, ty, &frame.operand(program, operands[0])?);
    lanes.extend(lanes_of(program, ty, &frame.operand(program, operands[1])?));
    let mask = frame.operand(program, operands[2])?;
    let pick = |index: &Value| {
        let index = index.bits().and_then(|i| usize::try_from(i).ok());
        index.and_then(|i| lanes.get(i).cloned()).unwrap_or(Value::Poison)
    };
    // A mask that is poison as a whole has no lanes to count.
    let count = match *program.shapes.of(data.ty) {
        Shape::Vector { len, .. } => len as usize,
        _ => 0,
    };
    let poison = vec![Value::Poison; count];
    Ok(Value::Many(mask.elements().unwrap_or(&poison).iter().map(pick).collect()))
}
