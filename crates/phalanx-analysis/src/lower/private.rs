//! Versions of private memory as values of the analyses.
//!
//! What a load of a private slot gives is what the version that reaches it holds. A version is one of
//!
//! | version | value |
//! |---|---|
//! | content on entry | undef |
//! | a store that replaces the slot | the value stored, itself: as if the slot were a register |
//! | another definition | a value that reads what is written, where, and the version before |
//! | a memory phi | a phi of versions |
//!
//! so the rules for values, joins and cycles apply as they are (Kong, *Variance Analysis on SSA-based IR*, 2009: content
//! travels over chi and memory phi to the loads). Where in an object is accessed counts as an operand unless it is a constant: of
//! the address only the indices that are no constants, since where the object itself is does not matter.
//!
//! A row is made for each of the last two kinds. Rows are named by what they stand for ([`RowKey`]), so that those of an edited
//! function can be matched with what they were.
//!
//! **Complexity.** O(touches + entries of memory phis + steps of address chains, at most [`CHAIN`] per touch).

use phalanx_graph::Node;
use phalanx_ir::{InstId, Opcode, Value as IrValue, flow::node_of};
use phalanx_target::SourceSet;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Code, FullRules, Numbering, constant_key};
use crate::{
    affect::Value,
    divergence::{
        Definition, Incoming, PhiKey, Transfer, ValueTableBuilder, repair::EditableTable,
    },
    memory::{
        PrivateMemory,
        private::{Effect, Touch},
        ssa::{EventKind, Version},
    },
};

/// How many steps from an address to its object are looked at for indices; beyond that the address itself counts.
const CHAIN: usize = 16;

/// What a test leaves out, to see that it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmittedRead {
    /// What a slot held before something was written to a part of it.
    OldContent,
    /// Where in an object is accessed.
    Place,
    /// All that comes into a memory phi but the first.
    OtherWays,
}

/// What a row stands for: the slot, by its object and first byte, and the instruction that defines it or the block of the phi.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RowKey {
    at: u32,
    is_phi: bool,
    alloca: u32,
    offset: i64,
}

/// A version of private memory that has a value of its own: a memory phi, or what a store leaves that does not replace all of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryVersion {
    /// Its number in the table.
    pub value: Value,
    /// The stack slot.
    pub object: InstId,
    /// Where it comes to be.
    pub by: VersionBy,
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
enum Read {
    Value(Value),
    Row(u32),
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    pred: Node,
    read: Option<Read>,
    /// Of what is no row.
    key: PhiKey,
}

#[derive(Clone, Debug)]
enum What {
    Definition(Definition, SmallVec<[Read; 4]>),
    Phi(std::ops::Range<usize>),
}

#[derive(Clone, Debug)]
struct Row {
    key: RowKey,
    block: Node,
    what: What,
}

/// All rows of a function, and what loads read.
#[derive(Debug, Default)]
pub(super) struct MemoryRows {
    rows: Vec<Row>,
    entries: Vec<Entry>,
    loads: Vec<(InstId, SmallVec<[Read; 4]>)>,
}

impl MemoryRows {
    /// What the rows are, numbered from `first` on.
    pub(super) fn versions(&self, first: usize) -> Vec<MemoryVersion> {
        let version = |(number, row): (usize, &Row)| MemoryVersion {
            value: Value::new(first + number),
            object: InstId::from_raw(row.key.alloca.into()),
            by: match row.key.is_phi {
                true => VersionBy::Phi(row.block),
                false => VersionBy::Write(InstId::from_raw(row.key.at.into())),
            },
        };
        self.rows.iter().enumerate().map(version).collect()
    }

    /// Those of a function with private memory.
    pub(super) fn new(
        code: Code<'_>,
        rules: &FullRules<'_>,
        memory: &PrivateMemory,
        omitted: Option<OmittedRead>,
    ) -> Self {
        let numbering = Numbering::new(code.header);
        let mut make = Make {
            code,
            numbering,
            memory,
            rules,
            omitted,
            row_of: vec![u32::MAX; memory.events().len()],
            definitions: 0,
        };
        for touch in memory.touches() {
            let is_row = make.is_definition(touch) && make.stored(touch).is_none();
            if is_row {
                make.row_of[touch.event as usize] = make.definitions;
                make.definitions += 1;
            }
        }
        make.all()
    }

