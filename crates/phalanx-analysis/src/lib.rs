//! Pure functions from IR and graph facts to facts: affect map, divergence.

pub mod affect;
pub mod divergence;

pub use affect::{AffectMap, User, UserKind, Value};
pub use divergence::Divergence;
