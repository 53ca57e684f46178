//! Private variables of threads: which stores a load may read, said once and kept up to date.
//!
//! # What
//!
//! A *slot* is a variable of each thread that lives in memory and whose address goes nowhere. The
//! IR says what a block does with its slots, in order ([`SlotEvent`]); a load reads the contents
//! that reach it, and nothing else of the slot:
//!
//! ```text
//!   b0:  kill s                       sink.slot(b0, s, Kill)         declared in a loop, say
//!        store s, id                  sink.slot(b0, s, Store(id))    s depends on x ...
//!        v = load s                   sink.slot(b0, s, Load(v))      v: {x}
//!        store s, 0                   sink.slot(b0, s, Store(0))
//!        w = load s                   sink.slot(b0, s, Load(w))      w: {}
//! ```
//!
//! # How
//!
//! Each slot is in static single assignment form by itself ([`versions`](super::versions)). A load
//! of what one store put there reads the stored value. Joins of contents are phis of the table, and
//! updates are values of it; they have numbers behind those of the IR's own values
//! ([`MemoryValues`](crate::divergence::MemoryValues)), so that answers do not tell of them.
//!
//! # Cost
//!
//! Events of a block that are said again cost the slots of which something else is said: what these
//! have in the whole function. A change of an edge costs all slots.

use std::collections::{BTreeMap, BTreeSet};

use phalanx_graph::{Cfg, DomTree, DominanceFrontier, Node};
use rustc_hash::{FxHashMap, FxHashSet};

use super::versions::{Content, Versions};
use super::{Block, Brought, incoming};
use crate::block_graph::BlockGraph;
use crate::divergence::repair::EditableTable;
use crate::divergence::{Definition, Incoming, Transfer};
use crate::{SourceSet, Value};

/// A private variable, as a dense number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);

impl Slot {
    /// The slot with this number.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The number.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0
    }
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "s{}", self.0)
    }
}

/// What happens to a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotEvent {
    /// This value reads what the slot holds, besides what it is said to read.
    Load(Value),
    /// The slot holds anything whatever: it is declared without an initialiser. A declaration with
    /// one is a [`Store`](Self::Store).
    Kill,
    /// This takes the place of all that the slot held.
    Store(Brought),
    /// Some of the slot may become something else, which depends on these sources and values: what
    /// is stored, and the index that says where.
    Update(SourceSet, Vec<Value>),
}

impl SlotEvent {
    /// Whether the slot may hold something else afterwards.
    pub(super) const fn is_change(&self) -> bool {
        !matches!(self, Self::Load(_))
    }
}

/// What is known of one slot.
#[derive(Debug, Default)]
struct Variable {
    /// What was said, by block.
    events: BTreeMap<Block, Vec<SlotEvent>>,
    /// Values of the table that stand for joins and updates.
    rows: BTreeMap<RowKey, Value>,
    /// Loads, and what they read where that is a value.
    loads: Vec<(Value, Option<Value>)>,
}

/// A content that has a value of the table: of a node, a join or an update with a number.
type RowKey = (Node, Option<u32>);

/// What a value reads that loads.
#[derive(Debug, Default)]
struct Load {
    /// Apart from slots.
    own: Vec<Value>,
    /// By slot.
    slots: BTreeMap<Slot, BTreeSet<Value>>,
}

/// The slots of a function. See the [module documentation](self).
#[derive(Debug, Default)]
pub(super) struct Slots {
    variables: BTreeMap<Slot, Variable>,
    /// Which slots a block has events of.
    of_block: FxHashMap<Block, BTreeSet<Slot>>,
    loads: FxHashMap<Value, Load>,
    /// Slots of which something else was said.
    changed: BTreeSet<Slot>,
    /// Values of the table that stand for nothing now.
    free: Vec<Value>,
    /// What each value of the table stands for that is none of the IR.
    owner: FxHashMap<Value, (Slot, Node)>,
}

impl Slots {
    /// Whether there are any.
    pub(super) fn is_empty(&self) -> bool {
        self.variables.is_empty()
    }

