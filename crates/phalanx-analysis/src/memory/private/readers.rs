//! The readers of each version of private memory.
//!
//! A fixpoint over values and contents of memory has a node for each instruction and for each
//! version. This module computes the edges that leave versions. O(touches + entries of phis).

use phalanx_fixpoint::Subject;
use phalanx_ir::InstId;
use smallvec::SmallVec;

use super::{PrivateMemory, Touch};
use crate::memory::ssa::EventKind;

/// A node: the result of an instruction, or the content of a version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum ReaderNode {
    /// By instruction.
    Value(InstId),
    /// By [number](PrivateMemory::number_of) of the version.
    Content(u32),
}

/// By number of a version: its readers.
pub(crate) type Readers = Vec<SmallVec<[ReaderNode; 2]>>;

impl ReaderNode {
    /// The class of the contents of versions.
    pub(crate) const CONTENT: usize = 0;
    /// The class of the results of instructions.
    pub(crate) const VALUES: usize = 1;
}

impl Subject for ReaderNode {
    const CLASSES: usize = 2;

    #[inline]
    fn place(self) -> (usize, u32) {
        match self {
            ReaderNode::Content(at) => (Self::CONTENT, at),
            ReaderNode::Value(inst) => (Self::VALUES, inst.into_raw().into_u32()),
        }
    }

    #[inline]
    fn at(class: usize, number: u32) -> Self {
        match class {
            Self::CONTENT => ReaderNode::Content(number),
            _ => ReaderNode::Value(InstId::from_raw(number.into())),
        }
    }
}

impl PrivateMemory {
    /// The readers of each version.
    pub(crate) fn readers(&self) -> Readers {
        let mut readers: Readers = vec![SmallVec::new(); self.version_count()];
        for touches in self.touches.chunk_by(|a, b| a.inst == b.inst) {
            // A copy reads one object and writes another.
            let kind = |touch: &&Touch| self.events.event(touch.event).kind;
            let definitions = touches.iter().filter(|touch| kind(touch) != EventKind::Use);
            for touch in touches {
                if let Some(from) = self.number_of(self.reaching(touch)) {
                    readers[from].push(ReaderNode::Value(touch.inst));
                    let into = definitions.clone().map(|touch| ReaderNode::Content(touch.event));
                    readers[from].extend(into);
                }
            }
        }
        for (phi, at) in self.ssa.phis().iter().zip(self.events.len() as u32..) {
            for &(_, version) in self.ssa.incoming(phi) {
                if let Some(from) = self.number_of(version) {
                    readers[from].push(ReaderNode::Content(at));
                }
            }
        }
        readers
    }
}
