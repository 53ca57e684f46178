//! Names of globals: references, the keywords before definitions, and the addresses of blocks.
//!
//! A reference to a global needs no definition yet. The first mention determines its address space;
//! the parser checks later mentions and the definition against that. A name that is undefined at
//! the end of the file is an error, except for intrinsics, which their calls declare.

use std::borrow::Cow;

use phalanx_ir::{
    BlockId, Const, ConstKind, Function, GlobalName, Type, TypeKind,
    intrinsics::{Lookup, is_also_older, lookup},
    module::{
        BlockAddress, DllStorage, GlobalIndex, Linkage, ThreadLocal, UnnamedAddr, Visibility,
    },
};

use super::state::globals::{GlobalEntry, Label, Preamble, WaitingLabel};
use super::{Parser, keyword::Keyword};
use crate::{
    error::{PResult, Span},
    lexer::{Token, TokenKind},
    upgrade::{is_intrinsic_type, is_old},
};

impl<'a> Parser<'a> {
    /// A reference to a global of pointer type `ty`, at its name.
    pub(crate) fn parse_global_ref(&mut self, ty: Type) -> PResult<Const> {
        let token = self.bump();
        let at = self.global_entry(token, ty)?;
        let entry = &mut self.globals.entries[at];
        entry.called_as = None;
        Ok(entry.constant)
    }

    fn find_global(&self, token: Token) -> Option<u32> {
        match token.kind {
            TokenKind::GlobalId => self.globals.numbered.get(&token.number).copied(),
            _ if self.source[token.start as usize + 1] == b'"' => {
                self.globals.named.get(&self.token_name(token)).copied()
            }
            _ => self.globals.named.get(&self.text(token)[1..]).copied(),
        }
    }

    pub(super) fn global_entry(&mut self, token: Token, ty: Type) -> PResult<usize> {
        let at = match self.find_global(token) {
            Some(at) => at as usize,
            None => self.add_global(token, ty)?,
        };
        let entry = &self.globals.entries[at];
        if entry.ty == ty {
            return Ok(at);
        }
        let (wanted, found) = (self.type_name(ty), self.type_name(entry.ty));
        let name = String::from_utf8_lossy(self.text(token)).into_owned();
        let message = if self.context.type_kind(ty).address_space().is_none() {
            format!("a global has pointer type, but `{wanted}` was expected")
        } else {
            format!("`{name}` has type `{found}`, but `{wanted}` was expected")
        };
        Err(self.error(token.span(), message))
    }

    fn add_global(&mut self, token: Token, ty: Type) -> PResult<usize> {
        if self.context.type_kind(ty).address_space().is_none() {
            let message =
                format!("a global has pointer type, but `{}` was expected", self.type_name(ty));
            return Err(self.error(token.span(), message));
        }
        let at = self.globals.entries.len();
        let name = match token.kind {
            TokenKind::GlobalId => {
                self.globals.numbered.insert(token.number, at as u32);
                GlobalName::Numbered(token.number)
            }
            _ => {
                let name = self.token_name(token);
                let symbol = self.symbol(&name);
                self.globals.named.insert(name, at as u32);
                GlobalName::Named(symbol)
            }
        };
        let constant = self.context.constant(ty, ConstKind::Global(name));
        let mention = token.span();
        self.globals.entries.push(GlobalEntry {
            name,
            ty,
            constant,
            mention,
            definition: None,
            called_as: None,
        });
        Ok(at)
    }

