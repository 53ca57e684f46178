//! What a module says about the launches of a function: workgroup size, wave width.
//!
//! | statement | meaning |
//! |---|---|
//! | `!reqd_work_group_size` (OpenCL) | exact size, where groups are uniform |
//! | `"nvvm.reqntid"` | exact size; extents left out are 1 |
//! | `"nvvm.maxntid"` | bound on each extent |
//! | `"amdgpu-flat-work-group-size"="min,max"` | bound on the product |
//! | `"uniform-work-group-size"="true"` | groups at the edge of the grid are not smaller (always so in CUDA) |
//! | `"nvvm.cluster_dim"` | exact size of a cluster, in workgroups; extents left out are 1 |
//! | `"nvvm.maxclusterrank"` | bound on the workgroups of a cluster |
//! | `"target-cpu"`, `"target-features"` | wave width |

use phalanx_ir::{Context, FunctionHeader, attributes::AttrList, metadata::Metadata};
use phalanx_target::{Extent, LaunchFacts, QuadLayout, Target, target::Architecture};
use smallvec::SmallVec;

/// What is known of every launch of a function. O(attributes of the function).
#[must_use]
pub fn launch_facts(
    context: &Context,
    header: &FunctionHeader,
    metadata: &Metadata,
    target: &Target,
) -> LaunchFacts {
    let mut facts = launch_facts_by_attributes(context, header.attributes, target);
    if header.metadata.is_empty() {
        return facts;
    }
    if let Some(size) = metadata.required_work_group_size(context, &header.metadata) {
        let size: SmallVec<[u32; 4]> =
            size.iter().map(|&n| u32::try_from(n).unwrap_or(0)).collect();
        facts.workgroup_size = exactly(&size).unwrap_or_default();
    }
    facts
}

/// The same for a function without metadata: what its attributes alone say. O(attributes).
#[must_use]
pub fn launch_facts_by_attributes(
    context: &Context,
    attributes: AttrList,
    target: &Target,
) -> LaunchFacts {
    let texts = Texts::new(context, attributes);
    let bounds = numbers(texts.bounds);
    // Stated extents also bound the product: a launch may arrange as many threads in another shape.
    let product = bounds.iter().try_fold(1u32, |all, &n| all.checked_mul(n));
    let product = product.filter(|_| !bounds.is_empty());
    LaunchFacts {
        workgroup_size: exactly(&numbers(texts.exact)).unwrap_or_default(),
        max_flat_workgroup_size: product.or_else(|| numbers(texts.flat_size).get(1).copied()),
        uniform_work_group_size: target.architecture() == Architecture::Nvptx
            || texts.uniform_size == "true",
        wave_width: match target.packs_waves_linearly() {
            true => target.wave_width(texts.processor, texts.features),
            false => None,
        },
        max_cluster_size: numbers(texts.largest_cluster).first().copied().filter(|&n| n > 0),
        cluster_size: exactly(&numbers(texts.cluster)).unwrap_or_default(),
        quads: QuadLayout::Linear,
    }
}

/// The processor that attributes of a function name; empty where they name none. O(attributes).
#[must_use]
pub fn processor(context: &Context, attributes: AttrList) -> &str {
    let named = context.function_attr_text(attributes, "target-cpu").unwrap_or_default();
    std::str::from_utf8(named).unwrap_or_default()
}

/// Whether attributes of a function say how wide its waves are, or on which processor it runs. A
/// function that says neither, once it is inlined, runs in waves of its callers, whatever processor
/// the module is compiled for. O(attributes).
#[must_use]
pub fn states_wave_width(context: &Context, attributes: AttrList) -> bool {
    let texts = Texts::new(context, attributes);
    !texts.processor.is_empty() || texts.features.contains("wavefrontsize")
}

/// Exact extents from a stated list; extents left out are 1. None where nothing is stated, or an
/// extent is 0.
fn exactly(stated: &[u32]) -> Option<[Extent; 3]> {
    let is_possible = !stated.is_empty() && stated.iter().all(|&n| n > 0);
    let extent = |dimension: usize| Extent::Exactly(stated.get(dimension).copied().unwrap_or(1));
    is_possible.then(|| [0, 1, 2].map(extent))
}

/// String attributes of a function that say something about its launches; empty when absent.
#[derive(Default)]
struct Texts<'a> {
    processor: &'a str,
    features: &'a str,
    uniform_size: &'a str,
    flat_size: &'a str,
    bounds: &'a str,
    exact: &'a str,
    cluster: &'a str,
    largest_cluster: &'a str,
}

impl<'a> Texts<'a> {
    /// One pass over the attributes: asking for each by its key would look the key up in the
    /// context each time.
    fn new(context: &'a Context, attributes: AttrList) -> Self {
        let mut texts = Texts::default();
        for (key, value) in context.function_attrs(attributes).texts() {
            let text = match context.bytes(key) {
                b"target-cpu" => &mut texts.processor,
                b"target-features" => &mut texts.features,
                b"uniform-work-group-size" => &mut texts.uniform_size,
                b"amdgpu-flat-work-group-size" => &mut texts.flat_size,
                b"nvvm.maxntid" => &mut texts.bounds,
                b"nvvm.reqntid" => &mut texts.exact,
                b"nvvm.cluster_dim" => &mut texts.cluster,
                b"nvvm.maxclusterrank" => &mut texts.largest_cluster,
                _ => continue,
            };
            let bytes = value.map(|value| context.bytes(value)).unwrap_or_default();
            *text = std::str::from_utf8(bytes).unwrap_or_default();
        }
        texts
    }
}

/// The numbers of a list separated by commas; empty if an entry is no number.
fn numbers(text: &str) -> SmallVec<[u32; 4]> {
    if text.is_empty() {
        return SmallVec::new();
    }
    text.split(',').map(|n| n.trim().parse().ok()).collect::<Option<_>>().unwrap_or_default()
}
