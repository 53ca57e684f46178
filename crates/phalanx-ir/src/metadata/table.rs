//! The table of all metadata of a module, and the representation of a node.

use la_arena::{Arena, Idx};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{
    builder::NodeBuilder,
    kind,
    schema::{Field, NodeKind},
};
use crate::{constant::Const, context::Context, symbol::Symbol};

/// A metadata node of a module.
pub type MetadataId = Idx<MetadataNode>;

/// `!kind !node`: metadata attached to an instruction, function or variable.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Attachment {
    /// `dbg`, `tbaa`, `range` ...; the fixed ones are in [`kind`].
    pub kind: Symbol,
    /// The node.
    pub node: MetadataId,
}

/// One node: its kind and the place of its fields in the pool.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct MetadataNode {
    kind: NodeKind,
    distinct: bool,
    start: u32,
    len: u32,
}

/// The value of a field or element.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MetadataValue {
    /// `null`
    Null,
    /// `!7`
    Node(MetadataId),
    /// `!"bytes"`, or a field that is a string.
    String(Symbol),
    /// A constant: `i32 5`, `ptr @f`.
    Const(Const),
    /// A number of a field or expression, `true` and `false` being 1 and 0. At most 48 bits, see
    /// [`MetadataValue::int`].
    Int(i64),
    /// A number that does not fit: its decimal digits.
    BigInt(Symbol),
    /// An operation of an expression, written by its name.
    Operation(u32),
    /// An encoding in an expression, written by its name.
    Encoding(u32),
}

impl MetadataValue {
    /// Numbers from here up do not fit [`MetadataValue::Int`].
    pub(super) const INT_LIMIT: i64 = 1 << 47;

    /// A number.
    pub fn int(context: &Context, value: i128) -> MetadataValue {
        match i64::try_from(value) {
            Ok(value) if (-Self::INT_LIMIT..Self::INT_LIMIT).contains(&value) => {
                MetadataValue::Int(value)
            }
            _ => MetadataValue::BigInt(context.symbol(value.to_string().as_bytes())),
        }
    }

    /// The number, when this is one of at most 128 bits.
    pub fn as_int(self, context: &Context) -> Option<i128> {
        match self {
            MetadataValue::Int(value) => Some(value.into()),
            MetadataValue::BigInt(digits) => {
                std::str::from_utf8(context.bytes(digits)).ok()?.parse().ok()
            }
            MetadataValue::Operation(value) | MetadataValue::Encoding(value) => Some(value.into()),
            _ => None,
        }
    }

    /// The node.
    pub fn as_node(self) -> Option<MetadataId> {
        match self {
            MetadataValue::Node(node) => Some(node),
            _ => None,
        }
    }

    /// The string.
    pub fn as_string(self) -> Option<Symbol> {
        match self {
            MetadataValue::String(symbol) => Some(symbol),
            _ => None,
        }
    }

    /// The constant.
    pub fn as_const(self) -> Option<Const> {
        match self {
            MetadataValue::Const(constant) => Some(constant),
            _ => None,
        }
    }
}

/// A field name and a value in eight bytes: bits 0-7 the field, 8-15 what the value is, 16-63 the
/// value.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) struct Entry(pub(super) u64);

impl Entry {
    pub(super) fn new(field: u8, value: MetadataValue) -> Entry {
        let (tag, bits) = match value {
            MetadataValue::Null => (0, 0),
            MetadataValue::Node(node) => (1, node.into_raw().into_u32().into()),
            MetadataValue::String(symbol) => (2, symbol.raw().into()),
            MetadataValue::Const(constant) => (3, constant.raw().into()),
            MetadataValue::Int(value) => {
                assert!(
                    (-MetadataValue::INT_LIMIT..MetadataValue::INT_LIMIT).contains(&value),
                    "more than 48 bits"
                );
                (4, value as u64)
            }
            MetadataValue::BigInt(digits) => (5, digits.raw().into()),
            MetadataValue::Operation(number) => (6, number.into()),
            MetadataValue::Encoding(number) => (7, number.into()),
        };
        Entry(bits << 16 | tag << 8 | u64::from(field))
    }

    pub(super) fn field(self) -> u8 {
        self.0 as u8
    }

