//! Intrinsics that affect one thread only: positions in the launch, copies of memory, queries about
//! addresses.

use phalanx_ir::{InstData, Type, inst::Ordering};

use crate::{
    coordinates::Coordinates,
    fault::FaultKind,
    intrinsic::{self, Along, Coordinate, Intrinsic},
    library_memory,
    memory::Region,
    ops, sub_groups,
    unknown::State,
    value::{Value, mask},
    world::{World, place},
};

type Result<T> = std::result::Result<T, FaultKind>;

/// The result of an intrinsic that affects this thread only.
pub(crate) fn alone(
    world: &mut World<'_>,
    at: Coordinates,
    intrinsic: Intrinsic,
    data: &InstData,
    types: &[Type],
    args: &[Value],
) -> Result<Value> {
    let program = world.program;
    let shapes = &program.shapes;
    let arg = |i: usize| args.get(i).cloned().unwrap_or(Value::Poison);
    let width = || shapes.bits(data.ty).unwrap_or(32);
    Ok(match intrinsic {
        Intrinsic::Nothing => Value::Unit,
        Intrinsic::Assume => match arg(0) {
            given if program.follows_undef() && given != Value::bool(true) => {
                return Err(FaultKind::undefined("an assumption is not true"));
            }
            _ => Value::Unit,
        },
        Intrinsic::Fence(reach) => {
            world.fence = Some((Ordering::SeqCst, reach));
            Value::Unit
        }
        Intrinsic::First => arg(0),
        Intrinsic::Number(n) => Value::Bits(u128::from(n) & mask(width())),
        Intrinsic::Pure(op) => {
            let result = intrinsic::pure(op, shapes, data.ty, types, args)?;
            ops::as_promised_of(shapes, data, types, args, result)
        }
        Intrinsic::Coordinate(what) => coordinate(world, at, what, args)?,
        Intrinsic::LaneMask(what) => match coordinate(world, at, what, args)?.bits() {
            Some(lanes) => sub_groups::four(lanes & mask(at.wave_size)),
            None => Value::Poison,
        },
        Intrinsic::OfBallot(asked) => sub_groups::of_ballot(asked, at.lane, at.wave_size, args),
        Intrinsic::Access(access) => {
            library_memory::perform(world, access, data, types, args, &at)?
        }
        Intrinsic::Clock => Value::Bits(u128::from(world.clock) & mask(width())),
        Intrinsic::Trap => return Err(FaultKind::undefined("a trap was reached")),
        Intrinsic::Load => {
            let place = place(program, types[0], &arg(0), "load")?;
            world.view.load(shapes, data.ty, place)?
        }
        Intrinsic::IsShared | Intrinsic::IsPrivate | Intrinsic::IsGlobal => {
            let wanted = match intrinsic {
                Intrinsic::IsShared => Region::Shared,
                Intrinsic::IsPrivate => Region::Private,
                _ => Region::Global,
            };
            ops::lanes1(&arg(0), |a| {
                Ok(Value::bool(program.apertures.resolve(a as u64).0 == wanted))
            })?
        }
        Intrinsic::Copy | Intrinsic::Set => {
            let Some(size) = arg(2).bits().map(|size| size as u64) else {
                return Err(FaultKind::undefined("a copy of poison size"));
            };
            if size == 0 {
                return Ok(Value::Unit);
            }
            let to = place(program, types[0], &arg(0), "store")?;
            let (bytes, states) = if intrinsic == Intrinsic::Copy {
                let (region, address) = place(program, types[1], &arg(1), "load")?;
                let (region, address) = world.view.resolve(region, address);
                world.view.touch((region, address), size, false);
                let (bytes, states) = world.view.segment(region).read("load", address, size)?;
                (bytes.to_vec(), states.to_vec())
            } else {
                let (region, address) = world.view.resolve(to.0, to.1);
                // Checks the source before it allocates that many bytes.
                world.view.segment(region).read("store", address, size)?;
                let (byte, state) = (arg(1).bits().unwrap_or(0), State::of(&arg(1)));
                let state = state.unwrap_or(State::Defined);
                (vec![byte as u8; size as usize], vec![state; size as usize])
            };
            let (region, address) = world.view.resolve(to.0, to.1);
            world.view.touch((region, address), size, true);
            world.view.segment(region).write_raw(address, &bytes, &states)?;
            Value::Unit
        }
        Intrinsic::Collective(_)
        | Intrinsic::Barrier(_)
        | Intrinsic::Split(_)
        | Intrinsic::WorkGroup(_)
        | Intrinsic::Token(_) => {
            return Err(FaultKind::unsupported("a group operation of one thread"));
        }
    })
}