    /// What a block does with slots.
    fn events(&self, block: Block) -> impl Iterator<Item = (Slot, &Vec<SlotEvent>)> {
        let slots = self.of_block.get(&block).into_iter().flatten();
        slots.map(move |slot| (*slot, &self.variables[slot].events[&block]))
    }

    /// Whether a block does the same with slots here and there.
    pub(super) fn is_same(&self, other: &Self, block: Block) -> bool {
        self.events(block).eq(other.events(block))
    }

    /// The slot and the node of a join or update, of which a chain of causes may tell.
    pub(super) fn owner(&self, value: Value) -> Option<(Slot, Node)> {
        self.owner.get(&value).copied()
    }

    /// Takes what a block does with slots in the place of what was said before.
    pub(super) fn set_events(&mut self, block: Block, events: Vec<(Slot, SlotEvent)>) {
        let mut by_slot: BTreeMap<Slot, Vec<SlotEvent>> = BTreeMap::new();
        for (slot, event) in events {
            by_slot.entry(slot).or_default().push(event);
        }
        let now: BTreeSet<Slot> = by_slot.keys().copied().collect();
        let before = match now.is_empty() {
            true => self.of_block.remove(&block),
            false => self.of_block.insert(block, now),
        };
        for slot in before.unwrap_or_default() {
            if let (false, Some(variable)) =
                (by_slot.contains_key(&slot), self.variables.get_mut(&slot))
            {
                variable.events.remove(&block);
                self.changed.insert(slot);
            }
        }
        for (slot, events) in by_slot {
            let known = &mut self.variables.entry(slot).or_default().events;
            if known.get(&block) != Some(&events) {
                known.insert(block, events);
                self.changed.insert(slot);
            }
        }
    }

    /// What a value reads, that was said to read this apart from slots.
    pub(super) fn reads(&mut self, value: Value, own: &[Value]) -> Option<Vec<Value>> {
        let load = self.loads.get_mut(&value)?;
        load.own = own.to_vec();
        Some(load.reads())
    }

    /// This value is no load any more.
    pub(super) fn forget_load(&mut self, value: Value) {
        self.loads.remove(&value);
    }

    /// Brings the table up to date with what was said; with `all` slots where the graph is another
    /// one, as contents may meet elsewhere.
    pub(super) fn settle(&mut self, env: &GraphFacts<'_>, table: &mut EditableTable, all: bool) {
        let changed = std::mem::take(&mut self.changed);
        let slots: Vec<Slot> = match all {
            true => self.variables.keys().copied().collect(),
            false => changed.into_iter().collect(),
        };
        let mut loads: FxHashSet<Value> = FxHashSet::default();
        for slot in slots {
            self.settle_one(slot, env, table, &mut loads);
        }
        let mut loads: Vec<Value> = loads.into_iter().collect();
        loads.sort_unstable();
        for value in loads {
            let Some(load) = self.loads.get(&value) else { continue };
            table.set_reads(value, &load.reads());
            if load.slots.is_empty() {
                self.loads.remove(&value);
            }
        }
    }

    fn settle_one(
        &mut self,
        slot: Slot,
        env: &GraphFacts<'_>,
        table: &mut EditableTable,
        loads: &mut FxHashSet<Value>,
    ) {
        let Some(mut variable) = self.variables.remove(&slot) else { return };
        let events: Vec<(Node, &[SlotEvent])> = variable
            .events
            .iter()
            .map(|(block, events)| (env.graph.node(*block), events.as_slice()))
            .collect();
        let versions = Versions::new(env.cfg, env.dom, env.frontier, &events);
        let old = std::mem::take(&mut variable.rows);
        variable.rows = self.rows(slot, &versions, &old, env, table);
        let brought = |content: Content| match content {
            Content::Stored(brought) => brought,
            Content::Join(node) => Brought::Value(variable.rows[&(node, None)]),
            Content::Update(node, number) => Brought::Value(variable.rows[&(node, Some(number))]),
        };
        state_joins(&versions, &variable.rows, brought, table);
        state_updates(&versions, &variable, &events, brought, table);
        let now = versions.loads.iter().map(|(value, content)| match brought(*content) {
            Brought::Value(read) => (*value, Some(read)),
            Brought::Constant(_) | Brought::Undef => (*value, None),
        });
        let now: Vec<(Value, Option<Value>)> = now.collect();
        let before = std::mem::replace(&mut variable.loads, now);
        self.state_loads(slot, &before, &variable.loads, table, loads);
        if !variable.events.is_empty() {
            self.variables.insert(slot, variable);
        }
    }

