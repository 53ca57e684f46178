//! Metadata nodes, named metadata and attachments.
//!
//! Nodes may be mentioned before they are defined. A number gets its node at the first mention, and
//! the definition fills it. A number that is never defined is an error at its first mention,
//! reported at the end of the file. Nodes inside other nodes nest to any depth, on an explicit
//! stack of open nodes. `metadata_fields` reads the fields of specialised nodes by the schema of
//! their kind.

use phalanx_ir::{
    InstId, Symbol,
    metadata::{
        Attachment, Field, LocalMetadata, MetadataId, MetadataValue, NodeBuilder, NodeKind, kind,
    },
};
use rustc_hash::FxHashSet;

use super::state::metadata::{Frame, FrameState, Numbered};
use super::{Parser, keyword::Keyword};
use crate::{
    error::{PResult, Span},
    lexer::TokenKind,
};

/// What an operand turned out to be.
pub(super) enum Operand {
    Value(MetadataValue),
    /// A node that begins here and has to be read first.
    Open(Frame),
}

impl<'a> Parser<'a> {
    /// `!0 = ..`, at the exclamation mark.
    pub(crate) fn parse_standalone_metadata(&mut self) -> PResult<()> {
        self.expect(TokenKind::Exclaim)?;
        let number_span = self.span();
        let number = self.expect_u32()?;
        self.expect(TokenKind::Equal)?;
        let distinct = self.accept_word(b"distinct");
        let numbered = self.numbered(number, number_span);
        if numbered.defined {
            return Err(self.error(number_span, format!("metadata `!{number}` is defined twice")));
        }
        let target = Some(numbered.node);
        numbered.defined = true;
        let start = self.span().start;
        match self.kind() {
            TokenKind::MetadataVar => {
                let node_kind = self.parse_node_kind()?;
                if node_kind == NodeKind::Expression {
                    let elements = self.parse_expression_elements()?;
                    let mut builder = NodeBuilder::new(NodeKind::Expression, false);
                    elements.into_iter().for_each(|element| builder.push(element));
                    return self.define_node(builder, target, start).map(|_| ());
                }
                let frame = self.open_specialized(node_kind, distinct, target, start)?;
                self.parse_frames(frame).map(|_| ())
            }
            TokenKind::Exclaim => {
                self.bump();
                let frame = self.open_tuple(distinct, target, start)?;
                self.parse_frames(frame).map(|_| ())
            }
            _ => Err(self.unexpected("a metadata node: `!{` or `!DI..(`")),
        }
    }

    /// `!llvm.ident = !{!0, !1}`, at the name.
    pub(crate) fn parse_named_metadata(&mut self) -> PResult<()> {
        let token = self.expect(TokenKind::MetadataVar)?;
        let name = self.token_name(token);
        let name = self.symbol(&name);
        self.expect(TokenKind::Equal)?;
        self.expect(TokenKind::Exclaim)?;
        let open = self.expect(TokenKind::LBrace)?.span();
        let mut operands = Vec::new();
        if !self.accept(TokenKind::RBrace) {
            loop {
                operands.push(match self.kind() {
                    TokenKind::MetadataVar => {
                        let span = self.span();
                        if self.parse_node_kind()? != NodeKind::Expression {
                            return Err(self.error(
                                span,
                                "named metadata holds numbered nodes and expressions only",
                            ));
                        }
                        self.parse_expression()?
                    }
                    _ => {
                        self.expect(TokenKind::Exclaim)?;
                        self.parse_node_number()?
                    }
                });
                if !self.accept(TokenKind::Comma) {
                    break;
                }
            }
            self.close(TokenKind::RBrace, open)?;
        }
        self.module.metadata.add_named(name, &operands);
        Ok(())
    }

    /// `!dbg !7`, at the kind.
    pub(crate) fn parse_attachment(&mut self) -> PResult<Attachment> {
        let token = self.expect(TokenKind::MetadataVar)?;
        let kind = self.attachment_kind(&self.text(token)[1..]);
        let node = self.parse_metadata_node()?;
        Ok(Attachment { kind, node })
    }

