//! Calling conventions: which functions are kernels, and which arguments are the same in every thread.
//!
//! # What
//!
//! The calling convention of a function decides how threads enter it. Kernels are entered by all threads of a launch
//! with the same arguments. Graphics shaders are entered by the hardware, with arguments marked `inreg` in scalar
//! registers and the others per lane. Other functions are called by threads with whatever they pass.
//!
//! Which arguments LLVM 22 takes for uniform is [`llvm_argument_is_uniform`]; it holds by construction of the hardware
//! interface, except that `byval` pointers of shaders are uniform as *addresses* only.
//!
//! Names and numbers are those of LLVM IR.

use crate::target::Architecture;

/// A calling convention by its number in LLVM IR: `cc 91` is `amdgpu_kernel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CallingConvention(pub u32);

/// How threads enter a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// By a launch: all threads with the same arguments.
    Kernel,
    /// By the graphics pipeline: `inreg` arguments are per wave.
    Shader,
    /// By a call.
    Call,
}

/// Names by number. Those without a name are written `cc N`.
const NAMES: [(u32, &str); 69] = [
    (0, "ccc"),
    (8, "fastcc"),
    (9, "coldcc"),
    (10, "ghccc"),
    (13, "anyregcc"),
    (14, "preserve_mostcc"),
    (15, "preserve_allcc"),
    (16, "swiftcc"),
    (17, "cxx_fast_tlscc"),
    (18, "tailcc"),
    (19, "cfguard_checkcc"),
    (20, "swifttailcc"),
    (21, "preserve_nonecc"),
    (64, "x86_stdcallcc"),
    (65, "x86_fastcallcc"),
    (66, "arm_apcscc"),
    (67, "arm_aapcscc"),
    (68, "arm_aapcs_vfpcc"),
    (69, "msp430_intrcc"),
    (70, "x86_thiscallcc"),
    (71, "ptx_kernel"),
    (72, "ptx_device"),
    (75, "spir_func"),
    (76, "spir_kernel"),
    (77, "intel_ocl_bicc"),
    (78, "x86_64_sysvcc"),
    (79, "win64cc"),
    (80, "x86_vectorcallcc"),
    (81, "hhvmcc"),
    (82, "hhvm_ccc"),
    (83, "x86_intrcc"),
    (84, "avr_intrcc"),
    (85, "avr_signalcc"),
    (87, "amdgpu_vs"),
    (88, "amdgpu_gs"),
    (89, "amdgpu_ps"),
    (90, "amdgpu_cs"),
    (91, "amdgpu_kernel"),
    (92, "x86_regcallcc"),
    (93, "amdgpu_hs"),
    (95, "amdgpu_ls"),
    (96, "amdgpu_es"),
    (97, "aarch64_vector_pcs"),
    (98, "aarch64_sve_vector_pcs"),
    (100, "amdgpu_gfx"),
    (102, "aarch64_sme_preservemost_from_x0"),
    (103, "aarch64_sme_preservemost_from_x2"),
    (104, "amdgpu_cs_chain"),
    (105, "amdgpu_cs_chain_preserve"),
    (106, "m68k_rtdcc"),
    (107, "graalcc"),
    (110, "riscv_vector_cc"),
    (111, "aarch64_sme_preservemost_from_x1"),
    (112, "riscv_vls_cc(32)"),
    (113, "riscv_vls_cc(64)"),
    (114, "riscv_vls_cc(128)"),
    (115, "riscv_vls_cc(256)"),
    (116, "riscv_vls_cc(512)"),
    (117, "riscv_vls_cc(1024)"),
    (118, "riscv_vls_cc(2048)"),
    (119, "riscv_vls_cc(4096)"),
    (120, "riscv_vls_cc(8192)"),
    (121, "riscv_vls_cc(16384)"),
    (122, "riscv_vls_cc(32768)"),
    (123, "riscv_vls_cc(65536)"),
    (124, "amdgpu_gfx_whole_wave"),
    (125, "cheriot_compartmentcallcc"),
    (126, "cheriot_compartmentcalleecc"),
    (127, "cheriot_librarycallcc"),
];

impl CallingConvention {
    /// The default, `ccc`.
    pub const C: CallingConvention = CallingConvention(0);
    /// `ptx_kernel`.
    pub const PTX_KERNEL: CallingConvention = CallingConvention(71);
    /// `spir_kernel`.
    pub const SPIR_KERNEL: CallingConvention = CallingConvention(76);
    /// `amdgpu_kernel`.
    pub const AMDGPU_KERNEL: CallingConvention = CallingConvention(91);

