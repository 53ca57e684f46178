//! Types, and the identified structures of a module.
//!
//! Nested types are read with a stack of frames, one per open bracket; their parts wait on a second
//! stack. Pointers with an element type (`i32*`) are read as `ptr`.

mod identified;

use phalanx_ir::{Symbol, Type, TypeKind};

use super::state::types::{Frame, OpenFrame};
use super::{Parser, keyword::Keyword};
use crate::{
    error::{PResult, Span},
    lexer::TokenKind,
};

/// The widest integer type.
const MAX_INT_BITS: u32 = 1 << 23;
/// Address spaces have 24 bits.
const MAX_ADDRESS_SPACE: u32 = (1 << 24) - 1;

/// What to do after a part.
enum Next {
    /// The bracket closed and this is the type.
    Done(Type),
    /// Another part follows.
    More,
}

impl<'a> Parser<'a> {
    /// A type other than `void`.
    #[inline]
    pub(crate) fn parse_type(&mut self) -> PResult<Type> {
        let start = self.token.start;
        let ty = self.parse_type_or_void()?;
        if ty == Type::VOID {
            return Err(self.error(
                self.span_from(start),
                "`void` is only allowed as the result of a function",
            ));
        }
        Ok(ty)
    }

    /// A type.
    #[inline]
    pub(crate) fn parse_type_or_void(&mut self) -> PResult<Type> {
        let Some(ty) = self.parse_simple_type()? else { return self.parse_nested_type(None) };
        if self.at_type_suffix() { self.parse_nested_type(Some(ty)) } else { Ok(ty) }
    }

    #[inline]
    fn at_type_suffix(&self) -> bool {
        matches!(self.kind(), TokenKind::LParen | TokenKind::Star) || self.at_kw(Keyword::AddrSpace)
    }

    /// A type that is one token or a pointer; None when something else begins here.
    #[inline]
    fn parse_simple_type(&mut self) -> PResult<Option<Type>> {
        let ty = match self.token.keyword {
            Keyword::None if self.at(TokenKind::IntType) => {
                let bits = self.token.number;
                if bits == 0 || bits > MAX_INT_BITS {
                    let message = format!("an integer type has 1 to {MAX_INT_BITS} bits");
                    return Err(self.error(self.span(), message));
                }
                self.context.int_type(bits)
            }
            Keyword::Ptr => {
                self.bump();
                let space = self.parse_optional_address_space(0)?;
                if self.at(TokenKind::Star) {
                    return Err(self.error(self.span(), "`ptr*` is invalid: use `ptr`"));
                }
                return Ok(Some(self.context.ptr_type(space)));
            }
            Keyword::Float => Type::FLOAT,
            Keyword::Void => Type::VOID,
            Keyword::Double => Type::DOUBLE,
            Keyword::Half => Type::HALF,
            Keyword::BFloat => Type::BFLOAT,
            Keyword::Label => Type::LABEL,
            Keyword::Metadata => Type::METADATA,
            Keyword::Token => Type::TOKEN,
            Keyword::X86Fp80 => Type::X86_FP80,
            Keyword::Fp128 => Type::FP128,
            Keyword::PpcFp128 => Type::PPC_FP128,
            Keyword::X86Amx => Type::X86_AMX,
            _ => return Ok(None),
        };
        self.bump();
        Ok(Some(ty))
    }

    fn parse_nested_type(&mut self, mut first: Option<Type>) -> PResult<Type> {
        // What an error left behind is of no use; errors end the parse.
        let mut frames = std::mem::take(&mut self.types.frames);
        frames.clear();
        self.types.parts.clear();
        loop {
            let opened = match first.take() {
                Some(ty) => Some(ty),
                None => self.open_type(&mut frames)?,
            };
            let Some(mut ty) = opened else { continue };
            loop {
                match self.parse_type_suffix(ty, &mut frames)? {
                    Suffix::None => {}
                    Suffix::Type(with) => {
                        ty = with;
                        continue;
                    }
                    Suffix::Open => break,
                }
                let Some(&mut OpenFrame { frame, ref mut part }) = frames.last_mut() else {
                    self.types.frames = frames;
                    return Ok(ty);
                };
                match self.close_type(frame, *part, ty)? {
                    Next::More => {
                        *part = self.token.start;
                        break;
                    }
                    Next::Done(done) => {
                        frames.pop();
                        ty = done;
                    }
                }
            }
        }
    }

