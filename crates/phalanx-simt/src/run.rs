//! Begins a launch: checks it, puts arguments and packets into memory, and hands over to the
//! schedule.

use phalanx_ir::attributes::AttrKind;

use crate::{
    fault::{Failure, Fault, FaultKind},
    launch::{Arg, Geometry, Launch, Report},
    memory::{Memory, Region},
    observe::Observer,
    program::Program,
    schedule,
    unknown::State,
    value::Value,
};

/// Runs a kernel to its end.
///
/// # Errors
/// A thread cannot continue, threads hang at barriers, the fuel is spent, or the launch is invalid.
pub fn run(
    program: &Program<'_>,
    function: &str,
    launch: &Launch,
    memory: &mut Memory,
    observer: &mut dyn Observer,
) -> Result<Report, Failure> {
    let refuse = |what: String| Err(Failure::Launch(what));
    let Some(code) = program.function(function) else {
        return refuse(format!("no function @{function}"));
    };
    let header = &program.code(code).header;
    if program.code(code).is_declaration() {
        return refuse(format!("@{function} has no body"));
    }
    if header.params.len() != launch.args.len() {
        let (wants, given) = (header.params.len(), launch.args.len());
        return refuse(format!("@{function} has {wants} parameters, {given} arguments are given"));
    }
    let geometry = Geometry::new(launch.grid, launch.block, launch.wave)?;
    let geometry = geometry.with_partial(launch.partial)?.with_clusters(launch.cluster)?;
    let setup = |kind| Failure::Fault(Fault { kind, thread: 0, site: None });
    // Workgroup memory begins with the variables; arguments come after.
    let mut shared = program.workgroup_memory(launch.shared).map_err(setup)?;
    let mut args = Vec::with_capacity(launch.args.len());
    for (position, arg) in launch.args.iter().enumerate() {
        let ty = header.params[position];
        let attributes = program.param_attributes(header.attributes, position);
        args.push(match arg {
            Arg::Shared(size) => {
                if program.region(ty).ok() != Some(Region::Shared) {
                    return refuse(format!(
                        "argument {position} of @{function} is no pointer to workgroup memory"
                    ));
                }
                Value::Bits(shared.allocate(*size, 16).map_err(setup)?.into())
            }
            Arg::Value(value) => {
                // The argument is passed by value: it lies in memory that all threads read.
                match attributes.type_of(AttrKind::ByVal).or(attributes.type_of(AttrKind::ByRef)) {
                    Some(inner) if value.elements().is_some() => {
                        let size = program.shapes.store_size(inner);
                        let address = memory.global.allocate(size, 16).map_err(setup)?;
                        let mut bytes = vec![0; size as usize];
                        let mut states = vec![State::Defined; size as usize];
                        crate::memory::encode(
                            &program.shapes,
                            inner,
                            value,
                            &mut bytes,
                            &mut states,
                        )
                        .map_err(setup)?;
                        memory.global.write_raw(address, &bytes, &states).map_err(setup)?;
                        Value::Bits(address.into())
                    }
                    _ => value.clone(),
                }
            }
        });
    }
    let packets = packets(program, &geometry, memory).map_err(setup)?;
    schedule::run(program, code, launch, geometry, &args, &shared, packets, memory, observer)
}

/// The dispatch packet and the implicit arguments of AMDGPU kernels, from which kernels read
/// extents.
///
/// Up to code object version 4, the implicit arguments begin with the offsets of the grid, which
/// are 0, and contain no extents.
fn packets(
    program: &Program<'_>,
    geometry: &Geometry,
    memory: &mut Memory,
) -> Result<[u64; 2], FaultKind> {
    let version =
        program.module.metadata.module_flag(program.context(), "amdhsa_code_object_version");
    let has_extents = version.is_none_or(|version| version >= 500);
    let Geometry { grid, block, last, .. } = *geometry;
    let mut packet = [0u8; 64];
    let mut implicit = [0u8; 256];
    let dimensions = if grid[2] * block[2] > 1 {
        3
    } else if grid[1] * block[1] > 1 {
        2
    } else {
        1
    };
    packet[2] = dimensions;
    implicit[64] = dimensions;
    for d in 0..3 {
        packet[4 + 2 * d..][..2].copy_from_slice(&(block[d] as u16).to_le_bytes());
        let (is_whole, threads) = (last[d] == block[d], (grid[d] - 1) * block[d] + last[d]);
        packet[12 + 4 * d..][..4].copy_from_slice(&threads.to_le_bytes());
        // The number of whole workgroups, and the extent of a partial one, if there is any.
        let (count, remainder) = if is_whole { (grid[d], 0) } else { (grid[d] - 1, last[d]) };
        implicit[4 * d..][..4].copy_from_slice(&count.to_le_bytes());
        implicit[12 + 2 * d..][..2].copy_from_slice(&(block[d] as u16).to_le_bytes());
        implicit[18 + 2 * d..][..2].copy_from_slice(&(remainder as u16).to_le_bytes());
    }
    if !has_extents {
        implicit = [0; 256];
    }
    let addresses = [memory.buffer(&packet)?, memory.buffer(&implicit)?];
    for address in addresses {
        memory.global.make_constant(address);
    }
    Ok(addresses)
}
