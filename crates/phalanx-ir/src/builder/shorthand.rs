//! Short forms for the types and constants that code generators write all the time.

use crate::{
    constant::{Const, ConstKind, Int},
    context::Context,
    symbol::GlobalName,
    types::{Type, TypeKind},
};

impl Context {
    /// `ret (params)`, or `ret (params, ...)`.
    pub fn function_type(&self, ret: Type, params: &[Type], vararg: bool) -> Type {
        self.type_of_kind(&TypeKind::Function { ret, params: params.into(), vararg })
    }

    /// `<len x elem>`
    pub fn vector_type(&self, elem: Type, len: u32) -> Type {
        self.type_of_kind(&TypeKind::Vector { elem, len, scalable: false })
    }

    /// `[len x elem]`
    pub fn array_type(&self, elem: Type, len: u64) -> Type {
        self.type_of_kind(&TypeKind::Array { elem, len })
    }

    /// `{ fields }`
    pub fn struct_type(&self, fields: &[Type]) -> Type {
        self.type_of_kind(&TypeKind::Struct { packed: false, fields: fields.into() })
    }

    /// `i1 true` or `i1 false`
    pub fn const_bool(&self, value: bool) -> Const {
        self.int_const(Type::I1, u64::from(value))
    }

    /// `i32`
    pub fn const_i32(&self, value: i32) -> Const {
        self.int_const(Type::I32, value as u64)
    }

    /// `i64`
    pub fn const_i64(&self, value: i64) -> Const {
        self.int_const(Type::I64, value as u64)
    }

    /// `float`
    pub fn const_f32(&self, value: f32) -> Const {
        self.constant(Type::FLOAT, ConstKind::Float(u128::from(value.to_bits())))
    }

    /// `double`
    pub fn const_f64(&self, value: f64) -> Const {
        self.constant(Type::DOUBLE, ConstKind::Float(u128::from(value.to_bits())))
    }

    /// Zero of any type: `0`, `0.0`, `null` or `zeroinitializer`.
    pub fn const_zero(&self, ty: Type) -> Const {
        let kind = match self.type_kind(ty) {
            TypeKind::Int(bits) => ConstKind::Int(Int::from_u64(*bits, 0)),
            TypeKind::Ptr(_) => ConstKind::Null,
            kind if kind.is_float() => ConstKind::Float(0),
            _ => ConstKind::Zero,
        };
        self.constant(ty, kind)
    }

    /// `null`
    pub fn const_null(&self, ty: Type) -> Const {
        self.constant(ty, ConstKind::Null)
    }

    /// `undef`
    pub fn const_undef(&self, ty: Type) -> Const {
        self.constant(ty, ConstKind::Undef)
    }

    /// `poison`
    pub fn const_poison(&self, ty: Type) -> Const {
        self.constant(ty, ConstKind::Poison)
    }

    /// `none` of type `token`.
    pub fn const_none_token(&self) -> Const {
        self.constant(Type::TOKEN, ConstKind::NoneToken)
    }

    /// An array, structure or vector of these members.
    pub fn const_aggregate(&self, ty: Type, members: &[Const]) -> Const {
        self.constant(ty, ConstKind::Aggregate(members.into()))
    }

    /// A vector of `i32` lanes, as masks of `shufflevector` are; `-1` is poison.
    pub fn const_mask(&self, lanes: &[i32]) -> Const {
        let lane = |&lane: &i32| match lane {
            -1 => self.const_poison(Type::I32),
            lane => self.const_i32(lane),
        };
        let ty = self.vector_type(Type::I32, lanes.len() as u32);
        self.const_aggregate(ty, &lanes.iter().map(lane).collect::<Vec<_>>())
    }

    /// The address of a module-level entity, a pointer to the given address space.
    pub fn const_global(&self, name: GlobalName, address_space: u32) -> Const {
        self.constant(self.ptr_type(address_space), ConstKind::Global(name))
    }
}
