//! Sources of divergence, and which of them vary among which threads.
//!
//! # What
//!
//! Two threads that execute the same instruction together may hold different values for many
//! reasons: they have another `x` in the workgroup, they run in another wave, an atomic handed each
//! its own old value. Each reason is a *source*. The divergence of a value is the [`SourceSet`] of
//! all sources it depends on:
//!
//! > Two threads that are converged at an instance of the value, and that agree on every source in
//! > the set, hold equal values.
//!
//! The empty set is a launch constant. The lattice is the three-bit one of Kong (*Variance Analysis
//! on SSA-based Intermediate Representation*, 2009: `X = 1`, `Y = 2`, `Z = 4`, join is bitwise or)
//! with more coordinates and four *opaque* sources, which say "unknown, but equal within" a thread,
//! a quad, a wave or a workgroup.
//!
//! # Scopes
//!
//! Whether a value is uniform is a question about a set of threads, a [`Scope`]:
//! `uniform(v, scope)  <=>  sources(v) & varying(scope, facts) == {}`, where [`varying`] lists the
//! sources that can differ between two threads of one quad, wave, workgroup, cluster or grid. What
//! is known of the launch ([`LaunchFacts`]) only ever removes sources from that list.
//!
//! # Invariants
//!
//! * [`varying`] is monotone in the scope and antitone in the facts: more threads or fewer facts
//!   never remove a source.
//! * [`SourceSet::OPAQUE_THREAD`] varies at every scope that has two threads, so "unknown" is
//!   `{thread}` alone.

use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Sub};

use crate::launch::{LaunchFacts, QuadLayout};

/// A set of sources of divergence. See the [module documentation](self).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SourceSet(u16);

impl SourceSet {
    /// No source: equal in every thread of the launch.
    pub const EMPTY: SourceSet = SourceSet(0);
    /// The thread's `x` coordinate in its workgroup.
    pub const X: SourceSet = SourceSet(1 << 0);
    /// The thread's `y` coordinate in its workgroup.
    pub const Y: SourceSet = SourceSet(1 << 1);
    /// The thread's `z` coordinate in its workgroup.
    pub const Z: SourceSet = SourceSet(1 << 2);
    /// The thread's number in its wave, and what follows from it alone (lane masks).
    pub const LANE: SourceSet = SourceSet(1 << 3);
    /// The wave's number in its workgroup.
    pub const WAVE: SourceSet = SourceSet(1 << 4);
    /// The workgroup's `x` coordinate in the grid.
    pub const BLOCK_X: SourceSet = SourceSet(1 << 5);
    /// The workgroup's `y` coordinate in the grid.
    pub const BLOCK_Y: SourceSet = SourceSet(1 << 6);
    /// The workgroup's `z` coordinate in the grid.
    pub const BLOCK_Z: SourceSet = SourceSet(1 << 7);
    /// The workgroup's rank in its cluster.
    pub const CLUSTER: SourceSet = SourceSet(1 << 8);
    /// Unknown, may differ between any two threads: results of atomics and of unknown calls, racy
    /// loads.
    pub const OPAQUE_THREAD: SourceSet = SourceSet(1 << 9);
    /// Unknown, but equal within a wave: ballots, broadcasts, clocks.
    pub const OPAQUE_WAVE: SourceSet = SourceSet(1 << 10);
    /// Unknown, but equal within a workgroup: processor ids, barrier reductions.
    pub const OPAQUE_GROUP: SourceSet = SourceSet(1 << 11);
    /// The quad's number in its wave: the thread's lane number, divided by four.
    pub const QUAD: SourceSet = SourceSet(1 << 12);
    /// Unknown, but equal within a quad: what its lanes agree on, or one of them holds.
    pub const OPAQUE_QUAD: SourceSet = SourceSet(1 << 13);
    /// Every source.
    pub const ALL: SourceSet = SourceSet((1 << 14) - 1);

    /// The three thread coordinates.
    pub const THREAD_XYZ: SourceSet = SourceSet(0b111);
    /// The three workgroup coordinates.
    pub const BLOCK_XYZ: SourceSet = SourceSet(0b111 << 5);

    /// Number of distinct sources.
    pub const COUNT: usize = NAMES.len();

    /// The set with these bits; bits that name no source are dropped.
    #[must_use]
    pub const fn from_bits(bits: u16) -> SourceSet {
        SourceSet(bits & SourceSet::ALL.0)
    }

    /// The set as bits, stable across runs.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether there is no source in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Number of sources in the set.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether every source of `other` is in the set.
    #[must_use]
    pub const fn contains(self, other: SourceSet) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the sets share a source.
    #[must_use]
    pub const fn intersects(self, other: SourceSet) -> bool {
        self.0 & other.0 != 0
    }

