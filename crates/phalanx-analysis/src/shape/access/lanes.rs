//! Patterns of addresses, from what they are in the lanes of each wave.
//!
//! If the waves of a workgroup are known, the thread's part of an address is evaluated in each of
//! them. Waves with the same offsets of lanes from the first lane form one *shape*. Of their first
//! lanes, only the position within a segment matters.
//!
//! A linear function has one shape for each [class of waves](Waves); most launches have a single
//! class. Results are cached, since most accesses of a function resemble others.

use std::sync::Arc;

use phalanx_target::SourceSet;
use rustc_hash::FxHashMap;

use super::{
    Access, Finder, Pattern, Within,
    touched::{LARGEST, Places, Spans},
};
use crate::code::cut;
use crate::shape::{
    banks,
    expr::{Expr, Exprs},
    form::{Form, Rest},
    geometry::Waves,
};

/// Waves whose lanes have the same offsets from the first lane.
#[derive(Debug, PartialEq, Eq)]
struct WaveShape {
    /// The first one is zero.
    offsets: Vec<i64>,
    /// The positions of the first lanes.
    firsts: Places,
}

/// All inputs of the classification of an access, if the waves are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Looks {
    /// The thread's part of the address.
    expr: Expr,
    /// The number of its significant low bits.
    bits: u32,
    /// The alignment of the rest; at most the largest one that matters.
    of_rest: u64,
    size: u32,
    /// The stated alignment; at most the largest one that matters.
    align: u64,
    is_shared: bool,
}

/// The result of the classification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Touched {
    pattern: Pattern,
    segments: u32,
    sectors: u32,
    bank_degree: Option<u32>,
}

/// Cached results, for the expressions of one function.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// By the sources of an expression.
    waves: Vec<(SourceSet, Option<Arc<[Waves]>>)>,
    touched: FxHashMap<Looks, Option<Touched>>,
}

impl Lanes {
    /// The waves that represent all waves for this expression. `None` if they are not known.
    fn waves(&mut self, exprs: &Exprs, expr: Expr) -> Option<Arc<[Waves]>> {
        let sources = exprs.indices(expr);
        if let Some((_, known)) = self.waves.iter().find(|(of, _)| *of == sources) {
            return known.clone();
        }
        let waves: Option<Arc<[Waves]>> = exprs.geometry().waves(sources).map(Arc::from);
        self.waves.push((sources, waves.clone()));
        waves
    }
}

/// The shapes of the low `bits` bits of an expression in these waves. `None` if it has no value in
/// some thread.
fn shapes(exprs: &Exprs, expr: Expr, bits: u32, waves: &[Waves]) -> Option<Vec<WaveShape>> {
    let mut found: Vec<WaveShape> = Vec::new();
    let mut insert = |offsets: &[i64], first: i64| {
        let shape = match found.iter().position(|shape| shape.offsets == offsets) {
            Some(at) => &mut found[at],
            None => {
                let offsets = offsets.to_vec();
                found.push(WaveShape { offsets, firsts: Places::default() });
                found.last_mut().expect("one has been put there")
            }
        };
        shape.firsts.insert(first);
    };
    let linear = exprs.linear(expr).filter(|_| exprs.width(expr) == 64);
    let mut offsets: Vec<i64> = Vec::new();
    for waves in waves {
        if let Some((coefs, offset)) = linear {
            let times = |indices: [i64; 4]| {
                let terms = coefs.iter().zip(indices).map(|(&c, i)| c.wrapping_mul(i));
                terms.fold(0, i64::wrapping_add)
            };
            offsets.clear();
            offsets.extend(waves.steps.iter().map(|step| cut(times(step.map(i64::from)), bits)));
            for first in &waves.firsts {
                insert(&offsets, times(first.map(i64::from)).wrapping_add(offset));
            }
            continue;
        }
        for &first in &waves.firsts {
            let start = exprs.value(expr, first)? as i64;
            offsets.clear();
            for thread in waves.threads(first) {
                offsets.push(cut((exprs.value(expr, thread)? as i64).wrapping_sub(start), bits));
            }
            insert(&offsets, start);
        }
    }
    Some(found)
}

