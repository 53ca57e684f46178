//! Opens barriers and lets their threads continue.
//!
//! Barriers with numbers are checked after each turn. A barrier of all threads opens when all
//! threads that have not ended wait at it. A barrier with a count opens when waves with that many
//! threads have come. Barriers that count arrivals are those of [`crate::split`].

use rustc_hash::FxHashMap;

use super::{Run, Seat, State};
use crate::{
    fault::{Failure, Fault, FaultKind},
    intrinsic::{Barrier, Gives},
    split::{self, Extent, Half, Split},
    thread::{Group, Thread},
    together::Place,
    value::{self, Value},
};

impl Run<'_, '_> {
    pub(super) fn release_barriers(&mut self, seats: &mut [Seat]) -> Result<(), Failure> {
        let live = seats.iter().filter(|seat| !matches!(seat.state, State::Ended)).count();
        let mut barriers: FxHashMap<u128, Vec<usize>> = FxHashMap::default();
        for (index, seat) in seats.iter().enumerate() {
            let State::Waiting { group: Group::Barrier(_), .. } = seat.state else {
                continue;
            };
            barriers.entry(self.argument(seat, 0)?).or_default().push(index);
        }
        let mut barriers: Vec<(u128, Vec<usize>)> = barriers.into_iter().collect();
        barriers.sort();
        for (_, members) in barriers {
            let first = &seats[members[0]];
            let State::Waiting { group: Group::Barrier(barrier), .. } = first.state else {
                continue;
            };
            let members = match barrier.is_counted {
                true => first_waves(seats, &members, self.argument(first, 1)?),
                false if members.len() < live => continue,
                false => members,
            };
            if members.is_empty() {
                continue;
            }
            self.report.barriers += 1;
            if self.wants_accesses {
                self.tell_meeting(seats, &members);
                if !barrier.is_counted {
                    let threads = members.iter().map(|&index| &seats[index].thread);
                    let places = threads.map(|thread| (thread.at.number, places_of(thread)));
                    self.tell_places(&places.collect::<Vec<_>>());
                }
            }
            self.open(seats, &members, barrier)?;
        }
        Ok(())
    }

    fn open(
        &mut self,
        seats: &mut [Seat],
        members: &[usize],
        barrier: Barrier,
    ) -> Result<(), Failure> {
        let mut count = 0u128;
        if barrier.gives != Gives::Nothing {
            for &member in members {
                count += self.argument(&seats[member], 1 + usize::from(barrier.is_counted))?;
            }
        }
        for &member in members {
            let State::Waiting { group: Group::Barrier(own), .. } = seats[member].state else {
                continue;
            };
            let result = match own.gives {
                Gives::Nothing => Value::Unit,
                Gives::Count => Value::Bits(count),
                Gives::And => Value::bool(count == members.len() as u128),
                Gives::Or => Value::bool(count > 0),
            };
            self.resume(&mut seats[member], result);
        }
        Ok(())
    }

    /// The barrier of a thread's workgroup or cluster, and how many threads that has.
    pub(super) fn barrier_of(&self, extent: Extent, thread: &Thread) -> (split::Name, u32) {
        match extent {
            Extent::Workgroup => {
                let workgroup = thread.at.workgroup();
                ((false, workgroup), self.geometry.threads_of(workgroup))
            }
            Extent::Cluster => {
                let cluster = self.geometry.cluster_of(thread.at.block);
                // A cluster has whole workgroups only.
                let threads = self.geometry.threads() * self.geometry.cluster_blocks();
                ((true, cluster), threads)
            }
        }
    }

    /// Executes the split-barrier operation of a thread: arrives, begins to wait, or both.
    pub(super) fn split(&mut self, seat: &mut Seat, split: Split) -> Result<(), Failure> {
        let (args, types) = seat.thread.call_arguments(self.program).map_err(|kind| {
            let (thread, site) = (seat.thread.at.number, seat.thread.site(self.program));
            Failure::Fault(Fault { kind, thread, site })
        })?;
        // AMD barriers have a number. Named barriers have members, and at the barrier of the
        // cluster one wave arrives for its workgroup.
        if split.has_number
            && let (Some(number), Some(&ty)) = (args.first(), types.first())
        {
            let all = self.program.shapes.bits(ty).map(value::mask);
            if all.is_none() || number.bits() != all {
                let kind = FaultKind::unsupported("a barrier that has members".to_owned());
                let (thread, site) = (seat.thread.at.number, seat.thread.site(self.program));
                return Err(Failure::Fault(Fault { kind, thread, site }));
            }
        }
        let (name, threads) = self.barrier_of(split.extent, &seat.thread);
        let number = seat.thread.at.number;
        if split.half == Half::Wait {
            self.splits.wait(name, number);
            return Ok(());
        }
        let wave = (seat.thread.at.workgroup(), seat.thread.at.wave);
        let is_whole = split.half == Half::Both;
        if is_whole && self.wants_accesses {
            self.arrived.insert(number, places_of(&seat.thread));
        }
        let arrival = self.splits.arrive(name, number, wave, threads, is_whole);
        let is_told = !matches!(split.half, Half::Both | Half::Arrive { relaxed: true });
        if self.wants_accesses && is_told {
            self.observer.arrive(number, arrival.phase);
        }
        self.tell_opened(arrival.opened);
        match split.half {
            Half::ArriveFirst => self.resume(seat, Value::bool(arrival.is_first)),
            Half::Arrive { .. } => self.resume(seat, Value::Unit),
            Half::Wait | Half::Both => {}
        }
        Ok(())
    }

