//! Sets of memories, and which address space has the addresses of which memory.
//!
//! # What
//!
//! A *memory* is one of a few disjoint kinds of storage. A [`SpaceSet`] holds the memories that an
//! address may lead to. It also says whether the pointer may lead nowhere: null, undefined, or out
//! of its object.
//!
//! ```text
//! %s = addrspacecast ptr addrspace(3) @buffer to ptr   ; {shared}
//! %n = select i1 %c, ptr %s, ptr null                  ; {shared, null}
//! ```
//!
//! An address space has the addresses of one or more memories ([`SpaceModel::of`]). Spaces contain
//! each other, so this is no partition:
//!
//! | target | spaces with more than one memory |
//! |---|---|
//! | NVPTX | generic: all; `shared::cluster`: that of the workgroup and that of others in the cluster |
//! | AMDGPU | flat: device memory, constant or not, LDS, scratch; global: device memory, constant or not |
//! | SPIR-V | Generic: private, workgroup, device memory |
//!
//! On AMDGPU constant memory is device memory that no thread writes, so the global space has its
//! addresses, too. On NVPTX it is a bank of its own.
//!
//! [`SpaceModel::narrowest`] goes the other way: from a set to the space with the fewest memories
//! that has all of the set.

use std::fmt;

use phalanx_target::{
    Architecture,
    address_space::{AddressSpace, SpaceKind},
};

/// Memories that an address may lead to.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceSet(u16);

impl SpaceSet {
    /// The empty set. In the fixpoint: no value has reached the address yet.
    pub const EMPTY: SpaceSet = SpaceSet(0);
    /// Device memory that may be written.
    pub const GLOBAL: SpaceSet = SpaceSet(1 << 0);
    /// Device memory that does not change during a launch, or the constant bank.
    pub const CONSTANT: SpaceSet = SpaceSet(1 << 1);
    /// Memory of the thread's own workgroup.
    pub const SHARED: SpaceSet = SpaceSet(1 << 2);
    /// Memory of other workgroups of the cluster.
    pub const PEERS: SpaceSet = SpaceSet(1 << 3);
    /// Memory of a thread.
    pub const PRIVATE: SpaceSet = SpaceSet(1 << 4);
    /// Arguments.
    pub const PARAMETER: SpaceSet = SpaceSet(1 << 5);
    /// Memory of a processor.
    pub const REGION: SpaceSet = SpaceSet(1 << 6);
    /// Device memory behind a descriptor: fat pointers.
    pub const BUFFER: SpaceSet = SpaceSet(1 << 7);
    /// The same behind a buffer resource.
    pub const RESOURCE: SpaceSet = SpaceSet(1 << 8);
    /// The same behind a strided pointer.
    pub const STRIDED: SpaceSet = SpaceSet(1 << 9);
    /// Values that the pipeline feeds to each thread.
    pub const INPUT: SpaceSet = SpaceSet(1 << 10);
    /// Addresses of a space without a meaning.
    pub const OTHER: SpaceSet = SpaceSet(1 << 11);
    /// No memory: null, undefined, or so far out of an object that nothing is there.
    pub const NOWHERE: SpaceSet = SpaceSet(1 << 15);
    /// Anything.
    pub const ALL: SpaceSet = SpaceSet(0x8fff);

    /// Names of the memories, by bit.
    const NAMES: [(SpaceSet, &'static str); 13] = [
        (Self::GLOBAL, "global"),
        (Self::CONSTANT, "constant"),
        (Self::SHARED, "shared"),
        (Self::PEERS, "cluster"),
        (Self::PRIVATE, "private"),
        (Self::PARAMETER, "param"),
        (Self::REGION, "region"),
        (Self::BUFFER, "buffer"),
        (Self::RESOURCE, "resource"),
        (Self::STRIDED, "strided"),
        (Self::INPUT, "input"),
        (Self::OTHER, "other"),
        (Self::NOWHERE, "null"),
    ];

    /// The set with these bits.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        SpaceSet(bits & Self::ALL.0)
    }

    /// Its bits.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The set without [`NOWHERE`](Self::NOWHERE): what an access through the address can touch.
    #[must_use]
    pub const fn memories(self) -> Self {
        SpaceSet(self.0 & !Self::NOWHERE.0)
    }

