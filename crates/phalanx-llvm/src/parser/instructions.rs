//! Instructions other than calls and memory operations.
//!
//! Each function reads the text after the opcode, leaves the operands in
//! [`super::state::function::FunctionState::operands`] and returns the record. It checks types only
//! as far as the record depends on them; the verifier checks the rest.

use phalanx_ir::{
    Const, InstData, InstFlags, Opcode, Type, TypeKind, Value,
    inst::{FloatPredicate, IntPredicate, OperandRange},
};
use rustc_hash::FxHashSet;

use super::{
    Parser,
    checks::{cast_is_valid, is_first_class, lanes, with_lanes},
    keyword::Keyword,
};
use crate::{
    error::{PResult, Span},
    lexer::TokenKind,
};

/// A record without predicate, operation and words.
pub(crate) fn record(opcode: Opcode, flags: InstFlags, ty: Type) -> InstData {
    InstData { opcode, sub: 0, flags, ty, operands: OperandRange::default(), words: [0; 2] }
}

impl<'a> Parser<'a> {
    /// A value of a type.
    #[inline]
    pub(crate) fn parse_value(&mut self, ty: Type) -> PResult<Value> {
        match self.kind() {
            TokenKind::Local | TokenKind::LocalId => self.parse_local(ty),
            TokenKind::Int => self.parse_int(ty).map(Value::constant),
            _ => self.parse_constant(ty).map(Value::constant),
        }
    }

    /// A type and a value of it.
    #[inline]
    pub(crate) fn parse_typed_value(&mut self) -> PResult<(Type, Value)> {
        let ty = self.parse_type()?;
        Ok((ty, self.parse_value(ty)?))
    }

    /// A type and a value of it, which becomes the next operand.
    #[inline]
    pub(crate) fn parse_operand(&mut self) -> PResult<Type> {
        let (ty, value) = self.parse_typed_value()?;
        self.func.operands.push(value);
        Ok(ty)
    }

    /// A value of a type, which becomes the next operand.
    #[inline]
    fn parse_operand_of(&mut self, ty: Type) -> PResult<()> {
        let value = self.parse_value(ty)?;
        self.func.operands.push(value);
        Ok(())
    }

    /// `label %name`, which becomes the next successor.
    pub(crate) fn parse_successor(&mut self) -> PResult<()> {
        self.expect_kw(Keyword::Label)?;
        let label = self.parse_label_name()?;
        self.func.successors.push(label);
        Ok(())
    }

    /// What follows `%name =`, from the opcode on.
    #[inline]
    pub(crate) fn parse_instruction(&mut self) -> PResult<InstData> {
        let keyword = self.token.keyword;
        let Some(&opcode) = Opcode::ALL.get(keyword as usize) else {
            return match keyword {
                Keyword::Tail => self.parse_marked_call(InstFlags::TAIL),
                Keyword::MustTail => self.parse_marked_call(InstFlags::MUST_TAIL),
                Keyword::NoTail => self.parse_marked_call(InstFlags::NO_TAIL),
                _ => Err(self.unexpected("an instruction")),
            };
        };
        let start = self.bump().start;
        match opcode {
            Opcode::Load => self.parse_load(start),
            Opcode::Store => self.parse_store(start),
            Opcode::GetElementPtr => self.parse_get_element_ptr(start),
            Opcode::Call => self.parse_call(start, InstFlags::NONE),
            Opcode::Br => self.parse_br(),
            Opcode::ICmp => self.parse_icmp(),
            Opcode::Phi => self.parse_phi(),
            Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Shl => {
                let flags = self.parse_wrap_flags();
                self.parse_binary(opcode, flags, false)
            }
            Opcode::UDiv | Opcode::SDiv | Opcode::LShr | Opcode::AShr => {
                let flags =
                    if self.accept_kw(Keyword::Exact) { InstFlags::EXACT } else { InstFlags::NONE };
                self.parse_binary(opcode, flags, false)
            }
            Opcode::Or => {
                let flags = if self.accept_kw(Keyword::Disjoint) {
                    InstFlags::DISJOINT
                } else {
                    InstFlags::NONE
                };
                self.parse_binary(opcode, flags, false)
            }
            Opcode::URem | Opcode::SRem | Opcode::And | Opcode::Xor => {
                self.parse_binary(opcode, InstFlags::NONE, false)
            }
            Opcode::FAdd | Opcode::FSub | Opcode::FMul | Opcode::FDiv | Opcode::FRem => {
                let flags = self.parse_fast_math();
                self.parse_binary(opcode, flags, true)
            }
            Opcode::FNeg => self.parse_fneg(),
            Opcode::FCmp => self.parse_fcmp(),
            Opcode::Select => self.parse_select(start),
            Opcode::Ret => self.parse_ret(),
            Opcode::Switch => self.parse_switch(),
            Opcode::Alloca => self.parse_alloca(),
            Opcode::Unreachable => Ok(record(opcode, InstFlags::NONE, Type::VOID)),
            Opcode::ExtractValue => self.parse_extract_value(),
            Opcode::InsertValue => self.parse_insert_value(),
            Opcode::ExtractElement | Opcode::InsertElement | Opcode::ShuffleVector => {
                self.parse_lane_operation(start, opcode)
            }
            Opcode::Freeze => {
                let ty = self.parse_operand()?;
                Ok(record(opcode, InstFlags::NONE, ty))
            }
            Opcode::VaArg => self.parse_va_arg(),
            Opcode::Fence => self.parse_fence(),
            Opcode::CmpXchg => self.parse_cmpxchg(),
            Opcode::AtomicRmw => self.parse_atomic_rmw(),
            Opcode::IndirectBr => self.parse_indirect_br(),
            Opcode::Invoke => self.parse_invoke(start),
            Opcode::CallBr => self.parse_callbr(start),
            Opcode::Resume => {
                self.parse_operand()?;
                Ok(record(opcode, InstFlags::NONE, Type::VOID))
            }
            Opcode::LandingPad => self.parse_landing_pad(),
            Opcode::CatchSwitch => self.parse_catch_switch(),
            Opcode::CatchPad | Opcode::CleanupPad => self.parse_pad(opcode),
            Opcode::CatchRet => self.parse_catch_ret(),
            Opcode::CleanupRet => self.parse_cleanup_ret(),
            _ => self.parse_cast(start, opcode),
        }
    }

