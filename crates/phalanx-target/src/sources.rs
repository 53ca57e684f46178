//! Sources of divergence, and which of them vary among which threads.
//!
//! # What
//!
//! Two threads that execute the same instruction together may hold different values for many reasons: they have
//! another `x` in the workgroup, they run in another wave, an atomic handed each its own old value. Each reason is a
//! *source*. The divergence of a value is the [`SourceSet`] of all sources it depends on:
//!
//! > Two threads that are converged at an instance of the value, and that agree on every source in the set, hold
//! > equal values.
//!
//! The empty set is a launch constant. The lattice is the three-bit one of Kong (*Variance Analysis on SSA-based
//! Intermediate Representation*, 2009: `X = 1`, `Y = 2`, `Z = 4`, join is bitwise or) with more coordinates and three
//! *opaque* sources, which say "unknown, but equal within" a thread, a wave or a workgroup.
//!
//! # Scopes
//!
//! Whether a value is uniform is a question about a set of threads, a [`Scope`]:
//! `uniform(v, scope)  <=>  sources(v) & varying(scope, facts) == {}`, where [`varying`] lists the sources that can
//! differ between two threads of one wave, workgroup, cluster or grid. What is known of the launch ([`LaunchFacts`])
//! only ever removes sources from that list.
//!
//! # Invariants
//!
//! * [`varying`] is monotone in the scope and antitone in the facts: more threads or fewer facts never remove a source.
//! * [`SourceSet::OPAQUE_THREAD`] varies at every scope that has two threads, so "unknown" is `{thread}` alone.

use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Sub};

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
    /// Unknown, may differ between any two threads: results of atomics and of unknown calls, racy loads.
    pub const OPAQUE_THREAD: SourceSet = SourceSet(1 << 9);
    /// Unknown, but equal within a wave: ballots, broadcasts, clocks.
    pub const OPAQUE_WAVE: SourceSet = SourceSet(1 << 10);
    /// Unknown, but equal within a workgroup: processor ids, barrier reductions.
    pub const OPAQUE_GROUP: SourceSet = SourceSet(1 << 11);
    /// Every source.
    pub const ALL: SourceSet = SourceSet((1 << 12) - 1);

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
const NAMES: [&str; 12] = [
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
    pub const ALL: [Scope; 4] = [Scope::Wave, Scope::Workgroup, Scope::Cluster, Scope::Grid];

    /// The scope's name, lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
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

/// What is known of the number of threads along one dimension. Extents are at least one; a bound of zero says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Extent {
    /// Nothing is known.
    #[default]
    Unknown,
    /// A bound from above: `nvvm.maxntid`.
    AtMost(u32),
    /// The extent itself: `reqd_work_group_size`, `nvvm.reqntid`.
    Exactly(u32),
}

impl Extent {
    /// A number that divides the extent, and is therefore a bound from below.
    const fn divisor(self) -> u32 {
        match self {
            Extent::Exactly(n) if n > 0 => n,
            _ => 1,
        }
    }

    /// What holds of both.
    fn join(self, other: Extent) -> Extent {
        match (self, other) {
            (a, b) if a == b => a,
            (Extent::Unknown, _) | (_, Extent::Unknown) => Extent::Unknown,
            (a, b) => Extent::AtMost(a.max().max(b.max())),
        }
    }

    /// A bound from above.
    const fn max(self) -> u32 {
        match self {
            Extent::Exactly(n) | Extent::AtMost(n) if n > 0 => n,
            _ => u32::MAX,
        }
    }
}

