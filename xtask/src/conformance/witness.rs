//! Executes a function that `print<uniformity>` printed, to see which of its values differ between lanes.
use std::collections::BTreeSet;

use phalanx_testing::compare::uniformity::{Place, Uniformity};

/// The places that were seen to differ.
pub(super) fn observe(_listing: &Uniformity) -> Result<BTreeSet<Place>, String> {
    Err("no oracle yet".to_owned())
}
