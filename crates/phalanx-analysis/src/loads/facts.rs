//! What the classes of loads are found from, besides the code.

use std::sync::Arc;

use phalanx_core::divergence::Divergence;
use phalanx_graph::{Cfg, Cycles};
use phalanx_ir::{GlobalName, InstId};

use super::unchanged::Writers;
use super::writes::WrittenBy;
use crate::memory::{ClassicMemorySsa, PrivateMemory};
use crate::spaces::MemoryKinds;

/// Who writes a variable of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableUse {
    /// Nobody: it is constant.
    Constant,
    /// Nobody in the module, and nobody else can name it.
    NeverWritten,
    /// Something in this function writes it, or lets others do so.
    Written(GlobalName),
    /// It can be named from elsewhere.
    Visible,
    /// It is no variable.
    Unknown,
}

/// A rule that is left out, to see that its absence is noticed: a negative control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omitted {
    /// Acquires make nothing visible.
    Acquires,
    /// Stores before a load do not count.
    Clobbers,
    /// Nothing is said of other iterations: an address is what it was when a store was done.
    Iterations,
    /// Stores through an argument do not count.
    Writes,
    /// What functions that are called do with arguments does not count.
    Calls,
    /// An argument need not be `noalias`.
    Aliases,
    /// Addresses need not be uniform.
    Uniformity,
    /// Pointers in private memory may be read as anything, by anybody.
    Slots,
    /// Callers may pass anything.
    Callers,
    /// No store of a generic pointer, and no function, writes device memory.
    Spaces,
    /// Any alignment is enough.
    Alignment,
    /// Whatever function is entered, memory is as it was when the launch began.
    Entry,
}

/// What is known besides the code.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The graph.
    pub cfg: &'a Cfg,
    /// Its cycles.
    pub cycles: &'a Cycles,
    /// What diverges.
    pub divergence: &'a Divergence,
    /// Slots that nobody else reaches.
    pub private: &'a PrivateMemory,
    /// Which memories addresses lead to.
    pub kinds: &'a MemoryKinds,
    /// Which memories a function may write that is called with this type; none if that is not
    /// known.
    pub written_by: WrittenBy<'a>,
    /// Memory as one variable, asked for where it matters what happens before a load; none where
    /// there is no body.
    pub classic: &'a dyn Fn() -> Option<Arc<ClassicMemorySsa>>,
    /// Who writes what.
    pub writers: Writers<'a>,
    /// Whether device memory, as this thread sees it, is at the entry as it was when the launch
    /// began.
    pub is_at_launch: bool,
    /// Whether a load is promised to read memory that never changes.
    pub is_promised: &'a dyn Fn(InstId) -> bool,
}

impl Facts<'_> {
    pub(super) fn omits(&self, rule: Omitted) -> bool {
        self.writers.omitted == Some(rule)
    }
}
