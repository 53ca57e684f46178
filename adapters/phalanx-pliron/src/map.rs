//! Which blocks and values there are: pliron's, with dense numbers.
//!
//! An operation with regions ends a block of the analysis, since threads may take different ways
//! through it; what follows it in its block is another one, whose arguments are its results:
//!
//! ```text
//!   ^entry(%a):                  block 1, with the argument %a
//!     %x = ..                    ..
//!     %r = scf.if %c {..} {..}   the end of block 1; each region has blocks of its own
//!     %y = ..                    block 2, with the argument %r
//! ```
//!
//! Block 0 stands before the region. It gives the entry's arguments, which a branch back to the
//! entry may bring as well.
//!
//! O(operations). Nested regions are taken from a list: there is no recursion.

use std::sync::Arc;

use phalanx_core::analysis::Slot;
use phalanx_core::block_graph::Block;
use phalanx_core::{SourceSet, Value};
use pliron::basic_block::BasicBlock;
use pliron::builtin::op_interfaces::IsolatedFromAboveInterface;
use pliron::context::{Context, Ptr};
use pliron::linked_list::{ContainsLinkedList as _, LinkedList as _};
use pliron::op::op_impls;
use pliron::operation::Operation;
use pliron::region::Region;
use pliron::value::Value as IrValue;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::dialect::Dialect;
use crate::slots;

/// The block before the region.
pub(crate) fn before() -> Block {
    Block::new(0)
}

/// What a value of the analysis stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// What the region's entry is given, by position.
    Given(usize),
    /// Computed outside of the region: the same for all who enter it.
    Outside,
    /// A result of an operation that ends no block.
    Result(Ptr<Operation>, usize),
    /// An operation without results, so that it can be asked about.
    Effect(Ptr<Operation>),
    /// An argument of a block, by position.
    Argument(Block, usize),
    /// What comes into an argument that no operand flows into: by end, edge and position.
    Made(Block, usize, usize),
    /// Nothing any more.
    Gone,
}

/// A block of the analysis: a part of one of pliron's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The block.
    pub(crate) of: Ptr<BasicBlock>,
    /// The operation with regions that it follows, if it does not begin the block.
    pub(crate) behind: Option<Ptr<Operation>>,
}

/// All blocks and values of a region.
#[derive(Debug)]
pub(crate) struct Map {
    /// By block, without the first one. None of a block that is no more.
    pub(crate) parts: Vec<Option<Part>>,
    pub(crate) starts: FxHashMap<Ptr<BasicBlock>, Block>,
    pub(crate) behind: FxHashMap<Ptr<Operation>, Block>,
    pub(crate) operations: FxHashMap<Ptr<Operation>, Block>,
    values: FxHashMap<IrValue, Value>,
    effects: FxHashMap<Ptr<Operation>, Value>,
    made: FxHashMap<(Block, usize, usize), Value>,
    pub(crate) places: Vec<Place>,
    /// The sources of what the entry is given.
    pub(crate) given: Vec<SourceSet>,
    /// Private variables by their address.
    pub(crate) slots: FxHashMap<IrValue, Slot>,
    /// What is known of operations besides their interfaces.
    pub(crate) dialect: Arc<dyn Dialect>,
}

/// Whether threads may take different ways through an operation.
pub(crate) fn has_ways(ctx: &Context, op: Ptr<Operation>) -> bool {
    let is_isolated =
        || op_impls::<dyn IsolatedFromAboveInterface>(Operation::get_op_dyn(op, ctx).as_ref());
    op.deref(ctx).num_regions() > 0 && !is_isolated()
}

/// Whether an operation is the last one of its block, and leads out of it.
pub(crate) fn is_terminator(ctx: &Context, op: Ptr<Operation>) -> bool {
    let block = op.deref(ctx).get_parent_block();
    block.is_some_and(|block| block.deref(ctx).get_terminator(ctx) == Some(op))
}