    /// Of several attachments of one kind on an instruction, the last counts. They stand from
    /// `start` on.
    pub(crate) fn keep_last_of_each_kind(
        attachments: &mut Vec<(InstId, Attachment)>,
        start: usize,
    ) {
        const FEW: usize = 8;
        let run = &mut attachments[start..];
        let mut kept = run.len();
        let mut seen = FxHashSet::default();
        // From the last to the first; what is kept moves to the end.
        for at in (0..run.len()).rev() {
            let kind = run[at].1.kind;
            let is_repeated = if run.len() <= FEW {
                run[kept..].iter().any(|(_, later)| later.kind == kind)
            } else {
                !seen.insert(kind)
            };
            if !is_repeated {
                kept -= 1;
                run[kept] = run[at];
            }
        }
        attachments.drain(start..start + kept);
    }

    fn attachment_kind(&mut self, text: &[u8]) -> Symbol {
        if let Some(kind) = kind::fixed(text) {
            return kind;
        }
        let kind = self.symbol(&crate::lexer::unescape(text));
        self.module.metadata.use_kind(kind);
        kind
    }

    /// A node: `!7`, `!{..}`, `!DILocation(..)`.
    pub(crate) fn parse_metadata_node(&mut self) -> PResult<MetadataId> {
        let start = self.span().start;
        let operand = match self.kind() {
            TokenKind::MetadataVar => self.parse_specialized_operand()?,
            TokenKind::Exclaim => {
                self.bump();
                match self.kind() {
                    TokenKind::Int => return self.parse_node_number(),
                    TokenKind::LBrace => self.parse_tuple_operand(start)?,
                    _ => return Err(self.unexpected("a metadata node: `!0`, `!{` or `!DI..(`")),
                }
            }
            _ => return Err(self.unexpected("a metadata node")),
        };
        match operand {
            Operand::Value(value) => {
                Ok(value.as_node().expect("what is neither string nor constant is a node"))
            }
            Operand::Open(frame) => self.parse_frames(frame),
        }
    }

    /// What follows the type `metadata` in a call, or stands in a debug record.
    pub(crate) fn parse_metadata_as_value(&mut self) -> PResult<LocalMetadata> {
        match self.kind() {
            TokenKind::MetadataVar if self.text(self.token) == b"!DIArgList" => {
                self.parse_arg_list()
            }
            TokenKind::MetadataVar => self.parse_metadata_node().map(LocalMetadata::Node),
            TokenKind::Exclaim => {
                let start = self.bump().start;
                match self.kind() {
                    TokenKind::String => self.string_symbol().map(LocalMetadata::String),
                    TokenKind::Int => self.parse_node_number().map(LocalMetadata::Node),
                    TokenKind::LBrace => match self.parse_tuple_operand(start)? {
                        Operand::Value(value) => Ok(LocalMetadata::Node(
                            value.as_node().expect("an empty tuple is a node"),
                        )),
                        Operand::Open(frame) => self.parse_frames(frame).map(LocalMetadata::Node),
                    },
                    _ => Err(self.unexpected("metadata: `!0`, `!\"..\"`, `!{` or `!DI..(`")),
                }
            }
            _ if self.at_kw(Keyword::Null) => Err(self.unexpected("metadata or a typed value")),
            _ => {
                self.check_not_metadata()?;
                let (_, value) = self.parse_typed_value()?;
                Ok(LocalMetadata::Value(value))
            }
        }
    }

    /// `!DIArgList(i32 %a, i32 5)`
    fn parse_arg_list(&mut self) -> PResult<LocalMetadata> {
        if !self.in_function() {
            return Err(self.error(self.span(), "`!DIArgList` is for functions only"));
        }
        self.bump();
        let open = self.expect(TokenKind::LParen)?.span();
        let mut values = Vec::new();
        if !self.accept(TokenKind::RParen) {
            loop {
                if matches!(self.kind(), TokenKind::Exclaim | TokenKind::MetadataVar) {
                    return Err(self.unexpected("a typed value"));
                }
                self.check_not_metadata()?;
                let (_, value) = self.parse_typed_value()?;
                values.push(value);
                if !self.accept(TokenKind::Comma) {
                    break;
                }
            }
            self.close(TokenKind::RParen, open)?;
        }
        Ok(LocalMetadata::ArgList(values.into()))
    }

    /// A value is wanted; the type `metadata` has none that could be wrapped in metadata again.
    fn check_not_metadata(&self) -> PResult<()> {
        if self.at_kw(Keyword::Metadata) {
            let message = "`metadata` is the type of an argument; its value stands here alone";
            return Err(self.error(self.span(), message));
        }
        Ok(())
    }

