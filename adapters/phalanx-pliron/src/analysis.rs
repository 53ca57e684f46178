//! Questions about a region.
//!
//! ```text
//!   let analysis = Analysis::new(ctx, function.get_region(ctx), |_| SourceSet::EMPTY);
//!   analysis.is_uniform(value, Scope::Wave, &facts)      // may a scalar register hold it?
//!   analysis.branch(terminator)                          // what decides which way threads go
//!   analysis.control(store)                              // what decides whether they execute it
//! ```

use std::sync::Arc;

use phalanx_core::analysis::{Analysis as Core, Change, Reader};
use phalanx_core::block_graph::Block;
use phalanx_core::divergence::repair::Outcome;
use phalanx_core::legality::Legality;
use phalanx_core::{LaunchFacts, Node, Scope, SourceSet, Value, varying};
use pliron::context::{Context, Ptr};
use pliron::linked_list::ContainsLinkedList as _;
use pliron::operation::Operation;
use pliron::region::Region;
use pliron::value::Value as IrValue;

use crate::changes::Changes;
use crate::dialect::{self, Dialect};
use crate::interfaces::Convergence;
use crate::map::{Map, has_ways, is_terminator};
use crate::say::Said;
use crate::slots;

/// Answers about a region and all that is in it. Borrows nothing of the IR.
#[derive(Debug)]
pub struct Analysis {
    region: Ptr<Region>,
    map: Map,
    core: Core,
}

impl Analysis {
    /// Solves a region. `given` says what the arguments of its entry depend on, by position:
    /// nothing, of a kernel.
    #[must_use]
    pub fn new(ctx: &Context, region: Ptr<Region>, given: impl Fn(usize) -> SourceSet) -> Self {
        Self::of_dialect(ctx, region, Arc::new(()), given)
    }

    /// The same, of a region whose operations a dialect knows.
    #[must_use]
    pub fn of_dialect(
        ctx: &Context,
        region: Ptr<Region>,
        dialect: Arc<dyn Dialect>,
        given: impl Fn(usize) -> SourceSet,
    ) -> Self {
        let entry = region.deref(ctx).get_entry_block();
        let count = entry.map_or(0, |entry| entry.deref(ctx).get_num_arguments());
        Self::with(ctx, region, dialect, (0..count).map(given).collect())
    }

    fn with(
        ctx: &Context,
        region: Ptr<Region>,
        dialect: Arc<dyn Dialect>,
        given: Vec<SourceSet>,
    ) -> Self {
        let mut map = Map::new(ctx, region, dialect, given);
        for (at, edge, position) in (Said { ctx, map: &map }).made() {
            map.add_made(at, edge, position);
        }
        let core = Core::new(&Said { ctx, map: &map });
        Self { region, map, core }
    }

    /// What a value depends on where it is computed. None of a value that the region does not have.
    #[must_use]
    pub fn sources(&self, value: IrValue) -> Option<SourceSet> {
        self.map.value(value).map(|value| self.core.sources(value))
    }

    /// Whether threads of a scope that execute an operation together have one value of its result.
    /// False of a value that the region does not have.
    #[must_use]
    pub fn is_uniform(&self, value: IrValue, scope: Scope, facts: &LaunchFacts) -> bool {
        self.sources(value).is_some_and(|sources| !sources.intersects(varying(scope, facts)))
    }

    /// What a value depends on where an operation reads it: also on when threads left the loops
    /// around it. None if the region has not both.
    #[must_use]
    pub fn at_use(
        &self,
        ctx: &Context,
        value: IrValue,
        reader: Ptr<Operation>,
    ) -> Option<SourceSet> {
        let (value, block) = (self.map.value(value)?, *self.map.operations.get(&reader)?);
        let reader = match self.map.numbers(ctx, reader).first() {
            Some(&number) if !has_ways(ctx, reader) => Reader::Value(number),
            _ => Reader::End(block),
        };
        Some(self.core.at_use(value, reader))
    }