impl Map {
    /// Numbers all blocks and values of a region.
    pub(crate) fn new(
        ctx: &Context,
        region: Ptr<Region>,
        dialect: Arc<dyn Dialect>,
        given: Vec<SourceSet>,
    ) -> Self {
        let mut map = Self {
            parts: Vec::new(),
            starts: FxHashMap::default(),
            behind: FxHashMap::default(),
            operations: FxHashMap::default(),
            values: FxHashMap::default(),
            effects: FxHashMap::default(),
            made: FxHashMap::default(),
            places: (0..given.len()).map(Place::Given).collect(),
            given,
            slots: FxHashMap::default(),
            dialect,
        };
        let mut order = Vec::new();
        let mut regions = vec![region];
        while let Some(region) = regions.pop() {
            let blocks: Vec<Ptr<BasicBlock>> = region.deref(ctx).iter(ctx).collect();
            let others = regions.len();
            for block in blocks {
                map.add_block(ctx, block, &mut order, &mut regions);
            }
            // The last one is numbered first.
            regions[others..].reverse();
        }
        for op in &order {
            for operand in op.deref(ctx).operands() {
                if !map.values.contains_key(&operand) {
                    let value = map.fresh(Place::Outside);
                    map.values.insert(operand, value);
                }
            }
        }
        map.slots = slots::find(ctx, &map, &order);
        map
    }

    fn add_block(
        &mut self,
        ctx: &Context,
        block: Ptr<BasicBlock>,
        order: &mut Vec<Ptr<Operation>>,
        regions: &mut Vec<Ptr<Region>>,
    ) {
        let mut at = self.add_part(Part { of: block, behind: None });
        self.starts.insert(block, at);
        self.add_arguments(at, block.deref(ctx).arguments());
        for op in block.deref(ctx).iter(ctx) {
            order.push(op);
            self.operations.insert(op, at);
            if !has_ways(ctx, op) {
                self.add_results(ctx, op);
                continue;
            }
            regions.extend(op.deref(ctx).regions());
            at = self.add_part(Part { of: block, behind: Some(op) });
            self.behind.insert(op, at);
            self.add_arguments(at, op.deref(ctx).results());
        }
    }

    fn add_part(&mut self, part: Part) -> Block {
        self.parts.push(Some(part));
        Block::new(self.parts.len())
    }

    fn add_arguments(&mut self, at: Block, arguments: impl Iterator<Item = IrValue>) {
        for (position, argument) in arguments.enumerate() {
            let value = self.fresh(Place::Argument(at, position));
            self.values.insert(argument, value);
        }
    }

    fn add_results(&mut self, ctx: &Context, op: Ptr<Operation>) {
        let results: Vec<IrValue> = op.deref(ctx).results().collect();
        for (position, &result) in results.iter().enumerate() {
            let value = self.fresh(Place::Result(op, position));
            self.values.insert(result, value);
        }
        if results.is_empty() && !is_terminator(ctx, op) {
            let value = self.fresh(Place::Effect(op));
            self.effects.insert(op, value);
        }
    }

    fn fresh(&mut self, place: Place) -> Value {
        self.places.push(place);
        Value::new(self.places.len() - 1)
    }

    /// How many blocks there are.
    pub(crate) fn block_count(&self) -> usize {
        self.parts.len() + 1
    }

    /// The part of the region that a block stands for, if it does for one.
    pub(crate) fn part(&self, block: Block) -> Option<Part> {
        self.parts.get(block.index().checked_sub(1)?).copied()?
    }

    /// The number of a value of the region.
    pub(crate) fn value(&self, value: IrValue) -> Option<Value> {
        self.values.get(&value).copied()
    }

    /// The number of an operation without results.
    pub(crate) fn effect(&self, op: Ptr<Operation>) -> Option<Value> {
        self.effects.get(&op).copied()
    }

