//! Reads a file: its headings, entities of the module level in any order, and the checks at the
//! end.

use std::{sync::Arc, thread};

use phalanx_ir::{Context, Module, Symbol, data_layout::DataLayout};

use super::parsed::Parsed;
use super::state::types::AddressSpaces;
use super::{Parser, keyword::Keyword};
use crate::{
    age,
    error::{PResult, ParseError, Span},
    lexer::TokenKind,
    tokens::Tokens,
    upgrade::upgrade,
};

/// Reads a module of LLVM 22's textual IR.
///
/// Names, types and constants are interned in `context`; reading another version of the same text
/// into the same context gives equal functions where nothing changed. One pass, O(length) expected.
///
/// # Errors
/// The first thing that is wrong, with its place. Any bytes can be given.
///
/// # Example
/// ```
/// use std::sync::Arc;
/// let context = Arc::new(phalanx_ir::Context::new());
/// let parsed = phalanx_llvm::parse_module(context, b"define void @f() {\n  ret void\n}\n")?;
/// assert_eq!(parsed.module.functions.len(), 1);
/// # Ok::<(), phalanx_llvm::ParseError>(())
/// ```
pub fn parse_module(context: Arc<Context>, source: &[u8]) -> Result<Parsed, ParseError> {
    parse_module_for(context, source, &|_| None)
}

/// As [`parse_module`]. If the text states no data layout, the module gets the one that `layout`
/// returns for its triple, as in LLVM's `opt`. The layout has to be known while the text is read:
/// it determines the address space of functions.
///
/// # Errors
/// As [`parse_module`].
pub fn parse_module_for(
    context: Arc<Context>,
    source: &[u8],
    layout: &dyn Fn(&str) -> Option<&'static str>,
) -> Result<Parsed, ParseError> {
    parse_module_in_threads(context, source, layout, 1)
}

/// As [`parse_module_for`], in at most so many threads, of which two are of use so far: one cuts
/// the text into tokens. The module does not depend on it, nor does the error.
///
/// # Errors
/// As [`parse_module`].
pub fn parse_module_in_threads(
    context: Arc<Context>,
    source: &[u8],
    layout: &dyn Fn(&str) -> Option<&'static str>,
    threads: usize,
) -> Result<Parsed, ParseError> {
    if u32::try_from(source.len()).is_err() {
        return Err(ParseError::new(Span::default(), "a source must be shorter than 4 GiB"));
    }
    if threads < 2 || source.len() < SHORT {
        return parse_tokens(context, source, layout, Tokens::new(source));
    }
    thread::scope(|scope| parse_tokens(context, source, layout, Tokens::ahead(source, scope)))
}

/// A shorter text is read sooner by one thread than two have begun.
const SHORT: usize = 1 << 17;

fn parse_tokens(
    context: Arc<Context>,
    source: &[u8],
    layout: &dyn Fn(&str) -> Option<&'static str>,
    tokens: Tokens<'_>,
) -> Result<Parsed, ParseError> {
    let shared = Arc::clone(&context);
    let mut parser = Parser::new(&shared, Module::new(context), source, tokens);
    let parsed = parser.parse_file(layout).and_then(|()| {
        let written = parser.globals.written_functions;
        let mut parsed = parser.into_parsed();
        upgrade(&mut parsed, written)?;
        Ok(parsed)
    });
    parsed.map_err(|mut error| {
        error.notes.extend(age::note(source, &error));
        *error
    })
}

