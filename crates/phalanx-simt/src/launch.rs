//! A launch: geometry, arguments, and a report of its execution.

use phalanx_graph::Reconvergence;

use crate::{
    coordinates::{Coordinates, cluster_of},
    fault::Failure,
    value::Value,
};

/// An argument of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    /// A value of the parameter's type; for pointers to global memory, an address.
    Value(Value),
    /// For a pointer to workgroup memory: so many bytes of it.
    Shared(u64),
}

impl Arg {
    /// An integer, a floating-point number's bits, or an address.
    #[must_use]
    pub fn bits(bits: impl Into<u128>) -> Arg {
        Arg::Value(Value::Bits(bits.into()))
    }
}

/// The order in which threads advance. All orders are fair.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// One instruction each, in turn.
    #[default]
    Lockstep,
    /// So many instructions of each thread, in turn.
    Turns(u32),
    /// Random threads, for random numbers of instructions.
    Random(u64),
}

/// How a kernel is launched.
#[derive(Clone, PartialEq, Debug)]
pub struct Launch {
    /// Workgroups in each dimension.
    pub grid: [u32; 3],
    /// Threads of a workgroup in each dimension.
    pub block: [u32; 3],
    /// The extents of the workgroups at the far edge of the grid, if these are smaller; zero if
    /// they are whole. OpenCL allows partial workgroups from version 2.0 on, unless a program
    /// states that its workgroups are uniform.
    pub partial: [u32; 3],
    /// Workgroups of a cluster in each dimension. The grid has whole clusters.
    pub cluster: [u32; 3],
    /// Lanes of a wave: 32 or 64, or any number up to 64 for experiments.
    pub wave: u32,
    /// Arguments.
    pub args: Vec<Arg>,
    /// Bytes of workgroup memory for variables without a size.
    pub shared: u64,
    /// How many instructions all threads together may execute.
    pub fuel: u64,
    /// How many blocks a thread may execute, not counting calls; then it ends where it is. What was
    /// executed until then is a valid execution, since convergence depends on the past alone.
    pub blocks: Option<u32>,
    /// In which order threads advance.
    pub order: Order,
    /// The reconvergence model.
    pub reconvergence: Reconvergence,
    /// Chooses the bits of unwritten memory.
    pub seed: u64,
    /// The bits that `freeze` makes of poison, in all threads; see also
    /// [`Program::set_undef`](crate::Program::set_undef).
    pub frozen: u128,
    /// Keeps frozen values unknown instead of choosing bits, if the program follows `undef`: see
    /// [`unknown`](crate::unknown). A branch on such a value takes an edge that depends on this
    /// number and on the place.
    pub follow_frozen: Option<u64>,
}

impl Default for Launch {
    fn default() -> Launch {
        Launch {
            grid: [1; 3],
            block: [1; 3],
            partial: [0; 3],
            cluster: [1; 3],
            wave: 32,
            args: Vec::new(),
            shared: 0,
            fuel: 100_000_000,
            blocks: None,
            order: Order::default(),
            reconvergence: Reconvergence::default(),
            seed: 0,
            frozen: 0,
            follow_frozen: None,
        }
    }
}

/// The report of a launch.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Instructions executed by all threads together.
    pub steps: u64,
    /// Group operations, each counted once for its group.
    pub groups: u64,
    /// Barriers that threads passed.
    pub barriers: u64,
    /// Barriers that opened before all threads had come, since others arrived more than once.
    pub early: u64,
    /// Branches on unknown frozen values.
    pub guesses: u64,
}

/// Threads, waves and workgroups of a launch.
///
/// Threads of a workgroup are numbered along x, then y, then z; consecutive ones form waves, the
/// last of which may not be full.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Geometry {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Extents of the last workgroup in each dimension.
    pub(crate) last: [u32; 3],
    pub(crate) cluster: [u32; 3],
    pub(crate) wave: u32,
}

/// More threads are refused.
const THREADS: u64 = 1 << 20;

