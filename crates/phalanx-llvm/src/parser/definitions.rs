//! Definitions at the module level that are no functions: variables, aliases, ifuncs and comdats.

use phalanx_ir::{
    AttrSet, ConstKind, GlobalName, GlobalVariable, Symbol, Type,
    metadata::Attachment,
    module::{CodeModel, ComdatKind, GlobalAlias, GlobalIndex, Linkage, ThreadLocal, UnnamedAddr},
};

use super::state::globals::{Comdat, Preamble};
use super::{Parser, keyword::Keyword};
use crate::{
    error::{PResult, Span},
    lexer::{Token, TokenKind},
};

impl Parser<'_> {
    /// `@name = ..`: a variable, alias or ifunc, at the name.
    pub(crate) fn parse_global(&mut self) -> PResult<()> {
        let name = self.bump();
        self.expect(TokenKind::Equal)?;
        let preamble = self.parse_preamble()?;
        let thread_local = self.parse_thread_local()?;
        let unnamed_addr = self.parse_unnamed_addr();
        if self.at_kw(Keyword::Alias) || self.at_kw(Keyword::Ifunc) {
            self.parse_alias(name, &preamble, thread_local, unnamed_addr)
        } else {
            self.parse_variable(name, &preamble, thread_local, unnamed_addr)
        }
    }

    fn parse_variable(
        &mut self,
        name: Token,
        preamble: &Preamble,
        thread_local: Option<ThreadLocal>,
        unnamed_addr: UnnamedAddr,
    ) -> PResult<()> {
        // Without `addrspace` the space is 0. The layout's space for globals only gives the name
        // "G" a meaning.
        let address_space = self.parse_optional_address_space(0)?;
        let externally_initialized = self.accept_kw(Keyword::ExternallyInitialized);
        let is_constant = self.accept_kw(Keyword::Constant);
        if !is_constant && !self.accept_kw(Keyword::Global) {
            return Err(self.unexpected("`global` or `constant`"));
        }
        let start = self.token.start;
        let ty = self.parse_type()?;
        let invalid = [Type::LABEL, Type::METADATA, Type::TOKEN, Type::X86_AMX];
        if invalid.contains(&ty) || self.is_function_type(ty) {
            let message = format!("a variable cannot have type `{}`", self.type_name(ty));
            return Err(self.error(self.span_from(start), message));
        }
        let declares = preamble.linkage_span.is_some()
            && matches!(preamble.linkage, Linkage::External | Linkage::ExternWeak);
        let initializer = if declares { None } else { Some(self.parse_constant(ty)?) };
        // Defined after its initializer, which may mention it.
        let index = self.module.variables.len();
        let ptr = self.context.ptr_type(address_space);
        let name_of = self.define_global(name, ptr, GlobalIndex::Variable(index))?;
        let mut variable = GlobalVariable {
            name: name_of,
            ty,
            address_space,
            is_constant,
            initializer,
            linkage: preamble.linkage,
            visibility: preamble.visibility,
            dll: preamble.dll,
            dso_local: preamble.dso_local,
            thread_local,
            unnamed_addr,
            externally_initialized,
            section: None,
            partition: None,
            comdat: None,
            align: None,
            code_model: None,
            sanitizer: [false; 4],
            attributes: AttrSet::EMPTY,
            metadata: Box::default(),
        };
        let mut metadata = Vec::new();
        while self.accept(TokenKind::Comma) {
            self.parse_variable_part(name, &mut variable, &mut metadata)?;
        }
        let attributes = self.parse_global_attrs()?;
        variable.attributes = attributes.set;
        if !attributes.groups.is_empty() {
            self.globals.waiting_attributes.push((index, attributes));
        }
        variable.metadata = metadata.into();
        self.module.variables.push(variable);
        self.source_map.push_variable(name.start);
        Ok(())
    }

    fn parse_variable_part(
        &mut self,
        name: Token,
        variable: &mut GlobalVariable,
        metadata: &mut Vec<Attachment>,
    ) -> PResult<()> {
        match self.token.keyword {
            Keyword::Section => {
                self.bump();
                variable.section = Some(self.string_symbol()?);
            }
            Keyword::Partition => {
                self.bump();
                variable.partition = Some(self.string_symbol()?);
            }
            Keyword::Align => variable.align = self.parse_optional_align()?,
            Keyword::CodeModel => {
                self.bump();
                let span = self.span();
                let model = CodeModel::from_text(&self.string()?);
                variable.code_model =
                    Some(model.ok_or_else(|| self.error(span, "this is no code model"))?);
            }
            Keyword::Comdat => variable.comdat = self.parse_optional_comdat(name)?,
            Keyword::NoSanitizeAddress => {
                variable.sanitizer[0] = self.accept_kw(Keyword::NoSanitizeAddress);
            }
            Keyword::NoSanitizeHwAddress => {
                variable.sanitizer[1] = self.accept_kw(Keyword::NoSanitizeHwAddress);
            }
            Keyword::SanitizeMemTag => {
                variable.sanitizer[2] = self.accept_kw(Keyword::SanitizeMemTag);
            }
            Keyword::SanitizeAddressDynInit => {
                variable.sanitizer[3] = self.accept_kw(Keyword::SanitizeAddressDynInit);
            }
            _ if self.at(TokenKind::MetadataVar) => metadata.push(self.parse_attachment()?),
            _ => {
                return Err(
                    self.unexpected("a property of the variable: `align`, `section`, metadata ...")
                );
            }
        }
        Ok(())
    }

    /// `align N`; None when there is none.
    pub(crate) fn parse_optional_align(&mut self) -> PResult<Option<u64>> {
        if !self.accept_kw(Keyword::Align) {
            return Ok(None);
        }
        self.parse_align_value().map(Some)
    }

    fn parse_align_value(&mut self) -> PResult<u64> {
        let span = self.span();
        let align = self.expect_u64()?;
        if !align.is_power_of_two() {
            return Err(self.error(span, "an alignment must be a power of two"));
        }
        if align > 1 << 32 {
            return Err(self.error(span, "an alignment can be at most 4294967296"));
        }
        Ok(align)
    }

    /// `comdat` or `comdat($name)` of a global with this name.
    pub(crate) fn parse_optional_comdat(&mut self, owner: Token) -> PResult<Option<Symbol>> {
        let span = self.span();
        if !self.accept_kw(Keyword::Comdat) {
            return Ok(None);
        }
        let (name, span) = if self.accept(TokenKind::LParen) {
            let token = self.expect(TokenKind::ComdatVar)?;
            self.expect(TokenKind::RParen)?;
            (self.token_name(token), token.span())
        } else if owner.kind == TokenKind::GlobalId {
            return Err(self.error(span, "`comdat` without a name needs a global that has one"));
        } else {
            (self.token_name(owner), span)
        };
        let symbol = self.symbol(&name);
        self.globals.comdats.entry(symbol).or_insert(Comdat { mention: span, defined: false });
        Ok(Some(symbol))
    }

    /// `$name = comdat kind`, at the name.
    pub(crate) fn parse_comdat(&mut self) -> PResult<()> {
        let token = self.bump();
        self.expect(TokenKind::Equal)?;
        self.expect_kw(Keyword::Comdat)?;
        let kind = self.word().and_then(ComdatKind::from_text);
        let kind = kind.ok_or_else(|| {
            self.unexpected("a kind of comdat: `any`, `exactmatch`, `largest` ...")
        })?;
        self.bump();
        let name = self.token_name(token);
        let symbol = self.symbol(&name);
        let comdat = self
            .globals
            .comdats
            .entry(symbol)
            .or_insert(Comdat { mention: token.span(), defined: false });
        if std::mem::replace(&mut comdat.defined, true) {
            let message = format!("redefinition of comdat `${}`", self.context.text(symbol));
            return Err(self.error(token.span(), message));
        }
        self.module.comdats.push((symbol, kind));
        Ok(())
    }

    fn parse_alias(
        &mut self,
        name: Token,
        preamble: &Preamble,
        thread_local: Option<ThreadLocal>,
        unnamed_addr: UnnamedAddr,
    ) -> PResult<()> {
        let is_ifunc = self.bump().keyword == Keyword::Ifunc;
        if !is_ifunc
            && let Some(span) = preamble.linkage_span
            && matches!(
                preamble.linkage,
                Linkage::Appending | Linkage::Common | Linkage::ExternWeak
            )
        {
            return Err(self.error(span, "an alias cannot have this linkage"));
        }
        let start = self.token.start;
        let ty = self.parse_type()?;
        self.expect(TokenKind::Comma)?;
        let expression = matches!(
            self.token.keyword,
            Keyword::BitCast | Keyword::GetElementPtr | Keyword::AddrSpaceCast | Keyword::IntToPtr
        );
        let target_start = self.token.start;
        let target = if expression {
            self.parse_untyped_expression()?
        } else {
            self.parse_typed_constant()?.1
        };
        let ptr_ty = self.context.const_data(target).ty;
        if self.context.type_kind(ptr_ty).address_space().is_none() {
            let message =
                format!("an alias or ifunc must be a pointer, found `{}`", self.type_name(ptr_ty));
            return Err(self.error(self.span_from(target_start), message));
        }
        if matches!(ty, Type::LABEL | Type::METADATA | Type::TOKEN) {
            let message = format!("an alias cannot have type `{}`", self.type_name(ty));
            return Err(self.error(self.span_from(start), message));
        }
        let index = self.module.aliases.len();
        let name_of = self.define_global(name, ptr_ty, GlobalIndex::Alias(index))?;
        let (mut partition, mut metadata) = (None, Vec::new());
        while self.accept(TokenKind::Comma) {
            if self.accept_kw(Keyword::Partition) {
                partition = Some(self.string_symbol()?);
            } else if is_ifunc && self.at(TokenKind::MetadataVar) {
                metadata.push(self.parse_attachment()?);
            } else {
                return Err(self.unexpected("`partition`"));
            }
        }
        self.module.aliases.push(GlobalAlias {
            name: name_of,
            is_ifunc,
            ty,
            ptr_ty,
            target,
            linkage: preamble.linkage,
            visibility: preamble.visibility,
            dll: preamble.dll,
            dso_local: preamble.dso_local,
            thread_local,
            unnamed_addr,
            partition,
            metadata: metadata.into(),
        });
        self.source_map.push_alias(name.start);
        Ok(())
    }

    /// The function that `dso_local_equivalent` or `no_cfi` names, at its name.
    pub(crate) fn parse_function_of_form(
        &mut self,
        ty: Type,
        keyword: Keyword,
    ) -> PResult<(GlobalName, Span)> {
        if !matches!(self.kind(), TokenKind::Global | TokenKind::GlobalId) {
            return Err(
                self.unexpected(&format!("the name of a function after `{}`", keyword.text()))
            );
        }
        let span = self.span();
        let constant = self.parse_global_ref(ty)?;
        match self.context.const_data(constant).kind {
            ConstKind::Global(name) => Ok((name, span)),
            _ => Err(self.error(span, "expected the name of a function")),
        }
    }
}