impl Finder<'_> {
    /// Classifies an access at an address with `bits` significant low bits. The result is `known`
    /// with the found facts, or `unknown`.
    pub(super) fn classify(
        &mut self,
        form: &Form,
        bits: u32,
        known: Access,
        unknown: Access,
        is_shared: bool,
    ) -> Access {
        let exprs = &self.shapes.exprs;
        if let Some(waves) = self.lanes.waves(exprs, form.thread) {
            let looks = Looks {
                expr: form.thread,
                bits,
                of_rest: alignment(&form.rest).min(LARGEST),
                size: unknown.size,
                align: unknown.align.min(LARGEST),
                is_shared,
            };
            let look = || {
                let shapes = shapes(exprs, looks.expr, looks.bits, &waves)?;
                Some(touched(&shapes, looks))
            };
            let found = *self.lanes.touched.entry(looks).or_insert_with(look);
            let Some(Touched { pattern, segments, sectors, bank_degree }) = found else {
                return unknown;
            };
            let (segments, sectors) = (Some(segments), Some(sectors));
            return Access { pattern, segments, sectors, bank_degree, ..known };
        }
        let varying = exprs.indices(form.thread) & self.shapes.varying.in_wave;
        let Some((coefs, _)) = exprs.linear(form.thread) else { return unknown };
        if varying.is_empty() {
            return Access { pattern: Pattern::Broadcast, ..known };
        }
        if SourceSet::LANE.contains(varying) {
            let pattern = of_stride(cut(coefs[3], bits), unknown.size);
            return Access { pattern, ..known };
        }
        // If neither y nor z varies in a wave, rows are whole waves.
        let of_wave = self.shapes.varying.in_wave;
        match self.classify_rows(form, bits, known) {
            Some(access) if !of_wave.intersects(SourceSet::Y | SourceSet::Z) => {
                Access { within: Within::Wave, ..access }
            }
            Some(access) => access,
            None => unknown,
        }
    }

    /// Classifies an access within rows, for an address whose thread part is linear and does not
    /// depend on the lane. The rest has to be equal in lanes with equal y and z.
    pub(super) fn classify_rows(&self, form: &Form, bits: u32, known: Access) -> Option<Access> {
        let exprs = &self.shapes.exprs;
        let varying = exprs.indices(form.thread) & self.shapes.varying.in_wave;
        let (coefs, _) = exprs.linear(form.thread)?;
        let is_of_threads = SourceSet::THREAD_XYZ.contains(varying);
        let pattern = of_stride(cut(coefs[0], bits), known.size);
        is_of_threads.then_some(Access { pattern, within: Within::Row, ..known })
    }
}

impl Finder<'_> {
    /// The offsets of the lanes in the slowest wave, for an address with `bits` significant low
    /// bits. `None` if the waves are not known.
    pub(super) fn slowest_wave(
        &mut self,
        (form, bits): (&Form, u32),
        size: u32,
        is_shared: bool,
    ) -> Option<Vec<i64>> {
        let waves = self.lanes.waves(&self.shapes.exprs, form.thread)?;
        let shapes = shapes(&self.shapes.exprs, form.thread, bits, &waves)?;
        let cost = |shape: &WaveShape| match is_shared {
            true => banks::degree(&shape.offsets, size, 4),
            false => fewest_sectors(&shape.offsets, size, 32),
        };
        // The first one of several equally slow ones.
        let slower = |a: WaveShape, b| if cost(&b) > cost(&a) { b } else { a };
        shapes.into_iter().reduce(slower).map(|shape| shape.offsets)
    }
}

/// The pattern of lanes that are `stride` bytes apart.
fn of_stride(stride: i64, size: u32) -> Pattern {
    match stride {
        0 => Pattern::Broadcast,
        n if n == i64::from(size) => Pattern::Consecutive,
        n => Pattern::Strided(n),
    }
}

/// The pattern of an access with known lanes, and the numbers of segments and words that they
/// touch.
fn touched(shapes: &[WaveShape], looks: Looks) -> Touched {
    let Looks { bits, of_rest, size, align, is_shared, .. } = looks;
    let steps = |shape: &WaveShape, is: &mut dyn FnMut(i64) -> bool| {
        shape.offsets.windows(2).all(|pair| is(cut(pair[1].wrapping_sub(pair[0]), bits)))
    };
    let mut stride = None;
    let mut is_the_same = |step| *stride.get_or_insert(step) == step;
    let is_regular = shapes.iter().all(|shape| steps(shape, &mut is_the_same));
    let pattern = match is_regular {
        true => of_stride(stride.unwrap_or(0), size),
        false => Pattern::Gather,
    };
    let (mut segments, mut sectors, mut degree) = (0, 0, 0);
    for WaveShape { offsets, firsts } in shapes {
        let spans = Spans::new(offsets, size);
        let most = |segment| spans.counts(*firsts, of_rest, align, segment).max().unwrap_or(0);
        segments = segments.max(most(128));
        sectors = sectors.max(most(32));
    }
    if is_shared {
        // The base has the alignment of the rest, and each address has the stated alignment.
        let is_aligned = |shape: &WaveShape| {
            shape.offsets.iter().all(|offset| offset.rem_euclid(4) == 0)
                && shape.firsts.iter().all(|first| first % 4 == 0)
        };
        let align = if shapes.iter().all(is_aligned) { of_rest.max(align) } else { of_rest };
        for WaveShape { offsets, firsts } in shapes {
            // Adding whole words only rotates the banks.
            for first in firsts.modulo(4).iter() {
                let shifted = offsets.iter().map(|offset| offset.wrapping_add(first as i64));
                degree = degree.max(banks::degree(&shifted.collect::<Vec<_>>(), size, align));
            }
        }
    }
    let bank_degree = is_shared.then_some(degree);
    Touched { pattern, segments, sectors, bank_degree }
}

