//! Type rules: conversions, address computations, aggregate members.

use phalanx_ir::{ConstKind, Context, Opcode, Type, TypeKind, Value, constant::Int};

use super::Parser;
use crate::error::{PResult, Span};

/// Elements of a vector type, or none of a scalar: length and whether it is a multiple of `vscale`.
type Lanes = Option<(u32, bool)>;

/// The lanes of a type and the type of one.
pub(crate) fn lanes(context: &Context, ty: Type) -> (Lanes, Type) {
    match context.type_kind(ty) {
        TypeKind::Vector { elem, len, scalable } => (Some((*len, *scalable)), *elem),
        _ => (None, ty),
    }
}

/// A vector of this many lanes, or the type itself.
pub(crate) fn with_lanes(context: &Context, lanes: Lanes, elem: Type) -> Type {
    match lanes {
        Some((len, scalable)) => context.type_of_kind(&TypeKind::Vector { elem, len, scalable }),
        None => elem,
    }
}

/// Bits of an integer or floating-point type.
pub(crate) fn scalar_bits(kind: &TypeKind) -> u64 {
    match kind {
        TypeKind::X86Amx => 8192,
        kind => kind.number_bits().unwrap_or(0).into(),
    }
}

/// Whether a conversion is possible between two types.
pub(crate) fn cast_is_valid(context: &Context, opcode: Opcode, from: Type, to: Type) -> bool {
    let ((from_lanes, from_elem), (to_lanes, to_elem)) = (lanes(context, from), lanes(context, to));
    let (from_kind, to_kind) = (context.type_kind(from_elem), context.type_kind(to_elem));
    let (from_int, to_int) =
        (matches!(from_kind, TypeKind::Int(_)), matches!(to_kind, TypeKind::Int(_)));
    let (from_float, to_float) = (from_kind.is_float(), to_kind.is_float());
    let (from_space, to_space) = (from_kind.address_space(), to_kind.address_space());
    let (from_bits, to_bits) = (scalar_bits(from_kind), scalar_bits(to_kind));
    let same_lanes = from_lanes == to_lanes;
    match opcode {
        Opcode::Trunc => same_lanes && from_int && to_int && from_bits > to_bits,
        Opcode::ZExt | Opcode::SExt => same_lanes && from_int && to_int && from_bits < to_bits,
        Opcode::FpTrunc => same_lanes && from_float && to_float && from_bits > to_bits,
        Opcode::FpExt => same_lanes && from_float && to_float && from_bits < to_bits,
        Opcode::UiToFp | Opcode::SiToFp => same_lanes && from_int && to_float,
        Opcode::FpToUi | Opcode::FpToSi => same_lanes && from_float && to_int,
        Opcode::PtrToInt | Opcode::PtrToAddr => same_lanes && from_space.is_some() && to_int,
        Opcode::IntToPtr => same_lanes && from_int && to_space.is_some(),
        Opcode::AddrSpaceCast => {
            same_lanes && from_space.is_some() && to_space.is_some() && from_space != to_space
        }
        Opcode::BitCast => {
            let aggregate = |kind: &TypeKind| {
                matches!(
                    kind,
                    TypeKind::Struct { .. }
                        | TypeKind::Named(_)
                        | TypeKind::Array { .. }
                        | TypeKind::Function { .. }
                        | TypeKind::Void
                )
            };
            if aggregate(from_kind) || aggregate(to_kind) || from_space != to_space {
                return false;
            }
            if from_space.is_some() {
                return same_lanes || from_lanes.or(to_lanes) == Some((1, false));
            }
            let total = |lanes: Lanes, bits: u64| {
                let (len, scalable) = lanes.unwrap_or((1, false));
                (u64::from(len) * bits, scalable)
            };
            total(from_lanes, from_bits) == total(to_lanes, to_bits)
        }
        _ => false,
    }
}

/// Whether values of a type can be operands and results.
pub(crate) fn is_first_class(context: &Context, ty: Type) -> bool {
    ty != Type::VOID && !matches!(context.type_kind(ty), TypeKind::Function { .. })
}

