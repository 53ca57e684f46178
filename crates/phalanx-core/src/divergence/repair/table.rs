//! A [`ValueTable`] that can be edited.
//!
//! The table has operands as well as users, since a repair asks what may support a value. An edit
//! states the new definition of a value or terminator. The table retains the difference to the old
//! one until the next repair.
//!
//! **Users** are the compressed rows of the [`AffectMap`] and a list aside of those that were
//! added. What was removed stays listed; the users of a value that was touched are checked against
//! their operands. When an eighth is aside, the rows are rebuilt.
//!
//! **Assumptions** are part of the table, not of the stated definitions. A load may be assumed to
//! give one value to more than a wave: the table narrows its definition whenever it is stated. A
//! terminator may be assumed to go one way in each workgroup: the table narrows its sources
//! whenever they are read. See [`ValueTable::narrow_wave`] and
//! [`ValueTable::assume_uniform_in_group`].
//!
//! **The same code with other sources** ([`ValueTable::with_sources`]) has a table of its own,
//! which is edited by restating there what has been edited in the first one
//! ([`EditableTable::restate`]).

mod copied;
mod moved;
mod users;

use crate::SourceSet;
use phalanx_graph::{BitSet, Node};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use self::moved::Rerouted;
use super::rows::Rows;
use crate::affect::{AffectMap, User, UserKind, Value};
use crate::divergence::table::{differ, flag, narrowed, of_parallel_edges, one_way_in_group};
use crate::divergence::{Definition, Incoming, MemoryValues, Phi, Transfer, ValueTable};

/// What each source of an operand becomes, by bit number.
pub type Image = [SourceSet; SourceSet::COUNT];

/// Operands of one user.
pub(super) type Few = SmallVec<[Value; 4]>;

/// What a value or terminator was before it was edited.
#[derive(Clone, Debug)]
pub(super) struct Edited {
    pub(super) user: User,
    /// The operands that it had, or `None` if they are the same.
    pub(super) old: Option<Few>,
    /// Whether it is in another block now, or has become a phi or ceased to be one.
    pub(super) is_moved: bool,
}

/// What is said of one value by itself, in one place: an edit looks at few values, each far from
/// the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rule {
    block: Node,
    seed: SourceSet,
    flags: u8,
    /// Number of its image, if the flags say that it has one.
    image: u8,
}

impl Rule {
    fn has_image(self) -> bool {
        self.flags & flag::IMAGE != 0
    }
}

/// Tables of a function that follow its edits.
#[derive(Clone, Debug)]
pub struct EditableTable {
    /// See [`ValueTable::memory`]; `others` grows.
    memory: Option<MemoryValues>,
    /// By value.
    rules: Vec<Rule>,
    images: Vec<Image>,
    /// How many definitions have an image.
    imaged: usize,
    /// Operands by value, sorted, each once.
    operands: Rows<Value>,
    terminator_operands: Rows<Value>,
    /// Entries by phi, and where to find them.
    incoming: Rows<Incoming>,
    incoming_of: FxHashMap<Value, u32>,
    phis: Rows<Value>,
    users: AffectMap,
    more_users: FxHashMap<Value, SmallVec<[User; 2]>>,
    more: usize,
    /// Values whose users are not exactly those in `users`.
    touched: BitSet,
    /// Terminators that are not decided by their operands alone: whether they are fixed, and their
    /// seeds.
    terminators: FxHashMap<Node, (bool, SourceSet)>,
    /// Definitions that are narrowed, and what is left.
    narrowed: FxHashMap<Value, SourceSet>,
    /// Terminators taken to go one way in each workgroup.
    assumed: FxHashSet<Node>,
    log: SmallVec<[Edited; 4]>,
    /// Values that are in another block and as they were otherwise, with the block before.
    moved: Vec<(Value, Node)>,
    /// Entries that come from other blocks, of phis that are as they were otherwise.
    rerouted: Vec<Rerouted>,
    is_full: bool,
}

