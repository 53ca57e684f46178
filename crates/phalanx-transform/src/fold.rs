//! Constant folding of instructions.
//!
//! A result that is poison by the rules of the instruction (a shift too far, an overflow against a
//! flag) becomes poison. Undefined behaviour stays. The folder evaluates `undef` only as far as
//! [`phalanx_ir::fold`] does. A `freeze` of a constant that is not fully defined stays, since it
//! may give each thread another value.
//!
//! A bit cast of a vector to another lane width takes the bits in memory order ([`bits`]).
//!
//! Handles integers of up to 128 bits; `half`, `bfloat`, `float` and `double` unless NaN or
//! subnormal numbers are involved, whose bits differ between targets; vectors lane by lane; and
//! calls of intrinsics that are functions of numbers ([`call`]).
//!
//! Meaning: LLVM 22 Language Reference. O(lanes), which are bounded.

mod bits;
mod call;
mod numbers;
mod scalar;

use phalanx_ir::{
    Const, ConstKind, Context, InstFlags, InstId, Opcode, Type, TypeKind, constant::ConstExpr,
    fold as expressions, inst::FloatPredicate,
};

use crate::code::Code;
use numbers::number;
use scalar::Operation;

/// Vectors with more lanes are folded only if all lanes are equal.
const LANES: u32 = 256;

/// The constant that an instruction computes; none when it is not known.
#[must_use]
pub fn fold(code: &Code<'_>, inst: InstId) -> Option<Const> {
    let operands: Option<Vec<Const>> =
        code.body.operands(inst).iter().map(|operand| operand.as_const()).collect();
    fold_with(code, inst, &operands?)
}

/// As [`fold`], with these constants in place of the operands.
#[must_use]
pub fn fold_with(code: &Code<'_>, inst: InstId, operands: &[Const]) -> Option<Const> {
    let data = code.body.inst(inst);
    let operation =
        Operation { opcode: data.opcode, sub: data.sub, flags: data.flags, ty: data.ty };
    match data.opcode {
        Opcode::GetElementPtr => expressions::fold(
            code.context,
            data.ty,
            &ConstExpr {
                opcode: data.opcode,
                flags: data.flags,
                operands: operands.into(),
                source_type: Some(data.element_type()),
                in_range: None,
                mask: Box::default(),
            },
        ),
        Opcode::ExtractValue => {
            let mut member = operands[0];
            for &index in code.body.indices(inst) {
                member = element(code.context, member, index as usize)?;
            }
            Some(member)
        }
        Opcode::ExtractElement => {
            let index = usize::try_from(number(code.context, operands[1])?).ok()?;
            let vector = code.context.const_data(operands[0]).ty;
            match lanes(code.context, vector)? {
                (len, false) if index >= len as usize => Some(code.context.const_poison(data.ty)),
                _ => element(code.context, operands[0], index),
            }
        }
        Opcode::InsertElement => {
            let index = usize::try_from(number(code.context, operands[2])?).ok()?;
            let mut all = lanes_of(code.context, operands[0])?;
            let Some(lane) = all.get_mut(index) else {
                return Some(code.context.const_poison(data.ty));
            };
            *lane = operands[1];
            Some(code.context.constant(data.ty, ConstKind::Aggregate(all.into())))
        }
        Opcode::ShuffleVector => shuffle(code.context, data.ty, operands),
        Opcode::Call => call::fold(code, inst, operands),
        Opcode::Freeze => is_defined(code.context, operands[0]).then(|| operands[0]),
        Opcode::BitCast if bits::has_other_lanes(code.context, operands[0], data.ty) => {
            bits::cast(code, operands[0], data.ty)
        }
        _ if !is_operation(data.opcode) => None,
        _ => operation.fold(code.context, operands),
    }
}

fn is_operation(opcode: Opcode) -> bool {
    opcode.is_binary()
        || opcode.is_cast()
        || matches!(opcode, Opcode::ICmp | Opcode::FCmp | Opcode::Select | Opcode::FNeg)
}

/// Whether every bit of a constant is defined.
#[must_use]
pub fn is_defined(context: &Context, constant: Const) -> bool {
    let mut work = vec![constant];
    // Constants are acyclic graphs but may be large; after this many steps the answer is false.
    for _ in 0..64 {
        let Some(constant) = work.pop() else { return true };
        match &context.const_data(constant).kind {
            ConstKind::Int(_)
            | ConstKind::Float(_)
            | ConstKind::Null
            | ConstKind::Zero
            | ConstKind::Bytes(_)
            | ConstKind::Global(_) => {}
            ConstKind::Splat(element) => work.push(*element),
            ConstKind::Aggregate(elements) => work.extend(elements.iter()),
            _ => return false,
        }
    }
    false
}

/// An element of an aggregate constant.
pub(crate) fn element(context: &Context, aggregate: Const, index: usize) -> Option<Const> {
    let data = context.const_data(aggregate);
    let ty = match context.type_kind(data.ty) {
        TypeKind::Vector { elem, len, scalable: false } => {
            (index < *len as usize).then_some(*elem)?
        }
        TypeKind::Array { elem, len } => ((index as u64) < *len).then_some(*elem)?,
        TypeKind::Struct { fields, .. } => *fields.get(index)?,
        _ => return None,
    };
    match &data.kind {
        ConstKind::Aggregate(elements) => elements.get(index).copied(),
        ConstKind::Splat(element) => Some(*element),
        ConstKind::Zero => Some(context.const_zero(ty)),
        ConstKind::Undef => Some(context.const_undef(ty)),
        ConstKind::Poison => Some(context.const_poison(ty)),
        ConstKind::Bytes(bytes) => Some(context.int_const(ty, u64::from(*bytes.get(index)?))),
        _ => None,
    }
}

