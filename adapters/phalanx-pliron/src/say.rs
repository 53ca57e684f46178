//! How a region is said to the analysis.
//!
//! O(operations), but for regions: an operation with regions lists all its edges for each of its
//! points.

use phalanx_core::analysis::{Brought, Sink, SlotEvent, Source};
use phalanx_core::block_graph::Block;
use phalanx_core::divergence::Definition;
use phalanx_core::{SourceSet, Value};
use pliron::basic_block::BasicBlock;
use pliron::builtin::op_interfaces::{
    BranchOpInterface, RegionBranchPoint, RegionEdge, RegionSuccessor,
};
use pliron::context::{Context, Ptr};
use pliron::linked_list::ContainsLinkedList as _;
use pliron::op::op_cast;
use pliron::operation::Operation;
use pliron::opts::mem2reg::PromotableOpKind;
use pliron::value::Value as IrValue;

use crate::dialect;
use crate::interfaces::{Decision, Meaning};
use crate::map::{Map, Place, before, has_ways};
use crate::slots;

/// A region, as it is said.
pub(crate) struct Said<'a> {
    pub(crate) ctx: &'a Context,
    pub(crate) map: &'a Map,
}

/// What comes into an argument.
enum Bring {
    Value(IrValue),
    /// A function of these; anything, if it is not known of what.
    Made(Option<Vec<IrValue>>),
}

/// A way out of a block.
struct Way {
    to: Block,
    brings: Vec<Bring>,
}

/// All ways out of a block, and what decides on one.
struct End {
    decision: Decision,
    ways: Vec<Way>,
}

