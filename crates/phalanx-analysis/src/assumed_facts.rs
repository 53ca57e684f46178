//! Assumptions about a function that its code alone does not show: loads that are stable in a scope
//! wider than a wave, and branches that go one way in each workgroup.
//!
//! # What
//!
//! [`AssumedFacts`] is two lists, found by [`stable`](crate::stable) and
//! [`barriers`](crate::variance::barriers). They change the tables that divergence is solved from,
//! and nothing else. For a load in the list, [`SourceSet::OPAQUE_WAVE`] is replaced by what the
//! list says. The terminator of a listed block is treated as uniform in each workgroup. The lists
//! are shared, so two copies of one list are compared in O(1).
//!
//! # How
//!
//! Tables from scratch are changed after they are made ([`AssumedFacts::apply`]). A
//! [`DivergenceUpdater`](crate::update::DivergenceUpdater) retains the lists that its tables were
//! made with. It applies the [`Difference`] to the present lists as it applies an edit: a load
//! whose entry has changed is lowered again.
//!
//! O(entries); O(1) if the lists are the same ones.

use std::sync::{Arc, LazyLock};

use phalanx_core::divergence::{Divergence, ValueTable, narrowed, one_way_in_group};
use phalanx_graph::Node;
use phalanx_ir::{FunctionHeader, InstId};
use phalanx_target::SourceSet;

use crate::code::Numbering;

/// A load, and what replaces [`SourceSet::OPAQUE_WAVE`] in its result; with
/// [`SourceSet::OPAQUE_THREAD`] if the load is known to read no memory of one thread only.
pub type StableLoad = (InstId, SourceSet);

/// Assumptions about a function. See the [module documentation](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssumedFacts {
    /// Loads that are stable in more than a wave, in order of their numbers.
    pub loads: Arc<[StableLoad]>,
    /// Blocks whose terminators go one way in each workgroup, in order.
    pub branches: Arc<[Node]>,
}

/// How the assumptions differ from earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Loads with another entry than before, and the present one: `None` if the load is no longer
    /// listed.
    pub loads: Vec<(InstId, Option<SourceSet>)>,
    /// Blocks that only one of the two lists has, and whether that is the present list.
    pub branches: Vec<(Node, bool)>,
}

impl Difference {
    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.loads.len() + self.branches.len()
    }

    /// Whether there is no difference.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl AssumedFacts {
    /// No assumptions.
    #[must_use]
    pub fn nothing() -> &'static AssumedFacts {
        static NOTHING: LazyLock<AssumedFacts> = LazyLock::new(AssumedFacts::default);
        &NOTHING
    }

    /// Whether there are no assumptions.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.loads.is_empty() && self.branches.is_empty()
    }

    /// Changes the tables of a function with this header.
    pub fn apply(&self, header: &FunctionHeader, table: &mut ValueTable) {
        let numbering = Numbering::new(header);
        for &(load, left) in &*self.loads {
            table.narrow_wave(numbering.inst(load), left);
        }
        for &branch in &*self.branches {
            table.assume_uniform_in_group(branch);
        }
    }

    /// Whether these assumptions leave the answer as it is; `without` is the divergence without
    /// them. If no changed rule gives another result at the solution `without`, then that solution
    /// also satisfies the changed rules, and is their least one: a load whose sources do not
    /// include those of the wave was not narrowed, and a terminator that keeps its sources in the
    /// solution had no others on the way to it.
    #[must_use]
    pub fn is_without_effect(&self, header: &FunctionHeader, without: &Divergence) -> bool {
        let numbering = Numbering::new(header);
        let is_narrowed = |&(load, left): &StableLoad| {
            let sources = without.value(numbering.inst(load));
            let seeds = [SourceSet::OPAQUE_WAVE, SourceSet::OPAQUE_THREAD | SourceSet::OPAQUE_WAVE];
            seeds.iter().any(|&seed| sources.contains(seed) && narrowed(seed, left) != seed)
        };
        let is_other = |branch: &Node| {
            let sources = without.terminator(*branch);
            one_way_in_group(sources) != sources
        };
        !self.loads.iter().any(is_narrowed) && !self.branches.iter().any(is_other)
    }

    /// The difference between these assumptions and those of `before`.
    #[must_use]
    pub fn difference(&self, before: &AssumedFacts) -> Difference {
        let mut found = Difference::default();
        if self.is_nothing() && before.is_nothing() {
            return found;
        }
        if self.loads != before.loads {
            let number = |load: &StableLoad| load.0.into_raw().into_u32();
            merge(&before.loads, &self.loads, number, |old, new| {
                if let Some((load, _)) = new.or(old).filter(|_| old != new) {
                    found.loads.push((*load, new.map(|(_, left)| *left)));
                }
            });
        }
        if self.branches != before.branches {
            merge(
                &before.branches,
                &self.branches,
                |block| block.raw(),
                |old, new| {
                    if let (Some(block), None) | (None, Some(block)) = (old, new) {
                        found.branches.push((*block, new.is_some()));
                    }
                },
            );
        }
        found
    }
}

