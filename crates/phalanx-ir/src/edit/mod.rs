//! Editing a function in transactions.
//!
//! A [`Transaction`] is open on one function. It offers the function for reading and a small set of
//! operations that change it. A [`commit`](Transaction::commit) keeps the changes; dropping the
//! transaction takes all of them back. An operation that would break a rule is an error that names
//! the entity and changes nothing; the transaction stays open.
//!
//! # What holds by construction
//!
//! - Operands exist and have the type that the instruction demands; new instructions satisfy the
//!   verifier's rules for their operands.
//! - Def-use lists are exact at every moment. An instruction whose result is read cannot be erased.
//! - Phis lose the incoming values of removed edges. They get those of new edges if a parallel edge
//!   says which they are. Otherwise the block is *pending*: after making the edge, add the values
//!   with [`Transaction::add_phi_input`]. A commit with a phi that does not fit its edges fails.
//! - Blocks end in their only terminator, or the commit fails. No edge leads to the entry, only
//!   those that unwind lead to pads, and a `musttail` call stays before its return.
//!
//! The caller must ensure that definitions dominate their uses. With debug assertions every commit
//! runs the verifier on the whole function and fails on any error; [`Transaction::verifying`] turns
//! that on or off.
//!
//! # What an edit leaves behind
//!
//! The [`Journal`] of the body gets one entry per commit that changed something, with the changed
//! instructions and blocks. Facts that are retained across edits are repaired from it. A part of
//! the function that did not change is not touched: edits of instructions leave the flow alone. A
//! commit with changes drops all `uselistorder` directives of the function and of the module.
//!
//! # Cost
//!
//! O(1) per changed operand, and O(moved) for instructions that change blocks. An edge costs the
//! same for each phi of its target: incoming values are added and removed in place, and the log has
//! an entry for each edge. Cases of a `switch` are added, removed and redirected one by one.
//! Removing entries of a phi one after the other moves the entries behind them each time. Def-use
//! lists are made when first needed, O(body). A transaction that changes nothing costs nothing.
//!
//! ```
//! use phalanx_ir::edit::{InModule, Transaction};
//! # use std::sync::Arc;
//! # use phalanx_ir::{builder::*, *};
//! # fn main() -> Result<(), BuildError> {
//! # let mut module = ModuleBuilder::new(Arc::new(Context::new()));
//! # let spec = FunctionSpec::new(Type::I32).param(Type::I32, "n");
//! # let mut f = module.define_function("twice", &spec)?;
//! # let [n] = f.args();
//! # let entry = f.block("entry");
//! # f.switch_to(entry);
//! # let sum = f.add(n, n)?;
//! # f.ret(sum)?;
//! # f.finish()?;
//! # let mut module = module.finish()?;
//! // n + n becomes n << 1.
//! let mut function = InModule::new(&mut module, 0);
//! let mut edit = Transaction::new(&mut function);
//! let body = edit.body();
//! let add = body.all_ids().find(|&i| body.inst(i).opcode == Opcode::Add).unwrap();
//! let n = body.operands(add)[0];
//! let one = edit.context().const_i32(1);
//! let shl = edit.before(add).named("twice").shl(n, one)?;
//! edit.replace(add, shl)?;
//! edit.commit()?;
//! # Ok(())
//! # }
//! ```

pub(crate) mod aside;
mod blocks;
mod cases;
mod change;
mod clone;
mod cursor;
pub(crate) mod history;
mod insert;
mod insts;
mod journal;
mod mentions;
mod phis;
mod replace;
mod store;
mod undo;
pub(crate) mod uses;

#[cfg(test)]
mod case_tests;
#[cfg(test)]
mod edge_tests;
#[cfg(test)]
mod record_tests;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

pub use self::{
    clone::Clones,
    cursor::Cursor,
    insert::Inserted,
    journal::{Changes, Journal},
    store::{InModule, Store},
    uses::Use,
};
use self::{mentions::Mentions, undo::Log};
use crate::{
    body::{Body, InstId, raw},
    builder::BuildError,
    constant::Const,
    context::Context,
    describe,
    extras::Extras,
    flow::{BlockId, Flow},
    function::{FunctionHeader, FunctionRef},
    types::Type,
    value::{Value, ValueKind},
    verify::{self, VerifyError, view},
};

/// An edit of one function. See the [module documentation](self).
pub struct Transaction<'s> {
    store: &'s mut (dyn Store + 's),
    log: Log,
    /// Changed instructions, with repetitions.
    insts: SmallVec<[InstId; 4]>,
    /// Blocks that were changed as a whole, with repetitions.
    blocks: Vec<BlockId>,
    /// Blocks whose phis the commit compares with their edges, with repetitions.
    pending: SmallVec<[BlockId; 4]>,
    /// Blocks that this transaction made and that may still lack a terminator.
    open: FxHashSet<BlockId>,
    mentions: Option<Mentions>,
    verifies: bool,
    is_done: bool,
}

