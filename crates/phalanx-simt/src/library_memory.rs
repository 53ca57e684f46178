//! Functions of OpenCL C's library that read and write memory: atomics, vectors at an index,
//! copies.
//!
//! ```text
//! atomic_add(p, 1)                                        // relaxed, as in OpenCL 1
//! atomic_fetch_add(p, 1)                                  // sequentially consistent
//! atomic_fetch_add_explicit(p, 1, order, scope)           // as the arguments say
//! vload3(2, p)                                            // p[6], p[7], p[8]
//! vloada_half3(2, p)                                      // p[8], p[9], p[10]: four apart
//! ```
//!
//! An atomic is one access: no other thread comes between its load and its store. But
//! `atomic_compare_exchange` also reads and writes the memory that its second argument points to;
//! these accesses are not part of the atomic, and races on them are not detected. Copies and blocks
//! are in [`copies`].
//!
//! Cost: O(components).

mod copies;
pub(crate) mod operations;

use phalanx_ir::{InstData, Type, inst::Ordering};

use crate::{
    coordinates::Coordinates,
    fault::FaultKind,
    float,
    memory::Region,
    ops,
    reach::Reach,
    shape::FloatKind,
    value::{Value, mask},
    world::{World, place},
};

use operations::{Access, Atomic, Order, Rounding, Vector};

type Result<T> = std::result::Result<T, FaultKind>;

/// The result of a function.
pub(crate) fn perform(
    world: &mut World<'_>,
    access: Access,
    data: &InstData,
    types: &[Type],
    args: &[Value],
    thread: &Coordinates,
) -> Result<Value> {
    match access {
        Access::Atomic(atomic, order) => {
            world.atomic = ordering(atomic, order, args);
            self::atomic(world, atomic, data, types, args)
        }
        Access::Vector(vector) => self::vector(world, vector, data, types, args),
        Access::Block { is_store } => copies::block(world, is_store, data, types, args, thread),
        // The first thread copies for the whole workgroup.
        Access::Copy(copy) => {
            if thread.thread == [0; 3] {
                copies::copy(world, copy, types, args)?;
            }
            Ok(event(args))
        }
        Access::CopyLines { has_planes } => {
            if thread.thread == [0; 3] {
                copies::copy_lines(world, has_planes, types, args)?;
            }
            Ok(event(args))
        }
    }
}

/// The event of a copy, which is its last argument and its result.
fn event(args: &[Value]) -> Value {
    args.last().cloned().unwrap_or(Value::Poison)
}

fn arg(args: &[Value], at: usize) -> Value {
    args.get(at).cloned().unwrap_or(Value::Poison)
}

/// How an access is ordered, and among which threads; none if it is not atomic.
fn ordering(atomic: Atomic, order: Order, args: &[Value]) -> Option<(Ordering, Reach)> {
    let first = match order {
        Order::Plain => return None,
        Order::Is(ordering, reach) => return Some((ordering, reach)),
        Order::Given => match atomic {
            Atomic::Load | Atomic::TestAndSet | Atomic::Clear => 1,
            Atomic::CompareExchange => 3,
            _ => 2,
        },
    };
    let number = |at: usize| args.get(at).and_then(Value::bits);
    // Numbered as in clang: the orderings of C11, and the scopes of OpenCL.
    let ordering = match number(first) {
        Some(0) => Ordering::Monotonic,
        Some(1 | 2) => Ordering::Acquire,
        Some(3) => Ordering::Release,
        Some(4) => Ordering::AcqRel,
        _ => Ordering::SeqCst,
    };
    let is_pair = matches!(atomic, Atomic::CompareExchange);
    let reach = match number(first + 1 + usize::from(is_pair)) {
        Some(0) => Reach::Thread,
        Some(1) => Reach::Workgroup,
        Some(4) => Reach::Wave,
        _ => Reach::Device,
    };
    Some((ordering, reach))
}

fn atomic(
    world: &mut World<'_>,
    atomic: Atomic,
    data: &InstData,
    types: &[Type],
    args: &[Value],
) -> Result<Value> {
    let program = world.program;
    let shapes = &program.shapes;
    let Some(&pointer) = types.first() else {
        return Err(FaultKind::undefined("an atomic without an address"));
    };
    let at = place(program, pointer, &arg(args, 0), "atomic")?;
    let operand = |position: usize| types.get(position).copied().unwrap_or(data.ty);
    match atomic {
        Atomic::Load => world.view.load(shapes, data.ty, at),
        Atomic::Store => {
            world.view.store(shapes, operand(1), &arg(args, 1), at)?;
            Ok(Value::Unit)
        }
        Atomic::Update(op) | Atomic::Step(op) => {
            let by = match atomic {
                Atomic::Step(_) => Value::Bits(1),
                _ => arg(args, 1),
            };
            let old = world.view.load(shapes, data.ty, at)?;
            let new = ops::atomic(shapes, op, data.ty, &old, &by)?;
            world.view.store(shapes, data.ty, &new, at)?;
            Ok(old)
        }
        Atomic::Compare => {
            let old = world.view.load(shapes, data.ty, at)?;
            if old == arg(args, 1) {
                world.view.store(shapes, data.ty, &arg(args, 2), at)?;
            }
            Ok(old)
        }
        Atomic::CompareExchange => {
            let ty = operand(2);
            let expected = place(program, operand(1), &arg(args, 1), "atomic")?;
            let told = world.view.touched.take();
            let wanted = world.view.load(shapes, ty, expected)?;
            world.view.touched = told;
            let old = world.view.load(shapes, ty, at)?;
            let is_there = old == wanted;
            if is_there {
                world.view.store(shapes, ty, &arg(args, 2), at)?;
            } else {
                let told = world.view.touched.take();
                world.view.store(shapes, ty, &old, expected)?;
                world.view.touched = told;
            }
            Ok(Value::bool(is_there))
        }
        Atomic::TestAndSet => {
            let old = world.view.load(shapes, Type::I32, at)?;
            world.view.store(shapes, Type::I32, &Value::Bits(1), at)?;
            Ok(old.bits().map_or(Value::Poison, |old| Value::bool(old != 0)))
        }
        Atomic::Clear => {
            world.view.store(shapes, Type::I32, &Value::Bits(0), at)?;
            Ok(Value::Unit)
        }
    }
}

