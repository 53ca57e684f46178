//! The list of families.

/// A shape of control flow.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Family {
    /// `n` instructions in a row.
    Line,
    /// `n` two-way branches in a row, each with a join and a phi.
    Diamonds,
    /// Loops nested `n` deep.
    Nest,
    /// Loops nested `n` deep with a branch in each.
    NestBig,
    /// `n` two-entry cycles in a row, both paths continuing in parallel.
    Ladder,
    /// As [`Family::Ladder`], with a way back from the last rung to the first.
    LadderLoop,
    /// A switch with `n` cases that join.
    Switch,
    /// A loop around a switch with `n` cases.
    Interpreter,
    /// `n` blocks with random branches to near blocks, forward and back.
    RandomLocal,
    /// `n` blocks with random branches anywhere.
    RandomGlobal,
    /// `n` conditional exits in a row to one block.
    EarlyExit,
    /// One loop with `n` conditional exits, each through a block of its own.
    Breaks,
    /// `n` branches in a row, each to an infinite loop.
    Infinite,
    /// `n` loops in a row.
    SequentialLoops,
    /// `n` nests of two loops in a row.
    SequentialNests,
    /// `n` nests of four loops in a row.
    SequentialDeepNests,
    /// Conditionals nested `n` deep.
    NestedIf,
    /// `n` switches in a row that share an unreachable default.
    Unreachable,
    /// `n` switches in a row, each with an unreachable default of its own.
    UnreachableOwn,
    /// `n` memory accesses, conversions and calls in a row, as compilers emit them without
    /// optimisation.
    Memory,
}

impl Family {
    /// All families.
    pub const ALL: &'static [Family] = &[
        Family::Line,
        Family::Diamonds,
        Family::Nest,
        Family::NestBig,
        Family::Ladder,
        Family::LadderLoop,
        Family::Switch,
        Family::Interpreter,
        Family::RandomLocal,
        Family::RandomGlobal,
        Family::EarlyExit,
        Family::Breaks,
        Family::Infinite,
        Family::SequentialLoops,
        Family::SequentialNests,
        Family::SequentialDeepNests,
        Family::NestedIf,
        Family::Unreachable,
        Family::UnreachableOwn,
        Family::Memory,
    ];

    /// A short name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Family::Line => "line",
            Family::Diamonds => "diamonds",
            Family::Nest => "nest",
            Family::NestBig => "nest_big",
            Family::Ladder => "ladder",
            Family::LadderLoop => "ladder_loop",
            Family::Switch => "switch",
            Family::Interpreter => "interpreter",
            Family::RandomLocal => "random_local",
            Family::RandomGlobal => "random_global",
            Family::EarlyExit => "early_exit",
            Family::Breaks => "breaks",
            Family::Infinite => "infinite",
            Family::SequentialLoops => "sequential_loops",
            Family::SequentialNests => "sequential_nests",
            Family::SequentialDeepNests => "sequential_deep_nests",
            Family::NestedIf => "nested_if",
            Family::Unreachable => "unreachable",
            Family::UnreachableOwn => "unreachable_own",
            Family::Memory => "memory",
        }
    }

    /// The family with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Family> {
        Self::ALL.iter().copied().find(|family| family.name() == name)
    }

    /// About how many instructions there are per unit of size.
    #[must_use]
    pub const fn instructions_per_unit(self) -> usize {
        match self {
            Family::Line => 1,
            Family::Switch | Family::Interpreter | Family::Infinite => 3,
            Family::EarlyExit | Family::SequentialLoops | Family::NestedIf => 5,
            Family::Nest | Family::RandomLocal | Family::RandomGlobal | Family::Breaks => 5,
            Family::Unreachable | Family::UnreachableOwn | Family::Diamonds | Family::Ladder => 8,
            Family::LadderLoop | Family::Memory => 8,
            Family::NestBig | Family::SequentialNests => 10,
            Family::SequentialDeepNests => 20,
        }
    }
}
