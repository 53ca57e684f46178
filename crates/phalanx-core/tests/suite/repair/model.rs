//! A function that is edited, as tables of what is computed from what.

use phalanx_core::SourceSet;
use phalanx_core::divergence::repair::{Image, Retained};
use phalanx_core::divergence::{
    Definition, FlowFacts, Incoming, PhiKey, Value, ValueTable, ValueTableBuilder,
};
use phalanx_graph::sync::SyncDependence;
use phalanx_graph::{Cfg, Cycles, DomTree, Node};
use phalanx_testing::abstract_program::{AbstractProgram, Operand, Operation};
use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

/// One value as the tables see it.
#[derive(Clone, Debug)]
pub(super) struct Def {
    pub(super) block: Node,
    pub(super) definition: Definition,
    pub(super) image: Option<Image>,
    pub(super) operands: Vec<Value>,
    /// Of a phi.
    pub(super) incoming: Option<Vec<Incoming>>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct End {
    pub(super) is_fixed: bool,
    pub(super) seed: SourceSet,
    pub(super) operands: Vec<Value>,
}

/// An edit that facts follow by copying.
#[derive(Clone, Copy)]
pub(super) enum Update {
    Split(Node),
    Edge(Node),
    Merge(Node, Node),
}

/// A function that is edited: the obvious copy of what the tables should say.
pub(super) struct Model {
    pub(super) layout: Vec<Node>,
    pub(super) cfg: Cfg,
    pub(super) dom: DomTree,
    pub(super) cycles: Cycles,
    pub(super) sync: SyncDependence,
    pub(super) values: Vec<Def>,
    pub(super) ends: Vec<End>,
}

pub(super) const SOURCES: [SourceSet; 4] =
    [SourceSet::X, SourceSet::LANE, SourceSet::OPAQUE_WAVE, SourceSet::OPAQUE_THREAD];

impl Model {
    pub(super) fn new(program: &AbstractProgram, rng: &mut SmallRng) -> Self {
        let cfg = program.cfg();
        let dom = DomTree::new(&cfg);
        let cycles = Cycles::new(&cfg);
        let sync = SyncDependence::new(&cfg, &dom, &cycles);
        let nothing = Def {
            block: Node::new(0),
            definition: Definition::IMPURE,
            image: None,
            operands: Vec::new(),
            incoming: None,
        };
        let mut values = vec![nothing; program.value_count as usize];
        let mut ends = Vec::new();
        for (i, block) in program.blocks.iter().enumerate() {
            for (number, operation) in &block.operations {
                let def = &mut values[*number as usize];
                def.block = Node::new(i);
                let source = *SOURCES.choose(rng).expect("some");
                def.definition = match operation {
                    Operation::Uniform => Definition::IMPURE,
                    Operation::AlwaysUniform(_) => Definition::fixed(SourceSet::EMPTY),
                    Operation::Divergent => Definition::source(source),
                    Operation::ThreadId => Definition { seed: source, ..Definition::PURE },
                    _ => Definition::PURE,
                };
                if let Operation::Phi(entries) = operation {
                    let entry = |&(pred, operand): &(Node, Operand)| incoming(pred, operand);
                    def.incoming = Some(entries.iter().map(entry).collect());
                } else {
                    def.operands = operation.operands().filter_map(value_of).collect();
                }
            }
            let operands = block.terminator.condition().and_then(value_of);
            ends.push(End { operands: operands.into_iter().collect(), ..End::default() });
        }
        Self { layout: cfg.nodes().collect(), cfg, dom, cycles, sync, values, ends }
    }

    pub(super) fn flow(&self) -> FlowFacts<'_> {
        FlowFacts { cfg: &self.cfg, dom: &self.dom, cycles: &self.cycles, sync: &self.sync }
    }

    pub(super) fn table(&self) -> ValueTable {
        let mut table = ValueTableBuilder::new(self.ends.len());
        for def in &self.values {
            let mut definition = def.definition;
            if let Some(image) = &def.image {
                definition.transfer = table.image(*image);
            }
            match def.incoming {
                Some(_) => table.phi(def.block, definition),
                None => table.value(def.block, definition),
            };
        }
        for (i, def) in self.values.iter().enumerate() {
            def.operands.iter().for_each(|o| table.operand(*o, Value::new(i)));
            for entry in def.incoming.iter().flatten() {
                table.incoming(Value::new(i), *entry);
            }
        }
        for (i, end) in self.ends.iter().enumerate() {
            end.operands.iter().for_each(|o| table.terminator_operand(*o, Node::new(i)));
            if end.is_fixed {
                table.fix_terminator(Node::new(i));
            }
            if !end.seed.is_empty() {
                table.seed_terminator(Node::new(i), end.seed);
            }
        }
        table.finish()
    }