    /// Records the definition of a global whose address has type `ty`.
    pub(crate) fn define_global(
        &mut self,
        token: Token,
        ty: Type,
        index: GlobalIndex,
    ) -> PResult<GlobalName> {
        // `@""` is no name: it is numbered like a global without one.
        let token = match token.kind {
            TokenKind::Global if self.token_name(token).is_empty() => {
                let number = self.globals.next_number;
                Token { kind: TokenKind::GlobalId, number, ..token }
            }
            _ => token,
        };
        if token.kind == TokenKind::GlobalId {
            if token.number < self.globals.next_number {
                let message =
                    format!("expected a global number of at least `@{}`", self.globals.next_number);
                return Err(self.error(token.span(), message));
            }
            self.globals.next_number = token.number.saturating_add(1);
        }
        let at = match self.find_global(token) {
            Some(at) => at as usize,
            None => self.add_global(token, ty)?,
        };
        let entry = &mut self.globals.entries[at];
        let name = || {
            String::from_utf8_lossy(&self.source[token.start as usize..token.end as usize])
                .into_owned()
        };
        if entry.definition.is_some() {
            let message = format!("redefinition of `{}`", name());
            let first = entry.mention;
            let error = self.error(token.span(), message);
            return Err(error.with_note(Some(first), "first mentioned here"));
        }
        if entry.ty != ty {
            let mention = entry.mention;
            let (wanted, found) = (self.type_name(self.globals.entries[at].ty), self.type_name(ty));
            let message =
                format!("`{}` has type `{found}` here, but was used with type `{wanted}`", name());
            return Err(self.error(token.span(), message).with_note(Some(mention), "used here"));
        }
        entry.definition = Some(index);
        Ok(entry.name)
    }

    /// Linkage, `dso_local`, visibility and DLL storage class.
    pub(crate) fn parse_preamble(&mut self) -> PResult<Preamble> {
        let linkage = match self.token.keyword {
            Keyword::External => Some(Linkage::External),
            Keyword::Private => Some(Linkage::Private),
            Keyword::Internal => Some(Linkage::Internal),
            Keyword::AvailableExternally => Some(Linkage::AvailableExternally),
            Keyword::LinkOnce => Some(Linkage::LinkOnce),
            Keyword::LinkOnceOdr => Some(Linkage::LinkOnceOdr),
            Keyword::Weak => Some(Linkage::Weak),
            Keyword::WeakOdr => Some(Linkage::WeakOdr),
            Keyword::Appending => Some(Linkage::Appending),
            Keyword::Common => Some(Linkage::Common),
            Keyword::ExternWeak => Some(Linkage::ExternWeak),
            _ => None,
        };
        let linkage_span = linkage.is_some().then(|| self.bump().span());
        let linkage = linkage.unwrap_or(Linkage::External);
        let dso_local = if self.accept_kw(Keyword::DsoLocal) {
            Some(true)
        } else {
            self.accept_kw(Keyword::DsoPreemptable).then_some(false)
        };
        let visibility_span = self.span();
        let visibility = match self.token.keyword {
            Keyword::Hidden => Visibility::Hidden,
            Keyword::Protected => Visibility::Protected,
            _ => Visibility::Default,
        };
        if visibility != Visibility::Default || self.at_kw(Keyword::Default) {
            self.bump();
        }
        let dll_span = self.span();
        let dll = match self.token.keyword {
            Keyword::DllImport => DllStorage::Import,
            Keyword::DllExport => DllStorage::Export,
            _ => DllStorage::Default,
        };
        if dll != DllStorage::Default {
            self.bump();
        }
        if dso_local == Some(true) && dll == DllStorage::Import {
            return Err(self.error(dll_span, "a `dso_local` symbol cannot be `dllimport`"));
        }
        if matches!(linkage, Linkage::Private | Linkage::Internal) {
            if visibility != Visibility::Default {
                return Err(self.error(
                    visibility_span,
                    "a symbol with local linkage must have default visibility",
                ));
            }
            if dll != DllStorage::Default {
                return Err(self.error(
                    dll_span,
                    "a symbol with local linkage cannot have a DLL storage class",
                ));
            }
        }
        Ok(Preamble { linkage, linkage_span, visibility, dll, dso_local })
    }

    pub(crate) fn parse_unnamed_addr(&mut self) -> UnnamedAddr {
        if self.accept_kw(Keyword::UnnamedAddr) {
            UnnamedAddr::Global
        } else if self.accept_kw(Keyword::LocalUnnamedAddr) {
            UnnamedAddr::Local
        } else {
            UnnamedAddr::No
        }
    }

    pub(super) fn parse_thread_local(&mut self) -> PResult<Option<ThreadLocal>> {
        if !self.accept_kw(Keyword::ThreadLocal) {
            return Ok(None);
        }
        if !self.accept(TokenKind::LParen) {
            return Ok(Some(ThreadLocal::GeneralDynamic));
        }
        let model = match self.word().and_then(ThreadLocal::from_text) {
            Some(model) if model != ThreadLocal::GeneralDynamic => model,
            _ => return Err(self.unexpected("`localdynamic`, `initialexec` or `localexec`")),
        };
        self.bump();
        self.expect(TokenKind::RParen)?;
        Ok(Some(model))
    }