/// What is known of every launch of a kernel. The default knows nothing.
///
/// Threads of a workgroup are numbered `x + dx * (y + dy * z)` and, when [`wave_width`](Self::wave_width) is known, cut
/// into waves of that many consecutive numbers. Waves run across rows: with `dx = 48` and waves of 32, the second wave
/// holds the end of row 0 and the start of row 1. The last wave may be short.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct LaunchFacts {
    /// Threads along `x`, `y`, `z` of a workgroup, as declared.
    pub workgroup_size: [Extent; 3],
    /// A bound on the product of the three extents: `amdgpu-flat-work-group-size`, `nvvm.maxntid` products.
    pub max_flat_workgroup_size: Option<u32>,
    /// All workgroups have the declared size: always so in CUDA and HIP; `uniform-work-group-size`="true" in OpenCL.
    /// Otherwise those at the edge of the grid may be smaller, and a declared exact extent is only a bound.
    pub uniform_work_group_size: bool,
    /// Threads per wave, on a target that packs threads into waves by their linear number. Leave it out for targets
    /// that choose their own packing (SPIR-V subgroups).
    pub wave_width: Option<u32>,
    /// A bound on the number of workgroups in a cluster. `Some(1)` where the target or launch has no clusters.
    pub max_cluster_size: Option<u32>,
    /// Workgroups along `x`, `y`, `z` of a cluster: `nvvm.cluster_dim`.
    pub cluster_size: [Extent; 3],
}

/// What a driver knows of the launches of a function that the module does not say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct LaunchStatement {
    /// Threads along `x`, `y`, `z` of every workgroup, also of those at the edge of the grid.
    pub workgroup_size: Option<[u32; 3]>,
    /// Threads per wave.
    pub wave_width: Option<u32>,
    /// Workgroups along `x`, `y`, `z` of every cluster.
    pub cluster_size: Option<[u32; 3]>,
}

impl LaunchStatement {
    /// What this says differently from what is known already, if anything: both cannot be true.
    #[must_use]
    pub fn contradiction(&self, facts: &LaunchFacts) -> Option<String> {
        if let Some(size) = self.workgroup_size {
            let names = ["x", "y", "z"];
            for (dim, (&stated, name)) in size.iter().zip(names).enumerate() {
                let known = facts.workgroup_size[dim];
                let fits = match known {
                    Extent::Exactly(n) => n == stated,
                    _ => stated <= facts.max_extent(dim) && stated.is_multiple_of(known.divisor()),
                };
                if stated == 0 || !fits {
                    return Some(format!(
                        "{stated} threads along {name}: the module says {known:?}"
                    ));
                }
            }
            let product = size.iter().map(|&n| u64::from(n)).product::<u64>();
            if let Some(bound) = facts.max_flat_workgroup_size
                && product > u64::from(bound)
            {
                return Some(format!("{product} threads: the module says at most {bound}"));
            }
        }
        if let Some(size) = self.cluster_size {
            let fits = |(dim, &stated): (usize, &u32)| match facts.cluster_size[dim] {
                Extent::Exactly(n) => n == stated,
                known => stated <= known.max(),
            };
            let product = size.iter().map(|&n| u64::from(n)).product::<u64>();
            let bound = facts.max_cluster_size.map_or(u64::MAX, u64::from);
            if product == 0 || product > bound || !size.iter().enumerate().all(fits) {
                return Some(format!(
                    "clusters of {product} workgroups: the module says otherwise"
                ));
            }
        }
        match (self.wave_width, facts.wave_width) {
            (Some(0), _) => Some("waves of no threads".into()),
            (Some(stated), Some(known)) if stated != known => {
                Some(format!("waves of {stated} threads: the processor has {known}"))
            }
            _ => None,
        }
    }

    /// The facts with what this says.
    #[must_use]
    pub fn over(&self, mut facts: LaunchFacts) -> LaunchFacts {
        if let Some(size) = self.workgroup_size {
            facts.workgroup_size = size.map(Extent::Exactly);
            facts.uniform_work_group_size = true;
        }
        if let Some(size) = self.cluster_size {
            facts.cluster_size = size.map(Extent::Exactly);
        }
        facts.wave_width = self.wave_width.or(facts.wave_width);
        facts
    }
}

impl LaunchFacts {
    /// Facts for workgroups of exactly `x * y * z` threads in waves of `wave_width`.
    #[must_use]
    pub const fn exact(x: u32, y: u32, z: u32, wave_width: u32) -> LaunchFacts {
        LaunchFacts {
            workgroup_size: [Extent::Exactly(x), Extent::Exactly(y), Extent::Exactly(z)],
            max_flat_workgroup_size: None,
            uniform_work_group_size: true,
            wave_width: Some(wave_width),
            max_cluster_size: None,
            cluster_size: [Extent::Unknown; 3],
        }
    }