    /// `fast`, `nnan` ... in any order.
    pub(crate) fn parse_fast_math(&mut self) -> InstFlags {
        let mut flags = InstFlags::NONE;
        loop {
            flags |= match self.token.keyword {
                Keyword::Fast => InstFlags::FAST,
                Keyword::Reassoc => InstFlags::REASSOC,
                Keyword::NNan => InstFlags::NNAN,
                Keyword::NInf => InstFlags::NINF,
                Keyword::Nsz => InstFlags::NSZ,
                Keyword::Arcp => InstFlags::ARCP,
                Keyword::Contract => InstFlags::CONTRACT,
                Keyword::Afn => InstFlags::AFN,
                _ => return flags,
            };
            self.bump();
        }
    }

    /// Whether fast-math flags may stand on an operation with this result.
    pub(crate) fn takes_fast_math(&self, ty: Type) -> bool {
        let mut ty = ty;
        loop {
            ty = match self.context.type_kind(ty) {
                TypeKind::Array { elem, .. } | TypeKind::Vector { elem, .. } => *elem,
                // A structure literal of equal parts, such as the two results of `llvm.sincos`.
                TypeKind::Struct { packed: false, fields } if !fields.is_empty() => {
                    if fields.iter().any(|field| *field != fields[0]) {
                        return false;
                    }
                    fields[0]
                }
                kind => return kind.is_float(),
            };
        }
    }

    fn parse_binary(&mut self, opcode: Opcode, flags: InstFlags, float: bool) -> PResult<InstData> {
        let start = self.token.start;
        let ty = self.parse_operand()?;
        let (_, elem) = lanes(self.context, ty);
        let kind = self.context.type_kind(elem);
        if if float { !kind.is_float() } else { !matches!(kind, TypeKind::Int(_)) } {
            let wanted = if float { "floating-point numbers" } else { "integers" };
            let message =
                format!("`{}` needs {wanted}, found `{}`", opcode.text(), self.type_name(ty));
            return Err(self.error(self.span_from(start), message));
        }
        self.expect(TokenKind::Comma)?;
        self.parse_operand_of(ty)?;
        Ok(record(opcode, flags, ty))
    }

    fn parse_fneg(&mut self) -> PResult<InstData> {
        let flags = self.parse_fast_math();
        let start = self.token.start;
        let ty = self.parse_operand()?;
        if !self.context.type_kind(lanes(self.context, ty).1).is_float() {
            let message =
                format!("`fneg` needs floating-point numbers, found `{}`", self.type_name(ty));
            return Err(self.error(self.span_from(start), message));
        }
        Ok(record(Opcode::FNeg, flags, ty))
    }

