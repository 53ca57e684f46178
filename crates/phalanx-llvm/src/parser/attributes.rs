//! Attributes: of parameters, results, functions, calls and groups.
//!
//! Each list of attributes stops at the first token that is no attribute, as in LLVM. A function or
//! call may name groups (`#0`) that are defined further down. The parser reads its own attributes
//! at once ([`FnAttrs`]), and merges groups into them at the end of the file
//! ([`Parser::resolve_fn_attrs`]). A group overrides the function's or call's own attributes, a
//! later group overrides an earlier one, and an undefined group is empty.
//!
//! Older spellings become today's: `nocapture` is `captures(none)`; `readnone`, `readonly`,
//! `writeonly`, `argmemonly`, `inaccessiblememonly` and `inaccessiblemem_or_argmemonly` on
//! functions are `memory(..)`, the intersection of all that are written.

use phalanx_ir::{
    AttrSet,
    attributes::{
        Access, AllocSize, AttrKind, AttrSetBuilder, Attribute, Captures, MemoryEffects,
        MemoryLocation, Payload, Positions, VScaleRange,
    },
};
use smallvec::SmallVec;

use super::Parser;
use super::state::attributes::{FnAttrs, HeaderAttrs};
use crate::{
    error::{PResult, Span},
    lexer::TokenKind,
};

/// Where a list of attributes stands.
#[derive(Copy, Clone, PartialEq, Eq)]
enum ListPlace {
    Param,
    Return,
    Function,
    Group,
}

impl ListPlace {
    const fn positions(self) -> Positions {
        match self {
            ListPlace::Param => Positions::PARAM,
            ListPlace::Return => Positions::RETURN,
            ListPlace::Function | ListPlace::Group => Positions::FUNCTION,
        }
    }

    const fn text(self) -> &'static str {
        match self {
            ListPlace::Param => "a parameter",
            ListPlace::Return => "a return value",
            ListPlace::Function | ListPlace::Group => "a function",
        }
    }
}

/// A word that is an attribute.
#[derive(Copy, Clone)]
enum AttrWord {
    Kind(AttrKind),
    /// An older spelling of `captures(none)`.
    NoCapture,
    /// An older spelling of `memory(..)`.
    Memory(MemoryEffects),
}

/// Older spellings of the memory effects of a function.
fn legacy_memory(word: &[u8]) -> Option<MemoryEffects> {
    const ANY: Access = Access::ReadWrite;
    Some(match word {
        b"readnone" => MemoryEffects::NONE,
        b"readonly" => MemoryEffects::all(Access::Read),
        b"writeonly" => MemoryEffects::all(Access::Write),
        b"argmemonly" => MemoryEffects::only(MemoryLocation::ArgMem, ANY),
        b"inaccessiblememonly" => MemoryEffects::only(MemoryLocation::InaccessibleMem, ANY),
        b"inaccessiblemem_or_argmemonly" => MemoryEffects::only(MemoryLocation::ArgMem, ANY)
            .with(MemoryLocation::InaccessibleMem, ANY),
        _ => return None,
    })
}

impl<'a> Parser<'a> {
    /// Attributes of a parameter or argument.
    #[inline]
    pub(crate) fn parse_param_attrs(&mut self) -> PResult<AttrSet> {
        self.parse_value_attrs(ListPlace::Param)
    }

    /// Attributes of a result.
    #[inline]
    pub(crate) fn parse_return_attrs(&mut self) -> PResult<AttrSet> {
        self.parse_value_attrs(ListPlace::Return)
    }

