//! The target of a module: architecture, processor, wave width.
//!
//! # What
//!
//! A [`Target`] is made from the `target triple` of a module and the processor of the command line.
//! Functions can override the processor and its features by the attributes `"target-cpu"` and
//! `"target-features"`; [`Target::wave_width`] takes both into account, in LLVM's order: features
//! of the function, processor of the function, processor of the command line, default.
//!
//! # Wave width
//!
//! | architecture | width |
//! |---|---|
//! | AMDGPU, GFX6 to GFX9 and unknown processors | 64 |
//! | AMDGPU, GFX10 and later | 32, or 64 with `+wavefrontsize64` |
//! | NVPTX | 32 |
//! | others | unknown |
//!
//! An AMDGPU module without a processor is compiled for a processor with waves of 64. This holds
//! for kernels. Another function that names no processor runs in the waves of its callers; only an
//! analysis that knows the callers can tell their width.

use std::{fmt, sync::LazyLock};

use memchr::memmem::Finder;

use crate::machine::Machine;

/// The instruction set family, as far as divergence is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Architecture {
    /// AMD GPUs since GFX6.
    Amdgcn,
    /// AMD GPUs before GFX6. LLVM 22 does not compute divergence for them.
    R600,
    /// NVIDIA GPUs.
    Nvptx,
    /// SPIR-V, and SPIR before it.
    Spirv,
    /// Anything else: nothing is known about threads.
    Generic,
    /// A target that a driver describes.
    Described(Machine),
}

impl Architecture {
    /// The architecture named by the first component of a triple.
    #[must_use]
    pub fn from_triple(triple: &str) -> Architecture {
        let arch = triple.split('-').next().unwrap_or_default();
        match arch {
            "amdgcn" => Architecture::Amdgcn,
            "r600" => Architecture::R600,
            "nvptx" | "nvptx64" => Architecture::Nvptx,
            "spir" | "spir64" => Architecture::Spirv,
            // SPIR-V versions are part of the name: `spirv64v1.2`.
            _ if arch.starts_with("spirv") => Architecture::Spirv,
            _ => Architecture::Generic,
        }
    }

    /// Lower-case name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Architecture::Described(machine) => machine.name(),
            Architecture::Amdgcn => "amdgcn",
            Architecture::R600 => "r600",
            Architecture::Nvptx => "nvptx",
            Architecture::Spirv => "spirv",
            Architecture::Generic => "generic",
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The environment that loads kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum System {
    /// `amdhsa`: HIP, OpenCL and OpenMP on AMD GPUs.
    Amdhsa,
    /// `amdpal`: graphics.
    Amdpal,
    /// `mesa3d`.
    Mesa3d,
    /// `cuda`.
    Cuda,
    /// `nvcl`.
    Nvcl,
    /// Another one, or none named.
    Other,
}

/// The data layout of SPIR-V with addresses of 64 bits.
const SPIRV64: &str = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-\
                       n8:16:32:64-G1";

/// What a module is compiled for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    triple: Box<str>,
    architecture: Architecture,
    processor: Box<str>,
}

impl Target {
    /// The target of a triple and a processor; either may be empty.
    #[must_use]
    pub fn new(triple: &str, processor: &str) -> Target {
        Target {
            triple: triple.into(),
            architecture: Architecture::from_triple(triple),
            processor: processor.into(),
        }
    }

    /// The same target, with a driver's description if the triple names no known target.
    #[must_use]
    pub fn described(mut self, machine: Option<Machine>) -> Target {
        if let (Architecture::Generic, Some(machine)) = (self.architecture, machine) {
            self.architecture = Architecture::Described(machine);
        }
        self
    }

    /// The triple as written.
    #[must_use]
    pub fn triple(&self) -> &str {
        &self.triple
    }

    /// The architecture.
    #[must_use]
    pub fn architecture(&self) -> Architecture {
        self.architecture
    }

    /// The processor of the command line, empty if there was none.
    #[must_use]
    pub fn processor(&self) -> &str {
        &self.processor
    }

