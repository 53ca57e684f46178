//! Rules by family, to see what each gains.
//!
//! A table without a family holds what the others say: what the family knows is unknown, or is what
//! the operands give. Only the function itself is seen so; what is known of its callees was found
//! with all rules.
//!
//! O(one lowering).

use phalanx_core::divergence::ValueTable;
use phalanx_target::LaunchFacts;

use super::entry::with_rules;
use super::full::FullRules;
use super::omitted::Family;
#[cfg(any(test, feature = "testing"))]
use super::omitted::OmittedPart;
use crate::code::{Code, Surroundings};
use crate::{
    code::calls::NoCallFacts,
    memory::{Looked, PrivateMemory},
};

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
