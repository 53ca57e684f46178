//! Data races of a launch.
//!
//! Two accesses *race* when they are of different threads, touch a byte in common, at least one writes, they are not both
//! atomic, and neither happens before the other. What happens before what is the usual closure of
//!
//! - the order within a thread;
//! - barriers of workgroups and waves: all that their threads did before comes before all that they do after; of split ones, what comes
//!   before the arrivals of a phase comes before what follows the waits for it;
//! - an atomic access that reads, with acquire ordering or before an acquire fence of its thread, what an atomic access wrote
//!   with release ordering or after a release fence of its thread, or what atomic read-modify-writes made of that
//!   (C++ memory model, "release sequence").
//!
//! An execution is watched in the order in which the interpreter runs it, which is sequentially consistent, and races are
//! those of that execution: another schedule may have others. Scopes of synchronisation are taken to be wide enough.
//!
//! The algorithm is that of vector clocks after Mattern and Fidge, with accesses as *epochs* (Flanagan and Freund, "FastTrack:
//! Efficient and Precise Dynamic Race Detection", PLDI 2009): a thread numbers its stretches between releases, and knows
//! of each thread up to which stretch all happened before now. For each byte the accesses are kept that something later
//! may race with. One is dropped when a later one covers it: whatever races with the first then races with the second. So
//! an access is found to race exactly if it does; of the earlier accesses it races with, some are named.
//!
//! Cost: O(accesses kept of the byte) per byte accessed, one unless accesses are atomic or race or only read; O(threads) per
//! release. Clocks are shared until a thread acquires something of its own.

use std::rc::Rc;

use phalanx_ir::{InstId, inst::Ordering};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::{
    memory::Region,
    observe::{Access, AccessKind, Moment, Observer, Phase},
};

/// One of two accesses that race.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Party {
    /// The thread, by number in the launch.
    pub thread: u32,
    /// Number of the function in the program.
    pub function: usize,
    /// The instruction.
    pub inst: InstId,
    /// Whether it writes.
    pub writes: bool,
    /// Whether it is atomic.
    pub is_atomic: bool,
}

/// Two instructions whose executions race.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Race {
    /// What was executed first.
    pub first: Party,
    /// What was executed then.
    pub second: Party,
    /// Where the byte is.
    pub region: Region,
    /// Its address.
    pub address: u64,
    /// How many times these two raced, counting bytes.
    pub count: u64,
}

/// Watches a launch for races. Launches on the same memory are ordered: each has a watch of its own.
#[derive(Debug, Default)]
pub struct Races {
    threads: Vec<Thread>,
    bytes: FxHashMap<(Space, u64), Accesses>,
    /// What an acquire of the value at an address is ordered after.
    released: FxHashMap<(Space, u64), Clock>,
    /// What those who wait at a split barrier are ordered after: of each barrier the last two phases.
    arrived: FxHashMap<(bool, u32, u64), (u64, Clock)>,
    found: Vec<Race>,
    /// Of the two instructions, functions included.
    by_place: FxHashMap<[(usize, InstId); 2], usize>,
}

/// Global memory, or the memory of a workgroup.
type Space = u32;

/// By thread, the last stretch that happened before; none where it is too short.
type Clock = Rc<Vec<u32>>;

#[derive(Clone, Debug)]
struct Thread {
    /// The stretch that it is in, from 1.
    stretch: u32,
    /// What happened before, itself apart.
    before: Clock,
    /// What the last release fence released.
    fence: Option<Clock>,
    /// What was read and a later acquire fence acquires.
    pending: Clock,
}

/// Accesses of a byte that a later one may race with.
#[derive(Clone, Debug, Default)]
struct Accesses(SmallVec<[(Party, u32); 2]>);

impl Thread {
    fn saw(&self, stretch: u32, thread: u32) -> bool {
        self.before.get(thread as usize).is_some_and(|&seen| stretch <= seen)
    }

    /// Ends a stretch: what is ordered after it.
    fn release(&mut self, number: u32) -> Clock {
        let mut all = Vec::clone(&self.before);
        raise(&mut all, number, self.stretch);
        self.stretch += 1;
        Rc::new(all)
    }
}

fn raise(clock: &mut Vec<u32>, thread: u32, stretch: u32) {
    let thread = thread as usize;
    if clock.len() <= thread {
        clock.resize(thread + 1, 0);
    }
    clock[thread] = clock[thread].max(stretch);
}

fn join(clock: &mut Clock, other: &Clock) {
    if Rc::ptr_eq(clock, other) || other.is_empty() {
        return;
    }
    if clock.is_empty() {
        *clock = Rc::clone(other);
        return;
    }
    let clock = Rc::make_mut(clock);
    clock.resize(clock.len().max(other.len()), 0);
    clock.iter_mut().zip(other.iter()).for_each(|(own, &other)| *own = other.max(*own));
}

