//! Which lanes read which lanes, as far as quads are concerned.
//!
//! # What
//!
//! Many operations move data between lanes by a pattern that constants name: `quad_perm`, a
//! swizzle, `lane ^ 8`. If data are equal within each quad, the result depends on where the four
//! lanes of a quad read:
//!
//! ```text
//! quad_perm:[2,2,2,2]   all four read one lane           Moves::Broadcast   one value, whatever the data are
//! quad_perm:[1,0,3,2]   each reads a lane of its quad    Moves::Within      the quad's value again
//! lane ^ 8              all four read one other quad     Moves::Quads       the value of that quad
//! lane + 1              some of them read another quad   none of these
//! ```
//!
//! # How
//!
//! A pattern is a function of the lane number. It is evaluated for 64 lanes, and the sixteen quads
//! are compared. This needs no case analysis over encodings, which follow the ISA documents (PTX
//! `shfl`; RDNA and CDNA: DPP, DPP8, `ds_swizzle_b32`).
//!
//! Complexity: constant, 64 evaluations per call that is lowered.

use super::Operands;

/// The most lanes that a wave has.
const LANES: u32 = 64;

/// How a lane finds the lane that it reads, from constant operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// `lane ^ distance`; with a PTX segment operand, a lane reads itself instead of a lane beyond
    /// the segment.
    Xor {
        /// Operand that holds the distance.
        by: u8,
        /// Operand that cuts the wave into segments.
        segment: Option<u8>,
    },
    /// `lane - distance`.
    Up {
        /// See [`Pattern::Xor`].
        by: u8,
        /// See [`Pattern::Xor`].
        segment: Option<u8>,
    },
    /// `lane + distance`.
    Down {
        /// See [`Pattern::Xor`].
        by: u8,
        /// See [`Pattern::Xor`].
        segment: Option<u8>,
    },
    /// A rotation within clusters of `size` lanes.
    Rotate {
        /// Operand that holds the distance.
        by: u8,
        /// Operand that holds the number of lanes in a cluster.
        size: u8,
    },
    /// `ds_swizzle_b32`.
    Swizzle {
        /// Operand that holds the pattern.
        control: u8,
    },
    /// Data-parallel primitives: control, row mask, bank mask and bound control are at this
    /// position and the next ones.
    Dpp {
        /// Operand that holds the control.
        control: u8,
    },
    /// The eight lane numbers of DPP8, three bits each.
    Dpp8 {
        /// Operand that holds them.
        control: u8,
    },
}

/// The source of what a lane receives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// The value of this lane.
    Lane(u32),
    /// No lane: zero, or an old value of the lane's own.
    Elsewhere,
}

/// Where the four lanes of every quad read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moves {
    /// One lane.
    Broadcast,
    /// Lanes of their own quad.
    Within,
    /// Lanes of one quad.
    Quads,
}

impl Pattern {
    /// Where lanes read, if operands are constant and all quads follow one pattern.
    pub(super) fn moves<O: Operands + ?Sized>(self, operands: &O) -> Option<Moves> {
        let mut all = [true; 3];
        for quad in 0..LANES / 4 {
            let mut from = [From::Elsewhere; 4];
            for (lane, from) in from.iter_mut().enumerate() {
                *from = self.source(operands, quad * 4 + lane as u32)?;
            }
            let of = |from: From| match from {
                From::Lane(lane) => Some(lane / 4),
                From::Elsewhere => None,
            };
            let same_quad = from.iter().all(|&each| of(each) == of(from[0]));
            all[0] &= from.iter().all(|&each| each == from[0]);
            all[1] &= same_quad && of(from[0]).is_none_or(|read| read == quad);
            all[2] &= same_quad;
        }
        let kinds = [Moves::Broadcast, Moves::Within, Moves::Quads];
        kinds.into_iter().zip(all).find(|(_, is)| *is).map(|(kind, _)| kind)
    }

    /// Whether some lane may receive a value that no lane holds.
    pub(super) fn may_skip<O: Operands + ?Sized>(self, operands: &O) -> bool {
        let reads = |lane| matches!(self.source(operands, lane), Some(From::Lane(_)));
        // In a shuffle or a rotation, a lane without another lane to read reads itself, whatever
        // the distance.
        matches!(self, Pattern::Dpp { .. }) && !(0..LANES).all(reads)
    }

    /// Whether some lane may keep an old value. This happens if its row or bank is masked out, or
    /// if the lane that it reads is inactive or beyond the row and bound control does not select
    /// zero.
    pub(super) fn may_keep<O: Operands + ?Sized>(self, operands: &O) -> bool {
        let Pattern::Dpp { control } = self else { return true };
        let is = |at: u8, value: u64| operands.constant(usize::from(control + at)) == Some(value);
        !(is(1, 15) && is(2, 15) && is(3, 1))
    }

