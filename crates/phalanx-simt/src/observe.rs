//! The interface for observing a launch.

use phalanx_ir::{BlockId, InstId, inst::Ordering};

use crate::{
    convergence::Key,
    coordinates::Coordinates,
    memory::Region,
    reach::Reach,
    together::{MaskedLane, Place},
    value::Value,
};

/// Where and when something happened.
#[derive(Copy, Clone, Debug)]
pub struct Moment<'a> {
    /// The thread.
    pub thread: &'a Coordinates,
    /// Number of the function in the program.
    pub function: usize,
    /// The instruction.
    pub inst: InstId,
    /// The converged execution of its block.
    pub key: Key,
}

/// An access of memory that other threads can reach.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// The region: global or shared.
    pub region: Region,
    /// The address of the first byte.
    pub address: u64,
    /// How many bytes.
    pub size: u64,
    /// Whether it reads, writes, or does both as one access.
    pub kind: AccessKind,
    /// [`Ordering::NotAtomic`] if it is not atomic.
    pub ordering: Ordering,
    /// The threads among which it is atomic and orders memory.
    pub reach: Reach,
    /// Whether a write changes the bytes.
    pub changes: bool,
}

/// What an access does.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes, with no other access in between.
    Modify,
}

/// A phase of a split barrier.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Phase {
    /// Whether it is the barrier of a cluster or of a workgroup.
    pub is_cluster: bool,
    /// The number of the cluster or workgroup.
    pub instance: u32,
    /// How many phases were before.
    pub number: u64,
}

/// Receives the events of a launch as they happen. Methods do nothing by default.
pub trait Observer {
    /// A thread begins to execute a block; `from` is the block that it comes from, unless it is
    /// called.
    fn block(&mut self, _at: Moment<'_>, _block: BlockId, _from: Option<BlockId>) {}

    /// An instruction has computed a value.
    fn value(&mut self, _at: Moment<'_>, _value: &Value) {}

    /// A terminator is about to take this edge; reported before [`Observer::block`].
    fn branch(&mut self, _at: Moment<'_>, _to: BlockId) {}

    /// Whether to report [`Observer::operand`].
    fn wants_operands(&self) -> bool {
        false
    }

    /// Whether to report [`Observer::access`], [`Observer::fence`], [`Observer::meet`],
    /// [`Observer::arrive`], [`Observer::pass`], [`Observer::apart`] and [`Observer::masked`].
    fn wants_accesses(&self) -> bool {
        false
    }

    /// A thread has accessed memory that other threads can reach.
    fn access(&mut self, _at: Moment<'_>, _access: &Access) {}

    /// A thread has executed a fence.
    fn fence(&mut self, _at: Moment<'_>, _ordering: Ordering, _reach: Reach) {}

    /// Threads, by number in the launch, pass a barrier together, of a workgroup or a wave.
    fn meet(&mut self, _threads: &[u32]) {}

    /// A thread, by number in the launch, has arrived at a barrier. Its earlier actions happen
    /// before later actions of threads that wait for the phase.
    fn arrive(&mut self, _thread: u32, _phase: Phase) {}

    /// A thread has waited for those that arrived in a phase.
    fn pass(&mut self, _thread: u32, _phase: Phase) {}

    /// Two threads, by number in the launch, pass one barrier although they wait at two places.
    fn apart(&mut self, _one: (u32, Place), _other: (u32, Place)) {}

    /// Lanes execute an operation with masks. `absent` are live threads of the wave, each with its
    /// lane, that do not execute it.
    fn masked(&mut self, _place: Place, _lanes: &[MaskedLane], _absent: &[(u32, u32)]) {}

    /// An instruction reads the result of another.
    fn operand(&mut self, _at: Moment<'_>, _position: usize, _of: InstId, _value: &Value) {}
}

/// Observes nothing.
#[derive(Copy, Clone, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
