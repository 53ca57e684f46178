//! A thread and its calls, as plain data.

use phalanx_ir::{BlockId, InstId};

use crate::{
    convergence::{Key, Latest},
    coordinates::Coordinates,
    value::Value,
};

/// A call in progress.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) code: usize,
    pub(crate) block: BlockId,
    /// The next instruction.
    pub(crate) inst: InstId,
    pub(crate) values: Vec<Value>,
    pub(super) args: Box<[Value]>,
    pub(super) mark: usize,
    /// Distinguishes calls that are not converged.
    pub(crate) context: Key,
    pub(crate) now: Key,
    pub(crate) latest: Latest,
}

/// One thread.
#[derive(Debug)]
pub struct Thread {
    pub(crate) at: Coordinates,
    pub(crate) frames: Vec<Frame>,
}
