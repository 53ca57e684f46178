//! Masks, lane by lane: the lanes that are named by the masks that lanes of a wave come with.
//!
//! PTX has three rules for an operation with a mask: each lane that executes it is in its own mask;
//! all lanes of a mask execute it with the same mask; a shuffle reads from a lane of the mask. If
//! the mask of each lane can be evaluated ([`walk`](super::walk)), these are checked lane by lane:
//!
//! | what is found | rule |
//! |---|---|
//! | a lane that is not in its mask | [`Rule::NotInMask`] |
//! | two lanes of which one is in the mask of the other, with two masks | [`Rule::DifferentMasks`] |
//! | a lane that reads from one that is not in its mask | [`Rule::SourceNotInMask`] |
//! | a mask that is no constant, and a lane in it that goes another way | [`Rule::MissingMembers`] |
//!
//! ```text
//! mask = 0xff << (tid % 4 * 8);       // tid / 8 was meant: lane 1 comes with 0xff00
//! ```
//!
//! The result of a ballot over the whole wave is known if the condition of the ballot depends only
//! on the index of each thread:
//!
//! ```text
//! mask = ballot(tid < 16);  if (tid <= 16) syncwarp(mask);     // lane 16 is not in 0xffff
//! ```
//!
//! A lane that reads too far up or down, as the last lanes of a reduction do, gets a result that is
//! not used. That is reported only if all lanes of the mask do so.
//!
//! # How sure a finding is
//!
//! An error names lanes that come together in every launch with a row of 32 threads, or in every
//! launch of the stated size. If a branch on data may part them, here or in a caller, it is a
//! warning. If all lanes have one mask and a lane is not in it, that lane is not reported in this
//! case: the lanes in the mask may be exactly those that come. Nothing is reported if rows may be
//! shorter than a wave and the mask or the way depends on another index than x.
//!
//! O(waves × lanes × instructions on the way), for at most [`THREADS`] threads; O(1) for masks that
//! name all lanes.

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

/// The number of threads that are looked at.
const THREADS: usize = 256;

/// The finding about the masks of an operation, if there is one.
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
    // A finding from the function alone takes precedence over one from a call of it.
    let entries = facts.passed.entries(&threads, Scope::Wave);
    let mut by_calls = entries
        .iter()
        .filter_map(|call| in_waves(facts, site, (at, known.is_none()), &threads, Some(call)));
    by_calls.find(|found| found.level == Level::Error).or(found)
}

/// The finding about the lanes of each wave, if they come by one call where one is given.
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
            // If nothing is known of the first two lanes, nothing is known of the others.
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

/// The lanes that a mask names, if the mask is a ballot of all lanes of a wave.
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
    // All lanes that the ballot names execute it: PTX requires that, and PHX006 checks it.
    if known.base != "vote.ballot.sync" || constant(facts, asked)? & all != all {
        return None;
    }
    let condition = Expression::new(facts, condition)?;
    let size = witness::exact_size(facts.launch);
    wave.iter().enumerate().try_fold(0, |named, (lane, &thread)| {
        Some(named | (condition.value(facts, thread, size)? & 1) << lane)
    })
}

/// The sources of an argument at the operation.
pub(super) fn sources(facts: Facts<'_>, site: &Site, argument: Argument) -> SourceSet {
    let numbering = Numbering::new(facts.code.header);
    let Argument::Value(value) = argument else { return SourceSet::EMPTY };
    let Some(number) = numbering.operand(value) else { return SourceSet::EMPTY };
    let user = User::value(numbering.inst(site.inst));
    let sources = facts.divergence.at_use(number, user);
    facts.reads_use(number, user, sources);
    sources
}

/// The lanes of one wave, and how each of them comes.
struct Wave<'a> {
    facts: Facts<'a>,
    site: &'a Site,
    /// The position of the mask among the arguments.
    at: usize,
    lanes: Vec<(usize, [u32; 3], Came)>,
    /// The mask, if it is the result of a ballot.
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
        // A mask that all lanes share may name exactly the lanes that come; different masks cannot.
        let masks = || self.arrivals().filter_map(|(_, _, arrival)| self.mask(arrival));
        let may_be = all.first().filter(|_| masks().any(|mask| Some(mask) != masks().next()));
        let &(lane, thread, arrival) = sure.or(may_be)?;
        let mask = self.mask(arrival)?;
        let evaluated =
            Evaluated { threads: [thread; 2], values: [mask, lane as u64], what: What::Mask };
        let mut found = self.found(Rule::NotInMask, evaluated, arrival.is_sure);
        // The lanes in the mask may be all lanes of the launch.
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

    /// The finding about a lane that reads from a lane that is not in its mask.
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
            // A lane that is not in its own mask has a finding of its own.
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

    /// The finding about a lane that another lane names, and that does not come itself.
    fn missing(&self, is_computed: bool) -> Option<Finding> {
        if !is_computed {
            return None;
        }
        for (_, thread, arrival) in self.arrivals().filter(|(_, _, arrival)| arrival.is_sure) {
            let Some(mask) = self.mask(arrival) else { continue };
            for (lane, away, came) in &self.lanes {
                // Lanes that have ended are not waited for.
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

/// The lane that a shuffle reads from, as PTX defines it.
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
        // Segments are whole waves.
        assert_eq!(read_from("idx", 3, 17, 0x1f), Some(17));
        assert_eq!(read_from("idx", 3, 35, 0x1f), Some(3));
        assert_eq!(read_from("bfly", 3, 16, 0x1f), Some(19));
        assert_eq!(read_from("down", 31, 1, 0x1f), Some(31));
        assert_eq!(read_from("down", 15, 1, 0x1f), Some(16));
        assert_eq!(read_from("up", 3, 1, 0), Some(2));
        assert_eq!(read_from("up", 0, 1, 0), Some(0));
        // Segments have eight lanes.
        let of_eight = (32 - 8) << 8 | 0x1f;
        assert_eq!(read_from("idx", 11, 2, of_eight), Some(10));
        assert_eq!(read_from("down", 15, 1, of_eight), Some(15));
        assert_eq!(read_from("bfly", 9, 4, of_eight), Some(13));
        assert_eq!(read_from("up", 8, 1, (32 - 8) << 8), Some(8));
    }
}
