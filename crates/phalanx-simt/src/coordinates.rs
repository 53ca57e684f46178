//! The position of a thread in its launch.
//!
//! ```text
//! grid of 2 workgroups, 8 threads in each, waves of 4 lanes; the thread with number 13:
//! block 1, thread 5, wave 1 of the workgroup, lane 1
//! ```

/// The position of a thread in its launch.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Coordinates {
    /// Number in the launch.
    pub number: u32,
    /// Position in the workgroup.
    pub thread: [u32; 3],
    /// Position of the workgroup.
    pub block: [u32; 3],
    /// Extent of a workgroup.
    pub block_size: [u32; 3],
    /// Number of workgroups.
    pub grid_size: [u32; 3],
    /// Workgroups of a cluster.
    pub cluster_size: [u32; 3],
    /// Lanes of a wave.
    pub wave_size: u32,
    /// Position in the wave.
    pub lane: u32,
    /// Number of the wave in the workgroup.
    pub wave: u32,
}

impl Coordinates {
    /// Number of the workgroup in the launch.
    #[must_use]
    pub fn workgroup(&self) -> u32 {
        let ([x, y, z], size) = (self.block, self.grid_size);
        x + size[0] * (y + size[1] * z)
    }

    /// Number of the cluster in the launch.
    #[must_use]
    pub fn cluster(&self) -> u32 {
        cluster_of(self.grid_size, self.cluster_size, self.block)
    }

    /// Position of the workgroup in its cluster.
    #[must_use]
    pub fn in_cluster(&self, dim: usize) -> u32 {
        self.block[dim] % self.cluster_size[dim]
    }

    /// Number of the workgroup in its cluster.
    #[must_use]
    pub fn rank(&self) -> u32 {
        let [x, y, z] = [0, 1, 2].map(|dim| self.in_cluster(dim));
        x + self.cluster_size[0] * (y + self.cluster_size[1] * z)
    }
}

/// The number of the cluster that a workgroup is in.
pub(crate) fn cluster_of(grid: [u32; 3], cluster: [u32; 3], block: [u32; 3]) -> u32 {
    let at = |d: usize| block[d] / cluster[d];
    let extent = |d: usize| grid[d] / cluster[d];
    at(0) + extent(0) * (at(1) + extent(1) * at(2))
}