    /// The data layout that LLVM 22 gives to modules for this target that state none.
    #[must_use]
    pub fn default_data_layout(&self) -> Option<&'static str> {
        let mut parts = self.triple.split('-');
        let name = parts.next().unwrap_or_default();
        match (self.architecture, name) {
            (Architecture::Amdgcn, _) => Some(
                "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-\
                 p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-\
                 v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9",
            ),
            (Architecture::R600, _) => Some(
                "e-m:e-p:32:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-\
                 v1024:1024-v2048:2048-n32:64-S32-A5-G1",
            ),
            (Architecture::Nvptx, "nvptx64") => {
                Some("e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64")
            }
            (Architecture::Nvptx, _) => {
                Some("e-p:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64")
            }
            (Architecture::Spirv, "spir" | "spir64") => Some(SPIRV64),
            (Architecture::Spirv, _) => match name.split('v').nth(1).unwrap_or_default() {
                bits if bits.starts_with("32") => Some(
                    "e-p:32:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-\
                     v1024:1024-n8:16:32:64-G1",
                ),
                bits if bits.starts_with("64") => match parts.next().unwrap_or_default() {
                    "amd" if self.system() == System::Amdhsa => Some(
                        "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-\
                         v1024:1024-n32:64-S32-G1-P4-A0",
                    ),
                    "intel" => Some(
                        "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-\
                         v1024:1024-n8:16:32:64-G1-P9-A0",
                    ),
                    _ => Some(SPIRV64),
                },
                // A version may follow.
                version
                    if version.is_empty() || version.starts_with(|c: char| c.is_ascii_digit()) =>
                {
                    Some(
                        "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-\
                         v1024:1024-n8:16:32:64-G10",
                    )
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The environment, from the third component of the triple.
    #[must_use]
    pub fn system(&self) -> System {
        match self.triple.split('-').nth(2).unwrap_or_default() {
            os if os.starts_with("amdhsa") => System::Amdhsa,
            os if os.starts_with("amdpal") => System::Amdpal,
            os if os.starts_with("mesa3d") => System::Mesa3d,
            os if os.starts_with("cuda") => System::Cuda,
            os if os.starts_with("nvcl") => System::Nvcl,
            _ => System::Other,
        }
    }

    /// Threads per wave in a function with these `"target-cpu"` and `"target-features"` attributes
    /// (empty if absent).
    #[must_use]
    pub fn wave_width(&self, function_processor: &str, function_features: &str) -> Option<u32> {
        let processor =
            if function_processor.is_empty() { &*self.processor } else { function_processor };
        match self.architecture {
            Architecture::Amdgcn => Some(amdgpu_wave_width(processor, function_features)),
            Architecture::Nvptx => Some(32),
            Architecture::Described(machine) => machine.wave(),
            Architecture::R600 | Architecture::Spirv | Architecture::Generic => None,
        }
    }

    /// Whether converged threads of a wave execute each instruction at the same moment, so that
    /// reading a clock gives them one value. On NVIDIA devices since `sm_70` every thread has its
    /// own program counter.
    #[must_use]
    pub fn is_lockstep(&self, function_processor: &str) -> bool {
        let processor =
            if function_processor.is_empty() { &*self.processor } else { function_processor };
        match self.architecture {
            Architecture::Amdgcn | Architecture::R600 => true,
            Architecture::Nvptx => sm_version(processor).is_some_and(|version| version < 70),
            Architecture::Spirv | Architecture::Generic | Architecture::Described(_) => false,
        }
    }

    /// Whether each lane's private memory has its own addresses in the generic space, so that one
    /// private address becomes another generic address in each lane: GFX12.5. On other processors
    /// the same generic address of private memory means each lane's own.
    #[must_use]
    pub fn scratch_is_global(&self, function_processor: &str) -> bool {
        let processor =
            if function_processor.is_empty() { &*self.processor } else { function_processor };
        self.architecture == Architecture::Amdgcn
            && (processor.starts_with("gfx125") || processor == "gfx12-5-generic")
    }

    /// The number of lanes among which `ds_bpermute` exchanges values: those of a wave on GFX8,
    /// GFX9 and GFX12, those of half a wave on GFX10 and GFX11. None for processors for which that
    /// is not known.
    #[must_use]
    pub fn permuted_lanes(&self, function_processor: &str) -> Option<u32> {
        let processor =
            if function_processor.is_empty() { &*self.processor } else { function_processor };
        if self.architecture != Architecture::Amdgcn {
            return None;
        }
        match gfx_generation(processor) {
            Some(10 | 11) => Some(32),
            Some(_) => Some(64),
            None => is_gfx8_or_9(processor).then_some(64),
        }
    }

    /// Whether waves are packed from threads in the order of their linear number.
    #[must_use]
    pub fn packs_waves_linearly(&self) -> bool {
        matches!(self.architecture, Architecture::Amdgcn | Architecture::Nvptx)
    }

    /// Whether LLVM 22 computes divergence for this target at all; on others its answer is "all
    /// uniform".
    #[must_use]
    pub fn llvm_has_divergence(&self) -> bool {
        matches!(self.architecture, Architecture::Amdgcn | Architecture::Nvptx)
    }
}

/// `sm_90a` is 90.
fn sm_version(processor: &str) -> Option<u32> {
    let digits = processor.strip_prefix("sm_")?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// The wave width that LLVM 22 uses for `processor` with comma-separated `features`.
///
/// An explicit `+wavefrontsize64` wins over `+wavefrontsize32`. Turning the current width off has
/// no effect.
fn amdgpu_wave_width(processor: &str, features: &str) -> u32 {
    let mut enabled = [false; 2];
    // Lists are long: only entries with this word are parsed.
    static WORD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("wavefrontsize"));
    for at in WORD.find_iter(features.as_bytes()) {
        let start = features[..at].rfind(',').map_or(0, |comma| comma + 1);
        let end = features[at..].find(',').map_or(features.len(), |comma| at + comma);
        match features[start..end].trim() {
            "+wavefrontsize32" => enabled[0] = true,
            "-wavefrontsize32" => enabled[0] = false,
            "+wavefrontsize64" => enabled[1] = true,
            "-wavefrontsize64" => enabled[1] = false,
            _ => {}
        }
    }
    match enabled {
        [_, true] => 64,
        [true, false] => 32,
        [false, false] if gfx_generation(processor).is_some_and(|generation| generation >= 10) => {
            32
        }
        [false, false] => 64,
    }
}

/// The generation of a processor that LLVM 22 knows: 10 for `gfx1030` and `gfx10-3-generic`. `None`
/// for unknown processors and for those before GFX10.
fn gfx_generation(processor: &str) -> Option<u32> {
    const GENERIC: [(&str, u32); 4] = [
        ("gfx10-1-generic", 10),
        ("gfx10-3-generic", 10),
        ("gfx11-generic", 11),
        ("gfx12-generic", 12),
    ];
    if let Some((_, generation)) = GENERIC.iter().find(|(name, _)| *name == processor) {
        return Some(*generation);
    }
    // The last two digits are minor version and stepping; the stepping is hexadecimal.
    let digits = processor.strip_prefix("gfx")?;
    if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    digits[..2].parse().ok().filter(|generation| (10..=12).contains(generation))
}

/// Whether a processor that LLVM 22 knows is of the eighth or ninth generation.
fn is_gfx8_or_9(processor: &str) -> bool {
    const NAMED: [&str; 9] = [
        "carrizo",
        "fiji",
        "gfx9-4-generic",
        "gfx9-generic",
        "iceland",
        "polaris10",
        "polaris11",
        "stoney",
        "tonga",
    ];
    let is_number =
        |digits: &str| digits.len() == 3 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let digits = processor.strip_prefix("gfx").filter(|digits| is_number(digits));
    digits.is_some_and(|digits| digits.starts_with(['8', '9'])) || NAMED.contains(&processor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triples() {
        let architecture = |triple| Architecture::from_triple(triple);
        assert_eq!(architecture("amdgcn-amd-amdhsa"), Architecture::Amdgcn);
        assert_eq!(architecture("amdgcn--"), Architecture::Amdgcn);
        assert_eq!(architecture("amdgcn"), Architecture::Amdgcn);
        assert_eq!(architecture("r600-mesa-mesa3d"), Architecture::R600);
        assert_eq!(architecture("nvptx64-nvidia-cuda"), Architecture::Nvptx);
        assert_eq!(architecture("nvptx--"), Architecture::Nvptx);
        assert_eq!(architecture("spirv64v1.2-unknown-vulkan"), Architecture::Spirv);
        assert_eq!(architecture("spir64-unknown-unknown"), Architecture::Spirv);
        assert_eq!(architecture("x86_64-pc-linux-gnu"), Architecture::Generic);
        assert_eq!(architecture("amdgcnx--"), Architecture::Generic);
        assert_eq!(architecture(""), Architecture::Generic);
        assert_eq!(Target::new("amdgcn-amd-amdpal", "").system(), System::Amdpal);
        assert_eq!(Target::new("nvptx64-nvidia-cuda", "").system(), System::Cuda);
        assert_eq!(Target::new("amdgcn", "").system(), System::Other);
    }

    #[test]
    fn amdgpu_wave_widths() {
        let width = |cpu, function_cpu, features| {
            Target::new("amdgcn-amd-amdhsa", cpu).wave_width(function_cpu, features).unwrap()
        };
        for cpu in [
            "",
            "generic",
            "tahiti",
            "gfx600",
            "gfx803",
            "gfx906",
            "gfx90a",
            "gfx942",
            "gfx9-generic",
            "odd",
        ] {
            assert_eq!(width(cpu, "", ""), 64, "{cpu}");
        }
        for cpu in [
            "gfx1010",
            "gfx1036",
            "gfx1100",
            "gfx1151",
            "gfx1201",
            "gfx1250",
            "gfx10-3-generic",
            "gfx12-generic",
        ] {
            assert_eq!(width(cpu, "", ""), 32, "{cpu}");
        }
        assert_eq!(width("gfx1030", "gfx906", ""), 64);
        assert_eq!(width("gfx906", "gfx1030", ""), 32);
        assert_eq!(width("", "gfx1030", "+dpp,+wavefrontsize64"), 64);
        assert_eq!(width("", "", "+wavefrontsize32"), 32);
        assert_eq!(width("", "", "+wavefrontsize32,+wavefrontsize64"), 64);
        assert_eq!(width("", "", "-wavefrontsize32,+wavefrontsize64"), 64);
        assert_eq!(width("", "", "+dpp, +wavefrontsize32 ,+gws"), 32);
        assert_eq!(width("", "", "+wavefrontsize32x,+xwavefrontsize32,wavefrontsize32"), 64);
        assert_eq!(width("", "", "+wavefrontsize32,-wavefrontsize32"), 64);
        assert_eq!(width("gfx1030", "", "-wavefrontsize32"), 32);
        assert_eq!(width("gfx1030", "", "-wavefrontsize64"), 32);
    }

    #[test]
    fn lanes_that_are_permuted() {
        let lanes = |cpu, of| Target::new("amdgcn-amd-amdhsa", cpu).permuted_lanes(of);
        for cpu in
            ["gfx803", "fiji", "gfx90a", "gfx942", "gfx9-4-generic", "gfx1201", "gfx12-generic"]
        {
            assert_eq!(lanes(cpu, ""), Some(64), "{cpu}");
        }
        for cpu in ["gfx1010", "gfx1036", "gfx1151", "gfx10-3-generic", "gfx11-generic"] {
            assert_eq!(lanes(cpu, ""), Some(32), "{cpu}");
        }
        for cpu in ["", "generic", "gfx700", "gfx1310", "odd"] {
            assert_eq!(lanes(cpu, ""), None, "{cpu}");
        }
        assert_eq!(lanes("gfx906", "gfx1030"), Some(32));
        assert_eq!(Target::new("nvptx64--", "gfx1030").permuted_lanes(""), None);
    }

    #[test]
    fn other_wave_widths_and_lockstep() {
        assert_eq!(Target::new("nvptx64-nvidia-cuda", "sm_90").wave_width("", ""), Some(32));
        assert_eq!(Target::new("spirv64--", "").wave_width("", ""), None);
        assert!(Target::new("amdgcn--", "").is_lockstep(""));
        assert!(Target::new("nvptx64--", "sm_60").is_lockstep(""));
        assert!(!Target::new("nvptx64--", "sm_60").is_lockstep("sm_90a"));
        assert!(!Target::new("nvptx64--", "").is_lockstep(""));
        assert!(!Target::new("nvptx64--", "sm_").is_lockstep(""));
    }
}
