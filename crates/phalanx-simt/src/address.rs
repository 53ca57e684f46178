//! Evaluates `getelementptr`, and checks the promises of its flags.
//!
//! A step is an index times the size of the indexed type. Steps are added in the width of an offset
//! and wrap, unless a flag promises that they do not. `nuw` reads indices as unsigned, `nusw` as
//! signed; both are about the offset as well as the address. `inbounds` implies `nusw`, and
//! promises that the base and the address after each step lie in one object or at its end. A broken
//! promise gives poison. Offsets that are all zero break no promise.
//!
//! Objects are the allocations that a thread sees. The interpreter does not track from which object
//! a pointer was made. But allocations do not touch, so the address identifies its object. Two
//! kinds of addresses are not checked: addresses of code, and private memory once some of it was
//! freed, since a freed object keeps its bounds.

use phalanx_ir::{InstFlags, Opcode, Type, ValueKind};

use crate::{
    fault::FaultKind,
    memory::{Region, View},
    ops,
    program::{Program, is_code},
    shape::Shape,
    thread::state::Frame,
    unknown::worst,
    value::{Value, mask, signed},
    world::place,
};

/// The properties of a `getelementptr` besides its operands.
pub(crate) struct Path<'a, 'v> {
    /// The type that the first index steps over.
    source: Type,
    flags: InstFlags,
    /// The existing objects; none if only the address is computed and no promise is checked.
    view: Option<&'a View<'v>>,
}

impl<'a, 'v> Path<'a, 'v> {
    /// Computes addresses without checking promises.
    pub(crate) fn plain(source: Type) -> Path<'a, 'v> {
        Path { source, flags: InstFlags::NONE, view: None }
    }

    /// Checks promises against the memory that a thread sees.
    pub(crate) fn promising(source: Type, flags: InstFlags, view: &'a View<'v>) -> Path<'a, 'v> {
        Path { source, flags, view: Some(view) }
    }
}

/// Steps from an address, in the width of its offsets.
struct Walk<'a, 'v> {
    path: &'a Path<'a, 'v>,
    bits: u32,
    region: Option<Region>,
    base: u128,
    /// Bits of the base above the width of offsets; they do not change.
    above: u128,
    address: u128,
    /// The sum of the steps so far, unsigned.
    offset: u128,
    has_moved: bool,
    is_broken: bool,
}

impl Walk<'_, '_> {
    /// Adds a step: `index`, of `width` bits, times `size` bytes.
    fn step(&mut self, index: u128, width: u32, size: u64) {
        let all = mask(self.bits);
        let with_sign = signed(index, width);
        // Sign-extended, also if `nuw` reads it as unsigned.
        let wide = with_sign as u128 & all;
        let by = wide.wrapping_mul(size.into()) & all;
        let (offset, address) = (self.offset, self.address);
        self.offset = offset.wrapping_add(by) & all;
        self.address = address.wrapping_add(by) & all;
        self.has_moved |= with_sign != 0 && size != 0;
        let flags = self.path.flags;
        if flags.contains(InstFlags::NUW) {
            let is_cut = width > self.bits && index & !all != 0;
            let holds = !is_cut
                && wide.checked_mul(size.into()) == Some(by)
                && self.offset >= offset
                && self.address >= address;
            self.is_broken |= !holds;
        }
        if flags.contains(InstFlags::NUSW) || flags.contains(InstFlags::INBOUNDS) {
            let fits = |number: &i128| signed(*number as u128, self.bits) == *number;
            let step = with_sign.checked_mul(size.into()).filter(fits);
            let sum = step.and_then(|step| signed(offset, self.bits).checked_add(step));
            // Addresses are unsigned: a step must not pass zero or the end of the address space.
            let is_down = step.is_some_and(|step| step < 0);
            let passes = if is_down { self.address > address } else { self.address < address };
            let holds = fits(&with_sign) && sum.is_some_and(|sum| fits(&sum)) && !passes;
            self.is_broken |= !holds;
        }
        if flags.contains(InstFlags::INBOUNDS) && self.has_moved {
            self.is_broken |= !self.is_inside(self.address);
        }
    }

    /// Whether an address is in the object of the base, or at its end.
    fn is_inside(&self, address: u128) -> bool {
        let (Some(view), Some(region)) = (self.path.view, self.region) else { return true };
        let [from, to] = [self.base, address].map(|at| (self.above | at) as u64);
        is_code(from) || view.in_one_object(region, from, to)
    }

    fn result(&self) -> Value {
        match self.is_broken && self.has_moved {
            true => Value::Poison,
            false => Value::Bits(self.above | self.address),
        }
    }
}