impl Said<'_> {
    /// None if one is known to no operation of the region.
    fn numbers(&self, values: &[IrValue]) -> Option<Vec<Value>> {
        values.iter().map(|&value| self.map.value(value)).collect()
    }

    fn operands(&self, op: Ptr<Operation>) -> Option<Vec<Value>> {
        self.numbers(&op.deref(self.ctx).operands().collect::<Vec<_>>())
    }

    fn end(&self, block: Block) -> End {
        let none = End { decision: Decision::by(Vec::new()), ways: Vec::new() };
        let Some(op) = self.map.end(self.ctx, block) else { return none };
        if has_ways(self.ctx, op) {
            return self.region_end(op, RegionBranchPoint::Parent);
        }
        if op.deref(self.ctx).get_num_successors() > 0 {
            return self.branch_end(op);
        }
        let parent = op.deref(self.ctx).get_parent_op(self.ctx);
        match parent.filter(|parent| self.map.behind.contains_key(parent)) {
            Some(parent) => self.region_end(parent, RegionBranchPoint::Terminator(op)),
            None => none,
        }
    }

    /// A terminator with successors.
    fn branch_end(&self, op: Ptr<Operation>) -> End {
        let (ctx, it) = (self.ctx, Operation::get_op_dyn(op, self.ctx));
        let branch = op_cast::<dyn BranchOpInterface>(it.as_ref());
        let targets: Vec<Ptr<BasicBlock>> = op.deref(ctx).successors().collect();
        let mut decides = vec![true; op.deref(ctx).get_num_operands()];
        let mut ways = Vec::new();
        for (at, target) in targets.iter().enumerate() {
            let brings = match branch {
                Some(branch) => {
                    branch.successor_operand_range(ctx, at).for_each(|i| decides[i] = false);
                    branch.successor_operands(ctx, at).into_iter().map(Bring::Value).collect()
                }
                None => target.deref(ctx).arguments().map(|_| Bring::Made(None)).collect(),
            };
            ways.extend(self.map.starts.get(target).map(|&to| Way { to, brings }));
        }
        let decision = match branch {
            Some(_) => {
                let operands: Vec<IrValue> = op.deref(ctx).operands().collect();
                let reads = operands.into_iter().zip(decides).filter(|(_, decides)| *decides);
                let reads: Vec<IrValue> = reads.map(|(operand, _)| operand).collect();
                match reads.is_empty() && ways.len() > 1 {
                    // Something decides that is no operand.
                    true => Decision::unknown(),
                    false => Decision::by(reads),
                }
            }
            None => Decision::unknown(),
        };
        End { decision, ways }
    }

    /// Where an operation with regions, or the end of one of them, leads to.
    fn region_end(&self, op: Ptr<Operation>, from: RegionBranchPoint) -> End {
        let (ctx, by) = (self.ctx, self.map.dialect.as_ref());
        let edges = dialect::edges(ctx, by, op, from).unwrap_or_else(|| self.any_edges(op, from));
        let way = |edge: &RegionEdge| {
            let (to, receivers): (Block, Vec<IrValue>) = match edge.to {
                RegionSuccessor::Region(region) => {
                    let entry = region.deref(ctx).get_head()?;
                    let arguments = entry.deref(ctx).arguments().collect();
                    (*self.map.starts.get(&entry)?, arguments)
                }
                RegionSuccessor::After => {
                    (*self.map.behind.get(&op)?, op.deref(ctx).results().collect())
                }
            };
            let bring =
                |receiver: &IrValue| match edge.flows.iter().find(|(_, into)| into == receiver) {
                    Some((operand, _)) => Bring::Value(operand.get_def(ctx)),
                    None => Bring::Made(dialect::made(ctx, by, op, from, *receiver)),
                };
            Some(Way { to, brings: receivers.iter().map(bring).collect() })
        };
        let ways: Vec<Way> = edges.iter().filter_map(way).collect();
        let decision = match ways.len() > 1 {
            true => dialect::decision(ctx, by, op, from),
            false => Decision::by(Vec::new()),
        };
        End { decision, ways }
    }

    /// All edges that there may be, of an operation that says nothing about its regions.
    fn any_edges(&self, op: Ptr<Operation>, from: RegionBranchPoint) -> Vec<RegionEdge> {
        let regions: Vec<_> = op.deref(self.ctx).regions().map(RegionSuccessor::Region).collect();
        let all = regions.into_iter().chain([RegionSuccessor::After]);
        all.map(|to| RegionEdge { from, to, flows: Vec::new(), reads: Vec::new() }).collect()
    }

    /// Which arguments the ends of all blocks make something for.
    pub(crate) fn made(&self) -> Vec<(Block, usize, usize)> {
        let blocks = (1..self.map.block_count()).map(Block::new);
        blocks.flat_map(|block| self.made_by(block)).collect()
    }

    pub(crate) fn made_by(&self, block: Block) -> Vec<(Block, usize, usize)> {
        let mut all = Vec::new();
        for (edge, way) in self.end(block).ways.iter().enumerate() {
            for (position, bring) in way.brings.iter().enumerate() {
                if matches!(bring, Bring::Made(_)) {
                    all.push((block, edge, position));
                }
            }
        }
        all
    }

    fn say_result(&self, value: Value, op: Ptr<Operation>, result: usize, to: &mut Sink<'_>) {
        let Some(&at) = self.map.operations.get(&op) else { return };
        let loads = |(_, kind): &(_, PromotableOpKind)| matches!(kind, PromotableOpKind::Load);
        if slots::uses(self.ctx, self.map, op).iter().any(loads) {
            return to.value(value, at, Definition::PURE, None, &[]);
        }
        let meaning = dialect::meaning(self.ctx, self.map.dialect.as_ref(), op, result);
        match (meaning, self.operands(op)) {
            (Meaning::Rule(rule), Some(reads)) => to.operation(value, at, rule, &reads),
            (Meaning::Source(seed), Some(reads)) => {
                to.value(value, at, Definition { seed, ..Definition::PURE }, None, &reads);
            }
            _ => to.value(value, at, Definition::source(SourceSet::OPAQUE_THREAD), None, &[]),
        }
    }

    fn say_made(&self, value: Value, at: Block, edge: usize, position: usize, to: &mut Sink<'_>) {
        let end = self.end(at);
        let bring = end.ways.get(edge).and_then(|way| way.brings.get(position));
        let reads = match bring {
            Some(Bring::Made(Some(of))) => self.numbers(of),
            _ => None,
        };
        match reads {
            Some(reads) => to.value(value, at, Definition::PURE, None, &reads),
            None => to.value(value, at, Definition::source(SourceSet::OPAQUE_THREAD), None, &[]),
        }
    }
}

