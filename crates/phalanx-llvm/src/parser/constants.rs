//! Constants and constant expressions.
//!
//! Nesting is read with a stack of frames, one per open bracket; elements wait on a second stack.
//! An element is always a type and a constant. So the loop reads a type, then reads a leaf or opens
//! a frame, then closes all frames that end.

use phalanx_ir::{Const, ConstKind, InstFlags, Opcode, Type, TypeKind, Value, constant::Int};

use super::state::constants::{Frame, FrameKind};
use super::{
    Parser,
    checks::{is_first_class, lanes, with_lanes},
    keyword::Keyword,
};
use crate::{
    error::{PResult, Span},
    lexer::{Token, TokenKind},
};

/// Stands for whatever type a constant expression has.
pub(super) const UNTYPED: Type = Type::VOID;

impl<'a> Parser<'a> {
    /// A type and a constant of it.
    pub(crate) fn parse_typed_constant(&mut self) -> PResult<(Type, Const)> {
        let ty = self.parse_type()?;
        Ok((ty, self.parse_constant(ty)?))
    }

    /// A constant of a type.
    #[inline]
    pub(crate) fn parse_constant(&mut self, ty: Type) -> PResult<Const> {
        if self.at(TokenKind::Int) {
            return self.parse_int(ty);
        }
        self.parse_nested_constant(ty)
    }

    /// A constant expression that says itself which type it has.
    pub(crate) fn parse_untyped_expression(&mut self) -> PResult<Const> {
        self.parse_nested_constant(UNTYPED)
    }

    /// An integer constant, at the integer.
    #[inline]
    pub(crate) fn parse_int(&mut self, ty: Type) -> PResult<Const> {
        let literal = self.int_of(self.token);
        let &TypeKind::Int(bits) = self.context.type_kind(ty) else {
            let ty = self.type_name(ty);
            return Err(self.error(
                self.span(),
                format!("an integer constant must have integer type, not `{ty}`"),
            ));
        };
        self.bump();
        if bits <= 64
            && let Int::Small(value) = literal.to_int(bits)
        {
            return Ok(self.small_int(ty, value));
        }
        Ok(self.context.constant(ty, ConstKind::Int(literal.to_int(bits))))
    }

    fn small_int(&mut self, ty: Type, value: u64) -> Const {
        let context = self.context;
        let make = || context.constant(ty, ConstKind::Int(Int::Small(value)));
        *self.constants.ints.entry((ty, value)).or_insert_with(make)
    }

    fn parse_nested_constant(&mut self, ty: Type) -> PResult<Const> {
        if let Some(leaf) = self.parse_leaf(ty)? {
            return Ok(leaf);
        }
        // What an error left behind is of no use; errors end the parse.
        let mut frames = std::mem::take(&mut self.constants.frames);
        frames.clear();
        self.constants.elements.clear();
        let mut wanted = ty;
        loop {
            let opened = match self.parse_leaf(wanted)? {
                Some(leaf) => Some(leaf),
                None => self.open_constant(wanted, &mut frames)?,
            };
            let Some(mut value) = opened else {
                wanted = self.parse_type()?;
                continue;
            };
            loop {
                let Some(&frame) = frames.last() else {
                    self.constants.frames = frames;
                    return Ok(value);
                };
                self.constants.elements.push((value, wanted));
                if !matches!(frame.kind, FrameKind::Splat | FrameKind::Cast(_))
                    && self.accept(TokenKind::Comma)
                {
                    wanted = self.parse_type()?;
                    break;
                }
                value = self.close_constant(frame)?;
                wanted = frame.ty;
                frames.pop();
            }
        }
    }