impl Operation {
    /// The constant result; none when it is not known.
    fn fold(self, context: &Context, operands: &[Const]) -> Option<Const> {
        let is_poison = |constant: &Const| context.const_data(*constant).kind == ConstKind::Poison;
        let poison = || Some(context.const_poison(self.ty));
        if self.opcode == Opcode::Select {
            return match &context.const_data(operands[0]).kind {
                ConstKind::Poison => poison(),
                ConstKind::Int(bit) => Some(operands[if bit.to_u64()? != 0 { 1 } else { 2 }]),
                _ => None,
            };
        }
        if let Some(holds) = self.holds_always() {
            let bit = context.const_bool(holds);
            return Some(match context.type_kind(self.ty) {
                TypeKind::Vector { .. } => context.constant(self.ty, ConstKind::Splat(bit)),
                _ => bit,
            });
        }
        let divides =
            matches!(self.opcode, Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem);
        if operands.iter().any(is_poison) {
            // Division by poison is undefined behaviour.
            return if divides { None } else { poison() };
        }
        if let Some((count, _)) = lanes(context, self.ty) {
            return by_lanes(context, self.ty, count, operands, |ty, operands| {
                Operation { ty, ..self }.fold(context, operands)
            });
        }
        self.scalar(context, operands).or_else(|| {
            let is_expression = matches!(
                self.opcode,
                Opcode::Trunc
                    | Opcode::PtrToInt
                    | Opcode::PtrToAddr
                    | Opcode::IntToPtr
                    | Opcode::BitCast
                    | Opcode::AddrSpaceCast
                    | Opcode::Add
                    | Opcode::Sub
                    | Opcode::Xor
            );
            if !is_expression || self.flags != InstFlags::NONE {
                return None;
            }
            let expr = ConstExpr {
                opcode: self.opcode,
                flags: self.flags,
                operands: operands.into(),
                source_type: None,
                in_range: None,
                mask: Box::default(),
            };
            // `undef` compared with `undef` may differ between threads.
            let folded = expressions::fold(context, self.ty, &expr)?;
            is_defined(context, folded).then_some(folded)
        })
    }
}

impl Operation {
    /// The result of a comparison that is the same for all operands, also for poison.
    fn holds_always(self) -> Option<bool> {
        if self.opcode != Opcode::FCmp {
            return None;
        }
        match FloatPredicate::from_number(self.sub) {
            FloatPredicate::True => Some(true),
            FloatPredicate::False => Some(false),
            _ => None,
        }
    }
}

/// Applies `fold` to each lane of the operands and builds the result; `ty` is a vector of `count`
/// lanes.
fn by_lanes(
    context: &Context,
    ty: Type,
    count: u32,
    operands: &[Const],
    fold: impl Fn(Type, &[Const]) -> Option<Const>,
) -> Option<Const> {
    let TypeKind::Vector { elem, scalable, .. } = *context.type_kind(ty) else { return None };
    let all_same: Option<Vec<Const>> = operands.iter().map(|&c| splat(context, c)).collect();
    if let Some(lane) = all_same {
        return Some(context.constant(ty, ConstKind::Splat(fold(elem, &lane)?)));
    }
    if scalable || count > LANES {
        return None;
    }
    let lane = |at| {
        let lane: Option<Vec<Const>> = operands.iter().map(|&c| element(context, c, at)).collect();
        fold(elem, &lane?)
    };
    let results: Option<Vec<Const>> = (0..count as usize).map(lane).collect();
    Some(context.constant(ty, ConstKind::Aggregate(results?.into())))
}

/// The lanes of two vectors that a constant mask selects.
fn shuffle(context: &Context, ty: Type, operands: &[Const]) -> Option<Const> {
    let TypeKind::Vector { elem, scalable: false, .. } = *context.type_kind(ty) else {
        return None;
    };
    let mut from = lanes_of(context, operands[0])?;
    from.extend(lanes_of(context, operands[1])?);
    let pick = |at: Const| match context.const_data(at).kind {
        ConstKind::Poison | ConstKind::Undef => Some(context.const_poison(elem)),
        _ => from.get(usize::try_from(number(context, at)?).ok()?).copied(),
    };
    let picked: Option<Vec<Const>> =
        lanes_of(context, operands[2])?.into_iter().map(pick).collect();
    Some(context.constant(ty, ConstKind::Aggregate(picked?.into())))
}

/// The lanes of a vector; none if there are too many.
fn lanes_of(context: &Context, vector: Const) -> Option<Vec<Const>> {
    let (count, scalable) = lanes(context, context.const_data(vector).ty)?;
    if scalable || count > LANES {
        return None;
    }
    (0..count as usize).map(|at| element(context, vector, at)).collect()
}

/// How many lanes a vector has, and whether it is scalable (has a multiple of that).
fn lanes(context: &Context, ty: Type) -> Option<(u32, bool)> {
    match *context.type_kind(ty) {
        TypeKind::Vector { len, scalable, .. } => Some((len, scalable)),
        _ => None,
    }
}

/// The element of a vector whose lanes are all equal.
fn splat(context: &Context, constant: Const) -> Option<Const> {
    let data = context.const_data(constant);
    let TypeKind::Vector { elem, .. } = *context.type_kind(data.ty) else { return Some(constant) };
    match data.kind {
        ConstKind::Splat(element) => Some(element),
        ConstKind::Zero => Some(context.const_zero(elem)),
        _ => None,
    }
}
