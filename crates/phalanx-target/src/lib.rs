//! What each target does: sources of divergence, address spaces, convergent operations.

pub mod intrinsics;
pub mod sources;
pub mod transfer;

pub use intrinsics::{Intrinsic, IntrinsicInfo, LlvmUniformity};
pub use sources::{Extent, LaunchFacts, Scope, SourceSet, varying};
pub use transfer::{Transfer, TransferContext};
