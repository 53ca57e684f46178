//! Making nodes: fields are given in any order and become canonical and checked.

use smallvec::SmallVec;

use super::{
    schema::{Field, FieldSchema, FieldType, NodeKind, Presence},
    table::{Entry, MetadataValue},
};
use crate::symbol::SyncScope;

/// `DW_TAG_LLVM_ptrauth_type`
const PTRAUTH_TYPE: i64 = 0x4300;
const RATIONAL: i64 = 2;
const VIRTUALITY: i64 = 3;
const LOCAL: i64 = 1 << 2;
const DEFINITION: i64 = 1 << 3;
const OPTIMIZED: i64 = 1 << 4;

/// Collects the fields of a node.
///
/// The types of the values are up to the caller, who knows the [`FieldSchema`].
/// [`NodeBuilder::finish`] checks that required fields are present and the further rules of the
/// kind.
#[derive(Clone, Debug)]
pub struct NodeBuilder {
    pub(super) kind: NodeKind,
    pub(super) distinct: bool,
    seen: u64,
    /// A field that the kind does not have, or that was given twice.
    refused: Option<Field>,
    /// Until [`NodeBuilder::finish`] has run, the field of an entry is its place in the schema.
    pub(super) entries: SmallVec<[Entry; 16]>,
}

impl NodeBuilder {
    /// A node without fields.
    pub fn new(kind: NodeKind, distinct: bool) -> Self {
        NodeBuilder { kind, distinct, seen: 0, refused: None, entries: SmallVec::new() }
    }

    /// A tuple.
    pub fn tuple(distinct: bool, elements: impl IntoIterator<Item = MetadataValue>) -> Self {
        let mut builder = Self::new(NodeKind::Tuple, distinct);
        builder
            .entries
            .extend(elements.into_iter().map(|value| Entry::new(Field::Element as u8, value)));
        builder
    }

    /// The kind of the node.
    pub fn kind(&self) -> NodeKind {
        self.kind
    }

    /// Adds a field by its name. If the kind does not have the field, or it was given before, the
    /// node cannot be added.
    ///
    /// ```
    /// # use phalanx_ir::metadata::{Field, Metadata, MetadataValue, NodeBuilder, NodeKind};
    /// let mut metadata = Metadata::new();
    /// let scope = metadata.add(NodeBuilder::tuple(true, []))?;
    /// let location = NodeBuilder::new(NodeKind::Location, false)
    ///     .with(Field::Line, MetadataValue::Int(12))
    ///     .with(Field::Scope, MetadataValue::Node(scope));
    /// let location = metadata.add(location)?;
    /// assert_eq!(metadata.field(location, Field::Line), Some(MetadataValue::Int(12)));
    ///
    /// let odd = NodeBuilder::new(NodeKind::Location, false).with(Field::Filename, MetadataValue::Null);
    /// assert_eq!(metadata.add(odd).unwrap_err(), "field `filename` cannot be given, or not twice");
    /// # Ok::<(), String>(())
    /// ```
    #[must_use]
    pub fn with(mut self, field: Field, value: MetadataValue) -> Self {
        let place = self.kind.fields().iter().position(|f| f.name == field);
        if !place.is_some_and(|place| self.set_at(place, value)) {
            self.refused = self.refused.or(Some(field));
        }
        self
    }

    /// Adds an element of a tuple or expression.
    pub fn push(&mut self, value: MetadataValue) {
        self.entries.push(Entry::new(Field::Element as u8, value));
    }

    /// Sets the field at a place of [`NodeKind::fields`]. False when it has been set already.
    ///
    /// # Panics
    /// When there is no such place.
    pub fn set_at(&mut self, place: usize, value: MetadataValue) -> bool {
        assert!(place < self.kind.fields().len(), "no such field");
        let fresh = self.seen & 1 << place == 0;
        if fresh {
            self.seen |= 1 << place;
            self.insert(place, value);
        }
        fresh
    }

    /// Adds an element to the field at a place, whose type is [`super::FieldType::List`].
    pub fn push_at(&mut self, place: usize, value: MetadataValue) {
        self.seen |= 1 << place;
        self.insert(place, value);
    }

    /// Marks the field at a place as given: the list there may stay empty.
    pub fn mark(&mut self, place: usize) {
        self.seen |= 1 << place;
    }

    /// Whether the field at a place has been given.
    pub fn has(&self, place: usize) -> bool {
        self.seen & 1 << place != 0
    }

    fn insert(&mut self, place: usize, value: MetadataValue) {
        let entry = Entry::new(place as u8, value);
        let at =
            self.entries.iter().rposition(|e| e.field() <= place as u8).map_or(0, |last| last + 1);
        self.entries.insert(at, entry);
    }

    fn place(&self, field: Field) -> usize {
        self.kind.fields().iter().position(|f| f.name == field).expect("the kind has this field")
    }

    /// The value that a field was given.
    ///
    /// # Panics
    /// When the kind has no such field.
    pub fn value(&self, field: Field) -> Option<MetadataValue> {
        let place = self.place(field) as u8;
        self.entries.iter().find(|e| e.field() == place).map(|e| e.value())
    }

    fn int(&self, field: Field) -> i64 {
        match self.value(field) {
            Some(MetadataValue::Int(value)) => value,
            _ => 0,
        }
    }

    fn replace(&mut self, field: Field, value: Option<i64>) {
        let place = self.place(field);
        self.entries.retain(|e| e.field() != place as u8);
        if let Some(value) = value {
            self.insert(place, MetadataValue::Int(value));
        }
    }