    /// The values that stand for the joins and updates of a slot: the old ones, where they are
    /// still there.
    fn rows(
        &mut self,
        slot: Slot,
        versions: &Versions,
        old: &BTreeMap<RowKey, Value>,
        env: &GraphFacts<'_>,
        table: &mut EditableTable,
    ) -> BTreeMap<RowKey, Value> {
        let joins = versions.joins.iter().map(|(node, _)| (*node, None));
        let updates = versions.updates.iter().map(|((node, number), _)| (*node, Some(*number)));
        let wanted: BTreeSet<RowKey> = joins.chain(updates).collect();
        for (_, row) in old.iter().filter(|(content, _)| !wanted.contains(content)) {
            table.set_value(*row, env.entry, Definition::PURE, None, &[]);
            self.owner.remove(row);
            self.free.push(*row);
        }
        let mut rows = BTreeMap::new();
        for content in wanted {
            let row = old.get(&content).copied().or_else(|| self.free.pop());
            let row = row.unwrap_or_else(|| table.add_memory());
            self.owner.insert(row, (slot, content.0));
            rows.insert(content, row);
        }
        rows
    }

    /// Notes what loads read of a slot now, and which read something else.
    fn state_loads(
        &mut self,
        slot: Slot,
        before: &[(Value, Option<Value>)],
        now: &[(Value, Option<Value>)],
        table: &EditableTable,
        changed: &mut FxHashSet<Value>,
    ) {
        if before == now {
            return;
        }
        for (value, _) in before {
            if let Some(load) = self.loads.get_mut(value) {
                load.slots.remove(&slot);
                changed.insert(*value);
            }
        }
        for (value, read) in now {
            let own = || Load { own: table.reads_of(*value).to_vec(), ..Load::default() };
            let load = self.loads.entry(*value).or_insert_with(own);
            load.slots.entry(slot).or_default().extend(*read);
            changed.insert(*value);
        }
    }
}

impl Load {
    fn reads(&self) -> Vec<Value> {
        self.own.iter().chain(self.slots.values().flatten()).copied().collect()
    }
}

/// What is known of the graph.
#[derive(Clone, Copy, Debug)]
pub(super) struct GraphFacts<'a> {
    pub(super) graph: &'a BlockGraph,
    pub(super) entry: Node,
    pub(super) cfg: &'a Cfg,
    pub(super) dom: &'a DomTree,
    pub(super) frontier: &'a DominanceFrontier,
}

fn state_joins(
    versions: &Versions,
    rows: &BTreeMap<RowKey, Value>,
    brought: impl Fn(Content) -> Brought,
    table: &mut EditableTable,
) {
    for (node, entries) in &versions.joins {
        let entries: Vec<Incoming> =
            entries.iter().map(|(pred, content)| incoming(*pred, brought(*content))).collect();
        table.set_phi(rows[&(*node, None)], *node, Definition::PURE, &entries);
    }
}

fn state_updates(
    versions: &Versions,
    variable: &Variable,
    events: &[(Node, &[SlotEvent])],
    brought: impl Fn(Content) -> Brought,
    table: &mut EditableTable,
) {
    let of: FxHashMap<Node, &[SlotEvent]> = events.iter().copied().collect();
    for ((node, number), before) in &versions.updates {
        let mut updates = of[node].iter().filter_map(|event| match event {
            SlotEvent::Update(sources, reads) => Some((*sources, reads)),
            _ => None,
        });
        let Some((seed, reads)) = updates.nth(*number as usize) else { continue };
        let mut reads = reads.clone();
        if let Brought::Value(read) = brought(*before) {
            reads.push(read);
        }
        let is_pure = seed.is_empty();
        let definition = Definition { seed, transfer: Transfer::Propagate, is_pure };
        table.set_value(variable.rows[&(*node, Some(*number))], *node, definition, None, &reads);
    }
}
