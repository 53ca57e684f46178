//! Metadata nodes, named metadata and attachments as text.

use phalanx_ir::{
    LocalMetadataId, Symbol,
    metadata::{
        Attachment, Field, FieldType, LocalMetadata, MetadataId, MetadataValue, NameTable, NodeKind,
    },
};

use super::{Writer, names, slots};

impl Writer<'_> {
    /// `!kind !7` for each attachment, the separator before each, in LLVM's order.
    pub(super) fn attachments(
        &mut self,
        attachments: impl Iterator<Item = Attachment>,
        separator: &str,
    ) {
        for Attachment { kind, node } in slots::attachments(self.module(), attachments) {
            self.str(separator);
            self.metadata_name(kind);
            self.str(" ");
            self.metadata_ref(node);
        }
    }

    /// Metadata as an operand, after its type.
    pub(super) fn local_metadata(&mut self, id: LocalMetadataId) {
        if let Some(function) = self.function {
            self.metadata_as_value(function.function.body.local_metadata(id));
        }
    }

    pub(super) fn metadata_as_value(&mut self, metadata: &LocalMetadata) {
        match metadata {
            LocalMetadata::Node(node) => self.metadata_ref(*node),
            LocalMetadata::String(string) => {
                self.str("!");
                self.quoted(*string);
            }
            LocalMetadata::Value(value) => self.typed_value(*value),
            LocalMetadata::ArgList(values) => {
                self.str("!DIArgList(");
                for (at, &value) in values.iter().enumerate() {
                    if at > 0 {
                        self.str(", ");
                    }
                    self.typed_value(value);
                }
                self.str(")");
            }
        }
    }

    /// All named metadata, a line each.
    pub(super) fn named_metadata(&mut self) {
        for named in self.module().metadata.named() {
            self.metadata_name(named.name);
            self.str(" = !{");
            for (at, &node) in named.operands.iter().enumerate() {
                if at > 0 {
                    self.str(", ");
                }
                self.metadata_ref(node);
            }
            self.str("}\n");
        }
    }

    /// `!name`; bytes that the reader does not take in a name are `\XX`.
    fn metadata_name(&mut self, name: Symbol) {
        self.str("!");
        for (at, &byte) in self.context().bytes(name).iter().enumerate() {
            let is_mark = matches!(byte, b'-' | b'$' | b'.' | b'_');
            if is_mark || byte.is_ascii_alphabetic() || at > 0 && byte.is_ascii_digit() {
                self.push(&[byte]);
            } else {
                self.str("\\");
                names::hex(byte.into(), 2, self.out);
            }
        }
    }

    /// `!7`; an expression stands in full wherever it is used.
    pub(super) fn metadata_ref(&mut self, node: MetadataId) {
        if self.module().metadata.is_inline(node) {
            return self.metadata_node(node);
        }
        self.str("!");
        let slot = self.metadata_slot(node);
        self.local_slot(slot);
    }

    /// A node as it is defined: `distinct !{..}`.
    pub(super) fn metadata_node(&mut self, id: MetadataId) {
        let metadata = &self.module().metadata;
        let kind = metadata.node_kind(id);
        if metadata.is_distinct(id) {
            self.str("distinct ");
        }
        match kind {
            NodeKind::Tuple => {
                self.str("!{");
                for (at, value) in metadata.values(id).enumerate() {
                    if at > 0 {
                        self.str(", ");
                    }
                    self.metadata_value(value);
                }
                self.str("}");
            }
            NodeKind::Expression => {
                self.str("!DIExpression(");
                for (at, value) in metadata.values(id).enumerate() {
                    if at > 0 {
                        self.str(", ");
                    }
                    self.metadata_value(value);
                }
                self.str(")");
            }
            _ => {
                self.str("!");
                self.str(kind.text());
                self.str("(");
                self.metadata_fields(id, kind);
                self.str(")");
            }
        }
    }

    fn metadata_fields(&mut self, id: MetadataId, kind: NodeKind) {
        let schema = kind.fields();
        let mut place = 0;
        let mut list: Option<Field> = None;
        for (at, (field, value)) in self.module().metadata.fields(id).enumerate() {
            if list == Some(field) {
                self.str(", ");
                self.metadata_value(value);
                continue;
            }
            if list.take().is_some() {
                self.str("}");
            }
            if at > 0 {
                self.str(", ");
            }
            self.str(field.text());
            self.str(": ");
            // Fields are in the order of the schema.
            while schema.get(place).is_some_and(|f| f.name != field) {
                place += 1;
            }
            match schema.get(place).map(|f| f.ty) {
                Some(FieldType::List) => {
                    self.str("{");
                    self.metadata_value(value);
                    list = Some(field);
                }
                Some(ty) => self.metadata_field(ty, value),
                None => self.metadata_value(value),
            }
        }
        if list.is_some() {
            self.str("}");
        }
    }

    fn metadata_field(&mut self, ty: FieldType, value: MetadataValue) {
        match (ty, value) {
            (FieldType::Bool, MetadataValue::Int(value)) => {
                self.str(if value != 0 { "true" } else { "false" });
            }
            (FieldType::String | FieldType::NonEmptyString, MetadataValue::String(string)) => {
                self.quoted(string);
            }
            (FieldType::Named(table, _), MetadataValue::Int(value)) => {
                self.named_number(table, value);
            }
            (FieldType::Mask(table), MetadataValue::Int(value)) => {
                let (names, rest) = table.split_mask(value as u32);
                for (at, name) in names.iter().enumerate() {
                    if at > 0 {
                        self.str(" | ");
                    }
                    self.str(name);
                }
                if rest != 0 || names.is_empty() {
                    if !names.is_empty() {
                        self.str(" | ");
                    }
                    self.number(rest.into());
                }
            }
            _ => self.metadata_value(value),
        }
    }

    fn named_number(&mut self, table: NameTable, number: i64) {
        match u32::try_from(number).ok().and_then(|number| table.name(number)) {
            Some(name) => self.str(name),
            None => self.signed(number),
        }
    }

    fn metadata_value(&mut self, value: MetadataValue) {
        match value {
            MetadataValue::Null => self.str("null"),
            MetadataValue::Node(node) => self.metadata_ref(node),
            MetadataValue::String(string) => {
                self.str("!");
                self.quoted(string);
            }
            MetadataValue::Const(constant) => self.typed_constant(constant),
            MetadataValue::Int(value) => self.signed(value),
            MetadataValue::BigInt(digits) => self.push(self.context().bytes(digits)),
            MetadataValue::Operation(number) => {
                self.named_number(NameTable::Operation, number.into());
            }
            MetadataValue::Encoding(number) => {
                self.named_number(NameTable::Encoding, number.into());
            }
        }
    }

    /// `"text"`, escaped.
    pub(super) fn quoted(&mut self, text: Symbol) {
        self.str("\"");
        names::escape(self.context().bytes(text), self.out);
        self.str("\"");
    }
}
