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
//! O(instructions + variables).

use phalanx_ir::{Type, TypeKind};

use phalanx_target::LaunchFacts;

use super::{
    super::witness::exact_size,
    program::{Called, Functions, Register},
};

/// The largest size that is tried.
const MOST: u64 = 1024;
/// How many sizes are tried.
const SIZES: usize = 4;

/// The sizes of workgroups that are tried, and whether there is only one possible size.
pub(super) fn sizes(functions: &Functions<'_>, tiles: &[Type]) -> (Vec<[u32; 3]>, bool) {
    let launch = functions.program.launch;
    // Smaller workgroups at the edge of the grid do not count: others have the full size.
    let full = LaunchFacts { uniform_work_group_size: true, ..launch.clone() };
    if let Some(size) = exact_size(&full) {
        return (vec![size], true);
    }
    let axes = axes(functions);
    // Sizes that fit the arrays. Arrays smaller than a warp are more likely to be tables.
    let mut sizes: Vec<[u32; 3]> = Vec::new();
    for &tile in tiles {
        let extents = extents(functions, tile);
        match (axes, &extents[..]) {
            ([_, false, false], &[length]) => sizes.push([length, 1, 1]),
            ([_, true, false], &[rows, columns]) => {
                // A row may have one more element than needed, so that columns use all banks.
                let columns = columns & !1;
                sizes.push([columns, rows, 1]);
            }
            _ => {}
        }
    }
    let of_arrays = sizes.len();
    sizes.extend_from_slice(match axes {
        [_, false, false] => &[[256, 1, 1], [128, 1, 1]],
        [_, true, false] => &[[16, 16, 1], [32, 8, 1]],
        _ => &[[8, 8, 4], [4, 4, 4]],
    });
    let is_possible = |at: usize, size: &[u32; 3]| {
        let threads: u64 = size.iter().map(|&extent| u64::from(extent)).product();
        let least = if at < of_arrays { 32 } else { 128 };
        (least..=MOST).contains(&threads)
            && launch.max_threads().is_none_or(|most| threads <= most)
            && (0..3).all(|axis| {
                size[axis] <= launch.max_extent(axis)
                    && size[axis].is_multiple_of(launch.extent_divisor(axis).max(1))
            })
    };
    let mut kept: Vec<[u32; 3]> = Vec::new();
    for (at, size) in sizes.into_iter().enumerate() {
        if is_possible(at, &size) && !kept.contains(&size) && kept.len() < SIZES {
            kept.push(size);
        }
    }
    // A kernel for small workgroups is tried with the largest size that it allows.
    if let (true, Some(most)) = (kept.is_empty(), launch.max_threads()) {
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let largest = match axes {
            [_, false, false] => [most, 1, 1],
            _ => [8, most / 8, 1],
        };
        kept.extend(is_possible(0, &largest).then_some(largest));
    }
    (kept, false)
}

/// The dimensions along which threads read their indices.
fn axes(functions: &Functions<'_>) -> [bool; 3] {
    let mut axes = [false; 3];
    for function in &functions.all {
        let code = function.unit.code;
        let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        for inst in insts.filter(|&inst| code.body.inst(inst).opcode.is_call()) {
            if let Called::Register(Register::Thread(axis) | Register::Global(axis)) =
                function.called(inst)
            {
                axes[axis] = true;
            }
        }
    }
    axes
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
