//! Metadata: nodes, named metadata, attachments, debug records.
//!
//! All nodes of a module live in one [`Metadata`]. A node is twelve bytes: what kind it is, whether
//! it is distinct, and a run of eight-byte entries in a pool that all nodes share. An entry is a
//! field's name and a value: another node, a string, a constant or a number. Tuples, expressions
//! and the specialised nodes of debug information differ only in their [`NodeKind`] and the fields
//! their schema allows ([`NodeKind::fields`]); names such as `DW_TAG_member` are numbers with a
//! [`NameTable`].
//!
//! ```text
//! !7 = !DILocation(line: 12, column: 5, scope: !3)
//!
//! kind `Location`, not distinct, three entries: line = 12, column = 5, scope = node !3
//! ```
//!
//! Nodes refer to each other by [`MetadataId`] and may form cycles; nothing here recurses. Numbers
//! in a text (`!7`) are not kept: the printer numbers the reachable nodes anew.
//!
//! Invariant: fields of a node are canonical, as [`schema`] says, when made through
//! [`NodeBuilder`].

mod additions;
mod builder;
mod facts;
mod inlined;
pub mod kind;
mod local;
pub mod names;
pub mod schema;
mod table;
mod unify;

pub use self::{
    additions::Additions,
    builder::NodeBuilder,
    facts::{NvvmAnnotation, RangeList},
    inlined::InlinedLocations,
    local::{DebugAssign, DebugRecord, DebugVariable, DebugVariableKind, LocalMetadata},
    names::NameTable,
    schema::{Field, FieldSchema, FieldType, NodeKind, Presence},
    table::{Attachment, Metadata, MetadataId, MetadataNode, MetadataValue, NamedMetadata},
};

#[cfg(test)]
mod tests;
