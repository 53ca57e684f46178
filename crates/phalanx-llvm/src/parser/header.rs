//! Reads the header of a function.

use phalanx_ir::{
    AttrList, AttrSet, CallConv, Context, Function, FunctionHeader, GlobalName, Type, TypeKind,
    attributes::AttrListData,
    metadata::Attachment,
    module::{DllStorage, GlobalIndex, Linkage, UnnamedAddr, Visibility},
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::state::attributes::{GroupPlace, HeaderAttrs};
use super::{Parser, checks::is_first_class, keyword::Keyword};
use crate::{
    error::{PResult, Span},
    lexer::{Token, TokenKind},
    source_map::FunctionMap,
};

/// A parameter as it is written.
pub(crate) struct Param {
    ty: Type,
    attributes: AttrSet,
    pub(crate) name: Option<Token>,
    pub(crate) start: u32,
}

impl Parser<'_> {
    /// `declare ..`, at the word.
    pub(crate) fn parse_declaration(&mut self) -> PResult<()> {
        self.bump();
        let metadata = self.parse_function_attachments()?;
        let (mut header, params, name) = self.parse_header(false)?;
        header.metadata = metadata.into();
        self.source_map.push_function(FunctionMap {
            name: name.start,
            arguments: params.iter().map(|param| param.start).collect(),
            ..FunctionMap::default()
        });
        self.module.functions.push(declaration(header));
        Ok(())
    }

    /// `define ..`, at the word.
    pub(crate) fn parse_definition(&mut self) -> PResult<()> {
        self.bump();
        let (mut header, params, name) = self.parse_header(true)?;
        header.metadata = self.parse_function_attachments()?.into();
        self.parse_body(header, &params, name)
    }

    fn parse_function_attachments(&mut self) -> PResult<Vec<Attachment>> {
        let mut attachments = Vec::new();
        while self.at(TokenKind::MetadataVar) {
            attachments.push(self.parse_attachment()?);
        }
        Ok(attachments)
    }

    fn parse_header(
        &mut self,
        is_definition: bool,
    ) -> PResult<(FunctionHeader, Vec<Param>, Token)> {
        let preamble = self.parse_preamble()?;
        if let Some(span) = preamble.linkage_span {
            self.check_function_linkage(span, preamble.linkage, is_definition)?;
        }
        let call_conv = self.parse_call_conv()?;
        let ret_attributes = self.parse_return_attrs()?;
        let start = self.token.start;
        let ret = self.parse_type_or_void()?;
        if matches!(ret, Type::LABEL | Type::METADATA) || self.is_function_type(ret) {
            let message = format!("a function cannot return `{}`", self.type_name(ret));
            return Err(self.error(self.span_from(start), message));
        }
        if !matches!(self.kind(), TokenKind::Global | TokenKind::GlobalId) {
            return Err(self.unexpected("the name of a function"));
        }
        let name = self.bump();
        let (params, vararg) = self.parse_params()?;
        let unnamed_addr = self.parse_unnamed_addr();
        let address_space = self.parse_optional_address_space(self.types.address_spaces.program)?;
        let attributes = self.parse_header_attrs()?;
        let section = self.parse_keyword_string(Keyword::Section)?;
        let partition = self.parse_keyword_string(Keyword::Partition)?;
        let comdat = self.parse_optional_comdat(name)?;
        let align = self.parse_optional_align()?;
        let gc = self.parse_keyword_string(Keyword::Gc)?;
        let mut constants = [None; 3];
        for (keyword, constant) in [Keyword::Prefix, Keyword::Prologue, Keyword::Personality]
            .into_iter()
            .zip(&mut constants)
        {
            if self.accept_kw(keyword) {
                *constant = Some(self.parse_typed_constant()?.1);
            }
        }
        let [prefix, prologue, personality] = constants;
        let types: Box<[Type]> = params.iter().map(|param| param.ty).collect();
        let ty =
            self.context.type_of_kind(&TypeKind::Function { ret, params: types.clone(), vararg });
        let index = self.module.functions.len();
        let ptr = self.context.ptr_type(address_space);
        let defined_name = self.define_global(name, ptr, GlobalIndex::Function(index))?;
        let mut sets: Vec<AttrSet> = params.iter().map(|param| param.attributes).collect();
        trim(&mut sets);
        let list =
            AttrListData { function: attributes.set, ret: ret_attributes, params: sets.into() };
        let attribute_list = self.context.attr_list(&list);
        let attribute_align = attributes.align;
        if attributes.set != AttrSet::EMPTY || !attributes.groups.is_empty() {
            self.waiting_attributes.push((index, GroupPlace::Header, attributes));
        }
        let header = FunctionHeader {
            name: defined_name,
            ty,
            ret,
            params: types,
            vararg,
            call_conv,
            attributes: attribute_list,
            linkage: preamble.linkage,
            visibility: preamble.visibility,
            dll: preamble.dll,
            dso_local: preamble.dso_local,
            unnamed_addr,
            address_space,
            section,
            partition,
            comdat,
            align: attribute_align.or(align),
            gc,
            prefix,
            prologue,
            personality,
            metadata: Box::default(),
        };
        Ok((header, params, name))
    }

    fn check_function_linkage(
        &self,
        span: Span,
        linkage: Linkage,
        is_definition: bool,
    ) -> PResult<()> {
        let message = match linkage {
            Linkage::External => return Ok(()),
            Linkage::Appending | Linkage::Common => "a function cannot have this linkage",
            Linkage::ExternWeak if is_definition => {
                "a function with a body cannot be `extern_weak`"
            }
            Linkage::ExternWeak => return Ok(()),
            _ if is_definition => return Ok(()),
            _ => "a declaration must be `external` or `extern_weak`",
        };
        Err(self.error(span, message))
    }

    fn parse_keyword_string(&mut self, keyword: Keyword) -> PResult<Option<phalanx_ir::Symbol>> {
        if self.accept_kw(keyword) { self.string_symbol().map(Some) } else { Ok(None) }
    }

    /// A calling convention, C when there is none.
    #[inline]
    pub(crate) fn parse_call_conv(&mut self) -> PResult<CallConv> {
        match self.token.keyword {
            Keyword::None if self.at(TokenKind::Word) => {}
            Keyword::Cc => {
                self.bump();
                return self.expect_u32().map(CallConv);
            }
            _ => return Ok(CallConv::C),
        }
        let word = self.text(self.token);
        let likely = word.ends_with(b"cc")
            || [&b"amdgpu_"[..], b"ptx_", b"spir_", b"aarch64_"]
                .iter()
                .any(|prefix| word.starts_with(prefix));
        if !likely {
            return Ok(CallConv::C);
        }
        if word == b"riscv_vls_cc" {
            return self.parse_riscv_vls();
        }
        let found = CallConv::from_text(word);
        if found.is_some() {
            self.bump();
        }
        Ok(found.unwrap_or(CallConv::C))
    }

    /// `riscv_vls_cc(N)`: a convention for each vector length from 32 to 65536.
    fn parse_riscv_vls(&mut self) -> PResult<CallConv> {
        self.bump();
        let mut length = 128;
        if self.accept(TokenKind::LParen) {
            let span = self.span();
            length = self.expect_u32()?;
            if !length.is_power_of_two() || !(32..=65_536).contains(&length) {
                return Err(
                    self.error(span, "a vector length must be a power of two from 32 to 65536")
                );
            }
            self.expect(TokenKind::RParen)?;
        }
        Ok(CallConv(112 + length.trailing_zeros() - 5))
    }

    fn parse_params(&mut self) -> PResult<(Vec<Param>, bool)> {
        self.expect(TokenKind::LParen)?;
        let mut params: Vec<Param> = Vec::new();
        let mut next_number = 0u32;
        loop {
            if self.accept(TokenKind::RParen) {
                if params.is_empty() {
                    return Ok((params, false));
                }
                return Err(
                    self.error(self.span_from(self.token.start), "expected a parameter after `,`")
                );
            }
            if self.accept(TokenKind::Ellipsis) {
                self.expect(TokenKind::RParen)?;
                return Ok((params, true));
            }
            let start = self.token.start;
            let ty = self.parse_type_or_void()?;
            if !is_first_class(self.context, ty) || ty == Type::LABEL {
                let message = format!("a parameter cannot have type `{}`", self.type_name(ty));
                return Err(self.error(self.span_from(start), message));
            }
            let attributes = self.parse_param_attrs()?;
            let mut name = None;
            if matches!(self.kind(), TokenKind::Local | TokenKind::LocalId) {
                name = Some(self.bump());
            }
            if name.is_none_or(|token| token.kind == TokenKind::LocalId) {
                let number = name.map_or(next_number, |token| token.number);
                if number < next_number || number == u32::MAX {
                    let span = name.map_or_else(|| self.span_from(start), Token::span);
                    let message =
                        format!("this parameter must be numbered `%{next_number}` or greater");
                    return Err(self.error(span, message));
                }
                next_number = number + 1;
            }
            params.push(Param {
                ty,
                attributes,
                name,
                start: name.map_or(start, |token| token.start),
            });
            if !self.accept(TokenKind::Comma) {
                self.expect(TokenKind::RParen)?;
                return Ok((params, false));
            }
            if self.at(TokenKind::RParen) {
                return Err(self.unexpected("a parameter"));
            }
        }
    }

    /// Declares an intrinsic that is called without a declaration.
    pub(crate) fn declare_intrinsic(&mut self, name: GlobalName, ty: Type, mention: Span) {
        let space = self.types.address_spaces.program;
        let Some(function) = intrinsic(self.context, name, ty, space) else { return };
        self.source_map
            .push_function(FunctionMap { name: mention.start, ..FunctionMap::default() });
        self.module.functions.push(function);
    }

    /// At the end of the file: puts the attributes of groups where they are named.
    pub(crate) fn finish_attributes(&mut self) {
        type Groups = SmallVec<[u32; 2]>;
        let mut headers: FxHashMap<(AttrList, Groups), (AttrList, HeaderAttrs)> =
            FxHashMap::default();
        let mut calls: FxHashMap<(AttrList, Groups), AttrList> = FxHashMap::default();
        for (function, place, attributes) in std::mem::take(&mut self.waiting_attributes) {
            let groups = attributes.groups.clone();
            match place {
                GroupPlace::Header => {
                    let before = self.module.functions[function].header.attributes;
                    let (list, found) = match headers.get(&(before, groups.clone())) {
                        Some(known) => *known,
                        None => {
                            let found = self.resolve_header_attrs(&attributes);
                            let resolved = (self.with_function_set(before, found.set), found);
                            headers.insert((before, groups), resolved);
                            resolved
                        }
                    };
                    let header = &mut self.module.functions[function].header;
                    header.attributes = list;
                    header.align = found.align.or(header.align);
                    header.section = found.section.or(header.section);
                }
                GroupPlace::Call(at) => {
                    let before =
                        self.module.functions[function].body.call_infos()[at as usize].attributes;
                    let list = match calls.get(&(before, groups.clone())) {
                        Some(known) => *known,
                        None => {
                            let set = self.resolve_fn_attrs(&attributes);
                            let list = self.with_function_set(before, set);
                            calls.insert((before, groups), list);
                            list
                        }
                    };
                    self.module.functions[function].body.call_infos_mut()[at as usize].attributes =
                        list;
                }
            }
        }
        for (variable, attributes) in std::mem::take(&mut self.globals.waiting_attributes) {
            self.module.variables[variable].attributes = self.resolve_fn_attrs(&attributes);
        }
    }

    fn with_function_set(&self, list: AttrList, function: AttrSet) -> AttrList {
        self.context
            .attr_list(&AttrListData { function, ..self.context.attr_list_data(list).clone() })
    }
}

