//! Metadata: nodes, attachments, debug records.

use la_arena::{Arena, Idx};

use crate::{symbol::Symbol, value::Value};

/// A metadata node of a module.
pub type MetadataId = Idx<MetadataNode>;

/// `!kind !node`: metadata attached to an instruction, function or variable.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Attachment {
    /// `dbg`, `tbaa`, `range` ...
    pub kind: Symbol,
    /// The node.
    pub node: MetadataId,
}

/// One node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MetadataNode {}

/// Metadata as an operand of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LocalMetadata {
    /// A node of the module.
    Node(MetadataId),
    /// `!"string"`
    String(Symbol),
    /// A value of the function or a constant.
    Value(Value),
    /// `!DIArgList(..)`
    ArgList(Box<[Value]>),
}

/// `#dbg_value(..)` and its kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DebugRecord {}

/// The metadata of a module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Metadata {
    /// Nodes.
    pub nodes: Arena<MetadataNode>,
}
