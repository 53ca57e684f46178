//! Parser state: metadata.

use phalanx_ir::metadata::{MetadataId, MetadataValue, NodeBuilder};
use rustc_hash::FxHashMap;

use crate::error::Span;

/// Metadata that has been read.
#[derive(Default)]
pub(crate) struct MetadataState {
    /// Nodes by number, for numbers that are plausible for a text of this length.
    pub(in crate::parser) dense: Vec<Option<Numbered>>,
    /// Nodes with greater numbers.
    pub(in crate::parser) sparse: FxHashMap<u32, Numbered>,
    /// Expressions by their elements: most are written where they are used, and few differ.
    pub(in crate::parser) expressions: FxHashMap<Box<[MetadataValue]>, MetadataId>,
    /// The empty tuple, as written where it is used.
    pub(in crate::parser) empty: Option<MetadataId>,
    /// Open nodes; empty between nodes, kept for its capacity.
    pub(in crate::parser) frames: Vec<Frame>,
}

/// A node that has a number.
#[derive(Copy, Clone)]
pub(in crate::parser) struct Numbered {
    pub(in crate::parser) node: MetadataId,
    /// Where it is mentioned first.
    pub(in crate::parser) first_use: Span,
    pub(in crate::parser) defined: bool,
}

/// A node that is being read.
pub(in crate::parser) struct Frame {
    pub(in crate::parser) builder: NodeBuilder,
    /// The node to define; a new one when there is none.
    pub(in crate::parser) target: Option<MetadataId>,
    /// Where it begins.
    pub(in crate::parser) start: u32,
    /// Where its bracket opens.
    pub(in crate::parser) open: Span,
    pub(in crate::parser) state: FrameState,
}

/// What comes next in an open node.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(in crate::parser) enum FrameState {
    /// An element of a tuple, or the end.
    Element,
    /// A field, or the end; the field is likely to be at this place of the schema.
    Field(usize),
    /// The value of the field at this place has just been read: an element of its list, or the end
    /// of it.
    ListElement(usize),
}

impl Frame {
    /// Stores the value that has just been read as the next part of the node.
    pub(in crate::parser) fn deliver(&mut self, value: MetadataValue) {
        match self.state {
            FrameState::Element => self.builder.push(value),
            FrameState::ListElement(place) => self.builder.push_at(place, value),
            FrameState::Field(place) => {
                self.builder.set_at(place, value);
                self.state = FrameState::Field(place + 1);
            }
        }
    }
}