    /// Adds the rows to a table, as values after so many unused numbers.
    pub(super) fn add_to(
        &self,
        table: &mut ValueTableBuilder,
        numbering: Numbering,
        entry: Node,
        unused: usize,
    ) {
        let first = table.add_memory(unused, self.rows.len(), entry);
        let value_of = |row: u32| Value::from_raw(first.raw() + row);
        for (number, row) in self.rows.iter().enumerate() {
            let value = value_of(number as u32);
            match &row.what {
                What::Definition(definition, reads) => {
                    table.define(value, row.block, *definition);
                    for read in reads {
                        table.operand(resolve(*read, value_of), value);
                    }
                }
                What::Phi(entries) => {
                    table.define_phi(value, row.block, Definition::PURE);
                    for entry in &self.entries[entries.clone()] {
                        table.incoming(value, incoming(entry, value_of));
                    }
                }
            }
        }
        for (load, reads) in &self.loads {
            for read in reads {
                table.operand(resolve(*read, value_of), numbering.inst(*load));
            }
        }
    }
}

fn resolve(read: Read, value_of: impl Fn(u32) -> Value) -> Value {
    match read {
        Read::Value(value) => value,
        Read::Row(row) => value_of(row),
    }
}

fn incoming(entry: &Entry, value_of: impl Fn(u32) -> Value) -> Incoming {
    let value = entry.read.map(|read| resolve(read, value_of));
    let key = value.map_or(entry.key, PhiKey::value);
    Incoming { pred: entry.pred, value, key }
}

/// Which values the rows of an editable table are.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowNumbers {
    known: FxHashMap<RowKey, Value>,
    free: Vec<Value>,
}

impl RowNumbers {
    /// The numbers that [`MemoryRows::add_to`] gave.
    pub(super) fn new(rows: &MemoryRows, first: Value) -> Self {
        let numbered = rows.rows.iter().enumerate();
        let known = numbered.map(|(i, row)| (row.key, Value::new(first.index() + i))).collect();
        Self { known, free: Vec::new() }
    }

    /// Brings the rows of a table, and what loads read, up to date.
    pub(super) fn update(
        &mut self,
        rows: &MemoryRows,
        numbering: Numbering,
        code: Code<'_>,
        table: &mut EditableTable,
    ) {
        let mut left = std::mem::take(&mut self.known);
        let mut values: Vec<Option<Value>> = Vec::with_capacity(rows.rows.len());
        for row in &rows.rows {
            values.push(left.remove(&row.key));
        }
        let mut gone: Vec<Value> = left.into_values().collect();
        gone.sort_unstable();
        let entry = code.flow.entry().map_or_else(Node::default, node_of);
        for value in gone {
            table.set_value(value, entry, Definition::IMPURE, None, &[]);
            self.free.push(value);
        }
        let mut end = table.len();
        let values: Vec<Value> = values
            .into_iter()
            .map(|known| {
                known.or_else(|| self.free.pop()).unwrap_or_else(|| {
                    end += 1;
                    Value::new(end - 1)
                })
            })
            .collect();
        table.grow(end, 0);
        let value_of = |row: u32| values[row as usize];
        for (number, row) in rows.rows.iter().enumerate() {
            let value = values[number];
            self.known.insert(row.key, value);
            match &row.what {
                What::Definition(definition, reads) => {
                    let reads: SmallVec<[Value; 4]> =
                        reads.iter().map(|read| resolve(*read, value_of)).collect();
                    table.set_value(value, row.block, *definition, None, &reads);
                }
                What::Phi(entries) => {
                    let entries: Vec<Incoming> = self::entries(rows, entries.clone(), value_of);
                    table.set_phi(value, row.block, Definition::PURE, &entries);
                }
            }
        }
        for (load, reads) in &rows.loads {
            let Some(block) = code.body.block_of(*load).map(node_of) else { continue };
            let reads: SmallVec<[Value; 4]> =
                reads.iter().map(|read| resolve(*read, value_of)).collect();
            table.set_value(numbering.inst(*load), block, Definition::PURE, None, &reads);
        }
    }
}

