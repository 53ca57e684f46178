//! The parser: a cursor with one token of look-ahead, and the module that it builds.
//!
//! O(1) for each token.

use std::borrow::Cow;

use phalanx_ir::{Context, Module, Symbol, Type, Value};

use super::keyword::Keyword;
use super::parsed::Parsed;
use super::state::attributes::{self, FnAttrs, GroupPlace};
use super::state::{constants, function, globals, locals, metadata, types, uses};
use crate::{
    error::{PResult, ParseError, Span},
    lexer::{Token, TokenKind, unescape},
    source_map::SourceMap,
    tokens::Tokens,
};

/// A cursor over tokens, and the module that it builds.
pub(crate) struct Parser<'a> {
    tokens: Tokens<'a>,
    /// The current token.
    pub(crate) token: Token,
    /// Where the token before the current one ended.
    pub(super) previous_end: u32,
    /// The text.
    pub(crate) source: &'a [u8],
    /// Where types, constants and names are interned.
    pub(crate) context: &'a Context,
    /// The module so far.
    pub(crate) module: Module,
    /// Places of all entities in the text.
    pub(crate) source_map: SourceMap,
    /// Types by name.
    pub(super) types: types::TypeState<'a>,
    /// Constants seen before.
    pub(super) constants: constants::ConstantState,
    /// Names of the module level.
    pub(super) globals: globals::GlobalState<'a>,
    /// Names of the current function.
    pub(super) locals: locals::Locals,
    /// The current function.
    pub(super) func: function::FunctionState,
    /// Whether a body is being read.
    pub(super) in_function: bool,
    /// The current call.
    pub(super) calls: function::CallScratch,
    /// Function types of calls, for the ones to come.
    pub(super) function_types: function::FunctionTypes,
    /// Blocks of the current phi.
    pub(super) phi_blocks: Vec<Value>,
    /// Types of the operands of the current `getelementptr`.
    pub(super) gep_types: Vec<Type>,
    /// Functions and calls with attributes that name groups.
    pub(super) waiting_attributes: Vec<(usize, GroupPlace, FnAttrs)>,
    /// Attribute groups.
    pub(super) attributes: attributes::AttributeState,
    /// Metadata nodes by number.
    pub(super) metadata: metadata::MetadataState,
    /// Counts of the uses that use-list orders refer to.
    pub(super) uses: uses::UseState<'a>,
}

impl<'a> Parser<'a> {
    /// Before the first token of a source, whose tokens these are.
    pub(super) fn new(
        context: &'a Context,
        module: Module,
        source: &'a [u8],
        mut tokens: Tokens<'a>,
    ) -> Self {
        let token = tokens.next();
        Parser {
            tokens,
            token,
            previous_end: 0,
            source,
            context,
            module,
            source_map: SourceMap::default(),
            types: types::TypeState::default(),
            constants: constants::ConstantState::default(),
            globals: globals::GlobalState::default(),
            locals: locals::Locals::default(),
            func: function::FunctionState::default(),
            in_function: false,
            calls: function::CallScratch::default(),
            function_types: function::FunctionTypes::default(),
            phi_blocks: Vec::new(),
            gep_types: Vec::new(),
            waiting_attributes: Vec::new(),
            attributes: attributes::AttributeState::default(),
            metadata: metadata::MetadataState::default(),
            uses: uses::UseState::new(context),
        }
    }

    pub(super) fn into_parsed(self) -> Parsed {
        Parsed { module: self.module, source_map: self.source_map }
    }

    /// Whether the body of a function is being read, so that local names have a meaning.
    pub(crate) fn in_function(&self) -> bool {
        self.in_function
    }

    /// What the current token is.
    #[inline]
    pub(crate) fn kind(&self) -> TokenKind {
        self.token.kind
    }

    /// Whether the current token is of this kind.
    #[inline]
    pub(crate) fn at(&self, kind: TokenKind) -> bool {
        self.token.kind == kind
    }

    /// Goes to the next token and returns the one left.
    #[inline]
    pub(crate) fn bump(&mut self) -> Token {
        let token = self.token;
        self.previous_end = token.end;
        self.token = self.tokens.next();
        token
    }

    /// Goes past the current token if it is of this kind.
    #[inline]
    pub(crate) fn accept(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    /// Goes past the current token, which must be of this kind.
    #[inline]
    pub(crate) fn expect(&mut self, kind: TokenKind) -> PResult<Token> {
        if self.at(kind) { Ok(self.bump()) } else { Err(self.unexpected(describe(kind))) }
    }

    /// Whether the current token is this word.
    #[inline]
    pub(crate) fn at_kw(&self, keyword: Keyword) -> bool {
        self.token.keyword == keyword
    }

    /// Goes past the current token if it is this word.
    #[inline]
    pub(crate) fn accept_kw(&mut self, keyword: Keyword) -> bool {
        let found = self.at_kw(keyword);
        if found {
            self.bump();
        }
        found
    }

    /// Goes past the current token, which must be this word.
    #[inline]
    pub(crate) fn expect_kw(&mut self, keyword: Keyword) -> PResult<Token> {
        if self.at_kw(keyword) {
            Ok(self.bump())
        } else {
            Err(self.unexpected(&format!("`{}`", keyword.text())))
        }
    }

    /// The bytes of the current token if it is a bare word.
    #[inline]
    pub(crate) fn word(&self) -> Option<&'a [u8]> {
        matches!(self.kind(), TokenKind::Word | TokenKind::IntType).then(|| self.text(self.token))
    }

