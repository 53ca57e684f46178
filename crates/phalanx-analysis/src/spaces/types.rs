//! Which types can hold an address.

use phalanx_ir::{Context, Type, TypeKind};

use crate::code::Code;

/// Whether a function of a type may return an address.
#[must_use]
pub fn may_return_address(context: &Context, function_type: Type) -> bool {
    match context.type_kind(function_type) {
        TypeKind::Function { ret, .. } => holds_address(context, *ret),
        _ => true,
    }
}

/// Whether a value of a type can hold an address at all: pointers, integers of their width, and
/// types that contain these.
#[must_use]
pub fn may_hold_address(code: Code<'_>, ty: Type) -> bool {
    holds_address(code.context, ty)
}

fn holds_address(context: &Context, ty: Type) -> bool {
    match context.type_kind(ty) {
        TypeKind::Void | TypeKind::Half | TypeKind::BFloat | TypeKind::Float => false,
        TypeKind::Int(bits) => *bits >= 32,
        _ => true,
    }
}