    /// The end of the file: every node that is mentioned must be defined.
    pub(crate) fn finish_metadata(&mut self) -> PResult<()> {
        let state = &self.metadata;
        let dense =
            (0u32..).zip(&state.dense).filter_map(|(number, entry)| Some((number, (*entry)?)));
        let sparse = state.sparse.iter().map(|(&number, &entry)| (number, entry));
        let undefined = dense.chain(sparse).filter(|(_, entry)| !entry.defined);
        match undefined.min_by_key(|(number, entry)| (entry.first_use, *number)) {
            Some((number, entry)) => {
                Err(self.error(entry.first_use, format!("use of undefined metadata `!{number}`")))
            }
            None => {
                self.module.metadata.shrink_to_fit();
                Ok(())
            }
        }
    }

    /// The number of a node, at the number.
    pub(super) fn parse_node_number(&mut self) -> PResult<MetadataId> {
        let span = self.span();
        let number = self.expect_u32()?;
        Ok(self.numbered(number, span).node)
    }

    fn numbered(&mut self, number: u32, span: Span) -> &mut Numbered {
        let state = &mut self.metadata;
        let metadata = &mut self.module.metadata;
        let make = || Numbered { node: metadata.reserve(), first_use: span, defined: false };
        let at = number as usize;
        // A definition takes at least seven bytes, so in a usual file numbers are below this bound.
        if at < self.source.len() / 4 {
            if at >= state.dense.len() {
                state.dense.resize(at + 1, None);
            }
            state.dense[at].get_or_insert_with(make)
        } else {
            state.sparse.entry(number).or_insert_with(make)
        }
    }

    /// `!DILocation`: its kind.
    fn parse_node_kind(&mut self) -> PResult<NodeKind> {
        match NodeKind::from_text(&self.text(self.token)[1..]) {
            Some(kind) => {
                self.bump();
                Ok(kind)
            }
            None if self.text(self.token) == b"!DIArgList" => Err(self.error(
                self.span(),
                "`!DIArgList` stands alone, as an operand of a call or debug record",
            )),
            None => Err(self.unexpected("a kind of metadata node")),
        }
    }

    /// A specialised node or an expression, at its name.
    pub(super) fn parse_specialized_operand(&mut self) -> PResult<Operand> {
        let start = self.span().start;
        let kind = self.parse_node_kind()?;
        if kind == NodeKind::Expression {
            let node = self.parse_expression()?;
            return Ok(Operand::Value(MetadataValue::Node(node)));
        }
        self.open_specialized(kind, false, None, start).map(Operand::Open)
    }

    /// A tuple, after its exclamation mark.
    pub(super) fn parse_tuple_operand(&mut self, start: u32) -> PResult<Operand> {
        let frame = self.open_tuple(false, None, start)?;
        if !self.at(TokenKind::RBrace) {
            return Ok(Operand::Open(frame));
        }
        self.bump();
        let node = match self.metadata.empty {
            Some(node) => node,
            None => self.define_node(frame.builder, None, start)?,
        };
        self.metadata.empty = Some(node);
        Ok(Operand::Value(MetadataValue::Node(node)))
    }

    fn open_tuple(
        &mut self,
        distinct: bool,
        target: Option<MetadataId>,
        start: u32,
    ) -> PResult<Frame> {
        let open = self.expect(TokenKind::LBrace)?.span();
        let builder = NodeBuilder::new(NodeKind::Tuple, distinct);
        Ok(Frame { builder, target, start, open, state: FrameState::Element })
    }

    fn open_specialized(
        &mut self,
        kind: NodeKind,
        distinct: bool,
        target: Option<MetadataId>,
        start: u32,
    ) -> PResult<Frame> {
        let open = self.expect(TokenKind::LParen)?.span();
        let builder = NodeBuilder::new(kind, distinct);
        Ok(Frame { builder, target, start, open, state: FrameState::Field(0) })
    }

