//! Calls, and exception handling.
//!
//! The operands of a call are its arguments, the operands of its bundles, and the callee.
//! Everything else (function type, convention, attributes, bundle tags) is the shape of the call.
//! Calls with equal shapes share an entry of the body's table. To find the entry, the parser
//! encodes the shape in words and looks them up.

use phalanx_ir::{
    AttrSet, CallInfo, InstData, InstFlags, Opcode, Type, TypeKind, Value,
    attributes::AttrListData,
    constant::{ConstKind, InlineAsm},
};

use super::state::{attributes::FnAttrs, function::CallScratch};
use super::{Parser, checks::is_first_class, header::trim, instructions::record, keyword::Keyword};
use crate::{
    error::{PResult, Span},
    lexer::{Token, TokenKind},
};

/// What is called.
enum Callee {
    /// The name of a global; read when the function type is known.
    Global(Token),
    Asm(Box<InlineAsm>),
    Value(Value),
}

impl Parser<'_> {
    /// `tail call ..`, `musttail call ..`, `notail call ..`, at the first word.
    pub(crate) fn parse_marked_call(&mut self, mark: InstFlags) -> PResult<InstData> {
        let start = self.bump().start;
        self.expect_kw(Keyword::Call)?;
        self.parse_call(start, mark)
    }

    /// What follows `call`.
    pub(crate) fn parse_call(&mut self, start: u32, mark: InstFlags) -> PResult<InstData> {
        let flags = self.parse_fast_math();
        let (ty, info) = self.parse_callee_and_args(Opcode::Call, mark)?;
        self.check_fast_math(start, flags, ty)?;
        let mut data = record(Opcode::Call, flags.with(mark), ty);
        data.words[0] = info;
        Ok(data)
    }

    /// What follows `invoke`.
    pub(crate) fn parse_invoke(&mut self, _start: u32) -> PResult<InstData> {
        let (ty, info) = self.parse_callee_and_args(Opcode::Invoke, InstFlags::NONE)?;
        self.expect_kw(Keyword::To)?;
        self.parse_successor()?;
        self.expect_kw(Keyword::Unwind)?;
        self.parse_successor()?;
        let mut data = record(Opcode::Invoke, InstFlags::NONE, ty);
        data.words[0] = info;
        Ok(data)
    }

    /// What follows `callbr`.
    pub(crate) fn parse_callbr(&mut self, _start: u32) -> PResult<InstData> {
        let (ty, info) = self.parse_callee_and_args(Opcode::CallBr, InstFlags::NONE)?;
        self.expect_kw(Keyword::To)?;
        self.parse_successor()?;
        self.parse_successor_list()?;
        let mut data = record(Opcode::CallBr, InstFlags::NONE, ty);
        data.words[0] = info;
        Ok(data)
    }

    /// Everything up to the bundles. Leaves the operands, returns the type of the result and the
    /// entry of the shape.
    fn parse_callee_and_args(&mut self, opcode: Opcode, mark: InstFlags) -> PResult<(Type, u32)> {
        let call_conv = self.parse_call_conv()?;
        let ret_attributes = self.parse_return_attrs()?;
        let space = self.parse_optional_address_space(self.types.address_spaces.program)?;
        let type_start = self.token.start;
        let ty = self.parse_type_or_void()?;
        let type_span = self.span_from(type_start);
        let ptr = self.context.ptr_type(space);
        let callee_span = self.span();
        let callee = self.parse_callee(ptr)?;
        let mut scratch = std::mem::take(&mut self.calls);
        scratch.args.clear();
        scratch.bundles.clear();
        self.parse_args(&mut scratch, opcode, mark)?;
        let attributes = self.parse_fn_attrs()?;
        if self.at(TokenKind::LBracket) {
            self.parse_bundles(&mut scratch)?;
        }
        let (function_type, ret) = self.call_type(ty, type_span, &mut scratch)?;
        let callee = match callee {
            Callee::Value(value) => value,
            Callee::Global(token) => self.callee_ref(token, ptr, function_type)?.into(),
            Callee::Asm(mut asm) => {
                asm.function_type = function_type;
                self.check_asm(&asm, callee_span)?;
                self.context.constant(ptr, ConstKind::InlineAsm(asm)).into()
            }
        };
        self.func.operands.push(callee);
        let info =
            self.call_shape(function_type, call_conv.0, ret_attributes, attributes, &mut scratch);
        self.calls = scratch;
        Ok((ret, info))
    }

    fn parse_callee(&mut self, ptr: Type) -> PResult<Callee> {
        match self.kind() {
            TokenKind::Global | TokenKind::GlobalId => Ok(Callee::Global(self.bump())),
            _ if self.at_kw(Keyword::Asm) => self.parse_inline_asm().map(Callee::Asm),
            _ => self.parse_value(ptr).map(Callee::Value),
        }
    }

    /// `asm sideeffect "template", "constraints"`, at the word. The type is filled in later.
    fn parse_inline_asm(&mut self) -> PResult<Box<InlineAsm>> {
        self.bump();
        let side_effects = self.accept_kw(Keyword::SideEffect);
        let align_stack = self.accept_kw(Keyword::AlignStack);
        let intel_dialect = self.accept_kw(Keyword::IntelDialect);
        let can_unwind = self.accept_kw(Keyword::Unwind);
        let template = self.string_symbol()?;
        self.expect(TokenKind::Comma)?;
        let constraints = self.string_symbol()?;
        let function_type = Type::VOID;
        Ok(Box::new(InlineAsm {
            template,
            constraints,
            function_type,
            side_effects,
            align_stack,
            intel_dialect,
            can_unwind,
        }))
    }

    fn parse_args(
        &mut self,
        scratch: &mut CallScratch,
        opcode: Opcode,
        mark: InstFlags,
    ) -> PResult<()> {
        self.expect(TokenKind::LParen)?;
        let forwards = mark == InstFlags::MUST_TAIL && self.func.vararg;
        if self.at(TokenKind::RParen) && !forwards {
            self.bump();
            return Ok(());
        }
        loop {
            if self.at(TokenKind::Ellipsis) {
                return self.parse_arg_ellipsis(opcode, mark);
            }
            let start = self.token.start;
            let ty = self.parse_type()?;
            if ty == Type::METADATA {
                let value = self.parse_metadata_operand()?;
                self.func.operands.push(value);
                scratch.args.push((ty, AttrSet::EMPTY, self.span_from(start)));
            } else {
                let attributes = match self.kind() {
                    TokenKind::Word | TokenKind::String => self.parse_param_attrs()?,
                    _ => AttrSet::EMPTY,
                };
                let value = self.parse_value(ty)?;
                self.func.operands.push(value);
                scratch.args.push((ty, attributes, self.span_from(start)));
            }
            if !self.accept(TokenKind::Comma) {
                if forwards {
                    return Err(self.unexpected("`, ...` at the end of a `musttail` call"));
                }
                self.expect(TokenKind::RParen)?;
                return Ok(());
            }
        }
    }

    /// `...` forwards the variable arguments, in a `musttail` call only; it leaves no trace.
    fn parse_arg_ellipsis(&mut self, opcode: Opcode, mark: InstFlags) -> PResult<()> {
        let vararg = self.func.vararg;
        if opcode != Opcode::Call || mark != InstFlags::MUST_TAIL {
            return Err(
                self.error(self.span(), "`...` can only be an argument of a `musttail` call")
            );
        }
        if !vararg {
            return Err(self.error(
                self.span(),
                "`...` can only be an argument in a function with variable arguments",
            ));
        }
        self.bump();
        self.expect(TokenKind::RParen)?;
        Ok(())
    }

    fn parse_bundles(&mut self, scratch: &mut CallScratch) -> PResult<()> {
        self.expect(TokenKind::LBracket)?;
        loop {
            if !self.at(TokenKind::String) {
                return Err(self.unexpected("the tag of an operand bundle"));
            }
            let tag = self.string_symbol()?;
            self.expect(TokenKind::LParen)?;
            let mut count = 0;
            while !self.accept(TokenKind::RParen) {
                if count > 0 {
                    self.expect(TokenKind::Comma)?;
                }
                let ty = self.parse_type()?;
                let value = if ty == Type::METADATA {
                    self.parse_metadata_operand()?
                } else {
                    self.parse_value(ty)?
                };
                self.func.operands.push(value);
                count += 1;
            }
            scratch.bundles.push((tag, count));
            if !self.accept(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RBracket)?;
        Ok(())
    }

    /// The function type of a call whose type is written as `ty`, and the type of its result.
    fn call_type(
        &mut self,
        ty: Type,
        span: Span,
        scratch: &mut CallScratch,
    ) -> PResult<(Type, Type)> {
        let TypeKind::Function { ret, params, vararg } = self.context.type_kind(ty) else {
            if !is_first_class(self.context, ty) && ty != Type::VOID
                || matches!(ty, Type::LABEL | Type::METADATA)
            {
                let message = format!("a function cannot return `{}`", self.type_name(ty));
                return Err(self.error(span, message));
            }
            scratch.types.clear();
            scratch.types.extend(scratch.args.iter().map(|arg| arg.0));
            return Ok((self.function_types.get(self.context, ty, &scratch.types), ty));
        };
        for (at, &(found, _, span)) in scratch.args.iter().enumerate() {
            match params.get(at) {
                Some(&wanted) if wanted != found => {
                    let (wanted, found) = (self.type_name(wanted), self.type_name(found));
                    let message =
                        format!("this argument must have type `{wanted}`, found `{found}`");
                    return Err(self.error(span, message));
                }
                None if !vararg => {
                    let message =
                        format!("too many arguments: the function takes {}", params.len());
                    return Err(self.error(span, message));
                }
                _ => {}
            }
        }
        if scratch.args.len() < params.len() {
            let (wanted, found) = (params.len(), scratch.args.len());
            let message =
                format!("not enough arguments: the function takes {wanted}, found {found}");
            return Err(self.error(self.span_from(span.start), message));
        }
        Ok((ty, *ret))
    }

    /// The entry of the body's table for a shape.
    fn call_shape(
        &mut self,
        function_type: Type,
        call_conv: u32,
        ret: AttrSet,
        attributes: FnAttrs,
        scratch: &mut CallScratch,
    ) -> u32 {
        let words = &mut scratch.words;
        words.clear();
        words.extend([function_type.raw(), call_conv, ret.raw(), attributes.set.raw()]);
        words.extend([
            scratch.args.len() as u32,
            scratch.bundles.len() as u32,
            attributes.groups.len() as u32,
        ]);
        words.extend(scratch.bundles.iter().flat_map(|&(tag, count)| [tag.raw(), count]));
        words.extend(&attributes.groups);
        if scratch.args.iter().any(|arg| arg.1 != AttrSet::EMPTY) {
            words.extend(scratch.args.iter().map(|arg| arg.1.raw()));
        }
        if let Some(&known) = self.func.calls.get(&words[..]) {
            return known;
        }
        let mut params: Vec<AttrSet> = scratch.args.iter().map(|arg| arg.1).collect();
        trim(&mut params);
        let list = AttrListData { function: attributes.set, ret, params: params.into() };
        let info = self.func.body.add_call_info(CallInfo {
            function_type,
            call_conv: phalanx_ir::CallConv(call_conv),
            attributes: self.context.attr_list(&list),
            args: scratch.args.len() as u32,
            bundles: scratch.bundles[..].into(),
        });
        self.func.calls.insert(words[..].into(), info);
        self.wait_for_call_groups(info, attributes);
        info
    }

    /// `landingpad type cleanup catch .. filter ..`
    pub(crate) fn parse_landing_pad(&mut self) -> PResult<InstData> {
        let ty = self.parse_type()?;
        let flags =
            if self.accept_kw(Keyword::Cleanup) { InstFlags::CLEANUP } else { InstFlags::NONE };
        let mut kinds = Vec::new();
        loop {
            let is_filter = if self.accept_kw(Keyword::Catch) {
                false
            } else if self.accept_kw(Keyword::Filter) {
                true
            } else {
                break;
            };
            let start = self.token.start;
            let clause = self.parse_operand()?;
            let is_array = matches!(self.context.type_kind(clause), TypeKind::Array { .. });
            if is_array != is_filter {
                let what = if is_filter {
                    "`filter` needs an array"
                } else {
                    "`catch` needs a value that is no array"
                };
                let message = format!("{what}, found `{}`", self.type_name(clause));
                return Err(self.error(self.span_from(start), message));
            }
            kinds.push(u32::from(is_filter));
        }
        let mut data = record(Opcode::LandingPad, flags, ty);
        data.words = self.func.body.add_indices(&kinds);
        Ok(data)
    }

    /// A funclet pad or `none`, which becomes the next operand.
    fn parse_pad_name(&mut self) -> PResult<()> {
        if !matches!(self.kind(), TokenKind::Local | TokenKind::LocalId)
            && !self.at_kw(Keyword::None_)
        {
            return Err(self.unexpected("a funclet pad or `none`"));
        }
        let pad = self.parse_value(Type::TOKEN)?;
        self.func.operands.push(pad);
        Ok(())
    }

    /// `catchswitch within pad [label ..] unwind ..`
    pub(crate) fn parse_catch_switch(&mut self) -> PResult<InstData> {
        self.expect_kw(Keyword::Within)?;
        self.parse_pad_name()?;
        if !self.at(TokenKind::LBracket) {
            return Err(self.unexpected("`[` before the handlers"));
        }
        let handlers = self.func.successors.len();
        self.parse_successor_list()?;
        if self.func.successors.len() == handlers {
            return Err(self.error(self.span(), "a catchswitch needs at least one handler"));
        }
        let flags = if self.parse_unwind()? { InstFlags::CLEANUP } else { InstFlags::NONE };
        Ok(record(Opcode::CatchSwitch, flags, Type::TOKEN))
    }

    /// `unwind to caller` or `unwind label %name`, which becomes the next successor. Whether there
    /// is one.
    fn parse_unwind(&mut self) -> PResult<bool> {
        self.expect_kw(Keyword::Unwind)?;
        if self.accept_kw(Keyword::To) {
            self.expect_kw(Keyword::Caller)?;
            return Ok(false);
        }
        self.parse_successor()?;
        Ok(true)
    }

    /// `catchpad within %switch [..]`, `cleanuppad within pad [..]`
    pub(crate) fn parse_pad(&mut self, opcode: Opcode) -> PResult<InstData> {
        self.expect_kw(Keyword::Within)?;
        if opcode == Opcode::CatchPad && self.at_kw(Keyword::None_) {
            return Err(self.unexpected("a catchswitch"));
        }
        self.parse_pad_name()?;
        self.expect(TokenKind::LBracket)?;
        let mut first = true;
        while !self.accept(TokenKind::RBracket) {
            if !std::mem::take(&mut first) {
                self.expect(TokenKind::Comma)?;
            }
            let ty = self.parse_type()?;
            let value = if ty == Type::METADATA {
                self.parse_metadata_operand()?
            } else {
                self.parse_value(ty)?
            };
            self.func.operands.push(value);
        }
        Ok(record(opcode, InstFlags::NONE, Type::TOKEN))
    }

    /// `catchret from %pad to label %name`
    pub(crate) fn parse_catch_ret(&mut self) -> PResult<InstData> {
        self.expect_kw(Keyword::From)?;
        self.parse_pad_name()?;
        self.expect_kw(Keyword::To)?;
        self.parse_successor()?;
        Ok(record(Opcode::CatchRet, InstFlags::NONE, Type::VOID))
    }

    /// `cleanupret from %pad unwind ..`
    pub(crate) fn parse_cleanup_ret(&mut self) -> PResult<InstData> {
        self.expect_kw(Keyword::From)?;
        self.parse_pad_name()?;
        self.parse_unwind()?;
        Ok(record(Opcode::CleanupRet, InstFlags::NONE, Type::VOID))
    }
}