    /// Whether the current token is this bare word.
    pub(crate) fn at_word(&self, word: &[u8]) -> bool {
        self.word() == Some(word)
    }

    /// Goes past the current token if it is this bare word.
    pub(crate) fn accept_word(&mut self, word: &[u8]) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    /// Goes past the current token, which must be this bare word.
    pub(crate) fn expect_word(&mut self, word: &str) -> PResult<Token> {
        if self.at_word(word.as_bytes()) {
            Ok(self.bump())
        } else {
            Err(self.unexpected(&format!("`{word}`")))
        }
    }

    /// The bytes of a token.
    #[inline]
    pub(crate) fn text(&self, token: Token) -> &'a [u8] {
        &self.source[token.start as usize..token.end as usize]
    }

    /// The name that a label, variable, comdat, metadata or string token holds, without marks,
    /// quotes and escapes.
    pub(crate) fn token_name(&self, token: Token) -> Cow<'a, [u8]> {
        use TokenKind as K;
        let text = self.text(token);
        let text = match token.kind {
            K::Label => &text[..text.len() - 1],
            K::Local | K::Global | K::ComdatVar | K::MetadataVar => &text[1..],
            _ => text,
        };
        match text {
            [b'"', inside @ .., b'"'] => unescape(inside),
            _ if token.kind == K::MetadataVar => unescape(text),
            _ => Cow::Borrowed(text),
        }
    }

    /// The name of the current token if it is a label (`name:`).
    pub(crate) fn label_name(&self) -> Option<Cow<'a, [u8]>> {
        self.at(TokenKind::Label).then(|| self.token_name(self.token))
    }

    /// The place of the current token.
    pub(crate) fn span(&self) -> Span {
        self.token.span()
    }

    /// From an offset to the end of the last token passed.
    pub(crate) fn span_from(&self, start: u32) -> Span {
        Span::new(start, self.previous_end.max(start))
    }

    /// Expects a string and returns what it means.
    pub(crate) fn string(&mut self) -> PResult<Cow<'a, [u8]>> {
        let token = self.expect(TokenKind::String)?;
        Ok(self.token_name(token))
    }

    /// Expects a string and interns what it means.
    pub(crate) fn string_symbol(&mut self) -> PResult<Symbol> {
        let bytes = self.string()?;
        Ok(self.symbol(&bytes))
    }

    /// Interns a byte string.
    pub(crate) fn symbol(&self, bytes: &[u8]) -> Symbol {
        self.context.symbol(bytes)
    }

    /// An error about a place.
    #[cold]
    pub(crate) fn error(&self, span: Span, message: impl Into<String>) -> Box<ParseError> {
        Box::new(ParseError::new(span, message))
    }

    /// An error that says what was wanted and what is there instead.
    #[cold]
    pub(crate) fn unexpected(&self, expected: &str) -> Box<ParseError> {
        if self.at(TokenKind::Error)
            && let Some(error) = self.tokens.error()
        {
            return error;
        }
        self.error(self.span(), format!("expected {expected}, found {}", self.found()))
    }

    /// The current token, for messages.
    pub(crate) fn found(&self) -> String {
        if self.at(TokenKind::Eof) {
            return "the end of the file".to_string();
        }
        let text = self.text(self.token);
        let text = String::from_utf8_lossy(&text[..text.len().min(60)]);
        if text.contains(['\n', '`']) {
            describe(self.kind()).to_string()
        } else {
            format!("`{text}`")
        }
    }
}

/// A kind of token, for messages.
fn describe(kind: TokenKind) -> &'static str {
    use TokenKind as K;
    match kind {
        K::Eof => "the end of the file",
        K::Error => "a token",
        K::Equal => "`=`",
        K::Comma => "`,`",
        K::Star => "`*`",
        K::LParen => "`(`",
        K::RParen => "`)`",
        K::LBrace => "`{`",
        K::RBrace => "`}`",
        K::LBracket => "`[`",
        K::RBracket => "`]`",
        K::Less => "`<`",
        K::Greater => "`>`",
        K::Bar => "`|`",
        K::Colon => "`:`",
        K::Ellipsis => "`...`",
        K::Exclaim => "`!`",
        K::Hash => "`#`",
        K::Word => "a word",
        K::IntType => "an integer type",
        K::Label | K::LabelId => "a label",
        K::String => "a string",
        K::Local | K::LocalId => "a local name",
        K::Global | K::GlobalId => "a global name",
        K::ComdatVar => "the name of a comdat",
        K::MetadataVar => "a metadata name",
        K::AttrGroup => "an attribute group",
        K::Summary => "a summary entry",
        K::Int | K::HexInt => "an integer",
        K::Float | K::HexFloat => "a floating-point number",
    }
}
