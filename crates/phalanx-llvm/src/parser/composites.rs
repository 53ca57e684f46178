//! Builds aggregate constants and constant expressions after their elements have been read.
//!
//! [`super::constants`] opens a frame per bracket. This module closes it, and checks that the
//! elements have the types that the aggregate or expression needs.

use phalanx_ir::{
    Const, ConstKind, InstFlags, Opcode, Type, TypeKind, Value, constant::ConstExpr, fold::fold,
};

use super::state::constants::{Frame, FrameKind};
use super::{
    Parser,
    checks::{cast_is_valid, lanes},
    constants::UNTYPED,
    keyword::Keyword,
};
use crate::{error::PResult, lexer::TokenKind};

impl Parser<'_> {
    /// Reads the closing bracket and makes the constant of the elements.
    pub(super) fn close_constant(&mut self, frame: Frame) -> PResult<Const> {
        let Frame { kind, ty, base, start } = frame;
        let (own_type, kind) = match kind {
            FrameKind::Struct { packed } => {
                return self.close_struct_constant(packed, ty, base, start);
            }
            FrameKind::Array => {
                self.expect(TokenKind::RBracket)?;
                let elements = &self.constants.elements[base..];
                let Some(&(_, elem)) = elements.first() else {
                    if !matches!(self.context.type_kind(ty), TypeKind::Array { len: 0, .. }) {
                        let ty = self.type_name(ty);
                        let message = format!("an empty array cannot have type `{ty}`");
                        return Err(self.error(self.span_from(start), message));
                    }
                    return Ok(self.context.constant(ty, ConstKind::Poison));
                };
                self.same_types(elem, base, start, "array")?;
                let len = elements.len() as u64;
                (TypeKind::Array { elem, len }, ConstKind::Aggregate(self.take_elements(base)))
            }
            FrameKind::Vector => {
                self.expect(TokenKind::Greater)?;
                let elem = self.constants.elements[base].1;
                self.same_types(elem, base, start, "vector")?;
                let len = (self.constants.elements.len() - base) as u32;
                let kind = self.context.type_kind(elem);
                if !self.context.is_vector_element(kind) {
                    let elem = self.type_name(elem);
                    let message = format!("a vector cannot hold elements of type `{elem}`");
                    return Err(self.error(self.span_from(start), message));
                }
                let ty = TypeKind::Vector { elem, len, scalable: false };
                (ty, ConstKind::Aggregate(self.take_elements(base)))
            }
            FrameKind::Splat => {
                self.expect(TokenKind::RParen)?;
                let (element, elem) = self.constants.elements[base];
                self.constants.elements.truncate(base);
                let (Some((len, scalable)), _) = lanes(self.context, ty) else {
                    let ty = self.type_name(ty);
                    let message = format!("`splat` must have vector type, not `{ty}`");
                    return Err(self.error(self.span_from(start), message));
                };
                (TypeKind::Vector { elem, len, scalable }, ConstKind::Splat(element))
            }
            FrameKind::PtrAuth => {
                self.expect(TokenKind::RParen)?;
                let own_type = self.check_ptr_auth(base, start)?;
                return self.expression(
                    ty,
                    own_type,
                    ConstKind::PtrAuth(self.elements(base)),
                    base,
                    start,
                );
            }
            FrameKind::Cast(opcode) => {
                self.expect_kw(Keyword::To)?;
                let to = self.parse_type()?;
                self.expect(TokenKind::RParen)?;
                let from = self.constants.elements[base].1;
                if !cast_is_valid(self.context, opcode, from, to) {
                    let (from, to) = (self.type_name(from), self.type_name(to));
                    let message = format!("`{}` cannot convert `{from}` to `{to}`", opcode.text());
                    return Err(self.error(self.span_from(start), message));
                }
                let kind = self.expr(opcode, InstFlags::NONE, base);
                return self.expression(ty, to, kind, base, start);
            }
            FrameKind::Binary(opcode, flags) => {
                self.expect(TokenKind::RParen)?;
                self.operand_count(base, start, opcode, 2)?;
                let (left, right) =
                    (self.constants.elements[base].1, self.constants.elements[base + 1].1);
                if left != right {
                    return Err(
                        self.error(self.span_from(start), "both operands must have the same type")
                    );
                }
                if !matches!(self.context.type_kind(lanes(self.context, left).1), TypeKind::Int(_))
                {
                    let found = self.type_name(left);
                    let message =
                        format!("`{}` needs integer operands, found `{found}`", opcode.text());
                    return Err(self.error(self.span_from(start), message));
                }
                let kind = self.expr(opcode, flags, base);
                return self.expression(ty, left, kind, base, start);
            }
            FrameKind::Lanes(opcode) => {
                self.expect(TokenKind::RParen)?;
                self.operand_count(
                    base,
                    start,
                    opcode,
                    if opcode == Opcode::ExtractElement { 2 } else { 3 },
                )?;
                let operands: Vec<(Value, Type)> = self.constants.elements[base..]
                    .iter()
                    .map(|&(constant, ty)| (constant.into(), ty))
                    .collect();
                let own_type =
                    self.lane_operation_type(self.span_from(start), opcode, &operands)?;
                let kind = self.expr(opcode, InstFlags::NONE, base);
                return self.expression(ty, own_type, kind, base, start);
            }
            FrameKind::Gep { flags, in_range, source } => {
                self.expect(TokenKind::RParen)?;
                let operands: Vec<Value> =
                    self.constants.elements[base..].iter().map(|e| e.0.into()).collect();
                let types: Vec<Type> =
                    self.constants.elements[base..].iter().map(|e| e.1).collect();
                let own_type = self.gep_type(self.span_from(start), source, &operands, &types)?;
                let mut expr = self.expr_data(Opcode::GetElementPtr, flags, base);
                (expr.source_type, expr.in_range) = (Some(source), in_range);
                return self.expression(ty, own_type, ConstKind::Expr(expr), base, start);
            }
        };
        if *self.context.type_kind(ty) != own_type {
            let own_type = self.context.type_of_kind(&own_type);
            return Err(self.type_mismatch(self.span_from(start), ty, own_type));
        }
        Ok(self.context.constant(ty, kind))
    }

    fn close_struct_constant(
        &mut self,
        packed: bool,
        ty: Type,
        base: usize,
        start: u32,
    ) -> PResult<Const> {
        self.expect(TokenKind::RBrace)?;
        if packed {
            self.expect(TokenKind::Greater)?;
        }
        let elements = &self.constants.elements[base..];
        let span = self.span_from(start);
        let Some(fields) = self.struct_fields(ty) else {
            let ty = self.type_name(ty);
            return Err(
                self.error(span, format!("expected a constant of type `{ty}`, found a structure"))
            );
        };
        if fields.len() != elements.len() {
            let (found, wanted) = (elements.len(), fields.len());
            return Err(self
                .error(span, format!("expected a structure of {wanted} elements, found {found}")));
        }
        if self.is_packed(ty) != packed {
            let message =
                if packed { "expected `{`, found `<{`" } else { "expected `<{`, found `{`" };
            let ty = self.type_name(ty);
            return Err(self.error(span, format!("{message}: the type is `{ty}`")));
        }
        if let Some(at) = (0..fields.len()).find(|&at| fields[at] != elements[at].1) {
            let (wanted, found) = (self.type_name(fields[at]), self.type_name(elements[at].1));
            let message = format!(
                "element {at} of this structure must have type `{wanted}`, found `{found}`"
            );
            return Err(self.error(span, message));
        }
        let elements = self.take_elements(base);
        Ok(self.context.constant(ty, ConstKind::Aggregate(elements)))
    }

    fn same_types(&self, elem: Type, base: usize, start: u32, what: &str) -> PResult<()> {
        match self.constants.elements[base..].iter().position(|&(_, ty)| ty != elem) {
            None => Ok(()),
            Some(at) => {
                let (wanted, found) =
                    (self.type_name(elem), self.type_name(self.constants.elements[base + at].1));
                let message = format!(
                    "element {at} of this {what} must have type `{wanted}`, found `{found}`"
                );
                Err(self.error(self.span_from(start), message))
            }
        }
    }

    fn operand_count(&self, base: usize, start: u32, opcode: Opcode, wanted: usize) -> PResult<()> {
        let found = self.constants.elements.len() - base;
        if found == wanted {
            return Ok(());
        }
        let message = format!("`{}` takes {wanted} operands, found {found}", opcode.text());
        Err(self.error(self.span_from(start), message))
    }

    fn check_ptr_auth(&self, base: usize, start: u32) -> PResult<Type> {
        let types: Vec<Type> =
            self.constants.elements[base..].iter().map(|element| element.1).collect();
        let is_ptr = |ty: &Type| self.context.type_kind(*ty).address_space().is_some();
        let ok = match &types[..] {
            [pointer, key, rest @ ..] => {
                is_ptr(pointer)
                    && *key == Type::I32
                    && match rest {
                        [] => true,
                        [discriminator, rest @ ..] => {
                            *discriminator == Type::I64
                                && rest.len() <= 2
                                && rest.iter().all(is_ptr)
                        }
                    }
            }
            _ => false,
        };
        if ok {
            return Ok(types[0]);
        }
        let message = "ptrauth takes a pointer, an `i32` key, and optionally an `i64` discriminator and pointers";
        Err(self.error(self.span_from(start), message))
    }

    fn elements(&self, base: usize) -> Box<[Const]> {
        self.constants.elements[base..].iter().map(|element| element.0).collect()
    }

    fn take_elements(&mut self, base: usize) -> Box<[Const]> {
        self.constants.elements.drain(base..).map(|element| element.0).collect()
    }

    fn expr_data(&self, opcode: Opcode, flags: InstFlags, base: usize) -> Box<ConstExpr> {
        Box::new(ConstExpr {
            opcode,
            flags,
            operands: self.elements(base),
            source_type: None,
            in_range: None,
            mask: Box::default(),
        })
    }

    fn expr(&self, opcode: Opcode, flags: InstFlags, base: usize) -> ConstKind {
        ConstKind::Expr(self.expr_data(opcode, flags, base))
    }

    fn expression(
        &mut self,
        ty: Type,
        own_type: Type,
        kind: ConstKind,
        base: usize,
        start: u32,
    ) -> PResult<Const> {
        if own_type != ty && ty != UNTYPED {
            return Err(self.type_mismatch(self.span_from(start), ty, own_type));
        }
        self.constants.elements.truncate(base);
        let folded = match &kind {
            ConstKind::Expr(expr) => fold(self.context, own_type, expr),
            _ => None,
        };
        Ok(folded.unwrap_or_else(|| self.context.constant(own_type, kind)))
    }
}
