//! Rules that derive the sources of a call's result from the sources of its operands.
//!
//! # What
//!
//! Divergence analysis computes a [`SourceSet`] per value. For most instructions the set of the
//! result is the union of the sets of the operands. Operations that read thread coordinates,
//! exchange values between the lanes of a wave or touch memory need more; a [`Transfer`] describes
//! each of them as data, and [`Transfer::evaluate`] applies it.
//!
//! # Rules
//!
//! Let `V` be the sources that vary within a wave, `Q` those that vary within a quad. Three
//! operators on operand sets express the rules:
//!
//! * `collapse(s)`: a function of the values of *all* lanes. If `s & V` is empty, all lanes hold
//!   the same value and the result depends on `s`; otherwise every lane gets the same unknown
//!   value: `(s - V) | {opaque.wave}`.
//! * `agree(s)`: the same within a quad: sources in `Q` become `{opaque.quad}`.
//! * `spoil(s)`: lanes with different operands do different things. If `s & V` is empty, the result
//!   is `s`. Sources that vary only between quads leave the lanes of a quad alike: they become
//!   `{opaque.wave, opaque.quad}`. If a source varies within a quad, nothing is known.
//!
//! ```text
//! x varies within a wave, block.x does not:
//!
//! collapse({x, block.x}) = {block.x, opaque.wave}        collapse({block.x}) = {block.x}
//! ```
//!
//! All distribute over union (a source in `V` or `Q` maps to the opaque source, any other to
//! itself), which keeps the whole analysis a graph reachability problem per source. The one
//! exception is a shuffle by lane number, whose result is uniform if the data *or* the lane number
//! is uniform. It is monotone, which is what a fixpoint needs.
//!
//! # Assumptions
//!
//! * Convergent operations are executed together by the threads that are converged at them, as
//!   LLVM's document *Convergence And Uniformity* defines it, within one wave.
//! * There is no undefined behaviour: a lane number given to a readlane is uniform, a PTX member
//!   mask names exactly the lanes that take part, and lanes outside it are not read.
//! * Buffer descriptors and texture handles do not add the thread's number to the address by
//!   themselves.
//!
//! Sources for the meaning of the operations: the ISA documents of the targets (RDNA and CDNA
//! instruction sets; PTX ISA). If they leave a doubt, the rule is [`SourceSet::OPAQUE_THREAD`].

pub use self::lanes::Pattern;
use self::lanes::{Moves, Segments};
use crate::launch::LaunchFacts;
use crate::sources::{Scope, SourceSet, varying};

mod lanes;

/// The operands of one call, as far as evaluation needs them.
pub trait Operands {
    /// Number of operands; indices below it are valid.
    fn count(&self) -> usize;
    /// The sources of operand `index`.
    fn sources(&self, index: usize) -> SourceSet;
    /// The value of operand `index` when it is an integer constant of at most 64 bits,
    /// zero-extended.
    fn constant(&self, index: usize) -> Option<u64>;
    /// Whether operand `index` is a pointer that can address memory private to each thread: `true`
    /// unless the address space or an analysis excludes it.
    fn may_be_private(&self, index: usize) -> bool;
}

/// One operand, for callers that have them in a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// See [`Operands::sources`].
    pub sources: SourceSet,
    /// See [`Operands::constant`].
    pub constant: Option<u64>,
    /// See [`Operands::may_be_private`].
    pub may_be_private: bool,
}

impl Operand {
    /// An operand of which only the sources are known.
    #[must_use]
    pub const fn of(sources: SourceSet) -> Operand {
        Operand { sources, constant: None, may_be_private: true }
    }

    /// An integer constant.
    #[must_use]
    pub const fn constant(value: u64) -> Operand {
        Operand { sources: SourceSet::EMPTY, constant: Some(value), may_be_private: true }
    }
}

impl Operands for [Operand] {
    fn count(&self) -> usize {
        self.len()
    }
    fn sources(&self, index: usize) -> SourceSet {
        self.get(index).map_or(SourceSet::OPAQUE_THREAD, |operand| operand.sources)
    }
    fn constant(&self, index: usize) -> Option<u64> {
        self.get(index).and_then(|operand| operand.constant)
    }
    fn may_be_private(&self, index: usize) -> bool {
        self.get(index).is_none_or(|operand| operand.may_be_private)
    }
}