impl Parser<'_> {
    /// An operand's integer value: a constant, or a vector of one constant.
    fn index_value(&self, value: Value) -> Option<u64> {
        let mut constant = value.as_const()?;
        loop {
            let data = self.context.const_data(constant);
            match &data.kind {
                ConstKind::Int(Int::Small(value)) => return Some(*value),
                ConstKind::Int(int) => return int.to_u64(),
                ConstKind::Zero => return Some(0),
                ConstKind::Splat(element) => constant = *element,
                ConstKind::Aggregate(elements)
                    if elements.iter().all(|element| *element == elements[0]) =>
                {
                    constant = *elements.first()?;
                }
                _ => return None,
            }
        }
    }

    /// The result type of a `getelementptr`. Operands are base and indices, each with its type.
    pub(crate) fn gep_type(
        &mut self,
        span: Span,
        source: Type,
        operands: &[Value],
        types: &[Type],
    ) -> PResult<Type> {
        let ([_, indices @ ..], [base, index_types @ ..]) = (operands, types) else {
            return Err(self.error(span, "expected a base address"));
        };
        let (mut result_lanes, base_elem) = lanes(self.context, *base);
        if self.context.type_kind(base_elem).address_space().is_none() {
            let found = self.type_name(*base);
            return Err(self.error(
                span,
                format!("the base of getelementptr must be a pointer, found `{found}`"),
            ));
        }
        if !indices.is_empty() && !self.is_sized(source) {
            let source = self.type_name(source);
            let message =
                format!("the source type of getelementptr must be sized, found `{source}`");
            return Err(self.error(span, message));
        }
        for &ty in index_types {
            let (index_lanes, elem) = lanes(self.context, ty);
            if !matches!(self.context.type_kind(elem), TypeKind::Int(_)) {
                let found = self.type_name(ty);
                return Err(self.error(
                    span,
                    format!("a getelementptr index must be an integer, found `{found}`"),
                ));
            }
            if index_lanes.is_some() {
                if result_lanes.is_some() && result_lanes != index_lanes {
                    return Err(
                        self.error(span, "the vectors of a getelementptr have different lengths")
                    );
                }
                result_lanes = index_lanes;
            }
        }
        let mut ty = source;
        for (&index, &index_type) in indices.iter().zip(index_types).skip(1) {
            ty = match self.context.type_kind(ty) {
                TypeKind::Array { elem, .. } | TypeKind::Vector { elem, .. } => *elem,
                _ => match self.struct_fields(ty) {
                    Some(fields) => {
                        let (_, elem) = lanes(self.context, index_type);
                        let at = self.index_value(index).filter(|_| elem == Type::I32);
                        match at.and_then(|at| fields.get(usize::try_from(at).ok()?)) {
                            Some(&field) => field,
                            None => {
                                let name = self.type_name(ty);
                                let message = format!(
                                    "invalid getelementptr index: `{name}` needs a constant `i32` below {}",
                                    fields.len()
                                );
                                return Err(self.error(span, message));
                            }
                        }
                    }
                    None => {
                        let name = self.type_name(ty);
                        return Err(self.error(
                            span,
                            format!("invalid getelementptr index: `{name}` has no members"),
                        ));
                    }
                },
            };
        }
        Ok(with_lanes(self.context, result_lanes, base_elem))
    }

    /// The type of a member of an aggregate, named by constant indices.
    pub(crate) fn member_type(
        &self,
        span: Span,
        aggregate: Type,
        indices: &[u32],
    ) -> PResult<Type> {
        let mut ty = aggregate;
        for &index in indices {
            let member = match self.context.type_kind(ty) {
                TypeKind::Array { elem, len } => (u64::from(index) < *len).then_some(*elem),
                _ => self.struct_fields(ty).and_then(|fields| fields.get(index as usize).copied()),
            };
            ty = member.ok_or_else(|| {
                let name = self.type_name(ty);
                self.error(span, format!("invalid index {index}: `{name}` has no such member"))
            })?;
        }
        Ok(ty)
    }

    /// Whether this is an aggregate type.
    pub(crate) fn is_aggregate(&self, ty: Type) -> bool {
        matches!(
            self.context.type_kind(ty),
            TypeKind::Array { .. } | TypeKind::Struct { .. } | TypeKind::Named(_)
        )
    }
}
