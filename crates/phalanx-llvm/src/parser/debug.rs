//! Debug records: what `#dbg_value(..)` and its like say between instructions.

use phalanx_ir::metadata::{
    DebugAssign, DebugRecord, DebugVariable, DebugVariableKind, MetadataId,
};

use super::Parser;
use crate::{error::PResult, lexer::TokenKind};

impl Parser<'_> {
    /// A whole record, at the `#`.
    pub(crate) fn parse_debug_record(&mut self) -> PResult<DebugRecord> {
        self.expect(TokenKind::Hash)?;
        let name = self.word().and_then(|word| word.strip_prefix(b"dbg_")).unwrap_or_default();
        let variable_kind = DebugVariableKind::from_text(name);
        if variable_kind.is_none() && !matches!(name, b"assign" | b"label") {
            let names =
                ["dbg_value", "dbg_declare", "dbg_declare_value", "dbg_assign", "dbg_label"];
            return Err(self.expected_one_of("a kind of debug record", names.into_iter()));
        }
        let is_label = name == b"label";
        self.bump();
        let open = self.expect(TokenKind::LParen)?.span();
        let record = if is_label {
            DebugRecord::Label {
                label: self.parse_record_node()?,
                location: self.parse_metadata_node()?,
            }
        } else {
            let value = self.parse_metadata_as_value()?;
            self.expect(TokenKind::Comma)?;
            let variable = self.parse_record_node()?;
            let expression = self.parse_record_node()?;
            match variable_kind {
                Some(kind) => {
                    let location = self.parse_metadata_node()?;
                    DebugRecord::Variable(DebugVariable {
                        kind,
                        value,
                        variable,
                        expression,
                        location,
                    })
                }
                None => {
                    let id = self.parse_record_node()?;
                    let address = self.parse_metadata_as_value()?;
                    self.expect(TokenKind::Comma)?;
                    let address_expression = self.parse_record_node()?;
                    let location = self.parse_metadata_node()?;
                    DebugRecord::Assign(Box::new(DebugAssign {
                        value,
                        variable,
                        expression,
                        id,
                        address,
                        address_expression,
                        location,
                    }))
                }
            }
        };
        if !self.accept(TokenKind::RParen) {
            return Err(self.unexpected("`)`").with_note(Some(open), "the record opens here"));
        }
        Ok(record)
    }

    /// A node and the comma after it.
    fn parse_record_node(&mut self) -> PResult<MetadataId> {
        let node = self.parse_metadata_node()?;
        self.expect(TokenKind::Comma)?;
        Ok(node)
    }
}
