//! Versions of private memory as values of the analyses.
//!
//! A load of a private slot gives the content of the version that reaches it. A version is one of
//!
//! | version | value |
//! |---|---|
//! | content on entry | undef |
//! | a store that replaces the slot | the value stored, itself: as if the slot were a register |
//! | another definition | a value that reads what is written, the place in the object, and the version before |
//! | a memory phi | a phi of versions |
//!
//! So the rules for values, joins and cycles apply unchanged (Kong, *Variance Analysis on SSA-based
//! IR*, 2009: content travels over chi and memory phi to the loads).
//!
//! ```text
//! store i32 %a, ptr %s                        ; version 1: %a itself
//! %p = getelementptr i8, ptr %s, i32 %i
//! store i8 %b, ptr %p                         ; version 2, a row: reads %b, %i and version 1
//! %v = load i32, ptr %s                       ; reads version 2
//! ```
//!
//! The place of an access counts as an operand unless it is a constant. Of the address, only the
//! indices that are no constants count, since the place of the object itself does not matter.
//!
//! A *row* of the table is made for each of the last two kinds of versions. Rows have names that
//! say what they stand for ([`RowKey`]), so that after an edit they can be matched with the rows
//! before.
//!
//! The effects of called functions are in [`calls`].
//!
//! **Complexity.** O(touches + entries of memory phis + steps of address chains, at most [`CHAIN`]
//! per touch).

mod calls;
mod contents;
mod numbers;
mod part;
mod row;

pub(crate) use self::numbers::RowNumbers;
pub(super) use self::part::PartRows;
pub(crate) use self::row::PointeeValues;
use self::row::{
    Entry, PointeeRows, Read, Row, RowKey, What, entry_key, exit_key, incoming, loaded_key,
    resolve, slot_key,
};
pub use self::row::{MemoryVersion, VersionBy};
use super::omitted::OmittedRead;

use phalanx_core::{
    affect::Value,
    divergence::{Definition, PhiKey, Transfer, ValueTableBuilder},
};
use phalanx_graph::Node;
use phalanx_ir::{InstId, Opcode, Value as IrValue, flow::node_of};
use phalanx_target::SourceSet;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::full::FullRules;
use super::rule::constant_key;
use crate::code::{Code, Numbering};
use crate::memory::{
    PrivateMemory,
    private::{Effect, Touch, parameter_of},
    ssa::{EventKind, MemoryPhi, Version},
};

/// How many steps from an address to its object are searched for indices; beyond that the address
/// itself counts as an operand.
const CHAIN: usize = 16;

/// All rows of a function, and what its loads read.
#[derive(Debug, Default)]
pub(crate) struct MemoryRows {
    rows: Vec<Row>,
    entries: Vec<Entry>,
    /// Loads, and calls of functions that read private memory.
    loads: Vec<(InstId, SmallVec<[Read; 4]>)>,
    pointees: PointeeRows,
}

impl MemoryRows {
    /// The rows about memory that arguments point to, as values numbered from `first` on.
    pub(super) fn pointees(&self, first: usize) -> PointeeValues {
        let value = |row: u32| Value::new(first + row as usize);
        let PointeeRows { entries, loaded, exits } = &self.pointees;
        PointeeValues {
            entries: entries.iter().map(|&(slot, row)| (slot, value(row))).collect(),
            loaded: loaded.iter().map(|&(position, row)| (position, value(row))).collect(),
            exits: exits.iter().map(|&(slot, row)| (slot, value(row))).collect(),
        }
    }

    /// The versions that the rows stand for, numbered from `first` on.
    pub(super) fn versions(&self, first: usize) -> Vec<MemoryVersion> {
        let version = |(number, row): (usize, &Row)| MemoryVersion {
            value: Value::new(first + number),
            object: InstId::from_raw(row.key.alloca.into()),
            offset: Some(row.key.offset).filter(|&offset| offset != i64::MIN),
            by: match row.key.is_phi {
                true => VersionBy::Phi(row.block),
                false => VersionBy::Write(InstId::from_raw(row.key.at.into())),
            },
        };
        self.rows.iter().enumerate().map(version).collect()
    }

    /// The rows of a function with this private memory.
    pub(super) fn new(
        code: Code<'_>,
        rules: &FullRules<'_>,
        memory: &PrivateMemory,
        omitted: Option<OmittedRead>,
    ) -> Self {
        let mut make = Make::new(code, rules, memory, omitted);
        make.pointees = Pointees::new(memory, make.definitions);
        make.all()
    }

