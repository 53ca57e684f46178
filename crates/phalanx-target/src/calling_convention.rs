//! Calling conventions: which functions are kernels, and which arguments are the same in every
//! thread.
//!
//! # What
//!
//! The calling convention of a function decides how threads enter it. All threads of a launch enter
//! a kernel with the same arguments. The hardware starts graphics shaders, with arguments marked
//! `inreg` in scalar registers and the others per lane. Other functions are called, with arguments
//! that may differ between threads.
//!
//! [`llvm_argument_is_uniform`] says which arguments LLVM 22 assumes to be uniform. The hardware
//! interface guarantees this, except that `byval` pointers of shaders are uniform as *addresses*
//! only.
//!
//! Names and numbers are those of LLVM IR.

use phalanx_ir::CallConv;

use crate::target::Architecture;

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

/// How threads enter a function of a convention on `architecture`.
///
/// A kernel convention of another target is an ordinary function, as in LLVM.
#[must_use]
pub fn entry(convention: CallConv, architecture: Architecture) -> Entry {
    if let Architecture::Described(machine) = architecture {
        return if machine.is_kernel(convention) { Entry::Kernel } else { Entry::Call };
    }
    let name = convention.text().unwrap_or_default();
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
        (Architecture::Generic, "amdgpu_kernel" | "spir_kernel" | "ptx_kernel") => Entry::Kernel,
        _ => Entry::Call,
    }
}

/// Whether LLVM 22's uniformity analysis assumes an argument to be uniform.
///
/// * AMDGPU: arguments of kernels; `inreg` arguments of every function; `byval` arguments of
///   shaders and of `amdgpu_gfx` functions.
/// * NVPTX: arguments of `ptx_kernel` functions.
/// * others: all.
#[must_use]
pub fn llvm_argument_is_uniform(
    architecture: Architecture,
    convention: CallConv,
    inreg: bool,
    byval: bool,
) -> bool {
    match architecture {
        Architecture::Amdgcn => match entry(convention, architecture) {
            Entry::Kernel => true,
            Entry::Shader => inreg || byval,
            Entry::Call => inreg || (byval && convention.text() == Some("amdgpu_gfx")),
        },
        Architecture::Nvptx => entry(convention, architecture) == Entry::Kernel,
        Architecture::R600
        | Architecture::Spirv
        | Architecture::Generic
        | Architecture::Described(_) => true,
    }
}

/// Whether an argument is the same in all threads of a wave, by the rules of the hardware
/// interface: arguments of kernels (the same in the whole launch), and `inreg` arguments on AMDGPU
/// (scalar registers: per wave).
///
/// The callers of ordinary functions are not considered; an analysis of the whole module knows
/// more.
#[must_use]
pub fn argument_is_wave_uniform(
    architecture: Architecture,
    convention: CallConv,
    inreg: bool,
) -> bool {
    match entry(convention, architecture) {
        Entry::Kernel => true,
        Entry::Shader | Entry::Call => inreg && architecture == Architecture::Amdgcn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_belong_to_their_target() {
        let kernel = |architecture, name: &str| {
            entry(CallConv::from_text(name.as_bytes()).unwrap(), architecture) == Entry::Kernel
        };
        assert!(kernel(Architecture::Amdgcn, "amdgpu_kernel"));
        assert!(kernel(Architecture::Amdgcn, "spir_kernel"));
        assert!(!kernel(Architecture::Amdgcn, "ptx_kernel"));
        assert!(kernel(Architecture::Nvptx, "ptx_kernel"));
        assert!(!kernel(Architecture::Nvptx, "spir_kernel"));
        assert!(kernel(Architecture::Spirv, "spir_kernel"));
        assert_eq!(entry(CallConv::C, Architecture::Amdgcn), Entry::Call);
        assert_eq!(entry(CallConv::AMDGPU_CS, Architecture::Amdgcn), Entry::Shader);
    }
}