fn vector(
    world: &mut World<'_>,
    vector: Vector,
    data: &InstData,
    types: &[Type],
    args: &[Value],
) -> Result<Value> {
    let program = world.program;
    let shapes = &program.shapes;
    let first = usize::from(vector.is_store);
    let (value_type, Some(&pointer)) =
        (if vector.is_store { types[0] } else { data.ty }, types.get(first + 1))
    else {
        return Err(FaultKind::undefined("a vector without an address"));
    };
    let number = ops::lane(shapes, value_type);
    let in_memory = match vector.half {
        Some(_) => program.context().int_type(16),
        None => number,
    };
    let Some(index) = arg(args, first).bits() else {
        return Err(FaultKind::undefined("a vector at a poison index"));
    };
    let what = if vector.is_store { "store" } else { "load" };
    let (region, address) = place(program, pointer, &arg(args, first + 1), what)?;
    let size = shapes.store_size(in_memory);
    let start = (index as u64).wrapping_mul(u64::from(vector.stride)).wrapping_mul(size);
    let at = |lane: u8| -> (Region, u64) {
        (region, address.wrapping_add(start).wrapping_add(u64::from(lane) * size))
    };
    if vector.is_store {
        let whole = arg(args, 0);
        for lane in 0..vector.lanes {
            let one = if vector.lanes == 1 { whole.clone() } else { whole.element(lane.into()) };
            let one = match vector.half {
                Some(rounding) => {
                    let kind = ops::float_kind(shapes, number)?;
                    let half = |bits| Value::Bits(to_half(float::to_f64(kind, bits), rounding));
                    one.bits().map_or(Value::Poison, half)
                }
                None => one,
            };
            world.view.store(shapes, in_memory, &one, at(lane))?;
        }
        return Ok(Value::Unit);
    }
    let mut all = Vec::with_capacity(vector.lanes.into());
    for lane in 0..vector.lanes {
        let one = world.view.load(shapes, in_memory, at(lane))?;
        all.push(match vector.half {
            Some(_) => {
                let kind = ops::float_kind(shapes, number)?;
                let wide = |bits| float::from_f64(kind, float::to_f64(FloatKind::Half, bits));
                one.bits().map_or(Value::Poison, |bits| Value::Bits(wide(bits)))
            }
            None => one,
        });
    }
    Ok(match vector.lanes {
        1 => all.remove(0),
        _ => Value::Many(all.into()),
    })
}

/// The bits of the half that a number is rounded to.
fn to_half(value: f64, rounding: Rounding) -> u128 {
    let nearest = float::from_f64(FloatKind::Half, value);
    let found = float::to_f64(FloatKind::Half, nearest);
    let wants_more = match rounding {
        Rounding::Nearest => return nearest,
        Rounding::TowardZero => value < 0.0,
        Rounding::Up => true,
        Rounding::Down => false,
    };
    if value.is_nan() || found == value || (found > value) == wants_more {
        return nearest;
    }
    // The neighbour on the other side: halves of one sign are ordered like their bits.
    let is_negative = nearest >> 15 == 1;
    let next = if is_negative == wants_more { nearest.wrapping_sub(1) } else { nearest + 1 };
    next & mask(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_halves() {
        let all = |value: f64| {
            [Rounding::Nearest, Rounding::TowardZero, Rounding::Up, Rounding::Down]
                .map(|rounding| to_half(value, rounding))
        };
        assert_eq!(all(1.0), [0x3c00; 4]);
        // One and a quarter units in the last place.
        let step = 2f64.powi(-10);
        assert_eq!(all(1.0 + step / 4.0), [0x3c00, 0x3c00, 0x3c01, 0x3c00]);
        assert_eq!(all(1.0 + step * 0.75), [0x3c01, 0x3c00, 0x3c01, 0x3c00]);
        assert_eq!(all(-1.0 - step / 4.0), [0xbc00, 0xbc00, 0xbc00, 0xbc01]);
        assert_eq!(all(-1.0 - step * 0.75), [0xbc01, 0xbc00, 0xbc00, 0xbc01]);
        // Between zero and the smallest number, and beyond the largest.
        assert_eq!(all(1e-12), [0, 0, 1, 0]);
        assert_eq!(all(-1e-12), [0x8000, 0x8000, 0x8000, 0x8001]);
        assert_eq!(all(1e6), [0x7c00, 0x7bff, 0x7c00, 0x7bff]);
        assert_eq!(all(-1e6), [0xfc00, 0xfbff, 0xfbff, 0xfc00]);
    }
}
