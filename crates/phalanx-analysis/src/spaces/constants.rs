//! Which memories constants lead to, and what constant memory holds.
//!
//! The address of a variable leads to a memory of its space; a constant expression leads where its
//! base does. A constant variable that the linker cannot replace holds its initial value. If the
//! offset of a load is known, the member at that offset is looked up; otherwise all members count.
//! Only the host writes constant memory and the parameters of kernels, and the host knows only
//! addresses of device memory.
//!
//! ```text
//! @table = constant [2 x ptr] [ptr @a, ptr @b]   ; @a, @b: device memory
//! %p = load ptr, ptr @table                      ; leads to device memory
//! ```
//!
//! Each constant is looked at once, and so is each initial value that is read at an unknown offset.
//! O(parts of an initial value); for a load at a known offset from an array, O(elements that it
//! reads).

use std::ops::Range;

use phalanx_ir::{
    Const, GlobalName, Opcode, Type, TypeKind, Value, ValueKind, constant::ConstKind,
};
use phalanx_target::Architecture;

use super::rules::{Class, STEPS, SpaceRules, is_step};
use crate::code::SpaceSet;

impl SpaceRules<'_> {
    /// The set of a constant, from what its address is made from.
    pub(super) fn constant(&mut self, constant: Const) -> u64 {
        if let Some(&known) = self.constants.get(&constant) {
            return known;
        }
        let set = u64::from(self.walk(constant).bits());
        self.constants.insert(constant, set);
        set
    }

    fn walk(&mut self, constant: Const) -> SpaceSet {
        let context = self.code.context;
        let mut all = SpaceSet::EMPTY;
        // Each part, with its bound, and with where a null in it leads.
        let mut work = vec![(constant, SpaceSet::ALL, SpaceSet::NOWHERE)];
        let mut steps = 0;
        while let Some((constant, mut bound, mut null)) = work.pop() {
            steps += 1;
            if steps > 1 << 12 {
                return SpaceSet::ALL;
            }
            let data = context.const_data(constant);
            if let Class::Pointer(mask) = self.class(data.ty) {
                bound = bound.and(SpaceSet::from_bits(mask as u16) | SpaceSet::NOWHERE);
                if self.null_is_address(data.ty) {
                    null |= SpaceSet::from_bits(self.all_of(data.ty) as u16);
                }
            }
            match &data.kind {
                ConstKind::Undef | ConstKind::Poison => all |= SpaceSet::NOWHERE,
                ConstKind::Null | ConstKind::Zero => all |= null.and(bound),
                ConstKind::Int(int) if int.words().iter().all(|&word| word == 0) => {
                    all |= null.and(bound);
                }
                ConstKind::Global(name) => all |= bound.and(self.of_entity(*name, data.ty)),
                ConstKind::Aggregate(_) | ConstKind::Splat(_) => {
                    work.extend(data.kind.parts().iter().map(|&part| (part, bound, null)));
                }
                ConstKind::Expr(expr) => match (expr.opcode, expr.operands.first()) {
                    (
                        Opcode::GetElementPtr
                        | Opcode::AddrSpaceCast
                        | Opcode::BitCast
                        | Opcode::PtrToInt
                        | Opcode::IntToPtr,
                        Some(&base),
                    ) => {
                        if expr.opcode == Opcode::GetElementPtr {
                            all |= null.and(bound);
                        }
                        if !self.keeps_bits(expr.opcode, context.const_data(base).ty, data.ty) {
                            return SpaceSet::ALL.and(bound);
                        }
                        work.push((base, bound, null));
                    }
                    _ => all |= bound,
                },
                _ => all |= bound,
            }
        }
        all
    }

    /// Whether a conversion between a pointer and an integer leaves the address as it is.
    pub(super) fn keeps_bits(&self, opcode: Opcode, from: Type, to: Type) -> bool {
        let context = self.code.context;
        let (pointer, integer) = match opcode {
            Opcode::PtrToInt => (from, to),
            Opcode::IntToPtr => (to, from),
            _ => return true,
        };
        let TypeKind::Int(bits) = context.type_kind(integer) else { return false };
        match context.type_kind(pointer) {
            TypeKind::Ptr(space) => {
                let layout = self.sizes.layout();
                layout.data_layout().pointer_size(*space) == *bits
            }
            _ => false,
        }
    }

    fn of_entity(&mut self, name: GlobalName, ty: Type) -> SpaceSet {
        let all = SpaceSet::from_bits(self.all_of(ty) as u16);
        match self.facts.variable(name) {
            // The backend puts variables of the generic space into device memory.
            Some(_) if self.generic_of(ty) && self.architecture == Architecture::Nvptx => {
                SpaceSet::GLOBAL
            }
            Some(variable) if variable.is_defined => all.memories(),
            _ => all,
        }
    }

    /// Whether the host wrote the memory at an address: it holds addresses of device memory only.
    pub(super) fn is_written_by_host(&self, address: Value) -> bool {
        let space =
            self.type_of(address).and_then(|ty| self.code.context.type_kind(ty).address_space());
        match (self.architecture, space) {
            (Architecture::Amdgcn, Some(4)) => true,
            (Architecture::Nvptx, Some(101)) => self.is_kernel,
            _ => false,
        }
    }

    /// What a load from a constant variable gives; none if the address is not of such a variable,
    /// or its content is not known.
    pub(super) fn initial(&mut self, ty: Type, mut address: Value) -> Option<SpaceSet> {
        if !matches!(self.class(ty), Class::Pointer(_)) {
            return None;
        }
        let (code, context) = (self.code, self.code.context);
        let mut offset = Some(0i64);
        for _ in 0..STEPS {
            let inst = match address.kind() {
                ValueKind::Inst(inst) => inst,
                ValueKind::Const(_) => break,
                _ => return None,
            };
            match code.body.inst(inst).opcode {
                Opcode::GetElementPtr => {
                    let step = self.sizes.gep_offset(code.body, inst);
                    offset = offset.and_then(|at| at.checked_add(step?));
                }
                opcode if is_step(opcode) => {}
                _ => return None,
            }
            address = code.body.operands(inst)[0];
        }
        let mut constant = address.as_const()?;
        for _ in 0..STEPS {
            match &context.const_data(constant).kind {
                ConstKind::Expr(expr) => {
                    let (&base, indices) = expr.operands.split_first()?;
                    match (expr.opcode, expr.source_type) {
                        (Opcode::GetElementPtr, Some(ty)) => {
                            let of = context.const_data(constant).ty;
                            let indices = indices.iter().map(|index| Some(*index));
                            let step = self.sizes.offset(of, ty, indices);
                            offset = offset.and_then(|at| at.checked_add(step?));
                        }
                        (Opcode::AddrSpaceCast | Opcode::BitCast, _) => {}
                        _ => return None,
                    }
                    constant = base;
                }
                ConstKind::Global(name) => {
                    let initial = self.facts.variable(*name)?.initializer?;
                    return self.content(initial, offset, ty);
                }
                _ => return None,
            }
        }
        None
    }

    /// What an initial value holds at an offset, or at any: pointers and zeros only, or the member
    /// that is read.
    fn content(&mut self, initial: Const, offset: Option<i64>, wanted: Type) -> Option<SpaceSet> {
        if offset.is_some() {
            return self.look_up(initial, offset, wanted);
        }
        if let Some(&known) = self.contents.get(&(initial, wanted)) {
            return known;
        }
        let found = self.look_up(initial, offset, wanted);
        self.contents.insert((initial, wanted), found);
        found
    }

    fn look_up(&mut self, initial: Const, offset: Option<i64>, wanted: Type) -> Option<SpaceSet> {
        let context = self.code.context;
        let wanted_size = i64::try_from(self.sizes.store_size(wanted)?).ok()?;
        let mut all = SpaceSet::EMPTY;
        // Parts, with the offset of each if it matters.
        let mut work = vec![(initial, 0i64)];
        let mut steps = 0;
        while let Some((part, at)) = work.pop() {
            steps += 1;
            if steps > 1 << 14 {
                return None;
            }
            let data = context.const_data(part);
            let size = i64::try_from(self.sizes.store_size(data.ty)?).ok()?;
            if let Some(offset) = offset
                && (at.checked_add(size)? <= offset || offset.checked_add(wanted_size)? <= at)
            {
                continue;
            }
            let kind = context.type_kind(data.ty);
            match &data.kind {
                ConstKind::Null | ConstKind::Zero | ConstKind::Undef | ConstKind::Poison => {
                    all |= SpaceSet::NOWHERE;
                }
                ConstKind::Aggregate(parts) => match kind {
                    TypeKind::Struct { .. } | TypeKind::Named(_) => {
                        for (index, &inner) in parts.iter().enumerate() {
                            let within = self.sizes.member_offset(data.ty, index)?;
                            work.push((inner, at.checked_add(i64::try_from(within).ok()?)?));
                        }
                    }
                    _ => {
                        let Some(&first) = parts.first() else { continue };
                        let ty = context.const_data(first).ty;
                        let stride = match kind {
                            TypeKind::Vector { .. } => self.sizes.lane_size(ty)?,
                            _ => self.sizes.stride(ty)?,
                        };
                        let stride = i64::try_from(stride).ok()?;
                        // Of a long array, only the elements that are read.
                        let read = offset.map(|offset| (offset.saturating_sub(at), wanted_size));
                        for index in elements(parts.len(), stride, read) {
                            let within = stride.checked_mul(i64::try_from(index).ok()?)?;
                            work.push((parts[index], at.checked_add(within)?));
                        }
                    }
                },
                ConstKind::Splat(inner) => {
                    let TypeKind::Ptr(_) = context.type_kind(context.const_data(*inner).ty) else {
                        return None;
                    };
                    all |= SpaceSet::from_bits(self.constant(*inner) as u16);
                }
                ConstKind::Int(int) if int.words().iter().all(|&word| word == 0) => {
                    all |= SpaceSet::NOWHERE;
                }
                _ if matches!(kind, TypeKind::Ptr(_)) => {
                    all |= SpaceSet::from_bits(self.constant(part) as u16);
                }
                _ => return None,
            }
        }
        // A load that overlaps no member gives anything.
        (!all.is_empty()).then_some(all)
    }
}

/// The elements of an array that a load may touch: all if its offset and size are not known.
fn elements(count: usize, stride: i64, read: Option<(i64, i64)>) -> Range<usize> {
    let (Some((offset, size)), true) = (read, stride > 0) else { return 0..count };
    let place = |at: i64| usize::try_from(at.div_euclid(stride)).unwrap_or(0).min(count);
    place(offset)..place(offset.saturating_add(size).saturating_add(stride - 1))
}

#[cfg(test)]
mod tests {
    use super::elements;

    #[test]
    fn a_read_touches_the_elements_that_it_overlaps() {
        assert_eq!(elements(10, 8, None), 0..10);
        assert_eq!(elements(10, 8, Some((16, 8))), 2..3);
        assert_eq!(elements(10, 8, Some((12, 8))), 1..3);
        assert_eq!(elements(10, 8, Some((-4, 8))), 0..1);
        assert_eq!(elements(10, 8, Some((76, 8))), 9..10);
        assert_eq!(elements(10, 8, Some((800, 8))), 10..10);
        assert_eq!(elements(10, 0, Some((0, 8))), 0..10);
    }
}