    /// `blockaddress(@function, %block)`
    pub(crate) fn parse_block_address(&mut self, ty: Type) -> PResult<Const> {
        self.bump();
        self.expect(TokenKind::LParen)?;
        let function = self.token;
        if !matches!(function.kind, TokenKind::Global | TokenKind::GlobalId) {
            return Err(self.unexpected("the name of a function"));
        }
        self.parse_global_ref(ty)?;
        self.expect(TokenKind::Comma)?;
        let label = self.token;
        let key = match label.kind {
            TokenKind::Local => Label::Named(self.token_name(label)),
            TokenKind::LocalId => Label::Numbered(label.number),
            _ => return Err(self.unexpected("the name of a block")),
        };
        self.bump();
        self.expect(TokenKind::RParen)?;
        let entry = self.find_global(function).map(|at| &self.globals.entries[at as usize]);
        let Some(&GlobalEntry { name, definition, .. }) = entry else {
            return Err(self.error(function.span(), "expected the name of a function"));
        };
        if let Some(&slot) = self.globals.block_addresses.get(&(name, key.clone())) {
            return Ok(self.context.constant(ty, ConstKind::BlockAddress { slot }));
        }
        let slot = self.module.block_addresses.len() as u32;
        let mut block = BlockId::from_raw(0.into());
        match definition {
            Some(GlobalIndex::Function(index)) if index < self.module.functions.len() => {
                block = self.block_of_function(index, label, function.span())?;
            }
            Some(GlobalIndex::Variable(_) | GlobalIndex::Alias(_)) => {
                return Err(self.error(function.span(), "expected the name of a function"));
            }
            // The body is being read, or will be.
            _ => {
                let waiting = WaitingLabel { slot, label, ty, span: function.span() };
                self.globals.waiting.entry(name).or_default().push(waiting);
            }
        }
        self.globals.block_addresses.insert((name, key), slot);
        self.module.block_addresses.push(BlockAddress { function: name, block });
        Ok(self.context.constant(ty, ConstKind::BlockAddress { slot }))
    }

    /// `@function, %block`: a block of a function that has been read.
    pub(crate) fn parse_block_of_function(&mut self) -> PResult<(GlobalName, BlockId)> {
        let token = self.token;
        let found = match token.kind {
            TokenKind::Global | TokenKind::GlobalId => self.find_global(token),
            _ => return Err(self.unexpected("the name of a function")),
        };
        self.bump();
        self.expect(TokenKind::Comma)?;
        let label = self.token;
        if !matches!(label.kind, TokenKind::Local | TokenKind::LocalId) {
            return Err(self.unexpected("the name of a block"));
        }
        self.bump();
        match found.map(|at| &self.globals.entries[at as usize]) {
            Some(&GlobalEntry { name, definition: Some(GlobalIndex::Function(index)), .. }) => {
                Ok((name, self.block_of_function(index, label, token.span())?))
            }
            _ => {
                Err(self
                    .error(token.span(), "expected the name of a function that is defined above"))
            }
        }
    }

    /// A block of a function that has been read.
    fn block_of_function(
        &mut self,
        index: usize,
        label: Token,
        function_span: Span,
    ) -> PResult<BlockId> {
        let function = &self.module.functions[index];
        if function.is_declaration() {
            return Err(self
                .error(function_span, "a declaration has no blocks whose address could be taken"));
        }
        if label.kind == TokenKind::LocalId {
            let message = "a numbered block cannot be named after its function has been read";
            return Err(self.error(label.span(), message));
        }
        let name = self.token_name(label);
        let labels = self.globals.labels.entry(index).or_insert_with(|| {
            let names = &function.extras.names;
            let blocks = function.flow.order().iter();
            blocks.filter_map(|&block| Some((names.block(block)?.into(), block))).collect()
        });
        let found = labels.get(&*name).copied();
        found.ok_or_else(|| self.undefined_label(label))
    }

