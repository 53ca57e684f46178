//! Rules for operations that threads execute together, and the launches that break them.
//!
//! ```text
//! if (t & 1) __syncthreads(); else __syncthreads();      threads wait at different barriers
//! __shfl_sync(0xffff, x, 0)                              lane 16 is not in its own mask
//! if (t < 16) __shfl_sync(0xffffffff, x, 0);         lanes 16 to 31 are named and stay away
//! ```
//!
//! The interpreter gives each of these a meaning, and so do some devices; CUDA and OpenCL leave
//! them undefined. An operation does not wait for a lane of its mask that has ended. So a lane that
//! is absent is recorded, and reported only when it executes another operation together with
//! others. A lane that comes to the same operation later is not reported.
//!
//! O(lanes) for each operation.

use phalanx_ir::InstId;
use rustc_hash::{FxHashMap, FxHashSet};

/// An instruction, with the number of its function in the program.
pub type Place = (usize, InstId);

/// A lane that executes an operation with a mask.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct MaskedLane {
    /// The thread, by number in the launch.
    pub thread: u32,
    /// Its lane.
    pub lane: u32,
    /// The mask that it passes.
    pub mask: u128,
}

/// The rule that is broken.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    /// All threads of a workgroup wait at one barrier.
    OneBarrier,
    /// A lane is in its own mask.
    OwnMask,
    /// Lanes that a mask names execute the operation with the same mask.
    OneMask,
    /// Lanes that a mask names execute the operation, or have ended.
    NamedLanes,
}

/// A place where a launch breaks a rule.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// Which rule.
    pub rule: Rule,
    /// The operation.
    pub place: Place,
    /// The other barrier, if there are two.
    pub other: Option<Place>,
    /// A thread that executes it, and another thread that the report is about, which may be the
    /// same.
    pub threads: [u32; 2],
    /// The masks of these threads.
    pub masks: [u128; 2],
}

/// Watches a launch for broken rules.
#[derive(Debug, Default)]
pub struct Together {
    found: Vec<Broken>,
    known: FxHashSet<(Rule, Place, Option<Place>)>,
    /// Named lanes that were absent, by their threads.
    away: FxHashMap<u32, Vec<Broken>>,
}

impl Together {
    /// The first case of each rule at each place, in the order in which they were found.
    #[must_use]
    pub fn found(&self) -> &[Broken] {
        &self.found
    }

    fn report(&mut self, broken: Broken) {
        let key = (broken.rule, broken.place, broken.other);
        if self.known.insert(key) {
            self.found.push(broken);
        }
    }

    /// Threads of a workgroup pass a barrier although they wait at two places.
    pub fn apart(&mut self, one: (u32, Place), other: (u32, Place)) {
        let rule = Rule::OneBarrier;
        let (threads, masks) = ([one.0, other.0], [0; 2]);
        self.report(Broken { rule, place: one.1, other: Some(other.1), threads, masks });
    }

    /// Lanes of a wave execute an operation with masks; `absent` are the live threads of the wave,
    /// each with its lane, that do not.
    pub fn masked(&mut self, place: Place, lanes: &[MaskedLane], absent: &[(u32, u32)]) {
        for lane in lanes {
            // A lane that comes later, or again, is not absent.
            self.away.entry(lane.thread).or_default().retain(|broken| broken.place != place);
            self.comes(lane.thread);
        }
        let broken = |rule, one: &MaskedLane, other: (u32, u128)| Broken {
            rule,
            place,
            other: None,
            threads: [one.thread, other.0],
            masks: [one.mask, other.1],
        };
        let is_named = |mask: u128, lane: u32| mask >> lane & 1 == 1;
        for one in lanes {
            if !is_named(one.mask, one.lane) {
                self.report(broken(Rule::OwnMask, one, (one.thread, one.mask)));
            }
            let named = |other: &&MaskedLane| is_named(one.mask, other.lane);
            if let Some(other) = lanes.iter().filter(named).find(|other| other.mask != one.mask) {
                self.report(broken(Rule::OneMask, one, (other.thread, other.mask)));
            }
        }
        for &(thread, lane) in absent {
            if let Some(one) = lanes.iter().find(|one| is_named(one.mask, lane)) {
                let stays = broken(Rule::NamedLanes, one, (thread, 0));
                self.away.entry(thread).or_default().push(stays);
            }
        }
    }

    /// A thread executes an operation together with others.
    pub fn comes(&mut self, thread: u32) {
        for broken in self.away.remove(&thread).unwrap_or_default() {
            self.report(broken);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(number: u32) -> Place {
        (0, InstId::from_raw(number.into()))
    }

    fn lanes(masks: &[u128]) -> Vec<MaskedLane> {
        let lane = |(number, &mask)| MaskedLane { thread: number, lane: number, mask };
        (0..).zip(masks).map(lane).collect()
    }

    fn rules(together: &Together) -> Vec<(Rule, [u32; 2])> {
        together.found().iter().map(|broken| (broken.rule, broken.threads)).collect()
    }

    #[test]
    fn masks_of_lanes_that_come() {
        let mut together = Together::default();
        together.masked(place(1), &lanes(&[3, 3]), &[]);
        assert_eq!(rules(&together), []);
        together.masked(place(1), &lanes(&[1, 1]), &[]);
        assert_eq!(rules(&together), [(Rule::OwnMask, [1, 1])]);
        together.masked(place(2), &lanes(&[3, 2]), &[]);
        assert_eq!(rules(&together)[1..], [(Rule::OneMask, [0, 1])]);
    }

    #[test]
    fn a_lane_that_stays_away_is_reported_when_it_meets_others() {
        let mut together = Together::default();
        together.masked(place(1), &lanes(&[7, 7]), &[(2, 2), (3, 3)]);
        assert_eq!(rules(&together), [], "it may end");
        together.comes(3);
        assert_eq!(rules(&together), [], "it is not named");
        together.comes(2);
        assert_eq!(rules(&together), [(Rule::NamedLanes, [0, 2])]);
    }

    #[test]
    fn a_lane_that_comes_later_does_not_stay_away() {
        let mut together = Together::default();
        together.masked(place(1), &lanes(&[3]), &[(1, 1)]);
        together.masked(place(1), &[MaskedLane { thread: 1, lane: 1, mask: 3 }], &[]);
        together.comes(1);
        assert_eq!(rules(&together), []);
    }
}