    /// The intersection.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        SpaceSet(self.0 & other.0)
    }

    /// The union.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        SpaceSet(self.0 | other.0)
    }

    /// The difference.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        SpaceSet(self.0 & !other.0)
    }

    /// Whether all of `other` is in it.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// Whether the intersection is not empty.
    #[must_use]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The names of its memories, and `null` for pointers that lead nowhere.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let names = Self::NAMES.iter().filter(|(one, _)| self.contains(*one));
        names.map(|(_, name)| *name).collect()
    }

    /// Each memory by itself.
    pub fn iter(self) -> impl Iterator<Item = SpaceSet> {
        Self::NAMES.into_iter().map(|(one, _)| one).filter(move |one| self.contains(*one))
    }
}

impl std::ops::BitOr for SpaceSet {
    type Output = SpaceSet;

    fn bitor(self, other: Self) -> Self {
        self.or(other)
    }
}

impl std::ops::BitOrAssign for SpaceSet {
    fn bitor_assign(&mut self, other: Self) {
        *self = self.or(other);
    }
}

impl fmt::Display for SpaceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return f.write_str("{anything}");
        }
        write!(f, "{{{}}}", self.names().join(", "))
    }
}

impl fmt::Debug for SpaceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Which address spaces of a target have the addresses of which memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceModel {
    architecture: Architecture,
}

impl SpaceModel {
    /// The model of a target.
    #[must_use]
    pub const fn new(architecture: Architecture) -> Self {
        SpaceModel { architecture }
    }

    /// The space that contains others, if there is one.
    #[must_use]
    pub fn generic(self) -> Option<u32> {
        match self.architecture {
            Architecture::Described(machine) => machine.generic(),
            Architecture::Amdgcn | Architecture::R600 | Architecture::Nvptx => Some(0),
            Architecture::Spirv => Some(4),
            Architecture::Generic => None,
        }
    }

    /// The memories of which a space has addresses.
    #[must_use]
    pub fn of(self, number: u32) -> SpaceSet {
        // Targets on which constant memory is device memory that no thread writes.
        let is_one = matches!(
            self.architecture,
            Architecture::Amdgcn | Architecture::R600 | Architecture::Described(_)
        );
        let device = SpaceSet::GLOBAL | SpaceSet::CONSTANT;
        match AddressSpace::of(self.architecture, number).kind() {
            SpaceKind::Generic => match self.architecture {
                Architecture::Described(_) => {
                    device
                        | SpaceSet::SHARED
                        | SpaceSet::PEERS
                        | SpaceSet::PRIVATE
                        | SpaceSet::PARAMETER
                        | SpaceSet::INPUT
                }
                Architecture::Nvptx => {
                    device
                        | SpaceSet::SHARED
                        | SpaceSet::PEERS
                        | SpaceSet::PRIVATE
                        | SpaceSet::PARAMETER
                }
                Architecture::Generic => SpaceSet::ALL.memories(),
                Architecture::Spirv => SpaceSet::GLOBAL | SpaceSet::SHARED | SpaceSet::PRIVATE,
                _ => device | SpaceSet::SHARED | SpaceSet::PRIVATE,
            },
            SpaceKind::Global if is_one => device,
            SpaceKind::Global => SpaceSet::GLOBAL,
            SpaceKind::Workgroup => SpaceSet::SHARED,
            SpaceKind::Cluster => SpaceSet::SHARED | SpaceSet::PEERS,
            SpaceKind::Region => SpaceSet::REGION,
            SpaceKind::Constant => SpaceSet::CONSTANT,
            SpaceKind::Private => SpaceSet::PRIVATE,
            SpaceKind::Parameter => SpaceSet::PARAMETER,
            SpaceKind::Buffer if matches!(self.architecture, Architecture::Described(_)) => {
                SpaceSet::BUFFER
            }
            SpaceKind::Buffer => match number {
                8 => SpaceSet::RESOURCE,
                9 => SpaceSet::STRIDED,
                _ => SpaceSet::BUFFER,
            },
            SpaceKind::Input => SpaceSet::INPUT,
            SpaceKind::Unknown => SpaceSet::OTHER,
        }
    }