    /// Checks presence, drops defaults, adds what is always stored, and names the fields.
    pub(super) fn finish(&mut self) -> Result<(), String> {
        if let Some(field) = self.refused {
            return Err(format!("field `{}` cannot be given, or not twice", field.text()));
        }
        let fields = self.kind.fields();
        if let Some(field) = (fields.iter().enumerate())
            .find(|&(place, field)| field.presence == Presence::Required && !self.has(place))
        {
            return Err(format!("missing required field `{}`", field.1.name.text()));
        }
        self.check()?;
        for (place, field) in fields.iter().enumerate() {
            match field.presence {
                Presence::Always(default) if !self.has(place) => {
                    let is_node = matches!(field.ty, FieldType::Node);
                    let value = if is_node {
                        MetadataValue::Null
                    } else {
                        MetadataValue::Int(default.into())
                    };
                    self.insert(place, value);
                }
                _ => {}
            }
        }
        self.normalize();
        self.entries.retain(|entry| {
            !fields.get(entry.field() as usize).is_some_and(|f| is_default(f, entry))
        });
        if !fields.is_empty() {
            for entry in &mut self.entries {
                *entry = Entry::new(fields[entry.field() as usize].name as u8, entry.value());
            }
        }
        Ok(())
    }

    /// Checks the rules of single kinds.
    fn check(&self) -> Result<(), String> {
        let given = |field| self.has(self.place(field));
        let fail = |message: &str| Err(message.to_owned());
        match self.kind {
            NodeKind::CompileUnit if !self.distinct => {
                fail("missing `distinct`: a `!DICompileUnit` must be distinct")
            }
            NodeKind::AssignID if !self.distinct => {
                fail("missing `distinct`: a `!DIAssignID` must be distinct")
            }
            NodeKind::CompileUnit => {
                match (given(Field::Language), given(Field::SourceLanguageName)) {
                    (true, true) => fail("`language` and `sourceLanguageName` exclude each other"),
                    (false, false) => fail(
                        "missing `language` or `sourceLanguageName`: a `!DICompileUnit` needs one",
                    ),
                    (true, false) if given(Field::SourceLanguageVersion) => {
                        fail("`sourceLanguageVersion` is for a unit with a `sourceLanguageName`")
                    }
                    _ => Ok(()),
                }
            }
            NodeKind::File if given(Field::Checksumkind) != given(Field::Checksum) => {
                fail("`checksumkind` and `checksum` must be given together")
            }
            NodeKind::Subprogram if !self.distinct && self.subprogram_flags() & DEFINITION != 0 => {
                fail("missing `distinct`: a `!DISubprogram` that is a definition must be distinct")
            }
            _ => Ok(()),
        }
    }

    /// `spFlags`, or the flags that the older fields state.
    fn subprogram_flags(&self) -> i64 {
        if self.has(self.place(Field::SpFlags)) {
            return self.int(Field::SpFlags);
        }
        let is_definition =
            !self.has(self.place(Field::IsDefinition)) || self.int(Field::IsDefinition) != 0;
        let bit = |set: bool, bit: i64| if set { bit } else { 0 };
        self.int(Field::Virtuality)
            | bit(self.int(Field::IsLocal) != 0, LOCAL)
            | bit(is_definition, DEFINITION)
            | bit(self.int(Field::IsOptimized) != 0, OPTIMIZED)
    }

    /// Brings fields that depend on each other into canonical form.
    fn normalize(&mut self) {
        match self.kind {
            NodeKind::Subprogram => {
                let flags = self.subprogram_flags();
                for old in
                    [Field::IsLocal, Field::IsDefinition, Field::IsOptimized, Field::Virtuality]
                {
                    self.replace(old, None);
                }
                self.replace(Field::SpFlags, Some(flags));
                let index = self.int(Field::VirtualIndex);
                self.replace(
                    Field::VirtualIndex,
                    (index != 0 || flags & VIRTUALITY != 0).then_some(index),
                );
            }
            NodeKind::FixedPointType => {
                let rational = self.int(Field::Kind) == RATIONAL;
                if rational {
                    self.replace(Field::Factor, None);
                }
                for field in [Field::Numerator, Field::Denominator] {
                    match (rational, self.value(field)) {
                        (true, None) => self.replace(field, Some(0)),
                        (false, Some(_)) => self.replace(field, None),
                        _ => {}
                    }
                }
            }
            // LLVM accepts any type here and prints none.
            NodeKind::MacroFile => self.replace(Field::Type, None),
            NodeKind::DerivedType if self.int(Field::Tag) == PTRAUTH_TYPE => {
                for field in [
                    Field::PtrAuthIsAddressDiscriminated,
                    Field::PtrAuthIsaPointer,
                    Field::PtrAuthAuthenticatesNullValues,
                ] {
                    self.replace(field, Some(self.int(field)));
                }
            }
            _ => {}
        }
    }
}

fn is_default(field: &FieldSchema, entry: &Entry) -> bool {
    let value = entry.value();
    match field.presence {
        Presence::Default(_) if field.ty == FieldType::List => false,
        Presence::Default(default) => match value {
            MetadataValue::Int(value) => value == i64::from(default),
            MetadataValue::Null => true,
            // An omitted string equals an empty one; an omitted node equals neither.
            MetadataValue::String(text) => {
                text == SyncScope::SYSTEM.0
                    && matches!(field.ty, FieldType::String | FieldType::NonEmptyString)
            }
            _ => false,
        },
        Presence::Kept => value == MetadataValue::Null,
        Presence::Required | Presence::Always(_) => false,
    }
}