    fn parse_value_attrs(&mut self, place: ListPlace) -> PResult<AttrSet> {
        let mut set = AttrSet::EMPTY;
        let mut builder: Option<AttrSetBuilder> = None;
        loop {
            // One attribute without payload is by far the most frequent list: it needs no builder.
            if self.at(TokenKind::Word)
                && builder.is_none()
                && set == AttrSet::EMPTY
                && let Some(AttrWord::Kind(kind)) = self.attr_word(place)
                && kind.payload() == Payload::None
            {
                self.check_position(kind, place)?;
                self.bump();
                set = self.single_attr(kind);
                continue;
            }
            let attribute = match self.kind() {
                TokenKind::String => self.parse_text_attr()?,
                TokenKind::Word => match self.attr_word(place) {
                    Some(AttrWord::Kind(kind)) => self.parse_attr(kind, place)?,
                    Some(AttrWord::NoCapture) => {
                        self.bump();
                        Some(Attribute::Int(AttrKind::Captures, Captures::NONE.raw()))
                    }
                    Some(AttrWord::Memory(_)) | None => break,
                },
                _ => break,
            };
            let from = || AttrSetBuilder::from_set(self.context.attr_set_data(set));
            let builder = builder.get_or_insert_with(from);
            if let Some(attribute) = attribute {
                builder.add(attribute);
            }
        }
        Ok(builder.map_or(set, |builder| builder.finish(self.context)))
    }

    fn single_attr(&mut self, kind: AttrKind) -> AttrSet {
        let context = self.context;
        *self.attributes.single.entry(kind).or_insert_with(|| {
            let mut builder = AttrSetBuilder::new();
            builder.add(Attribute::Enum(kind));
            builder.finish(context)
        })
    }

    /// Attributes after the arguments of a call.
    pub(crate) fn parse_fn_attrs(&mut self) -> PResult<FnAttrs> {
        let (mut attrs, mut builder) = self.parse_attrs_and_groups()?;
        if let Some(align) = attrs.align.take() {
            builder.add(Attribute::Int(AttrKind::Align, align));
        }
        attrs.set = builder.finish(self.context);
        Ok(attrs)
    }

    /// Attributes after the parameters of a function header.
    pub(crate) fn parse_header_attrs(&mut self) -> PResult<FnAttrs> {
        let start = self.span().start;
        let (mut attrs, builder) = self.parse_attrs_and_groups()?;
        if builder.has(AttrKind::Builtin) {
            return Err(
                self.error(self.span_from(start), "`builtin` is for calls, not for functions")
            );
        }
        attrs.set = builder.finish(self.context);
        Ok(attrs)
    }

    fn parse_attrs_and_groups(&mut self) -> PResult<(FnAttrs, AttrSetBuilder)> {
        let mut attrs = FnAttrs { set: AttrSet::EMPTY, groups: SmallVec::new(), align: None };
        // A single group, or nothing, is what most functions and calls have.
        while self.at(TokenKind::AttrGroup) {
            attrs.groups.push(self.bump().number);
        }
        let builder = match self.kind() {
            TokenKind::Word | TokenKind::String => {
                self.parse_fn_attr_list(ListPlace::Function, &mut attrs)?
            }
            _ => AttrSetBuilder::new(),
        };
        Ok((attrs, builder))
    }

    /// Attributes of a global variable.
    pub(crate) fn parse_global_attrs(&mut self) -> PResult<FnAttrs> {
        self.parse_fn_attrs()
    }

    /// `attributes #0 = { .. }`, at the first word.
    pub(crate) fn parse_attribute_group(&mut self) -> PResult<()> {
        self.expect_word("attributes")?;
        let number = self.expect(TokenKind::AttrGroup)?.number;
        self.expect(TokenKind::Equal)?;
        let open = self.expect(TokenKind::LBrace)?.span();
        let mut attrs = FnAttrs { set: AttrSet::EMPTY, groups: SmallVec::new(), align: None };
        let builder = self.parse_fn_attr_list(ListPlace::Group, &mut attrs)?;
        if !self.at(TokenKind::RBrace) {
            return Err(self
                .unexpected("a function attribute or `}`")
                .with_note(Some(open), "the group opens here"));
        }
        let close = self.bump();
        if builder.is_empty() {
            return Err(self.error(open.to(close.span()), "an attribute group without attributes"));
        }
        let set = builder.finish(self.context);
        self.attributes.groups.insert(number, set);
        Ok(())
    }

