//! Parts of lowering that can be left out, to measure what they gain or to see that they are
//! needed.

/// Rules that go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Contents of private memory for loads, and origins of pointers.
    Memory,
    /// Summaries of callees, and sources of arguments.
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

/// A part of what shapes say. Without it answers are unsound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmittedPart {
    /// The sources that remain of the thread's indices.
    Indices,
    /// The values that a shape is made of.
    Atoms,
    /// That flags of operations may be violated.
    Poison,
}

/// A read that a test leaves out, to see that it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmittedRead {
    /// What a slot held before part of it was written.
    OldContent,
    /// Which part of an object is accessed.
    Place,
    /// All entries of a memory phi but the first.
    OtherWays,
}