    /// A type without parts, or None when a bracket has been opened.
    fn open_type(&mut self, frames: &mut Vec<OpenFrame>) -> PResult<Option<Type>> {
        if let Some(ty) = self.parse_simple_type()? {
            return Ok(Some(ty));
        }
        let base = self.types.parts.len();
        match self.kind() {
            TokenKind::Local | TokenKind::LocalId => {
                let token = self.bump();
                Ok(Some(self.type_named(token)))
            }
            TokenKind::LBrace => {
                self.bump();
                self.open_struct(false, base, frames)
            }
            TokenKind::LBracket => {
                self.bump();
                let len = self.expect_u64()?;
                self.expect_kw(Keyword::X)?;
                frames.push(OpenFrame { frame: Frame::Array { len }, part: self.token.start });
                Ok(None)
            }
            TokenKind::Less => {
                self.bump();
                if self.accept(TokenKind::LBrace) {
                    return self.open_struct(true, base, frames);
                }
                let scalable = self.accept_kw(Keyword::VScale);
                if scalable {
                    self.expect_kw(Keyword::X)?;
                }
                let span = self.span();
                let len = self.expect_u64()?;
                let len = u32::try_from(len)
                    .map_err(|_| self.error(span, "this vector has too many elements"))?;
                if len == 0 {
                    return Err(self.error(span, "a vector needs at least one element"));
                }
                self.expect_kw(Keyword::X)?;
                frames.push(OpenFrame {
                    frame: Frame::Vector { len, scalable },
                    part: self.token.start,
                });
                Ok(None)
            }
            TokenKind::Word if self.at_kw(Keyword::Target) => {
                let start = self.bump().start;
                self.expect(TokenKind::LParen)?;
                let name = self.string_symbol()?;
                let frame = Frame::Target { name, base, start };
                self.rest_of_target(name, base, start).map(|done| match done {
                    Next::Done(ty) => Some(ty),
                    Next::More => {
                        frames.push(OpenFrame { frame, part: self.token.start });
                        None
                    }
                })
            }
            _ => Err(self.unexpected("a type")),
        }
    }

    fn open_struct(
        &mut self,
        packed: bool,
        base: usize,
        frames: &mut Vec<OpenFrame>,
    ) -> PResult<Option<Type>> {
        if !self.at(TokenKind::RBrace) {
            frames
                .push(OpenFrame { frame: Frame::Struct { packed, base }, part: self.token.start });
            return Ok(None);
        }
        self.close_struct(packed)?;
        Ok(Some(self.context.type_of_kind(&TypeKind::Struct { packed, fields: Box::default() })))
    }

    fn close_struct(&mut self, packed: bool) -> PResult<()> {
        self.expect(TokenKind::RBrace)?;
        if packed {
            self.expect(TokenKind::Greater)?;
        }
        Ok(())
    }

    /// Takes the part that was just read into the innermost open bracket.
    fn close_type(&mut self, frame: Frame, part: u32, ty: Type) -> PResult<Next> {
        let part = self.span_from(part);
        match frame {
            Frame::Array { len } => {
                if !self.is_array_element(ty) {
                    return Err(self.bad_part(part, "an array", ty));
                }
                self.expect(TokenKind::RBracket)?;
                Ok(Next::Done(self.context.type_of_kind(&TypeKind::Array { elem: ty, len })))
            }
            Frame::Vector { len, scalable } => {
                if !self.is_vector_element(ty) {
                    return Err(self.bad_part(part, "a vector", ty));
                }
                self.expect(TokenKind::Greater)?;
                Ok(Next::Done(self.context.type_of_kind(&TypeKind::Vector {
                    elem: ty,
                    len,
                    scalable,
                })))
            }
            Frame::Struct { packed, base } => {
                if matches!(ty, Type::X86_AMX) || self.is_array_element(ty) {
                    self.types.parts.push(ty);
                } else {
                    return Err(self.bad_part(part, "a structure", ty));
                }
                if self.accept(TokenKind::Comma) {
                    return Ok(Next::More);
                }
                self.close_struct(packed)?;
                let fields = self.types.parts.drain(base..).collect();
                Ok(Next::Done(self.context.type_of_kind(&TypeKind::Struct { packed, fields })))
            }
            Frame::Params { ret, base } => {
                if matches!(ty, Type::VOID | Type::LABEL) || self.is_function_type(ty) {
                    let message = format!("a parameter cannot have type `{}`", self.type_name(ty));
                    return Err(self.error(part, message));
                }
                self.types.parts.push(ty);
                let vararg = if !self.accept(TokenKind::Comma) {
                    false
                } else if self.accept(TokenKind::Ellipsis) {
                    true
                } else {
                    return Ok(Next::More);
                };
                self.expect(TokenKind::RParen)?;
                let params = self.types.parts.drain(base..).collect();
                Ok(Next::Done(self.context.type_of_kind(&TypeKind::Function {
                    ret,
                    params,
                    vararg,
                })))
            }
            Frame::Target { name, base, start } => {
                self.types.parts.push(ty);
                self.rest_of_target(name, base, start)
            }
        }
    }

