//! Watching a launch.

use phalanx_ir::{BlockId, InstId};

use crate::{convergence::Key, thread::Coordinates, value::Value};

/// Where and when something happened.
#[derive(Copy, Clone, Debug)]
pub struct Moment<'a> {
    /// Who.
    pub thread: &'a Coordinates,
    /// Number of the function in the program.
    pub function: usize,
    /// The instruction.
    pub inst: InstId,
    /// The converged execution of its block.
    pub key: Key,
}

/// What is told of a launch as it happens. Every method does nothing unless it is given a body.
pub trait Observer {
    /// A thread begins to execute a block; `from` it comes, unless it is called.
    fn block(&mut self, _at: Moment<'_>, _block: BlockId, _from: Option<BlockId>) {}

    /// An instruction gave a value.
    fn value(&mut self, _at: Moment<'_>, _value: &Value) {}

    /// A terminator is about to go this way; told before [`Observer::block`].
    fn branch(&mut self, _at: Moment<'_>, _to: BlockId) {}

    /// Whether [`Observer::operand`] is wanted.
    fn wants_operands(&self) -> bool {
        false
    }

    /// An instruction reads the result of another.
    fn operand(&mut self, _at: Moment<'_>, _position: usize, _of: InstId, _value: &Value) {}
}

/// Watches nothing.
#[derive(Copy, Clone, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