impl<'s> Transaction<'s> {
    /// Opens a transaction on a function with code.
    pub fn new(store: &'s mut (dyn Store + 's)) -> Self {
        Transaction {
            store,
            log: Log::default(),
            insts: SmallVec::new(),
            blocks: Vec::new(),
            pending: SmallVec::new(),
            open: FxHashSet::default(),
            mentions: None,
            verifies: cfg!(debug_assertions),
            is_done: false,
        }
    }

    /// Whether the commit runs the verifier on the function. The default is to do so with debug
    /// assertions.
    pub fn verifying(&mut self, verifies: bool) -> &mut Self {
        self.verifies = verifies;
        self
    }

    /// All parts of the function as they are now.
    pub fn function(&self) -> FunctionRef<'_> {
        self.store.function()
    }

    /// Header of the function.
    pub fn header(&self) -> &FunctionHeader {
        self.store.header()
    }

    /// Blocks and successors as they are now.
    pub fn flow(&self) -> &Flow {
        self.store.flow()
    }

    /// Instructions as they are now.
    pub fn body(&self) -> &Body {
        self.store.body()
    }

    /// Instructions whose attachments were changed so far, with repetitions. O(changes).
    pub fn reattached(&self) -> impl Iterator<Item = InstId> {
        self.log.reattached()
    }

    /// Names, attachments and debug records as they are now.
    pub fn extras(&self) -> &Extras {
        self.store.extras()
    }

    /// The module around the function; its functions may be kept elsewhere.
    pub fn module(&self) -> &crate::Module {
        self.store.module()
    }

    /// Where types, constants and names live.
    pub fn context(&self) -> &Context {
        &self.store.module().context
    }

    /// The header of the function that a constant names.
    pub fn function_named(&self, constant: Const) -> Option<&FunctionHeader> {
        store::env(self.store).function_of(constant)
    }

    /// Type of a value; none when it is not one of this function, or was erased.
    pub fn type_of(&self, value: impl Into<Value>) -> Option<Type> {
        let value = value.into();
        match value.kind() {
            // The common case, which needs nothing of the module.
            ValueKind::Inst(inst) => {
                let body = self.body();
                return body.has(inst).then(|| body.inst(inst).ty);
            }
            ValueKind::Arg(position) => {
                return self.header().params.get(position as usize).copied();
            }
            ValueKind::Block(_) | ValueKind::Const(_) | ValueKind::Metadata(_) => {}
        }
        let env = store::env(self.store);
        let (header, body, flow) = (self.header(), self.body(), self.flow());
        if view::dangling(&env.types, header, body, flow, value).is_some() {
            return None;
        }
        let is_there = value.as_block().is_none_or(|block| self.is_placed(block));
        is_there.then(|| view::type_of(&env.types, header, body, value))
    }

    /// The operands that read a value. Their order is unspecified, but the same after the same
    /// edits.
    pub fn uses_of(&self, value: impl Into<Value>) -> impl Iterator<Item = Use> + '_ {
        self.body().uses_of(value.into())
    }

    /// Whether any operand reads a value.
    pub fn is_used(&self, value: impl Into<Value>) -> bool {
        self.body().is_used(value.into())
    }

    /// Whether anything has been changed.
    pub fn is_changed(&self) -> bool {
        self.log.body.is_some() || self.log.flow.is_some() || self.log.extras.is_some()
    }

    /// All rules that the function breaks now. O(function).
    pub fn verify(&self) -> Vec<VerifyError> {
        verify::function_over(&store::env(self.store), self.function())
    }

    /// Ends the transaction and keeps its changes.
    ///
    /// # Errors
    /// When a block lacks its terminator, a phi does not fit the edges into its block, or the
    /// verifier finds anything. Everything is taken back then.
    pub fn commit(mut self) -> Result<(), BuildError> {
        self.check_open()?;
        self.check_pending()?;
        if self.verifies && self.is_changed() {
            let errors = self.verify();
            if !errors.is_empty() {
                return Err(self.invalid(errors));
            }
        }
        self.is_done = true;
        let flow = self.log.flow.is_some();
        if flow || !self.insts.is_empty() {
            self.store.forget_use_list_orders();
            let insts = std::mem::take(&mut self.insts);
            let blocks = std::mem::take(&mut self.blocks);
            let body = self.store.body_mut();
            let size = body.id_count();
            body.history.journal.push(insts, blocks, flow, size);
        }
        Ok(())
    }

    /// Ends the transaction and takes its changes back; so does dropping it.
    pub fn abort(self) {}

    fn check_open(&self) -> Result<(), BuildError> {
        let body = self.body();
        let open = self.open.iter().copied().filter(|&block| body.terminator(block).is_none());
        match open.min_by_key(|&block| raw(block)) {
            Some(block) => Err(self.entity(Value::block(block), "has no terminator")),
            None => Ok(()),
        }
    }

    fn invalid(&self, errors: Vec<VerifyError>) -> BuildError {
        let (module, function) = (self.store.module(), self.function());
        BuildError::Function {
            function: describe::global(self.context(), function.header.name),
            messages: errors.iter().map(|e| describe::error(module, Some(function), e)).collect(),
            errors,
        }
    }

    fn entity(&self, entity: Value, message: &'static str) -> BuildError {
        let context = self.context();
        BuildError::Entity {
            function: describe::global(context, self.header().name),
            entity: describe::value(context, self.function(), entity),
            message,
        }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.log.undo(self.store);
        }
    }
}

impl std::fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").field("changed", &self.insts).finish_non_exhaustive()
    }
}