/// The context of a call, as far as evaluation needs it. Constant over a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferContext {
    /// The sources that vary within a wave.
    pub wave: SourceSet,
    /// The sources that vary within a quad.
    pub quad: SourceSet,
    /// The sources that vary within a workgroup.
    pub workgroup: SourceSet,
    /// Converged threads of a wave execute every instruction at the same moment. Holds on AMDGPU
    /// and on NVIDIA devices before Volta; without it two converged lanes may read a clock at
    /// different times.
    pub lockstep: bool,
    /// Every lane of the wave takes part: no inactive lane can be read. Known only in special
    /// places.
    pub all_lanes_active: bool,
    /// A wave may have 64 lanes, on a processor that permutes 32 of them at a time.
    pub halves: bool,
}

impl TransferContext {
    /// The context of a call in a kernel with the launch `facts`.
    #[must_use]
    pub fn new(facts: &LaunchFacts, lockstep: bool) -> TransferContext {
        TransferContext {
            wave: varying(Scope::Wave, facts),
            quad: varying(Scope::Quad, facts),
            workgroup: varying(Scope::Workgroup, facts),
            lockstep,
            all_lanes_active: false,
            halves: false,
        }
    }

    /// The context on a processor that [permutes](crate::Target::permuted_lanes) only 32 lanes of a
    /// wave, or may do so.
    #[must_use]
    pub fn with_halves(self, facts: &LaunchFacts) -> TransferContext {
        TransferContext { halves: facts.wave_width.is_none_or(|width| width > 32), ..self }
    }

    fn collapse(&self, sources: SourceSet) -> SourceSet {
        replace(sources, self.wave, SourceSet::OPAQUE_WAVE)
    }

    fn agree(&self, sources: SourceSet) -> SourceSet {
        replace(sources, self.quad, SourceSet::OPAQUE_QUAD)
    }

    fn spoil(&self, sources: SourceSet) -> SourceSet {
        let mut spoilt = sources - self.wave;
        if sources.intersects(self.wave - self.quad) {
            spoilt |= PER_QUAD;
        }
        if sources.intersects(self.quad) {
            spoilt |= UNKNOWN;
        }
        spoilt
    }

    /// The sources of what lanes receive, if lanes hold `data` and read as `moves` says.
    fn moved(&self, moves: Moves, data: SourceSet) -> SourceSet {
        match moves {
            Moves::Broadcast => replace(data, self.wave, SourceSet::OPAQUE_QUAD),
            Moves::Within => replace(data, self.quad, UNKNOWN),
            Moves::Quads => self.spoil(data),
        }
    }

    /// The sources of a value beyond its operands, if it depends on when it is read.
    fn moment(&self) -> SourceSet {
        if self.lockstep { SourceSet::OPAQUE_WAVE } else { UNKNOWN }
    }
}

/// Nothing is known. `opaque.thread` alone would say so; the other sources keep the rules monotone
/// where a better answer is `{opaque.wave}` or `{opaque.quad}`.
const UNKNOWN: SourceSet = SourceSet::OPAQUE_THREAD.union(PER_QUAD);

/// Nothing is known except that the lanes of a quad hold the same value.
const PER_QUAD: SourceSet = SourceSet::OPAQUE_QUAD.union(SourceSet::OPAQUE_WAVE);

/// Replaces the sources that are in `from` by `by`.
fn replace(sources: SourceSet, from: SourceSet, by: SourceSet) -> SourceSet {
    if sources.intersects(from) { (sources - from) | by } else { sources }
}

/// Which coordinate an intrinsic with a dimension operand reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coordinate {
    /// Of the thread in its workgroup.
    Thread,
    /// Of the workgroup in the grid.
    Block,
    /// Of the thread in the grid: depends on both.
    Global,
}

