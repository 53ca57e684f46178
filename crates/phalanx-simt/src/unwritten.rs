//! Reads of workgroup memory that no thread has written.
//!
//! Workgroup memory holds arbitrary bits when a workgroup begins. A kernel that reads bytes that
//! none of its threads has written computes with these bits:
//!
//! ```text
//! if (t > 0) tile[t] = in[t];
//! barrier
//! out[t] = tile[t];               thread 0 reads tile[0], which was never written
//! ```
//!
//! A read is reported if none of its bytes was written before. A read of partly written bytes is
//! not, since structures have gaps. An atomic read-modify-write counts as a write, not as a read.
//!
//! O(bytes) for each access, and a `bool` for each byte of workgroup memory.

use phalanx_ir::InstId;
use rustc_hash::FxHashMap;

use crate::{
    memory::Region,
    observe::{Access, AccessKind, Moment},
};

/// An instruction that reads unwritten memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct UnwrittenRead {
    /// The first thread that executed it so, by number in the launch.
    pub thread: u32,
    /// Number of the function in the program.
    pub function: usize,
    /// The instruction.
    pub inst: InstId,
    /// Where in the memory of the workgroup.
    pub address: u64,
    /// How many times the instruction did so.
    pub count: u64,
}

/// Watches a launch for reads of unwritten memory.
#[derive(Debug, Default)]
pub struct Unwritten {
    /// By workgroup, whether each byte was written.
    written: FxHashMap<u32, Vec<bool>>,
    found: Vec<UnwrittenRead>,
    by_place: FxHashMap<(usize, InstId), usize>,
}

impl Unwritten {
    /// Instructions that read unwritten memory, in the order of their first such read.
    #[must_use]
    pub fn found(&self) -> &[UnwrittenRead] {
        &self.found
    }

    /// Records an access.
    pub fn access(&mut self, at: Moment<'_>, access: &Access) {
        if access.region != Region::Shared {
            return;
        }
        let written = self.written.entry(at.thread.workgroup()).or_default();
        // The interpreter has checked that the addresses exist.
        let (start, end) = (access.address as usize, (access.address + access.size) as usize);
        if access.kind != AccessKind::Load {
            if written.len() < end {
                written.resize(end, false);
            }
            written[start..end].fill(true);
            return;
        }
        let known = written.get(start..end.min(written.len())).unwrap_or_default();
        if access.size == 0 || known.contains(&true) {
            return;
        }
        let next = self.found.len();
        let number = *self.by_place.entry((at.function, at.inst)).or_insert(next);
        if number == next {
            let (thread, address) = (at.thread.number, access.address);
            let (function, inst) = (at.function, at.inst);
            self.found.push(UnwrittenRead { thread, function, inst, address, count: 0 });
        }
        self.found[number].count += 1;
    }
}
