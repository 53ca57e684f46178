//! What is known of launches before they happen: extents of workgroups and clusters, the width of
//! waves.
//!
//! # What
//!
//! [`LaunchFacts`] holds of *every* launch of a function; [`LaunchStatement`] is what a driver adds
//! to what the module says. Facts form a lattice by how much they say: [`join`](LaunchFacts::join)
//! holds of launches that one of two describes, [`meet`](LaunchFacts::meet) of those that both do.
//! Both go part by part: extents by [`Extent`], bounds from above by their numbers, where no bound
//! is the largest.
//!
//! # Invariants
//!
//! * What is not known says nothing: the default holds of every launch.
//! * A join is commutative and says no more than either, of extents nor of their product.

/// What is known of the number of threads along one dimension. Extents are at least one; a bound of
/// zero says nothing.
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

    /// What holds of extents that either describes.
    fn join(self, other: Extent) -> Extent {
        match (self, other) {
            (a, b) if a == b => a,
            (Extent::Unknown, _) | (_, Extent::Unknown) => Extent::Unknown,
            (a, b) => Extent::AtMost(a.max().max(b.max())),
        }
    }

    /// Why the extent cannot be this one, if it cannot. `max` is all that is known of it from
    /// above.
    fn contradiction(self, stated: u32, max: u32) -> Option<String> {
        match self {
            _ if stated == 0 => Some("there is at least one".into()),
            Extent::Exactly(n) if n > 0 => {
                (stated != n).then(|| format!("the module says exactly {n}"))
            }
            _ => (stated > max).then(|| format!("the module says at most {max}")),
        }
    }

    /// Dimension by dimension.
    fn join_all(a: [Extent; 3], b: [Extent; 3]) -> [Extent; 3] {
        std::array::from_fn(|dim| a[dim].join(b[dim]))
    }

    /// A bound from above.
    const fn max(self) -> u32 {
        match self {
            Extent::Exactly(n) | Extent::AtMost(n) if n > 0 => n,
            _ => u32::MAX,
        }
    }
}

/// A bound from above, if there is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bound<T>(Option<T>);

impl Bound<u32> {
    /// As facts have it: zero says nothing.
    fn stated(bound: Option<u32>) -> Self {
        Bound(bound.filter(|&bound| bound > 0))
    }
}

impl<T: Ord> Bound<T> {
    /// Where either holds.
    fn join(self, other: Self) -> Self {
        Bound(self.0.zip(other.0).map(|(a, b)| a.max(b)))
    }

    /// Where both hold.
    fn meet(self, other: Self) -> Self {
        match (self.0, other.0) {
            (Some(a), Some(b)) => Bound(Some(a.min(b))),
            (a, b) => Bound(a.or(b)),
        }
    }
}

/// Which threads make a quad, whose lane numbers are `4k` to `4k + 3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum QuadLayout {
    /// Four threads that follow each other in the linear order: CUDA, HIP, OpenCL, and Vulkan's
    /// `DerivativeGroupLinear`. Nothing is concluded from it where the wave width is not known.
    #[default]
    Linear,
    /// Two threads along `x` by two along `y`: Vulkan's `DerivativeGroupQuads`. Both extents are
    /// even then, and lanes do not follow the linear order.
    Square,
}

/// What is known of every launch of a kernel. The default knows nothing.
///
/// Threads of a workgroup are numbered `x + dx * (y + dy * z)` and, when
/// [`wave_width`](Self::wave_width) is known, cut into waves of that many consecutive numbers.
/// Waves run across rows: with `dx = 48` and waves of 32, the second wave holds the end of row 0
/// and the start of row 1. The last wave may be short.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct LaunchFacts {
    /// Threads along `x`, `y`, `z` of a workgroup, as declared.
    pub workgroup_size: [Extent; 3],
    /// A bound on the product of the three extents: `amdgpu-flat-work-group-size`, `nvvm.maxntid`
    /// products.
    pub max_flat_workgroup_size: Option<u32>,
    /// All workgroups have the declared size: always so in CUDA and HIP;
    /// `uniform-work-group-size`="true" in OpenCL. Otherwise those at the edge of the grid may be
    /// smaller, and a declared exact extent is only a bound.
    pub uniform_work_group_size: bool,
    /// Threads per wave, on a target that packs threads into waves by their linear number. Leave it
    /// out for targets that choose their own packing (SPIR-V subgroups).
    pub wave_width: Option<u32>,
    /// A bound on the number of workgroups in a cluster. `Some(1)` where the target or launch has
    /// no clusters.
    pub max_cluster_size: Option<u32>,
    /// Workgroups along `x`, `y`, `z` of a cluster: `nvvm.cluster_dim`.
    pub cluster_size: [Extent; 3],
    /// Which threads make a quad. With [`QuadLayout::Square`] nothing is concluded from the wave
    /// width.
    pub quads: QuadLayout,
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

