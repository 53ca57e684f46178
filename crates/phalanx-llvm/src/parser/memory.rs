//! Instructions that access memory.

use phalanx_ir::{
    InstData, InstFlags, MemInfo, Opcode, Symbol, SyncScope, Type, TypeKind, Value,
    inst::{Ordering, RmwOp},
};

use super::{
    Parser,
    checks::{is_first_class, lanes, scalar_bits},
    instructions::record,
    keyword::Keyword,
};
use crate::{error::PResult, lexer::TokenKind};

impl Parser<'_> {
    /// `, align N` and the comma before attachments.
    fn parse_comma_align(&mut self) -> PResult<Option<u64>> {
        let mut align = None;
        while self.accept(TokenKind::Comma) {
            if self.at(TokenKind::MetadataVar) {
                self.func.ate_comma = true;
                break;
            }
            if !self.at_kw(Keyword::Align) {
                return Err(self.unexpected("`align` or metadata"));
            }
            align = self.parse_optional_align()?;
        }
        Ok(align)
    }

    fn parse_scope(&mut self) -> PResult<SyncScope> {
        if !self.accept_kw(Keyword::SyncScope) {
            return Ok(SyncScope::SYSTEM);
        }
        self.expect(TokenKind::LParen)?;
        let name: Symbol = self.string_symbol()?;
        self.expect(TokenKind::RParen)?;
        Ok(SyncScope(name))
    }

    fn parse_ordering(&mut self) -> PResult<Ordering> {
        let ordering = match self.token.keyword {
            Keyword::Unordered => Ordering::Unordered,
            Keyword::Monotonic => Ordering::Monotonic,
            Keyword::Acquire => Ordering::Acquire,
            Keyword::Release => Ordering::Release,
            Keyword::AcqRel => Ordering::AcqRel,
            Keyword::SeqCst => Ordering::SeqCst,
            _ => return Err(self.unexpected("an ordering: `monotonic`, `acquire` ...")),
        };
        self.bump();
        Ok(ordering)
    }

    fn mem_info(
        &self,
        scope: SyncScope,
        success: Ordering,
        failure: Ordering,
        align: Option<u64>,
    ) -> PResult<u32> {
        let info =
            MemInfo::PLAIN.with_align(align).with_orderings(success, failure).with_scope(scope);
        info.map(MemInfo::raw).ok_or_else(|| {
            self.error(self.span(), "too many names before this synchronisation scope")
        })
    }

    /// `atomic` and `volatile`, in this order.
    fn parse_access_flags(&mut self) -> InstFlags {
        let mut flags = InstFlags::NONE;
        if self.accept_kw(Keyword::Atomic) {
            flags |= InstFlags::ATOMIC;
        }
        if self.accept_kw(Keyword::Volatile) {
            flags |= InstFlags::VOLATILE;
        }
        flags
    }

    /// What follows the operands of a load or store.
    #[inline]
    fn parse_access_end(
        &mut self,
        start: u32,
        flags: InstFlags,
        forbidden: [Ordering; 2],
    ) -> PResult<u32> {
        if !flags.contains(InstFlags::ATOMIC) {
            let align = self.parse_comma_align()?;
            return Ok(MemInfo::PLAIN.with_align(align).raw());
        }
        let scope = self.parse_scope()?;
        let span = self.span();
        let ordering = self.parse_ordering()?;
        if forbidden.contains(&ordering) {
            let message = format!("this access cannot be `{}`", ordering.text());
            return Err(self.error(span, message));
        }
        let align = self.parse_comma_align()?;
        if align.is_none() {
            return Err(
                self.error(self.span_from(start), "an atomic access must state its alignment")
            );
        }
        self.mem_info(scope, ordering, Ordering::NotAtomic, align)
    }

    /// A pointer, which becomes the next operand.
    fn parse_address(&mut self) -> PResult<()> {
        let start = self.token.start;
        let ty = self.parse_operand()?;
        if self.context.type_kind(ty).address_space().is_none() {
            let message = format!("an address must be a pointer, found `{}`", self.type_name(ty));
            return Err(self.error(self.span_from(start), message));
        }
        Ok(())
    }

    fn check_accessed(&mut self, start: u32, ty: Type) -> PResult<()> {
        if is_first_class(self.context, ty) && self.is_sized(ty) {
            return Ok(());
        }
        let message =
            format!("a value of type `{}` cannot be in memory: it has no size", self.type_name(ty));
        Err(self.error(self.span_from(start), message))
    }

    pub(crate) fn parse_load(&mut self, start: u32) -> PResult<InstData> {
        let flags = self.parse_access_flags();
        let type_start = self.token.start;
        let ty = self.parse_type()?;
        self.check_accessed(type_start, ty)?;
        self.expect(TokenKind::Comma)?;
        self.parse_address()?;
        let mut data = record(Opcode::Load, flags, ty);
        data.words[1] =
            self.parse_access_end(start, flags, [Ordering::Release, Ordering::AcqRel])?;
        Ok(data)
    }

    pub(crate) fn parse_store(&mut self, start: u32) -> PResult<InstData> {
        let flags = self.parse_access_flags();
        let type_start = self.token.start;
        let ty = self.parse_operand()?;
        self.check_accessed(type_start, ty)?;
        self.expect(TokenKind::Comma)?;
        self.parse_address()?;
        let mut data = record(Opcode::Store, flags, Type::VOID);
        data.words[1] =
            self.parse_access_end(start, flags, [Ordering::Acquire, Ordering::AcqRel])?;
        Ok(data)
    }

    pub(crate) fn parse_alloca(&mut self) -> PResult<InstData> {
        let mut flags = InstFlags::NONE;
        if self.accept_kw(Keyword::InAlloca) {
            flags |= InstFlags::IN_ALLOCA;
        }
        if self.accept_kw(Keyword::SwiftError) {
            flags |= InstFlags::SWIFT_ERROR;
        }
        let start = self.token.start;
        let allocated = self.parse_type()?;
        if self.is_function_type(allocated)
            || matches!(allocated, Type::LABEL | Type::METADATA | Type::TOKEN)
        {
            let message = format!("`{}` cannot be allocated", self.type_name(allocated));
            return Err(self.error(self.span_from(start), message));
        }
        let allocated_span = self.span_from(start);
        let (mut count, mut align, mut space) = (None, None, None);
        while self.accept(TokenKind::Comma) {
            if self.at(TokenKind::MetadataVar) {
                self.func.ate_comma = true;
                break;
            } else if self.at_kw(Keyword::Align) && align.is_none() && space.is_none() {
                align = self.parse_optional_align()?;
            } else if self.at_kw(Keyword::AddrSpace) && space.is_none() {
                space = Some(self.parse_optional_address_space(0)?);
            } else if count.is_none() && align.is_none() && space.is_none() {
                let start = self.token.start;
                let (ty, value) = self.parse_typed_value()?;
                if !matches!(self.context.type_kind(ty), TypeKind::Int(_)) {
                    let message = format!(
                        "the number of elements must be an integer, found `{}`",
                        self.type_name(ty)
                    );
                    return Err(self.error(self.span_from(start), message));
                }
                count = Some(value);
            } else {
                return Err(self.unexpected("`align`, `addrspace` or metadata"));
            }
        }
        // A stated alignment needs no size, which may follow from a definition later in the text.
        if align.is_none() && !self.is_sized(allocated) {
            let message =
                format!("`{}` cannot be allocated: it has no size", self.type_name(allocated));
            return Err(self.error(allocated_span, message));
        }
        let count = match count {
            Some(count) => count,
            None => Value::constant(self.context.int_const(Type::I32, 1)),
        };
        self.func.operands.push(count);
        let mut data = record(Opcode::Alloca, flags, self.context.ptr_type(space.unwrap_or(0)));
        data.words = [allocated.raw(), MemInfo::PLAIN.with_align(align).raw()];
        Ok(data)
    }

    pub(crate) fn parse_fence(&mut self) -> PResult<InstData> {
        let scope = self.parse_scope()?;
        let span = self.span();
        let ordering = self.parse_ordering()?;
        if matches!(ordering, Ordering::Unordered | Ordering::Monotonic) {
            return Err(self.error(span, format!("a fence cannot be `{}`", ordering.text())));
        }
        let mut data = record(Opcode::Fence, InstFlags::NONE, Type::VOID);
        data.words[1] = self.mem_info(scope, ordering, Ordering::NotAtomic, None)?;
        Ok(data)
    }

    pub(crate) fn parse_cmpxchg(&mut self) -> PResult<InstData> {
        let mut flags = InstFlags::NONE;
        if self.accept_kw(Keyword::Weak) {
            flags |= InstFlags::WEAK;
        }
        if self.accept_kw(Keyword::Volatile) {
            flags |= InstFlags::VOLATILE;
        }
        self.parse_address()?;
        self.expect(TokenKind::Comma)?;
        let type_start = self.token.start;
        let ty = self.parse_operand()?;
        if !is_first_class(self.context, ty) {
            let message = format!("`cmpxchg` cannot compare `{}`", self.type_name(ty));
            return Err(self.error(self.span_from(type_start), message));
        }
        self.expect(TokenKind::Comma)?;
        let new_start = self.token.start;
        let new = self.parse_operand()?;
        if new != ty {
            let (wanted, found) = (self.type_name(ty), self.type_name(new));
            let message =
                format!("both values of `cmpxchg` need one type: `{wanted}` and `{found}`");
            return Err(self.error(self.span_from(new_start), message));
        }
        let scope = self.parse_scope()?;
        let span = self.span();
        let success = self.parse_ordering()?;
        let failure = self.parse_ordering()?;
        if success == Ordering::Unordered || failure == Ordering::Unordered {
            return Err(self.error(span, "`cmpxchg` cannot be `unordered`"));
        }
        if matches!(failure, Ordering::Release | Ordering::AcqRel) {
            let message = format!("`cmpxchg` cannot be `{}` on failure", failure.text());
            return Err(self.error(span, message));
        }
        let align = self.parse_comma_align()?;
        let result = TypeKind::Struct { packed: false, fields: [ty, Type::I1].into() };
        let mut data = record(Opcode::CmpXchg, flags, self.context.type_of_kind(&result));
        data.words[1] = self.mem_info(scope, success, failure, align)?;
        Ok(data)
    }

    pub(crate) fn parse_atomic_rmw(&mut self) -> PResult<InstData> {
        let flags =
            if self.accept_kw(Keyword::Volatile) { InstFlags::VOLATILE } else { InstFlags::NONE };
        let op = self.word().and_then(RmwOp::from_text);
        let op =
            op.ok_or_else(|| self.unexpected("an operation of atomicrmw: `add`, `xchg` ..."))?;
        self.bump();
        self.parse_address()?;
        self.expect(TokenKind::Comma)?;
        let start = self.token.start;
        let ty = self.parse_operand()?;
        self.check_rmw_type(start, op, ty)?;
        let scope = self.parse_scope()?;
        let span = self.span();
        let ordering = self.parse_ordering()?;
        if ordering == Ordering::Unordered {
            return Err(self.error(span, "`atomicrmw` cannot be `unordered`"));
        }
        let align = self.parse_comma_align()?;
        let mut data = record(Opcode::AtomicRmw, flags, ty);
        data.sub = op as u8;
        data.words[1] = self.mem_info(scope, ordering, Ordering::NotAtomic, align)?;
        Ok(data)
    }

    fn check_rmw_type(&self, start: u32, op: RmwOp, ty: Type) -> PResult<()> {
        let kind = self.context.type_kind(ty);
        let (shape, elem) = lanes(self.context, ty);
        let float = self.context.type_kind(elem).is_float();
        let (good, wanted) = match op {
            RmwOp::Xchg => (
                kind.is_float() || matches!(kind, TypeKind::Int(_) | TypeKind::Ptr(_)),
                "an integer, float or pointer",
            ),
            RmwOp::FAdd
            | RmwOp::FSub
            | RmwOp::FMax
            | RmwOp::FMin
            | RmwOp::FMaximum
            | RmwOp::FMinimum => (
                float && shape.is_none_or(|(_, scalable)| !scalable),
                "a floating-point number or a vector of them",
            ),
            _ => (matches!(kind, TypeKind::Int(_)), "an integer"),
        };
        if !good {
            let message =
                format!("`atomicrmw {}` needs {wanted}, found `{}`", op.text(), self.type_name(ty));
            return Err(self.error(self.span_from(start), message));
        }
        let bits =
            scalar_bits(self.context.type_kind(elem)) * shape.map_or(1, |(len, _)| u64::from(len));
        if bits != 0 && (bits < 8 || !bits.is_power_of_two()) {
            let message = format!(
                "the size of an atomic must be a power of two of bytes, found `{}`",
                self.type_name(ty)
            );
            return Err(self.error(self.span_from(start), message));
        }
        Ok(())
    }

    pub(crate) fn parse_get_element_ptr(&mut self, start: u32) -> PResult<InstData> {
        let flags = self.parse_gep_flags();
        let source = self.parse_type()?;
        self.expect(TokenKind::Comma)?;
        let mut types = std::mem::take(&mut self.gep_types);
        types.clear();
        loop {
            types.push(self.parse_operand()?);
            if !self.accept(TokenKind::Comma) {
                break;
            }
            if self.at(TokenKind::MetadataVar) {
                self.func.ate_comma = true;
                break;
            }
        }
        let operands = std::mem::take(&mut self.func.operands);
        let ty = self.gep_type(self.span_from(start), source, &operands, &types)?;
        self.func.operands = operands;
        self.gep_types = types;
        let mut data = record(Opcode::GetElementPtr, flags, ty);
        data.words[0] = source.raw();
        Ok(data)
    }
}
