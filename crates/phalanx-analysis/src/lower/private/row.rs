//! Rows of tables that stand for versions of private memory, as plain data: what they are called,
//! what they read, what stands in them.

use phalanx_core::{
    affect::Value,
    divergence::{Definition, Incoming, PhiKey},
};
use phalanx_graph::Node;
use phalanx_ir::InstId;
use phalanx_target::SourceSet;
use smallvec::SmallVec;

use crate::memory::private::{Slot, parameter_of};

/// What a row stands for: the slot, by its object and first byte, and the instruction that defines
/// it or the block of the phi, and which of its definitions that is. In order of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::lower) struct RowKey {
    pub(in crate::lower) alloca: u32,
    pub(in crate::lower) offset: i64,
    pub(in crate::lower) is_phi: bool,
    pub(in crate::lower) at: u32,
    pub(in crate::lower) nth: u32,
}

/// A version of private memory that has a value of its own: a memory phi, or what a store leaves
/// that does not replace all of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryVersion {
    /// Its number in the table.
    pub value: Value,
    /// The stack slot; or what an argument points to, if it has a [`parameter`](Self::parameter).
    pub object: InstId,
    /// The first byte of the object that it is about, if it is about some only.
    pub offset: Option<i64>,
    /// Where it comes to be.
    pub by: VersionBy,
}

impl MemoryVersion {
    /// The parameter, if it is about what that points to ([`explain::left`](crate::explain::left)).
    #[must_use]
    pub fn parameter(&self) -> Option<u32> {
        parameter_of(self.object)
    }
}

/// Where a version of memory comes to be.
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
    /// Of what is no row.
    pub(in crate::lower) key: PhiKey,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Definition(Definition, SmallVec<[Read; 4]>),
    /// As `Definition`, where sources of what is read become others.
    Image(Definition, SmallVec<[Read; 4]>, Box<[SourceSet; SourceSet::COUNT]>),
    Phi(std::ops::Range<usize>),
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(in crate::lower) key: RowKey,
    pub(in crate::lower) block: Node,
    pub(in crate::lower) what: What,
}

/// Rows about what arguments point to, by number; see [`full_through`](crate::lower::full_through).
#[derive(Debug, Default)]
pub(in crate::lower) struct PointeeRows {
    /// Slot, and the row of what it holds when the function is entered.
    pub(in crate::lower) entries: Vec<(u32, u32)>,
    /// Argument, and a row that whoever loads through it reads.
    pub(in crate::lower) loaded: Vec<(u32, u32)>,
    /// Slot, and the row of what it holds where the function returns.
    pub(in crate::lower) exits: Vec<(u32, u32)>,
}

/// The row of what a slot holds when the function is entered.
pub(super) fn entry_key(slot: &Slot) -> RowKey {
    RowKey { at: u32::MAX, is_phi: true, ..slot_key(slot) }
}

/// The row that whoever loads from an object reads. No block has the number.
pub(super) fn loaded_key(object: InstId) -> RowKey {
    let alloca = object.into_raw().into_u32();
    RowKey { alloca, offset: i64::MIN, is_phi: true, at: u32::MAX - 1, nth: 0 }
}

/// The row of what a slot holds where the function returns.
pub(super) fn exit_key(slot: &Slot, ret: InstId) -> RowKey {
    RowKey { at: ret.into_raw().into_u32(), ..slot_key(slot) }
}

/// What rows about a slot have in common.
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

/// Values of a table made by [`full_through`].
#[derive(Clone, Debug, Default)]
pub(crate) struct PointeeValues {
    /// Slot of what an argument points to, and what it holds when the function is entered.
    pub(crate) entries: Vec<(u32, Value)>,
    /// Argument, and a value that everything depends on that is loaded through it.
    pub(crate) loaded: Vec<(u32, Value)>,
    /// Slot, and what it holds where the function returns.
    pub(crate) exits: Vec<(u32, Value)>,
}
