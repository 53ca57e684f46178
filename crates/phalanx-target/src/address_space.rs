//! Address spaces: what each number means, which threads share the memory, which spaces overlap.
//!
//! # What
//!
//! A pointer type carries a number that says which kind of memory it addresses. What the number
//! means depends on the target; [`AddressSpace::of`] looks it up. Two facts matter to the analyses:
//!
//! * *sharing* ([`Sharing`]): a load from one address gives all threads of a group one value only
//!   if the memory is the same for all of them. With private memory, equal addresses are different
//!   memory in each thread.
//! * *overlap* ([`AddressSpace::contains`], [`AddressSpace::may_overlap`]): the generic space
//!   contains others.
//!
//! Sources: LLVM's AMDGPU and NVPTX usage documents, PTX ISA (state spaces), SPIR-V's storage
//! classes as LLVM numbers them. `may_overlap` was compared with LLVM 22's `amdgpu-aa` and
//! `nvptx-aa`: never narrower, wider only for numbers without a meaning.

use crate::sources::Scope;
use crate::target::Architecture;

/// The purpose of an address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpaceKind {
    /// Contains other spaces; only at run time is it known which one an address is in. Flat,
    /// generic.
    Generic,
    /// Device memory.
    Global,
    /// Memory of a workgroup: LDS, shared, local in OpenCL.
    Workgroup,
    /// Memory of all workgroups of a cluster.
    Cluster,
    /// Memory of a processor, shared by all workgroups: GDS.
    Region,
    /// Device memory that does not change during a launch.
    Constant,
    /// Memory of a thread: scratch, stack, registers.
    Private,
    /// Arguments of a kernel; in other functions, of a call.
    Parameter,
    /// Device memory behind a buffer descriptor that the pointer carries.
    Buffer,
    /// Values that the pipeline feeds to each thread.
    Input,
    /// The number has no meaning on this target.
    Unknown,
}

/// Which threads see the same memory at the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// Every thread has its own.
    PerThread,
    /// All threads of the scope see the same.
    SharedBy(Scope),
    /// Either, depending on the address.
    Depends,
}

/// An address space of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddressSpace {
    architecture: Architecture,
    number: u32,
}

impl AddressSpace {
    /// Address space `number` of `architecture`.
    #[must_use]
    pub const fn of(architecture: Architecture, number: u32) -> AddressSpace {
        AddressSpace { architecture, number }
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.number
    }

    /// The purpose, and the usual name on the target.
    fn describe(self) -> (SpaceKind, &'static str) {
        use SpaceKind::{
            Buffer, Cluster, Constant, Generic, Global, Input, Parameter, Private, Region, Unknown,
            Workgroup,
        };
        match (self.architecture, self.number) {
            (Architecture::Amdgcn | Architecture::R600, number) => match number {
                0 => (Generic, "flat"),
                1 => (Global, "global"),
                2 => (Region, "region"),
                3 => (Workgroup, "local"),
                4 => (Constant, "constant"),
                5 => (Private, "private"),
                6 => (Constant, "constant32"),
                7 => (Buffer, "buffer fat pointer"),
                8 => (Buffer, "buffer resource"),
                9 => (Buffer, "buffer strided pointer"),
                _ => (Unknown, "unknown"),
            },
            (Architecture::Nvptx, number) => match number {
                0 => (Generic, "generic"),
                1 => (Global, "global"),
                3 => (Workgroup, "shared"),
                4 => (Constant, "const"),
                5 => (Private, "local"),
                7 => (Cluster, "shared::cluster"),
                101 => (Parameter, "param"),
                _ => (Unknown, "unknown"),
            },
            (Architecture::Spirv, number) => match number {
                0 => (Private, "Function"),
                1 => (Global, "CrossWorkgroup"),
                2 => (Constant, "UniformConstant"),
                3 => (Workgroup, "Workgroup"),
                4 => (Generic, "Generic"),
                5 => (Global, "DeviceOnlyINTEL"),
                6 => (Global, "HostOnlyINTEL"),
                7 => (Input, "Input"),
                8 => (Private, "Output"),
                9 => (Constant, "CodeSectionINTEL"),
                10 => (Private, "Private"),
                11 => (Global, "StorageBuffer"),
                12 => (Constant, "Uniform"),
                13 => (Constant, "PushConstant"),
                _ => (Unknown, "unknown"),
            },
            (Architecture::Described(machine), number) => machine.space(number),
            (Architecture::Generic, 0) => (Generic, "default"),
            (Architecture::Generic, _) => (Unknown, "unknown"),
        }
    }