    /// The number of what an end makes for an argument. None before it was numbered.
    pub(crate) fn made(&self, at: Block, edge: usize, position: usize) -> Option<Value> {
        self.made.get(&(at, edge, position)).copied()
    }

    /// Numbers what an end makes.
    pub(crate) fn add_made(&mut self, at: Block, edge: usize, position: usize) {
        let place = Place::Made(at, edge, position);
        if self.made(at, edge, position).is_none() {
            let value = self.fresh(place);
            self.made.insert((at, edge, position), value);
        }
    }

    /// The operation that ends a block: one with regions, or the terminator.
    pub(crate) fn end(&self, ctx: &Context, block: Block) -> Option<Ptr<Operation>> {
        let part = self.part(block)?;
        let mut op = match part.behind {
            Some(behind) => behind.deref(ctx).get_next(),
            None => part.of.deref(ctx).get_head(),
        };
        while let Some(at) = op {
            if has_ways(ctx, at) {
                return op;
            }
            op = at.deref(ctx).get_next();
        }
        part.of.deref(ctx).get_terminator(ctx)
    }

    /// The operations of a block in order, with the one that ends it.
    pub(crate) fn operations_of(&self, ctx: &Context, block: Block) -> Vec<Ptr<Operation>> {
        let Some(part) = self.part(block) else { return Vec::new() };
        let mut op = match part.behind {
            Some(behind) => behind.deref(ctx).get_next(),
            None => part.of.deref(ctx).get_head(),
        };
        let mut all = Vec::new();
        while let Some(at) = op {
            all.push(at);
            op = if has_ways(ctx, at) { None } else { at.deref(ctx).get_next() };
        }
        all
    }

    /// The numbers of an operation that ends no block.
    pub(crate) fn numbers(&self, ctx: &Context, op: Ptr<Operation>) -> Vec<Value> {
        let results: Vec<IrValue> = op.deref(ctx).results().collect();
        let results = results.into_iter().filter_map(|result| self.value(result));
        results.chain(self.effect(op)).collect()
    }

    /// All values with their numbers, in the order of these.
    pub(crate) fn values(&self) -> impl Iterator<Item = (IrValue, Value)> {
        let mut all: Vec<_> = self.values.iter().map(|(value, number)| (*value, *number)).collect();
        all.sort_unstable_by_key(|(_, number)| *number);
        all.into_iter()
    }

    /// Numbers an operation that is new, or stands elsewhere. None if its block is not known.
    pub(crate) fn place(&mut self, ctx: &Context, op: Ptr<Operation>) -> Option<Block> {
        let parent = op.deref(ctx).get_parent_block()?;
        let mut before = op.deref(ctx).get_prev();
        let at = loop {
            match before {
                None => break *self.starts.get(&parent)?,
                Some(prev) if has_ways(ctx, prev) => break *self.behind.get(&prev)?,
                Some(prev) => before = prev.deref(ctx).get_prev(),
            }
        };
        if self.operations.insert(op, at).is_none() && self.numbers(ctx, op).is_empty() {
            self.add_results(ctx, op);
        }
        Some(at)
    }

