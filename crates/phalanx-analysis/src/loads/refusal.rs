//! Why a load is not of a class.

use phalanx_ir::{GlobalName, InstId, Value};
use phalanx_target::SourceSet;

use crate::code::SpaceSet;

/// Why a load is not of a class; the entities are those of its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is volatile.
    Volatile,
    /// It is atomic.
    Atomic,
    /// Threads of a wave may read different addresses, for these sources.
    Divergent(SourceSet),
    /// It may read these memories, others than the class is for among them.
    Space(SpaceSet),
    /// The type has no such load.
    Type,
    /// It reads so few bytes.
    Narrow(u64),
    /// Less alignment is known than it takes.
    Misaligned {
        /// What is known.
        align: u64,
        /// What it takes.
        wanted: u64,
    },
    /// The address is made from this, of which nothing is known.
    Origin(Value),
    /// Other pointers may lead to what this argument points to: it is not `noalias`.
    Aliased(u32),
    /// What is promised of this argument holds for the call only: the function is no kernel.
    OfCall(u32),
    /// The kernel writes through this argument.
    Written {
        /// The argument.
        argument: u32,
        /// Where.
        by: InstId,
    },
    /// A pointer made from this argument goes where it is not followed.
    Escapes {
        /// The argument.
        argument: u32,
        /// Where.
        by: InstId,
    },
    /// A function of the module writes this variable.
    VariableWritten {
        /// The variable.
        variable: GlobalName,
        /// The function.
        function: GlobalName,
    },
    /// This variable may be written from outside of the module.
    Visible(GlobalName),
    /// It is in no kernel: its callers may have stored there before.
    NoKernel,
    /// This may store there before.
    Clobbered(InstId),
    /// This may make visible before what other threads stored there.
    Acquire(InstId),
    /// There are too many definitions of memory before it.
    TooFar,
    /// The program waits for earlier grids (`griddepcontrol.wait`): until then they may write.
    EarlierGrids,
}

impl Refusal {
    /// The instruction that is to blame, besides the load.
    #[must_use]
    pub const fn culprit(self) -> Option<InstId> {
        match self {
            Refusal::Written { by, .. }
            | Refusal::Escapes { by, .. }
            | Refusal::Clobbered(by)
            | Refusal::Acquire(by) => Some(by),
            _ => None,
        }
    }

    /// A word for it, for programs.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Refusal::Volatile => "volatile",
            Refusal::Atomic => "atomic",
            Refusal::Divergent(_) => "divergent-address",
            Refusal::Space(_) => "space",
            Refusal::Type => "type",
            Refusal::Narrow(_) => "narrow",
            Refusal::Misaligned { .. } => "misaligned",
            Refusal::Origin(_) => "origin",
            Refusal::Aliased(_) => "aliased",
            Refusal::OfCall(_) => "of-call",
            Refusal::Written { .. } => "written",
            Refusal::Escapes { .. } => "escapes",
            Refusal::VariableWritten { .. } => "variable-written",
            Refusal::Visible(_) => "visible",
            Refusal::NoKernel => "no-kernel",
            Refusal::Clobbered(_) => "clobbered",
            Refusal::Acquire(_) => "acquire",
            Refusal::TooFar => "too-far",
            Refusal::EarlierGrids => "earlier-grids",
        }
    }
}
