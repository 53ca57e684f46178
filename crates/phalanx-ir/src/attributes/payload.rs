//! Attributes whose number has a structure: memory effects, captures, floating-point classes and so
//! on.
//!
//! Each is a small value that packs into the `u64` of [`super::Attribute::Int`] and unpacks from
//! it.

use crate::text_enum::text_enum;

text_enum! {
    /// How memory is accessed, as two bits: read, write.
    Access { None "none", Read "read", Write "write", ReadWrite "readwrite" }
}

impl Access {
    /// Whether it may be read.
    pub const fn reads(self) -> bool {
        self as u8 & 1 != 0
    }

    /// Whether it may be written.
    pub const fn writes(self) -> bool {
        self as u8 & 2 != 0
    }
}

text_enum! {
    /// Kinds of memory that `memory(..)` tells apart, in the order they are printed.
    MemoryLocation {
        ArgMem "argmem", InaccessibleMem "inaccessiblemem", ErrnoMem "errnomem", Other "other",
        TargetMem0 "target_mem0", TargetMem1 "target_mem1",
    }
}

/// `memory(..)`: an [`Access`] per [`MemoryLocation`], two bits each.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryEffects(u16);

impl MemoryEffects {
    /// Nothing is accessed.
    pub const NONE: MemoryEffects = MemoryEffects(0);
    /// Anything may be accessed: the default without the attribute.
    pub const UNKNOWN: MemoryEffects = Self::all(Access::ReadWrite);

    /// The same access to every kind of memory.
    pub const fn all(access: Access) -> Self {
        MemoryEffects(access as u16 * 0b0101_0101_0101)
    }

    /// An access to one kind of memory and none to others.
    pub const fn only(location: MemoryLocation, access: Access) -> Self {
        MemoryEffects((access as u16) << (2 * location as u16))
    }

    /// The access to one kind of memory.
    pub fn access(self, location: MemoryLocation) -> Access {
        Access::from_number((self.0 >> (2 * location as u16) & 3) as u8)
    }

    /// With another access to one kind of memory.
    #[must_use]
    pub const fn with(self, location: MemoryLocation, access: Access) -> Self {
        let shift = 2 * location as u16;
        MemoryEffects(self.0 & !(3 << shift) | (access as u16) << shift)
    }

    /// The accesses that both allow.
    #[must_use]
    pub const fn intersect(self, other: Self) -> Self {
        MemoryEffects(self.0 & other.0)
    }

    /// The accesses that either allows.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        MemoryEffects(self.0 | other.0)
    }

    /// Whether no memory is read or written.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Whether no memory is written.
    pub const fn only_reads(self) -> bool {
        self.0 & Self::all(Access::Write).0 == 0
    }

    /// Whether no memory is read.
    pub const fn only_writes(self) -> bool {
        self.0 & Self::all(Access::Read).0 == 0
    }

    /// Whether nothing but memory reached through arguments is accessed.
    pub const fn only_arguments(self) -> bool {
        self.0 & !Self::only(MemoryLocation::ArgMem, Access::ReadWrite).0 == 0
    }

    /// Whether nothing but memory that no instruction of the module can reach is accessed.
    pub const fn only_inaccessible(self) -> bool {
        self.0 & !Self::only(MemoryLocation::InaccessibleMem, Access::ReadWrite).0 == 0
    }

    /// Unpacks.
    pub const fn from_raw(raw: u64) -> Self {
        MemoryEffects(raw as u16 & Self::UNKNOWN.0)
    }

    /// Packs.
    pub const fn raw(self) -> u64 {
        self.0 as u64
    }
}

impl std::fmt::Debug for MemoryEffects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(MemoryLocation::ALL.iter().map(|&l| (l, self.access(l)))).finish()
    }
}

/// Which parts of a pointer may be captured, as bits.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CaptureComponents(u8);

impl CaptureComponents {
    /// Nothing.
    pub const NONE: CaptureComponents = CaptureComponents(0);
    /// Whether the address is null.
    pub const ADDRESS_IS_NULL: CaptureComponents = CaptureComponents(1);
    /// The address.
    pub const ADDRESS: CaptureComponents = CaptureComponents(3);
    /// The right to read through the pointer.
    pub const READ_PROVENANCE: CaptureComponents = CaptureComponents(4);
    /// The right to read and write through the pointer.
    pub const PROVENANCE: CaptureComponents = CaptureComponents(12);
    /// Everything.
    pub const ALL: CaptureComponents = CaptureComponents(15);
    /// Keywords and what they stand for.
    pub const NAMES: [(&'static str, CaptureComponents); 5] = [
        ("none", Self::NONE),
        ("address", Self::ADDRESS),
        ("address_is_null", Self::ADDRESS_IS_NULL),
        ("provenance", Self::PROVENANCE),
        ("read_provenance", Self::READ_PROVENANCE),
    ];

    /// Both together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        CaptureComponents(self.0 | other.0)
    }

    /// Whether all of `other` may be captured.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether nothing may be captured.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The keywords for the set, in the order they are printed; `none` for the empty set.
    pub fn keywords(self) -> impl Iterator<Item = &'static str> {
        let address = match self {
            _ if self.contains(Self::ADDRESS) => Some("address"),
            _ if self.contains(Self::ADDRESS_IS_NULL) => Some("address_is_null"),
            _ => None,
        };
        let provenance = match self {
            _ if self.contains(Self::PROVENANCE) => Some("provenance"),
            _ if self.contains(Self::READ_PROVENANCE) => Some("read_provenance"),
            _ => None,
        };
        self.is_none().then_some("none").into_iter().chain(address).chain(provenance)
    }
}