    /// Sources in either set. The `const` form of `|`.
    #[must_use]
    pub const fn union(self, other: SourceSet) -> SourceSet {
        SourceSet(self.0 | other.0)
    }

    /// Sources in both sets. The `const` form of `&`.
    #[must_use]
    pub const fn intersection(self, other: SourceSet) -> SourceSet {
        SourceSet(self.0 & other.0)
    }

    /// Sources of `self` that are not in `other`. The `const` form of `-`.
    #[must_use]
    pub const fn difference(self, other: SourceSet) -> SourceSet {
        SourceSet(self.0 & !other.0)
    }

    /// The sources one by one, as sets of one element, in order of their bits.
    pub fn iter(self) -> impl Iterator<Item = SourceSet> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest & rest.wrapping_neg();
                rest ^= bit;
                SourceSet(bit)
            })
        })
    }

    /// Name of the source, when the set has exactly one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        (self.len() == 1).then(|| NAMES[self.0.trailing_zeros() as usize])
    }

    /// The source called `name`; inverse of [`SourceSet::name`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<SourceSet> {
        let bit = NAMES.iter().position(|candidate| *candidate == name)?;
        Some(SourceSet(1 << bit))
    }
}

/// Names of the sources by bit number.
const NAMES: [&str; 14] = [
    "x",
    "y",
    "z",
    "lane",
    "wave",
    "block.x",
    "block.y",
    "block.z",
    "cluster",
    "opaque.thread",
    "opaque.wave",
    "opaque.group",
    "quad",
    "opaque.quad",
];

impl fmt::Display for SourceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (i, source) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            f.write_str(source.name().unwrap_or("?"))?;
        }
        f.write_str("}")
    }
}

impl fmt::Debug for SourceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl BitOr for SourceSet {
    type Output = SourceSet;
    fn bitor(self, other: SourceSet) -> SourceSet {
        self.union(other)
    }
}

impl BitOrAssign for SourceSet {
    fn bitor_assign(&mut self, other: SourceSet) {
        self.0 |= other.0;
    }
}

impl BitAnd for SourceSet {
    type Output = SourceSet;
    fn bitand(self, other: SourceSet) -> SourceSet {
        self.intersection(other)
    }
}

impl BitAndAssign for SourceSet {
    fn bitand_assign(&mut self, other: SourceSet) {
        self.0 &= other.0;
    }
}

impl Sub for SourceSet {
    type Output = SourceSet;
    fn sub(self, other: SourceSet) -> SourceSet {
        self.difference(other)
    }
}

impl FromIterator<SourceSet> for SourceSet {
    fn from_iter<I: IntoIterator<Item = SourceSet>>(sets: I) -> SourceSet {
        sets.into_iter().fold(SourceSet::EMPTY, SourceSet::union)
    }
}

/// A set of threads among which uniformity is asked for, from the smallest to the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Four threads of a wave whose lane numbers are `4k` to `4k + 3`, among which graphics
    /// hardware takes derivatives.
    Quad,
    /// Threads that execute in lock step: a wavefront, warp or subgroup.
    Wave,
    /// Threads that can meet at a barrier: a workgroup or thread block.
    Workgroup,
    /// Workgroups that run at the same time and see each other's shared memory.
    Cluster,
    /// All threads of a launch.
    Grid,
}

impl Scope {
    /// Every scope, smallest first.
    pub const ALL: [Scope; 5] =
        [Scope::Quad, Scope::Wave, Scope::Workgroup, Scope::Cluster, Scope::Grid];

    /// The scope's name, lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Quad => "quad",
            Scope::Wave => "wave",
            Scope::Workgroup => "workgroup",
            Scope::Cluster => "cluster",
            Scope::Grid => "grid",
        }
    }

    /// The scope called `name`; inverse of [`Scope::name`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The sources that can differ between two threads of one `scope`, in some launch that agrees with