    fn parse_fn_attr_list(
        &mut self,
        place: ListPlace,
        attrs: &mut FnAttrs,
    ) -> PResult<AttrSetBuilder> {
        let mut builder = AttrSetBuilder::new();
        let mut legacy: Option<MemoryEffects> = None;
        loop {
            let attribute = match self.kind() {
                TokenKind::AttrGroup if place == ListPlace::Group => {
                    return Err(
                        self.error(self.span(), "an attribute group cannot refer to another group")
                    );
                }
                TokenKind::AttrGroup => {
                    attrs.groups.push(self.bump().number);
                    continue;
                }
                TokenKind::String => self.parse_text_attr()?,
                TokenKind::Word => match self.attr_word(place) {
                    Some(AttrWord::Kind(AttrKind::Align)) if place == ListPlace::Function => {
                        attrs.align = Some(self.parse_align()?);
                        continue;
                    }
                    Some(AttrWord::Kind(kind)) => self.parse_attr(kind, place)?,
                    Some(AttrWord::Memory(effects)) => {
                        self.bump();
                        legacy = Some(legacy.unwrap_or(MemoryEffects::UNKNOWN).intersect(effects));
                        continue;
                    }
                    Some(AttrWord::NoCapture) | None => break,
                },
                _ => break,
            };
            if let Some(attribute) = attribute {
                builder.add(attribute);
            }
        }
        if let Some(effects) = legacy {
            builder.add(Attribute::Int(AttrKind::Memory, effects.raw()));
        }
        Ok(builder)
    }

    /// The attributes of a call or variable, groups included. Good once the whole file has been
    /// read.
    pub(crate) fn resolve_fn_attrs(&mut self, attrs: &FnAttrs) -> AttrSet {
        match (&attrs.groups[..], attrs.set) {
            ([], set) => set,
            (&[group], AttrSet::EMPTY) => self.group(group),
            _ => self.merged(attrs).finish(self.context),
        }
    }

    /// The attributes of a function header, groups included. Good once the whole file has been
    /// read.
    ///
    /// Strings of older versions become what they stand for.
    pub(crate) fn resolve_header_attrs(&mut self, attrs: &FnAttrs) -> HeaderAttrs {
        let context = self.context;
        let mut builder = self.merged(attrs);
        let mut header = HeaderAttrs { set: AttrSet::EMPTY, align: None, section: None };
        if let Some(&Attribute::Int(_, align)) = builder.get(AttrKind::Align) {
            builder.remove(AttrKind::Align);
            header.align = Some(align);
        }
        let mut take = |key: &[u8]| match builder.remove_text(context.find_symbol(key)?) {
            Some(Attribute::Text(_, value)) => Some(value),
            _ => None,
        };
        let null_is_valid = take(b"null-pointer-is-valid");
        let keep_frame = take(b"no-frame-pointer-elim");
        let keep_frame_unless_leaf = take(b"no-frame-pointer-elim-non-leaf");
        header.section = take(b"implicit-section-name").flatten();
        let is_true = |value| value == Some(context.symbol(b"true"));
        if null_is_valid.is_some_and(is_true) {
            builder.add(Attribute::Enum(AttrKind::NullPointerIsValid));
        }
        let frame = match (keep_frame.map(is_true), keep_frame_unless_leaf) {
            (Some(true), _) => Some(&b"all"[..]),
            (_, Some(_)) => Some(&b"non-leaf"[..]),
            (Some(false), None) => Some(&b"none"[..]),
            (None, None) => None,
        };
        if let Some(frame) = frame {
            let (key, value) = (context.symbol(b"frame-pointer"), context.symbol(frame));
            builder.add(Attribute::Text(key, Some(value)));
        }
        header.set = builder.finish(context);
        header
    }

    fn group(&self, number: u32) -> AttrSet {
        self.attributes.groups.get(&number).copied().unwrap_or(AttrSet::EMPTY)
    }

    fn merged(&self, attrs: &FnAttrs) -> AttrSetBuilder {
        let mut builder = AttrSetBuilder::from_set(self.context.attr_set_data(attrs.set));
        for &group in &attrs.groups {
            builder.add_all(self.context.attr_set_data(self.group(group)));
        }
        builder
    }

    /// What the current word is as an attribute.
    fn attr_word(&self, place: ListPlace) -> Option<AttrWord> {
        let word = self.text(self.token);
        match place {
            ListPlace::Function | ListPlace::Group => {
                if let Some(effects) = legacy_memory(word) {
                    return Some(AttrWord::Memory(effects));
                }
            }
            ListPlace::Param if word == b"nocapture" => return Some(AttrWord::NoCapture),
            ListPlace::Param | ListPlace::Return => {}
        }
        AttrKind::from_text(word).map(AttrWord::Kind)
    }

