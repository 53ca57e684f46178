//! Metadata inside a function: operands of calls and debug records.

use smallvec::SmallVec;

use super::MetadataId;
use crate::{symbol::Symbol, text_enum::text_enum, value::Value};

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

impl LocalMetadata {
    /// Calls `f` for each value that is mentioned.
    pub fn for_each_value_mut(&mut self, f: &mut dyn FnMut(&mut Value)) {
        match self {
            LocalMetadata::Node(_) | LocalMetadata::String(_) => {}
            LocalMetadata::Value(value) => f(value),
            LocalMetadata::ArgList(values) => values.iter_mut().for_each(f),
        }
    }

    /// The values that are mentioned.
    pub fn values(&self) -> &[Value] {
        match self {
            LocalMetadata::Node(_) | LocalMetadata::String(_) => &[],
            LocalMetadata::Value(value) => std::slice::from_ref(value),
            LocalMetadata::ArgList(values) => values,
        }
    }

    /// The node this is.
    pub fn as_node(&self) -> Option<MetadataId> {
        match self {
            LocalMetadata::Node(node) => Some(*node),
            _ => None,
        }
    }
}

text_enum! {
    /// Kinds of debug records about a variable.
    DebugVariableKind { Value "value", Declare "declare", DeclareValue "declare_value" }
}

/// A debug record: information for a debugger at this place of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DebugRecord {
    /// `#dbg_value(..)`, `#dbg_declare(..)` or `#dbg_declare_value(..)`: where a variable is.
    Variable(DebugVariable),
    /// `#dbg_assign(..)`: an assignment of the source program, linked to the store that carries it
    /// out.
    Assign(Box<DebugAssign>),
    /// `#dbg_label(..)`: a label of the source program.
    Label {
        /// The label.
        label: MetadataId,
        /// The place in the source program.
        location: MetadataId,
    },
}

/// Where a variable is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DebugVariable {
    /// Which of the three.
    pub kind: DebugVariableKind,
    /// The value or address; an empty node when there is none.
    pub value: LocalMetadata,
    /// The variable.
    pub variable: MetadataId,
    /// The expression that turns the value into the variable's value.
    pub expression: MetadataId,
    /// The place in the source program.
    pub location: MetadataId,
}

/// An assignment of the source program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DebugAssign {
    /// The value assigned.
    pub value: LocalMetadata,
    /// The variable.
    pub variable: MetadataId,
    /// The expression that turns the value into the variable's value.
    pub expression: MetadataId,
    /// The `DIAssignID` that links the assignment to its store.
    pub id: MetadataId,
    /// Where it is stored.
    pub address: LocalMetadata,
    /// The expression that turns the address into the variable's address.
    pub address_expression: MetadataId,
    /// The place in the source program.
    pub location: MetadataId,
}

impl DebugRecord {
    /// Calls `f` for each value that is mentioned.
    pub fn for_each_value_mut(&mut self, f: &mut dyn FnMut(&mut Value)) {
        match self {
            DebugRecord::Variable(record) => record.value.for_each_value_mut(f),
            DebugRecord::Assign(record) => {
                record.value.for_each_value_mut(f);
                record.address.for_each_value_mut(f);
            }
            DebugRecord::Label { .. } => {}
        }
    }

    /// The values that are mentioned, in the order of the text.
    pub fn values(&self) -> impl Iterator<Item = Value> + '_ {
        let (value, address): (&[Value], &[Value]) = match self {
            DebugRecord::Variable(record) => (record.value.values(), &[]),
            DebugRecord::Assign(record) => (record.value.values(), record.address.values()),
            DebugRecord::Label { .. } => (&[], &[]),
        };
        value.iter().chain(address).copied()
    }

    /// The place in the source program.
    pub fn location(&self) -> MetadataId {
        match self {
            DebugRecord::Variable(record) => record.location,
            DebugRecord::Assign(record) => record.location,
            DebugRecord::Label { location, .. } => *location,
        }
    }

    /// The nodes that are mentioned, in the order in which they are numbered when a module is
    /// printed.
    pub fn nodes(&self) -> SmallVec<[MetadataId; 7]> {
        let mut nodes = SmallVec::new();
        match self {
            DebugRecord::Variable(record) => {
                nodes.extend(record.value.as_node());
                nodes.extend([record.variable, record.expression, record.location]);
            }
            DebugRecord::Assign(record) => {
                nodes.extend(record.value.as_node());
                nodes.extend([record.variable, record.expression, record.id]);
                nodes.extend(record.address.as_node());
                nodes.extend([record.address_expression, record.location]);
            }
            DebugRecord::Label { label, location } => nodes.extend([*label, *location]),
        }
        nodes
    }
}
