//! The address of an access as a function of the thread, and sizes of what is accessed.

use phalanx_ir::{
    Const, Opcode, Type, TypeKind, Value as Operand, constant::ConstKind, layout::StructBodies,
    types::StructBody,
};

use smallvec::SmallVec;

use super::{Facts, Finder};
use crate::code::{TypeSizes, lane_size};
use crate::shape::{
    algebra,
    form::{Form, Rest},
    ids,
};

/// The largest number of nested constant expressions that are examined.
const STEPS: usize = 16;

impl Finder<'_> {
    /// The address as a form (base and offsets in 64 bits), and the number of its significant low
    /// bits: the index width of the narrowest address space on the way.
    pub(super) fn address(&mut self, pointer: Operand) -> Option<(Form, u32)> {
        let body = self.facts.code.body;
        let zero = self.shapes.exprs.constant(0, 64);
        let mut sum =
            Form { thread: zero, rest: Rest::default(), is_signed: true, is_unsigned: true };
        let mut pointer = pointer;
        let mut is_cast = false;
        let mut left = body.id_count();
        let mut bits = i64::BITS;
        loop {
            bits = bits.min(self.index_bits(self.type_of(pointer)?)?);
            let inst = pointer.as_inst();
            self.read.extend(inst.map(|inst| self.place.numbering.inst(inst)));
            // In unreachable code an address can be computed from itself.
            left = left.checked_sub(1)?;
            match inst.map(|inst| body.inst(inst).opcode) {
                Some(Opcode::GetElementPtr) => {
                    let inst = inst?;
                    let operands = body.operands(inst);
                    sum = self.plus_indices(sum, body.inst(inst).element_type(), &operands[1..])?;
                    pointer = operands[0];
                }
                // The windows of other spaces in the generic space are at addresses that are equal
                // in the wave.
                Some(Opcode::AddrSpaceCast | Opcode::BitCast) => {
                    is_cast = true;
                    pointer = body.operands(inst?)[0];
                }
                _ => break,
            }
        }
        if let Some(constant) = pointer.as_const() {
            let (sum, zeros) = self.plus_constant_address(sum, &mut bits, constant, is_cast);
            // The alignment of the rest says nothing about that of the base.
            let zeros = sum.rest.zeros.min(zeros);
            return Some((Form { rest: Rest { zeros, ..sum.rest }, ..sum }, bits));
        }
        let base = Rest::atom(self.place.numbering.operand(pointer)?, 0);
        let rest = sum.rest.plus(&base, 1, u64::MAX)?;
        Some((Form { rest, ..sum }, bits))
    }

    /// The index width of the address space of a pointer type.
    fn index_bits(&self, pointer: Type) -> Option<u32> {
        let Facts { code, env, .. } = self.facts;
        TypeSizes::new(code.context, env.layout).index_bits(pointer)
    }

    /// Adds the offsets in a constant address to `sum`. Also gives the number of low zero bits of
    /// the base of these offsets.
    fn plus_constant_address(
        &mut self,
        mut sum: Form,
        bits: &mut u32,
        mut at: Const,
        mut is_cast: bool,
    ) -> (Form, u8) {
        let context = self.facts.code.context;
        for _ in 0..STEPS {
            *bits = self.index_bits(context.const_data(at).ty).map_or(*bits, |own| own.min(*bits));
            let expr = match &context.const_data(at).kind {
                ConstKind::Global(name) => {
                    let align = (self.facts.alignment)(*name);
                    self.alignments.insert(*name, align);
                    return (sum, align.trailing_zeros() as u8);
                }
                // A null pointer that is cast to another space can be any address.
                ConstKind::Null if !is_cast => return (sum, 64),
                ConstKind::Expr(expr) => expr,
                _ => break,
            };
            match (expr.opcode, expr.source_type) {
                (Opcode::GetElementPtr, Some(ty)) => {
                    let indices: SmallVec<[Operand; 4]> =
                        expr.operands[1..].iter().map(|&index| index.into()).collect();
                    match self.plus_indices(sum.clone(), ty, &indices) {
                        Some(more) => sum = more,
                        None => break,
                    }
                }
                (Opcode::AddrSpaceCast | Opcode::BitCast, _) => is_cast = true,
                _ => break,
            }
            at = expr.operands[0];
        }
        (sum, 0)
    }

    /// Adds the offset of an address computation over a type to `sum`.
    fn plus_indices(&mut self, mut sum: Form, mut ty: Type, indices: &[Operand]) -> Option<Form> {
        for (number, &index) in indices.iter().enumerate() {
            let stride = if number == 0 {
                self.alloc_size(ty, 0)?
            } else {
                match self.facts.code.context.type_kind(ty).clone() {
                    TypeKind::Array { elem, .. } => {
                        ty = elem;
                        self.alloc_size(ty, 0)?
                    }
                    TypeKind::Vector { elem, .. } => {
                        ty = elem;
                        let layout = self.facts.env.layout.data_layout();
                        lane_size(self.facts.code.context, layout, ty)?
                    }
                    TypeKind::Struct { packed, fields } => {
                        let field = self.constant(index)? as usize;
                        let offset = self.offset(packed, &fields, field)?;
                        ty = *fields.get(field)?;
                        sum = self.plus_constant(sum, offset)?;
                        continue;
                    }
                    TypeKind::Named(name) => {
                        let StructBody::Fields { packed, fields } =
                            self.facts.env.layout.body(name)?
                        else {
                            return None;
                        };
                        let field = self.constant(index)? as usize;
                        let offset = self.offset(*packed, fields, field)?;
                        ty = *fields.get(field)?;
                        sum = self.plus_constant(sum, offset)?;
                        continue;
                    }
                    _ => return None,
                }
            };
            let width = self.place.width(self.type_of(index)?)?;
            self.read.extend(self.place.numbering.operand(index));
            let form = self.shapes.operand(self.place, index, width)?;
            let wide = match width {
                64 => form,
                _ => algebra::sign_extended(&mut self.shapes, &form, width, 64)
                    // Otherwise the index is an atom.
                    .or_else(|| self.opaque(index))?,
            };
            sum = algebra::plus_scaled(&mut self.shapes, &sum, &wide, stride)?;
        }
        Some(sum)
    }

    fn opaque(&mut self, index: Operand) -> Option<Form> {
        let value = self.place.numbering.operand(index)?;
        // As an atom, such a phi represents the rest of its form.
        if self.uniform.contains(&value) {
            return None;
        }
        let thread = self.shapes.exprs.constant(0, 64);
        let rest = Rest::atom(value, 0);
        Some(Form { thread, rest, is_signed: false, is_unsigned: false })
    }

    fn plus_constant(&mut self, sum: Form, offset: u64) -> Option<Form> {
        let offset = self.shapes.exprs.constant(offset, 64);
        let thread = self.shapes.exprs.binary(Opcode::Add, sum.thread, offset)?;
        Some(Form { thread, ..sum })
    }

    fn constant(&self, index: Operand) -> Option<u64> {
        ids::integer(self.place, index.as_const()?)
    }

    /// The size of a type in bytes. `None` if types nest too deeply.
    pub(super) fn size(&self, ty: Type, depth: u8) -> Option<u64> {
        if depth > 8 {
            return None;
        }
        let (context, layout) = (self.facts.code.context, self.facts.env.layout);
        match context.type_kind(ty) {
            TypeKind::Array { elem, len } => self.alloc_size(*elem, depth + 1)?.checked_mul(*len),
            TypeKind::Struct { packed, fields } => self.end(*packed, fields, depth),
            TypeKind::Named(name) => match layout.body(*name)? {
                StructBody::Fields { packed, fields } => self.end(*packed, fields, depth),
                StructBody::Opaque => None,
            },
            _ => layout.data_layout().store_size(context, ty),
        }
    }

    /// The distance in bytes from one element of a type to the next.
    fn alloc_size(&self, ty: Type, depth: u8) -> Option<u64> {
        let align = self.abi_align(ty)?;
        self.size(ty, depth)?.checked_next_multiple_of(align.max(1))
    }

    fn abi_align(&self, ty: Type) -> Option<u64> {
        let layout = self.facts.env.layout;
        layout.data_layout().abi_align(self.facts.code.context, layout, ty)
    }

    fn offset(&self, packed: bool, fields: &[Type], field: usize) -> Option<u64> {
        self.layout(packed, fields, field, 0).map(|(offset, _)| offset)
    }

    fn end(&self, packed: bool, fields: &[Type], depth: u8) -> Option<u64> {
        match fields.len().checked_sub(1) {
            Some(last) => self.layout(packed, fields, last, depth).map(|(_, end)| end),
            None => Some(0),
        }
    }

    /// Where a field starts and ends.
    fn layout(&self, packed: bool, fields: &[Type], field: usize, depth: u8) -> Option<(u64, u64)> {
        let (mut start, mut end) = (0u64, 0u64);
        for &ty in fields.get(..=field)? {
            let align = self.abi_align(ty)?;
            start = if packed { end } else { end.checked_next_multiple_of(align.max(1))? };
            end = start.checked_add(self.alloc_size(ty, depth + 1)?)?;
        }
        Some((start, end))
    }
}