    fn check_position(&self, kind: AttrKind, place: ListPlace) -> PResult<()> {
        // A group may give an alignment to the functions that name it.
        let is_group_align = place == ListPlace::Group && kind == AttrKind::Align;
        if kind.positions().contains(place.positions()) || is_group_align {
            return Ok(());
        }
        Err(self
            .error(self.span(), format!("`{}` does not apply to {}", kind.text(), place.text())))
    }

    fn parse_text_attr(&mut self) -> PResult<Option<Attribute>> {
        let key = self.string_symbol()?;
        let mut value = None;
        if self.accept(TokenKind::Equal) {
            let text = self.string()?;
            value = (!text.is_empty()).then(|| self.symbol(&text));
        }
        Ok(Some(Attribute::Text(key, value)))
    }

    /// An attribute with a keyword, at the keyword. None when it says nothing.
    fn parse_attr(&mut self, kind: AttrKind, place: ListPlace) -> PResult<Option<Attribute>> {
        self.check_position(kind, place)?;
        match kind.payload() {
            Payload::None => {
                self.bump();
                Ok(Some(Attribute::Enum(kind)))
            }
            Payload::Type => {
                self.bump();
                self.expect(TokenKind::LParen)?;
                let ty = self.parse_type()?;
                self.expect(TokenKind::RParen)?;
                Ok(Some(Attribute::Type(kind, ty)))
            }
            Payload::Int => {
                let value = self.parse_int_attr(kind, place)?;
                Ok(value.map(|value| Attribute::Int(kind, value)))
            }
            Payload::Range => self.parse_range_attr(kind).map(Some),
            Payload::Ranges => self.parse_ranges_attr(kind).map(Some),
        }
    }

    fn parse_int_attr(&mut self, kind: AttrKind, place: ListPlace) -> PResult<Option<u64>> {
        match kind {
            AttrKind::Align | AttrKind::StackAlign if place == ListPlace::Group => {
                self.bump();
                self.expect(TokenKind::Equal)?;
                return self.parse_power_of_two().map(Some);
            }
            AttrKind::Align => return self.parse_align().map(Some),
            _ => {}
        }
        self.bump();
        let value = match kind {
            AttrKind::StackAlign => self.in_parens(Self::parse_power_of_two)?,
            AttrKind::Dereferenceable | AttrKind::DereferenceableOrNull => self.in_parens(|p| {
                let span = p.span();
                match p.expect_u64()? {
                    0 => Err(p.error(span, format!("`{}` needs at least one byte", kind.text()))),
                    bytes => Ok(bytes),
                }
            })?,
            AttrKind::AllocSize => self.in_parens(|p| {
                let start = p.span().start;
                let size = p.expect_u32()?;
                let count = if p.accept(TokenKind::Comma) { Some(p.expect_u32()?) } else { None };
                if count == Some(size) {
                    return Err(
                        p.error(p.span_from(start), "`allocsize` names the same parameter twice")
                    );
                }
                Ok(AllocSize { size, count }.raw())
            })?,
            AttrKind::VScaleRange => self.in_parens(|p| {
                let min = p.expect_u32()?;
                let max = if p.accept(TokenKind::Comma) { p.expect_u32()? } else { min };
                Ok(VScaleRange { min, max }.raw())
            })?,
            AttrKind::UwTable => self.parse_unwind_table()?,
            AttrKind::AllocKind => self.in_parens(Self::parse_alloc_kind)?,
            AttrKind::NoFpClass => self.in_parens(Self::parse_fp_classes)?,
            AttrKind::Memory => self.in_parens(Self::parse_memory_effects)?,
            _ => self.in_parens(Self::parse_captures)?,
        };
        // The empty range of `vscale` is the same as none.
        Ok((kind != AttrKind::VScaleRange || value != 0).then_some(value))
    }