    fn parse_icmp(&mut self) -> PResult<InstData> {
        let flags =
            if self.accept_kw(Keyword::SameSign) { InstFlags::SAME_SIGN } else { InstFlags::NONE };
        let predicate = self.word().and_then(IntPredicate::from_text);
        let predicate =
            predicate.ok_or_else(|| self.unexpected("a predicate of icmp: `eq`, `slt` ..."))?;
        self.bump();
        let start = self.token.start;
        let ty = self.parse_operand()?;
        let (shape, elem) = lanes(self.context, ty);
        if !matches!(self.context.type_kind(elem), TypeKind::Int(_) | TypeKind::Ptr(_)) {
            let message =
                format!("`icmp` needs integers or pointers, found `{}`", self.type_name(ty));
            return Err(self.error(self.span_from(start), message));
        }
        self.expect(TokenKind::Comma)?;
        self.parse_operand_of(ty)?;
        let mut data = record(Opcode::ICmp, flags, with_lanes(self.context, shape, Type::I1));
        data.sub = predicate as u8;
        Ok(data)
    }

    fn parse_fcmp(&mut self) -> PResult<InstData> {
        let flags = self.parse_fast_math();
        let predicate = self.word().and_then(FloatPredicate::from_text);
        let predicate =
            predicate.ok_or_else(|| self.unexpected("a predicate of fcmp: `oeq`, `ult` ..."))?;
        self.bump();
        let start = self.token.start;
        let ty = self.parse_operand()?;
        let (shape, elem) = lanes(self.context, ty);
        if !self.context.type_kind(elem).is_float() {
            let message =
                format!("`fcmp` needs floating-point numbers, found `{}`", self.type_name(ty));
            return Err(self.error(self.span_from(start), message));
        }
        self.expect(TokenKind::Comma)?;
        self.parse_operand_of(ty)?;
        let mut data = record(Opcode::FCmp, flags, with_lanes(self.context, shape, Type::I1));
        data.sub = predicate as u8;
        Ok(data)
    }

    fn parse_cast(&mut self, start: u32, opcode: Opcode) -> PResult<InstData> {
        let mut flags = InstFlags::NONE;
        match opcode {
            Opcode::Trunc => flags = self.parse_wrap_flags(),
            Opcode::ZExt | Opcode::UiToFp => flags |= self.parse_nneg(),
            Opcode::FpTrunc | Opcode::FpExt => flags = self.parse_fast_math(),
            _ => {}
        }
        let from = self.parse_operand()?;
        self.expect_kw(Keyword::To)?;
        let to = self.parse_type()?;
        if !cast_is_valid(self.context, opcode, from, to) {
            let (from, to) = (self.type_name(from), self.type_name(to));
            let message = format!("`{}` cannot convert `{from}` to `{to}`", opcode.text());
            return Err(self.error(self.span_from(start), message));
        }
        Ok(record(opcode, flags, to))
    }

    fn parse_nneg(&mut self) -> InstFlags {
        if self.accept_kw(Keyword::NNeg) { InstFlags::NNEG } else { InstFlags::NONE }
    }

    fn parse_select(&mut self, start: u32) -> PResult<InstData> {
        let flags = self.parse_fast_math();
        let condition = self.parse_operand()?;
        self.expect(TokenKind::Comma)?;
        let ty = self.parse_operand()?;
        self.expect(TokenKind::Comma)?;
        let other_start = self.token.start;
        let other = self.parse_operand()?;
        if other != ty {
            let (wanted, found) = (self.type_name(ty), self.type_name(other));
            let message =
                format!("both values of `select` need one type: `{wanted}` and `{found}`");
            return Err(self.error(self.span_from(other_start), message));
        }
        let (condition_lanes, elem) = lanes(self.context, condition);
        let (value_lanes, _) = lanes(self.context, ty);
        if elem != Type::I1 || condition_lanes.is_some() && condition_lanes != value_lanes {
            let found = self.type_name(condition);
            let message = format!(
                "the condition of `select` must be `i1` or as many of them as lanes, found `{found}`"
            );
            return Err(self.error(self.span_from(start), message));
        }
        if ty == Type::TOKEN {
            return Err(self.error(self.span_from(start), "tokens cannot be selected"));
        }
        self.check_fast_math(start, flags, ty)?;
        Ok(record(Opcode::Select, flags, ty))
    }