/// A rule that gives the sources of a result. Operand positions count from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transfer {
    /// These sources, whatever the operands are.
    Source(SourceSet),
    /// A pure function of the operands and of these sources.
    Propagate(SourceSet),
    /// The coordinate along the dimension that operand 0 names.
    Coordinate(Coordinate),
    /// A plain load. With a `pointer` operand the memory may be private to the thread
    /// ([`Operands::may_be_private`]); without one it is reached through a descriptor and is not
    /// private.
    ///
    /// If a converged wave reads one address once, its lanes get one value. Other waves read at
    /// other times, hence `opaque.wave`; a memory analysis may remove it by proving that the memory
    /// does not change.
    Load {
        /// Operand that holds the address.
        pointer: Option<u8>,
    },
    /// Depends on the operands and on *when* it executes: clocks, mode registers, volatile special
    /// registers, atomic loads. One value per wave only if lanes execute together.
    Momentary,
    /// One value for all lanes that take part, computed from the values of all: ballots, sums,
    /// readlane.
    Collective {
        /// Operand that names the lanes that take part; lanes with different masks form different
        /// groups.
        mask: Option<u8>,
    },
    /// As [`Transfer::Collective`], and when all lanes hold the same `data` the result is a
    /// function of it: any, all, minimum, maximum, readfirstlane.
    Agree {
        /// Operand that is combined.
        data: u8,
        /// See [`Transfer::Collective`].
        mask: Option<u8>,
    },
    /// The set of lanes that hold the same `data` as this one.
    Differ {
        /// Operand that is compared.
        data: u8,
        /// See [`Transfer::Collective`].
        mask: Option<u8>,
    },
    /// Each lane receives the `data` of some lane.
    Shuffle {
        /// Operand that is exchanged.
        data: u8,
        /// Operand that names the lane to read, if lanes with equal operands read the same lane.
        lane: Option<u8>,
        /// Operand that cuts the wave into segments in the PTX encoding. Equal lane numbers name
        /// the same lane only if the operand is a constant that means "one segment of 32".
        segment: Option<u8>,
        /// See [`Transfer::Collective`].
        mask: Option<u8>,
        /// An inactive lane can be read and gives something else (zero, or what its register held).
        stale: bool,
        /// Some processors exchange within each half of the wave ([`TransferContext::halves`]), so
        /// that a lane number names one lane in each.
        halves: bool,
        /// Which lane each lane reads, if constants determine it.
        pattern: Option<Pattern>,
        /// Operand whose value a lane keeps if it has no other lane to read.
        old: Option<u8>,
    },
    /// As [`Transfer::Agree`], among the lanes of each quad.
    Quad {
        /// Operand that is combined.
        data: u8,
    },
    /// One value for each cluster of lanes; a constant operand gives the cluster's size.
    Clustered {
        /// Operand that says how many lanes there are in a cluster.
        size: u8,
    },
    /// A function of the values of neighbouring lanes: derivatives, and sampling with implicit
    /// derivatives.
    Neighbours,
    /// A barrier that all threads of the workgroup execute together and that returns one value to
    /// all of them.
    BarrierReduction {
        /// Operand that names the barrier, if there are several.
        id: Option<u8>,
    },
}

impl Transfer {
    /// Nothing is known of the result.
    pub const OPAQUE: Transfer = Transfer::Source(SourceSet::OPAQUE_THREAD);
    /// The result is the same in every thread of the launch.
    pub const UNIFORM: Transfer = Transfer::Source(SourceSet::EMPTY);

    /// The sources of the result.
    ///
    /// Monotone: more sources in an operand never give fewer in the result.
    #[must_use]
    pub fn evaluate<O: Operands + ?Sized>(
        &self,
        operands: &O,
        context: &TransferContext,
    ) -> SourceSet {
        let all = || -> SourceSet { (0..operands.count()).map(|i| operands.sources(i)).collect() };
        let at = |index: u8| operands.sources(usize::from(index));
        // Lanes with another mask form another group. If all have one mask, the value does not
        // depend on it.
        let participants = |mask: Option<u8>| match mask {
            Some(mask) if at(mask).intersects(context.quad) => UNKNOWN,
            Some(mask) if at(mask).intersects(context.wave) => PER_QUAD,
            _ => SourceSet::EMPTY,
        };
        match *self {
            Transfer::Source(sources) => sources,
            Transfer::Propagate(sources) => sources | all(),
            Transfer::Coordinate(kind) => coordinate(kind, operands) | all(),
            Transfer::Load { pointer } => {
                let private = pointer.is_some_and(|p| operands.may_be_private(usize::from(p)));
                all() | if private { UNKNOWN } else { SourceSet::OPAQUE_WAVE }
            }
            Transfer::Momentary => all() | context.moment(),
            Transfer::Collective { mask } => SourceSet::OPAQUE_WAVE | participants(mask),
            Transfer::Agree { data, mask } => context.collapse(at(data)) | participants(mask),
            Transfer::Differ { data, mask } => {
                SourceSet::OPAQUE_WAVE | context.spoil(at(data)) | participants(mask)
            }
            Transfer::Shuffle { mask, .. } => self.received(operands, context) | participants(mask),
            Transfer::Quad { data } => context.agree(at(data)),
            Transfer::Clustered { size } => match operands.constant(usize::from(size)) {
                Some(lanes) if lanes > 0 && lanes.is_multiple_of(4) => SourceSet::OPAQUE_QUAD,
                _ => UNKNOWN,
            },
            Transfer::Neighbours => SourceSet::OPAQUE_WAVE | context.spoil(all()),
            Transfer::BarrierReduction { id } => {
                let named = id.map_or(SourceSet::EMPTY, at);
                SourceSet::OPAQUE_GROUP | replace(named, context.workgroup, UNKNOWN)
            }
        }
    }