impl Program<'_> {
    /// What `getelementptr` computes, lane by lane.
    pub(crate) fn address<'v>(
        &self,
        path: &Path<'_, '_>,
        base: &Value,
        base_type: Type,
        indices: impl Iterator<Item = (&'v Value, Type)> + Clone,
    ) -> Result<Value, FaultKind> {
        // The result has as many lanes as the base or an index.
        let lanes = std::iter::once(base).chain(indices.clone().map(|(value, _)| value));
        let count = lanes.clone().find_map(Value::elements).map(<[Value]>::len);
        if let Some(count) = count {
            let of = |value: &Value, i: usize| match value {
                Value::Many(lanes) => lanes.get(i).cloned().unwrap_or_default(),
                other => other.clone(),
            };
            let base_type = ops::lane(&self.shapes, base_type);
            let lane = |i: usize| {
                let indices: Vec<(Value, Type)> = indices
                    .clone()
                    .map(|(v, ty)| (of(v, i), ops::lane(&self.shapes, ty)))
                    .collect();
                let indices = indices.iter().map(|(value, ty)| (value, *ty));
                self.scalar_address(path, &of(base, i), base_type, indices)
            };
            return Ok(Value::Many((0..count).map(lane).collect::<Result<_, _>>()?));
        }
        self.scalar_address(path, base, base_type, indices)
    }

    fn scalar_address<'v>(
        &self,
        path: &Path<'_, '_>,
        base: &Value,
        base_type: Type,
        indices: impl Iterator<Item = (&'v Value, Type)> + Clone,
    ) -> Result<Value, FaultKind> {
        let all = indices.clone();
        // The address is unknown, and so is whether it is poison.
        let unknown = |given: &Value| match path.flags == InstFlags::NONE {
            true => worst(std::iter::once(given).chain(all.clone().map(|(index, _)| index))),
            false => Value::Poison,
        };
        let Value::Bits(base) = *base else { return Ok(unknown(base)) };
        let &Shape::Ptr { index_bits, bits, .. } = self.shapes.of(base_type) else {
            return Err(FaultKind::unsupported("an address of this type"));
        };
        let offset_bits = index_bits.min(bits);
        let low = base & mask(offset_bits);
        let mut walk = Walk {
            path,
            bits: offset_bits,
            region: self.region(base_type).ok(),
            base: low,
            above: base & !mask(offset_bits) & mask(bits),
            address: low,
            offset: 0,
            has_moved: false,
            is_broken: false,
        };
        let mut inside = path.source;
        for (position, (index, index_type)) in indices.enumerate() {
            let Value::Bits(index) = *index else { return Ok(unknown(index)) };
            let width = ops::int_bits(&self.shapes, index_type)?;
            if position == 0 {
                walk.step(index, width, self.shapes.alloc_size(inside));
                continue;
            }
            inside = match self.shapes.of(inside) {
                &Shape::Array { elem, stride, .. } => {
                    walk.step(index, width, stride);
                    elem
                }
                &Shape::Vector { elem, .. } => {
                    // There are no gaps between the elements of a vector.
                    walk.step(index, width, self.shapes.store_size(elem));
                    elem
                }
                Shape::Struct(members) => {
                    let member = usize::try_from(index).ok().and_then(|i| members.get(i));
                    let Some(&(ty, offset)) = member else {
                        return Err(FaultKind::unsupported("an index beyond a structure"));
                    };
                    walk.step(offset.into(), 128, 1);
                    ty
                }
                _ => return Err(FaultKind::unsupported("an index into a type without parts")),
            };
        }
        Ok(walk.result())
    }
}

impl Frame {
    /// The region and address of an access with this address operand.
    pub(crate) fn place(
        &self,
        program: &Program<'_>,
        address: phalanx_ir::Value,
        access: &'static str,
    ) -> Result<(Region, u64), FaultKind> {
        let function = program.functions[self.code].function;
        let ty = function.value_type(program.context(), address);
        let value = self.operand(program, address)?;
        if value.bits().is_none()
            && let Some((region, at)) = self.left(program, address)
        {
            let space = region.text();
            return Err(FaultKind::undefined(format!(
                "`{access}` at a poison address: a `getelementptr` goes to {space} address {at:#x} against its flags"
            )));
        }
        place(program, ty, &value, access)
    }

    /// The address that a `getelementptr` would have had, if a broken promise made it poison.
    fn left(&self, program: &Program<'_>, address: phalanx_ir::Value) -> Option<(Region, u64)> {
        let function = program.functions[self.code].function;
        let mut at = address;
        // Follows definitions upwards, so this ends unless the code is unreachable.
        for _ in 0..function.body.id_count() {
            let ValueKind::Inst(inst) = at.kind() else { return None };
            let (data, operands) = (function.body.inst(inst), function.body.operands(inst));
            let is_step = data.opcode == Opcode::GetElementPtr;
            if !is_step && data.opcode != Opcode::AddrSpaceCast {
                return None;
            }
            at = operands[0];
            let base = self.operand(program, at).ok()?;
            if base.bits().is_none() {
                continue;
            }
            let type_of = |value| function.value_type(program.context(), value);
            let mut indices = Vec::new();
            for &index in &operands[1..] {
                indices.push((self.operand(program, index).ok()?, type_of(index)));
            }
            let indices = indices.iter().map(|(value, ty)| (value, *ty));
            let path = Path::plain(is_step.then(|| data.element_type())?);
            let leads = program.address(&path, &base, type_of(at), indices).ok()?.bits()?;
            return Some((program.region(data.ty).ok()?, leads as u64));
        }
        None
    }
}