    pub(super) fn tell_opened(&mut self, opened: Option<split::Opened>) {
        let Some(opened) = opened else { return };
        self.report.barriers += 1;
        self.report.early += u64::from(opened.missing > 0);
        if self.wants_accesses && !opened.meeting.is_empty() {
            self.observer.meet(&opened.meeting);
            let place = |thread: &u32| Some((*thread, self.arrived.remove(thread)?));
            let places: Vec<_> = opened.meeting.iter().filter_map(place).collect();
            self.tell_places(&places);
        }
        for thread in opened.waited.into_iter().filter(|_| self.wants_accesses) {
            self.observer.arrive(thread, opened.phase);
        }
    }

    /// Reports two threads that pass a barrier at different places, if there are any.
    fn tell_places(&mut self, places: &[(u32, Vec<Place>)]) {
        let Some((first, rest)) = places.split_first() else { return };
        let Some(other) = rest.iter().find(|(_, place)| *place != first.1) else { return };
        // The outermost difference: the places themselves, or the calls around them.
        let different = first.1.iter().zip(&other.1).find(|(one, other)| one != other);
        if let Some((&one, &there)) = different {
            self.observer.apart((first.0, one), (other.0, there));
        }
    }

    /// Lets threads continue whose phase is over; returns whether there are any.
    pub(super) fn release_splits(&mut self, seats: &mut [Seat]) -> Result<bool, Failure> {
        let mut is_any = false;
        for seat in seats {
            let State::Waiting { group: Group::Split(split), .. } = seat.state else { continue };
            let (name, _) = self.barrier_of(split.extent, &seat.thread);
            let number = seat.thread.at.number;
            let Some(after) = self.splits.pass(name, number) else { continue };
            if let Some(phase) = after.filter(|_| self.wants_accesses) {
                self.observer.pass(number, phase);
            }
            self.resume(seat, Value::Unit);
            is_any = true;
        }
        Ok(is_any)
    }

    fn argument(&self, seat: &Seat, position: usize) -> Result<u128, Failure> {
        let fault = |kind| {
            let (thread, site) = (seat.thread.at.number, seat.thread.site(self.program));
            Failure::Fault(Fault { kind, thread, site })
        };
        let (args, _) = seat.thread.call_arguments(self.program).map_err(fault)?;
        match args.get(position).and_then(Value::bits) {
            Some(bits) => Ok(bits),
            None => Err(fault(FaultKind::undefined("an argument of a barrier is poison"))),
        }
    }
}

/// The place of a thread: its calls, the outermost first, then the instruction.
fn places_of(thread: &Thread) -> Vec<Place> {
    thread.frames.iter().map(|frame| (frame.code, frame.inst)).collect()
}

/// For a barrier with a count: the first waves of the waiting threads that have exactly that many
/// threads; empty if waves overshoot the count or are too few.
///
/// A wave has come when none of its threads is still on its way to some operation. As in PTX it
/// counts with its full width, however many of its threads have come.
fn first_waves(seats: &[Seat], members: &[usize], needed: u128) -> Vec<usize> {
    let mut chosen = Vec::new();
    let mut count = 0u128;
    let mut at = 0;
    while count < needed && at < members.len() {
        let (first, place) = (&seats[members[at]].thread.at, members[at]);
        let width = first.wave_size as usize;
        let start = place - first.lane as usize;
        let wave = &seats[start..(start + width).min(seats.len())];
        let end = at + members[at..].iter().take_while(|&&m| m < start + width).count();
        if !wave.iter().any(|seat| matches!(seat.state, State::Running)) {
            chosen.extend(&members[at..end]);
            count += width as u128;
        }
        at = end;
    }
    if count == needed { chosen } else { Vec::new() }
}
