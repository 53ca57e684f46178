//! What can go wrong in a run, and where.

use std::fmt;

use phalanx_ir::{GlobalName, InstId};
use thiserror::Error;

/// What is wrong with a step of a thread.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum FaultKind {
    /// Undefined behaviour.
    #[error("undefined behaviour: {0}")]
    Undefined(String),
    /// An access outside of any allocation.
    #[error("{access} of {size} bytes at {space} address {address:#x}: {reason}")]
    Memory {
        /// `load`, `store` ...
        access: &'static str,
        /// `global`, `shared`, `private`
        space: &'static str,
        /// The address within that space.
        address: u64,
        /// How many bytes.
        size: u64,
        /// Why not.
        reason: &'static str,
    },
    /// Something that is not interpreted.
    #[error("not interpreted: {0}")]
    Unsupported(String),
    /// Calls nest too deep.
    #[error("calls nest deeper than {0}")]
    Depth(usize),
}

impl FaultKind {
    pub(crate) fn undefined(what: impl Into<String>) -> FaultKind {
        FaultKind::Undefined(what.into())
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> FaultKind {
        FaultKind::Unsupported(what.into())
    }
}

/// A place in a program.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Site {
    /// The function.
    pub function: GlobalName,
    /// The instruction.
    pub inst: InstId,
}

/// A thread that cannot continue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// The thread, by its number in the launch.
    pub thread: u32,
    /// Where.
    pub site: Option<Site>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {}: {}", self.thread, self.kind)
    }
}

impl std::error::Error for Fault {}

/// Threads that wait for others at one place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Waiting {
    /// Where.
    pub site: Site,
    /// The threads, by number in the launch.
    pub threads: Vec<u32>,
}

/// Why a launch failed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Failure {
    /// A thread cannot continue.
    #[error("{0}")]
    Fault(Fault),
    /// No thread can continue: threads wait at barriers for others that will not come.
    #[error("hang: {} threads wait at barriers that cannot be satisfied", .0.iter().map(|w| w.threads.len()).sum::<usize>())]
    Hang(Vec<Waiting>),
    /// The fuel is spent.
    #[error("out of fuel after {0} steps")]
    Fuel(u64),
    /// The launch itself is invalid.
    #[error("{0}")]
    Launch(String),
}