    /// Adds the rows to a table, as values after `unused` numbers that are left out.
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
                What::Image(definition, reads, image) => {
                    let transfer = table.image(**image);
                    table.define(value, row.block, Definition { transfer, ..*definition });
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

struct Make<'a, 'b> {
    code: Code<'a>,
    numbering: Numbering,
    memory: &'b PrivateMemory,
    rules: &'b FullRules<'a>,
    omitted: Option<OmittedRead>,
    /// The row of each event that defines something; `u32::MAX` if it has none.
    row_of: Vec<u32>,
    /// How many rows are definitions; the rows of phis follow.
    definitions: u32,
    pointees: Pointees,
}

/// Numbers of the rows about memory that arguments point to; they follow the rows of definitions
/// and phis.
#[derive(Debug, Default)]
struct Pointees {
    /// By argument: the row that loads through it read, for arguments whose memory is tracked.
    loaded: Vec<(u32, u32)>,
    /// By slot: the row of its content at the entry of the function.
    entry: FxHashMap<u32, u32>,
    /// What these rows stand for, in order.
    keys: Vec<RowKey>,
}

impl Pointees {
    fn new(memory: &PrivateMemory, definitions: u32) -> Self {
        let first = definitions + memory.ssa().phis().len() as u32;
        let mut found = Pointees::default();
        let mut last = None;
        for (slot, number) in memory.slots().iter().zip(0..) {
            let Some(position) = parameter_of(slot.alloca) else { continue };
            // Slots of an object are adjacent.
            if last.replace(position) != Some(position) {
                found.loaded.push((position, first + found.keys.len() as u32));
                found.keys.push(loaded_key(slot.alloca));
            }
            found.entry.insert(number, first + found.keys.len() as u32);
            found.keys.push(entry_key(slot));
        }
        found
    }

    /// The row that all loads from an object read.
    fn loaded(&self, object: InstId) -> Option<Read> {
        let position = parameter_of(object)?;
        let known = self.loaded.iter().find(|(of, _)| *of == position);
        known.map(|&(_, row)| Read::Row(row))
    }
}

impl<'a, 'b> Make<'a, 'b> {
    /// Without the rows of memory that arguments point to.
    fn new(
        code: Code<'a>,
        rules: &'b FullRules<'a>,
        memory: &'b PrivateMemory,
        omitted: Option<OmittedRead>,
    ) -> Self {
        let mut make = Make {
            code,
            numbering: Numbering::new(code.header),
            memory,
            rules,
            omitted,
            row_of: vec![u32::MAX; memory.events().len()],
            definitions: 0,
            pointees: Pointees::default(),
        };
        for touch in memory.touches() {
            let is_row = make.is_definition(touch) && make.stored(touch).is_none();
            if is_row {
                make.row_of[touch.event as usize] = make.definitions;
                make.definitions += 1;
            }
        }
        make
    }
}

impl Make<'_, '_> {
    fn is_definition(&self, touch: &Touch) -> bool {
        self.memory.events().event(touch.event).kind != EventKind::Use
    }

    fn is_must(&self, touch: &Touch) -> bool {
        self.memory.events().event(touch.event).kind == EventKind::MustDef
    }

    /// The value that a store puts into the slot, if it replaces all of the slot.
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
        self.memory.ssa().phis().iter().for_each(|phi| self.phi(phi, &mut made));
        self.memory.touches().iter().for_each(|touch| self.read(touch, &mut made));
        self.add_pointees(&mut made);
        made
    }

    /// Adds the row of a memory phi.
    fn phi(&self, phi: &MemoryPhi, made: &mut MemoryRows) {
        let first = made.entries.len();
        let incoming = self.memory.ssa().incoming(phi).iter();
        let ways = match self.omitted {
            Some(OmittedRead::OtherWays) => 1,
            _ => usize::MAX,
        };
        let slot = phi.variable;
        let entries = incoming.take(ways);
        made.entries.extend(entries.map(|&(pred, version)| self.entry(slot, pred, version)));
        made.rows.push(Row {
            key: self.key(phi.variable, phi.block.raw(), true),
            block: phi.block,
            what: What::Phi(first..made.entries.len()),
        });
    }

    /// Adds what a load or call reads. Touches of an instruction are adjacent.
    fn read(&self, touch: &Touch, made: &mut MemoryRows) {
        if !matches!(touch.effect, Effect::Load | Effect::ReadByCall) {
            return;
        }
        if made.loads.last().is_none_or(|(last, _)| *last != touch.inst) {
            let mut reads = SmallVec::new();
            match touch.effect {
                Effect::Load => {
                    let address = self.code.body.operands(touch.inst)[0];
                    self.place(touch, address, &mut reads);
                }
                // A call reads all its slots at once.
                _ => calls::result(self, touch.inst, &mut reads),
            }
            made.loads.push((touch.inst, reads));
        }
        if let (Effect::Load, Some((_, reads))) = (touch.effect, made.loads.last_mut()) {
            self.content(touch, reads);
        }
    }

    /// Adds what a slot holds before something reads it.
    fn content(&self, touch: &Touch, reads: &mut SmallVec<[Read; 4]>) {
        reads.extend(self.version(touch.slot, self.memory.reaching(touch)));
        reads.extend(self.pointees.loaded(self.memory.object(touch)));
    }

    /// Adds the rows about memory that arguments point to: contents at the entry, contents for
    /// loads anywhere, and contents at the returns.
    fn add_pointees(&self, made: &mut MemoryRows) {
        let Some(entry) = self.code.flow.entry().map(node_of) else { return };
        let mut known: Vec<(u32, u32)> =
            self.pointees.entry.iter().map(|(&slot, &row)| (slot, row)).collect();
        known.sort_unstable();
        for &key in &self.pointees.keys {
            // These rows read nothing.
            let what = What::Definition(Definition::PURE, SmallVec::new());
            made.rows.push(Row { key, block: entry, what });
        }
        made.pointees.entries = known;
        made.pointees.loaded.clone_from(&self.pointees.loaded);
        let exits = self.memory.touches().iter().filter(|touch| touch.effect == Effect::Return);
        for touch in exits {
            let Some(row) = self.exit(touch) else { continue };
            made.pointees.exits.push((touch.slot, made.rows.len() as u32));
            made.rows.push(row);
        }
    }

    /// The row of what a slot holds at a return.
    fn exit(&self, touch: &Touch) -> Option<Row> {
        let block = self.code.body.block_of(touch.inst).map(node_of)?;
        let key = exit_key(&self.memory.slots()[touch.slot as usize], touch.inst);
        let reads = self.version(touch.slot, self.memory.reaching(touch));
        let what = What::Definition(Definition::PURE, reads.into_iter().collect());
        Some(Row { key, block, what })
    }

    fn key(&self, slot: u32, at: u32, is_phi: bool) -> RowKey {
        RowKey { at, is_phi, ..slot_key(&self.memory.slots()[slot as usize]) }
    }

    /// What a read of a version reads; nothing for undef and constants.
    fn version(&self, slot: u32, version: Version) -> Option<Read> {
        match version {
            Version::Entry => self.pointees.entry.get(&slot).map(|&row| Read::Row(row)),
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

    fn entry(&self, slot: u32, pred: Node, version: Version) -> Entry {
        let read = self.version(slot, version);
        let mut key = PhiKey::UNDEF;
        if let (None, Version::Def(event)) = (read, version)
            && let Some(stored) = self.stored(self.memory.touch_of(event))
        {
            // A number that no constant has keeps entries that are no constants apart.
            key = match stored.as_const() {
                Some(constant) => constant_key(self.code.context, constant),
                None => PhiKey::constant((1 << 30) + event % (1 << 29)),
            };
        }
        Entry { pred, read, key }
    }

    /// Adds the values that decide which part of an object a touch accesses.
    fn place(&self, touch: &Touch, address: IrValue, reads: &mut SmallVec<[Read; 4]>) {
        if touch.is_at_variable_offset {
            self.indices(address, reads);
        }
    }

    /// Adds the values that decide which part of an object an address points to.
    fn indices(&self, address: IrValue, reads: &mut SmallVec<[Read; 4]>) {
        if self.omitted == Some(OmittedRead::Place) {
            return;
        }
        let body = self.code.body;
        let before = reads.len();
        let mut at = address;
        for _ in 0..CHAIN {
            let Some(inst) = at.as_inst() else {
                let position = at.as_arg().unwrap_or(u32::MAX);
                match self.pointees.loaded.iter().any(|(known, _)| *known == position) {
                    true => return,
                    false => break,
                }
            };
            match body.inst(inst).opcode {
                Opcode::Alloca => return,
                Opcode::Load if self.memory.held(inst) == Some(true) => return,
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
        if touch.effect == Effect::WriteByCall {
            return calls::written(self, touch);
        }
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
            Effect::Clobber
            | Effect::Load
            | Effect::Read
            | Effect::CopyFrom
            | Effect::ReadByCall
            | Effect::WriteByCall
            | Effect::Return => {
                definition = Definition::source(SourceSet::OPAQUE_THREAD);
            }
        }
        if !self.is_must(touch) && self.omitted != Some(OmittedRead::OldContent) {
            reads.extend(self.version(touch.slot, self.memory.reaching(touch)));
        }
        let key = self.key(touch.slot, touch.inst.into_raw().into_u32(), false);
        Some(Row { key, block, what: What::Definition(definition, reads) })
    }

    /// Adds what a copy reads.
    fn copied(&self, to: &Touch, reads: &mut SmallVec<[Read; 4]>) -> Definition {
        let operands = self.code.body.operands(to.inst);
        let own = self.memory.of(to.inst);
        let sources = || own.iter().filter(|touch| touch.effect == Effect::CopyFrom);
        if let Some(first) = sources().next() {
            self.place(first, operands[1], reads);
            for from in sources() {
                if self.meets(to, from) {
                    self.content(from, reads);
                }
            }
            return Definition::PURE;
        }
        let is_timed = operands.get(3).is_none_or(|flag| {
            flag.as_const().is_none_or(|flag| self.rules.integer(flag) != Some(0))
        });
        let content = self.rules.content(operands[1]).filter(|_| !is_timed);
        if content.is_none() {
            reads.extend(self.numbering.operand(operands[1]).map(Read::Value));
        }
        let seed = content.unwrap_or_else(|| self.rules.seed_of_load(operands[1], is_timed));
        Definition { seed, transfer: Transfer::Propagate, is_pure: seed.is_empty() }
    }

    /// Whether a copy takes bytes from one slot to another.
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
