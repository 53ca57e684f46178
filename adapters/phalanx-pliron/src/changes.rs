//! What a rewriter has changed.
//!
//! ```text
//!   let mut rewriter = IRRewriter::<Changes>::default();
//!   ..                                                  // a pass rewrites
//!   analysis.after(ctx, rewriter.get_listener());
//! ```
//!
//! Code that edits in place reports nothing, and passes of pliron's make rewriters of their own.
//! After these, make a new [`Analysis`](crate::Analysis), or say by [`Changes::touch`] what they
//! did.

use pliron::basic_block::BasicBlock;
use pliron::context::{Context, Ptr};
use pliron::irbuild::listener::{InsertionListener, RewriteListener};
use pliron::operation::Operation;
use pliron::region::Region;
use pliron::r#type::TypeHandle;
use pliron::value::Value;
use rustc_hash::FxHashSet;

use crate::map::has_ways;
use crate::slots::is_about_memory;

/// Changes since the last [`Analysis::after`](crate::Analysis::after), heard by a rewriter.
#[derive(Debug, Default)]
pub struct Changes {
    touched: Vec<Ptr<Operation>>,
    gone: Vec<Ptr<Operation>>,
    /// Blocks that are new, or have other arguments.
    blocks: Vec<Ptr<BasicBlock>>,
    gone_blocks: Vec<Ptr<BasicBlock>>,
    /// Operations with regions, or about variables: what follows from them is not known here.
    pub(crate) is_of_structure: bool,
}

impl Changes {
    /// An operation has other operands or successors.
    pub fn touch(&mut self, op: Ptr<Operation>) {
        self.touched.push(op);
    }

    /// A block has other arguments. Say of the ends of its predecessors that they are
    /// [touched](Self::touch).
    pub fn touch_block(&mut self, block: Ptr<BasicBlock>) {
        self.blocks.push(block);
    }

    /// Forgets all changes: the analysis knows them.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The operations that are new or other ones, each once, and not those that are gone.
    pub(crate) fn touched(&self) -> Vec<Ptr<Operation>> {
        let mut seen: FxHashSet<Ptr<Operation>> = self.gone.iter().copied().collect();
        self.touched.iter().copied().filter(|op| seen.insert(*op)).collect()
    }

    pub(crate) fn erased(&self) -> impl Iterator<Item = Ptr<Operation>> {
        self.gone.iter().copied()
    }

    /// The blocks that are new or other ones, each once, and not those that are gone.
    pub(crate) fn blocks(&self) -> Vec<Ptr<BasicBlock>> {
        let mut seen: FxHashSet<Ptr<BasicBlock>> = self.gone_blocks.iter().copied().collect();
        self.blocks.iter().copied().filter(|block| seen.insert(*block)).collect()
    }

    pub(crate) fn erased_blocks(&self) -> &[Ptr<BasicBlock>] {
        &self.gone_blocks
    }

    fn is_structure(ctx: &Context, op: Ptr<Operation>) -> bool {
        has_ways(ctx, op) || is_about_memory(ctx, op)
    }

    fn takes_away(&mut self, ctx: &Context, op: Ptr<Operation>) {
        self.is_of_structure |= Self::is_structure(ctx, op);
        self.gone.push(op);
    }
}

impl InsertionListener for Changes {
    fn notify_operation_inserted(&mut self, ctx: &Context, op: Ptr<Operation>) {
        self.is_of_structure |= Self::is_structure(ctx, op);
        self.gone.retain(|gone| *gone != op);
        self.touched.push(op);
    }

    fn notify_block_inserted(&mut self, _: &Context, block: Ptr<BasicBlock>) {
        self.gone_blocks.retain(|gone| *gone != block);
        self.blocks.push(block);
    }
}

impl RewriteListener for Changes {
    fn notify_operation_erasure(&mut self, ctx: &Context, op: Ptr<Operation>) {
        self.takes_away(ctx, op);
    }

    fn notify_value_use_replacement(&mut self, ctx: &Context, old: Value, _: Value) {
        self.touched.extend(old.uses(ctx).iter().map(|each| each.user_op()));
    }

    fn notify_value_type_change(&mut self, _: &Context, _: Value, _: TypeHandle, _: TypeHandle) {}

    fn notify_block_erasure(&mut self, _: &Context, block: Ptr<BasicBlock>) {
        self.gone_blocks.push(block);
    }

    fn notify_region_erasure(&mut self, _: &Context, _: Ptr<Region>) {
        self.is_of_structure = true;
    }

    fn notify_operation_unlinking(&mut self, ctx: &Context, op: Ptr<Operation>) {
        self.takes_away(ctx, op);
    }

    fn notify_block_unlinking(&mut self, _: &Context, block: Ptr<BasicBlock>) {
        self.gone_blocks.push(block);
    }
}