    pub(super) fn any_value(&self, rng: &mut SmallRng) -> Value {
        Value::new(rng.random_range(0..self.values.len()))
    }

    pub(super) fn any_entry(&self, rng: &mut SmallRng, pred: Node) -> Incoming {
        let operand = match rng.random_range(0..6) {
            0 => Operand::Undef,
            1 | 2 => Operand::Constant(rng.random_range(0..3)),
            _ => Operand::Value(self.any_value(rng).raw()),
        };
        incoming(pred, operand)
    }

    pub(super) fn any_phi(&self, rng: &mut SmallRng, block: Node) -> Vec<Incoming> {
        let mut preds = self.cfg.predecessors(block).to_vec();
        preds.sort_unstable();
        preds.dedup();
        preds.into_iter().map(|pred| self.any_entry(rng, pred)).collect()
    }

    pub(super) fn any_definition(rng: &mut SmallRng) -> (Definition, Option<Image>) {
        let source = *SOURCES.choose(rng).expect("some");
        match rng.random_range(0..10) {
            0 => (Definition::source(source), None),
            1 => (Definition { seed: source, ..Definition::PURE }, None),
            2 => (Definition::fixed(SourceSet::EMPTY), None),
            3 => (Definition::fixed(source), None),
            4 | 5 => (Definition::IMPURE, None),
            6 => {
                let mut image = [SourceSet::EMPTY; SourceSet::COUNT];
                for (bit, to) in image.iter_mut().enumerate() {
                    *to = match rng.random_range(0..3) {
                        0 => SourceSet::EMPTY,
                        1 => SourceSet::from_bits(1 << bit),
                        _ => SourceSet::OPAQUE_WAVE,
                    };
                }
                (Definition::PURE, Some(image))
            }
            _ => (Definition::PURE, None),
        }
    }

    /// Changes something, here and in the tables.
    pub(super) fn edit(&mut self, rng: &mut SmallRng, retained: &mut Option<Retained>) {
        let value = self.any_value(rng);
        let i = value.index();
        match rng.random_range(0..20) {
            0..=6 => self.edit_operand(rng, value),
            7..=9 => {
                if self.values[i].incoming.is_none() {
                    (self.values[i].definition, self.values[i].image) = Self::any_definition(rng);
                }
            }
            10..=12 => {
                let block = Node::new(rng.random_range(0..self.ends.len()));
                self.edit_end(rng, block);
                let End { is_fixed, seed, operands } = &self.ends[block.index()];
                if let Some(retained) = retained {
                    retained.table().set_terminator(block, *is_fixed, *seed, operands);
                }
                return;
            }
            13..=15 => {
                let (definition, image) = Self::any_definition(rng);
                let block = Node::new(rng.random_range(0..self.ends.len()));
                let operands = (0..rng.random_range(0..3)).map(|_| self.any_value(rng)).collect();
                let new = Value::new(self.values.len());
                self.values.push(Def { block, definition, image, operands, incoming: None });
                if rng.random_bool(0.5) && self.values[i].incoming.is_none() {
                    self.values[i].operands.push(new);
                }
                self.state(new, retained);
            }
            16 => {
                let block = Node::new(rng.random_range(0..self.ends.len()));
                let incoming = Some(self.any_phi(rng, block));
                let new = Value::new(self.values.len());
                let definition = Definition::PURE;
                self.values.push(Def {
                    block,
                    definition,
                    image: None,
                    operands: vec![],
                    incoming,
                });
                self.state(new, retained);
                if self.values[i].incoming.is_none() {
                    self.values[i].operands.push(new);
                }
            }
            17 => {
                if self.values[i].incoming.is_none() {
                    self.values[i].block = Node::new(rng.random_range(0..self.ends.len()));
                } else {
                    // From phi to something else.
                    self.values[i].incoming = None;
                    self.values[i].definition = Definition::IMPURE;
                }
            }
            _ => self.remove(rng, value, retained),
        }
        self.state(value, retained);
    }