    /// What may follow a type: `*`, `addrspace(n)*`, or parameters, which make it the result of a
    /// function type.
    fn parse_type_suffix(&mut self, ty: Type, frames: &mut Vec<OpenFrame>) -> PResult<Suffix> {
        if self.at(TokenKind::Star) || self.at_kw(Keyword::AddrSpace) {
            if matches!(ty, Type::VOID | Type::LABEL | Type::METADATA | Type::TOKEN | Type::X86_AMX)
            {
                let message =
                    format!("there are no pointers to `{}`: use `ptr`", self.type_name(ty));
                return Err(self.error(self.span(), message));
            }
            let space = self.parse_optional_address_space(0)?;
            self.expect(TokenKind::Star)?;
            return Ok(Suffix::Type(self.context.ptr_type(space)));
        }
        if !self.at(TokenKind::LParen) {
            return Ok(Suffix::None);
        }
        if self.is_function_type(ty) || matches!(ty, Type::LABEL | Type::METADATA) {
            let message = format!("a function cannot return `{}`", self.type_name(ty));
            return Err(self.error(self.span(), message));
        }
        self.bump();
        let vararg = self.accept(TokenKind::Ellipsis);
        if vararg || self.at(TokenKind::RParen) {
            self.expect(TokenKind::RParen)?;
            let kind = TypeKind::Function { ret: ty, params: Box::default(), vararg };
            return Ok(Suffix::Type(self.context.type_of_kind(&kind)));
        }
        frames.push(OpenFrame {
            frame: Frame::Params { ret: ty, base: self.types.parts.len() },
            part: self.token.start,
        });
        Ok(Suffix::Open)
    }

    /// After the name or a type of a target type: more types, or integers and the end.
    fn rest_of_target(&mut self, name: Symbol, base: usize, start: u32) -> PResult<Next> {
        let mut ints = Vec::new();
        while self.accept(TokenKind::Comma) {
            if self.at(TokenKind::Int) || !ints.is_empty() {
                ints.push(self.expect_u32()?);
            } else {
                return Ok(Next::More);
            }
        }
        self.expect(TokenKind::RParen)?;
        let types: Box<[Type]> = self.types.parts.drain(base..).collect();
        let wanted = match self.context.bytes(name) {
            b"aarch64.svcount" => Some((0, 0)),
            b"riscv.vector.tuple" => Some((1, 1)),
            b"amdgcn.named.barrier" => Some((0, 1)),
            _ => None,
        };
        if let Some(wanted) = wanted
            && wanted != (types.len(), ints.len())
        {
            let message = format!(
                "target type `{}` takes {} types and {} integers, found {} and {}",
                self.context.text(name),
                wanted.0,
                wanted.1,
                types.len(),
                ints.len()
            );
            return Err(self.error(self.span_from(start), message));
        }
        Ok(Next::Done(self.context.type_of_kind(&TypeKind::Target {
            name,
            types,
            ints: ints.into(),
        })))
    }

    fn bad_part(&self, span: Span, whole: &str, ty: Type) -> Box<crate::ParseError> {
        let message = match ty {
            Type::VOID => "`void` is only allowed as the result of a function".to_string(),
            _ => format!("{whole} cannot hold elements of type `{}`", self.type_name(ty)),
        };
        self.error(span, message)
    }

    fn is_array_element(&self, ty: Type) -> bool {
        let excluded = [Type::VOID, Type::LABEL, Type::METADATA, Type::TOKEN, Type::X86_AMX];
        !excluded.contains(&ty) && !self.is_function_type(ty)
    }

    fn is_vector_element(&self, ty: Type) -> bool {
        let kind = self.context.type_kind(ty);
        self.context.is_vector_element(kind)
    }

    /// Whether this is a function type.
    pub(crate) fn is_function_type(&self, ty: Type) -> bool {
        matches!(self.context.type_kind(ty), TypeKind::Function { .. })
    }

    /// `addrspace(n)`, or the given space when there is none.
    pub(crate) fn parse_optional_address_space(&mut self, default: u32) -> PResult<u32> {
        if !self.accept_kw(Keyword::AddrSpace) {
            return Ok(default);
        }
        self.expect(TokenKind::LParen)?;
        let span = self.span();
        let space = if self.at(TokenKind::String) {
            match &*self.string()? {
                b"A" => self.types.address_spaces.alloca,
                b"G" => self.types.address_spaces.globals,
                b"P" => self.types.address_spaces.program,
                name => {
                    let named = &self.types.address_spaces.named;
                    let Some(&(_, space)) = named.iter().find(|(known, _)| **known == *name) else {
                        let message = "the address spaces with names are \"A\", \"G\", \"P\" and \
                                       those that the data layout names";
                        return Err(self.error(span, message));
                    };
                    space
                }
            }
        } else {
            self.expect_u32()?
        };
        if space > MAX_ADDRESS_SPACE {
            return Err(self.error(span, "an address space has at most 24 bits"));
        }
        self.expect(TokenKind::RParen)?;
        Ok(space)
    }
}

/// What followed a type.
enum Suffix {
    None,
    /// Together with the suffix it is this type.
    Type(Type),
    /// A bracket has been opened.
    Open,
}