    /// The sources of what lanes receive from each other in a shuffle, regardless of the mask.
    fn received<O: Operands + ?Sized>(&self, operands: &O, context: &TransferContext) -> SourceSet {
        let Transfer::Shuffle { data, lane, segment, stale, halves, pattern, old, .. } = *self
        else {
            return UNKNOWN;
        };
        let at = |index: u8| operands.sources(usize::from(index));
        let old = old.filter(|_| pattern.is_none_or(|pattern| pattern.may_keep(operands)));
        let (data, kept) = (at(data), old.map_or(SourceSet::EMPTY, at));
        let may_be_stale = stale && !context.all_lanes_active;
        let moves = pattern.and_then(|pattern| pattern.moves(operands));
        // Each lane reads an existing lane, and all lanes hold the same value.
        let always_reads = match pattern {
            None => true,
            Some(pattern) => !pattern.may_skip(operands),
        };
        if !data.intersects(context.wave) && !may_be_stale && always_reads {
            return data;
        }
        let of_wave = context.collapse(data) | SourceSet::OPAQUE_WAVE;
        let segments = segment.map_or(Segments::Whole, |at| Segments::of(operands, at));
        match (moves, lane) {
            // If the lanes of a quad read one lane, that lane is active for all of them or for
            // none. Otherwise each may differ.
            (Some(moves), _) if !may_be_stale || moves == Moves::Broadcast => {
                kept | SourceSet::OPAQUE_QUAD | context.moved(moves, data)
            }
            (None, Some(lane)) => match segments {
                Segments::Whole if !halves || !context.halves => {
                    kept | of_wave | context.spoil(at(lane))
                }
                Segments::Whole | Segments::OfQuads => {
                    kept | of_wave | PER_QUAD | context.spoil(at(lane))
                }
                Segments::Other => kept | of_wave | UNKNOWN,
            },
            _ => kept | of_wave | UNKNOWN,
        }
    }

    /// The sources of the rule when there are no operands; a coordinate is then that of all
    /// dimensions.
    #[must_use]
    pub fn built_in(&self) -> SourceSet {
        match *self {
            Transfer::Source(sources) | Transfer::Propagate(sources) => sources,
            Transfer::Coordinate(kind) => along(kind, None),
            _ => UNKNOWN,
        }
    }

    /// Whether the result is a function of the operands and of *which* thread executes the call.
    /// Then the same call with the same operands gives a thread the same value whenever it is
    /// executed, and is invariant in a loop if its operands are. Memory effects are a separate
    /// question.
    #[must_use]
    pub const fn is_timeless(&self) -> bool {
        match self {
            Transfer::Propagate(_) | Transfer::Coordinate(_) => true,
            Transfer::Source(sources) => !sources.intersects(
                SourceSet::OPAQUE_THREAD
                    .union(SourceSet::OPAQUE_QUAD)
                    .union(SourceSet::OPAQUE_WAVE)
                    .union(SourceSet::OPAQUE_GROUP),
            ),
            _ => false,
        }
    }
}

/// The sources of a coordinate; of all three dimensions if the operand is not a constant that names
/// one.
fn coordinate<O: Operands + ?Sized>(kind: Coordinate, operands: &O) -> SourceSet {
    along(kind, operands.constant(0))
}

fn along(kind: Coordinate, dimension: Option<u64>) -> SourceSet {
    let (thread, block) = match dimension {
        Some(0) => (SourceSet::X, SourceSet::BLOCK_X),
        Some(1) => (SourceSet::Y, SourceSet::BLOCK_Y),
        Some(2) => (SourceSet::Z, SourceSet::BLOCK_Z),
        _ => (SourceSet::THREAD_XYZ, SourceSet::BLOCK_XYZ),
    };
    match kind {
        Coordinate::Thread => thread,
        Coordinate::Block => block,
        Coordinate::Global => thread | block,
    }
}

#[cfg(test)]
mod tests;
