//! Names of the values of one function.
//!
//! A table maps names and numbers to values and their types. A use before the definition makes a
//! placeholder: a [`Value`] with an instruction number that no function reaches. The definition
//! sets what the placeholder stands for. When the function is complete, the parser replaces
//! placeholders in operands. Blocks are numbered by first mention, and get their position in the
//! text at the end as well.
//!
//! The tables are reused for the next function. They are replaced when one function has made them
//! far larger than the next needs, so that clearing them costs no more than filling them did.

use std::borrow::Cow;

use phalanx_ir::{BlockId, InstId, Type, Value};

use super::state::locals::{Label, Local, PLACEHOLDERS, Placeholder, placeholder_number};
use super::{Parser, checks::is_first_class};
use crate::{
    error::PResult,
    lexer::{Token, TokenKind},
};

impl<'a> Parser<'a> {
    #[inline]
    fn find_local(&self, token: Token) -> Option<Local> {
        if token.kind == TokenKind::LocalId {
            return self.locals.numbered(token.number);
        }
        let (start, end) = name_place(token);
        self.locals.named.get(self.source, start, end)
    }

    fn set_local(&mut self, token: Token, local: Local) {
        match token.kind {
            TokenKind::LocalId | TokenKind::LabelId => {
                self.locals.set_numbered(token.number, local);
            }
            _ => {
                let (start, end) = name_place(token);
                self.locals.named.insert(self.source, start, end, local);
            }
        }
    }

    /// A use of a local value of this type, at its name.
    #[inline]
    pub(crate) fn parse_local(&mut self, ty: Type) -> PResult<Value> {
        let token = self.bump();
        match self.find_local(token) {
            Some(local) if local.ty == ty && ty != Type::LABEL => {
                self.func.has_placeholder |= placeholder_number(local.value).is_some();
                Ok(local.value)
            }
            known => self.unusual_local(token, ty, known),
        }
    }

    #[cold]
    fn unusual_local(&mut self, token: Token, ty: Type, known: Option<Local>) -> PResult<Value> {
        let name = String::from_utf8_lossy(self.text(token)).into_owned();
        if !self.in_function {
            return Err(self.error(
                token.span(),
                format!("`{name}` is local to a function and cannot be used here"),
            ));
        }
        if let Some(local) = known
            && local.ty != ty
        {
            let (found, wanted) = (self.type_name(local.ty), self.type_name(ty));
            let message = format!("`{name}` has type `{found}`, but `{wanted}` was expected");
            return Err(self.error(token.span(), message));
        }
        if ty == Type::LABEL || !is_first_class(self.context, ty) {
            let ty = self.type_name(ty);
            return Err(self.error(token.span(), format!("an operand cannot have type `{ty}`")));
        }
        let number = PLACEHOLDERS + self.locals.placeholders.len() as u32;
        self.locals.placeholders.push(Placeholder { mention: token, value: None });
        let value = Value::inst(InstId::from_raw(number.into()));
        self.set_local(token, Local { value, ty });
        self.func.has_placeholder = true;
        Ok(value)
    }

    /// A use of a block, at its name: its number among the labels.
    #[inline]
    pub(crate) fn parse_label_name(&mut self) -> PResult<u32> {
        if !matches!(self.kind(), TokenKind::Local | TokenKind::LocalId) {
            return Err(self.unexpected("the name of a block"));
        }
        let token = self.bump();
        match self.find_local(token) {
            Some(local) if local.ty == Type::LABEL => Ok(label_number(local)),
            Some(local) => {
                let name = String::from_utf8_lossy(self.text(token)).into_owned();
                let found = self.type_name(local.ty);
                let message = format!("`{name}` has type `{found}`, but a block was expected");
                Err(self.error(token.span(), message))
            }
            None => Ok(self.add_label(token, None)),
        }
    }

    /// The number among the labels of a block that has been mentioned or defined.
    pub(crate) fn find_label(&self, token: Token) -> Option<u32> {
        self.find_local(token).filter(|local| local.ty == Type::LABEL).map(label_number)
    }

    fn add_label(&mut self, mention: Token, block: Option<BlockId>) -> u32 {
        let number = self.locals.labels.len() as u32;
        self.locals.labels.push(Label { mention, block });
        let value = Value::block(BlockId::from_raw(number.into()));
        self.set_local(mention, Local { value, ty: Type::LABEL });
        number
    }

    /// Takes the next number, or the one written; numbers must rise.
    fn take_number(&mut self, token: Option<Token>, what: &str) -> PResult<u32> {
        let number = match token {
            Some(token) if token.number < self.locals.next_number => {
                let next = self.locals.next_number;
                return Err(self
                    .error(token.span(), format!("{what} must be numbered `%{next}` or greater")));
            }
            Some(token) => token.number,
            None => self.locals.next_number,
        };
        if number == u32::MAX {
            return Err(self.error(self.span(), "too many values without a name in this function"));
        }
        self.locals.next_number = number + 1;
        Ok(number)
    }