    pub(super) fn in_parens<T>(
        &mut self,
        inside: impl FnOnce(&mut Self) -> PResult<T>,
    ) -> PResult<T> {
        let open = self.expect(TokenKind::LParen)?.span();
        let value = inside(self)?;
        if !self.at(TokenKind::RParen) {
            return Err(self.unexpected("`)`").with_note(Some(open), "it opens here"));
        }
        self.bump();
        Ok(value)
    }

    /// `align 8` or `align(8)`.
    fn parse_align(&mut self) -> PResult<u64> {
        self.bump();
        if self.at(TokenKind::LParen) {
            self.in_parens(Self::parse_power_of_two)
        } else {
            self.parse_power_of_two()
        }
    }

    fn parse_power_of_two(&mut self) -> PResult<u64> {
        const LARGEST: u64 = 1 << 32;
        let span = self.span();
        let value = self.expect_u64()?;
        if !value.is_power_of_two() {
            return Err(self.error(span, "an alignment must be a power of two"));
        }
        if value > LARGEST {
            return Err(self.error(span, format!("alignments go up to {LARGEST}")));
        }
        Ok(value)
    }

    /// `range(i32 0, 8)`, at the keyword.
    fn parse_range_attr(&mut self, kind: AttrKind) -> PResult<Attribute> {
        self.bump();
        self.in_parens(|p| {
            let span = p.span();
            let ty = p.parse_type()?;
            let Some(bits) = p.int_width(ty) else {
                return Err(p.error(span, "a range must have integer type"));
            };
            let low = p.parse_range_end(ty, bits)?;
            p.expect(TokenKind::Comma)?;
            let high = p.parse_range_end(ty, bits)?;
            let is_zero = |c| {
                p.context.const_data(c).kind
                    == p.context.const_data(p.context.int_const(ty, 0)).kind
            };
            if low == high && !is_zero(low) {
                let message = "an empty range; the full range is written with two zeros";
                return Err(p.error(p.span_from(span.start), message));
            }
            Ok(Attribute::Range(kind, low, high))
        })
    }

    fn int_width(&self, ty: phalanx_ir::Type) -> Option<u32> {
        match self.context.type_kind(ty) {
            phalanx_ir::TypeKind::Int(bits) => Some(*bits),
            _ => None,
        }
    }

    fn parse_range_end(&mut self, ty: phalanx_ir::Type, bits: u32) -> PResult<phalanx_ir::Const> {
        if !self.at(TokenKind::Int) {
            return Err(self.unexpected("an integer"));
        }
        if bits < 64 {
            let span = self.span();
            let fits = match self.int_of(self.token).to_i64() {
                Some(value) => (-(1i64 << (bits - 1))..1i64 << bits).contains(&value),
                None => false,
            };
            if !fits {
                return Err(self.error(span, format!("this number does not fit `i{bits}`")));
            }
        }
        self.parse_int(ty)
    }

    /// `initializes((0, 4), (8, 16))`, at the keyword.
    fn parse_ranges_attr(&mut self, kind: AttrKind) -> PResult<Attribute> {
        self.bump();
        let start = self.span().start;
        let mut ranges: Vec<(i64, i64)> = Vec::new();
        self.in_parens(|p| {
            loop {
                ranges.push(p.in_parens(|p| {
                    let low = p.expect_i64()?;
                    p.expect(TokenKind::Comma)?;
                    Ok((low, p.expect_i64()?))
                })?);
                if !p.accept(TokenKind::Comma) {
                    return Ok(());
                }
            }
        })?;
        let ordered =
            ranges.iter().all(|&(low, high)| low < high) && ranges.is_sorted_by(|a, b| a.1 < b.0);
        if !ordered {
            let message = "ranges must not be empty, must ascend, and must not touch";
            return Err(self.error(self.span_from(start), message));
        }
        Ok(Attribute::Ranges(kind, ranges.into()))
    }

    /// An error about a word that is not one of those wanted, at its place.
    #[cold]
    pub(super) fn expected_one_of<'t>(
        &self,
        what: &str,
        words: impl Iterator<Item = &'t str>,
    ) -> Box<crate::ParseError> {
        let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
        self.unexpected(what).with_note(None::<Span>, format!("one of {}", words.join(", ")))
    }
}
