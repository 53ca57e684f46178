//! Rules by family, to see what each gains.
//!
//! A table without a family holds what the others say: what the family knows is unknown, or is what the operands give. Only
//! the function itself is seen so; what is known of its callees was found with all rules.
//!
//! O(one lowering).

use phalanx_target::LaunchFacts;

use super::entry::with_rules;
use super::full::FullRules;
use crate::code::{Code, Surroundings};
use crate::{
    code::calls::NoCallFacts,
    divergence::ValueTable,
    memory::{Looked, PrivateMemory},
};

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

/// As [`full_with`](super::full_with), without a part of what shapes say: a negative control.
#[cfg(any(test, feature = "testing"))]
#[must_use]
pub fn full_without_part(
    code: Code<'_>,
    around: Surroundings<'_>,
    memory: &PrivateMemory,
    part: OmittedPart,
) -> ValueTable {
    let mut rules =
        FullRules::new(code, around).with_memory(Looked::Whole(memory)).without_part(part);
    with_rules(code, &mut rules, (memory, None), 0).0
}

/// As [`full_with`](super::full_with), without a family of rules.
#[must_use]
pub fn full_without_family(
    code: Code<'_>,
    around: Surroundings<'_>,
    memory: &PrivateMemory,
    family: Family,
) -> ValueTable {
    let launch = LaunchFacts { wave_width: around.launch.wave_width, ..LaunchFacts::default() };
    let around = match family {
        Family::Calls => Surroundings { calls: &NoCallFacts, ..around },
        Family::Launch => Surroundings { launch: &launch, ..around },
        _ => around,
    };
    let nothing = PrivateMemory::default();
    let memory = if family == Family::Memory { &nothing } else { memory };
    let mut rules = FullRules::new(code, around).with_memory(Looked::Whole(memory)).without(family);
    with_rules(code, &mut rules, (memory, None), 0).0
}