    /// Defines a value. Returns its name when it has one.
    #[inline]
    pub(crate) fn define_local(
        &mut self,
        name: Option<Token>,
        value: Value,
        ty: Type,
        what: &str,
    ) -> PResult<Option<Cow<'a, [u8]>>> {
        let local = Local { value, ty };
        let Some(token) = name.filter(|token| token.kind == TokenKind::Local) else {
            let number = self.take_number(name, what)?;
            // Numbers rise, so an existing entry for this number is a placeholder.
            if let Some(known) = self.locals.numbered(number) {
                let span = name.unwrap_or(self.token).span();
                self.settle(known, local, &format!("%{number}"), span)?;
                self.locals.sparse.remove(&number);
            }
            self.locals.set_numbered(number, local);
            return Ok(None);
        };
        let name = self.token_name(token);
        let (start, end) = name_place(token);
        if let Some(known) = self.locals.named.insert(self.source, start, end, local) {
            let text = String::from_utf8_lossy(self.text(token)).into_owned();
            self.settle(known, local, &text, token.span())?;
        }
        Ok(Some(name))
    }

    /// A definition meets what is known of its name, which must be a placeholder of the same type.
    #[cold]
    fn settle(&mut self, known: Local, local: Local, name: &str, span: crate::Span) -> PResult<()> {
        let Some(at) = placeholder_number(known.value) else {
            if known.ty == Type::LABEL
                && self.locals.labels[label_number(known) as usize].block.is_none()
            {
                let mention = self.locals.labels[label_number(known) as usize].mention.span();
                let message = format!("`{name}` was used as a block, but is defined as a value");
                return Err(self.error(span, message).with_note(Some(mention), "used here"));
            }
            return Err(self.error(span, format!("multiple definitions of local value `{name}`")));
        };
        if known.ty != local.ty {
            let mention = self.locals.placeholders[at].mention.span();
            let (used, found) = (self.type_name(known.ty), self.type_name(local.ty));
            let message = format!("`{name}` has type `{found}`, but was used with type `{used}`");
            return Err(self.error(span, message).with_note(Some(mention), "used here"));
        }
        self.locals.placeholders[at].value = Some(local.value);
        Ok(())
    }

    /// Defines the block that comes next in the text. Returns its name when it has one.
    pub(crate) fn define_label(
        &mut self,
        label: Option<Token>,
        block: BlockId,
    ) -> PResult<Option<Cow<'a, [u8]>>> {
        let (token, name) = match label {
            Some(token) if token.kind == TokenKind::Label => (token, Some(self.token_name(token))),
            _ => {
                let number = self.take_number(label, "this block")?;
                let token =
                    label.unwrap_or(Token { kind: TokenKind::LabelId, number, ..self.token });
                (token, None)
            }
        };
        let known = match &name {
            Some(_) => self.find_local(token),
            None => self.locals.numbered(token.number),
        };
        match known {
            None => {
                self.add_label(token, Some(block));
            }
            Some(local) if local.ty == Type::LABEL => {
                let entry = &mut self.locals.labels[label_number(local) as usize];
                if entry.block.replace(block).is_some() {
                    let text = self.label_text(token);
                    return Err(self.error(token.span(), format!("redefinition of block `{text}`")));
                }
            }
            Some(_) => {
                let text = self.label_text(token);
                let message = format!("`{text}` is a value and cannot be a block as well");
                return Err(self.error(token.span(), message));
            }
        }
        Ok(name)
    }

    fn label_text(&self, token: Token) -> String {
        match token.kind {
            TokenKind::Label => format!("%{}", String::from_utf8_lossy(&self.token_name(token))),
            _ => format!("%{}", token.number),
        }
    }

    /// At the end of a function: every value that is used is defined.
    pub(crate) fn check_locals(&self) -> PResult<()> {
        let values =
            self.locals.placeholders.iter().filter(|placeholder| placeholder.value.is_none());
        let labels = self.locals.labels.iter().filter(|label| label.block.is_none());
        let value =
            values.map(|placeholder| placeholder.mention).min_by_key(|mention| mention.start);
        let label = labels.map(|label| label.mention).min_by_key(|mention| mention.start);
        match (value, label) {
            (None, None) => Ok(()),
            (Some(value), label) if label.is_none_or(|label| value.start < label.start) => {
                let name = String::from_utf8_lossy(self.text(value)).into_owned();
                Err(self.error(value.span(), format!("use of undefined value `{name}`")))
            }
            (_, Some(label)) => Err(self.undefined_label(label)),
            (Some(_), None) => Ok(()),
        }
    }
}

/// Where the name of a local or a label is, quotes included.
fn name_place(token: Token) -> (u32, u32) {
    match token.kind {
        TokenKind::Label => (token.start, token.end - 1),
        _ => (token.start + 1, token.end),
    }
}

fn label_number(local: Local) -> u32 {
    local.value.as_block().map_or(0, |block| block.into_raw().into_u32())
}