/// `captures(..)`: what a callee may retain of a pointer, in general and in its return value.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Captures {
    /// Through anything but the return value.
    pub other: CaptureComponents,
    /// Through the return value.
    pub ret: CaptureComponents,
}

impl Captures {
    /// `captures(none)`
    pub const NONE: Captures =
        Captures { other: CaptureComponents::NONE, ret: CaptureComponents::NONE };
    /// Anything: the default without the attribute.
    pub const ALL: Captures =
        Captures { other: CaptureComponents::ALL, ret: CaptureComponents::ALL };

    /// Unpacks.
    pub const fn from_raw(raw: u64) -> Self {
        Captures {
            other: CaptureComponents(raw as u8 & 15),
            ret: CaptureComponents((raw >> 4) as u8 & 15),
        }
    }

    /// Packs.
    pub const fn raw(self) -> u64 {
        self.other.0 as u64 | (self.ret.0 as u64) << 4
    }
}

/// Names of sets of floating-point classes and their bits; longer sets first, as they are printed.
pub const FP_CLASSES: [(&str, u16); 16] = [
    ("all", 0x3ff),
    ("nan", 0x003),
    ("snan", 0x001),
    ("qnan", 0x002),
    ("inf", 0x204),
    ("ninf", 0x004),
    ("pinf", 0x200),
    ("zero", 0x060),
    ("nzero", 0x020),
    ("pzero", 0x040),
    ("sub", 0x090),
    ("nsub", 0x010),
    ("psub", 0x080),
    ("norm", 0x108),
    ("nnorm", 0x008),
    ("pnorm", 0x100),
];

/// Names of the bits of `allockind("..")`, in the order they are printed.
pub const ALLOC_KINDS: [(&str, u8); 6] = [
    ("alloc", 1),
    ("realloc", 2),
    ("free", 4),
    ("uninitialized", 8),
    ("zeroed", 16),
    ("aligned", 32),
];

/// `allocsize(size)` or `allocsize(element size, count)`: which parameters say how much is
/// allocated.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AllocSize {
    /// Position of the size.
    pub size: u32,
    /// Position of the number of elements.
    pub count: Option<u32>,
}

impl AllocSize {
    /// Unpacks.
    pub const fn from_raw(raw: u64) -> Self {
        let count = match raw as u32 {
            u32::MAX => None,
            count => Some(count),
        };
        AllocSize { size: (raw >> 32) as u32, count }
    }

    /// Packs.
    pub const fn raw(self) -> u64 {
        let count = match self.count {
            Some(count) => count,
            None => u32::MAX,
        };
        (self.size as u64) << 32 | count as u64
    }
}

/// `vscale_range(min,max)`
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VScaleRange {
    /// Least value.
    pub min: u32,
    /// Greatest value; 0 when not bounded.
    pub max: u32,
}

impl VScaleRange {
    /// Unpacks.
    pub const fn from_raw(raw: u64) -> Self {
        VScaleRange { min: (raw >> 32) as u32, max: raw as u32 }
    }

    /// Packs.
    pub const fn raw(self) -> u64 {
        (self.min as u64) << 32 | self.max as u64
    }
}

text_enum! {
    /// Kinds of unwind table; the second is what `uwtable` alone means.
    UnwindTable { Sync "sync", Async "async" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_per_location() {
        let read_args = MemoryEffects::only(MemoryLocation::ArgMem, Access::Read);
        assert!(read_args.only_reads() && read_args.only_arguments() && !read_args.is_none());
        let both = read_args.union(MemoryEffects::only(MemoryLocation::TargetMem1, Access::Write));
        assert_eq!(both.access(MemoryLocation::TargetMem1), Access::Write);
        assert!(!both.only_arguments() && !both.only_reads() && !both.only_writes());
        assert_eq!(MemoryEffects::from_raw(both.raw()), both);
        assert_eq!(MemoryEffects::UNKNOWN.intersect(both), both);
        for &location in MemoryLocation::ALL {
            assert_eq!(MemoryEffects::UNKNOWN.access(location), Access::ReadWrite);
        }
        assert!(
            MemoryEffects::only(MemoryLocation::InaccessibleMem, Access::ReadWrite)
                .only_inaccessible()
        );
    }

    #[test]
    fn packed_values_survive() {
        for value in [AllocSize { size: 3, count: None }, AllocSize { size: 0, count: Some(7) }] {
            assert_eq!(AllocSize::from_raw(value.raw()), value);
        }
        let range = VScaleRange { min: 2, max: 16 };
        assert_eq!(VScaleRange::from_raw(range.raw()), range);
        let captures = Captures {
            other: CaptureComponents::ADDRESS_IS_NULL,
            ret: CaptureComponents::PROVENANCE,
        };
        assert_eq!(Captures::from_raw(captures.raw()), captures);
        assert_eq!(captures.other.keywords().collect::<Vec<_>>(), ["address_is_null"]);
        assert_eq!(
            CaptureComponents::ALL.keywords().collect::<Vec<_>>(),
            ["address", "provenance"]
        );
        assert_eq!(CaptureComponents::NONE.keywords().collect::<Vec<_>>(), ["none"]);
    }
}