/// Drops trailing empty sets.
pub(crate) fn trim(sets: &mut Vec<AttrSet>) {
    while sets.last() == Some(&AttrSet::EMPTY) {
        sets.pop();
    }
}

/// A declaration of this function type with nothing special about it; None when it is no function
/// type.
pub(crate) fn intrinsic(
    context: &Context,
    name: GlobalName,
    ty: Type,
    address_space: u32,
) -> Option<Function> {
    let (ret, params, vararg) = Function::split_type(context, ty)?;
    Some(declaration(FunctionHeader {
        name,
        ty,
        ret,
        params: params.into(),
        vararg,
        call_conv: CallConv::C,
        attributes: AttrList::EMPTY,
        linkage: Linkage::External,
        visibility: Visibility::Default,
        dll: DllStorage::Default,
        dso_local: None,
        unnamed_addr: UnnamedAddr::No,
        address_space,
        section: None,
        partition: None,
        comdat: None,
        align: None,
        gc: None,
        prefix: None,
        prologue: None,
        personality: None,
        metadata: Box::default(),
    }))
}

fn declaration(header: FunctionHeader) -> Function {
    Function {
        header,
        flow: phalanx_ir::Flow::new(),
        body: phalanx_ir::Body::new(),
        extras: phalanx_ir::Extras::default(),
        use_list_orders: Vec::new(),
    }
}
