//! Cycles in which threads are assumed to run apart.

use crate::SourceSet;
use phalanx_graph::{CycleId, Cycles};

/// Cycles that are assumed divergent, in order, without sources for which one around them is.
/// `O(n log n)` in their number.
pub(crate) fn outermost(
    assumed: &[(CycleId, SourceSet)],
    cycles: &Cycles,
) -> Vec<(CycleId, SourceSet)> {
    let mut sorted = assumed.to_vec();
    // Each before those nested in it.
    sorted.sort_unstable_by_key(|entry| entry.0);
    // Those around the present one, with what they and those around them are assumed divergent for.
    let mut env: Vec<(CycleId, SourceSet)> = Vec::new();
    sorted.retain_mut(|(cycle, sources)| {
        while env.pop_if(|(outer, _)| !cycles.contains_cycle(*outer, *cycle)).is_some() {}
        let covered = env.last().map_or(SourceSet::EMPTY, |(_, covered)| *covered);
        env.push((*cycle, covered.union(*sources)));
        *sources = sources.difference(covered);
        !sources.is_empty()
    });
    sorted
}

#[cfg(test)]
mod tests {
    use phalanx_graph::testing::random::any_graph;
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    use super::*;

    /// What the answer is by definition.
    fn by_definition(
        assumed: &[(CycleId, SourceSet)],
        cycles: &Cycles,
    ) -> Vec<(CycleId, SourceSet)> {
        let is_around =
            |outer: CycleId, cycle: CycleId| outer != cycle && cycles.contains_cycle(outer, cycle);
        let left = |&(cycle, sources): &(CycleId, SourceSet)| {
            let env = assumed.iter().filter(|(outer, _)| is_around(*outer, cycle));
            (cycle, env.fold(sources, |left, (_, more)| left.difference(*more)))
        };
        let mut found: Vec<_> = assumed.iter().map(left).filter(|(_, s)| !s.is_empty()).collect();
        found.sort_unstable_by_key(|entry| entry.0);
        found
    }

    #[test]
    fn a_cycle_is_listed_for_what_none_around_it_is() {
        let mut nested = 0;
        for seed in 0..2000 {
            let cycles = Cycles::new(&any_graph(seed, 24));
            let mut rng = SmallRng::seed_from_u64(seed);
            let mut assumed: Vec<(CycleId, SourceSet)> = Vec::new();
            for cycle in cycles.iter().rev() {
                let sources = SourceSet::from_bits(rng.random_range(0..8));
                if !sources.is_empty() {
                    nested += usize::from(cycles.parent(cycle).is_some());
                    assumed.push((cycle, sources));
                }
            }
            let expected = by_definition(&assumed, &cycles);
            assert_eq!(outermost(&assumed, &cycles), expected, "seed {seed}");
        }
        assert!(nested > 500, "{nested}");
    }
}
