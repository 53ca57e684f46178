//! Data races of a launch.
//!
//! Two accesses *race* when they are of different threads, touch a byte in common, at least one
//! writes, they are not both atomic, and neither happens before the other. What happens before what
//! is the usual closure of
//!
//! - the order within a thread;
//! - barriers of workgroups and waves: everything their threads did before happens before
//!   everything they do after. For split barriers, actions before the arrivals of a phase happen
//!   before actions behind the waits for it;
//! - an atomic read that acquires (by its ordering, or by a later acquire fence of its thread). It
//!   is ordered after the atomic write that it reads from if that write releases (by its ordering,
//!   or by an earlier release fence). Atomic read-modify-writes in between pass the release on (C++
//!   memory model, "release sequence").
//!
//! Two atomic accesses race, too, if their scopes do not [include](crate::reach) each other, and
//! one synchronises only with operations that it includes. Of a fence and the access that belongs
//! to it, the narrower scope counts.
//!
//! The watch sees one execution, in the order in which the interpreter runs it, which is
//! sequentially consistent. It reports the races of that execution; another schedule may have
//! others.
//!
//! The algorithm uses vector clocks after Mattern and Fidge, with accesses as *epochs* (Flanagan
//! and Freund, "FastTrack: Efficient and Precise Dynamic Race Detection", PLDI 2009). Each thread
//! divides its execution at releases into numbered stretches. Its clock holds, for each thread, the
//! last stretch that happened before now. For each byte, the watch keeps the accesses that a later
//! access may race with. It drops an access when a later one covers it: any access that races with
//! the first then also races with the second. So the watch reports an access as racing exactly if
//! it races, but names only some of its partners.
//!
//! Cost: O(accesses kept for the byte) per accessed byte. That is one, unless accesses are atomic,
//! race, or only read. O(threads) per release. Threads share clocks until they acquire something of
//! their own. With scopes, O(threads) clocks are kept for each place that is released to.

use std::rc::Rc;