/// Merges two sorted lists: calls `give` with the entries of each number.
fn merge<'a, T>(
    mut old: &'a [T],
    mut new: &'a [T],
    number: impl Fn(&T) -> u32,
    mut give: impl FnMut(Option<&'a T>, Option<&'a T>),
) {
    loop {
        let (first, second) = (old.first(), new.first());
        let (first, second) = match (first, second) {
            (None, None) => return,
            (Some(a), Some(b)) if number(a) < number(b) => (first, None),
            (Some(a), Some(b)) if number(b) < number(a) => (None, second),
            both => both,
        };
        old = &old[usize::from(first.is_some())..];
        new = &new[usize::from(second.is_some())..];
        give(first, second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assumed_facts(loads: &[(u32, SourceSet)], branches: &[usize]) -> AssumedFacts {
        let load = |&(number, left): &(u32, SourceSet)| (InstId::from_raw(number.into()), left);
        AssumedFacts {
            loads: loads.iter().map(load).collect(),
            branches: branches.iter().map(|&number| Node::new(number)).collect(),
        }
    }

    /// A load that may be of private memory, as far as the rule of the load knows, is narrowed only
    /// if its entry says that the memory is not private.
    #[test]
    fn what_may_be_private_is_narrowed_when_it_is_known_not_to_be() {
        let (thread, wave) = (SourceSet::OPAQUE_THREAD, SourceSet::OPAQUE_WAVE);
        let group = SourceSet::OPAQUE_GROUP;
        assert_eq!(narrowed(wave, group), group);
        assert_eq!(narrowed(thread | wave, group), thread | wave);
        assert_eq!(narrowed(thread | wave, thread | group), group);
        assert_eq!(narrowed(thread | wave, thread | wave), wave);
        assert_eq!(narrowed(wave, thread | wave), wave);
        assert_eq!(narrowed(SourceSet::EMPTY, thread | wave), SourceSet::EMPTY);
        assert_eq!(narrowed(thread, thread | group), thread);
    }

    #[test]
    fn a_difference_makes_one_list_of_another() {
        let (all, group) = (SourceSet::EMPTY, SourceSet::OPAQUE_GROUP);
        let lists = [
            assumed_facts(&[], &[]),
            assumed_facts(&[(1, all), (4, group), (9, all)], &[0, 3]),
            assumed_facts(&[(1, group), (5, group), (9, all)], &[3, 4]),
            assumed_facts(&[(0, all), (10, all)], &[0, 1, 2, 3, 4]),
        ];
        for before in &lists {
            for now in &lists {
                let difference = now.difference(before);
                assert_eq!(difference.is_empty(), before == now);
                let mut loads = before.loads.to_vec();
                for (load, left) in difference.loads {
                    loads.retain(|(other, _)| *other != load);
                    loads.extend(left.map(|left| (load, left)));
                }
                loads.sort_unstable_by_key(|(load, _)| load.into_raw().into_u32());
                assert_eq!(loads, now.loads.to_vec());
                let mut branches = before.branches.to_vec();
                for (branch, is_there) in difference.branches {
                    branches.retain(|other| *other != branch);
                    branches.extend(is_there.then_some(branch));
                }
                branches.sort_unstable();
                assert_eq!(branches, now.branches.to_vec());
            }
        }
    }
}
