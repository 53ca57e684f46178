//! Fields of specialised metadata nodes, after the schema of their kind; elements of expressions.

use phalanx_ir::{
    Const,
    constant::{ConstKind, Int},
    metadata::{Field, FieldType, MetadataValue, NameTable},
};
use smallvec::SmallVec;

use super::{
    IntLiteral, Parser,
    keyword::Keyword,
    metadata::Operand,
    state::metadata::{Frame, FrameState},
};
use crate::{
    error::{PResult, Span},
    lexer::TokenKind,
};

impl<'a> Parser<'a> {
    /// `name: value`. None when the value is a list, which has been opened.
    ///
    /// The field at the likely place is tried first: fields are mostly written in the order of the
    /// schema.
    pub(super) fn parse_field(
        &mut self,
        frame: &mut Frame,
        likely: usize,
    ) -> PResult<Option<Operand>> {
        let Some(name) = self.label_name() else {
            return Err(self
                .unexpected("the name of a field")
                .with_note(Some(frame.open), "the node opens here"));
        };
        let kind = frame.builder.kind();
        let fields = kind.fields();
        let places = (likely..fields.len()).chain(0..likely.min(fields.len()));
        let Some(place) =
            places.into_iter().find(|&place| fields[place].name.text().as_bytes() == &*name)
        else {
            let name = String::from_utf8_lossy(&name);
            let error =
                self.error(self.span(), format!("a `!{}` has no field `{name}`", kind.text()));
            let known: Vec<_> = fields.iter().map(|field| field.name.text()).collect();
            return Err(match known[..] {
                [] => error,
                _ => error.with_note(None, format!("fields are {}", known.join(", "))),
            });
        };
        if frame.builder.has(place) {
            let name = fields[place].name.text();
            return Err(self.error(self.span(), format!("field `{name}` is given twice")));
        }
        self.bump();
        if fields[place].ty == FieldType::List {
            frame.open = self.expect(TokenKind::LBrace)?.span();
            frame.builder.mark(place);
            frame.state = FrameState::ListElement(place);
            return Ok(None);
        }
        frame.state = FrameState::Field(place);
        self.parse_field_value(fields[place].name, fields[place].ty).map(Some)
    }

    fn parse_field_value(&mut self, field: Field, ty: FieldType) -> PResult<Operand> {
        let value = match ty {
            FieldType::Uint(limit) => self.parse_uint(field, limit)?,
            FieldType::Int(low, high) => self.parse_int_field(field, low, high)?,
            FieldType::BigInt => {
                let literal = self.int_literal()?;
                self.big_int(literal)?
            }
            FieldType::Bool if self.accept_kw(Keyword::True) => MetadataValue::Int(1),
            FieldType::Bool if self.accept_kw(Keyword::False) => MetadataValue::Int(0),
            FieldType::Bool => return Err(self.unexpected("`true` or `false`")),
            FieldType::String => MetadataValue::String(self.string_symbol()?),
            FieldType::NonEmptyString => {
                let span = self.span();
                let string = self.string()?;
                if string.is_empty() {
                    return Err(self.error(span, format!("`{}` must not be empty", field.text())));
                }
                MetadataValue::String(self.symbol(&string))
            }
            FieldType::Named(table, limit) => self.parse_named(field, table, limit)?,
            FieldType::Mask(table) => self.parse_mask(field, table)?,
            FieldType::NodeOrUint if self.at_int() => self.parse_uint(field, u64::MAX)?,
            FieldType::NodeOrInt | FieldType::NodeOrExpression | FieldType::NodeOrI64
                if self.at_int() =>
            {
                let number = self.parse_int_field(field, i64::MIN, i64::MAX)?;
                match (ty, number.as_int(self.context)) {
                    (FieldType::NodeOrI64, Some(number)) => MetadataValue::Const(
                        self.context.int_const(phalanx_ir::Type::I64, number as u64),
                    ),
                    _ => number,
                }
            }
            FieldType::NonNullNodeOrInt(low) if self.at_int() => {
                self.parse_int_field(field, low, i64::MAX)?
            }
            FieldType::NonNullNode | FieldType::NonNullNodeOrInt(_)
                if self.at_kw(Keyword::Null) =>
            {
                return Err(self.error(self.span(), format!("`{}` must not be null", field.text())));
            }
            FieldType::Node
            | FieldType::NonNullNode
            | FieldType::NodeOrUint
            | FieldType::NodeOrInt
            | FieldType::NonNullNodeOrInt(_)
            | FieldType::NodeOrExpression
            | FieldType::NodeOrI64
            | FieldType::List => return self.parse_node_field(ty),
        };
        Ok(Operand::Value(value))
    }

