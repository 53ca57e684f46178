//! The parts of a function that no analysis reads: names, metadata attachments, debug records.

use std::ops::Range;

use crate::{
    body::InstId,
    builder::names::{NameSpace, name_at},
    edit::aside::Aside,
    flow::BlockId,
    metadata::{Attachment, DebugRecord},
};

/// Names, attachments and debug records of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Extras {
    /// Names of instructions, arguments and blocks.
    pub names: Names,
    /// Metadata attachments, sorted by instruction; several entries for one instruction keep the
    /// order of the text.
    pub attachments: Vec<(InstId, Attachment)>,
    /// Debug records, each before the instruction given; sorted by instruction, in the order of the
    /// text.
    pub debug_records: Vec<(InstId, DebugRecord)>,
}

impl Extras {
    /// Metadata attachments of an instruction. O(log n).
    pub fn attachments_of(&self, inst: InstId) -> impl Iterator<Item = Attachment> + '_ {
        let start = self.attachments.partition_point(|&(at, _)| at < inst);
        self.attachments[start..].iter().take_while(move |&&(at, _)| at == inst).map(|&(_, a)| a)
    }

    /// Debug records before an instruction. O(log n).
    pub fn debug_records_before(&self, inst: InstId) -> impl Iterator<Item = &DebugRecord> + '_ {
        let start = self.debug_records.partition_point(|&(at, _)| at < inst);
        self.debug_records[start..].iter().take_while(move |(at, _)| *at == inst).map(|(_, r)| r)
    }

    /// Replaces the attachments of an instruction. O(attachments of the function).
    pub fn set_attachments(&mut self, inst: InstId, attachments: Vec<Attachment>) {
        let range = run(&self.attachments, inst);
        self.attachments.splice(range, attachments.into_iter().map(|a| (inst, a)));
    }

    /// Replaces the debug records before an instruction. O(debug records of the function).
    pub fn set_debug_records(&mut self, inst: InstId, records: Vec<DebugRecord>) {
        let range = run(&self.debug_records, inst);
        self.debug_records.splice(range, records.into_iter().map(|r| (inst, r)));
    }

    /// Where the debug records before an instruction are. O(log n).
    pub(crate) fn debug_run(&self, inst: InstId) -> Range<usize> {
        run(&self.debug_records, inst)
    }

    /// Moves the debug records before one instruction to before another, in front of the records
    /// there. O(records moved, and between the places).
    pub(crate) fn move_debug_records(&mut self, from: InstId, to: InstId) {
        let moved = self.debug_run(from).len();
        self.move_first_records(from, moved, to);
    }

    /// As [`Extras::move_debug_records`], for the first `moved` records.
    pub(crate) fn move_first_records(&mut self, from: InstId, moved: usize, to: InstId) {
        let start = self.debug_run(from).start;
        let end = start + moved;
        let place = self.debug_records.partition_point(|&(at, _)| at < to);
        let now = match place <= start {
            true => {
                self.debug_records[place..end].rotate_right(moved);
                place..place + moved
            }
            false => {
                self.debug_records[start..place].rotate_left(moved);
                place - moved..place
            }
        };
        for (at, _) in &mut self.debug_records[now] {
            *at = to;
        }
    }

    /// Gives back spare capacity.
    pub fn shrink_to_fit(&mut self) {
        self.names.shrink_to_fit();
        self.attachments.shrink_to_fit();
        self.debug_records.shrink_to_fit();
    }

    /// Bytes held on the heap, without those that the records themselves own.
    pub fn heap_bytes(&self) -> usize {
        self.names.heap_bytes()
            + self.attachments.capacity() * size_of::<(InstId, Attachment)>()
            + self.debug_records.capacity() * size_of::<(InstId, DebugRecord)>()
    }
}

/// Where the entries of an instruction are in a sorted list.
fn run<T>(list: &[(InstId, T)], inst: InstId) -> Range<usize> {
    let start = list.partition_point(|(at, _)| *at < inst);
    let len = list[start..].partition_point(|(at, _)| *at == inst);
    start..start + len
}

