//! Counts the segments of memory that the lanes of a wave touch.
//!
//! The touched bytes form a few *spans*, which are computed once. For each possible position of the
//! first lane, a walk over the spans counts the segments. Positions that differ by whole segments
//! give the same number.
//!
//! O(lanes log lanes) for the spans, then O(spans) for each position of the first lane in a
//! segment. There are as many positions as multiples of the alignment in a segment.

use smallvec::SmallVec;

/// The largest size of a segment in bytes. All sizes are powers of two.
pub(super) const LARGEST: u64 = 128;

/// The positions that a first lane can have in a segment of [`LARGEST`] bytes, one bit per
/// position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Places(u128);

impl Places {
    /// Any.
    pub(super) const ALL: Places = Places(u128::MAX);

    /// Adds the position of an offset.
    pub(super) fn insert(&mut self, offset: i64) {
        self.0 |= 1 << offset.rem_euclid(LARGEST as i64);
    }

    /// The positions modulo a power of two that is at most [`LARGEST`].
    pub(super) fn modulo(self, step: u64) -> Places {
        let (mut folded, mut width) = (self.0, LARGEST);
        while width > step {
            width /= 2;
            folded = (folded | folded >> width) & ((1 << width) - 1);
        }
        Places(folded)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = u64> {
        (0..LARGEST).filter(move |place| self.contains(*place))
    }

    fn contains(self, place: u64) -> bool {
        self.0 >> place & 1 == 1
    }
}

/// The bytes that lanes touch, as sorted ranges of offsets from the first lane's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spans(SmallVec<[(i128, i128); 4]>);

impl Spans {
    /// The spans of lanes at these offsets from the first lane, with `size` bytes each. A size of
    /// zero counts as one.
    pub(super) fn new(offsets: &[i64], size: u32) -> Spans {
        let size = i128::from(size.max(1));
        let mut sorted: SmallVec<[i64; 64]> = SmallVec::from_slice(offsets);
        if !sorted.is_sorted() {
            sorted.sort_unstable();
        }
        let mut spans: SmallVec<[(i128, i128); 4]> = SmallVec::new();
        for start in sorted.into_iter().map(i128::from) {
            match spans.last_mut() {
                Some((_, end)) if start <= *end => *end = start + size,
                _ => spans.push((start, start + size)),
            }
        }
        Spans(spans)
    }

    /// The number of segments of this size that they touch, if the first lane is at position
    /// `place` in one.
    fn segments(&self, place: u64, segment: u64) -> u32 {
        let shift = segment.trailing_zeros();
        let number = |offset: i128| (i128::from(place) + offset) >> shift;
        let (mut count, mut next) = (0, i128::MIN);
        for &(start, end) in &self.0 {
            let (first, last) = (number(start).max(next), number(end - 1));
            // The previous span may have counted the first segment already.
            count += (last - first + 1).max(0);
            next = next.max(last + 1);
        }
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// The same for each possible position of the first lane: one of `places` modulo `step`, such
    /// that all addresses are aligned.
    pub(super) fn counts(
        &self,
        firsts: Places,
        step: u64,
        align: u64,
        segment: u64,
    ) -> impl Iterator<Item = u32> {
        let step = step.min(segment);
        let firsts = firsts.modulo(step);
        let places = (0..segment).step_by(align.clamp(1, segment) as usize);
        let places = places.filter(move |place| firsts.contains(place % step));
        places.map(move |place| self.segments(place, segment))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::{Rng, SeedableRng, rngs::SmallRng};

    use super::{Places, Spans};

    /// The same, byte by byte.
    fn slowly(offsets: &[i64], size: u32, place: u64, segment: u64) -> u32 {
        let bytes = offsets.iter().flat_map(|&offset| {
            let start = i128::from(offset) + i128::from(place);
            (start..start + i128::from(size.max(1))).map(|byte| byte.div_euclid(segment.into()))
        });
        bytes.collect::<BTreeSet<_>>().len() as u32
    }

    fn offsets(rng: &mut impl Rng) -> Vec<i64> {
        let lanes = rng.random_range(1..=64);
        let (stride, spread): (i64, i64) = (rng.random_range(-300..300), rng.random_range(1..2000));
        let is_regular = rng.random_bool(0.4);
        let offset = |lane| match is_regular {
            true => lane * stride,
            false if lane == 0 => 0,
            false => rng.random_range(-spread..spread),
        };
        (0..lanes).map(offset).collect()
    }

    #[test]
    fn segments_are_those_of_the_bytes() {
        let mut rng = SmallRng::seed_from_u64(1);
        for _ in 0..3000 {
            let offsets = offsets(&mut rng);
            let size = rng.random_range(0..40);
            let segment = [32, 128][rng.random_range(0..2)];
            let place = rng.random_range(0..segment);
            let found = Spans::new(&offsets, size).segments(place, segment);
            assert_eq!(found, slowly(&offsets, size, place, segment), "{offsets:?} {size} {place}");
        }
    }

    #[test]
    fn a_lane_below_the_first_one_can_reach_into_its_segment() {
        // Eight bytes from four below it.
        let spans = Spans::new(&[0, -64], 8);
        assert_eq!(spans.segments(60, 128), 2);
        assert_eq!(Spans::new(&[0, 0, -4], 8).segments(0, 128), 2);
    }

    #[test]
    fn offsets_from_end_to_end() {
        let spans = Spans::new(&[0, i64::MAX, i64::MIN], 16);
        assert_eq!(spans.segments(0, 32), 4);
        assert_eq!(Spans::new(&[0], u32::MAX).segments(1, 32), 1 << 27);
    }

    #[test]
    fn places_of_the_first_lane() {
        let mut firsts = Places::default();
        [-4, 12].into_iter().for_each(|offset| firsts.insert(offset));
        assert_eq!(firsts.iter().collect::<Vec<_>>(), [12, 124]);
        assert_eq!(firsts.modulo(128), firsts);
        assert_eq!(firsts.modulo(16).iter().collect::<Vec<_>>(), [12]);
        assert_eq!(firsts.modulo(8).iter().collect::<Vec<_>>(), [4]);
        assert_eq!(firsts.modulo(1).iter().collect::<Vec<_>>(), [0]);
        assert_eq!(Places::ALL.modulo(4).iter().count(), 4);
        // Of eight bytes there, at multiples of four: 12 and 28 of 32.
        let counts =
            |step, align| Spans::new(&[0], 8).counts(firsts, step, align, 32).collect::<Vec<_>>();
        assert_eq!(counts(16, 4), [1, 2]);
        assert_eq!(counts(1, 8), [1; 4]);
        assert_eq!(counts(16, 16), []);
    }
}
