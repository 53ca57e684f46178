//! Leaves out families of rules, to measure what each of them gains.
//!
//! In a table without a family, other rules apply to what the family is about: the value is
//! unknown, or depends on its operands. Only the function itself is lowered in this way; the
//! summaries of its callees were found with all rules.
//!
//! O(one lowering).

use phalanx_core::divergence::ValueTable;
use phalanx_target::LaunchFacts;

use super::entry::with_rules;
use super::full::FullRules;
use super::omitted::Family;
#[cfg(any(test, feature = "testing"))]
use super::omitted::OmittedPart;
use crate::code::{Code, Environment};
use crate::{
    code::calls::NoCallFacts,
    memory::{PrivateMemory, PrivateView},
};

/// As [`full_with`](super::full_with), without a part of what shapes say. Tests use it to see that
/// they find the error.
#[cfg(any(test, feature = "testing"))]
#[must_use]
pub fn full_without_part(
    code: Code<'_>,
    env: Environment<'_>,
    memory: &PrivateMemory,
    part: OmittedPart,
) -> ValueTable {
    let mut rules =
        FullRules::new(code, env).with_memory(PrivateView::Whole(memory)).without_part(part);
    with_rules(code, &mut rules, (memory, None), 0).0
}

/// As [`full_with`](super::full_with), without a family of rules.
#[must_use]
pub fn full_without_family(
    code: Code<'_>,
    env: Environment<'_>,
    memory: &PrivateMemory,
    family: Family,
) -> ValueTable {
    let launch = LaunchFacts { wave_width: env.launch.wave_width, ..LaunchFacts::default() };
    let env = match family {
        Family::Calls => Environment { calls: &NoCallFacts, ..env },
        Family::Launch => Environment { launch: &launch, ..env },
        _ => env,
    };
    let nothing = PrivateMemory::default();
    let memory = if family == Family::Memory { &nothing } else { memory };
    let mut rules =
        FullRules::new(code, env).with_memory(PrivateView::Whole(memory)).without(family);
    with_rules(code, &mut rules, (memory, None), 0).0
}