    pub(super) fn value(self) -> MetadataValue {
        let number = (self.0 >> 16) as u32;
        match self.0 >> 8 & 0xff {
            0 => MetadataValue::Null,
            1 => MetadataValue::Node(MetadataId::from_raw(number.into())),
            2 => MetadataValue::String(Symbol::from_raw(number)),
            3 => MetadataValue::Const(Const::from_raw(number)),
            4 => MetadataValue::Int((self.0 as i64) >> 16),
            5 => MetadataValue::BigInt(Symbol::from_raw(number)),
            6 => MetadataValue::Operation(number),
            _ => MetadataValue::Encoding(number),
        }
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {:?}", self.field(), self.value())
    }
}

/// `!name = !{..}`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedMetadata {
    /// The name, without the exclamation mark.
    pub name: Symbol,
    /// Its nodes, in order.
    pub operands: Vec<MetadataId>,
}

/// The metadata of a module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Metadata {
    nodes: Arena<MetadataNode>,
    pool: Vec<Entry>,
    named: Vec<NamedMetadata>,
    /// Where each name is in `named`.
    named_places: FxHashMap<Symbol, u32>,
    /// Kinds of attachments that are not fixed, with their place in the order of first use.
    kinds: FxHashMap<Symbol, u32>,
}

impl Metadata {
    /// No metadata.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether `old` has been changed at most by adding nodes: its nodes have the same ids and
    /// contents.
    pub(crate) fn extends(&self, old: &Metadata) -> bool {
        self.nodes.len() >= old.nodes.len()
            && self.nodes.values().zip(old.nodes.values()).all(|(new, old)| new == old)
            && self.pool.starts_with(&old.pool)
            && self.named == old.named
    }