    pub(crate) fn check_fast_math(&self, start: u32, flags: InstFlags, ty: Type) -> PResult<()> {
        if flags.fast_math() == InstFlags::NONE || self.takes_fast_math(ty) {
            return Ok(());
        }
        let message =
            format!("fast-math flags need a floating-point result, found `{}`", self.type_name(ty));
        Err(self.error(self.span_from(start), message))
    }

    fn parse_phi(&mut self) -> PResult<InstData> {
        let flags = self.parse_fast_math();
        let start = self.token.start;
        let ty = self.parse_type()?;
        if !is_first_class(self.context, ty) || ty == Type::LABEL {
            let message = format!("a phi cannot have type `{}`", self.type_name(ty));
            return Err(self.error(self.span_from(start), message));
        }
        self.check_fast_math(start, flags, ty)?;
        let mut blocks = std::mem::take(&mut self.phi_blocks);
        blocks.clear();
        if self.at(TokenKind::LBracket) {
            loop {
                self.expect(TokenKind::LBracket)?;
                self.parse_operand_of(ty)?;
                self.expect(TokenKind::Comma)?;
                let label = self.parse_label_name()?;
                blocks.push(Value::block(phalanx_ir::BlockId::from_raw(label.into())));
                self.expect(TokenKind::RBracket)?;
                if !self.accept(TokenKind::Comma) {
                    break;
                }
                if self.at(TokenKind::MetadataVar) {
                    self.func.ate_comma = true;
                    break;
                }
            }
        }
        self.func.operands.extend_from_slice(&blocks);
        self.phi_blocks = blocks;
        Ok(record(Opcode::Phi, flags, ty))
    }

    fn parse_ret(&mut self) -> PResult<InstData> {
        let start = self.token.start;
        let data = record(Opcode::Ret, InstFlags::NONE, Type::VOID);
        let ty = self.parse_type_or_void()?;
        if self.func.ret.is_some_and(|ret| ret != ty) {
            let (wanted, found) =
                (self.type_name(self.func.ret.unwrap_or(Type::VOID)), self.type_name(ty));
            let message = format!("this function returns `{wanted}`, found `{found}`");
            return Err(self.error(self.span_from(start), message));
        }
        if ty != Type::VOID {
            self.parse_operand_of(ty)?;
        }
        Ok(data)
    }

    fn parse_br(&mut self) -> PResult<InstData> {
        let data = record(Opcode::Br, InstFlags::NONE, Type::VOID);
        if self.at_kw(Keyword::Label) {
            self.parse_successor()?;
            return Ok(data);
        }
        let start = self.token.start;
        let ty = self.parse_operand()?;
        if ty != Type::I1 {
            let message = format!(
                "the condition of a branch must have type `i1`, found `{}`",
                self.type_name(ty)
            );
            return Err(self.error(self.span_from(start), message));
        }
        self.expect(TokenKind::Comma)?;
        self.parse_successor()?;
        self.expect(TokenKind::Comma)?;
        self.parse_successor()?;
        Ok(data)
    }

    fn parse_switch(&mut self) -> PResult<InstData> {
        let start = self.token.start;
        let ty = self.parse_operand()?;
        if !matches!(self.context.type_kind(ty), TypeKind::Int(_)) {
            let message = format!(
                "the condition of a switch must be an integer, found `{}`",
                self.type_name(ty)
            );
            return Err(self.error(self.span_from(start), message));
        }
        self.expect(TokenKind::Comma)?;
        self.parse_successor()?;
        self.expect(TokenKind::LBracket)?;
        let mut seen: FxHashSet<Const> = FxHashSet::default();
        while !self.accept(TokenKind::RBracket) {
            let start = self.token.start;
            let case_type = self.parse_type()?;
            let case = self.parse_constant(case_type)?;
            let span = self.span_from(start);
            if case_type != ty {
                let (wanted, found) = (self.type_name(ty), self.type_name(case_type));
                return Err(
                    self.error(span, format!("a case must have type `{wanted}`, found `{found}`"))
                );
            }
            if !matches!(self.context.const_data(case).kind, phalanx_ir::ConstKind::Int(_)) {
                return Err(self.error(span, "a case must be an integer"));
            }
            if !seen.insert(case) {
                return Err(self.error(span, "duplicate case in switch"));
            }
            self.func.operands.push(case.into());
            self.expect(TokenKind::Comma)?;
            self.parse_successor()?;
        }
        Ok(record(Opcode::Switch, InstFlags::NONE, Type::VOID))
    }

