//! What each target does: sources of divergence, address spaces, convergent operations.

pub mod address_space;
pub mod calling_convention;
pub mod data_layout;
pub mod inline_asm;
pub mod intrinsics;
pub mod llvm_rules;
pub mod sources;
pub mod target;
pub mod transfer;

pub use address_space::{AddressSpace, Sharing, SpaceKind};
pub use calling_convention::CallingConvention;
pub use data_layout::DataLayout;
pub use intrinsics::{Intrinsic, IntrinsicInfo, LlvmUniformity};
pub use sources::{Extent, LaunchFacts, Scope, SourceSet, varying};
pub use target::{Architecture, Target};
pub use transfer::{Transfer, TransferContext};