impl Source for Said<'_> {
    fn entry(&self) -> Block {
        before()
    }

    fn block_count(&self) -> usize {
        self.map.block_count()
    }

    fn value_count(&self) -> usize {
        self.map.places.len()
    }

    fn say_block(&self, block: Block, to: &mut Sink<'_>) {
        if block == before() {
            let is_before = |place: &Place| matches!(place, Place::Given(_) | Place::Outside);
            let places = self.map.places.iter().enumerate().filter(|(_, place)| is_before(place));
            places.for_each(|(number, _)| self.say_value(Value::new(number), to));
            self.say_slots(block, to);
            return self.say_end(block, to);
        }
        let Some(part) = self.map.part(block) else { return };
        let arguments: Vec<IrValue> = match part.behind {
            Some(op) => op.deref(self.ctx).results().collect(),
            None => part.of.deref(self.ctx).arguments().collect(),
        };
        let arguments = arguments.into_iter().filter_map(|value| self.map.value(value));
        arguments.for_each(|value| self.say_value(value, to));
        for op in self.map.operations_of(self.ctx, block) {
            if !has_ways(self.ctx, op) {
                let numbers = self.map.numbers(self.ctx, op);
                numbers.into_iter().for_each(|value| self.say_value(value, to));
            }
        }
        for (at, edge, position) in self.made_by(block) {
            if let Some(value) = self.map.made(at, edge, position) {
                self.say_value(value, to);
            }
        }
        self.say_slots(block, to);
        self.say_end(block, to);
    }

    fn say_value(&self, value: Value, to: &mut Sink<'_>) {
        match self.map.places[value.index()] {
            Place::Given(position) => {
                let seed = self.map.given[position];
                to.value(value, before(), Definition { seed, ..Definition::PURE }, None, &[]);
            }
            Place::Outside => to.value(value, before(), Definition::PURE, None, &[]),
            Place::Argument(at, position) => to.argument(value, at, position),
            Place::Result(op, result) => self.say_result(value, op, result, to),
            Place::Effect(op) => {
                let at = self.map.operations.get(&op).copied().unwrap_or(before());
                let reads = self.operands(op).unwrap_or_default();
                to.value(value, at, Definition::IMPURE, None, &reads);
            }
            Place::Made(at, edge, position) => self.say_made(value, at, edge, position, to),
            Place::Gone => to.value(value, before(), Definition::IMPURE, None, &[]),
        }
    }

    fn say_end(&self, block: Block, to: &mut Sink<'_>) {
        if block == before() {
            let given = (0..self.map.given.len()).map(|at| Brought::Value(Value::new(at)));
            to.end(block, SourceSet::EMPTY, &[]);
            // The entry is the first block that was numbered.
            if self.map.block_count() > 1 {
                to.edge(Block::new(1), &given.collect::<Vec<_>>());
            }
            return;
        }
        let End { decision, ways } = self.end(block);
        match self.numbers(&decision.reads) {
            Some(reads) => to.end(block, decision.sources, &reads),
            None => to.end(block, SourceSet::OPAQUE_THREAD, &[]),
        }
        for (edge, way) in ways.iter().enumerate() {
            let bring = |(position, bring): (usize, &Bring)| {
                let number = match bring {
                    Bring::Value(value) => self.map.value(*value),
                    Bring::Made(_) => self.map.made(block, edge, position),
                };
                Brought::Value(number.expect("operands and what is made of them are numbered"))
            };
            let brings: Vec<Brought> = way.brings.iter().enumerate().map(bring).collect();
            to.edge(way.to, &brings);
        }
    }

    fn say_slots(&self, block: Block, to: &mut Sink<'_>) {
        if block == before() {
            let mut all: Vec<_> = self.map.slots.values().copied().collect();
            all.sort_unstable();
            for slot in all {
                to.slot(block, slot, SlotEvent::Store(Brought::Constant(0)));
            }
            return;
        }
        for op in self.map.operations_of(self.ctx, block) {
            if !self.map.slots.is_empty() && self.map.dialect.begins_anew(self.ctx, op) {
                for address in op.deref(self.ctx).results() {
                    if let Some(&slot) = self.map.slots.get(&address) {
                        to.slot(block, slot, SlotEvent::Store(Brought::Constant(0)));
                    }
                }
            }
            for (slot, kind) in slots::uses(self.ctx, self.map, op) {
                match kind {
                    PromotableOpKind::Load => {
                        for value in self.map.numbers(self.ctx, op) {
                            to.slot(block, slot, SlotEvent::Load(value));
                        }
                    }
                    PromotableOpKind::Store(stored) => {
                        let event = match self.map.value(stored) {
                            Some(stored) => SlotEvent::Store(Brought::Value(stored)),
                            None => SlotEvent::Update(SourceSet::OPAQUE_THREAD, Vec::new()),
                        };
                        to.slot(block, slot, event);
                    }
                    PromotableOpKind::EliminatableUse | PromotableOpKind::NonPromotableUse => {}
                }
            }
        }
    }
}