    fn at_int(&self) -> bool {
        matches!(self.kind(), TokenKind::Int | TokenKind::HexInt)
    }

    /// Any metadata. Where a constant counts as its number, that number.
    fn parse_node_field(&mut self, ty: FieldType) -> PResult<Operand> {
        let operand = self.parse_element()?;
        if let Operand::Value(MetadataValue::Const(constant)) = operand
            && let Some(number) = self.number_of(constant, ty)
        {
            return Ok(Operand::Value(MetadataValue::int(self.context, number)));
        }
        Ok(operand)
    }

    fn number_of(&self, constant: Const, ty: FieldType) -> Option<i128> {
        let data = self.context.const_data(constant);
        let (ConstKind::Int(Int::Small(value)), &phalanx_ir::TypeKind::Int(bits)) =
            (&data.kind, self.context.type_kind(data.ty))
        else {
            return None;
        };
        match ty {
            FieldType::NodeOrUint => Some((*value).into()),
            FieldType::NodeOrInt | FieldType::NonNullNodeOrInt(_) => {
                let unused = 64 - bits.min(64);
                Some(i128::from((value << unused) as i64 >> unused))
            }
            _ => None,
        }
    }

    #[cold]
    fn limit_error(
        &self,
        span: Span,
        field: Field,
        limit: &str,
        is_low: bool,
    ) -> Box<crate::ParseError> {
        let (too, end) = if is_low { ("small", "from") } else { ("large", "up to") };
        self.error(
            span,
            format!("value for `{}` is too {too}: it goes {end} {limit}", field.text()),
        )
    }

    fn parse_uint(&mut self, field: Field, limit: u64) -> PResult<MetadataValue> {
        if !self.at_int() || self.int_of(self.token).is_signed() {
            return Err(self.unexpected("an unsigned integer"));
        }
        let literal = self.int_literal()?;
        match literal.to_u64() {
            Some(value) if value <= limit => Ok(MetadataValue::int(self.context, value.into())),
            _ => Err(self.limit_error(literal.span, field, &limit.to_string(), false)),
        }
    }

    fn parse_int_field(&mut self, field: Field, low: i64, high: i64) -> PResult<MetadataValue> {
        let literal = self.int_literal()?;
        match literal.to_i64() {
            Some(value) if value < low => {
                Err(self.limit_error(literal.span, field, &low.to_string(), true))
            }
            Some(value) if value <= high => Ok(MetadataValue::int(self.context, value.into())),
            None if literal.is_signed() => {
                Err(self.limit_error(literal.span, field, &low.to_string(), true))
            }
            _ => Err(self.limit_error(literal.span, field, &high.to_string(), false)),
        }
    }

    /// An integer of any length; of at most 124 bits when it is hexadecimal.
    fn big_int(&self, literal: IntLiteral<'a>) -> PResult<MetadataValue> {
        if let Some(value) = literal.to_i64() {
            return Ok(MetadataValue::int(self.context, value.into()));
        }
        let text = &self.source[literal.span.start as usize..literal.span.end as usize];
        if text[1..].starts_with(b"0x") {
            let digits =
                text.len() - 3 - text[3..].iter().take_while(|&&digit| digit == b'0').count();
            if digits > 31 {
                return Err(self.error(literal.span, "a hexadecimal number of more than 124 bits"));
            }
            let value = literal
                .to_int(128)
                .words()
                .iter()
                .rev()
                .fold(0u128, |v, &word| v << 64 | u128::from(word));
            return Ok(MetadataValue::int(self.context, value as i128));
        }
        let (sign, digits) = match text {
            [b'-', digits @ ..] => (&b"-"[..], digits),
            digits => (&b""[..], digits),
        };
        let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
        Ok(MetadataValue::BigInt(self.symbol(&[sign, &digits[zeros..]].concat())))
    }