const DIMENSIONS: [&str; 3] = ["x", "y", "z"];

/// The number that extents make, and that it is beyond a bound, if it is.
fn beyond(size: [u32; 3], bound: Option<u32>) -> Option<String> {
    let product = size.iter().map(|&n| u128::from(n)).product::<u128>();
    let bound = Bound::stated(bound).0.filter(|&bound| product > u128::from(bound))?;
    Some(format!("{product}: the module says at most {bound}"))
}

impl LaunchStatement {
    /// What this says differently from what is known already, if anything: both cannot be true.
    #[must_use]
    pub fn contradiction(&self, facts: &LaunchFacts) -> Option<String> {
        if let Some(size) = self.workgroup_size {
            for (dim, (&stated, name)) in size.iter().zip(DIMENSIONS).enumerate() {
                let what = || format!("{stated} threads of a workgroup along {name}");
                let (known, max) = (facts.workgroup_size[dim], facts.max_extent(dim));
                if let Some(why) = known.contradiction(stated, max) {
                    return Some(format!("{}: {why}", what()));
                }
            }
            if let Some(why) = beyond(size, facts.max_flat_workgroup_size) {
                return Some(format!("workgroups of {why}"));
            }
        }
        if let Some(size) = self.cluster_size {
            for (dim, (&stated, name)) in size.iter().zip(DIMENSIONS).enumerate() {
                let what = || format!("{stated} workgroups of a cluster along {name}");
                let known = facts.cluster_size[dim];
                if let Some(why) = known.contradiction(stated, known.max()) {
                    return Some(format!("{}: {why}", what()));
                }
            }
            if let Some(why) = beyond(size, facts.max_cluster_size) {
                return Some(format!("clusters of {why}"));
            }
        }
        match (self.wave_width, facts.wave_width) {
            (Some(0), _) => Some("waves of no threads".into()),
            (Some(stated), Some(known)) if stated != known => {
                Some(format!("waves of {stated}: the module is compiled for waves of {known}"))
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
            quads: QuadLayout::Linear,
        }
    }

    /// Threads per wave, where waves are consecutive numbers of the linear order.
    #[must_use]
    pub fn linear_wave_width(&self) -> Option<u32> {
        self.wave_width.filter(|&width| width > 0 && self.quads == QuadLayout::Linear)
    }

    /// What holds of launches that one of the two describes: for a function that is reached from
    /// several kernels.
    #[must_use]
    pub fn join(&self, other: &LaunchFacts) -> LaunchFacts {
        let threads = |facts: &LaunchFacts| {
            Bound(facts.max_threads().and_then(|threads| u32::try_from(threads).ok()))
        };
        let groups = |facts: &LaunchFacts| Bound(facts.max_workgroups());
        LaunchFacts {
            workgroup_size: Extent::join_all(self.workgroup_size, other.workgroup_size),
            max_flat_workgroup_size: threads(self).join(threads(other)).0,
            uniform_work_group_size: self.uniform_work_group_size && other.uniform_work_group_size,
            wave_width: self
                .wave_width
                .filter(|_| self.wave_width == other.wave_width && self.quads == other.quads),
            max_cluster_size: groups(self).join(groups(other)).0,
            cluster_size: Extent::join_all(self.cluster_size, other.cluster_size),
            quads: if self.quads == other.quads { self.quads } else { QuadLayout::Linear },
        }
    }

    /// What holds of launches that both describe, as far as it can be said: `self` where both say
    /// how large workgroups are.
    #[must_use]
    pub fn meet(&self, other: &LaunchFacts) -> LaunchFacts {
        let is_unknown = |size: &[Extent; 3]| size.iter().all(|e| *e == Extent::Unknown);
        let size = if is_unknown(&self.workgroup_size) { other } else { self };
        let cluster = if is_unknown(&self.cluster_size) { other } else { self };
        let threads = |facts: &LaunchFacts| Bound::stated(facts.max_flat_workgroup_size);
        let groups = |facts: &LaunchFacts| Bound::stated(facts.max_cluster_size);
        LaunchFacts {
            workgroup_size: size.workgroup_size,
            max_flat_workgroup_size: threads(self).meet(threads(other)).0,
            uniform_work_group_size: size.uniform_work_group_size,
            wave_width: self.wave_width.or(other.wave_width),
            max_cluster_size: groups(self).meet(groups(other)).0,
            cluster_size: cluster.cluster_size,
            quads: if self.quads == QuadLayout::Square { self.quads } else { other.quads },
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
        Bound(product).meet(Bound::stated(self.max_cluster_size)).0
    }

    /// Whether the extent along `dim` (0, 1, 2 for x, y, z) can be larger than one.
    #[must_use]
    pub fn extent_can_exceed_one(&self, dim: usize) -> bool {
        self.max_extent(dim) > 1
    }

    /// A number that divides the extent along `dim` in every workgroup (1 when nothing better is
    /// known).
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
        // The other extents are at least their divisors, which leaves this much of the product.
        // Facts that contradict each other describe no launch; the flat bound is ignored then.
        let others: u64 = (0..3)
            .filter(|other| *other != dim)
            .map(|d| u64::from(self.extent_divisor(d)))
            .product();
        match u32::try_from(u64::from(flat) / others) {
            Ok(0) | Err(_) => declared,
            Ok(left) => declared.min(left),
        }
    }

    /// A bound from above on the number of threads in a workgroup; `None` when there is none that
    /// fits 64 bits.
    #[must_use]
    pub fn max_threads(&self) -> Option<u64> {
        let product = (0..3)
            .map(|dim| u64::from(self.max_extent(dim)))
            .try_fold(1u64, u64::checked_mul)
            .filter(|_| (0..3).all(|dim| self.max_extent(dim) != u32::MAX));
        let flat = Bound::stated(self.max_flat_workgroup_size).0.map(u64::from);
        Bound(product).meet(Bound(flat)).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a statement of workgroups, clusters and waves has against it; zero states nothing.
    #[track_caller]
    fn check(facts: &LaunchFacts, size: [u32; 3], cluster: [u32; 3], wave: u32, expected: &str) {
        let stated = |size: [u32; 3]| (size != [0; 3]).then_some(size);
        let statement = LaunchStatement {
            workgroup_size: stated(size),
            wave_width: (wave != 0).then_some(wave),
            cluster_size: stated(cluster),
        };
        assert_eq!(statement.contradiction(facts).unwrap_or_default(), expected);
    }

    #[test]
    fn contradictions_say_what_is_known() {
        let facts = LaunchFacts {
            workgroup_size: [Extent::Exactly(64), Extent::AtMost(4), Extent::Unknown],
            max_flat_workgroup_size: Some(256),
            uniform_work_group_size: true,
            wave_width: Some(32),
            max_cluster_size: Some(8),
            cluster_size: [Extent::Exactly(2), Extent::AtMost(4), Extent::Unknown],
            quads: QuadLayout::Linear,
        };
        let none = [0; 3];
        check(&facts, [64, 4, 1], [2, 4, 1], 32, "");
        let exactly = "32 threads of a workgroup along x: the module says exactly 64";
        check(&facts, [32, 1, 1], none, 0, exactly);
        let at_most = "8 threads of a workgroup along y: the module says at most 4";
        check(&facts, [64, 8, 1], none, 0, at_most);
        let threads = "workgroups of 512: the module says at most 256";
        check(&facts, [64, 4, 2], none, 0, threads);
        let nothing = "0 threads of a workgroup along z: there is at least one";
        check(&facts, [64, 1, 0], none, 0, nothing);
        let cluster = "1 workgroups of a cluster along x: the module says exactly 2";
        check(&facts, none, [1, 1, 1], 0, cluster);
        check(&facts, none, [2, 4, 2], 0, "clusters of 16: the module says at most 8");
        let wave = "waves of 64: the module is compiled for waves of 32";
        check(&facts, none, none, 64, wave);
    }
}