    /// What decides which way threads go from a terminator, or through an operation with regions;
    /// nothing if there is one way. None of an operation that is neither.
    #[must_use]
    pub fn branch(&self, ctx: &Context, op: Ptr<Operation>) -> Option<SourceSet> {
        let block = *self.map.operations.get(&op)?;
        (has_ways(ctx, op) || is_terminator(ctx, op)).then(|| self.core.branch(block))
    }

    /// What decides whether a thread executes an operation. None of one that the region does not
    /// have.
    #[must_use]
    pub fn control(&self, op: Ptr<Operation>) -> Option<SourceSet> {
        self.map.operations.get(&op).map(|&block| self.core.control(block))
    }

    /// Which threads an operation concerns together.
    #[must_use]
    pub fn convergence(&self, ctx: &Context, op: Ptr<Operation>) -> Convergence {
        dialect::convergence(ctx, self.map.dialect.as_ref(), op)
    }

    /// The barriers that not all threads of their scope may execute, each with what decides about
    /// it, in the order of blocks. Callers have to make sure that all threads come to the region.
    #[must_use]
    pub fn divergent_barriers(
        &self,
        ctx: &Context,
        facts: &LaunchFacts,
    ) -> Vec<(Ptr<Operation>, SourceSet)> {
        let mut found = Vec::new();
        for block in (1..self.map.block_count()).map(Block::new) {
            for op in self.map.operations_of(ctx, block) {
                let Convergence::Barrier(scope) = self.convergence(ctx, op) else { continue };
                let decides = self.core.control(block);
                if decides.intersects(varying(scope, facts)) {
                    found.push((op, decides));
                }
            }
        }
        found
    }