/// Names of the local values of a function. A value without an entry is numbered when printed.
///
/// A name is a byte string. All names share one buffer; an entry costs four bytes plus the name and
/// its length. Once a builder or a transaction has asked for a free name, an index of the names
/// costs four bytes more per name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    pub(crate) bytes: Vec<u8>,
    pub(crate) insts: Vec<u32>,
    pub(crate) args: Vec<u32>,
    pub(crate) blocks: Vec<u32>,
    /// The names by content; made when a free name is first needed.
    space: Aside<NameSpace>,
}

/// An entity that can have a name.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Named {
    Inst(u32),
    Arg(u32),
    Block(u32),
}

impl Names {
    /// The name of an instruction's result.
    pub fn inst(&self, inst: InstId) -> Option<&[u8]> {
        self.get(&self.insts, inst.into_raw().into_u32())
    }

    /// The name of an argument.
    pub fn arg(&self, position: u32) -> Option<&[u8]> {
        self.get(&self.args, position)
    }

    /// The name of a block.
    pub fn block(&self, block: BlockId) -> Option<&[u8]> {
        self.get(&self.blocks, block.into_raw().into_u32())
    }

    /// Names an instruction's result; the empty name takes the name away.
    pub fn set_inst(&mut self, inst: InstId, name: &[u8]) {
        self.set(Named::Inst(inst.into_raw().into_u32()), name);
    }

    /// Names an argument; the empty name takes the name away.
    pub fn set_arg(&mut self, position: u32, name: &[u8]) {
        self.set(Named::Arg(position), name);
    }

    /// Names a block; the empty name takes the name away.
    pub fn set_block(&mut self, block: BlockId, name: &[u8]) {
        self.set(Named::Block(block.into_raw().into_u32()), name);
    }

    pub(crate) fn set(&mut self, named: Named, name: &[u8]) {
        let entry = self.store(name);
        self.set_entry(named, entry);
    }

    /// The entry of something; 0 if it has no name.
    pub(crate) fn entry(&self, named: Named) -> u32 {
        let (table, at) = match named {
            Named::Inst(at) => (&self.insts, at),
            Named::Arg(at) => (&self.args, at),
            Named::Block(at) => (&self.blocks, at),
        };
        table.get(at as usize).copied().unwrap_or(0)
    }

    /// Gives something the name of an entry.
    pub(crate) fn set_entry(&mut self, named: Named, entry: u32) {
        let old = self.entry(named);
        if let Some(space) = self.space.get_mut() {
            space.leave(&self.bytes, old);
            space.enter(&self.bytes, entry);
        }
        match named {
            Named::Inst(at) => set(&mut self.insts, at, entry),
            Named::Arg(at) => set(&mut self.args, at, entry),
            Named::Block(at) => set(&mut self.blocks, at, entry),
        }
    }

    /// The name if it is free, or one derived from it that is. See [`NameSpace::unique`].
    pub(crate) fn unique(&self, name: &[u8]) -> Vec<u8> {
        if name.is_empty() {
            return Vec::new();
        }
        let entries = || [&self.insts, &self.args, &self.blocks].into_iter().flatten().copied();
        let space = self.space.get_or_init(|| NameSpace::of(&self.bytes, entries()));
        space.unique(&self.bytes, name)
    }

    /// Stores a name and returns the entry that [`name_at`] reads.
    fn store(&mut self, name: &[u8]) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let entry = u32::try_from(self.bytes.len() + 1).expect("less than 4 GiB of names");
        let mut len = name.len();
        while len >= 0x80 {
            self.bytes.push(len as u8 | 0x80);
            len >>= 7;
        }
        self.bytes.push(len as u8);
        self.bytes.extend_from_slice(name);
        entry
    }

    fn get(&self, table: &[u32], at: u32) -> Option<&[u8]> {
        name_at(&self.bytes, *table.get(at as usize)?)
    }

    fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
        self.insts.shrink_to_fit();
        self.args.shrink_to_fit();
        self.blocks.shrink_to_fit();
    }

    fn heap_bytes(&self) -> usize {
        self.bytes.capacity()
            + (self.insts.capacity() + self.args.capacity() + self.blocks.capacity())
                * size_of::<u32>()
            + self.space.get().map_or(0, NameSpace::heap_bytes)
    }
}

fn set(table: &mut Vec<u32>, at: u32, entry: u32) {
    let at = at as usize;
    if at >= table.len() {
        if entry == 0 {
            return;
        }
        table.resize(at + 1, 0);
    }
    table[at] = entry;
}
