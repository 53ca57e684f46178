//! What each target does: sources of divergence, wave operations, barriers, address spaces, calling
//! conventions.
//!
//! [Sources](phalanx_core::sources) and [launch facts](phalanx_core::launch) themselves are defined
//! by `phalanx-core`.
//!
//! Analyses of SIMT code are generic; facts about the target make them right for AMDGPU, NVPTX or
//! SPIR-V. This crate holds those facts and nothing else. It takes plain data (names, numbers, bit
//! sets), so it knows nothing of an IR, of files or of queries, and can be used with another IR.
//!
//! # Read first
//!
//! * [`SourceSet`] and [`varying`]: why threads hold different values, and which of the reasons
//!   apply among the threads of a wave, a workgroup, a cluster or a grid, given [`LaunchFacts`].
//! * [`intrinsics::lookup`]: what a called intrinsic does: sources of its results, memory,
//!   convergence, barriers.
//! * [`Transfer`]: the rule that derives the sources of a result from those of the operands.
//!
//! ```
//! use phalanx_target::transfer::Operand;
//! use phalanx_target::{LaunchFacts, Scope, SourceSet, TransferContext, intrinsics, varying};
//!
//! // A kernel launched with 32 x 8 threads on a device with waves of 32: rows are waves.
//! let facts = LaunchFacts::exact(32, 8, 1, 32);
//! assert!(!varying(Scope::Wave, &facts).intersects(SourceSet::Y));
//! assert!(varying(Scope::Workgroup, &facts).intersects(SourceSet::Y));
//!
//! // A vote over a condition that depends on `x` gives each wave one value.
//! let context = TransferContext::new(&facts, false);
//! let vote = intrinsics::lookup("llvm.nvvm.vote.any.sync").unwrap();
//! let operands = [Operand::constant(0xffff_ffff), Operand::of(SourceSet::X)];
//! let sources = vote.info.result.evaluate(&operands[..], &context);
//! assert_eq!(sources.to_string(), "{opaque.wave}");
//! assert!(!sources.intersects(varying(Scope::Wave, &facts)));
//! ```
//!
//! # Two kinds of answers
//!
//! What Phalanx assumes is in [`sources`], [`transfer`], [`intrinsics`], [`address_space`] and
//! [`inline_asm`]: soundness comes first, unknown means divergent. What *LLVM 22 says* is in
//! [`llvm_rules`] and in the functions whose names begin with `llvm_`. It is reproduced exactly,
//! even if coarse or wrong, so that results can be compared value by value. Both are tested against
//! the installed LLVM.
//!
//! # Modules
//!
//! | module | holds |
//! |---|---|
//! | [`sources`] | the lattice of sources, scopes |
//! | [`launch`] | what is known of a launch |
//! | [`transfer`] | rules from operands to results |
//! | [`intrinsics`] | the tables of all intrinsics of LLVM 22 for our targets |
//! | [`library`] | functions of OpenCL, SPIR-V, CUDA and HIP that are known by name |
//! | [`target`] | triples, processors, wave width |
//! | [`address_space`] | meaning, sharing, containment and overlap of address spaces |
//! | [`calling_convention`] | kernels, shaders, uniform arguments |
//! | [`inline_asm`] | inline assembly: constraints, registers of results, what the instructions do |
//! | [`llvm_rules`] | what LLVM 22's uniformity analysis assumes |

pub mod address_space;
pub mod calling_convention;
pub mod inline_asm;
pub mod intrinsics;
pub mod library;
pub mod llvm_rules;
pub mod machine;
pub mod target;
pub mod transfer;

pub use address_space::{AddressSpace, Sharing, SpaceKind};
pub use intrinsics::{Intrinsic, IntrinsicInfo, LlvmUniformity};
pub use machine::Machine;
pub use phalanx_core::{
    Extent, LaunchFacts, LaunchStatement, QuadLayout, Scope, SourceSet, launch, sources, varying,
};
pub use target::{Architecture, Target};
pub use transfer::{Transfer, TransferContext};