    /// What holds of launches that one of the two describes: for a function that is reached from several kernels.
    #[must_use]
    pub fn join(&self, other: &LaunchFacts) -> LaunchFacts {
        let of = |dim: usize| self.workgroup_size[dim].join(other.workgroup_size[dim]);
        let bound = |facts: &LaunchFacts| facts.max_threads().and_then(|n| u32::try_from(n).ok());
        let larger = |a: Option<u32>, b: Option<u32>| Some(a?.max(b?));
        let cluster = |dim: usize| self.cluster_size[dim].join(other.cluster_size[dim]);
        LaunchFacts {
            workgroup_size: std::array::from_fn(of),
            max_flat_workgroup_size: larger(bound(self), bound(other)),
            uniform_work_group_size: self.uniform_work_group_size && other.uniform_work_group_size,
            wave_width: self.wave_width.filter(|_| self.wave_width == other.wave_width),
            max_cluster_size: larger(self.max_workgroups(), other.max_workgroups()),
            cluster_size: std::array::from_fn(cluster),
        }
    }

    /// What holds of launches that both describe, as far as it can be said: `self` where both say how large workgroups are.
    #[must_use]
    pub fn meet(&self, other: &LaunchFacts) -> LaunchFacts {
        let is_unknown = |size: &[Extent; 3]| size.iter().all(|e| *e == Extent::Unknown);
        let smaller = |a: Option<u32>, b: Option<u32>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let size = if is_unknown(&self.workgroup_size) { other } else { self };
        let cluster = if is_unknown(&self.cluster_size) { other } else { self };
        LaunchFacts {
            workgroup_size: size.workgroup_size,
            max_flat_workgroup_size: smaller(
                self.max_flat_workgroup_size.filter(|n| *n > 0),
                other.max_flat_workgroup_size.filter(|n| *n > 0),
            ),
            uniform_work_group_size: size.uniform_work_group_size,
            wave_width: self.wave_width.or(other.wave_width),
            max_cluster_size: smaller(self.max_cluster_size, other.max_cluster_size),
            cluster_size: cluster.cluster_size,
        }
    }

    /// A bound from above on the workgroups of a cluster along `dim`.
    #[must_use]
    pub fn max_cluster_extent(&self, dim: usize) -> u32 {
        let bound = self.max_cluster_size.filter(|n| *n > 0).unwrap_or(u32::MAX);
        self.cluster_size[dim].max().min(bound)
    }