    /// Reads a node to its end, and all that open inside it.
    fn parse_frames(&mut self, first: Frame) -> PResult<MetadataId> {
        let mut frames = std::mem::take(&mut self.metadata.frames);
        frames.clear();
        frames.push(first);
        let mut is_first_item = true;
        loop {
            let frame = frames.last_mut().expect("a node is open");
            let close = match frame.state {
                FrameState::Element | FrameState::ListElement(_) => TokenKind::RBrace,
                FrameState::Field(_) => TokenKind::RParen,
            };
            let at_end = self.at(close);
            if at_end && is_first_item || !is_first_item && !self.accept(TokenKind::Comma) {
                let open = frame.open;
                self.close(close, open)?;
                if let FrameState::ListElement(place) = frame.state {
                    frame.state = FrameState::Field(place + 1);
                    is_first_item = false;
                    continue;
                }
                let frame = frames.pop().expect("a node is open");
                let node = self.define_node(frame.builder, frame.target, frame.start)?;
                let Some(outer) = frames.last_mut() else {
                    self.metadata.frames = frames;
                    return Ok(node);
                };
                outer.deliver(MetadataValue::Node(node));
                is_first_item = false;
                continue;
            }
            let operand = match frame.state {
                FrameState::Element | FrameState::ListElement(_) => {
                    self.parse_element().map(Some)?
                }
                FrameState::Field(likely) => self.parse_field(frame, likely)?,
            };
            is_first_item = match operand {
                Some(Operand::Value(value)) => {
                    frame.deliver(value);
                    false
                }
                Some(Operand::Open(inner)) => {
                    frames.push(inner);
                    true
                }
                // A list has opened.
                None => true,
            };
        }
    }

    /// An element of a tuple.
    pub(super) fn parse_element(&mut self) -> PResult<Operand> {
        match self.kind() {
            TokenKind::Exclaim => {
                let start = self.bump().start;
                match self.kind() {
                    TokenKind::Int => {
                        self.parse_node_number().map(MetadataValue::Node).map(Operand::Value)
                    }
                    TokenKind::String => {
                        self.string_symbol().map(MetadataValue::String).map(Operand::Value)
                    }
                    TokenKind::LBrace => self.parse_tuple_operand(start),
                    _ => Err(self.unexpected("metadata: `!0`, `!\"..\"`, `!{` or `!DI..(`")),
                }
            }
            TokenKind::MetadataVar => self.parse_specialized_operand(),
            TokenKind::Word if self.accept_kw(Keyword::Null) => {
                Ok(Operand::Value(MetadataValue::Null))
            }
            // What a type can begin with.
            TokenKind::Word
            | TokenKind::IntType
            | TokenKind::LBracket
            | TokenKind::Less
            | TokenKind::LBrace
            | TokenKind::Local
            | TokenKind::LocalId => {
                self.check_not_metadata()?;
                let (_, constant) = self.parse_typed_constant()?;
                Ok(Operand::Value(MetadataValue::Const(constant)))
            }
            _ => Err(self.unexpected("metadata")),
        }
    }

    fn define_node(
        &mut self,
        builder: NodeBuilder,
        target: Option<MetadataId>,
        start: u32,
    ) -> PResult<MetadataId> {
        if builder.kind() == NodeKind::Enumerator && self.is_negative_unsigned(&builder) {
            return Err(
                self.error(self.span_from(start), "an unsigned enumerator with a negative value")
            );
        }
        let id = target.unwrap_or_else(|| self.module.metadata.reserve());
        match self.module.metadata.define(id, builder) {
            Ok(()) => Ok(id),
            Err(message) => Err(self.error(self.span_from(start), message)),
        }
    }

    fn is_negative_unsigned(&self, enumerator: &NodeBuilder) -> bool {
        let is_negative = match enumerator.value(Field::Value) {
            Some(MetadataValue::Int(value)) => value < 0,
            Some(MetadataValue::BigInt(digits)) => self.context.bytes(digits).starts_with(b"-"),
            _ => false,
        };
        is_negative && enumerator.value(Field::IsUnsigned) == Some(MetadataValue::Int(1))
    }

    /// The elements of an expression as a node; equal expressions are one node.
    pub(super) fn parse_expression(&mut self) -> PResult<MetadataId> {
        let elements = self.parse_expression_elements()?;
        if let Some(&node) = self.metadata.expressions.get(&elements[..]) {
            return Ok(node);
        }
        let mut builder = NodeBuilder::new(NodeKind::Expression, false);
        elements.iter().for_each(|&element| builder.push(element));
        let node = self.define_node(builder, None, self.span().start)?;
        self.metadata.expressions.insert(elements.as_slice().into(), node);
        Ok(node)
    }

    /// Expects a closing bracket; `open` is where the opening one stands.
    pub(super) fn close(&mut self, kind: TokenKind, open: Span) -> PResult<()> {
        if self.accept(kind) {
            return Ok(());
        }
        let expected = if kind == TokenKind::RBrace { "`,` or `}`" } else { "`,` or `)`" };
        Err(self.unexpected(expected).with_note(Some(open), "the node opens here"))
    }
}
