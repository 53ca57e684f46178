//! The precise rules one by one, so that a test can leave one out and see that it is needed.

use phalanx_graph::sync::Consequence;

/// A rule that a test leaves out, to see that it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(unreachable_pub, reason = "exported with the feature `testing` only")]
pub enum Omitted {
    /// Phis at joins.
    Join,
    /// Phis in the header of a cycle, for threads that come back to it.
    JoinBack,
    /// Divergent exits.
    Exit,
    /// Divergent exits that are reached from where some threads have met.
    ExitsFrom,
    /// Consequences of a divergent exit beyond the first meeting.
    Onward,
    /// Uses that are reached from a divergent exit.
    Reach,
    /// Uses by phis on a divergent exit edge.
    ReadOnExit,
    /// Irreducible cycles that are assumed divergent.
    Assume,
    /// Consequences of threads leaving an assumed-divergent cycle apart.
    Split,
    /// Uses, in other blocks, of what is always uniform in an assumed-divergent cycle.
    ReadApart,
    /// Uses outside of cycles within irreducible regions.
    LiveOut,
}

/// The rule that a consequence belongs to.
pub(super) fn rule_of(consequence: Consequence) -> Option<Omitted> {
    match consequence {
        Consequence::Join(_) | Consequence::JoinOver(..) => Some(Omitted::Join),
        Consequence::JoinBack(..) => Some(Omitted::JoinBack),
        Consequence::Exit(_) | Consequence::Exits { .. } => Some(Omitted::Exit),
        Consequence::ExitsFrom(_) => Some(Omitted::ExitsFrom),
        Consequence::Onward(..) => Some(Omitted::Onward),
        Consequence::Reaches(_) => Some(Omitted::Reach),
        Consequence::Assume(_) => Some(Omitted::Assume),
        Consequence::LiveOut(_) => Some(Omitted::LiveOut),
        Consequence::Also(_) | Consequence::AlsoFrom(_) => None,
    }
}