/// `facts`.
///
/// | scope | varies |
/// |---|---|
/// | quad | as wave, without `quad` and `opaque.quad`; `y` and `z` unless rows and planes end where quads do |
/// | wave | `x` if `dx > 1`; `y` if `dy > 1`, unless `dx` is a multiple of the wave width; `z` if `dz > 1`, unless `dx * dy` is such a multiple; `lane`, `quad`; `opaque.thread`, `opaque.quad` |
/// | workgroup | `x`, `y`, `z` of extent above one; `lane`, `quad`; `wave`; `opaque.thread`, `opaque.quad`, `opaque.wave` |
/// | cluster | as workgroup, and `block.x`, `block.y`, `block.z` where the cluster is longer than one; `cluster`, `opaque.group` |
/// | grid | as cluster, and all of `block.x`, `block.y`, `block.z` |
///
/// and degenerate launches have less: there is one lane when workgroups have one thread or waves
/// are one wide, one quad in a wave when either has at most four threads, and one wave when a
/// workgroup fits in it; then
/// `opaque.wave` cannot differ within the workgroup either. A cluster of one workgroup is a
/// workgroup.
///
/// Why `y` needs only a multiple: in the linear order `y` changes exactly between `k * dx - 1` and
/// `k * dx`, so it is constant within waves if all those places are wave boundaries; the place
/// `k = 1` exists when `dy > 1`. Likewise `z`. Quads end at all multiples of four if the wave width
/// is one, so `dx` has to be a multiple of four only. Quads that are [squares](QuadLayout::Square)
/// have threads of two rows and of one plane.
#[must_use]
pub fn varying(scope: Scope, facts: &LaunchFacts) -> SourceSet {
    let scope = match scope {
        Scope::Cluster if facts.max_workgroups() == Some(1) => Scope::Workgroup,
        other => other,
    };
    let shape = Shape::of(facts);
    let mut set = shape.in_wave(facts);
    match scope {
        Scope::Quad => return shape.within(scope, facts, set) - of_quads(),
        Scope::Wave => return shape.within(scope, facts, set),
        _ => {}
    }
    if !shape.one_wave {
        set |= SourceSet::WAVE | SourceSet::OPAQUE_WAVE;
        // Waves of one quad each have other ones.
        set |= SourceSet::OPAQUE_QUAD;
    }
    if !shape.one_thread {
        set |= SourceSet::OPAQUE_THREAD;
    }
    if scope == Scope::Workgroup {
        return set;
    }
    let blocks =
        [SourceSet::BLOCK_X, SourceSet::BLOCK_Y, SourceSet::BLOCK_Z].into_iter().enumerate();
    // A cluster is a box of workgroups: along an extent of one, all have the same index.
    set |= match scope {
        Scope::Cluster => {
            let longer = blocks.filter(|(dim, _)| facts.max_cluster_extent(*dim) > 1);
            longer.map(|(_, source)| source).collect()
        }
        _ => SourceSet::BLOCK_XYZ,
    };
    set | SourceSet::CLUSTER
        | SourceSet::OPAQUE_THREAD
        | SourceSet::OPAQUE_QUAD
        | SourceSet::OPAQUE_WAVE
        | SourceSet::OPAQUE_GROUP
}

/// What is equal in a quad and differs between quads.
const fn of_quads() -> SourceSet {
    SourceSet::QUAD.union(SourceSet::OPAQUE_QUAD)
}

/// How the threads of a workgroup are cut into waves and quads.
struct Shape {
    /// Threads per wave, if they are numbered in a line.
    width: Option<u32>,
    one_thread: bool,
    one_lane: bool,
    one_quad: bool,
    one_wave: bool,
}

impl Shape {
    fn of(facts: &LaunchFacts) -> Shape {
        let width = facts.linear_wave_width();
        let threads = facts.max_threads();
        let one_thread = threads == Some(1);
        let fits = |lanes: u32| threads.is_some_and(|threads| threads <= u64::from(lanes));
        Shape {
            width,
            one_thread,
            one_lane: one_thread || width == Some(1),
            one_quad: one_thread || width.is_some_and(|width| width <= 4 || fits(4)),
            one_wave: one_thread || width.is_some_and(fits),
        }
    }

    /// What may vary in a wave, as far as extents and the numbers of lanes and quads are concerned.
    fn in_wave(&self, facts: &LaunchFacts) -> SourceSet {
        let mut set = SourceSet::EMPTY;
        for (dim, source) in [SourceSet::X, SourceSet::Y, SourceSet::Z].into_iter().enumerate() {
            if facts.extent_can_exceed_one(dim) {
                set |= source;
            }
        }
        if !self.one_lane {
            set |= SourceSet::LANE;
        }
        if !self.one_quad {
            set |= of_quads();
        }
        set
    }

    /// The same without the coordinates that change only where a wave or quad ends.
    fn within(&self, scope: Scope, facts: &LaunchFacts, mut set: SourceSet) -> SourceSet {
        if self.one_lane {
            return SourceSet::EMPTY;
        }
        let is_quad = scope == Scope::Quad;
        if let Some(width) = self.width {
            // Of other widths, the quads of the second wave begin at no multiple of four.
            let step = if is_quad && width.is_multiple_of(4) { 4 } else { u64::from(width) };
            let row = u64::from(facts.extent_divisor(0));
            let plane = row * u64::from(facts.extent_divisor(1));
            if row.is_multiple_of(step) {
                set = set - SourceSet::Y;
            }
            if plane.is_multiple_of(step) {
                set = set - SourceSet::Z;
            }
        }
        if is_quad && facts.quads == QuadLayout::Square {
            set = set - SourceSet::Z;
        }
        set | SourceSet::OPAQUE_THREAD
    }
}

#[cfg(test)]
mod tests;