    /// Numbers a block that is new, or has other arguments. Numbers of arguments that it has no
    /// more go to `gone`. None if an operation of a new block ends a part of it.
    pub(crate) fn number_block(
        &mut self,
        ctx: &Context,
        block: Ptr<BasicBlock>,
        gone: &mut Vec<Value>,
    ) -> Option<Block> {
        let known = self.starts.get(&block).copied();
        let at = known.unwrap_or_else(|| self.add_part(Part { of: block, behind: None }));
        self.starts.insert(block, at);
        let arguments: Vec<IrValue> = block.deref(ctx).arguments().collect();
        let is_gone = |of: &Self, value: usize| match of.places[value] {
            Place::Argument(of, _) => known == Some(of),
            _ => false,
        };
        let before: Vec<usize> = match known {
            Some(_) => (0..self.places.len()).filter(|&value| is_gone(self, value)).collect(),
            None => Vec::new(),
        };
        before.iter().for_each(|&value| self.places[value] = Place::Gone);
        for (position, argument) in arguments.into_iter().enumerate() {
            match self.value(argument) {
                Some(value) => self.places[value.index()] = Place::Argument(at, position),
                None => {
                    let value = self.fresh(Place::Argument(at, position));
                    self.values.insert(argument, value);
                }
            }
        }
        let is_left = |value: &usize| self.places[*value] == Place::Gone;
        let left: FxHashSet<Value> = before.into_iter().filter(is_left).map(Value::new).collect();
        if !left.is_empty() {
            self.values.retain(|_, number| !left.contains(number));
            gone.extend(left);
        }
        if known.is_none() {
            let operations: Vec<Ptr<Operation>> = block.deref(ctx).iter(ctx).collect();
            for op in operations {
                if has_ways(ctx, op) || slots::is_about_memory(ctx, op) {
                    return None;
                }
                self.place(ctx, op)?;
            }
        }
        Some(at)
    }

    /// Forgets a block that is no more. Its number; none if operations with regions parted it.
    pub(crate) fn remove_block(&mut self, block: Ptr<BasicBlock>) -> Option<Block> {
        let at = self.starts.remove(&block)?;
        let is_whole = |part: &Option<Part>| part.is_none_or(|part| part.of != block);
        self.parts[at.index() - 1] = None;
        self.parts.iter().all(is_whole).then_some(at)
    }

    /// Forgets operations, and all that was in blocks that are no more, but for what is `moved`.
    /// Their numbers.
    pub(crate) fn remove(
        &mut self,
        operations: impl Iterator<Item = Ptr<Operation>>,
        moved: &[Ptr<Operation>],
    ) -> Vec<Value> {
        let moved: FxHashSet<Ptr<Operation>> = moved.iter().copied().collect();
        let mut gone: FxHashSet<Ptr<Operation>> = operations.collect();
        let parts = &self.parts;
        let is_gone = |at: Block| at != before() && parts[at.index() - 1].is_none();
        self.operations.retain(|op, at| {
            if is_gone(*at) && !moved.contains(op) {
                gone.insert(*op);
            }
            !gone.contains(op)
        });
        self.effects.retain(|op, _| !gone.contains(op));
        self.made.retain(|(at, ..), _| !is_gone(*at));
        let mut numbers = FxHashSet::default();
        for (number, place) in self.places.iter_mut().enumerate() {
            let is_its = match *place {
                Place::Result(of, _) | Place::Effect(of) => gone.contains(&of),
                Place::Argument(at, _) | Place::Made(at, ..) => is_gone(at),
                Place::Given(_) | Place::Outside | Place::Gone => false,
            };
            if is_its {
                *place = Place::Gone;
                numbers.insert(Value::new(number));
            }
        }
        self.values.retain(|_, number| !numbers.contains(number));
        let mut numbers: Vec<Value> = numbers.into_iter().collect();
        numbers.sort_unstable();
        numbers
    }

    /// Numbers what the end of a block makes for these edges and positions. The numbers that it
    /// made before and makes no more.
    pub(crate) fn make_anew(&mut self, at: Block, made: &[(Block, usize, usize)]) -> Vec<Value> {
        let kept: FxHashSet<_> = made.iter().copied().collect();
        let is_left = |key: &(Block, usize, usize)| key.0 == at && !kept.contains(key);
        let mut left: Vec<Value> =
            self.made.iter().filter(|(key, _)| is_left(key)).map(|(_, value)| *value).collect();
        left.sort_unstable();
        left.iter().for_each(|value| self.places[value.index()] = Place::Gone);
        self.made.retain(|key, _| !is_left(key));
        made.iter().for_each(|&(at, edge, position)| self.add_made(at, edge, position));
        left
    }
}