impl Parser<'_> {
    fn parse_file(&mut self, layout: &dyn Fn(&str) -> Option<&'static str>) -> PResult<()> {
        // Headings come first, since the rest of the file may depend on them.
        while matches!(self.token.keyword, Keyword::Target | Keyword::SourceFilename) {
            self.parse_heading()?;
        }
        self.infer_layout(layout)?;
        while !self.at(TokenKind::Eof) {
            self.parse_entity()?;
        }
        self.finish_types()?;
        self.finish_globals()?;
        self.finish_metadata()?;
        self.finish_attributes();
        Ok(())
    }

    fn parse_entity(&mut self) -> PResult<()> {
        match self.kind() {
            TokenKind::Local | TokenKind::LocalId => return self.parse_type_definition(),
            TokenKind::Global | TokenKind::GlobalId => return self.parse_global(),
            TokenKind::ComdatVar => return self.parse_comdat(),
            TokenKind::Exclaim => return self.parse_standalone_metadata(),
            TokenKind::MetadataVar => return self.parse_named_metadata(),
            TokenKind::Summary => return self.parse_summary_entry(),
            _ => {}
        }
        match self.token.keyword {
            Keyword::Define => self.parse_definition(),
            Keyword::Declare => self.parse_declaration(),
            Keyword::Attributes => self.parse_attribute_group(),
            Keyword::Target | Keyword::SourceFilename => {
                let what =
                    format!("`{}` must come before everything else", self.token.keyword.text());
                Err(self.error(self.span(), what))
            }
            Keyword::Module => {
                self.bump();
                self.expect_kw(Keyword::Asm)?;
                let line = self.string_symbol()?;
                self.module.module_asm.push(line);
                Ok(())
            }
            Keyword::UseListOrder => self.parse_module_use_list_order(),
            Keyword::UseListOrderBb => self.parse_block_use_list_order(),
            _ => Err(self.unexpected(
                "a top-level entity: a function, global, type, metadata or attribute group",
            )),
        }
    }

    /// `target ...` or `source_filename = ...`
    fn parse_heading(&mut self) -> PResult<()> {
        if self.token.keyword == Keyword::Target {
            return self.parse_target_line();
        }
        self.bump();
        self.expect(TokenKind::Equal)?;
        self.module.source_filename = Some(self.string_symbol()?);
        Ok(())
    }

    fn parse_target_line(&mut self) -> PResult<()> {
        self.bump();
        if self.accept_kw(Keyword::Triple) {
            self.expect(TokenKind::Equal)?;
            self.module.triple = Some(self.string_symbol()?);
        } else if self.accept_kw(Keyword::DataLayout) {
            self.expect(TokenKind::Equal)?;
            let span = self.span();
            let layout = self.string_symbol()?;
            self.set_layout(layout, span)?;
        } else {
            return Err(self.unexpected("`triple` or `datalayout`"));
        }
        Ok(())
    }

    /// Gives the module the layout of its triple, unless it states one.
    fn infer_layout(&mut self, layout: &dyn Fn(&str) -> Option<&'static str>) -> PResult<()> {
        if self.module.data_layout.is_some_and(|stated| !self.context.bytes(stated).is_empty()) {
            return Ok(());
        }
        let triple = self.module.triple.map(|triple| self.context.text(triple));
        match layout(&triple.unwrap_or_default()) {
            Some(layout) => self.set_layout(self.symbol(layout.as_bytes()), self.span()),
            None => Ok(()),
        }
    }

    fn set_layout(&mut self, layout: Symbol, span: Span) -> PResult<()> {
        let text = String::from_utf8_lossy(self.context.bytes(layout));
        // The address spaces of `alloca`, globals and functions have names: `A5`, `G1`, `P3`.
        let parsed =
            DataLayout::parse(&text).map_err(|error| self.error(span, error.to_string()))?;
        self.module.data_layout = Some(layout);
        self.types.address_spaces = AddressSpaces {
            alloca: parsed.alloca_space(),
            globals: parsed.global_space(),
            program: parsed.program_space(),
            named: parsed.space_names().map(|(n, space)| (n.as_bytes().into(), space)).collect(),
        };
        Ok(())
    }

    /// `^7 = ..`, carried as text: everything up to where its brackets are closed again.
    fn parse_summary_entry(&mut self) -> PResult<()> {
        let start = self.bump().start;
        self.expect(TokenKind::Equal)?;
        const KINDS: [&[u8]; 6] =
            [b"gv", b"module", b"typeid", b"typeidCompatibleVTable", b"flags", b"blockcount"];
        let kind = self.label_name();
        if !kind.as_deref().is_some_and(|kind| KINDS.contains(&kind)) {
            return Err(self.unexpected("a kind of summary: `gv`, `module`, `typeid` .."));
        }
        let is_global = kind.as_deref() == Some(b"gv");
        let (mut depth, mut closed) = (0usize, false);
        while !closed {
            if is_global && depth == 1 && self.label_name().as_deref() == Some(b"name") {
                self.bump();
                let span = self.span();
                let name = self.string_symbol()?;
                self.globals.summarized.push((name, span));
                continue;
            }
            match self.kind() {
                TokenKind::LParen => depth += 1,
                TokenKind::RParen if depth > 0 => {
                    depth -= 1;
                    closed = depth == 0;
                }
                TokenKind::RParen | TokenKind::Eof | TokenKind::Error => {
                    return Err(self.unexpected("the end of a summary entry"));
                }
                // `^8 = flags: 8` and `^9 = blockcount: 1` have no brackets.
                TokenKind::Int if depth == 0 => closed = true,
                _ => {}
            }
            self.bump();
        }
        let span = self.span_from(start);
        let line = self.symbol(&self.source[span.start as usize..span.end as usize]);
        self.module.summary.push(line);
        Ok(())
    }
}
