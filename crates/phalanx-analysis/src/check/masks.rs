//! Masks, lane by lane: who is named by the masks that lanes of a wave come with.
//!
//! PTX wants of an operation with a mask that each lane that executes it is in its own mask, that
//! all lanes of a mask execute it with the same mask, and that a shuffle reads from a lane of the
//! mask. Where the mask of each lane can be evaluated ([`walk`](super::walk)) these are looked at
//! one by one:
//!
//! | what is found | rule |
//! |---|---|
//! | a lane that is not in its mask | [`Rule::NotInMask`] |
//! | two lanes of which one is in the mask of the other, with two masks | [`Rule::DifferentMasks`] |
//! | a lane that reads from one that is not in its mask | [`Rule::SourceNotInMask`] |
//! | a mask that is no constant, with a lane that goes another way | [`Rule::MissingMembers`] |
//!
//! ```text
//! mask = 0xff << (tid % 4 * 8);       // for tid / 8: lane 1 comes with 0xff00
//! ```
//!
//! A mask that a ballot over the whole wave has made is known where its condition follows from the
//! index of each thread:
//!
//! ```text
//! mask = ballot(tid < 16);  if (tid <= 16) syncwarp(mask);     // lane 16 is not in 0xffff
//! ```
//!
//! A lane that reads too far up or down, as the last ones of a reduction do, has a result that
//! nobody wants: that is reported only if all lanes of the mask do.
//!
//! # How sure it is
//!
//! An error names lanes that come together in a launch of which nothing is assumed but that it has
//! a row of 32 threads, or the stated ones; if a branch by data may part them, or one of a caller,
//! it is a warning. If all lanes have one mask and a lane is not in it, that lane is not reported
//! in this case: the lanes in the mask may be exactly those that come. Where rows may be shorter
//! than a wave and the mask or the way depends on an index but x, nothing is said.
//!
//! O(waves × lanes × instructions on the way), for at most [`THREADS`] threads; nothing for masks
//! that name all lanes.

use phalanx_core::affect::User;
use phalanx_ir::Opcode;
use phalanx_target::{Scope, SourceSet, intrinsics::Intrinsic};

use super::{
    Evaluated, Facts, Finding, Geometry, Level, Rule, What,
    facts::Entries,
    members::ends,
    sites::{Argument, Site, SiteKind, arguments, intrinsic, intrinsic_of},
    walk::{Arrival, Came, Walks},
    witness::{self, Expression, constant},
};
use crate::code::Numbering;

/// So many threads are looked at.
const THREADS: usize = 256;

/// What there is to say about the masks of an operation.
pub(super) fn finding(facts: Facts<'_>, site: &Site) -> Option<Finding> {
    let SiteKind::Group { members: Some(at) } = site.kind else { return None };
    let width = facts.launch.wave_width.filter(|width| (2..=32).contains(width))?;
    let at = usize::from(at);
    let arguments = arguments(facts, site);
    let known = match *arguments.get(at)? {
        Argument::Value(value) => constant(facts, value),
        Argument::Integer(number) => Some(number as u64),
        Argument::Computed => return None,
    };
    let all = super::evaluate::ones(width);
    if known.is_some_and(|mask| mask & all == all) {
        return None;
    }
    let size = witness::exact_size(facts.launch);
    let is_of_rows = || {
        facts.reads_control(site.block);
        let own = arguments.iter().map(|&argument| sources(facts, site, argument));
        let all = own.fold(facts.controlled[site.block.index()], |all, one| all | one);
        !all.intersects(SourceSet::Y | SourceSet::Z)
    };
    if size.is_none() && !is_of_rows() {
        return None;
    }
    let mut threads = match size {
        Some(size) => witness::threads(size),
        None => witness::row(0, facts.launch.max_extent(0).min(width)),
    };
    threads.truncate(THREADS.next_multiple_of(width as usize));
    let found = in_waves(facts, site, (at, known.is_none()), &threads, None);
    if found.as_ref().is_some_and(|found| found.level == Level::Error) {
        return found;
    }
    // What follows from the function itself comes before what follows from one of its calls.
    let entries = facts.passed.entries(&threads, Scope::Wave);
    let mut by_calls = entries
        .iter()
        .filter_map(|call| in_waves(facts, site, (at, known.is_none()), &threads, Some(call)));
    by_calls.find(|found| found.level == Level::Error).or(found)
}

