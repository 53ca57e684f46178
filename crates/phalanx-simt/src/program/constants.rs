//! Evaluates constants: values, addresses, and constant expressions.
//!
//! Each constant is evaluated once. O(constants).

use phalanx_ir::{
    Const, ConstKind, InstData, InstFlags, Opcode, Type, constant::ConstExpr, inst::OperandRange,
};

use crate::{
    address::Path,
    fault::FaultKind,
    memory::Region,
    ops,
    shape::Shape,
    thread::freeze,
    unknown::{Frozen, is_followed},
    value::Value,
};

use super::{BLOCKS, Program};

/// Constants that nest deeper are refused.
const DEPTH: usize = 100;

impl Program<'_> {
    /// Chooses the bits of `undef`, which are zero by default. Create memory after this call, since
    /// initial values of variables may contain `undef`.
    pub fn set_undef(&mut self, bits: u128) {
        self.undef = Some(bits);
        self.evaluate_constants();
    }

    /// Keeps `undef` and unwritten memory unknown instead of choosing bits, and holds the program
    /// to its promises (`noundef` and the like): see [`unknown`](crate::unknown). Create memory
    /// after this call.
    pub fn follow_undef(&mut self) {
        self.undef = None;
        self.evaluate_constants();
    }

    pub(super) fn evaluate_constants(&mut self) {
        self.constants = (0..self.context().const_count())
            .map(|number| self.constant_of(Const::from_raw(number as u32), 0).ok())
            .collect();
    }

    pub(super) fn constant_of(&self, constant: Const, depth: usize) -> Result<Value, FaultKind> {
        if depth > DEPTH {
            return Err(FaultKind::unsupported("constants that nest so deep"));
        }
        let data = self.context().const_data(constant);
        let each = |elements: &[Const]| -> Result<Value, FaultKind> {
            let values = elements.iter().map(|&e| self.constant_of(e, depth + 1));
            Ok(Value::Many(values.collect::<Result<_, _>>()?))
        };
        Ok(match &data.kind {
            ConstKind::Int(int) => match *int.words() {
                [low] => Value::Bits(low.into()),
                [low, high] => Value::Bits(u128::from(high) << 64 | u128::from(low)),
                _ => return Err(FaultKind::unsupported("integers of more than 128 bits")),
            },
            ConstKind::Float(bits) => Value::Bits(*bits),
            ConstKind::Null => Value::Bits(0),
            ConstKind::NoneToken => Value::Unit,
            ConstKind::Zero => self.zero(data.ty, depth)?,
            ConstKind::Undef => match self.undef {
                Some(bits) => {
                    freeze(self, Frozen::Bits(bits), data.ty, &self.poison(data.ty, depth)?)?
                }
                None => self.uniform(data.ty, &Value::Undef, depth)?,
            },
            ConstKind::Poison => self.poison(data.ty, depth)?,
            ConstKind::Aggregate(elements) => each(elements)?,
            ConstKind::Bytes(bytes) => {
                Value::Many(bytes.iter().map(|&byte| Value::Bits(byte.into())).collect())
            }
            ConstKind::Splat(element) => {
                let element = self.constant_of(*element, depth + 1)?;
                match *self.shapes.of(data.ty) {
                    Shape::Vector { len, .. } => Value::Many(vec![element; len as usize].into()),
                    _ => return Err(FaultKind::unsupported("scalable vectors")),
                }
            }
            ConstKind::Global(name)
            | ConstKind::DsoLocalEquivalent(name)
            | ConstKind::NoCfi(name) => match self.addresses.get(name) {
                Some(&address) => Value::Bits(address.into()),
                None => return Err(FaultKind::unsupported("the address of this global")),
            },
            ConstKind::Expr(expr) => self.expression(expr, data.ty, depth)?,
            ConstKind::BlockAddress { slot } => {
                Value::Bits((BLOCKS + 16 * u64::from(*slot)).into())
            }
            ConstKind::PtrAuth(_) | ConstKind::InlineAsm(_) => {
                return Err(FaultKind::unsupported("a constant of this kind"));
            }
        })
    }

    pub(super) fn zero(&self, ty: Type, depth: usize) -> Result<Value, FaultKind> {
        self.uniform(ty, &Value::Bits(0), depth)
    }

    /// Poison of a type, lane by lane.
    pub(super) fn poison(&self, ty: Type, depth: usize) -> Result<Value, FaultKind> {
        self.uniform(ty, &Value::Poison, depth)
    }

    pub(super) fn uniform(
        &self,
        ty: Type,
        scalar: &Value,
        depth: usize,
    ) -> Result<Value, FaultKind> {
        if depth > DEPTH {
            return Err(FaultKind::unsupported("constants that nest so deep"));
        }
        Ok(match self.shapes.of(ty) {
            &Shape::Vector { elem, len } => {
                Value::Many(vec![self.uniform(elem, scalar, depth + 1)?; len as usize].into())
            }
            &Shape::Array { elem, len, .. } if len <= 1 << 24 => {
                Value::Many(vec![self.uniform(elem, scalar, depth + 1)?; len as usize].into())
            }
            Shape::Array { .. } => return Err(FaultKind::unsupported("an array so long")),
            Shape::Struct(members) => {
                let members = members.iter().map(|&(ty, _)| self.uniform(ty, scalar, depth + 1));
                Value::Many(members.collect::<Result<_, _>>()?)
            }
            _ => scalar.clone(),
        })
    }

    pub(super) fn expression(
        &self,
        expr: &ConstExpr,
        ty: Type,
        depth: usize,
    ) -> Result<Value, FaultKind> {
        let operands: Vec<Value> = expr
            .operands
            .iter()
            .map(|&operand| self.constant_of(operand, depth + 1))
            .collect::<Result<_, _>>()?;
        let type_of = |i: usize| self.context().const_data(expr.operands[i]).ty;
        let data = InstData {
            opcode: expr.opcode,
            sub: 0,
            flags: InstFlags::NONE,
            ty,
            operands: OperandRange::default(),
            words: [0; 2],
        };
        match (expr.opcode, operands.as_slice()) {
            (Opcode::GetElementPtr, [base, indices @ ..]) => {
                let types: Vec<Type> = (1..operands.len()).map(type_of).collect();
                let path = Path::plain(expr.source_type.unwrap_or(Type::I8));
                self.address(&path, base, type_of(0), indices.iter().zip(types))
            }
            (opcode, [operand]) if opcode.is_cast() => self.cast(&data, type_of(0), operand),
            (opcode, [a, b]) if opcode.is_binary() => ops::binary(&self.shapes, &data, a, b),
            _ => Err(FaultKind::unsupported("a constant expression of this kind")),
        }
    }

    /// A conversion, addresses included.
    pub(crate) fn cast(&self, data: &InstData, from: Type, a: &Value) -> Result<Value, FaultKind> {
        let shapes = &self.shapes;
        match data.opcode {
            Opcode::BitCast => ops::bitcast(shapes, from, data.ty, a),
            Opcode::PtrToInt | Opcode::IntToPtr | Opcode::PtrToAddr => {
                let bits = ops::int_bits(shapes, data.ty)?;
                ops::lanes1(a, |a| Ok(Value::Bits(a & crate::value::mask(bits))))
            }
            Opcode::AddrSpaceCast => {
                let (from, to) = (self.region(from)?, self.region(data.ty)?);
                let result = ops::lanes1(a, |a| Ok(self.convert_address(a as u64, from, to)))?;
                // The result may be another address.
                Ok(if is_followed(&result) { ops::poisoned(result) } else { result })
            }
            _ => ops::convert(shapes, data, from, a),
        }
    }

    /// An address converted to another space; poison if it is outside of that space.
    pub(super) fn convert_address(&self, address: u64, from: Region, to: Region) -> Value {
        if from == to {
            return Value::Bits(address.into());
        }
        let generic = self.apertures.generic(from, address);
        if to == Region::Generic {
            return Value::Bits(generic.into());
        }
        if generic == 0 {
            return Value::Bits(self.apertures.null(to).into());
        }
        let (region, offset) = self.apertures.resolve(generic);
        if region == to { Value::Bits(offset.into()) } else { Value::Poison }
    }
}