    /// A constant without elements; None when something else begins here.
    fn parse_leaf(&mut self, ty: Type) -> PResult<Option<Const>> {
        let token = self.token;
        let kind = match token.kind {
            TokenKind::Int | TokenKind::HexInt => return self.parse_int(ty).map(Some),
            TokenKind::Float | TokenKind::HexFloat => {
                if !self.context.type_kind(ty).is_float() {
                    let ty = self.type_name(ty);
                    let message = format!(
                        "a floating-point constant must have floating-point type, not `{ty}`"
                    );
                    return Err(self.error(token.span(), message));
                }
                ConstKind::Float(self.float_bits(token, ty)?)
            }
            TokenKind::Global | TokenKind::GlobalId => return self.parse_global_ref(ty).map(Some),
            TokenKind::Local | TokenKind::LocalId => {
                return Err(self.error(token.span(), "a local name cannot be used in a constant"));
            }
            TokenKind::Word => match token.keyword {
                Keyword::True | Keyword::False if ty == Type::I1 => {
                    self.bump();
                    return Ok(Some(self.small_int(ty, u64::from(token.keyword == Keyword::True))));
                }
                Keyword::True | Keyword::False => {
                    return Err(self.type_mismatch(token.span(), ty, Type::I1));
                }
                Keyword::Null if self.context.type_kind(ty).address_space().is_some() => {
                    ConstKind::Null
                }
                Keyword::Undef if is_first_class(self.context, ty) && ty != Type::LABEL => {
                    ConstKind::Undef
                }
                Keyword::Poison if is_first_class(self.context, ty) && ty != Type::LABEL => {
                    ConstKind::Poison
                }
                Keyword::ZeroInitializer if self.has_zero(ty) => ConstKind::Zero,
                Keyword::None_ if ty == Type::TOKEN => ConstKind::NoneToken,
                Keyword::Null
                | Keyword::Undef
                | Keyword::Poison
                | Keyword::ZeroInitializer
                | Keyword::None_ => {
                    let ty = self.type_name(ty);
                    let message = format!("`{}` cannot have type `{ty}`", token.keyword.text());
                    return Err(self.error(token.span(), message));
                }
                Keyword::C => return self.parse_bytes(ty).map(Some),
                Keyword::BlockAddress => return self.parse_block_address(ty).map(Some),
                Keyword::DsoLocalEquivalent | Keyword::NoCfi => {
                    return self.parse_function_form(ty).map(Some);
                }
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        self.bump();
        Ok(Some(self.context.constant(ty, kind)))
    }

    fn has_zero(&self, ty: Type) -> bool {
        match self.context.type_kind(ty) {
            TypeKind::Label | TypeKind::Metadata | TypeKind::Void | TypeKind::Function { .. } => {
                false
            }
            TypeKind::Target { name, .. } => {
                let name = self.context.bytes(*name);
                name.starts_with(b"spirv.")
                    && name != b"spirv.Image"
                    && name != b"spirv.SampledImage"
                    || matches!(name, b"aarch64.svcount" | b"riscv.vector.tuple")
            }
            _ => true,
        }
    }

    pub(crate) fn type_mismatch(
        &self,
        span: Span,
        expected: Type,
        found: Type,
    ) -> Box<crate::ParseError> {
        let (expected, found) = (self.type_name(expected), self.type_name(found));
        self.error(
            span,
            format!("expected a constant of type `{expected}`, found one of type `{found}`"),
        )
    }

    /// `c"bytes"`, at the `c`.
    fn parse_bytes(&mut self, ty: Type) -> PResult<Const> {
        let start = self.bump().start;
        let bytes = self.string()?;
        let own_type = TypeKind::Array { elem: Type::I8, len: bytes.len() as u64 };
        if *self.context.type_kind(ty) != own_type {
            let own_type = self.context.type_of_kind(&own_type);
            return Err(self.type_mismatch(self.span_from(start), ty, own_type));
        }
        Ok(self.context.constant(ty, ConstKind::Bytes(bytes.as_ref().into())))
    }

    /// `dso_local_equivalent @f`, `no_cfi @f`.
    fn parse_function_form(&mut self, ty: Type) -> PResult<Const> {
        let keyword = self.bump().keyword;
        let (name, span) = self.parse_function_of_form(ty, keyword)?;
        let kind = match keyword {
            Keyword::NoCfi => ConstKind::NoCfi(name),
            _ => {
                self.globals.must_be_functions.push((name, span));
                ConstKind::DsoLocalEquivalent(name)
            }
        };
        Ok(self.context.constant(ty, kind))
    }

    /// Opens a bracket, or reads a constant that has none of the elements it could have.
    fn open_constant(&mut self, ty: Type, frames: &mut Vec<Frame>) -> PResult<Option<Const>> {
        let token = self.token;
        let kind = match token.kind {
            TokenKind::LBrace => {
                self.bump();
                FrameKind::Struct { packed: false }
            }
            TokenKind::Less => {
                self.bump();
                if self.accept(TokenKind::LBrace) {
                    FrameKind::Struct { packed: true }
                } else {
                    FrameKind::Vector
                }
            }
            TokenKind::LBracket => {
                self.bump();
                FrameKind::Array
            }
            TokenKind::Word => self.open_expression(token, ty)?,
            _ => {
                return Err(
                    self.unexpected(&format!("a constant of type `{}`", self.type_name(ty)))
                );
            }
        };
        let frame = Frame { kind, ty, base: self.constants.elements.len(), start: token.start };
        let empty = match kind {
            FrameKind::Struct { .. } => self.at(TokenKind::RBrace),
            FrameKind::Array => self.at(TokenKind::RBracket),
            _ => false,
        };
        if empty {
            return self.close_constant(frame).map(Some);
        }
        frames.push(frame);
        Ok(None)
    }

    fn open_expression(&mut self, token: Token, ty: Type) -> PResult<FrameKind> {
        self.bump();
        let kind = match token.keyword {
            Keyword::Splat => FrameKind::Splat,
            Keyword::PtrAuth => FrameKind::PtrAuth,
            Keyword::Trunc => FrameKind::Cast(Opcode::Trunc),
            Keyword::PtrToInt => FrameKind::Cast(Opcode::PtrToInt),
            Keyword::PtrToAddr => FrameKind::Cast(Opcode::PtrToAddr),
            Keyword::IntToPtr => FrameKind::Cast(Opcode::IntToPtr),
            Keyword::BitCast => FrameKind::Cast(Opcode::BitCast),
            Keyword::AddrSpaceCast => FrameKind::Cast(Opcode::AddrSpaceCast),
            Keyword::ExtractElement => FrameKind::Lanes(Opcode::ExtractElement),
            Keyword::InsertElement => FrameKind::Lanes(Opcode::InsertElement),
            Keyword::ShuffleVector => FrameKind::Lanes(Opcode::ShuffleVector),
            Keyword::Xor => FrameKind::Binary(Opcode::Xor, InstFlags::NONE),
            Keyword::Add => FrameKind::Binary(Opcode::Add, self.parse_wrap_flags()),
            Keyword::Sub => FrameKind::Binary(Opcode::Sub, self.parse_wrap_flags()),
            Keyword::GetElementPtr => {
                let mut flags = self.parse_gep_flags();
                let in_range = self.parse_in_range()?;
                // The flags may also follow `inrange`.
                flags |= self.parse_gep_flags();
                self.expect(TokenKind::LParen)?;
                let source = self.parse_type()?;
                self.expect(TokenKind::Comma)?;
                return Ok(FrameKind::Gep { flags, in_range, source });
            }
            Keyword::Asm => {
                return Err(self.error(token.span(), "inline assembly can only be called"));
            }
            _ if Opcode::from_text(self.text(token)).is_some() => {
                let message =
                    format!("`{}` is not allowed as a constant expression", token.keyword.text());
                return Err(self.error(token.span(), message));
            }
            _ => {
                let found = String::from_utf8_lossy(self.text(token)).into_owned();
                let message = format!(
                    "expected a constant of type `{}`, found `{found}`",
                    self.type_name(ty)
                );
                return Err(self.error(token.span(), message));
            }
        };
        self.expect(TokenKind::LParen)?;
        Ok(kind)
    }

    /// `nuw` and `nsw`, in any order, once each.
    pub(crate) fn parse_wrap_flags(&mut self) -> InstFlags {
        let mut flags = InstFlags::NONE;
        loop {
            let flag = match self.token.keyword {
                Keyword::Nuw => InstFlags::NUW,
                Keyword::Nsw => InstFlags::NSW,
                _ => return flags,
            };
            if flags.contains(flag) {
                return flags;
            }
            flags |= flag;
            self.bump();
        }
    }

    /// `inbounds`, `nusw` and `nuw` in any order.
    pub(crate) fn parse_gep_flags(&mut self) -> InstFlags {
        let mut flags = InstFlags::NONE;
        loop {
            flags |= match self.token.keyword {
                Keyword::InBounds => InstFlags::INBOUNDS.with(InstFlags::NUSW),
                Keyword::Nusw => InstFlags::NUSW,
                Keyword::Nuw => InstFlags::NUW,
                _ => return flags,
            };
            self.bump();
        }
    }

    fn parse_in_range(&mut self) -> PResult<Option<(i64, i64)>> {
        if !self.accept_kw(Keyword::InRange) {
            return Ok(None);
        }
        self.expect(TokenKind::LParen)?;
        let start = self.token.start;
        let from = self.expect_i64()?;
        self.expect(TokenKind::Comma)?;
        let to = self.expect_i64()?;
        if from >= to {
            return Err(self
                .error(self.span_from(start), "the end of a range must be larger than its start"));
        }
        self.expect(TokenKind::RParen)?;
        Ok(Some((from, to)))
    }

    /// The result type of `extractelement`, `insertelement` or `shufflevector`.
    pub(crate) fn lane_operation_type(
        &self,
        span: Span,
        opcode: Opcode,
        operands: &[(Value, Type)],
    ) -> PResult<Type> {
        let vector = operands[0].1;
        let invalid = |why: String| {
            self.error(span, format!("invalid operands of `{}`: {why}", opcode.text()))
        };
        let (Some(shape), elem) = lanes(self.context, vector) else {
            return Err(invalid(format!("`{}` is no vector", self.type_name(vector))));
        };
        let is_int = |ty: Type| matches!(self.context.type_kind(ty), TypeKind::Int(_));
        match opcode {
            Opcode::ExtractElement if is_int(operands[1].1) => Ok(elem),
            Opcode::InsertElement if operands[1].1 != elem => {
                let (wanted, found) = (self.type_name(elem), self.type_name(operands[1].1));
                Err(invalid(format!("expected an element of type `{wanted}`, found `{found}`")))
            }
            Opcode::InsertElement if is_int(operands[2].1) => Ok(vector),
            Opcode::ShuffleVector => {
                let (other, (mask, mask_type)) = (operands[1].1, operands[2]);
                if other != vector {
                    return Err(invalid("the two vectors must have the same type".to_string()));
                }
                let (Some(mask_shape), Type::I32) = lanes(self.context, mask_type) else {
                    return Err(invalid("the mask must be a vector of `i32`".to_string()));
                };
                let good = mask_shape.1 == shape.1 && self.mask_is_good(mask, shape);
                if !good {
                    return Err(invalid(
                        "the mask must be constant and name lanes of the two vectors".to_string(),
                    ));
                }
                Ok(with_lanes(self.context, Some(mask_shape), elem))
            }
            _ => Err(invalid("the lane must be an integer".to_string())),
        }
    }

    fn mask_is_good(&self, mask: Value, (len, scalable): (u32, bool)) -> bool {
        let Some(mask) = mask.as_const() else { return false };
        let limit = u64::from(len) * 2;
        let lane_is_good = |lane: Const| match &self.context.const_data(lane).kind {
            ConstKind::Int(int) => int.to_u64().is_some_and(|lane| lane < limit),
            ConstKind::Undef | ConstKind::Poison => true,
            _ => false,
        };
        match &self.context.const_data(mask).kind {
            ConstKind::Undef | ConstKind::Poison | ConstKind::Zero => true,
            ConstKind::Splat(lane) if scalable => {
                matches!(&self.context.const_data(*lane).kind, ConstKind::Int(int) if int.to_u64() == Some(0))
            }
            ConstKind::Splat(lane) => lane_is_good(*lane),
            ConstKind::Aggregate(lanes) => lanes.iter().all(|&lane| lane_is_good(lane)),
            _ => false,
        }
    }
}