    /// A bound from above on the workgroups of a cluster.
    #[must_use]
    pub fn max_workgroups(&self) -> Option<u32> {
        let product = (0..3)
            .map(|dim| self.cluster_size[dim].max())
            .try_fold(1u32, u32::checked_mul)
            .filter(|_| (0..3).all(|dim| self.cluster_size[dim].max() != u32::MAX));
        let bound = self.max_cluster_size.filter(|n| *n > 0);
        match (product, bound) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Whether the extent along `dim` (0, 1, 2 for x, y, z) can be larger than one.
    #[must_use]
    pub fn extent_can_exceed_one(&self, dim: usize) -> bool {
        self.max_extent(dim) > 1
    }

    /// A number that divides the extent along `dim` in every workgroup (1 when nothing better is known).
    #[must_use]
    pub fn extent_divisor(&self, dim: usize) -> u32 {
        if self.uniform_work_group_size { self.workgroup_size[dim].divisor() } else { 1 }
    }

    /// A bound from above on the extent along `dim`; `u32::MAX` when there is none.
    #[must_use]
    pub fn max_extent(&self, dim: usize) -> u32 {
        let declared = self.workgroup_size[dim].max();
        let Some(flat) = self.max_flat_workgroup_size.filter(|flat| *flat > 0) else {
            return declared;
        };
        // The other extents are at least their divisors, which leaves this much of the product. Facts that contradict
        // each other describe no launch; the flat bound is ignored then.
        let others: u64 = (0..3)
            .filter(|other| *other != dim)
            .map(|d| u64::from(self.extent_divisor(d)))
            .product();
        match u32::try_from(u64::from(flat) / others) {
            Ok(0) | Err(_) => declared,
            Ok(left) => declared.min(left),
        }
    }

    /// A bound from above on the number of threads in a workgroup; `None` when there is none that fits 64 bits.
    #[must_use]
    pub fn max_threads(&self) -> Option<u64> {
        let product = (0..3)
            .map(|dim| u64::from(self.max_extent(dim)))
            .try_fold(1u64, u64::checked_mul)
            .filter(|_| (0..3).all(|dim| self.max_extent(dim) != u32::MAX));
        let flat = self.max_flat_workgroup_size.filter(|flat| *flat > 0).map(u64::from);
        match (product, flat) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

/// The sources that can differ between two threads of one `scope`, in some launch that agrees with `facts`.
///
/// | scope | varies |
/// |---|---|
/// | wave | `x` if `dx > 1`; `y` if `dy > 1`, unless `dx` is a multiple of the wave width; `z` if `dz > 1`, unless `dx * dy` is such a multiple; `lane`; `opaque.thread` |
/// | workgroup | `x`, `y`, `z` of extent above one; `lane`; `wave`; `opaque.thread`, `opaque.wave` |
/// | cluster | as workgroup, and `block.x`, `block.y`, `block.z` where the cluster is longer than one; `cluster`, `opaque.group` |
/// | grid | as cluster, and all of `block.x`, `block.y`, `block.z` |
///
/// and degenerate launches have less: there is one lane when workgroups have one thread or waves are one wide, and one
/// wave when a workgroup fits in it; then `opaque.wave` cannot differ within the workgroup either. A cluster of one
/// workgroup is a workgroup.
///
/// Why `y` needs only a multiple: in the linear order `y` changes exactly between `k * dx - 1` and `k * dx`, so it is
/// constant within waves if all those places are wave boundaries; the place `k = 1` exists when `dy > 1`. Likewise `z`.
#[must_use]
pub fn varying(scope: Scope, facts: &LaunchFacts) -> SourceSet {
    let scope = match scope {
        Scope::Cluster if facts.max_workgroups() == Some(1) => Scope::Workgroup,
        other => other,
    };
    let width = facts.wave_width.filter(|width| *width > 0);
    let one_thread = facts.max_threads() == Some(1);
    let one_lane = one_thread || width == Some(1);
    let one_wave = match (facts.max_threads(), width) {
        (Some(threads), Some(width)) => threads <= u64::from(width),
        _ => one_thread,
    };

    let mut set = SourceSet::EMPTY;
    for (dim, source) in [SourceSet::X, SourceSet::Y, SourceSet::Z].into_iter().enumerate() {
        if facts.extent_can_exceed_one(dim) {
            set |= source;
        }
    }
    if !one_lane {
        set |= SourceSet::LANE;
    }

    if scope == Scope::Wave {
        if one_lane {
            return SourceSet::EMPTY;
        }
        if let Some(width) = width {
            let width = u64::from(width);
            let row = u64::from(facts.extent_divisor(0));
            let plane = row * u64::from(facts.extent_divisor(1));
            if row.is_multiple_of(width) {
                set = set - SourceSet::Y;
            }
            if plane.is_multiple_of(width) {
                set = set - SourceSet::Z;
            }
        }
        return set | SourceSet::OPAQUE_THREAD;
    }

    if !one_wave {
        set |= SourceSet::WAVE;
    }
    if scope == Scope::Workgroup {
        if !one_thread {
            set |= SourceSet::OPAQUE_THREAD;
        }
        if !one_wave {
            set |= SourceSet::OPAQUE_WAVE;
        }
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
        | SourceSet::OPAQUE_WAVE
        | SourceSet::OPAQUE_GROUP
}

#[cfg(test)]
mod tests;