    pub(super) fn successors(&self) -> Vec<Vec<Node>> {
        self.cfg.nodes().map(|node| self.cfg.successors(node).to_vec()).collect()
    }

    /// Changes the control flow, here and in the tables. Returns the blocks whose successors are
    /// others.
    pub(super) fn edit_flow(
        &mut self,
        rng: &mut SmallRng,
        retained: &mut Option<Retained>,
    ) -> Vec<Node> {
        let n = self.ends.len();
        let mut lists = self.successors();
        // Often one that is new.
        let last = if rng.random_bool(0.3) { n - 1 } else { 0 };
        let block = rng.random_range(last..n);
        let mut touched = vec![Node::new(block)];
        let mut stated: Vec<Value> = Vec::new();
        let mut update = None;
        match rng.random_range(0..12) {
            0..=3 => {
                update = Some(Update::Split(Node::new(block)));
                self.split(rng, block, &mut lists, &mut touched, (&mut stated, retained));
            }
            4 | 5 if !lists[block].is_empty() => {
                // A new block on an edge.
                let at = rng.random_range(0..lists[block].len());
                let new = self.new_block(&mut lists, &mut touched);
                let to = std::mem::replace(&mut lists[block][at], new);
                lists[new.index()] = vec![to];
                update = Some(Update::Edge(Node::new(block)));
            }
            6 => {
                let only = |to: &[Node]| match *to {
                    [to] if to.index() != block && self.cfg.predecessors(to).len() == 1 => Some(to),
                    _ => None,
                };
                if let Some(next) = only(&lists[block]).filter(|next| *next != self.cfg.entry()) {
                    update = Some(Update::Merge(Node::new(block), next));
                    self.merge(block, next, &mut lists, &mut touched, &mut stated);
                }
            }
            7 | 8 if !lists[block].is_empty() => {
                let at = rng.random_range(0..lists[block].len());
                lists[block][at] = Node::new(rng.random_range(1..n.max(2)).min(n - 1));
            }
            9 => {
                let to = Node::new(rng.random_range(1..n.max(2)).min(n - 1));
                let at = rng.random_range(0..=lists[block].len());
                lists[block].insert(at, to);
            }
            10 if lists[block].len() > 1 => {
                let at = rng.random_range(0..lists[block].len());
                lists[block].remove(at);
            }
            _ => {
                // A block beside an edge.
                if let Some(&to) = lists[block].first() {
                    let new = self.new_block(&mut lists, &mut touched);
                    lists[block].push(new);
                    lists[new.index()] = vec![to];
                    self.ends[block].operands = vec![self.any_value(rng)];
                }
            }
        }
        if lists.iter().flatten().any(|to| *to == self.cfg.entry()) {
            // Only programs whose entry is a loop already come here.
            lists.iter_mut().for_each(|list| list.retain(|to| *to != self.cfg.entry()));
            touched = (0..lists.len()).map(Node::new).collect();
            update = None;
        }
        if touched.len() == 2 && touched[1].index() == n {
            let at = self.layout.iter().position(|node| *node == touched[0]);
            // A block that was merged into another is not laid out.
            update = update.filter(|_| at.is_some());
            self.layout.insert(at.map_or(self.layout.len(), |at| at + 1), touched[1]);
        }
        if let Some(Update::Merge(node, next)) = update {
            let at = |n| self.layout.iter().position(|other| *other == n);
            let (first, second) = (at(node), at(next));
            if first.map(|first| first + 1) != second {
                update = None;
            }
            self.layout.retain(|other| *other != next);
        }
        let next = Cfg::with_layout(self.cfg.entry(), lists, &self.layout);
        if update.and_then(|update| self.update(update, &next)).is_none() {
            self.dom = DomTree::new(&next);
            self.cycles = Cycles::new(&next);
            self.sync = SyncDependence::new(&next, &self.dom, &self.cycles);
        }
        self.cfg = next;
        self.fix_phis(rng, &mut stated);
        stated.into_iter().for_each(|value| self.state(value, retained));
        if let Some(retained) = retained {
            for &block in &touched {
                let End { is_fixed, seed, operands } = &self.ends[block.index()];
                retained.table().set_terminator(block, *is_fixed, *seed, operands);
            }
        }
        touched
    }