/// The alignment of the base of an address. The place of a variable is unknown.
fn alignment(rest: &Rest) -> u64 {
    match rest.is_none() {
        true => 1,
        false => 1u64.checked_shl(rest.zeros.into()).unwrap_or(1 << 63),
    }
}

/// The smallest number of 32-byte sectors that lanes at these offsets can touch, over all bases for
/// which their addresses are aligned.
#[must_use]
pub fn fewest_sectors(lanes: &[i64], size: u32, align: u64) -> u32 {
    let first = lanes.first().copied().unwrap_or(0);
    let offsets: Vec<i64> = lanes.iter().map(|offset| offset.wrapping_sub(first)).collect();
    Spans::new(&offsets, size).counts(Places::ALL, 1, align, 32).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use phalanx_ir::Opcode;
    use phalanx_target::{Extent, LaunchFacts, target::Architecture};
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    use super::{Expr, Exprs, shapes};
    use crate::shape::geometry::Geometry;

    /// What is known of waves in a workgroup of this size.
    fn exprs(size: [u32; 3], wave: u32) -> Exprs {
        let launch = LaunchFacts {
            workgroup_size: size.map(Extent::Exactly),
            max_flat_workgroup_size: None,
            uniform_work_group_size: true,
            wave_width: Some(wave),
            max_cluster_size: None,
            cluster_size: [Extent::Exactly(1); 3],
            ..LaunchFacts::default()
        };
        Exprs::new(Geometry::new(&launch, Architecture::Amdgcn))
    }

    /// The offsets of lanes and the place of the first one, wave by wave and thread by thread.
    fn slowly(exprs: &Exprs, expr: Expr, size: [u32; 3], wave: u32) -> BTreeSet<(Vec<i64>, u64)> {
        let all = size.iter().product::<u32>();
        let thread = |n: u32| [n % size[0], n / size[0] % size[1], n / size[0] / size[1], n % wave];
        let of_wave = |first: u32| {
            let lanes = first..all.min(first + wave);
            let value = |n| exprs.value(expr, thread(n)).expect("it has one") as i64;
            let offsets = lanes.map(|n| value(n).wrapping_sub(value(first))).collect();
            (offsets, value(first).rem_euclid(128) as u64)
        };
        (0..all).step_by(wave as usize).map(of_wave).collect()
    }

    fn random(rng: &mut SmallRng, exprs: &mut Exprs) -> Expr {
        let mut expr = exprs.constant(rng.random(), 64);
        for _ in 0..rng.random_range(0..4) {
            let index = exprs.index(rng.random_range(0..4), 64);
            let factor = exprs.constant(rng.random_range(0..20), 64);
            let operation = match rng.random_bool(0.6) {
                true => Opcode::Mul,
                false => [Opcode::And, Opcode::LShr, Opcode::UDiv][rng.random_range(0..3)],
            };
            let term = exprs.binary(operation, index, factor);
            let sum = term.and_then(|term| {
                let operation = [Opcode::Add, Opcode::Sub, Opcode::Xor][rng.random_range(0..3)];
                exprs.binary(operation, expr, term)
            });
            expr = sum.unwrap_or(expr);
        }
        expr
    }

    #[test]
    fn waves_are_those_of_all_threads() {
        let mut rng = SmallRng::seed_from_u64(1);
        let mut linear = 0;
        for case in 0..600 {
            let size = [rng.random_range(1..70), rng.random_range(1..6), rng.random_range(1..4)];
            let wave = [32, 64][rng.random_range(0..2)];
            let mut exprs = exprs(size, wave);
            let expr = random(&mut rng, &mut exprs);
            let waves = exprs.geometry().waves(exprs.indices(expr)).expect("all extents are known");
            let Some(found) = shapes(&exprs, expr, 64, &waves) else { continue };
            linear += usize::from(exprs.linear(expr).is_some());
            let found: BTreeSet<(Vec<i64>, u64)> = found
                .iter()
                .flat_map(|shape| shape.firsts.iter().map(|first| (shape.offsets.clone(), first)))
                .collect();
            assert_eq!(found, slowly(&exprs, expr, size, wave), "case {case}: {size:?} {wave}");
        }
        assert!((100..500).contains(&linear), "{linear} of them are linear");
    }
}