use phalanx_ir::{InstId, inst::Ordering};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::{
    memory::Region,
    observe::{Access, AccessKind, Moment, Observer, Phase},
    reach::{Home, Reach, home, include},
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

/// Watches a launch for races. Launches on the same memory are ordered, so each launch needs its
/// own watch.
#[derive(Debug, Default)]
pub struct Races {
    threads: Vec<Thread>,
    /// Whether scopes count; otherwise every operation reaches the whole launch.
    has_scopes: bool,
    /// Whether only memory of workgroups is watched; there, two writes of one value do not race.
    is_of_workgroups: bool,
    bytes: FxHashMap<(Space, u64), Accesses>,
    /// What an acquire of the value at an address synchronises with.
    released: FxHashMap<(Space, u64), Releases>,
    /// What threads that wait at a split barrier synchronise with: for each barrier, the last two
    /// phases.
    arrived: FxHashMap<(bool, u32, u64), (u64, Clock)>,
    found: Vec<Race>,
    /// Races by their two instructions and functions.
    by_place: FxHashMap<[(usize, InstId); 2], usize>,
}

/// Global memory, or the memory of a workgroup.
type Space = u32;

/// For each thread, the last stretch that happened before; threads beyond the end have none.
type Clock = Rc<Vec<u32>>;

#[derive(Clone, Debug)]
struct Thread {
    /// Its current stretch, from 1.
    stretch: u32,
    home: Home,
    /// What happened before, not counting the thread itself.
    before: Clock,
    /// What the last release fences released, and the reach of each.
    fences: SmallVec<[(Reach, Clock); 1]>,
    /// Releases that relaxed reads have seen, by the reach of the read; a later acquire fence
    /// acquires them.
    pending: SmallVec<[(Reach, Releases); 1]>,
}

/// Releases to a place. With scopes, they are kept apart by thread and reach.
#[derive(Clone, Debug, Default)]
struct Releases(SmallVec<[Release; 1]>);

#[derive(Clone, Debug)]
struct Release {
    home: Home,
    reach: Reach,
    clock: Clock,
}

impl Releases {
    /// Adds a release. A later release of the same thread includes its earlier ones.
    fn add(&mut self, new: Release) {
        let same = |old: &&mut Release| old.home == new.home && old.reach == new.reach;
        match self.0.iter_mut().find(same) {
            Some(old) => join(&mut old.clock, &new.clock),
            None => self.0.push(new),
        }
    }

    /// What an acquire with this reach synchronises with.
    fn acquired(&self, home: &Home, reach: Reach) -> Clock {
        let mut all = Clock::default();
        for release in &self.0 {
            if include((&release.home, release.reach), (home, reach)) {
                join(&mut all, &release.clock);
            }
        }
        all
    }
}

/// Accesses of a byte that later ones may race with.
#[derive(Clone, Debug, Default)]
struct Accesses(SmallVec<[PastAccess; 2]>);

#[derive(Copy, Clone, Debug)]
struct PastAccess {
    party: Party,
    stretch: u32,
    home: Home,
    reach: Reach,
}

impl Thread {
    fn saw(&self, stretch: u32, thread: u32) -> bool {
        self.before.get(thread as usize).is_some_and(|&seen| stretch <= seen)
    }

    /// Ends a stretch, and returns what synchronises with its end.
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
    /// A watch for one launch, in which every operation reaches the whole launch.
    #[must_use]
    pub fn new() -> Races {
        Races::default()
    }

    /// A watch for one launch that takes scopes into account.
    #[must_use]
    pub fn with_scopes() -> Races {
        Races { has_scopes: true, ..Races::default() }
    }

    /// The same for memory of workgroups alone, where two writes of one value are no race.
    ///
    /// Atomic accesses of global memory still synchronise. Cheaper if kernels mostly access global
    /// memory.
    #[must_use]
    pub fn of_workgroups(self) -> Races {
        Races { is_of_workgroups: true, ..self }
    }

    /// Pairs of instructions that raced, in the order in which they were found.
    #[must_use]
    pub fn found(&self) -> &[Race] {
        &self.found
    }

    /// The current stretch of a thread, for a later [`Races::is_before`].
    pub fn stretch(&mut self, thread: u32) -> u32 {
        self.thread(thread).stretch
    }

    /// Whether the actions of a thread in a stretch happen before the current actions of another
    /// thread, or its own.
    #[must_use]
    pub fn is_before(&self, thread: u32, stretch: u32, now: u32) -> bool {
        let seen = || self.threads.get(now as usize).is_some_and(|at| at.saw(stretch, thread));
        thread == now || seen()
    }

    fn thread(&mut self, number: u32) -> &mut Thread {
        let number = number as usize;
        if self.threads.len() <= number {
            let before = Clock::default();
            let new = Thread {
                stretch: 1,
                home: Home::default(),
                before,
                fences: SmallVec::new(),
                pending: SmallVec::new(),
            };
            self.threads.resize(number + 1, new);
        }
        &mut self.threads[number]
    }

    /// Records an access; returns whether it races with an earlier one.
    fn record(&mut self, party: Party, space: Space, access: &Access) -> bool {
        let place = (space, access.address);
        let reach = self.reach(access.reach);
        if party.is_atomic && access.kind != AccessKind::Store {
            let released = self.released.get(&place).cloned().unwrap_or_default();
            let thread = self.thread(party.thread);
            match acquires(access.ordering) {
                true => {
                    let acquired = released.acquired(&thread.home, reach);
                    join(&mut thread.before, &acquired);
                }
                false => match thread.pending.iter_mut().find(|(of, _)| *of == reach) {
                    Some((_, pending)) => released.0.into_iter().for_each(|r| pending.add(r)),
                    None => thread.pending.push((reach, released)),
                },
            }
        }
        let mut is_race = false;
        let thread = self.thread(party.thread).clone();
        let new = PastAccess { party, stretch: thread.stretch, home: thread.home, reach };
        for address in access.address..access.address.saturating_add(access.size) {
            is_race |= self.touch((new, access.changes), &thread, (space, address), access.region);
        }
        if access.kind != AccessKind::Load {
            self.publish(party, place, access, reach);
        }
        is_race
    }

    fn reach(&self, reach: Reach) -> Reach {
        if self.has_scopes { reach } else { Reach::Device }
    }

    /// What an acquire of the value that is now written synchronises with.
    fn publish(&mut self, party: Party, place: (Space, u64), access: &Access, reach: Reach) {
        let thread = self.thread(party.thread);
        let home = thread.home;
        let own: SmallVec<[(Reach, Clock); 1]> = match party.is_atomic {
            true if releases(access.ordering) => [(reach, thread.release(party.thread))].into(),
            true => thread.fences.clone(),
            false => SmallVec::new(),
        };
        // A read-modify-write passes on the releases of the value.
        let continues = party.is_atomic && access.kind == AccessKind::Modify;
        if !continues {
            self.released.remove(&place);
        }
        // If every operation reaches every thread, the releasing thread does not matter.
        let home = if self.has_scopes { home } else { Home::default() };
        for (of_fence, clock) in own {
            let new = Release { home, reach: reach.min(of_fence), clock };
            self.released.entry(place).or_default().add(new);
        }
    }

    fn touch(
        &mut self,
        (new, changes): (PastAccess, bool),
        thread: &Thread,
        place: (Space, u64),
        region: Region,
    ) -> bool {
        let party = new.party;
        let may_write_the_same = self.is_of_workgroups && party.writes && !changes;
        let accesses = &mut self.bytes.entry(place).or_default().0;
        let mut raced: SmallVec<[Party; 2]> = SmallVec::new();
        accesses.retain(|&mut kept| {
            let earlier = kept.party;
            let is_ordered =
                earlier.thread == party.thread || thread.saw(kept.stretch, earlier.thread);
            let are_atomic = earlier.is_atomic
                && party.is_atomic
                && include((&kept.home, kept.reach), (&new.home, new.reach));
            let conflicts = (earlier.writes || party.writes)
                && !are_atomic
                && !(may_write_the_same && earlier.writes);
            if conflicts && !is_ordered {
                raced.push(earlier);
            }
            // Later accesses that race with the earlier one also race with this one. If both are
            // atomic, a thread that does not include the earlier one must not include this one
            // either.
            let reaches_no_further =
                !self.has_scopes || earlier.thread == party.thread && new.reach <= kept.reach;
            let is_covered = is_ordered
                && (party.writes || !earlier.writes)
                && (!party.is_atomic || earlier.is_atomic && reaches_no_further);
            !is_covered
        });
        accesses.push(new);
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

    fn order(&mut self, number: u32, ordering: Ordering, reach: Reach) {
        let reach = self.reach(reach);
        let thread = self.thread(number);
        if acquires(ordering) {
            for (of_access, pending) in &thread.pending {
                let acquired = pending.acquired(&thread.home, reach.min(*of_access));
                join(&mut thread.before, &acquired);
            }
            // A fence with a wider reach may follow, and acquire more.
            if reach == Reach::Device {
                thread.pending.clear();
            }
        }
        if releases(ordering) {
            let clock = thread.release(number);
            // The new fence replaces those with the same or a narrower reach.
            thread.fences.retain(|(of, _)| *of > reach);
            thread.fences.push((reach, clock));
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
        let is_shared = access.region == Region::Shared;
        if self.is_of_workgroups && !is_shared && !party.is_atomic {
            return;
        }
        let space = if is_shared { 1 + at.thread.workgroup() } else { 0 };
        self.thread(at.thread.number).home = home(at.thread);
        self.record(party, space, access);
    }

    fn fence(&mut self, at: Moment<'_>, ordering: Ordering, reach: Reach) {
        self.thread(at.thread.number).home = home(at.thread);
        self.order(at.thread.number, ordering, reach);
    }

    fn meet(&mut self, threads: &[u32]) {
        self.barrier(threads);
    }

    fn arrive(&mut self, number: u32, phase: Phase) {
        let own = self.thread(number).release(number);
        // A thread waits for a phase before the next but one begins.
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
