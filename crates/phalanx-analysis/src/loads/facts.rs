//! The input of the classification of loads, besides the code.

use std::sync::Arc;

use phalanx_core::divergence::Divergence;
use phalanx_graph::{Cfg, Cycles};
use phalanx_ir::{GlobalName, InstId};

use super::unchanged::Writers;
use super::writes::WrittenBy;
use crate::memory::{ClassicMemorySsa, PrivateMemory};
use crate::spaces::MemoryKinds;

/// What may write a variable of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableUse {
    /// Nothing: the variable is constant.
    Constant,
    /// Nothing in the module, and code outside of it cannot name the variable.
    NeverWritten,
    /// This function writes it, or lets other code write it.
    Written(GlobalName),
    /// Code outside of the module can name it.
    Visible,
    /// The name is not of a variable.
    Unknown,
}

/// A rule that is left out in tests, which must then find an unsound answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omitted {
    /// Acquires make nothing visible.
    Acquires,
    /// Stores before a load are ignored.
    Clobbers,
    /// Iterations are ignored: an address has the value that it had when a store was executed.
    Iterations,
    /// Stores through an argument are ignored.
    Writes,
    /// What callees do with arguments is ignored.
    Calls,
    /// An argument need not be `noalias`.
    Aliases,
    /// Addresses need not be uniform.
    Uniformity,
    /// Code that reads pointers in private memory as something else is ignored.
    Slots,
    /// The arguments that callers pass are taken to be unchanged.
    Callers,
    /// Stores through generic pointers, and callees, are taken to write no device memory.
    Spaces,
    /// Any alignment is enough.
    Alignment,
    /// At the entry of any function, memory is taken to be as it was when the launch began.
    Entry,
}

/// The facts that classes are found from, besides the code.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The graph.
    pub cfg: &'a Cfg,
    /// Its cycles.
    pub cycles: &'a Cycles,
    /// The divergence of the function.
    pub divergence: &'a Divergence,
    /// Private memory: slots that no other code reaches.
    pub private: &'a PrivateMemory,
    /// Which memories addresses lead to.
    pub kinds: &'a MemoryKinds,
    /// Which memories a function may write when it is called with this type; none if that is not
    /// known.
    pub written_by: WrittenBy<'a>,
    /// The SSA form of memory as one variable, computed when it matters what happens before a load;
    /// none if the function has no body.
    pub classic: &'a dyn Fn() -> Option<Arc<ClassicMemorySsa>>,
    /// What writes through pointers, and to variables.
    pub writers: Writers<'a>,
    /// Whether device memory, as the thread sees it at the entry, is as it was when the launch
    /// began.
    pub is_at_launch: bool,
    /// Whether a load is marked to read memory that never changes (`!invariant.load`).
    pub is_promised: &'a dyn Fn(InstId) -> bool,
}

impl Facts<'_> {
    pub(super) fn omits(&self, rule: Omitted) -> bool {
        self.writers.omitted == Some(rule)
    }
}
