//! What can be left out of lowering, to see what it gains or that it is needed.

/// Rules that go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// What loads give from private memory, and where pointers come from.
    Memory,
    /// Summaries of callees, sources of arguments.
    Calls,
    /// Operations among the threads of a wave: votes, broadcasts, shuffles, reductions.
    Subgroups,
    /// Functions of the thread's indices, algebra and congruence.
    Shapes,
    /// Sizes of workgroups.
    Launch,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 5] =
        [Family::Memory, Family::Calls, Family::Subgroups, Family::Shapes, Family::Launch];

    /// A word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Family::Memory => "memory",
            Family::Calls => "calls",
            Family::Subgroups => "subgroups",
            Family::Shapes => "shapes",
            Family::Launch => "launch",
        }
    }
}

/// A part of what shapes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmittedPart {
    /// What the thread's indices leave.
    Indices,
    /// The values that a shape is made of.
    Atoms,
    /// That flags of operations may be violated.
    Poison,
}

/// What a test leaves out, to see that it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmittedRead {
    /// What a slot held before something was written to a part of it.
    OldContent,
    /// Where in an object is accessed.
    Place,
    /// All that comes into a memory phi but the first.
    OtherWays,
}