fn entries(
    rows: &MemoryRows,
    range: std::ops::Range<usize>,
    value_of: impl Fn(u32) -> Value,
) -> Vec<Incoming> {
    rows.entries[range].iter().map(|entry| incoming(entry, &value_of)).collect()
}

struct Make<'a, 'b> {
    code: Code<'a>,
    numbering: Numbering,
    memory: &'b PrivateMemory,
    rules: &'b FullRules<'a>,
    omitted: Option<OmittedRead>,
    /// By event that defines something: its row; `u32::MAX` if it has none.
    row_of: Vec<u32>,
    /// How many rows are definitions; those of phis follow.
    definitions: u32,
}

impl Make<'_, '_> {
    fn is_definition(&self, touch: &Touch) -> bool {
        self.memory.events().event(touch.event).kind != EventKind::Use
    }

    fn is_must(&self, touch: &Touch) -> bool {
        self.memory.events().event(touch.event).kind == EventKind::MustDef
    }

    /// The value that a store puts in the place of all that the slot held.
    fn stored(&self, touch: &Touch) -> Option<IrValue> {
        let is_whole = touch.effect == Effect::Store && self.is_must(touch);
        is_whole.then(|| self.code.body.operands(touch.inst)[0])
    }

    fn all(&self) -> MemoryRows {
        let mut made = MemoryRows::default();
        for touch in self.memory.touches() {
            if self.row_of[touch.event as usize] != u32::MAX {
                let row = self.definition(touch);
                made.rows.extend(row);
            }
        }
        for phi in self.memory.ssa().phis() {
            let first = made.entries.len();
            let incoming = self.memory.ssa().incoming(phi).iter();
            let ways = match self.omitted {
                Some(OmittedRead::OtherWays) => 1,
                _ => usize::MAX,
            };
            made.entries
                .extend(incoming.take(ways).map(|&(pred, version)| self.entry(pred, version)));
            made.rows.push(Row {
                key: self.key(phi.variable, phi.block.raw(), true),
                block: phi.block,
                what: What::Phi(first..made.entries.len()),
            });
        }
        let loads = self.memory.touches().iter().filter(|touch| touch.effect == Effect::Load);
        for touch in loads {
            if made.loads.last().is_none_or(|(last, _)| *last != touch.inst) {
                let mut reads = SmallVec::new();
                self.place(touch, self.code.body.operands(touch.inst)[0], &mut reads);
                made.loads.push((touch.inst, reads));
            }
            if let Some((_, reads)) = made.loads.last_mut() {
                reads.extend(self.version(self.memory.reaching(touch)));
            }
        }
        made
    }

    fn key(&self, slot: u32, at: u32, is_phi: bool) -> RowKey {
        let slot = self.memory.slots()[slot as usize];
        let offset = slot.range.map_or(i64::MIN, |(first, _)| first);
        RowKey { at, is_phi, alloca: slot.alloca.into_raw().into_u32(), offset }
    }

    /// What is read where a version is; nothing for undef and constants.
    fn version(&self, version: Version) -> Option<Read> {
        match version {
            Version::Entry => None,
            Version::Phi(phi) => Some(Read::Row(self.definitions + phi)),
            Version::Def(event) => match self.row_of[event as usize] {
                u32::MAX => {
                    let stored = self.stored(self.memory.touch_of(event))?;
                    self.numbering.operand(stored).map(Read::Value)
                }
                row => Some(Read::Row(row)),
            },
        }
    }

    fn entry(&self, pred: Node, version: Version) -> Entry {
        let read = self.version(version);
        let mut key = PhiKey::UNDEF;
        if let (None, Version::Def(event)) = (read, version)
            && let Some(stored) = self.stored(self.memory.touch_of(event))
        {
            // A number that no constant has keeps apart what is no constant either.
            key = match stored.as_const() {
                Some(constant) => constant_key(self.code.context, constant),
                None => PhiKey::constant((1 << 30) + event % (1 << 29)),
            };
        }
        Entry { pred, read, key }
    }