/// What there is to say about the lanes of each wave, if they come by one call where one is given.
fn in_waves(
    facts: Facts<'_>,
    site: &Site,
    (at, is_computed): (usize, bool),
    threads: &[[u32; 3]],
    entries: Option<&Entries>,
) -> Option<Finding> {
    let width = facts.launch.wave_width?;
    let walks = Walks::new(facts, site, Scope::Wave);
    for wave in threads.chunks(width as usize) {
        let mut lanes: Vec<(usize, [u32; 3], Came)> = Vec::new();
        for (lane, &thread) in wave.iter().enumerate() {
            lanes.push((lane, thread, walks.of(thread, entries)));
            // If nothing is known of two lanes, nothing is of the others.
            let is_unknown = |(_, _, came): &(usize, [u32; 3], Came)| *came == Came::Unknown;
            if lanes.len() == 2 && lanes.iter().all(is_unknown) {
                return None;
            }
        }
        let ballot = arguments(facts, site).get(at).and_then(|&mask| ballot(facts, mask, wave));
        let wave = Wave { facts, site, at, lanes, ballot, intrinsic: intrinsic_of(facts, site) };
        let found = wave
            .not_in_mask()
            .or_else(|| wave.different())
            .or_else(|| wave.source())
            .or_else(|| wave.missing(is_computed));
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The lanes of a wave that a mask names which is a ballot of all of them.
fn ballot(facts: Facts<'_>, mask: Argument, wave: &[[u32; 3]]) -> Option<u64> {
    let Argument::Value(value) = mask else { return None };
    let mut call = value.as_inst()?;
    facts.reads_inst(call);
    if facts.code.body.inst(call).opcode == Opcode::Load {
        call = witness::stored(facts, call)?.as_inst()?;
        facts.reads_inst(call);
    }
    let known = intrinsic(facts.code, call)?;
    let &[asked, condition, ..] = facts.code.body.call_args(call) else { return None };
    let all = super::evaluate::ones(wave.len() as u32);
    // All lanes that it names execute it: that is PTX's rule, and PHX006's.
    if known.base != "vote.ballot.sync" || constant(facts, asked)? & all != all {
        return None;
    }
    let condition = Expression::new(facts, condition)?;
    let size = witness::exact_size(facts.launch);
    wave.iter().enumerate().try_fold(0, |named, (lane, &thread)| {
        Some(named | (condition.value(facts, thread, size)? & 1) << lane)
    })
}

/// What an argument depends on where it is read.
pub(super) fn sources(facts: Facts<'_>, site: &Site, argument: Argument) -> SourceSet {
    let numbering = Numbering::new(facts.code.header);
    let Argument::Value(value) = argument else { return SourceSet::EMPTY };
    let Some(number) = numbering.operand(value) else { return SourceSet::EMPTY };
    let user = User::value(numbering.inst(site.inst));
    let sources = facts.divergence.at_use(number, user);
    facts.reads_use(number, user, sources);
    sources
}

/// The lanes of one wave, and how each comes.
struct Wave<'a> {
    facts: Facts<'a>,
    site: &'a Site,
    /// Which argument is the mask.
    at: usize,
    lanes: Vec<(usize, [u32; 3], Came)>,
    /// The mask, where a ballot has made it.
    ballot: Option<u64>,
    intrinsic: Option<Intrinsic>,
}

impl Wave<'_> {
    fn arrivals(&self) -> impl Iterator<Item = (usize, [u32; 3], &Arrival)> {
        self.lanes.iter().flat_map(|(lane, thread, came)| {
            let arrivals = match came {
                Came::Comes(arrivals) => &arrivals[..],
                _ => &[],
            };
            arrivals.iter().map(|arrival| (*lane, *thread, arrival))
        })
    }

    fn mask(&self, arrival: &Arrival) -> Option<u64> {
        arrival.arguments.get(self.at).copied().flatten().or(self.ballot)
    }

    fn found(&self, rule: Rule, evaluated: Evaluated, is_sure: bool) -> Finding {
        let level = if is_sure { Level::Error } else { Level::Warning };
        let at = if rule == Rule::SourceNotInMask { 2 } else { self.at };
        let argument = self.site.in_assembly.is_none().then_some(at);
        let mask = arguments(self.facts, self.site).get(at).copied();
        let sources = mask.map(|mask| sources(self.facts, self.site, mask));
        let varying = self.facts.varying(Scope::Wave);
        Finding {
            argument,
            sources: sources.unwrap_or(SourceSet::EMPTY) & varying,
            evaluated: Some(evaluated),
            ..Finding::new(rule, level, self.site.inst, Scope::Wave)
        }
    }

    fn not_in_mask(&self) -> Option<Finding> {
        let is_out = |(lane, _, arrival): &(usize, [u32; 3], &Arrival)| {
            self.mask(arrival).is_some_and(|mask| mask >> lane & 1 == 0)
        };
        let all: Vec<_> = self.arrivals().filter(is_out).collect();
        let sure = all.iter().find(|(_, _, arrival)| arrival.is_sure);
        // One mask for all may name all lanes that come; masks of their own do not.
        let masks = || self.arrivals().filter_map(|(_, _, arrival)| self.mask(arrival));
        let may_be = all.first().filter(|_| masks().any(|mask| Some(mask) != masks().next()));
        let &(lane, thread, arrival) = sure.or(may_be)?;
        let mask = self.mask(arrival)?;
        let evaluated =
            Evaluated { threads: [thread; 2], values: [mask, lane as u64], what: What::Mask };
        let mut found = self.found(Rule::NotInMask, evaluated, arrival.is_sure);
        // Those that are in the mask may be all that there are.
        let is_first = self.lanes.first().is_some_and(|(_, thread, _)| *thread == [0; 3]);
        let is_tail = self.arrivals().all(|(at, _, arrival)| {
            self.mask(arrival).is_some_and(|mask| (mask >> at & 1 == 1) == (at < lane))
        });
        if witness::exact_size(self.facts.launch).is_none() && is_first && is_tail && lane > 1 {
            found.safe.push(Geometry::AtMost { axis: 0, threads: lane as u32 });
        }
        Some(found)
    }

    fn different(&self) -> Option<Finding> {
        let sure: Vec<(usize, [u32; 3], &Arrival, u64)> = self
            .arrivals()
            .filter(|(_, _, arrival)| arrival.is_sure)
            .filter_map(|(lane, thread, arrival)| {
                Some((lane, thread, arrival, self.mask(arrival)?))
            })
            .collect();
        for (index, &(one, thread, arrival, mask)) in sure.iter().enumerate() {
            for &(other, second, with, theirs) in &sure[index + 1..] {
                let is_named = mask >> other & 1 == 1 || theirs >> one & 1 == 1;
                if other != one && arrival.rounds == with.rounds && mask != theirs && is_named {
                    let evaluated = Evaluated {
                        threads: [thread, second],
                        values: [mask, theirs],
                        what: What::Mask,
                    };
                    return Some(self.found(Rule::DifferentMasks, evaluated, true));
                }
            }
        }
        None
    }

    /// A lane that reads from one that is not in its mask.
    fn source(&self) -> Option<Finding> {
        let base = self.intrinsic?.base;
        let how = base.strip_prefix("shfl.sync.")?.split('.').next()?;
        let is_one_way = matches!(how, "up" | "down");
        let mut out = None;
        let mut is_right = false;
        for (lane, thread, arrival) in self.arrivals() {
            let &[_, _, Some(by), Some(clamp)] = &arrival.arguments[..] else { continue };
            let Some(mask) = self.mask(arrival) else { continue };
            let source = read_from(how, lane as u64, by, clamp)?;
            // Of those that are not in their mask more is to be said, if they come.
            if mask >> lane & 1 == 0 {
                continue;
            }
            match mask >> source & 1 == 1 {
                true => is_right |= source != lane as u64,
                false if out.is_none() => out = Some((thread, mask, source, arrival.is_sure)),
                false => {}
            }
        }
        let (thread, mask, source, is_sure) = out.filter(|_| !(is_one_way && is_right))?;
        let evaluated =
            Evaluated { threads: [thread; 2], values: [mask, source], what: What::Source };
        Some(self.found(Rule::SourceNotInMask, evaluated, is_sure))
    }

    /// A lane that is named by another one that comes, and does not come itself.
    fn missing(&self, is_computed: bool) -> Option<Finding> {
        if !is_computed {
            return None;
        }
        for (_, thread, arrival) in self.arrivals().filter(|(_, _, arrival)| arrival.is_sure) {
            let Some(mask) = self.mask(arrival) else { continue };
            for (lane, away, came) in &self.lanes {
                // Those that have ended are not waited for.
                let has_ended = || match *came {
                    Came::StaysAway(block) => self.facts.is_kernel && ends(self.facts, block),
                    _ => false,
                };
                if !matches!(came, Came::StaysAway(_) | Came::NotCalled) {
                    continue;
                }
                if mask >> lane & 1 == 1 && !has_ended() {
                    let evaluated = Evaluated {
                        threads: [thread, *away],
                        values: [mask, *lane as u64],
                        what: What::Absent,
                    };
                    return Some(self.found(Rule::MissingMembers, evaluated, true));
                }
            }
        }
        None
    }
}

