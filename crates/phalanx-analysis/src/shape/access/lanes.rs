//! Patterns of addresses, from what they are in the lanes of each wave.

use phalanx_target::SourceSet;
use rustc_hash::FxHashSet;

use super::{Access, Finder, Pattern, Within};
use crate::shape::{
    banks,
    form::{Form, Rest},
    geometry::Thread,
};

impl Finder<'_> {
    pub(super) fn classify(&self, form: &Form, unknown: Access, is_shared: bool) -> Access {
        let exprs = &self.shapes.exprs;
        let varying = exprs.indices(form.thread) & self.shapes.in_wave;
        if let Some(waves) = exprs.geometry().waves(exprs.indices(form.thread)) {
            return classify_waves(self, form, &waves, unknown, is_shared);
        }
        let Some((coefs, _)) = exprs.linear(form.thread) else { return unknown };
        let pattern = |stride: i64| match stride {
            0 => Pattern::Broadcast,
            n if n == i64::from(unknown.size) => Pattern::Consecutive,
            n => Pattern::Strided(n),
        };
        if varying.is_empty() {
            return Access { pattern: Pattern::Broadcast, ..unknown };
        }
        if SourceSet::LANE.contains(varying) {
            return Access { pattern: pattern(coefs[3]), ..unknown };
        }
        if (SourceSet::THREAD_XYZ).contains(varying) {
            // Rows are whole waves where neither y nor z varies in one.
            let of_wave = self.shapes.in_wave;
            let within = match of_wave.intersects(SourceSet::Y | SourceSet::Z) {
                true => Within::Row,
                false => Within::Wave,
            };
            return Access { pattern: pattern(coefs[0]), within, ..unknown };
        }
        unknown
    }
}

/// The pattern where the lanes of each wave are known, and how many segments they touch.
fn classify_waves(
    finder: &Finder<'_>,
    Form { thread, rest, .. }: &Form,
    waves: &[Vec<Thread>],
    unknown: Access,
    is_shared: bool,
) -> Access {
    let exprs = &finder.shapes.exprs;
    let mut offsets: Vec<Vec<i64>> = Vec::new();
    for wave in waves {
        let lanes: Option<Vec<i64>> =
            wave.iter().map(|&lane| exprs.value(*thread, lane).map(|v| v as i64)).collect();
        match lanes {
            Some(lanes) => offsets.push(lanes),
            None => return unknown,
        }
    }
    let mut stride = None;
    let is_regular = offsets.iter().all(|lanes| {
        lanes.windows(2).all(|pair| {
            let step = pair[1].wrapping_sub(pair[0]);
            *stride.get_or_insert(step) == step
        })
    });
    let pattern = match stride.unwrap_or(0) {
        _ if !is_regular => Pattern::Gather,
        0 => Pattern::Broadcast,
        n if n == i64::from(unknown.size) => Pattern::Consecutive,
        n => Pattern::Strided(n),
    };
    // Waves that look the same touch as much.
    offsets.iter_mut().for_each(|lanes| {
        let base = lanes[0].div_euclid(128).wrapping_mul(128);
        lanes.iter_mut().for_each(|offset| *offset = offset.wrapping_sub(base));
    });
    let most = |segment: u64| {
        let mut seen = FxHashSet::default();
        let distinct = offsets.iter().filter(|lanes| seen.insert((*lanes).clone()));
        distinct.map(|lanes| touched(lanes, rest, unknown.size, unknown.align, segment)).max()
    };
    // The base is as aligned as what the rest is a multiple of, and an address as is stated.
    let is_aligned = offsets.iter().flatten().all(|offset| offset.rem_euclid(4) == 0);
    let of_rest = alignment(rest);
    let align = if is_aligned { of_rest.max(unknown.align) } else { of_rest };
    let degrees = || offsets.iter().map(|lanes| banks::degree(lanes, unknown.size, align)).max();
    let bank_degree = if is_shared { degrees() } else { None };
    Access { pattern, segments: most(128), sectors: most(32), bank_degree, ..unknown }
}

/// What the base of an address is a multiple of. Nobody knows where a global is.
fn alignment(rest: &Rest) -> u64 {
    match rest.is_none() {
        true => 1,
        false => 1u64.checked_shl(rest.zeros.into()).unwrap_or(1 << 63),
    }
}

/// The largest number of segments that lanes at these offsets can touch, wherever the rest of the address puts them.
fn touched(lanes: &[i64], rest: &Rest, size: u32, align: u64, segment: u64) -> u32 {
    counts(lanes, alignment(rest), size, align, segment).max().unwrap_or(0)
}

/// The smallest number of sectors of 32 bytes that lanes at these offsets can touch, from any base for which their addresses are aligned.
#[must_use]
pub fn fewest_sectors(lanes: &[i64], size: u32, align: u64) -> u32 {
    counts(lanes, 1, size, align, 32).min().unwrap_or(0)
}

/// How many segments lanes at these offsets touch, for each base that is a multiple of `step` and aligns the first of them.
fn counts(
    lanes: &[i64],
    step: u64,
    size: u32,
    align: u64,
    segment: u64,
) -> impl Iterator<Item = u32> {
    let align = align.clamp(1, segment);
    // Addresses are as aligned as they must be.
    let is_aligned = move |base: &u64| {
        lanes.first().is_some_and(|&lane| base.wrapping_add(lane as u64).is_multiple_of(align))
    };
    let bases = (0..segment).step_by(step.min(segment) as usize).filter(is_aligned);
    bases.map(move |base| {
        let mut found: Vec<u64> = Vec::with_capacity(lanes.len());
        for &offset in lanes {
            let first = base.wrapping_add(offset as u64);
            let last = first.wrapping_add(u64::from(size).saturating_sub(1));
            found.extend((first / segment..=last / segment).take(4096));
        }
        found.sort_unstable();
        found.dedup();
        found.len() as u32
    })
}
