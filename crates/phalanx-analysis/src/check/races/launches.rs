//! Chooses the sizes of workgroups in which a kernel is executed to look for races.
//!
//! If the size of workgroups is known, only that size is used. Otherwise several usual sizes are
//! used, and only faults in all of them count: an index such as `tid.y * 16 + tid.x` is right for
//! rows of 16 threads, and for no others.
//!
//! ```text
//! @tile = internal addrspace(3) global [16 x [16 x float]] undef    ; 16 x 16 threads are tried
//! ```
//!
//! An array may have a border around what the threads of a workgroup have, so that size is tried as
//! well. By itself it is no evidence: findings count only if a size of another kind has them, too.
//!
//! Dimensions on which no address of workgroup memory depends have one thread
//! ([`axes`](super::axes)). Sizes that do not fit an array of several dimensions are left out.
//!
//! O(instructions + variables).

use phalanx_ir::{Type, TypeKind};

use phalanx_target::{Architecture, LaunchFacts};

use super::{super::witness::exact_size, axes, program::Functions};

/// The largest size that is tried.
const MOST: u64 = 1024;
/// How many sizes are tried.
const SIZES: usize = 4;

/// A size of workgroups that is tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Size {
    pub(super) extents: [u32; 3],
    /// Whether it is that of an array without its border.
    pub(super) has_border: bool,
}

impl Size {
    fn new(extents: [u32; 3]) -> Size {
        Size { extents, has_border: false }
    }

    fn without_border(extents: [u32; 3]) -> Size {
        Size { extents, has_border: true }
    }
}

/// The sizes of workgroups that are tried, and whether there is only one possible size.
pub(super) fn sizes(functions: &Functions<'_>, tiles: &[Type]) -> (Vec<Size>, bool) {
    let launch = functions.program.launch;
    // Smaller workgroups at the edge of the grid do not count: others have the full size.
    let full = LaunchFacts { uniform_work_group_size: true, ..launch.clone() };
    if let Some(size) = exact_size(&full) {
        return (vec![Size::new(size)], true);
    }
    let axes = axes::of_workgroup_memory(functions);
    let all_extents: Vec<Vec<u32>> = tiles.iter().map(|&tile| extents(functions, tile)).collect();
    // Sizes that fit the arrays. Arrays smaller than a warp are more likely to be tables.
    let mut sizes: Vec<Size> = Vec::new();
    for extents in &all_extents {
        match (axes, &extents[..]) {
            ([_, false, false], &[length]) => sizes.push(Size::new([length, 1, 1])),
            ([false, true, false], &[length] | &[length, _]) => {
                sizes.push(Size::new([1, length, 1]));
            }
            ([_, true, false], &[rows, columns]) => {
                // A row may have one more element than needed, so that columns use all banks.
                let columns = columns & !1;
                sizes.push(Size::new([columns, rows, 1]));
                // With a border on both sides.
                let inner = [columns.saturating_sub(2), rows.saturating_sub(2), 1];
                sizes.push(Size::without_border(inner));
            }
            // Without a border, with one on one side, and with one on both.
            ([_, _, true], &[planes, rows, columns]) => {
                let size = [columns, rows, planes];
                let less = |by| Size::without_border(size.map(|extent| extent.saturating_sub(by)));
                sizes.extend([Size::new(size), less(1), less(2)]);
            }
            _ => {}
        }
    }
    let of_arrays = sizes.len();
    // What `__launch_bounds__` allows at most is what the kernel is made for.
    if let Some(most) = launch.max_threads().and_then(|most| u32::try_from(most).ok()) {
        match axes {
            [_, false, false] => sizes.push(Size::new([most, 1, 1])),
            [false, true, false] => sizes.push(Size::new([1, most, 1])),
            [_, true, false] if most == 1024 => sizes.push(Size::new([32, 32, 1])),
            _ => {}
        }
    }
    let usual = match axes {
        [_, false, false] => [[256, 1, 1], [128, 1, 1]],
        [false, true, false] => [[1, 256, 1], [1, 128, 1]],
        [_, true, false] => [[16, 16, 1], [32, 8, 1]],
        _ => [[8, 8, 4], [4, 4, 4]],
    };
    sizes.extend(usual.map(Size::new));
    // Clang bounds OpenCL kernels for AMD by 256 unless the program says otherwise.
    let is_amd = functions.program.target.architecture() == Architecture::Amdgcn;
    let is_stated = !(is_amd && launch.max_threads() == Some(256));
    let is_possible = |at: usize, size: &[u32; 3]| {
        let threads: u64 = size.iter().map(|&extent| u64::from(extent)).product();
        let least = if at < of_arrays { 32 } else { 128 };
        let is_bounded = is_stated || at >= of_arrays;
        (least..=MOST).contains(&threads)
            && (!is_bounded || launch.max_threads().is_none_or(|most| threads <= most))
            && (0..3).all(|axis| {
                (!is_bounded || size[axis] <= launch.max_extent(axis))
                    && size[axis].is_multiple_of(launch.extent_divisor(axis).max(1))
            })
    };
    let mut kept: Vec<Size> = Vec::new();
    for (at, size) in sizes.into_iter().enumerate() {
        match kept.iter_mut().find(|other| other.extents == size.extents) {
            Some(same) => same.has_border &= size.has_border,
            None if is_possible(at, &size.extents) => kept.push(size),
            None => {}
        }
    }
    // With one index for several dimensions of an array, no size has to fit.
    let fits = |size: &Size| all_extents.iter().all(|extents| fits(size.extents, extents));
    if (axes[1] || axes[2]) && kept.iter().any(fits) {
        kept.retain(fits);
    }
    kept.truncate(SIZES);
    // A kernel for small workgroups is tried with the largest size that it allows.
    if let (true, Some(most)) = (kept.is_empty(), launch.max_threads()) {
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let largest = match axes {
            [_, false, false] => [most, 1, 1],
            [false, true, false] => [1, most, 1],
            _ => [8, most / 8, 1],
        };
        kept.extend(is_possible(0, &largest).then(|| Size::new(largest)));
    }
    (kept, false)
}

/// Whether threads of a size have places of their own in an array with several dimensions, in this
/// order of its dimensions or with the last two exchanged. A dimension without length is not known.
fn fits(size: [u32; 3], extents: &[u32]) -> bool {
    let of_axes = |axes: [usize; 3]| {
        let order = axes.into_iter().map(|axis| size[axis]).skip(3 - extents.len());
        order.zip(extents).all(|(threads, &extent)| threads <= extent || extent == 0)
    };
    !matches!(extents.len(), 2 | 3) || of_axes([2, 1, 0]) || of_axes([2, 0, 1])
}

/// A small workgroup, for what is said of memory of unknown length: see
/// [`depends_on_size`](super::depends_on_size).
pub(super) fn small(functions: &Functions<'_>) -> [u32; 3] {
    match axes::of_workgroup_memory(functions) {
        [_, false, false] => [16, 1, 1],
        [false, true, false] => [1, 16, 1],
        [_, true, false] => [4, 4, 1],
        _ => [4, 2, 2],
    }
}

/// The extents of an array of arrays.
fn extents(functions: &Functions<'_>, tile: Type) -> Vec<u32> {
    let context = functions.program.kernel.code.context;
    let mut extents = Vec::new();
    let mut at = tile;
    while let TypeKind::Array { elem, len } = context.type_kind(at) {
        let Ok(len) = u32::try_from(*len) else { return Vec::new() };
        extents.push(len);
        at = *elem;
    }
    extents
}