    /// Which motions of votes, shuffles and barriers keep together the threads that are together.
    /// Places are the [nodes](Self::node) of operations. `is_unreachable` says of a terminator
    /// without successors that no thread comes to it, or completes it.
    #[must_use]
    pub fn legality(
        &self,
        ctx: &Context,
        scope: Scope,
        facts: &LaunchFacts,
        is_unreachable: impl Fn(Ptr<Operation>) -> bool,
    ) -> Legality<'_> {
        let is_unreachable = |block: Block| self.map.end(ctx, block).is_some_and(&is_unreachable);
        self.core.legality(scope, facts, &is_unreachable)
    }

    /// The node of the block that an operation is in, as [`legality`](Self::legality) names it. An
    /// operation with regions is the last one of its node.
    #[must_use]
    pub fn node(&self, op: Ptr<Operation>) -> Option<Node> {
        Some(self.core.graph().node(self.block(op)?))
    }

    /// The analysis by numbers, for questions that this adapter does not pass on.
    #[must_use]
    pub const fn core(&self) -> &Core {
        &self.core
    }

    /// The number of a value in [`core`](Self::core).
    #[must_use]
    pub fn number(&self, value: IrValue) -> Option<Value> {
        self.map.value(value)
    }

    /// The block of an operation in [`core`](Self::core).
    #[must_use]
    pub fn block(&self, op: Ptr<Operation>) -> Option<Block> {
        self.map.operations.get(&op).copied()
    }

    /// Brings all answers up to date with what a rewriter has changed. Changes of blocks, of edges
    /// and of private variables are answered from scratch.
    pub fn after(&mut self, ctx: &Context, changes: &Changes) -> Outcome {
        match self.list(ctx, changes) {
            Some(list) => self.core.after(&Said { ctx, map: &self.map }, &list),
            None => {
                *self = self.anew(ctx);
                Outcome::Rebuilt
            }
        }
    }

    fn anew(&self, ctx: &Context) -> Self {
        Self::with(ctx, self.region, self.map.dialect.clone(), self.map.given.clone())
    }

    /// What has changed, by numbers. None if it is too much.
    fn list(&mut self, ctx: &Context, changes: &Changes) -> Option<Vec<Change>> {
        if changes.is_of_structure {
            return None;
        }
        let (mut list, mut gone) = (Vec::new(), Vec::new());
        for &block in changes.erased_blocks() {
            if self.map.starts.contains_key(&block) {
                list.push(Change::Block(self.map.remove_block(block)?));
            }
        }
        let (blocks, touched) = (changes.blocks(), changes.touched());
        if !list.is_empty() || changes.erased().next().is_some() {
            gone.extend(self.map.remove(changes.erased(), &touched));
        }
        // Numbers first: one that is new may read another.
        for &block in &blocks {
            list.push(Change::Block(self.map.number_block(ctx, block, &mut gone)?));
        }
        for &op in &touched {
            if !has_ways(ctx, op) {
                self.map.place(ctx, op)?;
            }
        }
        let entry = self.region.deref(ctx).get_entry_block()?;
        if self.map.starts.get(&entry) != Some(&Block::new(1)) {
            return None;
        }
        for block in blocks {
            for op in block.deref(ctx).iter(ctx) {
                self.settled(ctx, op)?;
            }
        }
        for &op in &touched {
            self.settled(ctx, op)?;
            match has_ways(ctx, op) || is_terminator(ctx, op) {
                true => self.list_ends(ctx, op, &mut list, &mut gone)?,
                false => list.extend(self.map.numbers(ctx, op).into_iter().map(Change::Value)),
            }
        }
        list.extend(gone.into_iter().map(Change::Gone));
        Some(list)
    }

    /// None if an operation reads something that is not numbered, or is about a variable.
    fn settled(&self, ctx: &Context, op: Ptr<Operation>) -> Option<()> {
        let is_settled = |value: IrValue| {
            self.map.value(value).is_some() && !self.map.slots.contains_key(&value)
        };
        let is_about_memory = slots::is_about_memory(ctx, op);
        (!is_about_memory && op.deref(ctx).operands().all(is_settled)).then_some(())
    }

    /// The ends that an operation decides on: its own, and those of its regions.
    fn list_ends(
        &mut self,
        ctx: &Context,
        op: Ptr<Operation>,
        list: &mut Vec<Change>,
        gone: &mut Vec<Value>,
    ) -> Option<()> {
        let own = self.block(op)?;
        self.list_end(ctx, own, list, gone)?;
        if !has_ways(ctx, op) {
            return Some(());
        }
        for block in (1..self.map.block_count()).map(Block::new) {
            let end = self.map.end(ctx, block);
            if end.is_some_and(|end| end.deref(ctx).get_parent_op(ctx) == Some(op)) {
                self.list_end(ctx, block, list, gone)?;
            }
        }
        Some(())
    }

    /// The end of a block, and what it makes.
    fn list_end(
        &mut self,
        ctx: &Context,
        block: Block,
        list: &mut Vec<Change>,
        gone: &mut Vec<Value>,
    ) -> Option<()> {
        let made = (Said { ctx, map: &self.map }).made_by(block);
        gone.extend(self.map.make_anew(block, &made));
        for (at, edge, position) in made {
            list.push(Change::Value(self.map.made(at, edge, position)?));
        }
        list.push(Change::End(block));
        Some(())
    }

    /// The first value or end of a block of which something else is known than from scratch: a
    /// change was not reported. Ask it in debug builds after each pass.
    #[must_use]
    pub fn difference(&self, ctx: &Context) -> Option<Reader> {
        let anew = self.anew(ctx);
        let is_same = |value: &IrValue, number: Value| {
            self.map.value(*value).map(|known| self.core.sources(known))
                == Some(anew.core.sources(number))
        };
        let mut values = anew.map.values().filter(|(value, number)| !is_same(value, *number));
        values.next().map(|(_, number)| Reader::Value(number)).or_else(|| {
            let mut operations: Vec<_> = anew.map.operations.iter().collect();
            operations.sort_unstable_by_key(|(_, block)| **block);
            let mut ends = operations.into_iter().filter(|(op, block)| {
                let known = self.map.operations.get(op).map(|&known| self.core.branch(known));
                known != Some(anew.core.branch(**block))
            });
            ends.next().map(|(_, block)| Reader::End(*block))
        })
    }
}
