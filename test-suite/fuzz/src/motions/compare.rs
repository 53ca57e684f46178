//! Compares groups, and results of votes, before and after a motion.

use phalanx::ir::{InstId, Module};
use phalanx_simt::{Observer, Reconvergence, Value as Seen, observe::Moment};
use rustc_hash::FxHashMap;

use super::{Classes, Company, FUEL, Together};
use crate::transforms::launch_watched;

/// The required relation of groups before and after.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Relation {
    Equal,
    EqualSets,
    Grows,
    GrowsSets,
    Shrinks,
}

impl Relation {
    fn holds(self, before: &Company, after: &Company) -> bool {
        let part = |a: &Company, b: &Company| a.iter().all(|(g, n)| b.get(g) >= Some(n));
        let subset = |a: &Company, b: &Company| a.keys().all(|g| b.contains_key(g));
        match self {
            Relation::Equal => before == after,
            Relation::EqualSets => subset(before, after) && subset(after, before),
            Relation::Grows => part(before, after),
            Relation::GrowsSets => subset(before, after),
            Relation::Shrinks => part(after, before),
        }
    }
}

/// A motion that was made.
pub(super) struct Made {
    pub(super) before: Vec<InstId>,
    pub(super) after: Vec<InstId>,
    pub(super) relation: Relation,
}

/// Whether each thread gets at the second probe the value of its last execution of the first one.
struct Again {
    function: usize,
    probes: [InstId; 2],
    last: FxHashMap<u32, Seen>,
    compared: u64,
    is_wrong: bool,
}

impl Observer for Again {
    fn value(&mut self, at: Moment<'_>, value: &Seen) {
        if at.function != self.function {
            return;
        }
        if at.inst == self.probes[0] {
            self.last.insert(at.thread.number, value.clone());
        } else if at.inst == self.probes[1] {
            self.compared += 1;
            self.is_wrong |= self.last.get(&at.thread.number) != Some(value);
        }
    }
}

/// Whether any groups executed the probes before, how many, and whether their relation holds in all
/// launches.
pub(super) fn compare(
    before: &Module,
    after: &Module,
    made: &Made,
    scope: usize,
    launch: (u64, Reconvergence),
) -> (u64, bool) {
    let (seed, model) = launch;
    let classes = |probes: &[InstId]| -> Classes {
        probes.iter().map(|&probe| (probe, (0, scope))).collect()
    };
    let run = |module: &Module, probes: &[InstId], seed: u64, fuel: u64| {
        let classes = classes(probes);
        let watch = |f| Together::new(f, &classes, model);
        let launched = launch_watched(module, (seed, model), fuel, watch);
        launched.map(|(_, watch)| watch.company())
    };
    let (mut groups, mut holds) = (0, true);
    for number in 0..3 {
        let seed = seed.wrapping_add(number);
        let Some(old) = run(before, &made.before, seed, FUEL) else { continue };
        groups += old.values().map(|&count| u64::from(count)).sum::<u64>();
        holds &= run(after, &made.after, seed, 5 * FUEL)
            .is_some_and(|new| made.relation.holds(&old, &new));
    }
    (groups, holds)
}

/// As [`compare`], for the value of one probe that replaces that of another.
pub(super) fn compare_values(
    module: &Module,
    probes: [InstId; 2],
    (seed, model): (u64, Reconvergence),
) -> (u64, bool) {
    let (mut compared, mut holds) = (0, true);
    for number in 0..3 {
        let watch = |function| Again {
            function,
            probes,
            last: FxHashMap::default(),
            compared: 0,
            is_wrong: false,
        };
        if let Some((_, watch)) =
            launch_watched(module, (seed.wrapping_add(number), model), FUEL, watch)
        {
            compared += watch.compared;
            holds &= !watch.is_wrong;
        }
    }
    (compared, holds)
}