fn acquires(ordering: Ordering) -> bool {
    matches!(ordering, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

fn releases(ordering: Ordering) -> bool {
    matches!(ordering, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

impl Races {
    /// A watch that has seen nothing.
    #[must_use]
    pub fn new() -> Races {
        Races::default()
    }

    /// Pairs of instructions that raced, in the order in which they were found.
    #[must_use]
    pub fn found(&self) -> &[Race] {
        &self.found
    }

    /// The stretch that a thread is in now, to ask [`Races::is_before`] about later.
    pub fn stretch(&mut self, thread: u32) -> u32 {
        self.thread(thread).stretch
    }

    /// Whether what a thread did in a stretch happens before what another, or it, does now.
    #[must_use]
    pub fn is_before(&self, thread: u32, stretch: u32, now: u32) -> bool {
        let seen = || self.threads.get(now as usize).is_some_and(|at| at.saw(stretch, thread));
        thread == now || seen()
    }

    fn thread(&mut self, number: u32) -> &mut Thread {
        let number = number as usize;
        if self.threads.len() <= number {
            let nothing = Clock::default();
            let (before, pending) = (Rc::clone(&nothing), nothing);
            let new = Thread { stretch: 1, before, fence: None, pending };
            self.threads.resize(number + 1, new);
        }
        &mut self.threads[number]
    }

    /// An access; whether it races with an earlier one.
    fn record(&mut self, party: Party, space: Space, access: &Access) -> bool {
        let place = (space, access.address);
        if party.is_atomic && access.kind != AccessKind::Store {
            let released = self.released.get(&place).cloned().unwrap_or_default();
            let thread = self.thread(party.thread);
            match acquires(access.ordering) {
                true => join(&mut thread.before, &released),
                false => join(&mut thread.pending, &released),
            }
        }
        let mut is_race = false;
        let thread = self.thread(party.thread).clone();
        for address in access.address..access.address.saturating_add(access.size) {
            is_race |= self.touch(party, &thread, (space, address), access.region);
        }
        if access.kind != AccessKind::Load {
            self.publish(party, place, access);
        }
        is_race
    }

    /// What an acquire of the value that is written now is ordered after.
    fn publish(&mut self, party: Party, place: (Space, u64), access: &Access) {
        let thread = self.thread(party.thread);
        let own = match party.is_atomic {
            true if releases(access.ordering) => Some(thread.release(party.thread)),
            true => thread.fence.clone(),
            false => None,
        };
        // What modifies a value passes on what it was released with.
        let continues = party.is_atomic && access.kind == AccessKind::Modify;
        if !continues {
            self.released.remove(&place);
        }
        if let Some(own) = own {
            join(self.released.entry(place).or_default(), &own);
        }
    }

    fn touch(
        &mut self,
        party: Party,
        thread: &Thread,
        place: (Space, u64),
        region: Region,
    ) -> bool {
        let accesses = &mut self.bytes.entry(place).or_default().0;
        let mut raced: SmallVec<[Party; 2]> = SmallVec::new();
        accesses.retain(|&mut (earlier, stretch)| {
            let is_ordered = earlier.thread == party.thread || thread.saw(stretch, earlier.thread);
            let conflicts =
                (earlier.writes || party.writes) && !(earlier.is_atomic && party.is_atomic);
            if conflicts && !is_ordered {
                raced.push(earlier);
            }
            // Later accesses that race with the earlier one race with this one.
            let is_covered = is_ordered
                && (party.writes || !earlier.writes)
                && (!party.is_atomic || earlier.is_atomic);
            !is_covered
        });
        accesses.push((party, thread.stretch));
        for &first in &raced {
            self.report(first, party, place.1, region);
        }
        !raced.is_empty()
    }

    fn report(&mut self, first: Party, second: Party, address: u64, region: Region) {
        let place = [(first.function, first.inst), (second.function, second.inst)];
        let next = self.found.len();
        let number = *self.by_place.entry(place).or_insert(next);
        if number == next {
            self.found.push(Race { first, second, region, address, count: 0 });
        }
        self.found[number].count += 1;
    }

    fn order(&mut self, number: u32, ordering: Ordering) {
        let thread = self.thread(number);
        if acquires(ordering) {
            let pending = std::mem::take(&mut thread.pending);
            join(&mut thread.before, &pending);
        }
        if releases(ordering) {
            thread.fence = Some(thread.release(number));
        }
    }

    fn barrier(&mut self, numbers: &[u32]) {
        let mut all = Clock::default();
        // Threads that met before share a clock.
        let mut last = Rc::clone(&all);
        for &number in numbers {
            let before = Rc::clone(&self.thread(number).before);
            if !Rc::ptr_eq(&before, &last) {
                join(&mut all, &before);
                last = before;
            }
        }
        let joined = Rc::make_mut(&mut all);
        for &number in numbers {
            let thread = self.thread(number);
            raise(joined, number, thread.stretch);
            thread.stretch += 1;
        }
        for &number in numbers {
            self.thread(number).before = Rc::clone(&all);
        }
    }
}

impl Observer for Races {
    fn wants_accesses(&self) -> bool {
        true
    }

    fn access(&mut self, at: Moment<'_>, access: &Access) {
        let party = Party {
            thread: at.thread.number,
            function: at.function,
            inst: at.inst,
            writes: access.kind != AccessKind::Load,
            is_atomic: access.ordering != Ordering::NotAtomic,
        };
        let space = if access.region == Region::Shared { 1 + at.thread.workgroup() } else { 0 };
        self.record(party, space, access);
    }

    fn fence(&mut self, at: Moment<'_>, ordering: Ordering) {
        self.order(at.thread.number, ordering);
    }

    fn meet(&mut self, threads: &[u32]) {
        self.barrier(threads);
    }

    fn arrive(&mut self, number: u32, phase: Phase) {
        let own = self.thread(number).release(number);
        // Who waits for a phase has done so before the next but one begins.
        let slot = (phase.is_cluster, phase.instance, phase.number % 2);
        let arrived = self.arrived.entry(slot).or_default();
        if arrived.0 != phase.number {
            *arrived = (phase.number, Clock::default());
        }
        join(&mut arrived.1, &own);
    }

    fn pass(&mut self, number: u32, phase: Phase) {
        let slot = (phase.is_cluster, phase.instance, phase.number % 2);
        let arrived = self.arrived.get(&slot).filter(|arrived| arrived.0 == phase.number);
        let Some(clock) = arrived.map(|arrived| Rc::clone(&arrived.1)) else { return };
        join(&mut self.thread(number).before, &clock);
    }
}

#[cfg(test)]
mod tests;