    pub(crate) fn undefined_label(&self, label: Token) -> Box<crate::ParseError> {
        let name = String::from_utf8_lossy(self.text(label)).into_owned();
        self.error(label.span(), format!("use of undefined block `{name}`"))
    }

    /// Block addresses that wait for the body of this function.
    pub(crate) fn take_waiting_labels(&mut self, function: GlobalName) -> Vec<WaitingLabel> {
        if self.globals.waiting.is_empty() {
            return Vec::new();
        }
        self.globals.waiting.remove(&function).unwrap_or_default()
    }

    /// Gives a waiting block address its block.
    pub(crate) fn set_block_address(&mut self, waiting: &WaitingLabel, block: BlockId) {
        self.module.block_addresses[waiting.slot as usize].block = block;
    }

    /// At the end of the file: every name that is used is defined.
    pub(crate) fn finish_globals(&mut self) -> PResult<()> {
        let comdats = self.globals.comdats.iter().filter(|(_, comdat)| !comdat.defined);
        if let Some((&name, comdat)) = comdats.min_by_key(|(_, comdat)| comdat.mention) {
            let message = format!("use of undefined comdat `${}`", self.context.text(name));
            return Err(self.error(comdat.mention, message));
        }
        self.globals.written_functions = self.module.functions.len();
        self.rename_calls();
        for at in self.undefined() {
            let entry = &self.globals.entries[at];
            let (name, mention, called_as) = (entry.name, entry.mention, entry.called_as);
            let text = match name {
                GlobalName::Named(symbol) => self.context.text(symbol),
                GlobalName::Numbered(number) => Cow::Owned(number.to_string()),
            };
            if !text.starts_with("llvm.") {
                return Err(self.error(mention, format!("use of undefined value `@{text}`")));
            }
            let Some(function_type) = called_as else {
                let message =
                    format!("the intrinsic `@{text}` is not declared, so it can only be called");
                return Err(self.error(mention, message));
            };
            // LLVM takes a structure with a name for the one that the intrinsic returns.
            let ret = Function::split_type(self.context, function_type).map(|(ret, ..)| ret);
            let fits = is_intrinsic_type(self.context, text.as_bytes(), function_type)
                || ret.is_some_and(|ret| matches!(self.context.type_kind(ret), TypeKind::Named(_)));
            let is_older = is_also_older(text.as_bytes())
                || !fits && is_old(self.context, &text, function_type);
            match lookup(text.as_bytes()) {
                Lookup::Known(..) if !fits && !is_older => {
                    let message = format!("invalid signature of the intrinsic `@{text}`");
                    return Err(self.error(mention, message));
                }
                Lookup::Unknown if !is_older => {
                    return Err(self.error(mention, format!("unknown intrinsic `@{text}`")));
                }
                _ => {}
            }
            self.declare_intrinsic(name, function_type, mention);
        }
        if let Some(waiting) =
            self.globals.waiting.values().flatten().min_by_key(|waiting| waiting.span)
        {
            return Err(self.error(waiting.span, "expected the name of a function that is defined"));
        }
        for (name, span) in std::mem::take(&mut self.globals.summarized) {
            let at = self.globals.named.get(self.context.bytes(name)).copied();
            if at.is_none_or(|at| self.globals.entries[at as usize].definition.is_none()) {
                return Err(self.error(span, "a summary of a global that there is not"));
            }
        }
        for at in 0..self.globals.must_be_functions.len() {
            let (name, span) = self.globals.must_be_functions[at];
            if !self.is_function_name(name) {
                return Err(
                    self.error(span, "expected a function, an alias of a function or an ifunc")
                );
            }
        }
        Ok(())
    }

    fn is_function_name(&self, name: GlobalName) -> bool {
        let entry = self.globals.entries.iter().find(|entry| entry.name == name);
        match entry.and_then(|entry| entry.definition) {
            Some(GlobalIndex::Function(_)) => true,
            Some(GlobalIndex::Alias(at)) => {
                let alias = &self.module.aliases[at];
                alias.is_ifunc
                    || matches!(self.context.type_kind(alias.ty), TypeKind::Function { .. })
            }
            _ => false,
        }
    }
}