    /// How many nodes there are: the length of a dense table.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All nodes, by id.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = MetadataId> + use<> {
        (0..self.nodes.len() as u32).map(|number| MetadataId::from_raw(number.into()))
    }

    /// A node to be defined later: an empty tuple until then.
    pub fn reserve(&mut self) -> MetadataId {
        self.nodes.alloc(MetadataNode { kind: NodeKind::Tuple, distinct: false, start: 0, len: 0 })
    }

    /// Adds a node.
    ///
    /// # Errors
    /// When a required field is missing or the kind forbids the combination of fields. Nothing was
    /// added then.
    pub fn add(&mut self, mut node: NodeBuilder) -> Result<MetadataId, String> {
        let start = self.place_for(&mut node)?;
        let id = self.reserve();
        self.put(id, &node, start);
        Ok(id)
    }

    /// Gives a node its contents and replaces those that it had.
    ///
    /// A node that is its own operand is distinct.
    ///
    /// # Errors
    /// When a required field is missing or the kind forbids the combination of fields; the node is
    /// as before then.
    pub fn define(&mut self, id: MetadataId, mut node: NodeBuilder) -> Result<(), String> {
        let start = self.place_for(&mut node)?;
        self.put(id, &node, start);
        Ok(())
    }

    /// Checks a node, and returns where its entries will start in the pool.
    fn place_for(&self, node: &mut NodeBuilder) -> Result<u32, String> {
        node.finish()?;
        u32::try_from(self.pool.len()).map_err(|_| "more than 2^32 metadata operands".to_owned())
    }

    fn put(&mut self, id: MetadataId, node: &NodeBuilder, start: u32) {
        let is_own_operand =
            node.entries.iter().any(|entry| entry.value() == MetadataValue::Node(id));
        self.pool.extend_from_slice(&node.entries);
        self.nodes[id] = MetadataNode {
            kind: node.kind,
            distinct: node.distinct || is_own_operand,
            start,
            len: node.entries.len() as u32,
        };
    }

    /// Replaces constants for which `which` holds by null in all nodes: metadata does not keep
    /// constants alive. O(entries).
    pub fn forget(&mut self, mut which: impl FnMut(Const) -> bool) {
        for entry in &mut self.pool {
            if entry.value().as_const().is_some_and(&mut which) {
                *entry = Entry::new(entry.field(), MetadataValue::Null);
            }
        }
    }

    pub(super) fn entries(&self, id: MetadataId) -> &[Entry] {
        let node = self.nodes[id];
        &self.pool[node.start as usize..][..node.len as usize]
    }

    /// What a node is.
    pub fn node_kind(&self, id: MetadataId) -> NodeKind {
        self.nodes[id].kind
    }

    /// Whether a node is `distinct`: equal to itself only.
    pub fn is_distinct(&self, id: MetadataId) -> bool {
        self.nodes[id].distinct
    }

    /// Whether a node is written where it is used and never has a number: expressions.
    pub fn is_inline(&self, id: MetadataId) -> bool {
        self.node_kind(id) == NodeKind::Expression
    }

    /// Names and values of the fields of a node, in the order they are printed. Elements of a list
    /// repeat its name.
    pub fn fields(
        &self,
        id: MetadataId,
    ) -> impl ExactSizeIterator<Item = (Field, MetadataValue)> + '_ {
        self.entries(id).iter().map(|entry| (Field::from_number(entry.field()), entry.value()))
    }

    /// Values of a node: elements of a tuple or expression, fields of any other in the order they
    /// are printed.
    pub fn values(&self, id: MetadataId) -> impl ExactSizeIterator<Item = MetadataValue> + '_ {
        self.entries(id).iter().map(|entry| entry.value())
    }

    /// An element of a tuple or expression.
    pub fn element(&self, id: MetadataId, position: usize) -> Option<MetadataValue> {
        self.entries(id).get(position).map(|entry| entry.value())
    }

    /// The value of a field; none when it is its default.
    pub fn field(&self, id: MetadataId, field: Field) -> Option<MetadataValue> {
        self.entries(id)
            .iter()
            .find(|entry| entry.field() == field as u8)
            .map(|entry| entry.value())
    }

    /// The nodes a node mentions, expressions included, in the order in which they are numbered
    /// when a module is printed.
    pub fn operands(&self, id: MetadataId) -> SmallVec<[MetadataId; 8]> {
        let order = self.node_kind(id).operands();
        let mut operands: SmallVec<[(usize, MetadataId); 8]> = SmallVec::new();
        for entry in self.entries(id) {
            if let MetadataValue::Node(node) = entry.value() {
                let rank =
                    order.iter().position(|&field| field as u8 == entry.field()).unwrap_or(0);
                operands.push((rank, node));
            }
        }
        operands.sort_by_key(|&(rank, _)| rank);
        operands.into_iter().map(|(_, node)| node).collect()
    }

    /// Named metadata, in order of first definition.
    pub fn named(&self) -> &[NamedMetadata] {
        &self.named
    }

    /// The nodes of the named metadata of this name.
    pub fn named_operands(&self, name: Symbol) -> &[MetadataId] {
        self.named_places.get(&name).map_or(&[], |&place| &self.named[place as usize].operands)
    }

    /// Adds nodes to the named metadata of this name, which is made when there is none.
    pub fn add_named(&mut self, name: Symbol, operands: &[MetadataId]) {
        let next = self.named.len() as u32;
        let place = *self.named_places.entry(name).or_insert(next);
        if place == next {
            self.named.push(NamedMetadata { name, operands: Vec::new() });
        }
        self.named[place as usize].operands.extend_from_slice(operands);
    }

    /// Registers a kind of attachment. Attachments are printed in the order in which their kinds
    /// were registered.
    pub fn use_kind(&mut self, kind: Symbol) {
        if kind::fixed_rank(kind).is_none() {
            let next = self.kinds.len() as u32;
            self.kinds.entry(kind).or_insert(next);
        }
    }

    /// The place of a kind of attachment among all kinds, as attachments are printed.
    pub fn kind_rank(&self, kind: Symbol) -> usize {
        match kind::fixed_rank(kind) {
            Some(rank) => rank as usize,
            None => {
                let place = self.kinds.get(&kind).map_or(self.kinds.len(), |&place| place as usize);
                kind::FIXED.len() + place
            }
        }
    }

    /// Gives back spare capacity.
    pub fn shrink_to_fit(&mut self) {
        self.nodes.shrink_to_fit();
        self.pool.shrink_to_fit();
        self.named.shrink_to_fit();
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.nodes.len() * size_of::<MetadataNode>()
            + self.pool.capacity() * size_of::<Entry>()
            + self
                .named
                .iter()
                .map(|n| n.operands.capacity() * size_of::<MetadataId>())
                .sum::<usize>()
    }
}