    /// Updates the facts instead of computing them.
    pub(super) fn update(&mut self, update: Update, next: &Cfg) -> Option<()> {
        let (dom, cycles, sync) = match update {
            Update::Split(node) => {
                let cycles = self.cycles.after_split(next, node)?;
                let sync = self.sync.after_split(next, &cycles, node);
                (self.dom.after_split(node), cycles, sync)
            }
            Update::Edge(from) => {
                let to = *next.successors(Node::new(next.node_count() - 1)).first()?;
                if next.successors(from).contains(&to) {
                    return None;
                }
                let dom = self.dom.after_edge_split(next, from)?;
                let cycles = self.cycles.after_edge_split(next, from)?;
                let sync = self.sync.after_edge_split(next, &dom, &cycles, from);
                (dom, cycles, sync)
            }
            Update::Merge(node, other) => {
                let cycles = self.cycles.after_merge(node, other);
                let sync = self.sync.after_merge(next, &cycles, node, other);
                (self.dom.after_merge(node, other), cycles, sync)
            }
        };
        let sync = sync.unwrap_or_else(|| SyncDependence::new(next, &dom, &cycles));
        (self.dom, self.cycles, self.sync) = (dom, cycles, sync);
        Some(())
    }

    pub(super) fn new_block(
        &mut self,
        lists: &mut Vec<Vec<Node>>,
        touched: &mut Vec<Node>,
    ) -> Node {
        lists.push(Vec::new());
        self.ends.push(End::default());
        let new = Node::new(lists.len() - 1);
        touched.push(new);
        new
    }

    pub(super) fn split(
        &mut self,
        rng: &mut SmallRng,
        block: usize,
        lists: &mut Vec<Vec<Node>>,
        touched: &mut Vec<Node>,
        (stated, retained): (&mut Vec<Value>, &mut Option<Retained>),
    ) {
        // What is moved is stated as a whole, or is said to be moved; so with phis that read from
        // the new block.
        let is_told = rng.random_bool(0.5);
        let new = self.new_block(lists, touched);
        lists[new.index()] = std::mem::replace(&mut lists[block], vec![new]);
        self.ends[new.index()] = std::mem::take(&mut self.ends[block]);
        for (i, def) in self.values.iter_mut().enumerate() {
            if def.block.index() == block && def.incoming.is_none() && rng.random_bool(0.5) {
                def.block = new;
                match retained {
                    Some(retained) if is_told => retained.table().move_value(Value::new(i), new),
                    _ => stated.push(Value::new(i)),
                }
            }
        }
        let mut rerouted = Vec::new();
        self.rename_pred(&lists[new.index()], Node::new(block), new, &mut rerouted);
        if let Some(retained) = retained.as_mut().filter(|_| is_told) {
            rerouted.retain(|phi| {
                let Def { block, incoming, .. } = &self.values[phi.index()];
                !retained.table().reroute_phi(*phi, *block, incoming.as_deref().unwrap_or(&[]))
            });
        }
        stated.append(&mut rerouted);
    }

    pub(super) fn merge(
        &mut self,
        block: usize,
        next: Node,
        lists: &mut [Vec<Node>],
        touched: &mut Vec<Node>,
        stated: &mut Vec<Value>,
    ) {
        lists[block] = std::mem::take(&mut lists[next.index()]);
        self.ends[block] = std::mem::take(&mut self.ends[next.index()]);
        touched.push(next);
        for (i, def) in self.values.iter_mut().enumerate() {
            if def.block == next {
                def.block = Node::new(block);
                if let Some(incoming) = def.incoming.take() {
                    def.operands = incoming.iter().filter_map(|entry| entry.value).collect();
                }
                stated.push(Value::new(i));
            }
        }
        self.rename_pred(&lists[block], next, Node::new(block), stated);
    }

    pub(super) fn rename_pred(
        &mut self,
        of: &[Node],
        old: Node,
        new: Node,
        stated: &mut Vec<Value>,
    ) {
        for (i, def) in self.values.iter_mut().enumerate().filter(|def| of.contains(&def.1.block)) {
            for entry in def.incoming.iter_mut().flatten().filter(|entry| entry.pred == old) {
                entry.pred = new;
                stated.push(Value::new(i));
            }
        }
    }

