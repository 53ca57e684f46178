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
    /// Threads of a wave may read different addresses, because of these sources.
    Divergent(SourceSet),
    /// The load may read these memories; the class is not for all of them.
    Space(SpaceSet),
    /// The target has no such load for the type.
    Type,
    /// The load reads only this many bytes.
    Narrow(u64),
    /// The known alignment is less than needed.
    Misaligned {
        /// The known alignment.
        align: u64,
        /// The alignment that is needed.
        wanted: u64,
    },
    /// The address is based on this value, of which nothing is known.
    Origin(Value),
    /// Other pointers may lead to the memory that this argument points to: the argument is not
    /// `noalias`.
    Aliased(u32),
    /// The attributes of this argument hold for the call only: the function is no kernel.
    OfCall(u32),
    /// The kernel writes through this argument.
    Written {
        /// The argument.
        argument: u32,
        /// The instruction that writes.
        by: InstId,
    },
    /// A pointer based on this argument escapes.
    Escapes {
        /// The argument.
        argument: u32,
        /// The instruction at which it escapes.
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
    /// The load is in no kernel: callers may have stored there before.
    NoKernel,
    /// This instruction may store there before the load.
    Clobbered(InstId),
    /// This instruction may make stores of other threads visible before the load.
    Acquire(InstId),
    /// There are too many definitions of memory before it.
    TooFar,
    /// The program waits for earlier grids (`griddepcontrol.wait`), which may write until then.
    EarlierGrids,
}

impl Refusal {
    /// The instruction that is the reason, besides the load.
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

    /// A word for the refusal, for programs.
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
