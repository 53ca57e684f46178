//! Rows of tables that stand for versions of private memory, as plain data: their names, what they
//! read, and their definitions.

use phalanx_core::{
    affect::Value,
    divergence::{Definition, Incoming, PhiKey},
};
use phalanx_graph::Node;
use phalanx_ir::InstId;
use phalanx_target::SourceSet;
use smallvec::SmallVec;

use crate::memory::private::{Slot, parameter_of};

/// The name of a row: the slot, by its object and first byte; the instruction that defines the
/// version, or the block of the phi; and the position among the definitions of the slot by that
/// instruction. Ordered by objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::lower) struct RowKey {
    pub(in crate::lower) alloca: u32,
    pub(in crate::lower) offset: i64,
    pub(in crate::lower) is_phi: bool,
    pub(in crate::lower) at: u32,
    pub(in crate::lower) nth: u32,
}

/// A version of private memory that has a value of its own: a memory phi, or the result of a store
/// that does not replace all of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryVersion {
    /// Its number in the table.
    pub value: Value,
    /// The stack slot; or the memory behind an argument, if the version has a
    /// [`parameter`](Self::parameter).
    pub object: InstId,
    /// The first byte of the object that the version is about; none if it is about the whole
    /// object.
    pub offset: Option<i64>,
    /// What makes the version.
    pub by: VersionBy,
}

impl MemoryVersion {
    /// The parameter, if the version is of memory that it points to
    /// ([`explain::left`](crate::explain::left)).
    #[must_use]
    pub fn parameter(&self) -> Option<u32> {
        parameter_of(self.object)
    }
}

/// What makes a version of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionBy {
    /// An instruction that writes.
    Write(InstId),
    /// A memory phi at the start of a block.
    Phi(Node),
}

/// What is read: a value, or a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    Value(Value),
    Row(u32),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(in crate::lower) pred: Node,
    pub(in crate::lower) read: Option<Read>,
    /// The key of an entry that is no row.
    pub(in crate::lower) key: PhiKey,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Definition(Definition, SmallVec<[Read; 4]>),
    /// As `Definition`, where the sources of what is read are replaced by their images.
    Image(Definition, SmallVec<[Read; 4]>, Box<[SourceSet; SourceSet::COUNT]>),
    Phi(std::ops::Range<usize>),
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(in crate::lower) key: RowKey,
    pub(in crate::lower) block: Node,
    pub(in crate::lower) what: What,
}

/// Rows about memory that arguments point to, by number; see
/// [`full_through`](crate::lower::full_through).
#[derive(Debug, Default)]
pub(in crate::lower) struct PointeeRows {
    /// Slot, and the row of its content at the entry of the function.
    pub(in crate::lower) entries: Vec<(u32, u32)>,
    /// Argument, and a row that all loads through it read.
    pub(in crate::lower) loaded: Vec<(u32, u32)>,
    /// Slot, and the row of its content at a return.
    pub(in crate::lower) exits: Vec<(u32, u32)>,
}

/// The key of the row of a slot's content at the entry of the function.
pub(super) fn entry_key(slot: &Slot) -> RowKey {
    RowKey { at: u32::MAX, is_phi: true, ..slot_key(slot) }
}

/// The key of the row that all loads from an object read. No block has this number.
pub(super) fn loaded_key(object: InstId) -> RowKey {
    let alloca = object.into_raw().into_u32();
    RowKey { alloca, offset: i64::MIN, is_phi: true, at: u32::MAX - 1, nth: 0 }
}

/// The key of the row of a slot's content at a return.
pub(super) fn exit_key(slot: &Slot, ret: InstId) -> RowKey {
    RowKey { at: ret.into_raw().into_u32(), ..slot_key(slot) }
}

/// What the keys of all rows about a slot have in common.
pub(super) fn slot_key(slot: &Slot) -> RowKey {
    let offset = slot.range.map_or(i64::MIN, |(first, _)| first);
    RowKey { alloca: slot.alloca.into_raw().into_u32(), offset, is_phi: false, at: 0, nth: 0 }
}

pub(super) fn resolve(read: Read, value_of: impl Fn(u32) -> Value) -> Value {
    match read {
        Read::Value(value) => value,
        Read::Row(row) => value_of(row),
    }
}

pub(super) fn incoming(entry: &Entry, value_of: impl Fn(u32) -> Value) -> Incoming {
    let value = entry.read.map(|read| resolve(read, value_of));
    let key = value.map_or(entry.key, PhiKey::value);
    Incoming { pred: entry.pred, value, key }
}

/// The values, of a table made by [`full_through`], that are about memory that arguments point to.
#[derive(Clone, Debug, Default)]
pub(crate) struct PointeeValues {
    /// Slot of memory that an argument points to, and its content at the entry of the function.
    pub(crate) entries: Vec<(u32, Value)>,
    /// Argument, and a value that everything depends on that is loaded through it.
    pub(crate) loaded: Vec<(u32, Value)>,
    /// Slot, and its content at a return.
    pub(crate) exits: Vec<(u32, Value)>,
}