    /// Gives every phi one entry per predecessor.
    pub(super) fn fix_phis(&mut self, rng: &mut SmallRng, stated: &mut Vec<Value>) {
        for i in 0..self.values.len() {
            let Some(mut incoming) = self.values[i].incoming.clone() else { continue };
            let mut preds = self.cfg.predecessors(self.values[i].block).to_vec();
            preds.dedup();
            incoming.retain(|entry| preds.contains(&entry.pred));
            for pred in preds {
                if !incoming.iter().any(|entry| entry.pred == pred) {
                    let entry = self.any_entry(rng, pred);
                    incoming.push(entry);
                }
            }
            if self.values[i].incoming.as_ref() != Some(&incoming) {
                self.values[i].incoming = Some(incoming);
                stated.push(Value::new(i));
            }
        }
    }

    pub(super) fn edit_operand(&mut self, rng: &mut SmallRng, value: Value) {
        let operand = self.any_value(rng);
        let (at, replaces) = (rng.random_range(0..4), rng.random_bool(0.8));
        if let Some(incoming) = &mut self.values[value.index()].incoming {
            let entries = incoming.len();
            if entries == 0 {
                return;
            }
            let at = rng.random_range(0..entries);
            if !replaces {
                // Two entries come from where the other one came from.
                let other = (at + 1) % entries;
                (incoming[at].pred, incoming[other].pred) =
                    (incoming[other].pred, incoming[at].pred);
                return;
            }
            let pred = incoming[at].pred;
            let entry = self.any_entry(rng, pred);
            self.values[value.index()].incoming.as_mut().expect("a phi")[at] = entry;
            return;
        }
        let operands = &mut self.values[value.index()].operands;
        match operands.len() {
            len if at < len && replaces => operands[at] = operand,
            len if at < len => {
                operands.remove(at);
            }
            0..3 => operands.push(operand),
            _ => operands.clear(),
        }
    }

    pub(super) fn edit_end(&mut self, rng: &mut SmallRng, block: Node) {
        let operand = self.any_value(rng);
        let source = *SOURCES.choose(rng).expect("some");
        let end = &mut self.ends[block.index()];
        match rng.random_range(0..8) {
            0 => end.is_fixed ^= true,
            1 => end.seed = source,
            2 => end.seed = SourceSet::EMPTY,
            3 => end.operands.clear(),
            _ => end.operands = vec![operand],
        }
    }

    /// Unlinks a value; others take its place.
    pub(super) fn remove(
        &mut self,
        rng: &mut SmallRng,
        value: Value,
        retained: &mut Option<Retained>,
    ) {
        let with = self.any_value(rng);
        for user in 0..self.values.len() {
            let def = &mut self.values[user];
            let mut is_user = false;
            for operand in def.operands.iter_mut().filter(|o| **o == value) {
                *operand = with;
                is_user = true;
            }
            for entry in def.incoming.iter_mut().flatten().filter(|e| e.value == Some(value)) {
                *entry = incoming(entry.pred, Operand::Value(with.raw()));
                is_user = true;
            }
            if is_user {
                self.state(Value::new(user), retained);
            }
        }
        let def = &mut self.values[value.index()];
        *def = Def {
            block: Node::new(0),
            definition: Definition::IMPURE,
            image: None,
            operands: Vec::new(),
            incoming: None,
        };
    }

    /// States what a value is.
    pub(super) fn state(&self, value: Value, retained: &mut Option<Retained>) {
        let Some(retained) = retained else { return };
        let table = retained.table();
        let Def { block, definition, image, operands, incoming } = &self.values[value.index()];
        match incoming {
            Some(incoming) => table.set_phi(value, *block, *definition, incoming),
            None => table.set_value(value, *block, *definition, image.as_ref(), operands),
        }
    }
}

pub(super) fn value_of(operand: Operand) -> Option<Value> {
    match operand {
        Operand::Value(v) => Some(Value::from_raw(v)),
        Operand::Constant(_) | Operand::Undef => None,
    }
}

pub(super) fn incoming(pred: Node, operand: Operand) -> Incoming {
    let value = value_of(operand);
    let key = match operand {
        Operand::Value(v) => PhiKey::value(Value::from_raw(v)),
        Operand::Constant(c) => PhiKey::constant(c),
        Operand::Undef => PhiKey::UNDEF,
    };
    Incoming { pred, value, key }
}
