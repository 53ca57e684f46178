//! Copies that a whole workgroup executes together, and blocks that the lanes of a sub-group read
//! or write together.
//!
//! ```text
//! async_work_group_copy(to, from, 64, 0)         // 64 elements, one behind the other
//! async_work_group_copy_2D2D(...)                // lines of elements, with room between them
//! intel_sub_group_block_read2(p)                 // lane 3 of 8 gets p[3] and p[11]
//! ```
//!
//! The first thread of the workgroup that comes to a copy executes it. The others may read the
//! result after they have waited for the event, which is a barrier. In a block each lane accesses
//! its own places.
//!
//! Cost: O(elements) for copies, O(components) for blocks.

use phalanx_ir::{InstData, Type};

use super::{Result, arg, operations::Copy};
use crate::{
    coordinates::Coordinates,
    fault::FaultKind,
    memory::Region,
    ops,
    shape::Shape,
    value::Value,
    world::{World, place},
};

/// Workgroup memory is smaller than this; a larger copy would take too long.
const MOST: u64 = 1 << 32;

fn number(args: &[Value], at: usize) -> Result<u64> {
    match args.get(at).and_then(Value::bits) {
        Some(found) => Ok(found as u64),
        None => Err(FaultKind::undefined("an argument of a copy is poison")),
    }
}

/// The product of these numbers: how many bytes are copied.
fn bounded(factors: &[u64]) -> Result<u64> {
    let bytes = factors.iter().try_fold(1u64, |bytes, &factor| bytes.checked_mul(factor));
    match bytes.filter(|&bytes| bytes <= MOST) {
        Some(bytes) => Ok(bytes),
        None => Err(FaultKind::undefined("a copy of more bytes than workgroup memory has")),
    }
}

/// Copies element by element; the accesses are those of the executing thread.
pub(super) fn copy(
    world: &mut World<'_>,
    copy: Copy,
    types: &[Type],
    args: &[Value],
) -> Result<()> {
    let count = number(args, 2)?;
    let stride = if copy.is_strided { number(args, 3)? } else { 1 };
    let program = world.program;
    let to = place(program, types[0], &arg(args, 0), "store")?;
    let from = place(program, types[1], &arg(args, 1), "load")?;
    let part = program.shapes.alloc_size(copy.ty);
    let element = part * u64::from(copy.parts);
    bounded(&[count, element])?;
    let at = |(region, base): (Region, u64), number: u64, offset: u64| {
        let apart = if region == Region::Shared { 1 } else { stride };
        let bytes = number.wrapping_mul(apart).wrapping_mul(element);
        (region, base.wrapping_add(bytes).wrapping_add(offset))
    };
    for number in 0..count {
        for offset in (0..u64::from(copy.parts)).map(|number| number * part) {
            let value = world.view.load(&program.shapes, copy.ty, at(from, number, offset))?;
            world.view.store(&program.shapes, copy.ty, &value, at(to, number, offset))?;
        }
    }
    Ok(())
}

/// Copies lines, and planes of lines where `has_planes`, byte by byte.
///
/// The arguments: destination and offset, source and offset, bytes of an element, elements of a
/// line, number of lines (of a plane), number of planes, and the distances between lines and
/// between planes: parameters of the source first, then of the destination. All but the bytes count
/// elements.
pub(super) fn copy_lines(
    world: &mut World<'_>,
    has_planes: bool,
    types: &[Type],
    args: &[Value],
) -> Result<()> {
    let n = |at: usize| number(args, at);
    let (element, line, lines) = (n(4)?, n(5)?, n(6)?);
    // The number of planes, and the distances of lines and planes in source and destination.
    let (planes, from_apart, to_apart) = match has_planes {
        false => (1, (n(7)?, 0), (n(8)?, 0)),
        true => (n(7)?, (n(8)?, n(9)?), (n(10)?, n(11)?)),
    };
    if bounded(&[element, line, lines, planes])? == 0 {
        return Ok(());
    }
    let program = world.program;
    let to = place(program, types[0], &arg(args, 0), "store")?;
    let from = place(program, types[2], &arg(args, 2), "load")?;
    let start = |(region, base): (Region, u64), offset: u64, apart: (u64, u64), line, plane| {
        let elements = apart.0.wrapping_mul(line).wrapping_add(apart.1.wrapping_mul(plane));
        let bytes = offset.wrapping_add(elements).wrapping_mul(element);
        (region, base.wrapping_add(bytes))
    };
    let (to_offset, from_offset) = (n(1)?, n(3)?);
    for plane in 0..planes {
        for row in 0..lines {
            let from = start(from, from_offset, from_apart, row, plane);
            let to = start(to, to_offset, to_apart, row, plane);
            for byte in 0..line.wrapping_mul(element) {
                let at = |(region, base): (Region, u64)| (region, base.wrapping_add(byte));
                let value = world.view.load(&program.shapes, Type::I8, at(from))?;
                world.view.store(&program.shapes, Type::I8, &value, at(to))?;
            }
        }
    }
    Ok(())
}

/// Components of a block: those of a lane are as many places apart as the sub-group has lanes.
pub(super) fn block(
    world: &mut World<'_>,
    is_store: bool,
    data: &InstData,
    types: &[Type],
    args: &[Value],
    thread: &Coordinates,
) -> Result<Value> {
    let program = world.program;
    let shapes = &program.shapes;
    let (Some(&pointer), Some(ty)) =
        (types.first(), if is_store { types.get(1).copied() } else { Some(data.ty) })
    else {
        return Err(FaultKind::undefined("a block without an address"));
    };
    let (region, base) = place(program, pointer, &arg(args, 0), "block access")?;
    let (component, count) = match *shapes.of(ty) {
        Shape::Vector { elem, len } => (elem, Some(len)),
        _ => (ty, None),
    };
    let size = shapes.store_size(ops::lane(shapes, component));
    let at = |number: u32| {
        let place = u64::from(number) * u64::from(thread.wave_size) + u64::from(thread.lane);
        (region, base.wrapping_add(place.wrapping_mul(size)))
    };
    if is_store {
        let whole = arg(args, 1);
        for number in 0..count.unwrap_or(1) {
            let one = if count.is_some() { whole.element(number as usize) } else { whole.clone() };
            world.view.store(shapes, component, &one, at(number))?;
        }
        return Ok(Value::Unit);
    }
    let Some(count) = count else { return world.view.load(shapes, component, at(0)) };
    let all = (0..count).map(|number| world.view.load(shapes, component, at(number)));
    Ok(Value::Many(all.collect::<Result<_>>()?))
}