    /// What decides which part of an object is accessed.
    fn place(&self, touch: &Touch, address: IrValue, reads: &mut SmallVec<[Read; 4]>) {
        if !touch.is_at_variable_offset || self.omitted == Some(OmittedRead::Place) {
            return;
        }
        let body = self.code.body;
        let before = reads.len();
        let mut at = address;
        for _ in 0..CHAIN {
            let Some(inst) = at.as_inst() else { break };
            match body.inst(inst).opcode {
                Opcode::Alloca => return,
                Opcode::GetElementPtr => {
                    let indices = &body.operands(inst)[1..];
                    let values = indices.iter().filter_map(|&index| self.numbering.operand(index));
                    reads.extend(values.map(Read::Value));
                }
                Opcode::AddrSpaceCast | Opcode::BitCast => {}
                _ => break,
            }
            at = body.operands(inst)[0];
        }
        reads.truncate(before);
        reads.extend(self.numbering.operand(address).map(Read::Value));
    }

    /// The row of a definition.
    fn definition(&self, touch: &Touch) -> Option<Row> {
        let body = self.code.body;
        let block = body.block_of(touch.inst).map(node_of)?;
        let operands = body.operands(touch.inst);
        let mut reads: SmallVec<[Read; 4]> = SmallVec::new();
        let mut definition = Definition::PURE;
        let value = |operand: Option<&IrValue>| {
            operand.and_then(|&operand| self.numbering.operand(operand)).map(Read::Value)
        };
        match touch.effect {
            Effect::Store => {
                reads.extend(value(operands.first()));
                self.place(touch, operands[1], &mut reads);
            }
            Effect::Fill => {
                reads.extend(value(operands.get(1)));
                reads.extend(value(operands.get(2)));
                self.place(touch, operands[0], &mut reads);
            }
            Effect::CopyTo => {
                reads.extend(value(operands.get(2)));
                self.place(touch, operands[0], &mut reads);
                definition = self.copied(touch, &mut reads);
            }
            Effect::Clobber | Effect::Load | Effect::Read | Effect::CopyFrom => {
                definition = Definition::source(SourceSet::OPAQUE_THREAD);
            }
        }
        if !self.is_must(touch) && self.omitted != Some(OmittedRead::OldContent) {
            reads.extend(self.version(self.memory.reaching(touch)));
        }
        let key = self.key(touch.slot, touch.inst.into_raw().into_u32(), false);
        Some(Row { key, block, what: What::Definition(definition, reads) })
    }

    /// What a copy brings.
    fn copied(&self, to: &Touch, reads: &mut SmallVec<[Read; 4]>) -> Definition {
        let operands = self.code.body.operands(to.inst);
        let own = self.memory.of(to.inst);
        let sources = || own.iter().filter(|touch| touch.effect == Effect::CopyFrom);
        if let Some(first) = sources().next() {
            self.place(first, operands[1], reads);
            for from in sources() {
                if self.meets(to, from) {
                    reads.extend(self.version(self.memory.reaching(from)));
                }
            }
            return Definition::PURE;
        }
        reads.extend(self.numbering.operand(operands[1]).map(Read::Value));
        let is_timed = operands.get(3).is_none_or(|flag| {
            flag.as_const().is_none_or(|flag| self.rules.integer(flag) != Some(0))
        });
        let seed = self.rules.seed_of_load(operands[1], is_timed);
        Definition { seed, transfer: Transfer::Propagate, is_pure: seed.is_empty() }
    }

    /// Whether a copy takes something from one slot to another.
    fn meets(&self, to: &Touch, from: &Touch) -> bool {
        let range = |touch: &Touch| self.memory.slots()[touch.slot as usize].range;
        let (Some(to_at), Some(from_at)) = (to.at, from.at) else { return true };
        let (Some((first, end)), Some((from_first, from_end))) = (range(to), range(from)) else {
            return true;
        };
        let shift = |byte: i64| byte.saturating_sub(to_at).saturating_add(from_at);
        shift(first) < from_end && from_first < shift(end)
    }
}