/// The lane that a shuffle reads from, as PTX has it.
fn read_from(how: &str, lane: u64, by: u64, clamp: u64) -> Option<u64> {
    let (by, bound, segment) = (by & 31, clamp & 31, clamp >> 8 & 31);
    let last = (lane & segment) | (bound & !segment & 31);
    let (source, is_in_range) = match how {
        "up" => {
            let source = lane as i64 - by as i64;
            (source, source >= last as i64)
        }
        "down" => (lane as i64 + by as i64, lane + by <= last),
        "bfly" => ((lane ^ by) as i64, lane ^ by <= last),
        "idx" => {
            let source = (lane & segment) | (by & !segment & 31);
            (source as i64, source <= last)
        }
        _ => return None,
    };
    Some(if is_in_range { source as u64 } else { lane })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_read_where_ptx_says() {
        // In whole waves.
        assert_eq!(read_from("idx", 3, 17, 0x1f), Some(17));
        assert_eq!(read_from("idx", 3, 35, 0x1f), Some(3));
        assert_eq!(read_from("bfly", 3, 16, 0x1f), Some(19));
        assert_eq!(read_from("down", 31, 1, 0x1f), Some(31));
        assert_eq!(read_from("down", 15, 1, 0x1f), Some(16));
        assert_eq!(read_from("up", 3, 1, 0), Some(2));
        assert_eq!(read_from("up", 0, 1, 0), Some(0));
        // In segments of eight lanes.
        let of_eight = (32 - 8) << 8 | 0x1f;
        assert_eq!(read_from("idx", 11, 2, of_eight), Some(10));
        assert_eq!(read_from("down", 15, 1, of_eight), Some(15));
        assert_eq!(read_from("bfly", 9, 4, of_eight), Some(13));
        assert_eq!(read_from("up", 8, 1, (32 - 8) << 8), Some(8));
    }
}