    /// The convention that LLVM IR calls `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<CallingConvention> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(number, _)| CallingConvention(*number))
    }

    /// The name in LLVM IR; `None` if it is written as a number.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        let at = NAMES.binary_search_by_key(&self.0, |(number, _)| *number).ok()?;
        Some(NAMES[at].1)
    }

    /// How threads enter a function of this convention on `architecture`.
    ///
    /// A kernel convention of another target is an ordinary function, as in LLVM.
    #[must_use]
    pub fn entry(self, architecture: Architecture) -> Entry {
        let name = self.name().unwrap_or_default();
        match (architecture, name) {
            (Architecture::Amdgcn | Architecture::R600, "amdgpu_kernel" | "spir_kernel")
            | (Architecture::Nvptx, "ptx_kernel")
            | (Architecture::Spirv, "spir_kernel") => Entry::Kernel,
            (
                Architecture::Amdgcn | Architecture::R600,
                "amdgpu_vs"
                | "amdgpu_gs"
                | "amdgpu_ps"
                | "amdgpu_cs"
                | "amdgpu_hs"
                | "amdgpu_ls"
                | "amdgpu_es"
                | "amdgpu_cs_chain"
                | "amdgpu_cs_chain_preserve",
            ) => Entry::Shader,
            (Architecture::Generic, "amdgpu_kernel" | "spir_kernel" | "ptx_kernel") => {
                Entry::Kernel
            }
            _ => Entry::Call,
        }
    }

    /// Whether the function is entered from outside the module rather than by a call.
    #[must_use]
    pub fn is_entry(self, architecture: Architecture) -> bool {
        // Chained shaders are continued from another one.
        self.entry(architecture) != Entry::Call && !matches!(self.0, 104 | 105)
    }
}

/// Whether LLVM 22's uniformity analysis takes an argument for uniform.
///
/// * AMDGPU: arguments of kernels; `inreg` arguments of every function; `byval` arguments of shaders and of
///   `amdgpu_gfx` functions.
/// * NVPTX: arguments of `ptx_kernel` functions.
/// * others: all.
#[must_use]
pub fn llvm_argument_is_uniform(
    architecture: Architecture,
    convention: CallingConvention,
    inreg: bool,
    byval: bool,
) -> bool {
    match architecture {
        Architecture::Amdgcn => match convention.entry(architecture) {
            Entry::Kernel => true,
            Entry::Shader => inreg || byval,
            Entry::Call => inreg || (byval && convention.name() == Some("amdgpu_gfx")),
        },
        Architecture::Nvptx => convention.entry(architecture) == Entry::Kernel,
        Architecture::R600 | Architecture::Spirv | Architecture::Generic => true,
    }
}

/// Whether an argument is the same in all threads of a wave, by the rules of the hardware interface: arguments of
/// kernels (the same in the whole launch), and `inreg` arguments on AMDGPU (scalar registers: per wave).
///
/// Callers of ordinary functions are not looked at; an analysis of the whole module knows more.
#[must_use]
pub fn argument_is_wave_uniform(
    architecture: Architecture,
    convention: CallingConvention,
    inreg: bool,
) -> bool {
    match convention.entry(architecture) {
        Entry::Kernel => true,
        Entry::Shader | Entry::Call => inreg && architecture == Architecture::Amdgcn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert!(NAMES.is_sorted_by(|a, b| a.0 < b.0));
        for (number, name) in NAMES {
            assert_eq!(CallingConvention::from_name(name), Some(CallingConvention(number)));
            assert_eq!(CallingConvention(number).name(), Some(name));
        }
        assert_eq!(CallingConvention(94).name(), None);
        assert_eq!(CallingConvention::AMDGPU_KERNEL.name(), Some("amdgpu_kernel"));
        assert_eq!(CallingConvention::SPIR_KERNEL.name(), Some("spir_kernel"));
        assert_eq!(CallingConvention::PTX_KERNEL.name(), Some("ptx_kernel"));
    }

    #[test]
    fn kernels_belong_to_their_target() {
        let kernel = |architecture, name| {
            CallingConvention::from_name(name).unwrap().entry(architecture) == Entry::Kernel
        };
        assert!(kernel(Architecture::Amdgcn, "amdgpu_kernel"));
        assert!(kernel(Architecture::Amdgcn, "spir_kernel"));
        assert!(!kernel(Architecture::Amdgcn, "ptx_kernel"));
        assert!(kernel(Architecture::Nvptx, "ptx_kernel"));
        assert!(!kernel(Architecture::Nvptx, "spir_kernel"));
        assert!(kernel(Architecture::Spirv, "spir_kernel"));
        assert!(!CallingConvention::C.is_entry(Architecture::Amdgcn));
        assert!(CallingConvention(90).is_entry(Architecture::Amdgcn));
    }
}