/// The result of a work-item function for a dimension. For a dimension that does not exist an index
/// is 0 and a size is 1, as in OpenCL.
fn along(at: Coordinates, what: Along, dimension: u128) -> u64 {
    let d = usize::try_from(dimension).unwrap_or(usize::MAX);
    let get = |of: [u32; 3], other: u64| of.get(d).map_or(other, |&n| u64::from(n));
    match what {
        Along::Thread => get(at.thread, 0),
        Along::Block => get(at.block, 0),
        Along::Global => get(at.block, 0) * get(at.block_size, 1) + get(at.thread, 0),
        Along::BlockSize => get(at.block_size, 1),
        Along::GridSize => get(at.grid_size, 1),
        Along::GlobalSize => get(at.grid_size, 1) * get(at.block_size, 1),
        Along::Offset => 0,
    }
}

/// What a thread knows of itself and of the launch.
pub(crate) fn coordinate(
    world: &World<'_>,
    at: Coordinates,
    what: Coordinate,
    args: &[Value],
) -> Result<Value> {
    let lanes = |mask_: u64| Value::Bits(u128::from(mask_) & mask(at.wave_size.max(32)));
    let own = 1u64 << at.lane;
    let count = |half: u64| -> Result<Value> {
        let (Some(Value::Bits(lanes)), Some(Value::Bits(start))) = (args.first(), args.get(1))
        else {
            return Ok(Value::Poison);
        };
        let below = (own - 1) >> (32 * half) & 0xffff_ffff & *lanes as u64;
        Ok(Value::Bits((start + u128::from(below.count_ones())) & mask(32)))
    };
    Ok(match what {
        Coordinate::Thread(d) => Value::Bits(at.thread[d].into()),
        Coordinate::Block(d) => Value::Bits(at.block[d].into()),
        Coordinate::BlockSize(d) => Value::Bits(at.block_size[d].into()),
        Coordinate::GridSize(d) => Value::Bits(at.grid_size[d].into()),
        Coordinate::Cluster(d) => Value::Bits((at.block[d] / at.cluster_size[d]).into()),
        Coordinate::ClusterCount(d) => Value::Bits((at.grid_size[d] / at.cluster_size[d]).into()),
        Coordinate::InCluster(d) => Value::Bits(at.in_cluster(d).into()),
        Coordinate::ClusterRank => Value::Bits(at.rank().into()),
        Coordinate::ClusterSize(d, less) => Value::Bits((at.cluster_size[d] - less).into()),
        Coordinate::ClusterBlocks(less) => {
            Value::Bits((at.cluster_size.iter().product::<u32>() - less).into())
        }
        Coordinate::Along(what) => match args.first().and_then(Value::bits) {
            Some(dimension) => Value::Bits(along(at, what, dimension).into()),
            None => Value::Poison,
        },
        Coordinate::Dimensions => Value::Bits(3),
        Coordinate::Linear => {
            let ([x, y, z], [width, height, _]) = (at.thread, at.block_size);
            Value::Bits(u128::from(x + width * (y + height * z)))
        }
        Coordinate::GlobalLinear => {
            let global = |what, dimension| u128::from(along(at, what, dimension));
            let position = [0, 1, 2].map(|d| global(Along::Global, d));
            let size = [0, 1].map(|d| global(Along::GlobalSize, d));
            Value::Bits(position[0] + size[0] * (position[1] + size[1] * position[2]))
        }
        Coordinate::Lane => Value::Bits(at.lane.into()),
        Coordinate::Wave => Value::Bits(at.wave.into()),
        Coordinate::WaveSize => Value::Bits(at.wave_size.into()),
        Coordinate::WaveThreads => {
            let threads: u32 = at.block_size.iter().product();
            Value::Bits(at.wave_size.min(threads - at.wave * at.wave_size).into())
        }
        Coordinate::WaveCount => {
            let threads: u32 = at.block_size.iter().product();
            Value::Bits(threads.div_ceil(at.wave_size).into())
        }
        Coordinate::LanesEqual => lanes(own),
        Coordinate::LanesBelow => lanes(own - 1),
        Coordinate::LanesUpTo => lanes(own | (own - 1)),
        Coordinate::LanesAbove => lanes(!(own | (own - 1))),
        Coordinate::LanesFrom => lanes(!(own - 1)),
        Coordinate::CountLow => count(0)?,
        Coordinate::CountHigh => count(1)?,
        Coordinate::DispatchPacket => Value::Bits(world.packets[0].into()),
        Coordinate::ImplicitArguments => Value::Bits(world.packets[1].into()),
    })
}