    fn parse_indirect_br(&mut self) -> PResult<InstData> {
        let start = self.token.start;
        let ty = self.parse_operand()?;
        if self.context.type_kind(ty).address_space().is_none() {
            let message = format!(
                "the address of an indirectbr must be a pointer, found `{}`",
                self.type_name(ty)
            );
            return Err(self.error(self.span_from(start), message));
        }
        self.expect(TokenKind::Comma)?;
        self.parse_successor_list()?;
        Ok(record(Opcode::IndirectBr, InstFlags::NONE, Type::VOID))
    }

    /// `[label %a, label %b]`
    pub(crate) fn parse_successor_list(&mut self) -> PResult<()> {
        self.expect(TokenKind::LBracket)?;
        if self.accept(TokenKind::RBracket) {
            return Ok(());
        }
        loop {
            self.parse_successor()?;
            if !self.accept(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RBracket)?;
        Ok(())
    }

    /// `, 0, 1`: at least one index.
    fn parse_indices(&mut self, indices: &mut Vec<u32>) -> PResult<()> {
        self.expect(TokenKind::Comma)?;
        loop {
            if self.at(TokenKind::MetadataVar) && !indices.is_empty() {
                self.func.ate_comma = true;
                return Ok(());
            }
            indices.push(self.expect_u32()?);
            if !self.accept(TokenKind::Comma) {
                return Ok(());
            }
        }
    }

    fn parse_extract_value(&mut self) -> PResult<InstData> {
        let start = self.token.start;
        let aggregate = self.parse_operand()?;
        self.check_aggregate(self.span_from(start), aggregate)?;
        let mut indices = Vec::new();
        self.parse_indices(&mut indices)?;
        let ty = self.member_type(self.span_from(start), aggregate, &indices)?;
        let mut data = record(Opcode::ExtractValue, InstFlags::NONE, ty);
        data.words = self.func.body.add_indices(&indices);
        Ok(data)
    }

    fn parse_insert_value(&mut self) -> PResult<InstData> {
        let start = self.token.start;
        let aggregate = self.parse_operand()?;
        self.check_aggregate(self.span_from(start), aggregate)?;
        self.expect(TokenKind::Comma)?;
        let value_start = self.token.start;
        let value = self.parse_operand()?;
        let value_span = self.span_from(value_start);
        let mut indices = Vec::new();
        self.parse_indices(&mut indices)?;
        let member = self.member_type(self.span_from(start), aggregate, &indices)?;
        if member != value {
            let (wanted, found) = (self.type_name(member), self.type_name(value));
            return Err(
                self.error(value_span, format!("this member has type `{wanted}`, found `{found}`"))
            );
        }
        let mut data = record(Opcode::InsertValue, InstFlags::NONE, aggregate);
        data.words = self.func.body.add_indices(&indices);
        Ok(data)
    }

    fn check_aggregate(&self, span: Span, ty: Type) -> PResult<()> {
        if self.is_aggregate(ty) {
            return Ok(());
        }
        let message = format!("expected an array or a structure, found `{}`", self.type_name(ty));
        Err(self.error(span, message))
    }

    fn parse_lane_operation(&mut self, start: u32, opcode: Opcode) -> PResult<InstData> {
        let count = if opcode == Opcode::ExtractElement { 2 } else { 3 };
        let mut operands = [(Value::arg(0), Type::VOID); 3];
        for (at, operand) in operands[..count].iter_mut().enumerate() {
            if at > 0 {
                self.expect(TokenKind::Comma)?;
            }
            let (ty, value) = self.parse_typed_value()?;
            self.func.operands.push(value);
            *operand = (value, ty);
        }
        let ty = self.lane_operation_type(self.span_from(start), opcode, &operands[..count])?;
        Ok(record(opcode, InstFlags::NONE, ty))
    }

    fn parse_va_arg(&mut self) -> PResult<InstData> {
        self.parse_operand()?;
        self.expect(TokenKind::Comma)?;
        let start = self.token.start;
        let ty = self.parse_type()?;
        if !is_first_class(self.context, ty) {
            let message = format!("`va_arg` cannot have type `{}`", self.type_name(ty));
            return Err(self.error(self.span_from(start), message));
        }
        Ok(record(Opcode::VaArg, InstFlags::NONE, ty))
    }
}