    /// Whether an address of one set and an address of another can lead to the same bytes. On
    /// AMDGPU constant memory and what descriptors describe are device memory. Spaces without a
    /// meaning may overlap any.
    #[must_use]
    pub fn may_overlap(self, a: SpaceSet, b: SpaceSet) -> bool {
        let described = SpaceSet::BUFFER | SpaceSet::RESOURCE | SpaceSet::STRIDED;
        let device = match self.architecture {
            Architecture::Nvptx => SpaceSet::EMPTY,
            _ => SpaceSet::GLOBAL | SpaceSet::CONSTANT | described,
        };
        let (a, b) = (a.memories(), b.memories());
        let is_odd = |set: SpaceSet| set.is_empty() || set.contains(SpaceSet::OTHER);
        is_odd(a) || is_odd(b) || a.meets(b) || a.meets(device) && b.meets(device)
    }

    /// The memories that a space must have so that an access of one of `set` can use it. On NVPTX
    /// kernel parameters have generic addresses in the window of device memory (PTX ISA,
    /// `isspacep`). So an access of device memory or parameters counts as one of device memory.
    #[must_use]
    pub fn accessed(self, set: SpaceSet) -> SpaceSet {
        let set = set.memories();
        match self.architecture == Architecture::Nvptx && set.contains(SpaceSet::GLOBAL) {
            true => set.without(SpaceSet::PARAMETER),
            false => set,
        }
    }

    /// The space with the fewest memories that has all that is [accessed](Self::accessed) of a set.
    /// None if no space that pointers can be cast to has them.
    #[must_use]
    pub fn narrowest(self, set: SpaceSet) -> Option<u32> {
        let candidates: &[u32] = match self.architecture {
            Architecture::Amdgcn | Architecture::R600 => &[3, 5, 4, 1, 2, 7, 8, 9, 0],
            Architecture::Nvptx => &[3, 5, 4, 1, 101, 7, 0],
            Architecture::Spirv => &[3, 0, 2, 1, 4],
            Architecture::Generic => &[],
            Architecture::Described(machine) => {
                let set = self.accessed(set);
                let fitting = machine.spaces().filter(|&number| self.of(number).contains(set));
                return fitting.min_by_key(|&number| self.of(number).bits().count_ones());
            }
        };
        let set = self.accessed(set);
        candidates.iter().copied().find(|&number| self.of(number).contains(set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [(Architecture, &[u32]); 3] = [
        (Architecture::Amdgcn, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (Architecture::Nvptx, &[0, 1, 3, 4, 5, 7, 101]),
        (Architecture::Spirv, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]),
    ];

    /// The spaces of `phalanx-target` and their memories agree: a space that contains another has
    /// its memories, and two spaces with a memory in common may overlap.
    #[test]
    fn memories_agree_with_containment_and_overlap() {
        for (architecture, numbers) in ALL {
            let model = SpaceModel::new(architecture);
            for &a in numbers {
                for &b in numbers {
                    let (x, y) =
                        (AddressSpace::of(architecture, a), AddressSpace::of(architecture, b));
                    // SPIR-V's generic space counts as containing all spaces that can be cast to
                    // it, also constant memory.
                    if x.contains(y) && architecture != Architecture::Spirv {
                        assert!(model.of(a).contains(model.of(b)), "{architecture:?} {a} {b}");
                    }
                    if x.may_overlap(y) && architecture != Architecture::Spirv {
                        assert!(
                            model.may_overlap(model.of(a), model.of(b)),
                            "{architecture:?} {a} {b}"
                        );
                    }
                    if !x.may_overlap(y) && architecture != Architecture::Spirv {
                        assert!(!model.of(a).meets(model.of(b)), "{architecture:?} {a} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_narrowest_space_has_the_memories_and_no_other_is_inside_it() {
        for (architecture, numbers) in ALL {
            let model = SpaceModel::new(architecture);
            for bits in 1..1 << 12 {
                let set = SpaceSet::from_bits(bits);
                let Some(narrowest) = model.narrowest(set) else { continue };
                let set = model.accessed(set);
                assert!(model.of(narrowest).contains(set));
                for &other in numbers {
                    let other = model.of(other);
                    let is_smaller =
                        model.of(narrowest).contains(other) && other != model.of(narrowest);
                    assert!(!(is_smaller && other.contains(set)), "{architecture:?} {set}");
                }
            }
        }
    }

    #[test]
    fn sets_read_as_text() {
        assert_eq!((SpaceSet::SHARED | SpaceSet::GLOBAL).to_string(), "{global, shared}");
        assert_eq!(SpaceSet::ALL.to_string(), "{anything}");
        assert_eq!(SpaceSet::EMPTY.to_string(), "{}");
    }
}