impl EditableTable {
    /// The same as a table, to be edited. O(values + uses).
    #[must_use]
    pub fn new(table: ValueTable) -> Self {
        let (values, blocks) = (table.len(), table.block_count());
        let nothing = Value::from_raw(0);
        let mut operands = Rows::empty(values);
        let mut terminator_operands = Rows::empty(blocks);
        for user in table.affects.all_users() {
            match user.kind() {
                UserKind::Value(user) => operands.count(user.index()),
                UserKind::Terminator(block) => terminator_operands.count(block.index()),
            }
        }
        operands.make_room(nothing);
        terminator_operands.make_room(nothing);
        // In order of values already, so one that is read twice comes twice in a row.
        for value in (0..values as u32).map(Value::from_raw) {
            for user in table.affects.users(value) {
                match user.kind() {
                    UserKind::Value(user) => operands.fill_other(user.index(), value),
                    UserKind::Terminator(block) => {
                        terminator_operands.fill_other(block.index(), value);
                    }
                }
            }
        }
        let empty =
            Incoming { pred: Node::default(), value: None, key: crate::divergence::PhiKey::UNDEF };
        let entries = || table.all_phis().enumerate();
        let incoming = Rows::new(
            table.phis.values.len(),
            empty,
            entries()
                .flat_map(|(row, phi)| phi.incoming.iter().map(move |entry| (row, *entry)))
                .collect::<Vec<_>>()
                .into_iter(),
        );
        let incoming_of = entries().map(|(row, phi)| (phi.value, row as u32)).collect();
        let phis = Rows::new(
            blocks,
            nothing,
            table.phis.values.iter().map(|phi| (table.block(*phi).index(), *phi)),
        );
        let mut terminators: FxHashMap<Node, (bool, SourceSet)> = FxHashMap::default();
        for block in table.fixed_terminators.iter() {
            terminators.entry(Node::new(block)).or_default().0 = true;
        }
        for &(block, seed) in &table.seeded_terminators {
            terminators.entry(block).or_default().1 |= seed;
        }
        let mut rules: Vec<Rule> = (table.block.iter().zip(&table.seed).zip(&table.flags))
            .map(|((&block, &seed), &flags)| Rule { block, seed, flags, image: 0 })
            .collect();
        for (rule, image) in rules.iter_mut().zip(table.image_of) {
            rule.image = image;
        }
        let imaged = rules.iter().filter(|rule| rule.has_image()).count();
        Self {
            touched: BitSet::new(values),
            memory: table.memory,
            rules,
            images: table.images,
            imaged,
            operands,
            terminator_operands,
            incoming,
            incoming_of,
            phis,
            users: table.affects,
            more_users: FxHashMap::default(),
            more: 0,
            terminators,
            narrowed: table.narrowed.into_iter().collect(),
            assumed: table.assumed_terminators.iter().map(Node::new).collect(),
            log: SmallVec::new(),
            moved: Vec::new(),
            rerouted: Vec::new(),
            is_full: false,
        }
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// How many values there are room for before those that stand for versions of memory; any
    /// number if there are none of these.
    #[must_use]
    pub fn room(&self) -> usize {
        self.memory.map_or(usize::MAX, |memory| memory.first as usize)
    }

    /// Keeps numbers below `room` free for more values: from there on values stand for versions of
    /// memory, of which answers do not tell. Once, before there are such values.
    pub(crate) fn leave_room(&mut self, room: usize) {
        debug_assert!(self.memory.is_none() && room >= self.len());
        let others = self.len() as u32;
        self.memory = Some(MemoryValues { others, first: room as u32 });
        self.grow(room, 0);
        self.memory = Some(MemoryValues { others, first: room as u32 });
    }

    /// Whether there are numbers of values that stand for versions of memory.
    pub(crate) fn has_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// A new value that stands for a version of memory.
    pub(crate) fn add_memory(&mut self) -> Value {
        debug_assert!(self.memory.is_some(), "room is left for versions of memory");
        let value = Value::new(self.len());
        self.grow(value.index() + 1, 0);
        value
    }

    /// What a value reads, sorted, each once.
    pub(crate) fn reads_of(&self, value: Value) -> &[Value] {
        self.operands(User::value(value))
    }

    /// States what a value that is no phi reads now. The rest stays as it was said.
    pub(crate) fn set_reads(&mut self, value: Value, operands: &[Value]) {
        debug_assert!(!self.is_phi(value), "{value:?} is a phi");
        let user = User::value(value);
        if let Some(old) = self.set_operands(user, operands) {
            self.log.push(Edited { user, old: Some(old), is_moved: false });
        }
    }

    /// The number of values that an answer reports.
    #[must_use]
    pub fn reported(&self) -> usize {
        self.memory.map_or(self.rules.len(), |memory| memory.others as usize)
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// How many blocks there are.
    #[must_use]
    pub fn block_count(&self) -> usize {
        self.phis.len()
    }

    /// The block of a definition.
    #[inline]
    #[must_use]
    pub fn block(&self, value: Value) -> Node {
        self.rules[value.index()].block
    }

    #[inline]
    pub(super) fn block_of(&self, user: User) -> Node {
        match user.kind() {
            UserKind::Value(value) => self.block(value),
            UserKind::Terminator(block) => block,
        }
    }

    #[inline]
    pub(super) fn seed(&self, value: Value) -> SourceSet {
        self.rules[value.index()].seed
    }

    #[inline]
    pub(super) fn is_fixed(&self, value: Value) -> bool {
        self.rules[value.index()].flags & flag::FIXED != 0
    }

    #[inline]
    pub(super) fn is_pure(&self, value: Value) -> bool {
        self.rules[value.index()].flags & (flag::PURE | flag::PHI) == flag::PURE
    }

    #[inline]
    pub(super) fn is_phi(&self, value: Value) -> bool {
        self.rules[value.index()].flags & flag::PHI != 0
    }

    /// Whether a value is a phi that selects anything.
    #[inline]
    pub(super) fn is_joinable(&self, value: Value) -> bool {
        self.rules[value.index()].flags & flag::JOINABLE != 0
    }

    #[inline]
    pub(super) fn transfer(&self, value: Value, operand: SourceSet) -> SourceSet {
        match self.rules[value.index()].flags & (flag::FIXED | flag::IMAGE) {
            0 => operand,
            flag::IMAGE => {
                let image = &self.images[self.rules[value.index()].image as usize];
                let bit = |s: SourceSet| image[s.bits().trailing_zeros() as usize];
                operand.iter().fold(SourceSet::EMPTY, |all, s| all | bit(s))
            }
            _ => SourceSet::EMPTY,
        }
    }

    pub(super) fn is_fixed_terminator(&self, block: Node) -> bool {
        self.terminators.get(&block).is_some_and(|rule| rule.0)
    }

    pub(super) fn terminator_seed(&self, block: Node) -> SourceSet {
        match self.terminators.get(&block) {
            Some(&(false, seed)) => self.terminator_transfer(block, seed),
            _ => SourceSet::EMPTY,
        }
    }

    /// What sources of an operand of a terminator become in the way that it takes.
    #[inline]
    pub(super) fn terminator_transfer(&self, block: Node, operand: SourceSet) -> SourceSet {
        match self.assumed.is_empty() || !self.assumed.contains(&block) {
            true => operand,
            false => one_way_in_group(operand),
        }
    }

    pub(super) fn seeded_terminators(&self) -> Vec<Node> {
        let mut blocks: Vec<Node> = self.terminators.keys().copied().collect();
        blocks.sort_unstable();
        blocks
    }

    /// What a value or terminator reads, sorted, each once.
    #[inline]
    pub(super) fn operands(&self, user: User) -> &[Value] {
        match user.kind() {
            UserKind::Value(value) => self.operands.of(value.index()),
            UserKind::Terminator(block) => self.terminator_operands.of(block.index()),
        }
    }

    #[inline]
    pub(crate) fn reads(&self, user: User, value: Value) -> bool {
        self.operands(user).binary_search(&value).is_ok()
    }

    pub(super) fn phi(&self, value: Value) -> Phi<'_> {
        let incoming =
            self.incoming_of.get(&value).map_or(&[][..], |row| self.incoming.of(*row as usize));
        Phi { value, incoming, is_joinable: self.is_joinable(value) }
    }

    pub(super) fn phis(&self, block: Node) -> &[Value] {
        self.phis.of(block.index())
    }

    /// Values in the list of edits, those that were only moved, and phis that were only rerouted.
    pub(super) fn edited(&self) -> impl Iterator<Item = Value> {
        let stated = self.log.iter().filter_map(|edited| match edited.user.kind() {
            UserKind::Value(value) => Some(value),
            UserKind::Terminator(_) => None,
        });
        let moved = self.moved.iter().map(|moved| moved.0);
        stated.chain(moved).chain(self.rerouted.iter().map(|entry| entry.phi))
    }

    /// The edits since they were [forgotten](Self::forget_edits).
    pub(super) fn edits(&self) -> &[Edited] {
        &self.log
    }

    /// Whether some definition has an image, as [`ValueTable::images`] of the same table says.
    #[must_use]
    pub fn has_images(&self) -> bool {
        self.imaged > 0
    }

    /// Whether more than 256 images were met: the table can no longer say what is true.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Makes room for values and blocks. New values are unknown, of the entry block, and read
    /// nothing.
    pub fn grow(&mut self, values: usize, blocks: usize) {
        match &mut self.memory {
            Some(memory) if values <= memory.first as usize => {
                memory.others = memory.others.max(values as u32);
            }
            _ => {}
        }
        if self.rules.len() < values {
            self.rules.resize(values, Rule::default());
            self.operands.grow(values);
        }
        // Both grow together.
        if self.phis.len() < blocks {
            self.phis.grow(blocks);
            self.terminator_operands.grow(blocks);
        }
    }

    /// Says what is left where a definition is narrowed, or that it is narrowed no longer. Counts
    /// from the next time that it is stated.
    pub fn narrow(&mut self, value: Value, left: Option<SourceSet>) {
        match left {
            Some(left) => self.narrowed.insert(value, left),
            None => self.narrowed.remove(&value),
        };
    }

    /// Says whether a terminator is taken to go one way in each workgroup.
    pub fn assume_uniform_in_group(&mut self, block: Node, is_assumed: bool) {
        self.grow(0, block.index() + 1);
        let is_other = match is_assumed {
            true => self.assumed.insert(block),
            false => self.assumed.remove(&block),
        };
        if is_other {
            let user = User::terminator(block);
            self.log.push(Edited { user, old: None, is_moved: false });
        }
    }

    /// States what a value that is no phi is now.
    pub fn set_value(
        &mut self,
        value: Value,
        block: Node,
        definition: Definition,
        image: Option<&Image>,
        operands: &[Value],
    ) {
        self.define(value, block, definition, image, operands, None);
    }

    /// States what a phi is now.
    pub fn set_phi(
        &mut self,
        phi: Value,
        block: Node,
        definition: Definition,
        incoming: &[Incoming],
    ) {
        let operands: Few = incoming.iter().filter_map(|entry| entry.value).collect();
        self.define(phi, block, definition, None, &operands, Some(incoming));
    }

    /// States what a terminator is now: whether it goes one way for all threads, the sources that
    /// it has itself, and what it reads.
    pub fn set_terminator(
        &mut self,
        block: Node,
        is_fixed: bool,
        seed: SourceSet,
        operands: &[Value],
    ) {
        self.grow(0, block.index() + 1);
        let rule = match (is_fixed, seed) {
            (false, SourceSet::EMPTY) => None,
            rule => Some(rule),
        };
        let old = match rule {
            None => self.terminators.remove(&block),
            Some(rule) => self.terminators.insert(block, rule),
        };
        let user = User::terminator(block);
        let replaced = self.set_operands(user, operands);
        if replaced.is_some() || old != rule {
            self.log.push(Edited { user, old: replaced, is_moved: false });
        }
    }

    /// States here what has been edited in another table of the same code since its last repair:
    /// with no sources, and images as `image` gives them. Whether that was possible: not where it
    /// gives none.
    pub(super) fn restate(
        &mut self,
        of: &EditableTable,
        image: impl Fn(&Image) -> Option<Image>,
    ) -> bool {
        self.grow(of.len(), of.block_count());
        self.memory = of.memory;
        of.moved.iter().for_each(|(value, _)| self.move_value(*value, of.block(*value)));
        let rerouted = of.rerouted.chunk_by(|a, b| a.phi == b.phi).map(|of| User::value(of[0].phi));
        let mut stated = of.log.iter().map(|edited| edited.user).chain(rerouted);
        stated.all(|user| self.restate_one(of, user, &image))
    }

    fn restate_one(
        &mut self,
        of: &EditableTable,
        user: User,
        image: impl Fn(&Image) -> Option<Image>,
    ) -> bool {
        let operands = of.operands(user);
        let value = match user.kind() {
            UserKind::Value(value) => value,
            UserKind::Terminator(block) => {
                let is_fixed = of.is_fixed_terminator(block);
                self.set_terminator(block, is_fixed, SourceSet::EMPTY, operands);
                return true;
            }
        };
        let Rule { flags, image: number, .. } = of.rules[value.index()];
        let mut image_here = None;
        let transfer = match flags & (flag::FIXED | flag::IMAGE) {
            0 => Transfer::Propagate,
            flag::IMAGE => {
                image_here = image(&of.images[usize::from(number)]);
                if image_here.is_none() {
                    return false;
                }
                Transfer::Propagate
            }
            _ => Transfer::Fixed,
        };
        let is_pure = flags & flag::PURE != 0;
        let definition = Definition { seed: SourceSet::EMPTY, transfer, is_pure };
        let incoming = of.is_phi(value).then(|| of.phi(value).incoming);
        let block = of.block(value);
        self.define(value, block, definition, image_here.as_ref(), operands, incoming);
        true
    }

    fn define(
        &mut self,
        value: Value,
        block: Node,
        definition: Definition,
        image: Option<&Image>,
        operands: &[Value],
        incoming: Option<&[Incoming]>,
    ) {
        self.grow(value.index() + 1, block.index() + 1);
        let i = value.index();
        let left = self.narrowed.get(&value);
        let mut seed = left.map_or(definition.seed, |left| narrowed(definition.seed, *left));
        let mut flags = if definition.is_pure { flag::PURE } else { 0 };
        let number = image.and_then(|image| self.image_number(image));
        match (definition.transfer, number) {
            (Transfer::Fixed, _) => flags |= flag::FIXED,
            (_, Some(_)) => flags |= flag::IMAGE,
            (Transfer::Image(_) | Transfer::Propagate, None) => {}
        }
        let mut has_other_entries = false;
        if let Some(incoming) = incoming {
            flags |= flag::PHI;
            if differ(value, incoming.iter().map(|entry| entry.key)) {
                flags |= flag::JOINABLE;
                seed |= of_parallel_edges(incoming);
            }
            has_other_entries = self.phi(value).incoming != incoming;
        }
        let old = self.rules[i];
        let new = Rule { block, seed, flags, image: number.unwrap_or(old.image) };
        let is_moved = old.block != block;
        let (was_phi, is_phi) = (old.flags & flag::PHI != 0, incoming.is_some());
        let replaced = self.set_operands(User::value(value), operands);
        if old == new
            && replaced.is_none()
            && (!has_other_entries || self.reroute(value, incoming.unwrap_or(&[])))
        {
            return;
        }
        let is_elsewhere = is_moved || was_phi != is_phi;
        self.log.push(Edited { user: User::value(value), old: replaced, is_moved: is_elsewhere });
        if was_phi && (is_moved || !is_phi) {
            let left: Vec<Value> =
                self.phis(old.block).iter().copied().filter(|phi| *phi != value).collect();
            self.phis.replace(old.block.index(), &left);
        }
        if is_phi && (is_moved || !was_phi) {
            let mut all = self.phis(block).to_vec();
            all.push(value);
            self.phis.replace(block.index(), &all);
        }
        if is_phi || was_phi {
            let next = self.incoming.len() as u32;
            let row = *self.incoming_of.entry(value).or_insert(next) as usize;
            self.incoming.grow(row + 1);
            self.incoming.replace(row, incoming.unwrap_or(&[]));
        }
        self.imaged = self.imaged + usize::from(new.has_image()) - usize::from(old.has_image());
        self.rules[i] = new;
    }

    fn image_number(&mut self, image: &Image) -> Option<u8> {
        if let Some(i) = self.images.iter().position(|known| known == image) {
            return Some(i as u8);
        }
        let number = u8::try_from(self.images.len()).ok();
        match number {
            Some(_) => self.images.push(*image),
            None => self.is_full = true,
        }
        number
    }

    /// Forgets what has been edited.
    pub fn forget_edits(&mut self) {
        self.log.clear();
        self.moved.clear();
        self.rerouted.clear();
    }
}
