//! What a module says about the launches of a function: workgroup size, wave width.
//!
//! | statement | meaning |
//! |---|---|
//! | `!reqd_work_group_size` (OpenCL) | exact size, where groups are uniform |
//! | `"nvvm.reqntid"` | exact size; extents left out are 1 |
//! | `"nvvm.maxntid"` | bound on each extent |
//! | `"amdgpu-flat-work-group-size"="min,max"` | bound on the product |
//! | `"uniform-work-group-size"="true"` | groups at the edge of the grid are not smaller (always so in CUDA) |
//! | `"target-cpu"`, `"target-features"` | wave width |

use phalanx_ir::{Context, FunctionHeader, metadata::Metadata};
use phalanx_target::{Extent, LaunchFacts, Target, target::Architecture};

/// What is known of every launch of a function. O(attributes of the function).
#[must_use]
pub fn launch_facts(
    context: &Context,
    header: &FunctionHeader,
    metadata: &Metadata,
    target: &Target,
) -> LaunchFacts {
    let text = |key: &str| {
        let bytes = context.function_attr_text(header.attributes, key).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    };
    let mut facts = LaunchFacts {
        uniform_work_group_size: target.architecture() == Architecture::Nvptx
            || text("uniform-work-group-size") == "true",
        wave_width: match target.packs_waves_linearly() {
            true => target.wave_width(text("target-cpu"), text("target-features")),
            false => None,
        },
        ..LaunchFacts::default()
    };
    facts.max_flat_workgroup_size = numbers(text("amdgpu-flat-work-group-size")).get(1).copied();
    let bounds = numbers(text("nvvm.maxntid"));
    if !bounds.is_empty() {
        // The extents are bounds of a product as well: a launch may shape its threads differently.
        let product = bounds.iter().try_fold(1u32, |all, &n| all.checked_mul(n));
        facts.max_flat_workgroup_size = product.or(facts.max_flat_workgroup_size);
    }
    let exact = match metadata.required_work_group_size(context, &header.metadata) {
        Some(size) => size.iter().map(|&n| u32::try_from(n).unwrap_or(0)).collect(),
        None => numbers(text("nvvm.reqntid")),
    };
    if !exact.is_empty() && exact.iter().all(|&n| n > 0) {
        for (dimension, extent) in facts.workgroup_size.iter_mut().enumerate() {
            *extent = Extent::Exactly(exact.get(dimension).copied().unwrap_or(1));
        }
    }
    facts
}

/// The numbers of a list separated by commas; empty when one of them is none.
fn numbers(text: &str) -> Vec<u32> {
    if text.is_empty() {
        return Vec::new();
    }
    text.split(',').map(|n| n.trim().parse().ok()).collect::<Option<_>>().unwrap_or_default()
}