    /// The purpose.
    #[must_use]
    pub fn kind(self) -> SpaceKind {
        self.describe().0
    }

    /// The usual name on the target.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.describe().1
    }

    /// Which threads see the same memory at the same address.
    #[must_use]
    pub fn sharing(self) -> Sharing {
        match self.kind() {
            SpaceKind::Private | SpaceKind::Input => Sharing::PerThread,
            SpaceKind::Global | SpaceKind::Constant | SpaceKind::Buffer | SpaceKind::Region => {
                Sharing::SharedBy(Scope::Grid)
            }
            SpaceKind::Workgroup => Sharing::SharedBy(Scope::Workgroup),
            SpaceKind::Cluster => Sharing::SharedBy(Scope::Cluster),
            // Threads share the arguments of a kernel, but not those of a call.
            SpaceKind::Parameter | SpaceKind::Generic | SpaceKind::Unknown => Sharing::Depends,
        }
    }

    /// Whether equal addresses can be different memory in different threads. `in_kernel` says that
    /// the access is in a kernel itself, whose arguments are the same for every thread.
    #[must_use]
    pub fn may_be_private(self, in_kernel: bool) -> bool {
        match (self.sharing(), self.kind()) {
            (Sharing::SharedBy(_), _) => false,
            (_, SpaceKind::Parameter) => !in_kernel,
            _ => true,
        }
    }

    /// Whether the memory does not change while a kernel runs.
    #[must_use]
    pub fn is_constant(self) -> bool {
        matches!(self.kind(), SpaceKind::Constant)
    }

    /// Whether every address of `inner` is also one of this space, after a conversion. Reflexive
    /// and transitive.
    #[must_use]
    pub fn contains(self, inner: AddressSpace) -> bool {
        if self == inner {
            return true;
        }
        if self.architecture != inner.architecture {
            return false;
        }
        match (self.kind(), inner.kind()) {
            // Global data share and descriptors have no flat addresses.
            (SpaceKind::Generic, SpaceKind::Region | SpaceKind::Buffer | SpaceKind::Unknown) => {
                false
            }
            // SPIR-V's Generic covers Function, CrossWorkgroup and Workgroup only.
            (SpaceKind::Generic, _) if self.architecture == Architecture::Spirv => {
                matches!(inner.number, 0 | 1 | 3 | 5 | 6)
            }
            (SpaceKind::Generic, _) => true,
            (SpaceKind::Cluster, SpaceKind::Workgroup) => true,
            // The 32-bit constant space is the low end of the 64-bit one.
            (SpaceKind::Constant, SpaceKind::Constant) => {
                !matches!(self.architecture, Architecture::Spirv | Architecture::Described(_))
                    && self.number < inner.number
            }
            _ => false,
        }
    }

    /// Whether an address of this space and one of `other` can be the same memory. Symmetric; true
    /// when unknown.
    #[must_use]
    pub fn may_overlap(self, other: AddressSpace) -> bool {
        use SpaceKind::{Buffer, Constant, Generic, Global, Region, Unknown};
        if self.contains(other) || other.contains(self) || self.architecture != other.architecture {
            return true;
        }
        match (self.kind(), other.kind()) {
            (Unknown, _) | (_, Unknown) => true,
            // The global data share overlaps with no other space.
            (Region, kind) | (kind, Region) => kind == Region,
            // Memory that one descriptor or pointer calls constant can be global to another: both
            // are device memory. NVIDIA's constant bank is separate.
            (Global | Constant | Buffer, Global | Constant | Buffer) => {
                self.architecture != Architecture::Nvptx || self.kind() == other.kind()
            }
            (Generic, Buffer) | (Buffer, Generic) => true,
            (Generic, _) | (_, Generic) => self.architecture == Architecture::Spirv,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    const ALL: [(Architecture, &[u32]); 4] = [
        (Architecture::Amdgcn, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (Architecture::Nvptx, &[0, 1, 3, 4, 5, 7, 101, 2]),
        (Architecture::Spirv, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]),
        (Architecture::Generic, &[0, 1]),
    ];

    /// One row per space: overlaps with (`.` no, `o` may), and contains (`C`).
    fn matrix(architecture: Architecture, numbers: &[u32]) -> String {
        let spaces: Vec<_> = numbers.iter().map(|n| AddressSpace::of(architecture, *n)).collect();
        let mut text = String::new();
        for row in &spaces {
            let cells: String = spaces
                .iter()
                .map(|column| match (row.contains(*column), row.may_overlap(*column)) {
                    (true, _) => 'C',
                    (false, true) => 'o',
                    (false, false) => '.',
                })
                .collect();
            text += &format!("{:<3} {cells} {:?} {}\n", row.number(), row.kind(), row.name());
        }
        text
    }

    #[test]
    fn amdgpu() {
        expect![[r#"
            0   CC.CCCCoooo Generic flat
            1   oC..o.ooooo Global global
            2   ..C.......o Region region
            3   o..C......o Workgroup local
            4   oo..C.Coooo Constant constant
            5   o....C....o Private private
            6   oo..o.Coooo Constant constant32
            7   oo..o.oCooo Buffer buffer fat pointer
            8   oo..o.ooCoo Buffer buffer resource
            9   oo..o.oooCo Buffer buffer strided pointer
            10  ooooooooooC Unknown unknown
        "#]]
        .assert_eq(&matrix(ALL[0].0, ALL[0].1));
    }

    #[test]
    fn nvptx() {
        expect![[r#"
            0   CCCCCCCo Generic generic
            1   oC.....o Global global
            3   o.C..o.o Workgroup shared
            4   o..C...o Constant const
            5   o...C..o Private local
            7   o.C..C.o Cluster shared::cluster
            101 o.....Co Parameter param
            2   oooooooC Unknown unknown
        "#]]
        .assert_eq(&matrix(ALL[1].0, ALL[1].1));
    }

    #[test]
    fn spirv() {
        expect![[r#"
            0   C...o.........o Private Function
            1   .Co.ooo..o.oooo Global CrossWorkgroup
            2   .oC.ooo..o.oooo Constant UniformConstant
            3   ...Co.........o Workgroup Workgroup
            4   CCoCCCCoooooooo Generic Generic
            5   .oo.oCo..o.oooo Global DeviceOnlyINTEL
            6   .oo.ooC..o.oooo Global HostOnlyINTEL
            7   ....o..C......o Input Input
            8   ....o...C.....o Private Output
            9   .oo.ooo..C.oooo Constant CodeSectionINTEL
            10  ....o.....C...o Private Private
            11  .oo.ooo..o.Cooo Global StorageBuffer
            12  .oo.ooo..o.oCoo Constant Uniform
            13  .oo.ooo..o.ooCo Constant PushConstant
            14  ooooooooooooooC Unknown unknown
        "#]]
        .assert_eq(&matrix(ALL[2].0, ALL[2].1));
    }

    #[test]
    fn containment_is_an_order_and_overlap_is_symmetric() {
        for (architecture, numbers) in ALL {
            let spaces: Vec<_> =
                numbers.iter().map(|n| AddressSpace::of(architecture, *n)).collect();
            for a in &spaces {
                assert!(a.contains(*a) && a.may_overlap(*a));
                for b in &spaces {
                    assert_eq!(a.may_overlap(*b), b.may_overlap(*a));
                    assert!(!a.contains(*b) || a.may_overlap(*b));
                    assert!(a == b || !(a.contains(*b) && b.contains(*a)));
                    // If a space contains private memory, it must not count as shared.
                    assert!(
                        !(a.contains(*b) && b.may_be_private(false)) || a.may_be_private(false)
                    );
                    for c in &spaces {
                        assert!(!(a.contains(*b) && b.contains(*c)) || a.contains(*c));
                    }
                }
            }
        }
    }

    #[test]
    fn parameters_are_shared_in_kernels_only() {
        let parameter = AddressSpace::of(Architecture::Nvptx, 101);
        assert!(parameter.may_be_private(false) && !parameter.may_be_private(true));
        assert!(AddressSpace::of(Architecture::Nvptx, 0).may_be_private(true));
        assert!(AddressSpace::of(Architecture::Amdgcn, 77).may_be_private(true));
        assert!(!AddressSpace::of(Architecture::Amdgcn, 3).may_be_private(false));
    }
}
