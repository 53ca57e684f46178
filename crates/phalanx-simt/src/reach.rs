//! The reach of an atomic access or a fence: the threads among which it synchronises.
//!
//! LLVM names the threads in `syncscope("...")`, and each target has names of its own:
//!
//! | reach | AMDGPU | NVPTX | SPIR-V |
//! |---|---|---|---|
//! | one thread | `singlethread` | `singlethread` | `singlethread` |
//! | the wave | `wavefront` | | `subgroup` |
//! | the workgroup | `workgroup` | `block` | `workgroup` |
//! | the cluster | `cluster` | `cluster` | |
//! | the device | `agent`, none | `device`, none | `device`, none |
//!
//! AMDGPU's names with `-one-as` order accesses of one address space only; they are treated like
//! those without the suffix. An unknown name means the device: then a race may be missed, but no
//! false race is reported. There is one device in a launch, so "system" is the same.
//!
//! Two operations *include* each other if each one's thread is among the threads that the other
//! reaches (PTX ISA 8.x, "Scope" and "Morally strong operations"; HSA PRM 1.2, 6.2.1).

use phalanx_target::Architecture;

use crate::coordinates::Coordinates;

/// How far an operation reaches, narrower ones first.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Reach {
    /// The thread itself.
    Thread,
    /// Its wave.
    Wave,
    /// Its workgroup.
    Workgroup,
    /// Its cluster.
    Cluster,
    /// All of the launch.
    #[default]
    Device,
}

impl Reach {
    /// The reach for the name of an LLVM scope; an empty name is the default scope.
    #[must_use]
    pub fn of_scope(name: &[u8], architecture: Architecture) -> Reach {
        let name = name
            .strip_suffix(b"one-as")
            .map_or(name, |rest| rest.strip_suffix(b"-").unwrap_or(rest));
        match (name, architecture) {
            (b"singlethread", _) => Reach::Thread,
            (b"wavefront", Architecture::Amdgcn) | (b"subgroup", Architecture::Spirv) => {
                Reach::Wave
            }
            (b"workgroup", Architecture::Amdgcn | Architecture::Spirv)
            | (b"block", Architecture::Nvptx) => Reach::Workgroup,
            (b"cluster", Architecture::Amdgcn | Architecture::Nvptx) => Reach::Cluster,
            _ => Reach::Device,
        }
    }
}

/// The groups that a thread is in, by number: itself, its wave, its workgroup, its cluster, the
/// device.
pub(crate) type Home = [u64; 5];

/// The groups of a thread.
pub(crate) fn home(at: &Coordinates) -> Home {
    let workgroup = at.workgroup();
    let wave = u64::from(workgroup) << 32 | u64::from(at.wave);
    [at.number.into(), wave, workgroup.into(), at.cluster().into(), 0]
}

/// Whether two operations include each other.
pub(crate) fn include(a: (&Home, Reach), b: (&Home, Reach)) -> bool {
    let is_common = |reach: Reach| a.0[reach as usize] == b.0[reach as usize];
    is_common(a.1) && is_common(b.1)
}