    /// A name of a table, or a number.
    fn parse_named(
        &mut self,
        field: Field,
        table: NameTable,
        limit: u32,
    ) -> PResult<MetadataValue> {
        if let Some(number) = self.parse_table_name(table)? {
            return Ok(MetadataValue::Int(number.into()));
        }
        if self.at_int() && limit > 0 {
            return self.parse_uint(field, limit.into());
        }
        Err(self.expected_name(table))
    }

    /// The number that the current word names. None when it is no word of this table's form.
    fn parse_table_name(&mut self, table: NameTable) -> PResult<Option<u32>> {
        let Some(word) = self.word().filter(|word| word.starts_with(table.prefix().as_bytes()))
        else {
            return Ok(None);
        };
        match table.number(word) {
            Some(number) => {
                self.bump();
                Ok(Some(number))
            }
            None => Err(self.expected_name(table)),
        }
    }

    #[cold]
    fn expected_name(&self, table: NameTable) -> Box<crate::ParseError> {
        const FEW: usize = 5;
        let what = match table {
            NameTable::Tag => "a DWARF tag",
            NameTable::Encoding => "a DWARF type encoding",
            NameTable::Language => "a DWARF language",
            NameTable::LanguageName => "a DWARF language name",
            NameTable::CallingConvention => "a DWARF calling convention",
            NameTable::Virtuality => "a DWARF virtuality code",
            NameTable::Macinfo => "a DWARF macro type",
            NameTable::EnumKind => "a kind of enumeration",
            NameTable::Operation => "a DWARF operation",
            NameTable::ChecksumKind => "a kind of checksum",
            NameTable::EmissionKind => "an emission kind",
            NameTable::NameTableKind => "a kind of name table",
            NameTable::FixedPointKind => "a kind of fixed-point type",
            NameTable::Flag => "a debug-info flag",
            NameTable::SubprogramFlag => "a subprogram flag",
        };
        if table.entries().len() <= FEW {
            return self.expected_one_of(what, table.entries().iter().map(|entry| entry.0));
        }
        self.unexpected(&format!("{what} (`{}..`)", table.prefix()))
    }

    /// Names of bits, or numbers, joined by `|`.
    fn parse_mask(&mut self, field: Field, table: NameTable) -> PResult<MetadataValue> {
        let mut mask = 0;
        loop {
            mask |= match self.parse_table_name(table)? {
                Some(bits) => i64::from(bits),
                None if self.at_int() => match self.parse_uint(field, u32::MAX.into())? {
                    MetadataValue::Int(bits) => bits,
                    _ => 0,
                },
                None => return Err(self.expected_name(table)),
            };
            if !self.accept(TokenKind::Bar) {
                return Ok(MetadataValue::Int(mask));
            }
        }
    }

    /// `(DW_OP_plus_uconst, 8)`: what an expression is made of.
    pub(super) fn parse_expression_elements(&mut self) -> PResult<SmallVec<[MetadataValue; 8]>> {
        let open = self.expect(TokenKind::LParen)?.span();
        let mut elements = SmallVec::new();
        if self.accept(TokenKind::RParen) {
            return Ok(elements);
        }
        loop {
            let element = if let Some(operation) = self.parse_table_name(NameTable::Operation)? {
                MetadataValue::Operation(operation)
            } else if let Some(encoding) = self.parse_table_name(NameTable::Encoding)? {
                MetadataValue::Encoding(encoding)
            } else if self.at_int() && !self.int_of(self.token).is_signed() {
                let value = self.expect_u64()?;
                MetadataValue::int(self.context, value.into())
            } else {
                return Err(
                    self.unexpected("a DWARF operation (`DW_OP_..`) or an unsigned integer")
                );
            };
            elements.push(element);
            if !self.accept(TokenKind::Comma) {
                break;
            }
        }
        self.close(TokenKind::RParen, open)?;
        Ok(elements)
    }
}