    /// What a lane receives. None if a constant is not known, or names no pattern.
    fn source<O: Operands + ?Sized>(self, operands: &O, lane: u32) -> Option<From> {
        let constant = |at: u8| Some(operands.constant(usize::from(at))? as u32);
        Some(match self {
            Pattern::Xor { by, segment }
            | Pattern::Up { by, segment }
            | Pattern::Down { by, segment } => {
                let by = constant(by)?;
                let Some(segment) = segment else {
                    return Some(self.apart(lane, by).map_or(From::Elsewhere, From::Lane));
                };
                // PTX has waves of 32 lanes; the pattern repeats for the second half.
                let (half, n, by) = (lane & !31, lane & 31, by & 31);
                let (clamp, segment) = Segments::parts(constant(segment)?);
                let last = n & segment | clamp & !segment;
                let wanted = self.apart(n, by).filter(|&other| match self {
                    Pattern::Up { .. } => other >= last,
                    _ => other <= last,
                });
                From::Lane(half | wanted.unwrap_or(n))
            }
            Pattern::Rotate { by, size } => {
                let (by, size) = (constant(by)?, constant(size)?);
                if !size.is_power_of_two() || size > LANES {
                    return None;
                }
                From::Lane(lane & !(size - 1) | lane.wrapping_add(by) & (size - 1))
            }
            Pattern::Swizzle { control } => {
                let control = constant(control)?;
                let (and, or, xor) = (control & 31, control >> 5 & 31, control >> 10 & 31);
                match control >> 15 & 1 {
                    0 => From::Lane(lane & !31 | ((lane & and | or) ^ xor) & 31),
                    // Newer processors have other modes from 0xc000 on.
                    _ if control & 0xff00 == 0x8000 => {
                        From::Lane(lane & !3 | control >> (2 * (lane & 3)) & 3)
                    }
                    _ => return None,
                }
            }
            Pattern::Dpp { control } => {
                let (rows, banks) = (constant(control + 1)?, constant(control + 2)?);
                match rows >> (lane / 16) & 1 == 1 && banks >> (lane / 4 % 4) & 1 == 1 {
                    true => dpp(constant(control)?, lane)?,
                    false => From::Elsewhere,
                }
            }
            Pattern::Dpp8 { control } => {
                From::Lane(lane & !7 | constant(control)? >> (3 * (lane & 7)) & 7)
            }
        })
    }

    /// The lane at a distance. None below the first lane.
    fn apart(self, lane: u32, by: u32) -> Option<u32> {
        match self {
            Pattern::Up { .. } => lane.checked_sub(by),
            Pattern::Xor { .. } => Some(lane ^ by),
            _ => lane.checked_add(by),
        }
    }
}

/// What a lane receives by the controls that all processors have; those that go beyond a row depend
/// on the processor.
fn dpp(control: u32, lane: u32) -> Option<From> {
    let (row, at, by) = (lane & !15, lane & 15, control & 15);
    let in_row = |position: Option<u32>| {
        position
            .filter(|&position| position < 16)
            .map_or(From::Elsewhere, |at| From::Lane(row | at))
    };
    Some(match control {
        0..=0xff => From::Lane(lane & !3 | control >> (2 * (lane & 3)) & 3),
        0x101..=0x10f => in_row(Some(at + by)),
        0x111..=0x11f => in_row(at.checked_sub(by)),
        0x121..=0x12f => in_row(Some((at + 16 - by) % 16)),
        0x140 => From::Lane(row | (15 - at)),
        0x141 => From::Lane(row | at & 8 | (7 - (at & 7))),
        0x150..=0x15f => From::Lane(row | by),
        0x160..=0x16f => From::Lane(row | at ^ by),
        _ => return None,
    })
}

/// How the segment operand of a PTX shuffle cuts the wave.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Segments {
    /// One segment of 32 lanes, all of which can be named.
    Whole,
    /// Segments of whole quads, all of whose lanes can be named.
    OfQuads,
    /// Anything else: a lane number above the highest one gives each lane its own value.
    Other,
}

impl Segments {
    /// Highest lane (bits 0 to 4) and segment mask (bits 8 to 12).
    fn parts(operand: u32) -> (u32, u32) {
        (operand & 31, operand >> 8 & 31)
    }

    pub(super) fn of<O: Operands + ?Sized>(operands: &O, index: u8) -> Segments {
        let constant = operands.constant(usize::from(index));
        match constant.map(|value| Segments::parts(value as u32)) {
            Some((31, 0)) => Segments::Whole,
            // Bits 0 and 1 of a lane's number do not affect its segment.
            Some((31, mask)) if mask & 3 == 0 => Segments::OfQuads,
            _ => Segments::Other,
        }
    }
}