impl Geometry {
    /// The geometry of a launch.
    ///
    /// # Errors
    /// An extent is zero, a wave is empty or larger than 64, or there are more than a million
    /// threads.
    pub fn new(grid: [u32; 3], block: [u32; 3], wave: u32) -> Result<Geometry, Failure> {
        let refuse = |what: &str| Err(Failure::Launch(what.to_owned()));
        if grid.iter().chain(&block).any(|&extent| extent == 0) {
            return refuse("an extent of the launch is zero");
        }
        if wave == 0 || wave > 64 {
            return refuse("a wave has between 1 and 64 lanes");
        }
        let product = grid.iter().chain(&block).try_fold(1u64, |all, &n| all.checked_mul(n.into()));
        match product {
            Some(threads) if threads <= THREADS => {
                Ok(Geometry { grid, block, last: block, cluster: [1; 3], wave })
            }
            _ => refuse("a launch has at most 2^20 threads"),
        }
    }

    /// The same with smaller workgroups at the far edge of the grid, of this extent in each
    /// dimension; zero means whole workgroups.
    ///
    /// # Errors
    /// They are larger than the others.
    pub fn with_partial(self, partial: [u32; 3]) -> Result<Geometry, Failure> {
        let last = [0, 1, 2].map(|d| if partial[d] == 0 { self.block[d] } else { partial[d] });
        match last.iter().zip(&self.block).all(|(last, whole)| last <= whole) {
            true => Ok(Geometry { last, ..self }),
            false => {
                let what = "workgroups at the edge of a grid are not larger than others";
                Err(Failure::Launch(what.to_owned()))
            }
        }
    }

    /// The same with clusters of so many workgroups.
    ///
    /// # Errors
    /// An extent is zero, the grid has a part of a cluster, or a cluster has a part of a workgroup.
    pub fn with_clusters(self, cluster: [u32; 3]) -> Result<Geometry, Failure> {
        if cluster != [1; 3] && self.last != self.block {
            return Err(Failure::Launch("clusters have whole workgroups".to_owned()));
        }
        let is_whole = |(&all, &part): (&u32, &u32)| part > 0 && all.is_multiple_of(part);
        match self.grid.iter().zip(&cluster).all(is_whole) {
            true => Ok(Geometry { cluster, ..self }),
            false => Err(Failure::Launch("a grid has whole clusters".to_owned())),
        }
    }

    /// Workgroups of a cluster.
    #[must_use]
    pub fn cluster_blocks(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// The cluster of a workgroup.
    #[must_use]
    pub fn cluster_of(&self, block: [u32; 3]) -> u32 {
        cluster_of(self.grid, self.cluster, block)
    }

    /// Workgroups.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.grid.iter().product()
    }

    /// Threads of a workgroup that is whole.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Position of a workgroup.
    fn position(&self, block: u32) -> [u32; 3] {
        split(block, self.grid)
    }

    /// The extents of the workgroup at a position.
    fn extents_of(&self, position: [u32; 3]) -> [u32; 3] {
        let is_last = |d: usize| position[d] + 1 == self.grid[d];
        [0, 1, 2].map(|d| if is_last(d) { self.last[d] } else { self.block[d] })
    }

    /// Threads of a workgroup.
    #[must_use]
    pub fn threads_of(&self, block: u32) -> u32 {
        self.extents_of(self.position(block)).iter().product()
    }

    /// Where thread `index` of workgroup `block` is.
    #[must_use]
    pub fn coordinates(&self, block: u32, index: u32) -> Coordinates {
        let position = self.position(block);
        let extents = self.extents_of(position);
        Coordinates {
            number: block * self.threads() + index,
            thread: split(index, extents),
            block: position,
            block_size: extents,
            grid_size: self.grid,
            cluster_size: self.cluster,
            wave_size: self.wave,
            lane: index % self.wave,
            wave: index / self.wave,
        }
    }
}

/// Splits a number along x, then y, then z.
fn split(number: u32, extents: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = extents;
    [number % x, number / x % y, number / x / y]
}
