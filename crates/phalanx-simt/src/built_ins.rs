//! SPIR-V's built-in variables, which hold the position of a thread.
//!
//! `@__spirv_BuiltInGlobalInvocationId` and the like have one address, but another value in each
//! thread. They are placed in global memory. Before each instruction that may read memory, their
//! bytes are set for the current thread. So loads work however their addresses are computed.
//!
//! ```text
//! %at = select i1 %c, ptr addrspace(1) @__spirv_BuiltInLocalInvocationId, ptr addrspace(1) %p
//! %id = load i64, ptr addrspace(1) %at     ; the thread's own, if %c
//! ```
//!
//! The library table says what each name means: each variable has a function with the same result.
//! A variable that the table does not list, or that is not interpreted, holds the bits of unwritten
//! memory. O(variables) per load, if there are any.

use phalanx_ir::{Opcode, Type};

use crate::{
    alone::coordinate,
    coordinates::Coordinates,
    fault::FaultKind,
    memory::encode,
    program::BuiltIn,
    shape::Shape,
    unknown::State,
    value::{Value, mask},
    world::World,
};

impl BuiltIn {
    /// The value of the variable for a thread, as bytes.
    fn bytes(self, world: &World<'_>, at: Coordinates) -> Result<Vec<u8>, FaultKind> {
        let shapes = &world.program.shapes;
        let along = |dimension: u32, ty: Type| {
            let value = coordinate(world, at, self.what, &[Value::Bits(dimension.into())])?;
            let bits = shapes.bits(ty).unwrap_or(128);
            Ok(value.bits().map_or(value, |number| Value::Bits(number & mask(bits))))
        };
        let value = match *shapes.of(self.ty) {
            Shape::Vector { elem, len } => {
                Value::Many((0..len).map(|d| along(d, elem)).collect::<Result<_, FaultKind>>()?)
            }
            Shape::Int(_) => along(0, self.ty)?,
            _ => return Err(FaultKind::unsupported("a built-in variable of this type")),
        };
        let size = shapes.store_size(self.ty) as usize;
        let (mut bytes, mut states) = (vec![0; size], vec![State::Defined; size]);
        encode(shapes, self.ty, &value, &mut bytes, &mut states)?;
        Ok(bytes)
    }
}

/// Whether an instruction may read memory.
pub(crate) fn may_read(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Load | Opcode::AtomicRmw | Opcode::CmpXchg) || opcode.is_call()
}

/// Sets the variables for a thread.
pub(crate) fn set(world: &mut World<'_>, at: Coordinates) -> Result<(), FaultKind> {
    for &variable in world.program.built_ins() {
        let bytes = variable.bytes(world, at)?;
        world.view.global.set(variable.address, &bytes)?;
    }
    Ok(())
}
